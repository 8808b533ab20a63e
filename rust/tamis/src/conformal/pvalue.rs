//! Conformal p-values: how extreme a score is among calibration scores.

use super::fit::check_finite;
use crate::{Error, Result};

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

/// The p-value of each test score, randomised by its own u where given.
///
/// # Errors
///
/// A test score or u that is not finite, u outside [0, 1], or as many u as test scores are not given.
pub fn conformal_pvalues(tests: &[f64], sorted: &[f64], u: Option<&[f64]>) -> Result<Vec<f64>> {
    check_finite("score", tests)?;
    let Some(u) = u else {
        return Ok(tests.iter().map(|&test| conformal_pvalue(test, sorted)).collect());
    };
    check_finite("u", u)?;
    if u.len() != tests.len() {
        return Err(Error::LengthMismatch {
            name: "u",
            expected: tests.len(),
            got: u.len(),
        });
    }
    if let Some(index) = u.iter().position(|u| !(0.0..=1.0).contains(u)) {
        return Err(Error::OutsideUnitInterval {
            name: "u",
            index,
            value: u[index],
        });
    }
    Ok(tests
        .iter()
        .zip(u)
        .map(|(&test, &u)| conformal_pvalue_randomised(test, sorted, u))
        .collect())
}
