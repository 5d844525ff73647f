;;; passepartout-rewrite.el --- Have a text rewritten, and accept it or not  -*- lexical-binding: t; -*-

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

;; `passepartout-rewrite' asks how the region, or the subtree, definition
;; or paragraph at point, is to be rewritten.  The new text streams into
;; a window beside it; the buffer stays as it is until you accept, and
;; then changes in one step to undo.  When the text has changed
;; meanwhile, accepting is refused and the three texts are shown.
;;
;; While a rewrite is there, its text is marked and has keys of its own;
;; several can be under way in one buffer.  What a model says is text
;; alone here: it is asked to use no tools, and if it does, what it
;; proposes waits as a flight plan like anything else.

;;; Code:

(require 'transient)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(require 'passepartout-act)
(require 'passepartout-question)
(require 'passepartout-answer)
(require 'passepartout-rewrite-text)
(require 'passepartout-rewrite-show)
(require 'passepartout-rewrite-differ)
(eval-when-compile (require 'subr-x))

(defvar passepartout-rewrite-history nil
  "How you had texts rewritten.")

;;;; Asking

(defun passepartout-rewrite--target ()
  "Return what is to be rewritten at point, as a target."
  (or (passepartout-question-region)
      (passepartout-question-subtree)
      (passepartout-question-defun)
      (passepartout-question-paragraph)
      (user-error "There is no text at point; mark it as the region")))

(defun passepartout-rewrite--check (target)
  "Leave with an error when TARGET cannot be rewritten."
  (cond
   (buffer-read-only
    (user-error "%s is read-only; C-x C-q changes that" (buffer-name)))
   ((= 0 (plist-get target :bytes)) (user-error "There is nothing to rewrite"))
   ((> (plist-get target :bytes) passepartout-question-most)
    (user-error "%s is too much to rewrite at once; at most %s can be"
                (passepartout-question-size (plist-get target :bytes))
                (passepartout-question-size passepartout-question-most)))
   ((save-restriction
      (widen)
      (passepartout-rewrite--in (plist-get target :beg) (plist-get target :end)))
    (user-error "Some of this is being rewritten already; accept or reject \
that first"))))

(defun passepartout-rewrite--read (prompt)
  "Ask with PROMPT how a text is to be rewritten."
  (let ((wanted (string-trim
                 ;; A token of a plan counts once, and is kept nowhere.
                 (let ((history-add-new-input nil))
                   (read-string prompt nil 'passepartout-rewrite-history)))))
    (when (string-empty-p wanted)
      (user-error "Nothing was asked for"))
    (when (string-match-p "\\`/\\(?:approve\\|deny\\)\\_>" wanted)
      (user-error "Decide in M-x passepartout-flight-plans, or in a chat"))
    (when history-add-new-input
      (add-to-history 'passepartout-rewrite-history wanted))
    wanted))

(defun passepartout-rewrite--wanted-here ()
  "Ask how the text at point is to be rewritten; return the answer and the text.
While you write, other text may come before it; its own may not change."
  (let* ((target (passepartout-rewrite--target))
         (buffer (current-buffer))
         (beg (copy-marker (plist-get target :beg)))
         (end (copy-marker (plist-get target :end) t))
         (text (lambda ()
                 (and (buffer-live-p buffer)
                      (with-current-buffer buffer
                        (save-restriction
                          (widen)
                          (buffer-substring-no-properties beg end))))))
         (before (progn (passepartout-rewrite--check target)
                        (funcall text)))
         (wanted (passepartout-rewrite--read
                  (format "Rewrite %s: "
                          (passepartout-question-said-of target)))))
    (unless (and (eq buffer (current-buffer))
                 (equal before (funcall text)))
      (user-error "The text has changed while you wrote; ask again, M-p has what you wrote"))
    (prog1 (list wanted
                 ;; How private it is may have changed with what is around.
                 (save-restriction
                   (widen)
                   (passepartout-question-target (marker-position beg)
                                                 (marker-position end)
                                                 (plist-get target :what))))
      (set-marker beg nil)
      (set-marker end nil))))

