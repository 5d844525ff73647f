;;; passepartout-menu.el --- All commands in one menu  -*- lexical-binding: t; -*-

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

;; `passepartout-menu' shows how things stand and reaches every command,
;; with one key each.  What it says is what was heard last: it asks the
;; core nothing, and nothing in it waits.

;;; Code:

(require 'passepartout)
(require 'passepartout-module)
(require 'passepartout-status)
(require 'passepartout-view)
(require 'transient)
(eval-when-compile (require 'subr-x))

(defvar passepartout-chat-mode)
(declare-function passepartout-chat-send "passepartout-chat" (&optional again))
(declare-function passepartout-chat-interrupt "passepartout-chat" ())
(declare-function passepartout-chat-branch "passepartout-chat" ())
(declare-function passepartout-chat-fork "passepartout-chat-fork" (count))
(declare-function passepartout-chat-consensus "passepartout-chat-fork" (count))
(declare-function passepartout-chat-promote "passepartout-chat-fork" ())
(declare-function passepartout-chat-next-turn "passepartout-chat-turns"
                  (&optional count))
(declare-function passepartout-chat-previous-turn "passepartout-chat-turns"
                  (&optional count))

;; A terminal often has 80 columns and 24 lines, of which two windows leave
;; 15.  So there are two rows of at most four columns, and what a label tells
;; of the state is short: the line at the top tells more of it.

(defun passepartout-menu--heading ()
  "Return what the agent is doing, for the top of the menu, as one line."
  (let ((model (plist-get passepartout-status--last :model)))
    (truncate-string-to-width
     (concat (propertize "Passepartout: " 'face 'transient-heading)
             (passepartout-status-text)
             (and model (format ", %s" (passepartout-view-line model 40))))
     (1- (frame-width)) nil nil "…")))

(defun passepartout-menu--plans ()
  "Return the words for the plans, with how many of them wait."
  (let ((count (passepartout-status--count)))
    (if (= count 0)
        "flight plans"
      (concat "plans "
              (propertize (format "(%d wait%s)" count (if (= count 1) "s" ""))
                          'face 'passepartout-attention)))))

(defun passepartout-menu--word (text width)
  "Return TEXT as one visible line of at most WIDTH columns."
  (truncate-string-to-width (passepartout-view-line text width)
                            width nil nil "…"))

(defun passepartout-menu--focus ()
  "Return the words for the focus, with the heading that it is on."
  (let ((focus (plist-get passepartout-status--last :focus-title)))
    (if focus
        (format "focus (on “%s”)" (passepartout-menu--word focus 12))
      "focus on this")))

(defun passepartout-menu--scope ()
  "Return the words for the scope, with what it is now."
  (format "scope (%s)"
          (passepartout-menu--word
           (or (plist-get passepartout-status--last :scope) "memex") 16)))

(defun passepartout-menu--mode ()
  "Return the words that turn `passepartout-mode' on or off here."
  (format "follow buffer (%s)"
          (if (bound-and-true-p passepartout-mode) "on" "off")))

(defun passepartout-menu--global-mode ()
  "Return the words that turn `passepartout-global-mode' on or off."
  (format "follow all (%s)"
          (if (bound-and-true-p passepartout-global-mode) "on" "off")))

(defun passepartout-menu--in-chat-p ()
  "Return non-nil in a chat."
  (bound-and-true-p passepartout-chat-mode))

