//! Sentences packed into windows.

use std::collections::BTreeMap;
use std::num::NonZero;

use unicode_segmentation::UnicodeSegmentation;

use super::given::byte_ends;
use super::offsets::{backward, forward, length};
use super::sentences::{BOUNDARY_TABLE, SentenceEnds};
use super::spans::{Span, Spans};
use super::threads::{cut as cut_shares, shares};
use super::white::{is_boundary, is_white, trimmed};
use crate::conformal::{Identity, Scalar};
use crate::{Error, Result};

/// Cuts text into snippets: runs of whole sentences of at most `max_chars` code points, neighbours sharing up to `overlap`.
///
/// * A sentence longer than that is cut at clause punctuation, else at a space, else between grapheme clusters; a single
///   grapheme cluster longer than the limit, between code points.
/// * Neighbours share as many whole trailing sentences as fit in `overlap`; where not even one fits, the tail of the last
///   sentence from the beginning of a word (else of a grapheme cluster).
/// * Sentences are found by our own rules, or by the caller's segmenter, which then is part of the identity.
/// * Every code point that is not white space lies in a snippet; starts and ends strictly ascend; no snippet begins or
///   ends with white space. White space inside counts to the length.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Chunker {
    max_chars: usize,
    overlap: usize,
    segmenter: Option<Box<str>>,
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
        Ok(Self {
            max_chars,
            overlap,
            segmenter: None,
        })
    }

    /// The same chunker over sentences that the caller's segmenter of this name finds: every call must then give their
    /// ends ([`Chunker::chunk_given`]).
    #[must_use]
    pub fn with_segmenter(mut self, name: impl Into<Box<str>>) -> Self {
        self.segmenter = Some(name.into());
        self
    }

    /// The name of the caller's segmenter, if it is not our own.
    pub fn segmenter(&self) -> Option<&str> {
        self.segmenter.as_deref()
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
            (
                "boundaries".to_owned(),
                Scalar::Text(match &self.segmenter {
                    Some(name) => format!("given: {name}"),
                    None => BOUNDARY_TABLE.to_owned(),
                }),
            ),
        ]))
    }

    /// The snippets of one text, by our own sentences. Linear in the text for given limits.
    pub fn chunk(&self, text: &str) -> Spans {
        self.chunk_many(&[text], NonZero::<usize>::MIN)
    }

    /// The snippets of many texts, by our own sentences; [`super::Span::document`] is the position of the text.
    ///
    /// With more than one thread the texts are shared out by length; the result is the same.
    pub fn chunk_many<S: AsRef<str> + Sync>(&self, texts: &[S], threads: NonZero<usize>) -> Spans {
        let lengths: Vec<usize> = texts.iter().map(|text| text.as_ref().len()).collect();
        cut_shares(shares(&lengths, threads), |share| {
            let mut spans = Spans::default();
            for document in share {
                let text = texts[document].as_ref();
                self.windows(text, SentenceEnds::new(text), document, &mut spans);
            }
            spans
        })
    }

    /// The snippets of many texts by sentences whose ends the caller gives: for each text positions in code points,
    /// ascending; the end of the text may be left out.
    ///
    /// # Errors
    ///
    /// [`Error::BoundariesFor`] unless there is one list for each text; [`Error::Boundary`] naming the first that does not
    /// ascend or lies beyond its text.
    pub fn chunk_given<S: AsRef<str>>(&self, texts: &[S], ends: &[Vec<usize>]) -> Result<Spans> {
        if texts.len() != ends.len() {
            return Err(Error::BoundariesFor {
                expected: texts.len(),
                got: ends.len(),
            });
        }
        let mut spans = Spans::default();
        for (document, (text, ends)) in texts.iter().zip(ends).enumerate() {
            let text = text.as_ref();
            let ends = byte_ends(text, document, ends)?;
            self.windows(text, ends.into_iter(), document, &mut spans);
        }
        Ok(spans)
    }

    fn windows(&self, text: &str, ends: impl Iterator<Item = usize>, document: usize, spans: &mut Spans) {
        self.pack(text, &self.pieces(text, ends), |(start, end), code_points| {
            spans.push(Span { document, start, end }, code_points);
        });
    }

    /// The sentences of many texts, without the white space around them: what snippets are made of. Linear.
    pub fn sentences<S: AsRef<str>>(&self, texts: &[S]) -> Spans {
        let mut spans = Spans::default();
        for (document, text) in texts.iter().enumerate() {
            let text = text.as_ref();
            let (mut from, mut counted, mut count) = (0, 0, 0);
            for end in SentenceEnds::new(text) {
                if let Some((start, end)) = trimmed(text, std::mem::replace(&mut from, end), end) {
                    let first = count + length(text, counted, start);
                    count = first + length(text, start, end);
                    counted = end;
                    spans.push(Span { document, start, end }, (first, count));
                }
            }
        }
        spans
    }

    fn pieces(&self, text: &str, sentence_ends: impl Iterator<Item = usize>) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let (mut sentence_start, mut counted, mut count) = (0, 0, 0);
        for sentence_end in sentence_ends {
            let mut rest = trimmed(text, sentence_start, sentence_end);
            sentence_start = sentence_end;
            while let Some((start, end)) = rest {
                // Most gaps are one space.
                count += if start - counted == 1 {
                    1
                } else {
                    length(text, counted, start)
                };
                let first = count;
                // No text has more code points than bytes, and none fewer than a quarter.
                let short = end - start <= self.max_chars.saturating_mul(4);
                let whole = short
                    .then(|| length(text, start, end))
                    .filter(|&n| n <= self.max_chars);
                if let Some(n) = whole {
                    (counted, count) = (end, count + n);
                    pieces.push(Piece {
                        start,
                        end,
                        first,
                        last: count,
                    });
                    break;
                }
                // The first piece of a text has no neighbour before it; every other leaves room for the overlap.
                let room = if pieces.is_empty() {
                    self.max_chars
                } else {
                    self.max_chars - self.overlap
                };
                let cut = cut(text, start, end, room, self.max_chars);
                // A cut inside a cluster of white space and a mark may leave white space alone, which is nothing.
                if let Some((_, last)) = trimmed(text, start, cut) {
                    count += length(text, start, last);
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

    fn pack(&self, text: &str, pieces: &[Piece], mut push: impl FnMut((usize, usize), (usize, usize))) {
        let Some(piece) = pieces.first() else { return };
        // The window starts at `start` (code point `first`), `whole` is the first piece that lies in it entirely, and
        // `next` is the first that no longer fits. Both only ever move on: each piece is looked at a fixed number of times.
        let (mut start, mut first, mut whole, mut next) = (piece.start, piece.first, 0, 1);
        loop {
            while pieces
                .get(next)
                .is_some_and(|piece| piece.last - first <= self.max_chars)
            {
                next += 1;
            }
            let last = &pieces[next - 1];
            push((start, last.end), (first, last.last));
            let Some(following) = pieces.get(next) else { return };
            // What follows must fit whole: a long sentence after this one leaves less to share.
            let budget = self
                .overlap
                .min(self.max_chars.saturating_sub(following.last - last.last));
            while whole < next && (pieces[whole].first <= first || last.last - pieces[whole].first > budget) {
                whole += 1;
            }
            if whole == next
                && let Some(tail) = tail(text, start, last.end, budget)
            {
                first = last.last - length(text, tail, last.end);
                start = tail;
            } else {
                (start, first) = (pieces[whole].start, pieces[whole].first);
            }
            next += 1;
        }
    }
}

/// Where to cut a sentence that begins at `start` so that at most `room` code points come before the cut, or up to
/// `max_chars` where that keeps a grapheme cluster whole.
fn cut(text: &str, start: usize, end: usize, room: usize, max_chars: usize) -> usize {
    let limit = forward(text, start, end, room);
    let half = forward(text, start, limit, room / 2);
    let clause = text[half..limit]
        .char_indices()
        .rev()
        .map(|(at, c)| (half + at, c))
        .find(|&(at, c)| {
            let after = at + c.len_utf8();
            (WIDE_CLAUSE.contains(&c) || (CLAUSE.contains(&c) && text[after..end].starts_with(is_white)))
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
    // The code point after decides whether a grapheme cluster ends there, so one more is looked at.
    let clusters = |n: usize| {
        let beyond = forward(text, start, end, n.saturating_add(1));
        text[start..beyond]
            .grapheme_indices(true)
            .map(|(at, _)| start + at)
            .skip(1)
    };
    clusters(room)
        .take_while(|&at| at <= limit)
        .last()
        .or_else(|| clusters(max_chars).next())
        .unwrap_or(limit)
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
    // No word begins here: a grapheme cluster, by its context since the window's start and no further, so that a text of
    // nothing but flags costs no more.
    let window = &text[window_start..end];
    let first = text[from..end].char_indices().map(|(at, c)| (from + at, c));
    first
        .filter(|&(_, c)| !is_white(c))
        .map(|(at, _)| at)
        .find(|&at| is_boundary(window, at - window_start))
}

/// Commas, semicolons, colons and dashes; of scripts that have their own, Armenian, Arabic, Ethiopic, Khmer, Tibetan and
/// Mongolian.
const CLAUSE: [char; 17] = [
    ',', ';', ':', '\u{2013}', '\u{2014}', '·', '\u{55d}', '\u{60c}', '\u{61b}', '\u{1363}', '\u{1364}',
    '\u{1365}', '\u{1366}', '\u{17d6}', '\u{f0d}', '\u{1802}', '\u{1808}',
];

/// Those that stand without a space after them: full-width, half-width, small and vertical forms.
const WIDE_CLAUSE: [char; 13] = [
    '、', '，', '；', '：', '､', '﹐', '﹑', '﹔', '﹕', '\u{fe10}', '\u{fe11}', '\u{fe13}', '\u{fe14}',
];
