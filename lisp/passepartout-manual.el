;;; passepartout-manual.el --- Open the manual  -*- lexical-binding: t; -*-

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

;; The manual is read in Info where it was made for that, as packages and
;; recipes do, and else as the Org file that it is written in.

;;; Code:

(require 'passepartout)
(require 'passepartout-module)

(declare-function Info-find-file "info" (filename &optional noerror no-pop-to-dir))

(defun passepartout-manual--file ()
  "Return the Org file of the manual, or nil when it is not there."
  (let ((file (expand-file-name "docs/manual.org" passepartout-module--root)))
    (and (file-readable-p file) file)))

;;;###autoload
(defun passepartout-manual ()
  "Read the manual, in Info or else as the Org file that it is written in."
  (interactive)
  (require 'info)
  (cond ((Info-find-file "passepartout" t) (info "(passepartout)"))
        ((passepartout-manual--file)
         (let ((enable-local-variables nil))
           (view-file (passepartout-manual--file))))
        (t (user-error "The manual was not installed with the Lisp"))))

(provide 'passepartout-manual)
;;; passepartout-manual.el ends here
