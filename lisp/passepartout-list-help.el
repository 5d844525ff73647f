;;; passepartout-list-help.el --- The keys of a list, in a window  -*- lexical-binding: t; -*-

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

;; `?' in a list: what the list shows, the keys that it has for itself,
;; and those that all lists have, each with what it does.

;;; Code:

(require 'passepartout-view)
(require 'help-mode)
(require 'seq)

(defun passepartout-list--keys-of (map prefix)
  "Return the keys of MAP behind PREFIX, a vector, as (KEY . COMMAND) each."
  (let (found)
    (map-keymap-internal
     (lambda (event binding)
       (let ((keys (vconcat prefix (vector event))))
         (cond
          ((keymapp binding)
           (setq found (append (passepartout-list--keys-of binding keys)
                               found)))
          ((and (symbolp binding) (commandp binding)
                (not (memq event '(mouse-2 follow-link remap)))
                (not (memq binding '(undefined ignore digit-argument
                                     negative-argument))))
           (push (cons (key-description keys) binding) found)))))
     map)
    found))

(defun passepartout-list--keys (map shared)
  "Return the keys of MAP and those of SHARED, which may be above it.
What is above that is left out, and so is a key of SHARED that MAP has."
  (let (own)
    (while (and map (not (eq map shared)))
      (setq own (append own (passepartout-list--keys-of map []))
            map (keymap-parent map)))
    (let ((keys (if (not map)
                    (list (passepartout-list--keys-of (current-local-map) []) nil)
                  (list own
                        (seq-remove (lambda (key) (assoc (car key) own))
                                    (passepartout-list--keys-of shared []))))))
      (mapcar (lambda (keys)
                (sort keys (lambda (one other)
                             (string-collate-lessp (car one) (car other)))))
              keys))))

(defun passepartout-list--insert-keys (title keys)
  "Insert KEYS below TITLE, each with what it does."
  (when keys
    (insert (propertize title 'face 'bold) "\n")
    (dolist (key keys)
      (insert "  ")
      (insert-text-button (car key) 'type 'help-function
                          'help-args (list (cdr key)))
      (insert (make-string (max 1 (- 12 (string-width (car key)))) ?\s)
              (car (split-string (or (documentation (cdr key))
                                     (symbol-name (cdr key)))
                                 "\n"))
              "\n"))
    (insert "\n")))

(defun passepartout-list-help ()
  "Say what this buffer shows, and what each of its keys does."
  (interactive)
  (unless (and (current-local-map) (keymap-parent (current-local-map)))
    (user-error "This is no list of Passepartout"))
  (let* ((keys (passepartout-list--keys
                (current-local-map)
                passepartout-view-mode-map))
         (about (car (split-string (or (documentation major-mode t) "")
                                   "\n\n\\(?:\\\\{\\|In addition\\|This mode\\)"))))
    (with-help-window (help-buffer)
      (with-current-buffer standard-output
        (insert (substitute-command-keys about) "\n\n")
        (passepartout-list--insert-keys "Keys of this list" (car keys))
        (passepartout-list--insert-keys "Keys of all lists" (cadr keys))))))

(provide 'passepartout-list-help)
;;; passepartout-list-help.el ends here
