//! The score and `select` by body, storage and number of rows, d = 384; each asserts its answer before it is timed.
//!
//! The matrix begins 16 bytes off a cache line, as numpy's do.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a bench that fails may panic"
)]

use divan::{Bencher, counter::BytesCount};
use half::f16;
use tamis::{Element, Kernel, Rows, Scoring, Threshold, cosine_scores_into, select_into};
use tamis_bench::sequence;

#[global_allocator]
static ALLOC: divan::AllocProfiler = divan::AllocProfiler::system();

const D: usize = 384;
const NS: [usize; 4] = [50, 200, 1000, 10_000];
const KERNELS: [&str; 3] = ["portable", "avx2", "avx512"];

fn main() {
    divan::main();
}

fn cases() -> Vec<(String, usize)> {
    let kernels: Vec<&str> = Kernel::available().into_iter().map(Kernel::name).collect();
    let known = KERNELS.into_iter().filter(|name| kernels.contains(name));
    known.flat_map(|name| NS.map(|n| (name.to_owned(), n))).collect()
}

struct Case<T: Element> {
    query: Vec<T::Query>,
    buffer: Vec<T>,
    first: usize,
    n: usize,
    scoring: Scoring,
}

impl<T: Element> Case<T> {
    fn new((kernel, n): &(String, usize), convert: fn(f32) -> T, query: fn(f32) -> T::Query) -> Self {
        let values = sequence((n + 1) * D);
        let mut values = values.into_iter().map(|x| x as f32 - 0.5);
        let query = values.by_ref().take(D).map(query).collect();
        let mut buffer: Vec<T> = Vec::with_capacity(n * D + 128);
        let first = buffer.as_ptr().align_offset(64) + 16 / size_of::<T>();
        buffer.resize(first, convert(0.0));
        buffer.extend(values.map(convert));
        let found = Kernel::available().into_iter().find(|body| body.name() == kernel);
        let scoring = Scoring {
            kernel: found.unwrap(),
            ..Scoring::default()
        };
        Self {
            query,
            buffer,
            first,
            n: *n,
            scoring,
        }
    }

    fn rows(&self) -> Rows<'_, T> {
        Rows::contiguous(&self.buffer[self.first..], self.n, D).unwrap()
    }

    fn run(&self, bencher: Bencher) {
        self.run_rows(bencher, self.rows());
    }

    fn run_rows(&self, bencher: Bencher, rows: Rows<'_, T>) {
        let mut expected = vec![0.0; self.n];
        let portable = Scoring {
            kernel: Kernel::portable(),
            ..self.scoring
        };
        cosine_scores_into(&self.query, rows, portable, &mut expected).unwrap();
        let mut scores = vec![0.0; self.n];
        cosine_scores_into(&self.query, rows, self.scoring, &mut scores).unwrap();
        assert_eq!(scores, expected);
        bencher
            .counter(BytesCount::new(rows.n_bytes()))
            .bench_local(|| cosine_scores_into(&self.query, rows, self.scoring, &mut scores));
    }
}

#[divan::bench(args = cases())]
fn float32(bencher: Bencher, case: &(String, usize)) {
    Case::new(case, |x| x, |x| x).run(bencher);
}

#[divan::bench(args = cases())]
fn float32_unit(bencher: Bencher, case: &(String, usize)) {
    let case: Case<f32> = Case::new(case, |x| x / 5.65, |x| x);
    case.run_rows(bencher, case.rows().unit());
}

#[divan::bench(args = cases())]
fn float16(bencher: Bencher, case: &(String, usize)) {
    Case::new(case, f16::from_f32, |x| x).run(bencher);
}

#[divan::bench(args = cases())]
fn int8(bencher: Bencher, case: &(String, usize)) {
    Case::new(case, |x| (x * 255.0) as i8, |x| (x * 255.0) as i8).run(bencher);
}

#[divan::bench(args = cases())]
fn select(bencher: Bencher, case: &(String, usize)) {
    let case: Case<f32> = Case::new(case, |x| x, |x| x);
    let threshold = Threshold::fixed(1.0).unwrap();
    let (mut kept, mut scores) = (vec![0; case.n], vec![0.0; case.n]);
    let mut run = || {
        let scores = Some(&mut scores[..]);
        select_into(
            &case.query,
            case.rows(),
            &threshold,
            case.scoring,
            &mut kept,
            scores,
        )
        .unwrap()
    };
    let n_kept = run();
    assert!(n_kept > 0 && n_kept < case.n);
    assert_eq!(n_kept, {
        let mut scores = vec![0.0; case.n];
        cosine_scores_into(&case.query, case.rows(), case.scoring, &mut scores).unwrap();
        scores.iter().filter(|&&score| score <= 1.0).count()
    });
    bencher.bench_local(run);
}

/// 77 MB of rows on one thread and on two.
#[divan::bench(args = [1, 2])]
fn threads(bencher: Bencher, threads: usize) {
    let mut case: Case<f32> = Case::new(&(Kernel::detect().name().to_owned(), 50_000), |x| x, |x| x);
    case.scoring.threads = threads.try_into().unwrap();
    case.run(bencher);
}
