;;; passepartout-chat-place.el --- Where an answer stands in a chat  -*- lexical-binding: t; -*-

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

;; An answer gets its place when its turn begins.  Should you revert the
;; buffer meanwhile, or undo what has arrived, the answer finds or makes
;; itself a place again, with all that it has said so far.

;;; Code:

(require 'cl-lib)
(require 'org)
(require 'passepartout)
(require 'passepartout-chat-text)
(require 'passepartout-chat-change)
(eval-when-compile (require 'subr-x))

(defvar passepartout-chat-mode)
(declare-function passepartout-chat-mode "passepartout-chat" (&optional arg))

(cl-defstruct (passepartout-chat--turn
               (:constructor passepartout-chat--turn-create)
               (:copier nil))
  "A turn that is going on.
ID is the core's name for it, or nil while it is not known; BUFFER the
chat, never an indirect buffer; FROM the marker of the heading of the
answer and AT the one at which text arrives, both nil while there is no
place yet; SAID what has been inserted, the newest piece first; REVERTS
how often the buffer had been reverted then; NOTE the overlay that says
that it goes on; GAP is non-nil when the next text begins a paragraph,
and `thought' when it follows thoughts; THOUGHTS has the pieces of what
is being thought, the newest first; ASKED, of a question that has a name
of its own, is a cons of the payload that it was sent with and its
session: by that name it can be sent again, and nobody is asked twice;
DOING is the act that is being carried out, in a line, or nil."
  id buffer from at said (reverts 0) note gap thoughts asked doing)

(defvar passepartout-chat--turns nil
  "The turns that are going on, in all chats, the oldest first.")

(defvar-local passepartout-chat--reverts 0
  "How often this chat was read from its file again.")
(put 'passepartout-chat--reverts 'permanent-local t)

;;;; The place of an answer

(defun passepartout-chat--base ()
  "Return the buffer that holds the text of this one."
  (or (buffer-base-buffer) (current-buffer)))

(defun passepartout-chat--begin-turn (turn)
  "Let TURN be one that goes on."
  (setq passepartout-chat--turns
        (append passepartout-chat--turns (list turn))))

(defun passepartout-chat--open-answer (turn)
  "Give TURN an answer at the end of the question that point is in.
For undo it is a step of its own, with all that arrives in it."
  (let ((start (point))
        (further (save-excursion
                   (passepartout-chat--find-answer
                    (passepartout-chat--turn-end))))
        (stars (make-string (1+ (passepartout-chat--level)) ?*))
        from)
    (undo-boundary)
    (goto-char (passepartout-chat--turn-end))
    (skip-chars-backward " \t\n")
    (delete-region (point) (progn (skip-chars-forward " \t\n") (point)))
    (insert (if further "\n" "") "\n")
    (setq from (point-marker))
    (insert stars " Answer\n:PROPERTIES:\n:PP_ROLE: assistant\n:END:\n")
    (passepartout-chat--put-turn turn from (point-marker))
    (save-excursion (insert (if (eobp) "\n" "\n\n")))
    (set-marker-insertion-type (passepartout-chat--turn-at turn) t)
    (undo-boundary)
    (passepartout-chat--hide-roles start (point))))

(defun passepartout-chat--put-turn (turn from at)
  "Let the answer of TURN begin at the marker FROM and go on at AT."
  (when (passepartout-chat--turn-note turn)
    (delete-overlay (passepartout-chat--turn-note turn)))
  (let ((note (make-overlay at at nil t t)))
    (overlay-put note 'before-string
                 (propertize "…" 'face 'passepartout-quiet))
    (setf (passepartout-chat--turn-from turn) from
          (passepartout-chat--turn-at turn) at
          (passepartout-chat--turn-reverts turn) passepartout-chat--reverts
          (passepartout-chat--turn-note turn) note)))

;;;; An answer that has lost its place

(defun passepartout-chat--reverted ()
  "Go on being a chat after the buffer was read from its file again."
  (setq passepartout-chat--reverts (1+ passepartout-chat--reverts))
  (when (and (derived-mode-p 'org-mode) (passepartout-chat--session))
    (if passepartout-chat-mode
        (passepartout-chat--hide-all)
      (passepartout-chat-mode 1)))
  (passepartout-chat--release))

(defun passepartout-chat--ensure-place (turn)
  "Make sure that what TURN has said stands in the chat, and can go on.
You may have reverted the buffer, or undone what had arrived.  Widened
is what this expects the buffer to be."
  (let ((reverted (/= (passepartout-chat--turn-reverts turn)
                      passepartout-chat--reverts)))
    (when (or reverted (not (passepartout-chat--in-place-p turn)))
      (let* ((said (passepartout-chat--so-far turn))
             (question (passepartout-chat--question-of turn reverted))
             (found (and reverted question
                         (passepartout-chat--find-said question said))))
        (cond
         (found
          (passepartout-chat--put-turn
           turn (copy-marker (car found)) (copy-marker (cdr found) t))
          (setq said (substring said (- (cdr found)
                                        (progn (goto-char (car found))
                                               (passepartout-chat--body-start))))))
         (question
          (goto-char question)
          (passepartout-chat--open-answer turn)))
        (when question
          (goto-char (passepartout-chat--turn-at turn))
          (insert said))))))

(defun passepartout-chat--so-far (turn)
  "Return the text of the answer of TURN so far."
  (apply #'concat (reverse (passepartout-chat--turn-said turn))))

(defun passepartout-chat--in-place-p (turn)
  "Return non-nil when the heading of the answer of TURN stands where it was."
  (let ((from (passepartout-chat--turn-from turn)))
    (and from
         (< from (passepartout-chat--turn-at turn))
         (save-excursion
           (goto-char from)
           (looking-at-p "\\*\\*+ ")))))

(defun passepartout-chat--question-of (turn reverted)
  "Return where the question stands that TURN answers, or nil.
When the buffer was REVERTED and the answer is gone, it is the last one."
  (let ((from (passepartout-chat--turn-from turn)))
    (save-excursion
      (if (and from (or (not reverted) (passepartout-chat--in-place-p turn)))
          (progn (goto-char from)
                 (passepartout-chat--to-turn))
        (goto-char (point-max))
        (and (passepartout-chat--to-asked nil) (point))))))

(defun passepartout-chat--find-said (question said)
  "Return where below QUESTION an answer stands that is a beginning of SAID.
It is a cons of where its heading and where the end of its text is."
  (save-excursion
    (goto-char question)
    (let ((end (passepartout-chat--turn-end))
          (found nil))
      (while (passepartout-chat--find-answer end)
        (let* ((from (line-beginning-position))
               (body (passepartout-chat--body-start))
               (stop (save-excursion
                       (if (re-search-forward "^\\*\\*+ " end t)
                           (match-beginning 0)
                         end)))
               (text (buffer-substring-no-properties (min body stop) stop))
               (same (compare-strings text nil nil said nil nil))
               (same (if (eq same t) (length text) (1- (abs same)))))
          (when (string-match-p "\\`[ \t\n]*\\'" (substring text same))
            (setq found (cons from (+ body same))))))
      found)))

(defun passepartout-chat--to-asked (turn)
  "Go to the question that TURN answers, or to the last one that was asked."
  (if (and turn
           (passepartout-chat--find-in-drawer
            (concat "^- turn :: " (regexp-quote turn) "$")))
      ;; It may be one of a branch.
      (and (passepartout-chat--to-turn)
           (equal (passepartout-chat--role) "user"))
    (let ((found nil))
      (while (and (not found) (re-search-backward "^\\* " nil t))
        (setq found (equal (passepartout-chat--role) "user")))
      found)))

;;;; The place of the next question

(defun passepartout-chat--to-branching ()
  "Go to the heading of the answer that a branch from here begins at.
That is the answer that point is in, or the one to the question that it
is in.  Return point, or nil when there is none."
  (end-of-line)
  (let ((found (re-search-backward "^\\*+ " nil t)))
    (while (and found
                (not (passepartout-chat--answer-p))
                (not (passepartout-chat--question-p)))
      (setq found (re-search-backward
                   (passepartout-chat--heading-up-to
                    (max 1 (1- (passepartout-chat--level))))
                   nil t)))
    (cond ((null found) nil)
          ((passepartout-chat--answer-p) (point))
          (t (let ((end (passepartout-chat--turn-end)) (last nil))
               (while (passepartout-chat--find-answer end)
                 (save-excursion
                   (forward-line 0)
                   (when (equal (passepartout-chat--role) "assistant")
                     (setq last (point)))))
               (and last (goto-char last)))))))

(defun passepartout-chat--open-branch ()
  "Put a heading for a question below the answer whose heading point is at.
Point is then where the question is written.  One that stands there
already, and nothing in it, is taken."
  (let* ((stars (make-string (1+ (passepartout-chat--level)) ?*))
         (end (passepartout-chat--turn-end))
         (empty (save-excursion
                  (and (re-search-forward (format "^%s *$" (regexp-quote stars))
                                          end t)
                       (progn (forward-line 0)
                              (passepartout-chat--prompt-p))
                       (line-end-position)))))
    (if empty
        (goto-char empty)
      ;; Not right behind an answer that arrives: it would go on there.
      (goto-char end)
      (unless (bolp) (insert "\n"))
      (insert stars " ")
      (save-excursion (insert (if (eobp) "\n" "\n\n"))))))

(defun passepartout-chat--ensure-prompt ()
  "Make sure that the chat ends in a heading that has not been asked."
  (save-excursion
    (goto-char (point-max))
    (unless (and (passepartout-chat--to-main-turn)
                 (not (passepartout-chat--role)))
      (goto-char (point-max))
      (unless (bolp) (insert "\n"))
      (insert "\n* ")))
  (passepartout-chat--prompt-hint))

(defun passepartout-chat--make-room (start)
  "Scroll so that there is room for an answer to the question at START.
This happens once, when you send; afterwards the window stays."
  (when (and (eq (window-buffer) (current-buffer))
             (not noninteractive))
    (let ((below (count-screen-lines (point) (window-end nil t))))
      (when (< below (/ (window-body-height) 2))
        (set-window-start nil (save-excursion
                                (goto-char start)
                                (forward-line -1)
                                (point)))))))

(defun passepartout-chat--to-prompt ()
  "Go to where the next question is written.
That is at its heading while nothing is written but what goes along."
  (let ((heading (save-excursion
                   (goto-char (point-max))
                   (and (passepartout-chat--to-main-turn)
                        (passepartout-chat--prompt-p)
                        (line-end-position)))))
    (goto-char (or heading (point-max)))))

(defun passepartout-chat--prompt-p ()
  "Return non-nil when nothing is written yet in the question at point.
Point is at its heading.  What goes along is no part of it."
  (and (looking-at-p "\\*+ *$")
       (not (passepartout-chat--role))
       (string-empty-p (passepartout-chat--message))))

(defun passepartout-chat--prompt-hint ()
  "Show, after an empty last heading, what can be done there.
The hint is no part of the text."
  (save-excursion
    (goto-char (point-max))
    (remove-overlays (point-min) (point-max) 'passepartout-chat-hint t)
    (when (and (passepartout-chat--to-main-turn)
               (looking-at-p "\\* $")
               (passepartout-chat--prompt-p))
      (let ((overlay (make-overlay (point) (line-end-position) nil t t))
            (gone (lambda (overlay after &rest _)
                    (when after (delete-overlay overlay)))))
        (overlay-put overlay 'passepartout-chat-hint t)
        (overlay-put overlay 'after-string
                     (propertize "ask here, send with C-c RET"
                                 'face 'passepartout-quiet 'cursor t))
        (overlay-put overlay 'modification-hooks (list gone))
        (overlay-put overlay 'insert-behind-hooks (list gone))))))

(provide 'passepartout-chat-place)
;;; passepartout-chat-place.el ends here
