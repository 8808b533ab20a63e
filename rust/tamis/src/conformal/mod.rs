//! Split conformal calibration: labelled scores in, thresholds with a promise out.

mod artefact;
mod calibration;
mod design;
mod direction;
mod family;
mod fit;
mod group;
mod guarantee;
mod identity;
mod level;
mod loss;
mod plan;
mod pvalue;
mod rank;
mod report;
mod risk;
mod select;
mod summary;
mod threshold;
mod units;
mod weight;

pub use calibration::{Calibration, Candidates, Declaration, Direction, Evidence, Positives, Queries};
pub use design::DesignEffect;
pub use family::Family;
pub use fit::{Input, LabelledSpans};
pub use group::Groups;
pub use guarantee::{GroupThresholds, Guarantee};
pub use identity::{Identity, Scalar};
pub use level::Level;
pub use plan::{FEW_UNITS, positives_needed, snippets_needed_pac, units_needed, units_needed_pac};
pub use pvalue::{conformal_pvalue, conformal_pvalue_randomised, conformal_pvalues, sorted_scores};
pub use rank::{
    conformal_quantile, conformal_quantile_by, conformal_quantiles, conformal_quantiles_by_group,
    conformal_rank,
};
pub use report::Report;
pub use risk::Order;
pub use select::{GroupNumber, Real};
pub(crate) use summary::mean_and_sd;
pub use summary::{Summary, score_quartiles};
pub use threshold::{Shift, Target, Threshold, Unit};
pub use units::Column;
