//! What was typed before: walked through with the arrows, from the newest; a beginning that is typed narrows it.

/// So many lines are kept.
pub const MOST: usize = 1_000;
/// So many bytes of them are kept.
pub const BYTES: usize = 256 * 1024;

/// The lines that were typed, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct History {
    lines: Vec<String>,
    /// Where the walk stands, and what was typed when it began.
    walk: Option<(usize, String)>,
}

impl History {
    /// Takes lines, the oldest first.
    pub fn new(lines: Vec<String>) -> History {
        let mut history = History { lines, walk: None };
        history.bound();
        history
    }

    /// Returns the lines.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Keeps a line; returns false for one that is not kept: an empty one, the same as the last, or one that begins with
    /// a blank.
    pub fn keep(&mut self, line: &str) -> bool {
        self.walk = None;
        let kept =
            !line.trim().is_empty() && !line.starts_with(' ') && self.lines.last().is_none_or(|last| last != line);
        if kept {
            self.lines.push(line.to_string());
            self.bound();
        }
        kept
    }

    fn bound(&mut self) {
        let mut bytes: usize = self.lines.iter().map(String::len).sum();
        let mut gone = self.lines.len().saturating_sub(MOST);
        bytes -= self.lines.iter().take(gone).map(String::len).sum::<usize>();
        while bytes > BYTES {
            bytes -= self.lines.get(gone).map_or(bytes, String::len);
            gone += 1;
        }
        self.lines.drain(..gone.min(self.lines.len()));
    }

    /// Ends a walk: what stands there is typed now.
    pub fn stop(&mut self) {
        self.walk = None;
    }

    /// Returns the line before, which begins as what is typed does.
    pub fn older(&mut self, typed: &str) -> Option<String> {
        let (at, began) = self.walk.clone().unwrap_or_else(|| (self.lines.len(), typed.to_string()));
        let found = self.lines.iter().take(at).rposition(|line| line.starts_with(&began) && line != typed)?;
        self.walk = Some((found, began));
        self.lines.get(found).cloned()
    }

    /// Returns the line behind, and in the end what was typed when the walk began.
    pub fn newer(&mut self) -> Option<String> {
        let (at, began) = self.walk.clone()?;
        let next = self.lines.iter().enumerate().skip(at + 1).find(|(_, line)| line.starts_with(&began));
        match next {
            Some((found, line)) => {
                self.walk = Some((found, began));
                Some(line.clone())
            }
            None => {
                self.walk = None;
                Some(began)
            }
        }
    }
}

/// Returns lines as a file holds them: one a line, with line breaks and backslashes as escapes.
pub fn written(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{}\n", line.replace('\\', "\\\\").replace('\n', "\\n"))).collect()
}

/// Reads what [`written`] wrote.
pub fn read(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let (mut out, mut escaped) = (String::with_capacity(line.len()), false);
        for c in line.chars() {
            match (escaped, c) {
                (true, 'n') => out.push('\n'),
                (false, '\\') => {
                    escaped = true;
                    continue;
                }
                (_, c) => out.push(c),
            }
            escaped = false;
        }
        out
    };
    text.lines().map(line).filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_arrows_walk_through_lines_that_begin_as_what_is_typed() {
        let mut history = History::new(["/plans", "hello", "/help"].map(String::from).to_vec());
        assert_eq!(history.older(""), Some("/help".into()));
        assert_eq!(history.older("/help"), Some("hello".into()));
        assert_eq!(history.newer(), Some("/help".into()));
        assert_eq!((history.newer(), history.newer()), (Some(String::new()), None));
        assert_eq!(history.older("/"), Some("/help".into()));
        assert_eq!(history.older("/help"), Some("/plans".into()));
        assert_eq!(history.older("/plans"), None);
        assert_eq!((history.newer(), history.newer()), (Some("/help".into()), Some("/".into())));
        assert!(history.keep("new") && !history.keep("new") && !history.keep(" secret") && !history.keep(" "));
        assert_eq!(history.older(""), Some("new".into()));
    }

    #[test]
    fn it_is_bounded_in_lines_and_bytes() {
        let many: Vec<String> = (0..MOST + 5).map(|number| number.to_string()).collect();
        let history = History::new(many);
        assert_eq!((history.lines().len(), history.lines()[0].as_str()), (MOST, "5"));
        let mut history = History::new(vec!["x".repeat(BYTES)]);
        assert!(history.keep("y"));
        assert_eq!(history.lines(), ["y"]);
        assert!(History::new(vec!["x".repeat(BYTES + 1)]).lines().is_empty());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(lines in prop::collection::vec("[a\\\\n\n é]{1,6}", 0..5)) {
            prop_assert_eq!(read(&written(&lines)), lines);
        }
    }
}
