;;; passepartout-query-tests.el --- Finding headings  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; The buffer of results, the finder and the dynamic block, with a core
;; of paper, and each once with the real one.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-real)
(require 'passepartout-query)
(require 'passepartout-find)
(require 'passepartout-query-block)
(require 'bookmark)
(require 'imenu)

(defconst passepartout-query-tests--hit
  '(:id "tiles" :file "/nowhere/home.org" :line 4 :byte 20 :level 2
    :title "Order [[id:ada][the tiles]]" :path ("Kitchen") :keyword "TODO"
    :priority "A" :tags ("house" "errand") :deadline "<2026-11-25 Wed>"
    :snippet "The white ones" :marks ((4 9))
    :link "[[id:tiles][Order the tiles]]")
  "A heading as the core sends it.")

(defconst passepartout-query-tests--evil
  '(:id "evil" :file "/nowhere/evil.org" :line 1 :byte 0 :level 1
    :title "x\n* | [[elisp:(evil)][y]] <2026-11-25 Wed> \u202e"
    :path ("<2026-11-25 Wed>" "{{{m}}}") :tags ("a|b")
    :deadline "<2026-11-25 Wed +1d>"
    :snippet "#+begin_src elisp\u202e" :marks ((0 4000))
    :link "[[id:evil][x]]")
  "A heading whose text would like to be more than text.")

(defun passepartout-query-tests--answer (&rest hits)
  "Return the payload of an answer with HITS."
  `(:query "q" :total ,(length hits) :hits ,hits))

;;;; The buffer of results

(ert-deftest passepartout-query-shows-what-fits ()
  (passepartout-fake-with
    (passepartout-query "tag:errand 100%")
    (should (equal (plist-get (car (passepartout-fake-sent :query)) :query)
                   "tag:errand 100%"))
    (should (string-search "asking" header-line-format))
    (passepartout-fake-answer
     :query (passepartout-query-tests--answer passepartout-query-tests--hit))
    (should (equal (buffer-substring-no-properties (point-min) (point-max))
                   "TODO [#A] Order the tiles  :house:errand:\n\
  home.org › Kitchen  deadline <2026-11-25 Wed>\n  The white ones\n"))
    (goto-char (point-min))
    (search-forward "white")
    (should (eq (get-text-property (1- (point)) 'face)
                'passepartout-query-mark))
    (should (string-search "1 heading" header-line-format))
    (goto-char (point-min))
    (passepartout-query-copy)
    (should (equal (current-kill 0) "[[id:tiles][Order the tiles]]"))
    (should (equal (mapcar #'car (passepartout-list--imenu))
                   '("Order the tiles")))))

(ert-deftest passepartout-query-moves-and-asks-again ()
  (passepartout-fake-with
    (passepartout-query "q")
    (passepartout-fake-answer
     :query (passepartout-query-tests--answer
             passepartout-query-tests--hit passepartout-query-tests--evil))
    (goto-char (point-min))
    (passepartout-list-next)
    (should (equal (plist-get (passepartout-query--at-point) :id) "evil"))
    (passepartout-list-previous)
    (should (equal (plist-get (passepartout-query--at-point) :id) "tiles"))
    (passepartout-query-sort "deadline")
    (passepartout-query-sort "-title")
    (should (equal (buffer-name) "*Passepartout query: q sort:-title*"))
    (passepartout-query-more)
    (should (equal (mapcar (lambda (payload)
                             (list (plist-get payload :query)
                                   (plist-get payload :limit)))
                           (passepartout-fake-sent :query))
                   '(("q" 50) ("q sort:deadline" 50) ("q sort:-title" 50)
                     ("q sort:-title" 100))))
    ;; An answer to an older question changes nothing.
    (passepartout-fake-inject
     :response `(:action :query
                 :request ,(plist-get (car (passepartout-fake-sent :query))
                                      :request)
                 :total 0))
    (should (string-search "Order" (buffer-string)))))

(ert-deftest passepartout-query-says-what-to-do-when-nothing-fits ()
  (passepartout-fake-with
    (passepartout-query "tag:erand")
    (passepartout-fake-answer
     :query '(:query "tag:erand" :total 0
              :notes ("no heading has the tag erand; did you mean errand?")))
    (should (string-search "Nothing fits" (buffer-string)))
    (should (string-search "did you mean errand?" (buffer-string)))
    (should (string-match-p "Press e to change" (buffer-string)))
    (revert-buffer)
    (passepartout-fake-answer
     :query '(:error "column 1: there is no “tga:”; did you mean tag:x?"
              :column 1 :width 3))
    (should (string-search "cannot be read" (buffer-string)))
    (should (string-search "column 1" (buffer-string)))))

