;;; passepartout-plot-tests.el --- Pictures, and the same in characters  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; Each list with a picture is drawn in characters and as SVG: what it
;; says is in both, what is foreign is text in both, and its size has an
;; end.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-context)
(require 'passepartout-costs)
(require 'passepartout-plot)
(require 'dom)
(require 'image)
(require 'svg)

(ert-deftest passepartout-plot-heights-are-those-of-the-numbers ()
  (cl-letf (((symbol-function 'char-displayable-p) #'always))
    (dolist (case '((nil "") ((0) " ") ((5) "█") ((0 1 1000) " ▁█")
                    ((1 2 3 4 5 6 7 8) "▁▂▃▄▅▆▇█") ((-1 8) " █")))
      (should (equal (passepartout-plot-heights (car case)) (cadr case))))
    (dolist (case '((0 9 3 "") (9 9 3 "███") (1 1000 3 "█") (99 9 3 "███")
                    (1 0 3 "")))
      (should (equal (passepartout-plot-bar (nth 0 case) (nth 1 case)
                                            (nth 2 case))
                     (nth 3 case))))
    (should (equal (passepartout-plot-gauge 1 3 3) "█░░")))
  ;; A terminal without these characters has others.
  (cl-letf (((symbol-function 'char-displayable-p) #'ignore))
    (should (equal (passepartout-plot-heights '(0 1 7)) " .#"))
    (should (equal (passepartout-plot-gauge 1 3 3) "#.."))))

(defconst passepartout-plot-tests--costs
  '(:by "day" :calls 3 :label "in all" :cost "$4"
    :rows ((:label "2026-03-29" :calls 1 :tokens-in 50 :tokens-out 50
            :cost "$3.00")
           (:label "2026-03-27" :calls 2 :tokens-in 100 :tokens-out 100
            :cost "$1.00, and 1 call of unknown price")
           (:label "no day" :calls 1 :cost "$9")))
  "What calls came to by day, over a change of the clock.")

(defun passepartout-plot-tests--lists ()
  "Open each list with a picture, and return its image's data, or its text.
The value is an alist by commands."
  (mapcar
   (lambda (list)
     (pcase-let ((`(,command ,action ,payload) list))
       (passepartout-fake-with
         (funcall command)
         (passepartout-fake-answer action payload)
         (goto-char (point-min))
         (let ((at (text-property-any (point-min) (point-max)
                                      'passepartout-plot t)))
           (should at)
           (list command
                 (get-text-property at 'display)
                 (buffer-substring-no-properties
                  at (next-single-property-change at 'passepartout-plot))
                 (buffer-string))))))
   `((passepartout-costs :costs ,passepartout-plot-tests--costs)
     (passepartout-costs
      :costs (:by "provider" :calls 3 :label "in all" :cost "$4"
              :rows ,(mapcar (lambda (n)
                               (list :label (format "m%d <b>&\u202e" n)
                                     :calls 1 :tokens-in n
                                     :cost (format "$%d.00" n)))
                             (number-sequence 1 100))))
     (passepartout-memory-log
      :memory-log
      (:entries ((:operation 3 :at "2026-03-04T08:00:00Z" :by "you" :what "c")
                 (:operation 2 :at "2026-03-03T08:00:00Z"
                  :by "agent (org <b>&\u202e)" :what "b")
                 (:operation 1 :at "2026-03-01T08:00:00Z" :by "you"
                  :what "a"))))
     (passepartout-context
      :context
      (:nodes nil :more 0 :budget 9 :provider "far" :model "m" :place :remote
       :factor "2.0" :most 400
       :sections (("identity" 30) ("<b>&\u202e" 20) ("empty" 0)))))))

(ert-deftest passepartout-plot-lists-have-pictures-in-characters ()
  (cl-letf (((symbol-function 'char-displayable-p) #'always))
    (cl-mapc
     (lambda (list pattern)
       (should-not (nth 1 list))
       (should (string-match-p pattern (nth 2 list)))
       (should-not (string-search "\u202e" (nth 2 list)))
       (should (< (length (split-string (nth 2 list) "\n")) 35)))
     (passepartout-plot-tests--lists)
     '("Cost, up to \\$3\\.00 +▃ █  2026-03-27 to 2026-03-29\n.*Tokens, up to 200  █ ▄"
       "m100 <b>&.*Cost \\$100\\.00 +█\\{12\\}  Tokens 100 +█\\{12\\}\n"
       "\\`  you   █ .* █\n  agent .*█.*\n +2026-03-01 .*2026-03-04 "
       "\\`  █\\{10\\}░\\{30\\} 50 of 200 tokens, 25%"))))

(ert-deftest passepartout-plot-lists-have-images-where-a-frame-shows-them ()
  (cl-letf (((symbol-function 'display-graphic-p) #'always)
            ((symbol-function 'image-type-available-p) #'always)
            ((symbol-function 'svg-image)
             (lambda (svg &rest _) (list 'image :svg svg))))
    (cl-mapc
     (lambda (list most pattern)
       (let* ((svg (plist-get (cdr (nth 1 list)) :svg))
              (width (dom-attr svg 'width))
              (bars (dom-by-tag svg 'rect))
              (words (mapconcat (lambda (text) (dom-text text))
                                (dom-by-tag svg 'text) "\n")))
         (should (<= 200 width 900))
         (should (<= 1 (length bars) most))
         (dolist (bar bars)
           (should (<= 0 (dom-attr bar 'x) width))
           (should (>= (dom-attr bar 'height) 0)))
         (should (string-match-p pattern words))
         (should-not (string-match-p "<b>\\|\u202e" words))
         ;; The text is there for who does not see the image.
         (should (> (length (nth 2 list)) 20))))
     (passepartout-plot-tests--lists)
     '(6 16 7 6)
     '("2026-03-27" "\\$100\\.00" "agent" "identity"))))

(ert-deftest passepartout-plot-without-an-image-there-is-the-text ()
  (cl-letf (((symbol-function 'display-graphic-p) #'always)
            ((symbol-function 'image-type-available-p) #'always)
            ((symbol-function 'svg-image)
             (lambda (&rest _) (error "No library for images"))))
    (dolist (list (passepartout-plot-tests--lists))
      (should-not (nth 1 list))
      (should (> (length (nth 2 list)) 20)))))

(ert-deftest passepartout-plot-days-have-no-gap-and-an-end ()
  (should (equal (mapcar #'car (passepartout-costs--days
                                (plist-get passepartout-plot-tests--costs
                                           :rows)))
                 '("2026-03-27" "2026-03-28" "2026-03-29")))
  (let ((days (passepartout-costs--days
               '((:label "2024-01-01") (:label "2026-03-29")))))
    (should (= 31 (length days)))
    (should (equal "2026-02-27" (caar days))))
  (dolist (rows '(nil ((:label "9999-99-99")) ((:label nil))
                  ((:label "2026-03-29x"))))
    (should (<= (length (passepartout-costs--days rows)) 1))))

(provide 'passepartout-plot-tests)
;;; passepartout-plot-tests.el ends here
