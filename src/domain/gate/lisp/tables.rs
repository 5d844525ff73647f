//! The pure functions, the forms whose shape is known, and the names that are harmful.

/// Functions that compute, or look at the current buffer, and change nothing but fresh values.
pub const PURE: &[&str] = &[
    "+", "-", "*", "/", "%", "mod", "1+", "1-", "=", "/=", "<", ">", "<=", ">=", "abs", "max", "min", "floor", "ceiling", "round", "truncate", "ffloor", "fceiling", "fround", "ftruncate",
    "float", "sqrt", "expt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "logand", "logior", "logxor", "lognot", "ash", "lsh", "random", "isnan", "zerop", "natnump",
    "car", "cdr", "car-safe", "cdr-safe", "caar", "cadr", "cdar", "cddr", "caddr", "cdddr", "cons", "list", "append", "nth", "nthcdr", "last", "butlast", "take", "ntake", "length", "length=", "length<", "length>",
    "safe-length", "proper-list-p", "reverse", "nreverse", "memq", "member", "memql", "member-ignore-case", "assq", "assoc", "assoc-string", "assoc-default", "rassq", "rassoc", "alist-get", "plist-get", "plist-member",
    "plist-put", "delq", "delete", "remq", "remove", "delete-dups", "delete-consecutive-dups", "number-sequence", "copy-sequence", "copy-alist", "copy-tree", "flatten-tree", "ensure-list", "make-list", "sort", "vector",
    "make-vector", "aref", "elt", "vconcat", "nconc", "string", "make-string", "concat", "substring", "substring-no-properties", "upcase", "downcase", "capitalize", "upcase-initials", "string=", "string-equal",
    "string<", "string-lessp", "string>", "string-greaterp", "string-prefix-p", "string-suffix-p", "string-match", "string-match-p", "string-search", "string-trim", "string-trim-left", "string-trim-right",
    "string-join", "string-empty-p", "string-blank-p", "string-pad", "string-fill", "string-limit", "string-lines", "string-clean-whitespace", "string-remove-prefix", "string-remove-suffix", "string-replace", "string-reverse",
    "string-to-number", "number-to-string", "string-to-char", "char-to-string", "string-to-list", "string-to-vector", "string-width", "string-bytes", "string-version-lessp", "string-distance",
    "string-collate-lessp", "compare-strings", "truncate-string-to-width", "split-string", "split-string-and-unquote", "combine-and-quote-strings", "replace-regexp-in-string", "regexp-quote", "regexp-opt", "format", "format-message", "format-prompt",
    "match-string", "match-string-no-properties", "match-beginning", "match-end", "match-data", "propertize", "get-text-property", "text-properties-at", "symbol-name", "symbolp", "stringp", "numberp", "integerp", "floatp",
    "consp", "listp", "nlistp", "atom", "null", "not", "eq", "eql", "equal", "equal-including-properties", "functionp", "vectorp", "arrayp", "sequencep", "booleanp", "keywordp", "characterp", "bufferp", "markerp",
    "hash-table-p", "make-hash-table", "gethash", "puthash", "remhash", "hash-table-count", "hash-table-keys", "hash-table-values", "copy-hash-table", "sxhash-equal", "identity", "ignore", "always", "type-of", "cl-type-of",
    "boundp", "fboundp", "featurep", "macrop", "special-form-p", "subrp", "commandp", "documentation", "describe-function", "describe-variable", "func-arity", "emacs-version", "version-to-list", "version<", "version<=", "version=",
    "format-time-string", "current-time", "current-time-string", "float-time", "time-add", "time-subtract", "time-less-p", "time-equal-p", "decode-time", "encode-time", "parse-time-string", "date-to-time", "iso8601-parse", "seconds-to-time",
    "days-to-time", "time-to-days", "calendar-current-date", "calendar-absolute-from-gregorian", "calendar-gregorian-from-absolute", "calendar-day-of-week", "org-time-string-to-time", "org-parse-time-string", "org-format-time-string",
    "buffer-name", "buffer-string", "buffer-substring", "buffer-substring-no-properties", "buffer-size", "buffer-modified-p", "buffer-file-name", "current-buffer", "point", "point-min", "point-max", "point-marker", "mark", "region-beginning", "region-end", "use-region-p",
    "line-number-at-pos", "line-beginning-position", "line-end-position", "pos-bol", "pos-eol", "current-column", "current-indentation", "count-lines", "count-words", "bobp", "eobp", "bolp", "eolp", "char-after", "char-before", "following-char",
    "preceding-char", "looking-at", "looking-at-p", "looking-back", "thing-at-point", "word-at-point", "symbol-at-point", "goto-char", "forward-char", "backward-char", "forward-line", "beginning-of-line", "end-of-line", "forward-word", "backward-word",
    "forward-sexp", "backward-sexp", "re-search-forward", "re-search-backward", "search-forward", "search-backward", "skip-chars-forward", "skip-chars-backward", "window-width", "window-height", "frame-width", "frame-height", "window-start", "window-end",
    "json-encode", "json-serialize", "json-parse-string", "json-read-from-string", "base64-encode-string", "base64-decode-string", "base64url-encode-string", "md5", "sha1", "secure-hash", "url-hexify-string", "url-unhex-string",
    "encode-coding-string", "decode-coding-string", "file-name-nondirectory", "file-name-directory", "file-name-extension", "file-name-sans-extension", "file-name-base", "file-name-as-directory", "directory-file-name", "file-name-absolute-p", "file-name-concat",
    "message", "error", "user-error", "signal", "throw", "prin1-to-string", "pp-to-string", "print", "prin1", "princ", "terpri", "bool-vector", "number-or-marker-p", "wholenump", "evenp", "oddp", "plusp", "minusp", "xor", "identity",
    "org-get-heading", "org-get-todo-state", "org-get-tags", "org-entry-get", "org-entry-properties", "org-outline-level", "org-at-heading-p", "org-before-first-heading-p", "org-current-level", "org-get-outline-path", "org-id-get",
    "org-element-property", "org-element-type", "org-element-at-point", "org-element-context", "org-element-contents",
    "cl-evenp", "cl-oddp", "cl-plusp", "cl-minusp", "cl-first", "cl-second", "cl-third", "cl-fourth", "cl-fifth", "cl-rest", "cl-list*", "cl-subseq", "cl-position", "cl-find", "cl-count", "cl-member", "cl-assoc", "cl-rassoc", "cl-adjoin", "cl-union", "cl-intersection",
    "cl-set-difference", "cl-set-exclusive-or", "cl-subsetp", "cl-remove", "cl-remove-duplicates", "cl-delete-duplicates", "cl-substitute", "cl-gcd", "cl-lcm", "cl-floor", "cl-ceiling", "cl-truncate", "cl-round", "cl-mod", "cl-rem", "cl-signum", "cl-parse-integer", "cl-digit-char-p", "cl-values", "cl-endp", "cl-copy-list", "cl-tree-equal", "cl-mismatch", "cl-search", "cl-equalp", "cl-isqrt",
    "seq-length", "seq-elt", "seq-first", "seq-rest", "seq-empty-p", "seq-reverse", "seq-concatenate", "seq-into", "seq-take", "seq-drop", "seq-subseq", "seq-uniq", "seq-contains-p", "seq-position", "seq-union", "seq-intersection", "seq-difference", "seq-partition", "seq-min", "seq-max", "seq-random-elt", "seq-split",
    "map-elt", "map-keys", "map-values", "map-pairs", "map-length", "map-empty-p", "map-contains-key", "map-into", "map-merge", "kbd", "key-description", "single-key-description", "char-equal", "char-uppercase-p", "char-width", "color-name-to-rgb", "display-graphic-p", "bound-and-true-p",
    "string-glyph-split", "substring-pad", "string-chop-newline", "zerop", "cl-constantly", "number-sequence", "lax-plist-get", "bignump", "fixnump", "make-symbol", "gensym", "line-number-display-width",
];

