;;; passepartout-status.el --- What the agent is doing, in one line  -*- lexical-binding: t; -*-

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

;; The core says what it is doing when that changes.  This file keeps
;; the last such message and shows it: the number of plans that wait in
;; the mode line, the rest in the header line of chats and on request.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(eval-when-compile (require 'subr-x))

(declare-function passepartout-plan-pending "passepartout-plan-draw" ())

(defvar passepartout-status--last nil
  "The payload of the last status message, or nil.")

(defvar passepartout-status--mode-line ""
  "What the mode line says about the agent; empty when nothing waits.")
(put 'passepartout-status--mode-line 'risky-local-variable t)

(defun passepartout-status--map (command)
  "Return a keymap by which a click in the mode line calls COMMAND."
  (let ((map (make-sparse-keymap)))
    (define-key map [mode-line mouse-1] command)
    map))

(defconst passepartout-status--maps
  (mapcar (lambda (command)
            (cons command (passepartout-status--map command)))
          '(passepartout-context passepartout-next-plan passepartout-jobs
            passepartout-doctor))
  "Keymaps of the parts of the mode line, by the command of a click.")

(defun passepartout-status--part (text command help &optional face)
  "Return TEXT, in FACE, as a part that calls COMMAND when it is clicked.
HELP says what a click does."
  (propertize (concat " [" text "]")
              'face face
              'mouse-face 'mode-line-highlight
              'help-echo help
              'local-map (cdr (assq command passepartout-status--maps))))

(defun passepartout-status--received (payload _meta)
  "Keep and show PAYLOAD, a status message."
  (setq passepartout-status--last payload)
  (passepartout-status--show))

(defun passepartout-status--count ()
  "Return how many plans wait."
  (max (or (plist-get passepartout-status--last :pending) 0)
       (if (fboundp 'passepartout-plan-pending)
           (length (passepartout-plan-pending))
         0)))

(defun passepartout-status--jobs ()
  "Return how many jobs run, in words, or nil."
  (let ((jobs (plist-get passepartout-status--last :jobs-running)))
    (and (natnump jobs) (> jobs 0)
         (format "%d job%s" jobs (if (= jobs 1) "" "s")))))

(defun passepartout-status--background ()
  "Return what goes on by itself, in words, or nil."
  (let* ((last passepartout-status--last)
         (reading (plist-get last :reading))
         (indexing (plist-get last :indexing))
         (jobs (passepartout-status--jobs)))
    (cond (jobs)
          ((consp reading)
           (format "reading %s/%s" (car reading) (cadr reading)))
          ((consp indexing)
           (format "indexing %s/%s" (car indexing) (cadr indexing)))
          ;; The core works, and it is no question of a chat.
          ((and (equal (plist-get last :state) "thinking")
                (not (bound-and-true-p passepartout-chat--turns)))
           "working"))))

(defvar passepartout-status--made-of nil
  "What the text of the mode line was made of.")

(defun passepartout-status--show ()
  "Bring the mode line up to date."
  (let* ((last passepartout-status--last)
         (made-of (list (and (passepartout-running-p) passepartout-mode-line t)
                        (passepartout-module-road :name)
                        (plist-get last :state)
                        (plist-get last :focus-title)
                        (passepartout-status--background)
                        (passepartout-status--count))))
    ;; Most of what the core says is of counts that are not shown here.
    (unless (equal made-of passepartout-status--made-of)
      (setq passepartout-status--made-of made-of)
      (let ((text (passepartout-status--line made-of)))
        (unless (equal-including-properties text passepartout-status--mode-line)
          (setq passepartout-status--mode-line text)
          (force-mode-line-update t))))))

(defun passepartout-status--line (made-of)
  "Return the text of the mode line, of what MADE-OF has."
  (pcase-let ((`(,running ,_ ,_ ,focus ,background ,count) made-of))
    (if (not running)
        ""
      (concat
       (passepartout-status--road)
       (and focus
            (passepartout-status--part
             (format "on %s" (passepartout-view-line focus 20))
             'passepartout-context
             "The agent looks at this heading; \
mouse-1 shows what a model is told"))
       (and background
            (passepartout-status--part
             background 'passepartout-jobs
             "This goes on by itself; mouse-1 shows the jobs"))
       (and (> count 0)
            (passepartout-status--part
             (format "%d plan%s" count (if (= count 1) "" "s"))
             'passepartout-next-plan
             "Flight plans wait; mouse-1 goes to the next one"
             'passepartout-attention))))))

(defun passepartout-status--road ()
  "Return which core is used, when it is not that of this Emacs."
  (let ((name (passepartout-module-road :name))
        (state (plist-get passepartout-status--last :state)))
    (and name
         (passepartout-status--part
          (concat (passepartout-view-line name 30)
                  (if (member state '("not connected" "not answering"))
                      (concat ": " state) ""))
          'passepartout-doctor
          "Connected to this core; mouse-1 says how"))))

(defvar passepartout-status--installed nil
  "Whether the mode line was added to; who takes it out is left alone.")

(defun passepartout-status--constructs (construct)
  "Return CONSTRUCT, of a mode line, as a list of constructs.
A text is one as well, and so is a list that begins with a symbol or a
number, as one that is evaluated."
  (cond ((null construct) '(""))
        ((or (stringp (car-safe construct)) (consp (car-safe construct)))
         construct)
        (t (list "" construct))))

(defun passepartout-status--install ()
  "Add the count of plans to the mode line."
  (let ((constructs (passepartout-status--constructs global-mode-string)))
    (unless (or passepartout-status--installed
                (memq 'passepartout-status--mode-line constructs))
      (setq passepartout-status--installed t)
      (setq global-mode-string
            (append constructs '(passepartout-status--mode-line))))))

(defun passepartout-status-trouble-p ()
  "Return non-nil when the core says that something is wrong."
  (let ((last passepartout-status--last))
    (and (passepartout-running-p)
         (or (equal (plist-get last :health) "unhealthy")
             (> (or (plist-get last :problems) 0) 0)))))

(defun passepartout-status--words ()
  "Return what the agent is doing and what is wrong, as a list of words."
  (let* ((last passepartout-status--last)
         (state (plist-get last :state))
         (reading (plist-get last :reading))
         (indexing (plist-get last :indexing))
         (problems (or (plist-get last :problems) 0)))
    (delq nil
          (list
           (and (equal (plist-get last :health) "unhealthy")
                "unhealthy (M-x passepartout-doctor)")
           (cond ((and (equal state "reading") (consp reading))
                  (format "reading %s of %s files" (car reading)
                          (cadr reading)))
                 ;; The count of the plans says it better.
                 ((and (equal state "waiting")
                       (> (passepartout-status--count) 0))
                  nil)
                 (t (passepartout-view-line
                     (format "%s" (or state "idle")) 20)))
           (and (consp indexing)
                (format "words of %s of %s files indexed" (car indexing)
                        (cadr indexing)))
           (let ((jobs (passepartout-status--jobs)))
             (and jobs (concat jobs " running")))
           (and (plist-get last :recorded)
                "recording a cassette")
           (and (> problems 0)
                (format "%d problem%s (M-x passepartout-log)" problems
                        (if (= problems 1) "" "s")))))))

(defun passepartout-status--plans ()
  "Return how many plans wait, in words, or nil."
  (let ((count (passepartout-status--count)))
    (and (> count 0)
         (format "%d plan%s" count (if (= count 1) " waits" "s wait")))))

(defun passepartout-status--known-p ()
  "Return non-nil when the core that runs has said how it stands."
  (and passepartout-status--last (passepartout-running-p)))

(defun passepartout-status-word ()
  "Return what is under way, in a word or a few."
  (if (not (passepartout-status--known-p))
      "not running"
    (string-join (append (passepartout-status--words)
                         (let ((plans (passepartout-status--plans)))
                           (and plans (list plans))))
                 ", ")))

(defun passepartout-status-text ()
  "Return what the agent is doing, and where, in a line."
  (let* ((last passepartout-status--last)
         (road (passepartout-module-road :name))
         (focus (plist-get last :focus-title)))
    (if (not (passepartout-status--known-p))
        "not running"
      (string-join
       (delq nil
             `(,(and road (format "connected to %s"
                                  (passepartout-view-line road 40)))
               ,@(passepartout-status--words)
               ,(and (plist-get last :scope)
                     (format "in %s" (passepartout-view-line
                                      (plist-get last :scope) 40)))
               ,(and focus
                     (format "on “%s”" (passepartout-view-line focus 40)))
               ,(passepartout-status--plans)))
       ", "))))

;;;###autoload
(defun passepartout-status ()
  "Say in one line what the agent is doing."
  (interactive)
  (let ((last passepartout-status--last))
    (message "Passepartout: %s%s"
             (passepartout-status-text)
             (let ((files (plist-get last :files))
                   (headings (plist-get last :headings)))
               (if (and files headings)
                   (format "; %s heading%s in %s file%s"
                           headings (if (eql headings 1) "" "s")
                           files (if (eql files 1) "" "s"))
                 "")))))

(defun passepartout-status-read-p (status)
  "Return non-nil when STATUS says that all notes were read."
  (and (natnump (plist-get status :headings))
       (not (consp (plist-get status :reading)))
       (not (equal (plist-get status :state) "reading"))))

;;;###autoload
(defun passepartout-rescan ()
  "Read the memex again."
  (interactive)
  (passepartout-request
   :rescan nil
   (lambda (payload)
     (message "Passepartout: %s"
              (passepartout-view-line (or (plist-get payload :error)
                                          (plist-get payload :text)
                                          "reading the memex again"))))))

(passepartout-subscribe :status nil #'passepartout-status--received)
(add-hook 'passepartout-start-hook #'passepartout-status--install)
(add-hook 'passepartout-plan-changed-hook #'passepartout-status--show)

(provide 'passepartout-status)
;;; passepartout-status.el ends here