(defun passepartout-menu--in-org-p ()
  "Return non-nil in an Org buffer."
  (derived-mode-p 'org-mode))

;;;###autoload (autoload 'passepartout-menu "passepartout-menu" nil t)
(transient-define-prefix passepartout-menu ()
  "Show how things stand, and reach every command with a key."
  [:description
   passepartout-menu--heading
   ["Ask"
    ("c" "chat" passepartout-chat)
    ("o" "open a chat" passepartout-chat-open)
    ("RET" "send" passepartout-chat-send
     :if passepartout-menu--in-chat-p)
    ("k" "stop answer" passepartout-chat-interrupt
     :if passepartout-menu--in-chat-p)
    ("P" "preset" passepartout-preset
     :if passepartout-menu--in-chat-p)
    ("B" "branch here" passepartout-chat-branch
     :if passepartout-menu--in-chat-p)]
   ["Decide"
    ("p" passepartout-flight-plans :description passepartout-menu--plans)
    ("N" "next plan" passepartout-next-plan)
    ("y" "why" passepartout-why)
    ("a" "what is allowed" passepartout-rules)
    ("u" "undo" passepartout-undo)
    ("U" "redo" passepartout-redo)]
   ["Find"
    ("f" "find a heading" passepartout-find)
    ("q" "query" passepartout-query)
    ("m" "memory log" passepartout-memory-log)
    ("t" "what gates said" passepartout-gate-trace)
    ("b" "who wrote this" passepartout-blame
     :if passepartout-menu--in-org-p)
    ("v" "vouch for this" passepartout-endorse
     :if passepartout-menu--in-org-p)]
   ["Here"
    ("h" "ask about this" passepartout-ask)
    ("A" "let go along" passepartout-chat-add)
    ("E" "explain this" passepartout-explain)
    ("z" "summarize" passepartout-summarize-buffer)
    ("R" "rewrite this" passepartout-rewrite)
    ("G" "organize" passepartout-organize-subtree
     :if passepartout-menu--in-org-p)]]
  [["Look at"
    ("n" passepartout-focus :description passepartout-menu--focus)
    ("w" "take the focus back" passepartout-unfocus)
    ("S" passepartout-scope :description passepartout-menu--scope)
    ("x" "what a model is told" passepartout-context)
    ("i" "the last request" passepartout-inspect)]
   ["Models and work"
    ("e" "providers, models" passepartout-models)
    ("O" "order of providers" passepartout-set-cascade)
    ("$" "costs" passepartout-costs)
    ("j" "jobs" passepartout-jobs)
    ("K" "skills" passepartout-skills)]
   ["Passepartout"
    ("d" "doctor" passepartout-doctor)
    ("l" "log" passepartout-log)
    ("M" passepartout-mode :description passepartout-menu--mode
     :if passepartout-menu--in-org-p)
    (":" "Lisp, confined" passepartout-repl)
    ("?" "more" passepartout-menu-more)]])

;;;###autoload (autoload 'passepartout-menu-more "passepartout-menu" nil t)
(transient-define-prefix passepartout-menu-more ()
  "Reach the commands that are wanted less often."
  [["Set up"
    ("w" "welcome" passepartout-welcome)
    ("W" "recorded tour" passepartout-welcome-tour)
    ("s" "first questions" passepartout-setup)
    ("z" "undo a setting" passepartout-undo-setting)
    ("i" "who the agent is" passepartout-identity)
    ("b" "build the module" passepartout-module-build)
    ("B" "fetch the module" passepartout-module-fetch)]
   ["The core"
    ("?" "how it stands" passepartout-status)
    ("r" "read notes again" passepartout-rescan)
    ("R" "restart" passepartout-restart)
    ("Q" "stop" passepartout-stop)
    ("c" "connect elsewhere" passepartout-connect)
    ("C" "back to this one" passepartout-disconnect)]
   ["Others"
    ("p" "programs" passepartout-clients)
    ("g" "messengers" passepartout-gateways)
    ("G" "let a sender in" passepartout-gateway-pair)
    ("m" "MCP servers" passepartout-servers)
    ("h" "manual" passepartout-manual)]
   ["Let go along"
    ("a r" "region" passepartout-chat-add-region)
    ("a b" "buffer" passepartout-chat-add-buffer)
    ("a f" "file" passepartout-chat-add-file)
    ("a s" "subtree" passepartout-chat-add-subtree
     :if passepartout-menu--in-org-p)
    ("a a" "agenda" passepartout-chat-add-agenda)]]
  [["Skills, cassettes"
    ("n" "new skill" passepartout-new-skill)
    ("t" "test a skill" passepartout-skill-test)
    ("u" "take tool away" passepartout-undefine-tool)
    ("x" "record" passepartout-cassette-record)
    ("X" "stop recording" passepartout-cassette-stop)]
   ["Notes"
    ("d" "query block" passepartout-query-insert-block
     :if passepartout-menu--in-org-p)
    ("f" "context marks" passepartout-context-marks-mode
     :if passepartout-menu--in-org-p)
    ("v" "set a value" passepartout-focus-set)
    ("M" passepartout-global-mode
     :description passepartout-menu--global-mode)]
   ["Go to"
    ("J" "next question" passepartout-chat-next-turn
     :if passepartout-menu--in-chat-p)
    ("K" "prior question" passepartout-chat-previous-turn
     :if passepartout-menu--in-chat-p)
    ("P" "previous plan" passepartout-previous-plan)]
   ["Several models"
    ("F" "side by side" passepartout-chat-fork
     :if passepartout-menu--in-chat-p)
    ("V" "follow most" passepartout-chat-consensus
     :if passepartout-menu--in-chat-p)
    ("L" "go on from it" passepartout-chat-promote
     :if passepartout-menu--in-chat-p)]])

(provide 'passepartout-menu)
;;; passepartout-menu.el ends here
