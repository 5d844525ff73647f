#!/bin/sh
# What takes long, in named steps; each is bounded, and a table at the end says what was done.
#
#   test/scripts/soak.sh [STEP…]     all of them without a name: properties fuzz hostile kills owners survive fresh space loads
#                                 wire lisp matrix org
#
# SOAK_MINUTES=30   what the steps share; the two that could go on for ever (properties, fuzz) are cut to fit
# CASES=2000        cases of a property in one round; rounds go on until a sixth of the time is over
# FUZZ_SECONDS=N    seconds for each target; without it, a third of the time is shared out
# FUZZ_SEED=N       begins each target with this seed, to see again what was found
# KILLS=200         kills of a program that saves; EMACS_KILLS=20 those of an Emacs that carries out plans
# OWNER_KILLS=40 CLIENTS=4  owners of a store that are killed while so many processes use it
# FLIPS=4           bytes that are flipped in each page of a store, one after the other
# FILES=10000 CHANGES=1000 LOG_MB=80  files that change at once, headings changed one by one, and the size of a long log
# HARMS=60 INDEX_HARMS=60   harms of a memex, and of a full-text index
# FRESH_FILES=2000 FRESH_MS=2000  files that change outside at a time, and how long it may take until memory has them
# MESSAGES=1000000 GREETINGS=5000  messages and whole greetings by TLS through one core
# FUZZ_INPUTS=1000000  inputs for frames and for plists, beside what the step fuzz tries
# LOAD_ROUNDS=20    rounds of 200 turns at once through a model server
# TURNS=1000        turns that each change one heading of 50 MB in 20,000 files
# HOSTILE_BYTES=5000000  size of each hostile text
# HEADINGS=100000   headings of the memex that is read at once
# ROUNDS=2          how often all tests in Lisp run in the installed Emacs
# MUTANTS=3000      made-up Org files that Org 9.7 is asked about
# MATRIX="28.2 30.1"  versions of Emacs, with a space between; Debian must have them, and the installed one is passed over
set -u
cd "$(dirname "$0")/../.."

cargo=${CARGO:-cargo}
emacs=${EMACS:-emacs}
minutes=${SOAK_MINUTES:-30}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
: > "$work/table"
: > "$work/counts"
PASSEPARTOUT_SKIPPED=$work/skipped
PASSEPARTOUT_COUNTED=$work/counts
export PASSEPARTOUT_SKIPPED PASSEPARTOUT_COUNTED
: > "$PASSEPARTOUT_SKIPPED"
failed=0
begin=$(date +%s)

step() { # name: runs it, and notes its last word from $work/said
    printf '\n=== %s\n' "$1"
    from=$(date +%s)
    : > "$work/said"
    if "$1"; then word=ok; else word=FAILED; failed=1; fi
    printf '%-11s %-7s %5d s  %s\n' "$1" "$word" "$(($(date +%s) - from))" "$(cat "$work/said")" >> "$work/table"
}

say() { printf '%s' "$*" > "$work/said"; }

# Runs a command, shows what it prints and keeps it in $work/out; the status is the command's.
kept() {
    { "$@" 2>&1; echo $? > "$work/status"; } | tee "$work/out"
    return "$(cat "$work/status")"
}

# Says how many lines the tests in $work/out counted.
counted() { grep -c 'survived: ' "$work/out"; }

rust() { $cargo test --locked --release --no-fail-fast "$@"; }

module() {
    # With the tests, whose build is then the only one.
    $cargo build --locked --release --lib --bins --tests || return 1
    placed=$PWD/$(test/scripts/place.sh release) || return 1
    PASSEPARTOUT_MODULE=$(ls "$placed"/libpassepartout.*) || return 1
    export PASSEPARTOUT_MODULE
}

ert() { # emacs [test]
    PASSEPARTOUT_TESTS=${2:-} "$1" -Q --batch -L lisp -L test/lisp --module-assertions \
        -l test/lisp/run-tests.el -f passepartout-tests-run
}

smooth() { # emacs modes bytes
    SMOOTH_LISP=$(EMACS=$1 test/scripts/lisp.sh) SMOOTH_MODES=$2 SMOOTH_BYTES=$3 "$1" -Q --batch -l test/bench/smooth.el -f smooth-run
}

properties() {
    until=$(($(date +%s) + minutes * 10))
    round=0
    while [ $round = 0 ] || [ "$(date +%s)" -lt $until ]; do
        round=$((round + 1))
        echo "--- round $round"
        PROPTEST_CASES=${CASES:-2000} rust --lib --test rust -- --skip fuzz:: --skip store::killed_at --skip survive:: --skip takeover:: --skip fresh::delay || {
            say "round $round failed; proptest-regressions holds the case"
            return 1
        }
    done
    say "$round rounds of all tests in Rust, ${CASES:-2000} cases a property"
}

