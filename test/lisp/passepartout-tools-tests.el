;;; passepartout-tools-tests.el --- Tools of your own  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; A declaration that cannot be used is an error at once; one that can
;; is told to every core that starts; and whatever the function does,
;; the core hears one bounded answer.  The second half goes through the
;; real module, with a scripted model.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-real)
(require 'passepartout-tools)

(defmacro passepartout-tools-tests--with (&rest body)
  "Run BODY with a core of paper and no tools."
  (declare (indent 0) (debug t))
  `(let ((passepartout-tools--own nil)
         (passepartout-tools--told nil))
     (passepartout-fake-with ,@body)))

(defun passepartout-tools-tests--define (&rest plist)
  "Declare a tool that echoes its town, with PLIST before the usual keys."
  (apply #'passepartout-define-tool
         (or (plist-get plist :name) "weather")
         (if (plist-member plist :doc) (plist-get plist :doc)
           "Tell the weather.")
         (append
          (let (rest)
            (while plist
              (unless (memq (car plist) '(:name :doc))
                (setq rest (append rest (list (car plist) (cadr plist)))))
              (setq plist (cddr plist)))
            rest)
          (list :effect 'read
                :args '((town text "where"))
                :function (lambda (args reply)
                            (funcall reply (plist-get args :town)))))))

(defun passepartout-tools-tests--settle ()
  "Run the calls that are due."
  (dolist (timer (copy-sequence timer-list))
    (when (eq (timer--function timer) 'passepartout-tools--call)
      (cancel-timer timer)
      (apply (timer--function timer) (timer--args timer))))
  (passepartout-fake-settle))

(defun passepartout-tools-tests--call (&rest payload)
  "Let the core call the tool weather with PAYLOAD; return all answers."
  (setq passepartout-fake-sent nil)
  (passepartout-fake-inject
   :request
   `(:action :own-tool :request 7 ,@payload
     :tool "weather"
     :mark ,(plist-get (cdr (assoc "weather" passepartout-tools--own)) :mark)
     :args (("town" "Lisbon")) :characters 1000))
  (passepartout-tools-tests--settle)
  (passepartout-fake-sent :editor-reply))

;;;; Declaring

