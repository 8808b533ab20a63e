//! The sums by AVX2, FMA and F16C: two registers are the 16 lanes, eight accumulators in flight. Loads are unaligned.
#![allow(
    unsafe_code,
    reason = "intrinsics that load by pointer; the other unsafe file is the AVX-512 body"
)]

use super::element::Element;
use super::kernel::{BYTES_AHEAD, Reading};
use super::padded::{Padded, Stored};
use super::rows::Rows;
use half::f16;
use std::arch::x86_64::{
    __m256, __m256i, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm256_add_epi32, _mm256_add_ps,
    _mm256_castpd_ps, _mm256_castps_pd, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cvtepi8_epi16,
    _mm256_cvtepi32_ps, _mm256_cvtph_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_permute_ps, _mm256_permute2f128_ps, _mm256_setzero_ps, _mm256_setzero_si256,
    _mm256_storeu_ps, _mm256_unpackhi_pd, _mm256_unpacklo_pd,
};

/// Proof that the processor has AVX2, FMA and F16C.
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx2(());

/// Components that are read at once.
const BLOCK: usize = 16;

/// A storage type in registers of 256 bits.
pub trait Lanes: Stored {
    /// 16 components, and what accumulates.
    type Register: Copy;
    /// +0, as padding.
    const ZERO: Self;
    /// All accumulators at +0.
    ///
    /// # Safety
    ///
    /// AVX2, FMA, F16C.
    unsafe fn zero() -> Self::Register;
    /// 16 components of the query.
    ///
    /// # Safety
    ///
    /// AVX2, FMA, F16C; all of them are readable.
    unsafe fn query(from: *const Self::Wide) -> Self::Register;
    /// 16 components of a row, widened.
    ///
    /// # Safety
    ///
    /// AVX2, FMA, F16C; all of them are readable.
    unsafe fn row(from: *const Self) -> Self::Register;
    /// x·y + acc.
    ///
    /// # Safety
    ///
    /// AVX2, FMA, F16C.
    unsafe fn multiply_add(x: Self::Register, y: Self::Register, acc: Self::Register) -> Self::Register;
    /// The tree 8-4-2-1 of each.
    ///
    /// # Safety
    ///
    /// AVX2, FMA, F16C.
    unsafe fn trees(acc: [Self::Register; 4]) -> [f32; 4];
}

impl Avx2 {
    #[inline]
    pub(super) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c"))
        .then_some(Self(()))
    }

    /// See [`super::kernel::Kernel::sums`].
    pub(super) fn sums<T: Element>(
        self,
        query: &Padded<T::Wide>,
        rows: &Rows<'_, T>,
        reading: Reading,
        dots: &mut [f32],
        norms: &mut [f32],
    ) {
        let Self(()) = self;
        // SAFETY: `self` proves the features.
        unsafe {
            match (rows.is_unit(), reading) {
                (false, Reading::Cached) => sums::<T, 2, false, false>(query, rows, dots, norms),
                (false, Reading::Ahead) => sums::<T, 2, true, false>(query, rows, dots, norms),
                (false, Reading::Streamed) => sums::<T, 2, false, true>(query, rows, dots, norms),
                (true, Reading::Cached) => sums::<T, 4, false, false>(query, rows, dots, norms),
                (true, Reading::Ahead) => sums::<T, 4, true, false>(query, rows, dots, norms),
                (true, Reading::Streamed) => sums::<T, 4, false, true>(query, rows, dots, norms),
            }
        }
    }
}

