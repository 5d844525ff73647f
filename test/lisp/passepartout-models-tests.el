;;; passepartout-models-tests.el --- Tests of the buffer of models  -*- lexical-binding: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the buffer of models shows and asks for, with a core of paper and
;; with a real one.

;;; Code:

(require 'ert)
(require 'passepartout-fake)
(require 'passepartout-real)
(require 'passepartout-models)

(defconst passepartout-models-tests--standings
  '(:providers
    ((:name "far" :state "unconfirmed" :place "remote" :model "big/1:free"
      :price "$3.00 in, $15.00 out"
      :why "you are shown the first request before it is sent")
     (:name "near" :state "demoted" :place "local" :model "m" :context 8192
      :price "nothing" :why "others go first until 09:00:15, where there are any: it said nothing")
     (:name "recall" :state "ready" :place "builtin")
     (:name "gone" :state "left-out" :why "there is no key for it")
     (:name "spare" :state "unused" :place "remote" :model "s"
      :price "unknown"))
    :order ("far/big/1:free" "near" "recall") :chosen t
    :slots (("code" "near" "recall")))
  "How providers stand, as a core says it.")

(defun passepartout-models-tests--answer (name payload)
  "Answer the last request for the list of the provider NAME with PAYLOAD."
  (let ((request (seq-find (lambda (sent)
                             (equal (plist-get sent :provider) name))
                           (reverse (passepartout-fake-sent :model-list)))))
    (should request)
    (passepartout-fake-inject
     :response `(:action :model-list :request ,(plist-get request :request)
                 :provider ,name ,@payload))))

(defun passepartout-models-tests--text ()
  "Return the text of the buffer of models, each line without end blanks."
  (with-current-buffer passepartout-models--buffer-name
    (replace-regexp-in-string " +$" "" (buffer-string))))

(defmacro passepartout-models-tests--with (&rest body)
  "Run BODY in the buffer of models of a core of paper."
  (declare (indent 0) (debug t))
  `(passepartout-fake-with
     (passepartout-models)
     (passepartout-fake-answer :models passepartout-models-tests--standings)
     (with-current-buffer passepartout-models--buffer-name
       ,@body)))

(defun passepartout-models-tests--press (keys at)
  "Press KEYS where the text AT begins."
  (goto-char (point-min))
  (search-forward at)
  (goto-char (match-beginning 0))
  (let ((command (key-binding (kbd keys))))
    (should command)
    (call-interactively command)))

(ert-deftest passepartout-models-shows-order-standing-and-each-list ()
  (passepartout-models-tests--with
    ;; Who is built in or left out has no list, and nobody is contacted.
    (should (equal (mapcar (lambda (sent) (plist-get sent :provider))
                           (passepartout-fake-sent :model-list))
                   '("far" "near" "spare")))
    (should-not (seq-some (lambda (sent) (or (plist-get sent :contact)
                                             (plist-get sent :fresh)))
                          (passepartout-fake-sent :model-list)))
    (passepartout-models-tests--answer
     "near" '(:at "09:00:00" :more 2
              :models ((:name "m" :context 8192 :price "nothing" :set t)
                       (:name "* odd
name" :price "unknown"))))
    (passepartout-models-tests--answer "far" '(:why "it was never contacted"))
    (passepartout-models-tests--answer "spare" '(:at "09:00:01"
                                                 :why "spare: check the key"))
    (let ((text (passepartout-models-tests--text)))
      (should
       (equal
        (substring text (string-search "   1 far" text))
        "   1 far              elsewhere, not confirmed big/1:free (reads unknown; price $3.00 in, $15.00 out)
       you are shown the first request before it is sent
   2 near             local, demoted           m (reads 8192; price nothing)
       others go first until 09:00:15, where there are any: it said nothing
   3 recall           built in, ready
     gone             left out
       there is no key for it
     spare            elsewhere, in no cascade s (reads unknown; price unknown)

You chose this order; it counts for every kind of work.
  code: near, recall

  Model                                                Reads Price

far: no list; it was never contacted
  RET or g here asks it.

near: 4 models, asked at 09:00:00
 > m                                                    8192  nothing
   * odd name                                        unknown  unknown
  2 more are not listed here; `passepartout models' lists all.

spare: no list; spare: check the key
")))))

(ert-deftest passepartout-models-of-each-list-are-sorted ()
  (passepartout-models-tests--with
    (passepartout-models-tests--answer
     "near" '(:at "09:00:00"
              :models ((:name "b" :context 100 :price "$10.00 in, $1 out")
                       (:name "C" :context 9 :price "unknown")
                       (:name "a" :price "$3.00 in, $15.00 out")
                       (:name "d" :context 20 :price "nothing"))))
    ;; A model is used by a click, too.
    (goto-char (passepartout-list-find "near/a"))
    (should (get-text-property (point) 'mouse-face))
    (should-not (get-text-property (line-end-position) 'mouse-face))
    (passepartout-models-tests--answer
     "spare" '(:at "09:00:00" :models ((:name "z" :price "nothing")
                                       (:name "y" :price "nothing"))))
    (let ((asked (length passepartout-fake-sent)))
      (dolist (case '(("Model" "abCd" "yz") ("Model" "dCba" "zy")
                      ("Reads" "aCdb" nil) ("Price" "dabC" nil)))
        (passepartout-list-sort (car case))
        (let ((models (seq-filter (lambda (label) (string-search "/" label))
                                  (mapcar #'car (passepartout-list--imenu)))))
          (dolist (list `(("near/" . ,(nth 1 case)) ("spare/" . ,(nth 2 case))))
            (when (cdr list)
              (should (equal (cdr list)
                             (mapconcat
                              (lambda (label) (string-remove-prefix (car list)
                                                                    label))
                              (seq-filter (apply-partially #'string-prefix-p
                                                           (car list))
                                          models)
                              "")))))))
      (should (= asked (length passepartout-fake-sent)))
      ;; The order of providers is none to be sorted.
      (should (string-match-p "   1 far[^z]*   2 near[^z]*   3 recall"
                              (buffer-string))))))

(ert-deftest passepartout-models-a-key-sets-the-order-that-it-says ()
  (dolist (case '(("RET" " > m" (:cascade ("near/m" "far/big/1:free" "recall")))
                  ("C-u" " > m" (:cascade ("near/m" "far/big/1:free" "recall")
                                 :keep t))
                  ("RET" "   3 recall" (:cascade ("recall" "far/big/1:free"
                                                  "near")))
                  ("RET" "     spare" (:cascade ("spare" "far/big/1:free" "near"
                                                 "recall")))
                  ("M-<up>" "   2 near" (:cascade ("near" "far/big/1:free"
                                                   "recall")))
                  ("M-n" "   1 far" (:cascade ("near" "far/big/1:free"
                                               "recall")))
                  ("u" "Providers" (:usual t))))
    (passepartout-models-tests--with
      (passepartout-models-tests--answer
       "near" '(:at "09:00:00" :models ((:name "m" :price "nothing" :set t))))
      (if (equal (car case) "C-u")
          (let ((current-prefix-arg '(4)))
            (passepartout-models-tests--press "RET" (cadr case)))
        (passepartout-models-tests--press (car case) (cadr case)))
      (passepartout-fake-answer :provider-settings '(:providers nil))
      (let ((sent (car (last (passepartout-fake-sent :set-cascade)))))
        (dolist (key '(:cascade :keep :usual))
          (should (equal (plist-get sent key)
                         (plist-get (nth 2 case) key)))))
      ;; What came of it is shown.
      (let ((before (length (passepartout-fake-sent :models))))
        (passepartout-fake-answer :set-cascade '(:text "In this order."))
        (should (= (length (passepartout-fake-sent :models)) (1+ before))))))
  (passepartout-models-tests--with
    (dolist (wrong '(("M-<up>" "   1 far") ("M-n" "   3 recall")
                     ("M-n" "     spare") ("RET" "Providers")))
      (should-error (apply #'passepartout-models-tests--press wrong)
                    :type 'user-error))
    (should-not (passepartout-fake-sent :set-cascade))))

(ert-deftest passepartout-models-who-was-never-contacted-is-asked-on-request ()
  (passepartout-models-tests--with
    (passepartout-models-tests--answer "far" '(:why "it was never contacted"))
    (dolist (key '("RET" "g"))
      (passepartout-models-tests--press key "far: no list")
      (let ((sent (car (last (passepartout-fake-sent :model-list)))))
        (should (equal (plist-get sent :provider) "far"))
        (should (plist-get sent :contact)))
      (passepartout-models-tests--answer "far" '(:why "it was never contacted")))
    ;; Everywhere else everything is asked for anew, and nobody new contacted.
    (passepartout-models-tests--press "g" "Providers")
    (passepartout-fake-answer :models passepartout-models-tests--standings)
    (let ((sent (last (passepartout-fake-sent :model-list) 3)))
      (should (equal (mapcar (lambda (one) (plist-get one :provider)) sent)
                     '("far" "near" "spare")))
      (should (seq-every-p (lambda (one) (plist-get one :fresh)) sent))
      (should-not (seq-some (lambda (one) (plist-get one :contact)) sent)))))

(ert-deftest passepartout-models-of-a-real-core-are-those-of-its-server ()
  (passepartout-real-with
    (passepartout-real-serve '((text "Larch.")))
    (passepartout-real-start)
    (passepartout-models)
    (with-current-buffer passepartout-models--buffer-name
      (passepartout-real-until
        (string-match-p "^fake: 1 model, asked at " (buffer-string)))
      (should (string-match-p "^   1 fake +local, ready" (buffer-string)))
      (goto-char (point-min))
      (re-search-forward "^ . fake ")
      (passepartout-real-key "RET")
      (passepartout-real-until
        (string-match-p "^You chose this order" (buffer-string)))
      (should (string-match-p "^   1 fake +local, ready +fake "
                              (buffer-string))))))

(ert-deftest passepartout-models-a-function-of-yours-is-asked-by-a-real-core ()
  (let* ((offered nil)
         (passepartout-select-model-function
          (lambda (offer) (push offer offered) '("recall"))))
    (passepartout-real-with
      (passepartout-real-serve '((text "Larch.")) '((text "Oak.")))
      (setq passepartout-provider-cascade
            (append passepartout-provider-cascade '("recall")))
      (passepartout-real-start)
      (passepartout-real-ask "which wood for the deck?")
      (should-not (string-match-p "Larch" (passepartout-real-answer 1)))
      (should (equal (plist-get (car offered) :text)
                     "which wood for the deck?"))
      (should (equal (mapcar (lambda (one) (plist-get one :name))
                             (plist-get (car offered) :providers))
                     '("fake" "recall")))
      ;; It has nobody asked.
      (setq passepartout-select-model-function
            (lambda (offer) (push offer offered) 'skip))
      (accept-process-output nil 0.01)
      (passepartout-real-ask "and for the mast?")
      (should (string-match-p "skipped this request"
                              (passepartout-real-answer 2)))
      ;; Taken away, it is not asked any more.
      (setq passepartout-select-model-function nil)
      (accept-process-output nil 0.01)
      (passepartout-real-ask "and for the roof?")
      (should (string-match-p "Larch" (passepartout-real-answer 3)))
      (should (= (length offered) 2)))))

(provide 'passepartout-models-tests)
;;; passepartout-models-tests.el ends here
