//! Whether a process that joins as an Emacs is one, by what the system says of it: what it says of itself counts for
//! nothing, and what cannot be found out counts as no.
//!
//! The module opens the connection from within Emacs, so the process at its other end runs an Emacs and has this very
//! module in its memory; and an Emacs that runs a script has nobody before it.

use crate::edge::peers::lineage::began;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;
use tokio::sync::Semaphore;

/// How long a look at a process may take: a file system of its user's own may never answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// So many looks are taken at once; each that never ends keeps its seat.
const LOOKS: usize = 2;
static SEATS: Semaphore = Semaphore::const_new(LOOKS);

/// As [`shown_to_be_emacs`], for who must not block: the look is taken on another thread.
///
/// # Errors
/// As there, and when it took too long.
pub async fn known_to_be_emacs(process: u32) -> Result<(), String> {
    in_time(move || shown_to_be_emacs(process), &SEATS, PATIENCE).await
}

/// Finds out, where this process is no Emacs itself, that another one is an Emacs that the system installed and that a
/// human may sit before. Which build of the module it has cannot be compared here. The look is taken on another thread.
///
/// # Errors
/// In words, why it is not shown to be one, and when it took too long.
pub async fn known_to_be_installed_emacs(process: u32) -> Result<(), String> {
    in_time(move || shown_to_be_installed(process), &SEATS, PATIENCE).await
}

fn shown_to_be_installed(process: u32) -> Result<(), String> {
    judge_alone(&looks_at(process)?)
}

async fn in_time(
    look: impl FnOnce() -> Result<(), String> + Send + 'static,
    seats: &'static Semaphore,
    patience: Duration,
) -> Result<(), String> {
    let looked = async {
        let seat = seats.acquire().await.map_err(|_| "nobody is looked at any more".to_string())?;
        let work = move || {
            let _seat = seat;
            look()
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| "looking at it broke".to_string())?
    };
    let late = || format!("what it is was not found out within {} s", patience.as_secs());
    tokio::time::timeout(patience, looked).await.unwrap_or_else(|_| Err(late()))
}

/// Finds out that a process is an Emacs that a human may sit before, with the module of this process. Blocks.
///
/// This process must be an Emacs itself: its own program counts as one.
///
/// # Errors
/// In words, why it is not shown to be one.
pub fn shown_to_be_emacs(process: u32) -> Result<(), String> {
    let looks = looks_at(process)?;
    let ours = looks_of_this().ok_or_else(|| "the system does not say what this process is".to_string())?;
    judge(&looks, &ours)
}

/// Returns what the system says of a process.
fn looks_at(process: u32) -> Result<Looks, String> {
    let unknown = || "the system does not say what it is".to_string();
    // Another process may have got its number meanwhile.
    let before = began(process).ok_or_else(unknown)?;
    let looks = looks(&process.to_string()).ok_or_else(unknown)?;
    if began(process) == Some(before) { Ok(looks) } else { Err(unknown()) }
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
    maker: Maker,
}

/// Who can have made a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Maker {
    /// Root alone, and the user is not root: it is root's, and so is each folder above it.
    System,
    /// The user, or somebody else.
    Anybody,
    /// The user is root, who can have made everything.
    Root,
}

/// What this process is, and where this code of ours lies.
struct Ours {
    program: Program,
    module: File,
}

fn judge(looks: &Looks, ours: &Ours) -> Result<(), String> {
    let is_emacs = looks.program.file == ours.program.file
        || (looks.program.maker == Maker::System && called_emacs(&looks.program));
    if !is_emacs {
        return Err(format!(
            "its program is {}, which is neither the Emacs that owns the store nor one that the system installed",
            crate::domain::inert::exact(&looks.program.name)
        ));
    }
    if !looks.code.contains(&ours.module) {
        return Err("it has not loaded the build of the module that the owner has: start both Emacsen anew; one that is connected \
                    without the module approves in a terminal alone".to_string());
    }
    attended(looks)
}

/// Judges without an Emacs of one's own.
fn judge_alone(looks: &Looks) -> Result<(), String> {
    if looks.program.maker == Maker::Root {
        return Err(
            "you are root here, who could have made any program, so no Emacs is known to be one; approve at a \
                    terminal, or as an ordinary user"
                .to_string(),
        );
    }
    if !(looks.program.maker == Maker::System && called_emacs(&looks.program)) {
        return Err(format!(
            "its program is {}, which is no Emacs that the system installed; approve in such a one, or at a terminal",
            crate::domain::inert::exact(&looks.program.name)
        ));
    }
    attended(looks)
}

/// Makes sure that somebody may sit before an Emacs.
fn attended(looks: &Looks) -> Result<(), String> {
    match looks.words.iter().skip(1).any(|word| runs_a_script(word)) {
        true => Err("it was started to run a script".to_string()),
        false => Ok(()),
    }
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
    // Names of files may be no UTF-8; what counts here is.
    let maps = std::fs::read(folder.join("maps")).ok()?;
    let maps = String::from_utf8_lossy(&maps);
    let words = std::fs::read(folder.join("cmdline")).ok()?;
    let words = words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let code = maps.lines().filter_map(mapped).map(|(_, file)| file).collect();
    Some(Looks { program: program(&folder)?, code, words })
}

fn program(folder: &Path) -> Option<Program> {
    let name = std::fs::read_link(folder.join("exe")).ok()?.to_string_lossy().into_owned();
    // Through the link of the kernel: the file that runs, whatever lies under its name by now.
    let file = std::fs::metadata(folder.join("exe")).ok()?;
    let user = std::fs::metadata("/proc/self").ok()?.uid();
    let systems = || made_by_root(&file) && lies_with_root(&name) && !fuse::may_tell(&folder.join("exe"));
    let maker = match user {
        0 => Maker::Root,
        _ if systems() => Maker::System,
        _ => Maker::Anybody,
    };
    Some(Program { name, file: (file.dev(), file.ino()), maker })
}

