;;; passepartout-sense.el --- What the agent notices of your work  -*- lexical-binding: t; -*-

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

;; A buffer in `passepartout-mode' is mirrored in the core: changed
;; ranges travel as bytes, point as a byte.  Nothing here parses Org.
;;
;; A change is known from `after-change-functions' alone: the bytes that
;; it replaced follow from how much the size of the buffer changed.
;; Changes that lie close together are sent as one, a few hundredths of
;; a second after the first of them.  Whole buffers go in slices, from a
;; copy of the text, with the changes made meanwhile sent afterwards.
;; When anything does not add up, the whole buffer is sent again.
;;
;; All state lives in the base buffer, because an indirect buffer has
;; its own hooks and the same text.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-thread)
(eval-when-compile (require 'cl-lib))

(defconst passepartout-sense--delay 0.03
  "Seconds between the last key and what is sent of changes and of point.")

(defconst passepartout-sense--longest '(50000000 . 1000000000)
  "Seconds after which a change is sent while keys come without a rest.
It is more than `passepartout-sense--delay', so that of a change after
which there is a rest no timer of its own goes off.")

(defconst passepartout-sense--gap 512
  "Changes that are at most so many bytes apart are sent as one.")

(defconst passepartout-sense--whole 262144
  "A change of more bytes than this makes the whole buffer travel.")

(cl-defstruct (passepartout-sense--mirror
               (:constructor passepartout-sense--mirror-create)
               (:copier nil))
  "What the core knows about a buffer.
FILE is its name there, SIZE the bytes of the buffer after the last
change that was seen, DIRTY nil or a list (BEG OLD-END NEW-END) of
bytes that have changed, WHOLE nil, `due' when the whole text is to be
sent, or the copy that is being sent, and POINT the byte of point that
was sent last."
  file size dirty whole point)

(defvar-local passepartout-sense--mirror nil
  "What the core knows about this buffer, or nil.")

(defvar passepartout-sense--buffers nil
  "The base buffers that are mirrored.")

(defvar passepartout-sense--timer nil
  "The timer that sends what has changed, or nil.")

(defvar passepartout-sense--alarm
  (timer-set-function (timer-create) #'passepartout-sense--tick)
  "The timer that is set anew for each change after a rest.")

(defvar passepartout-sense--idle-timer nil
  "The timer that sends where point is, or nil.")

;;;; Bytes

(defun passepartout-sense--base ()
  "Return the buffer with the state for the current buffer."
  (or (buffer-base-buffer) (current-buffer)))

(defun passepartout-sense--byte (position)
  "Return the 0-based byte of POSITION in the widened buffer.
A narrowing of the buffer does not matter."
  (1- (position-bytes position)))

(defun passepartout-sense--size ()
  "Return the size of the widened buffer in bytes."
  (passepartout-sense--byte (1+ (buffer-size))))

(defun passepartout-sense--text (beg end)
  "Return the text between the bytes BEG and END of the buffer."
  (save-restriction
    (widen)
    (let ((text (buffer-substring-no-properties
                 (byte-to-position (1+ beg)) (byte-to-position (1+ end)))))
      (if (passepartout-events-clean-p text) text
        (passepartout-events-clean text)))))

(defun passepartout-sense--as-on-disk-p ()
  "Return non-nil when the text of the buffer is that of its file, in bytes."
  (and (not (buffer-modified-p))
       (file-exists-p buffer-file-name)
       (verify-visited-file-modtime (current-buffer))
       (let ((coding (or buffer-file-coding-system 'undecided)))
         (and (memq (coding-system-type coding) '(utf-8 undecided))
              (not (coding-system-get coding :bom))
              (eql (coding-system-eol-type coding) 0)))
       (let ((size (file-attribute-size (file-attributes buffer-file-name))))
         (and size (= size (passepartout-sense--size))))))

(defun passepartout-sense--modified ()
  "Return when the visited file was changed last, in nanoseconds since 1970.
It is the time of the text that the buffer was read from or saved as."
  (car (time-convert (visited-file-modtime) 1000000000)))

;;;; Starting and stopping

(defun passepartout-sense-suitable-p ()
  "Return nil when this buffer can be mirrored, else a sentence on why not."
  (let ((file (buffer-file-name (passepartout-sense--base))))
    (cond
     ((not (derived-mode-p 'org-mode))
      "Passepartout follows Org buffers; this is not one")
     ((not file) "This buffer has no file yet; save it first")
     ((file-remote-p file) "Passepartout does not follow remote files")
     ((string-match-p "\\.\\(gpg\\|asc\\|age\\)\\'" file)
      "This file is encrypted; Passepartout leaves it alone"))))

(defun passepartout-sense-start ()
  "Begin to mirror the current buffer."
  (passepartout-start)
  (with-current-buffer (passepartout-sense--base)
    (unless passepartout-sense--mirror
      (setq passepartout-sense--mirror
            (passepartout-sense--mirror-create
             :file (expand-file-name buffer-file-name)
             :size (passepartout-sense--size)))
      (cl-pushnew (current-buffer) passepartout-sense--buffers)
      (passepartout-sense--hooks #'add-hook)
      (passepartout-sense--begin)
      (passepartout-sense--tick)))
  (unless passepartout-sense--idle-timer
    (setq passepartout-sense--idle-timer
          (run-with-idle-timer passepartout-sense--delay t
                               #'passepartout-sense--idle))))

(defun passepartout-sense--hooks (change)
  "Apply CHANGE, `add-hook' or `remove-hook', to the hooks of the buffer."
  (let ((local (if (eq change #'add-hook) '(nil t) '(t))))
    (apply change 'after-change-functions #'passepartout-sense--changed local)
    (apply change 'after-save-hook #'passepartout-sense--saved local)
    (apply change 'after-revert-hook #'passepartout-sense--reverted local)
    (apply change 'after-set-visited-file-name-hook
           #'passepartout-sense--renamed local)
    (apply change 'change-major-mode-hook #'passepartout-sense-stop local)
    (apply change 'kill-buffer-hook #'passepartout-sense-stop local)))

(defun passepartout-sense-stop ()
  "Stop mirroring the current buffer, unless it is an indirect one."
  (when (and passepartout-sense--mirror (not (buffer-base-buffer)))
    (passepartout-sense--hooks #'remove-hook)
    (setq passepartout-sense--buffers
          (delq (current-buffer) passepartout-sense--buffers))
    (let ((file (passepartout-sense--mirror-file passepartout-sense--mirror)))
      (setq passepartout-sense--mirror nil)
      (passepartout-sense--send `(:file ,file :part :closed)))
    (unless passepartout-sense--buffers
      (when (timerp passepartout-sense--idle-timer)
        (cancel-timer passepartout-sense--idle-timer))
      (setq passepartout-sense--idle-timer nil))))

(defun passepartout-sense--send (payload)
  "Send PAYLOAD as a buffer-update, when the core is running."
  (when (passepartout-running-p)
    (passepartout-send-event :buffer-update payload)))

;;;; Noticing

(defun passepartout-sense--changed (beg end length)
  "Note that LENGTH characters became those between BEG and END."
  (passepartout-thread-timed 'passepartout-sense--changed
    (passepartout-sense--take-change beg end length)))

(defun passepartout-sense--take-change (beg end length)
  "Note that LENGTH characters became those between BEG and END."
  (let* ((size (passepartout-sense--size))
         (start (passepartout-sense--byte beg))
         (stop (passepartout-sense--byte end)))
    (with-current-buffer (passepartout-sense--base)
      (let ((mirror passepartout-sense--mirror))
        (when mirror
          (let ((old (- (- stop start)
                        (- size (passepartout-sense--mirror-size mirror)))))
            (setf (passepartout-sense--mirror-size mirror) size)
            (cond
             ((eq (passepartout-sense--mirror-whole mirror) 'due))
             ;; A character has one to five bytes: anything else means
             ;; that a change was hidden from us.
             ((not (<= length old (* 5 length)))
              (passepartout-sense--begin))
             (t (passepartout-sense--note mirror start (+ start old) stop))))
          (passepartout-sense--arm))))))

(defun passepartout-sense--note (mirror beg old-end new-end)
  "Add to MIRROR that the bytes from BEG to OLD-END now end at NEW-END.
Only the widened size matters, so it may be called in any restriction."
  (let ((dirty (passepartout-sense--mirror-dirty mirror)))
    (if (not dirty)
        (setf (passepartout-sense--mirror-dirty mirror)
              (list beg old-end new-end))
      (cl-destructuring-bind (d-beg d-old d-new) dirty
        (let ((first (min d-beg beg))
              (last (max d-new old-end)))
          (if (and (not (passepartout-sense--mirror-whole mirror))
                   (or (> beg (+ d-new passepartout-sense--gap))
                       (< old-end (- d-beg passepartout-sense--gap))))
              ;; Far apart: the first goes now, as it was before the
              ;; second, which lies outside of it.
              (let ((shift (if (< beg d-beg) (- new-end old-end) 0))
                    (size (passepartout-sense--mirror-size mirror)))
                (passepartout-sense--send-change
                 mirror d-beg d-old (+ d-beg shift) (+ d-new shift)
                 (- size (- new-end old-end)))
                (setf (passepartout-sense--mirror-dirty mirror)
                      (list beg old-end new-end)))
            (setf (passepartout-sense--mirror-dirty mirror)
                  (list first
                        (+ d-old (- last d-new))
                        (+ last (- new-end old-end))))))))))

(defun passepartout-sense--saved ()
  "Note that the buffer has been saved."
  (passepartout-sense--begin)
  (passepartout-sense--tick))

(defalias 'passepartout-sense--reverted #'passepartout-sense--saved)

(defun passepartout-sense--renamed ()
  "Note that the buffer has another file."
  (when passepartout-sense--mirror
    (passepartout-sense--send
     `(:file ,(passepartout-sense--mirror-file passepartout-sense--mirror)
       :part :closed))
    (if (passepartout-sense-suitable-p)
        (progn
          (setf (passepartout-sense--mirror-whole passepartout-sense--mirror)
                nil)
          (passepartout-mode -1))
      (setf (passepartout-sense--mirror-file passepartout-sense--mirror)
            (expand-file-name buffer-file-name))
      (passepartout-sense--begin)
      (passepartout-sense--arm))))

(defun passepartout-sense--begin ()
  "Make the whole text of the current buffer due."
  (when passepartout-sense--mirror
    (setf (passepartout-sense--mirror-dirty passepartout-sense--mirror) nil
          (passepartout-sense--mirror-size passepartout-sense--mirror)
          (passepartout-sense--size)
          (passepartout-sense--mirror-whole passepartout-sense--mirror) 'due)))

;;;; Sending

(defun passepartout-sense--arm ()
  "Send what has changed a moment from now."
  (unless passepartout-sense--timer
    (timer-activate
     (setq passepartout-sense--timer
           (timer-set-time passepartout-sense--alarm
                           (time-add nil passepartout-sense--longest))))))

(defun passepartout-sense--tick (&optional base byte)
  "Send what has changed in the mirrored buffers.
BYTE is where point is in the buffer BASE; it goes along with what has
changed there.  Return non-nil when it did."
  (when (timerp passepartout-sense--timer)
    (cancel-timer passepartout-sense--timer))
  (setq passepartout-sense--timer nil)
  (let ((buffers passepartout-sense--buffers)
        (told nil))
    (while (and buffers (not (passepartout-sense--due-p (car buffers))))
      (setq buffers (cdr buffers)))
    (when buffers
      (passepartout-thread-timed 'passepartout-sense--tick
        (dolist (buffer buffers)
          (when (passepartout-sense--due-p buffer)
            (with-current-buffer buffer
              (when (passepartout-sense--flush (and (eq buffer base) byte))
                (setq told t)))))))
    told))

(defun passepartout-sense--due-p (buffer)
  "Return non-nil when there is something to send of BUFFER."
  (let ((mirror (and (buffer-live-p buffer)
                     (buffer-local-value 'passepartout-sense--mirror buffer))))
    (and mirror
         (or (passepartout-sense--mirror-dirty mirror)
             (eq (passepartout-sense--mirror-whole mirror) 'due)))))

(defun passepartout-sense-send ()
  "Send now what has changed in the current buffer, when it is mirrored."
  (passepartout-sense--flush))

(defun passepartout-sense--flush (&optional byte)
  "Send what has changed in the current buffer.
BYTE is where point is, when that is to go along.  Return non-nil when
it did."
  (let* ((mirror passepartout-sense--mirror)
         (dirty (and mirror (passepartout-sense--mirror-dirty mirror)))
         (whole (and mirror (passepartout-sense--mirror-whole mirror))))
    (cond
     ((not (passepartout-running-p)) nil)
     ((eq whole 'due) (passepartout-sense--send-whole mirror) nil)
     (whole nil)                        ; the changes wait for its end
     (dirty
      (setf (passepartout-sense--mirror-dirty mirror) nil)
      (cl-destructuring-bind (beg old-end new-end) dirty
        (passepartout-sense--send-change
         mirror beg old-end beg new-end
         (passepartout-sense--mirror-size mirror) byte))))))

(defun passepartout-sense--send-change
    (mirror beg end from to size &optional byte)
  "Send for MIRROR that the bytes BEG to END became those from FROM to TO.
FROM and TO are bytes of the buffer as it is now; SIZE is the size that
the buffer had after this change.  A long text goes as several changes,
of which the last says that point is at BYTE, when that is non-nil.
Return non-nil when it did."
  (if (> (- to from) passepartout-sense--whole)
      (progn (passepartout-sense--begin) nil)
    (let* ((text (passepartout-sense--text from to))
           (file (passepartout-sense--mirror-file mirror))
           (tick (buffer-chars-modified-tick))
           (at beg)
           (left (- to from))
           (index 0))
      (while
          (let* ((cut (passepartout-events--cut text index))
                 (slice (if (= cut (length text)) text
                          (substring text index (+ index cut))))
                 (bytes (string-bytes slice)))
            (setq index (+ index (length slice))
                  left (- left bytes))
            (passepartout-sense--send
             `(:file ,file :part :change :beg ,at :end ,end :text ,slice
               :size ,(- size left) :tick ,tick
               . ,(and byte (<= left 0) (list :byte byte))))
            (setq at (+ at bytes)
                  end at)
            (> left 0)))
      byte)))

(defun passepartout-sense--send-whole (mirror)
  "Send the whole text of the current buffer for MIRROR, in slices."
  (let ((file (passepartout-sense--mirror-file mirror))
        (buffer (current-buffer)))
    (setf (passepartout-sense--mirror-dirty mirror) nil
          (passepartout-sense--mirror-size mirror) (passepartout-sense--size))
    (if (passepartout-sense--as-on-disk-p)
        (progn
          (setf (passepartout-sense--mirror-whole mirror) nil)
          (passepartout-sense--send
           `(:file ,file :part :saved :modified ,(passepartout-sense--modified))))
      (let ((text (save-restriction
                    (widen)
                    (passepartout-events-clean
                     (buffer-substring-no-properties
                      (point-min) (point-max)))))
            (tick (buffer-chars-modified-tick)))
        (setf (passepartout-sense--mirror-whole mirror) text)
        (passepartout-sense--send
         `(:file ,file :part :begin :size ,(string-bytes text)))
        (passepartout-events-slices
         text
         (lambda (slice)
           (when (passepartout-sense--sending-p buffer mirror text)
             (passepartout-sense--send
              `(:file ,file :part :slice :slice ,(plist-get slice :slice)
                :text ,(plist-get slice :text)))
             (unless (plist-get slice :more)
               (setf (passepartout-sense--mirror-whole mirror) nil)
               (passepartout-sense--send
                `(:file ,file :part :end :tick ,tick
                  :hash ,(plist-get slice :hash)))
               (with-current-buffer buffer (passepartout-sense--flush)))
             t)))))))

(defun passepartout-sense--sending-p (buffer mirror text)
  "Return non-nil while TEXT of BUFFER is what is being sent for MIRROR."
  (and (buffer-live-p buffer)
       (passepartout-running-p)
       (eq (buffer-local-value 'passepartout-sense--mirror buffer) mirror)
       (eq (passepartout-sense--mirror-whole mirror) text)))

;;;; Point

(defun passepartout-sense-followed-p ()
  "Return non-nil when the core is told of the current buffer."
  (and (buffer-local-value 'passepartout-sense--mirror
                           (passepartout-sense--base))
       t))

(defun passepartout-sense--idle ()
  "Send what has changed, and where point is, in the selected window."
  (let ((buffer (window-buffer (selected-window))))
    (with-current-buffer buffer
      (let* ((base (passepartout-sense--base))
             (mirror (buffer-local-value 'passepartout-sense--mirror base)))
        (when (and mirror (passepartout-running-p))
          (let ((byte (passepartout-sense--byte (point))))
            (if (eql byte (passepartout-sense--mirror-point mirror))
                (passepartout-sense--tick)
              (passepartout-sense--point-is-in base)
              (setf (passepartout-sense--mirror-point mirror) byte)
              ;; After a change there, which mostly is what moved it, one
              ;; message says both.
              (unless (passepartout-sense--tick base byte)
                (passepartout-send-event
                 :point-update
                 `(:file ,(passepartout-sense--mirror-file mirror)
                   :byte ,byte))))))))))

(defun passepartout-sense--point-is-in (base)
  "Forget where point was in all mirrored buffers but BASE."
  (dolist (other passepartout-sense--buffers)
    (let ((state (and (not (eq other base))
                      (buffer-live-p other)
                      (buffer-local-value 'passepartout-sense--mirror other))))
      (when state
        (setf (passepartout-sense--mirror-point state) nil)))))

;;;; What the core asks

(defun passepartout-sense--resync (payload _meta)
  "Send the whole buffer of the file in PAYLOAD again."
  (let* ((file (plist-get payload :file))
         (buffer (seq-find
                  (lambda (buffer)
                    (and (buffer-live-p buffer)
                         (equal file
                                (passepartout-sense--mirror-file
                                 (buffer-local-value
                                  'passepartout-sense--mirror buffer)))))
                  passepartout-sense--buffers)))
    (when buffer
      (with-current-buffer buffer
        (passepartout-sense--begin)
        (passepartout-sense--arm)))))

(defun passepartout-sense--again ()
  "Send every mirrored buffer to a core that has just started."
  (dolist (buffer passepartout-sense--buffers)
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (setf (passepartout-sense--mirror-point passepartout-sense--mirror)
              nil)
        (passepartout-sense--begin))))
  (when passepartout-sense--buffers
    (passepartout-sense--arm)))

(passepartout-subscribe :request :resync #'passepartout-sense--resync)
(add-hook 'passepartout-start-hook #'passepartout-sense--again)

(provide 'passepartout-sense)
;;; passepartout-sense.el ends here
