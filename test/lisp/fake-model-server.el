;;; fake-model-server.el --- A scripted model behind HTTP  -*- lexical-binding: t; no-byte-compile: t; -*-

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

;; An OpenAI-compatible server that streams what a script tells it to.
;; It runs in a batch Emacs of its own, so that the Emacs under test is
;; not also the one that serves:
;;
;;   emacs -Q --batch -l fake-model-server.el -f fake-model-server-run FOLDER
;;
;; FOLDER holds the file script.eld, a list of answers, one a request, in
;; order.  The server writes its port to FOLDER/port, and the body of
;; request N (from 1) to FOLDER/N.json.  An answer is a list of steps:
;;
;;   (text STRING)          one event with STRING
;;   (pieces STRING COUNT)  events of COUNT characters each
;;   (rate BYTES PER-SECOND) so many bytes of plain prose at that rate
;;   (paced STRING PER-SECOND) STRING, line by line, at that rate
;;   (call ID TOOL JSON)    a call of TOOL; its arguments come in two parts
;;   (die)                  closes the connection in mid-stream
;;   (hang)                 sends nothing more and keeps the connection
;;   (status CODE TEXT)     an error instead of a stream; must come first
;;
;; The server ends when the process that started it has ended.

;;; Code:

(require 'json)

(defvar fake-model-server--folder nil
  "Folder of the script and of the record.")

(defvar fake-model-server--script nil
  "The answers that have not been given yet.")

(defvar fake-model-server--count 0
  "The number of the last request.")

(defconst fake-model-server--prose
  "The quick brown fox jumps over the lazy dog, and the answer goes on.\n"
  "What the step rate repeats.")

;;;; What goes out

(defun fake-model-server--send (client text)
  "Send TEXT, in UTF-8, to CLIENT as one chunk; a client that went is let go."
  (when (process-live-p client)
    (let ((bytes (encode-coding-string text 'utf-8-unix)))
      (ignore-errors
        (process-send-string
         client (concat (format "%x\r\n" (length bytes)) bytes "\r\n"))))))

(defun fake-model-server--event (client delta &optional finish usage)
  "Send CLIENT an event with DELTA, an alist, FINISH, a reason, and USAGE."
  (let ((json-encoding-pretty-print nil))
    (fake-model-server--send
     client
     (concat "data: "
             (json-encode
              `((id . "answer") (object . "chat.completion.chunk")
                (created . 1) (model . "fake")
                (choices . [((index . 0)
                             (delta . ,(or delta (make-hash-table)))
                             (finish_reason . ,finish))])
                ,@(and usage
                       '((usage (prompt_tokens . 11)
                                (completion_tokens . 7)
                                (total_tokens . 18))))))
             "\n\n"))))

(defun fake-model-server--head (client)
  "Begin a streamed answer to CLIENT."
  (process-send-string
   client
   (concat "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
           "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n")))

(defun fake-model-server--end (client calls)
  "End the answer to CLIENT; CALLS is non-nil when it called tools."
  (fake-model-server--event client nil (if calls "tool_calls" "stop") t)
  (fake-model-server--send client "data: [DONE]\n\n")
  (when (process-live-p client)
    (ignore-errors (process-send-string client "0\r\n\r\n"))
    (process-send-eof client)))

(defun fake-model-server--rate (client bytes per-second then)
  "Send CLIENT so many BYTES of prose at PER-SECOND, then call THEN."
  (let ((sent 0))
    (fake-model-server--pace
     client per-second then
     (lambda ()
       (when (< sent bytes)
         (let ((text (substring fake-model-server--prose 0
                                (min (length fake-model-server--prose)
                                     (- bytes sent)))))
           (setq sent (+ sent (length text)))
           text))))))

(defun fake-model-server--paced (client text per-second then)
  "Send CLIENT the lines of TEXT at PER-SECOND bytes, then call THEN."
  (let ((from 0))
    (fake-model-server--pace
     client per-second then
     (lambda ()
       (when (< from (length text))
         (let ((to (1+ (or (string-search "\n" text from)
                           (1- (length text))))))
           (prog1 (substring text from to) (setq from to))))))))

(defun fake-model-server--pace (client per-second then next)
  "Send CLIENT the texts that NEXT returns, so many bytes PER-SECOND.
When NEXT returns nil, or CLIENT has gone, call THEN."
  (let ((began (float-time)) (sent 0) (text t) timer)
    (setq timer
          (run-at-time
           0 0.01
           (lambda ()
             (let ((due (* per-second (- (float-time) began))))
               (while (and text (< sent due) (process-live-p client))
                 (when (setq text (funcall next))
                   (fake-model-server--event client `((content . ,text)))
                   (setq sent (+ sent (string-bytes text)))))
               (when (or (null text) (not (process-live-p client)))
                 (cancel-timer timer)
                 (funcall then))))))))

