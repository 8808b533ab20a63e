//! A host may have told the processor to flush subnormal numbers to zero (fast-math libraries do so on load).
#![cfg(target_arch = "x86_64")]
#![allow(
    unsafe_code,
    reason = "sets and restores the control register, as such a host does"
)]

use std::arch::asm;
use tamis::{Error, Kernel, Rows, Scoring, cosine_scores_into};

const FLUSH_TO_ZERO: u32 = 1 << 15;
const DENORMALS_ARE_ZERO: u32 = 1 << 6;

fn flushing<R>(work: impl FnOnce() -> R) -> R {
    let mut before = 0_u32;
    // SAFETY: the register is read into, and set from, a local; it is restored below (nothing in between panics).
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut before) };
    let during = before | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO;
    // SAFETY: as above; both bits exist on every 64-bit processor.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const during) };
    let result = work();
    // SAFETY: as above.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const before) };
    result
}

fn scores(kernel: Kernel, query: &[f32], matrix: &[f32]) -> tamis::Result<Vec<f32>> {
    let d = query.len();
    let mut scores = vec![0.0; matrix.len() / d];
    let scoring = Scoring {
        kernel,
        ..Scoring::default()
    };
    cosine_scores_into(
        query,
        Rows::contiguous(matrix, matrix.len() / d, d)?,
        scoring,
        &mut scores,
    )?;
    Ok(scores)
}

#[test]
fn components_of_two_to_the_minus_39_and_more_keep_their_bits() {
    let d = 45;
    let values: Vec<f32> = (0..40 * d)
        .map(|i: usize| {
            let sign = if i.is_multiple_of(3) { -1.0 } else { 1.0 };
            let size = [
                1.0,
                2.0_f32.powi(-39),
                0.0,
                1.5 * 2.0_f32.powi(-38),
                2.0_f32.powi(30),
            ][i * 7 % 5];
            sign * size * ((i % 11) as f32 / 8.0 + 1.0)
        })
        .collect();
    // Long rows, and rows almost as short as can be without scaling.
    for scale in [1.0, 2.0_f32.powi(-69)] {
        let (query, matrix) = values.split_at(d);
        let matrix: Vec<f32> = matrix
            .iter()
            .map(|value| if value.abs() < 1.0 { *value } else { value * scale })
            .map(|value| {
                if value.abs() < 2.0_f32.powi(-39) {
                    0.0
                } else {
                    value
                }
            })
            .collect();
        for kernel in Kernel::available() {
            let plain = scores(kernel, query, &matrix);
            let flushed = flushing(|| scores(kernel, query, &matrix));
            assert_eq!(plain, flushed, "{}", kernel.name());
            assert!(plain.is_ok());
        }
    }
}

#[test]
fn a_vector_of_subnormals_is_a_zero_vector_where_the_host_says_so() {
    let row = [f32::from_bits(3), f32::from_bits(4)];
    for kernel in Kernel::available() {
        assert!(scores(kernel, &[1.0, 1.0], &row).is_ok());
        let flushed = flushing(|| scores(kernel, &[1.0, 1.0], &row));
        assert_eq!(
            flushed,
            Err(Error::ZeroVector {
                name: "snippet vector",
                index: 0
            }),
            "{}",
            kernel.name()
        );
    }
}
