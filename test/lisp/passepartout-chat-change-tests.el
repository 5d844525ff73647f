;;; passepartout-chat-change-tests.el --- Tests of what changes a chat from outside  -*- lexical-binding: t; -*-

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

;; A file that changes below an answer, chats that are read-only, undo,
;; and indirect buffers.

;;; Code:

(require 'project)
(require 'tramp)
(require 'passepartout-fake)
(require 'passepartout-chat-tests
         (expand-file-name "passepartout-chat-tests.el"
                           (file-name-directory
                            (or load-file-name buffer-file-name))))

(defun passepartout-chat-change-tests--start (question)
  "Open a chat, ask QUESTION, let the turn t1 begin; return the session."
  (let ((session (passepartout-chat-tests--open)))
    (passepartout-chat-tests--ask question)
    (passepartout-fake-inject :event '(:action :turn-started :turn "t1")
                              session)
    session))

(defun passepartout-chat-change-tests--chunk (session text &optional turn)
  "Let TURN, or t1, of SESSION say TEXT."
  (passepartout-fake-inject :stream-chunk
                            `(:turn ,(or turn "t1") :text ,text) session))

(defun passepartout-chat-change-tests--done (session &rest done)
  "Let the turn t1 of SESSION end; DONE goes into the payload."
  (passepartout-fake-inject
   :response `(:action :turn-done :turn "t1" :status "answered" ,@done)
   session))

(defmacro passepartout-chat-change-tests--saved (file &rest body)
  "Run BODY with FILE bound to a name; a question of Emacs fails the test."
  (declare (indent 1) (debug t))
  `(let ((,file (make-temp-file "passepartout-chat" nil ".org"))
         (make-backup-files nil)
         (create-lockfiles nil))
     (delete-file ,file)
     (unwind-protect
         (cl-letf (((symbol-function 'ask-user-about-supersession-threat)
                    (lambda (&rest _) (ert-fail "asked about the file")))
                   ((symbol-function 'ask-user-about-lock)
                    (lambda (&rest _) (ert-fail "asked about the lock"))))
           (passepartout-fake-with ,@body))
       (when (file-exists-p ,file) (delete-file ,file)))))

(defun passepartout-chat-change-tests--touch (file &optional from to end)
  "Change FILE behind Emacs's back; replace FROM by TO in it, append END."
  (let ((text (with-temp-buffer
                (insert-file-contents file)
                (buffer-string))))
    (write-region (concat (if from (string-replace from to text) text) end)
                  nil file nil 'quiet)
    (set-file-times file (time-add nil 60))))

(ert-deftest passepartout-chat-a-file-that-changed-makes-an-answer-wait ()
  (passepartout-chat-change-tests--saved file
    (let ((session (passepartout-chat-change-tests--start "Question one")))
      (passepartout-chat-change-tests--chunk session "One ")
      (write-file file)
      (passepartout-chat-change-tests--touch file "Question one" "Question 1")
      (let ((before (buffer-string)))
        (passepartout-chat-change-tests--chunk session "two ")
        (passepartout-chat-change-tests--chunk session "three.")
        (passepartout-fake-inject
         :event `(:action :plan-changed
                  :plan (:id "P1" :status "done" :session ,session)))
        (passepartout-chat-change-tests--done session)
        (should (equal before (buffer-string)))
        (should-not (buffer-modified-p))
        (should-not passepartout-events--notes)
        (should (string-match-p "an answer waits.*revert-buffer"
                                passepartout-chat--header))
        ;; The buffer is not modified, and yet nothing may be lost.
        (cl-letf (((symbol-function 'yes-or-no-p) #'ignore))
          (should-not (kill-buffer))))
      (revert-buffer t t)
      (should passepartout-chat-mode)
      (should (string-match-p "^\\* Question 1$" (buffer-string)))
      (should (string-match-p "^One two three\\.\n\n:PASSEPARTOUT:"
                              (buffer-string)))
      (should (= 1 (how-many "^\\*\\* Answer" (point-min))))
      (should (string-suffix-p ":END:\n\n* " (buffer-string)))
      (should (string-match-p "C-c RET sends" passepartout-chat--header)))))

