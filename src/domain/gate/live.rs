//! Finds what runs in a text: Lisp, and what Emacs and Org would carry out of it.
//!
//! It is the counterpart of [`crate::domain::inert`], which makes text inert: here the text goes where it stands for what
//! it says, so what is alive in it is looked for, and only what an act brings there is judged.

mod local;
mod org;

use crate::domain::gate::lisp;
use std::collections::HashMap;

/// What a piece of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A form of a file of Emacs Lisp; the whole file when it cannot be read.
    Form,
    /// A source block of Emacs Lisp, or its like within a line.
    Block,
    /// Lisp of another dialect, which Emacs does not run.
    Dialect,
    /// A form that stands as the value of a header argument, which Org evaluates before the block itself, or in a comment
    /// for what makes the autoloads of Lisp.
    Argument,
    /// The Lisp of a link.
    Link,
    /// The command of a link.
    Shell,
    /// A diary expression.
    Agenda,
    /// Variables that the file sets where it is opened.
    Local,
    /// A macro that evaluates Lisp.
    Macro,
    /// A formula of a table or a dynamic block.
    Formula,
    /// A setting of an Org file that names what is called.
    Setting,
    /// A file from elsewhere that is taken in.
    Fetched,
    /// Lisp that was compiled.
    Compiled,
    /// The rest of a text that holds too many pieces.
    More,
}

impl Kind {
    /// Returns what is said of a piece that a human must see whatever it holds; `None` where its Lisp decides.
    pub fn always(self) -> Option<&'static str> {
        Some(match self {
            Kind::Form | Kind::Block | Kind::Dialect | Kind::Argument | Kind::Link => return None,
            Kind::Shell => "a link would run a command in your Emacs when it is followed",
            Kind::Agenda => "Emacs would evaluate Lisp of it (“%%(…)”) whenever the agenda is made",
            Kind::Local => "its file-local variables would evaluate Lisp, or change what runs, when it is opened",
            Kind::Macro => "a macro would evaluate Lisp when it is opened or exported",
            Kind::Formula => "a formula would evaluate Lisp when a table is reckoned anew",
            Kind::Setting => "a setting of it names what Emacs calls",
            Kind::Fetched => "it takes in a file from elsewhere, which would be fetched when it is opened or exported",
            Kind::Compiled => "it is compiled Lisp, which cannot be read",
            Kind::More => "more in it could run than can be looked at",
        })
    }
}

/// A piece of a text that could run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece<'a> {
    /// What it is.
    pub kind: Kind,
    /// The text of it.
    pub code: &'a str,
}

/// What becomes of one file.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The file; its name says what its text is.
    pub file: &'a str,
    /// The text that stands there.
    pub before: Option<&'a str>,
    /// The text that would stand there.
    pub after: &'a str,
}

/// A piece that an act would bring into a file.
#[derive(Clone, Copy, Debug)]
pub struct Fresh<'a> {
    /// The file.
    pub file: &'a str,
    /// The piece.
    pub piece: Piece<'a>,
}

/// So many pieces of a text are told apart, and no more.
const MOST: usize = 500;
/// The longest piece that does not end with its line, in bytes.
const LONGEST: usize = 4096;

/// Returns the pieces that changes bring: those that stood in none of the files before. What would run by itself counts
/// as new in each file that it did not stand in, for that file may be one that Emacs looks through.
pub fn fresh<'a>(changes: &[Change<'a>]) -> Vec<Fresh<'a>> {
    let mut found: Vec<Fresh<'a>> = Vec::new();
    for change in changes {
        let pieces = pieces(change.file, change.after);
        found.extend(pieces.into_iter().map(|piece| Fresh { file: change.file, piece }));
    }
    if found.is_empty() {
        return found;
    }
    let place = |file: &'a str, piece: &Piece<'_>| if piece.kind.always().is_some() { file } else { "" };
    let mut known: HashMap<(&str, Piece<'a>), usize> = HashMap::new();
    for change in changes {
        for piece in change.before.map(|before| pieces(change.file, before)).unwrap_or_default() {
            *known.entry((place(change.file, &piece), piece)).or_default() += 1;
        }
    }
    found.retain(|fresh| match known.get_mut(&(place(fresh.file, &fresh.piece), fresh.piece)) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        Some(_) | None => true,
    });
    found
}

/// Returns the pieces of a text that could run; the file's name says what it is.
pub fn pieces<'a>(file: &str, text: &'a str) -> Vec<Piece<'a>> {
    let name = file.rsplit('/').next().unwrap_or(file).to_ascii_lowercase();
    let mut found = local::pieces(text);
    let bytes = text.as_bytes();
    if memchr::memchr_iter(b'\r', bytes).any(|at| bytes.get(at + 1) != Some(&b'\n')) {
        // Emacs may take these for the ends of lines, and then other lines begin than are seen here.
        found.push(Piece { kind: Kind::More, code: text });
    }
    match sort(&name, text) {
        Sort::Lisp => found.extend(forms(text)),
        Sort::Dialect => found.push(Piece { kind: Kind::Dialect, code: text }),
        Sort::Compiled => found.push(Piece { kind: Kind::Compiled, code: text }),
        Sort::Org => found.extend(org::pieces(text)),
        Sort::Diary => found.extend(org::diary(text)),
        Sort::Other => {}
    }
    found
}

enum Sort {
    Lisp,
    Dialect,
    Compiled,
    Org,
    Diary,
    Other,
}

fn sort(name: &str, text: &str) -> Sort {
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends(&[".elc", ".eln"]) {
        return Sort::Compiled;
    }
    let mode = local::mode(text);
    if ends(&[".el"]) || [".emacs", "_emacs", ".gnus"].contains(&name) || mode.eq_ignore_ascii_case("emacs-lisp") {
        return Sort::Lisp;
    }
    if ends(&[".org", ".org_archive"]) || mode.eq_ignore_ascii_case("org") {
        return Sort::Org;
    }
    match name.trim_start_matches('.').rsplit_once('.') {
        Some((_, "lisp" | "lsp" | "cl")) => Sort::Dialect,
        None | Some((_, "txt" | "diary")) => Sort::Diary,
        Some(_) => Sort::Other,
    }
}

/// Returns the outermost forms of Lisp, and those that stand in a comment for what makes the autoloads.
fn forms(text: &str) -> Vec<Piece<'_>> {
    let piece = |code| Piece { kind: Kind::Form, code };
    let Ok(forms) = lisp::read(text) else { return vec![piece(text)] };
    let cookies = text.lines().filter(|line| line.starts_with(";;;###"));
    let cookies =
        cookies.filter_map(|line| line.get(line.find('(')?..)).map(|code| Piece { kind: Kind::Argument, code });
    forms.places.iter().filter_map(|place| text.get(place.clone())).map(piece).chain(cookies).collect()
}

/// Returns at most so many bytes of a text, whole characters.
fn at_most(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or("")
}
