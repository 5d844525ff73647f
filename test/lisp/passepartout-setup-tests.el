;;; passepartout-setup-tests.el --- Tests of the first run  -*- lexical-binding: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What is asked at the first run, what is saved of it, and what is said.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'passepartout-setup)

(defmacro passepartout-setup-tests--with (answers &rest body)
  "Run BODY; what is read is taken from ANSWERS, a list of texts.
A symbol among them quits.  SAVED is what was saved, the last first."
  (declare (indent 1))
  `(let* ((answers ,answers)
          (passepartout-directories nil)
          (passepartout-provider-cascade nil)
          (passepartout-day-budget nil)
          (saved nil)
          (next (lambda (&rest _)
                  (let ((answer (pop answers)))
                    (if (stringp answer) answer (signal 'quit nil))))))
     (ignore saved)
     (cl-letf (((symbol-function 'read-directory-name) next)
               ((symbol-function 'completing-read) next)
               ((symbol-function 'read-string) next)
               ((symbol-function 'passepartout-running-p) #'ignore)
               ((symbol-function 'y-or-n-p) #'ignore)
               ((symbol-function 'passepartout-events--key)
                (lambda (host) (and (equal host "api.mistral.ai") "key")))
               ((symbol-function 'customize-save-variable)
                (lambda (option value) (push (cons option value) saved))))
       (unwind-protect
           (progn ,@body)
         (when (get-buffer passepartout-setup--buffer-name)
           (kill-buffer passepartout-setup--buffer-name))))))

(defun passepartout-setup-tests--said ()
  "Return what the buffer of the setup says."
  (with-current-buffer passepartout-setup--buffer-name (buffer-string)))

(ert-deftest passepartout-setup-saves-what-was-answered ()
  (let ((folder (directory-file-name (make-temp-file "setup-" t))))
    (unwind-protect
        (pcase-dolist
            (`(,answers ,expected ,said)
             `((("" "") ((passepartout-directories ,folder))
                "No model is asked: answers come from your notes.")
               (("ollama")
                ((passepartout-provider-cascade "ollama" "recall")
                 (passepartout-directories ,folder))
                "ollama wants no key.")
               (("mistral" "2.5")
                ((passepartout-day-budget . 2.5)
                 (passepartout-provider-cascade "mistral" "recall")
                 (passepartout-directories ,folder))
                "auth-source has a key for api.mistral.ai.")
               (("openai" "much" "0" "")
                ((passepartout-provider-cascade "openai" "recall")
                 (passepartout-directories ,folder))
                "machine api.openai.com login apikey password KEY")))
          (passepartout-setup-tests--with (cons folder answers)
            (passepartout-setup)
            (should (equal saved expected))
            (should (string-search said (passepartout-setup-tests--said)))
            (should-not (string-search "password key"
                                       (passepartout-setup-tests--said)))))
      (delete-directory folder t))))

(ert-deftest passepartout-setup-leaves-what-is-set ()
  (let ((folder (directory-file-name (make-temp-file "setup-" t))))
    (unwind-protect
        (pcase-dolist
            (`(,answers ,expected ,said)
             `((("") nil "ollama, then mistral answers, as it was set.")
               (("recall") ((passepartout-provider-cascade "recall"))
                "No model is asked")
               (("mistral" "")
                ((passepartout-provider-cascade "mistral" "ollama"))
                "auth-source has a key for api.mistral.ai.")
               (("ollama") nil
                "passepartout-provider-cascade stays (\"ollama\" \"mistral\").")
               (("mistral" "0")
                ((passepartout-day-budget)
                 (passepartout-provider-cascade "mistral" "ollama"))
                "passepartout-day-budget is nil from now on.")))
          (passepartout-setup-tests--with (cons folder answers)
            (setq passepartout-directories (list folder "/other")
                  passepartout-provider-cascade '("ollama" "mistral")
                  passepartout-day-budget 3)
            (passepartout-setup)
            (should (equal saved expected))
            (should (string-search said (passepartout-setup-tests--said)))))
      (delete-directory folder t))))

(ert-deftest passepartout-setup-puts-a-folder-before-the-others ()
  (let ((folder (directory-file-name (make-temp-file "setup-" t))))
    (unwind-protect
        (passepartout-setup-tests--with (list folder "")
          (setq passepartout-directories '("/one" "/two"))
          (passepartout-setup)
          (should (equal saved `((passepartout-directories
                                  ,folder "/one" "/two")))))
      (delete-directory folder t))))

