//! The slash commands: which this client carries out, and which the core knows.

/// Who carries a command out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// This client.
    Here,
    /// This client, which asks the core for what it shows.
    Asked,
    /// The core, as `user-command`.
    Core,
}

/// A slash command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its name, without the slash.
    pub name: &'static str,
    /// What may stand behind it.
    pub words: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Who carries it out.
    pub place: Place,
}

const fn here(name: &'static str, words: &'static str, summary: &'static str) -> Command {
    Command { name, words, summary, place: Place::Here }
}

const fn asked(name: &'static str, words: &'static str, summary: &'static str) -> Command {
    Command { name, words, summary, place: Place::Asked }
}

const fn core(name: &'static str, words: &'static str, summary: &'static str) -> Command {
    Command { name, words, summary, place: Place::Core }
}

/// All of them, in the order of their names.
pub const COMMANDS: &[Command] = &[
    asked("approve", "[PLAN]", "read a plan to its end and approve it"),
    core("cascade", "[NAME…]", "which providers are asked, or their order"),
    here("clear", "", "begin a new conversation on an empty screen"),
    core("consensus", "N QUESTION", "ask N models and follow what most of them want done"),
    asked("context", "[why ID | dropped]", "what a model would be told of memory"),
    asked("cost", "", "what calls of models cost, and the caps"),
    asked("deny", "[PLAN]", "read a plan and deny it"),
    asked("doctor", "", "what works and what does not"),
    here("editor", "", "write in an editor of your own (VISUAL or EDITOR)"),
    core("embed", "", "confirm the embedding server, or say how vectors stand"),
    core("endorse", "ID or FILE", "what came from elsewhere counts as your own"),
    asked("eval", "FORM", "evaluate Lisp in the confined worker"),
    here("exit", "", "leave"),
    core("files", "", "the files that the agent changed here"),
    core("focus", "[HEADING or FOLDER]", "narrow what the agent looks at"),
    core("fork", "N QUESTION", "have N models answer side by side"),
    core("garden", "", "broken links, lone headings, near duplicates"),
    here("help", "[WORDS]", "keys and commands, or what the manual says"),
    asked("identity", "", "the file that says who the agent is"),
    core("inbox", "", "where the headings of inbox.org could go"),
    core("links", "[ID]", "which notes could be linked"),
    asked("log", "", "the newest lines of the log"),
    asked("memory", "", "what moved memory, the newest first"),
    asked("models", "", "the providers in their order, and how they stand"),
    here("mouse", "", "take the wheel of the mouse, or leave it to the terminal"),
    asked("plans", "", "the plans that wait for you"),
    core("preset", "[NAME]", "give this conversation a preset"),
    here("quit", "", "leave"),
    here("reconnect", "", "connect with the core anew"),
    core("redo", "", "do again what was undone last"),
    core("report", "[WORDS]", "how much there is in memory"),
    here("resume", "[NUMBER]", "go on with a conversation of /sessions"),
    asked("rewind", "OPERATION", "go back to an operation of /memory, after it was shown"),
    core("scope", "memex, session or project", "widen or narrow what the agent looks at"),
    here("search", "WORDS", "find words on this screen and above"),
    here("sessions", "", "the conversations that are kept"),
    core("set", "NAME VALUE", "tell the model a value while the focus lasts"),
    core("settings", "[WORDS]", "which settings there are"),
    here("setup", "", "notes, provider and budget, as passepartout configure asks"),
    core("share", "", "let notes whose tags ask first go to models elsewhere"),
    here("sidebar", "", "show or hide the side panel"),
    here("status", "", "how things stand"),
    asked("stop", "[PLAN]", "read a plan, deny it, and stop there"),
    core("tags", "", "which tags make notes private, and what they kept back"),
    core("tasks", "[stop]", "what goes on in the background"),
    here("theme", "[NAME]", "dark, light, contrast or none"),
    here("thoughts", "", "show or fold what models thought"),
    here("trace", "", "show or hide what the gates said"),
    core("undistilled", "", "daily notes of which no note was distilled"),
    core("undo", "[CHANGE]", "take back what the agent changed last"),
    core("unfocus", "", "take the focus back"),
    core("unshare", "", "take /share back"),
    asked("why", "[PLAN]", "explain a decision in plain words"),
];

