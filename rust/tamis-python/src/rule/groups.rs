//! `GroupThresholds`, and groups as Python gives them.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple};

use super::{PyRule, rule_out};
use crate::array::{items, kind_of, plain_list};

/// One threshold for each group of snippets; a snippet of a group without one is kept.
#[pyclass(frozen, extends = PyRule, module = "tamis", name = "GroupThresholds")]
pub(crate) struct PyGroupThresholds;

#[pymethods]
impl PyGroupThresholds {
    /// The rule of each group, by its name.
    #[getter]
    fn thresholds<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let (py, rule) = (slf.py(), slf.as_super().get());
        let out = PyDict::new(py);
        for (name, core) in rule.groups.iter().flat_map(|groups| &groups.thresholds) {
            out.set_item(name, rule_out(py, core.clone(), rule.calibration.clone())?)?;
        }
        Ok(out)
    }

    /// What makes the groups: "script" or "language"; None where the caller gives them.
    #[getter]
    fn grouping<'py>(slf: &Bound<'py, Self>) -> Option<Bound<'py, PyString>> {
        let groups = slf.as_super().get().groups.as_deref();
        let name = groups.and_then(|groups| groups.grouping.as_deref());
        name.map(|name| PyString::new(slf.py(), name))
    }
}

/// The group or groups of each row: a str, an int, or a tuple or list of them; a single str is the group of all `n`.
pub(crate) fn groups(name: &str, value: &Bound<'_, PyAny>, n: Option<usize>) -> PyResult<Vec<tamis::Groups>> {
    if let (Ok(one), Some(n)) = (value.cast::<PyString>(), n) {
        let one = tamis::Groups::One(text(name, one)?);
        return Ok(vec![one; n]);
    }
    // As in a column of ids: 1 and "1" would be one group.
    let mut numeric = None;
    let mut one = |place: String, item: &Bound<'_, PyAny>| {
        let is_number = item.is_instance_of::<PyInt>() && !item.is_instance_of::<PyBool>();
        if *numeric.get_or_insert(is_number) != is_number {
            let mixed = format!("{place}: groups must be all str or all int");
            return Err(PyTypeError::new_err(mixed));
        }
        if is_number {
            return item.str().and_then(|digits| text(&place, &digits));
        }
        let item = item.cast::<PyString>().map_err(|_| {
            let kind = kind_of(item);
            PyTypeError::new_err(format!("{place} must be a str or int, or a tuple of them, got {kind}"))
        })?;
        text(&place, item)
    };
    items(name, "a sequence of groups", &plain_list(value)?, |index, item| {
        let place = format!("{name}[{index}]");
        if item.is_instance_of::<PyTuple>() || item.is_instance_of::<PyList>() {
            let several = items(&place, "a tuple of groups", item, |_, item| one(place.clone(), item))?;
            return Ok(tamis::Groups::Several(several));
        }
        one(place, item).map(tamis::Groups::One)
    })
}

fn text(place: &str, value: &Bound<'_, PyString>) -> PyResult<String> {
    value
        .to_str()
        .map(str::to_owned)
        .map_err(|_| PyValueError::new_err(format!("{place} holds a lone surrogate")))
}
