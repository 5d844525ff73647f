//! Starts the attempts for every user, and looks from outside what came of them.

use crate::files::exchange;
use crate::inside::{Bare, all};
use crate::skip::skipped;
use crate::soak::survived;
use crate::world::{LIMITS, World, leave_open, terminal, typed};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const NOBODY: u32 = 65534;
/// How often the launcher is started in a project that is swapped.
const SWAPS: usize = 60;

/// Tries everything as the user who runs the tests and, where that is root, as an ordinary one as well.
pub fn as_every_user() {
    let place = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = |from: &Path, name: &str| -> PathBuf {
        // By another process: what this one has open for writing cannot be started.
        let to = place.path().join(name);
        assert!(Command::new("cp").arg(from).arg(&to).status().unwrap().success());
        to
    };
    let launcher = copy(Path::new(env!("CARGO_BIN_EXE_passepartout-run")), "run");
    let own = copy(&std::env::current_exe().unwrap(), "escapes");
    copy(Path::new(env!("CARGO_BIN_EXE_passepartout")), "passepartout");
    // SAFETY: always sound.
    let root = unsafe { libc::geteuid() } == 0;
    let lends = root.then(|| {
        let lends = copy(&own, "lends");
        fs::set_permissions(&lends, fs::Permissions::from_mode(0o4755)).unwrap();
        lends
    });
    let users = if root { vec![None, Some(NOBODY)] } else { vec![None] };
    for user in users {
        let mut command = Command::new(&own);
        command.arg("try").arg(&launcher).args(&lends).current_dir("/");
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        // Who is no one cannot write down what it counted where we can.
        command.env_remove("PASSEPARTOUT_SKIPPED").env_remove("PASSEPARTOUT_COUNTED");
        let said = command.stderr(Stdio::inherit()).output().unwrap();
        for line in String::from_utf8_lossy(&said.stdout).lines() {
            match (line.strip_prefix("survived: "), line.strip_prefix("skipped: ")) {
                (Some(counted), _) => survived(counted),
                (_, Some(why)) => skipped(why),
                _ => println!("{line}"),
            }
        }
        assert!(said.status.success(), "attempts went through, as {}", name(user.is_none() && root));
    }
}

fn name(root: bool) -> &'static str {
    if root { "root" } else { "an ordinary user" }
}

/// What is known to be open where the kernel makes no namespaces, and is said in the plan.
const WITHOUT_NAMESPACES: &[&str] = &["went through: learn that a file exists"];

/// Tries everything as the user who runs this.
pub fn try_all(launcher: &Path, lends: Option<&Path>) {
    // SAFETY: always sound.
    let user = name(unsafe { libc::geteuid() } == 0);
    let possible = Command::new(launcher)
        .args(["--project", "/var/tmp/passepartout-none", "--parent", &std::process::id().to_string(), "--", "true"])
        .output()
        .unwrap();
    if String::from_utf8_lossy(&possible.stderr).contains("makes no namespaces") {
        skipped(format_args!("escapes: this kernel makes no namespaces for {user}"));
        return;
    }
    let without = bare(lends);
    let mut through = confined(launcher, lends, &[]);
    let (grown, mut grew) = limits(launcher);
    through.append(&mut grew);
    through.extend(swapped(launcher));
    let tried = all().len() + grown + 1;
    survived(format!(
        "escapes as {user}: {tried} tried, {} refused; without the launcher {without} go through",
        tried - through.len()
    ));
    let alone = confined(launcher, lends, &["--walls", "fewer"]);
    if alone.iter().any(|line| line.contains("Linux 6.12")) {
        skipped(format_args!("escapes: this kernel's Landlock does not suffice without namespaces"));
    } else {
        let left: Vec<&String> = alone.iter().filter(|line| !WITHOUT_NAMESPACES.contains(&line.as_str())).collect();
        let refused = all().len() - alone.len();
        survived(format!("escapes as {user}, without namespaces: {refused} of {} refused", all().len()));
        assert!(left.is_empty(), "as {user}, without namespaces: {left:#?}");
    }
    assert!(tried >= 50 && through.is_empty(), "as {user}:\n{}", through.join("\n"));
}

/// Returns what went through: by the word of the attempts, and by what can be seen outside.
fn confined(launcher: &Path, lends: Option<&Path>, walls: &[&str]) -> Vec<String> {
    let mut world = World::new(1, lends);
    let (near, far) = terminal();
    let left = leave_open(world.targets());
    let mut command = world.command(Some(launcher), walls);
    command.stdin(Stdio::null()).stderr(far.try_clone().unwrap());
    // SAFETY: both calls are allowed between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            libc::ioctl(2, libc::TIOCSCTTY, 0);
            Ok(())
        });
    }
    let output = command.output().unwrap();
    drop((left, near));
    let (refused, through) = read(&output);
    let mut open: Vec<String> = through.iter().map(|name| format!("went through: {name}")).collect();
    let missing = all()
        .into_iter()
        .filter(|escape| !refused.contains_key(escape.name) && !through.contains(&escape.name.to_string()));
    open.extend(missing.map(|escape| format!("was not tried: {}", escape.name)));
    open.extend(world.touched());
    if typed(&far) > 0 {
        open.push("something was typed into the terminal".to_string());
    }
    open
}

