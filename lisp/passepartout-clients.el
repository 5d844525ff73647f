;;; passepartout-clients.el --- Programs that are connected, and what each may do  -*- lexical-binding: t; -*-

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

;; Who works with this core: Emacsen, commands, and programs that came
;; by a socket or the network.  A program reads what is open, and
;; proposes; here it is let see what is private, or decide about plans,
;; as long as its connection lasts, and here that is taken back.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(eval-when-compile (require 'subr-x))

(defconst passepartout-clients--buffer-name "*Passepartout clients*"
  "The name of the buffer of clients.")

(defvar passepartout-clients-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "v") #'passepartout-clients-grant-private)
    (define-key map (kbd "a") #'passepartout-clients-grant-approve)
    (define-key map (kbd "w") #'passepartout-clients-withdraw)
    (define-key map (kbd "k") #'passepartout-clients-end)
    map)
  "Keys in the buffer of clients.")

(define-derived-mode passepartout-clients-mode passepartout-view-mode
  "Clients"
  "Major mode of the buffer of clients."
  :interactive nil)

(defvar-local passepartout-clients--refusal nil
  "Why this Emacs rules about no program, or nil.")

(defun passepartout-clients--refusal (clients)
  "Return why this Emacs, one of CLIENTS, rules about no program, or nil.
The core refuses all the same; this is so that it is said before a
question, and not after the answer."
  (let* ((own (seq-find (lambda (client) (plist-get client :self)) clients))
         (doubt (plist-get own :doubt)))
    (cond (doubt (concat "This Emacs rules about no program: "
                         (passepartout-view-line doubt 400)))
          ((plist-get own :ruled)
           "This Emacs came as a program itself; who owns that core rules \
about programs, in an Emacs there"))))

(defun passepartout-clients--at-point ()
  "Return the client at point, when this Emacs may rule about it."
  (let ((client (passepartout-list-data)))
    (cond
     ((not client) (user-error "There is no client here"))
     ((not (plist-get client :ruled))
      (user-error "What this one may do goes by the road that it came"))
     (passepartout-clients--refusal
      (user-error "%s" passepartout-clients--refusal))
     (t client))))

(defun passepartout-clients--name (client)
  "Return the name of CLIENT on one line."
  (passepartout-view-line (plist-get client :name) 100))

(defun passepartout-clients--ask (action client &rest more)
  "Send the request ACTION about CLIENT, with MORE in its payload."
  (passepartout-request
   action (append (list :client (plist-get client :id)) more)
   (lambda (payload)
     (message "Passepartout: %s"
              (passepartout-view-line (or (plist-get payload :error)
                                          (plist-get payload :text))
                                      500))
     (passepartout-clients--fetch))))

(defun passepartout-clients-grant-private (client)
  "Let CLIENT see what is private, as long as its connection lasts."
  (interactive (list (passepartout-clients--at-point)))
  (when (yes-or-no-p
         (format "Let %s see your private notes until it goes? "
                 (passepartout-clients--name client)))
    (passepartout-clients--ask :client-grant client :grant :private)))

(defun passepartout-clients-grant-approve (client)
  "Let CLIENT decide about plans, as long as its connection lasts.
A plan may hold what is private, so it sees that as well."
  (interactive (list (passepartout-clients--at-point)))
  (unless (plist-get client :shows-plans)
    (user-error "It does not say that it shows plans whole"))
  (when (yes-or-no-p
         (format "Let %s approve plans, and see your private notes, until it goes? "
                 (passepartout-clients--name client)))
    (passepartout-clients--ask :client-grant client :grant :approve)))

(defun passepartout-clients-withdraw (client)
  "Take back what was granted to CLIENT; what it had begun is stopped."
  (interactive (list (passepartout-clients--at-point)))
  (passepartout-clients--ask :client-withdraw client))

(defun passepartout-clients-end (client)
  "Send CLIENT away.  With the cookie it can come again."
  (interactive (list (passepartout-clients--at-point)))
  (when (yes-or-no-p (format "End the connection of %s? "
                             (passepartout-clients--name client)))
    (passepartout-clients--ask :client-end client)))

(defun passepartout-clients--rights (client)
  "Return what CLIENT may do, in words."
  (string-join
   (delq nil (list "reads and proposes"
                   (and (plist-get client :private) "sees what is private")
                   (and (plist-get client :approve)
                        ;; It is not known to be the Emacs of its user.
                        (if (plist-get client :doubt)
                            "approves at its terminal alone"
                          "decides about plans"))))
   ", "))

(defconst passepartout-clients--columns
  '(("Program" (20 . 40)) ("Since" 16) ("May do" nil))
  "The columns of the list of clients.")

(defun passepartout-clients--row (client)
  "Return the row of CLIENT, a plist, with what it may do."
  (let ((name (passepartout-clients--name client))
        (road (passepartout-view-line (plist-get client :road) 100))
        (doubt (plist-get client :doubt)))
    `(,(plist-get client :id) ,name ,client
      (,(concat name (if (plist-get client :self) " (here)" ""))
       ;; Who is here has come by no road, at no time.
       ,(if (string-empty-p road) ""
          (passepartout-view-line (plist-get client :since) 40))
       ,(propertize (passepartout-clients--rights client)
                    'face (if (and (plist-get client :ruled)
                                   (plist-get client :private))
                              'passepartout-attention
                            'passepartout-quiet)))
      ,@(unless (string-empty-p road)
          (list (passepartout-list-below (concat "by " road))))
      ,@(when doubt
          (list (passepartout-list-below
                 (passepartout-view-line doubt 400)))))))

(defun passepartout-clients--draw (payload)
  "Draw PAYLOAD, the answer of the core, in the current buffer."
  (setq passepartout-clients--refusal
        (passepartout-clients--refusal (plist-get payload :clients)))
  (passepartout-view-draw
    (insert (propertize "Clients\n" 'face 'passepartout-title)
            (propertize
             (concat "v lets a program see what is private, a lets it decide"
                     " about plans, w takes that back, k ends its"
                     " connection, S sorts, g asks again, ? shows all keys, q leaves."
                     "\n\n")
             'face 'passepartout-quiet))
    (if (plist-get payload :clients)
        (progn
          (passepartout-list-head passepartout-clients--columns)
          (passepartout-list-rows passepartout-clients--columns
                                  (mapcar #'passepartout-clients--row
                                          (plist-get payload :clients))))
      (insert "Nobody is connected.  The manual says under “Programs that \
connect” how one is; g asks again.\n"))))

(defun passepartout-clients--fetch ()
  "Ask the core for its clients and draw them."
  (passepartout-view-fetch passepartout-clients--buffer-name :clients
                           #'passepartout-clients--draw))

;;;###autoload
(defun passepartout-clients ()
  "Show which programs are connected, and what each may do."
  (interactive)
  (passepartout-view-open passepartout-clients--buffer-name
                          'passepartout-clients-mode 'passepartout-clients
                          #'passepartout-clients--fetch))

(provide 'passepartout-clients)
;;; passepartout-clients.el ends here
