//! What a confined command can do, tried as the user who runs the tests, and as root also as an ordinary one.

mod reach;
mod trial;
mod walls;

use crate::support::skip::skipped;
use passepartout::domain::action::{Action, Outcome};
use passepartout::domain::gate::clearance::{Cleared, Judgement, judge};
use passepartout::domain::gate::{Case, Facts, Gate, Gates, Verdict};
use passepartout::domain::id::SessionId;
use passepartout::domain::label::{Labels, Provenance, Trust};
use passepartout::domain::scope::Scope;
use passepartout::domain::signal::Sensor;
use passepartout::domain::tool::Toolbox;
use passepartout::edge::actuator::shell::{Shell, TrialLimits};
use passepartout::edge::sandbox::{
    Ending, Launcher, Limits, Policy, RunReport, SandboxError, SecretTest, Task, Walls, changed_files, probe, run,
    stamps,
};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const NOBODY: u32 = 65534;

/// A world to be confined in: a project with a secret, and beside it what must not be seen.
struct World {
    folder: tempfile::TempDir,
    user: Option<u32>,
}

impl World {
    fn new(user: Option<u32>) -> World {
        // Not below /tmp: inside, that is a folder of its own, which can be written.
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let world = World { folder, user };
        for name in ["", "home", "home/work", "home/work/project", "home/memex", "home/store", "elsewhere"] {
            fs::create_dir_all(world.path(name)).unwrap();
            fs::set_permissions(world.path(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        // By another process: a file that this one has open for writing, even for a moment, may be inherited by a
        // child of another test, and what is open for writing cannot be started.
        let launcher = env!("CARGO_BIN_EXE_passepartout-run");
        assert!(Command::new("cp").arg(launcher).arg(world.path("run")).status().unwrap().success());
        for (name, text) in [
            ("home/work/project/.env", "TOKEN=hunter2"),
            ("home/work/project/notes.txt", "open"),
            ("home/.authinfo", "hunter2"),
            ("home/memex/diary.org", "* hunter2"),
            ("home/store/store.db", "hunter2"),
            ("elsewhere/file", "hunter2"),
        ] {
            fs::write(world.path(name), text).unwrap();
        }
        if let Some(user) = user {
            for path in [PathBuf::from("home")].into_iter().chain(below(&world.path("home"))) {
                chown(world.folder.path().join(path), Some(user), Some(user)).unwrap();
            }
        }
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn project(&self) -> PathBuf {
        self.path("home/work/project")
    }

    fn policy(&self) -> Policy {
        let mut policy = Policy::new(self.project());
        policy.hide = ["home", "home/memex", "home/store"].map(|name| self.path(name)).to_vec();
        policy.mask = vec![self.project().join(".env")];
        policy
    }

    /// Runs bash under the launcher with an environment that must not arrive.
    fn bash(&self, policy: &Policy, script: &str) -> (i32, String, String) {
        let mut command = Command::new(self.path("run"));
        command.args(policy.arguments(std::process::id())).args(["--", "bash", "-c", script]).env("SECRET", "hunter2");
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }
}

fn below(folder: &Path) -> Vec<PathBuf> {
    stamps(folder).unwrap().into_keys().collect()
}

/// The users to try as.
fn users() -> Vec<Option<u32>> {
    let root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if root { vec![None, Some(NOBODY)] } else { vec![None] }
}

/// Whether this kernel can confine at all; says so when it cannot.
pub(crate) fn possible() -> bool {
    let world = World::new(None);
    let (code, _, errors) = world.bash(&world.policy(), "true");
    if code == 125 && errors.contains("namespaces") {
        skipped(format_args!("this kernel makes no namespaces: {errors}"));
        return false;
    }
    assert_eq!((code, errors.as_str()), (0, ""), "the launcher runs a command");
    true
}

/// Runs a script in a fresh world for each user and compares what it printed.
fn check(name: &str, script: &str, expected: &str) {
    for user in users() {
        let world = World::new(user);
        let script = script.replace("ROOT", &world.folder.path().canonicalize().unwrap().display().to_string());
        let (_, output, errors) = world.bash(&world.policy(), &script);
        assert_eq!(output.trim(), expected, "{name} as {user:?}; errors: {errors}");
    }
}

#[test]
fn what_a_command_can_and_cannot_do() {
    if !possible() {
        return;
    }
    let cases: &[(&str, &str, &str)] = &[
        ("it runs in its project", "pwd -P | sed 's|.*/||'; cat notes.txt", "project\nopen"),
        ("it writes its project", "echo new > made && mkdir d && mv made d/ && cat d/made", "new"),
        ("it has a folder for scratch", "echo x > /tmp/a && cat $TMPDIR/a && cd $HOME && touch b && ls", "x\nb"),
        (
            "programs of the system run",
            "printf 'b\\na\\n' | sort | tr -d '\\n'; git --version >/dev/null || true",
            "ab",
        ),
        (
            "home is not there",
            "ls -A ROOT/home 2>/dev/null; stat ROOT/home/.authinfo 2>&1 | grep -c 'No such file'",
            "1",
        ),
        ("memex is not there", "stat ROOT/home/memex ROOT/home/memex/diary.org 2>&1 | grep -c 'No such file'", "2"),
        ("the store is not there", "cat ROOT/home/store/store.db 2>&1 | grep -c 'No such file'", "1"),
        ("nor is anything else", "stat ROOT/elsewhere/file /root /home /var/log 2>&1 | grep -c 'No such file'", "4"),
        ("a secret file cannot be read", "cat .env 2>/dev/null || echo refused", "refused"),
        ("nor written", "echo x 2>/dev/null > .env || echo refused", "refused"),
        ("nor moved away", "mv .env e 2>/dev/null || rm -f .env 2>/dev/null || echo refused", "refused"),
        ("nor linked to", "ln .env e 2>/dev/null || echo refused", "refused"),
        ("passwords are not there", "cat /etc/shadow /etc/gshadow /etc/ssh/* 2>/dev/null || echo refused", "refused"),
        (
            "outside cannot be written",
            "for p in / /usr /etc /dev /proc /usr/bin /etc/ssl ROOT/home ROOT; do echo x 2>/dev/null > $p/x && echo $p; done; echo end",
            "end",
        ),
        (
            "outside cannot be changed",
            "chmod 777 /usr /etc/passwd /dev/null / 2>/dev/null; touch -d 2001-01-01 /usr /dev/null 2>/dev/null; chown 1 /dev/null 2>/dev/null; stat -c %a /dev/null /etc/passwd",
            "666\n644",
        ),
        ("standard input is empty", "cat; chmod 600 /dev/stdin 2>/dev/null || echo refused", "refused"),
        ("no device can be made", "mknod d c 1 1 2>/dev/null || echo refused", "refused"),
        (
            "nothing can lend its rights",
            "touch s; chmod u+s s 2>/dev/null || echo refused; chmod g+s s 2>/dev/null || echo refused",
            "refused\nrefused",
        ),
        ("plain modes can be set", "touch s && chmod 750 s && stat -c %a s", "750"),
        (
            "the environment is ours",
            "env | grep -c SECRET; env | cut -d= -f1 | sort | tr '\\n' ' '",
            "0\nGIT_PAGER GIT_TERMINAL_PROMPT HOME LANG PAGER PATH PWD SHELL SHLVL TERM TMPDIR _",
        ),
        (
            "no environment of others",
            "cat /proc/$PPID/environ /proc/1/environ /proc/*/environ 2>/dev/null | grep -ac hunter2",
            "0",
        ),
        (
            "no process of others",
            "ls /proc | grep -c '^[0-9]' | { read n; [ $n -lt 6 ] && echo few; }; ls -d /proc/1 2>/dev/null || echo hidden",
            "few\nhidden",
        ),
        (
            "no privileges",
            "grep -E '^Cap(Eff|Prm|Bnd)|NoNewPrivs|Seccomp:' /proc/self/status | tr -d ' \\t\\n'",
            "CapPrm:0000000000000000CapEff:0000000000000000CapBnd:0000000000000000NoNewPrivs:1Seccomp:2",
        ),
        (
            "no namespaces of its own",
            "unshare -r true 2>/dev/null || echo refused; unshare -n true 2>/dev/null || echo refused",
            "refused\nrefused",
        ),
        (
            "no mounts",
            "mount -t tmpfs x . 2>/dev/null || echo refused; umount .env 2>/dev/null || echo refused",
            "refused\nrefused",
        ),
        ("no core files", "ulimit -c", "0"),
    ];
    for (name, script, expected) in cases {
        check(name, script, expected);
    }
}

#[test]
fn no_socket_reaches_anybody() {
    if !possible() {
        return;
    }
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    for user in users() {
        let world = World::new(user);
        let _unix = UnixListener::bind(world.project().join("socket")).unwrap();
        fs::set_permissions(world.project().join("socket"), fs::Permissions::from_mode(0o777)).unwrap();
        let script = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{} || echo tcp refused\n\
             exec 4<>/dev/udp/127.0.0.1/{} || echo udp refused\n\
             perl -MSocket -e 'for my $d (AF_UNIX, AF_INET, AF_INET6, 16, 17, 40) {{ for my $t (1, 2, 3, 5) {{
                 socket(S, $d, $t, 0) and print \"open $d $t\\n\" }} }}
                 socketpair(A, B, AF_UNIX, 2, 0) and print \"open pair\\n\";
                 socketpair(A, B, AF_UNIX, 1, 0) or print \"no pair\\n\";
                 connect(A, pack_sockaddr_un(\"socket\")) and print \"connected\\n\";
                 send(A, \"x\", 0, pack_sockaddr_un(\"socket\")) and print \"sent\\n\";
                 print \"end\\n\"'",
            tcp.local_addr().unwrap().port(),
            udp.local_addr().unwrap().port()
        );
        let (_, output, errors) = world.bash(&world.policy(), &script);
        assert_eq!(output.replace("sent\n", ""), "tcp refused\nudp refused\nend\n", "as {user:?}: {errors}");
    }
}

#[test]
fn a_wrong_policy_runs_nothing() {
    let world = World::new(None);
    let start = |arguments: &[&str]| {
        let output = Command::new(world.path("run")).args(arguments).output().unwrap();
        (output.status.code(), output.stdout.len())
    };
    let (project, parent) = (world.project().display().to_string(), std::process::id().to_string());
    assert_eq!(start(&["--project", "/", "--parent", &parent, "--", "echo", "x"]), (Some(2), 0));
    assert_eq!(start(&["--project", &project, "--", "echo", "x"]), (Some(2), 0));
    assert_eq!(start(&["--project", &project, "--parent", "1", "--", "echo", "x"]), (Some(125), 0), "not its parent");
    let missing = format!("{project}/none");
    assert_eq!(start(&["--project", &missing, "--parent", &parent, "--", "echo", "x"]), (Some(125), 0));
    std::os::unix::fs::symlink("/usr", world.project().join("link")).unwrap();
    let link = format!("{project}/link");
    assert_eq!(start(&["--project", &link, "--parent", &parent, "--", "echo", "x"]), (Some(125), 0), "a link");
}

#[test]
fn it_dies_with_its_parent() {
    if !possible() {
        return;
    }
    for user in users() {
        let world = World::new(user);
        let mut arguments: Vec<String> =
            world.policy().arguments(1).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        arguments.truncate(arguments.len() - 1);
        let script = format!("{} {} $$ -- bash linger; true", world.path("run").display(), arguments.join(" "));
        let mark = format!("mark-{}-parent-{}", std::process::id(), user.unwrap_or(0));
        fs::write(world.project().join("linger"), format!("{}echo up; sleep 600", lingering(&mark))).unwrap();
        let mut command = Command::new("bash");
        command.args(["-c", &script]).stdout(Stdio::piped());
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let mut parent = command.spawn().unwrap();
        let mut output = BufReader::new(parent.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        assert_eq!(marked(&mark), 4, "everything that should die lives");
        // By signal 9, as a crash or the kernel would end it.
        parent.kill().unwrap();
        parent.wait().unwrap();
        let (told, gone) = std::sync::mpsc::channel();
        std::thread::spawn(move || told.send(output.read_to_string(&mut String::new())));
        // The pipe closes when its last holder is dead.
        gone.recv_timeout(Duration::from_secs(20)).expect("everything died with the parent").unwrap();
        gone_soon(&mark);
    }
}

/// Runs a script through the library.
async fn confined(world: &World, policy: &Policy, script: &str, limits: Limits) -> RunReport {
    let launcher = Launcher::at(&world.path("run")).unwrap();
    run(&launcher, policy, Task::Bash(script), limits).await.unwrap()
}

/// Starts what wants to live on, in a session of its own, deaf to hang-ups, forked twice, and as a daemon does it; goes
/// on when all four are there.
fn lingering(mark: &str) -> String {
    let stay =
        |number: u32| format!("bash -c 'touch up.{number}; exec -a {mark} sleep 600' >/dev/null 2>&1 </dev/null");
    format!(
        "rm -f up.*; setsid {} & nohup {} & (setsid -f {} &) & \
         perl -MPOSIX -e 'fork and exit; setsid(); fork and exit; chdir q(/); open $_, q(+<), q(/dev/null) for *STDIN, *STDOUT, *STDERR; \
         open my $up, q(>), $ARGV[0]; close $up; exec {{ q(sleep) }} $ARGV[1], 600' \"$PWD/up.4\" {mark}; \
         until [ -e up.1 ] && [ -e up.2 ] && [ -e up.3 ] && [ -e up.4 ]; do sleep 0.01; done; sleep 0.1; ",
        stay(1),
        stay(2),
        stay(3)
    )
}

/// Waits until the kernel has ended what has the mark.
fn gone_soon(mark: &str) {
    let start = Instant::now();
    while marked(mark) > 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "it is still there");
        std::thread::yield_now();
    }
}

/// Returns how many processes of this machine have the text in their arguments.
fn marked(text: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|entry| {
            fs::read(entry.path().join("cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(text))
        })
        .count()
}

#[tokio::test]
async fn a_run_is_reported() {
    if !possible() {
        return;
    }
    let world = World::new(None);
    let report = confined(&world, &world.policy(), "echo out; echo err >&2; exit 7", Limits::USUAL).await;
    assert_eq!(report.ending, Ending::Exit(7));
    assert_eq!((report.stdout.text.as_str(), report.stderr.text.as_str()), ("out\n", "err\n"));
    let report = confined(&world, &world.policy(), "kill -SEGV $$", Limits::USUAL).await;
    assert_eq!(report.ending, Ending::Signal(libc::SIGSEGV));
    let few = Limits { seconds: 20, output: 100 };
    let report = confined(&world, &world.policy(), "seq 1 3000000", few).await;
    assert_eq!(report.ending, Ending::Exit(0), "a full output holds nobody up");
    assert!(
        report.stdout.truncated
            && report.stdout.text.starts_with("1\n2\n")
            && report.stdout.text.ends_with("\n3000000\n")
    );
}

#[tokio::test]
async fn nothing_survives_its_time() {
    if !possible() {
        return;
    }
    let world = World::new(None);
    let mark = format!("mark-{}-time", std::process::id());
    let script = format!("{}trap '' TERM INT HUP; echo {mark}; while :; do sleep 1; done", lingering(&mark));
    let report = confined(&world, &world.policy(), &script, Limits { seconds: 2, output: 100 }).await;
    assert_eq!(report.ending, Ending::TimedOut);
    assert_eq!(report.stdout.text.trim(), mark);
    assert_eq!(marked(&mark), 0, "what it started is gone when the report is there");
}

#[tokio::test]
async fn nothing_survives_its_end() {
    if !possible() {
        return;
    }
    let world = World::new(None);
    let mark = format!("mark-{}-end", std::process::id());
    let script = format!("{}echo up", lingering(&mark));
    let report = confined(&world, &world.policy(), &script, Limits::USUAL).await;
    assert_eq!((report.ending, report.stdout.text.as_str()), (Ending::Exit(0), "up\n"));
    assert_eq!(marked(&mark), 0);
}

#[tokio::test]
async fn a_dropped_run_ends() {
    if !possible() {
        return;
    }
    let world = World::new(None);
    let mark = format!("mark-{}-drop", std::process::id());
    let script = format!("{}sleep 600", lingering(&mark));
    let policy = world.policy();
    let launcher = Launcher::at(&world.path("run")).unwrap();
    let mut running = Box::pin(run(&launcher, &policy, Task::Bash(&script), Limits { seconds: 300, output: 10 }));
    let start = Instant::now();
    while !(1..=4).all(|number| world.project().join(format!("up.{number}")).exists()) {
        assert!(start.elapsed() < Duration::from_secs(20), "it never started");
        let _ = tokio::time::timeout(Duration::from_millis(10), &mut running).await;
    }
    drop(running);
    gone_soon(&mark);
}

#[tokio::test]
async fn processes_and_memory_are_bounded() {
    if !possible() {
        return;
    }
    let world = World::new(None);
    let mut policy = world.policy();
    policy.processes = 64;
    let bomb = "bomb() { bomb | bomb & }; bomb 2>/dev/null; while :; do sleep 1; done";
    let report = confined(&world, &policy, bomb, Limits { seconds: 3, output: 1000 }).await;
    assert!(matches!(&report.ending, Ending::TimedOut | Ending::Beyond(_)), "{report:?}");
    policy.memory = 200 << 20;
    let one = "perl -e '$a = q{x} x 400_000_000; print length $a'";
    let report = confined(&world, &policy, one, Limits::USUAL).await;
    assert!(report.stdout.text.is_empty() && report.ending != Ending::Exit(0), "{report:?}");
    let many = "for i in 1 2 3 4 5 6; do perl -e '$a = q{x} x 60_000_000; sleep 60' & done; wait";
    let report = confined(&world, &policy, many, Limits::USUAL).await;
    assert_eq!(report.ending, Ending::Beyond("memory".to_string()));
    let report = confined(&world, &policy, "head -c 2G /dev/zero > /tmp/full", Limits::USUAL).await;
    assert_eq!(report.ending, Ending::Exit(1), "scratch is bounded: {report:?}");
}

#[tokio::test]
async fn a_changed_launcher_is_not_started() {
    let world = World::new(None);
    let launcher = Launcher::at(&world.path("run")).unwrap();
    let file = fs::OpenOptions::new().append(true).open(world.path("run")).unwrap();
    std::io::Write::write_all(&mut &file, b"x").unwrap();
    drop(file);
    let answer = run(&launcher, &world.policy(), Task::Bash("echo x"), Limits::USUAL).await;
    assert!(matches!(answer, Err(SandboxError::Changed(_))), "{answer:?}");
}

#[tokio::test]
async fn the_probe_finds_nothing_open() {
    if !possible() {
        return;
    }
    let world = World::new(None);
    let report = probe(&[world.path("home"), PathBuf::from("/root")], Walls::All).await;
    assert!(report.holds(), "{report:?}");
    assert!(report.checks.len() >= 9);
}

#[test]
fn the_probe_bites() {
    if !possible() {
        return;
    }
    let world = World::new(None);
    let mut policy = world.policy();
    // What is shown on purpose must be told as seen, or the probe could not fail.
    policy.read = vec![world.path("elsewhere")];
    policy.hide = vec![world.path("elsewhere/file")];
    let start = |policy: &Policy| {
        let output =
            Command::new(world.path("run")).args(policy.arguments(std::process::id())).arg("--probe").output().unwrap();
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter(|line| line.starts_with("OPEN"))
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(start(&policy), Vec::<String>::new(), "a hidden file in a folder that is shown is hidden");
    policy.mask = vec![PathBuf::from("/proc/self/status")];
    assert_eq!(start(&policy), ["OPEN\tsecret files unreadable: /proc/self/status can be read"]);
}

#[test]
fn a_policy_comes_from_the_scope() {
    let world = World::new(None);
    let secret: SecretTest = Arc::new(|path| path.ends_with("/.env") || path.ends_with("/.ssh"));
    fs::create_dir_all(world.project().join(".ssh")).unwrap();
    fs::write(world.project().join(".ssh/.env"), "").unwrap();
    fs::create_dir_all(world.project().join(".git/hooks/deeper.git/.git/hooks")).unwrap();
    fs::create_dir_all(world.project().join("part/.git")).unwrap();
    fs::write(world.project().join("part/.git/config"), "").unwrap();
    let policy = Policy::for_scope(&scope(&world), &secret).unwrap();
    assert_eq!(policy.mask, [world.project().join(".env")]);
    assert_eq!(policy.protect, [".git/hooks", "part/.git/config"].map(|name| world.project().join(name)));
    assert!(policy.hide.contains(&world.path("home")) && policy.hide.contains(&world.project().join(".ssh")));
    for project in ["home", "home/memex", "", "home/store"] {
        let mut scope = scope(&world);
        scope.project = world.path(project).display().to_string();
        assert!(matches!(Policy::for_scope(&scope, &secret), Err(SandboxError::Policy(_))), "{project}");
    }
}

fn scope(world: &World) -> Scope {
    let text = |name: &str| world.path(name).display().to_string();
    Scope {
        session: SessionId("s".to_string()),
        memex: vec![text("home/memex")],
        project: world.project().display().to_string(),
        home: text("home"),
        own: vec![text("home/store")],
        permissions: BTreeMap::new(),
        private_tags: vec!["private".into()],
        held: Default::default(),
        self_build: false,
        may_see: passepartout::domain::label::Privacy::Private,
        hosts: Vec::new(),
    }
}

/// A gate that lets everything pass, for a clearance.
struct Open;

impl Gate for Open {
    fn name(&self) -> &str {
        "open"
    }
    fn priority(&self) -> u16 {
        1
    }
    fn judge(&self, _: &Case<'_>) -> Verdict {
        Verdict::pass()
    }
}

fn cleared(world: &World, command: &str) -> Cleared {
    cleared_with(world, serde_json::json!({ "command": command }))
}

fn cleared_with(world: &World, args: serde_json::Value) -> Cleared {
    cleared_on(world, args, Facts::default())
}

fn cleared_on(world: &World, args: serde_json::Value, facts: Facts) -> Cleared {
    let toolbox = Toolbox::builtin();
    let args = args.as_object().unwrap().clone();
    let action = Action::new(&toolbox, "shell", args, Some("a test"), Labels::MODEL).unwrap();
    let scope = scope(world);
    let (tool, set_off) = (toolbox.get("shell").unwrap(), Sensor::UserInput);
    let case = Case { action: &action, tool, scope: &scope, facts: &facts, set_off };
    match judge(&Gates::for_tests(vec![Box::new(Open)]), case, None) {
        Judgement::Cleared(cleared) => *cleared,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_shell_tool_observes() {
    if !possible() {
        return;
    }
    let world = World::new(None);
    let shell =
        Shell::new(Launcher::at(&world.path("run")).unwrap(), Arc::new(|path| path.ends_with(".env")), Limits::USUAL);
    let command = "cat notes.txt .env; echo; echo changed > notes.txt; mkdir d; touch d/made .envrc; git init -q d/r 2>/dev/null || mkdir -p d/r/.git/hooks; exit 3";
    let observation = shell.perform(&cleared(&world, command)).await;
    let Outcome::Done(said) = &observation.outcome else { panic!("{observation:?}") };
    let expected = "Exit status 3.\n--- output ---\nopen\n--- errors ---\ncat: .env: Permission denied\n\
                    It made what other programs run or obey, so look into it before you use the project: ";
    assert!(said.starts_with(expected), "{said}");
    let named = |name: &str| world.project().join(name).display().to_string();
    for name in [".envrc", "d/r/.git/hooks"] {
        assert!(said.contains(&named(name)), "{said}");
    }
    assert_eq!((observation.labels.provenance, observation.labels.trust), (Provenance::Tool, Trust::Untrusted));
    assert_eq!(observation.changed, [named(".envrc"), named("d/made"), named("notes.txt")]);
}

#[test]
fn changes_are_found_whatever_the_clock_says() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["same", "gone", "rewritten"] {
        fs::write(at(name), "text").unwrap();
    }
    fs::create_dir(at(".git")).unwrap();
    let before = stamps(folder.path()).unwrap();
    fs::remove_file(at("gone")).unwrap();
    fs::write(at("rewritten"), "TEXT").unwrap();
    let file = fs::File::open(at("rewritten")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    fs::write(at("made"), "").unwrap();
    fs::write(at(".git/index"), "").unwrap();
    let changed = changed_files(&before, &stamps(folder.path()).unwrap());
    assert_eq!(changed, ["gone", "made", "rewritten"].map(|name| at(name).display().to_string()));
}
