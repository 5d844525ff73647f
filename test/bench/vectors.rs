//! What finding the nearest of 100,000 vectors takes, beside reading all of them plainly.

use crate::report::row;
use passepartout::domain::embed::Vector;
use passepartout::domain::embed::flat::Wanted;
use passepartout::edge::embed::kept::Kept;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// So many vectors are searched.
const VECTORS: usize = 100_000;
/// So often.
const ROUNDS: usize = 200;

/// Numbers that look random and are the same each time.
fn random(seed: &mut u64) -> f32 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 40) as f32 / (1u64 << 23) as f32 - 1.0
}

fn vector(seed: &mut u64, dimension: usize) -> Vector {
    Vector::new((0..dimension).map(|_| random(seed)).collect()).unwrap()
}

fn percentile(times: &mut [Duration], share: f64) -> f64 {
    times.sort();
    times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3
}

/// Prints a row for each dimension.
pub fn print() {
    println!("\nNearest of {VECTORS} vectors, from the file that they are kept in ({ROUNDS} questions)");
    for (dimension, promised) in [(384, 20), (768, 35)] {
        let folder = tempfile::tempdir().unwrap();
        let (mut kept, _) = Kept::open(folder.path(), "bench", true);
        let mut seed = dimension as u64;
        let mut plain: Vec<f32> = Vec::with_capacity(VECTORS * dimension);
        for part in 0..VECTORS / 1_000 {
            let key = |n: usize| *blake3::hash(&(part * 1_000 + n).to_le_bytes()).as_bytes();
            let vectors: Vec<_> = (0..1_000).map(|n| (key(n), vector(&mut seed, dimension))).collect();
            vectors.iter().for_each(|(_, vector)| plain.extend(vector.numbers()));
            kept.put(&vectors).unwrap();
        }
        let questions: Vec<Vector> = (0..ROUNDS).map(|_| vector(&mut seed, dimension)).collect();
        let timed = |work: &dyn Fn(&Vector)| -> Vec<Duration> {
            let one = |question: &Vector| {
                let begun = Instant::now();
                work(question);
                begun.elapsed()
            };
            questions.iter().map(one).collect()
        };
        let wanted = Wanted { most: 64, least: -1.0 };
        let mut times = timed(&|question| drop(black_box(kept.search(question, wanted, &|_| true))));
        // All of them, number by number, and nothing else: what memory gives at best.
        let mut plainly = timed(&|question| {
            let products = plain.chunks_exact(dimension).map(|row| {
                let mut lanes = [0f32; 8];
                for (a, b) in row.chunks_exact(8).zip(question.numbers().chunks_exact(8)) {
                    lanes.iter_mut().zip(a.iter().zip(b)).for_each(|(lane, (a, b))| *lane += a * b);
                }
                lanes.iter().sum::<f32>()
            });
            black_box(products.fold(f32::MIN, f32::max));
        });
        let (p50, p99, plain) =
            (percentile(&mut times, 0.5), percentile(&mut times, 0.99), percentile(&mut plainly, 0.5));
        let measured = format!("p50 {p50:.1} ms, p99 {p99:.1} ms, {:.2} of plain", p50 / plain);
        row(&format!("nearest of {VECTORS} × {dimension}"), &format!("p99 {promised} ms"), &measured);
        row(&format!("memory of {VECTORS} × {dimension}"), "", &format!("{} MB", kept.heap_bytes() / 1_000_000));
    }
}
