;;; passepartout-events.el --- Messages to and from the core  -*- lexical-binding: t; -*-

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

;; Every surface meets the core, and the other surfaces, through this
;; file: `passepartout-send' and `passepartout-request' send a message,
;; `passepartout-subscribe' names a function for the messages that come
;; back.  The core wakes Emacs with one byte through a pipe; the filter
;; then takes what waits, for a few milliseconds at most, and comes back
;; for the rest after Emacs has had its turn.

;;; Code:

(require 'passepartout)
(require 'passepartout-module)
(require 'passepartout-thread)
(require 'passepartout-abroad)
(require 'cl-lib)
(eval-when-compile (require 'subr-x))

(declare-function auth-source-pick-first-password "auth-source")
(declare-function project-root "project")
(defvar org-todo-keywords)
(defvar org-use-property-inheritance)

(defvar passepartout-events--slice-seconds 0.004
  "Seconds for which messages are handled before Emacs has its turn.")

(defconst passepartout-events--stream-seconds 0.05
  "Least number of seconds between two looks while an answer streams in.
Each piece of text that is inserted makes garbage, whatever its size:
fewer and larger pieces make Emacs collect less often.")

(defconst passepartout-events--receive-bytes 65536
  "How many bytes of messages are taken from the core at a time.")

(defconst passepartout-events-text-limit 65536
  "The greatest number of bytes of one text in a message.")

(defvar passepartout-events--pipe nil
  "The process that wakes Emacs, or nil when the core is not running.")

(defvar passepartout-events--life 0
  "A number for the core that does the work; another one has another.")

(defvar passepartout-events--timer nil
  "The timer that comes back for the messages left over, or nil.")

(defvar passepartout-events--streamed nil
  "When text of an answer was last handled, if that was at the last look.")

(defvar passepartout-events--subscribers nil
  "An alist from (TYPE . NAME) to the functions that handle such a message.")

(defvar passepartout-events--requests (make-hash-table)
  "The functions that wait for a response, by the number of the request.")

(defvar passepartout-events--request-number 0
  "The number of the last request.")

(defvar passepartout-events--hosts
  '(("openai" . "api.openai.com")
    ("anthropic" . "api.anthropic.com")
    ("gemini" . "generativelanguage.googleapis.com")
    ("openrouter" . "openrouter.ai")
    ("groq" . "api.groq.com")
    ("deepseek" . "api.deepseek.com")
    ("nvidia" . "integrate.api.nvidia.com")
    ("mistral" . "api.mistral.ai")
    ("xai" . "api.x.ai")
    ;; Kinds stand here as well.
    ("openai-responses" . "api.openai.com"))
  "The hosts of the built-in providers that want a key.")

(defvar passepartout-start-hook nil
  "Functions called, without arguments, when the core has been started.")

;;;; Subscribing

(defun passepartout-subscribe (type name function)
  "Call FUNCTION for each message of TYPE that is called NAME.
TYPE is a keyword such as :event.  NAME is its :action or :sensor as a
keyword, or nil for every message of TYPE.  FUNCTION is called with
the payload and the meta plist.  Subscribing twice has no effect."
  (let* ((key (cons type name))
         (entry (assoc key passepartout-events--subscribers)))
    (unless entry
      (setq entry (list key))
      (push entry passepartout-events--subscribers))
    (unless (memq function (cdr entry))
      (setcdr entry (append (cdr entry) (list function))))))

(defun passepartout-unsubscribe (type name function)
  "Take back `passepartout-subscribe' of TYPE, NAME and FUNCTION."
  (let ((entry (assoc (cons type name) passepartout-events--subscribers)))
    (when entry
      (setcdr entry (delq function (cdr entry))))))

;;;; Writing

(defconst passepartout-events--foreign
  "[^\0-\ud7ff\ue000-\U0010ffff]"
  "Regular expression for characters that UTF-8 does not have.")

