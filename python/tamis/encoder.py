"""Texts to unit vectors: the `Encoder` protocol, and `OnnxEncoder` over a local model."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tamis.models import Model, find_model, is_name
from tamis.onnx_session import OnnxSession

Kind = Literal["query", "passage"]
Vectors = NDArray[np.float32]

_BLOCK = 256  # texts queued to the workers at a time: what Ctrl-C has to take back


class Encoder(Protocol):
    """What turns texts into vectors. Hosts may bring their own.

    The promise of a calibration rests on one property: **a text's vector depends on that text
    alone**, whatever is encoded beside it, up to `tolerance`.
    """

    @property
    def dim(self) -> int:
        """Length of a vector."""

    @property
    def identity(self) -> Mapping[str, object]:
        """What a vector depends on besides its text: flat, JSON-able, constant; `encoder` first."""

    @property
    def tolerance(self) -> float:
        """Largest change of a score when a text is encoded in other company; becomes the slack."""

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
        """Vectors of `texts`: float32, shape (n_texts, dim), C-contiguous, rows of unit length."""


class TextTooLongError(ValueError):
    """A text has more tokens than the model reads.

    Attributes
    ----------
    index : int
        Position in the list of texts of the first that is too long.
    n_tokens, max_tokens : int
        Its length and the model's limit in tokens, special tokens and prefix included.
    n_long : int
        Number of texts that are too long.
    """

    def __init__(self, index: int, n_tokens: int, max_tokens: int, n_long: int) -> None:
        self.index, self.n_tokens, self.max_tokens = index, n_tokens, max_tokens
        self.n_long = n_long
        others = f" ({n_long} texts are too long)" if n_long > 1 else ""
        super().__init__(
            f"texts[{index}] has {n_tokens} tokens, the model reads {max_tokens}{others}: "
            'make smaller chunks, or pass on_long="truncate" to cut and count them'
        )


@dataclass(frozen=True)
class Encoded:
    """Vectors, and which texts were cut to fit the model.

    Attributes
    ----------
    vectors : ndarray of float32, shape (n_texts, dim)
    truncated : tuple of int
        Ascending indices of texts of which the end was not read.
    """

    vectors: Vectors
    truncated: tuple[int, ...]


@dataclass(frozen=True)
class _Handles:
    """What is open in this process."""

    session: OnnxSession
    pool: ThreadPoolExecutor | None  # None where one thread does it all


class OnnxEncoder:
    """An ONNX embedding model on this machine.

    Every text is run alone and unpadded, several at once over worker threads with one runtime
    thread each. Graphs with dynamic quantisation take their scales over the whole batch, so in
    company a text would get another vector (score changes of 1e-2 and more were measured); float32
    graphs change too, by about 1e-7. Alone, neither can happen: the same text gives the same bits
    for any list, order and number of threads (measured on both MiniLM graphs, onnxruntime 1.32),
    so `tolerance` is 0. It is also the fastest way on a CPU. There is no option for another.

    Parameters
    ----------
    model : str or path, default "minilm"
        Name of an installed model package, or path of a folder with `model.onnx`, `tokenizer.json`
        and `manifest.json`. A string without a path separator is a name. Nothing is downloaded.
    threads : int, optional
        Texts run at the same time; by default the number of CPUs this process may use. It does not
        change the vectors. Tokenising uses the pool of tokenizers, which the host rules by
        `TOKENIZERS_PARALLELISM`.
    on_long : {"error", "truncate"}
        What happens to a text with more than the model's `max_tokens`: an error naming it, or its
        end is left out and `encode_counted` says so.
    providers : sequence of str
        Execution providers in order of preference. If the first is not the one that the runtime
        really uses, opening fails.

    Raises
    ------
    FileNotFoundError
        No such model; the message says which command makes it.
    ValueError
        The model's manifest or an option cannot be used.

    Notes
    -----
    Making one reads the manifest only. The runtime is loaded and the session opened on first use or
    by `warmup`. Safe to share between threads, to pickle (the configuration travels, not the
    session) and to fork (a child opens its own session).
    """

    tolerance = 0.0

    def __init__(
        self,
        model: str | os.PathLike[str] = "minilm",
        *,
        threads: int | None = None,
        on_long: Literal["error", "truncate"] = "error",
        providers: Sequence[str] = ("CPUExecutionProvider",),
    ) -> None:
        if threads is not None and (type(threads) is not int or threads < 1):
            raise ValueError(f"threads must be an integer of at least 1, got {threads!r}")
        if on_long not in ("error", "truncate"):
            raise ValueError(f'on_long must be "error" or "truncate", got {on_long!r}')
        if isinstance(providers, str) or not providers:
            raise ValueError(f"providers must be a list of provider names, got {providers!r}")
        self.model: Model = find_model(model)
        self.threads: int = threads or _allowed_cpus()
        self._providers = tuple(providers)
        self._on_long = on_long
        self._options: dict[str, Any] = {
            "threads": threads,
            "on_long": on_long,
            "providers": self._providers,
        }
        # Absolute, for a process with another working directory.
        self._name = str(model) if is_name(model) else str(self.model.folder)
        self._handles: _Handles | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"OnnxEncoder({self._name!r}, threads={self.threads})"

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(type(self), **self._options), (self._name,)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self.model.dim

    @property
    def identity(self) -> Mapping[str, object]:
        """What a vector depends on besides its text: `encoder`, then the manifest's fields."""
        return {"encoder": "onnx", **self.model.identity}

    @property
    def environment(self) -> Mapping[str, object]:
        """What may move a vector in its last bits: runtime and provider. Opens the model."""
        session = self._open().session
        return {"runtime": session.runtime, "provider": session.provider}

    @property
    def dynamically_quantised(self) -> bool:
        """Whether the graph scales activations over its batch.

        Found in the graph. Nothing here depends on it, because every text is run alone; whoever
        runs such a model elsewhere, in batches, should know. Opens the model.
        """
        return self._open().session.dynamically_quantised

    def encode(
        self,
        texts: Sequence[str],
        kind: Kind = "passage",
        *,
        progress: Callable[[int], object] | None = None,
    ) -> Vectors:
        """Encode texts.

        Parameters
        ----------
        texts : sequence of str
        kind : {"query", "passage"}
            Chooses the model's prefix.
        progress : callable, optional
            Called in this thread with the number of texts done so far.

        Returns
        -------
        ndarray of float32, shape (n_texts, dim)
            C-contiguous, rows of unit length; not checked to be finite.

        Raises
        ------
        TextTooLongError
            A `ValueError`, before any text is run; `on_long="truncate"` cuts instead, and
            `encode_counted` gives the count.
        TypeError, ValueError
            A text is not a `str`, or holds a lone surrogate; the message names its index.
        RuntimeError
            The runtime failed on a text, or does not use the provider asked for.

        Notes
        -----
        Cost: one run of the model for each text; memory for the result and 8 bytes a token. All
        texts are tokenised before the first is run. Ctrl-C stops within one text.
        """
        return self.encode_counted(texts, kind, progress=progress).vectors

    def encode_counted(
        self,
        texts: Sequence[str],
        kind: Kind = "passage",
        *,
        progress: Callable[[int], object] | None = None,
    ) -> Encoded:
        """As `encode`, and says which texts were truncated."""
        if kind not in ("query", "passage"):
            raise ValueError(f'kind must be "query" or "passage", got {kind!r}')
        prefix = self.model.query_prefix if kind == "query" else self.model.passage_prefix
        prefixed = [prefix + text for text in _checked(texts)]
        vectors = np.empty((len(prefixed), self.dim), np.float32)
        if not prefixed:
            return Encoded(vectors, ())
        handles = self._open()
        ids, truncated = self._tokenise(handles.session, prefixed)
        self._run_all(handles, ids, vectors, progress or (lambda done: None))
        return Encoded(vectors, truncated)

    def warmup(self) -> None:
        """Open the model and run the longest text it reads, so that no request pays for it."""
        session = self._open().session
        session.run(np.resize(next(session.tokenise(["warm"])), self.model.max_tokens))

    def close(self) -> None:
        """Let go of the session and the worker threads; the next use opens them again.

        An encode that is running in another thread still finishes.
        """
        with self._lock:
            self._handles = None

    def _open(self) -> _Handles:
        handles = self._handles
        if handles is None:
            with self._lock:
                if self._handles is None:
                    session = OnnxSession(self.model, self._providers)
                    # Its threads start one by one as texts are queued, and end when it is dropped.
                    many = self.threads > 1
                    pool = ThreadPoolExecutor(self.threads, "tamis-encoder") if many else None
                    self._handles = _Handles(session, pool)
                    _hook_fork()
                    _open_encoders.add(self)
                handles = self._handles
        return handles

    def _abandon(self) -> None:
        """In a forked child: forget the parent's handles without destroying them.

        An inherited session of a runtime with threads kills the child, even when only dropped; the
        reference added here is never given back, so not even interpreter exit drops it. The lock
        is new because another thread of the parent may have held it.
        """
        if self._handles is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._handles))
        self._handles = None
        self._lock = threading.Lock()

    def _tokenise(
        self, session: OnnxSession, texts: list[str]
    ) -> tuple[list[NDArray[np.int64]], tuple[int, ...]]:
        """Token ids of each text, and the indices of those that were cut."""
        limit = self.model.max_tokens
        ids: list[NDArray[np.int64]] = []
        long: list[tuple[int, int]] = []
        for index, row in enumerate(session.tokenise(texts)):
            if len(row) > limit:
                long.append((index, len(row)))
                if self._on_long == "truncate":
                    row = session.tokenise_truncated(texts[index], limit)
            ids.append(row)
        if long and self._on_long == "error":
            raise TextTooLongError(*long[0], limit, len(long))
        return ids, tuple(index for index, _ in long)

    def _run_all(
        self,
        handles: _Handles,
        ids: list[NDArray[np.int64]],
        vectors: Vectors,
        progress: Callable[[int], object],
    ) -> None:
        """Fill `vectors`, one text at a time in each worker."""

        def run(index: int) -> None:
            try:
                vectors[index] = handles.session.run(ids[index])
            except Exception as error:
                where = f"texts[{index}] ({len(ids[index])} tokens)"
                message = f"the model in {self.model.folder} failed on {where}: {error}"
                raise RuntimeError(message) from error

        if handles.pool is None or len(ids) == 1:
            for index in range(len(ids)):
                run(index)
                progress(index + 1)
            return
        for start in range(0, len(ids), _BLOCK):
            block = range(start, min(start + _BLOCK, len(ids)))
            futures: list[Future[None]] = []
            try:
                futures.extend(handles.pool.submit(run, index) for index in block)
                for index, future in zip(block, futures, strict=True):
                    future.result()
                    progress(index + 1)
            except BaseException:  # Ctrl-C too: leave nothing running that nobody waits for
                for future in futures:
                    future.cancel()
                raise


_open_encoders: weakref.WeakSet[OnnxEncoder] = weakref.WeakSet()


@functools.cache
def _hook_fork() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_abandon_all)


def _abandon_all() -> None:
    for encoder in list(_open_encoders):
        encoder._abandon()


def _allowed_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _checked(texts: Sequence[str]) -> Sequence[str]:
    """Refuse what tokenizers would refuse without saying which text it was."""
    if isinstance(texts, str):
        raise TypeError("texts must be a list of str, got one str")
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts[{index}] must be str, got {type(text).__name__}")
        try:
            _ = text.isascii() or text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"texts[{index}] holds a lone surrogate at position {error.start}, "
                "which no tokenizer can read"
            ) from error
    return texts
