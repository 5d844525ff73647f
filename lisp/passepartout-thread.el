;;; passepartout-thread.el --- How long our own work keeps Emacs  -*- lexical-binding: t; -*-

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

;; What we do on Emacs's only thread keeps your keys waiting.  How long
;; each piece of it took is kept in a ring of fixed size, and the doctor
;; shows what it comes to.  Noting a piece makes no garbage but a few
;; numbers: there are some for every key, and what they make is collected
;; while keys wait.

;;; Code:

(require 'seq)

(defconst passepartout-thread--size 1024
  "Of how many pieces the times are kept.")

(defvar passepartout-thread--times (make-vector passepartout-thread--size 0)
  "The microseconds that the last pieces took, in a ring.")

(defvar passepartout-thread--count 0
  "How many pieces there were since Emacs started.")

(defvar passepartout-thread--longest (list 0)
  "The microseconds of the longest piece, and what it was.")

(defvar passepartout-thread--part (list 0)
  "The seconds of the longest part of the piece that goes on, and its name.")

(defvar passepartout-thread--from 0.0
  "When the piece that goes on began.
What closed over it would be made anew for each piece.")

(defmacro passepartout-thread-timed (what &rest body)
  "Evaluate BODY, a piece of our work called WHAT, and note what it took.
WHAT is a quoted symbol."
  (declare (indent 1) (debug t))
  `(let ((passepartout-thread--from (float-time)))
     (setcar passepartout-thread--part 0)
     (unwind-protect (progn ,@body)
       (passepartout-thread--note ,what passepartout-thread--from))))

(defun passepartout-thread-part (what from)
  "Note that a part of the piece that goes on, WHAT, went on since FROM.
WHAT is a function; where a piece is the longest its longest part is named."
  (let ((took (- (float-time) from)))
    (when (> took (car passepartout-thread--part))
      (setcar passepartout-thread--part took)
      (setcdr passepartout-thread--part what))))

(defun passepartout-thread--note (what from)
  "Note a piece called WHAT that began at FROM."
  (let ((took (max 0 (truncate (* 1e6 (- (float-time) from))))))
    (aset passepartout-thread--times
          (mod passepartout-thread--count passepartout-thread--size) took)
    (setq passepartout-thread--count (1+ passepartout-thread--count))
    (when (> took (car passepartout-thread--longest))
      (setcar passepartout-thread--longest took)
      (setcdr passepartout-thread--longest
              (if (and (> (car passepartout-thread--part) 0)
                       (symbolp (cdr passepartout-thread--part)))
                  (cdr passepartout-thread--part)
                what)))))

(defun passepartout-thread-figures ()
  "Return what our work on Emacs's thread took, or nil when there was none.
It is a plist: :count, how many pieces there were; :p50 and :p99, in
milliseconds, of the last of them; :longest and :what, the longest since
Emacs started and what it was."
  (let* ((kept (min passepartout-thread--count passepartout-thread--size))
         (sorted (sort (seq-subseq passepartout-thread--times 0 kept) #'<))
         (at (lambda (share)
               (/ (elt sorted (min (1- kept) (floor (* share kept)))) 1000.0))))
    (unless (zerop kept)
      (list :count passepartout-thread--count
            :p50 (funcall at 0.5) :p99 (funcall at 0.99)
            :longest (/ (car passepartout-thread--longest) 1000.0)
            :what (cdr passepartout-thread--longest)))))

(provide 'passepartout-thread)
;;; passepartout-thread.el ends here
