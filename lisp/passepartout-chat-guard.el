;;; passepartout-chat-guard.el --- What a chat never does of its own accord  -*- lexical-binding: t; -*-

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

;; The core makes the text of models and notes inert before it sends it.
;; This file does not rely on that alone: in a chat no local variables
;; are used, no set-up file is read, no keyword is followed on export, no
;; unknown mode is called to colour a block, and Org asks before it runs
;; anything.

;;; Code:

(require 'org)
(require 'passepartout)
(require 'passepartout-chat-text)
(require 'passepartout-chat-colour)

(defvar org-export-use-babel)
(defconst passepartout-chat--export-hook
  (if (version< (org-version) "9.6")
      'org-export-before-processing-hook
    'org-export-before-processing-functions)
  "The hook that runs in the copy of a buffer that is to be exported.")

(defconst passepartout-chat--guards
  '((enable-local-variables . nil)
    (org-confirm-babel-evaluate . t)
    (org-link-elisp-confirm-function . yes-or-no-p)
    (org-link-shell-confirm-function . yes-or-no-p)
    (org-link-elisp-skip-confirm-regexp . "")
    (org-link-shell-skip-confirm-regexp . "")
    (org-display-remote-inline-images . skip)
    (org-export-use-babel . nil)
    (org-export-allow-bind-keywords . nil)
    (org-table-allow-automatic-line-recalculation . nil)
    (org-table-formula-evaluate-inline . nil)
    (org-startup-with-inline-images . nil)
    (org-startup-with-latex-preview . nil))
  "Local values that keep the text of a chat from acting by itself.")

(defun passepartout-chat--p ()
  "Return non-nil when this buffer is a chat, whether or not the mode is on."
  (or (bound-and-true-p passepartout-chat-mode)
      (and (derived-mode-p 'org-mode)
           (passepartout-chat--session))))

(defun passepartout-chat--no-set-up (function &rest arguments)
  "Call FUNCTION with ARGUMENTS, but let a chat read no set-up file."
  (if (passepartout-chat--p)
      ""
    (apply function arguments)))

(defconst passepartout-chat--coloured-most 10000
  "So many characters of code are coloured in a chat, where Org does it at once.")

(defun passepartout-chat--known-language (function language start end &rest more)
  "Call FUNCTION with LANGUAGE, START, END and MORE, unless a chat forbids it.
It knows the languages of `passepartout-chat-code-languages', and has no
code coloured that is so long that Emacs would wait for it.  While an
answer streams into a chat, that is done when you rest."
  (cond
   ((not (passepartout-chat--p)) (apply function language start end more))
   ((and (member language passepartout-chat-code-languages)
         (<= (- end start) passepartout-chat--coloured-most)
         (passepartout-chat-colour-now-p start end))
    ;; A mode may tell of what it guesses; nobody asked for it.
    (let ((inhibit-message t))
      (apply function language start end more)))))

(defun passepartout-chat-guard-install ()
  "Keep Org from reading set-up files and calling unknown modes in chats.
This is done before the first chat is opened; other buffers are not
concerned."
  (advice-add 'org-file-contents :around #'passepartout-chat--no-set-up)
  (advice-add 'org-src-font-lock-fontify-block
              :around #'passepartout-chat--known-language))

(defun passepartout-chat-guard-unload-function ()
  "Let Org be as it was; `unload-feature' calls this."
  (advice-remove 'org-file-contents #'passepartout-chat--no-set-up)
  (advice-remove 'org-src-font-lock-fontify-block
                 #'passepartout-chat--known-language)
  nil)

(defun passepartout-chat--before-export (_backend)
  "Remove from a copy to be exported the keywords that Org would follow."
  (goto-char (point-min))
  (let ((case-fold-search t))
    (while (re-search-forward
            "^[ \t]*#\\+\\(?:macro\\|include\\|setupfile\\|call\\|bind\\)\\>.*"
            nil t)
      (replace-match "" t t)))
  (goto-char (point-min)))

(defun passepartout-chat-guard-set ()
  "Keep the text of the current buffer, a chat, from acting by itself."
  (passepartout-chat-guard-install)
  (pcase-dolist (`(,variable . ,value) passepartout-chat--guards)
    (set (make-local-variable variable) value))
  (add-hook passepartout-chat--export-hook
            #'passepartout-chat--before-export nil t))

(defun passepartout-chat-guard-lift ()
  "Let the current buffer act as any Org buffer does."
  (pcase-dolist (`(,variable . ,_) passepartout-chat--guards)
    (kill-local-variable variable))
  (remove-hook passepartout-chat--export-hook
               #'passepartout-chat--before-export t))

(provide 'passepartout-chat-guard)
;;; passepartout-chat-guard.el ends here
