//! The profile that `sandbox-exec` of macOS is given. Text alone, so that it can be tested where there is no macOS.
//!
//! Nobody has tried it on macOS yet: it is used only when the host asks for fewer walls, which a human has agreed to.

use crate::policy::Policy;
use std::path::Path;

/// Folders that programs of macOS need and that hold nothing of the user's.
const READABLE: &[&str] =
    &["/usr", "/bin", "/sbin", "/System", "/Library/Frameworks", "/opt/homebrew", "/private/var/select", "/dev"];

/// Returns the profile: everything is denied but what follows, and what stands later counts more.
pub fn profile(policy: &Policy, scratch: &Path) -> String {
    let mut lines = vec![
        "(version 1)".to_string(),
        "(deny default)".to_string(),
        "(deny network*)".to_string(),
        "(allow process-fork)".to_string(),
        "(allow sysctl-read)".to_string(),
        "(allow signal (target same-sandbox))".to_string(),
        "(allow file-read-metadata)".to_string(),
        "(allow file-write-data (literal \"/dev/null\"))".to_string(),
    ];
    let rule = |verb: &str, what: &str, path: &Path| format!("({verb} {what} (subpath {}))", quoted(path));
    for path in READABLE {
        lines.push(rule("allow", "file-read* process-exec", Path::new(path)));
    }
    for path in &policy.read {
        lines.push(rule("allow", "file-read* process-exec", path));
    }
    lines.push(rule("allow", "file-read* file-write* process-exec", scratch));
    let project = if policy.writable { "file-read* file-write* process-exec" } else { "file-read* process-exec" };
    for path in policy.hide.iter().filter(|path| policy.project.starts_with(path)) {
        // Home and the like: closed first, and the project in it opened after.
        lines.push(rule("deny", "file-read* file-write*", path));
    }
    lines.push(rule("allow", project, &policy.project));
    for path in policy.hide.iter().filter(|path| !policy.project.starts_with(path)).chain(&policy.mask) {
        lines.push(rule("deny", "file-read* file-write*", path));
    }
    for path in &policy.protect {
        lines.push(rule("deny", "file-write*", path));
        for above in path.ancestors().skip(1).take_while(|above| *above != policy.project) {
            lines.push(format!("(deny file-write-unlink (literal {}))", quoted(above)));
        }
    }
    lines.push("(deny file-write-setugid)".to_string());
    lines.join("\n") + "\n"
}

/// Returns a path as a string of the profile's language.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    #[test]
    fn what_is_denied_stands_after_what_it_narrows() {
        let line = "--project /Users/a/p --hide /Users/a --hide /Users/a/p/.ssh --mask /Users/a/p/x\"y --protect \
                    /Users/a/p/.git/config --read /opt/tools --parent 7 --walls fewer -- x";
        let policy = Policy::read(line.split_whitespace().map(OsString::from)).expect("a policy");
        let text = profile(&policy, Path::new("/private/tmp/s"));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..3], ["(version 1)", "(deny default)", "(deny network*)"]);
        let at =
            |wanted: &str| lines.iter().position(|line| *line == wanted).unwrap_or_else(|| panic!("{wanted}: {text}"));
        let home = at("(deny file-read* file-write* (subpath \"/Users/a\"))");
        let project = at("(allow file-read* file-write* process-exec (subpath \"/Users/a/p\"))");
        assert!(home < project);
        for narrower in [
            "(deny file-read* file-write* (subpath \"/Users/a/p/.ssh\"))",
            "(deny file-read* file-write* (subpath \"/Users/a/p/x\\\"y\"))",
            "(deny file-write* (subpath \"/Users/a/p/.git/config\"))",
            "(deny file-write-unlink (literal \"/Users/a/p/.git\"))",
        ] {
            assert!(project < at(narrower));
        }
        assert!(!text.contains("(allow network") && !text.contains("(allow default)"));
    }

    #[test]
    fn a_project_that_is_only_read_is_not_written() {
        let line = "--project /p --read-only --parent 7 --walls fewer -- x";
        let policy = Policy::read(line.split_whitespace().map(OsString::from)).expect("a policy");
        let text = profile(&policy, Path::new("/s"));
        assert!(text.contains("(allow file-read* process-exec (subpath \"/p\"))"), "{text}");
    }
}
