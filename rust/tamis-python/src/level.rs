//! alpha, delta and coverage as Python gives them.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use tamis::Level;

use crate::array::kind_of;
use crate::error::BorderError;

/// Reads a level as the decimal its user wrote: str, Decimal, Fraction, or the shortest decimal of a float of any width.
pub(crate) fn level(name: &'static str, value: &Bound<'_, PyAny>) -> PyResult<Level> {
    let wrong = || {
        let text = format!(
            "{name} must be a float, str, Decimal or Fraction, got {}",
            kind_of(value)
        );
        PyTypeError::new_err(text)
    };
    if value.is_instance_of::<PyBool>() {
        return Err(wrong());
    }
    // Asking a plain float for its modules and its dtype costs as much as selecting in a small array, and so does its repr;
    // here both languages write the same shortest decimal without an exponent.
    let plain = value
        .cast_exact::<PyFloat>()
        .map_or(f64::NAN, PyFloatMethods::value);
    if (1e-4..1.0).contains(&plain) {
        return Ok(Level::parse(name, &plain.to_string()).map_err(BorderError)?);
    }
    let text = if let Ok(float) = value.cast::<PyFloat>() {
        let real = float.value();
        if !real.is_finite() {
            return Err(outside(name, real));
        }
        // Of the plain float: a subclass (numpy's float64 is one) may write itself as it likes.
        PyFloat::new(value.py(), real).repr()?
    } else if is_instance(value, "numpy", "floating") {
        // Of this width: item() would widen a float32 and lose the decimal, and str() follows numpy's print options.
        let real = value.extract::<f64>().map_err(|_| wrong())?;
        if !real.is_finite() {
            return Err(outside(name, real));
        }
        let options = PyDict::new(value.py());
        options.set_item("trim", "-")?;
        let numpy = value.py().import("numpy")?;
        let text = numpy.call_method("format_float_positional", (value,), Some(&options))?;
        text.cast_into::<PyString>().map_err(|_| wrong())?
    } else if value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyInt>()
        || is_instance(value, "decimal", "Decimal")
        || is_instance(value, "fractions", "Fraction")
    {
        // Python refuses to write integers of very many digits.
        value.str().map_err(|error| {
            if error.is_instance_of::<PyValueError>(value.py()) {
                PyValueError::new_err(format!(
                    "{name} must lie strictly between 0 and 1 and be written in at most 1100 characters: {error}"
                ))
            } else {
                error
            }
        })?
    } else {
        return Err(wrong());
    };
    let text = text
        .to_str()
        .map_err(|_| PyValueError::new_err(format!("{name} must be a decimal such as 0.1")))?
        .to_owned();
    Ok(Level::parse(name, &text).map_err(BorderError)?)
}

fn outside(name: &str, real: f64) -> PyErr {
    PyValueError::new_err(format!("{name} must lie strictly between 0 and 1, got {real}"))
}

fn is_instance(value: &Bound<'_, PyAny>, module: &str, class: &str) -> bool {
    // By the type's own module: importing decimal and fractions to ask would cost a request their import.
    let mro = value.get_type().mro();
    mro.iter().any(|base| {
        let named = |attribute: &str, expected: &str| {
            base.getattr(attribute)
                .and_then(|name| name.extract::<String>())
                .is_ok_and(|name| name == expected)
        };
        named("__name__", class)
            && (named("__module__", module) || named("__module__", &format!("_{module}")))
    })
}
