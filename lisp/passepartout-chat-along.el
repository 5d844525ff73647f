;;; passepartout-chat-along.el --- What goes along with a question  -*- lexical-binding: t; -*-

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

;; What goes along with a question of a chat stands below its heading,
;; each in a line of its own: what it is, and how much.  The lines are
;; text like any other: taking one out leaves it behind, and once the
;; question is asked they are the record.  This file knows such lines,
;; and shows them; `passepartout-chat-add' makes them.

;;; Code:

(require 'passepartout)
(require 'subr-x)

(declare-function passepartout-chat-along-show "passepartout-chat-add" (&optional event))
(declare-function passepartout-chat--in-answer-p "passepartout-chat-text" ())
(declare-function passepartout-chat-along-remove "passepartout-chat-add" (&optional event))

(defconst passepartout-chat--along-mark "- Goes along :: "
  "What a line about something that goes along begins with.")

(defconst passepartout-chat--along-regexp
  (concat "^" (regexp-quote passepartout-chat--along-mark) "\\(.+\\)$")
  "Regular expression for a line about something that goes along.")

(defvar passepartout-chat-along-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'passepartout-chat-along-show)
    (define-key map (kbd "d") #'passepartout-chat-along-remove)
    (define-key map (kbd "k") #'passepartout-chat-along-remove)
    (define-key map [mouse-2] #'passepartout-chat-along-show)
    (define-key map [follow-link] 'mouse-face)
    (define-key map [mouse-3] #'passepartout-chat-along-remove)
    map)
  "Keys on a line about something that goes along.")

(defconst passepartout-chat--picture-regexp
  (concat "^" (regexp-quote passepartout-chat--along-mark)
          "\\(?:\\[\\[[^]\n]*\\]\\[\\)?the picture \\([^]\n]*?\\)"
          "\\(?:\\]\\]\\)? ([^()\n]*)\\(?:, [0-9]+\\)?$")
  "Regular expression for a line about a picture that goes along.")

(defun passepartout-chat--told-pictures (text)
  "Return TEXT of a question that is over with words about its pictures.
They belonged to that turn, and are not sent again."
  (replace-regexp-in-string
   passepartout-chat--picture-regexp
   (lambda (line)
     (format "(The picture %s went along with this; it is not sent again.)"
             (match-string 1 line)))
   text t t))

(defun passepartout-chat--without-along (text)
  "Return TEXT of a question without the lines about what goes along."
  (if (string-match-p passepartout-chat--along-regexp text)
      (replace-regexp-in-string
       (concat "^" (regexp-quote passepartout-chat--along-mark) ".+\n?")
       "" text t t)
    text))

(defun passepartout-chat--along-p (end)
  "Return non-nil when something goes along with the question at point.
END is where it ends.  It may be a file that the question names."
  (save-excursion
    (re-search-forward
     (concat passepartout-chat--along-regexp "\\|@") end t)))

(defun passepartout-chat--label-along (beg end)
  "Give the lines between BEG and END about what goes along their keys."
  (remove-overlays beg end 'passepartout-chat-along t)
  (save-excursion
    (goto-char beg)
    (while (re-search-forward passepartout-chat--along-regexp end t)
      ;; In an answer it is only what a model says.
      (if (save-match-data (passepartout-chat--in-answer-p))
          (re-search-forward "^\\*+ " end 'move)
        (let ((overlay (make-overlay (match-beginning 0) (match-end 0)
                                     nil t nil)))
          (overlay-put overlay 'passepartout-chat-along t)
          (overlay-put overlay 'evaporate t)
          (overlay-put overlay 'face 'passepartout-quiet)
          (overlay-put overlay 'mouse-face 'highlight)
          (overlay-put overlay 'help-echo
                       "RET, mouse-1: show it; d, mouse-3: take it out")
          (overlay-put overlay 'keymap passepartout-chat-along-map))))))

(provide 'passepartout-chat-along)
;;; passepartout-chat-along.el ends here
