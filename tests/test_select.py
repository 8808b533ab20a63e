"""The vector path: `Threshold.select`, `select_many` and `Filter.filter_vectors` on arrays."""

from __future__ import annotations

import dataclasses
import pickle
import re
import sys
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import tamis
from cases.scoring import laid_out

RNG = np.random.default_rng(4)
N, DIM = 70, 40
UNIT = {"scorer": "ours 1", "rows": "unit"}


def drawn(dtype: str, *shape: int) -> NDArray[Any]:
    values = RNG.standard_normal(shape)
    return (values * 40).astype(dtype) if dtype == "int8" else values.astype(dtype)


def query_of(rows: NDArray[Any]) -> NDArray[Any]:
    return drawn("int8" if rows.dtype == np.int8 else "float32", rows.shape[1])


def expected(query: Any, rows: Any, limit: float, **options: Any) -> list[int]:
    scores = tamis.cosine_scores(query, rows, **options).astype(np.float64)
    return np.flatnonzero(scores <= limit).tolist()


@pytest.mark.parametrize("n", [0, 1, 4, 63, 64, 65, 255, 256, 257, 1100])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_every_way_keeps_the_same(dtype: str, n: int) -> None:
    rows = drawn(dtype, n, DIM)
    query = query_of(rows)
    threshold = tamis.Threshold.fixed(1.0)
    want = expected(query, rows, 1.0)
    out = np.full(n + 3, -7, np.intp)
    found = threshold.select(query, rows)
    assert found.dtype == np.intp and found.tolist() == want and found.flags.owndata
    assert threshold.select(query, rows, out=out).tolist() == want
    assert out[n:].tolist() == [-7] * 3
    indices, offsets = threshold.select_many(query[np.newaxis], rows, [0, n])
    assert indices.tolist() == want and offsets.tolist() == [0, len(want)]
    result = tamis.Filter(threshold).filter_vectors(query, rows)
    assert result.kept_indices.tolist() == result.kept == want
    assert result.scores.tobytes() == tamis.cosine_scores(query, rows).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize(
    "layout", ["c", "every_second_row", "reversed_rows", "read_only", "broadcast_row"]
)
def test_rows_may_lie_anywhere(layout: str, dtype: str) -> None:
    rows = laid_out(drawn(dtype, N, DIM), layout)
    query = query_of(rows)
    plain = np.ascontiguousarray(rows)
    assert tamis.cosine_scores(query, rows).tobytes() == tamis.cosine_scores(query, plain).tobytes()
    wide = np.full((N, DIM + 9), 100, dtype)
    wide[:, 3 : 3 + DIM] = plain
    inside = wide[:, 3 : 3 + DIM]
    threshold = tamis.Threshold.fixed(1.0)
    assert threshold.select(query, inside).tolist() == expected(query, plain, 1.0)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    "layout", ["fortran", "every_second_column", "reversed_columns", "misaligned"]
)
def test_rows_that_would_need_a_copy_are_refused(layout: str, dtype: str) -> None:
    rows = laid_out(drawn(dtype, N, DIM), layout)
    message = rf"^snippet_matrix is an array of {dtype} with shape \[70, 40\].*ascontiguousarray"
    for call in (tamis.cosine_scores, tamis.Threshold.fixed(1.0).select):
        with pytest.raises(TypeError, match=message):
            call(drawn("float32", DIM), rows)


@pytest.mark.parametrize("layout", ["reversed_columns", "every_second_column", "misaligned"])
def test_a_query_may_lie_anywhere(layout: str) -> None:
    rows = drawn("float32", N, DIM)
    for dtype in ("float32", "float16"):
        query = laid_out(drawn(dtype, 1, DIM), layout)[0]
        plain = np.ascontiguousarray(query, "float32")
        got = tamis.cosine_scores(query, rows)
        assert got.tobytes() == tamis.cosine_scores(plain, rows).tobytes()


