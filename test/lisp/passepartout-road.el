;;; passepartout-road.el --- The same tests over a Unix socket  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; With PASSEPARTOUT_ROAD=socket the tests that talk with a core do so
;; over a Unix socket: `passepartout-start' then has a process of its own
;; take the store, with the settings of the test, and connects to it, and
;; `passepartout-stop' ends both.
;;
;; Approvals over a socket count from a terminal, so these tests want one:
;;   script -qec "emacs -Q --batch … -f passepartout-tests-run" /dev/null

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-connect)

(defconst passepartout-road--here
  (file-name-directory (or load-file-name buffer-file-name))
  "Folder of this file.")

(defconst passepartout-road--reasons
  '((buffers . "the core edits its files on its own host: no buffer of this
Emacs is told to it or edited by it")
    (human . "only the user's own Emacs may, which an Emacs without the module
is not shown to be")
    (tools . "tools of this Emacs are not lent"))
  "Reasons why a test cannot apply, by name.")

(defconst passepartout-road-exempt
  '((passepartout-core-an-open-buffer-is-edited-as-one-undo-step . buffers)
    (passepartout-core-follows-edits-and-point . buffers)
    (passepartout-real-an-approved-plan-changes-an-open-buffer . buffers)
    (passepartout-real-a-change-right-after-a-save-is-known . buffers)
    (passepartout-real-focus-and-index-follow-an-edit . buffers)
    (passepartout-real-when-a-buffer-goes-memory-has-what-the-disk-has . buffers)
    (passepartout-real-blame-follows-a-title-and-what-comes-back . buffers)
    (passepartout-real-an-archive-is-not-in-memory-because-it-is-visited . buffers)
    (passepartout-real-many-edits-leave-the-core-with-the-same-text . buffers)
    (passepartout-surface-log-undo-and-redo-in-an-open-buffer . buffers)
    (passepartout-surface-undo-leaves-what-the-user-changed-in-a-buffer . buffers)
    (passepartout-surface-undo-respects-a-read-only-buffer . buffers)
    (passepartout-surface-undo-brings-back-a-deleted-file-that-is-open . buffers)
    (passepartout-surface-rewind-goes-back-to-a-step . buffers)
    (passepartout-surface-focus-is-on-the-heading-at-point . buffers)
    (passepartout-surface-dynamic-block-is-filled-and-follows . buffers)
    (passepartout-settings-real-a-change-is-approved-and-put-back
     . "settings of this Emacs are neither told nor set")
    (passepartout-models-a-function-of-yours-is-asked-by-a-real-core
     . "no function of this Emacs chooses models for it")
    (passepartout-tools-real-now-and-later . tools)
    (passepartout-tools-real-a-plan-is-approved-and-done . tools)
    (passepartout-tools-real-a-name-that-is-taken-is-refused . tools)
    (passepartout-models-of-a-real-core-are-those-of-its-server . human)
    (passepartout-real-a-label-taken-away-counts-until-it-is-let-go . human)
    (passepartout-skills-real-a-skill-from-outside-is-shown-whole . human)
    (passepartout-real-jobs-run-from-the-list-over-the-plan-to-the-report . human)
    (passepartout-inspect-shows-what-was-sent-byte-for-byte
     . "whoever is not the user's own Emacs sees requests of its own chats alone, and only in them")
    (passepartout-core-stops-and-starts-again
     . "it calls the module's own functions")
    (passepartout-real-a-store-that-cannot-be-opened-is-said
     . "a program that cannot open its store lets nobody join")
    (passepartout-real-bad-messages-are-answered
     . "what cannot be read ends a connection, and is not answered")
    (passepartout-real-two-emacsen-work-at-once-and-one-takes-over
     . "who is connected to a core does not take over from it"))
  "Tests that cannot apply over a socket.
