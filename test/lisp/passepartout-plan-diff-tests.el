;;; passepartout-plan-diff-tests.el --- Tests of comparing what a plan changes  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; What the core sends of a change is shown as `diff-mode' does, and
;; taken apart for Ediff; nothing of it is acted on.

;;; Code:

(require 'ediff)
(require 'passepartout-fake)
(require 'passepartout-plan-tests)
(require 'passepartout-plan-diff)

(defconst passepartout-plan-diff-tests--change
  "--- a/h/a.org\n+++ b/h/a.org\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"
  "A change of one line.")

(defun passepartout-plan-diff-tests--answer ()
  "Answer all that is asked of plans, until nothing is."
  (let ((answered t))
    (while answered
      (setq answered nil)
      (dolist (asked (passepartout-fake-sent :plan-page))
        (let ((number (plist-get asked :request)))
          (when (gethash number passepartout-events--requests)
            (setq answered t)
            (passepartout-fake-inject
             :response `(:action :plan-page :request ,number
                         ,@(passepartout-plan-tests--page
                            (plist-get asked :plan)
                            (plist-get asked :from))))))))))

(defmacro passepartout-plan-diff-tests--with (pages &rest body)
  "Run BODY with point on the plan P1, of which PAGES come behind its text."
  (declare (indent 1) (debug t))
  `(passepartout-fake-with
     (let ((passepartout-plan-tests--pages
            `(("P1" (:body "write\n") ,@,pages))))
       (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
       ,@body)))

(defun passepartout-plan-diff-tests--shown ()
  "Return the text of the buffer of changes."
  (with-current-buffer passepartout-plan-diff--buffer-name
    (buffer-string)))

