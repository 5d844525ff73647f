;;; passepartout-chat-fork.el --- Answers of several models  -*- lexical-binding: t; -*-

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

;; A question can be asked of several models at once.  The chat goes on
;; from one of their answers; the others stand beside it as headings of
;; the role “aside”, folded, and can take its place.  Which is which
;; stands in the file.

;;; Code:

(require 'org)
(require 'passepartout)
(require 'passepartout-view)
(require 'passepartout-chat-text)
(require 'passepartout-chat-below)
(eval-when-compile (require 'subr-x))

(declare-function org-fold-show-subtree "ext:org-fold" ())
(declare-function org-show-subtree "org-compat" ())
(declare-function passepartout-chat--check "passepartout-chat" ())
(declare-function passepartout-chat--send "passepartout-chat"
                  (start &optional several))

(defconst passepartout-chat-most-models 8
  "How many models can be asked at once.")

;;;; Asking

(defun passepartout-chat--count (prefix)
  "Return how many models to ask: PREFIX, a prefix argument, or a number read."
  (let ((count (if prefix
                   (prefix-numeric-value prefix)
                 (read-number "How many models: " 3))))
    (unless (and (natnump count) (<= 1 count passepartout-chat-most-models))
      (user-error "From 1 to %d models can be asked at once"
                  passepartout-chat-most-models))
    count))

(defun passepartout-chat--ask-several (word count)
  "Ask COUNT models the question at point; WORD is the command for that."
  (passepartout-chat--check)
  (let ((start (org-with-wide-buffer (passepartout-chat--to-turn))))
    (unless start
      (user-error "Write your question under a heading first"))
    (when (string-prefix-p "/" (org-with-wide-buffer
                                (goto-char start)
                                (passepartout-chat--message)))
      (user-error "A command for the core is no question"))
    (passepartout-chat--send start (format "/%s %d " word count))))

(defun passepartout-chat-consensus (count)
  "Ask COUNT models the question at point at once.
What most of them want done is followed, through the same gates as
anything; a tie goes to the one that is asked first.  When they answer
in words, the first answer is the one the chat goes on from, and the
others stand beside it, folded.  COUNT is the prefix argument, or read."
  (interactive (list (passepartout-chat--count current-prefix-arg)))
  (passepartout-chat--ask-several "consensus" count))

(defun passepartout-chat-fork (count)
  "Have COUNT models answer the question at point, side by side.
Each looks up what it likes, and none of them changes anything or has
you asked.  The chat goes on from the first answer until
\\<passepartout-chat-mode-map>\\[passepartout-chat-promote] on another \
one says otherwise.  COUNT is the prefix argument, or read."
  (interactive (list (passepartout-chat--count current-prefix-arg)))
  (passepartout-chat--ask-several "fork" count))

;;;; The other answers

(defun passepartout-chat--answer-title (by)
  "Return the title of an answer of BY that the chat does not go on from."
  (concat "Answer of "
          (replace-regexp-in-string "[][<>{}]" ""
                                    (passepartout-view-line by 80))))

(defun passepartout-chat--add-others (at payload)
  "Insert at the marker AT the answers beside the one of the turn in PAYLOAD.
They are folded, and no part of that answer."
  (dolist (other (plist-get payload :others))
    (goto-char at)
    (insert "\n\n")
    (let ((from (point)))
      (insert (save-excursion
                (passepartout-chat--to-turn)
                (make-string (1+ (passepartout-chat--level)) ?*))
              " "
              (passepartout-chat--answer-title
               (format "%s (%s)" (plist-get other :model)
                       (plist-get other :provider)))
              "\n:PROPERTIES:\n:PP_ROLE: aside\n:END:\n"
              (string-trim-right (or (plist-get other :text) ""))
              "\n\n"
              (passepartout-chat--drawer
               (append (list :turn (plist-get payload :turn)) other)))
      (passepartout-chat--hide-roles from at)
      (goto-char from)
      (passepartout-chat--fold-answer))))

;;;; Going on from another answer

(defun passepartout-chat--drawer-line (label end)
  "Return what the drawer of the answer at point, up to END, says of LABEL."
  (save-excursion
    (goto-char end)
    (and (re-search-backward "^:PASSEPARTOUT:[ \t]*$"
                             (passepartout-chat--body-start-of end) t)
         (re-search-forward (format "^- %s :: \\(.*\\)$" label) end t)
         (match-string-no-properties 1))))

(defun passepartout-chat--body-start-of (end)
  "Return where the answer that END is the end of begins."
  (save-excursion
    (goto-char end)
    (if (re-search-backward "^\\*\\*+ " nil t) (point) (point-min))))

(defun passepartout-chat--followed (turn)
  "Return where the answer of TURN stands that the chat goes on from, or nil.
It is one below the question that point is in.  Where no drawer says
which it is, as somebody took drawers away, it is the only one that
there is; signal an error when there are several."
  (save-excursion
    (when (passepartout-chat--to-turn)
      (let ((end (passepartout-chat--turn-end))
            (all nil)
            (found nil))
        (while (and (not found) (passepartout-chat--find-answer end))
          (save-excursion
            (forward-line 0)
            (when (equal (passepartout-chat--role) "assistant")
              (push (point) all)
              (when (and turn
                         (equal turn (passepartout-chat--drawer-line
                                      "turn" (passepartout-chat--answer-end))))
                (setq found (point))))))
        (cond (found)
              ((cdr all)
               (user-error
                (concat "No drawer says which of %d answers this one stands "
                        "beside; put “aside” for the PP_ROLE of those that "
                        "the chat does not go on from")
                (length all)))
              (t (car all)))))))

(defun passepartout-chat--retitle (title role)
  "Give the answer at point TITLE and ROLE, and hide its role."
  (forward-line 0)
  (looking-at "^\\(\\*\\*+\\) .*$")
  (replace-match (concat (match-string 1) " " title) t t)
  (when (re-search-forward "^[ \t]*:PP_ROLE:.*$"
                           (passepartout-chat--answer-end) t)
    (replace-match (concat ":PP_ROLE: " role) t t))
  (re-search-backward "^\\*\\*+ ")
  (passepartout-chat--hide-roles (point) (passepartout-chat--answer-end)))

(defun passepartout-chat-promote ()
  "Let the chat go on from the answer at point.
It is one of several to the same question.  The one that the chat went
on from until now stays, folded; models are told of it by its first line
alone, and can read it."
  (interactive)
  (passepartout-chat--check)
  (let ((start (org-with-wide-buffer
                (end-of-line)
                (and (re-search-backward "^\\*+ " nil t)
                     (point))))
        later)
    (pcase (and start (org-with-wide-buffer
                       (goto-char start)
                       (passepartout-chat--role)))
      ("aside")
      ("assistant" (user-error "The chat goes on from this answer already"))
      (_ (user-error "Put point on another answer to the same question")))
    (org-with-wide-buffer
     (goto-char start)
     (let* ((here (copy-marker start))
            (turn (passepartout-chat--drawer-line
                   "turn" (passepartout-chat--answer-end)))
            (before (passepartout-chat--followed turn)))
       (when before
         (save-excursion
           (goto-char before)
           (let ((by (passepartout-chat--drawer-line
                      "model" (passepartout-chat--answer-end))))
             (passepartout-chat--retitle
              (passepartout-chat--answer-title (or by "another model"))
              "aside"))
           (passepartout-chat--fold-answer)))
       (goto-char here)
       (passepartout-chat--retitle "Answer" "assistant")
       (setq start (point))
       (set-marker here nil)
       (setq later (save-excursion
                     (goto-char (progn (passepartout-chat--to-turn)
                                       (passepartout-chat--turn-end)))
                     (and (looking-at-p "^\\*+ ")
                          (passepartout-chat--role))))))
    (goto-char start)
    (if (fboundp 'org-fold-show-subtree)
        (org-fold-show-subtree)
      (with-no-warnings (org-show-subtree)))
    (org-with-wide-buffer
     (passepartout-chat--fold-drawer))
    (message "The chat goes on from this answer%s"
             (if later "; what was asked since stays as it is" ""))))

(defun passepartout-chat--fold-drawer ()
  "Fold the drawer of the answer at point."
  (let ((end (passepartout-chat--answer-end)))
    (when (re-search-forward "^:PASSEPARTOUT:[ \t]*$" end t)
      (passepartout-chat--fold (point) end 'drawer))))

(provide 'passepartout-chat-fork)
;;; passepartout-chat-fork.el ends here
