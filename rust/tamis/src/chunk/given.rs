//! Boundaries that the caller gives in place of our own.

use super::offsets::forward;
use super::white::is_boundary;
use crate::{Error, Result};

/// The ends of sentences in bytes, from ends in code points: strictly ascending, in the text; the last may be left out. One inside a
/// grapheme cluster is passed over: no snippet begins or ends there.
///
/// # Errors
///
/// [`Error::Boundary`] naming the first that does not ascend or lies beyond the text. O(text).
pub(super) fn byte_ends(text: &str, document: usize, ends: &[usize]) -> Result<Vec<usize>> {
    let mut out = Vec::with_capacity(ends.len() + 1);
    let (mut at, mut count) = (0, 0);
    for (index, &end) in ends.iter().enumerate() {
        let wrong = || Error::Boundary {
            document,
            index,
            position: end,
            previous: count,
            length: text.chars().count(),
        };
        let step = end
            .checked_sub(count)
            .filter(|&step| step > 0)
            .ok_or_else(wrong)?;
        // One before it must exist, so that the text does not end too early.
        let last = forward(text, at, text.len(), step - 1);
        let width = text[last..].chars().next().ok_or_else(wrong)?.len_utf8();
        (at, count) = (last + width, end);
        if is_boundary(text, at) {
            out.push(at);
        }
    }
    if out.last() != Some(&text.len()) {
        out.push(text.len());
    }
    Ok(out)
}
