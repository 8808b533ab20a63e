//! Where a sentence may end: one pass over the bytes.
//!
//! Sentence breaks arise only after a separator of paragraphs or a sentence terminal (UAX #29, SB4 and SB11), so only these
//! are looked for, 64 bytes at a time. A hit is a byte of a character that *may* be one: the rules read the character and
//! decide. What must hold, and is tested for every code point: no terminal and no separator is missed.
//!
//! Latin, Greek, Cyrillic, Hebrew, Arabic, Indic, Thai, CJK and Korean text is hit at little else. In scripts whose
//! terminals share their first two bytes with letters (after 0xE1 Burmese, Khmer, Ethiopic and others; most of the
//! supplementary planes) those letters are hit too, and looked up in the table: linear as well, and slower.

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86_avx2;

/// Bytes of characters that may be a terminal or a separator, ascending; a character may be hit twice.
pub(super) struct Hits<'a> {
    bytes: &'a [u8],
    kernel: Kernel,
    /// What is marked in the blocks from `batch` on, of which `blocks` are filled and `at` is being read.
    marks: [Marks; BATCH],
    batch: usize,
    blocks: usize,
    at: usize,
    /// Those of the present block not yet given.
    terminals: u64,
    last_opening: Option<usize>,
}

/// Bytes that are looked at as one.
const BLOCK: usize = 64;
/// Blocks that a kernel is called for: enough to forget the call, and still in the first-level cache when decided.
const BATCH: usize = 32;
/// A block with the byte before it.
type Window = [u8; BLOCK + 1];

/// One bit per byte of a block: what belongs to a terminal or separator, and to a mark that opens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Marks {
    terminals: u64,
    openings: u64,
}

/// Who looks. Each marks every terminal, separator and opening mark; which bytes of other characters it marks beyond these
/// is its own affair, for the rules read the character.
#[derive(Debug, Clone, Copy)]
enum Kernel {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(x86_avx2::Detected),
}

impl Kernel {
    fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(detected) = x86_avx2::Detected::new() {
            return Self::Avx2(detected);
        }
        Self::Portable
    }

    /// Every one that this processor can run.
    #[cfg(test)]
    fn all() -> Vec<Self> {
        match Self::best() {
            Self::Portable => vec![Self::Portable],
            #[cfg(target_arch = "x86_64")]
            best @ Self::Avx2(_) => vec![Self::Portable, best],
        }
    }

    fn fill(self, windows: Windows<'_>, out: &mut [Marks]) {
        match self {
            Self::Portable => portable::fill(windows, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(detected) => x86_avx2::fill(detected, windows, out),
        }
    }
}

/// The blocks of a text from a byte on, each with the byte before it.
#[derive(Clone, Copy)]
struct Windows<'a> {
    bytes: &'a [u8],
    from: usize,
}

impl Windows<'_> {
    /// Hands the n-th block over. The first has no byte before it and the last may be short: these are copied, filled up
    /// with zeros.
    #[inline]
    fn with<R>(self, n: usize, read: impl Fn(&Window) -> R) -> R {
        let at = self.from + n * BLOCK;
        let whole = at
            .checked_sub(1)
            .and_then(|before| self.bytes.get(before..)?.first_chunk());
        if let Some(window) = whole {
            return read(window);
        }
        let mut window = [0; BLOCK + 1];
        let (skip, begin) = if at == 0 { (1, 0) } else { (0, at - 1) };
        for (slot, &byte) in window[skip..].iter_mut().zip(&self.bytes[begin..]) {
            *slot = byte;
        }
        read(&window)
    }
}

impl<'a> Hits<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self::by(Kernel::best(), text)
    }

    fn by(kernel: Kernel, text: &'a str) -> Self {
        Self {
            bytes: text.as_bytes(),
            kernel,
            marks: [Marks::default(); BATCH],
            batch: 0,
            blocks: 0,
            at: 0,
            terminals: 0,
            last_opening: None,
        }
    }

    /// Whether a mark that opens a quotation or bracket may lie at or after a byte and before the hit given last.
    #[inline]
    pub(super) fn has_opening_since(&self, byte: usize) -> bool {
        let block = self.batch + self.at * BLOCK;
        // Those of the present block that lie before the hit, which is the lowest bit taken from it.
        let marks = self.marks[self.at];
        let given = (marks.terminals ^ self.terminals).checked_ilog2().unwrap_or(0);
        let openings = marks.openings & ((1 << given) - 1);
        match openings.checked_ilog2() {
            Some(bit) => block + bit as usize >= byte,
            None => self.last_opening.is_some_and(|mark| mark >= byte),
        }
    }

    /// On to the next block that has a terminal; false at the end of the text.
    fn advance(&mut self) -> bool {
        loop {
            if self.blocks > 0 {
                // Most blocks have none.
                if let Some(bit) = self.marks[self.at].openings.checked_ilog2() {
                    self.last_opening = Some(self.batch + self.at * BLOCK + bit as usize);
                }
                self.at += 1;
            }
            if self.at == self.blocks {
                let from = self.batch + self.blocks * BLOCK;
                let blocks = (self.bytes.len() - from.min(self.bytes.len()))
                    .div_ceil(BLOCK)
                    .min(BATCH);
                (self.batch, self.blocks, self.at) = (from, blocks, 0);
                if blocks == 0 {
                    return false;
                }
                let windows = Windows {
                    bytes: self.bytes,
                    from,
                };
                self.kernel.fill(windows, &mut self.marks[..blocks]);
            }
            self.terminals = self.marks[self.at].terminals;
            if self.terminals != 0 {
                return true;
            }
        }
    }
}

