//! Options of calls as Python gives them: counts, threads, flags.

use std::num::NonZero;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::array::kind_of;

/// A number of threads, at least one; one when nothing is given.
pub(crate) fn threads(value: Option<&Bound<'_, PyAny>>) -> PyResult<NonZero<usize>> {
    let n = value.map_or(Ok(1), |value| count("threads", value))?;
    NonZero::new(n).ok_or_else(|| PyValueError::new_err("threads must be at least 1, got 0"))
}

/// A whole number from 0 on.
pub(crate) fn count(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    if value.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err(format!("{name} must be an int, got bool")));
    }
    let index = value
        .call_method0("__index__")
        .map_err(|_| PyTypeError::new_err(format!("{name} must be an int, got {}", kind_of(value))))?;
    index.extract().map_err(|_| {
        // An int of any size may come, and Python refuses to print the largest.
        let got = index
            .extract::<i128>()
            .map_or_else(|_| "an int of more than 128 bits".to_owned(), |n| n.to_string());
        PyValueError::new_err(format!("{name} must be from 0 to {}, got {got}", usize::MAX))
    })
}

/// A truth value, where one is given.
pub(crate) fn flag(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<bool>> {
    value
        .map(|value| {
            value.extract().map_err(|_| {
                PyTypeError::new_err(format!("{name} must be True or False, got {}", kind_of(value)))
            })
        })
        .transpose()
}

/// The one of a closed list that a name means.
pub(crate) fn named<T: Copy>(
    argument: &str,
    name: &str,
    all: impl IntoIterator<Item = T> + Clone,
    as_str: fn(T) -> &'static str,
) -> PyResult<T> {
    let found = all.clone().into_iter().find(|&one| as_str(one) == name);
    found.ok_or_else(|| {
        let names: Vec<String> = all.into_iter().map(|one| format!("{:?}", as_str(one))).collect();
        PyValueError::new_err(format!(
            "{argument} must be one of {}, got {name:?}",
            names.join(", ")
        ))
    })
}
