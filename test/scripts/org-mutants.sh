#!/bin/sh
# Makes up Org files from the fixtures, asks Org 9.7 what it reads in them, and compares with `passepartout dump`.
#
#   test/scripts/org-mutants.sh PROGRAM [COUNT] [SEED]
#
# Status 3: Emacs 30.1 cannot be had here. KEEP=DIR keeps the files and what both said.
set -eu
program=$1
count=${2:-3000}
seed=${3:-$(date +%s)}
cd "$(dirname "$0")/../.."
emacs=$(test/scripts/emacs.sh 30.1)
work=${KEEP:-$(mktemp -d)}
mkdir -p "$work/files"
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
"$emacs" -Q --batch -l test/scripts/org-mutants.el -f org-mutants-run "$work/files" "$count" "$seed" test/fixtures/org
"$emacs" -Q --batch -l test/scripts/org-mutants.el -f org-mutants-read "$work/truth" "$work/files" 2> "$work/broke" || true
"$program" dump "$work/files" --jsonl > "$work/ours" 2> "$work/refused" || true
"$emacs" -Q --batch -l test/scripts/org-mutants.el -f org-mutants-compare "$work/truth" "$work/ours" "$seed"
