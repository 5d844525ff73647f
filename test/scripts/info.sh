#!/bin/sh
# Exports docs/manual.org to Info, with its indices and a file dir that names it, into .build/info, and prints the folder.
set -eu
cd "$(dirname "$0")/../.."

to=.build/info
mkdir -p "$to"
draft=$(mktemp -d "$PWD/.build/draft-info-XXXXXX")
trap 'rm -rf "$draft"' EXIT
trap 'exit 130' INT TERM
TEXI=$draft/passepartout.texi "${EMACS:-emacs}" -Q --batch -l test/scripts/manual.el -f passepartout-info-write > "$draft/log" 2>&1 ||
    { cat "$draft/log" >&2; exit 1; }
# What makeinfo says without failing is a fault of the manual as well.
makeinfo --no-split -o "$draft/passepartout.info" "$draft/passepartout.texi" > "$draft/said" 2>&1 || { cat "$draft/said" >&2; exit 1; }
[ ! -s "$draft/said" ] || { cat "$draft/said" >&2; exit 1; }
# A package that brings a file of this name is found by Emacs's Info.
{
    printf 'This is the directory of Info nodes of one package.\n\n\037\n'
    printf 'File: dir,\tNode: Top\tThis is the top of the INFO tree\n\n* Menu:\n\nEmacs\n'
    printf '* Passepartout: (passepartout).         An agent that lives in Emacs.\n'
} > "$draft/dir"
for file in passepartout.texi passepartout.info dir; do mv "$draft/$file" "$to/$file"; done
printf '%s\n' "$to"
