;;; passepartout-costs.el --- What calls of models cost  -*- lexical-binding: t; -*-

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

;; What calls of models came to, put together by day, heading, skill,
;; provider, or who waited for them, and how much of each cap is used.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-plot)
(require 'passepartout-view)
(eval-when-compile (require 'subr-x))

(declare-function passepartout-chat--session "passepartout-chat-text" ())

(defconst passepartout-costs--buffer-name "*Passepartout costs*"
  "The name of the buffer of costs.")

(defvar-local passepartout-costs--by "day"
  "By what calls are put together here.")

(defvar-local passepartout-costs--session nil
  "The conversation whose cap is shown here, or nil.")

(defvar passepartout-costs-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map passepartout-view-mode-map)
    (define-key map (kbd "d") #'passepartout-costs-by-day)
    (define-key map (kbd "h") #'passepartout-costs-by-heading)
    (define-key map (kbd "s") #'passepartout-costs-by-skill)
    (define-key map (kbd "m") #'passepartout-costs-by-provider)
    (define-key map (kbd "b") #'passepartout-costs-by-background)
    map)
  "Keys of the buffer of costs.")

(define-derived-mode passepartout-costs-mode passepartout-view-mode "Costs"
  "Major mode of the buffer of what calls of models cost.")

(defconst passepartout-costs--columns
  '(("For" (18 . 34)) ("Calls" 6 t) ("Tok. in" 8 t) ("Cached" 8 t) ("Tok. out" 8 t)
    ("Cost" nil))
  "The columns of the list of costs.")

(defun passepartout-costs--dollars (cost)
  "Return the dollars that COST, words of the core, begins with, or 0."
  (if (string-match "\\$\\([0-9]+\\(?:\\.[0-9]+\\)?\\)" (or cost ""))
      (string-to-number (match-string 1 cost))
    0))

(defun passepartout-costs--cells (row)
  "Return the cells of ROW, a plist of what calls come to together."
  (let ((failed (or (plist-get row :failed) 0))
        (cost (plist-get row :cost)))
    `(,(passepartout-view-line (plist-get row :label) 100)
      ,@(mapcar (lambda (key)
                  (let ((number (or (plist-get row key) 0)))
                    (cons (passepartout-view-count number) number)))
                '(:calls :tokens-in :tokens-cached :tokens-out))
      (,(concat " " (passepartout-view-line cost 60)
                (if (> failed 0)
                    (propertize (format "  (%d not answered)" failed)
                                'face 'passepartout-quiet)
                  ""))
       . ,(passepartout-costs--dollars cost)))))

(defun passepartout-costs--row (row)
  "Return ROW, a plist of what calls come to together, as one of the list."
  (let ((label (passepartout-view-line (plist-get row :label) 100)))
    (list (or (plist-get row :id) label) label row
          (passepartout-costs--cells row))))

;;;; Pictures

(defun passepartout-costs--tokens (row)
  "Return how many tokens the calls of ROW, a plist, read and wrote."
  (+ (or (plist-get row :tokens-in) 0) (or (plist-get row :tokens-out) 0)))

(defun passepartout-costs--days (rows)
  "Return the days of ROWS without a gap, as (DAY . ROW), 31 at most.
ROW is nil on a day without a call."
  (let* ((days (sort (seq-filter
                      (lambda (day)
                        (string-match-p
                         "\\`[0-9]\\{4\\}-[01][0-9]-[0-3][0-9]\\'" day))
                      (mapcar (lambda (row) (or (plist-get row :label) ""))
                              rows))
                     #'string<))
         (first (car days))
         (last (car (last days)))
         ;; At noon no change of the clock makes it another day.
         (time (and last (ignore-errors (date-to-time (concat last " 12:00")))))
         found)
    (while (and time (< (length found) 31))
      (let ((day (format-time-string "%F" time)))
        (push (cons day (seq-find (lambda (row)
                                    (equal day (plist-get row :label)))
                                  rows))
              found)
        (setq time (and (string< first day) (time-subtract time 86400)))))
    found))

(defun passepartout-costs--plot-days (rows)
  "Insert columns of the days of ROWS."
  (let ((days (passepartout-costs--days rows)))
    (when (cdr days)
      (let ((costs (mapcar (lambda (day)
                             (cons (car day)
                                   (passepartout-costs--dollars
                                    (plist-get (cdr day) :cost))))
                           days))
            (tokens (mapcar (lambda (day)
                              (cons (car day)
                                    (passepartout-costs--tokens (cdr day))))
                            days)))
        (passepartout-plot-columns
         (list (list "Cost" costs
                     (format "$%.2f" (apply #'max (mapcar #'cdr costs))))
               (list "Tokens" tokens
                     (passepartout-view-count
                      (apply #'max (mapcar #'cdr tokens))))))))))

(defun passepartout-costs--plot-bars (rows)
  "Insert bars of the ROWS that cost or took most."
  (let ((rows (seq-take
               (seq-sort-by (lambda (row)
                              (+ (* 1e9 (passepartout-costs--dollars
                                         (plist-get row :cost)))
                                 (passepartout-costs--tokens row)))
                            #'> rows)
               8)))
    (when (cdr rows)
      (passepartout-plot-bars
       '("Cost" "Tokens")
       (mapcar (lambda (row)
                 (let ((dollars (passepartout-costs--dollars
                                 (plist-get row :cost)))
                       (tokens (passepartout-costs--tokens row)))
                   (list (passepartout-view-line (plist-get row :label) 40)
                         (cons dollars (format "$%.2f" dollars))
                         (cons tokens (passepartout-view-count tokens)))))
               rows)))))

(defun passepartout-costs--plot (payload)
  "Insert a picture of PAYLOAD, the answer of the core."
  (funcall (if (equal (plist-get payload :by) "day")
               #'passepartout-costs--plot-days
             #'passepartout-costs--plot-bars)
           (plist-get payload :rows)))

;;;; The list

(defun passepartout-costs--insert-lines (title lines)
  "Insert LINES below TITLE, if there are any."
  (when lines
    (insert (propertize (concat "\n" title "\n") 'face 'passepartout-title))
    (dolist (line lines)
      (insert "  " (passepartout-view-line line 400) "\n"))))

(defun passepartout-costs--draw (payload)
  "Draw PAYLOAD, the answer of the core, in the current buffer."
  (passepartout-view-draw
    (insert (propertize (format "What calls of models cost, by %s\n"
                                (passepartout-view-line
                                 (plist-get payload :by) 20))
                        'face 'passepartout-title)
            (propertize
             (concat "By d day, h heading, s skill, m provider and model, "
                     "b background; S sorts, g asks again, ? shows all keys, "
                     "q leaves.\n\n")
             'face 'passepartout-quiet))
    (if (eql (plist-get payload :calls) 0)
        (insert "No model was asked yet that is not built in.  \
M-x passepartout-setup adds a provider, M-x passepartout-models shows those \
that there are.\n")
      (passepartout-costs--plot payload)
      (passepartout-list-head passepartout-costs--columns)
      (passepartout-list-rows passepartout-costs--columns
                              (mapcar #'passepartout-costs--row
                                      (plist-get payload :rows)))
      (when (> (or (plist-get payload :more) 0) 0)
        (insert (format "  %d more are not listed; the sum has them.\n"
                        (plist-get payload :more))))
      (passepartout-list-row passepartout-costs--columns
                             (passepartout-costs--cells payload)))
    (passepartout-costs--insert-lines "Caps" (plist-get payload :caps))
    (passepartout-costs--insert-lines "To be known"
                                      (plist-get payload :notes))))

(defun passepartout-costs--fetch ()
  "Ask the core what calls cost and draw it."
  (passepartout-view-fetch
   passepartout-costs--buffer-name :costs #'passepartout-costs--draw
   (lambda ()
     `((:by ,passepartout-costs--by
        ,@(and passepartout-costs--session '(:here t)))
       ,passepartout-costs--session))))

(defun passepartout-costs--by (by)
  "Put calls together BY another word."
  (unless (derived-mode-p 'passepartout-costs-mode)
    (user-error "This is for the buffer of costs; M-x passepartout-costs opens it"))
  (setq passepartout-costs--by by)
  (passepartout-costs--fetch))

(defun passepartout-costs-by-day ()
  "Show what calls cost by day."
  (interactive nil passepartout-costs-mode)
  (passepartout-costs--by "day"))

(defun passepartout-costs-by-heading ()
  "Show what calls cost by the heading that was in focus."
  (interactive nil passepartout-costs-mode)
  (passepartout-costs--by "heading"))

(defun passepartout-costs-by-skill ()
  "Show what calls cost by skill."
  (interactive nil passepartout-costs-mode)
  (passepartout-costs--by "skill"))

(defun passepartout-costs-by-provider ()
  "Show what calls cost by provider and model."
  (interactive nil passepartout-costs-mode)
  (passepartout-costs--by "provider"))

(defun passepartout-costs-by-background ()
  "Show what calls cost that you asked for, and those in the background."
  (interactive nil passepartout-costs-mode)
  (passepartout-costs--by "background"))

;;;###autoload
(defun passepartout-costs ()
  "Show what calls of models cost, and how much of each cap is used.
In a chat, the cap of its conversation is shown as well."
  (interactive)
  (let ((session (and (bound-and-true-p passepartout-chat-mode)
                      (passepartout-chat--session))))
    (passepartout-view-open passepartout-costs--buffer-name
                            'passepartout-costs-mode 'passepartout-costs
                            #'passepartout-costs--fetch
                            (lambda ()
                              (setq passepartout-costs--session session)))))

(provide 'passepartout-costs)
;;; passepartout-costs.el ends here
