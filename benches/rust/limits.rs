//! `select` beside the fastest way to only read the same rows, d = 384, in turns within one run.
//!
//! Reading is a sum by AVX-512: one row after the other or four side by side, with and without asking ahead.
//! One line of JSON a case on standard output; times are wall seconds, `of_read` is to the fastest
//! way of reading on one thread.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a bench: loads by pointer, reads the clock, prints, and may panic"
)]

use std::hint::black_box;
use std::time::Instant;

use half::f16;
use tamis::{Element, Rows, Scoring, Threshold, cosine_scores_into, select_into};
use tamis_bench::sequence;

const D: usize = 384;
const NS: [usize; 2] = [10_000, 1_000_000];

fn main() {
    // An argument that is a number replaces the sizes.
    let given: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    for n in if given.is_empty() { NS.to_vec() } else { given } {
        let rounds = if n > 100_000 { 9 } else { 301 };
        run(n, rounds);
    }
}

/// A way to pass over the rows.
type Way<'a> = (&'static str, Box<dyn FnMut() + 'a>);

/// `n` rows that begin 16 bytes off a cache line, as numpy's do, and where they begin.
fn rows_of<T: Element>(n: usize, convert: fn(f32) -> T) -> (Vec<T>, usize) {
    // Repeats after some thousand rows: the processor does not know.
    let values = sequence(4099 * D);
    let mut buffer: Vec<T> = Vec::with_capacity(n * D + 128);
    let first = buffer.as_ptr().align_offset(64) + 16 / size_of::<T>();
    buffer.resize(first, convert(0.0));
    buffer.extend(
        values
            .iter()
            .cycle()
            .take(n * D)
            .map(|&x| convert(x as f32 - 0.5)),
    );
    (buffer, first)
}

fn run(n: usize, rounds: usize) {
    let query: Vec<f32> = sequence(D).into_iter().map(|x| 0.5 - x as f32).collect();
    let (wide, first) = rows_of(n, |x| x);
    let (narrow, first_narrow) = rows_of(n, f16::from_f32);
    let rows = Rows::contiguous(&wide[first..], n, D).unwrap();
    let rows_narrow = Rows::contiguous(&narrow[first_narrow..], n, D).unwrap();
    let mut scores = vec![0.0; n];
    cosine_scores_into(&query, rows, Scoring::default(), &mut scores).unwrap();
    scores.sort_unstable_by(f32::total_cmp);
    let threshold = Threshold::fixed(f64::from(scores[n / 10])).unwrap();
    let mut kept = vec![0; n];
    let expected = select_into(&query, rows, &threshold, Scoring::default(), &mut kept, None).unwrap();
    assert!(expected > 0 && expected < n / 2, "{expected} of {n}");
    let select = |threads: usize| {
        let (query, threshold, mut kept) = (&query, &threshold, vec![0; n]);
        let scoring = Scoring {
            threads: threads.try_into().unwrap(),
            ..Scoring::default()
        };
        move || {
            let n_kept = select_into(query, rows, threshold, scoring, &mut kept, None).unwrap();
            assert_eq!(n_kept, expected);
        }
    };
    let mut half_kept = vec![0; n];
    let (query, threshold) = (&query, &threshold);
    let mut ways: Vec<Way<'_>> = reading(&wide[first..]);
    let n_reading = ways.len();
    ways.push(("select", Box::new(select(1))));
    ways.push(("select, 2 threads", Box::new(select(2))));
    ways.push((
        "select, float16",
        Box::new(move || {
            let n_kept = select_into(
                query,
                rows_narrow,
                threshold,
                Scoring::default(),
                &mut half_kept,
                None,
            );
            assert!(n_kept.unwrap() > 0);
        }),
    ));
    let mut times = vec![Vec::with_capacity(rounds); ways.len()];
    for _ in 0..rounds {
        for ((_, way), times) in ways.iter_mut().zip(&mut times) {
            let start = Instant::now();
            way();
            times.push(start.elapsed().as_secs_f64());
        }
    }
    for times in &mut times {
        times.sort_unstable_by(f64::total_cmp);
    }
    let median = |times: &Vec<f64>| times[times.len() / 2];
    let fastest = times[..n_reading]
        .iter()
        .zip(&ways)
        .filter(|(_, (name, _))| !name.contains("threads"))
        .map(|(times, _)| median(times))
        .min_by(f64::total_cmp)
        .unwrap_or(f64::NAN);
    let one = median(&times[n_reading]);
    for ((name, _), times) in ways.iter().zip(&times) {
        println!(
            "{{\"bench\": \"limits\", \"case\": \"{name}\", \"n\": {n}, \"d\": {D}, \"median_s\": {:.9}, \"best_s\": {:.9}, \
             \"of_read\": {:.3}, \"of_select\": {:.3}}}",
            median(times),
            times[0],
            median(times) / fastest,
            median(times) / one,
        );
    }
}

