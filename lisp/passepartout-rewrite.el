;;; passepartout-rewrite.el --- Have a text rewritten, and accept it or not  -*- lexical-binding: t; -*-

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

;; `passepartout-rewrite' asks how the region, or the subtree, definition
;; or paragraph at point, is to be rewritten.  The new text streams into
;; a window beside it; the buffer stays as it is until you accept, and
;; then changes in one step to undo.  When the text has changed
;; meanwhile, accepting is refused and the three texts are shown.
;;
;; While a rewrite is there, its text is marked and has keys of its own;
;; several can be under way in one buffer.  What a model says is text
;; alone here: it is asked to use no tools, and if it does, what it
;; proposes waits as a flight plan like anything else.

;;; Code:

(require 'cl-lib)
(require 'transient)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(require 'passepartout-act)
(require 'passepartout-question)
(require 'passepartout-rewrite-text)
(require 'passepartout-ask)
(eval-when-compile (require 'subr-x))

(defvar ediff-quit-hook)
(defvar ediff-buffer-B)
(declare-function smerge-mode "smerge-mode" (&optional arg))

(defvar passepartout-rewrite-history nil
  "How you had texts rewritten.")

(defconst passepartout-rewrite-name "*passepartout rewrite*"
  "The name of the buffer of a new text, for `display-buffer-alist'.")

(defvar passepartout-rewrite-display
  '((display-buffer-reuse-window passepartout-rewrite-beside))
  "How the window with a new text is displayed, for `display-buffer'.")

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
  (result nil :documentation "The new text, once there is one.")
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
                           (apply #'+ (mapcar #'string-bytes
                                              (passepartout-question-said
                                               question))))))
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
  ;; Nothing is hidden or turned because of what the text says.
  (setq-local bidi-display-reordering nil)
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

;;;; Asking

(defun passepartout-rewrite--target ()
  "Return what is to be rewritten at point, as a target."
  (or (passepartout-question-region)
      (passepartout-question-subtree)
      (passepartout-question-defun)
      (passepartout-question-paragraph)
      (user-error "There is no text at point; mark it as the region")))

(defun passepartout-rewrite--check (target)
  "Leave with an error when TARGET cannot be rewritten."
  (cond
   (buffer-read-only
    (user-error "%s is read-only; C-x C-q changes that" (buffer-name)))
   ((= 0 (plist-get target :bytes)) (user-error "There is nothing to rewrite"))
   ((> (plist-get target :bytes) passepartout-question-most)
    (user-error "%s is too much to rewrite at once; at most %s can be"
                (passepartout-question-size (plist-get target :bytes))
                (passepartout-question-size passepartout-question-most)))
   ((save-restriction
      (widen)
      (passepartout-rewrite--in (plist-get target :beg) (plist-get target :end)))
    (user-error "Some of this is being rewritten already; accept or reject \
that first"))))

