//! What a turn waits for before a model is asked: the vector of its question, and its slice of memory, as the engine makes
//! them, with the outline, the notes and the further outline.

use crate::report::row;
use crate::world::World;
use passepartout::domain::id::SessionId;
use passepartout::domain::label::Privacy;
use passepartout::edge::clock::{Clock, SystemClock};
use passepartout::edge::config::{Config, Surroundings};
use passepartout::edge::editor::NoEditor;
use passepartout::edge::embed::Backend;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::boot::{Boot, Keep, start};
use passepartout::edge::engine::embedding::Drained;
use passepartout::edge::engine::slices::Wanted;
use passepartout::edge::secret::Vault;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So many different questions are asked.
const QUESTIONS: usize = 200;
/// Tokens of notes in a prompt.
const TOKENS: usize = 4_000;

/// Prints the rows.
pub fn print() {
    println!("\nBefore a model is asked ({QUESTIONS} questions, {TOKENS} tokens)");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    for backend in [None, Some(Backend::Hashing)] {
        runtime.block_on(measure(backend));
    }
}

async fn measure(backend: Option<Backend>) {
    let world = World::get();
    let mut config = Config::read(&Surroundings { variables: Default::default() });
    config.directories = vec![world.folder.path().to_path_buf()];
    config.embedding.backend = backend;
    let (editor, clock) = (Arc::new(NoEditor), Arc::new(SystemClock));
    let boot = Boot { config, vault: Vault::empty(), editor, clock, notify: Arc::new(|_| {}), keep: Keep::InMemory };
    let engine = start(boot).await.unwrap();
    let reader = engine.clone();
    let filled = move || {
        reader.read_memex(&mut |_| {});
        reader.wait_until_filled();
    };
    tokio::task::spawn_blocking(filled).await.unwrap();
    let drained = engine.embed_what_waits().await;
    let expected = if backend.is_some() { Drained::Done } else { Drained::Nothing };
    assert_eq!(drained, expected);
    let vectors = if backend.is_some() { "with vectors" } else { "by words" };
    let (mut asked, mut made, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..QUESTIONS {
        let question = format!("What of the {} and the {} {n}?", world.noun(n), world.noun(n / 10 + 3));
        let begun = Instant::now();
        engine.embed_asked(&question, &SessionId("bench".into())).await;
        asked.push(begun.elapsed());
        made.push(sliced(&engine, &question));
        kept.push(sliced(&engine, &question));
    }
    assert_eq!(engine.slices_assembled(), QUESTIONS as u64, "each is made once");
    let of = "10,000 headings";
    row(&format!("slice of a turn, {vectors}, {of}"), "p99 5 ms", &told(made));
    row(&format!("slice of a turn, {vectors}, {of}, used again"), "", &told(kept));
    if backend.is_some() {
        row("vector of a question, by hashing", "", &told(asked));
    }
    engine.close().await;
}

fn sliced(engine: &Engine, question: &str) -> Duration {
    let now = SystemClock.wall();
    let wanted = Wanted {
        query: Some(question),
        focus: None,
        now,
        may_see: Privacy::Private,
        max_tokens: TOKENS,
        most_at_point: usize::MAX,
    };
    let begun = Instant::now();
    let slice = black_box(engine.slice(wanted));
    let took = begun.elapsed();
    let tokens: usize = slice.parts().iter().map(|part| part.tokens).sum();
    assert!((1..=TOKENS).contains(&tokens), "{tokens} tokens");
    took
}

fn told(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |share: usize| times[times.len() * share / 100].as_secs_f64() * 1e3;
    format!("p50 {:.2}, p99 {:.2} ms", at(50), at(99))
}
