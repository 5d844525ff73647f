;;; passepartout-chat-change.el --- How what arrives changes a chat  -*- lexical-binding: t; -*-

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

;; What the core sends changes a chat while you do something else.  Such
;; a change never asks you anything: while Emacs would ask, because the
;; file has changed on disk or somebody else edits it, what arrives waits
;; in the order in which it came, and the header line says so.  Nor does
;; it take part in what you undo: your own last change is undone, moved
;; to where its text stands now, and what has arrived stays.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)

(declare-function passepartout-chat--show-state "passepartout-chat-head" ())

;;;; Undo

(defun passepartout-chat--beside-undo (function)
  "Call FUNCTION in the current buffer without recording what it changes.
What is recorded already is moved along, so that undoing it does what
it would have done."
  (let* ((changes nil)
         (note (lambda (from to length)
                 (push (list from (- to from) length) changes))))
    (add-hook 'after-change-functions note nil t)
    (unwind-protect
        (let ((buffer-undo-list t))
          (funcall function))
      (remove-hook 'after-change-functions note t)
      (pcase-dolist (`(,from ,added ,removed) (nreverse changes))
        (passepartout-chat--move-undo from (- removed))
        (passepartout-chat--move-undo from added)))))

(defun passepartout-chat--move-undo (at delta)
  "Move what is recorded for undo: at AT the text has grown by DELTA.
The records are read from the newest to the oldest, each of which
counts in the text as it was then, and AT is carried back with them.
When the text that one record inserted has grown inside, that record
grows, and what is older is not concerned: it knows nothing of it."
  (let ((records (and (/= delta 0) (consp buffer-undo-list) buffer-undo-list))
        ;; Whether what has grown stands behind what an older record put
        ;; in place of a text that was deleted there.
        (behind nil)
        (moved (lambda (position)
                 (if (or (< position at) (and (= position at) (< delta 0)))
                     position
                   (max at (+ position delta))))))
    (while records
      (let ((record (car records)))
        (cond
         ((integerp record) (setcar records (funcall moved record)))
         ((atom record))
         ;; “Unmodified since”: it no longer would be.
         ((eq (car record) t) (setcar records nil))
         ((integerp (car record))
          (let ((from (car record)) (to (cdr record)))
            (cond ((< from at to)
                   (setcdr record (max at (+ to delta)))
                   (setq records nil))
                  ((<= to at) (setq behind (= to at)
                                    at (- at (- to from))))
                  (t (setcar record (funcall moved from))
                     (setcdr record (funcall moved to))))))
         ((stringp (car record))
          (let ((position (abs (cdr record))))
            (if (or (< position at) (and behind (= position at)))
                (setq at (+ at (length (car record))))
              (setcdr record (* (if (< (cdr record) 0) -1 1)
                                (funcall moved position))))))
         ((null (car record))
          (let ((range (nthcdr 3 record)))
            (setcar range (funcall moved (car range)))
            (setcdr range (funcall moved (cdr range)))))
         ((and (eq (car record) 'apply) (integerp (nth 1 record)))
          (if (<= (nth 3 record) at)
              (setq at (- at (nth 1 record)))
            (setcar (nthcdr 2 record) (funcall moved (nth 2 record)))
            (setcar (nthcdr 3 record) (funcall moved (nth 3 record)))))))
      (setq records (cdr records)))))

;;;; What waits

(defvar-local passepartout-chat--held nil
  "Functions that will change this chat when that asks nothing, newest first.")
(put 'passepartout-chat--held 'permanent-local t)

(defun passepartout-chat--obstacle ()
  "Return why changing this buffer would ask you something, or nil.
It is a symbol, `disk' or `lock'.  Emacs asks only about a buffer that
is not modified yet."
  (cond ((or (not buffer-file-name) (buffer-modified-p)) nil)
        ((not (verify-visited-file-modtime (current-buffer))) 'disk)
        ((stringp (file-locked-p buffer-file-name)) 'lock)))

(defun passepartout-chat--changeable-p ()
  "Return non-nil when this buffer can be changed without a question."
  (not (or buffer-read-only (passepartout-chat--obstacle))))

(defun passepartout-chat--change (buffer function)
  "Call FUNCTION, which changes BUFFER, a chat, at once or when it may.
It is called in that buffer.  The answer to your own question also
reaches a chat that you have made read-only."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (passepartout-chat--release)
      (if (not (or passepartout-chat--held (passepartout-chat--obstacle)))
          (passepartout-chat--change-now function)
        (push function passepartout-chat--held)
        (passepartout-chat--hold)
        (passepartout-chat--show-state)))))

(defun passepartout-chat--hold ()
  "Look after what waits for this chat, if anything does.
Where the mode is off nobody does, until it is on again."
  (when (and passepartout-chat--held
             (bound-and-true-p passepartout-chat-mode))
    (add-hook 'post-command-hook #'passepartout-chat--release nil t)
    (add-hook 'after-save-hook #'passepartout-chat--release nil t)
    (add-hook 'kill-buffer-query-functions
              #'passepartout-chat--killable-p nil t)))

(defun passepartout-chat--let-go ()
  "Look no more after what waits for this chat."
  (remove-hook 'post-command-hook #'passepartout-chat--release t)
  (remove-hook 'after-save-hook #'passepartout-chat--release t)
  (remove-hook 'kill-buffer-query-functions
               #'passepartout-chat--killable-p t))

(defun passepartout-chat--change-now (function)
  "Call FUNCTION, which changes the current buffer on behalf of the core."
  (let ((inhibit-read-only t))
    (passepartout-chat--beside-undo function)))

(defun passepartout-chat--release ()
  "Make the changes that wait for this chat, unless they still must."
  (when (and passepartout-chat--held (not (passepartout-chat--obstacle)))
    (let ((functions (nreverse passepartout-chat--held)))
      (setq passepartout-chat--held nil)
      (passepartout-chat--let-go)
      ;; The first of them makes the buffer modified, so that none asks.
      (dolist (function functions)
        (passepartout-events--call #'passepartout-chat--change-now
                                   (list function)))
      (passepartout-chat--show-state))))

(defun passepartout-chat--killable-p ()
  "Return non-nil when killing this chat loses no answer, or when you say so."
  (or (null passepartout-chat--held)
      (yes-or-no-p "An answer still waits for this chat; kill it anyway? ")))

(defun passepartout-chat--held-text ()
  "Return what is to be said about what waits for this chat, or nil.
It is a cons of what is the matter and what can be done."
  (when passepartout-chat--held
    (if (eq (passepartout-chat--obstacle) 'lock)
        '("an answer waits: somebody else edits the file"
          . "edit the chat to take it over")
      '("an answer waits: the file has changed on disk"
        . "M-x revert-buffer reads the file and adds the answer"))))

(provide 'passepartout-chat-change)
;;; passepartout-chat-change.el ends here
