"""Cases of the score: cosines, vectors without a direction, and how arrays lie in memory."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import oracle
import tamis
from cases.expectations import Case, Check, NoRunner, Outcome, Runner, attempt, judge, numbers

Matrix = NDArray[Any]


def _matrix(rows: Sequence[Sequence[Any]], dtype: str = "float32") -> Any:
    """The rows as an array, or as they are where they are ragged."""
    values = [numbers(row) for row in rows]
    if len({len(row) for row in values}) > 1:
        return values
    shape = (len(values), len(values[0]) if values else 0)
    with np.errstate(over="ignore"):
        return np.array(values, np.float64).reshape(shape).astype(dtype)


def _vector(values: Sequence[Any], dtype: str = "float32") -> Matrix:
    with np.errstate(over="ignore"):
        return np.array(numbers(values), np.float64).astype(dtype)


def ways(query: Any, matrix: Any) -> dict[str, Callable[[], Any]]:
    """Every way from vectors to a decision; each gives scores, or kept positions."""
    threshold = tamis.Threshold.fixed(3.0)
    everything = tamis.Filter(threshold)
    n = len(matrix)
    return {
        "cosine_scores": lambda: tamis.cosine_scores(query, matrix),
        "filter_vectors": lambda: everything.filter_vectors(query, matrix).scores,
        "tensors": lambda: tamis.cosine_scores(Tensor(query), Tensor(matrix)),
        "select": lambda: threshold.select(query, matrix),
        "select_out": lambda: threshold.select(query, matrix, out=np.empty(n, np.intp)),
        "select_many": lambda: threshold.select_many(query[np.newaxis], matrix, [0, n])[0],
    }


SELECTS = ("select", "select_out", "select_many")


class Tensor:
    """What a tensor library offers, over an array."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


def _close(name: str, tolerance: float) -> Check:
    def check(wanted: Sequence[float], outcome: Outcome) -> str | None:
        if outcome.error is not None:
            return None
        got = np.asarray(outcome.value, np.float64)
        want = np.asarray(numbers(wanted), np.float64)
        if got.shape != want.shape:
            return f"{name} gave shape {got.shape}, wanted {want.shape}"
        if not np.all(np.abs(got - want) <= tolerance):
            return f"{name} gave {got.tolist()}, wanted {want.tolist()} within {tolerance}"
        return None

    return check


def _read(_: Any, __: Outcome) -> None:
    """A key that another check has read."""
    return None


def run_cosine(case: Case) -> None:
    given, expect = case["input"], case["expect"]
    tolerance = float(expect.get("tolerance", 0))
    for dtype in ("float32", "float16", "int8"):
        query, matrix = _vector(given["query"], dtype), _matrix(given["snippets"], dtype)
        exact = all(
            numbers(row) == [float(x) for x in kept]
            for row, kept in zip(
                [given["query"], *given["snippets"]], [query, *matrix], strict=True
            )
        )
        if dtype != "float32" and not exact:
            continue
        if dtype == "int8":
            # Beside rows of integers another query is refused by name, not cast in silence.
            for call in ways(query.astype("float32"), matrix).values():
                assert isinstance(attempt(call).error, TypeError)
        else:
            query = query.astype("float32")
        for name, call in ways(query, matrix).items():
            outcome = attempt(call)
            checks: dict[str, Check] = {"scores": _close(name, tolerance), "tolerance": _read}
            if name in SELECTS:
                checks["scores"] = _read
                assert list(outcome.value) == list(range(len(matrix))), outcome.shown
            judge(expect, outcome, checks)
    query, matrix = _vector(given["query"]), _matrix(given["snippets"])
    reference = [oracle.cosine_score(query.tolist(), row) for row in matrix.tolist()]
    assert np.allclose(tamis.cosine_scores(query, matrix), reference, rtol=0, atol=1e-6)


def run_self_similarity(case: Case) -> None:
    rule, expect = case["input"]["vector_rule"], case["expect"]
    vector = np.full(rule["dim"], rule["value"], rule.get("dtype", "float32"))

    def low(wanted: float, outcome: Outcome) -> str | None:
        fine = outcome.error is not None or min(outcome.value) >= wanted
        return None if fine else f"score {min(outcome.value)} < {wanted}"

    def high(wanted: float, outcome: Outcome) -> str | None:
        fine = outcome.error is not None or max(outcome.value) <= wanted
        return None if fine else f"score {max(outcome.value)} > {wanted}"

    for name, call in ways(vector, vector[np.newaxis, :]).items():
        if name in SELECTS:
            continue
        outcome = attempt(call)
        if vector.dtype not in (np.float32, np.float16) and isinstance(outcome.error, TypeError):
            continue  # refused by name, not cast in silence
        judge(expect, outcome, {"score_min": low, "score_max": high})


def _rule(outcome: Outcome, row: int) -> Any:
    """What became of one row, in a form that ways can be compared by."""
    if outcome.error is not None:
        return "error" if isinstance(outcome.error, ValueError) else type(outcome.error)
    return float(outcome.value[row])


