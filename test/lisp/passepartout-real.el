;;; passepartout-real.el --- A world for the real module  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; What tests and benches of the real module share: a memex, store and
;; settings of their own in a temporary folder, a scripted model in
;; another Emacs, and waiting until something is so.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-status)
(require 'passepartout-act)
(require 'passepartout-sense)
(require 'passepartout-plan)
(require 'passepartout-log)
(require 'passepartout-chat)
(require 'passepartout-road)

(defconst passepartout-real--here
  (file-name-directory (or load-file-name buffer-file-name))
  "Folder of this file.")

(defvar passepartout-real-patience (string-to-number (or (getenv "PASSEPARTOUT_PATIENCE") "60"))
  "Seconds to wait for something before it counts as never coming.")

(defvar passepartout-real-world nil
  "Folder of the world of the test that runs.")

(defvar passepartout-real-lines nil
  "The payloads of the lines of the log that came, the newest first.")

(defvar passepartout-real--server nil
  "The process of the scripted model.")

;;;; Waiting

(defun passepartout-real-wait (what predicate)
  "Wait until PREDICATE returns non-nil and return that; WHAT names it."
  (let ((until (+ (float-time) passepartout-real-patience))
        (value nil))
    (while (and (not (setq value (funcall predicate)))
                (< (float-time) until))
      (accept-process-output nil 0.01))
    (or value
        (ert-fail (list "waited in vain for" what
                        :status passepartout-status--last
                        :log (seq-take passepartout-real-lines 12)
                        :notes (seq-take passepartout-events--notes 12)
                        :chat (passepartout-real-chat-text))))))

(defmacro passepartout-real-until (&rest body)
  "Wait until BODY returns non-nil and return that."
  (declare (indent 0) (debug t))
  `(passepartout-real-wait ',body (lambda () ,@body)))

;;;; The world

(defun passepartout-real-file (name)
  "Return the absolute name of NAME in the world."
  (expand-file-name name passepartout-real-world))

(defun passepartout-real-write (name text)
  "Write TEXT to the file NAME of the world and return its absolute name."
  (let ((file (passepartout-real-file name))
        (coding-system-for-write 'utf-8-unix))
    (make-directory (file-name-directory file) t)
    (write-region text nil file nil 'quiet)
    file))

(defun passepartout-real-read (name)
  "Return the text of the file NAME of the world."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8-unix))
      (insert-file-contents (passepartout-real-file name)))
    (buffer-string)))

(defun passepartout-real--log (payload _meta)
  "Keep PAYLOAD, a line of the log."
  (push payload passepartout-real-lines))

(defun passepartout-real-call (function)
  "Call FUNCTION in a fresh world and take the world down afterwards."
  (let* ((passepartout-real-world
          (file-name-as-directory
           (file-truename (make-temp-file "passepartout-real-" t))))
         (default-directory passepartout-real-world)
         (process-environment
          (append (mapcar (lambda (place)
                            (let ((folder (passepartout-real-file (cdr place))))
                              (make-directory folder t)
                              (concat (car place) "=" folder)))
                          '(("HOME" . "home") ("XDG_STATE_HOME" . "state")
                            ("XDG_CONFIG_HOME" . "config")))
                  process-environment))
         (passepartout-module--transport nil)
         (passepartout-directories (list (passepartout-real-file "memex")))
         (passepartout-store nil)
         (passepartout-project (passepartout-real-file "project"))
         (passepartout-provider-cascade nil)
         (passepartout-providers nil)
         (passepartout-permissions nil)
         (passepartout-chat-directory nil)
         (passepartout-events--notes nil)
         (passepartout-chat--turns nil)
         (passepartout-plan--plans nil)
         (passepartout-plan--window-end passepartout-plan--window-end)
         (passepartout-status--last nil)
         (passepartout-real-lines nil)
         (create-lockfiles nil)
         (inhibit-message t))
    (make-directory (passepartout-real-file "memex") t)
    (make-directory passepartout-project t)
    (passepartout-subscribe :log nil #'passepartout-real--log)
    (unwind-protect
        (save-window-excursion (funcall function))
      (passepartout-unsubscribe :log nil #'passepartout-real--log)
      (passepartout-real--clean)
      (delete-directory passepartout-real-world t))))

(defmacro passepartout-real-with (&rest body)
  "Run BODY in a fresh world, or skip the test when there is no module."
  (declare (indent 0) (debug t))
  `(if (not (getenv "PASSEPARTOUT_MODULE"))
       (progn (message "PASSEPARTOUT_MODULE names no module: skipped")
              (ert-skip "PASSEPARTOUT_MODULE names no module"))
     (passepartout-real-call (lambda () ,@body))))

(defun passepartout-real--clean ()
  "Stop the core and the scripted model, and kill what the test has left."
  (dolist (buffer (buffer-list))
    (when (or (buffer-local-value 'passepartout-chat-mode buffer)
              (string-prefix-p "*Passepartout" (buffer-name buffer))
              (let ((file (buffer-file-name buffer)))
                (and file (string-prefix-p passepartout-real-world
                                           (file-truename file)))))
      (with-current-buffer buffer
        (set-buffer-modified-p nil)
        (let ((kill-buffer-query-functions nil))
          (kill-buffer buffer)))))
  (dolist (name '(passepartout-sense--timer passepartout-sense--idle-timer))
    (when (timerp (symbol-value name)) (cancel-timer (symbol-value name)))
    (set name nil))
  (setq passepartout-sense--buffers nil)
  (passepartout-stop)
  (when (process-live-p passepartout-real--server)
    (delete-process passepartout-real--server))
  (setq passepartout-real--server nil))

(defun passepartout-real-start ()
  "Start the core and wait until it has read the memex."
  (passepartout-start)
  (passepartout-real-until
    (seq-some (lambda (line)
                (string-search "the memex has" (plist-get line :text)))
              passepartout-real-lines)))

;;;; The scripted model

(defun passepartout-real-serve (&rest script)
  "Start a model that follows SCRIPT and make it the only provider."
  (let ((folder (passepartout-real-file "model/"))
        (print-length nil) (print-level nil))
    (passepartout-real-write "model/script.eld" (prin1-to-string script))
    (setq passepartout-real--server
          (start-process "fake-model" nil
                         (expand-file-name invocation-name
                                           invocation-directory)
                         "-Q" "--batch" "-l"
                         (expand-file-name "fake-model-server.el"
                                           passepartout-real--here)
                         "-f" "fake-model-server-run" folder))
    (set-process-query-on-exit-flag passepartout-real--server nil)
    (passepartout-real-until (file-exists-p (concat folder "port")))
    (setq passepartout-providers
          `(("fake" :kind "openai"
             :url ,(format "http://127.0.0.1:%s/v1/"
                           (passepartout-real-read "model/port"))
             :model "fake-1" :local t))
          passepartout-provider-cascade '("fake"))))

(defun passepartout-real-asked (number)
  "Return the messages of request NUMBER, from 1, that the model was sent."
  (alist-get 'messages
             (json-parse-string
              (passepartout-real-read (format "model/%d.json" number))
              :object-type 'alist :array-type 'list)))

(defun passepartout-real-results (number)
  "Return the results of tools in request NUMBER, in order."
  (delq nil (mapcar (lambda (message)
                      (and (equal (alist-get 'role message) "tool")
                           (alist-get 'content message)))
                    (passepartout-real-asked number))))

(defun passepartout-real-args (&rest pairs)
  "Return PAIRS, names and values in turn, as a JSON object."
  (let (alist)
    (while pairs
      (push (cons (intern (pop pairs)) (pop pairs)) alist))
    (json-serialize (nreverse alist))))

;;;; The chat

(defun passepartout-real-chat ()
  "Return the buffer of the chat, or nil."
  (seq-find (lambda (buffer)
              (buffer-local-value 'passepartout-chat-mode buffer))
            (buffer-list)))

(defun passepartout-real-chat-text ()
  "Return the text of the chat, or nil."
  (let ((buffer (passepartout-real-chat)))
    (and buffer (with-current-buffer buffer
                  (buffer-substring-no-properties (point-min) (point-max))))))

(defun passepartout-real-key (keys)
  "Do what KEYS do in the current buffer."
  (let ((command (key-binding (kbd keys))))
    (should (commandp command))
    (call-interactively command)))

(defun passepartout-real-ask (question)
  "Ask QUESTION at the end of the chat, with its keys."
  (let ((buffer (or (passepartout-real-chat)
                    (progn (passepartout-chat) (current-buffer)))))
    (switch-to-buffer buffer)
    (passepartout-chat-next)
    (goto-char (point-max))
    (insert question)
    (passepartout-real-key "C-c RET")))

(defun passepartout-real-answers ()
  "Return the answers of the chat that are finished, in order, with drawers."
  (let ((text (passepartout-real-chat-text)) (from 0) answers)
    (while (string-match
            (concat "^\\*\\* Answer\n:PROPERTIES:\n:PP_ROLE: assistant\n:END:\n"
                    "\\(\\(?:.*\n\\)*?:PASSEPARTOUT:\n\\(?:.*\n\\)*?:END:\\)")
            text from)
      (push (match-string 1 text) answers)
      (setq from (match-end 0)))
    (nreverse answers)))

(defun passepartout-real-answer (number)
  "Wait for the answer NUMBER, from 1, to be finished and return it."
  (passepartout-real-wait
   (list 'answer number)
   (lambda () (nth (1- number) (passepartout-real-answers)))))

;;;; Plans

(defun passepartout-real-plan (&optional text)
  "Wait for a plan, show it, let the time pass that it must be seen.
With TEXT wait for one that shows it; another may wait from before."
  (let ((ahead (- (funcall passepartout-plan--clock) (float-time)))
        (plan (passepartout-real-until
                (seq-find (lambda (plan)
                            (or (null text)
                                (string-search text (plist-get plan :title))))
                          (passepartout-plan-pending)))))
    (setq passepartout-plan--clock (lambda () (+ (float-time) ahead))
          ;; The window of a batch Emacs is a few characters wide.
          passepartout-plan--window-end (lambda (_window) (point-max)))
    (passepartout-flight-plans)
    (goto-char (passepartout-plan--start (plist-get plan :id)))
    (set-window-start nil (point-min))
    (passepartout-real-until
      (progn (passepartout-plan--look)
             (passepartout-plan--seen-p (passepartout-plan--node-at (point)))))
    ;; It never goes back: what was shown a moment ago would count as new.
    (cl-incf ahead (* 3 passepartout-approval-delay))
    (append plan (list :diff (passepartout-real--diff)))))

(defun passepartout-real--diff ()
  "Return the change that the plan at point shows."
  (save-excursion
    (if (search-forward "\nThe change\n" nil t)
        (let ((start (point)))
          (search-forward "\n\nEnd of plan")
          (replace-regexp-in-string
           "^: ?" ""
           (buffer-substring-no-properties start (match-beginning 0))))
      "")))

;;;; An Emacs that will be killed

(defun passepartout-real-child ()
  "Add headings by approved plans until this Emacs is killed.
The title of each one that is done is written to the file acknowledged
of the world that PASSEPARTOUT_REAL_WORLD names."
  (setq passepartout-real-world (getenv "PASSEPARTOUT_REAL_WORLD")
        passepartout-module-file (getenv "PASSEPARTOUT_MODULE")
        passepartout-directories (list (passepartout-real-file "memex"))
        passepartout-project (passepartout-real-file "project")
        passepartout-provider-cascade '("recall")
        create-lockfiles nil
        inhibit-message t)
  (passepartout-subscribe :log nil #'passepartout-real--log)
  (passepartout-real-start)
  (dotimes (number 1000000)
    (let ((title (format "Item %d of process %d" number (emacs-pid))) id)
      (passepartout-real-ask (format "add a todo “%s” under Boat" title))
      (setq id (plist-get (passepartout-real-plan title) :id))
      (passepartout-real-key "C-c C-c")
      (passepartout-real-until
        (equal (plist-get (passepartout-plan--find id) :status) "done"))
      (write-region (concat title "\n") nil
                    (passepartout-real-file "acknowledged") t 'quiet))))

;;;; An Emacs beside this one

(defun passepartout-real-owner ()
  "Have the core run in this Emacs until it is killed.
It writes the file owner of the world that PASSEPARTOUT_REAL_WORLD
names when it has read the memex."
  (setq passepartout-real-world (getenv "PASSEPARTOUT_REAL_WORLD")
        passepartout-module-file (getenv "PASSEPARTOUT_MODULE")
        passepartout-directories (list (passepartout-real-file "memex"))
        passepartout-project (passepartout-real-file "project")
        passepartout-provider-cascade '("recall")
        create-lockfiles nil
        inhibit-message t)
  (passepartout-subscribe :log nil #'passepartout-real--log)
  (passepartout-real-start)
  (passepartout-real-write "owner" "It runs.\n")
  (while t (accept-process-output nil 1)))

(defun passepartout-real-beside (function)
  "Start another Emacs in this world that calls FUNCTION; return its process."
  (let* ((process-environment
          (cons (concat "PASSEPARTOUT_REAL_WORLD=" passepartout-real-world)
                process-environment))
         (child (start-process
                 "beside" nil
                 (expand-file-name invocation-name invocation-directory)
                 "-Q" "--batch" "-L" passepartout-real--here
                 "-L" (expand-file-name "../../lisp" passepartout-real--here)
                 "-l" "passepartout-real" "-f" (symbol-name function))))
    (set-process-query-on-exit-flag child nil)
    child))

(defun passepartout-real-said (text)
  "Return non-nil when a line of the log with TEXT has come."
  (seq-some (lambda (line) (string-search text (plist-get line :text)))
            passepartout-real-lines))

(provide 'passepartout-real)
;;; passepartout-real.el ends here
