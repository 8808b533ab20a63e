//! `Rule`: what is kept of a query's candidates, in every family.

mod families;
mod groups;
mod pickled;
mod threshold;

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};

pub(crate) use families::{PyRelativeThreshold, PyTokenBudget, PyTopK};
pub(crate) use groups::{PyGroupThresholds, groups};
pub(crate) use threshold::PyThreshold;

use crate::array::{Embedding, Pair, Scores, indices_out, items, scores_out, with_pair, with_scores};
use crate::detach::maybe_detach;
use crate::error::BorderError;
use crate::functions::scoring;
use crate::identity::{identity, identity_out};
use crate::options::flag;

/// What is kept of a query's candidates.
#[pyclass(frozen, subclass, module = "tamis", name = "Rule")]
pub(crate) struct PyRule {
    pub(crate) core: tamis::Threshold,
    /// The thresholds of groups, of which `core` is the most lenient.
    groups: Option<Arc<tamis::GroupThresholds>>,
    /// Where it was made, for its id, which is computed only when asked for.
    calibration: Source,
}

/// Where a rule comes from.
#[derive(Clone)]
pub(crate) enum Source {
    /// A calibration in memory.
    Calibration(Arc<crate::calibration::Shared>),
    /// Only its id is known (after pickling), or there is none.
    Id(Option<String>),
}

/// A rule as an object of its family's class.
pub(crate) fn rule_out(
    py: Python<'_>,
    core: tamis::Threshold,
    calibration: Source,
) -> PyResult<Bound<'_, PyAny>> {
    let family = core.family;
    let rule = PyClassInitializer::from(PyRule {
        core,
        groups: None,
        calibration,
    });
    Ok(match family {
        tamis::Family::Threshold => Bound::new(py, rule.add_subclass(PyThreshold))?.into_any(),
        tamis::Family::Relative => Bound::new(py, rule.add_subclass(PyRelativeThreshold))?.into_any(),
        tamis::Family::TopK => Bound::new(py, rule.add_subclass(PyTopK))?.into_any(),
        tamis::Family::Tokens => Bound::new(py, rule.add_subclass(PyTokenBudget))?.into_any(),
    })
}

/// Thresholds of groups as an object.
pub(crate) fn groups_out(
    py: Python<'_>,
    groups: tamis::GroupThresholds,
    calibration: Source,
) -> PyResult<Bound<'_, PyAny>> {
    let rule = PyClassInitializer::from(PyRule {
        core: groups.most_lenient().map_err(BorderError)?,
        groups: Some(Arc::new(groups)),
        calibration,
    });
    Ok(Bound::new(py, rule.add_subclass(PyGroupThresholds))?.into_any())
}

