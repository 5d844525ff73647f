;;; passepartout.el --- An agent that works on your Org files  -*- lexical-binding: t; -*-

;; Copyright (C) 2026  The Passepartout authors

;; Author: The Passepartout authors
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.2"))
;; Keywords: outlines, tools, convenience

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

;; Passepartout reads your Org files into a memory, gives a language
;; model a small and exact slice of it, and lets nothing that the model
;; proposes happen before gates have judged it and, where they ask for
;; it, you have approved it.
;;
;; Start with `M-x passepartout-chat'.  Turn on
;; `passepartout-global-mode' to let the agent's focus follow you
;; through your Org files.  `M-x passepartout-doctor' says what works.
;;
;; This file holds the options, the faces and the minor mode.  Loading
;; it does nothing visible: the module is loaded at its first use, and
;; each surface is a file of its own that is loaded when it is called.
;; It binds no global key; bind `passepartout-command-map' to a prefix:
;;
;;   (global-set-key (kbd "C-c p") 'passepartout-command-map)

;;; Code:

(eval-when-compile (require 'subr-x))

(defconst passepartout-version "0.1.0"
  "The version of Passepartout; the module must have the same one.")

;;;; Options

(defgroup passepartout nil
  "An agent that works on your Org files."
  :link '(info-link "(passepartout)Top")
  :group 'applications
  :group 'org
  :prefix "passepartout-")

(defcustom passepartout-directories nil
  "Folders whose Org files are the agent's memory.
The value nil stands for the folders of notes that your packages name:
`org-directory', and where they are there, `org-roam-directory',
`denote-directory' and the folders of vulpea.  A folder on another
machine is not read.  A change counts from the next start of the core
\(see `passepartout-restart')."
  :type '(choice (const :tag "The folders that Org and its packages name" nil)
                 (repeat :tag "These folders" directory))
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-store nil
  "Folder that holds the memory.
The value nil stands for the folder passepartout in the state folder
of the XDG specification."
  :type '(choice (const :tag "The usual place" nil) directory)
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-project nil
  "Folder that the agent may read and write with its file and shell tools.
The value nil stands for the project of the chat's folder, as
`project-current' finds it, or a fresh scratch folder when there is
none."
  :type '(choice (const :tag "The project of the chat's folder" nil)
                 directory)
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-hosts nil
  "Cores that you connect to, for `passepartout-connect'.
Each is (NAME . ADDRESS).  NAME is what you call it, which stands in
chats with it and in the line of auth-source with its cookie.  ADDRESS
is HOST:PORT, with the loopback address of this machine for HOST, or
the file of a Unix socket, or a folder with a store; or HOST:PORT of
another machine, a blank and the fingerprint of the key of its core, as
the command passepartout clients shows it there."
  :type '(alist :key-type (string :tag "Name")
                :value-type (string :tag "HOST:PORT, socket or store"))
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-provider-cascade nil
  "Names of the model providers to try, in order.
The value nil leaves the choice to the core, which answers from memory
without any model unless its settings name one.  A name is either one
of \"openai\", \"anthropic\", \"gemini\", \"openrouter\", \"groq\",
\"deepseek\", \"nvidia\", \"mistral\", \"xai\", \"ollama\", \"llamacpp\"
and \"recall\", or one of `passepartout-providers'.

The key of a provider is looked up with auth-source: the host is the
provider's, the user is \"apikey\"."
  :type '(choice (const :tag "As the core chooses" nil)
                 (repeat string))
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-cascades nil
  "Names of the model providers to try, in order, by kind of work.
Each entry is (SLOT . NAMES).  SLOT is one of \"code\" (the question is
about programs), \"plan\" (about what to do when), \"chat\" (any other)
and \"background\" (nobody waits for it).  A slot without an entry has
`passepartout-provider-cascade', whose names these are as well.  The
trace says which rule chose whom (see `passepartout-gate-trace').
A change of this option counts from the next start of the core."
  :type '(alist :key-type (choice (const "code") (const "plan")
                                  (const "chat") (const "background"))
                :value-type (repeat string))
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-select-model-function nil
  "Function that chooses which providers are asked for one request, or nil.
It is called with a plist:

:slot       the kind of work, \"code\", \"plan\", \"chat\" or
            \"background\"
