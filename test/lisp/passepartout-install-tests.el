;;; passepartout-install-tests.el --- Tests of building and fetching the module  -*- lexical-binding: t; no-byte-compile: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The question at the first use, a cargo of paper on the PATH, and files
;; that are fetched from a folder and from a server on loopback: whole,
;; cut short, others, and not there.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'passepartout-install)
(require 'passepartout-module-tests)

(defun passepartout-install-tests--said ()
  "Return what the buffer of the build says."
  (if (get-buffer passepartout-install--buffer-name)
      (with-current-buffer passepartout-install--buffer-name (buffer-string))
    ""))

(defun passepartout-install-tests--until (predicate)
  "Let processes go on until PREDICATE holds; fail when it does not come to."
  (let ((left 400))
    (while (and (> left 0) (not (funcall predicate)))
      (setq left (1- left))
      (accept-process-output nil 0.05))
    (should (funcall predicate))))

(defmacro passepartout-install-tests--with (&rest body)
  "Run BODY in a project of its own; HEARD is what was said, the last first."
  (declare (indent 0) (debug t))
  `(passepartout-module-tests--in nil
     (let ((heard nil))
       (ignore heard)
       (cl-letf (((symbol-function 'message)
                  (lambda (format &rest arguments)
                    (when format
                      (push (apply #'format format arguments) heard)))))
         (unwind-protect
             (progn ,@body)
           (when (get-buffer passepartout-install--buffer-name)
             (let ((kill-buffer-query-functions nil))
               (kill-buffer passepartout-install--buffer-name))))))))

;;;; Building

(defun passepartout-install-tests--program (root name script)
  "Put a program that runs SCRIPT below ROOT as NAME."
  (set-file-modes (passepartout-module-tests--write
                   root name (concat "#!/bin/sh\n" script "\n"))
                  #o755))

(defun passepartout-install-tests--cargo (root script)
  "Put a cargo that runs SCRIPT below ROOT first on the PATH, and a cc."
  (let ((folder (expand-file-name "bin/" root)))
    (pcase-dolist (`(,name . ,script) `(("cargo" . ,script) ("cc" . "exit 1")))
      (passepartout-install-tests--program root (concat "bin/" name) script))
    (setq exec-path (cons folder exec-path))
    (setenv "PATH" (concat folder ":" (getenv "PATH")))))

(defun passepartout-install-tests--build (root script)
  "Build below ROOT with a cargo that runs SCRIPT, and wait for its end."
  (let ((exec-path exec-path))
    (passepartout-install-tests--cargo root script)
    (let ((buffer (passepartout-module-build)))
      (passepartout-install-tests--until
       (lambda () (not (get-buffer-process buffer)))))))

(ert-deftest passepartout-install-what-cargo-built-has-its-version-beside-it ()
  (passepartout-install-tests--with
    (passepartout-install-tests--build
     root "echo \"$@\" > args; echo Compiling libc
           mkdir -p \"${5}/release/deps\"; cd \"$5/release\"
           for name in libpassepartout.so passepartout passepartout-run
           do echo built > $name; chmod 755 $name; done")
    (should (string-prefix-p "build --release --locked --target-dir "
                             (with-temp-buffer
                               (insert-file-contents
                                (expand-file-name "args" root))
                               (buffer-string))))
    (let ((file (passepartout-module-file)))
      (should (string-match-p
               "/cache/passepartout/module/built-[0-9a-f]\\{20\\}/libpassepartout\\.so\\'"
               file))
      (dolist (name '("passepartout" "passepartout-run"))
        (should (file-executable-p
                 (expand-file-name name (file-name-directory file)))))
      ;; What it was built of is gone, and nothing lies with the sources.
      (should-not (file-exists-p (passepartout-install--target)))
      (should-not (file-exists-p (expand-file-name "target" root)))
      (should (equal (list "0.1.0" (secure-hash 'sha256 "built\n"))
                     (passepartout-module-sidecar file))))
    (should (string-search "Compiling libc" (passepartout-install-tests--said)))
    (should (string-search "the module is there; call the command again"
                           (car heard)))
    ;; In an Emacs that has another one loaded it counts later.
    (cl-letf (((symbol-function 'passepartout-module-loaded-p) #'always))
      (passepartout-install--done)
      (should (string-search "restart Emacs once" (car heard))))))

(defconst passepartout-install-tests--project
  (expand-file-name "../../" (file-name-directory
                              (or load-file-name buffer-file-name)))
  "Folder of the project.")

(ert-deftest passepartout-install-make-build-writes-the-version-too ()
  (passepartout-install-tests--with
    (let ((script (expand-file-name "test/scripts/place.sh"
                                    passepartout-install-tests--project))
          (process-environment (cons "CARGO_TARGET_DIR=target"
                                     process-environment)))
      (make-directory (expand-file-name "test/scripts" root) t)
      (copy-file script (expand-file-name "test/scripts/" root))
      (dolist (name '("libpassepartout.so" "passepartout" "passepartout-run"))
        (passepartout-module-tests--write root (concat "target/release/" name)
                                          name))
      (let ((sidecar (list "0.1.0" (secure-hash 'sha256 "libpassepartout.so")))
            (default-directory root))
        ;; The second time it finds what the first one has placed.
        (dotimes (_ 2)
          (should (zerop (call-process "sh" nil nil nil
                                       "test/scripts/place.sh" "release")))
          (let ((placed (passepartout-module--folders)))
            (should (= 1 (length placed)))
            (dolist (folder (cons "target/release/" placed))
              (should (equal sidecar
                             (passepartout-module-sidecar
                              (expand-file-name
                               (concat folder "libpassepartout.so")
                               root)))))))))))

(ert-deftest passepartout-install-a-build-that-fails-is-explained ()
  (pcase-dolist
      (`(,script ,words)
       '(("echo 'error: linker `cc` not found' >&2; exit 101"
          "There is no C compiler")
         ("echo 'error: package needs: requires rustc 1.95 or newer'; exit 101"
          "The Rust toolchain is too old")
         ("echo 'error: No space left on device (os error 28)'; exit 101"
          "The disk is full")
         ("echo 'process didn’t exit successfully (signal: 9, SIGKILL: kill)'; exit 101"
          "Memory did not suffice")
         ("echo 'error: failed to get `x` as a dependency'; exit 101"
          "could not fetch the libraries")
         ("echo 'error: cannot update the lock file /x/Cargo.lock because --locked was passed'; exit 101"
          "The sources are not whole")
         ("echo 'error: Permission denied (os error 13)'; exit 101"
          "A folder cannot be written")
         ("echo 'error[E0999]: a strange one'; exit 101"
          "The first line above that begins with “error”")
         ("exit 0" "Cargo left no module in ")))
    (passepartout-install-tests--with
      (passepartout-install-tests--build root script)
      (should (string-search words (passepartout-install-tests--said)))
      (should (string-search "was not built" (car heard)))
      (should-not (passepartout-module-file)))))

