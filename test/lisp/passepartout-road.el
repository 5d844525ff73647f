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

(defconst passepartout-road-exempt
  '()
  "Tests that cannot apply over a socket, each with the reason.")

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

(defun passepartout-road-selector ()
  "Return the tests that are run over a socket, for ERT."
  (let ((names (passepartout-road-tests)))
    (dolist (entry passepartout-road-exempt)
      (unless (memq (car entry) names)
        (error "There is no test %s to be exempt" (car entry))))
    (cons 'member (seq-remove (lambda (name)
                                (assq name passepartout-road-exempt))
                              names))))

;;;; The owner

(defun passepartout-road-owner (settings)
  "Start a program that owns the store by SETTINGS, a plist as text.
Return its process, which ends by SIGTERM once everything is saved.
This is the one place that knows which program that is."
  (let* ((file (make-temp-file "passepartout-settings"))
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
    (write-region settings nil file nil 'quiet)
    (process-put owner 'settings file)
    owner))

(defun passepartout-road-own ()
  "Own the store by the settings of the test, until this Emacs is ended."
  (setq passepartout-module-file (getenv "PASSEPARTOUT_MODULE")
        create-lockfiles nil
        inhibit-message t)
  (let* ((file (getenv "PASSEPARTOUT_ROAD_SETTINGS"))
         (settings (progn
                     (while (eql 0 (file-attribute-size (file-attributes file)))
                       (sleep-for 0.01))
                     (with-temp-buffer
                       (insert-file-contents file)
                       (read (current-buffer))))))
    (passepartout-module-load)
    (setq settings (plist-put settings :launcher
                              (passepartout-module-launcher)))
    (cl-letf (((symbol-function 'passepartout-events--settings)
               (lambda () settings)))
      (passepartout-start))
    (while t (accept-process-output nil 1))))

(defun passepartout-road--end ()
  "End the owner and wait until it has saved everything."
  (let ((owner passepartout-road--owner))
    (setq passepartout-road--owner nil)
    (when owner
      (when (process-live-p owner)
        (signal-process owner 'SIGTERM)
        (let ((until (+ (float-time) 20)))
          (while (and (process-live-p owner) (< (float-time) until))
            (accept-process-output owner 0.02)))
        (when (process-live-p owner) (delete-process owner)))
      (ignore-errors (delete-file (process-get owner 'settings)))
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
      (passepartout-connect there))))

(defun passepartout-road--stop (&rest _)
  "End the owner, unless a road is being taken."
  (unless passepartout-road--connecting
    (when passepartout-road--owner
      (setq passepartout-remote--road nil
            passepartout-module--transport nil)
      (passepartout-road--end))))

(defun passepartout-road-read-p ()
  "Return non-nil when the owner of a road has read the memex."
  (and passepartout-road--owner
       (plist-get passepartout-status--last :files)
       (not (equal "reading" (plist-get passepartout-status--last :state)))))

(defun passepartout-road-install ()
  "Have all tests that talk with a core do so over a socket."
  (unless (string-prefix-p "/dev/pts" (or (file-symlink-p "/proc/self/fd/0") ""))
    (message "No terminal: no approval over the socket will count"))
  (advice-add 'passepartout-start :around #'passepartout-road--start)
  (advice-add 'passepartout-stop :after #'passepartout-road--stop))

(provide 'passepartout-road)
;;; passepartout-road.el ends here
