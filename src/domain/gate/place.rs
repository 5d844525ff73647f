//! Where a path lies and what it is worth: roots, secret files, files that run later.
//!
//! Pure judgements on canonical paths. Names that tell what a file is are compared without regard to case, and without the
//! suffixes of copies and backups; so are our own folders. The other roots are compared as they are spelt: where a file
//! system makes no difference, the survey spells a path as its folders do.

mod copies;
mod glob;
mod guarded;
mod secret;
mod tables;

pub use glob::{matches, may_match, may_match_option, may_match_variable_test};
pub use guarded::{guarded, runs_unasked};
pub use secret::{kept_by_a_program, lies_as_in_a_home, pattern_may_be_secret, secret, secret_name};

use crate::domain::org::is_org;
use crate::domain::scope::Scope;
use crate::domain::skill::handbook::is_name;

/// Builds the tables now, so that no verdict pays for them.
pub fn prepare() {
    secret::prepare();
    guarded::prepare();
}

/// Which part of the machine a canonical path lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Zone {
    /// Our own store, settings or cache.
    Own,
    /// The project.
    Project,
    /// The memex.
    Memex,
    /// Elsewhere in somebody's home.
    Home,
    /// Folders for what is thrown away.
    Scratch,
    /// Everything else.
    System,
}

/// Returns which part of the machine a canonical path lies in; the most protected first.
pub fn zone(path: &str, scope: &Scope) -> Zone {
    let inside = |root: &str| is_below(path, root);
    // Whatever the file system makes of letters: nobody has another folder of that name.
    if scope.own.iter().any(|root| is_below_in_any_case(path, root)) {
        Zone::Own
    } else if inside(&scope.project) {
        Zone::Project
    } else if scope.memex.iter().any(|root| inside(root)) {
        Zone::Memex
    } else if inside(&scope.home) || ["/home", "/root", "/Users"].iter().any(|root| inside(root)) {
        Zone::Home
    } else if ["/tmp", "/var/tmp"].iter().any(|root| inside(root)) {
        Zone::Scratch
    } else {
        Zone::System
    }
}

/// Returns the name of the user's own skill that a canonical path is the file of; `None` for any other file.
pub fn own_skill<'a>(path: &'a str, scope: &Scope) -> Option<&'a str> {
    let below = |root: &String| path.strip_prefix(root.trim_end_matches('/'))?.strip_prefix("/skills/");
    let name = scope.own.iter().find_map(below)?.strip_suffix(".org")?;
    is_name(name).then_some(name)
}

/// Returns whether homes or the memex lie below a canonical path, or below something that it matches as a pattern.
pub fn leads_to_homes(path: &str, pattern: bool, scope: &Scope) -> bool {
    let parts = |path: &'_ str| path.split('/').filter(|part| !part.is_empty()).map(str::to_string).collect::<Vec<_>>();
    let asked = parts(path);
    let above = |root: &str| {
        let pairs =
            || asked.iter().zip(parts(root)).all(|(part, name)| *part == name || pattern && may_match(part, &name));
        !root.is_empty() && pairs()
    };
    let roots = ["/home", "/root", "/Users", scope.home.as_str()].into_iter();
    zone(path, scope) != Zone::Project && roots.chain(scope.memex.iter().map(String::as_str)).any(above)
}

/// Returns whether a canonical path lies in the home of somebody else.
pub fn of_another(path: &str, scope: &Scope) -> bool {
    zone(path, scope) == Zone::Home && !is_below(path, &scope.home) && !scope.home.is_empty()
}

/// Returns whether Emacs may take an absolute name for one on another machine, and connect to it: `/method:…`, `/host:…`
/// and `/[method/…`, whatever the user chose to write it like.
pub fn is_remote(path: &str) -> bool {
    let first = path.strip_prefix('/').and_then(|rest| rest.split('/').next());
    first.is_some_and(|first| first.contains(':') || first.starts_with('['))
}

/// Returns why Emacs is not given a name that [`is_remote`].
pub fn connects(path: &str) -> String {
    format!("“{path}” is a name on another machine, which Emacs would connect to; open it there yourself")
}

/// Returns whether a file is named as Org files, their archives, backups and copies are.
pub fn holds_notes(path: &str) -> bool {
    copies::in_any_form(&secret::small(path.rsplit('/').next().unwrap_or(path)), is_org)
}

fn is_below_in_any_case(path: &str, root: &str) -> bool {
    let root = root.trim_end_matches('/');
    let head = path.get(..root.len()).filter(|head| head.eq_ignore_ascii_case(root));
    !root.is_empty()
        && head.is_some()
        && path.get(root.len()..).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether a canonical path is a root or lies below it.
pub fn is_below(path: &str, root: &str) -> bool {
    let root = root.trim_end_matches('/');
    !root.is_empty() && path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
