;;; passepartout-act-tests.el --- Tests of what the core may ask of Emacs  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; The state of a buffer, edits as one undo step, and every refusal.

;;; Code:

(require 'passepartout-fake)

(defmacro passepartout-act-tests--in (text &rest body)
  "Run BODY in a buffer of a file with TEXT in it."
  (declare (indent 1) (debug t))
  `(let* ((file (make-temp-file "passepartout" nil ".org"))
          (create-lockfiles nil))
     (write-region ,text nil file nil 'quiet)
     (unwind-protect
         (passepartout-fake-with
           (with-current-buffer (find-file-noselect file)
             (buffer-enable-undo)
             (unwind-protect
                 (progn ,@body)
               (set-buffer-modified-p nil)
               (kill-buffer))))
       (delete-file file))))

(defun passepartout-act-tests--ask (action &rest payload)
  "Let the core ask for ACTION with PAYLOAD; return the answers."
  (setq passepartout-fake-sent nil)
  (passepartout-fake-inject :request `(:action ,action :request 7 ,@payload))
  (passepartout-fake-sent :editor-reply))

(defun passepartout-act-tests--edit (file tick edits)
  "Let the core ask for EDITS of FILE as of TICK; return the answer."
  (car (passepartout-act-tests--ask :buffer-edit :file file :tick tick
                                    :edits edits)))

