//! Keeping: the scores of a query's candidates against a rule.

use crate::conformal::{Family, GroupThresholds, Groups, Threshold, mean_and_sd};
use crate::{Error, Result};

/// A score as its owner stores it; comparison with a threshold is in double precision.
pub trait Score: Copy {
    /// The score in double precision, exactly.
    fn widen(self) -> f64;
}

impl Score for f64 {
    fn widen(self) -> f64 {
        self
    }
}

impl Score for f32 {
    fn widen(self) -> f64 {
        self.into()
    }
}

/// The positions of the scores that are kept (score ≤ threshold + slack), ascending. O(n).
///
/// # Errors
///
/// [`Error::NonFinite`] naming the first NaN or infinity: neither decides by the order of a comparison.
/// [`Error::WrongFamily`] for a rule that is not about scores by themselves: [`keep_listed`] serves it.
pub fn keep<S: Score>(scores: &[S], threshold: &Threshold) -> Result<Vec<usize>> {
    if threshold.family != Family::Threshold {
        return Err(Error::WrongFamily {
            call: "keep",
            family: threshold.family.as_str(),
            instead: "keep_listed",
        });
    }
    let limit = threshold.limit();
    check_finite(scores)?;
    Ok((0..scores.len())
        .filter(|&i| scores[i].widen() <= limit)
        .collect())
}

/// As [`keep`], by a rule of any family. `scores` are those of all candidates of one query; `sizes`, in the unit of the
/// calibration, are needed for [`Family::Tokens`]. O(n log n).
///
/// # Errors
///
/// As [`keep`]; [`Error::Needed`] without sizes, [`Error::LengthMismatch`].
pub fn keep_listed<S: Score>(
    scores: &[S],
    sizes: Option<&[u64]>,
    threshold: &Threshold,
) -> Result<Vec<usize>> {
    let values = family_values(scores, sizes, threshold.family)?;
    let limit = threshold.limit();
    Ok((0..values.len()).filter(|&i| values[i] <= limit).collect())
}

/// What is kept by thresholds of groups, and how many candidates are in no group that has one: these are kept.
///
/// A candidate of several groups is kept where one of them keeps it.
///
/// # Errors
///
/// As [`keep_listed`]; [`Error::LengthMismatch`] unless there is an entry of groups for each score.
pub fn keep_by_group<S: Score>(
    scores: &[S],
    sizes: Option<&[u64]>,
    groups: &[Groups],
    thresholds: &GroupThresholds,
) -> Result<(Vec<usize>, usize)> {
    if groups.len() != scores.len() {
        return Err(Error::LengthMismatch {
            name: "group",
            expected: scores.len(),
            got: groups.len(),
        });
    }
    let values = family_values(scores, sizes, thresholds.family())?;
    let (mut kept, mut unseen) = (Vec::new(), 0);
    for (i, (value, groups)) in values.iter().zip(groups).enumerate() {
        let limits = groups.names().filter_map(|name| thresholds.thresholds.get(name));
        let limit = limits.map(Threshold::limit).reduce(f64::max);
        unseen += usize::from(limit.is_none());
        if limit.is_none_or(|limit| *value <= limit) {
            kept.push(i);
        }
    }
    Ok((kept, unseen))
}

