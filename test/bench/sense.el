;;; sense.el --- What following you costs Emacs's own thread  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; Types into a buffer of one megabyte, and moves point, with the real
;; module: what our hooks and the sending take is timed, not what Emacs
;; itself does.  Collections of garbage are counted in.

;;; Code:

(require 'org)
(require 'passepartout)
(require 'passepartout-sense)

(defconst sense--rounds 500
  "How many characters are typed, and how often point moves.")

(defun sense--text (title line)
  "Return a megabyte of headings with TITLE and LINE."
  (with-temp-buffer
    (let ((n 0))
      (while (< (position-bytes (point-max)) 1000000)
        (insert (format "%s %s %d :work:\n%s\n%s\n"
                        (if (zerop (% n 5)) "*" "**") title n line line))
        (setq n (1+ n))))
    (buffer-string)))

(defun sense--report (name promised measured &optional rate)
  "Print a row with NAME, what is PROMISED, and what was MEASURED.
Where BENCH_ROWS names a file it goes there, too, with a RATE in MB/s."
  (princ (format "%-58s %s  %s\n" name measured promised))
  (let ((file (getenv "BENCH_ROWS")))
    (unless (member file '(nil ""))
      (let ((coding-system-for-write 'utf-8-unix))
        (write-region (format "%s\t%s\t%s\t%s\n" name promised measured
                              (if rate (format "%.2f" rate) ""))
                      nil file t 'quiet)))))

(defun sense--row (name times promised)
  "Print a row with NAME about TIMES in seconds, and what is PROMISED in ms."
  (let* ((sorted (sort (vconcat times) #'<))
         (at (lambda (share)
               (* 1000 (aref sorted (min (1- (length sorted))
                                         (floor (* share (length sorted)))))))))
    (sense--report name (format "p99 %s ms" promised)
                   (format "p50 %.3f, p99 %.3f ms" (funcall at 0.5) (funcall at 0.99)))))

(defmacro sense--timed (&rest body)
  "Return the seconds that BODY takes."
  `(let ((begun (float-time)))
     ,@body
     (- (float-time) begun)))

(defun sense--measure (folder name title line)
  "Measure in a file below FOLDER what NAME says, made of TITLE and LINE."
  (let ((file (expand-file-name (concat name ".org") folder))
        (coding-system-for-write 'utf-8-unix)
        typed moved)
    (write-region (sense--text title line) nil file nil 'quiet)
    (with-current-buffer (let ((coding-system-for-read 'utf-8-unix)) (find-file-noselect file))
      (set-window-buffer (selected-window) (current-buffer))
      (passepartout-mode 1)
      (passepartout-sense--tick)
      (random "sense")
      (dotimes (_ sense--rounds)
        (goto-char (1+ (random (1- (point-max)))))
        (let ((at (point)) (inhibit-modification-hooks t))
          (insert "x")
          (let ((inhibit-modification-hooks nil))
            (push (sense--timed (passepartout-sense--changed at (1+ at) 0)
                                (passepartout-sense--tick))
                  typed)))
        (accept-process-output nil 0.001))
      (dotimes (_ sense--rounds)
        (goto-char (1+ (random (1- (point-max)))))
        (push (sense--timed (passepartout-sense--idle)) moved)
        (accept-process-output nil 0.001))
      (set-buffer-modified-p nil)
      (kill-buffer))
    (sense--row (format "typed into 1 MB, %s: on Emacs's thread" name) typed "1")
    (sense--row (format "point moved in 1 MB, %s: on Emacs's thread" name) moved "0.3")))

(defun sense--org-element (text)
  "Print how fast Org itself reads TEXT."
  (with-temp-buffer
    (insert text)
    (let ((org-inhibit-startup t)) (org-mode))
    (let* ((took (sense--timed (org-element-parse-buffer)))
           (rate (/ (position-bytes (point-max)) 1e6 took)))
      (sense--report "org-element-parse-buffer, a text of 1 MB" ""
                     (format "%.2f MB/s" rate) rate))))

(defun sense-run ()
  "Measure and print."
  (if (not (file-readable-p (or (getenv "PASSEPARTOUT_MODULE") "")))
      (princ "Following: PASSEPARTOUT_MODULE names no module; skipped.\n")
    (let ((world (file-name-as-directory (file-truename (make-temp-file "sense-" t))))
          (latin '("The harbour and its cranes" "Some words that stand below, and go on for a while."))
          (japanese '("港と倉庫の見出し" "本文は漢字と仮名で書かれた文章であり、しばらく続く。")))
      (unwind-protect
          (progn
            (dolist (variable '("HOME" "XDG_STATE_HOME" "XDG_CONFIG_HOME" "XDG_CACHE_HOME"))
              (setenv variable (expand-file-name (downcase variable) world))
              (make-directory (getenv variable)))
            (make-directory (expand-file-name "memex" world))
            (setq passepartout-module-file (getenv "PASSEPARTOUT_MODULE")
                  passepartout-directories (list (expand-file-name "memex" world)))
            (sense--org-element (apply #'sense--text latin))
            (apply #'sense--measure (expand-file-name "memex" world) "Latin" latin)
            (apply #'sense--measure (expand-file-name "memex" world) "Japanese" japanese)
            (when (fboundp 'passepartout-stop) (passepartout-stop)))
        (delete-directory world t)))))

(provide 'sense)
;;; sense.el ends here
