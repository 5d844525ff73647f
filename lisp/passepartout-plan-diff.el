;;; passepartout-plan-diff.el --- The change of a flight plan, compared  -*- lexical-binding: t; -*-

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

;; The change that a flight plan would make, in `diff-mode' and in
;; Ediff.  Both show it beside the plan; nothing is approved or applied
;; there, no file that the change names is looked at, and what was
;; displayed there does not count as read: the plan itself does.

;;; Code:

(require 'diff-mode)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(require 'passepartout-plan)
(eval-when-compile (require 'subr-x))

(defconst passepartout-plan-diff--buffer-name "*Passepartout change*"
  "The name of the buffer with the change of a plan.")

(defconst passepartout-plan-diff--most 2000000
  "How many characters of plans are fetched for one change.")

(defconst passepartout-plan-diff--line 2000
  "A longer line is cut, because Emacs is slow with long lines.")

(defvar-local passepartout-plan-diff--plans nil
  "The ids of the plans whose change this buffer shows.")

;;;; Fetching

(defun passepartout-plan-diff--chosen ()
  "Return the plans at point: of the heading of a decision its checked steps."
  (if (passepartout-plan--group-node-at (point))
      (mapcar (lambda (node)
                (passepartout-plan--entry-plan (ewoc-data node)))
              (passepartout-plan--chosen))
    (let ((node (passepartout-plan--node-at (point))))
      (unless node (user-error "Put point on a plan first"))
      (list (passepartout-plan--entry-plan (ewoc-data node))))))

(defun passepartout-plan-diff--fetch (ids then)
  "Fetch what the plans IDS would change, and call THEN with the text.
Of several plans the title of each stands above its change.  When it
cannot be had, THEN is called with nil and why.  Emacs does not wait."
  (passepartout-plan-diff--next
   (mapcar (lambda (id)
             (let ((plan (passepartout-plan--find id)))
               (list id (plist-get plan :shown)
                     (and (cdr ids)
                          (format "Plan %s: %s\n"
                                  (passepartout-view-line id 60)
                                  (passepartout-view-line
                                   (plist-get plan :title)))))))
           ids)
   0 nil 0 then))

(defun passepartout-plan-diff--next (plans from texts size then)
  "Fetch the page of the first of PLANS that begins at FROM, and go on.
PLANS are each the id of one, its hash when this began, and its title or
nil.  TEXTS are those that came, the last first, and SIZE is how long
all pages were.  THEN is called as by `passepartout-plan-diff--fetch'."
  (pcase-let ((`(,id ,shown ,title) (car plans)))
    (if (null plans)
        (funcall then (apply #'concat (nreverse texts)) nil)
      (passepartout-request
       :plan-page `(:plan ,id :from ,from)
       (lambda (page)
         (let* ((text (or (plist-get page :text) ""))
                (next (plist-get page :next))
                (size (+ size (length text))))
           (when (and title (eql from 0)) (push title texts))
           (when (eq (plist-get page :part) :diff)
             (push (passepartout-view-visible text) texts))
           (cond
            ((plist-get page :error)
             (funcall then nil (plist-get page :error)))
            ((not (equal shown (plist-get (passepartout-plan--find id)
                                          :shown)))
             (funcall then nil "the plan has changed; look at it again"))
            ;; Behind the change comes nothing that belongs to it.
            ((or (not next) (eq (plist-get page :part) :predicted))
             (when (cdr plans) (push "\n" texts))
             (passepartout-plan-diff--next (cdr plans) 0 texts size then))
            ((> size passepartout-plan-diff--most)
             (funcall then nil "it is too long for this; read it in the plan"))
            (t (passepartout-plan-diff--next plans next texts size
                                             then)))))))))

(defun passepartout-plan-diff--cut (diff)
  "Return DIFF with what is too long for a line cut off, and said."
  (replace-regexp-in-string
   (format "^.\\{%d\\}\\(.+\\)$" passepartout-plan-diff--line)
   (lambda (line)
     (format "%s… (%d characters more)"
             (substring line 0 passepartout-plan-diff--line)
             (- (length line) passepartout-plan-diff--line)))
   diff t t))

