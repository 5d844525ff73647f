//! The wire: what is read, what is refused, and that Emacs agrees.

use crate::support::skip::skipped;
use passepartout::domain::sexp::plist::{Plist, message};
use passepartout::domain::sexp::reader::{Fault, Sexp};
use passepartout::edge::wire::frame::{self, FrameError, Frames, Step};
use proptest::prelude::*;

/// Checks that a text is read and written back as the second text.
#[track_caller]
fn check(input: &str, written: &str) {
    let value = Sexp::read(input).unwrap_or_else(|error| panic!("{input:?}: {error}"));
    assert_eq!(value.to_string(), written, "{input:?}");
    assert_eq!(Sexp::read(written).as_ref(), Ok(&value), "{written:?}");
}

/// Checks that a text is refused at a byte.
#[track_caller]
fn refuse(input: &str, at: usize, fault: Fault) {
    let start: String = input.chars().take(60).collect();
    let error = Sexp::read(input).expect_err(&start);
    assert_eq!((error.at, error.fault), (at, fault), "{start:?}");
}

#[test]
fn what_is_read_is_written_in_one_form() {
    check("nil", "nil");
    check("NIL", "nil");
    check("()", "nil");
    check("( \t\n)", "nil");
    check("T", "t");
    check("(:TYPE :Event)", "(:type :event)");
    check("(foo Bar-baz a.b <= 1+ -)", "(foo Bar-baz a.b <= 1+ -)");
    check("(1 -2 +3 5.)", "(1 -2 3 5)");
    check("(9223372036854775807 -9223372036854775808)", "(9223372036854775807 -9223372036854775808)");
    check("(1.0 .5 -0.25 1e5 1e+20 1.5d0 2.5f-3)", "(1.0 0.5 -0.25 100000.0 1.0e20 1.5 0.0025)");
    check("(1.0e+INF -1.0e+INF 0.0e+NaN -0.0e+NaN)", "(1.0e+INF -1.0e+INF 0.0e+NaN -0.0e+NaN)");
    check("(1e999 12d3 1.e5 1e 1/2)", "(1e999 12d3 1.e5 1e 1/2)");
    check("(a . b)", "(a . b)");
    check("(a . (b . (c . nil)))", "(a b c)");
    check("(a b . (c . d))", "(a b c . d)");
    check("((a . \"x\") (b . 1))", "((a . \"x\") (b . 1))");
    check(r#""say \"hi\" \\ there""#, r#""say \"hi\" \\ there""#);
    check("\"a\nb\\nc\\td\"", "\"a\nb\nc\td\"");
    check("\"a\\\nb\\ c\"", "\"abc\"");
    check("\"\\0\\17\\0337\"", "\"\0\u{f}\u{1b}7\"");
    check("\"\\x3b1\\ 1 \\x1f600\"", "\"α1 😀\"");
    check("(\"a\"\"b\"c)", "(\"a\" \"b\" c)");
}

#[test]
fn what_another_lisp_could_misread_is_refused() {
    refuse("", 0, Fault::Empty);
    refuse("  ", 2, Fault::Empty);
    refuse("(a (b)", 0, Fault::Unfinished("list"));
    refuse("(a \"b)", 3, Fault::Unfinished("string"));
    refuse("(a \"b\\", 3, Fault::Unfinished("string"));
    refuse("a)", 1, Fault::Trailing);
    refuse(")", 0, Fault::Unopened);
    refuse("(a) (b)", 4, Fault::Trailing);
    for (text, c) in [("'a", '\''), ("`a", '`'), (",a", ','), ("[a]", '['), ("|a|", '|'), ("a;b", ';'), ("?a", '?')] {
        let at = usize::from(text == "a;b");
        let fault = if at == 1 { Fault::Trailing } else { Fault::Character(c) };
        refuse(text, at, fault);
    }
    refuse("(foo\\ bar)", 4, Fault::Character('\\'));
    refuse("(é)", 1, Fault::Character('é'));
    refuse("(:)", 1, Fault::Character(':'));
    refuse("(..)", 1, Fault::Character('.'));
    for text in ["#(1 2)", "#'car", "#.(quit)", "#s(a)", "#1=a", "#(\"x\" 0 1 (face bold))"] {
        refuse(text, 0, Fault::Hash);
    }
    refuse("\"\\300\"", 1, Fault::Escape);
    refuse("\"\\x80\"", 1, Fault::Escape);
    refuse("\"\\xd800\"", 1, Fault::Escape);
    refuse("\"\\x\"", 1, Fault::Escape);
    refuse("\"ab\\q\"", 3, Fault::Escape);
    refuse("9223372036854775808", 0, Fault::Range);
    for (text, at) in [("(. a)", 1), ("(a .)", 4), ("(a . b c)", 7), ("(a . b . c)", 7), (".", 0)] {
        refuse(text, at, Fault::Dot);
    }
}

#[test]
fn limits_hold_before_anything_is_built() {
    let deep = |n: usize| format!("{}{}", "(".repeat(n), ")".repeat(n));
    assert!(Sexp::read(&deep(64)).is_ok());
    refuse(&deep(65), 64, Fault::TooDeep);
    refuse(&"(".repeat(100_000), 64, Fault::TooDeep);
    assert!(Sexp::read(&format!("({})", "1 ".repeat(100_000))).is_ok());
    refuse(&format!("({})", "1 ".repeat(100_001)), 200_001, Fault::TooMany);
    refuse(&format!("({})", "()".repeat(100_001)), 200_002, Fault::TooMany);
    let long = format!("\"{}\"", "x".repeat(4 * 1024 * 1024 - 2));
    assert!(Sexp::read(&long).is_ok());
    refuse(&format!("{long} "), 4 * 1024 * 1024, Fault::TooLong);
}

#[test]
fn errors_say_what_and_where() {
    insta::assert_snapshot!(Sexp::read("(:a #(1))").expect_err("refused"), @"cannot read the message at byte 4: “#” forms are not read: send strings without text properties, and lists in place of vectors");
    insta::assert_snapshot!(Sexp::read("(:a").expect_err("refused"), @"cannot read the message at byte 0: it ends inside a list");
    insta::assert_snapshot!(frame::decode(b"00000g").expect_err("refused"), @"byte 5 of the frame is no hexadecimal digit: a frame begins with its length in bytes as six hexadecimal digits");
}

#[test]
fn a_value_that_code_nested_too_deeply_is_cut_in_the_writer() {
    let value = (0..70).fold(Sexp::T, |value, _| Sexp::list([value]));
    let text = value.to_string();
    assert!(text.contains("nested too deeply"));
    assert!(Sexp::read(&text).is_ok());
}

#[test]
fn property_lists_are_built_and_looked_up() {
    let built = message(
        "event",
        Plist::new()
            .keyword("sensor", "User-Input")
            .text("text", "what is \"due\"?")
            .int("n", 3u64)
            .flag("no", false)
            .texts("files", ["a", "b"]),
    )
    .build();
    insta::assert_snapshot!(built, @r#"(:type :event :payload (:sensor :user-input :text "what is \"due\"?" :n 3 :files ("a" "b")))"#);
    let read = Sexp::read("(:TYPE :EVENT :PAYLOAD (:A nil :B t :B nil :C 7 :D \"x\" :E (1 2) :F -1))").expect("read");
    let payload = read.get("payload").expect("payload");
    assert_eq!(read.name_at("type"), Some("event"));
    assert_eq!((payload.flag_at("a"), payload.flag_at("b"), payload.flag_at("z")), (false, true, false));
    assert_eq!((payload.int_at("c"), payload.text_at("d"), payload.count_at("f")), (Some(7), Some("x"), None));
    assert_eq!(payload.list_at("e").len(), 2);
    assert_eq!(Sexp::read("(:a)").expect("read").get("a"), None);
}

#[test]
fn names_from_elsewhere_cannot_break_the_text() {
    assert_eq!(Sexp::keyword("a b)\"").to_string(), ":a-b--");
    assert_eq!(Sexp::symbol("nil"), Sexp::Nil);
    assert_eq!(Sexp::symbol("x y").to_string(), "x-y");
    assert_eq!(Sexp::float(f64::NEG_INFINITY).to_string(), "-1.0e+INF");
}

#[test]
fn frames_are_checked_before_they_are_believed() {
    let complete = |text, used| Ok(Step::Complete { text, used });
    assert_eq!(frame::decode(b""), Ok(Step::NeedMore(6)));
    assert_eq!(frame::decode(b" \n00"), Ok(Step::NeedMore(4)));
    assert_eq!(frame::decode(b"000003ab"), Ok(Step::NeedMore(1)));
    assert_eq!(frame::decode(b"\n000003abcde"), complete("abc", 10));
    assert_eq!(frame::decode(b"00000Aabcdefghij"), complete("abcdefghij", 16));
    assert_eq!(frame::decode(b"000000"), complete("", 6));
    assert_eq!(frame::decode(b"4000"), Ok(Step::NeedMore(2)));
    assert_eq!(frame::decode(b"400001"), Err(FrameError::TooLong(0x40_0001)));
    assert_eq!(frame::decode(b"0x0003"), Err(FrameError::Head(1)));
    assert_eq!(frame::decode(b"GET / HTTP/1.1"), Err(FrameError::Head(0)));
    assert_eq!(frame::decode(b"000002a\xff"), Err(FrameError::Text(7)));
    assert_eq!(frame::decode(&[b' '; 4096]), Ok(Step::NeedMore(6)));
    assert_eq!(frame::decode(&[b' '; 4097]), Err(FrameError::Space));
    assert_eq!(frame::encode(&"x".repeat(0x40_0001)), Err(FrameError::TooLong(0x40_0001)));
}

fn any_sexp() -> impl Strategy<Value = Sexp> {
    let leaf = prop_oneof![
        Just(Sexp::Nil),
        Just(Sexp::T),
        "[a-zA-Z][a-z0-9-]{0,6}".prop_map(|name| Sexp::keyword(&name)),
        "[a-zA-Z*<=_][a-zA-Z0-9*+<>=!_/-]{0,6}".prop_map(|name| Sexp::symbol(&name)),
        any::<String>().prop_map(Sexp::Str),
        "[\"\\\\nx0-7 \n\r\t\u{0}\u{7f}\u{80}é漢😀]{0,12}".prop_map(Sexp::Str),
        any::<i64>().prop_map(Sexp::Int),
        prop::num::f64::NORMAL.prop_map(Sexp::float),
        prop_oneof![Just(0.0), Just(-1.5), Just(1e16), Just(1e-7), Just(f64::MAX), Just(5e-324)].prop_map(Sexp::float),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Sexp::list),
            (inner.clone(), inner).prop_map(|(head, tail)| Sexp::pair(head, tail)),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(value in any_sexp()) {
        let text = value.to_string();
        prop_assert_eq!(Sexp::read(&text), Ok(value), "{}", text);
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = Sexp::read(&text);
    }

    #[test]
    fn no_text_of_lisp_characters_panics_and_what_is_accepted_round_trips(text in "[() .\"\\\\#'`,:;?a1e+dnilt\u{80}-]{0,40}") {
        if let Ok(value) = Sexp::read(&text) {
            prop_assert_eq!(Sexp::read(&value.to_string()), Ok(value));
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = frame::decode(&bytes);
    }

    #[test]
    fn a_stream_cut_anywhere_gives_the_same_frames(
        texts in prop::collection::vec(any::<String>(), 0..5),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        space in "[ \n]{0,3}",
    ) {
        let mut stream = Vec::new();
        for text in &texts {
            stream.extend_from_slice(space.as_bytes());
            stream.extend(frame::encode(text).expect("short"));
        }
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.push(0);
        cuts.push(stream.len());
        cuts.sort_unstable();
        let mut frames = Frames::default();
        let mut read = Vec::new();
        for pair in cuts.windows(2) {
            frames.push(&stream[pair[0]..pair[1]]);
            while let Some(text) = frames.take().expect("well-formed") {
                read.push(text);
            }
        }
        prop_assert_eq!(read, texts);
    }
}

/// Has another Lisp read values as frames and print each back as a frame; `None` where it is not installed.
/// The program is given the names of two files behind its words: what it reads, and what it writes.
fn through(program: &str, words: &[&str], more: &[&str], values: &[Sexp]) -> Option<Vec<Sexp>> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (from, to) = (folder.path().join("in"), folder.path().join("out"));
    let mut bytes = Vec::new();
    for value in values {
        bytes.extend(frame::encode(&value.to_string()).expect("short"));
    }
    std::fs::write(&from, &bytes).expect("written");
    let run = std::process::Command::new(program).args(words).args([&from, &to]).args(more).output().ok()?;
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let mut frames = Frames::default();
    frames.push(&std::fs::read(&to).expect("it wrote its answer"));
    let mut read = Vec::new();
    while let Some(text) = frames.take().expect("frames of another Lisp are well-formed") {
        read.push(Sexp::read(&text).unwrap_or_else(|error| panic!("{text:?}: {error}")));
    }
    Some(read)
}

/// Reads and prints in a real Emacs, under one setting of its printer.
fn through_emacs(values: &[Sexp], setting: &str) -> Option<Vec<Sexp>> {
    let program = r#"(let* ((from (pop command-line-args-left)) (to (pop command-line-args-left))
            (coding-system-for-read 'no-conversion) (coding-system-for-write 'no-conversion)
            (stream (with-temp-buffer (set-buffer-multibyte nil) (insert-file-contents-literally from) (buffer-string)))
            (at 0) (out nil))
       (eval (read (pop command-line-args-left)))
       (while (< at (length stream))
         (let* ((size (string-to-number (substring stream at (+ at 6)) 16))
                (text (decode-coding-string (substring stream (+ at 6) (+ at 6 size)) 'utf-8-unix))
                (printed (encode-coding-string (prin1-to-string (read text)) 'utf-8-unix)))
           (setq at (+ at 6 size))
           (push (concat (format "%06x" (length printed)) printed) out)))
       (write-region (apply #'concat (nreverse out)) nil to nil 'silent))"#;
    through("emacs", &["--batch", "-Q", "--eval", program], &[setting], values)
}

/// Reads and prints in SBCL, which evaluates nothing of what it reads.
fn through_sbcl(values: &[Sexp]) -> Option<Vec<Sexp>> {
    let program = r#"(destructuring-bind (from to) (last sb-ext:*posix-argv* 2)
      (with-open-file (in from :element-type '(unsigned-byte 8))
        (with-open-file (out to :direction :output :element-type '(unsigned-byte 8))
          (flet ((octets (count)
                   (let ((octets (make-array count :element-type '(unsigned-byte 8))))
                     (and (= (read-sequence octets in) count) octets))))
            (loop for head = (octets 6) while head
                  do (let ((text (sb-ext:octets-to-string
                                  (octets (parse-integer (map 'string #'code-char head) :radix 16))
                                  :external-format :utf-8)))
                       (with-standard-io-syntax
                         (let* ((*read-eval* nil) (*read-default-float-format* 'double-float)
                                (printed (sb-ext:string-to-octets (prin1-to-string (read-from-string text))
                                                                  :external-format :utf-8)))
                           (write-sequence (map 'vector #'char-code (format nil "~6,'0x" (length printed))) out)
                           (write-sequence printed out)))))))))"#;
    through(
        "sbcl",
        &["--noinform", "--non-interactive", "--no-userinit", "--eval", program, "--end-toplevel-options"],
        &[],
        values,
    )
}

#[test]
fn emacs_reads_and_prints_the_same_values() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut values: Vec<Sexp> =
        (0..500).map(|_| any_sexp().new_tree(&mut runner).expect("generated").current()).collect();
    values.push(Sexp::read("(:a (1.0e+INF -1.0e+INF 0.0e+NaN 1e+20 .5) (x . y))").expect("read"));
    values.push((0..63).fold(Sexp::T, |value, _| Sexp::list([value])));
    values.push(Sexp::text("é漢😀\u{301}\u{200f}\u{feff}\0\u{7f}\u{1b}[0m\r\n\u{2028}"));
    let settings =
        ["nil", "(setq print-escape-newlines t)", "(setq print-escape-newlines t print-escape-control-characters t)"];
    for setting in settings {
        let Some(read) = through_emacs(&values, setting) else {
            skipped("there is no Emacs here");
            return;
        };
        assert_eq!(read.len(), values.len());
        for (read, sent) in read.iter().zip(&values) {
            // Emacs prints the shortest text that reads back, so numbers are compared as numbers.
            assert_eq!(read, sent, "under {setting}: {sent}");
        }
    }
}

#[test]
fn sbcl_reads_and_prints_the_same_values() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    // Symbols are Common Lisp's own in another way, and stand in no message.
    let no_symbols = any_sexp().prop_filter("no symbols", |value| !has_symbol(value));
    let mut values: Vec<Sexp> =
        (0..500).map(|_| no_symbols.new_tree(&mut runner).expect("generated").current()).collect();
    values.push((0..63).fold(Sexp::T, |value, _| Sexp::list([value])));
    values.push(Sexp::text("é漢😀\u{301}\u{200f}\u{feff}\0\u{7f}\u{1b}[0m\r\n\u{2028} #.(quit) |a| #|"));
    let Some(read) = through_sbcl(&values) else { return skipped("there is no SBCL here") };
    assert_eq!(read.len(), values.len());
    for (read, sent) in read.iter().zip(&values) {
        assert_eq!(read, sent, "{sent}");
    }
}

fn has_symbol(value: &Sexp) -> bool {
    match value {
        Sexp::Symbol(_) => true,
        Sexp::List(items) => items.iter().any(has_symbol),
        Sexp::Dotted(items, tail) => items.iter().any(has_symbol) || has_symbol(tail),
        Sexp::Nil | Sexp::T | Sexp::Keyword(_) | Sexp::Str(_) | Sexp::Int(_) | Sexp::Float(_) => false,
    }
}
