//! A = 1 − dot / (√nq · √ns), each step rounded to single precision, limited to [0, 2].

use super::element::Element;
use super::kernel::{Kernel, Reading};
use super::options::Scoring;
use super::padded::{Padded, Wide};
use super::portable::Lanes as _;
use super::rescale::{PLAIN_NORMS, refuse_non_finite, rescaled};
use super::rows::Rows;
use super::threads::each_part;
use crate::{Error, Result};

/// Rows that are scored between two looks at the result: sums and scores stay in the first-level cache.
pub(crate) const BLOCK: usize = 64;
const QUERY: &str = "query vector";
const ROW: &str = "snippet vector";

/// The score of each row against the query, in [0, 2]; lower is more relevant. O(n·d), one allocation of n for the
/// result and one of d for a query of more than 400 components.
///
/// Defined to the bit (see the module's source): the same row gives the same bits wherever and beside whatever it is
/// scored. Rows whose squared norm lies outside 2⁻⁹⁶..2¹²⁶ are first scaled by a power of two. Rows declared
/// [unit](Rows::unit) are scored 1 − dot / √nq instead; a zero row then scores 1.
///
/// Not a bit depends on whether the host flushes subnormal numbers to zero, as long as every component is zero or at
/// least 2⁻³⁹ in magnitude and no vector needs scaling: every sum is then zero or at least 2⁻¹²⁴. With flushing, a vector
/// of subnormal numbers alone is a zero vector.
///
/// # Errors
///
/// [`Error::DimensionMismatch`]; [`Error::DimensionTooLarge`] for int8 rows; [`Error::ZeroVector`] and
/// [`Error::NonFiniteVector`] naming the first such row; [`Error::NotUnit`] for rows that are declared unit and cannot be.
pub fn cosine_scores<T: Element>(query: &[T::Query], rows: Rows<'_, T>) -> Result<Vec<f32>> {
    let mut scores = vec![0.0; rows.n()];
    cosine_scores_into(query, rows, Scoring::default(), &mut scores)?;
    Ok(scores)
}

/// [`cosine_scores`] into `scores`, one entry per row; what stands there after an error is unspecified.
///
/// # Errors
///
/// As [`cosine_scores`]; [`Error::LengthMismatch`] for `scores`.
pub fn cosine_scores_into<T: Element>(
    query: &[T::Query],
    rows: Rows<'_, T>,
    scoring: Scoring,
    scores: &mut [f32],
) -> Result<()> {
    if scores.len() != rows.n() {
        return Err(Error::LengthMismatch {
            name: "scores",
            expected: rows.n(),
            got: scores.len(),
        });
    }
    let mut padded = Padded::new();
    let scorer = Scorer::new(&mut padded, 0, query, rows, scoring.kernel)?;
    let parts = scoring.parts(&rows);
    each_part(scores.chunks_mut(parts.size), |part, scores| {
        for (block, scores) in scores.chunks_mut(BLOCK).enumerate() {
            scorer.score(part * parts.size + block * BLOCK, scores)?;
        }
        Ok(())
    })?;
    Ok(())
}

/// One query against one matrix.
pub(crate) struct Scorer<'a, T: Element> {
    query: &'a Padded<T::Wide>,
    length: f32,
    rows: Rows<'a, T>,
    kernel: Kernel,
    reading: Reading,
}

impl<'a, T: Element> Scorer<'a, T> {
    /// `index` is the query's own, for errors; `padded` is where it is laid out. O(d); a query that does not fit into
    /// `padded` allocates.
    pub(crate) fn new(
        padded: &'a mut Padded<T::Wide>,
        index: usize,
        query: &[T::Query],
        rows: Rows<'a, T>,
        kernel: Kernel,
    ) -> Result<Self> {
        let d = query.len();
        if d > T::MAX_DIMENSION {
            return Err(Error::DimensionTooLarge {
                limit: T::MAX_DIMENSION,
                got: d,
            });
        }
        if rows.n() > 0 && rows.d() != d {
            return Err(Error::DimensionMismatch {
                expected: d,
                got: rows.d(),
            });
        }
        let shift = kernel.shift(&rows);
        padded.fill(query.iter().map(|&component| component.into()), shift);
        let mut norm = squared_norm(kernel, padded, query)?;
        if !PLAIN_NORMS.contains(&norm) {
            let values = rescaled(QUERY, index, query)?;
            padded.fill(values.iter().map(|&value| T::Wide::from_rescaled(value)), shift);
            norm = f32::dot_and_norm(&values, &values).1;
        }
        Ok(Self {
            query: padded,
            length: norm.sqrt(),
            rows,
            kernel,
            reading: Reading::of(&rows),
        })
    }

    /// Scores the rows from `first` on, as many as `scores` has entries, at most [`BLOCK`].
    pub(crate) fn score(&self, first: usize, scores: &mut [f32]) -> Result<()> {
        let (mut dots, mut norms) = ([0.0; BLOCK], [1.0; BLOCK]);
        let (dots, norms) = (&mut dots[..scores.len()], &mut norms[..scores.len()]);
        let rows = self.rows.part(first, scores.len());
        self.kernel.sums(self.query, &rows, self.reading, dots, norms);
        if rows.is_unit() {
            return self.finish_unit(first, dots, scores);
        }
        let mut plain = true;
        for ((score, &dot), &norm) in scores.iter_mut().zip(&*dots).zip(&*norms) {
            plain &= PLAIN_NORMS.contains(&norm);
            *score = self.finish(dot, norm);
        }
        if !plain {
            for (k, (score, norm)) in scores.iter_mut().zip(norms).enumerate() {
                if !PLAIN_NORMS.contains(norm) {
                    *score = self.score_rescaled(first + k)?;
                }
            }
        }
        Ok(())
    }

