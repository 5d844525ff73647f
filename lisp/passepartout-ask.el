;;; passepartout-ask.el --- Ask from anywhere  -*- lexical-binding: t; -*-
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

;; `passepartout-ask' asks in the minibuffer, says there what goes along
;; and how much it is, and shows the answer in the echo area when it is
;; short and in a popup when it is not.  `passepartout-explain' and
;; `passepartout-summarize-buffer' ask without a question of yours, and
;; `passepartout-organize-subtree' has an order of headings proposed,
;; which waits as flight plans.

;;; Code:

(require 'org)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(require 'passepartout-question)
(require 'passepartout-answer)
(eval-when-compile (require 'subr-x))

(declare-function passepartout-sense--base "passepartout-sense" ())
(declare-function passepartout-sense-send "passepartout-sense" ())
(declare-function passepartout-sense-suitable-p "passepartout-sense" ())

(defvar passepartout-ask-history nil
  "What you asked with `passepartout-ask'.")

(defun passepartout-ask--target (argument)
  "Return what goes along with a question asked here, by the prefix ARGUMENT."
  (pcase (prefix-numeric-value argument)
    (16 (passepartout-question-buffer))
    (4 nil)
    (_ (or (passepartout-question-region)
           (let ((target (or (passepartout-question-subtree)
                             (passepartout-question-defun))))
             ;; What was not asked for goes along only where it can.
             (and target
                  (<= (plist-get target :bytes) passepartout-question-most)
                  target))))))

(defun passepartout-ask--read (target)
  "Ask for a question about TARGET, which may be nil."
  (passepartout-ask-read
   (if target
       (format "Ask about %s: " (passepartout-question-said-of target))
     "Ask: ")))

(defun passepartout-ask-read (prompt)
  "Ask for a question with PROMPT; it is kept in `passepartout-ask-history'."
  (let ((text (string-trim
               ;; A token counts once, and is kept nowhere.
               (let ((history-add-new-input nil))
                 (read-string prompt nil 'passepartout-ask-history)))))
    (when (string-empty-p text)
      (user-error "Nothing was asked"))
    (when (string-match-p "\\`/\\(?:approve\\|deny\\)\\_>" text)
      (user-error "Decide in M-x passepartout-flight-plans, or in a chat"))
    (when history-add-new-input
      (add-to-history 'passepartout-ask-history text))
    text))

;;;###autoload
(defun passepartout-ask (question &optional target)
  "Ask QUESTION, and show the answer in the echo area or in a popup.
The prompt says what goes along and how much it is: the region when it
is active, else the subtree or the definition that point is in.  With a
prefix argument nothing goes along, with two the whole buffer.  TARGET
is what goes along, as `passepartout-question-target' makes it."
  (interactive (let ((target (passepartout-ask--target current-prefix-arg)))
                 (list (passepartout-ask--read target) target)))
  (passepartout-answer-open
   question
   (and target (passepartout-question-said-of target))
   (and target (passepartout-question-attach target))
   (plist-get target :tier)))

(defun passepartout-ask--whats-there (whole)
  "Return what is to be explained at point, as (TEXT . TARGET), or nil.
With WHOLE that is the definition instead of the symbol."
  (let ((region (passepartout-question-region))
        (problem (passepartout-question-error))
        (plain "Explain this: what it says or does, and why.  Be brief."))
    (cond
     (region (cons plain region))
     (problem
      (cons (format "Explain this message and what to do about it: %s"
                    (car problem))
            (cdr problem)))
     ((derived-mode-p 'prog-mode)
      (let ((symbol (and (not whole) (passepartout-question-symbol)))
            (defun (passepartout-question-defun)))
        (cond (symbol
               (cons (format "Explain “%s” as it stands here: what it is, and \
what to mind.  Be brief."
                             (passepartout-view-line
                              (thing-at-point 'symbol t) 80))
                     symbol))
              (defun (cons plain defun)))))
     (t (let ((target (or (passepartout-question-subtree)
                          (passepartout-question-paragraph))))
          (and target (cons plain target)))))))

;;;###autoload
(defun passepartout-explain (&optional whole)
  "Have what is at point explained in a popup.
That is the region when it is active, else the error at point, the
symbol in code, or the subtree or paragraph elsewhere.  With prefix
argument WHOLE it is the definition around the symbol."
  (interactive "P")
  (let ((found (or (passepartout-ask--whats-there whole)
                   (user-error "There is nothing here to explain; mark it as \
the region"))))
    (passepartout-answer-open
     (car found)
     (passepartout-question-said-of (cdr found))
     (passepartout-question-attach (cdr found))
     (plist-get (cdr found) :tier) t)))

;;;###autoload
(defun passepartout-summarize-buffer ()
  "Have the buffer summarized in a popup: the region of it when one is active."
  (interactive)
  (let ((target (or (passepartout-question-region)
                    (passepartout-question-buffer))))
    (when (= 0 (plist-get target :bytes))
      (user-error "This buffer is empty"))
    (passepartout-answer-open
     "Summarise this: what it is, its main points in a short list, and what is \
left open."
     (passepartout-question-said-of target)
     (passepartout-question-attach target)
     (plist-get target :tier) t)))

;;;###autoload
(defun passepartout-organize-subtree ()
  "Have an order proposed for the headings of the subtree at point.
What would change waits as flight plans, which the popup links to;
nothing is moved before you approve it."
  (interactive)
  (let ((target (or (passepartout-question-subtree)
                    (user-error "Put point on a heading of a note"))))
    (cond
     ((passepartout-module-road :tag)
      (user-error "“%s” does not know the buffers of this Emacs; ask in a chat, \
with the title of the heading" (passepartout-module-road :name)))
     ((progn (require 'passepartout-sense) (passepartout-sense-suitable-p))
      (user-error "%s" (passepartout-sense-suitable-p)))
     ((not (passepartout--in-memex-p
            (buffer-file-name (passepartout-sense--base))))
      (user-error "%s is no note of the memex (see passepartout-directories)"
                  (buffer-name))))
    (passepartout-start)
    ;; The agent works on the heading as it stands here, saved or not.
    (unless (bound-and-true-p passepartout-mode)
      (passepartout-mode 1))
    (passepartout-sense-send)
    (passepartout-send-event
     :point-update
     `(:file ,(expand-file-name (buffer-file-name (passepartout-sense--base)))
       :byte ,(save-restriction
                (widen)
                (1- (position-bytes (plist-get target :beg))))))
    (passepartout-answer-open
     (format "Organise this subtree: “%s”%s"
             (org-with-wide-buffer
              (goto-char (plist-get target :beg))
              (passepartout-view-line
               (or (nth 4 (org-heading-components)) "") 200))
             (let ((id (org-entry-get (plist-get target :beg) "ID")))
               (if id (format " (id:%s)" (passepartout-view-line id 80)) "")))
     nil nil (plist-get target :tier) t)))

(provide 'passepartout-ask)
;;; passepartout-ask.el ends here
