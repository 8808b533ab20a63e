//! From what is to be promised to the smallest parameter that keeps the promise.

use std::collections::{BTreeMap, HashMap};

use num_bigint::BigUint;

use super::calibration::Calibration;
use super::family::Family;
use super::level::Level;
use super::loss::Losses;
use super::risk::Order;
use super::select::{self, Required, Weight};
use super::threshold::{Shift, Target, Threshold, Unit};
use crate::{Error, Result};

/// What is to be promised.
#[derive(Debug, Clone)]
pub struct Guarantee<'a> {
    /// The share that may be missed.
    pub alpha: &'a Level,
    /// What is new in production.
    pub unit: Unit,
    /// What is counted.
    pub target: Target,
    /// Which rules there are to choose from.
    pub family: Family,
    /// With this probability over calibration sets the promise may fail; `None`: a promise on average over them.
    pub delta: Option<&'a Level>,
    /// The order in which a betting bound looks at units; for `delta`.
    pub order: Order,
    /// The parameters to choose from, in any order; by default every one.
    pub grid: Option<&'a [f64]>,
    /// A bound on the relevant snippets of any unit; for [`Target::Total`].
    pub max_positives: Option<u64>,
    /// The new unit's weight, where calibration units have weights; by default the largest of theirs.
    pub test_weight: Option<f64>,
}

impl<'a> Guarantee<'a> {
    /// The mean recall of a new unit, by a threshold on the score.
    pub fn recall(alpha: &'a Level, unit: Unit) -> Self {
        Self {
            alpha,
            unit,
            target: Target::Recall,
            family: Family::Threshold,
            delta: None,
            order: Order::Seeded(0),
            grid: None,
            max_positives: None,
            test_weight: None,
        }
    }
}

/// One threshold for each group of snippets.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupThresholds {
    /// By group. A snippet of a group that is not here is kept.
    pub thresholds: BTreeMap<String, Threshold>,
    /// What makes the groups, where tamis makes them at use too.
    pub grouping: Option<String>,
}

impl GroupThresholds {
    /// The family of all of them.
    pub fn family(&self) -> Family {
        self.thresholds
            .values()
            .next()
            .map_or(Family::Threshold, |threshold| threshold.family)
    }

    /// The most lenient of them, valid for every group by itself, with the smallest numbers of items and units.
    ///
    /// Infinite where there is no group: without one, everything is kept.
    ///
    /// # Errors
    ///
    /// None: a threshold is never NaN.
    pub fn most_lenient(&self) -> Result<Threshold> {
        let each = || self.thresholds.values();
        let Some(largest) = each().max_by(|a, b| a.limit().total_cmp(&b.limit())) else {
            return Threshold::fixed(f64::INFINITY);
        };
        Ok(Threshold {
            n_cal: each().map(|threshold| threshold.n_cal).min().unwrap_or(0),
            n_units: each().map(|threshold| threshold.n_units).min().unwrap_or(0),
            ..largest.clone()
        })
    }
}

impl Calibration {
    /// The smallest threshold that keeps the promise at alpha for a new unit; +∞ when the units are too few.
    ///
    /// [`Calibration::guarantee`] of the mean recall.
    ///
    /// # Errors
    ///
    /// As [`Calibration::guarantee`].
    pub fn threshold(&self, alpha: &Level, unit: Unit) -> Result<Threshold> {
        self.guarantee(&Guarantee::recall(alpha, unit))
    }

    /// The smallest parameter of the family that keeps the promise for a new unit; +∞ when the units are too few.
    ///
    /// * Snippet: P(value ≤ parameter) ≥ 1 − alpha, marginally, for a relevant snippet exchangeable with the pooled ones:
    ///   the ⌈(n+1)(1−alpha)⌉-th smallest (Vovk et al. 2005).
    /// * Topic, query: E\[share of items missed\] ≤ alpha, marginally, for a new unit exchangeable with the
    ///   calibration units: (Σ miss + 1)/(K + 1) ≤ alpha (conformal risk control with B = 1, Angelopoulos et al. 2024;
    ///   the quantile of hierarchical conformal prediction, Lee, Barber & Willett 2023, after Dunn, Wasserman & Ramdas
    ///   2022). A topic's miss is the mean over its queries; units without an item are left out, so the promise is for
    ///   answerable units.
    /// * Items are relevant snippets; for [`Target::All`] each query's last relevant one; for [`Target::Evidence`] labelled
    ///   spans, each by its best snippet. For [`Target::Total`] the items missed over all items, by a bound on those of one
    ///   unit.
    /// * With `delta` the promise holds for this very calibration set with probability at least 1 − delta, by a betting bound
    ///   on the units' losses (Waudby-Smith & Ramdas 2024, in risk control after Bates et al. 2021).
    /// * With weights w of the units, Σ w·miss + w′ ≤ alpha (Σ w + w′), w′ the new unit's: the promise is for a mix of units
    ///   in which w is how much more likely one is than in the calibration set (Tibshirani, Barber, Candès & Ramdas 2019).
    ///
    /// Exact: integers throughout. O(n) for the selection, O(n log n) where topics are joined from documents.
    ///
    /// # Errors
    ///
    /// [`Error::MissingField`] when the question needs what was not given; [`Error::Unavailable`] and
    /// [`Error::Needed`] for arguments that do not go together.
    pub fn guarantee(&self, asked: &Guarantee<'_>) -> Result<Threshold> {
        self.check(asked)?;
        self.of_rows(asked, None)
    }

