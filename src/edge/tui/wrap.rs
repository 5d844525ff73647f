//! Breaks text into lines of a width in columns: a wide character takes two, a combining mark none.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// A tab reaches the next of these stops.
const TAB: usize = 8;

/// A run of text in one style.
pub type Run = (String, Style);

/// Returns how many columns a text takes.
pub fn columns(text: &str) -> usize {
    text.graphemes(true).map(|piece| piece.width()).sum()
}

/// Returns a text with its tabs as blanks.
pub fn untabbed(text: &str) -> String {
    if !text.contains('\t') {
        return text.to_string();
    }
    let (mut out, mut column) = (String::with_capacity(text.len() + TAB), 0);
    for piece in text.graphemes(true) {
        match piece {
            "\t" => {
                let blanks = TAB - column % TAB;
                out.extend(std::iter::repeat_n(' ', blanks));
                column += blanks;
            }
            "\n" => {
                out.push('\n');
                column = 0;
            }
            other => {
                out.push_str(other);
                column += other.width();
            }
        }
    }
    out
}

/// Returns the beginning of a text that fits, with an ellipsis where something was left out.
pub fn clipped(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_string();
    }
    let (mut out, mut used) = (String::new(), 0);
    for piece in text.graphemes(true) {
        if used + piece.width() + 1 > width {
            break;
        }
        used += piece.width();
        out.push_str(piece);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// Where a line of a text begins and ends, in bytes; its line break belongs to it and is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    /// The first byte.
    pub start: usize,
    /// The byte behind what is shown.
    pub shown: usize,
    /// The byte behind the line, with its line break.
    pub end: usize,
    /// It goes on with the line above.
    pub goes_on: bool,
}

/// Breaks text where it does not fit, anywhere; what goes on stands `hang` columns in.
pub fn folds(text: &str, width: usize, hang: usize) -> Vec<Fold> {
    let mut out = Vec::new();
    let mut begun = 0;
    for line in text.split_inclusive('\n') {
        let shown = begun + line.trim_end_matches('\n').len();
        let (mut start, mut used, mut goes_on) = (begun, 0, false);
        for (at, piece) in text.get(begun..shown).unwrap_or_default().grapheme_indices(true) {
            let room = if goes_on { width.saturating_sub(hang) } else { width }.max(1);
            // One that fits nowhere stands alone.
            if used > 0 && used + piece.width() > room {
                out.push(Fold { start, shown: begun + at, end: begun + at, goes_on });
                (start, used, goes_on) = (begun + at, 0, true);
            }
            used += piece.width();
        }
        out.push(Fold { start, shown, end: begun + line.len(), goes_on });
        begun += line.len();
    }
    out
}

/// Breaks text where it does not fit, behind a blank where there is one; what goes on stands `hang` columns in.
pub fn folds_at_blanks(text: &str, width: usize, hang: usize) -> Vec<Fold> {
    let mut out = Vec::new();
    let mut begun = 0;
    for line in text.split_inclusive('\n') {
        let shown = begun + line.trim_end_matches('\n').len();
        let (mut start, mut goes_on, mut used) = (begun, false, 0);
        // Behind the last blank that follows a word, and the columns up to there.
        let (mut blank, mut words): (Option<(usize, usize)>, bool) = (None, false);
        for (at, piece) in text.get(begun..shown).unwrap_or_default().grapheme_indices(true) {
            let (at, wide) = (begun + at, piece.width());
            let room = if goes_on { width.saturating_sub(hang) } else { width }.max(1);
            // One that fits nowhere stands alone; a blank at the end has no need of room.
            if used > 0 && used + wide > room && piece != " " {
                let (cut, before) = blank.take().unwrap_or((at, used));
                let seen = text.get(start..cut).unwrap_or_default().trim_end_matches(' ').len();
                out.push(Fold { start, shown: start + seen, end: cut, goes_on });
                (start, goes_on, used, words) = (cut, true, used - before, cut < at);
            }
            used += wide;
            if piece == " " && words {
                blank = Some((at + 1, used));
            }
            words |= piece != " ";
        }
        let seen = text.get(start..shown).unwrap_or_default().trim_end_matches(' ').len();
        out.push(Fold { start, shown: start + seen, end: begun + line.len(), goes_on });
        begun += line.len();
    }
    out
}

/// One piece of a line that is being broken.
struct Piece<'a> {
    text: &'a str,
    width: usize,
    style: Style,
}

/// Breaks runs into lines at blanks, and within a word where it is longer than a line. `first` stands before the first
/// line and `rest` before the others.
pub fn wrapped(runs: &[Run], width: usize, first: &[Run], rest: &[Run]) -> Vec<Line<'static>> {
    let pieces: Vec<Piece<'_>> = runs
        .iter()
        .flat_map(|(text, style)| text.graphemes(true).map(|text| Piece { text, width: text.width(), style: *style }))
        .collect();
    let room_of =
        |before: &[Run]| width.saturating_sub(before.iter().map(|(text, _)| columns(text)).sum::<usize>()).max(1);
    let (mut out, mut start, mut used, mut space) = (Vec::new(), 0, 0, None);
    let mut at = 0;
    while let Some(piece) = pieces.get(at) {
        let before = if out.is_empty() { first } else { rest };
        if used > 0 && used + piece.width > room_of(before) && piece.text != " " {
            // Behind the last blank, or here when the word fills the line.
            let cut = space.filter(|cut| *cut > start).unwrap_or(at);
            out.push(line(pieces.get(start..cut).unwrap_or_default(), before));
            (start, at, used, space) = (cut, cut, 0, None);
            continue;
        }
        used += piece.width;
        at += 1;
        if piece.text == " " {
            space = Some(at);
        }
    }
    let before = if out.is_empty() { first } else { rest };
    out.push(line(pieces.get(start..).unwrap_or_default(), before));
    out
}

