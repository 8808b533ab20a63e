//! Where a sentence may end: one pass over the bytes.
//!
//! Sentence breaks arise only after a separator of paragraphs or a sentence terminal (UAX #29, SB4 and SB11), so only these
//! are looked for, 32 bytes at a time. A hit is a byte of a character that *may* be one: the rules read the character and
//! decide. What must hold, and is tested for every code point: no terminal and no separator is missed.
//!
//! Latin, Greek, Cyrillic, Hebrew, Arabic, Indic, Thai, CJK and Korean text is hit at little else. In scripts whose
//! terminals share their first two bytes with letters (after 0xE1 Burmese, Khmer, Ethiopic and others; most of the
//! supplementary planes) those letters are hit too, and looked up in the table: linear as well, and slower.

/// Bytes of characters that may be a terminal or a separator, ascending; a character may be hit twice.
pub(super) struct Hits<'a> {
    bytes: &'a [u8],
    /// First byte of the block that the masks describe.
    block: usize,
    terminals: u32,
    openings: u32,
    last_opening: Option<usize>,
}

const BLOCK: usize = 32;

impl<'a> Hits<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let (terminals, openings) = masks(bytes, 0);
        Self {
            bytes,
            block: 0,
            terminals,
            openings,
            last_opening: None,
        }
    }

    /// Whether a mark that opens a quotation or bracket may lie at or after a byte and before the hit given last.
    pub(super) fn has_opening_since(&self, byte: usize) -> bool {
        self.last_opening.is_some_and(|mark| mark >= byte)
    }

    /// Notes the last of some marks of this block.
    #[inline]
    fn note(&mut self, marks: u32) {
        if marks != 0 {
            self.last_opening = Some(self.block + marks.ilog2() as usize);
        }
    }
}

impl Iterator for Hits<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.terminals == 0 {
            self.note(self.openings);
            self.block += BLOCK;
            if self.block >= self.bytes.len() {
                self.openings = 0;
                return None;
            }
            (self.terminals, self.openings) = masks(self.bytes, self.block);
        }
        let bit = self.terminals.trailing_zeros();
        self.terminals &= self.terminals - 1;
        self.note(self.openings & ((1 << bit) - 1));
        Some(self.block + bit as usize)
    }
}

/// One bit per byte of the block at `at`: set where [`may_end`], and where [`may_open`].
#[inline]
fn masks(bytes: &[u8], at: usize) -> (u32, u32) {
    // The first block has no byte before it and the last may be short: byte by byte.
    let pair = at.checked_sub(1).and_then(|before| {
        Some((
            bytes.get(before..)?.first_chunk::<BLOCK>()?,
            bytes.get(at..)?.first_chunk::<BLOCK>()?,
        ))
    });
    match pair {
        Some((previous, block)) => block_masks(previous, block),
        None => (at..bytes.len().min(at + BLOCK)).fold((0, 0), |(ends, opens), i| {
            let previous = i.checked_sub(1).map_or(0, |before| bytes[before]);
            (
                ends | u32::from(may_end(previous, bytes[i])) << (i - at),
                opens | u32::from(may_open(previous, bytes[i])) << (i - at),
            )
        }),
    }
}

/// Whether a byte belongs to a mark that may open a quotation or bracket, given the byte before it: `"`, `(`, and the
/// quotation marks and brackets of general and of CJK punctuation.
#[inline]
fn may_open(previous: u8, byte: u8) -> bool {
    byte == b'"' || byte == b'(' || previous == 0x80 && (0x8C..=0x9D).contains(&byte)
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

/// [`may_end`] and [`may_open`] for a block. Without branches and byte by byte, so that the compiler makes vector code of
/// it on every machine.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "lazy operators are branches, which keep the compiler from vector code"
)]
#[inline]
fn block_masks(previous: &[u8; BLOCK], block: &[u8; BLOCK]) -> (u32, u32) {
    // 1 for a terminal, 2 for an opening mark.
    let mut flags = [0_u8; BLOCK];
    for (flag, &v) in flags.iter_mut().zip(block) {
        let ends = (v == b'.') | (v == b'!') | (v == b'?') | (v == b'\n') | (v == b'\r');
        *flag = u8::from(ends) | u8::from((v == b'"') | (v == b'(')) << 1;
    }
    if !block.is_ascii() {
        let within = |v: u8, low: u8, high: u8| v.wrapping_sub(low) <= high - low;
        for (flag, (&p, &v)) in flags.iter_mut().zip(previous.iter().zip(block)) {
            let two = (p == 0xC2) & (v == 0x85)
                | (p == 0xD6) & (v == 0x89)
                | (p == 0xD8) & within(v, 0x9D, 0x9F)
                | (p == 0xDB) & (v == 0x94)
                | (p == 0xDC) & within(v, 0x80, 0x82)
                | (p == 0xDF) & (v == 0xB9);
            let inner = (p == 0xA5) & within(v, 0xA4, 0xA5)
                | (p == 0x80)
                    & ((v == 0x82)
                        | (v == 0xA4)
                        | (v == 0xA6)
                        | within(v, 0xA8, 0xA9)
                        | within(v, 0xBC, 0xBD))
                | (p == 0x81) & within(v, 0x87, 0x89);
            let lead = (p == 0xEF) & within(v, 0xB8, 0xBD)
                | (p == 0xE0) & (v == 0xA0)
                | (p == 0xE1) & within(v, 0x80, 0xB1)
                | (p == 0xE2) & within(v, 0xB3, 0xB9)
                | (p == 0xEA) & within(v, 0x80, 0xAF)
                | (p == 0xF0) & within(v, 0x80, 0x9E);
            let opens = (p == 0x80) & within(v, 0x8C, 0x9D);
            *flag |= u8::from(two | inner | lead) | u8::from(opens) << 1;
        }
    }
    let (eights, _) = flags.as_chunks::<8>();
    let eights = [0, 1, 2, 3].map(|i: usize| eights.get(i).map_or(0, |eight| u64::from_le_bytes(*eight)));
    // Most blocks have none.
    if eights[0] | eights[1] | eights[2] | eights[3] == 0 {
        return (0, 0);
    }
    let bits = |plane: u32| {
        (0..).zip(eights).fold(0, |mask, (i, eight)| {
            // Bytes of 0 or 1 as bits: byte k of the factor brings bit 8·k to bit 56 + k.
            let ones = eight >> plane & 0x0101_0101_0101_0101;
            let byte = ones.wrapping_mul(0x0102_0408_1020_4080) >> 56;
            mask | u32::try_from(byte).unwrap_or(0) << (8 * i)
        })
    };
    (bits(0), bits(1))
}

#[cfg(test)]
mod tests {
    use super::super::class::{Class, class};
    use super::*;

    /// Terminals and separators of a text by reading every character.
    fn read(text: &str) -> Vec<usize> {
        text.char_indices()
            .filter(|&(_, c)| {
                matches!(
                    class(c),
                    Class::CR | Class::LF | Class::Sep | Class::ATerm | Class::STerm
                )
            })
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
                for ahead in 0..33 {
                    let text = format!("{}{lead}{c}{}", "x".repeat(ahead), "y".repeat(40));
                    let found = hits(&text);
                    assert!(
                        read(&text).iter().all(|at| found.contains(at)),
                        "{c:?} in {text:?}"
                    );
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
                let all = |set: bool| if set { u32::MAX } else { 0 };
                let expected = (all(may_end(previous, byte)), all(may_open(previous, byte)));
                assert_eq!(
                    block_masks(&[previous; BLOCK], &[byte; BLOCK]),
                    expected,
                    "{previous:x} {byte:x}"
                );
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