/// Functions that call the function that they are given as an argument: its place, from 0.
pub const CALLERS: &[(&str, usize)] = &[
    ("mapcar", 0), ("mapc", 0), ("mapconcat", 0), ("mapcan", 0), ("maphash", 0), ("funcall", 0), ("apply", 0), ("seq-filter", 0), ("seq-remove", 0), ("seq-map", 0), ("seq-mapn", 0), ("seq-map-indexed", 0), ("seq-do", 0),
    ("seq-reduce", 0), ("seq-find", 0), ("seq-some", 0), ("seq-every-p", 0), ("seq-count", 0), ("seq-sort", 0), ("seq-sort-by", 0), ("seq-group-by", 0), ("seq-mapcat", 0), ("seq-take-while", 0), ("seq-drop-while", 0), ("cl-remove-if", 0), ("cl-remove-if-not", 0),
    ("cl-find-if", 0), ("cl-find-if-not", 0), ("cl-position-if", 0), ("cl-count-if", 0), ("cl-some", 0), ("cl-every", 0), ("cl-notany", 0), ("cl-notevery", 0), ("cl-mapcar", 0), ("cl-mapc", 0), ("cl-maplist", 0), ("cl-mapcan", 0), ("cl-reduce", 0), ("cl-member-if", 0), ("cl-delete-if", 0),
    ("sort", 1), ("cl-sort", 1), ("cl-stable-sort", 1), ("map-apply", 0), ("map-do", 0), ("map-filter", 0), ("map-remove", 0), ("apply-partially", 0), ("cl-complement", 0),
    ("replace-regexp-in-string", 1), ("alist-get", 4), ("assoc", 2), ("plist-get", 2), ("plist-member", 2), ("plist-put", 3), ("seq-contains-p", 2), ("seq-uniq", 1),
];

