//! `Threshold`: the rule that the fused kernel serves.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::PyRule;
use super::families::fixed;
use crate::array::{
    Embedding, Pair, Positions, indices_out, number, offsets as offsets_in, scores_out, with_pair,
};
use crate::detach::maybe_detach;
use crate::error::BorderError;
use crate::functions::scoring;

/// Keep a snippet if its score is at most the threshold plus the slack.
#[pyclass(frozen, extends = PyRule, module = "tamis", name = "Threshold")]
pub(crate) struct PyThreshold;

#[pymethods]
impl PyThreshold {
    /// A threshold without a promise: a baseline, or the kernel alone.
    #[staticmethod]
    fn fixed<'py>(py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        fixed(py, tamis::Family::Threshold, number("value", value)?)
    }

    /// Scores the rows against the query vector and gives the positions of those kept, ascending.
    #[pyo3(signature = (query_vector, snippet_matrix, *, out = None, unit_rows = None, threads = None))]
    fn select<'py>(
        slf: &Bound<'py, Self>,
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
            let n_kept = slf.as_super().get().select_into(py, &inputs, unit_rows, out.room(n), None)?;
            return Ok(out.first(n_kept));
        }
        // Without an allocation for few rows: it costs as much as scoring one of them.
        let (mut few, mut many) = ([0; 256], Vec::new());
        let kept = few.get_mut(..n).unwrap_or_else(|| {
            many.resize(n, 0);
            &mut many
        });
        let n_kept = slf.as_super().get().select_into(py, &inputs, unit_rows, kept, None)?;
        Ok(indices_out(py, &kept[..n_kept]))
    }

    /// Select for many queries at once, each against its own rows of one matrix.
    #[pyo3(signature = (query_matrix, snippet_matrix, offsets, *, unit_rows = None, threads = None))]
    fn select_many<'py>(
        slf: &Bound<'py, Self>,
        py: Python<'py>,
        query_matrix: &Bound<'py, PyAny>,
        snippet_matrix: &Bound<'py, PyAny>,
        offsets: &Bound<'py, PyAny>,
        unit_rows: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let rule = slf.as_super().get();
        let queries = Embedding::matrix("query_matrix", query_matrix)?;
        let matrix = Embedding::matrix("snippet_matrix", snippet_matrix)?;
        let (offsets, scoring) = (offsets_in("offsets", offsets)?, scoring(threads)?);
        let unit_rows = rule.unit_rows(unit_rows)?;
        let widened = queries.widened()?;
        let pair = Pair::many(&queries, &widened, &matrix, unit_rows)?;
        let selected = maybe_detach(py, matrix.n_bytes(), || {
            with_pair!(pair, |queries, rows| tamis::select_many(
                queries, rows, &offsets, &rule.core, scoring
            ))
        })
        .map_err(|error| BorderError(error).of_vectors(queries.dtype(), matrix.dtype()))?;
        let columns = [&selected.kept, &selected.kept_offsets].map(|column| indices_out(py, column));
        PyTuple::new(py, columns)
    }

    /// As select, with the scores of all rows.
    #[pyo3(name = "_select_scored", signature = (query_vector, snippet_matrix, unit_rows = None, threads = None))]
    fn select_scored<'py>(
        slf: &Bound<'py, Self>,
        py: Python<'py>,
        query_vector: &Bound<'py, PyAny>,
        snippet_matrix: &Bound<'py, PyAny>,
        unit_rows: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let inputs = Inputs::extract(query_vector, snippet_matrix, threads)?;
        let n = inputs.matrix.n();
        let (mut kept, mut scores) = (vec![0; n], vec![0.0; n]);
        let n_kept = slf.as_super().get().select_into(py, &inputs, unit_rows, &mut kept, Some(&mut scores))?;
        PyTuple::new(py, [indices_out(py, &kept[..n_kept]), scores_out(py, scores)])
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

impl PyRule {
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
