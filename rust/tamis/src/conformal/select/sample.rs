//! Which scores are looked at first, and the bracket that they put around a rank.

use super::real::Real;

/// Standard deviations between the wanted rank and either end of its bracket: one sample in two thousand misses.
const WIDTH: f64 = 3.5;
/// The same on the second try, with another sample of twice the size.
const RETRY_WIDTH: f64 = 6.0;

/// Two scores that the wanted one probably lies between, and how many others do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bracket<T> {
    pub(super) low: T,
    pub(super) high: T,
    /// A number of scores strictly between them that is exceeded as rarely as the bracket misses.
    pub(super) expected: usize,
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

pub(super) fn positions(n: usize, m: usize, attempt: u32) -> impl Iterator<Item = usize> {
    // Steps of a whole stretch; the rest, shorter than m, is spread over the first ones.
    let (stretch, longer) = (n / m, n % m);
    let salt = u64::from(attempt) << 32;
    (0..m).map(move |i| {
        let start = i * stretch + i.min(longer);
        let length = stretch + usize::from(i < longer);
        start + scaled(hash(i as u64 | salt), length)
    })
}

/// The finaliser of splitmix64 (Steele, Lea & Flood 2014).
fn hash(mut x: u64) -> u64 {
    x = x.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A whole number below `length`, by the upper half of the product.
#[allow(clippy::cast_possible_truncation, reason = "below length")]
fn scaled(hash: u64, length: usize) -> usize {
    ((u128::from(hash) * length as u128) >> 64) as usize
}

/// The places in an ascending sample of m scores that bracket place `k` of n, none where an end lies outside it.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "limited to 0..m before the cast"
)]
pub(super) fn places(k: usize, n: usize, m: usize, attempt: u32) -> (Option<usize>, Option<usize>) {
    let width = if attempt == 0 { WIDTH } else { RETRY_WIDTH };
    let share = (k as f64 + 0.5) / n as f64;
    let centre = share * m as f64;
    // One more on each side: near the ends of the sample the binomial is not normal.
    let half = width * (centre * (1.0 - share)).sqrt() + 1.0;
    let (low, high) = ((centre - half).floor(), (centre + half).ceil());
    (
        (low >= 0.0).then_some(low as usize),
        (high < m as f64).then_some(high as usize),
    )
}

/// The bracket between two places, given the scores there.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most about n"
)]
pub(super) fn bracket<T: Real>(
    n: usize,
    m: usize,
    (low, high): (Option<usize>, Option<usize>),
    mut at: impl FnMut(usize) -> T,
) -> Bracket<T> {
    // A gap of g stretches holds g·n/m scores, give or take √g·n/m.
    let gap = (high.unwrap_or(m) - low.unwrap_or(0)) as f64;
    let expected = (gap + 4.0 * gap.sqrt() + 4.0) * n as f64 / m as f64;
    Bracket {
        // The higher first: what selects in place has then the lower one on its left.
        high: high.map_or(T::ABOVE, &mut at),
        low: low.map_or(T::BELOW, &mut at),
        expected: (expected as usize).min(n),
    }
}
