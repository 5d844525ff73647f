;;; passepartout-frame-tests.el --- Tests of frames and proofs  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; What comes over a connection is looked at before it is read: bytes of
;; any number at a time, hostile forms, limits, and the work that all of
;; it takes.  Proofs are compared with published ones.

;;; Code:

(require 'auth-source)
(require 'ert)
(require 'cl-lib)
(require 'passepartout-frame)
(require 'passepartout-greet)

(defun passepartout-frame-tests--take (bytes &optional piece)
  "Return the texts in BYTES, which come in pieces of PIECE bytes.
A last element that is a cons says what was wrong."
  (let ((stream (passepartout-frame-open))
        (piece (or piece (max 1 (length bytes))))
        (at 0) (texts nil))
    (unwind-protect
        (condition-case problem
            (while (< at (length bytes))
              (let ((end (min (length bytes) (+ at piece))) text)
                (passepartout-frame-add stream (substring bytes at end))
                (setq at end)
                (while (stringp (setq text (passepartout-frame-next
                                            stream 1.0e+INF)))
                  (push text texts))))
          (passepartout-protocol-error (push (list (cadr problem)) texts)))
      (passepartout-frame-close stream))
    (nreverse texts)))

(defun passepartout-frame-tests--wrong (bytes)
  "Return what is wrong with BYTES, or nil."
  (caar (last (seq-filter #'consp (passepartout-frame-tests--take bytes)))))

(defun passepartout-frame-tests--frame (text)
  "Return TEXT, which may be raw bytes, as a frame."
  (let ((bytes (if (multibyte-string-p text)
                   (encode-coding-string text 'utf-8-unix)
                 text)))
    (concat (format "%06x" (length bytes)) bytes)))

(ert-deftest passepartout-frame-what-is-sent-comes-in-pieces-of-any-size ()
  (let* ((texts (list "(:type :event :payload (:action :alive))"
                      "(:a \"語 – é 🙂 \\\"q\\\" \\\\ #1=# [?] ;\" :n -12 :f 1.5e-07)"
                      "(:pair (1 . 2) :inf 1.0e+INF :nil nil :t t word)"
                      (format "(:text \"%s\")" (make-string 9000 ?é))))
         (bytes (mapconcat #'passepartout-frame-encode texts " \r\n\t")))
    (should-not (multibyte-string-p bytes))
    (dolist (piece (list 1 2 3 7 64 4096 (length bytes)))
      (should (equal texts (passepartout-frame-tests--take bytes piece))))
    (dolist (text texts) (should (read text)))))

(ert-deftest passepartout-frame-what-is-no-data-is-never-read ()
  (let ((deep (lambda (n) (concat (make-string n ?\() (make-string n ?\))))))
    (pcase-dolist
        (`(,text ,why)
         `((,(funcall deep 65) "deeper than 64")
           (,(make-string 100000 ?\() "deeper than 64")
           ("(#1=(a . #1#))" "#") ("(#s(hash-table))" "#") ("(#.(car))" "#")
           ("(#(\"x\" 0 1 (face bold)))" "#") ("(#'car)" "#") ("(##)" "#")
           ("(#x10)" "#") ("(#&8\"a\")" "#") ("(#[1 2])" "#") ("(a#b)" "#")
           ("([1 2])" "[") ("('a)" "'") ("(`a)" "`") ("(,a)" ",")
           ("(;x\n)" ";") ("(?a)" "?a") ("(?\\C-a)" "?") ("(a\\ b)" "\\")
           ("(|a|)" "|") ("({})" "{") ("(\0)" "not part") ("(é)" "not part")
           ("(99999999999999999999)" "99999999999999999999")
           (,(concat "(" (make-string 20000 ?9) ")") "256 characters")
           (,(concat "(:" (make-string 300 ?a) ")") "256 characters")
           ("(1e5)" "1e5") ("(+1)" "+1") ("(-)" "-") ("(..)" "..")
           ("(1.0e99999)" "1.0e99999") (":a" "one list") ("nil" "one list")
           ("\"x\"" "one list") (") (" "one list") ("(a) (b)" "one list")
           ("(a) b" "one list") ("(a))" "one list") ("" "empty")
           ("   " "empty") ("(a" "within a list") ("(\"a" "within a string")
           ("(\"a\\" "within a string") ("(\"\\x41\")" "escape")
           ("(\"\\M-a\")" "escape") ("(\"\\u0041\")" "escape")
           ("(\"\\^A\")" "escape") ("(\"\\N{BOX}\")" "escape")
           ("(\"\\200\")" "escape") ("(\"\\ \")" "escape")
           (,(concat "(" (mapconcat #'identity (make-list 100000 "1") " ") ")")
            "100,000 values")
           ("(\"\xff\")" "UTF-8") ("(\"\xed\xa0\x80\")" "UTF-8")
           ("(\"\xc3\")" "UTF-8") ("(\"\xc0\x80\")" "UTF-8")
           ("(\"\xf7\xbf\xbf\xbf\")" "UTF-8") ("(\"\x80\x80\x80\x80\")" "UTF-8")))
      (let ((frame (passepartout-frame-tests--frame
                    (if (string-match-p "\\`[[:ascii:]\x80-\xff]*\\'" text)
                        (if (multibyte-string-p text)
                            (encode-coding-string text 'utf-8-emacs)
                          text)
                      text))))
        (ert-info (text :prefix "text: ")
          (dolist (piece (list nil (max 1 (/ (length frame) 7))))
            (let ((taken (passepartout-frame-tests--take frame piece)))
              (should (= 1 (length taken)))
              (should (string-search why (caar taken))))))))
    ;; What is at the limits passes.
    (dolist (text (list (funcall deep 64)
                        (concat "(" (mapconcat #'identity
                                               (make-list 99999 "1") " ") ")")
                        "(\"a\0b\")" "(-9223372036854775807)"))
      (should (equal (list text)
                     (passepartout-frame-tests--take
                      (passepartout-frame-tests--frame text)))))))

(ert-deftest passepartout-frame-what-is-no-frame-is-refused-at-once ()
  (pcase-dolist
      (`(,bytes ,why)
       `(("00000g" "six hexadecimal") ("GET / HTTP/1.1" "six hexadecimal")
         ("\0" "six hexadecimal") ("12 " "six hexadecimal")
         ("400001" "over the limit") ("ffffff" "over the limit")
         (,(make-string 4097 ?\s) "white space")
         (,(concat "000002()" (make-string 5000 ?\n)) "white space")))
    (should (string-search why (or (passepartout-frame-tests--wrong bytes) ""))))
  (should-not (passepartout-frame-tests--wrong (make-string 4096 ?\s)))
  (should (equal '("()") (passepartout-frame-tests--take
                          (concat (make-string 4096 ?\n) "000002()"))))
  ;; White space counts however it comes.
  (should (string-search
           "white space"
           (caar (last (passepartout-frame-tests--take
                        (make-string 4097 ?\s) 100)))))
  (should-error (passepartout-frame-encode (make-string 4194305 ?x))
                :type 'passepartout-protocol-error))

(ert-deftest passepartout-frame-half-a-frame-is-told-from-none ()
  (let ((stream (passepartout-frame-open)))
    (unwind-protect
        (progn
          (should-not (passepartout-frame-half-p stream))
          (passepartout-frame-add stream "000009(:a")
          (should-not (passepartout-frame-next stream 1.0e+INF))
          (should (passepartout-frame-half-p stream))
          (passepartout-frame-add stream " :bcd)00")
          (should (equal "(:a :bcd)"
                         (passepartout-frame-next stream 1.0e+INF)))
          (should (passepartout-frame-half-p stream)))
      (passepartout-frame-close stream))))

(defun passepartout-frame-tests--steps (bytes seconds)
  "Take BYTES in pieces of 4,096, SECONDS at a time.
Return the texts, the longest step, and the time of all."
  (let ((stream (passepartout-frame-open))
        (at 0) (longest 0) (all 0) texts)
    (unwind-protect
        (while (< at (length bytes))
          (let ((end (min (length bytes) (+ at 4096))) (more t))
            (passepartout-frame-add stream (substring bytes at end))
            (setq at end)
            (while more
              (let* ((begin (float-time))
                     (text (passepartout-frame-next stream
                                                    (+ begin seconds)))
                     (took (- (float-time) begin)))
                (setq longest (max longest took) all (+ all took))
                (when (stringp text) (push text texts))
                (setq more text)))))
      (passepartout-frame-close stream))
    (list (nreverse texts) longest all)))

(ert-deftest passepartout-frame-four-megabytes-cost-in-proportion ()
  "Each byte is looked at once: four times as many take four times as long.
The slack is for a machine that does other things as well."
  (let* ((gc-cons-threshold (* 1024 1024 1024))
         (text (lambda (size)
                 (passepartout-frame-tests--frame
                  (concat "(\"" (make-string (- size 4) ?x) "\")"))))
         (lists (lambda (size)
                  (passepartout-frame-tests--frame
                   (concat "(" (apply #'concat
                                      (make-list (/ size 40)
                                                 (concat "(:a \"" (make-string 32 ?b) "\")")))
                           ")"))))
         (small (min (nth 2 (passepartout-frame-tests--steps
                             (funcall text 1048576) 1.0e+INF))
                     (nth 2 (passepartout-frame-tests--steps
                             (funcall text 1048576) 1.0e+INF))))
         (large (passepartout-frame-tests--steps
                 (funcall text passepartout-frame-longest) 1.0e+INF)))
    (should (= passepartout-frame-longest (length (car (nth 0 large)))))
    (should (< (nth 2 large) (+ 0.05 (* 10 small))))
    (let ((much (passepartout-frame-tests--steps
                 (funcall lists 1200000) 0.004)))
      (should (= 1 (length (nth 0 much))))
      ;; A step goes on for a few milliseconds, and a little.
      (should (< (nth 1 much) 0.1)))))

;;;; Proofs

(ert-deftest passepartout-greet-the-hmac-is-that-of-the-standard ()
  "Cases 1, 2, 3 and 6 of RFC 4231."
  (pcase-dolist
      (`(,key ,message ,mac)
       `((,(apply #'unibyte-string (make-list 20 #x0b)) "Hi There"
          "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
         ("Jefe" "what do ya want for nothing?"
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
         (,(apply #'unibyte-string (make-list 20 #xaa)) ,(apply #'unibyte-string (make-list 50 #xdd))
          "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe")
         (,(apply #'unibyte-string (make-list 131 #xaa))
          "Test Using Larger Than Block-Size Key - Hash Key First"
          "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")))
    (should (equal mac (passepartout-greet-hmac key message)))))

(ert-deftest passepartout-greet-proofs-are-compared-whole ()
  (let ((mac (make-string 64 ?a)))
    (should (passepartout-greet-same-p mac (make-string 64 ?a)))
    (dolist (other (list nil "" 7 (make-string 63 ?a) (make-string 65 ?a)
                         (concat "b" (make-string 63 ?a))
                         (concat (make-string 63 ?a) "b")))
      (should-not (passepartout-greet-same-p mac other)))
    (let ((cookie (make-string 64 ?1)) (one (make-string 64 ?2))
          (two (make-string 64 ?3)))
      (should (= 5 (length (delete-dups
                            (list (passepartout-greet-mac cookie "client" one two "a:1")
                                  (passepartout-greet-mac cookie "server" one two "a:1")
                                  (passepartout-greet-mac cookie "client" two one "a:1")
                                  (passepartout-greet-mac cookie "client" one two "a:2")
                                  (passepartout-greet-mac one "client" one two "a:1")))))))))

(ert-deftest passepartout-greet-numbers-are-random-or-there-are-none ()
  (let ((some (mapcar (lambda (_) (passepartout-greet-nonce)) (make-list 20 nil))))
    (should (seq-every-p #'passepartout-greet-digits-p some))
    (should (= 20 (length (delete-dups some)))))
  (let ((passepartout-greet--names "/nonexistent"))
    (should (passepartout-greet-digits-p (passepartout-greet-nonce)))
    (let ((passepartout-greet--device "/nonexistent"))
      (should-error (passepartout-greet-nonce) :type 'passepartout-error)
      (should-error (let ((passepartout-greet--device "/dev/null"))
                      (passepartout-greet-nonce))
                    :type 'passepartout-error)))
  ;; A file that says the same each time is not random.
  (let* ((file (make-temp-file "names"))
         (passepartout-greet--names file)
         (passepartout-greet--device "/nonexistent"))
    (unwind-protect
        (progn (write-region (make-string 36 ?a) nil file nil 'quiet)
               (should-error (passepartout-greet-nonce)
                             :type 'passepartout-error))
      (delete-file file))))

(ert-deftest passepartout-greet-addresses-are-written-as-the-core-writes-them ()
  (pcase-dolist (`(,address ,text)
                 '(([127 0 0 1 9105] "127.0.0.1:9105")
                   ([0 0 0 0 0 0 0 1 9105] "[::1]:9105")
                   ([0 0 0 0 0 0 0 0 1] "[::]:1")
                   ([#xfe80 0 0 0 1 0 0 2 7] "[fe80::1:0:0:2]:7")
                   ([1 0 2 3 4 5 6 7 7] "[1:0:2:3:4:5:6:7]:7")
                   ([#x2001 #xdb8 0 0 1 0 0 #xa 7] "[2001:db8::1:0:0:a]:7")
                   ([0 0 0 0 0 #xffff #x7f00 1 7] "[::ffff:127.0.0.1]:7")))
    (should (equal text (passepartout-greet-peer address))))
  (should-error (passepartout-greet-peer nil) :type 'passepartout-error))

(ert-deftest passepartout-greet-a-cookie-that-others-may-know-is-refused ()
  (let* ((store (make-temp-file "store" t))
         (file (expand-file-name "cookie" store))
         (cookie (make-string 64 ?b))
         (auth-sources nil)
         (get (lambda () (passepartout-greet-cookie "localhost" 9105 store))))
    (unwind-protect
        (progn
          (should-error (funcall get) :type 'passepartout-error)
          (with-file-modes #o600
            (write-region (concat cookie "\n") nil file nil 'quiet))
          (should (equal cookie (funcall get)))
          (should-error (passepartout-greet-cookie "localhost" 9105 nil)
                        :type 'passepartout-error)
          (dolist (mode '(#o644 #o640 #o606 #o400))
            (set-file-modes file mode)
            (should-error (funcall get) :type 'passepartout-error))
          (set-file-modes file #o600)
          (write-region "not a cookie" nil file nil 'quiet)
          (should-error (funcall get) :type 'passepartout-error)
          (rename-file file (concat file "-elsewhere"))
          (make-symbolic-link (concat file "-elsewhere") file)
          (should-error (funcall get) :type 'passepartout-error))
      (delete-directory store t))))

(ert-deftest passepartout-greet-auth-source-has-the-cookie-of-another-machine ()
  (let* ((file (make-temp-file "authinfo"))
         (auth-sources (list file)))
    (unwind-protect
        (progn
          (write-region
           (format "machine box port 9105 login passepartout password %s\n"
                   (make-string 64 ?c))
           nil file nil 'quiet)
          (auth-source-forget-all-cached)
          (should (equal (make-string 64 ?c)
                         (passepartout-greet-cookie "box" 9105 nil)))
          (dolist (other '(("box" 9106) ("other" 9105)))
            (should-error (passepartout-greet-cookie (nth 0 other)
                                                     (nth 1 other) nil)
                          :type 'passepartout-error)))
      (auth-source-forget-all-cached)
      (delete-file file))))

(provide 'passepartout-frame-tests)
;;; passepartout-frame-tests.el ends here
