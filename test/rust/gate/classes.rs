//! What commands, paths and Lisp reach for: tables by class, and commands put into every place of a script.

use super::{World, check};
use proptest::prelude::*;
use serde_json::json;

#[test]
fn what_is_found_or_bound_is_read_without_a_question() {
    let world = World::new();
    let cases = [
        "wc -l $(git ls-files)",
        "wc -l $(find src -name '*.rs')",
        "cat $(git diff --name-only) | head",
        "head -3 \"$(which ls)\"",
        "git log $(git merge-base main HEAD)..HEAD",
        "git show $(git rev-parse --short HEAD)",
        "git diff \"$(git describe --tags --abbrev=0)\"..HEAD --stat",
        "diff <(sort a) <(sort b)",
        "diff -u <(git show HEAD:README.md) README.md",
        "comm -23 <(sort -u a) <(sort -u b) | wc -l",
        "while read -r f; do wc -l \"$f\"; done < <(git ls-files)",
        "for f in *.md; do wc -l \"$f\"; done",
        "for f in src/*.rs; do echo \"$f\"; head -1 \"$f\"; done",
        "for d in src test; do find \"$d\" -type f | wc -l; done",
        "for i in {1..3}; do echo \"$i\"; done",
        "for f in $(git ls-files '*.rs'); do grep -c fn \"$f\"; done",
        "for ((i = 0; i < 3; i++)); do echo $i; done",
        "git ls-files | while IFS= read -r f; do wc -l \"$f\"; done",
        "ls | while read f; do echo \"$f\"; done",
        "while read -r line; do echo \"$line\"; done < README.md",
        "i=0; while [ $i -lt 3 ]; do echo $i; i=$((i + 1)); done",
        "n=$(wc -l < README.md); echo $((n * 2))",
        "total=0; for f in *.md; do n=$(wc -l < \"$f\"); total=$((total + n)); done; echo $total",
        "[[ -f README.md && $(wc -l < README.md) -gt 10 ]] && echo long",
        "name=README.md; cat \"$name\"",
        "DIR=src; ls $DIR; grep -rn fn \"$DIR\"",
        "sed -n \"$((2 + 3))p\" README.md",
        "set -euo pipefail\nls | wc -l",
        "find . -name '*.json' -exec cat {} +",
        "find . -name '*.rs' -print0 | xargs -0 rg -l TODO",
        "GIT_PAGER=cat git log -1",
        "git -c color.ui=never -c core.pager=cat log -3",
        "git config user.email",
    ];
    check(&world, "shell", "command", "pass", &cases);
}

#[test]
fn programs_that_show_what_they_unpack_or_query_pass() {
    let world = World::new();
    let cases = [
        "gzip -dc x.gz | wc -l",
        "xz -dc x.xz | head",
        "zstd -dc x.zst | tail -1",
        "gunzip -c x.gz",
        "gzip -c README.md | wc -c",
        "tar -xOf x.tar a/b",
        "unzip -p x.zip a.txt",
        "ar t lib.a",
        "7z l x.7z",
        "cpio -it < x.cpio",
        "ldd /bin/ls",
        "yq '.a.b' x.yaml",
        "xmllint --xpath '//a' x.xml",
        "sqlite3 -readonly x.db 'select 1'",
        "sqlite3 x.db .tables",
        "openssl x509 -in cert.crt -noout -dates",
        "rpm -qa",
        "rpm -q --qf '%{NAME}\\n' bash",
        "go list ./...",
        "rustc --print sysroot",
        "pkg-config --modversion glib-2.0",
        "less README.md",
        "info ls",
        "java -version",
        "emacs --version",
        "curl --version",
        "php -v",
        "ulimit -a",
        "pdftotext x.pdf -",
    ];
    check(&world, "shell", "command", "pass", &cases);
}

