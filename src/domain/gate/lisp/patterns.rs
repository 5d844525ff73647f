//! Walks what takes values apart: the patterns of `pcase`, of `cl-loop` and of `cl-destructuring-bind`.

use super::read::Node;
use super::walk::{Bind, Bound, Task, Walker};

impl<'a> Walker<'a> {
    /// `(cl-destructuring-bind (a (b c) &optional (d 1)) value …)`: names, and defaults that are plain.
    pub(super) fn destructuring(&mut self, args: &[usize], bound: Bound<'a>) {
        let mut names = Vec::new();
        for part in self.joined(args.first()) {
            match self.node(*part) {
                Some(Node::Symbol(name)) => names.push(Bind::Name(name)),
                Some(Node::List(parts) | Node::Dotted(parts)) if parts.iter().all(|inner| self.is_plain(*inner)) => {
                    names.extend(parts.iter().filter_map(|inner| self.symbol(*inner)).map(Bind::Name));
                }
                _ => self.unknown("What is taken apart has defaults that are worked out."),
            }
        }
        for name in names.iter().filter_map(|bind| bind.variable()).filter(|name| name.contains('-')) {
            if self.harm(name).is_some() {
                self.named(name);
            }
        }
        self.values(args.get(1..2).unwrap_or(&[]), &bound);
        let inner = self.with(&bound, names);
        self.values(args.get(2..).unwrap_or(&[]), &inner);
    }

    /// Whether a form is a name, or a value that stands there as it is.
    fn is_plain(&self, form: usize) -> bool {
        match self.node(form) {
            Some(Node::Symbol(_) | Node::Keyword(_) | Node::Constant | Node::Text | Node::Quote(_)) => true,
            Some(Node::List(items)) => items.is_empty(),
            _ => false,
        }
    }