(defun passepartout-events--stand-in (character)
  "Return a string for CHARACTER that is as long, in bytes, in UTF-8.
CHARACTER is a raw byte, a surrogate, or a character beyond Unicode."
  (pcase (string-bytes (string character))
    (2 (string (logand character #xff)))
    (3 "\ufffd")
    (4 "\U000ffffd")
    (_ "\ufffd\u0080")))

(defun passepartout-events-foreign-p (text)
  "Return non-nil when there is something in TEXT that UTF-8 cannot hold.
The regular expression for all of that is not asked for every text:
Emacs goes through a million characters when it compiles it, and soon
forgets it where Org fontifies."
  (and (/= (length text) (string-bytes text))
       (let ((case-fold-search nil))
         (or (string-match-p "[\ud800-\udfff]" text)
             (unencodable-char-position 0 (length text) 'utf-8 nil text)))))

(defun passepartout-events-clean (text)
  "Return TEXT without properties and with nothing that UTF-8 cannot hold.
Its length in bytes stays what it is in a buffer."
  (let ((text (substring-no-properties text)))
    (unless (multibyte-string-p text)
      (setq text (string-to-multibyte text)))
    (if (passepartout-events-foreign-p text)
        (let ((case-fold-search nil))
          (replace-regexp-in-string
           passepartout-events--foreign
           (lambda (found) (passepartout-events--stand-in (aref found 0)))
           text t t))
      text)))

(defun passepartout-events-clean-p (text)
  "Return non-nil when `passepartout-events-clean' would only copy TEXT."
  (and (null (text-properties-at 0 text))
       (null (next-property-change 0 text))
       (if (multibyte-string-p text)
           (not (passepartout-events-foreign-p text))
         (not (string-match-p "[\200-\377]" text)))))

(defun passepartout-events--plain-p (value)
  "Return non-nil when every string in VALUE is clean."
  (while (and (consp value) (passepartout-events--plain-p (car value)))
    (setq value (cdr value)))
  (cond ((consp value) nil)
        ((stringp value) (passepartout-events-clean-p value))
        (t t)))

(defun passepartout-events--plain (value)
  "Return a copy of VALUE in which every string is clean."
  (cond ((stringp value) (passepartout-events-clean value))
        ((consp value)
         (let ((rest value) (plain nil))
           (while (consp rest)
             (push (passepartout-events--plain (pop rest)) plain))
           (let ((end (and rest (passepartout-events--plain rest))))
             (setq plain (nreverse plain))
             (if end (nconc plain end) plain))))
        (t value)))

(defun passepartout-events-encode (value)
  "Return VALUE, a list of strings, numbers, symbols and lists, as text."
  (let ((print-length nil) (print-level nil) (print-circle nil)
        (print-quoted nil) (print-gensym nil) (print-escape-newlines nil)
        (print-escape-control-characters nil) (print-escape-nonascii nil)
        (print-escape-multibyte nil) (print-charset-text-property nil)
        (print-continuous-numbering nil) (print-integers-as-characters nil)
        (float-output-format nil))
    ;; Nearly all that is sent is plain: a copy would be garbage at once.
    (prin1-to-string (if (passepartout-events--plain-p value)
                         value
                       (passepartout-events--plain value)))))

(defun passepartout-send (type payload &optional session)
  "Send a message of TYPE with PAYLOAD, a plist, in SESSION.
The core is started when it is not running."
  (passepartout-start)
  (passepartout-events--send type payload session))

(defun passepartout-events--send (type payload session)
  "Send a message of TYPE with PAYLOAD in SESSION to the running core.
To a core outside of this Emacs goes what may go there."
  (let* ((outgoing (passepartout-module-road :outgoing))
         (may (if outgoing (funcall outgoing payload session) payload)))
    (if (and (or (null may) (stringp may)) outgoing)
        (passepartout-events--kept payload may)
      (condition-case problem
          (passepartout-module-call
           :send
           (passepartout-events-encode
            `(:type ,type
              ,@(and session `(:meta (:session-id ,session)))
              :payload ,may)))
        (passepartout-error (passepartout-module-fail problem))))))

(defun passepartout-events--kept (payload why)
  "Answer for the core what is not sent: PAYLOAD, because of WHY.
Without WHY nobody is told."
  (let* ((number (plist-get payload :request))
         (function (gethash number passepartout-events--requests)))
    (remhash number passepartout-events--requests)
    (cond ((null why))
          (function (run-at-time 0 nil #'passepartout-events--call
                                 function (list (list :error why))))
          (t (user-error "%s" why)))))

(defun passepartout-send-event (sensor payload &optional session)
  "Send an event of SENSOR, a keyword, with PAYLOAD in SESSION."
  (passepartout-send :event `(:sensor ,sensor ,@payload) session))

(defun passepartout-request (action payload function &optional session)
  "Send a request of ACTION, a keyword, with PAYLOAD in SESSION.
FUNCTION, unless it is nil, is called with the payload of the response."
  ;; A start forgets the requests of the core before it.
  (passepartout-start)
  (let ((number (cl-incf passepartout-events--request-number)))
    (when function
      (puthash number function passepartout-events--requests))
    (passepartout-events--send :request
                               `(:action ,action :request ,number ,@payload)
                               session)
    number))

(defun passepartout-reply (request payload)
  "Answer REQUEST, the number of a request of the core, with PAYLOAD."
  (when (passepartout-running-p)
    (passepartout-events--send
     :response `(:action :editor-reply :request ,request ,@payload) nil)))

;;;; Long texts in slices

(defun passepartout-events--cut (text from)
  "Return how many characters of TEXT after FROM make one slice."
  (let ((count (min passepartout-events-text-limit (- (length text) from))))
    (while (> (if (= count (length text))
                  (string-bytes text)
                (string-bytes (substring text from (+ from count))))
              passepartout-events-text-limit)
      (setq count (/ (1+ count) 2)))
    count))

(defun passepartout-events-chain (number before text)
  "Return the hash of slice NUMBER of a text, which is TEXT.
BEFORE is the hash of the slice before it, or nil.  That of the last
slice names all of them, and none of the text is hashed twice."
  (secure-hash 'sha256
               (concat (format "%d %s\n" number (or before ""))
                       (encode-coding-string text 'utf-8-unix t))))

(defun passepartout-events-slices (text function)
  "Call FUNCTION with each slice of TEXT, in order.
A slice is a plist of its number :slice, its :text, and :more when
others follow or the :hash of all of them; when FUNCTION returns nil the
rest is dropped.  A few milliseconds' worth are handed over at once, the
rest after Emacs has had its turn, unless the running core has ended
meanwhile."
  (passepartout-events--slices text function '(0 0 nil)
                               passepartout-events--life))

(defun passepartout-events--slices (text function state life)
  "Go on with `passepartout-events-slices' of TEXT and FUNCTION.
STATE is (FROM NUMBER HASH): where the next slice begins, and number and
hash of the one before.  LIFE is the number of the core for which it is."
  (pcase-let ((`(,from ,number ,hash) state)
              (until (+ (float-time) passepartout-events--slice-seconds))
              (going t))
    (while going
      (let* ((end (+ from (passepartout-events--cut text from)))
             (slice (substring text from end))
             (more (< end (length text))))
        (setq number (1+ number)
              hash (passepartout-events-chain number hash slice)
              from end
              going (and (funcall function
                                  (if more
                                      (list :slice number :text slice :more t)
                                    (list :slice number :text slice
                                          :hash hash)))
                         more))
        (when (and going (> (float-time) until))
          (setq going nil)
          (run-at-time 0 nil #'passepartout-events--more-slices text function
                       (list from number hash) life))))))

(defun passepartout-events--more-slices (text function state life)
  "Go on with `passepartout-events--slices' of TEXT, FUNCTION, STATE and LIFE.
Another core would not know what it is a slice of."
  (when (eql life passepartout-events--life)
    (passepartout-thread-timed 'passepartout-events-slices
      (passepartout-events--slices text function state life))))

;;;; Reading

(defun passepartout-events--woken (_process _bytes)
  "Handle what the core has sent: at once, or soon while an answer streams in."
  (let ((wait (and passepartout-events--streamed
                   (- (+ passepartout-events--streamed
                         passepartout-events--stream-seconds)
                      (float-time)))))
    (if (and wait (< 0 wait))
        (unless (timerp passepartout-events--timer)
          (setq passepartout-events--timer
                (run-at-time (min wait passepartout-events--stream-seconds)
                             nil #'passepartout-events--drain)))
      (passepartout-events--drain))))

(defvar passepartout-events--match nil
  "The match data of who was interrupted.")

(defvar passepartout-events--cells (make-list 24 nil)
  "Cells for match data that nobody uses now; they grow where that is longer.")

(defmacro passepartout-events--keep-match (&rest body)
  "Evaluate BODY and restore the match data.
As `save-match-data' does, but that makes two markers for each group of
what Org searched for last, some kB, whenever the core says something."
  (declare (indent 0) (debug t))
  `(let ((passepartout-events--match
          (match-data t passepartout-events--cells))
         ;; Who interrupts BODY takes cells of its own.
         (passepartout-events--cells nil))
     (unwind-protect (progn ,@body)
       (set-match-data passepartout-events--match))))

(defun passepartout-events--drain ()
  "Handle what the core has sent, for a few milliseconds at most."
  (when (timerp passepartout-events--timer)
    (cancel-timer passepartout-events--timer))
  (setq passepartout-events--timer nil
        passepartout-events--streamed nil)
  (passepartout-thread-timed 'passepartout-events--drain
    (passepartout-events--keep-match (passepartout-events--take))))

(defun passepartout-events--take ()
  "Take messages from the core and handle them, until the slice is over."
  (let ((until (+ (float-time) passepartout-events--slice-seconds))
        (texts nil)
        (done nil))
    (while (and (not done) (passepartout-running-p))
      (setq texts (passepartout-module-call
                   :receive passepartout-events--receive-bytes))
      (if (null texts)
          (setq done t)
        (mapc #'passepartout-events--handle texts)
        (when (> (float-time) until)
          (setq done t)
          (setq passepartout-events--timer
                (run-at-time 0 nil #'passepartout-events--drain)))))))

(defun passepartout-events--handle (text)
  "Read TEXT, one message, and hand it to its subscribers."
  (let ((message (condition-case problem
                     (let ((read-circle nil))
                       (car (read-from-string text)))
                   (error
                    (passepartout-events--note
                     (format "A message of the core cannot be read: %s"
                             (error-message-string problem)))
                    nil))))
    (when (and (consp message) (keywordp (car message)))
      (passepartout-events--dispatch message))))

(defun passepartout-events--dispatch (message)
  "Hand MESSAGE, a plist, to its subscribers; contain their errors."
  (let* ((type (plist-get message :type))
         (payload (plist-get message :payload))
         (meta (plist-get message :meta))
         (name (or (plist-get payload :action) (plist-get payload :sensor)))
         (number (plist-get payload :request))
         (waiting (and (eq type :response) number
                       (gethash number passepartout-events--requests))))
    (when (eq type :stream-chunk)
      (setq passepartout-events--streamed (float-time)))
    (when waiting
      (remhash number passepartout-events--requests)
      (passepartout-events--call waiting (list payload)))
    (let ((arguments (list payload meta)))
      (dolist (function (passepartout-events--subscribed type name))
        (passepartout-events--call function arguments))
      (when name
        (dolist (function (passepartout-events--subscribed type nil))
          (passepartout-events--call function arguments))))))

(defun passepartout-events--subscribed (type name)
  "Return the functions that handle a message of TYPE that is called NAME."
  (let ((entries passepartout-events--subscribers))
    (while (and entries (not (and (eq type (caaar entries))
                                  (equal name (cdaar entries)))))
      (setq entries (cdr entries)))
    (cdar entries)))

(defun passepartout-events--call (function arguments)
  "Call FUNCTION with ARGUMENTS; note an error and contain it."
  (let ((from (float-time)))
    (condition-case problem
        (save-current-buffer (apply function arguments))
      (error
       (passepartout-events--note
        (format "%s failed: %s"
                (if (symbolp function) function "A handler")
                (passepartout-error-text problem)))))
    (passepartout-thread-part function from)))

(defvar passepartout-events--notes nil
  "Faults of the Lisp side, newest first, as (TIME . TEXT).")

(defun passepartout-events--note (text)
  "Keep TEXT, a fault of the Lisp side, for the log."
  (push (cons (current-time) text) passepartout-events--notes)
  (when (nthcdr 200 passepartout-events--notes)
    (setcdr (nthcdr 199 passepartout-events--notes) nil))
  (let ((inhibit-message t))
    (message "Passepartout: %s" text)))

;;;; Starting and stopping

(defun passepartout-running-p ()
  "Return non-nil when the core is running."
  (and passepartout-events--pipe
       (process-live-p passepartout-events--pipe)))

(defvar passepartout-events--org-read nil
  "What Org's settings were when the core took them last.")

(defvar passepartout-events--org-timer nil
  "The timer that looks at Org's settings again, if one is set.")

(defun passepartout-start ()
  "Start the core unless it is running."
  (if (passepartout-running-p)
      (passepartout-module-compare)
    (condition-case problem
        (passepartout-events--start)
      (passepartout-error (passepartout-module-fail problem)))))

(defun passepartout-events--start ()
  "Start the core."
  (passepartout-module-transport)
  ;; What is wrong in the settings is said before anything is begun.
  (let* ((settings (if (passepartout-module-road :tag)
                       ;; It has settings and keys of its own.
                       (copy-sequence "nil")
                     (passepartout-events-encode
                      (passepartout-events--settings))))
         (pipe (let ((process-adaptive-read-buffering nil))
                 (make-pipe-process
                  :name "passepartout"
                  :buffer nil
                  :noquery t
                  :coding 'no-conversion
                  :filter #'passepartout-events--woken
                  :sentinel #'ignore)))
         (started nil))
    (unwind-protect
        (progn
          (passepartout-module-call :start pipe settings)
          (setq started t))
      (clear-string settings)
      (unless started (delete-process pipe)))
    (setq passepartout-events--pipe pipe)
    (setq passepartout-events--org-read (passepartout-events--org-settings))
    (clrhash passepartout-events--requests)
    (add-hook 'kill-emacs-hook #'passepartout-stop)
    (passepartout-events--surfaces)
    (passepartout-events--hello)))

(defun passepartout-events--hello ()
  "Begin with a core that knows nothing of this Emacs yet."
  (cl-incf passepartout-events--life)
  (passepartout-events--send
   :request `(:action :hello :request ,(cl-incf
                                        passepartout-events--request-number)
              :version ,passepartout-version)
   nil)
  (run-hooks 'passepartout-start-hook))

(defun passepartout-events--core-lost (payload _meta)
  "Begin anew: the process that did the work has ended, as PAYLOAD says.
Who waits for an answer is told so, and so is the user."
  (let ((text (or (plist-get payload :text) "The core has ended."))
        (waiting (passepartout-events--waiting)))
    ;; First of all: what is sent before it is held back by the relay.
    (passepartout-events--hello)
    ;; This Emacs may do the work now, by what it was started with.
    (passepartout-events--send-org)
    (passepartout-events--disappoint waiting text)
    (passepartout-events--dispatch
     `(:type :status :payload (:state "stopped" :lost t :text ,text)))
    (passepartout-events--tell "warning" text)))

(defun passepartout-events--waiting ()
  "Return the functions that wait for a response; nothing waits any more."
  (let (waiting)
    (maphash (lambda (_number function) (push function waiting))
             passepartout-events--requests)
    (clrhash passepartout-events--requests)
    waiting))

(defun passepartout-events--disappoint (waiting text)
  "Tell the functions WAITING that no response comes, as TEXT says."
  (dolist (function waiting)
    (passepartout-events--call function (list (list :error text)))))

(passepartout-subscribe :event :core-lost #'passepartout-events--core-lost)

(defun passepartout-events--tell (level text)
  "Tell the user TEXT, in the echo area and as a line of the log of LEVEL."
  (passepartout-events--dispatch
   `(:type :log :payload (:level ,level
                          :at ,(format-time-string "%FT%TZ" nil t)
                          :text ,text)))
  (message "Passepartout: %s" text))

(defun passepartout-events--core-silent (payload _meta)
  "Say that the process that does the work does not answer, as PAYLOAD has it.
What was asked for waits: nothing is asked again, and nothing is given up."
  (passepartout-events--dispatch
   '(:type :status :payload (:state "not answering")))
  (passepartout-events--tell "warning"
                             (or (plist-get payload :text)
                                 "The core does not answer.")))

(defun passepartout-events--core-back (payload _meta)
  "Say that the process that does the work answers again, as PAYLOAD has it."
  (passepartout-request
   :status nil
   (lambda (status)
     (passepartout-events--dispatch `(:type :status :payload ,status))))
  (passepartout-events--tell "info"
                             (or (plist-get payload :text)
                                 "The core answers again.")))

(passepartout-subscribe :event :core-silent
                        #'passepartout-events--core-silent)
(passepartout-subscribe :event :core-back #'passepartout-events--core-back)

(defun passepartout-events--surfaces ()
  "Load the surfaces that answer the core or show what it does."
  (require 'passepartout-status)
  (require 'passepartout-act)
  (require 'passepartout-sense)
  (require 'passepartout-plan)
  (require 'passepartout-notify)
  (require 'passepartout-log))

;;;###autoload
(defun passepartout-stop ()
  "Stop the core; what it knows is saved."
  (interactive)
  (when passepartout-events--pipe
    (setq passepartout-events--streamed nil)
    (cl-incf passepartout-events--life)
    (unwind-protect
        (when (process-live-p passepartout-events--pipe)
          (passepartout-module-call :stop))
      (when (timerp passepartout-events--timer)
        (cancel-timer passepartout-events--timer))
      (setq passepartout-events--timer nil)
      (delete-process passepartout-events--pipe)
      (setq passepartout-events--pipe nil)
      (passepartout-events--dispatch
       '(:type :status :payload (:state "stopped"))))))

;;;###autoload
(defun passepartout-restart ()
  "Stop the core and start it again with the options as they are now."
  (interactive)
  ;; One that cannot start again is not stopped.
  (condition-case problem
      (passepartout-module-transport)
    (passepartout-error (passepartout-module-fail problem)))
  (passepartout-stop)
  (passepartout-start)
  (when (called-interactively-p 'interactive)
    (message "Passepartout has started again")))

;;;; Settings

(defun passepartout-events--settings ()
  "Return the settings of the core as a plist.
It holds keys: it is never printed or kept.  What a buffer sets for
itself does not count, because the core is one for all of them."
  (let ((cascade (default-value 'passepartout-provider-cascade))
        (store (default-value 'passepartout-store))
        (permissions (default-value 'passepartout-permissions))
        (providers (default-value 'passepartout-providers)))
    (append
     `(:directories
       ,(or (passepartout--directories)
            ;; The core would take those of an earlier start.
            (signal 'passepartout-start-error
                    '("all folders of notes are on another machine; name one \
of this one in passepartout-directories"))))
     (let ((elsewhere (and store
                           (passepartout-elsewhere store 'passepartout-store))))
       (cond (elsewhere
              (signal 'passepartout-start-error (list elsewhere)))
             (store `(:store ,(expand-file-name store)))))
     (let ((project (passepartout-events-project)))
       (and project `(:project ,project)))
     (and cascade `(:cascade ,cascade))
     (passepartout-events--cascades)
     (passepartout-events--selector)
     (passepartout-events--picture-models)
     (and permissions
          `(:permissions
            ,(mapcar (lambda (entry)
                       (cons (car entry) (format "%s" (cdr entry))))
                     permissions)))
     `(:private-tags
       ,(mapcar (lambda (entry) (cons (car entry) (symbol-name (cdr entry))))
                (passepartout-private-tiers)))
     `(:untrusted-folders
       ,(mapcar #'expand-file-name
                (default-value 'passepartout-untrusted-folders)))
     `(:trusted-remotes ,(default-value 'passepartout-trusted-remotes))
     `(:skills-directories
       ,(mapcar #'expand-file-name
                (seq-remove (lambda (folder)
                              (passepartout-elsewhere
                               folder 'passepartout-skills-directories))
                            (default-value 'passepartout-skills-directories))))
     (passepartout-events--servers)
     `(:allowed-hosts ,(default-value 'passepartout-allowed-hosts))
     (let ((listen (default-value 'passepartout-listen)))
       (and listen `(:listen ,listen)))
     (let ((hours (default-value 'passepartout-plan-hours)))
       (and (natnump hours) `(:plan-hours ,hours)))
     ;; While it is not switched off here the environment counts.
     (and (not (default-value 'passepartout-dry-run)) '(:dry-run nil))
     (and providers `(:providers ,providers))
     (passepartout-events--patience)
     (let ((consensus (default-value 'passepartout-consensus)))
       (and consensus
            `(:consensus ,(mapcar (lambda (entry)
                                    (cons (car entry)
                                          (format "%s" (cdr entry))))
                                  consensus))))
     (passepartout-events--caps)
     (passepartout-events--embedding)
     (let ((launcher (passepartout-module-launcher)))
       (and launcher `(:launcher ,launcher)))
     (let ((skills (expand-file-name "skills" passepartout-module--root)))
       (and (file-directory-p skills) `(:shipped-skills ,skills)))
     (let ((keys (append (passepartout-events--keys
                          (passepartout-events--provider-names))
                         (passepartout-events--embedding-key)
                         (passepartout-events--telegram-token))))
       (and keys `(:keys ,keys)))
     (let ((words (passepartout-events--todo-keywords)))
       (and words `(:todo-keywords ,words)))
     (let ((value (passepartout-events--inheritance)))
       (and value `(:property-inheritance ,value)))
     `(:environment ,(passepartout-events--environment)))))

(defun passepartout-events--servers ()
  "Return the MCP servers as a plist, with whole names of folders."
  (let ((servers (default-value 'passepartout-mcp-servers)))
    (and servers
         `(:mcp-servers
           ,(mapcar
             (lambda (server)
               ;; What is no list is named by the core as one without a name.
               (if (not (and (consp server) (proper-list-p server)))
                   (list nil)
                 (passepartout-events--server server)))
             (if (proper-list-p servers) servers (list nil)))))))

(defun passepartout-events--server (server)
  "Return SERVER, a list, with whole names of folders."
  (let ((said (copy-sequence (cdr server)))
        (whole (lambda (name)
                 (if (stringp name) (expand-file-name name) name))))
    (when (stringp (plist-get said :folder))
      (setq said (plist-put said :folder
                            (funcall whole (plist-get said :folder)))))
    (when (proper-list-p (plist-get said :read))
      (setq said (plist-put said :read
                            (mapcar whole (plist-get said :read)))))
    (cons (car server) said)))

(defun passepartout-events--cascades ()
  "Return the cascades of slots as a plist."
  (let ((cascades (default-value 'passepartout-cascades)))
    (and cascades `(:cascades ,cascades))))

(defun passepartout-events--picture-models ()
  "Return the models that take pictures, as you have said, as a plist."
  (let ((models (default-value 'passepartout-picture-models)))
    (and models `(:picture-models ,models))))

(defun passepartout-events--selector ()
  "Return whether a function of yours chooses providers, and your presets."
  `(:selector
    ,(and (functionp (default-value 'passepartout-select-model-function)) t)
    :presets ,(default-value 'passepartout-presets)))

(defun passepartout-events--selector-changed (_symbol _value operation where)
  "Tell the core whether a function chooses, when OPERATION sets one.
WHERE is the buffer that it is set in alone, if any."
  (when (and (eq operation 'set) (null where) (passepartout-running-p))
    ;; The variable does not have its new value yet.
    (run-at-time 0 nil #'passepartout-events--send-selector)))

(defun passepartout-events--send-selector ()
  "Tell a core that is running whether a function chooses providers."
  (when (passepartout-running-p)
    (passepartout-events-send-providers)))

(add-variable-watcher 'passepartout-select-model-function
                      #'passepartout-events--selector-changed)

(defun passepartout-events--patience ()
  "Return how long the core waits for providers, where you have said so.
Where you have not, the environment may."
  (let (settings)
    (dolist (entry '((passepartout-connect-timeout . :connect-timeout)
                     (passepartout-request-timeout . :request-timeout)
                     (passepartout-stall-timeout . :stall-timeout)
                     (passepartout-answer-timeout . :answer-timeout)
                     (passepartout-embedding-timeout . :embedding-timeout)
                     (passepartout-request-tries . :request-tries)
                     (passepartout-retry-wait . :retry-wait)
                     (passepartout-consensus-timeout . :consensus-timeout)
                     (passepartout-background-timeout
                      . :background-timeout)))
      (let ((value (default-value (car entry))))
        (when (and (natnump value)
                   (not (equal value (eval (car (get (car entry)
                                                     'standard-value))
                                           t))))
          (setq settings (append settings (list (cdr entry) value))))))
    settings))

(defun passepartout-events--caps ()
  "Return how much models may cost, where you have said so.
Where you have not, the environment may.  What is no number is sent as
it is: the core says so, and lets nothing pass that costs."
  (let (settings)
    (dolist (entry '((passepartout-session-budget . :session-budget)
                     (passepartout-day-budget . :day-budget)
                     (passepartout-background-budget . :background-budget)
                     (passepartout-unpriced-calls . :unpriced-calls)))
      (let ((value (default-value (car entry))))
        (when value
          (setq settings (append settings
                                 (list (cdr entry) (format "%s" value)))))))
    settings))

(defun passepartout-events--provider-names ()
  "Return the names of the providers that may be asked."
  (delete-dups
   (append (default-value 'passepartout-provider-cascade)
           (apply #'append
                  (mapcar #'cdr (default-value 'passepartout-cascades)))
           (mapcar #'car (default-value 'passepartout-providers))
           (mapcan (lambda (preset)
                     (mapcar (lambda (entry) (car (split-string entry "/")))
                             (split-string (or (plist-get (cdr preset) :model)
                                               ""))))
                   (default-value 'passepartout-presets))
           nil)))

(defun passepartout-events-send-providers (&optional names then)
  "Tell the running core of the providers as they are now.
The keys of NAMES go along as well.  Once it knows them, THEN is called
without arguments."
  (passepartout-request
   :provider-settings
   (let ((cascade (default-value 'passepartout-provider-cascade))
         (keys (passepartout-events--keys
                (delete-dups
                 (append (passepartout-events--provider-names) names nil)))))
     `(:providers ,(default-value 'passepartout-providers)
       ,@(and cascade `(:cascade ,cascade))
       ,@(passepartout-events--cascades)
       ,@(passepartout-events--selector)
       ,@(passepartout-events--picture-models)
       ,@(and keys `(:keys ,keys))))
   (lambda (payload)
     (let ((text (plist-get payload :error)))
       (cond (text (message "Passepartout: %s" text))
             (then (funcall then)))))))

(defun passepartout-events--environment ()
  "Return the variables of this Emacs's environment as an alist.
The module sees only those that Emacs was started with."
  (let ((known (make-hash-table :test #'equal)) variables)
    (dolist (entry process-environment)
      (let* ((end (string-search "=" entry))
             (name (substring entry 0 end)))
        ;; The first entry of a name counts; one without a value unsets it.
        (unless (gethash name known)
          (puthash name t known)
          (when end
            (push (cons name (substring entry (1+ end))) variables)))))
    (nreverse variables)))

(defun passepartout-events-project ()
  "Return the folder of the current project, or nil.
A core outside of this Emacs has a project of its own."
  (cond ((passepartout-module-road :tag) nil)
        (passepartout-project
         (unless (passepartout-elsewhere passepartout-project
                                         'passepartout-project)
           (expand-file-name passepartout-project)))
        ((file-remote-p default-directory) nil)
        (t (let ((project (project-current nil)))
             (and project
                  (directory-file-name
                   (expand-file-name (project-root project))))))))

(defun passepartout-events--todo-keywords ()
  "Return the value of `org-todo-keywords' as lists of words."
  (let (sequences)
    (dolist (entry (and (boundp 'org-todo-keywords)
                        (default-value 'org-todo-keywords)))
      (let ((words (delq nil
                         (mapcar
                          (lambda (word)
                            (and (stringp word)
                                 (replace-regexp-in-string
                                  "(.*)\\'" "" word)))
                          (if (consp entry) entry (list entry))))))
        (when words (push words sequences))))
    (nreverse sequences)))

(defun passepartout-events--inheritance ()
  "Return the value of `org-use-property-inheritance'; nil without Org."
  (and (boundp 'org-use-property-inheritance)
       (default-value 'org-use-property-inheritance)))

(defun passepartout-events--org-settings ()
  "Return what the core reads Org files by."
  (list (or (passepartout-events--todo-keywords) '(("TODO" "DONE")))
        (passepartout-events--inheritance)))

(defun passepartout-events--org-changed (_symbol _value operation where)
  "Look at Org's settings soon, when OPERATION sets one for all buffers.
WHERE is the buffer that it is set in alone, if any."
  (when (and (eq operation 'set) (null where) (passepartout-running-p)
             (not passepartout-events--org-timer))
    (setq passepartout-events--org-timer
          (run-with-idle-timer 1 nil #'passepartout-events--org-follow))))

(defun passepartout-events--org-follow ()
  "Tell the core of Org's settings when they are not those that it has."
  (setq passepartout-events--org-timer nil)
  (when (and (passepartout-running-p)
             (not (equal (passepartout-events--org-settings)
                         passepartout-events--org-read)))
    (passepartout-events--send-org)))

(defun passepartout-events--send-org ()
  "Tell the core of Org's settings; it reads memory anew by them meanwhile.
What the core did not take is told again when it is looked at next."
  (let ((settings (passepartout-events--org-settings)))
    (passepartout-request
     :org-settings
     `(:todo-keywords ,(car settings) :property-inheritance ,(cadr settings))
     (lambda (payload)
       (let ((text (or (plist-get payload :error) (plist-get payload :text))))
         (unless (plist-get payload :error)
           (setq passepartout-events--org-read settings))
         (when text (message "Passepartout: %s" text)))))))

(add-variable-watcher 'org-todo-keywords #'passepartout-events--org-changed)
(add-variable-watcher 'org-use-property-inheritance
                      #'passepartout-events--org-changed)

(defun passepartout-events--host (name)
  "Return the host of the provider NAME, or nil when it wants no key.
It is that of its own address, else that of a built-in provider with
this name, else that of its kind, as the core has it."
  (let* ((settings (cdr (assoc name (default-value 'passepartout-providers))))
         (url (plist-get settings :url)))
    (cond
     ((plist-get settings :local) nil)
     (url (passepartout-events--url-host url))
     ((cdr (assoc name passepartout-events--hosts)))
     ((member name '("ollama" "llamacpp")) nil)
     (t (cdr (assoc (plist-get settings :kind)
                    passepartout-events--hosts))))))

(defun passepartout-events--url-host (url)
  "Return the host of the address URL, or nil."
  (and (stringp url)
       (string-match "\\`[a-z]+://\\([^/:]+\\)" url)
       (match-string 1 url)))

(defun passepartout-events--keys (names)
  "Return the keys of the providers NAMES, as auth-source knows them.
Each is a list of the name, the key, and the host that it is for: the
core gives it to no other."
  (let (keys)
    (dolist (name names)
      (let* ((host (passepartout-events--host name))
             (key (and host (passepartout-events--key host))))
        (when key (push (list name key host) keys))))
    (nreverse keys)))

(defun passepartout-events--key (host)
  "Return the key for HOST, as auth-source knows it, or nil."
  (require 'auth-source)
  (or (auth-source-pick-first-password :host host :user "apikey")
      (auth-source-pick-first-password :host host)))

(defun passepartout-events--telegram-token ()
  "Return the token of the Telegram bot with its host, or nil."
  (let* ((host "api.telegram.org")
         (token (and (default-value 'passepartout-telegram)
                     (passepartout-events--key host))))
    (and token (list (list "telegram" token host)))))

(defun passepartout-events--embedding ()
  "Return the settings of what makes vectors as a plist."
  (let ((backend (default-value 'passepartout-embedding-backend))
        (model (default-value 'passepartout-embedding-model))
        (url (default-value 'passepartout-embedding-url)))
    (append (and backend `(:embedding-backend ,(format "%s" backend)))
            (and model `(:embedding-model ,model))
            (and url `(:embedding-url ,url)))))

(defun passepartout-events--embedding-key ()
  "Return the key of the server that makes vectors with its host, or nil.
Only a server of the user's own and OpenAI's want one."
  (let* ((url (default-value 'passepartout-embedding-url))
         (host (cond
                ((null (default-value 'passepartout-embedding-backend)) nil)
                ((null url)
                 (and (eq (default-value 'passepartout-embedding-backend)
                          'openai)
                      "api.openai.com"))
                (t (passepartout-events--url-host url))))
         (key (and host (passepartout-events--key host))))
    (and key `(("embedding" ,key ,host)))))

(provide 'passepartout-events)
;;; passepartout-events.el ends here
