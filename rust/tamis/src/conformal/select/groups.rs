//! A rank in each of many groups by one pass: no sort by group, no copy of the scores.

use super::pass::{BLOCK, Kernel, Stop};
use super::real::Real;
use super::sample::{self, Bracket};

/// What numbers groups: `u32` or `i64`. Sealed: the kernels know these two.
pub trait GroupNumber: Copy + Default + Send + Sync {
    /// The number as a position; a negative one is beyond every length.
    fn place(self) -> usize;
}

impl GroupNumber for u32 {
    fn place(self) -> usize {
        self as usize
    }
}

impl GroupNumber for i64 {
    fn place(self) -> usize {
        usize::try_from(self).unwrap_or(usize::MAX)
    }
}

/// A group's bracket and what was met of it among the scores that passed its gate.
#[derive(Debug, Clone, Copy)]
struct Group<T> {
    low: T,
    high: T,
    met: usize,
    below_low: usize,
    equal_low: usize,
    equal_high: usize,
    /// Where its next score inside goes.
    next: usize,
    /// Its last slot, for what does not fit.
    last: usize,
}

/// Scores kept for each group beyond what is expected, and whole groups that are smaller.
const SMALL: usize = 128;
/// Below this number groups are counted four at a time.
const FEW_GROUPS: usize = 1024;

/// Scores between two hints to the memory, which by itself does not keep up with two inputs.
const PART: usize = 16;

#[cfg(target_arch = "x86_64")]
use super::avx512::ask_ahead;
#[cfg(not(target_arch = "x86_64"))]
fn ask_ahead<T>(_: &[T]) {}

/// The side of its bracket where a score has to be looked at again; beyond the other a group's total tells their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// At most the high end.
    Lower,
    /// At least the low end.
    Upper,
}

/// The score of the rank (from 1) that `rank` gives for the group's number of scores, in every group; +∞ where the rank is
/// 0 or exceeds that number, as in an empty group. `None` when a score is not finite.
///
/// `groups` are parallel to `scores`, and `counts` are theirs. O(n + groups); memory of a few per cent of the scores plus
/// 128 a group, up to all scores of the groups whose bracket misses.
pub(super) fn kth_by_group<T: Real, G: GroupNumber>(
    kernel: Kernel,
    scores: &[T],
    groups: &[G],
    counts: &[usize],
    rank: impl Fn(u64) -> u64,
) -> Option<Vec<T>> {
    // The place (from 0) wanted in each group that has it.
    let wanted: Vec<Option<usize>> = counts
        .iter()
        .map(|&count| {
            let k = usize::try_from(rank(count as u64)).unwrap_or(usize::MAX);
            (k <= count).then(|| k.checked_sub(1)).flatten()
        })
        .collect();
    let places: usize = wanted.iter().flatten().sum();
    let side = if places < scores.len() / 2 {
        Side::Lower
    } else {
        Side::Upper
    };
    let mut scratch = Vec::new();
    let brackets = brackets(kernel, scores, groups, counts, &wanted, &mut scratch)?;
    let (mut table, slots) = table(&brackets);
    let mut inside = vec![T::default(); slots];
    if !pass(side, scores, groups, &mut table, &mut inside) {
        return None;
    }
    let mut start = 0;
    let mut missed = vec![false; counts.len()];
    let mut found = vec![T::ABOVE; counts.len()];
    for (g, group) in table.iter_mut().enumerate() {
        if let Some(place) = wanted[g] {
            if side == Side::Upper {
                group.below_low = counts[g] - group.met;
            }
            // More inside than there is room for is a miss, too.
            let own = &mut inside[start..group.next.min(group.last)];
            match resolve(kernel, group, place, own, &mut scratch).ok()? {
                Some(score) if group.next <= group.last => found[g] = score,
                _ => missed[g] = true,
            }
        }
        start = group.last + 1;
    }
    if missed.contains(&true) {
        drop(inside);
        second_pass(scores, groups, counts, &wanted, &missed, &mut found);
    }
    Some(found)
}

/// A group may have no scores: so many numbers are accepted however few the scores are.
const SURELY: usize = 1 << 16;

/// The numbers of groups that n scores may have are below this.
pub(super) fn limit(n: usize) -> usize {
    n.max(SURELY)
}

/// How many scores each group has, as far as the last group that has one; the index of the first number beyond the limit.
pub(super) fn counts<G: GroupNumber>(groups: &[G]) -> Result<Vec<usize>, usize> {
    let few = FEW_GROUPS.min(groups.len());
    // A count in memory waits for its own last increment: in a run of one group four can wait at once.
    let [mut counts, mut second, mut third, mut fourth] = [const { Vec::new() }; 4];
    for counts in [&mut counts, &mut second, &mut third, &mut fourth] {
        counts.resize(few, 0);
    }
    let mut n_counted = 0;
    for (i, numbers) in groups.as_chunks::<4>().0.iter().enumerate() {
        if i % (PART / 4) == 0 {
            ask_ahead(&groups[4 * i..(4 * i + PART).min(groups.len())]);
        }
        let [a, b, c, d] = numbers.map(GroupNumber::place);
        if a.max(b).max(c).max(d) >= few {
            break;
        }
        counts[a] += 1;
        second[b] += 1;
        third[c] += 1;
        fourth[d] += 1;
        n_counted += 4;
    }
    for (g, count) in counts.iter_mut().enumerate() {
        *count += second[g] + third[g] + fourth[g];
    }
    for (index, group) in groups.iter().enumerate().skip(n_counted) {
        let place = group.place();
        if place >= limit(groups.len()) {
            return Err(index);
        }
        if place >= counts.len() {
            counts.resize((2 * counts.len()).max(place + 1), 0);
        }
        counts[place] += 1;
    }
    let n_groups = counts
        .iter()
        .rposition(|&count| count > 0)
        .map_or(0, |last| last + 1);
    counts.truncate(n_groups);
    Ok(counts)
}

