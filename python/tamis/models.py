"""Embedding models on this machine: local folders, and data packages found by their entry point.

A model is a folder with `model.onnx`, `tokenizer.json` and `manifest.json`. A data package such as
`tamis-minilm` names its folder in the entry point group `tamis.models`. Nothing is ever downloaded,
and nothing here loads a runtime.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

ENTRY_POINTS = "tamis.models"
MANIFEST = "manifest.json"
FORMAT = 1

# What a vector depends on besides its text, in the order a reader wants to see it. A calibration
# stores these fields and names the one that differs. File bytes are not among them: quantising the
# same weights by the same recipe again gives the same model.
_IDENTITY = (
    "weights",
    "recipe",
    "precision",
    "pooling",
    "normalise",
    "query_prefix",
    "passage_prefix",
    "dim",
    "max_tokens",
    "vector_dtype",
)
_TYPES: Mapping[str, type] = {
    "format": int,
    "name": str,
    "version": str,
    "licence": str,
    "languages": list,
    "files": dict,
    "weights": str,
    "recipe": str,
    "precision": str,
    "pooling": str,
    "normalise": bool,
    "query_prefix": str,
    "passage_prefix": str,
    "dim": int,
    "max_tokens": int,
    "vector_dtype": str,
}


@dataclass(frozen=True)
class Model:
    """A model folder and what its manifest says.

    Attributes
    ----------
    folder : Path
    name, version, licence : str
    languages : tuple of str
        Languages the model was made for, as ISO 639 codes.
    dim : int
        Length of a vector.
    max_tokens : int
        Tokens the model reads of one text, special tokens included.
    query_prefix, passage_prefix : str
        Put before a text of that kind.
    identity : mapping of str to object
        Flat and JSON-able: what a vector depends on besides its text.
    files : mapping of str to str
        sha256 of `model.onnx` and `tokenizer.json`.
    """

    folder: Path
    name: str
    version: str
    licence: str
    languages: tuple[str, ...]
    dim: int
    max_tokens: int
    query_prefix: str
    passage_prefix: str
    identity: Mapping[str, object]
    files: Mapping[str, str]

    @classmethod
    def load(cls, folder: Path) -> Model:
        """Read a model folder's manifest; model and tokenizer are only checked to be there.

        Raises
        ------
        FileNotFoundError
            The folder or one of its files is missing; the message names it.
        ValueError
            The manifest is not one, or a field of it is missing or of another type.
        """
        if not folder.is_dir():
            raise FileNotFoundError(f"no model folder at {folder}")
        for file in ("model.onnx", "tokenizer.json", MANIFEST):
            # Regular files only: opening a pipe or a device could wait for ever.
            if not (folder / file).is_file():
                raise FileNotFoundError(
                    f"{folder} is no model folder: {file} is missing "
                    f"(it needs model.onnx, tokenizer.json and {MANIFEST})"
                )
        fields = _read_manifest(folder / MANIFEST)
        return cls(
            folder=folder,
            name=fields["name"],
            version=fields["version"],
            licence=fields["licence"],
            languages=tuple(fields["languages"]),
            dim=fields["dim"],
            max_tokens=fields["max_tokens"],
            query_prefix=fields["query_prefix"],
            passage_prefix=fields["passage_prefix"],
            identity={name: fields[name] for name in _IDENTITY}
            | {"tokenizer": "sha256:" + fields["files"]["tokenizer.json"]},
            files=fields["files"],
        )

    def verified(self, file: str) -> Path:
        """Path of `model.onnx` or `tokenizer.json`, after a look at all its bytes.

        Cost: one sha256, about 15 ms for the default model.

        Raises
        ------
        ValueError
            The bytes are not those the manifest names: a damaged model would give vectors that no
            calibration was made for.
        """
        path = self.folder / file
        with path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        if digest != self.files[file]:
            raise ValueError(
                f"{path} is not the file that {MANIFEST} beside it names "
                "(sha256 differs): build or install the model again"
            )
        return path


def find_model(model: str | os.PathLike[str]) -> Model:
    """Find a model by the name of an installed data package, or by the path of its folder.

    Raises
    ------
    FileNotFoundError
        No such folder or installed model; the message says which command makes it.
    ValueError
        The folder's manifest cannot be used.
    """
    if not isinstance(model, str | os.PathLike):
        raise TypeError(f"model must be a name or a path, got {type(model).__name__}")
    text = os.fspath(model)
    if not is_name(model):
        return Model.load(Path(text).expanduser().absolute())
    points = {point.name: point for point in metadata.entry_points(group=ENTRY_POINTS)}
    if text in points:
        return Model.load(Path(points[text].load()()))
    hint = ""
    if text == "minilm":
        hint = "; `make models` in a checkout or `pip install tamis[minilm]` provides it"
    elif Path(text).is_dir():
        hint = f"; for the folder of that name write ./{text}"
    raise FileNotFoundError(
        f"no embedding model named {text!r} is installed "
        f"(installed: {', '.join(installed_models()) or 'none'}){hint}"
    )


def is_name(model: str | os.PathLike[str]) -> bool:
    """Whether this names an installed model: a string without a path separator.

    So a folder in the working directory never stands in for an installed model of the same name;
    write `./minilm` for a folder.
    """
    separators = {os.sep, os.altsep or os.sep}
    return isinstance(model, str) and not separators & set(model)


def installed_models() -> tuple[str, ...]:
    """Names of the installed data packages, sorted."""
    return tuple(sorted(metadata.entry_points(group=ENTRY_POINTS).names))


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, ValueError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise ValueError(f"{path} must hold a JSON object")
    if fields.get("format") != FORMAT:
        raise ValueError(
            f"{path}: format is {fields.get('format')!r}; this version of tamis reads {FORMAT}"
        )
    for name, expected in _TYPES.items():
        if name not in fields:
            raise ValueError(f"{path}: {name} is missing")
        # bool is an int to isinstance, and neither is the other here.
        if type(fields[name]) is not expected:
            found = type(fields[name]).__name__
            raise ValueError(f"{path}: {name} must be {expected.__name__}, got {found}")
    for name in ("dim", "max_tokens"):
        if fields[name] < 1:
            raise ValueError(f"{path}: {name} must be at least 1, got {fields[name]}")
    for name in ("model.onnx", "tokenizer.json"):
        if not isinstance(fields["files"].get(name), str):
            raise ValueError(f"{path}: files names no sha256 of {name}")
    return fields
