#!/bin/sh
# The gates of the repository. Each says in one line how it went; one whose tool is missing says so and is no failure.
#
#   test/scripts/gates.sh [deny unused crates doc typos size load]
#
# RELEASE=FOLDER   where the release build lies, for size and load; without it, target/release
set -u
cd "$(dirname "$0")/../.."

cargo=${CARGO:-cargo}
release=${RELEASE:-${CARGO_TARGET_DIR:-target}/release}
failed=0

good() { printf 'ok       %s: %s\n' "$1" "$2"; }
bad() { printf 'FAILED   %s: %s\n' "$1" "$2"; failed=1; }
skip() {
    printf 'skipped  %s: %s\n' "$1" "$2"
    [ -z "${PASSEPARTOUT_SKIPPED:-}" ] || echo "the gate $1: $2" >> "$PASSEPARTOUT_SKIPPED"
}

# Licences, bans and sources; advisories where the database of them can be had.
gate_deny() {
    $cargo deny --version >/dev/null 2>&1 || { skip deny "cargo-deny is not installed"; return; }
    if $cargo deny --locked check licenses bans sources; then good deny "licences, bans, sources"; else bad deny "see above"; fi
    if $cargo deny --locked check advisories >/dev/null 2>&1; then
        good advisories "none"
    elif $cargo deny --locked fetch db >/dev/null 2>&1; then
        if $cargo deny --locked check advisories; then good advisories "none"; else bad advisories "see above"; fi
    else
        skip advisories "their database cannot be fetched here"
    fi
}

# The names of the crates that Cargo.toml asks for, as the code writes them.
asked() {
    awk '/^\[/ { on = /dependencies\]/ } on && /^[a-z]/ { sub(/[ =.].*/, ""); print }' Cargo.toml | LC_ALL=C sort -u
}

# A crate that no source names is not used. It is a text search: a name in a comment alone is not seen through.
gate_unused() {
    if $cargo machete --version >/dev/null 2>&1; then
        if $cargo machete; then good unused "cargo-machete found none"; else bad unused "see above"; fi
        return
    fi
    found=
    for crate in $(asked); do
        name=$(printf '%s' "$crate" | tr - _)
        grep -rqE --include='*.rs' "(^|[^a-zA-Z0-9_])$name(::|!|;| as |\\b *\\{)|#\\[$name" src test || found="$found $crate"
    done
    if [ -z "$found" ]; then good unused "every crate of Cargo.toml is named in a source"; else bad unused "no source names:$found"; fi
}

# No more crates than the number in test/crates.txt: who adds one raises it, and says why in docs/adr/0008-crates.org.
gate_crates() {
    list=$($cargo tree --locked --prefix none -e normal) || { bad crates "cargo tree does not run"; return; }
    count=$(printf '%s\n' "$list" | sed 's/ (\*)//' | sort -u | wc -l | tr -d ' ')
    most=$(sed -n 's/^\([0-9][0-9]*\)$/\1/p' test/crates.txt)
    if [ "$count" -le "$most" ]; then good crates "$count, at most $most"; else bad crates "$count, and at most $most may be"; fi
}

gate_doc() {
    if RUSTDOCFLAGS="-D warnings" $cargo doc --locked --no-deps --quiet; then
        good doc "cargo doc has no warnings"
    else
        bad doc "see above"
    fi
}

gate_typos() {
    command -v typos >/dev/null 2>&1 || { skip typos "typos is not installed"; return; }
    if typos --format brief src lisp docs skills test/lisp test/rust README.md; then good typos "none"; else bad typos "see above"; fi
}

module() { ls "$release"/libpassepartout.so "$release"/libpassepartout.dylib 2>/dev/null | head -n 1; }

gate_size() {
    file=$(module)
    [ -n "$file" ] || { skip size "there is no release build; “make build” makes one"; return; }
    cp "$file" "$work/module"
    strip "$work/module" 2>/dev/null || true
    bytes=$(wc -c < "$work/module" | tr -d ' ')
    told="$((bytes / 1000000)).$((bytes % 1000000 / 100000)) MB stripped, at most 35"
    if [ "$bytes" -le 35000000 ]; then good size "$told"; else bad size "$told"; fi
}

gate_load() {
    file=$(module)
    [ -n "$file" ] || { skip load "there is no release build; “make build” makes one"; return; }
    # The best of five Emacs: what else the machine does is not the module's fault.
    best=
    for _ in 1 2 3 4 5; do
        ms=$("${EMACS:-emacs}" -Q --batch --eval \
            "(let ((from (float-time))) (module-load (expand-file-name \"$file\")) (princ (format \"%d\" (* 1e5 (- (float-time) from)))))")
        case $ms in '' | *[!0-9]*) bad load "Emacs does not load $file"; return ;; esac
        if [ -z "$best" ] || [ "$ms" -lt "$best" ]; then best=$ms; fi
    done
    told="$((best / 100)).$((best % 100 / 10)) ms for module-load, at most 10"
    if [ "$best" -le 1000 ]; then good load "$told"; else bad load "$told"; fi
}

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

[ $# -gt 0 ] || set -- deny unused crates doc typos size load
for gate in "$@"; do
    case $gate in
        deny | unused | crates | doc | typos | size | load) "gate_$gate" ;;
        *) echo "gates.sh: unknown gate: $gate" >&2; exit 2 ;;
    esac
done
exit $failed
