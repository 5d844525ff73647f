;;; passepartout-plan-agenda.el --- Waiting flight plans in Org's agenda  -*- lexical-binding: t; -*-

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

;; With `passepartout-plan-agenda' Org's agenda begins with the plans
;; that wait, one a line, as Emacs knows them: nothing is asked and
;; nothing is waited for.  RET on one goes to it; nothing is decided
;; there, and no command of the agenda takes it for an entry of Org.

;;; Code:

(require 'passepartout)
(require 'passepartout-view)
(eval-when-compile (require 'subr-x))

(declare-function passepartout-plan-pending "passepartout-plan-draw" ())
(declare-function passepartout-plan-visit "passepartout-plan" (id))

(defconst passepartout-plan-agenda--properties
  '(org-agenda-type org-last-args org-lprops org-redo-cmd org-series
    org-series-cmd org-series-redo-cmd)
  "Text properties by which Org knows what made an agenda.
It asks them at the beginning when the agenda is made again.")

(defvar passepartout-plan-agenda-map
  (let ((map (make-sparse-keymap)))
    (dolist (key '("RET" "TAB" "SPC" "<mouse-2>" "C-c C-o"))
      (define-key map (kbd key) #'passepartout-plan-agenda-visit))
    map)
  "Keys on the line of a plan in Org's agenda.
The one that opens links is among them: Org would open what looks like
one in the words of a title.")

(defun passepartout-plan-agenda-visit (&optional event)
  "Go to the flight plan on this line of the agenda, or where EVENT is."
  (interactive (list last-nonmenu-event))
  (when (mouse-event-p event) (mouse-set-point event))
  (let ((id (get-text-property (point) 'passepartout-plan)))
    (unless id (user-error "There is no flight plan on this line"))
    (passepartout-plan-visit id)))

(defun passepartout-plan-agenda--line (plan)
  "Return the line of PLAN, which waits, as the agenda shows one."
  (propertize
   (concat (format "  %-12s" "plan:")
           (propertize "PLAN" 'face 'passepartout-attention)
           " "
           (passepartout-view-line (plist-get plan :title) 120)
           (propertize (concat "  until "
                               (passepartout-view-time
                                (plist-get plan :expires)))
                       'face 'passepartout-quiet)
           "\n")
   'passepartout-plan (plist-get plan :id)
   'keymap passepartout-plan-agenda-map
   'mouse-face 'highlight
   'help-echo "RET goes to this flight plan; nothing is decided here"))

(defun passepartout-plan-agenda-insert ()
  "Insert the plans that wait above what this buffer, an agenda, shows.
It is for `org-agenda-finalize-hook'; `passepartout-plan-agenda' puts it
there."
  (let ((inhibit-read-only t)
        (plans (and (fboundp 'passepartout-plan-pending)
                    (passepartout-plan-pending))))
    (save-excursion
      (passepartout-plan-agenda--clear)
      (goto-char (point-min))
      (when (and plans (not (eobp)))
        (insert (propertize (if (cdr plans)
                                (format "%d flight plans wait:\n"
                                        (length plans))
                              "A flight plan waits:\n")
                            'face 'org-agenda-structure)
                (mapconcat #'passepartout-plan-agenda--line plans "")
                "\n")
        (put-text-property (point-min) (point) 'passepartout-plan-agenda t)
        (dolist (property passepartout-plan-agenda--properties)
          (put-text-property (point-min) (point) property
                             (get-text-property (point) property)))))))

(defun passepartout-plan-agenda--clear ()
  "Take out what was inserted before, as an agenda may be finished twice."
  (let (from)
    (while (setq from (text-property-any (point-min) (point-max)
                                         'passepartout-plan-agenda t))
      (delete-region from (or (next-single-property-change
                               from 'passepartout-plan-agenda)
                              (point-max))))))

(provide 'passepartout-plan-agenda)
;;; passepartout-plan-agenda.el ends here
