;;; passepartout-find.el --- Find a heading while you type  -*- lexical-binding: t; -*-

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

;; `passepartout-find' reads a query in the minibuffer, asks the core
;; with what stands there as you type, and goes to the heading that you
;; choose.  Emacs never waits: the answer to what you typed comes by
;; itself and takes the place of the one before.  The candidates are all
;; that the core found, whatever they look like, so a completion style
;; of its own shows them; a front end such as vertico or icomplete is
;; told when they change.

;;; Code:

(require 'passepartout)
(require 'passepartout-arrive)
(require 'passepartout-events)
(require 'passepartout-query)
(require 'passepartout-status)
(require 'passepartout-view)
(eval-when-compile (require 'subr-x))

(declare-function vertico--exhibit "ext:vertico" ())
(declare-function icomplete-exhibit "icomplete" ())
(defvar vertico--input)
(defvar icomplete-mode)

(defvar passepartout-find-history nil
  "What was looked for with `passepartout-find', the newest first.")

(defconst passepartout-find--limit 50
  "How many headings are found at most.")

(defconst passepartout-find--pause 0.06
  "Seconds after the last key before the core is asked.")

(defvar passepartout-find--candidates nil
  "An alist from what is shown to the heading it stands for.")

(defvar passepartout-find--answered nil
  "The input that the candidates are the answer to.")

(defvar passepartout-find--wanted nil
  "The input that the core was asked last.")

(defvar passepartout-find--timer nil
  "The timer that asks the core, or nil.")

(defvar passepartout-find--note nil
  "What the core says of the input, or nil.")

(defvar passepartout-find--minibuffer nil
  "The minibuffer in which a heading is being looked for, or nil.")

(defvar passepartout-find--headings nil
  "How many headings had been read when the last answer came, or nil.")

;;;; Candidates

(defun passepartout-find--unique (hits)
  "Return an alist from a text that is unique to each of HITS."
  (let ((taken (make-hash-table :test #'equal)) candidates)
    (dolist (hit hits)
      (let* ((title (passepartout-query-title hit))
             (number (1+ (gethash title taken 0)))
             (text (if (= number 1) title (format "%s <%d>" title number))))
        (puthash title number taken)
        (push (cons (propertize text 'passepartout-query-hit hit) hit)
              candidates)))
    (nreverse candidates)))

(defun passepartout-find--affix (texts)
  "Return TEXTS with the keyword before and the place behind each."
  (mapcar
   (lambda (text)
     (let ((hit (cdr (assoc text passepartout-find--candidates))))
       (if (null hit)
           (list text "" "")
         (let ((keyword (passepartout-query-keyword hit))
               (stamps (passepartout-query--stamps hit))
               (tags (plist-get hit :tags)))
           (list text
                 (if keyword (concat keyword " ") "")
                 (propertize
                  (concat "  "
                          (if tags
                              (concat ":" (passepartout-view-line
                                           (string-join tags ":") 60)
                                      ":  ")
                            "")
                          (passepartout-query-place hit)
                          (if stamps (concat "  " stamps) ""))
                  'face 'passepartout-quiet))))))
   texts))

(defun passepartout-find--table (string predicate action)
  "Complete STRING with what was found, by PREDICATE and ACTION.
Every candidate fits: the core has chosen them."
  (pcase action
    ('metadata
     '(metadata (category . passepartout-heading)
                (affixation-function . passepartout-find--affix)
                (display-sort-function . identity)
                (cycle-sort-function . identity)))
    ('t (let ((texts (mapcar #'car passepartout-find--candidates)))
          (if predicate (seq-filter predicate texts) texts)))
    ('lambda (and (assoc string passepartout-find--candidates) t))
    ('nil (if (and passepartout-find--candidates
                   (null (cdr passepartout-find--candidates))
                   (equal string (caar passepartout-find--candidates)))
              t
            string))
    (_ nil)))

(defun passepartout-find--try (string table predicate point &rest _)
  "Leave STRING as it is, with POINT, if TABLE has anything for PREDICATE."
  (and (all-completions "" table predicate) (cons string point)))

(defun passepartout-find--all (_string table predicate _point &rest _)
  "Return everything in TABLE that PREDICATE lets through."
  (all-completions "" table predicate))

(add-to-list 'completion-styles-alist
             '(passepartout-find passepartout-find--try passepartout-find--all
                                 "Everything that the core has found."))
