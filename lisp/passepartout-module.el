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
;; twice; and it checks the version.
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
(declare-function compilation-start "compile")

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

(defun passepartout-module-transport ()
  "Return the plist of functions that reach the core.
The module is loaded when it is needed and not there yet."
  (or passepartout-module--transport
      (progn
        (passepartout-module-load)
        (list :start #'passepartout--mod-start
              :send #'passepartout--mod-send
              :receive #'passepartout--mod-receive
              :stop #'passepartout--mod-stop
              :version #'passepartout--mod-version))))

(defun passepartout-module-call (name &rest arguments)
  "Call the function NAME of the transport with ARGUMENTS."
  (apply (plist-get (passepartout-module-transport) name) arguments))

(defun passepartout-module-road (key)
  "Return what the transport has at KEY; nil for the core of this Emacs."
  (plist-get passepartout-module--transport key))

(defun passepartout-module-missing ()
  "Return why the core cannot be reached for want of the module, or nil.
Over another road it is not wanted."
  (and (not passepartout-module--transport)
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

(defun passepartout-module--candidates ()
  "Return the files that may be the module, the best first.
What an installation put into .build comes first, then the newest of
what cargo built, or \"make build\" put into a folder of .build."
  (let ((placed nil) (built nil)
        (folders (append '("target/release/" "target/debug/")
                         (passepartout-module--folders))))
    (dolist (name (passepartout-module--names))
      (let ((file (expand-file-name (concat ".build/" name)
                                    passepartout-module--root)))
        (when (file-readable-p file) (push file placed)))
      (dolist (folder folders)
        (let ((file (expand-file-name (concat folder name)
                                      passepartout-module--root)))
          (when (file-readable-p file) (push file built)))))
    (append (nreverse placed)
            (sort built #'file-newer-than-file-p))))

(defun passepartout-module-file ()
  "Return the file of the compiled module, or nil when there is none."
  (if passepartout-module-file
      (let ((file (expand-file-name passepartout-module-file)))
        (and (file-readable-p file) file))
    (car (passepartout-module--candidates))))

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

(defun passepartout-module--hash-contents (files)
  "Return the first characters of the hash of the contents of FILES."
  (let ((hashes (mapcar (lambda (file)
                          (with-temp-buffer
                            (set-buffer-multibyte nil)
                            (insert-file-contents-literally file)
                            (secure-hash 'sha256 (current-buffer))))
                        files)))
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
        (ignore-errors (delete-file file))))))

(defun passepartout-module--place (file name)
  "Copy FILE into the cache under NAME, unless it is there; return the copy."
  (let* ((folder (passepartout-module--cache))
         (copy (expand-file-name name folder)))
    (if (file-exists-p copy)
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
      (format "The loaded module is version %s, but the Lisp is %s. \
Build the module again and restart Emacs once"
              (passepartout--mod-version) passepartout-version)))
   ((not (bound-and-true-p module-file-suffix))
    "This Emacs was built without support for modules. \
Passepartout needs an Emacs with it (configure --with-modules)")
   ((and passepartout-module-file (not (passepartout-module-file)))
    (format "The file %s of `passepartout-module-file' cannot be read"
            passepartout-module-file))
   ((not (passepartout-module-file))
    (concat "The module has not been built yet. "
            (if (executable-find "cargo")
                "Build it with M-x passepartout-module-build"
              "Install a Rust toolchain (https://rustup.rs) and a C compiler, \
then build it with M-x passepartout-module-build")))))

(defun passepartout-module-load ()
  "Load the module unless it is loaded, or say plainly why not."
  (when (and (not (passepartout-module-loaded-p))
             (bound-and-true-p module-file-suffix)
             (not passepartout-module-file)
             (not (passepartout-module-file))
             (passepartout-module--asked-for-p))
    (passepartout-module--offer))
  (let ((obstacle (passepartout-module-obstacle)))
    (when obstacle
      (signal 'passepartout-module-error (list obstacle))))
  (unless (passepartout-module-loaded-p)
    (let ((copy (passepartout-module--copy (passepartout-module-file))))
      (when (equal copy passepartout-module--loaded)
        (signal 'passepartout-module-error
                (list (format "%s failed to load before. Restart Emacs" copy))))
      (setq passepartout-module--loaded copy)
      (module-load copy)
      (passepartout-module--forget)
      (let ((obstacle (passepartout-module-obstacle)))
        (when obstacle
          (signal 'passepartout-module-error (list obstacle)))))))

;;;; Building

(defvar passepartout-module--declined nil
  "Non-nil when the user did not want the module to be built.")

(defconst passepartout-module--build-buffer "*Passepartout build*"
  "The name of the buffer in which the module is built.")

(defun passepartout-module--asked-for-p ()
  "Return non-nil when a command of ours is running that may ask questions.
Opening a file, which turns on a mode, and timers never ask."
  (and (not noninteractive)
       (symbolp this-command)
       (string-prefix-p "passepartout-" (symbol-name this-command))
       (not (string-suffix-p "-mode" (symbol-name this-command)))))

(defun passepartout-module--offer ()
  "Offer to build the module; leave with an error about how to go on."
  (when (get-buffer-process passepartout-module--build-buffer)
    (user-error "The module is being built; call the command again when \
that is done"))
  (when (and (not passepartout-module--declined)
             (executable-find "cargo"))
    (unless (y-or-n-p "Passepartout's module is not built yet.  \
Build it now with cargo? ")
      (setq passepartout-module--declined t)
      (user-error "M-x passepartout-module-build builds it when you like"))
    (passepartout-module-build)
    (user-error "Building; call the command again when it is done")))

;;;###autoload
(defun passepartout-module-build ()
  "Build the module with cargo, in a compilation buffer."
  (interactive)
  (unless (executable-find "cargo")
    (user-error "The program cargo is not there; install a Rust toolchain"))
  (unless (file-exists-p (expand-file-name "Cargo.toml"
                                           passepartout-module--root))
    (user-error "The sources are not in %s; load the Lisp \
from a clone of the repository" passepartout-module--root))
  (require 'compile)
  (let ((default-directory passepartout-module--root))
    ;; Wherever the user has cargo build: it is found here only.
    (compilation-start "cargo build --release --locked --target-dir target" nil
                       (lambda (_mode) passepartout-module--build-buffer))))

(provide 'passepartout-module)
;;; passepartout-module.el ends here