/// The ways to read `values` and do nothing with them; none on a processor without AVX-512.
fn reading(values: &[f32]) -> Vec<Way<'_>> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        let expected: f64 = values.iter().map(|&x| f64::from(x)).sum();
        let check = move |sum: f32| assert!((f64::from(sum) - expected).abs() < 1e-3 * values.len() as f64);
        // SAFETY: the processor has AVX-512 F.
        return unsafe {
            vec![
                (
                    "read",
                    Box::new(move || check(black_box(x86::sum::<1, 0>(values)))),
                ),
                (
                    "read, asking ahead",
                    Box::new(move || check(black_box(x86::sum::<1, 6144>(values)))),
                ),
                (
                    "read, 2 threads",
                    Box::new(move || {
                        let (a, b) = values.split_at(values.len() / 2 / D * D);
                        let sums = std::thread::scope(|scope| {
                            let a = scope.spawn(|| x86::sum::<1, 0>(a));
                            x86::sum::<1, 0>(b) + a.join().unwrap()
                        });
                        check(black_box(sums));
                    }),
                ),
                (
                    "read four rows",
                    Box::new(move || check(black_box(x86::sum::<4, 0>(values)))),
                ),
                (
                    "read four rows, asking ahead",
                    Box::new(move || check(black_box(x86::sum::<4, 6144>(values)))),
                ),
            ]
        };
    }
    let _ = values;
    Vec::new()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::D;
    use std::arch::x86_64::{
        _MM_HINT_T0, _mm_prefetch, _mm512_add_ps, _mm512_loadu_ps, _mm512_reduce_add_ps, _mm512_setzero_ps,
    };

    /// The sum of all values, `ROWS` rows of [`D`] side by side, `AHEAD` bytes asked for beforehand (0: none).
    /// Loads are aligned, so a few values at both ends are left out.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn sum<const ROWS: usize, const AHEAD: usize>(values: &[f32]) -> f32 {
        let skip = values.as_ptr().align_offset(64);
        let values = &values[skip..];
        let mut acc = [_mm512_setzero_ps(); 8];
        for group in values.chunks_exact(ROWS * D) {
            for at in (0..D).step_by(16 * 8 / ROWS) {
                for (k, acc) in acc.iter_mut().enumerate() {
                    // Eight registers a step: 8 / ROWS of each row.
                    let from = (k % ROWS) * D + at + k / ROWS * 16;
                    // SAFETY: `from` + 16 is at most ROWS * D; what is asked for ahead is not read.
                    unsafe {
                        let from = group.as_ptr().add(from);
                        if AHEAD > 0 {
                            _mm_prefetch::<_MM_HINT_T0>(from.wrapping_byte_add(AHEAD).cast());
                        }
                        *acc = _mm512_add_ps(*acc, _mm512_loadu_ps(from));
                    }
                }
            }
        }
        acc.into_iter().map(|acc| _mm512_reduce_add_ps(acc)).sum()
    }
}
