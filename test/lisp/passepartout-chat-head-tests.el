;;; passepartout-chat-head-tests.el --- The header line of a chat, and the mode line  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; What the header line of a chat says and does when it is clicked, what
;; the mode line adds, and that both leave what is the user's own alone.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-chat-tests)
(require 'passepartout-plan-tests)

(defun passepartout-chat-head-tests--command (part string button)
  "Return what a click with BUTTON on PART of STRING calls, or nil."
  (let* ((at (or (string-search part string)
                 (ert-fail (list "not there" part string))))
         (map (get-text-property at 'local-map string))
         (line (if (string-prefix-p "[" part) 'mode-line 'header-line)))
    (and map (lookup-key map (vector line button)))))

(defun passepartout-chat-head-tests--calls (part button)
  "Return what a click with BUTTON on PART of the header line calls."
  (let ((clicked (passepartout-chat-head-tests--command
                  part passepartout-chat--header button))
        called)
    (cl-letf (((symbol-function 'call-interactively)
               (lambda (command &rest _) (setq called command))))
      (funcall clicked `(,button (,(selected-window) header-line (0 . 0) 0))))
    called))

(ert-deftest passepartout-chat-head-names-who-is-asked-first ()
  (passepartout-fake-with
    (dolist (case '((nil "choose a model") (("recall") "choose a model")
                    (("desk" "recall") "desk") (("a\nb") "a")))
      (let ((passepartout-provider-cascade (car case)))
        (passepartout-chat-tests--open)
        (should (string-prefix-p (format " %s" (cadr case))
                                 passepartout-chat--header))))))

(ert-deftest passepartout-chat-head-has-three-parts-that-are-clicked ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (should (equal header-line-format passepartout-chat--head-format))
      (should (string-prefix-p " choose a model  not running  costs · context  "
                               passepartout-chat--header))
      (passepartout-fake-inject :status '(:state "idle"))
      (insert "Q")
      (passepartout-chat-send)
      (should (string-prefix-p " choose a model  answering  "
                               passepartout-chat--header))
      (should (eq (passepartout-chat-head-tests--calls "answering" 'mouse-1)
                  'passepartout-chat-interrupt))
      (passepartout-fake-inject
       :event '(:action :turn-started :turn "t1") session)
      (passepartout-fake-inject
       :response '(:action :turn-done :turn "t1" :status "answered"
                   :model "sea %b\u202e" :provider "far" :tokens-in 123456
                   :tokens-out 340 :cost "$0.0012"
                   :context (:used 34 :most 100) :slot "code")
       session)
      ;; A name is shown as it is: neither a percent sign nor a mark of
      ;; direction does anything, as the text of a variable is literal.
      (should (string-prefix-p
               " sea %b\\u{202E} (code)  idle  123k in, 340 out · $0.0012 \
· context 34%  "
               passepartout-chat--header))
      (dolist (case '(("sea" mouse-1 passepartout-models)
                      ("sea" mouse-3 passepartout-preset)
                      ("idle" mouse-1 passepartout-status)
                      ("340 out" mouse-1 passepartout-costs)
                      ("$0" mouse-3 passepartout-context)
                      ("context" mouse-1 passepartout-context)
                      ("context" mouse-3 passepartout-inspect)))
        (should (commandp (nth 2 case)))
        (should (eq (passepartout-chat-head-tests--calls
                     (nth 0 case) (nth 1 case))
                    (nth 2 case))))
      (passepartout-fake-inject
       :status '(:state "idle" :health "unhealthy" :problems 2))
      (should (eq (passepartout-chat-head-tests--calls "unhealthy" 'mouse-1)
                  'passepartout-doctor))
      (passepartout-fake-inject :status '(:state "waiting" :pending 2))
      (should (eq (passepartout-chat-head-tests--calls "2 plans" 'mouse-1)
                  'passepartout-flight-plans)))))

(ert-deftest passepartout-chat-head-says-what-is-being-done ()
  (passepartout-fake-with
    (let ((session (passepartout-chat-tests--open)))
      (passepartout-fake-inject :status '(:state "idle"))
      (insert "Q")
      (passepartout-chat-send)
      (passepartout-fake-inject
       :event '(:action :turn-started :turn "t1") session)
      (dolist (case
               '((:turn "t9" :state :begun :summary "of another"
                  "answering")
                 (:turn "t1" :state :begun :tool "shell"
                  :summary "Run: make\u202e %b" "Run: make\\u{202E} %b")
                 (:turn "t1" :state :done :tool "shell"
                  :summary "Run: make" "answering")
                 (:turn "t1" :state :begun :tool "memory-read"
                  "memory-read")
                 (:turn "t1" :state :failed :tool "memory-read" "answering")
                 (:turn "t1" :state :begun :summary "Run: ls" "Run: ls")))
        (passepartout-fake-inject
         :event (append '(:action :act :number 0) (butlast case)) session)
        (should (string-prefix-p
                 (format " choose a model  %s  " (car (last case)))
                 passepartout-chat--header))
        (should (eq (passepartout-chat-head-tests--calls
                     (car (last case)) 'mouse-1)
                    'passepartout-chat-interrupt)))
      (passepartout-fake-inject
       :response '(:action :turn-done :turn "t1" :status "interrupted")
       session)
      (should (string-prefix-p " choose a model  idle  "
                               passepartout-chat--header)))))

(ert-deftest passepartout-chat-head-of-a-saved-chat-knows-its-last-answer ()
  (dolist (case '(("- model :: m 1 (far)\n- tokens :: 12 in (4 cached), 3 out \
(1 thinking)\n- cost :: $0.10\n"
                   " m 1  not running  12 in, 3 out · $0.10 · context  ")
                  ("- model :: recall\n- tokens :: 0 in, 0 out\n"
                   " recall  not running  costs · ")
                  ("- result :: failed\n" " choose a model  not running  ")))
    (passepartout-fake-with
      (with-temp-buffer
        (insert ":PROPERTIES:\n:PP_CHAT: s1\n:END:\n* Q\n** Answer\nA\n\n"
                ":PASSEPARTOUT:\n- turn :: t1\n" (car case) ":END:\n\n* ")
        (org-mode)
        (passepartout-chat-mode 1)
        (should (string-prefix-p (cadr case) passepartout-chat--header))
        (set-buffer-modified-p nil)))))

(ert-deftest passepartout-chat-head-gives-a-header-line-of-your-own-back ()
  (passepartout-fake-with
    (passepartout-chat-tests--open)
    (passepartout-chat-mode -1)
    (should-not (local-variable-p 'header-line-format))
    (setq header-line-format "mine")
    (passepartout-chat-mode 1)
    ;; Turned on again it is still yours that comes back.
    (passepartout-chat-mode 1)
    (should (equal header-line-format passepartout-chat--head-format))
    (passepartout-chat-mode -1)
    (should (equal header-line-format "mine"))
    (passepartout-chat-mode 1)
    (setq header-line-format "another")
    (passepartout-chat-mode -1)
    (should (equal header-line-format "another"))))

(ert-deftest passepartout-chat-head-mode-line-has-what-goes-on-elsewhere ()
  (passepartout-fake-with
    (dolist (case '(((:state "idle" :focus-title "%-%b %f") "[on %-%b %f]"
                     passepartout-context)
                    ((:state "reading" :reading (3 10)) "[reading 3/10]"
                     passepartout-jobs)
                    ((:state "idle" :indexing (3 10)) "[indexing 3/10]"
                     passepartout-jobs)
                    ((:state "idle" :jobs-running 1) "[1 job]"
                     passepartout-jobs)
                    ((:state "thinking" :jobs-running 2) "[2 jobs]"
                     passepartout-jobs)
                    ((:state "thinking") "[working]" passepartout-jobs)
                    ((:state "waiting" :pending 2) "[2 plans]"
                     passepartout-next-plan)
                    ((:state "idle") "")))
      (passepartout-fake-inject :status (nth 0 case))
      (should (equal (string-trim-left
                      (substring-no-properties passepartout-status--mode-line))
                     (nth 1 case)))
      (when (nth 2 case)
        (should (commandp (nth 2 case)))
        (should (eq (passepartout-chat-head-tests--command
                     (nth 1 case) passepartout-status--mode-line 'mouse-1)
                    (nth 2 case)))))
    ;; While a chat is answered, that is no work of the background.
    (passepartout-chat-tests--open)
    (insert "Q")
    (passepartout-chat-send)
    (passepartout-fake-inject :status '(:state "thinking"))
    (should (equal "" passepartout-status--mode-line))))

(ert-deftest passepartout-chat-head-mode-line-that-was-taken-out-stays-out ()
  (let ((global-mode-string '("mine"))
        (passepartout-status--installed nil))
    (passepartout-status--install)
    (passepartout-status--install)
    (should (equal global-mode-string
                   '("mine" passepartout-status--mode-line)))
    (setq global-mode-string '("mine"))
    (passepartout-status--install)
    (should (equal global-mode-string '("mine"))))
  ;; Anything that a mode line may be.
  (pcase-dolist (`(,before . ,after)
                 '((nil . ("" passepartout-status--mode-line))
                   ("mine" . ("" "mine" passepartout-status--mode-line))
                   (mine . ("" mine passepartout-status--mode-line))
                   ((:eval (mine)) . ("" (:eval (mine))
                                      passepartout-status--mode-line))
                   (((mine "x") "y") . ((mine "x") "y"
                                        passepartout-status--mode-line))))
    (let ((global-mode-string before)
          (passepartout-status--installed nil))
      (passepartout-status--install)
      (should (equal global-mode-string after)))))

(ert-deftest passepartout-chat-head-says-no-more-than-fits ()
  (passepartout-fake-with
    (let (room)
      (cl-letf (((symbol-function 'passepartout-chat--head-room)
                 (lambda () room)))
        (passepartout-chat-tests--open)
        (pcase-dolist (`(,columns . ,end)
                       '((nil . "C-c RET sends, or goes to the next question")
                         (120 . "C-c RET sends, or goes to the next question")
                         (80 . "C-c RET sends") (40 . "context  ")))
          (setq room columns)
          ;; As when its window becomes another one.
          (passepartout-chat--head-resized (selected-window))
          (should (string-suffix-p end passepartout-chat--header))
          (when (and room (> room 60))
            (should (<= (string-width passepartout-chat--header) room))))))
    (passepartout-chat-mode -1)
    (dolist (hook '(window-buffer-change-functions
                    window-size-change-functions))
      (should-not (memq #'passepartout-chat--head-resized
                        (symbol-value hook))))))

(ert-deftest passepartout-chat-head-mode-line-is-left-out-by-an-option ()
  (passepartout-fake-with
    (passepartout-fake-inject :status '(:state "waiting" :pending 2))
    (should (string-search "2 plans" passepartout-status--mode-line))
    (let ((was passepartout-mode-line))
      (unwind-protect
          (progn
            (customize-set-variable 'passepartout-mode-line nil)
            (should (equal "" passepartout-status--mode-line))
            (passepartout-fake-inject :status '(:state "waiting" :pending 3))
            (should (equal "" passepartout-status--mode-line))
            (customize-set-variable 'passepartout-mode-line t)
            (should (string-search "3 plans" passepartout-status--mode-line)))
        (customize-set-variable 'passepartout-mode-line was)))))

(ert-deftest passepartout-chat-head-is-left-out-by-an-option ()
  (passepartout-fake-with
    (let ((passepartout-header-line nil))
      (passepartout-chat-tests--open)
      (should-not header-line-format)
      ;; What a click does there is in the menu as well; nothing breaks.
      (passepartout-fake-inject :status '(:state "idle"))
      (should-not header-line-format)
      (passepartout-chat-mode -1)
      (should-not header-line-format))))

(ert-deftest passepartout-chat-head-goes-from-plan-to-plan ()
  (passepartout-fake-with
    (switch-to-buffer "*scratch*")
    (passepartout-next-plan)
    (should (equal (buffer-name) "*scratch*"))
    (dolist (id '("P1" "P2" "P3"))
      (passepartout-fake-inject
       :event `(:action :plan-parked :plan ,(passepartout-plan-tests--plan id))))
    (let ((order (mapcar (lambda (plan) (plist-get plan :id))
                         (passepartout-plan-pending))))
      (dolist (at (list 0 1 2 0))
        (passepartout-next-plan)
        (should (equal (nth at order) (passepartout-plan-id-at-point))))
      (passepartout-previous-plan)
      (should (equal (nth 2 order) (passepartout-plan-id-at-point)))
      (passepartout-next-plan 2)
      (should (equal (nth 1 order) (passepartout-plan-id-at-point)))
      ;; From elsewhere it begins anew, forward or back.
      (switch-to-buffer "*scratch*")
      (passepartout-previous-plan)
      (should (equal (nth 2 order) (passepartout-plan-id-at-point))))
    (should (eq (get 'passepartout-next-plan 'repeat-map)
                'passepartout-plan-repeat-map))))

(provide 'passepartout-chat-head-tests)
;;; passepartout-chat-head-tests.el ends here
