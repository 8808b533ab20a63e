//! Identities: a string, or a flat mapping of named values.

use std::collections::BTreeMap;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyMapping, PyString};
use tamis::{Identity, Scalar};

use crate::array::{items, kind_of, plain_list};

/// Reads an identity; an object with an `identity` attribute (a scorer, a chunker) gives that.
pub(crate) fn identity(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Identity>> {
    let Some(value) = value else { return Ok(None) };
    if let Ok(text) = value.cast::<PyString>() {
        let text = text
            .to_str()
            .map_err(|_| PyValueError::new_err(format!("{name} holds a lone surrogate")))?;
        return Ok(Some(Identity::Declared(text.to_owned())));
    }
    if let Ok(mapping) = value.cast::<PyMapping>() {
        return fields(name, mapping).map(Some);
    }
    if value.hasattr("identity")? {
        return identity(name, Some(&value.getattr("identity")?));
    }
    let kind = kind_of(value);
    Err(PyTypeError::new_err(format!(
        "{name} must be a string, a flat mapping, or an object with .identity, got {kind}"
    )))
}

fn fields(name: &str, mapping: &Bound<'_, PyMapping>) -> PyResult<Identity> {
    let mut fields = BTreeMap::new();
    for pair in mapping.items()?.iter() {
        let (key, value) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        let key: String = key
            .extract()
            .map_err(|_| PyTypeError::new_err(format!("{name}: keys must be strings")))?;
        let scalar = scalar(&value).map_err(|error| {
            let kind = kind_of(&value);
            PyTypeError::new_err(format!(
                "{name}[{key:?}] must be a str, int, finite float, bool or None, got {kind} ({error})"
            ))
        })?;
        fields.insert(key, scalar);
    }
    Ok(Identity::Fields(fields))
}

fn scalar(value: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    if value.is_none() {
        Ok(Scalar::Null)
    } else if value.is_instance_of::<PyBool>() {
        value.extract().map(Scalar::Bool)
    } else if value.is_instance_of::<PyInt>() {
        value.extract().map(Scalar::Int)
    } else if value.is_instance_of::<PyFloat>() {
        let number: f64 = value.extract()?;
        if number.is_finite() {
            Ok(Scalar::Float(number))
        } else {
            Err(PyValueError::new_err("not finite"))
        }
    } else {
        value.extract().map(Scalar::Text)
    }
}

/// An identity as Python shows it.
pub(crate) fn identity_out<'py>(
    py: Python<'py>,
    identity: Option<&Identity>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match identity {
        None => Ok(None),
        Some(Identity::Declared(name)) => Ok(Some(PyString::new(py, name).into_any())),
        Some(Identity::Fields(fields)) => {
            let out = PyDict::new(py);
            for (name, value) in fields {
                match value {
                    Scalar::Null => out.set_item(name, py.None())?,
                    Scalar::Bool(value) => out.set_item(name, value)?,
                    Scalar::Int(value) => out.set_item(name, value)?,
                    Scalar::Float(value) => out.set_item(name, value)?,
                    Scalar::Text(value) => out.set_item(name, value)?,
                }
            }
            Ok(Some(out.into_any()))
        }
    }
}

/// A column of ids, which are strings or whole numbers, one kind in one column.
pub(crate) fn column(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<tamis::Column>> {
    let Some(value) = value else { return Ok(None) };
    if value.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(format!(
            "{name} must be a sequence of ids, one per score, got one string"
        )));
    }
    let mut numeric = None;
    let ids = items(name, "a sequence of ids", &plain_list(value)?, |index, item| {
        let is_number = item.is_instance_of::<PyInt>() && !item.is_instance_of::<PyBool>();
        let text = if is_number {
            item.str()?
        } else {
            let wrong = || format!("{name}[{index}] must be a str or int id, got {}", kind_of(item));
            item.cast::<PyString>()
                .map_err(|_| PyTypeError::new_err(wrong()))?
                .clone()
        };
        if *numeric.get_or_insert(is_number) != is_number {
            let mixed = format!("{name}[{index}]: ids of one column must be all str or all int");
            return Err(PyTypeError::new_err(mixed));
        }
        let surrogate = |_| PyValueError::new_err(format!("{name}[{index}] holds a lone surrogate"));
        Ok(text.to_str().map_err(surrogate)?.to_owned())
    })?;
    Ok(Some(tamis::Column::from_ids(ids)))
}
