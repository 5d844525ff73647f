//! Mirrors of open buffers: changed ranges come in, the whole text is known.

use crate::domain::sexp::reader::Sexp;
use std::collections::HashMap;

/// The texts of open buffers, by file.
#[derive(Default)]
pub struct Mirrors {
    texts: HashMap<String, String>,
    coming: HashMap<String, String>,
}

/// What a `buffer-update` came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Update {
    /// The buffer's text is known and may differ from before.
    Changed,
    /// More is to come.
    Waiting,
    /// The file on disk counts.
    Disk,
    /// It does not fit: the buffer must be sent whole.
    Lost,
}

/// A buffer larger than this is not mirrored, in bytes; an Org file of that size is not read either.
const MOST: usize = 500 * 1024 * 1024;

impl Mirrors {
    /// Takes one `buffer-update`.
    pub fn take(&mut self, file: &str, payload: &Sexp) -> Update {
        match payload.name_at("part") {
            Some("saved" | "closed") => {
                self.texts.remove(file);
                self.coming.remove(file);
                Update::Disk
            }
            Some("begin") => {
                self.coming.insert(file.to_string(), String::new());
                Update::Waiting
            }
            Some("slice") => self.slice(file, payload.text_at("text").unwrap_or("")),
            Some("end") => match self.coming.remove(file) {
                Some(text) => {
                    self.texts.insert(file.to_string(), text);
                    Update::Changed
                }
                None => Update::Lost,
            },
            Some("change") => self.change(file, payload).unwrap_or_else(|| {
                self.texts.remove(file);
                Update::Lost
            }),
            _ => Update::Lost,
        }
    }

    fn slice(&mut self, file: &str, text: &str) -> Update {
        match self.coming.get_mut(file) {
            Some(coming) if coming.len() + text.len() <= MOST => {
                coming.push_str(text);
                Update::Waiting
            }
            _ => {
                self.coming.remove(file);
                Update::Lost
            }
        }
    }

    fn change(&mut self, file: &str, payload: &Sexp) -> Option<Update> {
        let (begin, end) = (payload.count_at("beg")?, payload.count_at("end")?);
        let text = payload.text_at("text").unwrap_or("");
        let mirror = match self.texts.get_mut(file) {
            Some(mirror) => mirror,
            None if self.coming.contains_key(file) => return None,
            None => return None,
        };
        if begin > end || !mirror.is_char_boundary(begin) || !mirror.is_char_boundary(end) || end > mirror.len() {
            return None;
        }
        mirror.replace_range(begin..end, text);
        (payload.count_at("size") == Some(mirror.len())).then_some(Update::Changed)
    }

    /// Seeds a mirror with the text of a saved buffer, so that changes of it fit.
    pub fn seed(&mut self, file: &str, text: String) {
        self.texts.insert(file.to_string(), text);
    }

    /// Returns the text of an open buffer.
    pub fn text(&self, file: &str) -> Option<&str> {
        self.texts.get(file).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(mirrors: &mut Mirrors, text: &str) -> Update {
        let payload = Sexp::read(text).expect("a test's own message");
        mirrors.take("/f.org", &payload)
    }

    #[test]
    fn changes_are_spliced_and_a_wrong_size_is_noticed() {
        let mut mirrors = Mirrors::default();
        assert_eq!(update(&mut mirrors, "(:part :begin :size 4)"), Update::Waiting);
        assert_eq!(update(&mut mirrors, "(:part :slice :text \"* ä\")"), Update::Waiting);
        assert_eq!(update(&mut mirrors, "(:part :end :tick 1)"), Update::Changed);
        assert_eq!(update(&mut mirrors, "(:part :change :beg 2 :end 4 :text \"bc\" :size 4)"), Update::Changed);
        assert_eq!(mirrors.text("/f.org"), Some("* bc"));
        for bad in [
            "(:part :change :beg 2 :end 3 :text \"x\" :size 9)",
            "(:part :change :beg 3 :end 2 :text \"x\" :size 4)",
            "(:part :change :beg 0 :end 99 :text \"\" :size 0)",
            "(:part :slice :text \"x\")",
            "(:part :other)",
        ] {
            let mut mirrors = Mirrors::default();
            mirrors.seed("/f.org", "* bc".to_string());
            assert_eq!(update(&mut mirrors, bad), Update::Lost, "{bad}");
        }
    }
}
