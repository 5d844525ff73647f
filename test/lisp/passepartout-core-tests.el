;;; passepartout-core-tests.el --- The surfaces with the real core  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; The real module answers from a small memex, without any model: a
;; question, a plan that is approved, one that is denied, an edit of an
;; open buffer, the mirror, the doctor, the log, the trace.
;; They are skipped where there is no module.

;;; Code:

(require 'passepartout-fake)

(declare-function passepartout--mod-send "ext:passepartout-native" (text))

(defvar passepartout-core-tests--memex nil
  "The folder of the memex of a test.")

(defconst passepartout-core-tests--text
  "#+TITLE: Notes
* TODO Write the report
:PROPERTIES:
:ID: report-1
:END:
The report about the lighthouse is for Alice.
* Lighthouse
The lighthouse of Cordouan was built in 1611.
"
  "The text of the one file of the memex.")

(defmacro passepartout-core-tests--with (&rest body)
  "Run BODY with the real core over a fresh memex and an empty store."
  (declare (indent 0) (debug t))
  `(progn
     (skip-unless (or (passepartout-module-loaded-p)
                      (passepartout-module-file)))
     (let* ((world (file-truename (make-temp-file "passepartout-core" t)))
            (passepartout-core-tests--memex (expand-file-name "memex" world))
            (passepartout-directories (list passepartout-core-tests--memex))
            (passepartout-store (expand-file-name "store" world))
            (passepartout-project (expand-file-name "project" world))
            (passepartout-provider-cascade '("recall"))
            (passepartout-module--transport nil)
            (passepartout-plan--plans nil)
            (passepartout-plan--moved 0)
            (passepartout-plan--brought nil)
            (passepartout-plan--window-end (lambda (_window) (point-max)))
            (passepartout-approval-delay 0)
            (passepartout-events--notes nil)
            (passepartout-status--last nil)
            (create-lockfiles nil)
            (make-backup-files nil)
            (inhibit-message t))
       (make-directory passepartout-core-tests--memex t)
       (make-directory passepartout-project t)
       (write-region passepartout-core-tests--text nil
                     (passepartout-core-tests--file) nil 'quiet)
       (unwind-protect
           (save-window-excursion
             (passepartout-start)
             (passepartout-core-tests--until
              (eql 1 (plist-get passepartout-status--last :files)))
             ,@body
             (should-not passepartout-events--notes))
         (passepartout-fake--clean)
         (let ((buffer (find-buffer-visiting (passepartout-core-tests--file))))
           (when buffer
             (with-current-buffer buffer
               (set-buffer-modified-p nil)
               (kill-buffer))))
         (delete-directory world t)))))

(defmacro passepartout-core-tests--until (condition)
  "Handle what the core sends until CONDITION is met, for a while at most."
  (declare (debug t))
  `(let ((until (+ (float-time) 20)))
     (while (not ,condition)
       (when (> (float-time) until)
         (ert-fail (list 'not-in-time ',condition passepartout-events--notes)))
       (accept-process-output nil 0.02))))

(defun passepartout-core-tests--file ()
  "Return the file of the memex."
  (expand-file-name "notes.org" passepartout-core-tests--memex))

(defun passepartout-core-tests--on-disk ()
  "Return what is in the file of the memex."
  (with-temp-buffer
    (insert-file-contents (passepartout-core-tests--file))
    (buffer-string)))

(defun passepartout-core-tests--ask (text)
  "Ask TEXT in the chat and wait for the end of the answer."
  (goto-char (point-max))
  (insert text)
  (passepartout-chat-send)
  (passepartout-core-tests--until (null passepartout-chat--turns)))

(defun passepartout-core-tests--plan (text)
  "Ask TEXT, which leads to a plan, and go to the plan."
  (passepartout-chat)
  (passepartout-core-tests--ask text)
  (passepartout-core-tests--until (passepartout-plan-pending))
  (passepartout-flight-plans)
  (passepartout-core-tests--until
   (progn (goto-char (point-min))
          (set-window-start nil (point-min))
          (passepartout-plan--look)
          (and (search-forward "* PLAN" nil t)
               (passepartout-plan--seen-p
                (passepartout-plan--node-at (point)))))))

(ert-deftest passepartout-core-answers-from-memory ()
  (passepartout-core-tests--with
    (passepartout-chat)
    (passepartout-core-tests--ask "When was the lighthouse built?")
    (should (string-match-p "built in 1611" (buffer-string)))
    (should (string-match-p "No language model" (buffer-string)))
    (should (string-match-p "^- model :: " (buffer-string)))))

(ert-deftest passepartout-core-an-approved-plan-is-carried-out ()
  (passepartout-core-tests--with
    (passepartout-core-tests--plan "Mark write the report as done")
    (should (equal passepartout-core-tests--text
                   (passepartout-core-tests--on-disk)))
    (should (string-match-p "^: \\+\\* DONE Write the report" (buffer-string)))
    (passepartout-plan-approve)
    (passepartout-core-tests--until
     (string-match-p "\\* DONE Write the report"
                     (passepartout-core-tests--on-disk)))
    (passepartout-core-tests--until
     (progn (passepartout-chat) (goto-char (point-min))
            (re-search-forward "^- Done :: " nil t)))))

(ert-deftest passepartout-core-a-denied-plan-is-not ()
  (passepartout-core-tests--with
    (passepartout-core-tests--plan "Mark write the report as done")
    (passepartout-plan-deny "not yet")
    (passepartout-core-tests--until
     (progn (passepartout-chat) (goto-char (point-min))
            (re-search-forward "^- Denied :: " nil t)))
    (should (equal passepartout-core-tests--text
                   (passepartout-core-tests--on-disk)))))

(ert-deftest passepartout-core-an-open-buffer-is-edited-as-one-undo-step ()
  (passepartout-core-tests--with
    (let ((buffer (find-file-noselect (passepartout-core-tests--file))))
      (with-current-buffer buffer
        (buffer-enable-undo)
        (passepartout-mode 1)
        (goto-char (point-max))
        (insert "* Unsaved heading\n"))
      (passepartout-core-tests--plan "Mark write the report as done")
      (passepartout-plan-approve)
      (passepartout-core-tests--until
       (with-current-buffer buffer
         (string-match-p "\\* DONE Write the report" (buffer-string))))
      (should (equal passepartout-core-tests--text
                     (passepartout-core-tests--on-disk)))
      (with-current-buffer buffer
        (should (buffer-modified-p))
        (should (string-suffix-p "* Unsaved heading\n" (buffer-string)))
        (setq last-command 'ignore)
        (undo-boundary)
        (undo)
        (should (equal (buffer-string)
                       (concat passepartout-core-tests--text
                               "* Unsaved heading\n")))))))

(ert-deftest passepartout-core-a-plan-goes-stale-when-its-file-changes ()
  (passepartout-core-tests--with
    (passepartout-core-tests--plan "Mark write the report as done")
    (write-region (concat passepartout-core-tests--text "* More\n") nil
                  (passepartout-core-tests--file) nil 'quiet)
    (passepartout-plan-approve)
    (passepartout-core-tests--until
     (member (plist-get (car (passepartout-plan--known)) :status)
             '("stale" "failed")))
    (should (equal (concat passepartout-core-tests--text "* More\n")
                   (passepartout-core-tests--on-disk)))))

(ert-deftest passepartout-core-follows-edits-and-point ()
  (passepartout-core-tests--with
    (find-file (passepartout-core-tests--file))
    (passepartout-mode 1)
    (goto-char (point-max))
    (insert "* Aardvark 語\nThe aardvark sleeps in room 17.\n")
    (forward-line -1)
    (passepartout-sense--tick)
    (passepartout-sense--idle)
    (passepartout-core-tests--until
     (equal "Aardvark 語" (plist-get passepartout-status--last :focus-title)))
    (should (eql 3 (plist-get passepartout-status--last :headings)))))

(ert-deftest passepartout-core-doctor-log-and-trace-draw ()
  (passepartout-core-tests--with
    (passepartout-chat)
    (passepartout-core-tests--ask "What is due?")
    (passepartout-doctor)
    (passepartout-core-tests--until
     (string-match-p "Store" (buffer-string)))
    (passepartout-log)
    (passepartout-core-tests--until
     (string-match-p "memex" (buffer-string)))
    (passepartout-gate-trace)
    (passepartout-core-tests--until
     (string-match-p "What is due" (buffer-string)))
    (should (string-match-p "Asked of models: foreground, chat, as no other rule fits; "
                            (buffer-string)))))

(ert-deftest passepartout-core-stops-and-starts-again ()
  (passepartout-core-tests--with
    (passepartout-restart)
    (passepartout-core-tests--until
     (eql 1 (plist-get passepartout-status--last :files)))
    (let ((start (float-time)))
      (passepartout-stop)
      (should (< (- (float-time) start) 1.0)))
    (should-error (passepartout--mod-send "()") :type 'passepartout-error)
    (passepartout-start)))

(ert-deftest passepartout-core-refuses-what-it-cannot-read ()
  (passepartout-core-tests--with
    (let ((refused nil))
      (passepartout-subscribe :response :protocol-error
                              (lambda (payload _)
                                (setq refused (plist-get payload :text))))
      (passepartout-module-call :send "(:type")
      (passepartout-core-tests--until refused)
      (should (stringp refused)))))

(ert-deftest passepartout-core-what-users-call-is-known-without-a-require ()
  "Each function with an autoload cookie is also autoloaded by the main file."
  (let* ((folder (file-name-directory (locate-library "passepartout.el" t)))
         (main (with-temp-buffer
                 (insert-file-contents
                  (expand-file-name "passepartout.el" folder))
                 (buffer-string)))
         (count 0))
    (dolist (file (directory-files folder t "\\`passepartout-.*\\.el\\'"))
      (with-temp-buffer
        (insert-file-contents file)
        (while (re-search-forward
                "^;;;###autoload\n(\\(?:cl-\\)?def[a-z-]* \\([^ \n]+\\)" nil t)
          (setq count (1+ count))
          (let ((name (match-string 1)))
            (ert-info ((format "%s of %s" name (file-name-nondirectory file)))
              (should (string-match-p
                       (format "(autoload '%s " (regexp-quote name))
                       main)))))))
    (should (> count 30))))

(provide 'passepartout-core-tests)
;;; passepartout-core-tests.el ends here