fuzz() {
    targets=$(find test/fuzz/corpus -mindepth 1 -maxdepth 1 -type d | wc -l)
    # Two targets run at a time.
    FUZZ_SECONDS=${FUZZ_SECONDS:-$((minutes * 20 * 2 / targets))}
    export FUZZ_SECONDS
    kept rust --test rust -- fuzz:: --skip fuzz::hostile --nocapture --test-threads=2
    status=$?
    say "$(awk '/^fuzz / { n++; sum += $3 } END { printf "%d targets, %.0f inputs", n, sum }' "$work/out")"
    return $status
}

hostile() {
    kept env HOSTILE_BYTES="${HOSTILE_BYTES:-5000000}" "$cargo" test --locked --release --test rust -- \
        fuzz::hostile --nocapture || return 1
    say "$(sed -n 's/^\([0-9]* texts of .*\)/\1/p' "$work/out")"
}

kills() {
    for test in store::killed_at_any_moment_keeps_what_was_acknowledged \
        survive::killed_under_load_every_act_has_its_intent_and_none_is_repeated \
        survive::killed_in_a_real_act_what_was_done_of_it_is_reported_once_and_can_be_undone; do
        kept env KILLS="${KILLS:-200}" "$cargo" test --locked --release --test rust -- --exact "$test" --nocapture || return 1
    done
    module || return 1
    kept env EMACS_KILLS="${EMACS_KILLS:-20}" PASSEPARTOUT_TESTS=passepartout-real-an-emacs-that-is-killed \
        "$emacs" -Q --batch -L lisp -L test/lisp -l test/lisp/run-tests.el -f passepartout-tests-run || return 1
    say "three times ${KILLS:-200} kills; $(sed -n 's/^\([0-9]* kills of Emacs.*\)/\1/p' "$work/out")"
}

# Owners of a store that are killed while others join, take over and go on asking.
owners() {
    kept env OWNER_KILLS="${OWNER_KILLS:-40}" CLIENTS="${CLIENTS:-4}" "$cargo" test --locked --release --test rust -- \
        takeover::owners --nocapture || return 1
    say "${OWNER_KILLS:-40} owners killed among ${CLIENTS:-4} processes"
}

# Full and read-only disks, vanished folders, lost rights, flipped bytes, long logs, clocks, many files, strange names.
survive() {
    kept env FLIPS="${FLIPS:-4}" FILES="${FILES:-10000}" CHANGES="${CHANGES:-1000}" LOG_MB="${LOG_MB:-80}" \
        HARMS="${HARMS:-60}" INDEX_HARMS="${INDEX_HARMS:-60}" \
        "$cargo" test --locked --release --test rust -- survive:: --skip survive::killed --nocapture --test-threads=2 || return 1
    say "$(counted) things counted"
}

# What changes outside is in memory within two seconds; each way prints how long it took.
fresh() {
    kept env FRESH_FILES="${FRESH_FILES:-2000}" FRESH_MS="${FRESH_MS:-2000}" \
        "$cargo" test --locked --release --test rust -- fresh:: --nocapture --test-threads=1 || return 1
    say "$(sed -n 's/.*: the slowest in memory after/the slowest in memory after/p' "$work/out")"
}

loads() {
    module || return 1
    mkdir -p "$work/memex"
    awk -v all="${HEADINGS:-100000}" -v folder="$work/memex" 'BEGIN {
        for (n = 0; n < all; n++) {
            file = folder "/" int(n / 500) ".org"
            printf "%s %sHeading %d%s\n:PROPERTIES:\n:ID: load-%d\n:END:\nWords about %d, and a [[id:load-%d][link]].\n",
                n % 5 ? "**" : "*", n % 3 ? "" : "TODO ", n, n % 7 ? "" : " :work:", n, n * 7919 % 10007, (n * 31) % all > file
            if (n % 500 == 499) close(file)
        }
    }'
    from=$(date +%s)
    kept "$placed/passepartout" ingest "$work/memex" --store "$work/store" --json || return 1
    grep -q "\"headings\":${HEADINGS:-100000}[,}]" "$work/out" || { echo "Not all headings were read."; return 1; }
    read_in=$(($(date +%s) - from))
    # Without what each thread keeps of freed memory for itself, memory in use is what the program holds.
    GLIBC_TUNABLES=glibc.malloc.tcache_count=0 LOAD_ROUNDS=${LOAD_ROUNDS:-20} kept rust --test rust two_hundred_turns_at_once -- --nocapture || return 1
    turns=$(sed -n 's/.*survived: //p' "$work/out")
    # Ten thousand headings are read again every second while an answer of a megabyte streams.
    kept smooth "$emacs" "idle ours follow" "${SMOOTH_BYTES:-1000000}" || return 1
    say "${HEADINGS:-100000} headings read and saved in $read_in s; ${turns:-no turns}; 2 streams of ${SMOOTH_BYTES:-1000000} bytes while 10000 headings are read"
}

