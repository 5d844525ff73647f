;;; passepartout-cassette-tests.el --- Tests of cassettes  -*- lexical-binding: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Recording and playing in a real Emacs with the module, and the tour.

;;; Code:

(require 'ert)
(require 'passepartout-real)
(require 'passepartout-cassette)
(require 'passepartout-status)

(defconst passepartout-cassette-tests--scripts
  (expand-file-name "../scripts/"
                    (file-name-directory (or load-file-name buffer-file-name)))
  "The folder of the script that makes the tour.")

(ert-deftest passepartout-cassette-the-tour-is-what-its-script-makes ()
  (load (expand-file-name "tour.el" passepartout-cassette-tests--scripts) nil t)
  (should (equal (passepartout-tour-text)
                 (with-temp-buffer
                   (let ((coding-system-for-read 'utf-8-unix))
                     (insert-file-contents
                      (expand-file-name
                       "../../docs/tour.jsonl"
                       passepartout-cassette-tests--scripts)))
                   (buffer-string)))))

(ert-deftest passepartout-cassette-is-recorded-while-one-chats ()
  (passepartout-real-with
    (passepartout-real-serve '((text "Larch.") (text "Oak.")))
    (passepartout-real-start)
    (let ((file (passepartout-real-file "tape.jsonl")))
      (passepartout-cassette-record file)
      (passepartout-real-until (file-exists-p file))
      (passepartout-real-until
        (string-search "recording a cassette" (passepartout-status-text)))
      (passepartout-real-ask "which wood for the deck?")
      (should (string-search "Larch." (passepartout-real-answer 1)))
      (passepartout-cassette-stop)
      (passepartout-real-until
        (not (string-search "recording" (passepartout-status-text))))
      (should (= 2 (with-temp-buffer
                     (insert-file-contents file)
                     (should (string-search "Larch." (buffer-string)))
                     (count-lines (point-min) (point-max))))))))

(provide 'passepartout-cassette-tests)
;;; passepartout-cassette-tests.el ends here
