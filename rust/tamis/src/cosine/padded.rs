//! The query as the kernels read it: moved to the rows' own alignment and padded with terms that change no sum.

use half::f16;

/// A component of the query as the kernels multiply it.
pub trait Wide: Copy + Default + Into<f32> + Send + Sync {
    /// Times zero, this is a term that leaves every accumulator as it was, the sign of a zero included.
    const NEUTRAL: Self;

    /// A component scaled into (−2, 2).
    fn from_rescaled(value: f32) -> Self;
}

impl Wide for f32 {
    // −0 · +0 = −0, and −0 + a = a for every a; +0 would turn an accumulated −0 into +0.
    const NEUTRAL: Self = -0.0;

    fn from_rescaled(value: f32) -> Self {
        value
    }
}

impl Wide for i16 {
    const NEUTRAL: Self = 0;

    /// Not reached: the squared norm of an integer vector that is not zero needs no rescaling.
    #[expect(clippy::cast_possible_truncation, reason = "the value lies in (-2, 2)")]
    fn from_rescaled(value: f32) -> Self {
        value as Self
    }
}

/// A storage type of rows, as the kernels see it.
pub trait Stored: Copy {
    /// A component of the query that goes with it.
    type Wide: Wide;
}

impl Stored for f32 {
    type Wide = Self;
}

impl Stored for f16 {
    type Wide = f32;
}

impl Stored for i8 {
    type Wide = i16;
}

/// Elements in the widest register of any kernel.
const WIDEST: usize = 32;
const CACHE_LINE: usize = 64;

/// Components that need no allocation: queries of up to 400 of them, whatever the shift and the alignment.
const INLINE: usize = 512;

/// `shift` neutral components, the query, and neutral components up to a whole register; 64-byte aligned.
///
/// Reused from query to query, and on the stack: an allocation costs as much as scoring a few rows.
pub(crate) struct Padded<W> {
    inline: [W; INLINE],
    heap: Vec<W>,
    start: usize,
    length: usize,
    shift: usize,
    d: usize,
}

impl<W: Wide> Padded<W> {
    pub(crate) fn new() -> Self {
        Self {
            inline: [W::default(); INLINE],
            heap: Vec::new(),
            start: 0,
            length: 0,
            shift: 0,
            d: 0,
        }
    }

    /// Takes a query's components. The alignment is for speed alone: no kernel relies on it.
    pub(super) fn fill(&mut self, query: impl ExactSizeIterator<Item = W>, shift: usize) {
        let d = query.len();
        // At least one register, which the kernels read of a query without components too.
        let length = (shift + d).max(1).next_multiple_of(WIDEST);
        let buffer = if Self::is_inline(length) {
            &mut self.inline[..]
        } else {
            self.heap.resize(length + Self::SLACK, W::NEUTRAL);
            &mut self.heap[..]
        };
        let start = buffer.as_ptr().align_offset(CACHE_LINE).min(Self::SLACK);
        let padded = &mut buffer[start..start + length];
        padded[..shift].fill(W::NEUTRAL);
        for (to, from) in padded[shift..].iter_mut().zip(query) {
            *to = from;
        }
        padded[shift + d..].fill(W::NEUTRAL);
        (self.start, self.length, self.shift, self.d) = (start, length, shift, d);
    }

    /// The most components before one that lies on a cache line.
    const SLACK: usize = CACHE_LINE / size_of::<W>();

    fn is_inline(length: usize) -> bool {
        length + Self::SLACK <= INLINE
    }

    /// Neutral components before the query.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn shift(&self) -> usize {
        self.shift
    }

    /// The query alone.
    pub(super) fn query(&self) -> &[W] {
        &self.padded()[self.shift..][..self.d]
    }

    /// With the neutral components on both sides; its length is a multiple of every register's.
    pub(super) fn padded(&self) -> &[W] {
        let buffer = if Self::is_inline(self.length) {
            &self.inline[..]
        } else {
            &self.heap[..]
        };
        &buffer[self.start..self.start + self.length]
    }
}
