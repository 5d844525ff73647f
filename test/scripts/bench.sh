#!/bin/sh
# Prints what is timed: starts of the launcher, and the benches of Rust and Lisp that there are.
#
#   test/scripts/bench.sh [launcher] [rust] [sense] [late] [smooth]     only these parts; without any, all
set -eu
cd "$(dirname "$0")/../.."
cargo=${CARGO:-cargo}

[ $# -gt 0 ] || set -- launcher rust sense late smooth
for part in "$@"; do
    case $part in launcher | rust | sense | late | smooth) ;; *) echo "bench.sh: unknown part: $part" >&2; exit 2 ;; esac
done
wanted() { case " $parts " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }
parts="$*"

$cargo build --release --locked
placed=$PWD/$(test/scripts/place.sh release)
project=$(mktemp -d)
BENCH_ROWS=$(mktemp)
export BENCH_ROWS
trap 'rm -rf "$project" "$BENCH_ROWS"' EXIT

if wanted launcher; then
    echo "Launcher: $(wc -c < "$placed/passepartout-run") bytes; 50 starts of “true”, confined, in milliseconds:"
    # shellcheck disable=SC2016
    bash -c '
        for n in $(seq 50); do
            from=$EPOCHREALTIME
            "$0" --project "$1" --parent $$ -- true || exit 1
            to=$EPOCHREALTIME
            echo $(( (${to/[.,]/} - ${from/[.,]/}) ))
        done' "$placed/passepartout-run" "$project" | sort -n |
        awk '{ t[NR] = $1 } END { printf "  least %.1f  median %.1f  most %.1f\n", t[1]/1000, t[int((NR+1)/2)]/1000, t[NR]/1000 }'
fi

! wanted rust || $cargo bench --locked

# What else runs on the machine is not what is measured: where it is allowed, Emacs goes first.
first=
if nice -n -19 true 2>/dev/null; then first="nice -n -19"; fi
PASSEPARTOUT_MODULE=$(ls "$placed"/libpassepartout.*)
SMOOTH_LISP=$(test/scripts/lisp.sh)
export PASSEPARTOUT_MODULE SMOOTH_LISP
# shellcheck disable=SC2086
! wanted sense || $first "${EMACS:-emacs}" -Q --batch -L "$SMOOTH_LISP" -l test/bench/sense.el -f sense-run
# shellcheck disable=SC2086
! wanted late || $first "${EMACS:-emacs}" -Q --batch -l test/bench/smooth.el -f smooth-run
# What it missed is said after the table.
status=0
! wanted smooth || test/scripts/smooth.sh || status=$?

# All that is promised in one table. Rates are compared with what the same run read and hashed without looking at it,
# and with what Org itself parsed.
echo
awk -F '\t' '
    { row[NR] = $0 }
    $1 ~ /^plain read/ { plain = $4 }
    $1 ~ /^org-element/ { org = $4 }
    END {
        format = "| %-66s | %-24s | %-58s | %11s | %11s |\n"
        printf format, "what", "promised", "measured", "÷ plain", "÷ Org"
        for (n = 1; n <= NR; n++) {
            split(row[n], part, "\t")
            rate = part[4]
            printf format, part[1], part[2], part[3], rate != "" && plain ? sprintf("%.3f", rate / plain) : "",
                rate != "" && org ? sprintf("%.0f", rate / org) : ""
        }
    }' "$BENCH_ROWS"
echo "÷ plain: the rate, divided by that of reading and BLAKE3 alone; ÷ Org: by that of org-element-parse-buffer."
[ $status = 0 ] || echo "A key took longer than promised: see above, “MISSED”."
exit $status
