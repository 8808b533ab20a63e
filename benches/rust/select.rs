//! Selection of conformal quantiles; each bench asserts its answer before it is timed.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a bench that fails may panic"
)]

use divan::Bencher;
use divan::counter::ItemsCount;
use tamis::{
    Level, Real, conformal_quantile, conformal_quantile_by, conformal_quantiles,
    conformal_quantiles_by_group, conformal_rank,
};

#[global_allocator]
static ALLOC: divan::AllocProfiler = divan::AllocProfiler::system();

const SIZES: [usize; 3] = [1_000, 100_000, 10_000_000];
const EIGHT: [&str; 8] = ["0.01", "0.02", "0.05", "0.1", "0.15", "0.2", "0.3", "0.5"];

fn main() {
    divan::main();
}

trait Precision: Real {
    fn narrow(value: f64) -> Self;
}

impl Precision for f32 {
    fn narrow(value: f64) -> Self {
        value as f32
    }
}

impl Precision for f64 {
    fn narrow(value: f64) -> Self {
        value
    }
}

/// Sums of four uniform numbers from a fixed xorshift sequence: bell-shaped, in no order.
fn scores<T: Precision>(n: usize) -> Vec<T> {
    let mut state = 7_u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f64 / f64::from(1_u32 << 24)
    };
    (0..n)
        .map(|_| T::narrow(0.4 * (uniform() + uniform() + uniform() + uniform())))
        .collect()
}

fn level(text: &str) -> Level {
    Level::parse("alpha", text).unwrap()
}

/// The same by selection in a copy.
fn expected<T: Real>(scores: &[T], alpha: &Level) -> f64 {
    let k = conformal_rank(scores.len() as u64, alpha) as usize;
    let mut copy: Vec<f64> = scores.iter().map(|score| score.widen()).collect();
    if k > copy.len() {
        return f64::INFINITY;
    }
    *copy.select_nth_unstable_by(k - 1, f64::total_cmp).1
}

#[divan::bench(types = [f32, f64], args = SIZES)]
fn one_level<T: Precision>(bencher: Bencher, n: usize) {
    let scores = scores::<T>(n);
    let alpha = level("0.1");
    assert_eq!(
        conformal_quantile(&scores, &alpha).unwrap(),
        expected(&scores, &alpha)
    );
    bencher
        .counter(ItemsCount::new(n))
        .bench(|| conformal_quantile(&scores, &alpha));
}

/// The bodies that processors with AVX-512 do not use.
#[divan::bench(types = [f32, f64], args = SIZES)]
fn one_level_portable<T: Precision>(bencher: Bencher, n: usize) {
    one_level_by::<T>("portable", bencher, n);
}

#[divan::bench(types = [f32, f64], args = SIZES)]
fn one_level_avx2<T: Precision>(bencher: Bencher, n: usize) {
    one_level_by::<T>("avx2", bencher, n);
}

fn one_level_by<T: Precision>(kernel: &str, bencher: Bencher, n: usize) {
    let scores = scores::<T>(n);
    let alpha = level("0.1");
    let Some(found) = conformal_quantile_by(kernel, &scores, &alpha) else {
        return;
    };
    assert_eq!(found.unwrap(), expected(&scores, &alpha));
    bencher
        .counter(ItemsCount::new(n))
        .bench(|| conformal_quantile_by(kernel, &scores, &alpha));
}

#[divan::bench(types = [f32, f64], args = SIZES)]
fn eight_levels<T: Precision>(bencher: Bencher, n: usize) {
    let scores = scores::<T>(n);
    let alphas = EIGHT.map(level);
    let wanted: Vec<f64> = alphas.iter().map(|alpha| expected(&scores, alpha)).collect();
    assert_eq!(conformal_quantiles(&scores, &alphas).unwrap(), wanted);
    bencher
        .counter(ItemsCount::new(n))
        .bench(|| conformal_quantiles(&scores, &alphas));
}

#[divan::bench(types = [f32, f64], args = [100_000, 10_000_000])]
fn hundred_groups<T: Precision>(bencher: Bencher, n: usize) {
    const GROUPS: u32 = 100;
    let scores = scores::<T>(n);
    // In no order, as large as each other.
    let groups: Vec<u32> = (0..n as u64)
        .map(|i| ((i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32) % GROUPS)
        .collect();
    let alpha = level("0.1");
    let found = conformal_quantiles_by_group(&scores, &groups, &alpha).unwrap();
    for (g, &found) in (0..GROUPS).zip(&found) {
        let own: Vec<T> = scores
            .iter()
            .zip(&groups)
            .filter(|(_, code)| **code == g)
            .map(|(&score, _)| score)
            .collect();
        assert_eq!(found, expected(&own, &alpha));
    }
    bencher
        .counter(ItemsCount::new(n))
        .bench(|| conformal_quantiles_by_group(&scores, &groups, &alpha));
}