impl Iterator for Hits<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.terminals == 0 && !self.advance() {
            return None;
        }
        let bit = self.terminals.trailing_zeros();
        self.terminals &= self.terminals - 1;
        Some(self.batch + self.at * BLOCK + bit as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::super::class::{Class, class};
    use super::*;

    /// Whether a byte belongs to a mark that may open a quotation or bracket, given the byte before it: `"`, `(`, and the
    /// quotation marks and brackets of general and of CJK punctuation.
    fn may_open(previous: u8, byte: u8) -> bool {
        byte == b'"' || byte == b'(' || previous == 0x80 && (0x8C..=0x9D).contains(&byte)
    }

    /// Whether a byte belongs to a character that may be a terminal or separator, given the byte before it.
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

    fn hits(kernel: Kernel, text: &str) -> Vec<usize> {
        let mut out: Vec<usize> = Hits::by(kernel, text)
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
        for kernel in Kernel::all() {
            let mut seen = 0;
            for c in ('\0'..=char::MAX).filter(|&c| !read(&c.to_string()).is_empty()) {
                // At every place within a block, after letters of one to four bytes.
                for lead in ["", "a", "é", "あ", "𐐀"] {
                    for ahead in 0..=BLOCK {
                        let text = format!("{}{lead}{c}{}", "x".repeat(ahead), "y".repeat(80));
                        let found = hits(kernel, &text);
                        assert!(
                            read(&text).iter().all(|at| found.contains(at)),
                            "{kernel:?}: {c:?} in {text:?}"
                        );
                    }
                }
                seen += 1;
            }
            assert!(seen > 150, "{seen}");
        }
    }

    #[test]
    fn blocks_mark_all_that_is_defined_and_little_else() {
        for kernel in Kernel::all() {
            let mut more = 0;
            for previous in 0..=u8::MAX {
                for byte in 0..=u8::MAX {
                    // One place each, all over the block.
                    let place = usize::from(byte) % BLOCK;
                    let mut bytes = [b'x'; BLOCK + 1];
                    (bytes[place], bytes[place + 1]) = (previous, byte);
                    let mut marks = [Marks::default()];
                    kernel.fill(
                        Windows {
                            bytes: &bytes,
                            from: 1,
                        },
                        &mut marks,
                    );
                    let (terminals, openings) =
                        (marks[0].terminals >> place & 1, marks[0].openings >> place & 1);
                    let what = format!("{kernel:?}: {previous:x} {byte:x}");
                    assert!(terminals >= u64::from(may_end(previous, byte)), "{what}");
                    assert!(openings >= u64::from(may_open(previous, byte)), "{what}");
                    more += terminals + openings
                        - u64::from(may_end(previous, byte))
                        - u64::from(may_open(previous, byte));
                }
            }
            assert!(more < 64, "{kernel:?}: {more}");
        }
    }

    #[test]
    fn common_scripts_are_hit_at_little_else() {
        for kernel in Kernel::all() {
            for (text, terminals) in [
                ("The “sieve” doesn’t care — it’s fast. Über naïve façades", 1),
                ("Сито удерживает доказательства. Остальное уходит", 1),
                ("ตะแกรงเก็บหลักฐานและทิ้งเสียงรบกวน", 0),
                ("체는 증거를 남기고 소음을 버린다.", 1),
            ] {
                assert_eq!(hits(kernel, text).len(), terminals, "{kernel:?}: {text}");
            }
        }
    }

    #[test]
    fn texts_of_any_length_are_read_to_their_end() {
        for kernel in Kernel::all() {
            for length in 0..3 * BLOCK * BATCH {
                if length > 2 * BLOCK && length % 61 > 2 {
                    continue;
                }
                let text = format!("{}.", "a“".repeat(length / 4));
                let mut found = Hits::by(kernel, &text);
                assert_eq!(found.next(), Some(text.len() - 1));
                assert_eq!(
                    found.has_opening_since(text.len().saturating_sub(4)),
                    length >= 4,
                    "{length}"
                );
                assert!(!found.has_opening_since(text.len() - 1));
                assert_eq!((found.next(), found.next()), (None, None));
            }
        }
    }
}