(defun fake-model-server--play (client steps calls)
  "Send STEPS to CLIENT; CALLS is how many tools were called so far."
  (pcase steps
    ('nil (fake-model-server--end client (> calls 0)))
    (`((text ,text) . ,rest)
     (fake-model-server--event client `((content . ,text)))
     (fake-model-server--play client rest calls))
    (`((pieces ,text ,count) . ,rest)
     (let ((from 0))
       (while (< from (length text))
         (let ((to (min (length text) (+ from count))))
           (fake-model-server--event
            client `((content . ,(substring text from to))))
           (setq from to))))
     (fake-model-server--play client rest calls))
    (`((rate ,bytes ,per-second) . ,rest)
     (fake-model-server--rate
      client bytes per-second
      (lambda () (fake-model-server--play client rest calls))))
    (`((paced ,text ,per-second) . ,rest)
     (fake-model-server--paced
      client text per-second
      (lambda () (fake-model-server--play client rest calls))))
    (`((call ,id ,tool ,arguments) . ,rest)
     (let ((half (/ (length arguments) 2)))
       (fake-model-server--event
        client `((tool_calls
                  . [((index . ,calls) (id . ,id) (type . "function")
                      (function (name . ,tool)
                                (arguments
                                 . ,(substring arguments 0 half))))])))
       (fake-model-server--event
        client `((tool_calls
                  . [((index . ,calls)
                      (function (arguments
                                 . ,(substring arguments half))))]))))
     (fake-model-server--play client rest (1+ calls)))
    (`((die) . ,_) (delete-process client))
    (`((hang) . ,_))
    (step (error "No such step: %S" step))))

(defun fake-model-server--plain (client status type text)
  "Answer CLIENT with STATUS and TEXT of TYPE, and close."
  (let ((bytes (encode-coding-string text 'utf-8-unix)))
    (process-send-string
     client
     (concat (format "HTTP/1.1 %s X\r\nContent-Type: %s\r\n" status type)
             (format "Content-Length: %d\r\nConnection: close\r\n\r\n"
                     (length bytes))
             bytes))
    (process-send-eof client)))

;;;; What comes in

(defun fake-model-server--record (body)
  "Keep BODY, the bytes of a request."
  (setq fake-model-server--count (1+ fake-model-server--count))
  (let ((coding-system-for-write 'no-conversion)
        (draft (expand-file-name "draft" fake-model-server--folder)))
    (write-region body nil draft nil 'quiet)
    (rename-file draft
                 (expand-file-name (format "%d.json" fake-model-server--count)
                                   fake-model-server--folder)
                 t)))

(defun fake-model-server--answer (client path body)
  "Answer CLIENT, who asked for PATH with BODY."
  (if (string-suffix-p "/models" path)
      (fake-model-server--plain
       client 200 "application/json"
       "{\"object\":\"list\",\"data\":[{\"id\":\"fake\",\"object\":\"model\"}]}")
    (fake-model-server--record body)
    (let ((steps (pop fake-model-server--script)))
      (pcase steps
        ('nil (fake-model-server--plain client 500 "text/plain"
                                        "the script has no further answer"))
        (`((status ,code ,text) . ,_)
         (fake-model-server--plain client code "application/json" text))
        (_ (fake-model-server--head client)
           (fake-model-server--play client steps 0))))))

(defun fake-model-server--filter (client bytes)
  "Take BYTES from CLIENT; answer when the request is complete."
  (let* ((all (concat (process-get client 'bytes) bytes))
         (head (string-search "\r\n\r\n" all)))
    (process-put client 'bytes all)
    (when (and head (not (process-get client 'answered)))
      (let* ((case-fold-search t)
             (length (if (string-match "^content-length: *\\([0-9]+\\)" all)
                         (string-to-number (match-string 1 all))
                       0))
             (from (+ head 4)))
        (when (>= (- (length all) from) length)
          (process-put client 'answered t)
          (string-match "\\`[A-Z]+ \\([^ ?]+\\)" all)
          (fake-model-server--answer client (match-string 1 all)
                                     (substring all from (+ from length))))))))

;;;; Running

(defun fake-model-server--parent ()
  "Return the number of the process that this one belongs to."
  (alist-get 'ppid (process-attributes (emacs-pid))))

(defun fake-model-server-run ()
  "Serve the script in the folder of the command line until the parent ends."
  (setq fake-model-server--folder
        (file-name-as-directory (pop command-line-args-left)))
  (setq fake-model-server--script
        (with-temp-buffer
          (let ((coding-system-for-read 'utf-8-unix))
            (insert-file-contents
             (expand-file-name "script.eld" fake-model-server--folder)))
          (read (current-buffer))))
  (let* ((server (make-network-process
                  :name "fake-model" :server t :host "127.0.0.1"
                  :service t :family 'ipv4 :coding 'binary
                  :filter #'fake-model-server--filter
                  :sentinel #'ignore :noquery t))
         (parent (fake-model-server--parent))
         (draft (expand-file-name "port.draft" fake-model-server--folder)))
    (write-region (number-to-string (process-contact server :service))
                  nil draft nil 'quiet)
    (rename-file draft (expand-file-name "port" fake-model-server--folder) t)
    (while (equal parent (fake-model-server--parent))
      (accept-process-output nil 1))
    (kill-emacs 0)))

(provide 'fake-model-server)
;;; fake-model-server.el ends here
