;;; passepartout-remote.el --- A core outside of this Emacs  -*- lexical-binding: t; -*-

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

;; `passepartout-connect' takes another road to a core: a Unix socket of
;; one that runs on this machine, or TCP to one that both ends prove to
;; each other that they may use.  To another machine that goes by TLS
;; within the program passepartout, as Emacs's own TLS does not tell what
;; the proof has to be bound to.  The surfaces do not know which road
;; there is.
;;
;; Nothing here waits: the greeting, each frame and each new try are
;; steps of a machine that filters and timers move, for a few
;; milliseconds at a time.  A connection that is lost is made anew, and
;; goes on after the last message that was handled.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-abroad)
(require 'passepartout-frame)
(require 'passepartout-greet)
(require 'passepartout-view)
(require 'cl-lib)
(eval-when-compile (require 'subr-x))

(defvar passepartout-remote--patience 5
  "Seconds that the other end may take for the greeting.
They are counted while this Emacs listens.")

(defconst passepartout-remote--looks 10
  "How often it is looked for the greeting while the patience lasts.
While Emacs is busy, however long, no more than one look is due.")

(defvar passepartout-remote--pauses '(0.5 . 30)
  "Seconds before the first, and at most before a further try to connect.")

(defvar passepartout-remote--beat 5
  "Seconds of silence after which the core is asked for a sign of life.
After two of them the user is told.")

(defconst passepartout-remote--silence 90
  "Seconds of silence after which the connection counts as lost.")

(defconst passepartout-remote--seconds 0.004
  "Seconds for which frames are worked on before Emacs has its turn.")

(defvar passepartout-remote--held (* 1024 1024)
  "While so many bytes wait to be looked at, no more are read.")

(defvar passepartout-remote--ready-most (* 8 1024 1024)
  "While so many characters wait to be handled, no more are looked at.")

(defconst passepartout-remote--window 65536
  "How many bytes are written before the core has said that it reads.
Emacs waits when a connection takes no more; so much it takes beside one
message of `passepartout-remote--longest'.")

(defconst passepartout-remote--each 1024
  "How many bytes the system may need to keep a message beside its own.")

(defconst passepartout-remote--longest (* 160 1024)
  "A message of more bytes is not sent.
Within one the core cannot be asked whether it reads, so a connection
that is empty must take it at once.")

(defconst passepartout-remote--waiting-most (* 8 1024 1024)
  "While so many bytes wait to be written, no more can be sent.")

(defvar passepartout-remote--kept-most '(4096 . 1048576)
  "How many messages, and bytes of them, are kept after they were written.
That is more than a connection holds that the core has not read.")

;; A line is (BEFORE . LAST): a cell before the first one, and the last.

(defun passepartout-remote--line ()
  "Return a line in which nothing stands."
  (let ((before (list nil))) (cons before before)))

(defun passepartout-remote--line-all (line)
  "Return what stands in LINE, the first one first."
  (cdar line))

(defun passepartout-remote--line-add (line item)
  "Let ITEM stand at the end of LINE."
  (let ((cell (list item)))
    (setcdr (cdr line) cell)
    (setcdr line cell)))

(defun passepartout-remote--line-pop (line)
  "Take the first one out of LINE, where there is one, and return it."
  (let ((first (cdar line)))
    (when first
      (setcar line first)
      (prog1 (car first) (setcar first nil)))))

(cl-defstruct (passepartout-remote--road
               (:constructor passepartout-remote--make)
               (:copier nil))
  "A road to a core.
NAME is what the user calls it, ADDRESS a socket's file or (HOST . PORT),
COOKIE a function that returns the cookie of a road over TCP, and CORE
the fingerprint of the core's key where it is on another machine.

STATE is one of `closed', `greeting', `proof', `welcome', `open' and
`lost'.  PROCESS is the connection, STREAM what came by it, NONCE and
SERVER our number and the core's, PEER where the core listens.

READY are the texts for Emacs, the last first, of SIZE characters in
all; QUEUE what is to be written, a line of (NUMBER . TEXT) of WAITING
bytes, where NUMBER is nil unless it was written before.  KEPT is what
was written, a line of (NUMBER . TEXT), of KEPT-COUNT and KEPT-BYTES,
and LAST the number that was given last.  WRITTEN counts bytes of which
the core has not said that it read them, and ASKED is (REQUEST . BYTES),
the number of the request that asks for that and how many there were
then, or nil when nothing asks.

TOKEN and SEEN, the number of the message that came last, tell a core
where to go on; ONCE is whether the road was
ever open; DOUBT why the core grants less than to an Emacs.  HEARD is
when something came last, SILENT whether the user was told of a silence,
TRIES how often it was tried to connect since the loss, and WHY why it
was lost.

WORK, PATIENCE, RETRY and BEAT are timers."
  name address cookie core (state 'closed)
  process stream nonce server peer
  ready (size 0)
  (queue (passepartout-remote--line)) (waiting 0)
  (kept (passepartout-remote--line)) (kept-count 0) (kept-bytes 0)
  (last 0) (written 0) asked
  token (seen 0) once doubt (heard 0.0) silent (tries 0) why
  work patience retry beat)

(defvar passepartout-remote--road nil
  "The road that is used, or nil for the core of this Emacs.")

(defun passepartout-remote--tcp-p (road)
  "Return non-nil when ROAD leads over TCP."
  (consp (passepartout-remote--road-address road)))

(defun passepartout-remote--where (road)
  "Return in words where ROAD leads."
  (pcase (passepartout-remote--road-address road)
    (`(,host . ,port)
     (format "%s port %d of %s"
             (if (passepartout-remote--road-core road) "TLS at" "TCP")
             port host))
    (file (format "the Unix socket %s" (abbreviate-file-name file)))))

