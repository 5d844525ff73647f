;;; passepartout-surface-tests.el --- Memory's surfaces with the real module  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; The log of memory, undo and redo in an open buffer, blame, the focus,
;; queries and dynamic blocks, each with its keys and with the core.

;;; Code:

(require 'passepartout-real)
(require 'passepartout-memory)
(require 'passepartout-focus)
(require 'passepartout-find)
(require 'passepartout-query)
(require 'passepartout-query-block)

(defconst passepartout-surface-tests--text
  "#+TITLE: Work

* Boat
:PROPERTIES:
:ID: boat
:END:
** TODO Order timber
DEADLINE: <2026-03-02 Mon>
:PROPERTIES:
:ID: timber
:END:
Larch for the deck.
** DONE Paint the hull
* House
** TODO Mend the gutter
"
  "A small file of notes.")

(defvar passepartout-surface-tests--said nil
  "What was said in the echo area, the newest first.")

(defun passepartout-surface-tests--hear (format &rest arguments)
  "Keep the message that FORMAT makes of ARGUMENTS."
  (when format
    (push (apply #'format format arguments) passepartout-surface-tests--said)))

(defun passepartout-surface-tests--wait (what predicate)
  "Wait for PREDICATE, for WHAT; a failure tells what was said."
  (condition-case problem
      (passepartout-real-wait what predicate)
    (ert-test-failed
     (ert-fail (append (cdr problem)
                       (list :said passepartout-surface-tests--said))))))

(defun passepartout-surface-tests--told (text)
  "Wait until a message with TEXT was said."
  (passepartout-surface-tests--wait
   text
   (lambda ()
     (seq-some (lambda (line) (string-search text line))
               passepartout-surface-tests--said))))

(defmacro passepartout-surface-tests--with (&rest body)
  "Run BODY with the core, in a buffer of a file of notes that it follows."
  (declare (indent 0) (debug t))
  `(passepartout-real-with
     (let ((file (passepartout-real-write
                  "memex/work.org" passepartout-surface-tests--text))
           (passepartout-surface-tests--said nil))
       (cl-letf (((symbol-function 'message)
                  #'passepartout-surface-tests--hear))
       (setq passepartout-provider-cascade '("recall"))
       (passepartout-real-start)
       (switch-to-buffer (find-file-noselect file))
       (buffer-enable-undo)
       (passepartout-mode 1)
       ,@body))))

(defun passepartout-surface-tests--shown (name pattern)
  "Wait until the buffer NAME shows PATTERN, and make it current."
  (passepartout-surface-tests--wait
   (list name pattern)
   (lambda ()
     (let ((buffer (get-buffer name)))
       (and buffer
            (with-current-buffer buffer
              (string-match-p pattern (buffer-string)))))))
  (switch-to-buffer name))

(defun passepartout-surface-tests--carry-out (title)
  "Wait for the preview with TITLE and carry it out with its key."
  (passepartout-surface-tests--shown passepartout-memory--preview-name title)
  (set-window-start nil (point-min))
  ;; Nobody draws a window here, and nobody waits.
  (let* ((ahead 0)
         (passepartout-plan--clock (lambda () (+ (float-time) ahead)))
         (passepartout-plan--window-end (lambda (_window) (point-max))))
    (passepartout-memory--look)
    (setq ahead (* 3 passepartout-approval-delay)
          passepartout-memory--since (min passepartout-memory--since
                                          (float-time)))
    (passepartout-real-key "C-c C-c")))

(ert-deftest passepartout-surface-log-undo-and-redo-in-an-open-buffer ()
  (passepartout-surface-tests--with
    (let ((notes (current-buffer)))
      (passepartout-real-ask "add a todo “Oil the winch” under Boat")
      (passepartout-real-plan "Oil the winch")
      (passepartout-real-key "C-c C-c")
      (with-current-buffer notes
        (passepartout-real-until
          (string-search "TODO Oil the winch" (buffer-string)))
        ;; What the user writes after it stays.
        (goto-char (point-max))
        (insert "** TODO Sweep the chimney\n"))
      (passepartout-real-until
        (progn (passepartout-memory-log)
               (sit-for 0.1)
               ;; In a narrow window the name of the tool has less room.
               (string-match-p "agent (org-.*Oil the winch"
                               (buffer-string))))
      ;; Point is on a step, and each key has one.
      (goto-char (point-min))
      (passepartout-real-key "n")
      (should (passepartout-memory--at))
      (re-search-forward "agent (org-")
      (passepartout-real-key "RET")
      (passepartout-surface-tests--shown
       passepartout-memory--text-name "^: \\+\\*\\* TODO Oil the winch")
      (should (string-match-p "^: request: add a todo" (buffer-string)))
      (goto-char (point-min))
      (re-search-forward "^: \\+")
      (should (eq 'diff-added (get-text-property (point) 'face)))
      (passepartout-undo)
      (passepartout-surface-tests--carry-out "Undo what was done to 1 file")
      (with-current-buffer notes
        (passepartout-real-until
          (not (string-search "Oil the winch" (buffer-string))))
        (should (equal (concat passepartout-surface-tests--text
                               "** TODO Sweep the chimney\n")
                       (buffer-string)))
        (should (buffer-modified-p)))
      ;; The buffer is changed before the undo is a step of its own.
      (passepartout-surface-tests--told "Done. The buffer of")
      (setq passepartout-surface-tests--said nil)
      (passepartout-redo)
      (passepartout-surface-tests--carry-out "Redo what was undone in 1 file")
      ;; As above: what is told of the buffer before that is by a hand.
      (passepartout-surface-tests--told "Done. The buffer of")
      (with-current-buffer notes
        (passepartout-real-until
          (string-search "TODO Oil the winch" (buffer-string)))
        (should (string-search "Sweep the chimney" (buffer-string)))
        (switch-to-buffer notes)
        ;; A window that showed the buffer before has a point of its own.
        (goto-char (point-min))
        (search-forward "Oil the winch")
        (passepartout-real-until
          (progn (passepartout-sense--idle)
                 (passepartout-blame)
                 (sit-for 0.1)
                 (let ((shown (get-buffer passepartout-memory--text-name)))
                   (and shown
                        (with-current-buffer shown
                          (string-match-p "^: Oil the winch\n: .*by you"
                                          (buffer-string)))))))))))

(defun passepartout-surface-tests--add-and-wait (notes)
  "Have a heading added to the buffer NOTES, and wait until it is there."
  (passepartout-real-ask "add a todo “Oil the winch” under Boat")
  (let ((id (plist-get (passepartout-real-plan "Oil the winch") :id)))
    (passepartout-real-key "C-c C-c")
    (with-current-buffer notes
      (passepartout-real-until
        (string-search "TODO Oil the winch" (buffer-string))))
    ;; What is under way cannot be taken back yet.
    (passepartout-real-until
      (equal "done" (plist-get (passepartout-plan--find id) :status)))))

(ert-deftest passepartout-surface-undo-leaves-what-the-user-changed-in-a-buffer ()
  (passepartout-surface-tests--with
    (let ((notes (current-buffer)) dirty)
      (passepartout-surface-tests--add-and-wait notes)
      (with-current-buffer notes
        (goto-char (point-min))
        (re-search-forward "TODO Oil the winch")
        (insert "\nWith the red can.")
        (setq dirty (buffer-string)))
      (passepartout-undo)
      (passepartout-surface-tests--told "nothing can be taken back")
      (passepartout-surface-tests--told "was changed by hand since")
      (with-current-buffer notes
        (should (equal dirty (buffer-string)))
        ;; As soon as it is as the agent left it, it goes.
        (goto-char (point-min))
        (re-search-forward "\nWith the red can\\.")
        (replace-match "")
        (insert "\n** TODO Sweep the chimney"))
      (passepartout-undo)
      (passepartout-surface-tests--carry-out "Undo what was done to 1 file")
      (with-current-buffer notes
        (passepartout-real-until
          (not (string-search "Oil the winch" (buffer-string))))
        (should (string-search "** TODO Sweep the chimney" (buffer-string)))))))

(ert-deftest passepartout-surface-undo-respects-a-read-only-buffer ()
  (passepartout-surface-tests--with
    (let ((notes (current-buffer)))
      (passepartout-surface-tests--add-and-wait notes)
      (dolist (saved '(nil t))
        (with-current-buffer notes
          (when saved
            (let ((save-silently t)) (save-buffer)))
          (setq buffer-read-only t))
        (setq passepartout-surface-tests--said nil)
        (passepartout-undo)
        (passepartout-surface-tests--told "it is open in a read-only buffer")
        (with-current-buffer notes
          (should (string-search "Oil the winch" (buffer-string)))
          (setq buffer-read-only nil)))
      (passepartout-undo)
      (passepartout-surface-tests--carry-out "Undo what was done to 1 file")
      (with-current-buffer notes
        (passepartout-real-until
          (equal passepartout-surface-tests--text (buffer-string)))))))

(ert-deftest passepartout-surface-undo-brings-back-a-deleted-file-that-is-open ()
  (passepartout-real-with
    (passepartout-real-write "memex/work.org" passepartout-surface-tests--text)
    (let ((clean (passepartout-real-write "project/clean.txt" "one\n"))
          (dirty (passepartout-real-write "project/dirty.txt" "two\n"))
          (passepartout-surface-tests--said nil))
      (cl-letf (((symbol-function 'message)
                 #'passepartout-surface-tests--hear))
        (passepartout-real-serve
         `((call "c1" "shell"
                 ,(passepartout-real-args
                   "command" "rm clean.txt dirty.txt"
                   "explanation" "because it was asked for")))
         '((text "All is settled now.")))
        (passepartout-real-start)
        (let ((buffers (mapcar #'find-file-noselect (list clean dirty))))
          (with-current-buffer (cadr buffers)
            (goto-char (point-max))
            (insert "mine\n"))
          (passepartout-real-ask "remove both")
          (passepartout-real-plan)
          (passepartout-real-key "C-c C-c")
          (passepartout-real-answer 2)
          (when (file-exists-p clean)
            (ert-skip "Commands cannot be confined here"))
          (should-not (file-exists-p dirty))
          (passepartout-undo)
          (passepartout-surface-tests--carry-out "Undo what was done to 1 file")
          (passepartout-real-until (file-exists-p clean))
          (should (equal "one\n" (passepartout-real-read "project/clean.txt")))
          ;; What only its buffer holds is not written over, nor lost.
          (passepartout-surface-tests--told "dirty.txt: ")
          (should-not (file-exists-p dirty))
          (should (equal "two\nmine\n"
                         (with-current-buffer (cadr buffers)
                           (buffer-string)))))))))

(ert-deftest passepartout-surface-rewind-goes-back-to-a-step ()
  (passepartout-surface-tests--with
    (let ((notes (current-buffer)))
      (passepartout-real-ask "add a todo “Oil the winch” under Boat")
      (passepartout-real-plan "Oil the winch")
      (passepartout-real-key "C-c C-c")
      (with-current-buffer notes
        (passepartout-real-until
          (string-search "TODO Oil the winch" (buffer-string))))
      (passepartout-real-until
        (progn (passepartout-memory-log)
               (sit-for 0.1)
               (string-match-p "Oil the winch" (buffer-string))))
      (goto-char (point-max))
      (passepartout-real-key "p")
      (should (eql 1 (passepartout-memory--at)))
      (passepartout-real-key "R")
      (passepartout-surface-tests--carry-out "Rewind 1 file to operation 1")
      (with-current-buffer notes
        (passepartout-real-until
          (equal passepartout-surface-tests--text (buffer-string)))))))

(ert-deftest passepartout-surface-focus-is-on-the-heading-at-point ()
  (passepartout-surface-tests--with
    (goto-char (point-min))
    (search-forward "gutter")
    ;; Without a pause in which the core would be told of point.
    (passepartout-focus)
    (passepartout-surface-tests--told "project “Mend the gutter”")
    (passepartout-surface-tests--told
     "M-x passepartout-unfocus goes back to the whole memex")
    (search-backward "Order timber")
    (passepartout-focus)
    (passepartout-surface-tests--told "project “Order timber”")
    (passepartout-unfocus)
    (passepartout-unfocus)
    (passepartout-surface-tests--told "The agent looks at the whole memex")
    (passepartout-unfocus)
    (passepartout-surface-tests--told
     "nothing is narrowed; M-x passepartout-focus narrows")
    (with-temp-buffer
      (should-error (passepartout-focus) :type 'user-error))))

(ert-deftest passepartout-surface-query-is-sorted-and-visited ()
  (passepartout-surface-tests--with
    (passepartout-query "todo:open")
    (passepartout-surface-tests--shown "*Passepartout query: todo:open*"
                                       "Mend the gutter")
    (passepartout-query-sort "-title")
    (passepartout-real-until
      (equal '("Order timber" "Mend the gutter")
             (mapcar #'car (passepartout-list--imenu))))
    (goto-char (point-min))
    (passepartout-real-key "n")
    (passepartout-real-key "RET")
    (should (equal file (buffer-file-name)))
    (should (looking-at-p "\\*\\* TODO Mend the gutter"))))

(ert-deftest passepartout-surface-find-goes-to-what-was-found ()
  (passepartout-surface-tests--with
    (passepartout-find--go-first "larch")
    (passepartout-real-until (looking-at-p "\\*\\* TODO Order timber"))
    (should (equal file (buffer-file-name)))))

(ert-deftest passepartout-surface-dynamic-block-is-filled-and-follows ()
  (passepartout-surface-tests--with
    (let ((notes (current-buffer))
          (list (find-file-noselect (passepartout-real-file "list.org"))))
      (switch-to-buffer list)
      (insert "* List\n#+BEGIN: passepartout-query :query \"todo:open sort:title\""
              " :columns (todo title deadline)\n#+END:\nBehind.\n")
      (goto-char (point-min))
      (search-forward "#+BEGIN")
      (forward-line 0)
      (passepartout-real-key "C-c C-c")
      (passepartout-real-until (string-search "Order timber" (buffer-string)))
      (should (string-match-p "^| TODO | \\[\\[.*Mend the gutter\\]\\] +| +|$"
                              (buffer-string)))
      ;; A deadline in a list is not one in the agenda.
      (should (string-match-p "| 2026-03-02 Mon |" (buffer-string)))
      (should (string-suffix-p "#+END:\nBehind.\n" (buffer-string)))
      (with-current-buffer notes
        (goto-char (point-min))
        (search-forward "TODO Mend")
        (replace-match "DONE Mend")
        (switch-to-buffer notes)
        (passepartout-sense--idle))
      (switch-to-buffer list)
      (passepartout-real-until
        (progn (goto-char (point-min))
               (search-forward "#+BEGIN")
               (forward-line 0)
               (org-update-dblock)
               (sit-for 0.1)
               (not (string-search "Mend the gutter" (buffer-string)))))
      (should (string-search "Order timber" (buffer-string))))))

(provide 'passepartout-surface-tests)
;;; passepartout-surface-tests.el ends here