#[test]
fn options_that_run_write_load_or_read_lists_ask() {
    let world = World::new();
    let cases = [
        "mawk -W exec x",
        "gawk -b -f x",
        "objdump -d ./x --plugin=x",
        "nm --plugin ./x y",
        "git help -w x",
        "git diff --output-directory=x",
        "git symbolic-ref HEAD refs/heads/x",
        "git config core.pager x",
        "git -c core.pager=./x log",
        "file -m ./magic x",
        "mesg y",
        "wc --files0-from=list",
        "cloc --extract-with='rm x' y",
        "tar tf x -T list",
        "tar tf a:b/c",
        "tar -xf x -O --checkpoint-action=exec=id",
        "unzip -p x -d y",
        "zstd -dc x -o y",
        "lz4 -dc x y",
        "yq -i '.a=1' x",
        "yq 'load(\"x\")' y",
        "xmllint --noent x",
        "xmllint --output x y",
        "sqlite3 x.db 'drop table y'",
        "sqlite3 -readonly x.db '.shell rm x'",
        "sqlite3 -readonly x.db \"select load_extension('./x')\"",
        "sqlite3 -readonly x.db 'select 1\n.shell id'",
        "openssl x509 -in a -out b",
        "rpm -q --eval '%(id)'",
        "rpm -qa --pipe 'rm x'",
        "go env -w GOFLAGS=-x",
        "go list -toolexec=x ./...",
        "rustc --print=sysroot=out",
        "less '+!rm x' y",
        "less -o log y",
        "ldd ./x",
        "pdftotext a b",
        "set -- rm x",
        "read PATH",
        "read -u 3 x",
        "lastlog --clear -u root",
        "crontab -e",
        "blkid -c out",
        "xargs --",
        "ls | xargs env",
        "ls | xargs busybox",
        "ls | xargs xargs",
        "echo '--pre=./x' | xargs rg foo",
        "echo '-o/tmp/x' | xargs tree",
        "find . -exec awk {} \\;",
    ];
    check(&world, "shell", "command", "ask|deny", &cases);
}

#[test]
fn what_variables_and_substitutions_hide_does_not_pass() {
    let world = World::new();
    let cases = [
        "f=.env; cat $f",
        "f=.e; g=nv; cat $f$g",
        "a=r; b=m; $a$b -rf x",
        "x=rm; $x -rf src",
        "for c in ls rm; do $c -rf src; done",
        "for o in -o; do sort x $o y; done",
        "x='a -o b'; sort $x",
        "x=safe; x+=' -o y'; sort $x",
        "(x=echo); $x rm -rf src",
        "false && x=echo; $x rm foo",
        "x=-C; git $x < f push",
        "x=get; git config $x < f core.pager evil",
        "x=-delete; find . $x",
        "for p in -delete; do find . $p; done",
        "for f in .env; do cat $f; done",
        "for f in .e*; do cat \"$f\"; done",
        "for d in .ssh; do cat ~/$d/id_rsa; done",
        "for u in shadow passwd; do cat /etc/$u; done",
        "for PATH in .; do ls; done",
        "for LD_PRELOAD in ./x.so; do ls; done",
        "read f <<< .env; cat \"$f\"",
        "while read l; do $l; done < x",
        "while read -r l; do cat \"$l\"; done < x",
        "ls -a | while read f; do cat \"$f\"; done",
        "ls | while read f; do rm \"$f\"; done",
        "x='a[$(id)]'; echo $((x))",
        "n=$(cat f); echo $((n + 1))",
        "[[ $(cat f) -gt 10 ]]",
        "[ -v 'a[$(id)]' ]",
        "for ((i=a[$(rm x)];i<1;i++)); do ls; done",
        "cat $(printf '%s%s' .e nv)",
        "cat $(echo vne. | rev)",
        "cat $(find . -name '.e*')",
        "cat $(ls -a | grep env)",
        "cat $(git log -1 --format=%s)",
        "cat $(cat list)",
        "cat $(pwd)/.env",
        "cat $(find . -maxdepth 0 -printf '.env')",
        "find . -name '.env*' | xargs cat",
        "ls -d .e* | xargs cat",
        "printf '%s%s' .e nv | xargs cat",
        "echo -e '\\x2eenv' | xargs cat",
        "xargs cat < <(printf '%s%s' .e nv)",
        "xargs cat <<< .env",
        "git log $(echo --output=x)",
        "git log $(git rev-parse --output=x)",
        "sed $(ls) README.md",
        "uniq $(ls)",
        "$(ls)",
        "cat <(sh -c 'rm x')",
        "ls | tee >(sh)",
        "source <(ls)",
        "diff <(cat .env) x",
        "path=(.); ls",
        "GIT_PAGER=./x git log",
        "IFS=x; ls",
        "curl() { rm x; }; curl --version",
        "./curl --version",
    ];
    check(&world, "shell", "command", "ask|deny", &cases);
}

