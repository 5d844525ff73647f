//! Whether a process that joins as an Emacs is one, by what the system says of it: what it says of itself counts for
//! nothing, and what cannot be found out counts as no.
//!
//! The module opens the connection from within Emacs, so the process at its other end runs an Emacs and has this very
//! module in its memory; and an Emacs that runs a script has nobody before it.

use crate::edge::peers::lineage::began;
use std::path::Path;

/// Finds out that a process is an Emacs that a human may sit before, with the module of this process.
///
/// This process must be an Emacs itself: its own program counts as one.
///
/// # Errors
/// In words, why it is not shown to be one.
pub fn shown_to_be_emacs(process: u32) -> Result<(), String> {
    let unknown = || "the system does not say what it is".to_string();
    // Another process may have got its number meanwhile.
    let before = began(process).ok_or_else(unknown)?;
    let looks = looks(&process.to_string()).ok_or_else(unknown)?;
    if began(process) != Some(before) {
        return Err(unknown());
    }
    let ours = looks_of_this().ok_or_else(|| "the system does not say what this process is".to_string())?;
    judge(&looks, &ours)
}

/// A file, as the kernel names it.
type File = (String, u64);

/// What the system says of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Looks {
    program: Program,
    /// Files whose code is in its memory.
    code: Vec<File>,
    words: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Program {
    name: String,
    file: (u64, u64),
    /// Neither the user nor the user's group can have made it.
    systems: bool,
}

/// What this process is, and where this code of ours lies.
struct Ours {
    program: Program,
    module: File,
}

fn judge(looks: &Looks, ours: &Ours) -> Result<(), String> {
    let is_emacs = looks.program.file == ours.program.file || (looks.program.systems && called_emacs(&looks.program));
    if !is_emacs {
        return Err(format!(
            "its program is {}, which is neither the Emacs that owns the store nor one that the system installed",
            crate::domain::inert::exact(&looks.program.name)
        ));
    }
    if !looks.code.contains(&ours.module) {
        return Err("it has not loaded the same build of the module; start both Emacsen anew".to_string());
    }
    if looks.words.iter().skip(1).any(|word| runs_a_script(word)) {
        return Err("it was started to run a script".to_string());
    }
    Ok(())
}

/// Returns whether a program is called as Emacs is: `emacs`, `emacs-29.4`, `emacs30`, `.emacs-30.1-wrapped`; not
/// `emacsclient`.
fn called_emacs(program: &Program) -> bool {
    let name = program.name.rsplit('/').next().unwrap_or_default();
    let name = name.strip_prefix('.').unwrap_or(name);
    let rest = name.strip_prefix("bootstrap-").unwrap_or(name).strip_prefix("emacs");
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphabetic()))
}

/// Returns whether a word of the command line makes Emacs run a script and end; Emacs takes beginnings of them, too.
fn runs_a_script(word: &str) -> bool {
    let word = word.split('=').next().unwrap_or_default();
    let begins = |whole: &str, least: usize| word.len() >= least && whole.starts_with(word);
    matches!(word, "-batch" | "-script" | "-x") || begins("--batch", 3) || begins("--script", 4)
}

fn looks(process: &str) -> Option<Looks> {
    let folder = Path::new("/proc").join(process);
    let maps = std::fs::read_to_string(folder.join("maps")).ok()?;
    let words = std::fs::read(folder.join("cmdline")).ok()?;
    let words = words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let code = maps.lines().filter_map(mapped).map(|(_, file)| file).collect();
    Some(Looks { program: program(&folder)?, code, words })
}

fn program(folder: &Path) -> Option<Program> {
    use std::os::unix::fs::MetadataExt;
    let name = std::fs::read_link(folder.join("exe")).ok()?.to_string_lossy().into_owned();
    // Through the link of the kernel: the file that runs, whatever lies under its name by now.
    let file = std::fs::metadata(folder.join("exe")).ok()?;
    // Where the user is root, the user can have made everything.
    let user = std::fs::metadata("/proc/self").ok()?.uid();
    let systems = file.uid() == 0 && user != 0 && file.mode() & 0o022 == 0;
    Some(Program { name, file: (file.dev(), file.ino()), systems })
}

fn looks_of_this() -> Option<Ours> {
    let here = (judge as fn(&Looks, &Ours) -> Result<(), String>) as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let found = maps.lines().filter_map(mapped).find(|((begin, end), _)| (*begin..*end).contains(&here));
    Some(Ours { program: program(Path::new("/proc/self"))?, module: found?.1 })
}

/// Reads a line of what is mapped: where, and which file's code it is; `None` when it is no code of a file.
fn mapped(line: &str) -> Option<((usize, usize), File)> {
    let mut words = line.split_ascii_whitespace();
    let (begin, end) = words.next()?.split_once('-')?;
    let place = (usize::from_str_radix(begin, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
    let runs = words.next()?.as_bytes().get(2) == Some(&b'x');
    let (device, number) = (words.nth(1)?, words.next()?.parse().ok()?);
    (runs && number != 0).then(|| (place, (device.to_string(), number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_emacs_with_our_module_and_somebody_before_it_is_one() {
        let program = |name: &str, inode, systems| Program { name: name.to_string(), file: (1, inode), systems };
        let module: File = ("fe:01".to_string(), 77);
        let ours = Ours { program: program("/home/u/bin/emacs", 5, false), module: module.clone() };
        let check = |program: Program, code: &[File], words: &str, passes: bool| {
            let words = words.split(' ').map(str::to_string).collect();
            let looks = Looks { program, code: code.to_vec(), words };
            assert_eq!(judge(&looks, &ours).is_ok(), passes, "{looks:?}");
        };
        let with = [("fe:01".to_string(), 3), module];
        let own = || program("/home/u/bin/emacs (deleted)", 5, false);
        let other = || program("/usr/bin/emacs-gtk", 6, true);
        check(own(), &with, "emacs -nw notes.org", true);
        check(other(), &with, "emacs --daemon", true);
        check(own(), &with[..1], "emacs", false);
        check(program("/usr/bin/python3.11", 9, true), &with, "emacs", false);
        check(program("/home/u/project/emacs", 9, false), &with, "emacs", false);
        check(program("/usr/bin/emacsclient", 9, true), &with, "emacs", false);
        for words in
            ["emacs --batch -l x", "emacs -batch", "emacs --bat", "emacs --script x", "emacs --sc=x", "emacs -x"]
        {
            check(own(), &with, words, false);
        }
        for name in ["/usr/bin/emacs", "emacs-30.1", "emacs30", "/nix/store/x/bin/.emacs-30.1-wrapped"] {
            check(program(name, 9, true), &with, "emacs --smid 1 -nw", true);
        }
    }

    #[test]
    fn this_process_is_like_itself_and_who_is_not_there_like_nobody() {
        let (ours, own) = (looks_of_this().expect("it is told"), looks("self").expect("it is told"));
        assert_eq!(ours.program, own.program);
        assert!(own.code.contains(&ours.module));
        assert_eq!(shown_to_be_emacs(std::process::id()), Ok(()));
        assert!(shown_to_be_emacs(u32::MAX).is_err());
        // Whatever started the tests is no copy of them.
        let parent = crate::edge::peers::lineage::parent_of(std::process::id()).expect("it is told").0;
        assert!(shown_to_be_emacs(parent).is_err(), "{parent}");
    }
}
