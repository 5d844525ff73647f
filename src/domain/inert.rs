//! Makes text of models, tools and notes inert before it enters a buffer or a plan.
//!
//! In an Org buffer such text must never be a heading, keyword, drawer, planning line, local variable,
//! block or formula that runs, active timestamp, or link of a kind that runs: whatever could be is broken up by one
//! visible character.  Control and bidirectional characters are shown as escapes.

mod frame;
mod letters;
mod line;
mod link;

pub use frame::{Frame, Language};
pub(super) use line::begins_heading;

use letters::{escape, is_disguised, is_drawn_over, is_from_right, is_hidden, is_odd_space, words};
use line::{begin, go_on};
use link::allowed_link;

/// Returns text for an Org buffer: every line inert, control and bidirectional characters as escapes.
pub fn inert(text: &str) -> String {
    let mut stream = Inert::default();
    let mut out = stream.push(text);
    out.push_str(&stream.finish());
    out
}

/// Returns whether a text begins with a link that may stand in inert text: to a node, a file or a page.
pub fn is_link(text: &str) -> bool {
    text.starts_with("[[") && allowed_link(text)
}

/// Returns text for a human who must judge it exactly: control, bidirectional, invisible and look-alike
/// characters as `\u{…}` escapes, line breaks and tabs kept.
pub fn exact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in words(text) {
        let disguised = is_disguised(word);
        for c in word.chars() {
            if (c != '\n' && c != '\t' && is_hidden(c)) || is_odd_space(c) || (disguised && !c.is_ascii()) {
                escape(c, &mut out);
            } else {
                out.push(c);
            }
        }
    }
    out
}

/// Returns whether a text is drawn as it is written by whoever draws plain text: no letters of it run from the right, none are
/// drawn over others, and there is no tab, which some show as a blank.
pub fn is_drawn_in_order(text: &str) -> bool {
    !text.chars().any(|c| c == '\t' || is_from_right(c) || is_drawn_over(c))
}

/// Makes streamed text inert: what could still become something else is held back until it cannot.
#[derive(Default)]
pub struct Inert {
    /// The current line as it came.
    line: String,
    /// How many bytes of it were given out, and how many of these are blanks at its beginning.
    given: Option<(usize, usize)>,
}

/// A line of more bytes than this is broken in two, so that what is held back stays bounded.
const LONGEST: usize = 16 * 1024;

impl Inert {
    /// Takes more text and returns what is safe to show now.
    pub fn push(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for mut piece in text.split_inclusive('\n') {
            // Where a line is cut must not depend on the pieces in which it came.
            while self.line.len() + piece.trim_end_matches('\n').len() > LONGEST {
                let mut room = LONGEST.saturating_sub(self.line.len());
                while !piece.is_char_boundary(room) {
                    room -= 1;
                }
                let (head, tail) = piece.split_at(room);
                self.line.push_str(head);
                self.cut(&mut out);
                piece = tail;
            }
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                self.end_line(&mut out);
            }
        }
        self.give(&mut out);
        out
    }

    /// Returns what was held back.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        if !self.line.is_empty() {
            self.end_line(&mut out);
        }
        out
    }

    /// Returns a line of our own, set in so far; a line that has begun ends before it.
    pub fn frame(&mut self, indent: usize, frame: Frame) -> String {
        let begun = !self.line.is_empty();
        let mut out = self.finish();
        if begun {
            out.push('\n');
        }
        out.push_str(&format!("{}{frame}\n", " ".repeat(indent)));
        out
    }

    fn end_line(&mut self, out: &mut String) {
        let line = self.line.trim_end_matches('\n').trim_end_matches('\r');
        let (given, indent) = self.given.take().unwrap_or_else(|| begin(line, out));
        go_on(line, indent, given, true, out);
        if self.line.ends_with('\n') {
            out.push('\n');
        }
        self.line.clear();
    }

    /// Breaks an overlong line behind its last blank, or where it stands if it has none.  The line break is a
    /// real one: what is judged alone must also stand alone, or two harmless halves would make a live whole.
    fn cut(&mut self, out: &mut String) {
        let at = self.line.rfind([' ', '\t']).map_or(self.line.len(), |at| at + 1);
        let rest = self.line.split_off(at);
        self.line.push('\n');
        self.end_line(out);
        self.line = rest;
    }

    /// Gives out whole words, up to one of which it is not clear yet what it is. Wherever the line is cut later, that is
    /// behind these words.
    fn give(&mut self, out: &mut String) {
        let Some(words) = self.line.rfind(' ').and_then(|at| self.line.get(..=at)) else { return };
        let (given, indent) = match self.given {
            Some((given, _)) if given >= words.len() => return,
            Some(given) => given,
            None if words.trim().is_empty() => return,
            None => begin(words, out),
        };
        self.given = Some((go_on(words, indent, given, false, out), indent));
    }
}

