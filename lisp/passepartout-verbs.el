;;; passepartout-verbs.el --- What the core may look up and show in Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;; This file is not part of GNU Emacs.

;; This program is free software: you can redistribute it and/or modify
;; it under the terms of the GNU General Public License as published by
;; the Free Software Foundation, either version 3 of the License, or
;; (at your option) any later version.
;;
;; This program is distributed in the hope that it will be useful,
;; but WITHOUT ANY WARRANTY; without even the implied warranty of
;; MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the
;; GNU General Public License for more details.
;;
;; You should have received a copy of the GNU General Public License
;; along with this program.  If not, see <https://www.gnu.org/licenses/>.

;;; Commentary:

;; A closed table of verbs: nothing that comes from the core is
;; evaluated, and a verb that is not in the table does not exist.
;;
;; Verbs that look answer rows of (FILE LINE TEXT), at most as many as
;; were asked for.  Verbs that show use a window other than the selected
;; one, which stays selected, so that what the user types goes on to
;; where it went.  Nothing here may ask the user: a question is an
;; error, and the core hears of it.
;;
;; Nothing of a file or of its folder runs: a file that is not open is
;; shown as plain text in a buffer that visits none, so that no mode,
;; hook, version control or variable of it has a say.  No lookup starts
;; a program, and one that takes long gives way to what the user types.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'cl-lib)
(require 'seq)

(declare-function flymake-diagnostics "flymake" (&optional beg end))
(declare-function flymake-diagnostic-beg "flymake" (diag))
(declare-function flymake-diagnostic-text "flymake" (diag))
(declare-function flymake-diagnostic-type "flymake" (diag))
(declare-function flycheck-error-line "ext:flycheck" (err))
(declare-function flycheck-error-level "ext:flycheck" (err))
(declare-function flycheck-error-message "ext:flycheck" (err))
(declare-function imenu--make-index-alist "imenu" (&optional noerror))
(declare-function org-agenda-files "org" (&optional unrestricted archives))
(declare-function org-agenda-list "org-agenda" (&optional arg start-day span with-hour))
(declare-function xref-backend-definitions "xref" (backend identifier))
(declare-function xref-backend-references "xref" (backend identifier))
(declare-function xref-find-backend "xref" ())
(declare-function xref-item-location "xref" (item))
(declare-function xref-item-summary "xref" (item))
(declare-function xref-location-group "xref" (location))
(declare-function xref-location-line "xref" (location))
(defvar flycheck-current-errors)
(defvar imenu-auto-rescan)
(defvar imenu-auto-rescan-maxout)
(defvar org-agenda-buffer-name)
(defvar org-agenda-entry-types)
(defvar org-agenda-files)
(defvar org-agenda-include-diary)
(defvar org-agenda-skip-unavailable-files)
(defvar org-agenda-sticky)
(defvar org-agenda-window-setup)
(defvar tags-file-name)
(defvar tags-table-list)

(defconst passepartout-verbs--table
  '(("buffers" . passepartout-verbs--buffers)
    ("diagnostics" . passepartout-verbs--diagnostics)
    ("definitions" . passepartout-verbs--definitions)
    ("references" . passepartout-verbs--references)
    ("index" . passepartout-verbs--index)
    ("open" . passepartout-verbs--open)
    ("go-to" . passepartout-verbs--go-to)
    ("diff" . passepartout-verbs--diff)
    ("agenda" . passepartout-verbs--agenda))
  "The verbs, and the function that answers each with a list of rows.")

(defconst passepartout-verbs--most-rows 200
  "The most rows of an answer, however many are asked for.")

(defconst passepartout-verbs--most-text 300
  "The most characters of the text of a row.")

(defconst passepartout-verbs--most-buffer 500000
  "A larger buffer is not indexed, in characters.")

(defconst passepartout-verbs--most-file 2000000
  "A larger file is not shown, in bytes.")

(defconst passepartout-verbs--most-agenda 5000000
  "An agenda of larger files is not made, in bytes of all of them.")

(defconst passepartout-verbs--seconds 1
  "How long a lookup may wait for a language server.")

