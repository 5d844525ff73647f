//! What functions do with a function, a type, a text property or a keymap that they are handed, and where.

use super::tables::Names;

/// As many arguments as stand behind the function.
pub const REST: usize = usize::MAX - 1;
/// Any number of arguments.
pub const ANY: usize = usize::MAX;

/// Functions that call the function that they are given as an argument: its place, from 0, and how many arguments
/// they call it with.
pub const CALLERS: &[(&str, usize, usize)] = &[
    // What they print goes, letter by letter, to the function that they are given.
    ("print", 1, 1),
    ("prin1", 1, 1),
    ("princ", 1, 1),
    ("terpri", 0, 1),
    ("pp", 1, 1),
    ("pp-to-string", 1, 1),
    ("mapcar", 0, 1),
    ("mapc", 0, 1),
    ("mapconcat", 0, 1),
    ("mapcan", 0, 1),
    ("maphash", 0, 2),
    ("funcall", 0, REST),
    ("apply", 0, ANY),
    ("apply-partially", 0, ANY),
    ("sort", 1, 2),
    ("replace-regexp-in-string", 1, 1),
    ("alist-get", 4, 2),
    ("assoc", 2, 2),
    ("assoc-default", 2, 2),
    ("assoc-delete-all", 2, 2),
    ("plist-get", 2, 2),
    ("plist-member", 2, 2),
    ("plist-put", 3, 2),
    ("org-element-map", 2, 1),
    ("dom-search", 1, 1),
    ("seq-keep", 0, 1),
    ("seq-do-indexed", 0, 2),
    ("seq-filter", 0, 1),
    ("seq-remove", 0, 1),
    ("seq-map", 0, 1),
    ("seq-mapn", 0, REST),
    ("seq-map-indexed", 0, 2),
    ("seq-do", 0, 1),
    ("seq-reduce", 0, 2),
    ("seq-find", 0, 1),
    ("seq-some", 0, 1),
    ("seq-every-p", 0, 1),
    ("seq-count", 0, 1),
    ("seq-sort", 0, 2),
    ("seq-sort-by", 0, 1),
    ("seq-sort-by", 1, 2),
    ("seq-group-by", 0, 1),
    ("seq-mapcat", 0, 1),
    ("seq-take-while", 0, 1),
    ("seq-drop-while", 0, 1),
    ("seq-contains-p", 2, 2),
    ("seq-uniq", 1, 2),
    ("seq-position", 2, 2),
    ("seq-positions", 2, 2),
    ("seq-union", 2, 2),
    ("seq-intersection", 2, 2),
    ("seq-difference", 2, 2),
    ("seq-set-equal-p", 2, 2),
    ("map-elt", 3, 2),
    ("map-contains-key", 2, 2),
    ("map-some", 0, 2),
    ("map-every-p", 0, 2),
    ("map-keys-apply", 0, 1),
    ("map-values-apply", 0, 1),
    ("map-merge-with", 1, 2),
    ("map-apply", 0, 2),
    ("map-do", 0, 2),
    ("map-filter", 0, 2),
    ("map-remove", 0, 2),
    ("cl-complement", 0, ANY),
    ("cl-count-if", 0, 1),
    ("cl-count-if-not", 0, 1),
    ("cl-position-if", 0, 1),
    ("cl-position-if-not", 0, 1),
    ("cl-substitute-if", 1, 1),
    ("cl-remove-if", 0, 1),
    ("cl-remove-if-not", 0, 1),
    ("cl-delete-if", 0, 1),
    ("cl-find-if", 0, 1),
    ("cl-find-if-not", 0, 1),
    ("cl-member-if", 0, 1),
    ("cl-member-if-not", 0, 1),
    ("cl-assoc-if", 0, 1),
    ("cl-rassoc-if", 0, 1),
    ("cl-some", 0, REST),
    ("cl-every", 0, REST),
    ("cl-notany", 0, REST),
    ("cl-notevery", 0, REST),
    ("cl-mapcar", 0, REST),
    ("cl-mapc", 0, REST),
    ("cl-mapcan", 0, REST),
    ("cl-mapl", 0, REST),
    ("cl-maplist", 0, REST),
    ("cl-mapcon", 0, REST),
    ("cl-map", 1, REST),
    ("cl-reduce", 0, 2),
    ("cl-sort", 1, 2),
    ("cl-stable-sort", 1, 2),
    ("cl-merge", 3, 2),
];

/// Functions that take keywords, and how many arguments stand before those. What stands behind a keyword that is not
/// one of [`DATA`] is called.
pub const KEYED: &[(&str, usize)] = &[
    ("sort", 1),
    ("make-hash-table", 0),
    ("cl-pushnew", 2),
    ("cl-find", 2),
    ("cl-position", 2),
    ("cl-count", 2),
    ("cl-member", 2),
    ("cl-assoc", 2),
    ("cl-rassoc", 2),
    ("cl-adjoin", 2),
    ("cl-union", 2),
    ("cl-intersection", 2),
    ("cl-set-difference", 2),
    ("cl-set-exclusive-or", 2),
    ("cl-subsetp", 2),
    ("cl-nunion", 2),
    ("cl-nintersection", 2),
    ("cl-remove", 2),
    ("cl-delete", 2),
    ("cl-remove-duplicates", 1),
    ("cl-delete-duplicates", 1),
    ("cl-substitute", 3),
    ("cl-nsubstitute", 3),
    ("cl-subst", 3),
    ("cl-nsubst", 3),
    ("cl-sublis", 2),
    ("cl-tree-equal", 2),
    ("cl-mismatch", 2),
    ("cl-search", 2),
    ("cl-fill", 2),
    ("cl-replace", 2),
    ("cl-reduce", 2),
    ("cl-count-if", 2),
    ("cl-count-if-not", 2),
    ("cl-position-if", 2),
    ("cl-position-if-not", 2),
    ("cl-substitute-if", 3),
    ("cl-remove-if", 2),
    ("cl-remove-if-not", 2),
    ("cl-delete-if", 2),
    ("cl-find-if", 2),
    ("cl-find-if-not", 2),
    ("cl-member-if", 2),
    ("cl-member-if-not", 2),
    ("cl-assoc-if", 2),
    ("cl-rassoc-if", 2),
    ("cl-sort", 2),
    ("cl-stable-sort", 2),
    ("cl-merge", 4),
];