#[cfg(test)]
mod tests {
    use super::line::is_drawer_line;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_becomes_structure() {
        for (given, shown) in [
            ("* TODO heading", " * TODO heading"),
            ("*** x", " *** x"),
            ("*bold* text", "*bold* text"),
            ("#+SETUPFILE: /ssh:evil:/x", ",#+SETUPFILE: /ssh :evil:/x"),
            ("  #+begin_src sh :eval yes", "  ,#+begin_src sh :eval yes"),
            (":PROPERTIES:", ",:PROPERTIES:"),
            (":END:", ",:END:"),
            ("SCHEDULED: <2026-11-21 Sat>", "SCHEDULED : [2026-11-21 Sat]"),
            ("at <2026-11-21 Sat 10:00> sharp", "at [2026-11-21 Sat 10:00] sharp"),
            ("<%%(shell-command \"id\")>", "<% %(shell-command \"id\")>"),
            ("%%(kill-emacs)", ",% %(kill-emacs)"),
            ("[[elisp:(kill-emacs)][Notes]]", "[ [elisp :(kill-emacs)][Notes]]"),
            ("[[shell:rm -rf ~]]", "[ [shell :rm -rf ~]]"),
            ("see elisp:(x) and shell:ls", "see elisp :(x) and shell :ls"),
            ("see <elisp: (x)> and <shell:", "see <elisp : (x)> and <shell :"),
            ("help: x, man: y, <file:", "help: x, man: y, <file :"),
            ("[[id:abc][Abc]]", "[[id:abc][Abc]]"),
            ("[[https://example.org][site]]", "[[https://example.org][site]]"),
            ("[[https://example.org/x.png]]", "[ [https://example.org/x.png]]"),
            ("[[id:abc][https://example.org/x.png]]", "[ [id:abc][https://example.org/x.png]]"),
            ("[[file:/ssh:host:/etc/passwd]]", "[ [file :/ssh :host:/etc/passwd]]"),
            ("in /sshx:evil.example:/x", "in /sshx :evil.example:/x"),
            ("(/new-method:a@b|sudo::/x) ///any::/x", "(/new-method :a@b|sudo ::/x) ///any ::/x"),
            ("/./podman:box:/x", "/./podman :box:/x"),
            ("PATH=/bin:/usr/bin:/x http://a:80/b:c and/or: x", "PATH=/bin:/usr/bin:/x http://a:80/b:c and/or: x"),
            ("[[file:a.org::*Heading][h]]", "[[file:a.org::*Heading][h]]"),
            ("src_elisp{(kill-emacs)} call_f()", "src_ elisp{(kill-emacs)} call_ f()"),
            ("# Local Variables:", "# Local Variables :"),
            ("-*- mode: x -*-", "-* - mode: x -* -"),
            ("{{{macro}}}", "{ {{macro}}}"),
            ("| a | ='(kill-emacs) |", "| a | =' (kill-emacs) |"),
            ("  |:= '(kill-emacs)|", "  |:= ' (kill-emacs)|"),
            ("a list is '(1 2)", "a list is '(1 2)"),
            ("<<target>>", "< <target>>"),
            ("cat <<EOF; cout <<x; 1<<4 >> 2", "cat < <EOF; cout < <x; 1< <4 >> 2"),
            ("cat <<EOF > x; cout <<x; 1<<4", "cat <<EOF > x; cout <<x; 1<<4"),
            ("[fn:1] note", "[fn :1] note"),
            ("a\u{202E}b\u{1b}[31m", "a\\u{202E}b\\u{1B}[31m"),
            ("note: this is plain: yes", "note: this is plain: yes"),
            ("CLOCK: [2026-11-21 Sat 10:00]", "CLOCK : [2026-11-21 Sat 10:00]"),
            ("x-elisp:kill-emacs", "x-elisp :kill-emacs"),
            ("<x-elisp:kill-emacs>", "<x-elisp :kill-emacs>"),
            ("see +shell:ls a_elisp:b", "see +shell :ls a_elisp :b"),
            ("[[id:a][x-elisp:kill-emacs]]", "[ [id:a][x-elisp :kill-emacs]]"),
            ("漢elisp:x 漢src_x{y}", "漢elisp :x 漢src_ x{y}"),
            ("src_\u{200B} src_x\u{7}", "src_ \\u{200B} src_ x\\u{7}"),
            ("_src_elisp{(message)}", "_src_ elisp{(message)}"),
            ("x _call_f() e", "x _call_ f() e"),
            ("_file:/ssh:evil:/x", "_file :/ssh :evil:/x"),
            ("denote:x zotero://y gemini://z", "denote :x zotero ://y gemini ://z"),
            ("<anything:x> <https://a.b> <std::vec>", "<anything :x> <https://a.b> <std::vec>"),
            ("[cite:@k] [cite/t:@k]", "[ cite :@k] [ cite/t:@k]"),
            ("@@html:<b>@@", "@ @html:<b>@@"),
            ("\u{A0}#+title: x", "\u{A0},#+title: x"),
            ("clock: soon", "clock : soon"),
            ("SCHEDULED: soon", "SCHEDULED : soon"),
            ("<<<radio>>>", "< < <radio>>>"),
            ("[<2026-11-21 Sat 10:00>] [[<2026-11-21 Sat>]]", "[ [2026-11-21 Sat 10:00]] [ [ [2026-11-21 Sat]]]"),
            ("<2026-11-21 Sat>--<2026-11-22 Sun>", "[2026-11-21 Sat]--[2026-11-22 Sun]"),
            ("at 10:30, note:this, fs.rs:12", "at 10:30, note :this, fs.rs:12"),
        ] {
            assert_eq!(inert(given), shown, "for {given:?}");
        }
    }

