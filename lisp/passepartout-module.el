;;; passepartout-module.el --- Find, check and load the module  -*- lexical-binding: t; -*-

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

;; The module is native code that Emacs cannot unload, so this file is
;; careful: it loads the module at its first use and never on `require',
;; from a copy whose name holds the hash of its contents, so that a
;; build never overwrites code that is running; it never loads one path
;; twice; and before it loads anything it looks whether the file is
;; whole, for this machine and of this version.  The version stands in a
;; small file beside the module, with the sum of the module.
;;
;; passepartout-install.el builds or fetches what is missing.
;;
;; The rest of the Lisp reaches the core through the five functions of
;; `passepartout-module--transport' and does not know where it runs.

;;; Code:

(require 'passepartout)
(eval-when-compile (require 'subr-x))

(declare-function passepartout--mod-start "ext:passepartout-native"
                  (pipe settings))
(declare-function passepartout--mod-send "ext:passepartout-native" (text))
(declare-function passepartout--mod-receive "ext:passepartout-native"
                  (bytes))
(declare-function passepartout--mod-stop "ext:passepartout-native" ())
(declare-function passepartout--mod-version "ext:passepartout-native" ())
(declare-function passepartout-install-offer "passepartout-install" ())
(declare-function passepartout-install-hint "passepartout-install" ())
(declare-function passepartout-running-p "passepartout-events" ())

(defconst passepartout-module--root
  (let ((folder (file-name-directory
                 (or load-file-name buffer-file-name
                     (locate-library "passepartout-module")))))
    ;; Compiled files can lie in a folder of their own below the project,
    ;; and a package archive may put the Lisp beside the other sources.
    (or (locate-dominating-file
         folder
         (lambda (above)
           (and (file-exists-p (expand-file-name "Cargo.toml" above))
                (file-directory-p (expand-file-name "skills" above)))))
        (file-name-directory (directory-file-name folder))))
  "The folder of the project, which holds Cargo.toml and the skills.")

(defconst passepartout-module--keep-days 30
  "Days for which a copy of the module is kept after its last use.")

(defvar passepartout-module--loaded nil
  "The file of the module that was loaded last, or nil.")

(defvar passepartout-module--transport nil
  "How to reach the core: a plist of five functions, or nil for the module.
The keys are :start (of a pipe process and a text), :send (of a text),
:receive (of a number of bytes), :stop and :version.

A core outside of this Emacs has more keys: :name and :tag, what it is
called for people and in the names of conversations; :files, non-nil
when its files are those of this machine; :outgoing, a function of a
payload and a session that returns what of it may go there; :answer, a
function of a request's payload that returns what is answered at once;
and :finding, a function that returns a check for the doctor.")

;;;; The transport

(defconst passepartout-module--native
  (list :start #'passepartout--mod-start
        :send #'passepartout--mod-send
        :receive #'passepartout--mod-receive
        :stop #'passepartout--mod-stop
        :version #'passepartout--mod-version)
  "The transport to the core of this Emacs.")

(defvar passepartout-module--fitting nil
  "The version of the Lisp and the function of the module that said it fits.
They are a cons, or nil.  The module is asked once, and not for every
message: what it says is a new text each time.")

(defun passepartout-module-transport ()
  "Return the plist of functions that reach the core.
The module is loaded when it is needed and not there yet."
  (or passepartout-module--transport
      (let ((asked (symbol-function 'passepartout--mod-version)))
        (unless (and passepartout-module--fitting
                     (eq (car passepartout-module--fitting)
                         passepartout-version)
                     (eq (cdr passepartout-module--fitting) asked))
          (passepartout-module-load)
          (setq passepartout-module--fitting
                (cons passepartout-version
                      (symbol-function 'passepartout--mod-version))))
        passepartout-module--native)))

(defun passepartout-module-call (name &rest arguments)
  "Call the function NAME of the transport with ARGUMENTS.
A core that runs goes on with the module that it was started by, also
when the Lisp was upgraded since: only a start looks at the version."
  (apply (plist-get (or passepartout-module--transport
                        (and passepartout-module--fitting
                             passepartout-module--native)
                        (passepartout-module-transport))
                    name)
         arguments))

(defvar passepartout-module--told nil
  "The version of the Lisp that was compared with the running core last.")

(defun passepartout-module-compare ()
  "Say once that Emacs is to be restarted, when the Lisp was upgraded.
It is for a core that runs in this Emacs."
  (when (and passepartout-module--fitting
             (not passepartout-module--transport)
             (not (eq (car passepartout-module--fitting)
                      passepartout-version))
             (not (equal passepartout-module--told passepartout-version)))
    (setq passepartout-module--told passepartout-version)
    (let ((obstacle (passepartout-module-obstacle)))
      (when obstacle
        (message "Passepartout: %s; the core that runs goes on until then"
                 obstacle)))))

(defun passepartout-module-road (key)
  "Return what the transport has at KEY; nil for the core of this Emacs."
  (plist-get passepartout-module--transport key))

(defun passepartout-module-missing ()
  "Return why the core cannot be reached for want of the module, or nil.
Over another road it is not wanted, and a core that runs has its own."
  (and (not passepartout-module--transport)
       (not (and (fboundp 'passepartout-running-p) (passepartout-running-p)))
       (passepartout-module-obstacle)))

;;;; Finding

(defun passepartout-module--names ()
  "Return the file names that the module may have."
  (delete-dups
   (list (concat "libpassepartout" module-file-suffix)
         (concat "libpassepartout" (if (eq system-type 'darwin)
                                       ".dylib" ".so"))
         (concat "passepartout" module-file-suffix))))

(defun passepartout-module--folders ()
  "Return the folders into which \"make build\" put a module with its launcher.
They are named by their content; what is still being copied is not."
  (let ((default-directory passepartout-module--root))
    (and (file-directory-p ".build")
         (mapcar (lambda (name) (concat ".build/" name "/"))
                 (seq-filter
                  (lambda (name)
                    (file-exists-p (concat ".build/" name "/passepartout-run")))
                  (directory-files ".build" nil "\\`[0-9a-f]\\{20\\}\\'"))))))

(defun passepartout-module--all ()
  "Return the files that may be the module, the best first.
What an installation put into .build comes first, then the newest of
what cargo built, \"make build\" put into a folder of .build, or was
built or fetched into the cache."
  (let ((placed nil) (built nil))
    (dolist (name (passepartout-module--names))
      (let ((file (expand-file-name (concat ".build/" name)
                                    passepartout-module--root)))
        (when (file-readable-p file) (push file placed)))
      (dolist (folder (append
                       (mapcar (lambda (folder)
                                 (expand-file-name folder
                                                   passepartout-module--root))
                               (append '("target/release/" "target/debug/")
                                       (passepartout-module--folders)))
                       (passepartout-module--kept)))
        (let ((file (expand-file-name name folder)))
          (when (file-readable-p file) (push file built)))))
    (append (nreverse placed)
            (sort built #'file-newer-than-file-p))))

(defun passepartout-module--kept ()
  "Return the folders of the cache into which a module was built or fetched."
  (let ((cache (passepartout-module--cache)))
    (and (file-directory-p cache)
         (directory-files cache t "\\`\\(?:built\\|fetched\\)-[0-9a-f]\\{20\\}\\'"
                          t))))

(defun passepartout-module--candidates ()
  "Return the files that may be the module and are not of another version."
  (seq-remove #'passepartout-module--other-version
              (passepartout-module--all)))

(defun passepartout-module-file ()
  "Return the file of the compiled module, or nil when there is none."
  (if passepartout-module-file
      (let ((file (expand-file-name passepartout-module-file)))
        (and (file-readable-p file) file))
    (car (passepartout-module--candidates))))

;;;; Looking before loading

(defun passepartout-module--beside (file)
  "Return the file that says which version FILE, a module, is."
  (expand-file-name "passepartout.version" (file-name-directory file)))

(defun passepartout-module-sidecar (file)
  "Return the version and the sum of FILE, a module, that stand beside it.
They are a list of two texts; nil when nothing stands there.  What is
older than the module was written of another one."
  (let ((beside (passepartout-module--beside file)))
    (and (file-readable-p beside)
         (not (file-newer-than-file-p file beside))
         (with-temp-buffer
           (insert-file-contents-literally beside nil 0 200)
           (if (looking-at
                "\\([0-9][-.+0-9A-Za-z]*\\) \\([0-9a-f]\\{64\\}\\)\n?\\'")
               (list (match-string 1) (match-string 2))
             ;; What cannot be read vouches for nothing.
             (list "unknown" ""))))))

(defun passepartout-module-write-sidecar (file version sum)
  "Write beside FILE, a module, that it is of VERSION and has the SUM."
  (with-file-modes #o644
    (write-region (format "%s %s\n" version sum) nil
                  (passepartout-module--beside file) nil 'quiet)))

(defun passepartout-module--other-version (file)
  "Return the version of FILE, a module, when it is known to be another one."
  (let ((version (car (passepartout-module-sidecar file))))
    (and version (not (equal version passepartout-version)) version)))

(defconst passepartout-module--machines
  '((3 . "i686") (40 . "arm") (62 . "x86_64") (183 . "aarch64")
    (243 . "riscv64") (#x01000007 . "x86_64") (#x0100000c . "aarch64"))
  "Names of machines by their numbers, in ELF and in Mach-O.")

(defun passepartout-module-machine ()
  "Return the name of the machine that this Emacs was made for."
  (let ((name (car (split-string system-configuration "-"))))
    (cond ((equal name "amd64") "x86_64")
          ((equal name "arm64") "aarch64")
          ((string-match-p "\\`i[3-6]86\\'" name) "i686")
          ((string-prefix-p "arm" name) "arm")
          (t name))))

(defun passepartout-module--number (bytes at size)
  "Return the number of SIZE bytes in BYTES at AT, the lowest byte first."
  (let ((number 0))
    (dotimes (n size)
      (setq number (logior number (ash (aref bytes (+ at n)) (* 8 n)))))
    number))

(defun passepartout-module--looks (file)
  "Return what the first bytes of FILE, a module, say: (KIND MACHINE SIZE).
KIND is `elf' or `mach-o', MACHINE a name or nil, and SIZE how many bytes
there must be, or nil.  Return nil of a file of which nothing is known."
  (let ((bytes (with-temp-buffer
                 (set-buffer-multibyte nil)
                 (insert-file-contents-literally file nil 0 64)
                 (buffer-string))))
    (cond
     ;; 64 bits, the lowest byte first: the others say nothing here.
     ((and (= 64 (length bytes)) (string-prefix-p "\177ELF\2\1" bytes))
      (list 'elf
            (cdr (assq (passepartout-module--number bytes 18 2)
                       passepartout-module--machines))
            ;; The table of sections is what stands last.
            (+ (passepartout-module--number bytes 40 8)
               (* (passepartout-module--number bytes 58 2)
                  (passepartout-module--number bytes 60 2)))))
     ((and (<= 8 (length bytes))
           (string-prefix-p (unibyte-string #xcf #xfa #xed #xfe) bytes))
      (list 'mach-o
            (cdr (assq (passepartout-module--number bytes 4 4)
                       passepartout-module--machines))
            nil)))))

(defun passepartout-module--fault (file)
  "Return a sentence on why FILE, a module, cannot be loaded, or nil."
  (let ((other (passepartout-module--other-version file))
        (size (file-attribute-size (file-attributes file))))
    (pcase-let* ((`(,kind ,machine ,whole) (passepartout-module--looks file))
                 (wanted (pcase system-type
                           ('gnu/linux 'elf)
                           ('darwin 'mach-o))))
      (cond
       (other
        (format "The module %s is version %s, but the Lisp is %s. %s"
                file other passepartout-version
                (passepartout-module--way)))
       ((= size 0)
        (format "The module %s is empty. %s" file (passepartout-module--way)))
       ((and kind wanted
             (or (not (eq kind wanted))
                 (and machine
                      (not (equal machine (passepartout-module-machine))))))
        (format "The module %s was made for %s (%s), and this Emacs runs on \
%s (%s). %s"
                file (or machine "another machine") kind
                (passepartout-module-machine) wanted
                (passepartout-module--way)))
       ;; To load what is cut short can kill Emacs.
       ((and whole (< size whole))
        (format "The module %s is cut short: it has %d of %d bytes. %s"
                file size whole (passepartout-module--way)))))))

(defun passepartout-module--check-sum (file sum)
  "Leave with an error when FILE has not the SUM that stands beside it."
  (let ((told (cadr (passepartout-module-sidecar file))))
    (when (and told (not (equal told sum)))
      (signal 'passepartout-module-error
              (list (format "The module %s is damaged: it is not what was \
built. %s"
                            file (passepartout-module--way)))))))

(defun passepartout-module--way ()
  "Return a sentence on how to get the module."
  (require 'passepartout-install)
  (passepartout-install-hint))

;;;; Copying

(defun passepartout-module--known (files)
  "Return the file that keeps the hash of FILES as they are now."
  (let ((about (mapcar
                (lambda (file)
                  (let ((about (file-attributes file)))
                    (list (file-truename file)
                          (file-attribute-size about)
                          (file-attribute-inode-number about)
                          (file-attribute-modification-time about)
                          (file-attribute-status-change-time about))))
                files)))
    (expand-file-name
     (concat "hash-" (secure-hash 'sha256 (prin1-to-string about)))
     (passepartout-module--cache))))

(defun passepartout-module--hash (&rest files)
  "Return the first characters of the hash of the contents of FILES.
Reading them takes a fifth of a second, so the hash is kept in the
cache until they change."
  (let* ((known (passepartout-module--known files))
         (hash (and (file-readable-p known)
                    (with-temp-buffer
                      (insert-file-contents-literally known)
                      (buffer-string)))))
    (if (and hash (string-match-p "\\`[0-9a-f]\\{20\\}\\'" hash))
        (ignore-errors (set-file-times known))
      (setq hash (passepartout-module--hash-contents files))
      (passepartout-module--make-cache)
      (with-file-modes #o600
        (write-region hash nil known nil 'quiet)))
    hash))

(defun passepartout-module-sum (file)
  "Return the SHA-256 of the contents of FILE, as digits."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally file)
    (secure-hash 'sha256 (current-buffer))))

(defun passepartout-module--hash-contents (files)
  "Return the first characters of the hash of the contents of FILES.
The first of them is the module, which must have the sum that stands
beside it."
  (let ((hashes (mapcar #'passepartout-module-sum files)))
    (passepartout-module--check-sum (car files) (car hashes))
    (substring (secure-hash 'sha256 (mapconcat #'identity hashes " ")) 0 20)))

(defun passepartout-module--cache ()
  "Return the folder for the copies of the module."
  (expand-file-name
   "passepartout/module/"
   (or (let ((cache (getenv "XDG_CACHE_HOME")))
         (and cache (file-name-absolute-p cache) cache))
       "~/.cache/")))

(defun passepartout-module--make-cache ()
  "Make the folder for the copies of the module."
  (with-file-modes #o700
    (make-directory (passepartout-module--cache) t)))

(defun passepartout-module--forget ()
  "Delete what is in the cache and has not been used for a long time.
Each use of a copy, by whichever Emacs, gives it a new date."
  (let ((oldest (time-subtract
                 nil (days-to-time passepartout-module--keep-days))))
    (dolist (file (directory-files
                   (passepartout-module--cache) t
                   "\\`\\(?:passepartout\\|hash\\|draft\\)-" t))
      (when (time-less-p (file-attribute-modification-time
                          (file-attributes file))
                         oldest)
        (ignore-errors
          (if (file-directory-p file)
              (delete-directory file t)
            (delete-file file)))))
    (dolist (folder (passepartout-module--kept))
      (when (and (time-less-p (file-attribute-modification-time
                               (file-attributes folder))
                              oldest)
                 (seq-every-p #'passepartout-module--other-version
                              (directory-files folder t "\\.\\(?:so\\|dylib\\)\\'")))
        (ignore-errors (delete-directory folder t))))))

(defun passepartout-module--place (file name)
  "Copy FILE into the cache under NAME, unless it is there; return the copy."
  (let* ((folder (passepartout-module--cache))
         (copy (expand-file-name name folder)))
    ;; One of another size was damaged since; it is replaced, not changed.
    (if (and (file-exists-p copy)
             (= (file-attribute-size (file-attributes copy))
                (file-attribute-size (file-attributes file))))
        (ignore-errors (set-file-times copy))
      (passepartout-module--make-cache)
      (with-file-modes #o700
        (let ((draft (make-temp-file (expand-file-name "draft-" folder))))
          (copy-file file draft t)
          (set-file-modes draft #o700)
          (rename-file draft copy t))))
    copy))

(defun passepartout-module--copy (file)
  "Return a copy of FILE that is named by the hash of its contents.
The launcher, when it lies beside FILE, is copied under the same hash,
which is then the hash of both: a mended launcher alone is new as well."
  (let* ((beside (expand-file-name "passepartout-run"
                                   (file-name-directory file)))
         (launcher (and (file-executable-p beside) beside))
         (hash (apply #'passepartout-module--hash
                      (delq nil (list file launcher)))))
    (when launcher
      (passepartout-module--place launcher (concat "passepartout-run-" hash)))
    (passepartout-module--place
     file (concat "passepartout-" hash module-file-suffix))))

(defun passepartout-module-launcher ()
  "Return the launcher that belongs to the loaded module, or nil."
  (when (and passepartout-module--loaded
             (string-match "passepartout-\\([0-9a-f]+\\)[^/]*\\'"
                           passepartout-module--loaded))
    (let ((file (expand-file-name
                 (concat "passepartout-run-"
                         (match-string 1 passepartout-module--loaded))
                 (file-name-directory passepartout-module--loaded))))
      (and (file-executable-p file) file))))

;;;; Loading

(defun passepartout-module-loaded-p ()
  "Return non-nil when the module is loaded."
  (fboundp 'passepartout--mod-start))

(defun passepartout-module-obstacle ()
  "Return a sentence on why the module cannot be used, or nil."
  (cond
   ((passepartout-module-loaded-p)
    (unless (equal (passepartout--mod-version) passepartout-version)
      (format "The loaded module is version %s, but the Lisp is %s. %s"
              (passepartout--mod-version) passepartout-version
              (if (passepartout-module-file)
                  "The module for it is there: restart Emacs once"
                (concat (passepartout-module--way)
                        ", then restart Emacs once")))))
   ((not (bound-and-true-p module-file-suffix))
    "This Emacs was built without support for modules. \
Passepartout needs an Emacs with it (configure --with-modules), or a core \
that runs elsewhere (M-x passepartout-connect)")
   ((and passepartout-module-file (not (passepartout-module-file)))
    (format "The file %s of `passepartout-module-file' cannot be read"
            passepartout-module-file))
   ((passepartout-module-file)
    (passepartout-module--fault (passepartout-module-file)))
   (t
    (let ((other (seq-some #'passepartout-module--other-version
                           (passepartout-module--all))))
      (concat (if other
                  (format "The module that is there is version %s, but the \
Lisp is %s. "
                          other passepartout-version)
                "The module has not been built yet. ")
              (passepartout-module--way))))))

(defun passepartout-module-load ()
  "Load the module unless it is loaded, or say plainly why not."
  (when (and (bound-and-true-p module-file-suffix)
             (not passepartout-module-file)
             (passepartout-module--asked-for-p)
             (passepartout-module-obstacle)
             ;; One that is there and fits wants a restart only.
             (not (and (passepartout-module-loaded-p)
                       (passepartout-module-file))))
    (require 'passepartout-install)
    (passepartout-install-offer))
  (passepartout-module--complain)
  (unless (passepartout-module-loaded-p)
    (let ((copy (passepartout-module--copy (passepartout-module-file))))
      (when (equal copy passepartout-module--loaded)
        (signal 'passepartout-module-error
                (list (format "%s failed to load before. Restart Emacs" copy))))
      (setq passepartout-module--loaded copy)
      (condition-case problem
          (module-load copy)
        (module-open-failed
         (signal 'passepartout-module-error
                 (list (passepartout-module--unopened problem)))))
      (passepartout-module--forget)
      (passepartout-module--complain))))

(defun passepartout-module--complain ()
  "Leave with an error when something keeps the module from being used."
  (let ((obstacle (passepartout-module-obstacle)))
    (when obstacle
      (signal 'passepartout-module-error (list obstacle)))))

(defun passepartout-module--unopened (problem)
  "Return a sentence on PROBLEM, which kept the system from opening the module."
  (let ((told (mapconcat (lambda (part) (format "%s" part))
                         (cdr problem) ": ")))
    (if (string-match-p "GLIBC\\|GLIBCXX\\|version .* not found" told)
        (format "The module was built on a newer system than this one, whose \
libraries it needs (%s). Build it here with M-x passepartout-module-build"
                told)
      (format "The system cannot open the module (%s). %s"
              told (passepartout-module--way)))))

(defun passepartout-module--asked-for-p ()
  "Return non-nil when a command of ours is running that may ask questions.
Opening a file, which turns on a mode, and timers never ask, and neither
does an Emacs that runs a script."
  (and (not noninteractive)
       (symbolp this-command)
       (string-prefix-p "passepartout-" (symbol-name this-command))
       (not (string-suffix-p "-mode" (symbol-name this-command)))))

(defun passepartout-module-fail (problem)
  "Signal PROBLEM, an error of ours, and in a command as a sentence.
Emacs shows the text of any error but a `user-error' as Lisp."
  (if (or (passepartout-module--asked-for-p)
          (and (not noninteractive) (eq this-command 'push-button)))
      (user-error "%s" (passepartout-error-text problem))
    (signal (car problem) (cdr problem))))

(provide 'passepartout-module)
;;; passepartout-module.el ends here