/// Finds a command by its name.
pub fn named(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == name)
}

/// Returns the commands that begin so.
pub fn beginning(name: &str) -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter().filter(move |command| command.name.starts_with(name))
}

/// Completes what is typed of a command: as far as all that begin so agree, with a blank when there is one only.
pub fn completed(typed: &str) -> Option<String> {
    let begun = typed.strip_prefix('/').filter(|begun| !begun.contains(char::is_whitespace))?;
    let mut names = beginning(begun).map(|command| command.name);
    let first = names.next()?;
    let rest: Vec<&str> = names.collect();
    let common = rest.iter().fold(first.len(), |length, name| {
        first.bytes().zip(name.bytes()).take(length).take_while(|(one, other)| one == other).count()
    });
    let end = if rest.is_empty() { " " } else { "" };
    Some(format!("/{}{end}", first.get(..common)?))
}

/// Returns the known name that is nearest to one that is not known, when it is near enough to be meant.
pub fn nearest(name: &str) -> Option<&'static str> {
    let near = COMMANDS.iter().map(|command| (distance(name, command.name), command.name)).min()?;
    let (distance, found) = near;
    (distance <= 2 && distance < name.chars().count()).then_some(found)
}

/// Finds commands for words: those whose names or summaries hold all of them, names that begin so first.
pub fn found(words: &str) -> Vec<&'static Command> {
    let words: Vec<String> = words.trim_start_matches('/').split_whitespace().map(str::to_lowercase).collect();
    let fits = |command: &&Command| {
        words.iter().all(|word| command.name.contains(word) || command.summary.to_lowercase().contains(word))
    };
    let mut found: Vec<&Command> = COMMANDS.iter().filter(fits).collect();
    let begins = |command: &Command| words.first().is_some_and(|word| command.name.starts_with(word.as_str()));
    found.sort_by_key(|command| !begins(command));
    found
}

/// The most characters of a name that are compared.
const COMPARED: usize = 24;

/// Counts the changes of one character each, or of two neighbours' order, that lead from one name to another.
fn distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.chars().take(COMPARED).collect();
    let other: Vec<char> = other.chars().take(COMPARED).collect();
    let mut rows = vec![(0..=other.len()).collect::<Vec<usize>>()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let at =
                |row: usize, column: usize| rows.get(row).and_then(|row| row.get(column)).copied().unwrap_or(COMPARED);
            let left = row.last().copied().unwrap_or(COMPARED);
            let mut least = (at(i, j) + usize::from(a != b)).min(at(i, j + 1) + 1).min(left + 1);
            let swapped = i > 0 && j > 0 && one.get(i - 1) == Some(b) && other.get(j - 1) == Some(a);
            if swapped {
                least = least.min(at(i - 1, j - 1) + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last()).copied().unwrap_or(COMPARED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_once_and_in_order() {
        assert!(COMMANDS.is_sorted_by(|one, other| one.name < other.name));
    }

    #[test]
    fn tab_completes_as_far_as_all_agree() {
        for (typed, completed_to) in [
            ("/he", Some("/help ")),
            ("/re", Some("/re")),
            ("/und", Some("/und")),
            ("/undo", Some("/undo ")),
            ("/unf", Some("/unfocus ")),
            ("/zz", None),
            ("help", None),
            ("/theme d", None),
        ] {
            assert_eq!(completed(typed).as_deref(), completed_to, "{typed}");
        }
    }

    #[test]
    fn the_nearest_name_is_offered_when_it_may_be_meant() {
        for (typed, name) in [
            ("plnas", Some("plans")),
            ("hlep", Some("help")),
            ("aprove", Some("approve")),
            ("teleport", None),
            ("x", None),
            ("", None),
            (&"é".repeat(5_000), None),
        ] {
            assert_eq!(nearest(typed), name, "{typed}");
        }
    }

    #[test]
    fn words_find_commands_by_name_and_by_what_they_do() {
        let names = |words: &str| found(words).iter().map(|command| command.name).collect::<Vec<_>>();
        assert_eq!(names("th")[..2], ["theme", "thoughts"], "names that begin so come first");
        assert_eq!(names("confined worker"), ["eval"]);
        assert_eq!(names("/appr"), ["approve"]);
        assert_eq!(found("").len(), COMMANDS.len());
    }
}
