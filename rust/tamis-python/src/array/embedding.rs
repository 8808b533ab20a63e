//! Embeddings, borrowed where they lie.
#![allow(
    unsafe_code,
    reason = "an array is read through its address, shape and strides: asking numpy for a checked borrow costs as much as \
              scoring a few rows, and does not keep another Python thread from writing"
)]

use std::borrow::Cow;
use std::ops::Range;

use half::f16;
use numpy::npyffi::NPY_TYPES;
use numpy::npyffi::objects::_PyArray_GET_ITEM_DATA;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use super::{refuse_mask, refused};
use crate::error::BorderError;

/// What the components are stored as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    F32,
    F16,
    I8,
}

/// An array of one (a query) or two dimensions (rows), which it keeps alive. Never copied where rows are.
pub(crate) struct Embedding<'py> {
    name: &'static str,
    array: Bound<'py, PyUntypedArray>,
    kind: Kind,
}

const VECTOR: &str = "float32, float16 or int8 with shape [d]; use np.asarray(vector, dtype=\"float32\")";
const MATRIX: &str =
    "float32, float16 or int8 with shape [n, d]; use np.ascontiguousarray(matrix, dtype=\"float32\")";
const LAYOUT: &str = "its last axis contiguous and aligned; use np.ascontiguousarray(matrix)";

impl<'py> Embedding<'py> {
    /// A query: one-dimensional.
    pub(crate) fn vector(name: &'static str, value: &Bound<'py, PyAny>) -> PyResult<Self> {
        Self::extract(name, value, 1, VECTOR)
    }

    /// Rows: two-dimensional, the last axis contiguous.
    pub(crate) fn matrix(name: &'static str, value: &Bound<'py, PyAny>) -> PyResult<Self> {
        Self::extract(name, value, 2, MATRIX)
    }

    fn extract(
        name: &'static str,
        value: &Bound<'py, PyAny>,
        n_axes: usize,
        expected: &str,
    ) -> PyResult<Self> {
        let array = match value.cast::<PyUntypedArray>() {
            Ok(array) => array.clone(),
            Err(_) => viewed(name, value, n_axes)?,
        };
        refuse_mask(name, &array, "drop the rows whose components are masked")?;
        let dtype = array.dtype();
        let kind = match dtype.num() {
            float if float == NPY_TYPES::NPY_FLOAT as i32 => Some(Kind::F32),
            half if half == NPY_TYPES::NPY_HALF as i32 => Some(Kind::F16),
            byte if byte == NPY_TYPES::NPY_BYTE as i32 => Some(Kind::I8),
            _ => None,
        };
        match kind {
            Some(kind) if dtype.is_native_byteorder() != Some(false) && array.ndim() == n_axes => {
                Ok(Self { name, array, kind })
            }
            _ => Err(refused(name, &array, expected)),
        }
    }