#[test]
fn read_in_any_other_spelling_or_without_a_name_asks() {
    let world = World::new();
    for script in [
        "f=ls; command read f < list.txt; $f",
        "REPLY=ls; read < list.txt; $REPLY",
        "x=1; for i in 1 2; do echo $((x)); \\read x < list.txt; done",
        "x=1; builtin read x < list.txt; [[ $x -eq 1 ]]",
        "x=README.md; command read x < list.txt; sort $x",
        "x=1; time read x < list.txt; echo $((x))",
        "x=1; 'read' x < list.txt; echo $((x))",
        "x=1; \"read\" x < list.txt; echo $((x))",
        "x=1; command -p read x < list.txt; echo $((x))",
    ] {
        assert_eq!(world.verdict("shell", json!({"command": script})), "ask", "{script}");
    }
    for script in ["while read -r line; do echo \"$line\"; done < list.txt", "grep read list.txt", "echo read"] {
        assert_eq!(world.verdict("shell", json!({"command": script})), "pass", "{script}");
    }
}

#[test]
fn reads_below_a_home_ask_also_from_within() {
    let world = World::new();
    for script in ["cd && cat notes.txt", "cd ~ && cat notes.txt", "cd ~; cat *", "pushd ~; cat foo", "cd ~; cat $(ls)"]
    {
        assert_eq!(world.verdict("shell", json!({"command": script})), "ask", "{script}");
    }
    for script in ["cd src && cat a.txt", "cd ~ && ls"] {
        assert_eq!(world.verdict("shell", json!({"command": script})), "pass", "{script}");
    }
}

#[test]
fn prose_in_arguments_is_no_command() {
    let world = World::new();
    let cases = [
        "grep 'rm -rf' README.md",
        "grep -rn \"sudo rm -rf /\" src",
        "rg 'mkfs.ext4 /dev/sda'",
        "echo 'do not run: rm -rf ~'",
        "printf '%s\\n' 'dd if=/dev/zero of=/dev/sda'",
        "git log --grep='chmod -R 777 /'",
        "grep emacsclient README.md",
        "awk '/rm -rf/ {print}' README.md",
        "cat <<'EOF'\nrm -rf / and `id` and $HOME\nEOF",
    ];
    check(&world, "shell", "command", "pass", &cases);
}

#[test]
fn secrets_of_every_kind_of_program_are_out_of_reach_and_their_namesakes_are_not() {
    let world = World::new();
    let secret = [
        "~/.docker/contexts/meta.json",
        "~/.config/pypoetry/auth.toml",
        "~/.bundle/config",
        "~/.terraformrc",
        "~/.config/glab-cli/config.yml",
        "~/.huggingface/token",
        "~/.config/Bitwarden/data.json",
        "~/.config/keepassxc/keepassxc.ini",
        "~/.librewolf/x/logins.json",
        "~/.mutt/muttrc",
        "~/.config/Slack/Cookies",
        "~/.monero/wallet",
        "~/.dbeaver/x",
        "~/.local/share/fish/fish_history",
        "~/.viminfo",
        "wallet.dat",
        "wg0.conf",
        "prod.auto.tfvars.json",
        "firebase-adminsdk-x.json",
        "deploy_key",
        ".vault_pass",
        "core.1234",
        "/etc/kubernetes/admin.conf",
        "/etc/letsencrypt/live/x/privkey.pem",
        "/etc/ppp/chap-secrets",
        "/tmp/krb5cc_1000",
        "/var/crash/x",
        "[[file:wallet.dat][notes]]",
        "auth.json",
        "/tmp/x/auth.json",
        "/etc/ssl/certs/../private/x.key",
    ];
    check(&world, "read-file", "path", "deny", &secret);
    let free = [
        "/tmp/auth.json",
        "/etc/ssl/certs/ca-bundle.pem",
        "src/token.rs",
        "docs/password-policy.org",
        "secrets.md",
        "tests/credentials_test.go",
        ".env.example",
        "id_ed25519.pub",
        "src/core.rs",
        "src/wallet.ts",
        "tokenizer.json",
        "variables.tf",
    ];
    check(&world, "read-file", "path", "pass", &free);
}

