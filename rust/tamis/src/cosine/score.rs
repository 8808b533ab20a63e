//! A = 1 − dot / (√nq · √ns), each step rounded to single precision, limited to [0, 2].

use super::element::Element;
use super::portable::dot_and_norm;
use crate::{Error, Result};

/// Squared norms in this range lose nothing to underflow and cannot overflow; others are rescaled.
const PLAIN_NORMS: std::ops::RangeInclusive<f32> = f32::from_bits(0x0F80_0000)..=f32::from_bits(0x7E80_0000); // 2^-96 ..= 2^126

/// The score of each row against the query, in [0, 2]; lower is more relevant. O(n·d), one allocation for the result.
///
/// Defined to the bit (see the module's source): the same row gives the same bits wherever and beside whatever it is
/// scored. Rows whose squared norm lies outside 2⁻⁹⁶..2¹²⁶ are first scaled by a power of two.
///
/// # Errors
///
/// [`Error::DimensionMismatch`], [`Error::ZeroVector`] and [`Error::NonFiniteVector`] naming the row.
pub fn cosine_scores<'a, T: Element + 'a>(
    query: &[f32],
    rows: impl ExactSizeIterator<Item = &'a [T]>,
) -> Result<Vec<f32>> {
    const QUERY: &str = "query vector";
    let (mut query, mut norm) = (std::borrow::Cow::Borrowed(query), dot_and_norm(query, query).1);
    if !PLAIN_NORMS.contains(&norm) {
        query = std::borrow::Cow::Owned(rescaled(QUERY, 0, &query)?);
        norm = dot_and_norm(&query, &query).1;
    }
    let query_length = norm.sqrt();
    let mut scores = Vec::with_capacity(rows.len());
    for (index, row) in rows.enumerate() {
        if row.len() != query.len() {
            return Err(Error::DimensionMismatch {
                expected: query.len(),
                got: row.len(),
            });
        }
        let (mut dot, mut norm) = dot_and_norm(&query, row);
        if !PLAIN_NORMS.contains(&norm) {
            let row = rescaled("snippet vector", index, row)?;
            (dot, norm) = dot_and_norm(&query, &row);
        }
        let score = 1.0 - dot / (query_length * norm.sqrt());
        scores.push(score.clamp(0.0, 2.0));
    }
    Ok(scores)
}

/// The vector times the power of two that brings its largest component into [1, 2).
#[cold]
fn rescaled<T: Element>(name: &'static str, index: usize, vector: &[T]) -> Result<Vec<f32>> {
    let mut values: Vec<f32> = vector.iter().map(|value| value.widen()).collect();
    if let Some(component) = values.iter().position(|value| !value.is_finite()) {
        return Err(Error::NonFiniteVector {
            name,
            index,
            component,
            value: values[component],
        });
    }
    let largest = values
        .iter()
        .fold(0.0_f32, |largest, value| largest.max(value.abs()));
    if largest == 0.0 {
        return Err(Error::ZeroVector { name, index });
    }
    // In double precision every single-precision exponent is normal, so the scaling is exact until the last rounding.
    let largest_exponent = (f64::from(largest).to_bits() >> 52) as i32 - 1023;
    let scale = f64::from_bits(u64::try_from(1023 - largest_exponent).unwrap_or(1023) << 52);
    for value in &mut values {
        #[expect(clippy::cast_possible_truncation, reason = "the product lies in (-2, 2)")]
        let scaled = (f64::from(*value) * scale) as f32;
        *value = scaled;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;
    use proptest::prelude::*;

    fn one<T: Element>(query: &[f32], row: &[T]) -> Result<f32> {
        Ok(cosine_scores(query, [row].into_iter())?[0])
    }

    #[test]
    fn pythagorean_vectors() {
        let rows: [&[f32]; 4] = [&[3.0, 4.0], &[4.0, -3.0], &[-3.0, -4.0], &[6.0, 8.0]];
        assert_eq!(
            cosine_scores(&[3.0, 4.0], rows.into_iter()).unwrap(),
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
