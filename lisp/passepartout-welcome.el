;;; passepartout-welcome.el --- The first run: what was read, and three things to do  -*- lexical-binding: t; -*-

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
;;; Commentary:

;; The first chat, when there is no store yet, shows a buffer beside it:
;; how many headings were read and how fast, and three things to do next.
;; It takes no focus and never comes back by itself.
;;
;; The tour is about the demo memex, so it runs in an Emacs of its own
;; whose settings, store and cache lie in a folder that goes with it.

;;; Code:

(require 'passepartout)
(require 'passepartout-module)
(require 'passepartout-events)
(require 'passepartout-status)
(require 'passepartout-view)

(defvar passepartout-chat-mode)
(defvar passepartout-install--declined)
(declare-function passepartout-install-offer "passepartout-install" ())
(declare-function passepartout-install-hint "passepartout-install" ())
(defvar passepartout-providers)
(defvar passepartout-provider-cascade)

(defconst passepartout-welcome--buffer-name "*Passepartout welcome*"
  "The name of the buffer that welcomes.")

(defvar passepartout-welcome--began nil
  "When the core was started last, in seconds, or nil.")

(defvar passepartout-welcome--took nil
  "Seconds from the last start until memory was read, or nil.")

(defvar passepartout-welcome--touring nil
  "Non-nil in the Emacs of the tour, which welcomes nobody again.")

(defvar passepartout-welcome--clock #'float-time
  "Function that returns the time in seconds.")

;;;; What was read

(defvar-local passepartout-welcome--said nil
  "What this welcome says of how much was read.")

(defun passepartout-welcome--begun ()
  "Note that the core was started now."
  (setq passepartout-welcome--began (funcall passepartout-welcome--clock)
        passepartout-welcome--took nil))

(defun passepartout-welcome--heard (payload _meta)
  "Note from PAYLOAD, a status, when memory was read, and show it."
  (when (and passepartout-welcome--began
             (null passepartout-welcome--took)
             (passepartout-status-read-p payload))
    (setq passepartout-welcome--took
          (- (funcall passepartout-welcome--clock)
             passepartout-welcome--began)))
  (let ((buffer (get-buffer passepartout-welcome--buffer-name)))
    (when (and buffer (get-buffer-window buffer t))
      (with-current-buffer buffer
        ;; Most of what is heard changes nothing here.
        (unless (equal passepartout-welcome--said (passepartout-welcome--read))
          (passepartout-welcome--draw))))))

(defun passepartout-welcome--read ()
  "Return a sentence on how much was read, and how fast."
  (let* ((last passepartout-status--last)
         (reading (plist-get last :reading))
         (headings (plist-get last :headings))
         (files (plist-get last :files))
         (obstacle (passepartout-module-missing)))
    (cond
     (obstacle (concat obstacle "."))
     ((not (passepartout-running-p)) "Your notes have not been read yet.")
     ((consp reading)
      (format "Your notes are being read: %s of %s files."
              (car reading) (cadr reading)))
     ((not (natnump headings)) "Your notes are being read.")
     ((eql 0 headings)
      (format "There is no heading in %s.  M-x passepartout-setup asks where \
your notes are."
              (mapconcat #'abbreviate-file-name (passepartout--directories)
                         ", ")))
     (t
      (format "%d heading%s of %s file%s %s in memory%s."
              headings (if (= headings 1) "" "s")
              (or files "some") (if (eql files 1) "" "s")
              (if (= headings 1) "is" "are")
              (if passepartout-welcome--took
                  (format ", %.1f seconds after the start"
                          passepartout-welcome--took)
                ""))))))

(defun passepartout-welcome--sent ()
  "Return a sentence on whether anything leaves this machine."
  (let ((cascade (remove "recall"
                         (default-value 'passepartout-provider-cascade))))
    (if cascade
        (format "Asked are %s; the first request to one that is elsewhere is \
shown to you before it is sent."
                (mapconcat #'identity cascade ", then "))
      "No model is set up: answers come from your notes, and nothing leaves \
this machine.")))

;;;; The buffer

(defun passepartout-welcome--choice (label function help text)
  "Insert a button LABEL that calls FUNCTION, with HELP, and TEXT below it."
  (insert "  ")
  (passepartout-view-button label function help)
  (insert "\n    " text "\n\n"))

(defun passepartout-welcome--get ()
  "Ask how the module is to be got, also when that was declined before."
  (require 'passepartout-install)
  (setq passepartout-install--declined nil)
  (let ((passepartout-module-install 'ask))
    (passepartout-install-offer))
  ;; Where nothing can be done here, it is said what is missing.
  (user-error "%s" (passepartout-install-hint)))

(defun passepartout-welcome--draw ()
  "Draw the welcome in this buffer."
  (setq passepartout-welcome--said (passepartout-welcome--read))
  (passepartout-view-draw
    (insert (propertize "Welcome to Passepartout" 'face 'passepartout-title)
            "\n\n"
            (passepartout-view-line passepartout-welcome--said 400) "\n"
            (passepartout-view-line (passepartout-welcome--sent) 400) "\n\n")
    (when (passepartout-module-missing)
      (passepartout-welcome--choice
       "[get the module]"
       #'passepartout-welcome--get
       "Build or fetch it"
       "It is built here, or fetched where a release names one; nothing works before."))
    (passepartout-welcome--choice
     "[ask your notes]"
     (lambda () (call-interactively #'passepartout-chat))
     "Open a chat"
     "Type a question such as “What is due this week?” and press C-c RET.")
    (passepartout-welcome--choice
     "[watch the recorded tour]"
     #'passepartout-welcome-tour
     "Open an Emacs of its own over a demo memex"
     "A script stands in for a model; your notes and settings are not touched.")
    (passepartout-welcome--choice
     "[add a model provider]"
     (lambda () (call-interactively #'passepartout-setup))
     "Ask who answers, and try the key"
     "Its key is looked for in auth-source; it is tried, and its price is shown.")
    (insert (propertize "M-x passepartout-menu reaches every command, \
M-x passepartout-doctor says what works, q leaves.\n"
                        'face 'passepartout-quiet))))

(defun passepartout-welcome--buffer ()
  "Return the buffer of the welcome, drawn."
  (let ((buffer (passepartout-view-buffer passepartout-welcome--buffer-name
                                          'passepartout-view-mode)))
    (with-current-buffer buffer
      (setq passepartout-view--refresh #'passepartout-welcome--draw)
      (passepartout-welcome--draw)
      (goto-char (point-min)))
    buffer))

;;;###autoload
(defun passepartout-welcome ()
  "Show how many headings were read and how fast, and what to do next."
  (interactive)
  (pop-to-buffer (passepartout-welcome--buffer))
  (unless (passepartout-module-missing)
    (passepartout-start))
  (passepartout-welcome--draw))

(defun passepartout-welcome--store ()
  "Return the folder of the store of this Emacs."
  (or (let ((store (default-value 'passepartout-store)))
        (and store (expand-file-name store)))
      (expand-file-name
       "passepartout"
       (let ((state (getenv "XDG_STATE_HOME")))
         (if (and state (file-name-absolute-p state))
             state
           "~/.local/state")))))

(defun passepartout-welcome-at-first ()
  "Show the welcome beside the chat when there is no store yet."
  (unless (or passepartout-welcome--touring
              (passepartout-module-road :tag)
              (passepartout-running-p)
              (file-exists-p (expand-file-name
                              "memory.sqlite"
                              (passepartout-welcome--store))))
    (display-buffer (passepartout-welcome--buffer)
                    '(display-buffer-below-selected
                      (window-height . fit-window-to-buffer)))))

(defun passepartout-welcome-make-room ()
  "Give the answer the room in which the welcome was shown beside the chat."
  (let ((buffer (get-buffer passepartout-welcome--buffer-name)))
    (when buffer
      (dolist (window (get-buffer-window-list buffer nil))
        ;; Only one that was made for it goes with it.
        (when (and (not (eq window (selected-window)))
                   (eq (car-safe (window-parameter window 'quit-restore))
                       'window))
          (quit-restore-window window))))))

;;;; The tour

(defconst passepartout-welcome--lisp
  (file-name-directory (or load-file-name buffer-file-name
                           (locate-library "passepartout-welcome")))
  "Folder of the package.")

(defun passepartout-welcome--world ()
  "Make a folder with a copy of the demo memex, and return its name."
  (let ((demo (expand-file-name "docs/demo-memex" passepartout-module--root))
        (tour (expand-file-name "docs/tour.jsonl" passepartout-module--root)))
    (unless (and (file-directory-p demo) (file-readable-p tour))
      (user-error "The tour is not in %s; it comes with the package and with \
a clone of the repository" passepartout-module--root))
    (let ((world (file-name-as-directory
                  (make-temp-file "passepartout-tour-" t))))
      (copy-directory demo (expand-file-name "memex" world) nil t t)
      (copy-file tour (expand-file-name "tour.jsonl" world))
      (dolist (folder '("state" "config" "cache" "emacs" "project"))
        (make-directory (expand-file-name folder world)))
      world)))

(defun passepartout-welcome--environment (world)
  "Return the variables for an Emacs that lives in the folder WORLD."
  (append
   (mapcar (lambda (pair)
             (format "%s=%s" (car pair) (expand-file-name (cdr pair) world)))
           '(("XDG_STATE_HOME" . "state") ("XDG_CONFIG_HOME" . "config")
             ("XDG_CACHE_HOME" . "cache") ("PASSEPARTOUT_TOUR" . "./")))
   (list (concat "PASSEPARTOUT_TOUR_MODULE=" (passepartout-module-file)))))

(defun passepartout-welcome--command ()
  "Return the program and arguments of an Emacs that shows the tour."
  (list (expand-file-name invocation-name invocation-directory)
        "-Q" "-L" passepartout-welcome--lisp
        "-l" "passepartout-welcome" "-f" "passepartout-welcome-tour-open"))

;;;###autoload
(defun passepartout-welcome-tour ()
  "Watch the recorded tour, in an Emacs of its own over a demo memex.
A script stands in for a model.  Nothing of yours is read or written.
On a terminal, where there is no room for a second Emacs, the command
that shows it is put into the kill ring."
  (interactive)
  (let ((obstacle (passepartout-module-missing)))
    (when obstacle (user-error "%s" obstacle)))
  (let* ((world (passepartout-welcome--world))
         ;; The folder of this buffer may be gone, or elsewhere.
         (default-directory (file-name-as-directory world))
         (process-environment (append (passepartout-welcome--environment world)
                                      process-environment))
         (command (passepartout-welcome--command)))
    (if (display-graphic-p)
        (let ((process (apply #'start-process "passepartout-tour" nil
                              command)))
          (set-process-query-on-exit-flag process nil)
          (set-process-sentinel
           process
           (lambda (process _event)
             (unless (process-live-p process)
               (delete-directory world t))))
          (message "The tour opens in an Emacs of its own"))
      (kill-new
       (concat "env "
               (mapconcat (lambda (line)
                            (string-match "=" line)
                            (concat (substring line 0 (match-end 0))
                                    (shell-quote-argument
                                     (substring line (match-end 0)))))
                          (passepartout-welcome--environment world) " ")
               " "
               (mapconcat #'shell-quote-argument
                          (cons (car command) (cons "-nw" (cdr command)))
                          " ")))
      (message "The command that shows the tour is in the kill ring; type it \
into another terminal (it lives in %s)" world))))

(defun passepartout-welcome-tour-open ()
  "Open the tour; called in the Emacs that `passepartout-welcome-tour' starts."
  (let* ((world (file-name-as-directory (getenv "PASSEPARTOUT_TOUR")))
         (emacs (expand-file-name "emacs/" world)))
    (setq passepartout-welcome--touring t
          user-emacs-directory emacs
          custom-file (expand-file-name "custom.el" emacs)
          auto-save-list-file-prefix nil
          inhibit-startup-screen t
          default-directory (expand-file-name "project/" world)
          passepartout-directories (list (expand-file-name "memex" world))
          passepartout-project default-directory
          passepartout-module-file (getenv "PASSEPARTOUT_TOUR_MODULE")
          passepartout-providers `(("tour" :kind "replay"
                                    :url ,(expand-file-name "tour.jsonl"
                                                            world)))
          passepartout-provider-cascade '("tour" "recall"))
    (passepartout-global-mode 1)
    (passepartout-chat)
    (message "Type anything and press C-c RET")))

(add-hook 'passepartout-start-hook #'passepartout-welcome--begun)
(passepartout-subscribe :status nil #'passepartout-welcome--heard)

(provide 'passepartout-welcome)
;;; passepartout-welcome.el ends here
