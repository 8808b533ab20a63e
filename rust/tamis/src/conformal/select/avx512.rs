//! The pass with AVX-512: sixteen (eight) scores at a time, those inside packed by one instruction.
#![allow(
    unsafe_code,
    reason = "intrinsics that store through pointers, and calls of functions of one processor"
)]

use std::arch::x86_64::{
    __mmask8, __mmask16, _CMP_LE_OQ, _CMP_LT_OQ, _CMP_UNORD_Q, _mm512_cmp_pd_mask, _mm512_cmp_ps_mask,
    _mm512_fmadd_pd, _mm512_fmadd_ps, _mm512_loadu_pd, _mm512_loadu_ps, _mm512_maskz_compress_pd,
    _mm512_maskz_compress_ps, _mm512_maskz_loadu_pd, _mm512_maskz_loadu_ps, _mm512_set1_pd, _mm512_set1_ps,
    _mm512_setzero_pd, _mm512_setzero_ps, _mm512_storeu_pd, _mm512_storeu_ps,
};

use super::pass::Tally;

/// Proof that the processor has what the kernels need; made by asking it.
#[derive(Debug, Clone, Copy)]
pub struct Detected(());

impl Detected {
    pub(super) fn new() -> Option<Self> {
        (is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt")).then_some(Self(()))
    }
}

macro_rules! kernel {
    ($safe:ident, $inner:ident, $float:ty, $lanes:literal, $mask:ty, $set1:ident, $zero:ident, $load:ident,
     $load_masked:ident, $compare:ident, $fma:ident, $compress:ident, $store:ident) => {
        pub(super) fn $safe(_proof: Detected, block: &[$float], tally: &mut Tally<$float>) -> bool {
            // SAFETY: `Detected` exists only where the processor has both features.
            unsafe {
                if tally.low == tally.high {
                    $inner::<true>(block, tally)
                } else {
                    $inner::<false>(block, tally)
                }
            }
        }

        #[target_feature(enable = "avx512f,popcnt")]
        fn $inner<const POINT: bool>(block: &[$float], tally: &mut Tally<$float>) -> bool {
            let (low, high) = ($set1(tally.low), $set1(tally.high));
            let zero = $zero();
            // score · 0 is NaN for a score that is not finite, and NaN stays in a sum.
            let mut finite = $zero();
            let (mut at_most_low, mut below_high, mut inside) = (0, 0, 0);
            let free = tally.free();
            assert!(free.len() >= block.len() + $lanes);
            let out = free.as_mut_ptr();
            let (groups, rest) = block.as_chunks::<$lanes>();
            for group in groups {
                // SAFETY: a group is as many scores as are loaded.
                let scores = unsafe { $load(group.as_ptr()) };
                finite = $fma(scores, zero, finite);
                let at_most = $compare::<_CMP_LE_OQ>(scores, low);
                let below = $compare::<_CMP_LT_OQ>(scores, high);
                at_most_low += at_most.count_ones() as usize;
                if POINT {
                    below_high += below.count_ones() as usize;
                } else {
                    let within = below & !at_most;
                    // Also when nothing is within: a branch would guess wrong too often.
                    // SAFETY: at most `block.len()` scores were written before, and a vector more is free (asserted).
                    unsafe { $store(out.add(inside), $compress(within, scores)) };
                    inside += within.count_ones() as usize;
                }
            }
            if !rest.is_empty() {
                let lanes: $mask = (1 << rest.len()) - 1;
                // SAFETY: only the lanes of `rest` are read.
                let scores = unsafe { $load_masked(lanes, rest.as_ptr()) };
                finite = $fma(scores, zero, finite);
                let at_most = $compare::<_CMP_LE_OQ>(scores, low) & lanes;
                let below = $compare::<_CMP_LT_OQ>(scores, high) & lanes;
                at_most_low += at_most.count_ones() as usize;
                if POINT {
                    below_high += below.count_ones() as usize;
                } else {
                    let within = below & !at_most;
                    // SAFETY: as above.
                    unsafe { $store(out.add(inside), $compress(within, scores)) };
                    inside += within.count_ones() as usize;
                }
            }
            if !POINT {
                below_high = at_most_low + inside;
            }
            tally.add(at_most_low, below_high, inside);
            $compare::<_CMP_UNORD_Q>(finite, finite) == 0
        }
    };
}

kernel!(
    count_f32,
    inner_f32,
    f32,
    16,
    __mmask16,
    _mm512_set1_ps,
    _mm512_setzero_ps,
    _mm512_loadu_ps,
    _mm512_maskz_loadu_ps,
    _mm512_cmp_ps_mask,
    _mm512_fmadd_ps,
    _mm512_maskz_compress_ps,
    _mm512_storeu_ps
);
kernel!(
    count_f64,
    inner_f64,
    f64,
    8,
    __mmask8,
    _mm512_set1_pd,
    _mm512_setzero_pd,
    _mm512_loadu_pd,
    _mm512_maskz_loadu_pd,
    _mm512_cmp_pd_mask,
    _mm512_fmadd_pd,
    _mm512_maskz_compress_pd,
    _mm512_storeu_pd
);
