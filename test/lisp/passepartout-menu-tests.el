;;; passepartout-menu-tests.el --- The menu reaches every command  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; Every command with an autoload is in the menu; keys in it are unique;
;; what it says of the state is what the core said last.

;;; Code:

(require 'ert)
(require 'passepartout-chat)
(require 'passepartout-menu)
(require 'passepartout-module)

(defconst passepartout-menu-tests--lisp
  (file-name-directory (locate-library "passepartout-menu.el"))
  "The folder of the package.")

(defun passepartout-menu-tests--commands ()
  "Return the commands that an autoload makes known, from the sources."
  (let (commands)
    (dolist (file (directory-files passepartout-menu-tests--lisp t
                                   "\\`passepartout.*\\.el\\'"))
      (with-temp-buffer
        (insert-file-contents file)
        (goto-char (point-min))
        (while (re-search-forward
                "^;;;###autoload\n(\\(defun\\|define-minor-mode\\) " nil t)
          (let* ((start (match-beginning 0))
                 (mode (equal (match-string 1) "define-minor-mode"))
                 (name (read (current-buffer)))
                 (form (progn (goto-char start)
                              (forward-line 1)
                              (read (current-buffer)))))
            (when (or mode (assq 'interactive (seq-filter #'consp form)))
              (push name commands))))))
    commands))

(defun passepartout-menu-tests--suffixes (layout)
  "Return pairs of key and command in LAYOUT, however deep.
Versions of transient nest a suffix differently; its keywords are the same."
  (cond ((vectorp layout)
         (passepartout-menu-tests--suffixes (append layout nil)))
        ((and (proper-list-p layout) (memq :command layout))
         (list (cons (cadr (memq :key layout))
                     (cadr (memq :command layout)))))
        ((proper-list-p layout)
         (mapcan #'passepartout-menu-tests--suffixes
                 (copy-sequence layout)))))

(defun passepartout-menu-tests--in (prefix)
  "Return pairs of key and command in the menu PREFIX."
  (passepartout-menu-tests--suffixes (get prefix 'transient--layout)))

(ert-deftest passepartout-menu-reaches-every-command ()
  (let ((reached (mapcar #'cdr (append
                                (passepartout-menu-tests--in
                                 'passepartout-menu)
                                (passepartout-menu-tests--in
                                 'passepartout-menu-more)))))
    (should (> (length reached) 45))
    ;; A chat turns its mode on by itself.
    (should-not (seq-difference (passepartout-menu-tests--commands)
                                (cons 'passepartout-chat-mode reached)))
    (dolist (command reached)
      (should (commandp command)))))

(ert-deftest passepartout-menu-keys-are-unique ()
  (dolist (prefix '(passepartout-menu passepartout-menu-more))
    (let ((keys (mapcar #'car (passepartout-menu-tests--in prefix))))
      (should (equal keys (seq-uniq keys))))))

(ert-deftest passepartout-menu-has-the-keys-of-the-command-map ()
  (let ((menu (passepartout-menu-tests--in 'passepartout-menu)))
    (map-keymap
     (lambda (key binding)
       ;; A binding has the word that `which-key' shows.
       (should (stringp (car binding)))
       (should (commandp (cdr binding)))
       (should (eq (cdr binding)
                   (lookup-key passepartout-command-map (vector key))))
       (when-let ((known (rassq (cdr binding) menu)))
         (should (equal (car known) (key-description (vector key))))))
     passepartout-command-map)
    (should (eq (lookup-key passepartout-command-map "?")
                'passepartout-menu))))

(ert-deftest passepartout-menu-says-what-was-heard-last ()
  (let ((passepartout-status--last
         '(:state "idle" :scope "project" :focus-title "Boat\u202e" :pending 2)))
    (cl-letf (((symbol-function 'passepartout-running-p) #'always))
      (should (equal (substring-no-properties (passepartout-menu--plans))
                     "plans (2 wait)"))
      (should (equal (passepartout-menu--scope) "scope (project)"))
      (should-not (string-match-p "\u202e" (passepartout-menu--focus)))
      (should (string-match-p "on “Boat" (passepartout-menu--heading)))))
  (let ((passepartout-status--last nil))
    (should (string-match-p "not running" (passepartout-menu--heading)))
    (should (equal (passepartout-menu--scope) "scope (memex)"))))

(ert-deftest passepartout-menu-says-no-more-than-fits ()
  (dolist (title '("A heading of very many words" "見出しがとても長い見出しである"))
    (let ((passepartout-status--last
           `(:state "idle" :scope ,title :focus-title ,title :pending 100
             :model ,(make-string 60 ?m) :jobs-running 3 :problems 4)))
      (cl-letf (((symbol-function 'passepartout-running-p) #'always)
                ((symbol-function 'frame-width) (lambda (&rest _) 80)))
        (pcase-dolist (`(,width . ,text)
                       `((79 . ,(passepartout-menu--heading))
                         (16 . ,(passepartout-menu--plans))
                         (25 . ,(passepartout-menu--focus))
                         (24 . ,(passepartout-menu--scope))))
          (should (<= (string-width text) width)))))))

(provide 'passepartout-menu-tests)
;;; passepartout-menu-tests.el ends here
