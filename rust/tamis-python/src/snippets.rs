//! `Snippets` and `Snippet`.

use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyList, PySlice, PyString, PyTuple};

use crate::array::{items, pairs};
use crate::error::BorderError;

/// Snippets of one or more texts, by document and start; nothing is copied until asked for.
#[pyclass(frozen, sequence, module = "tamis", name = "Snippets")]
pub(crate) struct PySnippets(Arc<Columns>);

/// The spans and the texts they cut.
struct Columns {
    documents: Vec<(Py<PyString>, PyBackedStr)>,
    spans: tamis::Spans,
}

impl Columns {
    /// The text of a snippet as Python holds it.
    fn text<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let span = self.spans.as_slice()[index];
        let (start, end) = self.spans.code_points()[index];
        let (string, text) = &self.documents[span.document];
        if end - start == span.end - span.start {
            // ASCII.
            return Ok(PyString::new(py, &text[span.start..span.end]).into_any());
        }
        // Copied from the code points of the document: half the cost of reading UTF-8 again.
        let slice = PySlice::new(py, isize::try_from(start)?, isize::try_from(end)?, 1);
        string.bind(py).as_any().get_item(slice)
    }
}

impl PySnippets {
    pub(crate) fn new(documents: Vec<(Py<PyString>, PyBackedStr)>, spans: tamis::Spans) -> Self {
        Self(Arc::new(Columns { documents, spans }))
    }

    fn snippet(&self, index: usize) -> PySnippet {
        let span = self.0.spans.as_slice()[index];
        let (start, end) = self.0.spans.code_points()[index];
        PySnippet {
            document: span.document,
            start,
            end,
            text: Text::Part {
                columns: Arc::clone(&self.0),
                span,
            },
            score: None,
        }
    }
}

#[pymethods]
impl PySnippets {
    fn __len__(&self) -> usize {
        self.0.spans.as_slice().len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let length = self.__len__();
        if let Ok(slice) = index.cast::<PySlice>() {
            let slice = slice.indices(isize::try_from(length)?)?;
            let out = (0..slice.slicelength)
                .map(|i| {
                    let at = slice.start + isize::try_from(i)? * slice.step;
                    Py::new(py, self.snippet(usize::try_from(at)?))
                })
                .collect::<PyResult<Vec<_>>>()?;
            return Ok(PyList::new(py, out)?.into_any());
        }
        let wrong = || PyIndexError::new_err(format!("snippet index out of range: there are {length}"));
        let signed: isize = index.extract().map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(py) {
                wrong()
            } else {
                PyTypeError::new_err("snippet indices must be integers or slices")
            }
        })?;
        let at = if signed < 0 {
            length.checked_add_signed(signed)
        } else {
            usize::try_from(signed).ok()
        };
        let at = at.filter(|&at| at < length).ok_or_else(wrong)?;
        Ok(Bound::new(py, self.snippet(at))?.into_any())
    }

    fn __repr__(&self) -> String {
        format!(
            "Snippets({} of {} documents)",
            self.__len__(),
            self.0.documents.len()
        )
    }

    /// The texts of all snippets.
    fn texts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let texts: Vec<_> = (0..self.__len__())
            .map(|index| self.0.text(py, index))
            .collect::<PyResult<_>>()?;
        PyList::new(py, texts)
    }

    /// Where all snippets begin and end in their documents.
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        pairs(py, self.0.spans.code_points())
    }

    /// (document, start, end) of all snippets in code points.
    #[pyo3(name = "_spans")]
    fn spans(&self) -> Vec<(usize, usize, usize)> {
        let spans = self.0.spans.as_slice().iter();
        spans
            .zip(self.0.spans.code_points())
            .map(|(span, &(start, end))| (span.document, start, end))
            .collect()
    }

    /// Which snippet holds which labelled span of a document: pairs (label, snippet), the snippet counted in all.
    #[pyo3(name = "_holds")]
    fn holds(&self, document: usize, labels: &Bound<'_, PyAny>) -> PyResult<Vec<(usize, usize)>> {
        let labels = items("labels", "a sequence", labels, |_, label| label.extract())?;
        let Some((_, text)) = self.0.documents.get(document) else {
            return Err(PyIndexError::new_err(format!(
                "document {document} is not among the {}",
                self.0.documents.len()
            )));
        };
        let first = self
            .0
            .spans
            .as_slice()
            .partition_point(|span| span.document < document);
        let holds = tamis::holds(text, self.0.spans.of_document(document), &labels).map_err(BorderError)?;
        Ok(holds
            .into_iter()
            .map(|hold| (hold.label, first + hold.snippet))
            .collect())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let documents = PyList::new(py, self.0.documents.iter().map(|(string, _)| string.bind(py)))?;
        let bytes: Vec<(usize, usize, usize)> = self
            .0
            .spans
            .as_slice()
            .iter()
            .map(|span| (span.document, span.start, span.end))
            .collect();
        let state = (documents, bytes).into_pyobject(py)?;
        PyTuple::new(py, [py.get_type::<Self>().getattr("_rebuild")?, state.into_any()])
    }

    /// The inverse of pickling.
    #[staticmethod]
    #[pyo3(name = "_rebuild")]
    fn rebuild(documents: &Bound<'_, PyAny>, spans: &Bound<'_, PyAny>) -> PyResult<Self> {
        let spans = items("spans", "a sequence", spans, |_, span| span.extract())?;
        let documents = items("documents", "a sequence", documents, |_, document| {
            let string = document.cast::<PyString>()?;
            Ok((string.clone().unbind(), PyBackedStr::try_from(string.clone())?))
        })?;
        let texts: Vec<&str> = documents.iter().map(|(_, text)| &**text).collect();
        let spans = tamis::Spans::new(&texts, &spans).map_err(BorderError)?;
        Ok(Self::new(documents, spans))
    }
}

