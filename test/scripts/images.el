;;; images.el --- Take the pictures of the documents  -*- lexical-binding: t; no-byte-compile: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Loaded by test/scripts/images.sh in an Emacs with a frame, after run.el
;; has set its world.  It plays one scene over the demo memex, exports
;; the frame as PNG, and ends.

;;; Code:

(require 'passepartout)
(require 'passepartout-chat)
(require 'passepartout-plan)
(require 'passepartout-status)

(defvar passepartout-images--out (getenv "PASSEPARTOUT_IMAGE")
  "The file of the picture.")

(defun passepartout-images--leave (why)
  "End Emacs and say WHY."
  (princ (format "%s\n" why) #'external-debugging-output)
  (let ((kill-emacs-hook nil)) (kill-emacs 1)))

(defun passepartout-images--until (what predicate)
  "Wait until PREDICATE holds, for WHAT; end Emacs when it does not come to."
  (let ((left 200))
    (while (and (> left 0) (not (funcall predicate)))
      (setq left (1- left))
      (sit-for 0.05))
    (unless (funcall predicate)
      (passepartout-images--leave
       (format "This did not come: %s\n%s" what (buffer-string))))))

(defun passepartout-images--read ()
  "Wait until the memex was read."
  (passepartout-start)
  (passepartout-images--until
   "the memex is read"
   (lambda () (and (natnump (plist-get passepartout-status--last :headings))
                   (not (consp (plist-get passepartout-status--last
                                          :reading)))))))

(defun passepartout-images--ask (question)
  "Ask QUESTION in a chat, and wait until the next prompt stands below."
  (passepartout-chat)
  (goto-char (point-max))
  (insert question)
  (call-interactively #'passepartout-chat-send)
  (passepartout-images--until
   question
   (lambda () (save-excursion (goto-char (point-max))
                              (skip-chars-backward " \n")
                              (beginning-of-line)
                              (looking-at-p "^\\* *$")))))

(defun passepartout-images--welcome ()
  "Show the welcome beside a chat."
  (passepartout-chat)
  (passepartout-welcome)
  (passepartout-images--read))

(defun passepartout-images--chat ()
  "Show a question and its answer."
  (passepartout-images--read)
  (passepartout-images--ask "What is due this week?"))

(defun passepartout-images--plan ()
  "Show a flight plan with its difference."
  (passepartout-images--read)
  (passepartout-images--ask "Mark Ring the gas company done")
  (passepartout-images--until
   "a plan" (lambda () (passepartout-plan-pending)))
  (passepartout-flight-plans)
  (delete-other-windows))

(defun passepartout-images--menu ()
  "Show the menu."
  (passepartout-images--read)
  (passepartout-chat)
  (passepartout-menu))

(defun passepartout-images-take ()
  "Play the scene that the environment names, and take its picture."
  (menu-bar-mode -1)
  (tool-bar-mode -1)
  (scroll-bar-mode -1)
  (set-face-attribute 'default nil :height 110)
  (delete-other-windows)
  (condition-case problem
      (funcall (intern (concat "passepartout-images--"
                               (getenv "PASSEPARTOUT_SCENE"))))
    (error
     (passepartout-images--leave (error-message-string problem))))
  (message nil)
  (sit-for 0.5)
  (redisplay t)
  (let ((png (x-export-frames nil 'png))
        (coding-system-for-write 'no-conversion))
    (with-temp-buffer
      (set-buffer-multibyte nil)
      (insert png)
      (write-region nil nil passepartout-images--out nil 'silent)))
  (kill-emacs 0))

;; The frame is there when Emacs has begun.
(run-with-timer 1 nil #'passepartout-images-take)

(provide 'images)
;;; images.el ends here
