;;; passepartout-plan-edit.el --- Edit an argument of a flight plan  -*- lexical-binding: t; -*-

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

;; The edited action is judged anew by the core: editing approves
;; nothing.

;;; Code:

(require 'ewoc)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(require 'passepartout-plan)
(eval-when-compile (require 'subr-x))

(defvar-local passepartout-plan--taken '(0 . nil)
  "Number and hash of the last slice that came of the text of this buffer.")

(defvar-local passepartout-plan--edited nil
  "The plan and the name of the argument that this buffer edits, as a cons.")

(defvar passepartout-plan-edit-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'passepartout-plan-edit-finish)
    (define-key map (kbd "C-c C-k") #'passepartout-plan-edit-cancel)
    map)
  "Keys of the buffer in which an argument of a plan is edited.")

(define-derived-mode passepartout-plan-edit-mode fundamental-mode "Plan edit"
  "Major mode for editing one argument of a flight plan."
  (setq-local bidi-display-reordering nil)
  (setq header-line-format
        (substitute-command-keys
         "\\<passepartout-plan-edit-mode-map> \
\\[passepartout-plan-edit-finish] has the change judged anew; \
\\[passepartout-plan-edit-cancel] leaves the plan as it is")))

(defun passepartout-plan-edit ()
  "Edit an argument of the plan at point; the result is judged anew.
Text that was changed and not taken yet is gone on with."
  (interactive)
  (let* ((plan (passepartout-plan--entry-plan
                (ewoc-data (passepartout-plan--at-point))))
         (names (mapcar (lambda (argument) (plist-get argument :name))
                        (plist-get plan :args)))
         (name (cond ((null names)
                      (user-error "This plan has no arguments to edit"))
                     ((cdr names)
                      (completing-read "Edit which argument? " names nil t))
                     (t (car names)))))
    (pop-to-buffer (or (passepartout-plan--edit-buffer plan name)
                       (generate-new-buffer
                        (format "*Passepartout edit: %s of %s*"
                                (passepartout-view-line name 40)
                                (passepartout-view-line (plist-get plan :id)
                                                        60)))))
    (if (and (buffer-modified-p) (not buffer-read-only))
        (message "%s" (substitute-command-keys
                       "\\<passepartout-plan-edit-mode-map>Your text of \
before is still here; \\[passepartout-plan-edit-cancel] throws it away"))
      (let ((inhibit-read-only t)) (erase-buffer))
      (passepartout-plan-edit-mode)
      (setq passepartout-plan--edited (cons plan name)
            passepartout-plan--taken (cons 0 nil)
            buffer-read-only t)
      (passepartout-plan--fetch-argument 0))))

(defun passepartout-plan--edit-buffer (plan name)
  "Return the buffer that edits the argument NAME of PLAN, or nil."
  (seq-find (lambda (buffer)
              (let ((edited (buffer-local-value 'passepartout-plan--edited
                                                buffer)))
                (and (equal name (cdr edited))
                     (equal (plist-get plan :id)
                            (plist-get (car edited) :id)))))
            (buffer-list)))

(defun passepartout-plan--fetch-argument (from)
  "Fetch the text that this buffer edits from the byte FROM on.
Until all of it is there the buffer is read-only."
  (let ((buffer (current-buffer))
        (edited passepartout-plan--edited))
    (passepartout-request
     :plan-argument
     `(:plan ,(plist-get (car edited) :id) :name ,(cdr edited) :from ,from)
     (lambda (slice)
       (when (and (buffer-live-p buffer)
                  (eq edited (buffer-local-value 'passepartout-plan--edited
                                                 buffer)))
         (with-current-buffer buffer
           (passepartout-plan--take-argument slice)))))))

(defun passepartout-plan--unfit (slice)
  "Note that SLICE of the text that this buffer edits came.
Return why it does not fit to those before it, or nil when it does."
  (pcase-let ((`(,number . ,hash) passepartout-plan--taken)
              (text (or (plist-get slice :text) "")))
    (setq number (1+ number)
          hash (passepartout-events-chain number hash text)
          passepartout-plan--taken (cons number hash))
    (cond ((not (eql number (plist-get slice :slice)))
           "a part of it is missing or came twice")
          ((not (or (plist-get slice :next)
                    (equal hash (plist-get slice :hash))))
           "it is not as the core has it"))))

(defun passepartout-plan--take-argument (slice)
  "Insert SLICE of the text that this buffer edits."
  (let ((problem (or (plist-get slice :error)
                     (passepartout-plan--unfit slice)))
        (next (plist-get slice :next))
        (inhibit-read-only t))
    (if problem
        (message "The text cannot be fetched: %s; edit the plan again"
                 (passepartout-view-line problem))
      (save-excursion
        (goto-char (point-max))
        (insert (or (plist-get slice :text) "")))
      (if next
          (passepartout-plan--fetch-argument next)
        (setq buffer-read-only nil
              buffer-undo-list nil)
        (set-buffer-modified-p nil)))))

(defun passepartout-plan-edit-finish ()
  "Have the plan judged anew with the argument as it is in this buffer."
  (interactive)
  (pcase-let* ((`(,plan . ,name)
                (or passepartout-plan--edited
                    (user-error "This buffer edits no plan")))
               (buffer (current-buffer)))
    (when buffer-read-only
      (user-error "The text is still being fetched"))
    (passepartout-events-slices
     (passepartout-events-clean
      (buffer-substring-no-properties (point-min) (point-max)))
     (lambda (slice)
       (passepartout-request
        :edit-plan
        `(:plan ,(plist-get plan :id) :name ,name
          :value ,(plist-get slice :text)
          :slice ,(plist-get slice :slice) :more ,(plist-get slice :more)
          :hash ,(plist-get slice :hash))
        (lambda (answer) (passepartout-plan--edit-answered answer buffer))
        (plist-get plan :session))
       t))
    (quit-window)))

(defun passepartout-plan--edit-answered (answer buffer)
  "Go on to the new plan in ANSWER; BUFFER holds the text that made it.
When the edit was not taken, BUFFER stays, and nothing is lost."
  (let ((problem (plist-get answer :error))
        (plan (plist-get answer :plan)))
    (cond
     (problem
      (message "The edit was not taken: %s  (your text is in the buffer %s)"
               (passepartout-view-line problem) (buffer-name buffer)))
     (plan
      (when (buffer-live-p buffer) (kill-buffer buffer))
      (passepartout-plan--show-new plan)
      (message "The edited plan was judged anew and waits for you")))))

(defun passepartout-plan-edit-cancel ()
  "Leave the plan as it is."
  (interactive)
  (quit-window t))

(provide 'passepartout-plan-edit)
;;; passepartout-plan-edit.el ends here
