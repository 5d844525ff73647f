#!/bin/sh
# Compiles the Lisp into .build/lisp/NAME/, a folder named by its content and by Emacs's version, and prints it.
#
# So nothing stale is ever loaded, nothing lies beside the sources, and Emacs runs what a user who installs the
# package runs. Where it does not compile, the sources are printed instead.
set -eu
cd "$(dirname "$0")/../.."

emacs=${EMACS:-emacs}
sum() { if command -v sha256sum >/dev/null 2>&1; then sha256sum; else shasum -a 256; fi; }
name=$({ "$emacs" --version | head -n 1; cat lisp/*.el; } | sum | cut -c1-20)
to=$PWD/.build/lisp/$name
if [ ! -d "$to" ]; then
    mkdir -p .build/lisp
    draft=$(mktemp -d "$PWD/.build/lisp/draft-XXXXXX")
    chmod 755 "$draft"
    cp lisp/*.el "$draft"
    if ! "$emacs" -Q --batch -L "$draft" -f batch-byte-compile "$draft"/*.el > "$draft/log" 2>&1; then
        echo "The Lisp does not compile; it is run from its sources. $draft/log says why." >&2
        printf '%s\n' "$PWD/lisp"
        exit 0
    fi
    rm -f "$draft/log"
    mv -T "$draft" "$to" 2>/dev/null || mv "$draft" "$to" 2>/dev/null || true
    # Somebody may have been faster; what they compiled is the same.
    rm -rf "$draft"
fi
printf '%s\n' "$to"
