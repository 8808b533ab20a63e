//! Selection by counting digits: slower than the bracket, but no input makes it fail.

use super::real::Real;

const DIGIT: u32 = 16;

/// Counts of one digit of the keys that begin with a prefix. Histograms of parts of the scores add up.
#[derive(Debug, Clone)]
pub(super) struct Histogram {
    /// The digits before this one.
    prefix: u64,
    /// Number of digits after this one.
    after: u32,
    counts: Vec<u64>,
}

impl Histogram {
    /// Of the first digit.
    pub(super) fn first<T: Real>() -> Self {
        Self::new(0, T::DIGITS - 1)
    }

    fn new(prefix: u64, after: u32) -> Self {
        Self {
            prefix,
            after,
            counts: vec![0; 1 << DIGIT],
        }
    }

    /// Counts more scores. O(n).
    #[allow(clippy::cast_possible_truncation, reason = "a digit")]
    pub(super) fn add<T: Real>(&mut self, scores: &[T]) {
        let shift = self.after * DIGIT;
        // The first digit has no prefix, and a key of four digits no bits for a fifth.
        let all = self.after + 1 == T::DIGITS;
        for score in scores {
            let digits = score.key() >> shift;
            if all || digits >> DIGIT == self.prefix {
                self.counts[(digits & ((1 << DIGIT) - 1)) as usize] += 1;
            }
        }
    }

    /// Counts what another histogram of the same digit and prefix counted.
    #[cfg_attr(
        not(test),
        allow(dead_code, reason = "for scores in partitions that are read elsewhere")
    )]
    pub(super) fn merge(&mut self, other: &Self) {
        debug_assert_eq!((self.prefix, self.after), (other.prefix, other.after));
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// The digits that the k-th key (from 0) begins with, and its place among the keys that begin so.
    pub(super) fn find(&self, mut k: u64) -> Option<(u64, u64)> {
        for (digit, &count) in (0_u64..).zip(&self.counts) {
            if k < count {
                return Some(((self.prefix << DIGIT) | digit, k));
            }
            k -= count;
        }
        None
    }
}

/// The k-th smallest (from 0) of scores in parts; `None` when there are fewer. One read of all parts per digit.
pub(super) fn kth<T: Real>(parts: &[&[T]], k: usize) -> Option<T> {
    let mut k = k as u64;
    let mut histogram = Histogram::first::<T>();
    loop {
        for part in parts {
            histogram.add(part);
        }
        let (prefix, place) = histogram.find(k)?;
        if histogram.after == 0 {
            return Some(T::of_key(prefix));
        }
        k = place;
        histogram = Histogram::new(prefix, histogram.after - 1);
    }
}
