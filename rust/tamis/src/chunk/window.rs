//! Sentences packed into windows.

use std::collections::BTreeMap;

use unicode_segmentation::UnicodeSegmentation;

use super::offsets::{backward, forward};
use super::sentences::{BOUNDARY_TABLE, sentence_ends};
use super::spans::Spans;
use super::white::{is_boundary, is_white, trimmed};
use crate::conformal::{Identity, Scalar};
use crate::{Error, Result};

/// Cuts text into snippets: runs of whole sentences of at most `max_chars` code points, neighbours sharing up to `overlap`.
///
/// * A sentence longer than that is cut at clause punctuation, else at a space, else between grapheme clusters; a single
///   grapheme cluster longer than the limit, between code points.
/// * Neighbours share as many whole trailing sentences as fit in `overlap`; where not even one fits, the tail of the last
///   sentence from the beginning of a word (else of a grapheme cluster).
/// * Every code point that is not white space lies in a snippet; starts and ends strictly ascend; no snippet begins or
///   ends with white space. White space inside counts to the length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chunker {
    max_chars: usize,
    overlap: usize,
}

/// A sentence, or a part of one that is too long, without the white space around it.
struct Piece {
    start: usize,
    end: usize,
    /// The same in code points.
    first: usize,
    last: usize,
}

impl Chunker {
    /// The paper's window (arXiv 2511.17908, section 3.1).
    pub const MAX_CHARS: usize = 500;
    /// The paper's overlap.
    pub const OVERLAP: usize = 100;

    /// A chunker.
    ///
    /// # Errors
    ///
    /// [`Error::ChunkLimits`] unless 0 ≤ overlap < `max_chars`.
    pub fn new(max_chars: usize, overlap: usize) -> Result<Self> {
        if overlap >= max_chars {
            return Err(Error::ChunkLimits { max_chars, overlap });
        }
        Ok(Self { max_chars, overlap })
    }

    /// The limit of a snippet in code points.
    pub fn max_chars(&self) -> usize {
        self.max_chars
    }

    /// The limit of what neighbours share in code points.
    pub fn overlap(&self) -> usize {
        self.overlap
    }

    /// What two chunkers must agree on to cut alike.
    pub fn identity(&self) -> Identity {
        let number = |n: usize| Scalar::Int(i64::try_from(n).unwrap_or(i64::MAX));
        Identity::Fields(BTreeMap::from([
            ("chunker".to_owned(), Scalar::Text("sentences".to_owned())),
            ("max_chars".to_owned(), number(self.max_chars)),
            ("overlap".to_owned(), number(self.overlap)),
            ("boundaries".to_owned(), Scalar::Text(BOUNDARY_TABLE.to_owned())),
        ]))
    }

    /// The snippets of one text. Linear in the text for given limits.
    pub fn chunk(&self, text: &str) -> Spans {
        self.chunk_many(&[text])
    }

    /// The snippets of many texts; [`super::Span::document`] is the position of the text.
    pub fn chunk_many<S: AsRef<str>>(&self, texts: &[S]) -> Spans {
        let mut spans = Spans::default();
        for (document, text) in texts.iter().enumerate() {
            let text = text.as_ref();
            self.pack(text, &self.pieces(text), |start, end| {
                spans.push(document, start, end);
            });
        }
        spans
    }

