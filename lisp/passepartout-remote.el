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
;; each other that they may use.  The surfaces do not know which road
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
  "Seconds that the other end may take for the greeting.")

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
Emacs waits when a connection takes no more; so much it always takes.")

(defconst passepartout-remote--waiting-most (* 8 1024 1024)
  "While so many bytes wait to be written, no more can be sent.")

(cl-defstruct (passepartout-remote--road
               (:constructor passepartout-remote--make)
               (:copier nil))
  "A road to a core.
NAME is what the user calls it, ADDRESS a socket's file or (HOST . PORT),
COOKIE a function that returns the cookie of a road over TCP.

STATE is one of `closed', `greeting', `proof', `welcome', `open' and
`lost'.  PROCESS is the connection, STREAM what came by it, NONCE and
SERVER our number and the core's, PEER where the core listens.

READY are the texts for Emacs, the last first, of SIZE characters in
all; QUEUE the frames to be written, the last first, of WAITING bytes;
WRITTEN counts bytes since the core last said that it reads, and ASKED
whether it was asked.

TOKEN and SEEN tell a core where to go on; ONCE is whether the road was
ever open; DOUBT why the core grants less than to an Emacs.  HEARD is
when something came last, SILENT whether the user was told of a silence,
TRIES how often it was tried to connect since the loss, WHY why it was
lost, RISK whether something was written that the core may not have got.

WORK, PATIENCE, RETRY and BEAT are timers."
  name address cookie (state 'closed)
  process stream nonce server peer
  ready (size 0) queue (waiting 0) (written 0) asked
  token (seen 0) once doubt (heard 0.0) silent (tries 0) why risk
  work patience retry beat)

(defvar passepartout-remote--road nil
  "The road that is used, or nil for the core of this Emacs.")

(defun passepartout-remote--tcp-p (road)
  "Return non-nil when ROAD leads over TCP."
  (consp (passepartout-remote--road-address road)))

(defun passepartout-remote--where (road)
  "Return in words where ROAD leads."
  (pcase (passepartout-remote--road-address road)
    (`(,host . ,port) (format "TCP port %d of %s" port host))
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
    (when process (delete-process process))
    (when stream (passepartout-frame-close stream))))

;;;; Connecting

