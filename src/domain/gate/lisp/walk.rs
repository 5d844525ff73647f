//! Walks what was read, form by form, with the variables that are bound where a form stands.

use super::Found;
use super::callers;
use super::read::{Forms, Node};
use super::tables;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The variables that are bound where a form stands, the innermost last.
pub(super) type Bound<'a> = Rc<Vec<Bind<'a>>>;

/// What is known where a form stands.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Bind<'a> {
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
    pub(super) fn variable(self) -> Option<&'a str> {
        match self {
            Bind::Name(name) | Bind::Held(name) => Some(name),
            Bind::Local(_) | Bind::Alist | Bind::Scratch => None,
        }
    }
}

pub(super) fn is_bound(bound: &Bound<'_>, name: &str) -> bool {
    bound.iter().any(|known| known.variable() == Some(name))
}

/// Whether the innermost binding of a variable holds a function that was judged.
pub(super) fn is_held(bound: &Bound<'_>, name: &str) -> bool {
    let innermost = bound.iter().rev().find(|known| known.variable() == Some(name));
    matches!(innermost, Some(Bind::Held(_)))
}

pub(super) fn is_local(bound: &Bound<'_>, name: &str) -> bool {
    bound.contains(&Bind::Local(name))
}

/// What is left to be walked.
pub(super) enum Task<'a> {
    /// A form that is evaluated.
    Value(usize, Bound<'a>),
    /// A form that is called as a function: `'f`, `#'f`, a lambda; and with how many arguments, if that is known.
    Callee(usize, Option<usize>, Bound<'a>),
    /// A backquoted form: evaluated only where it is unquoted.
    Template(usize, Bound<'a>),
}

/// Returns what speaks against the forms.
pub fn walk(forms: &Forms<'_>) -> Vec<Found> {
    let start: Bound<'_> = Rc::new(Vec::new());
    let mut walker = Walker::new(forms);
    for form in forms.top.iter().rev() {
        let (start, form) = (start.clone(), *form);
        // A function that is all of it is nobody's value yet.
        let function = walker.is_function(form);
        walker.tasks.push(if function { Task::Callee(form, None, start) } else { Task::Value(form, start) });
    }
    while let Some(task) = walker.tasks.pop() {
        let (Task::Value(_, bound) | Task::Callee(_, _, bound) | Task::Template(_, bound)) = &task;
        walker.effort += bound.len() / 2;
        if walker.is_spent() {
            break;
        }
        match task {
            Task::Value(form, bound) => walker.value(form, bound),
            Task::Callee(form, given, bound) => walker.callee(form, given, bound),
            Task::Template(form, bound) => walker.template(form, bound),
        }
    }
    walker.shared();
    if walker.is_spent() {
        let why = "It binds so many names at once that it cannot be followed.";
        walker.found.push(Found::Incomplete(why.to_string()));
    }
    walker.found
}

/// So many reasons are given why it is not known to be pure. What is harmful is always said: whoever asks takes what was
/// not found for not being there.
const UNKNOWN: usize = 32;

/// How many names may be passed on to inner forms, beside a few for each form.
const EFFORT: usize = 100_000;

pub(super) struct Walker<'a> {
    pub(super) forms: &'a Forms<'a>,
    pub(super) tasks: Vec<Task<'a>>,
    found: Vec<Found>,
    /// How many reasons were given why it is not known to be pure.
    unknowns: usize,
    /// What harm was said.
    said: HashSet<String>,
    /// Whether a function can be got at as a value, and so its code be changed.
    holds: bool,
    /// Whether a variable is read that is not bound here and can be Emacs's own.
    free: bool,
    /// Whether a place inside a value is changed, and whether inside one that can be a text.
    changes: bool,
    changes_text: bool,
    /// How many names were passed on to inner forms: what would take the square of the text's length ends in time.
    pub(super) effort: usize,
    /// What names are known to reach for.
    harms: RefCell<HashMap<&'a str, Option<&'static str>>>,
}

impl<'a> Walker<'a> {
    fn new(forms: &'a Forms<'a>) -> Walker<'a> {
        Walker {
            forms,
            tasks: Vec::new(),
            found: Vec::new(),
            unknowns: 0,
            said: HashSet::new(),
            holds: false,
            free: false,
            changes: false,
            changes_text: false,
            effort: 0,
            harms: RefCell::default(),
        }
    }

    /// What is changed in place may be Emacs's own, or the code of a function that was judged: what a variable holds is
    /// not followed.
    fn shared(&mut self) {
        if self.changes || self.names_any(&tables::IN_PLACE) {
            if self.free || self.names_any(&tables::SHARED) {
                self.unknown("It changes values in place, and names some that are Emacs's own.");
            }
            if self.holds {
                self.unknown("It changes values in place, and hands functions about that could be changed so.");
            }
        }
        if (self.changes_text || self.names_any(&tables::IN_TEXTS)) && self.names_any(&tables::TEXTS) {
            self.unknown("It changes texts in place, and names some that are Emacs's own.");
        }
    }

    pub(super) fn is_spent(&self) -> bool {
        self.effort > EFFORT.saturating_add(self.forms.nodes.len().saturating_mul(8))
    }

    /// Returns what a name reaches for; each name is looked up once.
    pub(super) fn harm(&self, name: &'a str) -> Option<&'static str> {
        *self.harms.borrow_mut().entry(name).or_insert_with(|| tables::harm(name))
    }

    pub(super) fn node(&self, index: usize) -> Option<&'a Node<'a>> {
        self.forms.nodes.get(index)
    }

    pub(super) fn symbol(&self, index: usize) -> Option<&'a str> {
        self.forms.symbol(index)
    }

    pub(super) fn is_text(&self, index: usize) -> bool {
        matches!(self.node(index), Some(Node::Text))
    }

    pub(super) fn items(&self, index: usize) -> Option<&'a [usize]> {
        self.forms.items(index)
    }

    /// Returns the items where a list must stand; anything else asks.
    pub(super) fn list(&mut self, form: Option<&usize>) -> &'a [usize] {
        let items = form.and_then(|form| self.items(*form));
        if items.is_none() {
            self.unknown("Something stands where a list must be.");
        }
        items.unwrap_or(&[])
    }

    /// Returns what a name binds; `nil` binds nothing, and what is no name asks.
    fn name(&mut self, form: Option<&usize>) -> Option<Bind<'a>> {
        let name = form.and_then(|form| self.symbol(*form));
        if name.is_none() && !form.is_some_and(|form| self.items(*form).is_some_and(<[usize]>::is_empty)) {
            self.unknown("Something stands where a name must be.");
        }
        name.map(Bind::Name)
    }

    /// Returns what is bound with some more names.
    pub(super) fn with(&mut self, bound: &Bound<'a>, names: impl IntoIterator<Item = Bind<'a>>) -> Bound<'a> {
        let mut inner = bound.as_ref().clone();
        for bind in names {
            // Binding a variable of Emacs changes what its functions do.
            if let Some(name) = bind.variable().filter(|name| callers::steers(name)) {
                self.unknown(format!("“{name}” can be a variable of Emacs that changes what its functions do."));
            }
            inner.push(bind);
        }
        Rc::new(inner)
    }

    pub(super) fn unknown(&mut self, why: impl Into<String>) {
        self.unknowns += 1;
        if self.unknowns <= UNKNOWN {
            self.found.push(Found::Unknown(why.into()));
        }
    }

    fn harmful(&mut self, why: String) {
        if self.said.insert(why.clone()) {
            self.found.push(Found::Harmful(why));
        }
    }

    pub(super) fn named(&mut self, name: &'a str) {
        let shown: String = name.chars().take(60).collect();
        match self.harm(name) {
            Some(what) => self.harmful(format!("“{shown}” reaches for {what}.")),
            None => self.unknown(format!("“{shown}” is not among the functions that are known to be pure.")),
        }
    }

    fn value(&mut self, form: usize, bound: Bound<'a>) {
        match self.node(form) {
            None | Some(Node::Constant | Node::Keyword(_) | Node::Text | Node::Quote(_) | Node::Vector(_)) => {}
            Some(Node::Dotted(_)) => self.unknown("A form ends in a dot."),
            Some(Node::Symbol(name)) => self.variable(name, &bound),
            Some(Node::Function(inner)) => self.function_value(*inner, bound),
            Some(Node::Backquote(inner)) => self.tasks.push(Task::Template(*inner, bound)),
            Some(Node::Unquote(inner)) => self.tasks.push(Task::Value(*inner, bound)),
            Some(Node::List(items)) => self.call(items, bound),
        }
    }

    /// A function that stands as a value: only that of a name is no list of code, or made of such lists.
    fn function_value(&mut self, inner: usize, bound: Bound<'a>) {
        self.holds |= self.symbol(inner).is_none_or(|name| is_local(&bound, name));
        self.tasks.push(Task::Callee(inner, None, bound));
    }

    fn variable(&mut self, name: &'a str, bound: &Bound<'a>) {
        let local = is_bound(bound, name) || (name.starts_with('.') && bound.contains(&Bind::Alist));
        // A name without a dash is a local by custom; Emacs's own variables have one.
        let free = !name.contains('-') || tables::READABLE.has(name);
        self.free |= !local && !tables::READABLE.has(name);
        self.holds |= is_held(bound, name);
        if !local && (!free || self.harm(name).is_some() && !tables::READABLE.has(name)) {
            match self.harm(name) {
                Some(what) => self.harmful(format!("The variable “{name}” reaches for {what}.")),
                None => self.unknown(format!("The variable “{name}” is not bound here.")),
            }
        }
    }

    fn template(&mut self, form: usize, bound: Bound<'a>) {
        match self.node(form) {
            Some(Node::List(items) | Node::Dotted(items) | Node::Vector(items)) => {
                self.tasks.extend(items.iter().map(|item| Task::Template(*item, bound.clone())));
            }
            Some(Node::Unquote(inner)) => self.tasks.push(Task::Value(*inner, bound)),
            Some(Node::Quote(inner) | Node::Function(inner) | Node::Backquote(inner)) => {
                self.tasks.push(Task::Template(*inner, bound));
            }
            Some(Node::Symbol(_) | Node::Keyword(_) | Node::Constant | Node::Text) | None => {}
        }
    }

    /// Walks the arguments as values.
    pub(super) fn values(&mut self, items: &[usize], bound: &Bound<'a>) {
        self.tasks.extend(items.iter().rev().map(|item| Task::Value(*item, bound.clone())));
    }

    pub(super) fn lambda(&mut self, items: &[usize], bound: Bound<'a>) {
        let (forms, params) = (self.forms, self.list(items.get(1)));
        if params.iter().any(|name| forms.symbol(*name).is_none()) {
            self.unknown("The arguments of a “lambda” are not plain names.");
        }
        let inner = self.with(&bound, params.iter().filter_map(|name| forms.symbol(*name)).map(Bind::Name));
        self.values(items.get(2..).unwrap_or(&[]), &inner);
    }

    pub(super) fn call(&mut self, items: &[usize], bound: Bound<'a>) {
        let Some(head) = items.first() else { return };
        let args = items.get(1..).unwrap_or(&[]);
        let Some(name) = self.symbol(*head) else {
            match self.node(*head) {
                Some(Node::List(_)) => self.tasks.push(Task::Callee(*head, Some(args.len()), bound.clone())),
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
            "with-temp-buffer" => {
                let inner = self.with(&bound, [Bind::Scratch]);
                self.values(args, &inner);
            }
            "let-alist" => {
                self.values(args.get(..1).unwrap_or(&[]), &bound);
                let inner = self.with(&bound, [Bind::Alist]);
                self.values(args.get(1..).unwrap_or(&[]), &inner);
            }
            "named-let" => {
                let own = self.name(args.first()).and_then(Bind::variable).map(Bind::Local);
                self.own_functions(own);
                self.let_form(args.get(1..).unwrap_or(&[]), bound, own);
            }
            "letrec" => {
                let (forms, bindings) = (self.forms, self.list(args.first()));
                let names = bindings.iter().filter_map(|binding| forms.symbol(*forms.items(*binding)?.first()?));
                let known = self.with(&bound, names.map(Bind::Held));
                let bound = if self.binds_functions(bindings) { known } else { bound };
                self.let_form(args, bound, None);
            }
            "cl-flet" | "cl-flet*" | "cl-labels" => self.local_functions(name, args, bound),
            "cl-destructuring-bind" | "seq-let" | "map-let" | "cl-multiple-value-bind" => {
                self.destructuring(args, bound)
            }
            "cl-case" | "cl-ecase" | "cl-typecase" | "cl-etypecase" => {
                self.values(args.get(..1).unwrap_or(&[]), &bound);
                for clause in args.get(1..).unwrap_or(&[]) {
                    let parts = self.list(Some(clause));
                    if let Some(form) = parts.first().filter(|_| name.ends_with("typecase")) {
                        self.type_form(*form);
                    }
                    self.values(parts.get(1..).unwrap_or(&[]), &bound);
                }
            }
            "cl-the" => {
                args.first().into_iter().for_each(|form| self.type_form(*form));
                self.values(args.get(1..).unwrap_or(&[]), &bound);
            }
            "propertize" => {
                self.properties(args.get(1..).unwrap_or(&[]));
                self.values(args, &bound);
            }
            "put-text-property" if bound.contains(&Bind::Scratch) && args.len() == 4 => {
                self.properties(args.get(2..).unwrap_or(&[]));
                self.values(args, &bound);
            }
            "lookup-key" | "keymap-lookup" | "keymap-parent"
                if args.len() <= 3 && args.first().is_some_and(|map| self.is_own_keymap(*map, &bound)) =>
            {
                self.values(args, &bound);
            }
            // Behind these stands a place, which can bring a keymap along.
            "key-binding" if args.len() <= 3 => self.values(args, &bound),
            "where-is-internal" if args.len() <= 1 => self.values(args, &bound),
            "cl-block" | "cl-return-from" => self.values(args.get(1..).unwrap_or(&[]), &bound),
            "cl-do" | "cl-do*" => self.cl_do(args, bound),
            "rx" => {
                if !self.every_symbol(args, |name| !matches!(name, "eval" | "regexp" | "regex" | "literal")) {
                    self.unknown("The “rx” form is made only at run time.");
                }
            }
            "pcase-let" | "pcase-let*" => self.pcase_let(args, bound),
            "pcase-dolist" => self.pcase_dolist(args, bound),
            "thing-at-point" | "bounds-of-thing-at-point"
                if args.first().is_some_and(|thing| self.is_thing(*thing)) =>
            {
                self.values(args, &bound);
            }
            _ if tables::FILES.has(name) => self.file_name(name, args, &bound),
            // The name of a mode is looked up, and not worked out.
            "bound-and-true-p"
                if args.first().and_then(|arg| self.symbol(*arg)).is_some_and(|n| n.ends_with("-mode")) => {}
            // Of a text that stands here they make a value; of nothing they would ask somebody.
            "read" | "read-from-string" if !self.forms.marked && matches!(args, [only] if self.is_text(*only)) => {}
            "calc-eval" if matches!(args, [only] if self.is_text(*only)) => {}
            "thread-first" | "thread-last" => self.threaded(args, &bound, name == "thread-last"),
            "org-read-date" if args.get(2).is_some_and(|text| self.is_text(*text)) => self.values(args, &bound),
            "function" => args.first().into_iter().for_each(|inner| self.function_value(*inner, bound.clone())),
            "lambda" => {
                self.holds = true;
                self.lambda(items, bound);
            }
            "pcase-lambda" => {
                self.holds = true;
                self.pcase_lambda(args, bound);
            }
            "unless" if self.is_arity(args, &bound) => {}
            // Below the headings of this buffer; a scope would open files.
            "org-map-entries" if args.len() <= 2 => {
                self.tasks.extend(args.first().map(|function| Task::Callee(*function, Some(0), bound.clone())));
                self.values(args.get(1..).unwrap_or(&[]), &bound);
            }
            "let" | "let*" | "if-let*" | "when-let*" | "and-let*" => self.let_form(args, bound, None),
            "if-let" | "when-let" => {
                // `(if-let (x value) …)` binds x to the value.
                let single = |binding: &usize| !matches!(self.node(*binding), Some(Node::List(_)));
                if args.first().and_then(|list| self.items(*list)).and_then(<[usize]>::first).is_some_and(single) {
                    self.unknown(format!("What “{name}” binds is not in brackets of its own."));
                }
                self.let_form(args, bound, None);
            }
            "setq" | "setf" | "cl-incf" | "cl-decf" | "incf" | "decf" => self.setq(name, args, bound),
            "cl-callf" => {
                self.tasks.extend(args.first().map(|function| Task::Callee(*function, None, bound.clone())));
                args.get(1).into_iter().for_each(|place| self.target(*place, &bound));
                self.values(args.get(2..).unwrap_or(&[]), &bound);
            }
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
            _ if callers::reach(name).is_some() => {
                self.holds |= matches!(name, "apply-partially" | "cl-complement");
                self.arguments(name, args, &bound);
            }
            _ if tables::PURE.has(name) || tables::PLAIN_FORMS.has(name) => self.values(args, &bound),
            _ => {
                self.named(name);
                self.values(args, &bound);
            }
        }
    }

    /// A function on names of files: one on another machine makes Emacs connect, so that each must be written out.
    fn file_name(&mut self, name: &str, args: &[usize], bound: &Bound<'a>) {
        if !args.iter().all(|arg| self.is_near(*arg, bound)) {
            self.unknown(format!("“{name}” is given a name that can be one on another machine."));
        }
        self.values(args, bound);
    }

    /// Whether a form is a name of a file on this machine: written out without a colon, or made of such names.
    fn is_near(&self, form: usize, bound: &Bound<'a>) -> bool {
        match self.node(form) {
            Some(Node::Text) => !self.forms.is_far(form),
            Some(Node::Constant) => true,
            Some(Node::Symbol(name)) => {
                matches!(&**name, "default-directory" | "buffer-file-name") && !is_bound(bound, name)
            }
            Some(Node::List(items)) => items.first().is_none_or(|head| {
                self.symbol(*head).is_some_and(|name| {
                    (tables::FILES.has(name) || name == "buffer-file-name") && !is_local(bound, name)
                })
            }),
            _ => false,
        }
    }

    fn is_thing(&self, form: usize) -> bool {
        matches!(self.node(form), Some(Node::Quote(inner)) if self.symbol(*inner).is_some_and(|name| tables::THINGS.contains(&name)))
    }

    fn let_form(&mut self, args: &[usize], bound: Bound<'a>, own: Option<Bind<'a>>) {
        let mut inner = bound;
        for binding in self.list(args.first()) {
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
            let function = matches!(value, [only] if self.is_function(*only));
            match value {
                [only] if function => self.tasks.push(Task::Callee(*only, None, inner.clone())),
                _ => self.values(value, &inner),
            }
            match name {
                // Binding a variable of Emacs changes what its functions do.
                Some(name) if name.contains('-') && self.harm(name).is_some() => self.named(name),
                Some(name) if function => inner = self.with(&inner, [Bind::Held(name)]),
                Some(name) => inner = self.with(&inner, [Bind::Name(name)]),
                None if value.len() != 1 => self.unknown("A binding is not understood."),
                None => {}
            }
        }
        let inner = self.with(&inner, own);
        self.values(args.get(1..).unwrap_or(&[]), &inner);
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
    fn local_functions(&mut self, form: &str, args: &[usize], bound: Bound<'a>) {
        let (forms, bindings) = (self.forms, self.list(args.first()));
        let name = |binding: &usize| Some(Bind::Local(forms.symbol(*forms.items(*binding)?.first()?)?));
        self.own_functions(bindings.iter().filter_map(name));
        let inner = self.with(&bound, bindings.iter().filter_map(name));
        // Only the bodies of `cl-labels` know the new functions; in others the name is another function's.
        let mut known = if form == "cl-labels" { inner.clone() } else { bound };
        for binding in bindings {
            match self.items(*binding) {
                Some([_, function]) => self.tasks.push(Task::Callee(*function, None, known.clone())),
                Some(parts) if parts.len() > 2 => self.lambda(parts, known.clone()),
                Some(_) | None => self.unknown("A local function is not understood."),
            }
            if form == "cl-flet*" {
                known = self.with(&known, name(binding));
            }
        }
        self.values(args.get(1..).unwrap_or(&[]), &inner);
    }

    /// A function of the code's own under a name that stands for a form would evaluate what is only data, here or in what
    /// a macro is expanded to.
    fn own_functions(&mut self, names: impl IntoIterator<Item = Bind<'a>>) {
        for bind in names {
            if let Bind::Local(name) = bind
                && tables::is_taken(name)
            {
                self.unknown(format!("“{name}” would stand for something else than it does in Emacs."));
            }
        }
    }

    /// `(unless (autoloadp (indirect-function 'f)) (func-arity 'f))`: without the question a library could be loaded.
    fn is_arity(&self, args: &[usize], bound: &Bound<'a>) -> bool {
        let [test, look] = args else { return false };
        let given = |form: usize, function: &str| match self.items(form)? {
            [head, arg] if self.symbol(*head) == Some(function) && !is_local(bound, function) => Some(*arg),
            _ => None,
        };
        let quoted = |form: usize| match self.node(form)? {
            Node::Quote(inner) => self.symbol(*inner),
            _ => None,
        };
        let asked = given(*test, "autoloadp").and_then(|inner| given(inner, "indirect-function")).and_then(quoted);
        asked.is_some() && asked == given(*look, "func-arity").and_then(quoted)
    }

    fn cl_do(&mut self, args: &[usize], bound: Bound<'a>) {
        let bindings = self.list(args.first());
        let first =
            |forms: &'a Forms<'a>, binding| forms.items(binding).map_or(Some(binding), |parts| parts.first().copied());
        let names: Vec<_> =
            bindings.iter().filter_map(|binding| self.name(first(self.forms, *binding).as_ref())).collect();
        let inner = self.with(&bound, names);
        for binding in bindings {
            self.values(self.items(*binding).and_then(|parts| parts.get(1..)).unwrap_or(&[]), &inner);
        }
        let end = self.list(args.get(1));
        self.values(end, &inner);
        self.values(args.get(2..).unwrap_or(&[]), &inner);
    }

    /// Whether one of these names stands anywhere in the text.
    fn names_any(&self, names: &tables::Names) -> bool {
        self.forms.nodes.iter().any(|node| matches!(node, Node::Symbol(name) if names.has(name)))
    }

    /// Whether all names that stand anywhere in some forms are such.
    pub(super) fn every_symbol(&self, forms: &[usize], such: impl Fn(&str) -> bool) -> bool {
        let mut stack = forms.to_vec();
        while let Some(form) = stack.pop() {
            match self.node(form) {
                Some(Node::Symbol(name) | Node::Keyword(name)) if !such(name) => return false,
                Some(Node::List(items) | Node::Dotted(items) | Node::Vector(items)) => stack.extend(items),
                Some(Node::Quote(inner) | Node::Function(inner) | Node::Backquote(inner) | Node::Unquote(inner)) => {
                    stack.push(*inner)
                }
                Some(Node::Symbol(_) | Node::Keyword(_) | Node::Constant | Node::Text) => {}
                None => return false,
            }
        }
        true
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
                _ if n == 3 && name == "add-to-list" => self.called(name, *arg, Some(2), &bound),
                _ if n > at && name == "cl-pushnew" => self.keyword_argument(name, args, n, 2, &bound),
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
                match self.harm(name) {
                    Some(_) => self.harmful(why),
                    None => self.unknown(why),
                }
            }
            None if self.own_place(place, bound) => {
                let head = self.items(place).and_then(|items| self.symbol(*items.first()?));
                self.changes = true;
                self.changes_text |= head.is_some_and(|head| matches!(head, "aref" | "elt" | "map-elt"));
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
        callers::reach(name).is_none_or(|place| place >= args.len())
            && args
                .get(*at)
                .and_then(|value| self.symbol(*value))
                .is_some_and(|value| is_bound(bound, value) && !is_held(bound, value))
    }

    fn doing(&mut self, args: &[usize], bound: Bound<'a>) {
        let parts = self.list(args.first());
        self.values(parts.get(1..2).unwrap_or(&[]), &bound);
        let name = self.name(parts.first());
        let inner = self.with(&bound, name);
        self.values(parts.get(2..).unwrap_or(&[]), &inner);
        self.values(args.get(1..).unwrap_or(&[]), &inner);
    }

    fn condition(&mut self, args: &[usize], bound: Bound<'a>) {
        let name = self.name(args.first());
        let inner = self.with(&bound, name);
        self.values(args.get(1..2).unwrap_or(&[]), &bound);
        for handler in args.get(2..).unwrap_or(&[]) {
            let parts = self.list(Some(handler));
            self.values(parts.get(1..).unwrap_or(&[]), &inner);
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
    fn what_is_not_known_hides_no_harm() {
        let many: String = (0..100).map(|n| format!("(my-own-{n})\n")).collect();
        let found = examine(&format!("{many}(call-process \"rm\")\n(call-process \"rm\")"));
        let harmful = found.iter().filter(|found| matches!(found, Found::Harmful(_))).count();
        assert_eq!((harmful, found.len()), (1, 1 + super::UNKNOWN), "{found:?}");
    }

    #[test]
    fn what_binds_very_many_names_ends_with_a_question() {
        let few: String = (0..200).map(|n| format!("(a{n} {n})")).collect();
        assert_eq!(examine(&format!("(let ({few}) (+ a1 a2))")), []);
        let many: String = (0..50_000).map(|n| format!("(a{n} {n})")).collect();
        let found = examine(&format!("(let ({many}) (+ a1 a2))"));
        assert!(matches!(found.as_slice(), [Found::Incomplete(why)] if why.contains("followed")), "{found:?}");
    }
}