(ert-deftest passepartout-query-foreign-text-stays-text ()
  (passepartout-fake-with
    (passepartout-query "q")
    (passepartout-fake-answer
     :query (passepartout-query-tests--answer passepartout-query-tests--evil))
    (should-not (string-match-p "\u202e" (buffer-string)))
    (should-not (string-match-p "^\\*" (buffer-string)))
    (should (= 3 (count-lines (point-min) (point-max))))))

(ert-deftest passepartout-query-is-bookmarked ()
  (passepartout-fake-with
    (passepartout-query "tag:work")
    (passepartout-fake-answer
     :query (passepartout-query-tests--answer passepartout-query-tests--hit))
    (setq passepartout-query--limit 7)
    (let ((bookmark (funcall bookmark-make-record-function)))
      (kill-buffer)
      (bookmark-handle-bookmark bookmark)
      (should (equal passepartout-query--query "tag:work"))
      (should (equal passepartout-query--limit 7))
      (should (equal 7 (plist-get (car (last (passepartout-fake-sent :query)))
                                  :limit))))))

(ert-deftest passepartout-query-is-saved-as-org ()
  (passepartout-fake-with
    (let ((file (make-temp-file "passepartout-query" nil ".org")))
      (unwind-protect
          (progn
            (passepartout-query "tag:work \"a b\"")
            (passepartout-fake-answer
             :query (passepartout-query-tests--answer
                     passepartout-query-tests--hit))
            (delete-file file)
            (passepartout-query-save file)
            (with-temp-buffer
              (insert-file-contents file)
              (should (string-search "#+BEGIN: passepartout-query :query \
\"tag:work \\\"a b\\\"\" :limit 50\n" (buffer-string)))
              (should (string-search "| TODO | [[id:tiles][Order the tiles]] |"
                                     (buffer-string)))))
        (delete-file file)))))

;;;; Going there

(ert-deftest passepartout-query-goes-to-the-heading ()
  (let ((check
         (lambda (text expected)
           (with-temp-buffer
             (insert text)
             (let ((place (passepartout-query--position
                           '(:id "tiles" :line 2 :byte 6 :level 1
                             :title "Order tiles"))))
               (should (equal (and place (line-number-at-pos place))
                              expected)))))))
    (funcall check "* One\n* TODO Order tiles :x:\n" 2)
    ;; It has moved: by its id, or by its title.
    (funcall check "* One\n* Two\n\n* Buy tiles\n:PROPERTIES:\n:ID: tiles\n:END:\n" 4)
    (funcall check "* One\n* Two\n* Order tiles\n" 3)
    (funcall check "* One\n* Two\n" nil)))

;;;; The finder

