;;; passepartout-plan-tests.el --- Tests of flight plans  -*- lexical-binding: t; -*-

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

;; Keys, the second of waiting, literal display, editing, redrawing.

;;; Code:

(require 'passepartout-fake)

(defun passepartout-plan-tests--plan (id &rest more)
  "Return a plan called ID that waits, with the properties MORE before all."
  (append more
          (list :id id :status "pending" :shown (concat "hash-" id)
                :session "s1" :turn "t1" :tool "write-file"
                :title (concat "Write " id) :why "because"
                :asked-by '(("permissions" "writes ask"))
                :body (concat "write /tmp/" id "\nline") :diff "--- a\n+++ b\n-x\n+y"
                :args '((:name "path" :value "/tmp/x" :kind "text")
                        (:name "content" :value "y" :kind "text"))
                :created "2026-01-01T10:00:00Z"
                :expires "2026-01-02T10:00:00Z")))

(defun passepartout-plan-tests--show (&rest plans)
  "Show PLANS in the buffer of plans, as if all had been there for long."
  (passepartout-flight-plans)
  (passepartout-fake-answer :plans `(:plans ,plans))
  (should (eq major-mode 'passepartout-plan-mode))
  (setq passepartout-fake-time (+ passepartout-fake-time 10))
  (goto-char (point-min))
  (search-forward "* PLAN"))

(defun passepartout-plan-tests--key (key)
  "Call the command that KEY is bound to."
  (call-interactively (key-binding (kbd key))))

(ert-deftest passepartout-plan-approves-exactly-what-is-shown ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (passepartout-plan-tests--key "C-c C-c")
    (should (equal (passepartout-fake-sent :approval)
                   '((:sensor :approval :plan "P1" :shown "hash-P1"))))
    (should-error (passepartout-plan-tests--key "C-c C-c") :type 'user-error)
    (goto-char (point-min))
    (search-forward "* APPROVED")
    (should-error (passepartout-plan-tests--key "C-c C-c") :type 'user-error)
    (should (= 1 (length (passepartout-fake-sent :approval))))))

(ert-deftest passepartout-plan-looks-as-it-should ()
  (passepartout-fake-with
    (passepartout-plan-tests--show
     (passepartout-plan-tests--plan
      "P1" :created nil :expires nil
      :body "* not a heading\n:END:\n[[elisp:(x)][safe]]\n\nlast"))
    (should (string-match-p
             (regexp-quote "
What will happen
: * not a heading
: :END:
: [[elisp:(x)][safe]]
:
: last

The change
: --- a
: +++ b
: -x
: +y

Why the agent wants it
: because

Why you are asked
- permissions: writes ask
")
             (buffer-string)))
    (should (string-match-p "^\\* PLAN Write P1 :FLIGHT_PLAN:$"
                            (buffer-string)))
    (should buffer-read-only)
    ;; Nothing is hidden, however Emacs is asked to display it.
    (font-lock-ensure)
    (redisplay)
    (let ((position (point-min)))
      (while (< position (point-max))
        (should-not (invisible-p position))
        (should-not (get-char-property position 'display))
        (should-not (get-char-property position 'composition))
        (setq position (1+ position))))))

(ert-deftest passepartout-plan-control-characters-are-escapes ()
  (passepartout-fake-with
    (passepartout-plan-tests--show
     (passepartout-plan-tests--plan
      "P1" :body "rm\r\u202e x\u200b\0" :title "a\nb\u2066c"))
    (should (string-match-p
             (regexp-quote ": rm\\u{D}\\u{202E} x\\u{200B}\\u{0}\n")
             (buffer-string)))
    (should (string-match-p (regexp-quote "* PLAN a b\\u{2066}c")
                            (buffer-string)))))

(ert-deftest passepartout-plan-org-hooks-do-not-run ()
  (let ((org-mode-hook (list (lambda () (error "Hook ran"))))
        (text-mode-hook nil))
    (passepartout-fake-with
      (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1")))))

(ert-deftest passepartout-plan-no-other-key-decides ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (dolist (key '("RET" "y" "a" "SPC" "n" "p" "TAB" "C-m"))
      (let ((command (key-binding (kbd key))))
        (when (commandp command)
          (condition-case nil
              (call-interactively command)
            (error nil)))))
    (should-not (passepartout-fake-sent :approval))
    (should-not (passepartout-fake-sent :denial))))

(ert-deftest passepartout-plan-waits-a-second ()
  (passepartout-fake-with
    (passepartout-flight-plans)
    (passepartout-fake-answer
     :plans `(:plans (,(passepartout-plan-tests--plan "P1"))))
    (goto-char (point-min))
    (search-forward "* PLAN")
    (passepartout-plan-tests--key "C-c C-c")
    (should-not (passepartout-fake-sent :approval))
    (setq passepartout-fake-time (+ passepartout-fake-time 0.9))
    (passepartout-plan-tests--key "C-c C-c")
    (should-not (passepartout-fake-sent :approval))
    (setq passepartout-fake-time (+ passepartout-fake-time 0.2))
    (passepartout-plan-tests--key "C-c C-c")
    (should (passepartout-fake-sent :approval))))

