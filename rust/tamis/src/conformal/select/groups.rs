//! A rank in each of many groups by one pass: no sort by group, no copy of the scores.

use std::convert::Infallible;

use super::real::Real;
use super::sample::{self, Bracket};

/// A group's bracket and what was met of it.
#[derive(Debug, Clone, Copy)]
struct Group<T> {
    low: T,
    high: T,
    below_low: usize,
    equal_low: usize,
    equal_high: usize,
    /// Where its next score inside goes.
    next: usize,
}

/// Scores kept for each group beyond what is expected, and whole groups that are smaller.
const SMALL: usize = 128;

/// The score of the rank (from 1) that `rank` gives for the group's number of scores, in every group; +∞ where the rank is
/// 0 or exceeds that number, as in an empty group. `None` when a score is not finite.
///
/// `groups` are below `n_groups` and parallel to `scores`. O(n + groups); memory of a few per cent of the scores plus 128
/// a group, up to all scores of the groups whose bracket misses.
pub(super) fn kth_by_group<T: Real>(
    scores: &[T],
    groups: &[u32],
    n_groups: usize,
    rank: impl Fn(u64) -> u64,
) -> Option<Vec<T>> {
    let counts = counts(groups, n_groups);
    // The place (from 0) wanted in each group that has it.
    let wanted: Vec<Option<usize>> = counts
        .iter()
        .map(|&count| {
            let k = usize::try_from(rank(count as u64)).unwrap_or(usize::MAX);
            (k <= count).then(|| k.checked_sub(1)).flatten()
        })
        .collect();
    let brackets = brackets(scores, groups, &counts, &wanted);
    let ends = ends(brackets.iter().map(|bracket| bracket.expected));
    let mut table: Vec<Group<T>> = Vec::with_capacity(n_groups);
    let mut start = 0;
    for (bracket, &end) in brackets.iter().zip(&ends) {
        table.push(Group {
            low: bracket.low,
            high: bracket.high,
            below_low: 0,
            equal_low: 0,
            equal_high: 0,
            next: start,
        });
        start = end;
    }
    let mut inside = vec![T::default(); start];
    if !pass(scores, groups, &mut table, &ends, &mut inside) {
        return None;
    }
    let mut start = 0;
    let mut missed = vec![false; n_groups];
    let mut found = vec![T::ABOVE; n_groups];
    for (g, (group, &end)) in table.iter().zip(&ends).enumerate() {
        if let Some(place) = wanted[g] {
            // More inside than there is room for is a miss, too.
            let fits = group.next <= end;
            match resolve(group, place, &mut inside[start..group.next.min(end)]) {
                Some(score) if fits => found[g] = score,
                _ => missed[g] = true,
            }
        }
        start = end;
    }
    if missed.contains(&true) {
        drop(inside);
        second_pass(scores, groups, &counts, &wanted, &missed, &mut found);
    }
    Some(found)
}

fn counts(groups: &[u32], n_groups: usize) -> Vec<usize> {
    let mut counts = vec![0; n_groups];
    for &group in groups {
        counts[group as usize] += 1;
    }
    counts
}

/// Where each of consecutive stretches ends.
fn ends(lengths: impl Iterator<Item = usize>) -> Vec<usize> {
    lengths
        .scan(0, |end, length| {
            *end += length;
            Some(*end)
        })
        .collect()
}

/// As many for each group as it would get alone, were they all of the same size.
pub(super) fn sample_size(n: usize, n_groups: usize) -> usize {
    let mean = n / n_groups.max(1);
    sample::size(mean, 0).saturating_mul(n_groups).min(n / 8)
}

/// One sample of all scores, split by group. Small groups get a bracket that holds everything.
fn brackets<T: Real>(
    scores: &[T],
    groups: &[u32],
    counts: &[usize],
    wanted: &[Option<usize>],
) -> Vec<Bracket<T>> {
    let n = scores.len();
    let m = sample_size(n, counts.len());
    let mut samples: Vec<Vec<T>> = vec![Vec::new(); counts.len()];
    if m > 0 {
        for at in sample::positions(n, m, 0) {
            samples[groups[at] as usize].push(scores[at]);
        }
    }
    samples
        .into_iter()
        .zip(counts)
        .zip(wanted)
        .map(|((mut sample, &count), &place)| match place {
            Some(_) if count <= SMALL || sample.len() < 8 => Bracket {
                low: T::BELOW,
                high: T::ABOVE,
                expected: count,
            },
            Some(place) => {
                let m = sample.len();
                let places = sample::places(place, count, m, sample::width(0));
                let at = |at| Ok::<T, Infallible>(*sample.select_nth_unstable_by(at, T::compare).1);
                let Ok(bracket) = sample::bracket(count, m, places, at);
                bracket
            }
            None => Bracket {
                low: T::ABOVE,
                high: T::ABOVE,
                expected: 0,
            },
        })
        .collect()
}

/// False on a score that is not finite.
fn pass<T: Real>(
    scores: &[T],
    groups: &[u32],
    table: &mut [Group<T>],
    ends: &[usize],
    inside: &mut [T],
) -> bool {
    let mut finite = true;
    for (&score, &g) in scores.iter().zip(groups) {
        let group = &mut table[g as usize];
        finite &= score.finite();
        group.below_low += usize::from(score < group.low);
        if score >= group.low && score <= group.high {
            if score == group.low {
                group.equal_low += 1;
            } else if score == group.high {
                group.equal_high += 1;
            } else {
                // What does not fit is still counted, so that the group is seen to have missed.
                if group.next < ends[g as usize] {
                    inside[group.next] = score;
                }
                group.next += 1;
            }
        }
    }
    finite
}

/// The score at a place of the group, if its bracket holds it.
fn resolve<T: Real>(group: &Group<T>, place: usize, inside: &mut [T]) -> Option<T> {
    let place = place.checked_sub(group.below_low)?;
    let Some(place) = place.checked_sub(group.equal_low) else {
        return Some(group.low);
    };
    if place < inside.len() {
        return Some(*inside.select_nth_unstable_by(place, T::compare).1);
    }
    (place - inside.len() < group.equal_high).then_some(group.high)
}

/// Gathers the groups that missed and selects in each: the way that never fails.
fn second_pass<T: Real>(
    scores: &[T],
    groups: &[u32],
    counts: &[usize],
    wanted: &[Option<usize>],
    missed: &[bool],
    found: &mut [T],
) {
    let length = |g: usize| if missed[g] { counts[g] } else { 0 };
    let ends = ends((0..counts.len()).map(length));
    let mut next: Vec<usize> = ends.iter().enumerate().map(|(g, &end)| end - length(g)).collect();
    let mut gathered = vec![T::default(); ends.last().copied().unwrap_or(0)];
    for (&score, &g) in scores.iter().zip(groups) {
        if missed[g as usize] {
            gathered[next[g as usize]] = score;
            next[g as usize] += 1;
        }
    }
    for (g, &end) in ends.iter().enumerate() {
        if let (true, Some(place)) = (missed[g], wanted[g]) {
            let own = &mut gathered[end - counts[g]..end];
            found[g] = *own.select_nth_unstable_by(place, T::compare).1;
        }
    }
}