(defun passepartout-rewrite--read (prompt)
  "Ask with PROMPT how a text is to be rewritten."
  (let ((wanted (string-trim
                 (read-string prompt nil 'passepartout-rewrite-history))))
    (when (string-empty-p wanted)
      (user-error "Nothing was asked for"))
    wanted))

(defun passepartout-rewrite--message (wanted mode)
  "Return what a model is told that is to rewrite a text of MODE as WANTED."
  (format "Rewrite the text that came along: %s

Answer with the new text alone: no word before or behind it, and no fence \
around it.  Leave alone what this does not ask to change, and keep line \
breaks, indentation and markup as they are (%s).  Use no tools."
          wanted mode))

(defun passepartout-rewrite--ask (rewrite wanted)
  "Have the text of REWRITE, or what it was rewritten to, rewritten as WANTED."
  (let* ((buffer (passepartout-rewrite--buffer rewrite))
         (before (passepartout-rewrite--question rewrite))
         (mode (with-current-buffer buffer
                 (string-remove-suffix "-mode" (symbol-name major-mode)))))
    (with-current-buffer buffer
      (setf (passepartout-rewrite--question rewrite)
            (passepartout-question-ask
             (passepartout-rewrite--message wanted mode)
             (lambda (question text)
               (passepartout-rewrite--hear rewrite question text))
             (lambda (question) (passepartout-rewrite--done rewrite question))
             :session (and before (passepartout-question-session before))
             :tier (passepartout-chat--strictest
                    (list (passepartout-rewrite--tier rewrite)
                          (and before (passepartout-question-private before))))
             :attached (passepartout-question-attach-text
                        (format "the text to rewrite, of %s" (buffer-name))
                        (passepartout-events-clean
                         (or (passepartout-rewrite--result rewrite)
                             (passepartout-rewrite--original rewrite)))))))
    (push wanted (passepartout-rewrite--wanted rewrite))
    (setf (passepartout-rewrite--result rewrite) nil
          (passepartout-rewrite--remark rewrite) nil)
    (passepartout-rewrite--put-away rewrite)
    (if (buffer-live-p (passepartout-rewrite--preview rewrite))
        (passepartout-rewrite--draw rewrite)
      (passepartout-rewrite--say rewrite))))

(defun passepartout-rewrite--hear (rewrite question text)
  "Show TEXT, which arrived of the answer to QUESTION, beside REWRITE."
  (when (eq question (passepartout-rewrite--question rewrite))
    (let ((preview (passepartout-rewrite--preview rewrite)))
      (when (buffer-live-p preview)
        (with-current-buffer preview
          (let ((inhibit-read-only t))
            (save-excursion
              (goto-char (point-max))
              (insert text))
            (set-buffer-modified-p nil)))))
    (passepartout-rewrite--say rewrite)))

(defun passepartout-rewrite--done (rewrite question)
  "Note what REWRITE has come to, as the answer to QUESTION has ended."
  (when (eq question (passepartout-rewrite--question rewrite))
    (let* ((end (passepartout-question-end question))
           (plans (plist-get end :plans))
           (answer (passepartout-question-answer question))
           (buffer (passepartout-rewrite--buffer rewrite))
           (found (and buffer
                       (memq (passepartout-question-state question)
                             '(answered parked))
                       (not (passepartout-question-modelless-p question))
                       (not (string-blank-p answer))
                       (passepartout-rewrite-text-of
                        answer (passepartout-rewrite--original rewrite)
                        (with-current-buffer buffer
                          (derived-mode-p 'org-mode))))))
      (setf (passepartout-rewrite--result rewrite) (car found)
            (passepartout-rewrite--remark rewrite)
            (passepartout-rewrite--remarks question found plans))
      (passepartout-rewrite--draw rewrite)
      (passepartout-rewrite--say rewrite)
      (when buffer
        (message "%s: %s" (buffer-name buffer)
                 (if found
                     "rewritten; nothing is changed before you accept"
                   (passepartout-rewrite--remark rewrite)))))))

(defun passepartout-rewrite--remarks (question found plans)
  "Return what is to be known of the end of QUESTION, as a line, or nil.
FOUND is the text that was found in its answer, and PLANS are the flight
plans that came of it."
  (let* ((end (passepartout-question-end question))
         (state (passepartout-question-state question))
         (notes
          (list
           (and plans
                (format "It also proposed %s: M-x passepartout-flight-plans."
                        (if (cdr plans)
                            (format "%d acts, which wait" (length plans))
                          "an act, which waits")))
           (and (cdr found) "Words around the text were left out.")
           (and (not found)
                (cond
                 ((plist-get end :text)
                  (passepartout-view-line (plist-get end :text) 300))
                 ((eq state 'interrupted) "It was stopped.")
                 ((eq state 'failed) "It failed; M-x passepartout-log says why.")
                 ((passepartout-question-modelless-p question)
                  "No language model took part; M-x passepartout-models says \
who can be asked.")
                 (t "The model gave no text."))))))
    (and (seq-some #'identity notes)
         (string-join (delq nil notes) "  "))))

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
  "Take away all rewrites of the current buffer."
  (mapc #'passepartout-rewrite--forget (passepartout-rewrite--all)))

;;;; Differences

(defun passepartout-rewrite--compare (program arguments texts show)
  "Run PROGRAM with ARGUMENTS on TEXTS, and call SHOW in a buffer with the result.
ARGUMENTS comes before the names of the files that TEXTS are put into
for it, which only you can read; they are gone when it has ended.  Emacs
does not wait for it."
  (let* ((coding-system-for-write 'utf-8-unix)
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
                 (if (< (process-exit-status process) 2)
                     (funcall show)
                   (message "%s failed: %s" program
                            (passepartout-view-line (buffer-string) 200))
                   (kill-buffer buffer)))))))
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

(defun passepartout-rewrite--now (rewrite)
  "Return the text of REWRITE as it stands in its buffer now."
  (let ((overlay (passepartout-rewrite--overlay rewrite)))
    (with-current-buffer (or (passepartout-rewrite--buffer rewrite)
                             (user-error "The buffer of this text is gone"))
      (save-restriction
        (widen)
        (buffer-substring-no-properties (overlay-start overlay)
                                        (overlay-end overlay))))))

(defun passepartout-rewrite--three-way (rewrite)
  "Show how the text of REWRITE was, how it is, and how it would be."
  (let ((texts (list (passepartout-rewrite--now rewrite)
                     (passepartout-rewrite--original rewrite)
                     (passepartout-rewrite--result rewrite))))
    (if (executable-find "diff3")
        (passepartout-rewrite--compare
         "diff3" '("-m" "-A" "-L" "as it is now" "-L" "as it was" "-L" "rewritten")
         texts
         (lambda ()
           (passepartout-rewrite--display
            rewrite "*passepartout three-way*"
            (lambda () (text-mode) (smerge-mode 1)))))
      (passepartout-rewrite--difference rewrite (car texts) "as it is now"))))

(defun passepartout-rewrite--difference (rewrite old label)
  "Show the difference from OLD, called LABEL, to the new text of REWRITE."
  (passepartout-rewrite--compare
   "diff" (list "-u" "--label" label "--label" "rewritten")
   (list old (passepartout-rewrite--result rewrite))
   (lambda ()
     (when (= 0 (buffer-size))
       (insert "The new text is the same as the old one.\n"))
     (passepartout-rewrite--display
      rewrite "*passepartout diff*"
      (lambda () (diff-mode) (setq-local diff-default-read-only t))))))

(defun passepartout-rewrite--ready ()
  "Return the rewrite at point, which must have a new text."
  (let ((rewrite (passepartout-rewrite--here)))
    (pcase (passepartout-rewrite--state rewrite)
      ('going (user-error "The new text still arrives"))
      ('failed (user-error "There is no new text: %s"
                           (passepartout-rewrite--remark rewrite))))
    rewrite))

;;;; Commands

;;;###autoload
(defun passepartout-rewrite (wanted target)
  "Have TARGET rewritten as WANTED, and decide about the new text then.
That is the region when it is active, else the subtree, definition or
paragraph at point.  Nothing is changed before you accept.  On a text
that is being rewritten, show what can be done with it."
  (interactive
   (if (and (not (use-region-p))
            (passepartout-rewrite--at-point))
       (list nil nil)
     (let ((target (passepartout-rewrite--target)))
       (passepartout-rewrite--check target)
       (list (passepartout-rewrite--read
              (format "Rewrite %s: " (passepartout-question-said-of target)))
             target))))
  (if (null target)
      (passepartout-rewrite-menu)
    (passepartout-rewrite--check target)
    (let ((rewrite (passepartout-rewrite--make
                    :tier (plist-get target :tier)
                    :original (save-restriction
                                (widen)
                                (buffer-substring-no-properties
                                 (plist-get target :beg)
                                 (plist-get target :end)))))
          (asked nil))
      (save-restriction
        (widen)
        (passepartout-rewrite--mark rewrite (plist-get target :beg)
                                    (plist-get target :end)))
      (unwind-protect
          (progn (passepartout-rewrite--ask rewrite wanted)
                 (setq asked t))
        (unless asked (passepartout-rewrite--forget rewrite)))
      (deactivate-mark)
      (display-buffer (passepartout-rewrite--preview-of rewrite)
                      passepartout-rewrite-display)
      rewrite)))

(defun passepartout-rewrite-accept ()
  "Put the new text in the place of the one that was rewritten.
It is one step to undo.  When the text has changed meanwhile nothing is
changed, and the three texts are shown."
  (interactive)
  (let* ((rewrite (passepartout-rewrite--ready))
         (overlay (passepartout-rewrite--overlay rewrite))
         (result (passepartout-rewrite--result rewrite)))
    (unless (equal (passepartout-rewrite--now rewrite)
                   (passepartout-rewrite--original rewrite))
      (passepartout-rewrite--three-way rewrite)
      (user-error "The text has changed since it was asked for; nothing was \
changed.  C-c C-k rejects, C-c C-r has the new text rewritten"))
    (with-current-buffer (overlay-buffer overlay)
      (save-restriction
        (widen)
        (let ((problem
               (or (passepartout-act--refusal (buffer-chars-modified-tick))
                   (passepartout-act--apply
                    (list (list (1- (position-bytes (overlay-start overlay)))
                                (1- (position-bytes (overlay-end overlay)))
                                result))))))
          (when problem (user-error "Not accepted: %s" problem))))
      (passepartout-rewrite--forget rewrite)
      (message "Accepted; C-/ takes it back"))))

(defun passepartout-rewrite-reject ()
  "Leave the text as it is, and forget the new one.
While the new text arrives, stop it."
  (interactive)
  (let ((rewrite (passepartout-rewrite--here)))
    (if (eq (passepartout-rewrite--state rewrite) 'going)
        (passepartout-question-stop (passepartout-rewrite--question rewrite))
      (passepartout-rewrite--forget rewrite)
      (message "Rejected; the text is as it was"))))

(defun passepartout-rewrite-iterate (wanted)
  "Have the new text rewritten further, as WANTED.
Where there is none yet, the text itself is rewritten."
  (interactive
   (progn
     (when (eq (passepartout-rewrite--state (passepartout-rewrite--here)) 'going)
       (user-error "The new text still arrives"))
     (list (passepartout-rewrite--read "Rewrite the new text: "))))
  (passepartout-rewrite--ask (passepartout-rewrite--here) wanted))

(defun passepartout-rewrite-diff ()
  "Show the difference between the text and the new one."
  (interactive)
  (let ((rewrite (passepartout-rewrite--ready)))
    (passepartout-rewrite--difference
     rewrite (passepartout-rewrite--original rewrite) "as it was")))

(defun passepartout-rewrite-ediff ()
  "Compare the text and the new one with Ediff.
What you change in the new one there counts when you quit.  The windows
are as before then."
  (interactive)
  (let* ((rewrite (passepartout-rewrite--ready))
         (windows (current-window-configuration))
         (old (generate-new-buffer "*passepartout as it was*"))
         (new (generate-new-buffer "*passepartout rewritten*")))
    (with-current-buffer old
      (insert (passepartout-rewrite--original rewrite))
      (setq buffer-read-only t)
      (set-buffer-modified-p nil))
    (with-current-buffer new
      (insert (passepartout-rewrite--result rewrite))
      (set-buffer-modified-p nil))
    (ediff-buffers
     old new
     (list (lambda ()
             (add-hook 'ediff-quit-hook
                       (lambda ()
                         (passepartout-rewrite--ediffed
                          rewrite old new windows))
                       t t))))))

(defun passepartout-rewrite--ediffed (rewrite old new windows)
  "Take the new text of REWRITE from NEW, and put the WINDOWS back.
OLD and NEW are the buffers that were compared."
  (let ((text (with-current-buffer new (buffer-string))))
    (setf (passepartout-rewrite--result rewrite)
          (substring-no-properties text)))
  (mapc #'kill-buffer (list old new))
  (set-window-configuration windows)
  (passepartout-rewrite--draw rewrite))

(defun passepartout-rewrite-show ()
  "Show the new text beside the text."
  (interactive)
  (display-buffer (passepartout-rewrite--preview-of (passepartout-rewrite--here))
                  passepartout-rewrite-display))

(defun passepartout-rewrite-visit ()
  "Go to the text that is rewritten here."
  (interactive)
  (let ((rewrite (passepartout-rewrite--here)))
    (pop-to-buffer (or (passepartout-rewrite--buffer rewrite)
                       (user-error "The buffer of this text is gone")))
    (goto-char (overlay-start (passepartout-rewrite--overlay rewrite)))))

(transient-define-prefix passepartout-rewrite-menu ()
  "Say what is to become of the new text."
  ["The new text"
   ("a" "accept" passepartout-rewrite-accept)
   ("d" "difference" passepartout-rewrite-diff)
   ("e" "ediff" passepartout-rewrite-ediff)
   ("i" "rewrite further" passepartout-rewrite-iterate)
   ("v" "show it beside" passepartout-rewrite-show)
   ("k" "reject, or stop" passepartout-rewrite-reject)])

(provide 'passepartout-rewrite)
;;; passepartout-rewrite.el ends here
