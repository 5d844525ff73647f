;;; passepartout-tools.el --- Tools of your own, in Lisp  -*- lexical-binding: t; -*-

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

;; `passepartout-define-tool' gives the agent a tool that you wrote in
;; Lisp.  Call it in your init file.  The core judges each call by what
;; you declared, as it judges those of its own tools, and asks you where
;; they would ask; your function runs in this Emacs, with your rights.
;;
;; What is declared is kept here and told to the core whenever one
;; starts, so it need not run when your init file is loaded.  Nothing
;; that a model, a note, a skill or another program says declares a tool.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(eval-when-compile (require 'cl-lib))

(define-error 'passepartout-tool-error
  "A tool cannot be declared" '(passepartout-error user-error))

(defconst passepartout-tools--builtin
  '("memory-search" "memory-read" "org-add-heading" "org-set-todo"
    "org-set-property" "org-schedule" "org-move" "org-outline" "reopen-turn"
    "skill-read" "org-archive" "org-replace-body" "org-set-tags" "org-clock"
    "list-files" "grep" "replace-in-file" "git-status" "git-diff"
    "git-log" "git-commit" "fetch-url" "editor-look" "editor-show"
    "insert-at-end" "org-refactor" "read-file" "write-file" "shell"
    "message" "eval-lisp" "restore" "contact-provider" "contact-embedder"
    "confirm-rule" "lisp-check" "lisp-definitions" "lisp-edit"
    "lisp-balance" "literate-check" "literate-tangle" "memory-report"
    "note-distil" "notes-undistilled" "memory-garden" "inbox-propose"
    "links-suggest" "manual-search" "create-skill" "edit-skill"
    "delegate-task" "set-cascade" "job-log" "setting-explain"
    "setting-change" "setting-undo" "org-add-id" "org-set-keyword"
    "org-render")
  "Names that a tool of your own cannot have.")

(defconst passepartout-tools--effects
  '(pure read write execute network)
  "What a tool may do: the classes of effect.")

(defconst passepartout-tools--keys
  '(:effect :args :paths :hosts :seconds :characters :function)
  "What `passepartout-define-tool' takes.")

(defconst passepartout-tools--name "\\`[a-z][a-z0-9-]\\{0,39\\}\\'"
  "Regular expression for the name of a tool or an argument.")

(defconst passepartout-tools--usual-characters 100000
  "How much a tool may say that declares no :characters.")

