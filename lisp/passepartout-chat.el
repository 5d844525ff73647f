;;; passepartout-chat.el --- Talk to the agent in an Org buffer  -*- lexical-binding: t; -*-

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

;; A chat is a normal Org file.  Each turn is a heading: what you write
;; under it is the question, and the answer becomes a heading below it.
;; The property PP_ROLE says who speaks; the file's property PP_CHAT
;; names the conversation.  What is sent as history is read from the
;; file, so that editing the file edits the history.
;;
;; An answer is inserted at a marker while it arrives.  Point, scroll
;; and the rest of the buffer are left alone, and inserting costs the
;; same however long the answer is.
;;
;; The core makes the text of models and notes inert before it sends it.
;; This file does not rely on that alone: in a chat no local variables
;; are used, no set-up file is read, no keyword is followed on export,
;; and Org asks before it runs anything.

;;; Code:

(require 'cl-lib)
(require 'org)
(require 'org-element)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(require 'passepartout-status)
(eval-when-compile (require 'subr-x))

(declare-function passepartout-plan-visit "passepartout-plan" (id))
(declare-function org-fold-region "ext:org-fold"
                  (from to flag &optional spec))
(declare-function org-flag-region "org-compat" (from to flag spec))
(defvar org-export-use-babel)
(defvar org-export-before-processing-hook)

(defconst passepartout-chat--history-bytes 32768
  "How many bytes of earlier turns are sent with a question.")

(defconst passepartout-chat--last-words
  '("answered" "parked" "interrupted" "failed")
  "What a turn can have come to.")

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

(defvar passepartout-chat-mode)

;;;; The text of a chat

(defun passepartout-chat--session ()
  "Return the name of the conversation of this buffer, or nil."
  (org-with-wide-buffer
   (goto-char (point-min))
   (let ((case-fold-search t))
     (when (re-search-forward "^:PP_CHAT:[ \t]+\\([^ \t\n]+\\)"
                              (min (point-max) 2000) t)
       (match-string-no-properties 1)))))

(defun passepartout-chat--new-session ()
  "Return a fresh name for a conversation."
  (format "%s-%04x" (format-time-string "%Y%m%dT%H%M%S") (random 65536)))

(defun passepartout-chat--role ()
  "Return the role of the heading at point as a string, or nil."
  (save-excursion
    (forward-line 1)
    (when (looking-at-p org-property-drawer-re)
      (let ((end (save-excursion
                   (re-search-forward "^[ \t]*:END:" nil t)))
            (case-fold-search t))
        (when (re-search-forward "^[ \t]*:PP_ROLE:[ \t]+\\([a-z]+\\)" end t)
          (match-string-no-properties 1))))))

(defun passepartout-chat--to-turn ()
  "Go to the heading of the turn that point is in; nil when there is none."
  (end-of-line)
  (when (re-search-backward "^\\* " nil t)
    (point)))

(defun passepartout-chat--turn-end ()
  "Return the end of the turn whose heading point is at."
  (save-excursion
    (forward-line 1)
    (if (re-search-forward "^\\* " nil t)
        (match-beginning 0)
      (point-max))))

(defun passepartout-chat--body-start ()
  "Return where the text begins below the heading at point."
  (save-excursion
    (forward-line 1)
    (when (looking-at org-property-drawer-re)
      (goto-char (match-end 0))
      (forward-line 1))
    (point)))

(defun passepartout-chat--message ()
  "Return what the turn whose heading point is at asks."
  (let ((title (save-excursion
                 (forward-char 2)
                 (buffer-substring-no-properties
                  (point) (line-end-position))))
        (end (save-excursion
               (let ((end (passepartout-chat--turn-end)))
                 (if (passepartout-chat--find-answer end)
                     (match-beginning 0)
                   end))))
        (start (passepartout-chat--body-start)))
    (string-trim
     (concat title "\n"
             (and (< start end)
                  (buffer-substring-no-properties start end))))))

(defun passepartout-chat--find-answer (end)
  "Search forward, up to END, for the heading of an answer.
The match data then has its beginning; point is after the heading."
  (let ((found nil))
    (while (and (not found) (re-search-forward "^\\*\\* " end t))
      (when (save-excursion
              (save-match-data
                (beginning-of-line)
                (equal (passepartout-chat--role) "assistant")))
        (setq found t)))
    found))

(defun passepartout-chat--answer-text (start end)
  "Return the text of the answer between START and END, without its drawer."
  (save-excursion
    (goto-char start)
    (let ((drawer (save-excursion
                    (goto-char end)
                    (and (re-search-backward "^:PASSEPARTOUT:[ \t]*$" start t)
                         (point)))))
      (string-trim
       (buffer-substring-no-properties start (or drawer end))))))

(defun passepartout-chat--history ()
  "Return what was said before the turn that point is at, the oldest first.
They are plists of :role and :text, and no more of them than fit."
  (let ((left passepartout-chat--history-bytes)
        (history nil)
        (end (point)))
    (save-excursion
      (while (and (> left 0) (re-search-backward "^\\*\\*? " nil t))
        (let ((role (passepartout-chat--role)))
          (when (member role '("user" "assistant"))
            (let* ((start (passepartout-chat--body-start))
                   (limit (min end (+ start left)))
                   (text (if (equal role "user")
                             (passepartout-chat--message)
                           (passepartout-chat--answer-text start limit)))
                   (text (passepartout-chat--head text left)))
              (setq left (- left (string-bytes text)))
              (unless (string-empty-p text)
                (push (list :role (intern (concat ":" role)) :text text)
                      history)))
            (setq end (point)))
          (unless role
            (when (eq (char-after (1+ (point))) ?\s)
              (setq end (point)))))))
    history))

(defun passepartout-chat--head (text bytes)
  "Return the beginning of TEXT that fits into BYTES."
  (if (<= (string-bytes text) bytes)
      text
    (let ((count (min bytes (length text))))
      (while (> (string-bytes (substring text 0 count)) bytes)
        (setq count (- count (max 1 (/ (- (string-bytes (substring text 0 count))
                                          bytes)
                                       4)))))
      (substring text 0 (max count 0)))))

;;;; Hiding what is only for machines

(defun passepartout-chat--hide-roles (beg end)
  "Hide the property drawers between BEG and END that only name a role."
  (remove-overlays beg end 'passepartout-chat-role t)
  (save-excursion
    (goto-char beg)
    (let ((case-fold-search t))
      (while (re-search-forward
              "^:PROPERTIES:\n:PP_\\(?:ROLE\\|CHAT\\):[^\n]*\n:END:\n"
              end t)
        (let ((overlay (make-overlay (match-beginning 0) (match-end 0)
                                     nil t nil)))
          (overlay-put overlay 'passepartout-chat-role t)
          (overlay-put overlay 'invisible 'passepartout-chat)
          (overlay-put overlay 'evaporate t))))))

(defun passepartout-chat--fold (beg end spec)
  "Fold what is between BEG and END; SPEC is `drawer' or `headline'."
  (when (< beg end)
    (if (fboundp 'org-fold-region)
        (org-fold-region beg end t spec)
      (with-no-warnings
        (org-flag-region beg end t 'outline)))))

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

;;;; Sending

(defun passepartout-chat-send (&optional again)
  "Send the question at point.
In a turn that has been answered, go to the next question instead;
with prefix argument AGAIN, ask that one once more."
  (interactive "P")
  (passepartout-chat--check)
  (let ((start (org-with-wide-buffer (passepartout-chat--to-turn))))
    (unless start
      (user-error "Write your question under a heading, then C-c RET"))
    (if (and (not again)
             (org-with-wide-buffer
              (goto-char start)
              (passepartout-chat--role)))
        (passepartout-chat-next)
      (passepartout-start)
      (passepartout-chat--ask start)
      (passepartout-chat--make-room start))))

(defun passepartout-chat--check ()
  "Leave with an error unless this buffer is a chat."
  (unless passepartout-chat-mode
    (user-error "This buffer is not a chat; M-x passepartout-chat opens one")))

(defun passepartout-chat--ask (start)
  "Send the question whose heading begins at START."
  (org-with-wide-buffer
   (goto-char start)
   (let ((text (passepartout-chat--message))
         (history (passepartout-chat--history))
         (session (passepartout-chat--session)))
     (cond
      ((string-empty-p text)
       (user-error "Write your question after the star, then C-c RET"))
      ((> (string-bytes text) passepartout-events-text-limit)
       (user-error "Your question is %d kB long; at most %d kB can be sent.  \
Put the text into a file and name the file"
                   (/ (string-bytes text) 1024)
                   (/ passepartout-events-text-limit 1024))))
     (unless (passepartout-chat--role)
       (passepartout-chat--mark-asked))
     (passepartout-chat--open-answer nil)
     (passepartout-send-event
      :user-input
      `(:text ,text
        :history ,history
        :file ,(and buffer-file-name (expand-file-name buffer-file-name))
        :project ,(passepartout-events-project))
      session)
     (passepartout-chat--show-state))))

(defun passepartout-chat--mark-asked ()
  "Give the heading at point the role of the user."
  (let ((start (point)))
    (if (progn (forward-line 1) (looking-at-p org-property-drawer-re))
        (progn (goto-char start)
               (org-entry-put nil "PP_ROLE" "user"))
      (unless (bolp) (insert "\n"))
      (insert ":PROPERTIES:\n:PP_ROLE: user\n:END:\n"))
    (goto-char start)
    (passepartout-chat--hide-roles
     start (passepartout-chat--body-start))))

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

(defun passepartout-chat-next ()
  "Go to the place for the next question, at the end of the chat."
  (interactive)
  (passepartout-chat--check)
  (widen)
  (push-mark nil t)
  (passepartout-chat--ensure-prompt)
  (goto-char (point-max)))

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

(defun passepartout-chat-interrupt ()
  "Stop what the agent is doing in this chat."
  (interactive)
  (passepartout-chat--check)
  (unless (passepartout-running-p)
    (user-error "Nothing is going on"))
  (passepartout-send-event :interrupt nil (passepartout-chat--session))
  (message "Interrupting…"))

(defun passepartout-chat--ctrl-c-ctrl-c ()
  "Send the question at point when nothing else is there to act on."
  (when passepartout-chat-mode
    (let ((start (save-excursion (passepartout-chat--to-turn)))
          (element (org-element-context)))
      (when (and start
                 (memq (org-element-type element) '(headline paragraph))
                 (not (eq (org-element-type
                           (org-element-property :parent element))
                          'item))
                 (save-excursion
                   (goto-char start)
                   (not (passepartout-chat--role))))
        (passepartout-chat-send)
        t))))

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
          (passepartout-chat--show-state))))))

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
      (org-with-wide-buffer
       (goto-char (passepartout-chat--turn-at turn))
       (let ((end (point)))
         (when (re-search-backward "^:PASSEPARTOUT:$" nil t)
           (passepartout-chat--fold (line-end-position) end 'drawer))))
      (set-marker (passepartout-chat--turn-at turn) nil))))

(defun passepartout-chat--so-far (turn)
  "Return the text of the answer of TURN so far."
  (with-current-buffer (passepartout-chat--turn-buffer turn)
    (org-with-wide-buffer
     (goto-char (passepartout-chat--turn-at turn))
     (let ((end (point)))
       (re-search-backward "^\\*\\* " nil t)
       (buffer-substring-no-properties (point) end)))))

(defun passepartout-chat--link-text (text)
  "Return TEXT as one line that can stand in a link."
  (let ((text (passepartout-view-line text 120)))
    (if (string-empty-p text)
        "untitled"
      (replace-regexp-in-string "[][]" "" text))))

(defun passepartout-chat--own-id-p (id)
  "Return non-nil when ID is the property ID of a heading, not a path to it."
  (string-match-p "\\`[[:alnum:]][[:alnum:]._-]*\\'" id))

(defun passepartout-chat--source-link (source)
  "Return an Org link to SOURCE, a plist of :id, :title and :file."
  (let* ((id (or (plist-get source :id) ""))
         (title (passepartout-chat--link-text (plist-get source :title)))
         (file (plist-get source :file)))
    (cond
     ((passepartout-chat--own-id-p id)
      (org-link-make-string (concat "id:" id) title))
     (file
      (org-link-make-string
       (concat "file:" (passepartout-view-line file 4000)
               (and (string-match-p "::\\*" id) (concat "::*" title)))
       title))
     (t title))))

(defun passepartout-chat--below (payload answer)
  "Return the lines below ANSWER: plans that wait, and sources not named in it.
PAYLOAD is that of the end of the turn."
  (let ((sources (seq-remove
                  (lambda (link) (string-search link answer))
                  (delete-dups
                   (mapcar #'passepartout-chat--source-link
                           (plist-get payload :sources))))))
    (string-join
     (append
      (mapcar (lambda (id)
                (format "- Waits for approval :: %s"
                        (passepartout-chat--plan-link id)))
              (plist-get payload :plans))
      (and sources
           (list (concat "Sources: " (string-join sources ", ")))))
     "\n")))

(defun passepartout-chat--plan-link (id)
  "Return an Org link to the plan ID."
  (org-link-make-string (concat "passepartout-plan:"
                                (passepartout-chat--link-text id))
                        (concat "flight plan "
                                (passepartout-chat--link-text id))))

(defun passepartout-chat--drawer (payload)
  "Return the drawer about how the answer in PAYLOAD came to be."
  (let ((line (lambda (label value)
                (and value
                     (format "- %s :: %s\n" label
                             (passepartout-view-line value))))))
    (concat
     ":PASSEPARTOUT:\n"
     (funcall line "turn" (plist-get payload :turn))
     (funcall line "result" (let ((status (plist-get payload :status)))
                              (car (member status
                                           passepartout-chat--last-words))))
     (funcall line "model"
              (let ((model (plist-get payload :model))
                    (provider (plist-get payload :provider)))
                (cond ((and model provider) (format "%s (%s)" model provider))
                      (t (or model provider)))))
     (let ((in (plist-get payload :tokens-in))
           (out (plist-get payload :tokens-out)))
       (and (or in out)
            (funcall line "tokens"
                     (format "%s in, %s out" (or in 0) (or out 0)))))
     (funcall line "cost" (plist-get payload :cost))
     (let ((seconds (plist-get payload :seconds)))
       (and (numberp seconds)
            (funcall line "time" (format "%.1f s" seconds))))
     (mapconcat (lambda (source)
                  (let ((id (or (plist-get source :id) "")))
                    (if (passepartout-chat--own-id-p id)
                        (or (funcall line "source"
                                     (format "%s in %s" id
                                             (plist-get source :file)))
                            "")
                      "")))
                (plist-get payload :sources) "")
     (mapconcat #'passepartout-chat--drawer-action
                (plist-get payload :trace) "")
     ":END:")))

(defun passepartout-chat--open-source ()
  "Follow the id link at point by what the drawers of this chat say.
Emacs need not have seen the file before; its own register of ids is
neither needed nor changed."
  (let* ((link (org-element-context))
         (target (and (eq (org-element-type link) 'link)
                      (org-element-property :raw-link link)))
         (id (and target
                  (string-prefix-p "id:" target)
                  (substring target 3)))
         (file (and id
                    (org-with-wide-buffer
                     (goto-char (point-max))
                     (and (re-search-backward
                           (format "^- source :: %s in \\(/.*\\)$"
                                   (regexp-quote id))
                           nil t)
                          (match-string-no-properties 1))))))
    (when (and file (file-readable-p file))
      (org-mark-ring-push)
      (find-file file)
      (widen)
      (goto-char (point-min))
      (when (re-search-forward
             (format "^[ \t]*:ID:[ \t]+%s[ \t]*$" (regexp-quote id)) nil t)
        (unless (org-before-first-heading-p)
          (org-back-to-heading t))
        (org-show-context))
      t)))

(defun passepartout-chat--drawer-action (action)
  "Return the lines of the drawer about ACTION and what the gates said."
  (concat
   (format "- %s: %s%s\n"
           (passepartout-view-line (plist-get action :verdict) 20)
           (passepartout-view-action action)
           (let ((outcome (plist-get action :outcome)))
             (if outcome
                 (concat ", " (passepartout-view-line outcome))
               "")))
   (mapconcat (lambda (opinion)
                (let ((reason (passepartout-view-line
                               (plist-get opinion :reason))))
                  (format "  - %s %s%s%s\n"
                          (passepartout-view-line (plist-get opinion :gate) 40)
                          (passepartout-view-line
                           (plist-get opinion :verdict) 20)
                          (if (string-empty-p reason) "" ": ")
                          reason)))
              (plist-get action :opinions) "")))

(defun passepartout-chat--plan-changed (payload _meta)
  "Write in its chat what has become of the plan in PAYLOAD."
  (let* ((plan (plist-get payload :plan))
         (status (plist-get plan :status))
         (buffer (passepartout-chat--find-buffer (plist-get plan :session))))
    (when (and buffer (stringp status) (not (equal status "pending")))
      (with-current-buffer buffer
        (org-with-wide-buffer
         (goto-char (point-max))
         (when (re-search-backward
                (concat "^- \\([[:alpha:] ]+\\) :: \\[\\[passepartout-plan:"
                        (regexp-quote (passepartout-chat--link-text
                                       (plist-get plan :id)))
                        "\\]")
                nil t)
           (let ((inhibit-read-only t))
             (replace-match (capitalize
                             (replace-regexp-in-string
                              "[^[:alpha:]]" "" status))
                            t t nil 1))))))))

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
                  (propertize (if going
                                  "  C-c C-k stops it"
                                "  C-c RET sends")
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

;;;; What a chat never does of its own accord

(defconst passepartout-chat--guards
  '((enable-local-variables . nil)
    (org-confirm-babel-evaluate . t)
    (org-link-elisp-confirm-function . yes-or-no-p)
    (org-link-shell-confirm-function . yes-or-no-p)
    (org-link-elisp-skip-confirm-regexp . "")
    (org-link-shell-skip-confirm-regexp . "")
    (org-display-remote-inline-images . skip)
    (org-export-use-babel . nil)
    (org-export-allow-bind-keywords . nil)
    (org-table-allow-automatic-line-recalculation . nil)
    (org-startup-with-inline-images . nil)
    (org-startup-with-latex-preview . nil))
  "Local values that keep the text of a chat from acting by itself.")

(defun passepartout-chat--p ()
  "Return non-nil when this buffer is a chat, whether or not the mode is on."
  (or (bound-and-true-p passepartout-chat-mode)
      (and (derived-mode-p 'org-mode)
           (passepartout-chat--session))))

(defun passepartout-chat--no-set-up (function &rest arguments)
  "Call FUNCTION with ARGUMENTS, but let a chat read no set-up file."
  (if (passepartout-chat--p)
      ""
    (apply function arguments)))

(defun passepartout-chat--known-language (function language &rest arguments)
  "Call FUNCTION with LANGUAGE and ARGUMENTS, unless a chat does not know it."
  (when (or (not (passepartout-chat--p))
            (member language passepartout-chat-code-languages))
    (apply function language arguments)))

(advice-add 'org-file-contents :around #'passepartout-chat--no-set-up)
(advice-add 'org-src-font-lock-fontify-block
            :around #'passepartout-chat--known-language)

(defun passepartout-chat--before-export (_backend)
  "Remove from a copy to be exported the keywords that Org would follow."
  (goto-char (point-min))
  (let ((case-fold-search t))
    (while (re-search-forward
            "^[ \t]*#\\+\\(?:macro\\|include\\|setupfile\\|call\\|bind\\)\\>.*"
            nil t)
      (replace-match "" t t)))
  (goto-char (point-min)))

;;;; The mode

(defvar passepartout-chat-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c RET") #'passepartout-chat-send)
    (define-key map (kbd "C-c C-k") #'passepartout-chat-interrupt)
    map)
  "Keys of a chat.")

;;;###autoload
(define-minor-mode passepartout-chat-mode
  "Minor mode of an Org buffer that is a chat.
\\<passepartout-chat-mode-map>\\[passepartout-chat-send] sends the \
question at point; \\[passepartout-chat-interrupt] stops the answer."
  :lighter " Chat"
  :keymap passepartout-chat-mode-map
  (if passepartout-chat-mode
      (progn
        (unless (derived-mode-p 'org-mode)
          (setq passepartout-chat-mode nil)
          (user-error "A chat is an Org buffer"))
        (passepartout-chat--set-up))
    (passepartout-chat--take-down)))

(defun passepartout-chat--set-up ()
  "Prepare the current buffer for being a chat."
  (unless (passepartout-chat--session)
    (org-with-wide-buffer
     (goto-char (point-min))
     (insert ":PROPERTIES:\n:PP_CHAT: " (passepartout-chat--new-session)
             "\n:END:\n")))
  (pcase-dolist (`(,variable . ,value) passepartout-chat--guards)
    (set (make-local-variable variable) value))
  (add-to-invisibility-spec 'passepartout-chat)
  (add-hook 'org-ctrl-c-ctrl-c-hook #'passepartout-chat--ctrl-c-ctrl-c nil t)
  (add-hook 'org-export-before-processing-hook
            #'passepartout-chat--before-export nil t)
  (add-hook 'org-open-at-point-functions #'passepartout-chat--open-source nil t)
  (add-hook 'kill-buffer-hook #'passepartout-chat--killed nil t)
  (setq header-line-format '(:eval passepartout-chat--header))
  (org-with-wide-buffer
   (passepartout-chat--hide-roles (point-min) (point-max))
   (passepartout-chat--fold-drawers))
  (passepartout-chat--prompt-hint)
  (passepartout-chat--show-state))

(defun passepartout-chat--fold-drawers ()
  "Fold the drawers below the answers of this chat."
  (goto-char (point-min))
  (while (re-search-forward "^:PASSEPARTOUT:[ \t]*$" nil t)
    (let ((from (point)))
      (when (re-search-forward "^:END:[ \t]*$" nil t)
        (passepartout-chat--fold from (point) 'drawer)))))

(defun passepartout-chat--take-down ()
  "Make the current buffer a plain Org buffer again."
  (pcase-dolist (`(,variable . ,_) passepartout-chat--guards)
    (kill-local-variable variable))
  (remove-from-invisibility-spec 'passepartout-chat)
  (remove-overlays (point-min) (point-max) 'passepartout-chat-role t)
  (remove-overlays (point-min) (point-max) 'passepartout-chat-hint t)
  (remove-hook 'org-ctrl-c-ctrl-c-hook #'passepartout-chat--ctrl-c-ctrl-c t)
  (remove-hook 'org-export-before-processing-hook
               #'passepartout-chat--before-export t)
  (remove-hook 'org-open-at-point-functions #'passepartout-chat--open-source t)
  (remove-hook 'kill-buffer-hook #'passepartout-chat--killed t)
  (kill-local-variable 'header-line-format))

(defun passepartout-chat--killed ()
  "Stop every turn of the chat that is being killed."
  (unless (buffer-base-buffer)
    (let ((mine (seq-filter (lambda (turn)
                              (eq (passepartout-chat--turn-buffer turn)
                                  (current-buffer)))
                            passepartout-chat--turns)))
      (when mine
        (setq passepartout-chat--turns
              (seq-difference passepartout-chat--turns mine #'eq))
        (when (passepartout-running-p)
          (passepartout-send-event :interrupt nil
                                   (passepartout-chat--session)))))))

;;;###autoload
(defun passepartout-chat-adopt ()
  "Turn on `passepartout-chat-mode' in a chat that has just been opened."
  (unless passepartout-chat-mode
    (passepartout-chat-mode 1)))

;;;; Commands

(defun passepartout-chat--name ()
  "Return the name of the chat buffer for the current project."
  (let ((project (passepartout-events-project)))
    (if project
        (format "*Passepartout: %s*" (file-name-nondirectory project))
      "*Passepartout*")))

(defun passepartout-chat--fresh (name)
  "Return a new chat in a buffer called NAME."
  (with-current-buffer (generate-new-buffer name)
    (insert ":PROPERTIES:\n:PP_CHAT: " (passepartout-chat--new-session)
            "\n:END:\n#+TITLE: Chat\n\n* ")
    (org-mode)
    (passepartout-chat-mode 1)
    (goto-char (point-max))
    (setq buffer-undo-list nil)
    (when passepartout-chat-directory
      (set-visited-file-name
       (expand-file-name (format-time-string "chat-%Y%m%d-%H%M%S.org")
                         passepartout-chat-directory)
       t))
    (setq-local buffer-offer-save t)
    (set-buffer-modified-p nil)
    (current-buffer)))

;;;###autoload
(defun passepartout-chat (&optional new)
  "Talk to the agent in an Org buffer.
Reuse the chat of the current project, unless prefix argument NEW asks
for a new one.  In a saved chat, go on with it."
  (interactive "P")
  (cond
   ((and (not new) (derived-mode-p 'org-mode) (passepartout-chat--session))
    (passepartout-chat-adopt)
    (passepartout-chat-next))
   (t
    (let* ((name (passepartout-chat--name))
           (known (seq-find
                   (lambda (buffer)
                     (and (buffer-local-value 'passepartout-chat-mode buffer)
                          (string-prefix-p (string-remove-suffix "*" name)
                                           (buffer-name buffer))))
                   (buffer-list))))
      (pop-to-buffer-same-window
       (or (and (not new) known)
           (passepartout-chat--fresh name)))))))

;;;###autoload
(defun passepartout-chat-open (file)
  "Open FILE, a saved chat, and go on with it.
Neither its local variables nor its set-up files are used."
  (interactive "fOpen chat: ")
  (let ((enable-local-variables nil)
        (enable-local-eval nil)
        (enable-dir-local-variables nil)
        (org-startup-options
         (seq-remove (lambda (option)
                       (memq (nth 1 option)
                             '(org-startup-with-inline-images
                               org-startup-with-latex-preview)))
                     org-startup-options)))
    (find-file file)
    (unless (derived-mode-p 'org-mode) (org-mode)))
  (unless (passepartout-chat--session)
    (user-error "%s is not a chat; it has no property PP_CHAT" file))
  (passepartout-chat-adopt)
  (org-with-wide-buffer (passepartout-chat--ensure-prompt))
  (goto-char (point-max)))

;;;; Links and subscriptions

(org-link-set-parameters "passepartout-plan"
                         :follow #'passepartout-chat--visit-plan
                         :face 'passepartout-attention)

(defun passepartout-chat--visit-plan (id &rest _)
  "Show the plan ID."
  (require 'passepartout-plan)
  (passepartout-plan-visit id))

(passepartout-subscribe :event :turn-started #'passepartout-chat--started)
(passepartout-subscribe :stream-chunk nil #'passepartout-chat--chunk)
(passepartout-subscribe :response :turn-done #'passepartout-chat--done)
(passepartout-subscribe :event :plan-changed #'passepartout-chat--plan-changed)
(passepartout-subscribe :status nil #'passepartout-chat--status)
(passepartout-subscribe :status nil #'passepartout-chat--stopped)

(provide 'passepartout-chat)
;;; passepartout-chat.el ends here
