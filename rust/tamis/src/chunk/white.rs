//! What counts as white space, and where text may be cut.

use unicode_segmentation::GraphemeCursor;

/// Unicode `White_Space` and the four separators U+001C..=U+001F, which Python's `str.isspace` counts too: both sides of
/// the border must agree on which snippet is blank.
pub(crate) fn is_white(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

fn is_white_byte(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r' | 0x1c..=0x1f)
}

/// The part of `[start, end)` without the white space at its ends; `None` if nothing is left.
///
/// White space that a combining mark stands on is one grapheme cluster with it, and stays.
pub(crate) fn trimmed(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    // The common case first: between ASCII characters that are not white, nothing is undecided.
    let bytes = &text.as_bytes()[start..end];
    if let Some(last) = bytes.iter().rposition(|byte| !is_white_byte(*byte))
        && bytes[0].is_ascii_graphic()
        && bytes[last].is_ascii_graphic()
    {
        return Some((start, start + last + 1));
    }
    let slice = &text[start..end];
    let front = slice.trim_start_matches(is_white);
    if front.is_empty() {
        return None;
    }
    let mut from = end - front.len();
    let mut to = from + front.trim_end_matches(is_white).len();
    if from > start && !is_boundary(text, from) {
        from = text[start..from]
            .char_indices()
            .next_back()
            .map_or(from, |(at, _)| start + at);
    }
    if to < end && !is_boundary(text, to) {
        to += text[to..end].chars().next().map_or(0, char::len_utf8);
    }
    Some((from, to))
}

/// Whether a grapheme cluster ends at this byte. O(1) unless a run of flags or joined emoji lies before it.
pub(crate) fn is_boundary(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    match (at.checked_sub(1).map(|before| bytes[before]), bytes.get(at)) {
        (None, _) | (_, None) => true,
        (Some(b'\r'), Some(b'\n')) => false,
        (Some(before), Some(after)) if before.is_ascii() && after.is_ascii() => true,
        // The whole text is one chunk, so the cursor never asks for more of it.
        _ => GraphemeCursor::new(at, text.len(), true)
            .is_boundary(text, 0)
            .unwrap_or(true),
    }
}
