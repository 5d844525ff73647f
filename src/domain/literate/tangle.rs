//! What tangling an Org file would write, as Org does it; what would take evaluating something is not followed, and said.
//!
//! Org writes indentation of eight columns and more with tabs where the user's Emacs does; here it is blanks, and
//! [`agree`] takes both for the same.

use super::blocks::{Block, blocks};
use crate::domain::org::outline::Outline;
use std::collections::BTreeMap;

/// Column that a tab leads to a multiple of.
const TAB: usize = 8;
/// Languages whose blocks Org puts into something of its own when it tangles them.
const EXPANDED: [&str; 11] =
    ["C", "cpp", "C++", "D", "java", "fortran", "plantuml", "ditaa", "latex", "gnuplot", "groovy"];

/// A file that tangling would write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its name as the block gives it; of `yes` that of the Org file with another ending.
    pub file: String,
    /// The lines, from 1, on which its blocks begin.
    pub lines: Vec<usize>,
    /// What would be written; or what of it was not followed: the line of the block, and why.
    pub text: Result<String, Vec<(usize, String)>>,
}

/// Returns the files that tangling an Org file would write, in the order of their first blocks. `file` is its name.
pub fn tangle(outline: &Outline, file: &str) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    for block in blocks(&outline.text).blocks.into_iter().filter(|block| block.kind == "src") {
        let Some(language) = block.language() else { continue };
        let node = outline.at(block.begin);
        if is_out(outline, node) {
            continue;
        }
        let arguments = Arguments::of(outline, node, &block, language);
        let Some((name, code)) = one(outline, &block, language, &arguments, file) else { continue };
        let at = targets.iter().position(|target| target.file == name).unwrap_or(targets.len());
        if at == targets.len() {
            targets.push(Target { file: name, lines: Vec::new(), text: Ok(String::new()) });
        }
        let Some(target) = targets.get_mut(at) else { continue };
        target.lines.push(block.line);
        match (&mut target.text, code) {
            (Ok(text), Ok(code)) => {
                if !text.is_empty() && arguments.value("padline") != Some("no") {
                    text.push('\n');
                }
                text.push_str(&code);
                text.push('\n');
            }
            (Ok(_), Err(why)) => target.text = Err(vec![(block.line, why)]),
            (Err(unclear), Err(why)) => unclear.push((block.line, why)),
            (Err(_), Ok(_)) => {}
        }
    }
    targets
}

/// Returns whether what a heading holds is not tangled: it, or one above it, is commented or archived.
fn is_out(outline: &Outline, node: usize) -> bool {
    let mut at = node;
    while let Some(heading) = outline.nodes.get(at).filter(|_| at > 0) {
        if heading.commented || heading.tags.iter().any(|tag| &**tag == "ARCHIVE") {
            return true;
        }
        at = heading.parent as usize;
    }
    false
}

/// Returns the file that a block is written to, and its code, or why that was not followed; `None` for a block that is
/// written nowhere.
fn one(
    outline: &Outline,
    block: &Block<'_>,
    language: &str,
    arguments: &Arguments,
    file: &str,
) -> Option<(String, Result<String, String>)> {
    let wanted = arguments.value("tangle")?;
    let name = match wanted {
        "no" | "" => return None,
        "yes" => {
            let base = file.rsplit_once('.').filter(|(base, _)| !base.ends_with('/')).map_or(file, |(base, _)| base);
            let ending = if matches!(language, "emacs-lisp" | "elisp") { "el" } else { language };
            format!("{base}.{ending}")
        }
        other => other.to_string(),
    };
    let code = block.code(&outline.text);
    let why = unclear(arguments, language, &code, wanted);
    Some((name, why.map_or_else(|| Ok(body(&code)), Err)))
}

/// Returns why the code of a block is not followed, when it is not.
fn unclear(arguments: &Arguments, language: &str, code: &str, wanted: &str) -> Option<String> {
    let set = |name: &str| arguments.value(name).filter(|value| !matches!(*value, "" | "no"));
    if wanted.starts_with(['(', '\'', '`', '[']) {
        return Some("its :tangle is Lisp, which is not evaluated".to_string());
    }
    if wanted == "yes" && !matches!(language, "emacs-lisp" | "elisp") {
        return Some(format!("which ending Org gives to files of {language} is not known; name the file in :tangle"));
    }
    let noweb = set("noweb").is_some_and(|value| value.split_whitespace().any(|word| !matches!(word, "no" | "eval")));
    if noweb && code.split('\n').any(|line| line.split_once("<<").is_some_and(|(_, rest)| rest.contains(">>"))) {
        return Some("it refers to other blocks (:noweb), which are not followed".to_string());
    }
    let adding = ["comments", "shebang", "prologue", "epilogue", "tangle-mode"];
    if let Some(name) = adding.into_iter().find(|name| set(name).is_some()) {
        return Some(format!("what :{name} adds is not followed"));
    }
    if let Some(switch) = arguments.switches.first() {
        return Some(format!("what its switch {switch} changes is not followed"));
    }
    if arguments.value("no-expand").is_some() {
        return None;
    }
    if arguments.value("var").is_some() {
        return Some("what :var adds is not followed".to_string());
    }
    EXPANDED.contains(&language).then(|| format!("what Org puts around code of {language} is not followed"))
}