(add-to-list 'completion-category-defaults
             '(passepartout-heading (styles passepartout-find)))

;;;; Asking while you type

(defun passepartout-find--show ()
  "Let the front end of the minibuffer show the candidates that came."
  (let ((window (active-minibuffer-window)))
    (when window
      (with-selected-window window
        (when (fboundp 'completion--flush-all-sorted-completions)
          (completion--flush-all-sorted-completions))
        (cond
         ((and (bound-and-true-p vertico--input) (fboundp 'vertico--exhibit))
          (setq vertico--input t)
          (vertico--exhibit))
         ((and (bound-and-true-p icomplete-mode)
               (fboundp 'icomplete-exhibit))
          (icomplete-exhibit))
         ((get-buffer-window "*Completions*" 0)
          (minibuffer-completion-help)))
        (passepartout-find--tell)))))

(defvar-local passepartout-find--overlay nil
  "The overlay that tells how many headings were found.")

(defun passepartout-find--tell ()
  "Tell behind the input how many headings were found, or what is wrong."
  (unless (overlayp passepartout-find--overlay)
    (setq passepartout-find--overlay
          (make-overlay (point-max) (point-max) nil t t)))
  (move-overlay passepartout-find--overlay (point-max) (point-max))
  (let ((note (and passepartout-find--note
                   (propertize (concat "  " passepartout-find--note)
                               'face 'passepartout-quiet))))
    (when note (put-text-property 0 1 'cursor t note))
    (overlay-put passepartout-find--overlay 'after-string note)))

(defun passepartout-find--take (input payload)
  "Take PAYLOAD, the answer to INPUT, unless a newer one is wanted."
  (when (equal input passepartout-find--wanted)
    (let ((problem (plist-get payload :error)))
      (setq passepartout-find--answered input
            passepartout-find--headings
            (plist-get passepartout-status--last :headings))
      ;; What is half typed may not be readable yet: what was found stays.
      (unless problem
        (setq passepartout-find--candidates
              (passepartout-find--unique (plist-get payload :hits))))
      (setq passepartout-find--note
            (cond (problem (passepartout-view-line problem 120))
                  ((plist-get payload :hits)
                   ;; What RET goes to, where no front end shows it.
                   (concat (passepartout-query--total payload) "; RET: "
                           (passepartout-view-line
                            (passepartout-query-title
                             (car (plist-get payload :hits)))
                            50)))
                  (t (passepartout-view-line
                      (or (car (plist-get payload :notes)) "nothing fits")
                      120)))))
    (passepartout-find--show)))

(defun passepartout-find--ask (input)
  "Ask the core for what fits INPUT."
  (setq passepartout-find--wanted input)
  (passepartout-request
   :query `(:query ,input :limit ,passepartout-find--limit :typing t
            :for :screen)
   (lambda (payload) (passepartout-find--take input payload))))

(defun passepartout-find--look (buffer)
  "Ask the core when the input in BUFFER, a minibuffer, is a new one."
  (setq passepartout-find--timer nil)
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (let ((input (string-trim (minibuffer-contents-no-properties))))
        (unless (or (string-empty-p input)
                    (equal input passepartout-find--wanted)
                    ;; A candidate that was chosen is no query.
                    (assoc input passepartout-find--candidates))
          (passepartout-find--ask input))))))

(defun passepartout-find--heard (payload _meta)
  "Ask again when PAYLOAD, a status, says that more notes were read.
What was found stays until all of them were."
  (when (and (buffer-live-p passepartout-find--minibuffer)
             passepartout-find--answered
             (not (equal passepartout-find--headings
                         (plist-get payload :headings)))
             (or (null passepartout-find--candidates)
                 (passepartout-status-read-p payload)))
    (setq passepartout-find--headings (plist-get payload :headings)
          passepartout-find--wanted nil)
    (passepartout-find--look passepartout-find--minibuffer)))

(passepartout-subscribe :status nil #'passepartout-find--heard)

(defun passepartout-find--changed (&rest _)
  "Ask the core soon: the input has changed."
  (when (timerp passepartout-find--timer)
    (cancel-timer passepartout-find--timer))
  (setq passepartout-find--timer
        (run-at-time passepartout-find--pause nil
                     #'passepartout-find--look (current-buffer))))

(defun passepartout-find--setup ()
  "Watch the input of this minibuffer."
  (setq passepartout-find--minibuffer (current-buffer))
  (add-hook 'after-change-functions #'passepartout-find--changed nil t)
  (unless (string-empty-p (minibuffer-contents-no-properties))
    (passepartout-find--changed)))

;;;; The command

(defun passepartout-find--go-first (query)
  "Go to the first heading that fits QUERY when the answer comes.
Who has done something else meanwhile is not taken away from it."
  (let ((place (passepartout-arrive-place)))
    (passepartout-request
     :query `(:query ,query :limit 1 :typing t :for :screen)
     (lambda (payload)
       (let ((hit (car (plist-get payload :hits))))
         (if hit
             (passepartout-arrive place
                                  (concat "Found: "
                                          (passepartout-query-title hit))
                                  #'passepartout-query-visit hit)
           (message "%s" (passepartout-view-line
                          (or (plist-get payload :error)
                              (car (plist-get payload :notes))
                              "Nothing fits")))))))))

(defun passepartout-find--read (&optional initial)
  "Read a query, with INITIAL to begin with; return a heading or a text."
  (setq passepartout-find--candidates nil
        passepartout-find--answered nil
        passepartout-find--wanted nil
        passepartout-find--note nil
        passepartout-find--headings nil)
  (passepartout-start)
  (let ((text (unwind-protect
                  (minibuffer-with-setup-hook
                      (:append #'passepartout-find--setup)
                    (completing-read "Find (words, tag:x, todo:open): "
                                     #'passepartout-find--table
                                     nil nil initial
                                     'passepartout-find-history))
                (setq passepartout-find--minibuffer nil)
                (when (timerp passepartout-find--timer)
                  (cancel-timer passepartout-find--timer)
                  (setq passepartout-find--timer nil)))))
    (or (get-text-property 0 'passepartout-query-hit (concat text " "))
        (cdr (assoc text passepartout-find--candidates))
        ;; What was found for just this input, best first.
        (and (equal (string-trim text) passepartout-find--answered)
             (cdar passepartout-find--candidates))
        text)))

;;;###autoload
(defun passepartout-find (&optional initial)
  "Find a heading of memory and go there.
What you type is a query, and the headings that fit it are shown while
you type.  INITIAL stands there to begin with."
  (interactive)
  (let ((found (passepartout-find--read initial)))
    (cond ((consp found) (passepartout-query-visit found))
          ((string-empty-p (string-trim found))
           (user-error "Type words of the heading, or a query"))
          (t (passepartout-find--go-first found)))))

(provide 'passepartout-find)
;;; passepartout-find.el ends here
