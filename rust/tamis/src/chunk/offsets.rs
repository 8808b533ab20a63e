//! Bytes to code points.

/// The number of code points before each of the byte positions, which must ascend and be character boundaries.
///
/// One forward pass; free for ASCII.
pub fn code_points(text: &str, bytes: impl IntoIterator<Item = usize>) -> Vec<usize> {
    if text.is_ascii() {
        return bytes.into_iter().collect();
    }
    let (mut at, mut count) = (0, 0);
    bytes
        .into_iter()
        .map(|byte| {
            count += length(text, at, byte);
            at = byte;
            count
        })
        .collect()
}

/// Counts code points as a text is gone through: where it is ASCII, without looking at it again.
pub(super) struct Counter<'a> {
    text: &'a str,
    /// So many code points lie before this byte.
    at: usize,
    count: usize,
    /// Nothing but ASCII from `at` to here.
    ascii: usize,
}

impl<'a> Counter<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            count: 0,
            ascii: 0,
        }
    }

    /// The code points before a byte at or after the last one moved to.
    #[inline]
    pub(super) fn before(&mut self, byte: usize) -> usize {
        if byte > self.ascii && self.at >= self.ascii {
            self.look_ahead();
        }
        self.count
            + if byte <= self.ascii {
                byte - self.at
            } else {
                length(self.text, self.at, byte)
            }
    }

    /// The same, and on to that byte.
    #[inline]
    pub(super) fn move_to(&mut self, byte: usize) -> usize {
        let count = self.before(byte);
        self.skip_to(byte, count);
        count
    }

    /// On to a byte before which the code points have been counted.
    #[inline]
    pub(super) fn skip_to(&mut self, byte: usize, count: usize) {
        (self.at, self.count) = (byte, count);
    }

    fn look_ahead(&mut self) {
        let bytes = &self.text.as_bytes()[self.at..];
        let near = &bytes[..bytes.len().min(AHEAD)];
        let blocks = near.as_chunks::<BLOCK>().0.iter();
        self.ascii = self.at + BLOCK * blocks.take_while(|block| block.is_ascii()).count();
    }
}

/// Bytes that are looked at for others than ASCII at once.
const AHEAD: usize = 1 << 12;

/// The number of code points between two bytes: those that do not continue a character.
#[inline]
pub(super) fn length(text: &str, start: usize, end: usize) -> usize {
    let (blocks, rest) = text.as_bytes()[start..end].as_chunks::<BLOCK>();
    let whole = blocks.iter().map(|block| firsts(block)).sum::<usize>();
    // The rest as the end of a block that begins before it: of one length, it is vector code too.
    let rest = match text.as_bytes()[..end].last_chunk::<BLOCK>() {
        Some(block) => last_firsts(block, rest.len()),
        None => firsts(rest),
    };
    whole + rest
}

const BLOCK: usize = 64;

/// How many of at most 64 bytes begin a character: a sum that fits in a byte is vector code on every machine.
fn firsts(bytes: &[u8]) -> usize {
    usize::from(bytes.iter().map(|&byte| u8::from(is_first(byte))).sum::<u8>())
}

/// How many of the last `n` begin a character.
fn last_firsts(block: &[u8; BLOCK], n: usize) -> usize {
    let from = u8::try_from(BLOCK.saturating_sub(n)).unwrap_or(0);
    let counted = (0..)
        .zip(block)
        .map(|(i, &byte)| u8::from(is_first(byte)) & u8::from(i >= from));
    usize::from(counted.sum::<u8>())
}

fn is_first(byte: u8) -> bool {
    byte.cast_signed() >= -0x40
}

/// The byte position `n` code points after `from`, at most `end`.
pub(crate) fn forward(text: &str, from: usize, end: usize, n: usize) -> usize {
    let bytes = &text.as_bytes()[from..end];
    if bytes.get(..n).is_some_and(<[u8]>::is_ascii) && bytes.get(n).is_none_or(|byte| is_first(*byte)) {
        return from + n;
    }
    let (mut at, mut left) = (0, n);
    for block in bytes.as_chunks::<BLOCK>().0 {
        let count = firsts(block);
        if count > left {
            break;
        }
        (at, left) = (at + BLOCK, left - count);
    }
    let rest = bytes[at..]
        .iter()
        .enumerate()
        .filter(|(_, byte)| is_first(**byte));
    rest.map(|(offset, _)| from + at + offset)
        .nth(left)
        .unwrap_or(end)
}

/// The byte position `n` code points before `from`, at least `start`.
pub(crate) fn backward(text: &str, start: usize, from: usize, n: usize) -> usize {
    let bytes = &text.as_bytes()[start..from];
    if let Some(before) = bytes.len().checked_sub(n)
        && bytes[before..].is_ascii()
    {
        return start + before;
    }
    let (mut at, mut left) = (bytes.len(), n);
    for block in bytes.as_rchunks::<BLOCK>().1.iter().rev() {
        let count = firsts(block);
        if count >= left {
            break;
        }
        (at, left) = (at - BLOCK, left - count);
    }
    if left == 0 {
        return start + at;
    }
    let rest = bytes[..at]
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, byte)| is_first(**byte));
    rest.map(|(offset, _)| start + offset)
        .nth(left - 1)
        .unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn steps_are_those_of_chars(text in "[a-cé猫🛠]{0,300}", from in 0_usize..300, n in 0_usize..300) {
            let from = text.char_indices().nth(from).map_or(text.len(), |(at, _)| at);
            let ahead = text[from..].char_indices().nth(n).map_or(text.len(), |(at, _)| from + at);
            prop_assert_eq!(forward(&text, from, text.len(), n), ahead);
            let behind = n.checked_sub(1).map_or(from, |n| text[..from].char_indices().nth_back(n).map_or(0, |(at, _)| at));
            prop_assert_eq!(backward(&text, 0, from, n), behind);
            let mut counter = Counter::new(&text);
            prop_assert_eq!(counter.before(ahead), text[..ahead].chars().count());
            prop_assert_eq!(counter.move_to(from), text[..from].chars().count());
            prop_assert_eq!(counter.before(from), text[..from].chars().count());
            prop_assert_eq!(counter.move_to(ahead), text[..ahead].chars().count());
            prop_assert_eq!(length(&text, from, text.len()), text[from..].chars().count());
        }
    }
}
