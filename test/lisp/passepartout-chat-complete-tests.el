;;; passepartout-chat-complete-tests.el --- Tests of completion in a chat  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; What is offered behind an @ and a slash, without waiting for the core.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-chat-add)

(defconst passepartout-chat-complete-tests--hits
  '((:id "tiles" :file "/n/home.org" :title "Tiles of the bath"
     :path ("Home") :link "[[id:tiles][Tiles of the bath]]")
    (:id "/n/home.org::*Home/Tiles" :file "/n/home.org" :title "Tiles")
    (:id "/n/a.org::*[x]" :file "/n/a.org" :title "Tiles [x]"))
  "What the core finds.")

(defun passepartout-chat-complete-tests--all (capf string)
  "Return what CAPF, as a function of `completion-at-point', offers for STRING."
  (let ((all (completion-all-completions
              string (nth 2 capf) nil (length string)
              (completion-metadata string (nth 2 capf) nil))))
    (when all (setcdr (last all) nil))
    (mapcar #'substring-no-properties all)))

(defmacro passepartout-chat-complete-tests--with (text &rest body)
  "Run BODY in a new chat of a project, with TEXT before point."
  (declare (indent 1) (debug t))
  `(let ((folder (file-name-as-directory (make-temp-file "project" t)))
         (passepartout-chat--complete-files nil)
         (passepartout-chat--complete-found nil)
         (passepartout-chat--complete-wanted nil))
     (unwind-protect
         (passepartout-fake-with
           (make-directory (expand-file-name "src" folder))
           (dolist (name '("src/tiles.rs" "b c.txt" "README"))
             (write-region name nil (expand-file-name name folder) nil 'quiet))
           (let ((passepartout-project folder))
             (passepartout-chat t)
             (insert ,text)
             (passepartout-chat-complete-tests--list folder)
             ,@body))
       (delete-directory folder t))))

(defun passepartout-chat-complete-tests--list (folder)
  "Have the files of FOLDER, a repository, listed, and wait for it."
  (unless (eql 0 (call-process "git" nil nil nil "init" "-q" folder))
    (ert-skip "git cannot be used here"))
  (passepartout-chat--complete-project-files)
  (let ((until (+ (float-time) 60)))
    (while (and (null (cddr passepartout-chat--complete-files))
                (< (float-time) until))
      (accept-process-output nil 0.01)))
  (should (cddr passepartout-chat--complete-files)))

(ert-deftest passepartout-chat-complete-nobody-waits-for-the-files ()
  (passepartout-chat-complete-tests--with "See @til"
    (write-region "" nil (expand-file-name "tilde" folder) nil 'quiet)
    ;; What is known is offered, while it is listed anew.
    (setcar (cdr passepartout-chat--complete-files) 0)
    (should-not (member "tilde" (passepartout-chat--complete-project-files)))
    ;; It may have ended by now, but nothing of it is taken within the call.
    (should (processp passepartout-chat--complete-listing))
    (let ((until (+ (float-time) 60)))
      (while (and (not (member "tilde"
                               (passepartout-chat--complete-project-files)))
                  (< (float-time) until))
        (accept-process-output nil 0.01)))
    (should (member "tilde" (passepartout-chat--complete-project-files)))
    (should-not (get-buffer " *passepartout files*"))
    ;; Of more than can be shown a part is known.
    (let ((passepartout-chat--complete-known 2)
          (until (+ (float-time) 60)))
      (setcdr passepartout-chat--complete-files (list 0))
      (while (and (null (cddr passepartout-chat--complete-files))
                  (< (float-time) until))
        (passepartout-chat--complete-project-files)
        (accept-process-output nil 0.01))
      (should (= 2 (length (cddr passepartout-chat--complete-files)))))
    ;; Without git there are those right in the folder.
    (delete-directory (expand-file-name ".git" folder) t)
    (setcdr passepartout-chat--complete-files (list 0))
    (should (equal (sort (copy-sequence
                          (passepartout-chat--complete-project-files))
                         #'string<)
                   '("README" "b c.txt" "tilde")))))

(ert-deftest passepartout-chat-complete-commands-stand-at-the-beginning-alone ()
  (dolist (case '(("/pre" ("preset")) ("/pl" ("plans")) ("/" nil)
                  ("is /pre" none) ("/preset wa" none) ("a\n/pre" none)))
    (passepartout-chat-complete-tests--with (car case)
      (let ((capf (passepartout-chat-complete)))
        (if (eq (cadr case) 'none)
            (should-not capf)
          (should (eq (plist-get (nthcdr 3 capf) :exclusive) 'no))
          (let ((all (all-completions
                      (buffer-substring-no-properties (car capf) (nth 1 capf))
                      (nth 2 capf))))
            (should (equal all (or (cadr case)
                                   (mapcar #'car passepartout-chat--commands))))
            (dolist (name all)
              (should (string-match-p
                       "\\`  [a-z]"
                       (funcall (plist-get (nthcdr 3 capf) :annotation-function)
                                name)))))))))
  (passepartout-chat-complete-tests--with "/pre"
    (completion-at-point)
    (should (equal (buffer-substring (line-beginning-position) (point))
                   "* /preset "))))

