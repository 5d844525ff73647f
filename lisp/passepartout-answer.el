;;; passepartout-answer.el --- The popup with an answer  -*- lexical-binding: t; -*-
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

;; The popup shows the answer to a question that was asked outside of a
;; chat; one that is short stays in the echo area.  It is not selected
;; and does not move what you look at.  The text of an answer is inert:
;; it is shown as text, with its links.  From it the conversation goes on
;; in a chat.

;;; Code:

(require 'cl-lib)
(require 'org)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-arrive)
(require 'passepartout-view)
(require 'passepartout-question)
(require 'passepartout-chat)
(eval-when-compile (require 'subr-x))

(declare-function passepartout-query-visit "passepartout-query"
                  (hit &optional other-window))

(defconst passepartout-answer-name "*passepartout answer*"
  "The name of the buffer of an answer, for `display-buffer-alist'.")

(defvar passepartout-answer-display
  '((display-buffer-reuse-window display-buffer-at-bottom)
    (window-height . 0.35))
  "How the popup of an answer is displayed, for `display-buffer'.")
;; It may name functions.
(put 'passepartout-answer-display 'risky-local-variable t)

;;;; The popup

(defvar-local passepartout-answer--question nil
  "The question whose answer this buffer shows.")

(defvar-local passepartout-answer--about nil
  "What went along with the question, in words, or nil.")

(defvar-local passepartout-answer--from nil
  "Where point was when it was asked, as a marker.")

(defvar-local passepartout-answer--linked nil
  "Up to where the links of the answer are shown as links, as a marker.")

(defvar-local passepartout-answer--quiet nil
  "Non-nil while the answer may still be short enough for the echo area.")

(defvar passepartout-answer-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'passepartout-answer-go-on)
    (define-key map (kbd "g") #'passepartout-answer-again)
    (define-key map (kbd "w") #'passepartout-answer-copy)
    (define-key map (kbd "i") #'passepartout-answer-insert)
    (define-key map (kbd "p") #'passepartout-flight-plans)
    (define-key map (kbd "k") #'passepartout-answer-stop)
    (define-key map (kbd "C-c C-k") #'passepartout-answer-stop)
    (define-key map (kbd "TAB") #'forward-button)
    (define-key map (kbd "<backtab>") #'backward-button)
    map)
  "Keys of the popup with an answer.")

(define-derived-mode passepartout-answer-mode special-mode "Answer"
  "Major mode of the popup with an answer to `passepartout-ask'.
\\<passepartout-answer-mode-map>\\[passepartout-answer-go-on] follows the \
link at point, or goes on in a chat;
\\[passepartout-answer-copy] copies the answer, \
\\[passepartout-answer-insert] inserts it where you asked, \\[passepartout-answer-again] asks
again, \\[passepartout-answer-stop] stops it, \\[quit-window] quits."
  (setq-local word-wrap t)
  (setq-local truncate-lines nil)
  (setq-local truncate-partial-width-windows nil)
  (setq-local buffer-undo-list t)
  (setq-local revert-buffer-function
              (lambda (&rest _) (passepartout-answer-again)))
  (add-hook 'kill-buffer-hook #'passepartout-answer--killed nil t))

(defun passepartout-answer--killed ()
  "End the conversation of the popup that is being killed."
  (when passepartout-answer--question
    (passepartout-question-close passepartout-answer--question))
  (when (markerp passepartout-answer--from)
    (set-marker passepartout-answer--from nil)))

(defun passepartout-answer--buffer ()
  "Return a buffer for an answer: the popup, unless one still arrives there."
  (let ((free (seq-find #'passepartout-answer--free-p
                        (cons (get-buffer passepartout-answer-name)
                              (buffer-list)))))
    (if (null free)
        (generate-new-buffer passepartout-answer-name)
      (with-current-buffer free (passepartout-answer--killed))
      free)))

(defun passepartout-answer--free-p (buffer)
  "Return non-nil when BUFFER, which may be nil, is a popup for the next answer.
One whose plans wait for you still gets what comes of them."
  (and buffer
       (eq 'passepartout-answer-mode (buffer-local-value 'major-mode buffer))
       (let ((question (buffer-local-value 'passepartout-answer--question
                                           buffer)))
         (not (and question
                   (memq (passepartout-question-state question)
                         '(asked answering parked)))))))

(defun passepartout-answer-open (text about attached tier &optional loud)
  "Ask TEXT and have the answer shown; return its buffer.
ABOUT says in words what goes along, ATTACHED is that, and TIER how
private it is.  With LOUD the answer is shown in the popup in any case."
  (let* ((from (point-marker))
         (folder default-directory)
         (question (passepartout-question-ask
                    text #'passepartout-answer--hear #'passepartout-answer--done
                    :attached attached :tier tier))
         (buffer (passepartout-answer--buffer)))
    (with-current-buffer buffer
      (passepartout-answer-mode)
      (setq default-directory folder
            passepartout-answer--question question
            passepartout-answer--about about
            passepartout-answer--from from
            passepartout-answer--quiet (not loud))
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (propertize (passepartout-view-line text 400)
                            'face 'passepartout-title)
                (if about
                    (propertize (concat "\nWith it goes " about ".")
                                'face 'passepartout-quiet)
                  "")
                "\n\n")
        (setq passepartout-answer--linked (point-marker)))
      (goto-char (point-min))
      (passepartout-answer--say))
    (if loud
        (passepartout-answer--show buffer)
      (passepartout-answer--tell
       question "Passepartout: asked%s…" (if about (concat ", with " about) "")))
    buffer))

(defun passepartout-answer--show (buffer)
  "Display BUFFER, a popup, without selecting it."
  (with-current-buffer buffer
    (setq passepartout-answer--quiet nil))
  (display-buffer buffer passepartout-answer-display))

(defun passepartout-answer--of (question)
  "Return the live buffer that shows the answer to QUESTION, or nil."
  (seq-find (lambda (buffer)
              (eq question (buffer-local-value 'passepartout-answer--question
                                               buffer)))
            (buffer-list)))

(defun passepartout-answer--hear (question text)
  "Add TEXT to what is shown of the answer to QUESTION."
  (let ((buffer (passepartout-answer--of question)))
    (when buffer
      (with-current-buffer buffer
        (passepartout-answer--insert text)
        (when (and passepartout-answer--quiet
                   (passepartout-answer--long-p
                    (passepartout-question-answer question)))
          (passepartout-answer--show buffer)
          (message nil))
        (passepartout-answer--say)))))

(defun passepartout-answer--long-p (text)
  "Return non-nil when TEXT is too long for the echo area."
  (let ((text (string-trim text)))
    (or (string-search "\n" text)
        (> (string-width text) (max 20 (- (frame-width) 2))))))

(defun passepartout-answer--insert (text)
  "Insert TEXT at the end of the current popup; point and windows stay."
  (let ((inhibit-read-only t))
    (save-excursion
      (goto-char (point-max))
      (insert text)
      (when (string-search "\n" text)
        (passepartout-answer--link (line-beginning-position)))
      (set-buffer-modified-p nil))))

(defun passepartout-answer--link (end)
  "Show what became whole lines before END with its links as links."
  (goto-char passepartout-answer--linked)
  (while (re-search-forward org-link-bracket-re end t)
    (let ((target (match-string-no-properties 1))
          (words (match-string-no-properties 2)))
      (make-text-button
       (match-beginning 0) (match-end 0)
       'display (passepartout-view-line (or words target) 200)
       'help-echo (passepartout-view-line target 200)
       'follow-link t
       'action (lambda (_button) (passepartout-answer--follow target)))))
  (set-marker passepartout-answer--linked end))

(defun passepartout-answer--done (question)
  "Finish what is shown of the answer to QUESTION."
  (let ((buffer (passepartout-answer--of question)))
    (when buffer
      (with-current-buffer buffer
        (let* ((answer (string-trim (passepartout-question-answer question)))
               (below (passepartout-answer--below question answer)))
          (unless (string-empty-p below)
            (passepartout-answer--insert
             (concat (cond ((string-empty-p answer) "")
                           ((string-suffix-p
                             "\n" (passepartout-question-answer question))
                            "\n")
                           (t "\n\n"))
                     below)))
          (let ((inhibit-read-only t))
            (save-excursion (passepartout-answer--link (point-max)))
            (set-buffer-modified-p nil))
          (passepartout-answer--say)
          (cond
           ((not passepartout-answer--quiet))
           ((and (eq (passepartout-question-state question) 'answered)
                 (not (string-empty-p answer))
                 (string-empty-p below)
                 (not (passepartout-answer--long-p answer)))
            (passepartout-answer--tell
             question "%s" (passepartout-answer--plain answer)))
           (t (passepartout-answer--show buffer)
              (message nil))))))))

(defun passepartout-answer--tell (question format &rest arguments)
  "Say of QUESTION in the echo area what FORMAT makes of ARGUMENTS.
What is private is not kept in the buffer of messages."
  (let ((message-log-max (and (not (passepartout-question-private question))
                              message-log-max)))
    (apply #'message format arguments)))

(defun passepartout-answer--plain (text)
  "Return TEXT with the words of its links in the place of the links."
  (replace-regexp-in-string
   org-link-bracket-re
   (lambda (link)
     (or (match-string 2 link) (match-string 1 link)))
   text t t))

(defun passepartout-answer--below (question answer)
  "Return what stands below ANSWER, that to QUESTION: what else is to know."
  (let* ((end (passepartout-question-end question))
         (state (passepartout-question-state question))
         (notice (or (plist-get end :text)
                     (pcase state
                       ('interrupted "Interrupted.")
                       ('failed "This turn failed; M-x passepartout-log says \
why.")))))
    (string-join
     (seq-remove #'string-empty-p
                 (list (passepartout-chat--below end answer)
                       (passepartout-chat--refused end)
                       (if notice (passepartout-view-line notice 600) "")))
     "\n\n")))

;;;; The header line

(defun passepartout-answer--say ()
  "Bring the header line of this popup up to date."
  (let* ((question passepartout-answer--question)
         (text (concat " " (passepartout-answer-state question)
                       (propertize
                        (pcase (passepartout-question-state question)
                          ((or 'asked 'answering) "  k stops")
                          ('parked "  p plans  RET chat  w copy  i insert  ")
                          (_ "  RET chat  w copy  i insert  g again  "))
                        'face 'passepartout-quiet)
                       (passepartout-answer-cost question)))
         (text (replace-regexp-in-string "%" "%%" text t t)))
    (unless (equal text header-line-format)
      (setq header-line-format text)
      (force-mode-line-update))))

(defun passepartout-answer-state (question)
  "Return how QUESTION stands, in a few words."
  (concat
   (pcase (passepartout-question-state question)
     ('asked (propertize "asked…" 'face 'passepartout-attention))
     ('answering (propertize "answering…" 'face 'passepartout-attention))
     ('answered (propertize "answered" 'face 'passepartout-good))
     ('parked (propertize "waits for you" 'face 'passepartout-attention))
     ('interrupted (propertize "stopped" 'face 'passepartout-bad))
     (_ (propertize "failed" 'face 'passepartout-bad)))
   (if (passepartout-question-private question) " · private" "")))

(defun passepartout-answer-cost (question)
  "Return who answered QUESTION, and at what cost, in a few words."
  (let* ((end (passepartout-question-end question))
         (in (plist-get end :tokens-in))
         (out (plist-get end :tokens-out)))
    (string-join
     (delq nil
           (list (and (plist-get end :provider) (passepartout-view-who end))
                 (and (or in out) (format "%s in, %s out" (or in 0) (or out 0)))
                 (and (plist-get end :cost)
                      (passepartout-view-line (plist-get end :cost) 40))))
     " · ")))

;;;; Links

(defun passepartout-answer--follow (target)
  "Go where the link TARGET of this popup leads.
The core is asked where a heading is; nothing is fetched or run."
  (cond
   ((string-prefix-p "id:" target)
    (let ((place (passepartout-arrive-place)))
      (passepartout-request
       :query `(:query ,target :limit 1 :for :screen)
       (lambda (payload)
         (let ((hit (car (plist-get payload :hits))))
           (if (not hit)
               (message "The heading of %s is not in memory any more"
                        (passepartout-view-line target 80))
             (require 'passepartout-query)
             (passepartout-arrive place
                                  (concat "Found: "
                                          (passepartout-query-title hit))
                                  #'passepartout-query-visit hit t)))))))
   ((string-match "\\`passepartout-plan:\\(.*\\)\\'" target)
    (passepartout-chat--visit-plan (match-string 1 target)))
   ((string-match "\\`passepartout-why:\\(.*\\)\\'" target)
    (passepartout-chat--explain (match-string 1 target)))
   ((string-match "\\`file:\\(/[^:]*\\)\\(?:::\\(.*\\)\\)?\\'" target)
    (let ((file (match-string 1 target))
          (place (or (match-string 2 target) "")))
      (unless (passepartout-chat--visit
               file
               (if (string-match "\\`\\*\\(.+\\)\\'" place)
                   (concat "^\\*+ .*"
                           (regexp-quote
                            (org-link-unescape (match-string 1 place))))
                 "\\`"))
        (user-error "%s cannot be read" (passepartout-view-line file 200)))))
   ((string-match-p "\\`https?://" target) (browse-url target))
   (t (user-error "Nothing is opened for %s"
                  (passepartout-view-line target 200)))))

;;;; Keys of the popup

(defun passepartout-answer--check (&optional ended)
  "Return the question of this buffer; with ENDED it must have been answered."
  (let ((question passepartout-answer--question))
    (cond
     ((null question) (user-error "This buffer shows no answer"))
     ((and ended (passepartout-question-going-p question))
      (user-error "The answer still arrives; k stops it")))
    question))

(defun passepartout-answer-stop ()
  "Stop the answer that arrives in this popup."
  (interactive)
  (let ((question (passepartout-answer--check)))
    (unless (passepartout-question-going-p question)
      (user-error "Nothing arrives here any more"))
    (passepartout-question-stop question)
    (message "Interrupting…")))

(defun passepartout-answer-copy ()
  "Copy the answer that this popup shows."
  (interactive)
  (kill-new (string-trim (passepartout-question-answer
                          (passepartout-answer--check))))
  (message "Copied the answer"))

(defun passepartout-answer-insert ()
  "Insert the answer of this popup where you were when you asked.
It is one step to undo.  What models say stays inert: it becomes no
heading, and nothing that runs."
  (interactive)
  (let* ((question (passepartout-answer--check t))
         (from passepartout-answer--from)
         (buffer (marker-buffer from))
         (text (string-trim (passepartout-question-answer question))))
    (unless (buffer-live-p buffer)
      (user-error "The buffer that you asked from is gone; w copies"))
    (with-current-buffer buffer
      (barf-if-buffer-read-only)
      (unless (passepartout-question-may-go-p question from from)
        (user-error "Not inserted"))
      (undo-boundary)
      (save-excursion
        (save-restriction
          (widen)
          (goto-char from)
          (insert text)))
      (undo-boundary))
    (message "Inserted into %s; C-/ there takes it back" (buffer-name buffer))))

(defun passepartout-answer-again ()
  "Ask once more what this popup answers, in a conversation of its own."
  (interactive)
  (let ((question (passepartout-answer--check t))
        (about passepartout-answer--about)
        (from passepartout-answer--from))
    (with-current-buffer (if (buffer-live-p (marker-buffer from))
                             (marker-buffer from)
                           (current-buffer))
      (save-excursion
        (save-restriction
          (widen)
          (when (eq (current-buffer) (marker-buffer from)) (goto-char from))
          (passepartout-answer-open
           (passepartout-question-text question) about
           (passepartout-question-attached question)
           (passepartout-question-private question) t))))))

(defun passepartout-answer-go-on ()
  "Follow the link at point, or go on with this conversation in a chat."
  (interactive)
  (if (button-at (point))
      (push-button)
    (passepartout-answer--to-chat (passepartout-answer--check t))))

(defun passepartout-answer--to-chat (question)
  "Go on with the conversation of QUESTION in a chat."
  (let* ((session (passepartout-question-session question))
         (known (passepartout-chat--find-buffer session))
         (window (get-buffer-window)))
    (when (passepartout-abroad-elsewhere session)
      (user-error "%s" (passepartout-abroad-elsewhere session)))
    (unless known
      (setq known (passepartout-chat--fresh (passepartout-events-project)))
      (with-current-buffer known
        (passepartout-answer--write-chat question))
      (passepartout-question-leave question))
    (when (and window (window-parameter window 'quit-restore))
      (quit-window nil window))
    (pop-to-buffer known)
    (goto-char (point-max))))

(defun passepartout-answer--write-chat (question)
  "Make of the current buffer, a fresh chat, one that goes on from QUESTION."
  (let* ((lines (split-string (passepartout-question-text question) "\n"))
         (end (passepartout-question-end question))
         (tier (passepartout-question-private question))
         (answer (string-trim (passepartout-question-answer question)))
         (inhibit-read-only t))
    (goto-char (point-min))
    (re-search-forward "^:PP_CHAT:[ \t]+\\(.*\\)$")
    (replace-match (passepartout-question-session question) t t nil 1)
    (goto-char (point-max))
    (insert
     (passepartout-view-line (car lines) 400)
     "\n:PROPERTIES:\n:PP_ROLE: user\n"
     (pcase tier
       ('nil "")
       ('block ":PRIVACY: private\n")
       (_ (format ":PRIVACY: %s\n" tier)))
     ":END:\n"
     (if (cdr lines) (passepartout-view-fixed (string-join (cdr lines) "\n"))
       "")
     (mapconcat #'passepartout-answer--came-along
                (passepartout-question-attached question) "")
     "** Answer\n:PROPERTIES:\n:PP_ROLE: assistant\n:END:\n"
     (string-join
      (seq-remove #'string-empty-p
                  (list answer
                        (passepartout-chat--below end answer)
                        (passepartout-chat--refused end)
                        (passepartout-chat--drawer end)))
      "\n\n")
     "\n\n* ")
    (passepartout-chat--hide-roles (point-min) (point-max))
    (save-excursion (passepartout-chat--fold-drawers))
    (passepartout-chat--show-state)))

(defconst passepartout-answer--quoted 4096
  "How many characters of what went along are shown in a chat.")

(defun passepartout-answer--came-along (piece)
  "Return PIECE of what went along as it stands below a question."
  (let* ((text (plist-get piece :text))
         (more (- (length text) passepartout-answer--quoted)))
    (concat
     (passepartout-view-fixed
      (concat "With it went " (plist-get piece :name) ":"))
     (passepartout-view-fixed
      (if (> more 0) (substring text 0 passepartout-answer--quoted) text))
     (if (> more 0)
         (passepartout-view-fixed (format "… and %d characters more" more))
       ""))))

(provide 'passepartout-answer)
;;; passepartout-answer.el ends here