(ert-deftest passepartout-chat-an-answer-that-waits-comes-after-your-own-edit ()
  (passepartout-chat-change-tests--saved file
    (let ((session (passepartout-chat-change-tests--start "Q")))
      (passepartout-chat-change-tests--chunk session "One ")
      (write-file file)
      (passepartout-chat-change-tests--touch file)
      (passepartout-chat-change-tests--chunk session "two")
      (should-not (string-match-p "One two" (buffer-string)))
      ;; As somebody who has said that the buffer is the right one.
      (cl-letf (((symbol-function 'ask-user-about-supersession-threat)
                 #'ignore))
        (goto-char (point-max))
        (insert "x"))
      (run-hooks 'post-command-hook)
      (should (string-match-p "^One two$" (buffer-string)))
      (should-not (memq #'passepartout-chat--release post-command-hook)))))

(ert-deftest passepartout-chat-a-reverted-chat-that-lost-the-answer-gets-it-again ()
  (dolist (lost '(("One " . "") ; the half of the answer
                  ("** Answer" . "** Reply")
                  ("#+TITLE: Chat" . "#+TITLE: Chit"))) ; both ends differ
    (passepartout-chat-change-tests--saved file
      (let ((session (passepartout-chat-change-tests--start "Q")))
        (passepartout-chat-change-tests--chunk session "One ")
        (write-file file)
        (passepartout-chat-change-tests--touch file (car lost) (cdr lost)
                                               "\n# the end\n")
        (revert-buffer t t)
        (passepartout-chat-change-tests--chunk session "two.")
        (passepartout-chat-change-tests--done session)
        (should-not passepartout-events--notes)
        (should (string-match-p "^One two\\.\n\n:PASSEPARTOUT:\n- turn :: t1$"
                                (buffer-string)))))))

(ert-deftest passepartout-chat-a-read-only-chat-gets-its-answers ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-change-tests--start "Write it")))
      (passepartout-chat-change-tests--done session :status "parked"
                                            :plans '("P1"))
      (read-only-mode 1)
      (passepartout-fake-inject
       :event '(:action :turn-started :turn "t2" :follows "t1") session)
      (passepartout-fake-inject :stream-chunk '(:turn "t2" :text "Written.")
                                session)
      (passepartout-fake-inject
       :response '(:action :turn-done :turn "t2" :status "answered") session)
      (should (string-match-p "^Written\\.$" (buffer-string)))
      (should buffer-read-only)
      (should-not passepartout-events--notes))))

(ert-deftest passepartout-chat-one-broken-chat-does-not-hold-up-another ()
  (passepartout-fake-with
    (passepartout-chat-change-tests--start "Q1")
    (let ((broken (current-buffer)))
      (passepartout-chat-change-tests--start "Q2")
      (let ((other (current-buffer)))
        (with-current-buffer broken
          (add-hook 'before-change-functions
                    (lambda (&rest _) (error "Broken")) nil t))
        (passepartout-stop)
        (should-not passepartout-chat--turns)
        (should (string-match-p ": The core was stopped" (buffer-string)))
        (dolist (buffer (list broken other))
          (with-current-buffer buffer
            (should (string-match-p "not running"
                                    passepartout-chat--header))))))))

;;;; Undo

(defun passepartout-chat-change-tests--undo ()
  "Undo one step as the key does, not as a redo."
  (undo-boundary)
  (let ((last-command nil) (this-command 'undo) (inhibit-message t))
    (undo)))

(ert-deftest passepartout-chat-undo-takes-back-typing-and-not-the-answer ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-change-tests--start "Q")))
      (passepartout-chat-change-tests--chunk session "One ")
      (passepartout-chat-next)
      (undo-boundary)
      (insert "my typing")
      (passepartout-chat-change-tests--chunk session "two")
      (passepartout-chat-change-tests--undo)
      (should (string-match-p "^One two$" (buffer-string)))
      (should (string-suffix-p "\n* " (buffer-string)))
      (undo-boundary)
      (insert "again")
      (passepartout-chat-change-tests--done session :private t :model "m")
      (should (string-suffix-p "\n* again" (buffer-string)))
      (passepartout-chat-change-tests--undo)
      (should (string-suffix-p "\n* " (buffer-string)))
      (should (string-match-p "^:PRIVACY: +private$" (buffer-string)))
      (should (string-match-p "^One two\n\n:PASSEPARTOUT:" (buffer-string))))))

(ert-deftest passepartout-chat-one-answer-is-one-step-of-undo ()
  (passepartout-fake-with
    (passepartout-chat-tests--open)
    (goto-char (point-max))
    (insert "Q")
    (let ((session (passepartout-chat--session)))
      (passepartout-chat-send)
      (let ((sent (string-remove-suffix
                   "** Answer\n:PROPERTIES:\n:PP_ROLE: assistant\n:END:\n\n"
                   (buffer-string))))
        (passepartout-chat-tests--answer session "t1" '("One " "two\n" "three"))
        (goto-char (point-max))
        (passepartout-chat-change-tests--undo)
        (should-not (string-match-p "Answer\\|One\\|three\\|turn ::"
                                    (buffer-string)))
        (should (string-prefix-p (string-trim-right sent) (buffer-string)))
        (should (string-suffix-p "\n* " (buffer-string)))))))

(ert-deftest passepartout-chat-undo-never-says-saved-of-what-is-not ()
  (passepartout-chat-change-tests--saved file
    (let ((session (passepartout-chat-change-tests--start "Q")))
      (passepartout-chat-next)
      (write-file file)
      (undo-boundary)
      (insert "typing")
      (passepartout-chat-change-tests--chunk session "answer")
      (passepartout-chat-change-tests--undo)
      (should (string-match-p "^answer$" (buffer-string)))
      (should (buffer-modified-p)))))

(ert-deftest passepartout-chat-an-answer-that-was-undone-comes-again-whole ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-change-tests--start "Q")))
      (passepartout-chat-change-tests--chunk session "One ")
      (passepartout-chat-change-tests--undo)
      (should-not (string-match-p "One" (buffer-string)))
      (passepartout-chat-change-tests--chunk session "two")
      (should (string-match-p "^One two$" (buffer-string)))
      (should (= 1 (how-many "^\\*\\* Answer" (point-min))))
      (should-not passepartout-events--notes))))

