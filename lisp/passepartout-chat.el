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

;;; Code:

(require 'cl-lib)
(require 'org)
(require 'org-element)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-greet)
(require 'passepartout-view)
(require 'passepartout-chat-text)
(require 'passepartout-chat-guard)
(require 'passepartout-chat-older)
(require 'passepartout-chat-turns)
(require 'passepartout-chat-answer)
(require 'passepartout-chat-complete)
(require 'passepartout-chat-plans)
(require 'passepartout-plan)
(eval-when-compile (require 'subr-x))

(defvar passepartout-chat-mode)
(declare-function passepartout-chat-add-keep "passepartout-chat-add"
                  (start along))
(declare-function passepartout-chat-add-take "passepartout-chat-add" (start))

;;;; Sending

(defun passepartout-chat-send (&optional again)
  "Send the question at point.
In a turn that has been answered, go to the next question instead, in a
branch to one that goes on with it; with prefix argument AGAIN, ask that
one once more."
  (interactive "P")
  (passepartout-chat--check)
  (let ((start (org-with-wide-buffer (passepartout-chat--to-turn))))
    (unless start
      (user-error "Write your question under a heading, then C-c RET"))
    (if (and (not again)
             (org-with-wide-buffer
              (goto-char start)
              (passepartout-chat--role)))
        (if (org-with-wide-buffer
             (goto-char start)
             (= 1 (passepartout-chat--level)))
            (passepartout-chat-next)
          (passepartout-chat-branch))
      (passepartout-chat--send start))))

(defun passepartout-chat--send (start &optional several)
  "Send the question whose heading begins at START.
SEVERAL is the command that asks several models, or nil."
  (passepartout-start)
  (passepartout-chat--ask start several)
  (passepartout-welcome-make-room)
  (passepartout-chat--make-room start)
  (when (and passepartout-chat-go-on (not noninteractive))
    (passepartout-chat--note-sent)))

(defun passepartout-chat-question ()
  "Return the question at point, with all that is sent along, as a plist.
Its :session is that of the chat; outside of a chat return nil."
  (when (bound-and-true-p passepartout-chat-mode)
    (let ((start (org-with-wide-buffer (passepartout-chat--to-turn))))
      (when start
        (with-current-buffer (passepartout-chat--base)
          (org-with-wide-buffer
           (goto-char start)
           (let ((said (passepartout-chat--said-before))
                 (settings (passepartout-chat--settings))
                 (along (and (passepartout-chat--along-p
                              (passepartout-chat--turn-end))
                             (passepartout-chat-add-take (point)))))
             `(:text ,(passepartout-chat--message)
               ,@(and settings (list :settings settings))
               ,@(passepartout-chat--along-sent along)
               :history ,(car said)
               ,@(passepartout-chat--older (cdr said))
               :private ,(passepartout-chat--tier-said
                          (passepartout-chat--strictest
                           (list (passepartout-chat--private-p)
                                 (plist-get along :tier))))
               :file ,(and buffer-file-name
                           (expand-file-name buffer-file-name))
               :project ,(passepartout-chat--project)
               :session ,(passepartout-chat--session)))))))))

(defun passepartout-chat--along-sent (along)
  "Return what the core is sent of ALONG, a plist, or nil."
  (let ((pictures (plist-get along :pictures)))
    (and along
         `(:attached ,(plist-get along :attached)
           ,@(and pictures (list :pictures pictures))))))

(defun passepartout-chat--check ()
  "Leave with an error unless this buffer is a chat."
  (unless passepartout-chat-mode
    (user-error "This buffer is not a chat; M-x passepartout-chat opens one")))

(defvar-local passepartout-chat--spoke nil
  "Whether something was asked here since the buffer was made.")
(put 'passepartout-chat--spoke 'permanent-local t)

(defun passepartout-chat--ask (start &optional several)
  "Send the question whose heading begins at START.
SEVERAL, when non-nil, stands before it: the command that asks several
models.  Whichever buffer shows it, the answer is one of the chat itself."
  (with-current-buffer (passepartout-chat--base)
    (org-with-wide-buffer
     (goto-char start)
     (let ((text (passepartout-chat--message))
           (said (passepartout-chat--said-before))
           (private (passepartout-chat--private-p))
           (session (passepartout-chat--session))
           (settings (passepartout-chat--settings))
           along
           ;; Where the system gives no random name there is none.
           (once (ignore-errors (passepartout-greet-nonce)))
           payload)
       (cond
        ((passepartout-abroad-elsewhere session)
         (user-error "%s" (passepartout-abroad-elsewhere session)))
        ((string-empty-p text)
         (user-error "Write your question after the star, then C-c RET"))
        ((> (string-bytes text) passepartout-events-text-limit)
         (user-error "Your question is %d kB long; at most %d kB can be sent.  \
Put the text into a file and name the file"
                     (/ (string-bytes text) 1024)
                     (/ passepartout-events-text-limit 1024))))
       (passepartout-chat--check-settings settings)
       (when (passepartout-chat--along-p (passepartout-chat--turn-end))
         (setq along (passepartout-chat-add-take (point))))
       (passepartout-chat--hide-token)
       (unless (passepartout-chat--role)
         (passepartout-chat--mark-asked))
       (when along
         (passepartout-chat-add-keep (point) along))
       (setq private (passepartout-chat--strictest
                      (list private (plist-get along :tier)))
             payload
             `(:text ,(concat several text)
               :markup :org
               :once ,once
               ,@(and settings (list :settings settings))
               ,@(passepartout-chat--along-sent along)
               :history ,(car said)
               ,@(passepartout-chat--older (cdr said))
               :private ,(passepartout-chat--tier-said private)
               :file ,(and buffer-file-name
                           (expand-file-name buffer-file-name))
               :project ,(passepartout-chat--project)))
       (let ((turn (passepartout-chat--turn-create
                    :buffer (current-buffer)
                    :asked (and once (cons payload session)))))
         (passepartout-chat--open-answer turn)
         (passepartout-chat--begin-turn turn))
       (passepartout-send-event :user-input payload session)
       (setq passepartout-chat--spoke t)
       (passepartout-chat--show-state)))))

(defun passepartout-chat--hide-token ()
  "Put dots in the place of each token in the question at point.
A token counts once, and no file has to keep it.  What stands behind
the words that decide is one, and so is whatever was shown as one here,
wherever it stands.  As many dots as it had characters come there, and
undo knows nothing of it."
  (let ((end (passepartout-chat--turn-end))
        (start (point))
        (case-fold-search t))
    (save-excursion
      (when (re-search-forward
             "/\\(?:approve\\|deny\\|stop\\)[ \t]+\\([[:xdigit:]]\\{32\\}\\)\\>"
             end t)
        (passepartout-chat--dot (match-beginning 1) (match-end 1)))
      (goto-char start)
      ;; Each place from which a token may begin, also amid other letters.
      (while (re-search-forward "[[:xdigit:]]\\{32\\}" end t)
        (let ((from (match-beginning 0))
              (to (match-end 0)))
          (if (passepartout-plan-token-shown-p
               (buffer-substring-no-properties from to))
              (passepartout-chat--dot from to)
            (goto-char (1+ from))))))))

(defun passepartout-chat--dot (from to)
  "Put dots in the place of what stands between FROM and TO."
  (let ((buffer-undo-list t))
    (goto-char to)
    (insert (make-string (- to from) ?.))
    (delete-region from to)))

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

(defun passepartout-chat-next ()
  "Go to the place for the next question, at the end of the chat."
  (interactive)
  (passepartout-chat--check)
  (widen)
  (push-mark nil t)
  (passepartout-chat--ensure-prompt)
  (passepartout-chat--to-prompt))

(defun passepartout-chat-branch ()
  "Begin a branch at the answer that point is in, and go there.
Its heading stands below that answer.  What is asked there goes on from
the answer alone: what the chat went on with elsewhere is not told to
the model, and the chat itself goes on as if the branch were not there."
  (interactive)
  (passepartout-chat--check)
  (widen)
  (let ((start (save-excursion (passepartout-chat--to-branching))))
    (unless start
      (user-error "A branch begins at an answer; there is none here"))
    (push-mark nil t)
    (goto-char start)
    (passepartout-chat--open-branch)))

(defun passepartout-chat-interrupt ()
  "Stop what the agent is doing in this chat.
Where it does nothing, say so; a key that is also one of Org's then does
what it does in Org."
  (interactive)
  (passepartout-chat--check)
  (if (and (passepartout-running-p)
           (passepartout-chat--answering-p (passepartout-chat--base)))
      (progn
        (passepartout-send-event :interrupt nil (passepartout-chat--session))
        (message "Interrupting…"))
    (let ((other (lookup-key org-mode-map (this-command-keys-vector))))
      (if (not (commandp other))
          (message "No answer arrives here")
        (call-interactively other)
        (message "No answer arrives here; this was %s" other)))))

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

;;;; The mode

(defvar passepartout-chat-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c RET") #'passepartout-chat-send)
    (define-key map (kbd "C-c C-k") #'passepartout-chat-interrupt)
    (define-key map (kbd "C-c M-RET") #'passepartout-chat-promote)
    (define-key map (kbd "C-c M-n") #'passepartout-chat-next-turn)
    (define-key map (kbd "C-c M-p") #'passepartout-chat-previous-turn)
    (define-key map (kbd "C-c M-d") #'passepartout-chat-branch)
    (define-key map (kbd "C-c M-a") #'passepartout-chat-add)
    map)
  "Keys of a chat.")

(defvar-local passepartout-chat--wrapped nil
  "Whether this chat turned on `visual-line-mode' itself.")

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
        ;; What is said here is no note.
        (when (bound-and-true-p passepartout-mode)
          (passepartout-mode -1))
        (passepartout-chat--set-up))
    (passepartout-chat--take-down)))

(defun passepartout-chat--set-up ()
  "Prepare the current buffer for being a chat."
  (unless (passepartout-chat--session)
    (org-with-wide-buffer
     (goto-char (point-min))
     (insert ":PROPERTIES:\n:PP_CHAT: " (passepartout-chat--new-session)
             "\n:END:\n")))
  (passepartout-chat-guard-set)
  (add-to-invisibility-spec 'passepartout-chat)
  (add-hook 'org-ctrl-c-ctrl-c-hook #'passepartout-chat--ctrl-c-ctrl-c nil t)
  (add-hook 'org-open-at-point-functions #'passepartout-chat--open-source nil t)
  (add-hook 'kill-buffer-hook #'passepartout-chat--killed nil t)
  ;; Behind what you do there yourself.
  (add-hook 'org-mode-hook #'passepartout-chat--again 90 t)
  (passepartout-chat-complete-set)
  (add-hook 'write-contents-functions #'passepartout-chat--ask-file nil t)
  (add-hook 'after-revert-hook #'passepartout-chat--reverted nil t)
  (unless (or visual-line-mode (not truncate-lines))
    (setq passepartout-chat--wrapped t)
    (visual-line-mode 1))
  (passepartout-chat--head-set)
  (passepartout-chat--hide-all)
  (passepartout-chat--prompt-hint)
  (passepartout-chat--hold)
  (passepartout-chat--show-state)
  (passepartout-chat-ask-plans))

(defun passepartout-chat--again ()
  "Be a chat again, in a buffer in which Org mode began anew.
\\<org-mode-map>\\[org-ctrl-c-ctrl-c] on a keyword is enough for that, \
and Org forgets every mode of the
buffer then.  Its local variables are looked at after this, so those of
a chat are not used."
  (unless passepartout-chat-mode
    (passepartout-chat-mode 1)))

;; Emacs keeps these where a major mode begins, and drops all others.
(put 'passepartout-chat--again 'permanent-local-hook t)
(put 'passepartout-chat--killed 'permanent-local-hook t)

(defun passepartout-chat--take-down ()
  "Make the current buffer a plain Org buffer again."
  (passepartout-chat-guard-lift)
  (remove-from-invisibility-spec 'passepartout-chat)
  ;; A narrowing is yours, and hides nothing of ours from this.
  (org-with-wide-buffer
   (passepartout-chat--show-all)
   (remove-overlays (point-min) (point-max) 'passepartout-chat-along t)
   (remove-overlays (point-min) (point-max) 'passepartout-chat-hint t))
  (passepartout-chat--forget-sent)
  (passepartout-chat--let-go)
  (remove-hook 'org-ctrl-c-ctrl-c-hook #'passepartout-chat--ctrl-c-ctrl-c t)
  (remove-hook 'org-open-at-point-functions #'passepartout-chat--open-source t)
  (remove-hook 'kill-buffer-hook #'passepartout-chat--killed t)
  (remove-hook 'org-mode-hook #'passepartout-chat--again t)
  (passepartout-chat-complete-lift)
  (remove-hook 'write-contents-functions #'passepartout-chat--ask-file t)
  (remove-hook 'after-revert-hook #'passepartout-chat--reverted t)
  (when passepartout-chat--wrapped
    (kill-local-variable 'passepartout-chat--wrapped)
    (visual-line-mode -1))
  (passepartout-chat--head-lift))

(defun passepartout-chat--killed ()
  "Stop every turn of the chat that is being killed, and close it."
  (unless (buffer-base-buffer)
    (let ((mine (seq-filter (lambda (turn)
                              (eq (passepartout-chat--turn-buffer turn)
                                  (current-buffer)))
                            passepartout-chat--turns)))
      (setq passepartout-chat--turns
            (seq-difference passepartout-chat--turns mine #'eq))
      (when (and passepartout-chat--spoke (passepartout-running-p)
                 (passepartout-chat--session))
        (passepartout-send-event :interrupt '(:closed t)
                                 (passepartout-chat--session))))))

(defun passepartout-chat-adopt ()
  "Turn on `passepartout-chat-mode' in a chat that has just been opened."
  (unless passepartout-chat-mode
    (passepartout-chat-mode 1)))

;;;; Commands

(defun passepartout-chat--new-session ()
  "Return a fresh name for a conversation with the core that is used."
  (passepartout-abroad-session
   (format "%s-%04x" (format-time-string "%Y%m%dT%H%M%S") (random 65536))))

(defvar-local passepartout-chat--project nil
  "A list of the project that this chat was opened for, which may be nil.
The value nil stands for a chat that was not opened for any.")
(put 'passepartout-chat--project 'permanent-local t)

(defun passepartout-chat--project ()
  "Return the folder of the project of this chat, or nil.
Wherever the chat is saved, it stays that for which it was opened,
unless you have said which one it is to be."
  (if (and passepartout-chat--project (not passepartout-project))
      (car passepartout-chat--project)
    (passepartout-events-project)))

(defun passepartout-chat--name (project)
  "Return the name of a new chat buffer for PROJECT, a folder or nil."
  (cond
   ((passepartout-module-road :name)
    (format "*Passepartout: %s*" (passepartout-module-road :name)))
   (project
    (format "*Passepartout: %s*"
            (file-name-nondirectory (directory-file-name project))))
   (t "*Passepartout*")))

(defun passepartout-chat--known (project)
  "Return the chat of PROJECT, a folder or nil, that was used last, or nil."
  (seq-find (lambda (buffer)
              (and (buffer-local-value 'passepartout-chat-mode buffer)
                   (not (buffer-base-buffer buffer))
                   (with-current-buffer buffer
                     (passepartout-abroad-here-p
                      (passepartout-chat--session)))
                   (equal (list project)
                          (buffer-local-value 'passepartout-chat--project
                                              buffer))))
            (buffer-list)))

;;;; Saving

(defun passepartout-chat--file-name ()
  "Return a name for the file of this chat: the day and its first question."
  (let* ((question (org-with-wide-buffer
                    (goto-char (point-min))
                    (and (re-search-forward "^\\* +\\(.+\\)$" nil t)
                         (match-string-no-properties 1))))
         (words (split-string (downcase (or question "")) "[^[:alnum:]]+" t)))
    (concat (mapconcat #'identity
                       (append (list "chat" (format-time-string "%Y-%m-%d"))
                               (seq-take words 6))
                       "-")
            ".org")))

(defun passepartout-chat--ask-file ()
  "Ask where this chat is to be saved when it has no file yet.
The folder of new chats, or else the memex, and a name made of the
first question are offered."
  (unless buffer-file-name
    (let* ((folder (file-name-as-directory
                    (expand-file-name (or passepartout-chat-directory
                                          (car (passepartout--directories))
                                          "~/"))))
           (file (passepartout-view-read-new-file
                  "Save the chat as" folder (passepartout-chat--file-name))))
      (when (and (file-exists-p file)
                 (not (y-or-n-p (format "%s is there; replace it? " file))))
        (user-error "The chat was not saved"))
      (make-directory (file-name-directory file) t)
      (passepartout-chat--visit-file file)))
  ;; Nil: Emacs goes on and writes the file.
  nil)

(defun passepartout-chat--visit-file (file)
  "Let this chat be saved in FILE, and go on working where it does."
  (let ((folder default-directory))
    (set-visited-file-name file t)
    (setq default-directory folder)))

;;;; Opening

(defun passepartout-chat--fresh (project)
  "Return a new chat for PROJECT, a folder or nil."
  (with-current-buffer (generate-new-buffer
                        (passepartout-chat--name project))
    (insert ":PROPERTIES:\n:PP_CHAT: " (passepartout-chat--new-session)
            "\n:END:\n#+TITLE: Chat\n\n* ")
    ;; Emacs knows by the folder to which project a buffer belongs.
    (when (and project (passepartout-chat--switching-p))
      (setq default-directory (file-name-as-directory project)))
    (org-mode)
    (passepartout-chat-mode 1)
    (goto-char (point-max))
    (setq buffer-undo-list nil)
    (setq passepartout-chat--project (list project))
    (when passepartout-chat-directory
      (passepartout-chat--visit-file
       (expand-file-name (format-time-string "chat-%Y%m%d-%H%M%S.org")
                         passepartout-chat-directory)))
    (setq-local buffer-offer-save t)
    (set-buffer-modified-p nil)
    (current-buffer)))

(defvar project-current-directory-override)
(defvar project-current-inhibit-prompt)

(defun passepartout-chat--switching-p ()
  "Return non-nil while `project-switch-project' calls a command.
It means another project than that of the buffer that is current."
  (or (bound-and-true-p project-current-directory-override)
      (bound-and-true-p project-current-inhibit-prompt)))

;;;###autoload
(defun passepartout-chat (&optional new)
  "Talk to the agent in an Org buffer.
Reuse the chat of the current project, unless prefix argument NEW asks
for a new one.  In a saved chat, go on with it."
  (interactive "P")
  (cond
   ((and (not new) (not (passepartout-chat--switching-p))
         (derived-mode-p 'org-mode) (passepartout-chat--session)
         (passepartout-abroad-here-p (passepartout-chat--session)))
    (passepartout-chat-adopt)
    (passepartout-chat-next))
   (t
    (let ((project (passepartout-events-project)))
      (pop-to-buffer-same-window
       (or (and (not new) (passepartout-chat--known project))
           (passepartout-chat--fresh project))))))
  (unless noninteractive
    (run-with-idle-timer 0.05 nil #'passepartout-chat--wake)))

(defun passepartout-chat--wake ()
  "Start the core while you write, so that the first answer comes sooner.
Without a module it says what is missing, and how to go on."
  (let ((obstacle (passepartout-module-missing)))
    (passepartout-welcome-at-first)
    (if obstacle
        (message "%s; M-x passepartout-doctor says more" obstacle)
      (condition-case problem
          (passepartout-start)
        (error
         (message "%s; M-x passepartout-doctor says more"
                  (error-message-string problem)))))))

;;;###autoload
(defun passepartout-chat-open (file)
  "Open FILE, a saved chat, and go on with it.
Neither its local variables nor its set-up files are used."
  (interactive "fOpen chat: ")
  (passepartout-chat-guard-install)
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
  (passepartout-chat--to-prompt))

(provide 'passepartout-chat)
;;; passepartout-chat.el ends here
