;;; passepartout-settings.el --- Settings, told and changed for the agent  -*- lexical-binding: t; -*-

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

;; The core asks Emacs what its settings are, what a change of one would
;; do, and, after you approved that in a flight plan, to make it.  Only
;; options of Passepartout are told or changed.  A value comes as data
;; that was read, and is never evaluated; it must fit the type of its
;; option, and the type must be made of plain data alone.  What may be
;; private is not told to the core at all.
;;
;; A change is made as `customize-set-variable' makes it, so that what
;; belongs to it is done, and is saved only where the plan said so.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'cl-lib)
(require 'seq)
(eval-when-compile (require 'subr-x))

(declare-function custom-file "cus-edit" (&optional no-error))
(declare-function custom-save-all "cus-edit" ())
(declare-function widget-apply "wid-edit" (widget property &rest args))
(declare-function widget-convert "wid-edit" (type &rest args))

(defconst passepartout-settings--prefix "passepartout-"
  "How the name of every option begins.")

(defconst passepartout-settings--withheld
  '(passepartout-embedding-url passepartout-hosts passepartout-mcp-servers
    passepartout-presets
    passepartout-privacy-tags
    passepartout-providers passepartout-trusted-remotes
    passepartout-untrusted-folders)
  "Options whose values are not told.
They may hold an address with a password, words of private notes, or
places of your own.")

(defconst passepartout-settings--plain-types
  '(alist boolean choice cons const integer list natnum number radio repeat
    string)
  "Types that are made of plain data alone.
What names functions, files or programs is none of them.")

(defconst passepartout-settings--most-value 2000
  "A longer value is neither shown nor changed, in characters.")

(defconst passepartout-settings--most-told 500
  "The most characters that are told of a value or a type.")

(defconst passepartout-settings--most-rows 100
  "The most options that are told of at once.")

;;;; Telling

(defun passepartout-settings--option-p (symbol)
  "Return non-nil when SYMBOL is an option of Passepartout."
  (and (string-prefix-p passepartout-settings--prefix (symbol-name symbol))
       (not (string-match-p "--" (symbol-name symbol)))
       (get symbol 'standard-value)
       (get symbol 'custom-type)
       (default-boundp symbol)))

(defun passepartout-settings--option (name)
  "Return the option that is called NAME, or nil."
  (let ((symbol (and (stringp name) (intern-soft name))))
    (and symbol (passepartout-settings--option-p symbol) symbol)))

(defun passepartout-settings--all ()
  "Return all options, sorted by name."
  (let ((all nil))
    (mapatoms (lambda (symbol)
                (when (passepartout-settings--option-p symbol)
                  (push symbol all))))
    (sort all (lambda (a b) (string< (symbol-name a) (symbol-name b))))))

(defun passepartout-settings--documentation (option)
  "Return the documentation of OPTION, as people read it."
  (let ((text-quoting-style 'grave))
    (or (documentation-property option 'variable-documentation)
        "Nothing is said of it.")))

(defun passepartout-settings--summary (option)
  "Return the first line of the documentation of OPTION."
  (car (split-string (passepartout-settings--documentation option) "\n")))

(defun passepartout-settings--print (value)
  "Return VALUE printed so that it can be read back."
  (let ((print-length nil) (print-level nil) (print-circle nil)
        (print-escape-newlines nil) (print-quoted t)
        (float-output-format nil))
    (prin1-to-string value)))

(defun passepartout-settings--shown (value)
  "Return VALUE as it is told: bounded, a function by its name alone."
  (let ((print-length 50) (print-level 6))
    (truncate-string-to-width
     (cond ((and (functionp value) (not (symbolp value))) "a function")
           (t (prin1-to-string value)))
     passepartout-settings--most-told nil nil "...")))

(defun passepartout-settings--standard (option)
  "Return the value of OPTION where nobody sets it."
  (eval (car (get option 'standard-value)) t))

(defun passepartout-settings--state (option)
  "Return in words where the value of OPTION comes from."
  (let ((value (default-value option))
        (saved (condition-case nil
                   (passepartout-settings--saved option)
                 (error 'expression))))
    (cond ((eq saved 'expression) "saved for good is an expression")
          ((and saved (equal value (car saved))) "saved for good")
          ((equal value (passepartout-settings--standard option))
           "as it is without a setting")
          ((get option 'customized-value) "set in this Emacs, not saved")
          (t "set outside of customize"))))

(defun passepartout-settings--row (option &optional whole)
  "Return what is told of OPTION; with WHOLE, its documentation as well."
  (let ((told (not (memq option passepartout-settings--withheld))))
    `(:option ,(symbol-name option)
      :summary ,(passepartout-settings--summary option)
      ,@(and whole
             `(:documentation ,(passepartout-settings--documentation option)))
      :kind ,(passepartout-settings--shown (get option 'custom-type))
      ,@(and told
             `(:value ,(passepartout-settings--shown (default-value option))
               :standard ,(passepartout-settings--shown
                           (passepartout-settings--standard option))))
      :state ,(passepartout-settings--state option))))

