;;; passepartout-sense-tests.el --- Tests of what is noticed  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; A mirror is kept from the messages alone and compared with the buffer.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-focus)

(defvar passepartout-sense-tests--mirror nil
  "The bytes that a core would have after the messages so far.")

(defvar passepartout-sense-tests--chain nil
  "Number and hash of the last slice, as a core has them.")

(defun passepartout-sense-tests--chained (payload)
  "Take the slice in PAYLOAD as a core does."
  (pcase-let ((`(,number . ,hash) passepartout-sense-tests--chain))
    (should (eql (1+ number) (plist-get payload :slice)))
    (setq passepartout-sense-tests--chain
          (cons (1+ number)
                (passepartout-events-chain (1+ number) hash
                                           (plist-get payload :text))))))

(defun passepartout-sense-tests--bytes (text)
  "Return TEXT as bytes in UTF-8."
  (encode-coding-string text 'utf-8 t))

(defun passepartout-sense-tests--apply (payloads file)
  "Apply PAYLOADS about FILE to the mirror, as a core does."
  (dolist (payload payloads)
    (should (equal file (plist-get payload :file)))
    (let ((text (passepartout-sense-tests--bytes
                 (or (plist-get payload :text) "")))
          (mirror passepartout-sense-tests--mirror))
      (setq passepartout-sense-tests--mirror
            (pcase (plist-get payload :part)
              (:saved (with-temp-buffer
                        (set-buffer-multibyte nil)
                        (insert-file-contents-literally file)
                        (buffer-string)))
              (:begin
               (setq passepartout-sense-tests--chain '(0 . nil))
               "")
              (:slice
               (passepartout-sense-tests--chained payload)
               (concat mirror text))
              (:end
               (should (equal (cdr passepartout-sense-tests--chain)
                              (plist-get payload :hash)))
               mirror)
              (:closed nil)
              (:change
               (let ((beg (plist-get payload :beg))
                     (end (plist-get payload :end)))
                 (should (<= 0 beg end (length mirror)))
                 (let ((new (concat (substring mirror 0 beg) text
                                    (substring mirror end))))
                   (should (= (length new) (plist-get payload :size)))
                   new))))))))

(defun passepartout-sense-tests--check ()
  "Send what is pending and compare the mirror with the buffer."
  (passepartout-sense--tick)
  (passepartout-fake-settle)
  (passepartout-sense-tests--apply (passepartout-fake-sent :buffer-update)
                                   (expand-file-name
                                    (buffer-file-name
                                     (or (buffer-base-buffer)
                                         (current-buffer)))))
  (setq passepartout-fake-sent nil)
  (should (equal passepartout-sense-tests--mirror
                 (passepartout-sense-tests--bytes
                  (passepartout-events-clean
                   (save-restriction (widen) (buffer-string)))))))

(defmacro passepartout-sense-tests--in (text &rest body)
  "Run BODY in a mirrored buffer of a file with TEXT in it."
  (declare (indent 1) (debug t))
  `(let* ((file (make-temp-file "passepartout" nil ".org"))
          (passepartout-sense-tests--mirror nil)
          (coding-system-for-write 'utf-8-unix)
          (create-lockfiles nil)
          (make-backup-files nil))
     (write-region ,text nil file nil 'quiet)
     (unwind-protect
         (passepartout-fake-with
           (with-current-buffer (let ((coding-system-for-read 'utf-8-unix))
                                  (find-file-noselect file))
             (buffer-enable-undo)
             (passepartout-mode 1)
             (passepartout-sense-tests--check)
             ,@body))
       (delete-file file))))

(ert-deftest passepartout-sense-a-saved-buffer-is-not-sent ()
  (passepartout-sense-tests--in "* a\n"
    (passepartout-sense--begin)
    (passepartout-sense--tick)
    (let ((payload (car (passepartout-fake-sent :buffer-update)))
          (attributes (file-attributes buffer-file-name)))
      (should (equal (plist-get payload :part) :saved))
      (should (equal (plist-get payload :modified)
                     (car (time-convert
                           (file-attribute-modification-time attributes)
                           1000000000)))))))

(ert-deftest passepartout-sense-goes-on-when-org-begins-anew ()
  (passepartout-sense-tests--in "#+TITLE: 語\n* a\n"
    (goto-char (point-min))
    (org-ctrl-c-ctrl-c)
    (should passepartout-mode)
    (should (equal passepartout-sense--buffers (list (current-buffer))))
    (goto-char (point-max))
    (insert "more\n")
    (passepartout-sense-tests--check)
    ;; Who turned it off is left alone.
    (passepartout-mode -1)
    (org-mode)
    (should-not passepartout-mode)
    (set-buffer-modified-p nil)))

(ert-deftest passepartout-sense-edits-in-every-script ()
  (passepartout-sense-tests--in "* 語 heading\nbödy 𝄞 text\n"
    (goto-char (point-min))
    (forward-char 3)
    (insert "新しい")
    (passepartout-sense-tests--check)
    (delete-char 2)
    (passepartout-sense-tests--check)
    (goto-char (point-max))
    (insert "** é\n")
    (search-backward "𝄞")
    (replace-match "")
    (insert "é")
    (passepartout-sense-tests--check)
    (upcase-region (point-min) (point-max))
    (passepartout-sense-tests--check)
    (subst-char-in-region (point-min) (point-max) ?É ?é)
    (passepartout-sense-tests--check)
    (transpose-regions 1 3 5 8)
    (passepartout-sense-tests--check)
    (insert (unibyte-char-to-multibyte 255))
    (passepartout-sense-tests--check)))

(ert-deftest passepartout-sense-narrowed-and-indirect ()
  (passepartout-sense-tests--in "* 語 a\ntext\n* 語 b\nmore\n"
    (goto-char (point-max))
    (forward-line -2)
    (narrow-to-region (point) (point-max))
    (insert "x語")
    (passepartout-sense-tests--check)
    (widen)
    (let ((indirect (make-indirect-buffer (current-buffer) "indirect" t)))
      (unwind-protect
          (with-current-buffer indirect
            (narrow-to-region 3 6)
            (goto-char 4)
            (insert "語語")
            (passepartout-sense-tests--check))
        (kill-buffer indirect)))
    (should passepartout-sense--mirror)
    (should-not (passepartout-fake-sent :buffer-update))
    (insert "after")
    (passepartout-sense-tests--check)))

(ert-deftest passepartout-sense-undo ()
  (passepartout-sense-tests--in "* 語\n"
    (undo-boundary)
    (goto-char (point-max))
    (insert "語語\n")
    (undo-boundary)
    (delete-region 1 3)
    (undo-boundary)
    (passepartout-sense-tests--check)
    (primitive-undo 3 buffer-undo-list)
    (passepartout-sense-tests--check)))

(ert-deftest passepartout-sense-random-edits ()
  (let ((state (random "passepartout")))
    (ignore state)
    (passepartout-sense-tests--in (apply #'concat (make-list 200 "* 語 é x\n"))
      (dotimes (round 300)
        (let* ((here (1+ (random (1- (point-max)))))
               (there (min (point-max) (+ here (random 12)))))
          (pcase (random 4)
            (0 (goto-char here) (insert "語é"))
            (1 (delete-region here there))
            (2 (goto-char here)
               (delete-region here there)
               (insert (make-string (random 5) ?𝄞)))
            (_ (subst-char-in-region here there ?x ?y))))
        (when (zerop (% round 7))
          (passepartout-sense-tests--check)))
      (passepartout-sense-tests--check))))

(ert-deftest passepartout-sense-neighbouring-edits-are-one-message ()
  (passepartout-sense-tests--in "* a\n"
    (goto-char (point-max))
    (dolist (character (append "typed text" nil))
      (insert character))
    (passepartout-sense--tick)
    (should (equal (mapcar (lambda (payload) (plist-get payload :text))
                           (passepartout-fake-sent :buffer-update))
                   '("typed text")))))

(ert-deftest passepartout-sense-a-hidden-change-sends-the-whole ()
  (passepartout-sense-tests--in "* abcdef\n"
    (let ((inhibit-modification-hooks t))
      (goto-char (point-max))
      (insert "hidden"))
    (goto-char (point-min))
    (insert "x")
    (passepartout-sense-tests--check)))

(ert-deftest passepartout-sense-large-buffers-go-in-slices ()
  (passepartout-sense-tests--in "* a\n"
    (goto-char (point-max))
    (dotimes (_ 20000) (insert "語語語語語語語語語語\n"))
    (passepartout-sense--tick)
    (let ((sending (passepartout-sense--mirror-whole
                    passepartout-sense--mirror)))
      (should sending))
    ;; An edit while the slices are on their way comes after them.
    (goto-char (point-min))
    (insert "* first\n")
    (goto-char (point-max))
    (insert "* last\n")
    (passepartout-sense-tests--check)
    (insert (make-string 100000 ?x))
    (passepartout-sense-tests--check)))

(ert-deftest passepartout-sense-resync-save-rename-close ()
  (passepartout-sense-tests--in "* 語\n"
    (goto-char (point-max))
    (insert "unsaved\n")
    (passepartout-sense-tests--check)
    (setq passepartout-sense-tests--mirror "wrong")
    (passepartout-fake-inject :request `(:action :resync :file ,file))
    (passepartout-sense-tests--check)
    (save-buffer)
    (should (equal (mapcar (lambda (payload) (plist-get payload :part))
                           (passepartout-fake-sent :buffer-update))
                   '(:saved)))
    (passepartout-sense-tests--check)
    (kill-buffer)
    (should (equal (plist-get (car (passepartout-fake-sent :buffer-update))
                              :part)
                   :closed))))

(ert-deftest passepartout-sense-point-is-a-byte ()
  (passepartout-sense-tests--in "* 語語 a\n* b\n"
    (switch-to-buffer (current-buffer))
    (goto-char (point-min))
    (search-forward "* b")
    (beginning-of-line)
    (narrow-to-region (point) (point-max))
    (passepartout-sense--idle)
    (passepartout-sense--idle)
    (should (equal (mapcar (lambda (payload) (plist-get payload :byte))
                           (passepartout-fake-sent :point-update))
                   (list (string-bytes "* 語語 a\n"))))))

(ert-deftest passepartout-sense-a-rest-in-typing-is-one-message ()
  (passepartout-sense-tests--in "* one\n* two\n"
    (switch-to-buffer (current-buffer))
    (goto-char (point-min))
    (pcase-dolist
        (`(,act ,changes ,points)
         `((,(lambda () (insert "語")) ((nil . 3)) nil)
           ;; Point alone, and nothing at all.
           (,(lambda () (forward-char 1)) nil (4))
           (,#'ignore nil nil)
           ;; A change elsewhere moves no point.
           (,(lambda () (save-excursion (goto-char (point-max)) (insert "x")))
            ((nil . nil)) nil)
           ;; Of a change that goes in several messages the last says it.
           (,(lambda ()
               (insert (make-string (1+ passepartout-events-text-limit) ?y)))
            ((nil . nil)
             (nil . ,(+ 4 1 passepartout-events-text-limit)))
            nil)
           ;; The text as a whole does not say it.
           (,(lambda () (goto-char (point-min)) (passepartout-sense--begin))
            ((:begin) (:slice) (:slice) (:end)) (0))))
      (funcall act)
      (passepartout-sense--idle)
      (passepartout-fake-settle)
      (should (equal points
                     (mapcar (lambda (payload) (plist-get payload :byte))
                             (passepartout-fake-sent :point-update))))
      (should (equal changes
                     (mapcar (lambda (payload)
                               (let ((part (plist-get payload :part)))
                                 (if (eq part :change)
                                     (cons nil (plist-get payload :byte))
                                   (list part))))
                             (passepartout-fake-sent :buffer-update))))
      (passepartout-sense-tests--check))))

(ert-deftest passepartout-sense-other-codings-are-sent-whole ()
  (let* ((file (make-temp-file "passepartout" nil ".org")))
    (let ((coding-system-for-write 'iso-latin-1-dos))
      (write-region "* é\nx\n" nil file nil 'quiet))
    (unwind-protect
        (passepartout-fake-with
          (with-current-buffer (let ((coding-system-for-read
                                      'iso-latin-1-dos))
                                 (find-file-noselect file))
            (setq passepartout-sense-tests--mirror nil)
            (passepartout-mode 1)
            (should-not (seq-find (lambda (payload)
                                    (eq :saved (plist-get payload :part)))
                                  (passepartout-fake-sent :buffer-update)))
            (passepartout-sense-tests--check)))
      (delete-file file))))

(ert-deftest passepartout-sense-leaves-some-buffers-alone ()
  (passepartout-fake-with
    (with-temp-buffer
      (should-error (passepartout-mode 1) :type 'user-error)
      (org-mode)
      (should-error (passepartout-mode 1) :type 'user-error)
      (setq buffer-file-name "/tmp/x.org.gpg")
      (should-error (passepartout-mode 1) :type 'user-error)
      (setq buffer-file-name "/ssh:host:/tmp/x.org")
      (should-error (passepartout-mode 1) :type 'user-error)
      (setq buffer-file-name nil)
      (should-not passepartout-mode))))

(ert-deftest passepartout-focus-endorse-asks-and-names-the-place ()
  (passepartout-fake-with
    (let ((file (make-temp-file "endorse" nil ".org" "é\n* Page\nText.\n")))
      (unwind-protect
          (with-current-buffer (find-file-noselect file)
            (goto-char (point-min))
            (search-forward "Page")
            (cl-letf (((symbol-function 'passepartout-focus--tell-point)
                       #'ignore)
                      ((symbol-function 'yes-or-no-p) #'ignore))
              (passepartout-endorse))
            (should-not (passepartout-fake-sent :endorse))
            (cl-letf (((symbol-function 'passepartout-focus--tell-point)
                       #'ignore)
                      ((symbol-function 'yes-or-no-p)
                       (lambda (prompt)
                         (should (string-search "“Page”" prompt))
                         t)))
              (passepartout-endorse))
            (let ((sent (car (passepartout-fake-sent :endorse))))
              (should (equal (file-truename file) (plist-get sent :file)))
              (should (equal 9 (plist-get sent :byte)))))
        (delete-file file)))))

(provide 'passepartout-sense-tests)
;;; passepartout-sense-tests.el ends here
