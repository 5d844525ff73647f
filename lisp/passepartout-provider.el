;;; passepartout-provider.el --- Model providers of your own  -*- lexical-binding: t; -*-

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

;; `passepartout-define-provider' adds a model provider, also while the
;; core runs.  Keys come from auth-source and are never kept here.

;;; Code:

(require 'cl-lib)
(require 'passepartout)
(require 'passepartout-events)

(defconst passepartout-provider-kinds
  '("openai" "openai-responses" "anthropic" "gemini" "ollama" "openrouter"
    "mistral" "xai" "replay")
  "The protocols that a provider may speak; \"replay\" plays a cassette.")

(defconst passepartout-provider-efforts
  '("none" "minimal" "low" "medium" "high" "max")
  "How hard a model may be told to think.")

(defun passepartout-provider--built-in-p (name)
  "Return non-nil when NAME is a built-in provider with an address."
  (or (member name '("ollama" "llamacpp"))
      (and (not (equal name "openai-responses"))
           (assoc name passepartout-events--hosts))))

;;;###autoload
(cl-defun passepartout-define-provider
    (name &key kind url model local effort)
  "Let NAME, a string, be a model provider, and return NAME.
KIND is the protocol that it speaks, one of
`passepartout-provider-kinds'.  By default it is that of the built-in
provider NAME, and for any other name \"openai\", which most servers
speak.
URL is the base address of its interface, by default that of the
built-in provider NAME, else of the one after which KIND is called; of
the kind \"replay\" it is the absolute name of a cassette, which is
answered from without a network.
MODEL is the name of the model.
LOCAL non-nil declares that it runs on this machine, so that private
notes may reach it; only a Unix socket or a loopback address can be
local.  EFFORT says how hard the model thinks, one of
`passepartout-provider-efforts'; with one its thoughts are shown in
the chat, folded.

The key is looked up with auth-source: the host is that of URL, and no
other host is ever given it; the user is \"apikey\".  A provider that is
called as one of the built-in ones takes its place.  This sets
`passepartout-providers'; it counts at once, also in a core that is
running, but which providers are asked in which order is
`passepartout-provider-cascade''s to say when that is set."
  (unless (and (stringp name)
               (string-match-p "\\`[[:alnum:]][[:alnum:]._-]*\\'" name))
    (user-error "A provider's name is letters, digits, dots and dashes, \
such as \"desk\", not %S" name))
  (let ((kind (cond (kind (format "%s" kind))
                    ((passepartout-provider--built-in-p name) nil)
                    (t "openai")))
        (effort (and effort (format "%s" effort))))
    (unless (or (null kind) (member kind passepartout-provider-kinds))
      (user-error "The kind of %s is one of %s, not %S" name
                  (mapconcat #'identity passepartout-provider-kinds ", ")
                  kind))
    (unless (or (null effort) (member effort passepartout-provider-efforts))
      (user-error "The effort of %s is one of %s, not %S" name
                  (mapconcat #'identity passepartout-provider-efforts ", ")
                  effort))
    (dolist (text (list url model))
      (unless (or (null text) (stringp text))
        (user-error "The URL and the model of %s are strings, not %S"
                    name text)))
    (let ((settings (append (and kind (list :kind kind))
                            (and url (list :url url))
                            (and model (list :model model))
                            (and local (list :local t))
                            (and effort (list :effort effort))))
          (others (seq-remove (lambda (entry) (equal (car entry) name))
                              (default-value 'passepartout-providers))))
      (set-default 'passepartout-providers
                   (append others (list (cons name settings))))
      (when (passepartout-running-p)
        (passepartout-events-send-providers)))
    name))

;;;; The order at run time

(defun passepartout-provider-names ()
  "Return the names of the providers that can be named in a cascade."
  (delete-dups
   (append (passepartout-events--provider-names)
           (remove "openai-responses"
                   (mapcar #'car passepartout-events--hosts))
           (list "ollama" "llamacpp" "recall"))))

;;;###autoload
(defun passepartout-set-cascade (names &optional keep then)
  "Let the providers NAMES be asked in this order, from the next request on.
It holds until the core ends; with KEEP non-nil, interactively with a
prefix argument, until it is taken back.  Without NAMES the order is
that of the settings again, and nothing is kept.  This comes before
`passepartout-provider-cascade', and confirms no provider: who may be
sent what is judged as before.  Behind a slash may stand the model that
is asked of a provider, such as \"openrouter/maker/model\".  Once the core
has set the order, THEN is called without arguments."
  (interactive
   (list (completing-read-multiple
          "Providers in their order, with commas (none: as set up): "
          (passepartout-provider-names))
         current-prefix-arg))
  (passepartout-events-send-providers
   (mapcar (lambda (name) (car (split-string name "/"))) names)
   (lambda ()
     (passepartout-request
      :set-cascade
      (cond ((null names) '(:usual t))
            (keep `(:cascade ,names :keep t))
            (t `(:cascade ,names)))
      (lambda (payload)
        (message "Passepartout: %s"
                 (or (plist-get payload :error)
                     (plist-get payload :text)))
        (when (and then (not (plist-get payload :error)))
          (funcall then)))))))

;;;; Presets

;;;###autoload
(cl-defun passepartout-define-preset
    (name &key model tools prompt tokens usd)
  "Let NAME, a string, be a preset, and return NAME.
A preset is chosen for a conversation, with `passepartout-preset' or
/preset in a chat; it loosens no gate.  MODEL is a
list of providers, each \"PROVIDER\" or \"PROVIDER/MODEL\", to be asked
in this order.  TOOLS is a list of names of tools, the only ones that are
left; the symbol none leaves none.  PROMPT is a text that the model is
told beside everything else.  TOKENS is the most tokens of a prompt, and
USD the most US dollars that its conversation may cost.

This sets `passepartout-presets', and counts at once, also in a core
that is running.  The file presets.org of the settings folder defines
presets as well; one that is defined in both places is none."
  (unless (and (stringp name)
               (string-match-p "\\`[[:alnum:]._-]+\\'" name)
               (not (equal name "none")))
    (user-error "A preset's name is letters, digits, dots and dashes, \
such as \"careful\", not %S" name))
  (dolist (list (list model (and (not (eq tools 'none)) tools)))
    (unless (and (proper-list-p list) (seq-every-p #'stringp list))
      (user-error "The model and the tools of %s are lists of strings, not %S"
                  name list)))
  (unless (or (null prompt) (stringp prompt))
    (user-error "The prompt of %s is a string, not %S" name prompt))
  (unless (or (null tokens) (and (natnump tokens) (> tokens 0)))
    (user-error "The tokens of %s are a number above 0, not %S" name tokens))
  (unless (or (null usd) (and (numberp usd) (>= usd 0)))
    (user-error "The dollars of %s are a number, not %S" name usd))
  (let ((settings (append
                   (and model (list :model (mapconcat #'identity model " ")))
                   (and tools
                        (list :tools
                              (if (eq tools 'none) "none"
                                (mapconcat #'identity tools " "))))
                   (and prompt (list :prompt prompt))
                   (and tokens (list :tokens (format "%d" tokens)))
                   (and usd (list :usd (if (integerp usd) (format "%d" usd)
                                         (format "%.6f" usd))))))
        (others (seq-remove (lambda (entry) (equal (car entry) name))
                            (default-value 'passepartout-presets))))
    (set-default 'passepartout-presets
                 (append others (list (cons name settings))))
    (when (passepartout-running-p)
      (passepartout-events-send-providers))
    name))

(declare-function passepartout-chat--session "passepartout-chat-text" ())
(defvar passepartout-chat--preset)

;;;###autoload
(defun passepartout-preset (name)
  "Give the conversation of this chat the preset NAME; \"none\" takes it back.
The preset says which models are asked and which tools are left, and
adds a prompt and a budget; it holds from the next question on."
  (interactive (list nil))
  (unless (bound-and-true-p passepartout-chat-mode)
    (user-error "A preset is that of a conversation; call this in a chat"))
  (let ((buffer (or (buffer-base-buffer) (current-buffer)))
        (session (passepartout-chat--session)))
    (if name
        (passepartout-provider--send-preset name session buffer)
      (passepartout-request
       :preset nil
       (lambda (payload)
         (let ((why (plist-get payload :error)))
           (if why
               (message "Passepartout: %s" why)
             ;; Not in the filter: there nobody can type.
             (run-at-time 0 nil #'passepartout-provider--read-preset
                          payload session buffer))))
       session))))

(defun passepartout-provider--read-preset (payload session buffer)
  "Ask for one of the presets in PAYLOAD for SESSION, the chat in BUFFER."
  (let* ((usable (seq-remove (lambda (one) (plist-get one :why))
                             (plist-get payload :presets)))
         (names (mapcar (lambda (one) (plist-get one :name)) usable))
         (completion-extra-properties
          (list :annotation-function
                (lambda (name)
                  (let ((one (seq-find (lambda (one)
                                         (equal (plist-get one :name) name))
                                       usable)))
                    (and one (concat "  " (plist-get one :text))))))))
    (passepartout-provider--send-preset
     (completing-read (format "Preset (now %s): "
                              (or (plist-get payload :preset) "none"))
                      (cons "none" names) nil t nil nil "none")
     session buffer)))

(defun passepartout-provider--send-preset (name session buffer)
  "Give SESSION, the conversation of the chat in BUFFER, the preset NAME."
  (passepartout-request
   :preset `(:name ,name)
   (lambda (payload)
     (message "Passepartout: %s" (or (plist-get payload :error)
                                     (plist-get payload :text)))
     (when (and (buffer-live-p buffer) (not (plist-get payload :error)))
       (with-current-buffer buffer
         (setq passepartout-chat--preset (plist-get payload :preset))
         (passepartout-provider--show-state))))
   session))

(declare-function passepartout-chat--show-state "passepartout-chat-head" ())

(defun passepartout-provider--show-state ()
  "Bring the header line of the chat in the current buffer up to date."
  (when (fboundp 'passepartout-chat--show-state)
    (passepartout-chat--show-state)))

;;;; The function that chooses

(defun passepartout-provider-answer (request payload)
  "Have your function choose among the providers in PAYLOAD, for REQUEST.
It is called when Emacs has come back from reading messages."
  (run-at-time 0 nil #'passepartout-provider--select request
               (list :slot (plist-get payload :slot)
                     :text (plist-get payload :text)
                     :private (plist-get payload :private)
                     :providers (plist-get payload :providers))
               passepartout-events--life))

(defun passepartout-provider--select (request offer life)
  "Answer REQUEST with the names that your function chooses out of OFFER.
LIFE is the number of the core that asked."
  (let* ((function (default-value 'passepartout-select-model-function))
         ;; A question would take the keyboard from the user.
         (inhibit-interaction t)
         (answer
          (condition-case problem
              (let ((names (save-current-buffer
                             (save-match-data
                               ;; It runs in a timer, where C-g would wait.
                               (let ((inhibit-quit nil))
                                 (and function (funcall function offer)))))))
                (cond
                 ((eq names 'skip) (list :ok t :skip t))
                 ((and (proper-list-p names) (seq-every-p #'stringp names))
                  (list :ok t :names
                        (mapcar #'passepartout-events-clean names)))
                 (t (list :ok nil :text "it returned no list of names"))))
            (quit (list :ok nil :text "the user stopped it"))
            (error
             (list :ok nil
                   :text (passepartout-events-clean
                          (truncate-string-to-width
                           (error-message-string problem) 500)))))))
    (when (and (passepartout-running-p) (eql life passepartout-events--life))
      (passepartout-reply request answer))))

(provide 'passepartout-provider)
;;; passepartout-provider.el ends here
