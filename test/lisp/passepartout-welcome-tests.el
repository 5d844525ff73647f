;;; passepartout-welcome-tests.el --- Tests of the welcome and of the tour  -*- lexical-binding: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later


;;; Commentary:

;; What the welcome says while notes are read and afterwards, when it
;; comes by itself, and that the tour lives in a world of its own.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-real)
(require 'passepartout-welcome)
(require 'passepartout-module-tests)

(defun passepartout-welcome-tests--shown ()
  "Return what the welcome shows."
  (with-current-buffer passepartout-welcome--buffer-name (buffer-string)))

(ert-deftest passepartout-welcome-says-how-much-was-read-and-how-fast ()
  (let* ((now 100.0)
         (passepartout-welcome--clock (lambda () now))
         (passepartout-welcome--began nil)
         (passepartout-welcome--took nil))
    (passepartout-fake-with
      (passepartout-welcome)
      (should (string-search "Your notes are being read."
                             (passepartout-welcome-tests--shown)))
      (pcase-dolist
          (`(,at ,status ,words)
           '((100.2 (:state "reading" :reading (3 56) :headings 20 :files 3)
                    "being read: 3 of 56 files")
             (100.8 (:state "idle" :headings 1234 :files 56)
                    "1234 headings of 56 files are in memory, 0.8 seconds after")
             ;; What is heard later changes the count, and not the time.
             (160.0 (:state "idle" :headings 1235 :files 56)
                    "1235 headings of 56 files are in memory, 0.8 seconds after")
             (170.0 (:state "idle" :headings 1 :files 1)
                    "1 heading of 1 file is in memory, 0.8 seconds after")
             (180.0 (:state "idle" :headings 0 :files 0)
                    "There is no heading in ")))
        (setq now at)
        (passepartout-fake-inject :status status)
        (should (string-search words (passepartout-welcome-tests--shown)))))))

(ert-deftest passepartout-welcome-is-drawn-where-it-is-seen-and-says-something-new ()
  (passepartout-fake-with
    (passepartout-welcome)
    (let ((drawn 0)
          (draw (symbol-function 'passepartout-welcome--draw)))
      (cl-letf (((symbol-function 'passepartout-welcome--draw)
                 (lambda () (setq drawn (1+ drawn)) (funcall draw))))
        (pcase-dolist
            (`(,status ,count)
             '(((:state "reading" :reading (3 56) :headings 20 :files 3) 1)
               ((:state "idle" :headings 20 :files 3) 2)
               ((:state "thinking" :headings 20 :files 3) 2)
               ((:state "idle" :headings 20 :files 3) 2)))
          (passepartout-fake-inject :status status)
          (should (equal (cons status count) (cons status drawn))))
        ;; Buried, it waits until it is shown again.
        (switch-to-buffer "*scratch*")
        (delete-other-windows)
        (passepartout-fake-inject :status
                                  '(:state "idle" :headings 21 :files 3))
        (should (= drawn 2))
        (switch-to-buffer passepartout-welcome--buffer-name)
        (passepartout-fake-inject :status
                                  '(:state "idle" :headings 21 :files 3))
        (should (= drawn 3))))))

(ert-deftest passepartout-welcome-offers-three-things ()
  (passepartout-fake-with
    (let (called)
      (cl-letf (((symbol-function 'passepartout-chat)
                 (lambda () (interactive) (push 'chat called)))
                ((symbol-function 'passepartout-welcome-tour)
                 (lambda () (interactive) (push 'tour called)))
                ((symbol-function 'passepartout-setup)
                 (lambda () (interactive) (push 'setup called))))
        (passepartout-welcome)
        (dolist (label '("[ask your notes]" "[watch the recorded tour]"
                         "[add a model provider]"))
          (goto-char (point-min))
          (search-forward label)
          (push-button (match-beginning 0))))
      (should (equal '(chat tour setup) (reverse called)))))
  (pcase-dolist (`(,cascade ,words)
                 '((nil "nothing leaves this machine")
                   (("recall") "nothing leaves this machine")
                   (("openai" "ollama" "recall") "openai, then ollama; the")))
    (let ((passepartout-provider-cascade cascade))
      (should (string-search words (passepartout-welcome--sent))))))

(ert-deftest passepartout-welcome-gets-the-module-where-there-is-none ()
  (passepartout-module-tests--in nil
    (unwind-protect
        (passepartout-module-tests--having '("cargo" "cc")
          (passepartout-welcome)
          (should (string-search "The module has not been built yet."
                                 (passepartout-welcome-tests--shown)))
          (goto-char (point-min))
          (search-forward "[get the module]")
          (let ((passepartout-install--declined t) built)
            (cl-letf (((symbol-function 'read-multiple-choice)
                       (lambda (_prompt choices) (assq ?b choices)))
                      ((symbol-function 'passepartout-module-build)
                       (lambda () (setq built t))))
              (should-error (push-button (match-beginning 0))
                            :type 'user-error))
            (should built)))
      (kill-buffer passepartout-welcome--buffer-name))))

(ert-deftest passepartout-welcome-comes-by-itself-only-without-a-store ()
  (let* ((store (file-name-as-directory (make-temp-file "welcome-" t)))
         (passepartout-store store)
         (passepartout-module--transport nil)
         (shown 0))
    (unwind-protect
        (cl-letf (((symbol-function 'display-buffer)
                   (lambda (&rest _) (setq shown (1+ shown))))
                  ((symbol-function 'passepartout-running-p) #'ignore))
          (passepartout-welcome-at-first)
          (should (= shown 1))
          (let ((passepartout-welcome--touring t))
            (passepartout-welcome-at-first))
          (let ((passepartout-module--transport '(:tag "elsewhere")))
            (passepartout-welcome-at-first))
          (write-region "" nil (concat store "memory.sqlite") nil 'quiet)
          (passepartout-welcome-at-first)
          (should (= shown 1))
          (should (equal (expand-file-name store)
                         (file-name-as-directory (passepartout-welcome--store)))))
      (when (get-buffer passepartout-welcome--buffer-name)
        (kill-buffer passepartout-welcome--buffer-name))
      (delete-directory store t))))

(ert-deftest passepartout-welcome-counts-what-the-core-has-read ()
  (passepartout-real-with
    (passepartout-real-write "memex/a.org" "* One\n* Two\n** Three\n")
    (let ((passepartout-welcome--began nil) (passepartout-welcome--took nil))
      (passepartout-real-start)
      (passepartout-welcome)
      (passepartout-real-until
        (string-match-p "[0-9]+ headings of [0-9]+ files? \\(?:are\\|is\\) in memory, [0-9.]+ seconds"
                        (passepartout-welcome-tests--shown))))))

(ert-deftest passepartout-welcome-makes-room-only-where-it-was-shown-beside ()
  (passepartout-fake-with
    (save-window-excursion
      (delete-other-windows)
      (let ((chat (selected-window)) shown)
        (unwind-protect
            (progn
              (setq shown (display-buffer
                           (passepartout-welcome--buffer)
                           '(display-buffer-below-selected)))
              (with-selected-window shown (passepartout-welcome-make-room))
              (should (window-live-p shown))
              (passepartout-welcome-make-room)
              (should-not (window-live-p shown))
              (should (eq (selected-window) chat))
              ;; A window that was there before is nobody's to close.
              (setq shown (split-window))
              (set-window-buffer shown (passepartout-welcome--buffer))
              (passepartout-welcome-make-room)
              (should (window-live-p shown)))
          (kill-buffer passepartout-welcome--buffer-name))))))

;;;; The tour

(ert-deftest passepartout-welcome-the-tour-has-a-world-of-its-own ()
  (let (command environment killed)
    (cl-letf (((symbol-function 'passepartout-module-missing) #'ignore)
              ((symbol-function 'passepartout-module-file)
               (lambda () "/a/module.so"))
              ((symbol-function 'display-graphic-p) #'always)
              ((symbol-function 'set-process-query-on-exit-flag) #'ignore)
              ((symbol-function 'set-process-sentinel) #'ignore)
              ((symbol-function 'start-process)
               (lambda (_name _buffer &rest rest)
                 (setq command rest environment process-environment))))
      (passepartout-welcome-tour))
    (let ((world (seq-some (lambda (line)
                             (and (string-prefix-p "PASSEPARTOUT_TOUR=" line)
                                  (substring line 18)))
                           environment)))
      (unwind-protect
          (let ((process-environment environment))
            (should (file-exists-p (expand-file-name "memex/inbox.org" world)))
            (dolist (name '("XDG_STATE_HOME" "XDG_CONFIG_HOME"
                            "XDG_CACHE_HOME"))
              (should (string-prefix-p (expand-file-name world)
                                       (getenv name))))
            ;; What it would open is opened in an Emacs without a frame.
            (with-temp-buffer
              ;; Other tests may have left a buffer whose folder is gone.
              (setq default-directory (file-name-as-directory world))
              (apply #'call-process (car command) nil t nil "--batch"
                     (append (cdr command)
                             '("--eval"
                               "(message \"=> %S\" (list (buffer-name) \
passepartout-provider-cascade passepartout-directories \
passepartout-module-file user-emacs-directory))")))
              (goto-char (point-max))
              (unless (re-search-backward "^=> " nil t)
                (ert-fail (buffer-string)))
              (goto-char (match-end 0))
              (should (equal (list '("tour" "recall")
                                   (list (expand-file-name "memex" world))
                                   "/a/module.so"
                                   (expand-file-name "emacs/" world))
                             (cdr (read (current-buffer)))))))
        (delete-directory world t))))
  ;; On a terminal it is a command to type.
  (let ((kill-ring nil) (kill-ring-yank-pointer nil)
        (interprogram-cut-function nil) (inhibit-message t))
    (cl-letf (((symbol-function 'passepartout-module-missing) #'ignore)
              ((symbol-function 'passepartout-module-file)
               (lambda () "/a/module.so"))
              ((symbol-function 'display-graphic-p) #'ignore)
              ((symbol-function 'start-process)
               (lambda (&rest _) (ert-fail "It was started"))))
      (passepartout-welcome-tour)
      (should (string-match-p "\\`env XDG_STATE_HOME=.* -nw -Q "
                              (car kill-ring)))
      (when (string-match "PASSEPARTOUT_TOUR=\\([^ ]+\\)" (car kill-ring))
        (delete-directory (match-string 1 (car kill-ring)) t)))))

(provide 'passepartout-welcome-tests)
;;; passepartout-welcome-tests.el ends here
