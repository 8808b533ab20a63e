//! Which snippet holds which labelled span.

use super::offsets::code_points;
use super::spans::Span;
use super::white::is_white;
use crate::{Error, Result};

/// A snippet that holds a labelled span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// Position of the labelled span.
    pub label: usize,
    /// Position of the snippet.
    pub snippet: usize,
}

/// All pairs in which the snippet and the labelled span share at least half of the shorter of the two, counted in code
/// points that are not white space.
///
/// So every labelled span that is not blank is held by a snippet of our own chunker: of two snippets that share it
/// between them, one has at least half. `snippets` are the spans of this text in ascending order; `labels` are half-open
/// spans in code points. A blank label is held by none. O(text + pairs).
///
/// # Errors
///
/// [`Error::SpanOutOfBounds`] for a label that is empty, reversed, or beyond the text.
pub fn holds(text: &str, snippets: &[Span], labels: &[(usize, usize)]) -> Result<Vec<Hold>> {
    // ink[i]: code points before the i-th that are not white space.
    let mut ink = vec![0_usize];
    ink.extend(text.chars().scan(0, |count, c| {
        *count += usize::from(!is_white(c));
        Some(*count)
    }));
    let length = ink.len() - 1;
    let starts = code_points(text, snippets.iter().map(|span| span.start));
    let ends = code_points(text, snippets.iter().map(|span| span.end));
    let mut out = Vec::new();
    for (label, &(start, end)) in labels.iter().enumerate() {
        if start >= end || end > length {
            return Err(Error::SpanOutOfBounds {
                what: "relevant span",
                index: label,
                start,
                end,
                length,
            });
        }
        let first = ends.partition_point(|&snippet_end| snippet_end <= start);
        for snippet in first..snippets.len() {
            let (from, to) = (starts[snippet].max(start), ends[snippet].min(end));
            if starts[snippet] >= end {
                break;
            }
            let shared = ink[to] - ink[from];
            let shorter = (ink[end] - ink[start]).min(ink[ends[snippet]] - ink[starts[snippet]]);
            if shared > 0 && 2 * shared >= shorter {
                out.push(Hold { label, snippet });
            }
        }
    }
    Ok(out)
}
