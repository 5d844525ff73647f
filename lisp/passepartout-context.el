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

;; What a model is told beside the user's words: who it is.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)

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
  (passepartout-request
   :identity nil
   (lambda (payload)
     (let ((why (plist-get payload :error)))
       (if why
           (message "Passepartout: %s" (passepartout-view-line why 500))
         (passepartout-context--visit-identity payload))))))

(provide 'passepartout-context)
;;; passepartout-context.el ends here
