//! `Threshold`.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::{
    Embedding, Pair, Positions, Scores, indices_out, offsets as offsets_in, scores_out, with_pair,
};
use crate::detach::maybe_detach;
use crate::error::BorderError;
use crate::functions::scoring;
use crate::identity::{identity, identity_out};
use crate::level::level;
use crate::options::flag;

/// Keep a snippet if its score is at most the threshold plus the slack.
#[pyclass(frozen, module = "tamis", name = "Threshold")]
pub(crate) struct PyThreshold {
    pub(crate) core: tamis::Threshold,
    /// Where it was made, for its id, which is computed only when asked for.
    pub(crate) calibration: Source,
}

/// The pickled state: value, slack, alpha, delta, unit, target, `n_cal`, `n_units`.
type Numbers<'py> = (
    f64,
    f64,
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
    Option<String>,
    Option<String>,
    u64,
    u64,
);
/// The pickled state: scorer, chunker, calibration id, range of candidates.
type Origin<'py> = (
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
    Option<String>,
    Option<(f64, f64)>,
);

/// Where a threshold comes from.
#[derive(Clone)]
pub(crate) enum Source {
    /// A calibration in memory.
    Calibration(Arc<crate::calibration::Shared>),
    /// Only its id is known (after pickling), or there is none.
    Id(Option<String>),
}

impl PyThreshold {
    fn id(&self) -> Option<String> {
        match &self.calibration {
            Source::Calibration(calibration) => Some(calibration.id().to_owned()),
            Source::Id(id) => id.clone(),
        }
    }
}

#[pymethods]
impl PyThreshold {
    /// A threshold without a promise: a baseline, or the kernel alone.
    #[staticmethod]
    fn fixed(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if value.is_instance_of::<pyo3::types::PyBool>() {
            return Err(PyTypeError::new_err("value must be a number, got bool"));
        }
        let value: f64 = value.extract().map_err(|_| {
            PyTypeError::new_err(format!(
                "value must be a number, got {}",
                crate::array::kind_of(value)
            ))
        })?;
        Ok(Self {
            core: tamis::Threshold::fixed(value).map_err(BorderError)?,
            calibration: Source::Id(None),
        })
    }

    /// The threshold; infinity keeps everything.
    #[getter]
    fn value(&self) -> f64 {
        self.core.value
    }

    /// How far above the value a score may lie and still be kept.
    #[getter]
    fn slack(&self) -> f64 {
        self.core.slack
    }

    /// The promised miscoverage as it was written; None for a fixed threshold.
    #[getter]
    fn alpha(&self) -> Option<&str> {
        self.core.alpha.as_ref().map(tamis::Level::as_str)
    }

    /// Probability over calibration sets that the promise fails; None when it is a mean over them.
    #[getter]
    fn delta(&self) -> Option<&str> {
        self.core.delta.as_ref().map(tamis::Level::as_str)
    }

