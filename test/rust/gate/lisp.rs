//! The Lisp that the gate passes, against what Emacs makes of it: how it is read, what is called, what runs.

use crate::support::skip::skipped;
use passepartout::domain::gate::lisp::{self, Forms, Known, Node};
use std::io::Write;
use std::process::Command;

/// Harm that was passed once, each by another hole.
const HARMFUL: &[&str] = &[
    "(list ?'(delete-file \"x\"))",
    "(list ?; (delete-file \"x\")\n 1)",
    "(list ?`(delete-file \"x\"))",
    "(list [?[] (delete-file \"x\") [?]])",
    "(list ?\\M-\\C-'(delete-file \"x\"))",
    "(list ?\\^;(touch 4)\n1)",
    "(list '(t#1=(delete-file \"x\")) t#1#)",
    "(let ((f 'delete-file) (l (list 1 2))) (sort l#_f))",
    "(condition-case . '(delete-file \"x\"))",
    "(cl-block . '(delete-file \"x\"))",
    "(let ((quote 1)) (list . '(delete-file \"x\")))",
    "(org-time-string-to-absolute \"%%(touch 1)\" 737000)",
    "(let* ((x #'car)) (let ((l\u{3000}x (list \"a\" \"b\"))) (sort l\u{3000}x 'touch)))",
    "(cl-find 'delete-file '(\"/tmp/x\") :test 'funcall)",
    "(let ((k 'touch)) (cl-find 1 '(2) :key k))",
    "(cl-sort (list 1 2) #'< :key 'touch)",
    "(cl-reduce #'+ '(1 2) :key 'touch)",
    "(assoc-default \"x\" '((\"a\")) 'touch)",
    "(assoc-delete-all 1 (list (cons 2 3)) 'touch)",
    "(seq-position '(1) 2 'touch)",
    "(seq-positions '(1) 2 'touch)",
    "(seq-difference '(1) '(2) 'touch)",
    "(seq-union '(1) '(2) 'touch)",
    "(seq-intersection '(1) '(2) 'touch)",
    "(seq-set-equal-p '(1) '(2) 'touch)",
    "(map-elt '((1 . 2)) 3 nil 'touch)",
    "(map-contains-key '((1 . 2)) 3 'touch)",
    "(cl-merge 'list (list 1) (list 2) 'touch)",
    "(rx-to-string '(eval (touch 1)))",
    "(cl-typep 1 '(satisfies touch))",
    "(cl-coerce 1 '(satisfies touch))",
    "(cl-typecase 1 ((satisfies touch) 1))",
    "(pcase 1 ((cl-type (satisfies touch)) 1))",
    "(thread-last 'touch (cl-find 1 '(2) :test))",
    "(thread-last 'touch (assoc-default \"x\" '((\"a\"))))",
    "(thread-last '(eval (touch 1)) (rx-to-string))",
    "(thread-last '(satisfies touch) (cl-typep 1))",
    "(thread-last 'touch (seq-position '(1) 2))",
    "(org-list-to-html '(unordered (\"a\")) '(:istart (lambda (&rest _) (touch 7))))",
    "`(a (\\, (touch 1)))",
    "(pcase '(a (quote 1)) (`(a ',(pred touch)) 1))",
    "(let ((1a 'touch)) (sort (list 1 2) 1a))",
    "(cl-typep 1 'touch)",
    "(cl-loop for x in '(1 2) by 'touch collect x)",
    "(cl-loop for touch in '(1) do (touch))",
    "(cl-flet ((touch (x) (touch x))) (touch 1))",
    "(let ((forward-sexp-function 'touch)) (with-temp-buffer (forward-sexp)))",
    "(let ((standard-output 'touch)) (print 1))",
    // Variables that no ending tells apart.
    "(let ((thing-at-point-provider-alist '((mine . touch)))) (thing-at-point 'mine))",
    "(let ((parse-time-rules '(((0) touch)))) (parse-time-string \"x\"))",
    "(with-temp-buffer (insert \"[[k:x]]\") (let ((org-link-abbrev-alist '((\"k\" . touch)))) (org-element-context)))",
    "(mapcar (lambda (org-link-abbrev-alist) (org-element-context)) '(((\"k\" . touch))))",
    "(dolist (parse-time-rules '((((0) touch)))) (parse-time-string \"x\"))",
    "(pcase '(((0) touch)) (parse-time-rules (parse-time-string \"x\")))",
    "(thing-at-point 'existing-filename)",
    "(mapcar #'thing-at-point '(existing-filename))",
    // Names of files on other machines: Emacs connects to work them out.
    "(expand-file-name \"/ssh:far.example:~/x\")",
    "(expand-file-name \"x\" \"/ssh\\x3a\\ far.example:\")",
    "(file-relative-name \"/sudo::/x\" \"/y\")",
    "(file-name-directory (concat \"/ss\" \"h\" (string 58) \"far.example\" (string 58)))",
    "(mapcar #'abbreviate-file-name '(\"/ssh:far.example:~/x\"))",
    "(let ((name \"/ssh:far.example:\")) (file-name-as-directory name))",
    "(thread-first \"/ssh:far.example:~\" (concat \"/x\") expand-file-name)",
    "(let ((default-directory \"/ssh:far.example:\")) (expand-file-name \"x\"))",
    // The mode reads the files that a text names, and calls what its links are made with.
    "(with-temp-buffer (insert \"#+SETUPFILE: /tmp/x\\n\") (org-mode))",
    "(with-temp-buffer (insert (string 35) \"+LINK: s %(touch)\\n[[s:x]]\") (org-mode) (org-element-context))",
    "(let ((debug-on-error t) (debugger 'touch)) (condition-case nil (error \"x\") ((debug error) 1)))",
    "(lookup-key '(keymap (97 menu-item \"x\" ignore :filter touch)) \"a\")",
    "(with-temp-buffer (insert (propertize \"x\" 'modification-hooks '(touch))) (delete-region 1 2))",
    "(list \"\\M-\" \" (touch 1) ;\"\n)",
    "(let ((f #'car)) (seq-let [f] '(touch) (mapcar f '(1))))",
    "(cl-flet ((current-local-map () '(keymap (97 menu-item \"x\" ignore :filter touch)))) (lookup-key (current-local-map) \"a\"))",
    "(apply 'cl-find 1 '(2) '(:test touch))",
    "(funcall 'cl-find 1 '(2) :test 'touch)",
    "(let ((f #'cl-find)) (apply f 1 '(2) '(:test touch)))",
    "(cl-find 1 '(2) \\:test 'touch)",
    "( . (touch 1))",
    "(let (l) (cl-pushnew 1 l :test 'touch))",
    "(let ((fill-column '(1))) (add-to-list 'fill-column 2 nil 'touch))",
    "(let ((touch 1) (x 1)) (cl-callf touch x))",
    "(let (l) (dolist ('(touch) '(1 2) l) (push 1 l)))",
    "(cl-the touch 1)",
    "(if-let (x (touch)) 1)",
    "(cl-flet ((touch (x) x)) (funcall (quote touch) \"y\"))",
    "(seq-sort-by #'car 'touch (list 1 2))",
    "(cl-destructuring-bind (&optional (a `(,(touch)))) nil a)",
    "(let ((a (progn 1 . touch))) a)",
    "(apply #'rx-to-string '((eval (touch))))",
    "(apply #'cl-typep 1 '((satisfies touch)))",
    "(cl-typecase 1 (touch 2))",
    "(setf (plist-get p 'a 'touch) 1)",
    "(thread-last 1 (funcall g) (let ((g 'touch))))",
    "(let ((g #'car)) (thread-last 1 (funcall g) (let ((g 'touch)))))",
    "(pp-to-string 1 'touch)",
    "(sort (list 1 2) :key 'touch)",
    "(format-spec \"%a\" '((?a . touch)))",
    "; a\r(touch)",
    // A function is a list of code, and so are those around it that it knows.
    "(let ((f (lambda (x) x))) (setf (nth 3 f) '(touch 1)) (funcall f 1))",
    "(let* ((f (lambda (x) x)) (g (nthcdr 3 f))) (setcar g '(touch 1)) (funcall f 1))",
    "(let* ((f (lambda (x) (list x))) (g (aref f 1))) (setcar (car g) 'touch) (funcall f 1))",
    "(cl-flet ((f (x) x)) (let ((g #'f)) (setf (nth 3 g) '(touch 1)) (f 1)))",
    "(cl-flet ((f (x) x)) (let ((g (function f))) (setf (nth 3 g) '(touch 1)) (f 1)))",
    "(let* ((f (lambda (x) x)) (g (list (lambda () (funcall f 1)))) (h (car g))) (setf (nth 1 h) 'touch) (funcall f 1))",
    "(let* ((f (lambda (x) x)) (g (apply-partially f 1)) (h (aref g 2))) (aset h 0 'touch) (funcall f 1))",
    "(named-let f ((n 1)) (let ((g #'f)) (setcar (last g) '(touch))) (f 2))",
    "(let* ((f (lambda (x) x)) (g `(,f))) (pop (car g)))",
    // A function under the name of a form evaluates what is data.
    "(progn (date-to-time \"2020-01-01 10:00\") (cl-flet ((quote (x) x)) '(touch)))",
    "(cl-flet ((function (x) x)) #'(touch))",
    "(cl-flet* ((\\` (x) x)) `(touch))",
    "(cl-labels ((let (&rest x) x)) (dolist (touch '(1)) 1))",
    "(cl-flet ((cond (&rest x) x)) (cl-case 1 (touch 1)))",
    "(named-let quote ((x 1)) '(touch))",
    "(cl-flet ((seq-do (f s) f)) (seq-doseq (x '(1)) x))",
    // Values of Emacs's own.
    "(let ((v emacs-version)) (aset v 0 ?9))",
    "(let ((v emacs-version)) (setf (aref v 0) ?9))",
    "(let ((s (symbol-name 'ignore))) (aset s 0 ?x))",
    "(let ((s (buffer-name))) (fillarray s ?x))",
    "(cl-fill (documentation 'car) ?x)",
    "(cl-replace (symbol-name 'car) \"x\")",
    "(let ((o obarray)) (fillarray o 0))",
    "(let ((o obarray)) (pop (aref o 0)))",
    "(nreverse values)",
    "(let ((o (string-to-syntax \".\"))) (setcar o 2))",
    // A library could be loaded.
    "(func-arity 'tetris)",
    "(mapcar #'func-arity '(tetris))",
    "(unless (autoloadp (indirect-function 'car)) (func-arity 'tetris))",
    "(unless (autoloadp (symbol-function 'tetris)) (func-arity 'tetris))",
    "(cl-flet ((autoloadp (x) nil)) (unless (autoloadp (indirect-function 'tetris)) (func-arity 'tetris)))",
];

