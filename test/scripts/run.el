;;; run.el --- Open the chat in a world of its own  -*- lexical-binding: t; no-byte-compile: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Loaded by "make run" before anything else.  Everything that Emacs
;; and its packages would write goes below one folder, so that the
;; user's own configuration is left alone.

;;; Code:

(defvar passepartout-run--world
  (file-name-as-directory (getenv "PASSEPARTOUT_RUN_WORLD"))
  "Folder of this world.")

(setq user-emacs-directory (expand-file-name "emacs/" passepartout-run--world)
      auto-save-list-file-prefix (expand-file-name "auto-save-list/.saves-"
                                                   user-emacs-directory)
      custom-file (expand-file-name "custom.el" user-emacs-directory)
      package-user-dir (expand-file-name "elpa/" user-emacs-directory)
      url-configuration-directory (expand-file-name "url/" user-emacs-directory)
      bookmark-default-file (expand-file-name "bookmarks" user-emacs-directory)
      org-id-locations-file (expand-file-name "org-ids" user-emacs-directory)
      org-directory (getenv "PASSEPARTOUT_RUN_MEMEX")
      backup-directory-alist
      (list (cons "." (expand-file-name "backups/" user-emacs-directory)))
      inhibit-startup-screen t)

;; Emacs compiles what it loads on in the background: into this world, not
;; into what is the user's; and its remarks are for the log.
(when (boundp 'native-comp-eln-load-path)
  (set 'native-comp-async-report-warnings-errors 'silent)
  (set 'native-comp-eln-load-path
       (cons (expand-file-name "eln-cache/" user-emacs-directory)
             (symbol-value 'native-comp-eln-load-path))))

(defvar passepartout-directories)
(defvar passepartout-project)
(defvar passepartout-module-file)
(declare-function passepartout-global-mode "passepartout" (&optional arg))
(declare-function passepartout-chat "passepartout-chat" (&optional new))

(setq passepartout-directories (list (getenv "PASSEPARTOUT_RUN_MEMEX"))
      passepartout-project (expand-file-name "project/" passepartout-run--world)
      passepartout-module-file (getenv "PASSEPARTOUT_RUN_MODULE"))

(defvar passepartout-providers)
(defvar passepartout-provider-cascade)

(defun passepartout-run-open ()
  "Open the chat; over the demo memex, offer the recorded tour first."
  (require 'passepartout-chat)
  (let ((tour (getenv "PASSEPARTOUT_RUN_TOUR")))
    (when (and tour (not (equal tour "")) (not noninteractive)
               (y-or-n-p "Take the recorded tour?  It needs no model: \
a script stands in for one, and each answer says so. "))
      (setq passepartout-providers `(("tour" :kind "replay" :url ,tour))
            passepartout-provider-cascade '("tour" "recall"))))
  (passepartout-global-mode 1)
  (passepartout-chat))

(provide 'run)
;;; run.el ends here
