//! Selection among few scores: rounds of a sample of one glance and a pass, until what is left is ranked at once.

use super::pass::{self, BLOCK, Kernel, SPILL, Stop, Tally};
use super::real::Real;
use super::sample;

/// Scores in the sample of a round: whole vectors of either precision.
const SAMPLE: usize = 24;
/// Standard deviations on either side: one sample in nine misses, which costs another pass over few scores.
const WIDTH: f64 = 1.0;
/// Rounds that only scores made against the samples need.
const ROUNDS: usize = 12;

/// Place k (from 0, below the length) of a few borrowed scores, at most `N` less [`SPILL`], without the allocator.
pub(super) fn kth_on_stack<T: Real, const N: usize>(
    kernel: Kernel,
    scores: &[T],
    k: usize,
) -> Result<T, Stop> {
    let (mut from, mut to) = ([T::default(); N], [T::default(); N]);
    rounds(kernel, Some(scores), k, (&mut from, 0), &mut to)
}

/// The same of scores that may be overwritten; `scratch` grows to half of them and a block.
pub(super) fn kth_owned<T: Real>(
    kernel: Kernel,
    scores: &mut [T],
    k: usize,
    scratch: &mut Vec<T>,
) -> Result<T, Stop> {
    let n = scores.len();
    let needed = n / 2 + BLOCK.min(n) + SPILL;
    if scratch.len() < needed {
        scratch.resize(needed, T::default());
    }
    rounds(kernel, None, k, (scores, n), scratch)
}

/// The buffers take turns: a round reads what the one before it kept.
fn rounds<'b, T: Real>(
    kernel: Kernel,
    borrowed: Option<&'b [T]>,
    mut k: usize,
    (mut from, mut kept): (&'b mut [T], usize),
    mut to: &'b mut [T],
) -> Result<T, Stop> {
    let mut borrowed = borrowed;
    for _ in 0..ROUNDS {
        let source = borrowed.unwrap_or(&from[..kept]);
        if source.len() <= T::AT_ONCE {
            if !super::all_finite(source) {
                return Err(Stop::NonFinite);
            }
            return Ok(T::places(kernel, source, [k, k])[0]);
        }
        let (low, high) = bracket(kernel, source, k);
        match narrow(kernel, source, k, low, high, to) {
            Ok(Step::Found(score)) => return Ok(score),
            Ok(Step::Inside { len, below }) => {
                kept = len;
                k -= below;
            }
            Err(Stop::Overflow) => break,
            Err(stop) => return Err(stop),
        }
        borrowed = None;
        std::mem::swap(&mut from, &mut to);
    }
    if let Some(scores) = borrowed {
        from[..scores.len()].copy_from_slice(scores);
        kept = scores.len();
    }
    Ok(*from[..kept].select_nth_unstable_by(k, T::compare).1)
}

enum Step<T> {
    Found(T),
    /// The buffer holds `len` scores; `below` of the source lie under all of them.
    Inside {
        len: usize,
        below: usize,
    },
}

/// Two scores of the source that probably lie around place k; infinite where the sample has none.
fn bracket<T: Real>(kernel: Kernel, source: &[T], k: usize) -> (T, T) {
    let n = source.len();
    let mut sample = [T::default(); SAMPLE];
    for (slot, at) in sample.iter_mut().zip(sample::positions(n, SAMPLE, 0)) {
        *slot = source[at];
    }
    let (low, high) = sample::places(k, n, SAMPLE, WIDTH);
    let ends = T::places(kernel, &sample, [low.unwrap_or(0), high.unwrap_or(0)]);
    (
        low.map_or(T::BELOW, |_| ends[0]),
        high.map_or(T::ABOVE, |_| ends[1]),
    )
}

/// Keeps what lies inside the bracket, or on the side of it where place k is.
fn narrow<T: Real>(
    kernel: Kernel,
    source: &[T],
    k: usize,
    low: T,
    high: T,
    buffer: &mut [T],
) -> Result<Step<T>, Stop> {
    let mut pass = |low, high| {
        let mut tally = Tally::new(low, high, &mut *buffer);
        pass::run(kernel, source, std::slice::from_mut(&mut tally))?;
        Ok((tally.at_most_low, tally.below_high))
    };
    let (at_most_low, below_high) = pass(low, high)?;
    let inside = |below: usize, below_high: usize| Step::Inside {
        len: below_high - below,
        below,
    };
    if (at_most_low..below_high).contains(&k) {
        return Ok(inside(at_most_low, below_high));
    }
    if low == high && (below_high..at_most_low).contains(&k) {
        return Ok(Step::Found(low));
    }
    if k < at_most_low {
        let (_, below) = pass(T::BELOW, low)?;
        return Ok(if k < below {
            inside(0, below)
        } else {
            Step::Found(low)
        });
    }
    let (at_most, _) = pass(high, T::ABOVE)?;
    Ok(if k < at_most {
        Step::Found(high)
    } else {
        inside(at_most, source.len())
    })
}

/// The scores at two places of a few finite ones, by the number of scores below each.
#[inline(always)] // into the vectors of its caller
#[allow(
    clippy::inline_always,
    reason = "a function of its own has the narrowest vectors"
)]
pub(super) fn places_portable<T: Real>(scores: &[T], ks: [usize; 2]) -> [T; 2] {
    let mut found = [T::BELOW; 2];
    for &score in scores {
        let below: usize = scores.iter().map(|&other| usize::from(other < score)).sum();
        for (found, k) in found.iter_mut().zip(ks) {
            // The highest with no more than k below it.
            if below <= k && *found < score {
                *found = score;
            }
        }
    }
    found
}
