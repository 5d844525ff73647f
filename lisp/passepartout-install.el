;;; passepartout-install.el --- Build or fetch the module  -*- lexical-binding: t; -*-

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

;; At its first use the package has no module yet.  A command then asks
;; one question: build it here with cargo, or fetch the files that were
;; built for this version and this kind of machine, where a release says
;; in its Lisp where they are and what their sums must be.  Scripts,
;; timers and files that are opened never ask.
;;
;; Nothing is written over what is there: what is fetched goes to a new
;; folder that gets its name when all of it has come and has its sum.
;; Emacs cannot unload a module, so a new one counts after a restart.

;;; Code:

(require 'passepartout-module)
(eval-when-compile (require 'subr-x))
;; A release has it; a checkout of the sources has not.
(require 'passepartout-prebuilt nil t)

(declare-function compilation-start "compile")
(defvar compilation-finish-functions)
(defvar url-http-end-of-headers)
(defvar url-mime-encoding-string)

(defvar passepartout-install-prebuilt nil
  "Where the module can be had ready made, by kind of machine.
Each is (KIND VERSION ADDRESS (NAME . SUM)...): KIND is as in
\"x86_64-linux\", ADDRESS ends with a slash and goes before each NAME,
and SUM is the SHA-256 of that file.  The first file is the module.
The release sets it; what is of another version is not used.")

;; It decides what native code is loaded; no file may say that.
(put 'passepartout-install-prebuilt 'risky-local-variable t)

(defvar passepartout-install--fetching nil
  "The folder into which files are being fetched, or nil.")

(defvar passepartout-install--declined nil
  "Non-nil when the user wanted no module for now.")

(defconst passepartout-install--buffer-name "*Passepartout build*"
  "The name of the buffer in which the module is built or fetched.")

;;;; Which ways there are

(defun passepartout-install--kind ()
  "Return the name of this kind of machine, as in \"x86_64-linux\"."
  (concat (passepartout-module-machine) "-"
          (pcase system-type
            ('gnu/linux "linux")
            (other (symbol-name other)))))

(defun passepartout-install--ready ()
  "Return where files for this version and machine can be had, or nil.
It is a list of their address and of pairs of name and sum."
  (pcase (assoc (passepartout-install--kind) passepartout-install-prebuilt)
    (`(,_ ,(pred (equal passepartout-version)) . ,rest) rest)))

(defun passepartout-install--sources-p ()
  "Return non-nil when the sources of the module are there."
  (and (file-exists-p (expand-file-name "Cargo.toml" passepartout-module--root))
       (file-directory-p (expand-file-name "src" passepartout-module--root))))

(defun passepartout-install--cargo-folders ()
  "Return the folders into which rustup installs, the usual one last.
An Emacs that was not started from a shell often has none on its PATH."
  (mapcar (lambda (home) (expand-file-name "bin/" home))
          (delq nil (list (let ((home (getenv "CARGO_HOME")))
                            (and home (file-name-absolute-p home) home))
                          "~/.cargo"))))

(defun passepartout-install-cargo ()
  "Return the file of cargo, or nil when there is none here."
  (or (executable-find "cargo")
      (seq-find (lambda (file)
                  (and (file-regular-p file) (file-executable-p file)))
                (mapcar (lambda (folder) (expand-file-name "cargo" folder))
                        (passepartout-install--cargo-folders)))))

(defun passepartout-install--environment (cargo)
  "Return an environment in which the folder of CARGO is on the PATH.
What cargo calls, as rustc, lies beside it."
  (let ((folder (and (file-name-absolute-p cargo)
                     (directory-file-name (file-name-directory cargo))))
        (path (getenv "PATH")))
    (if (or (null folder)
            (member folder (mapcar #'directory-file-name
                                   (split-string (or path "") path-separator
                                                 t))))
        process-environment
      ;; Behind the others: what is found without it stays what it is.
      (cons (concat "PATH=" (and path (concat path path-separator)) folder)
            process-environment))))

(defun passepartout-install--no-build ()
  "Return a sentence on why the module cannot be built here, or nil."
  (cond
   ((not (passepartout-install--sources-p))
    (format "The sources are not in %s; load the Lisp from a clone of the \
repository" passepartout-module--root))
   ((not (passepartout-install-cargo))
    "There is no cargo here; install a Rust toolchain (https://rustup.rs)")
   ((not (seq-some #'executable-find '("cc" "gcc" "clang")))
    "There is no C compiler here (cc); install one, such as the package gcc")))

(defun passepartout-install-hint ()
  "Return words, without a full stop, on how to get the module here."
  (let ((ready (passepartout-install--ready))
        (obstacle (passepartout-install--no-build)))
    (cond
     ((and ready obstacle) "Fetch it with M-x passepartout-module-fetch")
     (ready "Build it with M-x passepartout-module-build, or fetch it with \
M-x passepartout-module-fetch")
     ((not obstacle) "Build it with M-x passepartout-module-build")
     ((not (passepartout-install--sources-p)) obstacle)
     (t (concat obstacle ", then build the module with \
M-x passepartout-module-build")))))

;;;; The question

(defun passepartout-install--choices ()
  "Return the choices that there are here, for `read-multiple-choice'."
  (append
   (unless (passepartout-install--no-build)
     '((?b "build" "Build it here with cargo, which takes some minutes and \
fetches the libraries that it is made of")))
   (when (passepartout-install--ready)
     `((?f "fetch" ,(format "Fetch what was built for %s, from %s, and compare \
its sum"
                            (passepartout-install--kind)
                            (car (passepartout-install--ready))))))
   '((?n "not now" "Do nothing; no question comes again in this session")
     (?v "never" "Do nothing, and save that no question comes again; the \
commands for it stay"))))

(defun passepartout-install-offer ()
  "Ask whether the module is to be built or fetched, and begin with it.
That is asked once in a session, and not where neither can be done or
`passepartout-module-install' says what is to be done.
Leave with an error that says how to go on; return when nothing is asked."
  (passepartout-install--check-idle)
  (let ((choices (passepartout-install--choices)))
    (unless (or passepartout-install--declined
                (not (or (assq ?b choices) (assq ?f choices))))
      (pcase (pcase passepartout-module-install
               ('never nil)
               ('build (car (assq ?b choices)))
               ('fetch (car (assq ?f choices)))
               (_ (car (read-multiple-choice
                        "Passepartout's module is not there yet.  Get it now?"
                        choices))))
        (?b (passepartout-module-build)
            (user-error "Building; call the command again when it is done"))
        (?f (passepartout-module-fetch)
            (user-error "Fetching; call the command again when it is done"))
        (?v (customize-save-variable 'passepartout-module-install 'never)
            (user-error "%s, when you like" (passepartout-install-hint)))
        (?n (setq passepartout-install--declined t)
            (user-error "%s, when you like" (passepartout-install-hint)))))))

(defun passepartout-install--check-idle ()
  "Leave with an error while the module is being built or fetched.
Both report in one buffer; to kill it is to give them up."
  (cond
   ((get-buffer-process passepartout-install--buffer-name)
    (user-error "The module is being built; call the command again when \
that is done"))
   ((and passepartout-install--fetching
         (get-buffer passepartout-install--buffer-name))
    (user-error "The module is being fetched; call the command again when \
that is done, or kill the buffer %s to give it up"
                passepartout-install--buffer-name))))

(defun passepartout-install--done ()
  "Say that the module is there."
  (message "Passepartout: %s"
           (if (passepartout-module-loaded-p)
               "the new module is there; it counts when you restart Emacs once"
             "the module is there; call the command again")))

;;;; Building

(defconst passepartout-install--faults
  '(("linker `[^`']*[`'] not found\\|failed to find tool .*cc\\|cc: not found"
     . "There is no C compiler: install one, such as the package gcc.")
    ("requires rustc [0-9.]+\\|rustc [0-9.]+ is not supported\\|\
edition2024.* is required"
     . "The Rust toolchain is too old: update it (rustup update).")
    ("No space left on device\\|Disk quota exceeded"
     . "The disk is full: building needs some 3 GB; make room.")
    ("signal: 9\\|SIGKILL\\|Cannot allocate memory\\|out of memory"
     . "Memory did not suffice: end other programs, or build with \
CARGO_BUILD_JOBS=1 in the environment.")
    ("[Cc]ould not resolve host\\|failed to download\\|\
failed to get `\\|Connection refused\\|network failure\\|Network is unreachable\
\\|timed out"
     . "Cargo could not fetch the libraries: look at the network, and at the \
proxy if there is one.")
    ("lock file .* needs to be updated\\|--locked was passed"
     . "The sources are not whole: fetch or clone them again.")
    ("Permission denied\\|Read-only file system"
     . "A folder cannot be written: look which one the lines above name."))
  "What in the words of cargo means what; the first that is found is told.")

(defun passepartout-install--explain (text)
  "Return a sentence on what TEXT, what a build that failed said, means."
  (or (cdr (seq-find (lambda (fault) (string-match-p (car fault) text))
                     passepartout-install--faults))
      "The first line above that begins with “error” says what it was."))

(defun passepartout-install--target ()
  "Return the folder that cargo builds in.
Package managers delete, link and copy the folder of the sources, and
some keep it from being written; a build is some GB."
  (expand-file-name "target" (passepartout-module--cache)))

(defun passepartout-install--version ()
  "Return the version that Cargo.toml says."
  (with-temp-buffer
    (insert-file-contents (expand-file-name "Cargo.toml"
                                            passepartout-module--root))
    (and (re-search-forward "^version = \"\\([^\"\n]+\\)\"" nil t)
         (match-string 1))))

(defun passepartout-install--built (target)
  "Keep what is wanted of what cargo left in TARGET, and remove the rest.
Return the module, or nil when there is none."
  (let* ((release (expand-file-name "release/" target))
         (there (lambda (name)
                  (file-readable-p (expand-file-name name release))))
         (module (seq-find there (passepartout-module--names)))
         (version (passepartout-install--version)))
    (when (and module version)
      (passepartout-module--make-cache)
      (let ((draft (with-file-modes #o700
                     (make-temp-file (expand-file-name
                                      "draft-" (passepartout-module--cache))
                                     t)))
            (files nil))
        (unwind-protect
            (progn
              (dolist (name (list module "passepartout-run" "passepartout"))
                (when (funcall there name)
                  (let ((file (expand-file-name name draft)))
                    (copy-file (expand-file-name name release) file)
                    (push (cons name (passepartout-module-sum file)) files))))
              (prog1 (passepartout-install--place draft (nreverse files)
                                                  "built-" version)
                (passepartout-install--remove target)))
          (ignore-errors (delete-directory draft t)))))))

(defun passepartout-install--remove (folder)
  "Remove FOLDER, some GB in many files; nobody waits for that."
  (let ((away (make-temp-name (expand-file-name
                               "draft-" (passepartout-module--cache)))))
    (ignore-errors
      ;; Whoever builds next does not meet what is being removed.
      (rename-file folder away)
      (call-process "rm" nil 0 nil "-rf" "--" away))))

(defun passepartout-install--finish (buffer outcome target)
  "Say in BUFFER what came of a build in TARGET that ended with OUTCOME."
  (with-current-buffer buffer
    (let* ((problem nil)
           (file (and (string-prefix-p "finished" outcome)
                      (condition-case caught
                          (passepartout-install--built target)
                        (file-error
                         (setq problem (error-message-string caught))
                         nil))))
           (inhibit-read-only t))
      (goto-char (point-max))
      (insert "\n"
              (cond (file (format "The module is there, in %s."
                                  (abbreviate-file-name
                                   (file-name-directory file))))
                    (problem (concat "What was built cannot be kept: " problem))
                    ((string-prefix-p "finished" outcome)
                     (format "Cargo left no module in %s." target))
                    (t (passepartout-install--explain (buffer-string))))
              "\n")
      (if file
          (passepartout-install--done)
        (message "Passepartout: the module was not built; %s says why"
                 (buffer-name))))))

;;;###autoload
(defun passepartout-module-build ()
  "Build the module with cargo, in a compilation buffer."
  (interactive)
  (passepartout-install--check-idle)
  (let ((obstacle (passepartout-install--no-build)))
    (when obstacle (user-error "%s" obstacle)))
  (require 'compile)
  (let* ((default-directory passepartout-module--root)
         (target (passepartout-install--target))
         (process-environment
          (passepartout-install--environment (passepartout-install-cargo)))
         ;; Wherever the user has cargo build: it is found here only.
         (buffer (compilation-start
                  (concat "cargo build --release --locked --target-dir "
                          (shell-quote-argument target))
                  nil
                  (lambda (_mode) passepartout-install--buffer-name))))
    (with-current-buffer buffer
      (add-hook 'compilation-finish-functions
                (lambda (buffer outcome)
                  (passepartout-install--finish buffer outcome target))
                nil t))
    buffer))

;;;; Fetching

(defun passepartout-install--say (format &rest arguments)
  "Add the line that FORMAT makes of ARGUMENTS to the buffer of the build."
  (with-current-buffer (get-buffer-create passepartout-install--buffer-name)
    (unless (derived-mode-p 'special-mode) (special-mode))
    (let ((inhibit-read-only t))
      (goto-char (point-max))
      (insert (apply #'format format arguments) "\n"))))

(defun passepartout-install--address-p (address)
  "Return non-nil when ADDRESS may be fetched from.
The sum decides about what comes; this keeps from others what is fetched."
  (string-match-p
   "\\`\\(?:https://\\|file:///\\|http://\\(?:127\\.0\\.0\\.1\\|localhost\\)[:/]\\)"
   address))

(defun passepartout-install--get (address then)
  "Fetch ADDRESS, and call THEN with its bytes, or with nil and a sentence."
  (cond
   ((not (passepartout-install--address-p address))
    (funcall then nil (format "%s is not fetched: only https is" address)))
   ((string-prefix-p "file://" address)
    (let ((file (substring address (length "file://"))))
      (if (not (file-readable-p file))
          (funcall then nil (format "%s cannot be read" file))
        (apply then
               (condition-case problem
                   (list (with-temp-buffer
                           (set-buffer-multibyte nil)
                           (insert-file-contents-literally file)
                           (buffer-string))
                         nil)
                 (error (list nil (error-message-string problem))))))))
   (t
    (require 'url)
    (let* ((url-mime-encoding-string "identity")
           (problem (condition-case problem
                        (progn
                          (url-retrieve address #'passepartout-install--got
                                        (list address then) nil t)
                          nil)
                      (error (error-message-string problem)))))
      (when problem
        (funcall then nil (format "%s cannot be fetched: %s"
                                  address problem)))))))

(defun passepartout-install--got (status address then)
  "Call THEN with what came from ADDRESS with STATUS, in this buffer."
  (let ((buffer (current-buffer))
        (problem (plist-get status :error))
        bytes)
    (unless problem
      (set-buffer-multibyte nil)
      (goto-char (if (boundp 'url-http-end-of-headers)
                     (or url-http-end-of-headers (point-min))
                   (point-min)))
      (forward-line 1)
      (setq bytes (buffer-substring-no-properties (point) (point-max))))
    (kill-buffer buffer)
    (funcall then bytes
             (and problem
                  (format "%s cannot be fetched: %s" address
                          (mapconcat (lambda (part) (format "%s" part))
                                     (cdr problem) " "))))))

(defun passepartout-install--files (address files draft then)
  "Fetch FILES, pairs of name and sum, from ADDRESS into the folder DRAFT.
Call THEN with nil at the end, or with a sentence on what went wrong."
  (if (null files)
      (funcall then nil)
    (pcase-let ((`(,name . ,sum) (car files)))
      (passepartout-install--say "Fetching %s%s" address name)
      (passepartout-install--get
       (concat address name)
       (lambda (bytes problem)
         (let ((problem (or problem
                            (passepartout-install--keep
                             (expand-file-name name draft) sum bytes))))
           (if problem
               (funcall then problem)
             (passepartout-install--say "%d bytes, and the sum is right"
                                        (length bytes))
             (passepartout-install--files address (cdr files) draft then))))))))

(defun passepartout-install--keep (file sum bytes)
  "Write BYTES, which must have SUM, into FILE; return nil.
Return a sentence when that cannot be done."
  (let ((is (secure-hash 'sha256 bytes))
        (coding-system-for-write 'no-conversion))
    (if (not (equal is sum))
        (format "%s has come with %d bytes and the sum %s, and must have %s: \
it is damaged or another file, and was thrown away"
                (file-name-nondirectory file) (length bytes) is sum)
      (condition-case problem
          (progn (write-region bytes nil file nil 'quiet)
                 (set-file-modes file #o700)
                 nil)
        (error (error-message-string problem))))))

(defun passepartout-install--whole-p (folder files)
  "Return non-nil when FOLDER holds FILES, pairs of name and sum."
  (seq-every-p (lambda (pair)
                 (let ((file (expand-file-name (car pair) folder)))
                   (and (file-readable-p file)
                        (equal (cdr pair) (passepartout-module-sum file)))))
               files))

(defun passepartout-install--place (draft files beginning version)
  "Give the folder DRAFT with FILES its name, and return the module in it.
The name has BEGINNING, which says where they came from, and the module
is of VERSION.  One that is there and whole may be in use, and stays."
  (let* ((module (caar files))
         (folder (expand-file-name
                  (concat beginning
                          (substring (secure-hash 'sha256 (format "%S" files))
                                     0 20))
                  (passepartout-module--cache))))
    (unless (passepartout-install--whole-p folder files)
      (let ((damaged (and (file-exists-p folder)
                          (make-temp-name (expand-file-name
                                           "draft-"
                                           (passepartout-module--cache))))))
        (when damaged (rename-file folder damaged))
        (rename-file draft folder)
        (when damaged (ignore-errors (delete-directory damaged t)))))
    ;; The newest module counts.
    (set-file-times (expand-file-name module folder))
    (passepartout-module-write-sidecar (expand-file-name module folder)
                                       version (cdar files))
    (expand-file-name module folder)))

(defun passepartout-install--fetched (draft files problem)
  "Finish with DRAFT, into which FILES were fetched.
PROBLEM is a sentence on what went wrong, or nil."
  (let ((problem (or problem
                     (condition-case problem
                         (progn (passepartout-install--say
                                 "%s" (passepartout-install--place
                                       draft files "fetched-"
                                       passepartout-version))
                                nil)
                       (error (error-message-string problem))))))
    (when (equal draft passepartout-install--fetching)
      (setq passepartout-install--fetching nil))
    (ignore-errors (delete-directory draft t))
    (if (not problem)
        (passepartout-install--done)
      (passepartout-install--say "%s." problem)
      (message "Passepartout: the module was not fetched: %s" problem))))

(defun passepartout-install--plain-p (files)
  "Return non-nil when FILES are pairs of a plain name and a sum."
  (and files
       (seq-every-p (lambda (pair)
                      (and (stringp (car-safe pair)) (stringp (cdr pair))
                           (equal (car pair)
                                  (file-name-nondirectory (car pair)))
                           (not (member (car pair) '("" "." "..")))))
                    files)))

;;;###autoload
(defun passepartout-module-fetch ()
  "Fetch the module that was built for this version and machine.
Where it is and what its sum must be stands in the Lisp of the release,
in `passepartout-install-prebuilt'.  Nothing of it is kept, and nothing
loaded, unless each file has its sum."
  (interactive)
  (passepartout-install--check-idle)
  (pcase (passepartout-install--ready)
    (`(,address . ,(and files (pred passepartout-install--plain-p)))
     (passepartout-module--make-cache)
     (let ((draft (with-file-modes #o700
                    (make-temp-file (expand-file-name
                                     "draft-" (passepartout-module--cache))
                                    t))))
       (setq passepartout-install--fetching draft)
       (passepartout-install--files
        address files draft
        (lambda (problem)
          (passepartout-install--fetched draft files problem)))
       (unless noninteractive
         (display-buffer passepartout-install--buffer-name))))
    (_ (user-error "This version names no ready module for %s; %s"
                   (passepartout-install--kind)
                   (or (passepartout-install--no-build)
                       "build it with M-x passepartout-module-build")))))

(provide 'passepartout-install)
;;; passepartout-install.el ends here
