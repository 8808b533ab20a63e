//! Selection by weight: the smallest score at which the exact integer weights reach a total.

use num_bigint::BigUint;

/// A score and the class its weight is looked up by.
pub(crate) type Weighted = (f64, u32);

/// The smallest score v such that the items at or below v weigh at least `required`; +∞ when all together weigh less.
///
/// Weights are exact integers by class (over the least common multiple of their denominators), so comparison at
/// equality is exact. Halving selection: O(n) comparisons; big integers are touched O(classes · log n) times only.
/// Reorders the items. `required` must be positive.
pub(crate) fn weighted(mut items: &mut [Weighted], weights: &[BigUint], required: &BigUint) -> f64 {
    let mut missing = required.clone();
    let mut counts = vec![0_u64; weights.len()];
    if weigh(items, weights, &mut counts) < missing {
        return f64::INFINITY;
    }
    while items.len() > 1 {
        let middle = items.len() / 2;
        items.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0));
        let (low, high) = items.split_at_mut(middle);
        let below = weigh(low, weights, &mut counts);
        if below >= missing {
            items = low;
        } else {
            missing -= below;
            items = high;
        }
    }
    items.first().map_or(f64::INFINITY, |item| item.0)
}

fn weigh(items: &[Weighted], weights: &[BigUint], counts: &mut [u64]) -> BigUint {
    counts.fill(0);
    for item in items {
        counts[item.1 as usize] += 1;
    }
    counts
        .iter()
        .zip(weights)
        .filter(|(count, _)| **count > 0)
        .map(|(count, weight)| weight * *count)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn brute(items: &[Weighted], weights: &[BigUint], required: &BigUint) -> f64 {
        let mut sorted = items.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = BigUint::ZERO;
        for (score, class) in sorted {
            sum += &weights[class as usize];
            if sum >= *required {
                return score;
            }
        }
        f64::INFINITY
    }

    proptest! {
        #[test]
        fn equals_the_sorted_walk(
            raw in prop::collection::vec((0_u8..12, 0_u32..4), 0..200),
            weights in prop::collection::vec(1_u64..1_000, 4),
            required in 1_u64..60_000,
        ) {
            let items: Vec<Weighted> = raw.iter().map(|&(s, c)| (f64::from(s) / 8.0, c)).collect();
            let weights: Vec<BigUint> = weights.into_iter().map(BigUint::from).collect();
            let required = BigUint::from(required);
            let expected = brute(&items, &weights, &required);
            prop_assert_eq!(weighted(&mut items.clone(), &weights, &required), expected);
        }

        #[test]
        fn unit_weights_are_the_plain_rank(raw in prop::collection::vec(-9_i8..9, 1..100), k in 1_usize..120) {
            let scores: Vec<f64> = raw.iter().map(|&s| f64::from(s)).collect();
            let mut items: Vec<Weighted> = scores.iter().map(|&s| (s, 0)).collect();
            let plain = super::super::kth_smallest(&scores, k).unwrap();
            prop_assert_eq!(weighted(&mut items, &[BigUint::from(1_u32)], &BigUint::from(k)), plain);
        }
    }
}
