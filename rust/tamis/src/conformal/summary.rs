//! A fixed quantile summary: small enough for every file, enough to notice that requests have changed.

use serde::{Deserialize, Serialize};

use super::select::{Real, kth_smallest_each};

/// The levels of every summary, in per mille: minimum, 1 %, 5 %, 10 %, quartiles, 90 %, 95 %, 99 %, maximum.
pub(crate) const PER_MILLE: [u64; 11] = [0, 10, 50, 100, 250, 500, 750, 900, 950, 990, 1000];

/// Order statistics of a sample at the fixed levels 0, .01, .05, .1, .25, .5, .75, .9, .95, .99, 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Number of values summarised.
    pub n: u64,
    /// The ⌈level·n⌉-th smallest value for each level, the smallest for level 0.
    pub values: Vec<f64>,
}

impl Summary {
    /// Summarises the values; `None` of nothing. O(n log n).
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        values.sort_unstable_by(f64::total_cmp);
        let n = values.len() as u64;
        let at = |level: u64| usize::try_from((level * n).div_ceil(1000).max(1) - 1).unwrap_or(0);
        Some(Self {
            n,
            values: PER_MILLE.iter().map(|&level| values[at(level)]).collect(),
        })
    }

    /// The value at one of the fixed levels, given in per mille.
    pub fn at(&self, per_mille: u64) -> Option<f64> {
        PER_MILLE
            .iter()
            .position(|&level| level == per_mille)
            .and_then(|i| self.values.get(i).copied())
    }
}

/// Mean and standard deviation (divisor n), finite for finite scores of any size. The sum depends on the
/// order of `rows`: ascending by (score, position) wherever it is taken.
pub(crate) fn mean_and_sd(scores: &[f64], rows: &[usize]) -> (f64, f64) {
    let moments = |scale: f64| {
        let n = rows.len() as f64;
        let mean = rows.iter().map(|&row| scores[row] / scale).sum::<f64>() / n;
        let variance = rows
            .iter()
            .map(|&row| (scores[row] / scale - mean).powi(2))
            .sum::<f64>()
            / n;
        (mean * scale, variance.sqrt() * scale)
    };
    let (mean, sd) = moments(1.0);
    if mean.is_finite() && sd.is_finite() {
        return (mean, sd);
    }
    moments(
        rows.iter()
            .fold(0.0, |largest, &row| scores[row].abs().max(largest)),
    )
}

/// Minimum, quartiles and maximum of the finite scores: for each level the ⌈level·n⌉-th smallest, the smallest for level 0.
///
/// `None` without a finite score. O(n); copies the scores only when some are not finite.
pub fn score_quartiles<T: Real>(scores: &[T]) -> Option<[f64; 5]> {
    let of = |scores: &[T]| {
        let n = scores.len();
        let ks = [1, n.div_ceil(4), n.div_ceil(2), (3 * n).div_ceil(4), n];
        kth_smallest_each(scores, &ks)
    };
    let found = of(scores).or_else(|_| {
        let finite: Vec<T> = scores.iter().copied().filter(|score| score.finite()).collect();
        of(&finite)
    });
    let found: Vec<f64> = found.ok()?.into_iter().map(crate::Score::widen).collect();
    let quartiles: [f64; 5] = found.try_into().ok()?;
    quartiles[0].is_finite().then_some(quartiles)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_order_statistics() {
        let summary = Summary::of((1..=200).rev().map(f64::from).collect()).unwrap();
        assert_eq!(
            summary.values,
            [
                1.0, 2.0, 10.0, 20.0, 50.0, 100.0, 150.0, 180.0, 190.0, 198.0, 200.0
            ]
        );
        assert_eq!(Summary::of(vec![7.0]).unwrap().values, [7.0; 11]);
        assert_eq!(Summary::of(vec![]), None);
    }

    #[test]
    fn quartiles_are_order_statistics_of_the_finite() {
        for n in [1_u32, 2, 3, 4, 5, 50, 599, 601, 5000] {
            let scores: Vec<f64> = (0..n).map(|i| f64::from(i * 7919 % n)).collect();
            let mut sorted = scores.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            let at = |per_mille: usize| sorted[(per_mille * sorted.len()).div_ceil(1000).max(1) - 1];
            let expected = [at(0), at(250), at(500), at(750), at(1000)];
            assert_eq!(score_quartiles(&scores), Some(expected), "{n}");
            let mut holes = vec![f64::NAN, f64::INFINITY];
            holes.extend(&scores);
            holes.push(f64::NEG_INFINITY);
            assert_eq!(score_quartiles(&holes), Some(expected), "{n}");
        }
        assert_eq!(score_quartiles::<f32>(&[]), None);
        assert_eq!(score_quartiles(&[f32::NAN]), None);
        assert_eq!(score_quartiles(&[-0.0_f32]).map(|q| q[0].to_bits()), Some(0));
    }
}
