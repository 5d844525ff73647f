#!/bin/sh
# Times keys, from outside of Emacs to the screen, while the agent works: test/bench/felt.el says how and of what.
#
#   test/scripts/smooth.sh [PARTS]      rows by parts of their names: “tty stream large,load”; without them all
#
# PASSEPARTOUT_MODULE=FILE   another module than the release build
# EMACS=PROGRAM              the Emacs in the terminal
# EMACS_GRAPHIC=PROGRAM      one with frames, such as Debian's emacs-lucid; else EMACS, where it has them
# GPTEL=FOLDER[:FOLDER…]     where gptel lies, and what it needs (compat); without it gptel is left out
# The variables that begin with FELT_ stand in test/bench/felt.el. Status 1: a promise was missed.
set -eu
cd "$(dirname "$0")/../.."

emacs=${EMACS:-emacs}
graphic=${EMACS_GRAPHIC:-$emacs}
if [ -z "${PASSEPARTOUT_MODULE:-}" ]; then
    "${CARGO:-cargo}" build --release --locked
    PASSEPARTOUT_MODULE=$(ls "$PWD/$(test/scripts/place.sh release)"/libpassepartout.*)
fi
SMOOTH_LISP=$(test/scripts/lisp.sh)
FELT_TTY=$(command -v "$emacs")
export PASSEPARTOUT_MODULE SMOOTH_LISP FELT_TTY

displays=
if command -v tmux >/dev/null 2>&1; then displays=tty; else echo "Skipped: a terminal, because tmux is missing."; fi
missing=
for program in Xvfb xdotool; do command -v $program >/dev/null 2>&1 || missing="$missing $program"; done
if [ -n "$missing" ]; then
    echo "Skipped: a graphic frame, because of what is missing:$missing."
elif ! "$graphic" -Q --batch --eval "(kill-emacs (if (fboundp 'x-create-frame) 0 1))"; then
    echo "Skipped: a graphic frame, because $graphic shows none; set EMACS_GRAPHIC to one that does."
else
    displays="$displays x"
    FELT_X=$(command -v "$graphic")
    export FELT_X
fi
if [ -n "${GPTEL:-}" ]; then
    FELT_GPTEL=$GPTEL
    export FELT_GPTEL
else
    echo "Skipped: gptel beside it, because GPTEL names no folder."
fi
FELT_DISPLAYS=${FELT_DISPLAYS:-$displays}
FELT_ONLY=${1:-}
export FELT_DISPLAYS FELT_ONLY

# What else runs on the machine is not what is measured: where it is allowed, it goes first.
first=
if nice -n -19 true 2>/dev/null; then first="nice -n -19"; fi
# shellcheck disable=SC2086
exec $first "$emacs" -Q --batch -l test/bench/felt.el -f felt-run
