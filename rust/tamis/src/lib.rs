//! Filters retrieved context before a language model sees it, and promises how much of the relevant evidence survives.
//!
//! Chunk, score, calibrate once, keep. The method is split conformal prediction applied right after retrieval
//! (arXiv 2511.17908), with the topic rather than the pooled snippet as the default unit of the promise.
//!
//! ```
//! use tamis::{Calibration, Column, Input, Level, Unit, keep};
//!
//! // Twenty topics, one relevant snippet (low score) and one other (high score) in each.
//! let scores: Vec<f64> = (0..40).map(|i| f64::from(i % 2) + f64::from(i) / 100.0).collect();
//! let relevant: Vec<bool> = (0..40).map(|i| i % 2 == 0).collect();
//! let topic = Column::from_ids((0..40).map(|i| format!("topic {}", i / 2)));
//! let calibration = Calibration::fit(Input {
//!     scores: &scores, relevant: &relevant, topic: Some(topic), check_direction: true, ..Input::default()
//! })?;
//! let threshold = calibration.threshold(&Level::parse("alpha", "0.1")?, Unit::Topic)?;
//! assert_eq!(threshold.value, 0.36);
//! assert_eq!(keep(&[0.1, 0.36, 0.9], &threshold)?, [0, 1]);
//! # Ok::<(), tamis::Error>(())
//! ```

mod chunk;
mod conformal;
mod cosine;
mod error;
mod filter;
mod keep;

pub use chunk::*;
pub use conformal::{
    Calibration, Candidates, Column, Declaration, DesignEffect, Direction, Evidence, FEW_UNITS, Family,
    GroupNumber, GroupThresholds, Groups, Guarantee, Identity, Input, LabelledSpans, Level, Order, Positives,
    Queries, Real, Report, Scalar, Shift, Summary, Target, Threshold, Unit, conformal_pvalue,
    conformal_pvalue_randomised, conformal_pvalues, conformal_quantile, conformal_quantile_by,
    conformal_quantiles, conformal_quantiles_by_group, conformal_rank, positives_needed, score_quartiles,
    snippets_needed_pac, sorted_scores, units_needed, units_needed_pac,
};
pub use cosine::{Element, Float, Kernel, Rows, Scoring, cosine_scores, cosine_scores_into};
pub use error::{Error, Result};
pub use filter::{SelectedMany, merge_spans, select, select_into, select_many};
pub use keep::{Score, keep, keep_by_group, keep_listed};
