;;; passepartout-plan-read.el --- Reading flight plans to their end  -*- lexical-binding: t; -*-

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

;; What a human approves, they must have been able to see.  This file
;; keeps account of how much of each plan has been displayed in a
;; window, without a gap, and fetches the pages of a plan as its reader
;; comes to them, so that nothing here grows with the length of a plan.
;;
;; What counts is what Emacs has drawn.  Each drawing of a window arms a
;; timer, and what the timer finds counts only when the window stands on
;; the screen as it is now, with nothing cut off: `window-line-height'
;; tells, which is nil for a window that must be drawn again.
;;
;; The core is told when all of a plan has been displayed, and takes no
;; approval of it before, however that is given: that a page was fetched
;; says nothing, because it is fetched before its reader comes to it.

;;; Code:

(require 'ewoc)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-plan-draw)

(defconst passepartout-plan--ahead 4000
  "A page is fetched when its place is so many characters below a window.")

(defvar passepartout-plan--clock #'float-time
  "Function that returns the time in seconds.")

(defvar passepartout-plan--moved 0
  "When the buffer last changed what point is on.")

(defvar passepartout-plan--brought nil
  "The plan that point was brought to, as another one was decided, or nil.
Nobody has gone there yet: the key that decided the other may be on its
way a second time.")

(defvar passepartout-plan--window-end #'passepartout-plan--drawn-until
  "Function that returns where the display of a window ends.
It returns nil while the window is not drawn as it is now.")

(defvar-local passepartout-plan--ewoc nil
  "The plans in this buffer.")

(defvar-local passepartout-plan--nodes nil
  "The nodes of the plans in this buffer, in a hash table, by id.")

(defvar-local passepartout-plan--timer nil
  "The timer that looks at what is displayed, or nil.")

(defvar-local passepartout-plan--later nil
  "The timer that looks again when a plan may be approved, or nil.")

;;;; Where a plan is

(defun passepartout-plan--node (id)
  "Return the node of the plan ID in the current buffer, or nil."
  (and passepartout-plan--nodes
       (gethash id passepartout-plan--nodes)))

(defun passepartout-plan--start (id)
  "Return where the plan ID begins in the current buffer, or nil."
  (let ((node (passepartout-plan--node id)))
    (and node (marker-position (ewoc-location node)))))

(defun passepartout-plan--node-end (node)
  "Return where NODE ends in the current buffer."
  (let ((next (ewoc-next passepartout-plan--ewoc node)))
    (if next (marker-position (ewoc-location next)) (point-max))))

(defun passepartout-plan--node-at (position)
  "Return the node of the plan at POSITION, or nil."
  (let ((node (and passepartout-plan--ewoc
                   (ewoc-nth passepartout-plan--ewoc 0)))
        (found nil))
    (while (and node (not found))
      (when (and (passepartout-plan--entry-p (ewoc-data node))
                 (<= (ewoc-location node) position)
                 (< position (passepartout-plan--node-end node)))
        (setq found node))
      (setq node (ewoc-next passepartout-plan--ewoc node)))
    found))

(defun passepartout-plan--group-node-at (position)
  "Return the node of the heading of a decision at POSITION, or nil."
  (let ((found nil))
    (when passepartout-plan--nodes
      (maphash (lambda (_id node)
                 (when (and (passepartout-plan--group-p (ewoc-data node))
                            (<= (ewoc-location node) position)
                            (< position (passepartout-plan--node-end node)))
                   (setq found node)))
               passepartout-plan--nodes))
    found))

;;;; What is displayed

(defun passepartout-plan--look ()
  "Note what of the plans is displayed, and fetch what comes next."
  (dolist (window (and passepartout-plan--ewoc
                       (get-buffer-window-list nil nil 'visible)))
    (pcase-let ((`(,from . ,to) (passepartout-plan--displayed window))
                (node (ewoc-nth passepartout-plan--ewoc 0)))
      (while (and from node)
        (let ((entry (ewoc-data node)))
          (when (and (passepartout-plan--entry-p entry)
                     (< (ewoc-location node) (+ to passepartout-plan--ahead))
                     (> (passepartout-plan--node-end node) from))
            (passepartout-plan--note node from to)
            (passepartout-plan--tell node)
            (passepartout-plan--fetch-page entry from to)))
        (setq node (ewoc-next passepartout-plan--ewoc node))))))

(defun passepartout-plan--drawn-until (window)
  "Return where the display of WINDOW ends, or nil while it is not drawn.
It is drawn now when it has to be, unless a key is waiting."
  (unless (window-line-height 0 window) (redisplay))
  (and (window-line-height 0 window)
       (window-end window)))

