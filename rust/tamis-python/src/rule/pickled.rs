//! A rule's pickled state and back.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::{PyRule, Source, groups_out, rule_out};
use crate::error::BorderError;
use crate::identity::{identity, identity_out};
use crate::level::level;
use crate::options::named;

/// One rule: what it is, what it promises, what from, what it is for.
pub(super) type Pickled<'py> = (
    (String, f64, f64),
    (
        Option<Bound<'py, PyAny>>,
        Option<Bound<'py, PyAny>>,
        Option<String>,
        Option<String>,
    ),
    (u64, u64, Option<(f64, f64)>),
    (
        Option<(f64, f64)>,
        Option<(f64, f64)>,
        Option<String>,
        Option<Bound<'py, PyAny>>,
        Option<Bound<'py, PyAny>>,
    ),
);

/// The names of groups, in the order of their rules, and what makes them.
pub(super) type Grouping = (Vec<String>, Option<String>);

/// The arguments of `_rebuild`.
pub(super) fn state<'py>(py: Python<'py>, rule: &PyRule) -> PyResult<Bound<'py, PyTuple>> {
    let (rules, grouping) = match &rule.groups {
        None => (vec![one(py, &rule.core)?], None),
        Some(groups) => {
            let names: Vec<String> = groups.thresholds.keys().cloned().collect();
            let rules = groups.thresholds.values().map(|core| one(py, core));
            (
                rules.collect::<PyResult<_>>()?,
                Some((names, groups.grouping.clone())),
            )
        }
    };
    (rule.id(), rules, grouping).into_pyobject(py)
}

fn one<'py>(py: Python<'py>, core: &tamis::Threshold) -> PyResult<Bound<'py, PyTuple>> {
    let written = |level: &Option<tamis::Level>| level.as_ref().map(|level| level.as_str().to_owned());
    let shift = core
        .shift
        .map(|shift| (shift.effective_units, shift.mass_at_infinity));
    (
        (core.family.as_str(), core.value, core.slack),
        (
            written(&core.alpha),
            written(&core.delta),
            core.unit.map(tamis::Unit::as_str),
            core.target.map(tamis::Target::as_str),
        ),
        (core.n_cal, core.n_units, shift),
        (
            core.candidates_range,
            core.size_range,
            core.size_unit.clone(),
            identity_out(py, core.scorer.as_ref())?,
            identity_out(py, core.chunker.as_ref())?,
        ),
    )
        .into_pyobject(py)
}

/// The rule of a pickled state.
pub(super) fn rebuilt<'py>(
    py: Python<'py>,
    id: Option<String>,
    rules: Vec<Pickled<'py>>,
    groups: Option<Grouping>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut cores = rules.into_iter().map(core).collect::<PyResult<Vec<_>>>()?;
    let source = Source::Id(id);
    let damaged = || PyValueError::new_err("a pickled rule is damaged");
    let Some((names, grouping)) = groups else {
        let core = cores.pop().filter(|_| cores.is_empty()).ok_or_else(damaged)?;
        return rule_out(py, core, source);
    };
    if names.len() != cores.len() {
        return Err(damaged());
    }
    let thresholds = names.into_iter().zip(cores).collect();
    let groups = tamis::GroupThresholds {
        thresholds,
        grouping,
    };
    groups_out(py, groups, source)
}

fn core(pickled: Pickled<'_>) -> PyResult<tamis::Threshold> {
    let ((family, value, slack), promise, (n_cal, n_units, shift), calibrated) = pickled;
    let (alpha, delta, unit, target) = promise;
    let (candidates_range, size_range, size_unit, scorer, chunker) = calibrated;
    let family = named("family", &family, tamis::Family::ALL, tamis::Family::as_str)?;
    if !(slack.is_finite() && slack >= 0.0) {
        return Err(BorderError(tamis::Error::Slack { value: slack }).into());
    }
    let unit = unit.map(|unit| named("unit", &unit, tamis::Unit::ALL, tamis::Unit::as_str));
    let target = target.map(|target| named("target", &target, tamis::Target::ALL, tamis::Target::as_str));
    Ok(tamis::Threshold {
        slack,
        alpha: alpha.map(|alpha| level("alpha", &alpha)).transpose()?,
        delta: delta.map(|delta| level("delta", &delta)).transpose()?,
        unit: unit.transpose()?,
        target: target.transpose()?,
        n_cal,
        n_units,
        shift: shift.map(|(effective_units, mass_at_infinity)| tamis::Shift {
            effective_units,
            mass_at_infinity,
        }),
        candidates_range,
        size_range,
        size_unit,
        scorer: identity("scorer", scorer.as_ref())?,
        chunker: identity("chunker", chunker.as_ref())?,
        ..tamis::Threshold::fixed_in(family, value).map_err(BorderError)?
    })
}
