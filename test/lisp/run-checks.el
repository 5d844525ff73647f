;;; run-checks.el --- Compile and check the Lisp  -*- lexical-binding: t; no-byte-compile: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Two functions for a batch Emacs: `passepartout-checks-compile'
;; compiles every file of the package with warnings as errors, and
;; `passepartout-checks-checkdoc' lets checkdoc look at them.  Both end
;; Emacs with status 1 when something was found.

;;; Code:

(require 'bytecomp)
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

(defun passepartout-checks-compile ()
  "Compile every file into .build/elc; a warning is an error."
  (let* ((byte-compile-error-on-warn t)
         (folder (expand-file-name ".build/elc/" passepartout-checks--root))
         (byte-compile-dest-file-function
          (lambda (file)
            (expand-file-name (concat (file-name-nondirectory file) "c")
                              folder)))
         (bad 0))
    (make-directory folder t)
    (dolist (file (passepartout-checks--files))
      (unless (eq (byte-compile-file file) t)
        (message "%s: does not compile cleanly" (file-name-nondirectory file))
        (setq bad (1+ bad))))
    (message "Compiled %d files, %d with errors or warnings"
             (length (passepartout-checks--files)) bad)
    (kill-emacs (if (zerop bad) 0 1))))

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

(provide 'run-checks)
;;; run-checks.el ends here
