;;; passepartout-memory.el --- Memory through time  -*- lexical-binding: t; -*-

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

;; The log of memory, newest first; what one step changed, and who did
;; it; undo, redo and rewind.  What is taken back is shown first, whole,
;; and carried out only when it is confirmed: the confirmation names what
;; was shown, and the core refuses it when anything has changed since.
;; As of a plan, all of it has to have been displayed, and the last part
;; of it for a moment.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-plan-read)
(require 'passepartout-plot)
(require 'passepartout-arrive)
(require 'passepartout-view)
(eval-when-compile (require 'subr-x))

(defconst passepartout-memory--buffer-name "*Passepartout memory log*"
  "The name of the buffer of the log of memory.")

(defconst passepartout-memory--text-name "*Passepartout memory*"
  "The name of the buffer of one step, a difference, or blame.")

(defconst passepartout-memory--preview-name "*Passepartout preview*"
  "The name of the buffer that shows what would be taken back.")

(defconst passepartout-memory--limit 200
  "How many operations are listed.")

(defconst passepartout-memory--greatest 2000000
  "How many characters of a text are shown at most.")

;;;; Texts in pages

(defun passepartout-memory--gather (action payload function &optional parts)
  "Ask for all pages of ACTION with PAYLOAD, then call FUNCTION.
FUNCTION gets the text and the last page.  PARTS are the pages so far,
the newest first.  An error is shown and ends it."
  (passepartout-request
   action payload
   (lambda (page)
     (let* ((why (plist-get page :error))
            (parts (cons (or (plist-get page :text) "") parts))
            (next (plist-get page :next))
            (preview (plist-get payload :preview)))
       (cond
        (why (message "Passepartout: %s" (passepartout-view-line why 500)))
        ((null next)
         (funcall function (string-join (nreverse parts)) page))
        ((> (apply #'+ (mapcar #'length parts))
            passepartout-memory--greatest)
         (message "Passepartout: this is too long to be shown whole; %s"
                  "go back in smaller steps"))
        (preview
         (passepartout-memory--gather
          :memory-page (list :preview preview :from next) function parts))
        (t
         (passepartout-memory--gather
          action (plist-put (copy-sequence payload) :from next)
          function parts)))))))

(defun passepartout-memory--insert-text (text)
  "Insert TEXT, which is foreign, with what came and went in colour."
  (require 'diff-mode)
  (let ((begin (point)))
    (insert (passepartout-view-fixed text))
    (save-excursion
      (goto-char begin)
      (while (re-search-forward "^: \\([-+@]\\).*\n" nil t)
        (put-text-property (match-beginning 0) (match-end 0) 'face
                           (pcase (match-string 1)
                             ("+" 'diff-added)
                             ("-" 'diff-removed)
                             (_ 'diff-hunk-header)))))))

(defun passepartout-memory--show-text (title text place)
  "Show TEXT, which is foreign, under TITLE, to who asked at PLACE."
  (let ((buffer (passepartout-view-buffer passepartout-memory--text-name
                                          'passepartout-view-mode)))
    (with-current-buffer buffer
      (setq passepartout-view--refresh nil)
      (passepartout-view-draw
        (insert (propertize (concat title "\n\n") 'face 'passepartout-title))
        (passepartout-memory--insert-text text)))
    (passepartout-arrive-at-buffer place buffer
                                   (lambda () (goto-char (point-min))))))

;;;; The log

(defvar passepartout-memory-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map passepartout-view-mode-map)
    (define-key map (kbd "RET") #'passepartout-memory-show)
    (define-key map (kbd "=") #'passepartout-memory-diff)
    (define-key map (kbd "R") #'passepartout-memory-rewind)
    (define-key map (kbd "u") #'passepartout-undo)
    (define-key map (kbd "U") #'passepartout-redo)
    map)
  "Keys of the buffer of the log of memory.")

(define-derived-mode passepartout-memory-mode passepartout-view-mode
  "Memory log"
  "Major mode of the log of memory.")

(defconst passepartout-memory--columns
  '(("Step" 7 t) ("When" 16) ("Change" 11) ("By" (14 . 26)) ("What" nil))
  "The columns of the log of memory.")

(defun passepartout-memory--time (entry)
  "Return when ENTRY, a plist of one operation, was, in seconds, or 0."
  (or (ignore-errors
        (float-time (passepartout-view-parse-time (plist-get entry :at))))
      0.0))

(defun passepartout-memory--plot (entries)
  "Insert a time line of ENTRIES, newest first: a lane for each who moved it."
  (let (lanes)
    (dolist (entry entries)
      ;; Behind whose tool it was, and all tools of one are one lane.
      (let ((who (car (split-string
                       (passepartout-view-line (plist-get entry :by) 40)
                       " ("))))
        (push (passepartout-memory--time entry)
              (alist-get who lanes nil nil #'equal))))
    (when (cdr entries)
      (passepartout-plot-lanes
       (nreverse lanes)
       (passepartout-view-time (plist-get (car (last entries)) :at))
       (passepartout-view-time (plist-get (car entries) :at))))))

(defun passepartout-memory--row (entry)
  "Return the row of ENTRY, a plist of one operation."
  (let ((operation (plist-get entry :operation))
        (at (plist-get entry :at))
        (by (passepartout-view-line (plist-get entry :by) 40))
        (what (passepartout-view-line (plist-get entry :what) 160)))
    `(,operation ,(format "%s %s: %s" operation by what) ,entry
      ((,(propertize (format "%s" operation) 'face 'passepartout-quiet)
        . ,operation)
       (,(passepartout-view-time at)
        ;; Times of today are written shorter than others.
        . ,(passepartout-memory--time entry))
       ;; By this name `/undo' takes it back.
       ,(propertize (passepartout-view-line
                     (or (plist-get entry :change) "") 40)
                    'face 'passepartout-quiet)
       ,(propertize by 'face 'passepartout-subtitle)
       ,what))))

(defun passepartout-memory--draw (payload)
  "Draw PAYLOAD, the answer of the core, in the current buffer."
  (passepartout-view-draw
    (insert (propertize "Memory log\n" 'face 'passepartout-title)
            (propertize
             (concat "RET shows a step, = what it changed (with a region: what "
                     "differs between its ends), "
                     "R shows what going back to it would do, u undoing, "
                     "U redoing; S sorts, ? shows all keys, q leaves.\n\n")
             'face 'passepartout-quiet))
    (if (null (plist-get payload :entries))
        (insert "Memory has not moved yet.  It does when files are read, "
                "when you write in one, and when the agent changes one; "
                "g asks again.\n")
      (passepartout-memory--plot (plist-get payload :entries))
      (passepartout-list-head passepartout-memory--columns)
      (passepartout-list-rows passepartout-memory--columns
                              (mapcar #'passepartout-memory--row
                                      (plist-get payload :entries))))))

(defun passepartout-memory--fetch ()
  "Ask the core for the log of memory and draw it."
  (passepartout-view-fetch
   passepartout-memory--buffer-name :memory-log #'passepartout-memory--draw
   (lambda () `((:limit ,passepartout-memory--limit)))))

;;;###autoload
(defun passepartout-memory-log ()
  "Show what moved memory, newest first."
  (interactive)
  (passepartout-view-open passepartout-memory--buffer-name
                          'passepartout-memory-mode 'passepartout-memory-log
                          #'passepartout-memory--fetch))

(defun passepartout-memory--at (&optional position)
  "Return the number of the operation at POSITION or point."
  (or (plist-get (passepartout-list-data position) :operation)
      (user-error "There is no step of memory here")))

(defun passepartout-memory-show ()
  "Show the step at point: who, why, and what it changed."
  (interactive)
  (let ((operation (passepartout-memory--at))
        (place (passepartout-arrive-place)))
    (passepartout-memory--gather
     :memory-show (list :operation operation)
     (lambda (text _page)
       (passepartout-memory--show-text
        (format "Operation %s" operation) text place)))))

(defun passepartout-memory-diff ()
  "Show what the step at point changed, or all steps of the region."
  (interactive)
  (let* ((ends (if (use-region-p)
                   (list (passepartout-memory--at (region-beginning))
                         (passepartout-memory--at
                          (max (point-min) (1- (region-end)))))
                 (let ((at (passepartout-memory--at)))
                   (list (1- at) at))))
         (from (apply #'min ends))
         (to (apply #'max ends))
         (place (passepartout-arrive-place)))
    (passepartout-memory--gather
     :memory-diff (list :from-operation from :operation to)
     (lambda (text _page)
       (passepartout-memory--show-text
        (format "From operation %s to %s" from to) text place)))))

;;;; Taking back

(defvar-local passepartout-memory--shown nil
  "The name of what this buffer shows, for carrying it out.")

(defvar-local passepartout-memory--title nil
  "What would happen, in a line.")

(defvar-local passepartout-memory--seen 1
  "Up to where this buffer has been displayed since it was drawn.")

(defvar-local passepartout-memory--since 0
  "When something of this buffer was displayed for the first time, last.
In seconds.")

(defvar-local passepartout-memory--timer nil
  "The timer that looks at what is displayed, or nil.")

(defvar passepartout-memory-preview-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map passepartout-view-mode-map)
    (define-key map (kbd "C-c C-c") #'passepartout-memory-carry-out)
    map)
  "Keys of the buffer that shows what would be taken back.")

(define-derived-mode passepartout-memory-preview-mode passepartout-view-mode
  "Preview"
  "Major mode of the buffer that shows what would be taken back."
  (dolist (hook '(window-buffer-change-functions window-size-change-functions
                  window-scroll-functions post-command-hook))
    (add-hook hook #'passepartout-memory--look-soon nil t))
  (add-hook 'pre-redisplay-functions #'passepartout-memory--drawing nil t))

(defun passepartout-memory--preview (action payload)
  "Show what ACTION with PAYLOAD would do, and wait for a confirmation."
  (let ((place (passepartout-arrive-place))
        title)
    ;; The title comes with the first page.
    (passepartout-request
     action payload
     (lambda (page)
       (let ((why (plist-get page :error)))
         (setq title (plist-get page :title))
         (cond
          (why (message "Passepartout: %s" (passepartout-view-line why 500)))
          ((plist-get page :next)
           (passepartout-memory--gather
            :memory-page (list :preview (plist-get page :preview)
                               :from (plist-get page :next))
            (lambda (text last)
              (passepartout-memory--draw-preview title text last place))
            (list (plist-get page :text))))
          (t (passepartout-memory--draw-preview
              title (plist-get page :text) page place))))))))

(defun passepartout-memory--draw-preview (title text page place)
  "Show TITLE and TEXT, whose last PAGE names what is shown.
It was asked for at PLACE."
  (let ((buffer (passepartout-view-buffer
                 passepartout-memory--preview-name
                 'passepartout-memory-preview-mode)))
    (with-current-buffer buffer
      (setq passepartout-memory--shown (plist-get page :shown)
            passepartout-memory--seen 1
            passepartout-memory--since (funcall passepartout-plan--clock)
            passepartout-memory--title (passepartout-view-line title 160))
      (passepartout-view-draw
        (insert (propertize (concat passepartout-memory--title "\n")
                            'face 'passepartout-title)
                (propertize
                 (concat "Nothing has been done yet.  C-c C-c does exactly "
                         "this, q leaves it.\n\n")
                 'face 'passepartout-quiet))
        (passepartout-memory--insert-text text)))
    (passepartout-arrive-at-buffer
     place buffer
     (lambda ()
       (goto-char (point-min))
       (set-window-start nil (point-min))
       (passepartout-memory--look-soon)))))

;;;;; What of it was displayed

(defun passepartout-memory--look ()
  "Note up to where this buffer has been displayed, and when that grew."
  (dolist (window (get-buffer-window-list nil nil 'visible))
    (pcase-let ((`(,from . ,to) (passepartout-plan--displayed window)))
      (when (and from
                 (<= from passepartout-memory--seen)
                 (< passepartout-memory--seen to))
        (let ((until (passepartout-plan--visible-until
                      passepartout-memory--seen (min to (point-max)))))
          (when (> until passepartout-memory--seen)
            (setq passepartout-memory--seen until
                  passepartout-memory--since
                  (funcall passepartout-plan--clock))))))))

(defun passepartout-memory--look-soon (&rest _)
  "Look at what is displayed when Emacs next waits, and has drawn it."
  (let ((buffer (get-buffer passepartout-memory--preview-name)))
    (when buffer
      (with-current-buffer buffer
        (unless passepartout-memory--timer
          (setq passepartout-memory--timer
                (run-at-time
                 0 nil
                 (lambda ()
                   (when (buffer-live-p buffer)
                     (with-current-buffer buffer
                       (setq passepartout-memory--timer nil)
                       (passepartout-memory--look)))))))))))

(defun passepartout-memory--drawing (window)
  "Look at what is displayed when WINDOW, which is not drawn now, has been."
  (unless (window-line-height 0 window)
    (passepartout-memory--look-soon)))

(defun passepartout-memory--read-on ()
  "Show the first part of this buffer that was not displayed yet.
What was folded, narrowed or cut away comes back."
  (let ((window (get-buffer-window nil 'visible)))
    (widen)
    (passepartout-plan--uncut)
    (when (passepartout-plan--covered-p passepartout-memory--seen)
      (if (fboundp 'org-fold-show-all)
          (org-fold-show-all)
        (with-no-warnings (org-show-all))))
    (goto-char passepartout-memory--seen)
    (when window
      (set-window-point window (point))
      ;; Two lines of what was seen stay above, so that no line is lost.
      (set-window-start window
                        (save-excursion
                          (vertical-motion
                           (if (> (window-body-height window) 4) -2 0)
                           window)
                          (point))))
    (setq passepartout-memory--since (funcall passepartout-plan--clock))
    (passepartout-memory--look-soon)))

(defun passepartout-memory-carry-out ()
  "Do exactly what this buffer shows.
While a part of it has not been displayed yet, go on there instead; right
after something of it appeared, do nothing.  No further question is
asked: what is done can be undone."
  (interactive)
  (unless passepartout-memory--shown
    (user-error "Nothing is shown here that could be done"))
  (passepartout-memory--look)
  (cond
   ((< (- (funcall passepartout-plan--clock) passepartout-memory--since)
       passepartout-approval-delay)
    (message "This has only just appeared; read it, then C-c C-c"))
   ((<= passepartout-memory--seen (buffer-size))
    (passepartout-memory--read-on)
    (message "There is more of it; C-c C-c again at its end does it"))
   (t
    (let ((shown passepartout-memory--shown)
          (buffer (current-buffer)))
      (setq passepartout-memory--shown nil)
      (passepartout-request
       :memory-do (list :shown shown)
       (lambda (page)
         (passepartout-memory--done page buffer)))))))

(defun passepartout-memory--done (page buffer)
  "Say what came of it, as PAGE has it; BUFFER showed the preview."
  (let ((text (or (plist-get page :error) (plist-get page :text) "")))
    (when (and (buffer-live-p buffer)
               (equal (plist-get page :status) "answered"))
      (let ((window (get-buffer-window buffer)))
        (if window (quit-window nil window) (bury-buffer buffer))))
    (when (get-buffer passepartout-memory--buffer-name)
      (passepartout-memory--fetch))
    (message "Passepartout: %s" (passepartout-view-line text 500))))

(defun passepartout-memory-rewind (reach)
  "Show what going back to the step at point would do.
REACH is `both', `files' or `memory'; with a prefix argument it is asked
for.  What was written by hand since stays."
  (interactive
   (list (if current-prefix-arg
             (intern (completing-read "Go back in: "
                                      '("both" "files" "memory") nil t))
           'both)))
  (passepartout-memory--preview
   :memory-rewind (list :operation (passepartout-memory--at)
                        :reach (symbol-name reach))))

;;;###autoload
(defun passepartout-undo ()
  "Show what undoing the agent's last changes would do, and ask."
  (interactive)
  (passepartout-memory--preview :undo nil))

;;;###autoload
(defun passepartout-redo ()
  "Show what doing again what was undone last would do, and ask."
  (interactive)
  (passepartout-memory--preview :redo nil))

;;;; Blame

;;;###autoload
(defun passepartout-blame ()
  "Say who wrote or changed the heading at point, when and why."
  (interactive)
  (unless (and (derived-mode-p 'org-mode) buffer-file-name)
    (user-error "Go to a heading in a file of your memex first"))
  (let ((file (file-truename buffer-file-name))
        (line (save-restriction (widen) (line-number-at-pos)))
        (place (passepartout-arrive-place)))
    (passepartout-memory--gather
     :blame (list :file file :line line)
     (lambda (text _page)
       (passepartout-memory--show-text "Who wrote this" text place)))))

(provide 'passepartout-memory)
;;; passepartout-memory.el ends here