def run_zero_vector(case: Case) -> None:
    """The rule for a vector without a direction, the same at calibration and at use."""
    given = case["input"]
    query, matrix = _vector(given["query"]), _matrix(given["snippets"])
    zero = [i for i, row in enumerate(matrix) if not np.any(row)] or [0]
    outcomes = {name: attempt(call) for name, call in ways(query, matrix).items()}
    places = {"calibration": "cosine_scores", "filtering": "filter_vectors"}

    def zero_score(wanted: float, outcome: Outcome) -> str | None:
        got = [float(outcome.value[i]) for i in zero] if outcome.error is None else []
        return None if all(g == wanted for g in got) else f"zero vectors score {got}"

    def same(wanted: list[str], _: Outcome) -> str | None:
        if unknown := set(wanted) - places.keys():
            raise NoRunner(f"no place {sorted(unknown)}")
        rules = {repr([_rule(outcomes[places[place]], i) for i in zero]) for place in wanted}
        return None if len(rules) == 1 else f"different rules: {rules}"

    for name, outcome in outcomes.items():
        if name in SELECTS:
            fine = (outcome.error is None) == (outcomes["cosine_scores"].error is None)
            assert fine, outcome.shown
            continue
        judge(case["expect"], outcome, {"zero_vector_score": zero_score, "same_rule_in": same})


def run_non_finite_vector(case: Case) -> None:
    given = case["input"]
    for dtype in ("float32", "float16"):
        query, matrix = _vector(given["query"], dtype), _matrix(given["snippets"], dtype)
        for call in ways(query.astype("float32"), matrix).values():
            judge(case["expect"], attempt(call))


def run_dimension_mismatch(case: Case) -> None:
    given = case["input"]
    query, matrix = _vector(given["query"]), _matrix(given["snippets"])
    for name, call in ways(query, matrix).items():
        outcome = attempt(call)
        if not isinstance(matrix, np.ndarray):  # ragged: no array, so it must not pass as one
            assert isinstance(outcome.error, TypeError | ValueError), outcome.shown
            continue
        judge(case["expect"], outcome)
        for size in (len(query), matrix.shape[1]):
            assert re.search(rf"\b{size}\b", outcome.text), f"{name}: {outcome.text}"


def run_array_empty(case: Case) -> None:
    given, expect = case["input"], case["expect"]
    for dtype in ("float32", "float16"):
        query = np.ones(given["query_dim"], "float32")
        matrix = np.zeros(given["snippets_shape"], dtype)
        for name, call in ways(query, matrix).items():
            judge(expect, attempt(call), {"scores": _close(name, 0.0)})
    result = tamis.Filter(tamis.Threshold.fixed(0.5)).filter_vectors(query, matrix, items=[])
    assert list(result.kept) == list(result.dropped) == []


def laid_out(rows: Matrix, layout: str) -> Matrix:
    """The rows in memory as named."""
    if layout == "c":
        return np.ascontiguousarray(rows)
    if layout == "fortran":
        return np.asfortranarray(rows)
    if layout in ("every_second_column", "every_second_row"):
        axis = int(layout.endswith("column"))
        shape = [size * (2 if i == axis else 1) for i, size in enumerate(rows.shape)]
        wide = np.full(shape, 7, rows.dtype)
        view = wide[:, ::2] if axis else wide[::2]
        view[...] = rows
        return view
    if layout == "reversed_rows":
        return rows[::-1]
    if layout == "reversed_columns":
        return rows[:, ::-1]
    if layout == "transposed_view":
        return np.ascontiguousarray(rows.T).T
    if layout == "read_only":
        copy = rows.copy()
        copy.flags.writeable = False
        return copy
    if layout in ("misaligned", "unaligned"):
        buffer = np.zeros(rows.nbytes + 1, np.uint8)
        view = buffer[1:].view(rows.dtype).reshape(rows.shape)
        view[...] = rows
        return view
    if layout == "broadcast_row":
        return np.broadcast_to(rows[0], rows.shape)
    raise NoRunner(f"no layout {layout!r}")


def run_array_layout(case: Case) -> None:
    given = case["input"]
    query = _vector(given["query"])
    view = laid_out(_matrix(given["snippets"], given["dtype"]), given["layout"])
    before = view.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # complex numbers, of which the reference is the real part
        plain = np.array(view, dtype=np.float32, order="C", copy=True)
    reference = tamis.cosine_scores(query, plain)
    exact = [oracle.cosine_score(query.tolist(), row) for row in plain.tolist()]
    assert np.allclose(reference, exact, rtol=0, atol=1e-6)

    def same(wanted: str, outcome: Outcome) -> str | None:
        if "contiguous" not in wanted:
            raise NoRunner(f"no reference {wanted!r}")
        return different("", outcome)

    def different(_: str, outcome: Outcome) -> str | None:
        return _close("view", tolerance)(reference.tolist(), outcome)

    alternatives = [case["expect"], *case["expect"].get("any_of", [])]
    tolerance = max(float(one.get("tolerance", 0)) for one in alternatives)
    queries = [query, query.astype(given["dtype"])]
    queries += [np.ascontiguousarray(query[::-1])[::-1]]
    for q in queries:
        for name, call in ways(q, view).items():
            outcome = attempt(call)
            if name in SELECTS:
                whole = outcome.error is not None or len(outcome.value) == len(view)
                assert whole, outcome.shown
                continue
            checks: dict[str, Check] = {"same_scores_as": same, "tolerance": _read}
            judge(case["expect"], outcome, checks, {"different": different})
    assert np.array_equal(view, before), "the input was written to"


RUNNERS: dict[str, Runner] = {
    "cosine": run_cosine,
    "self_similarity": run_self_similarity,
    "zero_vector": run_zero_vector,
    "non_finite_vector": run_non_finite_vector,
    "dimension_mismatch": run_dimension_mismatch,
    "array_empty": run_array_empty,
    "array_layout": run_array_layout,
}
