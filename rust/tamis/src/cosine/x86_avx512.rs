//! The sums by AVX-512: a register is the 16 lanes, eight accumulators in flight.
//!
//! Loads are moved to the rows' own alignment: numpy's buffers begin 16 bytes off a cache line, and then every 64-byte load
//! would touch two. Register position p holds lane (p − shift) mod 16, and the tree pairs lanes 8, 4, 2 and 1 apart:
//! a rotation changes which operand of an addition comes first and nothing else, so the bits are those of the
//! definition. What lies before and after a row is masked out: never loaded, and multiplied as +0 by a neutral component.
#![allow(
    unsafe_code,
    reason = "intrinsics that load by pointer; the other unsafe file is the AVX2 body"
)]
#![allow(
    clippy::cast_possible_truncation,
    reason = "masks have as many bits as registers have components"
)]
#![allow(
    clippy::large_types_passed_by_value,
    reason = "accumulators stay in registers"
)]

use super::element::Element;
use super::kernel::{BYTES_AHEAD, Reading};
use super::padded::{Padded, Stored};
use super::rows::Rows;
use half::f16;
use std::arch::x86_64::{
    __m512, __m512i, _MM_HINT_T0, _mm_prefetch, _mm256_loadu_si256, _mm256_maskz_loadu_epi8,
    _mm256_maskz_loadu_epi16, _mm256_storeu_ps, _mm512_add_epi32, _mm512_add_ps, _mm512_castpd_ps,
    _mm512_castps_pd, _mm512_castps_si512, _mm512_castps512_ps256, _mm512_castsi512_ps, _mm512_cvtepi8_epi16,
    _mm512_cvtepi32_ps, _mm512_cvtph_ps, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_loadu_si512,
    _mm512_madd_epi16, _mm512_maskz_loadu_ps, _mm512_permute_ps, _mm512_permutexvar_ps, _mm512_setr_epi32,
    _mm512_setzero_ps, _mm512_setzero_si512, _mm512_shuffle_f32x4, _mm512_unpackhi_pd, _mm512_unpacklo_pd,
};

/// Proof that the processor has AVX-512 F, BW and VL.
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx512(());

/// A storage type in registers of 512 bits.
pub trait Lanes: Stored {
    /// What is multiplied and what accumulates.
    type Register: Copy;
    /// Components in a register.
    const BLOCK: usize;
    /// All accumulators at +0.
    ///
    /// # Safety
    ///
    /// AVX-512 F, BW, VL.
    unsafe fn zero() -> Self::Register;
    /// `BLOCK` components of the query.
    ///
    /// # Safety
    ///
    /// AVX-512 F, BW, VL; all of them are readable.
    unsafe fn query(from: *const Self::Wide) -> Self::Register;
    /// `BLOCK` components of a row, widened.
    ///
    /// # Safety
    ///
    /// AVX-512 F, BW, VL; all of them are readable.
    unsafe fn row(from: *const Self) -> Self::Register;
    /// Those whose bit is set, widened; +0 for others, which are not loaded.
    ///
    /// # Safety
    ///
    /// AVX-512 F, BW, VL; those whose bit is set are readable.
    unsafe fn masked_row(from: *const Self, mask: u32) -> Self::Register;
    /// x·y + acc.
    ///
    /// # Safety
    ///
    /// AVX-512 F, BW, VL.
    unsafe fn multiply_add(x: Self::Register, y: Self::Register, acc: Self::Register) -> Self::Register;
    /// The tree 8-4-2-1 of each.
    ///
    /// # Safety
    ///
    /// AVX-512 F, BW, VL.
    unsafe fn trees(acc: [Self::Register; 8]) -> [f32; 8];
}

impl Avx512 {
    #[inline]
    pub(super) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl"))
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
                (false, Reading::Cached) => sums::<T, 4, false, false>(query, rows, dots, norms),
                (false, Reading::Ahead) => sums::<T, 4, true, false>(query, rows, dots, norms),
                (false, Reading::Streamed) => sums::<T, 4, false, true>(query, rows, dots, norms),
                (true, Reading::Cached) => sums::<T, 8, false, false>(query, rows, dots, norms),
                (true, Reading::Ahead) => sums::<T, 8, true, false>(query, rows, dots, norms),
                (true, Reading::Streamed) => sums::<T, 8, false, true>(query, rows, dots, norms),
            }
        }
    }
}

