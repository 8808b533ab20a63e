"""What filtering would do on labelled data: recall against its promise, and what is removed."""

from tamis.evaluation.held_out import HeldOut, evaluate_calibration
from tamis.evaluation.measures import Measures, Table
from tamis.evaluation.splits import AlphaSplits, Evaluation, evaluate, evaluate_scored

__all__ = [
    "AlphaSplits",
    "Evaluation",
    "HeldOut",
    "Measures",
    "Table",
    "evaluate",
    "evaluate_calibration",
    "evaluate_scored",
]
