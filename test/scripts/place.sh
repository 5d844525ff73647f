#!/bin/sh
# Puts module, launcher and command line into .build/HASH/, a folder named by their content, and prints it.
# What a running Emacs has loaded is so never overwritten. The argument is the profile: release or debug.
# Beside the module stands which version it is, and its sum: Emacs looks there before it loads it.
set -eu
cd "$(dirname "$0")/../.."

profile=${1:-release}
from=${CARGO_TARGET_DIR:-target}/$profile
case $(uname) in Darwin) module=libpassepartout.dylib ;; *) module=libpassepartout.so ;; esac
files="$module passepartout passepartout-run"

sum() { if command -v sha256sum >/dev/null 2>&1; then sha256sum; else shasum -a 256; fi; }
hash=$(for file in $files; do cat "$from/$file"; done | sum | cut -c1-20)
to=.build/$hash
version=$(sed -n 's/^version = "\([^"]*\)"/\1/p' Cargo.toml | head -n 1)
beside() { printf '%s %s\n' "$version" "$(sum < "$1/$module" | cut -c1-64)" > "$1/passepartout.version"; }
# A build by hand makes the module newer than this, which then says nothing of it.
beside "$from"
if [ -d "$to" ]; then
    # What was built last is what Emacs takes.
    touch "$to"/* 2>/dev/null || true
else
    mkdir -p .build
    draft=$(mktemp -d ".build/draft-XXXXXX")
    trap 'rm -rf "$draft"' EXIT
    trap 'exit 130' INT TERM
    for file in $files; do cp "$from/$file" "$draft/$file"; done
    beside "$draft"
    chmod 755 "$draft"
    mv -T "$draft" "$to" 2>/dev/null || mv "$draft" "$to" 2>/dev/null || true
    # Somebody may have been faster; what they placed is the same.
    rm -rf "$draft"
fi
printf '%s\n' "$to"
