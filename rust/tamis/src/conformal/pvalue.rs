//! Conformal p-values: how extreme a score is among calibration scores.

use super::fit::check_finite;
use crate::Result;

/// The scores in ascending order, refused if one is not finite. O(n log n).
///
/// # Errors
///
/// [`crate::Error::NonFinite`] naming the first score that is not finite.
pub fn sorted_scores(scores: &[f64]) -> Result<Vec<f64>> {
    check_finite("scores", scores)?;
    let mut sorted = scores.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Ok(sorted)
}

/// p = (#{`s_i` ≥ s} + 1) / (n + 1) over ascending scores (Vovk, Gammerman & Shafer 2005, §2.2). O(log n).
pub fn conformal_pvalue(score: f64, sorted: &[f64]) -> f64 {
    let at_least = sorted.len() - sorted.partition_point(|&s| s < score);
    (at_least + 1) as f64 / (sorted.len() + 1) as f64
}

/// p = (#{`s_i` > s} + u·(#{`s_i` = s} + 1)) / (n + 1), uniform under exchangeability when u is uniform on [0, 1].
pub fn conformal_pvalue_randomised(score: f64, sorted: &[f64], u: f64) -> f64 {
    let above = sorted.len() - sorted.partition_point(|&s| s <= score);
    let equal = sorted.len() - above - sorted.partition_point(|&s| s < score);
    (above as f64 + u * (equal + 1) as f64) / (sorted.len() + 1) as f64
}
