;;; passepartout-decisions-tests.el --- Tests of what people see of decisions  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; What was refused in a chat, explanations, the doctor without a core.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-chat-tests)

(defconst passepartout-decisions-tests--hash (make-string 64 ?a)
  "The hash of an action.")

(defmacro passepartout-decisions-tests--refused (answer &rest body)
  "Run BODY in a chat in which a turn with ANSWER was refused two things."
  (declare (indent 1) (debug t))
  `(passepartout-fake-with
     (let ((session (passepartout-chat-tests--open)))
       (passepartout-chat-tests--ask "Clean up")
       (passepartout-chat-tests--answer
        session "t1" (list ,answer)
        :refused `((:text "Run: rm -rf ~ — It deletes your home."
                    :hash ,passepartout-decisions-tests--hash)
                   (:text "There is no tool “fly”.")))
       ,@body)))

(ert-deftest passepartout-decisions-what-was-refused-stands-below-the-answer ()
  (passepartout-decisions-tests--refused "I could not."
    (should (string-match-p
             (concat "I could not\\.\n\n"
                     "- Refused :: Run: rm -rf ~ — It deletes your home\\.  "
                     "\\[\\[passepartout-why:a+\\]\\[why\\]\\]\n"
                     "- Refused :: There is no tool “fly”\\.\n\n"
                     ":PASSEPARTOUT:\n- turn :: t1\n- result :: answered\n"
                     "- refused :: 2\n:END:")
             (passepartout-chat-tests--text)))
    (goto-char (point-min))
    (search-forward "- Refused")
    (should-not (org-invisible-p))))

(ert-deftest passepartout-decisions-what-was-refused-is-no-word-of-the-model ()
  ;; What the model says that looks alike stays what it said.
  (dolist (answer '("I could not." "- Refused :: all\n\nof it."
                    "Sorry\n\n- Refused :: it"))
    (passepartout-decisions-tests--refused answer
      (let ((check (lambda ()
                     (should (equal (plist-get
                                     (passepartout-chat-tests--ask "Why?")
                                     :history)
                                    `((:role :user :text "Clean up")
                                      (:role :assistant :text ,answer)))))))
        (funcall check)
        ;; So it is in the same chat when it is opened again.
        (let ((text (passepartout-chat-tests--text)))
          (passepartout-chat-tests--open)
          (let ((inhibit-read-only t))
            (erase-buffer)
            (insert (substring text 0 (string-match "\n\\* Why" text))
                    "\n* "))
          (funcall check))))))

(ert-deftest passepartout-decisions-a-refusal-is-explained-where-it-stands ()
  (passepartout-decisions-tests--refused "No."
    (goto-char (point-min))
    (search-forward "- Refused")
    (call-interactively #'passepartout-why)
    (should (equal (plist-get (car (last (passepartout-fake-sent :why))) :hash)
                   passepartout-decisions-tests--hash))
    (search-forward "[why]")
    (backward-char 2)
    (org-open-at-point)
    (should (= 2 (length (passepartout-fake-sent :why))))
    ;; Elsewhere in a chat it is the last decision.
    (goto-char (point-min))
    (call-interactively #'passepartout-why)
    (should-not (plist-get (car (last (passepartout-fake-sent :why))) :hash))))

(ert-deftest passepartout-decisions-a-number-of-the-audit-is-explained ()
  (passepartout-fake-with
    (let ((asked (lambda (key)
                   (plist-get (car (last (passepartout-fake-sent :why))) key))))
      (let ((current-prefix-arg 123))
        (call-interactively #'passepartout-why))
      (should (eql 123 (funcall asked :record)))
      (dolist (none '(0 -5))
        (let ((current-prefix-arg none))
          (should-error (call-interactively #'passepartout-why)
                        :type 'user-error)))
      (should (= 1 (length (passepartout-fake-sent :why))))
      (dolist (case '((" 77 " :record 77) ("P1A2B3C" :plan "P1A2B3C")))
        (cl-letf (((symbol-function 'read-string) (lambda (&rest _) (car case))))
          (let ((current-prefix-arg '(4)))
            (call-interactively #'passepartout-why)))
        (should (equal (nth 2 case) (funcall asked (nth 1 case)))))
      (passepartout-fake-answer :why '(:text "Proposed: nothing\n* at all"))
      (with-current-buffer passepartout-trace--why-buffer-name
        (should (string-match-p "^: \\* at all" (buffer-string)))))))

(ert-deftest passepartout-decisions-the-doctor-names-a-setting-that-is-wrong ()
  (pcase-dolist (`(,option ,value ,starts)
                 '((passepartout-privacy-tags ("private" ("work" . blok)) nil)
                   (passepartout-privacy-tags "private" nil)
                   (passepartout-directories "~/org" nil)
                   (passepartout-plan-hours "24" t)))
    (passepartout-fake-with
      (passepartout-stop)
      (cl-progv (list option) (list value)
        (passepartout-doctor)
        (let ((text (buffer-string)))
          (should (string-match-p (format "^\\* %s +Setting %s$"
                                          (if starts "degraded" "unhealthy")
                                          option)
                                  text))
          (should (string-match-p (regexp-quote (format "%S" value)) text))
          (should (string-match-p (format "customize-option RET %s" option)
                                  text))
          (should (eq starts (and (passepartout-running-p) t)))
          (unless starts
            (should (string-match-p "^Doctor: unhealthy$" text))
            (should (string-match-p "^\\* unhealthy +Core$" text)))))
      ;; No process is left of a start that came to nothing.
      (should (<= (seq-count (lambda (process)
                               (string-prefix-p "passepartout"
                                                (process-name process)))
                             (process-list))
                  (if starts 1 0)))
      ;; It is mended, and looked at again.
      (with-current-buffer passepartout-doctor--buffer-name
        (passepartout-view-refresh)
        (passepartout-fake-answer
         :doctor '(:checks ((:name "gates" :title "rm -rf" :state "healthy"
                             :word "held" :detail "it would be refused"))))
        (should-not (string-match-p "Setting\\|Core" (buffer-string)))
        (should (string-match-p "^\\* held +rm -rf$" (buffer-string)))))))

(ert-deftest passepartout-decisions-the-doctor-has-nothing-against-right-settings ()
  (let ((passepartout-privacy-tags '("private" ("journal" . ask)))
        (passepartout-directories '("~/org"))
        (passepartout-permissions '(("shell" . ask)))
        (passepartout-providers
         '(("desk" :kind "ollama" :url "http://127.0.0.1:11434/"
            :model "llama3.1" :local t)
           ("work" :kind "openai" :url "https://llm.example.org/v1/")))
        (passepartout-provider-cascade '("desk" "recall")))
    (should-not (passepartout-doctor--settings))))

(provide 'passepartout-decisions-tests)
;;; passepartout-decisions-tests.el ends here