/// What looks like it and does none.
const PURE: &[&str] = &[
    "(list ?a ?\\( ?\\s ?\\C-x \"a\\tb\\M-x\")",
    "(list ?' 1)",
    "(alist-get 'a '((a . 1) (b . 2)))",
    "(cl-loop for (k . v) in '((a . 1)) collect (list k v))",
    "(cl-destructuring-bind (a . b) '(1 . 2) (+ a b))",
    "(list . (1 2))",
    "(cl-find 2 '(1 2) :test #'=)",
    "(cl-find 2 '((1) (2)) :key #'car :test 'eql)",
    "(cl-sort (list 3 1) #'< :key #'identity)",
    "(cl-remove-duplicates '(1 1) :test (lambda (a b) (= a b)))",
    "(cl-position 1 '(1 2) :start 0 :from-end t)",
    "(let ((f #'=)) (cl-member 1 '(1) :test f))",
    "(cl-typep 1 'integer)",
    "(cl-coerce \"ab\" 'list)",
    "(cl-typecase 1 (integer 'a) ((or string symbol) 'b) (t 'c))",
    "(cl-the integer 1)",
    "(cl-map 'list #'1+ '(1 2))",
    "(cl-concatenate 'list '(1) '(2))",
    "(seq-union '(1) '(2))",
    "(seq-difference '(1 2) '(2) #'=)",
    "(seq-reduce #'seq-union '((1) (2)) nil)",
    "(cl-reduce #'cl-union '((1) (2)))",
    "(mapcar #'length '((1) (2)))",
    "(map-elt '((a . 1)) 'a)",
    "(assoc-default \"a\" '((\"a\" . 1)))",
    "(assoc \"a\" '((\"a\" . 1)) #'string=)",
    "(thread-last '(1 2) (seq-filter #'cl-evenp) (mapcar #'1+) (cl-find 3))",
    "(thread-first \"a\" upcase (concat \"b\"))",
    "(propertize \"x\" 'face 'bold 'mine 1)",
    "(with-temp-buffer (insert \"x\") (put-text-property 1 2 'face 'bold) (buffer-string))",
    "(sort (list 2 1) :key #'identity)",
    "(make-hash-table :test 'equal :size 10)",
    "(let (l) (cl-pushnew 1 l :test #'=) l)",
    "(let ((n 1)) (cl-callf + n 2) n)",
    "(cl-loop for x on '(1 2 3) by #'cddr collect (car x))",
    "(cl-loop for i from 0 to 9 by 3 collect i)",
    "(cl-flet ((f (x) (1+ x))) (f 1))",
    "(cl-flet* ((f (x) (1+ x)) (g (x) (f x))) (g 1))",
    "(if-let ((x 1)) x 2)",
    "(when-let* ((x 1) (y 2)) (+ x y))",
    "(pcase '(a . b) (`(,x . ,y) (list x y)))",
    "(pcase 1 ((cl-type integer) 1))",
    "(lambda nil 1)",
    "(let (a (b 1)) (list a b))",
    "(key-binding (kbd \"C-f\"))",
    "(lookup-key (current-global-map) \"a\")",
    "(seq-let (a b) '(1 2) (+ a b))",
    "(let ((case-fold-search nil) (print-length 3)) (string-match \"A\" \"a\"))",
    "(thing-at-point 'word t)",
    "(file-name-base (expand-file-name \"a/b.txt\" default-directory))",
    "(list \"at: noon\" (file-name-extension \"a.el\"))",
    "(funcall #'assoc 'a '((a . 1)))",
    "(let ((f (lambda (x) (1+ x))) l) (dolist (x '(1 2)) (push (funcall f x) l)) (nreverse l))",
    "(sort (mapcar #'buffer-name (buffer-list)) #'string<)",
    "(let ((n 0)) (cl-incf n (length emacs-version)) (setf n (1+ n)) n)",
    "(let ((v (make-vector 2 0))) (aset v 0 1) (setf (aref v 1) 2) v)",
    "(lambda (x) (setf (car x) 1) (delq 2 x))",
    "(unless (autoloadp (indirect-function 'car)) (func-arity 'car))",
];

