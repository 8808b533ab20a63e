//! What must be labelled before there is a calibration set.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyInt};

use crate::error::BorderError;
use crate::level::level;

/// The units that a finite threshold needs: on average, or with probability 1 - delta by the betting bound.
#[pyfunction]
#[pyo3(name = "_units_needed", signature = (alpha, delta = None))]
pub(crate) fn units_needed<'py>(
    py: Python<'py>,
    alpha: &Bound<'py, PyAny>,
    delta: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let alpha = level("alpha", alpha)?;
    match delta.map(|delta| level("delta", delta)).transpose()? {
        None => int(py, &tamis::units_needed(&alpha).to_string()),
        Some(delta) => {
            let n = py.detach(|| tamis::units_needed_pac(&alpha, &delta));
            int(py, &n.map_err(BorderError)?.to_string())
        }
    }
}

/// The independent snippets whose largest score covers 1 - alpha with probability 1 - delta.
#[pyfunction]
#[pyo3(name = "_snippets_needed")]
pub(crate) fn snippets_needed(
    py: Python<'_>,
    alpha: &Bound<'_, PyAny>,
    delta: &Bound<'_, PyAny>,
) -> PyResult<u64> {
    let (alpha, delta) = (level("alpha", alpha)?, level("delta", delta)?);
    let n = py.detach(|| tamis::snippets_needed_pac(&alpha, &delta));
    Ok(n.map_err(BorderError)?)
}

/// The relevant snippets that target "total" needs with a bound on those of one unit.
#[pyfunction]
#[pyo3(name = "_positives_needed")]
pub(crate) fn positives_needed<'py>(
    py: Python<'py>,
    alpha: &Bound<'py, PyAny>,
    max_positives: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let bound = max_positives
        .extract::<u64>()
        .ok()
        .filter(|&bound| bound > 0 && !max_positives.is_instance_of::<pyo3::types::PyBool>());
    let bound = bound.ok_or_else(|| {
        PyValueError::new_err(format!(
            "max_positives must be an int from 1 to 2**64 - 1, got {max_positives:?}"
        ))
    })?;
    int(
        py,
        &tamis::positives_needed(&level("alpha", alpha)?, bound).to_string(),
    )
}

/// An int of any size from its digits.
fn int<'py>(py: Python<'py>, digits: &str) -> PyResult<Bound<'py, PyAny>> {
    py.get_type::<PyInt>().call1((digits,))
}
