//! How near evidence lies: for the questions of the recall corpus, which part of it has at least so much of the best
//! node's score, and how many nodes have: `cargo bench --bench full_text -- near`.

use passepartout::domain::context::NEAR;
use passepartout::domain::context::lexical::Index;
use passepartout::domain::context::question::Question;
use passepartout::domain::context::rank::{Sought, Weights, rank};
use passepartout::domain::id::NodeId;
use passepartout::domain::label::Privacy;
use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::memory::view::View;
use passepartout::domain::org::scan::{ScanOptions, scan};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const PARTS: [f32; 8] = [0.0, 0.04, NEAR, 0.12, 0.16, 0.2, 0.3, 0.5];

/// Prints the table; says so when there is no corpus.
pub fn print() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/recall");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("{} is absent; skipped.", folder.display());
        return;
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let with = |kind: &'static str| paths.iter().filter(move |path| path.extension().is_some_and(|end| end == kind));
    let mut view = View::default();
    for path in with("org") {
        let outline = scan(std::fs::read_to_string(path).unwrap().into(), &ScanOptions::default()).unwrap();
        view.put(Arc::new(Document::build(path.to_string_lossy(), outline, &PrivacyOptions::default())));
    }
    let index = Index::of(&view);
    let (mut wanted, mut asked) = (0usize, 0usize);
    let (mut found, mut all) = ([0usize; PARTS.len()], [0usize; PARTS.len()]);
    for path in with("jsonl") {
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let question = Question::read(line["q"].as_str().unwrap(), None);
            let sought = Sought {
                question: &question,
                focus: None,
                near: Vec::new(),
                near_cosine: passepartout::domain::context::rank::NEAR_COSINE,
                clearance: Privacy::Private,
            };
            let ranked = rank(&view, &index, &sought, &Weights::default());
            let best = ranked.first().map_or(0.0, |first| first.score);
            let evidence: Vec<NodeId> =
                line["evidence"].as_array().unwrap().iter().map(|id| NodeId::new(id.as_str().unwrap())).collect();
            asked += 1;
            wanted += evidence.iter().filter(|id| view.get(id).is_some()).count();
            for (at, part) in PARTS.iter().enumerate() {
                let near = ranked.iter().filter(|node| node.score >= best * part);
                all[at] += near.clone().count();
                found[at] += near.filter(|node| evidence.contains(node.node.id())).count();
            }
        }
    }
    println!("{asked} questions, {wanted} pieces of evidence");
    for ((part, found), all) in PARTS.iter().zip(found).zip(all) {
        let (share, mean) = (found as f64 / wanted as f64, all as f64 / asked as f64);
        println!("  at least {part:.2} of the best: {share:.3} of the evidence, {mean:.0} nodes");
    }
}