/// `GROUP` rows at once share the loads of the query: 4 with their norms or 8 without, eight accumulators both times,
/// which hide the latency of the multiply-add. The last group repeats the last row.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn sums<T: Element, const GROUP: usize, const AHEAD: bool, const STREAMED: bool>(
    query: &Padded<T::Wide>,
    rows: &Rows<'_, T>,
    dots: &mut [f32],
    norms: &mut [f32],
) {
    let n = rows.n();
    let blocks = Blocks::new::<T>(query);
    let mut from = 0;
    while from < n {
        let mut group = [rows.row(from); GROUP];
        for (k, row) in group.iter_mut().enumerate() {
            *row = rows.row((from + k).min(n - 1));
        }
        let sums = group_sums::<T, GROUP, AHEAD, STREAMED>(query, &blocks, &group);
        let filled = GROUP.min(n - from);
        dots[from..from + filled].copy_from_slice(&sums[..filled]);
        if GROUP == 4 {
            norms[from..from + filled].copy_from_slice(&sums[4..4 + filled]);
        }
        from += filled;
    }
}

/// Which positions of the first and the last register hold components of a row: the same for every row.
struct Blocks {
    first: u32,
    /// Where the last register begins.
    at: usize,
    last: u32,
}

impl Blocks {
    fn new<T: Element>(query: &Padded<T::Wide>) -> Self {
        let (block, shift) = (<T as Lanes>::BLOCK, query.shift());
        let end = shift + query.query().len();
        let at = end.saturating_sub(1) / block * block;
        // Positions [from, to) of a register.
        let mask = |from: usize, to: usize| (((1_u64 << to) - 1) & !((1_u64 << from) - 1)) as u32;
        Self {
            first: mask(shift, end.min(block)),
            at,
            last: mask(if at == 0 { shift } else { 0 }, end - at),
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn group_sums<T: Element, const GROUP: usize, const AHEAD: bool, const STREAMED: bool>(
    query: &Padded<T::Wide>,
    blocks: &Blocks,
    group: &[&[T]; GROUP],
) -> [f32; 8] {
    let block = <T as Lanes>::BLOCK;
    let (shift, d, padded) = (query.shift(), query.query().len(), query.padded());
    assert!(
        shift < block
            && padded.len() >= (shift + d).next_multiple_of(block)
            && blocks.at + block <= padded.len()
            && group.iter().all(|row| row.len() == d)
    );
    // SAFETY: the caller has the features. Query: the assertion. Rows: registers begin `shift` components before the
    // row; position p of the register at `at` is component at + p − shift, which lies in the row exactly when its mask
    // bit is set; whole registers are loaded only between the first and the last.
    unsafe {
        let query = padded.as_ptr();
        let rows = group.map(|row| row.as_ptr().wrapping_sub(shift));
        let mut acc = [<T as Lanes>::zero(); 8];
        // Which rows a walk over the blocks takes along: all of the group, or one.
        let walks = if STREAMED { GROUP } else { 1 };
        for walk in 0..walks {
            let (rows, acc) = (&rows[walk..], &mut acc[walk..]);
            if blocks.at > 0 {
                add::<T, GROUP, AHEAD, STREAMED, true>(query, rows, 0, blocks.first, acc);
            }
            let mut at = block;
            while at < blocks.at {
                add::<T, GROUP, AHEAD, STREAMED, false>(query, rows, at, 0, acc);
                at += block;
            }
            add::<T, GROUP, AHEAD, STREAMED, true>(query, rows, blocks.at, blocks.last, acc);
        }
        <T as Lanes>::trees(acc)
    }
}

/// Adds one register of each row of a walk, or those positions of it whose bit is set. Asking ahead reads nothing.
///
/// # Safety
///
/// A register of the query at `at` is readable, and of each row those positions whose bit is set, or all.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
unsafe fn add<T: Element, const GROUP: usize, const AHEAD: bool, const STREAMED: bool, const MASKED: bool>(
    query: *const T::Wide,
    rows: &[*const T],
    at: usize,
    mask: u32,
    acc: &mut [<T as Lanes>::Register],
) {
    // SAFETY: the caller's.
    unsafe {
        let x = <T as Lanes>::query(query.add(at));
        if AHEAD {
            // As many bytes as the group reads here, from one place.
            let (from, n_bytes) = (at * GROUP, GROUP * <T as Lanes>::BLOCK * size_of::<T>());
            for line in (0..n_bytes).step_by(64) {
                let from = rows[0].wrapping_add(from).wrapping_byte_add(line + BYTES_AHEAD);
                _mm_prefetch::<_MM_HINT_T0>(from.cast());
            }
        }
        for k in 0..if STREAMED { 1 } else { GROUP } {
            let from = rows[k].wrapping_add(at);
            let y = if MASKED {
                <T as Lanes>::masked_row(from, mask)
            } else {
                <T as Lanes>::row(from)
            };
            acc[k] = <T as Lanes>::multiply_add(x, y, acc[k]);
            if GROUP == 4 {
                acc[k + 4] = <T as Lanes>::multiply_add(y, y, acc[k + 4]);
            }
        }
    }
}

impl Lanes for f32 {
    type Register = __m512;
    const BLOCK: usize = 16;

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn zero() -> __m512 {
        _mm512_setzero_ps()
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn query(from: *const f32) -> __m512 {
        // SAFETY: the caller's.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn row(from: *const Self) -> __m512 {
        // SAFETY: the caller's.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn masked_row(from: *const Self, mask: u32) -> __m512 {
        // SAFETY: the caller's; masked-out components are not accessed.
        unsafe { _mm512_maskz_loadu_ps(mask as u16, from) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn multiply_add(x: __m512, y: __m512, acc: __m512) -> __m512 {
        _mm512_fmadd_ps(x, y, acc)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn trees(acc: [__m512; 8]) -> [f32; 8] {
        stored(transposed_trees(acc, |a, b| _mm512_add_ps(a, b)))
    }
}

impl Lanes for f16 {
    type Register = __m512;
    const BLOCK: usize = 16;

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn zero() -> __m512 {
        _mm512_setzero_ps()
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn query(from: *const f32) -> __m512 {
        // SAFETY: the caller's.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn row(from: *const Self) -> __m512 {
        // SAFETY: the caller's; 16 components are 256 bits.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.cast())) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn masked_row(from: *const Self, mask: u32) -> __m512 {
        // SAFETY: the caller's; masked-out components are not accessed.
        unsafe { _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask as u16, from.cast())) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn multiply_add(x: __m512, y: __m512, acc: __m512) -> __m512 {
        _mm512_fmadd_ps(x, y, acc)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn trees(acc: [__m512; 8]) -> [f32; 8] {
        stored(transposed_trees(acc, |a, b| _mm512_add_ps(a, b)))
    }
}

/// 32 components in 16 bits; products are added in pairs to 16 sums of 32 bits.
impl Lanes for i8 {
    type Register = __m512i;
    const BLOCK: usize = 32;

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn zero() -> __m512i {
        _mm512_setzero_si512()
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn query(from: *const i16) -> __m512i {
        // SAFETY: the caller's.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn row(from: *const Self) -> __m512i {
        // SAFETY: the caller's; 32 components are 256 bits.
        unsafe { _mm512_cvtepi8_epi16(_mm256_loadu_si256(from.cast())) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn masked_row(from: *const Self, mask: u32) -> __m512i {
        // SAFETY: the caller's; masked-out components are not accessed.
        unsafe { _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask, from)) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn multiply_add(x: __m512i, y: __m512i, acc: __m512i) -> __m512i {
        _mm512_add_epi32(acc, _mm512_madd_epi16(x, y))
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    unsafe fn trees(acc: [__m512i; 8]) -> [f32; 8] {
        let sums = transposed_trees(acc.map(|acc| _mm512_castsi512_ps(acc)), |a, b| {
            _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), _mm512_castps_si512(b)))
        });
        stored(_mm512_cvtepi32_ps(_mm512_castps_si512(sums)))
    }
}

/// The trees of eight registers, 7 additions in all: each level adds the halves of two registers into one.
/// Result k (below 8) stands at position 4k, 4(k − 4) + 2 for the upper four.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn transposed_trees(acc: [__m512; 8], add: impl Fn(__m512, __m512) -> __m512) -> __m512 {
    // Lanes l and l + 8: [a a b b] of [a a a a] and [b b b b], in units of four lanes.
    let eight = |a, b| {
        add(
            _mm512_shuffle_f32x4::<0b01_00_01_00>(a, b),
            _mm512_shuffle_f32x4::<0b11_10_11_10>(a, b),
        )
    };
    // Lanes l and l + 4: [a b c d] of [a a b b] and [c c d d].
    let four = |ab, cd| {
        add(
            _mm512_shuffle_f32x4::<0b10_00_10_00>(ab, cd),
            _mm512_shuffle_f32x4::<0b11_01_11_01>(ab, cd),
        )
    };
    let [a, b, c, d, e, f, g, h] = acc;
    let (low, high) = (four(eight(a, b), eight(c, d)), four(eight(e, f), eight(g, h)));
    // Lanes l and l + 2: [a a e e] of [a a a a] and [e e e e], within each unit.
    let (low, high) = (_mm512_castps_pd(low), _mm512_castps_pd(high));
    let two = add(
        _mm512_castpd_ps(_mm512_unpacklo_pd(low, high)),
        _mm512_castpd_ps(_mm512_unpackhi_pd(low, high)),
    );
    add(two, _mm512_permute_ps::<0b10_11_00_01>(two))
}

/// The eight results in order.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn stored(sums: __m512) -> [f32; 8] {
    let order = _mm512_setr_epi32(0, 4, 8, 12, 2, 6, 10, 14, 0, 0, 0, 0, 0, 0, 0, 0);
    let mut results = [0.0; 8];
    // SAFETY: eight floats are 256 bits.
    unsafe {
        _mm256_storeu_ps(
            results.as_mut_ptr(),
            _mm512_castps512_ps256(_mm512_permutexvar_ps(order, sums)),
        );
    };
    results
}