/// Returns the text of a block as it is written: without the indentation that all of it has, and without blanks around it.
fn body(code: &str) -> String {
    let blank = [' ', '\t', '\n', '\r'];
    let code = code.strip_suffix('\n').unwrap_or(code);
    let indent = |line: &str| {
        let inner = line.trim_start_matches([' ', '\t']);
        (!inner.is_empty()).then(|| columns(line.strip_suffix(inner).unwrap_or("")))
    };
    let common = code.split('\n').filter_map(indent).min().unwrap_or(0);
    if common == 0 {
        return code.trim_matches(blank).to_string();
    }
    let line = |line: &str| match indent(line) {
        Some(column) => [&" ".repeat(column - common), line.trim_start_matches([' ', '\t'])].concat(),
        None => String::new(),
    };
    let lines: Vec<String> = code.split('\n').map(line).collect();
    lines.join("\n").trim_matches(blank).to_string()
}

/// Returns the column that blanks lead to.
fn columns(blanks: &str) -> usize {
    blanks.chars().fold(0, |column, c| if c == '\t' { (column / TAB + 1) * TAB } else { column + 1 })
}

/// Returns the first line, from 1, in which two texts differ by more than how their indentation is written; `None` where
/// they agree.
pub fn agree(one: &str, other: &str) -> Option<usize> {
    let lines = |text: &str| -> Vec<(usize, String)> {
        let line = |line: &str| {
            let inner = line.trim_start_matches([' ', '\t']);
            (columns(line.strip_suffix(inner).unwrap_or("")), inner.to_string())
        };
        text.replace("\r\n", "\n").split('\n').map(line).collect()
    };
    let (one, other) = (lines(one), lines(other));
    let shared = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
    (shared < one.len().max(other.len())).then_some(shared + 1)
}

/// The header arguments of a block.
#[derive(Default)]
struct Arguments {
    values: BTreeMap<String, String>,
    /// The switches that change what is written.
    switches: Vec<String>,
}

