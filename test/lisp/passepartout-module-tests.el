;;; passepartout-module-tests.el --- Tests of finding, copying and loading  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; What stands between Emacs and native code.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-module)

(defmacro passepartout-module-tests--in (names &rest body)
  "Run BODY with a project folder ROOT in which the files NAMES exist."
  (declare (indent 1) (debug t))
  `(let* ((root (file-name-as-directory
                 (file-truename (make-temp-file "passepartout-root" t))))
          (passepartout-module--root root)
          (passepartout-module-file nil)
          (process-environment
           (cons (concat "XDG_CACHE_HOME=" root "cache")
                 process-environment)))
     (unwind-protect
         (cl-letf (((symbol-function 'passepartout-module-loaded-p) #'ignore))
           (dolist (name ,names)
             (let ((file (expand-file-name name root)))
               (make-directory (file-name-directory file) t)
               (write-region name nil file nil 'quiet)))
           ,@body)
       (delete-directory root t))))

(ert-deftest passepartout-module-the-best-file-is-found ()
  (passepartout-module-tests--in '("target/debug/libpassepartout.so"
                                   "target/release/libpassepartout.so")
    (set-file-times (expand-file-name "target/debug/libpassepartout.so" root)
                    (time-subtract nil 100))
    (should (equal (file-relative-name (passepartout-module-file) root)
                   "target/release/libpassepartout.so"))
    (set-file-times (expand-file-name "target/debug/libpassepartout.so" root)
                    (time-add nil 100))
    (should (equal (file-relative-name (passepartout-module-file) root)
                   "target/debug/libpassepartout.so"))
    ;; What is still being copied, and a module without its launcher, are none.
    (dolist (case '(("draft-x3Y" t) ("0123456789abcdef0123" nil)
                    ("fedcba98765432100123" t)))
      (let ((folder (expand-file-name (concat ".build/" (nth 0 case) "/") root)))
        (make-directory folder t)
        (when (nth 1 case)
          (write-region "" nil (concat folder "passepartout-run") nil 'quiet))
        (write-region "" nil (concat folder "libpassepartout.so") nil 'quiet)
        (set-file-times (concat folder "libpassepartout.so")
                        (time-add nil 200))))
    (should (equal (file-relative-name (passepartout-module-file) root)
                   ".build/fedcba98765432100123/libpassepartout.so"))
    (write-region "" nil (expand-file-name ".build/libpassepartout.so" root)
                  nil 'quiet)
    (should (equal (file-relative-name (passepartout-module-file) root)
                   ".build/libpassepartout.so"))
    (let ((passepartout-module-file "/nowhere/x.so"))
      (should-not (passepartout-module-file)))))

(ert-deftest passepartout-module-the-doctor-says-what-to-do-without-it ()
  (passepartout-module-tests--in nil
    (let ((passepartout-module--transport nil)
          (noninteractive nil))
      (cl-letf (((symbol-function 'y-or-n-p)
                 (lambda (&rest _) (error "Nothing is asked here"))))
        (save-window-excursion
          (unwind-protect
              (progn
                (passepartout-doctor)
                (dolist (words '("^\\* unhealthy +Module" "not been built yet"
                                 "Repair: " "The core has not been checked"))
                  (should (string-match-p words (buffer-string)))))
            (kill-buffer passepartout-doctor--buffer-name)))))))

(ert-deftest passepartout-module-a-copy-is-named-by-its-contents ()
  (passepartout-module-tests--in '("target/debug/libpassepartout.so"
                                   "target/debug/passepartout-run")
    (set-file-modes (expand-file-name "target/debug/passepartout-run" root)
                    #o755)
    (let* ((file (passepartout-module-file))
           (first (passepartout-module--copy file)))
      (should (string-prefix-p (expand-file-name "cache/" root) first))
      (should (equal first (passepartout-module--copy file)))
      (should (equal (with-temp-buffer (insert-file-contents first)
                                       (buffer-string))
                     "target/debug/libpassepartout.so"))
      (let ((passepartout-module--loaded first))
        (should (file-executable-p (passepartout-module-launcher))))
      (write-region "mended" nil
                    (expand-file-name "target/debug/passepartout-run" root)
                    nil 'quiet)
      (let ((passepartout-module--loaded (passepartout-module--copy file)))
        (should-not (equal first passepartout-module--loaded))
        (should (equal (with-temp-buffer
                         (insert-file-contents (passepartout-module-launcher))
                         (buffer-string))
                       "mended")))
      (write-region "other" nil file nil 'quiet)
      (should-not (equal first (passepartout-module--copy file)))
      (should (file-exists-p first))
      (should (= #o700 (file-modes (file-name-directory first)))))))

(ert-deftest passepartout-module-obstacles-are-sentences ()
  (passepartout-module-tests--in nil
    (should (string-match-p "passepartout-module-build"
                            (passepartout-module-obstacle)))
    (should-error (passepartout-module-load) :type 'passepartout-module-error)
    (let ((passepartout-module-file "/nowhere/x.so"))
      (should (string-match-p "/nowhere/x.so"
                              (passepartout-module-obstacle))))
    (let ((module-file-suffix nil))
      (should (string-match-p "without support for modules"
                              (passepartout-module-obstacle))))))

(ert-deftest passepartout-module-only-commands-of-ours-offer-to-build-it ()
  (passepartout-module-tests--in nil
    (let ((passepartout-module--transport nil)
          (passepartout-module--declined nil)
          (noninteractive nil)
          (asked 0))
      (cl-letf (((symbol-function 'executable-find) (lambda (&rest _) "cargo"))
                ((symbol-function 'y-or-n-p)
                 (lambda (&rest _) (setq asked (1+ asked)) nil)))
        (dolist (case '((find-file 0) (passepartout-global-mode 0) (nil 0)
                        ;; A “no” counts for the session.
                        (passepartout-chat-send 1) (passepartout-chat-send 1)))
          (let ((this-command (nth 0 case)))
            (should-error (passepartout-module-load))
            (should (equal (list (nth 0 case) asked) case))))))))

(ert-deftest passepartout-module-what-is-not-used-is-forgotten ()
  (passepartout-module-tests--in '("target/debug/libpassepartout.so")
    (let* ((copy (passepartout-module--copy (passepartout-module-file)))
           (folder (file-name-directory copy))
           (old (expand-file-name "passepartout-0000.so" folder))
           (foreign (expand-file-name "notes.txt" folder)))
      (dolist (file (list old foreign))
        (write-region "" nil file nil 'quiet))
      (dolist (file (list copy old foreign))
        (set-file-times file (time-subtract nil (days-to-time 60))))
      ;; To use it is to give it a new date.
      (should (equal copy (passepartout-module--copy
                           (passepartout-module-file))))
      (passepartout-module--forget)
      (should (file-exists-p copy))
      (should (file-exists-p foreign))
      (should-not (file-exists-p old)))))

(ert-deftest passepartout-module-another-version-is-refused ()
  (cl-letf (((symbol-function 'passepartout--mod-start) #'ignore)
            ((symbol-function 'passepartout--mod-version) (lambda () "0.0.9")))
    (should (string-match-p "0\\.0\\.9.*restart"
                            (passepartout-module-obstacle)))
    (let ((passepartout-module--transport nil))
      (should-error (passepartout-module-transport)
                    :type 'passepartout-module-error))))

(ert-deftest passepartout-module-what-failed-is-not-loaded-again ()
  (passepartout-module-tests--in '("target/debug/libpassepartout.so")
    (let ((passepartout-module--loaded nil) (count 0))
      (cl-letf (((symbol-function 'module-load)
                 (lambda (_) (setq count (1+ count)) (error "Not a module"))))
        (should-error (passepartout-module-load))
        (should-error (passepartout-module-load)
                      :type 'passepartout-module-error)
        (should (= count 1))))))

(ert-deftest passepartout-module-requiring-loads-nothing ()
  (let ((emacs (expand-file-name invocation-name invocation-directory))
        (folder (file-name-directory (locate-library "passepartout"))))
    (should
     (zerop
      (call-process
       emacs nil nil nil "-Q" "--batch" "-L" folder "--eval"
       (prin1-to-string
        '(progn (require 'passepartout)
                (kill-emacs (if (or (featurep 'org)
                                    (featurep 'passepartout-events)
                                    (fboundp 'passepartout--mod-start))
                                3 0)))))))))

(provide 'passepartout-module-tests)
;;; passepartout-module-tests.el ends here
