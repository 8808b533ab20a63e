//! Every path against a sort.
#![allow(
    clippy::cast_possible_truncation,
    reason = "small numbers, and singles of doubles"
)]

use proptest::prelude::*;

use super::pass::{self, Kernel, Stop, Tally};
use super::radix::{self, Histogram};
use super::sample;
use super::small;
use super::{Real, bracketed, groups, kth, kth_smallest, kth_smallest_by_group, kth_smallest_each};
use crate::Error;

/// A fixed sequence without order.
fn mixed(n: usize) -> impl Iterator<Item = u64> + Clone {
    (1..=n as u64)
        .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40)
}

fn sorted<T: Real>(scores: &[T]) -> Vec<T> {
    let mut sorted: Vec<T> = scores.iter().map(|score| score.unsigned_zero()).collect();
    sorted.sort_by(T::compare);
    sorted
}

/// Bits, so that −0 is told from +0.
fn keys<T: Real>(scores: &[T]) -> Vec<u64> {
    scores.iter().map(|score| score.key()).collect()
}

fn some_ranks(n: usize) -> Vec<usize> {
    let mut ranks = vec![1, 2, n / 10, n / 2, n * 9 / 10, n * 99 / 100, n - 1, n];
    ranks.retain(|&k| k > 0 && k <= n);
    ranks
}

/// Every kernel, one rank and several, and the radix, against the sort.
fn check<T: Real>(scores: &[T]) {
    let sorted = sorted(scores);
    let ranks = some_ranks(scores.len());
    let wanted: Vec<T> = ranks.iter().map(|k| sorted[k - 1]).collect();
    for (&k, &wanted) in ranks.iter().zip(&wanted) {
        for kernel in Kernel::all() {
            let found = kth(kernel, scores, k - 1).unwrap().unsigned_zero();
            assert_eq!(
                found.key(),
                wanted.key(),
                "{kernel:?}, rank {k} of {}",
                scores.len()
            );
            let tries = (0..2).map(|attempt| bracketed(kernel, scores, k - 1, attempt, &mut Vec::new()));
            for found in tries.filter_map(|tried| tried.unwrap_or(None)) {
                assert!(found == wanted);
            }
        }
        assert_eq!(
            radix::kth(&[scores], k - 1).unwrap().unsigned_zero().key(),
            wanted.key()
        );
    }
    assert_eq!(keys(&kth_smallest_each(scores, &ranks).unwrap()), keys(&wanted));
}

fn check_both(scores: impl Iterator<Item = f64> + Clone) {
    check(&scores.clone().collect::<Vec<f64>>());
    check(&scores.map(|score| score as f32).collect::<Vec<f32>>());
}

#[test]
fn shapes_of_input() {
    for n in [1, 2, 15, 16, 17, 601, 1_000, 5_000, 70_001] {
        let numbers = || mixed(n).map(|x| x as f64 / 1e6 - 3.0);
        check_both(numbers());
        check_both((0..n).map(|i| i as f64));
        check_both((0..n).rev().map(|i| i as f64 - 100.0));
        for period in [2, 16, 64, 100, 2_048] {
            check_both((0..n).map(|i| (i % period) as f64));
        }
        check_both((0..n).map(|_| 0.25));
        check_both(mixed(n).map(|x| (x % 11) as f64 / 10.0));
        check_both(mixed(n).map(|x| (x % 2) as f64));
        check_both(mixed(n).map(|x| if x % 2 == 0 { 0.0 } else { -0.0 }));
        check_both(mixed(n).map(|x| [0.0, -0.0, 1e-320, -1e-320, 1e30, -1e30][(x % 6) as usize]));
        // One of two values is rare.
        check_both((0..n).map(|i| f64::from(u8::from(i == n / 3))));
    }
}

/// The smallest scores are where the first sample, the second or both look.
#[test]
fn input_made_against_the_sample() {
    let n = 70_001;
    for attempts in [vec![0], vec![1], vec![0, 1]] {
        let mut scores: Vec<f64> = mixed(n).map(|x| 1.0 + x as f64 / 1e9).collect();
        for &attempt in &attempts {
            for (i, at) in sample::positions(n, sample::size(n, attempt), attempt).enumerate() {
                scores[at] = -(i as f64);
            }
        }
        check_both(scores.iter().copied());
        for kernel in Kernel::all() {
            for &attempt in &attempts {
                assert_eq!(
                    bracketed(kernel, &scores, n / 2, attempt, &mut Vec::new()),
                    Ok(None)
                );
            }
        }
    }
}

