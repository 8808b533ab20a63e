"""Embeddings kept on disk, so that a second run over the same texts encodes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tamis.encoder import Encoded, Encoder, Kind, TextTooLongError
from tamis.scorer import encode

# Marks the file as ours, so that no other program's data base is written to: "tamS".
_APPLICATION = 0x74616D53
# Work lost at Ctrl-C is at most one block.
_BLOCK = 128


def default_folder() -> Path:
    """`$XDG_CACHE_HOME/tamis`, else `~/.cache/tamis`."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "tamis"


class CacheError(OSError):
    """The cache's file cannot be used; the message names it."""


class CachedEncoder:
    """An encoder whose vectors are kept in a SQLite file.

    Vectors are found by a hash of the encoder's identity, the kind and the text, so another model,
    or another recipe of it, never answers. The file is safe to share between processes; deleting it
    loses nothing but time.

    Parameters
    ----------
    encoder : Encoder
    path : path
        Made where missing, with its folder.
    optional : bool
        If the file fails later (disk full, damaged), warn once and go on without it, instead of
        raising.

    Raises
    ------
    OSError
        When the file cannot be made, or is no such cache.
    """

    def __init__(
        self, encoder: Encoder, path: str | os.PathLike[str], *, optional: bool = False
    ) -> None:
        self.inner = encoder
        self.path = Path(path)
        self._prefix = json.dumps(encoder.identity, sort_keys=True, default=str).encode()
        self._lock = threading.Lock()
        self._optional = optional
        self._failed = False
        self.hits = 0
        self.misses = 0
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._file() as file, file:
            mark = file.execute("PRAGMA application_id").fetchone()[0]
            empty = not file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if mark != _APPLICATION and not empty:
                raise sqlite3.DatabaseError("it is a data base of another program")
            file.execute(f"PRAGMA application_id = {_APPLICATION}")
            file.execute(
                "CREATE TABLE IF NOT EXISTS vectors"
                " (key BLOB PRIMARY KEY, vector BLOB NOT NULL, truncated INTEGER NOT NULL)"
                " WITHOUT ROWID"
            )

    def __repr__(self) -> str:
        return f"CachedEncoder({self.inner!r}, {str(self.path)!r})"

    @property
    def dim(self) -> int:
        return self.inner.dim

    @property
    def identity(self) -> Mapping[str, object]:
        return self.inner.identity

    @property
    def tolerance(self) -> float:
        return self.inner.tolerance

    @property
    def environment(self) -> Mapping[str, object]:
        return getattr(self.inner, "environment", {})

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
        """As the encoder's own `encode`."""
        return self.encode_counted(texts, kind).vectors

    def encode_counted(
        self,
        texts: Sequence[str],
        kind: Kind = "passage",
        *,
        progress: Callable[[int], object] | None = None,
    ) -> Encoded:
        """As the encoder's own `encode_counted`; what is new is stored block by block."""
        if not self._failed:
            try:
                return self._cached(texts, kind, progress)
            except CacheError as error:
                if not self._optional:
                    raise
                self._failed = True
                warnings.warn(
                    f"{error}; going on without it, delete it if it stays so", stacklevel=2
                )
        return Encoded(*encode(self.inner, texts, kind, progress))

    def _cached(
        self, texts: Sequence[str], kind: Kind, progress: Callable[[int], object] | None
    ) -> Encoded:
        keys = [self._key(text, kind) for text in texts]
        vectors = np.empty((len(texts), self.dim), np.float32)
        truncated: set[int] = set()
        with self._lock, self._file() as file:
            missing = self._look_up(file, keys, vectors, truncated)
            done = len(texts) - len(missing)
            self.hits += done
            self.misses += len(missing)
            for at in range(0, len(missing), _BLOCK):
                if progress is not None:
                    progress(done + at)
                block = missing[at : at + _BLOCK]
                try:
                    new, cut = encode(self.inner, [texts[i] for i in block], kind)
                except TextTooLongError as error:
                    # Its position is that in the block.
                    index = block[error.index]
                    raise TextTooLongError(
                        index, error.n_tokens, error.max_tokens, error.n_long
                    ) from None
                vectors[block] = new
                truncated.update(block[i] for i in cut)
                rows = [
                    (keys[i], row.tobytes(), int(place in cut))
                    for place, (i, row) in enumerate(zip(block, new, strict=True))
                    # A failure is not kept: the next run may have better luck.
                    if np.isfinite(row).all() and row.any()
                ]
                with file:
                    file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
        if progress is not None:
            progress(len(texts))
        return Encoded(vectors, tuple(sorted(truncated)))

    def _look_up(
        self,
        file: sqlite3.Connection,
        keys: Sequence[bytes],
        vectors: NDArray[np.float32],
        truncated: set[int],
    ) -> list[int]:
        missing = []
        for i, key in enumerate(keys):
            row = file.execute(
                "SELECT vector, truncated FROM vectors WHERE key = ?", (key,)
            ).fetchone()
            if row is None or len(row[0]) != 4 * self.dim:
                missing.append(i)
                continue
            vectors[i] = np.frombuffer(row[0], np.float32)
            if row[1]:
                truncated.add(i)
        return missing

    def _key(self, text: str, kind: str) -> bytes:
        # Lengths keep the three parts apart.
        head = f"{len(self._prefix)} {kind} ".encode()
        return hashlib.sha256(head + self._prefix + text.encode("utf-8")).digest()

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    @contextmanager
    def _file(self) -> Iterator[sqlite3.Connection]:
        """The open file; what SQLite says against it is an `OSError` with its path."""
        try:
            with closing(sqlite3.connect(self.path, timeout=60)) as file:
                yield file
        except sqlite3.Error as error:
            raise CacheError(f"embedding cache {self.path}: {error}") from None
