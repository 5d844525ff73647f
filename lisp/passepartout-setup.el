;;; passepartout-setup.el --- The first run: memex, provider, key, budget  -*- lexical-binding: t; -*-

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

;; A few questions: where the notes are, who answers, whether its key
;; is found, and what may be spent.  RET leaves what is set as it is; a
;; folder or a provider that is chosen goes before those that are there.
;; What was chosen is saved with customize at the end, at once.  Who
;; answers can be tried: it is said in one line what a test would send
;; and cost, and a button sends it, or asks for the list of models, which
;; says less of a key.  Nothing is sent anywhere before that.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-provider)
(require 'passepartout-view)
(require 'text-property-search)
(eval-when-compile (require 'subr-x))

(defconst passepartout-setup--buffer-name "*Passepartout setup*"
  "The name of the buffer that says what was set up.")

(defun passepartout-setup--folder-obstacle (folder)
  "Return why FOLDER cannot be the memex, or nil."
  (let ((folder (file-name-as-directory (expand-file-name folder))))
    (cond
     ((file-remote-p folder) "it is on another machine")
     ((not (file-directory-p folder)) "there is no such folder")
     ((member (file-truename folder)
              (list (file-truename "/")
                    (file-name-as-directory (file-truename "~"))))
      "it holds much that is no note; name a folder of notes in it"))))

(defun passepartout-setup--read-folder ()
  "Ask for the folder of notes; return it, or nil to leave it as it is."
  (let ((known (or (car (passepartout--directories)) "~/org"))
        folder obstacle)
    (while (progn
             (setq folder (read-directory-name
                           (if obstacle
                               (format "Folder of your notes (%s): " obstacle)
                             "Folder of your notes: ")
                           (file-name-as-directory known)
                           (file-name-as-directory known)))
             (setq obstacle (passepartout-setup--folder-obstacle folder))))
    (directory-file-name (abbreviate-file-name (expand-file-name folder)))))

(defun passepartout-setup--read-provider ()
  "Ask who answers; return the name of a provider, or nil for as it is."
  (let* ((now (default-value 'passepartout-provider-cascade))
         (names (delete "recall" (passepartout-provider-names)))
         (name (completing-read
                (if now
                    (format "Model provider (empty: as it is, %s; \
recall: none): "
                            (string-join now ", "))
                  "Model provider (empty: none, answers come from your \
notes): ")
                (if now (append names '("recall")) names) nil t)))
    (and (not (string-empty-p name)) name)))

(defun passepartout-setup--read-dollars ()
  "Ask what models may cost in a day; return a number, or nil for as it is.
Where a cap is set, 0 takes it away."
  (let* ((now (default-value 'passepartout-day-budget))
         (least (if now "A number.  " "A number above 0.  "))
         (ask (if now
                  (format "US dollars a day at most (empty: as it is, %s; \
0: no cap): "
                          now)
                "US dollars a day at most (empty: no cap): "))
         said number)
    (while (progn
             (setq said (string-trim
                         (read-string (concat (and said least) ask))))
             (setq number (and (string-match-p
                                "\\`[0-9]+\\(?:\\.[0-9]+\\)?\\'" said)
                               (string-to-number said)))
             (not (or (string-empty-p said)
                      (and number (or now (> number 0)))))))
    number))

(defun passepartout-setup--first (option value &optional rest)
  "Save OPTION, a list, with VALUE before what it has; return what to say.
Where it has nothing, REST stands behind VALUE.  What has VALUE there
already is left alone."
  (let* ((now (default-value option))
         (new (cons value (remove value (or now rest)))))
    (if (equal now new)
        (format "%s stays %S." option now)
      (passepartout-setup--save option new))))

(defun passepartout-setup--directories (folder)
  "Save FOLDER as the first one of notes; return what to say.
Where nothing was set and it is the first of several that Org and its
packages name, they stay what is read."
  (let ((known (passepartout--directories)))
    (if (and (null (default-value 'passepartout-directories))
             (cdr known)
             (file-equal-p folder (car known)))
        (format "Notes are read where your packages have them: %s."
                (mapconcat #'abbreviate-file-name known ", "))
      (passepartout-setup--first 'passepartout-directories folder))))

(defun passepartout-setup--answers (provider)
  "Save that PROVIDER answers, nil for as it is; return what to say, a list.
The last line is first."
  (let ((now (default-value 'passepartout-provider-cascade)))
    (cond
     ((and (null provider) now (not (equal now '("recall"))))
      (list (format "%s answers, as it was set." (string-join now ", then "))))
     ((null provider)
      (list "No model is asked: answers come from your notes."))
     ((equal provider "recall")
      (list "No model is asked: answers come from your notes."
            (passepartout-setup--save 'passepartout-provider-cascade
                                      '("recall"))))
     (t
      (list (passepartout-setup--key provider)
            ;; Who answers without a model answers where that one does not.
            (passepartout-setup--first 'passepartout-provider-cascade
                                       provider '("recall")))))))

(defun passepartout-setup--key (name)
  "Return what is to be said of the key of the provider NAME."
  (let ((host (passepartout-events--host name)))
    (cond
     ((null host) (format "%s wants no key." name))
     ((ignore-errors (passepartout-events--key host))
      (format "auth-source has a key for %s." host))
     (t (format "auth-source has no key for %s.  Put this line into \
~/.authinfo.gpg, with your key, then M-x passepartout-restart:
  machine %s login apikey password KEY" host host)))))

(defun passepartout-setup--read-try (name)
  "Ask whether NAME, a provider, may be tested; nil where it has no key."
  (let ((host (passepartout-events--host name)))
    (and (or (null host) (ignore-errors (passepartout-events--key host)))
         (y-or-n-p (format "See what testing %s would send and cost \
(nothing is sent yet)? "
                           (if host (format "your key for %s" name) name))))))

;;;; Trying who answers

(defun passepartout-setup--ending (problem)
  "Return PROBLEM, words of the core, without what ends a sentence."
  (string-trim-right (passepartout-events-clean problem) "[.[:space:]]+"))

(defun passepartout-setup--asking (name)
  "Return what is said while the provider NAME is asked."
  (format "%s is being asked; M-x passepartout-models asks again." name))

(defun passepartout-setup--mark (name text &optional buttons)
  "Return TEXT on trying the provider NAME, with BUTTONS below it.
Each of them is a list of a label, what is called, and a tool tip."
  (propertize
   (with-temp-buffer
     (insert text)
     (when buttons (insert "\n "))
     (dolist (button buttons)
       (insert " ")
       (apply #'passepartout-view-button button))
     (buffer-string))
   'passepartout-setup name))

(defun passepartout-setup--tell (name text &optional buttons)
  "Say TEXT, with BUTTONS, where the setup speaks of trying the provider NAME."
  (when (get-buffer passepartout-setup--buffer-name)
    (with-current-buffer passepartout-setup--buffer-name
      (save-excursion
        (goto-char (point-min))
        (let ((found (text-property-search-forward 'passepartout-setup
                                                   name #'equal))
              (inhibit-read-only t))
          (when found
            (delete-region (prop-match-beginning found)
                           (prop-match-end found))
            (insert (passepartout-setup--mark name text buttons))))))))

(defun passepartout-setup--ask (name action payload function)
  "Ask the core ACTION with PAYLOAD on the provider NAME.
FUNCTION is called with what it answers; what keeps it from being
asked is said."
  (condition-case problem
      (passepartout-request action `(:provider ,name ,@payload) function)
    (error (passepartout-setup--tell name (passepartout-setup--untried
                                           name problem)))))

(defun passepartout-setup--untried (name problem)
  "Say that the provider NAME was not tried because of PROBLEM, an error."
  (format "%s was not tried: %s" name (passepartout-error-text problem)))

(defun passepartout-setup--list-button (name)
  "Return the button that asks the provider NAME for its models."
  (list "[List its models]"
        (lambda () (passepartout-setup--list name))
        (format "Ask %s which models it has; nothing but your key is sent" name)))

(defun passepartout-setup--offered (name payload)
  "Show what a test of the provider NAME would send and cost, by PAYLOAD."
  (let ((error (plist-get payload :error))
        (why (plist-get payload :why))
        (shown (plist-get payload :shown)))
    (cond
     ((or error (not (stringp shown)))
      (passepartout-setup--tell
       name (format "%s was not tried: %s." name
                    (passepartout-setup--ending (or error "no answer")))))
     (why
      (passepartout-setup--tell
       name (format "%s cannot be tested: %s.  It can be asked for its \
list of models instead." name (passepartout-setup--ending why))
       (list (passepartout-setup--list-button name))))
     (t
      (passepartout-setup--tell
       name (concat "The test: " (passepartout-events-clean shown))
       (list (list "[Send it]"
                   (lambda () (passepartout-setup--send name shown))
                   (format "Test %s with exactly this" name))
             (passepartout-setup--list-button name)))))))

(defun passepartout-setup--send (name shown)
  "Have the provider NAME tested, exactly as SHOWN."
  (passepartout-setup--tell name (passepartout-setup--asking name))
  (passepartout-setup--ask
   name :key-test (list :shown shown)
   (lambda (payload) (passepartout-setup--tested name payload))))

(defun passepartout-setup--tested (name payload)
  "Say what came of the test of the provider NAME, by PAYLOAD."
  (let ((text (plist-get payload :text))
        (why (plist-get payload :why))
        (error (plist-get payload :error)))
    (if text
        (passepartout-setup--tell name (concat (passepartout-setup--ending text)
                                               "."))
      (passepartout-setup--tell
       name
       (concat (if why "" (format "%s was not tested: " name))
               (passepartout-setup--ending (or why error "no answer"))
               ".")
       (list (list "[Try again]" (lambda () (passepartout-setup--try name))
                   "Show again what a test would send and cost")
             (passepartout-setup--list-button name))))))

(defconst passepartout-setup--open-lists '("nvidia" "openrouter")
  "Providers that tell everybody their models, whatever the key is.")

(defun passepartout-setup--listed (name payload)
  "Return what the models of the provider NAME, PAYLOAD, tell of its key."
  (let ((problem (or (plist-get payload :error) (plist-get payload :why)))
        (count (+ (length (plist-get payload :models))
                  (or (plist-get payload :more) 0))))
    (cond
     (problem (format "%s was asked for its models, and that does not work: \
%s." name (passepartout-setup--ending problem)))
     ((member name passepartout-setup--open-lists)
      (format "%s was reached.  It lists its %d models for everybody, so \
your first question shows whether the key is good." name count))
     (t (format "%s was reached%s, and lists %d models.%s" name
                (if (passepartout-events--host name)
                    " and did not refuse your key" "")
                count
                (passepartout-setup--price (plist-get payload :models)))))))

(defun passepartout-setup--price (models)
  "Return what the one of MODELS costs that is asked, as a sentence, or nothing."
  (let ((model (seq-find (lambda (model) (plist-get model :set)) models)))
    (if (and model (stringp (plist-get model :price)))
        (format "  Asked is %s; price %s."
                (passepartout-events-clean (plist-get model :name))
                (passepartout-events-clean (plist-get model :price)))
      "")))

(defun passepartout-setup--list (name)
  "Ask the provider NAME for its models, and say what came of it."
  (passepartout-setup--tell name (passepartout-setup--asking name))
  (passepartout-setup--ask
   name :model-list '(:fresh t :contact t)
   (lambda (payload)
     (passepartout-setup--tell name
                               (passepartout-setup--listed name payload)))))

(defun passepartout-setup--try (name)
  "Find out what a test of the provider NAME would send and cost.
Nothing is sent to it for that."
  (condition-case problem
      (progn
        (passepartout-start)
        (passepartout-events-send-providers
         (list name)
         (lambda ()
           (passepartout-setup--ask
            name :key-test nil
            (lambda (payload) (passepartout-setup--offered name payload))))))
    (error (passepartout-setup--tell name (passepartout-setup--untried
                                           name problem)))))

;;;; What is saved

(defun passepartout-setup--save (option value)
  "Save VALUE for OPTION; return a line that says so.
Where customize cannot save, it counts for this session."
  (let ((print-length 5))
    (condition-case err
        (progn (customize-save-variable option value)
               (format "%s is %S from now on." option value))
      (error (customize-set-variable option value)
             (format "%s is %S in this session; it was not saved (%s)."
                     option value (error-message-string err))))))

(defun passepartout-setup--show (lines)
  "Show LINES in the buffer of the setup."
  (with-current-buffer (get-buffer-create passepartout-setup--buffer-name)
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert "What was set up\n\n"
              (mapconcat #'identity lines "\n")
              "\n\nM-x passepartout-doctor says what works, \
M-x passepartout-chat asks the first question.\n\
M-x customize-group RET passepartout has all settings.\n")
      (goto-char (point-min))
      (special-mode))
    (display-buffer (current-buffer))))

;;;###autoload
(defun passepartout-setup ()
  "Ask what Passepartout needs to know at first, and save it.
That is the folder of your notes, who answers, and what may be spent
in a day.  Nothing is saved before the last question was answered;
\\[keyboard-quit] leaves all as it is.  The key of a provider is looked
for, and never asked for: it belongs into auth-source.  Whether it
works can be tried at the end: you are told what a test would send and
cost, and it is sent when you press its button; nothing else is sent
anywhere."
  (interactive)
  (let* ((folder (passepartout-setup--read-folder))
         (provider (passepartout-setup--read-provider))
         (model (and provider (not (equal provider "recall")) provider))
         (dollars (and model
                       (passepartout-events--host model)
                       (passepartout-setup--read-dollars)))
         (try (and model (passepartout-setup--read-try model)))
         (lines (list (passepartout-setup--directories folder))))
    (setq lines (append (passepartout-setup--answers provider) lines))
    (when try
      (push (passepartout-setup--mark
             model (format "What a test of %s would send is being looked up."
                           model))
            lines))
    (when dollars
      (push (passepartout-setup--save 'passepartout-day-budget
                                      (and (> dollars 0) dollars))
            lines))
    (when (passepartout-running-p)
      (push "The core is running with what was set before; \
M-x passepartout-restart takes this up." lines))
    (passepartout-setup--show (nreverse lines))
    (when try (passepartout-setup--try model))))

(provide 'passepartout-setup)
;;; passepartout-setup.el ends here
