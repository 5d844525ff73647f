;;; passepartout-clients-tests.el --- Tests of the list of clients  -*- lexical-binding: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the buffer of clients shows, and what its keys ask for.

;;; Code:

(require 'ert)
(require 'passepartout-fake)
(require 'passepartout-clients)
(require 'passepartout-plan)
(require 'passepartout-trace)

(defvar passepartout-clients-tests--payload
  '(:clients ((:id 0 :name "this Emacs" :kind :emacs :private t :approve t
                   :self t :since "1970-01-01 00:00")
              (:id 3 :name "“mail
* [[x]]” (client-ab)" :kind :client :ruled t
                   :road "the network, 127.0.0.1:4711"
                   :since "2026-03-04 08:00")
              (:id 4 :name "client-cd" :kind :client :ruled t :private t
                   :shows-plans t :road "the socket, process 7"
                   :since "2026-03-04 08:01")))
  "An answer of the core.")

(defmacro passepartout-clients-tests--with (&rest body)
  "Show the clients of the test, and evaluate BODY in their buffer."
  (declare (indent 0) (debug t))
  `(passepartout-fake-with
     (passepartout-clients)
     (passepartout-fake-answer :clients passepartout-clients-tests--payload)
     (with-current-buffer passepartout-clients--buffer-name
       ,@body)))

(defun passepartout-clients-tests--press (name key answer)
  "Press KEY on the client NAME, and give ANSWER to a question."
  (goto-char (point-min))
  (search-forward name)
  (let (asked)
    (cl-letf (((symbol-function 'yes-or-no-p)
               (lambda (prompt) (setq asked prompt) answer)))
      (call-interactively (key-binding (kbd key))))
    asked))

(defun passepartout-clients-tests--sent (action)
  "Return about whom the requests ACTION were, each with what is granted."
  (mapcar (lambda (payload)
            (cons (plist-get payload :client) (plist-get payload :grant)))
          (passepartout-fake-sent action)))

(ert-deftest passepartout-clients-shows-who-is-there-and-what-each-may-do ()
  (passepartout-clients-tests--with
    (dolist (line '("^  this Emacs (here) \\{20,\\}reads and proposes, sees what is private, decides"
                    "^  “mail \\* \\[\\[x\\]\\]” (client-ab) +2026-03-04 08:00 reads and proposes$"
                    "^    by the network, 127.0.0.1:4711$"
                    "^  client-cd +2026-03-04 08:01 reads and proposes, sees what is private$"))
      (should (string-match-p line (buffer-string))))))

(ert-deftest passepartout-clients-keys-grant-and-take-back ()
  (passepartout-clients-tests--with
    (should (string-match-p
             "private notes"
             (passepartout-clients-tests--press "mail" "v" nil)))
    (should-not (passepartout-fake-sent :client-grant))
    (passepartout-clients-tests--press "mail" "v" t)
    (should (equal (passepartout-clients-tests--sent :client-grant)
                   '((3 . :private))))
    ;; Who does not show plans cannot decide about them.
    (should-error (passepartout-clients-tests--press "mail" "a" t)
                  :type 'user-error)
    (should (string-match-p
             "approve plans"
             (passepartout-clients-tests--press "client-cd" "a" t)))
    (should (equal (passepartout-clients-tests--sent :client-grant)
                   '((3 . :private) (4 . :approve))))
    (passepartout-clients-tests--press "client-cd" "w" nil)
    (should (equal (passepartout-clients-tests--sent :client-withdraw) '((4))))
    (passepartout-clients-tests--press "client-cd" "k" nil)
    (should-not (passepartout-clients-tests--sent :client-end))
    (passepartout-clients-tests--press "client-cd" "k" t)
    (should (equal (passepartout-clients-tests--sent :client-end) '((4))))
    ;; What this Emacs may do is not granted here.
    (should-error (passepartout-clients-tests--press "this Emacs" "v" t)
                  :type 'user-error)))

(ert-deftest passepartout-clients-an-emacs-that-rules-nobody-says-so-first ()
  (pcase-dolist (`(,own ,words ,line)
                 '(((:kind :emacs :approve t :doubt "you are root here")
                    "rules about no program: you are root here"
                    "what is private, approves at its terminal alone")
                   ((:kind :emacs :doubt "you are root here")
                    "rules about no program: you are root here"
                    "what is private$")
                   ((:kind :client :ruled t :approve t)
                    "came as a program itself" "decides about plans")))
    (let ((passepartout-clients-tests--payload
           `(:clients ((:id 0 :name "this Emacs" :self t :private t ,@own)
                       ,@(cdr (plist-get passepartout-clients-tests--payload
                                         :clients))))))
      (passepartout-clients-tests--with
        (should (string-match-p line (buffer-string)))
        (dolist (key '("v" "a" "w" "k"))
          (cl-letf (((symbol-function 'yes-or-no-p)
                     (lambda (_) (ert-fail "It is asked before"))))
            (goto-char (point-min))
            (search-forward "client-cd")
            (should (string-search
                     words
                     (cadr (should-error (call-interactively
                                          (key-binding (kbd key)))
                                         :type 'user-error))))))
        (dolist (action '(:client-grant :client-withdraw :client-end))
          (should-not (passepartout-fake-sent action)))))))

(ert-deftest passepartout-clients-plans-and-turns-name-the-program-they-came-from ()
  (let ((who "an editor by ACP, acp-zed-ab12
* [[x]]"))
    (dolist (case (list (cons who t) (cons nil nil)))
      (with-temp-buffer
        (passepartout-plan--insert-line
         (list :id "P1" :tool "org-set-todo" :proposer (car case)) nil)
        (should (eq (cdr case)
                    (and (string-match-p
                          ", proposed by an editor by ACP, acp-zed-ab12 \\*"
                          (buffer-string))
                         t)))
        (should (= 1 (count-lines (point-min) (point-max)))))
      (with-temp-buffer
        (passepartout-trace--insert-turn
         (list :session "acp-zed-ab12/1" :at "2026-03-02T09:00:00Z"
               :asked "Hello" :status "answered" :proposer (car case)))
        (goto-char (point-min))
        (should (eq (cdr case)
                    (and (search-forward "for an editor by ACP, acp-zed-ab12"
                                         nil t)
                         t)))
        ;; There is no chat of it to go to.
        (goto-char (point-min))
        (should-not (eq (cdr case)
                        (and (search-forward "chat" nil t) t)))))))

(provide 'passepartout-clients-tests)
;;; passepartout-clients-tests.el ends here
