;;; passepartout-chat-add.el --- Add what goes along with a question  -*- lexical-binding: t; -*-

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

;; A region, a buffer, a file, a picture, a subtree or the agenda goes
;; along with the next question of a chat: what is added stands there in a line, is
;; read when the question is sent, and is as private as the place that
;; it comes from.  A line whose text is not at hand any more, as after a
;; restart of Emacs, keeps the question from being sent.
;;
;; A picture is known by its first bytes.  Its name alone is sent: the
;; core reads it, and says how large and how private it is.

;;; Code:

(require 'cl-lib)
(require 'org)
(require 'project)
(require 'passepartout)
(require 'passepartout-view)
(require 'passepartout-chat)
(require 'passepartout-chat-along)
(require 'passepartout-question)
(eval-when-compile (require 'subr-x))

(defvar org-agenda-sticky)
(defvar org-agenda-window-setup)
(defvar org-agenda-buffer)
(defvar org-agenda-buffer-name)
(defvar org-agenda-buffer-tmp-name)
(declare-function org-agenda-list "org-agenda"
                  (&optional arg start-day span with-hour))
(declare-function passepartout-chat--base "passepartout-chat-place" ())
(declare-function passepartout-chat--mark-private "passepartout-chat-answer"
                  (position private))

(defvar-local passepartout-chat--along nil
  "A table from lines about what goes along to what each stands for.
That is a plist as of `passepartout-question-target', or one with :text
or :path in place of :beg and :end; a picture has a :path and its kind as
:picture.")
(put 'passepartout-chat--along 'permanent-local t)

;;;; What can go along

(defun passepartout-chat-add--place (target)
  "Return TARGET, of the current buffer, with :label, what people read of it.
It says where it stands, as a link where that is a file of this machine."
  (let* ((beg (plist-get target :beg))
         (line (save-restriction (widen) (line-number-at-pos beg t)))
         (file (buffer-file-name (or (buffer-base-buffer) (current-buffer))))
         (text (passepartout-chat--link-text
                (format "%s of %s, line %d on" (plist-get target :what)
                        (buffer-name) line))))
    (plist-put target :label
               (passepartout-chat-add--link
                (and file (format "%s::%d" file line)) text))))

(defun passepartout-chat-add--link (place text)
  "Return TEXT as a link to PLACE, of a file of this machine, or alone.
A name that would not stay on its line is no link."
  (if (or (null place)
          (file-remote-p place)
          (string-match-p "[[:cntrl:]]" place))
      text
    (org-link-make-string (concat "file:" place) text)))

(defun passepartout-chat-add--file (file)
  "Return FILE, a name, as what goes along.
Notes are visited, so that how private they are can be read of them.
Of a picture no more than its beginning is read here."
  (let ((file (expand-file-name file)))
    (cond
     ((file-remote-p file)
      (user-error "%s is on another machine; open it and add its buffer"
                  (file-name-nondirectory file)))
     ((not (and (file-regular-p file) (file-readable-p file)))
      (user-error "%s is no file that can be read" file))
     ((passepartout-question--encrypted-p file)
      (user-error "%s is encrypted; open it and add its buffer"
                  (file-name-nondirectory file))))
    (let ((kind (passepartout-chat-add--picture-kind file)))
      (if kind
          (passepartout-chat-add--picture file kind)
        (passepartout-chat-add--file-of-text file)))))

(defun passepartout-chat-add--file-of-text (file)
  "Return FILE, the absolute name of a text, as what goes along."
  (let ((size (file-attribute-size (file-attributes file))))
    ;; Before it is visited: what is too large is not.
    (passepartout-question--check-size size)
    (let ((buffer (if (string-match-p "\\.org\\(?:_archive\\)?\\'" file)
                      (find-file-noselect file)
                    (find-buffer-visiting file))))
      (if buffer
          (with-current-buffer buffer
            (save-restriction
              (widen)
              (passepartout-chat-add--named
               (passepartout-question-target (point-min) (point-max)
                                             "the file")
               file)))
        (passepartout-chat-add--text-of file)
        (passepartout-chat-add--named
         (list :path file :what "the file" :bytes size :tier nil) file)))))

(defconst passepartout-chat-add--pictures
  '(("\x89PNG\r\n\x1a\n" . "PNG") ("\xff\xd8\xff" . "JPEG")
    ("GIF87a" . "GIF") ("GIF89a" . "GIF"))
  "How pictures that can go along begin, each with its kind.")

(defun passepartout-chat-add--picture-kind (file)
  "Return what kind of picture FILE is by its first bytes, or nil."
  (let ((begin (with-temp-buffer
                 (set-buffer-multibyte nil)
                 (insert-file-contents-literally file nil 0 12)
                 (buffer-string))))
    (if (and (string-prefix-p "RIFF" begin) (string-suffix-p "WEBP" begin))
        "WebP"
      (cdr (seq-find (lambda (entry) (string-prefix-p (car entry) begin))
                     passepartout-chat-add--pictures)))))

(defun passepartout-chat-add--picture (file kind)
  "Return FILE, a picture of KIND, as what goes along."
  (when (passepartout-module-road :tag)
    (user-error "%s is a picture, and the core of this chat is outside of \
this Emacs: only that of this Emacs is sent pictures"
                (file-name-nondirectory file)))
  (passepartout-chat-add--named
   (list :path file :picture kind :what "the picture"
         :bytes (file-attribute-size (file-attributes file)) :tier nil)
   file))

(defun passepartout-chat-add--named (target file)
  "Return TARGET, all of FILE, with that and a label that is a link to it."
  (append target
          (list :file file
                :label (passepartout-chat-add--link
                        file
                        (passepartout-chat--link-text
                         (format "%s %s" (plist-get target :what)
                                 (abbreviate-file-name file)))))))

(defun passepartout-chat-add--text-of (file)
  "Return the text of FILE; signal an error when it is none."
  (with-temp-buffer
    (insert-file-contents file)
    (goto-char (point-min))
    (when (or (search-forward "\0" nil t)
              (seq-some (lambda (character)
                          (eq (char-charset character) 'eight-bit))
                        (buffer-string)))
      (user-error "%s is no text, and no PNG, JPEG, GIF or WebP; \
only these can go along"
                  (file-name-nondirectory file)))
    (passepartout-events-clean (buffer-string))))

(defun passepartout-chat-add--agenda ()
  "Return the agenda as what goes along: the one at point, or that of the week."
  (let ((text (if (derived-mode-p 'org-agenda-mode)
                  (passepartout-chat-add--shown)
                (passepartout-chat-add--week))))
    (when (string-blank-p text)
      (user-error "The agenda is empty"))
    (list :text (passepartout-events-clean text)
          :what "the agenda"
          :label (format "the agenda, as of %s"
                         (format-time-string "%Y-%m-%d %H:%M"))
          :bytes (string-bytes text)
          ;; It shows notes of any kind.
          :tier 'block)))

(defun passepartout-chat-add--shown ()
  "Return the text of this buffer without what a filter hides."
  (let ((from (point-min)) texts)
    (while (< from (point-max))
      (let ((to (next-single-char-property-change from 'invisible)))
        (unless (invisible-p from)
          (push (buffer-substring-no-properties from to) texts))
        (setq from to)))
    (apply #'concat (nreverse texts))))

(defvar org-agenda-markers)
(defvar org-agenda-last-marker-time)
(defvar org-agenda-pre-window-conf)

(defun passepartout-chat-add--week ()
  "Return the agenda of the week as a text, and leave no trace of it."
  (require 'org-agenda)
  (save-window-excursion
    (let* ((name " *passepartout agenda*")
           (org-agenda-sticky nil)
           (org-agenda-window-setup 'current-window)
           ;; An agenda of yours is left as it is.
           (org-agenda-buffer-tmp-name name)
           (org-agenda-buffer-name name)
           (org-agenda-buffer (bound-and-true-p org-agenda-buffer))
           ;; Making an agenda, and killing it, takes these markers back.
           (org-agenda-markers nil)
           (org-agenda-last-marker-time nil)
           (org-agenda-pre-window-conf nil))
      (unwind-protect
          (progn
            (org-agenda-list nil nil 'week)
            (with-current-buffer name
              (buffer-substring-no-properties (point-min) (point-max))))
        (when (get-buffer name)
          (kill-buffer name))))))

;;;; The lines

(defun passepartout-chat-add--line (target)
  "Return the line that says that TARGET goes along."
  (let* ((bytes (plist-get target :bytes))
         (picture (plist-get target :picture))
         ;; Of a picture the core says them, once it was asked.
         (tokens (if picture
                     (plist-get target :tokens)
                   (max 1 (/ bytes 4)))))
    (format "%s%s (%s)" passepartout-chat--along-mark
            (plist-get target :label)
            (mapconcat #'identity
                       (delq nil
                             (list picture
                                   (plist-get target :pixels)
                                   (passepartout-question-size bytes)
                                   (and tokens (format "about %d tokens" tokens))
                                   (and (plist-get target :tier) "private")))
                       ", "))))

(defun passepartout-chat-add--key (target table)
  "Return a line for TARGET that stands for nothing else in TABLE."
  (let ((line (passepartout-chat-add--line target)) (number 1) known)
    (while (and (setq known (gethash (if (= number 1) line
                                       (format "%s, %d" line number))
                                     table))
                (not (equal (list (plist-get known :beg) (plist-get known :path))
                            (list (plist-get target :beg)
                                  (plist-get target :path)))))
      (setq number (1+ number)))
    (if (= number 1) line (format "%s, %d" line number))))

(defun passepartout-chat-add--note (target)
  "Note in this chat which line stands for TARGET, and return it."
  (let* ((table (or passepartout-chat--along
                    (setq passepartout-chat--along
                          (make-hash-table :test #'equal))))
         (line (passepartout-chat-add--key target table)))
    (puthash line target table)
    line))

(defun passepartout-chat-add--known-file (line)
  "Return the file of the project that LINE names as what goes along, or nil.
So much of a line holds without this Emacs having made it.  A file that
lies elsewhere it could name for somebody else."
  (let ((folder (passepartout-chat--project)))
    (and folder
         (not (file-remote-p folder))
         (string-match
          "\\[\\[file:\\(/[^]]+\\)\\]\\[the \\(?:file\\|picture\\) " line)
         (let ((file (passepartout-chat-add--file-of
                      (file-relative-name (match-string 1 line) folder)
                      folder)))
           (and file (passepartout-chat-add--file file))))))

(defun passepartout-chat-add--lines (start)
  "Return the lines of the question at START about what goes along."
  (save-excursion
    (goto-char start)
    (let ((end (save-excursion
                 (let ((end (passepartout-chat--turn-end)))
                   (if (passepartout-chat--find-answer end)
                       (match-beginning 0)
                     end))))
          (lines nil))
      (while (re-search-forward passepartout-chat--along-regexp end t)
        (push (match-string-no-properties 0) lines))
      (nreverse lines))))

(defun passepartout-chat-add--put (target)
  "Let TARGET go along with the question that is being written in this chat.
Return its line."
  (with-current-buffer (passepartout-chat--base)
    (let ((line (passepartout-chat-add--note target)))
      (org-with-wide-buffer
       (passepartout-chat-add--to-question)
       (let ((start (point)))
         (unless (passepartout-chat-add--there-p target line start)
           (passepartout-chat-add--insert line))
         (goto-char start)
         (when (plist-get target :tier)
           (passepartout-chat-add--mark (plist-get target :tier)))))
      (passepartout-chat--prompt-hint)
      (when (and (plist-get target :picture) (passepartout-running-p))
        (passepartout-chat-add--look target line))
      line)))

(defun passepartout-chat-add--there-p (target line start)
  "Return non-nil when TARGET goes along with the question at START already.
That is by LINE, or of a picture by what the core made of that line."
  (seq-some (lambda (known)
              (or (equal known line)
                  (and (plist-get target :picture)
                       (equal (plist-get target :path)
                              (plist-get (gethash known passepartout-chat--along)
                                         :path)))))
            (passepartout-chat-add--lines start)))

(defun passepartout-chat-add--look (target line)
  "Ask the core what the picture TARGET is, whose line is LINE, and say it there.
Of one that cannot go along the line is taken out again, unless it was
asked about already."
  (let ((chat (current-buffer)))
    (passepartout-request
     :picture
     `(:file ,(plist-get target :path) :project ,(passepartout-chat--project))
     (lambda (payload)
       (when (buffer-live-p chat)
         (with-current-buffer chat
           (passepartout-chat-add--looked target line payload))))
     (passepartout-chat--session))))

(defun passepartout-chat-add--looked (target line payload)
  "Put what PAYLOAD says of the picture TARGET in the place of LINE."
  (let ((why (plist-get payload :error))
        (inhibit-read-only t))
    (org-with-wide-buffer
     (goto-char (point-max))
     (when (and (search-backward (concat line "\n") nil t)
                (bolp)
                (not (passepartout-chat--in-answer-p)))
       (cond
        ((not why)
         (let* ((tier (passepartout-chat-add--tier (plist-get payload :private)))
                (told (append (list :pixels (format "%d×%d" (plist-get payload :width)
                                                    (plist-get payload :height))
                                    :tokens (plist-get payload :tokens)
                                    :tier tier)
                              target)))
           (delete-region (point) (line-end-position))
           (insert (passepartout-chat-add--note told))
           (passepartout-chat--label-along (line-beginning-position)
                                           (line-end-position))
           (when (and tier (passepartout-chat--to-turn))
             (passepartout-chat-add--mark tier))))
        ((save-excursion (and (passepartout-chat--to-turn)
                              (not (passepartout-chat--role))))
         (delete-region (point) (line-beginning-position 2))))))
    (cond
     (why (message "Does not go along: %s" why))
     ((plist-get payload :private)
      (message "%s is private: %s" (plist-get payload :name)
               (plist-get payload :why))))))

(defun passepartout-chat-add--tier (said)
  "Return the tier that SAID, as the core says how private a picture is, means."
  (pcase said ('nil nil) ("warn" 'warn) ("ask" 'ask) (_ 'block)))

(defun passepartout-chat-add--to-question ()
  "Go to the heading of the question that is being written in this chat.
It is the one that point is in, or the one at the end."
  (unless (and (passepartout-chat--to-turn)
               (not (passepartout-chat--role)))
    (passepartout-chat--ensure-prompt)
    (goto-char (point-max))
    (passepartout-chat--to-turn)))

(defun passepartout-chat-add--insert (line)
  "Insert LINE below the others of the question whose heading point is at."
  (let ((last (car (last (passepartout-chat-add--lines (point))))))
    (if last
        (search-forward last (passepartout-chat--turn-end))
      (goto-char (passepartout-chat--body-start))
      ;; Without a line of its own the heading ends the buffer.
      (forward-char -1)
      (when (save-excursion (forward-char 1) (not (bolp)))
        (goto-char (point-max))))
    (end-of-line)
    (insert "\n" line)
    (when (eobp) (insert "\n"))
    (passepartout-chat--label-along (line-beginning-position 0)
                                    (line-end-position))))

(defun passepartout-chat-add--mark (tier)
  "Mark the question whose heading point is at as private by TIER, at least."
  (let ((now (passepartout-chat--private-in-p
              (point) (passepartout-chat--turn-end))))
    (cond
     ((eq now (passepartout-chat--strictest (list now tier))))
     ((save-excursion (forward-line 1)
                      (looking-at-p org-property-drawer-re))
      (passepartout-chat--mark-private
       (point) (if (eq tier 'block) t (symbol-name tier))))
     ;; Org would fold a drawer of its making, which is hidden later on.
     (t (save-excursion
          (forward-line 1)
          (insert ":PROPERTIES:\n:PRIVACY: "
                  (if (eq tier 'block) "private" (symbol-name tier))
                  "\n:END:\n"))))))

;;;; Sending

(defun passepartout-chat-add--pieces (target)
  "Return what the core is sent of TARGET, a list.
Of a whole file it is told the name: that is as private as the core
knows the file to be, which may be more than stands in it."
  (let ((file (and (not (passepartout-module-road :tag))
                   (plist-get target :file))))
    (mapcar (lambda (piece) (append piece (and file (list :file file))))
            (or (passepartout-chat-add--texts target)
                (user-error "There is nothing in %s any more; take its line out"
                            (plist-get target :what))))))

(defun passepartout-chat-add--texts (target)
  "Return the text of TARGET, in pieces that a message can hold."
  (cond
   ((plist-get target :text)
    (passepartout-question-attach-text (plist-get target :label)
                                       (plist-get target :text)))
   ((plist-get target :path)
    (let ((file (plist-get target :path)))
      (passepartout-question-attach-text
       (abbreviate-file-name file) (passepartout-chat-add--text-of file))))
   ((not (buffer-live-p (marker-buffer (plist-get target :beg))))
    (user-error "The buffer of %s is gone; take the line out, or add it again"
                (plist-get target :what)))
   (t (with-current-buffer (marker-buffer (plist-get target :beg))
        (passepartout-question-attach target)))))

(defun passepartout-chat-add-take (start)
  "Return what goes along with the question whose heading begins at START.
It is a plist of :attached and :pictures, as the core is sent them,
:tier, how private the strictest of it is, and :named, the files that
the question names and that have no line yet.  Leave with an error when
something cannot go along."
  (let* ((table passepartout-chat--along)
         (lines (passepartout-chat-add--lines start))
         (targets (mapcar
                   (lambda (line)
                     (or (and table (gethash line table))
                         (passepartout-chat-add--known-file line)
                         (user-error "“%s” is not at hand any more; take the \
line out, or add it again"
                                     (passepartout-view-line
                                      (string-remove-prefix
                                       passepartout-chat--along-mark line)
                                      80))))
                   lines))
         (named (passepartout-chat-add--named-files start targets))
         (all (append targets named))
         (pictures (seq-filter (lambda (target) (plist-get target :picture))
                               all))
         (attached (seq-mapcat #'passepartout-chat-add--pieces
                               (seq-difference all pictures #'eq)))
         (tier (passepartout-chat--strictest
                (mapcar (lambda (target) (plist-get target :tier)) all))))
    (passepartout-question--check-size
     (apply #'+ (mapcar (lambda (piece) (string-bytes (plist-get piece :text)))
                        attached)))
    (list :attached attached :tier tier :named named
          :pictures (mapcar (lambda (target)
                              (list :file (plist-get target :path)))
                            pictures))))

(defun passepartout-chat-add-keep (start along)
  "Keep with the question whose heading begins at START that ALONG went along.
ALONG is as `passepartout-chat-add-take' returns it."
  (save-excursion
    (goto-char start)
    (dolist (target (plist-get along :named))
      (let ((line (passepartout-chat-add--note target)))
        (save-excursion (passepartout-chat-add--insert line))
        (when (plist-get target :picture)
          (passepartout-chat-add--look target line))))
    (when (plist-get along :tier)
      (passepartout-chat-add--mark (plist-get along :tier)))))

;;;; Files that a question names

(defconst passepartout-chat-add--file-regexp
  "\\(?:^\\|[[:space:](*]\\)@\\(?:\"\\([^\"\n]+\\)\"\\|\\([^][:space:]@\"[][^][:space:]]*\\)\\)"
  "Regular expression for a file that is named in a question.")

(defun passepartout-chat-add--file-of (name folder)
  "Return the file that NAME, as it stands behind an @, names in FOLDER, or nil.
It lies in that folder, whatever links lead out of it."
  (let ((name (string-trim-right name "[.,;:!?)]+"))
        (root (file-name-as-directory (file-truename folder))))
    (seq-find (lambda (file)
                (and (not (file-name-absolute-p name))
                     (file-regular-p file)
                     (string-prefix-p root (file-truename file))))
              (list (expand-file-name name folder)))))

(defun passepartout-chat-add--named-files (start targets)
  "Return the files that the question at START names, which are not in TARGETS."
  (let ((folder (passepartout-chat--project))
        (text (save-excursion (goto-char start) (passepartout-chat--message)))
        (from 0) (found nil))
    (when (and folder (not (file-remote-p folder)))
      (while (string-match passepartout-chat-add--file-regexp text from)
        (setq from (match-end 0))
        (let ((file (passepartout-chat-add--file-of
                     (or (match-string 1 text) (match-string 2 text)) folder)))
          (when (and file
                     (not (member file found))
                     (not (seq-some (lambda (target)
                                      (equal file (or (plist-get target :path)
                                                      (plist-get target :file))))
                                    targets)))
            (push file found)))))
    (mapcar #'passepartout-chat-add--file (nreverse found))))

;;;; The commands

(defun passepartout-chat-add--chat (choose)
  "Return the chat whose next question something is to go along with.
It is this one, else the one of this project that was used last, else
the one that was used last, else a new one.  CHOOSE asks which."
  (let* ((chats (seq-filter
                 (lambda (buffer)
                   (and (buffer-local-value 'passepartout-chat-mode buffer)
                        (not (buffer-base-buffer buffer))
                        (with-current-buffer buffer
                          (passepartout-abroad-here-p
                           (passepartout-chat--session)))))
                 (buffer-list)))
         (project (passepartout-events-project)))
    (cond
     ((and choose chats)
      (get-buffer (completing-read "Chat: " (mapcar #'buffer-name chats) nil t
                                   nil nil (buffer-name (car chats)))))
     ((bound-and-true-p passepartout-chat-mode) (passepartout-chat--base))
     ((passepartout-chat--known project))
     (chats (car chats))
     (t (passepartout-chat--fresh project)))))

(defun passepartout-chat-add--do (target choose)
  "Let TARGET go along with the next question of a chat, and say so.
CHOOSE asks which chat; without it, it is the one in use."
  (when (= 0 (plist-get target :bytes))
    (user-error "There is nothing in %s" (plist-get target :what)))
  (unless (plist-get target :picture)
    (passepartout-question--check-size (plist-get target :bytes)))
  (let ((chat (passepartout-chat-add--chat choose)))
    (with-current-buffer chat
      (passepartout-chat-add--put target))
    (message "Goes along with the next question of %s: %s"
             (buffer-name chat) (passepartout-question-said-of target))))

;;;###autoload
(defun passepartout-chat-add-region (&optional choose)
  "Let the region go along with the next question of a chat.
With prefix argument CHOOSE, ask which chat."
  (interactive "P")
  (passepartout-chat-add--do
   (passepartout-chat-add--place
    (or (passepartout-question-region)
        (user-error "Mark what is to go along as the region")))
   choose))

;;;###autoload
(defun passepartout-chat-add-buffer (&optional choose)
  "Let what of this buffer is accessible go along with the next question.
With prefix argument CHOOSE, ask which chat."
  (interactive "P")
  (passepartout-chat-add--do
   (passepartout-chat-add--place (passepartout-question-buffer)) choose))

;;;###autoload
(defun passepartout-chat-add-subtree (&optional choose)
  "Let the subtree at point go along with the next question of a chat.
With prefix argument CHOOSE, ask which chat."
  (interactive "P")
  (passepartout-chat-add--do
   (passepartout-chat-add--place
    (or (passepartout-question-subtree)
        (user-error "Put point on a heading of a note")))
   choose))

;;;###autoload
(defun passepartout-chat-add-file (file &optional choose)
  "Let FILE go along with the next question of a chat, as it is then.
A picture goes as a picture, to a model that takes pictures.  With
prefix argument CHOOSE, ask which chat."
  (interactive
   (list (read-file-name "File to go along: " nil nil t) current-prefix-arg))
  (passepartout-chat-add--do (passepartout-chat-add--file file) choose))

;;;###autoload
(defun passepartout-chat-add-agenda (&optional choose)
  "Let the agenda go along with the next question of a chat, as a text.
It is the one in this buffer, or else that of the week.  With prefix
argument CHOOSE, ask which chat."
  (interactive "P")
  (passepartout-chat-add--do (passepartout-chat-add--agenda) choose))

;;;###autoload
(defun passepartout-chat-add (&optional choose)
  "Let what is here go along with the next question of a chat.
That is the region when it is active, the agenda in one, the file at
point in Dired, a picture that is shown, the subtree at point in Org, or
else the buffer.  With
prefix argument CHOOSE, ask which chat."
  (interactive "P")
  (cond ((use-region-p) (passepartout-chat-add-region choose))
        ((derived-mode-p 'org-agenda-mode) (passepartout-chat-add-agenda choose))
        ((derived-mode-p 'dired-mode)
         (passepartout-chat-add-file (dired-get-file-for-visit) choose))
        ((and (derived-mode-p 'image-mode) buffer-file-name)
         (passepartout-chat-add-file buffer-file-name choose))
        ((bound-and-true-p passepartout-chat-mode)
         (call-interactively #'passepartout-chat-add-file))
        ((and (derived-mode-p 'org-mode) (not (org-before-first-heading-p)))
         (passepartout-chat-add-subtree choose))
        (t (passepartout-chat-add-buffer choose))))

(declare-function dired-get-file-for-visit "dired" ())

;;;; At a line

(defun passepartout-chat-add--at (event)
  "Go to where EVENT, a click or nil, was; return the line there."
  (when (mouse-event-p event)
    (select-window (posn-window (event-start event)))
    (goto-char (posn-point (event-start event))))
  (save-excursion
    (forward-line 0)
    (if (and (looking-at passepartout-chat--along-regexp)
             (not (save-match-data (passepartout-chat--in-answer-p))))
        (match-string-no-properties 0)
      (user-error "Put point on a line that says what goes along"))))

(defun passepartout-chat-along-show (&optional event)
  "Show what goes along by the line at point, or at EVENT, in another window.
Of what was asked before, show where it stood."
  (interactive (list last-nonmenu-event))
  (let* ((line (passepartout-chat-add--at event))
         (table (buffer-local-value 'passepartout-chat--along
                                    (passepartout-chat--base)))
         (target (and table (gethash line table)))
         (beg (plist-get target :beg)))
    (cond
     ((plist-get target :text)
      (with-current-buffer (get-buffer-create "*Passepartout along*")
        (let ((inhibit-read-only t))
          (erase-buffer)
          (insert (plist-get target :text)))
        (goto-char (point-min))
        (special-mode)
        (display-buffer (current-buffer))))
     ((plist-get target :path)
      (find-file-other-window (plist-get target :path)))
     ((and beg (buffer-live-p (marker-buffer beg)))
      (pop-to-buffer (marker-buffer beg))
      (unless (<= (point-min) beg (point-max)) (widen))
      (goto-char beg)
      (pulse-momentary-highlight-region beg (plist-get target :end)))
     ((save-excursion (forward-line 0)
                      (search-forward "[[" (line-end-position) t))
      (let ((org-link-frame-setup '((file . find-file-other-window))))
        (save-excursion (goto-char (match-end 0))
                        (org-open-at-point))))
     (t (user-error "What went along then was not kept; the line says what it was")))))

(declare-function pulse-momentary-highlight-region "pulse"
                  (start end &optional face))
(defvar org-link-frame-setup)

(defun passepartout-chat-along-remove (&optional event)
  "Take what goes along by the line at point, or at EVENT, out of the question."
  (interactive (list last-nonmenu-event))
  (let ((line (passepartout-chat-add--at event)))
    (when (save-excursion (and (passepartout-chat--to-turn)
                               (passepartout-chat--role)))
      (user-error "That went along already; the line is the record of it"))
    (save-excursion
      (delete-region (line-beginning-position)
                     (min (point-max) (1+ (line-end-position)))))
    ;; What it stands for stays at hand: undo brings the line back.
    (message "Does not go along any more%s"
             (if (string-suffix-p ", private)" line)
                 "; the question stays private, by its property PRIVACY"
               ""))))

(provide 'passepartout-chat-add)
;;; passepartout-chat-add.el ends here
