//! What was said: bounded, and laid out only where it is looked at.
//!
//! Of all that lies above nothing is measured: a place is an entry and a line in it, and what is shown is laid out from
//! there. So a key costs the same however long the transcript is.

use crate::edge::tui::laid::{found, laid_out};
use crate::edge::tui::theme::Theme;
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
    /// The line in which words were found last, as long as they are looked for in the same look.
    hit: Option<(EntryId, usize)>,
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
            hit: None,
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
        self.hit = self.hit.filter(|(id, _)| *id >= self.first);
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
        self.hit = None;
    }

    /// Whether the end is looked at.
    pub fn at_end(&self) -> bool {
        self.place == Place::End
    }

    /// Looks at the end again.
    pub fn to_end(&mut self) {
        (self.place, self.hit) = (Place::End, None);
    }

    /// Lays out as said; what was laid out otherwise is forgotten.
    fn take_look(&mut self, look: &Look) {
        if self.look.as_ref() != Some(look) {
            self.laid.clear();
            self.hit = None;
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
        self.hit = None;
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

    /// Returns the first line below what is looked at.
    fn below(&mut self, look: &Look, height: usize) -> (EntryId, usize) {
        let ((mut id, mut line), mut room) = (self.top(look, height), height);
        while id < self.end() {
            let here = self.lines(id, look).len().saturating_sub(line);
            if here > room {
                return (id, line + room);
            }
            (room, id, line) = (room - here, id + 1, 0);
        }
        (id, 0)
    }

    /// Looks for words, in lower case, as they are shown: upwards or downwards from where they were found last, or else
    /// from what is looked at, all of which is looked through. Returns whether they were found.
    ///
    /// What stands on the screen may not stand so in the text as it came: each entry is laid out for it.
    pub fn find(&mut self, words: &str, up: bool, look: &Look, height: usize) -> bool {
        self.take_look(look);
        let (first, end) = (self.first, self.end());
        let hit = match (up, self.hit) {
            (true, before) => {
                let before = before.unwrap_or_else(|| self.below(look, height));
                let mut ids = (first..end.min(before.0 + 1)).rev();
                ids.find_map(|id| {
                    let lines = self.lines(id, look);
                    let places = found(&lines, words, look.width).into_iter().rev();
                    places.map(|found| (id, found.line)).find(|place| *place < before)
                })
            }
            (false, last) => {
                let from = last.map(|(id, line)| (id, line + 1)).unwrap_or_else(|| self.top(look, height));
                (from.0..end).find_map(|id| {
                    let lines = self.lines(id, look);
                    let places = found(&lines, words, look.width).into_iter();
                    places.map(|found| (id, found.line)).find(|place| *place >= from)
                })
            }
        };
        let Some((id, line)) = hit else { return false };
        (self.place, self.hit) = (Place::At(id, line), hit);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::tui::laid::highlighted;
    use crate::edge::tui::wrap::plain;
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
        let one = |spans: Vec<Span<'static>>, words: &str| {
            highlighted(vec![Line::from(spans)], words, 20, Style::new().bold()).remove(0)
        };
        let line = one(vec![Span::raw("ein GRÖ"), Span::raw("SSE İx")], "größe");
        assert_eq!(line.spans.len(), 2);
        let line = one(vec![Span::raw("ein GRÖ"), Span::raw("SSE x")], "grösse");
        let marked: Vec<&str> = line
            .spans
            .iter()
            .filter(|span| span.style == Style::new().bold())
            .map(|span| span.content.as_ref())
            .collect();
        assert_eq!(marked, ["GRÖ", "SSE"]);
    }

    #[test]
    fn what_is_shown_is_found_without_its_marks_and_over_the_ends_of_lines() {
        let text = "Some **bold** text and `code`.\n\n- a list of\n  columns of a term\n\n> quoted words are long as well\n\n```\nlet unbroken = abcdefghijklmnopqrstuvwxyz;\n```\n";
        let mut transcript = Transcript::default();
        transcript.push(Kind::Answer, text);
        transcript.push(Kind::Note, "one\ntwo");
        for width in [12, 13, 17, 24, 80] {
            for (words, there) in [
                ("some bold text", true),
                ("bold text and code.", true),
                ("columns of a term", true),
                ("list of columns", true),
                ("quoted words are long as well", true),
                ("let unbroken = abcdefghijklmnopqrstuvwxyz;", true),
                ("one two", true),
                ("**bold**", false),
                ("onetwo", false),
                ("text andcode", false),
                ("code. a list", false),
                ("well let", false),
                ("", false),
            ] {
                let look = Look { search: words.to_string(), ..look(width) };
                for up in [true, false] {
                    transcript.to_end();
                    transcript.scroll(if up { 1 } else { -100 }, &look, 4);
                    assert_eq!(transcript.find(words, up, &look, 4), there, "“{words}” in {width}, up: {up}");
                    // It is there once.
                    assert!(!transcript.find(words, up, &look, 4), "“{words}” in {width}, up: {up}");
                }
            }
        }
    }

    #[test]
    fn what_stands_in_the_window_is_found_each_in_its_turn_and_both_of_its_lines_are_marked() {
        let mut transcript = Transcript::default();
        transcript.push(Kind::Note, "first word");
        transcript.push(Kind::Note, "second word");
        transcript.push(Kind::Note, "the last word of it");
        let look = Look { search: "word".to_string(), ..look(40) };
        let hit = |transcript: &Transcript| transcript.hit.map(|(id, _)| id);
        for (up, found) in [(true, Some(2)), (true, Some(1)), (true, Some(0)), (true, None), (false, Some(1))] {
            assert_eq!(transcript.find("word", up, &look, 20), found.is_some());
            assert_eq!(hit(&transcript), found.or(Some(0)));
            transcript.visible(&look, 20);
            assert!(transcript.at_end(), "all of it is shown");
        }
        // What is looked for anew is looked for from the window on.
        let other = Look { search: "last word".to_string(), width: 10, theme: Theme::Dark, ..look };
        assert!(transcript.find("last word", true, &other, 20));
        let marked = transcript.visible(&other, 20);
        let style = Theme::Dark.style(crate::edge::tui::theme::Part::Match);
        let marked = marked.iter().flat_map(|line| &line.spans).filter(|span| span.style.bg == style.bg);
        let marked: Vec<&str> = marked.map(|span| span.content.as_ref()).collect();
        assert_eq!(marked, ["last", "word"]);
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
