//! What Markdown becomes, and that it is the same and inert however it comes.

use super::*;
use crate::domain::inert::inert;
use proptest::prelude::*;

#[test]
fn markdown_becomes_org() {
    for (given, shown) in [
        // Words.
        ("plain words, 2 * 3 = 6.", "plain words, 2 * 3 = 6."),
        ("a **strong** word", "a *strong* word"),
        ("a __strong__ word", "a *strong* word"),
        ("**b** and *em*, _em_", "*b* and /em/, /em/"),
        ("***both*** **x**", "/*both*/ *x*"),
        ("**a *b* c**", "*a /b/ c*"),
        ("~~gone~~ and ~5 to ~10, 5~10 and 20~30", "+gone+ and ~5 to ~10, 5~10 and 20~30"),
        ("`code` and `a = b` and ``a`b``", "=code= and =a = b= and =a`b="),
        ("`a=` `=~=` x`y`z `**kwargs`", "~a=~ ~=~=~ x`y`z =**kwargs="),
        ("foo**bar**baz and 2*3*4", "foo**bar**baz and 2*3*4"),
        ("**over\ntwo lines** end", "*over\ntwo lines* end"),
        ("snake_case_name and __init__", "snake_case_name and *init*"),
        (r"\*not\* \_em\_ and C:\dir", r"*not* _em_ and C:\dir"),
        ("Tom &amp; Ann <b>x</b> <br>", "Tom & Ann <b>x</b> <br>"),
        ("one  \ntwo\\\nthree\n", "one \\\\\ntwo \\\\\nthree\n"),
        ("**a  \nb**\n\nc", "*a \\\\\nb*\n\nc"),
        ("**never closed\n\nnext", "**never closed\n\nnext"),
        // Formulas.
        (r"so \(a_1*b*c\) and $x_1 *y* z$ cost $5 *or* **$6**", r"so \(a_1*b*c\) and $x_1 *y* z$ cost $5 *or* *$6*"),
        ("$$\na_1 * *b*\n$$\n**c** `x`", "$$\na_1 * *b*\n$$\n*c* =x="),
        ("\\[\n x_{1} \n\\]\n", "\\[\n x_{1} \n\\]\n"),
        // Links.
        ("see [the *page*](https://a.org/x_y_z).", "see [[https://a.org/x_y_z][the /page/]]."),
        ("[`f`](https://a.org \"Title\")", "[[https://a.org][=f=]]"),
        ("[a](docs/b.md) [c](/d/e.txt)", "[[file:docs/b.md][a]] [[file:/d/e.txt][c]]"),
        ("[x](elisp:kill) [y](mailto:a@b.c)", "x (elisp :kill) y (mailto :a@b.c)"),
        ("[x](javascript:f(1)) [s](#top)", "x (javascript :f(1)) s (#top)"),
        ("![cat](https://a.org/c.png)", "cat (https://a.org/c.png)"),
        ("![cat](c.pdf)", "[[file:c.pdf][cat]]"),
        (
            "<https://a.org/_x_> https://a.org/_y_*z* and <me@a.org>",
            "<https://a.org/_x_> https://a.org/_y_*z* and <me@a.org>",
        ),
        ("[ref][1] and [^1]\n\n[1]: https://a.org", "[ref][1] and [^1]\n\n[1]: https://a.org"),
        ("[https://a.org](https://a.org)", "[[https://a.org]]"),
        // Headings and rules.
        ("# Title\ntext", "*Title*\ntext"),
        ("### The `x` of **y** ###\n", "*The =x= of y*\n"),
        ("## **All** of [it](https://a.org)", "*All of [[https://a.org][it]]*"),
        ("## 2 * 3 and a* b", "2 * 3 and a* b"),
        ("#hash and\n#1 here", "#hash and\n#1 here"),
        ("####### seven", "####### seven"),
        ("a\n\n---\n***\n_ _ _\nb", "a\n\n-----\n-----\n-----\nb"),
        // Lists.
        ("- a\n- **b**\n  - c\n", "- a\n- *b*\n  - c\n"),
        ("`x`\n* a\n* b\n  * c", "=x=\n- a\n- b\n  - c"),
        ("* a\n* `b`\n* c", " * a\n * =b=\n * c"),
        ("1. a\n   more *b*\n2) c\n10. d", "1. a\n   more *b*\n2) c\n10. d"),
        ("- [ ] open\n- [x] done\n- [link](https://a.org)", "- [ ] open\n- [X] done\n- [[https://a.org][link]]"),
        (
            "1. run:\n   ```sh\n   ls\n   ```\n2. next",
            "1. run:\n   #+begin_src sh :eval no\n   ls\n   #+end_src\n2. next",
        ),
        ("- ```sh\n  ls\n  ```", "- \n  #+begin_src sh :eval no\n  ls\n  #+end_src\n"),
        ("1986 was\n1986. A year", "1986 was\n1986. A year"),
        // Quotations.
        ("> a **b**\n> c\n\nd", "#+begin_quote\na *b*\nc\n#+end_quote\n\nd"),
        ("> > deep\n> - x\nout", "#+begin_quote\ndeep\n- x\n#+end_quote\nout"),
        ("> ```py\n> x\nout", "#+begin_quote\n#+begin_src python :eval no\nx\n#+end_src\n#+end_quote\nout"),
        // Code.
        (
            "```python title=x\n* a\n#+end_src\n,* b\n```\nafter",
            "#+begin_src python :eval no\n,* a\n,#+end_src\n,,* b\n#+end_src\nafter",
        ),
        ("~~~\n```\n**a** `b`\n~~~", "#+begin_example\n```\n**a** `b`\n#+end_example\n"),
        ("````md\n```sh\nx\n```\n````\n", "#+begin_example\n```sh\nx\n```\n#+end_example\n"),
        ("```sh\ncat <<EOF\n```", "#+begin_src sh :eval no\ncat <<EOF\n#+end_src\n"),
        ("```server\nx", "#+begin_example\nx\n#+end_example\n"),
        ("a\n```sh\nx", "a\n#+begin_src sh :eval no\nx\n#+end_src\n"),
        ("text\n\n    ls -l\n      **x**\n\nb", "text\n\n: ls -l\n:   **x**\n\nb"),
        ("``` not a fence ``` x", "=not a fence= x"),
        ("a ``x= `y~ z`` b", "a ``x= `y~ z`` b"),
        ("```\n:END:\n%%(f)\nelisp:x\n```", "#+begin_example\n,:END:\n,% %(f)\nelisp :x\n#+end_example\n"),
        // Tables.
        (
            "|a|bb|\n|:-|--:|\n|**1**|`x\\|y`|\n|ccc|\nz",
            "| a   | bb          |\n|-----+-------------|\n| *1* | `x\\vert{}y` |\n| ccc |             |\nz",
        ),
        (
            "| [x](https://a.org) | 漢 |\n|--|--|\n| yy | z |",
            "| [[https://a.org][x]]  | 漢 |\n|----+----|\n| yy | z  |\n",
        ),
    ] {
        assert_eq!(org(given), shown, "for {given:?}");
    }
}