    /// [`Calibration::guarantee`] for each group of snippets by itself: conditional on the group, which may depend on
    /// features but not on labels (Mondrian conformal prediction, Vovk 2012). A unit counts in the groups in which it has
    /// an item. A snippet of several groups is kept where one of them keeps it: their maximum is valid for each.
    ///
    /// # Errors
    ///
    /// As [`Calibration::guarantee`]; [`Error::MissingField`] without groups.
    pub fn guarantee_by_group(&self, asked: &Guarantee<'_>) -> Result<GroupThresholds> {
        self.check(asked)?;
        if asked.target == Target::Evidence {
            return Err(Error::Unavailable {
                what: "by_group=True",
                with: "target \"evidence\": groups are of snippets, not of spans",
            });
        }
        let group = self.positives.group.as_ref().ok_or(Error::MissingField {
            question: "by_group=True",
            field: "group",
            remedy: "pass group= to Calibration.fit",
        })?;
        let mut rows: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (row, groups) in group.iter().enumerate() {
            for name in groups.names() {
                rows.entry(name).or_default().push(row);
            }
        }
        let each =
            |(name, rows): (&str, Vec<usize>)| Ok((name.to_owned(), self.of_rows(asked, Some(&rows))?));
        Ok(GroupThresholds {
            thresholds: rows.into_iter().map(each).collect::<Result<_>>()?,
            grouping: self.positives.grouping.clone(),
        })
    }

    /// Arguments that do not go together.
    fn check(&self, asked: &Guarantee<'_>) -> Result<()> {
        let unavailable = |what, with| Err(Error::Unavailable { what, with });
        let total = asked.target == Target::Total;
        match asked.max_positives {
            None if total => {
                return Err(Error::Needed {
                    what: "target \"total\"",
                    needs: "max_positives=, a bound on the relevant snippets of a unit",
                });
            }
            Some(_) if !total => {
                return Err(Error::Needed {
                    what: "max_positives=",
                    needs: "target \"total\"",
                });
            }
            _ => {}
        }
        if total && asked.delta.is_some() {
            return unavailable("delta=", "target \"total\"");
        }
        if asked.target == Target::All && asked.unit == Unit::Snippet {
            return unavailable("target \"all\"", "unit \"snippet\"");
        }
        if self.positives.weight.is_some() {
            if total {
                return unavailable("target \"total\"", "weight=");
            }
            if asked.delta.is_some() {
                return unavailable("delta=", "weight=");
            }
        } else if asked.test_weight.is_some() {
            return Err(Error::MissingField {
                question: "test_weight=",
                field: "weight",
                remedy: "pass weight= to Calibration.fit",
            });
        }
        Ok(())
    }

    fn of_rows(&self, asked: &Guarantee<'_>, rows: Option<&[usize]>) -> Result<Threshold> {
        let Guarantee {
            alpha,
            unit,
            target,
            family,
            ..
        } = *asked;
        let plain = target == Target::Recall && family == Family::Threshold && rows.is_none();
        if plain && unit == Unit::Snippet && asked.delta.is_none() && self.positives.weight.is_none() {
            // A rank: nothing is built.
            let scores = &self.positives.score;
            let n = scores.len() as u64;
            let k = super::rank::conformal_rank(n, alpha);
            let value = select::kth_smallest(scores, usize::try_from(k).unwrap_or(usize::MAX))?;
            return self.made(asked, value, (n, n), None);
        }
        let losses = self.losses(unit, target, family, rows)?;
        let n = (losses.values.len() as u64, losses.n_units as u64);
        if let Some(delta) = asked.delta {
            let value = super::risk::betting(&losses, alpha, delta, asked.grid, asked.order)?;
            return self.made(asked, value, n, None);
        }
        if let Some(bound) = asked.max_positives {
            let value = super::risk::total(&losses.values, alpha, bound)?;
            return self.made(asked, value, n, None);
        }
        let (value, shift) = self.risk_controlled(&losses, alpha, asked.test_weight)?;
        self.made(asked, value, n, shift)
    }

