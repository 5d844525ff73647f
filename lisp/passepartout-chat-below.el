;;; passepartout-chat-below.el --- What stands below an answer  -*- lexical-binding: t; -*-

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

;; Sources and plans as links, what was refused, and the drawer that
;; tells how an answer came to be.  All foreign text in them is one
;; visible line.

;;; Code:

(require 'cl-lib)
(require 'org)
(require 'org-element)
(require 'passepartout)
(require 'passepartout-view)
(require 'passepartout-chat-text)
(require 'passepartout-plan-draw)
(eval-when-compile (require 'subr-x))

(declare-function passepartout-abroad-check-file "passepartout-abroad" (file))
(declare-function passepartout-plan-visit "passepartout-plan" (id))
(declare-function passepartout-trace-explain "passepartout-trace" (of))

(defconst passepartout-chat--last-words
  '("answered" "parked" "interrupted" "failed")
  "What a turn can have come to.")

(defun passepartout-chat--link-text (text)
  "Return TEXT as one line that can stand in a link."
  (let ((text (passepartout-view-line text 120)))
    (if (string-empty-p text)
        "untitled"
      (replace-regexp-in-string "[][]" "" text))))

(defun passepartout-chat--own-id-p (id)
  "Return non-nil when ID is the property ID of a heading, not a path to it."
  (string-match-p "\\`[[:alnum:]][[:alnum:]._-]*\\'" id))

(defun passepartout-chat--source-link (source)
  "Return an Org link to SOURCE, a plist of :id, :title, :file and :line."
  (let* ((id (or (plist-get source :id) ""))
         (title (passepartout-chat--link-text (plist-get source :title)))
         (file (plist-get source :file)))
    (cond
     ((passepartout-chat--own-id-p id)
      (org-link-make-string (concat "id:" id) title))
     ;; A file as a whole has its name for an id.
     ((and file (equal id file))
      (org-link-make-string (concat "file:" (passepartout-view-line file 4000))
                            title))
     (file
      (org-link-make-string
       (concat "file:" (passepartout-view-line file 4000) "::"
               ;; A bracket in a link's target would end it.
               (if (string-match-p "[][<>{}%]" (or (plist-get source :title) ""))
                   (format "%d" (or (plist-get source :line) 1))
                 (concat "*" title)))
       title))
     (t title))))

(defun passepartout-chat--below (payload answer)
  "Return the lines below ANSWER: plans that wait, and sources not named in it.
PAYLOAD is that of the end of the turn."
  (let ((sources (seq-remove
                  (lambda (link) (string-search link answer))
                  (delete-dups
                   (mapcar #'passepartout-chat--source-link
                           (plist-get payload :sources))))))
    (string-join
     (append
      (mapcar #'passepartout-chat--plan-line (plist-get payload :plans))
      (and sources
           (list (concat "Sources: " (string-join sources ", ")))))
     "\n")))

(defun passepartout-chat--refused (payload)
  "Return the lines about what PAYLOAD says was refused, as one text.
They stand right above the drawer, which has their number: that tells
them from the words of the model."
  (mapconcat
   (lambda (refused)
     (let ((hash (plist-get refused :hash)))
       (concat passepartout-chat--refused-mark
               (passepartout-view-line (plist-get refused :text) 500)
               (and (stringp hash)
                    (string-match-p "\\`[[:xdigit:]]+\\'" hash)
                    (concat "  "
                            (org-link-make-string
                             (concat "passepartout-why:" hash) "why"))))))
   (plist-get payload :refused) "\n"))

(defun passepartout-chat--plan-line (id)
  "Return the line that says that the plan ID waits."
  (concat "- Waits for approval :: " (passepartout-chat--plan-link id)))

(defun passepartout-chat--plan-link (id)
  "Return an Org link to the plan ID, with the title that it has."
  (let ((target (passepartout-chat--link-text id))
        (title (plist-get (passepartout-plan--find id) :title)))
    (org-link-make-string (concat "passepartout-plan:" target)
                          (if title
                              (passepartout-chat--link-text title)
                            (concat "flight plan " target)))))

(defun passepartout-chat--drawer (payload)
  "Return the drawer about how the answer in PAYLOAD came to be."
  (let ((line (lambda (label value)
                (and value
                     (format "- %s :: %s\n" label
                             (passepartout-view-line value))))))
    (concat
     ":PASSEPARTOUT:\n"
     (funcall line "turn" (plist-get payload :turn))
     (funcall line "result" (let ((status (plist-get payload :status)))
                              (car (member status
                                           passepartout-chat--last-words))))
     (funcall line "skill" (plist-get payload :skill))
     (funcall line "model"
              (let ((model (plist-get payload :model))
                    (provider (plist-get payload :provider)))
                (cond ((and model provider) (format "%s (%s)" model provider))
                      (t (or model provider)))))
     (let ((in (plist-get payload :tokens-in))
           (out (plist-get payload :tokens-out))
           (part (lambda (key what)
                   (let ((tokens (plist-get payload key)))
                     (if tokens (format " (%d %s)" tokens what) "")))))
       (and (or in out)
            (funcall line "tokens"
                     (format "%s in%s, %s out%s"
                             (or in 0)
                             (funcall part :tokens-cached "cached")
                             (or out 0)
                             (funcall part :tokens-thinking "thinking")))))
     (funcall line "cost" (plist-get payload :cost))
     ;; Of several, the lines above are the sum.
     (mapconcat (lambda (share)
                  (funcall line "of these" (passepartout-view-share share)))
                (plist-get payload :shares) "")
     (let ((seconds (plist-get payload :seconds)))
       (and (numberp seconds)
            (funcall line "time" (format "%.1f s" seconds))))
     (mapconcat (lambda (source)
                  (let ((id (or (plist-get source :id) "")))
                    (if (passepartout-chat--own-id-p id)
                        (or (funcall line "source"
                                     (format "%s in %s" id
                                             (plist-get source :file)))
                            "")
                      "")))
                (plist-get payload :sources) "")
     (let ((refused (length (plist-get payload :refused))))
       (and (> refused 0)
            (funcall line "refused" (number-to-string refused))))
     (mapconcat #'passepartout-chat--drawer-action
                (plist-get payload :trace) "")
     ":END:")))

(defun passepartout-chat--open-source ()
  "Follow the link to a source at point.
An id is looked up in the drawers of this chat: Emacs need not have
seen the file before, and its own register of ids is neither needed nor
changed.  A heading that is gone opens its file."
  (let* ((link (org-element-context))
         (target (and (eq (org-element-type link) 'link)
                      (org-element-property :raw-link link))))
    (cond
     ((not target) nil)
     ((and (equal (org-element-property :type link) "file")
           (passepartout-remote-p
            (or (org-element-property :path link) ""))
           (passepartout-chat--in-answer-p))
      (user-error "This link leads to another machine: %s"
                  (passepartout-view-line target 200)))
     ((string-prefix-p "id:" target)
      (let ((file (passepartout-chat--file-of-id (substring target 3))))
        (and file
             (passepartout-chat--visit
              file (format "^[ \t]*:ID:[ \t]+%s[ \t]*$"
                           (regexp-quote (substring target 3)))))))
     ;; A heading without an ID has its file and the titles above it.
     ((string-match "\\`id:\\(/.*\\)::\\*\\(?:.*/\\)?\\([^/]*\\)\\'" target)
      (let ((file (match-string 1 target))
            (title (match-string 2 target)))
        (passepartout-chat--visit
         file (concat "^\\*+ .*" (regexp-quote title)))))
     ((string-match "\\`file:\\(/.*\\.org\\)::\\*\\(.*\\)\\'" target)
      (let ((file (match-string 1 target))
            (title (org-link-unescape (match-string 2 target))))
        (passepartout-chat--visit
         file (concat "^\\*+ .*" (regexp-quote title))))))))

(defun passepartout-chat--file-of-id (id)
  "Return the file of the source ID, as the drawers of this chat have it."
  (org-with-wide-buffer
   (goto-char (point-max))
   (and (passepartout-chat--find-in-drawer
         (format "^- source :: %s in \\(/.*\\)$" (regexp-quote id)))
        (match-string-no-properties 1))))

(defun passepartout-chat--visit (file regexp)
  "Visit FILE, which must be there, at the heading with a match for REGEXP.
A file of another machine is not even looked at: that would connect."
  (passepartout-abroad-check-file file)
  (when (and (not (passepartout-remote-p file))
             (file-readable-p file))
    (org-mark-ring-push)
    (find-file file)
    (widen)
    (goto-char (point-min))
    (when (re-search-forward regexp nil t)
      (unless (org-before-first-heading-p)
        (org-back-to-heading t))
      (if (fboundp 'org-fold-show-context)
          (org-fold-show-context)
        (with-no-warnings (org-show-context))))
    t))

(defun passepartout-chat--drawer-action (action)
  "Return the lines of the drawer about ACTION and what the gates said."
  (concat
   (format "- %s: %s%s\n"
           (passepartout-view-line (plist-get action :verdict) 20)
           (passepartout-view-action action)
           (let ((outcome (plist-get action :outcome)))
             (if outcome
                 (concat ", " (passepartout-view-line outcome))
               "")))
   (mapconcat (lambda (opinion)
                (let ((reason (passepartout-view-line
                               (plist-get opinion :reason))))
                  (format "  - %s %s%s%s\n"
                          (passepartout-view-line (plist-get opinion :gate) 40)
                          (passepartout-view-line
                           (plist-get opinion :verdict) 20)
                          (if (string-empty-p reason) "" ": ")
                          reason)))
              (plist-get action :opinions) "")))

;;;; Links to plans

(org-link-set-parameters "passepartout-plan"
                         :follow #'passepartout-chat--visit-plan
                         :face 'passepartout-attention)

(defun passepartout-chat--visit-plan (id &rest _)
  "Show the plan ID."
  (require 'passepartout-plan)
  (passepartout-plan-visit id))

;;;; Links to decisions

(org-link-set-parameters "passepartout-why"
                         :follow #'passepartout-chat--explain
                         :face 'passepartout-quiet)

(defun passepartout-chat--explain (hash &rest _)
  "Explain what was decided about the action HASH."
  (require 'passepartout-trace)
  (passepartout-trace-explain (list :hash hash)))

(provide 'passepartout-chat-below)
;;; passepartout-chat-below.el ends here
