"""Embeddings that are no numpy array: views without copying, or an error with what mends it."""

from __future__ import annotations

import array
import gc
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tamis
from arrow_producer import Produced
from tamis.arrays import as_view

QUERY = np.array([3, 4], np.float32)
ROWS = np.array([[3, 4], [4, -3], [-3, -4], [6, 8]], np.float32)
SCORES = [0.0, 1.0, 2.0, 0.0]
FORMS = {"float32": "f", "float16": "e", "int8": "c"}


class Tensor:
    """What a tensor library offers: DLPack and nothing else."""

    def __init__(self, values: NDArray[Any], device: tuple[int, int] = (1, 0)) -> None:
        self.values, self.device = values, device

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


def listed(rows: NDArray[Any], **options: Any) -> Produced:
    return Produced(rows.ravel(), FORMS[str(rows.dtype)], rows.shape[1], **options)


PRODUCERS: dict[str, Callable[[NDArray[Any]], Any]] = {
    "dlpack": Tensor,
    "memoryview": memoryview,
    "arrow": lambda rows: (
        listed(rows) if rows.ndim == 2 else Produced(rows, FORMS[str(rows.dtype)])
    ),
}


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("producer", PRODUCERS)
def test_a_view_of_the_producers_memory(producer: str, dtype: str) -> None:
    rows = ROWS.astype(dtype)
    view = as_view("rows", PRODUCERS[producer](rows), 2)
    assert view.dtype == dtype and np.array_equal(view, rows)
    assert np.shares_memory(view, rows) and view.ctypes.data == rows.ctypes.data


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("producer", PRODUCERS)
def test_every_way_in_gives_the_scores_of_the_array(producer: str, dtype: str) -> None:
    make = PRODUCERS[producer]
    query, rows = make(QUERY.astype(dtype)), make(ROWS.astype(dtype))
    assert tamis.cosine_scores(query, rows).tolist() == SCORES
    threshold = tamis.Threshold.fixed(1.0)
    assert threshold.select(query, rows).tolist() == [0, 1, 3]
    queries = make(np.tile(QUERY, (2, 1)).astype(dtype))
    assert threshold.select_many(queries, rows, [0, 2, 4])[0].tolist() == [0, 1, 3]
    assert tamis.Filter(threshold).filter_vectors(query, rows).scores.tolist() == SCORES


def test_array_array_is_a_buffer() -> None:
    assert tamis.cosine_scores(array.array("f", [3, 4]), ROWS).tolist() == SCORES
    assert tamis.cosine_scores(array.array("b", [3, 4]), ROWS.astype("int8")).tolist() == SCORES


