;;; passepartout-screens-tests.el --- What a terminal shows of whole sessions  -*- lexical-binding: t; -*-

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

;; Each test starts an Emacs with the module in a terminal of tmux, sends
;; keys, and compares what the terminal shows with a file in the folder
;; screens.  With PASSEPARTOUT_SCREENS=write the files are written anew;
;; look at their difference before you commit it.

;;; Code:

(require 'ert)
(require 'subr-x)
(require 'passepartout-real
         (expand-file-name "passepartout-real.el"
                           (file-name-directory
                            (or load-file-name buffer-file-name))))

(defvar passepartout-screens--folder
  (expand-file-name "screens/" (file-name-directory
                                (or load-file-name buffer-file-name)))
  "Where the screens are that tests compare with.")

(defconst passepartout-screens--init
  '((setq inhibit-startup-screen t
          inhibit-startup-echo-area-message t
          initial-scratch-message nil
          ring-bell-function #'ignore
          make-backup-files nil
          create-lockfiles nil
          auto-save-list-file-prefix nil
          blink-cursor-mode nil
          completion-show-help nil
          suggest-key-bindings nil
          split-width-threshold nil
          ;; Its home is a new one each time: nothing is compiled for it.
          native-comp-deferred-compilation nil
          native-comp-jit-compilation nil)
    ;; Emacs 28 and 30 draw the ends of a mode line differently.
    (setq-default mode-line-format
                  '("-- " mode-line-buffer-identification " "
                    mode-line-modes mode-line-misc-info))
    (menu-bar-mode -1)
    (require 'passepartout)
    (require 'passepartout-chat))
  "What an Emacs on a screen begins with.")

(defconst passepartout-screens--volatile
  '(("\\bP[0-9A-F]\\{6\\}\\b" . "P123456")
    ("\\b20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]\\b" . "2026-01-01")
    ("\\b[0-2][0-9]:[0-5][0-9]\\b" . "12:00")
    ("\\b[0-9]+\\.[0-9] seconds" . "0.2 seconds")
    ("\\b[0-9.]+ \\(ms\\|s\\)\\b" . "1 \\1")
    ("127\\.0\\.0\\.1:[0-9]+" . "127.0.0.1:1234")
    ("\\b[0-9a-f]\\{12,64\\}\\b" . "0123456789ab"))
  "Patterns of what differs from run to run, and what stands for it.")

(defvar passepartout-screens--socket nil "The socket of this test's tmux.")

(defun passepartout-screens--tmux (&rest words)
  "Run tmux with WORDS and return what it prints."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8)
          (coding-system-for-write 'utf-8))
      (apply #'call-process "tmux" nil t nil
             "-S" passepartout-screens--socket words))
    (buffer-string)))

