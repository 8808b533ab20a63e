//! `Chunker`.

use std::num::NonZero;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyString, PyTuple};

use crate::array::{items, kind_of, plain_list};
use crate::detach::maybe_detach;
use crate::error::BorderError;
use crate::identity::identity_out;
use crate::options::{count, threads as threads_in};
use crate::snippets::PySnippets;

/// Cuts text into snippets: runs of whole sentences of at most `max_chars` code points.
#[pyclass(frozen, module = "tamis", name = "Chunker")]
pub(crate) struct PyChunker(tamis::Chunker);

#[pymethods]
impl PyChunker {
    #[new]
    #[pyo3(signature = (max_chars = None, overlap = None, segmenter = None))]
    fn new(
        max_chars: Option<&Bound<'_, PyAny>>,
        overlap: Option<&Bound<'_, PyAny>>,
        segmenter: Option<String>,
    ) -> PyResult<Self> {
        let max_chars = max_chars.map_or(Ok(tamis::Chunker::MAX_CHARS), |value| count("max_chars", value))?;
        let overlap = overlap.map_or(Ok(tamis::Chunker::OVERLAP), |value| count("overlap", value))?;
        let chunker = tamis::Chunker::new(max_chars, overlap).map_err(BorderError)?;
        Ok(Self(match segmenter {
            Some(name) => chunker.with_segmenter(name),
            None => chunker,
        }))
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

    /// The name of the caller's sentence segmenter, or None for our own.
    #[getter]
    fn segmenter(&self) -> Option<&str> {
        self.0.segmenter()
    }

    /// What two chunkers must agree on to cut alike.
    #[getter]
    fn identity<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        identity_out(py, Some(&self.0.identity()))
    }

    /// The snippets of one text.
    #[pyo3(signature = (text, boundaries = None))]
    fn chunk(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        boundaries: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PySnippets> {
        let document = document("text", text)?;
        let boundaries = boundaries
            .map(|ends| positions("boundaries", ends).map(|ends| vec![ends]))
            .transpose()?;
        self.cut(py, vec![document], boundaries.as_deref(), NonZero::<usize>::MIN)
    }

    /// The snippets of many texts.
    #[pyo3(signature = (texts, boundaries = None, threads = None))]
    fn chunk_many(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        boundaries: Option<&Bound<'_, PyAny>>,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PySnippets> {
        if texts.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err(
                "texts must be an iterable of str, got one str",
            ));
        }
        let threads = threads_in(threads)?;
        let documents = items("texts", "an iterable of str", texts, |i, text| {
            document(&format!("texts[{i}]"), text)
        })?;
        let boundaries = boundaries
            .map(|lists| {
                items("boundaries", "one sequence of ints a text", lists, |i, ends| {
                    positions(&format!("boundaries[{i}]"), ends)
                })
            })
            .transpose()?;
        self.cut(py, documents, boundaries.as_deref(), threads)
    }

    /// The sentences of one text.
    fn sentences(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<PySnippets> {
        let document = document("text", text)?;
        cut(py, vec![document], |texts| Ok(self.0.sentences(texts)))
    }

    fn __repr__(&self) -> String {
        let segmenter = self
            .0
            .segmenter()
            .map_or_else(String::new, |name| format!(", segmenter={name:?}"));
        format!(
            "Chunker(max_chars={}, overlap={}{segmenter})",
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
        let arguments = (self.0.max_chars(), self.0.overlap(), self.0.segmenter()).into_pyobject(py)?;
        PyTuple::new(py, [py.get_type::<Self>().into_any(), arguments.into_any()])
    }
}

impl PyChunker {
    fn cut(
        &self,
        py: Python<'_>,
        documents: Vec<(Py<PyString>, PyBackedStr)>,
        boundaries: Option<&[Vec<usize>]>,
        threads: NonZero<usize>,
    ) -> PyResult<PySnippets> {
        cut(py, documents, |texts| match (boundaries, self.0.segmenter()) {
            (Some(ends), Some(_)) => self.0.chunk_given(texts, ends),
            (None, None) => Ok(self.0.chunk_many(texts, threads)),
            (given, _) => Err(tamis::Error::BoundariesFor {
                expected: if given.is_none() { texts.len() } else { 0 },
                got: given.map_or(0, <[_]>::len),
            }),
        })
    }
}

/// Cuts with the lock released where the texts are long.
fn cut(
    py: Python<'_>,
    documents: Vec<(Py<PyString>, PyBackedStr)>,
    by: impl Fn(&[&str]) -> tamis::Result<tamis::Spans> + Sync,
) -> PyResult<PySnippets> {
    let bytes = documents.iter().map(|(_, text)| text.len()).sum();
    let spans = maybe_detach(py, bytes, || {
        let texts: Vec<&str> = documents.iter().map(|(_, text)| &**text).collect();
        by(&texts)
    })
    .map_err(BorderError)?;
    Ok(PySnippets::new(documents, spans))
}

/// Positions in code points, from a sequence or an array of ints.
fn positions(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let value = plain_list(value)?;
    items(name, "a sequence of ints", &value, |i, position| {
        count(&format!("{name}[{i}]"), position)
    })
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