#[test]
fn what_is_called_is_judged_and_what_is_read_is_what_emacs_reads() {
    let passed: Vec<_> = HARMFUL.iter().filter(|code| lisp::examine(code).is_empty()).collect();
    assert!(passed.is_empty(), "harmful: {passed:#?}");
    let asks = PURE.iter().map(|code| (code, lisp::examine(code)));
    let asks: Vec<_> = asks.filter(|(_, found)| !found.is_empty()).collect();
    assert!(asks.is_empty(), "pure: {asks:#?}");
}

/// Runs a function of the script with a line for each case; returns its lines, or nothing where there is no Emacs.
fn emacs(function: &str, lines: &[String]) -> Option<Vec<String>> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(lines.join("\n").as_bytes()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/test/scripts/gate-lisp.el");
    let run = Command::new("emacs").args(["-Q", "--batch", "-l", script, "-f", function]).arg(file.path()).output();
    let Ok(run) = run else {
        skipped("there is no Emacs here");
        return None;
    };
    assert!(run.status.success(), "{function}: {}", String::from_utf8_lossy(&run.stderr));
    Some(String::from_utf8_lossy(&run.stdout).lines().map(str::to_string).collect())
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn text_of(hex: &str) -> String {
    let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    String::from_utf8(bytes).unwrap()
}

/// Numbers that look thrown and are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % most as u64).unwrap()
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// How many times as many cases are tried as in an ordinary run, and where they begin.
fn effort() -> (usize, u64) {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u32>().ok());
    (number("GATE_LISP_TIMES").map_or(1, |times| times as usize), number("GATE_LISP_SEED").unwrap_or(7).into())
}

