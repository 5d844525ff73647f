//! Programs that read: each with what it may be given, and with what is made of that by clusters, abbreviations,
//! other spellings and words that are appended.

use super::{World, check};
use serde_json::json;

/// What reads, and the options that must not pass with it: letters, and long names with their dashes.
struct Row {
    reads: &'static str,
    letters: &'static str,
    long: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row { reads: "apt-cache policy", letters: "oc", long: &["--option", "--config-file"] },
    Row { reads: "hg cat README.md", letters: "oR", long: &["--output", "--config", "--cwd", "--repository"] },
    Row { reads: "zpool status", letters: "c", long: &[] },
    Row { reads: "pip show ruff", letters: "i", long: &["--log", "--python", "--proxy", "--index-url"] },
    Row { reads: "dmsetup ls", letters: "", long: &["--exec"] },
    Row { reads: "npm view react", letters: "", long: &["--viewer", "--browser", "--git", "--userconfig"] },
    Row { reads: "npm diff", letters: "", long: &["--git", "--diff-dst-prefix-x"] },
    Row { reads: "podman info", letters: "", long: &["--conmon", "--runtime", "--remote", "--url"] },
    Row { reads: "docker ps", letters: "oHc", long: &["--host", "--config"] },
    Row { reads: "kubectl get pods", letters: "skf", long: &["--server", "--kubeconfig", "--raw", "--token", "--as"] },
    Row { reads: "go list ./...", letters: "", long: &["-toolexec", "--toolexec", "-exec", "-modfile", "--overlay"] },
    Row { reads: "terraform version", letters: "", long: &["-chdir", "--chdir"] },
    Row { reads: "systemctl status", letters: "HM", long: &["--host", "--machine", "--root", "--image"] },
    Row { reads: "hledger balance", letters: "o", long: &["--output-file", "--rules-file", "--conf", "--pager"] },
    Row { reads: "ledger bal", letters: "oi", long: &["--output", "--script", "--import", "--init-file"] },
    Row {
        reads: "exiftool a.jpg",
        letters: "pwWoP@",
        long: &[
            "-if",
            "-if0",
            "-if5",
            "-printFormat",
            "-tagOut",
            "-addTagsFromFile",
            "-allTagsFromFile",
            "-tagsFromFile",
            "-config",
            "-execute",
            "-textOut",
            "-overwrite_original",
            "-csv",
            "-fileNUM0",
            "-use",
            "-w!",
            "-delete_original",
        ],
    },
    Row {
        reads: "ffprobe -show_format a.mp4",
        letters: "f",
        long: &["-report", "-protocol_whitelist", "-init_hw_device"],
    },
    Row { reads: "mediainfo a.mkv", letters: "", long: &["--LogFile", "--Inform", "--File_Cert"] },
    Row {
        reads: "aspell list",
        letters: "c",
        long: &["--conf", "--personal", "--add-filter", "--per-conf", "--dict-dir"],
    },
    Row { reads: "gpg --list-keys", letters: "o", long: &["--output", "--status-fd", "--homedir", "--keyserver"] },
    Row { reads: "ssh-keygen -lf host.pub", letters: "", long: &["-D", "-t"] },
    Row {
        reads: "pandoc README.md",
        letters: "oLFH",
        long: &["--output", "--filter", "--lua-filter", "--template", "--defaults"],
    },
    Row { reads: "nvidia-smi -q", letters: "fr", long: &["--filename", "--gpu-reset", "--persistence-mode"] },
    Row { reads: "man ls", letters: "PH", long: &["--pager", "--html", "--local-file", "--config-file"] },
    Row { reads: "units", letters: "LUfu", long: &["--log", "--file"] },
    Row { reads: "lshw", letters: "X", long: &["-dump", "-sanitize-x"] },
    Row { reads: "inxi", letters: "UwiL", long: &["--output-file", "--output", "--update"] },
    Row { reads: "difft a b", letters: "", long: &["--override-binary", "--override"] },
    Row { reads: "swaymsg -t get_tree", letters: "ts", long: &["--socket", "--type"] },
    Row { reads: "conda config --show", letters: "", long: &["--add", "--set", "--remove", "--file"] },
    Row { reads: "cargo tree", letters: "ZC", long: &["--config"] },
    Row { reads: "sqlite3 -readonly x.db 'select 1'", letters: "", long: &["-cmd", "-init"] },
    Row { reads: "openssl x509 -in a.pem -noout", letters: "", long: &["-out", "-signkey", "-engine", "-provider"] },
    Row { reads: "xmllint --format a.xml", letters: "", long: &["--output", "--shell", "--load-trace", "--catalogs"] },
    Row { reads: "rpm -qa", letters: "Ue", long: &["--eval", "--pipe", "--root", "--define"] },
    Row { reads: "yq . a.yaml", letters: "is", long: &["--inplace", "--split-exp", "--from-file"] },
    Row { reads: "less README.md", letters: "oOkT", long: &["--log-file", "--lesskey-file", "--tag-file"] },
    Row { reads: "git log", letters: "", long: &["--output", "--ext-diff"] },
    Row { reads: "date", letters: "s", long: &["--set"] },
    Row {
        reads: "tar tf a.tar",
        letters: "",
        long: &["--to-command", "--checkpoint-action", "--use-compress-program"],
    },
    Row { reads: "find . -name x", letters: "", long: &["-exec", "-delete", "-fprint", "-ok"] },
];