def test_arrow_offsets_of_list_and_values_add_up() -> None:
    values = np.arange(12, dtype=np.float32)
    whole = values.reshape(6, 2)
    for child in (0, 2, 4):
        for offset in (0, 1, 2):
            produced = Produced(
                values, "f", 2, length=2, offset=offset, child_offset=child, valid=[True] * 6
            )
            assert np.array_equal(as_view("m", produced, 2), whole[child // 2 + offset :][:2])
    assert as_view("q", Produced(values, "f", offset=5), 1).tolist() == values[5:].tolist()


def test_arrow_nulls_are_named_and_those_outside_a_slice_are_not_seen() -> None:
    rows = np.arange(40, dtype=np.float32).reshape(20, 2)
    valid = [i != 11 for i in range(20)]
    for offset in (0, 3, 11):
        with pytest.raises(ValueError, match=rf"^rows\[{11 - offset}\] is null"):
            as_view("rows", listed(rows, offset=offset, valid=valid), 2)
    assert len(as_view("rows", listed(rows, length=11, valid=valid), 2)) == 11
    assert len(as_view("rows", listed(rows, offset=12, valid=valid), 2)) == 8
    # A count of none is believed; the bits need not be read.
    assert len(as_view("rows", listed(rows, valid=valid, null_count=0), 2)) == 20
    inner = [i != 27 for i in range(40)]
    with pytest.raises(ValueError, match=r"^rows\[10, 1\] is null"):
        as_view("rows", listed(rows, offset=3, child_valid=inner), 2)
    assert len(as_view("rows", listed(rows, offset=14, child_valid=inner), 2)) == 6
    with pytest.raises(ValueError, match=r"^query_vector\[1\] is null"):
        tamis.cosine_scores(Produced(QUERY, "f", valid=[True, False]), ROWS)


def test_arrow_memory_lives_as_long_as_the_view_and_no_longer() -> None:
    gc.collect()
    before = Produced.live
    view = as_view("rows", listed(ROWS.copy()), 2)
    gc.collect()
    part = view[1:]
    del view
    assert Produced.live > before and np.array_equal(part, ROWS[1:])
    del part
    gc.collect()
    assert Produced.live == before
    for _ in range(100):
        tamis.cosine_scores(QUERY, listed(ROWS))
    gc.collect()
    assert Produced.live == before


def test_arrays_without_rows() -> None:
    for empty in (listed(ROWS[:0]), Tensor(ROWS[:0]), memoryview(np.zeros((0, 2), np.float32))):
        assert tamis.cosine_scores(QUERY, empty).tolist() == []


WRONG: list[tuple[str, Any, str]] = [
    ("dlpack dtype", Tensor(ROWS.astype("float64")), r"Tensor of float64 .*np\.asarray"),
    ("dlpack shape", Tensor(ROWS[0]), r"shape \[2\].*\[n, d\].*reshape"),
    ("dlpack device", Tensor(ROWS, (2, 1)), r"DLPack device \(2, 1\).*\.cpu\(\)"),
    ("buffer dtype", memoryview(ROWS.astype("int32")), r"memoryview of int32 .*float32"),
    ("bytes", b"abcd", r"bytes of uint8 with shape \[4\]"),
    ("foreign byte order", memoryview(ROWS.astype(">f4")), r"memoryview of >f4|format"),
    ("arrow dtype", Produced(np.ones(4), "g", 2), r"Arrow format '\+w:2' of 'g' \(float64\).*cast"),
    ("arrow vector", Produced(QUERY, "f"), r"Arrow format 'f'.*FixedSizeList"),
    ("arrow list", Produced(QUERY, "f", 2, outer="+l"), r"Arrow format '\+l'.*FixedSizeList"),
    ("list", ROWS.tolist(), r"got list; use np\.ascontiguousarray"),
    ("text", "abcd", r"got str"),
    ("none", None, r"got NoneType"),
    ("strided buffer", memoryview(ROWS)[::2].toreadonly(), r""),
]


@pytest.mark.parametrize(("value", "message"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_what_is_no_embedding_is_named_with_what_mends_it(value: Any, message: str) -> None:
    if not message:
        # Rows with gaps between them are fine.
        assert tamis.cosine_scores(QUERY, value).tolist() == SCORES[::2]
        return
    with pytest.raises(TypeError, match=rf"^snippet_matrix .*(?:{message})"):
        tamis.cosine_scores(QUERY, value)


def test_a_stream_of_chunks_is_told_from_an_array() -> None:
    class Chunks:
        def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
            raise AssertionError("not asked for")

    with pytest.raises(TypeError, match=r"^query_vector is a Chunks, .*combine_chunks"):
        tamis.cosine_scores(Chunks(), ROWS)


def test_a_tensor_that_gives_no_view_says_why() -> None:
    class Gradient(Tensor):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("requires gradient")

    with pytest.raises(TypeError, match=r"^query_vector .*requires gradient.*\.detach\(\)"):
        tamis.cosine_scores(Gradient(QUERY), ROWS)


@pytest.mark.parametrize("producer", ["array", *PRODUCERS])
def test_rows_are_not_copied(producer: str) -> None:
    rows = np.ones((2000, 256), np.float32)
    given = rows if producer == "array" else PRODUCERS[producer](rows)
    everything = tamis.Filter(tamis.Threshold.fixed(2.0))
    everything.filter_vectors(rows[0], given)
    tracemalloc.start()
    try:
        everything.filter_vectors(rows[0], given)
        assert tracemalloc.get_traced_memory()[1] < rows.nbytes // 10
    finally:
        tracemalloc.stop()


def test_numpy_arrays_never_load_the_module() -> None:
    code = (
        "import sys, numpy as np, tamis; m = np.ones((2, 3), 'f4'); tamis.cosine_scores(m[0], m); "
        "tamis.Filter(tamis.Threshold.fixed(1.0)).filter_vectors(m[0], m); "
        "assert 'tamis.arrays' not in sys.modules; "
        "tamis.cosine_scores(memoryview(m[0]), m); assert 'tamis.arrays' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_pyarrow_arrays() -> None:
    """Skipped by name where pyarrow is not installed; the producer above stands in for it."""
    pa = pytest.importorskip("pyarrow")
    rows = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), 2)
    assert as_view("rows", rows, 2).ctypes.data == rows.values.buffers()[1].address
    assert tamis.cosine_scores(pa.array(QUERY), rows[1:]).tolist() == SCORES[1:]


def test_torch_tensors() -> None:
    """Skipped by name where torch is not installed."""
    torch = pytest.importorskip("torch")
    assert tamis.cosine_scores(torch.tensor([3.0, 4.0]), torch.from_numpy(ROWS)).tolist() == SCORES