fn tree(forms: &Forms<'_>, index: usize, out: &mut String) {
    let word = |word: &str, inner: usize, out: &mut String| {
        out.push_str(&format!("(s:{word} "));
        tree(forms, inner, out);
        out.push_str(" )");
    };
    let all = |items: &[usize], out: &mut String| {
        for item in items {
            tree(forms, *item, out);
            out.push(' ');
        }
    };
    match &forms.nodes[index] {
        Node::Symbol(name) => out.push_str(&format!("s:{name}")),
        Node::Keyword(name) => out.push_str(&format!("k:{name}")),
        Node::Constant => out.push('c'),
        Node::Text => out.push('x'),
        Node::List(items) if items.is_empty() => out.push_str("()"),
        Node::List(items) => {
            out.push('(');
            all(items, out);
            out.push(')');
        }
        Node::Dotted(items) => {
            let (tail, items) = items.split_last().unwrap();
            // `(a . ,b)` is `(a \, b)`
            if let Node::Unquote(inner) = &forms.nodes[*tail] {
                out.push('(');
                all(items, out);
                out.push_str("s:, ");
                all(&[*inner], out);
                out.push(')');
                return;
            }
            out.push('(');
            all(items, out);
            out.push_str(". ");
            all(&[*tail], out);
            out.push(')');
        }
        Node::Vector(items) => {
            out.push('[');
            all(items, out);
            out.push(']');
        }
        Node::Quote(inner) => word("quote", *inner, out),
        Node::Function(inner) => word("function", *inner, out),
        Node::Backquote(inner) => word("`", *inner, out),
        Node::Unquote(inner) => word(",", *inner, out),
    }
}