#[test]
fn lisp_that_takes_values_apart_is_pure() {
    let world = World::new();
    let pure = [
        "(cl-destructuring-bind (a b &optional (c 3)) '(1 2) (list a b c))",
        "(seq-let (a b) '(1 2) (+ a b))",
        "(let-alist '((a . 1) (b . 2)) (+ .a .b))",
        "(pcase '(add 1 2) (`(add ,x ,y) (+ x y)) ((pred listp) nil))",
        "(pcase 5 ((and n (guard (> n 3))) n))",
        "(pcase-let ((`(,a . ,b) '(1 . 2))) (+ a b))",
        "(named-let f ((n 5)) (if (zerop n) 1 (* n (f (1- n)))))",
        "(letrec ((f (lambda (n) (if (< n 2) 1 (* n (funcall f (1- n))))))) (funcall f 5))",
        "(cl-flet ((sq (x) (* x x))) (sq 4))",
        "(cl-labels ((f (n) (if (< n 2) 1 (* n (f (1- n)))))) (mapcar #'f '(1 2)))",
        "(let ((f (lambda (x) (* x 2)))) (funcall f 3))",
        "(let ((h (make-hash-table))) (cl-incf (gethash 'a h 0)) (setf (gethash 'b h) 1) h)",
        "(with-temp-buffer (insert \"b\\na\\n\") (sort-lines nil (point-min) (point-max)) (buffer-string))",
        "(cl-case 1 (1 'one) (t 'other))",
        "(cl-do ((i 0 (1+ i)) (s 0 (+ s i))) ((= i 3) s))",
        "(string-match-p (rx bol (+ alpha)) \"abc\")",
        "(org-duration-to-minutes \"1:30\")",
        "(days-between \"2024-01-01\" \"2023-01-01\")",
        "(expand-file-name \"a\" \"/b\")",
    ];
    check(&world, "eval-lisp", "code", "pass", &pure);
    let harmful = [
        "(let ((car 'delete-file)) (funcall car \"x\"))",
        "(let ((f #'car)) (setq f 'delete-file) (funcall f \"x\"))",
        "(let ((f #'car)) (let ((f 'delete-file)) (funcall f \"x\")))",
        "(let ((f #'car)) (dolist (f '(delete-file)) (funcall f \"x\")))",
        "(cl-flet ((delete-file (x) x)) (funcall 'delete-file \"y\"))",
        "(cl-flet ((f (intern \"delete-file\"))) (f \"x\"))",
        "(cl-labels ((f (x) (delete-file x))) (f \"y\"))",
        "(named-let delete-file ((x 1)) (funcall 'delete-file \"y\"))",
        "(and-let* ((x 1) ((delete-file \"y\"))) x)",
        "(princ \"x\" 'delete-file)",
        "(pcase x ((pred delete-file) 1))",
        "(pcase x ((app shell-command y) 1))",
        "(pcase x ((guard (delete-file \"y\")) 1))",
        "(pcase x (`(,(pred delete-file) ,b) 1))",
        "(pcase-let ((`(,a) (delete-file \"x\"))) a)",
        "(cl-destructuring-bind (a &optional (b (delete-file \"x\"))) l a)",
        "(let-alist (delete-file \"x\") .a)",
        "(with-temp-buffer (insert \"x\") (write-region 1 2 \"f\"))",
        "(with-temp-buffer (with-current-buffer \"x\" (insert \"y\")))",
        "(insert \"x\")",
        "(setf (symbol-function 'car) 'delete-file)",
        "(setf (gethash 'a auth-source-cache) 1)",
        "(rx (eval (delete-file \"x\")))",
        "(mapcar (lambda (x &optional (y (delete-file \"z\"))) x) l)",
        "(describe-variable 'x)",
    ];
    check(&world, "eval-lisp", "code", "ask|deny", &harmful);
}

/// Commands that ask or are denied wherever they stand.
const ASKING: &[&str] = &[
    "rm x",
    "sort x -o y",
    "find . -delete",
    "git push",
    "sh -c id",
    "tee x",
    "sed -i s/a/b/ x",
    "awk 'BEGIN{system(\"id\")}'",
    "./x",
    "cat .env",
];

