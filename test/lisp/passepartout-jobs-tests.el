;;; passepartout-jobs-tests.el --- Tests of the list of jobs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the buffer of jobs shows of an answer of the core, and what its
;; keys ask for.

;;; Code:

(require 'ert)
(require 'passepartout-fake)
(require 'passepartout-jobs)

(defconst passepartout-jobs-tests--payload
  '(:jobs ((:job "k1" :id "plants" :file "/no/such/file.org"
            :title "Plants
* [[x]]" :state "waiting" :rhythm "+1d at 08:00" :tier "cognition"
            :text "Runs: +1d at 08:00\nIt is asked to:\n* Water them\n"
            :missed 0)
           (:job "k2" :id "inbox" :file "/no/such/file.org" :title "Inbox"
            :state "confirmed" :rhythm "on change" :tier "reasoning"
            :text "Runs: on change\n" :ran "2026-03-04T08:00:00Z"
            :outcome "done" :missed 7 :late "2026-03-09T08:00:00Z")
           (:job "k3" :id "rest" :file "" :title "Rest" :state "paused"
            :rhythm "cron 0 8 * * *" :tier "reflex" :text "" :missed 0)
           (:job "k4" :id "run" :file "" :title "Running" :state "running"
            :rhythm "cron 0 9 * * *" :tier "reflex" :text "" :missed 0)
           (:job "" :id "odd" :file "" :title "Odd" :state "broken" :rhythm ""
            :tier "" :text "" :missed 0 :why "a cron line has five fields")))
  "An answer of the core.")

