//! The entry of jobs: what a heading has done by itself takes the same road.

use super::{call, canaries, drain, home, nothing_uncleared, says, world};
use crate::support::engine::{Home, origin};
use crate::support::fake_server::FakeServer;
use std::net::TcpListener;
use std::path::PathBuf;

const JOB: &str =
    "* Job\n:PROPERTIES:\n:ID: job\n:PP_RUN: do it\n:PP_CRON: 0 * * * *\n:PP_ALWAYS: t\n:PP_TIER: reasoning\n:END:\n";

/// Returns the world but for the job's own file, in which its log stands.
fn others(home: &Home) -> Vec<(PathBuf, Vec<u8>)> {
    world(home).into_iter().filter(|(path, _)| !path.ends_with("jobs.org")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_a_heading() {
    let home = home();
    std::fs::write(home.file("jobs.org"), JOB).expect("it is written");
    let server = FakeServer::start([]);
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.set_nonblocking(true).expect("it is ours");
    let port = listener.local_addr().expect("it has one").port();
    let engine = home.served(&server, &["fake"], false).await;
    engine.confirm_provider("fake", &format!("{}/v1/", server.url())).await.expect("it is stored");
    let key = engine.jobs().first().expect("it was found").key.clone();
    let parked = engine.propose_job(&origin(), &key).await.expect("it is shown");
    let plan = engine.plan(&parked.report.plans[0].0).expect("it waits");
    home.approve(&engine, &plan).await.expect("the user confirms it");
    let before = others(&home);
    for (tool, args) in canaries(&home, port) {
        server.push(call(tool, &args));
        server.push(says("I see."));
        let asked = server.requests().len();
        let finished = engine.run_job_now(&origin(), &key).await.expect("it runs");
        let used = server.requests().len() - asked;
        nothing_uncleared(&format!("job, {tool} {args}"), &finished);
        assert_eq!(others(&home), before, "{tool} {args}");
        drain(&engine, &home, 2 - used.min(2)).await;
    }
    let text = home.read_file("jobs.org");
    assert!(
        text.starts_with(JOB)
            && text[JOB.len()..].lines().all(|line| line.starts_with("- Job ") || line.starts_with(':'))
    );
    for request in server.requests() {
        assert!(!request.body.contains("CANARYKEY0123456789"), "{}", request.body);
    }
    assert!(listener.accept().is_err(), "somebody connected");
}
