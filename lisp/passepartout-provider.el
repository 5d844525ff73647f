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

;;;###autoload
(cl-defun passepartout-define-provider
    (name &key (kind "openai") url model local effort)
  "Let NAME, a string, be a model provider, and return NAME.
KIND is the protocol that it speaks, one of
`passepartout-provider-kinds'; \"openai\" is that of most servers.
URL is the base address of its interface, by default that of the
provider after which KIND is called; of the kind \"replay\" it is the
absolute name of a cassette, which is answered from without a network.
MODEL is the name of the model.
LOCAL non-nil declares that it runs on this machine, so that private
notes may reach it; only a Unix socket or a loopback address can be
local.  EFFORT says how hard the model thinks, one of
`passepartout-provider-efforts'; with one its thoughts are shown in
the chat, folded.

The key is looked up with auth-source: the host is that of URL, the
user is \"apikey\".  A provider that is called as one of the built-in
ones takes its place.  This sets `passepartout-providers'; it counts
at once, also in a core that is running, but which providers are asked
in which order is `passepartout-provider-cascade''s to say when that
is set."
  (unless (and (stringp name)
               (string-match-p "\\`[[:alnum:]][[:alnum:]._-]*\\'" name))
    (user-error "A provider's name is letters, digits, dots and dashes, \
such as \"desk\", not %S" name))
  (let ((kind (format "%s" kind))
        (effort (and effort (format "%s" effort))))
    (unless (member kind passepartout-provider-kinds)
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
    (let ((settings (append (list :kind kind)
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
(defun passepartout-set-cascade (names &optional keep)
  "Let the providers NAMES be asked in this order, from the next request on.
It holds until the core ends; with KEEP non-nil, interactively with a
prefix argument, until it is taken back.  Without NAMES the order is
that of the settings again, and nothing is kept.  This comes before
`passepartout-provider-cascade', and confirms no provider: who may be
sent what is judged as before."
  (interactive
   (list (completing-read-multiple
          "Providers in their order, with commas (none: as set up): "
          (passepartout-provider-names))
         current-prefix-arg))
  (passepartout-events-send-providers
   names
   (lambda ()
     (passepartout-request
      :set-cascade
      (cond ((null names) '(:usual t))
            (keep `(:cascade ,names :keep t))
            (t `(:cascade ,names)))
      (lambda (payload)
        (message "Passepartout: %s"
                 (or (plist-get payload :error)
                     (plist-get payload :text))))))))

(provide 'passepartout-provider)
;;; passepartout-provider.el ends here