(defun passepartout-settings--fitting (words)
  "Return the options that WORDS fit, those first that are called so."
  (let* ((words (split-string (downcase words) "[^[:alnum:]-]+" t))
         (scored
          (mapcar
           (lambda (option)
             (let ((name (symbol-name option))
                   (text (downcase
                          (passepartout-settings--documentation option))))
               (cons (seq-reduce
                      (lambda (sum word)
                        (cond ((null sum) nil)
                              ((string-search word name) (+ sum 2))
                              ((string-search word text) (1+ sum))))
                      words 0)
                     option)))
           (passepartout-settings--all))))
    (mapcar #'cdr
            ;; The sort is stable: what fits alike stays in order.
            (sort (seq-filter #'car scored)
                  (lambda (a b) (> (car a) (car b)))))))

(defun passepartout-settings-answer (request payload)
  "Answer REQUEST with the options that PAYLOAD asks for."
  (let* ((name (plist-get payload :option))
         (option (passepartout-settings--option name))
         (rows (cond (option (list (passepartout-settings--row option t)))
                     (name nil)
                     (t (mapcar #'passepartout-settings--row
                                (passepartout-settings--fitting
                                 (or (plist-get payload :words) "")))))))
    (passepartout-reply
     request
     (list :ok t :rows (seq-take rows passepartout-settings--most-rows)))))

;;;; Whether a change can be made

(defun passepartout-settings--plain-p (value)
  "Return non-nil when VALUE is plain data of bounded size."
  (let ((waiting (list value)) (count 0))
    (while (and waiting (< count 1000))
      (let ((value (pop waiting)))
        (setq count (1+ count))
        (cond ((consp value)
               (push (cdr value) waiting)
               (push (car value) waiting))
              ((stringp value)
               (unless (equal value (passepartout-events-clean value))
                 (setq count 1000)))
              ((symbolp value)
               (unless (string-match-p "\\`:?[a-zA-Z][a-zA-Z0-9-]*\\'"
                                       (symbol-name value))
                 (setq count 1000)))
              ((numberp value))
              (t (setq count 1000)))))
    (and (null waiting) (< count 1000))))

(defun passepartout-settings--plain-type-p (type)
  "Return non-nil when all values of TYPE, as of `defcustom', are plain data."
  (pcase type
    ((pred symbolp) (memq type passepartout-settings--plain-types))
    (`(const . ,rest)
     (passepartout-settings--plain-p rest))
    (`(,(and head (pred symbolp)) . ,rest)
     (and (memq head passepartout-settings--plain-types)
          (let ((plain t))
            (while (and plain rest)
              (let ((part (pop rest)))
                (setq plain
                      (cond ((memq part '(:key-type :value-type))
                             (passepartout-settings--plain-type-p (pop rest)))
                            ((memq part '(:tag :doc)) (stringp (pop rest)))
                            ((keywordp part) nil)
                            (t (passepartout-settings--plain-type-p part))))))
            plain)))))

(defun passepartout-settings--fits-p (option value)
  "Return non-nil when VALUE is of the type of OPTION."
  (require 'wid-edit)
  (require 'cus-edit)
  (widget-apply (widget-convert (get option 'custom-type)) :match value))

(defun passepartout-settings--saved (option)
  "Return what is saved of OPTION as a list of its value, or nil.
An expression that is not data is an error: it could not be put back."
  (pcase (get option 'saved-value)
    ('nil nil)
    (`((quote ,value)) (list value))
    (`(,(and value (or (pred numberp) (pred stringp) (pred keywordp)
                       'nil 't)))
     (list value))
    (_ (user-error "What is saved of %s is an expression, which is changed \
by hand: M-x customize-option" option))))

(defun passepartout-settings--save-obstacle ()
  "Return why customize cannot save without asking, or nil."
  (require 'cus-edit)
  (let* ((file (ignore-errors (custom-file t)))
         (buffer (and file (not (file-remote-p file))
                      (find-buffer-visiting file))))
    (cond
     ((null file) "this Emacs has no file for what is customized")
     ((file-remote-p file) (format "%s is on another machine" file))
     ((not (file-writable-p file)) (format "%s cannot be written" file))
     ((and buffer (buffer-modified-p buffer))
      (format "%s has unsaved changes" file))
     ((and buffer (not (verify-visited-file-modtime buffer)))
      (format "%s has changed on disk; revert its buffer" file))
     ((stringp (file-locked-p file))
      (format "%s is being edited by %s" file (file-locked-p file))))))

(defun passepartout-settings--refuse (format &rest arguments)
  "Refuse a change; FORMAT and ARGUMENTS say why."
  (signal 'user-error (list (apply #'format format arguments))))

(defun passepartout-settings--weighed (payload)
  "Return (OPTION VALUE SAVE SAVED) of the change in PAYLOAD.
VALUE is its new value, and SAVE what becomes of what is saved:
`stays', `as' with SAVED, or `nothing'.  What cannot be changed so is an
error."
  (let* ((name (plist-get payload :option))
         (option (or (passepartout-settings--option name)
                     (passepartout-settings--refuse
                      "%s is no setting of Passepartout" name)))
         (value (plist-get payload :value))
         (saved (plist-get payload :saved))
         (save (pcase (plist-get payload :save)
                 ("stays" 'stays) ("as" 'as) ("nothing" 'nothing)
                 (_ (passepartout-settings--refuse
                     "Emacs does not know what to save")))))
    (unless (passepartout-settings--plain-type-p (get option 'custom-type))
      (passepartout-settings--refuse
       "%s can name functions, files or programs, so you set it yourself"
       option))
    (dolist (data (list value saved (default-value option)))
      (unless (and (passepartout-settings--plain-p data)
                   (<= (length (passepartout-settings--print data))
                       passepartout-settings--most-value))
        (passepartout-settings--refuse
         "a value of %s is no plain data that could be put back; set it \
yourself" option)))
    (dolist (new (cons value (and (eq save 'as) (list saved))))
      (unless (passepartout-settings--fits-p option new)
        (passepartout-settings--refuse
         "%s cannot be %s; its type is %s" option
         (passepartout-settings--shown new)
         (passepartout-settings--shown (get option 'custom-type)))))
    (unless (passepartout-settings--fits-p option (default-value option))
      (passepartout-settings--refuse
       "%s is %s now, which its type does not allow, so it could not be put \
back; set it yourself" option
       (passepartout-settings--shown (default-value option))))
    (unless (eq save 'stays)
      (let ((obstacle (passepartout-settings--save-obstacle)))
        (when obstacle
          (passepartout-settings--refuse "nothing can be saved: %s"
                                         obstacle))))
    (list option value save saved)))

(defun passepartout-settings--now (option)
  "Return the value of OPTION, and what is saved of it, both printed."
  (let ((saved (passepartout-settings--saved option)))
    (list (passepartout-settings--print (default-value option))
          (and saved (passepartout-settings--print (car saved))))))

(defun passepartout-settings-weigh (request payload)
  "Answer REQUEST with what the change in PAYLOAD would do."
  (pcase-let* ((`(,option ,value ,save ,saved)
                (passepartout-settings--weighed payload))
               (`(,now ,saved-now) (passepartout-settings--now option))
               (saved-then (pcase save
                             ('stays saved-now)
                             ('as (passepartout-settings--print saved)))))
    (passepartout-reply
     request
     `(:ok t
       :summary ,(passepartout-settings--summary option)
       :now ,now
       :to ,(passepartout-settings--print value)
       ,@(and saved-now `(:saved ,saved-now))
       ,@(and saved-then `(:saved-then ,saved-then))))))

;;;; Changing

(defconst passepartout-settings--properties
  '(saved-value customized-value theme-value)
  "The properties in which customize keeps what was set.")

(defun passepartout-settings--make (option value save saved)
  "Give OPTION its VALUE, and do with SAVED what SAVE says."
  (customize-set-variable option value)
  (pcase save
    ('as (put option 'saved-value (list (custom-quote saved))))
    ('nothing (put option 'saved-value nil)))
  (let ((saved (passepartout-settings--saved option)))
    (when (equal value (if saved (car saved)
                         (passepartout-settings--standard option)))
      ;; As it is at the next start: nothing is to be saved of it.
      (put option 'customized-value nil)
      (unless saved
        (custom-push-theme 'theme-value option 'user 'reset))))
  (unless (eq save 'stays)
    (custom-save-all)))

(defun passepartout-settings-set (request payload)
  "Make the change in PAYLOAD and answer REQUEST.
It is made only where all stands as it was found, which PAYLOAD says as
well; when it fails, what stood there is put back."
  (pcase-let* ((`(,option ,value ,save ,saved)
                (passepartout-settings--weighed payload))
               (found (list (plist-get payload :now)
                            (plist-get payload :was-saved)))
               (before (default-value option))
               (kept (mapcar (lambda (property)
                               (copy-tree (get option property)))
                             passepartout-settings--properties)))
    (unless (equal found (passepartout-settings--now option))
      (passepartout-settings--refuse "%s has changed since it was looked at"
                                     option))
    (condition-case problem
        ;; A question would take the keyboard from the user.
        (let ((inhibit-interaction t)
              (enable-local-variables :safe)
              (enable-local-eval nil))
          (passepartout-settings--make option value save saved)
          (passepartout-reply request '(:ok t)))
      ((error quit)
       (funcall (or (get option 'custom-set) #'set-default) option before)
       (cl-mapc (lambda (property value) (put option property value))
                passepartout-settings--properties kept)
       (passepartout-settings--refuse
        "it was not changed: %s" (error-message-string problem))))))

;;;; Putting back

;;;###autoload
(defun passepartout-undo-setting (&optional change)
  "Propose to put back the setting that the agent changed last.
With CHANGE, the name of a change as the agent said it, that one.  What
would be put back is shown as a flight plan."
  (interactive)
  (passepartout-start)
  (passepartout-request
   :setting-undo (and change (list :change change))
   (lambda (payload)
     (message "Passepartout: %s"
              (passepartout-events-clean
               (or (plist-get payload :error) (plist-get payload :text) "")))
     (unless (plist-get payload :error)
       (passepartout-flight-plans)))))

(provide 'passepartout-settings)
;;; passepartout-settings.el ends here
