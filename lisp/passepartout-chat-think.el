;;; passepartout-chat-think.el --- What a model thought, folded  -*- lexical-binding: t; -*-

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

;; What a model thinks before it answers stands in the chat in a drawer
;; of its own, which is folded and says how long it is.  It is no part
;; of the answer: no model is told of it again.

;;; Code:

(require 'passepartout)
(eval-when-compile (require 'subr-x))

(defconst passepartout-chat--thought-regexp
  "^:Thought\\(?:-for-\\([0-9]+\\)-tokens?\\)?:[ \t]*$"
  "Regular expression for the line that begins a drawer of thoughts.
Nothing that a model says can be such a line.")

(defun passepartout-chat--thought-drawer (text tokens)
  "Return a drawer with TEXT, which took TOKENS to think, or nil if unknown."
  (concat (cond ((null tokens) ":Thought:")
                ((eql tokens 1) ":Thought-for-1-token:")
                (t (format ":Thought-for-%d-tokens:" tokens)))
          "\n" (string-trim text "\n+" "[ \t\n]+") "\n:END:\n"))

(defun passepartout-chat--thought-end (end)
  "Go behind the drawer of thoughts whose first line point is in.
END bounds it.  Return point, or nil when the drawer has no end."
  (and (re-search-forward "^:END:[ \t]*$" end t)
       (progn (forward-line 1) (point))))

(defun passepartout-chat--skip-thoughts (end)
  "Go behind the drawers of thoughts that point is at, up to END."
  (let ((from (point)))
    (while (and (looking-at-p passepartout-chat--thought-regexp)
                (passepartout-chat--thought-end end))
      (skip-chars-forward "\n" end)
      (setq from (point)))
    (goto-char from)))

(defun passepartout-chat--without-thoughts (text)
  "Return TEXT of an answer without the drawers of thoughts in it."
  (if (not (string-match-p passepartout-chat--thought-regexp text))
      text
    (with-temp-buffer
      (insert text)
      (goto-char (point-min))
      (while (re-search-forward passepartout-chat--thought-regexp nil t)
        (let ((from (match-beginning 0)))
          (delete-region from (or (passepartout-chat--thought-end nil)
                                  (point-max)))))
      (buffer-string))))

(defun passepartout-chat--label-thoughts (beg end)
  "Show the first lines of the drawers of thoughts between BEG and END as words."
  (remove-overlays beg end 'passepartout-chat-thought t)
  (save-excursion
    (goto-char beg)
    (while (re-search-forward passepartout-chat--thought-regexp end t)
      (let ((overlay (make-overlay (match-beginning 0) (match-end 0) nil t nil))
            (tokens (match-string-no-properties 1)))
        (overlay-put overlay 'passepartout-chat-thought t)
        (overlay-put overlay 'evaporate t)
        (overlay-put overlay 'display
                     (propertize (cond ((null tokens) "Thought")
                                       ((equal tokens "1")
                                        "Thought for 1 token")
                                       (t (format "Thought for %s tokens"
                                                  tokens)))
                                 'face 'passepartout-quiet))))))

(provide 'passepartout-chat-think)
;;; passepartout-chat-think.el ends here
