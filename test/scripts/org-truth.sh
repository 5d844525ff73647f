#!/bin/sh
# Asks Org 9.7 in Emacs 30.1 what it reads in the Org fixtures, and compares with the dump that the tests use.
#
#   test/scripts/org-truth.sh         compares; status 1 when the dump is not what Org says
#   test/scripts/org-truth.sh remake  writes the dump anew
#
# Status 3: Emacs 30.1 cannot be had here, and the reason was said.
set -eu
cd "$(dirname "$0")/../.."
emacs=$(test/scripts/emacs.sh 30.1)
dump=$PWD/test/fixtures/org-9.7.jsonl
lisp=$PWD/test/scripts/org-read.el
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd test/fixtures/org
# The order of names is that of bytes, whatever the locale.
LC_ALL=C ls > "$work/names"
# shellcheck disable=SC2046
TZ=UTC LC_ALL=C.UTF-8 "$emacs" -Q --batch -l "$lisp" -f org-read-run "$work/dump" $(cat "$work/names")
if [ "${1:-}" = remake ]; then
    cp "$work/dump" "$dump"
    echo "$(wc -l < "$dump") lines of $(wc -l < "$work/names") files are in ${dump##*/}."
elif cmp -s "$work/dump" "$dump"; then
    echo "Org says of $(wc -l < "$work/names") fixtures what the dump says."
else
    diff "$dump" "$work/dump" | head -n 20
    echo "Org says something else than test/fixtures/org-9.7.jsonl." >&2
    exit 1
fi
