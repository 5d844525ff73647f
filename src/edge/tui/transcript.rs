//! What was said: bounded, and laid out only where it is looked at.
//!
//! Of all that lies above nothing is measured: a place is an entry and a line in it, and what is shown is laid out from
//! there. So a key costs the same however long the transcript is.

use crate::edge::tui::laid::laid_out;
use crate::edge::tui::theme::Theme;
use crate::edge::tui::wrap::plain;
use ratatui::text::Line;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// So many bytes of text are kept; the oldest goes first.
pub const BYTES: usize = 16 << 20;
/// So many entries are kept.
pub const ENTRIES: usize = 20_000;
/// An entry that is longer goes on in another one, at the end of a line.
const PIECE: usize = 32 * 1024;
/// The layouts of so many entries are kept.
const LAID_OUT: usize = 256;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What the user said.
    User,
    /// What was answered.
    Answer,
    /// What the model thought.
    Thought,
    /// What the gates said.
    Trace,
    /// What stands below an answer.
    Foot,
    /// Something to know.
    Note,
    /// Something that wants a look.
    Warning,
    /// Something that went wrong.
    Bad,
}

/// One entry.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// Its text as it came.
    pub text: String,
    /// More of it comes.
    pub open: bool,
    /// It was interrupted.
    pub cut: bool,
    /// It goes on in the next one.
    pub(super) joined: bool,
    version: u32,
}

/// The place of an entry, which never changes.
pub type EntryId = u64;

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The end, whatever comes.
    End,
    /// From a line of an entry on.
    At(EntryId, usize),
}

/// How it is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Columns.
    pub width: usize,
    /// Colours.
    pub theme: Theme,
    /// Thoughts are shown whole.
    pub thoughts: bool,
    /// Traces are shown.
    pub traces: bool,
    /// What is searched for, in lower case, or nothing.
    pub search: String,
}

/// All entries.
pub struct Transcript {
    entries: VecDeque<Entry>,
    first: EntryId,
    bytes: usize,
    place: Place,
    /// Entries went because there were too many.
    pub forgotten: bool,
    look: Option<Look>,
    laid: HashMap<EntryId, (u32, Rc<Vec<Line<'static>>>)>,
}

impl Default for Transcript {
    fn default() -> Transcript {
        Transcript {
            entries: VecDeque::new(),
            first: 0,
            bytes: 0,
            place: Place::End,
            forgotten: false,
            look: None,
            laid: HashMap::new(),
        }
    }
}

impl Transcript {
    /// Adds an entry.
    pub fn push(&mut self, kind: Kind, text: &str) -> EntryId {
        self.add(kind, text, false)
    }

    /// Adds an entry of which more comes.
    pub fn open(&mut self, kind: Kind) -> EntryId {
        self.add(kind, "", true)
    }

    fn add(&mut self, kind: Kind, text: &str, open: bool) -> EntryId {
        let id = self.first + self.entries.len() as u64;
        self.entries.push_back(Entry { kind, text: String::new(), open, cut: false, joined: false, version: 0 });
        self.append(id, text)
    }

    /// Appends to an entry; returns the one in which it goes on.
    pub fn append(&mut self, id: EntryId, text: &str) -> EntryId {
        let mut at = id;
        for piece in text.split_inclusive('\n') {
            let mut piece = piece;
            while !piece.is_empty() {
                let end_of_all = self.end();
                let Some(entry) = self.get_mut(at) else { return at };
                // A line of code may follow another: where they are parted its marks are not seen again.
                let full = entry.text.len() >= PIECE && (entry.text.ends_with('\n') || entry.text.len() >= 2 * PIECE);
                if full && at + 1 == end_of_all {
                    let (kind, open) = (entry.kind, entry.open);
                    (entry.open, entry.joined) = (false, true);
                    entry.version += 1;
                    at = end_of_all;
                    self.entries.push_back(Entry {
                        kind,
                        text: String::new(),
                        open,
                        cut: false,
                        joined: false,
                        version: 0,
                    });
                    continue;
                }
                let room = (2 * PIECE).saturating_sub(entry.text.len()).max(4);
                let end = (0..=piece.len().min(room)).rev().find(|end| piece.is_char_boundary(*end)).unwrap_or(0);
                let end = if end == 0 { piece.len() } else { end };
                let (now, later) = piece.split_at(end);
                entry.text.push_str(now);
                entry.version += 1;
                self.bytes += now.len();
                piece = later;
            }
        }
        self.bound();
        at
    }

