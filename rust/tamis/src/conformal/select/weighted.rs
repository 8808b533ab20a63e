//! Selection by weight: the smallest value at which exact rational weights reach a total.

use num_bigint::BigUint;
use num_integer::Integer;

/// A value and the class its weight is looked up by.
pub(crate) type Weighted = (f64, u32);

/// The weight of a class: numerator/denominator; the denominator is not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Weight {
    pub(crate) numerator: u64,
    pub(crate) denominator: u128,
}

/// A total to be reached: numerator/denominator, both positive.
#[derive(Debug, Clone)]
pub(crate) struct Required {
    pub(crate) numerator: BigUint,
    pub(crate) denominator: BigUint,
}

/// The smallest value v such that the items at or below v weigh at least `required`; +∞ when all together weigh less.
///
/// Exact. One class is a plain rank. Weights are integers over the least common multiple of their denominators while 128
/// bits hold all sums; else the selection runs twice, on weights in fixed point rounded up and rounded down, and only
/// where these disagree are sums compared in big integers. O(n) comparisons. Reorders the items.
pub(crate) fn weighted(items: &mut [Weighted], weights: &[Weight], required: &Required) -> f64 {
    if let Some(scaled) = Scaled::exact(items, weights, required) {
        return reached(items, &scaled.weights, scaled.required);
    }
    let (low, high) = Scaled::rounded(items, weights, required);
    // Heavier items and a smaller total are reached no later than the exact ones, lighter and more no earlier.
    let first = reached(items, &low.weights, low.required);
    let last = reached(items, &high.weights, high.required);
    if first.to_bits() == last.to_bits() {
        return first;
    }
    between(items, weights, required, first)
}

/// Weights and total as integers.
struct Scaled {
    weights: Vec<u128>,
    required: u128,
}

impl Scaled {
    /// Over the least common multiple, where 128 bits hold it times the sum of all weights.
    fn exact(items: &[Weighted], weights: &[Weight], required: &Required) -> Option<Self> {
        let one = weights.iter().try_fold(1_u128, |lcm, weight| {
            (lcm / lcm.gcd(&weight.denominator)).checked_mul(weight.denominator)
        })?;
        let weights = weights
            .iter()
            .map(|weight| (one / weight.denominator).checked_mul(weight.numerator.into()))
            .collect::<Option<Vec<u128>>>()?;
        let largest = weights.iter().max().copied().unwrap_or(0);
        largest.checked_mul(items.len() as u128)?;
        let required = (&required.numerator * one).div_ceil(&required.denominator);
        Some(Self {
            weights,
            // A total beyond 128 bits is beyond the sum of all weights.
            required: required.try_into().unwrap_or(u128::MAX),
        })
    }

    /// In fixed point: (weights up, total down) and (weights down, total up).
    fn rounded(items: &[Weighted], weights: &[Weight], required: &Required) -> (Self, Self) {
        let largest = weights
            .iter()
            .map(|weight| u128::from(weight.numerator).div_ceil(weight.denominator))
            .max()
            .unwrap_or(1);
        let bits = |x: u128| 128 - x.leading_zeros();
        // So that no sum overflows: 2^shift · largest · n < 2^127.
        let shift = 126_u32.saturating_sub(bits(largest) + bits(items.len() as u128));
        let scale = BigUint::from(1_u32) << shift;
        let integers = |up: bool| {
            let scaled = |weight: &Weight| {
                let (quotient, rest) =
                    (&scale * weight.numerator).div_rem(&BigUint::from(weight.denominator));
                let quotient: u128 = quotient.try_into().unwrap_or(u128::MAX >> 1);
                quotient + u128::from(up && rest != BigUint::ZERO)
            };
            weights.iter().map(scaled).collect()
        };
        let total = |up: bool| {
            let (quotient, rest) = (&required.numerator * &scale).div_rem(&required.denominator);
            let quotient: u128 = quotient.try_into().unwrap_or(u128::MAX >> 1);
            quotient + u128::from(up && rest != BigUint::ZERO)
        };
        let low = Self {
            weights: integers(true),
            required: total(false).max(1),
        };
        let high = Self {
            weights: integers(false),
            required: total(true),
        };
        (low, high)
    }
}

