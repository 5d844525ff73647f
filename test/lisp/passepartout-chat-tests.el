;;; passepartout-chat-tests.el --- Tests of the chat  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; Sending, streaming, finishing, interrupting, reopening, going on.

;;; Code:

(require 'passepartout-fake)

(defun passepartout-chat-tests--open ()
  "Open a fresh chat in the selected window and return its session."
  (passepartout-chat t)
  (should passepartout-chat-mode)
  (passepartout-chat--session))

(defun passepartout-chat-tests--ask (text)
  "Ask TEXT in the current chat and return what was sent."
  (goto-char (point-max))
  (insert text)
  (passepartout-chat-send)
  (car (last (passepartout-fake-sent :user-input))))

(defun passepartout-chat-tests--answer (session turn chunks &rest done)
  "Let TURN of SESSION answer with CHUNKS and end with the payload DONE."
  (passepartout-fake-inject :event `(:action :turn-started :turn ,turn) session)
  (dolist (chunk chunks)
    (passepartout-fake-inject :stream-chunk `(:turn ,turn :text ,chunk) session))
  (passepartout-fake-inject :stream-chunk `(:turn ,turn :text "") session)
  (passepartout-fake-inject
   :response `(:action :turn-done :turn ,turn
               ,@(unless (plist-member done :status) '(:status "answered"))
               ,@done)
   session))

(defun passepartout-chat-tests--text ()
  "Return the text of the current chat with its session left out."
  (replace-regexp-in-string "^:PP_CHAT: .*$" ":PP_CHAT: S"
                            (save-restriction
                              (widen)
                              (buffer-substring-no-properties
                               (point-min) (point-max)))))

(ert-deftest passepartout-chat-a-turn-as-text ()
  (passepartout-fake-with
    (let* ((session (passepartout-chat-tests--open))
           (sent (passepartout-chat-tests--ask "What is due?")))
      (should (equal (plist-get sent :text) "What is due?"))
      (should-not (plist-get sent :history))
      (passepartout-chat-tests--answer
       session "t1" '("Two things" " are due:\n" "- a\n- b")
       :skill "due" :model "m1" :provider "p"
       :tokens-in 12 :tokens-out 3 :cost "0.0012"
       :seconds 1.25
       :sources '((:id "abc-1" :title "A [x] note" :file "/tmp/no.org")
                  (:id "/tmp/n.org::*B" :title "B" :file "/tmp/n.org"))
       :trace '((:tool "memory-search" :summary "due" :verdict "pass"
                 :outcome "2 found"
                 :opinions ((:gate "permissions" :priority 600 :verdict "pass"
                             :reason "reads pass")))))
      (should (equal (passepartout-chat-tests--text)
                     ":PROPERTIES:
:PP_CHAT: S
:END:
#+TITLE: Chat

* What is due?
:PROPERTIES:
:PP_ROLE: user
:END:
** Answer
:PROPERTIES:
:PP_ROLE: assistant
:END:
Two things are due:
- a
- b

Sources: [[id:abc-1][A x note]], [[file:/tmp/n.org::*B][B]]

:PASSEPARTOUT:
- turn :: t1
- result :: answered
- skill :: due
- model :: m1 (p)
- tokens :: 12 in, 3 out
- cost :: 0.0012
- time :: 1.2 s
- source :: abc-1 in /tmp/no.org
- pass: due (memory-search), 2 found
  - permissions pass: reads pass
:END:

* "))
      ;; The drawer is folded, the answer is not.
      (goto-char (point-min))
      (search-forward "- turn ::")
      (should (org-invisible-p))
      (search-backward "Two things")
      (should-not (org-invisible-p))
      ;; What is only for machines cannot be seen.
      (search-backward ":PP_ROLE: user")
      (should (invisible-p (point))))))

(ert-deftest passepartout-chat-sources-that-the-answer-names-are-not-repeated ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "Q")
      (passepartout-chat-tests--answer
       session "t1" '("See [[id:abc-1][A]], [[file:/tmp/c.org][C]] and more")
       :sources '((:id "abc-1" :title "A" :file "/tmp/a.org")
                  (:id "/tmp/c.org" :title "C" :file "/tmp/c.org" :line 1)
                  (:id "abc-2" :title "B" :file "/tmp/b.org")))
      (should (string-match-p "^Sources: \\[\\[id:abc-2\\]\\[B\\]\\]$"
                              (buffer-string))))))

