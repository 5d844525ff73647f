;;; passepartout-plan.el --- Approve or deny what the agent wants to do  -*- lexical-binding: t; -*-

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

;; What the gates ask about becomes a heading in this buffer.  The core
;; renders what would happen; the text is shown as it stands and never
;; read back: an approval carries the name of the plan and the hash of
;; what was shown here, nothing else.
;;
;; \\`C-c C-c' approves, \\`C-c C-k' denies, \\`C-c C-e' edits, and no
;; other key decides anything.  The buffer never appears by itself.  A
;; plan cannot be approved in the second after it first appeared, or
;; after this buffer moved under your hands, or while a part of it is
;; folded away.

;;; Code:

(require 'cl-lib)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(require 'passepartout-plan-draw)
(eval-when-compile (require 'subr-x))

(declare-function passepartout-chat--find-buffer "passepartout-chat-answer"
                  (session))
(declare-function passepartout-plan-edit "passepartout-plan-edit" ())
(autoload 'passepartout-plan-edit "passepartout-plan-edit" nil t)

(defconst passepartout-plan--buffer-name "*Passepartout flight plans*"
  "The name of the buffer of flight plans.")

(defvar passepartout-plan--clock #'float-time
  "Function that returns the time in seconds.")

(defvar passepartout-plan--seen (make-hash-table :test #'equal)
  "When each plan was first displayed, by (ID . HASH).")

(defvar passepartout-plan--moved 0
  "When the buffer last changed what point is on.")

;;;; What arrives

(defun passepartout-plan--received (payload _meta)
  "Remember the plan in PAYLOAD and bring the buffer up to date."
  (let ((plan (plist-get payload :plan)))
    (when plan
      (let ((new (not (passepartout-plan--find (plist-get plan :id)))))
        (passepartout-plan--store plan)
        (passepartout-plan--redraw)
        (run-hooks 'passepartout-plan-changed-hook)
        (when (and new (passepartout-plan--pending-p plan)
                   (not (active-minibuffer-window)))
          (message "A flight plan waits: %s  (M-x passepartout-flight-plans)"
                   (passepartout-view-line (plist-get plan :title) 60)))))))

(defvar passepartout-plan-changed-hook nil
  "Functions called, without arguments, when the known plans have changed.")

(defun passepartout-plan--fetch (all)
  "Ask the core for the plans that wait, or for ALL of the last days."
  (passepartout-request
   :plans `(:all ,all)
   (lambda (payload)
     (dolist (plan (plist-get payload :plans))
       (passepartout-plan--store plan))
     (passepartout-plan--redraw)
     (run-hooks 'passepartout-plan-changed-hook))))

;;;; Drawing anew

(defun passepartout-plan--draw ()
  "Draw the plans in the current buffer."
  (let ((waiting (passepartout-plan-pending))
        (decided (seq-remove #'passepartout-plan--pending-p
                             passepartout-plan--plans)))
    (insert "#+TITLE: Flight plans\n#+TODO: PLAN | "
            (string-join passepartout-plan--keywords " ") "\n\n")
    (insert (pcase (length waiting)
              (0 "No plan waits for you.\n")
              (1 "One plan waits for you.\n")
              (count (format "%d plans wait for you.\n" count)))
            (substitute-command-keys
             "\\<passepartout-plan-mode-map>\\[passepartout-plan-approve] \
approves, \\[passepartout-plan-deny] denies, \\[passepartout-plan-edit] \
edits, \\[passepartout-view-refresh] asks again, \\[quit-window] leaves.\n\n"))
    (mapc #'passepartout-plan--insert waiting)
    (when decided
      (insert (propertize "Decided\n\n" 'face 'passepartout-quiet))
      (mapc #'passepartout-plan--insert (reverse decided)))))

(defun passepartout-plan--redraw ()
  "Draw the buffer of plans anew when there is one."
  (let ((buffer (get-buffer passepartout-plan--buffer-name)))
    (when buffer
      (with-current-buffer buffer
        (let* ((windows (get-buffer-window-list nil nil t))
               (places (cons (passepartout-plan--place (point))
                             (mapcar (lambda (window)
                                       (list window
                                             (passepartout-plan--place
                                              (window-point window))
                                             (passepartout-plan--place
                                              (window-start window))))
                                     windows)))
               (inhibit-read-only t))
          (erase-buffer)
          (passepartout-plan--draw)
          (set-buffer-modified-p nil)
          (passepartout-plan--put-back (car places) #'goto-char)
          (pcase-dolist (`(,window ,point ,start) (cdr places))
            (passepartout-plan--put-back
             start (lambda (position)
                     (set-window-start window position t)))
            (passepartout-plan--put-back
             point (lambda (position)
                     (set-window-point window position))))
          (passepartout-plan--note-seen))))))