#[pymethods]
impl PyRule {
    /// What a candidate's value is, by name.
    #[getter]
    fn family(&self) -> &'static str {
        self.core.family.as_str()
    }

    /// The family's parameter; infinity keeps everything.
    #[getter]
    fn value(&self) -> f64 {
        self.core.value
    }

    /// How far above the value a score may lie and still be kept.
    #[getter]
    fn slack(&self) -> f64 {
        self.core.slack
    }

    /// The promised miscoverage as it was written; None for a fixed rule.
    #[getter]
    fn alpha(&self) -> Option<&str> {
        self.core.alpha.as_ref().map(tamis::Level::as_str)
    }

    /// Probability over calibration sets that the promise fails; None when it is a mean over them.
    #[getter]
    fn delta(&self) -> Option<&str> {
        self.core.delta.as_ref().map(tamis::Level::as_str)
    }

    /// What the promise averages over: "topic", "query" or "snippet"; None for a fixed rule.
    #[getter]
    fn unit(&self) -> Option<&'static str> {
        self.core.unit.map(tamis::Unit::as_str)
    }

    /// What is promised: "recall", "total", "all" or "evidence"; None for a fixed rule.
    #[getter]
    fn target(&self) -> Option<&'static str> {
        self.core.target.map(tamis::Target::as_str)
    }

    /// Relevant snippets (or labelled spans) it was made from.
    #[getter]
    fn n_cal(&self) -> u64 {
        self.core.n_cal
    }

    /// Units with at least one of them it was made from.
    #[getter]
    fn n_units(&self) -> u64 {
        self.core.n_units
    }

    /// How many units a finite parameter needs at this alpha; None where that is no plain count.
    #[getter]
    fn n_units_needed<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let int = py.get_type::<PyInt>();
        self.core
            .n_units_needed()
            .map(|n| int.call1((n.to_string(),)))
            .transpose()
    }

    /// Units without weights that those of a weighted calibration are worth; None without weights.
    #[getter]
    fn effective_units(&self) -> Option<f64> {
        self.core.shift.map(|shift| shift.effective_units)
    }

    /// The new unit's part of all weight; None without weights.
    #[getter]
    fn mass_at_infinity(&self) -> Option<f64> {
        self.core.shift.map(|shift| shift.mass_at_infinity)
    }

    /// 1st and 99th percentile of the number of candidates per calibration query; None when unknown.
    #[getter]
    fn candidates_range(&self) -> Option<(f64, f64)> {
        self.core.candidates_range
    }

    /// 1st and 99th percentile of the sizes of calibration candidates; None when unknown.
    #[getter]
    fn size_range(&self) -> Option<(f64, f64)> {
        self.core.size_range
    }

    /// What sizes are counted in; None where it was not said.
    #[getter]
    fn size_unit(&self) -> Option<&str> {
        self.core.size_unit.as_deref()
    }

    /// Whether every candidate is kept.
    #[getter]
    fn keeps_everything(&self) -> bool {
        self.core.keeps_everything()
    }

    /// What scores must be made by; None when nothing was declared.
    #[getter]
    fn scorer<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        identity_out(py, self.core.scorer.as_ref())
    }

    /// What snippets must be cut by; None when nothing was declared.
    #[getter]
    fn chunker<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        identity_out(py, self.core.chunker.as_ref())
    }

    /// Names the calibration in results and logs; None for a fixed rule.
    #[getter]
    fn calibration_id(&self) -> Option<String> {
        self.id()
    }

    /// Positions of the candidates that are kept, ascending.
    #[pyo3(signature = (scores, *, size = None, group = None))]
    fn keep<'py>(
        &self,
        py: Python<'py>,
        scores: &Bound<'py, PyAny>,
        size: Option<&Bound<'py, PyAny>>,
        group: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Ok(indices_out(py, &self.kept(scores, size, group)?.0))
    }

    /// As keep, with the number of candidates kept because their group has no threshold.
    #[pyo3(name = "_keep_counted", signature = (scores, size = None, group = None))]
    fn keep_counted<'py>(
        &self,
        py: Python<'py>,
        scores: &Bound<'py, PyAny>,
        size: Option<&Bound<'py, PyAny>>,
        group: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, usize)> {
        let (kept, n_unseen) = self.kept(scores, size, group)?;
        Ok((indices_out(py, &kept), n_unseen))
    }

    /// Scores as the calibrated scorer's rows are scored.
    #[pyo3(name = "_scores", signature = (query_vector, snippet_matrix, unit_rows = None, threads = None))]
    fn scores<'py>(
        &self,
        py: Python<'py>,
        query_vector: &Bound<'py, PyAny>,
        snippet_matrix: &Bound<'py, PyAny>,
        unit_rows: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let query = Embedding::vector("query_vector", query_vector)?;
        let matrix = Embedding::matrix("snippet_matrix", snippet_matrix)?;
        let scoring = scoring(threads)?;
        let pair = Pair::one(&query, &matrix, self.unit_rows(unit_rows)?)?;
        let mut scores = vec![0.0; matrix.n()];
        maybe_detach(py, matrix.n_bytes(), || {
            with_pair!(pair, |query, rows| tamis::cosine_scores_into(
                &query, rows, scoring, &mut scores
            ))
        })
        .map_err(|error| BorderError(error).of_vectors(query.dtype(), matrix.dtype()))?;
        Ok(scores_out(py, scores))
    }

    /// Refuses a scorer other than the calibrated one.
    #[pyo3(name = "_check_scorer")]
    fn check_scorer(&self, used: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        // Without a calibrated identity there is nothing to compare, and used may be any object.
        if self.core.scorer.is_none() {
            return Ok(());
        }
        Ok(self
            .core
            .check_scorer(identity("scorer", used)?.as_ref())
            .map_err(BorderError)?)
    }

    /// Refuses a chunker other than the calibrated one.
    #[pyo3(name = "_check_chunker")]
    fn check_chunker(&self, used: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        // Without a calibrated identity there is nothing to compare, and used may be any object.
        if self.core.chunker.is_none() {
            return Ok(());
        }
        Ok(self
            .core
            .check_chunker(identity("chunker", used)?.as_ref())
            .map_err(BorderError)?)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let (name, rule) = (slf.get_type().name()?, slf.get());
        Ok(match &rule.groups {
            None => format!("{name}({})", rule.core),
            Some(groups) => {
                let of = groups.thresholds.keys().map(|group| format!("{group:?}"));
                let of: Vec<String> = of.collect();
                format!("{name}({}; most lenient: {})", of.join(", "), rule.core)
            }
        })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| {
            let other = other.get();
            other.core == self.core && other.groups == self.groups
        })
    }

    fn __hash__(&self) -> u64 {
        // +0 and -0 are equal.
        (self.core.value + 0.0).to_bits()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let rebuild = py.get_type::<Self>().getattr("_rebuild")?;
        PyTuple::new(py, [rebuild, pickled::state(py, self)?.into_any()])
    }

    /// The inverse of pickling.
    #[staticmethod]
    #[pyo3(name = "_rebuild")]
    fn rebuild<'py>(
        py: Python<'py>,
        calibration_id: Option<String>,
        rules: Vec<pickled::Pickled<'py>>,
        groups: Option<pickled::Grouping>,
    ) -> PyResult<Bound<'py, PyAny>> {
        pickled::rebuilt(py, calibration_id, rules, groups)
    }
}

