;;; passepartout-fake.el --- A core of paper for the tests  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; A transport that keeps what is sent and hands over what a test
;; injects, so that the surfaces can be tested without the module.  It
;; takes and gives text, as the real one does.

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
(require 'passepartout-trace)
(require 'passepartout-memory)
(require 'passepartout-doctor)

(defvar passepartout-fake-sent nil
  "The messages that were sent, the newest first.")

(defvar passepartout-fake-waiting nil
  "The texts that wait to be received.")

(defvar passepartout-fake-settings nil
  "The settings that the core was started with.")

(defvar passepartout-fake-time 0.0
  "The time in seconds that the plan buffer sees.")

(defun passepartout-fake-transport ()
  "Return a transport of paper."
  (list :start (lambda (_pipe settings)
                 (setq passepartout-fake-settings (read settings)))
        :send (lambda (text)
                (should (stringp text))
                (push (read text) passepartout-fake-sent))
        :receive (lambda (bytes)
                   (let ((taken nil) (size 0))
                     (while (and passepartout-fake-waiting (< size bytes))
                       (setq size (+ size (string-bytes
                                           (car passepartout-fake-waiting))))
                       (push (pop passepartout-fake-waiting) taken))
                     (nreverse taken)))
        :stop #'ignore
        :version (lambda () passepartout-version)))

(defmacro passepartout-fake-with (&rest body)
  "Run BODY with a fresh core of paper that has been started."
  (declare (indent 0) (debug t))
  `(let ((passepartout-module--transport (passepartout-fake-transport))
         (passepartout-fake-sent nil)
         (passepartout-fake-waiting nil)
         (passepartout-fake-settings nil)
         (passepartout-fake-time 1000.0)
         (passepartout-plan--clock (lambda () passepartout-fake-time))
         (passepartout-plan--plans nil)
         (passepartout-plan--moved 0)
         (passepartout-plan--brought nil)
         ;; A window that is high enough for everything.
         (passepartout-plan--window-end (lambda (_window) (point-max)))
         ;; And wide enough: one of a batch Emacs has ten columns.
         (passepartout-list--width 100)
         (passepartout-events--notes nil)
         (passepartout-chat--turns nil)
         (passepartout-status--last nil)
         (inhibit-message t))
     (unwind-protect
         (save-window-excursion
           (passepartout-start)
           (setq passepartout-fake-sent nil)
           ,@body)
       (passepartout-fake--clean))))

(defun passepartout-fake--clean ()
  "Kill what a test has left and stop the core of paper."
  (dolist (buffer (buffer-list))
    (when (or (buffer-local-value 'passepartout-chat-mode buffer)
              (string-prefix-p "*Passepartout" (buffer-name buffer))
              (and (buffer-local-boundp 'passepartout-sense--mirror buffer)
                   (buffer-local-value 'passepartout-sense--mirror buffer)))
      (with-current-buffer buffer
        (set-buffer-modified-p nil)
        (let ((kill-buffer-query-functions nil))
          (kill-buffer buffer)))))
  (dolist (name '(passepartout-sense--timer passepartout-sense--idle-timer))
    (when (timerp (symbol-value name)) (cancel-timer (symbol-value name)))
    (set name nil))
  (setq passepartout-sense--buffers nil)
  (passepartout-stop))

(defun passepartout-fake-inject (type payload &optional session)
  "Let the core send a message of TYPE with PAYLOAD in SESSION."
  (setq passepartout-fake-waiting
        (append passepartout-fake-waiting
                (list (let ((print-escape-newlines nil))
                        (prin1-to-string
                         `(:type ,type
                           :meta ,(and session `(:session-id ,session))
                           :payload ,payload))))))
  (passepartout-events--drain)
  (passepartout-fake-settle))

(defun passepartout-fake-settle ()
  "Run the timers that are due at once."
  (let ((rounds 0))
    (while (and (< rounds 1000)
                (seq-some (lambda (timer)
                            (memq (timer--function timer)
                                  '(passepartout-events--drain
                                    passepartout-events--more-slices
                                    passepartout-arrive--now
                                    passepartout-arrive--call)))
                          timer-list))
      (setq rounds (1+ rounds))
      (dolist (timer (copy-sequence timer-list))
        (when (memq (timer--function timer)
                    '(passepartout-events--drain passepartout-events--more-slices
                      passepartout-arrive--now passepartout-arrive--call))
          (cancel-timer timer)
          (apply (timer--function timer) (timer--args timer)))))))

(defun passepartout-fake-sent (name)
  "Return the payloads that were sent with sensor or action NAME, in order."
  (let (found)
    (dolist (message passepartout-fake-sent)
      (let ((payload (plist-get message :payload)))
        (when (eq name (or (plist-get payload :sensor)
                           (plist-get payload :action)))
          (push payload found))))
    found))

(defun passepartout-fake-answer (name payload)
  "Answer the last request called NAME with PAYLOAD."
  (let ((request (car (last (passepartout-fake-sent name)))))
    (should request)
    (passepartout-fake-inject
     :response `(:action ,name :request ,(plist-get request :request)
                 ,@payload))))

(provide 'passepartout-fake)
;;; passepartout-fake.el ends here
