//! The keys and the commands, as `?` shows them.

use crate::edge::tui::commands::{COMMANDS, Place};

/// The keys; `docs/manual.org` has the same.
pub const KEYS: &[(&str, &str)] = &[
    ("Enter", "send what is typed"),
    ("\\ Enter", "a new line (also Alt+Enter, Ctrl+J)"),
    ("Tab", "complete a command"),
    ("Up, Down", "move in what is typed; from its first line: what was typed before"),
    ("PgUp, PgDn", "scroll ten lines (the mouse wheel: three)"),
    ("Esc", "stop the answer; else go back to the end"),
    ("Ctrl+C", "stop the answer; else clear what is typed"),
    ("Ctrl+D", "leave, on an empty line"),
    ("Ctrl+A, Ctrl+E", "to the start, to the end of the line"),
    ("Ctrl+U, Ctrl+K", "cut to the start, to the end of the line"),
    ("Ctrl+W, Ctrl+Y", "cut a word; put back what was cut"),
    ("Ctrl+P", "all commands"),
    ("Ctrl+F", "search what was said, as it is shown; Enter or Up looks above, Down below"),
    ("Ctrl+G", "show or hide what the gates said"),
    ("Ctrl+T", "show or fold what models thought"),
    ("Ctrl+B", "show or hide the side panel (also Ctrl+X B)"),
    ("Ctrl+X E", "write in an editor of your own"),
    ("Ctrl+L", "draw the screen anew"),
    ("Ctrl+Z", "back to the shell, unless the core runs here; fg goes on"),
    ("?", "this, on an empty line"),
];

/// Returns the text of the help.
pub fn help() -> String {
    let mut out = "Keys\n".to_string();
    for (key, what) in KEYS {
        out.push_str(&format!("  {key:<16}{what}\n"));
    }
    for (title, core) in [("Commands of this terminal", false), ("Commands of the core", true)] {
        out.push_str(&format!("\n{title}\n"));
        for command in COMMANDS.iter().filter(|command| (command.place == Place::Core) == core) {
            let typed = format!("/{} {}", command.name, command.words);
            out.push_str(&format!("  {typed:<28} {}\n", command.summary));
        }
    }
    out.push_str("\n/help WORDS shows what the manual says of them. With Shift the mouse marks text as usual.\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_in_the_help_once() {
        let help = help();
        for command in COMMANDS {
            let begins = |line: &&str| line.trim_start().split(' ').next() == Some(&format!("/{}", command.name));
            let here = command.name == "help";
            assert_eq!(help.lines().filter(begins).count(), if here { 2 } else { 1 }, "{}", command.name);
        }
    }
}
