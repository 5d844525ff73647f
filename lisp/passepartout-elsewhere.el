;;; passepartout-elsewhere.el --- Asking from menus, speed keys and captures  -*- lexical-binding: t; -*-

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

;; What `passepartout-ask', `passepartout-rewrite' and the like do, from
;; places that other packages make: the actions of Embark, which are
;; there as soon as it is loaded, the context menu of the mouse, Org's
;; speed keys, and Org's capture templates.  But for Embark nothing is
;; there before a line of your own says so; none of them is needed:
;;
;;   (add-hook 'context-menu-functions #'passepartout-context-menu 90)
;;   (with-eval-after-load 'org (passepartout-add-speed-commands))
;;   (add-to-list 'org-capture-templates
;;                (passepartout-capture-template
;;                 "q" "Question" '(file "questions.org")))

;;; Code:

(require 'cl-lib)
(require 'passepartout)

(defvar embark-target-injection-hooks)
(defvar embark-around-action-hooks)
(defvar org-speed-commands)
(defvar org-capture-mode-hook)
(declare-function passepartout-ask-read "passepartout-ask" (prompt))
(declare-function passepartout-question-ask "passepartout-question"
                  (text hear done &rest more))
(declare-function passepartout-question-answer "passepartout-question" (question))
(declare-function passepartout-question-end "passepartout-question" (question))
(declare-function passepartout-question-close "passepartout-question" (question))
(declare-function passepartout-question-private "passepartout-question" (question))
(declare-function passepartout-question-state "passepartout-question" (question))
(declare-function passepartout-question-session "passepartout-question" (question))
(declare-function passepartout-question-text "passepartout-question" (question))
(declare-function org-back-to-heading "org" (&optional invisible-ok))
(declare-function org-entry-get "org"
                  (epom property &optional inherit literal-nil))
(declare-function org-entry-put "org" (pom property value))
(declare-function passepartout-view-line "passepartout-view"
                  (text &optional width))
(declare-function passepartout-view-fixed "passepartout-view" (text))
(declare-function passepartout-chat--strictest "passepartout-chat-text" (tiers))
(declare-function passepartout-chat--tier-of-value "passepartout-chat-text"
                  (key value))
(declare-function passepartout-chat--below "passepartout-chat-below"
                  (payload answer))

;;;; Embark

(defvar passepartout-embark-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "a") #'passepartout-ask)
    (define-key map (kbd "e") #'passepartout-explain)
    (define-key map (kbd "r") #'passepartout-rewrite)
    (define-key map (kbd "c") #'passepartout-chat-add)
    map)
  "Actions on what Embark has found in a buffer.")
(fset 'passepartout-embark-map passepartout-embark-map)

;;;###autoload
(defun passepartout-embark-set-up ()
  "Add the actions of `passepartout-embark-map' to Embark, under the key Q.
They act on a region or a sentence that Embark has found, and where it
found anything else as they do at point."
  (dolist (map '(embark-region-map embark-symbol-map embark-identifier-map
                 embark-defun-map embark-sentence-map embark-paragraph-map
                 embark-heading-map embark-org-heading-map))
    (when (and (boundp map) (keymapp (symbol-value map))
               (null (lookup-key (symbol-value map) "Q")))
      (define-key (symbol-value map) "Q" 'passepartout-embark-map)))
  (dolist (command '(passepartout-ask passepartout-explain
                     passepartout-rewrite passepartout-chat-add))
    ;; What was found is no answer to our question.
    (when (boundp 'embark-target-injection-hooks)
      (add-to-list 'embark-target-injection-hooks
                   (list command 'embark--ignore-target)))
    (when (boundp 'embark-around-action-hooks)
      (add-to-list 'embark-around-action-hooks
                   (list command #'passepartout-elsewhere--on-target)))))

(cl-defun passepartout-elsewhere--on-target
    (&rest rest &key run bounds type &allow-other-keys)
  "Call RUN with REST where Embark found something of TYPE at BOUNDS.
A sentence or a paragraph becomes the region; of a symbol, a definition
and a heading more is known at point."
  (if (null bounds)
      (apply run rest)
    (save-mark-and-excursion
      (goto-char (car bounds))
      (if (memq type '(region sentence paragraph))
          (push-mark (cdr bounds) t t)
        (deactivate-mark))
      (apply run rest))))

;;;; The context menu

(defun passepartout-elsewhere--at (place command)
  "Return a command that does COMMAND at PLACE, or on the region."
  (lambda ()
    (interactive)
    (when (and place (not (use-region-p)))
      (goto-char place))
    (call-interactively command)))

;;;###autoload
(defun passepartout-context-menu (menu click)
  "Add what can be asked at CLICK to MENU, for `context-menu-functions'."
  (let ((place (posn-point (event-start click))))
    (define-key-after menu [passepartout-separator] menu-bar-separator)
    (pcase-dolist (`(,key ,name ,command ,help)
                   `((passepartout-ask "Ask about This…" passepartout-ask
                      "Ask about the region or what is under the mouse")
                     (passepartout-explain "Explain This" passepartout-explain
                      "Have the region or what is under the mouse explained")
                     (passepartout-chat-add
                      "Let This Go Along" passepartout-chat-add
                      "Let the region or what is under the mouse go along \
with the next question of a chat")
                     ,@(unless buffer-read-only
                         '((passepartout-rewrite
                            "Rewrite This…" passepartout-rewrite
                            "Have the region or what is under the mouse \
rewritten")))))
      (define-key-after menu (vector key)
        `(menu-item ,name ,(passepartout-elsewhere--at place command)
                    :help ,help)))
    menu))

;;;; Org's speed keys

(defconst passepartout-speed-commands
  '(("q" . passepartout-ask)
    ("h" . passepartout-explain)
    ("x" . passepartout-rewrite)
    ("z" . passepartout-organize-subtree))
  "Speed keys on the stars of a heading, with what they do to its subtree.")

;;;###autoload
(defun passepartout-add-speed-commands ()
  "Add `passepartout-speed-commands' to those of Org.
A key that you gave another meaning keeps it.  They count where
`org-use-speed-commands' is on."
  (unless (assoc "Passepartout" org-speed-commands)
    (setq org-speed-commands
          (append org-speed-commands
                  (cons '("Passepartout")
                        (seq-remove (lambda (entry)
                                      (assoc (car entry) org-speed-commands))
                                    passepartout-speed-commands))))))

;;;; Captures

(defun passepartout-elsewhere--place (session)
  "Return the line that stands where the answer in SESSION will stand."
  (format ": The answer comes here (%s)." session))

;;;###autoload
(defun passepartout-capture-template (keys description target &rest properties)
  "Return a template for `org-capture-templates' that asks and files the answer.
KEYS, DESCRIPTION, TARGET and PROPERTIES are those of the template.  It
asks in the minibuffer; the question becomes a heading at TARGET, and
the answer comes below it when it is there, whether you have finished
the capture by then or not."
  `(,keys ,description entry ,target
          (function passepartout-capture-question) ,@properties))

;;;###autoload
(defun passepartout-capture-question ()
  "Ask in the minibuffer, and return the entry that holds the question.
The answer is put below it when it has come."
  (require 'passepartout-ask)
  (let* ((text (passepartout-ask-read "Ask, and file the answer: "))
         (place nil)
         (question (passepartout-question-ask
                    text #'ignore
                    (lambda (question)
                      (passepartout-elsewhere--await
                       (passepartout-elsewhere--place
                        (passepartout-question-session question))
                       nil)
                      (passepartout-elsewhere--file question place))
                    :markup :org))
         (line (passepartout-elsewhere--place
                (passepartout-question-session question))))
    ;; The entry is there when its mode is turned on, and not yet here.
    (passepartout-elsewhere--await
     line
     (lambda () (setq place (passepartout-elsewhere--entry line text))))
    ;; What was typed is no part of a template, which may run Lisp.
    (format "* Question\n%s\n" line)))

(defvar passepartout-elsewhere--awaited nil
  "What is done when a capture has made an entry, by a line of the entry.")

(defun passepartout-elsewhere--await (line function)
  "Call FUNCTION when a capture has made an entry with LINE.
With nil await it no more: its capture has failed, or it is there."
  (setq passepartout-elsewhere--awaited
        (append (and function (list (cons line function)))
                (seq-remove (lambda (entry) (equal line (car entry)))
                            passepartout-elsewhere--awaited)))
  (if passepartout-elsewhere--awaited
      (add-hook 'org-capture-mode-hook #'passepartout-elsewhere--captured)
    (remove-hook 'org-capture-mode-hook #'passepartout-elsewhere--captured)))

(defun passepartout-elsewhere--captured ()
  "Look whether the entry that a capture has made here is awaited."
  (pcase-dolist (`(,line . ,function) passepartout-elsewhere--awaited)
    (when (save-excursion
            (goto-char (point-min))
            (search-forward line nil t))
      (passepartout-elsewhere--await line nil)
      (funcall function))))

(defun passepartout-elsewhere--entry (line text)
  "Let the entry with LINE be called TEXT; return where LINE begins, or nil."
  (save-excursion
    (goto-char (point-min))
    (when (search-forward line nil t)
      (forward-line 0)
      (let ((marker (make-marker)))
        ;; The buffer of the capture goes; its file's stays.
        (set-marker marker (point) (or (buffer-base-buffer) (current-buffer)))
        (forward-line -1)
        (when (looking-at "\\*+ \\(Question\\)")
          (replace-match (passepartout-view-line text 400) t t nil 1))
        marker))))

(defun passepartout-elsewhere--file (question place)
  "Put the answer to QUESTION to PLACE, a marker, if its line is still there.
Else it is shown in the popup.  The buffer is not saved."
  (let* ((end (passepartout-question-end question))
         (answer (string-trim (passepartout-question-answer question)))
         (line (passepartout-elsewhere--place
                (passepartout-question-session question)))
         (notice (and (plist-get end :text)
                      (passepartout-view-fixed (plist-get end :text))))
         (text (string-join
                (seq-remove #'string-empty-p
                            (list answer (string-trim (or notice ""))
                                  (passepartout-chat--below end answer)))
                "\n\n"))
         (buffer (and place (marker-buffer place)))
         (filed (and buffer
                     (with-current-buffer buffer
                       (passepartout-elsewhere--replace
                        place line
                        (if (string-empty-p text) ": No answer came." text)
                        (passepartout-question-private question))))))
    (unless (eq (passepartout-question-state question) 'parked)
      (passepartout-question-close question))
    (if filed
        (message "Passepartout: the answer stands in %s" (buffer-name buffer))
      (passepartout-elsewhere--show question text))
    (when place (set-marker place nil))))

(defun passepartout-elsewhere--replace (place line text tier)
  "Put TEXT in the place of LINE at PLACE; return non-nil when it was there.
With TIER, how private it is, its heading is marked so; where that
cannot be done, nothing is changed."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char place)
      (when (and (looking-at-p (regexp-quote line)) (not buffer-read-only))
        (undo-boundary)
        (prog1 (condition-case nil
                   (atomic-change-group
                     (delete-region (point) (line-end-position))
                     (insert text)
                     (when tier (passepartout-elsewhere--mark tier))
                     t)
                 (error nil))
          (undo-boundary))))))

(defun passepartout-elsewhere--mark (tier)
  "Let the heading above point be as private as TIER, or more where it is so."
  (org-back-to-heading t)
  (let* ((there (passepartout-chat--tier-of-value
                 "PRIVACY" (or (org-entry-get nil "PRIVACY") "")))
         (strictest (passepartout-chat--strictest (list there tier))))
    (unless (eq there strictest)
      (org-entry-put nil "PRIVACY" (if (eq strictest 'block) "private"
                                     (symbol-name strictest))))))

(defun passepartout-elsewhere--show (question text)
  "Show TEXT, the answer to QUESTION, which found no place."
  (with-current-buffer (get-buffer-create "*passepartout captured*")
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert (propertize (passepartout-question-text question)
                          'face 'passepartout-title)
              "\n\n" text "\n"))
    (special-mode)
    (setq-local word-wrap t)
    (goto-char (point-min))
    (display-buffer (current-buffer))))

(provide 'passepartout-elsewhere)
;;; passepartout-elsewhere.el ends here
