;;; passepartout-real-jobs-tests.el --- Work by itself, with the real module  -*- lexical-binding: t; no-byte-compile: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A job from the list over its plan to its report, and Org's own agenda.

;;; Code:

(require 'passepartout-real)
(require 'passepartout-jobs)
(require 'org-agenda)

(defconst passepartout-real-jobs--notes
  "* TODO Gardener
:PROPERTIES:
:ID: gardener
:PP_RUN: skill:archivist
:PP_CRON: 0 8 * * *
:PP_WATCH: memex
:END:
* TODO Supplies
SCHEDULED: <2026-03-02 Mon 08:00 +1d>
:PROPERTIES:
:ID: supplies
:PP_RUN: add a todo “Soil” under Shed
:END:
* Shed
:PROPERTIES:
:ID: shed
:END:
It once was [[id:no-such-note][elsewhere]].
"
  "Two jobs, one without a timestamp, and what they are about.")

(defun passepartout-real-jobs--at (title state)
  "Wait until the list says that TITLE is in STATE, and go there.
STATE is a regexp of what stands behind the title.  Return what is said
of the job."
  (pop-to-buffer passepartout-jobs--buffer-name)
  (let ((asked 0))
    (passepartout-real-wait
     (list title state)
     (lambda ()
       (goto-char (point-min))
       (or (re-search-forward (format "^  %s +%s" title state) nil t)
           ;; The list is asked anew while it says something else.
           (when (> (float-time) asked)
             (setq asked (+ (float-time) 0.2))
             (passepartout-real-key "g")
             nil)))))
  (beginning-of-line)
  (buffer-substring-no-properties
   (point) (save-excursion (forward-line 2) (point))))

(defun passepartout-real-jobs--confirm (title)
  "Confirm the job TITLE of the list by the plan that shows it."
  (passepartout-real-jobs--at title "waiting")
  (passepartout-real-key "c")
  (let ((plan (passepartout-real-plan "work by itself")))
    (should (string-match-p (regexp-quote title)
                            (buffer-string)))
    (passepartout-real-key "C-c C-c")
    (passepartout-real-until
      (equal (plist-get (passepartout-plan--find (plist-get plan :id)) :status)
             "done")))
  (passepartout-real-jobs--at title "confirmed"))

(defun passepartout-real-jobs--agenda ()
  "Return what Org's agenda of the next three days shows."
  (let ((org-agenda-files
         (list (passepartout-real-file "memex/garden.org")
               (passepartout-real-file "agenda.org")))
        (org-agenda-window-setup 'current-window)
        (org-agenda-sticky nil))
    (save-window-excursion
      (org-agenda-list nil nil 3)
      (prog1 (buffer-substring-no-properties (point-min) (point-max))
        (kill-buffer)))))

(ert-deftest passepartout-real-jobs-run-from-the-list-over-the-plan-to-the-report ()
  (passepartout-real-with
    (setq passepartout-provider-cascade '("recall"))
    (passepartout-real-write "memex/garden.org" passepartout-real-jobs--notes)
    (passepartout-real-write "agenda.org"
                             "* By itself\n%%(passepartout-jobs-agenda)\n")
    (passepartout-real-start)
    (passepartout-jobs)
    ;; Nothing runs before it was confirmed.
    (passepartout-real-jobs--at "Supplies" "waiting")
    (passepartout-real-jobs--at "Gardener" "waiting")
    (passepartout-real-jobs--confirm "Gardener")
    (passepartout-real-key "x")
    (passepartout-real-jobs--at "Gardener" "confirmed .*, done")
    (passepartout-real-key "l")
    (passepartout-real-until
      (let ((report (get-buffer passepartout-jobs--report-name)))
        (and report
             (with-current-buffer report
               (string-search "no-such-note" (buffer-string))))))
    ;; What does more than read waits, and is done when it was approved.
    (passepartout-real-jobs--confirm "Supplies")
    (passepartout-real-key "x")
    (passepartout-real-plan "Soil")
    (should-not (string-search "Soil\n" (passepartout-real-read
                                         "memex/garden.org")))
    (passepartout-real-key "C-c C-c")
    (passepartout-real-until
      (string-match-p "^\\*\\* TODO Soil$"
                      (passepartout-real-read "memex/garden.org")))
    (passepartout-real-until
      (string-match-p "^:LOGBOOK:\n- .*\n:END:"
                      (passepartout-real-read "memex/garden.org")))
    (passepartout-real-jobs--at "Supplies" "confirmed .*, done")
    ;; The agenda waits for nobody: it says that it asks, and has it then.
    (passepartout-jobs--forget-ahead)
    (should (string-search "Passepartout is asked what is due"
                           (passepartout-real-jobs--agenda)))
    (passepartout-real-until passepartout-jobs--told)
    (let ((agenda (passepartout-real-jobs--agenda)))
      (should (string-match-p "8:00.* Gardener (Passepartout)" agenda))
      (should-not (string-match-p "Supplies (Passepartout)" agenda))
      (should (string-match-p "TODO Supplies" agenda)))))

(provide 'passepartout-real-jobs-tests)
;;; passepartout-real-jobs-tests.el ends here
