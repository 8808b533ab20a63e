//! How much must be labelled before a threshold is finite: what a promise costs before there is a calibration set.

use num_bigint::BigUint;
use num_integer::Integer;

use super::level::Level;
use super::risk;
use crate::{Error, Result};

/// Under this many topics the size of the answer is a matter of luck.
pub const FEW_UNITS: u64 = 20;
/// Counts beyond this one are refused where they take time to find.
const MAX_UNITS: u64 = 1_000_000;

/// The units (or pooled snippets) of which the smallest finite threshold on average is made: ⌈1/alpha⌉ − 1.
///
/// 1/(n + 1) ≤ alpha is risk control without a single miss (Angelopoulos et al. 2024), and a rank of at most n (Vovk et
/// al. 2005).
pub fn units_needed(alpha: &Level) -> BigUint {
    alpha.denominator().div_ceil(alpha.numerator()) - 1_u32
}

/// The units of which the betting bound makes a finite threshold that fails with probability at most delta, when nothing is
/// missed at it: the first count at which no loss at all lets the gambler reach 1/delta.
///
/// # Errors
///
/// [`Error::TooManyUnits`] beyond a million.
pub fn units_needed_pac(alpha: &Level, delta: &Level) -> Result<u64> {
    let wanted = -delta.to_f64().ln();
    // No bet exceeds 1, so a unit without a loss multiplies the wealth by at most 1 + alpha.
    let least = whole(wanted / alpha.to_f64().ln_1p()).max(1);
    let enough = |n: u64| {
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        risk::log_wealth(&vec![0.0; n], alpha.to_f64(), wanted) >= wanted
    };
    // What one more unit adds is bounded from below, so a count that suffices is met by doubling the step, and the first one
    // by halving it.
    let (mut below, mut step) = (least - 1, 1);
    while below + step <= MAX_UNITS && !enough(below + step) {
        below += step;
        step *= 2;
    }
    let (mut above, limit) = (below + step, MAX_UNITS + 1);
    while above - below > 1 {
        let middle = below.midpoint(above);
        if middle < limit && !enough(middle) {
            below = middle;
        } else {
            above = middle;
        }
    }
    found(above, alpha, delta)
}

/// The independent snippets whose largest score covers 1 − alpha with probability at least 1 − delta: the smallest n with
/// (1 − alpha)ⁿ ≤ delta (Wilks 1941), exactly.
///
/// # Errors
///
/// [`Error::TooManyUnits`] beyond a million.
pub fn snippets_needed_pac(alpha: &Level, delta: &Level) -> Result<u64> {
    let estimate = delta.to_f64().ln() / (-alpha.to_f64()).ln_1p();
    // Doubles decide where the quotient is clearly no whole number, integers where it is close to one.
    let nearest = estimate.round();
    if (estimate - nearest).abs() > 1e-6 && estimate.is_finite() {
        return found(whole(estimate.ceil()).max(1), alpha, delta);
    }
    let mut n = whole(nearest).saturating_sub(1).max(1);
    while n <= MAX_UNITS && !covers(n, alpha, delta) {
        n += 1;
    }
    found(n, alpha, delta)
}

/// (1 − alpha)ⁿ ≤ delta.
fn covers(n: u64, alpha: &Level, delta: &Level) -> bool {
    let power = u32::try_from(n).unwrap_or(u32::MAX);
    let left = (alpha.denominator() - alpha.numerator()).pow(power) * delta.denominator();
    left <= alpha.denominator().pow(power) * delta.numerator()
}

/// The relevant snippets that target "total" needs: Σ n ≥ (1 − alpha) C / alpha, C a bound on those of a unit.
pub fn positives_needed(alpha: &Level, max_positives: u64) -> BigUint {
    ((alpha.denominator() - alpha.numerator()) * max_positives).div_ceil(alpha.numerator())
}

/// A count from a double, rounded down; one that no count holds becomes the largest.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and what is beyond a million is refused"
)]
fn whole(count: f64) -> u64 {
    count as u64
}

fn found(n: u64, alpha: &Level, delta: &Level) -> Result<u64> {
    if n > MAX_UNITS {
        return Err(Error::TooManyUnits {
            alpha: alpha.as_str().chars().take(40).collect(),
            delta: delta.as_str().chars().take(40).collect(),
            limit: MAX_UNITS,
        });
    }
    Ok(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(text: &str) -> Level {
        Level::parse("alpha", text).unwrap()
    }

    #[test]
    fn without_delta_it_is_the_reciprocal_less_one() {
        for (alpha, n) in [
            ("0.1", 9_u32),
            ("0.05", 19),
            ("1/3", 2),
            ("0.3", 3),
            ("0.5", 1),
            ("0.9", 1),
        ] {
            assert_eq!(units_needed(&level(alpha)), BigUint::from(n), "{alpha}");
        }
        assert_eq!(positives_needed(&level("0.1"), 43), BigUint::from(387_u32));
    }

    /// The published counts, and at each of them that one unit fewer does not do and every further one does.
    #[test]
    fn the_betting_bound_is_met_from_its_count_on() {
        for (alpha, n) in [("0.05", 48), ("0.1", 25), ("0.2", 13)] {
            assert_eq!(units_needed_pac(&level(alpha), &level("0.1")).unwrap(), n);
        }
        let mut n_checked = 0;
        for alpha in ["0.01", "0.1", "1/3", "0.5", "0.9"] {
            for delta in ["0.001", "0.05", "0.5", "0.9", "0.999"] {
                let n = units_needed_pac(&level(alpha), &level(delta)).unwrap();
                let (alpha, wanted) = (level(alpha).to_f64(), -level(delta).to_f64().ln());
                let wealth = |n| risk::log_wealth(&vec![0.0; n], alpha, wanted);
                let n = usize::try_from(n).unwrap();
                assert!(n == 1 || wealth(n - 1) < wanted, "{alpha} {delta} {n}");
                for more in n..2 * n + 20 {
                    assert!(wealth(more) >= wanted, "{alpha} {delta} {n} {more}");
                    n_checked += 1;
                }
            }
        }
        assert!(n_checked > 1_000);
    }

    #[test]
    fn the_largest_of_so_many_covers() {
        for (alpha, delta, n) in [
            ("0.1", "0.1", 22),
            ("0.05", "0.1", 45),
            ("0.5", "0.25", 2),
            ("0.5", "1/1024", 10),
        ] {
            assert_eq!(snippets_needed_pac(&level(alpha), &level(delta)).unwrap(), n);
        }
        for alpha in ["0.01", "0.1", "1/3", "0.9", "0.99999999999999999999"] {
            for delta in ["0.001", "0.1", "0.999", "1/3", "0.01"] {
                let (alpha, delta) = (level(alpha), level(delta));
                let n = snippets_needed_pac(&alpha, &delta).unwrap();
                assert!(covers(n, &alpha, &delta) && (n == 1 || !covers(n - 1, &alpha, &delta)));
            }
        }
    }

    #[test]
    fn what_nobody_can_label_is_refused() {
        for alpha in ["1e-7", "5e-324"] {
            let (alpha, delta) = (level(alpha), level("0.1"));
            for found in [
                units_needed_pac(&alpha, &delta),
                snippets_needed_pac(&alpha, &delta),
            ] {
                assert!(matches!(found, Err(Error::TooManyUnits { limit: MAX_UNITS, .. })));
            }
        }
    }
}
