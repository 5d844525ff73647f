;;; passepartout-rewrite-text.el --- From an answer to the text that it gives  -*- lexical-binding: t; -*-

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

;; What a model says reaches Emacs inert: what Org could take for a
;; heading, a keyword, a drawer, a timestamp or something that runs is
;; broken up by one visible character.  That is right for an answer, and
;; wrong for a text that is to take the place of another one, of code
;; above all.
;;
;; So the lines that a rewrite left alone are put back as they stood:
;; a line of the answer is compared with those of the original, both
;; without what is ever broken up.  In lines that are new, what is broken
;; up is put together where there is no doubt, or where the original has
;; the same thing whole; in Org, what would run stays broken up.  An
;; escape is a character again only if that cannot be seen and stands at
;; the same place in the original: a model can write escapes as well.
;; All of it is seen before anything is accepted.
;;
;; This file knows strings and no buffers.

;;; Code:

(require 'cl-lib)
(require 'passepartout)
(require 'passepartout-view)
(require 'subr-x)

(declare-function org-unescape-code-in-string "org-src" (s))

;;;; Lines as they are compared

(defun passepartout-rewrite-text--join (line pairs)
  "Return LINE with each of PAIRS, (REGEXP . REPLACEMENT), replaced throughout.
What a replacement makes may be replaced again, a few times; of a list
\(REGEXP REPLACEMENT) it is not."
  (let ((case-fold-search nil))
    (dolist (pair pairs)
      (let ((rounds (if (consp (cdr pair)) 7 0)))
        (while (and (< rounds 8) (string-match-p (car pair) line))
          (setq rounds (1+ rounds)
                line (replace-regexp-in-string
                      (car pair)
                      (if (consp (cdr pair)) (cadr pair) (cdr pair))
                      line t))))))
  line)

(defconst passepartout-rewrite-text--broken
  '(("\\([[:alnum:]+_-]\\) :" . "\\1:")
    ("<\\([0-9]\\{4\\}-[0-9][0-9]-[0-9][0-9][^<>]*\\)>" . "[\\1]")
    ("< \\([<0-9]\\)" . "<\\1")
    ("<% %" . "<%%")
    ("% %(" . "%%(")
    ("\\[ \\(\\[\\|[cC][iI][tT][eE][:/]\\)" . "[\\1")
    ("{ {{" . "{{{")
    ("@ @" . "@@")
    ("-\\* -" . "-*-")
    ("\\(src_\\|call_\\) " . "\\1")
    ("\\`\\(|.*'\\) (" . "\\1(")
    ("\\`\\([ \t]*\\),\\(#\\+\\|%%(\\|:[^: \t]+:\\(?:[ \t]\\|\\'\\)\\)" . "\\1\\2")
    ("\\` \\(\\*+\\(?:[ \t]\\|\\'\\)\\)" . "\\1"))
  "What a line has broken up, and how it is whole.
It is used for comparing lines alone: it also joins what never was whole.")

(defconst passepartout-rewrite-text--escape "\\\\u{\\([[:xdigit:]]\\{1,5\\}\\)}"
  "How a character is shown that cannot be seen.")

(defconst passepartout-rewrite-text--escaped
  (concat "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
          "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
          "\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]")
  "What the core shows as an escape: no ASCII, control character or line break.")

(defun passepartout-rewrite-text--shown (line)
  "Return LINE with the characters that cannot be seen and that it has as escapes.
It is used for comparing lines alone."
  (if (string-search "\\u{" line)
      (replace-regexp-in-string
       passepartout-rewrite-text--escape
       (lambda (found)
         (let ((shown (string (string-to-number (substring found 3 -1) 16))))
           (if (or (string-match-p passepartout-view--hidden shown)
                   (string-match-p passepartout-rewrite-text--escaped shown))
               shown
             found)))
       line t t)
    line))

(defconst passepartout-rewrite-text--any
  (concat "\\\\u{\\|\r\\'\\|"
          (mapconcat #'car passepartout-rewrite-text--broken "\\|"))
  "What a line has that is not its own key.")

(defun passepartout-rewrite-text--key (line)
  "Return LINE without what is ever broken up in one."
  (if (let ((case-fold-search nil))
        (string-match-p passepartout-rewrite-text--any line))
      (passepartout-rewrite-text--join
       (passepartout-rewrite-text--shown (string-remove-suffix "\r" line))
       passepartout-rewrite-text--broken)
    line))

;;;; Lines that are new

(defconst passepartout-rewrite-text--sure
  '(("@ @\\([[:alnum:]-]+:\\)" . "@@\\1"))
  "What is put together in every new line.")

(defconst passepartout-rewrite-text--sure-in-code
  '(("\\[ \\[" . "[[")
    ("< <\\([^( ]\\)" . "<<\\1")
    ("{ {{" "{{{")
    ("<% %" . "<%%")
    ("% %(" . "%%(")
    ("\\_<\\(src_\\|call_\\) \\([^][ \t{(]+[[{(]\\)" . "\\1\\2")
    ("\\`\\([ \t]*\\),\\(#\\+\\|:[^: \t]+:\\(?:[ \t]\\|\\'\\)\\)" . "\\1\\2"))
  "What is put together in new lines where Org gives it no meaning.")

(defconst passepartout-rewrite-text--sure-in-org
  '(("\\` \\(\\*+ \\)" . "\\1")
    ;; With a parenthesis it calls a block.
    ("< <\\([^<>( \t][^<>(]*\\)>>" "<<\\1>>")
    ("\\`\\([ \t]*\\),\\(:\\(?:PROPERTIES\\|END\\|LOGBOOK\\):[ \t]*\\'\\)" . "\\1\\2")
    ("\\`\\([ \t]*\\),\\(#\\+\\(?:[bB][eE][gG][iI][nN]\\|[eE][nN][dD]\\)_[a-zA-Z]+\\(?: [[:alnum:]+-]+\\)?[ \t]*\\'\\)"
     . "\\1\\2")
    ("\\`\\([ \t]*\\),\\(#\\+\\(?:[cC][aA][pP][tT][iI][oO][nN]\\|[nN][aA][mM][eE]\\|[tT][iI][tT][lL][eE]\\):\\)"
     . "\\1\\2")
    ("\\`\\([ \t]*CLOCK\\) :" . "\\1:"))
  "What is put together in new lines of Org: structure, and nothing that runs.")

(defun passepartout-rewrite-text--planning (line)
  "Return LINE, of Org, with its planning as it is written."
  (let ((case-fold-search nil))
    (if (not (string-match-p
              "\\`[ \t]*\\(?:\\(?:SCHEDULED\\|DEADLINE\\|CLOSED\\) :[ \t]*\\[[0-9]\\{4\\}-[^]<>]+\\][ \t]*\\)+\\'"
              line))
        line
      (replace-regexp-in-string
       "CLOSED :" "CLOSED:"
       (replace-regexp-in-string
        "\\(SCHEDULED\\|DEADLINE\\) :\\([ \t]*\\)\\[\\([^]]+\\)\\]"
        "\\1:\\2<\\3>" line t)
       t t))))

(defun passepartout-rewrite-text--property (line)
  "Return LINE, of Org, as the property that it is, unless that rules something.
An identifier is that of another heading."
  (let ((case-fold-search t))
    (if (and (string-match "\\`\\([ \t]*\\),:\\([^: \t]+\\):\\(?:[ \t]\\|\\'\\)" line)
             (not (string-match-p
                   "\\`\\(?:HEADER-ARGS.*\\|PP_.*\\|PRIVACY\\|ID\\)\\+*\\'"
                   (match-string 2 line))))
        (concat (match-string 1 line)
                (substring line (1+ (match-end 1))))
      line)))

(cl-defstruct (passepartout-rewrite-text--work
               (:constructor passepartout-rewrite-text--work-make)
               (:copier nil))
  "A text on its way from an answer to what replaces the original."
  (original nil :documentation "The text that is to be replaced.")
  (org nil :documentation "Whether it is Org.")
  (around nil :documentation "Whether words around the text were left out.")
  (old nil :documentation "The lines of the original that are not known yet.")
  (new nil :documentation "The lines of the answer that are not done yet.")
  (done nil :documentation "Those that are, the last first.")
  (known (make-hash-table :test #'equal)
         :documentation "The lines of the original, by themselves and by key.")
  (there (make-hash-table :test #'equal)
         :documentation "The words before colons, stamps, and the characters
that cannot be seen with those before them, which the original has.")
  (has (make-hash-table :test #'equal)
       :documentation "What was looked for in the original, and was it there."))

(defconst passepartout-rewrite-text--word "[[:alnum:]+_-]+"
  "What stands before a colon that is broken up.")

(defconst passepartout-rewrite-text--stamp
  "[[<]\\([0-9]\\{4\\}-[0-9][0-9]-[0-9][0-9][^][<>]*\\)[]>]"
  "What a timestamp looks like.")

(defun passepartout-rewrite-text--at (line place)
  "Return the character of LINE at PLACE, a line break where there is none."
  (if (< -1 place (length line)) (aref line place) ?\n))

(defun passepartout-rewrite-text--note (line work)
  "Note for WORK what LINE, of the original, has that may be broken up.
All of it is looked for once, however many lines are new."
  (let ((there (passepartout-rewrite-text--work-there work))
        (from 0))
    (unless (passepartout-rewrite-text--work-org work)
      (while (string-match passepartout-rewrite-text--word line from)
        (setq from (match-end 0))
        (cond
         ((eq ?: (passepartout-rewrite-text--at line from))
          (unless (memq (passepartout-rewrite-text--at line (1+ from)) '(?\s ?\t))
            (puthash (concat (match-string 0 line) ":") t there)))
         ((and (eq ?\s (passepartout-rewrite-text--at line from))
               (eq ?: (passepartout-rewrite-text--at line (1+ from))))
          (puthash (concat (match-string 0 line) " :") t there)))))
    (setq from 0)
    (while (string-match passepartout-rewrite-text--stamp line from)
      (setq from (match-end 0))
      (puthash (match-string 0 line) t there))
    (setq from 0)
    (while (string-match passepartout-rewrite-text--escaped line from)
      (setq from (match-end 0))
      (puthash (string (passepartout-rewrite-text--at line (- from 2))
                       (aref line (1- from)))
               t there))))

(defun passepartout-rewrite-text--has (work regexp)
  "Return non-nil when the original of WORK has a match for REGEXP."
  (let* ((has (passepartout-rewrite-text--work-has work))
         (known (gethash regexp has 'unknown)))
    (if (eq known 'unknown)
        (puthash regexp
                 (let ((case-fold-search nil))
                   (and (string-match-p
                         regexp (passepartout-rewrite-text--work-original work))
                        t))
                 has)
      known)))

(defun passepartout-rewrite-text--words (line work)
  "Return LINE with words joined to their colons as the original of WORK has them."
  (let ((there (passepartout-rewrite-text--work-there work))
        (from 0) (kept 0) (parts nil))
    (while (string-match passepartout-rewrite-text--word line from)
      (setq from (match-end 0))
      (let ((word (match-string 0 line)))
        (when (and (eq ?\s (passepartout-rewrite-text--at line from))
                   (eq ?: (passepartout-rewrite-text--at line (1+ from)))
                   (not (memq (passepartout-rewrite-text--at line (+ 2 from))
                              '(?\s ?\t ?\n)))
                   (gethash (concat word ":") there)
                   (not (gethash (concat word " :") there)))
          (push (substring line kept from) parts)
          (setq kept (1+ from)))))
    (if parts
        (apply #'concat (nreverse (cons (substring line kept) parts)))
      line)))

(defun passepartout-rewrite-text--stamps (line work)
  "Return LINE with those timestamps active that are so in the original of WORK."
  (let ((there (passepartout-rewrite-text--work-there work)))
    (replace-regexp-in-string
     passepartout-rewrite-text--stamp
     (lambda (found)
       (let ((active (concat "<" (substring found 1 -1) ">")))
         (if (and (string-match-p "\\`\\[.*\\]\\'" found)
                  (gethash active there)
                  (not (gethash found there)))
             active
           found)))
     line t t)))

(defun passepartout-rewrite-text--unescape (line work)
  "Return LINE with those characters that the original of WORK has there.
In a text that has escapes itself an escape may be meant as one."
  (if (or (not (string-search "\\u{" line))
          (passepartout-rewrite-text--has work "\\\\u{"))
      line
    (let ((there (passepartout-rewrite-text--work-there work))
          (from 0) (parts nil) (before ?\n))
      (while (string-match passepartout-rewrite-text--escape line from)
        (let ((character (string-to-number (match-string 1 line) 16))
              (beg (match-beginning 0)) (end (match-end 0)))
          (when (< from beg)
            (setq before (aref line (1- beg))))
          (if (gethash (string before character) there)
              (progn (push (substring line from beg) parts)
                     (push (string character) parts)
                     (setq before character))
            (push (substring line from end) parts)
            (setq before ?\}))
          (setq from end)))
      (apply #'concat (nreverse (cons (substring line from) parts))))))

(defun passepartout-rewrite-text--by-original (line work)
  "Return LINE with what the original of WORK has whole put together.
In Org words before colons are not: they may run."
  (unless (passepartout-rewrite-text--work-org work)
    (setq line (passepartout-rewrite-text--words line work))
    (when (and (passepartout-rewrite-text--has work "^\\*+[ \t]")
               (not (passepartout-rewrite-text--has work "^ \\*")))
      (setq line (passepartout-rewrite-text--join
                  line '(("\\` \\(\\*+[ \t]\\)" . "\\1"))))))
  (passepartout-rewrite-text--stamps line work))

(defun passepartout-rewrite-text--new (line work)
  "Return LINE, which the original of WORK does not have, as a line of the text.
It is put together where that is sure.  Escapes come first: what they
give must pass all that is looked at behind them."
  (let* ((org (passepartout-rewrite-text--work-org work))
         (line (passepartout-rewrite-text--unescape line work))
         (line (passepartout-rewrite-text--join
                line (if org passepartout-rewrite-text--sure-in-org
                       passepartout-rewrite-text--sure-in-code)))
         (line (passepartout-rewrite-text--join
                line passepartout-rewrite-text--sure)))
    (when org
      (setq line (passepartout-rewrite-text--property
                  (passepartout-rewrite-text--planning line))))
    (passepartout-rewrite-text--by-original line work)))

;;;; What is around the text

(defconst passepartout-rewrite-text--fences
  '(("\\`[ \t]*\\(?:```+\\|~~~+\\)[^`\n]*\\'" . "\\`[ \t]*\\(?:```+\\|~~~+\\)[ \t]*\\'")
    ("\\`[ \t]*,?#\\+begin_\\(?:src\\|example\\)\\>.*\\'"
     . "\\`[ \t]*,?#\\+end_\\(?:src\\|example\\)[ \t]*\\'"))
  "What a line looks like that begins a block around a text, or ends one.")

(defun passepartout-rewrite-text-unwrap (answer original)
  "Return the text that ANSWER gives for ORIGINAL, as (TEXT . AROUND).
A model may put it into a block although it was asked not to; AROUND is
non-nil when words around a block were left out."
  (let* ((case-fold-search t) (found nil)
         (lines (split-string (string-trim answer "\n+") "\n"))
         (may (string-match-p "```\\|~~~\\|#\\+end_" answer))
         (old (and may (split-string original "\n"))))
    (dolist (fence (and may passepartout-rewrite-text--fences))
      (let* ((beg (car fence)) (end (cdr fence))
             (fits (lambda (line)
                     (or (string-match-p beg line) (string-match-p end line))))
             (edges (seq-count fits lines))
             (ours (seq-count fits old))
             (at (lambda (regexp from)
                   (cl-position-if (lambda (line) (string-match-p regexp line))
                                   lines :start from)))
             (from (and (null found) (= edges (+ ours 2))
                        (funcall at beg 0)))
             (to (and from (funcall at end (1+ from)))))
        (cond
         ((null to))
         ;; All of it stands in one block, which may hold others.
         ((and (= from 0)
               (string-match-p end (car (last lines))))
          (setq found (list (butlast (cdr lines)))))
         ((= ours 0)
          (setq found (cons (seq-subseq lines (1+ from) to) t))))
        (when (and found (string-match-p "#" beg))
          (require 'org-src)
          (setcar found (list (org-unescape-code-in-string
                               (string-join (car found) "\n")))))))
    (if found
        (cons (string-join (car found) "\n")
              (and (cdr found) t))
      (list (string-join lines "\n")))))

(defun passepartout-rewrite-text--least (text)
  "Return the least indentation of the lines of TEXT behind the first, or nil."
  (let ((found (mapcar (lambda (line) (string-match-p "[^ \t]" line))
                       (cdr (split-string text "\n")))))
    (and (delq nil found) (apply #'min (delq nil found)))))

(defun passepartout-rewrite-text--indent (text original indent)
  "Return TEXT with INDENT, that of the first line of ORIGINAL, where it lost it.
Models lose it in the first line, or in all of them alike."
  (let ((was (passepartout-rewrite-text--least original))
        (is (passepartout-rewrite-text--least text)))
    (cond
     ((or (string-empty-p indent) (string-match-p "\\`[ \t]" text)) text)
     ((equal was is) (concat indent text))
     ((and was is (= was (+ is (length indent))))
      (replace-regexp-in-string "^\\([^\n]\\)" (concat indent "\\1") text t))
     (t text))))

(defun passepartout-rewrite-text--tail (text)
  "Return where the blanks and line breaks at the end of TEXT begin."
  (let ((end (length text)))
    (while (and (> end 0) (memq (aref text (1- end)) '(?\s ?\t ?\n ?\r)))
      (setq end (1- end)))
    end))

(defun passepartout-rewrite-text--edges (text original)
  "Return TEXT with what ORIGINAL has at both ends: blank lines and indentation."
  (let* ((head (progn (string-match "\\`\\(?:[ \t]*\n\\)*" original)
                      (match-end 0)))
         (tail (max head (passepartout-rewrite-text--tail original)))
         (indent (progn (string-match "[ \t]*" original head)
                        (match-string 0 original)))
         (from (progn (string-match "\\`\\(?:[ \t]*\n\\)*" text)
                      (match-end 0))))
    (concat (substring original 0 head)
            (passepartout-rewrite-text--indent
             (substring text from
                        (max from (passepartout-rewrite-text--tail text)))
             (substring original head tail)
             indent)
            (substring original tail))))

;;;; A text, in steps

(defun passepartout-rewrite-text-begin (answer original org)
  "Return the work of making of ANSWER a text that replaces ORIGINAL.
ORG says whether it is Org."
  (let ((found (passepartout-rewrite-text-unwrap answer original)))
    (passepartout-rewrite-text--work-make
     :original original :org org :around (cdr found)
     :old (split-string original "\n")
     :new (split-string (car found) "\n"))))

(defun passepartout-rewrite-text-step (work seconds)
  "Go on with WORK for about SECONDS; return (TEXT . AROUND) when it is done.
AROUND is non-nil when words around the text were left out.  While there
is more to do, return nil."
  (let ((until (+ (float-time) seconds))
        (known (passepartout-rewrite-text--work-known work))
        (line nil) (late nil))
    (while (and (not late)
                (or (passepartout-rewrite-text--work-old work)
                    (passepartout-rewrite-text--work-new work)))
      (if (setq line (pop (passepartout-rewrite-text--work-old work)))
          (let ((key (passepartout-rewrite-text--key line)))
            ;; A line that is there as it stands counts before one like it.
            (puthash line line known)
            (passepartout-rewrite-text--note line work)
            (unless (gethash key known) (puthash key line known)))
        (setq line (pop (passepartout-rewrite-text--work-new work)))
        (push (or (gethash line known)
                  (gethash (passepartout-rewrite-text--key line) known)
                  (passepartout-rewrite-text--new line work))
              (passepartout-rewrite-text--work-done work)))
      (setq late (<= until (float-time))))
    (unless (or (passepartout-rewrite-text--work-old work)
                (passepartout-rewrite-text--work-new work))
      (cons (passepartout-rewrite-text--edges
             (string-join (reverse (passepartout-rewrite-text--work-done work))
                          "\n")
             (passepartout-rewrite-text--work-original work))
            (passepartout-rewrite-text--work-around work)))))

(defun passepartout-rewrite-text-of (answer original org)
  "Return the text that ANSWER gives for ORIGINAL, as (TEXT . AROUND).
ORG says whether it is Org; AROUND is non-nil when words around the text
were left out."
  (let ((work (passepartout-rewrite-text-begin answer original org))
        (found nil))
    (while (not (setq found (passepartout-rewrite-text-step work 1))))
    found))

(provide 'passepartout-rewrite-text)
;;; passepartout-rewrite-text.el ends here
