;;; passepartout-trace.el --- What the gates said  -*- lexical-binding: t; -*-

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

;; The last turns, newest first: each action with its verdict, and each
;; gate's verdict and reason below it.  Foreign text is shown literally.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-arrive)
(require 'passepartout-view)
(eval-when-compile (require 'subr-x))

(declare-function passepartout-plan-visit "passepartout-plan" (id))
(declare-function passepartout-chat--find-buffer "passepartout-chat-answer"
                  (session))

(defconst passepartout-trace--buffer-name "*Passepartout gate trace*"
  "The name of the buffer of the trace.")

(defconst passepartout-trace--limit 20
  "How many turns are shown.")

(defvar passepartout-trace-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map passepartout-view-mode-map)
    (define-key map (kbd "y") #'passepartout-why)
    map)
  "Keys of the buffer of the trace.")

(define-derived-mode passepartout-trace-mode passepartout-view-mode "Trace"
  "Major mode of the buffer of what the gates said."
  :interactive nil)

(defun passepartout-trace--insert-opinion (opinion)
  "Insert OPINION, what one gate said."
  (insert "- "
          (passepartout-view-line (plist-get opinion :gate) 40)
          (propertize (format " (%s) " (or (plist-get opinion :priority) "?"))
                      'face 'passepartout-quiet)
          (passepartout-view-word (plist-get opinion :verdict))
          (let ((reason (passepartout-view-line
                         (plist-get opinion :reason) 400)))
            (if (string-empty-p reason) "" (concat ": " reason)))
          "\n"))

(defun passepartout-trace--insert-action (action)
  "Insert ACTION with what the gates said about it."
  (insert (propertize "** " 'face 'passepartout-subtitle)
          (passepartout-view-word (plist-get action :verdict))
          " "
          (propertize (passepartout-view-action action)
                      'face 'passepartout-subtitle)
          "\n")
  (mapc #'passepartout-trace--insert-opinion (plist-get action :opinions))
  (let ((outcome (plist-get action :outcome)))
    (when outcome
      (insert (propertize "Outcome: " 'face 'passepartout-quiet)
              (passepartout-view-line outcome 400) "\n")))
  (let ((plan (plist-get action :plan)))
    (when plan
      (passepartout-view-button
       (concat "flight plan " (passepartout-view-line plan 60))
       (lambda ()
         (require 'passepartout-plan)
         (passepartout-plan-visit plan))
       "Show this plan")
      (insert "\n"))))

(defun passepartout-trace--insert-round (round)
  "Insert ROUND, what several models wanted that were asked at once.
They stand side by side, each with its lines; a star marks who was
followed, and a dot who wanted the same."
  (let* ((ballots (plist-get round :ballots))
         (width (apply #'max 0 (mapcar (lambda (ballot)
                                         (string-width
                                          (passepartout-view-who ballot)))
                                       ballots)))
         (agreeing (seq-count (lambda (ballot) (plist-get ballot :agrees))
                              ballots)))
    (insert (propertize "Asked together: " 'face 'passepartout-quiet)
            (format "%s, %d of %d are for what was followed\n"
                    (passepartout-view-line (plist-get round :mode) 20)
                    agreeing (length ballots)))
    (dolist (ballot ballots)
      (let ((by (passepartout-view-who ballot))
            (mark (cond ((plist-get ballot :followed) "*")
                        ((plist-get ballot :agrees) "·")
                        (t " ")))
            (lines (pcase (plist-get ballot :vote)
                     ("words" (or (mapcar (lambda (line)
                                            (concat "in words: " line))
                                          (plist-get ballot :lines))
                                  '("answers in words")))
                     ("none" (mapcar (lambda (line) (concat "no vote: " line))
                                     (plist-get ballot :lines)))
                     (_ (plist-get ballot :lines)))))
        (dolist (line (or lines '("")))
          (insert "  " mark " " by
                  (make-string (- width (string-width by)) ?\s) "  "
                  (passepartout-view-line line 400) "\n")
          ;; Further lines are of the same one.
          (setq by "" mark " "))))))

(defun passepartout-trace--insert-spent (turn)
  "Insert what the requests of TURN came to, and of several each model's."
  (let ((cost (plist-get turn :cost)))
    (when cost
      (insert (propertize "Came to: " 'face 'passepartout-quiet)
              (format "%s in, %s out, "
                      (or (plist-get turn :tokens-in) 0)
                      (or (plist-get turn :tokens-out) 0))
              (passepartout-view-line cost 100) "\n")
      (dolist (share (plist-get turn :shares))
        (insert "  " (passepartout-view-share share) "\n")))))

(defun passepartout-trace--insert-about (turn)
  "Insert what is to be said of TURN as a whole."
  (let ((session (or (plist-get turn :session)))
        (notice (plist-get turn :text)))
    (insert (propertize "* " 'face 'passepartout-title)
            (propertize (passepartout-view-time (plist-get turn :at))
                        'face 'passepartout-quiet)
            " "
            (propertize (passepartout-view-line (plist-get turn :asked) 100)
                        'face 'passepartout-title)
            "\n"
            (passepartout-view-line (format "%s" (plist-get turn :status)) 20)
            (let ((model (or (plist-get turn :model)
                             (plist-get turn :provider))))
              (if model (concat ", " (passepartout-view-line model 60)) ""))
            (let ((seconds (plist-get turn :seconds)))
              (if (numberp seconds) (format ", %.1f s" seconds) ""))
            "  ")
    (when (plist-get turn :proposer)
      (insert (propertize "for " 'face 'passepartout-quiet)
              (passepartout-view-line (plist-get turn :proposer) 120) "  "))
    (when (and session (not (plist-get turn :proposer)))
      (passepartout-view-button
       "chat" (lambda () (passepartout-trace--visit-chat session))
       "Go to the chat of this turn"))
    (insert "\n")
    (when notice
      (insert (passepartout-view-line notice 400) "\n"))
    (when (plist-get turn :skill)
      (insert (propertize "Skill: " 'face 'passepartout-quiet)
              (passepartout-view-line (plist-get turn :skill) 60) "\n"))
    (dolist (route (plist-get turn :routes))
      (insert (propertize "Asked of models: " 'face 'passepartout-quiet)
              (passepartout-view-line route 600) "\n"))
    (mapc #'passepartout-trace--insert-round (plist-get turn :rounds))
    (passepartout-trace--insert-spent turn)
    (unless (plist-get turn :trace)
      (insert (propertize "No action was proposed.\n"
                          'face 'passepartout-quiet)))))

(defun passepartout-trace--decision (action)
  "Return the name of the decision about ACTION, as a plist, or nil."
  (let ((plan (plist-get action :plan))
        (hash (plist-get action :hash)))
    (cond (plan (list :plan plan))
          (hash (list :hash hash)))))

(defun passepartout-trace--insert-turn (turn)
  "Insert TURN with its actions, each an item."
  (let ((asked (passepartout-view-line (plist-get turn :asked) 100))
        (actions (plist-get turn :trace)))
    ;; Why a turn went as it did is asked of its first action.
    (passepartout-list-item (passepartout-list-key (plist-get turn :at) asked)
        (concat (passepartout-view-time (plist-get turn :at)) " " asked)
        (passepartout-trace--decision (car actions))
      (passepartout-trace--insert-about turn))
    (dolist (action actions)
      (let ((decision (passepartout-trace--decision action)))
        (passepartout-list-item (cadr decision)
            (concat "  " (passepartout-view-action action))
            decision
          (passepartout-trace--insert-action action))))
    (insert "\n")))

(defun passepartout-trace--visit-chat (session)
  "Go to the chat of SESSION."
  (require 'passepartout-chat)
  (let ((buffer (passepartout-chat--find-buffer session)))
    (if buffer
        (pop-to-buffer buffer)
      (user-error "The chat of this turn is not open"))))

(defun passepartout-trace--draw (recent)
  "Draw RECENT, a list of what was asked, in the current buffer."
  (passepartout-view-draw
    (insert (propertize "Gate trace\n" 'face 'passepartout-title)
            (propertize "TAB folds, RET follows, y says why, g asks again, ? \
shows all keys, q leaves.\n\n"
                        'face 'passepartout-quiet))
    (if (null recent)
        (insert "There has been no turn yet.  M-x passepartout-chat asks \
something; then g shows here what the gates said.\n")
      (mapc #'passepartout-trace--insert-turn recent))))

(defun passepartout-trace--fetch ()
  "Ask the core for what it did last and draw it."
  (passepartout-view-fetch
   passepartout-trace--buffer-name :trace
   (lambda (payload)
     (passepartout-trace--draw (plist-get payload :turns)))
   (lambda ()
     `((:limit ,passepartout-trace--limit)))))

;;;###autoload
(defun passepartout-gate-trace ()
  "Show what the gates said about the last actions."
  (interactive)
  (passepartout-view-open passepartout-trace--buffer-name
                          'passepartout-trace-mode 'passepartout-gate-trace
                          #'passepartout-trace--fetch))

;;;; Why

(defconst passepartout-trace--why-buffer-name "*Passepartout why*"
  "The name of the buffer that explains a decision.")

(declare-function passepartout-plan-id-at-point "passepartout-plan" ())

(defun passepartout-trace--decision-at-point ()
  "Return which decision point is on, as a plist, or nil."
  (cond ((derived-mode-p 'passepartout-trace-mode)
         (passepartout-list-data))
        ((bound-and-true-p passepartout-chat-mode)
         (save-excursion
           (forward-line 0)
           (and (looking-at "- Refused :: .*\\[\\[passepartout-why:\
\\([[:xdigit:]]+\\)\\]")
                (list :hash (match-string-no-properties 1)))))
        ((and (fboundp 'passepartout-plan-id-at-point)
              (passepartout-plan-id-at-point))
         (list :plan (passepartout-plan-id-at-point)))))

(defun passepartout-trace--decision-named (name)
  "Return the decision NAME, typed by the user, as a plist."
  (let ((name (string-trim name)))
    (cond ((string-empty-p name)
           (user-error "Name a number of the audit, a plan or a hash"))
          ((string-match-p "\\`[0-9]+\\'" name)
           (list :record (string-to-number name)))
          (t (list :plan name)))))

(defun passepartout-trace--show-why (text place)
  "Show TEXT, the explanation of a decision, to who asked at PLACE."
  (let ((buffer (passepartout-view-buffer
                 passepartout-trace--why-buffer-name
                 'passepartout-view-mode)))
    (with-current-buffer buffer
      (passepartout-view-draw
        (insert (propertize "Why\n" 'face 'passepartout-title)
                (passepartout-view-fixed text))))
    (passepartout-arrive-at-buffer place buffer)))

(defvar passepartout-why-history nil
  "What `passepartout-why' was asked to explain.")

;;;###autoload
(defun passepartout-why (&optional which)
  "Explain the decision at point, or the last one, in plain words.
In the trace, among flight plans and on a line of a chat about what was
refused it is the one that point is on.  With a numeric prefix argument
WHICH it is the one with that number in the audit; with just
\\[universal-argument], ask for a number, a plan or a hash."
  (interactive "P")
  (passepartout-trace-explain
   (cond ((integerp which)
          (when (< which 1)
            (user-error "The numbers of the audit begin with 1"))
          (list :record which))
         (which (passepartout-trace--decision-named
                 (read-string "Explain (number, plan or hash): " nil
                              'passepartout-why-history)))
         (t (passepartout-trace--decision-at-point)))))

(defun passepartout-trace-explain (of)
  "Explain the decision OF, a plist of one name of it; of nil the last one."
  (let ((place (passepartout-arrive-place)))
    (passepartout-request
     :why of
     (lambda (payload)
       (let ((why (plist-get payload :error)))
         (if why
             (message "Passepartout: %s" (passepartout-view-line why 200))
           (passepartout-trace--show-why (plist-get payload :text)
                                         place)))))))

(provide 'passepartout-trace)
;;; passepartout-trace.el ends here
