;;; passepartout-list.el --- What the read-only lists share  -*- lexical-binding: t; -*-

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

;; The lists that show what Passepartout does (trace, log, costs, skills
;; and so on) share here what they can do: going from item to item, an
;; index for imenu, bookmarks that open a list again, and columns that
;; are sorted by a click.
;;
;; An item is a stretch of text with the property
;; `passepartout-list-item', whose value is a list (KEY LABEL DATA): KEY
;; names the item from one drawing to the next and stands in bookmarks,
;; LABEL names it for people, and DATA is what commands work on.

;;; Code:

(require 'passepartout)
(require 'seq)
(eval-when-compile (require 'cl-lib) (require 'subr-x))

(autoload 'passepartout-list-help "passepartout-list-help"
  "Say what this buffer shows, and what each of its keys does." t)
(declare-function bookmark-prop-get "bookmark" (bookmark prop))
(declare-function org-imenu-get-tree "org" ())
(declare-function outline-on-heading-p "outline" (&optional invisible-ok))
(declare-function outline-next-visible-heading "outline" (arg))
(defvar bookmark-make-record-function)
(defvar desktop-save-buffer)
(defvar imenu-auto-rescan)
(defvar imenu-create-index-function)

(defconst passepartout-list-commands
  '(passepartout-clients passepartout-context passepartout-costs
    passepartout-doctor passepartout-flight-plans passepartout-gate-trace
    passepartout-gateways passepartout-inspect passepartout-jobs
    passepartout-log passepartout-memory-log passepartout-models
    passepartout-rules passepartout-servers passepartout-skills)
  "The commands that open a list; a bookmark calls no other.")

(defvar-local passepartout-list--command nil
  "The command that opens this list again, or nil.")

(defvar-local passepartout-list--redraw nil
  "Function that draws again what is known already, or nil.")

(defvar-local passepartout-list--wanted nil
  "A list of the key of the item that point is to go to, or nil.")

(defvar-local passepartout-list--settled nil
  "Whether point has been on an item of this list before.")

;;;; Items

(defmacro passepartout-list-item (key label data &rest body)
  "Insert an item with BODY: KEY, LABEL and DATA are those of the item."
  (declare (indent 3) (debug t))
  (let ((begin (make-symbol "begin")))
    `(let ((,begin (point)))
       ,@body
       (put-text-property ,begin (point) 'passepartout-list-item
                          (list ,key ,label ,data))
       (passepartout-list--mark-clickable ,begin))))

