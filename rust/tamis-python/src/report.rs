//! `Report` and `DesignEffect`.

use pyo3::prelude::*;

use crate::rule::{Source, rule_out};

/// What a calibration holds and promises; its text is for people.
#[pyclass(frozen, module = "tamis", name = "Report")]
pub(crate) struct PyReport(pub(crate) tamis::Report);

#[pymethods]
impl PyReport {
    /// Queries, answerable or not; None without query ids.
    #[getter]
    fn n_queries(&self) -> Option<u64> {
        self.0.n_queries
    }

    /// Queries with a relevant snippet; None without query ids.
    #[getter]
    fn n_answerable(&self) -> Option<u64> {
        self.0.n_answerable
    }

    /// Independent units; None when the calibration cannot say.
    #[getter]
    fn n_topics(&self) -> Option<u64> {
        self.0.n_topics
    }

    /// Relevant snippets.
    #[getter]
    fn n_positives(&self) -> u64 {
        self.0.n_positives
    }

    /// Within-query AUC; None when no query holds both relevant and other snippets.
    #[getter]
    fn auc(&self) -> Option<f64> {
        self.0.auc
    }

    /// Design effect at the alpha 0.1 threshold; None when it is not defined.
    #[getter]
    fn design_effect(&self) -> Option<f64> {
        self.0.design_effect
    }

    /// Number of independent snippets that these are worth; None when it is not defined.
    #[getter]
    fn effective_n(&self) -> Option<f64> {
        self.0.effective_n
    }

    /// Thresholds at alpha 0.05, 0.1 and 0.2 for the default unit.
    #[getter]
    fn thresholds<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let out = |core: &tamis::Threshold| rule_out(py, core.clone(), Source::Id(None));
        self.0.thresholds.iter().map(out).collect()
    }

    /// Labelled spans, those lost before scoring, those not retrieved (None = unknown); None without span labels.
    #[getter]
    fn evidence(&self) -> Option<(u64, u64, Option<u64>)> {
        self.0.evidence
    }

    /// Warnings in plain words.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.clone()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }
}

/// Spread of the pooled miss rate when topics are the independent draws.
#[pyclass(frozen, module = "tamis", name = "DesignEffect")]
pub(crate) struct PyDesignEffect(pub(crate) tamis::DesignEffect);

#[pymethods]
impl PyDesignEffect {
    /// Relevant snippets.
    #[getter]
    fn n(&self) -> u64 {
        self.0.n
    }

    /// Topics with at least one.
    #[getter]
    fn n_units(&self) -> u64 {
        self.0.n_units
    }

    /// Share of relevant snippets above the threshold.
    #[getter]
    fn miss_rate(&self) -> f64 {
        self.0.miss_rate
    }

    /// Between-topic variance of the miss rate; None for fewer than two topics.
    #[getter]
    fn variance(&self) -> Option<f64> {
        self.0.variance
    }

    /// That variance over the variance of n independent snippets; None when the miss rate is 0 or 1.
    #[getter]
    fn design_effect(&self) -> Option<f64> {
        self.0.design_effect
    }

    /// n over the design effect; None when that is 0 or not defined.
    #[getter]
    fn effective_n(&self) -> Option<f64> {
        self.0.effective_n
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
