#!/bin/sh
# Puts another version of Emacs into .build/emacs/VERSION, beside the installed one, and prints the program's path.
#
#   test/scripts/emacs.sh 30.1
#
# The packages are those of the Debian release that has this version, from the mirror that apt is set up with here;
# apt checks their signatures and works out what they need. Nothing is installed and root is not needed: apt gets
# folders of its own, and the program runs with its own C library. What was fetched once is kept.
# Status 3: this version cannot be had here, and the reason was said.
set -eu
cd "$(dirname "$0")/../.."

version=${1:-30.1}
# The place can be elsewhere, so that several checkouts share it.
place=${EMACS_CACHE:-$PWD/.build/emacs}/$version
program=$place/root/usr/bin/emacs

say() { printf '%s\n' "$*" >&2; }
unable() { say "Emacs $version cannot be set up here: $*"; exit 3; }

works() {
    [ -x "$program" ] && [ "$("$program" -Q --batch --eval '(princ emacs-version)' 2>/dev/null)" = "$version" ]
}

if works; then printf '%s\n' "$program"; exit 0; fi

case $version in
    28.2) release=bookworm ;;
    30.1) release=trixie ;;
    *) unable "no release of Debian is known for it. Set EMACS=PROGRAM to one of your own." ;;
esac
for tool in apt-get dpkg-deb; do
    command -v $tool >/dev/null 2>&1 || unable "$tool is missing; this needs Debian or one of its children."
done
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r "$keys" ] || unable "$keys is missing; install debian-archive-keyring."

# The mirror: the first address of a Debian archive that apt knows, in the new form or the old one.
mirror=$(
    # shellcheck disable=SC2046
    cat $(find /etc/apt/sources.list.d -name '*.sources' 2>/dev/null | LC_ALL=C sort) /dev/null |
        sed -n 's/^URIs:[[:space:]]*//p'
    # shellcheck disable=SC2046
    cat $(find /etc/apt/sources.list /etc/apt/sources.list.d -name '*.list' -type f 2>/dev/null) /dev/null |
        sed -n 's/^deb[[:space:]]\{1,\}\(\[[^]]*\][[:space:]]*\)\{0,1\}\([^[:space:]]*\).*/\2/p'
)
mirror=$(printf '%s\n' "$mirror" | tr ' ' '\n' | grep -E '/debian/?$' | head -n 1) || true
[ -n "$mirror" ] || unable "apt is set up with no mirror of Debian."

say "Fetching Emacs $version of Debian $release…"
draft=$place.draft
rm -rf "$draft"
mkdir -p "$draft/state/lists/partial" "$draft/archives/partial" "$draft/root"
: > "$draft/state/status"
echo "deb [signed-by=$keys] $mirror $release main" > "$draft/sources.list"
# Folders stand in quotes: a path may hold blanks.
cat > "$draft/apt.conf" <<END
Dir::Etc::sourcelist "$draft/sources.list";
Dir::Etc::sourceparts "-";
Dir::Etc::preferences "-";
Dir::Etc::preferencesparts "-";
Dir::State "$draft/state";
Dir::State::status "$draft/state/status";
Dir::Cache "$draft";
Dir::Cache::archives "$draft/archives";
Dir::Log "$draft";
Debug::NoLocking "true";
APT::Sandbox::User "";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
END
APT_CONFIG=$draft/apt.conf
export APT_CONFIG
{
    apt-get update -q && apt-get install -q -y --download-only emacs-nox
} > "$draft/log" 2>&1 || { tail -n 5 "$draft/log" >&2; unable "apt cannot fetch it from the mirror; $draft/log says why."; }
unset APT_CONFIG

# What only compiling to machine code needs is not unpacked.
for package in "$draft"/archives/*.deb; do
    case ${package##*/} in
        *-dev_* | *-dev-bin_* | binutils* | lib*san[0-9]*_* | emacsen-common_* | install-info_*) ;;
        *) dpkg-deb -x "$package" "$draft/root" || unable "${package##*/} cannot be unpacked." ;;
    esac
done
rm -rf "$draft/archives" "$draft/state" "$draft"/*pkgcache.bin
rm -rf "$place"
mv "$draft" "$place"

# The wrapper is what children of this Emacs start again: it stands for the program under its own name.
dump=$(find "$place/root" -name '*.pdmp' | head -n 1)
[ -n "$dump" ] || unable "its package holds no dump of the program."
loader=$(find "$place/root" -name 'ld-linux*.so*' | LC_ALL=C sort | head -n 1)
libraries=$(find "$place/root" -name '*.so.*' -exec dirname {} + | LC_ALL=C sort -u | tr '\n' ':' | sed 's/:$//')
lisp=$(find "$place/root/usr/share/emacs/$version/lisp" -type d ! -name obsolete | LC_ALL=C sort | tr '\n' ':' | sed 's/:$//')
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
{
    echo '#!/bin/sh'
    printf 'root=%s\n' "$(quoted "$place/root")"
    printf 'export EMACSLOADPATH=%s EMACSPATH=%s\n' "$(quoted "$lisp")" "$(quoted "$(dirname "$dump")")"
    # shellcheck disable=SC2016
    printf 'export EMACSDATA="$root/usr/share/emacs/%s/etc" EMACSDOC="$root/usr/share/emacs/%s/etc"\n' "$version" "$version"
    # shellcheck disable=SC2016
    printf 'exec %s --argv0 "$root/usr/bin/emacs" --library-path %s "$root/usr/bin/emacs-nox" --dump-file=%s "$@"\n' \
        "$(quoted "$loader")" "$(quoted "$libraries")" "$(quoted "$dump")"
} > "$program"
chmod 755 "$program"
works || { "$program" -Q --batch --eval '(princ emacs-version)' >&2 || true; unable "it was fetched and does not run."; }
printf '%s\n' "$program"