(defconst passepartout-verbs--servers '(eglot xref-lsp)
  "The xref backends that ask a language server and wait for it.
A wait for a server ends when its time is over; a wait for a
program that is started for the lookup would not.")

(defconst passepartout-verbs--indexes '(elisp etags)
  "The xref backends that know definitions without another program.")

(defun passepartout-verbs-answer (request payload)
  "Answer REQUEST with what the verb in PAYLOAD finds."
  (let* ((verb (plist-get payload :verb))
         (function (cdr (assoc verb passepartout-verbs--table)))
         ;; A question would take the keyboard from the user.
         (inhibit-interaction t))
    (unless function
      (error "Emacs does not know the verb %s" verb))
    (let* ((asked (plist-get payload :limit))
           (limit (if (natnump asked)
                      (min asked passepartout-verbs--most-rows)
                    passepartout-verbs--most-rows))
           (rows (condition-case nil
                     (passepartout-verbs--guarded function payload)
                   (inhibited-interaction
                    (error "Emacs would have to ask the user something")))))
      (passepartout-reply
       request
       (list :ok t
             :rows (mapcar #'passepartout-verbs--clean
                           (seq-take rows limit)))))))

(defun passepartout-verbs--guarded (function payload)
  "Return what FUNCTION makes of PAYLOAD, in a guarded Emacs.
Files that it opens, as those of the agenda or of an index of
names, set no variables that are not known to be safe and ask no
version control, for a repository can name programs for that."
  (let ((vc-handled-backends nil)
        (enable-local-variables :safe)
        (enable-local-eval nil)
        (enable-dir-local-variables nil)
        (large-file-warning-threshold nil))
    (funcall function payload)))

(defmacro passepartout-verbs--yielding (&rest body)
  "Return what BODY returns, unless the user types meanwhile."
  (declare (indent 0) (debug t))
  (let ((found (make-symbol "found")))
    `(let ((,found 'passepartout-verbs--none))
       (while-no-input
         (setq ,found (progn ,@body)))
       (if (eq ,found 'passepartout-verbs--none)
           (error "The user is typing; ask again")
         ,found))))

(defun passepartout-verbs--clean (row)
  "Return ROW with strings that can be sent, of bounded length."
  (pcase-let ((`(,file ,line ,text) row))
    (list (passepartout-events-clean
           (substring-no-properties (or file "")))
          (if (natnump line) line 0)
          (passepartout-events-clean
           (truncate-string-to-width
            (replace-regexp-in-string
             "[[:space:]\n]+" " "
             (substring-no-properties (if (stringp text) text "")))
            passepartout-verbs--most-text)))))

(defun passepartout-verbs--remote-p (file)
  "Return non-nil when the name FILE may lead to another machine."
  (string-match-p "\\`/\\(?:[^/]*:\\|\\[\\)" file))

(defun passepartout-verbs-buffer (file)
  "Return the buffer that visits FILE, or nil.
No other machine is asked: a name that leads to one is refused by
its spelling alone, and no handler of names has a say."
  (unless (and (stringp file) (string-prefix-p "/" file))
    (error "There is no file to look for"))
  (when (passepartout-verbs--remote-p file)
    (error "%s is a name on another machine" file))
  (let ((file-name-handler-alist nil))
    (find-buffer-visiting file)))

(defun passepartout-verbs--visiting (payload)
  "Return the buffer that visits the file in PAYLOAD; it must be open."
  (let ((file (plist-get payload :file)))
    (or (passepartout-verbs-buffer file)
        (error "%s is not open in Emacs" file))))

;;;; Verbs that look

