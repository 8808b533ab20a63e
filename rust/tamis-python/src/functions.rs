//! The module's functions.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::{Embedding, Pair, Scores, doubles_out, items, scores_out, with_pair, with_scores};
use crate::detach::maybe_detach;
use crate::error::BorderError;
use crate::level::level;
use crate::options::{flag, threads as threads_in};

/// Nonconformity score 1 - cosine of each row against the query vector.
#[pyfunction]
#[pyo3(signature = (query_vector, snippet_matrix, *, unit_rows = None, threads = None))]
pub(crate) fn cosine_scores<'py>(
    py: Python<'py>,
    query_vector: &Bound<'py, PyAny>,
    snippet_matrix: &Bound<'py, PyAny>,
    unit_rows: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let query = Embedding::vector("query_vector", query_vector)?;
    let matrix = Embedding::matrix("snippet_matrix", snippet_matrix)?;
    let scoring = scoring(threads)?;
    let unit_rows = flag("unit_rows", unit_rows)?.unwrap_or(false);
    let mut scores = vec![0.0; matrix.n()];
    let pair = Pair::one(&query, &matrix, unit_rows)?;
    maybe_detach(py, matrix.n_bytes(), || {
        with_pair!(pair, |query, rows| tamis::cosine_scores_into(
            &query,
            rows,
            scoring,
            &mut scores
        ))
    })
    .map_err(|error| BorderError(error).of_vectors(query.dtype(), matrix.dtype()))?;
    Ok(scores_out(py, scores))
}

/// The fastest kernel on so many threads, one by default.
pub(crate) fn scoring(threads: Option<&Bound<'_, PyAny>>) -> PyResult<tamis::Scoring> {
    let one = tamis::Scoring::default();
    match threads {
        None => Ok(one),
        threads => Ok(tamis::Scoring {
            threads: threads_in(threads)?,
            ..one
        }),
    }
}

/// The rank k = ceil((n + 1)(1 - alpha)), exactly.
#[pyfunction]
#[pyo3(signature = (n, alpha = None, *, coverage = None))]
pub(crate) fn conformal_rank(
    n: &Bound<'_, PyAny>,
    alpha: Option<&Bound<'_, PyAny>>,
    coverage: Option<&Bound<'_, PyAny>>,
) -> PyResult<u64> {
    let alpha = match (alpha, coverage) {
        (Some(alpha), None) => level("alpha", alpha)?,
        (None, Some(coverage)) => level("coverage", coverage)?.complement(),
        _ => return Err(PyTypeError::new_err("give either alpha or coverage=")),
    };
    if n.is_instance_of::<pyo3::types::PyBool>() {
        return Err(PyTypeError::new_err("n must be an int, got bool"));
    }
    let n: i128 = n
        .extract()
        .map_err(|_| PyTypeError::new_err(format!("n must be an int, got {}", crate::array::kind_of(n))))?;
    let n = u64::try_from(n)
        .ok()
        .filter(|&n| n < u64::MAX)
        .ok_or_else(|| PyValueError::new_err(format!("n must be from 0 to 2**64 - 2, got {n}")))?;
    Ok(tamis::conformal_rank(n, &alpha))
}

/// The k-th smallest score, k = `conformal_rank(n, alpha)`; infinity when k > n.
#[pyfunction]
pub(crate) fn conformal_quantile(
    py: Python<'_>,
    scores: &Bound<'_, PyAny>,
    alpha: &Bound<'_, PyAny>,
) -> PyResult<f64> {
    let scores = Scores::extract("scores", scores)?;
    let alpha = level("alpha", alpha)?;
    let quantile = with_scores!(&scores, |scores| maybe_detach(py, size_of_val(scores), || {
        tamis::conformal_quantile(scores, &alpha)
    }));
    Ok(quantile.map_err(BorderError)?)
}

/// The conformal p-value of a score, or of each score of an array, among calibration scores.
#[pyfunction]
#[pyo3(signature = (score, scores, u = None))]
pub(crate) fn conformal_pvalue<'py>(
    py: Python<'py>,
    score: &Bound<'py, PyAny>,
    scores: &Bound<'py, PyAny>,
    u: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let sorted = tamis::sorted_scores(&Scores::extract("scores", scores)?.to_f64()).map_err(BorderError)?;
    // numpy gives an array of one entry a __float__ too; it stays an array.
    let single = if score.hasattr("__len__")? {
        None
    } else {
        score.extract::<f64>().ok()
    };
    let tests = match single {
        Some(score) => vec![score],
        None => Scores::extract("score", score)?.to_f64(),
    };
    let us = match u {
        Some(u) => Some(match u.extract::<f64>() {
            Ok(u) if single.is_some() => vec![u],
            _ => Scores::extract("u", u)?.to_f64(),
        }),
        None => None,
    };
    let p = tamis::conformal_pvalues(&tests, &sorted, us.as_deref()).map_err(BorderError)?;
    match single {
        Some(_) => Ok(p[0].into_pyobject(py)?.into_any()),
        None => Ok(doubles_out(py, p)),
    }
}

/// Minimum, quartiles and maximum of the finite scores; None without one.
#[pyfunction]
#[pyo3(name = "_score_quartiles")]
pub(crate) fn score_quartiles<'py>(
    py: Python<'py>,
    scores: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let scores = Scores::extract("scores", scores)?;
    let quartiles = with_scores!(&scores, |scores| maybe_detach(py, size_of_val(scores), || {
        tamis::score_quartiles(scores)
    }));
    quartiles.map(|quartiles| PyTuple::new(py, quartiles)).transpose()
}

/// Joins spans (document, start, end) that overlap or touch.
#[pyfunction]
#[pyo3(name = "_merge_spans")]
pub(crate) fn merge_spans(spans: &Bound<'_, PyAny>) -> PyResult<Vec<(usize, usize, usize)>> {
    Ok(tamis::merge_spans(&items(
        "spans",
        "a sequence",
        spans,
        |_, span| span.extract(),
    )?))
}