    /// A threshold of this calibration, from `n` items of units.
    fn made(
        &self,
        asked: &Guarantee<'_>,
        value: f64,
        n: (u64, u64),
        shift: Option<Shift>,
    ) -> Result<Threshold> {
        let value = match asked.grid {
            // The bound with delta has walked the grid.
            Some(grid) if asked.delta.is_none() => on_grid(value, grid)?,
            _ => value,
        };
        Ok(Threshold {
            family: asked.family,
            value,
            slack: if asked.family.is_whole() { 0.0 } else { self.slack },
            alpha: Some(asked.alpha.clone()),
            delta: asked.delta.cloned(),
            unit: Some(asked.unit),
            target: Some(asked.target),
            n_cal: n.0,
            n_units: n.1,
            shift,
            candidates_range: self.candidates_range(),
            size_range: self.size_range(),
            size_unit: self.summary.size_unit.clone(),
            scorer: self.scorer.clone(),
            chunker: self.chunker.clone(),
        })
    }

    /// The smallest value at which Σ w·miss + w′ ≤ alpha (Σ w + w′), and what the weights cost.
    fn risk_controlled(
        &self,
        losses: &Losses,
        alpha: &Level,
        test_weight: Option<f64>,
    ) -> Result<(f64, Option<Shift>)> {
        let weights = losses.weights.as_deref();
        let n_units = losses.n_units as u64;
        let new = match (weights, test_weight) {
            (None, _) => 1,
            (Some(weights), None) => weights.iter().max().copied().unwrap_or(0),
            (Some(_), Some(weight)) => self.quantised(weight)?,
        };
        let total = weights.map_or(BigUint::from(n_units), |weights| {
            weights.iter().map(|&weight| BigUint::from(weight)).sum()
        });
        let with_new = &total + new;
        let shift = weights.map(|weights| {
            let squares: f64 = weights.iter().map(|&weight| (weight as f64).powi(2)).sum();
            let sum: f64 = weights.iter().map(|&weight| weight as f64).sum();
            Shift {
                effective_units: sum.powi(2) / squares,
                mass_at_infinity: new as f64 / (sum + new as f64),
            }
        });

        // Classes of equal weight: few, since most queries have few relevant snippets.
        let mut class_of = HashMap::new();
        let mut classes: Vec<Weight> = Vec::new();
        let mut items: Vec<select::Weighted> = Vec::with_capacity(losses.values.len());
        for (share, &value) in losses.shares.iter().zip(&losses.values) {
            let weight = Weight {
                numerator: weights.map_or(1, |weights| weights[share.unit]),
                denominator: u128::from(share.queries) * u128::from(share.items),
            };
            let class = *class_of.entry(weight).or_insert_with(|| {
                classes.push(weight);
                u32::try_from(classes.len() - 1).unwrap_or(u32::MAX)
            });
            items.push((value, class));
        }
        // Kept: Σ w·(1 − miss) ≥ (1 − alpha)(Σ w + w′).
        let required = Required {
            numerator: with_new * (alpha.denominator() - alpha.numerator()),
            denominator: alpha.denominator().clone(),
        };
        Ok((select::weighted(&mut items, &classes, &required), shift))
    }

    /// A weight as an integer of the calibration's scale, rounded up: more weight on the new unit promises no less.
    fn quantised(&self, weight: f64) -> Result<u64> {
        let scale = self.positives.weight_scale.unwrap_or(1.0);
        let scaled = (weight * scale).ceil();
        if !(weight.is_finite() && weight > 0.0 && scaled < 2_f64.powi(63)) {
            return Err(Error::Weight {
                name: "test_weight",
                index: 0,
                value: weight,
            });
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked: positive, whole and below 2^63"
        )]
        Ok(scaled as u64)
    }
}

/// The smallest value of a grid that is not below `value`; +∞ when none is.
fn on_grid(value: f64, grid: &[f64]) -> Result<f64> {
    super::fit::check_finite("grid", grid)?;
    let smallest = grid.iter().copied().filter(|&candidate| candidate >= value);
    Ok(smallest.fold(f64::INFINITY, f64::min))
}
