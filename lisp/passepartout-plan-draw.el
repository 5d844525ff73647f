;;; passepartout-plan-draw.el --- Flight plans as text  -*- lexical-binding: t; -*-

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

;; What is known about the plans, and how each is drawn.  All foreign
;; text stands in fixed-width areas or on single lines, shown literally;
;; nothing here is ever read back from a buffer.

;;; Code:

(require 'cl-lib)
(require 'passepartout)
(require 'passepartout-view)
(eval-when-compile (require 'subr-x))

(defconst passepartout-plan--keywords
  '("APPROVED" "DONE" "DENIED" "FAILED" "STALE" "EXPIRED" "REPLACED")
  "The Org keywords of plans that no longer wait.")

(defvar passepartout-plan--plans nil
  "The plans that are known, the oldest first.")

;;;; Data

(defun passepartout-plan--find (id)
  "Return the plan called ID, or nil."
  (seq-find (lambda (plan) (equal id (plist-get plan :id)))
            passepartout-plan--plans))

(defun passepartout-plan--pending-p (plan)
  "Return non-nil when PLAN waits."
  (equal (plist-get plan :status) "pending"))

(defun passepartout-plan-pending ()
  "Return the plans that wait."
  (seq-filter #'passepartout-plan--pending-p passepartout-plan--plans))

(defun passepartout-plan--store (plan)
  "Remember PLAN in the place of an older state of it."
  (let* ((id (plist-get plan :id))
         (old (passepartout-plan--find id)))
    (setq passepartout-plan--plans
          (if old
              (mapcar (lambda (each) (if (eq each old) plan each))
                      passepartout-plan--plans)
            (append passepartout-plan--plans (list plan))))))

;;;; Drawing

(defun passepartout-plan--keyword (plan)
  "Return the Org keyword for the status of PLAN."
  (if (passepartout-plan--pending-p plan)
      "PLAN"
    (let ((word (upcase (passepartout-view-line
                         (format "%s" (plist-get plan :status)) 20))))
      (or (car (member word passepartout-plan--keywords)) "STALE"))))

(defun passepartout-plan--insert (plan)
  "Insert PLAN as a heading with what is to be known about it."
  (let ((start (point))
        (pending (passepartout-plan--pending-p plan))
        (keyword (passepartout-plan--keyword plan)))
    (insert (propertize "* " 'face 'passepartout-title)
            (propertize keyword 'face
                        (passepartout-view-face
                         (if pending "pending" (downcase keyword))))
            " "
            (propertize (passepartout-view-line (plist-get plan :title))
                        'face 'passepartout-title)
            (propertize " :FLIGHT_PLAN:" 'face 'passepartout-quiet)
            "\n")
    (if pending
        (passepartout-plan--insert-body plan)
      (passepartout-plan--insert-end plan))
    (insert "\n")
    (add-text-properties
     start (point)
     (list 'passepartout-plan (plist-get plan :id)
           'passepartout-plan-waits pending
           'passepartout-plan-shown (plist-get plan :shown)))))

(defun passepartout-plan--insert-body (plan)
  "Insert what PLAN would do and why it is asked about."
  (insert (propertize "Plan " 'face 'passepartout-quiet)
          (passepartout-view-line (plist-get plan :id) 60)
          (propertize ", tool " 'face 'passepartout-quiet)
          (passepartout-view-line (plist-get plan :tool) 60)
          (propertize ", waits since " 'face 'passepartout-quiet)
          (passepartout-view-time (plist-get plan :created))
          (propertize ", expires " 'face 'passepartout-quiet)
          (passepartout-view-time (plist-get plan :expires))
          "\n")
  (passepartout-plan--label "What will happen")
  (passepartout-plan--insert-fixed (plist-get plan :body))
  (let ((diff (plist-get plan :diff)))
    (when diff
      (passepartout-plan--label "The change")
      (passepartout-plan--insert-diff diff)))
  (passepartout-plan--label "Why the agent wants it")
  (passepartout-plan--insert-fixed (or (plist-get plan :why) "(not said)"))
  (passepartout-plan--label "Why you are asked")
  (dolist (reason (plist-get plan :asked-by))
    (insert "- " (passepartout-view-line (car reason) 40) ": "
            (passepartout-view-line
             (if (listp (cdr reason)) (cadr reason) (cdr reason)) 400)
            "\n")))

(defun passepartout-plan--insert-end (plan)
  "Insert what has become of PLAN."
  (insert (propertize "Plan " 'face 'passepartout-quiet)
          (passepartout-view-line (plist-get plan :id) 60)
          (propertize ", tool " 'face 'passepartout-quiet)
          (passepartout-view-line (plist-get plan :tool) 60)
          "\n")
  (let ((result (plist-get plan :result)))
    (when result
      (passepartout-plan--insert-fixed result))))

(defun passepartout-plan--label (text)
  "Insert TEXT as a label above what follows."
  (insert "\n" (propertize text 'face 'passepartout-subtitle) "\n"))

(defun passepartout-plan--insert-fixed (text)
  "Insert TEXT as a fixed-width area."
  (insert (propertize (passepartout-view-fixed (or text ""))
                      'face 'passepartout-literal)))

(defun passepartout-plan--insert-diff (text)
  "Insert TEXT, a diff, as a fixed-width area, in colours."
  (require 'diff-mode)
  (dolist (line (split-string (passepartout-view-fixed text) "\n" t))
    (insert (propertize
             line 'face
             (cond ((string-prefix-p ": +" line) 'diff-added)
                   ((string-prefix-p ": -" line) 'diff-removed)
                   ((string-prefix-p ": @" line) 'diff-hunk-header)
                   (t 'passepartout-literal)))
            "\n")))

(provide 'passepartout-plan-draw)
;;; passepartout-plan-draw.el ends here
