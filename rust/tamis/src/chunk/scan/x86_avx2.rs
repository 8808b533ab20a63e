//! The marks of a block with AVX2.
//!
//! A pair of bytes is looked up by its four halves: each half names the groups of pairs that it may belong to, and what all
//! four agree on is marked (the way of simdjson's UTF-8 validation: Keiser and Lemire, arXiv 2010.03090). A group is a
//! product of four sets, so a few pairs are marked that are no terminals.
#![allow(
    unsafe_code,
    reason = "intrinsics that load through pointers, and calls of functions of one processor"
)]

use std::arch::x86_64::{
    __m256i, _mm_loadu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8,
    _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_sub_epi8,
};

use super::{Marks, Window, Windows};

/// Proof that the processor has what the kernel needs; made by asking it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detected(());

impl Detected {
    pub(super) fn new() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }
}

pub(super) fn fill(_proof: Detected, windows: Windows<'_>, out: &mut [Marks]) {
    // SAFETY: `Detected` exists only where the processor has the feature.
    unsafe { fill_by_avx2(windows, out) }
}

#[target_feature(enable = "avx2")]
fn fill_by_avx2(windows: Windows<'_>, out: &mut [Marks]) {
    for (n, marks) in out.iter_mut().enumerate() {
        *marks = windows.with(n, |window| marks_of(window));
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn marks_of(window: &Window) -> Marks {
    let mut marks = Marks::default();
    for half in [0, 32] {
        // SAFETY: a window is 65 bytes, and the halves of its block begin at byte 1 and 33.
        let (previous, block) = unsafe {
            let previous = window.as_ptr().add(half);
            (
                _mm256_loadu_si256(previous.cast()),
                _mm256_loadu_si256(previous.add(1).cast()),
            )
        };
        // A byte of ASCII is a mark if it is the one that its low half names.
        let mut terminals = _mm256_cmpeq_epi8(_mm256_shuffle_epi8(table(&ENDS), block), block);
        let mut openings = _mm256_cmpeq_epi8(_mm256_shuffle_epi8(table(&OPENS), block), block);
        // The top bit of each byte.
        if _mm256_movemask_epi8(block) != 0 {
            terminals = _mm256_or_si256(terminals, wide_terminals(previous, block));
            openings = _mm256_or_si256(openings, wide_openings(previous, block));
        }
        marks.terminals |= u64::from(_mm256_movemask_epi8(terminals).cast_unsigned()) << half;
        marks.openings |= u64::from(_mm256_movemask_epi8(openings).cast_unsigned()) << half;
    }
    marks
}

/// Whether bytes belong to a terminal or separator beyond ASCII, each with the byte before it.
#[target_feature(enable = "avx2")]
#[inline]
fn wide_terminals(previous: __m256i, block: __m256i) -> __m256i {
    let halves = [high(previous), low(previous), high(block), low(block)];
    let mut marked = _mm256_setzero_si256();
    for bank in &BANKS {
        let mut groups = _mm256_set1_epi8(-1);
        for (half, names) in halves.iter().zip(bank) {
            groups = _mm256_and_si256(groups, _mm256_shuffle_epi8(table(names), *half));
        }
        marked = _mm256_or_si256(marked, groups);
    }
    let none = _mm256_cmpeq_epi8(marked, _mm256_setzero_si256());
    _mm256_cmpeq_epi8(none, _mm256_setzero_si256())
}

/// Whether bytes belong to a mark of general or of CJK punctuation that may open: 0x8C to 0x9D after 0x80.
#[target_feature(enable = "avx2")]
#[inline]
fn wide_openings(previous: __m256i, block: __m256i) -> __m256i {
    let above = _mm256_sub_epi8(block, _mm256_set1_epi8(0x8C_u8.cast_signed()));
    let within = _mm256_cmpeq_epi8(_mm256_min_epu8(above, _mm256_set1_epi8(17)), above);
    _mm256_and_si256(
        _mm256_cmpeq_epi8(previous, _mm256_set1_epi8(0x80_u8.cast_signed())),
        within,
    )
}

#[target_feature(enable = "avx2")]
#[inline]
fn low(bytes: __m256i) -> __m256i {
    _mm256_and_si256(bytes, _mm256_set1_epi8(15))
}

#[target_feature(enable = "avx2")]
#[inline]
fn high(bytes: __m256i) -> __m256i {
    low(_mm256_srli_epi16::<4>(bytes))
}

#[target_feature(enable = "avx2")]
#[inline]
fn table(entries: &[u8; 16]) -> __m256i {
    // SAFETY: sixteen bytes are loaded.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(entries.as_ptr().cast()) })
}

/// The byte that each low half stands for; where none does, a byte of another low half.
const ENDS: [u8; 16] = by_low_half(*b".!?\n\r");
const OPENS: [u8; 16] = by_low_half(*b"\"(");

const fn by_low_half<const N: usize>(bytes: [u8; N]) -> [u8; 16] {
    let mut out = [0; 16];
    out[0] = 1;
    let mut i = 0;
    while i < N {
        out[(bytes[i] & 15) as usize] = bytes[i];
        i += 1;
    }
    out
}

/// Sets of halves, as bits.
struct Group {
    high_of_previous: u16,
    low_of_previous: u16,
    high: u16,
    low: u16,
}

const ALL: u16 = u16::MAX;

const fn group(high_of_previous: u16, low_of_previous: u16, high: u16, low: u16) -> Group {
    Group {
        high_of_previous,
        low_of_previous,
        high,
        low,
    }
}

const fn set<const N: usize>(halves: [u16; N]) -> u16 {
    let mut bits = 0;
    let mut i = 0;
    while i < N {
        bits |= 1 << halves[i];
        i += 1;
    }
    bits
}

const BANKS: [[[u8; 16]; 4]; 2] = [
    bank(&[
        // Next line, Armenian.
        group(set([0xC, 0xD]), set([2, 6]), set([8]), set([5, 9])),
        // Arabic, Urdu.
        group(set([0xD]), set([8, 0xB]), set([9]), set([4, 0xD, 0xE, 0xF])),
        // Syriac, N'Ko.
        group(set([0xD]), set([0xC, 0xF]), set([8, 0xB]), set([0, 1, 2, 9])),
        // Danda.
        group(set([0xA]), set([5]), set([0xA]), set([4, 5])),
        // General punctuation, ideographic full stop.
        group(set([8]), set([0]), set([8, 0xA]), set([2, 4, 6, 8, 9])),
        group(set([8]), set([0]), set([0xB]), set([0xC, 0xD])),
        group(set([8]), set([1]), set([8]), set([7, 8, 9])),
        // Full-width and small forms.
        group(
            set([0xE]),
            set([0xF]),
            set([0xB]),
            set([8, 9, 0xA, 0xB, 0xC, 0xD]),
        ),
    ]),
    bank(&[
        // Samaritan.
        group(set([0xE]), set([0]), set([0xA]), set([0])),
        // Burmese to Lepcha.
        group(set([0xE]), set([1]), set([8, 9, 0xA]), ALL),
        group(set([0xE]), set([1]), set([0xB]), set([0, 1])),
        // Coptic and old punctuation.
        group(set([0xE]), set([2]), set([0xB]), set([3, 4, 5, 6, 7, 8, 9])),
        // Vai to Meetei Mayek.
        group(set([0xE]), set([0xA]), set([8, 9, 0xA]), ALL),
        // The supplementary planes but emoji and ideographs.
        group(set([0xF]), set([0]), set([8]), ALL),
        group(set([0xF]), set([0]), set([9]), ALL & !set([0xF])),
        group(0, 0, 0, 0),
    ]),
];

/// For each of the four halves, by its value, the groups that it may belong to.
const fn bank(groups: &[Group; 8]) -> [[u8; 16]; 4] {
    let mut out = [[0; 16]; 4];
    let mut g = 0;
    while g < 8 {
        let sets = [
            groups[g].high_of_previous,
            groups[g].low_of_previous,
            groups[g].high,
            groups[g].low,
        ];
        let mut half = 0;
        while half < 4 {
            let mut value = 0;
            while value < 16 {
                if sets[half] >> value & 1 == 1 {
                    out[half][value] |= 1 << g;
                }
                value += 1;
            }
            half += 1;
        }
        g += 1;
    }
    out
}