Each is (TEST . REASON), a text or a name of `passepartout-road--reasons'.")

(defvar passepartout-road--owner nil
  "The process that has the store, or nil.")

(defvar passepartout-road--connecting nil
  "Non-nil while a road is taken: then stopping ends no owner.")

;;;; Which tests

(defun passepartout-road--mentions-p (form symbols)
  "Return non-nil when FORM has one of SYMBOLS in it."
  (if (consp form)
      (or (passepartout-road--mentions-p (car form) symbols)
          (passepartout-road--mentions-p (cdr form) symbols))
    (and form (symbolp form) (memq form symbols))))

(defun passepartout-road--forms ()
  "Return the forms of all files of tests."
  (let (forms)
    (dolist (file (directory-files passepartout-road--here t "-tests\\.el\\'"))
      (with-temp-buffer
        (insert-file-contents file)
        (condition-case nil
            (while t (push (read (current-buffer)) forms))
          (end-of-file nil))))
    forms))

(defun passepartout-road-tests ()
  "Return the names of the tests that talk with a core."
  (let ((forms (passepartout-road--forms))
        (with (list 'passepartout-real-with 'passepartout-core-tests--with))
        (names nil))
    ;; What stands around them counts as one of them.
    (dolist (form forms)
      (when (and (eq 'defmacro (car-safe form))
                 (passepartout-road--mentions-p (cddr form) with))
        (push (nth 1 form) with)))
    (dolist (form forms)
      (when (and (eq 'ert-deftest (car-safe form))
                 (passepartout-road--mentions-p (cddr form) with))
        (push (nth 1 form) names)))
    names))

(defun passepartout-road-selector (only)
  "Return the tests that are run over a socket, for ERT.
ONLY is a regular expression for their names, or nil for all."
  (let ((names (passepartout-road-tests)))
    (dolist (entry passepartout-road-exempt)
      (unless (and (memq (car entry) names)
                   (or (stringp (cdr entry))
                       (assq (cdr entry) passepartout-road--reasons)))
        (error "No such test, or no reason for it: %S" entry)))
    (cons 'member
          (seq-filter (lambda (name)
                        (and (not (assq name passepartout-road-exempt))
                             (or (null only)
                                 (string-match-p only (symbol-name name)))))
                      names))))

;;;; The owner

(defun passepartout-road-owner (settings)
  "Start a program that owns the store by SETTINGS, a plist as text.
Return its process, which saves everything and ends once the file that
it has the settings from is gone: a signal that comes in the wrong
moment can hang an Emacs.
This is the one place that knows which program that is."
  (let* ((file (make-temp-file "passepartout-settings" nil nil settings))
         (process-environment
          (cons (concat "PASSEPARTOUT_ROAD_SETTINGS=" file)
                process-environment))
         (owner (make-process
                 :name "owner" :noquery t :connection-type 'pipe
                 :buffer (generate-new-buffer " *owner*")
                 :command
                 (list (expand-file-name invocation-name invocation-directory)
                       "-Q" "--batch" "-L" passepartout-road--here
                       "-L" (expand-file-name "../../lisp"
                                              passepartout-road--here)
                       "-l" "passepartout-road" "-f" "passepartout-road-own"))))
    (process-put owner 'settings file)
    owner))

(defun passepartout-road-own ()
  "Own the store by the settings of the test, until this Emacs is ended."
  (setq passepartout-module-file (getenv "PASSEPARTOUT_MODULE")
        create-lockfiles nil
        inhibit-message t)
  (let* ((file (getenv "PASSEPARTOUT_ROAD_SETTINGS"))
         (settings (with-temp-buffer
                     (insert-file-contents file)
                     (read (current-buffer)))))
    (passepartout-module-load)
    (setq settings (plist-put settings :launcher
                              (passepartout-module-launcher)))
    (cl-letf (((symbol-function 'passepartout-events--settings)
               (lambda () settings)))
      (passepartout-start))
    (let* ((parent (lambda ()
                     (alist-get 'ppid (process-attributes (emacs-pid)))))
           (began-by (funcall parent)))
      (while (and (file-exists-p file) (eql began-by (funcall parent)))
        (accept-process-output nil 0.02)))
    (passepartout-stop)))

(defun passepartout-road--end ()
  "End the owner and wait until it has saved everything."
  (let ((owner passepartout-road--owner))
    (setq passepartout-road--owner nil)
    (when owner
      (delete-file (process-get owner 'settings))
      (when (process-live-p owner)
        (let ((until (+ (float-time) 20)))
          (while (and (process-live-p owner) (< (float-time) until))
            (accept-process-output owner 0.02)))
        (when (process-live-p owner) (delete-process owner)))
      (kill-buffer (process-buffer owner)))))

;;;; The road

(defun passepartout-road--start (start)
  "Take the road to an owner of its own, or call START when one is taken."
  (if (or passepartout-module--transport (passepartout-running-p))
      (funcall start)
    (let* ((passepartout-road--connecting t)
           (settings (passepartout-events--settings))
           (store (passepartout-connect--store))
           (until (+ (float-time) 60))
           (there nil))
      (setq passepartout-road--owner
            (passepartout-road-owner (passepartout-events-encode settings)))
      (while (not there)
        (let ((socket (passepartout-connect--socket store)))
          (setq there (and (file-exists-p socket)
                           (file-exists-p (expand-file-name "lock" store))
                           (condition-case nil
                               (progn (delete-process
                                       (make-network-process
                                        :name "look" :family 'local
                                        :service socket :noquery t))
                                      socket)
                             (error nil)))))
        (when (or (> (float-time) until)
                  (not (process-live-p passepartout-road--owner)))
          (error "The owner did not start: %s"
                 (with-current-buffer
                     (process-buffer passepartout-road--owner)
                   (buffer-string))))
        (accept-process-output nil 0.02))
      (passepartout-connect there)
      ;; What was said before is heard as well.
      (passepartout-request
       :log '(:limit 50)
       (lambda (payload)
         (dolist (line (plist-get payload :lines))
           (passepartout-events--dispatch
            (list :type :log :payload line))))))))

(defun passepartout-road--stop (&rest _)
  "End the owner, unless a road is being taken."
  (unless passepartout-road--connecting
    (when passepartout-road--owner
      (setq passepartout-remote--road nil
            passepartout-module--transport nil)
      (passepartout-road--end))))

(defun passepartout-road-install ()
  "Have all tests that talk with a core do so over a socket."
  (unless (string-prefix-p "/dev/pts" (or (file-symlink-p "/proc/self/fd/0") ""))
    (message "No terminal: no approval over the socket will count"))
  (advice-add 'passepartout-start :around #'passepartout-road--start)
  (advice-add 'passepartout-stop :after #'passepartout-road--stop))

(provide 'passepartout-road)
;;; passepartout-road.el ends here
