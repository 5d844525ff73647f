;;; passepartout-arrive-tests.el --- Tests of going where an answer leads  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; No answer of the core opens a file or selects a window in the filter
;; of the process, and none does where the user has gone on.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-answer)
(require 'passepartout-context)
(require 'passepartout-find)
(require 'passepartout-jobs)
(require 'passepartout-rules)
(require 'passepartout-skills)

(defvar passepartout-arrive-tests--file nil
  "A file of notes that exists.")

(defun passepartout-arrive-tests--new (name)
  "Return the name of a file NAME that does not exist, beside the other."
  (expand-file-name name
                    (concat passepartout-arrive-tests--file ".d")))

(defconst passepartout-arrive-tests--commands
  '(;; What is asked, the request, its answer, and where that leads.
    (link
     (passepartout-answer--follow "id:abc")
     :query (:hits ((:id "abc" :title "A" :file file :line 1 :byte 0)))
     "\\.org\\'")
    (find
     (passepartout-find--go-first "a")
     :query (:hits ((:id "abc" :title "A" :file file :line 1 :byte 0)))
     "\\.org\\'")
    (identity
     (passepartout-identity)
     :identity (:file (new "identity.org") :text "* I\n")
     "identity\\.org")
    (new-skill
     (passepartout-new-skill "tea" "prompt")
     :skill-template (:file (new "tea.org") :text "#+TITLE: Tea\n")
     "tea\\.org")
    (show-skill
     (passepartout-skills--show '(:name "tea") nil)
     :skill-show (:shown "h" :text "all" :next nil)
     "\\`\\*Passepartout skill")
    (use-skill
     (passepartout-skills--decide :skill-confirm '(:skill "tea"))
     :skill-confirm (:plans ("p1"))
     "plans")
    (test-skill
     (passepartout-skills--test '(:name "tea"))
     :skill-test (:text "It loads.")
     "\\`\\*Passepartout skill test")
    (job
     (cl-letf (((symbol-function 'passepartout-jobs--here)
                (lambda () '(:job "k1" :title "J"))))
       (passepartout-jobs-confirm))
     :job (:plans ("p1"))
     "plans")
    (report
     (cl-letf (((symbol-function 'passepartout-jobs--here)
                (lambda () '(:job "k1" :title "J"))))
       (passepartout-jobs-report))
     :job (:text "said")
     "report")
    (rule
     (passepartout-rules-confirm "L1")
     :rule-confirm (:plans ("p1"))
     "plans")
    (why
     (passepartout-why)
     :why (:text "because")
     "\\`\\*Passepartout why")
    (undo
     (passepartout-undo)
     :undo (:title "Undo" :text "- a" :shown "h")
     "preview"))
  "What goes somewhere for an answer.")

(defun passepartout-arrive-tests--filled (form)
  "Return FORM, an answer, with names of files in their places."
  (cond ((eq form 'file) passepartout-arrive-tests--file)
        ((eq (car-safe form) 'new)
         (passepartout-arrive-tests--new (cadr form)))
        ((consp form) (cons (passepartout-arrive-tests--filled (car form))
                            (passepartout-arrive-tests--filled (cdr form))))
        (t form)))

(defmacro passepartout-arrive-tests--with (&rest body)
  "Do BODY with a file of notes, and throw away what it opened."
  (declare (indent 0) (debug t))
  `(let* ((passepartout-arrive-tests--file
           (make-temp-file "passepartout-arrive" nil ".org" "* A\n"))
          (before (buffer-list)))
     (unwind-protect
         (passepartout-fake-with ,@body)
       (dolist (buffer (seq-difference (buffer-list) before #'eq))
         (when (buffer-live-p buffer)
           (with-current-buffer buffer (set-buffer-modified-p nil))
           (kill-buffer buffer)))
       (delete-file passepartout-arrive-tests--file)
       (let ((folder (concat passepartout-arrive-tests--file ".d")))
         (when (file-directory-p folder) (delete-directory folder t))))))

(defun passepartout-arrive-tests--answer (action payload)
  "Answer ACTION with PAYLOAD, and run none of the timers that come of it.
Nothing may be opened or selected meanwhile."
  (let ((window (selected-window)) (buffer (window-buffer)))
    (cl-letf (((symbol-function 'passepartout-fake-settle) #'ignore)
              ((symbol-function 'pop-to-buffer)
               (lambda (&rest _) (ert-fail "A window was selected")))
              ((symbol-function 'find-file-noselect)
               (lambda (&rest _) (ert-fail "A file was opened")))
              ;; Or else it would be logged, and not seen here.
              ((symbol-function 'passepartout-events--call)
               (lambda (function arguments) (apply function arguments))))
      (passepartout-fake-answer action payload))
    (should (eq window (selected-window)))
    (should (eq buffer (window-buffer)))))

(ert-deftest passepartout-arrive-soon-and-not-in-the-filter ()
  (pcase-dolist (`(,what ,form ,action ,payload ,where)
                 passepartout-arrive-tests--commands)
    (ert-info ((format "%s" what))
      (passepartout-arrive-tests--with
        (switch-to-buffer "*scratch*")
        (eval form t)
        (passepartout-arrive-tests--answer
         action (passepartout-arrive-tests--filled payload))
        (passepartout-fake-settle)
        (should (string-match-p where (buffer-name (window-buffer))))))))

(ert-deftest passepartout-arrive-not-where-the-user-went-on ()
  (pcase-dolist (`(,what ,form ,action ,payload ,_)
                 passepartout-arrive-tests--commands)
    (passepartout-arrive-tests--with
      (dolist (on '(key buffer window))
        (ert-info ((format "%s, %s" what on))
          (switch-to-buffer "*scratch*")
          (delete-other-windows)
          (eval form t)
          (let ((num-input-keys (if (eq on 'key) (1+ num-input-keys)
                                  num-input-keys))
                (said nil))
            (pcase on
              ('buffer (switch-to-buffer (get-buffer-create "elsewhere")))
              ('window (select-window (split-window))))
            (let ((window (selected-window)) (buffer (window-buffer)))
              (passepartout-arrive-tests--answer
               action (passepartout-arrive-tests--filled payload))
              (cl-letf (((symbol-function 'message)
                         (lambda (format &rest more)
                           (push (apply #'format format more) said))))
                (passepartout-fake-settle))
              (should (eq window (selected-window)))
              (should (eq buffer (window-buffer)))
              (should-not (get-file-buffer passepartout-arrive-tests--file))
              (should (string-suffix-p "; you had gone on meanwhile"
                                       (car said))))))))))

(ert-deftest passepartout-arrive-says-what-goes-wrong ()
  (let ((said nil))
    (cl-letf (((symbol-function 'message)
               (lambda (format &rest more)
                 (push (apply #'format format more) said))))
      (passepartout-arrive (passepartout-arrive-place) "It"
                           (lambda () (user-error "Gone")))
      (passepartout-fake-settle)
      (should (equal said '("Gone"))))))

;; Saving asks, where the file has changed on disk.
(ert-deftest passepartout-arrive-a-skill-is-not-saved-in-the-filter ()
  (passepartout-arrive-tests--with
    (let ((saved nil))
      (cl-letf (((symbol-function 'passepartout-skills--find)
                 (lambda (name _payload) (setq saved t) (list :name name))))
        (passepartout-skill-test "tea")
        (passepartout-arrive-tests--answer :skills '(:skills nil))
        (should-not saved)
        (passepartout-fake-settle)
        (should saved)
        (should (passepartout-fake-sent :skill-test))))))

(provide 'passepartout-arrive-tests)
;;; passepartout-arrive-tests.el ends here
