;;; passepartout-skills-tests.el --- Tests of the surfaces of skills  -*- lexical-binding: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The list of skills, a skill shown whole and confirmed, a new skill,
;; and its tests, with a core of paper and with a real one.

;;; Code:

(require 'ert)
(require 'passepartout-fake)
(require 'passepartout-real)
(require 'passepartout-skills)

(defconst passepartout-skills-tests--list
  '(:skills ((:name "brief" :title "Brief" :state "loaded" :priority 10
              :file "/nowhere/brief.org" :lisp "2 calls in 3 ms"
              :remarks ("It is odd."))
             (:name "forms" :title "" :state "waiting"
              :why "It comes from outside." :lisp ""
              :file "/elsewhere/forms")
             (:name "old" :title "" :state "off" :lisp "")
             (:name "wrong" :title "" :state "failed"
              :why "line 3: * no\nheading" :lisp "")))
  "Skills, as a core says it.")

(defmacro passepartout-skills-tests--with (&rest body)
  "Run BODY in the list of skills of a core of paper."
  (declare (indent 0) (debug t))
  `(passepartout-fake-with
     (passepartout-skills)
     (passepartout-fake-answer :skills passepartout-skills-tests--list)
     (unwind-protect
         (with-current-buffer passepartout-skills--buffer-name
           ,@body)
       (dolist (name (list passepartout-skills--buffer-name
                           passepartout-skills--shown-name
                           passepartout-skills--tested-name))
         (when (get-buffer name) (kill-buffer name))))))

(defun passepartout-skills-tests--press (keys at)
  "Press KEYS where the text AT begins."
  (goto-char (point-min))
  (search-forward at)
  (goto-char (match-beginning 0))
  (call-interactively (key-binding (kbd keys))))

(ert-deftest passepartout-skills-lists-what-became-of-each ()
  (passepartout-skills-tests--with
    (should (equal (replace-regexp-in-string
                    " +$" ""
                    (buffer-substring (save-excursion
                                        (goto-char (point-min))
                                        (search-forward "\n\n")
                                        (point))
                                      (point-max)))
                   "\
  State     Prio Skill                    Title
  loaded      10 brief                    Brief
    It is odd.
    2 calls in 3 ms
  waiting        forms
    It comes from outside.
  off            old
  failed         wrong
    line 3: * no heading
"))
    (should-error (passepartout-skills-tests--press "k" "Skills")
                  :type 'user-error)
    (should-error (passepartout-skills-tests--press "c" "brief")
                  :type 'user-error)))

(ert-deftest passepartout-skills-an-answer-that-comes-late-is-not-drawn ()
  (passepartout-skills-tests--with
    (dotimes (_ 2) (call-interactively (key-binding (kbd "g"))))
    (let ((late (car (last (passepartout-fake-sent :skills) 2))))
      (passepartout-fake-answer
       :skills '(:skills ((:name "new" :title "" :state "loaded" :lisp ""))))
      (passepartout-fake-inject
       :response (append (list :action :skills
                               :request (plist-get late :request))
                         passepartout-skills-tests--list)))
    (should (string-search "new" (buffer-string)))
    (should-not (string-search "brief" (buffer-string)))))

(ert-deftest passepartout-skills-a-key-asks-for-what-it-says ()
  (dolist (case '(("k" "loaded" :skill-disable "brief")
                  ("k" "off  " :skill-enable "old")
                  ("t" "loaded" :skill-test "brief")
                  ("s" "loaded" :skill-show "brief")
                  ("RET" "waiting" :skill-show "forms")
                  ("c" "waiting" :skill-show "forms")))
    (passepartout-skills-tests--with
      (passepartout-skills-tests--press (nth 0 case) (nth 1 case))
      (should (equal (plist-get (car (last (passepartout-fake-sent
                                            (nth 2 case))))
                                :skill)
                     (nth 3 case))))))

(ert-deftest passepartout-skills-what-is-confirmed-is-what-was-shown ()
  (passepartout-skills-tests--with
    (passepartout-skills-tests--press "c" "waiting")
    (passepartout-fake-answer :skill-show '(:shown "L1" :text "One\n* T"
                                            :next 7))
    (should (equal (plist-get (car (last (passepartout-fake-sent :skill-show)))
                              :from)
                   7))
    (passepartout-fake-answer :skill-show '(:shown "L1" :text "wo\n"))
    (with-current-buffer passepartout-skills--shown-name
      (should (string-search "\n: One\n: * Two\n" (buffer-string)))
      (goto-char (point-min))
      (search-forward "Use it")
      (push-button (match-beginning 0)))
    (let ((sent (car (last (passepartout-fake-sent :skill-confirm)))))
      (should (equal (plist-get sent :skill) "forms"))
      (should (equal (plist-get sent :file) "/elsewhere/forms"))
      (should (equal (plist-get sent :shown) "L1")))))

(ert-deftest passepartout-skills-slices-of-two-states-are-never-put-together ()
  (passepartout-skills-tests--with
    (passepartout-skills-tests--press "c" "waiting")
    (passepartout-fake-answer :skill-show '(:shown "L1" :text "Harmless.\n"
                                            :next 10))
    (let ((sent (car (last (passepartout-fake-sent :skill-show)))))
      (should (equal (plist-get sent :shown) "L1"))
      (should (equal (plist-get sent :file) "/elsewhere/forms")))
    (with-current-buffer passepartout-skills--shown-name
      (should (string-search ": Harmless.\n" (buffer-string)))
      (should-error (passepartout-skills-use) :type 'user-error))
    (passepartout-fake-answer :skill-show '(:shown "L2" :changed t))
    (let ((sent (car (last (passepartout-fake-sent :skill-show)))))
      (should (equal (plist-get sent :from) 0))
      (should-not (plist-get sent :shown)))
    (passepartout-fake-answer :skill-show '(:shown "L2" :text "Evil.\n"))
    (with-current-buffer passepartout-skills--shown-name
      (should-not (string-search "Harmless" (buffer-string)))
      (should (string-search ": Evil.\n" (buffer-string)))
      (passepartout-skills-use))
    (should (equal (plist-get (car (last (passepartout-fake-sent
                                          :skill-confirm)))
                              :shown)
                   "L2"))))

(ert-deftest passepartout-skills-what-changes-without-end-is-given-up ()
  (passepartout-skills-tests--with
    (passepartout-skills-tests--press "c" "waiting")
    (let ((asked (length (passepartout-fake-sent :skill-show))))
      (dotimes (n 5)
        (passepartout-fake-answer
         :skill-show (list :shown (format "L%d" n) :text "x" :next 1))
        (passepartout-fake-answer :skill-show '(:shown "other" :changed t)))
      (passepartout-fake-answer :skill-show '(:shown "L5" :text "x" :next 1))
      (passepartout-fake-answer :skill-show '(:shown "other" :changed t))
      (should (= (length (passepartout-fake-sent :skill-show))
                 (+ asked 11))))
    (with-current-buffer passepartout-skills--shown-name
      (should-error (passepartout-skills-use) :type 'user-error))))

(ert-deftest passepartout-skills-a-file-of-somebody-else-is-only-read ()
  (let ((file (make-temp-file "skill" nil ".org" "* One\n# Local Variables:
# mode: emacs-lisp\n# End:\n"))
        (enable-local-variables :all))
    (unwind-protect
        (dolist (case '((nil fundamental-mode) (t emacs-lisp-mode)))
          (passepartout-fake-with
            (passepartout-skills)
            (passepartout-fake-answer
             :skills `(:skills ((:name "clone" :title "" :state "loaded"
                                 :lisp "" :file ,file :own ,(car case)))))
            (with-current-buffer passepartout-skills--buffer-name
              (save-current-buffer
                (passepartout-skills-tests--press "RET" "loaded")))
            (with-current-buffer (get-file-buffer file)
              (should (eq major-mode (cadr case)))
              (kill-buffer))
            (kill-buffer passepartout-skills--buffer-name)))
      (delete-file file))))

