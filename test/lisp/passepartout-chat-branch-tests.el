;;; passepartout-chat-branch-tests.el --- Tests of branches and settings of a chat  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; A branch continues its own line of thought alone, and the main line
;; knows nothing of it; all of it stands in the file.  What properties say
;; holds for the questions below them.

;;; Code:

(require 'passepartout-fake)

(defun passepartout-chat-branch-tests--ask (text)
  "Write TEXT at point, ask it, and return what was sent."
  (insert text)
  (passepartout-chat-send)
  (car (last (passepartout-fake-sent :user-input))))

(defun passepartout-chat-branch-tests--answer (turn text &rest done)
  "Let TURN of this chat answer TEXT, with DONE in its end."
  (let ((session (passepartout-chat--session)))
    (passepartout-fake-inject :event `(:action :turn-started :turn ,turn) session)
    (passepartout-fake-inject :stream-chunk `(:turn ,turn :text ,text) session)
    (passepartout-fake-inject
     :response `(:action :turn-done :turn ,turn :status "answered"
                 :model "m" :provider "p" ,@done)
     session)))

(defun passepartout-chat-branch-tests--said (payload)
  "Return the texts of the history in PAYLOAD."
  (mapcar (lambda (said) (plist-get said :text)) (plist-get payload :history)))

(defun passepartout-chat-branch-tests--main ()
  "Open a chat with two questions that were answered."
  (passepartout-chat t)
  (dolist (n '(1 2))
    (passepartout-chat--to-prompt)
    (passepartout-chat-branch-tests--ask (format "Q%d" n))
    (passepartout-chat-branch-tests--answer (format "t%d" n) (format "A%d" n))))

(defun passepartout-chat-branch-tests--at (text)
  "Go to the only line that is TEXT."
  (goto-char (point-min))
  (re-search-forward (format "^%s$" (regexp-quote text))))

(defun passepartout-chat-branch-tests--headings ()
  "Return the headings of this chat."
  (org-with-wide-buffer
   (goto-char (point-min))
   (let (found)
     (while (re-search-forward "^\\*+ .*$" nil t)
       (push (match-string-no-properties 0) found))
     (nreverse found))))

(ert-deftest passepartout-chat-branch-continues-its-own-line-of-thought-only ()
  (passepartout-fake-with
    (passepartout-chat-branch-tests--main)
    (passepartout-chat-branch-tests--at "A1")
    (passepartout-chat-branch)
    (should (equal (passepartout-chat-branch-tests--said
                    (passepartout-chat-branch-tests--ask "B1"))
                   '("Q1" "A1")))
    (passepartout-chat-branch-tests--answer "b1" "BA1")
    ;; What goes on with it stands below it.
    (passepartout-chat-branch-tests--at "BA1")
    (passepartout-chat-send)
    (should (equal (passepartout-chat-branch-tests--said
                    (passepartout-chat-branch-tests--ask "B2"))
                   '("Q1" "A1" "B1" "BA1")))
    (passepartout-chat-branch-tests--answer "b2" "BA2")
    ;; Another branch at the same answer knows nothing of the first.
    (passepartout-chat-branch-tests--at "A1")
    (passepartout-chat-branch)
    (should (equal (passepartout-chat-branch-tests--said
                    (passepartout-chat-branch-tests--ask "C1"))
                   '("Q1" "A1")))
    (passepartout-chat-branch-tests--answer "c1" "CA1")
    ;; Nor does the main line know of any of them.
    (passepartout-chat-next)
    (should (equal (passepartout-chat-branch-tests--said
                    (passepartout-chat-branch-tests--ask "Q3"))
                   '("Q1" "A1" "Q2" "A2")))
    (should (equal (passepartout-chat-branch-tests--headings)
                   '("* Q1" "** Answer"
                     "*** B1" "**** Answer" "***** B2" "****** Answer"
                     "*** C1" "**** Answer"
                     "* Q2" "** Answer" "* Q3" "** Answer")))))

(ert-deftest passepartout-chat-branch-is-resumed-from-the-file-alone ()
  (let ((file (make-temp-file "chat" nil ".org")) (said nil))
    (unwind-protect
        (passepartout-fake-with
          (passepartout-chat-branch-tests--main)
          (passepartout-chat-branch-tests--at "A1")
          (passepartout-chat-branch)
          (passepartout-chat-branch-tests--ask "B1")
          (passepartout-chat-branch-tests--answer "b1" "BA1")
          (write-region nil nil file nil 'quiet)
          (set-buffer-modified-p nil)
          (kill-buffer)
          (passepartout-chat-open file)
          (passepartout-chat-branch-tests--at "BA1")
          (passepartout-chat-branch)
          (setq said (passepartout-chat-branch-tests--said
                      (passepartout-chat-branch-tests--ask "B2")))
          (should (equal said '("Q1" "A1" "B1" "BA1")))
          (passepartout-chat-next)
          (setq said (passepartout-chat-branch-tests--said
                      (passepartout-chat-branch-tests--ask "Q3")))
          (should (equal said '("Q1" "A1" "Q2" "A2")))
          (set-buffer-modified-p nil))
      (delete-file file))))

(ert-deftest passepartout-chat-branch-answers-arrive-in-their-places ()
  (passepartout-fake-with
    (passepartout-chat-branch-tests--main)
    (let ((session (passepartout-chat--session)))
      ;; A branch is begun and asked while the main line is still answered.
      (passepartout-chat--to-prompt)
      (passepartout-chat-branch-tests--ask "Q3")
      (passepartout-fake-inject :event '(:action :turn-started :turn "t3") session)
      (passepartout-fake-inject :stream-chunk '(:turn "t3" :text "A3 ") session)
      (passepartout-chat-branch-tests--at "** Answer")
      (passepartout-chat-branch-tests--at "* Q3")
      (passepartout-chat-branch)
      (insert "B3")
      (passepartout-fake-inject :stream-chunk '(:turn "t3" :text "more") session)
      (should (save-excursion
                (forward-line 0)
                (looking-at-p "\\*\\*\\* B3$")))
      (passepartout-fake-inject
       :response '(:action :turn-done :turn "t3" :status "answered") session)
      (should (save-excursion
                (goto-char (point-min))
                (re-search-forward "^A3 more$")))
      (should (equal (passepartout-chat-branch-tests--said
                      (progn (passepartout-chat-send)
                             (car (last (passepartout-fake-sent :user-input)))))
                     '("Q1" "A1" "Q2" "A2" "Q3" "A3 more")))
      (passepartout-chat-branch-tests--answer "b3" "BA3" :plans '("p1"))
      ;; What goes on from a plan of the branch stands in the branch.
      (passepartout-fake-inject
       :event '(:action :turn-started :turn "b4" :follows "b3") session)
      (passepartout-fake-inject :stream-chunk '(:turn "b4" :text "Done.") session)
      (passepartout-fake-inject
       :response '(:action :turn-done :turn "b4" :status "answered") session)
      (should (equal (last (passepartout-chat-branch-tests--headings) 5)
                     '("** Answer" "*** B3" "**** Answer" "**** Answer" "* "))))))

(ert-deftest passepartout-chat-branch-moves-nothing-and-is-one-step-of-undo ()
  (passepartout-fake-with
    (passepartout-chat-branch-tests--main)
    (passepartout-chat-branch-tests--at "A1")
    (passepartout-chat-branch)
    (passepartout-chat-branch-tests--ask "B1")
    (passepartout-chat-branch-tests--at "A2")
    (let ((point (copy-marker (point)))
          (top (copy-marker (window-start))))
      (passepartout-chat-branch-tests--answer "b1" "One.\nTwo.\nThree.")
      (should (= (point) point))
      (should (= (window-start) top)))
    (let ((with (buffer-string)))
      (should (string-match-p "Three\\." with))
      (buffer-enable-undo)
      (undo-boundary)
      (setq last-command 'ignore)
      (undo)
      (undo-boundary)
      (should-not (string-match-p "Three\\." (buffer-string)))
      (should (string-match-p "^\\*\\*\\* B1$" (buffer-string)))
      (should (string-match-p "^A2$" (buffer-string))))))

(ert-deftest passepartout-chat-branch-headings-of-yours-are-none ()
  (passepartout-fake-with
    (passepartout-chat t)
    (insert "Sort this\n** One\n*** Two\nx")
    (passepartout-chat-send)
    (should (equal (plist-get (car (passepartout-fake-sent :user-input)) :text)
                   "Sort this\n** One\n*** Two\nx"))
    (passepartout-chat-branch-tests--answer "t" "Sorted.")
    (passepartout-chat-branch-tests--at "*** Two")
    (should (save-excursion (passepartout-chat--to-turn)
                            (looking-at-p "\\* Sort this")))
    (passepartout-chat-branch)
    (should (equal (passepartout-chat-branch-tests--said
                    (passepartout-chat-branch-tests--ask "Why?"))
                   '("Sort this\n** One\n*** Two\nx" "Sorted.")))
    (passepartout-chat--to-prompt)
    (should-error (passepartout-chat-branch) :type 'user-error)))

(ert-deftest passepartout-chat-branch-of-a-fork-goes-on-from-its-answer ()
  (passepartout-fake-with
    (passepartout-chat-branch-tests--main)
    (passepartout-chat--to-prompt)
    (insert "Which?")
    (passepartout-chat-fork 2)
    (passepartout-chat-branch-tests--answer
     "f" "First." :others '((:provider "two" :model "n" :text "Second.")))
    (passepartout-chat-branch-tests--at "Second.")
    (passepartout-chat-branch)
    (let ((history (plist-get (passepartout-chat-branch-tests--ask "Why that?")
                              :history)))
      ;; It is the one that the branch goes on from, so it is no aside there.
      (should (equal (mapcar (lambda (said) (list (plist-get said :text)
                                                  (plist-get said :aside)))
                             (last history 2))
                     '(("Which?" nil) ("Second." nil)))))))

;;;; Settings

(ert-deftest passepartout-chat-branch-keyword-lines-count-as-they-stand ()
  (passepartout-fake-with
    (passepartout-chat t)
    (let ((settings (lambda () (goto-char (point-max))
                      (passepartout-chat--settings)))
          (put-line (lambda (line)
                      (goto-char (point-min))
                      (re-search-forward "^\\* ")
                      (forward-line 0)
                      (insert line "\n"))))
      (goto-char (point-max))
      (insert "Q")
      (should-not (funcall settings))
      (funcall put-line "#+property: pp_model ollama")
      (funcall put-line "#+PROPERTY: PP_TOOLS memory-read")
      (should (equal (funcall settings)
                     '(:model "ollama" :tools "memory-read")))
      ;; As Org has it: more of it, or another in its place.
      (funcall put-line "#+PROPERTY: PP_TOOLS+ memory-search ")
      (funcall put-line "#+PROPERTY: PP_MODEL recall")
      (should (equal (funcall settings)
                     '(:model "recall" :tools "memory-read memory-search")))
      ;; A drawer says it before a line does.
      (org-entry-put nil "PP_MODEL" "near")
      (should (equal (plist-get (funcall settings) :model) "near"))
      (org-entry-delete nil "PP_MODEL")
      ;; In a block it is no keyword, and in an answer nobody's wish.
      (goto-char (point-max))
      (insert "\n#+begin_example\n#+PROPERTY: PP_USD 1\n#+end_example\n"
              "** Answer\n:PROPERTIES:\n:PP_ROLE: assistant\n:END:\n"
              "#+PROPERTY: PP_MODEL far\n")
      (should (equal (funcall settings)
                     '(:model "recall" :tools "memory-read memory-search")))
      ;; One that is gone counts no more, whatever Org knows.
      (org-mode)
      (goto-char (point-min))
      (flush-lines "#\\+property: ")
      (should-not (funcall settings)))))

(ert-deftest passepartout-chat-branch-a-typed-keyword-line-is-sent ()
  (passepartout-fake-with
    (passepartout-chat t)
    (goto-char (point-max))
    (forward-line -1)
    (insert "#+PROPERTY: PP_TOOLS none\n")
    (goto-char (point-max))
    (insert "Q")
    (passepartout-chat-send)
    (should (equal (plist-get (car (last (passepartout-fake-sent :user-input)))
                              :settings)
                   '(:tools "none")))))

(ert-deftest passepartout-chat-branch-settings-are-inherited ()
  (passepartout-fake-with
    (passepartout-chat t)
    (should-not (plist-get (passepartout-chat-branch-tests--ask "Q1") :settings))
    (passepartout-chat-branch-tests--answer "t1" "A1")
    (org-with-wide-buffer
     (goto-char (point-min))
     (search-forward ":END:")
     (forward-line 0)
     (insert ":PP_BUDGET: 9000\n"))
    (passepartout-chat-next)
    (should (equal (plist-get (passepartout-chat-branch-tests--ask "Q2") :settings)
                   '(:tokens "9000")))
    (passepartout-chat-branch-tests--answer "t2" "A2")
    (passepartout-chat-branch-tests--at "A1")
    (passepartout-chat-branch)
    (org-entry-put nil "PP_MODEL" "near/small recall")
    (org-entry-put nil "PP_TOOLS" "none")
    (org-entry-put nil "PP_PRESET" "careful")
    (org-entry-put nil "PP_USD" "0.50")
    (end-of-line)
    (let ((settings '(:preset "careful" :model "near/small recall" :tools "none"
                      :tokens "9000" :usd "0.50")))
      (insert "B1")
      (should (equal (plist-get (passepartout-chat-question) :settings) settings))
      (should (equal (plist-get (passepartout-chat-branch-tests--ask "") :settings)
                     settings))
      (passepartout-chat-branch-tests--answer "b1" "BA1")
      (passepartout-chat-branch-tests--at "BA1")
      (passepartout-chat-branch)
      (should (equal (plist-get (passepartout-chat-branch-tests--ask "B2") :settings)
                     settings)))
    (passepartout-chat-next)
    (should (equal (plist-get (passepartout-chat-branch-tests--ask "Q3") :settings)
                   '(:tokens "9000")))))

(ert-deftest passepartout-chat-branch-a-setting-that-is-none-sends-nothing ()
  (dolist (case '(("PP_BUDGET" "much") ("PP_BUDGET" "0") ("PP_BUDGET" "-5")
                  ("PP_USD" "a lot") ("PP_MODEL" " ") ("PP_TOOLS" " ")))
    (passepartout-fake-with
      (passepartout-chat t)
      (insert "Q")
      (save-excursion
        (end-of-line)
        (insert (format "\n:PROPERTIES:\n:%s: %s\n:END:\n" (car case) (cadr case))))
      (let ((problem (should-error (passepartout-chat-send) :type 'user-error)))
        (should (string-match-p (car case) (error-message-string problem))))
      (should-not (passepartout-fake-sent :user-input))
      (should-not (save-excursion (passepartout-chat--to-turn)
                                  (passepartout-chat--role))))))

(provide 'passepartout-chat-branch-tests)
;;; passepartout-chat-branch-tests.el ends here
