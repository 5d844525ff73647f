;;; passepartout-commands-tests.el --- Commands that no other test calls  -*- lexical-binding: t; -*-

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

;; run-tests.el counts which commands a whole run has called, and fails
;; for one that was not.  The small ones, which belong to no story, are
;; called here.

;;; Code:

(require 'cl-lib)
(require 'passepartout-fake)
(require 'passepartout-context)
(require 'passepartout-focus)
(require 'passepartout-plan-edit)
(require 'passepartout-plan-tests)
(require 'passepartout-query-tests)
(require 'passepartout-repl)
(require 'passepartout-rewrite-tests)

(defmacro passepartout-commands-tests--messages (&rest body)
  "Do BODY and return what it said in the echo area, the newest first."
  (declare (indent 0) (debug t))
  `(let (said)
     (cl-letf (((symbol-function 'message)
                (lambda (format &rest arguments)
                  (when format
                    (push (apply #'format-message format arguments) said)))))
       ,@body)
     said))

(ert-deftest passepartout-commands-that-are-one-request ()
  (dolist (case
           '((passepartout-rescan () :rescan ()
              (:text "3 files to read.") "3 files to read.")
             (passepartout-rescan () :rescan ()
              (:error "It is being read.") "It is being read.")
             (passepartout-scope ("session") :focus (:line "scope session")
              (:text "Looks at this session.") "Looks at this session.")
             (passepartout-focus-set ("budget" "900")
              :focus (:line "set budget 900")
              (:text "budget is 900; /unfocus takes it back")
              "M-x passepartout-unfocus")))
    (cl-destructuring-bind (command arguments action payload answer said) case
      (passepartout-fake-with
        (let ((words (passepartout-commands-tests--messages
                       (apply command arguments)
                       (let ((sent (car (passepartout-fake-sent action))))
                         (should sent)
                         (while payload
                           (should (equal (plist-get sent (pop payload))
                                          (pop payload)))))
                       (passepartout-fake-answer action answer))))
          (should (string-search said (car words)))))))
  (passepartout-fake-with
    (should-error (passepartout-focus-set "two words" "1") :type 'user-error)
    (should-not (passepartout-fake-sent :focus))))

(ert-deftest passepartout-commands-the-status-is-told-in-a-line ()
  (passepartout-fake-with
    (passepartout-fake-inject :status '(:state "idle" :headings 1 :files 2))
    (should (equal (passepartout-commands-tests--messages
                     (call-interactively #'passepartout-status))
                   '("Passepartout: idle; 1 heading in 2 files")))))

(ert-deftest passepartout-commands-of-the-context ()
  (passepartout-fake-with
    (passepartout-context "beans")
    (let ((shown (passepartout-fake-sent :context)))
      (should (= (length shown) 1))
      (dolist (for '(:elsewhere :here :elsewhere))
        (call-interactively (key-binding (kbd "e")))
        (should (eq for (plist-get (car (last (passepartout-fake-sent :context)))
                                   :for)))))
    (cl-letf (((symbol-function 'passepartout-list-data)
               (lambda () '(:id "beans"))))
      ;; In all lists = shows a difference; there is none here.
      (should (eq (key-binding (kbd "=")) 'undefined))
      (call-interactively (key-binding (kbd "u")))
      (let ((sent (car (passepartout-fake-sent :context-pin))))
        (should (equal (plist-get sent :id) "beans"))
        (should (eq (plist-get sent :pin) :neither))
        (should-not (plist-get sent :keep))))))

(ert-deftest passepartout-commands-of-a-query ()
  (let* ((file (make-temp-file "commands" nil ".org" "* One\n* Two\n"))
         (hit `(:id "two" :file ,file :line 2 :byte 6 :level 1 :title "Two"
                :link "[[id:two][Two]]")))
    (unwind-protect
        (passepartout-fake-with
          (delete-other-windows)
          (passepartout-query "two")
          (passepartout-fake-answer :query
                                    (passepartout-query-tests--answer hit))
          (let ((list (current-buffer)) (window (selected-window)))
            (goto-char (point-min))
            ;; SPC shows and stays, o goes, each in another window.
            (call-interactively (key-binding (kbd "SPC")))
            (should (eq (window-buffer) list))
            (should (get-buffer-window (find-buffer-visiting file)))
            (select-window window)
            (call-interactively (key-binding (kbd "o")))
            (should (equal buffer-file-name file))
            (should (looking-at-p "\\* Two"))
            (should-not (eq (selected-window) window))
            (delete-other-windows)
            (switch-to-buffer list)
            (goto-char (point-max))
            (funcall (key-binding [mouse-2])
                     `(mouse-2 (,(selected-window) 1 (0 . 0) 0)))
            (should (equal buffer-file-name file))
            (switch-to-buffer list)
            (cl-letf (((symbol-function 'read-string)
                       (lambda (_prompt initial &rest _)
                         (should (equal initial "two"))
                         "three")))
              (call-interactively (key-binding (kbd "e"))))
            (should (equal (buffer-name) "*Passepartout query: three*"))
            (should (equal (plist-get (car (last (passepartout-fake-sent
                                                  :query)))
                                      :query)
                           "three"))))
      (when (find-buffer-visiting file)
        (kill-buffer (find-buffer-visiting file)))
      (delete-file file))))

(ert-deftest passepartout-commands-of-a-plan ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (let ((plans (current-buffer)))
      (should-error (passepartout-plan-tests--key "c") :type 'user-error)
      (passepartout-chat)
      (let ((chat (current-buffer)))
        (goto-char (point-min))
        (insert ":PROPERTIES:\n:PP_CHAT: s1\n:END:\n")
        (switch-to-buffer plans)
        (passepartout-plan-tests--key "c")
        (should (eq (current-buffer) chat)))
      (switch-to-buffer plans)
      ;; The token is shown, kept as a hash, and in no buffer of messages.
      (let ((said (passepartout-commands-tests--messages
                    (passepartout-plan-tests--key "C-c C-a")
                    (should (equal (plist-get (car (passepartout-fake-sent
                                                    :plan-token))
                                              :plan)
                                   "P1"))
                    (passepartout-fake-answer :plan-token
                                              '(:token "two words")))))
        (should (equal (car said) "In a chat: /approve two words"))
        (should (passepartout-plan-token-shown-p "Two Words"))
        (should-not (passepartout-plan-token-shown-p "three")))
      (should (equal (passepartout-commands-tests--messages
                       (passepartout-plan-tests--key "C-c C-a")
                       (passepartout-fake-answer
                        :plan-token '(:error "It was decided.")))
                     '("It was decided."))))))

(ert-deftest passepartout-commands-an-edit-that-is-given-up ()
  (passepartout-fake-with
    (with-current-buffer (get-buffer-create "*Passepartout edit: x*")
      (passepartout-plan-edit-mode)
      (switch-to-buffer (current-buffer))
      (passepartout-plan-tests--key "C-c C-k"))
    (should-not (get-buffer "*Passepartout edit: x*"))
    (should-not (passepartout-fake-sent :edit-plan))))

(ert-deftest passepartout-commands-the-repl-goes-to-where-typing-begins ()
  (passepartout-fake-with
    (passepartout-repl)
    (insert "(+ 1\n   2)")
    (call-interactively (key-binding (kbd "C-a")))
    (should (bolp))
    (forward-line -1)
    (end-of-line)
    (call-interactively (key-binding (kbd "C-a")))
    (should (= (point) passepartout-repl--input))
    (should-not (bolp))))

(ert-deftest passepartout-commands-between-a-text-and-its-rewrite ()
  (passepartout-rewrite-tests--in "A.\nThe olde texte.\nB.\n"
    (passepartout-rewrite-tests--on "The olde texte." "Modern spelling")
    (passepartout-rewrite-tests--answer "t1" '("The old text."))
    (let ((text (current-buffer)))
      (switch-to-buffer text)
      (delete-other-windows)
      (goto-char (+ 3 (point-min)))
      (should-not (get-buffer-window passepartout-rewrite-name))
      (passepartout-rewrite-tests--keys "C-c C-v")
      (should (get-buffer-window passepartout-rewrite-name))
      (switch-to-buffer passepartout-rewrite-name)
      (passepartout-rewrite-tests--keys "RET")
      (should (eq (current-buffer) text))
      (should (looking-at-p "The olde")))))

(ert-deftest passepartout-commands-return-opens-what-is-at-point ()
  (let (pushed)
    (with-temp-buffer
      (passepartout-view-mode)
      (passepartout-view-draw
        (passepartout-view-button "[push]" (lambda () (setq pushed t)) "Push")
        (insert "\n* Heading\nbody\n"))
      (goto-char (point-min))
      (call-interactively (key-binding (kbd "RET")))
      (should pushed)
      (search-forward "Heading")
      (call-interactively (key-binding (kbd "RET")))
      (search-forward "body")
      (should (invisible-p (1- (point))))
      (goto-char (point-max))
      (should (equal (passepartout-commands-tests--messages
                       (call-interactively (key-binding (kbd "RET"))))
                     '("Nothing to open here"))))))

(provide 'passepartout-commands-tests)
;;; passepartout-commands-tests.el ends here
