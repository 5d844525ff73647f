;;; passepartout-repl.el --- A REPL in a confined Emacs  -*- lexical-binding: t; -*-

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

;; What is typed here is judged by the gates and evaluated in a confined
;; Emacs of its own, never in this one, and no model takes part.  This
;; file shows what comes back and reads nothing of it.

;;; Code:

(require 'ring)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(eval-when-compile (require 'subr-x))

(defconst passepartout-repl--buffer-name "*Passepartout REPL*"
  "The name of the buffer of the REPL.")

(defconst passepartout-repl--prompt "lisp> "
  "What stands before what is typed.")

(defconst passepartout-repl--greatest 1000000
  "How many characters the buffer holds at most.")

(defvar-local passepartout-repl--session nil
  "The name of the session of this REPL.")

(defvar-local passepartout-repl--mark nil
  "Where the last prompt begins: what comes back is inserted there.")

(defvar-local passepartout-repl--input nil
  "Where what is being typed begins.")

(defvar-local passepartout-repl--busy nil
  "Non-nil while something is evaluated.")

(defvar-local passepartout-repl--said nil
  "What has come back of it so far, the newest first.")

(defvar-local passepartout-repl--ring nil
  "What was typed before.")

(defvar-local passepartout-repl--index nil
  "Which entry of the ring stands at the prompt, or nil.")

