;;; passepartout-rewrite-show.el --- How a text that is being rewritten is shown  -*- lexical-binding: t; -*-
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

;; A text that is being rewritten is marked in its buffer, says there how
;; it stands, and has keys of its own; the new text has a window beside
;; it.  Nothing here changes a text.

;;; Code:

(require 'cl-lib)
(require 'passepartout)
(require 'passepartout-view)
(require 'passepartout-question)
(require 'passepartout-answer)
(eval-when-compile (require 'subr-x))

(declare-function passepartout-rewrite-accept "passepartout-rewrite" ())
(declare-function passepartout-rewrite-reject "passepartout-rewrite" ())
(declare-function passepartout-rewrite-iterate "passepartout-rewrite" (wanted))
(declare-function passepartout-rewrite-show "passepartout-rewrite" ())
(declare-function passepartout-rewrite-visit "passepartout-rewrite" ())
(declare-function passepartout-rewrite-diff "passepartout-rewrite-differ" ())
(declare-function passepartout-rewrite-ediff "passepartout-rewrite-differ" ())

(defconst passepartout-rewrite-name "*passepartout rewrite*"
  "The name of the buffer of a new text, for `display-buffer-alist'.")

(defvar passepartout-rewrite-display
  '((display-buffer-reuse-window passepartout-rewrite-beside))
  "How the window with a new text is displayed, for `display-buffer'.")
(put 'passepartout-rewrite-display 'risky-local-variable t)

(defvar-local passepartout-rewrite--window nil
  "The window that was made for this buffer, which goes with it.")

(defun passepartout-rewrite-beside (buffer alist)
  "Display BUFFER by ALIST at the side of the selected window, or below it.
It is below where half of the width would hold no line of prose."
  (let* ((windows (window-list))
         (window
          (if (>= (window-total-width) 140)
              (display-buffer-in-direction buffer
                                           (cons '(direction . right) alist))
            (display-buffer-below-selected
             buffer (append alist '((window-height . 0.4)))))))
    (with-current-buffer buffer
      (setq passepartout-rewrite--window
            (and (not (memq window windows)) window)))
    window))

(cl-defstruct (passepartout-rewrite
               (:constructor passepartout-rewrite--make) (:copier nil)
               (:conc-name passepartout-rewrite--))
  "A text that is being rewritten."
  (overlay nil :documentation "Marks the text in its buffer.")
  (keys nil :documentation "Where its keys count: there and right behind it.")
  (original nil :documentation "The text as it was when it was asked for.")
  (wanted nil :documentation "The instructions, the newest first.")
  (tier nil :documentation "How private the text is: a tier, or nil.")
  (question nil :documentation "The question that is being answered.")
  (stopped nil :documentation "The question that was to be stopped, or nil.")
  (result nil :documentation "The new text, once there is one.")
  (runs nil :documentation "What is new in it and could run, as texts.")
  (remark nil :documentation "What is to be known beside it, or nil.")
  (preview nil :documentation "The buffer that shows it, or nil."))

;;;; The mark on the text

(defvar passepartout-rewrite-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'passepartout-rewrite-accept)
    (define-key map (kbd "C-c C-k") #'passepartout-rewrite-reject)
    (define-key map (kbd "C-c C-d") #'passepartout-rewrite-diff)
    (define-key map (kbd "C-c C-e") #'passepartout-rewrite-ediff)
    (define-key map (kbd "C-c C-r") #'passepartout-rewrite-iterate)
    (define-key map (kbd "C-c C-v") #'passepartout-rewrite-show)
    map)
  "Keys on a text that is being rewritten.")

(defun passepartout-rewrite--mark (rewrite beg end)
  "Mark what is between BEG and END as the text of REWRITE."
  (let ((overlay (make-overlay beg end nil t nil))
        ;; Point is often right behind a region; what is typed there is
        ;; no part of the text.
        (keys (make-overlay beg end nil nil t)))
    (overlay-put overlay 'passepartout-rewrite rewrite)
    (overlay-put overlay 'face 'passepartout-rewrite)
    (overlay-put overlay 'priority 10)
    (overlay-put keys 'keymap passepartout-rewrite-map)
    (setf (passepartout-rewrite--overlay rewrite) overlay
          (passepartout-rewrite--keys rewrite) keys)
    (add-hook 'kill-buffer-hook #'passepartout-rewrite--forget-all nil t)
    ;; An overlay would not outlive the next mode with its keys in order.
    (add-hook 'change-major-mode-hook #'passepartout-rewrite--forget-all nil t)))

(defun passepartout-rewrite--buffer (rewrite)
  "Return the buffer of the text of REWRITE, or nil when it is gone."
  (let ((overlay (passepartout-rewrite--overlay rewrite)))
    (and overlay (overlay-buffer overlay))))

(defun passepartout-rewrite--in (beg end)
  "Return the rewrites between BEG and END of the current buffer, in order."
  (mapcar #'cdr
          (sort (delq nil
                      (mapcar (lambda (overlay)
                                (let ((rewrite (overlay-get
                                                overlay 'passepartout-rewrite)))
                                  (and rewrite
                                       (cons (overlay-start overlay) rewrite))))
                              (overlays-in beg end)))
                (lambda (a b) (< (car a) (car b))))))

(defun passepartout-rewrite--all ()
  "Return the rewrites of the current buffer, in order."
  (save-restriction
    (widen)
    (passepartout-rewrite--in (point-min) (point-max))))

(defvar-local passepartout-rewrite--shown nil
  "The rewrite whose new text this buffer shows.")

(defun passepartout-rewrite--at-point ()
  "Return the rewrite that point is in or right behind, or nil."
  (or passepartout-rewrite--shown
      (car (passepartout-rewrite--in (point) (min (1+ (point)) (point-max))))
      (car (passepartout-rewrite--in (max (1- (point)) (point-min)) (point)))))

(defun passepartout-rewrite--here ()
  "Return the rewrite that a command here is about."
  (or (passepartout-rewrite--at-point)
      (let ((all (passepartout-rewrite--all)))
        (cond ((null all)
               (user-error "Nothing is being rewritten here; \
M-x passepartout-rewrite begins"))
              ((cdr all)
               (user-error "Several texts are being rewritten here; put point \
into one of them"))
              (t (car all))))))

(defun passepartout-rewrite--state (rewrite)
  "Return how REWRITE stands: `going', `ready' or `failed'."
  (cond ((passepartout-question-going-p
          (passepartout-rewrite--question rewrite))
         'going)
        ((passepartout-rewrite--result rewrite) 'ready)
        (t 'failed)))

(defun passepartout-rewrite--say (rewrite)
  "Show how REWRITE stands, at its text and beside it."
  (let* ((question (passepartout-rewrite--question rewrite))
         (overlay (passepartout-rewrite--overlay rewrite))
         (state (passepartout-rewrite--state rewrite))
         (word (pcase state
                 ('going
                  (format "rewriting… %s"
                          (passepartout-question-size
                           (passepartout-question-bytes question))))
                 ('ready "rewritten")
                 (_ "no new text")))
         (keys (pcase state
                 ('going "C-c C-k stops")
                 ('ready "C-c C-c accept  C-c C-d diff  C-c C-r further  C-c C-k \
reject")
                 (_ "C-c C-r again  C-c C-k away")))
         (face (pcase state
                 ('ready 'passepartout-good)
                 ('failed 'passepartout-bad)
                 (_ 'passepartout-attention)))
         (remark (passepartout-rewrite--remark rewrite)))
    (when (and overlay (overlay-buffer overlay))
      (overlay-put
       overlay 'before-string
       (concat (propertize (concat "▸ " word) 'face face)
               (propertize (concat "  " keys) 'face 'passepartout-quiet)
               (if remark
                   (concat "\n" (propertize remark 'face 'passepartout-attention))
                 "")
               "\n")))
    (when (buffer-live-p (passepartout-rewrite--preview rewrite))
      (with-current-buffer (passepartout-rewrite--preview rewrite)
        (setq header-line-format
              (replace-regexp-in-string
               "%" "%%"
               (concat " " (propertize word 'face face)
                       (propertize
                        (pcase state
                          ('going "  k stops")
                          ('ready "  a accept  d diff  e ediff  i further  \
k reject")
                          (_ "  i again  k away"))
                        'face 'passepartout-quiet)
                       (if (passepartout-question-private question)
                           "  private" "")
                       "  " (passepartout-answer-cost question))
               t t))
        (force-mode-line-update)))))

(defun passepartout-rewrite--now (rewrite)
  "Return the text of REWRITE as it stands in its buffer now."
  (let ((overlay (passepartout-rewrite--overlay rewrite)))
    (with-current-buffer (or (passepartout-rewrite--buffer rewrite)
                             (user-error "The buffer of this text is gone"))
      (save-restriction
        (widen)
        (buffer-substring-no-properties (overlay-start overlay)
                                        (overlay-end overlay))))))

(defun passepartout-rewrite--ready ()
  "Return the rewrite at point, which must have a new text."
  (let ((rewrite (passepartout-rewrite--here)))
    (pcase (passepartout-rewrite--state rewrite)
      ('going (user-error "The new text still arrives"))
      ('failed (user-error "There is no new text: %s"
                           (passepartout-rewrite--remark rewrite))))
    rewrite))

;;;; The new text beside it

(defvar passepartout-rewrite-preview-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "a") #'passepartout-rewrite-accept)
    (define-key map (kbd "C-c C-c") #'passepartout-rewrite-accept)
    (define-key map (kbd "d") #'passepartout-rewrite-diff)
    (define-key map (kbd "e") #'passepartout-rewrite-ediff)
    (define-key map (kbd "i") #'passepartout-rewrite-iterate)
    (define-key map (kbd "g") #'passepartout-rewrite-iterate)
    (define-key map (kbd "k") #'passepartout-rewrite-reject)
    (define-key map (kbd "C-c C-k") #'passepartout-rewrite-reject)
    (define-key map (kbd "RET") #'passepartout-rewrite-visit)
    map)
  "Keys of the window with a new text.")

(define-derived-mode passepartout-rewrite-preview-mode special-mode "Rewrite"
  "Major mode of the window with a new text.
\\<passepartout-rewrite-preview-mode-map>\\[passepartout-rewrite-accept] \
accepts it, \\[passepartout-rewrite-diff] shows the difference,
\\[passepartout-rewrite-iterate] has it rewritten further, \
\\[passepartout-rewrite-reject] rejects it."
  (setq-local word-wrap t)
  (setq-local truncate-lines nil)
  (setq-local truncate-partial-width-windows nil)
  (setq-local buffer-undo-list t)
  (passepartout-view-show-hidden)
  (setq-local revert-buffer-function
              (lambda (&rest _)
                (passepartout-rewrite--draw passepartout-rewrite--shown))))

(defun passepartout-rewrite--preview-of (rewrite)
  "Return the buffer with the new text of REWRITE."
  (let ((preview (passepartout-rewrite--preview rewrite)))
    (if (buffer-live-p preview)
        preview
      (setq preview (generate-new-buffer passepartout-rewrite-name))
      (with-current-buffer preview
        (passepartout-rewrite-preview-mode)
        (setq default-directory temporary-file-directory
              passepartout-rewrite--shown rewrite))
      (setf (passepartout-rewrite--preview rewrite) preview)
      (passepartout-rewrite--draw rewrite)
      preview)))

(defun passepartout-rewrite--draw (rewrite)
  "Draw the new text of REWRITE beside it anew; point and windows stay."
  (let ((preview (passepartout-rewrite--preview rewrite)))
    (when (buffer-live-p preview)
      (with-current-buffer preview
        (passepartout-view-draw
          (insert (or (passepartout-rewrite--result rewrite)
                      (passepartout-question-answer
                       (passepartout-rewrite--question rewrite))))))
      (passepartout-rewrite--say rewrite))))

;;;; Away with it

(defun passepartout-rewrite--forget (rewrite)
  "Take the mark of REWRITE away, and the window beside it.
What still arrives of it is stopped."
  (let ((overlay (passepartout-rewrite--overlay rewrite))
        (question (passepartout-rewrite--question rewrite)))
    (when question (passepartout-question-close question))
    (dolist (mark (list overlay (passepartout-rewrite--keys rewrite)))
      (when mark (delete-overlay mark)))
    (passepartout-rewrite--put-away rewrite t)))

(defun passepartout-rewrite--forget-all ()
  "Take away all rewrites of the current buffer.
An indirect buffer that is a clone has the marks of another one as well."
  (dolist (rewrite (passepartout-rewrite--all))
    (when (eq (current-buffer) (passepartout-rewrite--buffer rewrite))
      (passepartout-rewrite--forget rewrite))))

(defun passepartout-rewrite--put-away (rewrite &optional all)
  "Kill the buffers with differences of REWRITE, and with ALL its new text.
Their windows go as well, where they were made for them."
  (dolist (buffer (buffer-list))
    (when (and (eq rewrite (buffer-local-value 'passepartout-rewrite--shown
                                               buffer))
               (or all (not (eq buffer (passepartout-rewrite--preview rewrite)))))
      (let ((window (get-buffer-window buffer t)))
        (cond ((null window))
              ((and all
                    (eq window (buffer-local-value
                                'passepartout-rewrite--window buffer))
                    (eq t (window-deletable-p window)))
               (delete-window window))
              (t (quit-window nil window))))
      (kill-buffer buffer))))

(provide 'passepartout-rewrite-show)
;;; passepartout-rewrite-show.el ends here