(defun passepartout-verbs--buffers (_payload)
  "Return a row for each buffer that visits a file."
  (delq nil
        (mapcar
         (lambda (buffer)
           (let ((file (buffer-file-name buffer)))
             (and file
                  (not (file-remote-p file))
                  (list (expand-file-name file) 0
                        (format "%s%s"
                                (buffer-local-value 'major-mode buffer)
                                (if (buffer-modified-p buffer)
                                    ", not saved"
                                  ""))))))
         (buffer-list))))

(defun passepartout-verbs--diagnostics (payload)
  "Return what flymake and flycheck say of the buffer in PAYLOAD."
  (with-current-buffer (passepartout-verbs--visiting payload)
    (let ((file (expand-file-name buffer-file-name)))
      (save-restriction
        (widen)
        (append
         (and (bound-and-true-p flymake-mode)
              (mapcar (lambda (one)
                        (list file
                              (line-number-at-pos (flymake-diagnostic-beg one))
                              (format "%s: %s"
                                      (passepartout-verbs--kind
                                       (flymake-diagnostic-type one))
                                      (flymake-diagnostic-text one))))
                      (flymake-diagnostics)))
         (and (bound-and-true-p flycheck-mode)
              (mapcar (lambda (one)
                        (list file
                              (flycheck-error-line one)
                              (format "%s: %s"
                                      (flycheck-error-level one)
                                      (flycheck-error-message one))))
                      flycheck-current-errors)))))))

(defun passepartout-verbs--kind (type)
  "Return the word for the TYPE of a diagnostic."
  (string-remove-prefix ":" (format "%s" type)))

(defun passepartout-verbs--xref (payload function backends)
  "Return rows of what FUNCTION finds for the name in PAYLOAD.
Only BACKENDS are asked: others start programs, and Emacs waits
for these whatever the time is."
  (require 'xref)
  (with-current-buffer (passepartout-verbs--visiting payload)
    (let ((backend (xref-find-backend))
          (name (plist-get payload :name)))
      (when (or (not (memq backend backends))
                (and (eq backend 'etags)
                     (not (bound-and-true-p tags-file-name))
                     (not (bound-and-true-p tags-table-list))))
        (error "Emacs knows no such names of %s without starting a program; \
the tool grep finds them" (buffer-name)))
      (let ((found (with-timeout (passepartout-verbs--seconds
                                  (error "The lookup took too long"))
                     (passepartout-verbs--yielding
                       (funcall function backend name)))))
        (mapcar
         (lambda (item)
           (let ((place (xref-item-location item)))
             (list (expand-file-name (xref-location-group place))
                   (xref-location-line place)
                   (xref-item-summary item))))
         (seq-take found passepartout-verbs--most-rows))))))

(defun passepartout-verbs--definitions (payload)
  "Return where the name in PAYLOAD is defined."
  (passepartout-verbs--xref payload #'xref-backend-definitions
                            (append passepartout-verbs--servers
                                    passepartout-verbs--indexes)))

(defun passepartout-verbs--references (payload)
  "Return where the name in PAYLOAD is used."
  (passepartout-verbs--xref payload #'xref-backend-references
                            passepartout-verbs--servers))

(defun passepartout-verbs--index (payload)
  "Return the parts of the buffer in PAYLOAD."
  (require 'imenu)
  (with-current-buffer (passepartout-verbs--visiting payload)
    (when (> (buffer-size) passepartout-verbs--most-buffer)
      (error "%s is too large to be indexed" (buffer-name)))
    (let ((file (expand-file-name buffer-file-name))
          (imenu-auto-rescan t)
          (imenu-auto-rescan-maxout passepartout-verbs--most-buffer))
      (save-restriction
        (widen)
        (passepartout-verbs--flat
         file "" (passepartout-verbs--yielding (imenu--make-index-alist t))
         0)))))

(defun passepartout-verbs--flat (file prefix index depth)
  "Return rows of FILE for the imenu INDEX, with PREFIX before each name.
DEPTH counts how deep the index is."
  (when (< depth 20)
    (mapcan
     (lambda (entry)
       (let ((name (concat prefix (car-safe entry)))
             (place (cdr-safe entry)))
         (cond
          ((not (stringp (car-safe entry))) nil)
          ((equal (car entry) "*Rescan*") nil)
          ((or (markerp place) (integerp place) (overlayp place))
           (list (list file
                       (line-number-at-pos
                        (if (overlayp place) (overlay-start place) place))
                       name)))
          ;; A function of the mode's own, with its place behind it.
          ((and (consp place) (or (markerp (car place)) (integerp (car place))))
           (list (list file (line-number-at-pos (car place)) name)))
          ((consp place)
           (passepartout-verbs--flat file (concat name "/") place
                                     (1+ depth))))))
     index)))

;;;; Verbs that show

(defun passepartout-verbs--display (buffer &optional line)
  "Show BUFFER in a window that is not the selected one, at LINE.
What the user types goes on to where it went."
  (let ((window (display-buffer
                 buffer
                 '((display-buffer-reuse-window
                    display-buffer-use-some-window
                    display-buffer-pop-up-window)
                   (inhibit-same-window . t)
                   (inhibit-switch-frame . t)))))
    (unless window
      (error "Emacs has no other window to show it in"))
    (when line
      (with-current-buffer buffer
        (save-excursion
          (save-restriction
            (widen)
            (goto-char (point-min))
            (forward-line (1- line))
            (set-window-point window (point))))))
    nil))

(defvar-local passepartout-verbs--file nil
  "The file whose text this buffer shows.")

(defvar passepartout-verbs-view-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'passepartout-verbs-visit)
    map)
  "What keys do in a file that is shown and not visited.")

(define-derived-mode passepartout-verbs-view-mode special-mode "Shown"
  "Show the text of a file without visiting it.
\\{passepartout-verbs-view-mode-map}"
  (setq-local revert-buffer-function #'ignore)
  (setq truncate-lines t))

(defun passepartout-verbs--shows (file)
  "Note that this buffer shows the text of FILE, and say so in its header line.
A redisplay computes nothing: the text is made here, once."
  (setq passepartout-verbs--file file
        header-line-format
        (string-replace
         "%" "%%"
         (concat "The text of " (abbreviate-file-name file)
                 (substitute-command-keys
                  "; \\<passepartout-verbs-view-mode-map>\\[passepartout-verbs-visit] \
visits the file")))))

(defun passepartout-verbs-visit ()
  "Visit the file whose text is shown, at this line."
  (interactive)
  (unless passepartout-verbs--file
    (user-error "This buffer shows no file"))
  (let ((line (line-number-at-pos)))
    (find-file passepartout-verbs--file)
    (goto-char (point-min))
    (forward-line (1- line))))

(defun passepartout-verbs--file-buffer (payload)
  "Return a buffer with the file in PAYLOAD.
That is the one that visits it, or one that holds its text and
visits nothing, so that nothing runs because a file is shown."
  (let ((file (plist-get payload :file)))
    (or (passepartout-verbs-buffer file)
        (passepartout-verbs--view file))))

(defun passepartout-verbs--view (file)
  "Return a buffer with the text of FILE that visits nothing."
  (unless (file-regular-p file)
    (error "%s is not a file" file))
  (when (> (file-attribute-size (file-attributes file))
           passepartout-verbs--most-file)
    (error "%s is too large to be shown" file))
  (with-current-buffer (get-buffer-create "*Passepartout File*")
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert-file-contents-literally file)
      (decode-coding-region (point-min) (point-max) 'undecided))
    (passepartout-verbs-view-mode)
    (passepartout-verbs--shows file)
    (setq default-directory (file-name-directory file))
    (set-buffer-modified-p nil)
    (goto-char (point-min))
    (current-buffer)))

(defun passepartout-verbs--open (payload)
  "Show the file in PAYLOAD."
  (passepartout-verbs--display (passepartout-verbs--file-buffer payload)))

(defun passepartout-verbs--go-to (payload)
  "Show the line in PAYLOAD of its file."
  (let ((line (plist-get payload :line)))
    (unless (and (integerp line) (< 0 line))
      (error "There is no line to go to"))
    (passepartout-verbs--display (passepartout-verbs--file-buffer payload)
                                 line)))

(defun passepartout-verbs--diff (payload)
  "Show the text in PAYLOAD: how the buffer of a file differs from it.
The core has compared them; no program is started for it."
  (let ((text (plist-get payload :text))
        (buffer (get-buffer-create "*Passepartout Diff*")))
    (unless (stringp text)
      (error "There is no difference to show"))
    (with-current-buffer buffer
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (substring-no-properties text))
        (setq default-directory "/")
        (diff-mode)
        (goto-char (point-min)))
      (set-buffer-modified-p nil)
      (setq buffer-read-only t))
    (passepartout-verbs--display buffer)))