def test_int8_goes_with_int8_alone() -> None:
    rows = drawn("int8", N, DIM)
    wide = rows.astype("float32")
    query = query_of(rows)
    exact = tamis.cosine_scores(query, rows)
    assert np.allclose(exact, tamis.cosine_scores(query.astype("float32"), wide), rtol=0, atol=1e-6)
    threshold = tamis.Threshold.fixed(1.0)
    for q, m, names in (
        (query, wide, "query_vector is an array of int8, snippet_matrix one of float32"),
        (wide[0], rows, "query_vector is an array of float32, snippet_matrix one of int8"),
    ):
        for call in (tamis.cosine_scores, threshold.select):
            with pytest.raises(TypeError, match=names):
                call(q, m)
        with pytest.raises(TypeError, match=names.replace("query_vector", "query_matrix")):
            threshold.select_many(q[np.newaxis], m, [0, N])
    with pytest.raises(ValueError, match="int8, which has no unit rows"):
        tamis.cosine_scores(query, rows, unit_rows=True)
    with pytest.raises(ValueError, match="131071 components, got 131072"):
        tamis.cosine_scores(np.ones(131072, "int8"), np.ones((1, 131072), "int8"))


def test_a_mask_is_refused() -> None:
    rows = np.ma.masked_array(drawn("float32", N, DIM), False)
    with pytest.raises(TypeError, match="an array without a mask"):
        tamis.cosine_scores(drawn("float32", DIM), rows)