const PIECES: &[&str] = &[
    "(",
    "(",
    ")",
    ")",
    "(a ",
    "(f x)",
    "[",
    "]",
    "'",
    "`",
    ",",
    ",@",
    ",.",
    "\"",
    "\"",
    ";",
    "\n",
    " ",
    " ",
    "\t",
    "?",
    "?a",
    "?\\",
    "\\",
    "\\C-",
    "\\M-",
    "\\^",
    "\\S-",
    "\\s",
    "\\s-",
    "\\x41",
    "\\u0041",
    "\\101",
    "\\N{SPACE}",
    "\\n",
    "#",
    "#'",
    "#x1f",
    "#b10",
    "#:a",
    "##",
    "#_a",
    "#1=",
    "#1#",
    "#(",
    "#[",
    "#s(",
    "#&",
    "#@",
    "#!",
    "#|",
    "|#",
    ".",
    " . ",
    ". ",
    ".5",
    "1",
    "1.",
    "1e5",
    "1.5e+INF",
    "-",
    "+",
    "1a",
    "nil",
    "t",
    ":k",
    "\\:k",
    "\\1",
    "a",
    "b",
    "touch",
    "a?b",
    "\u{a0}",
    "\u{3000}",
    "\u{2003}",
    "\u{e9}",
    "\u{2019}",
    "\r",
    "\r\n",
    "\u{1}",
    "\u{7f}",
    "\u{c}",
    "{",
    "}",
    "%",
    "@",
    "&",
    "(a . b)",
    "(quote x)",
    "\\,",
    "\\`",
    "\"\\M-\"",
    "?\\C-",
    "?;",
    "?'",
    "?[",
    "?\\^;",
];

const WHOLE: &[&str] = &[
    "(let ((x '(1 . 2))) (car x))",
    "`(a ,b . ,c)",
    "(list ?a ?\\n ?\\C-x \"a\\\"b\")",
    "(mapcar #'car '((a . 1) (b . 2))) ; done\n(f)",
    "[a \"b\" ?c .5 1.5e3]",
    "(a . (b . (c . 'd)))",
    "(cl-loop for (k . v) in l collect k)",
    "(a . `(b ,c))",
];

fn any_text(dice: &mut Dice) -> String {
    let mut text = String::new();
    if dice.below(2) == 0 {
        for _ in 0..dice.below(9) + 2 {
            text.push_str(dice.pick(PIECES));
        }
        if dice.below(2) == 0 {
            return format!("(a {text} b)");
        }
        return text;
    }
    text.push_str(dice.pick(WHOLE));
    for _ in 0..dice.below(4) + 1 {
        let mut at = dice.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        if dice.below(4) == 0 && at < text.len() {
            text.remove(at);
        } else {
            text.insert_str(at, dice.pick(PIECES));
        }
    }
    text
}

