;;; passepartout-context.el --- What a model is told, and why  -*- lexical-binding: t; -*-

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

;; What a model is told beside the user's words: who it is, and which
;; notes, each with the reason and what it takes.  `+' and `-' pin a
;; heading and drop it, for this session or, on request, for good.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-plot)
(require 'passepartout-query)
(require 'passepartout-arrive)
(require 'passepartout-view)
(require 'seq)
(eval-when-compile (require 'subr-x))

(defconst passepartout-context--buffer-name "*Passepartout context*"
  "The name of the buffer of what a model is told.")

;;;; The buffer

(defvar-local passepartout-context--for nil
  "For whom the context of this buffer is: `:here', `:elsewhere' or nil.
Nil stands for the model that is asked first.")

(defvar-local passepartout-context--query nil
  "The question of this buffer, or nil for the last one that was asked.")

(defvar-local passepartout-context--chat nil
  "The chat before the question of this buffer, as it is sent, or nil.
It is a plist, as `passepartout-chat-question' returns it.")

(defvar passepartout-context-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map passepartout-view-mode-map)
    (define-key map (kbd "RET") #'passepartout-context-visit)
    (define-key map (kbd "+") #'passepartout-context-pin)
    (define-key map (kbd "-") #'passepartout-context-drop)
    (define-key map (kbd "k") #'passepartout-context-drop)
    (define-key map (kbd "u") #'passepartout-context-as-it-comes)
    (define-key map (kbd "e") #'passepartout-context-other-reader)
    map)
  "Keys of the buffer of what a model is told.")

(define-derived-mode passepartout-context-mode passepartout-view-mode
  "Context"
  "Major mode of the buffer of what a model is told.
Each line is a heading: in full, by its title, or out, which means left
out; then what it takes, in tokens; its title; and why.  A number
says how much speaks for it, 1.00 being what speaks for the best.

focus, below the focus: the heading at point, and what is below it.
ancestor: it stands above one that is in.
file, outline: a file, and what stands directly below one.
words: it holds words of the question.
similar words: it holds words that are written nearly like those.
kindred words: it holds words that stand beside the question's in the
  best headings, or that mark the one at point.
cosine: it means nearly what the question or the heading at point does.
beside: it stands beside such a heading, or one links to it.
deadline, scheduled: it is due, or was.
changed lately: in this session, or today.
active project: it is tagged as a project and not done.
pinned, left out by you: what `+' and `-' do, for this session or kept.
over budget: there was no room for it.
private, quotes a private note: its reader may not see it.
too far from the question and point: too little speaks for it.
outside of what the focus is narrowed to: see `passepartout-focus'.
focus, too large: with what is below it, it takes more than a prompt holds.

\\{passepartout-context-mode-map}")

(defconst passepartout-context--columns
  '(("How" 5) ("Tokens" 6 t) ("Heading" (24 . 40)) ("Why" nil))
  "The columns of the list of headings.")

(defun passepartout-context--row (node)
  "Return the row of NODE, a plist of one heading that was considered."
  (let* ((rendered (substring (symbol-name (plist-get node :rendered)) 1))
         (out (equal rendered "out"))
         (title (if (plist-get node :id)
                    (passepartout-view-line (plist-get node :title) 60)
                  "(a private heading)")))
    (list (plist-get node :id) title node
          (list (propertize rendered 'face (if out 'passepartout-quiet
                                             'passepartout-good))
                (cons (if out "" (format "%s" (plist-get node :tokens)))
                      (plist-get node :tokens))
                (if (plist-get node :id) title
                  (propertize title 'face 'passepartout-quiet))
                (propertize (concat (passepartout-view-line
                                     (plist-get node :reason) 80)
                                    (if (plist-get node :private)
                                        ", private" ""))
                            'face 'passepartout-subtitle)))))

(defun passepartout-context--insert-rows (title nodes &optional parts)
  "Insert NODES below TITLE, if there are any, with what they take in all.
PARTS is what the parts of the request take that they stand in, if they
stand in any; the rest of that are the lines around them."
  (when nodes
    (let* ((own (apply #'+ (mapcar (lambda (node) (plist-get node :tokens))
                                   nodes)))
           (around (max 0 (- (or parts own) own))))
      (insert (propertize
               (format "\n%s (%d %s%s)\n" title (length nodes)
                       (if (= (length nodes) 1) "heading" "headings")
                       (if parts
                           (format ": %d tokens, and %d for the lines \
around them, %d in all" own around (+ own around))
                         ""))
               'face 'passepartout-title)))
    (passepartout-list-rows passepartout-context--columns
                            (mapcar #'passepartout-context--row nodes))))

(defun passepartout-context--sum (sections &optional names)
  "Return the tokens of SECTIONS in all, or of those that NAMES names."
  (apply #'+ (mapcar (lambda (section)
                       (if (or (null names) (member (car section) names))
                           (cadr section)
                         0))
                     sections)))

(defun passepartout-context--plot (payload sections sum)
  "Insert a map of SECTIONS, which take SUM in all, in the room of PAYLOAD."
  (let* ((factor (string-to-number (or (plist-get payload :factor) "1")))
         (most (plist-get payload :most))
         ;; The room is counted as the provider counts.
         (room (if (and (numberp most) (> factor 0)) (floor most factor) sum)))
    (when (> sum 0)
      (passepartout-plot-stack
       (mapcar (lambda (section)
                 (cons (passepartout-view-line (car section) 24)
                       (cadr section)))
               sections)
       room
       (if (> room sum)
           (format "%d of %d tokens, %d%%" sum room (/ (* 100 sum) room))
         (format "%d tokens" sum))))))

(defun passepartout-context--insert-sections (payload)
  "Insert the parts of the request of PAYLOAD, and their sum."
  (let* ((sections (plist-get payload :sections))
         (sum (passepartout-context--sum sections))
         (factor (plist-get payload :factor)))
    (insert (propertize "\nParts of the request, in tokens\n"
                        'face 'passepartout-title))
    (passepartout-context--plot payload sections sum)
    (dolist (section (append sections (list (list "in all" sum))))
      (insert (format "  %-24s %6d" (passepartout-view-line (car section) 24)
                      (cadr section))
              (if (eql sum (cadr section)) ""
                (propertize
                 (concat "  " (passepartout-plot-bar (cadr section) sum 30))
                 'face 'passepartout-quiet))
              "\n"))
    (when (and factor (not (eq (plist-get payload :place) :builtin)))
      (insert (format "  %s counts them as %d (times %s), of at most %d.\n"
                      (passepartout-view-line (plist-get payload :provider) 60)
                      (ceiling (* sum (string-to-number factor)))
                      factor (plist-get payload :most))))))

(defun passepartout-context--room (payload)
  "Return what notes may take, as PAYLOAD says, as a line."
  (let ((budget (plist-get payload :budget))
        (share (plist-get payload :share)))
    (format "Notes and outlines may take %d tokens, without the line above \
each%s.\n"
            budget
            (if (or (null share) (= share budget))
                ""
              (format ", which a model may count as %d" share)))))

(defun passepartout-context--asked (payload)
  "Return who would be asked first, as PAYLOAD says, as a line or two."
  (let ((why (plist-get payload :why))
        (place (plist-get payload :place)))
    (cond
     (why (format "Nobody would be asked: %s.\nThis is what one would be told.\n"
                  (passepartout-view-line why 500)))
     ((eq place :builtin)
      "The built-in provider would answer; it is sent nothing of this.\n")
     (t (format "Asked first: %s, model %s, %s.\n"
                (passepartout-view-line (plist-get payload :provider) 60)
                (passepartout-view-line (plist-get payload :model) 60)
                (if (eq place :remote) "elsewhere" "on this machine"))))))

(defun passepartout-context--draw (payload)
  "Draw PAYLOAD, the answer of the core, in the current buffer."
  (let* ((nodes (plist-get payload :nodes))
         (out-p (lambda (node) (eq (plist-get node :rendered) :out)))
         (in (seq-remove out-p nodes))
         (outline-p (lambda (node) (plist-get node :outline)))
         (sections (plist-get payload :sections))
         (query (passepartout-view-line (plist-get payload :query) 100)))
    (passepartout-view-draw
      (insert (propertize
               (if (eq (plist-get payload :for) :elsewhere)
                   "What a model elsewhere would be told\n"
                 "What a model on this machine would be told\n")
               'face 'passepartout-title)
              (propertize
               (concat "RET visits, + pins, - drops, u takes that back (with "
                       "C-u it is kept on the heading); e shows it for the "
                       "other reader, S sorts, g asks again, ? says what the "
                       "words mean, q leaves.\n\n")
               'face 'passepartout-quiet)
              (if (string-empty-p query)
                  "No question has been asked yet.\n"
                (format "Question: %s\n" query))
              (passepartout-context--asked payload)
              (passepartout-context--room payload))
      (passepartout-context--insert-sections payload)
      (insert "\n")
      (if nodes
          (passepartout-list-head passepartout-context--columns)
        (insert "No note was considered: there is none yet, or none is \
near the question.  M-x passepartout-rescan reads them again.\n"))
      (passepartout-context--insert-rows
       "Notes" (seq-remove outline-p in)
       (passepartout-context--sum sections '("notes")))
      (passepartout-context--insert-rows
       "Outline" (seq-filter outline-p in)
       (passepartout-context--sum sections '("outline" "further outline")))
      (passepartout-context--insert-rows
       "Left out" (seq-filter out-p nodes))
      (when (> (plist-get payload :more) 0)
        (insert (format "\n%d more are not listed.\n"
                        (plist-get payload :more)))))
    (passepartout-context--mark nodes)))

(defun passepartout-context--fetch ()
  "Ask the core what a model would be told and draw it."
  (passepartout-view-fetch
   passepartout-context--buffer-name :context #'passepartout-context--draw
   (lambda ()
     (list (passepartout-context--payload)
           (plist-get passepartout-context--chat :session)))))

(defun passepartout-context--payload ()
  "Return what this buffer asks the core."
  (let ((chat passepartout-context--chat))
    `(:for ,passepartout-context--for
      :query ,passepartout-context--query
      ,@(when passepartout-context--query
          (seq-mapcat (lambda (key)
                        (and (plist-member chat key)
                             (list key (plist-get chat key))))
                      '(:settings :attached :pictures :history :older :more :private :file
                                 :project))))))

;;;###autoload
(defun passepartout-context (&optional query chat)
  "Show which notes a model would be told of now, why, and what they take.
They are those of the request that would be sent next: in a chat for the
question at point with the CHAT before it, elsewhere for the last
question with what was sent before it; the heading at point counts.
With a prefix argument, ask for a QUERY and show those for it."
  (interactive
   (let* ((chat (passepartout-chat-question))
          (text (plist-get chat :text)))
     (list (cond (current-prefix-arg (read-string "Context of the question: " nil
                                                  'passepartout-ask-history))
                 ((and text (not (string-blank-p text))) text))
           chat)))
  (passepartout-view-open passepartout-context--buffer-name
                          'passepartout-context-mode 'passepartout-context
                          #'passepartout-context--fetch
                          (lambda ()
                            (setq passepartout-context--query query
                                  passepartout-context--chat chat))))

(defun passepartout-context--node ()
  "Return the heading of the line at point, a plist."
  (let ((node (passepartout-list-data)))
    (cond ((null node) (user-error "There is no heading on this line"))
          ((null (plist-get node :id))
           (user-error "This heading is private here"))
          (t node))))

(defun passepartout-context-visit ()
  "Go to the heading of the line at point."
  (interactive)
  (passepartout-query-visit (passepartout-context--node) t))

(defun passepartout-context--pin (pin keep)
  "Do PIN to the heading at point; KEEP it on the heading when non-nil."
  (passepartout-request
   :context-pin (list :id (plist-get (passepartout-context--node) :id)
                      :pin pin :keep (and keep t))
   (lambda (payload)
     (let ((text (or (plist-get payload :error) (plist-get payload :text))))
       (when (and text (not (string-empty-p text)))
         (message "Passepartout: %s" (passepartout-view-line text 500))))
     (when (plist-get payload :plans)
       (message "Passepartout: keeping it waits as a flight plan"))
     (passepartout-context--fetch))))

(defun passepartout-context-pin (&optional keep)
  "Have models told of the heading at point whenever there is room.
It counts for this session; with a prefix argument (KEEP) it is also
kept as a property of the heading, which waits as a flight plan."
  (interactive "P")
  (passepartout-context--pin :in keep))

(defun passepartout-context-drop (&optional keep)
  "Have models told of the heading at point only when point is in it.
It counts for this session; with a prefix argument (KEEP) it is also
kept as a property of the heading, which waits as a flight plan."
  (interactive "P")
  (passepartout-context--pin :out keep))

(defun passepartout-context-as-it-comes (&optional keep)
  "Neither pin nor drop the heading at point.
With a prefix argument (KEEP), take the property off the heading, too."
  (interactive "P")
  (passepartout-context--pin :neither keep))

(defun passepartout-context-other-reader ()
  "Show what a model elsewhere would be told, or one on this machine."
  (interactive)
  (setq passepartout-context--for
        (if (eq passepartout-context--for :elsewhere) :here :elsewhere))
  (passepartout-context--fetch))

;;;; Marks in the fringe

(defvar passepartout-context--marks nil
  "The overlays that mark what is in a context.")

(defvar passepartout-context--focus nil
  "The focus for which marks were asked for last.")

(defun passepartout-context--unmark ()
  "Take all marks away."
  (mapc #'delete-overlay passepartout-context--marks)
  (setq passepartout-context--marks nil))

(defun passepartout-context--buffers ()
  "Return a table of the buffers that visit files, by the files' names.
No file is looked at: of hundreds of headings each would be, otherwise."
  (let ((buffers (make-hash-table :test #'equal)))
    (dolist (buffer (buffer-list) buffers)
      (dolist (name (list (buffer-local-value 'buffer-file-truename buffer)
                          (buffer-file-name buffer)))
        (when name
          (puthash (expand-file-name name) buffer buffers))))))

(defun passepartout-context--mark (nodes)
  "Mark those of NODES that are in, where the user wants marks."
  (passepartout-context--unmark)
  (when (bound-and-true-p passepartout-context-marks-mode)
    (let ((buffers (passepartout-context--buffers)))
      (dolist (node nodes)
        (let ((buffer (and (not (eq (plist-get node :rendered) :out))
                           (gethash (plist-get node :file) buffers))))
          (when buffer
            (with-current-buffer buffer
              (save-restriction
                (widen)
                (let ((place (byte-to-position (1+ (plist-get node :byte)))))
                  (when place
                    (push (passepartout-context--overlay
                           place (plist-get node :rendered))
                          passepartout-context--marks)))))))))))

(defun passepartout-context--overlay (place rendered)
  "Return an overlay at PLACE that shows how a heading is RENDERED."
  (let ((overlay (make-overlay place place)))
    (overlay-put overlay 'passepartout-context rendered)
    (overlay-put
     overlay 'before-string
     (if (display-graphic-p)
         (propertize "." 'display
                     (list 'left-fringe
                           (if (eq rendered :full) 'filled-rectangle
                             'hollow-rectangle)
                           'passepartout-quiet))
       ;; A terminal has no fringe.
       (propertize (if (eq rendered :full) "▮" "▯")
                   'face 'passepartout-quiet)))
    overlay))

(defun passepartout-context--follow (payload _meta)
  "Ask for marks anew when PAYLOAD, a status, has another focus."
  (let ((focus (plist-get payload :focus)))
    (unless (equal focus passepartout-context--focus)
      (setq passepartout-context--focus focus)
      (passepartout-request
       ;; A mark asks nobody: not even a function of the user's own.
       :context '(:quietly t)
       (lambda (payload)
         (let ((why (plist-get payload :error)))
           (if (not why)
               (passepartout-context--mark (plist-get payload :nodes))
             ;; What is not known is not marked.
             (passepartout-context--unmark)
             (message "Passepartout: %s"
                      (passepartout-view-line why 500)))))))))

;;;###autoload
(define-minor-mode passepartout-context-marks-mode
  "Mark in the fringe which headings a model would be told of now.
A filled mark stands for a heading in full, a hollow one for its title.
In a terminal, which has no fringe, it stands before the heading.
Marks follow point and ask nobody: who is asked first is decided without
`passepartout-select-model-function', and the question is not sent to
a server for its vector."
  :global t
  :group 'passepartout
  (if passepartout-context-marks-mode
      (passepartout-subscribe :status nil #'passepartout-context--follow)
    (passepartout-unsubscribe :status nil #'passepartout-context--follow)
    (setq passepartout-context--focus nil)
    (passepartout-context--unmark)))

;;;; Who the agent is

(defun passepartout-context--visit-identity (payload)
  "Visit the file that PAYLOAD names; a new one begins with the text in it."
  (let* ((file (plist-get payload :file))
         (text (plist-get payload :text)))
    (make-directory (file-name-directory file) t)
    (pop-to-buffer (find-file-noselect file))
    (when (and text (= (buffer-size) 0))
      (insert text)
      (goto-char (point-min))
      (message "Passepartout: this is what is shipped; what you save counts \
from the next question on"))))

;;;###autoload
(defun passepartout-identity ()
  "Open the file that says who the agent is.
A model is told it first, in every request.  Where there is no such
file yet, the buffer holds the text that is shipped."
  (interactive)
  (let ((place (passepartout-arrive-place)))
    (passepartout-request
     :identity nil
     (lambda (payload)
       (let ((why (or (plist-get payload :error)
                      (passepartout-abroad-far (plist-get payload :file)))))
         (if why
             (message "Passepartout: %s" (passepartout-view-line why 500))
           (passepartout-arrive place
                                (concat "Who the agent is stands in "
                                        (passepartout-view-line
                                         (plist-get payload :file) 200))
                                #'passepartout-context--visit-identity
                                payload)))))))

(provide 'passepartout-context)
;;; passepartout-context.el ends here
