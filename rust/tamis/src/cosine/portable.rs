//! The sums behind the score: 16 lanes, one fused multiply-add per element, a fixed tree. Portable body.
//!
//! Element j goes to lane j mod 16; `acc[j % 16] = fma(x_j, y_j, acc[j % 16])`, j ascending from +0; then the lanes are
//! added in a tree, 8-4-2-1. The order is part of the definition: the same row has the same bits on every machine,
//! alone or in a batch, by hardware or by emulation of the fused multiply-add.

use super::element::Element;

const LANES: usize = 16;

/// Σ x·y and Σ y·y in one pass over y.
pub(super) fn dot_and_norm<T: Element>(x: &[f32], y: &[T]) -> (f32, f32) {
    let (mut dot, mut norm) = ([0.0_f32; LANES], [0.0_f32; LANES]);
    for (x, y) in x.chunks(LANES).zip(y.chunks(LANES)) {
        for (lane, (x, y)) in x.iter().zip(y).enumerate() {
            let y = y.widen();
            dot[lane] = x.mul_add(y, dot[lane]);
            norm[lane] = y.mul_add(y, norm[lane]);
        }
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
        let (dot, norm) = dot_and_norm(&x, &x);
        assert_eq!(
            (dot.to_bits(), norm.to_bits()),
            (expected.to_bits(), expected.to_bits())
        );
    }
}
