;;; passepartout-view.el --- Read-only Org buffers that show foreign text literally  -*- lexical-binding: t; -*-

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

;; Plans, traces, the log and the doctor are shown in Org buffers that
;; are read-only and whose text is drawn here, without Org's font lock
;; and without the hooks of Org mode: nothing in them is hidden, folded,
;; composed, reordered or coloured because of what the text says.
;;
;; Foreign text enters such a buffer either as one line
;; (`passepartout-view-line') or as a fixed-width area, in which each
;; line begins with a colon (`passepartout-view-fixed').  Neither can
;; become a heading, a drawer or anything else that Org knows.

;;; Code:

(require 'passepartout)
(require 'passepartout-list)
(require 'iso8601)
(eval-when-compile (require 'cl-lib) (require 'subr-x))

;; Org is loaded with the first buffer: what is not shown wants none.
(declare-function org-at-heading-p "org" (&optional _))
(declare-function org-cycle "org" (&optional arg))
(defvar org-inhibit-startup)
(defvar org-link-descriptive)
(defvar org-mode-hook)
(defvar org-pretty-entities)
(defvar outline-mode-hook)

(declare-function passepartout-request "passepartout-events"
                  (action payload function &optional session))

(defconst passepartout-view--hidden-ranges
  '((#x80 . #x9f) #xad #x34f #x61c (#x115f . #x1160) (#x17b4 . #x17b5)
    (#x180b . #x180e) (#x200b . #x200f) (#x2028 . #x202e)
    (#x2060 . #x206f) #x3164 (#xfe00 . #xfe0f) #xfeff #xffa0
    (#xfff0 . #xffff) (#xe0000 . #xe0fff) (#xf0000 . #x10ffff))
  "Characters that cannot be seen as they are, but for those of ASCII.
Those are shown as ^X by themselves.")

(defconst passepartout-view--hidden
  (concat "[\0-\10\13-\37\177-\u009f\u00ad\u034f\u061c\u115f\u1160"
          "\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e"
          "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff"
          "\U000e0000-\U000e0fff\U000f0000-\U0010ffff]")
  "Regular expression for characters that cannot be seen as they are.")

(defun passepartout-view-hidden-in (text)
  "Return the characters of TEXT that cannot be seen, each once."
  (let ((from 0) (found nil))
    (while (string-match passepartout-view--hidden text from)
      (cl-pushnew (aref text (match-beginning 0)) found)
      (setq from (match-end 0)))
    (nreverse found)))

(defvar passepartout-view--glyphs nil
  "How characters are displayed that cannot be seen, once that was made.")

(defun passepartout-view--glyphs ()
  "Return a table that displays what cannot be seen by its number."
  (or passepartout-view--glyphs
      (let ((table (copy-sequence glyphless-char-display)))
        (dolist (range passepartout-view--hidden-ranges)
          (set-char-table-range table range 'hex-code))
        (setq passepartout-view--glyphs table))))

(defun passepartout-view-show-hidden ()
  "Show what cannot be seen in the current buffer, and turn nothing around.
The text stays as it is; a foreign text that is to be judged by its
looks is shown so."
  (setq-local bidi-display-reordering nil)
  (setq-local glyphless-char-display (passepartout-view--glyphs)))

(defun passepartout-view-visible (text)
  "Return TEXT with what cannot be seen written as an escape."
  (let ((text (substring-no-properties text)))
    (if (string-match-p passepartout-view--hidden text)
        (replace-regexp-in-string
         passepartout-view--hidden
         (lambda (found) (format "\\u{%X}" (aref found 0)))
         text t t)
      text)))

(defun passepartout-view-line (text &optional width)
  "Return TEXT as one visible line of at most WIDTH characters, or 200."
  (let* ((text (or text ""))
         ;; Nearly all that is shown so is one line already.
         (text (if (string-match-p "[\n\t]\\|  " text)
                   (replace-regexp-in-string "[\n\t ]+" " " text)
                 text))
         (width (or width 200))
         (text (if (> (length text) width)
                   (concat (substring text 0 (1- width)) "…")
                 text)))
    (string-trim (passepartout-view-visible text))))

(defun passepartout-view-count (number)
  "Return NUMBER, a count or nil, short enough for a column."
  (let ((number (or number 0)))
    (cond ((< number 100000) (format "%d" number))
          ((< number 10000000) (format "%dk" (/ number 1000)))
          (t (format "%dM" (/ number 1000000))))))

(defun passepartout-view-who (plist)
  "Return the provider that PLIST names, with its model, in a line."
  (let ((provider (passepartout-view-line (plist-get plist :provider) 40))
        (model (passepartout-view-line (plist-get plist :model) 40)))
    (if (string-empty-p model) provider
      (format "%s (%s)" provider model))))

(defun passepartout-view-share (share)
  "Return SHARE, what one of several models came to, in a line."
  (let ((calls (or (plist-get share :calls) 1)))
    (format "%s: %s in, %s out, %s%s"
            (passepartout-view-who share)
            (or (plist-get share :tokens-in) 0)
            (or (plist-get share :tokens-out) 0)
            (passepartout-view-line (plist-get share :cost) 60)
            (if (> calls 1) (format " (%d calls)" calls) ""))))

(defun passepartout-view-read-new-file (prompt folder name)
  "Ask with PROMPT for a file to write, and return it; NAME in FOLDER is offered.
The minibuffer holds FOLDER alone, so that what is typed is a name; the
name of a folder stands for NAME in it."
  (let* ((folder (file-name-as-directory (expand-file-name folder)))
         (file (expand-file-name
                (read-file-name (format "%s (default %s): " prompt name)
                                folder (expand-file-name name folder)))))
    (if (or (directory-name-p file) (file-directory-p file))
        (expand-file-name name file)
      file)))

(defun passepartout-view-note (note)
  "Return NOTE as one visible sentence; one that asks keeps its mark."
  (let ((note (passepartout-view-line note 400)))
    (concat "Note: " note (if (string-match-p "[.?!]\\'" note) "" "."))))

(defun passepartout-view-fixed (text)
  "Return TEXT as a fixed-width area of Org, each line after a colon."
  (concat
   (mapconcat (lambda (line)
                (if (string-empty-p line) ":" (concat ": " line)))
              (split-string (passepartout-view-visible
                             (string-remove-suffix "\n" text))
                            "\n")
              "\n")
   "\n"))

(defun passepartout-view-parse-time (text)
  "Return TEXT, a time in the form of RFC 3339, as a time of Emacs.
What the core sends is in UTC, and read without the slow parser."
  (if (string-match
       "\\`\\([0-9]\\{4\\}\\)-\\([0-9][0-9]\\)-\\([0-9][0-9]\\)T\\([0-9][0-9]\\)\
:\\([0-9][0-9]\\):\\([0-9][0-9]\\)\\(?:\\.[0-9]+\\)?Z\\'"
       text)
      (let ((part (lambda (group)
                    (string-to-number (match-string group text)))))
        (encode-time (list (funcall part 6) (funcall part 5) (funcall part 4)
                           (funcall part 3) (funcall part 2) (funcall part 1)
                           nil nil t)))
    (encode-time (iso8601-parse text))))

(defun passepartout-view-time (text)
  "Return TEXT, a time in the form of RFC 3339, as people read it here."
  (condition-case nil
      (let* ((time (passepartout-view-parse-time text))
             (day (format-time-string "%F" time)))
        (if (equal day (format-time-string "%F"))
            (format-time-string "%H:%M" time)
          (format-time-string "%F %H:%M" time)))
    (error (passepartout-view-line (format "%s" text) 30))))

(defun passepartout-view-face (word)
  "Return the face for WORD, a verdict, a state or a status."
  (pcase word
    ((or "pass" "healthy" "done" "approved") 'passepartout-good)
    ((or "ask" "degraded" "pending" "stale" "warning" "unknown")
     'passepartout-attention)
    ((or "deny" "denied" "unhealthy" "failed" "error") 'passepartout-bad)
    (_ 'passepartout-quiet)))

(defun passepartout-view-word (word)
  "Return WORD, a verdict, a state or a status, in its face."
  (let ((word (passepartout-view-line (format "%s" (or word "unknown")) 20)))
    (propertize word 'face (passepartout-view-face word))))

(defun passepartout-view-button (label function help)
  "Insert a button LABEL for calling FUNCTION, with HELP as its tool tip."
  (insert-text-button label
                      'action (lambda (_button) (funcall function))
                      'follow-link t
                      'help-echo help))

(defun passepartout-view-action (action)
  "Return what ACTION, a plist of :tool and :summary, would do, as one line."
  (let ((tool (passepartout-view-line (plist-get action :tool) 40))
        (summary (passepartout-view-line (plist-get action :summary))))
    (if (member summary (list "" tool))
        tool
      (format "%s (%s)" summary tool))))

;;;; The mode

(defvar-local passepartout-view--refresh nil
  "Function that asks for what this buffer shows and draws it again.")

(defvar passepartout-view-mode-map
  (let ((map (make-sparse-keymap)))
    ;; Keys of Org would act on what foreign text says: export it, evaluate
    ;; it, show the images that it names.
    (set-keymap-parent map special-mode-map)
    (suppress-keymap map)
    (define-key map (kbd "g") #'passepartout-view-refresh)
    (define-key map (kbd "q") #'quit-window)
    (define-key map (kbd "n") #'passepartout-list-next)
    (define-key map (kbd "p") #'passepartout-list-previous)
    (define-key map (kbd "S") #'passepartout-list-sort)
    (define-key map (kbd "j") #'imenu)
    (define-key map (kbd "TAB") #'passepartout-view-tab)
    (define-key map (kbd "<backtab>") #'backward-button)
    (define-key map (kbd "SPC") #'scroll-up-command)
    (define-key map (kbd "DEL") #'scroll-down-command)
    (define-key map (kbd "S-SPC") #'scroll-down-command)
    (define-key map (kbd "<") #'beginning-of-buffer)
    (define-key map (kbd ">") #'end-of-buffer)
    (define-key map (kbd "RET") #'passepartout-view-return)
    (define-key map [mouse-2] #'passepartout-list-click)
    (define-key map [follow-link] 'mouse-face)
    (define-key map (kbd "?") #'passepartout-list-help)
    (define-key map (kbd "h") #'passepartout-list-help)
    ;; Fingers that know them from Org find what is meant here.
    (define-key map (kbd "C-c C-o") #'passepartout-view-return)
    (define-key map (kbd "C-c C-c") #'passepartout-view-return)
    map)
  "Keys of the buffers that show what Passepartout does.")

(defun passepartout-view-refresh ()
  "Ask again for the contents of this buffer."
  (interactive)
  (if passepartout-view--refresh
      (passepartout-view--ask passepartout-view--refresh)
    (message "There is nothing to ask again here")))

(defun passepartout-view-tab ()
  "Fold or unfold the heading at point, or go to the next button."
  (interactive)
  (if (org-at-heading-p)
      (org-cycle)
    (forward-button 1 t nil t)))

(defun passepartout-view-return ()
  "Push the button at point; on a heading, fold or unfold it."
  (interactive)
  (cond ((button-at (point)) (push-button))
        ((org-at-heading-p) (org-cycle))
        (t (message "Nothing to open here"))))

(define-derived-mode passepartout-view-mode org-mode "Passepartout"
  "Major mode of the buffers that show what Passepartout does."
  (setq-local font-lock-defaults nil)
  (setq-local buffer-read-only t)
  (setq-local buffer-undo-list t)
  (setq-local truncate-lines nil)
  ;; A narrow window would cut lines off all the same.
  (setq-local truncate-partial-width-windows nil)
  (setq-local word-wrap t)
  (setq-local bidi-display-reordering nil)
  (setq-local org-link-descriptive nil)
  (setq-local org-pretty-entities nil)
  (setq-local enable-local-variables nil)
  (setq-local revert-buffer-function
              (lambda (&rest _) (passepartout-view-refresh)))
  (passepartout-list-set-up)
  (when (fboundp 'auto-composition-mode) (auto-composition-mode -1)))

;; Of modes that derive from one Emacs says so by itself.
(put 'passepartout-view-mode 'mode-class 'special)

(defun passepartout-view-buffer (name mode)
  "Return the buffer NAME, in MODE, which derives from `passepartout-view-mode'.
The hooks of Org mode are not run: they could change what is shown."
  (or (let ((buffer (get-buffer name)))
        (and buffer
             (eq (buffer-local-value 'major-mode buffer) mode)
             buffer))
      (with-current-buffer (get-buffer-create name)
        ;; Before its variables are bound.
        (require 'org)
        (let ((org-mode-hook nil)
              (outline-mode-hook nil)
              (text-mode-hook nil)
              (org-inhibit-startup t))
          (funcall mode))
        (current-buffer))))

(defvar-local passepartout-view--drawn nil
  "Whether this list has been drawn.")

(defun passepartout-view--alone (text)
  "Let TEXT stand in this list as long as it has not been drawn."
  (unless passepartout-view--drawn
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert (propertize (concat text "\n") 'face 'passepartout-quiet))
      (goto-char (point-min))
      (set-buffer-modified-p nil))))

(defun passepartout-view-refuse (buffer why)
  "Say WHY there is nothing to show in BUFFER, in it if it shows nothing."
  (let ((why (passepartout-view-line why 500)))
    (message (if (string-prefix-p "Passepartout" why) "%s" "Passepartout: %s")
             why)
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (passepartout-view--alone (concat why "\ng asks again, q leaves."))))))

(defun passepartout-view-open (name mode command fetch &optional set-up)
  "Show the list called NAME, a buffer in MODE, and have FETCH fill it.
COMMAND is the one that opens it.  SET-UP is called in it before."
  (let ((buffer (passepartout-view-buffer name mode)))
    (with-current-buffer buffer
      (setq passepartout-view--refresh fetch)
      (passepartout-list-set-command command)
      (when set-up (funcall set-up))
      (passepartout-view--alone "Asking…"))
    (pop-to-buffer buffer)
    (passepartout-view--ask fetch)))

(defun passepartout-view--ask (fetch)
  "Have FETCH fill this buffer; where no core answers it says why."
  (let ((buffer (current-buffer)))
    (condition-case problem
        (funcall fetch)
      ((passepartout-error user-error)
       (passepartout-view-refuse buffer (passepartout-error-text problem))))))

(defun passepartout-view-desktop-restore (_file name kept)
  "Return a buffer that stands for the list NAME of an earlier Emacs.
KEPT is what desktop kept of it.  The core is not started for that: g
opens the list as it is now."
  (let ((buffer (passepartout-view-buffer name 'passepartout-view-mode))
        (command (car-safe kept))
        (item (cdr-safe kept)))
    (with-current-buffer buffer
      (when (memq command passepartout-list-commands)
        (setq passepartout-view--refresh
              (lambda () (passepartout-list--open-at command item)))
        (passepartout-list-set-command command))
      (passepartout-view--alone
       "This list is of an earlier session.\ng shows it as it is now, q leaves."))
    buffer))

(defmacro passepartout-view-draw (&rest body)
  "Draw the current buffer anew with BODY, which has to insert its text.
Point and the windows stay on their items, or else on their lines."
  (declare (indent 0) (debug t))
  `(let ((inhibit-read-only t)
         (places (passepartout-list-places)))
     (erase-buffer)
     (setq passepartout-view--drawn t)
     ,@body
     (set-buffer-modified-p nil)
     (passepartout-list-restore places)))

(defvar passepartout-view--asked 0
  "Counts what buffers asked for.")

(defvar-local passepartout-view--latest nil
  "Which of these this buffer asked for last.")

(defun passepartout-view-asking ()
  "Note that this buffer asks for something; what it asked for before is late.
Return a function that says whether the answer to it is late, as the
buffer asked for something else since or is gone."
  (let ((buffer (current-buffer))
        (this (setq passepartout-view--asked (1+ passepartout-view--asked))))
    (setq passepartout-view--latest this)
    (lambda ()
      (not (and (buffer-live-p buffer)
                (eql this (buffer-local-value 'passepartout-view--latest
                                              buffer)))))))

(defun passepartout-view-fetch (name action draw &optional more)
  "Send the request ACTION for the buffer called NAME, if there is one.
DRAW is called with the answer in that buffer, unless the answer is
late, and again when it is to be drawn in another order.  Where the
core says why there is none, that is shown.  MORE is called in the
buffer, too, and returns the payload of the request and its session, as
a list."
  (let ((buffer (get-buffer name)))
    (when buffer
      (with-current-buffer buffer
        (let ((late (passepartout-view-asking))
              (more (and more (funcall more))))
          (passepartout-request
           action (nth 0 more)
           (lambda (payload)
             (let ((why (plist-get payload :error)))
               (cond
                ((funcall late))
                (why (passepartout-view-refuse buffer why))
                (t (with-current-buffer buffer
                     (setq passepartout-list--redraw
                           (lambda () (funcall draw payload)))
                     (funcall draw payload))))))
           (nth 1 more)))))))

;;;; Comparing

(defvar ediff-quit-hook)

(defun passepartout-view-ediff (old new &optional then)
  "Compare the buffers OLD and NEW with Ediff.
When that ends both are killed, the windows are as before, and THEN is
called, if it is there, with the text that NEW had, or nil when it was
gone."
  (let* ((windows (current-window-configuration))
         (clear (lambda ()
                  (dolist (buffer (list old new))
                    (when (buffer-live-p buffer) (kill-buffer buffer)))
                  (set-window-configuration windows)))
         (end (lambda ()
                (let ((text (and (buffer-live-p new)
                                 (with-current-buffer new
                                   (save-restriction
                                     (widen)
                                     (buffer-substring-no-properties
                                      (point-min) (point-max)))))))
                  (funcall clear)
                  (when then (funcall then text))))))
    (condition-case problem
        (ediff-buffers
         old new
         (list (lambda () (add-hook 'ediff-quit-hook end t t))))
      ;; Without the program diff, for one, there is nothing to end.
      (error
       (funcall clear)
       (user-error "Ediff cannot compare this: %s"
                   (error-message-string problem))))))

(provide 'passepartout-view)
;;; passepartout-view.el ends here
