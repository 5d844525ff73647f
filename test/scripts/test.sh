#!/bin/sh
# Runs the named groups of tests, all of them even when one fails, and ends with one line that says how it went.
set -u
cd "$(dirname "$0")/../.."

cargo=${CARGO:-cargo}
emacs=${EMACS:-emacs}
results=
failed=0
begin=$(date +%s)
mkdir -p .build
PASSEPARTOUT_SKIPPED=$(mktemp .build/skipped-XXXXXX) || exit 1
PASSEPARTOUT_SKIPPED=$PWD/$PASSEPARTOUT_SKIPPED
PASSEPARTOUT_COUNTED=$PASSEPARTOUT_SKIPPED.counted
export PASSEPARTOUT_SKIPPED PASSEPARTOUT_COUNTED
trap 'rm -f "$PASSEPARTOUT_SKIPPED" "$PASSEPARTOUT_COUNTED"' EXIT
trap 'exit 130' INT TERM

step() { # name command…
    name=$1
    shift
    printf '\n=== %s\n' "$name"
    from=$(date +%s)
    if "$@"; then word=ok; else word=FAILED; failed=1; fi
    results="$results$name $word ($(($(date +%s) - from)) s), "
}

clippy() {
    $cargo clippy --locked --all-targets -- -D warnings && $cargo clippy --locked --no-default-features --lib -- -D warnings
}

# The crates that only tests need turn on features of others, so a build without the tests is another build of
# everything that uses those: after the tests in Rust, the module is taken from theirs.
with_tests=

# An ordinary run tries the same cases each time; the soak tries new ones.
PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-20261122}
export PROPTEST_RNG_SEED

rust() {
    with_tests=--tests
    if $cargo nextest --version >/dev/null 2>&1; then $cargo nextest run --locked --no-fail-fast; else $cargo test --locked --no-fail-fast; fi
}

module() {
    # shellcheck disable=SC2086
    $cargo build --locked --lib --bins $with_tests || return 1
    placed=$(test/scripts/place.sh debug) || return 1
    PASSEPARTOUT_MODULE=$(ls "$PWD/$placed"/libpassepartout.*) || return 1
    export PASSEPARTOUT_MODULE
}

batch() { "$emacs" -Q --batch -L lisp -L test/lisp "$@"; }

# Each file in an Emacs of its own, as Emacs does when it compiles to machine code by itself: what another file has
# loaded would hide a declaration that is missing. As many at a time as there are processors.
each() { # function
    ls lisp/passepartout*.el | xargs -n 1 -P "$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)" \
        "$emacs" -Q --batch -L lisp -l test/lisp/run-compile.el -f "$1"
}

# Compiled files go to a folder of their own, so that nothing stale is ever loaded.
compile() { rm -rf .build/elc && each run-compile-bytes; }

checkdoc() { batch -l test/lisp/run-checks.el -f passepartout-checks-checkdoc; }

lisp_lint() { batch -l test/lisp/run-checks.el -f passepartout-checks-lint; }

lisp_native() {
    if ! batch -l test/lisp/run-compile.el -f run-compile-native-p; then
        echo "compiling to machine code" >> "$PASSEPARTOUT_SKIPPED"
        return 0
    fi
    rm -rf .build/native && each run-compile-native
}

ert() { module && batch --module-assertions -l test/lisp/run-tests.el -f passepartout-tests-run; }

# The same tests over a Unix socket. Approvals count there at a terminal alone, so they are given one.
road() {
    if ! script -qec true /dev/null </dev/null >/dev/null 2>&1; then
        echo "the tests in Lisp over a socket (script of util-linux is missing)" >>"$PASSEPARTOUT_SKIPPED"
        return 0
    fi
    PASSEPARTOUT_ROAD=socket script -qec \
        "'$emacs' -Q --batch -L lisp -L test/lisp -l test/lisp/run-tests.el -f passepartout-tests-run" /dev/null </dev/null
}

# Those of the core itself over TCP with the cookie, and by TLS; the soak runs all of them so.
far() { # tcp or tls
    PASSEPARTOUT_PROGRAM=${PASSEPARTOUT_MODULE%/*}/passepartout PASSEPARTOUT_ROAD=$1 PASSEPARTOUT_TESTS=passepartout-core- \
        batch -l test/lisp/run-tests.el -f passepartout-tests-run
}

gates() { test/scripts/gates.sh "$@"; }

for group in "$@"; do
    case $group in
        fmt) step formatting $cargo fmt --check ;;
        clippy) step clippy clippy ;;
        rust) step rust rust ;;
        lisp) step byte-compile compile; step checkdoc checkdoc; step lisp-lint lisp_lint; step ert ert; step ert-over-a-socket road; step ert-over-tcp far tcp; step ert-by-tls far tls ;;
        lisp-compile) step byte-compile compile ;;
        lisp-checkdoc) step checkdoc checkdoc ;;
        lisp-lint) step lisp-lint lisp_lint ;;
        lisp-native) step native-compile lisp_native ;;
        gates) step gates gates ;;
        # What takes seconds and no tool of its own; the module is loaded where a release build is there.
        gates-quick) step gates gates unused crates load ;;
        # What a release build is not wanted for.
        gates-source) step gates gates deny unused crates doc typos ;;
        *) echo "test.sh: unknown group: $group" >&2; exit 2 ;;
    esac
done

if [ -s "$PASSEPARTOUT_COUNTED" ]; then
    printf '\nSurvived:\n'
    LC_ALL=C sort -u "$PASSEPARTOUT_COUNTED"
fi
if [ -s "$PASSEPARTOUT_SKIPPED" ]; then
    printf '\nSkipped:\n'
    LC_ALL=C sort -u "$PASSEPARTOUT_SKIPPED"
fi
printf '\n%s: %s%s s in all\n' "$([ $failed = 0 ] && echo PASSED || echo FAILED)" "$results" "$(($(date +%s) - begin))"
exit $failed
