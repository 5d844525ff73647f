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

(defun passepartout-servers--insert (server)
  "Insert SERVER with its tools and what can be done about it."
  (let ((rule (plist-get server :rule))
        (state (plist-get server :state)))
    (insert (propertize "* " 'face 'passepartout-title)
            (passepartout-view-line (plist-get server :name) 20) " "
            (passepartout-view-word state) "\n"
            (passepartout-view-line
             (format "%s runs: %s" (plist-get server :place)
                     (mapconcat #'identity (plist-get server :command) " "))
             400)
            "\n")
    (when (plist-get server :why)
      (insert (passepartout-view-line (plist-get server :why) 600) "\n"))
    (dolist (tool (plist-get server :tools))
      (insert "  " (passepartout-view-line (plist-get tool :name) 70)
              " (" (passepartout-view-line (plist-get tool :effect) 20) ")\n"))
    (dolist (left (plist-get server :left))
      (insert "  left out: " (passepartout-view-line left 200) "\n"))
    (when (> (or (plist-get server :refused) 0) 0)
      (insert (format "  It wanted something of the agent %d times; \
that was refused.\n"
                      (plist-get server :refused))))
    (when (and rule (equal state "waiting"))
      (passepartout-view-button
       "confirm" (lambda () (passepartout-rules-confirm rule))
       "Show its tools whole as a flight plan"))
    (when (and rule (equal state "lending"))
      (passepartout-view-button
       "withdraw" (lambda () (passepartout-rules-withdraw rule))
       "It lends nothing any more"))
    (insert "\n\n")))

(defun passepartout-servers--draw (payload)
  "Draw PAYLOAD, the answer of the core, in the current buffer."
  (passepartout-view-draw
    (insert (propertize "MCP servers\n" 'face 'passepartout-title)
            (propertize "c confirms, k withdraws, g asks again, ? shows all \
keys, q leaves.\n\n"
                        'face 'passepartout-quiet))
    (if (plist-get payload :servers)
        (dolist (server (plist-get payload :servers))
          (let ((name (passepartout-view-line (plist-get server :name) 40)))
            (passepartout-list-item name name server
              (passepartout-servers--insert server))))
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