(defun passepartout-verbs--agenda (_payload)
  "Show the agenda of the week, without what Lisp in notes would say.
A diary expression is Lisp of whoever wrote the note."
  (require 'org-agenda)
  (let* (;; No handler of names has a say before the names are sifted.
         (files (let ((file-name-handler-alist nil))
                  (seq-remove #'passepartout-verbs--remote-p
                              (org-agenda-files t))))
         (size (mapcar (lambda (file)
                         (or (file-attribute-size (file-attributes file)) 0))
                       files))
         (org-agenda-files files)
         (org-agenda-window-setup 'current-window)
         (org-agenda-skip-unavailable-files t)
         (org-agenda-entry-types (remq :sexp org-agenda-entry-types))
         (org-agenda-include-diary nil)
         (org-agenda-sticky nil))
    (when (> (apply #'+ size) passepartout-verbs--most-agenda)
      (error "The agenda is too large to be made unasked"))
    ;; Timestamps such as <%%(…)> are entries of other types, too.
    (cl-letf (((symbol-function 'org-diary-sexp-entry) #'ignore))
      (save-window-excursion
        (save-current-buffer
          (org-agenda-list nil nil 'week))))
    (passepartout-verbs--display (get-buffer org-agenda-buffer-name))))

(provide 'passepartout-verbs)
;;; passepartout-verbs.el ends here