    /// What the promise averages over: "topic", "query" or "snippet"; None for a fixed threshold.
    #[getter]
    fn unit(&self) -> Option<&'static str> {
        self.core.unit.map(tamis::Unit::as_str)
    }

    /// What is promised: "recall" or "total"; None for a fixed threshold.
    #[getter]
    fn target(&self) -> Option<&'static str> {
        self.core.target.map(tamis::Target::as_str)
    }

    /// Relevant snippets it was made from.
    #[getter]
    fn n_cal(&self) -> u64 {
        self.core.n_cal
    }

    /// Units with at least one relevant snippet it was made from.
    #[getter]
    fn n_units(&self) -> u64 {
        self.core.n_units
    }

    /// How many units a finite threshold needs at this alpha; None for a fixed threshold.
    #[getter]
    fn n_units_needed<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let int = py.get_type::<pyo3::types::PyInt>();
        self.core
            .n_units_needed()
            .map(|n| int.call1((n.to_string(),)))
            .transpose()
    }

    /// 1st and 99th percentile of the number of candidates per calibration query; None when unknown.
    #[getter]
    fn candidates_range(&self) -> Option<(f64, f64)> {
        self.core.candidates_range
    }

    /// Whether every score is kept.
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

    /// Names the calibration in results and logs; None for a fixed threshold.
    #[getter]
    fn calibration_id(&self) -> Option<String> {
        self.id()
    }

    /// Positions of the scores that are kept, ascending.
    fn keep<'py>(&self, py: Python<'py>, scores: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let scores = Scores::extract("scores", scores)?;
        let kept = match &scores {
            Scores::F64(view) => tamis::keep(view.as_slice()?, &self.core),
            Scores::F32(view) => tamis::keep(view.as_slice()?, &self.core),
            Scores::Own(scores) => tamis::keep(scores, &self.core),
        };
        Ok(indices_out(py, &kept.map_err(BorderError)?))
    }

    /// Scores the rows against the query vector and gives the positions of those kept, ascending.
    #[pyo3(signature = (query_vector, snippet_matrix, *, out = None, unit_rows = None, threads = None))]
    fn select<'py>(
        &self,
        py: Python<'py>,
        query_vector: &Bound<'py, PyAny>,
        snippet_matrix: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        unit_rows: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let inputs = Inputs::extract(query_vector, snippet_matrix, threads)?;
        let n = inputs.matrix.n();
        if let Some(out) = out {
            let mut out = Positions::extract(out, n, [&inputs.query, &inputs.matrix])?;
            let n_kept = self.select_into(py, &inputs, unit_rows, out.room(n), None)?;
            return Ok(out.first(n_kept));
        }
        // Without an allocation for few rows: it costs as much as scoring one of them.
        let (mut few, mut many) = ([0; 256], Vec::new());
        let kept = few.get_mut(..n).unwrap_or_else(|| {
            many.resize(n, 0);
            &mut many
        });
        let n_kept = self.select_into(py, &inputs, unit_rows, kept, None)?;
        Ok(indices_out(py, &kept[..n_kept]))
    }

    /// Select for many queries at once, each against its own rows of one matrix.
    #[pyo3(signature = (query_matrix, snippet_matrix, offsets, *, unit_rows = None, threads = None))]
    fn select_many<'py>(
        &self,
        py: Python<'py>,
        query_matrix: &Bound<'py, PyAny>,
        snippet_matrix: &Bound<'py, PyAny>,
        offsets: &Bound<'py, PyAny>,
        unit_rows: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let queries = Embedding::matrix("query_matrix", query_matrix)?;
        let matrix = Embedding::matrix("snippet_matrix", snippet_matrix)?;
        let (offsets, scoring) = (offsets_in("offsets", offsets)?, scoring(threads)?);
        let unit_rows = self.unit_rows(unit_rows)?;
        let widened = queries.widened()?;
        let pair = Pair::many(&queries, &widened, &matrix, unit_rows)?;
        let selected = maybe_detach(py, matrix.n_bytes(), || {
            with_pair!(pair, |queries, rows| tamis::select_many(
                queries, rows, &offsets, &self.core, scoring
            ))
        })
        .map_err(|error| BorderError(error).of_vectors(queries.dtype(), matrix.dtype()))?;
        let columns = [&selected.kept, &selected.kept_offsets].map(|column| indices_out(py, column));
        PyTuple::new(py, columns)
    }

    /// As select, with the scores of all rows.
    #[pyo3(name = "_select_scored", signature = (query_vector, snippet_matrix, unit_rows = None, threads = None))]
    fn select_scored<'py>(
        &self,
        py: Python<'py>,
        query_vector: &Bound<'py, PyAny>,
        snippet_matrix: &Bound<'py, PyAny>,
        unit_rows: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let inputs = Inputs::extract(query_vector, snippet_matrix, threads)?;
        let n = inputs.matrix.n();
        let (mut kept, mut scores) = (vec![0; n], vec![0.0; n]);
        let n_kept = self.select_into(py, &inputs, unit_rows, &mut kept, Some(&mut scores))?;
        PyTuple::new(py, [indices_out(py, &kept[..n_kept]), scores_out(py, scores)])
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

    fn __repr__(&self) -> String {
        format!("Threshold({})", self.core)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<Self>()
            .is_ok_and(|other| other.get().core == self.core)
    }

    fn __hash__(&self) -> u64 {
        self.core.value.to_bits()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let core = &self.core;
        let state = (
            (
                core.value,
                core.slack,
                self.alpha(),
                self.delta(),
                self.unit(),
                self.target(),
                core.n_cal,
                core.n_units,
            ),
            (
                identity_out(py, core.scorer.as_ref())?,
                identity_out(py, core.chunker.as_ref())?,
                self.id(),
                core.candidates_range,
            ),
        );
        let rebuild = py.get_type::<Self>().getattr("_rebuild")?;
        PyTuple::new(py, [rebuild, state.into_pyobject(py)?.into_any()])
    }

    /// The inverse of pickling.
    #[staticmethod]
    #[pyo3(name = "_rebuild")]
    fn rebuild(numbers: Numbers<'_>, origin: Origin<'_>) -> PyResult<Self> {
        let (value, slack, alpha, delta, unit_name, target, n_cal, n_units) = numbers;
        let (scorer, chunker, id, candidates_range) = origin;
        let mut core = tamis::Threshold::fixed(value).map_err(BorderError)?;
        core.slack = slack;
        core.alpha = alpha.map(|alpha| level("alpha", &alpha)).transpose()?;
        core.unit = unit_name.as_deref().map(unit).transpose()?;
        core.delta = delta.map(|delta| level("delta", &delta)).transpose()?;
        core.target = target.map(|name| {
            if name == "total" {
                tamis::Target::Total
            } else {
                tamis::Target::Recall
            }
        });
        (core.n_cal, core.n_units) = (n_cal, n_units);
        core.candidates_range = candidates_range;
        core.scorer = identity("scorer", scorer.as_ref())?;
        core.chunker = identity("chunker", chunker.as_ref())?;
        Ok(Self {
            core,
            calibration: Source::Id(id),
        })
    }
}