    fn finish(&self, dot: f32, norm: f32) -> f32 {
        (1.0 - dot / (self.length * norm.sqrt())).clamp(0.0, 2.0)
    }

    #[cold]
    fn score_rescaled(&self, index: usize) -> Result<f32> {
        let row = rescaled(ROW, index, self.rows.row(index))?;
        let query: Vec<f32> = self.query.query().iter().map(|&x| x.into()).collect();
        let (dot, norm) = f32::dot_and_norm(&query, &row);
        Ok(self.finish(dot, norm))
    }

    fn finish_unit(&self, first: usize, dots: &[f32], scores: &mut [f32]) -> Result<()> {
        // By Cauchy and Schwarz a unit row scores within [0, 2]; this leaves room for rows rounded to half precision.
        const POSSIBLE: std::ops::RangeInclusive<f32> = -0.015_625..=2.015_625;
        let raw = |dot: f32| 1.0 - dot / self.length;
        let mut possible = true;
        for (score, &dot) in scores.iter_mut().zip(dots) {
            possible &= POSSIBLE.contains(&raw(dot));
            *score = raw(dot).clamp(0.0, 2.0);
        }
        if possible {
            return Ok(());
        }
        for (k, &dot) in dots.iter().enumerate() {
            if !POSSIBLE.contains(&raw(dot)) {
                refuse_non_finite(ROW, first + k, self.rows.row(first + k))?;
                return Err(Error::NotUnit {
                    index: first + k,
                    score: raw(dot),
                });
            }
        }
        Ok(())
    }
}

/// Σ x·x by the kernel, which sums the same norm beside any query.
fn squared_norm<T: Element>(kernel: Kernel, beside: &Padded<T::Wide>, vector: &[T]) -> Result<f32> {
    let (mut dot, mut norm) = ([0.0], [0.0]);
    let rows = Rows::contiguous(vector, 1, vector.len())?;
    kernel.sums(beside, &rows, Reading::Cached, &mut dot, &mut norm);
    Ok(norm[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;
    use proptest::prelude::*;

    fn one<T: Element<Query = f32>>(query: &[f32], row: &[T]) -> Result<f32> {
        Ok(cosine_scores(query, Rows::contiguous(row, 1, row.len())?)?[0])
    }

    #[test]
    fn pythagorean_vectors() {
        let rows = [3.0_f32, 4.0, 4.0, -3.0, -3.0, -4.0, 6.0, 8.0];
        assert_eq!(
            cosine_scores(&[3.0, 4.0], Rows::contiguous(&rows, 4, 2).unwrap()).unwrap(),
            [0.0, 1.0, 2.0, 0.0]
        );
    }

    #[test]
    fn length_does_not_matter_down_to_the_smallest_numbers() {
        for scale in [1.0, 1e-20, 1e-30, 1e-38, 1e18, 1e30, 8e37] {
            let row = [3.0 * scale, 4.0 * scale];
            let score = one(&row, &[4.0_f32, 3.0]).unwrap();
            assert!((score - 0.04).abs() < 1e-5, "{scale}: {score}");
            assert_eq!(
                one(&[4.0, 3.0], &row).unwrap().to_bits(),
                score.to_bits(),
                "{scale}"
            );
        }
        assert_eq!(one(&[f32::MAX; 8], &[f32::MAX; 8]).unwrap(), 0.0);
        assert_eq!(one(&[f32::from_bits(1)], &[f32::from_bits(1)]).unwrap(), 0.0);
        assert_eq!(one(&[1.0], &[f16::from_f32(6e-8)]).unwrap(), 0.0);
    }

    #[test]
    fn what_has_no_cosine_is_named() {
        assert_eq!(
            one(&[1.0, 2.0, 3.0], &[1.0_f32, 2.0]),
            Err(Error::DimensionMismatch { expected: 3, got: 2 })
        );
        assert_eq!(
            one(&[1.0], &[0.0_f32]),
            Err(Error::ZeroVector {
                name: "snippet vector",
                index: 0
            })
        );
        assert_eq!(
            one(&[-0.0], &[1.0_f32]),
            Err(Error::ZeroVector {
                name: "query vector",
                index: 0
            })
        );
        assert!(matches!(
            one(&[1.0, 1.0], &[1.0, f32::NAN]),
            Err(Error::NonFiniteVector {
                index: 0,
                component: 1,
                ..
            })
        ));
        assert!(matches!(
            one(&[1.0, f32::INFINITY], &[1.0_f32, 0.0]),
            Err(Error::NonFiniteVector {
                name: "query vector",
                ..
            })
        ));
    }

    proptest! {
        #[test]
        fn agrees_with_double_precision(pairs in prop::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 1..500)) {
            let (x, y): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let wide = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
            prop_assume!(wide(&x, &x) > 1e-12 && wide(&y, &y) > 1e-12);
            let exact = 1.0 - wide(&x, &y) / (wide(&x, &x) * wide(&y, &y)).sqrt();
            let score = f64::from(one(&x, &y).unwrap());
            // Each lane sums d/16 terms: error at most (d/16 + 8) half-ulps of 1.
            let bound = (x.len() as f64 / 16.0 + 8.0) * f64::from(f32::EPSILON);
            prop_assert!((score - exact).abs() <= bound, "{score} {exact}");
        }
    }
}
