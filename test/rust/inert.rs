//! Inert text, read by the real Org: it finds nothing there that runs, and no structure.
use crate::support::skip::skipped;
use passepartout::domain::inert::inert;
use passepartout::domain::markdown::org;
use std::io::Write;
use std::process::{Command, Stdio};

/// Reads a text from standard input, and prints what Org finds there that inert text must not have.
const JUDGE: &str = r##"
(progn
  (require 'org) (require 'org-element) (require 'org-id) (org-load-modules-maybe)
  (dolist (type '("denote" "roam" "zotero" "cite" "citet" "orgnv" "attachment" "notes" "mu4e" "passepartout-plan"
                  "org-ql-search" "bookmark" "pdf" "pdfview" "nov" "elfeed" "telega" "slack" "magit" "github" "shell"
                  "bibtex" "doi" "eshell" "gnus" "notmuch" "orgit" "man" "elisp"))
    (org-link-set-parameters type :follow #'ignore))
  (let ((text (with-temp-buffer
                (let (line) (while (setq line (ignore-errors (read-from-minibuffer ""))) (insert line "\n")))
                (decode-coding-string (base64-decode-string (buffer-string)) 'utf-8)))
        (count 0))
    (with-temp-buffer
      (let ((org-inhibit-startup t)) (org-mode))
      (setq-local org-element-use-cache nil)
      (dolist (piece (split-string text "\f"))
        (erase-buffer)
        (insert piece)
        (org-element-map (org-element-parse-buffer)
            '(headline inlinetask drawer property-drawer node-property keyword babel-call src-block inline-src-block
              inline-babel-call timestamp planning clock diary-sexp dynamic-block special-block export-block
              export-snippet macro citation footnote-reference footnote-definition target radio-target link)
          (lambda (found)
            (unless (or (and (eq (org-element-type found) 'timestamp)
                             (memq (org-element-property :type found) '(inactive inactive-range)))
                        ;; Of our own making: Org never runs it.
                        (and (eq (org-element-type found) 'src-block)
                             (equal (org-element-property :parameters found) ":eval no"))
                        (and (eq (org-element-type found) 'link)
                             (or (member (org-element-property :type found) '("http" "https" "id"))
                                 (and (equal (org-element-property :type found) "file")
                                      (not (file-remote-p (org-element-property :path found)))
                                      (not (org-element-property :application found)))
                                 ;; A shell's test: nothing is opened but a search in this buffer.
                                 (and (equal (org-element-property :type found) "fuzzy")
                                      (string-prefix-p "[[ " (org-element-property :raw-link-text found))))))
              (princ (format "%S: %S in %S\n" (org-element-type found)
                             (buffer-substring-no-properties (org-element-property :begin found)
                                                             (org-element-property :end found))
                             piece)))))
        ;; What a click at any place would open, whatever the parser says.
        (goto-char (point-min))
        (while (re-search-forward org-link-any-re nil t)
          (let ((link (match-string-no-properties 0)))
            (unless (string-match-p "\\`\\(?:\\[\\[ \\|\\(?:\\[\\[\\|<\\)?\\(?:https?\\|id\\|file\\):\\)" link)
              (princ (format "any-link: %S in %S\n" link piece)))))
        (setq count (1+ count))))
    (princ (format "judged %d\n" count))))
"##;

/// Returns what Org finds in the texts, a line for each; nothing where there is no Emacs.
fn found_by_org(texts: &[String]) -> Option<String> {
    let child = Command::new("emacs")
        .args(["--batch", "-Q", "--eval", JUDGE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        skipped("there is no Emacs here");
        return None;
    };
    let text = base64(texts.join("\u{c}").as_bytes());
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    let out = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        out.ends_with(&format!("judged {}\n", texts.len())),
        "Emacs judged not all: {out}{}",
        String::from_utf8_lossy(&done.stderr)
    );
    Some(out)
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for (count, three) in bytes.chunks(3).enumerate() {
        let bits = three.iter().fold(0u32, |bits, b| bits << 8 | u32::from(*b)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let sign = SIGNS[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= three.len() { char::from(sign) } else { '=' });
        }
        if count % 1000 == 999 {
            out.push('\n');
        }
    }
    out.push('\n');
    out
}

/// Texts that Org would give a meaning.
fn live() -> Vec<&'static str> {
    vec![
        "elisp:kill-emacs",
        "x-elisp:kill-emacs",
        "<x-elisp:kill-emacs>",
        "+shell:ls",
        "_shell:ls",
        "[[id:a][x-elisp:yz]]",
        "[[id:a][see shell:ls]]",
        "_src_elisp{(message)}",
        "src_sh[:eval yes]{ls}",
        "_call_f()",
        "call_f[:x y](1)",
        "file:/ssh:evil:/x",
        "_file:/ssh:evil:/x",
        "[[file:/ssh:evil:/x]]",
        "file+sys:/bin/x",
        "[[file+emacs:a]]",
        "denote:xyz",
        "zotero://x",
        "<zotero:a b>",
        "citet:xyz",
        "[cite:@key]",
        "[cite/t:see @key]",
        "<shell:ls\n-la>",
        "<elisp:\n(x)>",
        "* head",
        "*** TODO x :tag:",
        "*************** task\n*************** END",
        ":LOGBOOK:\nx\n:END:",
        ":tag:",
        ":PROPERTIES:\n:ID: x\n:END:",
        "#+title: x",
        "#+begin_src sh\nls\n#+end_src",
        "#+call: f()",
        "#+begin: clocktable\n#+end:",
        "#+begin_quote\nx\n#+end_quote",
        "SCHEDULED: <2026-11-21 Sat>",
        "CLOSED: soon",
        "CLOCK: soon",
        "clock: =>  1:00",
        "<2026-11-21 Sat>",
        "<2026-11-21 Sat>--<2026-11-22 Sun>",
        "<2026-11-21 Sat 10:00-12:00 +1w>",
        "<%%(diary-float t 4 2)>",
        "%%(kill-emacs)",
        "{{{macro(x)}}}",
        "<<target>>",
        "<<<radio>>>",
        "<<a b\nc>>",
        "cat <<EOF",
        "1<<2 x>>",
        "@@html:<b>@@",
        "[fn:1] x",
        "[fn::x]",
        "[[elisp:(x)][y]]",
        "[[shell:ls]]",
        "[[help:x]]",
        "man:ls",
        "info:org",
        "mailto:a@b.c",
        "<mailto:a@b.c>",
        "[[*head]]",
        "[[#custom]]",
        "[[(ref)]]",
        "[[./a]]",
        "[[/ssh:evil:/x]]",
        "[[id:a][b]]",
        "[[https://a.b][c]]",
        "https://a.b/elisp:xyz",
        "[[https://a.b elisp:xyz]]",
        "attachment:xyz",
        "doi:10.1/x",
        "\\alpha{}",
    ]
}

/// Those, each alone and behind and before what could change how it is read.
fn nasty() -> Vec<String> {
    let frames = [
        ("", ""),
        (" ", ""),
        ("\t", "\t"),
        ("\u{A0}", ""),
        ("\u{3000}", " "),
        ("\u{2028}", "\u{2028}"),
        ("\u{200D}", ""),
        ("x ", " y"),
        ("x-", "-y"),
        ("_", "_"),
        ("'", "'"),
        ("漢", "漢"),
        ("é", ""),
        ("<", ">"),
        ("[", "]"),
        ("[[", "]]"),
        ("[[id:a][", "]]"),
        ("*", "*"),
        ("=", ""),
        ("- ", ""),
        ("- [ ] ", " :: x"),
        ("| ", " |"),
        ("# ", ""),
        (": ", ""),
        ("\r", "\r"),
        (",", ""),
        ("/", "/"),
        ("#+", ""),
        ("[[https://a.b][", "]]"),
        ("{", "}"),
        ("^", ""),
        ("\u{301}", ""),
        ("\u{0}", ""),
        ("x\n", "\nx"),
        ("\\", ""),
        ("$", "$"),
        ("[[file:a::", "]]"),
        ("<https://a ", ">"),
        ("~", "~"),
    ];
    let mut all = Vec::new();
    for text in live() {
        for (before, behind) in frames {
            all.push(inert(&format!("{before}{text}{behind}")));
        }
    }
    // Where a line without a blank is cut.
    for short in 0..12 {
        all.push(inert(&format!("{}shell:ls elisp:xyz", ".".repeat(16 * 1024 - short))));
    }
    all
}

#[test]
fn org_finds_nothing_live_in_inert_text() {
    let texts = nasty();
    let Some(out) = found_by_org(&texts) else { return };
    let bad: Vec<&str> = out.lines().filter(|line| !line.starts_with("judged ")).collect();
    assert!(bad.is_empty(), "{} live things:\n{}", bad.len(), bad[..bad.len().min(40)].join("\n"));
}

/// Those, in and beside what Markdown makes of words.
fn marked() -> Vec<String> {
    let frames = [
        ("**", "**"),
        ("*a* `", "`"),
        ("```\n", "\n```"),
        ("```sh ", "\nls"),
        ("> ", "\n"),
        (">", "x\n> "),
        ("| a | ", " |\n|--|"),
        ("|`", "`|"),
        ("[", "](https://a.b)"),
        ("[a](", ")"),
        ("![a](", ")"),
        ("[a](<", ">)"),
        ("# ", ""),
        ("## a ", " ##"),
        ("1. ", ""),
        ("- [x] ", ""),
        ("    ", ""),
        ("**a  \n", "**"),
        ("$$\n", "\n$$"),
        ("\\", ""),
        ("&#91;", "&#93;"),
        ("&lt;", "&gt;"),
        ("&#42; ", ""),
        ("a\\\n", ""),
        ("~~", "~~"),
        ("#+begin_src sh\n", "\n#+end_src"),
        ("#+begin_quote\n", "\n#+end_quote"),
        ("\n\n", "\n\n"),
    ];
    let framed = |text: &str| frames.map(|(before, behind)| org(&format!("{before}{text}{behind}")));
    live().into_iter().flat_map(framed).collect()
}

#[test]
fn org_finds_nothing_live_in_what_markdown_becomes() {
    let Some(out) = found_by_org(&marked()) else { return };
    let bad: Vec<&str> = out.lines().filter(|line| !line.starts_with("judged ")).collect();
    assert!(bad.is_empty(), "{} live things:\n{}", bad.len(), bad[..bad.len().min(40)].join("\n"));
}

#[test]
fn the_judge_itself_sees_what_is_live() {
    let live =
        ["elisp:xyz", "* head", "_src_elisp{(x)}", "<2026-11-21 Sat>", "[cite:@k]", "x-denote:yz", "CLOCK: soon"];
    let Some(out) = found_by_org(&live.map(String::from)) else { return };
    for text in live {
        assert!(out.lines().any(|line| line.ends_with(&format!(" in {text:?}"))), "Org finds nothing in {text}: {out}");
    }
}
