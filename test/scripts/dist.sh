#!/bin/sh
# Makes what a release consists of, in .build/dist: the package for package.el, and what was built, with checksums.
#
#   test/scripts/dist.sh [module]   with the word, also the module, the launcher and the program that were built here
#
# DIST_URL=ADDRESS   where the folders of .build/dist will lie; the package then names, with their sums, the modules
#                    that are there (also those that were copied here from other machines), so that Emacs can fetch one
# DIST_OUT=FOLDER    another folder than .build/dist
#
# The same sources make the same bytes: names are sorted, and dates are that of SOURCE_DATE_EPOCH or of the last commit.
set -eu
cd "$(dirname "$0")/../.."

version=$(sed -n 's/^version = "\([^"]*\)"/\1/p' Cargo.toml | head -n 1)
grep -q "^;; Version: $version\$" lisp/passepartout.el || { echo "lisp/passepartout.el has another version than Cargo.toml." >&2; exit 1; }
name=passepartout-$version
out=${DIST_OUT:-.build/dist}
mkdir -p "$out" .build
out=$(cd "$out" && pwd -P)
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
tar=$(command -v gtar || command -v tar)
"$tar" --version 2>/dev/null | grep -q GNU || { echo "GNU tar is missing (gtar); install it, then try again." >&2; exit 1; }

sum() { if command -v sha256sum >/dev/null 2>&1; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }

draft=$(mktemp -d "$PWD/.build/draft-dist-XXXXXX")
trap 'rm -rf "$draft"' EXIT
trap 'exit 130' INT TERM

if [ "${1:-}" = module ]; then
    placed=$(test/scripts/place.sh release)
    machine=$(uname -m)
    case $machine in arm64) machine=aarch64 ;; amd64) machine=x86_64 ;; esac
    kind=$machine-$(uname | tr '[:upper:]' '[:lower:]')
    mkdir "$draft/module"
    cp "$placed"/libpassepartout.* "$placed/passepartout" "$placed/passepartout-run" "$draft/module"
    chmod 755 "$draft/module"/* "$draft/module"
    (cd "$draft/module" && sum -- * > "$draft/sums" && mv "$draft/sums" SHA256SUMS)
    rm -rf "${out:?}/$name-$kind"
    mv "$draft/module" "$out/$name-$kind"
    echo "$out/$name-$kind"
fi

# Of a checkout only what git knows belongs to it; sources that were unpacked from a tar are as they came.
files() {
    if git ls-files --error-unmatch Cargo.toml >/dev/null 2>&1; then
        git -c core.quotePath=false ls-files -- "$@" | while IFS= read -r file; do [ ! -f "$file" ] || printf '%s\n' "$file"; done
    else
        find "$@" -type f
    fi
}

package=$draft/$name
mkdir "$package" "$package/docs"
# What Emacs loads lies at the top, where package.el looks for it.
files lisp | while IFS= read -r file; do
    case $file in *-autoloads.el) ;; lisp/passepartout*.el) cp "$file" "$package" ;; esac
done
# What the module is built of, and what is read while it runs. The tests and what only the project needs stay out.
copied() { files "$@" | grep -E '/[^./][^/]*\.(rs|el|org|txt)$'; }
copied src skills docs/demo-memex | LC_ALL=C sort | while IFS= read -r file; do
    mkdir -p "$package/$(dirname "$file")"
    cp "$file" "$package/$file"
done
cp .elpaignore Cargo.toml Cargo.lock LICENSE README.md CHANGELOG.org "$package"
cp docs/tour.jsonl "$package/docs"
# The manual, and the documents that it and they link to.
files docs | grep -E '^docs/([^./]+|adr/[^./]+)\.org$' | while IFS= read -r file; do
    mkdir -p "$package/$(dirname "$file")"
    cp "$file" "$package/$file"
done
for file in passepartout.info dir; do
    if [ -f ".build/info/$file" ] && [ ".build/info/$file" -nt docs/manual.org ]; then cp ".build/info/$file" "$package"; fi
done
[ -f "$package/dir" ] || echo "Without the Info manual: “make info” makes it." >&2

summary=$(sed -n '1s/^;;; [^ ]* --- \(.*[^ ]\)  *-\*-.*/\1/p' lisp/passepartout.el)
needs=$(sed -n 's/^;; Package-Requires: //p' lisp/passepartout.el)
keywords=$(sed -n 's/^;; Keywords: //p' lisp/passepartout.el | sed 's/, */" "/g')
cat > "$package/passepartout-pkg.el" <<END
;;; passepartout-pkg.el --- What package.el knows of it  -*- no-byte-compile: t; lexical-binding: t -*-
(define-package "passepartout" "$version" "$summary" '$needs :keywords '("$keywords"))
END

if [ -n "${DIST_URL:-}" ]; then
    {
        echo ";;; passepartout-prebuilt.el --- Where the module of this release is  -*- lexical-binding: t; -*-"
        printf '\n;; SPDX-License-Identifier: GPL-3.0-or-later\n\n;;; Commentary:\n\n'
        printf ';; Written by “make dist”.\n\n;;; Code:\n\n'
        echo "(defvar passepartout-install-prebuilt"
        echo "  '("
        for folder in "$out/$name"-*/; do
            [ -f "$folder/SHA256SUMS" ] || continue
            kind=$(basename "$folder")
            printf '    ("%s" "%s" "%s"\n' "${kind#"$name-"}" "$version" "${DIST_URL%/}/$kind/"
            # The module stands first.
            sort -k2 "$folder/SHA256SUMS" | sed 's/^\([0-9a-f]*\) [ *]\(.*\)$/     ("\2" . "\1")/'
            echo "    )"
        done
        printf '    )\n  "Where the module of this release is, and its sums.")\n\n'
        printf "(provide 'passepartout-prebuilt)\n;;; passepartout-prebuilt.el ends here\n"
    } > "$package/passepartout-prebuilt.el"
fi

(cd "$draft" && find "$name" -type f | LC_ALL=C sort > names &&
    "$tar" --create --file "$draft/tar" --format=ustar --no-recursion --files-from names \
        --owner=0 --group=0 --numeric-owner --mode=u=rw,go=r --mtime="@$epoch")
mv "$draft/tar" "$out/$name.tar"
(cd "$out" && sum "$name.tar" > SHA256SUMS)
echo "$out/$name.tar"
