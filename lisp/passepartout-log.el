;;; passepartout-log.el --- The log  -*- lexical-binding: t; -*-

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

;; The log of the core, and faults of the Lisp side, in one buffer.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)

(defconst passepartout-log--buffer-name "*Passepartout log*"
  "The name of the buffer of the log.")

(defconst passepartout-log--lines 500
  "How many lines the core is asked for.")

(defconst passepartout-log--greatest 5000
  "How many lines the buffer holds at most.")

(defun passepartout-log--line (line)
  "Return LINE, a plist of :level, :at and :text, as people read it.
What went wrong is an item: `n' goes from one to the next."
  (let* ((level (passepartout-view-line
                 (format "%s" (or (plist-get line :level) "info")) 10))
         (at (plist-get line :at))
         (text (passepartout-view-line (plist-get line :text) 1000))
         (shown (concat (propertize (passepartout-view-time at)
                                    'face 'passepartout-quiet)
                        " "
                        (propertize (format "%-7s" level)
                                    'face (passepartout-view-face level))
                        " " text "\n")))
    (if (member level '("error" "warning" "warn"))
        (propertize shown 'passepartout-list-item
                    (list (passepartout-list-key at text)
                          (passepartout-view-line text 80) line))
      shown)))

(defun passepartout-log--notes ()
  "Return the faults of the Lisp side as lines."
  (mapcar (lambda (note)
            (list :level "error"
                  :at (format-time-string "%FT%TZ" (car note) t)
                  :text (concat "Emacs: " (cdr note))))
          (reverse passepartout-events--notes)))

(defun passepartout-log--draw (lines)
  "Draw LINES in the current buffer.
Whoever was at the end stays there, and so does a log that is opened."
  (let ((windows (seq-filter (lambda (window)
                               (= (window-point window) (point-max)))
                             (get-buffer-window-list nil nil t)))
        (following (and (not passepartout-list--wanted)
                        (or (eobp) (not passepartout-list--settled)))))
    ;; A log is read from its end.
    (setq passepartout-list--settled t)
    (passepartout-view-draw
      (insert (propertize "Log\n" 'face 'passepartout-title)
              (propertize "n and p go to what went wrong, g asks again, ? \
shows all keys, q leaves.\n\n"
                          'face 'passepartout-quiet))
      (if (null lines)
          (insert "Nothing has been logged yet; g asks again.\n")
        (dolist (line lines) (insert (passepartout-log--line line)))))
    (when following (goto-char (point-max)))
    (dolist (window (and following windows))
      (set-window-point window (point-max)))))

(defun passepartout-log--sorted (lines)
  "Return LINES in the order of their times."
  (sort lines (lambda (a b)
                (string< (format "%s" (plist-get a :at))
                         (format "%s" (plist-get b :at))))))

(defun passepartout-log--fetch ()
  "Ask the core for the log and draw it."
  (passepartout-view-fetch
   passepartout-log--buffer-name :log
   (lambda (payload)
     (passepartout-log--draw
      (passepartout-log--sorted
       (append (plist-get payload :lines) (passepartout-log--notes)))))
   (lambda () `((:limit ,passepartout-log--lines)))))

(defun passepartout-log--received (payload _meta)
  "Add the line in PAYLOAD to the log when it is open.
What went wrong is shown at once, whether it is open or not; each text
once in a session of Emacs.  What became of a skill that was saved is
said in the echo area."
  (let ((text (passepartout-view-line (plist-get payload :text) 1000)))
    (cond ((equal (plist-get payload :level) "error")
           (passepartout--complain text))
          ((string-prefix-p "skills: " text)
           (message "Passepartout: %s" text))))
  (let ((buffer (get-buffer passepartout-log--buffer-name)))
    (when buffer
      (with-current-buffer buffer
        (let ((inhibit-read-only t)
              (following (eobp)))
          (save-excursion
            (goto-char (point-max))
            (insert (passepartout-log--line payload))
            (when (> (line-number-at-pos) passepartout-log--greatest)
              (goto-char (point-min))
              (forward-line (/ passepartout-log--greatest 10))
              (delete-region (point-min) (point))))
          (when following (goto-char (point-max))))))))

;;;###autoload
(defun passepartout-log ()
  "Show the log."
  (interactive)
  (passepartout-view-open passepartout-log--buffer-name
                          'passepartout-view-mode 'passepartout-log
                          #'passepartout-log--fetch
                          (lambda ()
                            (passepartout-log--draw
                             (passepartout-log--notes)))))

(passepartout-subscribe :log nil #'passepartout-log--received)

(provide 'passepartout-log)
;;; passepartout-log.el ends here