(defun passepartout-plan--place (position)
  "Return where POSITION is: the plan there and how far into it."
  (let ((id (get-text-property position 'passepartout-plan)))
    (if id
        (list id
              (get-text-property position 'passepartout-plan-shown)
              (- position (passepartout-plan--start id))
              (get-text-property position 'passepartout-plan-waits))
      (list nil nil position nil))))

(defun passepartout-plan--start (id)
  "Return where the plan ID begins in the current buffer, or nil."
  (let ((position (point-min)))
    (while (and position
                (not (equal id (get-text-property position
                                                  'passepartout-plan))))
      (setq position (next-single-property-change position
                                                  'passepartout-plan)))
    position))

(defun passepartout-plan--put-back (place function)
  "Call FUNCTION with the position of PLACE in the buffer as it is now.
From a plan that no longer waits it goes to the first that does.  When
another plan is there now, approving has to wait."
  (pcase-let* ((`(,id ,shown ,offset ,waited) place)
               (start (and id (passepartout-plan--start id)))
               (gone (and id
                          (or (not start)
                              (and waited
                                   (not (get-text-property
                                         start 'passepartout-plan-waits))))))
               (position
                (cond (gone (or (text-property-any (point-min) (point-max)
                                                   'passepartout-plan-waits t)
                                (point-min)))
                      (start (min (point-max) (+ start offset)))
                      (t (min (point-max) (max (point-min) offset))))))
    (unless (and (equal id (get-text-property position 'passepartout-plan))
                 (equal shown (get-text-property position
                                                 'passepartout-plan-shown)))
      (setq passepartout-plan--moved (funcall passepartout-plan--clock)))
    (funcall function position)))

;;;; When a plan may be approved

(defun passepartout-plan--note-seen (&rest _)
  "Note that the plans in the current buffer are displayed, if it is shown."
  (when (get-buffer-window (current-buffer) t)
    (let ((position (point-min)))
      (while (< position (point-max))
        (let ((id (get-text-property position 'passepartout-plan)))
          (when id
            (let ((key (cons id (get-text-property
                                 position 'passepartout-plan-shown))))
              (unless (gethash key passepartout-plan--seen)
                (puthash key (funcall passepartout-plan--clock)
                         passepartout-plan--seen)))))
        (setq position (or (next-single-property-change
                            position 'passepartout-plan)
                           (point-max)))))))

(defun passepartout-plan--window-changed (_window)
  "Note that the plans are displayed in another window."
  (with-current-buffer (get-buffer-create passepartout-plan--buffer-name)
    (passepartout-plan--note-seen)))

(defun passepartout-plan--too-early-p (id shown)
  "Return non-nil when the plan ID, displayed with SHOWN, is too new."
  (let ((since (gethash (cons id shown) passepartout-plan--seen)))
    (or (not since)
        (< (- (funcall passepartout-plan--clock)
              (max since passepartout-plan--moved))
           passepartout-approval-delay))))

(defun passepartout-plan--folded-p (id)
  "Unfold the plan ID when a part of it is hidden; return whether it was."
  (let* ((start (passepartout-plan--start id))
         (end (or (next-single-property-change start 'passepartout-plan)
                  (point-max)))
         (hidden (or (< start (point-min)) (> end (point-max))))
         (position start))
    (while (and (not hidden) (< position end))
      (when (invisible-p position) (setq hidden t))
      (setq position (next-single-char-property-change
                      position 'invisible nil end)))
    (when hidden
      (widen)
      (if (fboundp 'org-fold-show-all)
          (org-fold-show-all)
        (with-no-warnings (org-show-all)))
      (goto-char start))
    hidden))

;;;; Commands

(defun passepartout-plan--at-point ()
  "Return the plan at point, which must wait."
  (let* ((id (or (get-text-property (point) 'passepartout-plan)
                 (user-error "Put point on a plan first")))
         (plan (passepartout-plan--find id)))
    (unless (and plan (passepartout-plan--pending-p plan))
      (user-error "This plan no longer waits: it is %s"
                  (or (plist-get plan :status) "gone")))
    plan))

(defun passepartout-plan-approve ()
  "Approve the plan at point, exactly as it is shown, once."
  (interactive)
  (let* ((plan (passepartout-plan--at-point))
         (id (plist-get plan :id))
         (shown (get-text-property (point) 'passepartout-plan-shown)))
    (passepartout-plan--note-seen)
    (cond
     ((not (and (stringp shown) (equal shown (plist-get plan :shown))))
      (passepartout-plan--redraw)
      (user-error "The plan has changed; look at it again"))
     ((passepartout-plan--folded-p id)
      (setq passepartout-plan--moved (funcall passepartout-plan--clock))
      (user-error "A part of the plan was hidden; look at it, then approve"))
     ((passepartout-plan--too-early-p id shown)
      (message "The plan has only just appeared; read it, then approve"))
     (t
      (passepartout-send-event :approval `(:plan ,id :shown ,shown)
                               (plist-get plan :session))
      (passepartout-plan--decided id "approved")
      (message "Approved: %s"
               (passepartout-view-line (plist-get plan :title) 60))))))

(defun passepartout-plan-deny (reason)
  "Deny the plan at point; the agent is told the REASON."
  (interactive
   (progn (passepartout-plan--at-point)
          (list (read-string "Deny, because (may be empty): "))))
  (let* ((plan (passepartout-plan--at-point))
         (id (plist-get plan :id)))
    (passepartout-send-event :denial `(:plan ,id :reason ,reason)
                             (plist-get plan :session))
    (passepartout-plan--decided id "denied")
    (message "Denied")))

(defun passepartout-plan--decided (id status)
  "Show the plan ID with STATUS until the core has news of it."
  (passepartout-plan--store
   (plist-put (copy-sequence (passepartout-plan--find id)) :status status))
  (setq passepartout-plan--moved (funcall passepartout-plan--clock))
  (passepartout-plan--redraw)
  (run-hooks 'passepartout-plan-changed-hook))

(defun passepartout-plan-return ()
  "Approve nothing; push the button or fold the heading at point."
  (interactive)
  (cond ((button-at (point)) (push-button))
        (t (message "%s" (substitute-command-keys
                          "\\<passepartout-plan-mode-map>RET decides nothing; \
\\[passepartout-plan-approve] approves")))))

(defun passepartout-plan-chat ()
  "Go to the chat that the plan at point belongs to."
  (interactive)
  (require 'passepartout-chat)
  (let* ((plan (passepartout-plan--find
                (get-text-property (point) 'passepartout-plan)))
         (session (plist-get plan :session))
         (buffer (passepartout-chat--find-buffer session)))
    (if buffer
        (pop-to-buffer buffer)
      (user-error "The chat of this plan is not open"))))

(defun passepartout-plan-visit (id)
  "Show the buffer of plans with point on the plan ID."
  (passepartout-flight-plans)
  (let ((start (passepartout-plan--start id)))
    (if start
        (goto-char start)
      (message "Plan %s is not known any more" id))))

;;;###autoload
(defun passepartout-flight-plans ()
  "Show the plans that wait for you."
  (interactive)
  (passepartout-start)
  (let ((buffer (passepartout-view-buffer passepartout-plan--buffer-name
                                          'passepartout-plan-mode)))
    (setq passepartout-plan--moved (funcall passepartout-plan--clock))
    (pop-to-buffer buffer)
    (passepartout-plan--redraw)
    (let ((first (and (= (point) (point-min))
                      (text-property-not-all (point-min) (point-max)
                                             'passepartout-plan nil))))
      (when first (goto-char first)))
    (passepartout-plan--fetch t)))

;;;; The mode

(defvar passepartout-plan-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map passepartout-view-mode-map)
    (define-key map (kbd "C-c C-c") #'passepartout-plan-approve)
    (define-key map (kbd "C-c C-k") #'passepartout-plan-deny)
    (define-key map (kbd "C-c C-e") #'passepartout-plan-edit)
    (define-key map (kbd "RET") #'passepartout-plan-return)
    (define-key map (kbd "c") #'passepartout-plan-chat)
    map)
  "Keys of the buffer of flight plans.")

(define-derived-mode passepartout-plan-mode passepartout-view-mode "Plans"
  "Major mode of the buffer of flight plans."
  (setq-local word-wrap nil)
  (setq passepartout-view--refresh
        (lambda () (passepartout-plan--fetch t)))
  (add-hook 'window-buffer-change-functions
            #'passepartout-plan--window-changed nil t))

(passepartout-subscribe :event :plan-parked #'passepartout-plan--received)
(passepartout-subscribe :event :plan-changed #'passepartout-plan--received)
(add-hook 'passepartout-start-hook
          (defun passepartout-plan--started ()
            "Ask a core that has just started for the plans that wait."
            (setq passepartout-plan--plans nil)
            (passepartout-plan--fetch nil)))

(provide 'passepartout-plan)
;;; passepartout-plan.el ends here