(ert-deftest passepartout-find-completes-with-what-was-found ()
  (passepartout-fake-with
    (with-temp-buffer
      (setq passepartout-find--candidates nil)
      (passepartout-find--ask "til")
      (should (plist-get (car (passepartout-fake-sent :query)) :typing))
      (passepartout-fake-answer
       :query (passepartout-query-tests--answer
               passepartout-query-tests--hit passepartout-query-tests--hit))
      (should (equal (all-completions "til" #'passepartout-find--table)
                     '("Order the tiles" "Order the tiles <2>")))
      (should (equal (completion-metadata-get
                      (completion-metadata "til" #'passepartout-find--table nil)
                      'category)
                     'passepartout-heading))
      ;; The style shows them all, whatever was typed.
      (let ((all (completion-all-completions
                  "tag:errand" #'passepartout-find--table nil 10
                  (completion-metadata "" #'passepartout-find--table nil))))
        (when (cdr (last all)) (setcdr (last all) nil))
        (should (= 2 (length all))))
      (let ((row (car (passepartout-find--affix '("Order the tiles")))))
        (should (string-search "TODO" (nth 1 row)))
        (should (string-search "home.org › Kitchen" (nth 2 row))))
      ;; What is half typed keeps what was found.
      (passepartout-find--ask "tag:")
      (passepartout-fake-answer :query '(:error "column 1: nothing" :column 1))
      (should (= 2 (length passepartout-find--candidates)))
      ;; An answer that comes late is dropped.
      (passepartout-find--ask "a")
      (let ((old (car (last (passepartout-fake-sent :query)))))
        (passepartout-find--ask "ab")
        (passepartout-fake-inject
         :response `(:action :query :request ,(plist-get old :request)
                     :total 0))
        (should (= 2 (length passepartout-find--candidates)))))))

(ert-deftest passepartout-find-asks-again-when-more-was-read ()
  (passepartout-fake-with
    (with-temp-buffer
      (insert "til")
      (let ((passepartout-find--minibuffer (current-buffer))
            (passepartout-find--headings nil)
            (passepartout-find--answered nil)
            (passepartout-find--wanted nil)
            (passepartout-find--candidates nil))
        (cl-letf (((symbol-function 'minibuffer-contents-no-properties)
                   (lambda () (buffer-string))))
          (passepartout-find--ask "til")
          (pcase-dolist
              (`(,hits ,status ,asked)
               `((() (:state "idle" :headings 0 :files 0) 2)
                 (() (:state "idle" :headings 0 :files 0) 2)
                 (() (:state "reading" :reading (1 3) :headings 1 :files 1) 3)
                 ;; What was found stays until all was read.
                 ((,passepartout-query-tests--hit)
                  (:state "reading" :reading (2 3) :headings 2 :files 2) 3)
                 (() (:state "idle" :headings 3 :files 3) 4)))
            (when (gethash (plist-get (car (last (passepartout-fake-sent :query)))
                                      :request)
                           passepartout-events--requests)
              (passepartout-fake-answer
               :query (apply #'passepartout-query-tests--answer hits)))
            (passepartout-fake-inject :status status)
            (should (equal (cons status (length (passepartout-fake-sent :query)))
                           (cons status asked)))))))))

;;;; The dynamic block

(defmacro passepartout-query-tests--in-block (line &rest body)
  "Run BODY in an Org buffer with a block that LINE begins."
  (declare (indent 1))
  `(with-temp-buffer
     (let ((org-inhibit-startup t)) (org-mode))
     (insert "* Note\n" ,line "\nold\n#+END:\nbehind\n")
     (goto-char (point-min))
     (forward-line 1)
     ,@body))

(ert-deftest passepartout-query-block-is-filled-when-the-answer-comes ()
  (passepartout-fake-with
    (passepartout-query-tests--in-block
        "#+BEGIN: passepartout-query :query \"tag:work\" :limit 3"
      (org-update-dblock)
      (should (equal (seq-take (cddr (cddr (car (passepartout-fake-sent :query)))) 4)
                     '(:query "tag:work" :limit 3)))
      (should (eq :note (plist-get (car (passepartout-fake-sent :query)) :for)))
      ;; Until then what stood there stays.
      (should (string-search "\nold\n#+END:" (buffer-string)))
      (passepartout-fake-answer
       :query (passepartout-query-tests--answer passepartout-query-tests--hit))
      (should (equal (buffer-substring-no-properties (point-min) (point-max))
                     "* Note\n\
#+BEGIN: passepartout-query :query \"tag:work\" :limit 3
| Todo | Heading         | Deadline       | Tags         |
|------+-----------------+----------------+--------------|
| TODO | [[id:tiles][Order the tiles]] | 2026-11-25 Wed | house errand |
#+END:\nbehind\n"))
      ;; The same answer again is no change.
      (set-buffer-modified-p nil)
      (org-update-dblock)
      (passepartout-fake-answer
       :query (passepartout-query-tests--answer passepartout-query-tests--hit))
      (should (= 1 (how-many "Order the tiles" (point-min)))))))

(ert-deftest passepartout-query-block-has-private-headings-in-private-notes-only ()
  (dolist (case '(("* Note\n" "" :note)
                  ("* Other :private:\n* Note\n" "" :note)
                  ("* Note\n" "* Below :private:\n" :note)
                  ("* Note :private:\n" "" :private-note)
                  ("* Up\n:PROPERTIES:\n:PRIVACY: private\n:END:\n** Note\n" ""
                   :private-note)
                  ("#+FILETAGS: :private:\n* Note\n" "" :private-note)))
    (passepartout-fake-with
      (with-temp-buffer
        (let ((org-inhibit-startup t)) (org-mode))
        (insert (car case))
        (save-excursion
          (insert "#+BEGIN: passepartout-query :query \"x\"\n#+END:\n" (nth 1 case)))
        (org-update-dblock)
        (should (equal (nth 2 case)
                       (plist-get (car (passepartout-fake-sent :query)) :for)))
        ;; Whatever the core says.
        (passepartout-fake-answer
         :query (passepartout-query-tests--answer
                 `(:private t ,@passepartout-query-tests--hit)))
        (should (eq (eq (nth 2 case) :private-note)
                    (and (string-search "tiles" (buffer-string)) t)))))))

(ert-deftest passepartout-query-block-is-asked-again-when-its-note-was-opened ()
  (passepartout-fake-with
    (with-temp-buffer
      (let ((org-inhibit-startup t)) (org-mode))
      (insert "* Note :private:\n")
      (save-excursion
        (insert "#+BEGIN: passepartout-query :query \"x\" :limit 1\n#+END:\n"))
      (org-update-dblock)
      (save-excursion
        (goto-char (point-min))
        (delete-region (search-forward "* Note") (line-end-position)))
      (passepartout-fake-answer
       :query `(:total 5 ,@(passepartout-query-tests--answer
                            `(:private t ,@passepartout-query-tests--hit))))
      ;; Its numbers tell of private headings.
      (should-not (string-match-p "of 5\\|tiles" (buffer-string)))
      (should (equal '(:private-note :note)
                     (sort (mapcar (lambda (sent) (plist-get sent :for))
                                   (passepartout-fake-sent :query))
                           (lambda (a _) (eq a :private-note))))))))

(ert-deftest passepartout-query-saves-private-headings-only-in-private-files ()
  (dolist (yes '(nil t))
    (passepartout-fake-with
      (let ((file (make-temp-file "passepartout-query" nil ".org")))
        (unwind-protect
            (cl-letf (((symbol-function 'y-or-n-p) (lambda (&rest _) yes)))
              (passepartout-query "tag:work")
              (should (eq :screen (plist-get (car (passepartout-fake-sent :query))
                                             :for)))
              (passepartout-fake-answer
               :query (passepartout-query-tests--answer
                       `(:private t ,@passepartout-query-tests--hit)))
              (delete-file file)
              (passepartout-query-save file)
              (with-temp-buffer
                (insert-file-contents file)
                (should (eq yes (and (string-search "Order the tiles"
                                                    (buffer-string))
                                     t)))
                (should (eq yes (and (string-search "\n#+PROPERTY: PRIVACY private\n"
                                                    (buffer-string))
                                     t)))))
          (delete-file file))))))

(ert-deftest passepartout-query-block-text-stays-text ()
  (let ((text (passepartout-query-block-text
               (list passepartout-query-tests--evil)
               '(title path tags deadline snippet))))
    (should (= 3 (length (split-string text "\n" t))))
    (dolist (line (split-string text "\n" t))
      (should (string-prefix-p "|" line)))
    (should-not (string-match-p "[<>{}\u202e]\\|elisp:" text))))

(ert-deftest passepartout-query-block-that-changed-meanwhile-is-left-alone ()
  (passepartout-fake-with
    (passepartout-query-tests--in-block
        "#+BEGIN: passepartout-query :query \"tag:work\""
      (org-update-dblock)
      (goto-char (point-min))
      (search-forward "work")
      (insert "shop")
      (passepartout-fake-answer
       :query (passepartout-query-tests--answer passepartout-query-tests--hit))
      (should-not (string-search "tiles" (buffer-string))))))

(ert-deftest passepartout-query-block-says-what-is-wrong ()
  (passepartout-fake-with
    (passepartout-query-tests--in-block
        "#+BEGIN: passepartout-query :query \"tga:x\""
      (org-update-dblock)
      (passepartout-fake-answer :query '(:error "column 1: there is no “tga:”"))
      (should (string-match-p "^: This query cannot be read\\. column 1"
                              (buffer-string))))
    (passepartout-query-tests--in-block
        "#+BEGIN: passepartout-query :query \"x\" :columns \"todo nonsense\""
      (let ((before (buffer-string)))
        (should-error (org-update-dblock))
        (should (equal (buffer-string) before))))))

(ert-deftest passepartout-query-block-says-what-is-not-in-it ()
  (pcase-dolist (`(,note ,more ,in-note ,said)
                 '(("* Note\n" (:total 0 :hits nil)
                    "\nNothing fits at present that may stand in an open note.\n" nil)
                   ("* Note :private:\n" (:total 0 :hits nil)
                    "\nNothing fits at present.\n" nil)
                   ("* Note\n" (:total 0 :hits nil :held-back t)
                    "\nNothing fits at present that may stand in an open note.\n" t)
                   ("* Note\n" (:total 57)
                    "\n: Note: 1 of 57; a greater limit shows more.\n" nil)
                   ("* Note\n" (:total 57 :at-least t :held-back t)
                    "\n: Note: 1 of at least 57; a greater limit shows more.\n" t)))
    (passepartout-fake-with
      (with-temp-buffer
        (let ((org-inhibit-startup t) (told nil))
          (org-mode)
          (insert note)
          (save-excursion
            (insert "#+BEGIN: passepartout-query :query \"x\" :limit 1\n#+END:\n"))
          (org-update-dblock)
          (cl-letf (((symbol-function 'message)
                     (lambda (text &rest _) (push text told))))
            (passepartout-fake-answer
             :query (append more (passepartout-query-tests--answer
                                  passepartout-query-tests--hit))))
          (should (string-search in-note (buffer-string)))
          (should (eq said (and (seq-some (lambda (text) (string-search "Private" text))
                                          (delq nil told))
                                t))))))))

(ert-deftest passepartout-query-block-stays-when-the-core-cannot-be-asked ()
  (passepartout-fake-with
    (cl-letf (((symbol-function 'passepartout-request)
               (lambda (&rest _) (error "There is no core"))))
      (dolist (content '("" "old\n" "| a |\n\n: b\n"))
        (with-temp-buffer
          (let ((org-inhibit-startup t)) (org-mode))
          (insert "#+BEGIN: passepartout-query :query \"x\"\n" content
                  "#+END:\nbehind\n")
          (let ((before (buffer-string)))
            (goto-char (point-min))
            (should-error (org-update-dblock))
            (should (equal (buffer-string) before))))))))

(ert-deftest passepartout-query-save-offers-a-name-that-typing-replaces ()
  (let ((folder (file-name-as-directory
                 (file-truename (make-temp-file "passepartout-query" t)))))
    (unwind-protect
        (pcase-dolist (`(,typed ,expected)
                       '(("" "query.org") ("larch.org" "larch.org")
                         ("sub/larch.org" "sub/larch.org") ("sub/" "sub/query.org")))
          (make-directory (expand-file-name "sub" folder) t)
          (let ((found nil) (inhibit-message t))
            (switch-to-buffer (get-buffer-create "*scratch*"))
            (setq default-directory folder)
            (cl-letf (((symbol-function 'passepartout-query-save)
                       (let ((spec (cadr (interactive-form 'passepartout-query-save))))
                         (lambda (&rest _)
                           (interactive)
                           (setq found (car (eval spec t)))))))
              (execute-kbd-macro
               (vconcat [?\M-x] "passepartout-query-save" [return] typed [return])))
            (should (equal found (expand-file-name expected folder)))))
      ;; No other test begins in a folder that is gone.
      (with-current-buffer (get-buffer-create "*scratch*")
        (setq default-directory temporary-file-directory))
      (delete-directory folder t))))

;;;; With the real core

(defconst passepartout-query-tests--memex
  "* Boat\n** TODO Order timber  :errand:\nDEADLINE: <2026-11-25 Wed>\n\
:PROPERTIES:\n:ID: timber\n:END:\nLarch for the deck, from the mill.\n\
** Paint the hull\nWith the last of the larch oil.\n"
  "A small memex.")

(ert-deftest passepartout-query-real-results-and-block ()
  (passepartout-real-with
    (let ((file (passepartout-real-write "memex/work.org"
                                         passepartout-query-tests--memex)))
      (passepartout-real-start)
      (passepartout-query "larch sort:title")
      (passepartout-real-until (not passepartout-query--asked))
      (should (equal (mapcar (lambda (hit) (plist-get hit :title))
                             (plist-get passepartout-query--payload :hits))
                     '("Order timber" "Paint the hull")))
      (goto-char (point-min))
      (passepartout-query-go)
      (should (equal buffer-file-name (file-truename file)))
      (should (looking-at-p "\\*\\* TODO Order timber"))
      (with-temp-buffer
        (let ((org-inhibit-startup t)) (org-mode))
        (passepartout-query-insert-block "tag:errand")
        (passepartout-real-until
          (string-search "[[id:timber][Order timber]]" (buffer-string))))
      (passepartout-query "deadline:todya")
      (passepartout-real-until (not passepartout-query--asked))
      (should (string-search "did you mean today?" (buffer-string))))))

(ert-deftest passepartout-query-real-finder-goes-there ()
  (passepartout-real-with
    (passepartout-real-write "memex/work.org" passepartout-query-tests--memex)
    (passepartout-real-start)
    (setq passepartout-find--candidates nil)
    (passepartout-find--ask "timb")
    (passepartout-real-until passepartout-find--candidates)
    (should (equal (mapcar #'car passepartout-find--candidates)
                   '("Order timber")))
    (passepartout-find--go-first "tag:errand")
    ;; The answer comes while Emacs does something else.
    (passepartout-real-until
      (with-current-buffer (window-buffer)
        (and buffer-file-name
             (looking-at-p "\\*\\* TODO Order timber"))))))

(provide 'passepartout-query-tests)
;;; passepartout-query-tests.el ends here
