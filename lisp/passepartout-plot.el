;;; passepartout-plot.el --- Small pictures of numbers, and the same in characters  -*- lexical-binding: t; -*-

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

;; Bars, columns and lanes of what a list shows.  A picture is inserted
;; as text; where a frame can show SVG the text has an image in its
;; place.  So the same buffer is right in a terminal, whoever cannot see
;; the image hears the text, and what is copied is the text.
;;
;; Colours are those of faces, sizes are bounded, and nothing is computed
;; but from what the list shows already.

;;; Code:

(require 'passepartout)
(require 'seq)
(eval-when-compile (require 'subr-x))

(declare-function svg-create "svg" (width height &rest args))
(declare-function svg-image "svg" (svg &rest props))
(declare-function svg-rectangle "svg" (svg x y width height &rest args))
(declare-function svg-text "svg" (svg text &rest args))

(defconst passepartout-plot--faces
  '(font-lock-function-name-face font-lock-string-face
    font-lock-keyword-face font-lock-constant-face
    font-lock-type-face font-lock-builtin-face font-lock-variable-name-face
    success warning link error shadow)
  "The faces whose colours tell one thing from another.
Of those that a theme gives the same colour one counts.")

(defconst passepartout-plot--most 31
  "How many columns, bars or sections a picture has at most.")

;;;; In characters

(defun passepartout-plot--blocks ()
  "Return characters for heights, from nothing to all, as a string."
  (if (char-displayable-p ?█) " ▁▂▃▄▅▆▇█" " .:-=+*#"))

(defun passepartout-plot-heights (values)
  "Return VALUES, numbers, as a line of characters of their heights.
What is not nothing is seen, however small it is."
  (let* ((blocks (passepartout-plot--blocks))
         (top (1- (length blocks)))
         (most (apply #'max 0 values)))
    (mapconcat (lambda (value)
                 (string (aref blocks
                               (if (or (<= value 0) (<= most 0))
                                   0
                                 (max 1 (round (* top (/ (float value)
                                                         most))))))))
               values "")))

(defun passepartout-plot-bar (value most width)
  "Return a bar of characters for VALUE of MOST, of at most WIDTH."
  (let ((count (if (or (<= value 0) (<= most 0))
                   0
                 (max 1 (round (* width (min 1.0 (/ (float value) most))))))))
    (make-string count (if (char-displayable-p ?█) ?█ ?#))))

(defun passepartout-plot-gauge (value most width)
  "Return how much VALUE is of MOST, as a bar of WIDTH with its rest."
  (let ((bar (passepartout-plot-bar value most width)))
    (concat bar (make-string (max 0 (- width (length bar)))
                             (if (char-displayable-p ?░) ?░ ?.)))))

;;;; As an image

(defun passepartout-plot--colour (face)
  "Return the colour of FACE as SVG has it, or that of the default face."
  (let ((values (or (color-values (face-foreground face nil 'default))
                    '(32768 32768 32768))))
    (apply #'format "#%02x%02x%02x"
           (mapcar (lambda (value) (/ value 257)) values))))

(defun passepartout-plot--nth-colour (number)
  "Return the colour of the thing with NUMBER."
  (let ((colours (seq-uniq (mapcar #'passepartout-plot--colour
                                   passepartout-plot--faces))))
    (nth (mod number (length colours)) colours)))

(defun passepartout-plot--label (svg text x y &optional anchor)
  "Write TEXT into SVG at X and Y; ANCHOR is start, middle or end."
  (svg-text svg text :x x :y y
            :font-size (max 9 (round (* 0.75 (frame-char-height))))
            :font-family "monospace"
            :text-anchor (or anchor "start")
            :fill (passepartout-plot--colour 'default)))

(defun passepartout-plot--width ()
  "Return how wide a picture may be here, in pixels."
  (let ((window (get-buffer-window nil t)))
    (max 200 (min 900 (- (if window (window-body-width window t) 700) 40)))))

(defun passepartout-plot-insert (text draw)
  "Insert TEXT, and over it the image that DRAW makes, where one can be shown.
DRAW is called with the width of the picture and the height of a line,
and returns an SVG object; when it fails, the text is there."
  (let ((begin (point)))
    (insert text)
    (when (and (display-graphic-p) (image-type-available-p 'svg))
      (condition-case problem
          (progn
            (require 'svg)
            (put-text-property
             begin (point) 'display
             (svg-image (funcall draw (passepartout-plot--width)
                                 (max 12 (frame-char-height)))
                        :ascent 'center :scale 1)))
        (error (message "Passepartout: no picture: %s"
                        (error-message-string problem)))))
    (put-text-property begin (point) 'passepartout-plot t)
    (insert "\n\n")))

(defun passepartout-plot--axis (svg x y width)
  "Draw a thin line into SVG at X and Y, of WIDTH."
  (svg-rectangle svg x y width 1
                 :fill (passepartout-plot--colour 'passepartout-quiet)))

;;;; Columns, side by side

(defun passepartout-plot--panel (svg title columns number x width height line)
  "Draw a panel called TITLE into SVG: COLUMNS, (LABEL . VALUE) each.
It is the panel with NUMBER, stands at X, is WIDTH wide and HEIGHT high,
and a line of text is LINE high."
  (let* ((most (apply #'max 0 (mapcar #'cdr columns)))
         (count (max 1 (length columns)))
         (step (/ (float width) count))
         (base (- height line))
         (room (- base line 4))
         (at x))
    (passepartout-plot--label svg title x (- line 4))
    (dolist (column columns)
      (when (> (cdr column) 0)
        (let ((high (max 1 (* room (/ (float (cdr column)) most)))))
          (svg-rectangle svg at (- base high) (max 1 (- step 1.5)) high
                         :fill (passepartout-plot--nth-colour number))))
      (setq at (+ at step)))
    (passepartout-plot--axis svg x base width)
    (passepartout-plot--label svg (caar columns) x (- height 3))
    (passepartout-plot--label svg (caar (last columns)) (+ x width)
                              (- height 3) "end")))

(defun passepartout-plot-columns (panels)
  "Insert PANELS, (TITLE COLUMNS MOST) each, as columns side by side.
COLUMNS are pairs of a label and a number, of which the last ones are
shown, and MOST says in words how much the highest is."
  (let* ((panels (mapcar (lambda (panel)
                           (list (format "%s, up to %s" (car panel)
                                         (nth 2 panel))
                                 (last (nth 1 panel)
                                       passepartout-plot--most)))
                         panels))
         (wide (apply #'max 0 (mapcar (lambda (panel)
                                        (string-width (car panel)))
                                      panels))))
    (passepartout-plot-insert
     (mapconcat (lambda (panel)
                  (concat "  " (car panel)
                          (make-string (- wide (string-width (car panel))) ?\s)
                          "  "
                          (passepartout-plot-heights
                           (mapcar #'cdr (cadr panel)))
                          "  " (caar (cadr panel)) " to "
                          (caar (last (cadr panel)))))
                panels "\n")
     (lambda (width line)
       (let* ((height (* 8 line))
              (svg (svg-create width height))
              (own (/ (- width 20) (length panels)))
              (number 0))
         (dolist (panel panels svg)
           (passepartout-plot--panel svg (car panel) (cadr panel) number
                                     (* number (+ own 20)) (- own 10) height
                                     line)
           (setq number (1+ number))))))))

;;;; Bars, one below the other

(defun passepartout-plot--bars-svg (rows titles width line)
  "Return an SVG of ROWS below TITLES, of WIDTH, with lines LINE high."
  (let* ((svg (svg-create width (* line (1+ (length rows)))))
         (left (min (round (* 0.35 width))
                    (* (frame-char-width)
                       (+ 2 (apply #'max (mapcar (lambda (row)
                                                   (string-width (car row)))
                                                 rows))))))
         (own (/ (- width left 10) (length titles)))
         (y line))
    (seq-do-indexed
     (lambda (title number)
       (passepartout-plot--label svg title (+ left (* number own)) (- line 4)))
     titles)
    (dolist (row rows svg)
      (passepartout-plot--label svg (car row) 4 (+ y (- line 5)))
      (seq-do-indexed
       (lambda (cell number)
         (let* ((most (apply #'max 0 (mapcar (lambda (row)
                                               (car (nth number (cdr row))))
                                             rows)))
                (x (+ left (* number own)))
                (long (if (> most 0)
                          (* 0.6 own (/ (float (car cell)) most))
                        0)))
           (svg-rectangle svg x (+ y 3) long (max 1 (- line 6))
                          :fill (passepartout-plot--nth-colour number))
           (passepartout-plot--label svg (cdr cell) (+ x long 4)
                                     (+ y (- line 5)))))
       (cdr row))
      (setq y (+ y line)))))

(defun passepartout-plot-bars (titles rows)
  "Insert ROWS, (LABEL CELL...) each, as bars below TITLES, one for each cell.
CELL is a pair of a number and that number in words."
  (let* ((rows (seq-take rows passepartout-plot--most))
         (most (seq-map-indexed
                (lambda (_ number)
                  (apply #'max 0 (mapcar (lambda (row)
                                           (car (nth number (cdr row))))
                                         rows)))
                titles)))
    (passepartout-plot-insert
     (mapconcat
      (lambda (row)
        (concat "  " (truncate-string-to-width (car row) 24 0 ?\s "…")
                (string-join
                 (seq-mapn (lambda (cell most title)
                             (format "  %s %-9s%-12s" title (cdr cell)
                                     (passepartout-plot-bar (car cell) most
                                                            12)))
                           (cdr row) most titles))))
      rows "\n")
     (lambda (width line)
       (passepartout-plot--bars-svg rows titles width line)))))

;;;; Lanes in time

(defun passepartout-plot--buckets (times from to count)
  "Return how many of TIMES, numbers, fall into each of COUNT parts of FROM to TO."
  (let ((buckets (make-vector count 0)))
    (dolist (time times (append buckets nil))
      (let ((at (if (> to from)
                    (min (1- count)
                         (floor (* count (/ (- time from) (- to from 0.0)))))
                  (1- count))))
        (aset buckets at (1+ (aref buckets at)))))))

(defun passepartout-plot-lanes (lanes begin end)
  "Insert LANES, (NAME TIME...) each, as a time line.
BEGIN and END say in words when it begins and ends."
  (let* ((lanes (seq-take lanes 6))
         (times (mapcan (lambda (lane) (copy-sequence (cdr lane))) lanes))
         (from (apply #'min times))
         (to (apply #'max times))
         (wide (apply #'max (mapcar (lambda (lane) (string-width (car lane)))
                                    lanes))))
    (passepartout-plot-insert
     (concat
      (mapconcat
       (lambda (lane)
         (concat "  " (car lane)
                 (make-string (- wide (string-width (car lane))) ?\s) " "
                 (passepartout-plot-heights
                  (passepartout-plot--buckets (cdr lane) from to 48))))
       lanes "\n")
      "\n  " (make-string wide ?\s) " " begin
      (make-string (max 1 (- 48 (string-width begin) (string-width end))) ?\s)
      end)
     (lambda (width line)
       (let* ((svg (svg-create width (* line (1+ (length lanes)))))
              (left (* (frame-char-width) (+ 2 wide)))
              (room (- width left 10))
              (number 0))
         (dolist (lane lanes)
           (let ((y (* number line)))
             (passepartout-plot--label svg (car lane) 4 (+ y (- line 5)))
             (passepartout-plot--axis svg left (+ y (- line 3)) room)
             (dolist (time (cdr lane))
               (svg-rectangle
                svg
                (+ left (* (- room 3) (if (> to from)
                                          (/ (- time from) (- to from 0.0))
                                        1)))
                (+ y 2) 3 (- line 5)
                :fill (passepartout-plot--nth-colour number)
                :fill-opacity 0.7)))
           (setq number (1+ number)))
         (passepartout-plot--label svg begin left (- (* line (1+ number)) 5))
         (passepartout-plot--label svg end (+ left room)
                                   (- (* line (1+ number)) 5) "end")
         svg)))))

;;;; One bar of several parts

(defun passepartout-plot-stack (parts most words)
  "Insert PARTS, (NAME . VALUE) each, as one bar of MOST in all.
WORDS say how much of it they are."
  (let* ((parts (seq-take (seq-filter (lambda (part) (> (cdr part) 0)) parts)
                          passepartout-plot--most))
         (sum (apply #'+ (mapcar #'cdr parts)))
         (most (max 1 most sum)))
    (passepartout-plot-insert
     (concat "  " (passepartout-plot-gauge sum most 40) " " words)
     (lambda (width line)
       (let* ((svg (svg-create width (* 3 line)))
              (room (- width 10))
              (x 4) (legend 4) (number 0))
         (dolist (part parts)
           (let ((long (* room (/ (float (cdr part)) most)))
                 (named (+ legend line
                           (* (frame-char-width) (string-width (car part))))))
             (svg-rectangle svg x 2 (max 1 (- long 1)) (- line 2)
                            :fill (passepartout-plot--nth-colour number))
             ;; What has no room in the legend stands in the list below.
             (when (< named width)
               (svg-rectangle svg legend (+ line 6) (- line 8) (- line 8)
                              :fill (passepartout-plot--nth-colour number))
               (passepartout-plot--label svg (car part)
                                         (+ legend (- line 4))
                                         (- (* 2 line) 3))
               (setq legend (+ named 4)))
             (setq x (+ x long) number (1+ number))))
         (svg-rectangle svg 4 2 room (- line 2) :fill "none"
                        :stroke (passepartout-plot--colour
                                 'passepartout-quiet))
         (passepartout-plot--label svg words 4 (- (* 3 line) 4))
         svg)))))

(provide 'passepartout-plot)
;;; passepartout-plot.el ends here
