//! Arrays of numbers in and out: the only folder that names numpy.

mod embedding;
mod positions;

pub(crate) use embedding::{Embedding, Pair, with_pair};
pub(crate) use positions::{Positions, indices_out, offsets, pairs};

use half::f16;
use numpy::{
    Element, IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PySet, PyString};

/// A column of scores: an array of its own precision, or numbers read one by one.
pub(crate) enum Scores<'py> {
    /// Borrowed when contiguous.
    F64(PyReadonlyArray1<'py, f64>),
    /// Borrowed when contiguous.
    F32(PyReadonlyArray1<'py, f32>),
    /// Read into memory of our own: lists, and half precision (widened exactly).
    Own(Vec<f64>),
}

impl<'py> Scores<'py> {
    /// Takes a one-dimensional array of float64, float32 or float16, or a sequence of numbers.
    pub(crate) fn extract(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Self> {
        let Ok(array) = value.cast::<PyUntypedArray>() else {
            return numbers(name, value).map(Self::Own);
        };
        refuse_mask(name, array, "use scores.compressed() with its labels")?;
        if array.ndim() != 1 {
            return Err(refused(
                name,
                array,
                "a one-dimensional array of float64, float32 or float16",
            ));
        }
        if let Ok(array) = value.cast::<PyArray1<f64>>() {
            return Ok(match plain(array) {
                Some(view) => Self::F64(view),
                None => Self::Own(copied(value, "float64")?),
            });
        }
        if let Ok(array) = value.cast::<PyArray1<f32>>() {
            return Ok(match plain(array) {
                Some(view) => Self::F32(view),
                None => Self::Own(copied(value, "float64")?),
            });
        }
        if value.cast::<PyArray1<f16>>().is_ok() {
            return Ok(Self::Own(copied(value, "float64")?));
        }
        Err(refused(
            name,
            array,
            "float64, float32 or float16; use scores.astype(\"float64\")",
        ))
    }

    /// Every score in double precision.
    pub(crate) fn to_f64(&self) -> Vec<f64> {
        match self {
            Self::F64(view) => view.as_slice().map(<[f64]>::to_vec).unwrap_or_default(),
            Self::F32(view) => view
                .as_slice()
                .unwrap_or_default()
                .iter()
                .map(|&score| score.into())
                .collect(),
            Self::Own(scores) => scores.clone(),
        }
    }
}

/// Numbers of groups.
pub(crate) enum Codes<'py> {
    /// Borrowed when contiguous.
    I64(PyReadonlyArray1<'py, i64>),
    /// Copied by numpy: other widths and layouts.
    Own(Vec<i64>),
}

impl<'py> Codes<'py> {
    /// Takes a one-dimensional array of int64, int32 or uint32.
    pub(crate) fn extract(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Self> {
        const FIX: &str = "a one-dimensional array of int64, int32 or uint32; use np.unique(groups, return_inverse=True)[1]";
        let Ok(array) = value.cast::<PyUntypedArray>() else {
            return Err(not_a(FIX, name, value));
        };
        let wide = value.cast::<PyArray1<i64>>().ok();
        if let Some(view) = wide.and_then(plain) {
            return Ok(Self::I64(view));
        }
        let narrow = value.cast::<PyArray1<i32>>().is_ok() || value.cast::<PyArray1<u32>>().is_ok();
        if wide.is_some() || narrow {
            return copied(value, "int64").map(Self::Own);
        }
        Err(refused(name, array, FIX))
    }

    pub(crate) fn as_slice(&self) -> &[i64] {
        match self {
            Self::I64(view) => view.as_slice().unwrap_or_default(),
            Self::Own(codes) => codes,
        }
    }
}

/// Runs a core function over the scores in their own precision, where they lie: `$slice` is bound to them.
macro_rules! with_scores {
    ($scores:expr, |$slice:ident| $body:expr) => {
        match $scores {
            $crate::array::Scores::F64(view) => {
                let $slice = view.as_slice().unwrap_or_default();
                $body
            }
            $crate::array::Scores::F32(view) => {
                let $slice = view.as_slice().unwrap_or_default();
                $body
            }
            $crate::array::Scores::Own(own) => {
                let $slice = own.as_slice();
                $body
            }
        }
    };
}
pub(crate) use with_scores;

/// A read-only view of an array that lies in memory as a slice does.
fn plain<'py, T: Element>(array: &Bound<'py, PyArray1<T>>) -> Option<PyReadonlyArray1<'py, T>> {
    if !array.is_contiguous() || !array.data().is_aligned() {
        return None;
    }
    let view = array.try_readonly().ok()?;
    view.as_slice().is_ok().then_some(view)
}

/// A contiguous copy of another precision made by numpy itself, which knows every layout.
fn copied<T: Element>(value: &Bound<'_, PyAny>, dtype: &str) -> PyResult<Vec<T>> {
    let array = value.call_method1("astype", (dtype,))?;
    let array = value
        .py()
        .import("numpy")?
        .call_method1("ascontiguousarray", (array,))?;
    Ok(array.cast::<PyArray1<T>>()?.try_readonly()?.to_vec()?)
}

fn numbers(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    const EXPECTED: &str = "a sequence of numbers";
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err(format!(
            "{name} must be {EXPECTED}, got text"
        )));
    }
    if value.is_instance_of::<PyDict>() || value.is_instance_of::<PySet>() {
        return Err(not_a(EXPECTED, name, value));
    }
    items(name, EXPECTED, value, |index, item| {
        let wrong =
            || PyTypeError::new_err(format!("{name}[{index}] must be a number, got {}", kind_of(item)));
        if item.is_instance_of::<PyString>() {
            return Err(wrong());
        }
        item.extract::<f64>().map_err(|_| wrong())
    })
}

