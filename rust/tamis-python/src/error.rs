//! The only place where exceptions are made.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

create_exception!(
    tamis,
    TamisError,
    PyException,
    "Base of the errors that are about tamis rather than an argument."
);

/// An error of the core on its way to Python.
pub(crate) struct BorderError(pub(crate) tamis::Error);

impl From<tamis::Error> for BorderError {
    fn from(error: tamis::Error) -> Self {
        Self(error)
    }
}

impl BorderError {
    /// An error about vectors, with what they are stored as and the call that drops such rows.
    #[cold]
    pub(crate) fn of_vectors(self, query_dtype: &str, row_dtype: &str) -> PyErr {
        let (name, drops) = match self.0 {
            tamis::Error::ZeroVector { name, .. } => (name, "matrix[matrix.any(axis=1)]"),
            tamis::Error::NonFiniteVector { name, .. } => (name, "matrix[np.isfinite(matrix).all(axis=1)]"),
            _ => return self.into(),
        };
        let text = self.0;
        PyValueError::new_err(if name == "snippet vector" {
            format!("{text} ({row_dtype}); {drops} leaves such rows out")
        } else {
            format!("{text} ({query_dtype})")
        })
    }
}

impl From<BorderError> for PyErr {
    fn from(BorderError(error): BorderError) -> Self {
        let text = error.to_string();
        match error {
            tamis::Error::CalibrationFile { .. } => domain("CalibrationFileError", text),
            tamis::Error::IdentityMismatch { .. } | tamis::Error::IdentityMissing { .. } => {
                domain("IdentityMismatch", text)
            }
            _ => PyValueError::new_err(text),
        }
    }
}

/// An instance of one of the classes that derive from both `TamisError` and `ValueError`.
fn domain(class: &str, text: String) -> PyErr {
    Python::attach(|py| {
        let made = py
            .import("tamis._tamis")
            .and_then(|module| module.getattr(class))
            .and_then(|class| class.call1((text,)));
        match made {
            Ok(instance) => PyErr::from_value(instance),
            Err(error) => error,
        }
    })
}

/// Adds the exception classes. Two bases are beyond `create_exception!`, so `type()` makes them.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let base = py.get_type::<TamisError>();
    module.add("TamisError", &base)?;
    let value = py.get_type::<PyValueError>();
    let runtime = py.get_type::<pyo3::exceptions::PyRuntimeError>();
    let with_value = PyTuple::new(py, [base.as_any(), value.as_any()])?;
    let with_runtime = PyTuple::new(py, [base.as_any(), runtime.as_any()])?;
    let alone = PyTuple::new(py, [base.as_any()])?;
    let classes = [
        (
            "CalibrationFileError",
            &with_value,
            "A calibration file that is damaged, foreign or was changed; names the field.",
        ),
        (
            "IdentityMismatch",
            &with_value,
            "Another scorer, chunker or kind of label than calibrated; names the fields.",
        ),
        (
            "ProviderError",
            &with_runtime,
            "An inference provider that is missing, or is not the one asked for.",
        ),
        (
            "ScorerError",
            &alone,
            "A scorer or encoder that failed on a snippet.",
        ),
    ];
    let type_ = py.get_type::<pyo3::types::PyType>();
    for (name, bases, doc) in classes {
        let namespace = pyo3::types::PyDict::new(py);
        namespace.set_item("__module__", "tamis")?;
        namespace.set_item("__doc__", doc)?;
        module.add(name, type_.call1((name, bases, namespace))?)?;
    }
    Ok(())
}
