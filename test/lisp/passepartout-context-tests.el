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

;; Who the agent is, with the real module.

;;; Code:

(require 'passepartout-real)
(require 'passepartout-context)

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
      (set-buffer-modified-p nil)
      (kill-buffer (find-buffer-visiting file))
      (passepartout-identity)
      (passepartout-real-until (find-buffer-visiting file))
      (with-current-buffer (find-buffer-visiting file)
        (should (equal "You are a shipwright.\n" (buffer-string)))
        (should-not (buffer-modified-p))))))

(provide 'passepartout-context-tests)
;;; passepartout-context-tests.el ends here
