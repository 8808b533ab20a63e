//! Positions of rows: arrays of intp, made here or a buffer of the caller's.
#![allow(
    unsafe_code,
    reason = "usize is written where numpy has intp, into memory that the caller lends"
)]

use numpy::npyffi::flags::NPY_ARRAY_WRITEABLE;
use numpy::npyffi::objects::_PyArray_GET_ITEM_DATA;
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods, ndarray};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::{Embedding, items, kind_of, plain_list, refused};
use crate::options::count;

/// Positions copied into an array of intp of their own length.
pub(crate) fn indices_out<'py>(py: Python<'py>, indices: &[usize]) -> Bound<'py, PyAny> {
    // SAFETY: no position exceeds isize::MAX, and both have the same layout.
    let signed = unsafe { std::slice::from_raw_parts(indices.as_ptr().cast::<isize>(), indices.len()) };
    PyArray1::from_slice(py, signed).into_any()
}

/// A buffer of the caller's for positions.
pub(crate) struct Positions<'py>(Bound<'py, PyArray1<isize>>);

impl<'py> Positions<'py> {
    /// Takes a contiguous, writable array of intp with room for `n`, apart from the inputs.
    pub(crate) fn extract(
        value: &Bound<'py, PyAny>,
        n: usize,
        inputs: [&Embedding<'py>; 2],
    ) -> PyResult<Self> {
        const EXPECTED: &str =
            "a contiguous, writable array of intp with shape [n]; use np.empty(n, np.intp)";
        let Ok(untyped) = value.cast::<PyUntypedArray>() else {
            let kind = kind_of(value);
            return Err(PyTypeError::new_err(format!(
                "out must be {EXPECTED}, got {kind}"
            )));
        };
        let Ok(array) = value.cast::<PyArray1<isize>>() else {
            return Err(refused("out", untyped, EXPECTED));
        };
        // SAFETY: a live array, and the interpreter is attached.
        let flags = unsafe { (*_PyArray_GET_ITEM_DATA(array.as_array_ptr())).flags };
        if flags & NPY_ARRAY_WRITEABLE == 0 {
            return Err(PyValueError::new_err(
                "out is read-only; use np.empty(n, np.intp)",
            ));
        }
        if !array.is_contiguous() || !array.data().is_aligned() {
            return Err(refused("out", untyped, EXPECTED));
        }
        if array.len() < n {
            return Err(PyValueError::new_err(format!(
                "out has room for {} positions, and {n} rows may be kept; use np.empty({n}, np.intp)",
                array.len()
            )));
        }
        let start = array.data().addr();
        let end = start + array.len() * size_of::<isize>();
        for input in inputs {
            let span = input.span();
            if start < span.end && span.start < end {
                return Err(PyValueError::new_err(format!(
                    "out shares memory with {}",
                    input.name()
                )));
            }
        }
        Ok(Self(array.clone()))
    }

    /// Room for the first `n`, which it has.
    pub(crate) fn room(&mut self, n: usize) -> &mut [usize] {
        let n = n.min(self.0.len());
        if n == 0 {
            return &mut [];
        }
        // SAFETY: contiguous, aligned, writable and apart from the inputs; intp and usize have the same layout. As with
        // the inputs, another Python thread must not touch the buffer during the call.
        unsafe { std::slice::from_raw_parts_mut(self.0.data().cast::<usize>(), n) }
    }

    /// A view of the first `n`.
    pub(crate) fn first(&self, n: usize) -> Bound<'py, PyAny> {
        let n = n.min(self.0.len());
        // SAFETY: the first n elements of an array that the view keeps alive.
        unsafe {
            let view = ndarray::ArrayView1::from_shape_ptr(n, self.0.data());
            PyArray1::borrow_from_array(&view, self.0.clone().into_any()).into_any()
        }
    }
}

/// Where the rows of each query begin: an array or a sequence of ints.
pub(crate) fn offsets(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let listed = plain_list(value)?;
    items(name, "a sequence of ints", &listed, |index, offset| {
        count(&format!("{name}[{index}]"), offset)
    })
}

/// Pairs of positions as an int64 array of shape [n, 2].
pub(crate) fn pairs<'py>(py: Python<'py>, pairs: &[(usize, usize)]) -> PyResult<Bound<'py, PyAny>> {
    let flat = pairs
        .iter()
        .flat_map(|&(first, second)| [first, second])
        .map(i64::try_from)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(flat.into_pyarray(py).reshape([pairs.len(), 2])?.into_any())
}
