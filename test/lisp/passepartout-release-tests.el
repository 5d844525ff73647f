;;; passepartout-release-tests.el --- Tests of what holds for all of the package  -*- lexical-binding: t; no-byte-compile: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The conventions of Emacs that no single file can hold: keys that are
;; the user's, what autoloads make known, and that each command works, or
;; says why not, wherever it is called.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'seq)
(require 'passepartout-fake)

(defconst passepartout-release-tests--lisp
  (file-name-directory (locate-library "passepartout.el"))
  "Folder of the package.")

(defconst passepartout-release-tests--here
  (file-name-directory (or load-file-name buffer-file-name))
  "Folder of the tests.")

(defun passepartout-release-tests--load ()
  "Load every file of the package."
  (let ((files (directory-files passepartout-release-tests--lisp nil
                                "\\`passepartout.*\\.el\\'")))
    (should (> (length files) 50))
    (dolist (file files)
      (unless (string-suffix-p "-autoloads.el" file)
        (require (intern (file-name-sans-extension file)))))))

(defun passepartout-release-tests--kept (map)
  "Return the keys in MAP that Emacs keeps for its users."
  (let ((behind (lookup-key map (kbd "C-c")))
        (found (seq-filter (lambda (key)
                             (let ((is (lookup-key map key)))
                               (and is (not (numberp is)))))
                           (mapcar (lambda (n) (vector (intern (format "f%d" n))))
                                   '(5 6 7 8 9)))))
    (when (keymapp behind)
      (map-keymap (lambda (event _)
                    (when (and (characterp event)
                               (or (<= ?a event ?z) (<= ?A event ?Z)))
                      (push (vector ?\C-c event) found)))
                  behind))
    (mapcar #'key-description found)))

(ert-deftest passepartout-release-no-map-has-a-key-of-the-users ()
  (passepartout-release-tests--load)
  (let ((maps 0) bad)
    (mapatoms
     (lambda (name)
       (when (and (string-prefix-p "passepartout-" (symbol-name name))
                  (boundp name) (keymapp (symbol-value name)))
         (setq maps (1+ maps))
         (dolist (key (passepartout-release-tests--kept (symbol-value name)))
           (push (cons name key) bad)))))
    (should (> maps 10))
    (should-not bad)
    ;; Loading all of it has bound nothing globally.
    (should-not (where-is-internal 'passepartout-chat (list global-map)))
    (should-not (where-is-internal 'passepartout-command-map
                                   (list global-map))))
  ;; The check bites.
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c p") #'ignore)
    (define-key map (kbd "C-c C-p") #'ignore)
    (define-key map [f6] #'ignore)
    (should (equal '("C-c p" "<f6>")
                   (passepartout-release-tests--kept map)))))

(defconst passepartout-release-tests--called
  '(passepartout-define-provider passepartout-define-preset
    passepartout-define-tool passepartout-jobs-agenda
    passepartout-query-bookmark-jump passepartout-list-bookmark-jump
    passepartout-desktop-chat passepartout-desktop-mode
    passepartout-capture-question passepartout-capture-template
    passepartout-add-speed-commands passepartout-context-menu
    passepartout-embark-set-up passepartout-chat-buffer-p
    org-dblock-write:passepartout-query)
  "What is no command and made known all the same.
Init files, agenda files, bookmarks, desktop, notes and the main file call these.")

(defconst passepartout-release-tests--in-a-chat
  '(passepartout-chat-along-show passepartout-chat-along-remove)
  "Commands on a line of a chat, which nobody calls elsewhere.")

(ert-deftest passepartout-release-both-lists-of-autoloads-agree ()
  (let (cookies written)
    (dolist (file (directory-files passepartout-release-tests--lisp t
                                   "\\`passepartout-.*\\.el\\'"))
      (with-temp-buffer
        (insert-file-contents file)
        (while (re-search-forward "^;;;###autoload\\(.*\\)$" nil t)
          (let ((form (if (string-empty-p (match-string 1))
                          (read (current-buffer))
                        (read (match-string 1)))))
            (when (eq (car form) 'autoload)
              (setq form (list nil (cadr (nth 1 form)))))
            (push (cons (nth 1 form) (file-name-base file)) cookies)))))
    (with-temp-buffer
      (insert-file-contents (expand-file-name
                             "passepartout.el" passepartout-release-tests--lisp))
      (while (re-search-forward "^(autoload '" nil t)
        (goto-char (match-beginning 0))
        (pcase-let ((`(,_ (,_ ,name) ,file ,_ ,command . ,_)
                     (append (read (current-buffer)) (list nil nil))))
          (when (or command (assq name cookies))
            (push (cons name file) written)))))
    (should (> (length written) 60))
    ;; What is not for everybody has no cookie.
    (should-not (seq-difference cookies written))
    (should (seq-set-equal-p (mapcar #'car (seq-difference written cookies))
                             passepartout-release-tests--in-a-chat))))

(ert-deftest passepartout-release-autoloads-are-of-entry-commands ()
  (let ((seen 0) bad)
    (dolist (file (directory-files passepartout-release-tests--lisp t
                                   "\\`passepartout.*\\.el\\'"))
      (with-temp-buffer
        (insert-file-contents file)
        (while (re-search-forward "^;;;###autoload\\(.*\\)$" nil t)
          (setq seen (1+ seen))
          (when (string-empty-p (match-string 1))
            (forward-line 1)
            (let* ((form (read (current-buffer)))
                   (name (nth 1 form)))
              (unless (or (and (eq (car form) 'progn)
                               (string-search "desktop-buffer-mode-handlers"
                                              (prin1-to-string form)))
                          (memq (car form) '(define-minor-mode
                                              define-globalized-minor-mode))
                          (assq 'interactive (seq-filter #'consp form))
                          (memq name passepartout-release-tests--called))
                (push name bad)))))))
    (should (> seen 40))
    (should-not bad)))

(defun passepartout-release-tests--commands ()
  "Return the names of all commands that the package defines for people."
  (passepartout-release-tests--load)
  (let (commands)
    (mapatoms
     (lambda (name)
       (let ((text (symbol-name name)))
         (when (and (string-prefix-p "passepartout-" text)
                    (not (string-search "--" text))
                    (commandp name)
                    (let ((file (symbol-file name 'defun)))
                      (and file (string-prefix-p
                                 passepartout-release-tests--lisp
                                 (expand-file-name file)))))
           (push text commands)))))
    (sort commands #'string<)))

(defmacro passepartout-release-tests--asking (&rest body)
  "Run BODY; whatever asks a person is left, and nothing is built or opened."
  (declare (indent 0) (debug t))
  `(let ((left (lambda (&rest _) (signal 'quit nil))))
     (cl-letf (((symbol-function 'read-from-minibuffer) left)
               ((symbol-function 'read-string) left)
               ((symbol-function 'completing-read) left)
               ((symbol-function 'read-file-name) left)
               ((symbol-function 'read-directory-name) left)
               ((symbol-function 'read-multiple-choice) left)
               ((symbol-function 'y-or-n-p) left)
               ((symbol-function 'yes-or-no-p) left)
               ((symbol-function 'compilation-start) left)
               ((symbol-function 'find-file) left)
               ((symbol-function 'transient-setup) #'ignore)
               ((symbol-function 'recursive-edit) left))
       ,@body)))

(defun passepartout-release-tests--outcome (command)
  "Call COMMAND in an empty buffer, and return the fault that it has, or nil.
To say that it does not apply there, or to ask, is none."
  (condition-case problem
      (passepartout-release-tests--asking
        (with-temp-buffer
          (let ((this-command command) (last-command-event ?x))
            (call-interactively command))
          nil))
    ((quit user-error passepartout-error) nil)
    ;; The end or the beginning of an empty buffer.
    ((end-of-buffer beginning-of-buffer) nil)
    (error (cons command problem))))

(defun passepartout-release-tests--all ()
  "Call every command, and print how many there were and what faults.
What a click of the mouse calls wants the click."
  (let ((commands (seq-remove
                   (lambda (name) (string-suffix-p "-click" (symbol-name name)))
                   (mapcar #'intern (passepartout-release-tests--commands)))))
    (message "\n=> %S"
             (list (length commands)
                   (delq nil
                         (mapcar (lambda (command)
                                   (passepartout-fake-with
                                     (passepartout-release-tests--outcome
                                      command)))
                                 commands))))))

(ert-deftest passepartout-release-each-command-works-or-says-why-not ()
  ;; In an Emacs of its own: what they leave behind is not for other tests.
  (with-temp-buffer
    ;; Other tests may have left a buffer whose folder is gone.
    (setq default-directory passepartout-release-tests--here)
    (should (zerop (call-process
                    (expand-file-name invocation-name invocation-directory)
                    nil t nil "-Q" "--batch"
                    "-L" passepartout-release-tests--lisp
                    "-L" passepartout-release-tests--here
                    "-l" "passepartout-release-tests"
                    "-f" "passepartout-release-tests--all")))
    (goto-char (point-max))
    (unless (re-search-backward "^=> " nil t) (ert-fail (buffer-string)))
    (goto-char (match-end 0))
    (pcase-let ((`(,count ,faults) (read (current-buffer))))
      (should (> count 100))
      (should-not faults)))
  ;; The check bites.
  (cl-letf (((symbol-function 'passepartout-release-tests-bad)
             (lambda () (interactive) (car 1))))
    (should (passepartout-release-tests--outcome
             'passepartout-release-tests-bad))))

(provide 'passepartout-release-tests)
;;; passepartout-release-tests.el ends here
