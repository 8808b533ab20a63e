//! `Calibration`.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::array::{Scores, items, labels as label_column};
use crate::detach::maybe_detach;
use crate::error::BorderError;
use crate::identity::{column, identity, identity_out};
use crate::level::level;
use crate::options::named;
use crate::report::{PyDesignEffect, PyReport};
use crate::rule::{Source, groups, groups_out, rule_out, sizes};

/// A calibration and its id, computed once, when asked for.
pub(crate) struct Shared {
    core: tamis::Calibration,
    id: OnceLock<String>,
}

impl Shared {
    /// The calibration's id.
    pub(crate) fn id(&self) -> &str {
        self.id.get_or_init(|| self.core.id())
    }
}

/// Labelled scores of a set of queries, from which thresholds with a promise are made.
#[pyclass(frozen, module = "tamis", name = "Calibration")]
pub(crate) struct PyCalibration(Arc<Shared>);

impl PyCalibration {
    fn new(core: tamis::Calibration) -> Self {
        Self(Arc::new(Shared {
            core,
            id: OnceLock::new(),
        }))
    }

    fn core(&self) -> &tamis::Calibration {
        &self.0.core
    }
}

#[pymethods]
impl PyCalibration {
    /// Makes a calibration from scores and labels of candidate snippets.
    #[staticmethod]
    #[pyo3(signature = (scores, relevant, *, query = None, topic = None, document = None, group = None, grouping = None,
                        weight = None, size = None, size_unit = None, evidence = None, scorer = None, chunker = None,
                        labels = None, environment = None, slack = 0.0, check_direction = true))]
    #[allow(clippy::too_many_arguments, reason = "keyword-only columns of one table")]
    fn fit(
        py: Python<'_>,
        scores: &Bound<'_, PyAny>,
        relevant: &Bound<'_, PyAny>,
        query: Option<&Bound<'_, PyAny>>,
        topic: Option<&Bound<'_, PyAny>>,
        document: Option<&Bound<'_, PyAny>>,
        group: Option<&Bound<'_, PyAny>>,
        grouping: Option<String>,
        weight: Option<&Bound<'_, PyAny>>,
        size: Option<&Bound<'_, PyAny>>,
        size_unit: Option<String>,
        evidence: Option<&Bound<'_, PyAny>>,
        scorer: Option<&Bound<'_, PyAny>>,
        chunker: Option<&Bound<'_, PyAny>>,
        labels: Option<&Bound<'_, PyAny>>,
        environment: Option<BTreeMap<String, String>>,
        slack: f64,
        check_direction: bool,
    ) -> PyResult<Self> {
        let queries_independent = match topic.map(|topic| topic.cast::<PyString>()) {
            Some(Ok(word)) if word.to_str().is_ok_and(|word| word == "query") => true,
            Some(Ok(_)) => {
                return Err(PyValueError::new_err(
                    "topic must be a sequence of ids, one per score, or the word \"query\"",
                ));
            }
            _ => false,
        };
        let size = size.map(sizes).transpose()?;
        let group = group.map(|group| groups("group", group, None)).transpose()?;
        let weight = weight
            .map(|weight| Scores::extract("weight", weight))
            .transpose()?
            .map(|weight| weight.to_f64());
        let input = tamis::Input {
            scores: &Scores::extract("scores", scores)?.to_f64(),
            relevant: &label_column("relevant", relevant)?,
            query: column("query", query)?,
            topic: if queries_independent {
                None
            } else {
                column("topic", topic)?
            },
            queries_independent,
            document: column("document", document)?,
            group: group.as_deref(),
            grouping,
            weight: weight.as_deref(),
            size: size.as_deref(),
            size_unit,
            evidence: evidence.map(labelled_spans).transpose()?,
            scorer: identity("scorer", scorer)?,
            chunker: identity("chunker", chunker)?,
            labels: identity("labels", labels)?,
            environment: environment.unwrap_or_default(),
            slack,
            check_direction,
            created: now(py)?,
        };
        let bytes = input.scores.len() * 8;
        Ok(Self::new(
            maybe_detach(py, bytes, || tamis::Calibration::fit(input)).map_err(BorderError)?,
        ))
    }

    /// The smallest threshold that keeps the promise at alpha for a new unit.
    #[pyo3(signature = (alpha, unit = "topic", target = "recall", *, family = "threshold", delta = None, by_group = false,
                        grid = None, order = None, max_positives = None, test_weight = None))]
    #[allow(clippy::too_many_arguments, reason = "keyword-only options of one promise")]
    fn threshold<'py>(
        &self,
        py: Python<'py>,
        alpha: &Bound<'py, PyAny>,
        unit: &str,
        target: &str,
        family: &str,
        delta: Option<&Bound<'py, PyAny>>,
        by_group: bool,
        grid: Option<&Bound<'py, PyAny>>,
        order: Option<&Bound<'py, PyAny>>,
        max_positives: Option<u64>,
        test_weight: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let alpha = level("alpha", alpha)?;
        let delta = delta.map(|delta| level("delta", delta)).transpose()?;
        let grid = grid
            .map(|grid| Scores::extract("grid", grid))
            .transpose()?
            .map(|grid| grid.to_f64());
        if delta.is_none() && order.is_some() {
            return Err(PyValueError::new_err("order= belongs to a promise with delta="));
        }
        let asked = tamis::Guarantee {
            target: named("target", target, tamis::Target::ALL, tamis::Target::as_str)?,
            family: named("family", family, tamis::Family::ALL, tamis::Family::as_str)?,
            delta: delta.as_ref(),
            order: betting_order(order)?,
            grid: grid.as_deref(),
            max_positives,
            test_weight,
            ..tamis::Guarantee::recall(&alpha, named("unit", unit, tamis::Unit::ALL, tamis::Unit::as_str)?)
        };
        let (core, source) = (self.core(), Source::Calibration(Arc::clone(&self.0)));
        let bytes = core.n_positives() * 8;
        if by_group {
            let made = maybe_detach(py, bytes, || core.guarantee_by_group(&asked));
            let made = made.map_err(BorderError)?;
            for (name, threshold) in &made.thresholds {
                let warning = threshold.warning();
                warn(py, warning.map(|warning| format!("group {name:?}: {warning}")))?;
            }
            return groups_out(py, made, source);
        }
        let made = maybe_detach(py, bytes, || core.guarantee(&asked)).map_err(BorderError)?;
        warn(py, made.warning())?;
        rule_out(py, made, source)
    }

    /// Counts, thresholds and warnings in numbers and words.
    fn report(&self) -> PyReport {
        PyReport(self.core().report())
    }

    /// What dependence within topics costs at a threshold.
    fn design_effect(&self, threshold: f64) -> PyResult<PyDesignEffect> {
        Ok(PyDesignEffect(
            self.core().design_effect(threshold).map_err(BorderError)?,
        ))
    }

    /// The calibration restricted to the queries marked, in the order of `query_ids`.
    fn restrict(&self, keep: &Bound<'_, PyAny>) -> PyResult<Self> {
        let keep = label_column("keep", keep)?;
        Ok(Self::new(self.core().restrict(&keep).map_err(BorderError)?))
    }

    /// Writes the calibration file, whole or not at all.
    fn save(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<()> {
        py.import("tamis.artefact")?
            .call_method1("write_text", (path, self.core().to_json()))?;
        Ok(())
    }

    /// Reads a calibration file.
    #[staticmethod]
    fn load(py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<Self> {
        let text = py.import("tamis.artefact")?.call_method1("read_text", (path,))?;
        Self::from_json(text.extract()?)
    }

    /// The calibration as the strict JSON text of its file.
    fn to_json(&self) -> String {
        self.core().to_json()
    }

    /// The calibration from the text of its file.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        Ok(Self::new(
            tamis::Calibration::from_json(text).map_err(BorderError)?,
        ))
    }

    /// Names this calibration in results and logs.
    #[getter]
    fn id(&self) -> &str {
        self.0.id()
    }

    /// Number of relevant snippets.
    #[getter]
    fn n_positives(&self) -> usize {
        self.core().n_positives()
    }

    /// Query ids in the order of first appearance; None without query ids.
    #[getter]
    fn query_ids(&self) -> Option<Vec<String>> {
        self.core().queries().map(|queries| queries.id.clone())
    }

    /// Topic ids of the queries; None where no topics were given.
    #[getter]
    fn topic_ids(&self) -> Option<Vec<String>> {
        self.core().queries().and_then(|queries| queries.topic.clone())
    }

    /// Number of the independent unit of each query, from 0.
    #[getter]
    fn units(&self) -> PyResult<Vec<u32>> {
        Ok(self.core().topic_of_query().map_err(BorderError)?)
    }

    /// Within-query AUC; None when no query holds both relevant and other snippets.
    #[getter]
    fn auc(&self) -> Option<f64> {
        self.core().direction().auc
    }

    /// How far above a threshold a score may lie and still be kept.
    #[getter]
    fn slack(&self) -> f64 {
        self.core().slack()
    }

    /// 1st and 99th percentile of the number of candidates per query; None when unknown.
    #[getter]
    fn candidates_range(&self) -> Option<(f64, f64)> {
        self.core().candidates_range()
    }

    /// What the scores were made by.
    #[getter]
    fn scorer<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        identity_out(py, self.core().scorer())
    }

    /// What the snippets were cut by.
    #[getter]
    fn chunker<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        identity_out(py, self.core().chunker())
    }

    /// What kind of labels these are.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        identity_out(py, self.core().labels())
    }

    /// Versions and circumstances, which only warn.
    #[getter]
    fn environment<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        for (name, value) in self.core().environment() {
            out.set_item(name, value)?;
        }
        Ok(out)
    }

    fn __repr__(&self) -> String {
        let queries = self.core().queries().map_or(0, |queries| queries.id.len());
        format!(
            "Calibration({} relevant snippets of {queries} queries)",
            self.core().n_positives()
        )
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<Self>()
            .is_ok_and(|other| other.get().core() == self.core())
    }

    fn __hash__(&self) -> isize {
        // Equal calibrations have equal ids; the first digits are enough for a hash.
        isize::from_str_radix(&self.0.id()[..8], 16).unwrap_or(0)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let rebuild = py.get_type::<Self>().getattr("from_json")?;
        let state = PyTuple::new(py, [self.core().to_json()])?;
        PyTuple::new(py, [rebuild, state.into_any()])
    }
}

