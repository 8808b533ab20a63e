//! Weights of the caller, made integers once.

use crate::{Error, Result};

/// A power of two and each weight times it, rounded to the nearest integer: the largest has 53 bits.
///
/// Exact for weights within a factor of 2^52 that have few digits; everything after is exact in any case.
///
/// # Errors
///
/// [`Error::Weight`] for one that is not positive and finite, or would be rounded to zero.
pub(super) fn quantised(weights: &[f64]) -> Result<(f64, Vec<u64>)> {
    let wrong = |index: usize| Error::Weight {
        name: "weight",
        index,
        value: weights[index],
    };
    if let Some(index) = weights
        .iter()
        .position(|&weight| !(weight.is_finite() && weight > 0.0))
    {
        return Err(wrong(index));
    }
    let largest = weights.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    // 2^52 ≤ largest · scale < 2^53; a scale that is no double (weights near the ends of the range) is clamped to one
    // that is: fewer bits, still exact afterwards.
    let exponent = (52.0 - largest.log2().floor()).clamp(-1000.0, 1000.0);
    let scale = exponent.exp2();
    let integer = |(index, &weight): (usize, &f64)| {
        let scaled = (weight * scale).round();
        if scaled < 1.0 {
            return Err(wrong(index));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, whole and below 2^54"
        )]
        Ok(scaled as u64)
    };
    let integers = weights.iter().enumerate().map(integer).collect::<Result<_>>()?;
    Ok((scale, integers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_weights_are_exact() {
        let weights = [0.5, 2.0, 0.625, 3.875, 1.0];
        let (scale, integers) = quantised(&weights).unwrap();
        for (weight, integer) in weights.iter().zip(&integers) {
            assert_eq!(*integer as f64 / scale, *weight);
        }
        assert!(*integers.iter().max().unwrap() < 1 << 54);
        let (_, extreme) = quantised(&[f64::MAX, f64::MAX / 8.0]).unwrap();
        assert_eq!(extreme[0].div_ceil(extreme[1]), 8);
    }

    #[test]
    fn what_is_no_weight_is_named() {
        for (weights, index) in [
            (&[1.0, 0.0][..], 1),
            (&[-1.0], 0),
            (&[1.0, 2.0, f64::NAN], 2),
            (&[f64::INFINITY], 0),
            (&[1e-30, 1.0], 0),
        ] {
            assert!(
                matches!(quantised(weights), Err(Error::Weight { name: "weight", index: i, .. }) if i == index)
            );
        }
    }
}
