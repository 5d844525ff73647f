;;; passepartout-list-tests.el --- Every list can do what all lists can  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; One table of all lists: each is opened with a core of paper that has
;; nothing to tell, says what to do next, and is filled.  Then its keys,
;; its index, its bookmark, and where point stays are looked at.

;;; Code:

(require 'passepartout-fake)
(require 'passepartout-clients)
(require 'passepartout-context)
(require 'passepartout-costs)
(require 'passepartout-gateways)
(require 'passepartout-inspect)
(require 'passepartout-jobs)
(require 'passepartout-list)
(require 'passepartout-models)
(require 'passepartout-query)
(require 'passepartout-rules)
(require 'passepartout-servers)
(require 'passepartout-skills)
(require 'bookmark)
(require 'imenu)

(defconst passepartout-list-tests--lists
  '((passepartout-clients :clients "*Passepartout clients*"
     (:clients nil) "Nobody is connected"
     (:clients ((:id 1 :name "here" :self t) (:id 2 :name "mail" :ruled t)))
     ("here" "mail") ("k" "w"))
    (passepartout-context :context "*Passepartout context*"
     (:nodes nil :more 0 :budget 9 :why "none") "M-x passepartout-rescan"
     (:nodes ((:id "a" :title "Timber" :rendered :full :tokens 3
               :reason "words 1.00")
              (:id "b" :title "Nails" :rendered :out :tokens 2
               :reason "over budget"))
      :more 0 :budget 9 :why "none")
     ("Timber" "Nails") ("k" "+" "-" "u" "RET"))
    (passepartout-costs :costs "*Passepartout costs*"
     (:by "day" :calls 0) "M-x passepartout-setup"
     (:by "day" :calls 3 :label "in all" :cost "$3"
      :rows ((:label "2026-03-02" :calls 2 :tokens-in 9 :cost "$2.50")
             (:label "2026-03-03" :calls 1 :tokens-in 80 :cost "$0.50")))
     ("2026-03-02" "2026-03-03") ("d" "h" "s" "m" "b"))
    (passepartout-gate-trace :trace "*Passepartout gate trace*"
     (:turns nil) "M-x passepartout-chat"
     (:turns ((:at "2026-03-04T08:00:00Z" :asked "one" :status "answered"
               :trace ((:tool "shell" :summary "Run" :verdict "deny"
                        :hash "aa")))))
     ("2026-03-04 .* one" "  Run (shell)") ("y" "TAB"))
    (passepartout-gateways :gateways "*Passepartout gateways*"
     (:gateways nil) "passepartout-telegram turns one on"
     (:gateways ((:platform "telegram" :state "running"
                  :allowed ((:sender "7" :name "Ann")))))
     ("telegram" "7 Ann") ("k" "a" "l" "c"))
    (passepartout-inspect :inspect "*Passepartout request*"
     (:error "nothing was sent yet") "nothing was sent yet\ng asks again"
     (:provider "far" :model "m" :nodes 0 :above 0 :kept-out 0 :redacted 0
      :proof :absent :url "https://far" :text "body")
     ("far (m)") nil)
    (passepartout-jobs :jobs "*Passepartout jobs*"
     (:jobs nil) "a property PP_RUN"
     (:jobs ((:job "k1" :id "a" :title "Plants" :state "waiting")
             (:job "k2" :id "b" :title "Inbox" :state "paused")))
     ("Plants" "Inbox") ("k" "c" "s" "x" "l" "RET"))
    (passepartout-log :log "*Passepartout log*"
     (:lines nil) "Nothing has been logged yet"
     (:lines ((:level "error" :at "2026-03-04T08:00:00Z" :text "one broke")
              (:level "info" :at "2026-03-04T08:01:00Z" :text "well")
              (:level "warning" :at "2026-03-04T08:02:00Z" :text "two bent")))
     ("one broke" "two bent") nil)
    (passepartout-memory-log :memory-log "*Passepartout memory log*"
     (:entries nil) "Memory has not moved yet"
     (:entries ((:operation 2 :at "2026-03-04T08:00:00Z" :by "you"
                 :what "second")
                (:operation 1 :at "2026-03-03T08:00:00Z" :by "agent"
                 :what "first")))
     ("2 you: second" "1 agent: first") ("=" "R" "u" "U" "RET"))
    (passepartout-models :models "*Passepartout models*"
     (:providers nil) "The order is that of your settings"
     (:providers ((:name "recall" :place "builtin" :state "ready")
                  (:name "far" :place "remote" :state "left-out"))
      :order ("recall" "far"))
     ("recall" "far") ("r" "u" "M-n" "M-p" "RET"))
    (passepartout-rules :rules "*Passepartout rules*"
     (:rules nil) "is offered here as a rule"
     (:rules ((:id "L1" :state "waiting" :text "one")
              (:id "L2" :state "confirmed" :text "two")))
     ("L1" "L2") ("k" "c"))
    (passepartout-servers :servers "*Passepartout servers*"
     (:servers nil) "M-x customize-option RET passepartout-mcp-servers"
     (:servers ((:name "fs" :state "waiting" :rule "L1")
                (:name "web" :state "lending" :rule "L2")))
     ("fs" "web") ("k" "c"))
    (passepartout-skills :skills "*Passepartout skills*"
     (:skills nil) "M-x passepartout-new-skill"
     (:skills ((:name "brief" :state "loaded" :priority 10)
               (:name "forms" :state "waiting")))
     ("brief" "forms") ("k" "r" "c" "t" "s" "RET")))
  "Of each list: the command, what it asks, and the name of its buffer;
an answer with nothing in it and what is said then; an answer with
something in it, and the labels of the items of that as patterns; and
keys of its own.")

(defmacro passepartout-list-tests--each (&rest body)
  "Evaluate BODY for each list of the table, with a core of paper."
  (declare (indent 0) (debug t))
  `(dolist (list passepartout-list-tests--lists)
     (pcase-let ((`(,command ,action ,name ,none ,advice ,some ,labels ,keys)
                  list))
       (ignore action name none advice some labels keys)
       (ert-info ((symbol-name command))
         (passepartout-fake-with
           (funcall command)
           ,@body)))))

(ert-deftest passepartout-list-without-items-says-what-to-do ()
  (passepartout-list-tests--each
    (should (equal (buffer-name) name))
    (should buffer-read-only)
    ;; What is asked for may take a while.
    (should (string-match-p "Asking…\\|Nothing has been logged"
                            (buffer-string)))
    (passepartout-fake-answer action none)
    (should (string-search advice (buffer-string)))
    (should-not (string-search "Asking…" (buffer-string)))
    (should-not (passepartout-list--starts))
    ;; Emacs breaks lines where the window ends; a sentence has no break.
    (should-not (string-match-p ".\\{60\\}[a-z,;:]\n[a-zA-Z?]"
                                (buffer-string)))
    ;; Keys for items do no harm where there is none.
    (call-interactively (key-binding (kbd "n")))
    (call-interactively (key-binding (kbd "p")))))

(ert-deftest passepartout-list-has-the-keys-of-all-lists ()
  (passepartout-list-tests--each
    (dolist (key '(("n" . passepartout-list-next)
                   ("p" . passepartout-list-previous)
                   ("S" . passepartout-list-sort)
                   ("?" . passepartout-list-help)
                   ("j" . imenu) ("q" . quit-window)))
      (should (eq (cdr key) (key-binding (kbd (car key))))))
    (should (memq (key-binding (kbd "g"))
                  '(passepartout-view-refresh passepartout-models-ask)))
    (dolist (key keys)
      (should (commandp (key-binding (kbd key))))
      (should-not (eq (key-binding (kbd key)) 'undefined)))
    ;; The help names each of them, and nothing twice.
    (passepartout-list-help)
    (with-current-buffer (help-buffer)
      (setq-local case-fold-search nil)
      (dolist (key (append '("n" "p" "g" "q" "?") keys))
        (goto-char (point-min))
        (should (= 1 (how-many (concat "^  " (regexp-quote key) " ")))))
      (should-not (string-match-p "org-\\|undefined" (buffer-string))))))

(ert-deftest passepartout-list-goes-from-item-to-item-and-stays-there ()
  (passepartout-list-tests--each
    (passepartout-fake-answer action some)
    (should (equal (length labels) (length (passepartout-list--imenu))))
    (cl-mapc (lambda (label entry)
               (should (string-match-p (concat "\\`" label "\\'") (car entry))))
             labels (passepartout-list--imenu))
    (goto-char (point-min))
    (let ((last (cdar (last (passepartout-list--imenu)))))
      (dotimes (_ (length labels))
        (call-interactively (key-binding (kbd "n"))))
      (should (= (point) last))
      ;; Asked again it stays on its item, whatever comes before that.
      (let ((inhibit-read-only t))
        (save-excursion (goto-char (point-min)) (insert "more\nand more\n")))
      (revert-buffer t t)
      (passepartout-fake-answer action some)
      (should (= (point) last))
      (should-not (string-search "and more" (buffer-string)))
      (when (cdr labels)
        (call-interactively (key-binding (kbd "p")))
        (should (< (point) last))
        (should (nth 1 (get-text-property (point)
                                          'passepartout-list-item)))))))

(ert-deftest passepartout-list-is-opened-again-by-a-bookmark ()
  (passepartout-list-tests--each
    (should (memq command passepartout-list-commands))
    (passepartout-fake-answer action some)
    (let* ((last (car (last (passepartout-list--imenu))))
           (_ (goto-char (cdr last)))
           (key (car (get-text-property (point) 'passepartout-list-item)))
           (record (read (prin1-to-string (bookmark-make-record)))))
      (should (equal (car record) (string-trim name "\\*" "\\*")))
      ;; What was asked or logged may be private: a key does not say it.
      (should-not (string-match-p "one\\|two" (prin1-to-string record)))
      (kill-buffer)
      (bookmark-jump record)
      (should (equal (buffer-name) name))
      (passepartout-fake-answer action some)
      (should (equal key (car (get-text-property (point)
                                                 'passepartout-list-item)))))))

(ert-deftest passepartout-list-a-bookmark-calls-no-other-command ()
  (should-error (passepartout-list-bookmark-jump
                 '("x" (command . kill-emacs)
                   (handler . passepartout-list-bookmark-jump)))
                :type 'user-error)
  (passepartout-fake-with
    (passepartout-memory--show-text "One step" "text"
                                    (passepartout-arrive-place))
    (passepartout-fake-settle)
    (should-error (bookmark-make-record) :type 'user-error)))

(ert-deftest passepartout-list-why-nothing-came-takes-the-place-of-nothing ()
  (passepartout-fake-with
    (passepartout-rules)
    (passepartout-fake-answer :rules '(:error "the core is\nstopping"))
    (should (equal (buffer-string)
                   "the core is stopping\ng asks again, q leaves.\n"))
    (revert-buffer t t)
    (passepartout-fake-answer :rules '(:rules ((:id "L1" :state "set"))))
    (should (string-search "L1" (buffer-string)))
    ;; What was shown stays.
    (revert-buffer t t)
    (passepartout-fake-answer :rules '(:error "the core is stopping"))
    (should (string-search "L1" (buffer-string)))))

(ert-deftest passepartout-list-of-the-doctor-is-a-list-as-well ()
  (passepartout-fake-with
    (passepartout-doctor)
    (should (eq (key-binding (kbd "?")) 'passepartout-list-help))
    (should (member "Emacs" (mapcar #'car (passepartout-list--imenu))))
    (goto-char (passepartout-list-find "Emacs"))
    (let ((record (bookmark-make-record)))
      (kill-buffer)
      (bookmark-jump record)
      (should (equal (buffer-name) passepartout-doctor--buffer-name))
      (revert-buffer t t)
      (should (looking-at-p "\\* [a-z]+ +Emacs$")))))

(ert-deftest passepartout-list-of-plans-has-its-keys-and-a-bookmark ()
  (passepartout-fake-with
    (passepartout-flight-plans)
    (should (eq (key-binding (kbd "?")) 'passepartout-list-help))
    (let ((record (bookmark-make-record)))
      (kill-buffer)
      (bookmark-jump record)
      (should (equal (buffer-name) passepartout-plan--buffer-name)))))

;;;; What Emacs and Org have for other buffers

(ert-deftest passepartout-list-is-a-special-buffer-without-keys-of-org ()
  (passepartout-list-tests--each
    (should (eq (get major-mode 'mode-class) 'special))
    (dolist (key '(("<" . beginning-of-buffer) (">" . end-of-buffer)
                   ("SPC" . scroll-up-command) ("DEL" . scroll-down-command)
                   ("S-SPC" . scroll-down-command)))
      (should (eq (cdr key) (key-binding (kbd (car key))))))
    (should-not (memq (key-binding (kbd "h")) '(nil undefined)))
    ;; What is shown is foreign: it is not exported, evaluated or edited,
    ;; and no image or file that it names is opened.
    (let ((map (current-local-map)))
      (should-not (where-is-internal 'org-export-dispatch (list map)))
      (should-not (where-is-internal 'org-toggle-inline-images (list map)))
      (map-keymap (lambda (_event binding)
                    (should-not (and (symbolp binding)
                                     (string-prefix-p "org-" (symbol-name
                                                              binding)))))
                  map))))

;;;; The mouse

(ert-deftest passepartout-list-a-click-on-a-row-is-ret-there ()
  (passepartout-list-tests--each
    (passepartout-fake-answer action some)
    (should (eq (key-binding [follow-link]) 'mouse-face))
    (dolist (entry (passepartout-list--imenu))
      (goto-char (cdr entry))
      (let* ((ret (key-binding (kbd "RET")))
             (does (or (not (eq ret 'passepartout-view-return))
                       (button-at (point))
                       (org-at-heading-p)))
             (end (line-end-position)))
        ;; A row looks as if it could be clicked where something comes of it.
        (should (eq (and does t)
                    (and (get-text-property (point) 'mouse-face) t)))
        (should-not (get-text-property end 'mouse-face))
        (when does
          (let ((from (car entry)) at called)
            (goto-char (point-min))
            (cl-letf (((symbol-function ret)
                       (lambda (&rest _)
                         (interactive)
                         (setq called t at (point))))
                      ((symbol-function 'mouse-set-point)
                       (lambda (event &rest _)
                         (goto-char (posn-point (event-start event))))))
              (should (eq (key-binding [mouse-2]) 'passepartout-list-click))
              (passepartout-list-click
               `(mouse-2 (,(selected-window) ,(cdr entry) (0 . 0) 0
                          nil ,(cdr entry)))))
            (ert-info (from)
              (should called)
              (should (eql at (cdr entry))))))))))

(ert-deftest passepartout-list-a-button-in-a-row-stays-one ()
  (passepartout-fake-with
    (passepartout-rules)
    (passepartout-fake-answer :rules '(:rules ((:id "L1" :state "waiting"
                                                :text "one"))))
    (goto-char (point-min))
    (search-forward "confirm" nil nil 2)
    (should (button-at (1- (point))))
    (should (eq 'highlight (get-text-property (1- (point)) 'mouse-face)))))

;;;; Columns

(ert-deftest passepartout-list-is-sorted-by-a-column ()
  (passepartout-fake-with
    (passepartout-costs)
    (passepartout-fake-answer
     :costs '(:by "day" :calls 14 :label "in all" :cost "$12.30"
              :rows ((:label "b" :calls 9 :tokens-in 20 :cost "$2.30")
                     (:label "C" :calls 1 :tokens-in 3 :cost "$10")
                     (:label "a" :calls 4 :tokens-in 100
                      :cost "price unknown (4 calls)"))))
    (cl-flet ((order () (mapconcat #'car (passepartout-list--imenu) "")))
      (dolist (case '(("For" "abC") ("For" "Cba") ("Calls" "Cab")
                      ("Tok. in" "Cba") ("Cost" "abC") ("Cost" "Cba")))
        (passepartout-list-sort (car case))
        (should (equal (cadr case) (order)))
        ;; The sum stays below, and nothing is asked for it.
        (should (string-match-p "^  in all" (buffer-string))))
      (should (= 1 (length (passepartout-fake-sent :costs))))
      ;; By a click, and by the column at point.
      (goto-char (point-min))
      (re-search-forward "  Calls\\|For")
      (goto-char (match-beginning 0))
      (push-button (match-beginning 0))
      (should (equal "abC" (order)))
      (goto-char (passepartout-list-find "b"))
      (move-to-column 40)
      (call-interactively (key-binding (kbd "S")))
      (should (equal "Cab" (order)))
      (should (equal "b" (car (get-text-property (point)
                                                 'passepartout-list-item))))))
  (passepartout-fake-with
    (passepartout-log)
    (should-error (call-interactively (key-binding (kbd "S")))
                  :type 'user-error)))

(ert-deftest passepartout-list-columns-fit-the-window ()
  (let ((columns '(("A" 6 t) ("B" (10 . 20)) ("C" (14 . 44)) ("D" nil))))
    (pcase-dolist (`(,width . ,fitted)
                   ;; Nothing is narrower than that, in whatever window.
                   '((10 6 10 14 nil) (60 6 10 14 nil) (80 6 14 26 nil)
                     (99 6 19 41 nil) (200 6 20 44 nil)))
      (let ((passepartout-list--width width))
        (should (equal (mapcar #'cadr (passepartout-list-fit columns)) fitted))
        (should (equal (mapcar #'car (passepartout-list-fit columns))
                       '("A" "B" "C" "D")))
        ;; Where it goes on below there is still room for it.
        (should (<= (length (passepartout-list--indent
                             (passepartout-list-fit columns)))
                    (- (max 60 width) passepartout-list--rest)))))
    (let ((fixed '(("A" 6) ("B" nil))))
      (should (eq fixed (passepartout-list-fit fixed))))))

(ert-deftest passepartout-list-is-drawn-in-order-where-another-window-is-selected ()
  (passepartout-fake-with
    (let ((passepartout-list--width nil))
      (passepartout-jobs)
      (let ((buffer (current-buffer)))
        (delete-other-windows)
        (select-window (split-window-right))
        (switch-to-buffer "*scratch*")
        (passepartout-fake-answer
         :jobs '(:jobs ((:job "k1" :id "a" :title "Plants" :state "paused")
                        (:job "k2" :id "b" :title "Inbox" :state "paused"))))
        (with-current-buffer buffer
          (should (string-match-p
                   "\\`Work\\(?:.*\n\\)+  Job \\(?:.*\n\\)+  Plants \\(?:.*\n\\)+  Inbox "
                   (buffer-string))))))))

(ert-deftest passepartout-list-of-eighty-columns-has-room-for-each-of-its-own ()
  (dolist (columns (list passepartout-memory--columns
                         passepartout-gateways--columns
                         passepartout-context--columns
                         passepartout-costs--columns
                         passepartout-skills--columns
                         passepartout-jobs--columns
                         passepartout-rules--columns
                         passepartout-servers--columns
                         passepartout-clients--columns
                         passepartout-models--columns))
    (let ((passepartout-list--width 80))
      (should (<= (apply #'+ 1 (mapcar (lambda (column)
                                         (1+ (or (nth 1 column) 14)))
                                       (passepartout-list-fit columns)))
                  80)))))

(ert-deftest passepartout-list-items-that-are-folded-are-passed-over ()
  (passepartout-fake-with
    (passepartout-gate-trace)
    (passepartout-fake-answer
     :trace '(:turns ((:at "2026-03-04T08:00:00Z" :asked "one"
                       :trace ((:tool "shell" :verdict "deny" :hash "aa")))
                      (:at "2026-03-04T07:00:00Z" :asked "two"))))
    (should (string-search "one" (thing-at-point 'line)))
    (call-interactively (key-binding (kbd "TAB")))
    (call-interactively (key-binding (kbd "n")))
    (should (string-search "two" (thing-at-point 'line)))
    (call-interactively (key-binding (kbd "p")))
    (should (string-search "one" (thing-at-point 'line)))))

(ert-deftest passepartout-list-keys-of-rules-and-servers-ask-for-what-is-at-point ()
  (dolist (case '((passepartout-rules "L1" "c" :rule-confirm)
                  (passepartout-rules "L2" "k" :rule-withdraw)
                  (passepartout-rules "L1" "k" nil)
                  (passepartout-rules "L2" "c" nil)
                  (passepartout-servers "fs" "c" :rule-confirm)
                  (passepartout-servers "web" "k" :rule-withdraw)
                  (passepartout-servers "web" "c" nil)))
    (pcase-let* ((`(,command ,key ,press ,asked) case)
                 (list (assq command passepartout-list-tests--lists)))
      (passepartout-fake-with
        (funcall command)
        (passepartout-fake-answer (nth 1 list) (nth 5 list))
        (goto-char (passepartout-list-find key))
        (if asked
            (progn (call-interactively (key-binding (kbd press)))
                   (should (plist-get (car (passepartout-fake-sent asked))
                                      :rule)))
          (should-error (call-interactively (key-binding (kbd press)))
                        :type 'user-error))))))

(ert-deftest passepartout-list-next-stays-at-the-last-heading ()
  (with-temp-buffer
    (insert "No list.\n\n* One\ntext\n* Two\ntext\n")
    (org-mode)
    (goto-char (point-min))
    (dolist (line '(3 5 5))
      (passepartout-list-next)
      (should (= (line-number-at-pos) line)))
    (dolist (line '(3 3))
      (passepartout-list-previous)
      (should (= (line-number-at-pos) line)))))

(ert-deftest passepartout-list-a-core-that-does-not-start-is-told-in-the-list ()
  (let ((passepartout-module--transport
         (list :start (lambda (&rest _)
                        (signal 'passepartout-start-error '("no folder")))))
        (passepartout-events--pipe nil)
        (passepartout-directories (list temporary-file-directory))
        (inhibit-message t))
    ;; The doctor and the log show what Emacs has by itself.
    (dolist (command (seq-difference passepartout-list-commands
                                     '(passepartout-doctor passepartout-log)))
      (ert-info ((symbol-name command))
        (save-window-excursion
          (let (buffer)
            (condition-case nil
                (progn (call-interactively command)
                       (setq buffer (window-buffer))
                       (should (string-match-p
                                "cannot start: no folder\ng asks again"
                                (with-current-buffer buffer (buffer-string))))
                       (should-not (string-search
                                    "Asking"
                                    (with-current-buffer buffer
                                      (buffer-string)))))
              ;; A command that opens no list before it asks.
              (passepartout-start-error
               (should (eq command 'passepartout-flight-plans))))
            (when buffer (kill-buffer buffer))))))))

(ert-deftest passepartout-list-errors-are-sentences ()
  (pcase-dolist
      (`(,problem ,text)
       '(((passepartout-module-error "It is damaged.") "It is damaged.")
         ((passepartout-start-error "no \"folder\"")
          "Passepartout.s core cannot start: no \"folder\"")
         ((passepartout-not-running) "Passepartout.s core is not running")
         ((user-error "No") "No")
         ((wrong-type-argument stringp 1)
          "Wrong type argument: stringp, 1")))
    (should (string-match-p (concat "\\`" text "\\'")
                            (passepartout-error-text problem)))
    (when (memq 'passepartout-error (get (car problem) 'error-conditions))
      (pcase-dolist (`(,batch ,command ,condition)
                     `((nil passepartout-status user-error)
                       (nil push-button user-error)
                       (nil my-own-command ,(car problem))
                       (nil passepartout-mode ,(car problem))
                       (t passepartout-status ,(car problem))))
        (let ((noninteractive batch) (this-command command))
          (should (eq condition
                      (car (should-error
                            (passepartout-module-fail problem))))))))))

(provide 'passepartout-list-tests)
;;; passepartout-list-tests.el ends here
