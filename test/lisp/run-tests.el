;;; run-tests.el --- Run all Lisp tests in a batch Emacs  -*- lexical-binding: t; no-byte-compile: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Loads the package and every file *-tests.el beside this one, and runs
;; what they define, in a world of its own: home, store, settings and
;; cache are fresh folders.  The environment variable
;; PASSEPARTOUT_MODULE names the module to test.
;;
;; With PASSEPARTOUT_ROAD=socket, tcp or tls the tests that talk with a core
;; are run over that road; passepartout-road.el says how, and which are not.

;;; Code:

(require 'ert)

(defconst passepartout-tests--folder
  (file-name-directory (or load-file-name buffer-file-name))
  "Folder of the tests.")

(defvar passepartout-module-file)
(declare-function passepartout-road-install "passepartout-road" ())
(declare-function passepartout-road-selector "passepartout-road" (only))

(defun passepartout-tests--world ()
  "Make a fresh world and return its folder."
  (let ((world (file-name-as-directory
                (make-temp-file "passepartout-tests-" t))))
    ;; A checkout below the old home must still be found from the new one.
    (dolist (buffer (buffer-list))
      (with-current-buffer buffer
        (setq default-directory (expand-file-name default-directory))))
    (dolist (place '(("HOME" . "home") ("XDG_STATE_HOME" . "state")
                     ("XDG_CONFIG_HOME" . "config")
                     ("XDG_CACHE_HOME" . "cache")))
      (let ((folder (expand-file-name (cdr place) world)))
        (make-directory folder)
        (setenv (car place) folder)))
    (setq user-emacs-directory (expand-file-name "home/.emacs.d/" world))
    ;; What Emacs compiles for the stand-ins of tests is kept with what we
    ;; build, not with what is the user's.
    (when (bound-and-true-p native-comp-eln-load-path)
      (setcar native-comp-eln-load-path
              (expand-file-name "../../.build/eln/" passepartout-tests--folder)))
    world))

(defun passepartout-tests--mend-trampolines ()
  "Do without trampolines in an Emacs that cannot compile them here.
One that was only unpacked has no linker.  Stand-ins for primitives
then count for Lisp that is not compiled to machine code, as ours is."
  (when (and (fboundp 'native-comp-available-p) (native-comp-available-p)
             (not (ignore-errors (native-compile '(lambda () t)) t)))
    (dolist (variable '(native-comp-enable-subr-trampolines
                        comp-enable-subr-trampolines))
      (when (boundp variable) (set variable nil)))
    (message "This Emacs compiles nothing to machine code: no trampolines")))

;;;; Which commands were called

(defconst passepartout-tests--on-a-screen
  '(passepartout-find passepartout-menu passepartout-menu-more
    passepartout-rewrite-menu)
  "Commands that read keys, and are called in passepartout-screens-tests.el.")

(defun passepartout-tests--commands ()
  "Load all of the package, and return its commands."
  (let ((lisp (expand-file-name "../../lisp/" passepartout-tests--folder))
        commands)
    (dolist (file (directory-files lisp t "\\`passepartout.*\\.el\\'"))
      (unless (string-match-p "-\\(?:pkg\\|autoloads\\)\\.el\\'" file)
        (require (intern (file-name-base file)))))
    (mapatoms
     (lambda (name)
       (when (and (commandp name)
                  (string-prefix-p "passepartout-" (symbol-name name))
                  (not (string-search "--" (symbol-name name)))
                  (file-in-directory-p (or (symbol-file name 'defun) "/") lisp)
                  (not (memq name passepartout-tests--on-a-screen)))
         (push name commands))))
    commands))

(defun passepartout-tests--run-whole ()
  "Run all tests, and end Emacs; a command that none has called is a failure."
  (let ((commands (passepartout-tests--commands))
        (called (make-hash-table :test #'eq))
        stats)
    (unless (nthcdr 100 commands) (error "Where are the commands?"))
    (dolist (command commands)
      (advice-add command :before
                  (lambda (&rest _) (puthash command t called))
                  '((name . passepartout-tests))))
    (setq stats (ert-run-tests-batch t))
    (let ((left (seq-remove (lambda (command) (gethash command called))
                            commands)))
      (dolist (command left) (message "No test calls %s" command))
      (kill-emacs (if (and (null left)
                           (zerop (ert-stats-completed-unexpected stats)))
                      0 1)))))

(defun passepartout-tests-run ()
  "Load and run everything, then end Emacs with the result."
  (let ((world (passepartout-tests--world))
        (module (getenv "PASSEPARTOUT_MODULE")))
    (add-hook 'kill-emacs-hook
              (lambda () (ignore-errors (delete-directory world t))))
    (unless (and module (file-readable-p module))
      (message "PASSEPARTOUT_MODULE=%s cannot be read" module)
      (kill-emacs 1))
    (passepartout-tests--mend-trampolines)
    (setq passepartout-module-file module)
    (require 'passepartout)
    (let ((files (directory-files passepartout-tests--folder t
                                  "-tests\\.el\\'")))
      (setq files (delete (expand-file-name "run-tests.el"
                                            passepartout-tests--folder)
                          files))
      (when (null files)
        (message "There are no tests in %s" passepartout-tests--folder)
        (kill-emacs 1))
      ;; One may have loaded another, whose helpers it uses.
      (dolist (file files)
        (require (intern (file-name-base file)) file)))
    (let ((ert-batch-backtrace-right-margin 200)
          (only (getenv "PASSEPARTOUT_TESTS")))
      (if (not (member (getenv "PASSEPARTOUT_ROAD") '("socket" "tcp" "tls")))
          (if only (ert-run-tests-batch-and-exit only)
            (passepartout-tests--run-whole))
        (passepartout-road-install)
        (ert-run-tests-batch-and-exit (passepartout-road-selector only))))))

(provide 'run-tests)
;;; run-tests.el ends here
