//! Commands on a machine without namespaces: they run only once that was judged, under what walls remain.

use super::*;
use passepartout::domain::gate::facts::WallsFact;
use passepartout::domain::port::Surveyor;
use passepartout::edge::sandbox::{Walls, walls};
use passepartout::edge::survey::{Confinement, NoVault, Nowhere, Survey};

/// Whether this kernel's Landlock suffices without namespaces; says so when it does not.
async fn fewer_possible(world: &World) -> bool {
    let launcher = Launcher::at(&world.path("run")).unwrap();
    let policy = Policy { walls: Walls::Fewer, ..world.policy() };
    match run(&launcher, &policy, Task::Bash("true"), Limits::USUAL).await {
        Ok(report) => report.ending == Ending::Exit(0) || panic!("{report:?}"),
        Err(SandboxError::Unconfined(why)) => {
            skipped(format_args!("Landlock alone does not suffice here: {why}"));
            false
        }
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn the_walls_of_a_machine_are_found_out() {
    if !possible() {
        return;
    }
    let world = World::new(None);
    let launcher = Launcher::at(&world.path("run")).unwrap();
    assert_eq!(walls(&launcher).await, WallsFact::All);
    let shell = Shell::new(launcher.clone(), Arc::new(|_| false), Limits::USUAL);
    assert_eq!(shell.walls().await, WallsFact::All);
    // A launcher that is no longer the one that was found confines nothing.
    let file = fs::OpenOptions::new().append(true).open(world.path("run")).unwrap();
    std::io::Write::write_all(&mut &file, b"x").unwrap();
    drop(file);
    assert!(matches!(walls(&launcher).await, WallsFact::Nothing(why) if why.contains("has changed")));
}

#[tokio::test]
async fn what_is_missing_is_a_fact_of_commands_alone() {
    let world = World::new(None);
    let launcher = Launcher::at(&world.path("run")).unwrap();
    let fewer = WallsFact::Fewer("none here".to_string());
    let shell = Shell::new(launcher, Arc::new(|_| false), Limits::USUAL).within(fewer.clone());
    let survey = Survey::new(Arc::new(NoVault), Arc::new(Nowhere), None, Duration::from_secs(10));
    let survey = survey.confined_by(Some(Arc::new(shell)));
    for (tool, args, expected) in [
        ("shell", serde_json::json!({"command": "ls"}), Some(fewer)),
        ("read-file", serde_json::json!({"path": "notes.txt"}), None),
    ] {
        let args = args.as_object().unwrap().clone();
        let action = Action::new(&Toolbox::builtin(), tool, args, Some("a test"), Labels::MODEL).unwrap();
        assert_eq!(survey.survey(&action, &scope(&world)).await.walls, expected, "{tool}");
    }
}

#[tokio::test]
async fn with_fewer_walls_the_rest_still_holds() {
    let world = World::new(None);
    if !fewer_possible(&world).await {
        return;
    }
    let launcher = Launcher::at(&world.path("run")).unwrap();
    let shell = Shell::new(launcher, Arc::new(|path| path.ends_with(".env")), Limits::USUAL);
    fs::create_dir(world.project().join("part")).unwrap();
    let outside = world.path("elsewhere/file").display().to_string();
    let command = format!(
        "cat .env; cat {outside}; echo x > {outside}; echo new > part/made; cat part/made notes.txt; echo; \
         echo y > $TMPDIR/y && cat $TMPDIR/y; chmod 600 notes.txt; exec 3<>/dev/tcp/127.0.0.1/1; exit 4"
    );
    let facts = Facts { walls: Some(WallsFact::Fewer("none here".to_string())), ..Facts::default() };
    let observation = shell.perform(&cleared_on(&world, serde_json::json!({ "command": command }), facts)).await;
    let Outcome::Done(text) = &observation.outcome else { panic!("{observation:?}") };
    assert!(text.starts_with("Exit status 4.\n--- output ---\nnew\nopen\ny\n--- errors ---\n"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
    assert_eq!(fs::read_to_string(world.path("elsewhere/file")).unwrap(), "hunter2");
    assert_eq!(fs::metadata(world.project().join("notes.txt")).unwrap().mode() & 0o777, 0o644);
}

#[tokio::test]
async fn with_fewer_walls_nothing_survives_either() {
    let world = World::new(None);
    if !fewer_possible(&world).await {
        return;
    }
    let policy = Policy { walls: Walls::Fewer, mask: Vec::new(), ..world.policy() };
    for (seconds, then, ending) in [(20, "true", Ending::Exit(0)), (2, "sleep 600", Ending::TimedOut)] {
        let mark = format!("mark-{}-fewer-{seconds}", std::process::id());
        let report =
            confined(&world, &policy, &format!("{}{then}", lingering(&mark)), Limits { seconds, output: 1000 }).await;
        assert_eq!(report.ending, ending, "{report:?}");
        assert_eq!(marked(&mark), 0);
    }
    let grown = Policy { processes: 20, ..policy };
    let bomb = "for i in $(seq 40); do sleep 60 & done; wait";
    let report = confined(&world, &grown, bomb, Limits { seconds: 20, output: 1000 }).await;
    assert!(
        matches!(&report.ending, Ending::Beyond(limit) if limit == "processes") || report.ending != Ending::Exit(0)
    );
}
