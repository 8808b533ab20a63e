//! The fused multiply-add, by one instruction where every processor of the target has it, else by double precision.
#![allow(
    clippy::inline_always,
    reason = "a call per element would cost more than the arithmetic and forbid vector instructions"
)]

/// x·y + a, rounded once.
#[inline(always)]
pub(super) fn multiply_add(x: f32, y: f32, a: f32) -> f32 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
        x.mul_add(y, a)
    } else {
        emulated(x, y, a)
    }
}

/// The library function that `mul_add` calls without hardware is one call per element; this is vectorised.
///
/// The product is exact in double precision, and so is the error of the sum (Knuth). The sum is rounded to odd: inexact
/// and even, it moves to its neighbour on the exact value's side. Rounding that to single precision is then the one rounding
/// of the exact value, since double precision has more than two bits more (Boldo and Melquiond).
#[inline(always)]
fn emulated(x: f32, y: f32, a: f32) -> f32 {
    let (product, a) = (f64::from(x) * f64::from(y), f64::from(a));
    let sum = product + a;
    let a_part = sum - product;
    let error = (product - (sum - a_part)) + (a - a_part);
    let bits = sum.to_bits();
    // Infinities and NaN have a NaN as error, which is not above zero: they stay. No branches, so that it is vectorised.
    let moves = u64::from(error.abs() > 0.0) & !bits & 1;
    let inwards = (error.to_bits() ^ bits) >> 63;
    let odd = bits.wrapping_add(moves).wrapping_sub((moves & inwards) << 1);
    #[expect(clippy::cast_possible_truncation, reason = "the one rounding")]
    let rounded = f64::from_bits(odd) as f32;
    rounded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(x: f32, y: f32, a: f32) {
        let (expected, got) = (x.mul_add(y, a), emulated(x, y, a));
        assert!(
            expected.to_bits() == got.to_bits() || (expected.is_nan() && got.is_nan()),
            "{x:e} * {y:e} + {a:e}: {expected:e} {got:e}"
        );
    }

    #[test]
    fn every_triple_of_edges_agrees() {
        let mut edges: Vec<f32> = vec![0.0, f32::INFINITY, f32::NAN];
        for exponent in [
            1_u32, 2, 3, 23, 24, 25, 63, 64, 103, 104, 126, 127, 128, 150, 151, 152, 190, 253, 254,
        ] {
            for mantissa in [0, 1, 2, 3, 0x3F_FFFF, 0x40_0000, 0x40_0001, 0x7F_FFFE, 0x7F_FFFF] {
                edges.push(f32::from_bits(exponent << 23 | mantissa));
            }
        }
        edges.extend([1, 2, 3, 0x40_0000, 0x7F_FFFF].map(f32::from_bits));
        let signed: Vec<f32> = edges.iter().flat_map(|&edge| [edge, -edge]).collect();
        for &x in &edges {
            for &y in &signed {
                for &a in &signed {
                    check(x, y, a);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn any_bits_agree(x: u32, y: u32, a: u32) {
            check(f32::from_bits(x), f32::from_bits(y), f32::from_bits(a));
        }

        /// The third operand near the product, or near a half-way point of the result: where a second rounding shows.
        #[test]
        fn near_ties_and_cancellations_agree(x: u32, y: u32, distance in -60_i32..60, mantissa: u32, near in -2_i64..3) {
            let x = f32::from_bits(x & 0x007F_FFFF | 0x3F80_0000);
            let y = f32::from_bits(y & 0x007F_FFFF | 0x3F80_0000);
            check(x, y, f32::from_bits(mantissa & 0x807F_FFFF | 0x3F80_0000) * 2.0_f32.powi(distance));
            let product = (-(x * y)).to_bits();
            check(x, y, f32::from_bits(u32::try_from(i64::from(product) + near).unwrap()));
            let tiny = 2.0_f32.powi(-75);
            check(x * tiny, y * tiny, f32::from_bits(mantissa & 0x8000_0007));
        }
    }
}
