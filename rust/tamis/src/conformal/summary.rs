//! A fixed quantile summary: small enough for every file, enough to notice that requests have changed.

use serde::{Deserialize, Serialize};

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
}