(ert-deftest passepartout-chat-undo-is-right-whatever-was-typed-meanwhile ()
  (dotimes (seed 60)
    (passepartout-fake-with
      (let ((session (passepartout-chat-change-tests--start "A question"))
            (said "")
            (random (let ((state (+ 7 (* seed 7919))))
                      (lambda (limit)
                        (setq state (mod (+ (* state 1103515245) 12345)
                                         2147483648))
                        (mod (/ state 65536) limit)))))
        (passepartout-chat-change-tests--chunk session "[")
        (passepartout-chat-next)
        (insert "next")
        (let* ((question "A question")
               (ask-end (lambda ()
                          (goto-char (point-min))
                          (re-search-forward "^\\* ")
                          (line-end-position)))
               (before (buffer-string)))
          (undo-boundary)
          (let ((end (cdr buffer-undo-list)))
            (dotimes (_ 12)
              (pcase (funcall random 5)
                (0 (goto-char (point-max)) (insert "typed"))
                (1 (goto-char (funcall ask-end)) (insert "more"))
                (2 (goto-char (1- (point-max))) (delete-char 1))
                (3 (goto-char (1- (funcall ask-end))) (delete-char 1))
                (4 (goto-char (1- (point-max))) (upcase-char 1)))
              (undo-boundary)
              (let ((text (format "%d," (funcall random 1000))))
                (setq said (concat said text))
                (passepartout-chat-change-tests--chunk session text)))
            ;; All that was typed is undone; what arrived stays.
            (let ((list buffer-undo-list))
              (while (and list (not (eq list end)))
                (setq list (primitive-undo 1 list))))
            (should (equal (list seed (string-replace "\n[" (concat "\n[" said)
                                                      before))
                           (list seed (buffer-string))))
            (should (string-match-p (regexp-quote question)
                                    (buffer-string)))))))))

