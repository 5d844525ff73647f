;;; passepartout-road.el --- The same tests over other roads  -*- lexical-binding: t; no-byte-compile: t; -*-

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
;;
;; With PASSEPARTOUT_ROAD=tcp the road is TCP with the cookie, and with tls
;; it is TLS through the program passepartout, which PASSEPARTOUT_PROGRAM
;; names.  There an Emacs is a program like any other, to which the owner,
;; as its user would, grants to decide about plans as soon as it comes.

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
    (passepartout-ask-real-organize-proposes-and-changes-nothing . buffers)
    (passepartout-chat-add-real-what-goes-along-is-data-and-a-link-names-a-note
     . "a core outside of this Emacs has a project of its own, so that no file
here is named by an @")
    (passepartout-chat-add-real-a-picture-is-sent-as-a-picture
     . "a core outside of this Emacs is sent no pictures")
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

(defconst passepartout-road-far
  '((files . "a core over TCP counts as one on another machine, whose files
are not opened here")
    (asks . "it is asked as a program, which is not the user"))
  "Further reasons why a test cannot apply over TCP, by name.")

(defconst passepartout-road-exempt-far
  '((passepartout-cassette-is-recorded-while-one-chats . asks)
    (passepartout-context-identity-is-a-file-of-the-user . files)
    (passepartout-context-shows-pins-and-drops . files)
    (passepartout-query-real-results-and-block . files)
    (passepartout-query-real-finder-goes-there . files)
    (passepartout-skills-real-a-skill-is-begun-saved-and-tested . files)
    (passepartout-surface-query-is-sorted-and-visited . files)
    (passepartout-surface-find-goes-to-what-was-found . files))
  "Tests that cannot apply over TCP, beside those over a socket.
Each is (TEST . REASON), a text or a name of `passepartout-road-far'.")

(defconst passepartout-road--kind
  (intern (or (getenv "PASSEPARTOUT_ROAD") "socket"))
  "By which road: `socket', `tcp' or `tls'.")

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
    (dolist (entry (append passepartout-road-exempt
                           passepartout-road-exempt-far))
      (unless (and (memq (car entry) names)
                   (or (stringp (cdr entry))
                       (assq (cdr entry) passepartout-road--reasons)
                       (assq (cdr entry) passepartout-road-far)))
        (error "No such test, or no reason for it: %S" entry)))
    (cons 'member
          (seq-filter (lambda (name)
                        (and (not (assq name passepartout-road-exempt))
                             (not (and (not (eq 'socket passepartout-road--kind))
                                       (assq name
                                             passepartout-road-exempt-far)))
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
    (unless (eq 'socket passepartout-road--kind)
      (setq settings (plist-put settings :listen
                                (if (eq 'tls passepartout-road--kind)
                                    "[::ffff:127.0.0.1]:0" "127.0.0.1:0")))
      (passepartout-subscribe :log nil #'passepartout-road--logged))
    (cl-letf (((symbol-function 'passepartout-events--settings)
               (lambda () settings)))
      (passepartout-start))
    (let* ((parent (lambda ()
                     (alist-get 'ppid (process-attributes (emacs-pid)))))
           (began-by (funcall parent)))
      (while (and (file-exists-p file) (eql began-by (funcall parent)))
        (accept-process-output nil 0.02)))
    (passepartout-stop)))

(defun passepartout-road--logged (payload _meta)
  "Say where programs can connect, and let one that came decide about plans.
PAYLOAD is a line of the log."
  (let ((text (or (plist-get payload :text) "")))
    (cond
     ((string-match "programs can connect to [^ ]*:\\([0-9]+\\) " text)
      (princ (format "port %s\n" (match-string 1 text))
             #'external-debugging-output))
     ((string-suffix-p " has joined" text)
      (passepartout-request
       :clients nil
       (lambda (payload)
         (dolist (client (plist-get payload :clients))
           (when (and (plist-get client :shows-plans)
                      (plist-get client :ruled)
                      (not (plist-get client :approve)))
             (passepartout-request
              :client-grant
              `(:client ,(plist-get client :id) :grant :approve)
              #'ignore)))))))))

