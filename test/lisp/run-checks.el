;;; run-checks.el --- Check the Lisp  -*- lexical-binding: t; no-byte-compile: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Functions for a batch Emacs: `passepartout-checks-checkdoc' lets
;; checkdoc look at every file of the package, and
;; `passepartout-checks-lint' looks at declarations, keywords, keys and
;; indentation, and lets package-lint look where it is installed.  Each
;; ends Emacs with status 1 when something was found.
;; run-compile.el compiles them.

;;; Code:

(require 'checkdoc)

(defconst passepartout-checks--root
  (expand-file-name "../../" (file-name-directory
                              (or load-file-name buffer-file-name)))
  "Folder of the project.")

(defun passepartout-checks--files ()
  "Return the Lisp files of the package."
  (or (directory-files (expand-file-name "lisp" passepartout-checks--root)
                       t "\\`passepartout.*\\.el\\'")
      (error "There is no Lisp in %slisp" passepartout-checks--root)))

(defun passepartout-checks-checkdoc ()
  "Let checkdoc look at every file."
  (let ((found 0)
        (checkdoc-spellcheck-documentation-flag nil)
        ;; It takes every verb of a first sentence for its main one.
        (checkdoc-verb-check-experimental-flag nil)
        (checkdoc-package-keywords-flag nil))
    (dolist (file (passepartout-checks--files))
      (let ((checkdoc-diagnostic-buffer "*passepartout-checkdoc*"))
        (with-current-buffer (find-file-noselect file)
          (let ((checkdoc-create-error-function
                 (lambda (text start _end &optional _unfixable)
                   (setq found (1+ found))
                   (message "%s:%d: %s" (file-name-nondirectory file)
                            (line-number-at-pos (or start (point-min))) text)
                   nil)))
            (checkdoc-current-buffer t)))))
    (message "checkdoc found %d things" found)
    (kill-emacs (if (zerop found) 0 1))))

;;;; What eask and package-lint look at

(require 'check-declare)
(require 'cl-lib)
(require 'finder)
(require 'lisp-mnt)
(declare-function package-lint-buffer "package-lint" (&optional buffer))
(defvar package-lint-main-file)

(defun passepartout-checks--skip (what)
  "Say that WHAT was not looked at, where the tests gather that."
  (let ((file (getenv "PASSEPARTOUT_SKIPPED")))
    (if (and file (file-writable-p file))
        (write-region (concat what "\n") nil file t 'quiet)
      (message "Skipped: %s" what))))

(defun passepartout-checks--in (function)
  "Call FUNCTION in a buffer of each file; return what it found, a list.
FUNCTION returns pairs of line and text."
  (let (found)
    (dolist (file (passepartout-checks--files))
      (with-temp-buffer
        (insert-file-contents file)
        (setq buffer-file-name file)
        (let ((emacs-lisp-mode-hook nil)) (emacs-lisp-mode))
        (dolist (one (funcall function))
          (push (format "%s:%d: %s" (file-name-nondirectory file)
                        (car one) (cdr one))
                found))
        (set-buffer-modified-p nil)
        (setq buffer-file-name nil)))
    (nreverse found)))

(defun passepartout-checks--declared ()
  "Return what `declare-function' says otherwise of our own functions."
  (let (found)
    (dolist (file (passepartout-checks--files))
      (pcase-dolist
          (`(,where . ,problems)
           ;; What it says of accessors of structures is known to be wrong.
           (cl-letf (((symbol-function 'check-declare-warn) #'ignore))
             (let ((inhibit-message t)) (check-declare-file file))))
        (pcase-dolist (`(,_ ,function ,problem) problems)
          ;; Accessors of a structure have no definition that it could find.
          (when (and (string-prefix-p "passepartout-"
                                      (file-name-nondirectory where))
                     (not (equal problem "function not found")))
            (push (format "%s: %s of %s: %s" (file-name-nondirectory file)
                          function (file-name-nondirectory where) problem)
                  found)))))
    found))

(defun passepartout-checks--keywords ()
  "Return what is wrong with the header of the main file."
  (let ((file (expand-file-name "lisp/passepartout.el"
                                passepartout-checks--root)))
    (delq nil
          (append
           (mapcar (lambda (word)
                     (unless (assq (intern word) finder-known-keywords)
                       (format "passepartout.el: no known keyword: %s" word)))
                   (or (lm-keywords-list file) '("(none)")))
           (list (unless (equal (lm-version file)
                                (lm-with-file file
                                  (re-search-forward
                                   "passepartout-version \"\\([^\"]+\\)")
                                  (match-string 1)))
                   "passepartout.el: two versions"))))))

(defun passepartout-checks--keys ()
  "Return the keys of this buffer that are kept for users.
These are `C-c' with a letter, and the function keys F5 to F9."
  (let (found)
    (goto-char (point-min))
    (while (re-search-forward
            (concat "\\(?:kbd \\|(define-key [^\n]*\\|keymap-set [^\n]*\\)"
                    "\"\\(C-c [A-Za-z]\\(?: [^\"]*\\)?\\|<f[5-9]>\\)\"")
            nil t)
      (let ((key (match-string 1)))
        (unless (nth 8 (save-excursion (syntax-ppss (match-beginning 0))))
          (push (cons (line-number-at-pos) (concat key " is the user's own"))
                found))))
    (goto-char (point-min))
    (while (re-search-forward
            "^ *(\\(?:global-set-key\\|keymap-global-set\\)\\_>" nil t)
      (unless (nth 8 (save-excursion (syntax-ppss (match-beginning 0))))
        (push (cons (line-number-at-pos) "a global key") found)))
    found))

(defun passepartout-checks--data-p ()
  "Return non-nil when this line begins within a quoted list or a text."
  (let ((state (syntax-ppss (line-beginning-position))))
    (or (nth 3 state)
        (seq-some (lambda (open) (memq (char-before open) '(?\' ?\`)))
                  (nth 9 state)))))

(defun passepartout-checks--indented ()
  "Return the lines of this buffer that Emacs indents otherwise.
Quoted lists are left out: Emacs aligns them as calls."
  (let ((before (split-string (buffer-string) "\n"))
        (line 0)
        found)
    (let ((inhibit-message t))
      (indent-region (point-min) (point-max)))
    (goto-char (point-min))
    (dolist (is before)
      (setq line (1+ line))
      (unless (or (string-blank-p is)
                  (equal is (buffer-substring (line-beginning-position)
                                              (line-end-position)))
                  (passepartout-checks--data-p))
        (push (cons line "Emacs indents this line otherwise") found))
      (forward-line 1))
    (nreverse found)))

(defun passepartout-checks--linted ()
  "Return what package-lint says of this buffer.
There is no address of the project yet, and what is set up with a
package of Emacs when a mode of ours is turned on is no configuration."
  (mapcar (lambda (one) (cons (nth 0 one) (nth 3 one)))
          (seq-remove
           (lambda (one)
             (string-match-p "Homepage or URL\\|with-eval-after-load\\|uninstallable in all released"
                             (nth 3 one)))
           (package-lint-buffer))))

(defun passepartout-checks-lint ()
  "Look at what eask and package-lint look at."
  (setq package-lint-main-file
        (expand-file-name "lisp/passepartout.el" passepartout-checks--root))
  (let ((found (append (passepartout-checks--declared)
                       (passepartout-checks--keywords)
                       (passepartout-checks--in #'passepartout-checks--keys))))
    ;; The macros must be known for what they say of indentation.
    (dolist (file (passepartout-checks--files))
      (require (intern (file-name-base file))))
    ;; Versions differ in this; the oldest that we know is the measure.
    (if (version<= "29.1" emacs-version)
        (passepartout-checks--skip "indentation, which Emacs 28 looks at")
      (setq found (append found (passepartout-checks--in
                                 #'passepartout-checks--indented))))
    (if (require 'package-lint nil t)
        (setq found (append found (passepartout-checks--in
                                   #'passepartout-checks--linted)))
      (passepartout-checks--skip "package-lint, which is not installed"))
    (dolist (one found) (message "%s" one))
    (message "Lint found %d things" (length found))
    (kill-emacs (if found 1 0))))

(provide 'run-checks)
;;; run-checks.el ends here
