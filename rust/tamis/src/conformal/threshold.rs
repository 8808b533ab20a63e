//! Thresholds and what each promises.

use std::fmt;

use num_bigint::BigUint;
use num_integer::Integer;

use super::calibration::Calibration;
use super::identity::Identity;
use super::level::Level;
use super::select;
use crate::{Error, Result};

/// What is new in production: the unit that a promise averages over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A new topic (or joined component of queries).
    Topic,
    /// A new query, exchangeable with the calibration queries.
    Query,
    /// A snippet drawn from the calibration queries' own mix.
    Snippet,
}

impl Unit {
    /// The word used in arguments, files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Topic => "topic",
            Self::Query => "query",
            Self::Snippet => "snippet",
        }
    }

    /// The word for more than one.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Topic => "topics",
            Self::Query => "queries",
            Self::Snippet => "snippets",
        }
    }
}

/// What a threshold bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The mean share of relevant snippets kept.
    Recall,
    /// Total missed over total relevant.
    Total,
}

impl Target {
    /// The word used in arguments, files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::Total => "total",
        }
    }
}

/// Keep a snippet iff score ≤ value + slack.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// The threshold; +∞ keeps everything; never NaN.
    pub value: f64,
    /// How far above `value` a score may lie and still be kept.
    pub slack: f64,
    /// Promised miscoverage; `None` for a fixed threshold, which promises nothing.
    pub alpha: Option<Level>,
    /// Probability over calibration sets that the promise fails; `None` when it is a mean over them.
    pub delta: Option<Level>,
    /// What the promise averages over.
    pub unit: Option<Unit>,
    /// What is promised.
    pub target: Option<Target>,
    /// Relevant snippets it was made from.
    pub n_cal: u64,
    /// Units with at least one relevant snippet.
    pub n_units: u64,
    /// 1st and 99th percentile of the number of candidates per calibration query, where known.
    pub candidates_range: Option<(f64, f64)>,
    /// What scores must be made by.
    pub scorer: Option<Identity>,
    /// What snippets must be cut by.
    pub chunker: Option<Identity>,
}

impl Threshold {
    /// A threshold without a promise: a baseline, or the kernel alone.
    ///
    /// # Errors
    ///
    /// [`Error::NanThreshold`].
    pub fn fixed(value: f64) -> Result<Self> {
        if value.is_nan() {
            return Err(Error::NanThreshold);
        }
        Ok(Self {
            value,
            slack: 0.0,
            alpha: None,
            delta: None,
            unit: None,
            target: None,
            n_cal: 0,
            n_units: 0,
            candidates_range: None,
            scorer: None,
            chunker: None,
        })
    }

    /// Whether every score is kept, because the calibration set is too small for this alpha.
    pub fn keeps_everything(&self) -> bool {
        self.value == f64::INFINITY
    }

    /// The number of units that a finite threshold needs at this alpha: ⌈1/alpha⌉ − 1. `None` where that is not the rule:
    /// for a fixed threshold, a promise with delta, and the total target.
    pub fn n_units_needed(&self) -> Option<BigUint> {
        if self.delta.is_some() || self.target == Some(Target::Total) {
            return None;
        }
        self.alpha
            .as_ref()
            .map(|alpha| alpha.denominator().div_ceil(alpha.numerator()) - 1_u32)
    }

    /// The largest score that is kept.
    pub fn limit(&self) -> f64 {
        self.value + self.slack
    }

    /// The largest single-precision score that is kept: what a kernel compares with.
    pub fn limit_f32(&self) -> f32 {
        let limit = self.limit();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "rounded to the nearest, then stepped down if that is above"
        )]
        let nearest = limit as f32;
        if f64::from(nearest) > limit {
            nearest.next_down()
        } else {
            nearest
        }
    }

    /// Refuses a scorer other than the calibrated one. Without an identity on the threshold there is nothing to check.
    ///
    /// # Errors
    ///
    /// [`Error::IdentityMismatch`] naming the fields that differ.
    pub fn check_scorer(&self, used: Option<&Identity>) -> Result<()> {
        check("scorer", self.scorer.as_ref(), used)
    }

    /// Whether rows are scored as [unit vectors](crate::Rows::unit): as the scorer's identity says by a field `rows` that is
    /// `"unit"`, since that is another score. Without an identity, as `declared`.
    ///
    /// # Errors
    ///
    /// [`Error::IdentityMismatch`] when they are declared otherwise than in the identity.
    pub fn unit_rows(&self, declared: Option<bool>) -> Result<bool> {
        let Some(scorer) = &self.scorer else {
            return Ok(declared.unwrap_or(false));
        };
        let calibrated = scorer.says("rows", "unit");
        match declared {
            Some(declared) if declared != calibrated => Err(Error::IdentityMismatch {
                part: "scorer",
                differences: format!(
                    "scorer.rows: calibrated with {scorer}, whose rows {} declared \"unit\", used with rows that {}",
                    if calibrated { "are" } else { "are not" },
                    if declared { "are" } else { "are not" },
                ),
            }),
            _ => Ok(calibrated),
        }
    }

    /// Refuses a chunker other than the calibrated one.
    ///
    /// # Errors
    ///
    /// [`Error::IdentityMismatch`] naming the fields that differ.
    pub fn check_chunker(&self, used: Option<&Identity>) -> Result<()> {
        check("chunker", self.chunker.as_ref(), used)
    }
}