/// `GROUP` rows at once share the loads of the query: 2 with their norms or 4 without; four times two accumulators hide
/// the latency of the multiply-add. The last group repeats the last row.
#[target_feature(enable = "avx2,fma,f16c")]
fn sums<T: Element, const GROUP: usize, const AHEAD: bool, const STREAMED: bool>(
    query: &Padded<T::Wide>,
    rows: &Rows<'_, T>,
    dots: &mut [f32],
    norms: &mut [f32],
) {
    let n = rows.n();
    let mut from = 0;
    while from < n {
        let mut group = [rows.row(from); GROUP];
        for (k, row) in group.iter_mut().enumerate() {
            *row = rows.row((from + k).min(n - 1));
        }
        let sums = group_sums::<T, GROUP, AHEAD, STREAMED>(query, group);
        let filled = GROUP.min(n - from);
        dots[from..from + filled].copy_from_slice(&sums[..filled]);
        if GROUP == 2 {
            norms[from..from + filled].copy_from_slice(&sums[2..2 + filled]);
        }
        from += filled;
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn group_sums<T: Element, const GROUP: usize, const AHEAD: bool, const STREAMED: bool>(
    query: &Padded<T::Wide>,
    group: [&[T]; GROUP],
) -> [f32; 4] {
    let (d, padded) = (query.query().len(), query.padded());
    assert!(
        query.shift() == 0
            && padded.len() >= d.next_multiple_of(BLOCK)
            && group.iter().all(|row| row.len() == d)
    );
    let whole = d - d % BLOCK;
    // SAFETY: the caller has the features. The assertion: whole blocks of the query and, below `whole`, of each row are
    // readable; the rest of a row is copied before it is read as a block. Prefetching reads nothing.
    unsafe {
        let mut acc = [<T as Lanes>::zero(); 4];
        // Which rows a walk over the blocks takes along: all of the group, or one.
        let (walks, side_by_side) = if STREAMED { (GROUP, 1) } else { (1, GROUP) };
        for walk in 0..walks {
            let mut at = 0;
            while at < whole {
                let x = <T as Lanes>::query(padded.as_ptr().add(at));
                if AHEAD {
                    // As many bytes as the group reads here, from one place.
                    for line in (0..GROUP * BLOCK * size_of::<T>()).step_by(64) {
                        let from = group[0].as_ptr().wrapping_add(at * GROUP);
                        _mm_prefetch::<_MM_HINT_T0>(from.wrapping_byte_add(line + BYTES_AHEAD).cast());
                    }
                }
                for k in walk..walk + side_by_side {
                    let y = <T as Lanes>::row(group[k].as_ptr().add(at));
                    acc[k] = <T as Lanes>::multiply_add(x, y, acc[k]);
                    if GROUP == 2 {
                        acc[k + 2] = <T as Lanes>::multiply_add(y, y, acc[k + 2]);
                    }
                }
                at += BLOCK;
            }
        }
        if whole < d {
            let x = <T as Lanes>::query(padded.as_ptr().add(whole));
            for k in 0..GROUP {
                let mut rest = [<T as Lanes>::ZERO; BLOCK];
                rest[..d - whole].copy_from_slice(&group[k][whole..]);
                let y = <T as Lanes>::row(rest.as_ptr());
                acc[k] = <T as Lanes>::multiply_add(x, y, acc[k]);
                if GROUP == 2 {
                    acc[k + 2] = <T as Lanes>::multiply_add(y, y, acc[k + 2]);
                }
            }
        }
        <T as Lanes>::trees(acc)
    }
}

impl Lanes for f32 {
    type Register = [__m256; 2];
    const ZERO: Self = 0.0;

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn zero() -> [__m256; 2] {
        [_mm256_setzero_ps(); 2]
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn query(from: *const f32) -> [__m256; 2] {
        // SAFETY: the caller's.
        unsafe { [_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))] }
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn row(from: *const Self) -> [__m256; 2] {
        // SAFETY: the caller's.
        unsafe { [_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))] }
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn multiply_add(x: [__m256; 2], y: [__m256; 2], acc: [__m256; 2]) -> [__m256; 2] {
        [
            _mm256_fmadd_ps(x[0], y[0], acc[0]),
            _mm256_fmadd_ps(x[1], y[1], acc[1]),
        ]
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn trees(acc: [[__m256; 2]; 4]) -> [f32; 4] {
        let eight = acc.map(|[low, high]| _mm256_add_ps(low, high));
        stored(transposed_trees(eight, |a, b| _mm256_add_ps(a, b)))
    }
}

impl Lanes for f16 {
    type Register = [__m256; 2];
    const ZERO: Self = f16::ZERO;

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn zero() -> [__m256; 2] {
        [_mm256_setzero_ps(); 2]
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn query(from: *const f32) -> [__m256; 2] {
        // SAFETY: the caller's.
        unsafe { [_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))] }
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn row(from: *const Self) -> [__m256; 2] {
        // SAFETY: the caller's; 8 components are 128 bits.
        unsafe {
            [
                _mm256_cvtph_ps(_mm_loadu_si128(from.cast())),
                _mm256_cvtph_ps(_mm_loadu_si128(from.add(8).cast())),
            ]
        }
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn multiply_add(x: [__m256; 2], y: [__m256; 2], acc: [__m256; 2]) -> [__m256; 2] {
        [
            _mm256_fmadd_ps(x[0], y[0], acc[0]),
            _mm256_fmadd_ps(x[1], y[1], acc[1]),
        ]
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn trees(acc: [[__m256; 2]; 4]) -> [f32; 4] {
        let eight = acc.map(|[low, high]| _mm256_add_ps(low, high));
        stored(transposed_trees(eight, |a, b| _mm256_add_ps(a, b)))
    }
}

/// 16 components in 16 bits; products are added in pairs to 8 sums of 32 bits.
impl Lanes for i8 {
    type Register = __m256i;
    const ZERO: Self = 0;

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn zero() -> __m256i {
        _mm256_setzero_si256()
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn query(from: *const i16) -> __m256i {
        // SAFETY: the caller's.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn row(from: *const Self) -> __m256i {
        // SAFETY: the caller's; 16 components are 128 bits.
        unsafe { _mm256_cvtepi8_epi16(_mm_loadu_si128(from.cast())) }
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn multiply_add(x: __m256i, y: __m256i, acc: __m256i) -> __m256i {
        _mm256_add_epi32(acc, _mm256_madd_epi16(x, y))
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    unsafe fn trees(acc: [__m256i; 4]) -> [f32; 4] {
        let sums = transposed_trees(acc.map(|acc| _mm256_castsi256_ps(acc)), |a, b| {
            _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b)))
        });
        stored(_mm256_cvtepi32_ps(_mm256_castps_si256(sums)))
    }
}

/// The trees 4-2-1 of four registers, 4 additions in all: each level adds the halves of two registers into one.
/// Results 0, 1 stand at positions 0, 4 and results 2, 3 at 2, 6.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn transposed_trees(acc: [__m256; 4], add: impl Fn(__m256, __m256) -> __m256) -> __m256 {
    // Lanes l and l + 4: [a b] of [a a] and [b b], in units of four lanes.
    let four = |a, b| {
        add(
            _mm256_permute2f128_ps::<0x20>(a, b),
            _mm256_permute2f128_ps::<0x31>(a, b),
        )
    };
    let [a, b, c, d] = acc;
    // Lanes l and l + 2: [a a c c] of [a a a a] and [c c c c], within each unit.
    let (low, high) = (_mm256_castps_pd(four(a, b)), _mm256_castps_pd(four(c, d)));
    let two = add(
        _mm256_castpd_ps(_mm256_unpacklo_pd(low, high)),
        _mm256_castpd_ps(_mm256_unpackhi_pd(low, high)),
    );
    add(two, _mm256_permute_ps::<0b10_11_00_01>(two))
}

/// The four results in order.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn stored(sums: __m256) -> [f32; 4] {
    let mut all = [0.0; 8];
    // SAFETY: eight floats are 256 bits.
    unsafe { _mm256_storeu_ps(all.as_mut_ptr(), sums) };
    [all[0], all[4], all[2], all[6]]
}