    /// Words come when the next begins, and what is not clear yet holds back what stands behind it.
    #[test]
    fn words_come_before_their_line_ends() {
        for (pieces, given) in [
            (
                &["- one *two*", " three", " [[id:", "a][b c]]", " d\n"][..],
                &["- one ", "*two* ", "three ", "", "[[id:a][b c]] d\n"][..],
            ),
            (&["* a b", "\n"], &[" * a ", "b\n"]),
            (&["  ", ":x: y z"], &["", "  ,:x: y "]),
            (&["note: ", "x ", "<2026-11-21 ", "Sat> at 10:00 "], &["note", ": x ", "", "[2026-11-21 Sat] at 10:00 "]),
            (&["Scheduled: ", "<2026", "\n"], &["Scheduled", "", " : <2026\n"]),
            (&["if [[ -f x ", "]] then "], &["if ", "[[ -f x ]] then "]),
        ] {
            let mut stream = Inert::default();
            let came: Vec<String> = pieces.iter().map(|piece| stream.push(piece)).collect();
            assert_eq!(came, given, "{pieces:?}");
        }
    }

    #[test]
    fn a_plan_shows_what_hides() {
        assert_eq!(exact("rm \u{202E}x\u{200B}"), "rm \\u{202E}x\\u{200B}");
        assert_eq!(exact("cаt файл"), "c\\u{430}t файл");
        assert_eq!(exact("a\u{A0}b\nc\td"), "a\\u{A0}b\nc\td");
        assert_eq!(exact("сор"), "\\u{441}\\u{43E}\\u{440}");
        assert_eq!(exact("a\u{1b}[2K"), "a\\u{1B}[2K");
    }