(ert-deftest passepartout-chat-complete-knows-the-commands-of-the-core ()
  (let* ((root (expand-file-name "../.." (file-name-directory
                                          (locate-library "passepartout-fake"))))
         (names nil))
    (with-temp-buffer
      (insert-file-contents (expand-file-name "src/edge/engine/commands.rs" root))
      (re-search-forward "^const HELP")
      (let ((end (save-excursion (search-forward "\";") (point))))
        (while (re-search-forward "\\_<or /\\([a-z]+\\)\\|^- /\\([a-z]+\\)\\|[,;] /\\([a-z]+\\)"
                                  end t)
          (push (or (match-string 1) (match-string 2) (match-string 3)) names))))
    (should (> (length names) 15))
    (should-not (seq-difference names (mapcar #'car passepartout-chat--commands)))))

(ert-deftest passepartout-chat-complete-files-of-the-project ()
  (dolist (case '(("See @til" ("@src/tiles.rs")) ("See (@read" ("@README"))
                  ("@b" ("@\"b c.txt\"")) ("a@til" none) ("@tiles.rs x" none)
                  ("@[[id:x][til" none)))
    (passepartout-chat-complete-tests--with (car case)
      (let ((capf (passepartout-chat-complete)))
        (if (eq (cadr case) 'none)
            (should-not capf)
          (should (equal (passepartout-chat-complete-tests--all
                          capf (buffer-substring-no-properties
                                (car capf) (nth 1 capf)))
                         (cadr case)))))))
  ;; Only in a question that is being written.
  (passepartout-chat-complete-tests--with "See @til"
    (passepartout-chat-send)
    (should-not (passepartout-chat-complete))))

(ert-deftest passepartout-chat-complete-headings-come-when-the-core-has-found-them ()
  (passepartout-chat-complete-tests--with "Are the @tiles"
    (let ((capf (passepartout-chat-complete)))
      ;; The first time there are files; the core is asked, and nobody waits.
      (should (equal (passepartout-chat-complete-tests--all capf "@tiles")
                     '("@src/tiles.rs")))
      (let ((asked (car (passepartout-fake-sent :query))))
        (should (equal (plist-get asked :query) "tiles"))
        (should (eq (plist-get asked :for) :screen)))
      (passepartout-fake-answer
       :query (list :hits passepartout-chat-complete-tests--hits))
      (should (equal (passepartout-chat-complete-tests--all capf "@tiles")
                     '("@Tiles of the bath" "@Tiles" "@src/tiles.rs")))
      ;; It was asked once.
      (should (= 1 (length (passepartout-fake-sent :query))))
      (should (equal (funcall (plist-get (nthcdr 3 capf) :annotation-function)
                              "@Tiles of the bath")
                     "  home.org › Home"))
      ;; The one that is chosen becomes a link to its id.
      (delete-region (car capf) (point))
      (insert "@Tiles of the bath")
      (funcall (plist-get (nthcdr 3 capf) :exit-function)
               "@Tiles of the bath" 'finished)
      (insert "blue?")
      (passepartout-chat-send)
      (let ((payload (car (passepartout-fake-sent :user-input))))
        (should (equal (plist-get payload :text)
                       "Are the @[[id:tiles][Tiles of the bath]] blue?"))
        (should-not (plist-get payload :attached))))))

(ert-deftest passepartout-chat-complete-an-old-answer-is-not-taken-for-a-new-one ()
  (passepartout-chat-complete-tests--with "@ti"
    (passepartout-chat--complete-look (current-buffer))
    (let ((first (plist-get (car (passepartout-fake-sent :query)) :request)))
      (insert "les")
      (passepartout-chat--complete-look (current-buffer))
      (should (equal (mapcar (lambda (asked) (plist-get asked :query))
                             (passepartout-fake-sent :query))
                     '("ti" "tiles")))
      (passepartout-fake-inject
       :response `(:action :query :request ,first
                   :hits ((:id "no" :file "/n/a.org" :title "Timber"))))
      (should (equal (passepartout-chat-complete-tests--all
                      (passepartout-chat-complete) "@tiles")
                     '("@src/tiles.rs"))))))

(ert-deftest passepartout-chat-complete-takes-nothing-that-does-not-fit ()
  (passepartout-chat-complete-tests--with "@d"
    (passepartout-chat--complete-look (current-buffer))
    (passepartout-fake-answer
     :query '(:hits ((:id "diary" :file "/n/a.org" :title "Diary of a Boat"))))
    ;; It was found for less than what stands here now.
    (insert "entist")
    (completion-at-point)
    (should (equal (buffer-substring (line-beginning-position) (point))
                   "* @dentist"))
    ;; What could not be asked is asked again.
    (passepartout-fake-answer :query '(:error "not now"))
    (passepartout-chat--complete-look (current-buffer))
    (should (equal (mapcar (lambda (asked) (plist-get asked :query))
                           (passepartout-fake-sent :query))
                   '("d" "dentist" "dentist")))))

(ert-deftest passepartout-chat-complete-the-only-heading-becomes-a-link ()
  (passepartout-chat-complete-tests--with "@boat"
    (passepartout-chat--complete-look (current-buffer))
    (passepartout-fake-answer
     :query '(:hits ((:id "diary" :file "/n/a.org" :title "Diary of a Boat"))))
    (completion-at-point)
    (should (equal (buffer-substring (line-beginning-position) (point))
                   "* @[[id:diary][Diary of a Boat]] "))
    (should (= 1 (length (passepartout-fake-sent :query))))))

(ert-deftest passepartout-chat-complete-is-on-in-a-chat-alone ()
  (passepartout-chat-complete-tests--with "@til"
    (should (memq #'passepartout-chat-complete completion-at-point-functions))
    (completion-at-point)
    (should (equal (buffer-substring (line-beginning-position) (point))
                   "* @src/tiles.rs"))
    (passepartout-chat-mode -1)
    (should-not (memq #'passepartout-chat-complete
                      completion-at-point-functions))))

(provide 'passepartout-chat-complete-tests)
;;; passepartout-chat-complete-tests.el ends here