;;;; Indirect buffers

(ert-deftest passepartout-chat-asking-from-an-indirect-buffer ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open))
          (base (current-buffer))
          (clone (clone-indirect-buffer "*Passepartout clone*" nil)))
      (with-current-buffer clone
        (goto-char (point-max))
        (insert "Q")
        (passepartout-chat-send)
        (should (string-match-p "answering" passepartout-chat--header)))
      (should (string-match-p "answering" passepartout-chat--header))
      (passepartout-chat-tests--answer session "t1" '("A"))
      (should (= 1 (how-many "^\\*\\* Answer" (point-min))))
      (should (string-match-p "^A\n\n:PASSEPARTOUT:" (buffer-string)))
      (should-not passepartout-chat--turns)
      (should (string-match-p "C-c RET" passepartout-chat--header))
      (with-current-buffer clone
        (should (string-match-p "C-c RET" passepartout-chat--header))
        (goto-char (point-max))
        (insert "Q2")
        (passepartout-chat-send))
      (kill-buffer clone)
      (should-not (passepartout-fake-sent :interrupt))
      (passepartout-chat-tests--answer session "t2" '("B"))
      (should (eq (current-buffer) base))
      (should (string-match-p "^B\n\n:PASSEPARTOUT:" (buffer-string))))))

;;;; What an answer says of sources and turns