class TestOut:
    rows = drawn("float32", N, DIM)
    query = drawn("float32", DIM)
    threshold = tamis.Threshold.fixed(1.0)

    def select(self, out: Any, rows: Any = None) -> NDArray[np.intp]:
        return self.threshold.select(self.query, self.rows if rows is None else rows, out=out)

    def test_it_is_a_view_of_the_buffer(self) -> None:
        out = np.empty(N, np.intp)
        kept = self.select(out)
        assert kept.base is out and kept.ctypes.data == out.ctypes.data
        assert kept.tolist() == expected(self.query, self.rows, 1.0)
        again = self.select(out, self.rows[::-1])
        assert again.ctypes.data == out.ctypes.data
        inner = np.empty(3 * N, np.intp)[N : 2 * N]
        assert self.select(inner).ctypes.data == inner.ctypes.data

    @pytest.mark.parametrize(
        ("out", "error", "message"),
        [
            (np.empty(N - 1, np.intp), ValueError, "out has room for 69 .* 70 rows"),
            (np.empty(N, np.int32), TypeError, r"out is an array of int32 with shape \[70\]"),
            (np.empty(N, np.uint64), TypeError, "out is an array of uint64"),
            (
                np.empty((N, 1), np.intp),
                TypeError,
                r"out is an array of int64 with shape \[70, 1\]",
            ),
            (np.empty(2 * N, np.intp)[::2], TypeError, "contiguous"),
            (np.zeros(8 * N + 1, np.uint8)[1:].view(np.intp), TypeError, "contiguous"),
            (np.frombuffer(bytes(8 * N), np.intp), ValueError, "out is read-only"),
            ([0] * N, TypeError, "out must be .* got list"),
        ],
    )
    def test_another_buffer_is_refused(
        self, out: Any, error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            self.select(out)

    def test_it_shares_no_memory_with_an_input(self) -> None:
        memory = np.zeros(DIM * N, np.intp)
        rows = memory.view(np.float32)[: N * DIM].reshape(N, DIM)
        rows[...] = self.rows
        before = rows.copy()
        for view, name in ((memory[N:], "snippet_matrix"), (memory, "snippet_matrix")):
            with pytest.raises(ValueError, match=f"out shares memory with {name}"):
                self.select(view, rows)
        with pytest.raises(ValueError, match="out shares memory with query_vector"):
            self.threshold.select(rows[-1], self.rows, out=memory)
        # Backwards rows span memory before their first one.
        with pytest.raises(ValueError, match="out shares memory with snippet_matrix"):
            self.select(memory[:N], rows[::-1])
        assert np.array_equal(rows, before)
        free = memory[N * DIM // 2 :]
        assert self.select(free, rows).tolist() == expected(self.query, before, 1.0)

    def test_an_error_leaves_it_usable(self) -> None:
        out = np.empty(N, np.intp)
        broken = self.rows.copy()
        broken[5, 3] = np.nan
        with pytest.raises(ValueError, match=r"snippet vector 5 .* component 3"):
            self.select(out, broken)
        assert self.select(out).tolist() == expected(self.query, self.rows, 1.0)


class TestMany:
    threshold = tamis.Threshold.fixed(1.0)

    @settings(max_examples=60, deadline=None)
    @given(
        sizes=st.lists(st.integers(0, 90), max_size=8),
        dtypes=st.sampled_from(
            [("float32", "float32"), ("float16", "float16"), ("float32", "float16"), ("int8",) * 2]
        ),
    )
    def test_the_same_as_one_at_a_time(self, sizes: list[int], dtypes: tuple[str, str]) -> None:
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        queries, rows = drawn(dtypes[0], len(sizes), DIM), drawn(dtypes[1], int(offsets[-1]), DIM)
        indices, kept = self.threshold.select_many(queries, rows, offsets)
        assert indices.dtype == kept.dtype == np.intp and len(kept) == len(offsets)
        for i, query in enumerate(queries):
            alone = self.threshold.select(query, rows[offsets[i] : offsets[i + 1]]) + offsets[i]
            assert indices[kept[i] : kept[i + 1]].tolist() == alone.tolist()

    @pytest.mark.parametrize(
        "make",
        [list, tuple, iter, lambda o: np.array(o, np.int32), lambda o: np.array(o, np.uint64)],
    )
    def test_offsets_are_any_ints(self, make: Any) -> None:
        rows = drawn("float32", N, DIM)
        found = self.threshold.select_many(rows[:2], rows, make([0, 30, N]))
        want = self.threshold.select_many(rows[:2], rows, [0, 30, N])
        assert [f.tolist() for f in found] == [w.tolist() for w in want]

    @pytest.mark.parametrize(
        ("offsets", "error", "message"),
        [
            ([0, N], ValueError, r"offsets\[2\] is wrong"),
            ([0, 30, N, N], ValueError, r"offsets\[3\] is wrong"),
            ([0, 30, N - 1], ValueError, r"offsets\[2\] is wrong"),
            ([1, 30, N], ValueError, r"offsets\[0\] is wrong"),
            ([0, N + 1, N], ValueError, r"offsets\[2\] is wrong"),
            ([0, -1, N], ValueError, r"offsets\[1\] must be from 0 .* got -1"),
            ([0, 30.0, N], TypeError, r"offsets\[1\] must be an int, got float"),
            ([0, True, N], TypeError, r"offsets\[1\] must be an int, got bool"),
            (3, TypeError, "offsets must be a sequence of ints, got int"),
            (np.zeros((3, 1), np.int64), TypeError, r"offsets\[0\] must be an int, got list"),
        ],
    )
    def test_offsets_that_divide_nothing(
        self, offsets: Any, error: type[Exception], message: str
    ) -> None:
        rows = drawn("float32", N, DIM)
        with pytest.raises(error, match=message):
            self.threshold.select_many(rows[:2], rows, offsets)

    def test_errors_name_places_in_the_whole_batch(self) -> None:
        rows, queries = drawn("float32", N, DIM), drawn("float32", 3, DIM)
        rows[50, 7] = np.inf
        with pytest.raises(ValueError, match=r"snippet vector 50 .* component 7 is inf"):
            self.threshold.select_many(queries, rows, [0, 20, 20, N])
        rows[50, 7] = 0
        queries[1] = 0
        with pytest.raises(ValueError, match="query vector 1 is a zero vector"):
            self.threshold.select_many(queries, rows, [0, 20, 20, N])
        with pytest.raises(ValueError, match=r"39 components.* 40"):
            self.threshold.select_many(queries[:, 1:].copy(), rows, [0, 20, 20, N])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_rows_without_a_cosine_are_named_with_what_leaves_them_out(dtype: str) -> None:
    rows = drawn(dtype, N, DIM)
    query = query_of(rows)
    bad = {0.0: "is a zero vector"}
    if dtype != "int8":
        bad |= {np.nan: "component 7 is NaN", np.inf: "component 7 is inf", -np.inf: "is -inf"}
    for value, what in bad.items():
        broken = rows.copy()
        broken[[12, 30], slice(None) if value == 0 else 7] = value
        with pytest.raises(
            ValueError, match=rf"snippet vector 12 .*{what}.*\({dtype}\); (.*) leaves"
        ) as e:
            tamis.Threshold.fixed(1.0).select(query, broken)
        found = re.search(r"; (matrix\[.*\]) leaves such rows out", str(e.value))
        assert found, e.value
        # The call that is named mends it.
        mended = eval(found[1], {"matrix": broken, "np": np})
        assert len(mended) == N - 2
        tamis.Threshold.fixed(1.0).select(query, mended)
    with pytest.raises(ValueError, match=rf"^query vector 0 is a zero vector.*\({query.dtype}\)$"):
        tamis.cosine_scores(np.zeros_like(query), rows)


class TestUnitRows:
    rows = drawn("float32", N, DIM)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    query = drawn("float32", DIM)

    def calibrated(self, scorer: Any) -> tamis.Threshold:
        scores = [i / 20 for i in range(20)] * 2
        labels = [True] * 20 + [False] * 20
        ids = list(range(20)) * 2
        scores[20:] = [1 + s for s in scores[20:]]
        made = tamis.Calibration.fit(scores, labels, query=ids, topic="query", scorer=scorer)
        return made.threshold(0.1, unit="query")

    def test_it_is_another_score_of_nearly_the_same_value(self) -> None:
        plain = tamis.cosine_scores(self.query, self.rows)
        unit = tamis.cosine_scores(self.query, self.rows, unit_rows=True)
        assert np.allclose(plain, unit, rtol=0, atol=1e-6)
        assert plain.tobytes() != unit.tobytes()
        assert (
            tamis.cosine_scores(self.query, self.rows, unit_rows=False).tobytes() == plain.tobytes()
        )

    def test_a_fixed_threshold_takes_the_callers_word(self) -> None:
        unit = tamis.cosine_scores(self.query, self.rows, unit_rows=True)
        limit = tamis.Threshold.fixed(float(np.sort(unit)[30]))
        want = limit.keep(unit).tolist()
        assert limit.select(self.query, self.rows, unit_rows=True).tolist() == want
        many = limit.select_many(self.query[np.newaxis], self.rows, [0, N], unit_rows=True)
        assert many[0].tolist() == want
        result = tamis.Filter(limit).filter_vectors(self.query, self.rows, unit_rows=True)
        assert result.kept == want and result.scores.tobytes() == unit.tobytes()

    def test_the_identity_decides_and_cannot_be_overruled(self) -> None:
        unit = tamis.cosine_scores(self.query, self.rows, unit_rows=True)
        for scorer, options, other in (
            (UNIT, {"unit_rows": True}, False),
            ({"scorer": "ours 1"}, {}, True),
            ("ours 1", {}, True),
        ):
            threshold = self.calibrated(scorer)
            sieve = tamis.Filter(threshold, scorer)
            scores = tamis.cosine_scores(self.query, self.rows, **options)
            for declared in ({}, {"unit_rows": not other}):
                result = sieve.filter_vectors(self.query, self.rows, **declared)
                assert result.scores.tobytes() == scores.tobytes()
            for call in (sieve.filter_vectors, threshold.select):
                with pytest.raises(tamis.IdentityMismatch, match=r"scorer\.rows: calibrated with"):
                    call(self.query, self.rows, unit_rows=other)
            with pytest.raises(tamis.IdentityMismatch, match=r"scorer\.rows"):
                threshold.select_many(self.query[np.newaxis], self.rows, [0, N], unit_rows=other)
        with pytest.raises(tamis.IdentityMismatch, match="rows"):
            tamis.Filter(self.calibrated(UNIT), {"scorer": "ours 1"})
        assert unit.tobytes() != scores.tobytes()

    def test_rows_that_cannot_be_unit_are_refused(self) -> None:
        rows = self.rows.copy()
        rows[9] = 50 * np.sign(self.query)
        with pytest.raises(ValueError, match="snippet vector 9 is not a unit vector"):
            tamis.Threshold.fixed(1.0).select(self.query, rows, unit_rows=True)

    @pytest.mark.parametrize("value", [1, "yes", 0.0])
    def test_it_is_a_bool(self, value: Any) -> None:
        for call in (tamis.cosine_scores, tamis.Threshold.fixed(1.0).select):
            with pytest.raises(TypeError, match="unit_rows must be True or False, got"):
                call(self.query, self.rows, unit_rows=value)


@pytest.mark.parametrize("threads", [0, -1, True, 1.0, "2"])
def test_threads_is_a_count(threads: Any) -> None:
    rows = drawn("float32", N, DIM)
    threshold = tamis.Threshold.fixed(1.0)
    for call in (
        lambda: tamis.cosine_scores(rows[0], rows, threads=threads),
        lambda: threshold.select(rows[0], rows, threads=threads),
        lambda: threshold.select_many(rows[:1], rows, [0, N], threads=threads),
        lambda: tamis.Filter(threshold).filter_vectors(rows[0], rows, threads=threads),
    ):
        with pytest.raises((TypeError, ValueError), match=r"^threads must be"):
            call()


def test_threads_change_no_bit() -> None:
    n = (17 << 20) // (4 * 256)
    rows, queries = drawn("float32", n, 256), drawn("float32", 3, 256)
    threshold = tamis.Threshold.fixed(1.0)
    offsets = [0, 1000, n - 3, n]
    scores = tamis.cosine_scores(queries[0], rows)
    kept = threshold.select(queries[0], rows).tolist()
    many = [c.tolist() for c in threshold.select_many(queries, rows, offsets)]
    for threads in (2, 3):
        again = tamis.cosine_scores(queries[0], rows, threads=threads)
        assert again.tobytes() == scores.tobytes()
        assert threshold.select(queries[0], rows, threads=threads).tolist() == kept
        found = threshold.select_many(queries, rows, offsets, threads=threads)
        assert [c.tolist() for c in found] == many


def test_other_threads_run_while_rows_are_scored() -> None:
    """The lock is released: nobody is asked for it within the test's time."""
    rows = np.ones((20_000, 256), np.float32)
    threshold = tamis.Threshold.fixed(1.0)
    gate, passed = threading.Lock(), []
    gate.acquire()

    def pass_the_gate() -> None:
        with gate:
            passed.append(True)

    other = threading.Thread(target=pass_the_gate)
    other.start()
    interval = sys.getswitchinterval()
    try:
        sys.setswitchinterval(1000)
        gate.release()
        for _ in range(200):
            threshold.select(rows[0], rows)
            if passed:
                break
        assert passed
    finally:
        sys.setswitchinterval(interval)
        other.join()


def test_memory_stays_flat() -> None:
    rows = drawn("float32", N, DIM)
    query, out = drawn("float32", DIM), np.empty(N, np.intp)
    threshold = tamis.Threshold.fixed(1.0)
    sieve = tamis.Filter(threshold)

    def calls() -> None:
        for _ in range(200):
            threshold.select(query, rows)
            threshold.select(query, rows, out=out)
            threshold.select_many(rows[:2], rows, [0, 9, N])
            sieve.filter_vectors(query, rows)

    calls()
    references = sys.getrefcount(out), sys.getrefcount(rows), sys.getrefcount(query)
    tracemalloc.start()
    try:
        calls()
        before = tracemalloc.get_traced_memory()[0]
        calls()
        assert tracemalloc.get_traced_memory()[0] - before < 4096
    finally:
        tracemalloc.stop()
    assert (sys.getrefcount(out), sys.getrefcount(rows), sys.getrefcount(query)) == references


def test_a_result_of_vectors_is_a_result_like_any_other() -> None:
    rows = drawn("float32", N, DIM)
    threshold = tamis.Threshold.fixed(1.0)
    result = tamis.Filter(threshold).filter_vectors(rows[0], rows)
    made = tamis.FilterResult(result.items, result.scores, result.kept_indices, threshold)
    for field in dataclasses.fields(tamis.FilterResult):
        assert getattr(result, field.name) is getattr(made, field.name), field.name
    assert repr(result) == repr(made) and result.stats == made.stats
    back = pickle.loads(pickle.dumps(result))
    assert back.kept == result.kept and back.stats == result.stats
    assert dataclasses.replace(result, failed=1).degraded
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.failed = 1  # type: ignore[misc]
    with pytest.raises(ValueError, match="items has 1 entries, there are 70 scores"):
        tamis.Filter(threshold).filter_vectors(rows[0], rows, items=["one"])
    assert re.match(r"keep scores up to 1 \(fixed", result.explain())