/// What each candidate's parameter is compared with.
fn family_values<S: Score>(scores: &[S], sizes: Option<&[u64]>, family: Family) -> Result<Vec<f64>> {
    check_finite(scores)?;
    let scores: Vec<f64> = scores.iter().map(|score| score.widen()).collect();
    if sizes.is_some() && family != Family::Tokens {
        return Err(Error::Unavailable {
            what: "size=",
            with: "a rule that counts no sizes",
        });
    }
    if family == Family::Threshold {
        return Ok(scores);
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    // Finite, and the sort is stable: ascending by (score, position), +0 and -0 alike.
    order.sort_by(|&a, &b| {
        scores[a]
            .partial_cmp(&scores[b])
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut values = vec![0.0; scores.len()];
    match family {
        Family::Threshold | Family::Relative => {
            let mean = mean_and_sd(&scores, &order).0;
            for (value, score) in values.iter_mut().zip(&scores) {
                *value = score - mean;
            }
        }
        Family::TopK => {
            for (rank, &row) in (1_u32..).zip(&order) {
                values[row] = f64::from(rank);
            }
        }
        Family::Tokens => {
            let sizes = sizes.ok_or(Error::Needed {
                what: "a token budget",
                needs: "size=, the size of each candidate in the unit it was calibrated in",
            })?;
            if sizes.len() != scores.len() {
                return Err(Error::LengthMismatch {
                    name: "size",
                    expected: scores.len(),
                    got: sizes.len(),
                });
            }
            let mut total = 0_u64;
            for &row in &order {
                total = total.saturating_add(sizes[row]);
                // Above 2^53 the sum is rounded; no budget reaches so far.
                values[row] = total as f64;
            }
        }
    }
    Ok(values)
}

fn check_finite<S: Score>(scores: &[S]) -> Result<()> {
    match scores.iter().position(|score| !score.widen().is_finite()) {
        Some(index) => Err(Error::NonFinite {
            name: "scores",
            index,
            value: scores[index].widen(),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_is_kept_and_nan_is_refused() {
        let threshold = Threshold::fixed(0.5).unwrap();
        assert_eq!(
            keep(&[0.5, 0.500_000_000_000_000_1, 0.4999, 0.9], &threshold).unwrap(),
            [0, 2]
        );
        assert!(matches!(
            keep(&[0.2, f64::NAN], &threshold),
            Err(Error::NonFinite { index: 1, .. })
        ));
        assert_eq!(
            keep(&[0.1, 2.0, 1.0], &Threshold::fixed(f64::INFINITY).unwrap()).unwrap(),
            [0, 1, 2]
        );
        assert_eq!(keep::<f64>(&[], &threshold).unwrap(), [0_usize; 0]);
    }

    fn rule(family: Family, value: f64) -> Threshold {
        Threshold {
            family,
            ..Threshold::fixed(value).unwrap()
        }
    }

    #[test]
    fn families_look_at_the_whole_list() {
        let scores = [0.5, 0.25, 0.5, 1.0, 0.25];
        let kept =
            |family, value, sizes: Option<&[u64]>| keep_listed(&scores, sizes, &rule(family, value)).unwrap();
        // Mean 0.5.
        assert_eq!(kept(Family::Relative, 0.0, None), [0, 1, 2, 4]);
        assert_eq!(kept(Family::Relative, -0.25, None), [1, 4]);
        // Ties by position.
        assert_eq!(kept(Family::TopK, 3.0, None), [0, 1, 4]);
        assert_eq!(kept(Family::TopK, f64::INFINITY, None), [0, 1, 2, 3, 4]);
        // In order of score: 1 (10), 4 (30), 0 (35): the first that does not fit ends it.
        let sizes = [5, 10, 1, 1, 20];
        assert_eq!(kept(Family::Tokens, 34.0, Some(&sizes)), [1, 4]);
        assert_eq!(kept(Family::Tokens, 35.0, Some(&sizes)), [0, 1, 4]);
        assert_eq!(kept(Family::Tokens, 9.0, Some(&sizes)), [0_usize; 0]);
        assert_eq!(
            keep_listed::<f64>(&[], None, &rule(Family::Relative, 0.0)).unwrap(),
            [0_usize; 0]
        );
        for (family, sizes) in [
            (Family::Tokens, None),
            (Family::TopK, Some(&sizes[..])),
            (Family::Tokens, Some(&sizes[..3])),
        ] {
            assert!(keep_listed(&scores, sizes, &rule(family, 3.0)).is_err());
        }
        assert!(matches!(
            keep(&scores, &rule(Family::TopK, 3.0)),
            Err(Error::WrongFamily { .. })
        ));
    }

    #[test]
    fn groups_have_their_own_thresholds() {
        let groups = |names: &[&str]| Groups::Several(names.iter().map(|&name| name.to_owned()).collect());
        let thresholds = GroupThresholds {
            thresholds: [("en", 0.25), ("zh", 0.75)]
                .map(|(name, value)| (name.to_owned(), rule(Family::Threshold, value)))
                .into(),
            grouping: None,
        };
        let of = [
            "en".into(),
            "zh".into(),
            groups(&["en", "zh"]),
            "de".into(),
            groups(&[]),
            "en".into(),
        ];
        let scores = [0.5_f32, 0.5, 0.5, 9.0, 9.0, 0.25];
        assert_eq!(
            keep_by_group(&scores, None, &of, &thresholds).unwrap(),
            (vec![1, 2, 3, 4, 5], 2)
        );
        assert!(keep_by_group(&scores, None, &of[1..], &thresholds).is_err());
    }
}
