;;; org-read.el --- What Org itself reads in files  -*- lexical-binding: t; -*-

;;; Commentary:

;; Usage: emacs -Q --batch -l org-read.el -f org-read-run OUT FILE...

;; OUT gets one JSON object a line: one for each file (level 0) and one for each
;; heading, in order.  Everything is asked of Org's own functions, with Org's own
;; defaults, so that the result says what a user's Emacs would say.

;;; Code:

(require 'org)
(require 'org-clock)
(require 'org-element)
(require 'org-id)
(require 'org-attach)

(defvar org-read-types '("id" "file" "http" "https" "attachment" "mailto")
  "Link types that exist in every Emacs with the libraries above.")

(defun org-read-hash (begin end)
  "Return the checksum of the text from BEGIN to END without outer white space."
  (let ((blank "[ \t\n\r\f]+"))
    (secure-hash 'sha256
                 (encode-coding-string
                  (string-trim (buffer-substring-no-properties begin end)
                               blank blank)
                  'utf-8-unix))))

(defun org-read-plain (text)
  "Return TEXT without properties; null when there is none."
  (if text (substring-no-properties text) :null))

(defun org-read-drawer ()
  "Return the lines of the property drawer at point as vectors."
  (pcase (org-get-property-block)
    (`(,begin . ,end)
     (save-excursion
       (goto-char begin)
       (let (lines)
         (while (< (point) end)
           (when (looking-at org-property-re)
             (push (vector (upcase (match-string-no-properties 2))
                           (string-trim (or (match-string-no-properties 3) "")))
                   lines))
           (forward-line))
         (vconcat (nreverse lines)))))
    (_ [])))

(defun org-read-values (drawer)
  "Return what `org-entry-get' says of each key of DRAWER and of some others."
  (let (keys)
    (mapc (lambda (line)
            (let ((key (string-remove-suffix "+" (aref line 0))))
              (unless (or (equal key "") (member key keys)
                          (member key org-special-properties))
                (push key keys))))
          drawer)
    (dolist (key '("ARCHIVE" "COLUMNS" "VAR" "HEADER-ARGS" "EFFORT"))
      (unless (member key keys) (push key keys)))
    (vconcat
     (mapcar (lambda (key)
               (vector key
                       (or (org-entry-get (point) key) :null)
                       (or (org-entry-get (point) key t) :null)))
             (sort keys #'string<)))))

(defun org-read-stamp (stamp)
  "Return the parts of the timestamp STAMP."
  (if (not stamp)
      :null
    (let ((get (lambda (name) (let ((value (org-element-property name stamp)))
                                (cond ((null value) :null)
                                      ((symbolp value) (symbol-name value))
                                      (t value))))))
      (vconcat
       (list (substring-no-properties (org-element-property :raw-value stamp)))
       (mapcar get '(:year-start :month-start :day-start :hour-start :minute-start
                     :year-end :month-end :day-end :hour-end :minute-end
                     :repeater-type :repeater-value :repeater-unit
                     :warning-type :warning-value :warning-unit))))))

(defun org-read-links (tree)
  "Return the links of TREE as an alist of line and vectors."
  (org-element-map tree 'link
    (lambda (link)
      (let ((type (org-element-property :type link)))
        (when (or (member type org-read-types)
                  (member type '("custom-id" "fuzzy")))
          (cons (org-element-property :begin link)
                (vector type
                        (substring-no-properties (org-element-property :path link))
                        (symbol-name (org-element-property :format link))
                        (org-read-plain (org-element-property :search-option link)))))))
    nil nil nil t))

(defun org-read-file (file)
  "Return the rows of FILE."
  (with-temp-buffer
    (insert-file-contents file)
    (let ((delay-mode-hooks t)) (org-mode))
    (org-clock-sum)
    (let* ((tree (org-element-parse-buffer))
           (heads (org-element-map tree 'headline #'identity))
           (places (append (mapcar (lambda (head) (org-element-property :begin head)) heads)
                           (list (point-max))))
           (links (sort (org-read-links tree) (lambda (a b) (< (car a) (car b)))))
           (take (lambda (end)
                   (let (own)
                     (while (and links (< (caar links) end))
                       (push (cdr (pop links)) own))
                     (vconcat (nreverse own)))))
           rows)
      (goto-char (point-min))
      (let ((drawer (if (org-before-first-heading-p) (org-read-drawer) [])))
        (push (list :file file :line 1 :level 0
                    :todo_keywords (vconcat org-todo-keywords-1)
                    :done_keywords (vconcat org-done-keywords)
                    :filetags (vconcat (mapcar #'substring-no-properties org-file-tags))
                    :keyword_properties
                    (vconcat (mapcar (lambda (pair) (vector (upcase (car pair)) (cdr pair)))
                                     (sort (copy-sequence org-keyword-properties)
                                           (lambda (a b) (string< (upcase (car a)) (upcase (car b)))))))
                    :properties drawer
                    :values (if (org-before-first-heading-p) (org-read-values drawer) [])
                    :links (funcall take (car places))
                    :body_sha256 (org-read-hash (point-min) (car places)))
              rows))
      (dolist (head heads)
        (let ((begin (pop places)))
          (goto-char begin)
          (let ((drawer (org-read-drawer)))
            (push (list :file file
                        :line (line-number-at-pos)
                        :level (or (org-element-property :true-level head)
                                   (org-element-property :level head))
                        :title (string-trim (or (org-element-property :raw-value head) "")
                                            "[ \t]+" "[ \t]+")
                        :todo (org-read-plain (org-element-property :todo-keyword head))
                        :done (if (eq (org-element-property :todo-type head) 'done) t :false)
                        :priority (let ((c (org-element-property :priority head)))
                                    (if c (char-to-string c) :null))
                        :tags (vconcat (mapcar #'substring-no-properties
                                               (org-element-property :tags head)))
                        :commented (if (org-element-property :commentedp head) t :false)
                        :archived (if (org-element-property :archivedp head) t :false)
                        :properties drawer
                        :values (org-read-values drawer)
                        :category (org-read-plain (org-get-category))
                        :scheduled (org-read-stamp (org-element-property :scheduled head))
                        :deadline (org-read-stamp (org-element-property :deadline head))
                        :closed (org-read-stamp (org-element-property :closed head))
                        :clock (or (get-text-property begin :org-clock-minutes) 0)
                        :links (funcall take (car places))
                        :body_sha256 (org-read-hash
                                      (save-excursion (goto-char begin) (forward-line)
                                                      (min (point) (car places)))
                                      (car places)))
                  rows))))
      (nreverse rows))))

(defun org-read-run ()
  "Write what Org reads in the files of the command line."
  (setq org-element-use-cache nil org-inhibit-startup t org-modules nil
        enable-local-variables nil enable-dir-local-variables nil
        vc-handled-backends nil inhibit-message t
        gc-cons-threshold (* 128 1024 1024))
  (prefer-coding-system 'utf-8)
  (let ((out (pop command-line-args-left))
        (rows (generate-new-buffer " *rows*"))
        (failed 0))
    (with-current-buffer rows (set-buffer-multibyte nil))
    (dolist (file command-line-args-left)
      (condition-case error
          (dolist (row (org-read-file file))
            (with-current-buffer rows
              (insert (encode-coding-string (json-serialize row) 'utf-8) "\n")))
        (error
         (setq failed (1+ failed))
         (let ((inhibit-message nil))
           (message "%s: %s" file (error-message-string error))))))
    (setq command-line-args-left nil)
    (with-current-buffer rows
      (let ((coding-system-for-write 'no-conversion))
        (write-region nil nil out nil 'silent)))
    (let ((inhibit-message nil))
      (message "Emacs %s, Org %s; %d files could not be read" emacs-version (org-version) failed))
    (kill-emacs (if (zerop failed) 0 1))))

(provide 'org-read)
;;; org-read.el ends here
