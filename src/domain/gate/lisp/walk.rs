//! Walks what was read, form by form, with the variables that are bound where a form stands.

use super::Found;
use super::read::{Forms, Node};
use super::tables;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The variables that are bound where a form stands, the innermost last.
type Bound<'a> = Rc<Vec<Bind<'a>>>;

/// What is known where a form stands.
#[derive(Clone, Copy, PartialEq)]
enum Bind<'a> {
    /// A variable.
    Name(&'a str),
    /// A variable that holds a function which was judged.
    Held(&'a str),
    /// A function of the code's own.
    Local(&'a str),
    /// It stands inside `let-alist`.
    Alist,
    /// It stands inside a buffer made for the purpose.
    Scratch,
}

impl<'a> Bind<'a> {
    /// Returns the variable that is bound.
    fn variable(self) -> Option<&'a str> {
        match self {
            Bind::Name(name) | Bind::Held(name) => Some(name),
            Bind::Local(_) | Bind::Alist | Bind::Scratch => None,
        }
    }
}

fn is_bound(bound: &Bound<'_>, name: &str) -> bool {
    bound.iter().any(|known| known.variable() == Some(name))
}

/// Whether the innermost binding of a variable holds a function that was judged.
fn is_held(bound: &Bound<'_>, name: &str) -> bool {
    let innermost = bound.iter().rev().find(|known| known.variable() == Some(name));
    matches!(innermost, Some(Bind::Held(_)))
}

fn is_local(bound: &Bound<'_>, name: &str) -> bool {
    bound.contains(&Bind::Local(name))
}

/// What is left to be walked.
enum Task<'a> {
    /// A form that is evaluated.
    Value(usize, Bound<'a>),
    /// A form that is called as a function: `'f`, `#'f`, a lambda.
    Callee(usize, Bound<'a>),
    /// A backquoted form: evaluated only where it is unquoted.
    Template(usize, Bound<'a>),
}

/// Returns what speaks against the forms.
pub fn walk(forms: &Forms<'_>) -> Vec<Found> {
    let start: Bound<'_> = Rc::new(Vec::new());
    let tasks = forms.top.iter().rev().map(|form| Task::Value(*form, start.clone())).collect();
    let mut walker = Walker { forms, tasks, found: Vec::new(), effort: 0, harms: RefCell::default() };
    while let Some(task) = walker.tasks.pop() {
        let (Task::Value(_, bound) | Task::Callee(_, bound) | Task::Template(_, bound)) = &task;
        walker.effort += bound.len() / 2;
        if walker.found.len() > 32 || walker.is_spent() {
            break;
        }
        match task {
            Task::Value(form, bound) => walker.value(form, bound),
            Task::Callee(form, bound) => walker.callee(form, bound),
            Task::Template(form, bound) => walker.template(form, bound),
        }
    }
    if walker.names_any(&tables::IN_PLACE) && walker.names_any(&tables::SHARED) {
        walker.unknown("It changes values in place, and names some that are Emacs's own.");
    }
    if walker.is_spent() {
        walker.unknown("It binds so many names at once that it cannot be followed.");
    }
    walker.found
}

/// How many names may be passed on to inner forms, beside a few for each form.
const EFFORT: usize = 100_000;

/// Returns what is bound with some more names.
fn with<'a>(bound: &Bound<'a>, names: impl IntoIterator<Item = Bind<'a>>) -> Bound<'a> {
    let mut inner = bound.as_ref().clone();
    inner.extend(names);
    Rc::new(inner)
}

struct Walker<'a> {
    forms: &'a Forms<'a>,
    tasks: Vec<Task<'a>>,
    found: Vec<Found>,
    /// How many names were passed on to inner forms: what would take the square of the text's length ends in time.
    effort: usize,
    /// What names are known to reach for.
    harms: RefCell<HashMap<&'a str, Option<&'static str>>>,
}

impl<'a> Walker<'a> {
    fn is_spent(&self) -> bool {
        self.effort > EFFORT.saturating_add(self.forms.nodes.len().saturating_mul(8))
    }

    /// Returns what a name reaches for; each name is looked up once.
    fn harm(&self, name: &'a str) -> Option<&'static str> {
        *self.harms.borrow_mut().entry(name).or_insert_with(|| tables::harm(name))
    }

    fn node(&self, index: usize) -> Option<&'a Node<'a>> {
        self.forms.nodes.get(index)
    }

    fn symbol(&self, index: usize) -> Option<&'a str> {
        match self.node(index) {
            Some(Node::Symbol(name)) => Some(name),
            _ => None,
        }
    }

    fn is_text(&self, index: usize) -> bool {
        matches!(self.node(index), Some(Node::Text))
    }

    fn items(&self, index: usize) -> Option<&'a [usize]> {
        match self.node(index) {
            Some(Node::List(items)) => Some(items),
            _ => None,
        }
    }

    fn unknown(&mut self, why: impl Into<String>) {
        self.found.push(Found::Unknown(why.into()));
    }

    fn named(&mut self, name: &'a str) {
        let shown: String = name.chars().take(60).collect();
        self.found.push(match self.harm(name) {
            Some(what) => Found::Harmful(format!("“{shown}” reaches for {what}.")),
            None => Found::Unknown(format!("“{shown}” is not among the functions that are known to be pure.")),
        });
    }

    fn value(&mut self, form: usize, bound: Bound<'a>) {
        match self.node(form) {
            None | Some(Node::Constant | Node::Text | Node::Quote(_) | Node::Vector(_)) => {}
            Some(Node::Symbol(name)) => self.variable(name, &bound),
            Some(Node::Function(inner)) => self.tasks.push(Task::Callee(*inner, bound)),
            Some(Node::Backquote(inner)) => self.tasks.push(Task::Template(*inner, bound)),
            Some(Node::Unquote(inner)) => self.tasks.push(Task::Value(*inner, bound)),
            Some(Node::List(items)) => self.call(items, bound),
        }
    }

    fn variable(&mut self, name: &'a str, bound: &Bound<'a>) {
        let local = is_bound(bound, name) || (name.starts_with('.') && bound.contains(&Bind::Alist));
        // A name without a dash is a local by custom; Emacs's own variables have one.
        let free = !name.contains('-') || tables::READABLE.has(name);
        if !local && (!free || self.harm(name).is_some() && !tables::READABLE.has(name)) {
            match self.harm(name) {
                Some(what) => self.found.push(Found::Harmful(format!("The variable “{name}” reaches for {what}."))),
                None => self.unknown(format!("The variable “{name}” is not bound here.")),
            }
        }
    }

    fn template(&mut self, form: usize, bound: Bound<'a>) {
        match self.node(form) {
            Some(Node::List(items) | Node::Vector(items)) => {
                self.tasks.extend(items.iter().map(|item| Task::Template(*item, bound.clone())));
            }
            Some(Node::Unquote(inner)) => self.tasks.push(Task::Value(*inner, bound)),
            Some(Node::Quote(inner) | Node::Function(inner) | Node::Backquote(inner)) => {
                self.tasks.push(Task::Template(*inner, bound));
            }
            Some(Node::Symbol(_) | Node::Constant | Node::Text) | None => {}
        }
    }

    fn callee(&mut self, form: usize, bound: Bound<'a>) {
        match self.node(form) {
            // `'name` is the function that everybody knows by it, whatever it is called here.
            Some(Node::Quote(inner)) => self.tasks.push(Task::Callee(*inner, Rc::new(Vec::new()))),
            Some(Node::Function(inner)) => self.tasks.push(Task::Callee(*inner, bound)),
            Some(Node::Symbol(name)) if is_local(&bound, name) => {}
            Some(Node::Symbol(name)) if tables::PURE.has(name) => {}
            Some(Node::Symbol(name)) if tables::CALLING.has(name) => {
                self.unknown(format!("“{name}” would call what is known only at run time."));
            }
            Some(Node::Symbol(name)) => self.named(name),
            Some(Node::List(items)) => match items.first().and_then(|head| self.symbol(*head)) {
                Some("lambda") => self.lambda(items, bound),
                Some("pcase-lambda") => self.pcase_lambda(items.get(1..).unwrap_or(&[]), bound),
                Some("function" | "quote") => {
                    if let Some(inner) = items.get(1) {
                        self.tasks.push(Task::Callee(*inner, bound));
                    }
                }
                _ => {
                    self.unknown("A function is called that is known only at run time.");
                    self.tasks.push(Task::Value(form, bound));
                }
            },
            Some(Node::Constant) => {}
            Some(Node::Text | Node::Vector(_) | Node::Backquote(_) | Node::Unquote(_)) | None => {
                self.unknown("A function is called that is known only at run time.");
            }
        }
    }

    /// Walks the arguments as values.
    fn values(&mut self, items: &[usize], bound: &Bound<'a>) {
        self.tasks.extend(items.iter().rev().map(|item| Task::Value(*item, bound.clone())));
    }

    fn lambda(&mut self, items: &[usize], bound: Bound<'a>) {
        let mut inner = bound.as_ref().clone();
        let names = items.get(1).and_then(|params| self.items(*params)).unwrap_or(&[]);
        for name in names {
            match self.symbol(*name) {
                Some(name) => inner.push(Bind::Name(name)),
                None => self.unknown("The arguments of a “lambda” are not plain names."),
            }
        }
        self.values(items.get(2..).unwrap_or(&[]), &Rc::new(inner));
    }

    fn call(&mut self, items: &[usize], bound: Bound<'a>) {
        let Some(head) = items.first() else { return };
        let args = items.get(1..).unwrap_or(&[]);
        let Some(name) = self.symbol(*head) else {
            match self.node(*head) {
                Some(Node::List(_)) => self.tasks.push(Task::Callee(*head, bound.clone())),
                _ => self.unknown("A function is called that is known only at run time."),
            }
            return self.values(args, &bound);
        };
        if is_local(&bound, name) {
            return self.values(args, &bound);
        }
        if bound.contains(&Bind::Scratch) && tables::EDITS.contains(&name) {
            return self.values(args, &bound);
        }
        match name {
            "quote" => {}
            "with-temp-buffer" => self.values(args, &with(&bound, [Bind::Scratch])),
            "let-alist" => {
                self.values(args.get(..1).unwrap_or(&[]), &bound);
                self.values(args.get(1..).unwrap_or(&[]), &with(&bound, [Bind::Alist]));
            }
            "named-let" => {
                let name = args.first().and_then(|name| self.symbol(*name)).unwrap_or("");
                self.let_form(args.get(1..).unwrap_or(&[]), bound, Some(Bind::Local(name)));
            }
            "letrec" => {
                let bindings = args.first().and_then(|list| self.items(*list)).unwrap_or(&[]);
                let names = bindings.iter().filter_map(|binding| self.items(*binding)?.first().copied());
                let names = names.filter_map(|name| self.symbol(name)).map(Bind::Held);
                let known = with(&bound, names);
                if self.binds_functions(bindings) {
                    self.let_form(args, known, None);
                } else {
                    self.let_form(args, bound, None);
                }
            }
            "cl-flet" | "cl-flet*" | "cl-labels" => self.local_functions(args, bound),
            "cl-destructuring-bind" | "seq-let" | "map-let" | "cl-multiple-value-bind" => {
                self.destructuring(args, bound)
            }
            "cl-case" | "cl-ecase" | "cl-typecase" | "cl-etypecase" => {
                self.values(args.get(..1).unwrap_or(&[]), &bound);
                for clause in args.get(1..).unwrap_or(&[]) {
                    let body = self.items(*clause).and_then(|parts| parts.get(1..)).unwrap_or(&[]);
                    self.values(body, &bound);
                }
            }
            "cl-block" | "cl-return-from" => self.values(args.get(1..).unwrap_or(&[]), &bound),
            "cl-do" | "cl-do*" => self.cl_do(args, bound),
            "rx" => {
                if self.mentions(args, &["eval", "regexp", "regex", "literal"]) {
                    self.unknown("The “rx” form is made only at run time.");
                }
            }
            "pcase-let" | "pcase-let*" => self.pcase_let(args, bound),
            "pcase-dolist" => self.pcase_dolist(args, bound),
            // The name of a mode is looked up, and not worked out.
            "bound-and-true-p"
                if args.first().and_then(|arg| self.symbol(*arg)).is_some_and(|n| n.ends_with("-mode")) => {}
            // Of a text that stands here they make a value; of nothing they would ask somebody.
            "read" | "read-from-string" if !self.forms.marked && matches!(args, [only] if self.is_text(*only)) => {}
            "calc-eval" if matches!(args, [only] if self.is_text(*only)) => {}
            "thread-first" | "thread-last" => self.threaded(args, &bound, name == "thread-last"),
            "org-read-date" if args.get(2).is_some_and(|text| self.is_text(*text)) => self.values(args, &bound),
            "function" => self.tasks.extend(args.first().map(|inner| Task::Callee(*inner, bound))),
            "lambda" => self.lambda(items, bound),
            "pcase-lambda" => self.pcase_lambda(args, bound),
            // Below the headings of this buffer; a scope would open files.
            "org-map-entries" if args.len() <= 2 => {
                self.tasks.extend(args.first().map(|function| Task::Callee(*function, bound.clone())));
                self.values(args.get(1..).unwrap_or(&[]), &bound);
            }
            "let" | "let*" | "if-let" | "if-let*" | "when-let" | "when-let*" | "and-let*" => {
                self.let_form(args, bound, None);
            }
            "setq" | "setf" | "cl-incf" | "cl-decf" | "incf" | "decf" | "cl-callf" => self.setq(name, args, bound),
            "push" | "pop" | "cl-pushnew" | "add-to-list" => self.place(name, args, bound),
            _ if tables::CHANGING.has(name) => self.changer(name, args, &bound),
            // With a second argument it puts a text into the field.
            "org-table-get-field" if args.len() <= 1 => self.values(args, &bound),
            "dolist" | "dotimes" | "cl-dolist" | "cl-dotimes" | "dolist-with-progress-reporter" | "seq-doseq" => {
                self.doing(args, bound)
            }
            "cond" => {
                for clause in args {
                    match self.items(*clause) {
                        Some(parts) => self.values(parts, &bound),
                        None => self.unknown("A “cond” has a clause that is no list."),
                    }
                }
            }
            "condition-case" => self.condition(args, bound),
            "pcase" | "pcase-exhaustive" => self.pcase(args, bound),
            "cl-loop" => self.cl_loop(args, bound),
            _ if tables::CALLING.has(name) => self.caller(name, args, bound),
            _ if tables::PURE.has(name) || tables::PLAIN_FORMS.has(name) => {
                self.keyword_callees(args, &bound);
                self.values(args, &bound);
            }
            _ => {
                self.named(name);
                self.values(args, &bound);
            }
        }
    }

    /// `(thread-first x (f 1) g)`: each step is called with what the one before it gave, as its first or last argument.
    /// A step is judged without that one, so only what takes it as a plain value is known.
    fn threaded(&mut self, args: &[usize], bound: &Bound<'a>, last: bool) {
        self.values(args.get(..1).unwrap_or(&[]), bound);
        for step in args.get(1..).unwrap_or(&[]) {
            let Some(items) = self.items(*step) else {
                self.tasks.push(Task::Callee(*step, bound.clone()));
                continue;
            };
            let head = items.first().and_then(|head| self.symbol(*head)).unwrap_or("lambda");
            // A function that is called by another one must stand where it is judged.
            let places = || tables::CALLERS.iter().filter(|(caller, _)| *caller == head).map(|(_, place)| *place);
            let handed = last && items.get(1).is_some_and(|first| self.is_plain_function(*first));
            let plain = match tables::CALLING.has(head) {
                true => handed && places().all(|place| place == 0),
                false => tables::PURE.has(head) && !tables::CHANGING.has(head) && !tables::IN_PLACE.has(head),
            };
            if !plain {
                self.unknown(format!("What “{head}” would do with what it is handed is not known."));
            }
            self.tasks.push(Task::Value(*step, bound.clone()));
        }
    }

    /// Whether a form is a function by name or a `lambda`.
    fn is_plain_function(&self, form: usize) -> bool {
        match self.node(form) {
            Some(Node::Function(_)) => true,
            Some(Node::Quote(inner)) => self.symbol(*inner).is_some(),
            Some(Node::List(items)) => items.first().and_then(|head| self.symbol(*head)) == Some("lambda"),
            _ => false,
        }
    }

    /// `:test f`, `:key f` and the like call their value. Which keyword it is does not matter: a
    /// function behind any keyword must be pure.
    fn keyword_callees(&mut self, args: &[usize], bound: &Bound<'a>) {
        for pair in args.windows(2) {
            if let [word, next] = pair
                && matches!(self.node(*word), Some(Node::Constant))
                && matches!(self.node(*next), Some(Node::Quote(inner)) if self.symbol(*inner).is_some_and(|name| self.harm(name).is_some()))
            {
                self.tasks.push(Task::Callee(*next, bound.clone()));
            }
        }
    }

    fn caller(&mut self, name: &str, args: &[usize], bound: Bound<'a>) {
        self.keyword_callees(args, &bound);
        for (n, arg) in args.iter().enumerate() {
            let called = tables::CALLERS.iter().any(|(caller, place)| *caller == name && *place == n);
            let text = name == "replace-regexp-in-string" && matches!(self.node(*arg), Some(Node::Text));
            if called && let Some(variable) = self.symbol(*arg) {
                // A variable: what it holds is known only when the code put a judged function there.
                if !is_held(&bound, variable) {
                    self.unknown(format!("What “{name}” would call is known only at run time."));
                    self.tasks.push(Task::Callee(*arg, bound.clone()));
                }
            } else if called && !text {
                self.tasks.push(Task::Callee(*arg, bound.clone()));
            } else {
                self.tasks.push(Task::Value(*arg, bound.clone()));
            }
        }
    }

    fn let_form(&mut self, args: &[usize], bound: Bound<'a>, own: Option<Bind<'a>>) {
        let mut inner = bound.as_ref().clone();
        let bindings = args.first().and_then(|list| self.items(*list)).unwrap_or(&[]);
        for binding in bindings {
            let (name, value) = match self.items(*binding) {
                // `((test))` in `and-let*` binds nothing.
                Some(parts) if parts.first().is_some_and(|first| self.symbol(*first).is_none()) => (None, parts),
                Some(parts) => (parts.first().and_then(|name| self.symbol(*name)), parts.get(1..).unwrap_or(&[])),
                None => (self.symbol(*binding), [].as_slice()),
            };
            self.effort += inner.len();
            if self.is_spent() {
                return;
            }
            let scope = Rc::new(inner.clone());
            self.values(value, &scope);
            let function = matches!(value, [only] if self.is_function(*only));
            match name {
                // Binding a variable of Emacs changes what its functions do.
                Some(name) if name.contains('-') && self.harm(name).is_some() => self.named(name),
                Some(name) if function => inner.push(Bind::Held(name)),
                Some(name) => inner.push(Bind::Name(name)),
                None => {}
            }
        }
        inner.extend(own);
        self.values(args.get(1..).unwrap_or(&[]), &Rc::new(inner));
    }

    /// Whether a form is a function that is judged where it stands: `#'name`, `(lambda …)`.
    fn is_function(&self, form: usize) -> bool {
        match self.node(form) {
            Some(Node::Function(_)) => true,
            Some(Node::List(items)) => items.first().and_then(|head| self.symbol(*head)) == Some("lambda"),
            _ => false,
        }
    }

    fn binds_functions(&self, bindings: &[usize]) -> bool {
        bindings.iter().all(|binding| matches!(self.items(*binding), Some([_, value]) if self.is_function(*value)))
    }

    /// `(cl-flet ((name (args) body…)) …)`: the bodies are judged, and the names are the code's own.
    fn local_functions(&mut self, args: &[usize], bound: Bound<'a>) {
        let bindings = args.first().and_then(|list| self.items(*list)).unwrap_or(&[]);
        let name = |binding: &usize| self.items(*binding)?.first().and_then(|name| self.symbol(*name));
        let names = bindings.iter().filter_map(name).map(Bind::Local);
        let inner = with(&bound, names);
        for binding in bindings {
            match self.items(*binding) {
                Some([_, function]) => self.tasks.push(Task::Callee(*function, inner.clone())),
                Some(parts) if parts.len() > 2 => self.lambda(parts, inner.clone()),
                Some(_) | None => self.unknown("A local function is not understood."),
            }
        }
        self.values(args.get(1..).unwrap_or(&[]), &inner);
    }

    /// `(cl-destructuring-bind (a (b c) &optional (d 1)) value …)`: names, and defaults that are plain.
    fn destructuring(&mut self, args: &[usize], bound: Bound<'a>) {
        let mut names = Vec::new();
        for part in args.first().and_then(|list| self.items(*list)).unwrap_or(&[]) {
            match self.items(*part) {
                None => names.extend(self.symbol(*part).map(Bind::Name)),
                Some(parts) if parts.iter().all(|inner| self.items(*inner).is_none()) => {
                    names.extend(parts.iter().filter_map(|inner| self.symbol(*inner)).map(Bind::Name));
                }
                Some(_) => self.unknown("What is taken apart has defaults that are worked out."),
            }
        }
        self.values(args.get(1..2).unwrap_or(&[]), &bound);
        self.values(args.get(2..).unwrap_or(&[]), &with(&bound, names));
    }

    fn cl_do(&mut self, args: &[usize], bound: Bound<'a>) {
        let bindings = args.first().and_then(|list| self.items(*list)).unwrap_or(&[]);
        let name = |binding: &usize| {
            self.items(*binding).map_or_else(|| self.symbol(*binding), |parts| self.symbol(*parts.first()?))
        };
        let inner = with(&bound, bindings.iter().filter_map(name).map(Bind::Name));
        for binding in bindings {
            self.values(self.items(*binding).and_then(|parts| parts.get(1..)).unwrap_or(&[]), &inner);
        }
        self.values(args.get(1).and_then(|end| self.items(*end)).unwrap_or(&[]), &inner);
        self.values(args.get(2..).unwrap_or(&[]), &inner);
    }

    /// Whether one of these names stands anywhere in the text.
    fn names_any(&self, names: &tables::Names) -> bool {
        self.forms.nodes.iter().any(|node| matches!(node, Node::Symbol(name) if names.has(name)))
    }

    /// Whether one of these names stands anywhere in some forms.
    fn mentions(&self, forms: &[usize], names: &[&str]) -> bool {
        let mut stack = forms.to_vec();
        while let Some(form) = stack.pop() {
            match self.node(form) {
                Some(Node::Symbol(name)) if names.contains(&&**name) => return true,
                Some(Node::List(items) | Node::Vector(items)) => stack.extend(items),
                Some(Node::Quote(inner) | Node::Function(inner) | Node::Backquote(inner) | Node::Unquote(inner)) => {
                    stack.push(*inner)
                }
                Some(Node::Symbol(_) | Node::Constant | Node::Text) | None => {}
            }
        }
        false
    }

    fn setq(&mut self, name: &str, args: &[usize], bound: Bound<'a>) {
        let pairs = matches!(name, "setq" | "setf");
        for (n, arg) in args.iter().enumerate() {
            if (pairs && n % 2 == 0) || (!pairs && n == 0) {
                self.target(*arg, &bound);
            } else {
                self.tasks.push(Task::Value(*arg, bound.clone()));
            }
        }
    }

    fn place(&mut self, name: &str, args: &[usize], bound: Bound<'a>) {
        // `(push x place)`, `(pop place)`, `(add-to-list 'place x)`
        let at = if name == "push" || name == "cl-pushnew" { 1 } else { 0 };
        for (n, arg) in args.iter().enumerate() {
            match self.node(*arg) {
                Some(Node::Quote(inner)) if n == at && name == "add-to-list" => self.target(*inner, &bound),
                _ if n == at && name == "add-to-list" => {
                    self.unknown("“add-to-list” changes a variable that is known only at run time.")
                }
                _ if n == at => self.target(*arg, &bound),
                _ => self.tasks.push(Task::Value(*arg, bound.clone())),
            }
        }
    }

    /// `(setcar value x)`, `(puthash key x table)`: like `setf`, only of what is bound here.
    fn changer(&mut self, name: &str, args: &[usize], bound: &Bound<'a>) {
        let at = tables::CHANGERS.iter().find(|(changer, _)| *changer == name).map_or(0, |(_, at)| *at);
        for (n, arg) in args.iter().enumerate() {
            if n == at {
                self.target(*arg, bound);
            } else {
                self.tasks.push(Task::Value(*arg, bound.clone()));
            }
        }
    }

    /// Only what is bound here may be changed.
    fn target(&mut self, place: usize, bound: &Bound<'a>) {
        match self.symbol(place) {
            Some(name) if is_held(bound, name) => self.unknown(format!("“{name}” is given another function.")),
            Some(name) if is_bound(bound, name) => {}
            Some(name) => {
                let why = format!("It changes “{name}”, which is not its own.");
                self.found.push(if self.harm(name).is_some() { Found::Harmful(why) } else { Found::Unknown(why) });
            }
            None if self.own_place(place, bound) => {
                self.values(self.items(place).and_then(|items| items.get(1..)).unwrap_or(&[]), bound);
            }
            None => {
                self.unknown("It changes a place that is known only at run time.");
                let inner = self.items(place).unwrap_or(&[]);
                if let Some(name) = inner.first().and_then(|head| self.symbol(*head))
                    && self.harm(name).is_some()
                {
                    self.named(name);
                }
            }
        }
    }

    /// Whether a place lies in a value that the code has bound itself.
    fn own_place(&self, place: usize, bound: &Bound<'a>) -> bool {
        let Some([head, args @ ..]) = self.items(place) else { return false };
        let Some(name) = self.symbol(*head) else { return false };
        let Some((_, at)) = tables::PLACES.iter().find(|(known, _)| *known == name) else { return false };
        // What else they are given may be a function that they call.
        args.len() <= 3
            && args.get(*at).and_then(|value| self.symbol(*value)).is_some_and(|value| is_bound(bound, value))
    }

    fn doing(&mut self, args: &[usize], bound: Bound<'a>) {
        let mut inner = bound.as_ref().clone();
        if let Some(parts) = args.first().and_then(|spec| self.items(*spec)) {
            self.values(parts.get(1..2).unwrap_or(&[]), &bound);
            inner.extend(parts.first().and_then(|name| self.symbol(*name)).map(Bind::Name));
            self.values(parts.get(2..).unwrap_or(&[]), &Rc::new(inner.clone()));
        }
        self.values(args.get(1..).unwrap_or(&[]), &Rc::new(inner));
    }

    fn condition(&mut self, args: &[usize], bound: Bound<'a>) {
        let mut inner = bound.as_ref().clone();
        inner.extend(args.first().and_then(|name| self.symbol(*name)).map(Bind::Name));
        self.values(args.get(1..2).unwrap_or(&[]), &bound);
        let handlers = args.get(2..).unwrap_or(&[]);
        let inner = Rc::new(inner);
        for handler in handlers {
            let body = self.items(*handler).and_then(|parts| parts.get(1..)).unwrap_or(&[]);
            self.values(body, &inner);
        }
    }

    fn pcase(&mut self, args: &[usize], bound: Bound<'a>) {
        self.values(args.get(..1).unwrap_or(&[]), &bound);
        for clause in args.get(1..).unwrap_or(&[]) {
            let parts = self.items(*clause).unwrap_or(&[]);
            self.effort += bound.len();
            if self.is_spent() {
                return;
            }
            let inner = self.pattern(parts.first().copied(), &bound);
            self.values(parts.get(1..).unwrap_or(&[]), &inner);
        }
    }

    /// `(pcase-lambda (pattern…) body…)`
    fn pcase_lambda(&mut self, args: &[usize], bound: Bound<'a>) {
        let mut inner = bound;
        for pattern in args.first().and_then(|list| self.items(*list)).unwrap_or(&[]) {
            inner = self.pattern(Some(*pattern), &inner);
        }
        self.values(args.get(1..).unwrap_or(&[]), &inner);
    }

    fn pcase_let(&mut self, args: &[usize], bound: Bound<'a>) {
        let mut inner = bound;
        for binding in args.first().and_then(|list| self.items(*list)).unwrap_or(&[]) {
            let parts = self.items(*binding).unwrap_or(&[]);
            self.values(parts.get(1..).unwrap_or(&[]), &inner);
            inner = self.pattern(parts.first().copied(), &inner);
        }
        self.values(args.get(1..).unwrap_or(&[]), &inner);
    }

    fn pcase_dolist(&mut self, args: &[usize], bound: Bound<'a>) {
        let parts = args.first().and_then(|spec| self.items(*spec)).unwrap_or(&[]);
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
                Some(Node::List(items) | Node::Vector(items)) if data => {
                    stack.extend(items.iter().map(|item| (*item, true)))
                }
                Some(Node::Symbol(_) | Node::Constant | Node::Text | Node::Quote(_)) if data => {}
                Some(Node::Symbol(name)) => names.push(Bind::Name(name)),
                Some(Node::Constant | Node::Text | Node::Quote(_)) => {}
                Some(Node::Backquote(inner)) if !data => stack.push((*inner, true)),
                Some(Node::List(items)) => match (items.first().and_then(|head| self.symbol(*head)), items.get(1..)) {
                    (Some("and" | "or"), Some(rest)) => stack.extend(rest.iter().map(|item| (*item, false))),
                    (Some("guard"), Some([test])) => guards.push(*test),
                    (Some("pred"), Some([function])) => {
                        let negated = self.items(*function).filter(|parts| {
                            parts.len() == 2 && parts.first().and_then(|head| self.symbol(*head)) == Some("not")
                        });
                        let called = negated.and_then(|parts| parts.get(1)).unwrap_or(function);
                        self.tasks.push(Task::Callee(*called, bound.clone()));
                    }
                    (Some("app"), Some([function, inner])) => {
                        self.tasks.push(Task::Callee(*function, bound.clone()));
                        stack.push((*inner, false));
                    }
                    (Some("cl-type"), Some([_])) => {}
                    _ => self.unknown("A “pcase” pattern can call functions."),
                },
                _ => self.unknown("A “pcase” pattern can call functions."),
            }
        }
        let inner = with(bound, names);
        self.values(&guards, &inner);
        inner
    }

    fn cl_loop(&mut self, args: &[usize], bound: Bound<'a>) {
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
        let mut inner = bound.as_ref().clone();
        for pair in args.windows(2) {
            let [word, next] = pair else { continue };
            if matches!(self.symbol(*word), Some("for" | "as" | "with" | "into" | "named" | "and")) {
                let names = self.items(*next).map_or_else(|| vec![*next], <[usize]>::to_vec);
                inner.extend(names.iter().filter_map(|name| self.symbol(*name)).map(Bind::Name));
            }
        }
        let inner = Rc::new(inner);
        for arg in args {
            match self.symbol(*arg) {
                Some(word) if WORDS.contains(&word) => {}
                _ => {
                    // A pattern of names after `for` looks like a call; its names are bound.
                    let pattern = self.items(*arg).is_some_and(|items| {
                        items
                            .iter()
                            .all(|item| self.symbol(*item).is_some_and(|name| inner.contains(&Bind::Name(name))))
                    });
                    if !pattern {
                        self.tasks.push(Task::Value(*arg, inner.clone()));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Found, examine};

    #[test]
    fn no_name_stands_for_what_is_known_of_a_place() {
        for odd in ["(let ((\\(scratch 1)) (insert \"x\"))", "(let ((\\(local\\ f 1)) (f))"] {
            assert!(!examine(odd).is_empty(), "{odd}");
        }
        assert_eq!(examine("(with-temp-buffer (insert \"x\"))"), []);
        assert_eq!(examine("(cl-flet ((f (x) x)) (f 1))"), []);
    }

    #[test]
    fn what_binds_very_many_names_ends_with_a_question() {
        let few: String = (0..200).map(|n| format!("(a{n} {n})")).collect();
        assert_eq!(examine(&format!("(let ({few}) (+ a1 a2))")), []);
        let many: String = (0..50_000).map(|n| format!("(a{n} {n})")).collect();
        let found = examine(&format!("(let ({many}) (+ a1 a2))"));
        assert!(matches!(found.as_slice(), [Found::Unknown(why)] if why.contains("followed")), "{found:?}");
    }
}