    /// The argument's name.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// What the components are stored as.
    pub(crate) fn dtype(&self) -> &'static str {
        match self.kind {
            Kind::F32 => "float32",
            Kind::F16 => "float16",
            Kind::I8 => "int8",
        }
    }

    /// Entries along the first axis.
    pub(crate) fn n(&self) -> usize {
        self.array.shape()[0]
    }

    /// Bytes of all components.
    pub(crate) fn n_bytes(&self) -> usize {
        let component = match self.kind {
            Kind::F32 => 4,
            Kind::F16 => 2,
            Kind::I8 => 1,
        };
        self.array.len() * component
    }

    /// The addresses that it touches, from the lowest to one past the highest.
    pub(crate) fn span(&self) -> Range<usize> {
        let start = self.data::<u8>().addr();
        let (mut low, mut high) = (start, start);
        if self.array.is_empty() {
            return start..start;
        }
        for (&n, &stride) in self.array.shape().iter().zip(self.array.strides()) {
            let distance = (n - 1) * stride.unsigned_abs();
            if stride < 0 {
                low -= distance;
            } else {
                high += distance;
            }
        }
        low..high + self.array.dtype().itemsize()
    }

    fn data<T>(&self) -> *const T {
        // SAFETY: a live array, and the interpreter is attached.
        unsafe { (*_PyArray_GET_ITEM_DATA(self.array.as_array_ptr())).data.cast() }
    }

    /// The components of a query, borrowed where they lie side by side. `T` is what they are stored as.
    fn components<T: Copy>(&self) -> Cow<'_, [T]> {
        let (data, d, stride) = (self.data::<T>(), self.array.shape()[0], self.array.strides()[0]);
        if d == 0 {
            return Cow::Borrowed(&[]);
        }
        if data.is_aligned() && (d == 1 || stride.cast_unsigned() == size_of::<T>()) {
            // SAFETY: d components of the array, side by side and aligned, kept alive by `self`.
            return Cow::Borrowed(unsafe { std::slice::from_raw_parts(data, d) });
        }
        let at = |index: usize| data.wrapping_byte_offset(index.cast_signed() * stride);
        // SAFETY: each address is that of a component of the array.
        Cow::Owned(
            (0..d)
                .map(|index| unsafe { at(index).read_unaligned() })
                .collect(),
        )
    }

    /// A query in single precision.
    fn single(&self) -> Cow<'_, [f32]> {
        match self.kind {
            Kind::F16 => self.components::<f16>().iter().map(|x| x.to_f32()).collect(),
            _ => self.components(),
        }
    }

    /// The components of all rows in single precision where they are of half, else nothing.
    pub(crate) fn widened(&self) -> PyResult<Vec<f32>> {
        if self.kind != Kind::F16 {
            return Ok(Vec::new());
        }
        let rows = self.rows::<f16>()?;
        Ok((0..rows.n())
            .flat_map(|index| rows.row(index))
            .map(|x| x.to_f32())
            .collect())
    }

    /// The rows. `T` is what they are stored as.
    fn rows<T>(&self) -> PyResult<tamis::Rows<'_, T>> {
        let [n, d] = [self.array.shape()[0], self.array.shape()[1]];
        let [stride, step] = [self.array.strides()[0], self.array.strides()[1]];
        let made = |rows: tamis::Result<_>| rows.map_err(|error| BorderError(error).into());
        if n == 0 || d == 0 {
            return made(tamis::Rows::contiguous(&[], n, d));
        }
        let (data, size) = (self.data::<T>(), size_of::<T>());
        // A stride along an axis of one entry says nothing.
        let stride = if n == 1 { (d * size).cast_signed() } else { stride };
        let contiguous = d == 1 || step.cast_unsigned() == size;
        let apart = stride.unsigned_abs() / size;
        let length = (n - 1)
            .checked_mul(apart)
            .and_then(|distance| distance.checked_add(d));
        let fits = length
            .and_then(|length| length.checked_mul(size))
            .filter(|&bytes| isize::try_from(bytes).is_ok());
        let (Some(length), Some(_), true) = (
            length,
            fits,
            contiguous && data.is_aligned() && stride.unsigned_abs().is_multiple_of(size),
        ) else {
            return Err(refused(self.name, &self.array, LAYOUT));
        };
        // Rows that run backwards begin at the end of the memory they span.
        let first = if stride < 0 { length - d } else { 0 };
        // SAFETY: from the lowest row to the end of the highest, aligned, kept alive by `self`; what lies between rows is
        // memory of the same buffer.
        let values = unsafe { std::slice::from_raw_parts(data.wrapping_sub(first), length) };
        made(tamis::Rows::strided(
            values,
            first,
            n,
            d,
            stride / size.cast_signed(),
        ))
    }
}

/// What `tamis.arrays` makes of an object that is no array, without copying.
#[cold]
fn viewed<'py>(
    name: &'static str,
    value: &Bound<'py, PyAny>,
    n_axes: usize,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    static AS_VIEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let view = AS_VIEW
        .import(value.py(), "tamis.arrays", "as_view")?
        .call1((name, value, n_axes))?;
    Ok(view.cast_into::<PyUntypedArray>()?)
}

