"""A model folder opened with onnxruntime and tokenizers: texts to token ids, token ids to a vector.

This is the only file that knows these two packages; it imports them when a session is opened. Which
texts are run when, and where, is the encoder's business (`encoder.py`).
"""

from __future__ import annotations

import functools
import os
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tamis.models import Model

    TokenIds = NDArray[np.int64]

# Texts tokenised at a time: tokenizers holds the interpreter's lock while it makes its result
# objects (94 ms for 2,000 texts), and Ctrl-C is seen between blocks.
_BLOCK = 256
# Operators that quantise activations on the way. Their names stand in the file as they are, whether
# in the graph, a subgraph or a function, so searching the bytes misses none of them; a chance hit
# in a name or a weight would cost a later batching its speed, never its exactness.
_DYNAMIC_OPERATORS = (b"DynamicQuantize", b"MatMulInteger", b"ConvInteger", b"QAttention")
_BROKEN_RUNTIME = "1.29.0"
_INSTALL = "pip install 'tamis[onnx]', or 'tamis[onnx-gpu]' for a GPU"


class OnnxSession:
    """An open model: one runtime thread a call, any number of calls at the same time.

    Attributes
    ----------
    runtime, provider : str
        What runs it, such as "onnxruntime 1.32.0" and "CPUExecutionProvider".

    Raises
    ------
    ImportError
        A package is missing; the message says what to install.
    ValueError
        A file is damaged, is no model or tokenizer, or one of another shape; the message names it.
    RuntimeError
        The runtime fell back to another provider, or is the one release that crashes.
    """

    def __init__(self, model: Model, providers: Sequence[str]) -> None:
        onnxruntime = _import_onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 4  # what goes wrong is raised below, not written to stderr
        path = model.verified("model.onnx")
        available = onnxruntime.get_available_providers()
        if providers[0] not in available:
            raise RuntimeError(f"onnxruntime here has no {providers[0]}, only {available}")
        try:
            session = onnxruntime.InferenceSession(path, options, providers=list(providers))
        except Exception as error:
            raise ValueError(f"{path} cannot be opened as an ONNX model: {error}") from error
        self.runtime = f"onnxruntime {onnxruntime.__version__}"
        self.provider: str = session.get_providers()[0]
        if self.provider != providers[0]:
            raise RuntimeError(
                f"asked for {providers[0]}, but onnxruntime fell back to {self.provider}: "
                "install what the provider needs, or ask for another"
            )
        inputs = sorted(tensor.name for tensor in session.get_inputs())
        if inputs != ["attention_mask", "input_ids"]:
            raise ValueError(f"{path} must take attention_mask and input_ids, and takes {inputs}")
        output = session.get_outputs()[0]
        if output.type != "tensor(float)" or output.shape[1:] != [model.dim]:
            raise ValueError(
                f"{path} must give float32 [b, {model.dim}] first, "
                f"and gives {output.type} {output.shape}"
            )
        self._path = path
        self._session = session
        self._tokenizer = _open_tokenizer(model)

    @functools.cached_property
    def dynamically_quantised(self) -> bool:
        """Whether the graph scales activations over its whole batch; reads the file once."""
        return _names_any(self._path, _DYNAMIC_OPERATORS)

    def tokenise(self, texts: Sequence[str]) -> Iterator[TokenIds]:
        """Token ids of each text, special tokens included, of any length: int64 [l]."""
        for start in range(0, len(texts), _BLOCK):
            for encoding in self._tokenizer.encode_batch_fast(texts[start : start + _BLOCK]):
                yield np.array(encoding.ids, np.int64)

    def tokenise_truncated(self, text: str, max_tokens: int) -> TokenIds:
        """Token ids of the beginning of a text, `max_tokens` with the special ones around it."""
        # By hand, because truncation as a setting of the tokenizer would hold for every thread.
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        encoding.truncate(max_tokens - self._tokenizer.num_special_tokens_to_add(False))
        return np.array(self._tokenizer.post_process(encoding).ids, np.int64)

    def run(self, ids: TokenIds) -> NDArray[np.float32]:
        """Run one text, alone and unpadded, giving its vector [dim].

        Releases the interpreter's lock.
        """
        batch = ids[np.newaxis]
        feed = {"input_ids": batch, "attention_mask": np.ones_like(batch)}
        vector: NDArray[np.float32] = self._session.run(None, feed)[0][0]
        return vector


def _names_any(path: Path, names: Sequence[bytes], block: int = 1 << 20) -> bool:
    """Whether any of `names` stands in a file, read a block at a time."""
    longest = max(map(len, names))
    tail = b""
    with path.open("rb") as file:
        while chunk := file.read(block):
            window = tail + chunk
            if any(name in window for name in names):
                return True
            tail = window[-longest:]
    return False


def _open_tokenizer(model: Model) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise ImportError(f"OnnxEncoder needs tokenizers ({_INSTALL}): {error}") from error
    path = model.verified("tokenizer.json")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:
        raise ValueError(f"{path} cannot be opened as a tokenizer: {error}") from error
    # The file may cut and pad by itself (MiniLM's: to 128 tokens): nothing is cut unsaid.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _import_onnxruntime() -> Any:
    """Import the runtime, with its telemetry off where we are the first to import it."""
    if "onnxruntime" not in sys.modules:
        # Since 1.29 the wheels carry an uploader that is on unless this is set beforehand.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        for distribution in ("onnxruntime", "onnxruntime-gpu"):
            try:
                _refuse_broken(metadata.version(distribution))
            except metadata.PackageNotFoundError:
                continue
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError(f"OnnxEncoder needs onnxruntime ({_INSTALL}): {error}") from error
    _refuse_broken(onnxruntime.__version__)
    onnxruntime.disable_telemetry_events()
    return onnxruntime


def _refuse_broken(version: str) -> None:
    """Refuse one release, before its import where possible: that can crash without a shell."""
    if version == _BROKEN_RUNTIME:
        raise RuntimeError(
            f"onnxruntime {_BROKEN_RUNTIME} can crash when it is imported: "
            f"pip install 'onnxruntime!={_BROKEN_RUNTIME}'"
        )