/// Places in which a command can stand, `@` for the command.
const PLACES: &[&str] = &[
    "@",
    "ls; @",
    "@ | wc -l",
    "ls | @",
    "ls && @",
    "ls || @",
    "! @",
    "(@)",
    "{ @; }",
    "echo $(@)",
    "echo \"$(@)\"",
    "echo `@`",
    "cat <(@)",
    "wc -l $(@)",
    "x=$(@); echo $x",
    "for f in $(@); do echo \"$f\"; done",
    "for f in a b; do @; done",
    "while @; do ls; done",
    "while read -r l; do @; done < x",
    "ls | while read -r l; do @; done",
    "if ls; then @; fi",
    "if @; then ls; fi",
    "case a in a) @;; esac",
    "[[ -n $(@) ]]",
    "[ -n \"$(@)\" ]",
    "cat <<E\n$(@)\nE",
    "ls\n@\nls",
    "ls # c\n@",
    "for ((i = 0; i < 2; i++)); do @; done",
    "wc -l < <(@)",
    "env @",
    "nice @",
    "timeout 5 @",
    "command @",
    "time @",
    "stdbuf -oL @",
    "xargs @",
    "find . -exec @ \\;",
    "busybox @",
    "ls | xargs -n1 @",
    "echo $((1 + $(@)))",
    "f=x; cat \"$f\" | @",
    "x=1 @",
    "cat x <<< \"$(@)\"",
    "echo ${x:-$(@)}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_command_that_asks_never_passes_wherever_it_stands(
        command in proptest::sample::select(ASKING),
        places in proptest::collection::vec(proptest::sample::select(PLACES), 1..4),
    ) {
        let world = World::new();
        let script = places.iter().fold(command.to_string(), |inner, place| place.replace('@', &inner));
        prop_assert_ne!(world.verdict("shell", json!({"command": script.clone()})), "pass", "{}", script);
    }
}

#[test]
fn what_describes_lists_and_shows_is_known_in_every_family() {
    let world = World::new();
    let reads = [
        "kubectl logs -f deploy/shop --tail=5",
        "kubectl -n shop logs -f pod/web",
        "kubectl config view",
        "docker compose -f stage.yml -p shop ps",
        "docker service logs shop_web",
        "docker context inspect",
        "podman container ls -a",
        "helm get values shop",
        "gh secret list",
        "gh auth status",
        "cargo search serde --limit 3",
        "npm audit --json",
        "pip cache list",
        "pip3 config list",
        "poetry show --tree",
        "go mod graph",
        "hg log -l 3",
        "hg status",
        "svn info",
        "jj log -n 5",
        "resolvectl status",
        "coredumpctl list",
        "networkctl status eth0",
        "nmcli device",
        "nmcli -t device status",
        "zypper search ripgrep",
        "apk info -v",
        "zpool status -v",
        "btrfs filesystem usage /",
        "aws sts get-caller-identity",
        "aws --region eu-central-1 ec2 describe-vpcs",
        "az group list -o table",
        "gcloud config list",
        "xrandr --query",
        "code --list-extensions",
        "firewall-cmd --list-all",
        "git remote show -n origin",
        "docker ps -aq | xargs docker inspect",
        "kubectl get pods -o name | xargs kubectl describe",
        "find . -type l ! -exec test -e {} \\; -print",
        "emacsclient --version",
        "rustc --version --verbose",
        "openssl x509 -in chain.pem -noout -enddate -subject",
        "openssl req -in shop.csr -noout -text",
        "ssh-keygen -lf host.pub",
        "gpg --verify a.tar.asc a.tar",
        "pandoc --sandbox -f org -t plain README.md",
        "pandoc README.md -t gfm --wrap=none | head",
        "exiftool -CreateDate -ImageSize a.jpg",
        "ffprobe -v error -show_streams -of json a.mp4",
        "aspell list < README.md",
        "hledger -f a.journal balance",
        "man 5 crontab | col -b",
        "screen -ls",
        "nvidia-smi --query-gpu=memory.used --format=csv",
    ];
    check(&world, "shell", "command", "pass", &reads);
    let more = [
        "kubectl get Secrets shop -o yaml",
        "kubectl get secrets.v1. -A",
        "kubectl get -fhttps://a.example/x.yaml",
        "kubectl cluster-info dump --output-directory=out",
        "kubectl get pods --profile=cpu --profile-output=x",
        "docker compose -f evil.yml up",
        "docker compose -f x run web sh",
        "docker compose config -ofile",
        "gh auth status --show-token",
        "npm audit fix",
        "echo fix | xargs npm audit",
        "docker ps --format '--output=x' | xargs docker compose config",
        "docker ps -q --format '--output=x' | xargs docker compose config",
        "echo secret | xargs kubectl get",
        "nmcli device disconnect eth0",
        "nmcli connection delete shop",
        "nmcli connection show --show-secrets shop",
        "playerctl position 10",
        "pyenv local 3.12",
        "hg branch new",
        "hg --config alias.log=!id log",
        "hg cat -o x README",
        "svn log svn+ssh://a.example/x",
        "svn diff --diff-cmd ./x",
        "jj diff --tool ./x",
        "jj --config ui.pager=id log",
        "tmux ls -F '#(id)'",
        "tmux list-windows -F#(id)",
        "firewall-cmd --list-all --add-port=22/tcp",
        "code --list-extensions --install-extension x.y",
        "zpool iostat -c ./x",
        "btrfs device stats -z /",
        "losetup -l -d /dev/loop0",
        "aws secretsmanager get-secret-value --secret-id x",
        "aws ec2 describe-vpcs --endpoint-url http://a.example",
        "gcloud config configurations activate x",
        "xrandr --output eDP-1 --off",
        "nix-store -q --add-root x /nix/store/y",
        "resolvectl query a.example",
        "gio cat notes.org",
        "emacsclient --version x.el",
        "openssl req -new -key k",
        "openssl x509 -in a.crt -signkey b",
        "ssh-keygen -t ed25519 -f new",
        "gpg --import a.asc",
        "gpg --list-keys --output x",
        "pandoc README.md -o x.html",
        "pandoc -t evil.lua README.md",
        "pandoc --filter ./x README.md",
        "pandoc https://a.example/x",
        "exiftool -Comment=x a.jpg",
        "exiftool -if 'system(\"id\")' a.jpg",
        "exiftool -@ args",
        "ffprobe https://a.example/x.m3u8",
        "aspell check README.md",
        "hledger -f a.journal balance -o x",
        "ledger -f a.ledger --script x balance",
        "man ./a.1",
        "man /etc/hosts",
        "screen -dm id",
        "nvidia-smi -pm 1",
    ];
    check(&world, "shell", "command", "ask|deny", &more);
    // Work that asks is not refused, wherever keys are made.
    let work = ["ssh-keygen -t ed25519 -f ~/.ssh/id_new", "gpg --export me", "pandoc a.md -o a.pdf"];
    check(&world, "shell", "command", "ask", &work);
}

