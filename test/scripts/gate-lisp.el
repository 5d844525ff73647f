;;; gate-lisp.el --- What Emacs makes of Lisp that the gate passes  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Usage: emacs -Q --batch -l gate-lisp.el -f FUNCTION FILE
;;
;; FILE holds a line for each case, texts in hexadecimal digits; a line is
;; printed for each.  The tests of the gate run this.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'map)
(require 'subr-x)

(defvar gate-lisp-libraries
  '(cl-extra cl-seq cl-macs rx org org-element org-table org-list org-duration
    ol org-macro ring dom json color calendar cal-iso cal-hebrew cal-islam
    cal-julian cal-persia cal-china iso8601 parse-time time-date format-spec
    url-util url-parse thingatpt ansi-color xml regexp-opt char-fold help-fns
    pp sort)
  "Libraries that define the functions that the gate knows.")

(defun gate-lisp-load ()
  "Load what defines the functions that the gate knows."
  (dolist (library gate-lisp-libraries)
    (require library nil t)))

(defun gate-lisp-lines ()
  "Return the lines of the file that the command line names."
  (with-temp-buffer
    (insert-file-contents (pop command-line-args-left))
    (split-string (buffer-string) "\n" t)))

(defun gate-lisp-text (hex)
  "Return the text that HEX stands for, as the worker gets it."
  (decode-coding-string
   (apply #'unibyte-string
          (mapcar (lambda (byte) (string-to-number byte 16))
                  (seq-partition hex 2)))
   'utf-8))

(defun gate-lisp-tree (value)
  "Print VALUE as the tree that the gate would see."
  (cond
   ((null value) (princ "()"))
   ((eq value t) (princ "c"))
   ((numberp value) (princ "c"))
   ((stringp value) (princ "x"))
   ((keywordp value) (princ (format "k:%s" value)))
   ((eq value '\,@) (princ "s:,"))
   ((symbolp value) (princ (format "s:%s" value)))
   ((vectorp value)
    (princ "[")
    (mapc (lambda (item) (gate-lisp-tree item) (princ " ")) value)
    (princ "]"))
   ((consp value)
    (princ "(")
    (while (consp value)
      (gate-lisp-tree (pop value))
      (princ " "))
    (when value
      (princ ". ")
      (gate-lisp-tree value)
      (princ " "))
    (princ ")"))
   (t (princ (format "?%S" (type-of value))))))

(defun gate-lisp-read ()
  "Print the forms of each text, read as the worker reads them."
  (dolist (hex (gate-lisp-lines))
    (let ((tree
           (with-temp-buffer
             (set-syntax-table emacs-lisp-mode-syntax-table)
             (insert (gate-lisp-text hex))
             (goto-char (point-min))
             (let ((code (current-buffer)))
               (condition-case problem
                   (with-output-to-string
                     (while (progn (forward-comment (point-max)) (not (eobp)))
                       (gate-lisp-tree (read code))
                       (princ " ")))
                 (error (format "error %S" (car problem))))))))
      ;; A name may hold a line's end.
      (princ (concat (mapconcat (lambda (byte) (format "%02x" byte))
                                (encode-coding-string tree 'utf-8-unix) "")
                     "\n")))))

(defun gate-lisp-signatures ()
  "Print the name and the parameters of each function that is there."
  (gate-lisp-load)
  (dolist (name (gate-lisp-lines))
    (let* ((symbol (intern name))
           (known (and (fboundp symbol)
                       (ignore-errors (help-function-arglist symbol t))))
           ;; What a compiled function says of itself may be less than its documentation.
           (said (and (fboundp symbol)
                      (ignore-errors
                        (car (help-split-fundoc (documentation symbol t) symbol))))))
      (princ (format "%s %s %s\n" name
                     (if (listp known) known "()")
                     (replace-regexp-in-string "\n" " " (or said "")))))))

(defvar gate-lisp-ran nil
  "Whether the canary was called.")

(defun touch (&rest _)
  "Say that the canary was called."
  (setq gate-lisp-ran t)
  nil)

(defvar gate-lisp-steps 0
  "How often loops went round in a text.")

(defun gate-lisp-step ()
  "Count a round of a loop, and leave the text when there were many."
  (when (> (setq gate-lisp-steps (1+ gate-lisp-steps)) 1000)
    (throw 'touch nil))
  t)

(defun gate-lisp-bounded (form)
  "Return FORM, with every loop in it made to end."
  (pcase form
    (`(while ,test . ,body)
     `(while (and (gate-lisp-step) ,(gate-lisp-bounded test))
        ,@(gate-lisp-bounded body)))
    (`(,first . ,rest)
     (cons (gate-lisp-bounded first) (gate-lisp-bounded rest)))
    (_ form)))

(defun gate-lisp-canary ()
  "Evaluate each text, and print those during which the canary was called."
  (gate-lisp-load)
  (dolist (hex (gate-lisp-lines))
    (setq gate-lisp-ran nil
          gate-lisp-steps 0)
    (let ((inhibit-message t)
          (message-log-max nil))
      (condition-case nil
          (with-temp-buffer
            (let ((standard-output (generate-new-buffer " *out*")))
              (unwind-protect
                  (catch 'touch
                    (dolist (form (car (read-from-string
                                       (concat "(" (gate-lisp-text hex) "\n)"))))
                      (eval (gate-lisp-bounded (macroexpand-all form)) t)))
                (kill-buffer standard-output))))
        ;; Whatever is signalled, and not only what is an error.
        (t nil)))
    (when gate-lisp-ran
      (princ (concat "\nran " hex "\n"))))
  (princ "\ndone\n"))

(provide 'gate-lisp)

;;; gate-lisp.el ends here