# A million messages through one core, greetings by the thousand, floods, and a million inputs for frames and plists.
wire() {
    # Without what each thread keeps of freed memory for itself, memory in use is what the program holds.
    kept env GLIBC_TUNABLES=glibc.malloc.tcache_count=0 MESSAGES="${MESSAGES:-1000000}" GREETINGS="${GREETINGS:-5000}" \
        "$cargo" test --locked --release --test rust -- load:: flood:: --nocapture --test-threads=1 || return 1
    told=$(sed -n 's/.*survived: //p' "$work/out" | tr '\n' ';')
    for target in frame sexp; do
        kept env FUZZ_INPUTS="${FUZZ_INPUTS:-1000000}" "$cargo" test --locked --release --test rust -- \
            --exact "fuzz::$target" --nocapture || return 1
        told="$told $(sed -n 's/^\(fuzz .* inputs\).*/\1/p' "$work/out");"
    done
    say "$told"
}

lisp() {
    module || return 1
    round=1
    while [ $round -le "${ROUNDS:-2}" ]; do
        echo "--- round $round"
        kept ert "$emacs" || return 1
        round=$((round + 1))
    done
    told="${ROUNDS:-2} rounds; $(ran)"
    # The same over TCP with the cookie, and by TLS.
    for road in tcp tls; do
        kept env PASSEPARTOUT_ROAD=$road PASSEPARTOUT_PROGRAM="$placed/passepartout" "$emacs" -Q --batch \
            -L lisp -L test/lisp -l test/lisp/run-tests.el -f passepartout-tests-run || return 1
        told="$told; by $road $(ran)"
    done
    say "$told"
}

ran() { sed -n 's/^Ran \([0-9]* tests\), \([0-9]* results as expected\).*/\1, \2/p' "$work/out" | tail -n 1; }

# Another Emacs: compiled without a warning, checked, tested with the module, and the chat shown in a terminal.
matrix() {
    module || return 1
    told=
    installed=$("$emacs" -Q --batch --eval '(princ emacs-version)')
    for version in ${MATRIX-28.2 30.1}; do
        echo "--- Emacs $version"
        # The step lisp has tested that one.
        [ "$version" != "$installed" ] || { told="$told$version is the installed one; "; continue; }
        other=$(test/scripts/emacs.sh "$version")
        case $? in
            0) ;;
            3) told="$told$version cannot be had here; "; continue ;;
            *) say "$told$version cannot be set up"; return 1 ;;
        esac
        EMACS=$other test/scripts/test.sh lisp-compile lisp-checkdoc lisp-lint || { say "$told$version: compile, checkdoc or lint"; return 1; }
        kept ert "$other" || { say "$told$version: $(ran)"; return 1; }
        tests=$(ran)
        smooth "$other" ours 100000 || { say "$told$version: no chat in a terminal"; return 1; }
        told="$told$version: $tests, a chat in a terminal; "
    done
    say "${told%; }"
}

# What Org 9.7 says is asked anew: of the fixtures, of made-up files, and of the corpus where it is present.
org() {
    module || return 1
    test/scripts/org-truth.sh
    case $? in
        0) ;;
        3) say "Emacs 30.1 cannot be had here"; return 0 ;;
        *) say "Org says something else than the dump"; return 1 ;;
    esac
    kept test/scripts/org-mutants.sh "$placed/passepartout" "${MUTANTS:-3000}" || { say "$(tail -n 1 "$work/out")"; return 1; }
    told=$(tail -n 1 "$work/out")
    kept test/scripts/org-corpus.sh || { say "$told; $(tail -n 1 "$work/out")"; return 1; }
    say "fixtures as in the dump; $told; $(tail -n 1 "$work/out")"
}

# What whole turns add to the store.
space() {
    kept env TURNS="${TURNS:-1000}" "$cargo" test --locked --release --test rust -- \
        --exact time::a_turn_that_changes_one_heading_adds_little_to_the_store --nocapture || return 1
    say "$(sed -n 's/.*, with what each file was before: //p' "$work/out")"
}

[ $# -gt 0 ] || set -- properties fuzz hostile kills owners survive fresh space loads wire lisp matrix org
for name in "$@"; do
    case $name in
        properties | fuzz | hostile | kills | owners | survive | fresh | space | loads | wire | lisp | matrix | org) ;;
        *) echo "soak.sh: unknown step: $name" >&2; exit 2 ;;
    esac
done
for name in "$@"; do step "$name"; done

printf '\n=== soak: %s, %s s in all\n' "$([ $failed = 0 ] && echo PASSED || echo FAILED)" "$(($(date +%s) - begin))"
cat "$work/table"
if [ -s "$work/counts" ]; then
    echo "Survived:"
    sed 's/^/- /' "$work/counts"
fi
if [ -s "$PASSEPARTOUT_SKIPPED" ]; then
    echo "Skipped:"
    LC_ALL=C sort -u "$PASSEPARTOUT_SKIPPED"
fi
exit $failed
