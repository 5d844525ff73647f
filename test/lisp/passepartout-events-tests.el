;;; passepartout-events-tests.el --- Tests of the messages  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; Encoding, dispatch, requests, slices, and the containment of faults.

;;; Code:

(require 'auth-source)
(require 'passepartout-fake)
(require 'passepartout-provider)

(defun passepartout-events-tests--round (value)
  "Return VALUE as it is after encoding and reading."
  (read (passepartout-events-encode value)))

(ert-deftest passepartout-events-encodes-what-it-is-given ()
  (dolist (value '((:a 1 :b "x\ny\tz\"\\") (:a (("TODO" "|" "DONE")))
                   (:permissions (("shell" . "ask"))) (:x nil :y t)
                   (:text "語 – é ;# |") (:f 1.5)))
    (should (equal value (passepartout-events-tests--round value)))))

(ert-deftest passepartout-events-encoding-ignores-print-variables ()
  (let ((print-length 1) (print-level 1) (print-escape-newlines t)
        (print-escape-nonascii t) (print-circle t))
    (should (equal (passepartout-events-encode '(:a ("x\n" "é" "x\n")))
                   "(:a (\"x\n\" \"é\" \"x\n\"))"))))

(ert-deftest passepartout-events-strings-lose-properties ()
  (should (equal (passepartout-events-encode
                  (list :t (propertize "x" 'face 'bold)))
                 "(:t \"x\")")))

(ert-deftest passepartout-events-knows-what-utf-8-cannot-hold ()
  (pcase-dolist (`(,character ,foreign)
                 '((0 nil) (?a nil) (#x7f nil) (#x80 nil) (?é nil) (?語 nil)
                   (#xd7ff nil) (#xd800 t) (#xdfff t) (#xe000 nil)
                   (#xffff nil) (#x10ffff nil) (#x110000 t) (#x3fff7f t)
                   (#x3fff80 t) (#x3fffff t)))
    (dolist (text (list (string character)
                        (concat (make-string 2000 ?é) (string character) "a")))
      (should (eq foreign (and (passepartout-events-foreign-p text) t)))
      (should (eq foreign (not (equal text (passepartout-events-clean text))))))))

(ert-deftest passepartout-events-clean-keeps-the-length-in-bytes ()
  (with-temp-buffer
    (insert "a" (unibyte-char-to-multibyte 200) "語" #xd800 #x110000 #x300000)
    (let* ((text (buffer-string))
           (clean (passepartout-events-clean text)))
      (should (= (1- (position-bytes (point-max))) (string-bytes clean)))
      (should (equal (decode-coding-string
                      (encode-coding-string clean 'utf-8) 'utf-8)
                     clean))
      (should (= (length (encode-coding-string clean 'utf-8))
                 (string-bytes clean))))))

(ert-deftest passepartout-events-streamed-text-comes-in-large-pieces ()
  (passepartout-fake-with
    (let* ((passepartout-events--subscribers nil)
           (seen nil)
           (put (lambda (type text)
                  (setq passepartout-fake-waiting
                        (list (format "(:type %s :payload (:action :x :text %S))"
                                      type text)))
                  (passepartout-events--woken nil "."))))
      (dolist (type '(:stream-chunk :event))
        (passepartout-subscribe type nil
                                (lambda (payload _meta)
                                  (push (plist-get payload :text) seen))))
      ;; The first piece is shown at once.
      (funcall put :stream-chunk "one")
      (should (equal seen '("one")))
      ;; What comes right after it waits, however often the core rings.
      (setq passepartout-events--streamed (+ (float-time) 1000))
      (funcall put :stream-chunk "two")
      (funcall put :event "three")
      (should (equal seen '("one")))
      (should (= 1 (cl-count #'passepartout-events--drain timer-list
                             :key #'timer--function)))
      (passepartout-fake-settle)
      (should (equal seen '("three" "one")))
      ;; Nothing was streamed at the last look, so nothing waits.
      (funcall put :event "four")
      (should (equal seen '("four" "three" "one"))))))

(ert-deftest passepartout-events-who-is-interrupted-keeps-the-match ()
  "Also with more groups than there are cells, and when a handler waits."
  (passepartout-fake-with
    (let ((passepartout-events--subscribers nil)
          (many (mapconcat (lambda (_) "\\(.\\)") (make-list 30 nil) "")))
      (passepartout-subscribe
       :event nil
       (lambda (payload _meta)
         (string-match "\\(b\\)\\(c\\)" "abc")
         (when (eq (plist-get payload :action) :outer)
           (let ((before (match-data)))
             (passepartout-fake-inject :event '(:action :inner))
             (should (equal before (match-data)))))))
      (with-temp-buffer
        (insert (make-string 40 ?x))
        (dolist (pattern (list "x" "\\(y\\)?x" many "x"))
          (dolist (search (list (lambda ()
                                  (goto-char (point-min))
                                  (re-search-forward pattern))
                                (lambda ()
                                  (string-match pattern (make-string 40 ?x)))))
            (funcall search)
            (let ((before (match-data)))
              (passepartout-fake-inject :event '(:action :outer))
              (should (equal before (match-data)))))))
      (should-not passepartout-events--notes))))

(ert-deftest passepartout-events-one-bad-subscriber-stops-nobody ()
  (passepartout-fake-with
    (let* ((passepartout-events--subscribers nil)
           (seen nil))
      (passepartout-subscribe :event :thing (lambda (&rest _) (error "Bad")))
      (passepartout-subscribe :event :thing
                              (lambda (payload meta)
                                (push (list (plist-get payload :n)
                                            (plist-get meta :session-id))
                                      seen)))
      (passepartout-subscribe :event nil (lambda (&rest _) (push 'all seen)))
      (passepartout-fake-inject :event '(:action :thing :n 1) "s1")
      (passepartout-fake-inject :event '(:sensor :thing :n 2) "s2")
      (should (equal seen '(all (2 "s2") all (1 "s1"))))
      (should (= 2 (length passepartout-events--notes))))))

(ert-deftest passepartout-events-rubbish-is-noted-and-dropped ()
  (passepartout-fake-with
    (dolist (text '("(" ")" "42" "nil" "\"x\"" "(1 2)" "(:type" "#s(hash-table"))
      (setq passepartout-fake-waiting (list text))
      (passepartout-events--drain))
    (should passepartout-events--notes)
    (should (passepartout-running-p))))

(ert-deftest passepartout-events-a-response-reaches-its-request-once ()
  (passepartout-fake-with
    (let ((answers nil))
      (passepartout-request :log '(:limit 3)
                            (lambda (payload)
                              (push (plist-get payload :lines) answers)))
      (should (equal 3 (plist-get (car (passepartout-fake-sent :log)) :limit)))
      (passepartout-fake-answer :log '(:lines (1)))
      (passepartout-fake-answer :log '(:lines (2)))
      (should (equal answers '((1)))))))

(ert-deftest passepartout-events-a-flood-gives-emacs-its-turn ()
  (passepartout-fake-with
    (let ((passepartout-events--subscribers nil) (count 0))
      (passepartout-subscribe :event :thing
                              (lambda (&rest _)
                                (cl-incf count)
                                (let ((until (+ (float-time) 0.001)))
                                  (while (< (float-time) until)))))
      (setq passepartout-fake-waiting
            (make-list 40 (concat "(:type :event :payload (:action :thing :pad \""
                                  (make-string 20000 ?x) "\"))")))
      (passepartout-events--drain)
      (should (< 0 count 40))
      (should passepartout-events--timer)
      (passepartout-fake-settle)
      (should (= count 40)))))

(ert-deftest passepartout-events-slices-are-short-and-whole ()
  (dolist (text (list "" "x" (make-string 200000 ?x) (make-string 70000 ?語)
                      (apply #'concat (make-list 30000 "aé語𝄞"))))
    (let ((slices nil) (number 0) (hash nil))
      (passepartout-events-slices
       text (lambda (slice)
              (should (<= (string-bytes (plist-get slice :text))
                          passepartout-events-text-limit))
              (push slice slices)))
      (passepartout-fake-settle)
      (should (equal text (mapconcat (lambda (slice) (plist-get slice :text))
                                     (reverse slices) "")))
      (dolist (slice (reverse slices))
        (setq number (1+ number)
              hash (passepartout-events-chain number hash
                                              (plist-get slice :text)))
        (should (eql number (plist-get slice :slice)))
        (should (eq (eq slice (car slices)) (not (plist-get slice :more))))
        (should (equal (plist-get slice :hash)
                       (and (eq slice (car slices)) hash)))))))

(ert-deftest passepartout-events-hashes-of-slices-are-those-of-the-protocol ()
  ;; As the core has them, and any other program.
  (should (equal (passepartout-events-chain 1 nil "abc")
                 "c54a9360f3530330822e8831a5eb56cc189be0c08d8a5b2ea40edfa8db156f46"))
  (should (equal (passepartout-events-chain
                  2 (passepartout-events-chain 1 nil "ab") "c")
                 "743a15d55fe38582224b382f3f4be45e7ce11342890b358255937918748495d1"))
  (should (equal (passepartout-events-chain 1 nil "é語")
                 (secure-hash 'sha256 (encode-coding-string "1 \né語" 'utf-8)))))

(ert-deftest passepartout-events-slices-are-for-one-core ()
  (passepartout-fake-with
    (let ((passepartout-events--slice-seconds -1)
          (count 0))
      (passepartout-events-slices (make-string 300000 ?x)
                                  (lambda (&rest _) (setq count (1+ count))))
      (should (= count 1))
      (passepartout-restart)
      (passepartout-fake-settle)
      (should (= count 1)))))

(ert-deftest passepartout-events-a-lost-core-is-said-and-begun-with-anew ()
  (passepartout-fake-with
    (let ((passepartout-events--slice-seconds -1)
          (slices 0) (answers nil) (states nil) (starts 0))
      (passepartout-start)
      (let ((begun (lambda () (setq starts (1+ starts))))
            (state (lambda (payload _meta)
                     (push (plist-get payload :state) states))))
        (add-hook 'passepartout-start-hook begun)
        (passepartout-subscribe :status nil state)
        (unwind-protect
            (progn
              (passepartout-request :trace nil
                                    (lambda (payload)
                                      (push payload answers)
                                      (passepartout-request :status nil nil)))
              (passepartout-events-slices
               (make-string 300000 ?x)
               (lambda (&rest _) (setq slices (1+ slices))))
              (passepartout-fake-inject :event '(:action :core-lost :text "Gone."))
              (passepartout-fake-settle)
              (should (equal answers '((:error "Gone."))))
              (should (member "stopped" states))
              (should (= starts 1))
              (should (= slices 1))
              ;; The first that the next core hears.
              (let ((names (mapcar (lambda (message)
                                     (plist-get (plist-get message :payload)
                                                :action))
                                   (reverse passepartout-fake-sent))))
                (should (eq :hello (cadr (memq :trace names))))
                ;; What who waited sends is for the next one.
                (should (memq :status (memq :hello names))))
              (should (passepartout-running-p)))
          (remove-hook 'passepartout-start-hook begun)
          (passepartout-unsubscribe :status nil state))))))

(ert-deftest passepartout-events-settings-name-what-the-options-say ()
  (let ((passepartout-directories '("/tmp/a/" "/tmp/b"))
        (passepartout-store "/tmp/store")
        (passepartout-provider-cascade nil)
        (passepartout-permissions '(("shell" . ask)))
        (passepartout-providers '(("mine" :kind "openai" :url "http://x/v1")))
        (org-todo-keywords '((sequence "TODO(t)" "WAIT(w@/!)" "|" "DONE(d)")
                             (type "A" "B")))
        (org-use-property-inheritance '("AREA" "KIND")))
    (passepartout-fake-with
      (let ((settings passepartout-fake-settings))
        (should (equal (plist-get settings :directories) '("/tmp/a" "/tmp/b")))
        (should (equal (plist-get settings :store) "/tmp/store"))
        (should (equal (plist-get settings :permissions) '(("shell" . "ask"))))
        (should (equal (plist-get settings :providers)
                       '(("mine" :kind "openai" :url "http://x/v1"))))
        (should (equal (plist-get settings :todo-keywords)
                       '(("TODO" "WAIT" "|" "DONE") ("A" "B"))))
        (should (equal (plist-get settings :property-inheritance)
                       '("AREA" "KIND")))
        (should-not (plist-member settings :keys))))))

(ert-deftest passepartout-events-private-tags-have-tiers-and-mistakes-a-way-out ()
  (pcase-dolist
      (`(,tags ,told)
       '((nil nil)
         (("private") (("private" . "block")))
         (("private" ("journal" . ask) ("work" . warn) ("diary" . block))
          (("private" . "block") ("journal" . "ask") ("work" . "warn")
           ("diary" . "block")))))
    (let ((passepartout-privacy-tags tags))
      (should (equal told
                     (mapcar (lambda (entry)
                               (cons (car entry) (symbol-name (cdr entry))))
                             (passepartout-private-tiers))))))
  (dolist (wrong '((("work" . shout)) (("work" . "ask")) (work) ((1 . ask))
                   "private"))
    (let* ((passepartout-privacy-tags wrong)
           (error (should-error (passepartout-private-tiers)
                                :type 'user-error)))
      (should (string-match-p "Customize .passepartout-privacy-tags.:"
                              (cadr error)))))
  (should-not (get 'passepartout-privacy-tags 'safe-local-variable)))

(ert-deftest passepartout-events-orgs-new-settings-are-told-and-nothing-is-stopped ()
  (let ((org-todo-keywords '((sequence "TODO" "DONE")))
        (org-use-property-inheritance nil)
        (told (lambda ()
                (mapcar
                 (lambda (message) (plist-get message :payload))
                 (seq-filter (lambda (message)
                               (eq (plist-get (plist-get message :payload)
                                              :action)
                                   :org-settings))
                             passepartout-fake-sent)))))
    (passepartout-fake-with
      (cl-letf (((symbol-function 'passepartout-stop) #'ert-fail))
        (passepartout-events--org-follow)
        (should-not (funcall told))
        (setq org-todo-keywords '((sequence "NEXT(n)" "|" "DONE(d!)"))
              org-use-property-inheritance '("AREA"))
        ;; A turn runs, and goes on.
        (passepartout-events--dispatch
         '(:type :status :payload (:state "thinking")))
        (passepartout-events--org-follow)
        ;; What it did not take it is told again, and what it took it is not.
        (passepartout-fake-inject
         :response `(:action :org-settings :error "The store is gone."
                     :request ,(plist-get (car (funcall told)) :request)))
        (passepartout-fake-settle)
        (passepartout-events--org-follow)
        (passepartout-fake-inject
         :response `(:action :org-settings
                     :request ,(plist-get (car (funcall told)) :request)))
        (passepartout-fake-settle)
        (passepartout-events--org-follow)
        (let ((all (funcall told)))
          (should (= (length all) 2))
          (should (equal (plist-get (car all) :todo-keywords)
                         '(("NEXT" "|" "DONE"))))
          (should (equal (plist-get (car all) :property-inheritance)
                         '("AREA"))))
        ;; Who does the work from now on is told, too.
        (passepartout-fake-inject :event '(:action :core-lost :text "Gone."))
        (passepartout-fake-settle)
        (should (= (length (funcall told)) 3))))))

(ert-deftest passepartout-events-a-silent-core-is-said-and-waited-for ()
  (passepartout-fake-with
    (let* ((states nil) (lines nil) (answers nil)
           (state (lambda (payload _meta)
                    (push (plist-get payload :state) states)))
           (line (lambda (payload _meta) (push (plist-get payload :text) lines))))
      (passepartout-subscribe :status nil state)
      (passepartout-subscribe :log nil line)
      (unwind-protect
          (let ((number (passepartout-request
                         :trace nil (lambda (payload) (push payload answers)))))
            (passepartout-fake-inject
             :event '(:action :core-silent :text "It is stopped."))
            (passepartout-fake-settle)
            (should (equal states '("not answering")))
            (should (equal lines '("It is stopped.")))
            ;; Who asked is not answered, and nothing is asked again.
            (should-not answers)
            (should (= (length passepartout-fake-sent) 1))
            (passepartout-fake-inject
             :event '(:action :core-back :text "It answers again."))
            (passepartout-fake-inject
             :response `(:action :trace :request ,number :turns nil))
            (passepartout-fake-settle)
            (should (equal (car lines) "It answers again."))
            (should (= (length answers) 1))
            (should (= (length passepartout-fake-sent) 2)))
        (passepartout-unsubscribe :status nil state)
        (passepartout-unsubscribe :log nil line)))))

(ert-deftest passepartout-events-keys-come-from-auth-source ()
  (let* ((file (make-temp-file "passepartout-auth" nil nil
                               "machine api.openai.com login apikey password k1
machine llm.example login me password k2\n"))
         (auth-sources (list file))
         (auth-source-do-cache nil)
         (passepartout-provider-cascade '("recall" "openai" "mine" "near"))
         (passepartout-providers
          '(("mine" :kind "openai" :url "https://llm.example/v1")
            ("near" :kind "openai" :url "http://localhost:1" :local t))))
    (unwind-protect
        (passepartout-fake-with
          (should (equal (plist-get passepartout-fake-settings :keys)
                         '(("openai" "k1" "api.openai.com")
                           ("mine" "k2" "llm.example")))))
      (delete-file file))))

(ert-deftest passepartout-events-a-key-goes-to-the-host-it-is-for ()
  (cl-letf (((symbol-function 'auth-source-pick-first-password)
             (lambda (&rest spec) (concat "key of " (plist-get spec :host)))))
    (dolist (case
             '(("groq" (:model "x") "api.groq.com")
               ("deepseek" (:kind "openai" :model "x") "api.deepseek.com")
               ("anthropic" (:model "x") "api.anthropic.com")
               ("ollama" (:model "x") nil)
               ("ollama" (:kind "openai" :model "x") nil)
               ("llamacpp" (:kind "openai") nil)
               ("mine" (:kind "openai" :model "x") "api.openai.com")
               ("mine" (:model "x") nil)
               ("openai" (:url "https://llm.example:1/v1") "llm.example")
               ("openai" (:local t :url "http://127.0.0.1:1") nil)))
      (let ((passepartout-providers (list (cons (car case) (cadr case))))
            (host (nth 2 case)))
        (should (equal (passepartout-events--keys (list (car case)))
                       (and host (list (list (car case)
                                             (concat "key of " host)
                                             host)))))))
    (let ((passepartout-providers nil))
      (passepartout-define-provider "groq" :model "x")
      (passepartout-define-provider "mine" :model "x")
      (should (equal passepartout-providers
                     '(("groq" :model "x")
                       ("mine" :kind "openai" :model "x")))))))

(ert-deftest passepartout-events-embedding-is-told-with-its-key ()
  (let* ((file (make-temp-file "passepartout-auth" nil nil
                               "machine api.openai.com login apikey password k1
machine vectors.example login apikey password k2\n"))
         (auth-sources (list file))
         (auth-source-do-cache nil))
    (unwind-protect
        (dolist (case '((nil nil nil nil)
                        (hashing nil (:embedding-backend "hashing") nil)
                        (local nil (:embedding-backend "local") nil)
                        (local "http://vectors.example:11434"
                               (:embedding-backend
                                "local" :embedding-url
                                "http://vectors.example:11434")
                               (("embedding" "k2" "vectors.example")))
                        (openai nil (:embedding-backend "openai")
                                (("embedding" "k1" "api.openai.com")))
                        (openai "http://other.example/v1"
                                (:embedding-backend
                                 "openai" :embedding-url
                                 "http://other.example/v1")
                                nil)))
          (pcase-let* ((`(,backend ,url ,told ,keys) case)
                       (passepartout-embedding-backend backend)
                       (passepartout-embedding-url url))
            (should (equal (passepartout-events--embedding) told))
            (should (equal (passepartout-events--embedding-key) keys))))
      (delete-file file))))

(ert-deftest passepartout-events-stop-ends-everything ()
  (passepartout-fake-with
    (passepartout-stop)
    (should-not (passepartout-running-p))
    (passepartout-send-event :interrupt nil "s")
    (should (passepartout-running-p))))

(ert-deftest passepartout-events-a-provider-is-defined-in-lisp ()
  (let ((passepartout-providers nil)
        (passepartout-provider-cascade nil)
        (told (lambda ()
                (car (last (passepartout-fake-sent :provider-settings))))))
    (cl-letf (((symbol-function 'auth-source-pick-first-password)
               (lambda (&rest spec)
                 (and (equal (plist-get spec :host) "llm.example.org")
                      "the-key"))))
      (should (equal (passepartout-define-provider
                      "desk" :kind "ollama" :model "m" :local t)
                     "desk"))
      (should (equal passepartout-providers
                     '(("desk" :kind "ollama" :model "m" :local t))))
      (passepartout-fake-with
        (should-not (funcall told))
        (should-not (plist-get passepartout-fake-settings :keys))
        ;; While it runs, it is told at once; a newer one takes the place.
        (passepartout-define-provider "desk" :model "n")
        (passepartout-define-provider
         "work" :kind 'anthropic :url "https://llm.example.org/v1/"
         :effort 'high)
        (let ((payload (funcall told)))
          (should (equal (plist-get payload :providers)
                         '(("desk" :kind "openai" :model "n")
                           ("work" :kind "anthropic"
                            :url "https://llm.example.org/v1/"
                            :effort "high"))))
          (should (equal (plist-get payload :keys)
                         '(("work" "the-key" "llm.example.org"))))
          (should-not (plist-member payload :cascade)))))
    (dolist (wrong '((1) ("two words") ("x" :kind "telepathy")
                     ("x" :effort "very") ("x" :url 1)))
      (should-error (apply #'passepartout-define-provider wrong)
                    :type 'user-error))
    (should (= (length passepartout-providers) 2))))

(ert-deftest passepartout-events-the-cascade-is-set-while-the-core-runs ()
  (let ((passepartout-providers '(("desk" :kind "ollama")))
        (passepartout-provider-cascade '("recall"))
        said)
    (cl-letf (((symbol-function 'auth-source-pick-first-password)
               (lambda (&rest spec)
                 (and (equal (plist-get spec :host) "api.groq.com")
                      "the-key")))
              ((symbol-function 'message)
               (lambda (&rest words) (push (apply #'format words) said))))
      (dolist (case '((("groq" "desk") nil (:cascade ("groq" "desk")))
                      (("desk") t (:cascade ("desk") :keep t))
                      (nil nil (:usual t))))
        (passepartout-fake-with
          (apply #'passepartout-set-cascade (list (car case) (cadr case)))
          ;; The keys of those who are named are there first.
          (should (equal (and (member "groq" (car case))
                              '(("groq" "the-key" "api.groq.com")))
                         (plist-get
                          (car (last (passepartout-fake-sent
                                      :provider-settings)))
                          :keys)))
          (should-not (passepartout-fake-sent :set-cascade))
          (passepartout-fake-answer :provider-settings '(:providers ("desk")))
          (let ((sent (car (passepartout-fake-sent :set-cascade))))
            (dolist (key '(:cascade :keep :usual))
              (should (equal (plist-get sent key)
                             (plist-get (nth 2 case) key)))))
          (passepartout-fake-answer :set-cascade '(:text "In this order."))
          (should (equal (car said) "Passepartout: In this order.")))))
    (should (member "anthropic" (passepartout-provider-names)))
    (should-not (member "openai-responses" (passepartout-provider-names)))))

(ert-deftest passepartout-events-a-preset-of-lisp-is-told-at-once ()
  (let ((passepartout-presets nil) said)
    (passepartout-fake-with
      (passepartout-define-preset "terse" :model '("near/small" "recall")
                                  :tools '("memory-read") :prompt "Be brief."
                                  :tokens 800 :usd 0.5)
      (passepartout-define-preset "mute" :tools 'none)
      (should (equal (plist-get (car (last (passepartout-fake-sent
                                            :provider-settings)))
                                :presets)
                     '(("terse" :model "near/small recall"
                        :tools "memory-read" :prompt "Be brief."
                        :tokens "800" :usd "0.500000")
                       ("mute" :tools "none")))))
    (should (equal (plist-get (passepartout-events--selector) :presets)
                   passepartout-presets))
    (dolist (wrong '((1) ("two words") ("none") ("x" :tools "all")
                     ("x" :model "far") ("x" :prompt 1) ("x" :tokens 0)
                     ("x" :usd -1)))
      (should-error (apply #'passepartout-define-preset wrong)
                    :type 'user-error))
    (should-error (passepartout-preset "terse") :type 'user-error)
    ;; In a chat it is that of its conversation, and the header says so.
    (cl-letf (((symbol-function 'message)
               (lambda (&rest words) (push (apply #'format words) said))))
      (passepartout-fake-with
        (passepartout-chat)
        (passepartout-preset "terse")
        (should (equal (plist-get (car (passepartout-fake-sent :preset)) :name)
                       "terse"))
        (passepartout-fake-answer :preset '(:text "It has it."
                                            :preset "terse"))
        (should (equal (car said) "Passepartout: It has it."))
        (should (string-match-p ", preset terse" passepartout-chat--header))
        (passepartout-preset "none")
        (passepartout-fake-answer :preset '(:text "It has none."))
        (should-not (string-match-p "preset" passepartout-chat--header))))))

(ert-deftest passepartout-events-a-function-of-yours-chooses-providers ()
  (let ((passepartout-select-model-function nil)
        (offer '(:action :select-model :request 7 :slot "code" :text "fix it"
                 :private nil
                 :providers ((:name "far" :model "m" :place "remote")
                             (:name "near" :place "local" :demoted t))))
        asked)
    (should-not (plist-get (passepartout-events--selector) :selector))
    (passepartout-fake-with
      (cl-flet ((answer ()
                  (setq passepartout-fake-sent nil)
                  (passepartout-fake-inject :request offer)
                  (dolist (timer (copy-sequence timer-list))
                    (when (eq (timer--function timer)
                              'passepartout-provider--select)
                      (cancel-timer timer)
                      (apply (timer--function timer) (timer--args timer))))
                  (car (passepartout-fake-sent :editor-reply))))
        (set-default 'passepartout-select-model-function
                     (lambda (offer) (setq asked offer) '("near")))
        (should (plist-get (passepartout-events--selector) :selector))
        (let ((reply (answer)))
          (should (eq (plist-get reply :ok) t))
          (should (equal (plist-get reply :names) '("near"))))
        (should (equal (plist-get asked :slot) "code"))
        (should (equal (plist-get (cadr (plist-get asked :providers)) :name)
                       "near"))
        (pcase-dolist (`(,function ,why)
                       `((,(lambda (_) "near") "no list of names")
                         (,(lambda (_) '(near)) "no list of names")
                         (,(lambda (_) (error "Odd")) "Odd")
                         (,(lambda (_) (signal 'quit nil)) "stopped")
                         (,(lambda (_) (read-string "x")) "nteraction")))
          (set-default 'passepartout-select-model-function function)
          (let ((reply (answer)))
            (should-not (plist-get reply :ok))
            (should (string-match-p why (plist-get reply :text)))))))))

(ert-deftest passepartout-events-patience-is-told-where-you-have-said-so ()
  (should-not (passepartout-events--patience))
  (let ((passepartout-stall-timeout 7)
        (passepartout-answer-timeout 90)
        (passepartout-embedding-timeout 1800)
        (passepartout-request-tries 1))
    (should (equal (passepartout-events--patience)
                   '(:stall-timeout 7 :answer-timeout 90
                     :embedding-timeout 1800 :request-tries 1)))))

(provide 'passepartout-events-tests)
;;; passepartout-events-tests.el ends here