    fn nasty() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("* ".to_string()),
            Just("#+".to_string()),
            Just("[[".to_string()),
            Just("]]".to_string()),
            Just("][".to_string()),
            Just("elisp:".to_string()),
            Just("id:a".to_string()),
            Just("file:".to_string()),
            Just("SCHEDULED:".to_string()),
            Just("<2026-11-21".to_string()),
            Just(">".to_string()),
            Just("%%(".to_string()),
            Just("\n".to_string()),
            Just(" ".to_string()),
            Just(":END:".to_string()),
            Just("{{{".to_string()),
            Just("| ='(".to_string()),
            Just("src_x{".to_string()),
            Just("src_".to_string()),
            Just("call_f(".to_string()),
            Just("_".to_string()),
            Just("-".to_string()),
            Just("+".to_string()),
            Just("<".to_string()),
            Just("cite:@k]".to_string()),
            Just("denote:x".to_string()),
            Just("@@html:".to_string()),
            Just("CLOCK:".to_string()),
            Just("\u{A0}".to_string()),
            Just("Local Variables:".to_string()),
            Just("\u{202E}".to_string()),
            Just("-*-".to_string()),
            Just("<<".to_string()),
            Just(">>".to_string()),
            "[a-z ]{0,6}",
            "\\PC{0,3}",
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn streamed_in_any_pieces_it_is_the_same(text in nasty(), cuts in prop::collection::vec(0usize..200, 0..8)) {
            let whole = inert(&text);
            let mut stream = Inert::default();
            let mut out = String::new();
            let mut at = 0;
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|c| text.is_char_boundary(*c)).collect();
            cuts.sort_unstable();
            for cut in cuts {
                if cut > at {
                    out.push_str(&stream.push(&text[at..cut]));
                    at = cut;
                }
            }
            out.push_str(&stream.push(&text[at..]));
            out.push_str(&stream.finish());
            prop_assert_eq!(out, whole);
        }

        /// Lines longer than the longest, some without a blank, with something hostile about where they are cut.
        #[test]
        fn a_long_line_streams_the_same(
            filler in prop_oneof![Just("a"), Just("ab "), Just("é"), Just("[["), Just("<")],
            short in 0usize..40,
            first in nasty(),
            then in nasty(),
            pieces in prop::collection::vec(1usize..9000, 1..8),
        ) {
            let length = LONGEST.saturating_sub(first.len() + short);
            let text = format!("{}{first}shell:ls {then}elisp:x{}", filler.repeat(length / filler.len()), "b".repeat(LONGEST));
            let whole = inert(&text);
            let (mut stream, mut out, mut rest) = (Inert::default(), String::new(), text.as_str());
            for size in pieces.iter().cycle() {
                let end = (*size.min(&rest.len())..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
                let (piece, later) = rest.split_at(end);
                out.push_str(&stream.push(piece));
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            out.push_str(&stream.finish());
            prop_assert!(out == whole, "another text when it comes in pieces of {pieces:?}");
            for live in ["shell:ls", "elisp:x"] {
                for (at, _) in whole.match_indices(live) {
                    prop_assert!(whole[..at].ends_with(|c: char| c.is_ascii_alphanumeric()), "{live} is a link");
                }
            }
        }

        #[test]
        fn made_inert_twice_it_is_the_same(text in nasty()) {
            let once = inert(&text);
            prop_assert_eq!(inert(&once), once);
        }

        #[test]
        fn no_line_begins_structure(text in nasty()) {
            for line in inert(&text).lines() {
                prop_assert!(!begins_heading(line), "{line:?}");
                prop_assert!(!line.trim_start_matches([' ', '\t']).starts_with("#+"), "{line:?}");
                prop_assert!(!is_drawer_line(line.trim_start_matches([' ', '\t'])), "{line:?}");
                prop_assert!(!line.contains("[[elisp:") && !line.contains("%%("), "{line:?}");
            }
        }
    }
}