/// The groups in their initial state, and the number of slots that they need, one more each than they expect to use.
fn table<T: Real>(brackets: &[Bracket<T>]) -> (Vec<Group<T>>, usize) {
    let mut slots = 0;
    let table = brackets
        .iter()
        .map(|bracket| {
            let next = slots;
            slots += bracket.expected + 1;
            Group {
                low: bracket.low,
                high: bracket.high,
                met: 0,
                below_low: 0,
                equal_low: 0,
                equal_high: 0,
                next,
                last: slots - 1,
            }
        })
        .collect();
    (table, slots)
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
fn brackets<T: Real, G: GroupNumber>(
    kernel: Kernel,
    scores: &[T],
    groups: &[G],
    counts: &[usize],
    wanted: &[Option<usize>],
    scratch: &mut Vec<T>,
) -> Option<Vec<Bracket<T>>> {
    let n = scores.len();
    let m = sample_size(n, counts.len());
    let mut samples: Vec<Vec<T>> = vec![Vec::new(); counts.len()];
    if m > 0 {
        for at in sample::positions(n, m, 0) {
            samples[groups[at].place()].push(scores[at]);
        }
    }
    samples
        .into_iter()
        .zip(counts)
        .zip(wanted)
        .map(|((sample, &count), &place)| match place {
            Some(_) if count <= SMALL || sample.len() < 8 => Some(Bracket {
                low: T::BELOW,
                high: T::ABOVE,
                expected: count,
            }),
            Some(place) => {
                let m = sample.len();
                let places = sample::places(place, count, m, sample::width(0));
                let at = |at| super::owned(kernel, &mut sample.clone(), at, scratch);
                sample::bracket(count, m, places, at).ok()
            }
            // No score passes either gate.
            None => Some(Bracket {
                low: T::ABOVE,
                high: T::BELOW,
                expected: 0,
            }),
        })
        .collect()
}

/// False on a score that is not finite.
#[allow(clippy::needless_bitwise_bool, reason = "`&&` is a branch that guesses wrong")]
fn pass<T: Real, G: GroupNumber>(
    side: Side,
    scores: &[T],
    groups: &[G],
    table: &mut [Group<T>],
    inside: &mut [T],
) -> bool {
    let gates: Vec<T> = table
        .iter()
        .map(|group| match side {
            Side::Lower => group.high,
            Side::Upper => group.low,
        })
        .collect();
    let mut passed = [(T::default(), G::default()); BLOCK];
    for (scores, groups) in scores.chunks(BLOCK).zip(groups.chunks(BLOCK)) {
        let n_passed = match side {
            Side::Lower => through_gates(scores, groups, &gates, |score, gate| score <= gate, &mut passed),
            Side::Upper => through_gates(scores, groups, &gates, |score, gate| score >= gate, &mut passed),
        };
        let Some(n_passed) = n_passed else {
            return false;
        };
        for &(score, g) in &passed[..n_passed] {
            let group = &mut table[g.place()];
            group.met += 1;
            group.below_low += usize::from(score < group.low);
            group.equal_low += usize::from(score == group.low);
            group.equal_high += usize::from((score == group.high) & (group.low < group.high));
            // Written in any case and counted where it is inside; what does not fit is counted too, so that a miss is seen.
            inside[group.next.min(group.last)] = score;
            group.next += usize::from((score > group.low) & (score < group.high));
        }
    }
    true
}

/// Packs the scores of a block that pass their group's gate, with their groups; `None` when one is not finite.
fn through_gates<T: Real, G: GroupNumber>(
    scores: &[T],
    groups: &[G],
    gates: &[T],
    passes: impl Fn(T, T) -> bool,
    passed: &mut [(T, G); BLOCK],
) -> Option<usize> {
    let mut n_passed = 0;
    let mut finite = true;
    for (scores, groups) in scores.chunks(PART).zip(groups.chunks(PART)) {
        ask_ahead(scores);
        ask_ahead(groups);
        for (&score, &g) in scores.iter().zip(groups) {
            finite &= score.finite();
            // A block has no more scores than there are slots.
            passed[n_passed % BLOCK] = (score, g);
            n_passed += usize::from(passes(score, gates[g.place()]));
        }
    }
    finite.then_some(n_passed)
}

/// The score at a place of the group, if its bracket holds it.
fn resolve<T: Real>(
    kernel: Kernel,
    group: &Group<T>,
    place: usize,
    inside: &mut [T],
    scratch: &mut Vec<T>,
) -> Result<Option<T>, Stop> {
    let Some(place) = place.checked_sub(group.below_low) else {
        return Ok(None);
    };
    let Some(place) = place.checked_sub(group.equal_low) else {
        return Ok(Some(group.low));
    };
    if place < inside.len() {
        return super::owned(kernel, inside, place, scratch).map(Some);
    }
    Ok((place - inside.len() < group.equal_high).then_some(group.high))
}

/// Gathers the groups that missed and selects in each: the way that never fails.
fn second_pass<T: Real, G: GroupNumber>(
    scores: &[T],
    groups: &[G],
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
        if missed[g.place()] {
            gathered[next[g.place()]] = score;
            next[g.place()] += 1;
        }
    }
    for (g, &end) in ends.iter().enumerate() {
        if let (true, Some(place)) = (missed[g], wanted[g]) {
            let own = &mut gathered[end - counts[g]..end];
            found[g] = *own.select_nth_unstable_by(place, T::compare).1;
        }
    }
}