#[test]
fn org_comes_through() {
    for (given, shown) in [
        ("*bold* /it/ =a_b_c= ~x *y* z~ +del+", "*bold* /it/ =a_b_c= ~x *y* z~ +del+"),
        ("[[https://a.org/a_b_][a *b* c]] *bold* _under_", "[[https://a.org/a_b_][a *b* c]] *bold* _under_"),
        ("[[id:x][A]] and =[x](y)=", "[[id:x][A]] and =[x](y)="),
        ("- a :: b\n- [X] c\n  more", "- a :: b\n- [X] c\n  more"),
        ("| a | b |\n|---+---|\n| 1 | 2 |\n", "| a | b |\n|---+---|\n| 1 | 2 |\n"),
        (
            "#+begin_src python :eval yes\n,* x\n*ptr\n#+END_SRC\nafter",
            "#+begin_src python :eval no\n,* x\n*ptr\n#+end_src\nafter",
        ),
        ("#+BEGIN_EXAMPLE\n**x**\n#+end_example\n", "#+begin_example\n**x**\n#+end_example\n"),
        ("#+begin_quote\nsaid *so*\n> x\n#+end_quote\nafter", "#+begin_quote\nsaid *so*\nx\n#+end_quote\nafter"),
        ("#+end_quote\n#+title: x\n#+call: f()", ",#+end_quote\n,#+title: x\n,#+call: f()"),
        ("** Heading\n*bold* text", " ** Heading\n*bold* text"),
        ("* Heading\ntext", " * Heading\ntext"),
        (": fixed **x**\n:END:", ": fixed **x**\n,:END:"),
        ("-----\n", "-----\n"),
        ("a \\\\\nb \\alpha{} x", "a \\\\\nb \\alpha{} x"),
        (":PROPERTIES:\n:ID: x\n:END:", ",:PROPERTIES:\n,:ID: x\n,:END:"),
    ] {
        assert_eq!(org(given), shown, "for {given:?}");
    }
}