impl PyRule {
    fn id(&self) -> Option<String> {
        match &self.calibration {
            Source::Calibration(calibration) => Some(calibration.id().to_owned()),
            Source::Id(id) => id.clone(),
        }
    }

    fn unit_rows(&self, declared: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let declared = flag("unit_rows", declared)?;
        Ok(self.core.unit_rows(declared).map_err(BorderError)?)
    }

    /// The positions kept, and how many of them because no group of theirs has a threshold.
    fn kept(
        &self,
        scores: &Bound<'_, PyAny>,
        size: Option<&Bound<'_, PyAny>>,
        group: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Vec<usize>, usize)> {
        let scores = Scores::extract("scores", scores)?;
        let n = with_scores!(&scores, |scores| scores.len());
        let size = size.map(sizes).transpose()?;
        let kept = match (&self.groups, group) {
            (None, None) if self.core.family == tamis::Family::Threshold && size.is_none() => {
                with_scores!(&scores, |scores| tamis::keep(scores, &self.core)).map(|kept| (kept, 0))
            }
            (None, None) => with_scores!(&scores, |scores| tamis::keep_listed(
                scores,
                size.as_deref(),
                &self.core
            ))
            .map(|kept| (kept, 0)),
            (Some(thresholds), Some(group)) => {
                let groups = groups("group", group, Some(n))?;
                with_scores!(&scores, |scores| tamis::keep_by_group(
                    scores,
                    size.as_deref(),
                    &groups,
                    thresholds
                ))
            }
            (None, Some(_)) => Err(tamis::Error::Needed {
                what: "group=",
                needs: "a rule by group: Calibration.threshold(by_group=True)",
            }),
            (Some(_), None) => Err(tamis::Error::Needed {
                what: "a rule by group",
                needs: "group=, the group of each candidate or one of all",
            }),
        };
        Ok(kept.map_err(BorderError)?)
    }
}

/// Sizes of snippets.
pub(crate) fn sizes(value: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    items("size", "a sequence of ints", value, |index, n| {
        crate::options::count(&format!("size[{index}]"), n).map(|n| n as u64)
    })
}
