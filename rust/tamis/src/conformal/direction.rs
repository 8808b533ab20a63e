//! Do lower scores go with relevance? Stores return similarities, and a threshold on those keeps the wrong half.

/// Mean over queries of the share of (relevant, other) pairs in which the relevant snippet scores lower, ties half.
///
/// `None` where no query holds both kinds. `lists` are the rows of each query. O(n log n).
pub(crate) fn within_query_auc<'a>(
    scores: &[f64],
    relevant: &[bool],
    lists: impl Iterator<Item = &'a [usize]>,
) -> Option<f64> {
    let (mut sum, mut queries) = (0.0, 0_u64);
    for rows in lists {
        if let Some(auc) = auc(scores, relevant, rows) {
            sum += auc;
            queries += 1;
        }
    }
    (queries > 0).then(|| sum / queries as f64)
}

/// `rows` are in ascending order of score.
fn auc(scores: &[f64], relevant: &[bool], rows: &[usize]) -> Option<f64> {
    let (mut positives, mut negatives, mut twice_wins) = (0_u64, 0_u64, 0_u64);
    for ties in rows.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let tied_positives = ties.iter().filter(|&&row| relevant[row]).count() as u64;
        let tied_negatives = ties.len() as u64 - tied_positives;
        // A negative beats no positive above it; every positive seen before it wins, every tied one wins half.
        twice_wins += tied_negatives * (2 * positives + tied_positives);
        positives += tied_positives;
        negatives += tied_negatives;
    }
    (positives > 0 && negatives > 0).then(|| twice_wins as f64 / (2 * positives * negatives) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted_within_queries_and_ties_count_half() {
        let scores = [0.1, 0.2, 0.2, 0.9, 5.0, 6.0];
        let relevant = [true, true, false, false, false, false];
        let first: &[usize] = &[0, 1, 2, 3];
        let unanswerable: &[usize] = &[4, 5];
        let auc = within_query_auc(&scores, &relevant, [first, unanswerable].into_iter());
        assert_eq!(auc, Some(3.5 / 4.0));
        assert_eq!(
            within_query_auc(&scores, &relevant, [unanswerable].into_iter()),
            None
        );
    }
}
