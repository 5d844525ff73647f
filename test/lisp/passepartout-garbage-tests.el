;;; passepartout-garbage-tests.el --- What following you makes of garbage  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; What is made at every key, at every rest and for every message is
;; collected while keys wait.  So it is counted, in bytes, of functions
;; that are compiled as users have them, and has a bound: about half as
;; much again as Emacs 28 makes.

;;; Code:

(require 'passepartout-fake)

(defconst passepartout-garbage-tests--functions
  '(passepartout-send passepartout-send-event passepartout-start
    passepartout-running-p passepartout-thread--note passepartout-thread-part
    passepartout-events-encode passepartout-events--plain-p
    passepartout-events--plain passepartout-events-clean-p
    passepartout-events-clean passepartout-events-foreign-p
    passepartout-events--send passepartout-events--cut
    passepartout-events--drain passepartout-events--take
    passepartout-events--handle passepartout-events--dispatch
    passepartout-events--subscribed passepartout-events--call
    passepartout-module-call passepartout-module-road
    passepartout-module-transport
    passepartout-sense--base passepartout-sense--byte passepartout-sense--size
    passepartout-sense--text passepartout-sense--send
    passepartout-sense--changed passepartout-sense--take-change
    passepartout-sense--note passepartout-sense--arm passepartout-sense--tick
    passepartout-sense--due-p passepartout-sense--flush
    passepartout-sense--send-change passepartout-sense--idle
    passepartout-sense--point-is-in
    passepartout-status--received passepartout-status--show
    passepartout-status--count passepartout-status--jobs
    passepartout-status--background passepartout-status--line
    passepartout-status--part passepartout-status--road
    passepartout-view-line passepartout-view-visible
    passepartout-plan-pending passepartout-plan--known
    passepartout-chat--status passepartout-chat--stopped
    passepartout-notify--stopped)
  "What runs at a key, at a rest and for a message.")

(defmacro passepartout-garbage-tests--compiled (&rest body)
  "Evaluate BODY while what runs at keys and messages is compiled."
  (declare (indent 0) (debug t))
  `(let ((kept (mapcar (lambda (name) (cons name (symbol-function name)))
                       passepartout-garbage-tests--functions))
         (byte-compile-warnings nil))
     (unwind-protect
         (progn
           (dolist (name passepartout-garbage-tests--functions)
             (unless (byte-code-function-p (symbol-function name))
               (byte-compile name)))
           ,@body)
       (pcase-dolist (`(,name . ,function) kept)
         (fset name function)))))

(defun passepartout-garbage-tests--bytes ()
  "Return how many bytes of Lisp there were made; to ask makes none."
  (+ (* 16 (+ cons-cells-consed floats-consed))
     (* 8 vector-cells-consed) (* 48 symbols-consed)
     string-chars-consed (* 56 intervals-consed) (* 32 strings-consed)))

(defun passepartout-garbage-tests--made (before function)
  "Return the bytes that FUNCTION makes, called after BEFORE.
It is the least of some calls: what happens once does not count."
  (let ((least most-positive-fixnum) from)
    (dotimes (round 7)
      (funcall before round)
      (setq from (passepartout-garbage-tests--bytes))
      (funcall function)
      (setq least (min least (- (passepartout-garbage-tests--bytes) from))))
    least))

(defun passepartout-garbage-tests--status (title)
  "Return the text of a status when point is in the heading TITLE."
  (format "(:type :status :payload (:state \"idle\" :pending 0 :focus \"n1\" \
:focus-title %S :files 2 :headings 5000 :health \"healthy\" :problems 0))"
          title))

(ert-deftest passepartout-garbage-is-bounded ()
  (let ((file (make-temp-file "passepartout" nil ".org"))
        (create-lockfiles nil)
        (make-backup-files nil))
    (unwind-protect
        (passepartout-fake-with
          (save-window-excursion
            (switch-to-buffer (find-file-noselect file))
            (insert "* One\nSome words.\n* Two\nMore words.\n")
            (passepartout-mode 1)
            (passepartout-sense--tick)
            (passepartout-fake-settle)
            (let* ((passepartout-module--transport
                    (list :send #'ignore :stop #'ignore
                          :receive (lambda (_)
                                     (prog1 passepartout-fake-waiting
                                       (setq passepartout-fake-waiting nil)))))
                   ;; Each timer that waits makes setting one dearer.
                   (timer-list nil)
                   (timer-idle-list nil)
                   (one (passepartout-garbage-tests--status "One"))
                   (two (passepartout-garbage-tests--status "Two"))
                   (change (lambda (_)
                             (let ((inhibit-modification-hooks t)) (insert "x"))))
                   (say (lambda (text) (setq passepartout-fake-waiting (list text))))
                   (cases
                    `(("a change, the first after a rest" 320
                       ,(lambda (round)
                          (passepartout-sense--tick)
                          (funcall change round))
                       ,(lambda ()
                          (passepartout-sense--changed (1- (point)) (point) 0)))
                      ("a change behind another" 160 ,change
                       ,(lambda ()
                          (passepartout-sense--changed (1- (point)) (point) 0)))
                      ("a rest after a change" 1300
                       ,(lambda (_) (insert "x"))
                       ,#'passepartout-sense--idle)
                      ("a rest after point moved" 540
                       ,(lambda (round) (goto-char (1+ round)))
                       ,#'passepartout-sense--idle)
                      ("a rest after nothing" 0 ,#'ignore
                       ,#'passepartout-sense--idle)
                      ("a status that says the same" 1700
                       ,(lambda (_) (funcall say one))
                       ,#'passepartout-events--drain)
                      ("a status that names another heading" 3300
                       ,(lambda (round) (funcall say (if (cl-oddp round) one two)))
                       ,#'passepartout-events--drain))))
              (passepartout-garbage-tests--compiled
                (pcase-dolist (`(,what ,most ,before ,function) cases)
                  (let ((made (passepartout-garbage-tests--made before function)))
                    (ert-info ((format "%s makes %d bytes" what made))
                      (should (<= made most)))))))))
      (delete-file file))))

(provide 'passepartout-garbage-tests)
;;; passepartout-garbage-tests.el ends here
