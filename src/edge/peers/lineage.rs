//! Which processes stand above a process: nothing below a launcher of ours speaks for a human.

use std::path::Path;

/// As many processes above one are looked at.
const MOST: usize = 256;

/// Finds out that no process above this one, nor itself, is a launcher of the agent.
///
/// # Errors
/// In words, when one is, or when it cannot be found out.
pub fn not_started_by_us(process: u32) -> Result<(), String> {
    judge(process, parent_of)
}

/// As [`not_started_by_us`], with what tells a process's parent and name.
fn judge(mut process: u32, parent_of: impl Fn(u32) -> Option<(u32, String)>) -> Result<(), String> {
    for _ in 0..MOST {
        let Some((parent, name)) = parent_of(process) else {
            return Err("the processes above it cannot be read".to_string());
        };
        if name.starts_with("passepartout-ru") {
            return Err("the agent started it".to_string());
        }
        if parent <= 1 {
            return Ok(());
        }
        process = parent;
    }
    Err("there are too many processes above it".to_string())
}

/// Finds out that a process lives among the same users and processes as this one: what the launcher confines does not.
///
/// # Errors
/// In words, when it does not, or when it cannot be found out.
pub fn not_confined(process: u32) -> Result<(), String> {
    for space in ["user", "pid"] {
        let of = |process: &str| std::fs::read_link(Path::new("/proc").join(process).join("ns").join(space));
        match (of("self"), of(&process.to_string())) {
            (Ok(ours), Ok(theirs)) if ours == theirs => {}
            (Ok(_), Ok(_)) => return Err("it runs confined".to_string()),
            (Err(_), _) | (_, Err(_)) => return Err("it cannot be found out whether it runs confined".to_string()),
        }
    }
    Ok(())
}

/// Returns whether a process reads from a terminal and writes to one.
pub fn at_terminal(process: u32) -> bool {
    [0, 1].iter().all(|end| {
        let target = std::fs::read_link(format!("/proc/{process}/fd/{end}")).unwrap_or_default();
        target.starts_with("/dev/pts") || target.to_string_lossy().starts_with("/dev/tty")
    })
}

/// Returns a process's parent and its name (at most 15 characters, as the kernel keeps it).
pub fn parent_of(process: u32) -> Option<(u32, String)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (begin, end) = (stat.find('(')?, stat.rfind(')')?);
    let name = stat.get(begin + 1..end)?.to_string();
    let parent = stat.get(end + 1..)?.split_whitespace().nth(1)?.parse().ok()?;
    Some((parent, name))
}

/// Returns when a process began, in ticks since the machine did: another one with its number began at another time.
pub fn began(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The 22nd field; the third one is the first behind the name.
    stat.get(stat.rfind(')')? + 1..)?.split_whitespace().nth(19)?.parse().ok()
}

/// Returns what names this run of the machine; a file that was not synced may have lost its bytes in an earlier one.
pub fn boot() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|boot| boot.trim().to_string())
}

/// Returns the session of a command. Numbers of processes come again: where the system says when one began, no other
/// command has the same, whoever carries it out.
pub fn command_session(process: u32) -> String {
    let run = began(process).zip(boot()).map(|(began, boot)| blake3::hash(format!("{boot} {began}").as_bytes()));
    let run = run.map(|run| run.to_hex().chars().take(12).collect::<String>());
    run.map_or_else(|| format!("cli-{process}"), |run| format!("cli-{process}-{run}"))
}

/// Returns what a process does, as the kernel has it in a letter: `T` when it is stopped.
pub fn state_of(process: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.get(stat.rfind(')')? + 1..)?.trim_start().chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_a_session_that_none_with_its_number_had_before() {
        let own = std::process::id();
        let session = command_session(own);
        assert_eq!(session, command_session(own), "it is the same for whoever carries it out");
        if cfg!(target_os = "linux") {
            assert!(session.strip_prefix(&format!("cli-{own}-")).is_some_and(|run| run.len() == 12), "{session}");
            // This process and its parent began at different times.
            let (parent, _) = parent_of(own).expect("it has one");
            let run = |session: &str| session.rsplit('-').next().map(str::to_string);
            assert_ne!(run(&session), run(&command_session(parent)));
        }
        assert_eq!(command_session(u32::MAX), format!("cli-{}", u32::MAX), "nothing is known of it");
    }

    #[test]
    fn nothing_below_a_launcher_and_nothing_unknown_passes() {
        let tree = |process: u32| {
            let (parent, name) = match process {
                10 => (9, "emacs"),
                9 => (1, "systemd"),
                20 => (21, "sh"),
                21 => (22, "passepartout-ru"),
                22 => (10, "emacs"),
                30 => (31, "lost"),
                40 => (40, "its own parent"),
                _ => return None,
            };
            Some((parent, name.to_string()))
        };
        for (process, passes) in
            [(10, true), (9, true), (20, false), (21, false), (30, false), (40, false), (99, false)]
        {
            assert_eq!(judge(process, tree).is_ok(), passes, "{process}");
        }
    }

    #[test]
    fn this_process_is_its_own_neighbour() {
        assert_eq!(not_confined(std::process::id()), Ok(()));
        assert!(not_confined(u32::MAX).is_err(), "who cannot be found is not let in");
    }
}
