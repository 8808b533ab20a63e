//! Thresholds and what each promises.

use std::fmt;

use num_bigint::BigUint;

use super::family::Family;
use super::identity::Identity;
use super::level::Level;
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
    /// Every unit.
    pub const ALL: [Self; 3] = [Self::Topic, Self::Query, Self::Snippet];

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
    /// That nothing relevant is dropped: the mean share of queries of which everything relevant is kept.
    All,
    /// The mean share of labelled spans that a kept snippet holds.
    Evidence,
}

impl Target {
    /// Every target.
    pub const ALL: [Self; 4] = [Self::Recall, Self::Total, Self::All, Self::Evidence];

    /// The word used in arguments, files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::Total => "total",
            Self::All => "all",
            Self::Evidence => "evidence",
        }
    }
}

/// What weights by another mix of units cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// (Σ w)² / Σ w²: units without weights that these are worth (Kish 1965).
    pub effective_units: f64,
    /// The new unit's part of all weight: what is set aside for it.
    pub mass_at_infinity: f64,
}

/// Keep a snippet iff its value in the family is at most `value` + slack: its score ≤ value + slack, in the family of thresholds.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// What the parameter is compared with.
    pub family: Family,
    /// The family's parameter; +∞ keeps everything; never NaN.
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
    /// For a promise about another mix of units.
    pub shift: Option<Shift>,
    /// 1st and 99th percentile of the number of candidates per calibration query, where known.
    pub candidates_range: Option<(f64, f64)>,
    /// 1st and 99th percentile of the sizes of calibration candidates, where known.
    pub size_range: Option<(f64, f64)>,
    /// What sizes are counted in, where it was said.
    pub size_unit: Option<String>,
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
        Self::fixed_in(Family::Threshold, value)
    }

    /// As [`Threshold::fixed`], of any family.
    ///
    /// # Errors
    ///
    /// [`Error::NanThreshold`].
    pub fn fixed_in(family: Family, value: f64) -> Result<Self> {
        if value.is_nan() {
            return Err(Error::NanThreshold);
        }
        Ok(Self {
            family,
            value,
            slack: 0.0,
            alpha: None,
            delta: None,
            unit: None,
            target: None,
            n_cal: 0,
            n_units: 0,
            shift: None,
            candidates_range: None,
            size_range: None,
            size_unit: None,
            scorer: None,
            chunker: None,
        })
    }

    /// Whether every score is kept, because the calibration set is too small for this alpha.
    pub fn keeps_everything(&self) -> bool {
        self.value == f64::INFINITY
    }

    /// The number of units that a finite threshold needs at this alpha: ⌈1/alpha⌉ − 1. `None` where that is not the rule:
    /// for a fixed threshold, a promise with delta, the total target, and weighted units.
    pub fn n_units_needed(&self) -> Option<BigUint> {
        if self.delta.is_some() || self.target == Some(Target::Total) || self.shift.is_some() {
            return None;
        }
        self.alpha.as_ref().map(super::plan::units_needed)
    }

    /// What its user should know of before relying on it: weights so uneven that few units carry the promise.
    pub fn warning(&self) -> Option<String> {
        let (shift, alpha) = self.shift.as_ref().zip(self.alpha.as_ref())?;
        let needed = 2.0 / alpha.to_f64();
        (shift.effective_units < needed).then(|| {
            format!(
                "weighted calibration: {} {} are worth {:.1} without weights, fewer than 2/alpha = {needed:.0}; \
                 the threshold rests on few of them, and varies accordingly",
                self.n_units,
                self.unit.map_or("units", Unit::plural),
                shift.effective_units,
            )
        })
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
            let what = match self.family {
                Family::Threshold => "threshold",
                Family::Relative => "relative threshold",
                Family::TopK => "top-k",
                Family::Tokens => "token budget",
            };
            return write!(f, "fixed {what} {}: no promise", self.value);
        };
        write!(f, "alpha {alpha}, ")?;
        if let Some(delta) = &self.delta {
            write!(f, "delta {delta}, ")?;
        }
        write!(f, "unit {}", unit.as_str())?;
        if let Some(target) = self.target.filter(|&target| target != Target::Recall) {
            write!(f, ", target {}", target.as_str())?;
        }
        if self.keeps_everything() {
            return write!(f, ": +infinity, keeps everything");
        }
        write!(f, ": {}", self.value)
    }
}
