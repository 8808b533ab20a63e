//! The pass with AVX-512: sixteen (eight) scores at a time, those inside packed by one instruction.
#![allow(
    unsafe_code,
    reason = "intrinsics that store through pointers, and calls of functions of one processor"
)]

use std::arch::x86_64::{
    __mmask8, __mmask16, _CMP_LE_OQ, _CMP_LT_OQ, _CMP_UNORD_Q, _MM_HINT_T0, _mm_prefetch, _mm512_cmp_pd_mask,
    _mm512_cmp_ps_mask, _mm512_cmple_epi32_mask, _mm512_cmple_epi64_mask, _mm512_fmadd_pd, _mm512_fmadd_ps,
    _mm512_loadu_pd, _mm512_loadu_ps, _mm512_mask_add_epi32, _mm512_mask_add_epi64, _mm512_mask_cmp_pd_mask,
    _mm512_mask_cmp_ps_mask, _mm512_mask_loadu_pd, _mm512_mask_loadu_ps, _mm512_mask_max_pd,
    _mm512_mask_max_ps, _mm512_maskz_compress_pd, _mm512_maskz_compress_ps, _mm512_maskz_loadu_pd,
    _mm512_maskz_loadu_ps, _mm512_reduce_max_pd, _mm512_reduce_max_ps, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_set1_pd, _mm512_set1_ps, _mm512_setzero_pd, _mm512_setzero_ps, _mm512_setzero_si512,
    _mm512_storeu_pd, _mm512_storeu_ps,
};

use super::pass::{AHEAD, Tally};

/// Proof that the processor has what the kernels need; made by asking it.
#[derive(Debug, Clone, Copy)]
pub struct Detected(());

