;;; passepartout-plan-tests.el --- Tests of flight plans  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; Keys, the second of waiting, literal display, editing, redrawing.

;;; Code:

(require 'passepartout-fake)

(defvar passepartout-plan-tests--pages nil
  "The pages of the plans, by id; those of an id that is not here are short.")

(defun passepartout-plan-tests--plan (id &rest more)
  "Return a plan called ID that waits, with the properties MORE before all."
  (append more
          (list :id id :status "pending" :shown (concat "hash-" id)
                :session "s1" :turn "t1" :tool "write-file"
                :title (concat "Write " id)
                :asked-by '(("permissions" "writes ask")) :size 100000
                :args '((:name "path" :size 6 :kind "text")
                        (:name "content" :size 1 :kind "text"))
                :created "2026-01-01T10:00:00Z"
                :expires "2026-01-02T10:00:00Z")))

(defun passepartout-plan-tests--page (id from)
  "Return the page of the plan ID that begins at FROM, a number of pages."
  (let* ((pages (or (cdr (assoc id passepartout-plan-tests--pages))
                    `((:body ,(concat "write /tmp/" id "\nline\n"))
                      (:asked "permissions: writes ask\n")
                      (:why "because")
                      (:diff "--- a\n+++ b\n-x\n+y\n"))))
         (page (nth from pages))
         (plan (passepartout-plan--find id)))
    (append `(:plan ,id :from ,from :part ,(car page) :text ,(cadr page))
            (if (nthcdr (1+ from) pages)
                `(:next ,(1+ from))
              `(:shown ,(plist-get plan :shown))))))

(defun passepartout-plan-tests--look ()
  "Do what happens when Emacs has drawn its windows; answer for the core."
  (let ((answered nil) (again t))
    (while again
      (setq again nil)
      (with-current-buffer passepartout-plan--buffer-name
        (passepartout-plan--look))
      (dolist (asked (passepartout-fake-sent :plan-page))
        (let ((number (plist-get asked :request)))
          (when (and (gethash number passepartout-events--requests)
                     (not (memq number answered)))
            (push number answered)
            (setq again t)
            (passepartout-fake-inject
             :response `(:action :plan-page :request ,number
                         ,@(passepartout-plan-tests--page
                            (plist-get asked :plan)
                            (plist-get asked :from))))))))))

(defun passepartout-plan-tests--show (&rest plans)
  "Show PLANS in the buffer of plans, as if all had been there for long."
  (passepartout-flight-plans)
  (passepartout-fake-answer :plans `(:plans ,plans))
  (should (eq major-mode 'passepartout-plan-mode))
  (goto-char (point-min))
  (set-window-start nil (point-min))
  (passepartout-plan-tests--look)
  (setq passepartout-fake-time (+ passepartout-fake-time 10))
  (search-forward "* PLAN"))

(ert-deftest passepartout-plan-that-may-not-be-told-is-not-said-to-be-none ()
  (passepartout-fake-with
    (passepartout-flight-plans)
    (dolist (case '(((:error "this channel may not see what may be private")
                     "^Which plans wait is not told here: this channel may")
                    ((:plans nil) "^No plan waits for you\\.$")))
      (passepartout-fake-answer :plans (car case))
      (should (string-match-p
               (cadr case)
               (with-current-buffer "*Passepartout flight plans*"
                 (buffer-string))))
      (passepartout-plan--fetch nil))))

(defun passepartout-plan-tests--key (key)
  "Call the command that KEY is bound to."
  (call-interactively (key-binding (kbd key))))

(ert-deftest passepartout-plan-approves-exactly-what-is-shown ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (passepartout-plan-tests--key "C-c C-c")
    (should (equal (passepartout-fake-sent :approval)
                   '((:sensor :approval :plan "P1" :shown "hash-P1"))))
    (should-error (passepartout-plan-tests--key "C-c C-c") :type 'user-error)
    (goto-char (point-min))
    (search-forward "* APPROVED")
    (should-error (passepartout-plan-tests--key "C-c C-c") :type 'user-error)
    (should (= 1 (length (passepartout-fake-sent :approval))))))

(ert-deftest passepartout-plan-looks-as-it-should ()
  (passepartout-fake-with
   (let ((passepartout-plan-tests--pages
          '(("P1" (:body "* not a heading\n:END:\n[[elisp:(x)][safe]]\n\n")
             (:body "last\n") (:asked "permissions: writes ask\n")
             (:why "because") (:diff "--- a\n+++ b\n-x\n+y\n")))))
    (passepartout-plan-tests--show
     (passepartout-plan-tests--plan "P1" :created nil :expires nil))
    (should (string-match-p
             (regexp-quote "
What will happen
: * not a heading
: :END:
: [[elisp:(x)][safe]]
:
: last

Why you are asked
: permissions: writes ask

Why the agent wants it
: because

The change
: --- a
: +++ b
: -x
: +y

End of plan P1.
")
             (buffer-string)))
    (should (string-match-p "^\\* PLAN Write P1 :FLIGHT_PLAN:$"
                            (buffer-string)))
    (should buffer-read-only)
    ;; Nothing is hidden, however Emacs is asked to display it.
    (font-lock-ensure)
    (redisplay)
    (let ((position (point-min)))
      (while (< position (point-max))
        (should-not (invisible-p position))
        (should-not (get-char-property position 'display))
        (should-not (get-char-property position 'composition))
        (setq position (1+ position)))))))

(ert-deftest passepartout-plan-says-what-came-of-it ()
  (passepartout-fake-with
    (let (told)
      (cl-letf (((symbol-function 'message)
                 (lambda (format &rest arguments)
                   (when format
                     (push (apply #'format format arguments) told)))))
        (dolist (case '(("pending" "A flight plan waits: ") ("approved" nil)
                        ("done" "Carried out: ")
                        ("done" nil)))
          (setq told nil)
          (passepartout-fake-inject
           :event `(:action :plan-changed
                    :plan ,(plist-put (passepartout-plan-tests--plan "P1")
                                      :status (car case))))
          (if (cadr case)
              (should (string-prefix-p (cadr case) (car told)))
            (should-not told)))
        (dolist (case '(("stale" "Out of date, not carried out: ")
                        ("failed" "Failed: ")))
          (passepartout-fake-inject
           :event `(:action :plan-changed
                    :plan ,(plist-put (passepartout-plan-tests--plan (car case))
                                      :status "approved")))
          (passepartout-fake-inject
           :event `(:action :plan-changed
                    :plan ,(plist-put (passepartout-plan-tests--plan (car case))
                                      :status (car case))))
          (should (string-prefix-p (cadr case) (car told))))))))

(ert-deftest passepartout-plan-control-characters-are-escapes ()
  (passepartout-fake-with
    (let ((passepartout-plan-tests--pages
           '(("P1" (:body "rm\r\u202e x\u200b\0")))))
      (passepartout-plan-tests--show
       (passepartout-plan-tests--plan "P1" :title "a\nb\u2066c")))
    (should (string-match-p
             (regexp-quote ": rm\\u{D}\\u{202E} x\\u{200B}\\u{0}\n")
             (buffer-string)))
    (should (string-match-p (regexp-quote "* PLAN a b\\u{2066}c")
                            (buffer-string)))))

(ert-deftest passepartout-plan-org-hooks-do-not-run ()
  (let ((org-mode-hook (list (lambda () (error "Hook ran"))))
        (text-mode-hook nil))
    (passepartout-fake-with
      (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1")))))

(ert-deftest passepartout-plan-no-other-key-decides ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (dolist (key '("RET" "y" "a" "SPC" "n" "p" "TAB" "C-m"))
      (let ((command (key-binding (kbd key))))
        (when (commandp command)
          (condition-case nil
              (call-interactively command)
            (error nil)))))
    (should-not (passepartout-fake-sent :approval))
    (should-not (passepartout-fake-sent :denial))))

(ert-deftest passepartout-plan-waits-a-second ()
  (passepartout-fake-with
    (passepartout-flight-plans)
    (passepartout-fake-answer
     :plans `(:plans (,(passepartout-plan-tests--plan "P1"))))
    (passepartout-plan-tests--look)
    (goto-char (point-min))
    (search-forward "* PLAN")
    (passepartout-plan-tests--key "C-c C-c")
    (should-not (passepartout-fake-sent :approval))
    (setq passepartout-fake-time (+ passepartout-fake-time 0.9))
    (passepartout-plan-tests--key "C-c C-c")
    (should-not (passepartout-fake-sent :approval))
    (setq passepartout-fake-time (+ passepartout-fake-time 0.2))
    (passepartout-plan-tests--key "C-c C-c")
    (should (passepartout-fake-sent :approval))))

(ert-deftest passepartout-plan-a-new-plan-below-does-not-delay-this-one ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (passepartout-fake-inject
     :event `(:action :plan-parked :plan ,(passepartout-plan-tests--plan "P2")))
    (should (looking-at-p " Write P1"))
    (passepartout-plan-tests--look)
    (passepartout-plan-tests--key "C-c C-c")
    (should (equal "P1" (plist-get (car (passepartout-fake-sent :approval))
                                   :plan)))
    ;; The next plan came under point by itself: a second key at once
    ;; approves nothing.
    (should (looking-at-p "\\* PLAN Write P2"))
    (passepartout-plan-tests--key "C-c C-c")
    (should (= 1 (length (passepartout-fake-sent :approval))))
    ;; Nor does one that was only late: it says what it would approve.
    (setq passepartout-fake-time (+ passepartout-fake-time 1.1))
    (passepartout-plan-tests--key "C-c C-c")
    (passepartout-plan-tests--key "C-c C-c")
    (should (= 1 (length (passepartout-fake-sent :approval))))
    (setq passepartout-fake-time (+ passepartout-fake-time 1.1))
    (passepartout-plan-tests--key "C-c C-c")
    (should (= 2 (length (passepartout-fake-sent :approval))))))

(ert-deftest passepartout-plan-one-that-is-gone-to-is-approved-at-once ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1")
                                   (passepartout-plan-tests--plan "P2"))
    (passepartout-plan-tests--key "C-c C-c")
    (setq passepartout-fake-time (+ passepartout-fake-time 1.1))
    (let ((this-command #'forward-char))
      (run-hooks 'pre-command-hook)
      (call-interactively #'forward-char))
    (let ((this-command #'passepartout-plan-approve))
      (run-hooks 'pre-command-hook)
      (passepartout-plan-tests--key "C-c C-c"))
    (should (equal '("P2" "P1")
                   (sort (mapcar (lambda (sent) (plist-get sent :plan))
                                 (passepartout-fake-sent :approval))
                         #'string>)))))

(ert-deftest passepartout-plan-a-plan-that-changed-must-be-seen-again ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (passepartout-fake-inject
     :event `(:action :plan-changed
              :plan ,(passepartout-plan-tests--plan "P1" :shown "hash-new")))
    (passepartout-plan-tests--look)
    (passepartout-plan-tests--key "C-c C-c")
    (should-not (passepartout-fake-sent :approval))
    (setq passepartout-fake-time (+ passepartout-fake-time 1.1))
    (passepartout-plan-tests--key "C-c C-c")
    (should (equal "hash-new"
                   (plist-get (car (passepartout-fake-sent :approval))
                              :shown)))))

(ert-deftest passepartout-plan-data-behind-the-display-are-not-approved ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (passepartout-plan--store
     (passepartout-plan-tests--plan "P1" :shown "hash-hidden"))
    (should-error (passepartout-plan-tests--key "C-c C-c") :type 'user-error)
    (should-not (passepartout-fake-sent :approval))))

(ert-deftest passepartout-plan-hidden-text-is-not-approved ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (beginning-of-line)
    (org-cycle)
    (should-error (passepartout-plan-tests--key "C-c C-c") :type 'user-error)
    (should-not (passepartout-fake-sent :approval))
    (passepartout-plan-tests--look)
    (setq passepartout-fake-time (+ passepartout-fake-time 1.1))
    (passepartout-plan-tests--key "C-c C-c")
    (should (passepartout-fake-sent :approval))))

(ert-deftest passepartout-plan-denies-with-a-reason ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (cl-letf (((symbol-function 'read-string) (lambda (&rest _) "not now")))
      (passepartout-plan-tests--key "C-c C-k"))
    (should (equal (passepartout-fake-sent :denial)
                   '((:sensor :denial :plan "P1" :reason "not now"))))
    (should (string-match-p "^\\* DENIED" (buffer-string)))))

(ert-deftest passepartout-plan-a-reason-denies-the-plan-that-it-is-about ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1")
                                   (passepartout-plan-tests--plan "P2"))
    (cl-letf (((symbol-function 'read-string)
               (lambda (prompt &rest _)
                 (should (string-search "Write P1" prompt))
                 ;; Meanwhile point moves on to the plan that waits still.
                 (passepartout-fake-inject
                  :event `(:action :plan-changed
                           :plan ,(passepartout-plan-tests--plan
                                   "P1" :status "stale")))
                 (should (looking-at-p "\\* PLAN Write P2"))
                 "P1 is wrong")))
      (should-error (passepartout-plan-tests--key "C-c C-k")
                    :type 'user-error))
    (should-not (passepartout-fake-sent :denial))
    ;; When both wait, it is the plan of the question, wherever point is.
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P3")
                                   (passepartout-plan-tests--plan "P4"))
    (goto-char (passepartout-plan--start "P3"))
    (cl-letf (((symbol-function 'read-string)
               (lambda (&rest _)
                 (goto-char (passepartout-plan--start "P4"))
                 "P3 is wrong")))
      (passepartout-plan-tests--key "C-c C-k"))
    (should (equal (passepartout-fake-sent :denial)
                   '((:sensor :denial :plan "P3" :reason "P3 is wrong"))))))

(defun passepartout-plan-tests--argument (text)
  "Let the core answer with TEXT, all of an argument."
  (passepartout-fake-answer
   :plan-argument
   `(:slice 1 :text ,text :hash ,(passepartout-events-chain 1 nil text))))

(ert-deftest passepartout-plan-a-text-that-came-otherwise-is-not-edited ()
  (passepartout-fake-with
    (cl-letf (((symbol-function 'completing-read)
               (lambda (&rest _) "content")))
      (dolist (answers
               `(((:slice 2 :text "a"))
                 ((:text "a"))
                 ((:slice 1 :text "a"))
                 ((:slice 1 :text "a" :hash ,(make-string 64 ?0)))
                 ((:slice 1 :text "a" :next 1) (:slice 1 :text "a" :next 1))
                 ((:slice 1 :text "a" :next 1)
                  (:slice 2 :text "b" :hash ,(passepartout-events-chain
                                              1 nil "ab")))))
        (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
        (passepartout-plan-tests--key "C-c C-e")
        (dolist (answer answers)
          (passepartout-fake-answer :plan-argument answer))
        (should buffer-read-only)
        (should-error (passepartout-plan-edit-finish) :type 'user-error)
        (should-not (passepartout-fake-sent :edit-plan))
        ;; It is fetched anew when it is wanted again.
        (switch-to-buffer passepartout-plan--buffer-name)
        (passepartout-plan-tests--key "C-c C-e")
        (passepartout-plan-tests--argument "whole")
        (should (equal (buffer-string) "whole"))
        (should-not buffer-read-only)
        (kill-buffer)))))

(ert-deftest passepartout-plan-an-edit-that-was-not-taken-is-gone-on-with ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (cl-letf (((symbol-function 'completing-read)
               (lambda (&rest _) "content")))
      (passepartout-plan-tests--key "C-c C-e")
      (passepartout-plan-tests--argument "old")
      (insert "an hour of work ")
      (passepartout-plan-tests--key "C-c C-c")
      (passepartout-fake-settle)
      (passepartout-fake-answer :edit-plan '(:error "Refused."))
      (should (eq major-mode 'passepartout-plan-mode))
      (goto-char (passepartout-plan--start "P1"))
      (passepartout-plan-tests--key "C-c C-e")
      (should (equal (buffer-string) "an hour of work old"))
      (should (= 1 (length (passepartout-fake-sent :plan-argument))))
      ;; Text that nobody changed is fetched anew.
      (set-buffer-modified-p nil)
      (switch-to-buffer passepartout-plan--buffer-name)
      (passepartout-plan-tests--key "C-c C-e")
      (passepartout-plan-tests--argument "new")
      (should (equal (buffer-string) "new")))))

(ert-deftest passepartout-plan-edits-an-argument ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1")
                                   (passepartout-plan-tests--plan "P2"))
    (cl-letf (((symbol-function 'completing-read)
               (lambda (&rest _) "content")))
      (passepartout-plan-tests--key "C-c C-e"))
    (should (eq major-mode 'passepartout-plan-edit-mode))
    ;; The text comes in slices, and can be changed when all is there.
    (passepartout-fake-answer :plan-argument
                              '(:slice 1 :text "a\n" :next 2))
    (should-error (insert "x") :type 'buffer-read-only)
    (should (equal (plist-get (car (last (passepartout-fake-sent
                                          :plan-argument)))
                              :from)
                   2))
    (passepartout-fake-answer
     :plan-argument
     `(:slice 2 :text "y"
       :hash ,(passepartout-events-chain
               2 (passepartout-events-chain 1 nil "a\n") "y")))
    (should (equal (buffer-string) "a\ny"))
    (goto-char (point-max))
    (insert (make-string 70000 ?語))
    (let ((whole (buffer-string)))
      (passepartout-plan-tests--key "C-c C-c")
      (passepartout-fake-settle)
      (let ((sent (passepartout-fake-sent :edit-plan)))
        (should (equal (mapcar (lambda (each) (plist-get each :plan)) sent)
                       (make-list (length sent) "P1")))
        (should (equal (mapconcat (lambda (each) (plist-get each :value))
                                  sent "")
                       whole))
        (should (equal (mapcar (lambda (each) (plist-get each :slice)) sent)
                       (number-sequence 1 (length sent))))
        (should (plist-get (car (last sent)) :hash))
        (should (plist-get (car sent) :more))
        (should-not (plist-get (car (last sent)) :more))))
    (should-not (passepartout-fake-sent :approval))
    ;; An edit that is not taken loses nothing.
    (passepartout-fake-answer :edit-plan '(:error "Refused."))
    (let ((buffer (get-buffer "*Passepartout edit: content of P1*")))
      (should (> (buffer-size buffer) 70000))
      ;; The new plan stands elsewhere in the list, and point is on it.
      (passepartout-fake-inject
       :event `(:action :plan-changed
                :plan ,(passepartout-plan-tests--plan "P1" :status "replaced")))
      (passepartout-fake-inject
       :event `(:action :plan-parked :plan ,(passepartout-plan-tests--plan "P3")))
      (with-current-buffer buffer
        (passepartout-plan--edit-answered
         `(:plan ,(passepartout-plan-tests--plan "P3")) buffer))
      (should-not (buffer-live-p buffer)))
    (switch-to-buffer passepartout-plan--buffer-name)
    (should (looking-at-p "\\* PLAN Write P3"))
    (passepartout-plan-tests--look)
    (passepartout-plan-tests--key "C-c C-c")
    (should-not (passepartout-fake-sent :approval))))

(defun passepartout-plan-tests--lines (from to)
  "Return the lines from FROM to TO."
  (mapconcat (lambda (n) (format "+line %d of a file that is rather long\n" n)) (number-sequence from to) ""))

(defmacro passepartout-plan-tests--in-low-window (&rest body)
  "Run BODY with a long plan in a window of twenty lines."
  (declare (indent 0) (debug t))
  `(passepartout-fake-with
     (let ((passepartout-plan-tests--pages
            `(("P1" (:body "write\n")
               (:diff ,(passepartout-plan-tests--lines 1 300))
               (:diff ,(passepartout-plan-tests--lines 301 600)))))
           (passepartout-plan--window-end
            (lambda (window)
              (save-excursion
                (goto-char (window-start window))
                (forward-line 20)
                (point)))))
       (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
       ,@body)))

(ert-deftest passepartout-plan-what-was-not-displayed-is-not-approved ()
  (passepartout-plan-tests--in-low-window
    ;; Only the pages that are near come.
    (should (search-forward ": +line 300" nil t))
    (should-not (search-forward ": +line 301" nil t))
    (goto-char (passepartout-plan--start "P1"))
    (let ((keys 0) (seen 0) start)
      (while (not (passepartout-fake-sent :approval))
        (should (< (cl-incf keys) 100))
        (passepartout-plan-tests--key "C-c C-c")
        (unless (passepartout-fake-sent :approval)
          ;; It went on to what follows, without a gap.
          (setq start (window-start))
          (should (<= (window-start) (+ (passepartout-plan--start "P1")
                                        (passepartout-plan--entry-seen
                                         (ewoc-data (passepartout-plan--node
                                                     "P1"))))))
          (passepartout-plan-tests--look)
          (should (>= start seen))
          (setq seen start)
          ;; At once, it is ignored.
          (passepartout-plan-tests--key "C-c C-c")
          (should-not (passepartout-fake-sent :approval))
          (should (= start (window-start)))
          (setq passepartout-fake-time (+ passepartout-fake-time 1.1))))
      (should (> keys (/ 600 20)))
      (should (equal (plist-get (car (passepartout-fake-sent :approval)) :shown)
                     "hash-P1")))))

(defun passepartout-plan-tests--told ()
  "Return the plans that the core was told were displayed, in their order."
  (mapcar (lambda (payload)
            (list (plist-get payload :plan) (plist-get payload :shown)))
          (passepartout-fake-sent :plan-displayed)))

(ert-deftest passepartout-plan-what-was-only-fetched-is-not-said-to-be-displayed ()
  (passepartout-plan-tests--in-low-window
    (let ((passepartout-plan-tests--pages
           `(("P1" (:body ,(passepartout-plan-tests--lines 1 14))))))
      (passepartout-plan--started)
      (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
      (passepartout-fake-inject
       :event `(:action :plan-parked :plan ,(passepartout-plan-tests--plan "P2")))
      (passepartout-plan-tests--look)
      ;; P2 stands below the window; all of it was fetched.
      (should (passepartout-plan--entry-whole
               (ewoc-data (passepartout-plan--node "P2"))))
      (goto-char (passepartout-plan--start "P1"))
      (set-window-start nil (point))
      (passepartout-plan-tests--look)
      (should (equal (passepartout-plan-tests--told) '(("P1" "hash-P1"))))
      ;; What comes into view is told after a second, and once.
      (goto-char (passepartout-plan--start "P2"))
      (set-window-start nil (point))
      (passepartout-plan-tests--look)
      (should (equal (passepartout-plan-tests--told) '(("P1" "hash-P1"))))
      (should (timerp passepartout-plan--later))
      (setq passepartout-fake-time (+ passepartout-fake-time 1.1))
      (passepartout-plan-tests--look)
      (passepartout-plan-tests--look)
      (should (equal (passepartout-plan-tests--told)
                     '(("P1" "hash-P1") ("P2" "hash-P2"))))
      (should-not (passepartout-fake-sent :approval)))))

(ert-deftest passepartout-plan-an-approval-follows-that-it-was-displayed ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (should-not (passepartout-plan-tests--told))
    (passepartout-plan-tests--key "C-c C-c")
    (should (equal (passepartout-plan-tests--told) '(("P1" "hash-P1"))))
    (should (passepartout-fake-sent :approval))
    ;; Another core, or a plan that is drawn anew, is told anew.
    (passepartout-plan--started)
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (passepartout-plan-tests--look)
    (should (= 2 (length (passepartout-plan-tests--told))))))

(ert-deftest passepartout-plan-going-to-the-end-is-not-reading ()
  (passepartout-plan-tests--in-low-window
    (while (passepartout-plan--entry-next
            (ewoc-data (passepartout-plan--node "P1")))
      (goto-char (point-max))
      (forward-line -15)
      (set-window-start nil (point))
      (passepartout-plan-tests--look))
    (goto-char (passepartout-plan--start "P1"))
    (passepartout-plan-tests--key "C-c C-c")
    (should-not (passepartout-fake-sent :approval))
    (should-not (passepartout-plan-tests--told))
    ;; It leads back to where the gap begins.
    (should (< (line-number-at-pos) 30))))

(ert-deftest passepartout-plan-long-lines-are-broken-where-it-can-be-seen ()
  (passepartout-fake-with
    (let ((passepartout-plan-tests--pages
           `(("P1" (:body ,(concat "a\n" (make-string 900 ?x)))
              (:body ,(concat (make-string 10 ?z) "\nb\n"))))))
      (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1")))
    (goto-char (point-min))
    (search-forward "What will happen\n")
    (let ((lines (split-string
                  (buffer-substring-no-properties (point) (point-max)) "\n")))
      (should (equal (mapcar (lambda (line) (substring line 0 (min 5 (length line))))
                             (seq-take lines 7))
                     '(": a" ": xxx" "  : x" "  : x" "  : z" ": b" ""))))))

(ert-deftest passepartout-plan-a-core-that-started-again-is-asked-for-the-text ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "P1"))
    (let ((asked (length (passepartout-fake-sent :plan-page))))
      (passepartout-plan--started)
      (passepartout-fake-answer
       :plans `(:plans (,(passepartout-plan-tests--plan "P1"))))
      (passepartout-plan-tests--look)
      (should (= (length (passepartout-fake-sent :plan-page)) (* 2 asked))))))

(ert-deftest passepartout-plan-an-event-costs-the-same-however-long-the-plan ()
  (passepartout-fake-with
    (let* ((text (passepartout-plan-tests--lines 1 400))
           (passepartout-plan-tests--pages
            (list (cons "P1" (make-list 100 (list :diff text)))))
           (cost (lambda ()
                   (garbage-collect)
                   (let ((gcs gcs-done)
                         (entry (ewoc-data (passepartout-plan--node "P1")))
                         (start (float-time)))
                     (dotimes (_ 5)
                       (passepartout-plan--insert-page
                        entry (passepartout-plan-tests--page
                               "P1" (passepartout-plan--entry-next entry))))
                     (and (= gcs gcs-done) (- (float-time) start))))))
      (passepartout-flight-plans)
      (passepartout-fake-answer
       :plans `(:plans (,(passepartout-plan-tests--plan "P1"))))
      (let* ((inhibit-read-only t)
             (gc-cons-threshold most-positive-fixnum)
             (first (funcall cost))
             (_ (dotimes (_ 16) (funcall cost)))
             (last (funcall cost)))
        (should (< last (+ 0.05 (* 5 first))))))))

(defun passepartout-plan-tests--count (regexp)
  "Return how often REGEXP is in the buffer of plans."
  (with-current-buffer passepartout-plan--buffer-name
    (count-matches regexp (point-min) (point-max))))

(ert-deftest passepartout-plan-old-ones-are-forgotten ()
  (passepartout-fake-with
    (passepartout-plan-tests--show (passepartout-plan-tests--plan "WAITS")
                                   (passepartout-plan-tests--plan
                                    "GOES" :status "approved"))
    (let ((change (lambda (id status)
                    (passepartout-fake-inject
                     :event `(:action :plan-changed
                              :plan ,(passepartout-plan-tests--plan
                                      id :status status))))))
      (dotimes (n 49)
        (funcall change (format "P%d" n) "done"))
      (should (= 49 (passepartout-plan-tests--count "^\\* DONE")))
      (should (= 0 (passepartout-plan-tests--count "plans list --all")))
      (dotimes (n 51)
        (funcall change (format "P%d" (+ 49 n)) "done"))
      (should (= 50 (passepartout-plan-tests--count "^\\* DONE")))
      (should (= 1 (passepartout-plan-tests--count "plans list --all")))
      (should (= 1 (passepartout-plan-tests--count "^\\* PLAN Write WAITS")))
      (should (= 1 (passepartout-plan-tests--count "^\\* APPROVED Write GOES")))
      (should (= 52 (length (passepartout-plan--known))))
      (should (= 53 (hash-table-count passepartout-plan--nodes)))
      ;; What was decided last is the newest, however long it was known.
      (funcall change "WAITS" "denied")
      (should (= 49 (passepartout-plan-tests--count "^\\* DONE")))
      (should (passepartout-plan--find "WAITS"))
      (should-not (passepartout-plan--find "P50"))
      (should (passepartout-plan--find "P51"))
      ;; It is the same when all are drawn at once, and told again.
      (kill-buffer passepartout-plan--buffer-name)
      (passepartout-flight-plans)
      (passepartout-fake-answer
       :plans `(:plans ,(mapcar (lambda (n)
                                  (passepartout-plan-tests--plan
                                   (format "P%d" n) :status "done"))
                                (number-sequence 40 99))))
      (should (= 49 (passepartout-plan-tests--count "^\\* DONE")))
      (goto-char (point-min))
      (should (re-search-forward
               "^Decided\n\n\\* DENIED Write WAITS\\(?:.*\n\\)+\\* DONE Write P99 "
               nil t))
      (goto-char (point-min))
      (should (looking-at-p "\\(?:.*\n\\)*\\* DONE Write P51 .*\n.*\n\n\\* APPR.*\n.*\n\nOf the plans")))))

(ert-deftest passepartout-plan-takes-no-focus ()
  (passepartout-fake-with
    (switch-to-buffer "*scratch*")
    (passepartout-fake-inject
     :event `(:action :plan-parked :plan ,(passepartout-plan-tests--plan "P1")))
    (should (equal (buffer-name (window-buffer)) "*scratch*"))
    (should-not (get-buffer passepartout-plan--buffer-name))
    (should (string-match-p "1 plan" passepartout-status--mode-line))
    (passepartout-fake-inject
     :event `(:action :plan-changed
              :plan ,(passepartout-plan-tests--plan
                      "P1" :status "stale" :result "notes.org changed")))
    (should (string-empty-p passepartout-status--mode-line))
    (passepartout-flight-plans)
    (should (string-match-p "^\\* STALE Write P1 :FLIGHT_PLAN:\n.*\n: notes.org"
                            (buffer-string)))))

(ert-deftest passepartout-plan-redrawing-keeps-point-and-scroll ()
  (passepartout-fake-with
    (apply #'passepartout-plan-tests--show
           (mapcar (lambda (n)
                     (passepartout-plan-tests--plan (format "P%d" n)))
                   (number-sequence 1 30)))
    (goto-char (passepartout-plan--start "P20"))
    (forward-line 3)
    (set-window-point nil (point))
    (set-window-start nil (passepartout-plan--start "P19"))
    (let ((line (thing-at-point 'line)))
      (passepartout-fake-inject
       :event `(:action :plan-changed
                :plan ,(passepartout-plan-tests--plan "P3" :status "expired")))
      (should (equal line (thing-at-point 'line)))
      (should (eq (passepartout-plan--node "P20")
                  (passepartout-plan--node-at (point))))
      (should (= (window-start) (passepartout-plan--start "P19"))))))

(provide 'passepartout-plan-tests)
;;; passepartout-plan-tests.el ends here
