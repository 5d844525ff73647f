;;; passepartout-rewrite-differ.el --- How a new text differs from the old one  -*- lexical-binding: t; -*-
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

;; The difference of a rewrite in `diff-mode', with Ediff, and of the
;; three texts when the old one has changed meanwhile.  The programs run
;; beside Emacs, which does not wait for them.

;;; Code:

(require 'passepartout)
(require 'passepartout-view)
(require 'passepartout-rewrite-show)

(declare-function smerge-mode "smerge-mode" (&optional arg))

(defun passepartout-rewrite--same-p (rewrite question)
  "Return non-nil while REWRITE is there and its new text answers QUESTION."
  (and (passepartout-rewrite--buffer rewrite)
       (eq question (passepartout-rewrite--question rewrite))))

(defun passepartout-rewrite--compare (rewrite program arguments texts show)
  "Run PROGRAM with ARGUMENTS on TEXTS, and call SHOW in a buffer with the result.
ARGUMENTS comes before the names of the files that TEXTS are put into
for it, which only you can read; they are gone when it has ended.  Emacs
does not wait for it, and when REWRITE has been decided about meanwhile
nothing is shown."
  (let* ((question (passepartout-rewrite--question rewrite))
         (coding-system-for-write 'utf-8-unix)
         (default-directory temporary-file-directory)
         (inhibit-message t)
         (message-log-max nil)
         (files (mapcar (lambda (text)
                          (make-temp-file "passepartout-" nil nil
                                          (if (string-suffix-p "\n" text) text
                                            (concat text "\n"))))
                        texts))
         (buffer (generate-new-buffer " *passepartout compare*"))
         (away (lambda () (mapc (lambda (file) (ignore-errors
                                                 (delete-file file)))
                                files))))
    (condition-case problem
        (make-process
         :name "passepartout-compare" :buffer buffer :noquery t
         :connection-type 'pipe :coding 'utf-8-unix
         :command (append (list program) arguments files)
         :sentinel
         (lambda (process _event)
           (unless (process-live-p process)
             (funcall away)
             (when (buffer-live-p buffer)
               (with-current-buffer buffer
                 (cond
                  ((not (passepartout-rewrite--same-p rewrite question))
                   (kill-buffer buffer))
                  ((< (process-exit-status process) 2) (funcall show))
                  (t
                   (message "%s failed: %s" program
                            (passepartout-view-line (buffer-string) 200))
                   (kill-buffer buffer))))))))
      (error
       (funcall away)
       (kill-buffer buffer)
       (user-error "%s" (error-message-string problem))))))

(defun passepartout-rewrite--display (rewrite name mode)
  "Show the current buffer, a difference of REWRITE, as NAME in MODE.
The keys of the text count there as well."
  (let ((old (get-buffer name)))
    (when old (kill-buffer old)))
  (rename-buffer name)
  (let ((enable-local-variables nil))
    (funcall mode))
  (setq-local word-wrap t)
  (passepartout-view-show-hidden)
  (setq passepartout-rewrite--shown rewrite)
  (use-local-map (make-composed-keymap passepartout-rewrite-map
                                       (current-local-map)))
  (setq header-line-format
        (propertize " C-c C-c accept  C-c C-r further  C-c C-k reject"
                    'face 'passepartout-quiet))
  (goto-char (point-min))
  (set-buffer-modified-p nil)
  (setq buffer-read-only t)
  (let* ((buffer (current-buffer))
         (preview (passepartout-rewrite--preview rewrite))
         (window (and (buffer-live-p preview)
                      (get-buffer-window preview))))
    ;; It takes the place of the new text, and gives it back.
    (if (not window)
        (display-buffer buffer '((display-buffer-reuse-window
                                  passepartout-rewrite-beside)))
      (setq passepartout-rewrite--window
            (buffer-local-value 'passepartout-rewrite--window preview))
      (with-selected-window window
        (display-buffer buffer '((display-buffer-same-window)))))))

(defun passepartout-rewrite--three-way (rewrite)
  "Show how the text of REWRITE was, how it is, and how it would be."
  (let ((texts (list (passepartout-rewrite--now rewrite)
                     (passepartout-rewrite--original rewrite)
                     (passepartout-rewrite--result rewrite))))
    (if (executable-find "diff3")
        (passepartout-rewrite--compare
         rewrite "diff3" '("-m" "-A" "-L" "as it is now" "-L" "as it was" "-L" "rewritten")
         texts
         (lambda ()
           (passepartout-rewrite--display
            rewrite "*passepartout three-way*"
            (lambda () (text-mode) (smerge-mode 1)))))
      (passepartout-rewrite--difference rewrite (car texts) "as it is now"))))

(defun passepartout-rewrite--difference (rewrite old label)
  "Show the difference from OLD, called LABEL, to the new text of REWRITE."
  (passepartout-rewrite--compare
   rewrite "diff" (list "-u" "--label" label "--label" "rewritten")
   (list old (passepartout-rewrite--result rewrite))
   (lambda ()
     (when (= 0 (buffer-size))
       (insert "The new text is the same as the old one.\n"))
     (passepartout-rewrite--display
      rewrite "*passepartout diff*"
      (lambda () (diff-mode) (setq-local diff-default-read-only t))))))

;;;; Commands

(defun passepartout-rewrite-diff ()
  "Show the difference between the text and the new one."
  (interactive)
  (let ((rewrite (passepartout-rewrite--ready)))
    (passepartout-rewrite--difference
     rewrite (passepartout-rewrite--original rewrite) "as it was")))

(defun passepartout-rewrite-ediff ()
  "Compare the text and the new one with Ediff.
What you change in the new one there counts when you quit, unless there
is a newer one.  The windows are as before then."
  (interactive)
  (let* ((rewrite (passepartout-rewrite--ready))
         (question (passepartout-rewrite--question rewrite))
         (old (generate-new-buffer "*passepartout as it was*"))
         (new (generate-new-buffer "*passepartout rewritten*")))
    (with-current-buffer old
      (insert (passepartout-rewrite--original rewrite))
      (passepartout-view-show-hidden)
      (setq buffer-read-only t)
      (set-buffer-modified-p nil))
    (with-current-buffer new
      (insert (passepartout-rewrite--result rewrite))
      (passepartout-view-show-hidden)
      (set-buffer-modified-p nil))
    (passepartout-view-ediff
     old new
     (lambda (text) (passepartout-rewrite--ediffed rewrite question text)))))

(defun passepartout-rewrite--ediffed (rewrite question text)
  "Take TEXT, what Ediff made of the answer to QUESTION, for REWRITE."
  (if (and text (passepartout-rewrite--same-p rewrite question))
      (setf (passepartout-rewrite--result rewrite) text)
    (message "Nothing was taken from Ediff; what it compared is gone"))
  (passepartout-rewrite--draw rewrite))

(provide 'passepartout-rewrite-differ)
;;; passepartout-rewrite-differ.el ends here
