;;; passepartout-chat-head.el --- The header line of a chat  -*- lexical-binding: t; -*-

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

;; The header line of a chat has three parts that can be clicked: who
;; answers and for what kind of work, what is under way, and what the
;; last answer took.  All of it was heard in messages of the core or
;; stands in the chat: the core is asked nothing for it, and a redisplay
;; computes nothing, as the text is made when something has changed.

;;; Code:

(require 'org)
(require 'passepartout)
(require 'passepartout-status)
(require 'passepartout-view)
(require 'passepartout-chat-text)
(require 'passepartout-chat-change)
(eval-when-compile (require 'subr-x))

(defvar passepartout-chat-mode)
(declare-function passepartout-chat-interrupt "passepartout-chat" ())
(declare-function passepartout-chat--answering-p "passepartout-chat-answer"
                  (base))
(declare-function passepartout-chat--base "passepartout-chat-place" ())
(declare-function passepartout-chat--doing "passepartout-chat-answer" (base))

(defvar-local passepartout-chat--header nil
  "The text of the header line.")
(put 'passepartout-chat--header 'risky-local-variable t)

(defvar-local passepartout-chat--shown nil
  "What the text of the header line was made of.")

(defvar-local passepartout-chat--own-header nil
  "A list of the header line that this buffer had before, or nil.")

(defvar-local passepartout-chat--preset nil
  "The preset of this conversation, as the core said last, or nil.")
(put 'passepartout-chat--preset 'permanent-local t)

(defvar-local passepartout-chat--last nil
  "What is known of the last answer of this chat, a plist.
It has :model, :slot, :tokens, :cost and :context, each a text or nil.")
(put 'passepartout-chat--last 'permanent-local t)

;;;; What the last answer took

(defun passepartout-chat--head-tokens (in out)
  "Return IN and OUT, numbers of tokens or nil, in words, or nil."
  (and (> (+ (or in 0) (or out 0)) 0)
       (format "%s in, %s out"
               (passepartout-view-count in) (passepartout-view-count out))))

(defun passepartout-chat--head-context (context)
  "Return how full CONTEXT is, a plist of :used and :most, in words, or nil."
  (let ((used (plist-get context :used))
        (most (plist-get context :most)))
    (and (natnump used) (natnump most) (> most 0)
         (format "context %d%%" (/ (* 100 used) most)))))

(defun passepartout-chat--head-note (payload)
  "Keep what PAYLOAD, the end of a turn, says of its answer.
What was answered without a model took nothing, and leaves it."
  (when (or (plist-get payload :model) (plist-get payload :provider))
    (setq passepartout-chat--last
          (list :model (passepartout-view-line
                        (or (plist-get payload :model)
                            (plist-get payload :provider))
                        30)
                :slot (and (plist-get payload :slot)
                           (passepartout-view-line (plist-get payload :slot)
                                                   20))
                :tokens (passepartout-chat--head-tokens
                         (plist-get payload :tokens-in)
                         (plist-get payload :tokens-out))
                :cost (and (plist-get payload :cost)
                           (passepartout-view-line (plist-get payload :cost)
                                                   24))
                :context (passepartout-chat--head-context
                          (plist-get payload :context))))))

(defun passepartout-chat--head-read ()
  "Keep what the drawer of the last answer in this buffer says of it.
A chat that was saved says so much of an earlier session."
  (org-with-wide-buffer
   (goto-char (point-max))
   (when (re-search-backward "^:PASSEPARTOUT:$" nil t)
     (let* ((end (save-excursion
                   (or (re-search-forward "^:END:$" nil t) (point))))
            (value (lambda (label)
                     (save-excursion
                       (and (re-search-forward
                             (format "^- %s :: \\(.*\\)$" label) end t)
                            (match-string-no-properties 1)))))
            (tokens (or (funcall value "tokens") ""))
            (model (funcall value "model")))
       (when model
         (setq passepartout-chat--last
               (list :model (passepartout-view-line
                             (car (split-string model " (")) 30)
                     :tokens (and (string-match
                                   "\\`\\([0-9]+\\) in\\(?: (.*?)\\)?, \
\\([0-9]+\\) out" tokens)
                                  (passepartout-chat--head-tokens
                                   (string-to-number (match-string 1 tokens))
                                   (string-to-number (match-string 2 tokens))))
                     :cost (let ((cost (funcall value "cost")))
                             (and cost (passepartout-view-line cost 24))))))))))

;;;; The parts

(defun passepartout-chat--head-map (command &optional other)
  "Return a keymap by which a click calls COMMAND, and a right one OTHER.
They are called in the chat that was clicked."
  (let ((map (make-sparse-keymap))
        (clicked (lambda (command)
                   (lambda (event)
                     (interactive "e")
                     (select-window (posn-window (event-start event)))
                     (call-interactively command)))))
    (define-key map [header-line mouse-1] (funcall clicked command))
    (when other
      (define-key map [header-line mouse-3] (funcall clicked other)))
    map))

(defconst passepartout-chat--head-maps
  (mapcar (lambda (commands)
            (cons (car commands)
                  (apply #'passepartout-chat--head-map commands)))
          '((passepartout-models passepartout-preset)
            (passepartout-chat-interrupt passepartout-gate-trace)
            (passepartout-doctor passepartout-log)
            (passepartout-flight-plans passepartout-gate-trace)
            (passepartout-status passepartout-gate-trace)
            (passepartout-costs passepartout-context)
            (passepartout-context passepartout-inspect)))
  "Keymaps of the parts, by the command of a click.")

(defun passepartout-chat--head-part (text command help &optional face)
  "Return TEXT, in FACE, as a part that calls COMMAND when it is clicked.
HELP says what a click does."
  (propertize text
              'face face
              'mouse-face 'header-line-highlight
              'help-echo help
              'local-map (cdr (assq command passepartout-chat--head-maps))))

(defun passepartout-chat--head-first ()
  "Return who is asked first, or what to do where nobody was set up."
  (let ((first (car (default-value 'passepartout-provider-cascade))))
    (if (member first '(nil "recall"))
        "choose a model"
      (passepartout-view-line first 30))))

(defun passepartout-chat--head-who (last preset)
  "Return who answers, by LAST, in what kind of work, and by which PRESET."
  (passepartout-chat--head-part
   (concat (or (plist-get last :model) (passepartout-chat--head-first))
           (if (plist-get last :slot)
               (format " (%s)" (plist-get last :slot))
             "")
           (if preset
               (format ", preset %s" (passepartout-view-line preset 40))
             ""))
   'passepartout-models
   "Who answered last, and what kind of work it was\n\
mouse-1: providers and models, mouse-3: preset of this chat"))

(defun passepartout-chat--head-state (state word doing)
  "Return what is under way: STATE, or where that is nil what the core does.
WORD says that, and DOING what is done for an answer, where that is known."
  (let ((word (or (and state doing) state word)))
    (cond
     ((equal state "answering")
      (passepartout-chat--head-part
       word 'passepartout-chat-interrupt
       "mouse-1: stop the answer, mouse-3: what the gates said"
       'passepartout-attention))
     (state (propertize word 'face 'passepartout-attention))
     ((passepartout-status-trouble-p)
      (passepartout-chat--head-part
       word 'passepartout-doctor "mouse-1: doctor, mouse-3: log"
       'passepartout-bad))
     ((> (passepartout-status--count) 0)
      (passepartout-chat--head-part
       word 'passepartout-flight-plans
       "mouse-1: flight plans, mouse-3: what the gates said"
       'passepartout-attention))
     (t (passepartout-chat--head-part
         word 'passepartout-status
         "mouse-1: how things stand, mouse-3: what the gates said")))))

(defun passepartout-chat--head-took (last)
  "Return what the last answer took, by LAST."
  (let ((spent (string-join (delq nil (list (plist-get last :tokens)
                                            (plist-get last :cost)))
                            " · "))
        (context (plist-get last :context)))
    (concat
     (passepartout-chat--head-part
      (if (string-empty-p spent) "costs" spent)
      'passepartout-costs
      "What the last answer took\n\
mouse-1: what calls cost, mouse-3: what a model is told")
     " · "
     (passepartout-chat--head-part
      (or context "context") 'passepartout-context
      "How much of its room the last prompt took\n\
mouse-1: what a model would be told, mouse-3: the last request"))))

;;;; The header line

(defun passepartout-chat--state ()
  "Return what this chat does and what can be done, as a cons."
  (let ((base (passepartout-chat--base)))
    (cond
     ((with-current-buffer base (passepartout-chat--held-text)))
     ((passepartout-chat--answering-p base)
      '("answering" . "C-c C-k stops it"))
     (t (cons nil
              (if (> (passepartout-status--count) 0)
                  "M-x passepartout-flight-plans"
                "C-c RET sends, or goes to the next question"))))))

(defun passepartout-chat--head-room ()
  "Return how many columns the header line of this buffer has, or nil.
Where no window shows it, and nobody looks, it has as many as it takes."
  (let ((window (and (not noninteractive) (get-buffer-window nil t))))
    (and window (window-width window))))

(defun passepartout-chat--head-hint (hint before room)
  "Return as much of HINT as fits behind BEFORE in ROOM columns.
That is all of it, or what stands before its first comma, or nothing."
  (let ((left (and room (- room (string-width before))))
        (short (car (split-string hint ","))))
    (cond ((or (not left) (<= (string-width hint) left)) hint)
          ((<= (string-width short) left) short)
          (t ""))))

(defun passepartout-chat--head-resized (window)
  "Bring the header line of the chat in WINDOW, another one now, up to date."
  (with-current-buffer (window-buffer window)
    (when passepartout-chat-mode
      (passepartout-chat--show-own-state))))

(defun passepartout-chat--show-own-state ()
  "Bring the header line of this buffer up to date."
  (let* ((state (passepartout-chat--state))
         (base (passepartout-chat--base))
         (last (buffer-local-value 'passepartout-chat--last base))
         (preset (buffer-local-value 'passepartout-chat--preset base))
         (word (passepartout-status-word))
         (doing (and (equal (car state) "answering")
                     (passepartout-chat--doing base)))
         (room (passepartout-chat--head-room))
         (shown (list state word doing (passepartout-status-trouble-p) last
                      preset room)))
    (unless (equal shown passepartout-chat--shown)
      (setq passepartout-chat--shown shown
            passepartout-chat--header
            (let ((parts (concat
                          " "
                          (passepartout-chat--head-who last preset)
                          "  "
                          (passepartout-chat--head-state (car state) word doing)
                          "  "
                          (passepartout-chat--head-took last)
                          "  ")))
              (concat parts
                      (propertize (passepartout-chat--head-hint
                                   (cdr state) parts room)
                                  'face 'passepartout-quiet))))
      (force-mode-line-update))))

(defun passepartout-chat--show-state ()
  "Bring the header line of this chat up to date, wherever it is shown."
  (let ((base (passepartout-chat--base)))
    (dolist (buffer (buffer-list))
      (when (and (eq base (or (buffer-base-buffer buffer) buffer))
                 (buffer-local-value 'passepartout-chat-mode buffer))
        (with-current-buffer buffer
          (passepartout-chat--show-own-state))))))

(defun passepartout-chat--status (_payload _meta)
  "Bring the header lines of the chats up to date."
  (dolist (buffer (buffer-list))
    (when (buffer-local-value 'passepartout-chat-mode buffer)
      (with-current-buffer buffer
        (passepartout-chat--show-own-state)))))

(defconst passepartout-chat--head-format '("" passepartout-chat--header)
  "The header line of a chat.  The text of a variable has no constructs.")

(defun passepartout-chat--head-set ()
  "Show our header line here, and keep the one that the buffer had."
  (unless (or (not passepartout-header-line)
              (equal header-line-format passepartout-chat--head-format))
    (setq passepartout-chat--own-header
          (and (local-variable-p 'header-line-format)
               (list header-line-format)))
    (setq header-line-format passepartout-chat--head-format)
    (dolist (hook '(window-buffer-change-functions window-size-change-functions))
      (add-hook hook #'passepartout-chat--head-resized nil t)))
  (unless passepartout-chat--last
    (passepartout-chat--head-read)))

(defun passepartout-chat--head-lift ()
  "Give the buffer its own header line back, unless it has another by now."
  (dolist (hook '(window-buffer-change-functions window-size-change-functions))
    (remove-hook hook #'passepartout-chat--head-resized t))
  (when (equal header-line-format passepartout-chat--head-format)
    (if passepartout-chat--own-header
        (setq header-line-format (car passepartout-chat--own-header))
      (kill-local-variable 'header-line-format)))
  (kill-local-variable 'passepartout-chat--own-header))

(passepartout-subscribe :status nil #'passepartout-chat--status)

(provide 'passepartout-chat-head)
;;; passepartout-chat-head.el ends here