impl Arguments {
    fn of(outline: &Outline, node: usize, block: &Block<'_>, language: &str) -> Arguments {
        let mut arguments = Arguments::default();
        for key in ["HEADER-ARGS".to_string(), format!("HEADER-ARGS:{}", language.to_uppercase())] {
            arguments.take(&inherited(outline, node, &key));
        }
        let rest = block.args.split_once([' ', '\t']).map_or("", |(_, rest)| rest.trim());
        let at = if rest.starts_with(':') { 0 } else { rest.find(" :").map_or(rest.len(), |at| at + 1) };
        let (switches, rest) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let odd = switches.split_whitespace().filter(|switch| matches!(*switch, "-i" | "-r"));
        arguments.switches = odd.map(str::to_string).collect();
        arguments.take(rest);
        block.headers.iter().for_each(|header| arguments.take(header));
        arguments
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Takes `:key value` pairs; the last of a key counts. A colon begins a pair behind a blank, outside of brackets and
    /// strings.
    fn take(&mut self, text: &str) {
        let (mut starts, mut depth, mut quoted, mut before) = (Vec::new(), 0usize, false, ' ');
        for (at, c) in text.char_indices() {
            match c {
                '"' if before != '\\' => quoted = !quoted,
                '(' | '[' if !quoted => depth += 1,
                ')' | ']' if !quoted => depth = depth.saturating_sub(1),
                ':' if depth == 0 && !quoted && matches!(before, ' ' | '\t') => starts.push(at),
                _ => {}
            }
            before = c;
        }
        for (n, start) in starts.iter().enumerate() {
            let end = starts.get(n + 1).copied().unwrap_or(text.len());
            let pair = text.get(start + 1..end).unwrap_or("").trim();
            let (key, value) = pair.split_once([' ', '\t']).unwrap_or((pair, ""));
            self.values.insert(key.to_ascii_lowercase(), plain(value.trim()));
        }
    }
}

/// Returns what a value in quotation marks says.
fn plain(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"') else { return value.to_string() };
    let (mut said, mut escaped) = (String::new(), false);
    for c in inner.chars() {
        match c {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => break,
            c => {
                said.push(c);
                escaped = false;
            }
        }
    }
    said
}

/// Returns what a property says at a heading: its own, or that of the nearest above it, with what `KEY+` adds.
fn inherited(outline: &Outline, node: usize, key: &str) -> String {
    let (mut added, plus) = (Vec::new(), format!("{key}+"));
    let mut at = node;
    let mut base = None;
    while let Some(heading) = outline.nodes.get(at) {
        let here = heading.properties.iter().filter(|(known, _)| **known == *plus).map(|(_, value)| value.to_string());
        let mut here: Vec<String> = here.collect();
        base = heading.properties.iter().find(|(known, _)| **known == *key).map(|(_, value)| value.to_string());
        here.append(&mut added);
        added = here;
        if base.is_some() || at == 0 {
            break;
        }
        at = heading.parent as usize;
    }
    if base.is_none() {
        let file = outline.properties.iter().filter(|(known, _)| **known == *key).map(|(_, value)| value.to_string());
        base = Some(file.collect::<Vec<_>>().join(" "));
    }
    base.into_iter().chain(added).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::org::scan::{ScanOptions, scan};

    fn tangled(text: &str) -> Vec<(String, Result<String, String>)> {
        let outline = scan(text.into(), &ScanOptions::default()).expect("it is short");
        let said = |target: Target| (target.file, target.text.map_err(|unclear| unclear[0].1.clone()));
        tangle(&outline, "/m/notes.v1.org").into_iter().map(said).collect()
    }

    fn src(args: &str, body: &str) -> String {
        format!("#+begin_src {args}\n{body}#+end_src\n")
    }

    #[test]
    fn blocks_are_written_as_org_writes_them() {
        let ok = |file: &str, text: &str| vec![(file.to_string(), Ok(text.to_string()))];
        for (text, expected) in [
            (src("emacs-lisp :tangle yes", "  (a\n    b)\n\n"), ok("/m/notes.v1.el", "(a\n  b)\n")),
            (src("sh :tangle a.sh", "x\n") + &src("sh :tangle a.sh", "\ny\n"), ok("a.sh", "x\n\ny\n")),
            (src("sh :tangle a.sh", "x\n") + &src("sh :padline no :tangle a.sh", "y\n"), ok("a.sh", "x\ny\n")),
            (src("sh :tangle \"a b.sh\" :x (1 :tangle c)", ",* x\n,,#+y\n"), ok("a b.sh", "* x\n,#+y\n")),
            (src("sh -n :tangle a.sh", "\n  x\n"), ok("a.sh", "x\n")),
            (src("sh", "x\n"), vec![]),
            (src("sh :tangle no", "x\n"), vec![]),
            (format!("#+PROPERTY: header-args :tangle f.sh\n{}", src("sh", "x\n")), ok("f.sh", "x\n")),
            (
                format!(
                    "#+PROPERTY: header-args :tangle f.sh\n#+PROPERTY: header-args:sh :tangle g.sh\n{}",
                    src("sh", "x\n")
                ),
                ok("g.sh", "x\n"),
            ),
            (
                format!("* A\n:PROPERTIES:\n:header-args: :tangle h.sh\n:END:\n** B\n{}", src("sh", "x\n")),
                ok("h.sh", "x\n"),
            ),
            (
                format!("* A\n:PROPERTIES:\n:header-args: :tangle h.sh\n:END:\n** B\n{}", src("sh :tangle no", "x\n")),
                vec![],
            ),
            (format!("#+HEADER: :tangle i.sh\n{}", src("sh :tangle no", "x\n")), ok("i.sh", "x\n")),
            (format!("* COMMENT A\n** B\n{}", src("sh :tangle a.sh", "x\n")), vec![]),
            (format!("* A :ARCHIVE:\n{}", src("sh :tangle a.sh", "x\n")), vec![]),
        ] {
            assert_eq!(tangled(&text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_followed_says_why() {
        for (text, why) in [
            (src("sh :tangle a.sh :noweb yes", "<<b>>\n"), "other blocks (:noweb)"),
            (src("sh :tangle a.sh :var x=1", "x\n"), ":var"),
            (src("sh :tangle a.sh :shebang #!/bin/sh", "x\n"), ":shebang"),
            (src("sh :tangle a.sh :comments both", "x\n"), ":comments"),
            (src("sh :tangle a.sh :tangle-mode o755", "x\n"), ":tangle-mode"),
            (src("java :tangle a.java", "x\n"), "code of java"),
            (src("fortran :tangle a.f90", "x\n"), "code of fortran"),
            (src("sh :tangle (concat \"a\" \".sh\")", "x\n"), "is Lisp"),
            (src("sh :tangle yes", "x\n"), "which ending"),
            (src("sh -r :tangle a.sh", "x\n"), "switch -r"),
            (src("sh -n -i :tangle a.sh", "x\n"), "switch -i"),
            (src("C :tangle a.c", "x\n"), "code of C"),
        ] {
            let found = tangled(&text);
            assert!(matches!(found.as_slice(), [(_, Err(said))] if said.contains(why)), "{text}: {found:?}");
        }
        assert!(tangled(&src("sh :tangle a.sh :noweb yes", "x << 1\n"))[0].1.is_ok());
        assert!(tangled(&src("C :tangle a.c :no-expand", "x\n"))[0].1.is_ok());
    }

    #[test]
    fn texts_agree_whatever_their_indentation_is_written_with() {
        for (one, other, differs) in [
            ("a\n\tb\n", "a\n        b\n", None),
            ("a\r\nb", "a\nb", None),
            ("a\nb\n", "a\nc\n", Some(2)),
            ("a\n", "a", Some(2)),
            ("a\n b", "a\n  b", Some(2)),
        ] {
            assert_eq!(agree(one, other), differs, "{one:?} {other:?}");
        }
    }
}
