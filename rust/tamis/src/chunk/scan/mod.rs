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
    /// What is marked in the blocks before `batch`, as far as [`REACH`], and in those from there on.
    marks: [Marks; REACH / BLOCK + BATCH],
    /// First byte of the batch.
    batch: usize,
    /// Where in `marks` the present block is, and where those of the batch end.
    at: usize,
    end: usize,
    /// Those of the present block not yet given.
    terminals: u64,
}

/// How far back from the present hit opening marks are known, in bytes.
pub(super) const REACH: usize = 7 * BLOCK;
/// Where in the marks those of the batch begin.
const BEGIN: usize = REACH / BLOCK;
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
            marks: [Marks::default(); BEGIN + BATCH],
            batch: 0,
            at: BEGIN,
            end: BEGIN,
            terminals: 0,
        }
    }

    /// Last bytes of what may be a mark that opens (or closes) a quotation or bracket, at or after a byte, which may lie
    /// [`REACH`] back, and before the hit given last; ascending.
    #[inline]
    pub(super) fn openings_since(&self, byte: usize) -> Openings<'_> {
        let block = (byte + REACH).saturating_sub(self.batch) / BLOCK;
        // The hit given last is the highest bit that has been taken from the present block.
        let present = self.marks[self.at];
        let hit = (present.terminals ^ self.terminals).checked_ilog2().unwrap_or(0);
        let mut openings = Openings {
            marks: &self.marks[..=self.at],
            before_hit: (1 << hit) - 1,
            first_byte: self.batch,
            block,
            left: 0,
        };
        openings.left = openings.of_block() & (u64::MAX << (byte % BLOCK));
        openings
    }

    /// On to the next block that has a terminal; false at the end of the text.
    fn advance(&mut self) -> bool {
        loop {
            if self.at + 1 < self.end {
                self.at += 1;
            } else if !self.fill() {
                return false;
            }
            self.terminals = self.marks[self.at].terminals;
            if self.terminals != 0 {
                return true;
            }
        }
    }

    /// On to the next batch.
    fn fill(&mut self) -> bool {
        let from = self.batch + (self.end - BEGIN) * BLOCK;
        let rest = self.bytes.len() - from.min(self.bytes.len());
        if rest == 0 {
            return false;
        }
        // Only whole batches are followed by another.
        self.marks.copy_within(BATCH.., 0);
        (self.batch, self.at, self.end) = (from, BEGIN, BEGIN + rest.div_ceil(BLOCK).min(BATCH));
        let windows = Windows {
            bytes: self.bytes,
            from,
        };
        self.kernel.fill(windows, &mut self.marks[BEGIN..self.end]);
        true
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
        Some(self.batch + (self.at - BEGIN) * BLOCK + bit as usize)
    }
}

/// See [`Hits::openings_since`].
#[derive(Clone)]
pub(super) struct Openings<'a> {
    /// As far as the block of the hit.
    marks: &'a [Marks],
    /// The bits of that block before the hit.
    before_hit: u64,
    /// First byte of the block at [`BEGIN`].
    first_byte: usize,
    block: usize,
    /// Those of the present block not yet given.
    left: u64,
}

impl Openings<'_> {
    fn of_block(&self) -> u64 {
        let Some(marks) = self.marks.get(self.block) else {
            return 0;
        };
        let last = self.block + 1 == self.marks.len();
        marks.openings & if last { self.before_hit } else { u64::MAX }
    }
}

impl Iterator for Openings<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.left == 0 {
            self.block += 1;
            if self.block >= self.marks.len() {
                return None;
            }
            self.left = self.of_block();
        }
        let bit = self.left.trailing_zeros();
        self.left &= self.left - 1;
        Some(self.first_byte + self.block * BLOCK + bit as usize - REACH)
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
                let since = text.len().saturating_sub(REACH);
                let expected: Vec<usize> = (since..text.len())
                    .filter(|at| text.as_bytes()[*at] == 0x9C)
                    .collect();
                assert_eq!(
                    found.openings_since(since).collect::<Vec<_>>(),
                    expected,
                    "{length}"
                );
                assert!(found.openings_since(text.len() - 1).next().is_none());
                assert_eq!((found.next(), found.next()), (None, None));
            }
        }
    }
}