/// A sample of few values in a narrow range, while the rest fills the range: more is inside than there is room for.
#[test]
fn too_many_inside() {
    let n = 70_001;
    let mut scores: Vec<f64> = mixed(n).map(|x| 0.5 + x as f64 / 1e9).collect();
    for (i, at) in sample::positions(n, sample::size(n, 0), 0).enumerate() {
        scores[at] = (i % 2) as f64;
    }
    let m = sample::size(n, 0);
    let k = n / 2;
    for kernel in Kernel::all() {
        assert!(
            matches!(
                bracketed(kernel, &scores, k, 0, &mut Vec::new()),
                Err(Stop::Overflow)
            ),
            "sample of {m}"
        );
    }
    check_both(scores.iter().copied());
}

#[test]
fn the_first_score_not_finite_is_named() {
    for n in [1, 17, 1_000, 70_001] {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -f64::NAN] {
            for at in [0, n / 2, n - 1] {
                let mut scores: Vec<f64> = mixed(n).map(|x| x as f64).collect();
                scores[at] = bad;
                scores[n - 1] = bad;
                let groups: Vec<u32> = mixed(n).map(|x| (x % 3) as u32).collect();
                for k in [0, 1, n / 2, n, n + 1] {
                    let errors = [
                        kth_smallest(&scores, k).unwrap_err(),
                        kth_smallest_each(&scores, &[k, 1]).unwrap_err(),
                        kth_smallest_each(&scores, &[k]).unwrap_err(),
                        kth_smallest_by_group(&scores, &groups, |_| k as u64).unwrap_err(),
                    ];
                    for error in errors {
                        assert!(
                            matches!(error, Error::NonFinite { name: "scores", index, .. } if index == at)
                        );
                    }
                    if (1..=n).contains(&k) {
                        for kernel in Kernel::all() {
                            assert!(kth(kernel, &scores, k - 1).is_none());
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn ranks_outside_are_infinite() {
    assert_eq!(kth_smallest(&[0.5_f32], 2).unwrap(), f32::INFINITY);
    assert_eq!(kth_smallest::<f64>(&[], 1).unwrap(), f64::INFINITY);
    let none: [usize; 0] = [];
    assert_eq!(kth_smallest_each(&[0.5], &none).unwrap(), [0.0; 0]);
    let scores: Vec<f64> = (0..1_000).map(f64::from).collect();
    assert_eq!(
        kth_smallest_each(&scores, &[7, 0, 1_001, 7, 1]).unwrap(),
        [6.0, f64::INFINITY, f64::INFINITY, 6.0, 0.0]
    );
    assert!(kth_smallest(&[-0.0_f64], 1).unwrap().is_sign_positive());
}

fn check_groups<T: Real>(scores: &[T], groups: &[u32], rank: impl Fn(u64) -> u64) {
    let found = kth_smallest_by_group(scores, groups, &rank).unwrap();
    let wide: Vec<i64> = groups.iter().map(|&group| group.into()).collect();
    assert_eq!(
        keys(&found),
        keys(&kth_smallest_by_group(scores, &wide, &rank).unwrap())
    );
    let n_groups = groups.iter().max().map_or(0, |&last| last as usize + 1);
    let wanted: Vec<T> = (0..n_groups)
        .map(|g| {
            let own: Vec<T> = (0..scores.len())
                .filter(|&i| groups[i] as usize == g)
                .map(|i| scores[i])
                .collect();
            let k = usize::try_from(rank(own.len() as u64)).unwrap();
            match k.checked_sub(1) {
                Some(place) if k <= own.len() => sorted(&own)[place],
                _ => T::ABOVE,
            }
        })
        .collect();
    assert_eq!(keys(&found), keys(&wanted));
}

#[test]
fn groups_of_any_size() {
    let n = 60_000;
    let ranks: [fn(u64) -> u64; 4] = [|n| (n + 1) * 9 / 10, |n| n / 2 + 1, |_| 1, |n| n];
    for rank in ranks {
        let scores: Vec<f64> = mixed(n).map(|x| x as f64 / 1e6).collect();
        let ties: Vec<f32> = mixed(n).map(|x| (x % 11) as f32).collect();
        // Even; one large and many small, of which every other is empty; in runs; all in one.
        let codes: [Vec<u32>; 4] = [
            mixed(n).map(|x| (x / 11 % 20) as u32).collect(),
            mixed(n)
                .map(|x| if x % 3 > 0 { 0 } else { (x / 3 % 200 * 2) as u32 })
                .collect(),
            (0..n).map(|i| (i / 7_000) as u32).collect(),
            vec![5; n],
        ];
        for codes in codes {
            check_groups(&scores, &codes, rank);
            check_groups(&ties, &codes, rank);
        }
    }
    check_groups::<f64>(&[], &[], |n| n + 1);
    // One score in each of more groups than are counted four at a time, which comes late.
    let n = 5_000;
    let scores: Vec<f64> = mixed(n).map(|x| x as f64).collect();
    check_groups(&scores, &(0..n as u32).collect::<Vec<u32>>(), |n| n);
    check_groups(
        &scores,
        &(0..n as u32).rev().map(|i| i / 3).collect::<Vec<u32>>(),
        |n| n,
    );
}

#[test]
fn a_number_that_is_no_groups_is_named() {
    let scores = [0.5_f32; 9];
    let found = kth_smallest_by_group(&scores[..2], &[65_535_u32, 3], |n| n).unwrap();
    assert_eq!(found.iter().filter(|score| score.is_finite()).count(), 2);
    for (at, bad) in [(0, 65_536), (3, -1), (8, i64::MAX), (5, i64::MIN)] {
        let mut groups = [1_i64; 9];
        groups[at] = bad;
        let error = kth_smallest_by_group(&scores, &groups, |n| n).unwrap_err();
        assert!(matches!(error, Error::GroupNumber { index, limit: 65_536 } if index == at));
    }
}

#[test]
fn groups_made_against_the_sample() {
    let n = 60_000;
    let codes: Vec<u32> = (0..n).map(|i| (i % 3) as u32).collect();
    let mut scores: Vec<f64> = mixed(n).map(|x| 1.0 + x as f64).collect();
    let m = groups::sample_size(n, 3);
    for at in sample::positions(n, m, 0) {
        scores[at] = -(at as f64);
    }
    check_groups(&scores, &codes, |n| n / 2);
    for (i, at) in sample::positions(n, m, 0).enumerate() {
        scores[at] = if i % 2 == 0 { 0.0 } else { 1e9 };
    }
    check_groups(&scores, &codes, |n| n / 2);
}

#[test]
fn positions_are_one_in_each_stretch() {
    for (n, m) in [(1, 1), (10, 10), (10, 3), (1_000, 70), (100_003, 1_507)] {
        let positions: Vec<usize> = sample::positions(n, m, 0).collect();
        assert_eq!(positions.len(), m);
        assert!(positions.is_sorted());
        // Stretches of a broken length share their ends.
        assert!((0..m).all(|i| positions[i] >= i * n / m && positions[i] <= (i + 1) * n / m));
        assert!(positions[m - 1] < n);
    }
    // Another attempt looks elsewhere.
    let first: std::collections::HashSet<usize> = sample::positions(100_000, 1_000, 0).collect();
    assert!(
        sample::positions(100_000, 2_000, 1)
            .filter(|at| first.contains(at))
            .count()
            < 100
    );
}

#[test]
fn histograms_of_parts_add_up() {
    let scores: Vec<f32> = mixed(10_000).map(|x| x as f32 - 1e6).collect();
    let mut whole = Histogram::first::<f32>();
    whole.add(&scores);
    let mut merged = Histogram::first::<f32>();
    for part in scores.chunks(3_333) {
        let mut own = Histogram::first::<f32>();
        own.add(part);
        merged.merge(&own);
    }
    for k in [0, 5_000, 9_999] {
        assert_eq!(whole.find(k), merged.find(k));
    }
    let parts: Vec<&[f32]> = scores.chunks(3_333).collect();
    assert_eq!(radix::kth(&parts, 4_000), Some(sorted(&scores)[4_000]));
    assert_eq!(radix::kth(&parts, 10_000), None);
}

/// The kernels agree on every count and on every score inside, in its place.
fn check_kernels<T: Real>(scores: &[T], low: T, high: T) {
    let runs: Vec<_> = Kernel::all()
        .into_iter()
        .map(|kernel| {
            let mut buffer = vec![T::default(); scores.len() + pass::BLOCK + pass::SPILL];
            let mut tally = Tally::new(low, high, &mut buffer);
            pass::run(kernel, scores, std::slice::from_mut(&mut tally)).unwrap();
            (tally.at_most_low, tally.below_high, keys(tally.inside()))
        })
        .collect();
    let inside: Vec<T> = scores
        .iter()
        .copied()
        .filter(|&score| score > low && score < high)
        .collect();
    let count = |of: &dyn Fn(T) -> bool| scores.iter().filter(|&&score| of(score)).count();
    for run in runs {
        assert_eq!(run.0, count(&|score| score <= low));
        assert_eq!(run.1, count(&|score| score < high));
        assert_eq!(run.2, keys(&inside));
    }
}

/// The ways to select among few, whatever the length at which the others give way to them.
fn check_few<T: Real>(scores: &[T]) {
    let sorted = sorted(scores);
    for k in some_ranks(scores.len()) {
        for kernel in Kernel::all() {
            if scores.len() <= T::AT_ONCE {
                let found = T::places(kernel, scores, [k - 1, 0]);
                assert!(found == [sorted[k - 1], sorted[0]]);
            }
            if scores.len() <= 5_000 {
                let found = small::kth_on_stack::<T, 5_016>(kernel, scores, k - 1);
                assert!(found == Ok(sorted[k - 1]));
            }
            let mut scratch = Vec::new();
            let found = small::kth_owned(kernel, &mut scores.to_vec(), k - 1, &mut scratch);
            assert!(found == Ok(sorted[k - 1]));
            assert!(scratch.len() < scores.len() / 2 + pass::BLOCK + 32);
        }
    }
}

#[test]
fn among_few() {
    for n in [1, 2, 31, 32, 33, 63, 64, 65, 100, 500, 1_024, 5_000, 9_001] {
        for modulus in [1 << 40, 1_000, 20, 3, 1] {
            let doubles: Vec<f64> = mixed(n).map(|x| (x % modulus) as f64 - 9.0).collect();
            check_few(&doubles);
            check_few(&doubles.iter().map(|&x| x as f32).collect::<Vec<f32>>());
        }
        check_few(&(0..n).map(|i| i as f32).collect::<Vec<f32>>());
        check_few(&(0..n).rev().map(|i| i as f64).collect::<Vec<f64>>());
    }
}

/// Round after round, the sample shows the lowest scores alone.
#[test]
fn few_made_against_the_samples() {
    for n in [600, 5_000] {
        let mut scores: Vec<f64> = (0..n).map(|i| 1e6 + i as f64).collect();
        let mut left: Vec<usize> = (0..n).collect();
        let mut lowest = 0.0;
        while left.len() > 64 {
            let places: Vec<usize> = sample::positions(left.len(), 32, 0).collect();
            for &at in &places {
                scores[left[at]] = lowest;
                lowest += 1.0;
            }
            let mut at = 0;
            left.retain(|_| {
                at += 1;
                !places.contains(&(at - 1))
            });
        }
        check_few(&scores);
        check_few(&scores.iter().map(|&x| x as f32).collect::<Vec<f32>>());
    }
}

proptest! {
    #[test]
    fn kernels_agree(
        scores in prop::collection::vec(-20_i8..20, 0..5_000),
        (low, width) in (-25_i8..25, 0_i8..40),
    ) {
        let doubles: Vec<f64> = scores.iter().map(|&s| f64::from(s)).collect();
        let singles: Vec<f32> = scores.iter().map(|&s| f32::from(s)).collect();
        let (low, high) = (f32::from(low), f32::from(low) + f32::from(width));
        check_kernels(&doubles, low.into(), high.into());
        check_kernels(&singles, low, high);
        check_kernels(&singles, f32::NEG_INFINITY, high);
        check_kernels(&doubles, low.into(), f64::INFINITY);
    }

    #[test]
    fn any_scores(
        doubles in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO, 1..3_000),
        bits in prop::collection::vec(any::<u32>(), 1..3_000),
    ) {
        check(&doubles);
        let singles: Vec<f32> = bits.into_iter().map(f32::from_bits).filter(|x| x.is_finite()).collect();
        if !singles.is_empty() {
            check(&singles);
        }
    }

    #[test]
    fn any_groups(
        rows in prop::collection::vec((-9_i8..9, 0_u32..40), 0..4_000),
        share in 1_u64..100,
    ) {
        let scores: Vec<f32> = rows.iter().map(|row| f32::from(row.0)).collect();
        let groups: Vec<u32> = rows.iter().map(|row| row.1).collect();
        check_groups(&scores, &groups, |n| (n + 1) * share / 100);
    }
}