(ert-deftest passepartout-chat-sources-can-be-followed ()
  (let ((file (make-temp-file "passepartout" nil ".org"
                              "* x\n* Noted\n:PROPERTIES:\n:ID: abc-1\n:END:\n")))
    (unwind-protect
        (passepartout-fake-with
          (let ((session (passepartout-chat-tests--open)))
            (passepartout-chat-tests--ask "Q")
            (passepartout-chat-tests--answer
             session "t1" '("Yes.")
             :sources `((:id "abc-1" :title "Noted" :file ,file)))
            (goto-char (point-min))
            (search-forward "[[id:abc-1")
            (org-open-at-point)
            (should (equal (buffer-file-name) file))
            (should (looking-at-p "\\* Noted"))
            (kill-buffer)))
      (delete-file file))))

(ert-deftest passepartout-chat-history-is-what-the-file-says ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "One\nwith a body")
      (passepartout-chat-tests--answer session "t1" '("First answer") :model "m")
      (passepartout-chat-tests--ask "Two")
      (passepartout-chat-tests--answer session "t2" '("Second answer"))
      (goto-char (point-min))
      (search-forward "First answer")
      (replace-match "Edited answer")
      (let ((sent (passepartout-chat-tests--ask "Three")))
        (should (equal (plist-get sent :history)
                       '((:role :user :text "One\nwith a body")
                         (:role :assistant :text "Edited answer")
                         (:role :user :text "Two")
                         (:role :assistant :text "Second answer"))))))))

(ert-deftest passepartout-chat-history-holds-no-commands-for-the-core ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "/undo")
      ;; Longer than what is sent: its question is met all the same.
      (passepartout-chat-tests--answer
       session "t1" (list (concat "Mark “Papers” DONE" (make-string 40000 ?x))))
      (should-not (plist-get (passepartout-chat-tests--ask "One") :history))
      (passepartout-chat-tests--answer session "t2" '("First answer"))
      (passepartout-chat-tests--ask "/plans")
      (passepartout-chat-tests--answer session "t3" '("Divorce"))
      (should (equal (plist-get (passepartout-chat-tests--ask "Two") :history)
                     '((:role :user :text "One")
                       (:role :assistant :text "First answer")))))))

(ert-deftest passepartout-chat-history-keeps-to-its-size ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (dolist (turn '("t1" "t2" "t3" "t4"))
        (passepartout-chat-tests--ask turn)
        (passepartout-chat-tests--answer
         session turn (list (make-string 4000 ?語))))
      (let* ((history (plist-get (passepartout-chat-tests--ask "x") :history))
             (bytes (apply #'+ (mapcar (lambda (turn)
                                         (string-bytes (plist-get turn :text)))
                                       history))))
        (should (<= 20000 bytes passepartout-chat--history-bytes))
        ;; It is cut between turns: of the first two nothing is told.
        (should (equal (mapcar (lambda (said) (plist-get said :text)) history)
                       (list "t3" (make-string 4000 ?語)
                             "t4" (make-string 4000 ?語))))))))

(defun passepartout-chat-tests--insert-turns (count)
  "Insert COUNT turns that are over before the one at the end of the chat."
  (goto-char (point-max))
  (re-search-backward "^\\* ")
  (dotimes (n count)
    (insert (format "* Question %d about the boat?
:PROPERTIES:
:PP_ROLE: user
:END:
** Answer
:PROPERTIES:
:PP_ROLE: assistant
:END:
In turn %d it was said: %s

" (1+ n) (1+ n) (make-string 100 ?x)))))

(ert-deftest passepartout-chat-names-what-lies-further-back ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open))
          (answers nil))
      (passepartout-chat-tests--ask "t0")
      (passepartout-chat-tests--answer session "t0" '("Zero."))
      (passepartout-chat-next)
      (passepartout-chat-tests--insert-turns 500)
      (goto-char (point-max))
      (let* ((asked (passepartout-chat-tests--ask "which wood?"))
             (older (plist-get asked :older))
             (oldest (plist-get (car (plist-get asked :history)) :text))
             (title (lambda (turn) (plist-get turn :title)))
             (answer (lambda (&rest payload)
                       (cl-letf (((symbol-function 'passepartout-reply)
                                  (lambda (_ reply) (push reply answers))))
                         (passepartout-chat-older-answer
                          1 `(:session ,session ,@payload))
                         (car answers)))))
        ;; It is no more than that, however long the chat is, and it ends
        ;; where what is sent begins.
        (should (= (length older) passepartout-chat--older-turns))
        (should (plist-get asked :more))
        (should (string-match "\\`Question \\([0-9]+\\) about" oldest))
        (should (equal (funcall title (car (last older)))
                       (format "Question %d about the boat?"
                               (1- (string-to-number
                                    (match-string 1 oldest))))))
        ;; Down to the first turn of all, which is then read as it was said.
        (let ((all (list older)) (more t) (steps 0))
          (while (and more (< steps 10))
            (let ((before (funcall answer :before
                                   (plist-get (caar all) :name))))
              (should (plist-get before :ok))
              (push (plist-get before :older) all)
              (setq more (plist-get before :more) steps (1+ steps))))
          (let* ((turns (apply #'append all))
                 (first (seq-find (lambda (turn)
                                    (equal (funcall title turn)
                                           "Question 1 about the boat?"))
                                  turns)))
            (should (= (length turns)
                       (length (delete-dups
                                (mapcar (lambda (turn) (plist-get turn :name))
                                        turns)))))
            (should (equal (plist-get (funcall answer :turn
                                               (plist-get first :name))
                                      :history)
                           `((:role :user :text "Question 1 about the boat?")
                             (:role :assistant
                              :text ,(format "In turn 1 it was said: %s"
                                             (make-string 100 ?x))))))
            ;; A name that nobody gave costs a bounded number of turns.
            (let ((name (symbol-function 'passepartout-chat--turn-name))
                  (looked 0))
              (cl-letf (((symbol-function 'passepartout-chat--turn-name)
                         (lambda (start)
                           (setq looked (1+ looked))
                           (funcall name start))))
                (should-not (plist-get (funcall answer :turn "made-up")
                                       :ok)))
              (should (= looked passepartout-chat--older-sought)))
            ;; What was edited has another name.
            (goto-char (point-min))
            (search-forward "Question 1 about")
            (insert " all of")
            (should-not (plist-get (funcall answer :turn
                                            (plist-get first :name))
                                   :ok))))))))

(ert-deftest passepartout-chat-history-says-what-is-missing-of-a-long-turn ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "t1")
      (passepartout-chat-tests--answer
       session "t1" (list (concat "Begins. " (make-string 200000 ?x))))
      (let* ((history (plist-get (passepartout-chat-tests--ask "x") :history))
             (text (plist-get (car (last history)) :text)))
        (should (string-prefix-p "Begins. x" text))
        (should (string-suffix-p "it is longer than what is sent.]" text))
        (should (<= (string-bytes text) passepartout-chat--history-bytes)))
      ;; A later turn that fits is told alone.
      (passepartout-chat-tests--answer session "t2" '("Short."))
      (should (equal (plist-get (passepartout-chat-tests--ask "y") :history)
                     '((:role :user :text "x")
                       (:role :assistant :text "Short.")))))))

(ert-deftest passepartout-chat-streaming-moves-nothing ()
  (passepartout-fake-with
    (let* ((session (passepartout-chat-tests--open))
           (other nil))
      (passepartout-chat-tests--ask "Question")
      (passepartout-fake-inject :event '(:action :turn-started :turn "t") session)
      (setq other (split-window))
      (set-window-buffer other (current-buffer))
      (dolist (place '("Question" "Answer" end))
        (if (eq place 'end)
            (goto-char (point-max))
          (goto-char (point-min))
          (search-forward place))
        (set-window-point other (point))
        (let ((point (point)) (window (window-point other))
              (start (window-start)) (other-start (window-start other))
              (line (buffer-substring (line-beginning-position) (point))))
          (dotimes (i 50)
            (passepartout-fake-inject
             :stream-chunk `(:turn "t" :text ,(format "line %d\n" i)) session))
          (unless (eq place 'end)
            (should (= point (point)))
            (should (= window (window-point other))))
          (should (equal line (buffer-substring (line-beginning-position)
                                                (point))))
          (should (= start (window-start)))
          (should (= other-start (window-start other)))))
      (narrow-to-region 1 5)
      (passepartout-fake-inject :stream-chunk '(:turn "t" :text "last") session)
      (should (= (point-max) 5)))))

(ert-deftest passepartout-chat-answers-are-asked-for-as-org ()
  (passepartout-fake-with
    (passepartout-chat-tests--open)
    (should (eq :org (plist-get (passepartout-chat-tests--ask "Question")
                                :markup)))))

(ert-deftest passepartout-chat-a-block-is-coloured-when-it-has-ended ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open))
          (coloured nil))
      (passepartout-chat-tests--ask "Question")
      (passepartout-fake-inject :event '(:action :turn-started :turn "t") session)
      (cl-letf (((symbol-function 'font-lock-flush)
                 (lambda (from to)
                   (push (buffer-substring-no-properties from to) coloured))))
        (dolist (text '("Words\n#+begin_src sh :eval no\n" "ls\n"
                        ",#+end_src\n" "#+end_" "src\nmore\n"
                        "#+begin_quote\nq\n#+end_quote\n"))
          (passepartout-fake-inject
           :stream-chunk `(:turn "t" :text ,text) session)))
      (should (equal (reverse coloured)
                     '("#+begin_src sh :eval no\nls\n,#+end_src\n#+end_src\nmore\n"
                       "#+begin_quote\nq\n#+end_quote\n"))))))

(ert-deftest passepartout-chat-very-long-code-is-not-coloured ()
  (passepartout-fake-with
    (passepartout-chat t)
    (let* ((coloured nil)
           (colour (lambda (language start end)
                     (push (list language (- end start)) coloured))))
      (dolist (size (list passepartout-chat--coloured-most
                          (1+ passepartout-chat--coloured-most)))
        (passepartout-chat--known-language colour "rust" 1 (1+ size)))
      (passepartout-chat--known-language colour "server" 1 2)
      (should (equal coloured
                     `(("rust" ,passepartout-chat--coloured-most)))))))

