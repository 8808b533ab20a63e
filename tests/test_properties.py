"""Properties of the statistics against the exact oracle, on inputs made by hypothesis.

Everything is compared at equality: thresholds are scores, levels are fractions.
"""

from __future__ import annotations

import json
import math
import tempfile
import warnings
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import oracle
import tamis
from cases.persistence import calibration_with, interrupted_saves, strict_json

# An example that takes long is no failure.
settings.register_profile(
    "tamis", deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tamis")

# --- levels ------------------------------------------------------------------------------------

decimals = st.builds(
    lambda digits, places: Decimal(digits).scaleb(-places),
    st.integers(1, 10**9),
    st.integers(1, 12),
).filter(lambda x: 0 < x < 1)
fractions = st.builds(Fraction, st.integers(1, 10**6), st.integers(2, 10**6)).filter(
    lambda x: 0 < x < 1
)
short = st.sampled_from(["0.05", "0.1", "0.15", "0.2", "0.3", "1/3", "2/7", "0.42", "0.5", "0.9"])
simple_fractions = st.builds(Fraction, st.integers(1, 96), st.integers(2, 97)).filter(
    lambda x: 0 < x < 1
)
floats = st.floats(1e-12, 1, exclude_max=True)
singles = st.floats(2**-20, 1, exclude_max=True, width=32).map(np.float32)
halves = st.floats(2**-10, 1, exclude_max=True, width=16).map(np.float16)


def exact(level: Any) -> Fraction:
    """The level as its user wrote it; numpy's scalars print their shortest decimal too."""
    return Fraction(str(level)) if isinstance(level, np.floating) else oracle.exact(level)


@given(st.integers(0, 10**6) | st.integers(0, 60), decimals | fractions | floats | singles | halves)
def test_rank_is_the_exact_one(n: int, alpha: Any) -> None:
    k = oracle.rank(n, exact(alpha))
    assert tamis.conformal_rank(n, alpha) == k
    assert tamis.conformal_rank(n, coverage=1 - exact(alpha)) == k
    assert 1 <= k <= n + 1


@given(st.integers(0, 5000), decimals)
def test_rank_is_the_same_for_every_spelling(n: int, alpha: Decimal) -> None:
    text = format(alpha, "f")
    spellings: list[Any] = [
        alpha,
        Fraction(alpha),
        text,
        text.removeprefix("0"),
        f"{alpha:e}",
        str(alpha),
    ]
    spellings += [f"{Fraction(alpha).numerator}/{Fraction(alpha).denominator}"]
    if oracle.exact(float(alpha)) == Fraction(alpha):
        spellings += [float(alpha), np.float64(alpha)]
    assert {tamis.conformal_rank(n, spelling) for spelling in spellings} == {oracle.rank(n, alpha)}


@given(st.integers(0, 10**5), st.integers(1, 10**4 - 1))
def test_rank_of_a_level_and_of_its_coverage_agree(n: int, parts: int) -> None:
    alpha, coverage = Decimal(parts).scaleb(-4), 1 - Decimal(parts).scaleb(-4)
    k = oracle.rank(n, alpha)
    assert tamis.conformal_rank(n, coverage=str(coverage)) == k
    assert tamis.conformal_rank(n, coverage=float(coverage)) == k


# --- scores ------------------------------------------------------------------------------------

anything = st.floats(allow_nan=False, allow_infinity=False)
zeros = st.sampled_from([0.0, -0.0])
tied = st.integers(-4, 4).map(lambda i: i / 4)
scores_of_any_kind = st.one_of(st.lists(anything, max_size=60), st.lists(tied | zeros, max_size=60))
widths = {16: np.float16, 32: np.float32, 64: np.float64}


@given(scores_of_any_kind, short | decimals | simple_fractions)
def test_quantile_is_the_kth_of_the_sorted(scores: list[float], alpha: Any) -> None:
    wanted = oracle.quantile(scores, alpha)
    assert tamis.conformal_quantile(scores, alpha) == wanted
    assert tamis.conformal_quantile(np.array(scores, np.float64), alpha) == wanted
    strided = np.repeat(np.array(scores, np.float64), 3)[::3]
    assert tamis.conformal_quantile(strided, alpha) == wanted


@given(scores_of_any_kind, st.lists(short | decimals | simple_fractions, max_size=20))
def test_quantiles_are_each_the_quantile(scores: list[float], alphas: list[Any]) -> None:
    wanted = [oracle.quantile(scores, alpha) for alpha in alphas]
    assert tamis.conformal_quantiles(scores, alphas).tolist() == wanted
    assert tamis.conformal_quantiles(np.array(scores, np.float64), tuple(alphas)).tolist() == wanted


@given(st.data(), scores_of_any_kind, short | simple_fractions)
def test_quantiles_by_group(data: st.DataObject, scores: list[float], alpha: Any) -> None:
    n = len(scores)
    numbers = st.integers(0, 99) | st.integers(0, 2)
    groups = data.draw(st.lists(numbers, min_size=n, max_size=n))
    own = [
        [s for s, g in zip(scores, groups, strict=True) if g == group]
        for group in range(max(groups, default=-1) + 1)
    ]
    wanted = [oracle.quantile(members, alpha) for members in own]
    for dtype in (np.int64, np.int32, np.uint32):
        codes = np.repeat(np.array(groups, dtype), 2)[::2]
        found = tamis.conformal_quantiles_by_group(np.array(scores, np.float64), codes, alpha)
        assert found.tolist() == wanted


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        (np.array([0, 2**16, -1]), ValueError, r"groups\[1\] must be from 0 to 65535"),
        (np.array([0, 1, -1]), ValueError, r"groups\[2\]"),
        (np.array([0, 1]), ValueError, "groups"),
        (np.array([0.0, 1.0, 2.0]), TypeError, "float64.*return_inverse"),
        (np.zeros((3, 1), np.int64), TypeError, r"shape \[3, 1\]"),
        (np.zeros(3, np.uint64), TypeError, "uint64"),
        ([0, 1, 2], TypeError, "got list"),
    ],
)
def test_what_numbers_no_groups_is_refused(
    groups: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tamis.conformal_quantiles_by_group([0.1, 0.2, 0.3], groups, 0.5)


@given(st.data(), st.sampled_from(sorted(widths)), short | simple_fractions)
def test_quantile_widens_each_precision_exactly(
    data: st.DataObject, width: Any, alpha: Any
) -> None:
    floats = st.floats(allow_nan=False, allow_infinity=False, width=width)
    scores = np.array(data.draw(st.lists(floats, max_size=40)), widths[width])
    before = scores.copy()
    exactly = [float(score) for score in scores]
    assert tamis.conformal_quantile(scores, alpha) == oracle.quantile(exactly, alpha)
    assert scores.tobytes() == before.tobytes()


@given(scores_of_any_kind, tied | anything)
def test_keeping_is_at_most_the_threshold(scores: list[float], value: float) -> None:
    threshold = tamis.Threshold.fixed(value)
    wanted = oracle.kept(scores, value)
    assert list(threshold.keep(scores)) == wanted
    result = tamis.Filter(threshold).filter_scores(np.array(scores, np.float64))
    assert list(result.kept) == wanted


def test_scores_that_can_be_read_only_once() -> None:
    """Refused, or filtered like any others; never half of each."""
    chosen = tamis.Filter(tamis.Threshold.fixed(0.5))
    try:
        result = chosen.filter_scores(iter([0.1, 0.9, 0.5]))
    except (TypeError, ValueError):
        return
    assert (list(result.kept), list(result.dropped), len(result.scores)) == ([0, 2], [1], 3)


@given(st.lists(st.floats(0, 2, width=32), max_size=40), st.floats(0, 2))
def test_single_precision_scores_are_compared_in_double(scores: list[float], value: float) -> None:
    kept = tamis.Threshold.fixed(value).keep(np.array(scores, np.float32))
    assert list(kept) == oracle.kept(scores, value)


# --- units -------------------------------------------------------------------------------------


def sizes(largest: int) -> st.SearchStrategy[int]:
    """Mostly few, sometimes a number whose reciprocal is awkward."""
    return st.integers(0, 4) | st.sampled_from([7, 11, 13, 29, 53, 83, 89, 97]).filter(
        lambda n: n <= largest
    )


@st.composite
def topics_of_queries(draw: st.DrawFn, largest: int = 97) -> list[list[list[float]]]:
    """Positive scores by topic and query, with ties; some queries and topics have none."""
    level = st.integers(0, draw(st.sampled_from([3, 16, 1000]))).map(lambda i: i / 16)
    return [
        [
            draw(st.lists(level, min_size=n, max_size=n))
            for n in draw(st.lists(sizes(largest), max_size=3))
        ]
        for _ in range(draw(st.integers(1, 24)))
    ]


Rows = list[tuple[float, int, str, str]]


def rows_of(topics: Sequence[Sequence[Sequence[float]]]) -> Rows:
    """Score, label, query and topic; a query without a positive has one irrelevant candidate."""
    rows: Rows = []
    for t, topic in enumerate(topics):
        for q, query in enumerate(topic):
            rows += [(score, 1, f"q{t}.{q}", f"t{t}") for score in query]
            rows += [] if query else [(0.25, 0, f"q{t}.{q}", f"t{t}")]
    return rows


def fit(rows: Rows, **columns: Any) -> tamis.Calibration:
    return tamis.Calibration.fit(
        [row[0] for row in rows],
        [row[1] for row in rows],
        check_direction=False,
        **columns,
    )


def positives(topics: Sequence[Sequence[Sequence[float]]]) -> list[float]:
    return [score for topic in topics for query in topic for score in query]


@settings(max_examples=150)
@given(topics_of_queries(), short | simple_fractions, st.randoms(use_true_random=False))
def test_thresholds_of_every_unit(topics: list[Any], alpha: Any, random: Any) -> None:
    assume(positives(topics))
    rows = rows_of(topics)
    random.shuffle(rows)  # rows of a query need not lie together
    calibration = fit(rows, query=[r[2] for r in rows], topic=[r[3] for r in rows])
    wanted: dict[Literal["topic", "query", "snippet"], float] = {
        "topic": oracle.topic_threshold(topics, alpha),
        "query": oracle.query_threshold(topics, alpha),
        "snippet": oracle.quantile(positives(topics), alpha),
    }
    n_units = {
        "topic": sum(any(topic) for topic in topics),
        "query": sum(bool(query) for topic in topics for query in topic),
        "snippet": len(positives(topics)),
    }
    for unit, value in wanted.items():
        threshold = calibration.threshold(alpha, unit=unit)
        assert threshold.value == value, unit
        assert threshold.keeps_everything == math.isinf(value)
        assert (threshold.n_cal, threshold.n_units) == (len(positives(topics)), n_units[unit])
        assert threshold.unit == unit
        assert exact(threshold.alpha) == exact(alpha)
    assert calibration.threshold(alpha).value == wanted["topic"]  # the default unit
    independent = fit(rows, query=[r[2] for r in rows], topic="query")
    assert independent.threshold(alpha).value == wanted["query"]


@given(topics_of_queries(largest=13), short | simple_fractions)
def test_two_layers_and_risk_control_are_one(topics: list[Any], alpha: Any) -> None:
    flat = [[score for query in topic for score in query] for topic in topics]
    single = [[topic] for topic in flat]
    wanted = oracle.two_layer_threshold(flat, alpha)
    assert oracle.topic_threshold(single, alpha) == wanted
    assume(positives(topics))
    rows = rows_of(single)
    calibration = fit(rows, query=[r[2] for r in rows], topic=[r[3] for r in rows])
    assert calibration.threshold(alpha).value == wanted


@given(topics_of_queries(largest=13), short)
def test_equality_of_the_risk_with_alpha_is_enough(topics: list[Any], _: str) -> None:
    """At alpha equal to a risk that occurs, that very threshold is the answer."""
    assume(positives(topics))
    rows = rows_of(topics)
    calibration = fit(rows, query=[r[2] for r in rows], topic=[r[3] for r in rows])
    for value in sorted(set(positives(topics)))[:8]:
        risk = oracle.topic_risk(topics, value)
        if 0 < risk < 1:
            wanted = oracle.topic_threshold(topics, risk)
            assert wanted <= value
            assert calibration.threshold(risk).value == wanted


@given(st.lists(st.lists(st.integers(0, 9), max_size=3), min_size=1, max_size=25), short)
def test_queries_that_share_a_document_are_one_unit(documents: list[list[int]], alpha: str) -> None:
    labelled = {f"q{i}": [f"d{d}" for d in ids] for i, ids in enumerate(documents)}
    rows: Rows = []
    names: list[str] = []
    for i, (query, ids) in enumerate(labelled.items()):
        for j, document in enumerate(ids):
            rows.append((((i * 7 + j * 3) % 11) / 16, 1, query, document))
        # Irrelevant candidates come from anywhere and join nothing.
        rows.append((0.9375, 0, query, "d0"))
    assume(any(row[1] for row in rows))
    names = [row[3] for row in rows]
    calibration = fit(rows, query=[row[2] for row in rows], document=names)
    groups = oracle.components(labelled)
    topics = [
        [[r[0] for r in rows if r[2] == query and r[1]] for query in sorted(group)]
        for group in groups
    ]
    threshold = calibration.threshold(alpha)
    assert threshold.unit == "topic"
    assert threshold.value == oracle.topic_threshold(topics, alpha)
    assert threshold.n_units == sum(any(topic) for topic in topics)


@given(topics_of_queries(largest=13), tied | st.integers(0, 64).map(lambda i: i / 16))
def test_design_effect_is_the_nearest_double(topics: list[Any], value: float) -> None:
    assume(positives(topics))
    flat = [[score for query in topic for score in query] for topic in topics]
    rows = rows_of(topics)
    calibration = fit(rows, query=[r[2] for r in rows], topic=[r[3] for r in rows])
    got, wanted = calibration.design_effect(value), oracle.design_effect(flat, value)
    assert (got.n, got.n_units, got.miss_rate) == (
        wanted.n,
        wanted.n_units,
        float(wanted.miss_rate),
    )
    for name in ("design_effect", "effective_n"):
        exactly = getattr(wanted, name)
        assert getattr(got, name) == (None if exactly is None else float(exactly)), name
    if wanted.variance is not None:
        assert got.variance == float(wanted.variance)


@given(
    st.lists(
        st.lists(st.tuples(tied, st.integers(0, 1)), min_size=1, max_size=8), min_size=1, max_size=8
    )
)
def test_within_query_auc(queries: list[list[tuple[float, int]]]) -> None:
    rows = [(s, r, f"q{i}", f"q{i}") for i, query in enumerate(queries) for s, r in query]
    assume(any(row[1] for row in rows))
    calibration = fit(rows, query=[row[2] for row in rows])
    wanted = oracle.auc_over_queries([([s for s, _ in q], [r for _, r in q]) for q in queries])
    got = calibration.report().auc
    if wanted is None:
        assert got is None
    else:
        assert got == pytest.approx(float(wanted), abs=1e-12)
    if wanted is not None and wanted < Fraction(49, 100):
        with pytest.raises(ValueError, match="similarit"):
            tamis.Calibration.fit(
                [row[0] for row in rows], [row[1] for row in rows], query=[row[2] for row in rows]
            )


# --- p-values ----------------------------------------------------------------------------------


@given(scores_of_any_kind, st.lists(tied | anything, min_size=1, max_size=5))
def test_pvalues(scores: list[float], tests: list[float]) -> None:
    wanted = [float(oracle.pvalue(test, scores)) for test in tests]
    assert [tamis.conformal_pvalue(test, scores) for test in tests] == wanted
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # an array of one number can pass as a float, with a warning
        together = tamis.conformal_pvalue(np.array(tests), np.array(scores, np.float64))
    assert isinstance(together, np.ndarray)
    assert together.tolist() == wanted


@given(scores_of_any_kind, tied | anything, st.integers(0, 1024).map(lambda i: i / 1024))
def test_randomised_pvalues(scores: list[float], test: float, u: float) -> None:
    wanted = oracle.pvalue_randomised(test, scores, u)
    assert tamis.conformal_pvalue(test, scores, u=u) == float(wanted)


@given(scores_of_any_kind, tied | anything, st.floats(0, 1))
def test_randomised_pvalues_of_any_u(scores: list[float], test: float, u: float) -> None:
    wanted = float(oracle.pvalue_randomised(test, scores, u))
    assert tamis.conformal_pvalue(test, scores, u=u) == pytest.approx(wanted, rel=1e-15, abs=5e-324)


@given(st.lists(tied, max_size=30), tied, short)
def test_a_score_is_kept_iff_its_pvalue_exceeds_alpha(
    scores: list[float], test: float, alpha: str
) -> None:
    kept = test <= tamis.conformal_quantile(scores, alpha)
    assert kept == (oracle.pvalue(test, scores) > oracle.exact(alpha))


# --- files -------------------------------------------------------------------------------------

subnormals = st.integers(-(2**52) + 1, 2**52 - 1).map(lambda i: i * 5e-324)
ids = st.text(st.characters(codec="utf-8"), max_size=8)
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | ids | anything
identities = ids | st.dictionaries(ids, scalars, max_size=4)


def round_trip(calibration: tamis.Calibration) -> tamis.Calibration:
    """Save and load; the file is strict JSON and is the same when saved again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calibration.json"
        calibration.save(path)
        data = path.read_bytes()
        strict_json(data.decode("utf-8"))
        loaded = tamis.Calibration.load(path)
        loaded.save(path)
        assert path.read_bytes() == data
        assert [entry.name for entry in Path(folder).iterdir()] == [path.name]
    return loaded


@given(anything | subnormals)
def test_a_file_keeps_every_double(value: float) -> None:
    loaded = round_trip(calibration_with(value))
    assert loaded.threshold("0.1", unit="snippet").value == value


@given(
    st.lists(
        st.tuples(anything | subnormals, st.integers(0, 1), ids, st.integers(0, 3)),
        min_size=1,
        max_size=30,
    ),
    identities,
    identities,
)
def test_a_file_keeps_the_whole_calibration(rows: list[Any], scorer: Any, chunker: Any) -> None:
    assume(any(row[1] for row in rows))
    topic_of = {query: topic for _, _, query, topic in rows}
    calibration = fit(
        rows,
        query=[row[2] for row in rows],
        topic=[topic_of[row[2]] for row in rows],
        group=[row[2][:1] for row in rows],
        scorer=scorer,
        chunker=chunker,
    )
    loaded = round_trip(calibration)
    assert loaded == calibration
    assert loaded.scorer == calibration.scorer == scorer
    assert loaded.chunker == calibration.chunker == chunker
    for unit in ("topic", "query", "snippet"):
        for alpha in ("0.1", "0.5", "1/3"):
            before, after = (c.threshold(alpha, unit=unit) for c in (calibration, loaded))
            assert before.value == after.value
            assert before.n_units == after.n_units
    assert str(loaded.report()) == str(calibration.report())


def test_an_infinite_threshold_is_no_number_in_the_file() -> None:
    calibration = calibration_with(math.inf)
    assert round_trip(calibration).threshold("0.1", unit="snippet").value == math.inf
    text = calibration.to_json()
    assert not {"NaN", "Infinity", "inf"} & set(json.dumps(json.loads(text)).split())


def test_saving_is_atomic() -> None:
    """Killed while it saves over an existing file, a process leaves the old file or the new one."""
    old, new = interrupted_saves(kills=10, seed=1)
    assert old > 0 and new > 0, (old, new)
