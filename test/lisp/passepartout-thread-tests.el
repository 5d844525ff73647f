;;; passepartout-thread-tests.el --- How long our own work takes  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; The ring of times, and what the doctor says of it.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-doctor)

(defmacro passepartout-thread-tests--in (&rest body)
  "Evaluate BODY with a ring of its own and a clock that stands still."
  (declare (indent 0) (debug t))
  `(let ((passepartout-thread--times (make-vector passepartout-thread--size 0))
         (passepartout-thread--count 0)
         (passepartout-thread--longest (list 0))
         (passepartout-thread--part (list 0)))
     (cl-letf (((symbol-function 'float-time) (lambda (&rest _) 100.0)))
       ,@body)))

(defun passepartout-thread-tests--figures (milliseconds)
  "Return the figures of pieces that took MILLISECONDS, a list."
  (dolist (one milliseconds)
    (passepartout-thread--note 'piece (- 100 (/ one 1000.0))))
  (let ((figures (passepartout-thread-figures)))
    (and figures
         (list (plist-get figures :count)
               (round (plist-get figures :p50)) (round (plist-get figures :p99))
               (round (plist-get figures :longest)) (plist-get figures :what)))))

(ert-deftest passepartout-thread-figures-are-of-the-last-pieces ()
  (let ((size passepartout-thread--size))
    (pcase-dolist
        (`(,milliseconds ,figures)
         `((() nil)
           ((3) (1 3 3 3 piece))
           ;; A clock that was set back is none of our work.
           ((-50) (1 0 0 0 nil))
           ((1 2 3 4 100) (5 3 100 100 piece))
           ((,@(make-list 98 1) 40 50) (100 1 50 50 piece))
           ((,@(make-list 99 1) 7) (100 1 7 7 piece))
           ((,@(make-list 199 1) 7) (200 1 1 7 piece))
           ;; What is older than the ring counts as the longest alone.
           ((90 ,@(make-list size 2)) (,(1+ size) 2 2 90 piece))
           ((,@(make-list size 9) ,@(make-list size 2)) (,(* 2 size) 2 2 9 piece))))
      (passepartout-thread-tests--in
        (should (equal figures
                       (passepartout-thread-tests--figures milliseconds)))
        (should (= size (length passepartout-thread--times)))))))

(ert-deftest passepartout-thread-the-longest-part-is-named ()
  (pcase-dolist (`(,parts ,what)
                 '((() piece)
                   (((short . 1) (long . 5)) long)
                   (((long . 5) (short . 1)) long)
                   ;; A function without a name says nothing.
                   (((short . 1) ((lambda () t) . 5)) piece)))
    (passepartout-thread-tests--in
      (let ((now 100.0))
        (cl-letf (((symbol-function 'float-time) (lambda (&rest _) now)))
          (passepartout-thread-timed 'before
            (passepartout-thread-part 'older 99.9))
          (passepartout-thread-timed 'piece
            (pcase-dolist (`(,part . ,milliseconds) parts)
              (passepartout-thread-part part (- now (/ milliseconds 1000.0))))
            (setq now 100.05)))
        (should (eq what (plist-get (passepartout-thread-figures) :what)))))))

(ert-deftest passepartout-thread-an-error-goes-on-and-is-counted ()
  (passepartout-thread-tests--in
    (should-error (passepartout-thread-timed 'piece (error "No")))
    (should (= 1 (plist-get (passepartout-thread-figures) :count)))
    (should (= 7 (passepartout-thread-timed 'piece 7)))
    (should (= 2 (plist-get (passepartout-thread-figures) :count)))))

(ert-deftest passepartout-thread-what-the-core-sends-is-a-piece ()
  (passepartout-fake-with
    (passepartout-start)
    (let ((before passepartout-thread--count))
      (passepartout-fake-inject :event '(:action :nothing))
      (should (> passepartout-thread--count before)))))

(ert-deftest passepartout-thread-the-doctor-says-what-it-comes-to ()
  (pcase-dolist
      (`(,milliseconds . ,words)
       `((() . nil)
         ((1) "^\\* healthy +Emacs's thread$"
          "^  1 piece of our work, p99 1.0 ms, longest 1 ms (piece)$")
         ((,@(make-list 1203 1) 7)
          "^  1,204 pieces of our work, p99 1.0 ms, longest 7 ms (piece)$")
         (,(make-list 50 17) "^\\* degraded +Emacs's thread$" "p99 17.0 ms"
          "^  Repair: .*Your keys wait .*report this line")))
    (passepartout-thread-tests--in
      (dolist (one milliseconds)
        (passepartout-thread--note 'piece (- 100 (/ one 1000.0))))
      (let ((finding (car (passepartout-doctor--thread))))
        (if (null words)
            (should-not finding)
          (with-temp-buffer
            (passepartout-doctor--insert finding)
            (dolist (word words)
              (goto-char (point-min))
              (should (re-search-forward word nil t)))))))))

(provide 'passepartout-thread-tests)
;;; passepartout-thread-tests.el ends here
