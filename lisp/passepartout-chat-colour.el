;;; passepartout-chat-colour.el --- When the code of an answer is coloured  -*- lexical-binding: t; -*-

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

;; Org colours a block of code with the mode of its language, which may
;; take a tenth of a second, and it does so while it draws.  While an
;; answer streams in, new code would so make your keys late again and
;; again: it is coloured when you have typed nothing for a moment.

;;; Code:

(require 'org)
(require 'passepartout)

(declare-function passepartout-chat--answering-p "passepartout-chat-answer"
                  (base))
(declare-function passepartout-chat--base "passepartout-chat-place" ())

(defconst passepartout-chat-colour--rest 0.3
  "Seconds without a key after which code of a growing answer is coloured.")

(defvar-local passepartout-chat-colour--range nil
  "The range with code that waits, a cons of markers, or nil.")

(defun passepartout-chat-colour-now-p (beg end)
  "Return non-nil when the code from BEG to END is to be coloured at once.
Otherwise it is coloured when you rest."
  (or (get-text-property beg 'passepartout-chat-coloured)
      (not (fboundp 'passepartout-chat--answering-p))
      (not (passepartout-chat--answering-p (passepartout-chat--base)))
      (progn (passepartout-chat-colour--later beg end) nil)))

(defun passepartout-chat-colour--later (beg end)
  "Colour the code from BEG to END when you rest."
  (let ((range passepartout-chat-colour--range)
        (idle (current-idle-time)))
    (if range
        (progn (when (< beg (car range)) (set-marker (car range) beg))
               (when (> end (cdr range)) (set-marker (cdr range) end)))
      (setq passepartout-chat-colour--range
            (cons (copy-marker beg) (copy-marker end)))
      ;; While you rest already, the time counts from now.
      (run-with-idle-timer
       (if idle (time-add idle passepartout-chat-colour--rest)
         passepartout-chat-colour--rest)
       nil #'passepartout-chat-colour--rested (current-buffer)))))

(defun passepartout-chat-colour--rested (buffer)
  "Let the code that waits in BUFFER be coloured when it is drawn."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (pcase-let ((`(,beg . ,end) passepartout-chat-colour--range))
        (setq passepartout-chat-colour--range nil)
        (when beg
          (org-with-wide-buffer
           (with-silent-modifications
             (put-text-property beg end 'passepartout-chat-coloured t))
           (font-lock-flush beg end))
          (set-marker beg nil)
          (set-marker end nil))))))

(provide 'passepartout-chat-colour)
;;; passepartout-chat-colour.el ends here
