;;; passepartout-setup.el --- The first run: memex, provider, key, budget  -*- lexical-binding: t; -*-

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

;; A few questions, each of which may be passed over: where the notes
;; are, who answers, whether its key is found, and what may be spent.
;; What was chosen is saved with customize at the end, at once; nothing
;; is sent anywhere, and the doctor shows what works.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-provider)
(eval-when-compile (require 'subr-x))

(defconst passepartout-setup--buffer-name "*Passepartout setup*"
  "The name of the buffer that says what was set up.")

(defun passepartout-setup--folder-obstacle (folder)
  "Return why FOLDER cannot be the memex, or nil."
  (let ((folder (file-name-as-directory (expand-file-name folder))))
    (cond
     ((file-remote-p folder) "it is on another machine")
     ((not (file-directory-p folder)) "there is no such folder")
     ((member (file-truename folder)
              (list (file-truename "/")
                    (file-name-as-directory (file-truename "~"))))
      "it holds much that is no note; name a folder of notes in it"))))

(defun passepartout-setup--read-folder ()
  "Ask for the folder of notes; return it, or nil to leave it as it is."
  (let ((known (or (car (default-value 'passepartout-directories))
                   (bound-and-true-p org-directory)
                   "~/org"))
        folder obstacle)
    (while (progn
             (setq folder (read-directory-name
                           (if obstacle
                               (format "Folder of your notes (%s): " obstacle)
                             "Folder of your notes: ")
                           (file-name-as-directory known)
                           (file-name-as-directory known)))
             (setq obstacle (passepartout-setup--folder-obstacle folder))))
    (directory-file-name (abbreviate-file-name (expand-file-name folder)))))

(defun passepartout-setup--read-provider ()
  "Ask who answers; return the name of a provider, or nil for none."
  (let ((name (completing-read
               "Model provider (empty: none, answers come from your notes): "
               (delete "recall" (passepartout-provider-names)) nil t)))
    (and (not (string-empty-p name)) name)))

(defun passepartout-setup--read-dollars ()
  "Ask what models may cost in a day; return a number, or nil for no cap."
  (let (said number)
    (while (progn
             (setq said (string-trim
                         (read-string (concat (and said "A number above 0.  ")
                                              "US dollars a day at most \
(empty: no cap): "))))
             (setq number (and (string-match-p
                                "\\`[0-9]+\\(?:\\.[0-9]+\\)?\\'" said)
                               (string-to-number said)))
             (not (or (string-empty-p said)
                      (and number (> number 0))))))
    number))

(defun passepartout-setup--key (name)
  "Return what is to be said of the key of the provider NAME."
  (let ((host (passepartout-events--host name)))
    (cond
     ((null host) (format "%s wants no key." name))
     ((ignore-errors (passepartout-events--key host))
      (format "auth-source has a key for %s." host))
     (t (format "auth-source has no key for %s.  Put this line into \
~/.authinfo.gpg, with your key, then M-x passepartout-restart:
  machine %s login apikey password KEY" host host)))))

(defun passepartout-setup--save (option value)
  "Save VALUE for OPTION; return a line that says so.
Where customize cannot save, it counts for this session."
  (let ((print-length 5))
    (condition-case err
        (progn (customize-save-variable option value)
               (format "%s is %S from now on." option value))
      (error (customize-set-variable option value)
             (format "%s is %S in this session; it was not saved (%s)."
                     option value (error-message-string err))))))

(defun passepartout-setup--show (lines)
  "Show LINES in the buffer of the setup."
  (with-current-buffer (get-buffer-create passepartout-setup--buffer-name)
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert "What was set up\n\n"
              (mapconcat #'identity lines "\n")
              "\n\nM-x passepartout-doctor says what works, \
M-x passepartout-chat asks the first question.\n\
M-x customize-group RET passepartout has all settings.\n")
      (goto-char (point-min))
      (special-mode))
    (display-buffer (current-buffer))))

;;;###autoload
(defun passepartout-setup ()
  "Ask what Passepartout needs to know at first, and save it.
That is the folder of your notes, who answers, and what may be spent
in a day.  Nothing is sent anywhere, and nothing is saved before the
last question was answered; \\[keyboard-quit] leaves all as it is.  The
key of a provider is looked for, and never asked for: it belongs into
auth-source."
  (interactive)
  (let* ((folder (passepartout-setup--read-folder))
         (provider (passepartout-setup--read-provider))
         (dollars (and provider
                       (passepartout-events--host provider)
                       (passepartout-setup--read-dollars)))
         (lines (list (passepartout-setup--save 'passepartout-directories
                                                (list folder)))))
    (if (null provider)
        (push "No model is asked: answers come from your notes." lines)
      (push (passepartout-setup--save 'passepartout-provider-cascade
                                      (list provider))
            lines)
      (push (passepartout-setup--key provider) lines)
      (when dollars
        (push (passepartout-setup--save 'passepartout-day-budget dollars)
              lines)))
    (when (passepartout-running-p)
      (push "The core is running with what was set before; \
M-x passepartout-restart takes this up." lines))
    (passepartout-setup--show (nreverse lines))))

(provide 'passepartout-setup)
;;; passepartout-setup.el ends here
