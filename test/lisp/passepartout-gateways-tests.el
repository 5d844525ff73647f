;;; passepartout-gateways-tests.el --- Tests of the list of messengers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the buffer of messengers shows of an answer of the core, and
;; what its keys ask for.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'passepartout-fake)
(require 'passepartout-gateways)

(defconst passepartout-gateways-tests--payload
  '(:gateways ((:platform "telegram" :configured t :linked t :named "@bot"
                :state "running"
                :allowed ((:sender "6" :name "Zoe" :decides t)
                          (:sender "7" :name "Ann" :decides nil))
                :strangers ((:sender "8" :name "Bob" :paired t)
                            (:sender "9" :name "Eve\n* x" :paired nil)))
               (:platform "signal" :configured t :linked nil :named nil
                :state "not linked"
                :allowed ((:sender "0123abcd-0000-4000-8000-00000000000a"
                           :name "+1555 Cid"))
                :strangers nil)))
  "An answer of the core.")

(defmacro passepartout-gateways-tests--with (&rest body)
  "Show the messengers of the test, and evaluate BODY in their buffer."
  (declare (indent 0) (debug t))
  `(passepartout-fake-with
     (passepartout-gateways)
     (passepartout-fake-answer :gateways passepartout-gateways-tests--payload)
     (with-current-buffer passepartout-gateways--buffer-name
       (cl-letf (((symbol-function 'yes-or-no-p) (lambda (_) t)))
         ,@body))))

(defun passepartout-gateways-tests--at (text)
  "Put point on the row with TEXT."
  (goto-char (point-min))
  (re-search-forward text)
  (beginning-of-line))

(ert-deftest passepartout-gateways-shows-how-each-stands ()
  (passepartout-gateways-tests--with
    (let ((text (buffer-string)))
      (dolist (line '("telegram +@bot +running" "7 Ann +let in;"
                      "6 Zoe +let in and decides about plans"
                      "8 Bob +sent the code" "9 Eve \\* x +not let in"
                      "signal +- +not linked"
                      "0123abcd… \\+1555 Cid +let in"))
        (should (string-match-p line text))))))

(ert-deftest passepartout-gateways-lets-in-only-who-sent-the-code ()
  (passepartout-gateways-tests--with
    (passepartout-gateways-tests--at "9 Eve")
    (should-error (passepartout-gateways-allow) :type 'user-error)
    (should-error (passepartout-gateways-take-away) :type 'user-error)
    (let (asked)
      (cl-letf (((symbol-function 'passepartout-request)
                 (lambda (action payload _)
                   (when (eq action :gateway) (push payload asked)))))
        (passepartout-gateways-tests--at "8 Bob")
        (passepartout-gateways-allow)
        (passepartout-gateways-tests--at "7 Ann")
        (passepartout-gateways-take-away)
        (passepartout-gateways-tests--at "@bot")
        (passepartout-gateways-take-away)
        (passepartout-gateways-link)
        (passepartout-gateways-tests--at "1555 Cid")
        (passepartout-gateways-take-away)
        (call-interactively #'passepartout-gateway-pair))
      (should (equal (nreverse asked)
                     '((:platform "telegram" :do :allow :sender "8")
                       (:platform "telegram" :do :revoke :sender "7")
                       (:platform "telegram" :do :unlink)
                       (:platform "telegram" :do :link)
                       (:platform "signal" :do :revoke
                        :sender "0123abcd-0000-4000-8000-00000000000a")
                       (:platform "signal" :do :pair)))))))

(ert-deftest passepartout-gateways-asks-for-a-token-where-there-is-none ()
  (let ((answer (copy-tree passepartout-gateways-tests--payload)) asked)
    (setf (plist-get (car (plist-get answer :gateways)) :configured) nil)
    (cl-letf (((symbol-function 'read-passwd) (lambda (&rest _) "12:AA")))
      (dolist (shown (list passepartout-gateways-tests--payload answer))
        (let ((passepartout-gateways-tests--payload shown))
          (passepartout-gateways-tests--with
            (cl-letf (((symbol-function 'passepartout-request)
                       (lambda (action payload _)
                         (when (eq action :gateway) (push payload asked)))))
              (passepartout-gateways-tests--at "@bot")
              (passepartout-gateways-link)
              (passepartout-gateways-link t)
              (passepartout-gateways-tests--at "signal")
              (passepartout-gateways-link t))))))
    (should (equal (mapcar (lambda (payload) (plist-get payload :token))
                           (nreverse asked))
                   '(nil "12:AA" nil "12:AA" "12:AA" nil)))))

(ert-deftest passepartout-gateways-asks-which-one-gets-a-code ()
  (let (asked)
    (cl-letf (((symbol-function 'passepartout-request)
               (lambda (_action payload _then) (push payload asked)))
              ((symbol-function 'completing-read)
               (lambda (_prompt names &rest _) (car (last names)))))
      (with-temp-buffer (call-interactively #'passepartout-gateway-pair)))
    (should (equal asked '((:platform "signal" :do :pair))))))

(ert-deftest passepartout-gateways-lets-decide-only-who-is-let-in ()
  (passepartout-gateways-tests--with
    (dolist (row '("8 Bob" "9 Eve" "@bot" "6 Zoe"))
      (passepartout-gateways-tests--at row)
      (should-error (passepartout-gateways-let-decide) :type 'user-error))
    (dolist (row '("8 Bob" "9 Eve" "@bot" "7 Ann"))
      (passepartout-gateways-tests--at row)
      (should-error (passepartout-gateways-decide-no-more) :type 'user-error))
    (let (asked)
      (cl-letf (((symbol-function 'passepartout-request)
                 (lambda (action payload _)
                   (when (eq action :gateway) (push payload asked)))))
        (passepartout-gateways-tests--at "7 Ann")
        (passepartout-gateways-let-decide)
        (passepartout-gateways-tests--at "6 Zoe")
        (passepartout-gateways-decide-no-more)
        (passepartout-gateways-tests--at "6 Zoe")
        (passepartout-gateways-take-away))
      (should (equal (nreverse asked)
                     '((:platform "telegram" :do :let-decide :sender "7")
                       (:platform "telegram" :do :decide-no-more :sender "6")
                       (:platform "telegram" :do :revoke :sender "6")))))))

(ert-deftest passepartout-gateways-a-no-changes-nothing ()
  (passepartout-gateways-tests--with
    (cl-letf (((symbol-function 'yes-or-no-p) #'ignore)
              ((symbol-function 'passepartout-request)
               (lambda (&rest _) (ert-fail "Something was asked for"))))
      (passepartout-gateways-tests--at "8 Bob")
      (passepartout-gateways-allow)
      (passepartout-gateways-tests--at "7 Ann")
      (passepartout-gateways-let-decide)
      (passepartout-gateways-tests--at "@bot")
      (passepartout-gateways-link))))

(provide 'passepartout-gateways-tests)
;;; passepartout-gateways-tests.el ends here
