;;; passepartout-plan-steps-tests.el --- Tests of plans with several steps  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; One heading for one decision, its checklist, a part of it, stopping.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-plan-tests)

(defun passepartout-plan-steps-tests--plan (id step &rest more)
  "Return the plan ID, which is STEP of a decision, with MORE before all."
  (apply #'passepartout-plan-tests--plan id
         (append more (list :step step :badge "undoable"))))

(defmacro passepartout-plan-steps-tests--with (&rest body)
  "Run BODY with two steps of a decision and another plan displayed."
  (declare (indent 0) (debug t))
  `(passepartout-fake-with
     (setq passepartout-plan--unchecked nil)
     (let ((passepartout-plan--window-end (lambda (_window) (point-max))))
       (passepartout-plan-tests--show
        (passepartout-plan-steps-tests--plan "P1" 0)
        (passepartout-plan-tests--plan "P9" :turn "t9" :step 0)
        (passepartout-plan-steps-tests--plan "P2" 1 :badge "irreversible"))
       ,@body)))

(defun passepartout-plan-steps-tests--headings ()
  "Return the headings of the buffer, without tags."
  (let (found)
    (save-excursion
      (goto-char (point-min))
      (while (re-search-forward "^\\*+ .*?\\( :FLIGHT_PLAN:\\)?$" nil t)
        (push (string-remove-suffix " :FLIGHT_PLAN:" (match-string 0)) found)))
    (nreverse found)))

(ert-deftest passepartout-plan-steps-stand-below-the-heading-of-their-decision ()
  (passepartout-plan-steps-tests--with
    (should (equal (passepartout-plan-steps-tests--headings)
                   '("* PLAN 2 steps for one decision"
                     "** PLAN Write P1" "** PLAN Write P2"
                     "* PLAN Write P9")))
    (should (string-match-p
             (concat "^- \\[X\\] 1\\. Write P1 (undoable)\n"
                     "- \\[X\\] 2\\. Write P2 (irreversible)$")
             (buffer-string)))
    ;; One that comes in the place of another stands where that stood.
    (passepartout-fake-inject
     :event `(:action :plan-parked
              :plan ,(passepartout-plan-steps-tests--plan "P3" 0)))
    (passepartout-fake-inject
     :event `(:action :plan-changed
              :plan ,(passepartout-plan-steps-tests--plan
                      "P1" 0 :status "replaced")))
    (should (equal (passepartout-plan-steps-tests--headings)
                   '("* PLAN 2 steps for one decision"
                     "** PLAN Write P3" "** PLAN Write P2"
                     "* PLAN Write P9" "* REPLACED Write P1")))))

(ert-deftest passepartout-plan-steps-are-approved-by-the-heading-when-checked ()
  (passepartout-plan-steps-tests--with
    (goto-char (point-min))
    (search-forward "- [X] 1.")
    (passepartout-plan-tests--key "C-c C-x C-b")
    (should (string-match-p "^- \\[ \\] 1\\." (buffer-string)))
    ;; What an approval is about has just changed.
    (passepartout-plan-tests--key "C-c C-c")
    (should-not (passepartout-fake-sent :approval))
    (setq passepartout-fake-time (+ passepartout-fake-time 10))
    (passepartout-plan-tests--key "C-c C-c")
    (should (equal (passepartout-fake-sent :approval)
                   '((:sensor :approval :plan "P2" :shown "hash-P2"))))))

(ert-deftest passepartout-plan-steps-are-approved-together-and-each-once ()
  (passepartout-plan-steps-tests--with
    (goto-char (point-min))
    (search-forward "* PLAN 2 steps")
    (passepartout-plan-tests--key "C-c C-c")
    (should (equal (passepartout-fake-sent :approval)
                   '((:sensor :approval
                      :steps ((:plan "P1" :shown "hash-P1")
                              (:plan "P2" :shown "hash-P2"))))))
    (should (equal (seq-take (passepartout-plan-steps-tests--headings) 1)
                   '("* PLAN Write P9")))
    ;; Under point is another plan now: the same key right away is not for it.
    (passepartout-plan-tests--key "C-c C-c")
    (should (= 1 (length (passepartout-fake-sent :approval))))))

(ert-deftest passepartout-plan-a-step-alone-is-approved-where-it-stands ()
  (passepartout-plan-steps-tests--with
    (goto-char (point-min))
    (search-forward "** PLAN Write P2")
    (passepartout-plan-tests--key "C-c C-c")
    (should (equal (passepartout-fake-sent :approval)
                   '((:sensor :approval :plan "P2" :shown "hash-P2"))))
    ;; What is left of the decision is one plan like others.
    (should (equal (seq-take (passepartout-plan-steps-tests--headings) 2)
                   '("* PLAN Write P1" "* PLAN Write P9")))))

(ert-deftest passepartout-plan-a-step-that-was-not-displayed-is-not-approved ()
  (passepartout-fake-with
    (setq passepartout-plan--unchecked nil)
    (let ((passepartout-plan--window-end
           (lambda (_window)
             (save-excursion
               (goto-char (point-min))
               (if (search-forward "End of plan P1." nil t)
                   (line-beginning-position 2)
                 (point-max))))))
      (passepartout-plan-tests--show
       (passepartout-plan-steps-tests--plan "P1" 0)
       (passepartout-plan-steps-tests--plan "P2" 1))
      (goto-char (point-min))
      (search-forward "* PLAN 2 steps")
      (passepartout-plan-tests--key "C-c C-c")
      (should-not (passepartout-fake-sent :approval))
      (should (equal "P2" (plist-get (passepartout-plan--entry-plan
                                      (ewoc-data (passepartout-plan--at-point)))
                                     :id))))))

(ert-deftest passepartout-plan-denying-and-stopping-are-two-keys ()
  (passepartout-plan-steps-tests--with
    (cl-letf (((symbol-function 'read-string) (lambda (&rest _) "no")))
      (goto-char (point-min))
      (search-forward "* PLAN Write P9")
      (passepartout-plan-tests--key "C-c C-s")
      (should (equal (passepartout-fake-sent :denial)
                     '((:sensor :denial :plan "P9" :reason "no" :stop t))))
      (goto-char (point-min))
      (search-forward "* PLAN 2 steps")
      (passepartout-plan-tests--key "C-c C-k")
      (should (equal (car (last (passepartout-fake-sent :denial)))
                     '(:sensor :denial :steps ((:plan "P1") (:plan "P2"))
                       :reason "no"))))))

(ert-deftest passepartout-plan-what-differs-is-shown-below-a-stale-plan ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (passepartout-fake-inject
     :event `(:action :plan-changed
              :plan ,(passepartout-plan-tests--plan
                      "P1" :status "stale" :result "it changed"
                      :differs "--- then\n+++ now\n-a\n+b")))
    (should (string-match-p
             "What differs from what it showed\n: --- then\n: \\+\\+\\+ now\n: -a\n: \\+b\n"
             (buffer-string)))))

(provide 'passepartout-plan-steps-tests)
;;; passepartout-plan-steps-tests.el ends here