#[test]
fn keys_histories_and_homes_of_others_are_shut_wherever_programs_keep_them() {
    let world = World::new();
    let shut = [
        "~/.config/pip/pip.conf",
        "~/.hgrc",
        "~/.subversion/auth/svn.simple/0af",
        "~/.dbt/profiles.yml",
        "~/.jupyter/jupyter_server_config.json",
        "~/.config/himalaya/config.toml",
        "~/.config/rbw/config.json",
        "~/.vnc/passwd",
        "~/.dbeaver4/credentials-config.json",
        "~/.local/state/zsh/history",
        "~/.local/share/nu/history",
        "~/.emacs.d/eshell/history",
        "~/.aider.chat.history.md",
        "~/.gist-token",
        "~/.shop_api_key",
        "~/.erlang.cookie",
        "~/.Xauthority",
        "~/.local/share/passepartout/store.db",
        "~/Library/Application Support/Firefox/profiles.ini",
        "~/Documents/Passwords.xlsx",
        "release.p8",
        "shop.env",
        ".dev.vars",
        "local.settings.json",
        "appsettings.Production.json",
        "values-secret-prod.yaml",
        "api-keys.txt",
        "vault.kdbx.bak",
        "/var/run/docker.sock",
        "/etc/postfix/sasl/sasl_passwd",
        "/proc/1/auxv",
        "/tmp/ssh-abc/agent.12",
    ];
    check(&world, "read-file", "path", "deny", &shut);
    let kept = [
        "~/.config/some-new-tool/config.toml",
        "~/.local/share/some-new-tool/data.json",
        "~/.some-new-tool/accounts.xml",
        "~/.cache/some-new-tool/index.sqlite",
        "~/.zsh.d/shop-tokens.zsh",
    ];
    check(&world, "read-file", "path", "ask", &kept);
    let programs = ["~/.config/some-new-tool/notes.md", "~/.config/some-new-tool/theme.css"];
    check(&world, "read-file", "path", "pass", &programs);
    check(&world, "read-file", "path", "ask", &["/home/somebody-else/diary.org", r"\\host\share\a.txt"]);
    let free = [
        "secrets.example.yaml",
        "shop.env.example",
        "example.env",
        r"a\.env",
        "token.rs",
        "src/history.rs",
        "appsettings.json",
        "values.yaml",
        "password.rs",
        "keys.md",
    ];
    check(&world, "read-file", "path", "pass", &free);
    check(&world, "shell", "command", "pass", &["git grep -n process.env", "git log --grep password"]);
}