(defun passepartout-screens-keys (&rest keys)
  "Send KEYS, as tmux names them."
  (apply #'passepartout-screens--tmux "send-keys" keys))

(defun passepartout-screens-type (text)
  "Type TEXT."
  (passepartout-screens--tmux "send-keys" "-l" text))

(defun passepartout-screens-command (name)
  "Run the command NAME, by its name."
  (passepartout-screens-keys "M-x")
  (passepartout-screens-type name)
  (passepartout-screens-keys "Enter"))

(defun passepartout-screens--settled (screen)
  "Return SCREEN without what differs from run to run."
  (let ((screen (replace-regexp-in-string
                 (regexp-quote (directory-file-name passepartout-real-world))
                 "/world" screen t t))
        (case-fold-search nil))
    (dolist (pair passepartout-screens--volatile)
      (setq screen (replace-regexp-in-string (car pair) (cdr pair) screen t)))
    (concat (string-trim-right
             (replace-regexp-in-string "[ \t]+$" "" screen))
            "\n")))

(defun passepartout-screens-now ()
  "Return what the terminal shows now."
  (passepartout-screens--settled
   (passepartout-screens--tmux "capture-pane" "-p")))

(defun passepartout-screens-wait (regexp)
  "Wait until the screen has REGEXP, and return the screen."
  (let ((until (+ (float-time) passepartout-real-patience)) screen)
    (while (and (not (string-match-p
                      regexp (setq screen (passepartout-screens-now))))
                (< (float-time) until))
      (accept-process-output nil 0.05))
    (unless (string-match-p regexp screen)
      (ert-fail (list "waited in vain for" regexp screen)))
    screen))

(defun passepartout-screens-check (name regexp)
  "Wait until the screen has REGEXP and is as the file NAME says."
  (let* ((file (expand-file-name (concat name ".txt")
                                 passepartout-screens--folder))
         (wanted (and (file-exists-p file)
                      (with-temp-buffer
                        (let ((coding-system-for-read 'utf-8-unix))
                          (insert-file-contents file))
                        (buffer-string))))
         (until (+ (float-time) 5))
         (screen (passepartout-screens-wait regexp)))
    ;; What is drawn last may come a moment later.
    (while (and (not (equal screen wanted)) (< (float-time) until))
      (accept-process-output nil 0.05)
      (setq screen (passepartout-screens-now)))
    (cond
     ((equal screen wanted))
     ((equal (getenv "PASSEPARTOUT_SCREENS") "write")
      (let ((coding-system-for-write 'utf-8-unix))
        (write-region screen nil file nil 'quiet)))
     (t (ert-fail (format "The screen is not as %s says.  It is:\n%s\nand was:\n%s"
                          file screen wanted))))))

(defun passepartout-screens--begin (width height settings)
  "Start an Emacs on a screen of WIDTH times HEIGHT.
SETTINGS are forms for its init file."
  (let ((init (passepartout-real-write
               "init.el"
               (let ((print-length nil) (print-level nil))
                 (mapconcat
                  #'prin1-to-string
                  `((setq load-path ',load-path
                          passepartout-module-file
                          ,(getenv "PASSEPARTOUT_MODULE")
                          passepartout-directories ',passepartout-directories
                          passepartout-project ,passepartout-project
                          passepartout-providers ',passepartout-providers
                          passepartout-provider-cascade
                          ',passepartout-provider-cascade)
                    ,@passepartout-screens--init ,@settings)
                  "\n"))))
        (process-environment (append '("TERM=xterm-256color" "LC_ALL=C.UTF-8")
                                     process-environment)))
    (passepartout-screens--tmux
     "-f" "/dev/null" "new-session" "-d"
     "-x" (number-to-string width) "-y" (number-to-string height)
     (mapconcat #'shell-quote-argument
                (list (expand-file-name invocation-name invocation-directory)
                      "-Q" "-nw" "-l" init)
                " "))))

;; An Emacs that ends still writes into its world, which is removed next.
(defun passepartout-screens--end ()
  "End the Emacs on the screen, and wait until it has ended."
  (let ((process (string-to-number
                  (passepartout-screens--tmux "display-message" "-p"
                                              "#{pane_pid}")))
        (until (+ (float-time) passepartout-real-patience)))
    (passepartout-screens--tmux "kill-server")
    (while (and (> process 0) (process-attributes process)
                (< (float-time) until))
      (accept-process-output nil 0.05))
    (when (and (> process 0) (process-attributes process))
      (signal-process process 'SIGKILL)
      (ert-fail "An Emacs whose terminal was taken away did not end"))))

(defmacro passepartout-screens-with (place &rest body)
  "Do BODY with an Emacs on a screen that begins as PLACE says.
PLACE is a plist: :width and :height of the screen, :files of the world
as an alist of names and texts, :script for the model, and :settings,
forms for the init file."
  (declare (indent 1) (debug (form body)))
  (let ((place-value (make-symbol "place")))
    `(passepartout-real-with
       (unless (executable-find "tmux")
         (message "There is no tmux: the screens are skipped")
         (ert-skip "There is no tmux"))
       (let ((,place-value ,place)
             (passepartout-screens--socket (passepartout-real-file "tmux")))
         (pcase-dolist (`(,name . ,text) (plist-get ,place-value :files))
           (passepartout-real-write name text))
         (when (plist-get ,place-value :script)
           (apply #'passepartout-real-serve (plist-get ,place-value :script)))
         (unwind-protect
             (progn
               (passepartout-screens--begin
                (or (plist-get ,place-value :width) 80)
                (or (plist-get ,place-value :height) 24)
                (plist-get ,place-value :settings))
               ,@body)
           (passepartout-screens--end))))))

(defconst passepartout-screens--garden
  "* Garden
** TODO Buy seeds
Tomatoes, beans and a little basil.
** Water the beds
Every second evening, unless it rained.
* Boat
** TODO Paint the hull
Two coats, and a day between them.
"
  "A small file of notes.")

(ert-deftest passepartout-screens-a-question-to-ones-notes ()
  (passepartout-screens-with
      `(:files (("memex/home.org" . ,passepartout-screens--garden)))
    (passepartout-screens-command "passepartout-chat")
    (passepartout-screens-check "welcome" "5 headings of 1 file are in memory")
    (passepartout-screens-type "find hull")
    (passepartout-screens-keys "C-c" "Enter")
    (passepartout-screens-check "recall" "\\*\\* Answer")))

(ert-deftest passepartout-screens-a-heading-is-found-while-one-types ()
  (passepartout-screens-with
      `(:files (("memex/home.org" . ,passepartout-screens--garden)))
    ;; What is said while notes are still read takes another line.
    (passepartout-screens-command "passepartout-welcome")
    (passepartout-screens-wait "in memory")
    (passepartout-screens-keys "q" "C-x" "1")
    (passepartout-screens-command "passepartout-find")
    (passepartout-screens-wait "Go to\\|Find\\|heading")
    (passepartout-screens-type "hull")
    (passepartout-screens-check "find" "1 heading; RET: Paint the hull")
    (passepartout-screens-keys "Enter")
    (passepartout-screens-check "found" "-- home.org")))

(ert-deftest passepartout-screens-a-plan-from-the-question-to-the-file ()
  (passepartout-screens-with
      `(:height 40
        :files (("memex/home.org" . ,passepartout-screens--garden)
                ("project/notes.txt" . "one\ntwo\nthree\n"))
        :script (((call "c1" "write-file"
                        ,(json-serialize
                          '((path . "notes.txt")
                            (content . "one\ntwo\nthree\nfour\n")
                            (explanation . "You asked for a fourth line.")))))
                 ((text "The file has four lines now."))))
    (passepartout-screens-command "passepartout-chat")
    (passepartout-screens-wait "in memory")
    (passepartout-screens-type "Add a line four to notes.txt")
    (passepartout-screens-keys "C-c" "Enter")
    (passepartout-screens-check "plan-waits" "\\[1 plan\\]")
    (passepartout-screens-command "passepartout-flight-plans")
    (passepartout-screens-check "plan" "C-c C-c approves")
    (passepartout-screens-keys "C-x" "1")
    (passepartout-screens-keys "n")
    (passepartout-screens-wait "End of plan")
    ;; The change alone, and with Ediff, which leaves all as it was.
    (passepartout-screens-keys "=")
    (passepartout-screens-check "plan-change" "^\\+four")
    (passepartout-screens-keys "E")
    ;; Versions of Ediff draw their panel differently.
    (passepartout-screens-wait
     (concat "three\n\n+ A: .*as it is.*\n\\(?:.*\n\\)*"
             "three\nfour\n\n+ B: .*as planned\\(?:.*\n\\)*.*1 diffs"))
    (passepartout-screens-keys "q")
    (passepartout-screens-wait "Quit this Ediff")
    (passepartout-screens-keys "y")
    (passepartout-screens-wait "^\\+four")
    (passepartout-screens-keys "q")
    (passepartout-screens-keys "C-x" "1")
    ;; What has only just appeared is not approved yet.
    (passepartout-real-until
      (passepartout-screens-keys "C-c" "C-c")
      (accept-process-output nil 0.3)
      (string-match-p "^\\* \\(?:APPROVED\\|DONE\\) "
                      (passepartout-screens-now)))
    (passepartout-screens-check "plan-approved" "^\\* DONE ")
    (should (equal (passepartout-real-read "project/notes.txt")
                   "one\ntwo\nthree\nfour\n"))))

(ert-deftest passepartout-screens-a-rewrite-that-is-accepted-and-undone ()
  (passepartout-screens-with
      `(:files (("memex/home.org" . ,passepartout-screens--garden)
                ("project/letter.txt" . "Deer Anna,\n\nthe boat is redy.\n"))
        :script (((text "Dear Anna,\n\nthe boat is ready.\n")))
        :settings ((find-file (expand-file-name "letter.txt"
                                                passepartout-project))))
    (passepartout-screens-wait "Deer Anna")
    (passepartout-screens-keys "C-x" "h")
    (passepartout-screens-command "passepartout-rewrite")
    (passepartout-screens-check "rewrite-asks" "ewrite.*: *$")
    (passepartout-screens-type "Mend the spelling")
    (passepartout-screens-keys "Enter")
    (passepartout-screens-check "rewrite" "Dear Anna\\(?:.*\n\\)*.*ready")
    ;; Asked again where a new text waits, passepartout-rewrite shows
    ;; passepartout-rewrite-menu.
    (passepartout-screens-command "passepartout-rewrite")
    (passepartout-screens-check "rewrite-menu" "difference")
    (passepartout-screens-keys "a")
    (passepartout-screens-check "rewrite-accepted" "\\`Dear Anna")
    (passepartout-screens-keys "C-/")
    (passepartout-screens-wait "\\`Deer Anna")))

;; A terminal is often no larger than this, and what does not fit in the
;; menu is not there for whoever reads it.
(ert-deftest passepartout-screens-menu-fits-a-small-terminal ()
  (passepartout-screens-with
      `(:files (("memex/home.org" . ,passepartout-screens--garden)))
    (passepartout-screens-command "passepartout-chat")
    (passepartout-screens-wait "in memory")
    ;; In a chat there is most to choose from.
    (passepartout-screens-command "passepartout-menu")
    (passepartout-screens-check "menu-small" "Passepartout: idle")
    (passepartout-screens-keys "?")
    (passepartout-screens-check "menu-more-small" "read notes again")
    (passepartout-screens-keys "C-g")
    (passepartout-screens-wait "look at\\|Look at")
    (passepartout-screens-keys "C-g")
    ;; In another window, and where nothing is Org.
    (passepartout-screens-keys "C-x" "o")
    (passepartout-screens-command "passepartout-menu")
    (passepartout-screens-check "menu-small-elsewhere" "Passepartout: idle")
    (passepartout-screens-keys "?")
    (passepartout-screens-check "menu-more-small-elsewhere"
                                "read notes again")))

(ert-deftest passepartout-screens-menu-and-lists ()
  (passepartout-screens-with
      `(:height 40
        :files (("memex/home.org" . ,passepartout-screens--garden)))
    (passepartout-screens-command "passepartout-chat")
    (passepartout-screens-wait "in memory")
    (passepartout-screens-command "passepartout-menu")
    (passepartout-screens-check "menu" "Passepartout: idle")
    ;; passepartout-menu-more
    (passepartout-screens-keys "?")
    (passepartout-screens-check "menu-more" "read notes again")
    (passepartout-screens-keys "C-g")
    (passepartout-screens-wait "look at")
    (passepartout-screens-keys "C-g")
    (passepartout-screens-keys "C-x" "1")
    (dolist (name '("flight-plans" "memory-log" "costs" "jobs"
                    "clients" "gateways" "servers"))
      (passepartout-screens-command (concat "passepartout-" name))
      (passepartout-screens-check (concat "list-" name) "leaves\\|quits")
      (passepartout-screens-keys "q"))))

(provide 'passepartout-screens-tests)
;;; passepartout-screens-tests.el ends here
