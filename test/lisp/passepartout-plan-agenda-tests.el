;;; passepartout-plan-agenda-tests.el --- Tests of flight plans in Org's agenda  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; Org makes its agendas here, of a file of its own, and the core is one
;; of paper: whatever it would be asked would be seen.

;;; Code:

(require 'org-agenda)
(require 'passepartout-fake)
(require 'passepartout-plan-tests)
(require 'passepartout-plan-agenda)

(defmacro passepartout-plan-agenda-tests--with (&rest body)
  "Run BODY with two plans that wait, in an Emacs with one task for Org."
  (declare (indent 0) (debug t))
  `(passepartout-fake-with
     (let* ((folder (make-temp-file "passepartout-agenda" t))
            (file (expand-file-name "tasks.org" folder))
            (org-agenda-files (list file))
            (org-agenda-window-setup 'current-window)
            (org-agenda-sticky nil)
            (org-agenda-custom-commands
             '(("x" "Both" ((agenda "" ((org-agenda-span 'day)))
                            (alltodo ""))))))
       (unwind-protect
           (progn
             (with-temp-file file (insert "* TODO Water the beans\n"))
             (custom-set-variables '(passepartout-plan-agenda t))
             (dolist (plan (list (passepartout-plan-tests--plan
                                  "P1" :title "Write [[elisp:(error \"It ran\")][safe]]\u202e")
                                 (passepartout-plan-tests--plan "P2")))
               (passepartout-fake-inject
                :event (list :action :plan-parked :plan plan)))
             (setq passepartout-fake-sent nil)
             ,@body)
         (custom-set-variables '(passepartout-plan-agenda nil))
         (when (get-buffer "*Org Agenda*") (kill-buffer "*Org Agenda*"))
         (when (find-buffer-visiting file)
           (kill-buffer (find-buffer-visiting file)))
         (delete-directory folder t)))))

(defun passepartout-plan-agenda-tests--plans ()
  "Return the plans whose lines stand in the agenda."
  (with-current-buffer "*Org Agenda*"
    (let ((place (point-min)) found)
      (while place
        (let ((id (get-text-property place 'passepartout-plan)))
          (when id (push id found)))
        (setq place (next-single-property-change place 'passepartout-plan)))
      (nreverse found))))

(ert-deftest passepartout-plan-agenda-has-the-plans-that-wait ()
  (passepartout-plan-agenda-tests--with
    (dolist (make (list (lambda () (org-agenda-list nil nil 'day))
                        (lambda () (org-todo-list))
                        (lambda () (org-tags-view nil "beans"))
                        (lambda () (org-agenda nil "x"))))
      (funcall make)
      (should (equal (passepartout-plan-agenda-tests--plans) '("P1" "P2")))
      (with-current-buffer "*Org Agenda*"
        (should (derived-mode-p 'org-agenda-mode))
        (should (string-match-p "\\`2 flight plans wait:\n  plan: +PLAN Write "
                                (buffer-string)))
        (should-not (string-search "\u202e" (buffer-string)))
        (should (= 1 (how-many "flight plans wait" (point-min) (point-max))))))
    ;; The last one was that of several blocks, and still is when it is
    ;; made again from the first line, and from that of a plan.
    (dolist (id '("P3" "P4"))
      (passepartout-plan--store (passepartout-plan-tests--plan id))
      (org-agenda-redo)
      (should (member id (passepartout-plan-agenda-tests--plans)))
      (goto-char (point-min))
      (forward-line 1))
    (goto-char (point-min))
    (with-current-buffer "*Org Agenda*"
      (should (string-match-p "Water the beans" (buffer-string)))
      (should (string-match-p "^Day-agenda" (buffer-string))))
    ;; The core was asked nothing for all of this.
    (should-not passepartout-fake-sent)))

(ert-deftest passepartout-plan-agenda-goes-to-a-plan-and-does-nothing-else ()
  (passepartout-plan-agenda-tests--with
    (org-todo-list)
    (goto-char (point-min))
    (search-forward "PLAN Write P2")
    ;; What Org would do to an entry it does not do to a plan.
    (dolist (command '(org-agenda-todo org-agenda-schedule org-agenda-kill
                       org-agenda-goto org-agenda-clock-in))
      (should-error (call-interactively command)))
    (search-backward "[[elisp:")
    (should (eq (key-binding (kbd "C-c C-o")) 'passepartout-plan-agenda-visit))
    (search-forward "Write P2")
    (passepartout-plan-tests--key "RET")
    (should (equal (buffer-name) passepartout-plan--buffer-name))
    (should (equal (passepartout-plan-id-at-point) "P2"))
    (should-not (passepartout-fake-sent :approval))
    ;; On an entry of Org its own command stands.
    (switch-to-buffer "*Org Agenda*")
    (search-forward "Water the beans")
    (should (eq (key-binding (kbd "RET")) 'org-agenda-switch-to))
    ;; A plan that waits no more is gone when the agenda is made again.
    (dolist (id '("P1" "P2"))
      (passepartout-plan--store
       (passepartout-plan-tests--plan id :status "done")))
    (org-agenda-redo)
    (should-not (passepartout-plan-agenda-tests--plans))
    (should-not (string-search "flight plan" (buffer-string)))))

(ert-deftest passepartout-plan-agenda-is-as-org-makes-it-when-it-is-off ()
  (passepartout-plan-agenda-tests--with
    (custom-set-variables '(passepartout-plan-agenda nil))
    (should-not (memq 'passepartout-plan-agenda-insert
                      org-agenda-finalize-hook))
    (org-todo-list)
    (should-not (passepartout-plan-agenda-tests--plans))
    (should-not (string-search "flight plan" (buffer-string)))
    (should-not passepartout-fake-sent)))

(provide 'passepartout-plan-agenda-tests)
;;; passepartout-plan-agenda-tests.el ends here
