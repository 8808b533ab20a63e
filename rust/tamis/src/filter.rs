//! Keeping: scores against a threshold, and kept neighbours joined into passages.

use crate::conformal::Threshold;
use crate::cosine::{Element, cosine_scores};
use crate::{Error, Result};

/// A score as its owner stores it; comparison with a threshold is in double precision.
pub trait Score: Copy {
    /// The score in double precision, exactly.
    fn widen(self) -> f64;
}

impl Score for f64 {
    fn widen(self) -> f64 {
        self
    }
}

impl Score for f32 {
    fn widen(self) -> f64 {
        self.into()
    }
}

/// The positions of the scores that are kept (score ≤ threshold + slack), ascending. O(n).
///
/// # Errors
///
/// [`Error::NonFinite`] naming the first NaN or infinity: neither decides by the order of a comparison.
pub fn keep<S: Score>(scores: &[S], threshold: &Threshold) -> Result<Vec<usize>> {
    let limit = threshold.limit();
    if let Some(index) = scores.iter().position(|score| !score.widen().is_finite()) {
        return Err(Error::NonFinite {
            name: "scores",
            index,
            value: scores[index].widen(),
        });
    }
    Ok((0..scores.len())
        .filter(|&i| scores[i].widen() <= limit)
        .collect())
}

/// Scores the rows and keeps by the threshold: `keep(cosine_scores(query, rows), threshold)`, with the scores.
///
/// # Errors
///
/// As [`cosine_scores`].
pub fn select<'a, T: Element + 'a>(
    query: &[f32],
    rows: impl ExactSizeIterator<Item = &'a [T]>,
    threshold: &Threshold,
) -> Result<(Vec<usize>, Vec<f32>)> {
    let scores = cosine_scores(query, rows)?;
    let limit = threshold.limit_f32();
    Ok((
        (0..scores.len()).filter(|&i| scores[i] <= limit).collect(),
        scores,
    ))
}

/// Joins spans that overlap or touch, per document: the text between is theirs and nothing is repeated.
///
/// `spans` are (document, start, end) in any order; the result is in ascending order. O(n log n).
pub fn merge_spans(spans: &[(usize, usize, usize)]) -> Vec<(usize, usize, usize)> {
    let mut sorted = spans.to_vec();
    sorted.sort_unstable();
    let mut merged: Vec<(usize, usize, usize)> = Vec::new();
    for (document, start, end) in sorted {
        match merged.last_mut() {
            Some(last) if last.0 == document && start <= last.2 => last.2 = last.2.max(end),
            _ => merged.push((document, start, end)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_is_kept_and_nan_is_refused() {
        let threshold = Threshold::fixed(0.5).unwrap();
        assert_eq!(
            keep(&[0.5, 0.500_000_000_000_000_1, 0.4999, 0.9], &threshold).unwrap(),
            [0, 2]
        );
        assert!(matches!(
            keep(&[0.2, f64::NAN], &threshold),
            Err(Error::NonFinite { index: 1, .. })
        ));
        assert_eq!(
            keep(&[0.1, 2.0, 1.0], &Threshold::fixed(f64::INFINITY).unwrap()).unwrap(),
            [0, 1, 2]
        );
        assert_eq!(keep::<f64>(&[], &threshold).unwrap(), [0_usize; 0]);
    }

    #[test]
    fn the_single_precision_limit_never_exceeds_the_double() {
        for value in [0.1, 0.3, 1.0 / 3.0, 1.999_999_99, -0.1, 1e-60, 3e300] {
            let threshold = Threshold::fixed(value).unwrap();
            let limit = threshold.limit_f32();
            assert!(f64::from(limit) <= value);
            assert!(f64::from(limit.next_up()) > value);
        }
    }

    #[test]
    fn overlapping_spans_become_one_passage() {
        let spans = [(1, 0, 5), (0, 10, 20), (0, 15, 30), (0, 30, 31), (0, 40, 50)];
        assert_eq!(merge_spans(&spans), [(0, 10, 31), (0, 40, 50), (1, 0, 5)]);
    }
}
