;;; passepartout-verbs-tests.el --- Tests of what the core may look up and show  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; The table is closed, answers are bounded, and no window is taken.

;;; Code:

(require 'passepartout-fake)
(require 'imenu)
(require 'passepartout-verbs)

(defun passepartout-verbs-tests--ask (verb &rest payload)
  "Let the core ask for VERB with PAYLOAD; return the answer."
  (setq passepartout-fake-sent nil)
  (passepartout-fake-inject
   :request `(:action :editor-verb :request 7 :verb ,verb ,@payload))
  (car (passepartout-fake-sent :editor-reply)))

(defmacro passepartout-verbs-tests--in (text &rest body)
  "Run BODY in a buffer of a Lisp file with TEXT in it."
  (declare (indent 1) (debug t))
  `(let* ((file (make-temp-file "passepartout" nil ".el" ,text))
          (create-lockfiles nil))
     (unwind-protect
         (passepartout-fake-with
           (save-window-excursion
             (with-current-buffer (find-file-noselect file)
               (unwind-protect
                   (progn ,@body)
                 (set-buffer-modified-p nil)
                 (kill-buffer)))))
       (delete-file file))))

(ert-deftest passepartout-verbs-are-a-closed-table ()
  (passepartout-fake-with
    (dolist (verb '("eval" "shell-command" "" nil kill-emacs))
      (let ((answer (passepartout-verbs-tests--ask verb)))
        (should-not (plist-get answer :ok))
        (should (string-match-p "does not know" (plist-get answer :text)))))))

(ert-deftest passepartout-verbs-list-buffers-and-their-parts ()
  (passepartout-verbs-tests--in "(defun my-first () 1)\n\n(defun my-second () 2)\n"
    (let ((rows (plist-get (passepartout-verbs-tests--ask "buffers") :rows)))
      (should (assoc file rows)))
    (let ((rows (plist-get (passepartout-verbs-tests--ask "index" :file file)
                           :rows)))
      (should (member (list file 1 "my-first") rows))
      (should (member (list file 3 "my-second") rows)))
    (should (= 1 (length (plist-get (passepartout-verbs-tests--ask
                                     "index" :file file :limit 1)
                                    :rows))))))

(ert-deftest passepartout-verbs-look-names-up ()
  (passepartout-verbs-tests--in "(passepartout-reply 1 nil)\n"
    (let* ((answer (passepartout-verbs-tests--ask
                    "definitions" :file file :name "passepartout-reply"))
           (row (car (plist-get answer :rows))))
      (should (plist-get answer :ok))
      (should (string-match-p "passepartout.*\\.el" (car row)))
      (should (natnump (nth 1 row))))
    (let ((answer (passepartout-verbs-tests--ask
                   "definitions" :file file :name "no-such-name-anywhere")))
      (should (plist-get answer :ok))
      (should-not (plist-get answer :rows)))))

(ert-deftest passepartout-verbs-tell-what-checkers-say ()
  (passepartout-verbs-tests--in "(one)\n(two)\n"
    (require 'flymake)
    (should-not (plist-get (passepartout-verbs-tests--ask
                            "diagnostics" :file file)
                           :rows))
    (cl-letf (((symbol-function 'flymake-diagnostics)
               (lambda (&rest _)
                 (list (flymake-make-diagnostic
                        (current-buffer) 7 9 :warning "odd\n  one")))))
      (setq-local flymake-mode t)
      (should (equal (list (list file 2 "warning: odd one"))
                     (plist-get (passepartout-verbs-tests--ask
                                 "diagnostics" :file file)
                                :rows))))
    (let ((answer (passepartout-verbs-tests--ask
                   "diagnostics" :file "/nowhere/else.el")))
      (should-not (plist-get answer :ok)))))

(ert-deftest passepartout-verbs-show-beside-and-take-no-focus ()
  (passepartout-verbs-tests--in "one\ntwo\nthree\n"
    (delete-other-windows)
    (let ((selected (selected-window))
          (buffer (window-buffer)))
      (should (plist-get (passepartout-verbs-tests--ask
                          "go-to" :file file :line 3)
                         :ok))
      (should (eq selected (selected-window)))
      (should (eq buffer (window-buffer)))
      (let ((window (get-buffer-window (get-file-buffer file))))
        (should (and window (not (eq window selected))))
        (should (= 9 (window-point window))))
      (should (plist-get (passepartout-verbs-tests--ask "open" :file file)
                         :ok))
      (should (eq selected (selected-window))))
    (insert "new\n")
    (should (plist-get (passepartout-verbs-tests--ask "diff" :file file) :ok))
    (with-current-buffer "*Passepartout Diff*"
      (should (string-match-p "^\\+new" (buffer-string)))
      (kill-buffer))))

(ert-deftest passepartout-verbs-ask-the-user-nothing ()
  (passepartout-verbs-tests--in "x\n"
    (cl-letf (((symbol-function 'imenu--make-index-alist)
               (lambda (&rest _) (read-from-minibuffer "Well? "))))
      (let ((answer (passepartout-verbs-tests--ask "index" :file file)))
        (should-not (plist-get answer :ok))
        (should (string-match-p "ask the user" (plist-get answer :text)))))
    (dolist (payload (list (list :file "relative.el")
                           (list :file "/ssh:host:/x")
                           (list :file temporary-file-directory)
                           nil))
      (should-not (plist-get (apply #'passepartout-verbs-tests--ask
                                    "open" payload)
                             :ok)))))

(ert-deftest passepartout-verbs-show-the-agenda ()
  (passepartout-fake-with
    (save-window-excursion
      (delete-other-windows)
      (let ((org-agenda-files nil)
            (selected (selected-window)))
        (should (plist-get (passepartout-verbs-tests--ask "agenda") :ok))
        (should (eq selected (selected-window)))
        (should (get-buffer-window "*Org Agenda*"))))))

(provide 'passepartout-verbs-tests)
;;; passepartout-verbs-tests.el ends here
