;;; passepartout-arrive.el --- Going to what an answer leads to  -*- lexical-binding: t; -*-

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

;; What the core answers comes in the filter of a process, at any time.
;; A file that is opened there may ask something, wherever you type by
;; then, and a window that is selected there takes your next keys.  So
;; what goes somewhere for an answer goes by way of this file: a moment
;; later, as a timer, and only if you are still where you asked.

;;; Code:

(defun passepartout-arrive-place ()
  "Return where you are now, for `passepartout-arrive'.
A command calls this before it asks the core."
  (list (selected-window) (window-buffer) num-input-keys))

(defun passepartout-arrive-here-p (place)
  "Return non-nil when you are still at PLACE, and pressed nothing since."
  (pcase-let ((`(,window ,buffer ,keys) place))
    (and (eq window (selected-window))
         (eq buffer (window-buffer))
         (not (active-minibuffer-window))
         (not (input-pending-p))
         (eql keys num-input-keys))))

(defun passepartout-arrive (place what function &rest arguments)
  "Call FUNCTION with ARGUMENTS soon, if you are then still at PLACE.
FUNCTION may visit a file or select a window.  Who has done something
else meanwhile is not taken away from it, and is told WHAT has come."
  (run-at-time 0 nil #'passepartout-arrive--now place what function
               arguments))

(defun passepartout-arrive--now (place what function arguments)
  "Call FUNCTION with ARGUMENTS if you are still at PLACE, else say WHAT."
  (if (passepartout-arrive-here-p place)
      (passepartout-arrive--call function arguments)
    (message "%s; you had gone on meanwhile" what)))

(defun passepartout-arrive-soon (function &rest arguments)
  "Call FUNCTION with ARGUMENTS soon, wherever you are then.
It may ask something, as saving a file does, and selects no window."
  (run-at-time 0 nil #'passepartout-arrive--call function arguments))

(defun passepartout-arrive--call (function arguments)
  "Call FUNCTION with ARGUMENTS, and say what goes wrong."
  (condition-case problem
      (apply function arguments)
    (error (message "%s" (error-message-string problem)))))

(defun passepartout-arrive-at-buffer (place buffer &optional function)
  "Select a window with BUFFER soon, if you are then still at PLACE.
Then call FUNCTION there, if it is non-nil."
  (passepartout-arrive
   place (format "It stands in %s" (buffer-name buffer))
   (lambda ()
     (when (buffer-live-p buffer)
       (pop-to-buffer buffer)
       (when function (funcall function))))))

(declare-function passepartout-plan-visit "passepartout-plan" (id))

(defun passepartout-arrive-at-plan (place plan)
  "Go to the flight plan PLAN soon, if you are then still at PLACE."
  (passepartout-arrive
   place "A plan waits for you in M-x passepartout-flight-plans"
   (lambda ()
     (require 'passepartout-plan)
     (passepartout-plan-visit plan))))

(provide 'passepartout-arrive)
;;; passepartout-arrive.el ends here
