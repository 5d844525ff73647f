;;; passepartout-gateways.el --- Messengers and who may write  -*- lexical-binding: t; -*-

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

;; Messengers by which the agent can be reached, how each stands, who
;; may write, and who wrote and may not.
;;
;; Nobody may write before you said so here.  A pairing code, which the
;; person sends from their telephone, shows which of those who wrote it
;; is; the code lets nobody in.  Who may write asks and proposes; who may
;; also decide about plans is a second thing that you say here, or not.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(require 'tabulated-list)

(defconst passepartout-gateways--buffer-name "*Passepartout gateways*"
  "The name of the buffer of messengers.")

(defvar passepartout-gateways-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map tabulated-list-mode-map)
    (define-key map (kbd "l") #'passepartout-gateways-link)
    (define-key map (kbd "p") #'passepartout-gateway-pair)
    (define-key map (kbd "a") #'passepartout-gateways-allow)
    (define-key map (kbd "d") #'passepartout-gateways-let-decide)
    (define-key map (kbd "D") #'passepartout-gateways-decide-no-more)
    (define-key map (kbd "k") #'passepartout-gateways-take-away)
    map)
  "Keys of the buffer of messengers.")

(define-derived-mode passepartout-gateways-mode tabulated-list-mode "Gateways"
  "Major mode of the buffer of messengers.
\\<passepartout-gateways-mode-map>\\[passepartout-gateways-link] links the \
messenger at point, \\[passepartout-gateway-pair] makes a
pairing code, \\[passepartout-gateways-allow] lets the sender at point in, \
\\[passepartout-gateways-let-decide] lets it
decide about plans, \\[passepartout-gateways-decide-no-more] takes that back, \
\\[passepartout-gateways-take-away] takes away what is
at point."
  (setq tabulated-list-format [("Platform" 10 t) ("Linked as" 20 t)
                               ("Sender" 32 t) ("State" 0 t)]
        tabulated-list-padding 1)
  (add-hook 'tabulated-list-revert-hook #'passepartout-gateways--fetch nil t)
  (tabulated-list-init-header))

(defun passepartout-gateways--here ()
  "Return what is at point: (PLATFORM SENDER STATE), SENDER being nil at none."
  (or (tabulated-list-get-id) (user-error "Point is at no messenger")))

(defun passepartout-gateways--do (what platform sender then)
  "Have WHAT done about PLATFORM and SENDER, and call THEN with the answer."
  (passepartout-request
   :gateway (append (list :platform platform :do what)
                    (and sender (list :sender sender)))
   (lambda (payload)
     (let ((why (plist-get payload :error)))
       (if why
           (message "Passepartout: %s" (passepartout-view-line why 500))
         (funcall then payload)))
     (passepartout-gateways--fetch))))

(defun passepartout-gateways--say (payload)
  "Show the text of PAYLOAD, an answer of the core."
  (message "Passepartout: %s"
           (passepartout-view-line (plist-get payload :text) 500)))

(defun passepartout-gateways-link ()
  "Link the messenger at point: its messages are taken from then on."
  (interactive)
  (let ((platform (car (passepartout-gateways--here))))
    (when (yes-or-no-p (format "Take messages by %s? " platform))
      (passepartout-gateways--do :link platform nil
                                 #'passepartout-gateways--say))))

(defun passepartout-gateways-allow ()
  "Let the sender at point in, who sent the code that you were shown."
  (interactive)
  (pcase-let ((`(,platform ,sender ,state) (passepartout-gateways--here)))
    (unless (eq state 'paired)
      (user-error "Only who sent a pairing code can be let in; p makes one"))
    (when (yes-or-no-p (format "Let %s ask and propose by %s? " sender platform))
      (passepartout-gateways--do :allow platform sender
                                 #'passepartout-gateways--say))))

(defun passepartout-gateways-take-away ()
  "Let the sender at point in no more, or unlink the messenger at point."
  (interactive)
  (pcase-let ((`(,platform ,sender ,state) (passepartout-gateways--here)))
    (cond
     ((null sender)
      (passepartout-gateways--do :unlink platform nil
                                 #'passepartout-gateways--say))
     ((memq state '(allowed decides))
      (passepartout-gateways--do :revoke platform sender
                                 #'passepartout-gateways--say))
     (t (user-error "This sender is not let in, and gets no answer")))))

(defun passepartout-gateways-let-decide ()
  "Let the sender at point decide about the plans of its conversation.
Whoever holds that telephone, or the account of the messenger, then
decides as you do: each plan that may leave this machine is sent there
whole, with a token that approves it."
  (interactive)
  (pcase-let ((`(,platform ,sender ,state) (passepartout-gateways--here)))
    (pcase state
      ('decides (user-error "This sender decides already; D takes that back"))
      ('allowed
       (when (yes-or-no-p
              (format "Let %s approve plans by %s, which can read them? "
                      sender platform))
         (passepartout-gateways--do :let-decide platform sender
                                    #'passepartout-gateways--say)))
      (_ (user-error "Only who is let in can decide; a lets in")))))

(defun passepartout-gateways-decide-no-more ()
  "Let the sender at point decide about plans no more."
  (interactive)
  (pcase-let ((`(,platform ,sender ,state) (passepartout-gateways--here)))
    (unless (eq state 'decides)
      (user-error "This sender does not decide about plans"))
    (passepartout-gateways--do :decide-no-more platform sender
                               #'passepartout-gateways--say)))

;;;###autoload
(defun passepartout-gateway-pair (platform)
  "Show a code for the person whom you want to let in by PLATFORM.
They send it as a message, within ten minutes; then let them in with
\\<passepartout-gateways-mode-map>\\[passepartout-gateways-allow] in \
\\[passepartout-gateways].  It counts once."
  (interactive
   (list (or (car (and (derived-mode-p 'passepartout-gateways-mode)
                       (tabulated-list-get-id)))
             "telegram")))
  (passepartout-gateways--do
   :pair platform nil
   (lambda (payload)
     (message "Passepartout: have %s sent within ten minutes, then press a \
at its sender in M-x passepartout-gateways"
              (passepartout-view-line (plist-get payload :code) 20)))))

(defun passepartout-gateways--entries (payload)
  "Return the rows of PAYLOAD, the answer of the core."
  (let (rows)
    (dolist (gateway (plist-get payload :gateways))
      (let ((platform (passepartout-view-line (plist-get gateway :platform) 20))
            (named (if (plist-get gateway :linked)
                       (passepartout-view-line
                        (or (plist-get gateway :named) "linked") 40)
                     "-")))
        (push (list (list platform nil nil)
                    (vector platform named ""
                            (passepartout-view-line (plist-get gateway :state)
                                                    200)))
              rows)
        (dolist (kind '(:allowed :strangers))
          (dolist (known (plist-get gateway kind))
            (let* ((sender (passepartout-view-line (plist-get known :sender) 40))
                   (state (cond ((and (eq kind :allowed)
                                      (plist-get known :decides))
                                 'decides)
                                ((eq kind :allowed) 'allowed)
                                ((plist-get known :paired) 'paired)
                                (t 'stranger))))
              (push (list (list platform sender state)
                          (vector platform ""
                                  (concat sender " "
                                          (passepartout-view-line
                                           (plist-get known :name) 60))
                                  (pcase state
                                    ('allowed "let in; d lets decide, k takes \
that back")
                                    ('decides "let in and decides about plans; \
D takes that back")
                                    ('paired "sent the code; a lets in")
                                    (_ "not let in, gets no answer"))))
                    rows))))))
    (nreverse rows)))

(defun passepartout-gateways--fetch ()
  "Ask the core for the messengers and draw them."
  (passepartout-view-fetch
   passepartout-gateways--buffer-name :gateways
   (lambda (payload)
     (setq tabulated-list-entries (passepartout-gateways--entries payload))
     (tabulated-list-print t))))

;;;###autoload
(defun passepartout-gateways ()
  "Show the messengers, how each stands, and who may write by it."
  (interactive)
  (let ((buffer (get-buffer-create passepartout-gateways--buffer-name)))
    (with-current-buffer buffer
      (unless (derived-mode-p 'passepartout-gateways-mode)
        (passepartout-gateways-mode)))
    (pop-to-buffer buffer)
    (passepartout-gateways--fetch)))

(provide 'passepartout-gateways)
;;; passepartout-gateways.el ends here
