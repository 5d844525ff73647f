;;; passepartout-cassette.el --- Recording what models are asked and answer  -*- lexical-binding: t; -*-

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

;; A cassette is a file with exchanges between the core and model
;; providers.  It is recorded here, and played by a provider of the
;; kind "replay".

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)

(defun passepartout-cassette--tell (payload)
  "Say what the core answered in PAYLOAD."
  (message "Passepartout: %s"
           (passepartout-view-line (or (plist-get payload :error)
                                       (plist-get payload :text))
                                   500)))

;;;###autoload
(defun passepartout-cassette-record (file)
  "Record what is sent to models and what they answer in FILE, a new one.
Secrets are masked.  Of conversations that may not leave this machine
nothing is recorded, and that is said.  It goes on until
\\[passepartout-cassette-stop]."
  (interactive
   (list (passepartout-view-read-new-file
          "Record in the new file" default-directory
          (format-time-string "cassette-%F-%H%M%S.jsonl"))))
  (passepartout-request :cassette-record
                        (list :file (expand-file-name file))
                        #'passepartout-cassette--tell))

;;;###autoload
(defun passepartout-cassette-stop ()
  "End the recording, and say what is on the cassette."
  (interactive)
  (passepartout-request :cassette-stop nil #'passepartout-cassette--tell))

(provide 'passepartout-cassette)
;;; passepartout-cassette.el ends here
