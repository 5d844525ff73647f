//! Property lists: looking values up in a message, and building one.

use crate::domain::sexp::reader::Sexp;
use serde_json::Value;

impl Sexp {
    /// Returns an argument of an action as Emacs reads it. What an argument never is, since they are checked, is nil.
    pub fn of_json(value: &Value) -> Sexp {
        match value {
            Value::String(text) => Sexp::text(text.as_str()),
            Value::Bool(truth) => Sexp::flag(*truth),
            Value::Number(number) => number.as_i64().map_or(Sexp::Nil, Sexp::int),
            Value::Array(items) => Sexp::list(items.iter().filter_map(Value::as_str).map(Sexp::text)),
            Value::Null | Value::Object(_) => Sexp::Nil,
        }
    }
}

/// Looking up in a property list. Absent and `nil` mean the same; the first of two equal keys counts.
impl Sexp {
    /// Returns the value of a key (lower case, without its colon); `None` when it is absent or `nil`.
    pub fn get(&self, key: &str) -> Option<&Sexp> {
        let Sexp::List(items) = self else { return None };
        let value = items.chunks_exact(2).find_map(|pair| match pair {
            [Sexp::Keyword(name), value] if name.as_str() == key => Some(value),
            _ => None,
        })?;
        (!matches!(value, Sexp::Nil)).then_some(value)
    }

    /// Returns a string under a key.
    pub fn text_at(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    /// Returns the name of a keyword or symbol, or a string, under a key.
    pub fn name_at(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_name()
    }

    /// Returns a whole number under a key.
    pub fn int_at(&self, key: &str) -> Option<i64> {
        self.get(key)?.as_int()
    }

    /// Returns a byte offset, size or other count under a key; `None` when it is negative.
    pub fn count_at(&self, key: &str) -> Option<usize> {
        usize::try_from(self.int_at(key)?).ok()
    }

    /// Tells whether the value of a key is anything but `nil`.
    pub fn flag_at(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Returns the items of a list under a key; none when it is absent or no list.
    pub fn list_at(&self, key: &str) -> &[Sexp] {
        self.get(key).map_or(&[], Sexp::items)
    }

    /// Returns the value as a string.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Sexp::Str(text) => Some(text),
            Sexp::Nil
            | Sexp::T
            | Sexp::Keyword(_)
            | Sexp::Symbol(_)
            | Sexp::Int(_)
            | Sexp::Float(_)
            | Sexp::List(_)
            | Sexp::Dotted(..) => None,
        }
    }

    /// Returns the name of a keyword or symbol, or a string.
    pub fn as_name(&self) -> Option<&str> {
        match self {
            Sexp::Keyword(name) | Sexp::Symbol(name) => Some(name.as_str()),
            Sexp::Str(text) => Some(text),
            Sexp::Nil | Sexp::T | Sexp::Int(_) | Sexp::Float(_) | Sexp::List(_) | Sexp::Dotted(..) => None,
        }
    }

    /// Returns the value as a whole number.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Sexp::Int(number) => Some(*number),
            Sexp::Nil
            | Sexp::T
            | Sexp::Keyword(_)
            | Sexp::Symbol(_)
            | Sexp::Str(_)
            | Sexp::Float(_)
            | Sexp::List(_)
            | Sexp::Dotted(..) => None,
        }
    }

    /// Returns the value as a number, with or without a point.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Sexp::Float(number) => Some(*number),
            Sexp::Int(number) => Some(*number as f64),
            Sexp::Nil
            | Sexp::T
            | Sexp::Keyword(_)
            | Sexp::Symbol(_)
            | Sexp::Str(_)
            | Sexp::List(_)
            | Sexp::Dotted(..) => None,
        }
    }

    /// Returns the items of a list; none for `nil` and for anything else.
    pub fn items(&self) -> &[Sexp] {
        match self {
            Sexp::List(items) => items,
            Sexp::Nil
            | Sexp::T
            | Sexp::Keyword(_)
            | Sexp::Symbol(_)
            | Sexp::Str(_)
            | Sexp::Int(_)
            | Sexp::Float(_)
            | Sexp::Dotted(..) => &[],
        }
    }
}

/// Builds a property list. A value that is absent, false or empty is left out, as absent and `nil` mean the same.
#[derive(Clone, Debug, Default)]
pub struct Plist(Vec<Sexp>);

impl Plist {
    /// Starts an empty property list.
    pub fn new() -> Self {
        Plist::default()
    }

    /// Adds any value; `nil` is left out.
    pub fn value(mut self, key: &str, value: Sexp) -> Self {
        if !matches!(value, Sexp::Nil) {
            self.0.push(Sexp::keyword(key));
            self.0.push(value);
        }
        self
    }

    /// Adds a keyword.
    pub fn keyword(self, key: &str, name: &str) -> Self {
        self.value(key, Sexp::keyword(name))
    }

    /// Adds a string; an empty one is kept.
    pub fn text(self, key: &str, text: impl Into<String>) -> Self {
        self.value(key, Sexp::text(text))
    }

    /// Adds a string if there is one.
    pub fn maybe(self, key: &str, text: Option<impl Into<String>>) -> Self {
        match text {
            Some(text) => self.text(key, text),
            None => self,
        }
    }

    /// Adds a whole number if there is one.
    pub fn maybe_int(self, key: &str, number: Option<impl TryInto<i64>>) -> Self {
        match number {
            Some(number) => self.int(key, number),
            None => self,
        }
    }

    /// Adds a whole number.
    pub fn int(self, key: &str, number: impl TryInto<i64>) -> Self {
        self.value(key, Sexp::int(number))
    }

    /// Adds a number with a point.
    pub fn float(self, key: &str, number: f64) -> Self {
        self.value(key, Sexp::float(number))
    }

    /// Adds `t` when it holds.
    pub fn flag(self, key: &str, truth: bool) -> Self {
        self.value(key, Sexp::flag(truth))
    }

    /// Adds a list.
    pub fn list(self, key: &str, items: impl IntoIterator<Item = Sexp>) -> Self {
        self.value(key, Sexp::list(items))
    }

    /// Adds a list of strings.
    pub fn texts<T: Into<String>>(self, key: &str, texts: impl IntoIterator<Item = T>) -> Self {
        self.list(key, texts.into_iter().map(Sexp::text))
    }

    /// Adds a property list.
    pub fn plist(self, key: &str, plist: Plist) -> Self {
        self.value(key, plist.build())
    }

    /// Puts a value in the place of the one that stands under a key, if one does.
    pub fn replaced(mut self, key: &str, value: Sexp) -> Self {
        let key = Sexp::keyword(key);
        if let Some([_, old]) = self.0.as_chunks_mut::<2>().0.iter_mut().find(|pair| pair[0] == key) {
            *old = value;
        }
        self
    }

    /// Returns the property list; an empty one is `nil`.
    pub fn build(self) -> Sexp {
        Sexp::list(self.0)
    }
}

impl From<Plist> for Sexp {
    fn from(plist: Plist) -> Sexp {
        plist.build()
    }
}

/// Returns a message of the protocol: `(:type TYPE :payload PAYLOAD)`.
pub fn message(kind: &str, payload: Plist) -> Plist {
    Plist::new().keyword("type", kind).plist("payload", payload)
}
