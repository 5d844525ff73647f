;;; passepartout-query-block.el --- Results of a query in a note  -*- lexical-binding: t; -*-

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

;; A dynamic block of Org that holds what fits a query:
;;
;;   #+BEGIN: passepartout-query :query "tag:work todo:open" :limit 20
;;   #+END:
;;
;; Org empties a block before it is written anew.  What stood there is
;; put back at once, and the core is asked; when its answer comes, it
;; takes the place of what stands there, if the block is still the same.
;; All that is inserted is made of links and inert words: no title of a
;; note can become a heading, a timestamp, or anything that runs.
;; Private headings come only into a note that is private itself.

;;; Code:

(require 'passepartout)
(require 'passepartout-chat-text)
(require 'passepartout-events)
(require 'passepartout-query)
(require 'passepartout-view)
(require 'org)
(eval-when-compile (require 'subr-x))

(declare-function org-dynamic-block-define "org" (type func))

(defconst passepartout-query-block--columns
  '((todo "Todo" :keyword) (priority "Priority" :priority)
    (title "Heading" :link) (tags "Tags" :tags) (path "In" :path)
    (file "File" :file) (scheduled "Scheduled" :scheduled)
    (deadline "Deadline" :deadline) (closed "Closed" :closed)
    (snippet "Text" :snippet))
  "The columns that there are: name, title, and what a heading says of it.")

(defconst passepartout-query-block--usual '(todo title deadline tags)
  "The columns without :columns.")

;;;; Text

(defun passepartout-query-block--inert (text)
  "Return TEXT as words of one line that Org gives no meaning."
  (let ((text (passepartout-view-line text 300)))
    ;; Brackets make timestamps, links, targets, code and macros; a bar
    ;; ends a cell.
    (dolist (pair '(("[[<]" . "(") ("[]>]" . ")") ("[{]" . "(") ("[}]" . ")")
                    ("|" . "¦") ("\\\\" . "/") ("@@" . "@")))
      (setq text (replace-regexp-in-string (car pair) (cdr pair) text t t)))
    text))

(defun passepartout-query-block--stamp (text)
  "Return TEXT, a timestamp, without what would put it into the agenda."
  (and text (passepartout-query-block--inert
             (string-trim text "[[<]+" "[]>]+"))))

(defun passepartout-query-block--cell (hit column)
  "Return what stands in COLUMN for HIT, and how wide it is shown."
  (let* ((entry (assq column passepartout-query-block--columns))
         (value (plist-get hit (nth 2 entry)))
         (text (pcase column
                 ('title value)
                 ('tags (if value (passepartout-query-block--inert
                                   (string-join value " "))))
                 ('path (if value (passepartout-query-block--inert
                                   (string-join value " › "))))
                 ('file (file-name-nondirectory
                         (passepartout-query-block--inert value)))
                 ((or 'scheduled 'deadline 'closed)
                  (passepartout-query-block--stamp value))
                 (_ (and value (passepartout-query-block--inert value))))))
    (setq text (or text ""))
    (when (eq column 'title)
      ;; The core makes the link; only a bar could break the table.
      (setq text (replace-regexp-in-string "[|\n]" "¦" text t t)))
    (cons text
          (string-width
           (if (string-match "\\`\\[\\[.*\\]\\[\\(.*\\)\\]\\]\\'" text)
               (match-string 1 text)
             text)))))

(defun passepartout-query-block--names (columns)
  "Return COLUMNS, a list or a text, as names that are known."
  (let* ((names (cond ((null columns) passepartout-query-block--usual)
                      ((stringp columns)
                       (mapcar #'intern (split-string columns "[ ,]+" t)))
                      ((symbolp columns) (list columns))
                      (t columns)))
         (unknown (seq-remove
                   (lambda (name)
                     (assq name passepartout-query-block--columns))
                   names)))
    (when unknown
      (user-error "There is no column %s; there are %s"
                  (car unknown)
                  (mapconcat (lambda (entry) (symbol-name (car entry)))
                             passepartout-query-block--columns ", ")))
    names))

(defun passepartout-query-block-text (hits columns &optional open)
  "Return HITS as a table of Org with COLUMNS.
OPEN says that it is for a note that is not private."
  (let* ((names (passepartout-query-block--names columns))
         (head (mapcar (lambda (name)
                         (let ((title (nth 1 (assq name passepartout-query-block--columns))))
                           (cons title (string-width title))))
                       names))
         (rows (cons head
                     (mapcar (lambda (hit)
                               (mapcar (lambda (name)
                                         (passepartout-query-block--cell
                                          hit name))
                                       names))
                             hits)))
         (widths (apply #'cl-mapcar
                        (lambda (&rest cells) (apply #'max (mapcar #'cdr cells)))
                        rows))
         (line (lambda (row)
                 (concat "| "
                         (string-join
                          (cl-mapcar (lambda (cell width)
                                       (concat (car cell)
                                               (make-string (- width (cdr cell))
                                                            ?\s)))
                                     row widths)
                          " | ")
                         " |\n"))))
    (if (null hits)
        (if open
            ;; Whether there are private ones is not for the note to say.
            "Nothing fits at present that may stand in an open note.\n"
          "Nothing fits at present.\n")
      (concat (funcall line head)
              "|-"
              (string-join (mapcar (lambda (width) (make-string width ?-))
                                   widths)
                           "-+-")
              "-|\n"
              (mapconcat line (cdr rows) "")))))

(defun passepartout-query-block-header (query limit columns)
  "Return the first line of a block for QUERY with LIMIT and COLUMNS."
  (concat "#+BEGIN: passepartout-query :query "
          (let ((print-escape-newlines t)) (prin1-to-string query))
          (if limit (format " :limit %d" limit) "")
          (if columns (format " :columns %S" columns) "")
          "\n"))

;;;; Filling

(defun passepartout-query-block--private-p ()
  "Return how private the file and the headings above point are: a tier, or nil."
  (org-with-wide-buffer
   (let ((going (not (org-before-first-heading-p)))
         (found (list (passepartout-chat--file-private-p))))
     (when going (org-back-to-heading t))
     (while going
       (push (passepartout-chat--private-in-p
              (point) (save-excursion (outline-next-heading) (point)))
             found)
       (setq going (org-up-heading-safe)))
     (passepartout-chat--strictest found))))

(defun passepartout-query-block--tier ()
  "Return the word for how private the place of point is, or nil."
  (let ((tier (passepartout-query-block--private-p)))
    (and tier (symbol-name tier))))

(defun passepartout-query-block--for ()
  "Return for what the core is asked at point: the note and how private it is."
  (let ((tier (passepartout-query-block--private-p)))
    (if tier
        `(:for :private-note :tier ,(symbol-name tier)
          ,@(and buffer-file-name
                 `(:file ,buffer-file-name
                   :byte ,(1- (position-bytes (point))))))
      '(:for :note))))

(defun passepartout-query-block--bounds (marker)
  "Return the region between the lines of the block at MARKER, or nil."
  (save-excursion
    (goto-char marker)
    (forward-line -1)
    (when (looking-at-p "[ \t]*#\\+BEGIN:[ \t]+passepartout-query\\>")
      (forward-line 1)
      (let ((start (point)) (case-fold-search t))
        (when (re-search-forward "^[ \t]*#\\+END\\(:\\|[ \t]*$\\)" nil t)
          (cons start (match-beginning 0)))))))

(defun passepartout-query-block--fill (marker line params private payload)
  "Fill the block at MARKER by PARAMS with PAYLOAD.
LINE is the line that it began with when the core was asked, and PRIVATE
says how private its note was then, or nil: when it is otherwise now,
the core is asked again, as private headings count in what it said."
  (let ((buffer (marker-buffer marker)))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (save-excursion
          (save-restriction
            (widen)
            (let ((bounds (passepartout-query-block--bounds marker)))
              (when (and bounds
                         (not buffer-read-only)
                         (equal line (passepartout-query-block--line marker)))
                (goto-char marker)
                (when (plist-get payload :held-back)
                  (message "Private headings fit, too; they do not come into \
an open note"))
                (if (and private
                         (not (equal private
                                     (passepartout-query-block--tier))))
                    (passepartout-query-block--ask params (copy-marker marker))
                  (passepartout-query-block--replace
                   bounds (passepartout-query-block--body
                           params payload
                           (passepartout-query-block--private-p)))))))))
      (set-marker marker nil))))

(defun passepartout-query-block--body (params payload private)
  "Return what stands in a block with PARAMS for PAYLOAD.
Private headings are among it only when PRIVATE says that the note is."
  (let* ((problem (plist-get payload :error))
         (hits (if private
                   (plist-get payload :hits)
                 (seq-remove (lambda (hit) (plist-get hit :private))
                             (plist-get payload :hits))))
         (shown (length hits))
         (total (or (plist-get payload :total) shown)))
    (if problem
        (passepartout-view-fixed
         (concat "This query cannot be read. "
                 (passepartout-view-line problem 600)))
      (concat (passepartout-query-block-text
               hits (plist-get params :columns) (not private))
              (if (and (< 0 shown) (< shown total))
                  (passepartout-view-fixed
                   (format "Note: %d of %s%d; a greater limit shows more."
                           shown
                           (if (plist-get payload :at-least) "at least " "")
                           total))
                "")
              (mapconcat (lambda (note)
                           (passepartout-view-fixed
                            (passepartout-view-note note)))
                         (plist-get payload :notes) "")))))

(defun passepartout-query-block--line (marker)
  "Return the line before MARKER."
  (save-excursion
    (goto-char marker)
    (forward-line -1)
    (buffer-substring-no-properties (point) (line-end-position))))

(defun passepartout-query-block--replace (bounds text)
  "Put TEXT in place of what stands within BOUNDS, if it differs."
  (unless (equal text (buffer-substring-no-properties (car bounds)
                                                      (cdr bounds)))
    (undo-boundary)
    (goto-char (car bounds))
    (delete-region (car bounds) (cdr bounds))
    (insert text)
    (undo-boundary)))

(defun passepartout-query-block--ask (params start)
  "Ask the core for what PARAMS say, for the block whose inside is at START."
  (let ((query (format "%s" (or (plist-get params :query) "")))
        (limit (plist-get params :limit))
        (for (passepartout-query-block--for))
        (line (passepartout-query-block--line start)))
    ;; A name of a column that is wrong is said at once.
    (passepartout-query-block--names (plist-get params :columns))
    (passepartout-request
     :query `(:query ,query
              ,@(and (integerp limit) `(:limit ,limit))
              ,@for)
     (lambda (payload)
       (passepartout-query-block--fill
        start line params (plist-get for :tier) payload)))))

;;;###autoload
(defun org-dblock-write:passepartout-query (params)
  "Fill a dynamic block by PARAMS: :query, :limit and :columns.
What stood there stays until the core has answered, and whenever it
cannot be asked."
  (let ((content (or (plist-get params :content) ""))
        (start (point-marker))
        (asked nil))
    ;; Org has taken it out already.
    (insert (if (string-empty-p (string-trim content))
                ": Asking…"
              (string-trim-right content "\n")))
    (unwind-protect
        (progn (passepartout-query-block--ask params start)
               (setq asked t))
      (unless asked
        (let ((bounds (passepartout-query-block--bounds start)))
          (when bounds
            (passepartout-query-block--replace bounds content)))
        (set-marker start nil)))))

;;;###autoload
(defun passepartout-query-insert-block (query)
  "Insert a dynamic block that holds what fits QUERY, and fill it."
  (interactive (list (passepartout-query--read)))
  (unless (derived-mode-p 'org-mode)
    (user-error "A dynamic block goes into an Org buffer"))
  (unless (bolp) (insert "\n"))
  (let ((start (point)))
    (insert (passepartout-query-block-header query 20 nil) "#+END:\n")
    (goto-char start)
    (org-update-dblock)))

(when (fboundp 'org-dynamic-block-define)
  (org-dynamic-block-define "passepartout-query"
                            #'passepartout-query-insert-block))

(provide 'passepartout-query-block)
;;; passepartout-query-block.el ends here
