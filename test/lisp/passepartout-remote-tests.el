;;; passepartout-remote-tests.el --- Tests of a core outside of this Emacs  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; Cores of paper listen at real sockets, over Unix and over TCP, and
;; behave, misbehave and vanish.  What is sent to them is looked at, and
;; so is what Emacs makes of what they say.

;;; Code:

(require 'auth-source)
(require 'passepartout-fake)
(require 'passepartout-real)
(require 'passepartout-road)
(require 'passepartout-connect)
(require 'passepartout-query)

(cl-defstruct passepartout-remote-tests--core
  "A core of paper.
TCP says whether it listens over TCP, SERVER is the process that listens,
PLACE where, FOLDER a folder of its own, COOKIE what it proves with.
HEARD are the messages after the greeting, the newest first, JOINS those
that joined, RAW the bytes that came, the last first.  LOG are the frames that it numbered,
the newest first, and NUMBER the last number; LAST is the number of the
last message that it heard.  TWIST is a plist of what
it does wrong, CONNECTION the last connection."
  tcp server place folder cookie heard joins raw log (number 0) (last 0)
  twist connection)

(defvar passepartout-remote-tests--core nil
  "The core of paper of the test that runs.")

(defun passepartout-remote-tests--twist (key)
  "Return what the core of paper does wrong under KEY."
  (plist-get (passepartout-remote-tests--core-twist
              passepartout-remote-tests--core)
             key))

(defun passepartout-remote-tests--raw (bytes)
  "Send BYTES over the last connection."
  (process-send-string (passepartout-remote-tests--core-connection
                        passepartout-remote-tests--core)
                       bytes))

(defun passepartout-remote-tests--bytes ()
  "Return all that came to the core of paper, as one string."
  (apply #'concat (reverse (passepartout-remote-tests--core-raw
                            passepartout-remote-tests--core))))

(defun passepartout-remote-tests--put (message)
  "Send MESSAGE over the last connection."
  (passepartout-remote-tests--raw
   (passepartout-frame-encode (passepartout-events-encode message))))

(defun passepartout-remote-tests--say (type payload &optional session)
  "Send a numbered message of TYPE with PAYLOAD in SESSION.
Without a connection it is sent when somebody goes on."
  (let* ((core passepartout-remote-tests--core)
         (number (cl-incf (passepartout-remote-tests--core-number core)))
         (frame (passepartout-frame-encode
                 (passepartout-events-encode
                  `(:type ,type :meta (,@(and session `(:session-id ,session))
                                       :number ,number)
                    :payload ,payload)))))
    (push (cons number frame) (passepartout-remote-tests--core-log core))
    (when (process-live-p (passepartout-remote-tests--core-connection core))
      (passepartout-remote-tests--raw frame))))

(defun passepartout-remote-tests--step (connection more)
  "Send the next step of the greeting with MORE over CONNECTION."
  (process-send-string
   connection
   (passepartout-frame-encode
    (passepartout-events-encode
     `(:type :event :payload (:action :handshake :protocol 2 ,@more))))))

(defun passepartout-remote-tests--greet (connection)
  "Begin with CONNECTION."
  (let ((core passepartout-remote-tests--core)
        (nonce (passepartout-greet-nonce)))
    (setf (passepartout-remote-tests--core-connection core) connection)
    (process-put connection 'stream (passepartout-frame-open))
    (process-put connection 'nonce nonce)
    (process-put connection 'step
                 (if (passepartout-remote-tests--core-tcp core) 'proof 'join))
    (cond
     ((passepartout-remote-tests--twist :hang))
     ((passepartout-remote-tests--twist :close)
      (run-at-time 0 nil #'delete-process connection))
     ((passepartout-remote-tests--twist :greeting)
      (process-send-string connection
                           (passepartout-remote-tests--twist :greeting)))
     ((passepartout-remote-tests--core-tcp core)
      (passepartout-remote-tests--step connection `(:nonce ,nonce)))
     (t (passepartout-remote-tests--step
         connection '(:version "0.1.0" :capabilities ("emacs" "cli")))))))

(defun passepartout-remote-tests--prove (connection payload)
  "Look at the proof in PAYLOAD that came by CONNECTION, and answer it."
  (let* ((core passepartout-remote-tests--core)
         (mac (lambda (role)
                (passepartout-greet-mac
                 (passepartout-remote-tests--core-cookie core) role
                 (process-get connection 'nonce) (plist-get payload :nonce)
                 (or (passepartout-remote-tests--twist :peer)
                     (passepartout-greet-peer
                      (process-contact connection :local)))))))
    (cond
     ((passepartout-remote-tests--twist :proof)
      (process-send-string connection
                           (passepartout-remote-tests--twist :proof)))
     ((and (not (passepartout-remote-tests--twist :deny))
           (passepartout-greet-same-p (plist-get payload :mac)
                                      (funcall mac "client")))
      (process-put connection 'step 'join)
      (passepartout-remote-tests--step
       connection `(:version "0.1.0" :capabilities ("emacs")
                    :mac ,(if (passepartout-remote-tests--twist :reflect)
                              (plist-get payload :mac)
                            (funcall mac "server")))))
     (t (delete-process connection)))))

(defun passepartout-remote-tests--welcome (connection payload)
  "Let the client in that CONNECTION is of, as PAYLOAD says."
  (let* ((core passepartout-remote-tests--core)
         (resumed (and (equal "token" (plist-get payload :resume))
                       (not (passepartout-remote-tests--twist :forget)))))
    (push payload (passepartout-remote-tests--core-joins core))
    (unless resumed
      (setf (passepartout-remote-tests--core-last core) 0))
    (process-put connection 'step 'open)
    (process-send-string
     connection
     (passepartout-frame-encode
      (passepartout-events-encode
       `(:type :response
         :payload (:action :handshake :protocol 2 :version "0.1.0"
                   :client "an Emacs"
                   :doubt ,(passepartout-remote-tests--twist :doubt)
                   ,@(and (not (passepartout-remote-tests--twist :plain))
                          '(:resume "token"))
                   :resumed ,resumed
                   :heard ,(or (passepartout-remote-tests--twist :heard)
                               (passepartout-remote-tests--core-last
                                core)))))))
    (when resumed
      (pcase-dolist (`(,number . ,frame)
                     (reverse (passepartout-remote-tests--core-log core)))
        (when (> number (- (plist-get payload :seen)
                           (or (passepartout-remote-tests--twist :twice) 0)))
          (process-send-string connection frame))))))

(defun passepartout-remote-tests--new-p (message)
  "Return non-nil unless MESSAGE has a number that was heard, and note it."
  (let ((core passepartout-remote-tests--core)
        (number (plist-get (plist-get message :meta) :number)))
    (or (null number)
        (and (> number (passepartout-remote-tests--core-last core))
             (setf (passepartout-remote-tests--core-last core) number)))))

(defun passepartout-remote-tests--take (connection bytes)
  "Take BYTES that came by CONNECTION."
  (let ((core passepartout-remote-tests--core)
        (stream (process-get connection 'stream)) text)
    (push bytes (passepartout-remote-tests--core-raw core))
    (passepartout-frame-add stream bytes)
    (while (stringp (setq text (passepartout-frame-next stream 1.0e+INF)))
      (let* ((message (read text)) (payload (plist-get message :payload)))
        (pcase (process-get connection 'step)
          ('proof (passepartout-remote-tests--prove connection payload))
          ('join (passepartout-remote-tests--welcome connection payload))
          ((and 'open
                (guard (not (passepartout-remote-tests--new-p message)))))
          ('open
           (push message (passepartout-remote-tests--core-heard core))
           (unless (passepartout-remote-tests--twist :dumb)
             (pcase (plist-get payload :action)
               (:ping (passepartout-remote-tests--put
                       '(:type :event :payload (:action :alive))))
               (:health-check
                (passepartout-remote-tests--put
                 `(:type :response
                   :payload (:action :health-check :status :healthy
                             :request ,(plist-get payload
                                                  :request)))))))))))))

(defun passepartout-remote-tests--listen (core)
  "Let CORE listen."
  (setf (passepartout-remote-tests--core-server core)
        (apply #'make-network-process
               :name "core of paper" :server t :noquery t :coding 'binary
               :filter #'passepartout-remote-tests--take
               :log (lambda (_server connection _what)
                      (passepartout-remote-tests--greet connection))
               (if (passepartout-remote-tests--core-tcp core)
                   (list :family 'ipv4 :host "127.0.0.1"
                         :service (or (passepartout-remote-tests--core-place
                                       core)
                                      t))
                 (list :family 'local
                       :service (passepartout-remote-tests--core-place
                                 core)))))
  (when (passepartout-remote-tests--core-tcp core)
    (setf (passepartout-remote-tests--core-place core)
          (process-contact (passepartout-remote-tests--core-server core)
                           :service))))

(defun passepartout-remote-tests--where ()
  "Return where the core of paper is connected to."
  (let ((place (passepartout-remote-tests--core-place
                passepartout-remote-tests--core)))
    (if (numberp place) (format "127.0.0.1:%d" place) place)))

(defun passepartout-remote-tests--call (tcp twist function)
  "Call FUNCTION with a core of paper, over TCP or not, that does TWIST."
  (let* ((folder (file-name-as-directory (make-temp-file "core" t)))
         (passepartout-store folder)
         (cookie (make-string 64 ?d))
         (passepartout-remote-tests--core
          (make-passepartout-remote-tests--core
           :tcp tcp :folder folder :cookie cookie :twist twist
           :place (and (not tcp) (expand-file-name "socket" folder))))
         (auth-sources nil)
         (passepartout-module--transport nil)
         (passepartout-remote--road nil)
         (passepartout-remote--pauses '(0.02 . 0.1))
         (passepartout-events--notes nil)
         (passepartout-chat--turns nil)
         (passepartout-plan--plans nil)
         (passepartout-status--last nil)
         (passepartout-hosts nil)
         (processes (process-list))
         (process-adaptive-read-buffering nil)
         (inhibit-message t))
    (with-file-modes #o600
      (write-region (concat cookie "\n") nil (expand-file-name "cookie" folder)
                    nil 'quiet))
    (passepartout-remote-tests--listen passepartout-remote-tests--core)
    (unwind-protect
        (save-window-excursion (funcall function))
      (passepartout-fake--clean)
      (when passepartout-remote--road (passepartout-remote--leave))
      (dolist (process (process-list))
        (unless (memq process processes)
          (let ((stream (process-get process 'stream)))
            (delete-process process)
            (when stream (ignore-errors (passepartout-frame-close stream))))))
      (delete-directory folder t))))

(defmacro passepartout-remote-tests--with (how &rest body)
  "Run BODY with a core of paper.
HOW is a list of whether it listens over TCP and of what it does wrong."
  (declare (indent 1) (debug t))
  `(passepartout-remote-tests--call ,(car how) (list ,@(cdr how))
                                    (lambda () ,@body)))

(defun passepartout-remote-tests--wait (what function)
  "Wait until FUNCTION returns non-nil, and return that; WHAT names it."
  (let ((until (+ (float-time) 20)) value)
    (while (not (setq value (funcall function)))
      (when (> (float-time) until)
        (ert-fail (list 'in-vain what passepartout-events--notes
                        (and passepartout-remote--road
                             (passepartout-remote--road-state
                              passepartout-remote--road)))))
      (accept-process-output nil 0.01))
    value))

(defmacro passepartout-remote-tests--until (&rest body)
  "Wait until BODY returns non-nil, and return that."
  (declare (indent 0) (debug t))
  `(passepartout-remote-tests--wait ',body (lambda () ,@body)))

(defun passepartout-remote-tests--heard (name)
  "Return the messages called NAME that the core of paper heard, in order."
  (reverse
   (seq-filter (lambda (message)
                 (let ((payload (plist-get message :payload)))
                   (eq name (or (plist-get payload :sensor)
                                (plist-get payload :action)))))
               (passepartout-remote-tests--core-heard
                passepartout-remote-tests--core))))

(defun passepartout-remote-tests--connect ()
  "Connect to the core of paper and wait until that is done."
  (passepartout-connect (passepartout-remote-tests--where))
  (passepartout-remote-tests--until
    (passepartout-remote-tests--heard :hello)))

(defun passepartout-remote-tests--lines (function)
  "Call FUNCTION with a function that returns the lines that were told."
  (let* ((lines nil)
         (keep (lambda (payload _meta) (push (plist-get payload :text) lines))))
    (passepartout-subscribe :log nil keep)
    (unwind-protect (funcall function (lambda () (reverse lines)))
      (passepartout-unsubscribe :log nil keep))))

(defun passepartout-remote-tests--given-up-p ()
  "Return non-nil when connecting was given up.
Commands mean that core all the same, and not that of this Emacs."
  (and (eq 'closed (passepartout-remote--road-state passepartout-remote--road))
       passepartout-module--transport
       (not (passepartout-running-p))))

(defun passepartout-remote-tests--refused (words &optional where)
  "Connect to WHERE, or the core of paper, and expect WORDS instead."
  (passepartout-remote-tests--lines
   (lambda (told)
     (passepartout-connect (or where (passepartout-remote-tests--where)))
     (passepartout-remote-tests--until (passepartout-remote-tests--given-up-p))
     (should (string-search words (string-join (funcall told) "\n"))))))

;;;; Connecting

(ert-deftest passepartout-remote-a-core-is-joined-over-either-road ()
  (dolist (tcp '(nil t))
    (passepartout-remote-tests--with (tcp :doubt "it has no module")
      (passepartout-remote-tests--lines
       (lambda (told)
         (passepartout-remote-tests--connect)
         (let ((join (car (passepartout-remote-tests--core-joins
                           passepartout-remote-tests--core)))
               (said (string-join (funcall told) "\n")))
           (should (eq :emacs (plist-get join :as)))
           (should (equal '("plans") (plist-get join :shows)))
           (should (eql 0 (plist-get join :seen)))
           (should-not (plist-get join :resume))
           (should (string-search "Connected to" said))
           (should (string-search "rights of a command: it has no module"
                                  said)))
         ;; The module was neither wanted nor loaded for it.
         (let ((finding (funcall (passepartout-module-road :finding))))
           (should (equal "healthy" (plist-get finding :state)))
           (should (string-search (if tcp "TCP port" "Unix socket")
                                  (plist-get finding :detail))))
         (should (string-search "connected to"
                                (progn (passepartout-remote-tests--say
                                        :status '(:state "idle" :pending 0))
                                       (passepartout-remote-tests--until
                                         passepartout-status--last)
                                       (passepartout-status-text))))
         (should (string-search "[" passepartout-status--mode-line))
         (passepartout-disconnect)
         (should-not passepartout-module--transport)
         (should-not (passepartout-running-p))
         (should (equal "" passepartout-status--mode-line))
         (should-error (passepartout-disconnect) :type 'user-error))))))

(ert-deftest passepartout-remote-who-goes-says-so ()
  (dolist (tcp '(nil t))
    (pcase-dolist (`(,way ,how) '((passepartout-disconnect said)
                                  ;; When Emacs ends.
                                  (passepartout-stop said)
                                  (lost silent)
                                  (full silent)))
      (passepartout-remote-tests--with (tcp)
        (passepartout-remote-tests--connect)
        (let* ((core passepartout-remote-tests--core)
               (road passepartout-remote--road)
               (old (passepartout-remote-tests--core-connection core)))
          (passepartout-send-event :user-command (list :line "last"))
          (pcase way
            ('lost (passepartout-remote--lost road "x"))
            ('full
             ;; Emacs would wait until the core reads.
             (setf (passepartout-remote--road-written road) 1000000)
             (passepartout-disconnect))
            (_ (should (or (eq way 'passepartout-disconnect)
                           (memq way kill-emacs-hook)))
               (funcall way)))
          (passepartout-remote-tests--until (not (process-live-p old)))
          (should (equal '("last") (passepartout-remote-tests--lines-heard)))
          (should (equal (if (eq how 'said) '(:event) nil)
                         (mapcar (lambda (message) (plist-get message :type))
                                 (passepartout-remote-tests--heard
                                  :leaving)))))))))

(ert-deftest passepartout-remote-only-who-knows-the-cookie-is-told-anything ()
  (let ((recorded nil))
    ;; Another cookie: the core closes, and says nothing.
    (passepartout-remote-tests--with (t)
      (setf (passepartout-remote-tests--core-cookie
             passepartout-remote-tests--core)
            (make-string 64 ?e))
      (passepartout-remote-tests--refused "closed the connection"))
    ;; And it is said what to look at.
    (pcase-dolist (`(,tcp ,twist ,words)
                   '((t :deny "whether the cookie for 127.0.0.1 port")
                     (t :deny "listens at port")
                     (t :close "whether port [0-9]+ is a core's")
                     (nil :close "in the log of that core")))
      (passepartout-remote-tests--with (tcp twist t)
        (passepartout-remote-tests--lines
         (lambda (told)
           (passepartout-connect (passepartout-remote-tests--where))
           (passepartout-remote-tests--until
             (passepartout-remote-tests--given-up-p))
           (should (string-match-p
                    words (string-join (funcall told) "\n")))))))
    ;; One that proves nothing, that gives our own proof back, or that
    ;; says what a core said before.
    (pcase-dolist (`(,twist ,words)
                   '((:reflect "does not know the cookie")
                     (:other "does not know the cookie")
                     (:no-mac "does not know the cookie")
                     (:unproved "does not prove")))
      (passepartout-remote-tests--with
          (t :reflect (eq twist :reflect)
             :proof (pcase twist
                      (:other (passepartout-frame-encode
                               (format "(:type :event :payload (:action :handshake :protocol 2 :version \"0.1.0\" :mac \"%s\"))"
                                       (make-string 64 ?0))))
                      (:no-mac (passepartout-frame-encode
                                "(:type :event :payload (:action :handshake :protocol 2 :version \"0.1.0\"))")))
             :greeting (and (eq twist :unproved)
                            (passepartout-frame-encode
                             "(:type :event :payload (:action :handshake :protocol 2 :version \"0.1.0\"))")))
        (passepartout-remote-tests--refused words)
        (let ((raw (passepartout-remote-tests--bytes)))
          (push raw recorded)
          ;; It saw the proof at most: no name of this machine, no message.
          (should-not (string-search (system-name) raw))
          (should-not (string-search ":hello" raw)))))
    (should (= 2 (length (delete-dups
                          (mapcar (lambda (raw) (> (length raw) 0))
                                  recorded)))))))

(ert-deftest passepartout-remote-what-a-core-said-before-proves-nothing ()
  ;; Emacs may compile a stand-in for what is replaced here, in this folder.
  (let ((default-directory temporary-file-directory) greeting proof)
    (passepartout-remote-tests--with (t)
      ;; A wire-tapper keeps both steps of an honest core.
      (cl-letf* ((send (symbol-function 'process-send-string))
                 ((symbol-function 'process-send-string)
                  (lambda (process bytes)
                    (when (eq process
                              (passepartout-remote-tests--core-connection
                               passepartout-remote-tests--core))
                      (cond ((string-search ":mac" bytes) (setq proof bytes))
                            ((string-search ":nonce" bytes)
                             (setq greeting bytes))))
                    (funcall send process bytes))))
        (passepartout-remote-tests--connect)))
    (should (and greeting proof))
    (passepartout-remote-tests--with (t :greeting greeting :proof proof)
      (passepartout-remote-tests--refused "does not know the cookie"))))

(ert-deftest passepartout-remote-a-core-that-hangs-does-not-stop-emacs ()
  (dolist (tcp '(nil t))
    (passepartout-remote-tests--with (tcp :hang t)
      (let ((passepartout-remote--patience 0.3)
            (begin (float-time)) (turns 0))
        (run-at-time 0 0.01 (lambda () (cl-incf turns)))
        (unwind-protect
            (progn
              (passepartout-connect (passepartout-remote-tests--where))
              (should (< (- (float-time) begin) 0.25))
              (passepartout-remote-tests--lines
               (lambda (told)
                 (passepartout-remote-tests--until
                   (passepartout-remote-tests--given-up-p))
                 (should (string-search "did not greet within 0.3 seconds"
                                        (car (last (funcall told)))))))
              (should (> turns 5)))
          (dolist (timer timer-list)
            (when (eql 0.01 (timer--repeat-delay timer))
              (cancel-timer timer))))))))

(ert-deftest passepartout-remote-what-came-while-emacs-was-busy-counts ()
  (dolist (tcp '(nil t))
    (passepartout-remote-tests--with (tcp)
      ;; No timer comes by itself.
      (let ((passepartout-remote--patience 1000) (turns 0) (looks 0))
        (passepartout-connect (passepartout-remote-tests--where))
        (let* ((road passepartout-remote--road)
               (core passepartout-remote-tests--core)
               (state (lambda () (passepartout-remote--road-state road))))
          (while (and (memq (funcall state) '(greeting proof welcome))
                      (< (cl-incf turns) 500))
            ;; The core alone goes on; this Emacs is busy until the timer.
            (dolist (process (list (passepartout-remote-tests--core-server
                                    core)
                                   (passepartout-remote-tests--core-connection
                                    core)))
              (when process (accept-process-output process 0.02 nil 0)))
            (let ((timer (passepartout-remote--road-patience road)))
              (cancel-timer timer)
              (if (eq 'connect (process-status
                                (passepartout-remote--road-process road)))
                  ;; The host is looked up by a thread; that takes what it
                  ;; takes, and these looks come without a pause.
                  (passepartout-remote--look road passepartout-remote--looks)
                (cl-incf looks)
                (apply (timer--function timer) (timer--args timer)))))
          (should (eq 'open (funcall state)))
          (should (< looks passepartout-remote--looks)))))))

(ert-deftest passepartout-remote-a-greeting-that-is-none-ends-in-words ()
  (pcase-dolist
      (`(,greeting ,words)
       '(("SSH-2.0-OpenSSH_9.2\r\n" "six hexadecimal")
         ("(:a 1)" "does not greet")
         ("(:type :event :payload (:action :handshake :protocol 1))"
          "protocol 1")
         ("(:type :response :payload (:action :protocol-error :text \"64 clients are here\"))"
          "64 clients are here")
         ("((((((((((((((((" "within a list")
         ("(a . b c)" "cannot be read")
         ("(#1=(#1#))" "not part")))
    (dolist (tcp '(nil t))
      (passepartout-remote-tests--with
          (tcp :greeting (if (string-prefix-p "(" greeting)
                             (passepartout-frame-encode greeting)
                           greeting))
        (passepartout-remote-tests--refused words)))))

(ert-deftest passepartout-remote-what-is-no-core-is-said-at-once ()
  (passepartout-remote-tests--with (nil)
    (let ((folder (passepartout-remote-tests--core-folder
                   passepartout-remote-tests--core)))
      (dolist (where (list (expand-file-name "nothing" folder)
                           (expand-file-name "cookie" folder)))
        (should-error (passepartout-connect where) :type 'passepartout-error)
        (should (passepartout-remote-tests--given-up-p)))
      ;; A store's folder leads to the socket that its lock names.
      (write-region (format "1\n%s\n" (expand-file-name "socket" folder)) nil
                    (expand-file-name "lock" folder) nil 'quiet)
      (passepartout-connect folder)
      (passepartout-remote-tests--until
        (passepartout-remote-tests--heard :hello))))
  ;; What a core left behind that was killed.
  (passepartout-remote-tests--with (nil)
    (delete-process (passepartout-remote-tests--core-server
                     passepartout-remote-tests--core))
    (should-error (passepartout-connect (passepartout-remote-tests--where))
                  :type 'passepartout-error)
    (should (passepartout-remote-tests--given-up-p)))
  (passepartout-remote-tests--with (t)
    (let ((where (passepartout-remote-tests--where)))
      (delete-process (passepartout-remote-tests--core-server
                       passepartout-remote-tests--core))
      (passepartout-remote-tests--refused "nobody listens there" where))))

(ert-deftest passepartout-remote-why-not-stands-in-no-quotation-marks ()
  (passepartout-remote-tests--with (nil)
    (pcase-dolist (`(,where ,words)
                   `((,(concat "box.example:9105 " (make-string 64 ?a))
                      "there is no cookie for box.example;")
                     (,(concat (passepartout-remote-tests--where) "-not")
                      "Not connected to “")))
      (cl-letf (((symbol-function 'passepartout-connect--read)
                 (lambda () where)))
        (should (string-prefix-p
                 words
                 (error-message-string
                  (should-error (call-interactively #'passepartout-connect)
                                :type 'user-error))))))))

(ert-deftest passepartout-remote-after-a-failure-no-other-core-is-meant ()
  (dolist (tcp '(nil t))
    (passepartout-remote-tests--with (tcp :close t)
      (cl-letf (((symbol-function 'passepartout-module-load)
                 (lambda () (ert-fail "The core of this Emacs is meant"))))
        (passepartout-remote-tests--lines
         (lambda (told)
           (passepartout-connect (passepartout-remote-tests--where))
           (passepartout-remote-tests--until
             (passepartout-remote-tests--given-up-p))
           (should (string-search "M-x passepartout-disconnect goes back"
                                  (string-join (funcall told) "\n")))))
        (should (string-search
                 "not connected: the other end closed"
                 (plist-get (funcall (passepartout-module-road :finding))
                            :detail)))
        ;; The next command goes there, once it can.
        (setf (passepartout-remote-tests--core-twist
               passepartout-remote-tests--core)
              nil)
        (passepartout-send-event :user-command (list :line "there"))
        (passepartout-remote-tests--until
          (equal '("there") (passepartout-remote-tests--lines-heard)))
        (passepartout-disconnect)
        (should-not passepartout-module--transport)
        ;; A failure that is known at once is no other.
        (unless tcp
          (delete-process (passepartout-remote-tests--core-server
                           passepartout-remote-tests--core))
          (should-error (passepartout-connect
                         (passepartout-remote-tests--where))
                        :type 'passepartout-error)
          (let ((problem (should-error (passepartout-send-event
                                        :user-command (list :line "nowhere"))
                                       :type 'passepartout-error)))
            (should (string-search "nobody listens there.  The next command"
                                   (cadr problem))))
          (passepartout-disconnect)
          (should-not passepartout-remote--road))))))

(ert-deftest passepartout-remote-addresses-are-of-this-machine ()
  (pcase-dolist (`(,where ,address)
                 `(("localhost" ("127.0.0.1" . 9105))
                   ("127.0.0.1:7" ("127.0.0.1" . 7))
                   ("127.3.2.1" ("127.3.2.1" . 9105))
                   ("[::1]:9" ("::1" . 9)) ("[::1]" ("::1" . 9105))
                   ("/no/such/x" "/no/such/x") ("~/x" ,(expand-file-name "~/x"))
                   ("./x" ,(expand-file-name "x"))))
    (should (equal address (passepartout-connect--address where))))
  (dolist (where '("box" "box:9105" "192.168.0.7:9105" "127.0.0.1:0"
                   "127.0.0.1:70000" "" "a b:c" "[fe80::1]:9105"
                   "/ssh:box:/tmp/socket" "127.0.0.1.evil.org"))
    (should-error (passepartout-connect--address where) :type 'user-error))
  (condition-case problem
      (passepartout-connect--address "box")
    (user-error (should (string-search "ssh -N -L 9105:127.0.0.1:9105 box"
                                       (cadr problem))))))

(defun passepartout-remote-tests--typed (keys)
  "Return where to connect when the user types KEYS."
  (let ((passepartout-connect-history nil))
    (cl-letf (((symbol-function 'passepartout-connect--road)
               (lambda (where) (throw 'typed where))))
      (catch 'typed
        (execute-kbd-macro (vconcat [?\M-x] "passepartout-connect\r"
                                    keys "\r"))))))

(ert-deftest passepartout-remote-a-blank-can-be-typed-before-a-fingerprint ()
  (let ((passepartout-hosts '(("box" . "127.0.0.1:9105")
                              ("box.example" . "127.0.0.1:9106")))
        (print (make-string 64 ?f)))
    (dolist (where (list (concat "box.example:9105 " print)
                         (concat "elsewhere:9105 " print)))
      (should (equal where (passepartout-remote-tests--typed where))))
    ;; Names are completed still.
    (should (equal "box.example"
                   (passepartout-remote-tests--typed "box.\t")))))

(ert-deftest passepartout-remote-a-fingerprint-is-read-as-it-was-pasted ()
  (let* ((print (concat "0123" (make-string 60 ?a)))
         (half (substring print 0 32)) (rest (substring print 32)))
    (with-temp-buffer
      ;; Here a line's end is no white space.
      (emacs-lisp-mode)
      (pcase-dolist
          (`(,where . ,address)
           `((,(concat "box:19106 " print) . "box:19106")
             (,(concat "box:19106\n" (upcase print) "\n") . "box:19106")
             (,(concat " box\u00a0\t" print) . "box")
             (,(concat "box:19106" print) . "box:19106")
             (,(concat "cafe" print) . "cafe")
             (,(concat "[::1]:9" print) . "[::1]:9")
             (,(concat "box:19106 " half "\n  " rest) . "box:19106")))
        (should (equal (cons address print)
                       (passepartout-connect--core where))))
      (dolist (where (list "box:9105" "/tmp/my own/socket" "a z" ""
                           (concat "/tmp/" print)))
        (should (equal (list where) (passepartout-connect--core where))))
      (pcase-dolist (`(,behind . ,count) `((,(substring print 1) . "63")
                                           (,(concat "0" print) . "65")
                                           ("9" . "1")))
        (should (string-search
                 (concat "and " count " stand behind box")
                 (cadr (should-error (passepartout-connect--core
                                      (concat "box " behind))
                                     :type 'user-error))))))))

;;;; What comes

(ert-deftest passepartout-remote-what-cannot-be-read-ends-the-connection ()
  (pcase-dolist
      (`(,bytes ,words)
       `((,(passepartout-frame-encode (make-string 5000 ?\()) "deeper than 64")
         ("00000a(#1=(#1#))" "not part") ("00000a(#s(a b c))" "not part")
         ("000009(a . b c)" "cannot be read") ("000005(#.x)" "not part") ("000003(\0)" "not part")
         ("000005(\"\xff\")" "not UTF-8") ("400001" "over the limit")
         ("zzzzzz" "six hexadecimal") (,(make-string 5000 ?\s) "white space")))
    (passepartout-remote-tests--with (nil)
      (passepartout-remote-tests--connect)
      (passepartout-remote-tests--lines
       (lambda (told)
         (let ((answer nil))
           (passepartout-request :log nil (lambda (payload)
                                            (setq answer payload)))
           (passepartout-remote-tests--raw bytes)
           (passepartout-remote-tests--until
             (passepartout-remote-tests--given-up-p))
           (should (string-search words (string-join (funcall told) "\n")))
           ;; Who waited for an answer is told so.
           (should (string-search words (plist-get answer :error)))))))))

(ert-deftest passepartout-remote-messages-come-byte-by-byte-and-in-a-flood ()
  (passepartout-remote-tests--with (nil)
    (passepartout-remote-tests--connect)
    (let* ((seen nil)
           (keep (lambda (payload _meta)
                   (push (plist-get payload :n) seen)
                   ;; A surface that takes its time, on any machine.
                   (let ((until (+ (float-time) 0.0001)))
                     (while (< (float-time) until)))))
           (put (lambda (n size)
                  (passepartout-frame-encode
                   (format "(:type :event :payload (:action :thing :n %d :text \"%s\"))"
                           n (make-string size ?x)))))
           (passepartout-remote--held 2000)
           (passepartout-remote--ready-most 2000)
           (road passepartout-remote--road) (held 0) (most 0))
      (passepartout-subscribe :event :thing keep)
      (unwind-protect
          (progn
            (mapc (lambda (byte)
                    (passepartout-remote-tests--raw (string byte))
                    (accept-process-output nil 0.001))
                  (funcall put 0 10))
            (passepartout-remote-tests--until (equal seen '(0)))
            ;; Faster than they are handled, as Emacs has no time between:
            ;; no timer runs.
            (let ((timer-list nil))
              (dotimes (n 30)
                (passepartout-remote--filter
                 road (passepartout-remote--road-process road)
                 (mapconcat (lambda (m) (funcall put (+ 1 m (* n 100)) 10))
                            (number-sequence 0 99) ""))
                (when (eq 'stop (process-status
                                 (passepartout-remote--road-process road)))
                  (cl-incf held))
                (setq most (max most
                                (passepartout-frame-rest
                                 (passepartout-remote--road-stream road))
                                (passepartout-remote--road-size road)))))
            ;; The timers of that time are gone.
            (setq passepartout-events--timer nil)
            (passepartout-remote--work road)
            (passepartout-remote-tests--until (= 3001 (length seen)))
            (should (equal (number-sequence 3000 0 -1) seen))
            (should (< 0 held))
            ;; What a busy Emacs is handed all the same is kept.
            (should (< most 600000))
            (should (eq 'open (process-status
                               (passepartout-remote--road-process road)))))
        (passepartout-unsubscribe :event :thing keep)))))

(ert-deftest passepartout-remote-what-came-before-the-end-does-not-stop-emacs ()
  (passepartout-remote-tests--with (nil)
    (passepartout-remote-tests--connect)
    (let* ((seen nil)
           (keep (lambda (payload _meta) (push (plist-get payload :n) seen)))
           (road passepartout-remote--road)
           (process (passepartout-remote--road-process road))
           (stream (passepartout-remote--road-stream road)))
      (passepartout-subscribe :event :thing keep)
      (unwind-protect
          (passepartout-remote-tests--lines
           (lambda (told)
             (let ((timer-list nil) (passepartout-remote--ready-most 2000))
               ;; More than is looked at in one go has come, and then the end.
               (dotimes (n 30)
                 (passepartout-frame-add
                  stream
                  (mapconcat
                   (lambda (m)
                     (passepartout-frame-encode
                      (format "(:type :event :payload (:action :thing :n %d))"
                              (+ m (* 100 n)))))
                   (number-sequence 0 99) "")))
               (delete-process (passepartout-remote-tests--core-connection
                                passepartout-remote-tests--core))
               (passepartout-remote-tests--until
                 (not (process-live-p process)))
               ;; No timer ran: what is left is left, and nothing is lost yet.
               (should (< 0 (passepartout-frame-rest stream)))
               (should (< (length seen) 3000))
               (should (eq 'open (passepartout-remote--road-state road)))
               (should-not (funcall told)))
             ;; The timers of that time are gone.
             (setq passepartout-events--timer nil)
             (passepartout-remote--work road)
             (passepartout-remote-tests--until (= 3000 (length seen)))
             (should (equal (number-sequence 2999 0 -1) seen))
             (passepartout-remote-tests--until
               (= 2 (length (passepartout-remote-tests--core-joins
                             passepartout-remote-tests--core))))
             (should (string-search "is lost: the other end closed"
                                    (string-join (funcall told) "\n")))))
        (passepartout-unsubscribe :event :thing keep)))))

(ert-deftest passepartout-remote-a-core-that-does-not-read-does-not-stop-emacs ()
  (passepartout-remote-tests--with (nil :dumb t)
    (passepartout-remote-tests--connect)
    ;; Its end of the socket takes nothing any more.
    (stop-process (passepartout-remote-tests--core-connection
                   passepartout-remote-tests--core))
    (let ((begin (float-time)) (sent 0))
      (should-error
       (while (< sent 1000)
         (passepartout-send-event :user-command
                                  (list :line (make-string 30000 ?x)))
         (cl-incf sent))
       :type 'passepartout-error)
      (should (> sent 200))
      (should (< (- (float-time) begin) 5))
      ;; When it reads again, all of it comes, in order.
      (setf (passepartout-remote-tests--core-twist
             passepartout-remote-tests--core)
            nil)
      (continue-process (passepartout-remote-tests--core-connection
                         passepartout-remote-tests--core))
      (passepartout-remote-tests--until
        (= sent (length (passepartout-remote-tests--heard :user-command)))))))

(defun passepartout-remote-tests--lines-heard ()
  "Return what the core of paper heard of user commands, in order."
  (mapcar (lambda (message)
            (plist-get (plist-get message :payload) :line))
          (passepartout-remote-tests--heard :user-command)))

(ert-deftest passepartout-remote-what-is-sent-while-emacs-waits-is-in-order ()
  ;; Emacs may compile a stand-in for what is replaced here, in this folder.
  (let ((default-directory temporary-file-directory))
    (passepartout-remote-tests--with (nil)
      (passepartout-remote-tests--connect)
      (let* ((send (symbol-function 'process-send-string))
             (road passepartout-remote--road)
             (mine (passepartout-remote--road-process road))
             (nested 0)
             (say (lambda (line)
                    (passepartout-send-event :user-command
                                             (list :line line)))))
        ;; As if the connection took nothing at once: Emacs waits, and what
        ;; comes meanwhile says more, and that the core reads.
        (cl-letf (((symbol-function 'process-send-string)
                   (lambda (process bytes)
                     (when (and (eq process mine) (< nested 6)
                                (string-search ":user-command" bytes))
                       (cl-incf nested)
                       (funcall say (format "nested %d" nested))
                       (setf (passepartout-remote--road-asked road)
                             (cons 99 (passepartout-remote--road-written
                                       road)))
                       (passepartout-remote--heard
                        road "(:type :response :payload (:request 99))"))
                     (funcall send process bytes))))
          (dotimes (n 3) (funcall say (format "outer %d" n)))
          (passepartout-remote-tests--until
            (<= 9 (length (passepartout-remote-tests--lines-heard)))))
        (should (equal (sort (append '("outer 0" "outer 1" "outer 2")
                                     (mapcar (lambda (n) (format "nested %d" n))
                                             (number-sequence 1 6)))
                             #'string<)
                       (sort (copy-sequence
                              (passepartout-remote-tests--lines-heard))
                             #'string<)))
        ;; In the order in which they were said.
        (should (equal "outer 0"
                       (car (passepartout-remote-tests--lines-heard))))
        (let ((inner (seq-filter (lambda (line) (string-prefix-p "nested" line))
                                 (passepartout-remote-tests--lines-heard))))
          (should (equal inner (sort (copy-sequence inner) #'string<))))
        (should (= 0 (passepartout-remote--road-waiting road)))))))

(ert-deftest passepartout-remote-no-message-makes-emacs-wait ()
  (dolist (tcp '(nil t))
    (passepartout-remote-tests--with (tcp :dumb t)
      (passepartout-remote-tests--connect)
      (stop-process (passepartout-remote-tests--core-connection
                     passepartout-remote-tests--core))
      (let ((begin (float-time))
            (small 0))
        ;; One that no connection surely takes is refused with its size.
        (let ((problem (should-error
                        (passepartout-send-event
                         :user-command (list :line (make-string 2097152 ?x)))
                        :type 'passepartout-error)))
          (should (string-search "160 kB at most" (cadr problem))))
        ;; The longest one, and ever so many small ones, are taken at once.
        (passepartout-send-event
         :user-command (list :line (make-string 163000 ?x)))
        (dotimes (_ 600)
          (cl-incf small)
          (passepartout-send-event :user-command (list :line "x")))
        (dotimes (_ 500)
          (passepartout-remote--heard
           passepartout-remote--road
           "(:type :event :payload (:action :ping))"))
        (should (< (- (float-time) begin) 5))
        (setf (passepartout-remote-tests--core-twist
               passepartout-remote-tests--core)
              nil)
        (continue-process (passepartout-remote-tests--core-connection
                           passepartout-remote-tests--core))
        (passepartout-remote-tests--until
          (= (1+ small)
             (length (passepartout-remote-tests--lines-heard))))))))

(ert-deftest passepartout-remote-only-an-answer-says-that-the-core-reads ()
  (passepartout-remote-tests--with (nil :dumb t)
    (passepartout-remote-tests--connect)
    (let* ((road passepartout-remote--road)
           (written (lambda () (passepartout-remote--road-written road)))
           (answer (lambda (number)
                     (passepartout-remote--heard
                      road (format "(:type :response :payload (:request %d))"
                                   number))))
           (before (funcall written)))
      (passepartout-remote--ask road)
      (passepartout-send-event :user-command (list :line "behind"))
      ;; There is one question at a time.
      (passepartout-remote--ask road)
      (let ((all (funcall written))
            (number (car (passepartout-remote--road-asked road))))
        ;; Of a core that reads nothing signs of life come all the same.
        (passepartout-remote--heard
         road "(:type :event :payload (:action :alive))")
        (funcall answer (1- number))
        (should (= all (funcall written)))
        (funcall answer number)
        (should (= (- all before) (funcall written)))
        ;; And once.
        (funcall answer number)
        (should (= (- all before) (funcall written)))
        (passepartout-remote-tests--until
          (passepartout-remote-tests--heard :user-command))
        (let ((asked (passepartout-remote-tests--heard :health-check)))
          (should (= 1 (length asked)))
          ;; What we have seen the core need not keep.
          (should (eql 0 (plist-get (plist-get (car asked) :meta) :seen))))))))

(ert-deftest passepartout-remote-a-write-that-is-quit-is-said-again-once ()
  ;; Emacs may compile a stand-in for what is replaced here, in this folder.
  (let ((default-directory temporary-file-directory)
        (send (symbol-function 'process-send-string)))
    (dolist (leave (list (lambda () (signal 'quit nil))
                         ;; As `while-no-input' does.
                         (lambda () (throw 'left 'left))))
      (passepartout-remote-tests--with (nil)
        (passepartout-remote-tests--connect)
        (let ((left nil))
          (cl-letf (((symbol-function 'process-send-string)
                     (lambda (process bytes)
                       (when (and (not left)
                                  (string-search ":user-command" bytes))
                         ;; A part of it was taken.
                         (funcall send process (substring bytes 0 20))
                         (setq left t)
                         (funcall leave))
                       (funcall send process bytes))))
            (should (eq 'left
                        (catch 'left
                          (condition-case nil
                              (progn
                                (passepartout-send-event :user-command
                                                         (list :line "1"))
                                (eval '(ignore nil) t))
                            (quit 'left)))))
            (passepartout-send-event :user-command (list :line "2"))
            (passepartout-remote-tests--until
              (<= 2 (length (passepartout-remote-tests--lines-heard))))
            (should (equal '("1" "2")
                           (passepartout-remote-tests--lines-heard)))))))))

(ert-deftest passepartout-remote-signs-of-life-are-asked-for-and-given ()
  (passepartout-remote-tests--with (nil)
    (let ((passepartout-remote--beat 0.1))
      (passepartout-remote-tests--connect)
      (passepartout-remote-tests--put
       '(:type :event :payload (:action :ping)))
      (passepartout-remote-tests--until
        (passepartout-remote-tests--heard :alive))
      (passepartout-remote-tests--until
        (passepartout-remote-tests--heard :ping))
      (passepartout-remote-tests--lines
       (lambda (told)
         (setf (passepartout-remote-tests--core-twist
                passepartout-remote-tests--core)
               '(:dumb t))
         (passepartout-remote-tests--until
           (string-search "has not answered" (string-join (funcall told))))
         (should (equal "not answering"
                        (plist-get passepartout-status--last :state)))
         (passepartout-remote-tests--put
          '(:type :event :payload (:action :alive)))
         (passepartout-remote-tests--until
           (string-search "answers again" (string-join (funcall told)))))))))

;;;; Lost connections

(ert-deftest passepartout-remote-a-stream-that-is-cut-goes-on-whole ()
  (dolist (tcp '(nil t))
    ;; It sends two messages again that were there: they count once.
    (passepartout-remote-tests--with (tcp :twice 2)
      (passepartout-remote-tests--connect)
      (let* ((text nil) (answer nil)
             (keep (lambda (payload _meta)
                     (push (plist-get payload :text) text)))
             (session (passepartout-abroad-session "c1")))
        (passepartout-subscribe :stream-chunk nil keep)
        (unwind-protect
            (passepartout-remote-tests--lines
             (lambda (told)
               (let ((number (passepartout-request
                              :log nil (lambda (payload)
                                         (setq answer payload)))))
                 (dotimes (n 3)
                   (passepartout-remote-tests--say
                    :stream-chunk `(:turn 1 :text ,(format "%d " n)) session))
                 (passepartout-remote-tests--until (= 3 (length text)))
                 ;; Half a frame, and the connection is gone.
                 (passepartout-remote-tests--raw "000040(:type :stream-ch")
                 (delete-process (passepartout-remote-tests--core-connection
                                  passepartout-remote-tests--core))
                 (dotimes (n 3)
                   (passepartout-remote-tests--say
                    :stream-chunk `(:turn 1 :text ,(format "%d " (+ 3 n)))
                    session))
                 (passepartout-remote-tests--say
                  :response `(:action :log :request ,number :lines (1)))
                 (passepartout-remote-tests--until (= 6 (length text)))
                 (should (equal "0 1 2 3 4 5 "
                                (string-join (reverse text))))
                 (passepartout-remote-tests--until answer)
                 (should (equal '(1) (plist-get answer :lines)))
                 (let ((join (car (passepartout-remote-tests--core-joins
                                   passepartout-remote-tests--core))))
                   (should (equal "token" (plist-get join :resume)))
                   (should (eql 3 (plist-get join :seen))))
                 ;; It goes on as before, without another hello.
                 (should (= 1 (length (passepartout-remote-tests--heard
                                       :hello))))
                 (let ((said (string-join (funcall told) "\n")))
                   (should (string-search "is lost" said))
                   (should (string-search "nothing of it was missed" said))))))
          (passepartout-unsubscribe :stream-chunk nil keep))))))

(ert-deftest passepartout-remote-what-came-and-waits-is-not-fetched-again ()
  (passepartout-remote-tests--with (nil)
    (passepartout-remote-tests--connect)
    (let* ((core passepartout-remote-tests--core)
           (road passepartout-remote--road)
           (seen nil)
           (keep (lambda (payload _meta) (push (plist-get payload :n) seen)))
           (say (lambda (n)
                  (passepartout-remote-tests--say
                   :event `(:action :thing :n ,n)))))
      (passepartout-subscribe :event :thing keep)
      (unwind-protect
          (progn
            ;; They come, and Emacs has other things to do.
            (let ((passepartout-events--streamed (+ 1000 (float-time)))
                  ;; One that never comes.
                  (passepartout-events--timer (timer-create)))
              (dotimes (n 3) (funcall say n))
              (passepartout-remote-tests--until
                (= 3 (length (passepartout-remote--road-ready road))))
              (delete-process (passepartout-remote-tests--core-connection
                               core))
              (funcall say 3)
              (passepartout-remote-tests--until
                (and (= 2 (length (passepartout-remote-tests--core-joins
                                   core)))
                     (= 4 (length (passepartout-remote--road-ready road)))))
              (should (eql 3 (plist-get
                              (car (passepartout-remote-tests--core-joins core))
                              :seen)))
              (should-not seen))
            (passepartout-events--woken nil nil)
            (passepartout-remote-tests--until (= 4 (length seen)))
            (should (equal '(3 2 1 0) seen))
            (should (= 0 (passepartout-remote--road-size road))))
        (passepartout-unsubscribe :event :thing keep)))))

(ert-deftest passepartout-remote-a-number-is-found-wherever-it-stands ()
  (pcase-dolist
      (`(,text ,number)
       '(("(:type :event :meta (:number 7) :payload (:a 1))" 7)
         ("(:type :log :meta (:number 7 :session-id \":number 9\") :payload nil)" 7)
         ("(:type :log :meta (:session-id \"a\\\") (:number 9\" :number 7))" 7)
         ("(:payload (:meta (:number 9)) :type :log :meta (:number 7))" 7)
         ("(:type :log :payload (:text \" :meta (:number 9)\"))" nil)
         ("(:type :log :meta (:number \"7\"))" nil)
         ("(:type :log :meta (:number -7))" nil)
         ("(:type :log :meta (:number . 7))" nil)
         ("(:type :log :meta 7)" nil)
         ("(:type)" nil)))
    (should (equal number (passepartout-remote--number text)))))

(ert-deftest passepartout-remote-what-is-asked-meanwhile-waits ()
  (passepartout-remote-tests--with (nil)
    (passepartout-remote-tests--connect)
    (let ((core passepartout-remote-tests--core))
      (delete-process (passepartout-remote-tests--core-server core))
      (delete-process (passepartout-remote-tests--core-connection core))
      (passepartout-remote-tests--until
        (eq 'lost (passepartout-remote--road-state
                   passepartout-remote--road)))
      (should (equal "not connected"
                     (plist-get passepartout-status--last :state)))
      (passepartout-request :trace '(:limit 5) #'ignore)
      ;; It is tried more than once, after longer and longer pauses.
      (passepartout-remote-tests--until
        (< 3 (passepartout-remote--road-tries passepartout-remote--road)))
      (should (string-search "tried again"
                             (plist-get (funcall (passepartout-module-road
                                                  :finding))
                                        :detail)))
      (ignore-errors
        (delete-file (passepartout-remote-tests--core-place core)))
      (passepartout-remote-tests--listen core)
      (passepartout-remote-tests--until
        (passepartout-remote-tests--heard :trace))
      (should (= 0 (passepartout-remote--road-tries
                    passepartout-remote--road))))))

(ert-deftest passepartout-remote-what-was-not-heard-is-said-again-once ()
  (dolist (tcp '(nil t))
    (passepartout-remote-tests--with (tcp)
      (passepartout-remote-tests--connect)
      (let* ((core passepartout-remote-tests--core)
             (say (lambda (line)
                    (passepartout-send-event :user-command
                                             (list :line line))))
             (cut (lambda ()
                    (let ((old (passepartout-remote-tests--core-connection
                                core)))
                      (delete-process old)
                      (passepartout-remote-tests--until
                        (and (not (eq old
                                      (passepartout-remote-tests--core-connection
                                       core)))
                             (eq 'open (passepartout-remote--road-state
                                        passepartout-remote--road))))))))
        (funcall say "1")
        (passepartout-remote-tests--until
          (= 1 (length (passepartout-remote-tests--lines-heard))))
        (passepartout-remote-tests--lines
         (lambda (told)
           ;; These leave Emacs, and the core never reads them.
           (stop-process (passepartout-remote-tests--core-connection core))
           (funcall say "2")
           (funcall say "3")
           (funcall cut)
           (passepartout-remote-tests--until
             (= 3 (length (passepartout-remote-tests--lines-heard))))
           ;; And once more, where nothing is missing.
           (funcall cut)
           (funcall say "4")
           (passepartout-remote-tests--until
             (<= 4 (length (passepartout-remote-tests--lines-heard))))
           (should (equal '("1" "2" "3" "4")
                          (passepartout-remote-tests--lines-heard)))
           (should (= 1 (length (passepartout-remote-tests--heard :hello))))
           (let ((said (string-join (funcall told) "\n")))
             (should (string-search "nothing of it was missed" said))
             (should-not (string-search "may not have reached" said)))))))))

(ert-deftest passepartout-remote-a-real-core-goes-on-where-it-was-cut ()
  (passepartout-real-with
    (let ((passepartout-remote--pauses '(0.02 . 0.1))
          (answers nil) (asked 0) (tokens nil))
      (unwind-protect
          (progn
            (passepartout-road--start #'ignore)
            (let* ((road passepartout-remote--road)
                   (ask (lambda (size)
                          (let ((number (cl-incf asked)))
                            (passepartout-request
                             :trace (list :limit 1 :note (make-string size ?x))
                             (lambda (payload)
                               (push (cons number (plist-get payload :error))
                                     answers)))))))
              ;; Requests and answers are cut off wherever they are.
              (dotimes (turn 6)
                (passepartout-real-until
                  (and (eq 'open (passepartout-remote--road-state road))
                       (process-live-p (passepartout-remote--road-process
                                        road))))
                (cl-pushnew (passepartout-remote--road-token road) tokens
                            :test #'equal)
                (dotimes (n 30) (funcall ask (* turn n 20)))
                ;; At times some answers have come by then.
                (when (= 0 (% turn 2)) (accept-process-output nil 0.01))
                (delete-process (passepartout-remote--road-process road)))
              (passepartout-real-until (= asked (length answers)))
              (should (equal (number-sequence 1 asked)
                             (sort (mapcar #'car answers) #'<)))
              (should-not (seq-some #'cdr answers))
              (should (= 1 (length tokens)))))
        (when passepartout-remote--road (passepartout-remote--leave))
        (passepartout-road--end)))))

(ert-deftest passepartout-remote-what-is-kept-no-more-is-not-passed-over ()
  (pcase-dolist (`(,most . ,heard) '(((2 . 1000000) . 1) ((100 . 10) . 1)
                                     ((4096 . 1000000) . 99)))
    (passepartout-remote-tests--with (nil)
      (let ((passepartout-remote--kept-most most) (answer nil))
        (passepartout-remote-tests--connect)
        (dotimes (_ 6)
          (passepartout-send-event :user-command (list :line "x")))
        (passepartout-request :log nil (lambda (payload)
                                         (setq answer payload)))
        (should (<= (passepartout-remote--road-kept-count
                     passepartout-remote--road)
                    (car most)))
        ;; The core heard less than is known, or more than was said.
        (setf (passepartout-remote-tests--core-twist
               passepartout-remote-tests--core)
              (list :heard heard))
        (delete-process (passepartout-remote-tests--core-connection
                         passepartout-remote-tests--core))
        (passepartout-remote-tests--until answer)
        (should (string-search "may have been begun"
                               (plist-get answer :error)))
        (passepartout-remote-tests--until
          (= 2 (length (passepartout-remote-tests--heard :hello))))))))

(ert-deftest passepartout-remote-a-text-that-was-cut-is-never-put-together ()
  (passepartout-remote-tests--with (nil)
    (passepartout-remote-tests--connect)
    (let ((core passepartout-remote-tests--core)
          (answers nil) (sent 0)
          (passepartout-events--slice-seconds -1))
      (cl-flet ((slice (number text)
                  (passepartout-request
                   :edit-plan `(:plan "P1" :name "text" :value ,text
                                :slice ,number :more t)
                   (lambda (answer) (push answer answers)) "emacs-7")))
        ;; The first slice goes, the second waits, the third is not cut yet.
        (passepartout-events-slices
         (make-string 150000 ?x)
         (lambda (slice)
           (cl-incf sent)
           (slice (plist-get slice :slice) (plist-get slice :text))
           (when (= 1 sent)
             (delete-process (passepartout-remote-tests--core-connection core))
             (passepartout-remote-tests--until
               (eq 'lost (passepartout-remote--road-state
                          passepartout-remote--road)))
             (slice 2 "the second")
             (setf (passepartout-remote--road-tries
                    passepartout-remote--road)
                   0)
             (passepartout-remote--tell-lost passepartout-remote--road "x"))
           t))
        (passepartout-remote-tests--until
          (eq 'open (passepartout-remote--road-state
                     passepartout-remote--road)))
        (passepartout-request :trace nil #'ignore)
        (passepartout-remote-tests--until
          (passepartout-remote-tests--heard :trace))
        (should (= 1 sent))
        (should (string-search "finish the edit again"
                               (plist-get (car answers) :error)))
        ;; The plan is one of another conversation of the core's, all the same.
        (should (<= (length (passepartout-remote-tests--heard :edit-plan)) 1))))))

(ert-deftest passepartout-remote-a-core-that-forgot-is-begun-with-anew ()
  (pcase-dolist (`(,key . ,value) '((:forget . t) (:plain . t)))
    (passepartout-remote-tests--with (nil key value)
      (passepartout-remote-tests--connect)
      (let ((answer nil))
        (passepartout-request :log nil (lambda (payload)
                                         (setq answer payload)))
        (passepartout-remote-tests--say :event '(:action :thing))
        (delete-process (passepartout-remote-tests--core-connection
                         passepartout-remote-tests--core))
        (passepartout-remote-tests--until answer)
        (should (string-search "may have been begun"
                               (plist-get answer :error)))
        (passepartout-remote-tests--until
          (= 2 (length (passepartout-remote-tests--heard :hello))))
        (should (eql 0 (passepartout-remote--road-seen
                        passepartout-remote--road)))))))

(ert-deftest passepartout-remote-a-core-that-forgot-is-asked-again-by-name ()
  (passepartout-remote-tests--with (nil :forget t)
    (let ((passepartout-chat-directory nil) (chat nil))
      (passepartout-remote-tests--connect)
      (unwind-protect
          (progn
            (setq chat (passepartout-chat--fresh nil))
            (with-current-buffer chat
              (goto-char (point-max))
              (insert "What is due?")
              (passepartout-chat-send))
            (passepartout-remote-tests--until
              (passepartout-remote-tests--heard :user-input))
            (delete-process (passepartout-remote-tests--core-connection
                             passepartout-remote-tests--core))
            (passepartout-remote-tests--until
              (= 2 (length (passepartout-remote-tests--heard :user-input))))
            (pcase-let ((`(,one ,other)
                         (mapcar (lambda (message)
                                   (plist-get message :payload))
                                 (passepartout-remote-tests--heard
                                  :user-input))))
              (should (equal one other))
              (should (string-match-p "\\`[0-9a-f]\\{64\\}\\'"
                                      (plist-get one :once))))
            (should (= 2 (length (passepartout-remote-tests--heard :hello)))))
        (setq passepartout-chat--turns nil)
        (when (buffer-live-p chat)
          (with-current-buffer chat (set-buffer-modified-p nil))
          (kill-buffer chat))))))

(ert-deftest passepartout-remote-a-squatter-after-a-loss-is-not-joined ()
  (passepartout-remote-tests--with (t)
    (passepartout-remote-tests--connect)
    (let ((core passepartout-remote-tests--core))
      (setf (passepartout-remote-tests--core-cookie core) (make-string 64 ?0)
            (passepartout-remote-tests--core-twist core)
            (list :proof
                  (passepartout-frame-encode
                   (format "(:type :event :payload (:action :handshake :protocol 2 :mac \"%s\"))"
                           (make-string 64 ?0)))))
      (passepartout-remote-tests--lines
       (lambda (told)
         (delete-process (passepartout-remote-tests--core-connection core))
         (passepartout-remote-tests--until
             (passepartout-remote-tests--given-up-p))
         (should (string-search "does not know the cookie"
                                (string-join (funcall told) "\n"))))))))

;;;; What goes, and what may be asked

(ert-deftest passepartout-remote-nothing-of-this-emacs-goes-there ()
  (dolist (tcp '(nil t))
    (passepartout-remote-tests--with (tcp)
      (let* ((folder (passepartout-remote-tests--core-folder
                      passepartout-remote-tests--core))
             (file (expand-file-name "private.org" folder))
             (authinfo (expand-file-name "authinfo" folder))
             (auth-sources (list authinfo))
             (passepartout-provider-cascade '("openai"))
             (passepartout-project folder)
             (passepartout-tools--own nil))
        (write-region (concat "machine api.openai.com login apikey "
                              "password sk-of-this-machine\n")
                      nil authinfo nil 'quiet)
        (auth-source-forget-all-cached)
        (write-region "* Diary\nhorse battery staple\n" nil file nil 'quiet)
        (with-current-buffer (find-file-noselect file)
          (passepartout-remote-tests--connect)
          (passepartout-mode 1)
          (goto-char (point-max))
          (insert "correct\n")
          (passepartout-sense--tick)
          (passepartout-sense--idle)
          (passepartout-events--send-org)
          (set-buffer-modified-p nil))
        (let ((answer nil))
          (passepartout-request :provider-settings '(:keys (("a" "sk-1" "h")))
                                (lambda (payload) (setq answer payload)))
          (passepartout-remote-tests--until answer)
          (should (string-search "stay here" (plist-get answer :error))))
        (passepartout-send-event
         :user-input `(:text "hello" :file ,file :project ,folder)
         (passepartout-abroad-session "c1"))
        (passepartout-request :context `(:query "q" :file ,file) #'ignore)
        (passepartout-remote-tests--until
          (passepartout-remote-tests--heard :context))
        (let ((raw (passepartout-remote-tests--bytes)))
          (dolist (text (list "sk-" "staple" "correct" "private.org" folder
                              "todo-keywords" ":providers" ":environment"
                              "api.openai"))
            (should-not (string-search text raw))))
        (with-current-buffer (get-file-buffer file)
          (set-buffer-modified-p nil)
          (passepartout-mode -1)
          (kill-buffer))))))

(ert-deftest passepartout-remote-a-core-may-show-and-nothing-else ()
  (dolist (tcp '(nil t))
    (passepartout-remote-tests--with (tcp)
      (passepartout-remote-tests--connect)
      (let* ((folder (passepartout-remote-tests--core-folder
                      passepartout-remote-tests--core))
             (file (expand-file-name "mine.org" folder))
             (number 0)
             (ask (lambda (payload)
                    (cl-incf number)
                    (passepartout-remote-tests--say
                     :request (append payload (list :request number)))
                    (plist-get
                     (passepartout-remote-tests--until
                       (seq-find (lambda (message)
                                   (eql number (plist-get
                                                (plist-get message :payload)
                                                :request)))
                                 (passepartout-remote-tests--heard
                                  :editor-reply)))
                     :payload))))
        (write-region "* Mine\n" nil file nil 'quiet)
        (with-current-buffer (find-file-noselect file)
          (should-not (plist-get (funcall ask `(:action :buffer-state :file ,file))
                                 :open))
          (pcase-dolist
              (`(,payload ,words)
               `(((:action :buffer-edit :file ,file :tick
                           ,(buffer-chars-modified-tick)
                           :edits ((0 6 "* Evil")))
                  "edits nothing")
                 ((:action :own-tool :tool "x" :mark "00") "no tools")
                 ((:action :settings :words "key") "settings to itself")
                 ((:action :setting-weigh :option "passepartout-project"
                           :value "\"/\"" :save "stays")
                  "settings to itself")
                 ((:action :setting-set :option "passepartout-project"
                           :value "\"/\"" :save "stays")
                  "settings to itself")
                 ((:action :select-model :slot "chat") "no models")
                 ((:action :editor-verb :verb "buffers") "only shows")
                 ((:action :editor-verb :verb "index" :file ,file) "only shows")
                 ((:action :editor-verb :verb "definitions" :name "car")
                  "only shows")
                 ((:action :chat-turns :session "c1" :turn "x") "not one with it")
                 ((:action :eval :text "(kill-emacs)") "does not know")))
            (let ((reply (funcall ask payload)))
              (should-not (plist-get reply :ok))
              (should (string-search words (plist-get reply :text)))))
          (should (equal "* Mine\n" (buffer-string)))
          (let ((reply (funcall ask `(:action :editor-verb :verb "open"
                                      :file ,file :limit 5))))
            (should (eq (not tcp) (plist-get reply :ok))))
          (should (plist-get (funcall ask '(:action :editor-verb :verb "diff"
                                            :text "-a\n+b\n" :name "x"))
                             :ok))
          (set-buffer-modified-p nil)
          (kill-buffer))))))

(ert-deftest passepartout-remote-a-chat-goes-to-the-core-that-it-is-with ()
  (passepartout-remote-tests--with (nil)
    (let ((passepartout-chat-directory nil) (local nil))
      (let ((passepartout-module--transport (passepartout-fake-transport)))
        (setq local (passepartout-chat--fresh nil)))
      (setq passepartout-hosts
            (list (cons "box" (passepartout-remote-tests--where))))
      (passepartout-connect "box")
      (with-current-buffer local
        ;; Nor does that core write into a chat that is not with it.
        (let ((mine (passepartout-chat--session)) (before (buffer-string)))
          (passepartout-remote-tests--until
            (passepartout-remote-tests--heard :hello))
          (passepartout-remote-tests--say
           :event '(:action :turn-started :turn 9 :follows 8) mine)
          (passepartout-remote-tests--say
           :stream-chunk '(:turn 9 :text "Evil.") mine)
          (passepartout-remote-tests--say :status '(:state "idle"))
          (passepartout-remote-tests--until passepartout-status--last)
          (should (equal before (buffer-string))))
        (goto-char (point-max))
        (insert "what I told my own core")
        (should-error (passepartout-chat-send) :type 'user-error)
        (should-not (string-search "Answer" (buffer-string)))
        (set-buffer-modified-p nil)
        (kill-buffer))
      (passepartout-chat)
      (should (equal "*Passepartout: box*" (buffer-name)))
      (should (string-suffix-p "@box" (passepartout-chat--session)))
      (goto-char (point-max))
      (insert "what is due?")
      (passepartout-chat-send)
      (let* ((asked (passepartout-remote-tests--until
                      (car (passepartout-remote-tests--heard :user-input))))
             (session (plist-get (plist-get asked :meta) :session-id)))
        (should (equal session (passepartout-chat--session)))
        (should (equal "what is due?"
                       (plist-get (plist-get asked :payload) :text)))
        (passepartout-remote-tests--say :event '(:action :turn-started :turn 1)
                                        session)
        (passepartout-remote-tests--say :stream-chunk
                                        '(:turn 1 :text "Nothing.") session)
        (passepartout-remote-tests--say :stream-chunk '(:turn 1 :text "")
                                        session)
        (passepartout-remote-tests--say
         :response '(:action :turn-done :turn 1 :status "answered") session)
        (passepartout-remote-tests--until (null passepartout-chat--turns))
        (should (string-search "Nothing." (buffer-string))))
      ;; And back: the core of this Emacs is told nothing of it.
      (let ((chat (current-buffer)))
        (passepartout-disconnect)
        (with-current-buffer chat
          (goto-char (point-max))
          (insert "* and tomorrow?")
          (passepartout-fake-with
            (should-error (passepartout-chat-send) :type 'user-error)
            (should-not (passepartout-fake-sent :user-input))
            (should-not (eq chat (progn (passepartout-chat)
                                        (current-buffer))))))))))

(ert-deftest passepartout-remote-files-elsewhere-are-not-opened-here ()
  (dolist (tcp '(nil t))
    (passepartout-remote-tests--with (tcp)
      (passepartout-remote-tests--connect)
      (let* ((file (expand-file-name "a.org"
                                     (passepartout-remote-tests--core-folder
                                      passepartout-remote-tests--core)))
             (hit `(:file ,file :line 1 :title "A")))
        (write-region "* A\n" nil file nil 'quiet)
        (if tcp
            (progn
              (should-error (passepartout-query-visit hit) :type 'user-error)
              (should-not (find-buffer-visiting file)))
          (passepartout-query-visit hit)
          (should (equal file (buffer-file-name)))
          (kill-buffer))))))

;;;; Another machine

(defun passepartout-remote-tests--program (script)
  "Put a program passepartout, the shell's SCRIPT, into a folder; return it."
  (let ((file (expand-file-name "passepartout"
                                (passepartout-remote-tests--core-folder
                                 passepartout-remote-tests--core))))
    (write-region (concat "#!/usr/bin/env bash\n" script "\n") nil file nil
                  'quiet)
    (set-file-modes file #o700)
    (file-name-directory file)))

(defmacro passepartout-remote-tests--elsewhere (twist script &rest body)
  "Run BODY with a core of paper that does TWIST, on another machine.
The shell's SCRIPT is the program that leads there; in it PORT is where
the core of paper listens.  BODY knows the core as `where'."
  (declare (indent 2) (debug t))
  `(passepartout-remote-tests--with (t ,@twist)
     (let* ((core passepartout-remote-tests--core)
            (port (passepartout-remote-tests--core-place core))
            (folder (passepartout-remote-tests--core-folder core))
            (authinfo (expand-file-name "authinfo" folder))
            (auth-sources (list authinfo))
            (exec-path
             (cons (passepartout-remote-tests--program
                    (string-replace "PORT" (number-to-string port) ,script))
                   exec-path))
            (where (format "box.example:%d %s" port (make-string 64 ?F))))
       ;; It has a cookie of its own, which is no other core's.
       (write-region (make-string 64 ?e) nil (expand-file-name "cookie" folder)
                     nil 'quiet)
       (write-region
        (format "machine box.example port %d login passepartout password %s\n"
                port (passepartout-remote-tests--core-cookie core))
        nil authinfo nil 'quiet)
       (auth-source-forget-all-cached)
       ,@body)))

(defconst passepartout-remote-tests--leads
  "echo \"$*\" > \"$(dirname \"$0\")/said\"
exec 3<>/dev/tcp/127.0.0.1/PORT
printf '%s' abababababababababababababababab
printf '%s\\n' abababababababababababababababab
exec 4<&0
cat <&4 >&3 &
cat <&3
kill $!"
  "A program that leads to the core of paper.
Its first line comes in two pieces.")

(ert-deftest passepartout-remote-another-machine-is-reached-by-the-program ()
  (unless (executable-find "bash")
    (message "There is no bash, whose script leads to the core: skipped")
    (ert-skip "There is no bash"))
  (passepartout-remote-tests--elsewhere
      (:peer (apply #'concat (make-list 32 "ab")))
      passepartout-remote-tests--leads
    (passepartout-connect where)
    (passepartout-remote-tests--until (passepartout-remote-tests--heard :hello))
    (should (equal (format "reach box.example:%d --core %s\n" port
                           (make-string 64 ?f))
                   (with-temp-buffer
                     (insert-file-contents (expand-file-name "said" folder))
                     (buffer-string))))
    (should (string-search "TLS at port"
                           (plist-get (passepartout-connect--finding
                                       passepartout-remote--road)
                                      :detail)))
    ;; Lost and made anew: what was said meanwhile comes, each once.
    (passepartout-remote-tests--say :log '(:level "info" :text "one"))
    (passepartout-remote-tests--until
      (= 1 (passepartout-remote--road-seen passepartout-remote--road)))
    (delete-process (passepartout-remote-tests--core-connection core))
    (passepartout-remote-tests--until
      (not (eq 'open (passepartout-remote--road-state
                      passepartout-remote--road))))
    (passepartout-remote-tests--say :log '(:level "info" :text "two"))
    (passepartout-remote-tests--until
      (= 2 (passepartout-remote--road-seen passepartout-remote--road)))
    (should (equal "token" (plist-get (car (passepartout-remote-tests--core-joins
                                            core))
                                      :resume)))
    ;; A flood that waits is read on, and the program goes on meanwhile.
    (let ((passepartout-remote--held 1000)
          (text (make-string 900 ?x)))
      (dotimes (_ 200)
        (passepartout-remote-tests--say :log `(:level "info" :text ,text)))
      (passepartout-remote-tests--until
        (= 202 (passepartout-remote--road-seen passepartout-remote--road))))
    (passepartout-disconnect)))

(ert-deftest passepartout-remote-what-the-program-says-is-wrong-is-told ()
  (unless (executable-find "bash")
    (message "There is no bash, whose script leads to the core: skipped")
    (ert-skip "There is no bash"))
  (pcase-dolist
      (`(,script ,words)
       `(("echo 'passepartout: box.example:9 does not let this key in.' >&2
exit 1"
          "box.example:9 does not let this key in.")
         (,(concat "printf '%s\\n' " (make-string 64 ?0) "
echo 'passepartout: refused at last' >&2
exit 1")
          "refused at last")
         ("echo hello; cat" "use one version of both")
         ;; A proof for another connection.
         (,passepartout-remote-tests--leads "is not convinced")))
    (passepartout-remote-tests--elsewhere () script
      (passepartout-remote-tests--refused words where)
      (should-not (passepartout-remote-tests--core-joins core))
      (should-not (seq-find (lambda (process)
                              (string-prefix-p "passepartout-remote"
                                               (process-name process)))
                            (process-list))))))

(ert-deftest passepartout-remote-elsewhere-only-with-fingerprint-cookie-program ()
  (passepartout-remote-tests--with (t)
    ;; Without any folder it would be looked for where this Emacs stands.
    (let ((print (make-string 64 ?a)) (exec-path '("/no/such/folder")))
      (should-error (passepartout-connect "box.example:9105") :type 'user-error)
      (should-error (passepartout-connect (concat "/tmp/socket " print))
                    :type 'user-error)
      (should-error (passepartout-connect (concat "box.example " (make-string
                                                                  63 ?a)))
                    :type 'user-error)
      ;; No cookie is known for it, and that of this user's core is not sent.
      (should (string-search
               "there is no cookie for box.example"
               (cadr (should-error (passepartout-connect
                                    (concat "box.example " print))
                                   :type 'passepartout-error))))
      (let* ((folder (passepartout-remote-tests--core-folder
                      passepartout-remote-tests--core))
             (authinfo (expand-file-name "authinfo" folder))
             (auth-sources (list authinfo)))
        (write-region (format "machine box port 9105 login passepartout \
password %s\n" (make-string 64 ?d))
                      nil authinfo nil 'quiet)
        (auth-source-forget-all-cached)
        (setq passepartout-hosts (list (cons "box" (concat "box.example " print))))
        (should (string-search
                 "is not in `exec-path'"
                 (cadr (should-error (passepartout-connect "box")
                                     :type 'passepartout-error))))))
    (should (passepartout-remote-tests--given-up-p))))

(provide 'passepartout-remote-tests)
;;; passepartout-remote-tests.el ends here