/// Forms whose arguments are all evaluated in turn and that change nothing else.
pub const PLAIN_FORMS: &[&str] = &[
    "progn", "prog1", "prog2", "if", "when", "unless", "and", "or", "while", "save-excursion", "save-restriction", "save-match-data", "ignore-errors", "with-temp-buffer", "catch", "unwind-protect", "save-current-buffer", "with-demoted-errors", "cl-assert", "thread-first", "thread-last", "with-output-to-string", "xor",
];

/// Variables of Emacs that may be read: they say where one is, not what is secret.
pub const READABLE: &[&str] = &[
    "emacs-version", "emacs-major-version", "emacs-minor-version", "system-type", "most-positive-fixnum", "most-negative-fixnum", "float-pi", "float-e", "buffer-file-name", "major-mode", "default-directory", "tab-width", "fill-column", "case-fold-search", "current-prefix-arg", "buffer-read-only", "features", "org-version", "system-configuration", "window-system", "indent-tabs-mode",
];

/// What a name reaches for, when it reaches for something harmful.
pub fn harm(name: &str) -> Option<&'static str> {
    let base = name.rsplit(':').next().unwrap_or(name).to_lowercase();
    let lower = name.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    let is = |names: &[&str]| names.contains(&base.as_str());
    if has(&["process", "shell", "compile", "term-", "eshell", "dired-do", "vc-", "run-program", "launch-program", "ediff-exec", "alien", "tramp", "compilation", "native-comp"])
        || is(&["term", "ansi-term", "vterm", "grep", "rgrep", "lgrep", "find-grep", "compile", "recompile", "gdb", "async-start", "make", "man", "woman", "magit", "call-process-region", "quickload", "load-system"])
    {
        return Some("a process");
    }
    if has(&["url-", "network", "http", "smtp", "mail", "message-send", "dns-", "socket", "rcirc", "erc-", "gnus", "websocket", "browse-url", "eww", "jabber", "server-", "open-tls", "gnutls", "request", "drakma", "usocket"]) || is(&["plz", "request", "url-retrieve", "dns-query"]) {
        return Some("the network");
    }
    if has(&["advice", "defadvice", "add-hook", "remove-hook", "run-hook", "-hook", "timer", "run-at-time", "run-with", "idle", "after-load", "defalias", "fset", "define-key", "global-set-key", "keymap-set", "custom-set", "symbol-function", "enable-local", "skip-confirm", "sentinel", "set-process-filter", "autoload"]) {
        return Some("what runs later, or what names mean");
    }
    if has(&["eval", "byte-code", "macroexpand", "call-interactively", "command-execute", "execute-kbd", "execute-extended", "babel", "org-open", "read-from-string", "intern", "load-file", "load-library", "load-theme", "module-load", "native-compile", "package-", "use-package", "org-link-open", "funcall-interactively"])
        || is(&["load", "require", "read", "provide", "use-package", "straight-use-package"])
    {
        return Some("evaluation of what was not judged");
    }
    if has(&["auth-source", "secrets-", "plstore", "epa-", "epg-", "password", "getenv", "setenv", "process-environment", "exec-path", "kill-ring", "auth-info", "netrc"]) {
        return Some("secrets or the environment");
    }
    if has(&["file", "directory", "delete-", "rename-", "copy-", "write-", "insert-file", "find-file", "save-buffer", "symbolic-link", "trash", "kill-buffer", "visited", "bookmark", "desktop-", "dired", "set-buffer-", "recover-", "revert-"]) {
        return Some("files or other buffers");
    }
    if has(&["kill-emacs", "suspend", "restart-emacs", "zone", "quit", "exit-", "save-buffers-kill"]) {
        return Some("Emacs itself");
    }
    None
}
