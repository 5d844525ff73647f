;;; passepartout-context-tests.el --- Tests of what a model is told  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; Who the agent is, and which notes it is told of, with the real module.

;;; Code:

(require 'cl-lib)
(require 'passepartout-real)
(require 'passepartout-context)
(require 'passepartout-inspect)

(ert-deftest passepartout-context-identity-is-a-file-of-the-user ()
  (passepartout-real-with
    (passepartout-real-write "memex/boat.org" "* Boat\n")
    (passepartout-real-serve '((text "Aye.")))
    (passepartout-real-start)
    (let ((file (passepartout-real-file "config/passepartout/IDENTITY")))
      (passepartout-identity)
      (passepartout-real-until (find-buffer-visiting file))
      (should (eq (window-buffer) (find-buffer-visiting file)))
      (with-current-buffer (find-buffer-visiting file)
        (should (string-prefix-p "You are {name}, an agent" (buffer-string)))
        (should (buffer-modified-p))
        (should-not (file-exists-p file))
        (erase-buffer)
        (insert "You are a shipwright.\n")
        (let ((inhibit-message t)) (save-buffer)))
      (passepartout-real-ask "Hello?")
      (should (string-search "Aye." (passepartout-real-answer 1)))
      (should (string-prefix-p
               "You are a shipwright.\n"
               (alist-get 'content (car (passepartout-real-asked 1)))))
      ;; What is there is opened as it is.
      (kill-buffer (find-buffer-visiting file))
      (passepartout-identity)
      (passepartout-real-until (find-buffer-visiting file))
      (with-current-buffer (find-buffer-visiting file)
        (should (equal "You are a shipwright.\n" (buffer-string)))
        (should-not (buffer-modified-p))))))

(defconst passepartout-context-tests--boat
  "* Boat
:PROPERTIES:
:ID: boat
:END:
** Timber
:PROPERTIES:
:ID: timber
:END:
Larch for the deck.
** Beans
:PROPERTIES:
:ID: beans
:END:
Runner beans by the wall.
"
  "A small memex.")

(defun passepartout-context-tests--line (title)
  "Return the line of the heading TITLE in the buffer, or nil."
  (with-current-buffer passepartout-context--buffer-name
    (goto-char (point-min))
    (and (re-search-forward
          (concat "^  \\(?:full\\|title\\|out\\) .* " title " ") nil t)
         (buffer-substring-no-properties (line-beginning-position)
                                         (line-end-position)))))

(ert-deftest passepartout-context-shows-pins-and-drops ()
  (passepartout-real-with
    (let ((file (passepartout-real-write "memex/boat.org"
                                         passepartout-context-tests--boat)))
      (passepartout-real-start)
      (passepartout-context "larch")
      (passepartout-real-until (passepartout-context-tests--line "Timber"))
      (should (string-match-p "^  full +[0-9]+ Timber +words 1.00"
                              (passepartout-context-tests--line "Timber")))
      (should (string-search "Question: larch" (buffer-string)))
      (should (string-match-p "^  in all +[0-9]+$" (buffer-string)))
      (passepartout-context-tests--line "Timber")
      (passepartout-real-key "-")
      (passepartout-real-until
        (string-search "left out by you"
                       (or (passepartout-context-tests--line "Timber") "")))
      (passepartout-context-tests--line "Timber")
      (passepartout-real-key "+")
      (passepartout-real-until
        (string-search "pinned"
                       (or (passepartout-context-tests--line "Timber") "")))
      ;; On the heading it is kept by a flight plan alone.
      (passepartout-context-tests--line "Timber")
      (let ((current-prefix-arg '(4)))
        (passepartout-real-key "-"))
      (passepartout-real-until
        (and passepartout-plan--plans
             (seq-some (lambda (entry)
                         (equal "org-set-property"
                                (plist-get (cdr entry) :tool)))
                       (hash-table-values passepartout-plan--plans))))
      (should (equal passepartout-context-tests--boat
                     (passepartout-real-read "memex/boat.org")))
      (passepartout-context-tests--line "Timber")
      (passepartout-real-key "RET")
      (should (equal file (file-truename buffer-file-name)))
      (should (looking-at-p "\\*\\* Timber")))))

(ert-deftest passepartout-context-marks-what-is-in ()
  (passepartout-real-with
    (let ((file (passepartout-real-write "memex/boat.org"
                                         passepartout-context-tests--boat)))
      (passepartout-real-start)
      (with-current-buffer (find-file-noselect file)
        (unwind-protect
            (progn
              (passepartout-context-marks-mode 1)
              (passepartout-context "larch")
              (passepartout-real-until passepartout-context--marks)
              (let* ((buffer (find-buffer-visiting file))
                     (marked (lambda (text)
                               (with-current-buffer buffer
                                 (goto-char (point-min))
                                 (search-forward text)
                                 (mapcar
                                  (lambda (overlay)
                                    (overlay-get overlay
                                                 'passepartout-context))
                                  (overlays-in (line-beginning-position)
                                               (1+ (line-beginning-position)))))))
                     (timber (funcall marked "** Timber")))
                (should (memq :full timber))
                (passepartout-context-marks-mode -1)
                (should-not passepartout-context--marks)
                (should-not (remq nil (funcall marked "** Timber")))))
          (passepartout-context-marks-mode -1))))))

(ert-deftest passepartout-inspect-shows-what-was-sent-byte-for-byte ()
  (passepartout-real-with
    (passepartout-real-write "memex/boat.org" passepartout-context-tests--boat)
    (passepartout-real-serve '((text "Larch.")))
    (passepartout-real-start)
    (passepartout-inspect "which wood?")
    (passepartout-real-until (string-search "Would be sent to fake"
                                            (buffer-string)))
    (should-not (file-exists-p (passepartout-real-file "model/1.json")))
    (passepartout-real-ask "which wood for the deck?")
    (should (string-search "Larch." (passepartout-real-answer 1)))
    ;; The next question of the chat is shown with what was said before.
    (with-current-buffer (passepartout-real-chat)
      (passepartout-chat-next)
      (goto-char (point-max))
      (insert "and how much of it?")
      (let ((current-prefix-arg '(4)))
        (call-interactively #'passepartout-inspect)))
    (passepartout-real-until
      (with-current-buffer passepartout-inspect--buffer-name
        (and (string-search "and how much of it?" (buffer-string))
             (string-search "Would be sent to fake" (buffer-string))
             (string-search "which wood for the deck?" (buffer-string)))))
    (should-not (file-exists-p (passepartout-real-file "model/2.json")))
    (passepartout-inspect)
    (passepartout-real-until
      (with-current-buffer passepartout-inspect--buffer-name
        (string-search "Sent to fake (" (buffer-string))))
    (with-current-buffer passepartout-inspect--buffer-name
      (should (string-match-p "^: POST http://127.0.0.1:[0-9]+/v1/chat/completions$"
                              (buffer-string)))
      (should (string-search "It stays on this machine" (buffer-string)))
      (should (string-search
               (concat ":\n" (passepartout-view-fixed
                              (passepartout-real-read "model/1.json")))
               (buffer-string))))))

(ert-deftest passepartout-context-marks-ask-nobody ()
  (let ((passepartout-context--focus nil)
        (asked nil))
    (cl-letf (((symbol-function 'passepartout-request)
               (lambda (action payload &rest _)
                 (push (cons action payload) asked))))
      (passepartout-context--follow '(:focus "boat") nil)
      (passepartout-context--follow '(:focus "boat") nil))
    (should (equal asked '((:context :quietly t))))))

(ert-deftest passepartout-context-in-a-chat-is-that-of-its-next-question ()
  (passepartout-real-with
    (passepartout-real-write "memex/boat.org" passepartout-context-tests--boat)
    (passepartout-real-serve '((text "Larch.")))
    (passepartout-real-start)
    (passepartout-real-ask "which wood for the deck?")
    (should (string-search "Larch." (passepartout-real-answer 1)))
    (with-current-buffer (passepartout-real-chat)
      (passepartout-chat-next)
      (goto-char (point-max))
      (insert "and the beans?")
      (call-interactively #'passepartout-context))
    (passepartout-real-until
      (with-current-buffer passepartout-context--buffer-name
        (string-search "Question: and the beans?" (buffer-string))))
    (with-current-buffer passepartout-context--buffer-name
      (should (string-match-p "^Asked first: fake, model .*, on this machine\\.$"
                              (buffer-string)))
      (should (string-match-p "^  earlier turns, whole +[0-9]+  "
                              (buffer-string))))))

(provide 'passepartout-context-tests)
;;; passepartout-context-tests.el ends here