(defun passepartout-list--acts-p (position)
  "Return non-nil when RET at POSITION, the start of an item, does something."
  (let ((map (current-local-map)))
    (and map
         (or (not (eq (lookup-key map (kbd "RET")) 'passepartout-view-return))
             ;; A heading, which is folded.
             (eq ?* (char-after position))))))

(defun passepartout-list--mark-clickable (start)
  "Let the first line of the item at START show that it can be clicked.
What is a button there stays one."
  (when (passepartout-list--acts-p start)
    (let ((end (save-excursion (goto-char start) (line-end-position)))
          (at start))
      (while (< at end)
        (let ((next (next-single-property-change at 'mouse-face nil end)))
          (unless (get-text-property at 'mouse-face)
            (add-text-properties at next
                                 '(mouse-face highlight
                                   help-echo "mouse-1: as RET here")))
          (setq at next))))))

(defun passepartout-list-click (event)
  "Do what RET does in the row that EVENT, a click, is on."
  (interactive "e")
  (mouse-set-point event)
  (call-interactively (key-binding (kbd "RET"))))

(defun passepartout-list-key (&rest words)
  "Return a key for what WORDS say, without saying it: it may be private."
  (secure-hash 'sha1 (encode-coding-string (format "%S" words) 'utf-8)))

(defun passepartout-list-data (&optional position)
  "Return the data of the item at POSITION, or at point, or nil."
  (nth 2 (get-text-property (or position (point)) 'passepartout-list-item)))

(defun passepartout-list--starts ()
  "Return where the items of this buffer begin, in order."
  (let ((place (point-min)) starts)
    (while place
      (when (get-text-property place 'passepartout-list-item)
        (push place starts))
      (setq place (next-single-property-change
                   place 'passepartout-list-item)))
    (nreverse starts)))

(defun passepartout-list-find (key)
  "Return where the item with KEY begins, or nil."
  (seq-find (lambda (start)
              (equal key (car (get-text-property start
                                                 'passepartout-list-item))))
            (passepartout-list--starts)))

(defun passepartout-list-next (&optional count)
  "Go to the next item that can be seen, or COUNT items on."
  (interactive "p")
  (let* ((count (or count 1))
         (starts (seq-remove #'invisible-p (passepartout-list--starts)))
         (ahead (if (> count 0)
                    (seq-filter (lambda (start) (> start (point))) starts)
                  (nreverse
                   (seq-filter (lambda (start) (< start (point))) starts))))
         (to (nth (1- (abs count)) ahead)))
    (cond
     ((= count 0))
     ((or to ahead) (goto-char (or to (car (last ahead)))))
     ((and (null starts) (derived-mode-p 'outline-mode)
           (let ((from (point)))
             (outline-next-visible-heading count)
             ;; Of no further one it goes to an end of the buffer.
             (or (outline-on-heading-p)
                 (progn (goto-char from) nil)))))
     (t (message "There is no further item")))))

(defun passepartout-list-previous (&optional count)
  "Go to the previous item that can be seen, or COUNT items back."
  (interactive "p")
  (passepartout-list-next (- (or count 1))))

(defun passepartout-list--imenu ()
  "Return the items of this list for imenu; of none, the headings."
  (let ((starts (passepartout-list--starts)))
    (cond
     (starts
      (mapcar (lambda (start)
                (cons (nth 1 (get-text-property start
                                                'passepartout-list-item))
                      start))
              starts))
     ((derived-mode-p 'org-mode) (org-imenu-get-tree)))))

;;;; Where point is, from one drawing to the next

(defun passepartout-list--place (position)
  "Return where POSITION is: (KEY LINES COLUMN LINE).
LINES is how far below the beginning of its item it is."
  (save-excursion
    (goto-char position)
    (let* ((item (get-text-property position 'passepartout-list-item))
           (start (and item (passepartout-list-find (car item)))))
      (list (car item)
            (and start (count-lines start (line-beginning-position)))
            (current-column)
            (line-number-at-pos)))))

(defun passepartout-list--position (place)
  "Return where PLACE is now: on its item, or else on its line."
  (cl-destructuring-bind (key lines column line) place
    (save-excursion
      (let ((start (and key (passepartout-list-find key))))
        (goto-char (or start (point-min)))
        (forward-line (if start (or lines 0) (1- line)))
        (move-to-column column)
        (point)))))

(defun passepartout-list-places ()
  "Return where point is, in the buffer and in the windows that show it."
  (cons (passepartout-list--place (point))
        (mapcar (lambda (window)
                  (list window
                        (passepartout-list--place (window-point window))
                        (and (> (window-start window) (point-min))
                             (count-lines (window-start window)
                                          (window-point window)))))
                (get-buffer-window-list nil nil t))))

(defun passepartout-list-restore (places)
  "Put point back to PLACES, or to the item that is wanted.
Of a list that is drawn for the first time that is the first one."
  (let* ((starts (passepartout-list--starts))
         (wanted (and starts
                      (or (and passepartout-list--wanted
                               (passepartout-list-find
                                (car passepartout-list--wanted)))
                          (and (not passepartout-list--settled)
                               (car starts))))))
    (when starts
      (setq passepartout-list--settled t
            passepartout-list--wanted nil))
    (goto-char (or wanted (passepartout-list--position (car places))))
    (dolist (place (cdr places))
      (cl-destructuring-bind (window at above) place
        (let ((position (or wanted (passepartout-list--position at))))
          (unless wanted
            (set-window-start
             window
             (if (not above)
                 (point-min)
               (save-excursion
                 (goto-char position)
                 (forward-line (- above))
                 (point)))
             t))
          (set-window-point window position))))))

;;;; Opened again, by a bookmark or by desktop

(defun passepartout-list--open-at (command item)
  "Open the list of COMMAND, and go to the one with the key ITEM if not nil."
  (unless (memq command passepartout-list-commands)
    (user-error "This names no list of Passepartout"))
  (funcall command)
  (when item
    (setq passepartout-list--wanted (list item))))

(defun passepartout-list--key-here ()
  "Return the key of the item at point, if it can be kept, or nil."
  (let ((key (car (get-text-property (point) 'passepartout-list-item))))
    (and (or (stringp key) (numberp key)) key)))

(defun passepartout-list--desktop (_folder)
  "Return what desktop keeps of this list: its command, and a key or nil.
What the list shows is not kept."
  (cons passepartout-list--command (passepartout-list--key-here)))

(defun passepartout-list--bookmark ()
  "Return a bookmark that opens this list again, at the item at point."
  (unless passepartout-list--command
    (user-error "This cannot be opened again by itself"))
  (let ((key (passepartout-list--key-here)))
    `(,(string-trim (buffer-name) "\\*" "\\*")
      (command . ,passepartout-list--command)
      ,@(and key `((item . ,key)))
      (handler . passepartout-list-bookmark-jump))))

;;;###autoload
(defun passepartout-list-bookmark-jump (bookmark)
  "Open the list of BOOKMARK again."
  (require 'bookmark)
  (let (buffer)
    (save-window-excursion
      (passepartout-list--open-at (bookmark-prop-get bookmark 'command)
                                  (bookmark-prop-get bookmark 'item))
      (setq buffer (current-buffer)))
    (set-buffer buffer)))
(put 'passepartout-list-bookmark-jump 'bookmark-handler-type "Passepartout")

;;;; Columns

(defvar-local passepartout-list--columns nil
  "The columns of the table of this list: (NAME WIDTH RIGHT) each.
WIDTH is nil for the last one, which is as wide as its text, or (LEAST .
MOST) for one that takes what its window has; RIGHT non-nil sets a
column to the right.")

(defvar-local passepartout-list--sort nil
  "By which column the table is sorted, as (NAME . BACKWARD), or nil.")

(defvar passepartout-list--width nil
  "How many columns a list has, or nil to look at the window that shows it.")

(defconst passepartout-list--rest 28
  "How many columns are kept for the last one, whose text goes on below.")

(defun passepartout-list--width ()
  "Return how many columns the text of this list has.
Below sixty no table is of use, and none is made narrower."
  (max 60 (or passepartout-list--width
              (let ((window (get-buffer-window nil t)))
                ;; `window-max-chars-per-line' selects it, which moves point
                ;; amid what is being drawn.
                (1- (if window (window-body-width window) (frame-width)))))))

(defun passepartout-list-fit (columns)
  "Return COLUMNS with a width for each that said from what to what it may be.
What there is beside the others is shared out among them."
  (if (not (seq-some (lambda (column) (consp (nth 1 column))) columns))
      columns
    (let* ((least (lambda (column)
                    (let ((width (nth 1 column)))
                      (cond ((consp width) (car width))
                            (width)
                            (t passepartout-list--rest)))))
           (more (lambda (column)
                   (let ((width (nth 1 column)))
                     (if (consp width) (- (cdr width) (car width)) 0))))
           (wanted (apply #'+ (mapcar more columns)))
           (free (- (passepartout-list--width) 1 (length columns)
                    (apply #'+ (mapcar least columns))))
           (free (max 0 (min wanted free))))
      (mapcar (lambda (column)
                (pcase-let ((`(,name ,width . ,others) column))
                  (if (not (consp width))
                      column
                    `(,name ,(+ (car width)
                                (/ (* free (funcall more column)) wanted))
                            . ,others))))
              columns))))

(defun passepartout-list--cell (text width right)
  "Return TEXT, filled up or cut to WIDTH; RIGHT non-nil sets it to the right.
A number is not cut: it would be another one."
  (let ((space (and width (- width (string-width text)))))
    (cond ((not width) text)
          ((and right (< space 0)) text)
          (right (concat (make-string space ?\s) text))
          (t (truncate-string-to-width text width 0 ?\s "…")))))

(defun passepartout-list--cell-text (cell)
  "Return the text of CELL, which is a text, or (TEXT . NUMBER)."
  (if (consp cell) (car cell) cell))

(defun passepartout-list--indent (columns)
  "Return the blanks below which the last one of COLUMNS goes on.
In a narrow window they would leave no room, so they have an end."
  (make-string (min (- (passepartout-list--width) passepartout-list--rest)
                    (apply #'+ 2 (mapcar (lambda (column)
                                           (1+ (nth 1 column)))
                                         (butlast columns))))
               ?\s))

(defun passepartout-list-row (columns cells)
  "Insert CELLS below COLUMNS as a line."
  (let* ((columns (passepartout-list-fit columns))
         (line (concat
                "  "
                (string-trim-right
                 (string-join
                  (seq-mapn (lambda (column cell)
                              (passepartout-list--cell
                               (passepartout-list--cell-text cell)
                               (nth 1 column) (nth 2 column)))
                            columns cells)
                  " "))
                "\n")))
    (insert (propertize line 'wrap-prefix
                        (passepartout-list--indent columns)))))

(defun passepartout-list-head (columns)
  "Insert the names of COLUMNS, by which a click sorts, as a line."
  (setq columns (passepartout-list-fit columns)
        passepartout-list--columns columns)
  (insert "  ")
  (dolist (column columns)
    (let* ((name (car column))
           (sorted (equal name (car passepartout-list--sort)))
           (mark (cond ((not sorted) "")
                       ((cdr passepartout-list--sort) "↓")
                       (t "↑")))
           (text (passepartout-list--cell (concat name mark) (nth 1 column)
                                          (nth 2 column)))
           (from (and (string-match "[^ ]" text) (match-beginning 0)))
           (word (string-trim text)))
      (insert (make-string (or from 0) ?\s))
      (insert-text-button
       word
       'face 'passepartout-quiet
       'action (lambda (_button) (passepartout-list-sort-by name))
       'follow-link t
       'help-echo "Sort by this; once more turns it round")
      (insert (make-string (max 0 (- (string-width text) (or from 0)
                                     (string-width word)))
                           ?\s)
              (if (eq column (car (last columns))) "" " "))))
  (insert "\n"))

(defun passepartout-list--before-p (one other)
  "Return non-nil when the cell ONE comes before OTHER."
  (cond ((and (consp one) (consp other)) (< (cdr one) (cdr other)))
        (t (string-collate-lessp (passepartout-list--cell-text one)
                                 (passepartout-list--cell-text other)
                                 nil t))))

(defun passepartout-list-sorted (columns rows)
  "Return ROWS, a list of (KEY LABEL DATA CELLS . REST), as they are sorted.
COLUMNS are those of the cells."
  (let ((at (and passepartout-list--sort
                 (seq-position columns (car passepartout-list--sort)
                               (lambda (column name)
                                 (equal (car column) name)))))
        (backward (cdr passepartout-list--sort)))
    (if (not at)
        rows
      (seq-sort (lambda (one other)
                  (let ((one (nth at (nth 3 one)))
                        (other (nth at (nth 3 other))))
                    (if backward
                        (passepartout-list--before-p other one)
                      (passepartout-list--before-p one other))))
                rows))))

(defun passepartout-list-rows (columns rows)
  "Insert ROWS below COLUMNS, each (KEY LABEL DATA CELLS . BELOW).
BELOW are texts that stand below the line and belong to it, or functions
that insert one."
  (setq columns (passepartout-list-fit columns))
  (dolist (row (passepartout-list-sorted columns rows))
    (cl-destructuring-bind (key label data cells . below) row
      (passepartout-list-item key label data
        (passepartout-list-row columns cells)
        (dolist (part below)
          (if (functionp part) (funcall part) (insert part)))))))

(defun passepartout-list-below (text &optional face)
  "Return TEXT, in FACE, as a line that stands below that of an item."
  (propertize (concat "    " text "\n") 'face face 'wrap-prefix "    "))

(defun passepartout-list-sort-by (name)
  "Sort the table of this list by the column NAME; once more turns it round."
  (setq passepartout-list--sort
        (cons name (and (equal name (car passepartout-list--sort))
                        (not (cdr passepartout-list--sort)))))
  (when passepartout-list--redraw
    (funcall passepartout-list--redraw)))

(defun passepartout-list--column-here ()
  "Return the name of the column that point is in, or nil."
  (when (get-text-property (point) 'passepartout-list-item)
    (let ((at 2) (here (current-column)) name)
      (dolist (column passepartout-list--columns name)
        (when (>= here at) (setq name (car column)))
        (setq at (+ at 1 (or (nth 1 column) 0)))))))

(defun passepartout-list-sort (name)
  "Sort the list by the column NAME, that at point; once more turns it round.
Beside the rows, or with a prefix argument, ask for a column."
  (interactive
   (list (or (and (not current-prefix-arg) (passepartout-list--column-here))
             (and passepartout-list--columns
                  (completing-read "Sort by: "
                                   (mapcar #'car passepartout-list--columns)
                                   nil t)))))
  (unless name
    (user-error "This list has no columns to sort by"))
  (passepartout-list-sort-by name))

;;;; Setting up

(defun passepartout-list-set-up ()
  "Let the current buffer, a list, have an index and bookmarks."
  (setq-local imenu-create-index-function #'passepartout-list--imenu)
  (setq-local imenu-auto-rescan t)
  (setq-local bookmark-make-record-function #'passepartout-list--bookmark))

(defun passepartout-list-set-command (command)
  "Let COMMAND be the one that opens this list again, in a new Emacs too."
  (setq passepartout-list--command command)
  (setq-local desktop-save-buffer #'passepartout-list--desktop))

(provide 'passepartout-list)
;;; passepartout-list.el ends here