/// The time as ISO 8601 text in UTC: the core has no clock.
fn now(py: Python<'_>) -> PyResult<String> {
    let time = py.import("time")?;
    let moment = time.call_method0("gmtime")?;
    time.call_method1("strftime", ("%Y-%m-%dT%H:%M:%SZ", moment))?
        .extract()
}

/// Raises a warning of Python, whose caller may have made it an error.
fn warn(py: Python<'_>, warning: Option<String>) -> PyResult<()> {
    let Some(warning) = warning else { return Ok(()) };
    py.import("warnings")?.call_method1("warn", (warning,))?;
    Ok(())
}

/// The order of a betting bound: "given", a seed, or the default seed 0.
fn betting_order(order: Option<&Bound<'_, PyAny>>) -> PyResult<tamis::Order> {
    let Some(order) = order else {
        return Ok(tamis::Order::Seeded(0));
    };
    if order
        .cast::<PyString>()
        .is_ok_and(|word| word.to_str().is_ok_and(|word| word == "given"))
    {
        return Ok(tamis::Order::Given);
    }
    let seed = order.extract::<u64>();
    seed.map(tamis::Order::Seeded)
        .map_err(|_| PyValueError::new_err("order must be \"given\" or a seed from 0 to 2**64 - 1"))
}

/// Labelled spans as (query ids, best scores, number not retrieved).
fn labelled_spans(value: &Bound<'_, PyAny>) -> PyResult<tamis::LabelledSpans> {
    let wrong = || {
        PyValueError::new_err(
            "evidence must be (query ids, best scores or None, number not retrieved or None)",
        )
    };
    let tuple = value.cast::<PyTuple>().map_err(|_| wrong())?;
    if tuple.len() != 3 {
        return Err(wrong());
    }
    Ok(tamis::LabelledSpans {
        query: items("evidence[0]", "a sequence", &tuple.get_item(0)?, |_, id| {
            id.extract()
        })?,
        score: items("evidence[1]", "a sequence", &tuple.get_item(1)?, |_, score| {
            score.extract()
        })?,
        not_retrieved: tuple.get_item(2)?.extract()?,
    })
}
