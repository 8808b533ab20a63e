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

/// The number of code points between two bytes: those that do not continue a character.
pub(super) fn length(text: &str, start: usize, end: usize) -> usize {
    let bytes = &text.as_bytes()[start..end];
    if bytes.is_ascii() {
        return bytes.len();
    }
    // Sums that fit in a byte are vector code on every machine.
    let first = |byte: &u8| u8::from(byte.cast_signed() >= -0x40);
    let (blocks, rest) = bytes.as_chunks::<64>();
    let sum = |bytes: &[u8]| usize::from(bytes.iter().map(first).sum::<u8>());
    blocks.iter().map(|block| sum(block)).sum::<usize>() + sum(rest)
}

/// The byte position `n` code points after `from`, at most `end`.
pub(crate) fn forward(text: &str, from: usize, end: usize, n: usize) -> usize {
    // The common case first: as many bytes as code points.
    if n < end - from && text.as_bytes()[from..from + n].is_ascii() {
        return from + n;
    }
    text[from..end]
        .char_indices()
        .nth(n)
        .map_or(end, |(at, _)| from + at)
}

/// The byte position `n` code points before `from`, at least `start`.
pub(crate) fn backward(text: &str, start: usize, from: usize, n: usize) -> usize {
    if n == 0 {
        return from;
    }
    if n < from - start && text.as_bytes()[from - n..from].is_ascii() {
        return from - n;
    }
    text[start..from]
        .char_indices()
        .nth_back(n - 1)
        .map_or(start, |(at, _)| start + at)
}