(ert-deftest passepartout-chat-an-answer-does-not-decide-where-a-link-leads ()
  (let ((file (make-temp-file "passepartout" nil ".org"
                              "* Mara\n:PROPERTIES:\n:ID: mara\n:END:\n"))
        (seen nil))
    (unwind-protect
        (dolist (sources (list nil `((:id "mara" :title "M" :file ,file))))
          (passepartout-fake-with
            (let ((session (passepartout-chat-tests--open)))
              (passepartout-chat-tests--ask "Q1")
              (passepartout-chat-tests--answer session "t1" '("A")
                                               :sources sources)
              (passepartout-chat-tests--ask "Q2")
              (passepartout-chat-tests--answer
               session "t2"
               '("[[id:mara][Mara]]\n\n- source :: mara in /sshx:evil.example:/x\n"
                 ;; Even a drawer does not count where it ends no answer.
                 "\n:PASSEPARTOUT:\n- source :: mara in /sshx:evil.example:/x\n:END:\n"
                 "\n- source :: mara in /tmp\n\nMore"))
              (goto-char (point-min))
              (search-forward "[[id:mara][Mara")
              (cl-letf (((symbol-function 'find-file)
                         (lambda (name &rest _) (push name seen)
                           (set-buffer (get-buffer-create "*Passepartout x*")))))
                (should (eq (and (passepartout-chat--open-source) t)
                            (and sources t))))
              (should (equal seen (and sources (list file)))))))
      (delete-file file))))

(ert-deftest passepartout-chat-another-machine-is-never-asked ()
  (pcase-dolist (`(,drawer ,remote) '((t "/sshx:evil.example:/x.org")
                                      (t "/./sshx:evil.example:/x.org")
                                      (nil "/sshx:evil.example:/x.org")
                                      (nil "/.//sshx:evil.example:/x.org")))
    (passepartout-fake-with
      (let ((session (passepartout-chat-tests--open)))
        (passepartout-chat-tests--ask "Q")
        (passepartout-chat-tests--answer
         session "t1"
         (list (if drawer "[[id:mara][Mara]]"
                 (format "[[file:%s::*Mara][Mara]]" remote)))
         :sources (and drawer `((:id "mara" :title "Mara" :file ,remote))))
        (goto-char (point-min))
        (search-forward "[Mara")
        (cl-letf (((symbol-function 'find-file)
                   (lambda (&rest _) (ert-fail "visited")))
                  ((symbol-function 'file-readable-p)
                   (lambda (file)
                     (when (equal file remote) (ert-fail "connected")))))
          (if drawer
              (should-not (passepartout-chat--open-source))
            (should-error (passepartout-chat--open-source)
                          :type 'user-error)))))))

(ert-deftest passepartout-chat-an-answer-does-not-decide-where-a-turn-goes-on ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-chat-tests--ask "Q1")
      (passepartout-chat-tests--answer session "t1" '("A1"))
      (passepartout-chat-tests--ask "Q2")
      (passepartout-chat-tests--answer session "t2" '("A2\n- turn :: t1"))
      (passepartout-fake-inject
       :event '(:action :turn-started :turn "t3" :follows "t1") session)
      (passepartout-fake-inject :stream-chunk '(:turn "t3" :text "A3") session)
      (should (string-match-p "\nA1\n[^z]*\nA3\n[^z]*\n\\* Q2\n" (buffer-string))))))

;;;; Which chat, and for which project

(ert-deftest passepartout-chat-a-project-has-one-chat-wherever-it-is-saved ()
  (dolist (saved '(at-once later))
    (let* ((folder (file-name-as-directory (make-temp-file "chats" t)))
           (work (file-name-as-directory (make-temp-file "work" t)))
           (passepartout-chat-directory (and (eq saved 'at-once) folder))
           (create-lockfiles nil) (make-backup-files nil)
           chat)
      (unwind-protect
          (cl-letf (((symbol-function 'project-current)
                     (lambda (&rest _)
                       (and (file-equal-p default-directory work)
                            (cons 'transient work))))
                    ((symbol-function 'read-file-name)
                     (lambda (&rest _) (expand-file-name "chat.org" folder))))
            (passepartout-fake-with
              (with-temp-buffer
                (setq default-directory work)
                (passepartout-chat)
                (setq chat (current-buffer)))
              (with-current-buffer chat
                (when (eq saved 'later)
                  (set-buffer-modified-p t)
                  (save-buffer))
                (should (equal (file-name-directory buffer-file-name) folder))
                (should (file-equal-p default-directory work))
                (should (equal (plist-get (passepartout-chat-tests--ask "Q")
                                          :project)
                               (directory-file-name work)))
                ;; As `write-file' does.
                (setq default-directory folder)
                (should (equal (passepartout-chat--project)
                               (directory-file-name work))))
              (with-temp-buffer
                (setq default-directory work)
                (passepartout-chat)
                (should (eq (current-buffer) chat)))
              (with-temp-buffer
                (setq default-directory folder)
                (passepartout-chat)
                (should-not (eq (current-buffer) chat)))))
        (delete-directory folder t)
        (delete-directory work t)))))

;;;; What you type after you have sent

(defun passepartout-chat-change-tests--type (text)
  "Type TEXT as with keys."
  (let ((this-command 'org-self-insert-command))
    (run-hooks 'pre-command-hook)
    (insert text)))

(ert-deftest passepartout-chat-what-you-type-after-sending-is-the-next-question ()
  (passepartout-fake-with
    (dolist (scrolled '(nil t))
      (let ((session (passepartout-chat-tests--open))
            (passepartout-chat-go-on t))
        (passepartout-chat-tests--ask "Question")
        (passepartout-chat--note-sent)
        (passepartout-chat-tests--answer session "t1" '("Answer\nto it"))
        (when scrolled
          (let ((this-command 'scroll-up-command))
            (run-hooks 'pre-command-hook)
            (goto-char (point-min))
            (search-forward "to it")))
        (passepartout-chat-change-tests--type "next")
        (should (string-suffix-p "\n* next" (buffer-string)))
        (should (string-match-p "^\\* Question$" (buffer-string)))))))

;; The end of the buffer is where one goes to write, also while it streams.
(ert-deftest passepartout-chat-what-you-type-at-the-end-is-the-next-question ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open))
          (passepartout-chat-go-on t))
      (passepartout-chat-tests--ask "Question")
      (passepartout-chat--note-sent)
      (passepartout-fake-inject :event '(:action :turn-started :turn "t1")
                                session)
      (passepartout-fake-inject :stream-chunk '(:turn "t1" :text "One. ")
                                session)
      (let ((this-command 'end-of-buffer))
        (run-hooks 'pre-command-hook)
        (goto-char (point-max)))
      (passepartout-chat-change-tests--type "next")
      (passepartout-fake-inject :stream-chunk '(:turn "t1" :text "Two.")
                                session)
      (passepartout-fake-inject
       :response '(:action :turn-done :turn "t1" :status "answered") session)
      (should (string-match-p "^One\\. Two\\.$" (buffer-string)))
      (should (string-suffix-p "\n* next" (buffer-string)))
      (goto-char (passepartout-chat--to-turn))
      (should (equal (passepartout-chat--message) "next")))))

(ert-deftest passepartout-chat-after-any-other-command-you-type-where-you-are ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open))
          (passepartout-chat-go-on t))
      (passepartout-chat-tests--ask "Question")
      (passepartout-chat--note-sent)
      (passepartout-chat-tests--answer session "t1" '("Answer"))
      (let ((this-command 'forward-char))
        (run-hooks 'pre-command-hook))
      (goto-char (point-min))
      (search-forward "* Question")
      (passepartout-chat-change-tests--type "!")
      (should (string-match-p "^\\* Question!$" (buffer-string))))))

(ert-deftest passepartout-chat-point-is-yours-unless-you-said-otherwise ()
  (dolist (said '(nil t))
    (passepartout-fake-with
      (let ((passepartout-chat-go-on
             (or said
                 (eval (car (get 'passepartout-chat-go-on 'standard-value))
                       t)))
            (noninteractive nil)
            (session (passepartout-chat-tests--open)))
        (passepartout-chat-tests--ask "Question")
        (let ((sent (point)))
          (cl-letf (((symbol-function 'pos-visible-in-window-p)
                     (lambda (&rest _) t)))
            (passepartout-chat-tests--answer session "t1" '("Answer")))
          (if said
              (should (eobp))
            (should (= sent (point)))
            (should-not (memq #'passepartout-chat--before-command
                              pre-command-hook))
            (passepartout-chat-change-tests--type "!")
            (should (string-match-p "^\\* Question!$" (buffer-string)))))))))

;;;; Org is touched only when there is a chat

(ert-deftest passepartout-chat-org-is-advised-with-the-first-chat-only ()
  (let ((advised (lambda ()
                   (list (advice-member-p #'passepartout-chat--no-set-up
                                          'org-file-contents)
                         (advice-member-p #'passepartout-chat--known-language
                                          'org-src-font-lock-fontify-block)))))
    (passepartout-chat-guard-unload-function)
    (load "passepartout-chat-guard" nil t)
    (should (equal (funcall advised) '(nil nil)))
    (passepartout-fake-with
      (passepartout-chat-tests--open)
      (should-not (memq nil (funcall advised))))
    (passepartout-chat-guard-unload-function)
    (should (equal (funcall advised) '(nil nil)))
    (unwind-protect
        (progn (passepartout-global-mode 1)
               (should-not (memq nil (funcall advised))))
      (passepartout-global-mode -1))))

(provide 'passepartout-chat-change-tests)
;;; passepartout-chat-change-tests.el ends here
