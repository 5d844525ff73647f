;;; manual.el --- Export the manual to Texinfo, with its indices  -*- lexical-binding: t; no-byte-compile: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Called by test/scripts/info.sh.  What is indexed is found in the text
;; of docs/manual.org, so that nobody has to remember it: each section is
;; listed under its title, under the words that it explains in a list,
;; and under the commands, options and keys that it names.  A
;; command that it names by its key alone is listed under the section
;; that is about what has this key.

;;; Code:

(require 'org)
(require 'ox-texinfo)
(require 'seq)

(defconst passepartout-info--root
  (expand-file-name "../../" (file-name-directory
                              (or load-file-name buffer-file-name)))
  "Folder of the project.")

(defun passepartout-info--names (regexp)
  "Return what the first group of REGEXP matches in the Lisp, at line starts."
  (let (names)
    (dolist (file (directory-files
                   (expand-file-name "lisp" passepartout-info--root)
                   t "\\`passepartout.*\\.el\\'"))
      (with-temp-buffer
        (insert-file-contents file)
        (while (re-search-forward regexp nil t)
          (push (match-string-no-properties 1) names))))
    (delete-dups names)))

(defun passepartout-info-options ()
  "Return the names of all options."
  (passepartout-info--names "^(defcustom \\(passepartout-[^ \n]+\\)"))

(defun passepartout-info--of-keys ()
  "Return (OPENERS . COMMANDS) for each file of the Lisp that binds keys.
COMMANDS are those that it binds, and OPENERS those by which one begins;
a file without one is a part of that whose name its own begins with."
  (let (openers-of found)
    (dolist (file (directory-files
                   (expand-file-name "lisp" passepartout-info--root)
                   t "\\`passepartout.*\\.el\\'"))
      (let ((stem (file-name-base file)) openers commands)
        (with-temp-buffer
          (insert-file-contents file)
          (while (re-search-forward
                  "^;;;###autoload\n(def[a-z-]+ \\(passepartout-[^ \n]+\\)"
                  nil t)
            (push (match-string-no-properties 1) openers))
          (goto-char (point-min))
          (while (re-search-forward
                  "(define-key map .* #'\\(passepartout-[^ \n)]+\\)" nil t)
            (push (match-string-no-properties 1) commands)))
        (push (cons stem openers) openers-of)
        (when commands
          (push (list stem openers (delete-dups commands)) found))))
    (mapcar (lambda (entry)
              (pcase-let ((`(,stem ,openers ,commands) entry))
                (cons (or openers
                          (cdr (assoc (replace-regexp-in-string
                                       "-[a-z]+\\'" "" stem)
                                      openers-of)))
                      (seq-remove (lambda (name)
                                    (or (member name openers)
                                        (string-search "--" name)))
                                  commands))))
            (nreverse found))))

(defun passepartout-info--about (openers)
  "Return where the section of this buffer begins that is about OPENERS.
That is the first of those that name them most often; where none does, it
is that of the keys of all lists."
  (let ((named (concat "=M-x " (regexp-opt openers t) "="))
        (shared nil) (best nil) (most 0))
    (save-excursion
      (goto-char (point-min))
      (while (re-search-forward "^\\*+ \\(.*\\)$" nil t)
        (let* ((begin (line-beginning-position))
               (title (match-string 1))
               (end (save-excursion
                      (if (re-search-forward "^\\*+ " nil t)
                          (line-beginning-position)
                        (point-max))))
               (times (if openers (how-many named (point) end) 0)))
          (cond ((equal title "Keys of all lists") (setq shared begin))
                ;; Others are named there for what they are to be like.
                ((string-prefix-p "If you come from" title))
                ((> times most) (setq best begin most times))))))
    (or best shared)))

(defun passepartout-info--by-key ()
  "Return (MARKER . COMMANDS) for sections under which COMMANDS are listed.
These are the ones that no section names."
  (delq nil
        (mapcar
         (lambda (file)
           (let ((commands (seq-remove
                            (lambda (name)
                              (save-excursion
                                (goto-char (point-min))
                                (re-search-forward
                                 (concat "=\\(?:M-x \\)?" (regexp-quote name)
                                         "=")
                                 nil t)))
                            (cdr file)))
                 (place (and (cdr file)
                             (passepartout-info--about (car file)))))
             (and commands place
                  (cons (copy-marker place) commands))))
         (passepartout-info--of-keys))))

(defun passepartout-info--found (regexp end)
  "Return what the first group of REGEXP matches up to END, each once."
  (let (found)
    (save-excursion
      (while (re-search-forward regexp end t)
        (push (match-string-no-properties 1) found)))
    (delete-dups (nreverse found))))

(defun passepartout-info--entries (title end options)
  "Return the lines of the indices for the section TITLE up to END.
OPTIONS are the names of all options.  Point is behind its heading."
  (append
   (list (concat "#+CINDEX: " title))
   (mapcar (lambda (term) (concat "#+CINDEX: " term))
           (seq-filter
            (lambda (term) (and (< (length term) 50)
                                (not (string-match-p "[=~@{}]" term))))
            (passepartout-info--found "^ *- \\(.+?\\) ::" end)))
   (mapcar (lambda (name) (concat "#+FINDEX: " name))
           (passepartout-info--found
            "=\\(?:M-x \\)?\\(passepartout-[-a-z]+\\)=" end))
   (mapcar (lambda (name) (concat "#+VINDEX: " name))
           (seq-intersection
            (passepartout-info--found "=\\(passepartout-[-a-z]+\\)=" end)
            options))
   (mapcar (lambda (key) (concat "#+KINDEX: " key))
           (passepartout-info--keys end))))

(defun passepartout-info--keys (end)
  "Return the keys in the tables of keys up to END."
  (let (keys)
    (save-excursion
      (while (re-search-forward "^| *\\(?:key\\|keys\\) +|" end t)
        (forward-line 2)
        (while (looking-at "| *\\([^|\n]+\\)|")
          (dolist (key (split-string (match-string-no-properties 1)
                                     "," t "[ \t]+"))
            (when (string-match "\\`=\\(.+\\)=\\'" key)
              (push (match-string 1 key) keys)))
          (forward-line 1))))
    (seq-remove (lambda (key) (string-match-p "\\`:\\|[@{}]" key))
                (delete-dups (nreverse keys)))))

(defun passepartout-info--index (&rest _)
  "Insert the lines of the indices below each heading of this buffer."
  (let ((options (passepartout-info-options))
        (by-key (passepartout-info--by-key)))
    (goto-char (point-max))
    (insert "\n* Index of commands\n:PROPERTIES:\n:INDEX: fn\n:END:\n"
            "* Index of options\n:PROPERTIES:\n:INDEX: vr\n:END:\n"
            "* Index of keys\n:PROPERTIES:\n:INDEX: ky\n:END:\n"
            "* Index of concepts\n:PROPERTIES:\n:INDEX: cp\n:END:\n")
    (goto-char (point-min))
    (while (re-search-forward "^\\*+ \\(.*\\)$" nil t)
      (let ((title (match-string-no-properties 1))
            (keyed (seq-mapcat
                    (lambda (place)
                      (and (= (car place) (line-beginning-position))
                           (cdr place)))
                    by-key))
            (end (save-excursion
                   (copy-marker (if (re-search-forward "^\\*+ " nil t)
                                    (line-beginning-position)
                                  (point-max))))))
        (forward-line 1)
        (unless (looking-at-p ":PROPERTIES:\n:INDEX:")
          (let ((entries (seq-remove
                          (lambda (line)
                            ;; An option is no command.
                            (and (string-prefix-p "#+FINDEX: " line)
                                 (member (substring line 10) options)))
                          (append
                           (passepartout-info--entries title end options)
                           (mapcar (lambda (name)
                                     (concat "#+FINDEX: " name))
                                   keyed)))))
            (insert (mapconcat #'identity entries "\n") "\n\n")))
        (set-marker end nil)))))

(defun passepartout-info-export (file)
  "Export the manual as Texinfo to FILE."
  (with-temp-buffer
    (insert-file-contents (expand-file-name "docs/manual.org"
                                            passepartout-info--root))
    (setq default-directory (expand-file-name "docs" passepartout-info--root))
    (let ((org-inhibit-startup t)) (org-mode))
    (let ((org-export-before-parsing-hook '(passepartout-info--index))
          (org-export-with-smart-quotes nil)
          (coding-system-for-write 'utf-8-unix)
          (texi (make-temp-file "passepartout-info" nil ".texi")))
      (unwind-protect
          (progn
            (org-export-to-file 'texinfo texi)
            (copy-file texi file t))
        (delete-file texi)))))

(defun passepartout-info-write ()
  "Export the manual to the file that the environment names as TEXI."
  (passepartout-info-export (expand-file-name (getenv "TEXI"))))

(provide 'manual)
;;; manual.el ends here