(defun passepartout-remote--stop-timers (road)
  "Stop all timers of ROAD."
  (dolist (timer (list (passepartout-remote--road-work road)
                       (passepartout-remote--road-patience road)
                       (passepartout-remote--road-retry road)
                       (passepartout-remote--road-beat road)))
    (when (timerp timer) (cancel-timer timer)))
  (setf (passepartout-remote--road-work road) nil
        (passepartout-remote--road-patience road) nil
        (passepartout-remote--road-retry road) nil
        (passepartout-remote--road-beat road) nil))

(defun passepartout-remote--shut (road)
  "End the connection of ROAD; what came by it and is handled is kept."
  (let ((process (passepartout-remote--road-process road))
        (stream (passepartout-remote--road-stream road)))
    (passepartout-remote--stop-timers road)
    (setf (passepartout-remote--road-state road) 'closed
          (passepartout-remote--road-process road) nil
          (passepartout-remote--road-stream road) nil
          (passepartout-remote--road-nonce road) nil
          (passepartout-remote--road-server road) nil)
    (when process
      (let ((errors (process-get process 'passepartout-errors)))
        (when errors (delete-process errors)))
      (delete-process process))
    (when stream (passepartout-frame-close stream))))

;;;; Connecting

(defun passepartout-remote--dial (road)
  "Begin to connect ROAD, or leave with an error when that cannot be."
  (passepartout-remote--shut road)
  (let ((process-adaptive-read-buffering nil)
        (address (passepartout-remote--road-address road)))
    (unless (consp address)
      (passepartout-remote--check-socket address))
    (passepartout-remote--expect road passepartout-remote--looks)
    (setf (passepartout-remote--road-state road) 'greeting
          (passepartout-remote--road-stream road) (passepartout-frame-open)
          (passepartout-remote--road-peer road) nil
          (passepartout-remote--road-process road)
          (let ((common
                 (list :name "passepartout-remote" :buffer nil :noquery t
                       :coding 'binary
                       :filter (lambda (process bytes)
                                 (passepartout-remote--filter
                                  road process bytes))
                       :sentinel (lambda (process _what)
                                   (passepartout-remote--changed
                                    road process)))))
            (cond
             ((passepartout-remote--road-core road)
              (passepartout-remote--reach road common))
             ((consp address)
              (apply #'make-network-process :nowait t :host (car address)
                     :service (cdr address) common))
             (t (apply #'make-network-process :nowait t :family 'local
                       :service address common)))))
    ;; Of a socket without a listener no sentinel hears; of a program that
    ;; has ended already it does.
    (unless (or (passepartout-remote--road-core road)
                (memq (process-status (passepartout-remote--road-process road))
                      '(connect open run)))
      (signal 'passepartout-error (list "nobody listens there")))))

(defun passepartout-remote--reach (road common)
  "Start the program that leads ROAD to another machine by TLS.
COMMON are the properties of its process."
  (let* ((program (executable-find "passepartout"))
         (address (passepartout-remote--road-address road))
         (host (car address))
         ;; A program of this Emacs, wherever its buffer's folder is.
         (default-directory (file-name-as-directory temporary-file-directory))
         (errors (make-pipe-process
                  :name "passepartout-remote-errors" :buffer nil :noquery t
                  :coding 'utf-8-unix :sentinel #'ignore
                  :filter (lambda (pipe text)
                            (let ((all (concat (process-get pipe 'text) text)))
                              (process-put
                               pipe 'text
                               (substring all 0 (min 4096 (length all)))))))))
    (unless program
      (delete-process errors)
      (signal 'passepartout-error
              (list "the program passepartout is not in `exec-path', and it \
makes the connection to another machine")))
    (condition-case problem
        (let ((process
               (apply #'make-process
                      :connection-type 'pipe :stderr errors
                      :command
                      (list program "reach"
                            (format (if (string-search ":" host) "[%s]:%d"
                                      "%s:%d")
                                    host (cdr address))
                            "--core" (passepartout-remote--road-core road))
                      common)))
          (process-put process 'passepartout-errors errors)
          process)
      (error (delete-process errors)
             (signal (car problem) (cdr problem))))))

(defun passepartout-remote--first-line (road process bytes)
  "Take the first line of the program PROCESS out of BYTES; return the rest.
It is what proofs over ROAD are bound to.  Until all of it came, nothing
is left."
  (let* ((all (concat (process-get process 'passepartout-line) bytes))
         (end (string-search "\n" all))
         (line (and end (substring all 0 end))))
    (cond
     ((and line (passepartout-greet-digits-p line))
      (setf (passepartout-remote--road-peer road) line)
      (substring all (1+ end)))
     ((or line (< 64 (length all)))
      (signal 'passepartout-protocol-error
              (list "the program passepartout does not connect as this Emacs \
knows it; use one version of both")))
     (t (process-put process 'passepartout-line all)
        ""))))

(defun passepartout-remote--complaint (process)
  "Return what the program PROCESS has said is wrong, as one line, or nil."
  (let ((errors (process-get process 'passepartout-errors)) text)
    (when errors
      ;; What was said before the end may not have been read yet.
      (ignore-errors
        (while (accept-process-output errors 0 nil t)))
      (setq text (process-get errors 'text))
      (delete-process errors))
    (and text
         (replace-regexp-in-string "\\`passepartout: \\|[[:space:].]+\\'" ""
                                   text))))

(defun passepartout-remote--connect (road)
  "Begin to connect ROAD; when that cannot be it is lost."
  (condition-case problem
      (passepartout-remote--dial road)
    (error
     (passepartout-remote--lost
      road (passepartout-remote--words problem)))))

(defun passepartout-remote--words (problem)
  "Return what PROBLEM, an error, says."
  (if (and (eq (car problem) 'passepartout-error) (stringp (cadr problem)))
      (cadr problem)
    (error-message-string problem)))

(defun passepartout-remote--check-socket (file)
  "Leave with an error unless FILE is a socket of this user."
  (let ((about (file-attributes file 'integer)))
    (cond
     ((null about)
      (signal 'passepartout-error
              (list (format "there is no socket %s; no core runs there"
                            (abbreviate-file-name file)))))
     ((not (and (string-prefix-p "s" (file-attribute-modes about))
                (eql (user-uid) (file-attribute-user-id about))))
      (signal 'passepartout-error
              (list (format "%s is not a socket of yours"
                            (abbreviate-file-name file))))))))

(defun passepartout-remote--expect (road times)
  "Look for the greeting of ROAD so many TIMES more, the first time soon."
  (setf (passepartout-remote--road-patience road)
        (run-at-time (/ passepartout-remote--patience
                        (float passepartout-remote--looks))
                     nil #'passepartout-remote--look road (1- times))))

(defun passepartout-remote--look (road times)
  "Read what of the greeting came by ROAD, and wait so many TIMES more.
When Emacs was busy timers come before what waits to be read, and the
other end is not to blame for that."
  (let ((process (passepartout-remote--road-process road)))
    (when process
      ;; That a connection stands is seen only when all are looked at.
      (accept-process-output process 0 nil
                             (if (eq 'connect (process-status process)) nil 0)))
    (when (and (eq process (passepartout-remote--road-process road))
               (memq (passepartout-remote--road-state road)
                     '(greeting proof welcome)))
      (if (< 0 times)
          (passepartout-remote--expect road times)
        (passepartout-remote--late road)))))

(defun passepartout-remote--late (road)
  "Give up the greeting of ROAD: the other end took too long for it."
  (passepartout-remote--lost
   road (format "it did not greet within %s seconds"
                passepartout-remote--patience)))

(defun passepartout-remote--changed (road process)
  "Follow what became of PROCESS, the connection of ROAD."
  (when (and (eq process (passepartout-remote--road-process road))
             (passepartout-remote--ended-p process))
    ;; What came before the end is looked at first; it may end the road.
    (passepartout-remote--work road)))

(defun passepartout-remote--ended-p (process)
  "Return non-nil when PROCESS, a connection, has ended."
  (memq (process-status process) '(closed failed exit signal)))

(defun passepartout-remote--ended (road)
  "Note that the connection of ROAD has ended, and all that came is looked at."
  (passepartout-remote--lost
   road
   (cond ((passepartout-remote--complaint
           (passepartout-remote--road-process road)))
         ((eq 'failed (process-status (passepartout-remote--road-process
                                       road)))
          "nobody listens there")
         ((not (eq 'open (passepartout-remote--road-state road)))
          (passepartout-remote--turned-away road))
         ((passepartout-frame-half-p (passepartout-remote--road-stream road))
          "the connection ended within a message")
         (t "the other end closed the connection"))))

(defun passepartout-remote--turned-away (road)
  "Return why ROAD may have been closed in the greeting, without a word."
  (let ((address (passepartout-remote--road-address road)))
    (pcase (passepartout-remote--road-state road)
      ('proof
       (format "the other end closed the connection in the greeting, as a \
core does that is not convinced: look whether the cookie for %s port %d is \
what the file cookie in its store's folder holds, and whether the core \
listens at port %d as well" (car address) (cdr address) (cdr address)))
      ((and 'greeting (guard (consp address)))
       (format "the other end closed the connection before it greeted: look \
whether port %d is a core's, and where ssh leads there, whether the core \
runs on that machine" (cdr address)))
      (_ "the other end closed the connection in the greeting: look in the \
log of that core, and whether you are its user"))))

(defun passepartout-remote--lost (road why)
  "Note that ROAD is lost, because of WHY; try again if it ever was open."
  (passepartout-remote--shut road)
  (when (eq road passepartout-remote--road)
    (if (not (passepartout-remote--road-once road))
        (passepartout-remote--give-up road why)
      (let ((first (= 0 (passepartout-remote--road-tries road)))
            (pause (min (cdr passepartout-remote--pauses)
                        (* (car passepartout-remote--pauses)
                           (expt 2 (min 16 (passepartout-remote--road-tries
                                            road)))))))
        (cl-incf (passepartout-remote--road-tries road))
        (setf (passepartout-remote--road-state road) 'lost
              (passepartout-remote--road-why road) why
              (passepartout-remote--road-retry road)
              (run-at-time pause nil #'passepartout-remote--connect road))
        (when first (passepartout-remote--tell-lost road why))))))

(defun passepartout-remote--drop-slices (road)
  "Send no more of a long text over ROAD that was under way in slices.
Those before may be lost, and the core would not know that one is
missing.  Who sent them is told."
  (let ((slice "\\`(:type :request.*? :payload (:action :edit-plan \
:request \\([0-9]+\\) ")
        (queue (passepartout-remote--road-queue road)))
    ;; What is still to be cut into slices belongs to another life.
    (cl-incf passepartout-events--life)
    (setf (passepartout-remote--road-queue road) (passepartout-remote--line)
          (passepartout-remote--road-waiting road) 0)
    (pcase-dolist (`(,number . ,text) (passepartout-remote--line-all queue))
      ;; One with a number was written, and comes again as it was.
      (if (or number (not (string-match slice text)))
          (passepartout-remote--enqueue road number text)
        (let* ((request (string-to-number (match-string 1 text)))
               (function (gethash request passepartout-events--requests)))
          (remhash request passepartout-events--requests)
          (when function
            (passepartout-events--call
             function
             (list (list :error "The connection was lost while the text was \
sent; finish the edit again.")))))))))

(defun passepartout-remote--tell-lost (road why)
  "Tell the user that ROAD was lost, because of WHY."
  (passepartout-remote--drop-slices road)
  (setf (passepartout-remote--road-silent road) nil)
  (passepartout-events--dispatch
   '(:type :status :payload (:state "not connected")))
  (passepartout-events--tell
   "warning"
   (format "The connection to “%s” is lost: %s.  It is made anew as soon as \
that works, and what you ask for until then waits.  \
M-x passepartout-disconnect gives it up."
           (passepartout-remote--road-name road)
           (passepartout-view-line why 300))))

(defconst passepartout-remote--way
  "The next command tries that again; M-x passepartout-disconnect goes back \
to the core of this Emacs"
  "What to do about a road that did not lead to its core.")

(defun passepartout-remote--give-up (road why)
  "Stop trying to connect ROAD, because of WHY."
  (let ((text (format "Not connected to “%s”: %s."
                      (passepartout-remote--road-name road)
                      (passepartout-view-line why 300)))
        (waiting (passepartout-events--waiting)))
    (setf (passepartout-remote--road-why road) why)
    (passepartout-remote--halt road)
    (passepartout-events--disappoint waiting text)
    (passepartout-events--tell
     "error" (format "%s  %s." text passepartout-remote--way))))

(defun passepartout-remote--halt (road)
  "Stop the core at the end of ROAD; commands mean that core all the same.
What is meant for it would else go to the core of this Emacs, where
other models read it."
  (unwind-protect (passepartout-stop)
    (passepartout-remote--shut road)
    (passepartout-events--dispatch
     '(:type :status :payload (:state "stopped")))))

(defun passepartout-remote--leave ()
  "Leave the road that is used, for the core of this Emacs."
  (let ((road passepartout-remote--road))
    (when road
      (unwind-protect (passepartout-stop)
        (passepartout-remote--shut road)
        (setq passepartout-remote--road nil
              passepartout-module--transport nil)
        (passepartout-events--dispatch
         '(:type :status :payload (:state "stopped")))))))

;;;; What comes

(defun passepartout-remote--filter (road process bytes)
  "Take BYTES that came by PROCESS, the connection of ROAD."
  (when (eq process (passepartout-remote--road-process road))
    (condition-case problem
        (progn
          (when (and (passepartout-remote--road-core road)
                     (null (passepartout-remote--road-peer road)))
            (setq bytes (passepartout-remote--first-line road process bytes)))
          (passepartout-frame-add (passepartout-remote--road-stream road)
                                  bytes)
          (passepartout-remote--work road))
      (passepartout-protocol-error
       (passepartout-remote--broken road (cadr problem))))))

(defun passepartout-remote--again (road)
  "Work on what came by ROAD once Emacs has had its turn."
  (unless (passepartout-remote--road-work road)
    (setf (passepartout-remote--road-work road)
          (run-at-time 0 nil #'passepartout-remote--work road))))

(defun passepartout-remote--full-p (road)
  "Return non-nil when so much of ROAD waits to be handled that it may."
  (> (passepartout-remote--road-size road) passepartout-remote--ready-most))

(defun passepartout-remote--work (road)
  "Make messages of what came by ROAD, for a few milliseconds at most.
When nothing is left and the connection has ended, ROAD is lost."
  (when (timerp (passepartout-remote--road-work road))
    (cancel-timer (passepartout-remote--road-work road)))
  (setf (passepartout-remote--road-work road) nil)
  (let* ((stream (passepartout-remote--road-stream road))
         (until (+ (float-time) passepartout-remote--seconds))
         (same (lambda ()
                 (and stream
                      (eq stream (passepartout-remote--road-stream road)))))
         (going t) (done nil))
    (condition-case problem
        (while (and going (funcall same))
          (let* ((full (passepartout-remote--full-p road))
                 (text (and (not full)
                            (passepartout-frame-next stream until))))
            (cond ((null text) (setq going nil done (not full)))
                  ((eq text t)
                   (passepartout-remote--again road)
                   (setq going nil))
                  (t (passepartout-remote--heard road text)
                     (when (and (> (float-time) until) (funcall same))
                       (passepartout-remote--again road)
                       (setq going nil))))))
      (passepartout-error
       (when (funcall same)
         (passepartout-remote--broken
          road (if (cdr problem) (format "%s" (cadr problem))
                 (error-message-string problem))))))
    (when (and (funcall same)
               (process-live-p (passepartout-remote--road-process road)))
      (passepartout-remote--hold road))
    (when (passepartout-remote--road-ready road)
      (passepartout-events--woken nil nil))
    (when (and done (funcall same)
               (passepartout-remote--ended-p
                (passepartout-remote--road-process road)))
      (passepartout-remote--ended road))))

(defun passepartout-remote--hold (road)
  "Read no more of ROAD while too much of it waits, and again when not."
  (let* ((process (passepartout-remote--road-process road))
         (held (or (eq 'stop (process-status process))
                   (eq t (process-filter process))))
         (program (passepartout-remote--road-core road))
         (full (> (passepartout-frame-rest
                   (passepartout-remote--road-stream road))
                  passepartout-remote--held)))
    ;; A program goes on while it is not read.
    (cond ((eq (and full t) (and held t)))
          ((and full program)
           (process-put process 'passepartout-filter (process-filter process))
           (set-process-filter process t))
          (full (stop-process process))
          (program
           (set-process-filter process
                               (process-get process 'passepartout-filter)))
          (t (continue-process process)))))

(defun passepartout-remote--broken (road why)
  "End ROAD, by which something came that cannot be, as WHY says."
  (passepartout-remote--shut road)
  (when (eq road passepartout-remote--road)
    (passepartout-remote--give-up road why)))

(defun passepartout-remote--read (text &optional start)
  "Return the value at START in TEXT, a message that was looked at before."
  (condition-case problem
      (let ((read-circle nil))
        (car (read-from-string text start)))
    ;; A dot in the wrong place.
    (error (signal 'passepartout-protocol-error
                   (list (format "a message cannot be read: %s"
                                 (error-message-string problem)))))))

(defun passepartout-remote--number (text)
  "Return the number of TEXT, a message that was looked at, or nil."
  (let* ((meta (and (string-match "\\`(:type :[-a-z]+ :meta (" text)
                    (1- (match-end 0))))
         (number (plist-get
                  ;; Where a core says it, so that no long one is read for it.
                  (if meta (passepartout-remote--read text meta)
                    (plist-get (passepartout-remote--read text) :meta))
                  :number)))
    (and (natnump number) number)))

(defun passepartout-remote--new-p (road text)
  "Note that TEXT has come by ROAD; return nil when it came before.
After a lost connection some may come again."
  (let ((number (save-match-data (passepartout-remote--number text))))
    (or (null number)
        (and (> number (passepartout-remote--road-seen road))
             (setf (passepartout-remote--road-seen road) number)))))

(defconst passepartout-remote--short 400
  "A text with more characters is no sign of life or of reading.")

(defun passepartout-remote--heard (road text)
  "Take TEXT, the next message of ROAD."
  (setf (passepartout-remote--road-heard road) (float-time))
  (if (not (eq 'open (passepartout-remote--road-state road)))
      (passepartout-remote--greeted road (passepartout-remote--read text))
    (let ((new (passepartout-remote--new-p road text)))
      (pcase (and (< (length text) passepartout-remote--short)
                  (passepartout-remote--sign road
                                             (passepartout-remote--read text)))
        (:read (passepartout-remote--reads road))
        (:ping (passepartout-remote--answer road))
        ;; That something came is all that it says; or the connection ends.
        ((or :alive :leaving) nil)
        (_ (when new
             (push text (passepartout-remote--road-ready road))
             (cl-incf (passepartout-remote--road-size road) (length text))))))
    (when (passepartout-remote--road-silent road)
      (setf (passepartout-remote--road-silent road) nil)
      (passepartout-events--dispatch
       `(:type :event
         :payload (:action :core-back
                   :text ,(format "“%s” answers again."
                                  (passepartout-remote--road-name road))))))))

(defun passepartout-remote--sign (road message)
  "Return what sign of life MESSAGE of ROAD is, or nil.
It is `:read' when it answers whether what was written is read."
  (let ((payload (plist-get message :payload))
        (asked (car (passepartout-remote--road-asked road))))
    (pcase (plist-get message :type)
      (:event (car (memq (plist-get payload :action)
                         '(:alive :ping :leaving))))
      (:response (and asked (eql asked (plist-get payload :request))
                      :read)))))

;;;; The greeting

(defun passepartout-remote--greeted (road message)
  "Take MESSAGE, the next step of the greeting of ROAD."
  (let ((payload (passepartout-greet-read message)))
    (pcase (passepartout-remote--road-state road)
      ('greeting (if (passepartout-remote--tcp-p road)
                     (passepartout-remote--prove road payload)
                   (passepartout-remote--join road)))
      ('proof
       (unless (passepartout-greet-same-p
                (plist-get payload :mac)
                (passepartout-remote--mac road "server"))
         (passepartout-greet-refuse
          "what listens there does not know the cookie, so it is not the \
core; nothing was sent to it"))
       (passepartout-remote--join road))
      ('welcome (passepartout-remote--welcomed road payload)))))

(defun passepartout-remote--mac (road role)
  "Return the proof of ROLE over ROAD."
  (passepartout-greet-mac (funcall (passepartout-remote--road-cookie road))
                          role
                          (passepartout-remote--road-server road)
                          (passepartout-remote--road-nonce road)
                          (passepartout-remote--road-peer road)))

(defun passepartout-remote--prove (road payload)
  "Answer the number of the core in PAYLOAD over ROAD with a proof."
  (let ((server (plist-get payload :nonce)))
    (unless (passepartout-greet-digits-p server)
      (passepartout-greet-refuse "it does not prove what it is"))
    (setf (passepartout-remote--road-server road) server
          (passepartout-remote--road-nonce road) (passepartout-greet-nonce)
          (passepartout-remote--road-peer road)
          (or (passepartout-remote--road-peer road)
              (passepartout-greet-peer
               (process-contact (passepartout-remote--road-process road)
                                :remote)))
          (passepartout-remote--road-state road) 'proof)
    (passepartout-remote--write
     road (passepartout-greet-proof
           (passepartout-remote--mac road "client")
           (passepartout-remote--road-nonce road)))))

(defun passepartout-remote--join (road)
  "Say over ROAD who we are, and after which message to go on."
  (setf (passepartout-remote--road-state road) 'welcome)
  (passepartout-remote--write
   road (passepartout-greet-join (passepartout-remote--road-token road)
                                 (passepartout-remote--road-seen road))))

(defun passepartout-remote--welcomed (road payload)
  "Begin over ROAD: the core has let us in, as PAYLOAD says."
  (if (or (not (plist-get payload :resumed))
          (passepartout-remote--say-again road (plist-get payload :heard)))
      (passepartout-remote--begin road payload)
    ;; Without the token the next connection begins anew.
    (setf (passepartout-remote--road-token road) nil)
    (passepartout-remote--lost
     road "it does not know what came of what was sent")))

(defun passepartout-remote--begin (road payload)
  "Speak over ROAD with a core that has let us in, as PAYLOAD says."
  (let ((once (passepartout-remote--road-once road))
        (token (plist-get payload :resume)))
    (passepartout-remote--stop-timers road)
    (setf (passepartout-remote--road-state road) 'open
          (passepartout-remote--road-once road) t
          (passepartout-remote--road-token road) (and (stringp token) token)
          (passepartout-remote--road-doubt road) (plist-get payload :doubt)
          (passepartout-remote--road-tries road) 0
          (passepartout-remote--road-written road) 0
          (passepartout-remote--road-asked road) nil
          (passepartout-remote--road-silent road) nil
          (passepartout-remote--road-beat road)
          (run-at-time passepartout-remote--beat passepartout-remote--beat
                       #'passepartout-remote--pulse road))
    (cond ((not once) (passepartout-remote--tell-open road))
          ((plist-get payload :resumed)
           (passepartout-remote--tell-resumed road))
          (t (passepartout-remote--begin-anew road)))
    (passepartout-remote--flush road)))

(defun passepartout-remote--tell-open (road)
  "Tell the user that ROAD is open."
  (let ((doubt (passepartout-remote--road-doubt road)))
    (passepartout-events--tell
     "info"
     (format "Connected to “%s”.%s" (passepartout-remote--road-name road)
             (if (stringp doubt)
                 (format "  It grants this Emacs the rights of a command: %s."
                         (passepartout-view-line doubt 300))
               "")))))

(defun passepartout-remote--tell-resumed (road)
  "Tell the user that ROAD is open again, and that nothing was missed."
  (passepartout-events--dispatch
   `(:type :event
     :payload
     (:action :core-back
      :text ,(format "Connected to “%s” again; nothing of it was missed, and \
what it had not heard of you is said to it again."
                     (passepartout-remote--road-name road))))))

(defun passepartout-remote--say-again (road heard)
  "Queue again what ROAD wrote behind the number HEARD, before all else.
Return nil when not all of that is kept."
  (let* ((last (passepartout-remote--road-last road))
         ;; What was to be written again at the loss before waits still.
         (all (append (passepartout-remote--line-all
                       (passepartout-remote--road-kept road))
                      (passepartout-remote--line-all
                       (passepartout-remote--road-queue road)))))
    (when (and (natnump heard)
               (<= (or (caar all) (1+ last)) (1+ heard) (1+ last)))
      (setf (passepartout-remote--road-queue road) (passepartout-remote--line)
            (passepartout-remote--road-waiting road) 0)
      (passepartout-remote--forget-kept road)
      (pcase-dolist (`(,number . ,text) all)
        (unless (and number (<= number heard))
          (passepartout-remote--enqueue road number text)))
      t)))

(defun passepartout-remote--forget-kept (road)
  "Keep nothing of what ROAD has written."
  (setf (passepartout-remote--road-kept road) (passepartout-remote--line)
        (passepartout-remote--road-kept-count road) 0
        (passepartout-remote--road-kept-bytes road) 0))

(defun passepartout-remote--forget (road)
  "Forget what went and came by ROAD, for a core that knows nothing of it."
  (passepartout-remote--forget-kept road)
  (setf (passepartout-remote--road-queue road) (passepartout-remote--line)
        (passepartout-remote--road-waiting road) 0
        (passepartout-remote--road-last road) 0
        (passepartout-remote--road-seen road) 0
        (passepartout-remote--road-ready road) nil
        (passepartout-remote--road-size road) 0))

(defun passepartout-remote--begin-anew (road)
  "Begin with a core at the end of ROAD that knows nothing of before."
  (passepartout-remote--forget road)
  (passepartout-events--dispatch
   `(:type :event
     :payload
     (:action :core-lost
      :text ,(format "Connected to “%s” again, which knows nothing of this \
Emacs any more.  Questions of chats go there again, and none is asked twice; \
what else you asked for and have not heard of is lost, and may have been \
begun: look before you ask again."
                     (passepartout-remote--road-name road))))))

;;;; What goes

(defun passepartout-remote--write (road message)
  "Write MESSAGE, a plist, over ROAD at once."
  (passepartout-remote--put
   road (passepartout-frame-encode (passepartout-events-encode message))))

(defun passepartout-remote--put (road frame)
  "Write FRAME over ROAD.  When that fails the connection has ended.
Where a connection takes less than it should, Emacs waits, and filters
and timers run meanwhile: what these write goes behind it.  Who quits
that ends the connection, as nobody knows how much of it was taken."
  (let ((process (passepartout-remote--road-process road))
        (inhibit-quit t))
    (when (and process (memq (process-status process) '(open run stop)))
      (process-put process 'passepartout-frames
                   (append (process-get process 'passepartout-frames)
                           (list frame)))
      (unless (process-get process 'passepartout-writing)
        (process-put process 'passepartout-writing t)
        (let ((sent t))
          (unwind-protect
              (while (and sent
                          (setq frame (pop (process-get
                                            process 'passepartout-frames))))
                (setq sent nil)
                (setq sent (with-local-quit
                             (condition-case nil
                                 (process-send-string process frame)
                               ;; The sentinel says what became of it.
                               (error nil))
                             t)))
            (process-put process 'passepartout-writing nil)
            (unless sent
              (process-put process 'passepartout-frames nil)
              (delete-process process))))))))

(defun passepartout-remote--enqueue (road number text)
  "Let TEXT, with NUMBER when it has one already, wait to be written by ROAD."
  (cl-incf (passepartout-remote--road-waiting road) (string-bytes text))
  (passepartout-remote--line-add (passepartout-remote--road-queue road)
                                 (cons number text)))

(defun passepartout-remote--numbered (text number)
  "Return TEXT, a message of ours, with NUMBER in its meta."
  (save-match-data
    (if (not (string-match "\\`(:type :[-a-z]+\\( :meta (\\)?" text))
        text
      (let ((end (match-end 0)))
        (concat (substring text 0 end)
                (format (if (match-beginning 1) ":number %d "
                          " :meta (:number %d)")
                        number)
                (substring text end))))))

(defun passepartout-remote--room-p (road text)
  "Return non-nil when ROAD surely takes TEXT now."
  (let ((written (passepartout-remote--road-written road))
        (process (passepartout-remote--road-process road)))
    (and process
         (process-live-p process)
         (eq 'open (passepartout-remote--road-state road))
         (not (process-get process 'passepartout-writing))
         (or (= 0 written)
             (<= (+ written (string-bytes text) passepartout-remote--each)
                 passepartout-remote--window)))))

(defun passepartout-remote--flush (road)
  "Write what waits for ROAD, as much as the other end surely takes."
  (let (next)
    (while (and (setq next (car (passepartout-remote--line-all
                                 (passepartout-remote--road-queue road))))
                (passepartout-remote--room-p road (cdr next)))
      (passepartout-remote--write-next road)))
  (passepartout-remote--ask-in-time road))

(defun passepartout-remote--write-next (road)
  "Write the first message that waits for ROAD, and keep it.
All is noted before it is written: others may have their turn then."
  (pcase-let* ((inhibit-quit t)
               (`(,number . ,text) (passepartout-remote--line-pop
                                    (passepartout-remote--road-queue road)))
               (number (or number
                           (cl-incf (passepartout-remote--road-last road))))
               (bytes (string-bytes text)))
    (cl-decf (passepartout-remote--road-waiting road) bytes)
    (cl-incf (passepartout-remote--road-written road)
             (+ bytes passepartout-remote--each))
    (passepartout-remote--line-add (passepartout-remote--road-kept road)
                                   (cons number text))
    (cl-incf (passepartout-remote--road-kept-count road))
    (cl-incf (passepartout-remote--road-kept-bytes road) bytes)
    (while (or (> (passepartout-remote--road-kept-count road)
                  (car passepartout-remote--kept-most))
               (> (passepartout-remote--road-kept-bytes road)
                  (cdr passepartout-remote--kept-most)))
      (cl-decf (passepartout-remote--road-kept-count road))
      (cl-decf (passepartout-remote--road-kept-bytes road)
               (string-bytes (cdr (passepartout-remote--line-pop
                                   (passepartout-remote--road-kept road))))))
    (passepartout-remote--put
     road (passepartout-frame-encode
           (passepartout-remote--numbered text number)))))

(defun passepartout-remote--ask-in-time (road)
  "Ask over ROAD whether what was written is read, when that matters soon.
Something waits for it, or half of what may be is written."
  (let ((written (passepartout-remote--road-written road)))
    (when (and (eq 'open (passepartout-remote--road-state road))
               (or (> written (/ passepartout-remote--window 2))
                   (and (< 0 written)
                        (passepartout-remote--line-all
                         (passepartout-remote--road-queue road)))))
      (passepartout-remote--ask road))))

(defun passepartout-remote--ask (road)
  "Ask over ROAD whether all that was written is read, unless that is asked.
A sign of life does not say so: while it reads nothing, a core gives one
all the same.  A request has an answer of its own."
  (unless (passepartout-remote--road-asked road)
    (let ((request (cl-incf passepartout-events--request-number)))
      (setf (passepartout-remote--road-asked road)
            (cons request (passepartout-remote--road-written road)))
      (passepartout-remote--write
       road `(:type :request
              :meta (:seen ,(passepartout-remote--road-seen road))
              :payload (:action :health-check :request ,request))))))

(defun passepartout-remote--reads (road)
  "Note that what was written over ROAD before it was asked is read."
  (cl-decf (passepartout-remote--road-written road)
           (cdr (passepartout-remote--road-asked road)))
  (setf (passepartout-remote--road-asked road) nil)
  (passepartout-remote--flush road))

(defun passepartout-remote--answer (road)
  "Give a sign of life over ROAD, unless enough of what we said is under way."
  (when (<= (passepartout-remote--road-written road)
            passepartout-remote--window)
    (cl-incf (passepartout-remote--road-written road)
             passepartout-remote--each)
    (passepartout-remote--write-sign road :alive)
    ;; What was said while that was written waits.
    (passepartout-remote--flush road)))

(defun passepartout-remote--write-sign (road sign)
  "Send SIGN, a sign of life, over ROAD, and what was seen.
The core need not keep that for us any longer."
  (passepartout-remote--write
   road `(:type :event
          :meta (:seen ,(passepartout-remote--road-seen road))
          :payload (:action ,sign))))

(defun passepartout-remote--part (road)
  "Say over ROAD that this Emacs goes and does not come back, and end it.
Otherwise the core would keep for a while what we could come back to."
  (when (and (eq 'open (passepartout-remote--road-state road))
             (<= (passepartout-remote--road-written road)
                 passepartout-remote--window))
    (passepartout-remote--write-sign road :leaving))
  (passepartout-remote--shut road))

(defun passepartout-remote--pulse (road)
  "See whether anything was heard over ROAD lately."
  (let ((silence (- (float-time) (passepartout-remote--road-heard road))))
    (cond
     ((> silence passepartout-remote--silence)
      (passepartout-remote--lost
       road (format "nothing was heard for %d seconds"
                    passepartout-remote--silence)))
     ((>= silence (* 0.9 passepartout-remote--beat))
      (passepartout-remote--write-sign road :ping)
      (when (and (>= silence (* 1.9 passepartout-remote--beat))
                 (not (passepartout-remote--road-silent road)))
        (setf (passepartout-remote--road-silent road) t)
        (passepartout-events--dispatch
         `(:type :event
           :payload
           (:action :core-silent
            :text ,(format "“%s” has not answered for %d seconds.  What you \
ask for waits; M-x passepartout-disconnect gives it up."
                           (passepartout-remote--road-name road)
                           (round silence))))))))))

(provide 'passepartout-remote)
;;; passepartout-remote.el ends here
