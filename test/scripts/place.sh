#!/bin/sh
# Puts module, launcher and command line into .build/HASH/, a folder named by their content, and prints it.
# What a running Emacs has loaded is so never overwritten. The argument is the profile: release or debug.
set -eu
cd "$(dirname "$0")/../.."

profile=${1:-release}
from=${CARGO_TARGET_DIR:-target}/$profile
case $(uname) in Darwin) module=libpassepartout.dylib ;; *) module=libpassepartout.so ;; esac
files="$module passepartout passepartout-run"

sum() { if command -v sha256sum >/dev/null 2>&1; then sha256sum; else shasum -a 256; fi; }
hash=$(for file in $files; do cat "$from/$file"; done | sum | cut -c1-20)
to=.build/$hash
if [ -d "$to" ]; then
    # What was built last is what Emacs takes.
    touch "$to"/* 2>/dev/null || true
else
    mkdir -p .build
    draft=$(mktemp -d ".build/draft-XXXXXX")
    trap 'rm -rf "$draft"' EXIT INT TERM
    for file in $files; do cp "$from/$file" "$draft/$file"; done
    chmod 755 "$draft"
    mv -T "$draft" "$to" 2>/dev/null || mv "$draft" "$to" 2>/dev/null || true
    # Somebody may have been faster; what they placed is the same.
    rm -rf "$draft"
fi
printf '%s\n' "$to"
