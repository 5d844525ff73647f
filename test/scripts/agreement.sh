#!/bin/sh
# Compares what we read of Org files with what Emacs's own Org reads, and scores gates and recall.
#
# The corpora and the tools that score lie beside the project in ../shared (or in SHARED=DIR); what is absent
# is said and skipped. Where the gates miss a goal this ends with 1 and names it.
set -eu
cd "$(dirname "$0")/../.."
shared=${SHARED:-../shared}
${CARGO:-cargo} build --release --locked
program=$PWD/$(test/scripts/place.sh release)/passepartout
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -f "$shared/tools/org-diff.py" ]; then
    for corpus in org org-edge; do
        truth=$shared/corpus/$corpus-9.7.truth.jsonl.xz
        [ -f "$truth" ] || { echo "$truth is absent; skipped."; continue; }
        echo "--- $corpus against Org 9.7"
        xz -dc "$truth" > "$work/truth.jsonl"
        # The names in the truth begin with the corpus's folder, so that is where the dump is made.
        (cd "$shared/corpus" && "$program" dump "$corpus" --jsonl) > "$work/ours.jsonl"
        python3 "$shared/tools/org-diff.py" "$work/truth.jsonl" "$work/ours.jsonl" || true
    done
else
    echo "$shared/tools is absent; agreement with Org is skipped."
fi
if [ -f "$shared/tools/score-gates.py" ]; then
    echo "--- gates"
    python3 "$shared/tools/score-gates.py" "$program" "$shared/corpus/gates" --json "$work/gates.json"
    python3 test/scripts/goals.py "$work/gates.json"
fi
if [ -f "$shared/tools/score-recall.py" ]; then
    echo "--- recall"
    python3 "$shared/tools/score-recall.py" "$program" "$shared/corpus/recall"
    if [ -n "${EMBEDDING_PROVIDER:-}" ]; then
        # The same questions, with vectors of all notes: PROGRAM is what adds the word for that.
        printf '#!/bin/sh\nexec "%s" "$@" --vectors\n' "$program" > "$work/with-vectors"
        chmod +x "$work/with-vectors"
        echo "--- recall, with vectors of ${EMBEDDING_PROVIDER}${EMBEDDING_MODEL:+ $EMBEDDING_MODEL}"
        python3 "$shared/tools/score-recall.py" "$work/with-vectors" "$shared/corpus/recall"
    else
        echo "EMBEDDING_PROVIDER names no server: recall with vectors is not measured."
    fi
fi
