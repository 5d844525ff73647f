# The one menu of commands, for people and for CI. `make help` lists them.
#
# MEMEX=DIR   the Org files that `make run` reads; without it, the demo memex
# PARTS=…     what of bench: launcher rust sense late smooth
# YES=1       install what is missing without asking

SHELL := /bin/sh
CARGO ?= cargo
EMACS ?= emacs
export CARGO EMACS YES MEMEX

.DEFAULT_GOAL := help
.PHONY: help build run demo-fresh info dist images test test-rust test-lisp lint gates soak bench agreement clean

help: ## Lists these commands
	@echo "Passepartout. Commands:"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22
	@echo "Options: MEMEX=DIR for run; PARTS=\"smooth\" for bench; YES=1 installs what is missing without asking."

build: ## Builds the release module, the launcher and the command line
	@test/scripts/need.sh rust cc
	@echo "Building; the first time takes some minutes."
	@$(CARGO) build --release --locked
	@echo "The module, the launcher and the command line “passepartout” are in $$(test/scripts/place.sh release)"

run: ## Installs what is missing, builds, reads a memex, opens the chat in Emacs
	@[ -z "$$MEMEX" ] || [ -d "$$MEMEX" ] || { echo "MEMEX=$$MEMEX is no folder." >&2; exit 1; }
	@test/scripts/need.sh rust cc emacs
	@echo "Building; the first time takes some minutes."
	@$(CARGO) build --release --locked
	@test/scripts/run.sh

demo-fresh: ## Puts the demo memex back to how it is shipped
	@rm -rf .build/demo-memex .build/demo-memex.sum

info: ## Makes the manual that Emacs's Info reads, in .build/info
	@test/scripts/need.sh emacs makeinfo
	@test/scripts/info.sh

dist: info ## Makes the package and what was built, with checksums, in .build/dist
	@test/scripts/need.sh rust cc
	@$(CARGO) build --release --locked
	@test/scripts/dist.sh module

images: ## Takes the pictures in docs/images anew (Xvfb and a graphic Emacs; EMACS names it)
	@test/scripts/images.sh

test: ## Installs what is missing and runs all tests
	@test/scripts/need.sh rust cc emacs sbcl tmux
	@test/scripts/test.sh fmt clippy rust lisp gates-quick

test-rust: ## Only the tests in Rust
	@test/scripts/test.sh rust

test-lisp: ## Only compiling, checking and testing the Lisp, in batch Emacs with the module
	@test/scripts/test.sh lisp

lint: ## Formatting, clippy, what Emacs and eask look at in the Lisp, the gates of the repository
	@test/scripts/test.sh fmt clippy lisp-compile lisp-checkdoc lisp-lint gates-source

gates: ## Dependencies, number of crates, cargo doc, typos, size and load time of the module
	@test/scripts/test.sh gates

soak: ## What takes long: properties, fuzz, kills, loads, other versions of Emacs
	@test/scripts/need.sh rust cc emacs
	@test/scripts/soak.sh $(STEPS)

bench: ## What is timed
	@test/scripts/bench.sh $(PARTS)

agreement: ## Compares with Emacs's own Org, and scores gates and recall on the corpora beside the project
	@test/scripts/agreement.sh

clean: ## Removes what was built
	@$(CARGO) clean
	@rm -rf .build
	@rm -f lisp/*.elc test/lisp/*.elc
