;;; passepartout-query.el --- Ask memory, and see what fits  -*- lexical-binding: t; -*-

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

;; `passepartout-query' asks memory in the query language and shows what
;; fits in a buffer that can be asked again, sorted, bookmarked and
;; saved.  This file also holds what the other two surfaces of queries
;; share: how a heading is shown on a line, and how it is visited.
;;
;; Titles and snippets are foreign text: they are shown as one visible
;; line each, and never read as Org.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(require 'cl-lib)
(eval-when-compile (require 'subr-x))

(declare-function bookmark-prop-get "bookmark" (bookmark prop))
(declare-function bookmark-make-record-default "bookmark")
(declare-function xref-push-marker-stack "xref" (&optional m))
(declare-function org-fold-show-context "org-fold" (&optional key))
(declare-function org-show-context "org" (&optional key))
(declare-function passepartout-query-block-text "passepartout-query-block"
                  (hits columns &optional open))
(declare-function passepartout-query-block-header "passepartout-query-block"
                  (query limit columns))
(defvar bookmark-make-record-function)

(defvar passepartout-query-history nil
  "The queries that were asked, the newest first.")

(defconst passepartout-query--sorts
  '("score" "file" "title" "todo" "priority" "level" "scheduled" "deadline"
    "closed" "planned" "modified")
  "What results can be sorted by.")

(defface passepartout-query-mark '((t :inherit match))
  "Face for what was looked for in the text that was found."
  :group 'passepartout)

;;;; A heading on a line

(defun passepartout-query-title (hit)
  "Return the title of HIT as one visible line, links as their words."
  (let ((title (passepartout-view-line
                (replace-regexp-in-string
                 "\\[\\[\\(?:[^][]*\\]\\[\\)?\\([^][]*\\)\\]\\]" "\\1"
                 (or (plist-get hit :title) "") t)
                200)))
    (if (string-empty-p title) "(no title)" title)))

(defun passepartout-query-keyword (hit)
  "Return the keyword of HIT in its face, or nil."
  (let ((keyword (plist-get hit :keyword)))
    (and keyword
         (propertize (passepartout-view-line keyword 30)
                     'face (if (plist-get hit :done)
                               'passepartout-good
                             'passepartout-attention)))))

(defun passepartout-query--stamps (hit)
  "Return the timestamps of HIT as one text, or nil."
  (let (texts)
    (dolist (kind '(:scheduled :deadline :closed))
      (let ((stamp (plist-get hit kind)))
        (when stamp
          (push (concat (substring (symbol-name kind) 1) " "
                        (passepartout-view-line stamp 60))
                texts))))
    (and texts (string-join (nreverse texts) "  "))))

(defun passepartout-query-place (hit)
  "Return where HIT stands: its file and the titles above it."
  (let ((path (plist-get hit :path)))
    (concat (file-name-nondirectory
             (passepartout-view-line (plist-get hit :file) 500))
            (if path
                (concat " › "
                        (mapconcat (lambda (title)
                                     (passepartout-view-line title 40))
                                   path " › "))
              ""))))

(defun passepartout-query--snippet (hit)
  "Return the snippet of HIT with its marks, or nil."
  (let ((snippet (plist-get hit :snippet)))
    (when snippet
      (let ((at 0) parts)
        ;; Each part is made visible by itself: escapes move the marks.
        (dolist (mark (plist-get hit :marks))
          (let ((beg (max at (min (car mark) (length snippet))))
                (end (min (cadr mark) (length snippet))))
            (push (passepartout-view-visible (substring snippet at beg)) parts)
            (push (propertize
                   (passepartout-view-visible
                    (substring snippet beg (max beg end)))
                   'face 'passepartout-query-mark)
                  parts)
            (setq at (max beg end))))
        (push (passepartout-view-visible (substring snippet at)) parts)
        (replace-regexp-in-string "[\n\t]" " "
                                  (apply #'concat (nreverse parts)))))))

;;;; Going there

(defun passepartout-query--plain (text)
  "Return TEXT with runs of white space and control characters as one blank."
  (string-trim (replace-regexp-in-string "[[:space:][:cntrl:]]+" " " text)))

(defun passepartout-query--here-p (hit)
  "Return non-nil when the line at point is the headline of HIT."
  (save-excursion
    (beginning-of-line)
    (if (eql 0 (or (plist-get hit :level) 0))
        (bobp)
      (and (looking-at-p "\\*+ ")
           (string-search
            (passepartout-query--plain (plist-get hit :title))
            (passepartout-query--plain
             (buffer-substring-no-properties (point) (line-end-position))))))))

(defun passepartout-query--by-id (hit)
  "Return where the heading with the id of HIT begins, or nil."
  (save-excursion
    (goto-char (point-min))
    (let ((case-fold-search t))
      (when (re-search-forward
             (concat "^[ \t]*:ID:[ \t]+" (regexp-quote (plist-get hit :id))
                     "[ \t]*$")
             nil t)
        (if (re-search-backward "^\\*+ " nil t) (point) (point-min))))))

(defun passepartout-query--by-title (hit)
  "Return where the headline of HIT that is nearest to its line begins, or nil."
  (save-excursion
    (let ((line (or (plist-get hit :line) 1)) (best nil))
      (goto-char (point-min))
      (while (re-search-forward "^\\*+ " nil t)
        (when (passepartout-query--here-p hit)
          (let ((away (abs (- (line-number-at-pos) line))))
            (when (or (null best) (< away (car best)))
              (setq best (cons away (line-beginning-position)))))))
      (cdr best))))

(defun passepartout-query--position (hit)
  "Return where HIT begins in the current buffer, or nil when it has gone."
  (save-excursion
    (let ((byte (byte-to-position (1+ (or (plist-get hit :byte) 0)))))
      (or (and byte
               (progn (goto-char byte)
                      (and (bolp) (passepartout-query--here-p hit)))
               byte)
          (progn (goto-char (point-min))
                 (forward-line (1- (or (plist-get hit :line) 1)))
                 (and (passepartout-query--here-p hit) (point)))
          (passepartout-query--by-id hit)
          (passepartout-query--by-title hit)))))

(defun passepartout-query--open (file)
  "Return the buffer of FILE, and say so when opening it takes long.
The first Org buffer of an Emacs loads all of `org-modules', Gnus among
them; about half of those seconds goes into collecting garbage."
  (or (find-buffer-visiting file)
      (let ((gc-cons-threshold (max gc-cons-threshold (* 128 1024 1024))))
        (unless (bound-and-true-p org-modules-loaded)
          (message "Opening %s; Org loads its modules first…"
                   (passepartout-view-line (file-name-nondirectory file)))
          (redisplay))
        (find-file-noselect file))))

