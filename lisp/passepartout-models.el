;;; passepartout-models.el --- Providers in their order, and their models  -*- lexical-binding: t; -*-

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

;; Which providers are asked in which order and how they stand, and the
;; models of each, by its own list: how much they read and what they
;; cost.  RET uses a model, by the same door as
;; `passepartout-set-cascade'.

;; A provider elsewhere that was never contacted is not asked for its
;; list until you ask for it here.

;;; Code:

(require 'cl-lib)
(require 'passepartout)
(require 'passepartout-events)
(require 'passepartout-provider)
(require 'passepartout-view)

(defconst passepartout-models--buffer-name "*Passepartout models*"
  "The name of the buffer of models.")

(defvar-local passepartout-models--standings nil
  "How the providers stand, as the core said last.")

(defvar-local passepartout-models--lists nil
  "The lists of models, (NAME PAYLOAD . TEXT) each.
NAME is that of a provider, TEXT its list as it is drawn: of hundreds of
models none is drawn anew because another provider has answered.")

(defvar-local passepartout-models--asked 0
  "How often everything was asked for here; older answers do not count.")

(defvar passepartout-models-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map passepartout-view-mode-map)
    (define-key map (kbd "RET") #'passepartout-models-use)
    (define-key map (kbd "g") #'passepartout-models-ask)
    (define-key map (kbd "r") #'passepartout-models-ask)
    (define-key map (kbd "M-<up>") #'passepartout-models-move-up)
    (define-key map (kbd "M-<down>") #'passepartout-models-move-down)
    (define-key map (kbd "M-p") #'passepartout-models-move-up)
    (define-key map (kbd "M-n") #'passepartout-models-move-down)
    (define-key map (kbd "u") #'passepartout-models-usual)
    map)
  "Keys of the buffer of models.")

(define-derived-mode passepartout-models-mode passepartout-view-mode "Models"
  "Major mode of the buffer of providers and their models."
  (setq passepartout-list--redraw #'passepartout-models--draw-sorted))

;;;; Drawing

(defun passepartout-models--size (context)
  "Return CONTEXT, a number of tokens or nil, for a column."
  (if (natnump context) (format "%d" context) "unknown"))

(defun passepartout-models--stand (provider)
  "Return how PROVIDER, a plist, stands, in words."
  (concat
   (pcase (plist-get provider :place)
     ("builtin" "built in, ") ("local" "local, ") ("remote" "elsewhere, "))
   (pcase (plist-get provider :state)
     ("unconfirmed" "not confirmed")
     ("left-out" "left out")
     ("unused" "in no cascade")
     (state (passepartout-view-line state 20)))))

(defun passepartout-models--column (text width)
  "Return TEXT, one line, filled up or cut to WIDTH columns."
  (truncate-string-to-width (passepartout-view-line text 100)
                            width 0 ?\s "…"))

(defun passepartout-models--insert-provider (provider number)
  "Insert PROVIDER, a plist, as a line; NUMBER is its place, or nil."
  (let ((begin (point))
        (why (plist-get provider :why))
        (price (plist-get provider :price)))
    (insert (if number (format "  %2d " number) "     ")
            (passepartout-models--column (plist-get provider :name) 16) " "
            (passepartout-models--column
             (passepartout-models--stand provider) 24)
            " "
            (passepartout-view-line (or (plist-get provider :model) "") 60))
    (when (plist-get provider :pictures)
      (insert (propertize ", takes pictures" 'face 'passepartout-quiet)))
    (when price
      (insert (propertize
               (format " (reads %s; price %s)"
                       (passepartout-models--size (plist-get provider :context))
                       (passepartout-view-line price 80))
               'face 'passepartout-quiet)))
    (insert "\n")
    (when why
      (insert (propertize (concat "       " (passepartout-view-line why 400)
                                  "\n")
                          'face 'passepartout-quiet)))
    (put-text-property begin (point) 'wrap-prefix "       ")))

(defconst passepartout-models--columns
  '(("Model" (27 . 47)) ("Reads" 10 t) ("Price" nil))
  "The columns of the lists of models.")

(defun passepartout-models--price (price)
  "Return the dollars that PRICE, in words, begins with, to sort by.
What is not known comes behind all others."
  (cond ((not (stringp price)) 1.0e9)
        ((string-match "\\$\\([0-9]+\\(?:\\.[0-9]+\\)?\\)" price)
         (string-to-number (match-string 1 price)))
        ((string-prefix-p "unknown" price) 1.0e9)
        (t 0)))

(defun passepartout-models--width ()
  "Return how wide the name of a model is, behind its mark."
  (1- (nth 1 (car (passepartout-list-fit passepartout-models--columns)))))

(defun passepartout-models--row (name model)
  "Return the row of MODEL, a plist, in the list of the provider NAME."
  (let* ((id (plist-get model :name))
         (context (plist-get model :context))
         (whole (concat name "/" id)))
    (list whole (passepartout-view-line whole 100) (list :name name :model id)
          (list id
                (cons (passepartout-models--size context)
                      (if (natnump context) context -1))
                (cons (plist-get model :price)
                      (passepartout-models--price (plist-get model :price))))
          (if (plist-get model :set) " >" "  "))))

(defun passepartout-models--model-line (row)
  "Return the line of ROW, with its properties."
  (pcase-let ((`(,key ,label ,data (,id ,context ,price) ,mark) row))
    (propertize (concat
                 (propertize (format "%s %s %10s  %s" mark
                                     (passepartout-models--column
                                      id (passepartout-models--width))
                                     (car context) (car price))
                             'mouse-face 'highlight
                             'help-echo "mouse-1: as RET here")
                 "\n")
                'passepartout-list-item (list key label data))))

(defun passepartout-models--list-text (payload)
  "Return the text of a list of models, PAYLOAD, with its properties."
  (let* ((name (plist-get payload :provider))
         (models (plist-get payload :models))
         (why (or (plist-get payload :error) (plist-get payload :why)))
         (more (or (plist-get payload :more) 0))
         (text
          (concat
           (propertize (passepartout-view-line name 40)
                       'face 'passepartout-title)
           (cond (why (format ": no list; %s" (passepartout-view-line why 400)))
                 (t (format ": %d model%s, asked at %s"
                            (+ more (length models))
                            (if (= 1 (+ more (length models))) "" "s")
                            (or (plist-get payload :at) "an unknown time"))))
           "\n"
           (and (plist-get payload :unasked)
                "  RET or g here asks it.\n")
           (mapconcat #'passepartout-models--model-line
                      (passepartout-list-sorted
                       passepartout-models--columns
                       (mapcar (lambda (model)
                                 (passepartout-models--row name model))
                               models))
                      "")
           (and (> more 0)
                (format "  %d more are not listed here; \
`passepartout models' lists all.\n"
                        more)))))
    ;; What is no model of it is the list itself.
    (let ((end (or (next-single-property-change 0 'passepartout-list-item text)
                   (length text))))
      (put-text-property 0 end 'passepartout-list-item
                         (list (list name) (passepartout-view-line name 40)
                               (list :name name :list t))
                         text))
    text))

(defun passepartout-models--draw ()
  "Draw what is known in the current buffer."
  (let* ((standings passepartout-models--standings)
         (order (mapcar #'passepartout-models--name
                        (plist-get standings :order)))
         (slots (plist-get standings :slots)))
    (passepartout-view-draw
      (insert (propertize "Providers, in the order in which they are asked\n"
                          'face 'passepartout-title)
              (propertize
               (concat "RET uses the model or provider at point, C-u RET for \
good; M-<up> and M-<down> move a provider; u takes your choice back; g asks \
anew; S sorts models; ? shows all keys; q leaves.  Prices are for a million \
tokens.\n\n")
               'face 'passepartout-quiet))
      (dolist (provider (plist-get standings :providers))
        (let* ((name (plist-get provider :name))
               (place (seq-position order name)))
          (passepartout-list-item name (passepartout-view-line name 40)
				  (list :name name)
            (passepartout-models--insert-provider provider
                                                  (and place (1+ place))))))
      (insert "\n" (if (plist-get standings :chosen)
                       "You chose this order; it counts for every kind of \
work.\n"
                     "The order is that of your settings.\n"))
      (dolist (slot slots)
        (insert "  " (passepartout-view-line (car slot) 20) ": "
                (passepartout-view-line (mapconcat #'identity (cdr slot) ", "))
                "\n"))
      (when (seq-some (lambda (entry) (plist-get (cadr entry) :models))
                      passepartout-models--lists)
        (insert "\n")
        (passepartout-list-head passepartout-models--columns))
      (dolist (entry passepartout-models--lists)
        (insert "\n" (cddr entry))))))

(defun passepartout-models--draw-sorted ()
  "Draw the lists of models in the order by which they are sorted now."
  (dolist (entry passepartout-models--lists)
    (setcdr (cdr entry) (passepartout-models--list-text (cadr entry))))
  (passepartout-models--draw))

;;;; Asking

(defun passepartout-models--name (entry)
  "Return the name of the provider of ENTRY, such as \"far/model\"."
  (car (split-string entry "/")))

(defun passepartout-models--put (name payload)
  "Let PAYLOAD be what is known of the list of the provider NAME."
  (let ((entry (assoc name passepartout-models--lists))
        (known (cons payload (passepartout-models--list-text payload))))
    (if entry
        (setcdr entry known)
      (setq passepartout-models--lists
            (append passepartout-models--lists (list (cons name known)))))))

(defun passepartout-models--fetch-list (name more)
  "Ask for the models of the provider NAME; MORE is added to what is asked."
  (let ((buffer (current-buffer))
        (asked passepartout-models--asked))
    (passepartout-models--put
     name (list :provider name :why "it is being asked …"))
    (passepartout-request
     :model-list `(:provider ,name ,@more)
     (lambda (payload)
       (when (buffer-live-p buffer)
         (with-current-buffer buffer
           (when (eql asked passepartout-models--asked)
             (passepartout-models--put
              name
              (append `(:provider ,name
                        :unasked ,(and (plist-get payload :why)
                                       (not (plist-get payload :at))))
                      payload))
             (passepartout-models--draw))))))))

