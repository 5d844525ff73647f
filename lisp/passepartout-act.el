;;; passepartout-act.el --- What the core may ask of Emacs  -*- lexical-binding: t; -*-

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

;; The core asks Emacs for what only Emacs knows or may do: the text of
;; an open buffer, and edits to it.  The list of verbs is closed; no
;; text from the core is ever evaluated.
;;
;; An edit names the bytes that it replaces and the tick of the buffer
;; that it was made for.  All edits of a request succeed or none does;
;; together they are one undo step; the buffer is not saved, and point
;; stays where it is.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-provider)
(require 'passepartout-sense)
(require 'passepartout-settings)
(require 'passepartout-tools)
(require 'passepartout-verbs)
(eval-when-compile (require 'cl-lib))

(defconst passepartout-act--verbs
  '((:buffer-state . passepartout-act--state)
    (:buffer-edit . passepartout-act--edit)
    (:editor-verb . passepartout-verbs-answer)
    (:own-tool . passepartout-tools-answer)
    (:settings . passepartout-settings-answer)
    (:setting-weigh . passepartout-settings-weigh)
    (:setting-set . passepartout-settings-set)
    (:select-model . passepartout-provider-answer)
    (:chat-turns . passepartout-chat-older-answer))
  "What the core may ask, and the function that answers.")

(defun passepartout-act--handle (payload _meta)
  "Answer the request in PAYLOAD when its verb is ours."
  (let* ((verb (plist-get payload :action))
         (request (plist-get payload :request))
         (function (cdr (assq verb passepartout-act--verbs)))
         (rule (passepartout-module-road :answer))
         (answer (and rule (funcall rule payload))))
    (cond
     (answer (when request (passepartout-reply request answer)))
     (function
      (condition-case problem
          (funcall function request payload)
        (error
         (passepartout-reply
          request (list :ok nil :text (error-message-string problem))))))
     ((and request (not (eq verb :resync)))
      (passepartout-reply
       request (list :ok nil :text (format "Emacs does not know %s" verb)))))))

(defun passepartout-act--buffer (file)
  "Return the base buffer that visits FILE, or nil."
  (let ((buffer (passepartout-verbs-buffer file)))
    (and buffer (or (buffer-base-buffer buffer) buffer))))

;;;; State

(defvar-local passepartout-act--name nil
  "What sets this buffer apart from every other that this Emacs ever had.
A buffer that was killed and opened again can have the same tick.")
(put 'passepartout-act--name 'permanent-local t)

(defvar passepartout-act--names 0
  "How many buffers have got a name.")

(defun passepartout-act--state-name ()
  "Return a string that names the current buffer with the text it has now."
  (unless passepartout-act--name
    (setq passepartout-act--name
          (format "%d" (cl-incf passepartout-act--names))))
  (format "%s.%d" passepartout-act--name (buffer-chars-modified-tick)))

(defun passepartout-act--state (request payload)
  "Answer REQUEST with the state of the buffer in PAYLOAD.
Its text follows, unless the core asks for the state alone, or knows
the text that the buffer has in this state."
  (let ((buffer (passepartout-act--buffer (plist-get payload :file))))
    (if (not buffer)
        (passepartout-reply request '(:open nil))
      (with-current-buffer buffer
        (let* ((name (passepartout-act--state-name))
               (state `(:open t
                        :tick ,(buffer-chars-modified-tick)
                        :state ,name
                        :modified ,(buffer-modified-p)
                        :read-only ,(and buffer-read-only t))))
          (cond
           ((plist-get payload :brief)
            (passepartout-reply request state))
           ((equal name (plist-get payload :known))
            (passepartout-reply request `(,@state :same t)))
           (t
            (passepartout-act--send-text request state))))))))

(defun passepartout-act--send-text (request state)
  "Answer REQUEST with STATE and the text of the current buffer, in slices."
  (let* ((text (save-restriction
                 (widen)
                 (passepartout-events-clean
                  (buffer-substring-no-properties (point-min) (point-max)))))
         (state `(,@state :size ,(string-bytes text))))
    (passepartout-events-slices
     text
     (lambda (slice)
       (passepartout-reply request `(,@state ,@slice))
       t))))

;;;; Edits

(defun passepartout-act--edit (request payload)
  "Carry out the edits in PAYLOAD and answer REQUEST."
  (let* ((file (plist-get payload :file))
         (buffer (passepartout-act--buffer file))
         (problem
          (if (not buffer)
              (format "%s is not open in Emacs" file)
            (with-current-buffer buffer
              (save-restriction
                (widen)
                (or (passepartout-act--refusal (plist-get payload :tick))
                    (passepartout-act--apply
                     (plist-get payload :edits))
                    ;; Before the answer: what the core knows of the
                    ;; buffer is never older than what it did to it.
                    (progn (passepartout-sense-send) nil)))))))
    (passepartout-reply request (if problem
                                    (list :ok nil :text problem)
                                  '(:ok t)))))

(defun passepartout-act--refusal (tick)
  "Return why the current buffer cannot be edited as of TICK, or nil.
Whatever would make Emacs ask a question is refused beforehand."
  (cond
   ((not (eql tick (buffer-chars-modified-tick)))
    (format "%s has changed meanwhile" (buffer-name)))
   (buffer-read-only
    (format "%s is read-only" (buffer-name)))
   ((and buffer-file-name
         (not (verify-visited-file-modtime (current-buffer))))
    (format "%s has changed on disk; revert or save it first" (buffer-name)))
   ((and buffer-file-name
         (stringp (file-locked-p buffer-file-name)))
    (format "%s is being edited by %s" (buffer-name)
            (file-locked-p buffer-file-name)))))

(defun passepartout-act--position (byte)
  "Return the position of the 0-based BYTE, or nil when it is none.
A byte inside a character is none."
  (let ((position (and (integerp byte) (>= byte 0)
                       (byte-to-position (1+ byte)))))
    (and position
         (= (position-bytes position) (1+ byte))
         position)))

(defun passepartout-act--resolve (edits)
  "Return EDITS with positions instead of bytes, the last first.
Return a string that says what is wrong when they do not fit."
  (catch 'wrong
    (let ((resolved nil) (end 0))
      (dolist (edit (sort (copy-sequence edits)
                          (lambda (a b) (< (car a) (car b)))))
        (cl-destructuring-bind (from to text) edit
          (let ((first (passepartout-act--position from))
                (last (passepartout-act--position to)))
            (unless (and first last (<= first last) (stringp text))
              (throw 'wrong (format "Bytes %s to %s are not in %s"
                                    from to (buffer-name))))
            (when (< first end)
              (throw 'wrong "The edits overlap"))
            (setq end last)
            (push (list first last text) resolved))))
      resolved)))

(defun passepartout-act--apply (edits)
  "Carry out EDITS as one undo step; return nil, or why it failed.
When one fails, none has happened."
  (let ((resolved (condition-case nil
                      (passepartout-act--resolve edits)
                    (error "The edits are malformed"))))
    (if (stringp resolved)
        resolved
      (undo-boundary)
      ;; Only now: what the group holds becomes one step, and that must
      ;; not include what the user did before.
      (let ((group (prepare-change-group)))
        (condition-case problem
            (progn
              (activate-change-group group)
              (save-excursion
                (dolist (edit resolved)
                  (apply #'passepartout-act--replace edit)))
              (undo-amalgamate-change-group group)
              (accept-change-group group)
              (undo-boundary)
              nil)
          ((error quit)
           (cancel-change-group group)
           (undo-boundary)
           (error-message-string problem)))))))

(defun passepartout-act--replace (beg end text)
  "Replace what is between BEG and END with TEXT.
What the two have in common at both ends stays, so that point and
markers in it stay too."
  (let* ((old (buffer-substring-no-properties beg end))
         (shorter (min (length old) (length text)))
         (differ (compare-strings old nil nil text nil nil))
         (head (if (eq differ t) shorter (1- (abs differ))))
         (tail 0))
    (while (and (< tail (- shorter head))
                (eq (aref old (- (length old) tail 1))
                    (aref text (- (length text) tail 1))))
      (setq tail (1+ tail)))
    (let ((from (+ beg head))
          (to (- end tail)))
      (goto-char from)
      (when (< from to) (delete-region from to))
      (let ((new (substring text head (- (length text) tail))))
        (unless (string-empty-p new) (insert new))))))

(passepartout-subscribe :request nil #'passepartout-act--handle)

(provide 'passepartout-act)
;;; passepartout-act.el ends here