(ert-deftest passepartout-tools-a-bad-declaration-is-an-error-at-once ()
  (passepartout-tools-tests--with
    (pcase-dolist
        (`(,expected . ,plist)
         '(("a name is a string" :name "Weather")
           ("has that name; choose another one" :name "shell")
           ("has that name; choose another one" :name "restore")
           ("description is missing" :doc " ")
           ("its :effect is missing; it is one of pure, read" :effect nil)
           ("its :effect is `none'" :effect none)
           ("its :effect is `\"read\"'" :effect "read")
           (":function is missing or is no function" :function 7)
           (":function is missing or is no function" :function nil)
           (":colour is not known" :colour red)
           ("is no argument; it is (ARGUMENT TYPE DESCRIPTION)" :args (town))
           ("`Town' is no name for an argument" :args ((Town text "x")))
           ("word is no type; it is one of text" :args ((town word "x")))
           ("(one-of) is no type" :args ((town (one-of) "x")))
           ("the least it may be is more" :args ((town (number 3 1) "x")))
           (":maybe t) is not known" :args ((town text "x" :maybe t)))
           (":paths names `file', which is no argument" :paths (file))
           (":hosts is a list" :hosts town)
           (":seconds is a whole number from 1 to 600" :seconds 0)
           (":characters is a whole number" :characters "many")))
      (let ((problem (should-error
                      (apply #'passepartout-tools-tests--define plist)
                      :type 'passepartout-tool-error)))
        (should (string-match-p expected (cadr problem)))))
    (should-not passepartout-tools--own)
    (should-not (passepartout-fake-sent :define-tool))))

(ert-deftest passepartout-tools-each-core-that-starts-is-told ()
  (passepartout-tools-tests--with
    (passepartout-tools-tests--define
     :effect 'network :seconds 9
     :args '((url text "the address")
             (unit (one-of "c" "f") "the unit" :optional t)
             (days (number 1 7) "how many" :optional t)
             (loud flag "aloud" :optional t)
             (tags (texts 3) "tags" :optional t))
     :hosts '(url))
    (let ((told (car (passepartout-fake-sent :define-tool))))
      (should (equal (plist-get told :effect) "network"))
      (should (equal (plist-get told :hosts) '("url")))
      (should (equal (plist-get told :seconds) 9))
      (should (equal (plist-get (car (plist-get told :args)) :required) t))
      (should (string-match-p "\\`[0-9a-f]\\{64\\}\\'" (plist-get told :mark)))
      (setq passepartout-fake-sent nil)
      (passepartout-stop)
      (passepartout-start)
      (should (equal (plist-put (copy-sequence told) :request 0)
                     (plist-put (copy-sequence
                                 (car (passepartout-fake-sent :define-tool)))
                                :request 0))))
    ;; The same again is the same; another function is another tool.
    (let ((mark (lambda () (plist-get (cdr (assoc "weather"
                                                  passepartout-tools--own))
                                      :mark)))
          first)
      (passepartout-tools-tests--define)
      (setq first (funcall mark))
      (passepartout-tools-tests--define)
      (should (equal (funcall mark) first))
      (passepartout-tools-tests--define :function (lambda (_ reply)
                                                    (funcall reply "rain")))
      (should-not (equal (funcall mark) first))
      (should (= (length passepartout-tools--own) 1)))
    (passepartout-undefine-tool "weather")
    (should (equal (plist-get (car (passepartout-fake-sent :undefine-tool))
                              :name)
                   "weather"))
    (should-not passepartout-tools--own)
    (should-error (passepartout-undefine-tool "weather")
                  :type 'passepartout-tool-error)))

;;;; Answering

(ert-deftest passepartout-tools-a-call-is-answered-once ()
  (passepartout-tools-tests--with
    (passepartout-tools-tests--define)
    (let ((answers (passepartout-tools-tests--call)))
      (should (= (length answers) 1))
      (should (plist-get (car answers) :ok))
      (should (equal (plist-get (car answers) :text) "Lisbon"))
      (should (equal (plist-get (car answers) :request) 7)))
    ;; Twice: the first answer counts, and the log says so.
    (passepartout-tools-tests--define
     :function (lambda (_ reply) (funcall reply "rain") (funcall reply "sun")
                 (error "And then it breaks")))
    (let ((answers (passepartout-tools-tests--call)))
      (should (equal (mapcar (lambda (answer) (plist-get answer :text)) answers)
                     '("rain"))))
    (should (string-search "answered more than once"
                           (format "%s" passepartout-events--notes)))
    ;; Later.
    (let (later)
      (passepartout-tools-tests--define
       :function (lambda (_ reply) (setq later reply)))
      (should-not (passepartout-tools-tests--call))
      (funcall later "at last")
      (should (equal (plist-get (car (passepartout-fake-sent :editor-reply))
                                :text)
                     "at last"))
      ;; What answers a core that has ended answers nobody.
      (passepartout-tools-tests--call)
      (passepartout-stop)
      (passepartout-start)
      (setq passepartout-fake-sent nil)
      (funcall later "too late")
      (should-not (passepartout-fake-sent :editor-reply)))))

(ert-deftest passepartout-tools-names-mean-the-same-in-each-buffer ()
  (passepartout-tools-tests--with
    (passepartout-tools-tests--define
     :function (lambda (_ reply) (funcall reply (expand-file-name "x.org"))))
    (let ((project (make-temp-file "project" t)))
      (pcase-dolist (`(,judged-for ,meant)
                     `((,project ,(expand-file-name "x.org" project))
                       (,(concat project "/gone") ,(expand-file-name "~/x.org"))
                       ("/ssh:host.invalid:/" ,(expand-file-name "~/x.org"))
                       ("project" ,(expand-file-name "~/x.org"))
                       (nil ,(expand-file-name "~/x.org"))))
        (dolist (folder '("/" "/tmp/" "/ssh:host.invalid:/"))
          (with-temp-buffer
            (setq default-directory folder)
            (should (equal (plist-get (car (passepartout-tools-tests--call
                                            :directory judged-for))
                                      :text)
                           meant))
            (should (equal default-directory folder)))))
      (delete-directory project))))

(ert-deftest passepartout-tools-what-goes-wrong-is-told ()
  (passepartout-tools-tests--with
    (pcase-dolist
        (`(,expected ,function)
         `(("weather failed: No such town"
            ,(lambda (_ _) (error "No such town")))
           ("weather failed: closed today"
            ,(lambda (_ reply) (funcall reply nil "closed today")))
           ("weather failed: it answered with no text"
            ,(lambda (_ reply) (funcall reply 42)))
           ("weather failed: the user stopped it"
            ,(lambda (_ _) (signal 'quit nil)))
           ("weather failed: it would have to ask the user something"
            ,(lambda (_ reply)
               (funcall reply (read-from-minibuffer "Which town? "))))))
      (passepartout-tools-tests--define :function function)
      (let ((answers (passepartout-tools-tests--call)))
        (should (= (length answers) 1))
        (should-not (plist-get (car answers) :ok))
        (should (plist-get (car answers) :begun))
        (should (equal (plist-get (car answers) :text) expected))))
    ;; One that was declared anew, or is none any more, is not begun.
    (let* ((called nil)
           (count (lambda (_ _) (setq called t))))
      (passepartout-tools-tests--define :function count)
      (let ((answer (car (passepartout-tools-tests--call :mark "of another"))))
        (should-not (plist-get answer :begun))
        (should (string-search "declared anew" (plist-get answer :text))))
      (setq passepartout-tools--own nil)
      (let ((answer (car (passepartout-tools-tests--call))))
        (should-not (plist-get answer :begun))
        (should (string-search "no tool weather" (plist-get answer :text))))
      (should-not called))))

(ert-deftest passepartout-tools-an-answer-is-bounded-and-can-be-sent ()
  (passepartout-tools-tests--with
    (passepartout-tools-tests--define
     :function (lambda (_ reply)
                 (funcall reply (concat "begin" (make-string 200000 ?x)
                                        "\x3fffff end"))))
    (let* ((answers (passepartout-tools-tests--call))
           (text (mapconcat (lambda (answer) (plist-get answer :text))
                            answers "")))
      (should (<= (length text) 1000))
      (should (string-match-p "\\`begin\\(?:.\\|\n\\)*are left out\\(?:.\\|\n\\)* end\\'"
                              text))
      (should-not (string-match-p passepartout-events--foreign text)))
    (let* ((answers (passepartout-tools-tests--call :characters 150000))
           (text (mapconcat (lambda (answer) (plist-get answer :text))
                            answers "")))
      (should (< 1 (length answers)))
      (should-not (plist-get (car (last answers)) :more))
      (should (plist-get (car (last answers)) :hash))
      (should (equal (mapcar (lambda (answer) (plist-get answer :slice)) answers)
                     (number-sequence 1 (length answers))))
      (should (<= 100000 (length text) 150000)))))

(ert-deftest passepartout-tools-a-refusal-of-the-core-is-told-once ()
  (passepartout-tools-tests--with
    (let ((told nil))
      (cl-letf (((symbol-function 'passepartout-events--tell)
                 (lambda (_ text) (push text told))))
        (dotimes (_ 2)
          (passepartout-tools-tests--define)
          (passepartout-fake-inject
           :response `(:action :define-tool
                       :request ,passepartout-events--request-number
                       :error "those of the Emacs that owns the store"))))
      (should (equal told '("those of the Emacs that owns the store"))))))

;;;; With the real module

(defmacro passepartout-tools-tests--real (&rest body)
  "Run BODY in a fresh world with the real module and no tools."
  (declare (indent 0) (debug t))
  `(let ((passepartout-tools--own nil)
         (passepartout-tools--told nil))
     (passepartout-real-with ,@body)))

(defun passepartout-tools-tests--turn (&rest calls)
  "Return a script of one answer for each of CALLS, and a last one."
  (append
   (mapcar (lambda (call)
             `((call "c1" ,(car call)
                     ,(apply #'passepartout-real-args
                             "explanation" "because it was asked for"
                             (cdr call)))))
           calls)
   '(((text "So be it.")))))

(ert-deftest passepartout-tools-real-now-and-later ()
  (passepartout-tools-tests--real
    (passepartout-real-write "memex/work.org" "* Boat\n")
    (let (asked)
      (passepartout-define-tool "weather" "Tell the weather."
        :effect 'read
        :args '((town text "where") (days (number 1 7) "how many" :optional t))
        :function (lambda (args reply)
                    (push args asked)
                    (funcall reply (format "Rain in %s." (plist-get args :town)))))
      (passepartout-define-tool "tide" "Tell the tide."
        :effect 'read
        :function (lambda (args reply)
                    (push args asked)
                    (run-at-time 0.2 nil reply "High water at noon.")))
      (apply #'passepartout-real-serve
             (passepartout-tools-tests--turn
              '("weather" "town" "Lisbon" "days" 3) '("tide")
              '("weather" "town" "Lisbon" "days" 9)))
      (passepartout-real-start)
      (passepartout-real-ask "what will it be like?")
      (let ((answer (passepartout-real-answer 1)))
        (should (string-search "So be it." answer))
        (should (string-match-p
                 "^- pass: Use your tool weather: .*town “Lisbon”" answer)))
      (should (equal asked '(nil (:days 3 :town "Lisbon"))))
      (should (string-search "Rain in Lisbon."
                             (nth 0 (passepartout-real-results 2))))
      (should (string-search "High water at noon."
                             (nth 1 (passepartout-real-results 3))))
      (should (string-search "must be a whole number from 1 to 7, not 9"
                             (nth 2 (passepartout-real-results 4)))))))

(ert-deftest passepartout-tools-real-a-plan-is-approved-and-done ()
  (passepartout-tools-tests--real
    (passepartout-real-write "memex/work.org" "* Boat\n")
    (let (done)
      (passepartout-define-tool "capture" "Capture a line."
        :effect 'write
        :args '((line text "the line"))
        :function (lambda (args reply)
                    (push (plist-get args :line) done)
                    (funcall reply "Captured.")))
      (apply #'passepartout-real-serve
             (append (passepartout-tools-tests--turn
                      '("capture" "line" "Buy larch"))
                     (passepartout-tools-tests--turn
                      '("capture" "line" "Buy oak"))))
      (passepartout-real-start)
      (passepartout-real-ask "capture it")
      (should (string-match-p "^- result :: parked$"
                              (passepartout-real-answer 1)))
      (should-not done)
      (let ((plan (passepartout-real-plan)))
        (should (equal (plist-get plan :badge) "irreversible"))
        (should (string-search "Use your tool capture"
                               (plist-get plan :title))))
      (passepartout-real-key "C-c C-c")
      (passepartout-real-answer 2)
      (should (equal done '("Buy larch")))
      (should (string-search "Captured."
                             (nth 0 (passepartout-real-results 2))))
      ;; Declared anew while it waits, it is stale.
      (passepartout-real-ask "and oak")
      (passepartout-real-answer 3)
      (passepartout-define-tool "capture" "Capture a line."
        :effect 'write
        :args '((line text "the line"))
        :function (lambda (_ reply) (push 'other done) (funcall reply "x")))
      (passepartout-real-plan "Buy oak")
      (passepartout-real-key "C-c C-c")
      (should (string-match-p "stale" (passepartout-real-answer 4)))
      (should (equal done '("Buy larch"))))))

(ert-deftest passepartout-tools-real-a-name-that-is-taken-is-refused ()
  (passepartout-tools-tests--real
    (passepartout-real-write "memex/work.org" "* Boat\n")
    (should-error (passepartout-tools-tests--define :name "shell")
                  :type 'passepartout-tool-error)
    (passepartout-real-start)
    ;; The core refuses it as well, whatever the Lisp says.
    (let ((passepartout-tools--builtin nil))
      (passepartout-tools-tests--define :name "shell"))
    (passepartout-real-until
      (passepartout-real-said "a tool of Passepartout's has that name"))))

(provide 'passepartout-tools-tests)
;;; passepartout-tools-tests.el ends here
