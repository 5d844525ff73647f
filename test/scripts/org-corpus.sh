#!/bin/sh
# Remakes the truth of the corpora beside the project with Emacs 30.1, and compares it with the one that is stored.
#
# Status 3: Emacs 30.1 cannot be had here. Without the corpora nothing is done, and it is said.
set -eu
cd "$(dirname "$0")/../.."
shared=${SHARED:-../shared}
[ -f "$shared/tools/org-truth.el" ] || { echo "$shared/tools is absent; the corpora are skipped."; exit 0; }
shared=$(cd "$shared" && pwd)
emacs=$(test/scripts/emacs.sh 30.1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
told=
for corpus in org org-edge; do
    truth=$shared/corpus/$corpus-9.7.truth.jsonl.xz
    [ -f "$truth" ] || continue
    xz -dc "$truth" > "$work/stored"
    # The files that the stored truth names, in its order.
    sed -nE 's/^\{"file":"(([^"\\]|\\.)*)","line":1,"level":0.*/\1/p' "$work/stored" | sed 's/\\\(["\\]\)/\1/g' > "$work/files"
    (cd "$shared/corpus" && "$emacs" -Q --batch -l "$shared/tools/org-truth.el" "$work/files" "$work/fresh")
    if ! cmp -s "$work/stored" "$work/fresh"; then
        diff "$work/stored" "$work/fresh" | head -n 10
        echo "the truth of $corpus is not what it was"
        exit 1
    fi
    told="$told$corpus $(wc -l < "$work/files") files, "
done
echo "truth remade and the same: ${told%, }"