;;;; In `diff-mode'

(defvar passepartout-plan-diff-mode-map
  (let ((map (make-sparse-keymap)))
    ;; Without a parent it would be given the keys of `diff-mode'.
    (set-keymap-parent map special-mode-map)
    (define-key map (kbd "n") #'diff-hunk-next)
    (define-key map (kbd "p") #'diff-hunk-prev)
    (define-key map (kbd "N") #'diff-file-next)
    (define-key map (kbd "P") #'diff-file-prev)
    (define-key map (kbd "j") #'imenu)
    (define-key map (kbd "E") #'passepartout-plan-ediff)
    (define-key map (kbd "RET") #'passepartout-plan-diff-return)
    map)
  "Keys of the buffer with the change of a plan.
Those of `diff-mode' that apply a change or visit its file are not
among them: only approving the plan makes the change.")

(define-derived-mode passepartout-plan-diff-mode diff-mode "Change"
  "Major mode of the change that a flight plan would make.
Nothing is approved here.
\\<passepartout-plan-diff-mode-map>
\\[passepartout-plan-ediff] compares both sides with Ediff,
\\[passepartout-plan-diff-return] goes back to the plan."
  ;; Keys that `diff-mode' lends to buffers that cannot be written.
  (setq-local minor-mode-overriding-map-alist nil)
  ;; These look into the files that a change names, or call programs.
  (setq-local next-error-function nil)
  (setq-local add-log-current-defun-function #'ignore)
  (setq-local diff-font-lock-syntax nil)
  (setq-local diff-refine nil)
  (setq-local diff-font-lock-prettify nil)
  (setq-local bidi-display-reordering nil)
  (setq-local truncate-lines nil)
  (setq-local buffer-undo-list t)
  (setq-local revert-buffer-function
              (lambda (&rest _)
                (passepartout-plan-diff--draw passepartout-plan-diff--plans)))
  (setq header-line-format
        (substitute-command-keys
         "\\<passepartout-plan-diff-mode-map> \
\\[diff-hunk-next], \\[diff-hunk-prev] change, \
\\[passepartout-plan-ediff] Ediff, \
\\[passepartout-plan-diff-return] the plan, which alone is approved"))
  (setq buffer-read-only t))

;; It is of no use without its plan.
(put 'passepartout-plan-diff-mode 'mode-class 'special)

(defun passepartout-plan-diff--put (text)
  "Let the current buffer hold TEXT, and nothing else."
  (let ((inhibit-read-only t))
    (erase-buffer)
    (insert text)
    (goto-char (point-min))
    (set-buffer-modified-p nil)))

(defun passepartout-plan-diff--draw (ids)
  "Fetch what the plans IDS would change into the current buffer."
  (let ((buffer (current-buffer))
        (late (passepartout-view-asking)))
    (setq passepartout-plan-diff--plans ids)
    (passepartout-plan-diff--put "Asking…\n")
    (passepartout-plan-diff--fetch
     ids
     (lambda (diff why)
       (unless (funcall late)
         (with-current-buffer buffer
           (passepartout-plan-diff--put
            (cond (why (format "The change cannot be shown: %s\n"
                               (passepartout-view-line why)))
                  ((string-blank-p diff)
                   "This plan has no change of a file to compare.\n")
                  (t (passepartout-plan-diff--cut diff))))))))))

(defun passepartout-plan-diff ()
  "Show what the plan at point would change, in a buffer like `diff-mode'.
On the heading of a decision that is what its checked steps would
change.  Nothing can be approved there."
  (interactive)
  (let ((ids (mapcar (lambda (plan) (plist-get plan :id))
                     (passepartout-plan-diff--chosen)))
        (buffer (get-buffer-create passepartout-plan-diff--buffer-name)))
    (with-current-buffer buffer
      (unless (derived-mode-p 'passepartout-plan-diff-mode)
        (passepartout-plan-diff-mode))
      (passepartout-plan-diff--draw ids))
    (pop-to-buffer buffer)))

(defun passepartout-plan-diff-return ()
  "Go back to the plan whose change this is."
  (interactive)
  (passepartout-plan-visit (car passepartout-plan-diff--plans)))

;;;; With Ediff

(defun passepartout-plan-diff--sides (diff)
  "Return how what DIFF changes is and how it would be, as (OLD . NEW).
Both are the places that change, with the lines around them, below the
name of their file.  No line of a text begins with an at sign, so that
what looks like the head of a file within one is not taken for it."
  (let ((lines (split-string diff "\n")) old new file)
    (while lines
      (let* ((line (pop lines))
             (rest (and (> (length line) 0) (concat (substring line 1) "\n"))))
        (cond
         ((and (string-prefix-p "--- " line)
               (string-prefix-p "+++ " (or (car lines) ""))
               (string-prefix-p "@@ " (or (cadr lines) "")))
          (setq file (concat (string-remove-prefix
                              "b" (substring (pop lines) 4))
                             "\n"))
          (push file old) (push file new))
         ((not rest))
         (t (pcase (aref line 0)
              (?\s (push rest old) (push rest new))
              (?- (push rest old))
              (?+ (push rest new))
              (?@ (push (concat line "\n") old)
                  (push (concat line "\n") new)))))))
    (cons (apply #'concat (nreverse old)) (apply #'concat (nreverse new)))))

(defun passepartout-plan-diff--side (name text)
  "Return a new buffer called NAME, to be read alone, with TEXT."
  (with-current-buffer (generate-new-buffer name)
    (insert text)
    (goto-char (point-min))
    (setq-local bidi-display-reordering nil)
    (setq buffer-read-only t
          buffer-undo-list t)
    (set-buffer-modified-p nil)
    (current-buffer)))

(defun passepartout-plan-ediff ()
  "Compare what the plan at point would change with Ediff.
Both sides can only be read.  When Ediff ends they go, and the windows
are as before."
  (interactive)
  (let ((ids (or passepartout-plan-diff--plans
                 (mapcar (lambda (plan) (plist-get plan :id))
                         (passepartout-plan-diff--chosen))))
        (buffer (current-buffer)))
    (message "Asking for the change…")
    (passepartout-plan-diff--fetch
     ids
     (lambda (diff why)
       (cond
        (why (message "The change cannot be compared: %s"
                      (passepartout-view-line why)))
        ((string-blank-p diff)
         (message "This plan has no change of a file to compare"))
        ;; Nothing opens where you are busy with something else.
        ((or (active-minibuffer-window)
             (not (eq buffer (window-buffer (selected-window)))))
         (message "The change has come; ask for Ediff again to compare it"))
        (t
         (message nil)
         (let ((sides (passepartout-plan-diff--sides
                       (passepartout-plan-diff--cut diff))))
           (passepartout-view-ediff
            (passepartout-plan-diff--side "*Passepartout as it is*"
                                          (car sides))
            (passepartout-plan-diff--side "*Passepartout as planned*"
                                          (cdr sides))))))))))

(provide 'passepartout-plan-diff)
;;; passepartout-plan-diff.el ends here
