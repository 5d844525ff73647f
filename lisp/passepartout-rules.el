;;; passepartout-rules.el --- What may happen without asking  -*- lexical-binding: t; -*-

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

;; What loosens: lines that wait for you, what you confirmed, rules that
;; were learned from your approvals, and levels and hosts of the
;; settings.  Confirming makes a flight plan, which you approve like any
;; other; withdrawing counts at once; what is set is taken back where it
;; is set.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-arrive)
(require 'passepartout-view)
(eval-when-compile (require 'subr-x))


(defconst passepartout-rules--buffer-name "*Passepartout rules*"
  "The name of the buffer of rules.")

(defun passepartout-rules--ask (action rule then)
  "Send the request ACTION about RULE, and call THEN with its answer."
  (passepartout-request
   action (list :rule rule)
   (lambda (payload)
     (let ((why (plist-get payload :error)))
       (if why
           (message "Passepartout: %s" (passepartout-view-line why 500))
         (funcall then payload))
       (passepartout-rules--fetch)))))

(defun passepartout-rules-confirm (rule)
  "Show what RULE would loosen as a flight plan, to approve or to deny."
  (let ((place (passepartout-arrive-place)))
    (passepartout-rules--ask
     :rule-confirm rule
     (lambda (payload)
       (let ((plan (car (plist-get payload :plans))))
         (if plan
             (passepartout-arrive-at-plan place plan)
           (message "Passepartout: %s"
                    (passepartout-view-line (plist-get payload :text)
                                            500))))))))

(defun passepartout-rules-withdraw (rule)
  "Let RULE not count any more."
  (passepartout-rules--ask
   :rule-withdraw rule
   (lambda (payload)
     (message "Passepartout: %s"
              (passepartout-view-line (plist-get payload :text) 500)))))

(defvar passepartout-rules-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map passepartout-view-mode-map)
    (define-key map (kbd "c") #'passepartout-rules-confirm-here)
    (define-key map (kbd "k") #'passepartout-rules-withdraw-here)
    map)
  "Keys of the buffer of rules.")

(define-derived-mode passepartout-rules-mode passepartout-view-mode "Rules"
  "Major mode of the buffer of what may happen unasked."
  :interactive nil)

(defun passepartout-rules--here (states)
  "Return the name of the rule at point, which must be in one of STATES."
  (let ((rule (or (passepartout-list-data)
                  (user-error "There is no rule here"))))
    (unless (member (plist-get rule :state) states)
      (user-error "This one is %s"
                  (pcase (plist-get rule :state)
                    ("set" "set in the settings, and changed there")
                    (state (passepartout-view-line state 20)))))
    (plist-get rule :id)))

(defconst passepartout-rules--confirmable '("waiting" "offered" "withdrawn")
  "In which states a rule can be confirmed.")

(defconst passepartout-rules--withdrawable '("confirmed" "offered")
  "In which states a rule can be withdrawn.")

(defun passepartout-rules-confirm-here ()
  "Show the rule at point whole as a flight plan, to approve or to deny."
  (interactive)
  (passepartout-rules-confirm
   (passepartout-rules--here passepartout-rules--confirmable)))

(defun passepartout-rules-withdraw-here ()
  "Let the rule at point not count any more."
  (interactive)
  (passepartout-rules-withdraw
   (passepartout-rules--here passepartout-rules--withdrawable)))

(defconst passepartout-rules--columns
  '(("Rule" (10 . 20)) ("State" 10) ("What may happen" nil))
  "The columns of the list of rules.")

(defun passepartout-rules--insert-buttons (rule)
  "Insert buttons for what can be done about RULE, if anything can."
  (let ((id (plist-get rule :id))
        (state (plist-get rule :state))
        (before "    "))
    (when (member state passepartout-rules--confirmable)
      (insert before)
      (passepartout-view-button
       "confirm" (lambda () (passepartout-rules-confirm id))
       "Show it whole as a flight plan")
      (setq before "  "))
    (when (member state passepartout-rules--withdrawable)
      (insert before)
      (passepartout-view-button
       "withdraw" (lambda () (passepartout-rules-withdraw id))
       "It does not count any more"))
    (unless (bolp) (insert "\n"))))

(defun passepartout-rules--row (rule)
  "Return the row of RULE, a plist."
  (let ((id (plist-get rule :id)))
    (list id (passepartout-view-line id 40) rule
          (list (passepartout-view-line id 20)
                (passepartout-view-word (plist-get rule :state))
                (passepartout-view-line (plist-get rule :text) 400))
          (lambda () (passepartout-rules--insert-buttons rule)))))

(defun passepartout-rules--draw (payload)
  "Draw PAYLOAD, the answer of the core, in the current buffer."
  (passepartout-view-draw
    (insert (propertize "Rules\n" 'face 'passepartout-title)
            (propertize "c confirms, k withdraws, S sorts, g asks again, ? shows all \
keys, q leaves.\n\n"
                        'face 'passepartout-quiet))
    (dolist (gap (plist-get payload :gaps))
      (insert (propertize "Attention: " 'face 'passepartout-attention)
              (passepartout-view-line gap 400) "\n\n"))
    (if (plist-get payload :rules)
        (progn
          (passepartout-list-head passepartout-rules--columns)
          (passepartout-list-rows passepartout-rules--columns
                                  (mapcar #'passepartout-rules--row
                                          (plist-get payload :rules))))
      (insert "Nothing loosens what may happen, and no rule was learned.  \
What you approve several times alike is offered here as a rule.\n"))))

(defun passepartout-rules--fetch ()
  "Ask the core for the rules and draw them."
  (passepartout-view-fetch passepartout-rules--buffer-name :rules
                           #'passepartout-rules--draw))

;;;###autoload
(defun passepartout-rules ()
  "Show what may happen without asking, and what wants to."
  (interactive)
  (passepartout-view-open passepartout-rules--buffer-name
                          'passepartout-rules-mode 'passepartout-rules
                          #'passepartout-rules--fetch))

(provide 'passepartout-rules)
;;; passepartout-rules.el ends here
