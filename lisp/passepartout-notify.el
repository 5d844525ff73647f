;;; passepartout-notify.el --- Tell the desktop what waits for you  -*- lexical-binding: t; -*-

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

;; With `passepartout-notify' the desktop says that a flight plan waits
;; or a job has ended, while no frame of this Emacs has the focus.  The
;; titles of these are said only where the option has it so; the text of
;; a plan and the report of a job never are.
;;
;; The message goes to the desktop by D-Bus without waiting for an
;; answer: `notifications-notify' waits for one, and a desktop that is
;; stuck would hold Emacs up.  Where there is no D-Bus that is said once.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(require 'seq)
(eval-when-compile (require 'subr-x))

(declare-function dbus-call-method-asynchronously "dbus"
                  (bus service path interface method handler &rest args))
(declare-function passepartout-plan-pending "passepartout-plan-draw" ())

(defconst passepartout-notify--delay 1
  "Seconds in which what comes together is told as one thing.")

(defvar passepartout-notify--plans nil
  "The ids of the plans that are to be told of, the newest first.")

(defvar passepartout-notify--jobs nil
  "The jobs that are to be told of, the newest first.")

(defvar passepartout-notify--timer nil
  "The timer that tells the desktop, or nil.")

(defvar passepartout-notify--ran nil
  "When each job ran last, as (KEY . TIME) each.")

(defvar passepartout-notify--since nil
  "When the core was looked at first; what ran before is no news.")

(defconst passepartout-notify--pause 60
  "Seconds from one look at the jobs to the next.")

(defvar passepartout-notify--looking nil
  "The timer that looks at the jobs while `passepartout-notify' is on.")

(defvar passepartout-notify--failed nil
  "Whether it was said that the desktop cannot be told.")

;;;; Words

(defun passepartout-notify--title (title)
  "Return TITLE as one line that a desktop does not take for markup."
  (replace-regexp-in-string
   "[&<>]"
   (lambda (sign) (cdr (assoc sign '(("&" . "&amp;") ("<" . "&lt;")
                                     (">" . "&gt;")))))
   (passepartout-view-line title 80) t t))

(defun passepartout-notify--sentence (one many titles)
  "Return what the desktop says of the things that have TITLES.
ONE says it of one and MANY, a format, of their number.  The first title
follows, if `passepartout-notify' has it so."
  (when titles
    (let ((more (1- (length titles))))
      (concat (if (> more 0) (format many (1+ more)) one)
              (if (not (eq passepartout-notify 'titles))
                  "."
                (concat ": " (passepartout-notify--title (car titles))
                        (if (> more 0) (format " and %d more" more) "")))))))

(defun passepartout-notify--text ()
  "Return what the desktop is to say, or nil.
Plans that were decided about meanwhile are left out."
  (let ((plans (seq-filter (lambda (plan)
                             (member (plist-get plan :id)
                                     passepartout-notify--plans))
                           (passepartout-plan-pending))))
    (string-join
     (delq nil
           (list (passepartout-notify--sentence
                  "A flight plan waits for you" "%d flight plans wait for you"
                  (mapcar (lambda (plan) (plist-get plan :title)) plans))
                 (passepartout-notify--sentence
                  "A job has ended" "%d jobs have ended"
                  (mapcar (lambda (job) (plist-get job :title))
                          (reverse passepartout-notify--jobs)))))
     "\n")))

;;;; Telling

(defun passepartout-notify--away-p ()
  "Return non-nil when no frame of this Emacs is known to have the focus."
  (not (seq-some (lambda (frame) (eq t (frame-focus-state frame)))
                 (frame-list))))

(defun passepartout-notify--send (text)
  "Have the desktop say TEXT, and wait for nothing."
  (condition-case problem
      (progn
        (unless (and (featurep 'dbusbind) (require 'dbus nil t))
          (error "This Emacs has no D-Bus"))
        (dbus-call-method-asynchronously
         :session "org.freedesktop.Notifications"
         "/org/freedesktop/Notifications" "org.freedesktop.Notifications"
         "Notify" nil
         :string "Passepartout" :uint32 0 :string "" :string "Passepartout"
         :string text '(:array) '(:array :signature "{sv}") :int32 -1))
    (error
     (unless passepartout-notify--failed
       (setq passepartout-notify--failed t)
       (message "The desktop cannot be told: %s; passepartout-notify nil \
turns this off"
                (error-message-string problem))))))

(defun passepartout-notify--tell ()
  "Have the desktop say what has come together, unless you are here."
  (setq passepartout-notify--timer nil)
  (let ((text (passepartout-notify--text)))
    (setq passepartout-notify--plans nil
          passepartout-notify--jobs nil)
    (when (and passepartout-notify
               (not (string-empty-p text))
               (passepartout-notify--away-p))
      (passepartout-notify--send text))))

(defun passepartout-notify--soon ()
  "Have the desktop told in a moment."
  (unless passepartout-notify--timer
    (setq passepartout-notify--timer
          (run-at-time passepartout-notify--delay nil
                       #'passepartout-notify--tell))))

;;;; What happens

(defun passepartout-notify--parked (payload _meta)
  "Note that the plan in PAYLOAD has begun to wait."
  (when passepartout-notify
    (push (plist-get (plist-get payload :plan) :id)
          passepartout-notify--plans)
    (passepartout-notify--soon)))

(defun passepartout-notify--ran-p (job)
  "Return non-nil when JOB has run since it was looked at last."
  (let ((before (assoc (plist-get job :job) passepartout-notify--ran))
        (ran (plist-get job :ran)))
    (and ran
         (not (equal ran (cdr before)))
         ;; A job may be known only now that its file has been read.
         (or before
             (ignore-errors
               (time-less-p passepartout-notify--since
                            (passepartout-view-parse-time ran)))))))

(defun passepartout-notify--took (payload)
  "Note which of the jobs in PAYLOAD ran since they were looked at last."
  (unless (plist-get payload :error)
    (let ((jobs (seq-remove (lambda (job)
                              (equal (plist-get job :state) "running"))
                            (plist-get payload :jobs))))
      (if passepartout-notify--since
          (dolist (job (seq-filter #'passepartout-notify--ran-p jobs))
            (push job passepartout-notify--jobs)
            (passepartout-notify--soon))
        (setq passepartout-notify--since (current-time)))
      (dolist (job jobs)
        (setf (alist-get (plist-get job :job) passepartout-notify--ran
                         nil nil #'equal)
              (plist-get job :ran))))))

(defun passepartout-notify--look ()
  "Ask which jobs ran; the core tells of no end of a run by itself.
Nothing is asked where that is not wanted, and without a core."
  (when (and passepartout-notify (passepartout-running-p))
    (passepartout-request :jobs nil #'passepartout-notify--took)))

(defun passepartout-notify--started ()
  "Begin anew with a core that has just started."
  (setq passepartout-notify--ran nil
        passepartout-notify--since (and passepartout-notify (current-time))
        passepartout-notify--plans nil
        passepartout-notify--jobs nil)
  (unless passepartout-notify--looking
    (setq passepartout-notify--looking
          (run-at-time passepartout-notify--pause passepartout-notify--pause
                       #'passepartout-notify--look))))

(defun passepartout-notify--stopped (payload _meta)
  "Look at no jobs any more when the core, as PAYLOAD says, has stopped."
  (when (and passepartout-notify--looking
             (equal (plist-get payload :state) "stopped"))
    (cancel-timer passepartout-notify--looking)
    (setq passepartout-notify--looking nil)))

(passepartout-subscribe :event :plan-parked #'passepartout-notify--parked)
(passepartout-subscribe :status nil #'passepartout-notify--stopped)
(add-hook 'passepartout-start-hook #'passepartout-notify--started)

(provide 'passepartout-notify)
;;; passepartout-notify.el ends here
