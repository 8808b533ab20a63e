//! `Chunker`.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBool, PyString, PyTuple};

use crate::array::{items, kind_of};
use crate::detach::maybe_detach;
use crate::error::BorderError;
use crate::identity::identity_out;
use crate::snippets::PySnippets;

/// Cuts text into snippets: runs of whole sentences of at most `max_chars` code points.
#[pyclass(frozen, module = "tamis", name = "Chunker")]
pub(crate) struct PyChunker(tamis::Chunker);

#[pymethods]
impl PyChunker {
    #[new]
    #[pyo3(signature = (max_chars = None, overlap = None))]
    fn new(max_chars: Option<&Bound<'_, PyAny>>, overlap: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let max_chars = max_chars.map_or(Ok(tamis::Chunker::MAX_CHARS), |value| count("max_chars", value))?;
        let overlap = overlap.map_or(Ok(tamis::Chunker::OVERLAP), |value| count("overlap", value))?;
        Ok(Self(
            tamis::Chunker::new(max_chars, overlap).map_err(BorderError)?,
        ))
    }

    /// The limit of a snippet in code points.
    #[getter]
    fn max_chars(&self) -> usize {
        self.0.max_chars()
    }

    /// The limit of what neighbours share in code points.
    #[getter]
    fn overlap(&self) -> usize {
        self.0.overlap()
    }

    /// What two chunkers must agree on to cut alike.
    #[getter]
    fn identity<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        identity_out(py, Some(&self.0.identity()))
    }

    /// The snippets of one text.
    fn chunk(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<PySnippets> {
        let document = document("text", text)?;
        Ok(cut(py, vec![document], |texts| self.0.chunk_many(texts)))
    }

    /// The snippets of many texts.
    fn chunk_many(&self, py: Python<'_>, texts: &Bound<'_, PyAny>) -> PyResult<PySnippets> {
        if texts.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err(
                "texts must be an iterable of str, got one str",
            ));
        }
        let documents = items("texts", "an iterable of str", texts, |i, text| {
            document(&format!("texts[{i}]"), text)
        })?;
        Ok(cut(py, documents, |texts| self.0.chunk_many(texts)))
    }

    /// The sentences of one text.
    fn sentences(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<PySnippets> {
        let document = document("text", text)?;
        Ok(cut(py, vec![document], |texts| self.0.sentences(texts)))
    }

    fn __repr__(&self) -> String {
        format!(
            "Chunker(max_chars={}, overlap={})",
            self.0.max_chars(),
            self.0.overlap()
        )
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __hash__(&self) -> usize {
        self.0.max_chars().wrapping_mul(31).wrapping_add(self.0.overlap())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let arguments = (self.0.max_chars(), self.0.overlap()).into_pyobject(py)?;
        PyTuple::new(py, [py.get_type::<Self>().into_any(), arguments.into_any()])
    }
}

/// Cuts with the lock released where the texts are long.
fn cut(
    py: Python<'_>,
    documents: Vec<(Py<PyString>, PyBackedStr)>,
    by: impl Fn(&[&str]) -> tamis::Spans + Sync,
) -> PySnippets {
    let bytes = documents.iter().map(|(_, text)| text.len()).sum();
    let spans = maybe_detach(py, bytes, || {
        let texts: Vec<&str> = documents.iter().map(|(_, text)| &**text).collect();
        by(&texts)
    });
    PySnippets::new(documents, spans)
}

/// A text both as Python holds it and as the core reads it (borrowed; non-ASCII text is encoded once and cached).
fn document(name: &str, text: &Bound<'_, PyAny>) -> PyResult<(Py<PyString>, PyBackedStr)> {
    let string = text
        .cast::<PyString>()
        .map_err(|_| PyTypeError::new_err(format!("{name} must be a str, got {}", kind_of(text))))?;
    let backed = PyBackedStr::try_from(string.clone()).map_err(|error| {
        PyValueError::new_err(format!(
            "{name} holds a lone surrogate and is no Unicode text ({})",
            error.value(text.py())
        ))
    })?;
    Ok((string.clone().unbind(), backed))
}

fn count(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
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
