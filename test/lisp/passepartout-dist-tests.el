;;; passepartout-dist-tests.el --- Tests of the package and of the Info manual  -*- lexical-binding: t; no-byte-compile: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The tar is made twice and is the same, is installed by package.el in a
;; home of its own, and a module that it names is fetched there.  The
;; manual's indices have every command and every option.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'seq)
(require 'passepartout-install)
(require 'passepartout-menu-tests)

(defconst passepartout-dist-tests--root
  (expand-file-name "../../" (file-name-directory
                              (or load-file-name buffer-file-name)))
  "Folder of the project.")

(load (expand-file-name "test/scripts/manual.el" passepartout-dist-tests--root)
      nil t)
(declare-function passepartout-info-export "manual" (file))
(declare-function passepartout-info-options "manual" ())

;;;; The manual

(defun passepartout-dist-tests--index (text kind)
  "Return what the index KIND of TEXT, Texinfo, lists."
  (let ((at 0) found)
    (while (string-match (concat "^@" kind "index \\(.*\\)$") text at)
      (push (match-string 1 text) found)
      (setq at (match-end 0)))
    (delete-dups found)))

(ert-deftest passepartout-dist-the-manual-lists-every-command-option-and-key ()
  (let ((file (make-temp-file "dist-" nil ".texi")))
    (unwind-protect
        (let ((text (progn (passepartout-info-export file)
                           (with-temp-buffer (insert-file-contents file)
                                             (buffer-string)))))
          (should-not (seq-difference
                       (delq 'passepartout-chat-mode
                             (passepartout-menu-tests--commands))
                       (mapcar #'intern
                               (passepartout-dist-tests--index text "f"))))
          (should-not (seq-difference
                       (passepartout-info-options)
                       (passepartout-dist-tests--index text "v")))
          (should (> (length (passepartout-info-options)) 40))
          ;; Those, too, that are named by their keys alone.
          (should-not (seq-difference
                       '("passepartout-plan-approve" "passepartout-chat-send"
                         "passepartout-jobs-pause" "passepartout-skills-show"
                         "passepartout-list-sort" "passepartout-context-pin")
                       (passepartout-dist-tests--index text "f")))
          (dolist (key '("C-c RET" "C-c C-k"))
            (should (member key (passepartout-dist-tests--index text "k"))))
          (dolist (concept '("Flight plans" "Privacy" "Building"))
            (should (member concept
                            (passepartout-dist-tests--index text "c"))))
          (dolist (kind '("fn" "vr" "ky" "cp"))
            (should (string-search (concat "@printindex " kind) text)))
          (when (executable-find "makeinfo")
            (with-temp-buffer
              (should (equal '(0 "")
                             (list (call-process "makeinfo" nil t nil
                                                 "--no-split" "-o"
                                                 (concat file ".info") file)
                                   (buffer-string))))
              (insert-file-contents (concat file ".info"))
              (should (string-search "Node: Flight plans,"
                                     (buffer-string)))
              (delete-file (concat file ".info")))))
      (delete-file file))))

(ert-deftest passepartout-dist-the-manual-is-opened-in-info-or-as-it-is ()
  (require 'info)
  (save-window-excursion
    (let ((opened nil) (there t))
      (cl-letf (((symbol-function 'Info-find-file) (lambda (&rest _) there))
                ((symbol-function 'info) (lambda (node) (push node opened))))
        (passepartout-manual)
        (should (equal '("(passepartout)") opened))
        (setq there nil)
        (passepartout-manual)
        (should (equal "manual.org"
                       (file-name-nondirectory buffer-file-name)))
        (should buffer-read-only)
        (kill-buffer)
        (let ((passepartout-module--root "/nowhere/"))
          (should-error (passepartout-manual) :type 'user-error))))))

;;;; The package

(defun passepartout-dist-tests--nowhere (folder)
  "Return the links of the documents below FOLDER that lead nowhere."
  (let (found)
    (dolist (file (directory-files-recursively
                   (expand-file-name "docs" folder) "\\.org\\'"))
      (unless (string-search "/demo-memex/" file)
        (with-temp-buffer
          (insert-file-contents file)
          (while (re-search-forward "\\[\\[file:\\([^]:]+\\.org\\)" nil t)
            (let ((target (expand-file-name (match-string 1)
                                            (file-name-directory file))))
              (unless (file-exists-p target)
                (push (cons (file-name-nondirectory file)
                            (match-string 1))
                      found)))))))
    found))

(defun passepartout-dist-tests--make (out &rest more)
  "Make the tar in the folder OUT with MORE in the environment; return it."
  (let ((process-environment (append (list (concat "DIST_OUT=" out)
                                           "SOURCE_DATE_EPOCH=1700000000")
                                     more process-environment))
        (default-directory passepartout-dist-tests--root))
    (with-temp-buffer
      (unless (zerop (call-process "sh" nil t nil "test/scripts/dist.sh"))
        (ert-fail (buffer-string))))
    (expand-file-name (format "passepartout-%s.tar" passepartout-version)
                      out)))

(defun passepartout-dist-tests--emacs (home &rest forms)
  "Evaluate FORMS in an Emacs of its own whose home is HOME.
Return what the last one gives; it must end well."
  (let ((process-environment
         (append (list (concat "HOME=" home) "EMACSLOADPATH="
                       (concat "XDG_CACHE_HOME=" home "/cache")
                       (concat "XDG_CONFIG_HOME=" home "/config"))
                 process-environment)))
    (when (getenv "EMACSLOADPATH")
      (setq process-environment (delete "EMACSLOADPATH=" process-environment)))
    (with-temp-buffer
      (let ((code (call-process
                   (expand-file-name invocation-name invocation-directory)
                   nil t nil "-Q" "--batch" "--eval"
                   (prin1-to-string
                    `(progn
                       (require 'package)
                       (setq package-user-dir ,(concat home "/elpa")
                             package-archives nil)
                       (message "\n=> %S" (progn ,@forms)))))))
        (goto-char (point-max))
        (unless (and (zerop code) (re-search-backward "^=> " nil t))
          (ert-fail (list code (buffer-string))))
        (goto-char (match-end 0))
        (read (current-buffer))))))

(defconst passepartout-dist-tests--lazy
  '(list (featurep 'passepartout)
         (seq-filter #'featurep '(org transient passepartout-events
                                      passepartout-module url-http tramp))
         (fboundp 'passepartout--mod-start)
         (seq-every-p #'fboundp '(passepartout-chat passepartout-doctor
                                                    passepartout-global-mode)))
  "What is known after the package was asked for.")

(ert-deftest passepartout-dist-the-package-is-the-same-each-time-and-installs ()
  (let* ((world (file-truename (make-temp-file "dist-" t)))
         (home (expand-file-name "home" world))
         (kind (passepartout-install--kind))
         (module (expand-file-name
                  (format "out/passepartout-%s-%s/" passepartout-version kind)
                  world)))
    (unwind-protect
        (progn
          (dolist (folder (list home module)) (make-directory folder t))
          (dolist (name '("libpassepartout.so" "passepartout-run"))
            (write-region name nil (concat module name) nil 'quiet))
          (write-region
           (mapconcat (lambda (name)
                        (format "%s  %s\n" (secure-hash 'sha256 name) name))
                      '("libpassepartout.so" "passepartout-run") "")
           nil (concat module "SHA256SUMS") nil 'quiet)
          (let* ((url (format "DIST_URL=file://%s/out/" world))
                 (tar (passepartout-dist-tests--make
                       (expand-file-name "out" world) url))
                 (sum (passepartout-module-sum tar)))
            (should (equal sum (passepartout-module-sum
                                (passepartout-dist-tests--make
                                 (expand-file-name "out" world) url))))
            (should (string-prefix-p
                     sum (with-temp-buffer
                           (insert-file-contents
                            (expand-file-name "out/SHA256SUMS" world))
                           (buffer-string))))
            (with-temp-buffer
              (call-process "tar" nil t nil "tf" tar)
              (dolist (none '("/test/" "/target/" "/.build/" ".elc" "/.git"))
                (should-not (string-search none (buffer-string))))
              (dolist (some '("/src/lib.rs" "/skills/policy.org" "/Cargo.lock"
                              "/passepartout-pkg.el" "/docs/tour.jsonl"))
                (should (string-search some (buffer-string)))))
            (let ((default-directory (file-name-as-directory world)))
              (call-process "tar" nil nil nil "xf" tar)
              (let ((folder (expand-file-name
                             (concat "passepartout-" passepartout-version))))
                (should (file-exists-p (concat folder "/docs/SAFETY.org")))
                (should-not (passepartout-dist-tests--nowhere folder))
                ;; package.el compiles whatever Lisp lies below, in Emacs 28
                ;; also what only a worker reads.
                (dolist (file (directory-files-recursively
                               (expand-file-name "src" folder) "\\.el\\'"))
                  (with-temp-buffer
                    (insert-file-contents file)
                    (should (re-search-forward "-\\*-.*no-byte-compile: t"
                                               (line-end-position) t))))))
            (should (equal '((28 2) "outlines")
                           (passepartout-dist-tests--emacs
                            home
                            `(package-install-file ,tar)
                            '(let ((package (cadr (assq 'passepartout
                                                        package-alist))))
                               (list (cadr (assq 'emacs
                                                 (package-desc-reqs package)))
                                     (car (package-desc--keywords
                                           package)))))))
            (should (equal '(t nil nil t)
                           (passepartout-dist-tests--emacs
                            home '(package-initialize)
                            '(require 'passepartout)
                            passepartout-dist-tests--lazy)))
            ;; A script is asked nothing, and told what to do.
            (should (string-match-p
                     "built yet\\. .*passepartout-module-fetch"
                     (passepartout-dist-tests--emacs
                      home '(package-initialize)
                      '(condition-case problem
                           (progn (require 'passepartout-module)
                                  (passepartout-module-load))
                         (error (error-message-string problem))))))
            (should (equal (list t t "libpassepartout.so")
                           (passepartout-dist-tests--emacs
                            home '(package-initialize)
                            '(passepartout-module-fetch)
                            '(list (file-exists-p
                                    (expand-file-name
                                     "src/lib.rs" passepartout-module--root))
                                   (null (passepartout-module-obstacle))
                                   (with-temp-buffer
                                     (insert-file-contents
                                      (passepartout-module-file))
                                     (buffer-string))))))))
      (delete-directory world t))))

(ert-deftest passepartout-dist-menu-and-core-want-no-org ()
  (should (equal
           '(nil nil)
           (passepartout-dist-tests--emacs
            temporary-file-directory
            `(add-to-list 'load-path ,(expand-file-name
                                       "lisp" passepartout-dist-tests--root))
            '(require 'passepartout-menu)
            '(require 'passepartout-module)
            '(setq passepartout-directories (list temporary-file-directory)
                   passepartout-module--transport
                   (list :start #'ignore :send #'ignore :receive #'ignore
                         :stop #'ignore))
            '(list (featurep 'org)
                   (progn (passepartout-status) (featurep 'org)))))))

(ert-deftest passepartout-dist-what-git-does-not-know-stays-out ()
  (skip-unless (executable-find "git"))
  (skip-unless (file-exists-p (expand-file-name
                               ".git" passepartout-dist-tests--root)))
  (let* ((world (file-truename (make-temp-file "dist-" t)))
         (clone (file-name-as-directory (expand-file-name "clone" world)))
         (script "test/scripts/dist.sh")
         (loose '("skills/loose.org" "lisp/passepartout-loose.el"
                  "src/edge/loose.rs")))
    (unwind-protect
        (progn
          (should (zerop (call-process
                          "git" nil nil nil "clone" "--quiet" "--depth=1"
                          (concat "file://" passepartout-dist-tests--root)
                          clone)))
          (copy-file (expand-file-name script passepartout-dist-tests--root)
                     (expand-file-name script clone) t)
          (dolist (name loose)
            (write-region "x" nil (expand-file-name name clone) nil 'quiet))
          ;; Sources that are no checkout are taken as they are.
          (dolist (known '(t nil))
            (unless known
              (delete-directory (expand-file-name ".git" clone) t))
            (let* ((passepartout-dist-tests--root clone)
                   (tar (passepartout-dist-tests--make
                         (expand-file-name (if known "out" "out-too") world))))
              (with-temp-buffer
                (call-process "tar" nil t nil "tf" tar)
                (should (string-search "/src/lib.rs" (buffer-string)))
                (dolist (name '("loose.org" "passepartout-loose.el" "loose.rs"))
                  (should (eq (null (string-search name (buffer-string)))
                              known)))))))
      (delete-directory world t))))

(ert-deftest passepartout-dist-a-clone-loads-as-it-is ()
  (let ((home (make-temp-file "dist-" t)))
    (unwind-protect
        (should (equal '(t nil nil t)
                       (passepartout-dist-tests--emacs
                        home
                        `(push ,(expand-file-name
                                 "lisp" passepartout-dist-tests--root)
                               load-path)
                        '(require 'passepartout)
                        passepartout-dist-tests--lazy)))
      (delete-directory home t))))

(provide 'passepartout-dist-tests)
;;; passepartout-dist-tests.el ends here
