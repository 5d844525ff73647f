;;; passepartout-question.el --- A question outside of a chat, and what goes along  -*- lexical-binding: t; -*-

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

;; A question that is asked from anywhere has a conversation of its own,
;; so that nothing of one leaks into another.  What goes along with it
;; is sent as a text that came along: models are told it as data, and it
;; counts as text from outside, whoever wrote it.  How private it is is
;; read from the place that it comes from, and the conversation is as
;; private from its first word on.
;;
;; This file sends and hears; what is done with the answer is up to the
;; two functions that a question is made with.  Nothing here waits.

;;; Code:

(require 'cl-lib)
(require 'org)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(require 'passepartout-chat-text)
(require 'passepartout-query-block)
(eval-when-compile (require 'subr-x))

(defvar org-src--beg-marker)
(defvar org-keyword-properties)
(defvar org-crypt-tag-matcher)
(defvar epa-file-name-regexp)
(defvar flymake-mode)
(declare-function flymake-diagnostics "flymake" (&optional beg end))
(declare-function flymake-diagnostic-text "flymake" (diag &optional parts))
(declare-function flymake-diagnostic-beg "flymake" (diag))
(declare-function flymake-diagnostic-end "flymake" (diag))

(defconst passepartout-question-most (* 2 passepartout-events-text-limit)
  "How many bytes of text go along with a question at most.")

;;;; What is asked, and how it stands

(cl-defstruct (passepartout-question
               (:constructor passepartout-question--make) (:copier nil))
  "A question outside of a chat."
  (session nil :documentation "The name of its conversation.")
  (text nil :documentation "What is asked.")
  (attached nil :documentation "What goes along, as the core is sent it.")
  (tier nil :documentation "How private that is: a tier, or nil.")
  (turn nil :documentation "The turn that answers, once there is one.")
  (state 'asked :documentation "One of `asked', `answering', `answered',
`parked', `interrupted' and `failed'.")
  (bytes 0 :documentation "How many bytes of an answer have arrived.")
  (said nil :documentation "The pieces of the answer, the newest first.")
  (end nil :documentation "What the end of its last turn reported.")
  (exact nil :documentation "The answer as its model wrote it, not inert,
and what is new in it and could run: (TEXT . PIECES), or nil.")
  (hear nil :documentation "Is called with the question and each piece.")
  (done nil :documentation "Is called with the question at each end."))

(defvar passepartout-question--open (make-hash-table :test #'equal)
  "The questions that are heard of, by the names of their conversations.")

(defun passepartout-question--new-session ()
  "Return a fresh name for the conversation of a question."
  (passepartout-abroad-session
   (format "ask-%s-%06x" (format-time-string "%Y%m%dT%H%M%S")
           (random #x1000000))))

(defun passepartout-question-ask (text hear done &rest more)
  "Ask TEXT; return the question.
HEAR is called with it and each piece of the answer, DONE with it when a
turn of it has ended.  MORE is a plist: :attached, what goes along, as
`passepartout-question-attach' returns it, :tier, how private that is,
:session, the conversation that the question goes on with, :exact,
the name of the file whose text the answer is to replace, when it is
wanted as its model writes it, and :markup, which is :org where the
answer is to stand in an Org buffer: Markdown becomes Org then, and else
the answer comes as it was written."
  (let ((bytes (string-bytes text)))
    (when (> bytes passepartout-events-text-limit)
      (user-error "Your question is %s long; at most %s can be sent"
                  (passepartout-question-size bytes)
                  (passepartout-question-size passepartout-events-text-limit))))
  (passepartout-start)
  (let* ((session (or (plist-get more :session)
                      (passepartout-question--new-session)))
         (question (passepartout-question--make
                    :session session :text text :hear hear :done done
                    :attached (plist-get more :attached)
                    :tier (plist-get more :tier))))
    (passepartout-send-event
     :user-input
     `(:text ,text
       ,@(and (plist-get more :markup) `(:markup ,(plist-get more :markup)))
       ,@(and (plist-get more :attached)
              `(:attached ,(plist-get more :attached)))
       ,@(and (plist-get more :exact)
              `(:exact ,(plist-get more :exact)))
       :private ,(passepartout-chat--tier-said (plist-get more :tier))
       :project ,(passepartout-events-project))
     session)
    (puthash session question passepartout-question--open)
    question))

(defun passepartout-question-answer (question)
  "Return what was answered to QUESTION up to now."
  (apply #'concat (reverse (passepartout-question-said question))))

(defun passepartout-question-going-p (question)
  "Return non-nil while an answer to QUESTION is awaited or arrives."
  (and (memq (passepartout-question-state question) '(asked answering)) t))

(defun passepartout-question-private (question)
  "Return how private QUESTION and its answer are: a tier, or nil."
  (passepartout-chat--strictest
   (list (passepartout-question-tier question)
         (pcase (plist-get (passepartout-question-end question) :private)
           ('nil nil) ("warn" 'warn) ("ask" 'ask) (_ 'block)))))

(defun passepartout-question-modelless-p (question)
  "Return non-nil when no language model took part in the answer to QUESTION."
  (member (plist-get (passepartout-question-end question) :provider)
          '(nil "recall")))

(defun passepartout-question-stop (question)
  "Stop the answer to QUESTION; what has arrived stays."
  (when (and (passepartout-question-going-p question) (passepartout-running-p))
    (passepartout-send-event :interrupt nil
                             (passepartout-question-session question))))

(defun passepartout-question-leave (question)
  "Hear nothing more of QUESTION; its conversation goes on elsewhere."
  (let ((session (passepartout-question-session question)))
    (when (eq question (gethash session passepartout-question--open))
      (remhash session passepartout-question--open))))

(defun passepartout-question-close (question)
  "End the conversation of QUESTION, and hear nothing more of it."
  (let ((session (passepartout-question-session question)))
    (when (eq question (gethash session passepartout-question--open))
      (remhash session passepartout-question--open)
      (when (passepartout-running-p)
        (passepartout-send-event :interrupt '(:closed t) session)))))

;;;; What arrives

(defun passepartout-question--find (payload meta)
  "Return the question that the turn of PAYLOAD answers, or nil.
META names the conversation."
  (let ((question (gethash (plist-get meta :session-id)
                           passepartout-question--open)))
    (and question
         (equal (plist-get payload :turn) (passepartout-question-turn question))
         question)))

(defun passepartout-question--started (payload meta)
  "Note that the turn in PAYLOAD has started in the conversation of META.
One that follows goes on from a plan that was decided about."
  (let ((question (gethash (plist-get meta :session-id)
                           passepartout-question--open)))
    (when (and question
               (or (plist-get payload :follows)
                   (eq (passepartout-question-state question) 'asked)))
      (when (passepartout-question-said question)
        (passepartout-question--hear question "\n\n"))
      (setf (passepartout-question-turn question) (plist-get payload :turn)
            (passepartout-question-state question) 'answering))))

(defun passepartout-question--hear (question text)
  "Add TEXT to the answer to QUESTION."
  (push text (passepartout-question-said question))
  (cl-incf (passepartout-question-bytes question) (string-bytes text))
  (funcall (passepartout-question-hear question) question text))

(defun passepartout-question--chunk (payload meta)
  "Add the text in PAYLOAD to the answer that it belongs to, as META says.
What a model thinks is no part of it."
  (let ((question (passepartout-question--find payload meta))
        (text (plist-get payload :text)))
    (when (and question text (not (string-empty-p text)))
      (passepartout-question--hear question text))))

(defun passepartout-question--done (payload meta)
  "End the turn in PAYLOAD for the question that it answers, as META says."
  (let ((question (passepartout-question--find payload meta)))
    (when question
      (passepartout-question--end question payload))))

(defun passepartout-question--end (question payload)
  "Let a turn of QUESTION have come to what PAYLOAD says."
  (setf (passepartout-question-end question) payload
        (passepartout-question-state question)
        (pcase (plist-get payload :status)
          ("answered" 'answered) ("parked" 'parked)
          ("interrupted" 'interrupted) (_ 'failed)))
  (when (stringp (plist-get payload :exact))
    (setf (passepartout-question-exact question)
          (cons (plist-get payload :exact) (plist-get payload :runs))))
  (funcall (passepartout-question-done question) question))

(defun passepartout-question--stopped (payload _meta)
  "End every question that waits when the core in PAYLOAD has stopped."
  (when (equal (plist-get payload :state) "stopped")
    (dolist (question (hash-table-values passepartout-question--open))
      (when (passepartout-question-going-p question)
        (passepartout-events--call
         #'passepartout-question--end
         (list question (list :status "interrupted"
                              :text (or (plist-get payload :text)
                                        "The core was stopped."))))))))

(passepartout-subscribe :event :turn-started #'passepartout-question--started)
(passepartout-subscribe :stream-chunk nil #'passepartout-question--chunk)
(passepartout-subscribe :response :turn-done #'passepartout-question--done)
(passepartout-subscribe :status nil #'passepartout-question--stopped)

;;;; How private a place is

(defun passepartout-question--shows-any-p ()
  "Return non-nil when notes of any kind may be shown in the current buffer.
Chats say themselves how private they are."
  (or (derived-mode-p 'org-agenda-mode 'passepartout-view-mode
                      'passepartout-answer-mode)
      (bound-and-true-p passepartout-rewrite--shown)
      (and (not (bound-and-true-p passepartout-chat-mode))
           (let ((case-fold-search t))
             (string-match-p "\\`\\*\\(?:passepartout\\|messages\\*\\)"
                             (buffer-name))))))

(defun passepartout-question--encrypted-p (file)
  "Return non-nil when FILE, a name, is that of an encrypted file.
What Emacs keeps beside it, such as a backup, counts as well."
  (let ((case-fold-search t))
    (or (string-match-p
         "\\.\\(?:gpg\\|asc\\|age\\)\\(?:~\\|\\.~[0-9]+~\\|#\\)?\\'" file)
        (and (bound-and-true-p epa-file-name-regexp)
             (string-match-p epa-file-name-regexp file)))))

(defun passepartout-question-tier-of (beg end)
  "Return how private what stands between BEG and END is: a tier, or nil.
A place of which that cannot be told, because notes of any kind may be
shown there, counts as the strictest."
  (let* ((base (or (buffer-base-buffer) (current-buffer)))
         (file (buffer-file-name base)))
    (cond
     ((or (passepartout-question--shows-any-p)
          (with-current-buffer base (passepartout-question--shows-any-p))
          ;; Who encrypts a file wants it read by nobody else.
          (and file (passepartout-question--encrypted-p file)))
      'block)
     ((bound-and-true-p org-src-mode)
      ;; The buffer of a source block, whose note says it.
      (let ((from (bound-and-true-p org-src--beg-marker)))
        (if (not (and (markerp from) (buffer-live-p (marker-buffer from))))
            'block
          (passepartout-chat--strictest
           (list (with-current-buffer (marker-buffer from)
                   (passepartout-question-tier-of from from))
                 (and (derived-mode-p 'org-mode)
                      (passepartout-question--tier-in-org beg end)))))))
     ((derived-mode-p 'org-mode)
      (passepartout-question--tier-in-org beg end))
     ;; A note that is looked at in another mode.
     ((and file
           (string-match-p "\\.org\\(?:_archive\\)?\\'" file)
           (not (file-remote-p file))
           (passepartout--in-memex-p file))
      'block))))

(defun passepartout-question--private-tags ()
  "Return `passepartout-privacy-tags' with the tags of what Org encrypts."
  (let ((tags (default-value 'passepartout-privacy-tags))
        (matcher (bound-and-true-p org-crypt-tag-matcher)))
    (if (listp tags)
        (append (or tags '("private"))
                (split-string (if (stringp matcher) matcher "crypt")
                              "[^[:alnum:]_@#%]+" t))
      tags)))

(defun passepartout-question--tier-in-org (beg end)
  "Return how private the notes between BEG and END are, in an Org buffer.
The whole file counts, the headings above, and those in between, with
all that the last of them says of itself."
  (org-with-wide-buffer
   (cl-letf (((default-value 'passepartout-privacy-tags)
              (passepartout-question--private-tags))
             (end (progn (goto-char (max beg (1- end)))
                         (outline-next-heading)
                         (max (point) end))))
     (goto-char beg)
     (passepartout-chat--strictest
      (list (passepartout-chat--whole-private-p)
            ;; What a setup file says of the whole file.
            (passepartout-chat--strictest
             (mapcar (lambda (property)
                       (and (member (upcase (car property))
                                    '("PRIVACY" "PP_PRIVACY"))
                            (passepartout-chat--tier-of-value
                             (car property) (or (cdr property) ""))))
                     (bound-and-true-p org-keyword-properties)))
            (passepartout-query-block--private-p)
            (passepartout-chat--private-in-p
             (progn (goto-char beg) (line-beginning-position)) end))))))

(defun passepartout-question-may-go-p (question beg end)
  "Return non-nil when the answer to QUESTION may stand between BEG and END.
You are asked where it draws on something that is more private than
this place."
  (let* ((tier (passepartout-question-private question))
         (here (passepartout-question-tier-of beg end)))
    (or (null tier)
        (eq here (passepartout-chat--strictest (list tier here)))
        (y-or-n-p (format "This draws on what is private, and %s is open; \
put it there all the same? " (buffer-name))))))

;;;; What goes along

(defun passepartout-question-size (bytes)
  "Return BYTES as people read a size."
  (if (< bytes 1000)
      (format "%d byte%s" bytes (if (= bytes 1) "" "s"))
    (format "%.1f kB" (/ bytes 1000.0))))

(defun passepartout-question-target (beg end what)
  "Return what stands between BEG and END as a target, called WHAT.
That is a plist of :beg, :end, :what, :bytes and :tier.  The first two
are markers, as the text may change while you are asked for more."
  (list :beg (copy-marker beg t) :end (copy-marker end) :what what
        :bytes (passepartout-question--bytes beg end)
        :tier (passepartout-question-tier-of beg end)))

(defun passepartout-question--bytes (beg end)
  "Return how many bytes stand between BEG and END."
  (save-restriction
    (widen)
    (- (position-bytes end) (position-bytes beg))))

(defun passepartout-question-check (target)
  "Leave with an error when TARGET may not go along any more as it was said.
Its text may have changed since."
  (let* ((beg (plist-get target :beg))
         (end (plist-get target :end))
         (said (plist-get target :tier)))
    (when (markerp beg)
      (unless (eq (marker-buffer beg) (current-buffer))
        (user-error "The text that was to go along is gone; ask again"))
      (when (> beg end)
        (user-error "The text that was to go along has changed; ask again")))
    (unless (eq said (passepartout-chat--strictest
                      (list said (passepartout-question-tier-of beg end))))
      (user-error "The text that was to go along has become more private; \
ask again"))))

(defun passepartout-question-said-of (target)
  "Return what TARGET is, with its size and how private it is, in a few words."
  (format "%s (%s%s)" (plist-get target :what)
          (passepartout-question-size (plist-get target :bytes))
          (if (plist-get target :tier) ", private" "")))

(defun passepartout-question-attach (target)
  "Return the text of TARGET as what goes along with a question.
It goes in pieces that a message can hold.  Leave with an error when it
is too much, or more private by now than TARGET says."
  (let ((beg (plist-get target :beg))
        (end (plist-get target :end)))
    (passepartout-question-check target)
    ;; Before it is copied, as a buffer may be very large.
    (passepartout-question--check-size (passepartout-question--bytes beg end))
    (save-restriction
      (widen)
      (passepartout-question-attach-text
       (format "%s of %s, line %d on"
               (plist-get target :what) (buffer-name)
               (save-excursion (goto-char beg) (line-number-at-pos)))
       (passepartout-events-clean
        (buffer-substring-no-properties beg end))))))

(defun passepartout-question--check-size (bytes)
  "Leave with an error when BYTES are more than can go along."
  (when (> bytes passepartout-question-most)
    (user-error "%s is too much to go along; at most %s can.  \
Mark a part of it as the region"
                (passepartout-question-size bytes)
                (passepartout-question-size passepartout-question-most))))

(defun passepartout-question-attach-text (name text)
  "Return TEXT, called NAME, as what goes along with a question."
  (let ((from 0) (pieces nil) (number 0)
        (name (passepartout-view-line name 120)))
    (passepartout-question--check-size (string-bytes text))
    (while (< from (length text))
      (let ((end (+ from (passepartout-events--cut text from))))
        (push (substring text from end) pieces)
        (setq from end)))
    (setq pieces (nreverse pieces))
    (mapcar (lambda (piece)
              (setq number (1+ number))
              (list :name (if (cdr pieces)
                              (format "%s, part %d of %d" name number
                                      (length pieces))
                            name)
                    :text piece))
            pieces)))

;;;; What is at point

(defun passepartout-question-region ()
  "Return the active region as a target, or nil."
  (and (use-region-p)
       (passepartout-question-target (region-beginning) (region-end)
                                     "the region")))

(defun passepartout-question-subtree ()
  "Return the subtree that point is in as a target, or nil."
  (and (derived-mode-p 'org-mode)
       (not (org-before-first-heading-p))
       (org-with-wide-buffer
        (org-back-to-heading t)
        (let ((beg (point))
              (title (passepartout-view-line
                      (or (nth 4 (org-heading-components)) "") 40)))
          (org-end-of-subtree t t)
          (passepartout-question-target
           beg (point) (format "the subtree “%s”" title))))))

(defun passepartout-question-defun ()
  "Return the definition that point is in as a target, or nil."
  (let ((bounds (and (derived-mode-p 'prog-mode)
                     (ignore-errors (bounds-of-thing-at-point 'defun)))))
    (and bounds
         (<= (car bounds) (point) (cdr bounds))
         (passepartout-question-target (car bounds) (cdr bounds)
                                       "this definition"))))

(defun passepartout-question-paragraph ()
  "Return the paragraph that point is in as a target, or nil."
  (let ((bounds (bounds-of-thing-at-point 'paragraph)))
    (and bounds
         (save-excursion
           (goto-char (car bounds))
           (skip-chars-forward "\n" (cdr bounds))
           (and (< (point) (cdr bounds))
                (passepartout-question-target (point) (cdr bounds)
                                              "this paragraph"))))))

(defun passepartout-question-buffer ()
  "Return what of the current buffer is accessible as a target."
  (passepartout-question-target
   (point-min) (point-max)
   (if (buffer-narrowed-p) "what is in view" "the buffer")))

(defun passepartout-question-symbol ()
  "Return the symbol at point as a target, with the lines around it, or nil."
  (let ((name (thing-at-point 'symbol t)))
    (and name
         (passepartout-question--around
          (format "“%s” and the lines around it"
                  (passepartout-view-line name 40))))))

(defun passepartout-question--around (what)
  "Return a few lines around point as a target, called WHAT."
  (passepartout-question-target
   (line-beginning-position -9) (line-end-position 11) what))

(defun passepartout-question-error ()
  "Return the error at point as (TEXT . TARGET), or nil.
That is one that Flymake reports, or a line of a compilation."
  (let ((diagnostic (and (bound-and-true-p flymake-mode)
                         (car (flymake-diagnostics (point))))))
    (cond
     (diagnostic
      (cons (passepartout-view-line (flymake-diagnostic-text diagnostic) 500)
            (passepartout-question--around "the lines around it")))
     ((and (derived-mode-p 'compilation-mode)
           (get-text-property (line-beginning-position)
                              'compilation-message))
      (cons (passepartout-view-line
             (buffer-substring-no-properties (line-beginning-position)
                                             (line-end-position))
             500)
            (passepartout-question--around "the lines around it"))))))

(provide 'passepartout-question)
;;; passepartout-question.el ends here
