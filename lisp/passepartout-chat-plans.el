;;; passepartout-chat-plans.el --- How the plans of a chat stand  -*- lexical-binding: t; -*-

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

;; Below an answer a line says that a plan waits.  When the plan is
;; decided, the first words of that line change, and nothing else.
;;
;; A chat that was saved says how its plans stood then.  When it is
;; opened again, the core is asked how they stand now.  The change is an
;; ordinary one: the buffer is modified then, because it differs from
;; its file, and whether it is saved is up to you.  A chat that cannot
;; be changed without a question to you is left as it is.

;;; Code:

(require 'cl-lib)
(require 'org)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-chat-text)
(require 'passepartout-chat-change)
(require 'passepartout-chat-below)
(require 'passepartout-chat-answer)

(defvar passepartout-chat-mode)

(defconst passepartout-chat--plans-most 100
  "How many plans of one chat are asked about.")

(defun passepartout-chat--plan-word (status)
  "Return the words for STATUS of a plan, or nil when there are none."
  (cond ((not (stringp status)) nil)
        ((equal status "pending") "Waits for approval")
        (t (capitalize
            (replace-regexp-in-string "[^[:alpha:]]" "" status)))))

(defun passepartout-chat--write-status (plan)
  "Write in the current buffer how PLAN stands, where a line names it.
Below a plan that was edited stands the one that came in its place."
  (let ((word (passepartout-chat--plan-word (plist-get plan :status))))
    (org-with-wide-buffer
     (goto-char (point-max))
     (when (and word
                (re-search-backward
                 (concat "^- \\([[:alpha:] ]+\\) :: \\[\\[passepartout-plan:"
                         (regexp-quote (passepartout-chat--link-text
                                        (plist-get plan :id)))
                         "\\]")
                 nil t)
                (not (equal word (match-string 1))))
       (let ((next (plist-get plan :replaced-by))
             (from (match-beginning 1))
             (to (match-end 1)))
         ;; Hooks on changes may search; `replace-match' would then fail.
         (goto-char to)
         (insert word)
         (delete-region from to)
         (when next
           (end-of-line)
           (insert "\n" (passepartout-chat--plan-line next))))))))

(defun passepartout-chat--plan-changed (payload _meta)
  "Write in its chat what has become of the plan in PAYLOAD."
  (let* ((plan (plist-get payload :plan))
         (buffer (passepartout-chat--find-buffer (plist-get plan :session))))
    (when (and buffer (not (equal (plist-get plan :status) "pending")))
      (passepartout-chat--change
       buffer (lambda () (passepartout-chat--write-status plan))))))

;;;; A chat that was opened again

(defun passepartout-chat--open-plans ()
  "Return the plans that this chat says are not done with, newest first."
  (let ((ids nil))
    (org-with-wide-buffer
     (goto-char (point-max))
     (while (and (< (length ids) passepartout-chat--plans-most)
                 (re-search-backward
                  (concat "^- \\(?:Waits for approval\\|Approved\\) :: "
                          "\\[\\[passepartout-plan:\\([[:alnum:]]+\\)\\]")
                  nil t))
       (cl-pushnew (match-string-no-properties 1) ids :test #'equal)))
    (nreverse ids)))

(defun passepartout-chat-ask-plans ()
  "Ask how the plans stand that this chat says are not done with.
Nothing happens when the core is not running: it is asked when it is."
  (let ((ids (and (passepartout-running-p)
                  (passepartout-abroad-here-p (passepartout-chat--session))
                  (passepartout-chat--open-plans)))
        (buffer (current-buffer)))
    (when ids
      (passepartout-request
       :plans `(:ids ,ids)
       (lambda (payload)
         (when (buffer-live-p buffer)
           (with-current-buffer buffer
             (when (passepartout-chat--changeable-p)
               (passepartout-chat--change-now
                (lambda ()
                  (mapc #'passepartout-chat--write-status
                        (plist-get payload :plans))))))))))))

(defun passepartout-chat--core-started ()
  "Ask how the plans of every chat stand."
  (dolist (buffer (buffer-list))
    (when (and (buffer-local-value 'passepartout-chat-mode buffer)
               (not (buffer-base-buffer buffer)))
      (with-current-buffer buffer
        (passepartout-chat-ask-plans)))))

(passepartout-subscribe :event :plan-changed #'passepartout-chat--plan-changed)
(add-hook 'passepartout-start-hook #'passepartout-chat--core-started)

(provide 'passepartout-chat-plans)
;;; passepartout-chat-plans.el ends here
