;;; passepartout-integration-tests.el --- Tests with what Emacs has built in  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; Desktop and savehist write their own files here and read them again;
;; repeat-mode and keys are those of Emacs.

;;; Code:

(require 'desktop)
(require 'savehist)
(require 'repeat)
(require 'tramp)
(require 'tramp-sh)
(require 'passepartout-fake)
(require 'passepartout-plan-tests)
(require 'passepartout-ask)
(require 'passepartout-context)
(require 'passepartout-inspect)
(require 'passepartout-query)

;;;; Desktop

(defmacro passepartout-integration-tests--desktop (before &rest after)
  "Do BEFORE, save with desktop, close all, read that again and do AFTER."
  (declare (indent 1) (debug t))
  `(let* ((folder (make-temp-file "passepartout-desktop" t))
          (desktop-path (list folder))
          (desktop-dirname folder)
          (desktop-base-file-name "desktop")
          (desktop-restore-frames nil)
          (desktop-load-locked-desktop t)
          (desktop-save t)
          (desktop-restore-eager t)
          (passepartout--complained nil)
          ;; Of the buffers that were there nothing is kept.
          (others (buffer-list))
          (desktop-buffers-not-to-save-function
           (lambda (_file name &rest _)
             (not (memq (get-buffer name) others)))))
     (unwind-protect
         (progn
           (passepartout-fake-with
             (save-current-buffer ,before)
             (desktop-save folder t))
           (dolist (buffer (buffer-list))
             (unless (memq buffer others) (kill-buffer buffer)))
           (cl-letf (((symbol-function 'passepartout-start)
                      (lambda (&rest _) (error "The core was started"))))
             ;; In batch it reads nothing.
             (let ((inhibit-message t) (noninteractive nil))
               (desktop-read folder)))
           ,@after)
       (dolist (buffer (buffer-list))
         (unless (memq buffer others)
           (with-current-buffer buffer (set-buffer-modified-p nil))
           (kill-buffer buffer)))
       (delete-directory folder t))))

(ert-deftest passepartout-integration-desktop-brings-lists-back-and-starts-nothing ()
  (passepartout-integration-tests--desktop
      (progn
        (passepartout-plan-tests--show (passepartout-plan-tests--plan "SECRET"))
        (passepartout-gate-trace)
        (passepartout-doctor))
    (with-temp-buffer
      (insert-file-contents (expand-file-name "desktop" folder))
      (should-not (search-forward "SECRET" nil t)))
    (dolist (case '(("*Passepartout flight plans*" passepartout-flight-plans)
                    ("*Passepartout gate trace*" passepartout-gate-trace)
                    ("*Passepartout doctor*" passepartout-doctor)))
      (with-current-buffer (car case)
        (should (derived-mode-p 'passepartout-view-mode))
        (should buffer-read-only)
        (should (eq passepartout-list--command (cadr case)))
        (should (string-match-p "of an earlier session" (buffer-string)))))
    ;; The key asks for it as it is now.
    (passepartout-fake-with
      (switch-to-buffer "*Passepartout flight plans*")
      (passepartout-plan-tests--key "g")
      (should (eq major-mode 'passepartout-plan-mode))
      (passepartout-fake-answer
       :plans `(:plans (,(passepartout-plan-tests--plan "P1"))))
      (should (string-match-p "^\\* PLAN Write P1" (buffer-string)))
      (should-not (string-match-p "earlier session" (buffer-string))))))

(ert-deftest passepartout-integration-desktop-does-not-call-what-is-no-list ()
  (let ((buffer (passepartout-view-desktop-restore
                 nil "*Passepartout trace*" '(kill-emacs . "x"))))
    (unwind-protect
        (with-current-buffer buffer
          (should-not passepartout-list--command)
          (should-not desktop-save-buffer)
          (should-not passepartout-view--refresh))
      (kill-buffer buffer))))

(ert-deftest passepartout-integration-desktop-brings-a-chat-back ()
  (passepartout-integration-tests--desktop
      (let ((file (expand-file-name "chat.org" folder)))
        (with-temp-file file
          (insert ":PROPERTIES:\n:PP_CHAT: s1\n:END:\n* What is due?\n** Answer\n"))
        (with-current-buffer (find-file-noselect file)
          (passepartout-chat-mode 1)
          (set-buffer-modified-p nil)))
    (with-current-buffer "chat.org"
      (should passepartout-chat-mode)
      (should (derived-mode-p 'org-mode))
      (should-not (buffer-modified-p)))))

(ert-deftest passepartout-integration-desktop-goes-on-when-the-core-does-not ()
  (passepartout-integration-tests--desktop
      (let ((file (expand-file-name "notes.org" folder)))
        (with-temp-file file (insert "* A\n"))
        (with-current-buffer (find-file-noselect file)
          (passepartout-mode 1))
        (find-file-noselect (expand-file-name "other.txt" folder)))
    ;; It was on, and the core cannot be started.
    (with-current-buffer "notes.org"
      (should-not passepartout-mode))
    (should passepartout--complained)))

(ert-deftest passepartout-integration-desktop-knows-every-mode-of-a-list ()
  (let (missing)
    (mapatoms
     (lambda (mode)
       (let ((name (symbol-name mode)))
         (when (and (string-prefix-p "passepartout-" name)
                    (string-suffix-p "-mode" name)
                    (provided-mode-derived-p mode 'passepartout-view-mode)
                    ;; What is shown for one question alone.
                    (not (eq mode 'passepartout-memory-preview-mode))
                    (not (assq mode desktop-buffer-mode-handlers)))
           (push mode missing)))))
    (should-not missing)))

;;;; Savehist

(ert-deftest passepartout-integration-savehist-keeps-what-was-typed ()
  (let* ((file (make-temp-file "passepartout-history"))
         (savehist-file file)
         (savehist-minibuffer-history-variables nil)
         (savehist-save-minibuffer-history t)
         (savehist-additional-variables nil)
         (savehist-loaded t)
         (minibuffer-setup-hook (list #'savehist-minibuffer-hook))
         (kept '((passepartout-plan-reason-history . "too soon")
                 (passepartout-ask-history . "what is due?")
                 (passepartout-query-history . "tag:boat"))))
    (cl-progv (mapcar #'car kept) (list nil nil nil)
      (unwind-protect
          (progn
            (passepartout-fake-with
              (passepartout-plan-tests--show
               (passepartout-plan-tests--plan "P1"))
              (execute-kbd-macro (kbd "C-c C-k too SPC soon RET"))
              (should (equal (plist-get (car (passepartout-fake-sent :denial))
                                        :reason)
                             "too soon")))
            (cl-letf (((symbol-function 'passepartout-view-open) #'ignore)
                      ((symbol-function 'passepartout-chat-question) #'ignore))
              (let ((unread-command-events nil))
                (execute-kbd-macro
                 (vconcat (kbd "C-u M-x") "passepartout-context"
                          (kbd "RET") "what is due?" (kbd "RET")))))
            (execute-kbd-macro
             (vconcat (kbd "M-:") "(passepartout-query--read)" (kbd "RET")
                      "tag:boat" (kbd "RET")))
            (savehist-save)
            (dolist (pair kept)
              (should (member (cdr pair) (symbol-value (car pair)))))
            (with-temp-buffer
              (insert-file-contents file)
              (dolist (pair kept)
                (goto-char (point-min))
                (should (search-forward (symbol-name (car pair)) nil t))
                (should (search-forward (cdr pair) nil t)))))
        (delete-file file)))))

;;;; Folders of notes

(defvar org-roam-directory)
(defvar denote-directory)
(defvar vulpea-db-sync-directories)

(ert-deftest passepartout-integration-note-folders-are-known-without-setup ()
  (let* ((root (file-truename (make-temp-file "passepartout-notes" t)))
         (in (lambda (name) (expand-file-name name root)))
         (all '(org-directory org-roam-directory denote-directory
                vulpea-db-sync-directories))
         (passepartout-directories nil)
         (passepartout--complained nil)
         (said nil))
    (unwind-protect
        (cl-letf (((symbol-function 'display-warning)
                   (lambda (_type text &rest _) (push text said)))
                  ((symbol-function 'tramp-maybe-open-connection)
                   (lambda (&rest _) (error "A connection was made"))))
          (dolist (name '("org" "org/roam" "denote" "big/denote" "v"))
            (make-directory (funcall in name) t))
          (pcase-dolist
              (`(,values ,expected)
               `((("org") ("org"))
                 (("org" "org/roam") ("org"))
                 (("org" nil ("denote" "none" "v")) ("org" "denote" "v"))
                 (("none" "denote") ("denote"))
                 ;; Nothing is there: the core says so of Org's own.
                 (("none" "none2") ("none"))
                 (("org" "big/denote" nil ("big" "org")) ("org" "big"))
                 ;; What Denote lets a file say, and what holds more than notes.
                 (("org" "/" local ("~")) ("org"))
                 (("org" nil "/ssh:far.invalid:/notes") ("org"))))
            (let ((place (lambda (name)
                           (if (and (stringp name)
                                    (not (string-match-p "\\`[/~]" name)))
                               (funcall in name)
                             name))))
              (cl-progv all
                  (append (mapcar (lambda (value)
                                    (if (listp value) (mapcar place value)
                                      (funcall place value)))
                                  values)
                          (make-list (- 4 (length values)) nil))
                (should (equal (passepartout--directories)
                               (mapcar in expected))))))
          (should (equal (length said) 1))
          (should (string-match-p
                   "ssh:far.invalid:/notes in denote-directory is on another"
                   (car said)))
          ;; What was set counts alone.
          (let ((passepartout-directories (list (funcall in "v")))
                (org-roam-directory (funcall in "denote")))
            (should (equal (passepartout--directories)
                           (list (funcall in "v")))))
          ;; A file does not say where notes lie.
          (with-temp-buffer
            (setq-local org-directory (funcall in "v"))
            (setq-local denote-directory (funcall in "denote"))
            (let ((default (default-value 'org-directory)))
              (should (equal (car (passepartout--directories))
                             (directory-file-name
                              (expand-file-name default)))))
            (should-not (member (funcall in "denote")
                                (passepartout--directories)))))
      (delete-directory root t))))

;;;; TRAMP

(ert-deftest passepartout-integration-what-is-on-another-machine-is-refused ()
  (let ((passepartout--complained nil)
        (passepartout-directories (list temporary-file-directory))
        (said nil))
    (cl-letf (((symbol-function 'display-warning)
               (lambda (_type text &rest _) (push text said)))
              ((symbol-function 'tramp-maybe-open-connection)
               (lambda (&rest _) (error "A connection was made"))))
      ;; What else counts goes on.
      (let ((passepartout-directories
             (list "/ssh:far.invalid:notes" temporary-file-directory))
            (passepartout-skills-directories '("/ssh:far.invalid:/skills"))
            (passepartout-project "/ssh:far.invalid:/work"))
        (let ((settings (passepartout-events--settings)))
          (should (equal (plist-get settings :directories)
                         (list (directory-file-name
                                temporary-file-directory))))
          (should-not (plist-get settings :skills-directories))
          (should-not (plist-get settings :project)))
        (should (= 3 (length said)))
        ;; It is said once.
        (passepartout-events--settings)
        (should (= 3 (length said)))
        (dolist (text said)
          (should (string-match-p "files of this one alone\\'" text))))
      ;; Nothing is begun with another store, or with no notes.
      (dolist (case '((passepartout-store "/ssh:far.invalid:/store")
                      (passepartout-directories ("/ssh:far.invalid:/notes"))))
        (cl-progv (list (car case)) (cdr case)
          (should (string-match-p
                   "on another machine"
                   (error-message-string
                    (should-error (passepartout-events--settings)
                                  :type 'passepartout-start-error)))))))))

(ert-deftest passepartout-integration-a-buffer-of-another-machine-is-asked-about ()
  (passepartout-fake-with
    (cl-letf (((symbol-function 'tramp-maybe-open-connection)
               (lambda (&rest _) (error "A connection was made"))))
      (with-temp-buffer
        (insert "* A\nwords of the far one\n")
        ;; Org looks for its file when it begins.
        (let ((org-mode-hook nil)) (org-mode))
        (setq default-directory "/ssh:far.invalid:/notes/"
              buffer-file-name "/ssh:far.invalid:/notes/a.org")
        (goto-char (point-min))
        (unwind-protect
            (progn
              (should (string-match-p
                       "does not follow remote files"
                       (error-message-string
                        (should-error (passepartout-mode 1)
                                      :type 'user-error))))
              (should-not passepartout-mode)
              (passepartout-ask "What is this?"
                                (passepartout-question-subtree))
              (should (string-search
                       "words of the far one"
                       (prin1-to-string passepartout-fake-sent)))
              (should-not (passepartout-events-project)))
          (setq buffer-file-name nil)
          (set-buffer-modified-p nil))))))

;;;; From turn to turn

(ert-deftest passepartout-integration-next-and-previous-are-n-and-p ()
  (dolist (case '(("C-c M-n" . passepartout-chat-next-turn)
                  ("C-c M-p" . passepartout-chat-previous-turn)
                  ("C-c M-RET" . passepartout-chat-promote)))
    (should (eq (lookup-key passepartout-chat-mode-map (kbd (car case)))
                (cdr case)))))

;;;; Repeat-mode

(ert-deftest passepartout-integration-repeat-goes-on-from-turn-to-turn ()
  (with-temp-buffer
    (insert "* One\n** Answer\ntext\n* Two\n** Answer\n*** Sources\n* Three\n* ")
    (let ((org-mode-hook nil)) (org-mode))
    (goto-char (point-min))
    (dolist (case '((1 "Two") (1 "Three") (1 "") (1 "") (-1 "Three") (-2 "One")
                    (-1 "One") (2 "Three") (0 "Three")))
      (passepartout-chat-next-turn (car case))
      (should (looking-at-p (format "\\* %s$" (cadr case)))))
    ;; From within an answer back to its own question.
    (goto-char (point-min))
    (search-forward "text")
    (passepartout-chat-previous-turn)
    (should (looking-at-p "\\* One$"))
    ;; One that is folded away is opened.
    (outline-hide-sublevels 1)
    (passepartout-chat-next-turn)
    (should-not (invisible-p (point))))
  (dolist (case '((passepartout-chat-next-turn passepartout-chat-turn-repeat-map)
                  (passepartout-next-plan passepartout-plan-repeat-map)))
    (let ((map (symbol-value (cadr case))))
      (should (eq (get (car case) 'repeat-map) (cadr case)))
      (should (eq (lookup-key map "n") (car case)))
      ;; Both keys go on, whichever was pressed.
      (should (eq (get (lookup-key map "p") 'repeat-map) (cadr case))))))

(provide 'passepartout-integration-tests)
;;; passepartout-integration-tests.el ends here