(ert-deftest passepartout-plan-diff-shows-the-change-as-diff-mode-does ()
  (passepartout-plan-diff-tests--with
      `((:asked "writes ask\n")
        (:diff ,(substring passepartout-plan-diff-tests--change 0 30))
        (:diff ,(concat (substring passepartout-plan-diff-tests--change 30)
                        "+\u202e\n"))
        (:predicted "+no change\n"))
    (passepartout-plan-tests--key "=")
    (should (equal (buffer-name) passepartout-plan-diff--buffer-name))
    (should (equal (buffer-string) "Asking…\n"))
    (passepartout-plan-diff-tests--answer)
    (should (derived-mode-p 'diff-mode))
    (should (equal (buffer-substring-no-properties (point-min) (point-max))
                   (concat passepartout-plan-diff-tests--change
                           "+\\u{202E}\n")))
    (font-lock-ensure)
    (dolist (case '(("^@@" diff-hunk-header) ("^-two" diff-removed)
                    ("^\\+TWO" diff-added) ("^\\+\\+\\+ b" diff-file-header)))
      (goto-char (point-min))
      (re-search-forward (car case))
      (let ((face (get-text-property (1- (point)) 'face)))
        (should (memq (cadr case)
                      (append (ensure-list face)
                              ;; A mark in front inherits from it.
                              (mapcar (lambda (one)
                                        (face-attribute one :inherit))
                                      (ensure-list face)))))))
    (should buffer-read-only)
    ;; Back to the plan, which is as it was.
    (passepartout-plan-tests--key "RET")
    (should (equal (passepartout-plan-id-at-point) "P1"))
    (should-not (passepartout-fake-sent :approval))))

(ert-deftest passepartout-plan-diff-acts-on-nothing ()
  (passepartout-plan-diff-tests--with
      `((:diff ,passepartout-plan-diff-tests--change))
    (passepartout-plan-tests--key "=")
    (passepartout-plan-diff-tests--answer)
    ;; Commands and modes of elsewhere visit nothing through this buffer.
    (should-not next-error-function)
    (should-not (funcall add-log-current-defun-function))
    ;; Nothing that applies a change, visits its file or calls a program.
    (map-keymap (lambda (_event command)
                  (when (symbolp command)
                    (should (memq command
                                  '(diff-hunk-next diff-hunk-prev diff-file-next
                                    diff-file-prev imenu revert-buffer
                                    passepartout-plan-ediff
                                    passepartout-plan-diff-return
                                    scroll-up-command scroll-down-command
                                    describe-mode quit-window undefined
                                    beginning-of-buffer end-of-buffer
                                    digit-argument negative-argument)))))
                (current-local-map))
    (dolist (key '("C-c C-a" "C-c C-c" "C-c C-t" "M-A" "A" "w" "k" "C-x C-q"))
      (let ((command (key-binding (kbd key))))
        (should-not (and (symbolp command)
                         (string-prefix-p "diff-" (symbol-name command))))))
    (let ((visited nil))
      (cl-letf (((symbol-function 'find-file-noselect)
                 (lambda (&rest _) (setq visited t)))
                ((symbol-function 'call-process)
                 (lambda (&rest _) (setq visited t) 0)))
        (font-lock-ensure))
      (should-not visited))))

(ert-deftest passepartout-plan-diff-says-why-there-is-none ()
  (dolist (case '((((:why "because")) "no change of a file to compare")
                  (((:diff "@@ -1 +1 @@\n+x\n")) "@@ -1 \\+1 @@\n\\+x")))
    (passepartout-plan-diff-tests--with (car case)
      (passepartout-plan-tests--key "=")
      (passepartout-plan-diff-tests--answer)
      (should (string-match-p (cadr case)
                              (passepartout-plan-diff-tests--shown)))))
  (passepartout-plan-diff-tests--with
      `((:diff ,passepartout-plan-diff-tests--change))
    ;; What was asked for before is late.
    (passepartout-plan-tests--key "=")
    (passepartout-plan-tests--key "g")
    (passepartout-fake-answer :plan-page '(:error "gone"))
    (should (string-match-p "cannot be shown: gone"
                            (passepartout-plan-diff-tests--shown)))
    (passepartout-plan-diff-tests--answer)
    (should (string-match-p "cannot be shown: gone"
                            (passepartout-plan-diff-tests--shown)))
    ;; What was changed meanwhile is not shown half the one, half the other.
    (passepartout-plan-tests--key "g")
    (passepartout-plan--store
     (passepartout-plan-tests--plan "P1" :shown "hash-other"))
    (passepartout-plan-diff-tests--answer)
    (should (string-match-p "the plan has changed"
                            (passepartout-plan-diff-tests--shown)))
    (let ((passepartout-plan-diff--most 3))
      (passepartout-plan-tests--key "g")
      (passepartout-plan-diff-tests--answer)
      (should (string-match-p "too long for this"
                              (passepartout-plan-diff-tests--shown))))))

(ert-deftest passepartout-plan-diff-of-a-decision-is-that-of-its-checked-steps ()
  (passepartout-fake-with
    (setq passepartout-plan--unchecked nil)
    (let ((passepartout-plan-tests--pages
           (mapcar (lambda (id)
                     `(,id (:body "write\n") (:diff ,(format "@@ @@\n+%s" id))
                           (:predicted "tried\n") (:predicted "tried\n")))
                   '("P1" "P2" "P3"))))
      (apply #'passepartout-plan-tests--show
             (cl-mapcar (lambda (id step)
                          (passepartout-plan-tests--plan id :step step))
                        '("P1" "P2" "P3") '(0 1 2)))
      (goto-char (point-min))
      (search-forward "- [X] 2.")
      (passepartout-plan-tests--key "C-c C-x C-b")
      (passepartout-plan-tests--key "=")
      (passepartout-plan-diff-tests--answer)
      (should (equal (buffer-substring-no-properties (point-min) (point-max))
                     "Plan P1: Write P1\n@@ @@\n+P1\nPlan P3: Write P3\n@@ @@\n+P3")))))

