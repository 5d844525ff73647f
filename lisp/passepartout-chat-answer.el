;;; passepartout-chat-answer.el --- Answers as they arrive in a chat  -*- lexical-binding: t; -*-

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

;; An answer is inserted at a marker while it arrives.  Point, scroll
;; and the rest of the buffer are left alone, and inserting costs the
;; same however long the answer is.

;;; Code:

(require 'cl-lib)
(require 'org)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(require 'passepartout-status)
(require 'passepartout-chat-text)
(require 'passepartout-chat-below)
(eval-when-compile (require 'subr-x))

(defvar passepartout-chat-mode)

(cl-defstruct (passepartout-chat--turn
               (:constructor passepartout-chat--turn-create)
               (:copier nil))
  "A turn that is going on.
ID is the core's name for it, or nil while it is not known; BUFFER the
chat; AT the marker at which text arrives; NOTE the overlay that says
that it goes on; GAP is non-nil when the next text begins a paragraph."
  id buffer at note gap)

(defvar passepartout-chat--turns nil
  "The turns that are going on, in all chats, the oldest first.")

;;;; The place of an answer

(defun passepartout-chat--open-answer (id)
  "Begin an answer at the end of the turn that point is in.
ID is the core's name of the turn, or nil when it is not known yet."
  (let ((start (point))
        (further (save-excursion
                   (passepartout-chat--find-answer
                    (passepartout-chat--turn-end))))
        at note)
    (goto-char (passepartout-chat--turn-end))
    (skip-chars-backward " \t\n")
    (delete-region (point) (progn (skip-chars-forward " \t\n") (point)))
    (insert (if further "\n" "") "\n** Answer\n:PROPERTIES:\n:PP_ROLE: assistant\n:END:\n")
    (setq at (point-marker))
    (insert (if (eobp) "\n" "\n\n"))
    (set-marker-insertion-type at t)
    (setq note (make-overlay at at nil t t))
    (overlay-put note 'before-string
                 (propertize "…" 'face 'passepartout-quiet))
    (passepartout-chat--hide-roles start (point))
    (let ((turn (passepartout-chat--turn-create
                 :id id :buffer (current-buffer) :at at :note note)))
      (setq passepartout-chat--turns
            (append passepartout-chat--turns (list turn)))
      turn)))

(defun passepartout-chat--ensure-prompt ()
  "Make sure that the chat ends in a heading that has not been asked."
  (save-excursion
    (goto-char (point-max))
    (unless (and (passepartout-chat--to-turn)
                 (not (passepartout-chat--role)))
      (goto-char (point-max))
      (unless (bolp) (insert "\n"))
      (insert "\n* ")))
  (passepartout-chat--prompt-hint))

(defun passepartout-chat--prompt-hint ()
  "Show, after an empty last heading, what can be done there.
The hint is no part of the text."
  (save-excursion
    (goto-char (point-max))
    (forward-line 0)
    (remove-overlays (point-min) (point-max) 'passepartout-chat-hint t)
    (when (looking-at "^\\* $")
      (let ((overlay (make-overlay (point) (point-max) nil nil t))
            (gone (lambda (overlay after &rest _)
                    (when after (delete-overlay overlay)))))
        (overlay-put overlay 'passepartout-chat-hint t)
        (overlay-put overlay 'after-string
                     (propertize "ask here, send with C-c RET"
                                 'face 'passepartout-quiet 'cursor t))
        (overlay-put overlay 'modification-hooks (list gone))
        (overlay-put overlay 'insert-behind-hooks (list gone))))))

;;;; What arrives

(defun passepartout-chat--find-buffer (session)
  "Return the live chat of SESSION, or nil."
  (and session
       (seq-find (lambda (buffer)
                   (and (buffer-local-value 'passepartout-chat-mode buffer)
                        (not (buffer-base-buffer buffer))
                        (equal session
                               (with-current-buffer buffer
                                 (passepartout-chat--session)))))
                 (buffer-list))))

(defun passepartout-chat--find-turn (id)
  "Return the turn called ID that is going on, or nil."
  (and id
       (seq-find (lambda (turn) (equal id (passepartout-chat--turn-id turn)))
                 passepartout-chat--turns)))

(defun passepartout-chat--started (payload meta)
  "Note that the turn in PAYLOAD has started in the session of META.
It answers the oldest question that still waits, or goes on from the
last turn, after a plan was approved or denied."
  (let* ((id (plist-get payload :turn))
         (buffer (passepartout-chat--find-buffer
                  (plist-get meta :session-id)))
         (waiting (and (not (plist-get payload :follows))
                       (seq-find
                        (lambda (turn)
                          (and (eq (passepartout-chat--turn-buffer turn) buffer)
                               (not (passepartout-chat--turn-id turn))))
                        passepartout-chat--turns))))
    (cond
     ((or (null buffer) (passepartout-chat--find-turn id)))
     (waiting (setf (passepartout-chat--turn-id waiting) id))
     (t (passepartout-chat--go-on buffer id (plist-get payload :follows))))
    (when buffer
      (with-current-buffer buffer (passepartout-chat--show-state)))))

(defun passepartout-chat--go-on (buffer id follows)
  "Open a further answer, of the turn ID, in BUFFER.
It stands below the question that the turn FOLLOWS belongs to, or below
the last question when that turn cannot be found."
  (with-current-buffer buffer
    (org-with-wide-buffer
     (goto-char (point-max))
     (when (passepartout-chat--to-asked follows)
       (passepartout-chat--open-answer id)))))

(defun passepartout-chat--to-asked (turn)
  "Go to the question that TURN answers, or to the last one that was asked."
  (when turn
    (re-search-backward (concat "^- turn :: " (regexp-quote turn) "$") nil t))
  (let ((found nil))
    (while (and (not found) (re-search-backward "^\\* " nil t))
      (setq found (equal (passepartout-chat--role) "user")))
    found))

(defun passepartout-chat--chunk (payload _meta)
  "Insert the text in PAYLOAD into its answer."
  (let ((turn (passepartout-chat--find-turn (plist-get payload :turn)))
        (text (plist-get payload :text)))
    (when (and turn (buffer-live-p (passepartout-chat--turn-buffer turn)))
      (if (or (null text) (string-empty-p text))
          (setf (passepartout-chat--turn-gap turn) t)
        (passepartout-chat--insert turn text)))))

(defun passepartout-chat--insert (turn text)
  "Insert TEXT at the end of the answer of TURN.
Point and windows stay; in a folded answer the text is folded too."
  (with-current-buffer (passepartout-chat--turn-buffer turn)
    (save-excursion
      (save-restriction
        (widen)
        (let* ((inhibit-read-only t)
               (at (passepartout-chat--turn-at turn))
               (from (marker-position at))
               (folded (org-invisible-p (max (point-min) (- from 2)))))
          (goto-char from)
          (when (passepartout-chat--turn-note turn)
            (delete-overlay (passepartout-chat--turn-note turn))
            (setf (passepartout-chat--turn-note turn) nil
                  (passepartout-chat--turn-gap turn) nil))
          (when (passepartout-chat--turn-gap turn)
            (setf (passepartout-chat--turn-gap turn) nil)
            (insert (if (bolp) "\n" "\n\n")))
          (insert text)
          (when (and folded
                     (not (passepartout-chat--only-role-hidden-p from)))
            (passepartout-chat--fold (max (point-min) (1- from)) at
                                     'headline)))))))

(defun passepartout-chat--only-role-hidden-p (position)
  "Return non-nil when what is hidden before POSITION is a role's drawer."
  (seq-some (lambda (overlay)
              (overlay-get overlay 'passepartout-chat-role))
            (overlays-at (max (point-min) (- position 2)))))

(defun passepartout-chat--done (payload _meta)
  "Finish the answer of the turn in PAYLOAD."
  (let ((turn (passepartout-chat--find-turn (plist-get payload :turn))))
    (when turn
      (setq passepartout-chat--turns (delq turn passepartout-chat--turns))
      (when (buffer-live-p (passepartout-chat--turn-buffer turn))
        (passepartout-chat--finish turn payload)
        (with-current-buffer (passepartout-chat--turn-buffer turn)
          (save-restriction
            (widen)
            (passepartout-chat--ensure-prompt))
          (passepartout-chat--go-on-if-idle)
          (passepartout-chat--show-state))))))

;;;; Where the next question goes

(defvar-local passepartout-chat--sent-at nil
  "Where point was when a question was sent, while no command came since.")

(defun passepartout-chat--note-sent ()
  "Remember that a question was sent from here, until the next command."
  (setq passepartout-chat--sent-at (point))
  (add-hook 'pre-command-hook #'passepartout-chat--forget-sent nil t))

(defun passepartout-chat--forget-sent ()
  "Forget that a question was sent: you have done something since."
  (setq passepartout-chat--sent-at nil)
  (remove-hook 'pre-command-hook #'passepartout-chat--forget-sent t))

(defun passepartout-chat--go-on-if-idle ()
  "Put point where the next question goes, if you have only waited.
Nothing happens when you gave any command since you sent, when the chat
is not the window you are in, or when the place is not in view: point
and scroll are yours."
  (when (and passepartout-chat--sent-at
             passepartout-chat-go-on
             (= (point) passepartout-chat--sent-at)
             (eq (current-buffer) (window-buffer (selected-window)))
             (pos-visible-in-window-p (point-max)))
    (goto-char (point-max))
    (passepartout-chat--forget-sent)))

(defun passepartout-chat--finish (turn payload)
  "Write below the answer of TURN what PAYLOAD reports about it."
  (let ((notice (plist-get payload :text))
        (status (plist-get payload :status))
        (below (passepartout-chat--below
                payload (passepartout-chat--so-far turn))))
    (setf (passepartout-chat--turn-gap turn) t)
    (when (equal status "interrupted")
      (setq notice (or notice "Interrupted.")))
    (when (equal status "failed")
      (setq notice (or notice "This turn failed; M-x passepartout-log says why.")))
    (when notice
      (passepartout-chat--insert turn (string-trim-right
                                       (passepartout-view-fixed notice)))
      (setf (passepartout-chat--turn-gap turn) t))
    (unless (string-empty-p below)
      (passepartout-chat--insert turn below)
      (setf (passepartout-chat--turn-gap turn) t))
    (passepartout-chat--insert turn (passepartout-chat--drawer payload))
    (with-current-buffer (passepartout-chat--turn-buffer turn)
      (when (plist-get payload :private)
        (passepartout-chat--mark-private (passepartout-chat--turn-at turn)))
      (org-with-wide-buffer
       (goto-char (passepartout-chat--turn-at turn))
       (let ((end (point)))
         (when (re-search-backward "^:PASSEPARTOUT:$" nil t)
           (passepartout-chat--fold (line-end-position) end 'drawer))))
      (set-marker (passepartout-chat--turn-at turn) nil))))

(defun passepartout-chat--mark-private (position)
  "Mark the question whose answer is at POSITION as private.
A chat that lies in the memex is then private there as well."
  (org-with-wide-buffer
   (goto-char position)
   (when (passepartout-chat--to-turn)
     (let ((inhibit-read-only t))
       (org-entry-put nil "PRIVACY" "private"))
     (passepartout-chat--hide-roles (point) position))))

(defun passepartout-chat--so-far (turn)
  "Return the text of the answer of TURN so far."
  (with-current-buffer (passepartout-chat--turn-buffer turn)
    (org-with-wide-buffer
     (goto-char (passepartout-chat--turn-at turn))
     (let ((end (point)))
       (re-search-backward "^\\*\\* " nil t)
       (buffer-substring-no-properties (point) end)))))

(defun passepartout-chat--stopped (payload _meta)
  "End every turn that is going on when the core in PAYLOAD has stopped."
  (when (equal (plist-get payload :state) "stopped")
    (dolist (turn passepartout-chat--turns)
      (unless (passepartout-chat--turn-id turn)
        (setf (passepartout-chat--turn-id turn) "stopped"))
      (passepartout-chat--done
       (list :turn (passepartout-chat--turn-id turn)
             :status "interrupted" :text "The core was stopped.")
       nil))))

;;;; State in the header line

(defvar-local passepartout-chat--header nil
  "The text of the header line.")

(defun passepartout-chat--show-state ()
  "Bring the header line of this chat up to date."
  (let* ((going (seq-some (lambda (turn)
                            (eq (passepartout-chat--turn-buffer turn)
                                (current-buffer)))
                          passepartout-chat--turns))
         (header (concat
                  " Passepartout  "
                  (if going
                      (propertize "answering" 'face 'passepartout-attention)
                    (passepartout-status-text))
                  (propertize (cond (going "  C-c C-k stops it")
                                    ((> (passepartout-status--count) 0)
                                     "  M-x passepartout-flight-plans")
                                    (t "  C-c RET sends"))
                              'face 'passepartout-quiet))))
    (unless (equal header passepartout-chat--header)
      (setq passepartout-chat--header header)
      (force-mode-line-update))))

(defun passepartout-chat--status (_payload _meta)
  "Bring the header lines of the chats up to date."
  (dolist (buffer (buffer-list))
    (when (buffer-local-value 'passepartout-chat-mode buffer)
      (with-current-buffer buffer
        (passepartout-chat--show-state)))))

;;;; Subscriptions

(passepartout-subscribe :event :turn-started #'passepartout-chat--started)
(passepartout-subscribe :stream-chunk nil #'passepartout-chat--chunk)
(passepartout-subscribe :response :turn-done #'passepartout-chat--done)
(passepartout-subscribe :status nil #'passepartout-chat--status)
(passepartout-subscribe :status nil #'passepartout-chat--stopped)

(provide 'passepartout-chat-answer)
;;; passepartout-chat-answer.el ends here