:text       the first 2000 characters of what you typed
:private    non-nil when nothing of it may leave this machine
:providers  those who may be asked, in order, each a plist of :name,
            :model, :place (\"local\", \"remote\" or \"builtin\") and
            :demoted (non-nil when it failed lately)

It returns a list of names out of these: they are asked, in this order,
and the others are passed over.  Behind a name may stand a slash and
the model that is asked of it, \"ollama/qwen3\".  With nil all are asked
as they stand; with the symbol `skip' nobody is, and you are told so.
It cannot choose anybody else: what is private stays on this machine
whatever it returns.  Emacs waits for it while it runs, and the core
does so for two seconds; then, and when it fails, the order stays, and
the trace says so (see `passepartout-gate-trace').  The default value
counts, at once."
  :type '(choice (const :tag "The order as it stands" nil) function)
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-providers nil
  "Model providers beyond the built-in ones.
Each entry is (NAME . PLIST).  PLIST has these keys:

:kind    one of \"openai\", \"openai-responses\", \"anthropic\",
         \"gemini\", \"ollama\", \"openrouter\", \"mistral\" and
         \"xai\": the protocol that it speaks
:url     the base address of its interface
:model   the name of the model
:local   non-nil declares that it runs on this machine, so that
         private notes may reach it; only a Unix socket or a loopback
         address can be local
:effort  one of \"none\", \"minimal\", \"low\", \"medium\", \"high\" and
         \"max\": how hard the model thinks

`passepartout-define-provider' sets one in a core that is running."
  :type '(alist :key-type (string :tag "Name")
                :value-type (plist :tag "Settings"
                                   :options ((:kind string)
                                             (:url string)
                                             (:model string)
                                             (:local boolean)
                                             (:effort string))))
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-picture-models nil
  "Models that take pictures, each by the name that its provider has for it.
Of the models of some makers that is known; one that nobody says it of
is sent none, and the question with a picture is not asked of it."
  :type '(repeat (string :tag "Model"))
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-presets nil
  "Presets that you defined in Lisp, beside those of the file presets.org.
Each entry is (NAME . PLIST) with the keys :model, :tools, :prompt,
:tokens and :usd, each a string; set it with
`passepartout-define-preset'."
  :type '(alist :key-type (string :tag "Name")
                :value-type (plist :tag "Settings" :value-type string))
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-connect-timeout 5
  "Seconds until a connection to a model provider must stand.