(ert-deftest passepartout-install-what-cannot-be-kept-is-told ()
  (passepartout-install-tests--with
    (cl-letf (((symbol-function 'copy-file)
               (lambda (&rest _) (signal 'file-error '("No space" "disk")))))
      (passepartout-install-tests--build
       root "mkdir -p \"$5/release\"; echo x > \"$5/release/libpassepartout.so\""))
    (should (string-search "cannot be kept: No space"
                           (passepartout-install-tests--said)))
    (should (string-search "was not built" (car heard)))
    ;; What was built can still be kept the next time.
    (should (file-exists-p (passepartout-install--target)))
    (should-not (seq-find (lambda (name) (string-prefix-p "draft-" name))
                          (passepartout-install-tests--left root)))))

(ert-deftest passepartout-install-cargo-is-found-where-rustup-puts-it ()
  (dolist (place '("cargo/bin/" "home/.cargo/bin/"))
    (passepartout-install-tests--with
      (let ((exec-path (list (expand-file-name "bin/" root))))
        (setenv "PATH" (concat root "bin:/usr/bin:/bin"))
        (passepartout-install-tests--program root "bin/cc" "exit 1")
        (should (string-search "no cargo" (passepartout-install-hint)))
        (passepartout-install-tests--program
         root (concat place "cargo") "rustc > \"$5/../said\"; exit 1")
        (passepartout-install-tests--program
         root (concat place "rustc") "echo beside; echo \"$PATH\"")
        (make-directory (passepartout-install--target) t)
        (should-not (passepartout-install--no-build))
        (let ((buffer (passepartout-module-build)))
          (passepartout-install-tests--until
           (lambda () (not (get-buffer-process buffer)))))
        (should (equal (format "beside\n%sbin:/usr/bin:/bin:%s%s\n" root root
                               (directory-file-name place))
                       (with-temp-buffer
                         (insert-file-contents
                          (expand-file-name "../said"
                                            (passepartout-install--target)))
                         (buffer-string))))))))

(ert-deftest passepartout-install-says-what-keeps-it-from-building ()
  (passepartout-install-tests--with
    (pcase-dolist (`(,programs ,words)
                   '((nil "There is no cargo here")
                     (("cargo") "There is no C compiler here")))
      (passepartout-module-tests--having programs
        (should (string-match-p
                 words (cadr (should-error (passepartout-module-build)
                                           :type 'user-error))))))))

;;;; The question

(ert-deftest passepartout-install-asks-for-what-can-be-done-here ()
  (pcase-dolist
      (`(,programs ,ready ,answer ,choices ,called)
       '((("cargo" "cc") t ?b (?b ?f ?n ?v) passepartout-module-build)
         (("cargo" "cc") t ?f (?b ?f ?n ?v) passepartout-module-fetch)
         (nil t ?f (?f ?n ?v) passepartout-module-fetch)
         (("cargo" "cc") nil ?b (?b ?n ?v) passepartout-module-build)
         (("cargo" "cc") nil ?n (?b ?n ?v) nil)
         ;; Where nothing can be done, nothing is asked.
         (("cargo") nil nil nil nil)))
    (passepartout-install-tests--with
      (let ((noninteractive nil) (this-command 'passepartout-chat)
            (passepartout-install-prebuilt
             (and ready `((,(passepartout-install--kind) ,passepartout-version
                           "https://example.org/" ("x.so" . "00")))))
            asked did)
        (passepartout-module-tests--having programs
          (cl-letf (((symbol-function 'read-multiple-choice)
                     (lambda (_prompt offered)
                       (setq asked (mapcar #'car offered))
                       (assq answer offered)))
                    ((symbol-function 'passepartout-module-build)
                     (lambda () (setq did 'passepartout-module-build)))
                    ((symbol-function 'passepartout-module-fetch)
                     (lambda () (setq did 'passepartout-module-fetch))))
            (should-error (passepartout-module-load)
                          :type (if choices 'user-error
                                  'passepartout-module-error))))
        (should (equal (list choices called) (list asked did)))))))

(ert-deftest passepartout-install-the-question-can-be-answered-beforehand ()
  (pcase-dolist
      (`(,setting ,programs ,ready ,did)
       '((build ("cargo" "cc") t passepartout-module-build)
         (fetch ("cargo" "cc") t passepartout-module-fetch)
         (fetch ("cargo" "cc") nil nil)
         (build nil t nil)
         (never ("cargo" "cc") t nil)))
    (passepartout-install-tests--with
      (let* ((noninteractive nil) (this-command 'passepartout-chat)
             (passepartout-module-install setting)
             (passepartout-install-prebuilt
              (and ready `((,(passepartout-install--kind) ,passepartout-version
                            "https://example.org/" ("x.so" . "00")))))
             (called nil))
        (passepartout-module-tests--having programs
          (cl-letf (((symbol-function 'read-multiple-choice)
                     (lambda (&rest _) (ert-fail "It was asked")))
                    ((symbol-function 'passepartout-module-build)
                     (lambda () (setq called 'passepartout-module-build)))
                    ((symbol-function 'passepartout-module-fetch)
                     (lambda () (setq called 'passepartout-module-fetch))))
            (should-error (passepartout-module-load)
                          :type (if did 'user-error
                                  'passepartout-module-error))
            (should (eq did called))))))))

(ert-deftest passepartout-install-never-is-saved ()
  (passepartout-install-tests--with
    (let ((noninteractive nil) (this-command 'passepartout-chat) (saved nil))
      (passepartout-module-tests--having '("cargo" "cc")
        (cl-letf (((symbol-function 'read-multiple-choice)
                   (lambda (_prompt offered) (assq ?v offered)))
                  ((symbol-function 'customize-save-variable)
                   (lambda (&rest arguments)
                     (push arguments saved)
                     (set (car arguments) (cadr arguments)))))
          (should-error (passepartout-module-load) :type 'user-error)
          (should-error (passepartout-module-load)
                        :type 'passepartout-module-error)))
      (should (equal '((passepartout-module-install never)) saved))
      (should-not passepartout-install--declined))))

;;;; Fetching

(defun passepartout-install-tests--ready (address files)
  "Say that FILES, pairs of name and contents, can be had at ADDRESS."
  `((,(passepartout-install--kind) ,passepartout-version ,address
     ,@(mapcar (lambda (file)
                 (cons (car file) (secure-hash 'sha256 (cdr file))))
               files))))

(defun passepartout-install-tests--left (root)
  "Return the names of what fetching has left in the cache below ROOT."
  (directory-files (expand-file-name "cache/passepartout/module/" root)
                   nil "\\`[^.]"))

(ert-deftest passepartout-install-what-is-fetched-is-kept-when-each-sum-is-right ()
  (passepartout-install-tests--with
    (let ((files '(("libpassepartout.so" . "a module")
                   ("passepartout-run" . "a launcher"))))
      (dolist (file files)
        (passepartout-module-tests--write root (concat "there/" (car file))
                                          (cdr file)))
      (let ((passepartout-install-prebuilt
             (passepartout-install-tests--ready
              (concat "file://" root "there/") files)))
        (dotimes (_ 2)
          (passepartout-module-fetch)
          (should (string-search "the module is there" (car heard))))
        (should (= 1 (length (passepartout-install-tests--left root))))
        (let ((file (passepartout-module-file)))
          (should (string-match-p "/fetched-[0-9a-f]\\{20\\}/libpass" file))
          (should (equal (list passepartout-version
                               (secure-hash 'sha256 "a module"))
                         (passepartout-module-sidecar file)))
          (should (file-executable-p
                   (expand-file-name "passepartout-run"
                                     (file-name-directory file))))
          (should-not (passepartout-module-obstacle)))))))

(ert-deftest passepartout-install-nothing-is-kept-of-what-is-not-what-was-meant ()
  (let ((ready (lambda (root more)
                 (passepartout-install-tests--ready
                  (concat "file://" root "there/")
                  (append '(("libpassepartout.so" . "a module")) more)))))
    (pcase-dolist
        (`(,there ,more ,words)
         '(("a modul" nil "7 bytes and the sum .* damaged or another file")
           ("A module" nil "8 bytes and the sum .* damaged or another file")
           ("a module" (("passepartout-run" . "x")) "run cannot be read")))
      (passepartout-install-tests--with
        (passepartout-module-tests--write root "there/libpassepartout.so" there)
        (let ((passepartout-install-prebuilt (funcall ready root more)))
          (passepartout-module-fetch)
          (should (string-match-p words (car heard)))
          (should-not (passepartout-install-tests--left root))
          (should-not (passepartout-module-file)))))))

(ert-deftest passepartout-install-fetches-from-nowhere-else ()
  (pcase-dolist
      (`(,kind ,version ,address ,name ,words)
       `((nil ,passepartout-version "http://example.org/" "x.so" "only https is")
         (nil ,passepartout-version "ftp://example.org/" "x.so" "only https is")
         (nil "0.0.9" "https://example.org/" "x.so" "names no ready module")
         (nil ,passepartout-version "https://example.org/" "../x.so"
              "names no ready module")
         ("vax-bsd" ,passepartout-version "https://example.org/" "x.so"
          "names no ready module")))
    (passepartout-install-tests--with
      (let ((passepartout-install-prebuilt
             `((,(or kind (passepartout-install--kind)) ,version ,address
                (,name . "00")))))
        (cl-letf (((symbol-function 'url-retrieve)
                   (lambda (&rest _) (ert-fail "It was fetched"))))
          (let ((told (condition-case problem
                          (progn (passepartout-module-fetch) (car heard))
                        (user-error (cadr problem)))))
            (should (string-match-p words told))))))))

(defun passepartout-install-tests--serve (answers)
  "Serve ANSWERS, pairs of path and bytes, on loopback; return the server."
  (make-network-process
   :name "passepartout-install-tests" :server t :host "127.0.0.1" :service t
   :family 'ipv4 :coding 'binary :noquery t
   :filter
   (lambda (client text)
     (when (string-match "\\`GET \\([^ ]+\\) " text)
       (let ((found (assoc (match-string 1 text) answers)))
         (process-send-string
          client
          (concat (if found "HTTP/1.1 200 OK" "HTTP/1.1 404 Not Found")
                  "\r\nConnection: close\r\n"
                  "Content-Type: application/octet-stream\r\n"
                  (format "Content-Length: %d\r\n\r\n" (length (cdr found)))
                  (cdr found)))
         (process-send-eof client))))))

(ert-deftest passepartout-install-fetches-from-a-server ()
  (let* ((bytes (apply #'unibyte-string (number-sequence 0 255)))
         (server (passepartout-install-tests--serve
                  `(("/m/libpassepartout.so" . ,bytes))))
         (address (format "http://127.0.0.1:%d/m/"
                          (process-contact server :service))))
    (unwind-protect
        (pcase-dolist (`(,name ,words) '(("libpassepartout.so" "is there")
                                         ("other.so" "cannot be fetched")))
          (passepartout-install-tests--with
            (let ((passepartout-install-prebuilt
                   (passepartout-install-tests--ready
                    address (list (cons name bytes)))))
              (passepartout-module-fetch)
              (passepartout-install-tests--until
               (lambda () (string-match-p
                           "the module is there\\|was not fetched"
                           (or (car heard) ""))))
              (should (string-search words (car heard)))
              (when (passepartout-module-file)
                (should (equal (secure-hash 'sha256 bytes)
                               (passepartout-module-sum
                                (passepartout-module-file))))))))
      (delete-process server))))

(ert-deftest passepartout-install-one-thing-at-a-time ()
  ;; A build.
  (passepartout-install-tests--with
    (let ((exec-path exec-path)
          (passepartout-install-prebuilt
           (passepartout-install-tests--ready (concat "file://" root "there/")
                                              '(("x.so" . "x")))))
      (passepartout-install-tests--cargo root "read line; exit 1")
      (passepartout-module-tests--write root "there/x.so" "x")
      (let ((buffer (passepartout-module-build)))
        (dolist (command '(passepartout-module-fetch passepartout-module-build))
          (should (string-search "being built"
                                 (cadr (should-error (funcall command)
                                                     :type 'user-error)))))
        (with-current-buffer buffer
          (should (derived-mode-p 'compilation-mode)))
        (process-send-string (get-buffer-process buffer) "\n")
        (passepartout-install-tests--until
         (lambda () (not (get-buffer-process buffer)))))
      ;; What comes next may begin.
      (passepartout-module-fetch)))
  ;; A fetch.
  (passepartout-install-tests--with
    (let ((passepartout-install-prebuilt
           (passepartout-install-tests--ready "https://example.org/"
                                              '(("x.so" . "x"))))
          (then nil))
      (cl-letf (((symbol-function 'url-retrieve)
                 (lambda (_address _function arguments &rest _)
                   (setq then (nth 1 arguments)))))
        (passepartout-module-fetch)
        (dolist (command '(passepartout-module-fetch passepartout-module-build))
          (should (string-search "being fetched"
                                 (cadr (should-error (funcall command)
                                                     :type 'user-error)))))
        (funcall then "x" nil)
        (should (string-search "the module is there" (car heard)))
        (passepartout-module-fetch)
        ;; Who gives it up may begin again.
        (kill-buffer passepartout-install--buffer-name)
        (passepartout-module-fetch)
        (funcall then nil "Gone")
        (should-not passepartout-install--fetching)))))

(ert-deftest passepartout-install-what-goes-wrong-in-placing-is-told ()
  (dolist (fails '(write-region set-file-modes rename-file
                   passepartout-module-write-sidecar url-retrieve))
    (passepartout-install-tests--with
      (passepartout-module-tests--write root "there/x.so" "x")
      (let ((passepartout-install-prebuilt
             (passepartout-install-tests--ready
              (if (eq fails 'url-retrieve) "https://example.org/"
                (concat "file://" root "there/"))
              '(("x.so" . "x")))))
        (cl-letf (((symbol-function fails)
                   (lambda (&rest _) (signal 'file-error '("No space" "disk")))))
          (passepartout-module-fetch))
        (should (string-match-p "was not fetched: .*No space" (car heard)))
        (should-not passepartout-install--fetching)
        (should-not (seq-find (lambda (name) (string-prefix-p "draft-" name))
                              (passepartout-install-tests--left root)))))))

(ert-deftest passepartout-install-what-is-there-and-whole-stays ()
  (passepartout-install-tests--with
    (passepartout-module-tests--write root "there/libpassepartout.so" "x")
    (let ((passepartout-install-prebuilt
           (passepartout-install-tests--ready
            (concat "file://" root "there/")
            '(("libpassepartout.so" . "x")))))
      (passepartout-module-fetch)
      (let* ((file (passepartout-module-file))
             (node (file-attribute-inode-number (file-attributes file))))
        (cl-letf (((symbol-function 'rename-file)
                   (lambda (&rest _) (ert-fail "It was replaced"))))
          (passepartout-module-fetch))
        (should (string-search "the module is there" (car heard)))
        (should (= node (file-attribute-inode-number (file-attributes file))))
        (should-not (passepartout-module-obstacle))
        ;; What is damaged is replaced.
        (write-region "y" nil file nil 'quiet)
        (passepartout-module-fetch)
        (should (equal (secure-hash 'sha256 "x")
                       (passepartout-module-sum file)))
        (should (= 1 (length (passepartout-install-tests--left root))))))))

(ert-deftest passepartout-install-no-file-says-what-is-loaded ()
  (dolist (variable '(passepartout-install-prebuilt passepartout-module-file))
    (should (risky-local-variable-p variable))
    (should-not (safe-local-variable-p variable "x"))))

(provide 'passepartout-install-tests)
;;; passepartout-install-tests.el ends here
