//! Where a sentence may end: one pass over the bytes.
//!
//! Sentence breaks arise only after a separator of paragraphs or a sentence terminal (UAX #29, SB4 and SB11), so only these
//! are looked for, 16 bytes at a time. A hit is a byte of a character that *may* be one: the rules read the character and
//! decide. What must hold, and is tested for every code point: no terminal and no separator is missed.
//!
//! Latin, Greek, Cyrillic, Hebrew, Arabic, Indic, Thai, CJK and Korean text is hit at little else. In scripts whose
//! terminals share their first two bytes with letters (after 0xE1 Burmese, Khmer, Ethiopic and others; most of the
//! supplementary planes) those letters are hit too, and looked up in the table: linear as well, and slower.

/// Bytes of characters that may be a terminal or a separator, ascending; a character may be hit twice.
pub(super) struct Hits<'a> {
    bytes: &'a [u8],
    /// First byte of the block that `mask` describes.
    block: usize,
    mask: u32,
}

const BLOCK: usize = 16;

impl<'a> Hits<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        Self {
            bytes,
            block: 0,
            mask: mask(bytes, 0),
        }
    }
}

impl Iterator for Hits<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.mask == 0 {
            self.block += BLOCK;
            if self.block >= self.bytes.len() {
                return None;
            }
            self.mask = mask(self.bytes, self.block);
        }
        let at = self.block + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        Some(at)
    }
}

/// One bit per byte of the block at `at`, set where [`may_end`].
#[inline]
fn mask(bytes: &[u8], at: usize) -> u32 {
    // The first block has no byte before it and the last may be short: byte by byte.
    let pair = at.checked_sub(1).and_then(|before| {
        Some((
            bytes.get(before..)?.first_chunk::<BLOCK>()?,
            bytes.get(at..)?.first_chunk::<BLOCK>()?,
        ))
    });
    match pair {
        Some((previous, block)) => block_mask(previous, block),
        None => (at..bytes.len().min(at + BLOCK)).fold(0, |mask, i| {
            let previous = i.checked_sub(1).map_or(0, |before| bytes[before]);
            mask | u32::from(may_end(previous, bytes[i])) << (i - at)
        }),
    }
}

