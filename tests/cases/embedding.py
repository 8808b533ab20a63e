"""Cases of the embedding runtime, on the shipped model."""

from __future__ import annotations

import re
from itertools import cycle, islice
from typing import Any

import numpy as np
import pytest

import tamis
from cases.expectations import Case, Outcome, Runner, attempt, judge

MODEL = "minilm"
QUESTION = "Where does the boat lie at night?"


def shipped_encoder() -> Any:
    """The default model; the test is skipped by name where it or its runtime is not installed."""
    try:
        encoder = tamis.OnnxEncoder(MODEL)
        encoder.encode(["warm"])
    except FileNotFoundError:
        pytest.skip(f"the model {MODEL} is not installed")
    except ImportError as error:
        if not re.search("onnxruntime|tokenizers", str(error)):
            raise
        pytest.skip("the runtime of models is not installed")
    return encoder


def run_batch_invariance(case: Case) -> None:
    """A snippet's score is the same in every company, at every place of every batch size."""
    snippets, sizes = case["input"]["snippets"], case["input"]["batch_sizes"]
    encoder = shipped_encoder()
    question = encoder.encode([QUESTION], kind="query")[0]

    def call() -> float:
        alone = tamis.cosine_scores(question, np.vstack([encoder.encode([s]) for s in snippets]))
        largest = 0.0
        for size in sizes:
            for first in range(len(snippets)):
                order = list(islice(cycle(range(len(snippets))), first, first + size))
                batch = tamis.cosine_scores(question, encoder.encode([snippets[i] for i in order]))
                largest = max(largest, float(np.max(np.abs(batch - alone[order]))))
        return largest

    def difference(wanted: float, outcome: Outcome) -> str | None:
        if outcome.error is not None or outcome.value <= wanted:
            return None
        return f"scores differ by {outcome.value}, wanted {wanted}"

    judge(case["expect"], attempt(call), {"max_score_difference": difference})


RUNNERS: dict[str, Runner] = {"batch_invariance": run_batch_invariance}
