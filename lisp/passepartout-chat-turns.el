;;; passepartout-chat-turns.el --- Go from turn to turn in a chat  -*- lexical-binding: t; -*-

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

;; A turn of a chat begins with the heading of its question.  These
;; commands go there; with `repeat-mode' n and p go on.

;;; Code:

(require 'org)

(defun passepartout-chat-next-turn (&optional count)
  "Go to the next question of this chat, or COUNT questions on.
With `repeat-mode', n and p go on."
  (interactive "p")
  (let* ((count (or count 1))
         (place (save-excursion
                  (if (< count 0) (forward-line 0) (end-of-line))
                  (and (re-search-forward "^\\* " nil t count)
                       (match-beginning 0)))))
    (cond ((= count 0))
          (place (goto-char place)
                 (when (invisible-p place)
                   (if (fboundp 'org-fold-show-context)
                       (org-fold-show-context)
                     (with-no-warnings (org-show-context)))))
          (t (message "There is no further question")))))

(defun passepartout-chat-previous-turn (&optional count)
  "Go to the question that point is below, or COUNT questions back."
  (interactive "p")
  (passepartout-chat-next-turn (- (or count 1))))

(defvar passepartout-chat-turn-repeat-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "n") #'passepartout-chat-next-turn)
    (define-key map (kbd "p") #'passepartout-chat-previous-turn)
    map)
  "Keys that go on from turn to turn while `repeat-mode' is on.")
(dolist (command '(passepartout-chat-next-turn passepartout-chat-previous-turn))
  (put command 'repeat-map 'passepartout-chat-turn-repeat-map))

(provide 'passepartout-chat-turns)
;;; passepartout-chat-turns.el ends here
