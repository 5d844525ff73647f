;;; passepartout-verbs-tests.el --- Tests of what the core may look up and show  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; The table is closed, answers are bounded, and no window is taken.

;;; Code:

(require 'passepartout-fake)
(require 'cl-lib)
(require 'imenu)
(require 'org)
(require 'org-agenda)
(require 'xref)
(require 'passepartout-act)
(require 'passepartout-verbs)

(defun passepartout-verbs-tests--ask (verb &rest payload)
  "Let the core ask for VERB with PAYLOAD; return the answer."
  (setq passepartout-fake-sent nil)
  (passepartout-fake-inject
   :request `(:action :editor-verb :request 7 :verb ,verb ,@payload))
  (car (passepartout-fake-sent :editor-reply)))

(defmacro passepartout-verbs-tests--in (text &rest body)
  "Run BODY in a buffer of a Lisp file with TEXT in it."
  (declare (indent 1) (debug t))
  `(let* ((file (make-temp-file "passepartout" nil ".el" ,text))
          (create-lockfiles nil))
     (unwind-protect
         (passepartout-fake-with
           (save-window-excursion
             (with-current-buffer (find-file-noselect file)
               (unwind-protect
                   (progn ,@body)
                 (set-buffer-modified-p nil)
                 (kill-buffer)))))
       (delete-file file))))

;; Emacs itself starts programs to compile the stand-ins for its primitives;
;; they count from when the last one is in its place.
(defmacro passepartout-verbs-tests--without-programs (&rest body)
  "Run BODY; no program may be started by it."
  (declare (indent 0) (debug t))
  `(let* ((started nil)
          (counting nil)
          (instead (lambda (primitive)
                     (let ((real (symbol-function primitive)))
                       (lambda (&rest arguments)
                         (if (not counting)
                             (apply real arguments)
                           (push primitive started)
                           (error "A program is started")))))))
     (cl-letf (((symbol-function 'call-process)
                (funcall instead 'call-process))
               ((symbol-function 'call-process-region)
                (funcall instead 'call-process-region))
               ((symbol-function 'make-process)
                (funcall instead 'make-process)))
       (setq counting t)
       ,@body)
     (should-not started)))

(ert-deftest passepartout-verbs-are-a-closed-table ()
  (passepartout-fake-with
    (dolist (verb '("eval" "shell-command" "" nil kill-emacs))
      (let ((answer (passepartout-verbs-tests--ask verb)))
        (should-not (plist-get answer :ok))
        (should (string-match-p "does not know" (plist-get answer :text)))))))

(ert-deftest passepartout-verbs-list-buffers-and-their-parts ()
  (passepartout-verbs-tests--in "(defun my-first () 1)\n\n(defun my-second () 2)\n"
    (let ((rows (plist-get (passepartout-verbs-tests--ask "buffers") :rows)))
      (should (assoc file rows)))
    (let ((rows (plist-get (passepartout-verbs-tests--ask "index" :file file)
                           :rows)))
      (should (member (list file 1 "my-first") rows))
      (should (member (list file 3 "my-second") rows)))
    (should (= 1 (length (plist-get (passepartout-verbs-tests--ask
                                     "index" :file file :limit 1)
                                    :rows))))))

(ert-deftest passepartout-verbs-look-names-up ()
  (passepartout-verbs-tests--in "(passepartout-reply 1 nil)\n"
    (let* ((answer (passepartout-verbs-tests--ask
                    "definitions" :file file :name "passepartout-reply"))
           (row (car (plist-get answer :rows))))
      (should (plist-get answer :ok))
      (should (string-match-p "passepartout.*\\.el" (car row)))
      (should (natnump (nth 1 row))))
    (let ((answer (passepartout-verbs-tests--ask
                   "definitions" :file file :name "no-such-name-anywhere")))
      (should (plist-get answer :ok))
      (should-not (plist-get answer :rows)))))

(ert-deftest passepartout-verbs-tell-what-checkers-say ()
  (passepartout-verbs-tests--in "(one)\n(two)\n"
    (require 'flymake)
    (should-not (plist-get (passepartout-verbs-tests--ask
                            "diagnostics" :file file)
                           :rows))
    (cl-letf (((symbol-function 'flymake-diagnostics)
               (lambda (&rest _)
                 (list (flymake-make-diagnostic
                        (current-buffer) 7 9 :warning "odd\n  one")))))
      (setq-local flymake-mode t)
      (should (equal (list (list file 2 "warning: odd one"))
                     (plist-get (passepartout-verbs-tests--ask
                                 "diagnostics" :file file)
                                :rows))))
    (let ((answer (passepartout-verbs-tests--ask
                   "diagnostics" :file "/nowhere/else.el")))
      (should-not (plist-get answer :ok)))))

(ert-deftest passepartout-verbs-show-beside-and-take-no-focus ()
  (passepartout-verbs-tests--in "one\ntwo\nthree\n"
    (delete-other-windows)
    (let ((selected (selected-window))
          (buffer (window-buffer)))
      (should (plist-get (passepartout-verbs-tests--ask
                          "go-to" :file file :line 3)
                         :ok))
      (should (eq selected (selected-window)))
      (should (eq buffer (window-buffer)))
      (let ((window (get-buffer-window (get-file-buffer file))))
        (should (and window (not (eq window selected))))
        (should (= 9 (window-point window))))
      (should (plist-get (passepartout-verbs-tests--ask "open" :file file)
                         :ok))
      (should (eq selected (selected-window))))
    (passepartout-verbs-tests--without-programs
      (let ((text "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n+new\n one\n"))
        (should (plist-get (passepartout-verbs-tests--ask
                            "diff" :file file :text text)
                           :ok))
        (with-current-buffer "*Passepartout Diff*"
          (should (equal text (substring-no-properties (buffer-string))))
          (should (and (derived-mode-p 'diff-mode) buffer-read-only))
          (should-not (buffer-modified-p))
          (kill-buffer)))
      (should-not (plist-get (passepartout-verbs-tests--ask "diff" :file file)
                             :ok)))))

(ert-deftest passepartout-verbs-ask-the-user-nothing ()
  (passepartout-verbs-tests--in "x\n"
    (cl-letf (((symbol-function 'imenu--make-index-alist)
               (lambda (&rest _) (read-from-minibuffer "Well? "))))
      (let ((answer (passepartout-verbs-tests--ask "index" :file file)))
        (should-not (plist-get answer :ok))
        (should (string-match-p "ask the user" (plist-get answer :text)))))
    (dolist (payload (list (list :file "relative.el")
                           (list :file "/ssh:host:/x")
                           (list :file temporary-file-directory)
                           nil))
      (should-not (plist-get (apply #'passepartout-verbs-tests--ask
                                    "open" payload)
                             :ok)))))

;; Emacs connects to another machine as soon as it looks at such a name.

(ert-deftest passepartout-verbs-connect-to-no-other-machine ()
  (passepartout-fake-with
    (let* ((called nil)
           (handler (lambda (operation &rest _)
                      (push operation called)
                      (error "Connected")))
           (file-name-handler-alist
            (cons (cons "\\`/\\(?:[^/]*:\\|\\[\\)" handler)
                  file-name-handler-alist)))
      (dolist (file '("/ssh:evil.example:/x" "/evil.example:/x" "/ssh:"
                      "/[ssh/evil.example]/x" "/sudo::/etc/x"))
        (dolist (verb (mapcar #'car passepartout-verbs--table))
          ;; These take no file; what `diff' shows is compared by the core.
          (unless (member verb '("buffers" "agenda" "diff"))
            (let ((answer (passepartout-verbs-tests--ask
                           verb :file file :line 1 :name "x")))
              (should-not (plist-get answer :ok))
              (should (string-match-p "another machine"
                                      (plist-get answer :text))))))
        (dolist (action '(:buffer-state :buffer-edit))
          (setq passepartout-fake-sent nil)
          (passepartout-fake-inject
           :request `(:action ,action :request 7 :file ,file
                      :tick 1 :edits ((0 0 "x"))))
          (should (string-match-p
                   "another machine"
                   (plist-get (car (passepartout-fake-sent :editor-reply))
                              :text)))))
      ;; The agenda is made of what is here.
      (save-window-excursion
        (delete-other-windows)
        (let ((org-agenda-files '("/ssh:evil.example:/a.org"
                                  "/evil.example:/b.org")))
          (should (plist-get (passepartout-verbs-tests--ask "agenda") :ok))))
      (should-not called)
      ;; Nor is one asked about a file that is here.
      (should-not (plist-get (passepartout-verbs-tests--ask
                              "diagnostics" :file "/nowhere/else.el")
                             :ok))
      (should-not called))))

(ert-deftest passepartout-verbs-show-the-agenda ()
  (passepartout-fake-with
    (save-window-excursion
      (delete-other-windows)
      (let ((org-agenda-files nil)
            (selected (selected-window)))
        (should (plist-get (passepartout-verbs-tests--ask "agenda") :ok))
        (should (eq selected (selected-window)))
        (should (get-buffer-window "*Org Agenda*"))))))

;; A repository, a file and its folder may all name what runs.

(defmacro passepartout-verbs-tests--with-folder (&rest body)
  "Run BODY with `folder' bound to a new folder, deleted afterwards."
  (declare (indent 0) (debug t))
  `(let ((folder (file-name-as-directory
                  (make-temp-file "passepartout" t)))
         (create-lockfiles nil))
     (unwind-protect
         (passepartout-fake-with (save-window-excursion ,@body))
       (delete-directory folder t))))

(ert-deftest passepartout-verbs-run-nothing-of-what-they-show ()
  (passepartout-verbs-tests--with-folder
    (let* ((canary (expand-file-name "canary" folder))
           (file (expand-file-name "note.org" folder))
           (find-file-hook
            (list (lambda () (write-region "hook" nil canary))))
           (org-mode-hook find-file-hook))
      (make-directory (expand-file-name ".git/refs" folder) t)
      (make-directory (expand-file-name ".git/objects" folder) t)
      (write-region "ref: refs/heads/main\n" nil
                    (expand-file-name ".git/HEAD" folder))
      (write-region (format "[core]\nfsmonitor = \"touch %s; false\"\n" canary)
                    nil (expand-file-name ".git/config" folder))
      (write-region (format "((nil . ((eval . (write-region \"d\" nil %S)))))"
                            canary)
                    nil (expand-file-name ".dir-locals.el" folder))
      (write-region
       (format "#+macro: x (eval (write-region \"m\" nil %S))\n* Grüße\n
# Local Variables:\n# eval: (write-region \"l\" nil %S)\n# End:\n"
               canary canary)
       nil file)
      (dolist (verb '("open" "go-to"))
        (should (plist-get (passepartout-verbs-tests--ask
                            verb :file file :line 2)
                           :ok))
        (should-not (file-exists-p canary))
        (should-not (find-buffer-visiting file))
        (with-current-buffer "*Passepartout File*"
          ;; A redisplay computes nothing.
          (should (stringp header-line-format))
          (should (string-match-p "\\`The text of .*; RET visits"
                                  header-line-format)))
        (with-current-buffer "*Passepartout File*"
          (should (string-match-p "^\\* Grüße" (buffer-string)))
          (should buffer-read-only)))
      ;; The user's own key visits it, as they would.
      (let ((enable-local-variables nil)
            (enable-dir-local-variables nil)
            (vc-handled-backends nil)
            (find-file-hook nil)
            (org-mode-hook nil))
        (with-current-buffer "*Passepartout File*"
          (goto-char (point-min))
          (forward-line 1)
          (passepartout-verbs-visit))
        (with-current-buffer (find-buffer-visiting file)
          (should (looking-at-p "\\* Grüße"))
          (kill-buffer)))
      (kill-buffer "*Passepartout File*"))))

