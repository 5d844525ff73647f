;;; passepartout-rewrite-tests.el --- Tests of rewriting a text  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; From a text over the new one to a changed buffer, and everything that
;; keeps it from being changed; and how the new text is made of the
;; answer.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-real)
(require 'passepartout-rewrite)
(require 'passepartout-ask-tests)

(defun passepartout-rewrite-tests--on (text wanted)
  "Have TEXT, which stands in the current buffer, rewritten as WANTED."
  (goto-char (point-min))
  (search-forward text)
  (passepartout-rewrite
   wanted (passepartout-question-target (match-beginning 0) (match-end 0)
                                        "the region")))

(defun passepartout-rewrite-tests--answer (turn chunks &rest more)
  "Let TURN answer the last question with CHUNKS; MORE is told of its end.
What arrived of it, with CHUNKS, is also told as it is, unless MORE says."
  (let ((question (gethash (plist-get (passepartout-ask-tests--sent) :session)
                           passepartout-question--open)))
    (apply #'passepartout-ask-tests--answer turn chunks
           (append more
                   (list :exact (apply #'concat
                                       (and question
                                            (passepartout-question-answer
                                             question))
                                       chunks))
                   passepartout-ask-tests--end))))

(defun passepartout-rewrite-tests--keys (keys)
  "Do what KEYS do at point."
  (let ((command (key-binding (kbd keys))))
    (should (commandp command))
    (call-interactively command)))

(defmacro passepartout-rewrite-tests--in (text &rest body)
  "Run BODY with a core of paper in a text buffer with TEXT."
  (declare (indent 1) (debug t))
  `(passepartout-fake-with
     (passepartout-ask-tests--in #'text-mode ,text
       (buffer-enable-undo)
       (setq buffer-undo-list nil)
       ,@body)))

;;;; The way to a changed buffer

(ert-deftest passepartout-rewrite-changes-nothing-before-it-is-accepted ()
  (passepartout-rewrite-tests--in "A.\nThe olde texte.\nB.\n"
    (passepartout-rewrite-tests--on "The olde texte." "Modern spelling")
    (let ((sent (passepartout-ask-tests--sent)))
      (should (string-search "Modern spelling" (plist-get sent :text)))
      (should (string-search "new text alone" (plist-get sent :text)))
      (should (equal (plist-get (car (plist-get sent :attached)) :text)
                     "The olde texte.")))
    (passepartout-ask-tests--answer "t1" '("The old "))
    ;; It streams beside the text.
    (with-current-buffer passepartout-rewrite-name
      (should (get-buffer-window))
      (should (equal (buffer-string) "The old "))
      (should (string-match-p "rewriting" header-line-format)))
    (should (equal (buffer-string) "A.\nThe olde texte.\nB.\n"))
    (should-not buffer-undo-list)
    (goto-char (+ 3 (point-min)))
    (should-error (passepartout-rewrite-tests--keys "C-c C-c") :type 'user-error)
    (passepartout-rewrite-tests--answer "t1" '("text."))
    (should (equal (buffer-string) "A.\nThe olde texte.\nB.\n"))
    (should-not buffer-undo-list)
    ;; Its keys count in it and right behind it, and nowhere else.
    (pcase-dolist (`(,place . ,keys) '((1 . nil) (4 . t) (9 . t) (19 . t)
                                       (20 . nil) (22 . nil)))
      (goto-char place)
      (should (equal (cons place keys)
                     (cons place (eq (key-binding (kbd "C-c C-c"))
                                     'passepartout-rewrite-accept)))))
    (goto-char 19)
    (passepartout-rewrite-tests--keys "C-c C-c")
    (should (equal (buffer-string) "A.\nThe old text.\nB.\n"))
    (should-not (passepartout-rewrite--all))
    (should-not (get-buffer passepartout-rewrite-name))
    ;; Its conversation is closed.
    (should (plist-get (car (last (passepartout-fake-sent :interrupt))) :closed))
    (let ((last-command nil)) (undo))
    (should (equal (buffer-string) "A.\nThe olde texte.\nB.\n"))))

(ert-deftest passepartout-rewrite-refuses-a-text-that-has-changed ()
  (passepartout-rewrite-tests--in "one\ntwo\nthree\n"
    (passepartout-rewrite-tests--on "one\ntwo\nthree\n" "Capitals")
    (passepartout-rewrite-tests--answer "t1" '("ONE\nTWO\nTHREE\n"))
    (goto-char (point-min))
    (search-forward "two")
    (insert "!")
    (should-error (passepartout-rewrite-accept) :type 'user-error)
    (should (equal (buffer-string) "one\ntwo!\nthree\n"))
    (passepartout-real-until (get-buffer "*passepartout three-way*"))
    (with-current-buffer "*passepartout three-way*"
      (dolist (words '("as it is now" "as it was" "rewritten" "two!" "TWO"))
        (should (string-search words (buffer-string)))))
    ;; It is still there, and can be rejected.
    (passepartout-rewrite-reject)
    (should-not (passepartout-rewrite--all))
    (should (equal (buffer-string) "one\ntwo!\nthree\n"))))

(ert-deftest passepartout-rewrite-a-change-elsewhere-does-not-matter ()
  (passepartout-rewrite-tests--in "one\ntwo\n"
    (passepartout-rewrite-tests--on "two" "Capitals")
    (goto-char (point-min))
    (insert "zero\n")
    (passepartout-rewrite-tests--answer "t1" '("TWO"))
    (passepartout-rewrite-accept)
    (should (equal (buffer-string) "zero\none\nTWO\n"))))

(ert-deftest passepartout-rewrite-several-at-once ()
  (passepartout-rewrite-tests--in "one\ntwo\nthree\n"
    (passepartout-rewrite-tests--on "one" "A")
    (let ((first (plist-get (passepartout-ask-tests--sent) :session)))
      (passepartout-rewrite-tests--on "three" "B")
      (should-error (passepartout-rewrite-tests--on "two\nth" "C")
                    :type 'user-error)
      (goto-char 6)
      ;; Which of them is meant must be clear.
      (should-error (passepartout-rewrite-reject) :type 'user-error)
      (passepartout-rewrite-tests--answer "t2" '("THREE"))
      (passepartout-fake-inject :event '(:action :turn-started :turn "t1") first)
      (passepartout-fake-inject :stream-chunk '(:turn "t1" :text "ONE") first)
      (passepartout-fake-inject
       :response `(:action :turn-done :turn "t1" :exact "ONE"
                   ,@passepartout-ask-tests--end)
       first)
      (goto-char (1- (point-max)))
      (backward-char)
      (passepartout-rewrite-tests--keys "C-c C-c")
      (goto-char (point-min))
      (passepartout-rewrite-tests--keys "C-c C-c")
      (should (equal (buffer-string) "ONE\ntwo\nTHREE\n")))))

(ert-deftest passepartout-rewrite-further ()
  (passepartout-rewrite-tests--in "one\n"
    (passepartout-rewrite-tests--on "one" "Capitals")
    (let ((session (plist-get (passepartout-ask-tests--sent) :session)))
      (should-error (call-interactively #'passepartout-rewrite-iterate)
                    :type 'user-error)
      (passepartout-rewrite-tests--answer "t1" '("ONE"))
      (goto-char (point-min))
      (cl-letf (((symbol-function 'read-string) (lambda (&rest _) "Bold")))
        (passepartout-rewrite-tests--keys "C-c C-r"))
      (let ((sent (passepartout-ask-tests--sent)))
        (should (equal (plist-get sent :session) session))
        (should (string-search "Bold" (plist-get sent :text)))
        (should (equal (plist-get (car (plist-get sent :attached)) :text) "ONE")))
      (passepartout-rewrite-tests--answer "t2" '("*ONE*"))
      (with-current-buffer passepartout-rewrite-name
        (should (equal (buffer-string) "*ONE*"))
        (passepartout-rewrite-tests--keys "a"))
      (should (equal (buffer-string) "*ONE*\n")))))

(ert-deftest passepartout-rewrite-is-stopped-and-taken-away ()
  (passepartout-rewrite-tests--in "one\n"
    (passepartout-rewrite-tests--on "one" "Capitals")
    (passepartout-ask-tests--answer "t1" '("ON"))
    (goto-char (point-min))
    (passepartout-rewrite-tests--keys "C-c C-k")
    (should (equal (passepartout-fake-sent :interrupt) '((:sensor :interrupt))))
    (passepartout-fake-inject
     :response '(:action :turn-done :turn "t1" :status "interrupted")
     (plist-get (passepartout-ask-tests--sent) :session))
    ;; Half a text is none.
    (should-error (passepartout-rewrite-accept) :type 'user-error)
    (passepartout-rewrite-tests--keys "C-c C-k")
    (should-not (passepartout-rewrite--all))
    (should (equal (buffer-string) "one\n"))))

(ert-deftest passepartout-rewrite-that-does-not-stop-is-forgotten ()
  (passepartout-rewrite-tests--in "one\n"
    (passepartout-rewrite-tests--on "one" "Capitals")
    (passepartout-ask-tests--answer "t1" '("ON"))
    (goto-char (point-min))
    (passepartout-rewrite-tests--keys "C-c C-k")
    (should (passepartout-rewrite--all))
    (passepartout-rewrite-tests--keys "C-c C-k")
    (should-not (passepartout-rewrite--all))
    (should (plist-get (car (last (passepartout-fake-sent :interrupt))) :closed))
    (should (equal (buffer-string) "one\n"))))

(ert-deftest passepartout-rewrite-what-is-no-text-cannot-be-accepted ()
  (dolist (case
           '((("Notes say: x") (:provider "recall") "No language model")
             (("") nil "gave no text")
             (("ONE") (:status "failed" :text "The cap is reached.") "cap")
             (("ONE") (:status "interrupted") "stopped")))
    (passepartout-rewrite-tests--in "one\n"
      (passepartout-rewrite-tests--on "one" "Capitals")
      (apply #'passepartout-rewrite-tests--answer "t1" (nth 0 case) (nth 1 case))
      (let ((remark (passepartout-rewrite--remark
                     (car (passepartout-rewrite--all)))))
        (should (string-search (nth 2 case) remark)))
      (should-error (passepartout-rewrite-accept) :type 'user-error)
      (should (equal (buffer-string) "one\n")))))

(ert-deftest passepartout-rewrite-says-that-an-act-was-proposed ()
  (passepartout-rewrite-tests--in "one\n"
    (passepartout-rewrite-tests--on "one" "Capitals")
    (passepartout-rewrite-tests--answer "t1" '("ONE") :status "parked"
                                        :plans '("P1"))
    (should (string-search
             "passepartout-flight-plans"
             (overlay-get (passepartout-rewrite--overlay
                           (car (passepartout-rewrite--all)))
                          'before-string)))
    (passepartout-rewrite-accept)
    (should (equal (buffer-string) "ONE\n"))))

(ert-deftest passepartout-rewrite-refuses-what-cannot-be-changed ()
  (passepartout-rewrite-tests--in "one\n"
    (setq buffer-read-only t)
    (should-error (passepartout-rewrite-tests--on "one" "x") :type 'user-error)
    (should-not (passepartout-fake-sent :user-input))
    ;; It may become so meanwhile.
    (setq buffer-read-only nil)
    (passepartout-rewrite-tests--on "one" "x")
    (passepartout-rewrite-tests--answer "t1" '("ONE"))
    (setq buffer-read-only t)
    (should-error (passepartout-rewrite-accept) :type 'user-error)
    (should (equal (buffer-string) "one\n"))
    (setq buffer-read-only nil)
    (put-text-property 1 3 'read-only t)
    (should-error (passepartout-rewrite-accept) :type 'user-error)
    (let ((inhibit-read-only t)) (remove-text-properties 1 3 '(read-only nil)))
    (should (equal (buffer-string) "one\n"))
    (passepartout-rewrite-accept)
    (should (equal (buffer-string) "ONE\n"))))

(ert-deftest passepartout-rewrite-of-a-killed-buffer-is-stopped ()
  (passepartout-fake-with
    (with-current-buffer (generate-new-buffer "rewritten")
      (insert "one\n")
      (passepartout-rewrite-tests--on "one" "x")
      (passepartout-ask-tests--answer "t1" '("ON"))
      (kill-buffer))
    (should-not (get-buffer passepartout-rewrite-name))
    (should (plist-get (car (passepartout-fake-sent :interrupt)) :closed))
    (passepartout-rewrite-tests--answer "t1" '("E"))
    (should-not passepartout-events--notes)))

(ert-deftest passepartout-rewrite-outlives-a-clone-of-its-buffer ()
  (passepartout-rewrite-tests--in "one\n"
    (passepartout-rewrite-tests--on "one" "x")
    (passepartout-ask-tests--answer "t1" '("ON"))
    (let ((clone (clone-indirect-buffer nil nil)))
      (with-current-buffer clone (fundamental-mode))
      (kill-buffer clone))
    (should (passepartout-rewrite--all))
    (should-not (passepartout-fake-sent :interrupt))))

(ert-deftest passepartout-rewrite-takes-the-text-where-it-is-when-you-have-said-how ()
  (dolist (case
           ;; what happens meanwhile, what goes along or nil
           '(((lambda () (goto-char (point-min)) (insert "zero\n\n")) "two")
             ((lambda () (goto-char (point-max)) (insert "more")) nil)
             ((lambda () (goto-char (- (point-max) 1)) (insert "more")) nil)
             ((lambda () (erase-buffer)) nil)))
    (passepartout-rewrite-tests--in "one\n\ntwo"
      (goto-char (point-max))
      (let ((buffer (current-buffer)))
        (cl-letf (((symbol-function 'read-string)
                   (lambda (&rest _)
                     (with-current-buffer buffer
                       (save-excursion (funcall (nth 0 case))))
                     "x")))
          (if (nth 1 case)
              (call-interactively #'passepartout-rewrite)
            (should-error (call-interactively #'passepartout-rewrite)
                          :type 'user-error))))
      (if (nth 1 case)
          (should (equal (plist-get (car (plist-get (passepartout-ask-tests--sent)
                                                    :attached))
                                    :text)
                         (nth 1 case)))
        (should-not (passepartout-fake-sent :user-input))))))

(ert-deftest passepartout-rewrite-takes-the-subtree-and-how-private-it-is ()
  (passepartout-fake-with
    (passepartout-ask-tests--in #'org-mode "* A :private:\n** B\nx|\n* C\n"
      (cl-letf (((symbol-function 'read-string) (lambda (&rest _) "Short")))
        (call-interactively #'passepartout-rewrite))
      (let ((sent (passepartout-ask-tests--sent)))
        (should (eq t (plist-get sent :private)))
        (should (equal (plist-get (car (plist-get sent :attached)) :text)
                       "** B\nx\n")))
      (passepartout-rewrite-tests--answer
       "t1" '(" ** TODO B\nSCHEDULED : [2026-11-21 Sat]\nshort\n")
       :exact "** TODO B\nSCHEDULED: <2026-11-21 Sat>\nshort\n")
      (passepartout-rewrite-accept)
      (should (equal (buffer-string)
                     "* A :private:\n** TODO B\nSCHEDULED: <2026-11-21 Sat>\nshort\n* C\n")))))

(ert-deftest passepartout-rewrite-shows-the-difference ()
  (let ((temporary-file-directory
         (file-name-as-directory (make-temp-file "passepartout" t))))
    (unwind-protect
        (passepartout-rewrite-tests--shows-the-difference)
      (delete-directory temporary-file-directory t))))

(defun passepartout-rewrite-tests--shows-the-difference ()
  "Look at the difference of a rewrite."
  (passepartout-rewrite-tests--in "one\ntwo\n"
    (passepartout-rewrite-tests--on "one\ntwo\n" "Capitals")
    (passepartout-rewrite-tests--answer "t1" '("one\nTWO\n"))
    (goto-char (point-min))
    (passepartout-rewrite-tests--keys "C-c C-d")
    (passepartout-real-until (get-buffer "*passepartout diff*"))
    (with-current-buffer "*passepartout diff*"
      (should (derived-mode-p 'diff-mode))
      ;; In the place of the new text, which nothing else takes.
      (should (get-buffer-window))
      (should-not (get-buffer-window passepartout-rewrite-name))
      (should buffer-read-only)
      (should (equal (buffer-string) "--- as it was\n+++ rewritten\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n")))
    ;; What was compared lies nowhere any more.
    (should-not (directory-files temporary-file-directory nil "\\`[^.]"))
    (should (passepartout-rewrite--all))
    ;; It can be decided there, and goes then.
    (with-current-buffer "*passepartout diff*"
      (passepartout-rewrite-tests--keys "C-c C-c"))
    (should (equal (buffer-string) "one\nTWO\n"))
    (should (= 1 (length (window-list))))
    (should-not (get-buffer "*passepartout diff*"))))

(ert-deftest passepartout-rewrite-asks-before-something-private-comes-into-the-open ()
  (passepartout-rewrite-tests--in "one\n"
    (passepartout-rewrite-tests--on "one" "x")
    (passepartout-rewrite-tests--answer "t1" '("ONE") :private t)
    (cl-letf (((symbol-function 'y-or-n-p) #'ignore))
      (should-error (passepartout-rewrite-accept) :type 'user-error))
    (should (equal (buffer-string) "one\n"))
    (cl-letf (((symbol-function 'y-or-n-p) #'always))
      (passepartout-rewrite-accept))
    (should (equal (buffer-string) "ONE\n"))))

(ert-deftest passepartout-rewrite-takes-what-was-changed-in-ediff ()
  (passepartout-rewrite-tests--in "one\n"
    (passepartout-rewrite-tests--on "one" "x")
    (passepartout-rewrite-tests--answer "t1" '("ONE"))
    (let (compared)
      (cl-letf (((symbol-function 'ediff-buffers)
                 (lambda (old new hooks)
                   (setq compared (list (with-current-buffer old (buffer-string))
                                        (with-current-buffer new (buffer-string))))
                   (with-temp-buffer
                     (mapc #'funcall hooks)
                     (with-current-buffer new
                       (goto-char (point-max))
                       (insert "!"))
                     (run-hooks 'ediff-quit-hook)))))
        (passepartout-rewrite-ediff))
      (should (equal compared '("one" "ONE"))))
    (should-not (get-buffer "*passepartout as it was*"))
    (passepartout-rewrite-accept)
    (should (equal (buffer-string) "ONE!\n"))))

(ert-deftest passepartout-rewrite-a-newer-text-counts-more-than-an-old-ediff ()
  (passepartout-rewrite-tests--in "one\n"
    (passepartout-rewrite-tests--on "one" "x")
    (passepartout-rewrite-tests--answer "t1" '("ONE"))
    (let ((rewrite (car (passepartout-rewrite--all))) quit)
      (cl-letf (((symbol-function 'ediff-buffers)
                 (lambda (_old _new hooks)
                   (with-temp-buffer
                     (mapc #'funcall hooks)
                     (setq quit (seq-find #'functionp ediff-quit-hook))))))
        ;; Of the two, one quits in the end with a text that was killed.
        (passepartout-rewrite-ediff)
        (let ((first quit))
          (passepartout-rewrite--ask rewrite "y")
          (passepartout-rewrite-tests--answer "t2" '("UNO"))
          (funcall first)
          (should (equal (passepartout-rewrite--result rewrite) "UNO")))
        (goto-char (point-min))
        (passepartout-rewrite-ediff)
        (kill-buffer "*passepartout rewritten*")
        (funcall quit)))
    (should-not (get-buffer "*passepartout as it was*"))
    (goto-char (point-min))
    (passepartout-rewrite-accept)
    (should (equal (buffer-string) "UNO\n"))))

(ert-deftest passepartout-rewrite-a-difference-that-comes-late-is-not-shown ()
  (dolist (then (list #'passepartout-rewrite-accept
                      #'passepartout-rewrite-reject
                      (lambda () (passepartout-rewrite-iterate "y"))))
    (passepartout-rewrite-tests--in "one\n"
      (passepartout-rewrite-tests--on "one" "x")
      (passepartout-rewrite-tests--answer "t1" '("ONE"))
      (goto-char (point-min))
      (passepartout-rewrite-diff)
      (funcall then)
      (passepartout-real-until
        (not (get-buffer " *passepartout compare*")))
      (should-not (get-buffer "*passepartout diff*")))))

;;;; From an answer to a text

(ert-deftest passepartout-rewrite-text-is-the-answer-but-for-its-ends ()
  (dolist (case
           ;; original, answer, text
           '(;; What Org would take for something stays what it is.
             ("x" "cout<<x; {color:red} src_sh{x} <2026-11-21 Sat>"
              "cout<<x; {color:red} src_sh{x} <2026-11-21 Sat>")
             ("x" "* A\n:PROPERTIES:\n:ID: a\n:END:\n,* b\n\\u{25}\u200b"
              "* A\n:PROPERTIES:\n:ID: a\n:END:\n,* b\n\\u{25}\u200b")
             ("a :b" " * c :d" " * c :d")
             ("x\ny\n" "x\r\nz\r\n" "x\nz\n")
             ;; Both ends.
             ("\n  x\n\n" "y" "\n  y\n\n")
             ("    def f():\n        1" "def g():\n        2"
              "    def g():\n        2")
             ("    def f():\n        1" "def g():\n    2\n\n    3"
              "    def g():\n        2\n\n        3")
             ("    f(\n  1)" "f(\n 1)" "f(\n 1)")
             ("    a\n    b\n" "c\n    d" "    c\n    d\n")))
    (pcase-let ((`(,original ,answer ,text) case))
      (should (equal (list answer text)
                     (list answer (car (passepartout-rewrite-text-of
                                        answer original))))))))

(ert-deftest passepartout-rewrite-shows-exactly-what-is-accepted ()
  (passepartout-rewrite-tests--in "one\n"
    (passepartout-rewrite-tests--on "one" "x")
    (should (equal (plist-get (passepartout-ask-tests--sent) :exact)
                   (buffer-name)))
    (let ((new "* o\u202ene [[elisp:(f)]]\a"))
      (passepartout-rewrite-tests--answer "t1" '("o :ne") :exact new)
      (with-current-buffer passepartout-rewrite-name
        (should (equal (buffer-string) new))
        (should-not (derived-mode-p 'org-mode))
        (should-not font-lock-mode)
        ;; What cannot be seen is shown, and the text is as it is.
        (should-not bidi-display-reordering)
        (dolist (character '(#x202e #x200b #xad #xfe0f #x10fffd))
          (should (eq 'hex-code (aref glyphless-char-display character))))
        (should-not (eq 'hex-code (aref glyphless-char-display ?a))))
      (let ((remark (passepartout-rewrite--remark
                     (car (passepartout-rewrite--all)))))
        (should (string-search "U+202E, U+0007" remark)))
      (passepartout-rewrite-accept)
      (should (equal (buffer-string) (concat new "\n"))))))

(ert-deftest passepartout-rewrite-inert-words-alone-are-no-text ()
  ;; A core that sends no exact text, as it is cut off or too long.
  (passepartout-rewrite-tests--in "one\n"
    (passepartout-rewrite-tests--on "one" "x")
    (apply #'passepartout-ask-tests--answer "t1" '("ONE")
           passepartout-ask-tests--end)
    (should-error (passepartout-rewrite-accept) :type 'user-error)
    (should (string-search "did not come whole"
                           (passepartout-rewrite--remark
                            (car (passepartout-rewrite--all)))))
    (should (equal (buffer-string) "one\n"))))

(ert-deftest passepartout-rewrite-asks-before-something-that-runs-comes-in ()
  (passepartout-rewrite-tests--in "one\n"
    (passepartout-rewrite-tests--on "one" "x")
    (passepartout-rewrite-tests--answer "t1" '("[[shell:ls]]")
                                        :runs '("ls" "ls"))
    (should (string-search "could run: “ls”"
                           (passepartout-rewrite--remark
                            (car (passepartout-rewrite--all)))))
    (let (asked)
      (cl-letf (((symbol-function 'y-or-n-p)
                 (lambda (prompt) (push prompt asked) nil)))
        (should-error (passepartout-rewrite-accept) :type 'user-error)
        (should (equal (buffer-string) "one\n"))
        ;; What an earlier new text brought counts as long as it is there.
        (passepartout-rewrite-iterate "y")
        (passepartout-rewrite-tests--answer "t2" '("[[shell:ls]]!"))
        (should-error (passepartout-rewrite-accept) :type 'user-error)
        (should (= 2 (length asked)))
        (passepartout-rewrite-iterate "z")
        (passepartout-rewrite-tests--answer "t3" '("ONE"))
        (passepartout-rewrite-accept)
        (should (= 2 (length asked)))))
    (should (equal (buffer-string) "ONE\n"))))

(ert-deftest passepartout-rewrite-names-its-file-as-what-it-is ()
  (dolist (case '((org-mode "x" "x.org") (org-mode "x.org" "x.org")
                  (text-mode "x.py" "x.py")))
    (with-temp-buffer
      (let ((org-mode-hook nil) (text-mode-hook nil)) (funcall (car case)))
      (rename-buffer (cadr case) t)
      (should (equal (passepartout-rewrite--file) (nth 2 case))))))

(ert-deftest passepartout-rewrite-text-is-taken-out-of-a-block ()
  (dolist (case
           ;; original, answer, text, whether words were left out
           '(("x" "```python\ny\n```" "y" nil)
             ("x" "Here you are:\n```\ny\n```\nBetter now." "y" t)
             ("x" "~~~\ny\n~~~\n" "y" nil)
             ("x" "#+begin_src sh\n,* y\n#+end_src" "* y" nil)
             ;; A block that the text itself has stays.
             ("a\n```\nx\n```" "a\n```\ny\n```" "a\n```\ny\n```" nil)
             ("a\n```\nx\n```" "```md\na\n```\ny\n```\n```" "a\n```\ny\n```" nil)
             ("```\nx\n```" "```\ny\n```" "```\ny\n```" nil)
             ;; Of two, which is meant cannot be known.
             ("x" "```\ny\n```\nor\n```\nz\n```" "```\ny\n```\nor\n```\nz\n```" nil)
             ("x" "y" "y" nil)))
    (pcase-let ((`(,original ,answer ,text ,around) case))
      (should (equal (list answer text around)
                     (let ((found (passepartout-rewrite-text-unwrap
                                   answer original)))
                       (list answer (car found) (cdr found))))))))

;;;; With a real core

(defconst passepartout-rewrite-tests--hard
  (concat "* A heading :tag:
SCHEDULED: <2026-11-21 Sat 10:00 +1w> DEADLINE: <2026-11-22 Sun>
:PROPERTIES:
:ID: one
:header-args: :eval yes
:END:
:LOGBOOK:
CLOCK: [2026-11-20 Fri 10:00]--[2026-11-20 Fri 11:00] =>  1:00
:END:
#+begin_src sh :results raw
cat <<EOF | tee x; [[ -f x ]] && [[-f y]]
ssh host:path ref:x call_it(1) src_sh{ls} {{{x}}} <<target>> @@html:x@@
#+end_src
 * an item, and [[elisp:(f)][a link]], [[id:one][another]], [fn:1], [cite:@x]
| a | '(f) | <%%(diary-float t 4 2)> |
%%(diary) mailto:a@b.c color:red /ssh:host:/x file:/a::b x\u00a0y z\u200b
# -*- mode: org -*-
Local " ; this file has none
"Variables:
** Below
- [ ] last
")
  "A text with all that is broken up in what models say.")

(ert-deftest passepartout-rewrite-real-what-is-left-alone-is-as-it-was ()
  (passepartout-real-with
    (passepartout-real-write "memex/x.org" "* X\n")
    (passepartout-real-serve
     (list (list 'pieces
                 (replace-regexp-in-string
                  "last" "very last" passepartout-rewrite-tests--hard)
                 7)))
    (passepartout-real-start)
    (with-temp-buffer
      (insert "before\n" passepartout-rewrite-tests--hard "after\n")
      (let ((org-mode-hook nil)) (org-mode))
      (passepartout-rewrite-tests--on passepartout-rewrite-tests--hard "more")
      (passepartout-real-until
        (eq 'ready (passepartout-rewrite--state
                    (car (passepartout-rewrite--all)))))
      (should (string-prefix-p "before\n* A heading" (buffer-string)))
      (passepartout-rewrite-accept)
      (should (equal (buffer-string)
                     (concat "before\n"
                             (replace-regexp-in-string
                              "last" "very last"
                              passepartout-rewrite-tests--hard)
                             "after\n"))))))

(ert-deftest passepartout-rewrite-real-without-a-model-nothing-is-offered ()
  (passepartout-real-with
    (passepartout-real-write "memex/x.org" "* X\n")
    (passepartout-real-start)
    (with-temp-buffer
      (insert "one\n")
      (passepartout-rewrite-tests--on "one" "Capitals")
      (passepartout-real-until
        (eq 'failed (passepartout-rewrite--state
                     (car (passepartout-rewrite--all)))))
      (should (string-search "No language model"
                             (passepartout-rewrite--remark
                              (car (passepartout-rewrite--all)))))
      (should (equal (buffer-string) "one\n")))))

(provide 'passepartout-rewrite-tests)
;;; passepartout-rewrite-tests.el ends here
