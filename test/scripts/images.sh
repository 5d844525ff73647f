#!/bin/sh
# Takes the pictures of the documents anew, in docs/images: a real Emacs in a frame of Xvfb, over the demo memex.
#
#   test/scripts/images.sh [welcome chat plan menu]
#
# EMACS must be one with a graphic frame that exports PNG (28.2 or newer, with Cairo), such as Debian's emacs-lucid.
# PASSEPARTOUT_MODULE=FILE   another module than the one of “make build”
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
emacs=${EMACS:-emacs}

command -v Xvfb >/dev/null 2>&1 || { echo "Xvfb is missing; install it (Debian: xvfb), then try again." >&2; exit 1; }
"$emacs" -Q --batch --eval "(kill-emacs (if (fboundp 'x-export-frames) 0 1))" ||
    { echo "$emacs exports no pictures of frames; set EMACS to one with Cairo (Debian: emacs-lucid)." >&2; exit 1; }
module=${PASSEPARTOUT_MODULE:-$root/$(test/scripts/place.sh release)/libpassepartout.so}
test/scripts/demo.sh
lisp=$(test/scripts/lisp.sh)

scratch=$(mktemp -d)
Xvfb -displayfd 3 -screen 0 1000x700x24 -nolisten tcp 3> "$scratch/display" 2> "$scratch/xvfb.log" &
server=$!
trap 'kill $server 2>/dev/null || true; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
tries=0
until [ -s "$scratch/display" ]; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { cat "$scratch/xvfb.log" >&2; exit 1; }
    sleep 0.1
done

# An Emacs that was only unpacked has no linker for what it would compile behind our back.
uncompiled='(setq native-comp-deferred-compilation nil native-comp-jit-compilation nil
                  native-comp-enable-subr-trampolines nil comp-enable-subr-trampolines nil)'

[ $# -gt 0 ] || set -- welcome chat plan menu
for scene in "$@"; do
    world=$scratch/$scene
    mkdir -p "$world/state" "$world/config" "$world/cache" "$world/emacs" "$world/project"
    cp -r .build/demo-memex "$world/memex"
    git init -q "$world/project" 2>/dev/null || :
    (cd "$world/project" && env DISPLAY=":$(cat "$scratch/display")" XDG_STATE_HOME="$world/state" XDG_CONFIG_HOME="$world/config" \
        XDG_CACHE_HOME="$world/cache" PASSEPARTOUT_RUN_MEMEX="$world/memex" PASSEPARTOUT_RUN_WORLD="$world" \
        PASSEPARTOUT_RUN_MODULE="$module" PASSEPARTOUT_SCENE="$scene" PASSEPARTOUT_IMAGE="$scratch/$scene.png" \
        timeout 30 "$emacs" -Q --eval "$uncompiled" -L "$lisp" -l "$root/test/scripts/run.el" -l "$root/test/scripts/images.el" \
        > "$scratch/$scene.log" 2>&1) || true
    [ -s "$scratch/$scene.png" ] || { cat "$scratch/$scene.log" >&2; echo "There is no picture of the scene $scene." >&2; exit 1; }
    mv "$scratch/$scene.png" "docs/images/$scene.png"
    echo "docs/images/$scene.png"
done