(ert-deftest passepartout-skills-only-the-skills-own-buffer-is-saved ()
  (let* ((own (make-temp-file "skills" t))
         (other (make-temp-file "notes" t))
         (answer `(:folder ,own :skills nil)))
    (unwind-protect
        (dolist (folder (list own other))
          (passepartout-fake-with
            (with-current-buffer
                (find-file-noselect (expand-file-name "brief.org" folder))
              (insert "* Mandates\nBe brief.\n")
              (passepartout-skill-test "brief")
              (passepartout-fake-answer :skills answer)
              (should (eq (buffer-modified-p) (equal folder other)))
              (should (equal (plist-get (car (last (passepartout-fake-sent
                                                    :skill-test)))
                                        :file)
                             (and (equal folder own) buffer-file-name)))
              (set-buffer-modified-p nil)
              (kill-buffer))))
      (delete-directory own t)
      (delete-directory other t))))

(ert-deftest passepartout-skills-a-failing-line-is-reached ()
  (let ((file (make-temp-file "skill" nil ".org" "one\ntwo\nthree\n")))
    (unwind-protect
        (passepartout-skills-tests--with
          (passepartout-skills-tests--press "t" "loaded")
          (passepartout-fake-answer
           :skill-test
           `(:file ,file :text "It loads. Tests: 1 passed, 1 failed."
             :tests ((:name "holds" :line 1 :ended "passed" :why "")
                     (:name "breaks" :line 3 :ended "failed"
                      :why "* (no\nheading)"))))
          (with-current-buffer passepartout-skills--tested-name
            (should (string-search "failed  breaks\n: * (no\n: heading)\n"
                                   (buffer-string)))
            (goto-char (point-min))
            (search-forward "breaks")
            (goto-char (match-beginning 0))
            (call-interactively (key-binding (kbd "RET"))))
          (with-current-buffer (get-file-buffer file)
            (should (looking-at-p "three"))
            (kill-buffer)))
      (delete-file file))))

