"""Circumstances that a calibration file records: they may move a score by an ulp, and warn once."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Mapping
from importlib import metadata

from tamis._tamis import Rule, __version__

# What is compared at use. The rest of a file's environment is for people.
_COMPARED = ("tamis", "runtime", "machine")
_warned: set[tuple[str, str, str]] = set()
_warned_of_requests: set[tuple[str, str | None]] = set()


def record(known: Mapping[str, str]) -> dict[str, str]:
    """What a new file records, beside what the scorer knows of itself."""
    return {
        **known,
        "tamis": __version__,
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "machine": platform.machine(),
        "system": platform.system(),
    }


def warn_of_differences(recorded: Mapping[str, str]) -> None:
    """Warn of each difference between a file's environment and this one, once per process.

    Reads package metadata only: no runtime is loaded.
    """
    for field in _COMPARED:
        was = recorded.get(field)
        here = _here(field, was) if was is not None else None
        if was is None or here is None or was == here or (field, was, here) in _warned:
            continue
        _warned.add((field, was, here))
        warnings.warn(
            f"{field}: calibrated with {was}, used with {here}; scores may differ in their last "
            "digits. Recalibrate if they differ by more",
            stacklevel=3,
        )


def warn_of_candidates(n_candidates: int, threshold: Rule) -> None:
    """Warn of a request with another number of candidates than the calibration's."""
    known = threshold.candidates_range
    if known is not None:
        breaks = "; a relative threshold breaks when lists get shorter"
        _warn_of_request(
            f"a request has {n_candidates} candidates, the calibration's had {_percentiles(known)}"
            f"{breaks if threshold.family == 'relative' else ''}",
            "outside_candidates_range",
            threshold,
        )


def warn_of_sizes(median_size: float | None, threshold: Rule) -> None:
    """Warn of a request whose snippets have other sizes than the calibration's."""
    known = threshold.size_range
    if known is not None and median_size is not None:
        unit = f" {threshold.size_unit}" if threshold.size_unit else ""
        _warn_of_request(
            f"the median snippet of a request has {median_size:g}{unit}, the calibration's had "
            f"{_percentiles(known)}",
            "outside_size_range",
            threshold,
        )


def _percentiles(known: tuple[float, float]) -> str:
    return f"{known[0]:g} to {known[1]:g} (1st to 99th percentile)"


def _warn_of_request(difference: str, field: str, threshold: Rule) -> None:
    """Warn of a request unlike the calibration's, once per process, calibration and field.

    Where the host makes exceptions of warnings it is logged: it must not fail the request.
    """
    if (field, threshold.calibration_id) in _warned_of_requests:
        return
    _warned_of_requests.add((field, threshold.calibration_id))
    message = (
        f"{difference}: what is promised is about requests like those. Said once; "
        f"FilterResult.stats.{field} says it of each request"
    )
    try:
        warnings.warn(message, stacklevel=5)
    except UserWarning:
        import logging

        logging.getLogger("tamis").warning(message)


def _here(field: str, was: str) -> str | None:
    if field == "tamis":
        return __version__
    if field == "machine":
        return platform.machine()
    # "onnxruntime 1.32.0": the same distribution, as it is installed here.
    name = was.split(" ")[0]
    try:
        return f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return None
