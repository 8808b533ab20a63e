//! Risk control beyond the mean recall of a new unit: totals, and promises that hold with high probability.

use num_bigint::BigUint;

use super::level::Level;
use super::loss::{Losses, Share};
use super::select;
use crate::Result;

/// The order in which a betting bound looks at the units. It must not depend on their losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As the units were first met.
    Given,
    /// A permutation drawn from this seed.
    Seeded(u64),
}

/// The smallest value with E\[missed\] ≤ alpha · E\[relevant\] for a new unit: total missed over total relevant.
///
/// Smallest v with Σ miss(v) − alpha Σ n + (1 − alpha) C ≤ 0, C = `max_positives` a bound on the relevant snippets of
/// any unit, old or new; if a unit can have more, nothing is promised (risk control of the shifted loss
/// miss − alpha·n; Angelopoulos et al. 2024). Exact; O(n).
pub(super) fn total(values: &[f64], alpha: &Level, max_positives: u64) -> Result<f64> {
    let n = BigUint::from(values.len());
    // Σ miss ≤ (p·N − (q − p)·C)/q, rounded down.
    let gain = &n * alpha.numerator();
    let cost = (alpha.denominator() - alpha.numerator()) * max_positives;
    if gain < cost {
        return Ok(f64::INFINITY);
    }
    let allowed = (gain - cost) / alpha.denominator();
    let k = usize::try_from(&n - allowed).unwrap_or(usize::MAX);
    select::kth_smallest(values, k.max(1))
}

/// The smallest value whose mean loss for a new unit is at most alpha with probability 1 − delta over calibration sets.
///
/// Risk-controlling prediction sets (Bates et al. 2021) with the betting p-value of Waudby-Smith & Ramdas (2023): walk
/// down from the largest value while p(value) ≤ delta. `grid` holds the values to try; by default every item's, between
/// which losses do not change. O(n log n + grid · units).
pub(super) fn betting(
    losses: &Losses,
    alpha: &Level,
    delta: &Level,
    grid: Option<&[f64]>,
    order: Order,
) -> Result<f64> {
    let mut grid = super::pvalue::sorted_scores(grid.unwrap_or(&losses.values))?;
    grid.dedup();
    let mut place: Vec<usize> = (0..losses.n_units).collect();
    if let Order::Seeded(seed) = order {
        shuffle(&mut place, seed);
    }
    // Descending by value: as the parameter falls, items become missed one after another.
    let item = |(&value, share): (&f64, &Share)| {
        let part = 1.0 / (share.queries as f64 * share.items as f64);
        (value, place[share.unit], part)
    };
    let mut falling: Vec<(f64, usize, f64)> = losses.values.iter().zip(&losses.shares).map(item).collect();
    falling.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut missed = vec![0.0; losses.n_units];
    let (alpha, log_inverse_delta) = (alpha.to_f64(), -delta.to_f64().ln());
    let (mut next, mut value) = (0, f64::INFINITY);
    for &candidate in grid.iter().rev() {
        while let Some(&(_, unit, share)) = falling.get(next).filter(|item| item.0 > candidate) {
            missed[unit] += share;
            next += 1;
        }
        if log_wealth(&missed, alpha, log_inverse_delta) < log_inverse_delta {
            break;
        }
        value = candidate;
    }
    Ok(value)
}

/// The largest log of a gambler's wealth who bets against "the mean loss exceeds alpha", over all prefixes.
///
/// p = 1/max wealth is a valid p-value (Ville), with the bets of Waudby-Smith & Ramdas 2023, section 3.
pub(super) fn log_wealth(losses: &[f64], alpha: f64, log_inverse_delta: f64) -> f64 {
    let n = losses.len() as f64;
    let (mut sum, mut squares, mut variance) = (0.0, 0.0, 0.25);
    let (mut log, mut largest) = (0.0_f64, f64::NEG_INFINITY);
    for (j, &loss) in (1_u32..).zip(losses) {
        let bet = (2.0 * log_inverse_delta / (n * variance)).sqrt().min(1.0);
        log += (-bet * (loss - alpha)).ln_1p();
        largest = largest.max(log);
        let seen = f64::from(j);
        sum += loss;
        let mean = (0.5 + sum) / (1.0 + seen);
        squares += (loss - mean).powi(2);
        variance = (0.25 + squares) / (1.0 + seen);
    }
    largest
}

/// Fisher–Yates with `SplitMix64` (Steele, Lea & Flood 2014): a permutation that depends on the seed alone.
fn shuffle(places: &mut [usize], seed: u64) {
    let mut state = seed;
    for last in (1..places.len()).rev() {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        // The multiply-shift reduction's bias is below 2^-32 for any number of units.
        let pick = (u128::from(z) * (last as u128 + 1)) >> 64;
        places.swap(last, usize::try_from(pick).unwrap_or(0));
    }
}
