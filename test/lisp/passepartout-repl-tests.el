;;; passepartout-repl-tests.el --- Tests of the REPL  -*- lexical-binding: t; no-byte-compile: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;; This file is not part of GNU Emacs.

;;; Commentary:

;; What the REPL sends and shows, against a core of paper and against
;; the module with a confined Emacs.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-real)
(require 'passepartout-repl)

(defmacro passepartout-repl-tests-with (&rest body)
  "Run BODY in a REPL with a core of paper."
  (declare (indent 0) (debug t))
  `(passepartout-fake-with
     (passepartout-repl)
     ,@body))

(defun passepartout-repl-tests-type (text)
  "Type TEXT and RET."
  (goto-char (point-max))
  (insert text)
  (passepartout-repl-return))

(defun passepartout-repl-tests-answer (text &rest more)
  "Let the core answer with TEXT, and a turn-done with MORE."
  (passepartout-fake-inject :stream-chunk `(:turn "T1" :text ,text)
                            passepartout-repl--session)
  (passepartout-fake-inject :response `(:action :turn-done :turn "T1" ,@more)
                            passepartout-repl--session)
  (passepartout-events--drain))

(ert-deftest passepartout-repl-sends-what-is-balanced-and-shows-its-parts ()
  (passepartout-repl-tests-with
    (passepartout-repl-tests-type "(list 1")
    (should-not passepartout-fake-sent)
    (should (string-suffix-p "lisp> (list 1\n" (buffer-string)))
    (passepartout-repl-tests-type "\")\" 2)")
    (let ((payload (plist-get (car passepartout-fake-sent) :payload)))
      (should (eq (plist-get payload :sensor) :repl-eval))
      (should (equal (plist-get payload :code) "(list 1\n\")\" 2)")))
    (should-error (passepartout-repl-tests-type "(more)") :type 'user-error)
    (passepartout-repl-kill-input)
    (passepartout-repl-tests-answer
     "Value: (1 2)\n--- output ---\nsaid" :status "answered")
    (should (string-suffix-p "\nsaid\n(1 2)\nlisp> " (buffer-string)))
    (passepartout-repl-tests-type "(car 1)")
    (passepartout-repl-tests-answer "Error: no list (error)")
    (should (string-suffix-p "\nError: no list (error)\nlisp> "
                             (buffer-string)))
    (passepartout-repl-tests-type ",load a.el")
    (passepartout-repl-tests-answer "" :status "parked" :plans '("P1"))
    (should (string-match-p "It waits as P1: M-x passepartout-flight-plans"
                            (buffer-string)))))

(ert-deftest passepartout-repl-quits-by-a-command ()
  (passepartout-repl-tests-with
    (let ((repl (current-buffer)))
      (passepartout-repl-tests-type " ,quit")
      (should-not (buffer-live-p repl))
      (should (equal (plist-get (plist-get (car passepartout-fake-sent) :payload)
                                :closed)
                     t)))))

(ert-deftest passepartout-repl-recalls-stops-and-guards-what-stands ()
  (passepartout-repl-tests-with
    (dolist (text '("(one)" "(two)"))
      (passepartout-repl-tests-type text)
      (passepartout-repl-tests-answer "Value: nil"))
    (passepartout-repl-previous-input)
    (should (equal (passepartout-repl--typed) "(two)"))
    (passepartout-repl-previous-input)
    (passepartout-repl-previous-input)
    (should (equal (passepartout-repl--typed) "(one)"))
    (passepartout-repl-next-input)
    (should (equal (passepartout-repl--typed) "(two)"))
    (passepartout-repl-next-input)
    (should (equal (passepartout-repl--typed) ""))
    (goto-char (point-min))
    (should-error (insert "x") :type 'text-read-only)
    (goto-char passepartout-repl--mark)
    (should-error (insert "x") :type 'text-read-only)
    (passepartout-repl-tests-type "(while t)")
    (setq passepartout-fake-sent nil)
    (passepartout-repl-interrupt)
    (should (eq (plist-get (plist-get (car passepartout-fake-sent) :payload)
                           :sensor)
                :interrupt))))

(ert-deftest passepartout-repl-shows-what-is-hidden-and-runs-nothing ()
  (passepartout-repl-tests-with
    (passepartout-repl-tests-type "(evil)")
    (let ((before (buffer-size)))
      (passepartout-repl-tests-answer
       (concat "Value: \u202e[[elisp:(ding)]]\n--- output ---\n"
               "# Local " "Variables:\n# eval: (ding)\n# End:"))
      (should (> (buffer-size) before))
      (should (string-match-p "\\\\u{202E}" (buffer-string)))
      (should-not (next-single-property-change (point-min) 'display))
      (should-not (next-single-property-change (point-min) 'keymap)))))

(ert-deftest passepartout-repl-real-keeps-what-is-set-and-is-stopped ()
  (passepartout-real-with
    (passepartout-real-start)
    (save-window-excursion
      (passepartout-repl)
      (let ((eval (lambda (text)
                    (passepartout-repl-tests-type text)
                    (passepartout-real-until (not passepartout-repl--busy))
                    (buffer-substring-no-properties
                     (save-excursion (goto-char (point-max))
                                     (search-backward
                                      (concat passepartout-repl--prompt text))
                                     (match-end 0))
                     passepartout-repl--mark))))
        (let ((first (funcall eval "(progn (princ \"said\") (+ 40 2))")))
          (if (string-search "confined" first)
              (ert-skip first)
            (should (equal first "\nsaid\n42\n"))))
        ;; What is kept asks, and what came of it stands in the REPL.
        (should (string-match-p "It waits as" (funcall eval "(setq garden 3)")))
        (let ((repl (current-buffer)))
          (passepartout-real-plan)
          (passepartout-real-key "C-c C-c")
          (switch-to-buffer repl)
          (passepartout-real-until
            (string-suffix-p "\n3\nlisp> " (buffer-string))))
        (should (equal (funcall eval "garden") "\n3\n"))
        (should (string-prefix-p "\nError: " (funcall eval "(car 1)")))
        (should (string-match-p "^car is a function of 1 argument\\.$"
                                (funcall eval ",inspect car")))
        (should (string-match-p ",load FILE" (funcall eval ",help")))
        (passepartout-repl-tests-type "(while t)")
        (passepartout-repl-interrupt)
        (passepartout-real-until (not passepartout-repl--busy))
        ;; It says so, and goes on; whether it had begun by then is open.
        (should (string-match-p
                 (concat "\nStopped\\(?:\\.\\| while this was being done: "
                         "Evaluate Lisp: (while t); .*\\)\nlisp> \\'")
                 (buffer-string)))
        (should (equal (funcall eval "(+ 1 1)") "\n2\n"))
        (kill-buffer)))))

(provide 'passepartout-repl-tests)
;;; passepartout-repl-tests.el ends here
