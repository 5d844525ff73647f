;;; passepartout-jobs.el --- Work that is done by itself  -*- lexical-binding: t; -*-

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

;; Headings that want work done by themselves: at times, by a repeater
;; or a cron line, or when something changes.  A heading starts nothing
;; before you confirmed it as it stands; confirming shows it whole as a
;; flight plan, which you approve like any other.
;;
;; A line %%(passepartout-jobs-agenda) in an agenda file shows in Org's
;; agenda what is due by a cron line, which no timestamp tells it.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-arrive)
(require 'passepartout-view)
(eval-when-compile (require 'subr-x))

(declare-function org-fold-show-context "org-fold" (&optional key))
(declare-function org-get-heading "org"
                  (&optional no-tags no-todo no-priority no-comment))
(declare-function org-show-context "org" (&optional key))
(defvar org-planning-line-re)
(defvar org-property-drawer-re)

(defconst passepartout-jobs--buffer-name "*Passepartout jobs*"
  "The name of the buffer of jobs.")

(defconst passepartout-jobs--report-name "*Passepartout report*"
  "The name of the buffer of what the last run of a job said.")

(defvar passepartout-jobs-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map passepartout-view-mode-map)
    (define-key map (kbd "c") #'passepartout-jobs-confirm)
    (define-key map (kbd "k") #'passepartout-jobs-withdraw)
    (define-key map (kbd "s") #'passepartout-jobs-pause)
    (define-key map (kbd "x") #'passepartout-jobs-run)
    (define-key map (kbd "l") #'passepartout-jobs-report)
    (define-key map (kbd "RET") #'passepartout-jobs-visit)
    map)
  "Keys of the buffer of jobs.")

(define-derived-mode passepartout-jobs-mode passepartout-view-mode "Jobs"
  "Major mode of the buffer of work that is done by itself.")

(defun passepartout-jobs--here ()
  "Return the job at point, a plist, or say that there is none."
  (or (passepartout-list-data)
      (user-error "Point is at no job")))

(defun passepartout-jobs--do (what then)
  "Have WHAT done about the job at point, and call THEN with the answer."
  (let ((key (plist-get (passepartout-jobs--here) :job)))
    (when (string-empty-p (or key ""))
      (user-error "This heading cannot be understood; RET goes there to mend it"))
    (passepartout-request
     :job (list :job key :do what)
     (lambda (payload)
       (let ((why (plist-get payload :error)))
         (if why
             (message "Passepartout: %s" (passepartout-view-line why 500))
           (funcall then payload))
         (passepartout-jobs--fetch))))))

(defun passepartout-jobs--say (payload)
  "Show the text of PAYLOAD, an answer of the core."
  (message "Passepartout: %s"
           (passepartout-view-line (plist-get payload :text) 500)))

(defun passepartout-jobs-confirm ()
  "Show the job at point whole as a flight plan, to approve or to deny."
  (interactive)
  (let ((place (passepartout-arrive-place)))
    (passepartout-jobs--do
     :confirm
     (lambda (payload)
       (let ((plan (car (plist-get payload :plans))))
         (if plan
             (passepartout-arrive-at-plan place plan)
           (passepartout-jobs--say payload)))))))

(defun passepartout-jobs-withdraw ()
  "Take back that you confirmed the job at point; it does not run any more."
  (interactive)
  (passepartout-jobs--do :withdraw #'passepartout-jobs--say))

(defun passepartout-jobs-pause ()
  "Let the job at point rest, or go on."
  (interactive)
  (passepartout-jobs--do
   (if (equal (plist-get (passepartout-jobs--here) :state) "paused")
       :resume
     :pause)
   #'passepartout-jobs--say))

(defun passepartout-jobs-run ()
  "Run the job at point now, or stop its run that goes on."
  (interactive)
  (passepartout-jobs--do
   (if (equal (plist-get (passepartout-jobs--here) :state) "running")
       :stop
     :run)
   #'passepartout-jobs--say))

(defun passepartout-jobs-report ()
  "Show what the last run of the job at point said."
  (interactive)
  (let ((title (passepartout-view-line
                (plist-get (passepartout-jobs--here) :title) 80))
        (place (passepartout-arrive-place)))
    (passepartout-jobs--do
     :report
     (lambda (payload)
       (let ((buffer (passepartout-view-buffer
                      passepartout-jobs--report-name
                      'passepartout-view-mode)))
         (with-current-buffer buffer
           (passepartout-view-draw
             (insert (propertize (concat title "\n\n")
                                 'face 'passepartout-title)
                     (passepartout-view-fixed
                      (or (plist-get payload :text) "")))))
         (passepartout-arrive-at-buffer place buffer))))))

;;;; Going to a heading

(defun passepartout-jobs--plain (text)
  "Return TEXT with runs of white space and control characters as one blank."
  (string-trim (replace-regexp-in-string "[[:space:][:cntrl:]]+" " " text)))

(defun passepartout-jobs--title-here-p (title)
  "Return non-nil when the headline at point is called TITLE, and nothing else."
  (equal (passepartout-jobs--plain title)
         (passepartout-jobs--plain
          (if (derived-mode-p 'org-mode)
              (org-get-heading t t t t)
            (buffer-substring-no-properties
             (progn (skip-chars-forward "* ") (point))
             (line-end-position))))))

(defun passepartout-jobs--by-id (id)
  "Return where the heading begins whose own drawer has ID, or nil."
  (save-excursion
    (goto-char (point-min))
    (let ((case-fold-search t) found)
      (while (and (not found)
                  (re-search-forward
                   (concat "^[ \t]*:ID:[ \t]+" (regexp-quote id) "[ \t]*$")
                   nil t))
        (let ((line (line-beginning-position)))
          (save-excursion
            (when (and (re-search-backward "^\\*+ " nil t)
                       (passepartout-jobs--drawer-holds-p line))
              (setq found (point))))))
      found)))

(defun passepartout-jobs--drawer-holds-p (line)
  "Return non-nil when LINE is in the drawer of properties of the headline here.
What a text or an example below it says is none."
  (save-excursion
    (forward-line 1)
    (when (looking-at-p org-planning-line-re) (forward-line 1))
    (and (looking-at org-property-drawer-re)
         (< (point) line (match-end 0)))))

(defun passepartout-jobs--by-title (title line)
  "Return where the headline called TITLE that is nearest to LINE begins, or nil."
  (save-excursion
    (goto-char (point-min))
    (let (best)
      (while (re-search-forward "^\\*+ " nil t)
        (beginning-of-line)
        (when (save-excursion (passepartout-jobs--title-here-p title))
          (let ((away (abs (- (line-number-at-pos) line))))
            (when (or (null best) (< away (car best)))
              (setq best (cons away (point))))))
        (forward-line 1))
      (cdr best))))

(defun passepartout-jobs--position (job)
  "Return where the heading of JOB, a plist, begins in this buffer, or nil.
Its own ID names it; without one its title does, nearest to its line."
  (require 'org)
  (save-restriction
    (widen)
    (let ((id (plist-get job :id)))
      (or (and (stringp id) (not (string-empty-p id))
               (passepartout-jobs--by-id id))
          (passepartout-jobs--by-title (or (plist-get job :title) "")
                                       (or (plist-get job :line) 1))))))

(defun passepartout-jobs-visit ()
  "Push the button at point, or go to the heading of the job there."
  (interactive)
  (if (button-at (point))
      (push-button)
    (let* ((job (passepartout-jobs--here))
           (file (plist-get job :file)))
      (passepartout-abroad-check-file (passepartout-view-line file))
      (unless (and (stringp file) (file-readable-p file))
        (user-error "Its file is not there any more"))
      (find-file-other-window file)
      (let ((position (passepartout-jobs--position job)))
        (unless position
          (user-error "“%s” is not in this file any more; g asks again"
                      (passepartout-view-line (plist-get job :title) 80)))
        (unless (<= (point-min) position (point-max)) (widen))
        (push-mark nil t)
        (goto-char position)
        (when (derived-mode-p 'org-mode)
          (if (fboundp 'org-fold-show-context)
              (org-fold-show-context 'link-search)
            (with-suppressed-warnings ((obsolete org-show-context))
              (org-show-context 'link-search))))))))

;;;; The list

(defun passepartout-jobs--time (text)
  "Return TEXT, a time of the core, for people, or a dash."
  (if text (passepartout-view-time text) "-"))

(defconst passepartout-jobs--columns
  '(("Job" (20 . 50)) ("State" 10) ("Next" 16) ("Last" nil))
  "The columns of the list of jobs.")

(defun passepartout-jobs--seconds (text otherwise)
  "Return TEXT, a time of the core, in seconds, or OTHERWISE."
  (or (and text (ignore-errors
                  (float-time (passepartout-view-parse-time text))))
      otherwise))

(defun passepartout-jobs--below (job)
  "Return what stands below the line of JOB, a plist, as texts."
  (let ((state (plist-get job :state))
        (missed (or (plist-get job :missed) 0))
        (why (plist-get job :why)))
    (append
     (unless (equal state "broken")
       (list (passepartout-list-below
              (concat (passepartout-view-line (plist-get job :rhythm) 80) ", "
                      (passepartout-view-line (plist-get job :tier) 20)))))
     (when (> missed 0)
       (list (passepartout-list-below
              (format "Missed %d, the last of %s; x runs it now." missed
                      (passepartout-jobs--time (plist-get job :late)))
              'passepartout-attention)))
     (when why
       (list (passepartout-list-below (passepartout-view-line why 400))))
     (when (member state '("waiting" "confirmed" "paused"))
       (list (passepartout-view-fixed (or (plist-get job :text) ""))))
     (list "\n"))))

(defun passepartout-jobs--row (job)
  "Return the row of JOB, a plist, with how it stands."
  (let* ((state (plist-get job :state))
         (title (passepartout-view-line (plist-get job :title) 80))
         (next (plist-get job :next))
         (ran (plist-get job :ran))
         (outcome (plist-get job :outcome)))
    `(,(passepartout-list-key (plist-get job :id)) ,title ,job
      (,title
       ,(propertize (passepartout-view-line state 20)
                    'face (pcase state
                            ("confirmed" 'passepartout-good)
                            ((or "waiting" "outside") 'passepartout-attention)
                            ("broken" 'passepartout-bad)
                            (_ 'passepartout-quiet)))
       ;; What does not come is behind all that does.
       (,(passepartout-jobs--time next)
        . ,(passepartout-jobs--seconds next 1.0e12))
       (,(concat (passepartout-jobs--time ran)
                 (if outcome
                     (concat ", " (passepartout-view-line outcome 40))
                   ""))
        . ,(passepartout-jobs--seconds ran 0.0)))
      ,@(passepartout-jobs--below job))))

(defun passepartout-jobs--draw (payload)
  "Draw PAYLOAD, the answer of the core, in the current buffer."
  (passepartout-view-draw
    (insert (propertize "Work that is done by itself\n"
                        'face 'passepartout-title)
            (propertize
             (concat "c confirms, k takes back, s lets rest or go on, x runs"
                     " now or stops, l shows what the last run said, RET goes"
                     " to the heading, S sorts, g asks again, ? shows all keys, q"
                     " leaves.\n\n")
             'face 'passepartout-quiet))
    (if (plist-get payload :jobs)
        (progn
          (passepartout-list-head passepartout-jobs--columns)
          (passepartout-list-rows passepartout-jobs--columns
                                  (mapcar #'passepartout-jobs--row
                                          (plist-get payload :jobs))))
      (insert "No heading wants work done by itself.  Give one a property PP_RUN \
that says what is to be done, and a timestamp with a repeater that says when; \
then g shows it here.\n"))))

(defun passepartout-jobs--fetch ()
  "Ask the core for the jobs and draw them."
  (passepartout-view-fetch
   passepartout-jobs--buffer-name :jobs
   (lambda (payload)
     (passepartout-jobs--keep-ahead payload)
     (passepartout-jobs--draw payload))))

;;;; Org's agenda

(defvar passepartout-jobs--ahead nil
  "What is due by cron lines, as the core said last: (TIME . TITLE) each.")

(defvar passepartout-jobs--asked nil
  "When the core was last asked what is ahead, for the agenda.")

(defvar passepartout-jobs--told nil
  "Whether the core that runs has answered what is ahead.")

(defun passepartout-jobs--forget-ahead ()
  "Forget what another core said."
  (setq passepartout-jobs--ahead nil
        passepartout-jobs--asked nil
        passepartout-jobs--told nil))

(add-hook 'passepartout-start-hook #'passepartout-jobs--forget-ahead)

(defun passepartout-jobs--keep-ahead (payload)
  "Keep what PAYLOAD, a list of jobs of the core, says is ahead."
  (setq passepartout-jobs--told t
        passepartout-jobs--ahead
        (mapcan (lambda (job)
                  (let ((title (passepartout-view-line (plist-get job :title)
                                                       80)))
                    (mapcar (lambda (at)
                              (cons (passepartout-view-parse-time at) title))
                            (plist-get job :ahead))))
                (plist-get payload :jobs))))

(defun passepartout-jobs--ask-ahead ()
  "Ask the core what is ahead, once a minute at most, and wait for nothing."
  (let ((now (current-time)))
    (when (or (null passepartout-jobs--asked)
              (time-less-p 60 (time-subtract now passepartout-jobs--asked)))
      (setq passepartout-jobs--asked now)
      (passepartout-request
       :jobs nil
       (lambda (payload)
         (unless (plist-get payload :error)
           (passepartout-jobs--keep-ahead payload)))))))

;;;###autoload
(defun passepartout-jobs-agenda ()
  "Return what Passepartout does by cron lines on the day of the agenda.
It is for a line %%(passepartout-jobs-agenda) in an agenda file, and knows
the next two weeks.  It waits for nothing: what has changed within the
last minute stands there the next time that the agenda is made."
  (with-no-warnings (defvar date))
  (when (and (passepartout-running-p) (bound-and-true-p date))
    (passepartout-jobs--ask-ahead)
    (let ((day (format "%04d-%02d-%02d" (nth 2 date) (nth 0 date)
                       (nth 1 date))))
      (if passepartout-jobs--told
          (delq nil
                (mapcar (lambda (ahead)
                          (when (equal day (format-time-string
                                            "%F" (car ahead)))
                            (concat (format-time-string "%H:%M " (car ahead))
                                    (cdr ahead) " (Passepartout)")))
                        passepartout-jobs--ahead))
        (when (equal day (format-time-string "%F"))
          (list "Passepartout is asked what is due; g shows it"))))))

;;;###autoload
(defun passepartout-jobs ()
  "Show the headings that want work done by themselves, and how each stands."
  (interactive)
  (passepartout-view-open passepartout-jobs--buffer-name
                          'passepartout-jobs-mode 'passepartout-jobs
                          #'passepartout-jobs--fetch))

(provide 'passepartout-jobs)
;;; passepartout-jobs.el ends here