(defun passepartout-road--address (store)
  "Return where the owner of STORE can be connected to, or nil for not yet."
  (pcase passepartout-road--kind
    ('socket
     (let ((socket (passepartout-connect--socket store)))
       (and (file-exists-p socket)
            (file-exists-p (expand-file-name "lock" store))
            (condition-case nil
                (progn (delete-process
                        (make-network-process
                         :name "look" :family 'local
                         :service socket :noquery t))
                       socket)
              (error nil)))))
    (kind
     (with-current-buffer (process-buffer passepartout-road--owner)
       (save-excursion
         (goto-char (point-min))
         (and (re-search-forward "^port \\([0-9]+\\)$" nil t)
              (let ((where (concat "127.0.0.1:" (match-string 1))))
                (if (eq 'tls kind)
                    (concat where " " (passepartout-road--print store))
                  where))))))))

(defun passepartout-road--program (&rest words)
  "Run the program passepartout with WORDS, and return what it says."
  (with-temp-buffer
    (unless (eql 0 (apply #'call-process (getenv "PASSEPARTOUT_PROGRAM")
                          nil t nil words))
      (error "%s: %s" words (buffer-string)))
    (string-trim (buffer-string))))

(defun passepartout-road--print (&optional store)
  "Return the fingerprint of the key in STORE; without one that of ours."
  (let ((told (apply #'passepartout-road--program "clients" "--json"
                     (and store (list "--store" store)))))
    (if (string-match "\"own\":[[:space:]]*\"\\([0-9a-f]\\{64\\}\\)\"" told)
        (match-string 1 told)
      (error "No key: %s" told))))

(defun passepartout-road--let-in (store)
  "Let our own key in to STORE."
  (make-directory store t)
  (set-file-modes store #o700)
  (let ((print (passepartout-road--print)))
    (with-file-modes #o600
      (write-region (concat print " road\n") nil
                    (expand-file-name "clients" store) nil 'silent))))

(defun passepartout-road--granted ()
  "Wait until the owner lets this Emacs decide about plans."
  (let ((until (+ (float-time) 20)) (may nil))
    (while (not may)
      (let ((answer nil))
        (passepartout-request :plans nil
                              (lambda (payload) (setq answer (list payload))))
        (while (and (not answer) (< (float-time) until))
          (accept-process-output nil 0.01))
        (setq may (and answer (not (plist-get (car answer) :error)))))
      (when (> (float-time) until)
        (error "The owner grants nothing")))))

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
      (when (eq 'tls passepartout-road--kind)
        (passepartout-road--let-in store))
      (setq passepartout-road--owner
            (passepartout-road-owner (passepartout-events-encode settings)))
      (while (not there)
        (setq there (passepartout-road--address store))
        (when (or (> (float-time) until)
                  (not (process-live-p passepartout-road--owner)))
          (error "The owner did not start: %s"
                 (with-current-buffer
                     (process-buffer passepartout-road--owner)
                   (buffer-string))))
        (accept-process-output nil 0.02))
      (passepartout-road--connect there store)
      ;; What was said before is heard as well.
      (passepartout-request
       :log '(:limit 50)
       (lambda (payload)
         (dolist (line (plist-get payload :lines))
           (passepartout-events--dispatch
            (list :type :log :payload line))))))))

(defun passepartout-road--connect (there store)
  "Connect to the owner of STORE, which is THERE."
  (let ((auth-sources (list (expand-file-name "road-authinfo" store)))
        (exec-path (if (eq 'tls passepartout-road--kind)
                       (cons (file-name-directory
                              (getenv "PASSEPARTOUT_PROGRAM"))
                             exec-path)
                     exec-path)))
    (when (eq 'tls passepartout-road--kind)
      (require 'auth-source)
      (auth-source-forget-all-cached)
      (with-file-modes #o600
        (write-region
         (format "machine 127.0.0.1 port %s login passepartout password %s\n"
                 (progn (string-match ":\\([0-9]+\\) " there)
                        (match-string 1 there))
                 (passepartout-greet--cookie-file store))
         nil (car auth-sources) nil 'silent)))
    (passepartout-connect there)
    (unless (eq 'socket passepartout-road--kind)
      (passepartout-road--granted))))

(defun passepartout-road--stop (&rest _)
  "End the owner, unless a road is being taken."
  (unless passepartout-road--connecting
    (when passepartout-road--owner
      (setq passepartout-remote--road nil
            passepartout-module--transport nil)
      (passepartout-road--end))))

(defun passepartout-road-install ()
  "Have all tests that talk with a core do so over another road."
  (unless (or (not (eq 'socket passepartout-road--kind))
              (string-prefix-p "/dev/pts" (or (file-symlink-p "/proc/self/fd/0") "")))
    (message "No terminal: no approval over the socket will count"))
  (advice-add 'passepartout-start :around #'passepartout-road--start)
  (advice-add 'passepartout-stop :after #'passepartout-road--stop))

(provide 'passepartout-road)
;;; passepartout-road.el ends here
