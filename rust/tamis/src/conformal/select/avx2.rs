//! The pass with AVX2: eight (four) scores at a time, those inside packed by a permutation looked up by their mask.
#![allow(
    unsafe_code,
    reason = "intrinsics that store through pointers, and calls of functions of one processor"
)]

use std::arch::x86_64::{
    __m256d, __m256i, _CMP_LE_OQ, _CMP_LT_OQ, _CMP_UNORD_Q, _MM_HINT_T0, _mm_loadl_epi64, _mm_prefetch,
    _mm256_andnot_pd, _mm256_andnot_ps, _mm256_castpd_ps, _mm256_castpd_si256, _mm256_castps_pd,
    _mm256_castps_si256, _mm256_cmp_pd, _mm256_cmp_ps, _mm256_cvtepu8_epi32, _mm256_loadu_pd,
    _mm256_loadu_ps, _mm256_movemask_pd, _mm256_movemask_ps, _mm256_or_pd, _mm256_or_ps,
    _mm256_permutevar8x32_ps, _mm256_set1_pd, _mm256_set1_ps, _mm256_setzero_pd, _mm256_setzero_ps,
    _mm256_setzero_si256, _mm256_storeu_pd, _mm256_storeu_ps, _mm256_storeu_si256, _mm256_sub_epi32,
    _mm256_sub_epi64, _mm256_sub_pd, _mm256_sub_ps,
};

use super::pass::{AHEAD, Tally};
use super::real::Real;

/// Proof that the processor has what the kernels need; made by asking it.
#[derive(Debug, Clone, Copy)]
pub struct Detected(());

impl Detected {
    pub(super) fn new() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt")).then_some(Self(()))
    }
}

/// For each mask of eight words the positions of the words in it, in front.
static PACK_SINGLE: [[u8; 8]; 256] = packing(1);
/// For each mask of four pairs of words the positions of the words in it, in front.
static PACK_DOUBLE: [[u8; 8]; 16] = packing(2);

#[allow(
    clippy::cast_possible_truncation,
    clippy::large_types_passed_by_value,
    reason = "eight positions"
)]
const fn packing<const MASKS: usize>(width: usize) -> [[u8; 8]; MASKS] {
    let mut tables = [[0; 8]; MASKS];
    let mut mask = 0;
    while mask < MASKS {
        let (mut word, mut filled) = (0, 0);
        while word < 8 {
            if mask >> (word / width) & 1 == 1 {
                tables[mask][filled] = word as u8;
                filled += 1;
            }
            word += 1;
        }
        mask += 1;
    }
    tables
}

/// The words at the positions, the rest being whatever lies at the first.
#[target_feature(enable = "avx2")]
fn positions(table: &[u8; 8]) -> __m256i {
    // SAFETY: eight bytes are read.
    unsafe { _mm256_cvtepu8_epi32(_mm_loadl_epi64(table.as_ptr().cast())) }
}

#[target_feature(enable = "avx2")]
fn permuted_pd(scores: __m256d, positions: __m256i) -> __m256d {
    _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(scores), positions))
}

#[target_feature(enable = "avx2")]
fn sum_singles(counts: __m256i) -> usize {
    let mut lanes = [0_u32; 8];
    // SAFETY: as many bytes as the vector has.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), counts) };
    lanes.iter().sum::<u32>() as usize
}

#[target_feature(enable = "avx2")]
#[allow(clippy::cast_possible_truncation, reason = "a count of one block")]
fn sum_doubles(counts: __m256i) -> usize {
    let mut lanes = [0_u64; 4];
    // SAFETY: as many bytes as the vector has.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), counts) };
    lanes.iter().sum::<u64>() as usize
}

macro_rules! kernel {
    ($safe:ident, $inner:ident, $float:ty, $lanes:literal, $pack:ident, $set1:ident, $zero:ident, $load:ident,
     $compare:ident, $andnot:ident, $or:ident, $sub:ident, $integers:ident, $sub_integers:ident, $sum:ident,
     $movemask:ident, $permute:ident, $store:ident) => {
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

        #[target_feature(enable = "avx2,popcnt")]
        #[allow(clippy::cast_sign_loss, reason = "a mask of eight bits at most")]
        fn $inner<const POINT: bool>(block: &[$float], tally: &mut Tally<'_, $float>) -> bool {
            let (low_score, high_score) = (tally.low, tally.high);
            let (low, high) = ($set1(low_score), $set1(high_score));
            // A score less itself is NaN for a score that is not finite, and NaN stays in a union of bits.
            let mut not_finite = $zero();
            let mut counts = [_mm256_setzero_si256(); 2];
            let mut inside = 0;
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
                not_finite = $or(not_finite, $sub(scores, scores));
                let at_most = $compare::<_CMP_LE_OQ>(scores, low);
                let below = $compare::<_CMP_LT_OQ>(scores, high);
                // A true lane is −1.
                counts[0] = $sub_integers(counts[0], $integers(at_most));
                if POINT {
                    counts[1] = $sub_integers(counts[1], $integers(below));
                } else {
                    let within = $movemask($andnot(at_most, below)) as usize;
                    let packed = $permute(scores, positions(&$pack[within]));
                    // SAFETY: at most `block.len()` scores were written before, and a vector more is free (asserted).
                    unsafe { $store(out.add(inside), packed) };
                    inside += within.count_ones() as usize;
                }
            }
            let (mut at_most_low, mut below_high) = ($sum(counts[0]), $sum(counts[1]));
            let mut finite = true;
            for &score in rest {
                finite &= score.finite();
                at_most_low += usize::from(score <= low_score);
                if POINT {
                    below_high += usize::from(score < high_score);
                } else if score > low_score && score < high_score {
                    free[inside] = score;
                    inside += 1;
                }
            }
            if !POINT {
                below_high = at_most_low + inside;
            }
            tally.add(at_most_low, below_high, inside);
            finite && $movemask($compare::<_CMP_UNORD_Q>(not_finite, not_finite)) == 0
        }
    };
}

kernel!(
    count_f32,
    inner_f32,
    f32,
    8,
    PACK_SINGLE,
    _mm256_set1_ps,
    _mm256_setzero_ps,
    _mm256_loadu_ps,
    _mm256_cmp_ps,
    _mm256_andnot_ps,
    _mm256_or_ps,
    _mm256_sub_ps,
    _mm256_castps_si256,
    _mm256_sub_epi32,
    sum_singles,
    _mm256_movemask_ps,
    _mm256_permutevar8x32_ps,
    _mm256_storeu_ps
);
kernel!(
    count_f64,
    inner_f64,
    f64,
    4,
    PACK_DOUBLE,
    _mm256_set1_pd,
    _mm256_setzero_pd,
    _mm256_loadu_pd,
    _mm256_cmp_pd,
    _mm256_andnot_pd,
    _mm256_or_pd,
    _mm256_sub_pd,
    _mm256_castpd_si256,
    _mm256_sub_epi64,
    sum_doubles,
    _mm256_movemask_pd,
    permuted_pd,
    _mm256_storeu_pd
);

/// The portable way, compiled for wider vectors.
pub(super) fn places<T: Real>(_proof: Detected, scores: &[T], ks: [usize; 2]) -> [T; 2] {
    // SAFETY: `Detected` exists only where the processor has the feature.
    unsafe { places_inner(scores, ks) }
}

#[target_feature(enable = "avx2")]
fn places_inner<T: Real>(scores: &[T], ks: [usize; 2]) -> [T; 2] {
    super::small::places_portable(scores, ks)
}