(ert-deftest passepartout-plan-diff-cuts-lines-that-make-emacs-slow ()
  (let ((passepartout-plan-diff--line 4))
    (should (equal (passepartout-plan-diff--cut "+abc\n+abcd\n\n-abcdef\n")
                   "+abc\n+abc… (1 characters more)\n\n-abc… (3 characters more)\n"))))

(ert-deftest passepartout-plan-diff-has-two-sides ()
  (dolist (case
           `((,passepartout-plan-diff-tests--change
              "/h/a.org\n@@ -1,3 +1,3 @@\none\ntwo\nthree\n"
              "/h/a.org\n@@ -1,3 +1,3 @@\none\nTWO\nthree\n")
             ;; A new file, and no newline at its end.
             ("--- a/n\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
              "/n\n@@ -0,0 +1 @@\n" "/n\n@@ -0,0 +1 @@\nx\n")
             ;; What a text says is not taken for the head of a file.
             ("--- a/n\n+++ b/n\n@@ -1,2 +1,2 @@\n--- a/x\n+++ b/x\n @@ -1 +1 @@\n"
              "/n\n@@ -1,2 +1,2 @@\n-- a/x\n@@ -1 +1 @@\n"
              "/n\n@@ -1,2 +1,2 @@\n++ b/x\n@@ -1 +1 @@\n")
             ("" "" "")))
    (should (equal (passepartout-plan-diff--sides (car case))
                   (cons (nth 1 case) (nth 2 case))))))

(ert-deftest passepartout-plan-ediff-leaves-nothing-behind ()
  (passepartout-plan-diff-tests--with
      `((:diff ,passepartout-plan-diff-tests--change))
    (let ((before (seq-remove (lambda (buffer)
                                (string-prefix-p " " (buffer-name buffer)))
                              (buffer-list)))
          (ediff-window-setup-function #'ediff-setup-windows-plain)
          compared)
      (passepartout-plan-tests--key "E")
      (passepartout-plan-diff-tests--answer)
      (let ((control (seq-find (lambda (buffer)
                                 (buffer-local-value 'ediff-buffer-A buffer))
                               (seq-filter (lambda (buffer)
                                             (local-variable-p 'ediff-buffer-A
                                                               buffer))
                                           (buffer-list)))))
        (should control)
        (with-current-buffer control
          (dolist (side (list ediff-buffer-A ediff-buffer-B))
            (with-current-buffer side
              (should buffer-read-only)
              (push (buffer-string) compared)))
          (should (= 1 ediff-number-of-differences))
          (cl-letf (((symbol-function 'y-or-n-p) #'always))
            (ediff-quit nil))))
      (should (string-match-p "^TWO$" (car compared)))
      (should (string-match-p "^two$" (cadr compared)))
      (should-not (seq-difference
                   (seq-remove (lambda (buffer)
                                 (string-match-p "\\`\\( \\|\\*[Ee]diff\\)"
                                                 (buffer-name buffer)))
                               (buffer-list))
                   before))
      (should (equal (passepartout-plan-id-at-point) "P1"))
      (should-not (passepartout-fake-sent :approval)))))

(ert-deftest passepartout-plan-ediff-opens-nothing-where-you-are-not ()
  (passepartout-plan-diff-tests--with
      `((:diff ,passepartout-plan-diff-tests--change))
    (cl-letf (((symbol-function 'ediff-buffers)
               (lambda (&rest _) (error "It opened"))))
      (passepartout-plan-tests--key "E")
      (switch-to-buffer "*scratch*")
      (passepartout-plan-diff-tests--answer)
      ;; Where Ediff cannot begin, nothing of it is left.
      (switch-to-buffer passepartout-plan--buffer-name)
      (passepartout-plan-tests--key "E")
      (passepartout-plan-diff-tests--answer)
      (should-not (get-buffer "*Passepartout as it is*"))
      (should-not (get-buffer "*Passepartout as planned*")))))

(provide 'passepartout-plan-diff-tests)
;;; passepartout-plan-diff-tests.el ends here