(ert-deftest passepartout-skills-real-a-skill-is-begun-saved-and-tested ()
  (passepartout-real-with
    (passepartout-real-start)
    (passepartout-new-skill "tea-time" "gate")
    (passepartout-real-until
      (seq-some (lambda (buffer)
                  (string-search "tea-time.org" (buffer-name buffer)))
                (buffer-list)))
    (with-current-buffer "tea-time.org"
      (should (equal buffer-file-name
                     (passepartout-real-file
                      "config/passepartout/skills/tea-time.org")))
      (should-not (file-exists-p buffer-file-name))
      (should (looking-at-p "#\\+TITLE: Tea time"))
      (save-buffer)
      (kill-buffer))
    (passepartout-skills)
    (with-current-buffer passepartout-skills--buffer-name
      (passepartout-real-until (string-search "policy" (buffer-string)))
      (passepartout-skills-reload)
      (passepartout-real-until
        (string-match-p "^  loaded +10 tea-time +Tea time$" (buffer-string)))
      (save-current-buffer
        (passepartout-skills-tests--press "RET" "tea-time")
        (should (equal (buffer-name) "tea-time.org"))
        (should (derived-mode-p 'org-mode))
        (kill-buffer))
      (passepartout-skills-tests--press "t" "tea-time"))
    (passepartout-real-until
      (and (get-buffer passepartout-skills--tested-name)
           (with-current-buffer passepartout-skills--tested-name
             (string-search "It loads." (buffer-string)))))
    (with-current-buffer passepartout-skills--tested-name
      (should (string-match-p "Tests: 2 passed, 0 failed" (buffer-string))))))

(ert-deftest passepartout-skills-real-a-slip-in-a-skill-is-said-quietly ()
  (passepartout-real-with
    (passepartout-real-start)
    (let ((said nil)
          (before passepartout--complained))
      (cl-letf (((symbol-function 'message)
                 (lambda (format &rest args)
                   (push (apply #'format-message format args) said))))
        (passepartout-real-write "config/passepartout/skills/tea.org"
                                 "#+PRIORITY: high\n* Mandates\nBe brief.\n")
        (passepartout-skills)
        (with-current-buffer passepartout-skills--buffer-name
          (passepartout-skills-reload))
        (passepartout-real-until
          (seq-some (apply-partially #'string-match-p
                                     "skills: tea is kept out: line 1")
                    said)))
      ;; No window with a warning is shown for it.
      (should (equal passepartout--complained before)))))

(ert-deftest passepartout-skills-real-a-skill-from-outside-is-shown-whole ()
  (passepartout-real-with
    (passepartout-real-write
     "elsewhere/forms/SKILL.md"
     "---\nname: forms\ndescription: Fills forms.\n---\nAsk for the number.\n")
    (let ((passepartout-skills-directories
           (list (passepartout-real-file "elsewhere"))))
      (passepartout-real-start)
      (passepartout-skills)
      (with-current-buffer passepartout-skills--buffer-name
        (passepartout-real-until
          (string-match-p "^  waiting +forms$" (buffer-string)))
        (passepartout-skills-tests--press "c" "waiting"))
      (passepartout-real-until (get-buffer passepartout-skills--shown-name))
      (with-current-buffer passepartout-skills--shown-name
        (passepartout-real-until
          (string-search "Ask for the number." (buffer-string)))
        (goto-char (point-min))
        (search-forward "Use it")
        (push-button (match-beginning 0)))
      (passepartout-real-plan)
      (passepartout-real-key "C-c C-c")
      (passepartout-real-until
        (seq-some (lambda (line)
                    (string-search "forms was read anew" (plist-get line :text)))
                  passepartout-real-lines))
      (passepartout-skills)
      (with-current-buffer passepartout-skills--buffer-name
        (passepartout-real-until
          (string-match-p "^  loaded +forms +Fills forms\\.$"
                          (buffer-string)))
        ;; A folder that was named after the start is not read yet.
        (let ((said nil))
          (push (passepartout-real-file "more") passepartout-skills-directories)
          (cl-letf (((symbol-function 'message)
                     (lambda (format &rest args)
                       (push (apply #'format-message format args) said))))
            (passepartout-skills-reload)
            (passepartout-real-until
              (seq-some (apply-partially
                         #'string-match-p
                         "more is read from the next start on: M-x passepartout-restart")
                        said))))))))

(provide 'passepartout-skills-tests)
;;; passepartout-skills-tests.el ends here