/// Keywords of [`KEYED`] functions behind which stands a value.
const DATA: &[&str] = &[
    ":start",
    ":end",
    ":start1",
    ":end1",
    ":start2",
    ":end2",
    ":count",
    ":from-end",
    ":initial-value",
    ":reverse",
    ":in-place",
    ":size",
    ":weakness",
    ":rehash-size",
    ":rehash-threshold",
];

/// Functions that take a type, and its place: a type can name a function that is called.
pub const TYPED: &[(&str, usize)] =
    &[("cl-typep", 1), ("cl-coerce", 1), ("cl-map", 0), ("cl-merge", 0), ("cl-concatenate", 0)];

/// What types are made of that call nothing but Emacs's own predicates.
pub static TYPES: Names = Names::new(&[
    "or",
    "and",
    "not",
    "member",
    "eql",
    "*",
    "list",
    "cons",
    "null",
    "atom",
    "integer",
    "fixnum",
    "bignum",
    "natnum",
    "float",
    "number",
    "real",
    "string",
    "symbol",
    "keyword",
    "boolean",
    "character",
    "vector",
    "array",
    "sequence",
    "hash-table",
    "function",
    "buffer",
    "marker",
]);

/// Text properties that show something and call nothing.
const SHOWN: &[&str] = &[
    "face",
    "font-lock-face",
    "mouse-face",
    "invisible",
    "line-prefix",
    "wrap-prefix",
    "rear-nonsticky",
    "front-sticky",
    "read-only",
];

/// Text properties without a dash that are more than a mark.
const ACTING: &[&str] = &["keymap", "category", "display", "composition", "field", "cursor", "pointer", "intangible"];

/// Names without a dash that are variables of Emacs; all its others have one.
const DASHLESS: &[&str] = &["debugger", "obarray", "features", "noninteractive", "values"];

/// Variables of Emacs that may be bound: they say how something is shown, searched or printed, and name nothing that is
/// called, opened or started.
pub static BINDABLE: Names = Names::new(&[
    "case-fold-search",
    "case-replace",
    "search-spaces-regexp",
    "sentence-end-double-space",
    "tab-width",
    "fill-column",
    "fill-prefix",
    "left-margin",
    "indent-tabs-mode",
    "require-final-newline",
    "sort-fold-case",
    "sort-numeric-base",
    "print-length",
    "print-level",
    "print-circle",
    "print-quoted",
    "print-escape-newlines",
    "print-escape-nonascii",
    "float-output-format",
    "eval-expression-print-length",
    "eval-expression-print-level",
    "inhibit-message",
    "message-log-max",
    "message-truncate-lines",
    "inhibit-read-only",
    "buffer-read-only",
    "deactivate-mark",
    "debug-on-error",
    "debug-on-quit",
    "gc-cons-threshold",
    "json-object-type",
    "json-array-type",
    "json-key-type",
    "json-false",
    "json-null",
    "json-encoding-pretty-print",
    "calendar-week-start-day",
]);

/// The names of [`CALLERS`].
pub static CALLING: Names = Names::of_callers(CALLERS);
/// The names of [`KEYED`] and [`TYPED`].
pub static KEYWORDED: Names = Names::of_pairs(KEYED);
pub static TYPE_TAKING: Names = Names::of_pairs(TYPED);

/// Returns the places at which a function calls what it is handed.
pub fn places(name: &str) -> impl Iterator<Item = (usize, usize)> {
    CALLERS.iter().filter(move |(caller, _, _)| *caller == name).map(|(_, place, gives)| (*place, *gives))
}

/// Returns how many arguments stand before the keywords of a function.
pub fn keywords(name: &str) -> Option<usize> {
    KEYED.iter().find(|(keyed, _)| *keyed == name).map(|(_, before)| *before)
}

/// Returns the place at which a function takes a type.
pub fn type_place(name: &str) -> Option<usize> {
    TYPED.iter().find(|(typed, _)| *typed == name).map(|(_, place)| *place)
}

/// Returns the first place at which a function may be handed another one, or what names one.
pub fn reach(name: &str) -> Option<usize> {
    if !CALLING.has(name) && !KEYWORDED.has(name) && !TYPE_TAKING.has(name) {
        return None;
    }
    places(name).map(|(place, _)| place).chain(keywords(name)).chain(type_place(name)).min()
}

/// Returns whether what stands behind a keyword is only a value.
pub fn is_data(keyword: &str) -> bool {
    DATA.contains(&keyword)
}

/// Returns whether a name is a part of types that call nothing that was not judged.
pub fn is_type(name: &str) -> bool {
    TYPES.has(name)
}

/// Returns whether a text property only shows or marks something.
pub fn is_shown(property: &str) -> bool {
    SHOWN.contains(&property) || !property.contains('-') && !ACTING.contains(&property)
}

/// Returns whether binding a name can change what functions of Emacs do: whether it is a variable of Emacs cannot be told
/// from a name alone, for every package brings some along.
pub fn steers(name: &str) -> bool {
    DASHLESS.contains(&name) || name.contains('-') && !BINDABLE.has(name)
}