fn check(part: &'static str, calibrated: Option<&Identity>, used: Option<&Identity>) -> Result<()> {
    match (calibrated, used) {
        (Some(calibrated), Some(used)) => calibrated.check(part, used),
        (Some(calibrated), None) => Err(Error::IdentityMissing {
            part,
            calibrated: calibrated.to_string(),
        }),
        (None, _) => Ok(()),
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((alpha, unit)) = self.alpha.as_ref().zip(self.unit) else {
            return write!(f, "fixed threshold {}: no promise", self.value);
        };
        if self.keeps_everything() {
            return write!(
                f,
                "alpha {alpha}, unit {}: +infinity, keeps everything",
                unit.as_str()
            );
        }
        write!(f, "alpha {alpha}, unit {}: {}", unit.as_str(), self.value)
    }
}

impl Calibration {
    /// The smallest threshold that keeps the promise at alpha for a new unit; +∞ when the units are too few.
    ///
    /// * Snippet: P(score ≤ threshold) ≥ 1 − alpha, marginally, for a relevant snippet exchangeable with the pooled ones:
    ///   the ⌈(n+1)(1−alpha)⌉-th smallest (Vovk et al. 2005).
    /// * Topic, query: E\[share of relevant snippets missed\] ≤ alpha, marginally, for a new unit exchangeable with the
    ///   calibration units: (Σ miss + 1)/(K + 1) ≤ alpha (conformal risk control with B = 1, Angelopoulos et al. 2024;
    ///   the quantile of hierarchical conformal prediction, Lee, Barber & Willett 2023, after Dunn, Wasserman & Ramdas
    ///   2022). A topic's miss is the mean over its queries; units without a relevant snippet are left out, so the
    ///   promise is for answerable units.
    ///
    /// Exact: integers throughout. O(n) for the selection, O(n log n) where topics are joined from documents.
    ///
    /// # Errors
    ///
    /// [`Error::MissingField`] when the unit asks for ids that were not given.
    pub fn threshold(&self, alpha: &Level, unit: Unit) -> Result<Threshold> {
        let scores = &self.positives.score;
        let (value, n_units) = match unit {
            Unit::Snippet => {
                let k = super::rank::conformal_rank(scores.len() as u64, alpha);
                let k = usize::try_from(k).unwrap_or(usize::MAX);
                (select::kth_smallest(scores, k)?, scores.len() as u64)
            }
            Unit::Query | Unit::Topic => self.risk_controlled(alpha, unit)?,
        };
        Ok(self.made(value, alpha, unit, Target::Recall, n_units))
    }

    /// A threshold of this calibration.
    pub(crate) fn made(
        &self,
        value: f64,
        alpha: &Level,
        unit: Unit,
        target: Target,
        n_units: u64,
    ) -> Threshold {
        Threshold {
            value,
            slack: self.slack,
            alpha: Some(alpha.clone()),
            delta: None,
            unit: Some(unit),
            target: Some(target),
            n_cal: self.positives.score.len() as u64,
            n_units,
            candidates_range: self.candidates_range(),
            scorer: self.scorer.clone(),
            chunker: self.chunker.clone(),
        }
    }

    /// Threshold and number of units. Each relevant snippet weighs its share of its unit's loss.
    fn risk_controlled(&self, alpha: &Level, unit: Unit) -> Result<(f64, u64)> {
        let (shares, n_units) = self.shares(unit)?;
        let n_units = n_units as u64;

        // Classes of equal weight 1/d: few, since most queries have few relevant snippets.
        let mut class_of = std::collections::HashMap::new();
        let mut denominators: Vec<BigUint> = Vec::new();
        let mut items: Vec<select::Weighted> = Vec::with_capacity(shares.len());
        for (share, &score) in shares.iter().zip(&self.positives.score) {
            let class = *class_of
                .entry((share.queries, share.snippets))
                .or_insert_with(|| {
                    denominators.push(BigUint::from(share.queries) * share.snippets);
                    u32::try_from(denominators.len() - 1).unwrap_or(u32::MAX)
                });
            items.push((score, class));
        }
        let one = denominators
            .iter()
            .fold(BigUint::from(1_u32), |lcm, d| lcm.lcm(d));
        let weights: Vec<BigUint> = denominators.iter().map(|d| &one / d).collect();

        // (Σ miss + 1)/(K + 1) ≤ alpha, times the least common multiple `one`.
        let allowed = alpha.floor_mul(&(&one * (n_units + 1)));
        if allowed < one {
            return Ok((f64::INFINITY, n_units));
        }
        let required = &one * (n_units + 1) - allowed;
        Ok((select::weighted(&mut items, &weights, &required), n_units))
    }
}
