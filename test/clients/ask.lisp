;;; A client in Common Lisp: asks one question over the socket of a core and prints the answer.
;;;
;;;   sbcl --script ask.lisp SOCKET QUESTION
;;;
;;; Nothing that comes is evaluated: `*read-eval*' is nil, and frames are counted in bytes before they are read.

(require :sb-bsd-sockets)

(defvar *core*)

(defun read-octets (count)
  (let ((octets (make-array count :element-type '(unsigned-byte 8))))
    (unless (= (read-sequence octets *core*) count)
      (error "The connection ended within a frame."))
    octets))

(defun receive ()
  (let ((length (parse-integer (map 'string #'code-char (read-octets 6)) :radix 16)))
    (assert (<= length #x400000))
    (let ((text (sb-ext:octets-to-string (read-octets length) :external-format :utf-8)))
      (with-standard-io-syntax
        (let ((*read-eval* nil)
              (*read-default-float-format* 'double-float))
          (values (read-from-string text)))))))

(defun send (message)
  ;; Lisp prints keywords in upper case; the core reads either.
  (let ((octets (sb-ext:string-to-octets (with-standard-io-syntax (prin1-to-string message))
                                         :external-format :utf-8)))
    (write-sequence (map '(vector (unsigned-byte 8)) #'char-code (format nil "~6,'0x" (length octets))) *core*)
    (write-sequence octets *core*)
    (finish-output *core*)))

(defun payload (message key)
  (getf (getf message :payload) key))

(defun meet ()
  (let ((greeting (receive)))
    (assert (eq (payload greeting :action) :handshake))
    (assert (eql (payload greeting :protocol) 2)))
  (send '(:type :event :payload (:action :handshake :protocol 2 :version "ask.lisp" :as :cli)))
  (let ((welcome (receive)))
    (unless (eq (payload welcome :action) :handshake)
      (error "The core refuses: ~a" (payload welcome :text)))))

(defun ask (question out)
  (send `(:type :event :payload (:sensor :user-input :text ,question)))
  (loop for message = (receive)
        do (case (getf message :type)
             (:stream-chunk
              (write-string (or (payload message :text) "") out))
             (:response
              (when (eq (payload message :action) :turn-done)
                (return (payload message :status)))))))

(let ((socket (make-instance 'sb-bsd-sockets:local-socket :type :stream))
      (out (sb-sys:make-fd-stream 1 :output t :buffering :full :external-format :utf-8))
      (words (rest sb-ext:*posix-argv*)))
  ;; With --script the words after the file's name are all that is there.
  (destructuring-bind (place question) (last words 2)
    (sb-bsd-sockets:socket-connect socket place)
    (setf *core* (sb-bsd-sockets:socket-make-stream socket :input t :output t :element-type '(unsigned-byte 8)))
    (meet)
    (let ((status (ask question out)))
      (finish-output out)
      (sb-ext:exit :code (if (equal status "answered") 0 1)))))
