#!/bin/sh
# Installs what is missing of: rust, cc, emacs, sbcl, tmux, makeinfo, xvfb, xdotool. It asks before it installs, unless YES=1 or there is no terminal.
set -eu

emacs=${EMACS:-emacs}

has_cc() { command -v cc >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 || command -v clang >/dev/null 2>&1; }

has_emacs() {
    command -v "$emacs" >/dev/null 2>&1 && "$emacs" -Q --batch --eval \
        '(kill-emacs (if (and (not (version< emacs-version "28.2")) (bound-and-true-p module-file-suffix)) 0 1))' \
        >/dev/null 2>&1
}

need_rust() {
    command -v "${CARGO:-cargo}" >/dev/null 2>&1 && return 0
    echo "There is no Rust toolchain (cargo). Install one from https://rustup.rs, then try again." >&2
    exit 1
}

# Prints the command that installs the wanted things here, or nothing where we know none.
installer() {
    if command -v apt-get >/dev/null 2>&1; then
        echo "apt-get install -y --no-install-recommends $1"
    elif command -v dnf >/dev/null 2>&1; then
        echo "dnf install -y $2"
    elif command -v pacman >/dev/null 2>&1; then
        echo "pacman -S --noconfirm $2"
    fi
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    elif command -v sudo >/dev/null 2>&1; then
        if [ -t 0 ]; then sudo env DEBIAN_FRONTEND=noninteractive "$@"; else sudo -n env DEBIAN_FRONTEND=noninteractive "$@"; fi
    else
        return 1
    fi
}

install() { # what-for debian-packages other-packages
    command=$(installer "$2" "$3")
    if [ -z "$command" ]; then
        echo "Missing: $1. Install it with your package manager, then try again." >&2
        exit 1
    fi
    echo "Missing: $1. It can be installed with: $command"
    if [ "${YES:-}" != 1 ] && [ -t 0 ]; then
        printf 'Install it now? [Y/n] '
        read -r answer
        case $answer in [nN]*) echo "Nothing was installed."; exit 1 ;; esac
    fi
    # A fresh machine has no package lists yet.
    # shellcheck disable=SC2086
    as_root $command || { command -v apt-get >/dev/null 2>&1 && as_root apt-get update && as_root $command; } || {
        echo "That failed. Run it as root yourself, then try again: $command" >&2
        exit 1
    }
}

for thing in "$@"; do
    case $thing in
        rust) need_rust ;;
        cc) has_cc || install "a C compiler" "gcc libc6-dev" "gcc" ;;
        emacs)
            has_emacs || install "Emacs 28.2 or newer with modules" "emacs-nox" "emacs-nox"
            has_emacs || { echo "Emacs is still older than 28.2 or has no modules; set EMACS=PROGRAM to another." >&2; exit 1; }
            ;;
        sbcl)
            # A counterpart of the protocol's tests, which say when they went without it.
            command -v sbcl >/dev/null 2>&1 || (install "SBCL, which tests of the protocol talk with" "sbcl" "sbcl") ||
                echo "Going on without SBCL." ;;
        tmux)
            # The terminal of tests, which say when they went without it.
            command -v tmux >/dev/null 2>&1 || (install "tmux, in which tests look at a terminal" "tmux" "tmux") ||
                echo "Going on without tmux." ;;
        xvfb)
            # Frames in which keys are timed; benches say when they went without it.
            command -v Xvfb >/dev/null 2>&1 || (install "Xvfb, in which Emacs shows frames" "xvfb" "xorg-x11-server-Xvfb") ||
                echo "Going on without Xvfb." ;;
        xdotool)
            command -v xdotool >/dev/null 2>&1 || (install "xdotool, which types in frames" "xdotool" "xdotool") ||
                echo "Going on without xdotool." ;;
        makeinfo) command -v makeinfo >/dev/null 2>&1 || install "makeinfo, which makes the Info manual" "texinfo" "texinfo" ;;
        *) echo "need.sh: unknown: $thing" >&2; exit 2 ;;
    esac
done