(ert-deftest passepartout-act-tells-the-state-of-a-buffer ()
  (passepartout-act-tests--in "* 語\nx\n"
    (insert "new ")
    (narrow-to-region 1 2)
    (should (equal (passepartout-act-tests--ask :buffer-state :file file)
                   `((:action :editor-reply :request 7 :open t
                      :tick ,(buffer-chars-modified-tick)
                      :state ,(passepartout-act--state-name) :modified t
                      :read-only nil :size 12
                      :slice 1 :text "new * 語\nx\n"
                      :hash ,(passepartout-events-chain
                              1 nil "new * 語\nx\n")))))
    ;; The text does not travel when the core has it, or wants the state.
    (let ((state (passepartout-act--state-name)))
      (dolist (known `((:brief t) (:known ,state)))
        (let ((answer (car (apply #'passepartout-act-tests--ask
                                  :buffer-state :file file known))))
          (should (plist-get answer :open))
          (should (equal (plist-get answer :state) state))
          (should (eq (plist-get answer :same) (eq (car known) :known)))
          (should-not (plist-member answer :text))))
      (insert "x")
      (should (plist-get (car (passepartout-act-tests--ask
                               :buffer-state :file file :known state))
                         :text)))
    (should (equal (passepartout-act-tests--ask :buffer-state
                                                :file "/nowhere/x.org")
                   '((:action :editor-reply :request 7 :open nil))))))

(ert-deftest passepartout-act-long-buffers-come-in-slices ()
  (passepartout-act-tests--in (make-string 100000 ?x)
    (let ((answers (passepartout-act-tests--ask :buffer-state :file file)))
      (should (equal (mapcar (lambda (answer) (plist-get answer :more)) answers)
                     '(t nil)))
      (should (equal (mapcar (lambda (answer) (plist-get answer :slice))
                             answers)
                     '(1 2)))
      (should (plist-get (cadr answers) :hash))
      (should (equal (mapconcat (lambda (answer) (plist-get answer :text))
                                answers "")
                     (buffer-string))))))

(ert-deftest passepartout-act-edits-are-one-undo-step ()
  (passepartout-act-tests--in "* 語 a\nbody\n* b\n"
    (let ((before (buffer-string)))
      (goto-char (point-max))
      (narrow-to-region 1 4)
      (should (plist-get
               (passepartout-act-tests--edit
                file (buffer-chars-modified-tick)
                '((8 12 "BODY é") (0 0 "#\n") (15 16 "語")))
               :ok))
      (should (= 4 (- (point-max) 2)))
      (widen)
      (should (equal (buffer-string) "#\n* 語 a\nBODY é\n* 語\n"))
      (should (buffer-modified-p))
      (should (equal (with-temp-buffer (insert-file-contents file)
                                       (buffer-string))
                     before))
      (undo-boundary)
      (setq last-command 'ignore)
      (undo)
      (should (equal (buffer-string) before)))))

(ert-deftest passepartout-act-undo-spares-what-the-user-did-before ()
  (passepartout-act-tests--in "one\n"
    (goto-char (point-max))
    (insert "two\n")
    (should (plist-get (passepartout-act-tests--edit
                        file (buffer-chars-modified-tick)
                        '((0 3 "ONE") (8 8 "three\n")))
                       :ok))
    (should (equal (buffer-string) "ONE\ntwo\nthree\n"))
    (setq last-command 'ignore)
    (undo-boundary)
    (undo)
    (should (equal (buffer-string) "one\ntwo\n"))))

(ert-deftest passepartout-act-point-and-markers-stay ()
  (passepartout-act-tests--in "one two three\n"
    (goto-char 10)
    (let ((marker (copy-marker 10)))
      (should (plist-get (passepartout-act-tests--edit
                          file (buffer-chars-modified-tick)
                          '((0 13 "one TWO three")))
                         :ok))
      (should (equal (buffer-string) "one TWO three\n"))
      (should (= (point) 10))
      (should (= marker 10)))))

(ert-deftest passepartout-act-refusals-change-nothing ()
  (passepartout-act-tests--in "* 語\nread me\n"
    (let ((before (buffer-string))
          (tick (buffer-chars-modified-tick)))
      (dolist (case `((,(1- tick) ((0 0 "x")))
                      (,tick ((3 4 "x")))       ; inside a character
                      (,tick ((0 99 "x")))
                      (,tick ((4 2 "x")))
                      (,tick ((-1 2 "x")))
                      (,tick ((0 3 "x") (2 5 "y")))
                      (,tick ((0 0 nil)))
                      (,tick ((0 0)))
                      (,tick ("x"))
                      (nil ((0 0 "x")))))
        (let ((answer (passepartout-act-tests--edit
                       file (car case) (cadr case))))
          (should-not (plist-get answer :ok))
          (should (stringp (plist-get answer :text)))
          (should (equal (buffer-string) before))
          (should-not (buffer-modified-p))))
      (setq buffer-read-only t)
      (should-not (plist-get (passepartout-act-tests--edit
                              file tick '((0 0 "x")))
                             :ok))
      (setq buffer-read-only nil)
      (should-not (plist-get (passepartout-act-tests--edit
                              "/nowhere.org" tick '((0 0 "x")))
                             :ok)))))

(ert-deftest passepartout-act-a-half-possible-edit-does-not-happen ()
  (passepartout-act-tests--in "free locked\n"
    (let ((inhibit-read-only t))
      (put-text-property 6 12 'read-only t)
      (set-buffer-modified-p nil))
    (let ((answer (passepartout-act-tests--edit
                   file (buffer-chars-modified-tick)
                   '((0 4 "FREE") (5 11 "LOCKED")))))
      (should-not (plist-get answer :ok))
      (should (equal (buffer-string) "free locked\n")))
    (let ((inhibit-read-only t))
      (remove-text-properties (point-min) (point-max) '(read-only nil)))))

(ert-deftest passepartout-act-a-file-that-changed-on-disk-is-not-edited ()
  (passepartout-act-tests--in "x\n"
    (set-file-times file (time-add nil 100))
    (should (string-match-p "disk"
                            (plist-get (passepartout-act-tests--edit
                                        file (buffer-chars-modified-tick)
                                        '((0 0 "y")))
                                       :text)))))

(ert-deftest passepartout-act-unknown-verbs-are-refused ()
  (passepartout-fake-with
    (let ((answer (car (passepartout-act-tests--ask
                        :eval :form "(kill-emacs)"))))
      (should-not (plist-get answer :ok))
      (should (stringp (plist-get answer :text))))))

(provide 'passepartout-act-tests)
;;; passepartout-act-tests.el ends here
