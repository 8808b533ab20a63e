//! The Python face of tamis: translates and nothing else.
#![allow(
    missing_docs,
    reason = "the crate's face is the Python stub python/tamis/_tamis.pyi"
)]

mod array;
mod calibration;
mod chunker;
mod detach;
mod error;
mod functions;
mod identity;
mod level;
mod options;
mod plan;
mod report;
mod rule;
mod snippets;

/// Native half of tamis.
#[pyo3::pymodule(gil_used = false)]
mod _tamis {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::calibration::PyCalibration;
    #[pymodule_export]
    use super::chunker::PyChunker;
    #[pymodule_export]
    use super::functions::{
        conformal_pvalue, conformal_quantile, conformal_quantiles, conformal_quantiles_by_group,
        conformal_rank, cosine_scores, merge_spans, score_quartiles,
    };
    #[pymodule_export]
    use super::plan::{positives_needed, snippets_needed, units_needed};
    #[pymodule_export]
    use super::report::{PyDesignEffect, PyReport};
    #[pymodule_export]
    use super::rule::{
        PyGroupThresholds, PyRelativeThreshold, PyRule, PyThreshold, PyTokenBudget, PyTopK,
    };
    #[pymodule_export]
    use super::snippets::{PySnippet, PySnippets};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::error::register(module)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("_few_units", tamis::FEW_UNITS)?;
        module.add("_debug_build", cfg!(debug_assertions))
    }
}
