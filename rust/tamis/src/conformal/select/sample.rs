//! Which scores are looked at first, and the bracket that they put around a rank.

use super::pass::{BLOCK, SPILL};
use super::real::Real;

/// Standard deviations between the wanted rank and either end of its bracket: one sample in four hundred misses.
const WIDTH: f64 = 3.0;
/// The same on the second try, with another sample of twice the size.
const RETRY_WIDTH: f64 = 6.0;

/// The standard deviations of an attempt.
pub(super) fn width(attempt: u32) -> f64 {
    if attempt == 0 { WIDTH } else { RETRY_WIDTH }
}

/// Two scores that the wanted one probably lies between, and how many others do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bracket<T> {
    pub(super) low: T,
    pub(super) high: T,
    /// A number of scores strictly between them that is exceeded as rarely as the bracket misses.
    pub(super) expected: usize,
}

impl<T: Real> Bracket<T> {
    /// Room for the scores inside and for a block whose scores all are.
    pub(super) fn buffer(&self, n: usize) -> Vec<T> {
        vec![T::default(); self.expected + BLOCK.min(n) + SPILL]
    }
}

/// The scores at fixed positions: no randomness, so a result never depends on more than the input.
///
/// One position in each of `m` equal stretches, so that sorted input is sampled evenly; where in its stretch is a hash of
/// the stretch's number, so that no period of the input meets every position.
pub(super) fn sample<T: Real>(scores: &[T], attempt: u32) -> Vec<T> {
    let n = scores.len();
    positions(n, size(n, attempt), attempt)
        .map(|at| scores[at])
        .collect()
}

/// About n^(2/3): then reading the sample and selecting within the bracket both cost little beside one pass over n.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "far below 2^52"
)]
pub(super) fn size(n: usize, attempt: u32) -> usize {
    let root = (n as f64).cbrt();
    (((0.7 * root * root) as usize) << attempt).clamp(1, n.max(1))
}

/// The whole part of (i + a fraction) · n/m for i in 0..m: ascending, all below n.
#[allow(
    clippy::cast_possible_truncation,
    reason = "m is below 2^32, and what is shifted is below n"
)]
pub(super) fn positions(n: usize, m: usize, attempt: u32) -> impl Iterator<Item = usize> {
    // With 16 bits behind the point; rounded down, it keeps the last position below n.
    let ratio = ((n as u64) << 16) / m as u64;
    (0..m as u64).map(move |i| {
        let fraction = u64::from(hash(i as u32, attempt) >> 16);
        ((i * ratio + ((fraction * ratio) >> 16)) >> 16) as usize
    })
}

/// Two rounds of multiplication and shift; a product alone would be a sequence with a period of its own.
fn hash(i: u32, attempt: u32) -> u32 {
    let x = (i ^ (attempt << 31)).wrapping_mul(0x9e37_79b1);
    (x ^ (x >> 15)).wrapping_mul(0x85eb_ca77)
}

/// The places in an ascending sample of m scores that bracket place `k` of n, none where an end lies outside it.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "limited to 0..m before the cast"
)]
pub(super) fn places(k: usize, n: usize, m: usize, width: f64) -> (Option<usize>, Option<usize>) {
    let share = (k as f64 + 0.5) / n as f64;
    let centre = share * m as f64;
    // One more on each side: near the ends of the sample the binomial is not normal.
    let half = width * (centre * (1.0 - share)).sqrt() + 1.0;
    let (low, high) = (centre - half, (centre + half) as usize + 1);
    ((low >= 0.0).then_some(low as usize), (high < m).then_some(high))
}

/// The bracket between two places, given the scores there.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most about n"
)]
pub(super) fn bracket<T: Real, E>(
    n: usize,
    m: usize,
    (low, high): (Option<usize>, Option<usize>),
    mut at: impl FnMut(usize) -> Result<T, E>,
) -> Result<Bracket<T>, E> {
    // A gap of g stretches holds g·n/m scores, give or take √g·n/m.
    let gap = (high.unwrap_or(m) - low.unwrap_or(0)) as f64;
    let expected = (gap + 3.0 * gap.sqrt() + 4.0) * n as f64 / m as f64;
    Ok(Bracket {
        low: low.map_or(Ok(T::BELOW), &mut at)?,
        high: high.map_or(Ok(T::ABOVE), &mut at)?,
        expected: (expected as usize).min(n),
    })
}
