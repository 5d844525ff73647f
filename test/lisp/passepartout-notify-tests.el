;;; passepartout-notify-tests.el --- Tests of what the desktop is told  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; A desktop of paper notes what it is told; the last test asks a D-Bus
;; of its own, where there is the program for one.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-plan-tests)
(require 'passepartout-notify)
(require 'dbus)

(defvar passepartout-notify-tests--told nil
  "What the desktop was told, the last thing first.")

(defmacro passepartout-notify-tests--with (option focus &rest body)
  "Run BODY with OPTION for `passepartout-notify', and FOCUS as the frame says."
  (declare (indent 2) (debug t))
  `(let ((passepartout-notify ,option)
         (passepartout-notify-tests--told nil)
         (passepartout-notify--failed nil))
     (cl-letf (((symbol-function 'frame-focus-state)
                (lambda (&optional _frame) ,focus))
               ((symbol-function 'passepartout-notify--send)
                (lambda (text) (push text passepartout-notify-tests--told))))
       (unwind-protect
           (passepartout-fake-with ,@body)
         (when passepartout-notify--timer
           (cancel-timer passepartout-notify--timer)
           (setq passepartout-notify--timer nil))))))

(defun passepartout-notify-tests--wait ()
  "Let the moment pass in which news come together."
  (when passepartout-notify--timer
    (cancel-timer passepartout-notify--timer)
    (passepartout-notify--tell)))

(defun passepartout-notify-tests--park (&rest plans)
  "Let the core park PLANS."
  (dolist (plan plans)
    (passepartout-fake-inject :event (list :action :plan-parked :plan plan))))

(defun passepartout-notify-tests--look (&rest jobs)
  "Let the minute pass after which it is looked; JOBS are how they stand."
  (should (memq passepartout-notify--looking timer-list))
  (funcall (timer--function passepartout-notify--looking))
  (passepartout-fake-answer :jobs (list :jobs jobs)))

(ert-deftest passepartout-notify-says-what-it-may-when-nobody-is-here ()
  (let ((one (passepartout-plan-tests--plan "P1" :title "Mail <b>Eve</b> & go\u202e"))
        (two (passepartout-plan-tests--plan "P2" :title "Run: ls")))
    (dolist (case
             `((nil nil (,one) nil)
               (t t (,one) nil)
               (titles t (,one) nil)
               (t nil (,one) "A flight plan waits for you.")
               ;; A terminal that does not tell where the focus is.
               (t unknown (,one) "A flight plan waits for you.")
               (t nil (,one ,two) "2 flight plans wait for you.")
               (titles nil (,two) "A flight plan waits for you: Run: ls")
               (titles nil (,one ,two)
                       ,(concat "2 flight plans wait for you: Mail &lt;b&gt;Eve"
                                "&lt;/b&gt; &amp; go\\u{202E} and 1 more"))))
      (pcase-let ((`(,option ,focus ,plans ,expected) case))
        (passepartout-notify-tests--with option focus
          (apply #'passepartout-notify-tests--park plans)
          (passepartout-notify-tests--wait)
          (should (equal passepartout-notify-tests--told
                         (and expected (list expected)))))))))

(ert-deftest passepartout-notify-says-nothing-of-what-is-decided-by-then ()
  (passepartout-notify-tests--with t nil
    (passepartout-notify-tests--park (passepartout-plan-tests--plan "P1"))
    (passepartout-fake-inject
     :event `(:action :plan-changed
              :plan ,(passepartout-plan-tests--plan "P1" :status "denied")))
    (passepartout-notify-tests--wait)
    (should-not passepartout-notify-tests--told)
    ;; Neither of one that waited before.
    (passepartout-notify-tests--park (passepartout-plan-tests--plan "P2"))
    (passepartout-notify-tests--wait)
    (should (equal passepartout-notify-tests--told
                   '("A flight plan waits for you.")))))

(ert-deftest passepartout-notify-says-that-a-job-has-ended ()
  (let* ((later (format-time-string "%FT%TZ" (time-add nil 60) t))
         (earlier "2020-01-01T00:00:00Z")
         (job (lambda (key ran &optional state)
                (list :job key :title (concat "Job " key) :ran ran
                      :state (or state "confirmed")))))
    (passepartout-notify-tests--with 'titles nil
      ;; One that ran long ago is no news, and one that runs has not ended.
      (passepartout-notify-tests--look (funcall job "A" earlier)
                                       (funcall job "B" later "running")
                                       (funcall job "C" nil))
      (passepartout-notify-tests--wait)
      (should-not passepartout-notify-tests--told)
      (passepartout-notify-tests--look (funcall job "A" later)
                                       (funcall job "B" later)
                                       (funcall job "C" nil))
      (passepartout-notify-tests--wait)
      (should (equal passepartout-notify-tests--told
                     '("2 jobs have ended: Job A and 1 more")))
      ;; It is said once.
      (passepartout-notify-tests--look (funcall job "A" later)
                                       (funcall job "B" later))
      (passepartout-notify-tests--wait)
      (should (= 1 (length passepartout-notify-tests--told)))
      (funcall (timer--function passepartout-notify--looking))
      (passepartout-fake-answer :jobs '(:error "not told here"))
      (passepartout-notify-tests--wait)
      (should (= 1 (length passepartout-notify-tests--told)))))
  ;; Nothing is asked where it is off.
  (passepartout-notify-tests--with nil nil
    (funcall (timer--function passepartout-notify--looking))
    (should-not (passepartout-fake-sent :jobs)))
  ;; The core has stopped.
  (should-not passepartout-notify--looking))

(ert-deftest passepartout-notify-goes-on-where-there-is-no-desktop ()
  (let ((passepartout-notify--failed nil) said)
    (cl-letf (((symbol-function 'dbus-call-method-asynchronously)
               (lambda (&rest _) (signal 'dbus-error '("No bus"))))
              ((symbol-function 'message)
               (lambda (&rest words) (push (apply #'format words) said))))
      (passepartout-notify--send "one")
      (passepartout-notify--send "two"))
    (should (= 1 (length said)))
    (should (string-match-p "cannot be told: .*No bus\\|has no D-Bus"
                            (car said)))))

(ert-deftest passepartout-notify-is-understood-by-a-desktop ()
  (skip-unless (and (featurep 'dbusbind)
                    (executable-find "dbus-run-session")
                    (executable-find "dbus-monitor")))
  (with-temp-buffer
    (let ((here (file-name-directory (locate-library "passepartout-notify"))))
      (should (eq 0 (call-process
                     "dbus-run-session" nil t nil
                     (expand-file-name invocation-name invocation-directory)
                     "-Q" "--batch" "-L" here
                     "--eval"
                     (prin1-to-string
                      '(progn
                         (require 'dbus)
                         (require 'passepartout-notify)
                         (dbus-register-service
                          :session "org.freedesktop.Notifications")
                         (dbus-register-method
                          :session "org.freedesktop.Notifications"
                          "/org/freedesktop/Notifications"
                          "org.freedesktop.Notifications" "Notify"
                          (lambda (&rest arguments)
                            (princ (format "%S" arguments))
                            '(:uint32 1)))
                         (passepartout-notify--send "A flight plan waits.")
                         (let ((turns 100))
                           (while (and (> (setq turns (1- turns)) 0)
                                       (read-event nil nil 0.1))))))))))
    (should (string-search "A flight plan waits." (buffer-string)))))

(provide 'passepartout-notify-tests)
;;; passepartout-notify-tests.el ends here
