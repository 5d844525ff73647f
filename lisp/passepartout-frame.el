;;; passepartout-frame.el --- Messages in frames, looked at before they are read  -*- lexical-binding: t; -*-

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

;; What comes over a connection is bytes of any number at a time.  This
;; file makes texts of them, and looks at each text before `read' does:
;; Emacs's reader knows forms that are no data, and overflows its stack
;; on lists that are nested deeply.  A text that passed holds lists,
;; strings, numbers, keywords and plain symbols, and no more and no
;; deeper than the core itself would read.
;;
;; Each byte is moved and looked at once, however the bytes come, and a
;; long frame is worked on a little at a time.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'cl-lib)

(defconst passepartout-frame-longest (* 4 1024 1024)
  "A frame with more bytes is refused.")

(defconst passepartout-frame--head 6
  "How many hexadecimal digits say how long a frame is.")

(defconst passepartout-frame--space 4096
  "How many bytes of white space are skipped between frames.")

(defconst passepartout-frame--deepest 64
  "Lists that are nested deeper are refused.")

(defconst passepartout-frame--most 100000
  "A frame with more values is refused.")

(defconst passepartout-frame--longest-name 256
  "A name or number with more characters is refused.")

(defconst passepartout-frame--piece 65536
  "How many bytes are decoded at a time.")

(cl-defstruct (passepartout-frame--stream
               (:constructor passepartout-frame--make)
               (:copier nil))
  "What came over a connection and is no whole message yet.
BYTES is a buffer; what is not decoded yet begins at its point.  TEXT
is the buffer of the frame that is being read; what is not looked at yet
begins at its point.  LEFT is how many bytes of that frame are still to
be decoded, or nil between frames, and SPACE how much white space there
was since the last one.  DEPTH is in how many lists point is, VALUES
how many values stand before it, and QUOTED whether it is in a string."
  bytes text left (space 0) (depth 0) (values 0) quoted)

(defun passepartout-frame-open ()
  "Return a stream that nothing has come by."
  (let ((bytes (generate-new-buffer " *passepartout bytes*" t))
        (text (generate-new-buffer " *passepartout frame*" t)))
    (with-current-buffer bytes (set-buffer-multibyte nil))
    (passepartout-frame--make :bytes bytes :text text)))

(defun passepartout-frame-close (stream)
  "Forget STREAM."
  (kill-buffer (passepartout-frame--stream-bytes stream))
  (kill-buffer (passepartout-frame--stream-text stream)))

(defun passepartout-frame-add (stream bytes)
  "Add BYTES, a unibyte string, to what came by STREAM."
  (with-current-buffer (passepartout-frame--stream-bytes stream)
    (save-excursion
      (goto-char (point-max))
      (insert bytes))))

(defun passepartout-frame-rest (stream)
  "Return how many bytes of STREAM are not decoded yet."
  (with-current-buffer (passepartout-frame--stream-bytes stream)
    (- (point-max) (point))))

(defun passepartout-frame-half-p (stream)
  "Return non-nil when STREAM stands within a frame."
  (or (passepartout-frame--stream-left stream)
      (< 0 (passepartout-frame-rest stream))))

(defun passepartout-frame-encode (text)
  "Return TEXT as a frame, a unibyte string."
  (let ((bytes (encode-coding-string text 'utf-8-unix t)))
    (when (> (length bytes) passepartout-frame-longest)
      (signal 'passepartout-protocol-error
              (list "a message is longer than 4 MiB")))
    (concat (format "%06x" (length bytes)) bytes)))

(defun passepartout-frame--wrong (format &rest arguments)
  "Leave with what is wrong with a frame: FORMAT with ARGUMENTS."
  (signal 'passepartout-protocol-error
          (list (apply #'format format arguments))))

;;;; Bytes

(defun passepartout-frame-next (stream until)
  "Return the next message of STREAM as a text that may be read.
Return nil when more bytes must come first, and t when there is more to
do and the time UNTIL, of `float-time', is over.  What is no message is
a `passepartout-protocol-error'; nothing can be read after it."
  (catch 'passepartout-frame
    (while t
      (cond
       ((null (passepartout-frame--stream-left stream))
        (unless (passepartout-frame--begin stream)
          (throw 'passepartout-frame nil)))
       ((not (passepartout-frame--look stream until))
        (throw 'passepartout-frame t))
       ((eql 0 (passepartout-frame--stream-left stream))
        (throw 'passepartout-frame (passepartout-frame--end stream)))
       ((> (float-time) until)
        (throw 'passepartout-frame t))
       ((not (passepartout-frame--decode stream))
        (throw 'passepartout-frame nil))))))

(defun passepartout-frame--begin (stream)
  "Read how long the next frame of STREAM is; return nil when that is not there."
  (with-current-buffer (passepartout-frame--stream-bytes stream)
    (let ((space (+ (passepartout-frame--stream-space stream)
                    (skip-chars-forward
                     " \t\n\r\f"
                     (+ (point) 1 (- passepartout-frame--space
                                     (passepartout-frame--stream-space
                                      stream)))))))
      (setf (passepartout-frame--stream-space stream) space)
      (when (> space passepartout-frame--space)
        (passepartout-frame--wrong
         "there are more than 4,096 bytes of white space before a frame"))
      (let ((digits (save-excursion
                      (skip-chars-forward
                       "0-9a-fA-F" (+ (point) passepartout-frame--head)))))
        (cond
         ((= digits passepartout-frame--head)
          (let ((length (string-to-number
                         (buffer-substring (point) (+ (point) digits)) 16)))
            (when (> length passepartout-frame-longest)
              (passepartout-frame--wrong
               "a frame of %d bytes is over the limit of 4 MiB" length))
            (forward-char digits)
            (passepartout-frame--trim)
            (setf (passepartout-frame--stream-left stream) length
                  (passepartout-frame--stream-space stream) 0)
            t))
         ((< (+ (point) digits) (point-max))
          (passepartout-frame--wrong
           "a frame does not begin with six hexadecimal digits")))))))

(defun passepartout-frame--trim ()
  "Delete what stands before point once that is most of the buffer.
Then no byte is moved more than once for it, on the whole."
  (when (and (> (point) passepartout-frame--piece)
             (> (- (point) (point-min)) (- (point-max) (point))))
    (delete-region (point-min) (point))))

(defun passepartout-frame--whole (end)
  "Return END, or where a character begins that goes on behind it."
  (let ((back 1) (lead nil))
    (while (and (not lead) (<= back 3) (<= (point-min) (- end back)))
      (let ((byte (char-after (- end back))))
        (if (<= #x80 byte #xbf)
            (setq back (1+ back))
          (setq lead byte))))
    (if (and lead
             (< back (cond ((< lead #xc0) 1) ((< lead #xe0) 2)
                           ((< lead #xf0) 3) (t 4))))
        (- end back)
      end)))

(defun passepartout-frame--decode (stream)
  "Decode some bytes of the frame of STREAM; return nil when none are there."
  (let ((left (passepartout-frame--stream-left stream)) text)
    (with-current-buffer (passepartout-frame--stream-bytes stream)
      (let* ((count (min left passepartout-frame--piece
                         (- (point-max) (point))))
             (end (if (= count left)
                      (+ (point) count)
                    (passepartout-frame--whole (+ (point) count)))))
        (when (< (point) end)
          (setq text (decode-coding-string (buffer-substring (point) end)
                                           'utf-8-unix t))
          (setf (passepartout-frame--stream-left stream)
                (- left (- end (point))))
          (goto-char end)
          (passepartout-frame--trim))))
    (when text
      (when (passepartout-events-foreign-p text)
        (passepartout-frame--wrong "a frame is not UTF-8"))
      (with-current-buffer (passepartout-frame--stream-text stream)
        (save-excursion
          (goto-char (point-max))
          (insert text)))
      t)))

(defun passepartout-frame--end (stream)
  "Return the text of the frame of STREAM, which ends here."
  (with-current-buffer (passepartout-frame--stream-text stream)
    (cond
     ((passepartout-frame--stream-quoted stream)
      (passepartout-frame--wrong "a frame ends within a string"))
     ((< 0 (passepartout-frame--stream-depth stream))
      (passepartout-frame--wrong "a frame ends within a list"))
     ((= 0 (passepartout-frame--stream-values stream))
      (passepartout-frame--wrong "a frame is empty")))
    (prog1 (buffer-substring-no-properties (point-min) (point-max))
      (erase-buffer)
      (setf (passepartout-frame--stream-left stream) nil
            (passepartout-frame--stream-values stream) 0))))

;;;; Characters

(defun passepartout-frame--look (stream until)
  "Look at the text of STREAM that was decoded, as far as it goes.
Return nil when the time UNTIL was over before."
  (with-current-buffer (passepartout-frame--stream-text stream)
    (let ((whole (eql 0 (passepartout-frame--stream-left stream)))
          (steps 0) (late nil) (going t))
      (while (and going (not late) (not (eobp)))
        (setq going (if (passepartout-frame--stream-quoted stream)
                        (passepartout-frame--string stream)
                      (passepartout-frame--value stream whole))
              steps (1+ steps)
              late (and (= 0 (logand steps 63)) (> (float-time) until))))
      (not late))))

(defun passepartout-frame--string (stream)
  "Go on in the string that STREAM is in.
Return nil when what follows is not there yet."
  (skip-chars-forward "^\"\\\\")
  (pcase (char-after)
    ('nil nil)
    (?\" (forward-char)
         (setf (passepartout-frame--stream-quoted stream) nil)
         t)
    (_ (pcase (char-after (1+ (point)))
         ('nil nil)
         ((or ?\" ?\\ ?n ?t ?r ?f ?b ?a ?v ?e) (forward-char 2) t)
         (other (passepartout-frame--wrong
                 "a string has the escape “\\%c”, which we do not read"
                 other))))))

(defun passepartout-frame--value (stream whole)
  "Look at what comes next in STREAM, outside of strings.
Return nil when it goes on behind what is there, unless the frame is
there as a WHOLE."
  (skip-chars-forward " \t\n\r\f")
  (let ((next (char-after))
        (depth (passepartout-frame--stream-depth stream)))
    (unless (or (null next) (< 0 depth)
                (and (eq next ?\()
                     (= 0 (passepartout-frame--stream-values stream))))
      (passepartout-frame--wrong "a message is one list and nothing else"))
    (pcase next
      ('nil t)
      (?\( (when (= depth passepartout-frame--deepest)
             (passepartout-frame--wrong "lists are nested deeper than 64"))
           (passepartout-frame--count stream)
           (setf (passepartout-frame--stream-depth stream) (1+ depth))
           (forward-char)
           t)
      (?\) (setf (passepartout-frame--stream-depth stream) (1- depth))
           (forward-char)
           t)
      (?\" (passepartout-frame--count stream)
           (setf (passepartout-frame--stream-quoted stream) t)
           (forward-char)
           t)
      (_ (passepartout-frame--atom stream whole)))))

(defun passepartout-frame--count (stream)
  "Count one more value of STREAM."
  (when (> (cl-incf (passepartout-frame--stream-values stream))
           passepartout-frame--most)
    (passepartout-frame--wrong "a message has more than 100,000 values")))

(defconst passepartout-frame--name
  "a-zA-Z0-9*+/<>=!?_.:&%$@~^\\-"
  "The characters of names and numbers, for `skip-chars-forward'.")

