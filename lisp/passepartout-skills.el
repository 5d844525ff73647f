;;; passepartout-skills.el --- Skills: list, show, confirm, write, test  -*- lexical-binding: t; -*-

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

;; The list of skills, with what became of each; a skill whole, as it is
;; shown before it is first used; a new skill from a template; and what
;; testing a skill came to.  What loosens or steers becomes a flight
;; plan, which you approve like any other.

;;; Code:

(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-arrive)
(require 'passepartout-view)
(eval-when-compile (require 'subr-x))


(defconst passepartout-skills--buffer-name "*Passepartout skills*"
  "The name of the buffer of skills.")

(defconst passepartout-skills--shown-name "*Passepartout skill*"
  "The name of the buffer that shows one skill whole.")

(defconst passepartout-skills--tested-name "*Passepartout skill test*"
  "The name of the buffer of what testing a skill came to.")

(defconst passepartout-skills--kinds
  '(("prompt" . "tells the model how to do something when you ask for it")
    ("mandate" . "tells the model something in every turn")
    ("rules" . "asks about acts, or denies them, by patterns")
    ("gate" . "the same by a function in Lisp, with its tests"))
  "Kinds of new skills, each with what it is for.")

(defvar passepartout-skills-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map passepartout-view-mode-map)
    (define-key map (kbd "RET") #'passepartout-skills-open)
    (define-key map (kbd "k") #'passepartout-skills-toggle)
    (define-key map (kbd "t") #'passepartout-skills-test)
    (define-key map (kbd "r") #'passepartout-skills-reload)
    (define-key map (kbd "c") #'passepartout-skills-confirm)
    (define-key map (kbd "s") #'passepartout-skills-show)
    map)
  "Keys of the buffer of skills.")

(define-derived-mode passepartout-skills-mode passepartout-view-mode "Skills"
  "Major mode of the buffer of skills.")

;;;; Asking

(defun passepartout-skills--ask (action more then)
  "Send the request ACTION with MORE, and call THEN with its answer.
An error is said, and THEN is not called."
  (passepartout-request
   action more
   (lambda (payload)
     (let ((why (plist-get payload :error)))
       (if why
           (message "Passepartout: %s" (passepartout-view-line why 500))
         (funcall then payload))))))

(defun passepartout-skills--decide (action more)
  "Send the request ACTION with MORE, and go to the plan that comes of it.
Where none does, say what the core says."
  (let ((place (passepartout-arrive-place)))
    (passepartout-skills--ask
     action more
     (lambda (payload)
       (let ((plan (car (plist-get payload :plans))))
         (if plan
             (passepartout-arrive-at-plan place plan)
           (message "Passepartout: %s"
                    (passepartout-view-line (plist-get payload :text) 500)))
         (passepartout-skills--fetch))))))

(defun passepartout-skills--at-point ()
  "Return the skill at point, a plist."
  (or (passepartout-list-data)
      (user-error "There is no skill here")))

(defun passepartout-skills--meant (skill)
  "Return the part of a request that says which SKILL, a plist, is meant.
Names are not unique, files are."
  (append (list :skill (plist-get skill :name))
          (and (plist-get skill :file)
               (list :file (plist-get skill :file)))))

(defun passepartout-skills--visit (skill)
  "Visit the file of SKILL, a plist, in another window.
What is not the user's own is visited literally: Org and the file's own
settings have no say in a text that somebody else wrote."
  (let* ((file (plist-get skill :file))
         (file (if (file-directory-p file)
                   (expand-file-name "SKILL.md" file)
                 file)))
    (passepartout-abroad-check-file (passepartout-view-line file))
    (if (plist-get skill :own)
        (find-file-other-window file)
      (switch-to-buffer-other-window (find-file-noselect file nil t)))))

;;;; The list

(defun passepartout-skills--face (state)
  "Return the face for STATE."
  (pcase state
    ("loaded" 'passepartout-good)
    ("waiting" 'passepartout-attention)
    ("off" 'passepartout-quiet)
    (_ 'passepartout-bad)))

(defconst passepartout-skills--columns
  '(("State" 8) ("Prio" 5 t) ("Skill" (14 . 24)) ("Title" nil))
  "The columns of the list of skills.")

(defun passepartout-skills--below (skill)
  "Return what stands below the line of SKILL, a plist, as texts."
  (let* ((took (or (plist-get skill :micros) 0))
         (why (plist-get skill :why))
         (quiet (append (plist-get skill :remarks)
                        (list (plist-get skill :turns)
                              (plist-get skill :lisp)
                              (and (>= took 5000)
                                   (format "It took %d ms to read."
                                           (/ took 1000)))))))
    (append
     (and why (list (concat "    " (passepartout-view-line why 500) "\n")))
     (mapcar (lambda (text)
               (propertize (concat "    " (passepartout-view-line text 400)
                                   "\n")
                           'face 'passepartout-quiet))
             (seq-remove (lambda (text) (string-empty-p (or text "")))
                         quiet)))))

(defun passepartout-skills--row (skill)
  "Return the row of SKILL, a plist, with what is known of it."
  (let ((state (passepartout-view-line (plist-get skill :state) 20))
        (name (passepartout-view-line (plist-get skill :name) 64))
        (priority (plist-get skill :priority)))
    `(,(or (plist-get skill :file) name) ,name ,skill
      (,(propertize state 'face (passepartout-skills--face state))
       (,(if priority (format "%d" priority) "") . ,(or priority -1))
       ,name
       ,(passepartout-view-line (plist-get skill :title) 80))
      ,@(passepartout-skills--below skill))))

(defun passepartout-skills--draw (payload)
  "Draw PAYLOAD, the list of the core, in the current buffer."
  (passepartout-view-draw
    (insert (propertize "Skills\n" 'face 'passepartout-title)
            (propertize
             "RET opens, s shows whole, c confirms, k takes out of use and \
back, t tests, r reads all anew, S sorts, ? shows all keys, q leaves.\n\n"
             'face 'passepartout-quiet))
    (if (null (plist-get payload :skills))
        (insert "There is no skill.  M-x passepartout-new-skill begins one, \
r reads all anew.\n")
      (passepartout-list-head passepartout-skills--columns)
      (passepartout-list-rows passepartout-skills--columns
                              (mapcar #'passepartout-skills--row
                                      (plist-get payload :skills))))
    (when (> (or (plist-get payload :more) 0) 0)
      (insert (format "\nAnd %d more; name fewer folders to see them.\n"
                      (plist-get payload :more))))))

(defun passepartout-skills--fetch ()
  "Ask the core for the skills and draw them."
  (passepartout-view-fetch passepartout-skills--buffer-name :skills
                           #'passepartout-skills--draw))

;;;###autoload
(defun passepartout-skills ()
  "Show the skills: what became of each, and what can be done about it."
  (interactive)
  (passepartout-view-open passepartout-skills--buffer-name
                          'passepartout-skills-mode 'passepartout-skills
                          #'passepartout-skills--fetch))

(defun passepartout-skills-open ()
  "Visit the file of the skill at point.
What is not your own and not in use is shown instead."
  (interactive)
  (let ((skill (passepartout-skills--at-point)))
    (cond
     ((not (plist-get skill :file))
      (user-error "This skill is built in, and has no file"))
     ((or (plist-get skill :own)
          (equal (plist-get skill :state) "loaded"))
      (passepartout-skills--visit skill))
     (t (passepartout-skills-show)))))

(defun passepartout-skills-reload ()
  "Read all skills anew."
  (interactive)
  (passepartout-skills--decide
   :skill-reload
   (list :folders (mapcar #'expand-file-name
                          (default-value 'passepartout-skills-directories)))))

(defun passepartout-skills-toggle ()
  "Take the skill at point out of use, or bring it back."
  (interactive)
  (let* ((skill (passepartout-skills--at-point))
         (off (equal (plist-get skill :state) "off")))
    (passepartout-skills--decide
     (if off :skill-enable :skill-disable)
     (passepartout-skills--meant skill))))

;;;; One skill, whole

(defvar-local passepartout-skills--shown nil
  "The skill that this buffer shows whole, and the name of what it shows.
It is nil as long as not all of it stands there.")

(defvar-local passepartout-skills--reading nil
  "What is being read into this buffer, a plist; the last one counts.")

(defconst passepartout-skills--tries 5
  "How often a skill is begun anew that changes while it is read.")

(defun passepartout-skills--add-fixed (text)
  "Insert TEXT at the end of the buffer as a fixed-width area of Org.
It goes on in the line that stands there."
  (goto-char (point-max))
  (let ((open (not (bolp)))
        (lines (split-string (passepartout-view-visible text) "\n")))
    (while lines
      (let ((line (pop lines)))
        (cond (open (insert line))
              ((not (string-empty-p line)) (insert ": " line))
              (lines (insert ":"))))
      (setq open nil)
      (when lines (insert "\n")))))

(defun passepartout-skills--offer (reading)
  "Offer to use what READING came to, now that all of it stands there."
  (setq passepartout-skills--shown
        (list (plist-get reading :skill) (plist-get reading :shown)))
  (goto-char (point-max))
  (unless (bolp) (insert "\n"))
  (goto-char (point-min))
  (forward-line 1)
  (delete-region (point) (line-beginning-position 2))
  (when (plist-get reading :waits)
    (insert "This is all of it.  Nothing but what it forbids is in use \
before you confirm it.\n")
    (passepartout-view-button
     "Use it as it is shown here"
     (lambda () (passepartout-skills-use))
     "Make a flight plan of it, to approve or to deny")
    (insert "\n"))
  (goto-char (point-min)))

(defun passepartout-skills--read-on (reading payload)
  "Take the slice PAYLOAD of READING, and ask for the next one.
One that belongs to other files than the first begins it all anew."
  (let ((inhibit-read-only t)
        (buffer (current-buffer))
        (next (plist-get payload :next)))
    (cond
     ((not (equal (plist-get payload :shown) (plist-get reading :shown)))
      (if (< (plist-get reading :tries) passepartout-skills--tries)
          (passepartout-skills--show (plist-get reading :skill)
                                     (plist-get reading :waits)
                                     (1+ (plist-get reading :tries)))
        (message "Passepartout: %s"
                 "it changes while it is read; look at it again later")))
     (t
      (save-excursion
        (passepartout-skills--add-fixed (or (plist-get payload :text) "")))
      (if (not next)
          (passepartout-skills--offer reading)
        (passepartout-skills--ask
         :skill-show
         (append (passepartout-skills--meant (plist-get reading :skill))
                 (list :from next :shown (plist-get reading :shown)))
         (lambda (payload)
           (when (buffer-live-p buffer)
             (with-current-buffer buffer
               (when (eq reading passepartout-skills--reading)
                 (passepartout-skills--read-on reading payload)))))))
      (set-buffer-modified-p nil)))))

(defun passepartout-skills--show (skill waits &optional tries)
  "Show SKILL, a plist, whole; WAITS non-nil offers to use it so.
It is drawn slice by slice, as it comes.  TRIES says how often it was
begun already."
  (let ((place (passepartout-arrive-place)))
    (passepartout-skills--ask
     :skill-show (append (passepartout-skills--meant skill) (list :from 0))
     (lambda (payload)
       (let ((buffer (passepartout-view-buffer passepartout-skills--shown-name
                                               'passepartout-view-mode))
             (reading (list :skill skill :waits waits :tries (or tries 0)
                            :shown (plist-get payload :shown))))
         (with-current-buffer buffer
           (setq passepartout-skills--shown nil
                 passepartout-skills--reading reading
                 passepartout-view--refresh
                 (lambda () (passepartout-skills--show skill waits)))
           (passepartout-view-draw
             (insert (propertize (concat (passepartout-view-line
                                          (plist-get skill :name) 64)
                                         "\n")
                                 'face 'passepartout-title)
                     "It is being read.\n\n"))
           (passepartout-skills--read-on reading payload))
         ;; Begun anew, it stands where it was shown already.
         (unless tries
           (passepartout-arrive-at-buffer place buffer)))))))

(defun passepartout-skills-use ()
  "Make a flight plan of using the skill that this buffer shows."
  (interactive)
  (unless passepartout-skills--shown
    (user-error "This buffer shows no skill whole"))
  (passepartout-skills--decide
   :skill-confirm
   (append (passepartout-skills--meant (nth 0 passepartout-skills--shown))
           (list :shown (nth 1 passepartout-skills--shown)))))

(defun passepartout-skills-show ()
  "Show the skill at point whole, with what it asks for."
  (interactive)
  (let ((skill (passepartout-skills--at-point)))
    (passepartout-skills--show skill
                               (equal (plist-get skill :state) "waiting"))))

(defun passepartout-skills-confirm ()
  "Show the skill at point whole, and offer to use it so."
  (interactive)
  (unless (equal (plist-get (passepartout-skills--at-point) :state) "waiting")
    (user-error "This skill does not wait for you"))
  (passepartout-skills-show))

;;;; Writing and testing

;;;###autoload
(defun passepartout-new-skill (name kind)
  "Begin a new skill NAME of KIND in a file of your own skills.
What is inserted loads, and its examples and tests hold; write over it
and save.  Nothing is in use before you have saved it."
  (interactive
   (list (read-string "Name of the skill (such as weekly-review): ")
         (let ((completion-extra-properties
                (list :annotation-function
                      (lambda (kind)
                        (concat "  " (cdr (assoc kind
                                                 passepartout-skills--kinds)))))))
           (completing-read "Kind: " passepartout-skills--kinds nil t
                            nil nil "prompt"))))
  (let ((place (passepartout-arrive-place)))
    (passepartout-skills--ask
     :skill-template (list :skill name :kind kind)
     (lambda (payload)
       (passepartout-arrive
        place (format "The beginning of a skill %s has come"
                      (passepartout-view-line name 64))
        #'passepartout-skills--begin name payload)))))

(defun passepartout-skills--begin (name payload)
  "Begin the skill NAME in a file, with what PAYLOAD says."
  (let* ((file (plist-get payload :file))
         (far (passepartout-abroad-far (passepartout-view-line file))))
    (cond
     (far (message "Passepartout: %s" far))
     ((or (file-exists-p file) (get-file-buffer file))
      (message "Passepartout: there is a skill %s already"
               (passepartout-view-line name 64)))
     (t
      (make-directory (file-name-directory file) t)
      (find-file-other-window file)
      (insert (plist-get payload :text))
      (goto-char (point-min))
      (message "Save it with %s; test it with M-x passepartout-skill-test"
               (substitute-command-keys "\\[save-buffer]"))))))

(defun passepartout-skills--own-name ()
  "Return the name of the skill of this buffer or at point, or nil."
  (or (and (derived-mode-p 'passepartout-skills-mode)
           (plist-get (passepartout-list-data) :name))
      (and buffer-file-name
           (if (equal (file-name-nondirectory buffer-file-name) "SKILL.md")
               (file-name-nondirectory
                (directory-file-name (file-name-directory buffer-file-name)))
             (and (equal (file-name-extension buffer-file-name) "org")
                  (file-name-base buffer-file-name))))))

(defun passepartout-skills--find (name payload)
  "Return the skill NAME for this buffer, and save the buffer if it is its own.
PAYLOAD is the list of skills.  Of several with that name the one counts
whose file this buffer visits; else the core says which there are."
  (let* ((file (and buffer-file-name
                    (not (file-remote-p buffer-file-name))
                    buffer-file-name))
         (named (seq-filter (lambda (skill)
                              (equal (plist-get skill :name) name))
                            (plist-get payload :skills)))
         (here (and file
                    (seq-find (lambda (skill)
                                (and (plist-get skill :file)
                                     (file-equal-p (plist-get skill :file)
                                                   file)))
                              named)))
         (folder (plist-get payload :folder))
         (own (and file folder
                   (equal name (passepartout-skills--own-name))
                   (equal (file-truename (file-name-directory file))
                          (file-truename (file-name-as-directory folder))))))
    (when (and own (buffer-modified-p))
      (save-buffer))
    (cond (here here)
          (own (list :name name :file file :own t))
          ((cdr named) (list :name name))
          (named (car named))
          (t (list :name name)))))

;;;###autoload
(defun passepartout-skill-test (name)
  "Test the skill NAME as its file stands: its examples, and its ERT tests.
The tests run in a confined Emacs of their own; what is loaded stays as
it is.  A buffer that visits this file of your own skills is saved
first."
  (interactive
   (let ((own (passepartout-skills--own-name)))
     (list (read-string (format-prompt "Skill" own) nil nil own))))
  (let ((buffer (current-buffer))
        (place (passepartout-arrive-place)))
    (passepartout-skills--ask
     :skills nil
     (lambda (payload)
       ;; Saving may ask something.
       (passepartout-arrive-soon
        (lambda ()
          (with-current-buffer (if (buffer-live-p buffer)
                                   buffer
                                 (current-buffer))
            (passepartout-skills--test
             (passepartout-skills--find name payload) place))))))))

(defun passepartout-skills--test (skill &optional place)
  "Test SKILL, a plist, for who asked at PLACE, or is here now."
  (let ((place (or place (passepartout-arrive-place))))
    (passepartout-skills--ask
     :skill-test (passepartout-skills--meant skill)
     (lambda (payload) (passepartout-skills--tested skill payload place)))))

(defun passepartout-skills-test ()
  "Test the skill at point."
  (interactive)
  (passepartout-skills--test (passepartout-skills--at-point)))

(defun passepartout-skills--place (skill line label)
  "Insert LABEL as a button that goes to LINE of the file of SKILL, a plist.
Where the file or the line is not known it is plain text."
  (if (not (and (plist-get skill :file) line))
      (insert label)
    (passepartout-view-button
     label
     (lambda ()
       (passepartout-skills--visit skill)
       (goto-char (point-min))
       (forward-line (1- line)))
     "Go there")))

(defun passepartout-skills--tested (skill payload place)
  "Show what testing SKILL, a plist, came to, which PAYLOAD says.
It was asked at PLACE."
  (let ((buffer (passepartout-view-buffer passepartout-skills--tested-name
                                          'passepartout-view-mode))
        (skill (append (list :file (or (plist-get payload :file)
                                       (plist-get skill :file)))
                       skill)))
    (with-current-buffer buffer
      (setq passepartout-view--refresh
            (lambda () (passepartout-skills--test skill)))
      (passepartout-view-draw
        (insert (propertize (concat (passepartout-view-line
                                     (plist-get skill :name) 64) "\n")
                            'face 'passepartout-title)
                (passepartout-view-line (plist-get payload :text) 300) "\n\n")
        (when (plist-get payload :wrong)
          (passepartout-skills--place
           skill (plist-get payload :line)
           (passepartout-view-line (plist-get payload :wrong) 1000))
          (insert "\n"))
        (dolist (remark (plist-get payload :remarks))
          (insert (passepartout-view-line remark 1000) "\n"))
        (dolist (test (plist-get payload :tests))
          (let ((ended (plist-get test :ended)))
            (insert (propertize (format "%-7s " ended)
                                'face (if (equal ended "failed")
                                          'passepartout-bad
                                        'passepartout-good)))
            (passepartout-skills--place
             skill (plist-get test :line)
             (passepartout-view-line (plist-get test :name) 100))
            (insert "\n")
            (unless (string-empty-p (or (plist-get test :why) ""))
              (insert (passepartout-view-fixed (plist-get test :why))))))))
    (passepartout-arrive-at-buffer place buffer)))

(provide 'passepartout-skills)
;;; passepartout-skills.el ends here
