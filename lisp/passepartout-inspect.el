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

(defun passepartout-inspect--draw (text page)
  "Draw TEXT, a request, which PAGE describes, in the current buffer."
  (let ((sent (plist-get page :sent))
        (redacted (plist-get page :redacted)))
    (passepartout-view-draw
      (insert (propertize
               (if sent
                   (format "Sent to %s at %s\n"
                           (passepartout-view-line (plist-get page :provider)
                                                   60)
                           (passepartout-view-time sent))
                 (format "Would be sent to %s\n"
                         (passepartout-view-line (plist-get page :provider)
                                                 60)))
               'face 'passepartout-title)
              (propertize "g asks again, q leaves.\n\n"
                          'face 'passepartout-quiet)
              (passepartout-inspect--nodes page) "\n"
              (passepartout-inspect--proof page) "\n"
              (if (= redacted 0)
                  "Nothing had to be masked.\n"
                (format "Masked %s: %d.\n"
                        (if (= redacted 1) "place" "places") redacted))
              "\n"
              (passepartout-view-fixed
               (concat "POST " (plist-get page :url) "\n" text)))
      (goto-char (point-min))
      (while (re-search-forward "⟨hidden: [^⟩\n]*⟩\\|\\[MASKED]" nil t)
        (put-text-property (match-beginning 0) (match-end 0)
                           'face 'passepartout-attention)))))

(defun passepartout-inspect--fetch (&optional from parts shown late)
  "Ask the core for the request of this buffer from byte FROM, and draw it.
PARTS are the pages so far, the newest first, SHOWN names the request
that they are of, and LATE says whether another one was asked for since."
  (let* ((buffer (get-buffer passepartout-inspect--buffer-name))
         (asked (and buffer (buffer-local-value
                             'passepartout-inspect--asked buffer)))
         (late (or late (and buffer (with-current-buffer buffer
                                      (passepartout-view-asking))))))
    (when buffer
      (passepartout-request
       :inspect (if from
                    (list :from from :shown shown)
                  (passepartout-inspect--sent asked))
       (lambda (page)
         (let ((why (plist-get page :error))
               (parts (cons (or (plist-get page :text) "") parts)))
           (cond
            ((funcall late))
            (why (message "Passepartout: %s" (passepartout-view-line why 500)))
            ((plist-get page :next)
             (passepartout-inspect--fetch (plist-get page :next) parts
                                          (plist-get page :shown) late))
            (t (with-current-buffer buffer
                 (passepartout-inspect--draw
                  (string-join (reverse parts)) page))))))
       (plist-get asked :session)))))

(defun passepartout-inspect--sent (asked)
  "Return ASKED, a plist, as it is sent: without its session."
  (let (sent)
    (while asked
      (unless (eq (car asked) :session)
        (setq sent (nconc sent (list (car asked) (cadr asked)))))
      (setq asked (cddr asked)))
    sent))

;;;###autoload
(defun passepartout-inspect (&optional question)
  "Show the request that was sent to a model last, byte for byte.
With a prefix argument, show the one that would be sent next, and send
nothing: in a chat that of the question at point with the chat before
it, elsewhere that of a QUESTION which is asked for."
  (interactive
   (list (and current-prefix-arg
              (or (passepartout-chat-question)
                  (list :text (read-string "Show the request of: "))))))
  (let ((question (if (stringp question) (list :text question) question))
        (buffer (passepartout-view-buffer passepartout-inspect--buffer-name
                                          'passepartout-view-mode)))
    (with-current-buffer buffer
      (setq passepartout-inspect--asked question
            passepartout-view--refresh #'passepartout-inspect--fetch))
    (pop-to-buffer buffer)
    (passepartout-inspect--fetch)))

(provide 'passepartout-inspect)
;;; passepartout-inspect.el ends here