    fn pieces(&self, text: &str) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let (mut sentence_start, mut counted, mut count) = (0, 0, 0);
        for sentence_end in sentence_ends(text) {
            let mut rest = trimmed(text, sentence_start, sentence_end);
            sentence_start = sentence_end;
            while let Some((start, end)) = rest {
                count += text[counted..start].chars().count();
                let first = count;
                // The first piece of a text has no neighbour before it; every other leaves room for the overlap.
                let room = if pieces.is_empty() {
                    self.max_chars
                } else {
                    self.max_chars - self.overlap
                };
                let whole = forward(text, start, end, self.max_chars) == end;
                let cut = if whole { end } else { cut(text, start, end, room) };
                // A cut inside a cluster of white space and a mark may leave white space alone, which is nothing.
                if let Some((_, last)) = trimmed(text, start, cut) {
                    count += text[start..last].chars().count();
                    counted = last;
                    pieces.push(Piece {
                        start,
                        end: last,
                        first,
                        last: count,
                    });
                } else {
                    counted = start;
                }
                rest = if cut == end { None } else { trimmed(text, cut, end) };
            }
        }
        pieces
    }

    fn pack(&self, text: &str, pieces: &[Piece], mut push: impl FnMut(usize, usize)) {
        let Some(piece) = pieces.first() else { return };
        // The window starts at `start` (code point `first`), `whole` is the first piece that lies in it entirely.
        let (mut start, mut first, mut whole) = (piece.start, piece.first, 0);
        loop {
            let fits = pieces[whole..]
                .iter()
                .take_while(|piece| piece.last - first <= self.max_chars)
                .count();
            let last = whole + fits.max(1) - 1;
            push(start, pieces[last].end);
            let Some(next) = pieces.get(last + 1) else { return };
            let budget = self
                .overlap
                .min(self.max_chars.saturating_sub(next.last - pieces[last].last));
            let shared = pieces[whole..=last]
                .iter()
                .rev()
                .take_while(|piece| piece.first > first && pieces[last].last - piece.first <= budget)
                .count();
            whole = last + 1 - shared;
            if shared == 0
                && let Some(tail) = tail(text, start, pieces[last].end, budget)
            {
                first = pieces[last].last - text[tail..pieces[last].end].chars().count();
                start = tail;
            } else {
                (start, first) = (pieces[whole].start, pieces[whole].first);
            }
        }
    }
}

/// Where to cut a sentence that begins at `start` so that at most `room` code points come before the cut.
fn cut(text: &str, start: usize, end: usize, room: usize) -> usize {
    let limit = forward(text, start, end, room);
    let half = forward(text, start, limit, room / 2);
    let clause = text[half..limit]
        .char_indices()
        .rev()
        .map(|(at, c)| (half + at, c))
        .find(|&(at, c)| {
            let after = at + c.len_utf8();
            is_clause_end(c)
                && (is_wide(c) || text[after..end].starts_with(is_white))
                && is_boundary(text, after)
        });
    if let Some((at, c)) = clause {
        return at + c.len_utf8();
    }
    // A space at the limit itself serves as well: the piece before it is then as long as allowed.
    let reach = text[limit..end]
        .chars()
        .next()
        .map_or(limit, |c| limit + c.len_utf8());
    let space = text[start..reach]
        .char_indices()
        .rev()
        .find(|&(at, c)| at > 0 && is_white(c) && is_boundary(text, start + at));
    if let Some((at, _)) = space {
        return start + at;
    }
    // One code point beyond the limit decides whether a grapheme cluster ends there.
    let boundary = text[start..reach]
        .grapheme_indices(true)
        .map(|(at, _)| start + at)
        .take_while(|&at| at <= limit)
        .last();
    boundary.filter(|&at| at > start).unwrap_or(limit)
}

/// The beginning of what the next window repeats: at most `budget` code points before `end`, after `window_start`.
fn tail(text: &str, window_start: usize, end: usize, budget: usize) -> Option<usize> {
    let after_start = forward(text, window_start, end, 1);
    let from = backward(text, after_start, end, budget);
    if from >= end {
        return None;
    }
    let mut previous = text[..from].chars().next_back();
    for (at, c) in text[from..end].char_indices() {
        if !is_white(c) && previous.is_some_and(is_white) && is_boundary(text, from + at) {
            return Some(from + at);
        }
        previous = Some(c);
    }
    // No word begins here: a grapheme cluster, known by its context since the window's start.
    text[window_start..end]
        .grapheme_indices(true)
        .map(|(at, cluster)| (window_start + at, cluster))
        .find(|&(at, cluster)| at >= from && !cluster.chars().all(is_white))
        .map(|(at, _)| at)
}

fn is_clause_end(c: char) -> bool {
    matches!(
        c,
        ',' | ';' | ':' | '،' | '؛' | '·' | '、' | '，' | '；' | '：' | '।' | '—' | '–'
    )
}

/// Full-width punctuation stands without a space after it.
fn is_wide(c: char) -> bool {
    matches!(c, '、' | '，' | '；' | '：')
}
