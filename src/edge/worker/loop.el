;; What the Lisp worker runs: it reads a line, evaluates what is in it, answers with a line. -*- no-byte-compile: t; -*-
;;
;; A request is MARK, a blank, and the code in base64, and then, where nobody asks whether Emacs is whole, a blank and
;; `plain'. A reply is the mark and a property list on one line, whose texts
;; are in base64. The mark is new for each call and chosen by who asks, so that nothing that an earlier call left behind
;; can answer a later one. What the code does to this loop harms only itself: a reply that is not well formed ends the
;; process, and so does one that does not say that every function of Emacs is still the one that it was.
(let ((read (symbol-function 'read-from-minibuffer))
      (write (symbol-function 'send-string-to-terminal))
      (decode (symbol-function 'base64-decode-string))
      (encode (symbol-function 'base64-encode-string))
      (decode-coding (symbol-function 'decode-coding-string))
      (encode-coding (symbol-function 'encode-coding-string))
      (print (symbol-function 'prin1-to-string))
      (split (symbol-function 'split-string))
      (same (symbol-function 'equal))
      (each (symbol-function 'mapcar))
      (meaning (symbol-function 'symbol-function))
      (most 100000)
      names meanings)
  ;; No compiler is started behind the back of what is evaluated: there are no processes here.
  (setq native-comp-deferred-compilation nil
        native-comp-jit-compilation nil
        native-comp-enable-subr-trampolines nil
        gc-cons-threshold 8000000)
  ;; What Emacs 29 has from the start, an older one has here; the rest is loaded when it is called.
  (require 'subr-x)
  (set-binary-mode 'stdout t)
  ;; What is loaded when it is first called changes by itself; all else that has a meaning keeps it.
  (mapatoms (lambda (name)
              (if (and (fboundp name) (not (autoloadp (symbol-function name))))
                  (setq names (cons name names)))))
  (setq meanings (funcall each meaning names))
  (let ((clip (lambda (text)
                (if (> (length text) most)
                    (concat (substring text 0 most) "\n[the rest is left out]")
                  text)))
        (code-text (lambda (text)
                     (funcall encode (funcall encode-coding text 'utf-8) t)))
        (evaluate (lambda (code)
                    (with-temp-buffer
                      (set-syntax-table emacs-lisp-mode-syntax-table)
                      (insert code)
                      (goto-char (point-min))
                      (let (value form)
                        (while (progn (forward-comment (point-max)) (not (eobp)))
                          (setq form (read (current-buffer))
                                value (with-temp-buffer (eval form t))))
                        value)))))
    (while t
      (let* ((line (condition-case nil (funcall read "") (error (kill-emacs 0))))
             (parts (funcall split line " "))
             (code (funcall decode-coding (funcall decode (nth 1 parts)) 'utf-8))
             (output (generate-new-buffer " *output*"))
             (status 'value)
             text)
        (condition-case problem
            (let* ((standard-output output)
                   (debug-on-error nil)
                   (value (catch 'top-level (catch 'exit (funcall evaluate code))))
                   (print-length 1000)
                   (print-level 20)
                   (print-circle t))
              (setq text (funcall print value)))
          ((error quit)
           (setq status 'error
                 text (condition-case nil
                          (concat (error-message-string problem)
                                  (format " (%S)" (car problem)))
                        (error "an error that cannot be printed")))))
        (let ((said (if (buffer-live-p output)
                        (with-current-buffer output
                          (buffer-substring-no-properties
                           (point-min) (min (point-max) (+ (point-min) most))))
                      ""))
              (inhibit-quit t))
          (if (buffer-live-p output) (kill-buffer output))
          (funcall write
                   (concat "\n" (car parts)
                           " (:status " (symbol-name status)
                           " :whole "
                           (if (or (nth 2 parts)
                                   (funcall same meanings
                                            (funcall each meaning names)))
                               "t" "nil")
                           " :text \"" (funcall code-text (funcall clip text))
                           "\" :output \"" (funcall code-text said) "\")\n")))))))
