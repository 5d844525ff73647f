;;; passepartout-servers.el --- MCP servers whose tools are lent  -*- lexical-binding: t; -*-

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

;; The MCP servers of the settings, how each stands, and the tools that
;; each lends.  What a server lists waits until you were shown it whole
;; and confirmed it; what changes waits again.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-view)
(require 'passepartout-rules)
(eval-when-compile (require 'subr-x))

(defconst passepartout-servers--buffer-name "*Passepartout servers*"
  "The name of the buffer of servers.")

(defvar passepartout-servers-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map passepartout-view-mode-map)
    (define-key map (kbd "c") #'passepartout-servers-confirm)
    (define-key map (kbd "k") #'passepartout-servers-withdraw)
    map)
  "Keys of the buffer of servers.")

(define-derived-mode passepartout-servers-mode passepartout-view-mode
  "Servers"
  "Major mode of the buffer of MCP servers."
  :interactive nil)

(defun passepartout-servers--rule (state)
  "Return the rule of the server at point, which must be in STATE."
  (let ((server (or (passepartout-list-data)
                    (user-error "There is no server here"))))
    (unless (and (plist-get server :rule)
                 (equal (plist-get server :state) state))
      (user-error "This one is %s"
                  (passepartout-view-line (plist-get server :state) 20)))
    (plist-get server :rule)))

(defun passepartout-servers-confirm ()
  "Show the tools of the server at point whole as a flight plan."
  (interactive)
  (passepartout-rules-confirm (passepartout-servers--rule "waiting")))

(defun passepartout-servers-withdraw ()
  "Let the server at point lend nothing any more."
  (interactive)
  (passepartout-rules-withdraw (passepartout-servers--rule "lending")))

(defconst passepartout-servers--columns
  '(("Server" (10 . 20)) ("State" 11) ("Declared in" (11 . 30)) ("Runs" nil))
  "The columns of the list of servers.")

(defun passepartout-servers--insert-button (rule state)
  "Insert a button for what can be done about RULE in STATE, if anything can."
  (let ((button (pcase (and rule state)
                  ("waiting" '("confirm" passepartout-rules-confirm
                               "Show its tools whole as a flight plan"))
                  ("lending" '("withdraw" passepartout-rules-withdraw
                               "It lends nothing any more")))))
    (when button
      (insert "    ")
      (passepartout-view-button (car button)
                                (lambda () (funcall (cadr button) rule))
                                (nth 2 button))
      (insert "\n"))))

(defun passepartout-servers--row (server)
  "Return the row of SERVER, with its tools and what can be done about it."
  (let ((rule (plist-get server :rule))
        (state (plist-get server :state))
        (name (passepartout-view-line (plist-get server :name) 40))
        (why (plist-get server :why))
        (refused (or (plist-get server :refused) 0)))
    `(,name ,name ,server
      (,name
       ,(passepartout-view-word state)
       ,(passepartout-view-line (format "%s" (plist-get server :place)) 200)
       ,(passepartout-view-line
         (mapconcat #'identity (plist-get server :command) " ") 400))
      ,@(when why
          (list (passepartout-list-below (passepartout-view-line why 600))))
      ,@(mapcar (lambda (tool)
                  (passepartout-list-below
                   (format "%s (%s)"
                           (passepartout-view-line (plist-get tool :name) 70)
                           (passepartout-view-line (plist-get tool :effect)
                                                   20))))
                (plist-get server :tools))
      ,@(mapcar (lambda (left)
                  (passepartout-list-below
                   (concat "left out: " (passepartout-view-line left 200))))
                (plist-get server :left))
      ,@(when (> refused 0)
          (list (passepartout-list-below
                 (format "It wanted something of the agent %d times; \
that was refused."
                         refused))))
      ,(lambda () (passepartout-servers--insert-button rule state)))))

(defun passepartout-servers--draw (payload)
  "Draw PAYLOAD, the answer of the core, in the current buffer."
  (passepartout-view-draw
    (insert (propertize "MCP servers\n" 'face 'passepartout-title)
            (propertize "c confirms, k withdraws, S sorts, g asks again, ? shows all \
keys, q leaves.\n\n"
                        'face 'passepartout-quiet))
    (if (plist-get payload :servers)
        (progn
          (passepartout-list-head passepartout-servers--columns)
          (passepartout-list-rows passepartout-servers--columns
                                  (mapcar #'passepartout-servers--row
                                          (plist-get payload :servers))))
      (insert "No MCP server is declared.  \
M-x customize-option RET passepartout-mcp-servers declares one; then g asks \
again.\n"))))

(defun passepartout-servers--fetch ()
  "Ask the core for the servers and draw them."
  (passepartout-view-fetch passepartout-servers--buffer-name :servers
                           #'passepartout-servers--draw))

;;;###autoload
(defun passepartout-servers ()
  "Show the MCP servers, how each stands, and which tools it lends."
  (interactive)
  (passepartout-view-open passepartout-servers--buffer-name
                          'passepartout-servers-mode 'passepartout-servers
                          #'passepartout-servers--fetch))

(provide 'passepartout-servers)
;;; passepartout-servers.el ends here