/// Programs whose options that do more are few, and named: another option of theirs only reads, or is none.
const NAMED_ALONE: &[&str] = &["git ", "date"];

#[test]
fn no_spelling_of_an_option_that_does_more_passes() {
    let world = World::new();
    let mut wrong = Vec::new();
    for row in ROWS {
        if world.verdict("shell", json!({"command": row.reads})) != "pass" {
            wrong.push(format!("asks: {}", row.reads));
        }
        let mut options = Vec::new();
        if !NAMED_ALONE.iter().any(|name| row.reads.starts_with(name)) {
            options.extend(["--zzunknown".to_string(), "--zzunknown=./x".to_string()]);
        }
        for letter in row.letters.chars() {
            options.extend([format!("-{letter} ./x"), format!("-{letter}./x"), format!("-v{letter} ./x")]);
        }
        for long in row.long {
            options.extend([format!("{long} ./x"), format!("{long}=./x")]);
            // What begins a name is a name for many readers of options; one letter is another's.
            let dashes = long.chars().take_while(|c| *c == '-').count();
            if dashes == 2 {
                options.extend(
                    [5, long.len() / 2, long.len() - 1].map(|n| format!("{}=./x", &long[..n.max(5).min(long.len())])),
                );
            }
        }
        for option in options {
            let command = format!("{} {option}", row.reads);
            if world.verdict("shell", json!({"command": command.clone()})) == "pass" {
                wrong.push(format!("passes: {command}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn words_that_are_appended_do_not_pass_where_they_could_be_options_or_set_something() {
    let world = World::new();
    let mut wrong = Vec::new();
    for row in ROWS.iter().filter(|row| !row.reads.starts_with("date")) {
        let command = format!("echo x | xargs {}", row.reads);
        if world.verdict("shell", json!({"command": command.clone()})) == "pass" {
            wrong.push(command);
        }
    }
    assert!(wrong.is_empty(), "passes:\n{}", wrong.join("\n"));
    let more = [
        "echo block all | xargs rfkill",
        "echo x | xargs pyenv global",
        "ls | xargs pyenv local",
        "ls | xargs hg branch",
        "echo 90 | xargs playerctl position",
        "git ls-files | xargs nmcli device",
        "find . -name x | xargs losetup -a",
        "echo x | xargs lshw",
        "echo x | xargs units",
        "ls | xargs gh pr view",
    ];
    check(&world, "shell", "command", "ask|deny", &more);
    let kept = [
        "docker ps -aq | xargs docker inspect",
        "kubectl get pods -o name | xargs kubectl describe",
        "find . -name '*.rs' | xargs wc -l",
    ];
    check(&world, "shell", "command", "pass", &kept);
}

#[test]
fn operands_that_start_programs_or_set_something_ask() {
    let world = World::new();
    let more = [
        "exiftool 'id|'",
        "exiftool '|id'",
        "exiftool -Artist=x a.jpg",
        "exiftool '-Artist<Comment' a.jpg",
        "exiftool -o",
        "ffprobe -f lavfi 'testsrc,metadata=print:file=src/main.rs' -show_frames",
        "ffprobe -show_frames lavfi:testsrc",
        "ffprobe -i movie:x",
        "ffprobe concat:a.ts",
        "ffprobe subfile:,,start,0,end,9,,:a",
        "mediainfo https://a.example/x",
        "ledger python ./x.py bal",
        "cat x | hledger add b",
        "hledger import bal",
        "ledger bal -Vo src/main.rs",
        "ledger -f a.ledger source bal",
        "ledger -f '!./x' bal",
        "ledger -f'!./x' bal",
        "ledger --file='!./x' bal",
        "ledger -S bal python ./x.py",
        "ledger --depth bal python ./x.py",
        "ledger -Q bal",
        "apt-cache policy -qo Dir::Bin::dpkg=./x",
        "hg cat -vo src/main.rs README.md",
        "zpool status -vc script",
        "pip show --lo src/main.rs",
        "dmsetup ls --ex ./x",
        "npm help ls",
        "npm fund react",
        "npm view react --viewer=browser --browser=./x",
        "aws --weird list-x ec2 terminate-instances --instance-ids i",
        "aws --weird describe-x s3 rm s3://a",
        "aws ec2 describe-vpcs --filters file:///etc/hosts",
        "aws --endp http://a.example ec2 describe-vpcs",
        "tmux ls ';' run-shell id",
        "tmux ls \\; run-shell id",
        "swaymsg -t get_tree -t command exec id",
        "gio mime text/plain x.desktop",
        "nmcli general hostname new",
        "dnf history store",
        "poetry version --short patch",
        "poetry version patch",
        "gcloud config configurations import x",
        "gcloud compute zones x",
        "fly version upgrade",
        "asdf list all nodejs",
        "terraform providers lock",
        "pandoc -f ./reader README.md",
        "pandoc -t./writer README.md",
        "pandoc --to=./writer README.md",
        "nvidia-smi drain",
        "nvidia-smi vgpu -x",
        "uniq a b",
        "inxi --output json --output-file /tmp/x",
        "inxi -U",
        "units -L src/main.rs",
        "lshw -dump src/main.rs",
        "aspell --conf=./x list",
        "aspell list --add-filter=./x",
        "go list --toolexec=./x ./...",
    ];
    check(&world, "shell", "command", "ask|deny", &more);
    let reads = [
        "exiftool -j -CreateDate -ImageSize a.jpg",
        "ffprobe -v error -show_entries format=duration -of csv=p=0 a.mp4",
        "mediainfo --Output=JSON a.mkv",
        "hunspell -l notes.txt",
        "aspell -d en_GB list < notes.txt",
        "ledger -f a.ledger reg --monthly Expenses",
        "hledger -f a.journal bal -M",
        "gh pr list --state open --json title",
        "aws ec2 describe-instances --instance-ids i-1",
        "helm list -A",
        "systemctl list-units --type=service --state=failed",
        "npm ls --depth=0",
        "pip list --outdated",
        "go list -m -json all",
        "hg log -l 3 --stat",
        "kubectl get pods -o wide -A",
        "kubectl get pods -ojson",
        "docker logs --tail 20 -f web",
        "seq 3 | datamash max 1 min 1",
    ];
    check(&world, "shell", "command", "pass", &reads);
}
