//! Selection of order statistics: the only quantile of the project.
//!
//! The input is borrowed and never copied whole. A sample at fixed positions brackets the wanted rank; one pass counts
//! what lies below the bracket and keeps what lies inside, where the search goes on. A bracket that misses is seen by its
//! counts, so the result is exact: after one more try, digits of the keys are counted instead (Floyd & Rivest 1975 with
//! a bound on the memory). −0 and +0 are one score; +0 is returned.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod groups;
mod many;
mod pass;
mod radix;
mod real;
mod sample;
mod small;
#[cfg(test)]
mod tests;
mod weighted;

pub use groups::GroupNumber;
use pass::{Kernel, Stop, Tally};
pub use real::Real;
pub(crate) use weighted::{Required, Weight, Weighted, weighted};

use crate::{Error, Result};

/// Up to here a selection needs no memory from the allocator.
const SMALL: usize = 1024;
/// Up to here scratch memory of half their length is cheap.
const MEDIUM: usize = 1 << 14;
/// Up to here a copy is cheaper than the digits' histogram, which is 512 KiB.
const COPIED: usize = 1 << 16;

/// The k-th smallest (k from 1), +∞ when k is 0 or exceeds the length. O(n); memory of some per cent of the scores, less for
/// more of them.
///
/// # Errors
///
/// [`Error::NonFinite`] naming the first score that is not finite.
pub(crate) fn kth_smallest<T: Real>(scores: &[T], k: usize) -> Result<T> {
    kth_smallest_by(Kernel::best(), scores, k)
}

/// [`kth_smallest`] by the kernel of a name; `None` where the processor has none.
pub(crate) fn kth_smallest_by_name<T: Real>(kernel: &str, scores: &[T], k: usize) -> Option<Result<T>> {
    let kernel = Kernel::all().into_iter().find(|one| one.name() == kernel)?;
    Some(kth_smallest_by(kernel, scores, k))
}

fn kth_smallest_by<T: Real>(kernel: Kernel, scores: &[T], k: usize) -> Result<T> {
    let place = match k.checked_sub(1) {
        Some(place) if k <= scores.len() => place,
        _ if all_finite(scores) => return Ok(T::ABOVE),
        _ => return Err(first_not_finite(scores)),
    };
    match kth(kernel, scores, place) {
        Some(score) => Ok(score.unsigned_zero()),
        None => Err(first_not_finite(scores)),
    }
}

/// [`kth_smallest`] for several k, the input read from memory once. O(n · ranks).
///
/// # Errors
///
/// As [`kth_smallest`].
pub(crate) fn kth_smallest_each<T: Real>(scores: &[T], ks: &[usize]) -> Result<Vec<T>> {
    many::kth_each(Kernel::best(), scores, ks)
        .map(|found| found.into_iter().map(Real::unsigned_zero).collect())
        .ok_or_else(|| first_not_finite(scores))
}

/// The k-th smallest of each group, k = `rank`(number of its scores); +∞ when k is 0 or exceeds that number.
///
/// `groups` is parallel to the scores; the result ends with the last group. O(n), one pass to count the groups and one over
/// the scores.
///
/// # Errors
///
/// As [`kth_smallest`]; [`Error::GroupNumber`] when a group's number is negative, or neither below 65 536 nor the number of scores.
pub(crate) fn kth_smallest_by_group<T: Real, G: GroupNumber>(
    scores: &[T],
    groups: &[G],
    rank: impl Fn(u64) -> u64,
) -> Result<Vec<T>> {
    let counts = groups::counts(groups).map_err(|index| Error::GroupNumber {
        index,
        limit: groups::limit(groups.len()),
    })?;
    groups::kth_by_group(Kernel::best(), scores, groups, &counts, rank)
        .map(|found| found.into_iter().map(Real::unsigned_zero).collect())
        .ok_or_else(|| first_not_finite(scores))
}

fn all_finite<T: Real>(scores: &[T]) -> bool {
    scores
        .chunks(pass::BLOCK)
        .all(|block| block.iter().fold(true, |all, score| all & score.finite()))
}

fn first_not_finite<T: Real>(scores: &[T]) -> Error {
    let index = scores.iter().position(|score| !score.finite()).unwrap_or(0);
    Error::NonFinite {
        name: "scores",
        index,
        value: scores.get(index).map_or(f64::NAN, |score| score.widen()),
    }
}

/// Place k (from 0, below the length); `None` when a score is not finite.
fn kth<T: Real>(kernel: Kernel, scores: &[T], k: usize) -> Option<T> {
    let mut scratch = Vec::new();
    if scores.len() <= SMALL {
        return small::kth_on_stack::<T, { SMALL + pass::SPILL }>(kernel, scores, k).ok();
    }
    for attempt in 0..2 {
        match bracketed(kernel, scores, k, attempt, &mut scratch) {
            Ok(Some(score)) => return Some(score),
            Err(Stop::NonFinite) => return None,
            Ok(None) | Err(Stop::Overflow) => {}
        }
    }
    if !all_finite(scores) {
        return None;
    }
    if scores.len() > COPIED {
        return radix::kth(&[scores], k);
    }
    Some(*scores.to_vec().select_nth_unstable_by(k, T::compare).1)
}

/// One try by sample and pass: nothing when the bracket missed.
fn bracketed<T: Real>(
    kernel: Kernel,
    scores: &[T],
    k: usize,
    attempt: u32,
    scratch: &mut Vec<T>,
) -> std::result::Result<Option<T>, Stop> {
    let n = scores.len();
    let sample = sample::sample(scores, attempt);
    let m = sample.len();
    let places = sample::places(k, n, m, sample::width(attempt));
    let bracket = sample::bracket(n, m, places, |place| {
        owned(kernel, &mut sample.clone(), place, scratch)
    })?;
    drop(sample);
    let mut buffer = bracket.buffer(n);
    let mut tally = Tally::new(bracket.low, bracket.high, &mut buffer);
    pass::run(kernel, scores, std::slice::from_mut(&mut tally))?;
    found(kernel, scores, k, &mut tally, scratch)
}

/// The score at place k, if the bracket holds it.
fn found<T: Real>(
    kernel: Kernel,
    scores: &[T],
    k: usize,
    tally: &mut Tally<'_, T>,
    scratch: &mut Vec<T>,
) -> std::result::Result<Option<T>, Stop> {
    if tally.low == tally.high {
        return Ok((tally.below_high..tally.at_most_low)
            .contains(&k)
            .then_some(tally.low));
    }
    if (tally.at_most_low..tally.below_high).contains(&k) {
        let k = k - tally.at_most_low;
        return owned(kernel, tally.inside(), k, scratch).map(Some);
    }
    // Outside, or tied with an end: a count of the ties tells.
    let end = if k < tally.at_most_low {
        tally.low
    } else {
        tally.high
    };
    if !end.finite() {
        return Ok(None);
    }
    let mut point = Tally::point(end);
    pass::run(kernel, scores, std::slice::from_mut(&mut point))?;
    Ok((point.below_high..point.at_most_low).contains(&k).then_some(end))
}

/// Place k of scores that may be overwritten.
fn owned<T: Real>(
    kernel: Kernel,
    scores: &mut [T],
    k: usize,
    scratch: &mut Vec<T>,
) -> std::result::Result<T, Stop> {
    if scores.len() <= MEDIUM {
        return small::kth_owned(kernel, scores, k, scratch);
    }
    kth(kernel, scores, k).ok_or(Stop::NonFinite)
}