impl Detected {
    pub(super) fn new() -> Option<Self> {
        (is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt")).then_some(Self(()))
    }
}

/// Asks the memory for what lies [`AHEAD`] bytes behind the start of a part of an input; any x86-64 processor can.
#[allow(unused_unsafe, reason = "safe for newer compilers only")]
pub(super) fn ask_ahead<T>(part: &[T]) {
    for line in (0..size_of_val(part)).step_by(64) {
        let ahead = part.as_ptr().cast::<i8>().wrapping_add(AHEAD + line);
        // SAFETY: a hint reads nothing, whatever lies there.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(ahead) };
    }
}

macro_rules! kernel {
    ($safe:ident, $inner:ident, $float:ty, $lanes:literal, $mask:ty, $set1:ident, $zero:ident, $load:ident,
     $load_masked:ident, $compare:ident, $compare_masked:ident, $fma:ident, $compress:ident, $store:ident) => {
        pub(super) fn $safe(_proof: Detected, block: &[$float], tally: &mut Tally<'_, $float>) -> bool {
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
        fn $inner<const POINT: bool>(block: &[$float], tally: &mut Tally<'_, $float>) -> bool {
            let (low, high) = ($set1(tally.low), $set1(tally.high));
            let zero = $zero();
            // score · 0 is NaN for a score that is not finite, and NaN stays in a sum.
            let mut finite = $zero();
            let (mut at_most_low, mut below_high, mut inside) = (0, 0, 0);
            let free = tally.free();
            assert!(POINT || free.len() >= block.len() + $lanes);
            let out = free.as_mut_ptr();
            let (groups, rest) = block.as_chunks::<$lanes>();
            for group in groups {
                // SAFETY: a group is as many scores as are loaded; a hint reads nothing, whatever lies there.
                let scores = unsafe {
                    _mm_prefetch::<_MM_HINT_T0>(group.as_ptr().cast::<i8>().wrapping_add(AHEAD));
                    $load(group.as_ptr())
                };
                finite = $fma(scores, zero, finite);
                let at_most = $compare::<_CMP_LE_OQ>(scores, low);
                at_most_low += at_most.count_ones() as usize;
                if POINT {
                    below_high += $compare::<_CMP_LT_OQ>(scores, high).count_ones() as usize;
                } else {
                    let within = $compare_masked::<_CMP_LT_OQ>(!at_most, scores, high);
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
                let at_most = $compare_masked::<_CMP_LE_OQ>(lanes, scores, low);
                at_most_low += at_most.count_ones() as usize;
                if POINT {
                    below_high += $compare_masked::<_CMP_LT_OQ>(lanes, scores, high).count_ones() as usize;
                } else {
                    let within = $compare_masked::<_CMP_LT_OQ>(lanes & !at_most, scores, high);
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
    _mm512_mask_cmp_ps_mask,
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
    _mm512_mask_cmp_pd_mask,
    _mm512_fmadd_pd,
    _mm512_maskz_compress_pd,
    _mm512_storeu_pd
);

macro_rules! places {
    ($safe:ident, $inner:ident, $float:ty, $int:ty, $lanes:literal, $mask:ty, $set1:ident, $set1_int:ident, $zero_int:ident,
     $load_masked:ident, $less:ident, $add_masked:ident, $at_most:ident, $max_masked:ident, $reduce:ident) => {
        pub(super) fn $safe(_proof: Detected, scores: &[$float], ks: [usize; 2]) -> [$float; 2] {
            // SAFETY: `Detected` exists only where the processor has both features.
            unsafe {
                match scores.len().div_ceil($lanes) {
                    0 | 1 => $inner::<1>(scores, ks),
                    2 => $inner::<2>(scores, ks),
                    3 => $inner::<3>(scores, ks),
                    _ => $inner::<4>(scores, ks),
                }
            }
        }

        /// Counts the scores below each: the one at place k is the highest with no more than k below it.
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            reason = "a place among few"
        )]
        #[target_feature(enable = "avx512f,popcnt")]
        fn $inner<const VECTORS: usize>(scores: &[$float], ks: [usize; 2]) -> [$float; 2] {
            let mut vectors = [$set1(<$float>::INFINITY); VECTORS];
            let mut masks: [$mask; VECTORS] = [0; VECTORS];
            for ((vector, mask), part) in vectors
                .iter_mut()
                .zip(&mut masks)
                .zip(scores.chunks($lanes))
            {
                *mask = <$mask>::MAX >> ($lanes - part.len());
                // SAFETY: only the lanes of `part` are read.
                *vector = unsafe { $load_masked(*vector, *mask, part.as_ptr()) };
            }
            let one = $set1_int(1);
            let mut below = [$zero_int(); VECTORS];
            for &score in scores {
                let score = $set1(score);
                for (below, &vector) in below.iter_mut().zip(&vectors) {
                    let less = $less::<_CMP_LT_OQ>(score, vector);
                    *below = $add_masked(*below, less, *below, one);
                }
            }
            let mut found = [<$float>::NEG_INFINITY; 2];
            for (found, k) in found.iter_mut().zip(ks) {
                let k = $set1_int(k as $int);
                let mut highest = $set1(*found);
                for ((&below, &mask), &vector) in below.iter().zip(&masks).zip(&vectors) {
                    let candidates = $at_most(below, k) & mask;
                    highest = $max_masked(highest, candidates, highest, vector);
                }
                *found = $reduce(highest);
            }
            found
        }
    };
}

places!(
    places_f32,
    places_inner_f32,
    f32,
    i32,
    16,
    __mmask16,
    _mm512_set1_ps,
    _mm512_set1_epi32,
    _mm512_setzero_si512,
    _mm512_mask_loadu_ps,
    _mm512_cmp_ps_mask,
    _mm512_mask_add_epi32,
    _mm512_cmple_epi32_mask,
    _mm512_mask_max_ps,
    _mm512_reduce_max_ps
);
places!(
    places_f64,
    places_inner_f64,
    f64,
    i64,
    8,
    __mmask8,
    _mm512_set1_pd,
    _mm512_set1_epi64,
    _mm512_setzero_si512,
    _mm512_mask_loadu_pd,
    _mm512_cmp_pd_mask,
    _mm512_mask_add_epi64,
    _mm512_cmple_epi64_mask,
    _mm512_mask_max_pd,
    _mm512_reduce_max_pd
);