/// A query, its rows and how to score them.
struct Inputs<'py> {
    query: Embedding<'py>,
    matrix: Embedding<'py>,
    scoring: tamis::Scoring,
}

impl<'py> Inputs<'py> {
    fn extract(
        query_vector: &Bound<'py, PyAny>,
        snippet_matrix: &Bound<'py, PyAny>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self {
            query: Embedding::vector("query_vector", query_vector)?,
            matrix: Embedding::matrix("snippet_matrix", snippet_matrix)?,
            scoring: scoring(threads)?,
        })
    }
}

impl PyThreshold {
    fn unit_rows(&self, declared: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let declared = flag("unit_rows", declared)?;
        Ok(self.core.unit_rows(declared).map_err(BorderError)?)
    }

    fn select_into(
        &self,
        py: Python<'_>,
        inputs: &Inputs<'_>,
        unit_rows: Option<&Bound<'_, PyAny>>,
        kept: &mut [usize],
        scores: Option<&mut [f32]>,
    ) -> PyResult<usize> {
        let unit_rows = self.unit_rows(unit_rows)?;
        let pair = Pair::one(&inputs.query, &inputs.matrix, unit_rows)?;
        let scoring = inputs.scoring;
        maybe_detach(py, inputs.matrix.n_bytes(), || {
            with_pair!(pair, |query, rows| tamis::select_into(
                &query, rows, &self.core, scoring, kept, scores
            ))
        })
        .map_err(|error| BorderError(error).of_vectors(inputs.query.dtype(), inputs.matrix.dtype()))
    }
}

/// Reads a unit's name.
pub(crate) fn unit(name: &str) -> PyResult<tamis::Unit> {
    match name {
        "topic" => Ok(tamis::Unit::Topic),
        "query" => Ok(tamis::Unit::Query),
        "snippet" => Ok(tamis::Unit::Snippet),
        _ => Err(PyValueError::new_err(format!(
            "unit must be \"topic\", \"query\" or \"snippet\", got {name:?}"
        ))),
    }
}
