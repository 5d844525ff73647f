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
;; \\`C-c C-c' approves, \\`C-c C-k' denies so that the agent may try
;; otherwise, \\`C-c C-s' denies and stops it, \\`C-c C-e' edits, and no
;; other key decides anything.  What an answer wants beside each other is
;; one decision: a heading with a checklist, and each step below it.  The buffer never appears by itself.  A
;; plan cannot be approved before its end has been displayed, in the
;; second after it first appeared, after this buffer moved under your
;; hands, or while a part of it is folded away.  To one that point was
;; brought to, as the one before was decided, the key has to come twice.

;;; Code:

(require 'cl-lib)
(require 'ewoc)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(require 'passepartout-plan-draw)
(require 'passepartout-plan-read)
(eval-when-compile (require 'subr-x))

(declare-function outline-next-visible-heading "outline" (arg))
(declare-function passepartout-chat--find-buffer "passepartout-chat-answer"
                  (session))
(declare-function passepartout-plan-edit "passepartout-plan-edit" ())
(autoload 'passepartout-plan-edit "passepartout-plan-edit" nil t)
(autoload 'passepartout-plan-diff "passepartout-plan-diff" nil t)
(autoload 'passepartout-plan-ediff "passepartout-plan-diff" nil t)

;;;; What arrives

(defun passepartout-plan--received (payload _meta)
  "Remember the plan in PAYLOAD and bring the buffer up to date."
  (let ((plan (plist-get payload :plan)))
    (when plan
      (let* ((known (passepartout-plan--find (plist-get plan :id)))
             (before (plist-get known :status)))
        (passepartout-plan--store plan)
        (passepartout-plan--redraw)
        (run-hooks 'passepartout-plan-changed-hook)
        (unless (active-minibuffer-window)
          (passepartout-plan--tell-news plan before))))))

(defun passepartout-plan--tell-news (plan before)
  "Say that PLAN waits, or what came of it; its status was BEFORE, or nil."
  (let* ((status (plist-get plan :status))
         (what (cond ((equal status before) nil)
                     ((passepartout-plan--pending-p plan)
                      (and (not before) "A flight plan waits: %s  \
(M-x passepartout-flight-plans)"))
                     ((not before) nil)
                     ((equal status "done") "Carried out: %s")
                     ((equal status "stale") "Out of date, not carried out: %s")
                     ((equal status "failed") "Failed: %s  \
(M-x passepartout-gate-trace)"))))
    (when what
      (message what (passepartout-view-line (plist-get plan :title) 60)))))

(defvar passepartout-plan-changed-hook nil
  "Functions called, without arguments, when the known plans have changed.")

(defun passepartout-plan--fetch (all)
  "Ask the core for the plans that wait, or for ALL of the last days."
  (passepartout-request
   :plans `(:all ,all)
   (lambda (payload)
     (setq passepartout-plan--untold (plist-get payload :error))
     (let ((full (passepartout-plan--forget-old)))
       (dolist (plan (plist-get payload :plans))
         ;; One that was forgotten is not new because it is told again.
         (unless (and full
                      (passepartout-plan--settled-p plan)
                      (not (passepartout-plan--find (plist-get plan :id))))
           (passepartout-plan--store plan))))
     (passepartout-plan--redraw)
     (run-hooks 'passepartout-plan-changed-hook))))

;;;; Drawing

(defun passepartout-plan--redraw ()
  "Bring the buffer of plans up to date when there is one.
Only the plans that changed are drawn; the others stay as they are."
  (let ((full (passepartout-plan--forget-old))
        (buffer (get-buffer passepartout-plan--buffer-name)))
    (when buffer
      (with-current-buffer buffer
        (let ((inhibit-read-only t)
              (places (passepartout-plan--places)))
          (save-restriction
            (widen)
            (passepartout-plan--update full))
          (set-buffer-modified-p nil)
          (mapc #'passepartout-plan--put-back places))
        (passepartout-plan--look-soon)))))

(defun passepartout-plan--update (full)
  "Add, remove and move the plans of the current buffer as they are known.
FULL is non-nil when older ones may have been left out."
  (unless passepartout-plan--ewoc
    (erase-buffer)
    (setq passepartout-plan--nodes (make-hash-table :test #'equal)
          passepartout-plan--ewoc (ewoc-create #'passepartout-plan--print
                                               "" "" t)))
  (let ((header (passepartout-plan--header))
        (footer (passepartout-plan--footer full)))
    (unless (equal (cons header footer) (ewoc-get-hf passepartout-plan--ewoc))
      (ewoc-set-hf passepartout-plan--ewoc header footer)))
  (maphash (lambda (id node)
             (unless (passepartout-plan--drawn-p (ewoc-data node)
                                                 (and (stringp id)
                                                      (passepartout-plan--find
                                                       id)))
               (passepartout-plan--draw-anew id node)))
           passepartout-plan--nodes)
  (let ((label (passepartout-plan--node 'decided)))
    (dolist (plan (passepartout-plan--known))
      (unless (passepartout-plan--node (plist-get plan :id))
        (let* ((pending (passepartout-plan--pending-p plan))
               (entry (passepartout-plan--entry-create
                       :plan plan
                       :level (if (passepartout-plan--grouped-p plan) 2 1))))
          (unless (or label pending)
            (setq label (ewoc-enter-last passepartout-plan--ewoc 'decided))
            (puthash 'decided label passepartout-plan--nodes))
          (puthash (plist-get plan :id)
                   (if pending
                       (passepartout-plan--enter-pending plan entry label)
                     (ewoc-enter-after passepartout-plan--ewoc label entry))
                   passepartout-plan--nodes))))
    (when (and label (not (ewoc-next passepartout-plan--ewoc label)))
      (passepartout-plan--remove 'decided label))))

(defun passepartout-plan--enter-pending (plan entry label)
  "Insert ENTRY, that of PLAN, which waits, above LABEL when that is there.
A step stands behind those before it; above the first stands the heading
of their decision."
  (let* ((key (and (> (passepartout-plan--entry-level entry) 1)
                   (passepartout-plan--key plan)))
         (behind (or (passepartout-plan--node-behind plan) label))
         (head (and key (passepartout-plan--enter-group key behind)))
         (before (and head (passepartout-plan--step-before plan head))))
    (cond (before (ewoc-enter-after passepartout-plan--ewoc before entry))
          (behind (ewoc-enter-before passepartout-plan--ewoc behind entry))
          (t (ewoc-enter-last passepartout-plan--ewoc entry)))))

(defun passepartout-plan--node-behind (plan)
  "Return the node of what waits behind PLAN and is there already, or nil.
A step of a decision that has ended but for it keeps its place so."
  (let* ((waiting (passepartout-plan-pending))
         (rest (cdr (memq plan waiting)))
         ;; A decision stands where its first step came.
         (keys (mapcar #'passepartout-plan--key
                       (butlast waiting (length rest))))
         (node nil))
    (while (and rest (not node))
      (let* ((next (pop rest))
             (key (passepartout-plan--key next)))
        (unless (and key (member key keys))
          (setq node (or (passepartout-plan--node key)
                         (passepartout-plan--node (plist-get next :id)))))))
    node))

(defun passepartout-plan--enter-group (key label)
  "Return the node of the heading of the decision KEY.
When there is none yet it comes above LABEL, or last without one."
  (or (passepartout-plan--node key)
      (let ((group (passepartout-plan--group-create
                    :key key :steps (passepartout-plan--checklist key))))
        ;; What stands below point may be another thing now.
        (setq passepartout-plan--moved (funcall passepartout-plan--clock))
        (puthash key
                 (if label
                     (ewoc-enter-before passepartout-plan--ewoc label group)
                   (ewoc-enter-last passepartout-plan--ewoc group))
                 passepartout-plan--nodes))))

(defun passepartout-plan--step-before (plan head)
  "Return the node behind which the step PLAN goes; HEAD is its decision's."
  (let ((key (passepartout-plan--key plan))
        (before head)
        (node (ewoc-next passepartout-plan--ewoc head)))
    (while (and node
                (passepartout-plan--entry-p (ewoc-data node))
                (let ((other (passepartout-plan--entry-plan (ewoc-data node))))
                  (and (equal key (passepartout-plan--key other))
                       (< (plist-get other :step) (plist-get plan :step)))))
      (setq before node
            node (ewoc-next passepartout-plan--ewoc node)))
    before))

(defun passepartout-plan--draw-anew (id node)
  "Take NODE, of ID, out of the current buffer, where it is drawn anew.
The heading of a decision of which several steps are left stays there."
  (let* ((item (ewoc-data node))
         (group (passepartout-plan--group-p item))
         (steps (and group (passepartout-plan--checklist
                            (passepartout-plan--group-key item)))))
    (when group
      (setq passepartout-plan--moved (funcall passepartout-plan--clock)))
    (if (cdr steps)
        (let ((at (and (equal node (passepartout-plan--group-node-at (point)))
                       (- (point) (ewoc-location node)))))
          (setf (passepartout-plan--group-steps item) steps)
          (ewoc-invalidate passepartout-plan--ewoc node)
          (when at
            (goto-char (+ (ewoc-location node) at))))
      (passepartout-plan--remove id node))))

(defun passepartout-plan--remove (id node)
  "Take NODE, of the plan or decision ID, out of the current buffer."
  (ewoc-delete passepartout-plan--ewoc node)
  (remhash id passepartout-plan--nodes))

(defun passepartout-plan--drawn-p (item plan)
  "Return non-nil when ITEM, the data of a node, is PLAN as it stands.
Of the heading of a decision, PLAN is of no account."
  (cond
   ((eq item 'decided))
   ((passepartout-plan--group-p item)
    (let ((steps (passepartout-plan--checklist
                  (passepartout-plan--group-key item))))
      (and (cdr steps)
           (equal steps (passepartout-plan--group-steps item)))))
   (t
    (let ((drawn (passepartout-plan--entry-plan item)))
      (and plan
           (eq (> (passepartout-plan--entry-level item) 1)
               (and (passepartout-plan--grouped-p plan) t))
           (seq-every-p (lambda (key)
                          (equal (plist-get drawn key)
                                 (plist-get plan key)))
                        '(:status :shown :title :result :differs)))))))

(defun passepartout-plan--places ()
  "Return what point and the windows of the current buffer are on.
Each is a list of a window or nil, and the plan there that waits."
  (let ((plan (lambda (position)
                (let* ((node (passepartout-plan--node-at position))
                       (plan (and node (passepartout-plan--entry-plan
                                        (ewoc-data node)))))
                  (and plan (passepartout-plan--pending-p plan) plan)))))
    (cons (list nil (funcall plan (point)))
          (mapcar (lambda (window)
                    (list window (funcall plan (window-point window))))
                  (get-buffer-window-list nil nil t)))))

(defun passepartout-plan--put-back (place)
  "Go from the plan of PLACE, when it waits no longer, to one that does.
Approving has to wait then, as it has when the plan is another one."
  (pcase-let* ((`(,window ,plan) place)
               (now (passepartout-plan--find (plist-get plan :id)))
               (gone (and plan
                          (not (and now (passepartout-plan--pending-p now))))))
    (when (and plan
               (or gone (not (equal (plist-get plan :shown)
                                    (plist-get now :shown)))))
      (setq passepartout-plan--moved (funcall passepartout-plan--clock)))
    (when gone
      (let* ((next (car (passepartout-plan-pending)))
             (at (or (and next (passepartout-plan--start (plist-get next :id)))
                     (point-min))))
        (setq passepartout-plan--brought (plist-get next :id))
        (passepartout-plan--go-to at window)))))

(defun passepartout-plan--go-to (position window)
  "Go to POSITION, where a plan begins, in WINDOW when that is not nil.
All that fits of the plan is then in view."
  (goto-char position)
  (when window
    (set-window-point window position)
    (set-window-start window
                      (if (or (bobp)
                              (equal position
                                     (ewoc-location
                                      (ewoc-nth passepartout-plan--ewoc 0))))
                          (point-min)
                        position))))

(defun passepartout-plan--here ()
  "Note that the user does something else here than to approve.
What point is on is theirs then, and no key that is left over."
  (unless (eq this-command #'passepartout-plan-approve)
    (setq passepartout-plan--brought nil)))

;;;; Commands

(defun passepartout-plan-id-at-point ()
  "Return the name of the plan that point is on, or nil."
  (let ((node (and (equal (buffer-name) passepartout-plan--buffer-name)
                   (passepartout-plan--node-at (point)))))
    (and node
         (plist-get (passepartout-plan--entry-plan (ewoc-data node)) :id))))

(defun passepartout-plan--at-point ()
  "Return the node of the plan at point, which must wait."
  (let* ((node (or (passepartout-plan--node-at (point))
                   (user-error "Put point on a plan first")))
         (id (plist-get (passepartout-plan--entry-plan (ewoc-data node)) :id))
         (plan (passepartout-plan--find id)))
    (unless (and plan (passepartout-plan--pending-p plan))
      (user-error "This plan no longer waits: it is %s"
                  (or (plist-get plan :status) "gone")))
    node))

(defun passepartout-plan--chosen (&optional all)
  "Return the nodes of the plans that a key at point is about.
On the heading of a decision these are its checked steps, or ALL."
  (let ((head (passepartout-plan--group-node-at (point))))
    (if (not head)
        (list (passepartout-plan--at-point))
      (let ((ids (mapcar #'car
                         (seq-filter (lambda (step) (or all (cdr step)))
                                     (passepartout-plan--group-steps
                                      (ewoc-data head))))))
        (or (delq nil (mapcar #'passepartout-plan--node ids))
            (user-error "No step is checked"))))))

(defun passepartout-plan-approve ()
  "Approve the plan at point, exactly as it is shown, once.
On the heading of a decision approve its checked steps.  While a part of
what is approved has not been displayed yet, go there instead."
  (interactive)
  (let ((nodes (passepartout-plan--chosen)))
    (unless (seq-some #'passepartout-plan--not-yet nodes)
      (let* ((entries (mapcar #'ewoc-data nodes))
             (plans (mapcar #'passepartout-plan--entry-plan entries))
             (steps (cl-mapcar (lambda (plan entry)
                                 `(:plan ,(plist-get plan :id)
                                   :shown ,(passepartout-plan--entry-whole
                                            entry)))
                               plans entries)))
        (mapc #'passepartout-plan--tell-displayed entries)
        (passepartout-send-event
         :approval (if (cdr steps) `(:steps ,steps) (car steps))
         (plist-get (car plans) :session))
        (passepartout-plan--decided (mapcar (lambda (plan)
                                              (plist-get plan :id))
                                            plans)
                                    "approved")
        (message "Approved, and under way: %s"
                 (if (cdr plans)
                     (format "%d steps" (length plans))
                   (passepartout-view-line (plist-get (car plans) :title)
                                           60)))))))

(defun passepartout-plan--not-yet (node)
  "Return nil when the plan of NODE may be approved.
Else signal why not, or go where it has to be looked at, say so and
return non-nil."
  (let* ((entry (ewoc-data node))
         (plan (passepartout-plan--entry-plan entry))
         (id (plist-get plan :id))
         (shown (plist-get plan :shown))
         (whole (passepartout-plan--entry-whole entry)))
    (cond
     ((not (and (stringp shown)
                (equal shown (plist-get (passepartout-plan--find id) :shown))
                (member whole (list nil shown))))
      (passepartout-plan--redraw)
      (user-error "The plan has changed; look at it again"))
     ((passepartout-plan--hidden-p node)
      (widen)
      (if (fboundp 'org-fold-show-all)
          (org-fold-show-all)
        (with-no-warnings (org-show-all)))
      (goto-char (ewoc-location node))
      (setq passepartout-plan--moved (funcall passepartout-plan--clock))
      (passepartout-plan--look-soon)
      (user-error "A part of the plan was hidden; look at it, then approve"))
     ((and (not (passepartout-plan--seen-p node)) (passepartout-plan--uncut))
      (user-error "Lines were cut off; look at the plan, then approve"))
     ((and (passepartout-plan--too-early-p entry)
           ;; A step further down was not displayed at all yet.
           (or (passepartout-plan--entry-since entry)
               (= (passepartout-plan--entry-level entry) 1)))
      (passepartout-plan--look-soon)
      (message "The plan has only just appeared; read it, then approve")
      t)
     ((equal id passepartout-plan--brought)
      (setq passepartout-plan--brought nil
            passepartout-plan--moved (funcall passepartout-plan--clock))
      (message "This is the next plan: %s; %s"
               (passepartout-view-line (plist-get plan :title) 60)
               (substitute-command-keys
                "\\<passepartout-plan-mode-map>\\[passepartout-plan-approve] \
again approves it"))
      t)
     ((not (passepartout-plan--seen-p node))
      (passepartout-plan--read-on node)
      (message "%s" (substitute-command-keys "There is more of this plan \
below; \\<passepartout-plan-mode-map>\\[passepartout-plan-approve] again \
at its end approves"))
      t))))

(defun passepartout-plan-toggle-step ()
  "Check or uncheck the step at point: what an approval of all is about."
  (interactive)
  (let* ((id (or (get-text-property (point) 'passepartout-step)
                 (let ((node (passepartout-plan--node-at (point))))
                   (and node
                        (> (passepartout-plan--entry-level (ewoc-data node)) 1)
                        (plist-get (passepartout-plan--entry-plan
                                    (ewoc-data node))
                                   :id)))
                 (user-error "There is no step of several here"))))
    (setq passepartout-plan--unchecked
          (if (member id passepartout-plan--unchecked)
              (delete id passepartout-plan--unchecked)
            (cons id passepartout-plan--unchecked)))
    (passepartout-plan--redraw)
    (message "Step %s is %s" id
             (if (member id passepartout-plan--unchecked)
                 "left out" "checked"))))

(defvar passepartout-plan-reason-history nil
  "The reasons for which plans were denied.")

(defun passepartout-plan--ask-why (what)
  "Ask why the plans at point are denied; WHAT names that.
Return the reason and their ids."
  (let* ((plans (mapcar (lambda (node)
                          (passepartout-plan--entry-plan (ewoc-data node)))
                        (passepartout-plan--chosen t)))
         (name (if (cdr plans)
                   (format "%d steps" (length plans))
                 (format "“%s”" (passepartout-view-line
                                 (plist-get (car plans) :title) 40)))))
    (list (read-string (format "%s %s, because (may be empty): " what name)
                       nil 'passepartout-plan-reason-history)
          (mapcar (lambda (plan) (plist-get plan :id)) plans))))

(defun passepartout-plan-deny (reason &optional ids)
  "Deny the plans IDS, or the one at point; the agent is told the REASON.
It may try otherwise then.  On the heading of a decision all its steps
are denied.  While the reason is typed another plan may come under
point: the one that the question was about is denied, or none."
  (interactive (passepartout-plan--ask-why "Deny"))
  (passepartout-plan--say-no reason ids nil)
  (message "Denied"))

(defun passepartout-plan-deny-and-stop (reason &optional ids)
  "Deny the plans IDS, or the one at point, with REASON, and stop there.
The agent is not asked again, and what waits beside them is denied too."
  (interactive (passepartout-plan--ask-why "Deny and stop"))
  (passepartout-plan--say-no reason ids t)
  (message "Denied, and stopped there"))

(defun passepartout-plan--say-no (reason ids stop)
  "Deny the plans IDS, or the one at point, with REASON.
Non-nil STOP ends the turn that wanted them."
  (let* ((ids (or ids
                  (mapcar (lambda (node)
                            (plist-get (passepartout-plan--entry-plan
                                        (ewoc-data node))
                                       :id))
                          (passepartout-plan--chosen t))))
         (plans (mapcar #'passepartout-plan--find ids)))
    (dolist (plan plans)
      (unless (and plan (passepartout-plan--pending-p plan))
        (user-error "That plan no longer waits, it is %s; nothing was denied"
                    (or (plist-get plan :status) "gone"))))
    (passepartout-send-event
     :denial (append (if (cdr ids)
                         `(:steps ,(mapcar (lambda (id) `(:plan ,id)) ids))
                       `(:plan ,(car ids)))
                     `(:reason ,reason)
                     (and stop '(:stop t)))
     (plist-get (car plans) :session))
    (passepartout-plan--decided ids "denied")))

(defun passepartout-plan--decided (ids status)
  "Show the plans IDS with STATUS until the core has news of them."
  (dolist (id ids)
    (setq passepartout-plan--unchecked
          (delete id passepartout-plan--unchecked))
    (passepartout-plan--store
     (plist-put (copy-sequence (passepartout-plan--find id)) :status status)))
  (setq passepartout-plan--moved (funcall passepartout-plan--clock))
  (passepartout-plan--redraw)
  (run-hooks 'passepartout-plan-changed-hook))

(defvar passepartout-plan--tokens nil
  "The hashes of the tokens that were shown lately, the newest first.
A token itself is kept nowhere.")

(defun passepartout-plan--note-token (token)
  "Remember the hash of TOKEN, which is about to be shown."
  (push (secure-hash 'sha256 token) passepartout-plan--tokens)
  (when (nthcdr 64 passepartout-plan--tokens)
    (setcdr (nthcdr 63 passepartout-plan--tokens) nil)))

(defun passepartout-plan-token-shown-p (word)
  "Return non-nil when WORD is a token that was shown here lately."
  (and passepartout-plan--tokens
       (member (secure-hash 'sha256 (downcase word))
               passepartout-plan--tokens)
       t))

(defun passepartout-plan-token ()
  "Show a token with which the plan at point is decided about by typing.
The line /approve TOKEN counts once, in a chat of this Emacs.  The token
is shown in the echo area and kept nowhere; each time it is another one."
  (interactive)
  (let* ((entry (ewoc-data (passepartout-plan--at-point)))
         (plan (passepartout-plan--entry-plan entry)))
    (passepartout-request
     :plan-token `(:plan ,(plist-get plan :id)
                   :shown ,(passepartout-plan--entry-whole entry))
     (lambda (answer)
       (let ((problem (plist-get answer :error))
             ;; It stays out of the buffer of messages.
             (message-log-max nil))
         (unless problem
           (passepartout-plan--note-token (plist-get answer :token)))
         (message "%s"
                  (if problem
                      (passepartout-view-line problem)
                    (format "In a chat: /approve %s"
                            (passepartout-view-line
                             (plist-get answer :token) 60))))))
     (plist-get plan :session))))

(defun passepartout-plan-return ()
  "Approve nothing, and say what does."
  (interactive)
  (message "%s" (substitute-command-keys
                 "\\<passepartout-plan-mode-map>RET decides nothing; \
\\[passepartout-plan-approve] approves")))

(defun passepartout-plan-chat ()
  "Go to the chat that the plan at point belongs to."
  (interactive)
  (require 'passepartout-chat)
  (let* ((node (passepartout-plan--node-at (point)))
         (plan (and node (passepartout-plan--entry-plan (ewoc-data node))))
         (buffer (passepartout-chat--find-buffer (plist-get plan :session))))
    (if buffer
        (pop-to-buffer buffer)
      (user-error "The chat of this plan is not open"))))

(defun passepartout-plan-visit (id)
  "Show the buffer of plans with point on the plan ID."
  (passepartout-flight-plans)
  (let ((start (passepartout-plan--start id)))
    (if start
        (passepartout-plan--go-to start (get-buffer-window))
      (message "Plan %s is not known any more" id))))

(defun passepartout-plan--show-new (plan)
  "Go to PLAN, which has come in the place of one that was edited."
  (let ((buffer (get-buffer passepartout-plan--buffer-name)))
    (passepartout-plan--store plan)
    (passepartout-plan--redraw)
    (when buffer
      (with-current-buffer buffer
        (let ((start (passepartout-plan--start (plist-get plan :id))))
          (when start
            (setq passepartout-plan--moved (funcall passepartout-plan--clock))
            (passepartout-plan--go-to start nil)
            (dolist (window (get-buffer-window-list nil nil t))
              (passepartout-plan--go-to start window))))))))

;;;###autoload
(defun passepartout-next-plan (&optional count)
  "Go to the next plan that waits, of whatever chat, or COUNT plans on.
Behind the last one comes the first.  With `repeat-mode', n and p go on."
  (interactive "p")
  (passepartout-start)
  (let* ((waiting (mapcar (lambda (plan) (plist-get plan :id))
                          (passepartout-plan-pending)))
         (here (seq-position waiting (passepartout-plan-id-at-point)))
         (count (or count 1)))
    (if (not waiting)
        (message "No plan waits for you")
      (passepartout-plan-visit
       (nth (mod (cond (here (+ here count))
                       ((> count 0) (1- count))
                       (t count))
                 (length waiting))
            waiting)))))

;;;###autoload
(defun passepartout-previous-plan (&optional count)
  "Go to the previous plan that waits, or COUNT plans back."
  (interactive "p")
  (passepartout-next-plan (- (or count 1))))

(defvar passepartout-plan-repeat-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "n") #'passepartout-next-plan)
    (define-key map (kbd "p") #'passepartout-previous-plan)
    map)
  "Keys that go on from plan to plan while `repeat-mode' is on.")
(dolist (command '(passepartout-next-plan passepartout-previous-plan))
  (put command 'repeat-map 'passepartout-plan-repeat-map))

;;;###autoload
(defun passepartout-flight-plans ()
  "Show the plans that wait for you."
  (interactive)
  (passepartout-start)
  (let ((buffer (passepartout-view-buffer passepartout-plan--buffer-name
                                          'passepartout-plan-mode)))
    (setq passepartout-plan--moved (funcall passepartout-plan--clock))
    ;; Half of a low window shows too little of a plan.
    (pop-to-buffer buffer (and (< (window-total-height) 60)
                               '((display-buffer-reuse-window
                                  display-buffer-same-window))))
    (passepartout-plan--redraw)
    (let ((first (car (passepartout-plan-pending))))
      (when (and first (= (point) (point-min)))
        (goto-char (passepartout-plan--start (plist-get first :id)))))
    (passepartout-plan--fetch t)))

;;;; The mode

(defvar passepartout-plan-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map passepartout-view-mode-map)
    (define-key map (kbd "C-c C-c") #'passepartout-plan-approve)
    (define-key map (kbd "C-c C-k") #'passepartout-plan-deny)
    (define-key map (kbd "C-c C-s") #'passepartout-plan-deny-and-stop)
    (define-key map (kbd "C-c C-x C-b") #'passepartout-plan-toggle-step)
    (define-key map (kbd "C-c C-e") #'passepartout-plan-edit)
    (define-key map (kbd "=") #'passepartout-plan-diff)
    (define-key map (kbd "E") #'passepartout-plan-ediff)
    (define-key map (kbd "RET") #'passepartout-plan-return)
    ;; Nothing is folded here by a key of ours.
    (define-key map (kbd "TAB") #'outline-next-visible-heading)
    (define-key map (kbd "c") #'passepartout-plan-chat)
    (define-key map (kbd "C-c C-a") #'passepartout-plan-token)
    map)
  "Keys of the buffer of flight plans.")

(define-derived-mode passepartout-plan-mode passepartout-view-mode "Plans"
  "Major mode of the buffer of flight plans."
  (setq-local word-wrap nil)
  (setq passepartout-view--refresh (lambda () (passepartout-plan--fetch t)))
  (passepartout-list-set-command 'passepartout-flight-plans)
  (dolist (hook '(window-buffer-change-functions window-size-change-functions
                  window-scroll-functions post-command-hook))
    (add-hook hook #'passepartout-plan--look-soon nil t))
  (add-hook 'pre-command-hook #'passepartout-plan--here nil t)
  (add-hook 'pre-redisplay-functions #'passepartout-plan--drawing nil t))

(defun passepartout-plan--started ()
  "Forget the plans of another core, and ask this one for those that wait."
  (setq passepartout-plan--plans nil)
  (passepartout-plan--redraw)
  (passepartout-plan--fetch nil))

(passepartout-subscribe :event :plan-parked #'passepartout-plan--received)
(passepartout-subscribe :event :plan-changed #'passepartout-plan--received)
(add-hook 'passepartout-start-hook #'passepartout-plan--started)

(provide 'passepartout-plan)
;;; passepartout-plan.el ends here
