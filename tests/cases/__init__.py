"""One runner per kind of case, by part; what the cases' `expect` means is in `expectations`."""

from __future__ import annotations

from cases import calibration, chunking, embedding, filtering, packaging, persistence, scoring
from cases.expectations import Case, NoRunner, Runner

PARTS = (calibration, chunking, embedding, filtering, packaging, persistence, scoring)

RUNNERS: dict[str, Runner] = {kind: run for part in PARTS for kind, run in part.RUNNERS.items()}

assert len(RUNNERS) == sum(len(part.RUNNERS) for part in PARTS), "two runners for one kind"

__all__ = ["RUNNERS", "Case", "NoRunner", "Runner"]
