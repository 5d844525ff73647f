;;; run-compile.el --- Compile a file of the Lisp  -*- lexical-binding: t; no-byte-compile: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Functions for a batch Emacs that compiles the one file that the
;; command line names, with warnings as errors, and ends with status 1
;; when there are some.  Each file has an Emacs of its own, as where
;; Emacs compiles to machine code by itself: what another file has
;; loaded hides that a declaration is missing.

;;; Code:

(require 'bytecomp)

(defconst run-compile--root
  (expand-file-name "../../" (file-name-directory
                              (or load-file-name buffer-file-name)))
  "Folder of the project.")

(defun run-compile--with (name ending function)
  "Call FUNCTION with the file and where it goes, and end Emacs.
That is the folder NAME of .build, under the name of the file with
ENDING."
  (let* ((file (expand-file-name (pop command-line-args-left)))
         (folder (expand-file-name (concat ".build/" name "/")
                                   run-compile--root))
         (byte-compile-error-on-warn t)
         (byte-compile-verbose nil)
         (fine nil))
    (make-directory folder t)
    (condition-case problem
        (setq fine (funcall function file
                            (expand-file-name
                             (concat (file-name-base file) ending) folder)))
      (error (message "%s" (error-message-string problem))))
    (unless fine
      (message "%s: does not compile cleanly by itself"
               (file-name-nondirectory file)))
    (kill-emacs (if fine 0 1))))

(defun run-compile-bytes ()
  "Compile a file into .build/elc."
  (run-compile--with
   "elc" ".elc"
   (lambda (file to)
     (let ((byte-compile-dest-file-function (lambda (_file) to)))
       (eq t (byte-compile-file file))))))

(defun run-compile-native ()
  "Compile a file to machine code, into .build/native."
  (run-compile--with
   "native" ".eln"
   (lambda (file to) (native-compile file to) t)))

(defun run-compile-native-p ()
  "End Emacs, with status 0 where it compiles to machine code."
  (kill-emacs (if (and (fboundp 'native-comp-available-p)
                       (native-comp-available-p)
                       (ignore-errors (native-compile '(lambda () t)) t))
                  0 1)))

(provide 'run-compile)
;;; run-compile.el ends here
