;;; smooth.el --- How late Emacs gets while the agent works  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; A timer of 10 ms runs in an Emacs with a real command loop and real
;; redisplay, on a pseudo-terminal, and notes how late it is:
;;
;;   idle     nothing else happens: the yardstick
;;   plain    Lisp inserts 1 MB at 50 kB/s into an Org buffer: what any
;;            program that shows an answer costs
;;   ours     the real module streams 1 MB at 50 kB/s from a model server
;;            into a chat, and reads 10,000 headings again and again
;;   follow   the same with point at the end, so that the window scrolls
;;   hostile  as ours, while the Lisp of skills that want the question
;;            loops, floods, grows, recurses and starts timers
;;
;; A late tick also delays those that should have come meanwhile; they
;; are counted as late as they would have been.  Garbage collections are
;; shown apart: the lateness without them is that minus the time that
;; was spent collecting since the tick before.
;;
;; Lisp is measured as users run it: compiled, when SMOOTH_LISP names the
;; folder.  How much of it is made a second says, whatever else the
;; machine does, how often there will be collections.
;;
;; Afterwards keys are sent to an Org buffer that the agent follows, and
;; the time is measured until the core knows heading and focus.

;;; Code:

(require 'cl-lib)

(defconst smooth--here (file-name-directory (or load-file-name buffer-file-name))
  "Folder of this file.")

(defconst smooth--root (expand-file-name "../../" smooth--here)
  "Folder of the project.")

(defconst smooth--bytes (string-to-number (or (getenv "SMOOTH_BYTES") "1000000"))
  "Bytes of the answer.")

(defconst smooth--rate 50000 "Bytes of the answer a second.")

(defconst smooth--headings 10000 "Headings of the memex.")

(defconst smooth--files 100 "Files of the memex.")

(defconst smooth--goal 0.050
  "Seconds of lateness beyond the yardstick that are the goal at p99.9.")

(defun smooth--warm ()
  "Return the seconds before the ticks count: loading is not what is measured."
  2.0)

;;;; The Emacs that is measured

(defvar smooth--ticks nil "The ticks: (LATE . GC) in seconds, the newest first.")
(defvar smooth--stalls nil "Long delays as (WHEN LATE GC), the newest first.")
(defvar smooth--due nil "When the next tick is due.")
(defvar smooth--gc 0.0 "The value of `gc-elapsed' at the last tick.")
(defvar smooth--from 0.0 "The time from which ticks count.")
(defvar smooth--edits nil "Seconds from an edit to a right focus, newest first.")
(defvar smooth--edited nil "The (TITLE TIME GC) of the last edit, or nil.")
(defvar smooth--number 0 "The number of the last edit.")

(defvar smooth--made nil "What `memory-use-counts' returned when ticks began to count.")

(defun smooth--made ()
  "Return the bytes of Lisp that were made since ticks count, a second."
  (cl-loop for now in (memory-use-counts)
           for before in smooth--made
           ;; Conses, floats, cells of vectors, symbols, characters of
           ;; strings, intervals, strings.
           for size in '(16 16 8 48 1 56 32)
           sum (* size (- now before)) into bytes
           finally return (/ bytes (max 1.0 (- (float-time) smooth--from)))))

(defun smooth--tick ()
  "Note how late this tick is and arm the next one."
  (let* ((now (float-time))
         (late (max 0.0 (- now smooth--due)))
         (gc (- gc-elapsed smooth--gc)))
    (setq smooth--gc gc-elapsed)
    (when (> now smooth--from)
      (unless smooth--made (setq smooth--made (memory-use-counts)))
      (push (cons late gc) smooth--ticks)
      (when (> (- late gc) 0.03)
        (push (list (- now smooth--from) late gc) smooth--stalls)))
    (setq smooth--due (+ (float-time) 0.01))
    (run-at-time 0.01 nil #'smooth--tick)))

(defun smooth--begin ()
  "Begin to tick."
  (setq smooth--from (+ (float-time) (smooth--warm))
        smooth--due (+ (float-time) 0.01)
        smooth--gc gc-elapsed)
  (run-at-time 0.01 nil #'smooth--tick))

(defun smooth--end ()
  "Write what was measured and end this Emacs."
  (let ((ticks smooth--ticks) (edits smooth--edits)
        (made (and smooth--made (smooth--made)))
        (print-length nil) (print-level nil))
    (setq smooth--ticks nil smooth--edited nil)
    (with-temp-file (getenv "SMOOTH_OUT")
      (prin1 (list :ticks ticks :edits edits :stalls smooth--stalls :made made)
             (current-buffer))))
  (set-buffer-modified-p nil)
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer (set-buffer-modified-p nil)))
  (kill-emacs 0))

(defun smooth--org-buffer ()
  "Show a fresh Org buffer."
  (switch-to-buffer (generate-new-buffer "smooth"))
  (require 'org)
  (org-mode)
  (insert "* Question\n** Answer\n"))

(defun smooth--child-idle ()
  "Do nothing for as long as an answer takes."
  (smooth--org-buffer)
  (run-at-time (+ (smooth--warm) (/ (float smooth--bytes) smooth--rate)) nil
               #'smooth--end))

(defun smooth--child-plain ()
  "Insert prose at the rate of an answer."
  (smooth--org-buffer)
  (let* ((line "The quick brown fox jumps over the lazy dog, and the answer goes on.\n")
         (buffer (current-buffer))
         (began (+ (float-time) (smooth--warm)))
         (sent 0))
    (save-excursion (goto-char (point-max)) (insert "\n"))
    (goto-char (point-min))
    (run-at-time
     (smooth--warm) 0.01
     (lambda ()
       (with-current-buffer buffer
         (save-excursion
           (goto-char (point-max))
           (let ((due (min smooth--bytes (* smooth--rate
                                            (- (float-time) began)))))
             (while (< sent due)
               (insert line)
               (setq sent (+ sent (length line))))))
         (when (>= sent smooth--bytes) (smooth--end)))))))

(declare-function passepartout-chat "passepartout-chat")
(declare-function passepartout-chat-next "passepartout-chat")
(declare-function passepartout-chat-send "passepartout-chat")
(declare-function passepartout-start "passepartout-events")
(declare-function passepartout-subscribe "passepartout-events")
(declare-function passepartout-request "passepartout-events")
(declare-function passepartout-mode "passepartout")
(defvar passepartout-module-file)
(defvar passepartout-directories)
(defvar passepartout-project)
(defvar passepartout-providers)
(defvar passepartout-provider-cascade)

(defun smooth--set-up ()
  "Prepare Passepartout in this Emacs."
  (setq passepartout-module-file (getenv "PASSEPARTOUT_MODULE")
        passepartout-directories (list (getenv "SMOOTH_MEMEX"))
        passepartout-project (getenv "SMOOTH_PROJECT")
        passepartout-providers `(("fake" :kind "openai" :model "fake-1" :local t
                                  :url ,(getenv "SMOOTH_URL")))
        passepartout-provider-cascade '("fake"))
  (require 'passepartout)
  (require 'passepartout-chat))

(defun smooth--child-ours (&optional follow)
  "Stream an answer into a chat, at whose end point is when FOLLOW is non-nil."
  (smooth--set-up)
  (passepartout-chat)
  ;; Loading and starting happen once, before anything is measured.
  (passepartout-start)
  (run-at-time
   (/ (smooth--warm) 2) nil
   (lambda ()
     (passepartout-chat-next)
     (insert "Tell me all")
     (passepartout-chat-send)
     (when follow (goto-char (point-max)))))
  (run-at-time (smooth--warm) 1.0 (lambda () (passepartout-request :rescan nil nil)))
  (passepartout-subscribe :response :turn-done
                          (lambda (&rest _) (run-at-time 0.2 nil #'smooth--end))))

(defun smooth--child-follow ()
  "Stream an answer into a chat whose window scrolls."
  (smooth--child-ours t))

(defconst smooth--pack
  '(("deep" . "(progn (setq max-lisp-eval-depth 100000000 max-specpdl-size 100000000) (fset 'deep (lambda (n) (1+ (funcall 'deep n)))) (funcall 'deep 1))")
    ("flood" . "(let ((s (make-string 1000000 ?a))) (while t (send-string-to-terminal s)))")
    ("grow" . "(let (l) (while t (push (make-vector 1000000 0) l)))")
    ("huge" . "(make-string 10000000000 ?a)")
    ("loop" . "(while t)")
    ("timers" . "(progn (dotimes (_ 100000) (run-with-timer 0 0.001 #'ignore)) nil)"))
  "What hostile skills do in place of an answer, by their names.")

(defun smooth--write-pack (folder)
  "Write hostile skills to FOLDER, which are for the question that is asked."
  (make-directory folder t)
  (pcase-dolist (`(,name . ,code) smooth--pack)
    (with-temp-file (expand-file-name (concat name ".org") folder)
      (insert "#+TITLE: Hostile: " name "\n"
              "#+TRIGGER: sensor:user-input words:\"tell me all\"\n"
              "* Code\n#+NAME: handler\n#+begin_src emacs-lisp\n"
              "(lambda (_) " code ")\n#+end_src\n"))))

(defun smooth--child-hostile ()
  "Stream an answer for which hostile skills were asked first."
  (smooth--child-ours))

(defun smooth-edit ()
  "Add a heading to the buffer that the agent follows."
  (interactive)
  (goto-char (point-max))
  (setq smooth--number (1+ smooth--number))
  (let ((title (format "Heading that is new %d" smooth--number)))
    (insert "* " title "\n")
    (backward-char)
    ;; Emacs is idle from now on.
    (setq smooth--edited (list title (float-time) gc-elapsed))))

(defun smooth--child-edits ()
  "Note how long the core takes to follow an edit."
  (smooth--set-up)
  (find-file (expand-file-name "file-1.org" (getenv "SMOOTH_MEMEX")))
  (passepartout-mode 1)
  (local-set-key (kbd "C-e") #'smooth-edit)
  (local-set-key (kbd "C-o") (lambda () (interactive) (smooth--end)))
  (passepartout-subscribe
   :status nil
   (lambda (payload _meta)
     (when (and smooth--edited
                (equal (car smooth--edited) (plist-get payload :focus-title)))
       (push (- (float-time) (nth 1 smooth--edited)
                (- gc-elapsed (nth 2 smooth--edited)))
             smooth--edits)
       (setq smooth--edited nil)))))

(defun smooth-child ()
  "Measure what SMOOTH_MODE names."
  ;; Compiling to machine code happens once, and not while something is measured.
  (dolist (variable '(native-comp-deferred-compilation native-comp-jit-compilation))
    (when (boundp variable) (set variable nil)))
  (let ((mode (intern (concat "smooth--child-" (getenv "SMOOTH_MODE")))))
    (funcall mode)
    (smooth--begin)))

;;;; The Emacs that watches

(defun smooth--write-memex (folder round)
  "Write the memex to FOLDER; a line of each file tells ROUND."
  (let ((each (/ smooth--headings smooth--files))
        (coding-system-for-write 'utf-8-unix)
        (write-region-inhibit-fsync t))
    (dotimes (file smooth--files)
      (with-temp-buffer
        (insert (format "#+TITLE: File %d, round %d\n" file round))
        (dotimes (n each)
          (insert (format "%s %sHeading %d of file %d%s\n"
                          (if (zerop (% n 5)) "*" "**")
                          (if (zerop (% n 3)) "TODO " "") n file
                          (if (zerop (% n 7)) " :work:" ""))
                  (if (zerop (% n 4)) (format ":PROPERTIES:\n:ID: n%d-%d\n:END:\n" file n) "")
                  (format "Some words about %d that are of no use, round %d.\n" n round)))
        (let ((draft (expand-file-name (format ".draft-%d" file) folder)))
          (write-region nil nil draft nil 'quiet)
          (rename-file draft (expand-file-name (format "file-%d.org" file) folder) t))))))

(defun smooth--serve (world)
  "Start a model server in WORLD that gives long answers; return it and its URL."
  (let ((folder (expand-file-name "model/" world)))
    (when (file-directory-p folder) (delete-directory folder t))
    (make-directory folder)
    (with-temp-file (expand-file-name "script.eld" folder)
      (prin1 `(((rate ,smooth--bytes ,smooth--rate))) (current-buffer)))
    (let ((process (start-process
                    "fake-model" nil
                    (expand-file-name invocation-name invocation-directory)
                    "-Q" "--batch" "-l"
                    (expand-file-name "test/lisp/fake-model-server.el" smooth--root)
                    "-f" "fake-model-server-run" folder))
          (port (expand-file-name "port" folder))
          (until (+ (float-time) 60)))
      (while (not (file-exists-p port))
        (when (> (float-time) until) (error "The model server does not start"))
        (accept-process-output nil 0.05))
      (list process
            (format "http://127.0.0.1:%s/v1/"
                    (with-temp-buffer (insert-file-contents port)
                                      (buffer-string)))))))

(defun smooth--measure (world mode keys)
  "Return what an Emacs in WORLD measures in MODE; send KEYS to it if non-nil."
  (let* ((out (expand-file-name (concat mode ".eld") world))
         (memex (expand-file-name "memex" world))
         (server (smooth--serve world))
         (process-environment
          (append (list "TERM=xterm"
                        (concat "SMOOTH_MODE=" mode)
                        (concat "SMOOTH_OUT=" out)
                        (concat "SMOOTH_MEMEX=" memex)
                        (concat "SMOOTH_PROJECT=" (expand-file-name "project" world))
                        (concat "SMOOTH_URL=" (nth 1 server))
                        (concat "HOME=" (expand-file-name "home" world))
                        (concat "XDG_STATE_HOME=" (expand-file-name (concat "state-" mode) world))
                        (concat "XDG_CONFIG_HOME="
                                (expand-file-name (if (equal mode "hostile") "hostile" "config") world))
                        (concat "XDG_CACHE_HOME=" (expand-file-name "cache" world)))
                  process-environment))
         (default-directory world)
         (process-connection-type t)
         (screen "")
         (child (make-process
                 :name "measured" :connection-type 'pty :noquery t
                 :coding 'no-conversion
                 :filter (lambda (_ bytes)
                           (setq screen (concat (substring screen (max 0 (- (length screen) 2000)))
                                                bytes)))
                 :command (list (expand-file-name invocation-name invocation-directory)
                                "-Q" "-nw"
                                "-L" (or (getenv "SMOOTH_LISP") (expand-file-name "lisp" smooth--root))
                                "-l" (expand-file-name "smooth.el" smooth--here)
                                "-f" "smooth-child")))
         (began (float-time))
         (next (+ began 1.5))
         (until (+ began 180))
         (round 1)
         (typing keys))
    (set-process-window-size child 50 120)
    (unwind-protect
        (progn
          (while (process-live-p child)
            (when (> (float-time) until)
              (error "No end of %s; the screen says: %s" mode screen))
            (accept-process-output child 0.05)
            (when (> (float-time) next)
              (setq round (1+ round))
              (if typing
                  (progn
                    (setq next (+ (float-time) 0.4 (/ (random 100) 1000.0)))
                    ;; Time for starting first.
                    (when (and (process-live-p child) (> (float-time) (+ began 6)))
                      (process-send-string child (if (pop keys) "\C-e" "\C-o"))))
                (smooth--write-memex memex round)
                (setq next (+ (float-time) 1.0)))))
          (with-temp-buffer
            (insert-file-contents out)
            (read (current-buffer))))
      (when (process-live-p child) (delete-process child))
      (delete-process (car server)))))

;;;; Figures

(defun smooth--quantile (sorted share)
  "Return the value of the vector SORTED below which SHARE of it lies."
  (if (zerop (length sorted)) 0.0
    (aref sorted (min (1- (length sorted)) (floor (* share (length sorted)))))))

(defun smooth--lateness (ticks without-gc)
  "Return how late TICKS are, sorted; WITHOUT-GC takes collections off.
Ticks that were left out because one came late are put in."
  (let (all)
    (dolist (tick ticks)
      (let ((late (if without-gc (max 0.0 (- (car tick) (cdr tick))) (car tick))))
        (push late all)
        (while (> (setq late (- late 0.01)) 0)
          (push late all))))
    (sort (vconcat all) #'<)))

(defun smooth--row (mode result)
  "Print a row about RESULT of MODE; return the p99.9 without collections."
  (let* ((ticks (plist-get result :ticks))
         (all (smooth--lateness ticks nil))
         (bare (smooth--lateness ticks t))
         (collections (seq-filter (lambda (tick) (> (cdr tick) 0)) ticks))
         (ms (lambda (seconds) (format "%7.2f" (* 1000 seconds)))))
    (princ (format "| %-7s | %6d | %s | %s | %s | %s | %s | %s | %4d | %s | %5.0f |\n"
                   mode (length all)
                   (funcall ms (smooth--quantile bare 0.5))
                   (funcall ms (smooth--quantile bare 0.99))
                   (funcall ms (smooth--quantile bare 0.999))
                   (funcall ms (smooth--quantile bare 1.0))
                   (funcall ms (smooth--quantile all 0.99))
                   (funcall ms (smooth--quantile all 0.999))
                   (length collections)
                   (funcall ms (apply #'max 0.0 (mapcar #'cdr collections)))
                   (/ (or (plist-get result :made) 0) 1000.0)))
    (pcase-dolist (`(,when ,late ,gc) (reverse (plist-get result :stalls)))
      (princ (format "  after %.2f s: %.0f ms late, %.0f ms of it collecting\n"
                     when (* 1000 late) (* 1000 gc))))
    (smooth--quantile bare 0.999)))

(defun smooth-run ()
  "Measure everything and print it; end with status 1 when the goal is missed."
  (unless (file-readable-p (or (getenv "PASSEPARTOUT_MODULE") ""))
    (princ "Smoothness: PASSEPARTOUT_MODULE names no module; skipped.\n")
    (kill-emacs 0))
  (let ((world (file-name-as-directory (file-truename (make-temp-file "smooth-" t))))
        (status 0) yardstick)
    (unwind-protect
        (progn
          (dolist (folder '("memex" "project" "home" "config" "cache"))
            (make-directory (expand-file-name folder world)))
          (smooth--write-memex (expand-file-name "memex" world) 0)
          (smooth--write-pack (expand-file-name "hostile/passepartout/skills/" world))
          (princ (format "Lateness of a timer of 10 ms in Emacs %s, in ms (an answer of %d bytes at %d bytes/s, %d headings read every second):\n"
                         emacs-version smooth--bytes smooth--rate smooth--headings))
          (princ "|         |        | without collections               |  with collections | collections    | Lisp  |\n")
          (princ "| mode    |  ticks |     p50 |     p99 |   p99.9 |    most |     p99 |   p99.9 |   no |    most | kB/s  |\n")
          (dolist (mode (split-string (or (getenv "SMOOTH_MODES") "idle plain ours follow hostile")))
            (let ((worst (smooth--row mode (smooth--measure world mode nil))))
              (cond ((equal mode "idle") (setq yardstick worst))
                    ((and (member mode '("ours" "follow" "hostile"))
                          (> (- worst (or yardstick 0.0)) smooth--goal))
                     (setq status 1)
                     (princ (format "  %s misses the goal of %d ms at p99.9 beyond idle.\n"
                                    mode (* 1000 smooth--goal)))))))
          (let* ((edits (sort (vconcat (plist-get (smooth--measure world "edits" (make-list 60 t)) :edits)) #'<)))
            (princ (format "From idle after an edit to heading and focus in the core, without collections (%d of 60 edits seen, %d headings): p50 %.1f ms, p99 %.1f ms, most %.1f ms (goal 100)\n"
                           (length edits) smooth--headings
                           (* 1000 (smooth--quantile edits 0.5))
                           (* 1000 (smooth--quantile edits 0.99))
                           (* 1000 (smooth--quantile edits 1.0))))))
      (delete-directory world t))
    (kill-emacs status)))

(provide 'smooth)
;;; smooth.el ends here