(defun passepartout-remote--dial (road)
  "Begin to connect ROAD, or leave with an error when that cannot be."
  (passepartout-remote--shut road)
  (let ((process-adaptive-read-buffering nil)
        (address (passepartout-remote--road-address road)))
    (unless (consp address)
      (passepartout-remote--check-socket address))
    (setf (passepartout-remote--road-state road) 'greeting
          (passepartout-remote--road-stream road) (passepartout-frame-open)
          (passepartout-remote--road-patience road)
          (run-at-time passepartout-remote--patience nil
                       #'passepartout-remote--late road)
          (passepartout-remote--road-process road)
          (apply #'make-network-process
                 :name "passepartout-remote" :buffer nil :noquery t
                 :coding 'binary :nowait t
                 :filter (lambda (process bytes)
                           (passepartout-remote--filter road process bytes))
                 :sentinel (lambda (process _what)
                             (passepartout-remote--changed road process))
                 (if (consp address)
                     (list :host (car address) :service (cdr address))
                   (list :family 'local :service address))))
    ;; Of a socket without a listener no sentinel hears.
    (unless (memq (process-status (passepartout-remote--road-process road))
                  '(connect open run))
      (signal 'passepartout-error (list "nobody listens there")))))

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

(defun passepartout-remote--late (road)
  "Give up the greeting of ROAD: the other end took too long for it."
  (passepartout-remote--lost
   road (format "it did not greet within %s seconds"
                passepartout-remote--patience)))

(defun passepartout-remote--changed (road process)
  "Follow what became of PROCESS, the connection of ROAD."
  (when (and (eq process (passepartout-remote--road-process road))
             (memq (process-status process) '(closed failed exit signal)))
    ;; What came before the end is looked at first; it may end the road.
    (when (passepartout-remote--work road 'all)
      (passepartout-remote--lost
       road
       (cond ((eq 'failed (process-status process)) "nobody listens there")
             ((not (eq 'open (passepartout-remote--road-state road)))
              "the other end closed the connection in the greeting")
             ((passepartout-frame-half-p
               (passepartout-remote--road-stream road))
              "the connection ended within a message")
             (t "the other end closed the connection"))))))

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
  (let ((slice "\\`[0-9a-f]+(:type :request.*? :payload (:action :edit-plan \
:request \\([0-9]+\\) ")
        (kept nil))
    ;; What is still to be cut into slices belongs to another life.
    (cl-incf passepartout-events--life)
    (dolist (frame (reverse (passepartout-remote--road-queue road)))
      (if (not (string-match slice frame))
          (push frame kept)
        (cl-decf (passepartout-remote--road-waiting road) (length frame))
        (let* ((number (string-to-number (match-string 1 frame)))
               (function (gethash number passepartout-events--requests)))
          (remhash number passepartout-events--requests)
          (when function
            (passepartout-events--call
             function
             (list (list :error "The connection was lost while the text was \
sent; finish the edit again.")))))))
    (setf (passepartout-remote--road-queue road) kept)))

(defun passepartout-remote--tell-lost (road why)
  "Tell the user that ROAD was lost, because of WHY."
  (passepartout-remote--drop-slices road)
  (setf (passepartout-remote--road-silent road) nil
        (passepartout-remote--road-risk road)
        (< 0 (passepartout-remote--road-written road)))
  (passepartout-events--dispatch
   '(:type :status :payload (:state "not connected")))
  (passepartout-events--tell
   "warning"
   (format "The connection to “%s” is lost: %s.  It is made anew as soon as \
that works, and what you ask for until then waits.  \
M-x passepartout-disconnect gives it up."
           (passepartout-remote--road-name road)
           (passepartout-view-line why 300))))

(defun passepartout-remote--give-up (road why)
  "Leave ROAD for good, because of WHY."
  (let ((text (format "Not connected to “%s”: %s."
                      (passepartout-remote--road-name road)
                      (passepartout-view-line why 300)))
        (waiting (passepartout-events--waiting)))
    (passepartout-remote--leave)
    (passepartout-events--disappoint waiting text)
    (passepartout-events--tell
     "error" (concat text "  Commands mean the core of this Emacs again."))))

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
    (passepartout-frame-add (passepartout-remote--road-stream road) bytes)
    (passepartout-remote--work road)))

(defun passepartout-remote--again (road)
  "Work on what came by ROAD once Emacs has had its turn."
  (unless (passepartout-remote--road-work road)
    (setf (passepartout-remote--road-work road)
          (run-at-time 0 nil #'passepartout-remote--work road))))

(defun passepartout-remote--full-p (road)
  "Return non-nil when so much of ROAD waits to be handled that it may."
  (> (passepartout-remote--road-size road) passepartout-remote--ready-most))

(defun passepartout-remote--work (road &optional all)
  "Make messages of what came by ROAD, for a few milliseconds at most.
With ALL, until nothing is left.  Return nil when the road ended
meanwhile."
  (when (timerp (passepartout-remote--road-work road))
    (cancel-timer (passepartout-remote--road-work road)))
  (setf (passepartout-remote--road-work road) nil)
  (let* ((stream (passepartout-remote--road-stream road))
         (until (if all 1.0e+INF
                  (+ (float-time) passepartout-remote--seconds)))
         (same (lambda ()
                 (and stream
                      (eq stream (passepartout-remote--road-stream road)))))
         (going t))
    (condition-case problem
        (while (and going (funcall same))
          (let ((text (if (and (not all) (passepartout-remote--full-p road))
                          nil
                        (passepartout-frame-next stream until))))
            (cond ((null text) (setq going nil))
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
    (funcall same)))

(defun passepartout-remote--hold (road)
  "Read no more of ROAD while too much of it waits, and again when not."
  (let* ((process (passepartout-remote--road-process road))
         (held (eq 'stop (process-status process)))
         (full (> (passepartout-frame-rest
                   (passepartout-remote--road-stream road))
                  passepartout-remote--held)))
    (cond ((and full (not held)) (stop-process process))
          ((and held (not full)) (continue-process process)))))

(defun passepartout-remote--broken (road why)
  "End ROAD, by which something came that cannot be, as WHY says."
  (passepartout-remote--shut road)
  (when (eq road passepartout-remote--road)
    (passepartout-remote--give-up road why)))

(defun passepartout-remote--read (text)
  "Return the message that TEXT is, which was looked at before."
  (condition-case problem
      (let ((read-circle nil))
        (car (read-from-string text)))
    ;; A dot in the wrong place.
    (error (signal 'passepartout-protocol-error
                   (list (format "a message cannot be read: %s"
                                 (error-message-string problem)))))))

(defconst passepartout-remote--short 200
  "A text with more characters is no sign of life.")

(defun passepartout-remote--heard (road text)
  "Take TEXT, the next message of ROAD."
  (setf (passepartout-remote--road-heard road) (float-time))
  (if (not (eq 'open (passepartout-remote--road-state road)))
      (passepartout-remote--greeted road (passepartout-remote--read text))
    (pcase (and (< (length text) passepartout-remote--short)
                (passepartout-remote--sign (passepartout-remote--read text)))
      (:alive (setf (passepartout-remote--road-written road) 0
                    (passepartout-remote--road-asked road) nil)
              (passepartout-remote--flush road))
      (:ping (passepartout-remote--write-sign road :alive))
      ;; It says so, and the connection ends.
      (:leaving nil)
      (_ (push text (passepartout-remote--road-ready road))
         (cl-incf (passepartout-remote--road-size road) (length text))))
    (when (passepartout-remote--road-silent road)
      (setf (passepartout-remote--road-silent road) nil)
      (passepartout-events--dispatch
       `(:type :event
         :payload (:action :core-back
                   :text ,(format "“%s” answers again."
                                  (passepartout-remote--road-name road))))))))

(defun passepartout-remote--sign (message)
  "Return what sign of life MESSAGE is, or nil."
  (and (eq :event (plist-get message :type))
       (car (memq (plist-get (plist-get message :payload) :action)
                  '(:alive :ping :leaving)))))

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
          (passepartout-greet-peer
           (process-contact (passepartout-remote--road-process road)
                            :remote))
          (passepartout-remote--road-state road) 'proof)
    (passepartout-remote--write
     road (passepartout-greet-proof
           (passepartout-remote--mac road "client")
           (passepartout-remote--road-nonce road)))))

(defun passepartout-remote--join (road)
  "Say over ROAD who we are, and after which message to go on."
  (when (passepartout-remote--road-token road)
    ;; What was not handled comes again.
    (setf (passepartout-remote--road-ready road) nil
          (passepartout-remote--road-size road) 0))
  (setf (passepartout-remote--road-state road) 'welcome)
  (passepartout-remote--write
   road (passepartout-greet-join (passepartout-remote--road-token road)
                                 (passepartout-remote--road-seen road))))

(defun passepartout-remote--welcomed (road payload)
  "Begin over ROAD: the core has let us in, as PAYLOAD says."
  (let ((once (passepartout-remote--road-once road))
        (resumed (plist-get payload :resumed))
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
          (resumed (passepartout-remote--tell-resumed road))
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
      :text ,(format "Connected to “%s” again; nothing of it was missed.%s"
                     (passepartout-remote--road-name road)
                     (if (passepartout-remote--road-risk road)
                         "  What you asked for in the last moment before may \
not have reached it: ask again where no answer comes."
                       ""))))))

(defun passepartout-remote--begin-anew (road)
  "Begin with a core at the end of ROAD that knows nothing of before."
  (setf (passepartout-remote--road-queue road) nil
        (passepartout-remote--road-waiting road) 0
        (passepartout-remote--road-seen road) 0)
  (passepartout-events--dispatch
   `(:type :event
     :payload
     (:action :core-lost
      :text ,(format "Connected to “%s” again, which knows nothing of this \
Emacs any more.  What you asked for and have not heard of is lost, and may \
have been begun: look before you ask again."
                     (passepartout-remote--road-name road))))))

;;;; What goes

(defun passepartout-remote--write (road message)
  "Write MESSAGE, a plist, over ROAD at once."
  (passepartout-remote--put
   road (passepartout-frame-encode (passepartout-events-encode message))))

(defun passepartout-remote--put (road frame)
  "Write FRAME over ROAD.  When that fails the connection has ended."
  (let ((process (passepartout-remote--road-process road)))
    (when (and process (memq (process-status process) '(open run stop)))
      (condition-case nil
          (process-send-string process frame)
        ;; The sentinel says what became of it.
        (error nil)))))

(defun passepartout-remote--flush (road)
  "Write what waits for ROAD, as much as the other end surely takes."
  (let ((queue (nreverse (passepartout-remote--road-queue road))))
    (while (and queue
                (eq 'open (passepartout-remote--road-state road))
                (or (= 0 (passepartout-remote--road-written road))
                    (<= (+ (passepartout-remote--road-written road)
                           (length (car queue)))
                        passepartout-remote--window)))
      (let ((frame (pop queue)))
        (cl-decf (passepartout-remote--road-waiting road) (length frame))
        (cl-incf (passepartout-remote--road-written road) (length frame))
        (passepartout-remote--put road frame)))
    (setf (passepartout-remote--road-queue road) (nreverse queue))
    (when (and (eq 'open (passepartout-remote--road-state road))
               (not (passepartout-remote--road-asked road))
               (> (passepartout-remote--road-written road)
                  (/ passepartout-remote--window 2)))
      (passepartout-remote--ask road))))

(defun passepartout-remote--ask (road)
  "Ask over ROAD for a sign of life."
  (setf (passepartout-remote--road-asked road) t)
  (passepartout-remote--write-sign road :ping))

(defun passepartout-remote--write-sign (road sign)
  "Send SIGN, a sign of life, over ROAD, and what was seen.
The core need not keep that for us any longer."
  (passepartout-remote--write
   road `(:type :event
          :meta (:seen ,(passepartout-remote--road-seen road))
          :payload (:action ,sign))))

(defun passepartout-remote--pulse (road)
  "See whether anything was heard over ROAD lately."
  (let ((silence (- (float-time) (passepartout-remote--road-heard road))))
    (cond
     ((> silence passepartout-remote--silence)
      (passepartout-remote--lost
       road (format "nothing was heard for %d seconds"
                    passepartout-remote--silence)))
     ((>= silence (* 0.9 passepartout-remote--beat))
      (passepartout-remote--ask road)
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
