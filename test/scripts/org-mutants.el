;;; org-mutants.el --- Made-up Org files, and what Org reads in them  -*- lexical-binding: t; -*-

;;; Commentary:

;; `org-mutants-run' writes files that are made of the fixtures and of words that
;; mean something to Org; the same seed gives the same files.  `org-mutants-read'
;; writes what Org reads in them, `org-mutants-compare' compares.

;;; Code:

(load (expand-file-name "org-read" (file-name-directory (or load-file-name ".")))
      nil t)

(defconst org-mutants-words
  '("* " "** " "*** " "*" "TODO " "DONE " "NEXT " "[#A] " "[#1]" "[#é]" "COMMENT" "COMMENT "
    ":a:" ":a:b:" ":a::b:" " :x: :y:" ":é漢:" ":a-b:" "::" ":" "\t" "  " "\u00a0" "\u3000"
    "\u200b" "\u2028" "\v" "\f" "\r" "\r\n" "\n" "\n\n"
    ":PROPERTIES:\n" ":properties:\n" "  :PROPERTIES:  \n" ":END:\n" ":end:\n" ":END: x\n"
    ":ID: x\n" ":KEY+: v\n" ":KEY:\n" ":KEY:v\n" ":a b: v\n" ":+: v\n" ":ké: v\n" ":::: v\n"
    ":LOGBOOK:\n" ":drawer:\n" "  :KEY:\tv\n"
    "SCHEDULED: " "DEADLINE: " "CLOSED: " "scheduled: " "xDEADLINE:" "<2026-11-21 Sat>"
    "<2026-11-21 Sat 10:00>" "<2026-11-21>" "[2026-11-21 Sat 10:00]" "<2026-11-21 Sat +1w -2d>"
    "<2026-11-21 10:00-11:00 .+2d/4d>" "<2026-11-21 Sat>--<2026-11-22 Sun>" "<%%(f 1) 10:00>"
    "<2026-11-21]" "<2026-11-21 Sat" "--" "<>" "[]" "<%%()>"
    "#+TODO: A B | C\n" "#+TODO: X(x) Y | Z(y!/@)\n" "#+TODO: | D\n" "#+TODO: |\n"
    "#+SEQ_TODO: S1 S2\n" "#+TYP_TODO: Fred Sara | DONE\n" "#+todo: (x) | y(\n"
    "#+TODO: A\tB |\tC\n" "#+TODO:\n" "#+FILETAGS: :f:g:\n" "#+FILETAGS: f g\n"
    "#+STARTUP: odd\n" "#+TITLE: t\n" "#+PROPERTY: k v\n" "#+CATEGORY: c\n"
    "#+begin_src\n" "#+end_src\n" "#+BEGIN_SRC emacs-lisp :x y\n" "#+END_SRC\n"
    "#+begin_example\n" "#+end_example\n" "#+begin_quote\n" "#+end_quote\n"
    "#+begin_comment\n" "#+end_comment\n" "#+begin_verse\n" "#+end_verse\n" "#+begin_foo\n"
    "#+end_foo\n" "#+begin: x\n" "#+end:\n" "#+begin_\n" "#+end_\n" "\\begin{align}\n"
    "\\end{align}\n" "\\begin{a*}x\\end{a*}\n" "# comment\n" "#\n" ": fixed\n" ":\n" "- item\n"
    "- [ ] x\n" "1. one\n" "| a | b |\n" "|---|\n" "[fn:1] foot\n" "-----\n" "%%(sexp)\n"
    "CLOCK: [2026-11-21 Sat 10:00]--[2026-11-21 Sat 11:00] =>  1:00\n"
    "*************** TODO inline\n" "*************** END\n" "#+name: x\n" "#+caption: y\n"
    "#+results:\n" "[[id:x]]" "A " "B " "C " "S1 " "Fred " "x ")
  "What mutants are made of, besides the fixtures.")

(defun org-mutants-one (list)
  "Return some element of LIST."
  (nth (random (length list)) list))

(defun org-mutants-soup ()
  "Return words in any order."
  (let (words)
    (dotimes (_ (1+ (random (org-mutants-one '(6 15 40)))))
      (when (zerop (random 4)) (push (org-mutants-one '("* " "\n* " "\n** " "* TODO ")) words))
      (push (org-mutants-one org-mutants-words) words)
      (when (zerop (random 3)) (push "\n" words)))
    (apply #'concat (nreverse words))))

(defun org-mutants-change (text)
  "Return TEXT with some changes."
  (dotimes (_ (1+ (random 7)))
    (let* ((at (random (1+ (length text))))
           (end (min (length text) (+ at (org-mutants-one '(0 0 0 1 2 5 30)))))
           (bol (if (string-match "\n" text at) (match-end 0) 0))
           (word (org-mutants-one org-mutants-words)))
      (setq text
            (pcase (random 6)
              ((or 0 1) (concat (substring text 0 at) word (substring text end)))
              ((or 2 3) (concat (substring text 0 bol) (org-mutants-one '("" "" " " "* "))
                                word "\n" (substring text bol)))
              (4 (concat (substring text 0 at) (substring text end)))
              (_ (if (zerop (random 4)) (string-replace "\n" "\r\n" text)
                   (string-trim-right text "\n")))))))
  text)

(defun org-mutants-run ()
  "Write mutants as the command line says: folder, count, seed, fixtures."
  (pcase-let* ((`(,folder ,count ,seed ,fixtures) command-line-args-left)
               (coding-system-for-write 'utf-8-unix)
               (texts (mapcar (lambda (file)
                                (with-temp-buffer
                                  (let ((coding-system-for-read 'utf-8-unix))
                                    (insert-file-contents file))
                                  (buffer-string)))
                              (seq-remove (lambda (file) (string-match-p "coding\\|utf-16\\|latin\\|2022\\|nul\\|escape" file))
                                          (directory-files fixtures t "\\.org\\'")))))
    (setq command-line-args-left nil)
    (random seed)
    (dotimes (number (string-to-number count))
      (let ((text (if (zerop (random 2)) (org-mutants-soup)
                    (org-mutants-change (org-mutants-one texts)))))
        (write-region text nil (expand-file-name (format "m%05d.org" number) folder) nil 'silent)))))

(defun org-mutants-read ()
  "Write what Org reads in the files of a folder."
  (pcase-let ((`(,out ,folder) command-line-args-left))
    (setq command-line-args-left (cons out (directory-files folder t "\\.org\\'")))
    (org-read-run)))

(defconst org-mutants-fields
  '(level title todo priority tags commented properties scheduled deadline closed body_sha256
          todo_keywords filetags)
  "What is compared, as far as both have it.")

(defun org-mutants-load (file)
  "Return the rows of FILE in a table by file and line."
  (let ((rows (make-hash-table :test #'equal)))
    (with-temp-buffer
      (let ((coding-system-for-read 'utf-8-unix)) (insert-file-contents file))
      (while (not (eobp))
        (let* ((row (json-parse-buffer :object-type 'alist :array-type 'list))
               (key (list (alist-get 'file row) (alist-get 'line row) (if (eql 0 (alist-get 'level row)) 0 1))))
          (puthash key row rows))
        (forward-line)))
    rows))

(defun org-mutants-compare ()
  "Compare two dumps; the status is 1 when they differ."
  (pcase-let* ((`(,truth ,ours ,seed) command-line-args-left)
               (truth (org-mutants-load truth))
               (ours (org-mutants-load ours))
               (wrong 0) (shown 0))
    (setq command-line-args-left nil)
    (maphash
     (lambda (key row)
       (let ((own (gethash key ours)))
         (dolist (field org-mutants-fields)
           (when (and (assq field row) (or (null own) (> (car (last key)) -1)))
             (let ((says (alist-get field row)) (mine (alist-get field own)))
               ;; A timestamp is compared as it is written.
               (when (memq field '(scheduled deadline closed))
                 (setq says (if (consp says) (car says) says)))
               (unless (equal says mine)
                 (setq wrong (1+ wrong))
                 (when (< (setq shown (1+ shown)) 20)
                   (princ (format "%S %s: Org %S we %S\n" key field says mine)))))))))
     truth)
    ;; A file in which Org itself breaks is no measure.
    (maphash (lambda (key _) (unless (or (gethash key truth) (not (gethash (list (car key) 1 0) truth)))
                               (setq wrong (1+ wrong))
                               (princ (format "%S: Org reads no such heading\n" key))))
             ours)
    (princ (format "%d rows of made-up files from seed %s, %d differences\n"
                   (hash-table-count truth) seed wrong))
    (kill-emacs (if (zerop wrong) 0 1))))

(provide 'org-mutants)
;;; org-mutants.el ends here
