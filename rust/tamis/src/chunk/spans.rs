//! Where snippets lie. No text: the spans cut the caller's own.

use super::offsets::code_points;
use crate::{Error, Result};

/// A snippet: bytes `[start, end)` of one of the texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Position of the text.
    pub document: usize,
    /// First byte, on a character boundary.
    pub start: usize,
    /// One past the last byte, on a character boundary.
    pub end: usize,
}

/// Snippets of one or more texts, by ascending document and start; within a document, ends ascend too.
///
/// With their positions in code points, which packing knows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spans {
    spans: Vec<Span>,
    code_points: Vec<(usize, usize)>,
}

impl Spans {
    /// Spans given as (document, start, end) in bytes: what was taken apart, put together again.
    ///
    /// # Errors
    ///
    /// [`Error::SpanOutOfBounds`] for one that does not lie on character boundaries of its text, or is out of order.
    pub fn new(texts: &[&str], spans: &[(usize, usize, usize)]) -> Result<Self> {
        let mut out = Self::default();
        for (index, &(document, start, end)) in spans.iter().enumerate() {
            let text = texts.get(document).copied().unwrap_or_default();
            let ordered = out.spans.last().is_none_or(|last| {
                last.document < document || last.document == document && last.start < start && last.end < end
            });
            if start >= end || text.get(start..end).is_none() || !ordered {
                let length = text.len();
                return Err(Error::SpanOutOfBounds {
                    what: "snippet",
                    index,
                    start,
                    end,
                    length,
                });
            }
            out.spans.push(Span { document, start, end });
        }
        for (document, text) in texts.iter().enumerate() {
            let spans = out.of_document(document);
            let starts = code_points(text, spans.iter().map(|span| span.start));
            let ends = code_points(text, spans.iter().map(|span| span.end));
            out.code_points.extend(starts.into_iter().zip(ends));
        }
        Ok(out)
    }

    pub(crate) fn push(&mut self, span: Span, code_points: (usize, usize)) {
        self.spans.push(span);
        self.code_points.push(code_points);
    }

    /// Appends the spans of later documents.
    pub(crate) fn append(&mut self, mut later: Self) {
        self.spans.append(&mut later.spans);
        self.code_points.append(&mut later.code_points);
    }

    /// The spans as a slice.
    pub fn as_slice(&self) -> &[Span] {
        &self.spans
    }

    /// Start and end of each span in code points of its text.
    pub fn code_points(&self) -> &[(usize, usize)] {
        &self.code_points
    }

    /// The spans of one document. O(log n).
    pub fn of_document(&self, document: usize) -> &[Span] {
        let first = self.spans.partition_point(|span| span.document < document);
        let last = self.spans.partition_point(|span| span.document <= document);
        &self.spans[first..last]
    }
}
