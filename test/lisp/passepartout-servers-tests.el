;;; passepartout-servers-tests.el --- Tests of the list of MCP servers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the buffer of servers shows of an answer of the core, what its
;; buttons ask for, and what is sent of the option.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'passepartout-fake)
(require 'passepartout-servers)

(defconst passepartout-servers-tests--payload
  '(:servers ((:name "fs" :place "(Emacs)" :command ("fs-server" "-v")
               :state "waiting" :why "waits" :rule "L0123ABCD"
               :tools ((:name "mcp-fs-read" :effect "execute"))
               :left ("“x\n* y”: its name is too long") :refused 2)
              (:name "web" :place "/s/mcp.json" :command ("web")
               :state "lending" :rule "L4567ABCD" :tools nil :left nil
               :refused 0)))
  "An answer of the core.")

(ert-deftest passepartout-servers-shows-each-and-what-can-be-done ()
  "Each server is shown with its tools; nothing of it makes a line of its own."
  (passepartout-fake-with
    (passepartout-servers)
    (passepartout-fake-answer :servers passepartout-servers-tests--payload)
    (with-current-buffer passepartout-servers--buffer-name
      (let ((text (buffer-string)))
        (dolist (part '("(Emacs)" "fs-server -v"
                        "mcp-fs-read (execute)" "wanted something"
                        "withdraw"))
          (should (string-match-p (regexp-quote part) text)))
        (dolist (row '("^  fs +waiting +(Emacs) +fs-server -v$"
                       "^  web +lending +/s/mcp.json +web$"))
          (should (string-match-p row text)))
        (should-not (string-match-p "^\\* y" text)))
      (goto-char (point-min))
      (re-search-forward "^ +confirm")
      (push-button (1- (point)))
      (should (equal (plist-get (car (passepartout-fake-sent :rule-confirm))
                                :rule)
                     "L0123ABCD")))))

(ert-deftest passepartout-servers-settings-are-sent ()
  "What is declared is sent with folders made whole."
  (let* ((passepartout-mcp-servers
          '((fs :command ("fs-server") :folder "~/x" :read ("~/y")
                :environment (("A" . t)))))
         (sent (plist-get (passepartout-events--servers) :mcp-servers)))
    (should (equal (plist-get (cdar sent) :command) '("fs-server")))
    (should (equal (plist-get (cdar sent) :folder) (expand-file-name "~/x")))
    (should (equal (plist-get (cdar sent) :read)
                   (list (expand-file-name "~/y"))))
    (should (equal (plist-get (cdar sent) :environment) '(("A" . t))))
    (should (equal (plist-get (cdar passepartout-mcp-servers) :folder)
                   "~/x"))))

;; What a user wrote wrongly stops no core from starting.
(ert-deftest passepartout-servers-what-is-no-entry-is-sent-as-one-without-a-name ()
  (dolist (case '((("fs" . "server") (nil)) ("fs" (nil)) (5 (nil))
                  ((fs :read (1 "~/y")) nil)))
    (let* ((passepartout-mcp-servers (list (car case)))
           (sent (plist-get (passepartout-events--servers) :mcp-servers)))
      (if (cadr case)
          (should (equal sent (list (cadr case))))
        (should (equal (plist-get (cdar sent) :read)
                       (list 1 (expand-file-name "~/y"))))))))

(provide 'passepartout-servers-tests)
;;; passepartout-servers-tests.el ends here
