;;; passepartout-focus.el --- What the agent looks at  -*- lexical-binding: t; -*-

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

;; The focus is a stack, at most ten deep, that the core keeps over restarts:
;; each step narrows what the agent looks at to a heading, a folder, or what
;; was changed in this session, and may have settings of its own.

;;; Code:

(require 'org)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-sense)
(require 'passepartout-view)

(defun passepartout-focus--send (line)
  "Move the focus as the command LINE says, and show where it stands."
  (passepartout-request
   :focus (list :line line)
   (lambda (payload)
     (message "Passepartout: %s"
              (passepartout-focus--words (or (plist-get payload :error)
                                             (plist-get payload :text)
                                             ""))))))

(defun passepartout-focus--words (text)
  "Return TEXT, the core's, with commands as they are called in Emacs."
  (replace-regexp-in-string
   "\\(^\\|[; ]\\)/\\(focus\\|unfocus\\)\\_>"
   "\\1M-x passepartout-\\2"
   (passepartout-view-visible text)))

(defun passepartout-focus--tell-point ()
  "Tell the core where point is, or signal an error when it does not follow."
  (unless (passepartout-sense-followed-p)
    (user-error "%s" (substitute-command-keys
                      "The agent does not follow this buffer: \
\\[universal-argument] M-x passepartout-focus asks for a folder")))
  (passepartout-start)
  (passepartout-sense--idle))

;;;###autoload
(defun passepartout-focus (&optional folder)
  "Narrow what the agent looks at to the heading at point.
With a prefix argument, or outside of an Org buffer, ask for FOLDER
and narrow it to the notes there; commands then run in it, too.
`passepartout-unfocus' takes the step back."
  (interactive
   (list (and (or current-prefix-arg (not (derived-mode-p 'org-mode)))
              (read-directory-name "Look only at the folder: " nil nil t))))
  (unless folder (passepartout-focus--tell-point))
  (passepartout-focus--send
   (if folder
       (format "focus %s" (directory-file-name
                           (file-truename (expand-file-name folder))))
     "focus .")))

;;;###autoload
(defun passepartout-unfocus ()
  "Take the last step of the focus back."
  (interactive)
  (passepartout-focus--send "unfocus"))

;;;###autoload
(defun passepartout-scope (scope)
  "Let the agent look at SCOPE: the memex, this session's changes, a project."
  (interactive
   (list (completing-read "Look at: " '("memex" "session" "project") nil t)))
  (passepartout-focus--send (format "scope %s" scope)))

;;;###autoload
(defun passepartout-focus-set (name value)
  "Set NAME to VALUE for as long as the present focus lasts.
The model is told of it.  An empty VALUE takes the setting out; the
setting \"budget\" is the number of tokens of notes in a prompt."
  (interactive (list (read-string "Setting: ") (read-string "Value: ")))
  (when (string-match-p "[[:space:]]\\|\\`\\'" name)
    (user-error "A setting's name is one word"))
  (passepartout-focus--send (format "set %s %s" name value)))

;;;###autoload
(defun passepartout-endorse ()
  "Vouch for the heading at point with all below it.
What it says counts as your own from now on, until somebody changes
it: what came from elsewhere no longer makes the agent ask."
  (interactive)
  (unless (and (derived-mode-p 'org-mode) buffer-file-name)
    (user-error "Go to a heading in a file of your memex first"))
  (let ((title (or (ignore-errors (org-get-heading t t t t)) "this file")))
    (when (yes-or-no-p
           (format "Does what “%s” says count as your own from now on? "
                   (truncate-string-to-width title 60)))
      (passepartout-focus--tell-point)
      (passepartout-request
       :endorse
       (list :file (file-truename buffer-file-name)
             :byte (passepartout-focus--byte))
       (lambda (payload)
         (message "Passepartout: %s"
                  (passepartout-view-visible
                   (or (plist-get payload :error)
                       (plist-get payload :text)
                       ""))))))))

(defun passepartout-focus--byte ()
  "Return the 0-based byte of point in the whole buffer."
  (save-restriction
    (widen)
    (1- (position-bytes (point)))))

(provide 'passepartout-focus)
;;; passepartout-focus.el ends here
