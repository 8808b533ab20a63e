"""Filters retrieved context before a language model sees it, with a conformal guarantee.

``import tamis`` loads the native module only: no numpy, no runtime, no client. Every other name is
resolved when it is first used (PEP 562).
"""

from tamis._tamis import (
    Calibration,
    CalibrationFileError,
    Chunker,
    DesignEffect,
    GroupThresholds,
    IdentityMismatch,
    ProviderError,
    RelativeThreshold,
    Report,
    Rule,
    ScorerError,
    Snippet,
    Snippets,
    TamisError,
    Threshold,
    TokenBudget,
    TopK,
    __version__,
    _debug_build,
    conformal_pvalue,
    conformal_quantile,
    conformal_quantiles,
    conformal_quantiles_by_group,
    conformal_rank,
    cosine_scores,
)

# As type checkers read it. typing and importlib would be most of the time that this import takes.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tamis.calibration import calibrate
    from tamis.encoder import Encoder, OnnxEncoder
    from tamis.evaluation import Evaluation, evaluate
    from tamis.filter import Filter
    from tamis.labelled import (
        ChunkLabels,
        Document,
        LabelledDataError,
        LabelledQuery,
        read_labelled,
        read_scores,
    )
    from tamis.result import FilterResult
    from tamis.scorer import EmbeddingScorer, Scorer

__all__ = [
    "Calibration",
    "CalibrationFileError",
    "ChunkLabels",
    "Chunker",
    "DesignEffect",
    "Document",
    "EmbeddingScorer",
    "Encoder",
    "Evaluation",
    "Filter",
    "FilterResult",
    "GroupThresholds",
    "IdentityMismatch",
    "LabelledDataError",
    "LabelledQuery",
    "OnnxEncoder",
    "ProviderError",
    "RelativeThreshold",
    "Report",
    "Rule",
    "Scorer",
    "ScorerError",
    "Snippet",
    "Snippets",
    "TamisError",
    "Threshold",
    "TokenBudget",
    "TopK",
    "__version__",
    "calibrate",
    "conformal_pvalue",
    "conformal_quantile",
    "conformal_quantiles",
    "conformal_quantiles_by_group",
    "conformal_rank",
    "cosine_scores",
    "evaluate",
    "read_labelled",
    "read_scores",
]

_LAZY = {
    "calibrate": "tamis.calibration",
    "ChunkLabels": "tamis.labelled",
    "Document": "tamis.labelled",
    "EmbeddingScorer": "tamis.scorer",
    "Encoder": "tamis.encoder",
    "Evaluation": "tamis.evaluation",
    "evaluate": "tamis.evaluation",
    "Filter": "tamis.filter",
    "FilterResult": "tamis.result",
    "LabelledDataError": "tamis.labelled",
    "LabelledQuery": "tamis.labelled",
    "OnnxEncoder": "tamis.encoder",
    "read_labelled": "tamis.labelled",
    "read_scores": "tamis.labelled",
    "Scorer": "tamis.scorer",
}

if _debug_build:
    import warnings

    warnings.warn(
        "this is a debug build of tamis: it is ten times slower", RuntimeWarning, stacklevel=2
    )


def __getattr__(name: str) -> "Any":
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'tamis' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