(defun passepartout-query-buffer (hit)
  "Return the buffer of the file of HIT with point at its heading."
  (let ((file (plist-get hit :file)))
    (passepartout-abroad-check-file (passepartout-view-line file 200))
    (unless (and file (or (find-buffer-visiting file)
                          (file-readable-p file)))
      (user-error "%s cannot be read any more; M-x passepartout-rescan"
                  (passepartout-view-line (or file "The file") 200)))
    (with-current-buffer (passepartout-query--open file)
      (let ((position (save-restriction
                        (widen)
                        (passepartout-query--position hit))))
        (if (not position)
            (message "“%s” is not there any more; it was on line %s"
                     (passepartout-query-title hit) (plist-get hit :line))
          (unless (<= (point-min) position (point-max)) (widen))
          (push-mark nil t)
          (goto-char position)))
      (current-buffer))))

(defun passepartout-query-visit (hit &optional other-window)
  "Go to the heading of HIT, in another window when OTHER-WINDOW is non-nil."
  (require 'xref)
  (let ((marker (point-marker))
        (buffer (passepartout-query-buffer hit)))
    (xref-push-marker-stack marker)
    (let ((position (with-current-buffer buffer (point))))
      (if other-window
          (pop-to-buffer buffer)
        (pop-to-buffer-same-window buffer))
      (goto-char position))
    (when (derived-mode-p 'org-mode)
      (if (fboundp 'org-fold-show-context)
          (org-fold-show-context 'link-search)
        (with-suppressed-warnings ((obsolete org-show-context))
          (org-show-context 'link-search))))))

;;;; The buffer of results

(defvar-local passepartout-query--query nil
  "The query of this buffer.")

(defvar-local passepartout-query--limit 50
  "How many headings this buffer shows at most.")

(defvar-local passepartout-query--payload nil
  "What the core answered last.")

(defvar-local passepartout-query--asked nil
  "The number of the request that is under way, or nil.")

(defvar passepartout-query-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map special-mode-map)
    (define-key map (kbd "n") #'passepartout-list-next)
    (define-key map (kbd "p") #'passepartout-list-previous)
    (define-key map (kbd "RET") #'passepartout-query-go)
    (define-key map (kbd "o") #'passepartout-query-go-other-window)
    (define-key map (kbd "SPC") #'passepartout-query-show)
    (define-key map (kbd "e") #'passepartout-query-edit)
    (define-key map (kbd "s") #'passepartout-query-sort)
    (define-key map (kbd "S") #'passepartout-query-sort)
    (define-key map (kbd "+") #'passepartout-query-more)
    (define-key map (kbd "w") #'passepartout-query-copy)
    (define-key map (kbd "C-x C-s") #'passepartout-query-save)
    (define-key map (kbd "C-x C-w") #'passepartout-query-save)
    (define-key map (kbd "j") #'imenu)
    (define-key map (kbd "?") #'passepartout-list-help)
    (define-key map [mouse-2] #'passepartout-query-click)
    (define-key map [follow-link] 'mouse-face)
    map)
  "Keys of the buffer of results.")

(define-derived-mode passepartout-query-mode special-mode "PP-Query"
  "Major mode of what fits a query.

\\{passepartout-query-mode-map}"
  (setq-local revert-buffer-function #'passepartout-query--revert)
  (passepartout-list-set-up)
  (setq-local bookmark-make-record-function #'passepartout-query--bookmark)
  (setq-local bidi-display-reordering nil)
  (setq-local truncate-lines nil)
  (setq-local word-wrap t)
  (setq-local buffer-undo-list t))

(defun passepartout-query--total (payload)
  "Return the number of headings in PAYLOAD in words."
  (let ((total (or (plist-get payload :total) 0))
        (shown (length (plist-get payload :hits))))
    (cond ((= total 0) "nothing fits")
          ((plist-get payload :at-least)
           (format "%d of at least %d headings" shown total))
          ((= total shown)
           (format (if (= total 1) "%d heading" "%d headings") total))
          (t (format "%d of %d headings" shown total)))))

(defun passepartout-query--header ()
  "Set the header line of this buffer."
  (setq header-line-format
        (replace-regexp-in-string
         "%" "%%"
         (concat " " (if (string-empty-p passepartout-query--query)
                         "(everything)"
                       (passepartout-view-line passepartout-query--query))
                 (propertize
                  (concat "  "
                          (cond (passepartout-query--asked "asking…")
                                ((plist-get passepartout-query--payload :error)
                                 "cannot be read")
                                (passepartout-query--payload
                                 (passepartout-query--total
                                  passepartout-query--payload))
                                (t ""))
                          "    RET goes there, s sorts, e changes, ? helps")
                  'face 'passepartout-quiet))
         t t)))

(defun passepartout-query--insert-lines (hit)
  "Insert HIT, on one to three lines."
  (let ((start (point))
        (keyword (passepartout-query-keyword hit))
        (tags (plist-get hit :tags))
        (stamps (passepartout-query--stamps hit))
        (snippet (passepartout-query--snippet hit)))
    (insert (if keyword (concat keyword " ") "")
            (let ((priority (plist-get hit :priority)))
              (if priority (format "[#%s] " priority) ""))
            (propertize (passepartout-query-title hit) 'face 'bold)
            (if tags
                (propertize (concat "  :" (passepartout-view-line
                                           (string-join tags ":") 120)
                                    ":")
                            'face 'passepartout-quiet)
              ""))
    (add-text-properties start (point)
                         '(mouse-face highlight help-echo "Go there"))
    (insert "\n  "
            (propertize (passepartout-query-place hit)
                        'face 'passepartout-quiet)
            (if stamps (concat "  " stamps) "") "\n")
    (when snippet (insert "  " snippet "\n"))))

(defun passepartout-query--insert (hit)
  "Insert HIT as an item."
  (passepartout-list-item (plist-get hit :id) (passepartout-query-title hit)
			  hit
    (passepartout-query--insert-lines hit)))

(defun passepartout-query--draw ()
  "Draw what the core answered."
  (let* ((payload passepartout-query--payload)
         (hits (plist-get payload :hits))
         (problem (plist-get payload :error)))
    (passepartout-view-draw
      (cond
       (problem
        (insert (propertize "This query cannot be read.\n"
                            'face 'passepartout-bad)
                (passepartout-view-line problem 600) "\n\n"
                (substitute-command-keys
                 "Press \\<passepartout-query-mode-map>\
\\[passepartout-query-edit] to change it.\n")))
       ((null hits)
        (insert "Nothing fits.\n"
                (substitute-command-keys
                 "Press \\<passepartout-query-mode-map>\
\\[passepartout-query-edit] to change the query, \\[revert-buffer] to ask \
again.\n"))))
      (dolist (note (plist-get payload :notes))
        (insert (propertize (concat (passepartout-view-note note) "\n")
                            'face 'passepartout-attention)))
      (mapc #'passepartout-query--insert hits))
    (passepartout-query--header)))

(defun passepartout-query--ask ()
  "Ask the query of this buffer and draw the answer when it comes."
  (let ((buffer (current-buffer)) (number nil))
    (setq number
          (passepartout-request
           :query `(:query ,passepartout-query--query
                    :limit ,passepartout-query--limit :for :screen)
           (lambda (payload)
             (when (buffer-live-p buffer)
               (with-current-buffer buffer
                 ;; An older answer that comes late is not wanted.
                 (when (eql (plist-get payload :request)
                            passepartout-query--asked)
                   (setq passepartout-query--asked nil
                         passepartout-query--payload payload)
                   (passepartout-query--draw)))))))
    (setq passepartout-query--asked number)
    (passepartout-query--header)))

(defun passepartout-query--revert (&rest _)
  "Ask the query of this buffer again."
  (passepartout-query--ask))

(defun passepartout-query--read (&optional initial)
  "Read a query in the minibuffer, with INITIAL to begin with."
  (read-string "Query (words, \"phrase\", tag:x, todo:open, deadline:+7d): "
               initial 'passepartout-query-history))

;;;###autoload
(defun passepartout-query (query &optional limit)
  "Show the headings that fit QUERY in a buffer, at most LIMIT if that is given."
  (interactive (list (passepartout-query--read)))
  (let ((buffer (get-buffer-create
                 (format "*Passepartout query: %s*"
                         (passepartout-view-line query 60)))))
    (with-current-buffer buffer
      (unless (derived-mode-p 'passepartout-query-mode)
        (passepartout-query-mode))
      (setq passepartout-query--query query)
      (when limit (setq passepartout-query--limit limit))
      (passepartout-query--ask))
    (pop-to-buffer buffer)))

;;;; Commands in the buffer

(defun passepartout-query--at-point ()
  "Return the heading at point, or signal an error."
  (or (passepartout-list-data)
      (user-error "There is no heading here")))

(defun passepartout-query-go ()
  "Go to the heading at point."
  (interactive)
  (passepartout-query-visit (passepartout-query--at-point)))

(defun passepartout-query-go-other-window ()
  "Go to the heading at point in another window."
  (interactive)
  (passepartout-query-visit (passepartout-query--at-point) t))

(defun passepartout-query-show ()
  "Show the heading at point in another window and stay here."
  (interactive)
  (save-selected-window
    (passepartout-query-visit (passepartout-query--at-point) t)))

(defun passepartout-query-click (event)
  "Go to the heading that EVENT, a click, is on."
  (interactive "e")
  (mouse-set-point event)
  (passepartout-query-go))

(defun passepartout-query-edit ()
  "Change the query of this buffer."
  (interactive)
  (let ((query (passepartout-query--read passepartout-query--query)))
    (setq passepartout-query--query query)
    (passepartout-query--rename)
    (passepartout-query--ask)))

(defun passepartout-query--rename ()
  "Name this buffer by its query."
  (rename-buffer (format "*Passepartout query: %s*"
                         (passepartout-view-line passepartout-query--query 60))
                 t))

(defun passepartout-query--sorted (query sort)
  "Return QUERY sorted by SORT in place of what it says of it."
  (concat (string-trim
           (replace-regexp-in-string
            "\\(?:\\`\\|[ \t]\\)sort:[^ \t()\"]+" "" query))
          " sort:" sort))

(defun passepartout-query-sort (sort)
  "Sort the results by SORT; with a minus before it the other way round."
  (interactive
   (list (completing-read
          "Sort by: "
          (append passepartout-query--sorts
                  (mapcar (lambda (sort) (concat "-" sort))
                          passepartout-query--sorts))
          nil t)))
  (when (string-prefix-p "(" (string-trim-left passepartout-query--query))
    ;; What the core made of an s-expression is a query in words.
    (setq passepartout-query--query
          (or (plist-get passepartout-query--payload :query)
              passepartout-query--query)))
  (setq passepartout-query--query
        (passepartout-query--sorted passepartout-query--query sort))
  (passepartout-query--rename)
  (passepartout-query--ask))

(defun passepartout-query-more ()
  "Ask for twice as many headings."
  (interactive)
  (setq passepartout-query--limit (min 1000 (* 2 passepartout-query--limit)))
  (passepartout-query--ask))

(defun passepartout-query-copy ()
  "Copy an Org link to the heading at point."
  (interactive)
  (let ((link (plist-get (passepartout-query--at-point) :link)))
    (kill-new link)
    (message "Copied %s" (passepartout-view-line link))))

(defun passepartout-query-save (file)
  "Write the results to FILE, as a dynamic block of Org.
Private headings are left out, unless you say that they go along; then
the whole file says that it is private."
  (interactive (list (passepartout-view-read-new-file
                      "Save the results as an Org file"
                      default-directory "query.org")))
  (require 'passepartout-query-block)
  (let* ((query passepartout-query--query)
         (limit passepartout-query--limit)
         (hits (plist-get passepartout-query--payload :hits))
         (count (seq-count (lambda (hit) (plist-get hit :private)) hits))
         (private (and (< 0 count)
                       (y-or-n-p
                        (format "Save %d private heading%s too, in a file that \
says it is private? " count (if (= count 1) "" "s"))))))
    (unless private
      (setq hits (seq-remove (lambda (hit) (plist-get hit :private)) hits)))
    (with-temp-buffer
      (insert "#+TITLE: " (passepartout-view-line query) "\n"
              (if private "#+PROPERTY: PRIVACY private\n" "") "\n"
              (passepartout-query-block-header query limit nil)
              (passepartout-query-block-text hits nil)
              "#+END:\n")
      (let ((coding-system-for-write 'utf-8-unix))
        (write-region nil nil file nil nil nil t)))))

;;;; Bookmarks

(defun passepartout-query--bookmark ()
  "Return a bookmark of this query."
  `(,(concat "Query: " (passepartout-view-line passepartout-query--query 60))
    (query . ,passepartout-query--query)
    (limit . ,passepartout-query--limit)
    (handler . passepartout-query-bookmark-jump)))

;;;###autoload
(defun passepartout-query-bookmark-jump (bookmark)
  "Ask the query of BOOKMARK again."
  (require 'bookmark)
  (let ((query (bookmark-prop-get bookmark 'query)))
    (save-window-excursion
      (passepartout-query query (or (bookmark-prop-get bookmark 'limit) 50)))
    (set-buffer (format "*Passepartout query: %s*"
                        (passepartout-view-line query 60)))))
(put 'passepartout-query-bookmark-jump 'bookmark-handler-type "Query")

(provide 'passepartout-query)
;;; passepartout-query.el ends here
