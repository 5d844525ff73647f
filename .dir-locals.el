;;; What Emacs is to know in these folders  -*- no-byte-compile: t; -*-
;; checkdoc takes every verb of a first sentence for its main one; it is asked as by test/lisp/run-checks.el.
((emacs-lisp-mode . ((indent-tabs-mode . nil)
                     (checkdoc-verb-check-experimental-flag . nil))))
