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
(require 'passepartout-install)

(defmacro passepartout-module-tests--in (names &rest body)
  "Run BODY with a project folder ROOT in which the files NAMES exist."
  (declare (indent 1) (debug t))
  `(let* ((root (file-name-as-directory
                 (file-truename (make-temp-file "passepartout-root" t))))
          (passepartout-module--root root)
          (passepartout-module-file nil)
          (passepartout-module--transport nil)
          (passepartout-install-prebuilt nil)
          (passepartout-install--declined nil)
          (passepartout-module-install 'ask)
          (process-environment
           (append (list (concat "XDG_CACHE_HOME=" root "cache")
                         (concat "HOME=" root "home")
                         (concat "CARGO_HOME=" root "cargo"))
                   (copy-sequence process-environment))))
     (unwind-protect
         (cl-letf (((symbol-function 'passepartout-module-loaded-p) #'ignore))
           (dolist (name ,names)
             (let ((file (expand-file-name name root)))
               (make-directory (file-name-directory file) t)
               (write-region name nil file nil 'quiet)))
           (make-directory (expand-file-name "src" root) t)
           (write-region "version = \"0.1.0\"\n" nil
                         (expand-file-name "Cargo.toml" root) nil 'quiet)
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

(defmacro passepartout-module-tests--having (programs &rest body)
  "Run BODY where of all programs only PROGRAMS are there."
  (declare (indent 1) (debug t))
  `(cl-letf (((symbol-function 'executable-find)
              (lambda (name &rest _) (car (member name ,programs)))))
     ,@body))

(ert-deftest passepartout-module-obstacles-are-sentences ()
  (passepartout-module-tests--in nil
    (pcase-dolist
        (`(,programs ,words)
         '((("cargo" "cc") "built yet\\. Build it with M-x passepartout-module-build\\'")
           (("cargo" "clang") "built yet\\. Build it with")
           (("cc") "built yet\\. There is no cargo here; install a Rust toolchain")
           (("cargo") "built yet\\. There is no C compiler here (cc); install")))
      (passepartout-module-tests--having programs
        (should (string-match-p words (passepartout-module-obstacle)))
        (should-error (passepartout-module-load)
                      :type 'passepartout-module-error)))
    (let ((passepartout-module-file "/nowhere/x.so"))
      (should (string-match-p "/nowhere/x.so"
                              (passepartout-module-obstacle))))
    (let ((module-file-suffix nil))
      (should (string-match-p "without support for modules"
                              (passepartout-module-obstacle)))
      (should-error (passepartout-module-load)
                    :type 'passepartout-module-error))
    (delete-file (expand-file-name "Cargo.toml" root))
    (should (string-match-p "sources are not in .*clone"
                            (passepartout-module-obstacle)))))

(ert-deftest passepartout-module-only-commands-of-ours-ask-and-once ()
  (passepartout-module-tests--in nil
    (let ((noninteractive nil)
          (asked 0))
      (passepartout-module-tests--having '("cargo" "cc")
        (cl-letf (((symbol-function 'read-multiple-choice)
                   (lambda (_prompt choices)
                     (setq asked (1+ asked))
                     (should (equal '(?b ?n ?v) (mapcar #'car choices)))
                     '(?n "not now"))))
          (let ((noninteractive t)
                (this-command 'passepartout-chat-send))
            (should-error (passepartout-module-load))
            (should (= asked 0)))
          (dolist (case '((find-file 0) (passepartout-global-mode 0) (nil 0)
                          ;; A “no” counts for the session.
                          (passepartout-chat-send 1)
                          (passepartout-chat-send 1)))
            (let ((this-command (nth 0 case)))
              (should-error (passepartout-module-load))
              (should (equal (list (nth 0 case) asked) case)))))))))

;;;; Looking before loading

(defun passepartout-module-tests--elf (machine size)
  "Return the first bytes of a module for MACHINE that has SIZE bytes."
  (let ((bytes (make-string 64 0)))
    (dotimes (n 6) (aset bytes n (aref "\177ELF\2\1" n)))
    (aset bytes 18 machine)
    (aset bytes 40 (logand size 255))
    (aset bytes 41 (ash size -8))
    (string-to-unibyte bytes)))

(defun passepartout-module-tests--write (root name bytes &optional sidecar)
  "Write BYTES below ROOT as NAME, and SIDECAR beside it; return the file."
  (let ((file (expand-file-name name root))
        (coding-system-for-write 'no-conversion))
    (make-directory (file-name-directory file) t)
    (write-region bytes nil file nil 'quiet)
    (when sidecar
      (write-region sidecar nil (passepartout-module--beside file) nil 'quiet))
    file))

(ert-deftest passepartout-module-a-file-that-cannot-fit-is-never-loaded ()
  (let ((sum (make-string 64 ?0)) (system-configuration "x86_64-pc-linux-gnu")
        (system-type 'gnu/linux))
    (pcase-dolist
        (`(,bytes ,sidecar ,words)
         `(("" nil "is empty")
           (,(passepartout-module-tests--elf 183 64) nil
            "made for aarch64 (elf), and this Emacs runs on x86_64")
           (,(passepartout-module-tests--elf 62 4000) nil
            "cut short: it has 64 of 4000 bytes")
           (,(string-to-unibyte "\317\372\355\376\14\0\0\1________") nil
            "made for aarch64 (mach-o)")
           ("text" ,(concat "0.0.9 " sum "\n") "version 0\\.0\\.9, but the Lisp is")
           ("text" "nonsense" "version unknown, but the Lisp is")
           ("text" ,(concat passepartout-version " " sum "\n")
            "is damaged: it is not what was built")))
      (passepartout-module-tests--in nil
        (let ((file (passepartout-module-tests--write
                     root "x.so" bytes sidecar))
              (passepartout-module--loaded nil)
              (loaded nil))
          (cl-letf (((symbol-function 'module-load)
                     (lambda (_) (setq loaded t))))
            (passepartout-module-tests--having '("cargo" "cc")
              (let* ((passepartout-module-file file)
                     (told (cadr (should-error
                                  (passepartout-module-load)
                                  :type 'passepartout-module-error))))
                (should (string-match-p words told))
                (should (string-match-p "M-x passepartout-module-build"
                                        told))))
            (should-not loaded)))))))

(ert-deftest passepartout-module-one-that-fits-is-loaded-from-a-copy ()
  (passepartout-module-tests--in nil
    (let* ((bytes (concat (passepartout-module-tests--elf
                           (car (rassoc (passepartout-module-machine)
                                        passepartout-module--machines))
                           64)))
           (file (passepartout-module-tests--write
                  root "x.so" bytes
                  (format "%s %s\n" passepartout-version
                          (secure-hash 'sha256 bytes))))
           (passepartout-module-file file)
           (passepartout-module--loaded nil)
           (loaded nil))
      (skip-unless (eq system-type 'gnu/linux))
      (cl-letf (((symbol-function 'module-load)
                 (lambda (copy) (push copy loaded))))
        (passepartout-module-load)
        (should (= 1 (length loaded)))
        (should (string-prefix-p (expand-file-name "cache/" root)
                                 (car loaded)))))))

(ert-deftest passepartout-module-what-the-system-says-is-explained ()
  (pcase-dolist
      (`(,told ,words)
       '(("/lib/libc.so.6: version `GLIBC_2.99' not found" "newer system")
         ("cannot allocate memory" "cannot open the module")))
    (passepartout-module-tests--in '("target/debug/libpassepartout.so")
      (let ((passepartout-module--loaded nil))
        (cl-letf (((symbol-function 'module-load)
                   (lambda (file) (signal 'module-open-failed
                                          (list file told)))))
          (should (string-match-p
                   words
                   (cadr (should-error (passepartout-module-load)
                                       :type 'passepartout-module-error)))))))))

(ert-deftest passepartout-module-another-version-is-passed-over ()
  (passepartout-module-tests--in nil
    (let* ((sum (make-string 64 ?0))
           (old (passepartout-module-tests--write
                 root "target/release/libpassepartout.so" "old"
                 (concat "0.0.9 " sum "\n")))
           (new (passepartout-module-tests--write
                 root "target/debug/libpassepartout.so" "new")))
      (set-file-times new (time-subtract nil 100))
      (should (equal new (passepartout-module-file)))
      (delete-file new)
      (passepartout-module-tests--having '("cargo" "cc")
        (should (string-match-p
                 "there is version 0\\.0\\.9, but .*passepartout-module-build"
                 (passepartout-module-obstacle))))
      ;; What was built after the sidecar was written is another module.
      (set-file-times old (time-add nil 100))
      (should (equal old (passepartout-module-file)))
      (should-not (passepartout-module-obstacle)))))

(ert-deftest passepartout-module-a-damaged-copy-is-replaced-and-no-other ()
  (passepartout-module-tests--in '("target/debug/libpassepartout.so")
    (let* ((file (passepartout-module-file))
           (copy (passepartout-module--copy file))
           (number (lambda ()
                     (file-attribute-inode-number (file-attributes copy))))
           (before (funcall number)))
      (passepartout-module--copy file)
      (should (= before (funcall number)))
      (let ((beside (concat copy ".kept")))
        ;; Who has the damaged one loaded keeps it: it is not written over.
        (write-region "tar" nil copy nil 'quiet)
        (add-name-to-file copy beside)
        (passepartout-module--copy file)
        (should (equal "tar" (with-temp-buffer (insert-file-contents beside)
                                               (buffer-string))))
        (should (= (file-attribute-size (file-attributes file))
                   (file-attribute-size (file-attributes copy))))))))

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
  (passepartout-module-tests--in nil
    (cl-letf (((symbol-function 'passepartout-module-loaded-p) #'always)
              ((symbol-function 'passepartout--mod-start) #'ignore)
              ((symbol-function 'passepartout--mod-version) (lambda () "0.0.9")))
      (passepartout-module-tests--having '("cargo" "cc")
        (should (string-match-p
                 "0\\.0\\.9.*Build it with .*, then restart Emacs once\\'"
                 (passepartout-module-obstacle)))
        (passepartout-module-tests--write
         root "target/debug/libpassepartout.so" "new")
        (should (string-match-p "0\\.0\\.9.* is there: restart Emacs once\\'"
                                (passepartout-module-obstacle)))
        ;; A restart cannot be had by a question.
        (let ((noninteractive nil) (this-command 'passepartout-chat))
          (should-error (passepartout-module-transport)
                        :type 'passepartout-module-error))))))

;;;; An upgrade while a core runs

(ert-deftest passepartout-module-a-core-that-runs-survives-an-upgrade ()
  (passepartout-module-tests--in nil
    (let* ((calls nil) (heard nil) (waiting nil)
           (call (lambda (name) (lambda (&rest _) (push name calls) nil)))
           (asked (lambda () (prog1 (nreverse calls) (setq calls nil))))
           (passepartout-module--fitting nil)
           (passepartout-module--told nil)
           (passepartout-events--pipe nil)
           (passepartout-start-hook nil)
           (kill-emacs-hook nil)
           (passepartout-version "0.1.0"))
      (cl-letf (((symbol-function 'passepartout-module-loaded-p) #'always)
                ((symbol-function 'passepartout-events--settings) #'ignore)
                ((symbol-function 'passepartout--mod-version)
                 (lambda () (copy-sequence "0.1.0")))
                ((symbol-function 'passepartout--mod-start)
                 (funcall call 'start))
                ((symbol-function 'passepartout--mod-send)
                 (funcall call 'send))
                ((symbol-function 'passepartout--mod-receive)
                 (lambda (_) (push 'receive calls)
                   (prog1 waiting (setq waiting nil))))
                ((symbol-function 'passepartout--mod-stop)
                 (funcall call 'stop))
                ((symbol-function 'message)
                 (lambda (format &rest arguments)
                   (when format
                     (push (apply #'format format arguments) heard)))))
        (unwind-protect
            (progn
              (passepartout-start)
              (should (equal '(start send) (funcall asked)))
              ;; The same version, loaded again, is no upgrade.
              (setq passepartout-version (copy-sequence "0.1.0"))
              (passepartout-send-event :note nil)
              (should (equal '(send) (funcall asked)))
              (should-not heard)
              (setq passepartout-version "0.2.0")
              (dotimes (_ 2) (passepartout-send-event :note nil))
              (should (equal '(send send) (funcall asked)))
              (should (= 1 (length heard)))
              (should (string-match-p
                       "module is version 0\\.1\\.0, but the Lisp is 0\\.2\\.0\\. \
.*restart Emacs once; the core that runs goes on until then\\'"
                       (car heard)))
              (setq waiting (list "(:type :status :payload (:state \"idle\"))"))
              (passepartout-events--drain)
              (should (equal '(receive receive) (funcall asked)))
              ;; What could not start again is not stopped.
              (should-error (passepartout-restart)
                            :type 'passepartout-module-error)
              (should (passepartout-running-p))
              (should-not (passepartout-module-missing))
              (should-not (funcall asked))
              (run-hooks 'kill-emacs-hook)
              (should (equal '(stop) (funcall asked)))
              (should-not (passepartout-running-p))
              (should-error (passepartout-start)
                            :type 'passepartout-module-error))
          (when (processp passepartout-events--pipe)
            (delete-process passepartout-events--pipe)))))))

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