#[test]
fn lisp_that_looks_at_keys_windows_and_times_is_pure() {
    let world = World::new();
    let pure = [
        "(bound-and-true-p visual-line-mode)",
        "(read \"(a . 1)\")",
        "(org-read-date nil nil \"+2w\")",
        "(calc-eval \"7 * 6\")",
        "(lookup-key global-map (kbd \"C-x s\"))",
        "(mapcar #'window-buffer (list (selected-window)))",
        "(subst-char-in-string ?- ?_ \"a-b\")",
        "(length (buffer-list))",
        "(mapcar (pcase-lambda (`(,k . ,v)) (cons v k)) '((1 . 2)))",
        "(let ((v (make-vector 2 0))) (aset v 0 1) v)",
        "(with-temp-buffer (insert \"* A\\n\") (org-map-entries #'org-get-heading))",
        "(calendar-nth-named-day 1 0 12 2026)",
        "(map-merge-with 'list #'+ '((a . 1)) '((a . 2)))",
    ];
    check(&world, "eval-lisp", "code", "pass", &pure);
    let more = [
        "(bound-and-true-p my-password)",
        "(read (current-buffer))",
        "(read)",
        "(eval (read \"(delete-file \\\"x\\\")\"))",
        "(org-read-date)",
        "(calc-eval (buffer-string))",
        "(calc-eval \"1\" 'macro)",
        "(funcall (lookup-key global-map (kbd \"C-x s\")))",
        "(mapcar (pcase-lambda (`(,k . ,v)) (delete-file k)) '((1 . 2)))",
        "(pcase-lambda ((pred delete-file)) 1)",
        "(aset exec-path 0 \"x\")",
        "(setcar load-path \"x\")",
        "(org-map-entries #'org-babel-execute-src-block)",
        "(org-map-entries #'ignore t 'agenda)",
        "(map-merge-with 'list #'rename-file '((a . 1)) '((a . 2)))",
    ];
    check(&world, "eval-lisp", "code", "ask|deny", &more);
}

#[test]
fn lisp_that_changes_values_of_emacs_itself_asks() {
    let world = World::new();
    let more = [
        "(setcdr global-map nil)",
        "(setcar org-todo-keywords 'x)",
        "(aset (cdr global-map) 0 nil)",
        "(let ((m global-map)) (setcdr m nil))",
        "(let ((k org-todo-keywords)) (setf (car k) nil))",
        "(let ((k org-todo-keywords)) (nreverse k))",
        "(nreverse features)",
        "(let ((m (current-global-map))) (setcdr m nil))",
        "(fillarray (symbol-value 'exec-path) nil)",
        "(mapc #'clrhash (list obarray))",
        "(funcall #'setcdr global-map nil)",
        "(puthash 1 2 some-table)",
        "(ring-insert kill-ring 1)",
        "(ring-insert (car x) 1)",
        "(org-table-get-field 2 \"x\")",
    ];
    check(&world, "eval-lisp", "code", "ask|deny", &more);
    let pure = [
        "(let ((v (make-vector 2 0))) (aset v 0 1) v)",
        "(let ((h (make-hash-table))) (puthash 1 2 h) (remhash 1 h) (clrhash h) h)",
        "(let ((l (list 1 2))) (setcar l 3) (setcdr (cdr l) nil) l)",
        "(let ((r (make-ring 3))) (ring-insert r 1) (ring-elements r))",
        "(with-temp-buffer (insert \"| a |\") (org-table-get-field 1))",
        "(sort (list 3 1 2) #'<)",
    ];
    check(&world, "eval-lisp", "code", "pass", &pure);
}

