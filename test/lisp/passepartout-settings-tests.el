;;; passepartout-settings-tests.el --- Settings told and changed  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; What Emacs tells of its settings, what it refuses to change, and that
;; a change goes back with what was saved of it; the whole way with the
;; real module, too.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-real)
(require 'passepartout-settings)
(require 'cus-edit)

(defun passepartout-settings-tests--ask (action &rest payload)
  "Let the core ask for ACTION with PAYLOAD; return the answer."
  (setq passepartout-fake-sent nil)
  (passepartout-fake-inject :request `(:action ,action :request 7 ,@payload))
  (car (passepartout-fake-sent :editor-reply)))

(defmacro passepartout-settings-tests--kept (option value &rest body)
  "Run BODY while OPTION is VALUE, in an Emacs that saves into a file.
All that customize knows of OPTION is as it was after that.  FILE is the
file."
  (declare (indent 2) (debug t))
  `(let* ((file (make-temp-file "passepartout-custom" nil ".el"))
          (custom-file file)
          (user-init-file file)
          (init-file-had-error nil)
          (create-lockfiles nil)
          (make-backup-files nil)
          (before (default-value ,option))
          (kept (mapcar (lambda (property) (get ,option property))
                        passepartout-settings--properties)))
     (unwind-protect
         (progn
           (set-default ,option ,value)
           (dolist (property passepartout-settings--properties)
             (put ,option property nil))
           ,@body)
       (set-default ,option before)
       (cl-mapc (lambda (property value) (put ,option property value))
                passepartout-settings--properties kept)
       (when (find-buffer-visiting file)
         (with-current-buffer (find-buffer-visiting file)
           (set-buffer-modified-p nil)
           (kill-buffer)))
       (delete-file file))))

(defmacro passepartout-settings-tests--in (option value &rest body)
  "Run BODY as `passepartout-settings-tests--kept', with a core of paper.
OPTION and VALUE are as there."
  (declare (indent 2) (debug t))
  `(passepartout-settings-tests--kept ,option ,value
     (passepartout-fake-with ,@body)))

(defun passepartout-settings-tests--saved-p (file text)
  "Return non-nil when TEXT stands in FILE."
  (with-temp-buffer
    (insert-file-contents file)
    (search-forward text nil t)))

(ert-deftest passepartout-settings-an-option-is-told-whole ()
  (passepartout-settings-tests--in 'passepartout-plan-hours 48
    (let* ((answer (passepartout-settings-tests--ask
                    :settings :option "passepartout-plan-hours"))
           (row (car (plist-get answer :rows))))
      (should (plist-get answer :ok))
      (should (equal (plist-get row :value) "48"))
      (should (equal (plist-get row :standard) "nil"))
      (should (equal (plist-get row :state) "set outside of customize"))
      (should (string-prefix-p "Hours for which" (plist-get row :summary)))
      (should (string-match-p "PLAN_HOURS" (plist-get row :documentation)))
      (should (string-match-p "natnum" (plist-get row :kind))))
    (pcase-dolist (`(,saved ,customized ,said)
                   '(((48) nil "saved for good")
                     (((kill-emacs)) nil "saved for good is an expression")
                     ((12) (48) "set in this Emacs, not saved")))
      (put 'passepartout-plan-hours 'saved-value saved)
      (put 'passepartout-plan-hours 'customized-value customized)
      (should (equal (passepartout-settings--state 'passepartout-plan-hours)
                     said)))))

(ert-deftest passepartout-settings-are-found-by-words ()
  (passepartout-fake-with
    (cl-flet ((found (words)
                (mapcar (lambda (row) (plist-get row :option))
                        (plist-get (passepartout-settings-tests--ask
                                    :settings :words words)
                                   :rows))))
      (should (equal (car (found "plan hours")) "passepartout-plan-hours"))
      (should (member "passepartout-day-budget" (found "budget")))
      (should-not (found "zeppelin"))
      (should (< 30 (length (found ""))))
      (should-not (seq-find (lambda (name) (string-match-p "--" name))
                            (found ""))))
    (should-not (plist-get (passepartout-settings-tests--ask
                            :settings :option "load-path")
                           :rows))))

(ert-deftest passepartout-settings-tell-nothing-that-may-be-private ()
  (passepartout-settings-tests--in 'passepartout-providers
      '(("far" :url "https://me:CANARY@far.example"))
    (let ((passepartout-select-model-function (lambda (_) "CANARY")))
      (dolist (payload '((:option "passepartout-providers") (:words "provider")
                         (:option "passepartout-select-model-function")))
        (let ((answer (apply #'passepartout-settings-tests--ask
                             :settings payload)))
          (should (plist-get answer :rows))
          (should-not (string-match-p "CANARY" (format "%S" answer))))))
    (dolist (option passepartout-settings--withheld)
      (should (passepartout-settings--option-p option))
      (should-not (plist-member (passepartout-settings--row option t)
                                :value)))))

