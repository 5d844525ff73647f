;;; passepartout-connect.el --- Commands that take another road to a core  -*- lexical-binding: t; -*-

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

;; `passepartout-connect' has all commands mean a core outside of this
;; Emacs: by a Unix socket of this machine, by TCP on its loopback
;; address, behind which ssh may lead to another one, or by TLS to one on
;; another machine whose key's fingerprint is named.
;; `passepartout-disconnect' goes back to the core of this Emacs.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-abroad)
(require 'passepartout-greet)
(require 'passepartout-remote)
(require 'cl-lib)

(defconst passepartout-connect-port 9105
  "The port that a core listens at when it was not told another one.")

(defvar passepartout-connect-history nil
  "What you connected to.")

(defvar passepartout-connect--map
  (let ((map (make-sparse-keymap)))
    (define-key map " " #'self-insert-command)
    map)
  "Keys while it is asked for what to connect to.
A blank stands before a fingerprint, so SPC does not complete.")

;;;; The transport

(defun passepartout-remote--send (road text)
  "Queue TEXT, one message, for ROAD."
  (let ((bytes (string-bytes text)))
    (when (> bytes passepartout-remote--longest)
      (signal 'passepartout-error
              (list (format "One message to “%s” holds %d kB at most, and this \
is %d kB: send less at once"
                            (passepartout-remote--road-name road)
                            (/ passepartout-remote--longest 1024)
                            (/ (+ bytes 1023) 1024)))))
    (when (> (+ bytes (passepartout-remote--road-waiting road))
             passepartout-remote--waiting-most)
      (signal 'passepartout-error
              (list (format "Too much waits for “%s” already"
                            (passepartout-remote--road-name road)))))
    (passepartout-remote--enqueue road nil text)
    (passepartout-remote--flush road)))

(defun passepartout-remote--receive (road characters)
  "Return about CHARACTERS of the texts that ROAD has for Emacs, in order."
  (let ((ready (nreverse (passepartout-remote--road-ready road)))
        (full (passepartout-remote--full-p road))
        (taken nil) (size 0))
    (while (and ready (< size characters))
      (setq size (+ size (length (car ready))))
      (push (pop ready) taken))
    (setf (passepartout-remote--road-ready road) (nreverse ready))
    (cl-decf (passepartout-remote--road-size road) size)
    (when (and full (not (passepartout-remote--full-p road)))
      (passepartout-remote--again road))
    (nreverse taken)))

(defun passepartout-connect--finding (road)
  "Return a check for the doctor that says how ROAD is."
  (let ((state (passepartout-remote--road-state road))
        (doubt (passepartout-remote--road-doubt road))
        (where (passepartout-remote--where road)))
    (list :name "road"
          :title (format "Connection to %s"
                         (passepartout-remote--road-name road))
          :state (if (eq state 'open) "healthy" "degraded")
          :detail
          (pcase state
            ('open
             (format "by %s%s%s" where
                     (if (passepartout-remote--tcp-p road)
                         ", proved by the cookie" "")
                     (if (stringp doubt)
                         (format "; it grants the rights of a command: %s"
                                 doubt)
                       "")))
            ('lost (format "by %s; lost: %s; tried again" where
                           (passepartout-remote--road-why road)))
            ('closed
             (format "by %s; not connected: %s; the next command tries again"
                     where (or (passepartout-remote--road-why road)
                               "it was stopped")))
            (_ (format "by %s; it is being made" where)))
          :repair "M-x passepartout-disconnect goes back to the core of this \
Emacs.")))

(defun passepartout-connect--tag (name)
  "Return NAME as it stands in the names of conversations."
  (replace-regexp-in-string "[^[:alnum:]._-]+" "-" name))

(defun passepartout-connect--transport (road)
  "Return the transport over ROAD."
  (list :start (lambda (_pipe _settings) (passepartout-connect--begin road))
        :send (lambda (text) (passepartout-remote--send road text))
        :receive (lambda (bytes) (passepartout-remote--receive road bytes))
        :stop (lambda () (passepartout-remote--part road))
        :version (lambda () passepartout-version)
        :name (passepartout-remote--road-name road)
        :tag (passepartout-connect--tag (passepartout-remote--road-name road))
        :files (not (passepartout-remote--tcp-p road))
        :outgoing #'passepartout-abroad-outgoing
        :answer #'passepartout-abroad-answer
        :finding (lambda () (passepartout-connect--finding road))))

(defun passepartout-connect--begin (road)
  "Begin with ROAD, as one that was never open."
  (setf (passepartout-remote--road-once road) nil
        (passepartout-remote--road-token road) nil
        (passepartout-remote--road-tries road) 0)
  (passepartout-remote--forget road)
  (condition-case problem
      (passepartout-remote--dial road)
    (error
     (passepartout-remote--shut road)
     (setf (passepartout-remote--road-why road)
           (passepartout-remote--words problem))
     (signal 'passepartout-error
             (list (format "Not connected to “%s”: %s.  %s"
                           (passepartout-remote--road-name road)
                           (passepartout-remote--road-why road)
                           passepartout-remote--way))))))

;;;; Addresses

(defun passepartout-connect--store ()
  "Return the folder of the store of this user's own core."
  (let ((state (getenv "XDG_STATE_HOME"))
        (store (default-value 'passepartout-store)))
    (expand-file-name
     (or store
         (expand-file-name "passepartout"
                           (if (and state (file-name-absolute-p state)) state
                             "~/.local/state"))))))

(defun passepartout-connect--socket (file)
  "Return the socket that FILE is, or that the owner of the store FILE has."
  (if (not (file-directory-p file))
      file
    (let ((lock (expand-file-name "lock" file)))
      (with-temp-buffer
        (when (file-readable-p lock)
          (insert-file-contents-literally lock nil 0 4096))
        (let ((line (nth 1 (split-string (buffer-string) "\n"))))
          (if (and line (string-prefix-p "/" line))
              (decode-coding-string line 'utf-8-unix)
            (expand-file-name "socket" file)))))))

(defun passepartout-connect--loopback (host)
  "Return the numbers of HOST when it is this machine, else nil."
  (cond ((equal host "localhost") "127.0.0.1")
        ((string-match-p "\\`127\\(?:\\.[0-9]\\{1,3\\}\\)\\{3\\}\\'" host) host)
        ((equal host "::1") host)))

(defun passepartout-connect--file-p (where)
  "Return non-nil when WHERE names a file."
  (string-match-p "\\`[~/.]" where))

(defun passepartout-connect--core (where)
  "Return (ADDRESS . FINGERPRINT) of WHERE, with nil for no fingerprint.
What was pasted may have been broken into lines, or have lost its blank:
the last 64 digits are the fingerprint, as no name of a host ends so."
  ;; Whatever syntax the buffer of the command has.
  (let* ((words (split-string where "[ \t\n\r\u00a0]+" t))
         (address (or (car words) ""))
         (digits (string-join (cdr words))))
    (cond
     ((string-match-p "\\`[[:xdigit:]]\\{64\\}\\'" digits)
      (cons address (downcase digits)))
     ((passepartout-connect--file-p address) (list where))
     ((and (null (cdr words))
           (string-match "\\`\\(.+\\)\\([[:xdigit:]]\\{64\\}\\)\\'"
                         address))
      (cons (match-string 1 address) (downcase (match-string 2 address))))
     ((string-match-p "\\`[[:xdigit:]]+\\'" digits)
      (user-error "A fingerprint has 64 hexadecimal digits, and %d stand \
behind %s" (length digits) address))
     (t (list where)))))

(defun passepartout-connect--address (where &optional core)
  "Return the address that WHERE says: a socket's file, or (HOST . PORT).
With CORE, a fingerprint, HOST may be another machine."
  (cond
   ((passepartout-connect--file-p where)
    (when core
      (user-error "A socket needs no fingerprint"))
    (let ((file (expand-file-name where)))
      (when (file-remote-p file)
        (user-error "%s is a file of another machine; M-x passepartout-connect \
takes a socket of this one" where))
      (passepartout-connect--socket file)))
   ((string-match "\\`\\(?:\\[\\([^]]+\\)\\]\\|\\([^]:[]+\\)\\)\\(?::\\([0-9]+\\)\\)?\\'"
                  where)
    (let* ((host (or (match-string 1 where) (match-string 2 where)))
           (port (if (match-string 3 where)
                     (string-to-number (match-string 3 where))
                   passepartout-connect-port))
           (here (if core host (passepartout-connect--loopback host))))
      (unless (<= 1 port 65535)
        (user-error "%d is no port" port))
      (unless here
        (user-error "Nothing is sent over a network in the clear.  Name the \
fingerprint of that core's key behind the address, or let ssh lead there: ssh -N -L %d:127.0.0.1:%d %s, then M-x passepartout-connect RET \
127.0.0.1:%d" port port host port))
      (cons here port)))
   (t (user-error "%s is no host, HOST:PORT or socket; a fingerprint stands \
behind a blank" where))))

(defun passepartout-connect--road (where)
  "Return a road to WHERE, a name of `passepartout-hosts' or an address."
  (let* ((known (assoc where passepartout-hosts))
         (told (passepartout-connect--core (if known (cdr known) where)))
         (core (cdr told))
         (address (passepartout-connect--address (car told) core))
         (name (cond (known where)
                     ((consp address)
                      (format "%s:%d" (car address) (cdr address)))
                     ((equal address (passepartout-connect--socket
                                      (passepartout-connect--store)))
                      "local")
                     (t (abbreviate-file-name address)))))
    (passepartout-remote--make
     :name name :address address :core core
     :cookie (and (consp address)
                  (let ((cookie (passepartout-greet-cookie
                                 (if known where (car address)) (cdr address)
                                 ;; Ours is the cookie of no other core.
                                 (and (not core)
                                      (passepartout-connect--store)))))
                    (lambda () cookie))))))

;;;; Commands

(defun passepartout-connect--go (road asked)
  "Have all commands mean the core that ROAD leads to.
With ASKED non-nil it is asked before another core is left for it."
  (when (and (passepartout-running-p)
             asked
             (not (y-or-n-p (format "Leave the core that is used, for “%s”? "
                                    (passepartout-remote--road-name road)))))
    (user-error "Not connected"))
  (passepartout-stop)
  (setq passepartout-remote--road road
        passepartout-module--transport (passepartout-connect--transport road))
  (condition-case problem
      (passepartout-start)
    (error
     (passepartout-remote--halt road)
     (signal (car problem) (cdr problem)))))

(defun passepartout-connect--read ()
  "Ask for what to connect to."
  (let ((here (passepartout-connect--socket (passepartout-connect--store))))
    (minibuffer-with-setup-hook
        ;; Behind whatever completes here.
        (:append (lambda ()
                   (use-local-map
                    (make-composed-keymap passepartout-connect--map
                                          (current-local-map)))))
      (completing-read
       "Connect to the core (a name, HOST:PORT, HOST:PORT FINGERPRINT or a \
socket): "
       (delete-dups
        (append (mapcar #'car passepartout-hosts)
                (copy-sequence passepartout-connect-history)
                (and (file-exists-p here) (list (abbreviate-file-name here)))))
       nil nil nil 'passepartout-connect-history))))

;;;###autoload
(defun passepartout-connect (where)
  "Have all commands of Passepartout mean the core at WHERE.
WHERE is a name of `passepartout-hosts', HOST or HOST:PORT on the
loopback address of this machine, the file of a Unix socket, or a
folder with a store.  HOST:PORT with a blank and a fingerprint behind it
is a core on another machine, reached by TLS with the program
passepartout of this one.  Over TCP both ends prove that they know the cookie
of the store, which auth-source has as the password of the user
passepartout for that host and port.

That core works with its own files, settings and keys, on its own host.
Of this Emacs it is sent what you write in chats with it and ask it
for, and shows what it answers.  Commands mean it also while there is no
connection, until \\[passepartout-disconnect] goes back."
  (interactive (list (passepartout-connect--read)))
  (let ((asked (called-interactively-p 'interactive))
        (shown (called-interactively-p 'any)))
    (condition-case problem
        (passepartout-connect--go (passepartout-connect--road
                                   (string-trim where))
                                  asked)
      (passepartout-error
       ;; Emacs puts what another error says between quotation marks.
       (if shown
           (user-error "%s" (passepartout-remote--words problem))
         (signal (car problem) (cdr problem)))))))

;;;###autoload
(defun passepartout-disconnect ()
  "Have all commands of Passepartout mean the core of this Emacs again.
The core that was connected to goes on; what this Emacs had asked it for
and is not done is stopped there."
  (interactive)
  (unless passepartout-remote--road
    (user-error "This Emacs is connected to no other core"))
  (let ((name (passepartout-remote--road-name passepartout-remote--road))
        (waiting (passepartout-events--waiting)))
    (passepartout-remote--leave)
    (passepartout-events--disappoint
     waiting (format "The connection to “%s” was given up." name))
    (message "Passepartout: disconnected from “%s”" name)))

(provide 'passepartout-connect)
;;; passepartout-connect.el ends here
