;;; passepartout-status.el --- What the agent is doing, in one line  -*- lexical-binding: t; -*-

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

;; The core says what it is doing when that changes.  This file keeps
;; the last such message and shows it: the number of plans that wait in
;; the mode line, the rest in the header line of chats and on request.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(eval-when-compile (require 'subr-x))

(declare-function passepartout-plan-pending "passepartout-plan-draw" ())

(defvar passepartout-status--last nil
  "The payload of the last status message, or nil.")

(defvar passepartout-status--mode-line ""
  "What the mode line says about the agent; empty when nothing waits.")
(put 'passepartout-status--mode-line 'risky-local-variable t)

(defvar passepartout-status--map
  (let ((map (make-sparse-keymap)))
    (define-key map [mode-line mouse-1] #'passepartout-flight-plans)
    map)
  "Keys of the part of the mode line that counts plans.")

(defun passepartout-status--received (payload _meta)
  "Keep and show PAYLOAD, a status message."
  (setq passepartout-status--last payload)
  (passepartout-status--show))

(defun passepartout-status--count ()
  "Return how many plans wait."
  (max (or (plist-get passepartout-status--last :pending) 0)
       (if (fboundp 'passepartout-plan-pending)
           (length (passepartout-plan-pending))
         0)))

(defun passepartout-status--show ()
  "Bring the mode line up to date."
  (let* ((count (passepartout-status--count))
         (text (concat
                (passepartout-status--road)
                (and (> count 0) (passepartout-running-p)
                     (propertize
                      (format " [%d plan%s]" count (if (= count 1) "" "s"))
                      'face 'passepartout-attention
                      'help-echo "Flight plans wait; mouse-1 shows them"
                      'local-map passepartout-status--map)))))
    (unless (equal-including-properties text passepartout-status--mode-line)
      (setq passepartout-status--mode-line text)
      (force-mode-line-update t))))

(defun passepartout-status--road ()
  "Return which core is used, when it is not that of this Emacs."
  (let ((name (passepartout-module-road :name))
        (state (plist-get passepartout-status--last :state)))
    (and name
         (passepartout-running-p)
         (propertize
          (format " [%s%s]" (passepartout-view-line name 30)
                  (if (member state '("not connected" "not answering"))
                      (concat ": " state) ""))
          'help-echo "Connected to this core; M-x passepartout-doctor says how"))))

(defun passepartout-status--install ()
  "Add the count of plans to the mode line."
  (unless (memq 'passepartout-status--mode-line
                (or global-mode-string '("")))
    (setq global-mode-string
          (append (or global-mode-string '(""))
                  '(passepartout-status--mode-line)))))

(defun passepartout-status-text ()
  "Return what the agent is doing, in a few words."
  (let* ((last passepartout-status--last)
         (state (plist-get last :state))
         (reading (plist-get last :reading))
         (indexing (plist-get last :indexing))
         (focus (plist-get last :focus-title))
         (unhealthy (equal (plist-get last :health) "unhealthy"))
         (problems (or (plist-get last :problems) 0))
         (count (passepartout-status--count)))
    (if (or (null last) (not (passepartout-running-p)))
        "not running"
      (string-join
       (delq nil
             (list
              (and (passepartout-module-road :name)
                   (format "connected to %s"
                           (passepartout-view-line
                            (passepartout-module-road :name) 40)))
              (and unhealthy "unhealthy (M-x passepartout-doctor)")
              (cond ((and (equal state "reading") (consp reading))
                     (format "reading %s of %s files" (car reading)
                             (cadr reading)))
                    ;; The count of the plans says it better.
                    ((and (equal state "waiting") (> count 0)) nil)
                    (t (passepartout-view-line
                        (format "%s" (or state "idle")) 20)))
              (and (consp indexing)
                   (format "words of %s of %s files indexed" (car indexing)
                           (cadr indexing)))
              (and (plist-get last :recorded)
                   "recording a cassette")
              (and (plist-get last :scope)
                   (format "in %s" (passepartout-view-line
                                    (plist-get last :scope) 40)))
              (and focus
                   (format "on “%s”" (passepartout-view-line focus 40)))
              (and (> count 0)
                   (format "%d plan%s" count
                           (if (= count 1) " waits" "s wait")))
              (and (> problems 0)
                   (format "%d problem%s (M-x passepartout-log)" problems
                           (if (= problems 1) "" "s")))))
       ", "))))

;;;###autoload
(defun passepartout-status ()
  "Say in one line what the agent is doing."
  (interactive)
  (let ((last passepartout-status--last))
    (message "Passepartout: %s%s"
             (passepartout-status-text)
             (let ((files (plist-get last :files))
                   (headings (plist-get last :headings)))
               (if (and files headings)
                   (format "; %s heading%s in %s file%s"
                           headings (if (eql headings 1) "" "s")
                           files (if (eql files 1) "" "s"))
                 "")))))

;;;###autoload
(defun passepartout-rescan ()
  "Read the memex again."
  (interactive)
  (passepartout-request
   :rescan nil
   (lambda (payload)
     (message "Passepartout: %s"
              (passepartout-view-line (or (plist-get payload :error)
                                          (plist-get payload :text)
                                          "reading the memex again"))))))

(passepartout-subscribe :status nil #'passepartout-status--received)
(add-hook 'passepartout-start-hook #'passepartout-status--install)
(add-hook 'passepartout-plan-changed-hook #'passepartout-status--show)

(provide 'passepartout-status)
;;; passepartout-status.el ends here
