//! The outermost forms of a Lisp text: where each stands, what defines it is, and under which name.

use super::Place;
use super::check::unbalanced;
use super::scan::{Kind, Scan, Token};
use std::ops::Range;

/// One outermost form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form<'a> {
    /// Where it stands, in bytes, with the quotes before it.
    pub place: Range<usize>,
    /// Its tokens.
    pub tokens: Range<usize>,
    /// Its first word, such as `defun`, when it is a list that begins with one.
    pub kind: Option<&'a str>,
    /// The token of the name that it gives.
    pub named: Option<usize>,
    /// That name.
    pub name: Option<&'a str>,
}

/// Returns the outermost forms of a text, in order.
///
/// # Errors
/// In words, when brackets or strings do not fit together, with where.
pub fn forms<'a>(scan: &Scan<'a>) -> Result<Vec<Form<'a>>, String> {
    if let Some(fault) = unbalanced(scan).first() {
        return Err(fault.words(scan.text));
    }
    let (mut forms, mut depth, mut begin) = (Vec::new(), 0usize, None);
    for (at, token) in scan.tokens.iter().enumerate() {
        if token.kind == Kind::Comment {
            continue;
        }
        let first = *begin.get_or_insert(at);
        match token.kind {
            Kind::Open(_) => depth += 1,
            Kind::Close(_) => depth = depth.saturating_sub(1),
            Kind::Text | Kind::Name | Kind::Prefix | Kind::Comment => {}
        }
        if depth == 0 && token.kind != Kind::Prefix {
            forms.push(form(scan, first..at + 1));
            begin = None;
        }
    }
    match begin.and_then(|first| scan.tokens.get(first)) {
        Some(token) => {
            Err(format!("{}: nothing follows “{}”", Place::of(scan.text, token.place.start), scan.of(token)))
        }
        None => Ok(forms),
    }
}

fn form<'a>(scan: &Scan<'a>, tokens: Range<usize>) -> Form<'a> {
    let all = scan.tokens.get(tokens.clone()).unwrap_or_default();
    let start = all.first().map_or(0, |token| token.place.start);
    let end = all.last().map_or(start, |token| token.place.end);
    let mut code = all.iter().enumerate().filter(|(_, token)| token.kind != Kind::Comment);
    let list = matches!(code.next(), Some((_, Token { kind: Kind::Open(_), .. })));
    let kind = code.next().filter(|(_, token)| list && token.kind == Kind::Name).map(|(_, token)| scan.of(token));
    // Behind quotes and brackets: `(provide 'a)`, `(cl-defstruct (a …))`, `(defalias (quote a) …)` gives none.
    let named = kind.and_then(|_| {
        let mut rest = code.skip_while(|(_, token)| matches!(token.kind, Kind::Prefix | Kind::Open(_)));
        rest.next().filter(|(_, token)| token.kind == Kind::Name).map(|(at, _)| at)
    });
    let name = named.and_then(|at| all.get(at)).map(|token| scan.of(token)).filter(|name| *name != "quote");
    let named = named.filter(|_| name.is_some()).map(|at| tokens.start + at);
    Form { place: start..end, tokens, kind, named, name }
}

impl Form<'_> {
    /// Returns what it is called among people: its first word and its name.
    pub fn called(&self) -> String {
        [self.kind, self.name].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// So many forms are listed.
const LISTED: usize = 1_000;

/// Lists the forms of a text that have a name, a line each: the lines that it stands in, its kind, its name.
///
/// # Errors
/// As [`forms`].
pub fn list(scan: &Scan<'_>) -> Result<String, String> {
    let all = forms(scan)?;
    let (mut lines, mut line, mut counted) = (Vec::new(), 1, 0);
    for form in &all {
        let passed = |place: Range<usize>| scan.text.get(place).unwrap_or("").matches('\n').count();
        line += passed(counted..form.place.start);
        let last = line + passed(form.place.clone());
        counted = form.place.start;
        if form.name.is_some() {
            let place = if last > line { format!("{line}-{last}") } else { line.to_string() };
            lines.push(format!("{place}: {}", form.called()));
        }
    }
    let unnamed = all.len() - lines.len();
    let more = lines.len().saturating_sub(LISTED);
    lines.truncate(LISTED);
    if more > 0 {
        lines.push(format!("{more} more are left out."));
    }
    match (lines.is_empty(), unnamed) {
        (true, _) => lines.push("There is no definition.".to_string()),
        (false, 0) => {}
        (false, count) => lines.push(format!("({count} without a name)")),
    }
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::super::scan::scan;
    use super::*;

    #[test]
    fn definitions_are_listed_with_their_lines() {
        let text = ";;; a.el --- A  -*- lexical-binding: t -*-\n(require 'cl-lib)\n\n(defun one (x)\n  \"Doc (\n.\"\n  x)\n\
                    (cl-defstruct (point (:copier nil)) x)\n(setq b 1) (when x (y))\n'(a)\n(provide 'a)\n";
        let listed = list(&scan(text).expect("it is short")).expect("it is balanced");
        assert_eq!(
            listed,
            "2: require cl-lib\n4-7: defun one\n8: cl-defstruct point\n9: setq b\n9: when x\n11: provide a\n(1 without a name)"
        );
    }

    #[test]
    fn what_is_not_balanced_or_quotes_nothing_has_no_forms() {
        for (text, why) in [
            ("(a", "line 1, column 1: “(” is not closed"),
            ("a)", "line 1, column 2: “)” closes nothing"),
            ("(a)\n '", "line 2, column 2: nothing follows “'”"),
        ] {
            assert_eq!(forms(&scan(text).expect("it is short")), Err(why.to_string()), "{text}");
        }
        assert_eq!(list(&scan("; nothing").expect("it is short")), Ok("There is no definition.".to_string()));
    }
}
