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

;; A rewrite is given its answer as the model wrote it.  What this file
;; takes away or adds has nothing to do with what Org makes of a text:
;; models put it into a block although they were asked not to, say words
;; around that, and lose the blank lines and the indentation at the ends.
;; All of it is seen before anything is accepted.
;;
;; This file knows strings and no buffers.

;;; Code:

(require 'cl-lib)
(require 'passepartout)
(eval-when-compile (require 'subr-x))

(declare-function org-unescape-code-in-string "org-src" (s))

;;;; What is around the text

(defconst passepartout-rewrite-text--fences
  '(("\\`[ \t]*\\(?:```+\\|~~~+\\)[^`\n]*\\'" . "\\`[ \t]*\\(?:```+\\|~~~+\\)[ \t]*\\'")
    ("\\`[ \t]*#\\+begin_\\(?:src\\|example\\)\\>.*\\'"
     . "\\`[ \t]*#\\+end_\\(?:src\\|example\\)[ \t]*\\'"))
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

;;;; A text

(defun passepartout-rewrite-text-of (answer original)
  "Return the text that ANSWER gives for ORIGINAL, as (TEXT . AROUND).
AROUND is non-nil when words around the text were left out."
  (let ((found (passepartout-rewrite-text-unwrap
                (string-replace "\r\n" "\n" answer) original)))
    (cons (passepartout-rewrite-text--edges (car found) original)
          (cdr found))))

(provide 'passepartout-rewrite-text)
;;; passepartout-rewrite-text.el ends here