/// A snippet: where it lies, its text, and its score once it has one.
#[pyclass(frozen, module = "tamis", name = "Snippet")]
pub(crate) struct PySnippet {
    document: usize,
    start: usize,
    end: usize,
    text: Text,
    score: Option<f64>,
}

/// The text of a snippet: a part of its document, or (after pickling) its own.
#[derive(Clone)]
enum Text {
    Part {
        columns: Arc<Columns>,
        span: tamis::Span,
    },
    Own(String),
}

impl Text {
    fn as_str(&self) -> &str {
        match self {
            Self::Part { columns, span } => &columns.documents[span.document].1[span.start..span.end],
            Self::Own(text) => text,
        }
    }
}

#[pymethods]
impl PySnippet {
    #[new]
    #[pyo3(signature = (document, start, end, text, score = None))]
    fn new(document: usize, start: usize, end: usize, text: String, score: Option<f64>) -> PyResult<Self> {
        if end.checked_sub(start) != Some(text.chars().count()) {
            return Err(PyValueError::new_err(format!(
                "text must have end - start code points, got {} for [{start}, {end})",
                text.chars().count()
            )));
        }
        Ok(Self {
            document,
            start,
            end,
            text: Text::Own(text),
            score,
        })
    }

    /// Position of the document among those given.
    #[getter]
    fn document(&self) -> usize {
        self.document
    }

    /// First code point.
    #[getter]
    fn start(&self) -> usize {
        self.start
    }

    /// One past the last code point.
    #[getter]
    fn end(&self) -> usize {
        self.end
    }

    /// The text, equal to `document[start:end]`.
    #[getter]
    fn text(&self) -> &str {
        self.text.as_str()
    }

    /// The nonconformity score, lower is more relevant; None until filtered.
    #[getter]
    fn score(&self) -> Option<f64> {
        self.score
    }

    /// The same snippet with a score.
    fn with_score(&self, score: f64) -> Self {
        Self {
            document: self.document,
            start: self.start,
            end: self.end,
            text: self.text.clone(),
            score: Some(score),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut text: String = self.text().chars().take(60).collect();
        if text.len() < self.text().len() {
            text.push('…');
        }
        let score = self
            .score
            .map_or_else(String::new, |score| format!(", score={score:.4}"));
        Ok(format!(
            "Snippet(document={}, start={}, end={}, text={}{score})",
            self.document,
            self.start,
            self.end,
            PyString::new(py, &text).repr()?
        ))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<Self>()
            .is_ok_and(|other| other.get().key() == self.key())
    }

    fn __hash__(&self) -> isize {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        (self.document, self.start, self.end, self.text()).hash(&mut hasher);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            reason = "any bits make a hash"
        )]
        let hash = hasher.finish() as isize;
        hash
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let arguments = (self.document, self.start, self.end, self.text(), self.score).into_pyobject(py)?;
        PyTuple::new(py, [py.get_type::<Self>().into_any(), arguments.into_any()])
    }
}

impl PySnippet {
    fn key(&self) -> (usize, usize, usize, &str, Option<u64>) {
        (
            self.document,
            self.start,
            self.end,
            self.text(),
            self.score.map(f64::to_bits),
        )
    }
}
