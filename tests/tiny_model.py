"""A tiny embedding model with random weights, made in milliseconds, in the layout of a real one.

Its graph is written by the same script as the shipped model's (`models/minilm_graph.py`), so the
tests read, quantise and run what users do. Attention is weak beside the word table: a vector is
nearly a bag of letter pairs, and texts that share words lie close together.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import string
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))
from minilm_graph import build_graph

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def vocabulary() -> dict[str, int]:
    """Special tokens, punctuation, and every one or two letters or digits, at a start or within."""
    letters = string.ascii_lowercase + string.digits
    pieces = [*letters, *map("".join, itertools.product(letters, repeat=2))]
    tokens = [*SPECIAL, *string.punctuation, *pieces, *("##" + piece for piece in pieces)]
    return {token: index for index, token in enumerate(tokens)}


def tiny_tokenizer() -> Tokenizer:
    """Lower-casing WordPiece that, like MiniLM's own file, cuts and pads unless told not to."""
    words = vocabulary()
    tokenizer = Tokenizer(models.WordPiece(words, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(t, words[t]) for t in ("[CLS]", "[SEP]")]
    )
    tokenizer.enable_truncation(max_length=16)
    tokenizer.enable_padding(length=16)
    return tokenizer


def tiny_weights(architecture: dict[str, Any], seed: int) -> dict[str, NDArray[np.float32]]:
    """Random weights under the names and shapes of a BERT encoder."""
    random = np.random.default_rng(seed)
    hidden, inner = architecture["hidden"], architecture["intermediate"]

    def normal(*shape: int, scale: float = 0.05) -> NDArray[np.float32]:
        return (random.standard_normal(shape) * scale).astype(np.float32)

    weights = {
        "embeddings.word_embeddings.weight": normal(architecture["vocabulary"], hidden, scale=1),
        "embeddings.position_embeddings.weight": normal(architecture["positions"], hidden),
        "embeddings.token_type_embeddings.weight": normal(2, hidden),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(architecture["layers"]):
        prefix = f"encoder.layer.{layer}"
        linear = {f"attention.self.{part}": (hidden, hidden) for part in ("query", "key", "value")}
        linear |= {"attention.output.dense": (hidden, hidden)}
        linear |= {"intermediate.dense": (inner, hidden), "output.dense": (hidden, inner)}
        for name, shape in linear.items():
            weights[f"{prefix}.{name}.weight"] = normal(*shape)
            weights[f"{prefix}.{name}.bias"] = normal(shape[0])
        norms += [f"{prefix}.attention.output.LayerNorm", f"{prefix}.output.LayerNorm"]
    for name in norms:
        weights[f"{name}.weight"] = np.ones(hidden, np.float32)
        weights[f"{name}.bias"] = np.zeros(hidden, np.float32)
    return weights


def make_tiny_model(
    folder: Path,
    *,
    quantised: bool = False,
    seed: int = 0,
    dim: int = 32,
    max_tokens: int = 64,
    query_prefix: str = "",
    table_rows: int | None = None,
) -> Path:
    """Make `folder` with model.onnx, tokenizer.json and manifest.json, and return it.

    `table_rows` gives the word table another size than the vocabulary, so that texts fail.
    """
    folder.mkdir(parents=True)
    architecture = {
        "layers": 2,
        "heads": 4,
        "hidden": dim,
        "intermediate": 2 * dim,
        "positions": max_tokens,
        "vocabulary": table_rows or len(vocabulary()),
        "layer_norm_epsilon": 1e-12,
    }
    path = folder / "model.onnx"
    onnx.save(build_graph(tiny_weights(architecture, seed), architecture), path)
    if quantised:
        previous = logging.root.manager.disable
        logging.disable(logging.WARNING)  # advice on pre-processing
        quantize_dynamic(
            path, path, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
        )
        logging.disable(previous)
    tiny_tokenizer().save(str(folder / "tokenizer.json"))
    manifest = {
        "format": 1,
        "name": "tiny",
        "version": "0",
        "licence": "none: random numbers",
        "languages": [],
        "weights": f"random:{seed}",
        "recipe": "tiny-1",
        "precision": "int8 dynamic" if quantised else "float32",
        "pooling": "mean",
        "normalise": True,
        "query_prefix": query_prefix,
        "passage_prefix": "",
        "dim": dim,
        "max_tokens": max_tokens,
        "vector_dtype": "float32",
    }
    write_manifest(folder, manifest)
    return folder


def write_manifest(folder: Path, fields: dict[str, Any]) -> None:
    """Write manifest.json with `fields` and the true sha256 of the files beside it."""
    files = ("model.onnx", "tokenizer.json")
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}
    (folder / "manifest.json").write_text(json.dumps({**fields, "files": digests}), "utf-8")