(ert-deftest passepartout-settings-a-change-is-weighed-and-made ()
  (passepartout-settings-tests--in 'passepartout-plan-hours nil
    (let ((found (passepartout-settings-tests--ask
                  :setting-weigh :option "passepartout-plan-hours"
                  :value 48 :save "stays")))
      (should (equal (list (plist-get found :now) (plist-get found :to)
                           (plist-get found :saved)
                           (plist-get found :saved-then))
                     '("nil" "48" nil nil)))
      (should-not passepartout-plan-hours))
    (should (plist-get (passepartout-settings-tests--ask
                        :setting-set :option "passepartout-plan-hours"
                        :value 48 :save "stays" :now "nil")
                       :ok))
    (should (equal passepartout-plan-hours 48))
    (should (get 'passepartout-plan-hours 'customized-value))
    (should-not (passepartout-settings-tests--saved-p file "plan-hours"))))

(ert-deftest passepartout-settings-what-was-saved-goes-back-too ()
  (passepartout-settings-tests--in 'passepartout-plan-hours nil
    (cl-flet ((set-it (&rest payload)
                (plist-get (apply #'passepartout-settings-tests--ask
                                  :setting-set
                                  :option "passepartout-plan-hours" payload)
                           :ok)))
      (should (set-it :value 48 :save "as" :saved 48 :now "nil"))
      (should (passepartout-settings-tests--saved-p file "plan-hours 48"))
      ;; To another value that was saved before, then to none at all.
      (should (set-it :value 3 :save "as" :saved 12 :now "48" :was-saved "48"))
      (should (equal passepartout-plan-hours 3))
      (should (passepartout-settings-tests--saved-p file "plan-hours 12"))
      (should (set-it :value nil :save "nothing" :now "3" :was-saved "12"))
      (should-not passepartout-plan-hours)
      (should-not (passepartout-settings-tests--saved-p file "plan-hours"))
      (dolist (property passepartout-settings--properties)
        (should-not (get 'passepartout-plan-hours property))))))

(ert-deftest passepartout-settings-the-setter-of-an-option-runs ()
  (let ((calls nil))
    (passepartout-settings-tests--in 'passepartout-plan-hours nil
      (unwind-protect
          (progn
            (put 'passepartout-plan-hours 'custom-set
                 (lambda (symbol value)
                   (push value calls) (set-default symbol value)))
            (passepartout-settings-tests--ask
             :setting-set :option "passepartout-plan-hours"
             :value 6 :save "stays" :now "nil"))
        (put 'passepartout-plan-hours 'custom-set nil)))
    (should (equal calls '(6)))))

(ert-deftest passepartout-settings-refusals-change-nothing ()
  (passepartout-settings-tests--in 'passepartout-plan-hours 5
    (dolist (case
             '((:option "passepartout-plan-hours" :value "x" :says "type")
               (:option "passepartout-plan-hours" :value -1 :says "type")
               (:option "passepartout-plan-hours"
                :value (lambda () (kill-emacs)) :says "type")
               (:option "passepartout-plan-hours" :value 6 :now "4"
                :says "has changed")
               (:option "passepartout-plan-hours" :value 6 :was-saved "1"
                :says "has changed")
               (:option "passepartout-plan-hours" :value 6 :save "maybe"
                :says "what to save")
               (:option "load-path" :value nil :says "no setting")
               (:option "passepartout-settings--prefix" :value nil
                :says "no setting")
               (:option "passepartout-no-such" :value nil :says "no setting")
               (:option "passepartout-select-model-function" :value ignore
                :says "yourself")
               (:option "passepartout-module-file" :value "/x"
                :says "yourself")
               (:option "passepartout-skills-directories" :value ("/x")
                :says "yourself")))
      (let* ((payload (append case '(:save "stays" :now "5")))
             (answer (apply #'passepartout-settings-tests--ask :setting-set
                            payload)))
        (ert-info ((format "%S" case))
          (should-not (plist-get answer :ok))
          (should (string-match-p (plist-get case :says)
                                  (plist-get answer :text))))))
    (should (equal passepartout-plan-hours 5))
    (should-not (get 'passepartout-plan-hours 'customized-value))))

(ert-deftest passepartout-settings-what-cannot-be-saved-is-not-changed ()
  (passepartout-settings-tests--in 'passepartout-plan-hours nil
    (cl-flet ((answer (action)
                (plist-get
                 (passepartout-settings-tests--ask
                  action :option "passepartout-plan-hours"
                  :value 6 :save "as" :saved 6 :now "nil")
                 :text)))
      (let ((user-init-file nil))
        (should (string-match-p "no file" (answer :setting-weigh))))
      (with-current-buffer (find-file-noselect file)
        (insert ";; unsaved\n"))
      (should (string-match-p "unsaved changes" (answer :setting-set)))
      (with-current-buffer (find-buffer-visiting file)
        (set-buffer-modified-p nil)
        (kill-buffer))
      (cl-letf (((symbol-function 'custom-save-all)
                 (lambda () (read-string "Really? "))))
        (should (string-match-p "not changed" (answer :setting-set))))
      (should-not passepartout-plan-hours)
      (dolist (property passepartout-settings--properties)
        (should-not (get 'passepartout-plan-hours property)))
      ;; What stands there now could not be put back.
      (put 'passepartout-plan-hours 'saved-value '((+ 1 2)))
      (should (string-match-p "expression" (answer :setting-weigh)))
      (put 'passepartout-plan-hours 'saved-value nil)
      (setq-default passepartout-plan-hours "three")
      (should (string-match-p "yourself" (answer :setting-weigh))))))

(defun passepartout-settings-tests--rows (file)
  "Return the rows of the table of settings in FILE, (NAME DEFAULT)."
  (with-temp-buffer
    (insert-file-contents file)
    (let ((rows nil))
      (when (re-search-forward "^| setting +| default +| what it does |$" nil t)
        (forward-line 2)
        (while (looking-at "^| ~\\([^~|]+\\)~ +| ~\\([^~|]*\\)~ +| [^|]+ |$")
          (push (list (match-string 1) (match-string 2)) rows)
          (forward-line 1))
        (should-not (looking-at "|")))
      (nreverse rows))))

(ert-deftest passepartout-settings-of-the-built-in-gates-are-as-their-skills-say ()
  (let* ((root (file-name-directory
                (directory-file-name
                 (file-name-directory (locate-library "passepartout.el" t)))))
         (manual (with-temp-buffer
                   (insert-file-contents
                    (expand-file-name "docs/manual.org" root))
                   (buffer-string)))
         (named nil))
    (dolist (gate '(("policy" . 0) ("permissions" . 1) ("vault" . 5)
                    ("dispatcher" . 9) ("validator" . 0)))
      (let* ((file (expand-file-name (format "skills/%s.org" (car gate)) root))
             (rows (passepartout-settings-tests--rows file)))
        (should (= (length rows) (cdr gate)))
        (when (null rows)
          (with-temp-buffer
            (insert-file-contents file)
            (should (search-forward "It has no setting" nil t))))
        (pcase-dolist (`(,name ,default) rows)
          (push name named)
          (ert-info ((format "%s of %s" name (car gate)))
            (if (string-match-p "\\`[A-Z_]+\\'" name)
                (should (string-match-p
                         (format "=%s= | | %s |" name default) manual))
              (let ((option (passepartout-settings--option name)))
                (should option)
                (should (equal default
                               (passepartout-settings--print
                                (passepartout-settings--standard
                                 option))))))))))
    (should (member "passepartout-permissions" named))))

(ert-deftest passepartout-undo-setting-asks-and-shows-the-plan ()
  (passepartout-fake-with
    (let ((shown nil))
      (cl-letf (((symbol-function 'passepartout-flight-plans)
                 (lambda () (setq shown t))))
        (passepartout-undo-setting "abc")
        (should (equal (plist-get (car (passepartout-fake-sent :setting-undo))
                                  :change)
                       "abc"))
        (passepartout-fake-answer :setting-undo '(:text "A plan waits."))
        (should shown)))))

;;;; With the real module

(ert-deftest passepartout-settings-real-a-change-is-approved-and-put-back ()
  (passepartout-settings-tests--kept 'passepartout-plan-hours nil
    (passepartout-real-with
      (passepartout-real-write "memex/work.org" "* Boat\n")
      (passepartout-real-serve
       `((call "c1" "setting-change"
               ,(passepartout-real-args
                 "explanation" "You want plans to wait for longer."
                 "option" "passepartout-plan-hours" "value" "48" "keep" t)))
       '((text "So be it.")))
      (passepartout-real-start)
      (passepartout-real-ask "/settings plan-hours")
      (should (string-search "Value: nil (as it is without a setting)"
                             (passepartout-real-answer 1)))
      (passepartout-real-ask "change the setting: plans wait for two days")
      (should (string-match-p "^- result :: parked$"
                              (passepartout-real-answer 2)))
      (should-not passepartout-plan-hours)
      (passepartout-real-plan "Set passepartout-plan-hours to 48 for good")
      (should (string-search "value now: nil\n" (buffer-string)))
      (passepartout-real-key "C-c C-c")
      (passepartout-real-answer 3)
      (should (equal passepartout-plan-hours 48))
      (should (passepartout-settings-tests--saved-p file "plan-hours 48"))
      (switch-to-buffer (passepartout-real-chat))
      (let ((shown nil))
        (cl-letf (((symbol-function 'passepartout-flight-plans)
                   (lambda () (setq shown t))))
          (passepartout-undo-setting)
          (passepartout-real-until shown)))
      (passepartout-real-plan "Put passepartout-plan-hours back to nil")
      (passepartout-real-key "C-c C-c")
      (passepartout-real-until (null passepartout-plan-hours))
      (should-not (passepartout-settings-tests--saved-p file "plan-hours")))))

(provide 'passepartout-settings-tests)
;;; passepartout-settings-tests.el ends here
