//! One bench per stage; each asserts its answer before it is timed.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a bench that fails may panic"
)]

use divan::Bencher;
use tamis::{Chunker, Level, Rows, Threshold, conformal_quantile, select};
use tamis_bench::sequence;

#[global_allocator]
static ALLOC: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}

#[divan::bench(args = [200, 1000])]
fn score_and_keep(bencher: Bencher, n: usize) {
    const D: usize = 384;
    let values: Vec<f32> = sequence((n + 1) * D)
        .into_iter()
        .map(|x| x as f32 - 0.5)
        .collect();
    let (query, matrix) = values.split_at(D);
    let threshold = Threshold::fixed(1.0).unwrap();
    let run = || select(query, Rows::contiguous(matrix, n, D).unwrap(), &threshold).unwrap();
    let (kept, scores) = run();
    assert_eq!(kept.len(), scores.iter().filter(|&&score| score <= 1.0).count());
    assert!(!kept.is_empty() && kept.len() < n);
    bencher.bench(run);
}

#[divan::bench(args = [1_000, 100_000])]
fn quantile(bencher: Bencher, n: usize) {
    let scores = sequence(n);
    let alpha = Level::parse("alpha", "0.1").unwrap();
    let mut sorted = scores.clone();
    sorted.sort_by(f64::total_cmp);
    let k = tamis::conformal_rank(n as u64, &alpha) as usize;
    assert_eq!(conformal_quantile(&scores, &alpha).unwrap(), sorted[k - 1]);
    bencher.bench(|| conformal_quantile(&scores, &alpha));
}

#[divan::bench(args = [5_000, 1_000_000])]
fn chunk(bencher: Bencher, bytes: usize) {
    let text = "The pump failed at noon. It was mended by four, and nobody was hurt. ".repeat(bytes / 69);
    let chunker = Chunker::new(500, 100).unwrap();
    let spans = chunker.chunk(&text);
    assert!(
        spans
            .as_slice()
            .iter()
            .all(|span| text[span.start..span.end].ends_with('.'))
    );
    assert_eq!(spans.as_slice().last().unwrap().end, text.trim_end().len());
    bencher.bench(|| chunker.chunk(&text));
}
