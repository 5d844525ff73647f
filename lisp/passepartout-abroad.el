;;; passepartout-abroad.el --- What goes to a core outside of this Emacs  -*- lexical-binding: t; -*-

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

;; A core that was connected to works with its own files, settings and
;; keys, on its own host.  This file is the one place that says what may
;; go there from this Emacs and what such a core may ask for: its
;; answers are shown, and nothing of this Emacs is read, edited or set.
;;
;; A conversation belongs to the core that it was begun with: its name
;; says which, and it goes to no other.

;;; Code:

(require 'passepartout)
(require 'passepartout-module)
(require 'cl-lib)

;;;; Conversations

(defun passepartout-abroad-session (name)
  "Return NAME, of a new conversation, as one with the core that is used now."
  (let ((tag (passepartout-module-road :tag)))
    (if tag (concat name "@" tag) name)))

(defun passepartout-abroad-with (session)
  "Return the tag of the core that SESSION was begun with; nil for our own."
  (and (stringp session)
       (string-match "@\\([^@]*\\)\\'" session)
       (match-string 1 session)))

(defun passepartout-abroad-here-p (session)
  "Return non-nil when SESSION is one with the core that is used now."
  (equal (passepartout-abroad-with session) (passepartout-module-road :tag)))

(defun passepartout-abroad-elsewhere (session)
  "Return why SESSION does not go to the core that is used now, or nil."
  (let ((tag (passepartout-abroad-with session)))
    (cond
     ((passepartout-abroad-here-p session) nil)
     (tag (format "This conversation is one with the core “%s”; \
M-x passepartout-connect goes there" tag))
     (t (format "This conversation was begun with the core of this Emacs, and \
nothing of it goes to “%s”; M-x passepartout-chat begins another"
                (passepartout-module-road :name))))))

(defun passepartout-abroad-far (file)
  "Return why FILE, which the core names, is not opened here, or nil."
  (and (passepartout-module-road :tag)
       (not (passepartout-module-road :files))
       (format "%s lies where the core of “%s” runs, and is not opened here"
               file (passepartout-module-road :name))))

(defun passepartout-abroad-check-file (file)
  "Leave with an error when FILE, which the core names, is not opened here."
  (let ((why (passepartout-abroad-far file)))
    (when why (user-error "%s" why))))

;;;; From here to there

(defconst passepartout-abroad--kept
  '(:buffer-update :point-update :org-settings :define-tool :undefine-tool)
  "Sensors and actions of which such a core hears nothing.
They tell a core of buffers, settings and tools of this Emacs.")

(defconst passepartout-abroad--refused
  '((:provider-settings . "It has providers and keys of its own; \
those of this Emacs stay here"))
  "Actions that such a core is not asked for, and what the user is told.")

(defconst passepartout-abroad--places '(:blame :endorse :cassette-record)
  "Actions about a file that is named as it is called on this machine.")

(defconst passepartout-abroad--without
  '((:user-input :file :project)
    (:repl-eval :project)
    (:context :file :project)
    (:inspect :file :project)
    (:query :file :byte)
    (:skill-reload :folders))
  "By sensor or action, the keys that tell of files of this machine.")

(defconst passepartout-abroad--talk
  '(:user-input :user-command :interrupt :repl-eval :context :inspect)
  "Sensors and actions that carry a conversation, or end one.
A plan belongs to a conversation of its core's, whoever decides about it.")

(defun passepartout-abroad--drop (payload keys)
  "Return PAYLOAD, a plist, without KEYS."
  (let (left)
    (while payload
      (let ((key (pop payload)) (value (pop payload)))
        (unless (memq key keys)
          (setq left (cons value (cons key left))))))
    (nreverse left)))

(defun passepartout-abroad-outgoing (payload session)
  "Return PAYLOAD of SESSION as it may go to a core outside of this Emacs.
Return nil when such a core hears nothing of it, and a string when it
cannot be asked for that, which says why."
  (let* ((name (or (plist-get payload :sensor) (plist-get payload :action)))
         (elsewhere (and session
                         (memq name passepartout-abroad--talk)
                         (passepartout-abroad-elsewhere session))))
    (cond
     ((memq name passepartout-abroad--kept) nil)
     ;; Closing a chat of another core is nobody's loss here.
     ((and elsewhere (eq name :interrupt)) nil)
     (elsewhere)
     ((cdr (assq name passepartout-abroad--refused)))
     ((and (memq name passepartout-abroad--places)
           (plist-get payload :file)
           (not (passepartout-module-road :files)))
      (format "The core of “%s” does not know the files of this machine"
              (passepartout-module-road :name)))
     (t (passepartout-abroad--drop
         payload (cdr (assq name passepartout-abroad--without)))))))

;;;; From there to here

(defun passepartout-abroad-answer (payload)
  "Return what is answered to the request in PAYLOAD of such a core.
Return nil when it may have what it asks for: to show something, or
what was said in a conversation with it."
  (let ((verb (plist-get payload :verb))
        (no (lambda (what)
              (list :ok nil
                    :text (concat "this Emacs is connected to a core of its \
own host, and " what)))))
    (pcase (plist-get payload :action)
      ;; It works with the files as they are on its disk.
      (:buffer-state '(:open nil))
      (:chat-turns
       (unless (passepartout-abroad-here-p (plist-get payload :session))
         (funcall no "that conversation is not one with it")))
      (:editor-verb
       (cond ((member verb '("diff" "agenda")) nil)
             ((not (member verb '("open" "go-to")))
              (funcall no "only shows what it is told to show"))
             ((not (passepartout-module-road :files))
              (funcall no "its files are not here"))))
      (:buffer-edit (funcall no "edits nothing for it"))
      (:own-tool (funcall no "lends it no tools"))
      ((or :settings :setting-weigh :setting-set)
       (funcall no "keeps its settings to itself"))
      (:select-model (funcall no "chooses no models for it"))
      (_ (funcall no "does not know what it asks for")))))

(provide 'passepartout-abroad)
;;; passepartout-abroad.el ends here
