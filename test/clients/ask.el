;;; ask.el --- Asks one question over the socket of a core  -*- lexical-binding: t; -*-

;;; Commentary:

;; A client in Emacs Lisp alone, without the module:
;;
;;   emacs -Q --batch -l ask.el SOCKET QUESTION
;;
;; A frame's length is checked before the frame is waited for, and nothing
;; that comes is evaluated: it is data for `read'.

;;; Code:

(defconst ask-longest #x400000
  "A frame with more bytes is refused.")

(defvar ask-incoming ""
  "The bytes that came and are no whole frame yet.")

(defun ask-receive (core)
  "Return the next message of CORE, a process."
  (let (message)
    (while (not message)
      (let ((end (and (>= (length ask-incoming) 6)
                      (+ 6 (string-to-number (substring ask-incoming 0 6) 16)))))
        (cond
         ((and end (> end (+ 6 ask-longest)))
          (error "The frame is too long"))
         ((and end (>= (length ask-incoming) end))
          (setq message (car (read-from-string
                              (decode-coding-string
                               (substring ask-incoming 6 end) 'utf-8-unix)))
                ask-incoming (substring ask-incoming end)))
         ((not (or (accept-process-output core 30) (process-live-p core)))
          (error "The core ended")))))
    message))

(defun ask-send (core message)
  "Send MESSAGE, a plist, to CORE."
  (let ((bytes (encode-coding-string (let ((print-escape-newlines nil))
                                       (prin1-to-string message))
                                     'utf-8-unix)))
    (process-send-string core (format "%06x%s" (length bytes) bytes))))

(defun ask-payload (message key)
  "Return what the payload of MESSAGE has at KEY."
  (plist-get (plist-get message :payload) key))

(defun ask (socket question)
  "Ask QUESTION over SOCKET, print the answer, and return its status."
  (let ((core (make-network-process
               :name "core" :family 'local :service socket
               :coding 'binary :noquery t
               :filter (lambda (_core bytes)
                         (setq ask-incoming (concat ask-incoming bytes)))))
        status)
    (unless (equal (ask-payload (ask-receive core) :protocol) 2)
      (error "This core speaks another protocol"))
    (ask-send core '(:type :event :payload
                     (:action :handshake :protocol 2 :version "ask.el" :as :cli)))
    (let ((welcome (ask-receive core)))
      (unless (eq (ask-payload welcome :action) :handshake)
        (error "The core refuses: %s" (ask-payload welcome :text))))
    (ask-send core (list :type :event
                         :payload (list :sensor :user-input :text question)))
    (while (not status)
      (let ((message (ask-receive core)))
        (cond
         ((eq (plist-get message :type) :stream-chunk)
          (let ((text (ask-payload message :text)))
            (when text
              ;; `princ' would encode it once more.
              (send-string-to-terminal
               (encode-coding-string text 'utf-8-unix)))))
         ((eq (ask-payload message :action) :turn-done)
          (setq status (ask-payload message :status))))))
    (delete-process core)
    status))

(when noninteractive
  (kill-emacs
   (if (equal (ask (pop command-line-args-left) (pop command-line-args-left))
              "answered")
       0
     1)))

;;; ask.el ends here