(defvar passepartout-repl-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'passepartout-repl-return)
    (define-key map (kbd "C-j") #'newline)
    (define-key map (kbd "M-p") #'passepartout-repl-previous-input)
    (define-key map (kbd "M-n") #'passepartout-repl-next-input)
    (define-key map (kbd "C-a") #'passepartout-repl-beginning-of-line)
    (define-key map (kbd "C-c C-c") #'passepartout-repl-interrupt)
    (define-key map (kbd "C-c C-u") #'passepartout-repl-kill-input)
    map)
  "Keys of `passepartout-repl-mode'.")

(define-derived-mode passepartout-repl-mode fundamental-mode "REPL"
  "Mode of the REPL, whose Lisp runs in a confined Emacs.
\\{passepartout-repl-mode-map}"
  :group 'passepartout
  (set-syntax-table emacs-lisp-mode-syntax-table)
  (setq passepartout-repl--session
        (passepartout-abroad-session
         (format "repl-%s-%04x" (format-time-string "%Y%m%dT%H%M%S")
                 (random 65536)))
        passepartout-repl--mark (make-marker)
        passepartout-repl--input (make-marker)
        passepartout-repl--ring (make-ring 200))
  (set-marker-insertion-type passepartout-repl--mark t)
  (add-hook 'kill-buffer-hook #'passepartout-repl--killed nil t))

;;;; Drawing

(defun passepartout-repl--fix ()
  "Let nothing before what is being typed be changed; forget its undoing."
  (add-text-properties (point-min) passepartout-repl--input
                       '(read-only t front-sticky (read-only)
                         rear-nonsticky t))
  (setq buffer-undo-list nil))

(defun passepartout-repl--draw-prompt ()
  "Put a prompt at the end, with point behind it."
  (let ((inhibit-read-only t))
    (goto-char (point-max))
    (unless (bolp) (insert "\n"))
    (let ((start (point)))
      (insert (propertize passepartout-repl--prompt
                          'face 'passepartout-subtitle))
      (set-marker passepartout-repl--mark start)
      (set-marker passepartout-repl--input (point)))
    (passepartout-repl--fix)))

(defun passepartout-repl--show (text face)
  "Insert TEXT, as lines of its own with FACE, before the prompt."
  (let ((inhibit-read-only t)
        (text (passepartout-view-visible text)))
    (save-excursion
      (goto-char passepartout-repl--mark)
      (insert (propertize (string-remove-suffix "\n" text) 'face face) "\n")
      (let ((surplus (- (buffer-size) passepartout-repl--greatest)))
        (when (> surplus 0)
          (goto-char (+ (point-min) surplus))
          (forward-line 1)
          (delete-region (point-min)
                         (min (point) passepartout-repl--mark)))))
    (passepartout-repl--fix)))

(defun passepartout-repl--show-answer (text)
  "Show TEXT, what an evaluation came to: output, value and error apart."
  (let* ((cut (string-match "\n--- output ---\n" text))
         (output (and cut (substring text (match-end 0))))
         (head (if cut (substring text 0 cut) text)))
    (when output (passepartout-repl--show output nil))
    (cond ((string-prefix-p "Value: " head)
           (passepartout-repl--show (substring head 7) 'passepartout-good))
          ((string-prefix-p "Error: " head)
           (passepartout-repl--show (concat "Error: " (substring head 7))
                                    'passepartout-bad))
          ((not (string-blank-p head))
           (passepartout-repl--show head 'passepartout-quiet)))))

;;;; What comes back

(defun passepartout-repl--find-buffer (session)
  "Return the REPL of SESSION, or nil."
  (and session
       (passepartout-abroad-here-p session)
       (seq-find (lambda (buffer)
                   (equal session (buffer-local-value
                                   'passepartout-repl--session buffer)))
                 (buffer-list))))

(defun passepartout-repl--chunk (payload meta)
  "Keep the text in PAYLOAD for the REPL of META."
  (let ((buffer (passepartout-repl--find-buffer (plist-get meta :session-id)))
        (text (plist-get payload :text)))
    (when (and buffer text)
      (with-current-buffer buffer (push text passepartout-repl--said)))))

(defun passepartout-repl--done (payload meta)
  "Show what the evaluation in PAYLOAD came to, in the REPL of META."
  (let ((buffer (passepartout-repl--find-buffer (plist-get meta :session-id)))
        (plans (plist-get payload :plans))
        (notice (plist-get payload :text)))
    (when buffer
      (with-current-buffer buffer
        (passepartout-repl--show-answer
         (apply #'concat (nreverse passepartout-repl--said)))
        ;; What an approved plan came to is said there.
        (cond ((null notice))
              ((equal (plist-get payload :status) "answered")
               (passepartout-repl--show-answer notice))
              (t (passepartout-repl--show notice 'passepartout-bad)))
        (when plans
          (passepartout-repl--show
           (format "It waits as %s: M-x passepartout-flight-plans."
                   (passepartout-view-line (string-join plans ", ")))
           'passepartout-attention))
        (setq passepartout-repl--said nil
              passepartout-repl--busy nil)))))

(defun passepartout-repl--stopped (payload _meta)
  "Note in every REPL that the core has ended, as PAYLOAD has it."
  (when (equal (plist-get payload :state) "stopped")
    (dolist (buffer (buffer-list))
      (when (buffer-local-value 'passepartout-repl--busy buffer)
        (with-current-buffer buffer
          (setq passepartout-repl--said nil
                passepartout-repl--busy nil)
          (passepartout-repl--show "Passepartout has stopped."
                                   'passepartout-attention))))))

(passepartout-subscribe :stream-chunk nil #'passepartout-repl--chunk)
(passepartout-subscribe :response :turn-done #'passepartout-repl--done)
(passepartout-subscribe :status nil #'passepartout-repl--stopped)

(defun passepartout-repl--killed ()
  "End what is evaluated here, and the Emacs that was kept for it."
  (when (and passepartout-repl--session (passepartout-running-p))
    (passepartout-send-event :interrupt '(:closed t)
                             passepartout-repl--session)))

;;;; Commands

(defun passepartout-repl--here ()
  "Leave with an error outside of a REPL; return no arguments."
  (unless (derived-mode-p 'passepartout-repl-mode)
    (user-error "This is no REPL; M-x passepartout-repl opens one")))

(defun passepartout-repl--typed ()
  "Return what is being typed."
  (buffer-substring-no-properties passepartout-repl--input (point-max)))

(defun passepartout-repl--whole-p ()
  "Return non-nil when what is being typed is a command or balanced."
  (or (string-prefix-p "," (string-trim-left (passepartout-repl--typed)))
      (let ((state (parse-partial-sexp passepartout-repl--input (point-max))))
        (and (<= (car state) 0) (not (nth 3 state))))))

(defun passepartout-repl-return ()
  "Evaluate what is being typed when it is balanced, else begin a line."
  (interactive (passepartout-repl--here))
  (cond ((< (point) passepartout-repl--input) (goto-char (point-max)))
        ((string-blank-p (passepartout-repl--typed)) nil)
        ((equal (string-trim (passepartout-repl--typed)) ",quit")
         (kill-buffer))
        (passepartout-repl--busy
         (user-error "Something is still evaluated; C-c C-c stops it"))
        ((not (passepartout-repl--whole-p))
         (goto-char (point-max))
         (newline))
        (t (passepartout-repl--send (passepartout-repl--typed)))))

(defun passepartout-repl--send (code)
  "Have CODE evaluated."
  (passepartout-start)
  (let ((why (passepartout-abroad-elsewhere passepartout-repl--session)))
    (when why (user-error "%s" why)))
  (ring-insert passepartout-repl--ring (string-trim code))
  (setq passepartout-repl--index nil
        passepartout-repl--said nil
        passepartout-repl--busy t)
  (passepartout-repl--draw-prompt)
  (passepartout-send-event
   :repl-eval
   `(:code ,code
     ,@(let ((project (passepartout-events-project)))
         (and project `(:project ,project))))
   passepartout-repl--session))

(defun passepartout-repl--recall (step)
  "Put the entry of the ring at the prompt that lies STEP further back."
  (when (ring-empty-p passepartout-repl--ring)
    (user-error "Nothing was typed before"))
  (let* ((length (ring-length passepartout-repl--ring))
         (index (+ (or passepartout-repl--index -1) step)))
    (passepartout-repl-kill-input)
    (setq passepartout-repl--index
          (and (>= index 0) (min index (1- length))))
    (when passepartout-repl--index
      (insert (ring-ref passepartout-repl--ring passepartout-repl--index)))))

(defun passepartout-repl-previous-input ()
  "Put what was typed before at the prompt."
  (interactive (passepartout-repl--here))
  (passepartout-repl--recall 1))

(defun passepartout-repl-next-input ()
  "Put what was typed after that at the prompt."
  (interactive (passepartout-repl--here))
  (passepartout-repl--recall -1))

(defun passepartout-repl-kill-input ()
  "Delete what is being typed."
  (interactive (passepartout-repl--here))
  (delete-region passepartout-repl--input (point-max))
  (goto-char (point-max)))

(defun passepartout-repl-beginning-of-line ()
  "Go to where what is being typed begins, or to the beginning of the line."
  (interactive (passepartout-repl--here))
  (if (and (>= (point) passepartout-repl--input)
           (= (line-number-at-pos)
              (line-number-at-pos passepartout-repl--input)))
      (goto-char passepartout-repl--input)
    (beginning-of-line)))

(defun passepartout-repl-interrupt ()
  "Stop what is evaluated; what the confined Emacs had kept is gone with it."
  (interactive (passepartout-repl--here))
  (if passepartout-repl--busy
      (passepartout-send-event :interrupt nil passepartout-repl--session)
    (passepartout-repl-kill-input)))

;;;###autoload
(defun passepartout-repl ()
  "Show a REPL whose Emacs Lisp is evaluated in a confined Emacs.
It sees no file of yours, no network and no other program, and keeps
what you define.  The gates judge what you type; no model takes part."
  (interactive)
  (let ((buffer (get-buffer-create passepartout-repl--buffer-name)))
    (with-current-buffer buffer
      (unless (derived-mode-p 'passepartout-repl-mode)
        (passepartout-repl-mode)
        (insert (propertize
                 "Lisp in an Emacs of its own.  ,help says what can be typed.\n"
                 'face 'passepartout-quiet))
        (passepartout-repl--draw-prompt)))
    (pop-to-buffer buffer)))

(provide 'passepartout-repl)
;;; passepartout-repl.el ends here
