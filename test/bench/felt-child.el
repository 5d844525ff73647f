;;; felt-child.el --- The Emacs in which keys are timed  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; Loaded by the Emacs that felt.el watches.  FELT_WHO says who works
;; here: "bare" is this Emacs without us, "plain" Lisp that inserts the
;; text of the answer as it comes, "ours" the real module, "gptel" gptel.
;; FELT_WHAT says what goes on:
;;
;;   stream   an answer streams into the chat FELT_FILE; keys are typed
;;            at its end, which the window follows
;;   edit     keys move and type in the middle of the Org file FELT_FILE
;;   ingest   the same, while the memex is read for the first time
;;   memory   the same, when all of it is in memory
;;   events   the same, with background work of which 50 events a second
;;            or more arrive
;;
;; How a key is timed stands at the head of felt.el.

;;; Code:

;; Compiling to machine code happens once, and not while something is
;; measured; nothing that is loaded may begin with it.
(dolist (variable '(native-comp-deferred-compilation native-comp-jit-compilation))
  (when (boundp variable) (set variable nil)))

(require 'cl-lib)
(require 'org)

(defvar felt--shown nil
  "When the commands of the keys were on the screen, the newest first.
Each is a cons of the time and of the seconds of collecting up to then.")
(defvar felt--waiting 0
  "How many commands ran whose outcome has not been drawn yet.")
(defvar felt--late nil "How late each tick of a timer came, newest first.")
(defvar felt--due nil "When the next tick is due.")
(defvar felt--began nil "Figures of when the measurement began, or nil.")
(defvar felt--events 0 "How many messages the core has sent since then.")
(defvar felt--result nil "The figures when what is measured was over.")

(defun felt--env (name)
  "Return what FELT_NAME says."
  (getenv (concat "FELT_" name)))

(defun felt--number (name)
  "Return the number that FELT_NAME says."
  (string-to-number (felt--env name)))

(defun felt--flag (name)
  "Make the file NAME for the Emacs that watches."
  (write-region "" nil (expand-file-name name (felt--env "OUT")) nil 'quiet))

;;;; What is measured

(defun felt--figures ()
  "Return figures that only grow: time, collections, what was made."
  (list (float-time) gcs-done gc-elapsed felt--events
        (cl-loop for count in (memory-use-counts)
                 ;; Conses, floats, cells of vectors, symbols, characters
                 ;; of strings, intervals, strings.
                 for size in '(16 16 8 48 1 56 32)
                 sum (* size count))))

(defun felt--after ()
  "Draw what the command of a key has done, and note when that is there.
While more keys wait Emacs does not draw; they are then seen together."
  (when felt--began
    (cl-incf felt--waiting)
    (felt--draw nil)))

(defun felt--draw (force)
  "Draw, and note that what was done is seen; FORCE it though keys wait."
  (when (redisplay force)
    (let ((now (cons (float-time) gc-elapsed)))
      (dotimes (_ felt--waiting) (push now felt--shown))
      (setq felt--waiting 0))))

(defun felt--tick ()
  "Note how late this tick is and arm the next one."
  (push (max 0.0 (- (float-time) felt--due)) felt--late)
  (setq felt--due (+ (float-time) 0.01))
  (run-at-time 0.01 nil #'felt--tick))

(defun felt--begin ()
  "Begin to measure: from now on keys come."
  (unless felt--began
    (garbage-collect)
    (setq felt--began (felt--figures)
          felt--due (+ (float-time) 0.01))
    (felt--tick)
    (felt--flag "ready")))

(defun felt--over ()
  "Say that what is measured is over; the Emacs that watches ends this one."
  (unless felt--result
    (setq felt--result (felt--figures))
    (felt--flag "over")))

(defun felt-end ()
  "Write what was measured and end this Emacs."
  (interactive)
  (felt--draw t)
  (let ((end (or felt--result (felt--figures)))
        (print-length nil) (print-level nil))
    (with-temp-file (expand-file-name "draft.eld" (felt--env "OUT"))
      (prin1 (list :shown (nreverse felt--shown)
                   :late (nreverse felt--late)
                   :spent (cl-mapcar #'- end felt--began)
                   :thread (and (fboundp 'passepartout-thread-figures)
                                (passepartout-thread-figures))
                   :notes (mapcar #'cdr (bound-and-true-p
                                         passepartout-events--notes)))
             (current-buffer))))
  (rename-file (expand-file-name "draft.eld" (felt--env "OUT"))
               (expand-file-name "result.eld" (felt--env "OUT")))
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer (set-buffer-modified-p nil)))
  (let ((kill-emacs-query-functions nil)) (kill-emacs 0)))

;;;; Passepartout

(declare-function passepartout-chat-open "passepartout-chat")
(declare-function passepartout-chat-send "passepartout-chat")
(declare-function passepartout-mode "passepartout")
(declare-function passepartout-start "passepartout-events")
(declare-function passepartout-send-event "passepartout-events")
(declare-function passepartout-subscribe "passepartout-events")
(defvar passepartout-module-file)
(defvar passepartout-directories)
(defvar passepartout-project)
(defvar passepartout-providers)
(defvar passepartout-provider-cascade)

(defun felt--ours ()
  "Prepare Passepartout, and begin to read the memex."
  (setq passepartout-module-file (getenv "PASSEPARTOUT_MODULE")
        passepartout-directories (list (felt--env "MEMEX"))
        passepartout-project (felt--env "PROJECT"))
  (if (equal (felt--env "WHAT") "stream")
      (setq passepartout-providers `(("fake" :kind "openai" :model "fake-1" :local t
                                      :url ,(felt--env "URL")))
            passepartout-provider-cascade '("fake"))
    (setq passepartout-provider-cascade '("recall")))
  (require 'passepartout)
  (require 'passepartout-chat)
  (dolist (type '(:event :response :stream-chunk :status :log))
    (passepartout-subscribe type nil (lambda (&rest _) (cl-incf felt--events)))))

(defun felt--when-read (function)
  "Call FUNCTION when the core says that it has read the memex."
  (passepartout-subscribe
   :log nil
   (lambda (payload _meta)
     (when (string-search "the memex has" (or (plist-get payload :text) ""))
       (run-at-time 1 nil function)))))

;;;; An answer that streams

(defun felt--for-the-time-of-an-answer ()
  "Measure for as long as the answer takes."
  (felt--begin)
  (run-at-time (/ (felt--number "BYTES") (float (felt--number "RATE"))) nil #'felt--over))

(defun felt--to-type ()
  "Put point where a next question is typed, at the end of the chat."
  (goto-char (point-max))
  (insert "\n* ")
  (point))

(defun felt--stream-bare ()
  "Show the chat while nothing comes."
  (find-file (felt--env "FILE"))
  (felt--to-type)
  (run-at-time 1 nil #'felt--for-the-time-of-an-answer))

(defun felt--stream-plain ()
  "Insert the answer as it comes, and do nothing else."
  (let* ((text (with-temp-buffer
                 (let ((coding-system-for-read 'utf-8-unix))
                   (insert-file-contents (felt--env "TEXT")))
                 (buffer-string)))
         (buffer (find-file (felt--env "FILE")))
         (at (progn (goto-char (point-max))
                    (insert "\n* Tell me all\n** Answer\n")
                    (copy-marker (point) t)))
         (from 0)
         (began (+ (float-time) 1))
         (rate (felt--number "RATE")))
    (save-excursion (insert "\n"))
    (set-marker-insertion-type at nil)
    (felt--to-type)
    (set-marker-insertion-type at t)
    (run-at-time 0.9 nil #'felt--begin)
    (run-at-time
     1 0.01
     (lambda ()
       (with-current-buffer buffer
         (save-excursion
           (goto-char at)
           (let ((to (min (length text)
                          (floor (* rate (- (float-time) began))))))
             (when (< from to)
               (insert (substring text from to))
               (setq from to))))
         (when (>= from (length text)) (felt--over)))))))

(defun felt--stream-ours ()
  "Stream the answer into the chat through the module."
  (felt--ours)
  (passepartout-chat-open (felt--env "FILE"))
  (passepartout-start)
  (passepartout-subscribe :response :turn-done (lambda (&rest _) (felt--over)))
  (passepartout-subscribe :stream-chunk nil
                          (lambda (&rest _) (run-at-time 0 nil #'felt--begin)))
  (run-at-time
   2 nil
   (lambda ()
     (goto-char (point-max))
     (insert "Tell me all")
     (passepartout-chat-send)
     (goto-char (point-max)))))

(declare-function gptel-mode "ext:gptel")
(declare-function gptel-send "ext:gptel")
(declare-function gptel-make-openai "ext:gptel-openai")
(defvar gptel-backend)
(defvar gptel-model)
(defvar gptel-stream)
(defvar gptel-use-curl)

(defun felt--stream-gptel ()
  "Stream the answer into the chat through gptel."
  (dolist (folder (split-string (felt--env "GPTEL") path-separator t))
    (push folder load-path))
  (require 'gptel)
  (require 'gptel-openai)
  (require 'gptel-org)
  (setq gptel-stream t
        gptel-model 'fake-1
        gptel-backend (gptel-make-openai
                       "fake" :host (replace-regexp-in-string
                                     "\\`http://\\([^/]+\\)/.*" "\\1" (felt--env "URL"))
                       :protocol "http" :stream t :key "none" :models '(fake-1)))
  (find-file (felt--env "FILE"))
  (gptel-mode 1)
  (add-hook 'gptel-pre-response-hook #'felt--begin)
  (add-hook 'gptel-post-response-functions (lambda (&rest _) (felt--over)))
  (goto-char (point-max))
  (insert "\n* ")
  ;; Of all the chat only the question is sent.
  (push-mark (point) t t)
  (insert "Tell me all\n")
  (gptel-send)
  (deactivate-mark)
  (save-excursion (insert "\n"))
  (felt--to-type))

;;;; A large Org file

(defun felt--edit ()
  "Show the middle of a large Org file."
  (find-file (felt--env "FILE"))
  (goto-char (/ (point-max) 2))
  (org-back-to-heading t)
  (forward-line 1))

(defun felt--for-a-while ()
  "Measure for the seconds that are asked for."
  (felt--begin)
  (run-at-time (felt--number "SECONDS") nil #'felt--over))

(defun felt--edit-bare ()
  "Edit while nothing else goes on."
  (felt--edit)
  (run-at-time 1 nil #'felt--for-a-while))

(defun felt--edit-ours ()
  "Edit what the agent follows."
  (felt--ours)
  (felt--edit)
  (felt--when-read #'felt--for-a-while)
  (passepartout-mode 1))

(defalias 'felt--memory-ours #'felt--edit-ours)

(defun felt--ingest-ours ()
  "Edit what the agent follows while the memex is read."
  (felt--ours)
  (felt--edit)
  (felt--when-read #'felt--over)
  (run-at-time 0.5 nil
               (lambda ()
                 ;; What starting takes, once, has a row of its own.
                 (passepartout-mode 1)
                 (felt--for-a-while))))

(defun felt--events-ours ()
  "Edit while other conversations go on, of which events arrive."
  (felt--edit-ours)
  (let ((number 0))
    (run-at-time
     1 0.1
     (lambda ()
       (setq number (1+ number))
       (passepartout-send-event :user-input '(:text "what are my todos?")
                                (format "background-%d" (% number 4)))))))

;;;; Running

(defun felt-child ()
  "Measure what is asked for."
  ;; That a file is saved by itself would be the same for all.
  (setq auto-save-default nil
        create-lockfiles nil
        inhibit-startup-screen t
        large-file-warning-threshold nil
        ;; The end of the buffer is an error, at which keys are dropped.
        command-error-function #'ignore)
  (random "felt")
  ;; Keys that one byte of a terminal has.
  (global-set-key (kbd "C-t") #'scroll-down-command)
  (global-set-key (kbd "C-]") #'felt-end)
  (add-hook 'post-command-hook #'felt--after 100)
  ;; Should nobody watch any more.
  (run-at-time 600 nil #'kill-emacs 1)
  (condition-case problem
      (funcall (intern (format "felt--%s-%s" (felt--env "WHAT") (felt--env "WHO"))))
    (error
     (with-temp-file (expand-file-name "failed" (felt--env "OUT"))
       (insert (error-message-string problem)))
     (kill-emacs 1))))

(provide 'felt-child)
;;; felt-child.el ends here
