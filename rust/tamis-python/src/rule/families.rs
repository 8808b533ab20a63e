//! Rules that look at the whole list: `RelativeThreshold`, `TopK`, `TokenBudget`.

use pyo3::prelude::*;

use super::{PyRule, Source, rule_out};
use crate::array::number;
use crate::error::BorderError;
use crate::options::count;

/// Keep a snippet if its score is at most the query's mean score plus the threshold.
#[pyclass(frozen, extends = PyRule, module = "tamis", name = "RelativeThreshold")]
pub(crate) struct PyRelativeThreshold;

#[pymethods]
impl PyRelativeThreshold {
    /// A threshold relative to the query's mean score, without a promise.
    #[staticmethod]
    fn fixed<'py>(py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        fixed(py, tamis::Family::Relative, number("value", value)?)
    }
}

/// Keep the best k snippets of a query.
#[pyclass(frozen, extends = PyRule, module = "tamis", name = "TopK")]
pub(crate) struct PyTopK;

#[pymethods]
impl PyTopK {
    /// A number of snippets without a promise.
    #[staticmethod]
    fn fixed<'py>(py: Python<'py>, k: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        fixed(py, tamis::Family::TopK, whole("k", k)?)
    }

    /// The number of snippets; None keeps everything.
    #[getter]
    fn k<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        as_int(slf.as_super())
    }
}

/// Keep the best snippets of a query while their sizes fit a budget.
#[pyclass(frozen, extends = PyRule, module = "tamis", name = "TokenBudget")]
pub(crate) struct PyTokenBudget;

#[pymethods]
impl PyTokenBudget {
    /// A budget without a promise.
    #[staticmethod]
    fn fixed<'py>(py: Python<'py>, budget: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        fixed(py, tamis::Family::Tokens, whole("budget", budget)?)
    }

    /// The budget in the unit of the sizes; None keeps everything.
    #[getter]
    fn budget<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        as_int(slf.as_super())
    }
}

/// A rule of a family that promises nothing.
pub(super) fn fixed(py: Python<'_>, family: tamis::Family, value: f64) -> PyResult<Bound<'_, PyAny>> {
    let core = tamis::Threshold::fixed_in(family, value).map_err(BorderError)?;
    rule_out(py, core, Source::Id(None))
}

/// A whole number that a double holds exactly.
fn whole(name: &'static str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    const LIMIT: u64 = 1 << 53;
    let n = count(name, value)? as u64;
    if n > LIMIT {
        let error = tamis::Error::TooLarge {
            what: name,
            value: n,
            limit: LIMIT,
        };
        return Err(BorderError(error).into());
    }
    Ok(n as f64)
}

fn as_int<'py>(rule: &Bound<'py, PyRule>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let value = rule.get().core.value;
    if value.is_infinite() {
        return Ok(None);
    }
    let int = rule.py().get_type::<pyo3::types::PyInt>();
    int.call1((value,)).map(Some)
}
