//! Sentences into windows, as they come.

use std::collections::VecDeque;

use unicode_segmentation::UnicodeSegmentation;

use super::offsets::{Counter, backward, forward, length};
use super::white::{is_boundary, is_white, trimmed};
use super::window::Chunker;

/// A sentence, or a part of one that is too long, without the white space around it.
#[derive(Debug, Clone, Copy)]
struct Piece {
    start: usize,
    end: usize,
    /// The same in code points.
    first: usize,
    last: usize,
}

/// Holds the window that is being filled, and hands over each that is full: its bytes and its code points.
pub(super) struct Packer<'a, F> {
    text: &'a str,
    max_chars: usize,
    overlap: usize,
    push: F,
    counter: Counter<'a>,
    /// Where the window begins: at its first piece, or within the last one of the window before.
    start: usize,
    first: usize,
    /// The last piece of the window; there is none before the first.
    last: Option<Piece>,
    /// The pieces that lie in it whole: those that the next may share.
    whole: VecDeque<Piece>,
}

impl<'a, F: FnMut((usize, usize), (usize, usize))> Packer<'a, F> {
    pub(super) fn new(chunker: &Chunker, text: &'a str, push: F) -> Self {
        Self {
            text,
            max_chars: chunker.max_chars(),
            overlap: chunker.overlap(),
            push,
            counter: Counter::new(text),
            start: 0,
            first: 0,
            last: None,
            whole: VecDeque::new(),
        }
    }

    /// Takes the next sentence, without the white space around it: whole, or cut if it is too long.
    pub(super) fn sentence(&mut self, start: usize, end: usize) {
        let mut rest = Some((start, end));
        while let Some((start, end)) = rest {
            let first = self.counter.move_to(start);
            // No text has more code points than bytes, and none fewer than a quarter.
            if end - start <= self.max_chars.saturating_mul(4) {
                let last = self.counter.before(end);
                if last - first <= self.max_chars {
                    self.counter.skip_to(end, last);
                    self.piece(Piece {
                        start,
                        end,
                        first,
                        last,
                    });
                    return;
                }
            }
            // The first piece of a text has no neighbour before it; every other leaves room for the overlap.
            let room = match self.last {
                None => self.max_chars,
                Some(_) => self.max_chars - self.overlap,
            };
            let cut = cut(self.text, start, end, room, self.max_chars);
            // A cut inside a cluster of white space and a mark may leave white space alone, which is nothing.
            if let Some((_, last)) = trimmed(self.text, start, cut) {
                let count = self.counter.before(last);
                self.piece(Piece {
                    start,
                    end: last,
                    first,
                    last: count,
                });
            }
            rest = if cut == end {
                None
            } else {
                trimmed(self.text, cut, end)
            };
        }
    }

    /// Hands over the last window.
    pub(super) fn finish(mut self) {
        if let Some(last) = self.last {
            (self.push)((self.start, last.end), (self.first, last.last));
        }
    }

    /// Each piece enters `whole` once and leaves it once, so the work is linear in them.
    fn piece(&mut self, piece: Piece) {
        match self.last {
            None => (self.start, self.first) = (piece.start, piece.first),
            Some(_) if piece.last - self.first <= self.max_chars => {}
            Some(last) => {
                (self.push)((self.start, last.end), (self.first, last.last));
                self.begin_before(last, piece);
            }
        }
        self.whole.push_back(piece);
        self.last = Some(piece);
    }

    /// Begins the window of a piece that no longer fitted, with what it shares with the one before.
    fn begin_before(&mut self, last: Piece, piece: Piece) {
        // The piece must fit whole: a long sentence after this one leaves less to share.
        let budget = self
            .overlap
            .min(self.max_chars.saturating_sub(piece.last - last.last));
        while let Some(shared) = self.whole.front() {
            if shared.first > self.first && last.last - shared.first <= budget {
                (self.start, self.first) = (shared.start, shared.first);
                return;
            }
            self.whole.pop_front();
        }
        if let Some(tail) = tail(self.text, self.start, last.end, budget) {
            self.first = last.last - length(self.text, tail, last.end);
            self.start = tail;
        } else {
            (self.start, self.first) = (piece.start, piece.first);
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
            (is_wide_clause(c) || is_clause(c) && text[after..end].starts_with(is_white))
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
fn is_clause(c: char) -> bool {
    matches!(
        c,
        ',' | ';' | ':' | '·' | '\u{55d}' | '\u{60c}' | '\u{61b}' | '\u{f0d}' | '\u{1363}'
            ..='\u{1366}' | '\u{17d6}' | '\u{1802}' | '\u{1808}' | '\u{2013}' | '\u{2014}'
    )
}

/// Those that stand without a space after them: full-width, half-width, small and vertical forms.
fn is_wide_clause(c: char) -> bool {
    matches!(
        c,
        '、' | '，'
            | '；'
            | '：'
            | '､'
            | '﹐'
            | '﹑'
            | '﹔'
            | '﹕'
            | '\u{fe10}'
            | '\u{fe11}'
            | '\u{fe13}'
            | '\u{fe14}'
    )
}
