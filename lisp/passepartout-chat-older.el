;;; passepartout-chat-older.el --- What lies further back in a chat  -*- lexical-binding: t; -*-

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

;; With a question goes as much of the chat as fits; of what lies
;; further back the names and titles of some turns.  A model can ask for
;; the turns before these, and for one of them as it was said: it is
;; looked up here, in the buffer.

;;; Code:

(require 'passepartout)
(require 'passepartout-chat-text)
(require 'passepartout-events)
(eval-when-compile (require 'cl-lib))

(declare-function passepartout-chat--find-buffer "passepartout-chat-answer"
                  (session))

(defconst passepartout-chat--older-turns 100
  "How many turns are named at once that lie further back.
It bounds what is done for a question, however long the chat is.")

(defconst passepartout-chat--named-bytes 8192
  "A turn is named by the hash of so many characters of it.")

(defconst passepartout-chat--older-sought 200
  "How many turns are looked at for a name that is not where it was.
A model may ask for names that it made up, as often as it likes.")

(defconst passepartout-chat--older-title 200
  "How many characters of the title of a turn are sent.")

(defvar-local passepartout-chat--older-places nil
  "A table of the places of turns by the names that they were given.
A place is a marker; what stands there may have changed since.")

(defun passepartout-chat--turn-name (start)
  "Return the name of the turn whose heading begins at START."
  (save-excursion
    (goto-char start)
    (let ((end (min (passepartout-chat--turn-end)
                    (+ start passepartout-chat--named-bytes))))
      (substring (secure-hash 'sha256
                              (encode-coding-string
                               (buffer-substring-no-properties start end)
                               'utf-8-emacs))
                 0 12))))

(defun passepartout-chat--turn-title ()
  "Return the title of the turn whose heading point is at, or nil.
It has none when it is no question that a model was asked."
  (when (equal (passepartout-chat--role) "user")
    (let ((title (passepartout-chat--plain
                  (buffer-substring-no-properties
                   (min (+ 2 (point)) (line-end-position))
                   (min (line-end-position)
                        (+ 2 (point) passepartout-chat--older-title))))))
      (unless (string-prefix-p "/" title)
        title))))

(defun passepartout-chat--older (before)
  "Name turns that stand before the position BEFORE, the oldest first.
Return a plist of :older, plists of :name and :title, and of :more when
there are turns before these."
  (save-excursion
    (goto-char before)
    (let ((places (or passepartout-chat--older-places
                      (setq passepartout-chat--older-places
                            (make-hash-table :test #'equal))))
          (left passepartout-chat--older-turns)
          (found nil))
      (while (and (> left 0) (re-search-backward "^\\* " nil t))
        (let ((title (passepartout-chat--turn-title)))
          (setq left (1- left))
          (when title
            (let* ((name (passepartout-chat--turn-name (point)))
                   (known (gethash name places)))
              (if known
                  (set-marker known (point))
                (puthash name (copy-marker (point)) places))
              (push (list :name name :title title) found)))))
      (list :older found
            :more (and (= left 0) (re-search-backward "^\\* " nil t) t)))))

(defun passepartout-chat--find-named (name)
  "Return where the turn with NAME begins, or nil when it is not found.
What was named is where it was; otherwise the last turns are looked at."
  (let ((known (and passepartout-chat--older-places
                    (gethash name passepartout-chat--older-places)))
        (named-p (lambda (start)
                   (equal name (passepartout-chat--turn-name start)))))
    (save-excursion
      (goto-char (or known (point-max)))
      (if (and known (looking-at-p "\\* ") (funcall named-p (point)))
          (point)
        (let ((left passepartout-chat--older-sought) (found nil))
          (goto-char (point-max))
          (while (and (not found) (> left 0)
                      (re-search-backward "^\\* " nil t))
            (setq left (1- left))
            (when (funcall named-p (point))
              (setq found (point))))
          found)))))

(defun passepartout-chat--said-in (start)
  "Return what was said in the turn whose heading begins at START."
  (save-excursion
    (goto-char start)
    (save-restriction
      (narrow-to-region start (passepartout-chat--turn-end))
      (goto-char (point-max))
      (passepartout-chat--history))))

(defun passepartout-chat-older-answer (request payload)
  "Answer REQUEST for what lies further back in the chat that PAYLOAD names.
That is the turn :turn as it was said, or the turns before the one
called :before by name and title."
  (let* ((session (plist-get payload :session))
         (turn (plist-get payload :turn))
         (name (or turn (plist-get payload :before)))
         (buffer (and (fboundp 'passepartout-chat--find-buffer)
                      (stringp session) (stringp name)
                      (passepartout-chat--find-buffer session))))
    (passepartout-reply
     request
     (or (and buffer
              (with-current-buffer buffer
                (org-with-wide-buffer
                 (let ((start (passepartout-chat--find-named name)))
                   (cond ((null start) nil)
                         (turn (list :ok t
                                     :history
                                     (passepartout-chat--said-in start)))
                         (t (append (list :ok t)
                                    (passepartout-chat--older start))))))))
         '(:ok nil :text "there is no such turn in this chat")))))

(provide 'passepartout-chat-older)
;;; passepartout-chat-older.el ends here
