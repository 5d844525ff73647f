;;; tour.el --- Make the cassette of the recorded tour  -*- lexical-binding: t; no-byte-compile: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Writes docs/tour.jsonl, which "make run" offers to play:
;;
;;   emacs -Q --batch -l test/scripts/tour.el -f passepartout-tour-write
;;
;; No model ever said these words: they stand here, and the cassette says
;; that a script stood in for a model.  A test compares it with the file.

;;; Code:

(require 'json)

(defconst passepartout-tour--file
  (expand-file-name "../../docs/tour.jsonl"
                    (file-name-directory (or load-file-name buffer-file-name)))
  "The cassette of the tour.")

(defconst passepartout-tour--script
  '((call "memory-search"
          (("query" . "todo:open under:project-move")
           ("explanation" . "To see what is still open of the move.")))
    (text "I am a script that stands in for a model: whatever you type, I say what I was written to say. "
          "What I just did is real, though. I asked your memory for what is open of the move, the gates judged "
          "that call and let it pass, because reading changes nothing: M-x passepartout-gate-trace shows it.\n\n"
          "Type anything, and I will try to change a note.")
    (call "org-set-todo"
          (("id" . "move-post") ("state" . "DONE")
           ("explanation" . "The tour shows what happens to a change.")))
    (text "You decided, and exactly that was done. Had you approved it, the note was changed as it was shown, and "
          "M-x passepartout-undo takes that back; had you denied it, nothing was touched.\n\n"
          "Type anything once more.")
    (text "That is the tour, and the script is at its end. You can go on at once: from now on what is built in answers, "
          "without a model. It finds passages of your notes, and carries out plain requests such as “mark Paint the back room as done”, which "
          "you decide about as before. M-x passepartout-costs says what the tour cost, which is nothing. Set a provider "
          "up, restart, and a model answers here."))
  "What is answered, one element a request.")

(defun passepartout-tour--event (delta finish)
  "Return an event of a stream with DELTA and FINISH, a reason or nil."
  (format "data: %s\n\n"
          (json-encode
           `((id . "tour") (object . "chat.completion.chunk") (created . 0)
             (model . "tour")
             (choices . [((index . 0) (delta . ,delta)
                          (finish_reason . ,finish))])))))

(defun passepartout-tour--pieces (text)
  "Return TEXT in pieces of a few words."
  (let (pieces)
    (while (string-match "\\`\\(?:[^ ]* \\)\\{1,4\\}" text)
      (push (match-string 0 text) pieces)
      (setq text (substring text (match-end 0))))
    (nreverse (if (string= text "") pieces (cons text pieces)))))

(defun passepartout-tour--chunks (number answer)
  "Return the pieces of ANSWER, the answer to request NUMBER."
  (append
   (pcase answer
     (`(text . ,parts)
      (append
       (mapcar (lambda (piece)
                 (passepartout-tour--event `((content . ,piece)) nil))
               (passepartout-tour--pieces (apply #'concat parts)))
       (list (passepartout-tour--event (make-hash-table) "stop"))))
     (`(call ,tool ,args)
      (list (passepartout-tour--event
             `((tool_calls
                . [((index . 0) (id . ,(format "tour-%d" number))
                    (type . "function")
                    (function . ((name . ,tool)
                                 (arguments . ,(json-encode args)))))]))
             nil)
            (passepartout-tour--event (make-hash-table) "tool_calls"))))
   (list "data: [DONE]\n\n")))

(defun passepartout-tour--line (number answer)
  "Return the line of the exchange NUMBER, which ends with ANSWER."
  (json-encode
   `((at . "2026-11-23T00:00:00Z") (provider . "tour") (kind . "openai")
     (model . "tour") (url . "") (request . "") (status . 200)
     (headers . [["content-type" "text/event-stream"]])
     (chunks . ,(vconcat (passepartout-tour--chunks number answer)))
     (end . "whole") (redacted . 0))))

(defun passepartout-tour-text ()
  "Return the whole cassette."
  (let ((number 0))
    (concat
     (json-encode '((cassette . 1)
                    (made . "2026-11-23T00:00:00Z") (by . "script")))
     "\n"
     (mapconcat (lambda (answer)
                  (setq number (1+ number))
                  (concat (passepartout-tour--line number answer) "\n"))
                passepartout-tour--script ""))))

(defun passepartout-tour-write ()
  "Write the cassette."
  (let ((coding-system-for-write 'utf-8-unix))
    (write-region (passepartout-tour-text) nil passepartout-tour--file)))

(provide 'tour)
;;; tour.el ends here
