//! The rank of the conformal quantile, in integers.

use num_bigint::BigUint;

use super::level::Level;
use super::select;
use crate::Result;

/// k = ⌈(n+1)(1−alpha)⌉, computed as (n+1) − ⌊(n+1)·p/q⌋ for alpha = p/q.
///
/// Lies in 1..=n+1; n+1 means that n scores are too few and the threshold is +∞
/// (Vovk et al. 2005; Lei et al. 2018, split conformal prediction).
pub fn conformal_rank(n: u64, alpha: &Level) -> u64 {
    let above = alpha.floor_mul(&(BigUint::from(n) + 1_u32));
    // alpha < 1, so at most n of the n+1 lie above; every digit past the first is zero.
    n + 1 - above.iter_u64_digits().next().unwrap_or(0)
}

/// The k-th smallest of the scores, k = [`conformal_rank`], and +∞ when k > n. O(n); copies the scores once.
///
/// # Errors
///
/// [`crate::Error::NonFinite`] naming the first score that is not finite.
pub fn conformal_quantile(scores: &[f64], alpha: &Level) -> Result<f64> {
    super::fit::check_finite("scores", scores)?;
    let k = conformal_rank(scores.len() as u64, alpha);
    let k = usize::try_from(k).unwrap_or(usize::MAX);
    Ok(select::kth_smallest(&mut scores.to_vec(), k))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(n: u64, alpha: &str) -> u64 {
        conformal_rank(n, &Level::parse("alpha", alpha).unwrap())
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
