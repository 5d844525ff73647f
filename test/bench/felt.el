;;; felt.el --- How long a key takes to the screen while the agent works  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; What a person feels is the time from a key to what it does on the
;; screen.  So keys come from outside, as a person's do: this Emacs
;; types them into a terminal of tmux, or with xdotool into a frame of
;; Xvfb, every 20 to 50 ms, and writes down when.  The measured Emacs
;; (felt-child.el) redraws after each command and writes down when that
;; has ended; the key that was typed first belongs to the command that
;; ran first.  In between lies all that can make a person wait: timers,
;; filters of processes, collections of garbage, hooks, fontification
;; and drawing.  A key that comes while Emacs is busy is late by all
;; that is left of it, which a measure within Emacs would not see, and
;; keys that wait are counted each.
;;
;; A timer of 10 ms in the measured Emacs is shown beside it, because
;; others were measured so: it says how long Emacs was away at all, also
;; where no key came.  Ticks that were left out because one was late are
;; put in, as late as they would have been.
;;
;; "no gc" is the time from key to screen without what was spent, since
;; the screen was drawn last, on collecting garbage: when a collection
;; falls is chance, and how long it takes is Emacs's matter, while how
;; much garbage is made is that of who makes it ("Lisp made").
;;
;; Each thing is done at two sizes of the buffer, by the same Emacs
;; without us ("bare", the yardstick), by Lisp that only inserts what
;; comes ("plain"), by us, and by gptel where FELT_GPTEL names its
;; folders.  Only what stands in one run can be compared.  The promise:
;; p99 at most 16 ms, or at most 2 ms above the yardstick, and no growth
;; with the size beyond that of the yardstick.
;;
;; Environment (test/scripts/smooth.sh sets what it must):
;;
;;   PASSEPARTOUT_MODULE, SMOOTH_LISP  the module and the compiled Lisp
;;   FELT_DISPLAYS  "tty x" (where keys are typed)
;;   FELT_X         a graphic Emacs
;;   FELT_GPTEL     folders with gptel and what it needs
;;   FELT_ONLY      parts of what rows are called, with commas between them:
;;                  "tty stream,edit large ours,load"
;;   FELT_BYTES, FELT_RATE  the answer, and how many bytes a second
;;   FELT_CHAT, FELT_ORG    bytes of the larger buffers
;;   FELT_HEADINGS  headings of the large memex
;;   FELT_SECONDS   how long keys are typed where nothing streams

;;; Code:

(require 'cl-lib)

(defconst felt--here (file-name-directory (or load-file-name buffer-file-name))
  "Folder of this file.")

(defun felt--env (name default)
  "Return what FELT_NAME says, or DEFAULT; a number when that is one."
  (let ((value (getenv (concat "FELT_" name))))
    (cond ((member value '(nil "")) default)
          ((numberp default) (string-to-number value))
          (t value))))

(defconst felt--bytes (felt--env "BYTES" 1000000) "Bytes of the answer.")
(defconst felt--rate (felt--env "RATE" 50000) "Bytes of the answer a second.")
(defconst felt--chat (felt--env "CHAT" 10000000) "Bytes of the larger chat.")
(defconst felt--org (felt--env "ORG" 5000000) "Bytes of the larger Org file.")
(defconst felt--headings (felt--env "HEADINGS" 1000000) "Headings of the large memex.")
(defconst felt--seconds (felt--env "SECONDS" 15) "Seconds of typing.")

(defconst felt--most 16.0 "Milliseconds from key to screen that are promised at p99.")
(defconst felt--above 2.0 "Milliseconds above the yardstick that are allowed beyond that.")

;;;; What is read and streamed

(defun felt--unit (number)
  "Return a piece of an answer, some 3 kB, that is about NUMBER.
It has prose, a list, a table and code, as Markdown and as Org."
  (concat
   (format "### Part %d\n\n" number)
   "The *quick* brown fox jumps over the **lazy** dog, see [the manual](https://example.org/m), "
   "and `setq` is told twice.\n\n"
   (mapconcat (lambda (n) (format "- item %d of part %d, with =verbatim= and /slanted/ words" n number))
              (number-sequence 1 5) "\n")
   "\n\n| name | amount | what it is for |\n|------|-------:|----------------|\n"
   (mapconcat (lambda (n) (format "| row %d | %d.%02d | words about the row %d of %d |"
                                  n (* n number) n n number))
              (number-sequence 1 15) "\n")
   "\n\n"
   (if (zerop (% number 2)) "```python\n" "#+begin_src python\n")
   (mapconcat (lambda (n)
                (format "def function_%d(argument, other=%d):\n    \"\"\"Return %d, or what ‘other’ says.\"\"\"\n    return [argument * %d for _ in range(other)]  # a remark"
                        n number n n))
              (number-sequence 1 10) "\n\n")
   (if (zerop (% number 2)) "\n```\n\n" "\n#+end_src\n\n")))

(defun felt--write (file bytes head function)
  "Write HEAD to FILE, and what FUNCTION returns of 1, 2, … up to BYTES."
  (let ((coding-system-for-write 'utf-8-unix) (write-region-inhibit-fsync t))
    (with-temp-buffer
      (insert head)
      (let ((number 0))
        (while (< (position-bytes (point-max)) bytes)
          (insert (funcall function (cl-incf number)))))
      (make-directory (file-name-directory file) t)
      (write-region nil nil file nil 'quiet)
      (buffer-string))))

(defun felt--write-chat (file bytes)
  "Write a chat of BYTES to FILE."
  (felt--write
   file bytes ":PROPERTIES:\n:PP_CHAT: 20260101T000000-0001\n:END:\n#+TITLE: Chat\n\n"
   (lambda (number)
     (concat (format "* Question %d\n:PROPERTIES:\n:PP_ROLE: user\n:END:\n" number)
             "** Answer\n:PROPERTIES:\n:PP_ROLE: assistant\n:END:\n"
             ;; A heading of the answer is none of the chat.
             (replace-regexp-in-string "^### " "" (felt--unit number))
             (format ":PASSEPARTOUT:\n- turn :: t%d\n- model :: fake-1\n:END:\n\n" number)))))

(defun felt--write-org (file bytes)
  "Write Org notes of BYTES to FILE."
  (felt--write
   file bytes "#+TITLE: Notes\n"
   (lambda (number)
     (format "%s %sHeading %d about boats%s\n%sSome words about the boat %d, and a [[https://example.org][link]] that *goes* on.\n%s"
             (if (zerop (% number 6)) "*" "**")
             (if (zerop (% number 3)) "TODO " "") number
             (if (zerop (% number 4)) " :work:" "")
             (if (zerop (% number 5)) (format ":PROPERTIES:\n:ID: n%d\n:END:\n" number) "")
             number
             (cond ((zerop (% number 20)) "| a | b |\n|---+---|\n| 1 | 2 |\n")
                   ((zerop (% number 30)) "#+begin_src emacs-lisp\n(setq boat t)\n#+end_src\n")
                   (t ""))))))

(defun felt--write-memex (folder)
  "Write the large memex to FOLDER, fifty headings a file."
  (let ((coding-system-for-write 'utf-8-unix) (write-region-inhibit-fsync t)
        (number 0))
    (dotimes (file (/ felt--headings 50))
      (let ((below (expand-file-name (format "%03d/" (% file 200)) folder)))
        (when (< file 200) (make-directory below t))
        (write-region
         (mapconcat (lambda (_)
                      (setq number (1+ number))
                      (format "* %sHeading %d\nWords of no use, %d.\n"
                              (if (zerop (% number 9)) "TODO " "") number number))
                    (make-list 50 nil) "")
         nil (expand-file-name (format "file-%d.org" file) below) nil 'quiet)))))

;;;; A model

(defun felt--serve (world text)
  "Start a model server in WORLD that streams TEXT; return it and its URL."
  (let ((folder (expand-file-name "model/" world))
        (print-length nil) (print-level nil))
    (when (file-directory-p folder) (delete-directory folder t))
    (make-directory folder)
    (let ((coding-system-for-write 'utf-8-unix))
      (with-temp-file (expand-file-name "script.eld" folder)
        (prin1 `(((paced ,text ,felt--rate))) (current-buffer))))
    (let ((process (start-process
                    "fake-model" nil (expand-file-name invocation-name invocation-directory)
                    "-Q" "--batch" "-l"
                    (expand-file-name "../lisp/fake-model-server.el" felt--here)
                    "-f" "fake-model-server-run" folder))
          (port (expand-file-name "port" folder)))
      (set-process-query-on-exit-flag process nil)
      (felt--until "the model server" 60 (lambda () (file-exists-p port)))
      (list process (format "http://127.0.0.1:%s/v1/"
                            (with-temp-buffer (insert-file-contents port) (buffer-string)))))))

(defun felt--until (what seconds predicate)
  "Wait SECONDS at most for WHAT, until PREDICATE returns non-nil."
  (let ((until (+ (float-time) seconds)))
    (while (not (funcall predicate))
      (when (> (float-time) until) (error "No sign of %s" what))
      (accept-process-output nil 0.02))))

;;;; Where keys are typed

(defun felt--command (program)
  "Return the command that starts the measured Emacs, which is PROGRAM."
  (list program "-Q"
        "-L" (or (getenv "SMOOTH_LISP") (expand-file-name "../../lisp" felt--here))
        "-l" (expand-file-name "felt-child.el" felt--here) "-f" "felt-child"))

(defun felt--open-tty (world)
  "Start the measured Emacs in a terminal of tmux in WORLD.
Return functions that send a key, that say what the screen shows, and
that end it all."
  (let* ((name (format "felt-%d-%d" (emacs-pid) (random 100000)))
         (settings (expand-file-name "tmux.conf" world))
         (tmux (lambda (&rest arguments)
                 (with-temp-buffer
                   (apply #'call-process "tmux" nil t nil "-L" name "-f" settings arguments)
                   (buffer-string)))))
    (with-temp-file settings
      (insert "set -g status off\nset -g prefix None\nset -sg escape-time 0\n"
              "set -g default-terminal screen-256color\n"))
    (funcall tmux "new-session" "-d" "-x" "120" "-y" "50"
             (mapconcat #'shell-quote-argument
                        (append (felt--command (getenv "FELT_TTY")) '("-nw")) " "))
    (let* ((process-environment (append '("TERM=xterm-256color" "LC_ALL=C.UTF-8")
                                        process-environment))
           (client (make-process :name "terminal" :connection-type 'pty :noquery t
                                 :coding 'no-conversion :filter #'ignore
                                 :command (list "tmux" "-u" "-L" name "-f" settings "attach"))))
      (set-process-window-size client 50 120)
      (list (lambda (key)
              (process-send-string client (if (stringp key) key (string (logand key 31)))))
            (lambda () (funcall tmux "capture-pane" "-p"))
            (lambda ()
              (funcall tmux "kill-server")
              (when (process-live-p client) (delete-process client)))))))

(defun felt--open-x (_world)
  "Start the measured Emacs in a frame of a fresh Xvfb.
Return what `felt--open-tty' returns."
  (let* ((said "")
         (server (make-process :name "Xvfb" :connection-type 'pipe :noquery t
                               :filter (lambda (_ text) (setq said (concat said text)))
                               ;; It closes what it told the display by: the shell keeps the
                               ;; pipe open, whose end this Emacs would read again and again.
                               :command '("sh" "-c" "Xvfb -displayfd 1 -screen 0 1000x900x24 -nolisten tcp 2>/dev/null & wait")))
         (process-environment
          (progn (felt--until "Xvfb" 30 (lambda () (string-match-p "\n" said)))
                 (cons (concat "DISPLAY=:" (string-trim said)) process-environment)))
         (child (make-process :name "measured" :connection-type 'pipe :noquery t
                              :filter #'ignore
                              ;; A size of its own would wait for a window manager.
                              :command (felt--command (getenv "FELT_X"))))
         (keys (progn
                 (with-temp-buffer
                   (unless (eql 0 (call-process "timeout" nil t nil "60" "xdotool" "search" "--sync"
                                                "--onlyvisible" "--class" "emacs" "windowfocus"))
                     (error "The graphic Emacs shows no frame: %s" (buffer-string))))
                 (make-process :name "keys" :connection-type 'pipe :noquery t
                               :command '("xdotool" "-")))))
    (list (lambda (key)
            (process-send-string
             keys (format "key --delay 0 %s\n"
                          (cond ((equal key " ") "space") ((stringp key) key)
                                ((eql key ?\]) "ctrl+bracketright")
                                (t (format "ctrl+%c" key))))))
          (lambda () "")
          (lambda ()
            (dolist (process (list keys child server))
              (when (process-live-p process) (delete-process process)))))))

(defconst felt--moves (vconcat (make-list 6 '(?n)) (make-list 6 '(?p)) '((?a) (?e) (?t ?v)))
  "What is typed between words: keys that move, by their letters.")

(defvar felt--coming nil "The keys that come next.")

(defun felt--next-key ()
  "Return the next key: a string, or the letter of a control character."
  (unless felt--coming
    (setq felt--coming
          (append (mapcar #'string (nth (random 5) '("the " "quick " "brown " "fox " "jumps ")))
                  (aref felt--moves (random (length felt--moves))))))
  (pop felt--coming))

;;;; One measurement

(defun felt--sent (send over)
  "Type keys with the function SEND until OVER says so; return when each was."
  (let ((due (float-time)) times)
    (setq felt--coming nil)
    (random "keys")
    (while (not (funcall over))
      (setq due (+ due 0.02 (/ (random 30) 1000.0)))
      (while (> due (float-time))
        (accept-process-output nil (max 0.0005 (- due (float-time)))))
      (let ((key (felt--next-key)))
        (push (float-time) times)
        (funcall send key)))
    (nreverse times)))

(defun felt--measure (world display what who size)
  "Return the figures of WHO doing WHAT on DISPLAY in WORLD at a buffer of SIZE.
SIZE is `large' or `small'."
  (let* ((out (file-name-as-directory (make-temp-file (expand-file-name "out-" world) t)))
         (file (expand-file-name (format "%s-%s.org" (if (equal what "stream") "chat" "memex/notes") size)
                                 world))
         (large (member what '("memory" "ingest")))
         (state (expand-file-name (if large "state-large" (concat out "state")) world))
         (streams (and (equal what "stream") (not (equal who "bare"))))
         (server (and streams (not (equal who "plain")) (felt--serve world (felt--text world))))
         (process-environment
          (append (list (concat "FELT_WHAT=" what) (concat "FELT_WHO=" who) (concat "FELT_OUT=" out)
                        (concat "FELT_FILE=" file)
                        (concat "FELT_TEXT=" (expand-file-name "text.md" world))
                        (format "FELT_BYTES=%d" felt--bytes) (format "FELT_RATE=%d" felt--rate)
                        (format "FELT_SECONDS=%d" felt--seconds)
                        (concat "FELT_URL=" (or (nth 1 server) ""))
                        (concat "FELT_MEMEX=" (expand-file-name (if large "large" "memex") world))
                        (concat "FELT_PROJECT=" (expand-file-name "project" world))
                        (concat "HOME=" (expand-file-name "home" world))
                        (concat "XDG_STATE_HOME=" state)
                        (concat "XDG_CONFIG_HOME=" (expand-file-name "config" world))
                        (concat "XDG_CACHE_HOME=" (expand-file-name "cache" world)))
                  process-environment))
         (default-directory world)
         (there (lambda (name) (file-exists-p (concat out name))))
         opened)
    (when (and (equal what "ingest") (file-directory-p state)) (delete-directory state t))
    (make-directory state t)
    (unwind-protect
        (let (sent)
          (setq opened (funcall (if (equal display "tty") #'felt--open-tty #'felt--open-x) world))
          (condition-case problem
              (felt--until "an Emacs that is ready" 300
                           (lambda () (or (funcall there "ready") (funcall there "failed"))))
            (error (error "%s; the screen says: %s" (error-message-string problem)
                          (funcall (nth 1 opened)))))
          (when (funcall there "failed")
            (error "%s" (with-temp-buffer (insert-file-contents (concat out "failed")) (buffer-string))))
          (let ((until (+ (float-time) 240)))
            (setq sent (felt--sent (nth 0 opened)
                                   (lambda () (or (funcall there "over") (> (float-time) until))))))
          (accept-process-output nil 0.5)
          (funcall (nth 0 opened) ?\])
          (felt--until "the figures" 60 (lambda () (funcall there "result.eld")))
          (felt--figures-of (with-temp-buffer
                              (insert-file-contents (concat out "result.eld"))
                              (read (current-buffer)))
                            sent streams))
      (when opened (funcall (nth 2 opened)))
      (when server (delete-process (car server)))
      (delete-directory out t))))

(defun felt--text (world)
  "Return the text of the answer in WORLD."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8-unix))
      (insert-file-contents (expand-file-name "text.md" world)))
    (buffer-string)))

(defun felt--figures-of (result sent streams)
  "Return the figures of RESULT, of an Emacs to which keys were SENT.
STREAMS is non-nil when an answer came."
  (let ((shown (plist-get result :shown))
        (late (plist-get result :late)))
    (unless (= (length shown) (length sent))
      (error "%d keys were typed and %d commands seen" (length sent) (length shown)))
    (pcase-let ((`(,seconds ,collections ,collecting ,events ,made) (plist-get result :spent)))
      (list :keys (sort (cl-mapcar (lambda (at from) (* 1000 (- (car at) from))) shown sent) #'<)
            :without (sort (felt--without-collecting shown sent) #'<)
            :stalls (felt--stalls shown sent)
            :late (sort (felt--filled late) #'<)
            :collections collections
            :collecting (* 1000 collecting)
            :seconds seconds
            :events (/ events seconds)
            :made (/ made 1000.0)
            :streams streams
            :thread (plist-get result :thread)
            :notes (plist-get result :notes)))))

(defun felt--without-collecting (shown sent)
  "Return from SENT to SHOWN in ms, without collections since the last drawing.
Keys that were seen together waited for the same."
  (let ((last (car shown)) (before (cdar shown)))
    (cl-loop for one in shown
             for from in sent
             do (unless (equal one last)
                  (setq before (cdr last) last one))
             collect (* 1000 (max 0.0 (- (car one) from (- (cdr one) before)))))))

(defun felt--stalls (shown sent)
  "Return the longest three times from SENT to SHOWN, as (SECONDS MS).
SECONDS is when the key was typed; of keys that waited for the same the
first counts."
  (let (all last)
    (cl-mapc (lambda (at from)
               (unless (equal at last)
                 (push (list (- from (car sent)) (* 1000 (- (car at) from))) all))
               (setq last at))
             shown sent)
    (seq-take (sort all (lambda (a b) (> (nth 1 a) (nth 1 b)))) 3)))

(defun felt--filled (late)
  "Return LATE, in ms, with the ticks that were left out because one was late."
  (let (all)
    (dolist (one late)
      (while (> one 0)
        (push (* 1000 one) all)
        (setq one (- one 0.01)))
      (when (<= one -0.01) (push 0.0 all)))
    all))

(defun felt--at (sorted share)
  "Return the value of SORTED, a list, below which SHARE of it lies."
  (if sorted (nth (min (1- (length sorted)) (floor (* share (length sorted)))) sorted) 0.0))

;;;; Rows

(defvar felt--status 0 "The status with which this Emacs ends.")
(defvar felt--found nil "Figures by (DISPLAY WHAT WHO SIZE).")

(defun felt--missed (format &rest arguments)
  "Say what was missed, by FORMAT and ARGUMENTS."
  (setq felt--status 1)
  (princ (concat "  MISSED: " (apply #'format format arguments) "\n")))

(defun felt--row (display what who size figures)
  "Print a row of FIGURES of WHO doing WHAT on DISPLAY at SIZE."
  (let* ((keys (plist-get figures :keys))
         (bare (felt--known display (if (equal what "stream") what "edit") "bare" size))
         ;; What typing alone makes is not made by the stream.
         (beyond (and bare (plist-get figures :streams)
                      (/ (max 0.0 (- (plist-get figures :made)
                                     (* (plist-get figures :seconds)
                                        (/ (plist-get bare :made) (plist-get bare :seconds)))))
                         (/ felt--bytes 1000.0)))))
    (princ (format "| %-3s | %-6s | %-5s | %-5s | %5d | %6.1f | %7.1f | %7.1f | %7.1f | %6.1f | %4d | %5.0f | %6.0f | %8s | %4.0f |\n"
                   display what size who (length keys)
                   (felt--at keys 0.5) (felt--at keys 0.99) (felt--at keys 1.0)
                   (felt--at (plist-get figures :without) 0.99)
                   (felt--at (plist-get figures :late) 0.99)
                   (plist-get figures :collections) (plist-get figures :collecting)
                   (/ (plist-get figures :made) (plist-get figures :seconds))
                   (if beyond (format "%.1f" beyond) "")
                   (plist-get figures :events)))
    (dolist (note (seq-take (plist-get figures :notes) 3))
      (felt--missed "Lisp that failed: %s" note))
    (when (equal who "ours")
      (let ((thread (plist-get figures :thread)))
        (when thread
          (princ (format "  what the doctor would say: %d pieces, p50 %.1f ms, p99 %.1f, longest %.0f (%s)\n"
                         (plist-get thread :count) (plist-get thread :p50)
                         (plist-get thread :p99) (plist-get thread :longest)
                         (plist-get thread :what)))))
      (let ((p99 (felt--at keys 0.99))
            (yardstick (and bare (felt--at (plist-get bare :keys) 0.99))))
        (when (> p99 (max felt--most (+ felt--above (or yardstick 0))))
          (felt--missed "%.1f ms of %.0f at p99, and %s; without collections %.1f, bare %s"
                        p99 felt--most
                        (if yardstick (format "%.1f above the yardstick" (- p99 yardstick))
                          "there is no yardstick")
                        (felt--at (plist-get figures :without) 0.99)
                        (if bare (format "%.1f" (felt--at (plist-get bare :without) 0.99)) "unknown"))
          (princ (format "  the longest: %s\n"
                         (mapconcat (lambda (stall) (apply #'format "%.0f ms after %.1f s"
                                                           (reverse stall)))
                                    (plist-get figures :stalls) ", "))))
        (felt--report (format "key to screen, %s, %s, %s buffer" display what size)
                      (format "p99 %.0f ms, or %.0f above bare" felt--most felt--above)
                      (format "p50 %.1f, p99 %.1f ms; bare %s" (felt--at keys 0.5) p99
                              (if yardstick (format "%.1f" yardstick) "unknown")))))))

(defun felt--known (display what who size)
  "Return the figures of WHO doing WHAT on DISPLAY at SIZE, or nil."
  (cdr (assoc (list display what who size) felt--found)))

(defun felt--growth (display what)
  "Say how p99 of WHAT on DISPLAY grows with the size of the buffer."
  (let ((more (lambda (who)
                (let ((small (felt--known display what who 'small))
                      (large (felt--known display what who 'large)))
                  (and small large
                       (- (felt--at (plist-get large :keys) 0.99)
                          (felt--at (plist-get small :keys) 0.99)))))))
    (let ((bare (funcall more "bare")) (ours (funcall more "ours")))
      (when (and bare ours)
        (princ (format "  %s, %s: from the smaller to the larger buffer p99 grows by %.1f ms; bare by %.1f\n"
                       display what ours bare))
        (when (and (> ours (+ felt--above (max 0.0 bare)))
                   (> (felt--at (plist-get (felt--known display what "ours" 'large) :keys) 0.99)
                      felt--most))
          (felt--missed "%s grows with the buffer" what))))))

(defun felt--report (name promised measured)
  "Add a row with NAME, what is PROMISED and MEASURED to those of the bench."
  (let ((file (getenv "BENCH_ROWS")))
    (unless (member file '(nil ""))
      (let ((coding-system-for-write 'utf-8-unix))
        (write-region (format "%s\t%s\t%s\t\n" name promised measured) nil file t 'quiet)))))

;;;; Loading

(defconst felt--loading
  '(let (times (last (float-time)))
     (cl-flet ((lap () (push (- (float-time) last) times) (setq last (float-time))))
       (require 'passepartout) (lap)
       (require 'org) (lap)
       (require 'passepartout-events) (lap)
       (passepartout-module-load) (lap)
       (passepartout-start) (lap)
       (passepartout-stop)
       (prin1 (nreverse times))))
  "What an Emacs does that times its own loading.")

(defun felt--loads (world)
  "Print what loading takes, in WORLD."
  (let* ((process-environment
          (append (list (concat "HOME=" (expand-file-name "home" world))
                        (concat "XDG_STATE_HOME=" (expand-file-name "state-load" world))
                        (concat "XDG_CONFIG_HOME=" (expand-file-name "config" world))
                        (concat "XDG_CACHE_HOME=" (expand-file-name "cache" world)))
                  process-environment))
         (once (lambda ()
                 (with-temp-buffer
                   (call-process
                    (getenv "FELT_TTY") nil t nil "-Q" "--batch"
                    "-L" (or (getenv "SMOOTH_LISP") (expand-file-name "../../lisp" felt--here))
                    "--eval" (format "(progn (require 'cl-lib) (setq passepartout-module-file %S passepartout-directories (list %S) passepartout-provider-cascade '(\"recall\")))"
                                     (getenv "PASSEPARTOUT_MODULE") (expand-file-name "empty" world))
                    "--eval" (prin1-to-string felt--loading))
                   (goto-char (point-max))
                   (backward-sexp)
                   (read (current-buffer)))))
         (runs (progn (make-directory (expand-file-name "empty" world) t)
                      ;; The first one copies the module.
                      (funcall once)
                      (cl-loop repeat 11 collect (funcall once)))))
    (cl-loop for (name promised) in '(("require, alone" 20) ("(Org, which is Emacs's own)" nil)
                                      ("first use: the Lisp of events" nil)
                                      ("first use: the module" 60) ("first use: the core starts" nil))
             for number from 0
             do (let* ((times (sort (mapcar (lambda (run) (* 1000 (nth number run))) runs) #'<))
                       (measured (format "least %.1f, median %.1f, most %.1f ms" (car times)
                                         (felt--at times 0.5) (felt--at times 1.0))))
                  (princ (format "%-32s %s%s\n" name measured
                                 (if promised (format "  (at most %d)" promised) "")))
                  (when promised
                    (felt--report name (format "%d ms" promised) measured)
                    (when (> (felt--at times 0.5) promised)
                      (felt--missed "%s takes %.1f ms" name (felt--at times 0.5))))))))

;;;; Everything

(defconst felt--rows
  '(("stream" small "bare") ("stream" small "plain") ("stream" small "ours") ("stream" small "gptel")
    ("stream" large "bare") ("stream" large "plain") ("stream" large "ours") ("stream" large "gptel")
    ("edit" small "bare") ("edit" small "ours") ("edit" large "bare") ("edit" large "ours")
    ("events" large "ours") ("ingest" large "ours") ("memory" large "ours"))
  "What is measured: (WHAT SIZE WHO).")

(defun felt--prepare (world)
  "Write to WORLD what is read and streamed."
  (dolist (folder '("memex" "project" "home" "config" "cache"))
    (make-directory (expand-file-name folder world)))
  (felt--write (expand-file-name "text.md" world) felt--bytes "" #'felt--unit)
  (felt--write-chat (expand-file-name "chat-large.org" world) felt--chat)
  (felt--write-chat (expand-file-name "chat-small.org" world) (/ felt--chat 10))
  (felt--write-org (expand-file-name "memex/notes-large.org" world) felt--org)
  (felt--write-org (expand-file-name "memex/notes-small.org" world) (/ felt--org 10)))

(defun felt--asked-p (name)
  "Return non-nil when what is called NAME is to be measured."
  (seq-some (lambda (part) (string-search part name))
            (split-string (felt--env "ONLY" " ") ",")))

(defun felt--wanted-p (display row)
  "Return non-nil when ROW is to be measured on DISPLAY."
  (pcase-let ((`(,what ,size ,who) row))
    (and (felt--asked-p (format "%s %s %s %s" display what size who))
         (or (not (equal who "gptel")) (getenv "FELT_GPTEL")))))

(defun felt-run ()
  "Measure everything and print it; end with status 1 when something was missed."
  ;; No collection of this Emacs makes a key late.
  (setq gc-cons-threshold most-positive-fixnum)
  (let ((world (file-name-as-directory (file-truename (make-temp-file "felt-" t)))))
    (unwind-protect
        (progn
          (felt--prepare world)
          (when (felt--asked-p "load ")
            (felt--loads world))
          (princ (format "From a key to the screen, in ms (an answer of %d bytes at %d a second; chats of %d and %d bytes; Org files of %d and %d; %d headings)\n"
                         felt--bytes felt--rate (/ felt--chat 10) felt--chat (/ felt--org 10) felt--org
                         felt--headings))
          (princ "|     |        |       |       |       | key to screen              |  no gc  | timer  | collections  | Lisp made, kB     | msgs |\n")
          (princ "|     | what   | size  | who   |  keys |    p50 |     p99 |    most |     p99 |    p99 |   no |    ms |    a s | streamed |  a s |\n")
          (dolist (display (split-string (felt--env "DISPLAYS" "tty x")))
            (pcase-dolist ((and row `(,what ,size ,who)) felt--rows)
              (when (felt--wanted-p display row)
                (when (and (member what '("ingest" "memory"))
                           (not (file-directory-p (expand-file-name "large" world))))
                  (felt--write-memex (expand-file-name "large/" world)))
                (condition-case problem
                    (let ((figures (felt--measure world display what who size)))
                      (push (cons (list display what who size) figures) felt--found)
                      (felt--row display what who size figures))
                  (error (felt--missed "%s, %s, %s, %s: %s" display what size who
                                       (error-message-string problem))))))
            (dolist (what '("stream" "edit")) (felt--growth display what))))
      (delete-directory world t))
    (kill-emacs felt--status)))

(provide 'felt)
;;; felt.el ends here
