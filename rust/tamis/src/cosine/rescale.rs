//! Vectors whose squared norm is zero, subnormal, infinite or NaN.

use super::element::Element;
use crate::{Error, Result};

/// Squared norms in this range lose nothing to underflow and cannot overflow; others are rescaled.
pub(super) const PLAIN_NORMS: std::ops::RangeInclusive<f32> =
    f32::from_bits(0x0F80_0000)..=f32::from_bits(0x7E80_0000); // 2^-96 ..= 2^126

/// The vector times the power of two that brings its largest component into [1, 2).
///
/// # Errors
///
/// [`Error::NonFiniteVector`] and [`Error::ZeroVector`].
#[cold]
pub(super) fn rescaled<T: Element>(name: &'static str, index: usize, vector: &[T]) -> Result<Vec<f32>> {
    let mut values: Vec<f32> = vector.iter().map(|value| value.widen()).collect();
    refuse_non_finite(name, index, vector)?;
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

/// Names the first component that is NaN or infinite.
#[cold]
pub(super) fn refuse_non_finite<T: Element>(name: &'static str, index: usize, vector: &[T]) -> Result<()> {
    match vector.iter().position(|value| !value.widen().is_finite()) {
        Some(component) => Err(Error::NonFiniteVector {
            name,
            index,
            component,
            value: vector[component].widen(),
        }),
        None => Ok(()),
    }
}
