;;; passepartout-memory-tests.el --- Tests of the log of memory  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; The log, one step, a difference, and what is shown before it is done.

;;; Code:

(require 'passepartout-fake)

(defmacro passepartout-memory-tests--with (&rest body)
  "Run BODY with a log of three steps, and its buffer current."
  (declare (indent 0) (debug t))
  `(passepartout-fake-with
     (unwind-protect
         (save-window-excursion
           (passepartout-memory-log)
           (passepartout-fake-answer
            :memory-log
            '(:entries ((:operation 3 :at "2026-03-02T09:00:00Z"
                         :by "agent (shell)" :what "Run: make\n* evil"
                         :change "A1234567890" :undoable t)
                        (:operation 2 :at "2026-03-02T08:00:00Z"
                         :by "by hand, in Emacs" :what "/org/home.org")
                        (:operation 1 :at "2026-03-01T08:00:00Z"
                         :by "read from disk" :what "2 files read"))))
           ,@body)
       (dolist (name (list passepartout-memory--buffer-name
                           passepartout-memory--text-name
                           passepartout-memory--preview-name))
         (when (get-buffer name) (kill-buffer name))))))

(defun passepartout-memory-tests--go (operation)
  "Move point to the line of OPERATION."
  (goto-char (point-min))
  (should (re-search-forward (format "^ +%d " operation) nil t))
  (goto-char (line-beginning-position)))

(ert-deftest passepartout-memory-lists-steps-as-lines-of-which-none-is-a-heading ()
  (passepartout-memory-tests--with
    (should (string-match-p "A1234567890 agent (shell) +Run: make \\* evil"
                            (buffer-string)))
    (goto-char (point-min))
    (should-not (re-search-forward "^\\*" nil t))
    (should-error (passepartout-memory--at (point-min)) :type 'user-error)))

(ert-deftest passepartout-memory-shows-a-step-in-all-its-pages ()
  (passepartout-memory-tests--with
    (passepartout-memory-tests--go 3)
    (call-interactively #'passepartout-memory-show)
    (let ((asked (car (last (passepartout-fake-sent :memory-show)))))
      (should (eql 3 (plist-get asked :operation))))
    (passepartout-fake-answer :memory-show '(:text "one\n" :next 4))
    (let ((asked (car (last (passepartout-fake-sent :memory-show)))))
      (should (eql 4 (plist-get asked :from))))
    (passepartout-fake-answer :memory-show '(:text "* two\n"))
    (with-current-buffer passepartout-memory--text-name
      (should (string-match-p "^: one\n: \\* two" (buffer-string))))))

(ert-deftest passepartout-memory-diff-is-of-a-step-or-of-the-region ()
  (passepartout-memory-tests--with
    (passepartout-memory-tests--go 3)
    (call-interactively #'passepartout-memory-diff)
    (let ((asked (car (last (passepartout-fake-sent :memory-diff)))))
      (should (equal '(2 3) (list (plist-get asked :from-operation)
                                  (plist-get asked :operation)))))
    (let ((transient-mark-mode t))
      (passepartout-memory-tests--go 3)
      (push-mark nil t t)
      (passepartout-memory-tests--go 1)
      (end-of-line)
      (call-interactively #'passepartout-memory-diff))
    (let ((asked (car (last (passepartout-fake-sent :memory-diff)))))
      (should (equal '(1 3) (list (plist-get asked :from-operation)
                                  (plist-get asked :operation)))))))

(ert-deftest passepartout-memory-rewind-does-exactly-what-was-shown-whole ()
  (passepartout-memory-tests--with
    (passepartout-memory-tests--go 2)
    (call-interactively #'passepartout-memory-rewind)
    (let ((asked (car (last (passepartout-fake-sent :memory-rewind)))))
      (should (equal '(2 "both") (list (plist-get asked :operation)
                                       (plist-get asked :reach)))))
    (passepartout-fake-answer
     :memory-rewind '(:title "Rewind 2 files" :preview "p1" :text "a\n"
                      :next 2))
    (should-not (get-buffer passepartout-memory--preview-name))
    (passepartout-fake-answer :memory-page '(:text "b\n" :shown "hash"))
    (with-current-buffer passepartout-memory--preview-name
      (should (string-match-p ": a\n: b" (buffer-string)))
      (let* ((now (+ (float-time) 100.0))
             (drawn nil)
             (passepartout-plan--clock (lambda () now))
             (passepartout-plan--window-end (lambda (_window) drawn))
             (press (lambda (seconds)
                      (setq now (+ now seconds))
                      ;; Nothing more is asked.
                      (cl-letf (((symbol-function 'yes-or-no-p)
                                 (lambda (_) (error "Nothing is asked"))))
                        (passepartout-memory-carry-out))
                      (passepartout-fake-sent :memory-do))))
        (set-window-start (get-buffer-window) (point-min))
        ;; While it is not drawn nothing of it was displayed.
        (should-not (funcall press 2.0))
        (should-not (funcall press 2.0))
        ;; A key right after the first part appeared.
        (setq drawn (save-excursion (goto-char (point-min))
                                    (line-beginning-position 3)))
        (should-not (funcall press 2.0))
        ;; The next one goes on reading, and its double comes too early
        ;; for what appeared then.
        (should-not (funcall press 2.0))
        (should (<= (window-start (get-buffer-window)) drawn))
        (setq drawn (point-max))
        (should-not (funcall press 0.2))
        (should-not (funcall press 0.2))
        (should (equal "hash" (plist-get (car (funcall press 2.0)) :shown)))
        (should-error (passepartout-memory-carry-out) :type 'user-error)))))

(ert-deftest passepartout-memory-preview-counts-when-all-of-it-was-displayed ()
  (passepartout-memory-tests--with
    (passepartout-undo)
    (passepartout-fake-answer
     :undo (list :title "Undo" :shown "hash"
                 :text (apply #'concat (make-list 200 "a line\n"))))
    (with-current-buffer passepartout-memory--preview-name
      (let* ((now (+ (float-time) 100.0))
             (window (get-buffer-window))
             (place 0)
             (passepartout-plan--clock (lambda () now))
             (passepartout-plan--window-end
              (lambda (window)
                (save-excursion
                  (goto-char (window-start window))
                  (forward-line 80)
                  (point)))))
        ;; Whoever jumps to the end has not seen what is between.
        (set-window-start window (point-min))
        (passepartout-memory--look)
        (set-window-start window (save-excursion (goto-char (point-max))
                                                 (forward-line -20)
                                                 (point)))
        (passepartout-memory--look)
        (dotimes (_ 4)
          (unless (passepartout-fake-sent :memory-do)
            (setq now (+ now 2.0)
                  place (1+ place))
            (passepartout-memory-carry-out)
            (passepartout-memory--look)))
        ;; Two more parts had to be shown before it counted.
        (should (equal 3 place))
        (should (passepartout-fake-sent :memory-do))))))

(ert-deftest passepartout-memory-undo-that-cannot-be-is-said-and-shows-nothing ()
  (passepartout-memory-tests--with
    (passepartout-undo)
    (passepartout-fake-answer :undo '(:error "there is nothing to undo"))
    (should-not (get-buffer passepartout-memory--preview-name))
    (passepartout-redo)
    (passepartout-fake-answer
     :redo '(:title "Redo 1 file" :preview "p" :text "x\n" :shown "h"))
    (should (get-buffer passepartout-memory--preview-name))))

(ert-deftest passepartout-memory-blame-names-file-and-line ()
  (passepartout-memory-tests--with
    (let ((file (make-temp-file "passepartout" nil ".org" "* A\n* B\n")))
      (unwind-protect
          (with-current-buffer (find-file-noselect file)
            (goto-char (point-max))
            (forward-line -1)
            (passepartout-blame)
            (let ((asked (car (last (passepartout-fake-sent :blame)))))
              (should (eql 2 (plist-get asked :line)))
              (should (equal (file-truename file) (plist-get asked :file))))
            (kill-buffer))
        (delete-file file)))
    (should-error (passepartout-blame) :type 'user-error)))

(provide 'passepartout-memory-tests)
;;; passepartout-memory-tests.el ends here