fn made_by_root(file: &Metadata) -> bool {
    file.uid() == 0 && file.mode() & 0o022 == 0
}

/// Returns whether each folder above a name is root's and lets nobody else put another one in the place of what is in it.
fn lies_with_root(name: &str) -> bool {
    // In a folder of a group, as that of Nix is, nobody replaces what is another's when it has the sticky bit.
    let keeps = |about: &Metadata| about.mode() & 0o020 == 0 || about.mode() & 0o1000 != 0;
    let is_roots = |about: Metadata| about.is_dir() && about.uid() == 0 && about.mode() & 0o002 == 0 && keeps(&about);
    let name = Path::new(name);
    name.is_absolute() && name.ancestors().skip(1).all(|folder| std::fs::symlink_metadata(folder).is_ok_and(is_roots))
}

fn looks_of_this() -> Option<Ours> {
    let here = (judge as fn(&Looks, &Ours) -> Result<(), String>) as usize;
    let maps = std::fs::read("/proc/self/maps").ok()?;
    let maps = String::from_utf8_lossy(&maps);
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

/// Whether what is said of a file is the word of the system or of a program of the user's.
mod fuse {
    #![allow(unsafe_code)]
    // The standard library does not say on which kind of file system a file lies.

    use std::path::Path;

    /// Returns whether a file may lie on such a file system; also when that is not found out.
    #[cfg(target_os = "linux")]
    pub(super) fn may_tell(file: &Path) -> bool {
        use std::os::unix::ffi::OsStrExt;
        /// The mark of file systems that a program serves, as `linux/magic.h` has it.
        const FUSE: u32 = 0x6573_5546;
        let Ok(name) = std::ffi::CString::new(file.as_os_str().as_bytes()) else { return true };
        let mut about = std::mem::MaybeUninit::<libc::statfs>::uninit();
        // SAFETY: the name ends with a zero byte and lives on; the kernel fills the structure when it returns 0, and
        // only then is it read.
        let kind = unsafe {
            if libc::statfs(name.as_ptr(), about.as_mut_ptr()) != 0 {
                return true;
            }
            about.assume_init().f_type
        };
        // Its width differs between machines; the mark has 32 bits.
        kind as u32 == FUSE
    }

    /// Returns whether a file may lie on such a file system: it is not found out here.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn may_tell(_file: &Path) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_the_systems_only_where_nobody_else_can_have_put_it() {
        assert!(!fuse::may_tell(Path::new("/proc")), "the system itself tells of it");
        assert!(fuse::may_tell(Path::new("/there/is/no/such/file")), "what is not found out counts as no");
        assert!(lies_with_root("/emacs"));
        assert!(!lies_with_root("usr/bin/emacs") && !lies_with_root("/there/is/no/such/file"));
        let place = tempfile::tempdir().expect("a folder");
        let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(place.path(), everybody).expect("it is ours");
        assert!(!lies_with_root(&place.path().join("emacs").display().to_string()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_never_ends_is_waited_for_so_long_and_shows_nothing() {
        static FEW: Semaphore = Semaphore::const_new(1);
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let never = move || ended.recv().map_err(|_| "it has ended".to_string());
        let passes = || tokio::time::advance(PATIENCE + Duration::from_millis(1));
        let (late, ()) = tokio::join!(in_time(never, &FEW, PATIENCE), passes());
        let late = late.expect_err("nothing was found out");
        assert!(late.contains("within 2 s"), "{late}");
        // Its seat is not another's.
        let (other, ()) = tokio::join!(in_time(|| Ok(()), &FEW, PATIENCE), passes());
        assert_eq!(other, Err(late));
        drop(end);
        let _given_back = FEW.acquire().await;
    }

    fn program(name: &str, inode: u64) -> Program {
        Program { name: name.to_string(), file: (1, inode), maker: Maker::Anybody }
    }

    fn maker(systems: bool) -> Maker {
        if systems { Maker::System } else { Maker::Anybody }
    }

    #[test]
    fn only_an_emacs_with_our_module_and_somebody_before_it_is_one() {
        let program = |name: &str, inode, systems| Program { maker: maker(systems), ..self::program(name, inode) };
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
    fn without_an_emacs_of_ones_own_only_one_of_the_system_counts() {
        let program = |name: &str, systems| Program { maker: maker(systems), ..self::program(name, 5) };
        for (program, words, passes) in [
            (program("/usr/bin/emacs-gtk", true), "emacs -nw", true),
            (program("/usr/bin/emacs", true), "emacs --daemon", true),
            (program("/usr/bin/emacs", true), "emacs --batch -l x", false),
            (program("/usr/bin/emacs", true), "emacs --script x", false),
            (program("/home/u/bin/emacs", false), "emacs", false),
            (program("/usr/bin/emacsclient", true), "emacs", false),
            (program("/usr/bin/python3.11", true), "emacs", false),
        ] {
            let words = words.split(' ').map(str::to_string).collect();
            let looks = Looks { program, code: Vec::new(), words };
            assert_eq!(judge_alone(&looks).is_ok(), passes, "{looks:?}");
        }
        let program = Program { maker: Maker::Root, ..self::program("/usr/bin/emacs", 5) };
        let looks = Looks { program, code: Vec::new(), words: vec!["emacs".to_string()] };
        assert!(judge_alone(&looks).is_err_and(|why| why.contains("you are root")), "{looks:?}");
        assert!(shown_to_be_installed(std::process::id()).is_err(), "this is no Emacs");
        assert!(shown_to_be_installed(u32::MAX).is_err());
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