(defconst passepartout-frame--plain
  (rx string-start
      (or
       ;; Names, and the dot of a pair.
       (seq (opt ":") (any "a-zA-Z") (* (not (any "#"))))
       "."
       ;; Numbers that Emacs and the core read alike.
       (seq (opt "-") (** 1 19 digit)
            (opt "." (** 1 20 digit)
                 (opt "e" (opt (any "+-"))
                      (or "INF" "NaN" (** 1 3 digit))))))
      string-end)
  "Regular expression for a name or number that we read.")

(defun passepartout-frame--atom (stream whole)
  "Look at the name or number that comes next in STREAM.
Return nil when it may go on behind what is there, unless the frame is
there as a WHOLE."
  (let* ((start (point))
         (length (skip-chars-forward
                  passepartout-frame--name
                  (+ start 1 passepartout-frame--longest-name))))
    (cond
     ((= length 0)
      (passepartout-frame--wrong
       "“%c” is not part of the protocol" (char-after)))
     ((> length passepartout-frame--longest-name)
      (passepartout-frame--wrong "a name has more than 256 characters"))
     ((and (eobp) (not whole))
      (goto-char start)
      nil)
     ((let ((case-fold-search nil))
        (string-match-p passepartout-frame--plain
                        (buffer-substring-no-properties start (point))))
      (passepartout-frame--count stream)
      t)
     (t
      (passepartout-frame--wrong
       "“%s” is not part of the protocol"
       (buffer-substring-no-properties
        start (min (point) (+ start 40))))))))

(provide 'passepartout-frame)
;;; passepartout-frame.el ends here