/// Words are there as soon as it is clear what they are, and not when their line or paragraph ends.
#[test]
fn words_come_before_their_line_ends() {
    let mut markdown = Markdown::default();
    assert_eq!(markdown.push("Plain words come"), "Plain words ");
    assert_eq!(markdown.push(" at once.\n"), "come at once.\n");
    assert_eq!(markdown.push("```sh\nls\n"), "#+begin_src sh :eval no\nls\n");
    assert_eq!(markdown.push("``"), "");
    assert_eq!(markdown.push("`\n"), "#+end_src\n");
    assert_eq!(markdown.push("| a |\n|-"), "");
    assert_eq!(markdown.push("-|\n\n"), "| a |\n|---|\n\n");
}

/// Whether a line is one of our own, and how it changes what is open.
fn framed(line: &str, open: &mut Vec<&'static str>) -> bool {
    let line = line.trim_start_matches(' ');
    let begins = match line.split(' ').collect::<Vec<_>>().as_slice() {
        ["#+begin_src", language, ":eval", "no"] => {
            assert!(Language::called(language).is_some(), "{line:?}");
            "src"
        }
        ["#+begin_example"] => "example",
        ["#+begin_quote"] => "quote",
        ["#+end_src"] | ["#+end_example"] | ["#+end_quote"] => {
            let begun = open.pop().unwrap_or_else(|| panic!("{line:?} ends nothing"));
            assert_eq!(line, format!("#+end_{begun}"));
            return true;
        }
        _ => return false,
    };
    // Within code nothing begins, and Org has no quotation within one.
    assert!(open.is_empty() || (open.as_slice() == ["quote"] && begins != "quote"), "{line:?} within {open:?}");
    open.push(begins);
    true
}

fn assert_inert(org: &str) {
    let mut open = Vec::new();
    for line in org.lines() {
        if !framed(line, &mut open) {
            assert_eq!(inert(line), line);
        }
    }
    assert!(open.is_empty(), "{open:?} is open at the end");
}

