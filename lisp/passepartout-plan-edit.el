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

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(require 'passepartout-plan)
(eval-when-compile (require 'subr-x))

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
  "Edit an argument of the plan at point; the result is judged anew."
  (interactive)
  (let* ((plan (passepartout-plan--at-point))
         (arguments (plist-get plan :args))
         (names (mapcar (lambda (argument) (plist-get argument :name))
                        arguments))
         (name (cond ((null names)
                      (user-error "This plan has no arguments to edit"))
                     ((cdr names)
                      (completing-read "Edit which argument? " names nil t))
                     (t (car names))))
         (argument (passepartout-plan--argument plan name)))
    (pop-to-buffer (format "*Passepartout edit: %s*"
                           (passepartout-view-line name 40)))
    (passepartout-plan-edit-mode)
    (erase-buffer)
    (insert (format "%s" (or (plist-get argument :value) "")))
    (goto-char (point-min))
    (set-buffer-modified-p nil)
    (setq passepartout-plan--edited (cons plan name))))

(defun passepartout-plan--argument (plan name)
  "Return the argument called NAME of PLAN."
  (seq-find (lambda (argument) (equal name (plist-get argument :name)))
            (plist-get plan :args)))

(defun passepartout-plan-edit-finish ()
  "Have the plan judged anew with the argument as it is in this buffer."
  (interactive)
  (pcase-let* ((`(,plan . ,name)
                (or passepartout-plan--edited
                    (user-error "This buffer edits no plan")))
               (value (buffer-substring-no-properties
                       (point-min) (point-max))))
    (when (> (string-bytes value) passepartout-events-text-limit)
      (user-error "The text is %d kB long; at most %d kB can be sent"
                  (/ (string-bytes value) 1024)
                  (/ passepartout-events-text-limit 1024)))
    (passepartout-request
     :edit-plan
     `(:plan ,(plist-get plan :id)
       :args ,(mapcar
               (lambda (argument)
                 (let ((each (plist-get argument :name)))
                   (list :name each
                         :kind (plist-get argument :kind)
                         :value (if (equal each name) value
                                  (plist-get argument :value)))))
               (plist-get plan :args)))
     (lambda (payload)
       (let ((problem (plist-get payload :error)))
         (when problem
           (message "The edit was not taken: %s"
                    (passepartout-view-line problem)))))
     (plist-get plan :session))
    (quit-window t)))

(defun passepartout-plan-edit-cancel ()
  "Leave the plan as it is."
  (interactive)
  (quit-window t))

(provide 'passepartout-plan-edit)
;;; passepartout-plan-edit.el ends here