/// Makes the attempts without the launcher, where that harms nobody, and returns how many go through.
fn bare(lends: Option<&Path>) -> usize {
    let mut world = World::new(0, lends);
    let left = leave_open(world.targets());
    let mut command = world.command(None, &[]);
    command.arg("bare").stdin(Stdio::null());
    let output = command.output().unwrap();
    drop(left);
    let (refused, through) = read(&output);
    let held: Vec<String> = all()
        .iter()
        .filter(|escape| escape.bare == Bare::Open && !through.contains(&escape.name.to_string()))
        .map(|escape| format!("{}: {:?}", escape.name, refused.get(escape.name)))
        .collect();
    assert!(held.is_empty(), "these go nowhere even without confinement, so they show nothing:\n{}", held.join("\n"));
    assert!(world.touched().len() > 20, "what goes through is seen from outside");
    through.len()
}

fn read(output: &Output) -> (BTreeMap<String, String>, Vec<String>) {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (mut refused, mut through) = (BTreeMap::new(), Vec::new());
    for line in text.lines() {
        let mut parts = line.split('\t');
        match (parts.next(), parts.next()) {
            (Some("REFUSED"), Some(name)) => {
                refused.insert(name.to_string(), parts.next().unwrap_or_default().to_string());
            }
            (Some("THROUGH"), Some(name)) => through.push(name.to_string()),
            _ => panic!("{line}: {}", String::from_utf8_lossy(&output.stderr)),
        }
    }
    assert!(!refused.is_empty(), "{output:?}");
    (refused, through)
}

/// Lets things grow that nothing but a limit ends; returns how many there were, and those that were not ended.
fn limits(launcher: &Path) -> (usize, Vec<String>) {
    let project = "PROJECT";
    let ways: &[(&[&str], &[&str], &[i32])] = &[
        (&["processes"], &["--limit-processes", "64"], &[9, 137]),
        (&["memory"], &["--limit-memory", "100000000"], &[134, 137]),
        (&["files", "/tmp"], &["--limit-scratch", "20000000"], &[9]),
        (&["small-files", "/tmp"], &["--limit-scratch", "20000000"], &[9]),
        (&["files", project], &["--limit-disk", "50000000"], &[137]),
        (&["small-files", project], &["--limit-disk", "50000000"], &[137]),
        (&["reserve", project], &["--limit-disk", "50000000"], &[9]),
        (&["one-file", project], &["--limit-file", "20000000"], &[153]),
        (&["descriptors"], &["--limit-files", "100"], &[9]),
        (&["time"], &["--limit-cpu", "1"], &[137, 152]),
    ];
    let mut open = Vec::new();
    for (words, limit, expected) in ways {
        let world = World::new(LIMITS, None);
        let at = world.project().display().to_string();
        let mut command = Command::new(launcher);
        command.args(world.policy()).args(*limit).arg("--").arg(world.targets().at("bin/escape")).arg("grow");
        command.args(words.iter().map(|word| if *word == project { at.as_str() } else { word }));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let start = Instant::now();
        let ended = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status.code().unwrap_or(-1));
            }
            if start.elapsed() > Duration::from_secs(30) {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            std::thread::park_timeout(Duration::from_millis(5));
        };
        if !ended.is_some_and(|code| expected.contains(&code)) {
            open.push(format!("grew in {}: ended as {ended:?}", words.join(" ")));
        }
    }
    (ways.len(), open)
}

/// Swaps the project for a link to what is none of it, again and again while the launcher starts in it; returns that a
/// command came to see what the link leads to.
fn swapped(launcher: &Path) -> Option<String> {
    let world = World::new(LIMITS, None);
    let (project, link) = (world.project(), world.targets().at("home/work/turn"));
    std::os::unix::fs::symlink(world.targets().at("elsewhere"), &link).unwrap();
    let (mut seen, mut started) = (None, 0);
    let over = AtomicBool::new(false);
    let turned = std::thread::scope(|scope| {
        let turning = scope.spawn(|| {
            let mut turned = 0;
            // It ends as it began.
            while !over.load(Ordering::Relaxed) || turned % 2 == 1 {
                exchange(&project, &link).unwrap();
                turned += 1;
            }
            turned
        });
        while started < SWAPS && seen.is_none() {
            let mut command = Command::new(launcher);
            command.arg("--project").arg(&project).args(["--parent", &std::process::id().to_string(), "--"]);
            let output = command.args(["cat", "read"]).stdin(Stdio::null()).output().unwrap();
            let leaked = String::from_utf8_lossy(&output.stdout).contains("hunter2");
            seen = leaked.then(|| "a project that was swapped for a link shows what the link leads to".to_string());
            started += 1;
        }
        over.store(true, Ordering::Relaxed);
        turning.join().unwrap()
    });
    assert!(turned > 0 && project.is_dir() && link.is_symlink());
    seen
}
