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
;; the same thing whole; in Org, what would run stays broken up.  All of
;; it is seen before anything is accepted.
;;
;; This file knows strings and no buffers.

;;; Code:

(require 'cl-lib)
(require 'passepartout)
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

(defun passepartout-rewrite-text--shown (line)
  "Return LINE with the characters that it has as escapes."
  (if (string-search "\\u{" line)
      (replace-regexp-in-string
       "\\\\u{\\([[:xdigit:]]\\{1,5\\}\\)}"
       (lambda (found)
         (string (string-to-number (substring found 3 -1) 16)))
       line t t)
    line))

(defun passepartout-rewrite-text--key (line)
  "Return LINE without what is ever broken up in one."
  (passepartout-rewrite-text--join
   (passepartout-rewrite-text--shown (string-remove-suffix "\r" line))
   passepartout-rewrite-text--broken))

;;;; Lines that are new

(defconst passepartout-rewrite-text--sure
  '(("< <\\([^( ]\\)" . "<<\\1")
    ("{ {{" "{{{")
    ("@ @\\([[:alnum:]-]+:\\)" . "@@\\1"))
  "What is put together in every new line.")

(defconst passepartout-rewrite-text--sure-in-code
  '(("\\[ \\[" . "[[")
    ("<% %" . "<%%")
    ("% %(" . "%%(")
    ("\\_<\\(src_\\|call_\\) \\([^][ \t{(]+[[{(]\\)" . "\\1\\2")
    ("\\`\\([ \t]*\\),\\(#\\+\\|:[^: \t]+:\\(?:[ \t]\\|\\'\\)\\)" . "\\1\\2"))
  "What is put together in new lines where Org gives it no meaning.")

(defconst passepartout-rewrite-text--sure-in-org
  '(("\\` \\(\\*+ \\)" . "\\1")
    ("\\`\\([ \t]*\\),\\(:\\(?:PROPERTIES\\|END\\|LOGBOOK\\):[ \t]*\\'\\)" . "\\1\\2")
    ("\\`\\([ \t]*\\),\\(#\\+\\(?:[bB][eE][gG][iI][nN]\\|[eE][nN][dD]\\)_[a-zA-Z]+\\(?: [[:alnum:]+-]+\\)?[ \t]*\\'\\)"
     . "\\1\\2")
    ("\\`\\([ \t]*\\),\\(#\\+\\(?:[cC][aA][pP][tT][iI][oO][nN]\\|[nN][aA][mM][eE]\\|[tT][iI][tT][lL][eE]\\):\\)"
     . "\\1\\2")
    ("\\`\\([ \t]*CLOCK\\) :" . "\\1:"))
  "What is put together in new lines of Org: structure, and nothing that runs.")

(defun passepartout-rewrite-text--planning (line)
  "Return LINE, of Org, with its planning as it is written."
  (if (not (string-match-p
            "\\`[ \t]*\\(?:\\(?:SCHEDULED\\|DEADLINE\\|CLOSED\\) :[ \t]*\\[[^]]+\\][ \t]*\\)+\\'"
            line))
      line
    (replace-regexp-in-string
     "CLOSED :" "CLOSED:"
     (replace-regexp-in-string
      "\\(SCHEDULED\\|DEADLINE\\) :\\([ \t]*\\)\\[\\([^]]+\\)\\]"
      "\\1:\\2<\\3>" line t)
     t t)))

(defun passepartout-rewrite-text--property (line)
  "Return LINE, of Org, as the property that it is, unless that rules something."
  (if (and (string-match "\\`\\([ \t]*\\),:\\([^: \t]+\\):\\(?:[ \t]\\|\\'\\)" line)
           (not (string-match-p "\\`\\(?:header-args.*\\|PP_.*\\|PRIVACY\\)\\+*\\'"
                                (match-string 2 line))))
      (concat (match-string 1 line)
              (substring line (1+ (match-end 1))))
    line))

