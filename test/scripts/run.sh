#!/bin/sh
# Reads a memex and opens the chat in Emacs, in a world of its own: the user's Emacs configuration, store and
# settings are neither read nor written. Without a terminal it prints the report and the command to type.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD

placed=$root/$(test/scripts/place.sh release)
lisp=$(test/scripts/lisp.sh)

if [ -n "${MEMEX:-}" ]; then
    [ -d "$MEMEX" ] || { echo "MEMEX=$MEMEX is no folder." >&2; exit 1; }
    memex=$(cd "$MEMEX" && pwd -P)
else
    test/scripts/demo.sh
    memex=$root/.build/demo-memex
    # It is about the demo memex, and is offered over that alone.
    tour=$root/docs/tour.jsonl
fi

# One world for each memex, so that two of them never share a store.
world=$root/.build/run/$(printf '%s' "$memex" | cksum | cut -d' ' -f1)
mkdir -p "$world/state" "$world/config" "$world/cache" "$world/emacs" "$world/project"
chmod 700 "$world"
# A repository of its own: it is not the clone's, and nothing in it is from elsewhere.
git init -q "$world/project" 2>/dev/null || :

quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
worldly() {
    printf 'env XDG_STATE_HOME=%s XDG_CONFIG_HOME=%s XDG_CACHE_HOME=%s ' \
        "$(quoted "$world/state")" "$(quoted "$world/config")" "$(quoted "$world/cache")"
}

start=$world/emacs.sh
{
    echo '#!/bin/sh'
    echo "# Opens the chat over $memex. Written by “make run”."
    printf 'cd %s || exit 1\n' "$(quoted "$world/project")"
    printf 'export PASSEPARTOUT_RUN_MEMEX=%s PASSEPARTOUT_RUN_WORLD=%s PASSEPARTOUT_RUN_MODULE=%s\n' \
        "$(quoted "$memex")" "$(quoted "$world")" "$(quoted "$(ls "$placed"/libpassepartout.*)")"
    printf 'export PASSEPARTOUT_RUN_TOUR=%s\n' "$(quoted "${tour:-}")"
    # shellcheck disable=SC2016
    echo '[ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] || set -- -nw "$@"'
    printf 'exec %s %s -Q -L %s -l %s -l passepartout -f passepartout-run-open "$@"\n' \
        "$(worldly)" "$(quoted "${EMACS:-emacs}")" "$(quoted "$lisp")" "$(quoted "$root/test/scripts/run.el")"
} > "$start"
chmod 755 "$start"

echo "Reading $memex"
eval "$(worldly) $(quoted "$placed/passepartout") ingest $(quoted "$memex")"

if [ -t 0 ] && [ -t 1 ]; then
    exec "$start"
fi
echo
echo "There is no terminal here, so Emacs was not opened. In one, type:"
echo "  $start"