(ert-deftest passepartout-verbs-start-no-program-to-look-names-up ()
  (passepartout-verbs-tests--in "(passepartout-reply 1 nil)\n"
    (passepartout-verbs-tests--without-programs
      (let ((answer (passepartout-verbs-tests--ask
                     "references" :file file :name "passepartout-reply")))
        (should-not (plist-get answer :ok))
        (should (string-match-p "grep" (plist-get answer :text))))
      ;; Nor does a backend that is not known.
      (let ((xref-backend-functions (list (lambda () 'dumb-jump))))
        (should-not (plist-get (passepartout-verbs-tests--ask
                                "definitions" :file file :name "x")
                               :ok))))))

(ert-deftest passepartout-verbs-give-way-to-typing ()
  (passepartout-verbs-tests--in "(defun my-first () 1)\n"
    (cl-letf (((symbol-function 'imenu--make-index-alist)
               (lambda (&rest _) (throw throw-on-input t))))
      (let ((answer (passepartout-verbs-tests--ask "index" :file file)))
        (should-not (plist-get answer :ok))
        (should (string-match-p "typing" (plist-get answer :text)))))))

(ert-deftest passepartout-verbs-evaluate-nothing-of-the-agenda ()
  (passepartout-verbs-tests--with-folder
    (delete-other-windows)
    (let* ((canary (expand-file-name "canary" folder))
           (file (expand-file-name "agenda.org" folder))
           (day (format-time-string "<%Y-%m-%d>"))
           (org-agenda-files (list file))
           (bomb (format "(progn (write-region \"x\" nil %S) \"x\")" canary)))
      (write-region
       (format "%%%%%s Plain\n&%%%%%s Hidden\n* A <%%%%%s>\n* B\nSCHEDULED: <%%%%%s>
* C\nDEADLINE: <%%%%%s>\n* Dentist\nSCHEDULED: %s\n"
               bomb bomb bomb bomb bomb day)
       nil file)
      (should (plist-get (passepartout-verbs-tests--ask "agenda") :ok))
      (should-not (file-exists-p canary))
      (with-current-buffer "*Org Agenda*"
        (should (string-match-p "Dentist" (buffer-string))))
      (kill-buffer "*Org Agenda*")
      (when (find-buffer-visiting file)
        (kill-buffer (find-buffer-visiting file))))))

(provide 'passepartout-verbs-tests)
;;; passepartout-verbs-tests.el ends here
