//! Sentences packed into windows.

use std::collections::BTreeMap;
use std::num::NonZero;

use super::given::byte_ends;
use super::offsets::Counter;
use super::packer::Packer;
use super::sentences::{BOUNDARY_TABLE, SentenceEnds};
use super::spans::{Span, Spans};
use super::threads::{cut as cut_shares, shares};
use super::white::trimmed;
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

    /// Cuts each sentence into pieces and packs these, as they come.
    fn windows(&self, text: &str, ends: impl Iterator<Item = usize>, document: usize, spans: &mut Spans) {
        let mut packer = Packer::new(self, text, |(start, end), code_points| {
            spans.push(Span { document, start, end }, code_points);
        });
        let mut sentence_start = 0;
        for end in ends {
            let sentence = trimmed(text, std::mem::replace(&mut sentence_start, end), end);
            if let Some((start, end)) = sentence {
                packer.sentence(start, end);
            }
        }
        packer.finish();
    }

    /// The sentences of many texts, without the white space around them: what snippets are made of. Linear.
    pub fn sentences<S: AsRef<str>>(&self, texts: &[S]) -> Spans {
        let mut spans = Spans::default();
        for (document, text) in texts.iter().enumerate() {
            let text = text.as_ref();
            let (mut from, mut counter) = (0, Counter::new(text));
            for end in SentenceEnds::new(text) {
                if let Some((start, end)) = trimmed(text, std::mem::replace(&mut from, end), end) {
                    let code_points = (counter.move_to(start), counter.move_to(end));
                    spans.push(Span { document, start, end }, code_points);
                }
            }
        }
        spans
    }
}