A change of this and of the next six options counts from the next
start of the core (see `passepartout-restart')."
  :type 'natnum
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-request-timeout 60
  "Seconds until a model provider must begin to answer."
  :type 'natnum
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-stall-timeout 30
  "Seconds for which a model provider may be silent within an answer."
  :type 'natnum
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-answer-timeout 1800
  "Seconds that a whole answer of a model provider may take."
  :type 'natnum
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-embedding-timeout 120
  "Seconds that an embedding server may take for all texts of one request.
How long it may take to connect, to begin, and be silent is said by
`passepartout-connect-timeout' and the options behind it."
  :type 'natnum
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-request-tries 3
  "How often a model provider is asked for one answer while it is overloaded.
It is asked again only before it has said anything."
  :type 'natnum
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-retry-wait 20
  "The longest wait, in seconds, before an overloaded provider is asked again.
When it wants a longer one, the next provider is asked at once."
  :type 'natnum
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-consensus nil
  "How many models are asked at once, by kind of work.
Each entry is (SLOT . COUNT); the slots are those of
`passepartout-cascades'.  What most of them want done is followed, and
goes through the same gates as anything; see
`passepartout-chat-consensus'.  A slot without an entry asks one.
A change of this and of the next option counts from the next start of
the core (see `passepartout-restart')."
  :type '(alist :key-type (choice (const "code") (const "plan")
                                  (const "chat") (const "background"))
                :value-type natnum)
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-consensus-timeout 120
  "Seconds for which several models that are asked at once are waited for.
Who is not done by then has no vote."
  :type 'natnum
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-background-timeout 600
  "Seconds that a run of a job, or a task that was handed over, may take.
What is not done by then is ended, and said to be."
  :type 'natnum
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-session-budget nil
  "How many US dollars models may cost in one conversation; nil for no cap.
What would go beyond it is not sent.  Prices stand in the file prices.org
of the settings folder, and in a table that is shipped."
  :type '(choice (const :tag "No cap here" nil) (number :tag "Dollars"))
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-day-budget nil
  "How many US dollars models may cost in one day; nil for no cap."
  :type '(choice (const :tag "No cap here" nil) (number :tag "Dollars"))
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-background-budget nil
  "How many US dollars background work may cost in one day; nil for no cap.
It counts towards `passepartout-day-budget' as well."
  :type '(choice (const :tag "No cap here" nil) (number :tag "Dollars"))
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-unpriced-calls nil
  "How many calls of unknown price are made in one day; nil for any number.
With 0 a model whose price stands in no table is not asked.  Without a
number such calls are counted, and stand against no cap in dollars."
  :type '(choice (const :tag "Any number" nil) natnum)
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-embedding-backend nil
  "What makes vectors of your notes, to find them by their meaning.
The value nil leaves the choice to the core, which finds notes by their
words and spelling alone unless its settings name a backend.

hashing  vectors of spelling, made without a model; they are of little
         use beside the search for words
local    Ollama, at `passepartout-embedding-url' or on this machine
openai   any server that speaks OpenAI's protocol for embeddings

A server that is not on this machine is sent nothing before you confirm
it, and private notes never; see the manual."
  :type '(choice (const :tag "As the core chooses" nil)
                 (const hashing) (const local) (const openai))
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-embedding-model nil
  "The model that makes vectors, or nil for the usual one of the backend.
With another model all vectors are made anew."
  :type '(choice (const :tag "The backend's own" nil) string)
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-embedding-url nil
  "Where the server is that makes vectors, or nil for the backend's own.
Its key is looked up with auth-source: the host is the server's, the
user is \"apikey\"."
  :type '(choice (const :tag "The backend's own" nil) string)
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-permissions nil
  "What the agent's tools may do.
Each entry is (TOOL . LEVEL): LEVEL allow lets the tool pass this
gate, ask asks you each time, deny refuses it, and auto lets the other
gates decide.  A tool that is not named keeps its default."
  :type '(alist :key-type (string :tag "Tool")
                :value-type (choice (const allow) (const ask)
                                    (const deny) (const auto)))
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-privacy-tags '("private")
  "Tags that make notes private, and how private.
Each entry is a TAG, whose notes never reach a provider that is not
local, or (TAG . TIER).  TIER block says the same; ask keeps the notes
back, too, until you let them go in a conversation; warn sends them,
and says and counts each time that it did.  The strictest tag of a
heading and of those above it counts."
  :type '(repeat (choice (string :tag "Tag that blocks")
                         (cons :tag "Tag with a tier"
                               (string :tag "Tag")
                               (choice (const block) (const ask)
                                       (const warn)))))
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defun passepartout-private-tiers ()
  "Return `passepartout-privacy-tags' as an alist of tags and tiers.
What is neither a tag nor a tag with a tier is an error."
  (let ((tags (default-value 'passepartout-privacy-tags)))
    (unless (listp tags)
      (user-error "Customize `passepartout-privacy-tags': it is a list of \
tags, not %S" tags))
    (mapcar
     (lambda (entry)
       (pcase entry
         ((pred stringp) (cons entry 'block))
         (`(,(and (pred stringp) tag) . ,(and (or 'block 'ask 'warn) tier))
          (cons tag tier))
         (_ (user-error "Customize `passepartout-privacy-tags': %S is no tag; \
write \"tag\", or (\"tag\" . block), ask or warn in the place of block"
                        entry))))
     tags)))

(defcustom passepartout-untrusted-folders nil
  "Folders whose files came from elsewhere: downloads, captured pages.
Once the agent has read one of them in a conversation, every act of it
that reaches out of that conversation asks you."
  :type '(repeat directory)
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-skills-directories nil
  "Folders of skills that come from elsewhere, such as a git clone.
Each skill of them, and each change of one, waits until you were shown
it whole and confirmed it: see `passepartout-skills'.  Your own skills
lie in the folder \"skills\" of Passepartout's settings."
  :type '(repeat directory)
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-trusted-remotes nil
  "Remotes of git repositories that are your own.
Each is an address or its beginning, such as \"github.com/me\".  Files
of a repository with any other remote count as from elsewhere; the
repository that your notes are kept in does not."
  :type '(repeat string)
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-allowed-hosts nil
  "Hosts whose pages the agent may fetch without asking you.
\"example.org\" is that host alone, \".example.org\" all hosts below
it; every other host asks.  What came from elsewhere, or from private
notes, asks all the same."
  :type '(repeat string)
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-module-file nil
  "File of the compiled module.
The value nil looks beside the package, in the folders .build and
target, and into the cache, where one is that was built or fetched."
  :type '(choice (const :tag "Beside the package" nil) file)
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-module-install 'ask
  "What is done when a command wants the module and it is not there.
With `ask' you are asked once in a session; with `build' it is built
with cargo, and with `fetch' the one that a release names is fetched,
where that can be done; with `never' the command says what is missing."
  :type '(choice (const :tag "Ask once in a session" ask)
                 (const :tag "Build it" build)
                 (const :tag "Fetch it" fetch)
                 (const :tag "Say what is missing" never))
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-chat-directory nil
  "Folder in which new chats are saved.
The value nil leaves a new chat without a file until you save it."
  :type '(choice (const :tag "Nowhere until I save" nil) directory)
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-chat-go-on nil
  "Whether point goes to the next question when an answer has ended.
With nil point and scroll are never moved, and `passepartout-chat-send'
goes there when you want it.  Else point goes there only if you gave no
command since you sent, and only if the place is in view; the window
never scrolls for it.  Where the place is not in view, point goes there
when you begin to type, unless you have done anything but scroll since
you sent."
  :type 'boolean
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-header-line t
  "Whether a chat has a header line: who answers, what goes on, what it took.
It counts for chats that are opened after it was set."
  :type 'boolean
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-mode-line t
  "Whether mode lines say what the agent looks at, what goes on, what waits."
  :type 'boolean
  :set (lambda (option value)
         (set-default option value)
         (when (fboundp 'passepartout-status--show)
           (passepartout-status--show)))
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-chat-code-languages
  '("ada" "asm" "awk" "bash" "c" "C" "c++" "C++" "clojure" "cmake" "conf"
    "cpp" "csharp" "css" "diff" "dockerfile" "elisp" "elixir" "emacs-lisp"
    "erlang" "fortran" "go" "haskell" "html" "java" "javascript" "js"
    "json" "julia" "kotlin" "latex" "lisp" "lua" "makefile" "nix" "ocaml"
    "perl" "php" "python" "R" "ruby" "rust" "scala" "scheme" "scss" "sed"
    "sh" "shell" "sql" "swift" "toml" "typescript" "xml" "yaml" "zig")
  "Languages whose source blocks are coloured in a chat.
To colour a block, Org calls the major mode that the block names.  In
a chat only the modes of these languages are called, because the name
may be of the model's making."
  :type '(repeat string)
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-plan-hours nil
  "Hours for which a flight plan waits for you before it expires.
The value nil stands for what the variable PLAN_HOURS of the environment
says, else for 24.  A change counts from the next start of the core (see
`passepartout-restart')."
  :type '(choice (const :tag "A day" nil) natnum)
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-listen nil
  "Where programs can connect to the core by the network.
With nil nowhere; with t at port 9105 of the loopback interface, or a
string with an address and a port, such as \"127.0.0.1:9200\".  At an
address that other machines reach, only clients come in whose keys you
let in at a terminal (passepartout clients allow), by TLS.  Who
connects needs the cookie in the folder of the store, reads what is open
and proposes; see `passepartout-clients'.  A change counts from the next
start of the core (see
`passepartout-restart')."
  :type '(choice (const :tag "Nowhere" nil) (const :tag "Port 9105" t)
                 (string :tag "Address and port"))
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-telegram nil
  "Whether a token of a Telegram bot is looked for in auth-source.
Its host is api.telegram.org.  Nothing is sent there before you link the
messenger in `passepartout-gateways'.  It counts from the next start of
the core."
  :type 'boolean
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-mcp-servers nil
  "MCP servers whose tools are lent to models.
Each is (NAME :command (PROGRAM ARGUMENT...) ...) with a NAME of small
letters and digits.  The program runs confined, with what stands here and
nothing else: `:folder' is where it runs, which it may write with
`:write' t, `:read' lists further folders, `:hosts' what it reaches, and
`:environment' has (VARIABLE . VALUE), with t as VALUE for what Emacs's
own environment says.

Each call is judged as one that runs a program (`execute'), or with
hosts as one that sends something off (`network'); `:effect' says
otherwise for all its tools, and `:effects' for some, as (TOOL . read).
What the server says of its tools does not count.  `:seconds' is how
long a call may take.

The tools of a server wait until you were shown all of them and
confirmed them, and wait again when they change: see
`passepartout-servers'.  A change counts from the next start of the core
\(see `passepartout-restart')."
  :type '(alist :key-type symbol :value-type plist)
  :risky t
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-dry-run t
  "Whether a command that waits for you is tried out first.
What it writes is thrown away; there is no network for it and nothing
secret.  What came of it stands in the flight plan.  A change
counts from the next start of the core (see `passepartout-restart')."
  :type 'boolean
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-approval-delay 1.0
  "Seconds for which a plan that has just appeared cannot be approved.
A key that was meant for something else then approves nothing."
  :type 'number
  :package-version '(passepartout . "0.1.0"))

(autoload 'passepartout-plan-agenda-insert "passepartout-plan-agenda")

(defcustom passepartout-plan-agenda nil
  "Whether Org's agenda begins with the flight plans that wait.
\\<org-agenda-mode-map>\\[org-agenda-switch-to] on one goes to it.  The \
agenda waits for nothing: it has what
Emacs knows when it is made.  When you set this with `setq', do so
before Passepartout is loaded."
  :type 'boolean
  :set (lambda (option value)
         (set-default option value)
         (if value
             (add-hook 'org-agenda-finalize-hook
                       #'passepartout-plan-agenda-insert)
           (remove-hook 'org-agenda-finalize-hook
                        #'passepartout-plan-agenda-insert)))
  :package-version '(passepartout . "0.1.0"))

(defcustom passepartout-notify nil
  "Whether the desktop says that a plan waits for you or a job has ended.
It does so by D-Bus, while no frame of this Emacs has the focus.  With t
it says that and no more; with `titles' also the title of the plan or
the job, which others may read on your screen.  The text of a plan is
never said there."
  :type '(choice (const :tag "No" nil)
                 (const :tag "Without titles" t)
                 (const :tag "With titles" titles))
  :package-version '(passepartout . "0.1.0"))

;;;; Faces

(defface passepartout-good '((t :inherit success))
  "Face for what passed or is healthy.")

(defface passepartout-attention '((t :inherit warning))
  "Face for what asks for your attention.")

(defface passepartout-bad '((t :inherit error))
  "Face for what was denied, failed or is broken.")

(defface passepartout-quiet '((t :inherit shadow))
  "Face for what is there when you look for it.")

(defface passepartout-literal '((t :inherit fixed-pitch))
  "Face for text that is shown exactly as it stands.")

(defface passepartout-rewrite
  '((((class color) (min-colors 88) (background dark))
     :background "#26303c" :extend t)
    (((class color) (min-colors 88) (background light))
     :background "#eaf1f8" :extend t)
    (t :inherit secondary-selection))
  "Face for a text that is being rewritten.")

(defface passepartout-title '((t :inherit outline-1))
  "Face for the headings of Passepartout's buffers.")

(defface passepartout-subtitle '((t :inherit outline-2))
  "Face for the lower headings of Passepartout's buffers.")

;;;; Errors, a tree; the module signals the same symbols

(define-error 'passepartout-error "Passepartout")
(define-error 'passepartout-module-error
  "Passepartout's module" 'passepartout-error)
(define-error 'passepartout-not-running
  "Passepartout's core is not running" 'passepartout-error)
(define-error 'passepartout-start-error
  "Passepartout's core cannot start" 'passepartout-error)
(define-error 'passepartout-panic
  "A fault inside Passepartout's module" 'passepartout-error)
(define-error 'passepartout-protocol-error
  "A message that cannot be read" 'passepartout-error)
(define-error 'passepartout-pipeline-error
  "A turn failed" 'passepartout-error)
(define-error 'passepartout-model-error
  "No model answered" 'passepartout-pipeline-error)
(define-error 'passepartout-gate-error
  "A gate rejected the action" 'passepartout-pipeline-error)
(define-error 'passepartout-budget-error
  "The budget does not suffice" 'passepartout-pipeline-error)

(defun passepartout-error-text (problem)
  "Return what the error PROBLEM says, as a sentence.
`error-message-string' writes the texts of our errors as Lisp."
  (let ((what (get (car problem) 'error-message))
        (said (mapconcat (lambda (part) (format "%s" part))
                         (cdr problem) ": ")))
    (cond ((not (memq 'passepartout-error
                      (get (car problem) 'error-conditions)))
           (error-message-string problem))
          ;; It is a sentence by itself.
          ((eq (car problem) 'passepartout-module-error) said)
          ((string-empty-p said) (substitute-command-keys what))
          (t (concat (substitute-command-keys what) ": " said)))))

;;;; Surfaces, each in its file

(autoload 'passepartout-chat "passepartout-chat"
  "Talk to the agent in an Org buffer." t)
(autoload 'passepartout-chat-open "passepartout-chat"
  "Open a saved chat." t)
(autoload 'passepartout-chat-mode "passepartout-chat"
  "Minor mode of an Org buffer that is a chat." t)
(autoload 'passepartout-chat-adopt "passepartout-chat")
(autoload 'passepartout-chat-question "passepartout-chat")
(autoload 'passepartout-chat-older-answer "passepartout-chat-older")
(autoload 'passepartout-chat-guard-install "passepartout-chat-guard")
(autoload 'passepartout-chat-add "passepartout-chat-add"
  "Let what is here go along with the next question of a chat." t)
(autoload 'passepartout-chat-add-region "passepartout-chat-add"
  "Let the region go along with the next question of a chat." t)
(autoload 'passepartout-chat-add-buffer "passepartout-chat-add"
  "Let this buffer go along with the next question of a chat." t)
(autoload 'passepartout-chat-add-file "passepartout-chat-add"
  "Let a file go along with the next question of a chat." t)
(autoload 'passepartout-chat-add-subtree "passepartout-chat-add"
  "Let the subtree at point go along with the next question of a chat." t)
(autoload 'passepartout-chat-add-agenda "passepartout-chat-add"
  "Let the agenda go along with the next question of a chat." t)
(autoload 'passepartout-chat-along-show "passepartout-chat-add"
  "Show what goes along by the line at point." t)
(autoload 'passepartout-chat-along-remove "passepartout-chat-add"
  "Take what goes along by the line at point out of the question." t)
(autoload 'passepartout-chat-add-keep "passepartout-chat-add")
(autoload 'passepartout-chat-add-take "passepartout-chat-add")
(autoload 'passepartout-menu "passepartout-menu"
  "Show how things stand, and reach every command with a key." t)
(autoload 'passepartout-menu-more "passepartout-menu"
  "Reach the commands that are wanted less often." t)
(autoload 'passepartout-flight-plans "passepartout-plan"
  "Show the plans that wait for you." t)
(autoload 'passepartout-next-plan "passepartout-plan"
  "Go to the next plan that waits." t)
(autoload 'passepartout-previous-plan "passepartout-plan"
  "Go to the previous plan that waits." t)
(autoload 'passepartout-gate-trace "passepartout-trace"
  "Show what the gates said about the last actions." t)
(autoload 'passepartout-why "passepartout-trace"
  "Explain the decision at point, or the last one, in plain words." t)
(autoload 'passepartout-rules "passepartout-rules"
  "Show what may happen without asking, and what wants to." t)
(autoload 'passepartout-clients "passepartout-clients"
  "Show which programs are connected, and what each may do." t)
(autoload 'passepartout-jobs "passepartout-jobs"
  "Show the headings that want work done by themselves." t)
(autoload 'passepartout-jobs-agenda "passepartout-jobs"
  "Return what is due by cron lines on the day of the agenda.")
(autoload 'passepartout-servers "passepartout-servers"
  "Show the MCP servers, how each stands, and which tools it lends." t)
(autoload 'passepartout-gateways "passepartout-gateways"
  "Show the messengers, how each stands, and who may write by it." t)
(autoload 'passepartout-gateway-pair "passepartout-gateways"
  "Show a code for the person whom you want to let in." t)
(autoload 'passepartout-context "passepartout-context"
  "Show which notes a model would be told of now, and why." t)
(autoload 'passepartout-context-marks-mode "passepartout-context"
  "Mark in the fringe which headings a model would be told of now." t)
(autoload 'passepartout-inspect "passepartout-inspect"
  "Show the request that was sent to a model last, byte for byte." t)
(autoload 'passepartout-identity "passepartout-context"
  "Open the file that says who the agent is." t)
(autoload 'passepartout-cassette-record "passepartout-cassette"
  "Record what is sent to models and what they answer in a new file." t)
(autoload 'passepartout-cassette-stop "passepartout-cassette"
  "End the recording, and say what is on the cassette." t)
(autoload 'passepartout-costs "passepartout-costs"
  "Show what calls of models cost, and how much of each cap is used." t)
(autoload 'passepartout-define-provider "passepartout-provider"
  "Let NAME, a string, be a model provider, and return NAME.")
(autoload 'passepartout-define-preset "passepartout-provider"
  "Let NAME, a string, be a preset, and return NAME.")
(autoload 'passepartout-set-cascade "passepartout-provider"
  "Let the providers NAMES be asked in this order." t)
(autoload 'passepartout-define-tool "passepartout-tools"
  "Give the agent a tool of your own, called NAME.")
(autoload 'passepartout-undefine-tool "passepartout-tools"
  "Take the tool NAME of your own away from the agent." t)
(autoload 'passepartout-repl "passepartout-repl"
  "Evaluate Lisp in a confined Emacs." t)
(autoload 'passepartout-preset "passepartout-provider"
  "Give the conversation of this chat a preset." t)
(autoload 'passepartout-models "passepartout-models"
  "Show the providers in their order, and the models of each." t)
(autoload 'passepartout-skills "passepartout-skills"
  "Show the skills." t)
(autoload 'passepartout-new-skill "passepartout-skills"
  "Begin a new skill." t)
(autoload 'passepartout-skill-test "passepartout-skills"
  "Test a skill." t)
(autoload 'passepartout-memory-log "passepartout-memory"
  "Show what moved memory, newest first." t)
(autoload 'passepartout-undo "passepartout-memory"
  "Show what undoing the agent's last changes would do, and ask." t)
(autoload 'passepartout-undo-setting "passepartout-settings"
  "Propose to put back the setting that the agent changed last." t)
(autoload 'passepartout-redo "passepartout-memory"
  "Show what doing again what was undone last would do, and ask." t)
(autoload 'passepartout-blame "passepartout-memory"
  "Say who wrote or changed the heading at point, when and why." t)
(autoload 'passepartout-log "passepartout-log"
  "Show the log." t)
(autoload 'passepartout-doctor "passepartout-doctor"
  "Say what works, what does not, and how to repair it." t)
(autoload 'passepartout-manual "passepartout-manual"
  "Read the manual, in Info or else as an Org file." t)
(autoload 'passepartout-setup "passepartout-setup"
  "Ask what Passepartout needs to know at first, and save it." t)
(autoload 'passepartout-welcome "passepartout-welcome"
  "Show how many headings were read, and what to do next." t)
(autoload 'passepartout-welcome-at-first "passepartout-welcome")
(autoload 'passepartout-welcome-make-room "passepartout-welcome")
(autoload 'passepartout-welcome-tour "passepartout-welcome"
  "Watch the recorded tour, in an Emacs of its own." t)
(autoload 'passepartout-status "passepartout-status"
  "Say in one line what the agent is doing." t)
(autoload 'passepartout-focus "passepartout-focus"
  "Narrow what the agent looks at." t)
(autoload 'passepartout-unfocus "passepartout-focus"
  "Take the last step of the focus back." t)
(autoload 'passepartout-scope "passepartout-focus"
  "Choose how far the agent looks." t)
(autoload 'passepartout-focus-set "passepartout-focus"
  "Set something for as long as the focus lasts." t)
(autoload 'passepartout-endorse "passepartout-focus"
  "Vouch for the heading at point, which came from elsewhere." t)
(autoload 'passepartout-rescan "passepartout-status"
  "Read the memex again." t)
(autoload 'passepartout-ask "passepartout-ask"
  "Ask from anywhere, and be answered in a popup." t)
(autoload 'passepartout-explain "passepartout-ask"
  "Have what is at point explained." t)
(autoload 'passepartout-summarize-buffer "passepartout-ask"
  "Have the buffer summarized." t)
(autoload 'passepartout-organize-subtree "passepartout-ask"
  "Have an order proposed for the headings of the subtree at point." t)
(autoload 'passepartout-rewrite "passepartout-rewrite"
  "Have the region or what is at point rewritten." t)
(autoload 'passepartout-embark-set-up "passepartout-elsewhere")
(autoload 'passepartout-context-menu "passepartout-elsewhere")
(autoload 'passepartout-add-speed-commands "passepartout-elsewhere")
(autoload 'passepartout-capture-template "passepartout-elsewhere")
(autoload 'passepartout-capture-question "passepartout-elsewhere")
(autoload 'passepartout-find "passepartout-find"
  "Find a heading of memory and go there." t)
(autoload 'passepartout-query "passepartout-query"
  "Show the headings that fit a query in a buffer." t)
(autoload 'passepartout-list-bookmark-jump "passepartout-list")
(autoload 'passepartout-query-bookmark-jump "passepartout-query")
(autoload 'passepartout-query-insert-block "passepartout-query-block"
  "Insert a dynamic block that holds what fits a query." t)
(autoload 'org-dblock-write:passepartout-query "passepartout-query-block")
(autoload 'passepartout-connect "passepartout-connect"
  "Have all commands of Passepartout mean the core at WHERE." t)
(autoload 'passepartout-disconnect "passepartout-connect"
  "Have all commands of Passepartout mean the core of this Emacs." t)
(autoload 'passepartout-restart "passepartout-events"
  "Stop the core and start it again." t)
(autoload 'passepartout-stop "passepartout-events"
  "Stop the core." t)
(autoload 'passepartout-module-build "passepartout-install"
  "Build the module with cargo." t)
(autoload 'passepartout-module-fetch "passepartout-install"
  "Fetch the module that was built for this version and machine." t)
(autoload 'passepartout-sense-start "passepartout-sense")
(autoload 'passepartout-sense-stop "passepartout-sense")
(autoload 'passepartout-sense-suitable-p "passepartout-sense")

;;;; What desktop brings back

(autoload 'passepartout-view-desktop-restore "passepartout-view")

;; These belong to Emacs, which looks there before a mode is loaded.
;;;###autoload
(progn
  (dolist (mode '(passepartout-view-mode passepartout-plan-mode
                  passepartout-trace-mode passepartout-memory-mode
                  passepartout-context-mode passepartout-costs-mode
                  passepartout-models-mode passepartout-skills-mode
                  passepartout-rules-mode passepartout-jobs-mode
                  passepartout-clients-mode passepartout-servers-mode
                  passepartout-gateways-mode))
    (add-to-list 'desktop-buffer-mode-handlers
                 (cons mode 'passepartout-view-desktop-restore)))
  (add-to-list 'desktop-minor-mode-handlers
               '(passepartout-chat-mode . passepartout-desktop-chat))
  (add-to-list 'desktop-minor-mode-handlers
               '(passepartout-mode . passepartout-desktop-mode)))

;;;###autoload
(defun passepartout-desktop-chat (_variables)
  "Make the current buffer, which desktop brought back, a chat again.
What is wrong with it does not keep desktop from going on."
  (condition-case problem
      (passepartout-chat-adopt)
    (error (passepartout--complain problem))))

;;;###autoload
(defun passepartout-desktop-mode (_variables)
  "Turn on `passepartout-mode' in a buffer that desktop brought back.
What is wrong with it does not keep desktop from going on."
  (condition-case problem
      (passepartout-mode 1)
    (error (passepartout--complain problem))))

;;;; Keys

;;;###autoload (autoload 'passepartout-command-map "passepartout" nil nil 'keymap)
(defvar passepartout-command-map
  (let ((map (make-sparse-keymap)))
    ;; `which-key' shows the word in front of a command.
    (dolist (binding
             '(("c" "chat" . passepartout-chat)
               ("o" "open a chat" . passepartout-chat-open)
               ("p" "plans" . passepartout-flight-plans)
               ("N" "next plan" . passepartout-next-plan)
               ("t" "trace" . passepartout-gate-trace)
               ("y" "why" . passepartout-why)
               ("a" "rules" . passepartout-rules)
               ("j" "jobs" . passepartout-jobs)
               ("K" "skills" . passepartout-skills)
               ("l" "log" . passepartout-log)
               ("m" "memory log" . passepartout-memory-log)
               ("u" "undo" . passepartout-undo)
               ("U" "redo" . passepartout-redo)
               ("b" "blame" . passepartout-blame)
               ("d" "doctor" . passepartout-doctor)
               ("x" "context" . passepartout-context)
               ("i" "last request" . passepartout-inspect)
               ("$" "costs" . passepartout-costs)
               ("e" "models" . passepartout-models)
               (":" "Lisp, confined" . passepartout-repl)
               ("s" "status" . passepartout-status)
               ("r" "read notes again" . passepartout-rescan)
               ("n" "focus" . passepartout-focus)
               ("w" "focus back" . passepartout-unfocus)
               ("f" "find" . passepartout-find)
               ("q" "query" . passepartout-query)
               ("h" "ask" . passepartout-ask)
               ("A" "goes along" . passepartout-chat-add)
               ("E" "explain" . passepartout-explain)
               ("z" "summarize" . passepartout-summarize-buffer)
               ("R" "rewrite" . passepartout-rewrite)
               ("G" "organize" . passepartout-organize-subtree)
               ("?" "menu" . passepartout-menu))
             map)
      ;; Without `kbd', which loads what else only macros of keys need.
      (define-key map (car binding) (cdr binding))))
  "Keys of Passepartout's commands; bind it to a prefix of your choice.")
(fset 'passepartout-command-map passepartout-command-map)

;;;; Modes

(defvar passepartout--complained nil
  "The texts of the problems that have been shown in this session.")

(defun passepartout--complain (problem)
  "Show PROBLEM, an error or a text, unless it has been shown before."
  (let ((text (if (stringp problem) problem
                (passepartout-error-text problem))))
    (unless (member text passepartout--complained)
      (push text passepartout--complained)
      (display-warning 'passepartout text))))

(defun passepartout-remote-p (file)
  "Return non-nil when FILE is on another machine, however it is written.
Nothing is connected for this."
  (or (file-remote-p file)
      (file-remote-p (expand-file-name file))))

(defun passepartout-elsewhere (file option)
  "Return nil when FILE is on this machine.
Else say, once, that OPTION names what is on another one, and return
that."
  (when (passepartout-remote-p file)
    (let ((text (format "%s in %s is on another machine; Passepartout reads \
and writes files of this one alone" file option)))
      (passepartout--complain text)
      text)))

(defun passepartout--option-folders (option)
  "Return the folders that OPTION of another package names, as a list.
What a file sets for its own buffer does not count."
  (seq-filter (lambda (folder)
                (and (stringp folder) (not (string-empty-p folder))))
              (let ((value (and (default-boundp option)
                                (default-value option))))
                (if (listp value) value (list value)))))

(defun passepartout--note-folder-p (folder found)
  "Return non-nil when FOLDER of another package is one to read beside FOUND.
It has to be there, and outside of those; one that holds more than
notes, as your home, is none."
  (or (passepartout-remote-p folder)
      (and (file-directory-p folder)
           (not (member (file-name-as-directory (file-truename folder))
                        (list "/" (file-name-as-directory
                                   (file-truename "~")))))
           (not (seq-some (lambda (known)
                            (and (not (passepartout-remote-p (car known)))
                                 (file-in-directory-p folder (car known))))
                          found)))))

(defun passepartout--note-folders ()
  "Return where notes lie by what Org, org-roam, Denote and vulpea say.
Each is (FOLDER . OPTION)."
  (let* ((org (or (car (passepartout--option-folders 'org-directory)) "~/org"))
         (found (list (cons org 'org-directory))))
    (dolist (option '(org-roam-directory denote-directory
                      vulpea-db-sync-directories
                      vulpea-default-notes-directory))
      (dolist (folder (passepartout--option-folders option))
        (when (passepartout--note-folder-p folder found)
          (setq found
                (append (list (car found))
                        ;; One that lies in this folder is read with it.
                        (seq-remove (lambda (known)
                                      (not (or (passepartout-remote-p folder)
                                               (passepartout-remote-p
                                                (car known))
                                               (not (file-in-directory-p
                                                     (car known) folder)))))
                                    (cdr found))
                        (list (cons folder option)))))))
    ;; One that Org only assumes is no folder of notes where others are.
    (if (or (null (cdr found)) (passepartout-remote-p org)
            (file-directory-p org))
        found
      (cdr found))))

(defun passepartout--directories ()
  "Return the folders of the memex, absolute, as a list.
Those on another machine are left out, which is said once."
  (let ((set (default-value 'passepartout-directories)))
    (delq nil
          (mapcar (lambda (named)
                    (pcase-let ((`(,folder . ,option) named))
                      (unless (passepartout-elsewhere folder option)
                        (directory-file-name (expand-file-name folder)))))
                  (if set
                      (mapcar (lambda (folder)
                                (cons folder 'passepartout-directories))
                              set)
                    (passepartout--note-folders))))))

(defun passepartout--in-memex-p (file)
  "Return non-nil when FILE lies in a folder of the memex."
  (let ((file (file-truename file)))
    (seq-some (lambda (directory)
                (string-prefix-p
                 (file-name-as-directory (file-truename directory)) file))
              (passepartout--directories))))

;;;###autoload
(define-minor-mode passepartout-mode
  "Let Passepartout follow your work in this Org buffer.
Changed ranges and the heading at point go to the agent's memory."
  :lighter " PP"
  :group 'passepartout
  (if passepartout-mode
      (let ((obstacle (passepartout-sense-suitable-p)))
        (when obstacle
          (setq passepartout-mode nil)
          (user-error "%s" obstacle))
        (condition-case problem
            (passepartout-sense-start)
          (error
           (setq passepartout-mode nil)
           (passepartout--complain problem)))
        (when passepartout-mode
          (add-hook 'org-mode-hook #'passepartout--again 90 t)))
    (remove-hook 'org-mode-hook #'passepartout--again t)
    (passepartout-sense-stop)))

(defun passepartout--again ()
  "Follow a buffer again in which Org mode began anew.
Org forgets every mode of a buffer then."
  (unless (or passepartout-mode
              (passepartout--chat-p)
              (passepartout-sense-suitable-p))
    (passepartout-mode 1)))

;; Emacs keeps it where a major mode begins, and drops all others.
(put 'passepartout--again 'permanent-local-hook t)

(defun passepartout--chat-p ()
  "Return non-nil when the current buffer is a chat, open or saved."
  (or (bound-and-true-p passepartout-chat-mode)
      (save-excursion
        (save-restriction
          (widen)
          (goto-char (point-min))
          (let ((case-fold-search t))
            (re-search-forward "^:PP_CHAT:[ \t]+[^ \t\n]"
                               (min (point-max) 2000) t))))))

;;;###autoload
(defun passepartout-chat-buffer-p (buffer)
  "Return non-nil when BUFFER is a chat, for `project-kill-buffer-conditions'."
  (and (buffer-local-boundp 'passepartout-chat-mode buffer)
       (buffer-local-value 'passepartout-chat-mode buffer)))

(defun passepartout--turn-on ()
  "Turn on `passepartout-mode' in an Org file of the memex.
A chat is not a file of notes, and is left alone."
  (when (and (derived-mode-p 'org-mode)
             buffer-file-name
             (not (buffer-base-buffer))
             (not (file-remote-p buffer-file-name))
             (passepartout--in-memex-p buffer-file-name)
             (not (passepartout--chat-p))
             (not (passepartout-sense-suitable-p)))
    (passepartout-mode 1)))

(defun passepartout--adopt-chat ()
  "Turn on `passepartout-chat-mode' in an Org buffer that is a saved chat.
This runs before Emacs looks at the local variables of the file, so
that those of a chat are never used."
  (when (passepartout--chat-p)
    (passepartout-chat-adopt)))

;;;###autoload
(define-globalized-minor-mode passepartout-global-mode
  passepartout-mode passepartout--turn-on
  :group 'passepartout
  (if passepartout-global-mode
      (progn
        (add-hook 'org-mode-hook #'passepartout--adopt-chat)
        ;; Org reads the keywords of a file before its hook runs.
        (with-eval-after-load 'org
          (when passepartout-global-mode
            (passepartout-chat-guard-install))))
    (remove-hook 'org-mode-hook #'passepartout--adopt-chat)))

(provide 'passepartout)
;;; passepartout.el ends here