/// Queries and rows that go together: `F` and `I` are one query's components or many queries' rows.
pub(crate) enum Pair<'a, F, I> {
    /// Single precision.
    F32(F, tamis::Rows<'a, f32>),
    /// Rows of half precision.
    F16(F, tamis::Rows<'a, f16>),
    /// Integers.
    I8(I, tamis::Rows<'a, i8>),
}

impl<'a> Pair<'a, Cow<'a, [f32]>, Cow<'a, [i8]>> {
    /// One query and its rows.
    pub(crate) fn one(
        query: &'a Embedding<'_>,
        matrix: &'a Embedding<'_>,
        unit_rows: bool,
    ) -> PyResult<Self> {
        agree(query, matrix, unit_rows)?;
        Ok(match matrix.kind {
            Kind::F32 => Self::F32(query.single(), declared(matrix.rows()?, unit_rows)),
            Kind::F16 => Self::F16(query.single(), declared(matrix.rows()?, unit_rows)),
            Kind::I8 => Self::I8(query.components(), matrix.rows()?),
        })
    }
}

impl<'a> Pair<'a, tamis::Rows<'a, f32>, tamis::Rows<'a, i8>> {
    /// Many queries and the rows of all; `widened` are the queries' components where they are of half precision.
    pub(crate) fn many(
        queries: &'a Embedding<'_>,
        widened: &'a [f32],
        matrix: &'a Embedding<'_>,
        unit_rows: bool,
    ) -> PyResult<Self> {
        agree(queries, matrix, unit_rows)?;
        let single = || match queries.kind {
            Kind::F16 => {
                let [n, d] = [queries.array.shape()[0], queries.array.shape()[1]];
                Ok(tamis::Rows::contiguous(widened, n, d).map_err(BorderError)?)
            }
            _ => queries.rows(),
        };
        Ok(match matrix.kind {
            Kind::F32 => Self::F32(single()?, declared(matrix.rows()?, unit_rows)),
            Kind::F16 => Self::F16(single()?, declared(matrix.rows()?, unit_rows)),
            Kind::I8 => Self::I8(queries.rows()?, matrix.rows()?),
        })
    }
}

/// Runs a core function over a [`Pair`]: `$query` and `$rows` are bound to its halves.
macro_rules! with_pair {
    ($pair:expr, |$query:ident, $rows:ident| $body:expr) => {
        match $pair {
            $crate::array::Pair::F32($query, $rows) => $body,
            $crate::array::Pair::F16($query, $rows) => $body,
            $crate::array::Pair::I8($query, $rows) => $body,
        }
    };
}
pub(crate) use with_pair;

fn declared<T: tamis::Float>(rows: tamis::Rows<'_, T>, unit_rows: bool) -> tamis::Rows<'_, T> {
    if unit_rows { rows.unit() } else { rows }
}

/// Refuses int8 on one side only, and int8 rows that are declared unit.
fn agree(query: &Embedding<'_>, matrix: &Embedding<'_>, unit_rows: bool) -> PyResult<()> {
    if (query.kind == Kind::I8) != (matrix.kind == Kind::I8) {
        let (q, m) = (query.name, matrix.name);
        let fix = if matrix.kind == Kind::I8 {
            "quantise the query to int8 as its rows were".to_owned()
        } else {
            format!("use {q}.astype(\"float32\")")
        };
        return Err(PyTypeError::new_err(format!(
            "{q} is an array of {}, {m} one of {}: int8 goes with int8 alone; {fix}",
            query.array.dtype(),
            matrix.array.dtype()
        )));
    }
    if unit_rows && matrix.kind == Kind::I8 {
        return Err(PyValueError::new_err(format!(
            "{} is an array of int8, which has no unit rows; leave unit_rows out",
            matrix.name
        )));
    }
    Ok(())
}
