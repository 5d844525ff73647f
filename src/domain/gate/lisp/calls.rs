//! Walks calls: what a function would call of what it is handed.

use super::callers;
use super::read::Node;
use super::tables;
use super::walk::{Bound, Task, Walker, is_bound, is_held, is_local};
use std::rc::Rc;

/// What stands for a form that is worked out by a step before: there is no such node.
const COMPUTED: usize = usize::MAX;

impl<'a> Walker<'a> {
    /// Walks a form that is called as a function, with so many arguments if that is known.
    pub(super) fn callee(&mut self, form: usize, given: Option<usize>, bound: Bound<'a>) {
        match self.node(form) {
            // `'name` is the function that everybody knows by it, whatever it is called here.
            Some(Node::Quote(inner)) => self.tasks.push(Task::Callee(*inner, given, Rc::new(Vec::new()))),
            Some(Node::Function(inner)) => self.tasks.push(Task::Callee(*inner, given, bound)),
            Some(Node::Symbol(name)) if is_local(&bound, name) => {}
            Some(Node::Symbol(name)) => match callers::reach(name) {
                Some(place) if given.is_none_or(|given| given > place) => {
                    self.unknown(format!("“{name}” would call what is known only at run time."));
                }
                Some(_) => {}
                None if tables::PURE.has(name) => {}
                None if tables::FILES.has(name) => {
                    self.unknown(format!("“{name}” would be given a name that is known only at run time."));
                }
                None => self.named(name),
            },
            Some(Node::List(items)) => match (items.first().and_then(|head| self.symbol(*head)), items.get(1)) {
                (Some("lambda"), _) => self.lambda(items, bound),
                (Some("pcase-lambda"), _) => self.pcase_lambda(items.get(1..).unwrap_or(&[]), bound),
                (Some("function"), Some(inner)) => self.tasks.push(Task::Callee(*inner, given, bound)),
                (Some("quote"), Some(inner)) => self.tasks.push(Task::Callee(*inner, given, Rc::new(Vec::new()))),
                (None, None) => {}
                _ => {
                    self.unknown("A function is called that is known only at run time.");
                    self.tasks.push(Task::Value(form, bound));
                }
            },
            Some(Node::Constant | Node::Keyword(_)) => {}
            Some(Node::Text | Node::Vector(_) | Node::Dotted(_) | Node::Backquote(_) | Node::Unquote(_)) | None => {
                self.unknown("A function is called that is known only at run time.");
            }
        }
    }

    /// Walks the arguments of a function: those that it calls, those that name what it calls, and plain values.
    pub(super) fn arguments(&mut self, name: &str, args: &[usize], bound: &Bound<'a>) {
        let keywords = callers::keywords(name).unwrap_or(usize::MAX);
        for (n, arg) in args.iter().enumerate() {
            let called = callers::places(name).find(|(place, _)| *place == n).map(|(_, gives)| gives);
            let keyword = matches!(self.node(*arg), Some(Node::Keyword(_)));
            match called {
                Some(gives) if n < keywords || !keyword => {
                    let given = match gives {
                        callers::ANY => None,
                        callers::REST => Some(args.len() - n - 1),
                        gives => Some(gives),
                    };
                    self.called(name, *arg, given, bound);
                }
                _ if n >= keywords => self.keyword_argument(name, args, n, keywords, bound),
                _ => {
                    if callers::type_place(name) == Some(n) {
                        self.type_value(*arg);
                    }
                    self.tasks.push(Task::Value(*arg, bound.clone()));
                }
            }
        }
    }

    /// `:test f`, `:key f` and the like call what stands behind them.
    pub(super) fn keyword_argument(
        &mut self,
        name: &str,
        args: &[usize],
        n: usize,
        keywords: usize,
        bound: &Bound<'a>,
    ) {
        let Some(arg) = args.get(n) else { return };
        let is_value = (n - keywords) % 2 == 1;
        let at = if is_value { n - 1 } else { n };
        match args.get(at).and_then(|word| self.node(*word)) {
            Some(Node::Keyword(word)) if is_value && !callers::is_data(word) => self.called(name, *arg, Some(2), bound),
            Some(Node::Keyword(_)) => self.tasks.push(Task::Value(*arg, bound.clone())),
            _ => {
                self.unknown(format!("What “{name}” would call is known only at run time."));
                self.tasks.push(Task::Value(*arg, bound.clone()));
            }
        }
    }

