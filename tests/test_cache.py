"""`tamis.cache.CachedEncoder`: vectors that are encoded once, and files that are no cache."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from stub_encoder import DIM, CountingEncoder, StubEncoder
from tamis import EmbeddingScorer, cache
from tamis.cache import CachedEncoder, default_folder
from tamis.encoder import TextTooLongError

TEXTS = [f"Text number {i} of some." for i in range(300)]


def test_a_second_run_encodes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "cache.sqlite"
    first = CachedEncoder(StubEncoder(), path)
    vectors = first.encode(TEXTS)
    assert vectors.tobytes() == StubEncoder().encode(TEXTS).tobytes()
    assert (first.hits, first.misses) == (0, 300)
    second = CachedEncoder(StubEncoder(), path)
    assert second.encode(TEXTS[::-1]).tobytes() == vectors[::-1].tobytes()
    assert (second.hits, second.misses) == (300, 0)
    assert isinstance(second.inner, StubEncoder)
    assert second.inner.seen == []
    mixed = second.encode([TEXTS[0], "a new one", TEXTS[1]])
    assert second.inner.seen == [("passage", "a new one")]
    assert mixed.tobytes() == StubEncoder().encode([TEXTS[0], "a new one", TEXTS[1]]).tobytes()
    assert second.encode([]).shape == (0, DIM)


def test_it_is_the_encoder_it_wraps(tmp_path: Path) -> None:
    inner = StubEncoder(tolerance=1e-6)
    cached = CachedEncoder(inner, tmp_path / "c")
    assert EmbeddingScorer(cached).identity == EmbeddingScorer(inner).identity
    assert (cached.dim, cached.tolerance) == (DIM, 1e-6)
    assert EmbeddingScorer(cached).environment == {}


def test_another_identity_kind_or_text_never_answers(tmp_path: Path) -> None:
    path = tmp_path / "c"
    CachedEncoder(StubEncoder("one"), path).encode(TEXTS)
    for encoder, kind in ((StubEncoder("two"), "passage"), (StubEncoder("one"), "query")):
        cached = CachedEncoder(encoder, path)
        cached.encode(TEXTS, kind)  # type: ignore[arg-type]
        assert (cached.hits, cached.misses) == (0, 300)
    # Prefix, kind and text are apart however they are cut.
    cached = CachedEncoder(StubEncoder("one"), path)
    cached.encode([" " + TEXTS[0], TEXTS[0] + " ", "passage " + TEXTS[0]])
    assert cached.misses == 3


def test_truncation_is_remembered(tmp_path: Path) -> None:
    texts = ["a b c", "a b c d", "e", "f g h i j"]
    for _ in range(2):
        cached = CachedEncoder(CountingEncoder(3), tmp_path / "c")
        encoded = cached.encode_counted(texts)
        assert encoded.truncated == (1, 3)
        expected = CountingEncoder(3).encode_counted(texts)
        assert encoded.vectors.tobytes() == expected.vectors.tobytes()
    assert cached.hits == 4


@pytest.mark.parametrize("whole", [True, False])
def test_a_damaged_file_is_an_os_error_with_its_path(tmp_path: Path, whole: bool) -> None:
    path = tmp_path / "damaged.sqlite"
    if whole:
        path.write_bytes(b"this is a text file and no data base" * 100)
    else:
        CachedEncoder(StubEncoder(), path).encode(TEXTS)
        path.write_bytes(b"\0" * 100 + path.read_bytes()[100:])
    before = path.read_bytes()
    with pytest.raises(OSError, match=r"damaged\.sqlite"):
        CachedEncoder(StubEncoder(), path).encode(TEXTS)
    assert path.read_bytes() == before


def test_a_file_damaged_after_opening_is_an_os_error_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "damaged.sqlite"
    cached = CachedEncoder(StubEncoder(), path)
    path.write_bytes(b"something else" * 1000)
    with pytest.raises(OSError, match=r"damaged\.sqlite"):
        cached.encode(TEXTS)


@pytest.mark.parametrize(
    "table", ["CREATE TABLE vectors (a, b)", "CREATE TABLE customers (name TEXT)"]
)
def test_a_data_base_of_another_program_is_refused_and_left_alone(
    tmp_path: Path, table: str
) -> None:
    path = tmp_path / "foreign.sqlite"
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(table)
    before = path.read_bytes()
    with pytest.raises(OSError, match=r"foreign\.sqlite"):
        CachedEncoder(StubEncoder(), path).encode(TEXTS)
    assert path.read_bytes() == before


def test_a_row_of_another_length_is_encoded_again(tmp_path: Path) -> None:
    path = tmp_path / "c"
    expected = CachedEncoder(StubEncoder(), path).encode(TEXTS)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE vectors SET vector = x'00'")
    cached = CachedEncoder(StubEncoder(), path)
    assert cached.encode(TEXTS).tobytes() == expected.tobytes()
    assert cached.misses == 300


class Interrupted(StubEncoder):
    """Stops after some texts, as by Ctrl-C."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after

    def encode(self, texts: Sequence[str], kind: Literal["query", "passage"] = "passage") -> Any:
        if len(self.seen) + len(texts) > self.after:
            raise KeyboardInterrupt
        return super().encode(texts, kind)


