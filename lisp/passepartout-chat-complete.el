;;; passepartout-chat-complete.el --- Complete what a question names  -*- lexical-binding: t; -*-

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

;; In a question of a chat, `completion-at-point' completes what stands
;; behind an @, files of the project and headings of the memory, and the
;; commands that a slash begins.  Emacs never waits for the core: it is
;; asked with what was typed, and what it found is offered when it has
;; come.  A heading becomes a link to its id, by which the core puts it
;; into what the model is told; a file goes along when the question is
;; sent.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(require 'passepartout-query)
(require 'passepartout-chat-text)
(eval-when-compile (require 'subr-x))

(declare-function passepartout-chat--project "passepartout-chat" ())
(defvar passepartout-chat-mode)

;;;; Commands

(defconst passepartout-chat--commands
  '(("approve" . "carry a plan out")
    ("cascade" . "who is asked, and in which order")
    ("consensus" . "ask several models, and follow most of them")
    ("deny" . "turn a plan down, and say why")
    ("embed" . "confirm the server of vectors")
    ("endorse" . "let a note count as your own")
    ("files" . "files that the agent changed here")
    ("focus" . "narrow what the agent looks at")
    ("fork" . "have several models answer side by side")
    ("garden" . "what of the notes wants tidying")
    ("help" . "these commands, or what the manual says")
    ("inbox" . "where things of the inbox could go")
    ("links" . "notes that could be linked")
    ("plans" . "plans that wait")
    ("preset" . "the preset of this conversation")
    ("redo" . "do again what was undone")
    ("report" . "what there is in memory")
    ("scope" . "memex, session or project")
    ("set" . "a value for as long as the focus lasts")
    ("settings" . "explain settings, or put one back")
    ("share" . "let notes that ask first go, in this conversation")
    ("stop" . "turn a plan down, and end its turn")
    ("tags" . "tags that make notes private")
    ("tasks" . "what goes on in the background")
    ("undistilled" . "daily notes that wait")
    ("undo" . "take back what the agent changed")
    ("unfocus" . "take the focus back")
    ("unshare" . "take that back"))
  "Commands for the core, each with what it does in a few words.")

(defun passepartout-chat--complete-command ()
  "Return how the command that the question at point begins with is completed."
  (save-excursion
    (let ((end (point)))
      (forward-line 0)
      (when (looking-at "\\*+ +/\\([[:alpha:]-]*\\)")
        (let ((beg (match-beginning 1)))
          (when (<= beg end (match-end 1))
            (list beg (match-end 1)
                  (mapcar #'car passepartout-chat--commands)
                  :exclusive 'no
                  :annotation-function
                  (lambda (name)
                    (let ((what (cdr (assoc name passepartout-chat--commands))))
                      (and what (concat "  " what))))
                  :company-kind (lambda (_) 'keyword)
                  :exit-function
                  (lambda (_ status)
                    (when (and (eq status 'finished)
                               (not (looking-at-p "[ \t]")))
                      (insert " "))))))))))

;;;; Files

(defconst passepartout-chat--complete-most 100
  "How many files are offered at once.")

(defconst passepartout-chat--complete-known 20000
  "How many files of a project are known at most.")

(defconst passepartout-chat--complete-bytes 4000000
  "After so many bytes of names no more are listed.")

(defvar passepartout-chat--complete-files nil
  "What the files of a project were a moment ago: (FOLDER TIME . NAMES).")

(defvar passepartout-chat--complete-listing nil
  "The process that lists the files of a project, or nil.")

(defun passepartout-chat--complete-project-files ()
  "Return the names of the files of this chat's project, relative to it.
They are those that are known by now: after a minute they are listed
anew, for which nobody waits.  A project of another machine is not asked
for them."
  (let ((folder (passepartout-chat--project)))
    (when (and folder (not (file-remote-p folder)) (file-directory-p folder))
      (setq folder (file-name-as-directory (expand-file-name folder)))
      (unless (equal (car passepartout-chat--complete-files) folder)
        (setq passepartout-chat--complete-files (list folder 0)))
      (when (>= (- (float-time) (cadr passepartout-chat--complete-files)) 60)
        (setcar (cdr passepartout-chat--complete-files) (float-time))
        (passepartout-chat--complete-list folder))
      (cddr passepartout-chat--complete-files))))

(defun passepartout-chat--complete-list (folder)
  "List the files of FOLDER: those that git knows or does not ignore.
Where there is no git, they are those right in it."
  (when (process-live-p passepartout-chat--complete-listing)
    (delete-process passepartout-chat--complete-listing))
  (setq passepartout-chat--complete-listing nil)
  (if (not (and (locate-dominating-file folder ".git")
                (executable-find "git")))
      (setcdr (cdr passepartout-chat--complete-files)
              (seq-filter (lambda (name)
                            (file-regular-p (expand-file-name name folder)))
                          (directory-files
                           folder nil directory-files-no-dot-files-regexp)))
    (let ((default-directory folder)
          (coding-system-for-read 'utf-8-unix))
      (setq passepartout-chat--complete-listing
            (make-process
             :name "passepartout-files"
             :buffer (generate-new-buffer " *passepartout files*" t)
             ;; What the project's settings name is not run.
             :command '("git" "-c" "core.fsmonitor=false" "ls-files" "-z"
                        "--cached" "--others" "--exclude-standard")
             :connection-type 'pipe
             :noquery t
             :stderr (make-pipe-process :name "passepartout-files-errors"
                                        :noquery t :buffer nil
                                        :filter #'ignore :sentinel #'ignore)
             :filter
             (lambda (process text)
               (internal-default-process-filter process text)
               (when (> (buffer-size (process-buffer process))
                        passepartout-chat--complete-bytes)
                 (delete-process process)))
             :sentinel (lambda (process _event)
                         (passepartout-chat--complete-listed
                          process folder)))))))

(defun passepartout-chat--complete-listed (process folder)
  "Take what PROCESS, which has ended, has listed of FOLDER."
  (let ((buffer (process-buffer process)))
    (unless (process-live-p process)
      (when (and (buffer-live-p buffer)
                 (eq process passepartout-chat--complete-listing)
                 (equal folder (car passepartout-chat--complete-files)))
        (setcdr (cdr passepartout-chat--complete-files)
                (with-current-buffer buffer
                  (goto-char (point-min))
                  (let ((left passepartout-chat--complete-known)
                        (from (point)) names)
                    (while (and (> left 0) (search-forward "\0" nil t))
                      (push (buffer-substring-no-properties
                             from (1- (point)))
                            names)
                      (setq from (point) left (1- left)))
                    (nreverse names)))))
      (when (buffer-live-p buffer) (kill-buffer buffer)))))

(defun passepartout-chat--complete-file-texts (word)
  "Return what stands for the files in whose names WORD is."
  (let ((case-fold-search t)
        (regexp (regexp-quote word))
        (left passepartout-chat--complete-most)
        (names (passepartout-chat--complete-project-files))
        (found nil))
    (while (and names (> left 0))
      (let ((name (pop names)))
        (when (string-match-p regexp name)
          (setq left (1- left))
          (push (if (string-match-p "[][ \t(),;:!?\"]" name)
                    (format "@\"%s\"" name)
                  (concat "@" name))
                found))))
    (nreverse found)))

;;;; Headings

(defconst passepartout-chat--complete-pause 0.06
  "Seconds after the last key before the core is asked.")

(defvar passepartout-chat--complete-timer nil
  "The timer that asks the core, or nil.")

(defvar passepartout-chat--complete-wanted nil
  "What the core was asked for last.")

(defvar passepartout-chat--complete-found nil
  "What the core found last: (WORD . ALIST), from texts to headings.")

(defun passepartout-chat--complete-take (word payload)
  "Take PAYLOAD, what the core found for WORD, unless another is wanted."
  (cond
   ((not (equal word passepartout-chat--complete-wanted)))
   ;; What could not be had may be there at the next key.
   ((plist-get payload :error)
    (setq passepartout-chat--complete-wanted nil))
   (t
    (let ((taken (make-hash-table :test #'equal)) found)
      (dolist (hit (plist-get payload :hits))
        (let* ((title (concat "@" (passepartout-query-title hit)))
               (number (1+ (gethash title taken 0))))
          (puthash title number taken)
          (when (passepartout-chat--complete-link hit)
            (push (cons (if (= number 1) title
                          (format "%s <%d>" title number))
                        hit)
                  found))))
      (setq passepartout-chat--complete-found
            (cons word (nreverse found)))))))

(defun passepartout-chat--complete-ask (word)
  "Ask the core for headings that fit WORD, unless it was asked just that.
What is found is only shown, so it may be private."
  (unless (or (string-empty-p word)
              (equal word passepartout-chat--complete-wanted)
              (not (passepartout-running-p)))
    (setq passepartout-chat--complete-wanted word)
    (passepartout-request
     :query `(:query ,(replace-regexp-in-string "[^[:alnum:]]+" " " word)
                     :limit 20 :typing t :for :screen)
     (lambda (payload) (passepartout-chat--complete-take word payload)))))