    /// Walks an argument that a function calls.
    pub(super) fn called(&mut self, name: &str, arg: usize, given: Option<usize>, bound: &Bound<'a>) {
        if let Some(variable) = self.symbol(arg) {
            // A variable: what it holds is known only when the code put a judged function there.
            if !is_held(bound, variable) {
                self.unknown(format!("What “{name}” would call is known only at run time."));
                self.tasks.push(Task::Callee(arg, given, bound.clone()));
            }
        } else if name != "replace-regexp-in-string" || !self.is_text(arg) {
            self.tasks.push(Task::Callee(arg, given, bound.clone()));
        }
    }

    /// A type that is handed to a function.
    fn type_value(&mut self, form: usize) {
        match self.node(form) {
            Some(Node::Quote(inner)) => self.type_form(*inner),
            Some(Node::Constant) => {}
            _ => self.unknown("A type is known only at run time, and can name a function that is called."),
        }
    }

    /// A type: what is none of Emacs's own can be a function that is called.
    pub(super) fn type_form(&mut self, form: usize) {
        if !self.every_symbol(&[form], callers::is_type) {
            self.unknown("A type can name a function that is called.");
        }
    }

    /// `(thread-first x (f 1) g)` is `(g (f x 1))`, and is judged as that.
    pub(super) fn threaded(&mut self, args: &[usize], bound: &Bound<'a>, last: bool) {
        let Some((start, steps)) = args.split_first() else { return };
        let mut handed = *start;
        for (n, step) in steps.iter().enumerate() {
            let mut items = match self.node(*step) {
                Some(Node::List(items)) if !items.is_empty() => items.clone(),
                Some(Node::Symbol(_)) => vec![*step],
                _ => {
                    self.unknown("A step is known only at run time.");
                    self.tasks.push(Task::Value(*step, bound.clone()));
                    continue;
                }
            };
            let head = items.first().and_then(|head| self.symbol(*head)).unwrap_or("lambda");
            // Another form would change what the steps before it stand in.
            let function = tables::PURE.has(head)
                || tables::FILES.has(head)
                || callers::CALLING.has(head)
                || is_local(bound, head);
            if n > 0 && !function {
                self.unknown(format!("What “{head}” would do with what it is handed is not known."));
            }
            items.insert(if last { items.len() } else { 1 }, handed);
            self.effort += items.len();
            self.call(&items, bound.clone());
            handed = COMPUTED;
        }
        if steps.is_empty() {
            self.tasks.push(Task::Value(handed, bound.clone()));
        }
    }

    /// `(propertize text 'face 'bold …)`: some properties of a text are functions that Emacs calls.
    pub(super) fn properties(&mut self, properties: &[usize]) {
        for property in properties.iter().step_by(2) {
            let shown = matches!(self.node(*property), Some(Node::Quote(inner)) if self.symbol(*inner).is_some_and(callers::is_shown));
            if !shown {
                self.unknown("A property of a text can be a function that is called.");
            }
        }
    }

    /// Whether a form is a keymap of Emacs itself: one that the code made can hold functions that are called when a
    /// key is looked up.
    pub(super) fn is_own_keymap(&self, form: usize, bound: &Bound<'a>) -> bool {
        match self.node(form) {
            Some(Node::Symbol(name)) => tables::READABLE.has(name) && !is_bound(bound, name),
            Some(Node::List(items)) => match items.as_slice() {
                [head] => self.symbol(*head).is_some_and(|name| {
                    matches!(name, "current-global-map" | "current-local-map") && !is_local(bound, name)
                }),
                _ => false,
            },
            _ => false,
        }
    }
}
