;;; passepartout-costs-tests.el --- Tests of what calls cost  -*- lexical-binding: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the buffer of costs shows of an answer of the core, and of a real one.

;;; Code:

(require 'ert)
(require 'passepartout-fake)
(require 'passepartout-real)
(require 'passepartout-costs)

(defconst passepartout-costs-tests--payload
  '(:by "provider" :label "in all" :calls 3 :failed 1 :tokens-in 1234567
    :tokens-cached 1200000 :tokens-out 7 :cost "$0.02, and 1 call of unknown price"
    :rows ((:label "far m* [[x]]" :calls 2 :failed 1 :tokens-in 1234567
            :tokens-cached 1200000 :tokens-out 7 :cost "$0.02")
           (:label "* near
- m" :calls 1 :failed 0 :tokens-in 0 :tokens-cached 0
            :tokens-out 0 :cost "price unknown (1 call)"))
    :more 2 :caps ("this day: $0.02 of $1.00 used; raise X") :notes ("a note"))
  "An answer of the core.")

(ert-deftest passepartout-costs-shows-sums-caps-and-what-is-not-known ()
  (passepartout-fake-with
    (passepartout-costs)
    (should (equal (plist-get (car (passepartout-fake-sent :costs)) :by)
                   "day"))
    (should-not (plist-get (car (passepartout-fake-sent :costs)) :here))
    (passepartout-fake-answer :costs passepartout-costs-tests--payload)
    (with-current-buffer passepartout-costs--buffer-name
      (let ((text (buffer-string)))
        (dolist (line '("^What calls of models cost, by provider$"
                        "^  far m\\* \\[\\[x\\]\\] +2 +1234k +1200k +7  \\$0.02  (1 not answered)$"
                        "^  \\* near - m +1 +0 +0 +0  price unknown (1 call)$"
                        "^  2 more are not listed; the sum has them.$"
                        "^  in all +3 +1234k +1200k +7  \\$0.02, and 1 call of unknown"
                        "^  this day: \\$0.02 of \\$1.00 used; raise X$"
                        "^  a note$"))
          (should (string-match-p line text))))
      ;; Each key asks anew, by another word.
      (dolist (key '(("h" . "heading") ("s" . "skill") ("m" . "provider")
                     ("b" . "background") ("d" . "day")))
        (call-interactively (key-binding (kbd (car key))))
        (should (equal (plist-get (car (last (passepartout-fake-sent :costs)))
                                  :by)
                       (cdr key))))
      ;; An answer that another one was asked after is late.
      (passepartout-costs-by-skill)
      (passepartout-costs-by-day)
      (passepartout-fake-answer
       :costs (append '(:by "day") passepartout-costs-tests--payload))
      (let ((first (car (last (passepartout-fake-sent :costs) 2))))
        (passepartout-fake-inject
         :response `(:action :costs :request ,(plist-get first :request)
                     :by "skill" ,@passepartout-costs-tests--payload)))
      (should (string-match-p "^What calls of models cost, by day$"
                              (buffer-string))))))

(ert-deftest passepartout-costs-of-a-real-core-are-those-of-its-answers ()
  (passepartout-real-with
    (passepartout-real-serve '((text "Larch.")))
    (passepartout-real-start)
    (passepartout-real-ask "which wood for the deck?")
    (should (string-match-p "^- cost :: \\$0.00$" (passepartout-real-answer 1)))
    (with-current-buffer (passepartout-real-chat)
      (passepartout-costs))
    (passepartout-real-until
      (with-current-buffer passepartout-costs--buffer-name
        (string-match-p "^  in all +1 " (buffer-string))))
    (with-current-buffer passepartout-costs--buffer-name
      (should (string-match-p "^  none is set; passepartout-day-budget"
                              (buffer-string)))
      (passepartout-real-key "m")
      (passepartout-real-until
        (string-match-p "^  fake [^ ]+ +1 .*\\$0.00$" (buffer-string))))))

(provide 'passepartout-costs-tests)
;;; passepartout-costs-tests.el ends here
