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
(require 'passepartout-chat-change)
(require 'passepartout-chat-place)
(require 'passepartout-chat-below)
(require 'passepartout-chat-fork)
(require 'passepartout-chat-head)
(eval-when-compile (require 'subr-x))

(defvar passepartout-chat-mode)

;;;; What arrives

(defun passepartout-chat--find-buffer (session)
  "Return the live chat of SESSION, or nil."
  (and session
       (passepartout-abroad-here-p session)
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
         (follows (plist-get payload :follows))
         (buffer (passepartout-chat--find-buffer
                  (plist-get meta :session-id)))
         (waiting (and (not follows)
                       (seq-find
                        (lambda (turn)
                          (and (eq (passepartout-chat--turn-buffer turn) buffer)
                               (not (passepartout-chat--turn-id turn))))
                        passepartout-chat--turns))))
    (cond
     ((or (null buffer) (passepartout-chat--find-turn id)))
     (waiting (setf (passepartout-chat--turn-id waiting) id))
     (t (let ((turn (passepartout-chat--turn-create :id id :buffer buffer)))
          (passepartout-chat--begin-turn turn)
          (passepartout-chat--change
           buffer (lambda () (passepartout-chat--go-on turn follows))))))
    (when buffer
      (with-current-buffer buffer (passepartout-chat--show-state)))))

(defun passepartout-chat--go-on (turn follows)
  "Open a further answer, of TURN, in the current buffer.
It stands below the question that the turn FOLLOWS belongs to, or below
the last question when that turn cannot be found."
  (org-with-wide-buffer
   (goto-char (point-max))
   (when (passepartout-chat--to-asked follows)
     (passepartout-chat--open-answer turn))))

(defun passepartout-chat--act (payload _meta)
  "Show in the header line what is done in the turn of PAYLOAD."
  (let ((turn (passepartout-chat--find-turn (plist-get payload :turn))))
    (when turn
      (setf (passepartout-chat--turn-doing turn)
            (and (eq (plist-get payload :state) :begun)
                 (passepartout-view-line (or (plist-get payload :summary)
                                             (plist-get payload :tool)
                                             "an act")
                                         40)))
      (let ((buffer (passepartout-chat--turn-buffer turn)))
        (when (buffer-live-p buffer)
          (with-current-buffer buffer
            (passepartout-chat--show-state)))))))

(defun passepartout-chat--doing (base)
  "Return what is being done for an answer in the chat BASE, or nil."
  (seq-some (lambda (turn)
              (and (eq (passepartout-chat--turn-buffer turn) base)
                   (passepartout-chat--turn-doing turn)))
            passepartout-chat--turns))

(defun passepartout-chat--chunk (payload _meta)
  "Insert the text in PAYLOAD into its answer; keep thoughts until they end."
  (let ((turn (passepartout-chat--find-turn (plist-get payload :turn)))
        (text (plist-get payload :text))
        (thought (plist-get payload :thought)))
    (cond
     ((null turn))
     ((and thought (not (string-empty-p thought)))
      (push thought (passepartout-chat--turn-thoughts turn))
      (passepartout-chat--note-thinking turn))
     (t
      (passepartout-chat--change
       (passepartout-chat--turn-buffer turn)
       (lambda ()
         (passepartout-chat--end-thoughts turn (plist-get payload :tokens))
         (cond (thought)
               ((or (null text) (string-empty-p text))
                (setf (passepartout-chat--turn-gap turn) t))
               (t (passepartout-chat--insert turn text)))))))))

(defun passepartout-chat--note-thinking (turn)
  "Say where the answer of TURN will stand that the model is thinking."
  (let ((note (passepartout-chat--turn-note turn)))
    (when note
      (overlay-put note 'before-string
                   (propertize "thinking…" 'face 'passepartout-quiet)))))

(defun passepartout-chat--end-thoughts (turn tokens)
  "Insert what was thought in TURN, if anything; it took TOKENS.
It stands in a folded drawer, in the current buffer."
  (let ((text (apply #'concat
                     (nreverse (passepartout-chat--turn-thoughts turn)))))
    (setf (passepartout-chat--turn-thoughts turn) nil)
    (unless (string-blank-p text)
      (setf (passepartout-chat--turn-gap turn)
            (and (passepartout-chat--turn-said turn) t))
      (passepartout-chat--insert
       turn (passepartout-chat--thought-drawer text tokens))
      (setf (passepartout-chat--turn-gap turn) 'thought)
      (when (passepartout-chat--turn-at turn)
        (passepartout-chat--fold-thoughts
         (marker-position (passepartout-chat--turn-at turn)))))))

(defun passepartout-chat--fold-thoughts (end)
  "Fold the drawer of thoughts that ends at END."
  (org-with-wide-buffer
   (goto-char end)
   (when (re-search-backward passepartout-chat--thought-regexp nil t)
     (passepartout-chat--label-thoughts (point) (line-end-position))
     (unless (org-invisible-p)
       (passepartout-chat--fold (line-end-position) (1- end) 'drawer)))))

(defun passepartout-chat--insert (turn text)
  "Insert TEXT at the end of the answer of TURN, in the current buffer.
Point and windows stay; in a folded answer the text is folded too."
  (save-excursion
    (save-restriction
      (widen)
      (passepartout-chat--ensure-place turn)
      (let ((at (passepartout-chat--turn-at turn)))
        (when at
          (passepartout-chat--insert-at turn at text))))))

(defun passepartout-chat--insert-at (turn at text)
  "Insert TEXT, of the answer of TURN, at the marker AT."
  (let* ((from (marker-position at))
         (folded (org-invisible-p
                  (if (eq (passepartout-chat--turn-gap turn) 'thought)
                      ;; What was thought is folded, whatever else is.
                      (save-excursion
                        (goto-char (passepartout-chat--turn-from turn))
                        (line-end-position))
                    (max (point-min) (- from 2))))))
    (goto-char from)
    (when (passepartout-chat--turn-note turn)
      (delete-overlay (passepartout-chat--turn-note turn))
      (setf (passepartout-chat--turn-note turn) nil)
      (unless (passepartout-chat--turn-said turn)
        (setf (passepartout-chat--turn-gap turn) nil)))
    (pcase (passepartout-chat--turn-gap turn)
      ('nil)
      ('thought (setq text (string-trim-left text "\n+")))
      (_ (setq text (concat (if (bolp) "\n" "\n\n") text))))
    (unless (string-empty-p text)
      (setf (passepartout-chat--turn-gap turn) nil))
    (insert text)
    (passepartout-chat--colour-blocks turn from (point))
    (push text (passepartout-chat--turn-said turn))
    (when (and folded
               (not (passepartout-chat--only-role-hidden-p from)))
      (passepartout-chat--fold (max (point-min) (1- from)) at
                               'headline))))

(defun passepartout-chat--colour-blocks (turn from to)
  "Have blocks coloured that end between FROM and TO, in the answer of TURN.
Org colours a block as a whole, when it looks at its first line, and
that line had no end yet when it came.  Nothing is coloured here but
what comes into view."
  (save-excursion
    (goto-char from)
    (forward-line 0)
    (let ((case-fold-search t)
          (start (or (passepartout-chat--turn-from turn) (point-min))))
      (while (re-search-forward
              "^[ \t]*#\\+end_\\(src\\|example\\|quote\\)$" to t)
        (let ((kind (match-string-no-properties 1)))
          (save-excursion
            (when (re-search-backward
                   (concat "^[ \t]*#\\+begin_" kind "\\>") start t)
              (font-lock-flush (point) to))))))))

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
      (let ((buffer (passepartout-chat--turn-buffer turn)))
        (unwind-protect
            (passepartout-chat--change
             buffer (lambda ()
                      (setq passepartout-chat--preset
                            (plist-get payload :preset))
                      (passepartout-chat--head-note payload)
                      (passepartout-chat--finish turn payload)
                      (save-restriction
                        (widen)
                        (passepartout-chat--ensure-prompt))
                      (passepartout-chat--go-on-if-idle)))
          (when (buffer-live-p buffer)
            (with-current-buffer buffer
              (passepartout-chat--show-state))))))))

;;;; Where the next question goes

(defvar-local passepartout-chat--sent-at nil
  "Where point was when a question was sent, while you only read since.")

(defconst passepartout-chat--typing
  '(self-insert-command org-self-insert-command yank org-yank)
  "Commands that put text where point is.")

(defun passepartout-chat--note-sent ()
  "Remember that a question was sent from here, while you only read."
  (setq passepartout-chat--sent-at (point))
  (add-hook 'pre-command-hook #'passepartout-chat--before-command nil t))

(defun passepartout-chat--before-command ()
  "Let what you type after you have sent be the next question.
Without this it would land in the question that was just asked, or in
the answer to which you have scrolled."
  (unless (and (symbolp this-command)
               (or (get this-command 'scroll-command)
                   ;; Whoever goes there goes there to write.
                   (eq this-command 'end-of-buffer)))
    (when (and passepartout-chat-go-on
               passepartout-chat--sent-at
               (memq this-command passepartout-chat--typing)
               (not buffer-read-only)
               (not (buffer-narrowed-p))
               (save-excursion
                 (and (passepartout-chat--to-turn)
                      (passepartout-chat--role))))
      (push-mark nil t)
      (if (passepartout-chat--in-branch-p)
          (progn (passepartout-chat--to-branching)
                 (passepartout-chat--open-branch))
        (passepartout-chat--ensure-prompt)
        (passepartout-chat--to-prompt))
      (message "Your next question; C-u C-SPC goes back"))
    (passepartout-chat--forget-sent)))

(defun passepartout-chat--in-branch-p ()
  "Return non-nil when point is in a branch of this chat."
  (save-excursion
    (and (passepartout-chat--to-turn)
         (> (passepartout-chat--level) 1))))

(defun passepartout-chat--forget-sent ()
  "Forget that a question was sent: you have done something since."
  (setq passepartout-chat--sent-at nil)
  (remove-hook 'pre-command-hook #'passepartout-chat--before-command t))

(defun passepartout-chat--go-on-if-idle ()
  "Put point where the next question goes, if you have only waited.
Nothing happens when you gave any command since you sent, when the chat
is not the window you are in, or when the place is not in view: point
and scroll are yours."
  (when (and passepartout-chat--sent-at
             passepartout-chat-go-on
             (= (point) passepartout-chat--sent-at)
             (not (passepartout-chat--in-branch-p))
             (eq (current-buffer) (window-buffer (selected-window)))
             (pos-visible-in-window-p (point-max)))
    (passepartout-chat--to-prompt)
    (passepartout-chat--forget-sent)))

(defun passepartout-chat--finish (turn payload)
  "Write below the answer of TURN what PAYLOAD reports about it."
  (let ((notice (plist-get payload :text))
        (status (plist-get payload :status))
        (below (passepartout-chat--below
                payload (passepartout-chat--without-thoughts
                         (passepartout-chat--so-far turn)))))
    (passepartout-chat--end-thoughts turn nil)
    (setf (passepartout-chat--turn-gap turn) t)
    (when (equal status "interrupted")
      (setq notice (or notice "Interrupted.")))
    (when (equal status "failed")
      (setq notice (or notice "This turn failed; M-x passepartout-log says why.")))
    (when notice
      (passepartout-chat--insert turn (string-trim-right
                                       (passepartout-view-fixed notice)))
      (setf (passepartout-chat--turn-gap turn) t))
    (dolist (text (list below (passepartout-chat--refused payload)))
      (unless (string-empty-p text)
        (passepartout-chat--insert turn text)
        (setf (passepartout-chat--turn-gap turn) t)))
    (passepartout-chat--insert turn (passepartout-chat--drawer payload))
    (when (passepartout-chat--turn-at turn)
      (passepartout-chat--close turn payload))))

(defun passepartout-chat--close (turn payload)
  "Fold what stands below the answer of TURN, and add the answers beside it.
PAYLOAD has those, and whether the turn is private and marked so."
  (when (plist-get payload :private)
    (passepartout-chat--mark-private (passepartout-chat--turn-at turn)
                                     (plist-get payload :private)))
  (org-with-wide-buffer
   (goto-char (passepartout-chat--turn-at turn))
   (let ((end (point)))
     (when (re-search-backward "^:PASSEPARTOUT:$" nil t)
       (passepartout-chat--fold (line-end-position) end 'drawer)))
   (passepartout-chat--add-others (passepartout-chat--turn-at turn) payload))
  (set-marker (passepartout-chat--turn-from turn) nil)
  (set-marker (passepartout-chat--turn-at turn) nil))

(defun passepartout-chat--mark-private (position private)
  "Mark the question whose answer is at POSITION as PRIVATE.
PRIVATE is \"ask\" or \"warn\"; anything else blocks.
A chat that lies in the memex is then private there as well."
  (org-with-wide-buffer
   (goto-char position)
   (when (passepartout-chat--to-turn)
     (org-entry-put nil "PRIVACY" (if (member private '("ask" "warn"))
                                      private
                                    "private"))
     (passepartout-chat--hide-roles (point) position))))

(defun passepartout-chat--stopped (payload _meta)
  "End every turn that is going on when the core in PAYLOAD has stopped.
Where another core does the work now, questions that have a name of
their own are asked again there.  What goes wrong in one turn keeps none
of the others."
  (when (equal (plist-get payload :state) "stopped")
    (dolist (turn (copy-sequence passepartout-chat--turns))
      (if (and (plist-get payload :lost)
               (passepartout-chat--turn-asked turn)
               (buffer-live-p (passepartout-chat--turn-buffer turn)))
          (passepartout-events--call #'passepartout-chat--ask-again
                                     (list turn))
        (unless (passepartout-chat--turn-id turn)
          (setf (passepartout-chat--turn-id turn) (format "stopped-%s"
                                                          (sxhash-eq turn))))
        (passepartout-events--call
         #'passepartout-chat--done
         (list (list :turn (passepartout-chat--turn-id turn)
                     :status "interrupted"
                     :text (or (plist-get payload :text)
                               "The core was stopped."))
               nil))))))

(defun passepartout-chat--ask-again (turn)
  "Ask the core that does the work now what TURN asked the one before.
The question goes by its name: a core that heard it, or that reads in
the store that it was heard, asks nobody again and says what came of it."
  (when (passepartout-chat--turn-id turn)
    (setf (passepartout-chat--turn-id turn) nil
          (passepartout-chat--turn-doing turn) nil
          (passepartout-chat--turn-thoughts turn) nil)
    (when (passepartout-chat--turn-said turn)
      (passepartout-chat--change
       (passepartout-chat--turn-buffer turn)
       (lambda ()
         (setf (passepartout-chat--turn-gap turn) t)
         (passepartout-chat--insert
          turn (passepartout-view-fixed "The core was lost here."))
         (setf (passepartout-chat--turn-gap turn) t)))))
  (let ((asked (passepartout-chat--turn-asked turn)))
    (passepartout-send-event :user-input (car asked) (cdr asked))))

(defun passepartout-chat--answering-p (base)
  "Return non-nil while an answer arrives in BASE, the buffer of a chat."
  (seq-some (lambda (turn) (eq (passepartout-chat--turn-buffer turn) base))
            passepartout-chat--turns))

;;;; Subscriptions

(passepartout-subscribe :event :turn-started #'passepartout-chat--started)
(passepartout-subscribe :event :act #'passepartout-chat--act)
(passepartout-subscribe :stream-chunk nil #'passepartout-chat--chunk)
(passepartout-subscribe :response :turn-done #'passepartout-chat--done)
(passepartout-subscribe :status nil #'passepartout-chat--stopped)

(provide 'passepartout-chat-answer)
;;; passepartout-chat-answer.el ends here