/// Makes a line of pieces, without the blanks at its end.
fn line(pieces: &[Piece<'_>], before: &[Run]) -> Line<'static> {
    let end = pieces.iter().rposition(|piece| piece.text != " ").map_or(0, |last| last + 1);
    let mut spans: Vec<Span<'static>> = before.iter().map(|(text, style)| Span::styled(text.clone(), *style)).collect();
    let mut run: Option<(String, Style)> = None;
    for piece in pieces.get(..end).unwrap_or_default() {
        match run.as_mut() {
            Some((text, style)) if *style == piece.style => text.push_str(piece.text),
            _ => {
                spans.extend(run.take().map(|(text, style)| Span::styled(text, style)));
                run = Some((piece.text.to_string(), piece.style));
            }
        }
    }
    spans.extend(run.map(|(text, style)| Span::styled(text, style)));
    Line::from(spans)
}

/// Returns the words of a line.
pub fn plain(line: &Line<'_>) -> String {
    line.spans.iter().map(|span| span.content.as_ref()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_a_terminal() {
        for (text, width) in [("abc", 3), ("漢字", 4), ("e\u{301}", 1), ("👩‍👩‍👧", 2), ("", 0)] {
            assert_eq!(columns(text), width, "{text}");
        }
        assert_eq!(untabbed("a\tb\n\tc"), "a       b\n        c");
        for (width, clip) in [(7, "漢字漢"), (6, "漢字漢"), (5, "漢字…"), (4, "漢…"), (1, "…"), (0, "")]
        {
            assert_eq!(clipped("漢字漢", width), clip, "{width}");
        }
    }

    #[test]
    fn lines_are_broken_at_blanks_and_nothing_is_lost() {
        let runs = |text: &str| vec![(text.to_string(), Style::new())];
        for (text, width, lines) in [
            ("one two three", 7, vec!["one two", "three"]),
            ("one two three", 8, vec!["one two", "three"]),
            ("abcdefgh", 3, vec!["abc", "def", "gh"]),
            ("漢字漢字 a", 5, vec!["漢字", "漢字", "a"]),
            ("a b", 1, vec!["a", "b"]),
            ("漢", 1, vec!["漢"]),
            ("", 4, vec![""]),
            ("e\u{301}e\u{301}e\u{301}", 2, vec!["e\u{301}e\u{301}", "e\u{301}"]),
        ] {
            let found: Vec<String> = wrapped(&runs(text), width, &[], &[]).iter().map(plain).collect();
            assert_eq!(found, lines, "{text:?} in {width}");
        }
        let hung: Vec<String> =
            wrapped(&runs("one two three"), 7, &runs("- "), &runs("  ")).iter().map(plain).collect();
        assert_eq!(hung, ["- one", "  two", "  three"]);
    }

    #[test]
    fn folds_cover_every_byte_once_and_fit() {
        for (text, width) in [("abc\n\nde", 2), ("漢字漢\nx", 3), ("", 5), ("a\n", 1), ("漢", 1), ("tail", 0)] {
            let folds = folds(text, width, 1);
            let mut at = 0;
            for fold in &folds {
                assert_eq!(fold.start, at, "{text:?} in {width}: {folds:?}");
                at = fold.end;
                let shown = columns(&text[fold.start..fold.shown]);
                assert!(shown <= width.max(1) || shown == 2, "{text:?} in {width}: {folds:?}");
            }
            assert_eq!(at, text.len(), "{text:?} in {width}");
        }
        assert_eq!(folds("abcde", 3, 1).iter().filter(|fold| fold.goes_on).count(), 1);
    }

    #[test]
    fn text_of_our_own_is_broken_behind_blanks_and_nothing_of_it_is_lost() {
        for (text, width, lines) in [
            ("one two three", 8, vec!["one two", "three"]),
            ("one two three", 7, vec!["one two", "three"]),
            ("one two three", 6, vec!["one", "two", "thre", "e"]),
            ("  Up    from the first", 12, vec!["  Up    from", "the first"]),
            ("    abcdefgh", 6, vec!["    ab", "cdef", "gh"]),
            ("abcdefgh ij", 4, vec!["abcd", "ef", "gh", "ij"]),
            ("a   b\n\nc ", 2, vec!["a", "b", "", "c"]),
            ("漢字 漢", 5, vec!["漢字", "漢"]),
            ("漢", 1, vec!["漢"]),
            ("", 4, vec![]),
        ] {
            let folds = folds_at_blanks(text, width, 2);
            let shown: Vec<&str> = folds.iter().map(|fold| &text[fold.start..fold.shown]).collect();
            assert_eq!(shown, lines, "{text:?} in {width}");
            let mut at = 0;
            for fold in folds {
                assert_eq!(fold.start, at, "{text:?} in {width}");
                assert!(text[fold.shown..fold.end].trim().is_empty(), "{text:?} in {width}");
                at = fold.end;
            }
            assert_eq!(at, text.len(), "{text:?} in {width}");
        }
    }
}
