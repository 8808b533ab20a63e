//! The one pass over the scores: what lies below and inside a bracket is counted, what lies inside is kept.

use super::real::Real;

/// Scores per call of a kernel: a block stays in the first-level cache while several brackets look at it.
pub(super) const BLOCK: usize = 1024;
/// Bytes from where a pass is to what it asks the memory for: some microseconds' worth.
#[cfg(target_arch = "x86_64")]
pub(super) const AHEAD: usize = 6 << 10;
/// Bytes of a cache line, and of the widest vector.
const LINE: usize = 64;
/// Scores that the portable kernel counts before it asks whether one is inside.
const GROUP: usize = 32;
/// What a kernel may write beyond the scores inside: one vector of the widest kind.
pub(super) const SPILL: usize = 16;

/// Who does the pass. Every kernel gives the same result.
#[derive(Debug, Clone, Copy)]
pub enum Kernel {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(super::avx2::Detected),
    #[cfg(target_arch = "x86_64")]
    Avx512(super::avx512::Detected),
}

impl Kernel {
    /// The fastest one of this processor.
    pub(crate) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(detected) = super::avx512::Detected::new() {
                return Self::Avx512(detected);
            }
            if let Some(detected) = super::avx2::Detected::new() {
                return Self::Avx2(detected);
            }
        }
        Self::Portable
    }

    /// Every one that this processor can run.
    pub(crate) fn all() -> Vec<Self> {
        #[allow(unused_mut, reason = "on other processors")]
        let mut kernels = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            kernels.extend(super::avx2::Detected::new().map(Self::Avx2));
            kernels.extend(super::avx512::Detected::new().map(Self::Avx512));
        }
        kernels
    }

    /// `portable`, `avx2` or `avx512`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
        }
    }
}

/// What is known of one bracket after some blocks.
#[derive(Debug)]
pub struct Tally<'b, T> {
    pub(super) low: T,
    pub(super) high: T,
    /// Scores at or below `low`.
    pub(super) at_most_low: usize,
    /// Scores below `high`.
    pub(super) below_high: usize,
    /// The scores strictly between, in front; ties with an end are only counted, so that they need no memory.
    buffer: &'b mut [T],
    filled: usize,
}

/// Why a pass ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// A score is NaN or infinite.
    NonFinite,
    /// More scores lie inside a bracket than there is room for: the sample was no picture of the input.
    Overflow,
}

impl<'b, T: Real> Tally<'b, T> {
    /// The buffer is for the scores inside; a block more than they take.
    pub(super) fn new(low: T, high: T, buffer: &'b mut [T]) -> Self {
        Self {
            low,
            high,
            at_most_low: 0,
            below_high: 0,
            buffer,
            filled: 0,
        }
    }

    /// A bracket of one score, which counts what is below it and what is at most it.
    pub(super) fn point(score: T) -> Self {
        Self::new(score, score, &mut [])
    }

    /// Whether another block fits, whatever it holds.
    fn has_room(&self, block: usize) -> bool {
        self.low == self.high || self.buffer.len() - self.filled >= block + SPILL
    }

    /// Where the next scores go, and how many of them were written.
    pub(super) fn free(&mut self) -> &mut [T] {
        &mut self.buffer[self.filled..]
    }

    pub(super) fn add(&mut self, at_most_low: usize, below_high: usize, inside: usize) {
        self.at_most_low += at_most_low;
        self.below_high += below_high;
        self.filled += inside;
    }

    /// The scores inside, to be overwritten at will.
    pub(super) fn inside(&mut self) -> &mut [T] {
        &mut self.buffer[..self.filled]
    }
}

/// Runs every bracket over all blocks. O(n) per bracket, the input read from memory once.
pub(super) fn run<T: Real>(kernel: Kernel, scores: &[T], tallies: &mut [Tally<'_, T>]) -> Result<(), Stop> {
    // A vector that straddles two cache lines costs a second read: worth a short block in front of many.
    let before = if scores.len() > BLOCK {
        scores.as_ptr().align_offset(LINE).min(scores.len())
    } else {
        0
    };
    let (head, rest) = scores.split_at(before);
    for block in head.chunks(BLOCK).chain(rest.chunks(BLOCK)) {
        for tally in &mut *tallies {
            if !tally.has_room(block.len()) {
                return Err(Stop::Overflow);
            }
            if !T::count(kernel, block, tally) {
                return Err(Stop::NonFinite);
            }
        }
    }
    Ok(())
}

/// Counts groups of scores without a branch, and compacts the groups that hold one inside. False on a score not finite.
#[allow(clippy::needless_bitwise_bool, reason = "`&&` is a branch that guesses wrong")]
pub(super) fn portable<T: Real>(block: &[T], tally: &mut Tally<'_, T>) -> bool {
    let (low, high) = (tally.low, tally.high);
    let (mut at_most_low, mut below_high, mut inside) = (0, 0, 0);
    let mut finite = true;
    let free = tally.free();
    let mut part = |group: &[T]| {
        let (mut at_most, mut below) = (0_u32, 0_u32);
        for &score in group {
            at_most += u32::from(score <= low);
            below += u32::from(score < high);
            finite &= score.finite();
        }
        at_most_low += at_most as usize;
        below_high += below as usize;
        // In a bracket of one score nothing is inside, and `below` is not the larger.
        if below > at_most {
            for &score in group {
                if let Some(slot) = free.get_mut(inside) {
                    *slot = score;
                }
                inside += usize::from((score > low) & (score < high));
            }
        }
    };
    let (groups, rest) = block.as_chunks::<GROUP>();
    for group in groups {
        part(group);
    }
    part(rest);
    tally.add(at_most_low, below_high, inside);
    finite
}