    /// Returns the items where a list must stand, with a dot or without.
    fn joined(&mut self, form: Option<&usize>) -> &'a [usize] {
        match form.and_then(|form| self.node(*form)) {
            Some(Node::Dotted(items)) => items,
            _ => self.list(form),
        }
    }

    pub(super) fn pcase(&mut self, args: &[usize], bound: Bound<'a>) {
        self.values(args.get(..1).unwrap_or(&[]), &bound);
        for clause in args.get(1..).unwrap_or(&[]) {
            let parts = self.list(Some(clause));
            self.effort += bound.len();
            if self.is_spent() {
                return;
            }
            let inner = self.pattern(parts.first().copied(), &bound);
            self.values(parts.get(1..).unwrap_or(&[]), &inner);
        }
    }

    /// `(pcase-lambda (pattern…) body…)`
    pub(super) fn pcase_lambda(&mut self, args: &[usize], bound: Bound<'a>) {
        let mut inner = bound;
        for pattern in self.list(args.first()) {
            inner = self.pattern(Some(*pattern), &inner);
        }
        self.values(args.get(1..).unwrap_or(&[]), &inner);
    }

    pub(super) fn pcase_let(&mut self, args: &[usize], bound: Bound<'a>) {
        let mut inner = bound;
        for binding in self.list(args.first()) {
            let parts = self.list(Some(binding));
            self.values(parts.get(1..).unwrap_or(&[]), &inner);
            inner = self.pattern(parts.first().copied(), &inner);
        }
        self.values(args.get(1..).unwrap_or(&[]), &inner);
    }

    pub(super) fn pcase_dolist(&mut self, args: &[usize], bound: Bound<'a>) {
        let parts = self.list(args.first());
        self.values(parts.get(1..).unwrap_or(&[]), &bound);
        let inner = self.pattern(parts.first().copied(), &bound);
        self.values(args.get(1..).unwrap_or(&[]), &inner);
    }

    /// Walks a pattern; returns what is bound behind it. What a pattern calls is judged like any other call.
    fn pattern(&mut self, pattern: Option<usize>, bound: &Bound<'a>) -> Bound<'a> {
        let (mut names, mut guards) = (Vec::new(), Vec::new());
        // Whether a pattern stands inside a backquote, where it is data unless it is unquoted.
        let mut stack: Vec<(usize, bool)> = pattern.into_iter().map(|pattern| (pattern, false)).collect();
        if stack.is_empty() {
            self.unknown("A pattern is missing.");
        }
        while let Some((form, data)) = stack.pop() {
            match self.node(form) {
                Some(Node::Unquote(inner)) if data => stack.push((*inner, false)),
                Some(Node::Quote(inner) | Node::Function(inner)) if data => stack.push((*inner, true)),
                Some(Node::List(items) | Node::Dotted(items) | Node::Vector(items)) if data => {
                    stack.extend(items.iter().map(|item| (*item, true)))
                }
                Some(Node::Symbol(_)) if data => {}
                Some(Node::Constant | Node::Keyword(_) | Node::Text | Node::Quote(_)) => {}
                Some(Node::Symbol(name)) => names.push(Bind::Name(name)),
                Some(Node::Backquote(inner)) if !data => stack.push((*inner, true)),
                Some(Node::List(items)) => self.called_pattern(items, bound, &mut stack, &mut guards),
                _ => self.unknown("A “pcase” pattern can call functions."),
            }
        }
        let inner = self.with(bound, names);
        self.values(&guards, &inner);
        inner
    }

    /// `(and a b)`, `(pred f)` and the like.
    fn called_pattern(
        &mut self,
        items: &[usize],
        bound: &Bound<'a>,
        stack: &mut Vec<(usize, bool)>,
        guards: &mut Vec<usize>,
    ) {
        match (items.first().and_then(|head| self.symbol(*head)), items.get(1..)) {
            // `nil`
            (None, None) => {}
            (Some("and" | "or"), Some(rest)) => stack.extend(rest.iter().map(|item| (*item, false))),
            (Some("guard"), Some([test])) => guards.push(*test),
            (Some("pred"), Some([function])) => {
                let negated = self.items(*function).filter(|parts| {
                    parts.len() == 2 && parts.first().and_then(|head| self.symbol(*head)) == Some("not")
                });
                let called = negated.and_then(|parts| parts.get(1)).unwrap_or(function);
                self.tasks.push(Task::Callee(*called, Some(1), bound.clone()));
            }
            (Some("app"), Some([function, inner])) => {
                self.tasks.push(Task::Callee(*function, Some(1), bound.clone()));
                stack.push((*inner, false));
            }
            (Some("cl-type"), Some([form])) => self.type_form(*form),
            _ => self.unknown("A “pcase” pattern can call functions."),
        }
    }

    pub(super) fn cl_loop(&mut self, args: &[usize], bound: Bound<'a>) {
        let forms = self.forms;
        let word = |n: Option<usize>| n.and_then(|n| args.get(n)).and_then(|arg| forms.symbol(*arg));
        let binds = |n: usize| matches!(word(n.checked_sub(1)), Some("for" | "as" | "with" | "into" | "named" | "and"));
        // What is taken apart stands between `for` and where it comes from; anywhere else a list is a call.
        let is_pattern = |n: usize| binds(n) && word(Some(n + 1)).is_some_and(|word| SOURCES.contains(&word));
        let mut names = Vec::new();
        for (n, arg) in args.iter().enumerate().filter(|(n, _)| binds(*n)) {
            let mut stack = vec![*arg];
            while let Some(form) = stack.pop() {
                match self.node(form) {
                    Some(Node::Symbol(name)) => names.push(Bind::Name(name)),
                    Some(Node::List(items) | Node::Dotted(items)) if is_pattern(n) => stack.extend(items),
                    _ if is_pattern(n) => self.unknown("What a loop takes apart is not understood."),
                    _ => {}
                }
            }
        }
        let inner = self.with(&bound, names);
        // Along a list, what stands behind `by` is a function.
        let lists = args.iter().any(|arg| matches!(forms.symbol(*arg), Some("in" | "on" | "in-ref")));
        for (n, arg) in args.iter().enumerate().filter(|(n, _)| !is_pattern(*n)) {
            if lists && word(n.checked_sub(1)) == Some("by") {
                self.called("cl-loop", *arg, Some(1), &inner);
            } else if word(Some(n)).is_none_or(|word| !WORDS.contains(&word)) {
                self.tasks.push(Task::Value(*arg, inner.clone()));
            }
        }
    }
}

/// Words of `cl-loop` that stand behind what is bound.
const SOURCES: &[&str] = &[
    "in",
    "in-ref",
    "on",
    "=",
    "being",
    "across",
    "across-ref",
    "from",
    "upfrom",
    "downfrom",
    "to",
    "upto",
    "downto",
    "below",
    "above",
];

/// Words of `cl-loop`.
const WORDS: &[&str] = &[
    "for",
    "as",
    "in",
    "on",
    "from",
    "to",
    "upto",
    "below",
    "downto",
    "above",
    "downfrom",
    "upfrom",
    "by",
    "across",
    "repeat",
    "while",
    "until",
    "always",
    "never",
    "thereis",
    "collect",
    "collecting",
    "append",
    "appending",
    "nconc",
    "concat",
    "vconcat",
    "count",
    "counting",
    "sum",
    "summing",
    "maximize",
    "minimize",
    "do",
    "doing",
    "if",
    "when",
    "unless",
    "else",
    "end",
    "and",
    "finally",
    "return",
    "with",
    "=",
    "then",
    "into",
    "initially",
    "being",
    "the",
    "elements",
    "of",
    "hash-keys",
    "hash-values",
    "using",
    "index",
    "named",
];