(defun passepartout-rewrite--message (wanted mode)
  "Return what a model is told that is to rewrite a text of MODE as WANTED."
  (format "Rewrite the text that came along: %s

Answer with the new text alone: no word before or behind it, and no fence \
around it.  Leave alone what this does not ask to change, and keep line \
breaks, indentation and markup as they are (%s).  Use no tools."
          wanted mode))

(defun passepartout-rewrite--file ()
  "Return the name of the file of the current buffer, as the core is told it.
It says what of a new text could run here."
  (let ((name (passepartout-events-clean
               (if buffer-file-name
                   (file-name-nondirectory buffer-file-name)
                 (buffer-name)))))
    (if (and (derived-mode-p 'org-mode)
             (not (string-match-p "\\.org\\(?:_archive\\)?\\'" name)))
        (concat name ".org")
      name)))

(defun passepartout-rewrite--ask (rewrite wanted)
  "Have the text of REWRITE, or what it was rewritten to, rewritten as WANTED."
  (let* ((buffer (passepartout-rewrite--buffer rewrite))
         (before (passepartout-rewrite--question rewrite))
         (mode (with-current-buffer buffer
                 (string-remove-suffix "-mode" (symbol-name major-mode)))))
    (with-current-buffer buffer
      (setf (passepartout-rewrite--question rewrite)
            (passepartout-question-ask
             (passepartout-rewrite--message wanted mode)
             (lambda (question text)
               (passepartout-rewrite--hear rewrite question text))
             (lambda (question) (passepartout-rewrite--done rewrite question))
             :session (and before (passepartout-question-session before))
             :exact (passepartout-rewrite--file)
             :tier (passepartout-chat--strictest
                    (list (passepartout-rewrite--tier rewrite)
                          (and before (passepartout-question-private before))))
             :attached (passepartout-question-attach-text
                        (format "the text to rewrite, of %s" (buffer-name))
                        (passepartout-events-clean
                         (or (passepartout-rewrite--result rewrite)
                             (passepartout-rewrite--original rewrite)))))))
    (push wanted (passepartout-rewrite--wanted rewrite))
    (setf (passepartout-rewrite--result rewrite) nil
          (passepartout-rewrite--remark rewrite) nil)
    (passepartout-rewrite--put-away rewrite)
    (if (buffer-live-p (passepartout-rewrite--preview rewrite))
        (passepartout-rewrite--draw rewrite)
      (passepartout-rewrite--say rewrite))))

(defun passepartout-rewrite--hear (rewrite question text)
  "Show TEXT, which arrived of the answer to QUESTION, beside REWRITE."
  (when (eq question (passepartout-rewrite--question rewrite))
    (let ((preview (passepartout-rewrite--preview rewrite)))
      (when (buffer-live-p preview)
        (with-current-buffer preview
          (let ((inhibit-read-only t))
            (save-excursion
              (goto-char (point-max))
              (insert text))
            (set-buffer-modified-p nil)))))
    (passepartout-rewrite--say rewrite)))

(defun passepartout-rewrite--done (rewrite question)
  "Note what REWRITE has come to, as the answer to QUESTION has ended.
What is shown, and put into the buffer when you accept, is made of the
answer as the model wrote it: the core sends that to nobody who did not
ask for it, and it goes nowhere else."
  (when (eq question (passepartout-rewrite--question rewrite))
    (let ((exact (car (passepartout-question-exact question))))
      (passepartout-rewrite--note-runs rewrite question)
      (passepartout-rewrite--end
       rewrite question
       (and exact
            (not (string-blank-p exact))
            (passepartout-rewrite--buffer rewrite)
            (memq (passepartout-question-state question) '(answered parked))
            (not (passepartout-question-modelless-p question))
            (passepartout-rewrite-text-of
             exact (passepartout-rewrite--original rewrite)))))))

(defun passepartout-rewrite--note-runs (rewrite question)
  "Keep for REWRITE what is new and could run in the answer to QUESTION.
The core compares with what went along, which may have been an earlier
new text: what that one brought and is still there stays."
  (pcase-let ((`(,exact . ,pieces) (passepartout-question-exact question)))
    (setf (passepartout-rewrite--runs rewrite)
          (delete-dups
           (append (seq-filter (lambda (piece)
                                 (and exact (string-search piece exact)))
                               (passepartout-rewrite--runs rewrite))
                   pieces)))))

(defun passepartout-rewrite--end (rewrite question found)
  "Let REWRITE have come to FOUND, the new text, or nil when QUESTION gave none."
  (let ((buffer (passepartout-rewrite--buffer rewrite)))
    (setf (passepartout-rewrite--result rewrite) (car found)
          (passepartout-rewrite--remark rewrite)
          (passepartout-rewrite--remarks rewrite question found))
    (passepartout-rewrite--draw rewrite)
    (passepartout-rewrite--say rewrite)
    (when buffer
      (message "%s: %s" (buffer-name buffer)
               (if found
                   "rewritten; nothing is changed before you accept"
                 (passepartout-rewrite--remark rewrite))))))

(defun passepartout-rewrite--unseen (text original)
  "Say that TEXT has characters that cannot be seen and ORIGINAL has not."
  (let ((new (seq-difference (passepartout-view-hidden-in text)
                             (passepartout-view-hidden-in original))))
    (and new
         (format "It has characters that cannot be seen, shown as boxes: %s."
                 (mapconcat (lambda (character) (format "U+%04X" character))
                            (seq-take new 5) ", ")))))

(defun passepartout-rewrite--runs-said (pieces)
  "Say that PIECES, which are new in a text, could run where it would stand."
  (and pieces
       (format "New in it, and could run: %s."
               (mapconcat (lambda (piece)
                            (format "“%s”" (passepartout-view-line
                                            (string-trim piece) 60)))
                          (seq-take pieces 3) ", "))))

(defun passepartout-rewrite--remarks (rewrite question found)
  "Return what is to be known of REWRITE at the end of QUESTION, or nil.
FOUND is the text that was found in its answer."
  (let* ((original (passepartout-rewrite--original rewrite))
         (runs (passepartout-rewrite--runs rewrite))
         (plans (plist-get (passepartout-question-end question) :plans))
         (end (passepartout-question-end question))
         (state (passepartout-question-state question))
         (notes
          (list
           (and plans
                (format "It also proposed %s: M-x passepartout-flight-plans."
                        (if (cdr plans)
                            (format "%d acts, which wait" (length plans))
                          "an act, which waits")))
           (and (cdr found) "Words around the text were left out.")
           (and found (passepartout-rewrite--unseen (car found) original))
           (and found (passepartout-rewrite--runs-said runs))
           (and (not found)
                (cond
                 ((plist-get end :text)
                  (passepartout-view-line (plist-get end :text) 300))
                 ((eq state 'interrupted) "It was stopped.")
                 ((eq state 'failed) "It failed; M-x passepartout-log says why.")
                 ((passepartout-question-modelless-p question)
                  "No language model took part; M-x passepartout-models says \
who can be asked.")
                 ((passepartout-question-said question)
                  "It did not come whole, or is too long; ask again.")
                 (t "The model gave no text."))))))
    (and (seq-some #'identity notes)
         (string-join (delq nil notes) "  "))))

;;;; Commands

;;;###autoload
(defun passepartout-rewrite (wanted target)
  "Have TARGET rewritten as WANTED, and decide about the new text then.
That is the region when it is active, else the subtree, definition or
paragraph at point.  Nothing is changed before you accept.  On a text
that is being rewritten, show what can be done with it."
  (interactive
   (if (and (not (use-region-p))
            (passepartout-rewrite--at-point))
       (list nil nil)
     (passepartout-rewrite--wanted-here)))
  (if (null target)
      (passepartout-rewrite-menu)
    (passepartout-rewrite--check target)
    (let ((rewrite (passepartout-rewrite--make
                    :tier (plist-get target :tier)
                    :original (save-restriction
                                (widen)
                                (buffer-substring-no-properties
                                 (plist-get target :beg)
                                 (plist-get target :end)))))
          (asked nil))
      (save-restriction
        (widen)
        (passepartout-rewrite--mark rewrite (plist-get target :beg)
                                    (plist-get target :end)))
      (unwind-protect
          (progn (passepartout-rewrite--ask rewrite wanted)
                 (setq asked t))
        (unless asked (passepartout-rewrite--forget rewrite)))
      (deactivate-mark)
      (display-buffer (passepartout-rewrite--preview-of rewrite)
                      passepartout-rewrite-display)
      rewrite)))

(defun passepartout-rewrite-accept ()
  "Put the new text in the place of the one that was rewritten.
It is one step to undo.  When the text has changed meanwhile nothing is
changed, and the three texts are shown."
  (interactive)
  (let* ((rewrite (passepartout-rewrite--ready))
         (overlay (passepartout-rewrite--overlay rewrite))
         (result (passepartout-rewrite--result rewrite)))
    (unless (equal (passepartout-rewrite--now rewrite)
                   (passepartout-rewrite--original rewrite))
      (passepartout-rewrite--three-way rewrite)
      (user-error "The text has changed since it was asked for; nothing was \
changed.  C-c C-k rejects, C-c C-r has the new text rewritten"))
    (with-current-buffer (overlay-buffer overlay)
      (save-restriction
        (widen)
        (unless (passepartout-question-may-go-p
                 (passepartout-rewrite--question rewrite)
                 (overlay-start overlay) (overlay-end overlay))
          (user-error "Not accepted"))
        (let ((runs (passepartout-rewrite--runs rewrite)))
          (unless (or (null runs)
                      (y-or-n-p (format "%s  Accept it? "
                                        (passepartout-rewrite--runs-said
                                         runs))))
            (user-error "Not accepted; C-c C-r has it rewritten further")))
        (let ((problem
               (or (passepartout-act--refusal (buffer-chars-modified-tick))
                   (passepartout-act--apply
                    (list (list (1- (position-bytes (overlay-start overlay)))
                                (1- (position-bytes (overlay-end overlay)))
                                result))))))
          (when problem (user-error "Not accepted: %s" problem))))
      (passepartout-rewrite--forget rewrite)
      (message "Accepted; C-/ takes it back"))))

(defun passepartout-rewrite-reject ()
  "Leave the text as it is, and forget the new one.
While the new text arrives, stop it; if it does not stop, the next time
forgets it."
  (interactive)
  (let* ((rewrite (passepartout-rewrite--here))
         (question (passepartout-rewrite--question rewrite)))
    (if (and (passepartout-question-going-p question)
             (passepartout-running-p)
             (not (eq question (passepartout-rewrite--stopped rewrite))))
        (progn
          (setf (passepartout-rewrite--stopped rewrite) question)
          (passepartout-question-stop question)
          (message "It is being stopped; once more forgets it"))
      (passepartout-rewrite--forget rewrite)
      (message "Rejected; the text is as it was"))))

(defun passepartout-rewrite-iterate (wanted)
  "Have the new text rewritten further, as WANTED.
Where there is none yet, the text itself is rewritten."
  (interactive
   (progn
     (when (eq (passepartout-rewrite--state (passepartout-rewrite--here)) 'going)
       (user-error "The new text still arrives"))
     (list (passepartout-rewrite--read "Rewrite the new text: "))))
  (passepartout-rewrite--ask (passepartout-rewrite--here) wanted))

(defun passepartout-rewrite-show ()
  "Show the new text beside the text."
  (interactive)
  (display-buffer (passepartout-rewrite--preview-of (passepartout-rewrite--here))
                  passepartout-rewrite-display))

(defun passepartout-rewrite-visit ()
  "Go to the text that is rewritten here."
  (interactive)
  (let ((rewrite (passepartout-rewrite--here)))
    (pop-to-buffer (or (passepartout-rewrite--buffer rewrite)
                       (user-error "The buffer of this text is gone")))
    (goto-char (overlay-start (passepartout-rewrite--overlay rewrite)))))

(transient-define-prefix passepartout-rewrite-menu ()
  "Say what is to become of the new text."
  ["The new text"
   ("a" "accept" passepartout-rewrite-accept)
   ("d" "difference" passepartout-rewrite-diff)
   ("e" "ediff" passepartout-rewrite-ediff)
   ("i" "rewrite further" passepartout-rewrite-iterate)
   ("v" "show it beside" passepartout-rewrite-show)
   ("k" "reject, or stop" passepartout-rewrite-reject)])

(provide 'passepartout-rewrite)
;;; passepartout-rewrite.el ends here