    fn end(&self) -> EntryId {
        self.first + self.entries.len() as u64
    }

    fn bound(&mut self) {
        while (self.bytes > BYTES || self.entries.len() > ENTRIES) && self.entries.len() > 1 {
            let Some(gone) = self.entries.pop_front() else { break };
            self.laid.remove(&self.first);
            (self.bytes, self.first, self.forgotten) = (self.bytes - gone.text.len(), self.first + 1, true);
        }
        if let Place::At(id, _) = self.place
            && id < self.first
        {
            self.place = Place::At(self.first, 0);
        }
    }

    /// Says that no more of an entry comes.
    pub fn close(&mut self, id: EntryId, cut: bool) {
        if let Some(entry) = self.get_mut(id) {
            (entry.open, entry.cut) = (false, cut);
            entry.version += 1;
        }
    }

    /// Takes an entry away that turned out to be empty, when it is the last.
    pub fn drop_empty(&mut self, id: EntryId) {
        if id + 1 == self.end() && self.get(id).is_some_and(|entry| entry.text.trim().is_empty()) {
            self.entries.pop_back();
            self.laid.remove(&id);
        }
    }

    /// Returns an entry.
    pub fn get(&self, id: EntryId) -> Option<&Entry> {
        self.entries.get(usize::try_from(id.checked_sub(self.first)?).ok()?)
    }

    fn get_mut(&mut self, id: EntryId) -> Option<&mut Entry> {
        self.entries.get_mut(usize::try_from(id.checked_sub(self.first)?).ok()?)
    }

    /// Returns how many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns how many bytes of text are kept.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes all of them away; a place that was named is not used again.
    pub fn clear(&mut self) {
        (self.first, self.bytes, self.place, self.forgotten) = (self.end(), 0, Place::End, false);
        self.entries.clear();
        self.laid.clear();
    }

    /// Whether the end is looked at.
    pub fn at_end(&self) -> bool {
        self.place == Place::End
    }

    /// Looks at the end again.
    pub fn to_end(&mut self) {
        self.place = Place::End;
    }

    /// Lays out as said; what was laid out otherwise is forgotten.
    fn take_look(&mut self, look: &Look) {
        if self.look.as_ref() != Some(look) {
            self.laid.clear();
            self.look = Some(look.clone());
        }
    }

    fn lines(&mut self, id: EntryId, look: &Look) -> Rc<Vec<Line<'static>>> {
        let Some(entry) = self.get(id) else { return Rc::default() };
        let version = entry.version;
        if let Some((of, lines)) = self.laid.get(&id)
            && *of == version
        {
            return lines.clone();
        }
        let lines = Rc::new(laid_out(entry, look));
        if self.laid.len() > LAID_OUT {
            self.laid.clear();
        }
        self.laid.insert(id, (version, lines.clone()));
        lines
    }

