;;; passepartout-plan-draw.el --- How flight plans are laid out  -*- lexical-binding: t; -*-

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

;; The plans that are known, and how each stands in the buffer of plans.
;; A plan is a node of an ewoc: what the core tells of it in a message of
;; bounded length is drawn at once, and its text is inserted page by
;; page above a closing line.  All foreign text is either one visible
;; line or stands behind colons.

;;; Code:

(require 'cl-lib)
(require 'ewoc)
(require 'passepartout)
(require 'passepartout-view)
(eval-when-compile (require 'subr-x))

(defconst passepartout-plan--buffer-name "*Passepartout flight plans*"
  "The name of the buffer of flight plans.")

(defconst passepartout-plan--keywords
  '("APPROVED" "DONE" "DENIED" "FAILED" "STALE" "EXPIRED" "REPLACED")
  "The Org keywords of plans that no longer wait.")

(defconst passepartout-plan--line-length 400
  "A longer line is broken in two, because Emacs is slow with long lines.")

(defconst passepartout-plan--settled-most 50
  "How many plans are kept of those about which nothing is left to happen.
The core sends as many when it is asked for all.")

(defvar passepartout-plan--plans nil
  "The plans that are known, or nil: a hash table from ids to conses.
Each is (NUMBER . PLAN); the numbers grow as plans come or change their
status.")

(defvar passepartout-plan--number 0
  "The number of the plan that came or changed its status last.")

(cl-defstruct (passepartout-plan--entry
               (:constructor passepartout-plan--entry-create)
               (:copier nil))
  "A plan as it stands in the buffer.
PLAN is what the core told of it; FILL the marker at which its next page
goes, NEXT the byte at which that page begins, or nil when all of it is
there, and then WHOLE is its hash.  ASKED is non-nil while a page is
being fetched.  PART names what the last page was a part of; FACE is
non-nil, the face of the last line, when that goes on in the next page.
LEVEL is the level of its heading: 2 of a step below the heading of its
decision, else 1.  SINCE is when the plan was first displayed, SEEN how many characters
from its beginning have been displayed, without a gap, and TOLD non-nil
when the core knows that all of it has been displayed."
  plan fill (next 0) whole asked part face (level 1) since (seen 0) told)

(cl-defstruct (passepartout-plan--group
               (:constructor passepartout-plan--group-create)
               (:copier nil))
  "The heading of a decision that has several steps.
KEY names the decision.  STEPS are its steps as they are listed below
the heading: each the id of a plan and non-nil when it is checked."
  key steps)

(defvar passepartout-plan--unchecked nil
  "The ids of the steps that an approval of their decision leaves out.")

;;;; Data

(defun passepartout-plan--find (id)
  "Return the plan called ID, or nil."
  (and passepartout-plan--plans
       (cdr (gethash id passepartout-plan--plans))))

(defun passepartout-plan--known (&optional predicate)
  "Return the plans for which PREDICATE holds, or all, the oldest first."
  (let (found)
    (when passepartout-plan--plans
      (maphash (lambda (_id known)
                 (when (or (null predicate) (funcall predicate (cdr known)))
                   (push known found)))
               passepartout-plan--plans))
    (mapcar #'cdr (sort found #'car-less-than-car))))

(defun passepartout-plan--pending-p (plan)
  "Return non-nil when PLAN waits."
  (equal (plist-get plan :status) "pending"))

(defun passepartout-plan--settled-p (plan)
  "Return non-nil when PLAN neither waits nor is being carried out."
  (not (member (plist-get plan :status) '("pending" "approved"))))

(defun passepartout-plan-pending ()
  "Return the plans that wait."
  (passepartout-plan--known #'passepartout-plan--pending-p))

(defun passepartout-plan--key (plan)
  "Return what names the decision that PLAN is a step of, or nil."
  (and (integerp (plist-get plan :step))
       (list (plist-get plan :session) (plist-get plan :turn))))

(defun passepartout-plan--steps (key)
  "Return the plans that wait as steps of the decision KEY, in their order."
  (and key
       (sort (passepartout-plan--known
              (lambda (plan)
                (and (passepartout-plan--pending-p plan)
                     (equal key (passepartout-plan--key plan)))))
             (lambda (a b)
               (< (plist-get a :step) (plist-get b :step))))))

(defun passepartout-plan--grouped-p (plan)
  "Return non-nil when PLAN stands below the heading of a decision."
  (and (passepartout-plan--pending-p plan)
       (cdr (passepartout-plan--steps (passepartout-plan--key plan)))))

(defun passepartout-plan--checklist (key)
  "Return the steps of the decision KEY, each as (ID . CHECKED)."
  (mapcar (lambda (plan)
            (let ((id (plist-get plan :id)))
              (cons id (not (member id passepartout-plan--unchecked)))))
          (passepartout-plan--steps key)))

(defun passepartout-plan--store (plan)
  "Remember PLAN in the place of an older state of it."
  (let* ((id (plist-get plan :id))
         (plans (or passepartout-plan--plans
                    (setq passepartout-plan--plans
                          (make-hash-table :test #'equal))))
         (old (gethash id plans)))
    (puthash id
             (cons (if (and old (equal (plist-get plan :status)
                                       (plist-get (cdr old) :status)))
                       (car old)
                     (cl-incf passepartout-plan--number))
                   plan)
             plans)))

(defun passepartout-plan--forget-old ()
  "Forget the settled plans that are older than those that are kept.
Return non-nil when there are as many as are kept."
  (when (and passepartout-plan--plans
             (>= (hash-table-count passepartout-plan--plans)
                 passepartout-plan--settled-most))
    (let* ((settled (passepartout-plan--known
                     #'passepartout-plan--settled-p))
           (surplus (- (length settled) passepartout-plan--settled-most)))
      (while (> surplus 0)
        (remhash (plist-get (pop settled) :id) passepartout-plan--plans)
        (setq surplus (1- surplus)))
      (= surplus 0))))

;;;; Above and below the plans

(defvar passepartout-plan--untold nil
  "Why the core did not say which plans wait when it was asked last, or nil.")

(defun passepartout-plan--header ()
  "Return what stands above the plans."
  (let ((count (length (passepartout-plan-pending))))
    (concat
     "#+TITLE: Flight plans\n#+TODO: PLAN | "
     (string-join passepartout-plan--keywords " ") "\n\n"
     (pcase count
       ((guard passepartout-plan--untold)
        (format "Which plans wait is not told here: %s.\n"
                (passepartout-view-line passepartout-plan--untold 300)))
       (0 "No plan waits for you.\n")
       (1 "One plan waits for you.\n")
       (_ (format "%d plans wait for you.\n" count)))
     (substitute-command-keys
      "\\<passepartout-plan-mode-map>\\[passepartout-plan-approve] \
approves, \\[passepartout-plan-deny] denies, \
\\[passepartout-plan-deny-and-stop] denies and stops,\n\
\\[passepartout-plan-edit] edits, \\[passepartout-plan-diff] shows the \
change alone, \\[scroll-up-command] reads on, \\[quit-window] leaves.\n\n"))))

(defun passepartout-plan--footer (full)
  "Return what stands below the plans, of which there may be more when FULL."
  (if full
      (propertize (format "Of the plans that are over, the newest %d are shown; \
“passepartout plans list --all” lists them all.\n"
                          passepartout-plan--settled-most)
                  'face 'passepartout-quiet)
    ""))

;;;; A plan as a heading

(defun passepartout-plan--keyword (plan)
  "Return the Org keyword for the status of PLAN."
  (if (passepartout-plan--pending-p plan)
      "PLAN"
    (let ((word (upcase (passepartout-view-line
                         (format "%s" (plist-get plan :status)) 20))))
      (or (car (member word passepartout-plan--keywords)) "STALE"))))

(defun passepartout-plan--print (item)
  "Insert ITEM: a plan, a decision, or the word above decided plans."
  (cond ((eq item 'decided)
         (insert (propertize "Decided" 'face 'passepartout-quiet) "\n\n"))
        ((passepartout-plan--group-p item)
         (passepartout-plan--print-group item))
        (t (passepartout-plan--print-plan item))))

(defun passepartout-plan--print-group (group)
  "Insert the heading of the decision GROUP, and its checklist."
  (let ((steps (passepartout-plan--group-steps group))
        (number 0))
    (insert (propertize "* " 'face 'passepartout-title)
            (propertize "PLAN" 'face (passepartout-view-face "pending"))
            (propertize (format " %d steps for one decision" (length steps))
                        'face 'passepartout-title)
            (propertize " :FLIGHT_PLAN:" 'face 'passepartout-quiet)
            "\n"
            (propertize
             (substitute-command-keys
              "\\<passepartout-plan-mode-map>Here \
\\[passepartout-plan-approve] approves the checked steps, in this order; \
\\[passepartout-plan-toggle-step] checks or unchecks\none.  \
On a step below, keys are about that step alone.\n")
             'face 'passepartout-quiet))
    (dolist (step steps)
      (let ((plan (passepartout-plan--find (car step))))
        (insert (propertize
                 (concat (format "- [%s] %d. " (if (cdr step) "X" " ")
                                 (setq number (1+ number)))
                         (passepartout-view-line (plist-get plan :title))
                         (passepartout-plan--in-brackets plan))
                 'passepartout-step (car step))
                "\n")))
    (insert "\n")))

(defun passepartout-plan--in-brackets (plan)
  "Return the badge of PLAN behind its title."
  (let ((badge (plist-get plan :badge)))
    (if badge (concat " (" (passepartout-plan--badge badge) ")") "")))

(defun passepartout-plan--badge (badge)
  "Return BADGE, which says whether a plan can be taken back, for display."
  (propertize (passepartout-view-line badge 30)
              'face (passepartout-plan--badge-face badge)))

(defun passepartout-plan--badge-face (badge)
  "Return the face for BADGE."
  (pcase badge
    ("changes nothing" 'passepartout-quiet)
    ("undoable" 'passepartout-good)
    ((or "undoable by git" "can be withdrawn") 'passepartout-attention)
    (_ 'passepartout-bad)))

(defun passepartout-plan--print-plan (entry)
  "Insert the plan of ENTRY."
  (let* ((plan (passepartout-plan--entry-plan entry))
         (pending (passepartout-plan--pending-p plan))
         (keyword (passepartout-plan--keyword plan))
         (step (> (passepartout-plan--entry-level entry) 1)))
    (insert (propertize (if step "** " "* ") 'face 'passepartout-title)
            (propertize keyword 'face
                        (passepartout-view-face
                         (if pending "pending" (downcase keyword))))
            " "
            (propertize (passepartout-view-line (plist-get plan :title))
                        'face 'passepartout-title)
            (propertize (if step "" " :FLIGHT_PLAN:") 'face 'passepartout-quiet)
            "\n")
    (passepartout-plan--insert-line plan pending)
    (if pending
        (let ((fill (point)))
          (insert (passepartout-plan--closing entry) "\n")
          (setf (passepartout-plan--entry-fill entry) (copy-marker fill t)))
      (let ((result (plist-get plan :result))
            (differs (plist-get plan :differs)))
        (when result
          (insert (propertize (passepartout-view-fixed result)
                              'face 'passepartout-literal)))
        (when differs
          (passepartout-plan--insert-difference differs)))
      (insert "\n"))))

(defun passepartout-plan--insert-difference (text)
  "Insert TEXT, the difference between what a plan showed and what came."
  (insert (propertize "What differs from what it showed"
                      'face 'passepartout-subtitle)
          "\n")
  (dolist (line (split-string (passepartout-view-visible text) "\n"))
    (let ((face (passepartout-plan--diff-face line)))
      (insert (propertize (concat ": " line) 'face face) "\n"))))

(defun passepartout-plan--insert-line (plan pending)
  "Insert the line below the heading of PLAN, which is PENDING or not."
  (let ((quiet (lambda (text) (propertize text 'face 'passepartout-quiet))))
    (insert (funcall quiet "Plan ")
            (passepartout-view-line (plist-get plan :id) 60)
            (funcall quiet ", tool ")
            (passepartout-view-line (plist-get plan :tool) 60))
    ;; Whether it can be taken back, the text of a plan says first.
    (when pending
      (insert (funcall quiet ", waits since ")
              (passepartout-view-time (plist-get plan :created))
              (funcall quiet ", expires ")
              (passepartout-view-time (plist-get plan :expires))))
    (when (plist-get plan :proposer)
      (insert (funcall quiet ", proposed by ")
              (passepartout-view-line (plist-get plan :proposer) 120)))
    (insert "\n")))

(defun passepartout-plan--closing (entry)
  "Return the line that closes what is there of the plan of ENTRY."
  (let* ((plan (passepartout-plan--entry-plan entry))
         (next (passepartout-plan--entry-next entry))
         (size (plist-get plan :size)))
    (propertize
     (cond ((not next)
            (format "End of plan %s.\n"
                    (passepartout-view-line (plist-get plan :id) 60)))
           ((and (numberp size) (> next 0))
            (format "%d of %d kB are shown; the rest comes as you read on.\n"
                    (/ next 1024) (1+ (/ size 1024))))
           (t "…\n"))
     'face 'passepartout-quiet)))

;;;; The text of a plan

(defun passepartout-plan--insert-page (entry page)
  "Insert PAGE, the payload of an answer, where the text of ENTRY ends."
  (let ((part (plist-get page :part))
        (fill (passepartout-plan--entry-fill entry)))
    (save-excursion
      (goto-char fill)
      ;; The closing line goes and comes back; the empty line below it
      ;; stays, and with it where the next plan begins.
      (delete-region (point) (line-beginning-position 2))
      (unless (eq part (passepartout-plan--entry-part entry))
        (setf (passepartout-plan--entry-part entry) part
              (passepartout-plan--entry-face entry) nil)
        (insert "\n" (propertize (passepartout-plan--label part)
                                 'face 'passepartout-subtitle)
                "\n"))
      (passepartout-plan--insert-text entry (or (plist-get page :text) ""))
      (setf (passepartout-plan--entry-next entry) (plist-get page :next)
            (passepartout-plan--entry-whole entry) (plist-get page :shown))
      (let ((here (point)))
        (insert (if (plist-get page :next) "" "\n")
                (passepartout-plan--closing entry))
        (set-marker fill here)))))

(defun passepartout-plan--label (part)
  "Return the label above PART of a plan."
  (pcase part
    (:body "What will happen")
    (:asked "Why you are asked")
    (:why "Why the agent wants it")
    (:diff "The change")
    (:predicted "Tried out, and nothing of it kept")
    (_ "Further")))

(defun passepartout-plan--insert-text (entry text)
  "Insert TEXT, a page of the plan of ENTRY, each line behind a colon.
What continues a line stands behind a colon too, further right, where no
line of the text begins."
  (let* ((lines (split-string (passepartout-view-visible text) "\n"))
         (whole (equal (car (last lines)) ""))
         (further (passepartout-plan--entry-face entry))
         (face nil) (run nil) (run-face nil))
    (when whole (setq lines (butlast lines)))
    (while lines
      (setq face (or further (passepartout-plan--face entry (car lines))))
      ;; Lines of one face are inserted as one string: each string costs
      ;; Emacs something as long as it is there.
      (unless (eq face run-face)
        (passepartout-plan--insert-run run run-face)
        (setq run nil run-face face))
      (dolist (piece (passepartout-plan--pieces (pop lines)))
        (push (concat (cond (further "  : ")
                            ((string-empty-p piece) ":")
                            (t ": "))
                      piece "\n")
              run)
        (setq further t))
      (setq further nil))
    (passepartout-plan--insert-run run run-face)
    (setf (passepartout-plan--entry-face entry) (and (not whole) face))))

(defun passepartout-plan--insert-run (lines face)
  "Insert LINES, the last first, in FACE."
  (when lines
    (insert (propertize (apply #'concat (nreverse lines))
                        'face face 'wrap-prefix "  : "))))

(defun passepartout-plan--face (entry line)
  "Return the face of LINE of the part of ENTRY that is being inserted.
The first line of a plan says whether it can be taken back."
  (cond ((memq (passepartout-plan--entry-part entry) '(:diff :predicted))
         (passepartout-plan--diff-face line))
        ((and (eql 0 (passepartout-plan--entry-next entry))
              (string-match "\\`This \\(?:is \\)?\\(.*\\)\\.\\'" line))
         (passepartout-plan--badge-face (match-string 1 line)))
        (t 'passepartout-literal)))

(defun passepartout-plan--diff-face (line)
  "Return the face of LINE of a difference."
  (require 'diff-mode)
  (cond ((string-prefix-p "+" line) 'diff-added)
        ((string-prefix-p "-" line) 'diff-removed)
        ((string-prefix-p "@" line) 'diff-hunk-header)
        (t 'passepartout-literal)))

(defun passepartout-plan--pieces (line)
  "Return LINE in pieces that are not too long."
  (if (<= (length line) passepartout-plan--line-length)
      (list line)
    (let ((pieces nil) (from 0))
      (while (< from (length line))
        (let ((end (min (length line)
                        (+ from passepartout-plan--line-length))))
          (push (substring line from end) pieces)
          (setq from end)))
      (nreverse pieces))))

(provide 'passepartout-plan-draw)
;;; passepartout-plan-draw.el ends here
