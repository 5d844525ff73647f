;;; passepartout-greet.el --- The first words over a connection  -*- lexical-binding: t; -*-

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

;; Over TCP both ends prove, before anything else is said, that they
;; know the cookie of the store: each sends a number that was never used
;; before, and an HMAC of both under the cookie.  Who recorded an
;; earlier connection, or listens in the place of the core, cannot make
;; that of the new numbers, and learns nothing.
;;
;; Over a Unix socket the system says who is there, and the core greets
;; and is answered.

;;; Code:

(require 'passepartout)
(require 'cl-lib)
(eval-when-compile (require 'subr-x))

(declare-function auth-source-pick-first-password "auth-source")

(defconst passepartout-greet-protocol 2
  "The number of the protocol; two ends with different ones do not talk.")

(defvar passepartout-greet--names "/proc/sys/kernel/random/uuid"
  "A file that has another random name each time that it is read.")

(defvar passepartout-greet--device "/dev/urandom"
  "The device that random bytes come from.")

;;;; Proofs

(defun passepartout-greet--bytes (digits)
  "Return DIGITS, pairs of hexadecimal digits, as a unibyte string."
  (apply #'unibyte-string
         (mapcar (lambda (at)
                   (string-to-number (substring digits at (+ at 2)) 16))
                 (number-sequence 0 (- (length digits) 2) 2))))

(defun passepartout-greet-hmac (key message)
  "Return the HMAC of MESSAGE under KEY by SHA-256, as 64 digits.
Both are unibyte strings."
  (let* ((key (if (> (length key) 64) (secure-hash 'sha256 key nil nil t) key))
         (key (concat key (make-string (- 64 (length key)) 0)))
         (padded (lambda (byte)
                   (apply #'unibyte-string
                          (mapcar (lambda (other) (logxor byte other)) key)))))
    (secure-hash 'sha256
                 (concat (funcall padded #x5c)
                         (secure-hash 'sha256
                                      (concat (funcall padded #x36) message)
                                      nil nil t)))))

(defun passepartout-greet-same-p (one other)
  "Return non-nil when the proofs ONE and OTHER are the same 64 digits.
However they differ, it is as much work."
  (and (stringp one) (stringp other)
       (= 64 (length one) (length other))
       (let ((differ 0))
         (dotimes (at 64)
           (setq differ (logior differ (logxor (aref one at)
                                               (aref other at)))))
         (= 0 differ))))

(defun passepartout-greet-mac (cookie role server client peer)
  "Return the proof of ROLE, \"client\" or \"server\", under COOKIE.
SERVER and CLIENT are the numbers of both ends, and PEER is where the
server listens."
  (passepartout-greet-hmac
   (passepartout-greet--bytes cookie)
   (encode-coding-string
    (format "passepartout %s %s %s %s" role server client peer) 'us-ascii)))

(defun passepartout-greet-digits-p (value)
  "Return non-nil when VALUE is a string of 64 hexadecimal digits."
  (let ((case-fold-search nil))
    (and (stringp value)
         (string-match-p "\\`[0-9a-f]\\{64\\}\\'" value))))

(defun passepartout-greet--of-kernel ()
  "Return random bytes from `passepartout-greet--names', or nil.
Each name that Linux makes up holds 122 random bits."
  (ignore-errors
    (let ((names (mapcar (lambda (_)
                           (with-temp-buffer
                             (insert-file-contents-literally
                              passepartout-greet--names)
                             (buffer-string)))
                         '(1 2 3 4))))
      (and (seq-every-p (lambda (name) (< 35 (length name))) names)
           (= 4 (length (delete-dups (copy-sequence names))))
           (secure-hash 'sha256 (apply #'concat names) nil nil t)))))

(defun passepartout-greet--of-device ()
  "Return random bytes from `passepartout-greet--device', or nil.
Emacs 28 reads no device by itself."
  (ignore-errors
    (with-temp-buffer
      (set-buffer-multibyte nil)
      (let ((coding-system-for-read 'binary))
        (call-process "head" nil '(t nil) nil "-c" "32"
                      passepartout-greet--device))
      (buffer-string))))

(defun passepartout-greet-nonce ()
  "Return 64 random hexadecimal digits, or leave with an error."
  (let ((bytes (or (passepartout-greet--of-kernel)
                   (passepartout-greet--of-device))))
    (unless (eql 32 (length bytes))
      (signal 'passepartout-error
              (list "the system gives no random bytes, so nothing can be \
proved over TCP; connect by a Unix socket")))
    (mapconcat (lambda (byte) (format "%02x" byte)) bytes "")))

;;;; Addresses

(defun passepartout-greet--groups (groups)
  "Return GROUPS, the eight numbers of an IPv6 address, as they are written.
The longest run of zeros, the first of several, is left out."
  (let ((best 0) (from nil) (run 0))
    (dotimes (at 8)
      (setq run (if (= 0 (nth at groups)) (1+ run) 0))
      (when (> run best)
        (setq best run from (- (1+ at) run))))
    (let ((words (lambda (some)
                   (mapconcat (lambda (one) (format "%x" one)) some ":"))))
      (cond
       ((and (= 5 best) (= 0 from) (= #xffff (nth 5 groups)))
        (format "::ffff:%d.%d.%d.%d"
                (ash (nth 6 groups) -8) (logand 255 (nth 6 groups))
                (ash (nth 7 groups) -8) (logand 255 (nth 7 groups))))
       ((< best 2) (funcall words groups))
       (t (concat (funcall words (seq-take groups from)) "::"
                  (funcall words (seq-drop groups (+ from best)))))))))

(defun passepartout-greet-peer (address)
  "Return ADDRESS, a vector as `process-contact' has it, as ADDRESS:PORT."
  (pcase (append address nil)
    (`(,a ,b ,c ,d ,port) (format "%d.%d.%d.%d:%d" a b c d port))
    ((and numbers (guard (= 9 (length numbers))))
     (format "[%s]:%d" (passepartout-greet--groups (seq-take numbers 8))
             (nth 8 numbers)))
    (_ (signal 'passepartout-error
               (list "the system does not say where this connection leads")))))

;;;; Cookies

(defun passepartout-greet--cookie-file (store)
  "Return the cookie that the core of this user keeps in the folder STORE.
Return nil when there is none, and leave with an error when others
could have read it."
  (let* ((file (expand-file-name "cookie" store))
         (about (file-attributes file 'integer)))
    (when about
      (unless (and (null (file-attribute-type about))
                   (eql (user-uid) (file-attribute-user-id about))
                   (equal "-rw-------" (file-attribute-modes about)))
        (signal 'passepartout-error
                (list (format "%s is not a file of yours with mode 0600, so \
others may know it; remove it and start the core again" file))))
      (with-temp-buffer
        (insert-file-contents-literally file nil 0 128)
        (string-trim (buffer-string))))))

(defun passepartout-greet-cookie (name port store)
  "Return the cookie for the core NAME at PORT.
It is the password of the user passepartout that auth-source has for
NAME and PORT; else, when STORE is non-nil, that of this user's own core
with the store in that folder.  Leave with an error when there is none."
  (require 'auth-source)
  (let ((cookie (or (auth-source-pick-first-password
                     :host name :port (number-to-string port)
                     :user "passepartout")
                    (and store (passepartout-greet--cookie-file store)))))
    (cond
     ((passepartout-greet-digits-p cookie) cookie)
     (cookie
      (signal 'passepartout-error
              (list (format "the cookie for %s is not 64 hexadecimal digits"
                            name))))
     (t
      (signal 'passepartout-error
              (list (format "there is no cookie for %s; put a line “machine \
%s port %d login passepartout password COOKIE” into your auth-source, with \
what the file cookie in the store's folder holds there"
                            name name port)))))))

;;;; Steps

(defun passepartout-greet--hello (more)
  "Return a message of the greeting with the plist MORE."
  `(:type :event
    :payload (:action :handshake :protocol ,passepartout-greet-protocol
              ,@more)))

(defun passepartout-greet-proof (mac nonce)
  "Return the message that proves with MAC that we know the cookie.
NONCE is our number."
  (passepartout-greet--hello `(:nonce ,nonce :mac ,mac)))

(defun passepartout-greet-join (token seen)
  "Return the message that says who we are.
With TOKEN we go on where an earlier connection was lost, after the
message SEEN."
  (passepartout-greet--hello
   `(:version ,passepartout-version :as :emacs
     :name ,(format "Emacs on %s" (system-name))
     :shows ("plans")
     ,@(and token `(:resume ,token))
     :seen ,seen)))

(defun passepartout-greet-read (message)
  "Return the payload of MESSAGE, a step of the greeting.
Leave with an error when it is none, or when the core says no."
  (let* ((payload (plist-get message :payload))
         (action (plist-get payload :action))
         (protocol (plist-get payload :protocol))
         (text (plist-get payload :text)))
    (cond
     ((eq action :protocol-error)
      (passepartout-greet-refuse "it says: %s"
                                 (if (stringp text) text "nothing")))
     ((not (eq action :handshake))
      (passepartout-greet-refuse
       "what answers does not greet as a core does"))
     ((not (eql protocol passepartout-greet-protocol))
      (passepartout-greet-refuse
       "it speaks protocol %s, and this Emacs %d; use one version of \
Passepartout" protocol passepartout-greet-protocol))
     (t payload))))

(defun passepartout-greet-refuse (format &rest arguments)
  "Leave the greeting with FORMAT and ARGUMENTS."
  (signal 'passepartout-protocol-error
          (list (apply #'format format arguments))))

(provide 'passepartout-greet)
;;; passepartout-greet.el ends here