(defmacro passepartout-jobs-tests--with (&rest body)
  "Show the jobs of the test, and evaluate BODY in their buffer."
  (declare (indent 0) (debug t))
  `(passepartout-fake-with
     (passepartout-jobs)
     (passepartout-fake-answer :jobs passepartout-jobs-tests--payload)
     (with-current-buffer passepartout-jobs--buffer-name
       ,@body)))

(defun passepartout-jobs-tests--at (title)
  "Put point on the job TITLE."
  (goto-char (point-min))
  (re-search-forward (concat "^  " title " ")))

(ert-deftest passepartout-jobs-shows-how-each-stands ()
  (passepartout-jobs-tests--with
    (let ((text (buffer-string)))
      (dolist (line '("^  Plants \\* \\[\\[x\\]\\] +waiting +- +-$"
                      "^    \\+1d at 08:00, cognition$"
                      "^: \\* Water them$"
                      "^  Inbox +confirmed +- +2026-03-04 .*, done$"
                      "^    on change, reasoning$"
                      "^    Missed 7, the last of .*; x runs it now\\.$"
                      "^  Odd +broken +- +-$"
                      "^    a cron line has five fields$"))
        (should (string-match-p line text)))
      ;; What a note says is no heading of this buffer.
      (should-not (string-match-p "^\\* Water" text)))))

(ert-deftest passepartout-jobs-keys-are-about-the-job-at-point ()
  (passepartout-jobs-tests--with
    (dolist (case '(("Plants" "c" :confirm "k1") ("Inbox" "k" :withdraw "k2")
                    ("Inbox" "s" :pause "k2") ("Rest" "s" :resume "k3")
                    ("Inbox" "x" :run "k2") ("Running" "x" :stop "k4")
                    ("Inbox" "l" :report "k2")))
      (passepartout-jobs-tests--at (nth 0 case))
      (call-interactively (key-binding (kbd (nth 1 case))))
      (let ((sent (car (last (passepartout-fake-sent :job)))))
        (should (eq (plist-get sent :do) (nth 2 case)))
        (should (equal (plist-get sent :job) (nth 3 case)))))
    ;; Of what cannot be understood nothing is asked, nor beside a job.
    (let ((count (length (passepartout-fake-sent :job))))
      (passepartout-jobs-tests--at "Odd")
      (should-error (call-interactively (key-binding (kbd "c")))
                    :type 'user-error)
      (goto-char (point-min))
      (should-error (call-interactively (key-binding (kbd "x")))
                    :type 'user-error)
      (should (= count (length (passepartout-fake-sent :job)))))
    ;; A file that is gone is said, and nothing is made in its place.
    (passepartout-jobs-tests--at "Plants")
    (should-error (call-interactively (key-binding (kbd "RET")))
                  :type 'user-error)))

;; What does not come stands behind all that does, and what never ran first.
(ert-deftest passepartout-jobs-are-sorted-by-columns ()
  (passepartout-jobs-tests--with
    (dolist (case '(("Job" "Inbox Odd Plants Rest Running")
                    ("State" "Odd Inbox Rest Running Plants")
                    ("Last" "Plants Rest Running Odd Inbox")))
      (passepartout-list-sort (car case))
      (should (equal (cadr case)
                     (mapconcat (lambda (entry)
                                  (car (split-string (car entry))))
                                (passepartout-list--imenu) " "))))
    (should (= 1 (length (passepartout-fake-sent :jobs))))))

;;;; Going to a heading

(defconst passepartout-jobs-tests--notes
  "* TODO Plants of others
Of this one it says:
:ID: plants
#+begin_example
:PROPERTIES:
:ID: plants
:END:
#+end_example
* Plants and more
* TODO [#A] Plants                                                   :home:
SCHEDULED: <2026-03-04 Wed>
:PROPERTIES:
:PP_RUN: water them
:ID:       plants
:END:
* Without ID and more
* Without ID
First.
* Without ID
Second.
"
  "Notes in which decoys stand above what is meant.")

(ert-deftest passepartout-jobs-ret-goes-to-the-heading-that-is-meant ()
  (dolist (case '((:id "plants" :title "Plants" :at "* TODO [#A] Plants")
                  ;; Its title was changed since; its ID was not.
                  (:id "plants" :title "Flowers" :at "* TODO [#A] Plants")
                  (:id "0f3a" :title "Plants" :line 1 :at "* TODO [#A] Plants")
                  (:id "0f3b" :title "Without ID" :line 16
                   :at "* Without ID\nFirst")
                  (:id "0f3b" :title "Without ID" :line 40
                   :at "* Without ID\nSecond")
                  (:id "0f3c" :title "Without" :line 16)
                  (:id "plant" :title "Plant" :line 1)
                  (:id "" :title "" :line 1)))
    (passepartout-fake-with
      (let ((file (make-temp-file "passepartout-jobs" nil ".org"
                                  passepartout-jobs-tests--notes)))
        (unwind-protect
            (with-current-buffer (find-file-noselect file)
              ;; What is narrowed away is gone to as well.
              (goto-char (point-min))
              (narrow-to-region (point-min) (line-beginning-position 2))
              (passepartout-jobs)
              (passepartout-fake-answer
               :jobs (list :jobs (list (append (list :job "k1" :file file
                                                     :state "confirmed"
                                                     :missed 0)
                                               case))))
              (with-current-buffer passepartout-jobs--buffer-name
                (goto-char (point-min))
                (passepartout-list-next)
                (let ((go (lambda ()
                            (call-interactively (key-binding (kbd "RET"))))))
                  (if (plist-get case :at)
                      (funcall go)
                    (should (string-match-p
                             "is not in this file any more"
                             (cadr (should-error (funcall go)
                                                 :type 'user-error)))))))
              (set-buffer (find-buffer-visiting file))
              (if (plist-get case :at)
                  (should (looking-at-p (regexp-quote (plist-get case :at))))
                (should (= (point) (point-min)))))
          (with-current-buffer (find-buffer-visiting file)
            (set-buffer-modified-p nil)
            (kill-buffer))
          (delete-file file))))))

;;;; Org's agenda

(defun passepartout-jobs-tests--day (year month day)
  "Return what the agenda is told of DAY of MONTH of YEAR."
  (defvar date)
  (let ((date (list month day year)))
    (passepartout-jobs-agenda)))

(ert-deftest passepartout-jobs-agenda-shows-cron-lines-on-their-days ()
  (passepartout-fake-with
    (passepartout-jobs--forget-ahead)
    (let* ((now (decode-time))
           (today (list (nth 5 now) (nth 4 now) (nth 3 now)))
           (asked (lambda () (length (passepartout-fake-sent :jobs)))))
      ;; It says that it asks, and asks once for all days.
      (passepartout-request :jobs nil nil)
      (let ((before (funcall asked)))
        (should (equal (apply #'passepartout-jobs-tests--day today)
                       '("Passepartout is asked what is due; g shows it")))
        (should-not (passepartout-jobs-tests--day 2001 1 1))
        (should (= (1+ before) (funcall asked))))
      (passepartout-fake-answer
       :jobs (list :jobs
                   (list (list :title "Inbox\n* of mine" :state "confirmed"
                               :ahead (mapcar
                                       (lambda (day)
                                         (format-time-string
                                          "%FT%TZ"
                                          (encode-time 0 30 8 day 3 2026) t))
                                       '(4 6)))
                         '(:title "Plants" :state "confirmed" :ahead nil))))
      (should (equal (passepartout-jobs-tests--day 2026 3 4)
                     '("08:30 Inbox * of mine (Passepartout)")))
      (should-not (passepartout-jobs-tests--day 2026 3 5))
      (should (passepartout-jobs-tests--day 2026 3 6))
      ;; A core that is new is asked anew.
      (passepartout-jobs--forget-ahead)
      (should-not (passepartout-jobs-tests--day 2026 3 6)))))

(ert-deftest passepartout-jobs-shows-what-the-last-run-said ()
  (passepartout-jobs-tests--with
    (passepartout-jobs-tests--at "Inbox")
    (call-interactively (key-binding (kbd "l")))
    (passepartout-fake-answer :job '(:text "1 link leads nowhere.\n* Odd [[x]]"))
    (with-current-buffer passepartout-jobs--report-name
      (should (string-match-p "\\`Inbox\n\n: 1 link leads nowhere\\.\n: \\* Odd"
                              (buffer-string))))
    (kill-buffer passepartout-jobs--report-name)))

(provide 'passepartout-jobs-tests)
;;; passepartout-jobs-tests.el ends here
