//! The sums behind the score: 16 lanes, one fused multiply-add per element, a fixed tree. Portable body.
//!
//! Element j goes to lane j mod 16; `acc[j % 16] = fma(x_j, y_j, acc[j % 16])`, j ascending from +0; then the lanes are
//! added in a tree, 8-4-2-1. The order is part of the definition: the same row has the same bits on every machine,
//! alone or in a batch, by hardware or by emulation of the fused multiply-add. Integers are summed exactly in i32 and
//! the two sums are then rounded to single precision.

use super::element::Element;
use super::fused::multiply_add;
use super::padded::Stored;
use super::rows::Rows;
use half::f16;

const LANES: usize = 16;

/// The sums over one row.
pub trait Lanes: Stored {
    /// Σ x·y and Σ y·y in one pass over y.
    fn dot_and_norm(x: &[Self::Wide], y: &[Self]) -> (f32, f32);
}

impl Lanes for f32 {
    fn dot_and_norm(x: &[Self], y: &[Self]) -> (f32, f32) {
        floats(x, y)
    }
}

impl Lanes for f16 {
    fn dot_and_norm(x: &[f32], y: &[Self]) -> (f32, f32) {
        floats(x, y)
    }
}

impl Lanes for i8 {
    fn dot_and_norm(x: &[i16], y: &[Self]) -> (f32, f32) {
        let (mut dot, mut norm) = (0_i32, 0_i32);
        for (&x, &y) in x.iter().zip(y) {
            let y = i32::from(y);
            dot += i32::from(x) * y;
            norm += y * y;
        }
        (dot as f32, norm as f32)
    }
}

/// The sums over each row.
pub(super) fn sums<T: Element>(query: &[T::Wide], rows: &Rows<'_, T>, dots: &mut [f32], norms: &mut [f32]) {
    for (index, (dot, norm)) in dots.iter_mut().zip(norms).enumerate() {
        (*dot, *norm) = T::dot_and_norm(query, rows.row(index));
    }
}

fn floats<T: Element>(x: &[f32], y: &[T]) -> (f32, f32) {
    let (mut dot, mut norm) = ([0.0_f32; LANES], [0.0_f32; LANES]);
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in x.iter().zip(y) {
        // Widened first: the loop over lanes is then free of calls, and becomes vector instructions.
        let y = y.map(Element::widen);
        for lane in 0..LANES {
            dot[lane] = multiply_add(x[lane], y[lane], dot[lane]);
            norm[lane] = multiply_add(y[lane], y[lane], norm[lane]);
        }
    }
    for (lane, (&x, y)) in x_rest.iter().zip(y_rest).enumerate() {
        let y = y.widen();
        dot[lane] = multiply_add(x, y, dot[lane]);
        norm[lane] = multiply_add(y, y, norm[lane]);
    }
    (tree(dot), tree(norm))
}

fn tree(mut lanes: [f32; LANES]) -> f32 {
    for width in [8, 4, 2, 1] {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_sums_is_as_written() {
        let x: Vec<f32> = (0..37_u8).map(|j| f32::from(j).mul_add(0.37, -3.0)).collect();
        let mut acc = [0.0_f32; 16];
        for (j, value) in x.iter().enumerate() {
            acc[j % 16] = value.mul_add(*value, acc[j % 16]);
        }
        let eight: Vec<f32> = (0..8).map(|i| acc[i] + acc[i + 8]).collect();
        let four: Vec<f32> = (0..4).map(|i| eight[i] + eight[i + 4]).collect();
        let expected = (four[0] + four[2]) + (four[1] + four[3]);
        let (dot, norm) = f32::dot_and_norm(&x, &x);
        assert_eq!(
            (dot.to_bits(), norm.to_bits()),
            (expected.to_bits(), expected.to_bits())
        );
    }

    #[test]
    fn the_tree_does_not_see_a_rotation_of_the_lanes() {
        let lanes: [f32; 16] = std::array::from_fn(|i| (i as f32).mul_add(0.731, -4.2).powi(3));
        for shift in 0..16 {
            let mut rotated = lanes;
            rotated.rotate_right(shift);
            assert_eq!(tree(rotated).to_bits(), tree(lanes).to_bits(), "{shift}");
        }
    }
}
