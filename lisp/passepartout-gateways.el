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

(defconst passepartout-gateways--buffer-name "*Passepartout gateways*"
  "The name of the buffer of messengers.")

(defconst passepartout-gateways--platforms '("telegram" "signal")
  "The messengers, by their names.")

(defvar passepartout-gateways-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map passepartout-view-mode-map)
    (define-key map (kbd "l") #'passepartout-gateways-link)
    (define-key map (kbd "c") #'passepartout-gateway-pair)
    (define-key map (kbd "a") #'passepartout-gateways-allow)
    (define-key map (kbd "d") #'passepartout-gateways-let-decide)
    (define-key map (kbd "D") #'passepartout-gateways-decide-no-more)
    (define-key map (kbd "k") #'passepartout-gateways-take-away)
    map)
  "Keys of the buffer of messengers.")

(define-derived-mode passepartout-gateways-mode passepartout-view-mode
  "Gateways"
  "Major mode of the buffer of messengers."
  :interactive nil)

(defconst passepartout-gateways--columns
  '(("Platform" 10) ("Linked as" (10 . 20)) ("Sender" (16 . 32)) ("State" nil))
  "The columns of the list of messengers.")

(defun passepartout-gateways--here ()
  "Return what is at point: (PLATFORM SENDER STATE), SENDER being nil at none."
  (or (passepartout-list-data) (user-error "Point is at no messenger")))

(defun passepartout-gateways--do (what platform sender then &optional token)
  "Have WHAT done about PLATFORM and SENDER, and call THEN with the answer.
TOKEN, when it is not nil, is the token by which PLATFORM is linked."
  (passepartout-request
   :gateway (append (list :platform platform :do what)
                    (and sender (list :sender sender))
                    (and token (list :token token)))
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

(defun passepartout-gateways--token ()
  "Read the token of a bot, which is not shown."
  (let ((token (read-passwd "Token of the bot, as BotFather tells it: ")))
    (when (string= token "") (user-error "Nothing was done"))
    token))

(defun passepartout-gateways-link (&optional anew)
  "Link the messenger at point: its messages are taken from then on.
Where Telegram has no token yet, or with a prefix argument ANEW, its
token is asked for and not shown; the core tries it, and keeps it in the
file .env of its settings when it is right."
  (interactive "P")
  (pcase-let ((`(,platform ,_sender ,state) (passepartout-gateways--here)))
    (when (yes-or-no-p (format "Take messages by %s? " platform))
      (passepartout-gateways--do :link platform nil
                                 #'passepartout-gateways--say
                                 (and (equal platform "telegram")
                                      (or anew (eq state 'bare))
                                      (passepartout-gateways--token))))))

(defun passepartout-gateways-allow ()
  "Let the sender at point in, who sent the code that you were shown."
  (interactive)
  (pcase-let ((`(,platform ,sender ,state) (passepartout-gateways--here)))
    (unless (eq state 'paired)
      (user-error "Only who sent a pairing code can be let in; c makes one"))
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
                       (passepartout-list-data)))
             (completing-read "Messenger: " passepartout-gateways--platforms
                              nil t))))
  (passepartout-gateways--do
   :pair platform nil
   (lambda (payload)
     (message "Passepartout: have %s sent within ten minutes, then press a \
at its sender in M-x passepartout-gateways"
              (passepartout-view-line (plist-get payload :code) 20)))))

(defun passepartout-gateways--short (sender)
  "Return SENDER, and of the long name of an account its beginning."
  (if (> (length sender) 20) (concat (substring sender 0 8) "…") sender))

(defun passepartout-gateways--rows (gateway)
  "Return the rows of GATEWAY, a plist: its own, and those of its senders."
  (let* ((platform (passepartout-view-line (plist-get gateway :platform) 20))
         (rows
          (list
           (list platform platform
                 (list platform nil
                       (unless (plist-get gateway :configured) 'bare))
                 (list platform
                       (if (plist-get gateway :linked)
                           (passepartout-view-line
                            (or (plist-get gateway :named) "linked") 40)
                         "-")
                       ""
                       (passepartout-view-line (plist-get gateway :state)
                                               200))))))
    (dolist (kind '(:allowed :strangers) (nreverse rows))
      (dolist (known (plist-get gateway kind))
        (let* ((sender (passepartout-view-line (plist-get known :sender) 40))
               (named (concat (passepartout-gateways--short sender) " "
                              (passepartout-view-line (plist-get known :name)
                                                      60)))
               (state (cond ((and (eq kind :allowed)
                                  (plist-get known :decides))
                             'decides)
                            ((eq kind :allowed) 'allowed)
                            ((plist-get known :paired) 'paired)
                            (t 'stranger))))
          (push (list (concat platform " " sender) named
                      (list platform sender state)
                      (list platform "" named
                            (pcase state
                              ('allowed "let in; d lets decide, k takes that back")
                              ('decides "let in and decides about plans; D takes \
that back")
                              ('paired "sent the code; a lets in")
                              (_ "not let in, gets no answer"))))
                rows))))))

(defun passepartout-gateways--draw (payload)
  "Draw PAYLOAD, the answer of the core, in the current buffer."
  (passepartout-view-draw
    (insert (propertize "Messengers\n" 'face 'passepartout-title)
            (propertize
             "l links a messenger, c makes a pairing code, a lets a sender in, \
d lets one decide, k takes that back or unlinks, S sorts, g asks again, \
? shows all keys, q leaves.\n\n"
             'face 'passepartout-quiet))
    (if (null (plist-get payload :gateways))
        (insert "There is no messenger.  \
M-x customize-option RET passepartout-telegram turns one on; then g asks again.\n")
      (passepartout-list-head passepartout-gateways--columns)
      (passepartout-list-rows passepartout-gateways--columns
                              (mapcan #'passepartout-gateways--rows
                                      (plist-get payload :gateways))))))

(defun passepartout-gateways--fetch ()
  "Ask the core for the messengers and draw them."
  (passepartout-view-fetch passepartout-gateways--buffer-name :gateways
                           #'passepartout-gateways--draw))

;;;###autoload
(defun passepartout-gateways ()
  "Show the messengers, how each stands, and who may write by it."
  (interactive)
  (passepartout-view-open passepartout-gateways--buffer-name
                          'passepartout-gateways-mode 'passepartout-gateways
                          #'passepartout-gateways--fetch))

(provide 'passepartout-gateways)
;;; passepartout-gateways.el ends here