#[test]
fn folders_of_secrets_clients_for_files_and_keys_of_conversations_are_shut() {
    let world = World::new();
    let shut = [
        "~/.secrets/mail.txt",
        "~/.keys/shop",
        "~/.private/list.txt",
        "~/secrets/bank.txt",
        "~/.otr/otr.private_key",
        "~/.config/Signal/config.json",
        ".vscode/sftp.json",
        "sftp-config.json",
        ".ftpconfig",
        "backup/sitemanager.xml",
        "winscp.ini",
        "autounattend.xml",
        "wallet.mnemonic",
        "seed_phrase.txt",
    ];
    check(&world, "read-file", "path", "deny|ask", &shut);
    let open =
        ["src/sftp.rs", "docs/filezilla.md", "src/secrets/mod.rs", "docs/private/plan.org", "seeds.json", "signal.py"];
    check(&world, "read-file", "path", "pass", &open);
}

#[test]
fn help_of_a_command_and_a_repository_before_it_are_read_without_a_question() {
    let world = World::new();
    let fine = [
        "docker run --help",
        "kubectl get --help",
        "vault version",
        "hugo version",
        "gh -R owner/repo pr list",
        "gh --repo owner/repo issue view 3",
        "blockdev --report",
    ];
    check(&world, "shell", "command", "pass", &fine);
    let asks = [
        "docker exec box --help",
        "kubectl evil --help",
        "docker evil --help",
        "helm evil --help",
        "brew evil --help",
        "minikube kubectl --help",
        "yarn build --help",
        "npm run --help",
        "cargo own --help",
        "gh -R owner/repo pr merge 3",
        "docker run image --help",
        "docker ./run --help",
    ];
    check(&world, "shell", "command", "ask|deny", asks.get(1..).unwrap_or(&[]));
    check(&world, "shell", "command", "ask|deny", asks.get(..1).unwrap_or(&[]));
    // A continued line is what the shell makes of it.
    let hidden = [
        "echo \"$\\\n(rm -rf src)\"",
        "x='$(rm -rf src)'; echo \"$\\\n{x@P}\"",
        "cat <\\\n(rm -rf src)",
        "echo `r\\\nm -rf src`",
        "echo \"$$(\" # \\\nrm -rf src; echo \")\"",
        "echo \"$(case\tx in x) sh -c 'echo a # \\\nrm -rf src' ;; esac)\"",
        "echo \"$\\\n(case x in x) sh -c 'echo a # \\\nrm -rf src' ;; esac)\"",
        "cat <<E\nit's $\\\n(rm -rf src) it's\nE",
        "cat <<'E' \\\n; rm -rf src\nE",
        "ls &\\\n& rm -rf src",
        "r\\\nm -rf src",
    ];
    check(&world, "shell", "command", "ask|deny", &hidden);
    check(
        &world,
        "shell",
        "command",
        "pass",
        &["ls -l \\\n  src", "git log \\\n --oneline |\\\n head -3", "grep -n 'a\\\nb' README.md"],
    );
}

#[test]
fn lisp_that_threads_values_is_pure_as_far_as_its_steps_are() {
    let world = World::new();
    let pure = [
        "(thread-first 5 (+ 20) - (/ 2))",
        "(thread-last '(1 2) (mapcar #'1+) (apply #'+) number-to-string)",
        "(car (read-from-string \"(1 2)\"))",
    ];
    check(&world, "eval-lisp", "code", "pass", &pure);
    let more = [
        "(thread-first \"x\" delete-file)",
        "(thread-last \"x\" (funcall #'delete-file))",
        "(thread-first 'delete-file (funcall \"x\"))",
        "(thread-last 'delete-file (funcall))",
        "(thread-first 'fset (funcall 'ignore 'delete-file))",
        "(thread-first 'kill-emacs (funcall #'car))",
        "(thread-last 'kill-emacs (princ 'car))",
        "(thread-last org-todo-keywords (push \"X\"))",
        "(thread-first gc-cons-threshold (cl-incf))",
        "(thread-first buffer-file-name (pop))",
        "(thread-last 'kill-emacs (sort '(1 2)))",
        "(thread-first 'delete-file (mapcar '(\"x\")))",
        "(eval (car (read-from-string \"(delete-file \\\"x\\\")\")))",
        "(read-from-string (buffer-string))",
        "(read-from-string \"#.(delete-file 1)\")",
        "(read \"\\x23.(delete-file 1)\")",
    ];
    check(&world, "eval-lisp", "code", "ask|deny", &more);
}