/// The smallest value at which integer weights reach a total of at least 1, by halving selection.
fn reached(mut items: &mut [Weighted], weights: &[u128], mut missing: u128) -> f64 {
    let weigh = |items: &[Weighted]| -> u128 { items.iter().map(|item| weights[item.1 as usize]).sum() };
    if let [weight] = weights {
        // One class: a rank.
        let k = missing.div_ceil((*weight).max(1)).max(1);
        return match usize::try_from(k) {
            Ok(k) if k <= items.len() && *weight > 0 => {
                items
                    .select_nth_unstable_by(k - 1, |a, b| a.0.total_cmp(&b.0))
                    .1
                    .0
            }
            _ => f64::INFINITY,
        };
    }
    if weigh(items) < missing {
        return f64::INFINITY;
    }
    while items.len() > 1 {
        let middle = items.len() / 2;
        items.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0));
        let (low, high) = items.split_at_mut(middle);
        let below = weigh(low);
        if below >= missing {
            items = low;
        } else {
            missing -= below;
            items = high;
        }
    }
    items.first().map_or(f64::INFINITY, |item| item.0)
}

/// The answer among the values from `first` on, sums compared exactly.
fn between(items: &mut [Weighted], weights: &[Weight], required: &Required, first: f64) -> f64 {
    items.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let one = weights.iter().fold(BigUint::from(1_u32), |lcm, weight| {
        lcm.lcm(&BigUint::from(weight.denominator))
    });
    let total = &required.numerator * &one;
    // One at a time: all of them together may be large.
    let of_class = |class: u32, count: u64| {
        let weight = weights[class as usize];
        &one / weight.denominator * weight.numerator * count * &required.denominator
    };
    let mut counts = vec![0_u64; weights.len()];
    let start = items.partition_point(|item| item.0.total_cmp(&first).is_lt());
    for item in &items[..start] {
        counts[item.1 as usize] += 1;
    }
    let mut sum: BigUint = (0..)
        .zip(&counts)
        .map(|(class, &count)| of_class(class, count))
        .sum();
    for item in &items[start..] {
        sum += of_class(item.1, 1);
        if sum >= total {
            return item.0;
        }
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A fraction of natural numbers, not reduced.
    #[derive(Clone)]
    struct Sum(BigUint, BigUint);

    impl Sum {
        fn of(items: &[Weighted], weights: &[Weight]) -> Self {
            let zero = Self(BigUint::ZERO, BigUint::from(1_u32));
            items.iter().fold(zero, |Self(p, q), item| {
                let Weight {
                    numerator,
                    denominator,
                } = weights[item.1 as usize];
                Self(p * denominator + &q * numerator, q * denominator)
            })
        }

        fn reaches(&self, required: &Required) -> bool {
            &self.0 * &required.denominator >= &required.numerator * &self.1
        }
    }

    fn brute(items: &[Weighted], weights: &[Weight], required: &Required) -> f64 {
        let mut sorted = items.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let reached = (1..=sorted.len()).find(|&n| Sum::of(&sorted[..n], weights).reaches(required));
        reached.map_or(f64::INFINITY, |n| sorted[n - 1].0)
    }

    fn check(
        items: &[Weighted],
        weights: &[Weight],
        required: &Required,
    ) -> std::result::Result<(), TestCaseError> {
        let expected = brute(items, weights, required);
        prop_assert_eq!(weighted(&mut items.to_vec(), weights, required), expected);
        let (low, high) = Scaled::rounded(items, weights, required);
        let first = reached(&mut items.to_vec(), &low.weights, low.required);
        let last = reached(&mut items.to_vec(), &high.weights, high.required);
        prop_assert!(first <= expected && expected <= last);
        prop_assert_eq!(between(&mut items.to_vec(), weights, required, first), expected);
        Ok(())
    }

    fn weights() -> impl Strategy<Value = Vec<Weight>> {
        let one = (0_u64..40, prop_oneof![1_u128..30, (1_u128 << 60)..(1 << 61)]);
        let weight = one.prop_map(|(numerator, denominator)| Weight {
            numerator,
            denominator,
        });
        prop::collection::vec(weight, 1..6)
    }

    proptest! {
        #[test]
        fn equals_the_sorted_walk(
            raw in prop::collection::vec((0_u8..12, 0_usize..6), 0..200),
            weights in weights(),
            numerator in 1_u64..60_000,
            denominator in 1_u64..900,
        ) {
            let items: Vec<Weighted> = raw
                .iter()
                .map(|&(s, c)| (f64::from(s) / 8.0, u32::try_from(c % weights.len()).unwrap()))
                .collect();
            let required = Required { numerator: numerator.into(), denominator: denominator.into() };
            check(&items, &weights, &required)?;
        }

        /// Totals that a sum of weights equals, where rounding would decide.
        #[test]
        fn equality_is_reached(
            raw in prop::collection::vec((0_u8..40, 0_usize..6), 1..60),
            weights in weights(),
            upto in 0_u8..40,
        ) {
            let items: Vec<Weighted> = raw
                .iter()
                .map(|&(s, c)| (f64::from(s) / 8.0, u32::try_from(c % weights.len()).unwrap()))
                .collect();
            let below: Vec<Weighted> =
                items.iter().filter(|item| item.0 <= f64::from(upto) / 8.0).copied().collect();
            let Sum(numerator, denominator) = Sum::of(&below, &weights);
            if numerator != BigUint::ZERO {
                check(&items, &weights, &Required { numerator, denominator })?;
            }
        }

        #[test]
        fn unit_weights_are_the_plain_rank(raw in prop::collection::vec(-9_i8..9, 1..100), k in 1_usize..120) {
            let scores: Vec<f64> = raw.iter().map(|&s| f64::from(s)).collect();
            let mut items: Vec<Weighted> = scores.iter().map(|&s| (s, 0)).collect();
            let plain = super::super::kth_smallest(&scores, k).unwrap();
            let unit = Weight { numerator: 1, denominator: 1 };
            let required = Required { numerator: k.into(), denominator: 1_u32.into() };
            prop_assert_eq!(weighted(&mut items, &[unit], &required), plain);
        }
    }

    /// A thousand topics of different sizes: no 128 bits hold the least common multiple, and the sum is met with equality.
    #[test]
    fn many_sizes_are_exact_at_equality() {
        let sizes: Vec<u64> = (1..=1000).collect();
        let weights: Vec<Weight> = sizes
            .iter()
            .map(|&size| Weight {
                numerator: 1,
                denominator: size.into(),
            })
            .collect();
        let mut items: Vec<Weighted> = Vec::new();
        for (class, &size) in (0..).zip(&sizes) {
            // The first 900 topics lie below 1, the others above.
            let base = if size <= 900 { 0.0 } else { 1.0 };
            items.extend((0..size).map(|i| (base + i as f64 / 2000.0, class)));
        }
        assert!(
            Scaled::exact(
                &items,
                &weights,
                &Required {
                    numerator: 1_u32.into(),
                    denominator: 1_u32.into()
                }
            )
            .is_none()
        );
        let exact = Required {
            numerator: 900_u32.into(),
            denominator: 1_u32.into(),
        };
        let largest_below = items
            .iter()
            .map(|item| item.0)
            .filter(|&v| v < 1.0)
            .fold(0.0, f64::max);
        assert_eq!(weighted(&mut items.clone(), &weights, &exact), largest_below);
        let more = Required {
            numerator: (900_u64 * 10_u64.pow(15) + 1).into(),
            denominator: 10_u64.pow(15).into(),
        };
        assert_eq!(weighted(&mut items, &weights, &more), 1.0);
    }
}
