//! Where snippets lie. No text: the spans cut the caller's own.

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
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spans(Vec<Span>);

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
            let ordered = out.0.last().is_none_or(|last| {
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
            out.push(document, start, end);
        }
        Ok(out)
    }

    pub(crate) fn push(&mut self, document: usize, start: usize, end: usize) {
        self.0.push(Span { document, start, end });
    }

    /// Appends the spans of later documents.
    pub(crate) fn append(&mut self, mut later: Self) {
        self.0.append(&mut later.0);
    }

    /// The spans as a slice.
    pub fn as_slice(&self) -> &[Span] {
        &self.0
    }

    /// The spans of one document. O(log n).
    pub fn of_document(&self, document: usize) -> &[Span] {
        let first = self.0.partition_point(|span| span.document < document);
        let last = self.0.partition_point(|span| span.document <= document);
        &self.0[first..last]
    }
}
