;;; passepartout-doctor.el --- What works, what does not, and how to repair it  -*- lexical-binding: t; -*-

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

;; The doctor shows the checks of the core, after those that Emacs can
;; make without it: when the module is missing, the doctor still says
;; so and offers to build it.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-module)
(require 'passepartout-view)
(eval-when-compile (require 'subr-x))

(defconst passepartout-doctor--buffer-name "*Passepartout doctor*"
  "The name of the doctor's buffer.")

(defconst passepartout-doctor--order
  '("unhealthy" "degraded" "unknown" "healthy")
  "The states of a check, the worst first.")

(defun passepartout-doctor--local ()
  "Return what Emacs can find out by itself."
  (let ((obstacle (passepartout-module-obstacle)))
    (delq
     nil
     (list
      (list :name "emacs" :title "Emacs"
            :state (if (version<= "28.2" emacs-version) "healthy" "unhealthy")
            :detail (format "version %s, at least 28.2 is needed"
                            emacs-version)
            :repair (and (version< emacs-version "28.2")
                         "Install a newer Emacs."))
      (list :name "module" :title "Module"
            :state (if obstacle "unhealthy" "healthy")
            :detail (or obstacle
                        (format "version %s%s" passepartout-version
                                (if (passepartout-module-loaded-p)
                                    ", loaded" ", not loaded yet")))
            :repair
            (cond ((not obstacle) nil)
                  ((executable-find "cargo")
                   "Build the module with cargo; then press g here.")
                  (t "Install a Rust toolchain (https://rustup.rs) and a C \
compiler, then M-x passepartout-module-build, or make build in the sources."))
            :local-fix (and obstacle (executable-find "cargo")
                            #'passepartout-module-build))
      (and passepartout-events--notes
           (list :name "lisp" :title "Lisp"
                 :state "degraded"
                 :detail (format (ngettext
                                  "%d fault since Emacs started; the last: %s"
                                  "%d faults since Emacs started; the last: %s"
                                  (length passepartout-events--notes))
                                 (length passepartout-events--notes)
                                 (cdar passepartout-events--notes))
                 :repair "M-x passepartout-log shows them."))))))

(defun passepartout-doctor--worst (findings)
  "Return the worst state of FINDINGS."
  (or (seq-find (lambda (state)
                  (seq-some (lambda (check)
                              (equal state (plist-get check :state)))
                            findings))
                passepartout-doctor--order)
      "unknown"))

(defun passepartout-doctor--insert (check)
  "Insert CHECK: its state, what it is about, and how to repair it."
  (let ((state (plist-get check :state))
        (detail (plist-get check :detail))
        (repair (plist-get check :repair))
        (local (plist-get check :local-fix))
        (name (plist-get check :name)))
    (insert (propertize "* " 'face 'passepartout-quiet)
            (passepartout-view-word state)
            (make-string (max 1 (- 11 (length (format "%s" state)))) ?\s)
            (propertize (passepartout-view-line
                         (or (plist-get check :title) name) 60)
                        'face 'bold)
            "\n")
    (when detail
      (insert "  " (passepartout-view-line detail 600) "\n"))
    (when (and repair (not (equal state "healthy")))
      (insert "  " (propertize "Repair: " 'face 'passepartout-quiet)
              (passepartout-view-line repair 600) "\n")
      (when (or local (plist-get check :fix))
        (insert "  ")
        (passepartout-view-button
         "[repair it]"
         (or local (lambda () (passepartout-doctor--fix name)))
         "Let Passepartout repair this")
        (insert "\n")))))

(defun passepartout-doctor--draw (findings note)
  "Draw FINDINGS of the core after those of Emacs, and NOTE below them."
  (let* ((checks (append (passepartout-doctor--local) findings))
         (worst (passepartout-doctor--worst checks)))
    (passepartout-view-draw
      (insert (propertize "Doctor: " 'face 'passepartout-title)
              (passepartout-view-word worst)
              "\n"
              (propertize "g checks again, q leaves.\n\n"
                          'face 'passepartout-quiet))
      (dolist (state passepartout-doctor--order)
        (dolist (check checks)
          (when (equal state (plist-get check :state))
            (passepartout-doctor--insert check))))
      (insert "\n" (or note "") "\n")
      (passepartout-view-button
       "[ask the model providers too]"
       (lambda () (passepartout-doctor--fetch t))
       "This uses the network")
      (insert "  ")
      (passepartout-view-button
       "[try the gates]"
       (lambda () (passepartout-doctor--fetch nil t))
       "Try acts that must never happen, in a scratch folder"))))

(defun passepartout-doctor--show (payload)
  "Draw the findings in PAYLOAD when the doctor's buffer is there."
  (let ((buffer (get-buffer passepartout-doctor--buffer-name)))
    (when buffer
      (with-current-buffer buffer
        (passepartout-doctor--draw (plist-get payload :checks) nil)))))

(defun passepartout-doctor--fetch (&optional providers gates)
  "Ask the core for its findings, also about PROVIDERS when that is non-nil.
With GATES non-nil, also have it try acts that must never happen.
Without a module nothing is asked of anybody: what Emacs found says
what is to be done."
  (if (and (not passepartout-module--transport)
           (passepartout-module-obstacle))
      (passepartout-doctor--note "The core has not been checked, because its \
module cannot be used; the line on the module says what to do.")
    (passepartout-doctor--note "Checking…")
    (condition-case problem
        (passepartout-request :doctor `(:providers ,(and providers t)
                                       :gates ,(and gates t))
                              #'passepartout-doctor--show)
      (error
       (passepartout-doctor--note
        (concat "The core could not be started, so its own checks are "
                "missing: " (error-message-string problem)))))))

(defun passepartout-doctor--note (note)
  "Draw what Emacs found out by itself, and NOTE below it."
  (with-current-buffer (get-buffer passepartout-doctor--buffer-name)
    (passepartout-doctor--draw nil note)))

(defun passepartout-doctor--fix (name)
  "Ask the core to repair what the check NAME is about."
  (passepartout-request :doctor-fix `(:check ,name)
                        #'passepartout-doctor--show))

;;;###autoload
(defun passepartout-doctor (&optional gates)
  "Say what works, what does not, and how to repair it.
With a prefix argument (GATES), also try acts that must never
happen, such as sending a key or leaving a command's confinement,
in a scratch folder, and say what held."
  (interactive "P")
  (let ((buffer (passepartout-view-buffer passepartout-doctor--buffer-name
                                          'passepartout-view-mode)))
    (with-current-buffer buffer
      (setq passepartout-view--refresh #'passepartout-doctor--fetch))
    (pop-to-buffer buffer)
    (passepartout-doctor--fetch nil gates)))

(provide 'passepartout-doctor)
;;; passepartout-doctor.el ends here