(defvar passepartout-tools--own nil
  "The tools of your own, an alist from name to plist, the oldest first.
A plist has :payload, what the core is told, :mark, which names the
declaration with its function, and :function.")

(defvar passepartout-tools--told nil
  "What was said of declarations to the core that does the work.")

;;;; Declaring

(defun passepartout-tools--wrong (name format &rest arguments)
  "Signal that the tool NAME cannot be declared: FORMAT and ARGUMENTS say why."
  (signal 'passepartout-tool-error
          (list (format "the tool %s: %s" name
                        (apply #'format format arguments)))))

(defun passepartout-tools--proper-p (value)
  "Return non-nil when VALUE is a list with an end."
  (and (listp value) (proper-list-p value) t))

(defun passepartout-tools--kind (name argument kind)
  "Return what the core is told of KIND, of ARGUMENT of the tool NAME."
  (pcase kind
    ((or 'text 'flag) `(:kind ,(symbol-name kind)))
    (`(one-of . ,(and words (pred passepartout-tools--proper-p)
                      (guard (and words (cl-every #'stringp words)))))
     `(:kind "one-of" :words ,words))
    (`(number ,(and least (pred integerp)) ,(and most (pred integerp)))
     (when (< most least)
       (passepartout-tools--wrong
        name "the argument `%s': the least it may be is more than the most"
        argument))
     `(:kind "number" :least ,least :most ,most))
    (`(texts ,(and most (pred integerp) (guard (< 0 most)))) `(:kind "texts" :most ,most))
    (_ (passepartout-tools--wrong
        name
        (concat "the argument `%s': %S is no type; it is one of text, flag, "
                "(one-of WORD...), (number LEAST MOST) and (texts MOST)")
        argument kind))))

(defun passepartout-tools--argument (name said)
  "Return what the core is told of SAID, an argument of the tool NAME."
  (unless (and (passepartout-tools--proper-p said) (<= 3 (length said))
               (symbolp (car said)) (stringp (nth 2 said)))
    (passepartout-tools--wrong
     name "%S is no argument; it is (ARGUMENT TYPE DESCRIPTION), \
with `:optional t' behind it when it may be left out"
     said))
  (let ((argument (symbol-name (car said)))
        (rest (nthcdr 3 said)))
    (unless (let ((case-fold-search nil))
              (string-match-p passepartout-tools--name argument))
      (passepartout-tools--wrong
       name "`%s' is no name for an argument; use small letters, digits \
and hyphens"
       argument))
    (unless (or (null rest)
                (and (eq (car rest) :optional) (= (length rest) 2)))
      (passepartout-tools--wrong
       name "the argument `%s': %S is not known; only :optional is"
       argument rest))
    `(:name ,argument
      ,@(passepartout-tools--kind name argument (nth 1 said))
      :summary ,(nth 2 said)
      :required ,(not (plist-get rest :optional)))))

(defun passepartout-tools--places (name key value arguments)
  "Return VALUE, what KEY of the tool NAME says, as names of ARGUMENTS."
  (unless (passepartout-tools--proper-p value)
    (passepartout-tools--wrong name "%s is a list of arguments, not %S"
                               key value))
  (mapcar
   (lambda (place)
     (let ((place (format "%s" place)))
       (unless (cl-some (lambda (argument)
                          (equal (plist-get argument :name) place))
                        arguments)
         (passepartout-tools--wrong
          name "%s names `%s', which is no argument of it" key place))
       place))
   value))

(defun passepartout-tools--check (name documentation plist)
  "Signal an error when NAME, DOCUMENTATION or a key of PLIST will not do."
  (unless (and (stringp name)
               (let ((case-fold-search nil))
                 (string-match-p passepartout-tools--name name)))
    (passepartout-tools--wrong
     name "a name is a string of small letters, digits and hyphens"))
  (when (member name passepartout-tools--builtin)
    (passepartout-tools--wrong
     name "a tool of Passepartout's has that name; choose another one"))
  (unless (and (stringp documentation)
               (string-match-p "[^[:space:]]" documentation))
    (passepartout-tools--wrong
     name "its description is missing; say what it does, for the model"))
  (let ((rest plist))
    (while rest
      (unless (and (memq (car rest) passepartout-tools--keys) (cdr rest))
        (passepartout-tools--wrong
         name "%S is not known or has no value; the keys are %s" (car rest)
         (mapconcat #'symbol-name passepartout-tools--keys ", ")))
      (setq rest (cddr rest))))
  (unless (memq (plist-get plist :effect) passepartout-tools--effects)
    (passepartout-tools--wrong
     name "its :effect is %s; it is one of %s, and there is no default"
     (if (plist-get plist :effect)
         (format "`%S'" (plist-get plist :effect))
       "missing")
     (mapconcat #'symbol-name passepartout-tools--effects ", ")))
  (unless (functionp (plist-get plist :function))
    (passepartout-tools--wrong
     name "its :function is missing or is no function; it takes the \
arguments and a function to answer with"))
  (unless (passepartout-tools--proper-p (plist-get plist :args))
    (passepartout-tools--wrong name ":args is a list of arguments"))
  (pcase-dolist (`(,key ,least ,most) '((:seconds 1 600)
                                        (:characters 100 100000)))
    (let ((value (plist-get plist key)))
      (unless (or (null value)
                  (and (integerp value) (<= least value most)))
        (passepartout-tools--wrong
         name "its %s is a whole number from %d to %d" key least most)))))

(defun passepartout-tools--mark (payload function)
  "Return a string that names PAYLOAD together with FUNCTION.
Of a function that prints as no text, such as one that is compiled to
native code, nobody can say whether it is the same in another session;
there it has another name each time."
  (let* ((print-length nil) (print-level nil) (print-circle t)
         (print-gensym nil) (print-escape-newlines t)
         (body (prin1-to-string function)))
    (when (string-match-p "#<" body)
      (setq body (format "%s %s %s" body (float-time) (random))))
    (secure-hash 'sha256 (concat (prin1-to-string payload) body))))

;;;###autoload
(defun passepartout-define-tool (name documentation &rest plist)
  "Give the agent a tool of your own, called NAME.
DOCUMENTATION says what it does, for the model.  PLIST has these keys:

:effect      what it does: one of the symbols pure (it only works
             something out), read (it looks), write (it changes
             something), execute (it runs a program or Lisp) and
             network (it sends something off this machine).  It must
             be there.  Without another level in
             `passepartout-permissions' the first two pass and the
             others ask you each time
:args        its arguments, a list of (ARGUMENT TYPE DESCRIPTION), with
             `:optional t' behind it for one that may be left out.  TYPE
             is one of text, flag, (one-of WORD...), (number LEAST MOST)
             and (texts MOST)
:paths       the arguments that name files; each is judged where it
             leads, and the function is given that absolute name
:hosts       the arguments that name hosts or addresses of the web
:seconds     how long it may take, from 1 to 600; 30 without
:characters  how much it may answer, from 100 to 100000
:function    a function of two arguments, ARGS and REPLY

ARGS is a plist of the arguments, such as (:town \"Lisbon\" :days 3);
what was left out is not in it, and a flag that is false is nil.  REPLY
is a function to be called once, at once or later: with a string, the
answer, or with nil and a string, why there is none.  The function runs
in this Emacs, which waits for it: what takes long is begun, and answers
when it is done.  It cannot ask you anything while it is called.

Call this in your init file.  Declaring a tool anew takes the place of
the old one, and plans that wait for the old one are stale then."
  (declare (indent 1))
  (passepartout-tools--check name documentation plist)
  (let* ((arguments (mapcar (lambda (said)
                              (passepartout-tools--argument name said))
                            (plist-get plist :args)))
         (places (lambda (key)
                   (passepartout-tools--places
                    name key (plist-get plist key) arguments)))
         (function (indirect-function (plist-get plist :function)))
         (payload
          `(:name ,name
            :summary ,(substring-no-properties documentation)
            :effect ,(symbol-name (plist-get plist :effect))
            :args ,arguments
            :paths ,(funcall places :paths)
            :hosts ,(funcall places :hosts)
            ,@(and (plist-get plist :seconds)
                   `(:seconds ,(plist-get plist :seconds)))
            ,@(and (plist-get plist :characters)
                   `(:characters ,(plist-get plist :characters)))))
         (mark (passepartout-tools--mark payload function))
         (tool (list :payload (append payload (list :mark mark))
                     :mark mark :function function)))
    (let ((entry (assoc name passepartout-tools--own)))
      (if entry
          (setcdr entry tool)
        (setq passepartout-tools--own
              (append passepartout-tools--own (list (cons name tool))))))
    (when (passepartout-running-p)
      (passepartout-tools--tell tool))
    name))

;;;###autoload
(defun passepartout-undefine-tool (name)
  "Take the tool NAME of your own away from the agent."
  (interactive
   (list (completing-read "Take away the tool: "
                          (mapcar #'car passepartout-tools--own) nil t)))
  (unless (assoc name passepartout-tools--own)
    (passepartout-tools--wrong name "you have declared no such tool"))
  (setq passepartout-tools--own
        (assoc-delete-all name passepartout-tools--own))
  (when (passepartout-running-p)
    (passepartout-request :undefine-tool `(:name ,name) #'ignore))
  name)

;;;; Telling the core

(defun passepartout-tools--tell (tool)
  "Tell the core of TOOL; what it refuses is told to the user, once."
  (passepartout-request
   :define-tool (plist-get tool :payload)
   (lambda (answer)
     (let ((why (plist-get answer :error)))
       (when (and why (not (member why passepartout-tools--told)))
         (push why passepartout-tools--told)
         (passepartout-events--tell "warning" why))))))

(defun passepartout-tools--tell-all ()
  "Tell a core that knows nothing of this Emacs yet of all tools."
  (setq passepartout-tools--told nil)
  (pcase-dolist (`(,_ . ,tool) passepartout-tools--own)
    (passepartout-tools--tell tool)))

(add-hook 'passepartout-start-hook #'passepartout-tools--tell-all)

;;;; Answering

(defun passepartout-tools-answer (request payload)
  "Have the tool in PAYLOAD called, which answers REQUEST.
It is called when Emacs has come back from reading messages."
  (let* ((name (plist-get payload :tool))
         (tool (cdr (assoc name passepartout-tools--own))))
    (unless tool
      (error "Emacs has no tool %s any more; nothing was done" name))
    (unless (equal (plist-get payload :mark) (plist-get tool :mark))
      (error "%s was declared anew meanwhile; nothing was done" name))
    (run-at-time 0 nil #'passepartout-tools--call request tool payload
                 passepartout-events--life)))

(defun passepartout-tools--arguments (said)
  "Return SAID, a list of (NAME VALUE), as a plist."
  (mapcan (lambda (pair)
            (list (intern (concat ":" (car pair))) (cadr pair)))
          said))

(defun passepartout-tools--folder (project)
  "Return the name of the folder PROJECT, or of the home if there is none."
  (file-name-as-directory
   (if (and (stringp project)
            (file-name-absolute-p project)
            (not (file-remote-p project))
            (file-directory-p project))
       project
     (expand-file-name "~"))))

(defun passepartout-tools--call (request tool payload life)
  "Call TOOL with the arguments in PAYLOAD, to answer REQUEST.
LIFE is the number of the core that asked."
  (let* ((name (plist-get payload :tool))
         (most (or (plist-get payload :characters)
                   passepartout-tools--usual-characters))
         (answered nil)
         (reply
          (lambda (text &optional why)
            (cond
             (answered
              (passepartout-events--note
               (format "The tool %s answered more than once; the first \
answer counts" name)))
             (t
              (setq answered t)
              (passepartout-tools--reply request life most name text why)))
            nil))
         ;; A question would take the keyboard from the user.
         (inhibit-interaction t)
         ;; Paths of arguments are absolute.  Other names mean the same in
         ;; each buffer: what they mean in the project it was judged for.
         (default-directory (passepartout-tools--folder
                             (plist-get payload :directory))))
    (condition-case problem
        (save-current-buffer
          (save-match-data
            ;; It runs in a timer, where the user's C-g would wait else.
            (let ((inhibit-quit nil))
              (funcall (plist-get tool :function)
                       (passepartout-tools--arguments
                        (plist-get payload :args))
                       reply))))
      (inhibited-interaction
       (funcall reply nil "it would have to ask the user something"))
      (quit
       (funcall reply nil "the user stopped it"))
      (error
       (funcall reply nil (error-message-string problem))))))

(defun passepartout-tools--reply (request life most name text why)
  "Answer REQUEST with TEXT of at most MOST characters, or with WHY.
NAME is the tool's name, and LIFE the number of the core that asked."
  (when (and (passepartout-running-p) (eql life passepartout-events--life))
    (if (stringp text)
        (passepartout-events-slices
         (passepartout-tools--shortened text most)
         (lambda (slice)
           (passepartout-reply request `(:ok t ,@slice))
           t))
      (passepartout-reply
       request
       (list :ok nil :begun t
             :text (passepartout-tools--shortened
                    (format "%s failed: %s" name
                            (if (stringp why) why
                              "it answered with no text"))
                    (min most 2000)))))))

(defun passepartout-tools--shortened (text most)
  "Return TEXT, without its middle when it has more than MOST characters.
Nothing is in it that cannot be sent."
  (let* ((count (length text))
         (half (/ (max 0 (- most 60)) 2))
         (text (if (<= count most) text
                 (concat (substring text 0 half)
                         (format "\n[%d characters are left out]\n"
                                 (- count (* 2 half)))
                         (substring text (- count half))))))
    (passepartout-events-clean text)))

(provide 'passepartout-tools)
;;; passepartout-tools.el ends here