(defun passepartout-rewrite-text--by-original (line original code)
  "Return LINE with what ORIGINAL has whole put together.
With CODE that includes words before colons; in Org they may run."
  (let ((from 0) (case-fold-search nil))
    (when code
      (while (string-match "\\([[:alnum:]+_-]+\\) :[^ \t]" line from)
        (let ((word (match-string 1 line)) (end (match-end 1)))
          (setq from end)
          (when (and (string-match-p
                      (concat "\\_<" (regexp-quote word) ":[^ \t\n]") original)
                     (not (string-search (concat word " :") original)))
            (setq line (concat (substring line 0 end)
                               (substring line (1+ end)))))))
      (when (and (string-match-p "\\`\\*" original)
                 (not (string-match-p "^ \\*" original)))
        (setq line (passepartout-rewrite-text--join
                    line '(("\\` \\(\\*+[ \t]\\)" . "\\1"))))))
    (setq from 0)
    (while (string-match "\\[\\([0-9]\\{4\\}-[0-9][0-9]-[0-9][0-9][^][<>]*\\)\\]"
                         line from)
      (setq from (match-end 0))
      (let ((stamp (concat "<" (match-string 1 line) ">")))
        (when (and (string-search stamp original)
                   (not (string-search (match-string 0 line) original)))
          (setq line (concat (substring line 0 (match-beginning 0)) stamp
                             (substring line (match-end 0)))))))
    (let ((shown (passepartout-rewrite-text--shown line)))
      (if (seq-every-p (lambda (character)
                         (string-search (string character) original))
                       (seq-difference shown line))
          shown
        line))))

(defun passepartout-rewrite-text--new (line original org)
  "Return LINE, which ORIGINAL does not have, put together where that is sure.
ORG says whether it is a line of Org."
  (let ((line (passepartout-rewrite-text--join
               line (append passepartout-rewrite-text--sure
                            (if org passepartout-rewrite-text--sure-in-org
                              passepartout-rewrite-text--sure-in-code)))))
    (when org
      (setq line (passepartout-rewrite-text--property
                  (passepartout-rewrite-text--planning line))))
    (passepartout-rewrite-text--by-original line original (not org))))

(defun passepartout-rewrite-text-whole (text original org)
  "Return TEXT, which came inert, as a text that is to replace ORIGINAL.
ORG says whether it is Org."
  (let ((known (make-hash-table :test #'equal))
        (by-key (make-hash-table :test #'equal)))
    (dolist (line (split-string original "\n"))
      (puthash line t known)
      (let ((key (passepartout-rewrite-text--key line)))
        (unless (gethash key by-key) (puthash key line by-key))))
    (mapconcat
     (lambda (line)
       (cond ((gethash line known) line)
             ((gethash (passepartout-rewrite-text--key line) by-key))
             (t (passepartout-rewrite-text--new line original org))))
     (split-string text "\n") "\n")))

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
  (let ((lines (split-string (string-trim answer "\n+") "\n"))
        (old (split-string original "\n"))
        (case-fold-search t) (found nil))
    (dolist (fence passepartout-rewrite-text--fences)
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

(defun passepartout-rewrite-text--edges (text original)
  "Return TEXT with what ORIGINAL has at both ends: blank lines and indentation."
  (let* ((head (progn (string-match "\\`\\(?:[ \t]*\n\\)*" original)
                      (match-string 0 original)))
         (tail (progn (string-match "[ \t\n]*\\'" original)
                      (match-string 0 original)))
         (indent (progn (string-match "[ \t]*" original (length head))
                        (match-string 0 original)))
         (text (replace-regexp-in-string "\\`\\(?:[ \t]*\n\\)+" ""
                                         (string-trim-right text))))
    (concat head
            (passepartout-rewrite-text--indent
             text (string-trim-right (substring original (length head)))
             indent)
            tail)))

(defun passepartout-rewrite-text-of (answer original org)
  "Return the text that ANSWER gives for ORIGINAL, as (TEXT . AROUND).
ORG says whether it is Org; AROUND is non-nil when words around the text
were left out."
  (let ((found (passepartout-rewrite-text-unwrap answer original)))
    (cons (passepartout-rewrite-text--edges
           (passepartout-rewrite-text-whole (car found) original org)
           original)
          (cdr found))))

(provide 'passepartout-rewrite-text)
;;; passepartout-rewrite-text.el ends here