(ert-deftest passepartout-plan-a-new-plan-below-does-not-delay-this-one ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (passepartout-fake-inject
     :event `(:action :plan-parked :plan ,(passepartout-plan-tests--plan "P2")))
    (should (looking-at-p " Write P1"))
    (passepartout-plan-tests--key "C-c C-c")
    (should (equal "P1" (plist-get (car (passepartout-fake-sent :approval))
                                   :plan)))
    ;; The next plan came under point by itself: a second key at once
    ;; approves nothing.
    (should (looking-at-p "\\* PLAN Write P2"))
    (passepartout-plan-tests--key "C-c C-c")
    (should (= 1 (length (passepartout-fake-sent :approval))))
    (setq passepartout-fake-time (+ passepartout-fake-time 1.1))
    (passepartout-plan-tests--key "C-c C-c")
    (should (= 2 (length (passepartout-fake-sent :approval))))))

(ert-deftest passepartout-plan-a-plan-that-changed-must-be-seen-again ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (passepartout-fake-inject
     :event `(:action :plan-changed
              :plan ,(passepartout-plan-tests--plan "P1" :shown "hash-new")))
    (passepartout-plan-tests--key "C-c C-c")
    (should-not (passepartout-fake-sent :approval))
    (setq passepartout-fake-time (+ passepartout-fake-time 1.1))
    (passepartout-plan-tests--key "C-c C-c")
    (should (equal "hash-new"
                   (plist-get (car (passepartout-fake-sent :approval))
                              :shown)))))

(ert-deftest passepartout-plan-data-behind-the-display-are-not-approved ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (passepartout-plan--store
     (passepartout-plan-tests--plan "P1" :shown "hash-hidden"))
    (should-error (passepartout-plan-tests--key "C-c C-c") :type 'user-error)
    (should-not (passepartout-fake-sent :approval))))

(ert-deftest passepartout-plan-hidden-text-is-not-approved ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (beginning-of-line)
    (org-cycle)
    (should-error (passepartout-plan-tests--key "C-c C-c") :type 'user-error)
    (should-not (passepartout-fake-sent :approval))
    (setq passepartout-fake-time (+ passepartout-fake-time 1.1))
    (passepartout-plan-tests--key "C-c C-c")
    (should (passepartout-fake-sent :approval))))

(ert-deftest passepartout-plan-denies-with-a-reason ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (cl-letf (((symbol-function 'read-string) (lambda (&rest _) "not now")))
      (passepartout-plan-tests--key "C-c C-k"))
    (should (equal (passepartout-fake-sent :denial)
                   '((:sensor :denial :plan "P1" :reason "not now"))))
    (should (string-match-p "^\\* DENIED" (buffer-string)))))

(ert-deftest passepartout-plan-edits-an-argument ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (cl-letf (((symbol-function 'completing-read)
               (lambda (&rest _) "content")))
      (passepartout-plan-tests--key "C-c C-e"))
    (should (eq major-mode 'passepartout-plan-edit-mode))
    (should (equal (buffer-string) "y"))
    (goto-char (point-max))
    (insert "\n語")
    (passepartout-plan-tests--key "C-c C-c")
    (let ((sent (car (passepartout-fake-sent :edit-plan))))
      (should (equal (plist-get sent :plan) "P1"))
      (should (equal (plist-get sent :args)
                     '((:name "path" :kind "text" :value "/tmp/x")
                       (:name "content" :kind "text" :value "y\n語")))))
    (should-not (passepartout-fake-sent :approval))))

(ert-deftest passepartout-plan-takes-no-focus ()
  (passepartout-fake-with
    (switch-to-buffer "*scratch*")
    (passepartout-fake-inject
     :event `(:action :plan-parked :plan ,(passepartout-plan-tests--plan "P1")))
    (should (equal (buffer-name (window-buffer)) "*scratch*"))
    (should-not (get-buffer passepartout-plan--buffer-name))
    (should (string-match-p "1 plan" passepartout-status--mode-line))
    (passepartout-fake-inject
     :event `(:action :plan-changed
              :plan ,(passepartout-plan-tests--plan
                      "P1" :status "stale" :result "notes.org changed")))
    (should (string-empty-p passepartout-status--mode-line))
    (passepartout-flight-plans)
    (should (string-match-p "^\\* STALE Write P1 :FLIGHT_PLAN:\n.*\n: notes.org"
                            (buffer-string)))))

(ert-deftest passepartout-plan-redrawing-keeps-point-and-scroll ()
  (passepartout-fake-with
    (apply #'passepartout-plan-tests--show
           (mapcar (lambda (n)
                     (passepartout-plan-tests--plan (format "P%d" n)))
                   (number-sequence 1 30)))
    (goto-char (passepartout-plan--start "P20"))
    (forward-line 3)
    (set-window-point nil (point))
    (set-window-start nil (passepartout-plan--start "P19"))
    (let ((line (thing-at-point 'line)) (id "P20"))
      (passepartout-fake-inject
       :event `(:action :plan-changed
                :plan ,(passepartout-plan-tests--plan "P3" :status "expired")))
      (should (equal line (thing-at-point 'line)))
      (should (equal id (get-text-property (point) 'passepartout-plan)))
      (should (= (window-start) (passepartout-plan--start "P19"))))))

(provide 'passepartout-plan-tests)
;;; passepartout-plan-tests.el ends here