(ert-deftest passepartout-chat-a-private-turn-is-marked ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "Q1")
      (passepartout-chat-tests--answer session "t1" '("A1"))
      (passepartout-chat-tests--ask "Q2")
      (passepartout-chat-tests--answer session "t2" '("A2") :private t)
      (goto-char (point-min))
      (search-forward "* Q1")
      (should-not (org-entry-get nil "PRIVACY"))
      (search-forward "* Q2")
      (should (equal (org-entry-get nil "PRIVACY") "private"))
      (should (equal (passepartout-chat--role) "user"))
      (forward-line 1)
      (should (invisible-p (point)))
      (search-forward ":PRIVACY:")
      (should (invisible-p (1- (point))))
      (search-forward "A2")
      (should-not (invisible-p (1- (point))))
      (should (equal (org-entry-get nil "PRIVACY" t) "private"))
      (passepartout-chat-next)
      (should-not (org-entry-get nil "PRIVACY" t)))))

;; A fresh store knows nothing of a chat: only its file says that it is private.
(ert-deftest passepartout-chat-what-the-file-marks-as-private-is-sent-as-private ()
  (let ((turn (lambda (front heading drawer tail)
                (concat ":PROPERTIES:\n:PP_CHAT: S1\n" front
                        "* " heading "\n:PROPERTIES:\n:PP_ROLE: user\n" drawer
                        ":END:\n** Answer\n:PROPERTIES:\n:PP_ROLE: assistant\n"
                        ":END:\nThe result is 7.\n" tail "* Q2\n"))))
    (pcase-dolist
        (`(,front ,heading ,drawer ,tail ,entries ,all)
         '((":END:\n" "Q1" "" "" nil nil)
           (":END:\n" "Q1" ":PRIVACY: private\n" "" t t)
           (":END:\n" "Q1" ":privacy: Private\n" "" t t)
           (":END:\n" "Q1" ":PP_PRIVACY+: shared \"private\"\n" "" t t)
           (":END:\n" "Q1" ":PRIVACY: unprivate\n" "" nil nil)
           (":END:\n" "Q1" ":PRIVACY: ask\n" "" "ask" "ask")
           (":END:\n" "Q1 :private:" ":PRIVACY: warn\n" "" t t)
           (":END:\n#+PROPERTY: PP_PRIVACY warn\n" "Q1" ":PP_PRIVACY: ask\n"
            "" "ask" "ask")
           (":END:\n" "Q1" ":PP_PRIVACY: hush\n" "" t t)
           (":END:\n" "Q1" ":PP_PRIVACY: open\n" "" nil nil)
           (":END:\n" "Q1" "" ":PRIVACY: private\n" nil nil)
           (":END:\n" "Q1 :work:Private:" "" "" t t)
           (":END:\n" "Q1 :@private:" "" "" t t)
           (":END:\n" "Q1 :privateer:" "" "" nil nil)
           (":END:\n" "Q1" "" "*** Mine :private:\nx\n" t t)
           (":END:\n" "Q1" "" "* Aside :private:\nnothing\n" nil t)
           (":PRIVACY: private\n:END:\n" "Q1" "" "" t t)
           (":END:\n#+filetags: :work:private:\n" "Q1" "" "" t t)
           (":END:\n" "Q1" "" "#+FILETAGS: work @Private\n" t t)
           (":END:\n#+property: privacy private\n" "Q1" "" "" t t)
           (":END:\n#+PROPERTY: header-args :private no\n" "Q1" "" "" nil nil)
           ;; No chat reads a setup file, so nobody knows what it says.
           (":END:\n#+SETUPFILE: all.setup\n" "Q1" "" "" t t)
           (":END:\n" "Q1" "" "#+setupfile:\"file:///all.setup\"\n" t t)
           (":END:\n#+SETUPFILE: \"HTTPS://example.org/x\"\n" "Q1" "" "" nil nil)
           (":END:\n#+SETUPFILE:\n#+SETUPFILE: \n" "Q1" "" "" nil nil)))
      (let ((file (make-temp-file "chat" nil ".org"
                                  (funcall turn front heading drawer tail)))
            (what (format "%S" (list front heading drawer tail))))
        (unwind-protect
            (passepartout-fake-with
              (passepartout-chat-open file)
              (goto-char (point-min))
              (search-forward "* Q2")
              (passepartout-chat-send)
              (let ((sent (car (last (passepartout-fake-sent :user-input)))))
                (should (equal (list what all)
                               (list what (plist-get sent :private))))
                (should (equal
                         (list what entries entries)
                         (cons what
                               (mapcar (lambda (said) (plist-get said :private))
                                       (plist-get sent :history)))))))
          (when (get-file-buffer file)
            (with-current-buffer (get-file-buffer file)
              (set-buffer-modified-p nil)
              (kill-buffer)))
          (delete-file file))))))

(ert-deftest passepartout-chat-a-turn-is-marked-with-its-tier ()
  (dolist (case '(("ask" "ask") ("warn" "warn") (t "private")
                  ("else" "private")))
    (passepartout-fake-with
      (let ((session (passepartout-chat-tests--open)))
        (passepartout-chat-tests--ask "Q1")
        (passepartout-chat-tests--answer session "t1" '("A1")
                                         :private (car case))
        (goto-char (point-min))
        (search-forward "* Q1")
        (should (equal (cadr case) (org-entry-get nil "PRIVACY")))))))

(ert-deftest passepartout-chat-a-chat-stays-private-beyond-what-is-sent ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "Q1")
      (passepartout-chat-tests--answer session "t1" '("A1") :private t)
      (dolist (turn '("t2" "t3" "t4"))
        (passepartout-chat-tests--ask turn)
        (passepartout-chat-tests--answer
         session turn (list (make-string 6000 ?語))))
      ;; Another conversation by its name, as for a core that never saw it.
      (goto-char (point-min))
      (re-search-forward "^:PP_CHAT: .*$")
      (replace-match ":PP_CHAT: other")
      (let ((sent (passepartout-chat-tests--ask "x")))
        (should-not (seq-some (lambda (said) (plist-get said :private))
                              (plist-get sent :history)))
        (should (plist-get sent :private))))))

(ert-deftest passepartout-chat-typing-while-it-streams ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "First")
      (passepartout-fake-inject :event '(:action :turn-started :turn "t") session)
      (passepartout-fake-inject :stream-chunk '(:turn "t" :text "ans") session)
      (passepartout-chat-next)
      (insert "My next")
      (passepartout-fake-inject :stream-chunk '(:turn "t" :text "wer") session)
      (insert " question")
      (passepartout-fake-inject
       :response '(:action :turn-done :turn "t" :status "answered") session)
      (insert "?")
      (should (string-match-p "^answer$" (buffer-string)))
      (should (string-suffix-p "\n* My next question?" (buffer-string)))
      (passepartout-chat-send)
      (should (equal (plist-get (car (last (passepartout-fake-sent :user-input)))
                                :text)
                     "My next question?")))))

(ert-deftest passepartout-chat-two-questions-are-answered-in-order ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "Q1")
      (passepartout-chat-next)
      (insert "Q2")
      (passepartout-chat-send)
      (passepartout-chat-tests--answer session "t1" '("A1"))
      (passepartout-chat-tests--answer session "t2" '("A2"))
      (should (string-match-p
               "\\* Q1\n[^*]*\\*\\* Answer\n[^*]*\nA1\n[^*]*\\* Q2\n[^*]*\\*\\* Answer\n[^*]*\nA2\n"
               (buffer-string))))))

(ert-deftest passepartout-chat-sending-again-goes-to-the-next-question ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "Q1")
      (passepartout-chat-tests--answer session "t1" '("A1"))
      (goto-char (point-min))
      (search-forward "Q1")
      (passepartout-chat-send)
      (should (= 1 (length (passepartout-fake-sent :user-input))))
      (should (= (point) (point-max)))
      (should-error (passepartout-chat-send) :type 'user-error)
      (goto-char (point-min))
      (search-forward "Q1")
      (passepartout-chat-send t)
      (should (= 2 (length (passepartout-fake-sent :user-input)))))))

(ert-deftest passepartout-chat-too-long-a-question-is-refused ()
  (passepartout-fake-with
    (passepartout-chat-tests--open)
    (should-error (passepartout-chat-tests--ask (make-string 70000 ?x))
                  :type 'user-error)
    (should-not (passepartout-fake-sent :user-input))
    (should-not (string-match-p "Answer" (buffer-string)))))

(ert-deftest passepartout-chat-interrupt-and-failure-say-so ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "Q1")
      (passepartout-chat-interrupt)
      (should (passepartout-fake-sent :interrupt))
      (passepartout-chat-tests--answer session "t1" '("half an ")
                                       :status "interrupted")
      (should (string-match-p "^half an \n\n: Interrupted.$" (buffer-string)))
      (passepartout-chat-tests--ask "Q2")
      (passepartout-chat-tests--answer session "t2" nil :status "failed"
                                       :text "No provider\n* answered")
      (should (string-match-p "^: No provider\n: \\* answered$"
                              (buffer-string))))))

(ert-deftest passepartout-chat-interrupt-where-nothing-arrives-is-orgs ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open))
          (inhibit-message nil)
          (said nil) (branches 0))
      (cl-letf (((symbol-function 'message)
                 (lambda (format &rest more)
                   (setq said (apply #'format format more))))
                ((symbol-function 'org-kill-note-or-show-branches)
                 (lambda () (interactive) (setq branches (1+ branches)))))
        ;; By its name.
        (call-interactively #'passepartout-chat-interrupt)
        (should (equal said "No answer arrives here"))
        (should (= branches 0))
        ;; By its key.
        (execute-kbd-macro (kbd "C-c C-k"))
        (should (string-prefix-p "No answer arrives here" said))
        (should (= branches 1))
        (should-not (passepartout-fake-sent :interrupt))
        (passepartout-chat-tests--ask "Q1")
        (execute-kbd-macro (kbd "C-c C-k"))
        (should (equal said "Interrupting…"))
        (should (= branches 1))
        (should (= 1 (length (passepartout-fake-sent :interrupt))))
        (passepartout-chat-tests--answer session "t1" '("half")
                                         :status "interrupted")
        (execute-kbd-macro (kbd "C-c C-k"))
        (should (= branches 2))
        (should (= 1 (length (passepartout-fake-sent :interrupt))))))))

(ert-deftest passepartout-chat-the-end-of-the-core-ends-the-turns ()
  (passepartout-fake-with
    (passepartout-chat-tests--open)
    (passepartout-chat-tests--ask "Q1")
    (passepartout-stop)
    (should (string-match-p ": The core was stopped" (buffer-string)))
    (should-not passepartout-chat--turns)))

(ert-deftest passepartout-chat-a-question-is-asked-again-by-its-name-alone ()
  (dolist (said '(nil ("half an ")))
    (passepartout-fake-with
      (let* ((session (passepartout-chat-tests--open))
             (sent (passepartout-chat-tests--ask "Q1"))
             (once (plist-get sent :once)))
        (should (string-match-p "\\`[0-9a-f]\\{64\\}\\'" once))
        (when said
          (passepartout-fake-inject :event '(:action :turn-started :turn "t1")
                                    session)
          (passepartout-fake-inject
           :stream-chunk `(:turn "t1" :text ,(car said)) session))
        (passepartout-fake-inject :event '(:action :core-lost :text "Gone."))
        ;; The same question in the same words, and behind the hello.
        (let ((all (passepartout-fake-sent :user-input)))
          (should (= 2 (length all)))
          (should (equal (nth 0 all) (nth 1 all))))
        (let ((names (mapcar (lambda (message)
                               (let ((payload (plist-get message :payload)))
                                 (or (plist-get payload :sensor)
                                     (plist-get payload :action))))
                             passepartout-fake-sent)))
          (should (memq :hello (memq :user-input names))))
        (should (= 1 (length passepartout-chat--turns)))
        (if said
            ;; It was begun: nobody is asked again, and that is said here.
            (passepartout-chat-tests--answer
             session "t2" nil :status "failed" :before "t1"
             :text "This was asked before, and nobody was asked again.")
          (passepartout-chat-tests--answer session "t2" '("A whole answer.")))
        (should-not passepartout-chat--turns)
        (let ((text (buffer-string)))
          (if (not said)
              (should (string-match-p "^A whole answer\\.$" text))
            (should (string-match-p "^half an \n\n: The core was lost here\\.$"
                                    text))
            (should (string-match-p "^: This was asked before" text)))
          (should-not (string-match-p "Gone\\." text)))
        ;; The next question is another one.
        (should-not (equal once (plist-get (passepartout-chat-tests--ask "Q2")
                                           :once)))))))

(ert-deftest passepartout-chat-a-question-without-a-name-is-not-asked-again ()
  (cl-letf (((symbol-function 'passepartout-greet-nonce)
             (lambda () (signal 'passepartout-error '("no random bytes")))))
    (passepartout-fake-with
      (passepartout-chat-tests--open)
      (should-not (plist-get (passepartout-chat-tests--ask "Q1") :once))
      (passepartout-fake-inject :event '(:action :core-lost :text "Gone."))
      (should (= 1 (length (passepartout-fake-sent :user-input))))
      (should-not passepartout-chat--turns)
      (should (string-match-p "^: Gone\\.$" (buffer-string))))))

(ert-deftest passepartout-chat-a-killed-chat-interrupts ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "Q1")
      (set-buffer-modified-p nil)
      (kill-buffer)
      (should (passepartout-fake-sent :interrupt))
      (passepartout-chat-tests--answer session "t1" '("late"))
      (should-not passepartout-events--notes))))

(ert-deftest passepartout-chat-a-parked-plan-goes-on-below ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "Write it")
      (passepartout-chat-tests--answer session "t1" '("I would write it.")
                                       :status "parked" :plans '("P1"))
      (should (string-match-p
               (regexp-quote "- Waits for approval :: \
[[passepartout-plan:P1][flight plan P1]]")
               (buffer-string)))
      (passepartout-fake-inject
       :event `(:action :plan-changed
                :plan (:id "P1" :status "done" :session ,session)))
      (should (string-match-p "^- Done :: \\[\\[passepartout-plan:P1\\]"
                              (buffer-string)))
      ;; An edited plan: the one that came in its place stands below.
      (passepartout-fake-inject
       :event `(:action :plan-changed
                :plan (:id "P1" :status "replaced" :replaced-by "P2"
                       :session ,session)))
      (should (string-match-p
               (regexp-quote "- Replaced :: [[passepartout-plan:P1][flight plan P1]]
- Waits for approval :: [[passepartout-plan:P2][flight plan P2]]\n")
               (buffer-string)))
      (passepartout-fake-inject
       :event `(:action :plan-changed
                :plan (:id "P2" :status "done" :session ,session)))
      (goto-char (point-max))
      (insert "half a question")
      (passepartout-fake-inject
       :event '(:action :turn-started :turn "t2" :follows "t1") session)
      (passepartout-fake-inject :stream-chunk '(:turn "t2" :text "It is written.")
                                session)
      (passepartout-fake-inject
       :response '(:action :turn-done :turn "t2" :status "answered") session)
      (should (string-match-p "^It is written\\.$" (buffer-string)))
      (should (string-suffix-p ":END:\n\n* half a question" (buffer-string)))
      (should (= (point) (point-max))))))

(ert-deftest passepartout-chat-a-waiting-plan-is-called-by-its-title ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "Do it")
      (passepartout-fake-inject
       :event `(:action :plan-parked
                :plan (:id "P1" :status "pending" :session ,session
                       :title "Mark “a [1]” DONE")))
      (passepartout-chat-tests--answer session "t1" '("I would do it.")
                                       :status "parked" :plans '("P1"))
      (should (string-match-p
               (regexp-quote "- Waits for approval :: \
[[passepartout-plan:P1][Mark “a 1” DONE]]")
               (buffer-string))))))

(ert-deftest passepartout-chat-reopened-plans-stand-as-they-stand-now ()
  (let ((file (make-temp-file "chat" nil ".org"))
        (line (lambda (word id)
                (format "- %s :: [[passepartout-plan:%s][title %s]]\n"
                        word id id))))
    (unwind-protect
        (dolist (changed '(t nil))
          (write-region
           (concat ":PROPERTIES:\n:PP_CHAT: s9\n:END:\n\n* Q\n"
                   ":PROPERTIES:\n:PP_ROLE: user\n:END:\n\n** Answer\n"
                   ":PROPERTIES:\n:PP_ROLE: assistant\n:END:\nSo.\n\n"
                   (funcall line "Waits for approval" "P1")
                   (funcall line "Waits for approval" "P2")
                   (funcall line "Done" "P3")
                   (funcall line "Approved" "P4")
                   "\n* \n")
           nil file nil 'quiet)
          (passepartout-fake-with
            (passepartout-chat-open file)
            (should (equal (plist-get (car (last (passepartout-fake-sent
                                                  :plans)))
                                      :ids)
                           '("P4" "P2" "P1")))
            (let ((before (buffer-string)))
              (should-not (buffer-modified-p))
              (passepartout-fake-answer
               :plans `(:plans ((:id "P1" :status ,(if changed "done" "pending"))
                                (:id "P2" :status "pending")
                                (:id "P4" :status ,(if changed "failed"
                                                     "approved")))))
              ;; A chat is modified when its text is another, and only then.
              (should (eq changed (buffer-modified-p)))
              (should (equal (buffer-string)
                             (if changed
                                 (string-replace
                                  "Approved :: [[passepartout-plan:P4"
                                  "Failed :: [[passepartout-plan:P4"
                                  (string-replace
                                   "Waits for approval :: [[passepartout-plan:P1"
                                   "Done :: [[passepartout-plan:P1" before))
                               before))))
            (set-buffer-modified-p nil)
            (kill-buffer)))
      (delete-file file))))