/// One number that is no bool.
pub(crate) fn number(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let wrong = || not_a("a number", name, value);
    if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyString>() {
        return Err(wrong());
    }
    value.extract().map_err(|_| wrong())
}

/// The name of a value's class.
pub(crate) fn kind_of(value: &Bound<'_, PyAny>) -> String {
    value
        .get_type()
        .name()
        .map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

fn refused(name: &str, array: &Bound<'_, PyUntypedArray>, expected: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{name} is an array of {} with shape {:?}, expected {expected}",
        array.dtype(),
        array.shape()
    ))
}

/// Refuses an array some of whose elements are masked out.
fn refuse_mask(name: &str, array: &Bound<'_, PyUntypedArray>, fix: &str) -> PyResult<()> {
    // Only a subclass can have a mask; to ask a plain array for one costs as much as selecting in a small one.
    if !array.is_exact_instance_of::<PyUntypedArray>() && array.hasattr("mask")? {
        return Err(refused(name, array, &format!("an array without a mask; {fix}")));
    }
    Ok(())
}

/// A value of the wrong class, by name.
fn not_a(expected: &str, name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("{name} must be {expected}, got {}", kind_of(value)))
}

/// The items of an iterable that is no str, one by one: a false `__len__` reserves no memory.
pub(crate) fn items<'py, T>(
    name: &str,
    expected: &str,
    value: &Bound<'py, PyAny>,
    mut read: impl FnMut(usize, &Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    if value.is_instance_of::<PyString>() {
        return Err(not_a(expected, name, value));
    }
    let iterator = value.try_iter().map_err(|_| not_a(expected, name, value))?;
    iterator
        .enumerate()
        .map(|(index, item)| read(index, &item?))
        .collect()
}

/// An array as a list of Python scalars at once; anything else as it is.
pub(crate) fn plain_list<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if value.hasattr("tolist")? {
        value.call_method0("tolist")
    } else {
        Ok(value.clone())
    }
}

/// Labels as truth values: an array or a sequence of 0/1 or booleans.
pub(crate) fn labels(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<bool>> {
    const EXPECTED: &str = "a sequence of 0 and 1";
    if value.is_instance_of::<PyString>() {
        return Err(PyValueError::new_err(format!(
            "{name} must be {EXPECTED}, got text"
        )));
    }
    items(name, EXPECTED, &plain_list(value)?, |index, item| {
        if let Ok(flag) = item.extract::<bool>() {
            return Ok(flag);
        }
        let number = if item.is_instance_of::<PyString>() {
            None
        } else {
            item.extract::<f64>().ok()
        };
        match number {
            Some(0.0) => Ok(false),
            Some(1.0) => Ok(true),
            _ => {
                let shown = item
                    .repr()
                    .map_or_else(|_| "?".to_owned(), |text| text.to_string());
                let shown: String = shown.chars().take(40).collect();
                Err(PyValueError::new_err(format!(
                    "{name}[{index}] must be 0 or 1, got {shown}"
                )))
            }
        }
    })
}

/// Single-precision scores as an array: copied where that is cheaper than an owner of their memory, else moved.
pub(crate) fn scores_out(py: Python<'_>, scores: Vec<f32>) -> Bound<'_, PyAny> {
    const COPIED: usize = 1024;
    if scores.len() <= COPIED {
        PyArray1::from_slice(py, &scores).into_any()
    } else {
        scores.into_pyarray(py).into_any()
    }
}

/// Double-precision numbers, moved into an array.
pub(crate) fn doubles_out(py: Python<'_>, values: Vec<f64>) -> Bound<'_, PyAny> {
    values.into_pyarray(py).into_any()
}