#[test]
fn what_is_read_is_what_emacs_reads() {
    let (times, seed) = effort();
    let mut dice = Dice(seed);
    let mut texts: Vec<String> = (0..10_000 * times).map(|_| any_text(&mut dice)).collect();
    texts.extend(HARMFUL.iter().chain(PURE).map(|text| text.to_string()));
    texts.retain(|text| lisp::read(text).is_ok());
    assert!(texts.len() > 1_000, "only {} texts can be read", texts.len());
    let Some(read) = emacs("gate-lisp-read", &texts.iter().map(|text| hex(text)).collect::<Vec<_>>()) else { return };
    assert_eq!(read.len(), texts.iter().filter(|text| !text.is_empty()).count());
    let mut wrong = Vec::new();
    for (text, emacs) in texts.iter().filter(|text| !text.is_empty()).zip(read) {
        let forms = lisp::read(text).unwrap();
        let mut ours = String::new();
        for form in &forms.top {
            tree(&forms, *form, &mut ours);
            ours.push(' ');
        }
        let emacs = text_of(&emacs);
        if ours != emacs {
            wrong.push(format!("{text:?}\n   ours:  {ours}\n   Emacs: {emacs}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), texts.len(), wrong.join("\n"));
}

/// Parameters that are named like functions and are only looked at.
const LOOKED_AT: &[(&str, usize)] = &[
    ("commandp", 0),
    ("documentation", 0),
    // Types of text, of markers and of sequences: words, and nothing that is called.
    ("copy-marker", 1),
    ("org-at-table-p", 0),
    ("org-table-begin", 0),
    ("org-table-end", 0),
    ("org-table-p", 0),
    ("map-into", 1),
    ("map-merge", 0),
    ("map-merge-with", 0),
    ("seq-concatenate", 0),
    ("seq-into", 1),
    ("seq-mapcat", 2),
];

#[test]
fn what_the_parameters_of_emacs_name_as_functions_is_known_to_be_called() {
    let known: Vec<Known> = lisp::known();
    let names: Vec<String> = known.iter().map(|known| known.name.to_string()).collect();
    let Some(said) = emacs("gate-lisp-signatures", &names) else { return };
    assert_eq!(said.len(), known.len());
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (line, known) in said.iter().zip(&known) {
        let Some((_, rest)) = line.split_once(" (") else { continue };
        for list in rest.split(" (") {
            let parameters: Vec<String> = list
                .trim_end_matches(')')
                .split_whitespace()
                .map(|word| word.trim_matches(|c| "()[]".contains(c)).to_lowercase())
                .filter(|word| !matches!(word.as_str(), "&optional" | "") && *word != known.name)
                .collect();
            for (n, parameter) in parameters.iter().filter(|word| *word != "&rest" && *word != "&key").enumerate() {
                let parts: Vec<&str> = parameter.trim_start_matches("cl-").split('-').collect();
                let is = |words: &[&str]| parts.iter().any(|part| words.contains(part));
                let function = is(&[
                    "test",
                    "testfn",
                    "pred",
                    "predicate",
                    "fn",
                    "func",
                    "fun",
                    "function",
                    "fnc",
                    "compare",
                    "compare",
                ]);
                let keys = matches!(parameter.as_str(), "cl-keys" | "keyword" | "keys...");
                seen += usize::from(function || keys);
                let judged = known.calls.contains(&n) || known.keywords.is_some_and(|from| n >= from);
                if (function && !judged || keys && known.keywords.is_none()) && !LOOKED_AT.contains(&(known.name, n)) {
                    wrong.push(format!("{}: {parameter} at {n}: {line}", known.name));
                }
                if is(&["type"]) && known.types != Some(n) && !LOOKED_AT.contains(&(known.name, n)) {
                    wrong.push(format!("{}: {parameter} at {n}: {line}", known.name));
                }
            }
        }
    }
    assert!(seen > 60, "only {seen} parameters are named like functions");
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What functions may be handed: each names the canary in a place where somebody could call it.
const ARGUMENTS: &[&str] = &[
    "'touch",
    "'touch",
    "'touch",
    "k",
    "'(touch)",
    "'(touch touch)",
    "'((touch . touch))",
    "'((a . touch) (touch 1))",
    "\"touch\"",
    "\"(touch)\"",
    "\"%a %s\"",
    "'(lambda (&rest _) (touch))",
    ":test",
    ":key",
    ":touch",
    "1",
    "0",
    "2",
    "nil",
    "t",
    "'list",
    "'string",
    "'vector",
    "'(1 2)",
    "(list 1 2)",
    "(list 3 'touch)",
    "(vector 1 2)",
    "[touch]",
    "'(eval (touch))",
    "'(satisfies touch)",
    "'(or (satisfies touch))",
    "'(keymap (97 menu-item \"x\" ignore :filter touch))",
    "(propertize \"ab\" 'face '(touch))",
    "?a",
    "(current-buffer)",
    "(point-marker)",
    "'(:a touch :test touch)",
    "'(headline (:title touch))",
    "#'identity",
    "#'ignore",
    "(lambda (x) x)",
    "\"* a\\nb\"",
    "(make-hash-table)",
    "'(closure (t) (&rest _) (touch))",
    "`(touch ,@'(touch))",
    "'(t . touch)",
    "'(function touch)",
    "'(unordered (\"a\"))",
    "'(:istart touch :iend (touch))",
    "\"a\"",
    "'(?a . touch)",
    "'((?a . touch))",
    "(current-time)",
];

/// What stands around a call.
const AROUND: &[&str] = &[
    "(F A)",
    "(F A)",
    "(let ((k 'touch)) (F A))",
    "(apply #'F (list A))",
    "(funcall 'F A)",
    "(mapcar #'F (list A))",
    "(cl-mapcar #'F (list A) (list A) (list A))",
    "(thread-last 'touch (F A))",
    "(thread-first 'touch (F A))",
    "(let ((f #'F)) (funcall f A))",
    "(with-temp-buffer (insert \"* a\\n(touch) touch\\n\") (goto-char (point-min)) (F A))",
    "(cl-reduce #'F (list A))",
    "(seq-reduce #'F (list A) 'touch)",
    "(sort (list A) #'F)",
    "(cl-find 1 (list A) :test #'F)",
    "(pcase (list A) ((pred F) 1))",
    "(let ((x (list A))) (setf (nth 0 x) (F A)) x)",
    "(cl-loop for k in (list A) collect (F k A))",
    "(funcall (apply-partially #'F A) A)",
];

/// Functions that wait, or would run for long.
const SLOW: &[&str] = &[
    "org-table-current-dline",
    "make-list",
    "make-string",
    "make-vector",
    "number-sequence",
    "make-ring",
    "bool-vector",
    "expt",
    "ash",
    "lsh",
];

#[test]
fn what_passes_calls_nothing_that_it_was_handed() {
    let (times, seed) = effort();
    let mut dice = Dice(seed);
    let mut names: Vec<&str> =
        lisp::known().iter().map(|known| known.name).filter(|name| !SLOW.contains(name)).collect();
    // It was known once: the same forms are thrown as before.
    names.push("func-arity");
    names.sort_unstable();
    let mut forms = Vec::new();
    for _ in 0..8_000 * times {
        let around = dice.pick(AROUND);
        let name = dice.pick(&names);
        let count = dice.below(5);
        let arguments: Vec<&str> = (0..count).map(|_| dice.pick(ARGUMENTS)).collect();
        let form = around.replace('A', &arguments.join(" ")).replace('F', name);
        forms.push(form);
    }
    nothing_runs(forms, 1_000);
}

/// A form of each shape that is known, to be taken apart.
const FORMS: &[&str] = &[
    "(let ((a 1) (b (list 2))) (cons a b))",
    "(let* ((a 1) b) (setq a (+ a 1)) a)",
    "(if-let ((a 1) (b nil)) (list a) (list b))",
    "(when-let* ((a (car '(1)))) a)",
    "(and-let* ((a 1) ((> a 0))) a)",
    "(letrec ((f (lambda (n) (if (< n 2) 1 (* n (funcall f (1- n))))))) (funcall f 3))",
    "(named-let f ((n 2)) (if (zerop n) 1 (f (1- n))))",
    "(cl-flet ((f (x) (1+ x)) (g #'car)) (list (f 1) (g '(1))))",
    "(cl-flet* ((f (x) x) (g (x) (f x))) (mapcar #'g '(1)))",
    "(cl-labels ((f (n) (if (< n 1) 0 (f (1- n))))) (f 2))",
    "(cl-destructuring-bind (a (b c) &optional (d 3) &rest e) '(1 (2 3)) (list a b c d e))",
    "(cl-multiple-value-bind (a b) (cl-values 1 2) (+ a b))",
    "(seq-let (a b) '(1 2) (list a b))",
    "(map-let (a ('b c)) '((a . 1) (b . 2)) (list a c))",
    "(let-alist '((a . 1) (b . 2)) (list .a .b))",
    "(pcase '(add 1 2) (`(add ,x ,(pred numberp)) x) ((or 'a 1) 2) ((and n (guard (> n 3))) n) (_ 3))",
    "(pcase 5 ((app 1+ 6) 'a) ((cl-type integer) 'b) ((pred (not stringp)) 'c))",
    "(pcase-let ((`(,a . ,b) '(1 . 2))) (list a b))",
    "(pcase-let* ((`[,a ,b] [1 2]) (c a)) (list a b c))",
    "(pcase-dolist (`(,a . ,b) '((1 . 2))) (list a b))",
    "(mapcar (pcase-lambda (`(,a . ,b)) (cons b a)) '((1 . 2)))",
    "(cl-case 1 (1 'a) ((2 3) 'b) (t 'c))",
    "(cl-typecase 1 (integer 'a) ((or string symbol) 'b) (t 'c))",
    "(cl-the integer 1)",
    "(cl-loop for x in '(1 2) by #'cdr for y = (1+ x) then (+ y 1) when (> x 1) collect (list x y) into z finally return z)",
    "(cl-loop for (a . b) in '((1 . 2)) and i from 0 to 3 by 2 with s = 0 do (setq s (+ s a)) until (> i 2) sum b)",
    "(cl-loop for x across [1 2] if (> x 1) append (list x) else collect x)",
    "(cl-loop named f for x being the elements of '(1 2) repeat 3 thereis (> x 1) initially (list 1))",
    "(cl-do ((i 0 (1+ i)) (s nil)) ((= i 2) s) (push i s))",
    "(let (l) (dolist (x '(1 2) l) (push x l) (cl-pushnew 3 l :test #'=)))",
    "(let ((n 0)) (dotimes (i 3 n) (cl-incf n i)))",
    "(condition-case e (car 1) ((error quit) (list e)) (:success 1))",
    "(cond ((car '(nil)) 1) ((list 2)) (t 3))",
    "(cl-block a (cl-return-from a 1))",
    "(catch 'a (throw 'a 1))",
    "(unwind-protect (list 1) (list 2))",
    "(thread-first 5 (+ 20) (- 3) number-to-string)",
    "(thread-last '(1 2) (mapcar #'1+) (cl-remove 2))",
    "(let ((a (list 1 2))) (setf (car a) 3 (nth 1 a) 4) (setcar a 2) a)",
    "(let ((h (make-hash-table :test 'equal))) (puthash 'a 1 h) (cl-incf (gethash 'a h 0)) (maphash (lambda (k v) (list k v)) h))",
    "(let ((a 1)) (cl-callf + a 2) (cl-decf a) a)",
    "(let ((f #'car) (g (lambda (x) x))) (list (funcall f '(1)) (mapcar g '(1))))",
    "(apply #'max 1 '(2 3))",
    "(funcall (lambda (x &optional y &rest z) (list x y z)) 1 2)",
    "`(a ,(+ 1 2) ,@(list 3 4) (b . ,(car '(1))) [c ,(list 1)])",
    "(with-temp-buffer (insert \"ab\") (put-text-property 1 2 'face 'bold) (goto-char 1) (buffer-string))",
    "(sort (list 3 1 2) (lambda (a b) (< a b)))",
    "(cl-sort (list 3 1) #'< :key #'identity)",
    "(string-match-p (rx bol (+ alpha) (or \"a\" \"b\")) \"abc\")",
    "(propertize \"a\" 'face 'bold)",
    "(with-output-to-string (princ 1))",
    "(quote (a b))",
    "(function car)",
    "(benchmark-run 1 (list 1))",
    "(save-excursion (goto-char (point-min)) (point))",
    "(org-map-entries (lambda () (point)) \"a\")",
    "(lookup-key global-map (kbd \"C-x\"))",
    "(let ((x '(1))) (add-to-list 'x 2) (push 3 x) (pop x))",
];

/// What is put into forms.
const PUT: &[&str] = &[
    "touch",
    "(touch)",
    "'touch",
    "#'touch",
    "(touch 1)",
    "((touch))",
    "(x (touch))",
    "(touch touch)",
    "[touch]",
    "(touch . touch)",
    "k",
    "a",
    "x",
    "f",
    "nil",
    "t",
    "1",
    ":test",
    ":key",
    "'",
    "`",
    ",",
    ",@",
    ".",
    "(",
    ")",
    "#'",
    "&optional",
    "&rest",
    "&key",
    "(a touch)",
    "(a (touch))",
    "((a (touch)))",
    "'(touch)",
    "(quote touch)",
    "(function touch)",
    "(lambda (x) (touch))",
    "(satisfies touch)",
    "(pred touch)",
    "(guard (touch))",
    "(app touch x)",
    "by",
    "for",
    "and",
    "in",
    "do",
    "with",
    "=",
    "if",
    "(\\, (touch))",
    "`(,(touch))",
    "(let ((f 'touch)) f)",
    "car",
    "funcall",
    "apply",
    "(funcall f 'touch)",
    "mapcar",
    "let",
    "cl-flet",
    "progn",
    "quote",
];

/// Returns where a token or a form begins and ends that is thrown.
fn any_part(text: &str, dice: &mut Dice) -> (usize, usize) {
    let bytes = text.as_bytes();
    let starts: Vec<usize> = (0..bytes.len())
        .filter(|at| !b" )".contains(&bytes[*at]) && (*at == 0 || b" (',`@".contains(&bytes[at - 1])))
        .collect();
    if starts.is_empty() {
        return (0, text.len());
    }
    let from = starts[dice.below(starts.len())];
    let mut depth = 0_i32;
    for (to, byte) in bytes.iter().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            _ => {}
        }
        if depth < 0 || depth == 0 && (*byte == b' ' || matches!(byte, b')' | b']')) {
            return (from, if depth < 0 || *byte == b' ' { to } else { to + 1 });
        }
    }
    (from, text.len())
}

fn any_form(dice: &mut Dice) -> String {
    let mut form = dice.pick(FORMS).to_string();
    for _ in 0..dice.below(3) + 1 {
        let (from, to) = any_part(&form, dice);
        let put = match dice.below(6) {
            0 => dice.pick(FORMS).to_string(),
            1 => {
                let other = any_part(&form, dice);
                form[other.0..other.1].to_string()
            }
            _ => dice.pick(PUT).to_string(),
        };
        match dice.below(5) {
            0 => form.replace_range(from..to, ""),
            1 => form.insert_str(from, &format!("{put} ")),
            2 => form.insert_str(from, &put),
            _ => form.replace_range(from..to, &put),
        }
        if form.is_empty() {
            form.push_str("(touch)");
        }
    }
    match dice.below(3) {
        0 => format!("(let ((k 'touch) (f #'car)) {form})"),
        _ => form,
    }
}

/// Evaluates forms that pass in Emacs: none may call the canary.
fn nothing_runs(mut forms: Vec<String>, least: usize) {
    forms.sort();
    forms.dedup();
    forms.retain(|form| lisp::examine(form).is_empty());
    assert!(forms.len() > least, "only {} forms pass", forms.len());
    let lines: Vec<String> = forms.iter().map(|form| hex(form)).collect();
    let Some(said) = emacs("gate-lisp-canary", &lines) else { return };
    // What is printed to the terminal stands between.
    assert_eq!(said.last().map(String::as_str), Some("done"));
    let ran: Vec<String> = said.iter().filter_map(|line| line.strip_prefix("ran ")).map(text_of).collect();
    assert!(ran.is_empty(), "{} of {} ran it:\n{}", ran.len(), forms.len(), ran.join("\n"));
}

#[test]
fn forms_that_were_taken_apart_and_pass_call_nothing() {
    let (times, seed) = effort();
    let mut dice = Dice(seed);
    nothing_runs((0..8_000 * times).map(|_| any_form(&mut dice)).collect(), 1_000);
}