def test_an_interrupted_run_keeps_its_finished_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_BLOCK", 100)
    done: list[int] = []
    stopped = CachedEncoder(Interrupted(200), tmp_path / "c")
    with pytest.raises(KeyboardInterrupt):
        stopped.encode_counted(TEXTS, progress=done.append)
    again = CachedEncoder(StubEncoder(), tmp_path / "c")
    vectors = again.encode_counted(TEXTS, progress=done.append).vectors
    assert (again.hits, again.misses) == (200, 100)
    assert vectors.tobytes() == StubEncoder().encode(TEXTS).tobytes()
    assert done[-1] == 300
    # The one that was interrupted is still usable.
    assert stopped.encode(TEXTS).tobytes() == vectors.tobytes()


def test_a_vector_that_is_not_finite_is_not_kept(tmp_path: Path) -> None:
    class Once(StubEncoder):
        def encode(self, texts: Any, kind: Any = "passage") -> Any:
            return np.full((len(texts), DIM), np.nan, np.float32)

    assert np.isnan(CachedEncoder(Once(), tmp_path / "c").encode(["a"])).all()
    assert np.isfinite(CachedEncoder(StubEncoder(), tmp_path / "c").encode(["a"])).all()


@pytest.mark.parametrize("shared", [True, False])
def test_threads_share_a_file(tmp_path: Path, shared: bool) -> None:
    path = tmp_path / "c"
    one = CachedEncoder(StubEncoder(), path)
    encoders = [one if shared else CachedEncoder(StubEncoder(), path) for _ in range(4)]
    expected = StubEncoder().encode(TEXTS).tobytes()

    def run(encoder: CachedEncoder) -> bytes:
        return encoder.encode(TEXTS).tobytes()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, encoders)) == [expected] * 4
    assert CachedEncoder(Interrupted(0), path).encode(TEXTS).tobytes() == expected


def test_a_folder_that_is_a_file_is_an_os_error_with_the_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="file"):
        CachedEncoder(StubEncoder(), tmp_path / "file" / "cache.sqlite")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        CachedEncoder(StubEncoder(), tmp_path / "folder")


def test_a_folder_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match=r"cache\.sqlite"):
        CachedEncoder(StubEncoder(), tmp_path / "cache.sqlite")


def test_the_default_folder_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "tamis"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache" / "tamis"


def test_an_optional_cache_that_fails_warns_and_the_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    inner = StubEncoder()
    cached = CachedEncoder(inner, path, optional=True)
    path.write_bytes(b"no data base at all" * 1000)
    with pytest.warns(UserWarning, match=r"c\.sqlite.*without it"):
        vectors = cached.encode(TEXTS)
    assert np.array_equal(vectors, StubEncoder().encode(TEXTS))
    # It says so once.
    assert np.array_equal(cached.encode(TEXTS), vectors)
    strict = CachedEncoder(StubEncoder(), tmp_path / "d.sqlite")
    (tmp_path / "d.sqlite").write_bytes(b"no data base at all" * 1000)
    with pytest.raises(OSError, match=r"d\.sqlite"):
        strict.encode(TEXTS)


def test_a_text_that_is_too_long_is_named_by_its_place_among_all(tmp_path: Path) -> None:
    class Short(StubEncoder):
        def encode(
            self, texts: Sequence[str], kind: Literal["query", "passage"] = "passage"
        ) -> Any:
            for i, text in enumerate(texts):
                if text == "long":
                    raise TextTooLongError(i, 9, 8, 1)
            return super().encode(texts, kind)

    texts = [f"text {i}" for i in range(300)] + ["long"]
    with pytest.raises(TextTooLongError, match=r"texts\[300\]"):
        CachedEncoder(Short(), tmp_path / "c").encode(texts)