(defvar org-directory)
(defvar org-roam-directory)

(ert-deftest passepartout-setup-leaves-what-the-packages-name ()
  (let* ((org-directory (directory-file-name (make-temp-file "setup-" t)))
         (org-roam-directory (directory-file-name (make-temp-file "setup-" t)))
         (said (format "Notes are read where your packages have them: %s, %s."
                       org-directory org-roam-directory)))
    (unwind-protect
        (pcase-dolist
            (`(,folder ,expected ,said)
             `((,org-directory nil ,said)
               ;; Another one is chosen: then it is that one alone.
               (,org-roam-directory
                ((passepartout-directories ,org-roam-directory))
                "passepartout-directories is ")))
          (passepartout-setup-tests--with (list folder "")
            (passepartout-setup)
            (should (equal saved expected))
            (should (string-search said (passepartout-setup-tests--said)))))
      (delete-directory org-directory t)
      (delete-directory org-roam-directory t))))

(ert-deftest passepartout-setup-takes-no-folder-that-is-none-of-notes ()
  (let ((folder (directory-file-name (make-temp-file "setup-" t))))
    (unwind-protect
        (passepartout-setup-tests--with
            (list "/" "~" (concat folder "/none") "/ssh:host:/org" folder "")
          (passepartout-setup)
          (should (equal saved `((passepartout-directories ,folder)))))
      (delete-directory folder t))))

(ert-deftest passepartout-setup-saves-nothing-when-it-is-left ()
  (let ((folder (directory-file-name (make-temp-file "setup-" t))))
    (unwind-protect
        (dolist (answers '((stop) ("mistral" stop) ("mistral" "x" stop)))
          (passepartout-setup-tests--with (cons folder answers)
            (should (equal (condition-case nil (passepartout-setup)
                             (quit 'left))
                           'left))
            (should-not saved)))
      (delete-directory folder t))))

(defconst passepartout-setup-tests--shown
  "“Say OK.” and nothing else is sent to api.mistral.ai (mistral, m) for an \
answer of at most 1 token; price $3.00 in, $15.00 out for a million tokens, \
so $0.000315 at most."
  "What a core says of a test before it is sent.")

(defun passepartout-setup-tests--press (label)
  "Press the button LABEL in the buffer of the setup."
  (with-current-buffer passepartout-setup--buffer-name
    (goto-char (point-min))
    (search-forward label)
    (push-button (match-beginning 0))))

(defmacro passepartout-setup-tests--trying (answers &rest body)
  "Run BODY where the core gives ANSWERS, and is said to be tried.
ANSWERS is a list of payloads in order; nil is none.  REQUESTS is what
was asked of it, in order."
  (declare (indent 1))
  `(let ((answered ,answers) (requests nil))
     (ignore requests)
     (cl-letf (((symbol-function 'y-or-n-p) (lambda (_) t))
               ((symbol-function 'passepartout-start) #'ignore)
               ((symbol-function 'passepartout-events-send-providers)
                (lambda (_names then) (funcall then)))
               ((symbol-function 'passepartout-request)
                (lambda (action payload function &rest _)
                  (setq requests (append requests
                                         (list (cons action payload))))
                  (let ((answer (pop answered)))
                    (when answer (funcall function answer))))))
       ,@body)))

(ert-deftest passepartout-setup-tests-a-key-as-it-was-shown ()
  (let ((folder (directory-file-name (make-temp-file "setup-" t)))
        (shown passepartout-setup-tests--shown))
    (unwind-protect
        (pcase-dolist
            (`(,answer . ,said)
             '(((:text "mistral works: api.mistral.ai took your key")
                "mistral works: api.mistral.ai took your key.\n")
               ((:why "mistral does not work: api.mistral.ai refuses the key \
[HTTP 401]: check the key.")
                "refuses the key [HTTP 401]: check the key.\n"
                "[Try again]" "[List its models]")
               ((:error "this is not what was shown")
                "mistral was not tested: this is not what was shown."
                "[Try again]" "[List its models]")
               (nil "mistral is being asked")))
          (passepartout-setup-tests--with (list folder "mistral" "")
            (passepartout-setup-tests--trying (list (list :shown shown) answer)
              (passepartout-setup)
              ;; Before anything is sent it is told what that is.
              (should (equal requests '((:key-test :provider "mistral"))))
              (let ((text (passepartout-setup-tests--said)))
                (should (string-search (concat "The test: " shown) text))
                (should (string-search "[Send it] [List its models]" text)))
              (passepartout-setup-tests--press "[Send it]")
              (should (equal (cdr requests)
                             `((:key-test :provider "mistral"
                                          :shown ,shown))))
              (let ((text (passepartout-setup-tests--said)))
                (dolist (words said) (should (string-search words text)))
                ;; It is sent once.
                (should-not (string-search "[Send it]" text))
                (should-not (string-search "The test:" text))
                (should (string-search "M-x passepartout-doctor" text))))))
      (delete-directory folder t))))

(ert-deftest passepartout-setup-offers-the-models-where-a-rule-forbids-a-test ()
  (let ((folder (directory-file-name (make-temp-file "setup-" t))))
    (unwind-protect
        (pcase-dolist
            (`(,provider ,answer ,said)
             '(("mistral" (:models ((:name "a") (:name "b")) :more 1)
                "mistral was reached and did not refuse your key, and lists 3")
               ("mistral" (:models ((:name "a" :price "1")
                                    (:name "b" :set t :price "$2.00 in")))
                "lists 2 models.  Asked is b; price $2.00 in.")
               ("mistral" (:why "api.mistral.ai refuses the key [401].")
                "that does not work: api.mistral.ai refuses the key [401].\n")
               ("ollama" (:models ((:name "a")))
                "ollama was reached, and lists 1")))
          (passepartout-setup-tests--with (list folder provider "")
            (passepartout-setup-tests--trying
                (list '(:shown "x" :why "the cap of this day is $0.00.") answer)
              (passepartout-setup)
              (let ((text (passepartout-setup-tests--said)))
                (should (string-search "cannot be tested: the cap of this day \
is $0.00.  It can be asked" text))
                (should-not (string-search "[Send it]" text)))
              (passepartout-setup-tests--press "[List its models]")
              (should (equal (cdr requests)
                             `((:model-list :provider ,provider
                                            :fresh t :contact t))))
              (should (string-search said (passepartout-setup-tests--said))))))
      (delete-directory folder t))))

(ert-deftest passepartout-setup-asks-nobody-unless-that-is-wished ()
  (let ((folder (directory-file-name (make-temp-file "setup-" t))))
    (unwind-protect
        (pcase-dolist
            (`(,provider ,wished ,answer ,requested ,said)
             '(("mistral" nil nil nil "auth-source has a key")
               ;; Without a key there is nothing to try.
               ("openai" t nil nil "auth-source has no key")
               ("mistral" t nil t "is being looked up")
               ("mistral" t (:error "it is built in") t
                "mistral was not tried: it is built in.")))
          (passepartout-setup-tests--with (list folder provider "")
            (passepartout-setup-tests--trying (list answer)
              (cl-letf (((symbol-function 'y-or-n-p) (lambda (_) wished)))
                (passepartout-setup))
              (should (equal requests
                             (and requested
                                  `((:key-test :provider ,provider)))))
              (should (string-search said
                                     (passepartout-setup-tests--said))))))
      (delete-directory folder t))))

(ert-deftest passepartout-setup-says-that-a-key-could-not-be-tried ()
  (let ((folder (directory-file-name (make-temp-file "setup-" t))))
    (unwind-protect
        (passepartout-setup-tests--with (list folder "ollama")
          (cl-letf (((symbol-function 'y-or-n-p) (lambda (_) t))
                    ((symbol-function 'passepartout-start)
                     (lambda (&rest _) (error "No module"))))
            (passepartout-setup))
          (should (string-search "ollama was not tried: No module"
                                 (passepartout-setup-tests--said))))
      (delete-directory folder t))))

(ert-deftest passepartout-setup-says-what-could-not-be-saved ()
  (let ((folder (directory-file-name (make-temp-file "setup-" t))))
    (unwind-protect
        (passepartout-setup-tests--with (list folder "")
          (cl-letf (((symbol-function 'customize-save-variable)
                     (lambda (&rest _) (error "No init file"))))
            (passepartout-setup))
          (should (equal passepartout-directories (list folder)))
          (should (string-search "it was not saved (No init file)"
                                 (passepartout-setup-tests--said))))
      (delete-directory folder t))))

(provide 'passepartout-setup-tests)
;;; passepartout-setup-tests.el ends here