(ert-deftest passepartout-chat-a-folded-answer-stays-folded ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "Q")
      (passepartout-fake-inject :event '(:action :turn-started :turn "t") session)
      (passepartout-fake-inject :stream-chunk '(:turn "t" :text "one\ntwo\n")
                                session)
      (goto-char (point-min))
      (re-search-forward "^\\*\\* Answer")
      (org-cycle)
      (passepartout-fake-inject :stream-chunk '(:turn "t" :text "three\n")
                                session)
      (passepartout-fake-inject :stream-chunk '(:turn "t" :text "four\n")
                                session)
      (search-forward "four")
      (should (org-invisible-p)))))

(ert-deftest passepartout-chat-code-is-coloured-when-you-rest ()
  (passepartout-fake-with
    (let* ((session (passepartout-chat-tests--open))
           (coloured (lambda ()
                       (goto-char (point-min))
                       (search-forward "(defun ")
                       (let ((from (match-beginning 0)))
                         (org-src-font-lock-fontify-block
                          "emacs-lisp" from (line-end-position))
                         (not (equal (get-text-property from 'face)
                                     (get-text-property (1+ from) 'face))))))
           (timers (copy-sequence timer-idle-list)))
      (passepartout-chat-tests--ask "Q")
      (passepartout-fake-inject :event '(:action :turn-started :turn "t1") session)
      (passepartout-fake-inject
       :stream-chunk
       '(:turn "t1" :text "#+begin_src emacs-lisp\n(defun a () 1)\n#+end_src\n")
       session)
      (should-not (funcall coloured))
      (should-not (funcall coloured))
      ;; Org has an idle timer of its own.
      (let ((new (seq-filter (lambda (timer)
                               (eq (timer--function timer)
                                   #'passepartout-chat-colour--rested))
                             (seq-difference timer-idle-list timers #'eq))))
        (should (= 1 (length new)))
        (cancel-timer (car new))
        (apply (timer--function (car new)) (timer--args (car new))))
      (should (funcall coloured))
      ;; Once the answer is whole nothing waits.
      (passepartout-fake-inject
       :stream-chunk
       '(:turn "t1" :text "#+begin_src emacs-lisp\n(setq b 1)\n#+end_src\n")
       session)
      (passepartout-fake-inject
       :response '(:action :turn-done :turn "t1" :status "answered") session)
      (search-forward "(setq ")
      (should (passepartout-chat-colour-now-p (match-beginning 0) (point))))))

(ert-deftest passepartout-chat-hides-what-comes-into-view ()
  (passepartout-fake-with
    (passepartout-chat-tests--open)
    (passepartout-chat-mode -1)
    (goto-char (point-max))
    (dotimes (number 200)
      (insert (format "Q%d\n:PROPERTIES:\n:PP_ROLE: user\n:END:\n" number)
              "** Answer\n:PROPERTIES:\n:PP_ROLE: assistant\n:END:\n"
              ":Thought:\nHm.\n:END:\n" (make-string 200 ?a) "\n"
              ":PASSEPARTOUT:\n- turn :: t\n:END:\n"
              "** Answer\n:PROPERTIES:\n:PP_ROLE: aside\n:END:\nNot so.\n* "))
    (jit-lock-mode 1)
    (passepartout-chat-mode 1)
    ;; In a long chat nothing is hidden that nobody sees.
    (should (< (length (overlays-in (point-min) (point-max))) 3))
    (let ((from (progn (goto-char (point-min)) (search-forward "* Q100\n")
                       (match-beginning 0)))
          (to (progn (search-forward "* Q101\n") (match-beginning 0)))
          (hidden (lambda (text)
                    (goto-char (point-min))
                    (search-forward "* Q100\n")
                    (search-forward text)
                    (backward-char)
                    (and (invisible-p (point)) t))))
      ;; Pieces begin and end anywhere, also in a drawer.
      (while (< from to)
        (passepartout-chat--hide-shown from (setq from (min to (+ from 37)))))
      (dolist (case '((":PP_ROLE: user" . t) (":PP_ROLE: assistant" . t)
                      ("Hm." . t) ("aaa" . nil) ("- turn" . t) ("Not so" . t)
                      ("* Q101" . nil)))
        (should (equal case (cons (car case) (funcall hidden (car case))))))
      (should (< (length (overlays-in (point-min) (point-max))) 30))
      ;; What is opened stays open.
      (funcall hidden "- turn")
      (remove-overlays (1- (point)) (1+ (point)))
      (org-show-all '(drawers))
      (let ((inhibit-modification-hooks t))
        (passepartout-chat--hide-shown (- (point) 100) (+ (point) 100)))
      (should-not (funcall hidden "- turn")))
    (passepartout-chat-mode -1)
    (goto-char (point-min))
    (search-forward "* Q100\n:PROPERTIES:\n:PP_ROLE")
    (should-not (invisible-p (point)))
    (should-not jit-lock-functions)))

(ert-deftest passepartout-chat-long-streams-cost-the-same-at-the-end ()
  (passepartout-fake-with
    (let* ((session (passepartout-chat-tests--open))
           (chunk (concat (make-string 78 ?x) "\n"))
           (time (lambda (count)
                   (garbage-collect)
                   (let ((gc-cons-threshold most-positive-fixnum)
                         (start (float-time)))
                     (dotimes (_ count)
                       (passepartout-chat--chunk
                        (list :turn "t" :text chunk) nil))
                     (- (float-time) start))))
           first last)
      (passepartout-chat-tests--ask "Q")
      (passepartout-fake-inject :event '(:action :turn-started :turn "t") session)
      (setq first (funcall time 1000))
      (funcall time 10000)
      (setq last (funcall time 1000))
      (should (> (buffer-size) 900000))
      (should (< last (+ 0.05 (* 4 first)))))))

(ert-deftest passepartout-chat-saved-reopened-continued ()
  (let ((file (make-temp-file "passepartout-chat" nil ".org"))
        (make-backup-files nil)
        (create-lockfiles nil))
    (delete-file file)
    (unwind-protect
        (passepartout-fake-with
          (let ((session (passepartout-chat-tests--open)))
            (passepartout-chat-tests--ask "Q1")
            (passepartout-chat-tests--answer session "t1" '("A1") :model "m")
            (write-file file)
            (kill-buffer)
            (passepartout-chat-open file)
            (should passepartout-chat-mode)
            (should (equal session (passepartout-chat--session)))
            (goto-char (point-min))
            (search-forward "- turn ::")
            (should (org-invisible-p))
            (let ((sent (passepartout-chat-tests--ask "Q2")))
              (should (equal (plist-get sent :file) file))
              (should (equal (plist-get sent :history)
                             '((:role :user :text "Q1")
                               (:role :assistant :text "A1")))))
            (passepartout-chat-tests--answer session "t2" '("A2"))
            (should (string-match-p "^A2$" (buffer-string)))
            (save-buffer)))
      (when (file-exists-p file) (delete-file file)))))

(ert-deftest passepartout-chat-a-new-chat-offers-a-name-and-a-folder ()
  (passepartout-fake-with
    (let* ((folder (file-name-as-directory (make-temp-file "memex" t)))
           (passepartout-directories (list folder))
           (passepartout-chat-directory nil)
           (passepartout-project (concat folder "bindery/"))
           (offered nil))
      (unwind-protect
          (progn
            (passepartout-chat)
            (should (equal (buffer-name) "*Passepartout: bindery*"))
            (insert "What is due, this week?")
            (cl-letf (((symbol-function 'read-file-name)
                       (lambda (_prompt directory default &rest _)
                         (setq offered (cons directory
                                             (file-relative-name
                                              default directory)))
                         default)))
              (save-buffer)
              (should (equal (car offered) folder))
              (should (string-match-p
                       "\\`chat-[0-9]+-[0-9]+-[0-9]+-what-is-due-this-week\\.org\\'"
                       (cdr offered)))
              (should (equal buffer-file-name
                             (expand-file-name (cdr offered) folder)))
              (should-not (buffer-modified-p))
              (should passepartout-chat-mode)
              (setq offered nil)
              (insert " More.")
              (save-buffer)
              (should-not offered)))
        (set-buffer-modified-p nil)
        (delete-directory folder t)))))

(ert-deftest passepartout-chat-a-longer-name-is-another-chat ()
  (passepartout-fake-with
    (let ((passepartout-project "/tmp/books"))
      (passepartout-chat)
      (let ((books (current-buffer)))
        (setq passepartout-project "/tmp/book")
        (with-temp-buffer
          (passepartout-chat)
          (should-not (eq (current-buffer) books))
          (should (equal (buffer-name) "*Passepartout: book*")))))))

(ert-deftest passepartout-chat-joins-project-switch-project ()
  (require 'project)
  (let* ((there (file-name-as-directory
                 (file-truename (make-temp-file "passepartout-there" t))))
         (project-list-file (expand-file-name "list" there))
         (project-find-functions
          (list (lambda (folder)
                  (and (string-prefix-p there (file-name-as-directory folder))
                       (cons 'transient there)))))
         (passepartout-project nil))
    (unwind-protect
        (passepartout-fake-with
          ;; From within a chat of nothing.
          (passepartout-chat t)
          (let ((before (current-buffer))
                (project-switch-commands #'passepartout-chat))
            (project-switch-project there)
            (should-not (eq before (window-buffer)))
            (with-current-buffer (window-buffer)
              (should passepartout-chat-mode)
              (should (equal (passepartout-chat--project)
                             (directory-file-name there)))
              (should (equal default-directory there))))
          (should (passepartout-chat-buffer-p (window-buffer)))
          (should-not (passepartout-chat-buffer-p (messages-buffer)))
          ;; A project's chats end with its buffers, where you say so.
          (let ((project-kill-buffer-conditions
                 (list #'passepartout-chat-buffer-p))
                (chat (window-buffer)))
            (with-current-buffer chat
              (set-buffer-modified-p nil)
              (project-kill-buffers t))
            (should-not (buffer-live-p chat))))
      (delete-directory there t))))

(ert-deftest passepartout-chat-global-mode-adopts-saved-chats ()
  (let ((file (make-temp-file "passepartout-chat" nil ".org"
                              ":PROPERTIES:\n:PP_CHAT: s1\n:END:\n* Q\n")))
    (unwind-protect
        (passepartout-fake-with
          (unwind-protect
              (progn
                (passepartout-global-mode 1)
                (with-current-buffer (find-file-noselect file)
                  (should passepartout-chat-mode)))
            (passepartout-global-mode -1)))
      (delete-file file))))

(ert-deftest passepartout-chat-global-mode-leaves-chats-alone ()
  (let* ((memex (make-temp-file "passepartout-memex" t))
         (passepartout-directories (list memex))
         (make (lambda (name text)
                 (let ((file (expand-file-name name memex)))
                   (with-temp-file file (insert text))
                   file)))
         (chat ":PROPERTIES:\n:PP_CHAT: s1\n:END:\n* Q\n")
         (notes (funcall make "notes.org" "* N\n"))
         (buffers nil))
    (unwind-protect
        (passepartout-fake-with
          (unwind-protect
              (progn
                ;; One that is open before the mode is.
                (push (find-file-noselect (funcall make "old.org" chat)) buffers)
                (passepartout-global-mode 1)
                (push (find-file-noselect notes) buffers)
                (with-current-buffer (car buffers)
                  (should passepartout-mode)
                  (should-not passepartout-chat-mode)
                  ;; It becomes one.
                  (goto-char (point-min))
                  (insert ":PROPERTIES:\n:PP_CHAT: s9\n:END:\n")
                  (passepartout-chat-mode 1)
                  (should-not passepartout-mode)
                  (should (eq (plist-get (car (last (passepartout-fake-sent
                                                     :buffer-update)))
                                         :part)
                              :closed)))
                (push (find-file-noselect (funcall make "new.org" chat))
                      buffers)
                (save-window-excursion
                  (passepartout-chat-open (funcall make "opened.org" chat))
                  (push (current-buffer) buffers))
                (dolist (buffer buffers)
                  (with-current-buffer buffer
                    (passepartout--turn-on)
                    (should-not passepartout-mode))))
            (passepartout-global-mode -1)))
      (dolist (buffer (seq-filter #'buffer-live-p buffers))
        (with-current-buffer buffer (set-buffer-modified-p nil))
        (kill-buffer buffer))
      (delete-directory memex t))))

(ert-deftest passepartout-chat-ctrl-c-ctrl-c-sends-where-it-means-nothing-else ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (goto-char (point-max))
      (insert "A question\nwith text")
      (org-ctrl-c-ctrl-c)
      (should (= 1 (length (passepartout-fake-sent :user-input))))
      (passepartout-chat-tests--answer session "t1" '("plain text"))
      (goto-char (point-min))
      (search-forward "plain")
      (ignore-errors (org-ctrl-c-ctrl-c))
      (should (= 1 (length (passepartout-fake-sent :user-input))))
      (goto-char (point-max))
      (insert "Q\n- [ ] box")
      (org-ctrl-c-ctrl-c)
      (should (= 1 (length (passepartout-fake-sent :user-input))))
      (should (string-suffix-p "- [X] box" (buffer-string))))))

(ert-deftest passepartout-chat-mode-off-leaves-an-org-buffer ()
  (passepartout-fake-with
    (passepartout-chat-tests--open)
    (passepartout-chat-mode -1)
    (should-not (local-variable-p 'header-line-format))
    (should-not (memq 'passepartout-chat--ctrl-c-ctrl-c
                      org-ctrl-c-ctrl-c-hook))
    (should-not (local-variable-p 'org-confirm-babel-evaluate))
    (should-error (passepartout-chat-send) :type 'user-error)))

;; C-c C-c on a keyword restarts Org mode.
(ert-deftest passepartout-chat-stays-one-when-org-begins-anew ()
  (dolist (line '("#+TITLE: Chat" "#+PROPERTY: PP_TOOLS none"))
    (passepartout-fake-with
      (let ((session (passepartout-chat-tests--open))
            (file (make-temp-file "passepartout-chat" nil ".org")))
        (unwind-protect
            (progn
              (goto-char (point-min))
              (unless (search-forward line nil t)
                (search-forward "#+TITLE")
                (forward-line 0)
                (insert line "\n"))
              (goto-char (point-max))
              (passepartout-chat--visit-file file)
              (let ((coding-system-for-write 'utf-8)) (save-buffer))
              (passepartout-chat-tests--ask "First")
              (passepartout-chat-tests--answer
               session "t1" '("One") :provider "p" :model "m1" :preset "brief")
              (goto-char (point-max))
              (insert "Second\n\n# Local Variables:\n# fill-column: 33\n"
                      "# End:\n")
              (search-backward "Second")
              (passepartout-chat-send)
              (passepartout-fake-inject
               :event '(:action :turn-started :turn "t2") session)
              (passepartout-fake-inject
               :stream-chunk '(:turn "t2" :text "Tw") session)
              (goto-char (point-min))
              (search-forward line)
              (let ((enable-local-variables :all))
                (org-ctrl-c-ctrl-c))
              (should passepartout-chat-mode)
              (should (equal session (passepartout-chat--session)))
              (should-not (local-variable-p 'fill-column))
              (should-not enable-local-variables)
              (should (eq org-confirm-babel-evaluate t))
              (should (equal header-line-format
                             passepartout-chat--head-format))
              (should (string-match-p "m1.*preset brief"
                                      passepartout-chat--header))
              (should (memq #'passepartout-chat--ctrl-c-ctrl-c
                            org-ctrl-c-ctrl-c-hook))
              (goto-char (point-min))
              (search-forward ":PP_ROLE: user")
              (should (invisible-p (match-beginning 0)))
              ;; The answer goes on into it.
              (passepartout-fake-inject
               :stream-chunk '(:turn "t2" :text "o") session)
              (should (string-match-p "^Two" (buffer-string)))
              (should (equal (car (passepartout-chat--state)) "answering"))
              ;; Twice is as good as once.
              (org-mode)
              (should passepartout-chat-mode)
              (set-buffer-modified-p nil)
              (setq passepartout-fake-sent nil)
              (kill-buffer)
              (should (plist-get (car (passepartout-fake-sent :interrupt))
                                 :closed)))
          (delete-file file))))))

(ert-deftest passepartout-chat-that-is-looked-at-in-another-mode-can-come-back ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "First")
      (passepartout-chat-tests--answer session "t1" '("One"))
      (text-mode)
      (should-not passepartout-chat-mode)
      (org-mode)
      (should passepartout-chat-mode)
      ;; Who turned it off has a plain Org buffer.
      (passepartout-chat-mode -1)
      (org-mode)
      (should-not passepartout-chat-mode)
      (passepartout-chat-mode 1)
      (text-mode)
      (setq passepartout-fake-sent nil)
      (kill-buffer)
      (should (plist-get (car (passepartout-fake-sent :interrupt)) :closed)))))

(ert-deftest passepartout-chat-what-waits-is-kept-when-org-begins-anew ()
  (passepartout-fake-with
    (passepartout-chat-tests--open)
    (let ((disk t))
      (cl-letf (((symbol-function 'passepartout-chat--obstacle)
                 (lambda () (and disk 'disk))))
        (passepartout-chat--change (current-buffer)
                                   (lambda () (setq disk 'done)))
        (should passepartout-chat--held)
        (org-mode)
        (should (memq #'passepartout-chat--release post-command-hook))
        (should (memq #'passepartout-chat--killable-p
                      kill-buffer-query-functions))
        (setq disk nil)
        (passepartout-chat--release)
        (should (eq disk 'done))))))

(ert-deftest passepartout-chat-mode-off-leaves-nothing-behind ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open))
          (passepartout-chat-go-on t)
          (disk nil)
          (ours (lambda ()
                  (seq-filter
                   (lambda (overlay)
                     (seq-some (lambda (property)
                                 (and (symbolp property)
                                      (string-prefix-p
                                       "passepartout" (symbol-name property))))
                               (overlay-properties overlay)))
                   (org-with-wide-buffer
                    (overlays-in (point-min) (point-max))))))
          (hooks (lambda ()
                   (seq-filter
                    (lambda (function)
                      (and (symbolp function)
                           (string-prefix-p "passepartout"
                                            (symbol-name function))))
                    (append pre-command-hook post-command-hook
                            (and (local-variable-p 'after-save-hook)
                                 after-save-hook)
                            kill-buffer-query-functions org-mode-hook
                            kill-buffer-hook)))))
      (cl-letf (((symbol-function 'passepartout-chat--obstacle)
                 (lambda () (and disk 'disk))))
        (passepartout-chat-tests--ask "Q1")
        (passepartout-chat-tests--answer session "t1" '("A1"))
        (passepartout-chat-tests--ask "Q2")
        (passepartout-chat--note-sent)
        (setq disk t)
        (passepartout-chat-tests--answer session "t2" '("A2"))
        (should passepartout-chat--held)
        (should (funcall ours))
        (goto-char (point-max))
        (org-narrow-to-subtree)
        (let ((from (point-min)))
          (passepartout-chat-mode -1)
          (should (= from (point-min)))
          (should (buffer-narrowed-p)))
        (should-not (funcall ours))
        (should-not (funcall hooks))
        ;; What waits is not lost.
        (passepartout-chat-mode 1)
        (should (memq #'passepartout-chat--release post-command-hook))
        (setq disk nil)
        (passepartout-chat--release)
        (widen)
        (should (string-match-p "^A2$" (buffer-string)))))))

(ert-deftest passepartout-chat-a-token-is-sent-and-not-kept ()
  (passepartout-fake-with
    (passepartout-chat-tests--open)
    (let* ((token (make-string 32 ?a))
           (sent (passepartout-chat-tests--ask
                  (concat "/deny " token " not today"))))
      (should (equal (plist-get sent :text)
                     (concat "/deny " token " not today")))
      (should-not (string-match-p token (passepartout-chat-tests--text)))
      (should (string-match-p (concat "/deny " (make-string 32 ?.)
                                      " not today")
                              (passepartout-chat-tests--text)))
      (should-not (string-match-p token (format "%S" buffer-undo-list))))))

(ert-deftest passepartout-chat-a-token-in-another-form-is-not-kept ()
  (let ((token "0123456789abcdef0123456789abcdef")
        (other "fedcba9876543210fedcba9876543210")
        (passepartout-plan--tokens nil))
    (passepartout-plan--note-token token)
    (should-not (member token passepartout-plan--tokens))
    (dolist (form '("approve %s" "%s" "yes: (%s)." "approve%sface"
                    "first\n/approve  %s\nlast"))
      (passepartout-fake-with
        (passepartout-chat-tests--open)
        (let* ((text (concat (format form (upcase token)) " " other))
               (sent (passepartout-chat-tests--ask text))
               (case-fold-search t))
          ;; The core takes it out of what is sent, and says so.
          (should (equal (plist-get sent :text) text))
          (should-not (string-match-p token (passepartout-chat-tests--text)))
          (should (string-match-p (make-string 32 ?.)
                                  (passepartout-chat-tests--text)))
          ;; What was not shown as a token is the user's own.
          (should (string-match-p other (passepartout-chat-tests--text)))
          (should-not (string-match-p token
                                      (format "%S" buffer-undo-list))))))))

(ert-deftest passepartout-chat-a-killed-chat-is-closed ()
  (passepartout-fake-with
    (passepartout-chat-tests--open)
    (set-buffer-modified-p nil)
    (kill-buffer)
    ;; Where nothing was asked there is nothing to close.
    (should-not (passepartout-fake-sent :interrupt))
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "Q1")
      (passepartout-chat-tests--answer session "t1" '("done"))
      (set-buffer-modified-p nil)
      (kill-buffer)
      (should (plist-get (car (last (passepartout-fake-sent :interrupt)))
                         :closed)))))

(defun passepartout-chat-tests--think (session turn thoughts tokens)
  "Let TURN of SESSION think THOUGHTS, which take TOKENS."
  (dolist (thought thoughts)
    (passepartout-fake-inject :stream-chunk `(:turn ,turn :thought ,thought)
                              session))
  (passepartout-fake-inject :stream-chunk
                            `(:turn ,turn :thought "" :tokens ,tokens) session))

(ert-deftest passepartout-chat-thoughts-are-folded-counted-and-no-answer ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "What is due?")
      (passepartout-fake-inject :event '(:action :turn-started :turn "t1")
                                session)
      (passepartout-chat-tests--think session "t1" '("Let me " "see.\n") 312)
      (passepartout-fake-inject :stream-chunk '(:turn "t1" :text "\n\nTwo ")
                                session)
      (passepartout-fake-inject :stream-chunk '(:turn "t1" :text "things.")
                                session)
      (passepartout-chat-tests--think session "t1" '("And now?") 1)
      (passepartout-chat-tests--answer
       session "t1" '("Done.") :tokens-in 12 :tokens-cached 4
       :tokens-out 400 :tokens-thinking 313)
      (should (string-match-p
               (regexp-quote "** Answer
:PROPERTIES:
:PP_ROLE: assistant
:END:
:Thought-for-312-tokens:
Let me see.
:END:
Two things.

:Thought-for-1-token:
And now?
:END:
Done.

:PASSEPARTOUT:
- turn :: t1
- result :: answered
- tokens :: 12 in (4 cached), 400 out (313 thinking)
:END:
") (passepartout-chat-tests--text)))
      ;; Folded to a line of words.
      (goto-char (point-min))
      (search-forward "Let me see")
      (should (org-invisible-p))
      (re-search-backward "^:Thought-for-312")
      (should-not (org-invisible-p))
      (should (equal (substring-no-properties
                      (get-char-property (point) 'display))
                     "Thought for 312 tokens"))
      ;; TAB unfolds them.
      (org-cycle)
      (search-forward "Let me see")
      (should-not (org-invisible-p))
      (search-forward "Two things")
      (should-not (org-invisible-p))
      ;; No model is told of them again.
      (let ((sent (passepartout-chat-tests--ask "And tomorrow?")))
        (should (equal (mapcar (lambda (said) (plist-get said :text))
                               (plist-get sent :history))
                       '("What is due?" "Two things.\n\nDone."))))
      ;; A chat that is opened again shows them as before.
      (passepartout-chat-mode -1)
      (passepartout-chat-mode 1)
      (goto-char (point-min))
      (search-forward "And now?")
      (should (org-invisible-p))
      (re-search-backward "^:Thought-for-1-token")
      (should (equal (substring-no-properties
                      (get-char-property (point) 'display))
                     "Thought for 1 token")))))

(ert-deftest passepartout-chat-thoughts-that-break-off-are-kept ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "Q")
      (passepartout-fake-inject :event '(:action :turn-started :turn "t1")
                                session)
      (passepartout-fake-inject :stream-chunk '(:turn "t1" :thought "Half a")
                                session)
      (passepartout-fake-inject :response
                                '(:action :turn-done :turn "t1"
                                  :status "interrupted")
                                session)
      (should (string-match-p (concat ":END:\n:Thought:\nHalf a\n:END:\n\n"
                                      ": Interrupted\\.\n")
                              (passepartout-chat-tests--text)))
      (let ((sent (passepartout-chat-tests--ask "Again")))
        (should (equal (mapcar (lambda (said) (plist-get said :text))
                               (plist-get sent :history))
                       '("Q" ": Interrupted.")))))))

(ert-deftest passepartout-chat-long-thoughts-leave-room-for-the-history ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "Q")
      (passepartout-fake-inject :event '(:action :turn-started :turn "t1")
                                session)
      (passepartout-chat-tests--think
       session "t1" (list (make-string 100000 ?x)) 50000)
      (passepartout-chat-tests--answer session "t1" '("The answer."))
      (let ((sent (passepartout-chat-tests--ask "Again")))
        (should (equal (mapcar (lambda (said) (plist-get said :text))
                               (plist-get sent :history))
                       '("Q" "The answer.")))))))

(provide 'passepartout-chat-tests)
;;; passepartout-chat-tests.el ends here
