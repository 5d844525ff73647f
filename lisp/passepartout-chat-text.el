;;; passepartout-chat-text.el --- What a chat says, and how it is folded  -*- lexical-binding: t; -*-

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

;; A chat is an Org file; this file reads it and hides in it what is
;; only for machines.  It sends nothing and changes no text.

;;; Code:

(require 'cl-lib)
(require 'org)
(require 'passepartout)
(require 'passepartout-chat-along)
(require 'passepartout-chat-think)
(require 'passepartout-thread)
(require 'seq)
(require 'subr-x)

(declare-function org-element-type "ext:org-element" (element))
(declare-function org-fold-region "ext:org-fold"
                  (from to flag &optional spec))
(declare-function org-flag-region "org-compat" (from to flag spec))
(declare-function passepartout-view-line "passepartout-view"
                  (text &optional width))

(defconst passepartout-chat--history-bytes 32768
  "How many bytes of earlier turns are sent with a question.")

;;;; The text of a chat

(defun passepartout-chat--session ()
  "Return the name of the conversation of this buffer, or nil."
  (org-with-wide-buffer
   (goto-char (point-min))
   (let ((case-fold-search t))
     (when (re-search-forward "^:PP_CHAT:[ \t]+\\([^ \t\n]+\\)"
                              (min (point-max) 2000) t)
       (match-string-no-properties 1)))))

(defun passepartout-chat--role ()
  "Return the role of the heading at point as a string, or nil."
  (save-excursion
    (forward-line 1)
    (when (looking-at-p org-property-drawer-re)
      (let ((end (save-excursion
                   (re-search-forward "^[ \t]*:END:" nil t)))
            (case-fold-search t))
        (when (re-search-forward "^[ \t]*:PP_ROLE:[ \t]+\\([a-z]+\\)" end t)
          (match-string-no-properties 1))))))

(defun passepartout-chat--level ()
  "Return the level of the heading that point is at."
  (save-excursion (skip-chars-forward "*")))

(defun passepartout-chat--heading-up-to (level)
  "Return a regular expression for a heading of at most LEVEL."
  (pcase level
    ;; What is sought most is found fastest so.
    (1 "^\\* ")
    (2 "^\\*\\*? ")
    (_ (format "^\\*\\{1,%d\\} " level))))

(defun passepartout-chat--question-p ()
  "Return non-nil when the heading at point is that of a question.
That is one of the first level, or one right below an answer: the
beginning of a branch."
  (let ((level (passepartout-chat--level)))
    (or (= level 1)
        (and (= 1 (% level 2))
             (save-excursion
               (and (re-search-backward
                     (passepartout-chat--heading-up-to (1- level)) nil t)
                    (= (passepartout-chat--level) (1- level))
                    (passepartout-chat--answer-p)))))))

(defun passepartout-chat--to-turn ()
  "Go to the heading of the turn that point is in; nil when there is none.
A branch has turns of its own, below the answer that it begins at."
  (end-of-line)
  (let ((found (re-search-backward "^\\*+ " nil t)))
    (while (and found (not (passepartout-chat--question-p)))
      (setq found (re-search-backward
                   (passepartout-chat--heading-up-to
                    (max 1 (1- (passepartout-chat--level))))
                   nil t)))
    (and found (point))))

(defun passepartout-chat--to-main-turn ()
  "Go to the heading of the turn of the first level that point is in, or nil."
  (end-of-line)
  (when (re-search-backward "^\\* " nil t)
    (point)))

(defun passepartout-chat--turn-end ()
  "Return the end of the turn whose heading point is at."
  (let ((regexp (passepartout-chat--heading-up-to
                 (max 1 (passepartout-chat--level)))))
    (save-excursion
      (forward-line 1)
      (if (re-search-forward regexp nil t)
          (match-beginning 0)
        (point-max)))))

(defun passepartout-chat--body-start ()
  "Return where the text begins below the heading at point."
  (save-excursion
    (forward-line 1)
    (when (looking-at org-property-drawer-re)
      (goto-char (match-end 0))
      (forward-line 1))
    (point)))

(defun passepartout-chat--message (&optional over)
  "Return what the turn whose heading point is at asks.
OVER says that it is over: then it is told which pictures it had."
  (let ((title (save-excursion
                 (skip-chars-forward "*")
                 (forward-char 1)
                 (buffer-substring-no-properties
                  (point) (line-end-position))))
        (end (save-excursion
               (let ((end (passepartout-chat--turn-end)))
                 (if (passepartout-chat--find-answer end)
                     (match-beginning 0)
                   end))))
        (start (passepartout-chat--body-start)))
    (string-trim
     (concat title "\n"
             (and (< start end)
                  (passepartout-chat--without-along
                   (let ((text (buffer-substring-no-properties start end)))
                     (if over
                         (passepartout-chat--told-pictures text)
                       text))))))))

(defun passepartout-chat--answer-p ()
  "Return non-nil when the heading at point is that of an answer.
It may be one that the chat did not go on from."
  (member (passepartout-chat--role) '("assistant" "aside")))

(defun passepartout-chat--in-answer-p ()
  "Return non-nil when point is in an answer."
  (org-with-wide-buffer
   (end-of-line)
   (and (re-search-backward "^\\*+ " nil t)
        (passepartout-chat--answer-p))))

(defun passepartout-chat--answer-end ()
  "Return the end of the answer whose heading point is at."
  (save-excursion
    (forward-line 1)
    ;; A branch that begins at the answer is no part of it.
    (if (re-search-forward "^\\*+ " nil t)
        (goto-char (match-beginning 0))
      (goto-char (point-max)))
    (skip-chars-backward " \t\n")
    (point)))

(defun passepartout-chat--plain (text)
  "Return the question TEXT without the command that asks several models."
  (if (string-match
       "\\`[ \t\n]*/\\(?:consensus\\|fork\\)[ \t\n]+[0-9]+[ \t\n]+" text)
      (substring text (match-end 0))
    text))

(defun passepartout-chat--find-answer (end)
  "Search forward, up to END, for the heading of an answer.
It is one to the question that point is in.  The match data then has its
beginning; point is after the heading."
  (let ((found nil)
        (regexp (format "^\\*\\{%d\\} "
                        (save-excursion
                          (if (passepartout-chat--to-turn)
                              (1+ (passepartout-chat--level))
                            2)))))
    (while (and (not found) (re-search-forward regexp end t))
      (when (save-excursion
              (save-match-data
                (beginning-of-line)
                (passepartout-chat--answer-p)))
        (setq found t)))
    found))

(defconst passepartout-chat--refused-mark "- Refused :: "
  "What a line about something that was refused begins with.")

(defun passepartout-chat--answer-text (start end limit)
  "Return what the model said in the answer between START and END.
That is as much as there is between START and LIMIT at most, without
what it thought, without the drawer of the answer and without the lines
above it about what was refused."
  (save-excursion
    (goto-char start)
    (let* ((from (passepartout-chat--skip-thoughts end))
           (limit (+ limit (- from start)))
           (drawer (progn
                     (goto-char end)
                     (and (re-search-backward "^:PASSEPARTOUT:[ \t]*$" from t)
                          (passepartout-chat--before-refused from)))))
      (string-trim
       (passepartout-chat--without-thoughts
        (buffer-substring-no-properties from (min (or drawer end) limit)))))))

(defun passepartout-chat--before-refused (start)
  "Return where, in the answer from START on, what was refused begins.
Point is at the drawer of the answer, which has the number of these
lines.  They are no words of the model: it was told of them when it was
refused."
  (save-excursion
    (let ((count (if (save-excursion
                       (re-search-forward "^- refused :: \\([0-9]+\\)$"
                                          (save-excursion
                                            (re-search-forward "^:END:" nil t))
                                          t))
                     (string-to-number (match-string 1))
                   0)))
      (skip-chars-backward " \t\n" start)
      (while (and (> count 0)
                  (save-excursion
                    (forward-line 0)
                    (looking-at-p (regexp-quote
                                   passepartout-chat--refused-mark))))
        (setq count (1- count))
        (forward-line 0)
        (skip-chars-backward " \t\n" start))
      (max start (point)))))

(defun passepartout-chat--history ()
  "Return what was said before the turn that point is at, the oldest first."
  (car (passepartout-chat--said-before)))

(defun passepartout-chat--said-before ()
  "Return what was said before the turn that point is at, and from where on.
It is a cons of what was said, the oldest first, and of the beginning of
the oldest turn in it, or of point when nothing is.
They are plists of :role, :text and :private, and no more turns than
fit; one that is longer than that alone says that its end is left out.
What the chat marks as private is said to be so.
What a command for the core was answered names plans and headings, and
no model was asked: none is told.  An answer that the chat did not go on
from is said to be aside: models are told its first line alone."
  (let ((left passepartout-chat--history-bytes)
        (left-aside passepartout-chat--history-bytes)
        (history nil)
        ;; Whether the question of the first answer in HISTORY was not met.
        (open nil)
        ;; What was cut of the oldest turn in HISTORY.
        (cut nil)
        (whole (passepartout-chat--whole-private-p))
        (known nil)
        ;; Where the turn of each in HISTORY begins.
        (places nil)
        (from (point))
        ;; The level of the answer aside that a branch goes on from.
        (alone nil)
        below)
    (save-excursion
      (while (and (or (> left 0) open)
                  (progn (setq below (passepartout-chat--branch-level))
                         (passepartout-chat--line-before)))
        (let ((role (passepartout-chat--role)))
          (cond ((and below (equal role "aside"))
                 (setq alone (passepartout-chat--level)
                       role "assistant"))
                ((eql alone (passepartout-chat--level))
                 ;; Another answer, which it does not go on from.
                 (setq role nil))
                (t (setq alone nil)))
          (when (member role '("user" "assistant" "aside"))
            (let* ((start (passepartout-chat--body-start))
                   (aside (equal role "aside"))
                   (room (max 0 (if aside left-aside left)))
                   ;; A little more than there is room for shows that there
                   ;; is more.
                   (end (if (equal role "user")
                            start
                          (max start (passepartout-chat--answer-end))))
                   (limit (min end (+ start room 100)))
                   (whole-text (if (equal role "user")
                                   (passepartout-chat--plain
                                    (passepartout-chat--message t))
                                 (passepartout-chat--answer-text
                                  start end limit)))
                   (text (passepartout-chat--head whole-text room)))
              (if aside
                  (setq left-aside (- left-aside (string-bytes text)))
                (setq left (- left (string-bytes text))))
              (unless (string-empty-p text)
                (let ((turn (passepartout-chat--turn-start)))
                  (unless (eq turn (car known))
                    (setq known (cons turn (passepartout-chat--turn-private-p
                                            turn))))
                  (push `(:role ,(if (equal role "user") :user :assistant)
                          :text ,text
                          ,@(and aside '(:aside t))
                          ,@(let ((tier (passepartout-chat--strictest
                                         (list whole (cdr known)))))
                              (and tier
                                   `(:private ,(passepartout-chat--tier-said
                                                tier)))))
                        history)
                  (push turn places)
                  (when (and (not aside) (> (string-bytes whole-text) room))
                    (setq cut (car history)))
                  (setq open t)))
              (when (equal role "user")
                (setq open nil)
                (when (string-match-p "\\`[ \t\n]*/" whole-text)
                  (when (eq (plist-get (car history) :role) :user)
                    (pop places)
                    (pop history))
                  (while (eq (plist-get (car history) :role) :assistant)
                    (pop places)
                    (pop history))
                  (setq cut nil))))))))
    (let ((said (if cut (passepartout-chat--in-whole-turns history cut)
                  history)))
      (cons said (or (nth (- (length places) (length said)) places) from)))))

(defun passepartout-chat--branch-level ()
  "Return the level of the heading at point when it begins a branch, or nil."
  (let ((level (passepartout-chat--level)))
    (and (> level 2) (= 1 (% level 2)) level)))

(defun passepartout-chat--line-before ()
  "Go to the heading before the one at point on its line of thought.
Return point, or nil when there is none.  Of the first level those are
all turns before it; a branch comes from the answer that it stands
below, and from nothing that stands beside it."
  (let ((level (passepartout-chat--level)))
    (re-search-backward
     (passepartout-chat--heading-up-to
      (if (or (< level 2) (= 0 (% level 2)))
          (max 2 level)
        (1- level)))
     nil t)))

(defconst passepartout-chat--rest-left-out
  "\n[The rest of this is left out: it is longer than what is sent.]"
  "What stands in place of the end of what is too long to be sent.")

(defun passepartout-chat--in-whole-turns (history cut)
  "Return HISTORY without its oldest turn, of which CUT is a part.
Where it has no other, the end of CUT says that something is missing."
  (let ((newer (seq-drop-while (lambda (said)
                                 (not (eq (plist-get said :role) :user)))
                               (cdr history))))
    (unless newer
      (plist-put cut :text
                 (concat (passepartout-chat--head
                          (plist-get cut :text)
                          (- passepartout-chat--history-bytes
                             (length passepartout-chat--rest-left-out)))
                         passepartout-chat--rest-left-out)))
    (or newer history)))

(defun passepartout-chat--head (text bytes)
  "Return the beginning of TEXT that fits into BYTES."
  (if (<= (string-bytes text) bytes)
      text
    (let ((count (min bytes (length text))))
      (while (> (string-bytes (substring text 0 count)) bytes)
        (setq count (- count (max 1 (/ (- (string-bytes (substring text 0 count))
                                          bytes)
                                       4)))))
      (substring text 0 (max count 0)))))

;;;; What a question says of itself

(defconst passepartout-chat--setting-names
  '((:preset . "PP_PRESET") (:model . "PP_MODEL") (:tools . "PP_TOOLS")
    (:tokens . "PP_BUDGET") (:usd . "PP_USD"))
  "Properties that say how a question is asked, by what the core calls them.")

(defun passepartout-chat--keyword-properties ()
  "Return what keyword lines of this chat say now, an alist of properties.
What Org has of them was read when its mode began, and you may have
typed others since.  What stands in an answer is no word of yours."
  (org-with-wide-buffer
   (goto-char (point-min))
   (let ((case-fold-search t)
         (properties nil))
     (while (passepartout-chat--next-keyword
             "#+property:"
             "^[ \t]*#\\+PROPERTY:[ \t]*\\([^ \t\n]+?\\)\\(\\+\\)?[ \t]+\\(.*\\)$")
       (let ((name (match-string-no-properties 1))
             (more (match-beginning 2))
             (value (string-trim (match-string-no-properties 3))))
         (when (save-match-data
                 (save-excursion
                   (forward-line 0)
                   (and (eq (org-element-type (org-element-at-point)) 'keyword)
                        (or (not (re-search-backward "^\\*+ " nil t))
                            (not (passepartout-chat--answer-p))))))
           (let ((known (assoc-string name properties t)))
             (cond ((null known) (push (cons name value) properties))
                   (more (setcdr known (concat (cdr known) " " value)))
                   (t (setcdr known value)))))))
     properties)))

(defun passepartout-chat--settings ()
  "Return what properties say of how the question at point is asked, a plist.
They may be those of its heading, of one above, or of the whole file."
  (let ((org-keyword-properties (passepartout-chat--keyword-properties))
        (settings nil))
    (pcase-dolist (`(,key . ,name) passepartout-chat--setting-names)
      (let ((value (org-entry-get (point) name t)))
        (when value
          (setq settings (append settings (list key (string-trim value)))))))
    settings))

(defun passepartout-chat--check-settings (settings)
  "Leave with an error when one of SETTINGS can be seen to be none.
Which models, tools and presets there are, the core knows."
  (pcase-dolist (`(,key . ,name) passepartout-chat--setting-names)
    (let ((value (plist-get settings key)))
      (cond
       ((null value))
       ((string-empty-p value)
        (user-error "%s says nothing; take it out or give it a value" name))
       ((and (eq key :tokens)
             (not (string-match-p "\\`0*[1-9][0-9]*\\'" value)))
        (user-error "%s is a number of tokens above 0, not “%s”" name
                    (passepartout-view-line value 40)))
       ((and (eq key :usd)
             (not (string-match-p "\\`[0-9]+\\(?:\\.[0-9]+\\)?\\'" value)))
        (user-error "%s is an amount of dollars such as 0.50, not “%s”" name
                    (passepartout-view-line value 40)))))))

;;;; What is private

;; The file is the memory of a chat that outlives every store: what it
;; marks as private stays so in another Emacs, under another name of the
;; conversation, and on another machine.

(defconst passepartout-chat--private-property
  "^[ \t]*:\\(\\(?:PP_\\)?PRIVACY\\)\\+*:[ \t]+\\(.*\\)$"
  "What may make a heading private, and all below it.")

(defconst passepartout-chat--private-keyword
  "^[ \t]*#\\+PROPERTY:[ \t]*\\(\\(?:PP_\\)?PRIVACY\\)\\+*[ \t]+\\(.*\\)$"
  "What may make a whole file private.")

(defun passepartout-chat--strictest (tiers)
  "Return the strictest of TIERS: block, ask, warn, or nil."
  (seq-find (lambda (tier) (memq tier tiers)) '(block ask warn)))

(defun passepartout-chat--tier-of-value (key value)
  "Return the tier that VALUE of the property KEY says, or nil.
PP_PRIVACY is ours: whatever it says but open blocks."
  (passepartout-chat--strictest
   (mapcar (lambda (word)
             (pcase (downcase (string-trim word "\"+" "\"+"))
               ((or "private" "block") 'block)
               ("ask" 'ask)
               ("warn" 'warn)
               ((or "" "open" "nil") nil)
               (_ (and (string-prefix-p "PP_" (upcase key)) 'block))))
           (split-string value "[ \t]+" t))))

(defun passepartout-chat--tier-of-tags (tags)
  "Return the tier of the strictest of TAGS, a list of strings, or nil."
  (let* ((plain (lambda (tag)
                  (downcase (string-trim tag "[@: \t]+" "[: \t]+"))))
         (tags (mapcar plain tags)))
    (passepartout-chat--strictest
     (mapcar (lambda (entry)
               (and (member (funcall plain (car entry)) tags) (cdr entry)))
             (or (passepartout-private-tiers) '(("private" . block)))))))

(defun passepartout-chat--private-in-p (beg end)
  "Return how private the strictest heading between BEG and END says it is.
That is a tier, or nil.  What stands before the first heading speaks
for the whole file."
  (save-excursion
    (let ((case-fold-search t)
          (found nil))
      (goto-char beg)
      (while (re-search-forward passepartout-chat--private-property end t)
        (let ((line (match-beginning 0))
              (tier (passepartout-chat--tier-of-value
                     (match-string-no-properties 1)
                     (match-string-no-properties 2))))
          (when tier
            (if (save-excursion (goto-char line) (org-before-first-heading-p))
                (push tier found)
              (let ((drawer (save-excursion
                              (goto-char line)
                              (org-back-to-heading t)
                              (org-get-property-block))))
                (if (and drawer (<= (car drawer) line (cdr drawer)))
                    (push tier found)
                  ;; A heading has no other drawer of properties.
                  (unless (re-search-forward "^\\*+ " end t)
                    (goto-char end))))))))
      (goto-char beg)
      (while (re-search-forward
              "^\\*+ .*?[ \t]:\\([[:alnum:]_@#%:]+\\):[ \t]*$" end t)
        (push (passepartout-chat--tier-of-tags
               (split-string (match-string-no-properties 1) ":" t))
              found))
      (passepartout-chat--strictest found))))

(defun passepartout-chat--next-keyword (keyword regexp)
  "Search forward for a line with a match for REGEXP, which begins with KEYWORD.
Letters that stand as they are searched for are found faster than any
line is matched, and a file of notes may have very many."
  (let ((found nil))
    (while (and (not found) (search-forward keyword nil t))
      (forward-line 0)
      (setq found (looking-at regexp))
      (goto-char (if found (match-end 0) (line-end-position))))
    found))

(defun passepartout-chat--file-private-p ()
  "Return how private lines of this file make all of it: a tier, or nil."
  (org-with-wide-buffer
   (let* ((case-fold-search t)
          (first (progn (goto-char (point-min))
                        (if (re-search-forward "^\\*+ " nil t)
                            (match-beginning 0)
                          (point-max))))
          (found (list (passepartout-chat--tier-of-tags
                        (mapcar #'substring-no-properties org-file-tags)))))
     (goto-char (point-min))
     (while (passepartout-chat--next-keyword
             "#+property:" passepartout-chat--private-keyword)
       (push (passepartout-chat--tier-of-value (match-string-no-properties 1)
                                               (match-string-no-properties 2))
             found))
     (goto-char (point-min))
     (while (passepartout-chat--next-keyword
             "#+filetags:" "^[ \t]*#\\+FILETAGS:\\(.*\\)$")
       (push (passepartout-chat--tier-of-tags
              (split-string (match-string-no-properties 1) "[: \t]+" t))
             found))
     (push (passepartout-chat--private-in-p (point-min) first) found)
     (passepartout-chat--strictest found))))

(defun passepartout-chat--set-up-p ()
  "Return non-nil when this file names a setup file of this machine.
The addresses that are fetched from others are those of the core."
  (org-with-wide-buffer
   (goto-char (point-min))
   (let ((case-fold-search t) (found nil))
     (while (and (not found)
                 (passepartout-chat--next-keyword
                  "#+setupfile:"
                  "^[ \t]*#\\+SETUPFILE:[ \t]*\\([^ \t\n].*\\)$"))
       (let ((name (string-trim (match-string-no-properties 1))))
         ;; Quotation marks count in pairs.
         (when (string-match "\\`\"\\(.*\\)\"\\'" name)
           (setq name (match-string 1 name)))
         (setq found (not (string-match-p
                           (concat "\\`\\(?:https?\\|ftp\\|gemini\\|gopher"
                                   "\\|telnet\\|wais\\|www\\)://")
                           name)))))
     found)))

(defun passepartout-chat--whole-private-p ()
  "Return how private this chat is as a whole: a tier, or nil.
A chat reads no setup file, so one that it names may say that it is."
  (if (passepartout-chat--set-up-p)
      'block
    (passepartout-chat--file-private-p)))

(defun passepartout-chat--turn-start ()
  "Return the beginning of the turn that point is in, or of its heading."
  (save-excursion
    (or (passepartout-chat--to-turn)
        (line-beginning-position))))

(defun passepartout-chat--turn-private-p (start)
  "Return how private the strictest thing in the turn at START is, or nil."
  (save-excursion
    (goto-char start)
    (passepartout-chat--private-in-p start (passepartout-chat--turn-end))))

(defun passepartout-chat--private-p ()
  "Return how private the conversation up to the turn at point is, or nil.
A turn that is too old to be sent counts as well: later ones may have
drawn on it."
  (passepartout-chat--strictest
   (list (passepartout-chat--whole-private-p)
         (passepartout-chat--private-in-p (point-min)
                                          (passepartout-chat--turn-end)))))

(defun passepartout-chat--tier-said (tier)
  "Return what the core is told of TIER; nil of none."
  (pcase tier
    ('nil nil)
    ('block t)
    (_ (symbol-name tier))))

;;;; The drawers below the answers

(defun passepartout-chat--find-in-drawer (regexp)
  "Search backward for a line with a match for REGEXP that was written by us.
It stands in the drawer at the end of an answer; that an answer has
such a line in its text means nothing.  Return nil when there is none."
  (let ((found nil))
    (while (and (not found) (re-search-backward regexp nil t))
      (setq found (save-match-data (passepartout-chat--in-drawer-p))))
    found))

(defun passepartout-chat--in-drawer-p ()
  "Return non-nil when point is in the drawer that ends an answer."
  (save-excursion
    (forward-line 0)
    (let ((line "\\(?:  \\)?- "))
      (and (save-excursion
             (while (and (looking-at-p line) (= 0 (forward-line -1))))
             (looking-at-p "^:PASSEPARTOUT:[ \t]*$"))
           (save-excursion
             (while (and (looking-at-p line) (= 0 (forward-line 1))))
             (and (looking-at "^:END:[ \t]*$")
                  (progn (goto-char (match-end 0))
                         (skip-chars-forward " \t\n")
                         (or (eobp) (looking-at-p "^\\*+ ")))))
           (re-search-backward "^\\*+ " nil t)
           (passepartout-chat--answer-p)))))

;;;; Hiding what is only for machines

;; Each thing that is hidden costs Emacs a little with every key, at
;; least before version 29: a long chat hides what comes into view.

(defconst passepartout-chat--role-regexp
  "^:PROPERTIES:\n\\(?::PRIVACY:[^\n]*\n\\)?:PP_\\(?:ROLE\\|CHAT\\):[^\n]*\n\\(?::PRIVACY:[^\n]*\n\\)?:END:\n"
  "Regular expression for a property drawer that only names a role.")

(defconst passepartout-chat--drawer-regexp
  (concat "^:PASSEPARTOUT:[ \t]*$\\|" passepartout-chat--thought-regexp)
  "Regular expression for the line that begins a drawer that is folded.")

(defun passepartout-chat--hide-roles (beg end)
  "Hide the property drawers between BEG and END that only name a role.
Drawers of thoughts are shown as words, and lines about what goes along
have their keys."
  (passepartout-chat--label-thoughts beg end)
  (passepartout-chat--label-along beg end)
  (remove-overlays beg end 'passepartout-chat-role t)
  (save-excursion
    (goto-char beg)
    (let ((case-fold-search t))
      (while (re-search-forward passepartout-chat--role-regexp end t)
        (passepartout-chat--hide-role (match-beginning 0) (match-end 0))))))

(defun passepartout-chat--hide-role (beg end)
  "Hide the drawer from BEG to END."
  (let ((overlay (make-overlay beg end nil t nil)))
    (overlay-put overlay 'passepartout-chat-role t)
    (overlay-put overlay 'invisible 'passepartout-chat)
    (overlay-put overlay 'evaporate t)))

(defun passepartout-chat--has-p (position property)
  "Return non-nil when an overlay with PROPERTY begins at POSITION."
  (seq-some (lambda (overlay)
              (and (overlay-get overlay property)
                   (= (overlay-start overlay) position)))
            (overlays-at position)))

(defun passepartout-chat--hide-all ()
  "Hide in this chat what is only for machines, and fold what is folded.
Where Emacs fontifies what comes into view, that is when it is done."
  (if (not (bound-and-true-p jit-lock-mode))
      (org-with-wide-buffer
       (passepartout-chat--hide-roles (point-min) (point-max))
       (passepartout-chat--fold-drawers)
       (passepartout-chat--fold-asides))
    (org-with-wide-buffer
     (with-silent-modifications
       (remove-text-properties (point-min) (point-max)
                               '(passepartout-chat-folded nil))))
    (jit-lock-register #'passepartout-chat--hide-shown)
    (jit-lock-refontify)))

(defun passepartout-chat--show-all ()
  "Show again what `passepartout-chat--hide-all' has hidden by overlays."
  (jit-lock-unregister #'passepartout-chat--hide-shown)
  (remove-overlays (point-min) (point-max) 'passepartout-chat-role t)
  (remove-overlays (point-min) (point-max) 'passepartout-chat-thought t))

(defun passepartout-chat--hide-shown (beg end)
  "Hide what is only for machines between BEG and END, which come into view.
What is folded there is folded once: what you open stays open."
  (passepartout-thread-timed 'passepartout-chat--hide-shown
    (save-match-data
      (passepartout-chat--hide-in-view beg end))))

(defun passepartout-chat--hide-in-view (beg end)
  "Hide what is only for machines between BEG and END; fold what is not yet."
  (org-with-wide-buffer
   ;; A drawer may begin in the lines before, and end in those after.
   (let ((from (progn (goto-char beg) (forward-line -4) (point)))
         (to (progn (goto-char end) (forward-line 5) (point)))
         (case-fold-search t))
     (goto-char from)
     (while (re-search-forward passepartout-chat--role-regexp to t)
       (unless (passepartout-chat--has-p (match-beginning 0)
                                         'passepartout-chat-role)
         (passepartout-chat--hide-role (match-beginning 0) (match-end 0))))
     (passepartout-chat--label-along from to)
     (passepartout-chat--fold-once passepartout-chat--drawer-regexp from to
                                   #'passepartout-chat--fold-drawer-here)
     (passepartout-chat--fold-once "^\\*\\*+ " from to
                                   #'passepartout-chat--fold-aside-here))))

(defun passepartout-chat--fold-once (regexp from to function)
  "Call FUNCTION at each match of REGEXP between FROM and TO, unless it was.
Point is at the end of the line then."
  (goto-char from)
  (while (re-search-forward regexp to t)
    (let ((at (match-beginning 0)))
      (unless (get-text-property at 'passepartout-chat-folded)
        (with-silent-modifications
          (put-text-property at (1+ at) 'passepartout-chat-folded t))
        (save-excursion
          (goto-char at)
          (end-of-line)
          (funcall function))))))

(defun passepartout-chat--fold (beg end spec)
  "Fold what is between BEG and END; SPEC is `drawer' or `headline'."
  (when (< beg end)
    (if (fboundp 'org-fold-region)
        (org-fold-region beg end t spec)
      (with-no-warnings
        (org-flag-region beg end t 'outline)))))

(defun passepartout-chat--fold-drawer-here ()
  "Fold the drawer at the end of whose first line point is."
  (let ((from (point))
        (beg (line-beginning-position)))
    (unless (passepartout-chat--has-p beg 'passepartout-chat-thought)
      (passepartout-chat--label-thoughts beg from))
    (when (re-search-forward "^:END:[ \t]*$" nil t)
      (passepartout-chat--fold from (point) 'drawer))))

(defun passepartout-chat--fold-drawers ()
  "Fold the drawers below the answers of this chat, and those of thoughts."
  (goto-char (point-min))
  (while (re-search-forward passepartout-chat--drawer-regexp nil t)
    (passepartout-chat--fold-drawer-here)))

(defun passepartout-chat--fold-answer ()
  "Fold the answer whose heading point is at."
  (passepartout-chat--fold (line-end-position)
                           (passepartout-chat--answer-end) 'headline))

(defun passepartout-chat--fold-aside-here ()
  "Fold the answer whose heading point is at, if the chat left it aside."
  (forward-line 0)
  (when (equal (passepartout-chat--role) "aside")
    (passepartout-chat--fold-answer)))

(defun passepartout-chat--fold-asides ()
  "Fold the answers that this chat did not go on from."
  (goto-char (point-min))
  (while (re-search-forward "^\\*\\*+ " nil t)
    (save-excursion (passepartout-chat--fold-aside-here))))

(provide 'passepartout-chat-text)
;;; passepartout-chat-text.el ends here