(defun passepartout-models--fetch (&optional fresh)
  "Ask how providers stand and draw it, then for the list of each.
FRESH non-nil asks for lists anew."
  (let ((buffer (get-buffer passepartout-models--buffer-name)))
    (when buffer
      (with-current-buffer buffer
        (setq passepartout-models--asked (1+ passepartout-models--asked)))
      (passepartout-models--stand-anew
       buffer
       (lambda ()
         (setq passepartout-models--lists nil)
         (dolist (provider (plist-get passepartout-models--standings
                                      :providers))
           (unless (or (equal (plist-get provider :place) "builtin")
                       (equal (plist-get provider :state) "left-out"))
             (passepartout-models--fetch-list (plist-get provider :name)
                                              (and fresh '(:fresh t)))))
         (passepartout-models--draw))))))

(defun passepartout-models--stand-anew (buffer then)
  "Ask how providers stand, for BUFFER, and call THEN there."
  (passepartout-request
   :models nil
   (lambda (payload)
     (let ((why (plist-get payload :error)))
       (cond
        (why (passepartout-view-refuse buffer why))
        ((buffer-live-p buffer)
         (with-current-buffer buffer
           (setq passepartout-models--standings payload)
           (funcall then))))))))

(defun passepartout-models-ask ()
  "Ask anew for everything; on the title of a list, ask for that one alone."
  (interactive)
  (if (passepartout-models--on-list-p)
      (passepartout-models--contact)
    (passepartout-models--fetch t)))

(defun passepartout-models--on-list-p ()
  "Return non-nil when point is on a list, and on none of its models."
  (plist-get (passepartout-list-data) :list))

(defun passepartout-models--contact ()
  "Ask the provider of the list at point for it, even if it is a new one."
  (let ((name (plist-get (passepartout-list-data) :name)))
    (passepartout-models--fetch-list name '(:fresh t :contact t))
    (passepartout-models--draw)))

;;;; Choosing

(defun passepartout-models--set (order keep)
  "Let providers be asked in ORDER, for good with KEEP, and draw that."
  (let ((buffer (current-buffer)))
    (passepartout-set-cascade
     order keep
     (lambda ()
       (when (buffer-live-p buffer)
         (passepartout-models--fetch))))))

(defun passepartout-models-use (&optional keep)
  "Ask the model or the provider at point first, from the next request on.
It holds until the core ends; with KEEP non-nil, interactively with a
prefix argument, until it is taken back.  On the title of a list, ask
for that list."
  (interactive "P")
  (let ((name (plist-get (passepartout-list-data) :name))
        (model (plist-get (passepartout-list-data) :model)))
    (cond
     ((null name) (user-error "There is no provider or model here"))
     ((passepartout-models--on-list-p) (passepartout-models--contact))
     (t
      (let* ((order (plist-get passepartout-models--standings :order))
             (others (seq-remove
                      (lambda (entry)
                        (equal (passepartout-models--name entry) name))
                      order))
             (known (seq-find
                     (lambda (entry)
                       (equal (passepartout-models--name entry) name))
                     order)))
        (passepartout-models--set
         (cons (cond (model (concat name "/" model)) (known) (t name)) others)
         keep))))))

(defun passepartout-models--move (by)
  "Move the provider at point by BY places in the order."
  (let* ((name (plist-get (passepartout-list-data) :name))
         (order (copy-sequence
                 (plist-get passepartout-models--standings :order)))
         (from (and name
                    (seq-position (mapcar #'passepartout-models--name order)
                                  name)))
         (to (and from (+ from by))))
    (unless from
      (user-error "Point is on no provider that stands in the order"))
    (unless (< -1 to (length order))
      (user-error "It stands at the end already"))
    (cl-rotatef (nth from order) (nth to order))
    (passepartout-models--set order nil)))

(defun passepartout-models-move-up ()
  "Ask the provider at point one place earlier."
  (interactive)
  (passepartout-models--move -1))

(defun passepartout-models-move-down ()
  "Ask the provider at point one place later."
  (interactive)
  (passepartout-models--move 1))

(defun passepartout-models-usual ()
  "Take back the order that you chose: that of your settings counts again."
  (interactive)
  (passepartout-models--set nil nil))

;;;###autoload
(defun passepartout-models ()
  "Show the providers in their order, how they stand, and their models.
Each provider that was contacted before is asked for its own list, which
counts for five minutes; one that never was is asked only by RET or g on
its list."
  (interactive)
  (passepartout-view-open passepartout-models--buffer-name
                          'passepartout-models-mode 'passepartout-models
                          #'passepartout-models--fetch))

(provide 'passepartout-models)
;;; passepartout-models.el ends here
