;;; passepartout-plan-display-tests.el --- What counts as displayed, on a real terminal  -*- lexical-binding: t; -*-

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

;; What a human approves must have been on their screen.  Whether it was
;; is seen from outside: an Emacs with a real command loop and real
;; redisplay draws plans on a pseudo-terminal, and writes a mark there
;; when a plan counts as displayed to its end.  The last word of the
;; plan must have been drawn before the mark.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-plan-tests)

(defconst passepartout-plan-display--here
  (file-name-directory (or load-file-name buffer-file-name))
  "Folder of this file.")

(defconst passepartout-plan-display--patience 20
  "Seconds that one step may take; all may take ten times as many.")

;;;; The Emacs that draws

(defvar passepartout-plan-display--held nil
  "The first page that is held back, or nil.")

(defvar passepartout-plan-display--looks 0 "How often it was looked.")

(defvar passepartout-plan-display--marked nil "The plans that are marked.")

(defun passepartout-plan-display--word (id)
  "Return the last word of the plan ID."
  (format "~%s~end~%s~" (downcase id) (downcase id)))

(defun passepartout-plan-display--seen-p (id)
  "Return non-nil when the plan ID counts as displayed to its end."
  (with-current-buffer passepartout-plan--buffer-name
    (let ((node (passepartout-plan--node id)))
      (and node
           (passepartout-plan--pending-p
            (passepartout-plan--entry-plan (ewoc-data node)))
           (passepartout-plan--seen-p node)))))

(defun passepartout-plan-display--mark (&rest _)
  "Write a mark to the terminal for each plan that counts as displayed."
  (setq passepartout-plan-display--looks (1+ passepartout-plan-display--looks))
  (dolist (plan (passepartout-plan-pending))
    (let ((id (plist-get plan :id)))
      (when (and (not (member id passepartout-plan-display--marked))
                 (passepartout-plan-display--seen-p id))
        (push id passepartout-plan-display--marked)
        (send-string-to-terminal (format "\e]0;seen %s\a" id))))))

