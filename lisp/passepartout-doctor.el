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
;; so and offers to build it, and when the core does not start by the
;; settings as they are, it names the one that is wrong.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-module)
(require 'passepartout-thread)
(require 'passepartout-install)
(require 'passepartout-view)
(require 'wid-edit)
(eval-when-compile (require 'subr-x))

(defconst passepartout-doctor--buffer-name "*Passepartout doctor*"
  "The name of the doctor's buffer.")

(defconst passepartout-doctor--order
  '("unhealthy" "degraded" "unknown" "healthy")
  "The states of a check, the worst first.")

(defvar-local passepartout-doctor--failure nil
  "Why the core did not start when this buffer asked it, or nil.")

(defun passepartout-doctor--options ()
  "Return the options of Passepartout, by name."
  (let (options)
    (dolist (member (get 'passepartout 'custom-group))
      (when (eq (nth 1 member) 'custom-variable)
        (push (car member) options)))
    (sort options #'string<)))

(defun passepartout-doctor--wrong-p (option)
  "Return non-nil when the value of OPTION is not of the kind it says."
  (and (default-boundp option)
       (get option 'custom-type)
       (not (condition-case nil
                (widget-apply (widget-convert (get option 'custom-type))
                              :match (default-value option))
              (error nil)))))

(defun passepartout-doctor--settings ()
  "Return a finding for each option whose value is not of its kind.
While the core does not start, that is what keeps it from it."
  (mapcar
   (lambda (option)
     (list :name "setting"
           :title (format "Setting %s" option)
           :state (if passepartout-doctor--failure "unhealthy" "degraded")
           :detail (let ((print-length 20) (print-level 4) (print-circle t))
                     (format "its value is not of the kind that it takes: %S"
                             (default-value option)))
           :repair (format "M-x customize-option RET %s shows what it takes; \
where your init file sets it, mend it there.  Then press g here." option)
           :fix-label "[show it]"
           :local-fix (lambda () (customize-option option))))
   (seq-filter #'passepartout-doctor--wrong-p (passepartout-doctor--options))))

(defconst passepartout-doctor--keys-milliseconds 16
  "Milliseconds of our work at p99 beyond which keys are felt to be late.")

(defun passepartout-doctor--thread ()
  "Return findings on how long our own work keeps Emacs from your keys."
  (let* ((figures (passepartout-thread-figures))
         (count (plist-get figures :count))
         (p99 (plist-get figures :p99))
         (slow (and p99 (> p99 passepartout-doctor--keys-milliseconds))))
    (and figures
         (list
          (list :name "thread" :title "Emacs's thread"
                :state (if slow "degraded" "healthy")
                :detail (format "%s %s of our work, p99 %.1f ms, longest \
%.0f ms (%s)"
                                (passepartout-doctor--count count)
                                (ngettext "piece" "pieces" count)
                                p99 (plist-get figures :longest)
                                (plist-get figures :what))
                :repair
                (and slow
                     (concat
                      (unless (passepartout-doctor--compiled-p)
                        "The Lisp is not compiled: C-u 0 M-x \
byte-recompile-directory on its folder, then restart Emacs.  ")
                      "Your keys wait that long for Passepartout.  Go on in a \
new chat (C-u M-x passepartout-chat) when this one is very long.  When it \
stays so, report this line.")))))))

(defun passepartout-doctor--compiled-p ()
  "Return non-nil when our Lisp is compiled."
  (let ((function (symbol-function 'passepartout-events--drain)))
    (or (byte-code-function-p function) (subrp function))))

(defun passepartout-doctor--count (count)
  "Return COUNT with commas between thousands."
  (let ((text (number-to-string count)))
    (while (string-match "\\`\\([0-9]+\\)\\([0-9]\\{3\\}\\)" text)
      (setq text (replace-match "\\1,\\2" t nil text)))
    text))

(defun passepartout-doctor--core ()
  "Return a finding about the core when it did not start."
  (and passepartout-doctor--failure
       (list (list :name "core" :title "Core"
                   :state "unhealthy"
                   :detail (concat "it does not start, so its own checks are \
missing: " passepartout-doctor--failure)
                   :repair "Mend what is named, then press g here."))))

(defun passepartout-doctor--local ()
  "Return what Emacs can find out by itself."
  (let ((obstacle (passepartout-module-obstacle))
        (finding (passepartout-module-road :finding)))
    (nconc
     (and finding (list (funcall finding)))
     (passepartout-doctor--core)
     (passepartout-doctor--settings)
     (passepartout-doctor--thread)
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
             :state (cond ((not obstacle) "healthy")
                          ;; Over another road it is not wanted.
                          (finding "unknown")
                          (t "unhealthy"))
             :detail (or obstacle
                         (format "version %s%s" passepartout-version
                                 (if (passepartout-module-loaded-p)
                                     ", loaded" ", not loaded yet")))
             :repair
             (and obstacle
                  (concat (passepartout-install-hint)
                          "; then press g here."))
             :local-fix (and obstacle (passepartout-install-cargo)
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
                  :repair "M-x passepartout-log shows them.")))))))

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
        (name (plist-get check :name))
        (word (or (plist-get check :word) (plist-get check :state))))
    (insert (propertize "* " 'face 'passepartout-quiet)
            (propertize (passepartout-view-line (format "%s" word) 20)
                        'face (passepartout-view-face state))
            (make-string (max 1 (- 11 (length (format "%s" word)))) ?\s)
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
         (or (plist-get check :fix-label) "[repair it]")
         (or local (lambda () (passepartout-doctor--fix name)))
         (if (plist-get check :fix-label)
             "Show what this is about"
           "Let Passepartout repair this"))
        (insert "\n")))))

(defun passepartout-doctor--draw (findings note)
  "Draw FINDINGS of the core after those of Emacs, and NOTE below them."
  (let* ((checks (append (passepartout-doctor--local) findings))
         (worst (passepartout-doctor--worst checks)))
    (passepartout-view-draw
      (insert (propertize "Doctor: " 'face 'passepartout-title)
              (passepartout-view-word worst)
              "\n"
              (propertize "g checks again, ? shows all keys, q leaves.\n\n"
                          'face 'passepartout-quiet))
      (dolist (state passepartout-doctor--order)
        (dolist (check checks)
          (when (equal state (plist-get check :state))
            (passepartout-list-item (or (plist-get check :title)
                                        (plist-get check :name))
                (passepartout-view-line (or (plist-get check :title)
                                            (plist-get check :name))
                                        60)
                check
              (passepartout-doctor--insert check)))))
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
  (with-current-buffer (get-buffer passepartout-doctor--buffer-name)
    (setq passepartout-doctor--failure nil))
  (if (passepartout-module-missing)
      (passepartout-doctor--note "The core has not been checked, because its \
module cannot be used; the line on the module says what to do.")
    (passepartout-doctor--note "Checking…")
    (condition-case problem
        (passepartout-request :doctor `(:providers ,(and providers t)
                                       :gates ,(and gates t))
                              #'passepartout-doctor--show)
      (error
       (with-current-buffer (get-buffer passepartout-doctor--buffer-name)
         (setq passepartout-doctor--failure
               (passepartout-error-text problem)))
       (passepartout-doctor--note nil)))))

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
  (let ((first gates))
    (passepartout-view-open
     passepartout-doctor--buffer-name 'passepartout-view-mode
     'passepartout-doctor
     ;; Only this once: what is asked again tries no gates.
     (lambda ()
       (passepartout-doctor--fetch nil (prog1 first (setq first nil)))))))

(provide 'passepartout-doctor)
;;; passepartout-doctor.el ends here
