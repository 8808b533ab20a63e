//! Several ranks at once: their brackets share one sample and one reading of the scores.

use std::convert::Infallible;

use super::pass::{self, Kernel, Stop, Tally};
use super::real::Real;
use super::sample::{self, Bracket};

/// Up to here selections one by one cost less than a sort of as many scores as need no sample.
const FEW_PLACES: usize = 16;

/// The k-th smallest for each k (from 1), +∞ where k is 0 or exceeds the length; `None` when a score is not finite.
pub(super) fn kth_each<T: Real>(kernel: Kernel, scores: &[T], ks: &[usize]) -> Option<Vec<T>> {
    let n = scores.len();
    let mut places: Vec<usize> = ks
        .iter()
        .filter(|&&k| k <= n)
        .filter_map(|k| k.checked_sub(1))
        .collect();
    places.sort_unstable();
    places.dedup();
    let found = if places.is_empty() {
        super::all_finite(scores).then(Vec::new)?
    } else if n <= super::SMALL {
        small(kernel, scores, &places)?
    } else {
        large(kernel, scores, &places)?
    };
    let at = |k: &usize| {
        let place = k
            .checked_sub(1)
            .and_then(|place| places.binary_search(&place).ok());
        place.map_or(T::ABOVE, |at| found[at])
    };
    Some(ks.iter().map(at).collect())
}

fn small<T: Real>(kernel: Kernel, scores: &[T], places: &[usize]) -> Option<Vec<T>> {
    if places.len() <= FEW_PLACES {
        return places.iter().map(|&k| super::kth(kernel, scores, k)).collect();
    }
    if !super::all_finite(scores) {
        return None;
    }
    let mut sorted = scores.to_vec();
    sorted.sort_unstable_by(T::compare);
    Some(places.iter().map(|&place| sorted[place]).collect())
}

fn large<T: Real>(kernel: Kernel, scores: &[T], places: &[usize]) -> Option<Vec<T>> {
    let n = scores.len();
    let mut sample = sample::sample(scores, 0);
    let m = sample.len();
    sample.sort_unstable_by(T::compare);
    let bracket = |&place: &usize| {
        let ends = sample::places(place, n, m, sample::width(0));
        let Ok(bracket) = sample::bracket(n, m, ends, |at| Ok::<T, Infallible>(sample[at]));
        bracket
    };
    let brackets: Vec<Bracket<T>> = places.iter().map(bracket).collect();
    let mut buffers: Vec<Vec<T>> = brackets.iter().map(|bracket| bracket.buffer(n)).collect();
    let mut tallies: Vec<Tally<'_, T>> = brackets
        .iter()
        .zip(&mut buffers)
        .map(|(bracket, buffer)| Tally::new(bracket.low, bracket.high, buffer))
        .collect();
    match pass::run(kernel, scores, &mut tallies) {
        Err(Stop::NonFinite) => return None,
        // The sample was no picture of the input: each rank by itself, which has a way that never fails.
        Err(Stop::Overflow) => {
            drop(buffers);
            return places.iter().map(|&k| super::kth(kernel, scores, k)).collect();
        }
        Ok(()) => {}
    }
    let mut scratch = Vec::new();
    places
        .iter()
        .zip(&mut tallies)
        .map(
            |(&k, tally)| match super::found(kernel, scores, k, tally, &mut scratch) {
                Ok(Some(score)) => Some(score),
                _ => super::kth(kernel, scores, k),
            },
        )
        .collect()
}
