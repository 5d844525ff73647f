;;; passepartout-inspect.el --- What leaves this machine, exactly  -*- lexical-binding: t; -*-

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

;; The request that was sent to a model last, or that the question at the
;; end of a chat would be sent with, byte for byte: headers, then the
;; body.  What was taken out because it is secret is marked, and it is
;; said how many headings were kept out and whether a word of them is in
;; it.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(eval-when-compile (require 'subr-x))

(defconst passepartout-inspect--buffer-name "*Passepartout request*"
  "The name of the buffer that shows a request.")

(defvar-local passepartout-inspect--asked nil
  "What the request of this buffer is asked for with, a plist.")

(defun passepartout-inspect--proof (page)
  "Return what PAGE says of private headings, in words."
  (let ((kept (plist-get page :kept-out)))
    (pcase (plist-get page :proof)
      (:here "It stays on this machine, and private notes may stand in it.")
      (:absent
       (format "%d private %s kept out; no ten words in a row of %s in it."
               kept (if (= kept 1) "heading is" "headings are")
               (if (= kept 1) "it are" "them are")))
      (:quoted
       (if (plist-get page :sent)
           "Attention: words of what is a private note now stand in it."
         "Attention: words of a private note stand in it; it is not sent so."))
      (_ (concat "It is not known whether words of private notes stand in it: "
                 "they are still being read,\nor there was no room for all "
                 "(M-x passepartout-doctor).")))))

(defun passepartout-inspect--nodes (page)
  "Return what PAGE says of the headings that stand in it, in words."
  (let ((nodes (plist-get page :nodes))
        (above (plist-get page :above)))
    (concat
     (format "%d %s of your notes in it" nodes
             (if (= nodes 1) "heading" "headings"))
     (cond ((eq (plist-get page :proof) :here) ".")
           ((= above 0) ", none more private than its reader may see.")
           (t (format "; %d of them became more private since." above))))))

(defun passepartout-inspect--came (page)
  "Return what PAGE says of what came of a request, as a line, or nothing."
  (let ((cost (plist-get page :cost)))
    (cond ((or (not (plist-get page :sent)) (plist-get page :unreached)) "")
          ((not cost) "It is not answered yet.\n")
          ((plist-get page :tokens-in)
           (format "It came to %d tokens in and %d out: %s.\n"
                   (plist-get page :tokens-in) (plist-get page :tokens-out)
                   (passepartout-view-line cost 60)))
          (t (format "No tokens were reported: %s.\n"
                     (passepartout-view-line cost 60))))))

(defun passepartout-inspect--insert (text page)
  "Insert TEXT, a request, as a section with what PAGE says of it."
  (let ((sent (plist-get page :sent))
        (redacted (plist-get page :redacted))
        (who (passepartout-view-who page)))
    (insert (propertize
             (cond ((not sent) (format "Would be sent to %s\n" who))
                   ((plist-get page :unreached)
                    (format "For %s at %s, which was not reached: nothing left\n"
                            who (passepartout-view-time sent)))
                   (t (format "Sent to %s at %s\n"
                              who (passepartout-view-time sent))))
             'face 'passepartout-title)
            (passepartout-inspect--nodes page) "\n"
            (passepartout-inspect--proof page) "\n"
            (if (= redacted 0)
                "Nothing had to be masked.\n"
              (format "Masked %s: %d.\n"
                      (if (= redacted 1) "place" "places") redacted))
            (passepartout-inspect--came page)
            "\n"
            (passepartout-view-fixed
             (concat "POST " (plist-get page :url) "\n" text))
            "\n")))

(defun passepartout-inspect--draw (requests)
  "Draw REQUESTS in the current buffer, each as (TEXT . PAGE)."
  (let ((count (length requests)))
    (passepartout-view-draw
      (insert (propertize "g asks again, ? shows all keys, q leaves.\n\n"
                          'face 'passepartout-quiet))
      (when (> count 1)
        (insert (format "%d requests were made for one answer:\n" count))
        (dolist (request requests)
          (insert "  " (passepartout-view-who (cdr request))
                  (if (plist-get (cdr request) :unreached)
                      ", not reached" "")
                  "\n"))
        (insert "\n"))
      (let ((number 0))
        (dolist (request requests)
          (setq number (1+ number))
          (passepartout-list-item number
              (passepartout-view-who (cdr request)) (cdr request)
            (passepartout-inspect--insert (car request) (cdr request)))))
      (goto-char (point-min))
      (while (re-search-forward "⟨hidden: [^⟩\n]*⟩\\|\\[MASKED]" nil t)
        (put-text-property (match-beginning 0) (match-end 0)
                           'face 'passepartout-attention)))))

(defun passepartout-inspect--fetch (&optional next parts late done)
  "Ask the core for the requests of this buffer, and draw them.
NEXT is what asks for the next page, without which the first is asked
for.  PARTS are the pages of its request so far, the newest first, DONE
the requests before it as (TEXT . PAGE), the newest first, too, and LATE
says whether others were asked for since."
  (let* ((buffer (get-buffer passepartout-inspect--buffer-name))
         (asked (and buffer (buffer-local-value
                             'passepartout-inspect--asked buffer)))
         (late (or late (and buffer (with-current-buffer buffer
                                      (passepartout-view-asking))))))
    (when buffer
      (passepartout-request
       :inspect (or next (passepartout-inspect--sent asked))
       (lambda (page)
         (let* ((why (plist-get page :error))
                (parts (cons (or (plist-get page :text) "") parts))
                (shown (plist-get page :shown))
                (which (length done))
                (all (cons (cons (string-join (reverse parts)) page) done)))
           (cond
            ((funcall late))
            (why (passepartout-view-refuse buffer why))
            ((plist-get page :next)
             (passepartout-inspect--fetch
              (list :shown shown :which which :from (plist-get page :next))
              parts late done))
            ((< (length all) (or (plist-get page :requests) 1))
             (passepartout-inspect--fetch
              (list :shown shown :which (length all)) nil late all))
            (t (with-current-buffer buffer
                 (passepartout-inspect--draw (reverse all)))))))
       (plist-get asked :session)))))

(defun passepartout-inspect--sent (asked)
  "Return ASKED, a plist, as it is sent: without its session."
  (let (sent)
    (while asked
      (unless (eq (car asked) :session)
        (setq sent (nconc sent (list (car asked) (cadr asked)))))
      (setq asked (cddr asked)))
    sent))

(defun passepartout-inspect--chat ()
  "Return whose last request is meant in a chat with a core elsewhere.
Such a core shows requests of the chat that asks, and no others."
  (and (passepartout-module-road :tag)
       (bound-and-true-p passepartout-chat-mode)
       (list :session (plist-get (passepartout-chat-question) :session))))

;;;###autoload
(defun passepartout-inspect (&optional question)
  "Show the request that was sent to a model last, byte for byte.
Where several were sent for one answer, as several models were asked or
the first ones failed, each has a section.
With a prefix argument, show the one that would be sent next, and send
nothing: in a chat that of the question at point with the chat before
it, elsewhere that of a QUESTION which is asked for."
  (interactive
   (list (and current-prefix-arg
              (or (passepartout-chat-question)
                  (list :text (read-string "Show the request of: " nil
                                           'passepartout-ask-history))))))
  (let ((here (current-buffer))
        (question (if (stringp question) (list :text question) question)))
    (passepartout-view-open
     passepartout-inspect--buffer-name 'passepartout-view-mode
     'passepartout-inspect #'passepartout-inspect--fetch
     (lambda ()
       (setq passepartout-inspect--asked
             (or question
                 (with-current-buffer here (passepartout-inspect--chat))))))))

(provide 'passepartout-inspect)
;;; passepartout-inspect.el ends here