(defun passepartout-chat--complete-link (hit)
  "Return the link that names HIT in a question, or nil when none can."
  (let ((id (plist-get hit :id)))
    (and (stringp id)
         (not (string-match-p "[][\n]" id))
         (format "[[id:%s][%s]]" id
                 (passepartout-chat--link-text (plist-get hit :title))))))

(declare-function passepartout-chat--link-text "passepartout-chat-below" (text))

(defun passepartout-chat--complete-look (buffer)
  "Ask the core for what stands behind an @ before point in BUFFER."
  (setq passepartout-chat--complete-timer nil)
  (when (and (buffer-live-p buffer) (eq buffer (current-buffer)))
    (let ((bounds (passepartout-chat--complete-bounds)))
      (when bounds
        (passepartout-chat--complete-project-files)
        (passepartout-chat--complete-ask
         (buffer-substring-no-properties (1+ (car bounds)) (cdr bounds)))))))

(defun passepartout-chat--complete-typed ()
  "Ask the core soon for what was typed behind an @."
  (when (passepartout-chat--complete-bounds)
    (when (timerp passepartout-chat--complete-timer)
      (cancel-timer passepartout-chat--complete-timer))
    (setq passepartout-chat--complete-timer
          (run-at-time passepartout-chat--complete-pause nil
                       #'passepartout-chat--complete-look (current-buffer)))))

;;;; What stands behind an @

(defun passepartout-chat--complete-bounds ()
  "Return where the word behind an @ before point stands, with it, or nil."
  (save-excursion
    (let ((end (point)))
      ;; At each key: no more than the word is looked at.
      (skip-chars-backward "^][ \t\n@\"" (line-beginning-position))
      (when (eq (char-before) ?@)
        (backward-char)
        (and (or (bolp) (memq (char-before) '(?\s ?\t ?\()))
             (cons (point) end))))))

(defun passepartout-chat--complete-texts (string)
  "Return what is offered for STRING, which begins with an @."
  (let ((word (string-remove-prefix "@" string)))
    (passepartout-chat--complete-ask word)
    (append
     (passepartout-chat--complete-heading-texts word)
     (passepartout-chat--complete-file-texts word))))

(defun passepartout-chat--complete-heading-texts (word)
  "Return what stands for the headings that were found and fit WORD.
What was found for the beginning of it, and has WORD, is better than
nothing while the core is asked."
  (pcase-let ((`(,asked . ,found) passepartout-chat--complete-found)
              (case-fold-search t))
    (when (and asked (string-prefix-p asked word))
      (let ((texts (mapcar #'car found)))
        (if (equal asked word)
            texts
          (seq-filter (lambda (text)
                        (string-match-p (regexp-quote word) text 1))
                      texts))))))

(defun passepartout-chat--complete-table (string predicate action)
  "Complete STRING, which begins with an @, by PREDICATE and ACTION."
  (pcase action
    ('metadata '(metadata (category . passepartout-named)
                          (display-sort-function . identity)
                          (cycle-sort-function . identity)))
    ('t (let ((texts (passepartout-chat--complete-texts string)))
          (if predicate (seq-filter predicate texts) texts)))
    ;; A heading that was chosen is no word to look for.
    ('lambda (and (or (passepartout-chat--complete-hit string)
                      (member string (passepartout-chat--complete-file-texts
                                      (string-remove-prefix "@" string))))
                  t))
    ('nil (or (and (passepartout-chat--complete-hit string) t)
              (passepartout-chat--complete-only
               string (passepartout-chat--complete-texts string))))
    (_ nil)))

(defun passepartout-chat--complete-only (string texts)
  "Return what STRING is completed to when TEXTS are offered for it.
They need not begin with it, so nothing is added before one is chosen."
  (cond ((null texts) nil)
        ((cdr texts) string)
        ((equal string (car texts)) t)
        (t (car texts))))

(defun passepartout-chat--complete-try (string table predicate point &rest _)
  "Complete STRING by TABLE and PREDICATE; POINT stays behind it."
  (let ((done (passepartout-chat--complete-only
               string (funcall table string predicate t))))
    (if (stringp done)
        (cons done (if (equal done string) point (length done)))
      done)))

(defun passepartout-chat--complete-all (string table predicate _point &rest _)
  "Return everything that TABLE offers for STRING by PREDICATE."
  (funcall table string predicate t))

(add-to-list 'completion-styles-alist
             '(passepartout-named
               passepartout-chat--complete-try passepartout-chat--complete-all
               "Files and headings that a question can name."))
(add-to-list 'completion-category-defaults
             '(passepartout-named (styles passepartout-named)))

(defun passepartout-chat--complete-hit (text)
  "Return the heading that TEXT stands for, or nil."
  (cdr (assoc text (cdr passepartout-chat--complete-found))))

(defun passepartout-chat--complete-annotation (text)
  "Return what stands behind TEXT, which is offered."
  (let ((hit (passepartout-chat--complete-hit text)))
    (concat "  "
            (if hit
                (passepartout-view-line (passepartout-query-place hit) 60)
              "file"))))

(defun passepartout-chat--complete-exit (text status)
  "Put a link in the place of TEXT, a heading that was chosen, by STATUS."
  (let ((hit (and (memq status '(finished sole))
                  (passepartout-chat--complete-hit text))))
    (when hit
      (delete-char (- (length text)))
      (insert "@" (passepartout-chat--complete-link hit) " "))))

(defun passepartout-chat--complete-named ()
  "Return how the file or heading behind an @ before point is completed."
  (let ((bounds (passepartout-chat--complete-bounds)))
    (when bounds
      (list (car bounds) (cdr bounds) #'passepartout-chat--complete-table
            :exclusive 'no
            :annotation-function #'passepartout-chat--complete-annotation
            :company-kind (lambda (text)
                            (if (passepartout-chat--complete-hit text)
                                'reference 'file))
            :exit-function #'passepartout-chat--complete-exit))))

;;;; At point

(defun passepartout-chat-complete ()
  "Return how what is at point in a question is completed, or nil.
This is a function for `completion-at-point-functions'."
  (when (and passepartout-chat-mode
             (save-excursion
               (and (passepartout-chat--to-turn)
                    (not (passepartout-chat--role)))))
    (or (passepartout-chat--complete-command)
        (passepartout-chat--complete-named))))

(defun passepartout-chat-complete-set ()
  "Complete what questions of this chat name."
  (add-hook 'completion-at-point-functions #'passepartout-chat-complete -10 t)
  (add-hook 'post-self-insert-hook #'passepartout-chat--complete-typed nil t))

(defun passepartout-chat-complete-lift ()
  "Complete nothing of ours in this buffer any more."
  (remove-hook 'completion-at-point-functions #'passepartout-chat-complete t)
  (remove-hook 'post-self-insert-hook #'passepartout-chat--complete-typed t))

(provide 'passepartout-chat-complete)
;;; passepartout-chat-complete.el ends here
