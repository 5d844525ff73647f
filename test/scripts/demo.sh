#!/bin/sh
# Copies the demo memex to .build/demo-memex with its dates moved to today.
#
# The shipped files are written around one day, which stands after “#+DEMO_ANCHOR:” in the memex's README.org.
# A copy that the user has changed is left as it is; `make demo-fresh` throws it away.
set -eu
cd "$(dirname "$0")/../.."

from=docs/demo-memex
to=.build/demo-memex
sum=.build/demo-memex.sum
today=$(date +%Y-%m-%d)

fingerprint() { (cd "$to" && find . -type f | LC_ALL=C sort | while IFS= read -r file; do cksum "$file"; done); }

if [ -d "$to" ]; then
    if [ -f "$sum" ] && [ "$(sed 1d "$sum")" = "$(fingerprint)" ]; then
        [ "$(sed -n 1p "$sum")" = "$today" ] && exit 0
    else
        echo "The demo memex in $to has changes; it is kept. “make demo-fresh” throws it away."
        exit 0
    fi
fi

mkdir -p .build
draft=$(mktemp -d .build/draft-demo-XXXXXX)
find "$from" -type d | while IFS= read -r folder; do mkdir -p "$draft/${folder#"$from"}"; done
anchor=$(sed -n 's/^#+DEMO_ANCHOR: *\([0-9-]*\).*/\1/p' "$from/README.org")
find "$from" -type f -name '*.org' | while IFS= read -r file; do
    awk -v anchor="$anchor" -v today="$today" -f test/scripts/shift-dates.awk "$file" > "$draft/${file#"$from"}"
done
# A file is as old as the latest day up to yesterday that stands in it, so that “what changed” has an answer.
find "$draft" -type f | while IFS= read -r file; do
    latest=$(grep -o '[0-9]\{4\}-[0-9][0-9]-[0-9][0-9]' "$file" | LC_ALL=C sort | awk -v today="$today" '$0 < today { last = $0 } END { print last }')
    touch -d "${latest:-2020-01-01}T18:00:00" "$file" || true
done
rm -rf "$to"
mv "$draft" "$to"
{ echo "$today"; fingerprint; } > "$sum"
