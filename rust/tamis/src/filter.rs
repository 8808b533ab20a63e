//! Scoring and keeping in one pass, and kept neighbours joined into passages.

use crate::conformal::{Family, Threshold};
use crate::cosine::{BLOCK, Element, Padded, Rows, Scorer, Scoring, each_part};
use crate::{Error, Result};

/// Scores the rows and keeps by the threshold: `keep(cosine_scores(query, rows), threshold)` in one pass, with the scores.
///
/// # Errors
///
/// As [`cosine_scores`](crate::cosine_scores).
pub fn select<T: Element>(
    query: &[T::Query],
    rows: Rows<'_, T>,
    threshold: &Threshold,
) -> Result<(Vec<usize>, Vec<f32>)> {
    let (mut kept, mut scores) = (vec![0; rows.n()], vec![0.0; rows.n()]);
    let n_kept = select_into(
        query,
        rows,
        threshold,
        Scoring::default(),
        &mut kept,
        Some(&mut scores),
    )?;
    kept.truncate(n_kept);
    Ok((kept, scores))
}

/// [`select`] into buffers of the caller: the kept positions stand at the front of `kept`, their number is returned.
///
/// `kept` has an entry for every row, since all may be kept; so has `scores`, where wanted. One allocation for a
/// query of more than 400 components. What stands in the buffers behind the kept positions and after an error is unspecified.
///
/// # Errors
///
/// As [`cosine_scores`](crate::cosine_scores); [`Error::LengthMismatch`] for a buffer;
/// [`Error::WrongFamily`] for a rule that is not about scores by themselves.
pub fn select_into<T: Element>(
    query: &[T::Query],
    rows: Rows<'_, T>,
    threshold: &Threshold,
    scoring: Scoring,
    kept: &mut [usize],
    scores: Option<&mut [f32]>,
) -> Result<usize> {
    let n = rows.n();
    on_scores("select", threshold)?;
    check_length("kept", n, kept.len())?;
    if let Some(scores) = &scores {
        check_length("scores", n, scores.len())?;
    }
    let limit = threshold.limit_f32();
    let mut padded = Padded::new();
    let scorer = Scorer::new(&mut padded, 0, query, rows, scoring.kernel)?;
    let size = scoring.parts(&rows).size;
    // Without a buffer for scores, each part has an empty slice of one.
    let scores = scores.unwrap_or_default();
    if size >= n {
        // The usual case: without the allocations that parts need.
        return select_part(&scorer, limit, 0, kept, scores);
    }
    let mut score_parts = scores.chunks_mut(size);
    let parts: Vec<(&mut [usize], &mut [f32])> = kept
        .chunks_mut(size)
        .map(|kept| (kept, score_parts.next().unwrap_or_default()))
        .collect();
    let counts = each_part(parts.into_iter(), |part, (kept, scores)| {
        select_part(&scorer, limit, part * size, kept, scores)
    })?;
    let mut total = 0;
    for (part, n_kept) in counts.into_iter().enumerate() {
        kept.copy_within(part * size..part * size + n_kept, total);
        total += n_kept;
    }
    Ok(total)
}

/// Scores the rows from `first` on, as many as `kept` has entries, and writes the positions of those kept to its front;
/// writes the scores too where there is room for any.
fn select_part<T: Element>(
    scorer: &Scorer<'_, T>,
    limit: f32,
    first: usize,
    kept: &mut [usize],
    scores: &mut [f32],
) -> Result<usize> {
    let mut n_kept = 0;
    let mut scratch = [0.0; BLOCK];
    let n = kept.len();
    for start in (0..n).step_by(BLOCK) {
        let end = n.min(start + BLOCK);
        let block = if scores.is_empty() {
            &mut scratch[..end - start]
        } else {
            &mut scores[start..end]
        };
        scorer.score(first + start, block)?;
        for (k, score) in block.iter().enumerate() {
            // Written always and counted when kept: no branch to mispredict.
            kept[n_kept] = first + start + k;
            n_kept += usize::from(*score <= limit);
        }
    }
    Ok(n_kept)
}

/// What [`select_many`] keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectedMany {
    /// Positions of kept rows in the matrix, query after query, ascending.
    pub kept: Vec<usize>,
    /// Query q keeps `kept[kept_offsets[q]..kept_offsets[q + 1]]`.
    pub kept_offsets: Vec<usize>,
    /// The score of every row against its own query.
    pub scores: Vec<f32>,
}

