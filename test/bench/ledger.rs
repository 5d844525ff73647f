//! What the ledger costs when it is long: writing one more call, and putting all of it together.

use crate::report::row;
use passepartout::domain::money::totals::Grouping;
use passepartout::domain::money::{Call, Cost, Micros};
use passepartout::domain::port::Usage;
use passepartout::domain::work::Work;
use passepartout::edge::clock::SystemClock;
use passepartout::edge::config::{Config, Surroundings};
use passepartout::edge::editor::NoEditor;
use passepartout::edge::engine::boot::{Boot, Keep, start};
use passepartout::edge::secret::Vault;
use std::sync::Arc;
use std::time::Instant;

/// So many calls are in it.
const CALLS: usize = 100_000;
/// So many are written one by one behind them.
const MORE: usize = 200;
/// So many are written at once before that.
const BATCH: usize = 5_000;

fn call(n: usize) -> Call {
    let at = jiff::Timestamp::from_second(1_767_225_600 + n as i64 * 300).unwrap();
    Call {
        at,
        session: format!("chat {}", n % 500),
        provider: format!("provider{}", n % 5),
        model: "model-large".to_string(),
        work: if n.is_multiple_of(4) { Work::Background } else { Work::Foreground },
        skill: (n.is_multiple_of(3)).then(|| format!("skill{}", n % 7)),
        heading: (n.is_multiple_of(2)).then(|| format!("heading-{}", n % 900)),
        usage: Some(Usage { input: 4_000, output: 300, cached: 1_000, thinking: 50 }),
        status: "answered".to_string(),
        http: None,
        attempts: 1,
        cost: if n.is_multiple_of(10) { Cost::Unknown } else { Cost::Known(Micros(16_500)) },
    }
}

/// Prints a row for writing and one for each grouping.
pub fn print() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config::read(&Surroundings { variables: Default::default() });
    config.store = folder.path().join("store");
    config.settings = folder.path().join("settings");
    config.cache = folder.path().join("cache");
    config.directories = Vec::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let (clock, editor) = (Arc::new(SystemClock), Arc::new(NoEditor));
        let boot =
            Boot { config, vault: Vault::empty(), editor, clock, notify: Arc::new(|_| {}), keep: Keep::OnDiskOnly };
        let engine = start(boot).await.unwrap();
        for first in (0..CALLS).step_by(BATCH) {
            engine.write_down((first..first + BATCH).map(call)).await;
        }
        let mut times = Vec::new();
        for n in 0..MORE {
            let from = Instant::now();
            engine.write_down([call(CALLS + n)]).await;
            times.push(from.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        let (middle, most) = (times[MORE / 2], times[MORE * 99 / 100]);
        row("ledger: one more call behind 100,000, synced", "", &format!("p50 {middle:.2} ms, p99 {most:.2}"));
        for by in Grouping::ALL {
            let from = Instant::now();
            let costs = engine.costs(by, None).await.unwrap();
            let took = from.elapsed().as_secs_f64() * 1e3;
            assert_eq!(costs.all.calls as usize, CALLS + MORE);
            let name = format!("ledger: totals of 100,000 calls by {}", by.name());
            row(&name, "", &format!("{took:.0} ms, {} groups", costs.groups.len()));
        }
        engine.close().await;
    });
}