(defun passepartout-plan--displayed (window)
  "Return what of the current buffer WINDOW displays whole, as (FROM . TO).
Return nil when WINDOW is not drawn as it is now, or cuts lines off."
  (let ((to (funcall passepartout-plan--window-end window))
        (from (window-start window))
        (above (ceiling (window-vscroll window))))
    (when (and to (not (passepartout-plan--cut-p window)))
      (save-excursion
        ;; A line at an edge of which only a part is there is not displayed.
        (when (> above 0)
          (goto-char from)
          (vertical-motion above window)
          (setq from (point)))
        (when (and (< from to)
                   (nthcdr 2 (pos-visible-in-window-p (1- to) window t)))
          (goto-char (1- to))
          (vertical-motion 0 window)
          (setq to (point))))
      (cons from to))))

(defun passepartout-plan--cut-p (window)
  "Return non-nil when WINDOW cuts off lines of the current buffer."
  (or truncate-lines
      selective-display
      (truncated-partial-width-window-p window)
      (> (window-hscroll window) 0)))

(defun passepartout-plan--uncut ()
  "Have the lines of the current buffer displayed whole where they are cut off.
Return nil when that was nowhere."
  (let ((cut (seq-filter #'passepartout-plan--cut-p
                         (get-buffer-window-list nil nil 'visible))))
    (when cut
      (setq-local truncate-lines nil)
      (setq-local selective-display nil)
      (setq-local truncate-partial-width-windows nil)
      (dolist (window cut)
        (set-window-hscroll window 0))
      (setq passepartout-plan--moved (funcall passepartout-plan--clock))
      (passepartout-plan--look-soon)
      t)))

(defun passepartout-plan--drawing (window)
  "Look at what is displayed when WINDOW, which is not drawn now, has been."
  (unless (window-line-height 0 window)
    (passepartout-plan--look-soon)))

(defun passepartout-plan--look-soon (&rest _)
  "Look at what is displayed when Emacs next waits, and has drawn it."
  (let ((buffer (get-buffer passepartout-plan--buffer-name)))
    (when buffer
      (with-current-buffer buffer
        (unless passepartout-plan--timer
          (setq passepartout-plan--timer
                (run-at-time
                 0 nil
                 (lambda ()
                   (when (buffer-live-p buffer)
                     (with-current-buffer buffer
                       (setq passepartout-plan--timer nil)
                       (passepartout-plan--look)))))))))))

(defun passepartout-plan--note (node from to)
  "Note that of NODE what lies between FROM and TO is displayed."
  (let* ((entry (ewoc-data node))
         (start (marker-position (ewoc-location node)))
         ;; The line that says that more will come makes room for it.
         (end (min to (or (and (passepartout-plan--entry-next entry)
                               (passepartout-plan--entry-fill entry))
                          (passepartout-plan--node-end node))))
         (seen (+ start (passepartout-plan--entry-seen entry))))
    (when (< start to)
      (unless (passepartout-plan--entry-since entry)
        (setf (passepartout-plan--entry-since entry)
              (funcall passepartout-plan--clock))))
    (when (and (<= from seen) (< seen end))
      (setf (passepartout-plan--entry-seen entry)
            (- (passepartout-plan--visible-until seen end) start)))))

(defun passepartout-plan--visible-until (from to)
  "Return up to where, between FROM and TO, nothing is hidden."
  (let ((position from) (steps 2000))
    (while (and (< position to) (> steps 0)
                (not (passepartout-plan--covered-p position)))
      (setq steps (1- steps)
            position (min (next-single-char-property-change
                           position 'invisible nil to)
                          (next-single-char-property-change
                           position 'display nil to))))
    position))

(defun passepartout-plan--covered-p (position)
  "Return non-nil when nothing, or something else, is displayed at POSITION."
  (or (invisible-p position)
      (get-char-property position 'display)))

(defun passepartout-plan--seen-p (node)
  "Return non-nil when the plan of NODE has been displayed to its end.
The line that says that this is the end belongs to it."
  (let ((entry (ewoc-data node)))
    (and (passepartout-plan--entry-whole entry)
         (not (passepartout-plan--entry-next entry))
         (>= (+ (ewoc-location node) (passepartout-plan--entry-seen entry))
             (save-excursion
               (goto-char (passepartout-plan--entry-fill entry))
               (line-end-position 2))))))

;;;; When a plan may be approved

(defun passepartout-plan--too-early-p (entry)
  "Return non-nil when the plan of ENTRY has only just appeared."
  (let ((since (passepartout-plan--entry-since entry)))
    (or (not since)
        (< (- (funcall passepartout-plan--clock)
              (max since passepartout-plan--moved))
           passepartout-approval-delay))))

(defun passepartout-plan--tell (node)
  "Tell the core when all of the plan of NODE has been displayed.
Right after it appeared that is not told yet, but a little later."
  (let ((entry (ewoc-data node)))
    (when (and (not (passepartout-plan--entry-told entry))
               (passepartout-plan--pending-p (passepartout-plan--entry-plan
                                              entry))
               (passepartout-plan--seen-p node))
      (if (passepartout-plan--too-early-p entry)
          (passepartout-plan--look-later)
        (passepartout-plan--tell-displayed entry)))))

(defun passepartout-plan--tell-displayed (entry)
  "Tell the core, once, that all of the plan of ENTRY has been displayed."
  (when (and (not (passepartout-plan--entry-told entry))
             (passepartout-running-p))
    (let ((plan (passepartout-plan--entry-plan entry)))
      (passepartout-send-event
       :plan-displayed
       `(:plan ,(plist-get plan :id)
         :shown ,(passepartout-plan--entry-whole entry))
       (plist-get plan :session)))
    (setf (passepartout-plan--entry-told entry) t)))

(defun passepartout-plan--look-later ()
  "Look at what is displayed when the plans may be approved."
  (unless passepartout-plan--later
    (let ((buffer (current-buffer)))
      (setq passepartout-plan--later
            (run-at-time
             (+ passepartout-approval-delay 0.05) nil
             (lambda ()
               (when (buffer-live-p buffer)
                 (with-current-buffer buffer
                   (setq passepartout-plan--later nil)
                   (passepartout-plan--look)))))))))

;;;; Going on

(defun passepartout-plan--hidden-p (node)
  "Return non-nil when NODE is folded or narrowed away, in part."
  (let* ((start (marker-position (ewoc-location node)))
         (entry (ewoc-data node))
         (fill (marker-position (passepartout-plan--entry-fill entry))))
    (or (< start (point-min)) (> fill (point-max))
        (seq-some #'passepartout-plan--covered-p
                  (list start
                        (save-excursion (goto-char start)
                                        (line-end-position))
                        (min fill (+ start (passepartout-plan--entry-seen
                                            entry)))
                        (1- fill) fill)))))

(defun passepartout-plan--read-on (node)
  "Go to the first part of the plan of NODE that was not displayed yet."
  (let* ((start (marker-position (ewoc-location node)))
         (entry (ewoc-data node))
         (window (get-buffer-window nil 'visible)))
    (goto-char (min (+ start (passepartout-plan--entry-seen entry))
                    (passepartout-plan--entry-fill entry)))
    (forward-line 0)
    (when window
      (set-window-point window (point))
      ;; Two lines of what was seen stay above, so that no line is lost.
      (set-window-start window (save-excursion
                                 (forward-line -2)
                                 (max start (point)))))
    (setq passepartout-plan--moved (funcall passepartout-plan--clock))
    (passepartout-plan--look-soon)))

;;;; Pages

(defun passepartout-plan--fetch-page (entry from to)
  "Fetch the next page of ENTRY when its place is near a window.
The window displays what lies between FROM and TO."
  (let ((next (passepartout-plan--entry-next entry))
        (fill (passepartout-plan--entry-fill entry)))
    (when (and next fill
               (not (passepartout-plan--entry-asked entry))
               (<= from fill (+ to passepartout-plan--ahead))
               (passepartout-running-p))
      (setf (passepartout-plan--entry-asked entry) t)
      (let ((buffer (current-buffer))
            (plan (passepartout-plan--entry-plan entry)))
        (passepartout-request
         :plan-page `(:plan ,(plist-get plan :id) :from ,next)
         (lambda (page)
           (when (buffer-live-p buffer)
             (with-current-buffer buffer
               (passepartout-plan--take-page entry page)))))))))

(defun passepartout-plan--take-page (entry page)
  "Insert PAGE, which was asked for, below what is there of ENTRY."
  (setf (passepartout-plan--entry-asked entry) nil)
  (let* ((plan (passepartout-plan--entry-plan entry))
         (node (passepartout-plan--node (plist-get plan :id)))
         (problem (plist-get page :error)))
    (cond
     ;; It was decided or drawn anew meanwhile.
     ((not (and node (eq entry (ewoc-data node)))))
     (problem
      (message "The plan cannot be shown: %s" (passepartout-view-line problem)))
     ((eql (plist-get page :from) (passepartout-plan--entry-next entry))
      (let ((inhibit-read-only t))
        (save-restriction
          (widen)
          (passepartout-plan--insert-page entry page))
        (set-buffer-modified-p nil))
      (passepartout-plan--look-soon)))))

(provide 'passepartout-plan-read)
;;; passepartout-plan-read.el ends here