/// Text that is likely to begin, end and cross markup of both kinds.
fn mixed() -> impl Strategy<Value = String> {
    let pieces = vec![
        "\n",
        "\n\n",
        "\n",
        " ",
        "  ",
        "    ",
        "\t",
        "**",
        "*",
        "_",
        "__",
        "`",
        "``",
        "```",
        "```sh",
        "~~~",
        "~",
        "~~",
        "# ",
        "## ",
        "#",
        "#+begin_src sh",
        "#+end_src",
        "#+begin_quote",
        "#+end_quote",
        "#+begin_example",
        "#+title: x",
        "> ",
        ">",
        "- ",
        "* ",
        "** ",
        "+ ",
        "1. ",
        "2) ",
        "[ ] ",
        "[x] ",
        "---",
        "***",
        "-----",
        "|",
        "| a ",
        "|--",
        "\\|",
        "[",
        "](",
        ")",
        "[[",
        "]]",
        "][",
        "https://a.org/",
        "elisp:x",
        "file:a",
        "id:b",
        "!",
        "$",
        "$$",
        "\\(",
        "\\)",
        "\\[",
        "\\]",
        "\\",
        "\\\\",
        "<",
        ">",
        "<b>",
        "&amp;",
        "=",
        "=x=",
        "/i/",
        ":END:",
        ": ",
        "%%(",
        "{{{",
        "<<",
        "<2026-11-21",
        "src_x{",
        "call_f(",
        "SCHEDULED:",
        "\u{FFFC}",
        "\u{200B}",
        "\r",
        "<div>",
        "<!--",
        "===",
    ];
    let piece = prop_oneof![
        4 => prop::sample::select(pieces).prop_map(str::to_string),
        2 => "[a-z]{1,6}",
        1 => "\\PC{0,3}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Returns what becomes of a text that comes in pieces, in turn of so many bytes.
fn in_pieces(text: &str, sizes: &[usize]) -> (String, usize) {
    let (mut markdown, mut out, mut rest) = (Markdown::default(), String::new(), text);
    for size in sizes.iter().cycle() {
        let end = (*size.min(&rest.len())..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        let (piece, later) = rest.split_at(end);
        out.push_str(&markdown.push(piece));
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    let parsed = markdown.words.parsed;
    out.push_str(&markdown.finish());
    (out, parsed)
}

/// One row can name thousands of columns, which the next ones do not fill.
#[test]
fn a_table_does_not_grow_beyond_what_was_written_of_it() {
    let wide = "|a".repeat(1000);
    let fields = "|aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".repeat(32);
    for (first, row) in [("|".repeat(2048), "|"), (wide, "|"), (fields, "|b"), ("|a|".to_string(), "|--|")] {
        let text = format!("{first}\n{}", format!("{row}\n").repeat(8000));
        let out = org(&text);
        assert!(out.len() < 9 * text.len() + 32 * 1024, "{} of {}", out.len(), text.len());
        assert_eq!(out.lines().count(), text.lines().count());
    }
}

proptest! {
    #[test]
    fn in_any_pieces_it_is_the_same(text in mixed(), sizes in prop::collection::vec(1usize..12, 1..8)) {
        prop_assert_eq!(in_pieces(&text, &sizes).0, org(&text));
    }

    #[test]
    fn whatever_comes_is_inert(text in mixed()) {
        assert_inert(&org(&text));
    }

    /// Between whatever marks, all words are there, in their order.
    #[test]
    fn no_word_is_lost(
        parts in prop::collection::vec(("[*_`~#> |\\[\\]()\n$=-]{0,4}", "[a-z]{3,8}"), 1..30),
    ) {
        // Behind a bar or parenthesis there may be an address, and the name of a language.
        let text: String = parts.iter().map(|(marks, word)| format!("{marks}{word}w")).collect();
        let shown = org(&text);
        let mut rest = shown.as_str();
        for (_, word) in &parts {
            let word = format!("{word}w");
            let Some(at) = rest.find(&word) else {
                // What stands behind the marks of code is its language.
                prop_assert!(text.contains("```") || text.contains("~~~") || text.contains("]("), "{word} of {text:?} is not in {shown:?}");
                continue;
            };
            rest = &rest[at + word.len()..];
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Every byte is parsed at most once, whatever is open and however long a line is.
    #[test]
    fn what_is_parsed_grows_with_what_came(
        text in mixed(),
        filler in prop::sample::select(vec!["a ", "**a ", "`", "[", "| a ", "a", "> ", "- ", "$", "\\(", "=a ", "*"]),
        sizes in prop::collection::vec(1usize..400, 1..8),
    ) {
        let text = format!("{text}{}{text}", filler.repeat(6000 / filler.len()));
        let (out, parsed) = in_pieces(&text, &sizes);
        prop_assert!(parsed <= 2 * text.len(), "{parsed} of {}", text.len());
        prop_assert!(out == org(&text), "another text in pieces of {sizes:?}");
        assert_inert(&out);
    }
}