/// [`select`] for a micro-batch: query q, a row of `queries`, has the rows `offsets[q]..offsets[q + 1]`. The same bits
/// as one query at a time, whatever `scoring` says. Threads share the rows, however these are divided among queries.
///
/// # Errors
///
/// As [`cosine_scores`](crate::cosine_scores), with positions in the whole matrix; [`Error::Offsets`] when offsets do not
/// ascend from 0 to the number of rows, one more than there are queries.
pub fn select_many<T: Element>(
    queries: Rows<'_, T::Query>,
    rows: Rows<'_, T>,
    offsets: &[usize],
    threshold: &Threshold,
    scoring: Scoring,
) -> Result<SelectedMany> {
    let n = rows.n();
    on_scores("select_many", threshold)?;
    let wrong = |index| Error::Offsets { index, n };
    if offsets.len() != queries.n() + 1 {
        return Err(wrong(offsets.len().min(queries.n() + 1)));
    }
    if let Some(index) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(wrong(index + 1));
    }
    if offsets[0] != 0 || offsets[queries.n()] != n {
        return Err(wrong(if offsets[0] == 0 { queries.n() } else { 0 }));
    }
    let limit = threshold.limit_f32();
    let mut scores = vec![0.0; n];
    let size = scoring.parts(&rows).size;
    // Without rows there is still a part, which checks the queries.
    let parts = n.div_ceil(size).max(1);
    let mut score_parts = scores.chunks_mut(size);
    let parts = (0..parts).map(|part| (part * size, score_parts.next().unwrap_or_default()));
    let parts: Vec<(usize, &mut [f32])> = parts.collect();
    let kept = each_part(parts.into_iter(), |_, (first, scores)| {
        let end = first + scores.len();
        let (mut kept, mut padded) = (Vec::new(), Padded::new());
        // A query is checked where its rows begin, one without rows as well (the last part has those at the end), so
        // the first error of the first part is the one that a single thread finds.
        let next = offsets.partition_point(|&offset| offset < first);
        let cut_in_two = offsets[next] > first;
        for q in next - usize::from(cut_in_two)..queries.n() {
            if offsets[q] >= end && end < n {
                break;
            }
            let (from, to) = (offsets[q].max(first), offsets[q + 1].min(end));
            let scorer = Scorer::new(&mut padded, q, queries.row(q), rows, scoring.kernel)?;
            for start in (from..to).step_by(BLOCK) {
                let block = &mut scores[start - first..to.min(start + BLOCK) - first];
                scorer.score(start, block)?;
                let found = (start..).zip(&*block).filter(|(_, score)| **score <= limit);
                kept.extend(found.map(|(index, _)| index));
            }
        }
        Ok(kept)
    })?
    .concat();
    let kept_offsets = offsets
        .iter()
        .map(|&offset| kept.partition_point(|&index| index < offset))
        .collect();
    Ok(SelectedMany {
        kept,
        kept_offsets,
        scores,
    })
}

/// Rules of other families look at a query's whole list, which a single pass does not.
fn on_scores(call: &'static str, threshold: &Threshold) -> Result<()> {
    if threshold.family == Family::Threshold {
        return Ok(());
    }
    Err(Error::WrongFamily {
        call,
        family: threshold.family.as_str(),
        instead: "cosine_scores and keep",
    })
}

fn check_length(name: &'static str, expected: usize, got: usize) -> Result<()> {
    if expected == got {
        Ok(())
    } else {
        Err(Error::LengthMismatch { name, expected, got })
    }
}

/// Joins spans that overlap or touch, per document: the text between is theirs and nothing is repeated.
///
/// `spans` are (document, start, end) in any order; the result is in ascending order. O(n log n).
pub fn merge_spans(spans: &[(usize, usize, usize)]) -> Vec<(usize, usize, usize)> {
    let mut sorted = spans.to_vec();
    sorted.sort_unstable();
    let mut merged: Vec<(usize, usize, usize)> = Vec::new();
    for (document, start, end) in sorted {
        match merged.last_mut() {
            Some(last) if last.0 == document && start <= last.2 => last.2 = last.2.max(end),
            _ => merged.push((document, start, end)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_single_precision_limit_never_exceeds_the_double() {
        for value in [0.1, 0.3, 1.0 / 3.0, 1.999_999_99, -0.1, 1e-60, 3e300] {
            let threshold = Threshold::fixed(value).unwrap();
            let limit = threshold.limit_f32();
            assert!(f64::from(limit) <= value);
            assert!(f64::from(limit.next_up()) > value);
        }
    }

    #[test]
    fn overlapping_spans_become_one_passage() {
        let spans = [(1, 0, 5), (0, 10, 20), (0, 15, 30), (0, 30, 31), (0, 40, 50)];
        assert_eq!(merge_spans(&spans), [(0, 10, 31), (0, 40, 50), (1, 0, 5)]);
    }
}