/// Whether a byte belongs to a character that may be a terminal or separator, given the byte before it.
#[inline]
fn may_end(previous: u8, byte: u8) -> bool {
    match (previous, byte) {
        (_, b'.' | b'!' | b'?' | b'\n' | b'\r') => true,
        (_, ..0x80) => false,
        // Whole characters of two bytes: next line, Armenian, Arabic, Urdu, Syriac, N'Ko.
        (0xC2, 0x85) | (0xD6, 0x89) | (0xD8, 0x9D..=0x9F) | (0xDB, 0x94) | (0xDC, 0x80..=0x82) | (0xDF, 0xB9)
        // Second and third byte: danda, general punctuation, ideographic full stop.
        | (0xA5, 0xA4 | 0xA5)
        | (0x80, 0x82 | 0xA4 | 0xA6 | 0xA8 | 0xA9 | 0xBC | 0xBD)
        | (0x81, 0x87..=0x89)
        // First and second byte, for the rest: full-width and small forms; Samaritan; Burmese to Lepcha; Coptic and old
        // punctuation; Vai to Meetei Mayek, below Hangul; the supplementary planes but emoji and ideographs.
        | (0xEF, 0xB8..=0xBD)
        | (0xE0, 0xA0)
        | (0xE1, ..=0xB1)
        | (0xE2, 0xB3..=0xB9)
        | (0xEA, ..=0xAF)
        | (0xF0, ..=0x9E) => true,
        _ => false,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn block_mask(previous: &[u8; BLOCK], block: &[u8; BLOCK]) -> u32 {
    previous
        .iter()
        .zip(block)
        .enumerate()
        .fold(0, |mask, (i, (&previous, &byte))| {
            mask | u32::from(may_end(previous, byte)) << i
        })
}

/// SSE2 belongs to every x86-64, so these are ordinary safe calls.
#[cfg(target_arch = "x86_64")]
#[inline]
fn block_mask(previous: &[u8; BLOCK], block: &[u8; BLOCK]) -> u32 {
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
        _mm_set_epi64x, _mm_sub_epi8,
    };

    #[inline]
    fn load(bytes: &[u8; BLOCK]) -> __m128i {
        let wide = i128::from_le_bytes(*bytes);
        #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
        _mm_set_epi64x((wide >> 64) as i64, wide as i64)
    }
    #[inline]
    fn is(v: __m128i, byte: u8) -> __m128i {
        _mm_cmpeq_epi8(v, _mm_set1_epi8(byte.cast_signed()))
    }
    /// low ≤ v ≤ high.
    #[inline]
    fn within(v: __m128i, low: u8, high: u8) -> __m128i {
        let offset = _mm_sub_epi8(v, _mm_set1_epi8(low.cast_signed()));
        let width = _mm_set1_epi8((high - low).cast_signed());
        _mm_cmpeq_epi8(_mm_min_epu8(offset, width), offset)
    }
    #[inline]
    fn any<const N: usize>(all: [__m128i; N]) -> __m128i {
        all.into_iter()
            .reduce(|a, b| _mm_or_si128(a, b))
            .unwrap_or_else(|| _mm_set1_epi8(0))
    }
    #[inline]
    fn both(a: __m128i, b: __m128i) -> __m128i {
        _mm_and_si128(a, b)
    }

    let v = load(block);
    let ascii = any([is(v, b'.'), is(v, b'!'), is(v, b'?'), is(v, b'\n'), is(v, b'\r')]);
    if _mm_movemask_epi8(v) == 0 {
        return _mm_movemask_epi8(ascii).cast_unsigned();
    }
    let p = load(previous);
    let two = any([
        both(is(p, 0xC2), is(v, 0x85)),
        both(is(p, 0xD6), is(v, 0x89)),
        both(is(p, 0xD8), within(v, 0x9D, 0x9F)),
        both(is(p, 0xDB), is(v, 0x94)),
        both(is(p, 0xDC), within(v, 0x80, 0x82)),
        both(is(p, 0xDF), is(v, 0xB9)),
    ]);
    let inner = any([
        both(is(p, 0xA5), within(v, 0xA4, 0xA5)),
        both(
            is(p, 0x80),
            any([
                is(v, 0x82),
                is(v, 0xA4),
                is(v, 0xA6),
                within(v, 0xA8, 0xA9),
                within(v, 0xBC, 0xBD),
            ]),
        ),
        both(is(p, 0x81), within(v, 0x87, 0x89)),
    ]);
    let lead = any([
        both(is(p, 0xEF), within(v, 0xB8, 0xBD)),
        both(is(p, 0xE0), is(v, 0xA0)),
        both(is(p, 0xE1), within(v, 0x80, 0xB1)),
        both(is(p, 0xE2), within(v, 0xB3, 0xB9)),
        both(is(p, 0xEA), within(v, 0x80, 0xAF)),
        both(is(p, 0xF0), within(v, 0x80, 0x9E)),
    ]);
    _mm_movemask_epi8(any([ascii, two, inner, lead])).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::super::class::{Class, class};
    use super::*;

    /// Terminals and separators of a text by reading every character.
    fn read(text: &str) -> Vec<usize> {
        text.char_indices()
            .filter(|&(_, c)| matches!(class(c), Class::CR | Class::LF | Class::Sep | Class::ATerm | Class::STerm))
            .map(|(at, _)| at)
            .collect()
    }

    fn hits(text: &str) -> Vec<usize> {
        let mut out: Vec<usize> = Hits::new(text)
            .map(|mut at| {
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                at
            })
            .collect();
        out.dedup();
        out
    }

    #[test]
    fn no_terminal_of_any_script_is_missed() {
        let mut seen = 0;
        for c in ('\0'..=char::MAX).filter(|&c| !read(&c.to_string()).is_empty()) {
            // At every place within a block, after letters of one to four bytes.
            for lead in ["", "a", "é", "あ", "𐐀"] {
                for ahead in 0..17 {
                    let text = format!("{}{lead}{c}{}", "x".repeat(ahead), "y".repeat(40));
                    let found = hits(&text);
                    assert!(read(&text).iter().all(|at| found.contains(at)), "{c:?} in {text:?}");
                }
            }
            seen += 1;
        }
        assert!(seen > 150, "{seen}");
    }

    #[test]
    fn blocks_compute_what_is_defined() {
        for previous in 0..=u8::MAX {
            for byte in 0..=u8::MAX {
                let expected = if may_end(previous, byte) { 0xFFFF } else { 0 };
                assert_eq!(block_mask(&[previous; BLOCK], &[byte; BLOCK]), expected, "{previous:x} {byte:x}");
            }
        }
    }

    #[test]
    fn common_scripts_are_hit_at_little_else() {
        for (text, terminals) in [
            ("The “sieve” doesn’t care — it’s fast. Über naïve façades", 1),
            ("Сито удерживает доказательства. Остальное уходит", 1),
            ("ตะแกรงเก็บหลักฐานและทิ้งเสียงรบกวน", 0),
            ("체는 증거를 남기고 소음을 버린다.", 1),
        ] {
            assert_eq!(hits(text).len(), terminals, "{text}");
        }
    }
}
