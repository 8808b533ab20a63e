//! The rank of the conformal quantile, in integers.

use num_bigint::BigUint;

use super::level::Level;
use super::select::{self, GroupNumber, Real};
use crate::keep::Score;
use crate::{Error, Result};

/// k = ⌈(n+1)(1−alpha)⌉, computed as (n+1) − ⌊(n+1)·p/q⌋ for alpha = p/q.
///
/// Lies in 1..=n+1; n+1 means that n scores are too few and the threshold is +∞
/// (Vovk et al. 2005; Lei et al. 2018, split conformal prediction).
#[allow(clippy::cast_possible_truncation, reason = "alpha < 1, so at most n + 1")]
pub fn conformal_rank(n: u64, alpha: &Level) -> u64 {
    if let Some((p, q)) = alpha.words() {
        let scaled = (u128::from(n) + 1) * u128::from(p);
        // A division of one word, where it suffices.
        let above = match u64::try_from(scaled) {
            Ok(scaled) => scaled / q,
            Err(_) => (scaled / u128::from(q)) as u64,
        };
        return n + 1 - above;
    }
    let above = alpha.floor_mul(&(BigUint::from(n) + 1_u32));
    // alpha < 1, so at most n of the n+1 lie above; every digit past the first is zero.
    n + 1 - above.iter_u64_digits().next().unwrap_or(0)
}

/// The k-th smallest of the scores, k = [`conformal_rank`], and +∞ when k > n. O(n); the scores are not copied.
///
/// −0 counts as +0.
///
/// # Errors
///
/// [`crate::Error::NonFinite`] naming the first score that is not finite.
pub fn conformal_quantile<S: Real>(scores: &[S], alpha: &Level) -> Result<f64> {
    let k = conformal_rank(scores.len() as u64, alpha);
    let k = usize::try_from(k).unwrap_or(usize::MAX);
    Ok(select::kth_smallest(scores, k)?.widen())
}

/// [`conformal_quantile`] by one of `portable`, `avx2` and `avx512`, for benches: each finds the same score. `None` where the
/// processor has no such thing.
///
/// # Errors
///
/// As [`conformal_quantile`].
#[doc(hidden)]
pub fn conformal_quantile_by<S: Real>(kernel: &str, scores: &[S], alpha: &Level) -> Option<Result<f64>> {
    let k = conformal_rank(scores.len() as u64, alpha);
    let k = usize::try_from(k).unwrap_or(usize::MAX);
    select::kth_smallest_by_name(kernel, scores, k).map(|found| found.map(Score::widen))
}

/// [`conformal_quantile`] at several levels, in one pass over the scores. O(n · levels).
///
/// # Errors
///
/// As [`conformal_quantile`].
pub fn conformal_quantiles<S: Real>(scores: &[S], alphas: &[Level]) -> Result<Vec<f64>> {
    let n = scores.len() as u64;
    let ks: Vec<usize> = alphas
        .iter()
        .map(|alpha| usize::try_from(conformal_rank(n, alpha)).unwrap_or(usize::MAX))
        .collect();
    Ok(widened(&select::kth_smallest_each(scores, &ks)?))
}

/// [`conformal_quantile`] within each group, up to the last that has a score; +∞ for a group that is too small or empty.
///
/// `groups` is parallel to the scores and holds numbers from 0. O(n): no sort by group, no copy of all scores.
///
/// # Errors
///
/// As [`conformal_quantile`]; [`Error::LengthMismatch`] when `groups` is not parallel to the scores,
/// [`Error::GroupNumber`] when a number is negative, or neither below 65 536 nor below the number of scores.
pub fn conformal_quantiles_by_group<S: Real, G: GroupNumber>(
    scores: &[S],
    groups: &[G],
    alpha: &Level,
) -> Result<Vec<f64>> {
    if groups.len() != scores.len() {
        return Err(Error::LengthMismatch {
            name: "groups",
            expected: scores.len(),
            got: groups.len(),
        });
    }
    let rank = |n| conformal_rank(n, alpha);
    Ok(widened(&select::kth_smallest_by_group(scores, groups, rank)?))
}

fn widened<S: Real>(scores: &[S]) -> Vec<f64> {
    scores.iter().map(|score| score.widen()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(n: u64, alpha: &str) -> u64 {
        conformal_rank(n, &Level::parse("alpha", alpha).unwrap())
    }

    /// Words give what big integers give, and a short decimal what a long one does.
    #[test]
    fn both_widths_agree() {
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(0x5851_f42d_4c95_7f2d)
                .wrapping_add(0x1405_7b7e_f767_814f);
            let digits = 1 + (state >> 59) as u32 % 18;
            let p = 1 + (state >> 3) % (10_u64.pow(digits) - 1);
            let n = (state ^ state << 7) >> (state % 60);
            let n = n.min(u64::MAX - 1);
            let short = Level::parse("alpha", &format!("0.{p:0width$}", width = digits as usize)).unwrap();
            let long = format!("0.{p:0width$}{:0<90}", "", width = digits as usize);
            assert_eq!(
                conformal_rank(n, &short),
                conformal_rank(n, &Level::parse("alpha", &long).unwrap())
            );
            let above = short.floor_mul(&(BigUint::from(n) + 1_u32));
            assert_eq!(BigUint::from(n + 1 - conformal_rank(n, &short)), above);
        }
    }

    #[test]
    fn where_doubles_go_wrong() {
        assert_eq!(rank(49, "0.42"), 29);
        assert_eq!(rank(9, "0.1"), 9);
        assert_eq!(rank(8, "1/3"), 6);
        assert_eq!(rank(5, "0.1"), 6);
        assert_eq!(rank(0, "0.5"), 1);
        assert_eq!(rank(u64::MAX - 1, "0.5"), u64::MAX / 2 + 1);
    }
}