    /// Returns the lines that are looked at, at most so many.
    pub fn visible(&mut self, look: &Look, height: usize) -> Vec<Line<'static>> {
        self.take_look(look);
        let Place::At(from, line) = self.place else { return self.last(look, height) };
        let mut out = Vec::with_capacity(height);
        let (mut id, mut skip) = (from, line);
        while out.len() < height && id < self.end() {
            let lines = self.lines(id, look);
            out.extend(lines.iter().skip(skip).take(height - out.len()).cloned());
            (id, skip) = (id + 1, 0);
        }
        if out.len() < height {
            // Below it is not enough for the window.
            self.place = Place::End;
            return self.last(look, height);
        }
        out
    }

    fn last(&mut self, look: &Look, height: usize) -> Vec<Line<'static>> {
        let (mut parts, mut have, mut id) = (Vec::new(), 0, self.end());
        while have < height && id > self.first {
            id -= 1;
            let lines = self.lines(id, look);
            have += lines.len();
            parts.push(lines);
        }
        let all = parts.iter().rev().flat_map(|lines| lines.iter());
        all.skip(have.saturating_sub(height)).cloned().collect()
    }

    /// Moves what is looked at by lines, up when they are negative.
    pub fn scroll(&mut self, by: isize, look: &Look, height: usize) {
        self.take_look(look);
        let (mut id, line) = self.top(look, height);
        let mut line = line as isize + by;
        while line < 0 && id > self.first {
            id -= 1;
            line += self.lines(id, look).len() as isize;
        }
        let mut line = usize::try_from(line).unwrap_or(0);
        while id < self.end() {
            let length = self.lines(id, look).len();
            if line < length {
                break;
            }
            (id, line) = (id + 1, line - length);
        }
        // What fills no window is the end, which `visible` finds.
        self.place = if id < self.end() { Place::At(id, line) } else { Place::End };
        if by > 0 && self.place != Place::End && self.reaches_end(look, height) {
            self.place = Place::End;
        }
    }

    /// Whether the last line stands in the window.
    fn reaches_end(&mut self, look: &Look, height: usize) -> bool {
        let (id, line) = self.top_of_end(look, height);
        self.place == Place::At(id, line)
    }

    fn top(&mut self, look: &Look, height: usize) -> (EntryId, usize) {
        match self.place {
            Place::At(id, line) => (id, line),
            Place::End => self.top_of_end(look, height),
        }
    }

    fn top_of_end(&mut self, look: &Look, height: usize) -> (EntryId, usize) {
        let (mut have, mut id) = (0, self.end());
        while have < height && id > self.first {
            id -= 1;
            have += self.lines(id, look).len();
        }
        (id, have.saturating_sub(height))
    }

    /// Looks for words, in lower case, from what is looked at: upwards, or downwards. Returns whether they were found.
    pub fn find(&mut self, words: &str, up: bool, look: &Look, height: usize) -> bool {
        self.take_look(look);
        let (id, line) = self.top(look, height);
        let (first, end) = (self.first, self.end());
        let ids: Box<dyn Iterator<Item = EntryId>> =
            if up { Box::new((first..=id.min(end.saturating_sub(1))).rev()) } else { Box::new(id..end) };
        for at in ids {
            let holds = self.get(at).is_some_and(|entry| entry.text.to_lowercase().contains(words));
            if !holds {
                continue;
            }
            let lines = self.lines(at, look);
            let fits = |n: &usize| {
                let here = lines.get(*n).is_some_and(|line| plain(line).to_lowercase().contains(words));
                let new = at != id || if up { *n < line } else { *n > line };
                here && new
            };
            let range = 0..lines.len();
            let found = if up { range.rev().find(fits) } else { range.into_iter().find(fits) };
            if let Some(found) = found {
                self.place = Place::At(at, found);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::tui::laid::highlighted;
    use ratatui::style::Style;
    use ratatui::text::Span;

    fn look(width: usize) -> Look {
        Look { width, theme: Theme::None, thoughts: false, traces: false, search: String::new() }
    }

    fn shown(transcript: &mut Transcript, look: &Look, height: usize) -> Vec<String> {
        transcript.visible(look, height).iter().map(plain).collect()
    }

    fn ten() -> Transcript {
        let mut transcript = Transcript::default();
        for number in 0..10 {
            transcript.push(Kind::Note, &format!("note {number}"));
        }
        transcript
    }

    #[test]
    fn the_end_is_shown_until_somebody_looks_elsewhere() {
        let (mut transcript, look) = (ten(), look(20));
        assert_eq!(shown(&mut transcript, &look, 3), ["", "· note 9", ""]);
        transcript.scroll(-2, &look, 3);
        assert_eq!(shown(&mut transcript, &look, 3), ["", "· note 8", ""]);
        transcript.push(Kind::Note, "news");
        assert_eq!(shown(&mut transcript, &look, 3), ["", "· note 8", ""], "it stays");
        transcript.scroll(-100, &look, 3);
        assert_eq!(shown(&mut transcript, &look, 3), ["· note 0", "", "· note 1"]);
        transcript.scroll(100, &look, 3);
        assert!(transcript.at_end());
        assert_eq!(shown(&mut transcript, &look, 2), ["· news", ""]);
        for by in [-1, 1, -3, 2, 1] {
            transcript.scroll(by, &look, 3);
        }
        assert!(transcript.at_end(), "back at the end it follows again");
    }

    #[test]
    fn a_stream_grows_and_a_long_one_goes_on_in_another_entry() {
        let mut transcript = Transcript::default();
        let mut id = transcript.open(Kind::Answer);
        for _ in 0..3 {
            id = transcript.append(id, &"word word\n".repeat(PIECE / 10 + 1));
        }
        id = transcript.append(id, &"x".repeat(5 * PIECE));
        transcript.close(id, true);
        assert!(transcript.len() > 3 && transcript.entries.iter().all(|entry| entry.text.len() <= 2 * PIECE));
        assert_eq!(transcript.entries.iter().map(|entry| entry.text.len()).sum::<usize>(), transcript.bytes());
        assert_eq!(shown(&mut transcript, &look(20), 2), ["[interrupted]", ""]);
    }

    #[test]
    fn memory_is_bounded_and_a_place_that_went_is_the_first() {
        let mut transcript = Transcript::default();
        let look = look(20);
        transcript.push(Kind::Note, "first");
        transcript.push(Kind::Note, "second\nline");
        transcript.scroll(-10, &look, 1);
        for _ in 0..(BYTES / (PIECE / 2)) + 8 {
            transcript.push(Kind::Answer, &"a ".repeat(PIECE / 4));
        }
        assert!(transcript.bytes() <= BYTES && transcript.forgotten);
        assert_eq!(shown(&mut transcript, &look, 1).len(), 1);
        for _ in 0..ENTRIES + 10 {
            transcript.push(Kind::Note, "x");
        }
        assert_eq!(transcript.len(), ENTRIES);
        transcript.clear();
        assert!(transcript.is_empty() && transcript.bytes() == 0 && shown(&mut transcript, &look, 5).is_empty());
    }

    #[test]
    fn words_are_found_upwards_and_downwards_and_marked() {
        let (mut transcript, mut look) = (ten(), look(20));
        look.search = "note 4".to_string();
        assert!(transcript.find("note 4", true, &look, 3));
        assert_eq!(shown(&mut transcript, &look, 1), ["· note 4"]);
        assert!(!transcript.find("note 4", true, &look, 3) && !transcript.find("note 4", false, &look, 3));
        assert!(transcript.find("note", false, &look, 3));
        assert_eq!(shown(&mut transcript, &look, 1), ["· note 5"]);
        let line =
            highlighted(Line::from(vec![Span::raw("ein GRÖ"), Span::raw("SSE İx")]), "größe", Style::new().bold());
        assert_eq!(line.spans.len(), 2);
        let line =
            highlighted(Line::from(vec![Span::raw("ein GRÖ"), Span::raw("SSE x")]), "grösse", Style::new().bold());
        let marked: Vec<&str> = line
            .spans
            .iter()
            .filter(|span| span.style == Style::new().bold())
            .map(|span| span.content.as_ref())
            .collect();
        assert_eq!(marked, ["GRÖ", "SSE"]);
    }

    #[test]
    fn thoughts_stand_apart_and_traces_come_when_asked_for() {
        let mut transcript = Transcript::default();
        let id = transcript.open(Kind::Thought);
        transcript.append(id, "I should look\ninto it");
        transcript.push(Kind::Trace, "vault 600: pass");
        let mut look = look(40);
        assert_eq!(shown(&mut transcript, &look, 9), ["┊ I should look", "  into it"]);
        transcript.close(id, false);
        assert_eq!(shown(&mut transcript, &look, 9), ["┊ thought, 5 words (Ctrl+T shows them)", ""]);
        (look.thoughts, look.traces) = (true, true);
        assert_eq!(shown(&mut transcript, &look, 9)[..4], ["┊ I should look", "  into it", "", "  vault 600: pass"]);
    }
}
