;;; passepartout-chat-fork-tests.el --- Tests of answers of several models  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; Asking several models, their answers side by side, and going on from
;; another one.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-inspect)
(require 'passepartout-trace)

(defun passepartout-chat-fork-tests--ask (text &optional command count)
  "Ask TEXT, by COMMAND of COUNT models if given; return what was sent."
  (goto-char (point-max))
  (insert text)
  (if command (funcall command count) (passepartout-chat-send))
  (car (last (passepartout-fake-sent :user-input))))

(defun passepartout-chat-fork-tests--answer (session turn text &rest done)
  "Let TURN of SESSION answer TEXT and end with the payload DONE."
  (passepartout-fake-inject :event `(:action :turn-started :turn ,turn) session)
  (passepartout-fake-inject :stream-chunk `(:turn ,turn :text ,text) session)
  (passepartout-fake-inject
   :response `(:action :turn-done :turn ,turn :status "answered"
               :model "m1" :provider "one" ,@done)
   session))

(defconst passepartout-chat-fork-tests--others
  '((:provider "two" :model "llama3:8b" :text "Second.\nMore of it.\n"
     :tokens-in 5 :tokens-out 2 :cost "$0.02")
    (:provider "three" :model "m[3] :private:" :text "Third."
     :tokens-in 5 :tokens-out 1))
  "What two further models answered.")

(defun passepartout-chat-fork-tests--fork ()
  "Open a chat in which a question was answered by three; return its session."
  (passepartout-chat t)
  (let ((session (passepartout-chat--session)))
    (passepartout-chat-fork-tests--ask "Which?" #'passepartout-chat-fork 3)
    (passepartout-chat-fork-tests--answer
     session "t1" "First." :tokens-in 15 :tokens-out 6 :cost "about $0.05"
     :shares '((:provider "one" :model "m1" :calls 1 :tokens-in 5
                :tokens-out 3 :cost "$0.03")
               (:provider "two" :model "llama3:8b" :calls 2 :tokens-in 10
                :tokens-out 3 :cost "about $0.02"))
     :others passepartout-chat-fork-tests--others)
    session))

(defun passepartout-chat-fork-tests--headings ()
  "Return the headings of this chat with their roles."
  (org-with-wide-buffer
   (goto-char (point-min))
   (let (found)
     (while (re-search-forward "^\\*+ .*$" nil t)
       (push (cons (match-string-no-properties 0)
                   (save-excursion (forward-line 0)
                                   (passepartout-chat--role)))
             found))
     (nreverse found))))

(defun passepartout-chat-fork-tests--at (text)
  "Go to TEXT, which is there once."
  (goto-char (point-min))
  (search-forward text)
  (should-not (save-excursion (search-forward text nil t))))

(ert-deftest passepartout-chat-fork-several-are-asked-by-one-command ()
  (passepartout-fake-with
    (passepartout-chat t)
    (should (equal "/fork 3 Which?"
                   (plist-get (passepartout-chat-fork-tests--ask
                               "Which?" #'passepartout-chat-fork 3)
                              :text)))
    ;; The chat has the question alone.
    (should (equal '(("* Which?" . "user") ("** Answer" . "assistant"))
                   (seq-take (passepartout-chat-fork-tests--headings) 2)))
    (passepartout-chat t)
    (should (equal "/consensus 2 What?"
                   (plist-get (passepartout-chat-fork-tests--ask
                               "What?" #'passepartout-chat-consensus 2)
                              :text)))
    (dolist (count '(0 9 -1))
      (should-error (passepartout-chat--count count) :type 'user-error))
    (should (= 4 (passepartout-chat--count '(4))))
    (passepartout-chat t)
    (should-error (passepartout-chat-fork-tests--ask
                   "/undo" #'passepartout-chat-fork 2)
                  :type 'user-error)))

(ert-deftest passepartout-chat-fork-answers-stand-side-by-side-as-text ()
  (passepartout-fake-with
    (passepartout-chat-fork-tests--fork)
    (should (string-match-p
             (regexp-quote "* Which?
:PROPERTIES:
:PP_ROLE: user
:END:
** Answer
:PROPERTIES:
:PP_ROLE: assistant
:END:
First.

:PASSEPARTOUT:
- turn :: t1
- result :: answered
- model :: m1 (one)
- tokens :: 15 in, 6 out
- cost :: about $0.05
- of these :: one (m1): 5 in, 3 out, $0.03
- of these :: two (llama3:8b): 10 in, 3 out, about $0.02 (2 calls)
:END:

** Answer of llama3:8b (two)
:PROPERTIES:
:PP_ROLE: aside
:END:
Second.
More of it.

:PASSEPARTOUT:
- turn :: t1
- model :: llama3:8b (two)
- tokens :: 5 in, 2 out
- cost :: $0.02
:END:

** Answer of m3 :private: (three)
:PROPERTIES:
:PP_ROLE: aside
:END:
Third.

:PASSEPARTOUT:
- turn :: t1
- model :: m[3] :private: (three)
- tokens :: 5 in, 1 out
:END:

* ")
             (buffer-substring-no-properties (point-min) (point-max))))
    (dolist (text '("Second." "Third."))
      (passepartout-chat-fork-tests--at text)
      (should (org-invisible-p)))
    (passepartout-chat-fork-tests--at "First.")
    (should-not (org-invisible-p))
    ;; What a model is called makes no tag.
    (passepartout-chat-fork-tests--at "** Answer of m3")
    (should-not (org-get-tags nil t))))

(ert-deftest passepartout-chat-fork-what-was-not-followed-is-aside ()
  (passepartout-fake-with
    (passepartout-chat-fork-tests--fork)
    (should (equal (plist-get (passepartout-chat-fork-tests--ask "Why?")
                              :history)
                   '((:role :user :text "Which?")
                     (:role :assistant :text "First.")
                     (:role :assistant :text "Second.\nMore of it." :aside t)
                     (:role :assistant :text "Third." :aside t))))))

(ert-deftest passepartout-chat-fork-promoted-without-drawers-doubles-nothing ()
  (passepartout-fake-with
    (passepartout-chat-fork-tests--fork)
    (let ((inhibit-read-only t))
      (goto-char (point-min))
      (while (re-search-forward
              "^:PASSEPARTOUT:[ \t]*\n\\(?:.*\n\\)*?:END:\n?" nil t)
        (replace-match "" t t)))
    (passepartout-chat-fork-tests--at "More of it.")
    (passepartout-chat-promote)
    (should (equal (mapcar #'cdr (passepartout-chat-fork-tests--headings))
                   '("user" "aside" "assistant" "aside" nil)))
    ;; With two that the chat could go on from, nobody guesses.
    (let ((inhibit-read-only t))
      (goto-char (point-min))
      (re-search-forward ":PP_ROLE: aside")
      (replace-match ":PP_ROLE: assistant" t t))
    (passepartout-chat-fork-tests--at "Third.")
    (should-error (passepartout-chat-promote) :type 'user-error)))

(ert-deftest passepartout-chat-fork-promoted-is-what-the-chat-goes-on-from ()
  (passepartout-fake-with
    (passepartout-chat-fork-tests--fork)
    (passepartout-chat-fork-tests--at "More of it.")
    (passepartout-chat-promote)
    (should (equal (passepartout-chat-fork-tests--headings)
                   '(("* Which?" . "user")
                     ("** Answer of m1 (one)" . "aside")
                     ("** Answer" . "assistant")
                     ("** Answer of m3 :private: (three)" . "aside")
                     ("* " . nil))))
    (passepartout-chat-fork-tests--at "First.")
    (should (org-invisible-p))
    (passepartout-chat-fork-tests--at "Second.")
    (should-not (org-invisible-p))
    (passepartout-chat-fork-tests--at "2 out")
    (should (org-invisible-p))
    (passepartout-chat-fork-tests--at "Second.")
    (should-error (passepartout-chat-promote) :type 'user-error)
    (passepartout-chat-fork-tests--at "* Which?")
    (should-error (passepartout-chat-promote) :type 'user-error)
    (should (equal (plist-get (passepartout-chat-fork-tests--ask "Why?")
                              :history)
                   '((:role :user :text "Which?")
                     (:role :assistant :text "First." :aside t)
                     (:role :assistant :text "Second.\nMore of it.")
                     (:role :assistant :text "Third." :aside t))))
    ;; And back: one of each turn is followed.
    (passepartout-chat-fork-tests--at "First.")
    (passepartout-chat-promote)
    (should (equal (mapcar #'cdr (passepartout-chat-fork-tests--headings))
                   '("user" "assistant" "aside" "aside" "user" "assistant")))))

(ert-deftest passepartout-chat-fork-survives-saving-and-opening ()
  (let ((file (make-temp-file "passepartout-chat" nil ".org"))
        (make-backup-files nil)
        (create-lockfiles nil))
    (delete-file file)
    (unwind-protect
        (passepartout-fake-with
          (let ((session (passepartout-chat-fork-tests--fork)))
            (passepartout-chat-fork-tests--at "Third.")
            (passepartout-chat-promote)
            (write-file file)
            (kill-buffer)
            (passepartout-chat-open file)
            (dolist (text '("First." "Second."))
              (passepartout-chat-fork-tests--at text)
              (should (org-invisible-p)))
            (passepartout-chat-fork-tests--at "Third.")
            (should-not (org-invisible-p))
            (should (equal (plist-get (passepartout-chat-fork-tests--ask "Why?")
                                      :history)
                           '((:role :user :text "Which?")
                             (:role :assistant :text "First." :aside t)
                             (:role :assistant :text "Second.\nMore of it."
                              :aside t)
                             (:role :assistant :text "Third."))))
            (passepartout-chat-fork-tests--answer session "t2" "So.")
            ;; The answer to a later question stands below that one.
            (should (equal (mapcar #'cdr
                                   (passepartout-chat-fork-tests--headings))
                           '("user" "aside" "aside" "assistant"
                             "user" "assistant" nil)))
            ;; What was asked since stays when another one is promoted.
            (passepartout-chat-fork-tests--at "First.")
            (passepartout-chat-promote)
            (should (string-match-p "^So\\.$" (buffer-string)))
            (save-buffer)))
      (when (file-exists-p file) (delete-file file)))))

(ert-deftest passepartout-chat-fork-is-as-private-as-its-turn ()
  (passepartout-fake-with
    (passepartout-chat t)
    (let ((session (passepartout-chat--session)))
      (passepartout-chat-fork-tests--ask "Which?" #'passepartout-chat-fork 3)
      (passepartout-chat-fork-tests--answer
       session "t1" "First." :private t
       :others passepartout-chat-fork-tests--others)
      (dolist (text '("First." "Second." "Third."))
        (passepartout-chat-fork-tests--at text)
        (should (equal "private" (org-entry-get nil "PRIVACY" t))))
      (passepartout-chat-fork-tests--at "Third.")
      (passepartout-chat-promote)
      (let ((sent (passepartout-chat-fork-tests--ask "Why?")))
        (should (eq t (plist-get sent :private)))
        (dolist (said (plist-get sent :history))
          (should (eq t (plist-get said :private))))))))

(ert-deftest passepartout-chat-fork-typed-commands-are-history-without-their-words ()
  (passepartout-fake-with
    (passepartout-chat t)
    (let ((session (passepartout-chat--session)))
      (should (equal "/fork 2 Which?"
                     (plist-get (passepartout-chat-fork-tests--ask
                                 "/fork 2 Which?")
                                :text)))
      (passepartout-chat-fork-tests--answer session "t1" "First.")
      (passepartout-chat-fork-tests--ask "/fork which?")
      (passepartout-chat-fork-tests--answer session "t2" "Nothing was asked.")
      (should (equal (plist-get (passepartout-chat-fork-tests--ask "Why?")
                                :history)
                     '((:role :user :text "Which?")
                       (:role :assistant :text "First.")))))))

(ert-deftest passepartout-chat-fork-long-asides-leave-room-for-what-was-followed ()
  (passepartout-fake-with
    (passepartout-chat t)
    (let ((session (passepartout-chat--session)))
      (passepartout-chat-fork-tests--ask "Which?" #'passepartout-chat-fork 3)
      (passepartout-chat-fork-tests--answer
       session "t1" "First."
       :others (list (list :provider "two" :model "m"
                           :text (make-string 60000 ?x))
                     (list :provider "three" :model "m" :text "Third.")))
      (let* ((history (plist-get (passepartout-chat-fork-tests--ask "Why?")
                                 :history))
             (texts (mapcar (lambda (said) (plist-get said :text)) history)))
        (should (equal "First." (nth 1 texts)))
        (should (equal "Third." (nth 3 texts)))
        (should (<= (string-bytes (nth 2 texts))
                    passepartout-chat--history-bytes))))))

(ert-deftest passepartout-chat-fork-the-trace-shows-disagreement-side-by-side ()
  (with-temp-buffer
    (passepartout-trace--insert-turn
     '(:session "s" :at "2026-03-02T09:00:00Z" :asked "Write it"
       :status "parked" :tokens-in 7 :tokens-out 3
       :cost "$0.02, and 1 call of unknown price"
       :shares ((:provider "one" :model "m1" :calls 2 :tokens-in 4
                 :tokens-out 2 :cost "$0.02")
                (:provider "two" :model "llama" :calls 1 :tokens-in 3
                 :tokens-out 1 :cost "price unknown (1 call)"))
       :rounds ((:mode "consensus"
                 :ballots ((:provider "one" :model "m1" :vote "acts"
                            :lines ("shell {\"command\":\"ls\"}"))
                           (:provider "two" :model "llama" :vote "acts"
                            :lines ("write-file {}" "shell {}")
                            :agrees t :followed t)
                           (:provider "three" :model "" :vote "acts"
                            :lines ("write-file {}" "shell {}") :agrees t)
                           (:provider "four" :model "m" :vote "none"
                            :lines ("it hung up"))
                           (:provider "five" :model "m" :vote "words"
                            :lines ("Do not."))
                           (:provider "six" :model "m" :vote "words"))))))
    (should (string-match-p
             (regexp-quote "Asked together: consensus, 2 of 6 are for what was followed
    one (m1)     shell {\"command\":\"ls\"}
  * two (llama)  write-file {}
                 shell {}
  · three        write-file {}
                 shell {}
    four (m)     no vote: it hung up
    five (m)     in words: Do not.
    six (m)      answers in words
Came to: 7 in, 3 out, $0.02, and 1 call of unknown price
  one (m1): 4 in, 2 out, $0.02 (2 calls)
  two (llama): 3 in, 1 out, price unknown (1 call)
")
             (buffer-substring-no-properties (point-min) (point-max))))))

(ert-deftest passepartout-chat-fork-each-request-has-a-section ()
  (let* ((asked nil)
         (page (lambda (provider text &rest more)
                 (append (list :provider provider :model "m" :url "u" :text text
                               :shown 7 :requests 2 :redacted 0 :nodes 1
                               :above 0 :kept-out 0 :proof :absent
                               :sent "2026-03-02T09:00:00Z")
                         more)))
         (pages `((nil . ,(funcall page "one" "head\n\nbo" :next 8))
                  ((:shown 7 :which 0 :from 8)
                   . ,(funcall page "one" "dy 1" :tokens-in 5 :tokens-out 6
                               :cost "$0.01"))
                  ((:shown 7 :which 1)
                   . ,(funcall page "two" "head\n\nbody 2"
                               :unreached t :cost "$0.00")))))
    (cl-letf (((symbol-function 'passepartout-request)
               (lambda (_action args then &optional _session)
                 (push args asked)
                 (funcall then (cdr (assoc args pages))))))
      (save-window-excursion (passepartout-inspect)))
    (should (equal (reverse asked) (mapcar #'car pages)))
    (with-current-buffer passepartout-inspect--buffer-name
      (let ((text (buffer-substring-no-properties (point-min) (point-max))))
        (kill-buffer)
        (dolist (words '("2 requests were made for one answer:
  one (m)
  two (m), not reached
"
                         "Sent to one (m) at " ": body 1\n"
                         "It came to 5 tokens in and 6 out: $0.01.\n"
                         "For two (m) at " ", which was not reached: nothing left"
                         ": body 2\n"))
          (should (string-search words text)))
        (should-not (string-search "$0.00" text))))))

(provide 'passepartout-chat-fork-tests)
;;; passepartout-chat-fork-tests.el ends here