(defun passepartout-plan-display--answer (asked)
  "Send the page that was ASKED for unless it is held back."
  (unless (equal passepartout-plan-display--held (plist-get asked :from))
    (passepartout-fake-inject
     :response `(:action :plan-page :request ,(plist-get asked :request)
                 ,@(passepartout-plan-tests--page (plist-get asked :plan)
                                                  (plist-get asked :from))))))

(defun passepartout-plan-display--transport ()
  "Return a transport of paper that gives pages by itself."
  (let* ((paper (passepartout-fake-transport))
         (send (plist-get paper :send)))
    (plist-put paper :send
               (lambda (text)
                 (funcall send text)
                 (let ((payload (plist-get (car passepartout-fake-sent)
                                           :payload)))
                   (when (eq (plist-get payload :action) :plan-page)
                     (run-at-time 0 nil #'passepartout-plan-display--answer
                                  payload)))))))

(defun passepartout-plan-display--begin (id &rest more)
  "Show the plan ID, and those called MORE, in the selected window, drawn anew."
  (when (get-buffer passepartout-plan--buffer-name)
    (kill-buffer passepartout-plan--buffer-name))
  (setq passepartout-plan--plans nil
        passepartout-fake-sent nil
        passepartout-plan-display--held nil
        passepartout-plan--clock (lambda () passepartout-fake-time))
  (redraw-display)
  (passepartout-flight-plans)
  (passepartout-fake-answer
   :plans `(:plans ,(mapcar #'passepartout-plan-tests--plan (cons id more))))
  (goto-char (passepartout-plan--start id))
  t)

(defun passepartout-plan-display--type (keys)
  "Type KEYS, some time after what came before."
  (setq passepartout-fake-time (+ passepartout-fake-time 10)
        unread-command-events (listify-key-sequence (kbd keys)))
  t)

(defun passepartout-plan-display--drawn-p ()
  "Return non-nil when the window is drawn and was looked at since it changed."
  (and (window-line-height 0)
       (> passepartout-plan-display--looks 0)))

(defun passepartout-plan-display--cover (property value)
  "Give PROPERTY the VALUE where the last word of the plan at point is."
  (save-excursion
    (goto-char (point-min))
    (search-forward "~")
    (overlay-put (make-overlay (1- (point)) (line-end-position))
                 property value))
  (setq passepartout-plan-display--looks 0)
  t)

(defmacro passepartout-plan-display--steps (&rest forms)
  "Return FORMS as functions; the next is called when one returned non-nil."
  (declare (indent 0) (debug t))
  `(list ,@(mapcar (lambda (form) `(lambda () ,form)) forms)))

(defun passepartout-plan-display--one-line (id)
  "Return pages of the plan ID whose command goes on far to the right."
  `(,id (:body ,(format "echo harmless%s; %s\n" (make-string 26 ?\s)
                        (passepartout-plan-display--word id)))))

(defun passepartout-plan-display--many-lines (id)
  "Return pages of the plan ID that are higher than a low window."
  `(,id (:body ,(concat (mapconcat (lambda (n) (format "line %d\n" n))
                                   (number-sequence 1 25) "")
                        (passepartout-plan-display--word id) "\n"))))

(defun passepartout-plan-display--pages ()
  "Return the pages of all plans."
  (append
   (mapcar #'passepartout-plan-display--one-line
           '("NARROW" "TRUNCATED" "SCROLLED" "HIDDEN" "REPLACED"))
   (mapcar #'passepartout-plan-display--many-lines '("LOW" "NEXT"))
   `(("LATE" (:body "echo harmless\n")
      (:body ,(format "%s\n" (passepartout-plan-display--word "LATE")))))))

(defun passepartout-plan-display--cut-off (id cut)
  "Return the steps in which CUT, a function, cuts off lines of the plan ID."
  (passepartout-plan-display--steps
    (progn (delete-other-windows)
           (split-window-right)
           (passepartout-plan-display--begin id)
           (setq passepartout-plan-display--held 0))
    (passepartout-fake-sent :plan-page)
    (progn (funcall cut)
           (setq passepartout-plan-display--held nil
                 passepartout-plan-display--looks 0)
           (passepartout-plan-display--answer
            (car (last (passepartout-fake-sent :plan-page))))
           (passepartout-plan--look-soon)
           t)
    (passepartout-plan-display--drawn-p)
    (if (passepartout-plan-display--seen-p id) (error "It was cut off") t)
    (passepartout-plan-display--type "C-c C-c")
    (passepartout-plan-display--seen-p id)
    (if (passepartout-fake-sent :approval) (error "It was cut off") t)
    (passepartout-plan-display--type "C-c C-c")
    (passepartout-fake-sent :approval)))

(defun passepartout-plan-display--covered (id property value)
  "Return the steps in which PROPERTY with VALUE hides an end of the plan ID."
  (passepartout-plan-display--steps
    (progn (delete-other-windows)
           (passepartout-plan-display--begin id)
           ;; Nothing is drawn before the text is there, and covered.
           (while (not (save-excursion (goto-char (point-min))
                                       (search-forward "~" nil t)))
             (passepartout-plan--fetch-page
              (ewoc-data (passepartout-plan--node id))
              (point-min) (point-max))
             (passepartout-plan-display--answer
              (car (last (passepartout-fake-sent :plan-page)))))
           (passepartout-plan-display--cover property value))
    (passepartout-plan-display--drawn-p)
    (if (passepartout-plan-display--seen-p id) (error "It was hidden") t)
    (passepartout-plan-display--type "C-c C-c")
    (null unread-command-events)
    (if (passepartout-fake-sent :approval) (error "It was hidden") t)
    (progn (remove-overlays) (passepartout-plan--look-soon) t)
    (passepartout-plan-display--seen-p id)))

(defun passepartout-plan-display--scenes ()
  "Return what is tried, each as a name and steps."
  `((narrow
     ,@(passepartout-plan-display--steps
         (progn (split-window-right)
                (passepartout-plan-display--begin "NARROW"))
         (passepartout-plan-display--seen-p "NARROW")))
    (truncated
     ,@(passepartout-plan-display--cut-off
        "TRUNCATED" (lambda () (toggle-truncate-lines 1))))
    (scrolled
     ,@(passepartout-plan-display--cut-off
        "SCROLLED" (lambda () (set-window-hscroll nil 30))))
    (hidden
     ,@(passepartout-plan-display--covered "HIDDEN" 'invisible t))
    (replaced
     ,@(passepartout-plan-display--covered "REPLACED" 'display "harmless"))
    (late
     ,@(passepartout-plan-display--steps
         (progn (delete-other-windows)
                (passepartout-plan-display--begin "LATE")
                (setq passepartout-plan-display--looks 0
                      passepartout-plan-display--held 1))
         (and (save-excursion (goto-char (point-min))
                              (search-forward "the rest comes" nil t))
              (passepartout-plan-display--drawn-p))
         (progn (setq passepartout-plan-display--held nil)
                (passepartout-plan-display--answer
                 (car (last (passepartout-fake-sent :plan-page))))
                (when (passepartout-plan-display--seen-p "LATE")
                  (error "It was not drawn yet"))
                t)
         (passepartout-plan-display--seen-p "LATE")))
    (low
     ,@(passepartout-plan-display--steps
         (progn (split-window nil 8)
                (passepartout-plan-display--begin "LOW" "NEXT"))
         (passepartout-plan-display--drawn-p)
         ;; Each key shows more, until one approves.
         (or (passepartout-fake-sent :approval)
             (progn (when (and (not unread-command-events)
                               (passepartout-plan-display--drawn-p))
                      (setq passepartout-plan-display--looks 0)
                      (passepartout-plan-display--type "C-c C-c"))
                    nil))
         (equal (passepartout-fake-sent :approval)
                '((:sensor :approval :plan "LOW" :shown "hash-LOW")))
         (if (passepartout-plan-display--seen-p "NEXT")
             (error "The next plan was not read")
           t)))))

(defun passepartout-plan-display--run (scenes failures until)
  "Go on with the steps of SCENES; FAILURES are those that failed before.
The step that is under way has time UNTIL then."
  (condition-case problem
      (let ((step (cadr (car scenes))))
        (cond ((null scenes)
               (with-temp-file (getenv "PASSEPARTOUT_DISPLAY_OUT")
                 (prin1 (list 'failures failures) (current-buffer)))
               (kill-emacs 0))
              ((null step)
               (pop scenes)
               (setq until nil))
              ((with-current-buffer (window-buffer) (funcall step))
               (setq scenes (cons (cons (caar scenes) (cddr (car scenes)))
                                  (cdr scenes))
                     until nil))
              ((and until (> (float-time) until))
               (error "Not in time; %d steps are left, the buffer is %S"
                      (length (cdar scenes)) (buffer-string)))))
    (error (push (cons (caar scenes) (error-message-string problem)) failures)
           (setq unread-command-events nil)
           (pop scenes)
           (setq until nil)))
  (run-at-time 0.01 nil #'passepartout-plan-display--run scenes failures
               (or until (+ (float-time) passepartout-plan-display--patience))))

(defun passepartout-plan-display-child ()
  "Draw plans on the terminal, write what went wrong, and end."
  (setq passepartout-module--transport (passepartout-plan-display--transport)
        passepartout-fake-time 1000.0
        passepartout-plan-tests--pages (passepartout-plan-display--pages))
  (dolist (function '(passepartout-plan--look passepartout-plan--take-page))
    (advice-add function :after #'passepartout-plan-display--mark))
  (passepartout-start)
  (run-at-time 0 nil #'passepartout-plan-display--run
               (passepartout-plan-display--scenes) nil nil))

;;;; The Emacs that watches

(defun passepartout-plan-display--watch ()
  "Return what the Emacs that draws found wrong, and what it drew."
  (let* ((out (make-temp-file "passepartout-display-"))
         (drawn nil)
         (process-environment
          (append (list "TERM=xterm" (concat "PASSEPARTOUT_DISPLAY_OUT=" out))
                  process-environment))
         (child (make-process
                 :name "draws" :connection-type 'pty :noquery t
                 :coding 'no-conversion
                 :filter (lambda (_ bytes) (push bytes drawn))
                 :command
                 (list (expand-file-name invocation-name invocation-directory)
                       "-Q" "-nw"
                       "-L" (file-name-directory
                             (locate-library "passepartout"))
                       "-L" passepartout-plan-display--here
                       "-l" "passepartout-plan-display-tests"
                       "-f" "passepartout-plan-display-child")))
         (until (+ (float-time) (* 10 passepartout-plan-display--patience))))
    (set-process-window-size child 30 80)
    (unwind-protect
        (progn
          (while (and (process-live-p child) (< (float-time) until))
            (accept-process-output child 0.05))
          (while (accept-process-output child 0))
          (list (with-temp-buffer
                  (insert-file-contents out)
                  (and (> (buffer-size) 0) (read (current-buffer))))
                (apply #'concat (nreverse drawn))))
      (when (process-live-p child) (delete-process child))
      (delete-file out))))

(defun passepartout-plan-display--undrawn (drawn)
  "Return the plans that were marked before DRAWN had them to their end.
The plan that nobody reads must not be marked at all."
  (seq-remove
   (lambda (id)
     (let ((word (string-search (passepartout-plan-display--word id) drawn))
           (mark (string-search (format "seen %s\a" id) drawn)))
       (if (equal id "NEXT") (not mark) (and word mark (< word mark)))))
   (mapcar #'car (passepartout-plan-display--pages))))

(ert-deftest passepartout-plan-what-counts-as-displayed-was-on-the-terminal ()
  (pcase-let ((`(,result ,drawn) (passepartout-plan-display--watch)))
    (ert-info ((format "The terminal at the end: %S"
                       (substring drawn (max 0 (- (length drawn) 1000)))))
      (should (equal (append result
                             (list (passepartout-plan-display--undrawn drawn)))
                     '(failures () ()))))))

(provide 'passepartout-plan-display-tests)
;;; passepartout-plan-display-tests.el ends here
