"""Makes the environment of the side-by-side runs: an interpreter, the wheel, the peers, the texts.

Everything is made in the folder `.env` beside this file. What could not be installed is listed
with its reason in `.env/peers.json`, which the runs copy into their results; the others go on.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ENV = HERE / ".env"
PYTHON = ENV / "venv" / "bin" / "python"
CORPUS = ENV / "corpus"
PEERS = ENV / "peers.json"
CONSTRAINTS = ENV / "constraints.txt"

# What the benches compare with, by the bench that needs it. Left out, for their size or because
# they load models at run time: torch, spacy, llama-index, haystack, minisbd; and sentence splitters
# that pack no windows.
WANTED = {
    "all": ["numpy", "packaging", "threadpoolctl"],
    "chunking": [
        "semantic-text-splitter",
        "konan",
        "blazechunk",
        "chonkie-core",
        "chonkie",
        "chunkr-rs",
        "rustchunker",
        "semchunk",
        "kaos-nlp-core",
        "langchain-text-splitters",
    ],
    "scoring": [
        "scipy",
        "scikit-learn",
        "simsimd",
        "numkong",
        "usearch",
        "faiss-cpu",
        "orjson",
        "rpds-py",
    ],
    "calibration": ["bottleneck", "pandas", "polars", "crepes", "mapie"],
    "endtoend": ["langchain-core", "langchain-classic", "langchain-community"],
}
# The versions are pinned for the first of these that is found.
MINORS = (13, 14, 12, 11)


def pins(requirements: Path) -> dict[str, str]:
    """The pinned version of every distribution in a requirements file."""
    found = {}
    for line in requirements.read_text(encoding="utf8").splitlines():
        name, equals, version = line.partition("#")[0].strip().partition("==")
        if equals:
            found[normal(name)] = version
    return found


def normal(name: str) -> str:
    """A distribution's name as indexes spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def interpreters(asked: str | None) -> Iterator[str]:
    """Interpreters to try, best first: the one asked for, those on PATH, those of pyenv, this."""
    if asked:
        yield asked
        return
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for minor in MINORS:
        yield f"python3.{minor}"
        for path in sorted(pyenv.glob(f"versions/3.{minor}.*/bin/python"), reverse=True):
            yield str(path)
    yield sys.executable


def find_interpreter(asked: str | None) -> tuple[str, str]:
    """The first interpreter that runs and can make a virtual environment, and its version."""
    probe = "import ensurepip, platform, venv; print(platform.python_version())"
    for path in interpreters(asked):
        try:
            answer = subprocess.run([path, "-c", probe], capture_output=True, text=True)
        except OSError:
            continue
        if answer.returncode == 0:
            return path, answer.stdout.strip()
    raise SystemExit(f"no usable interpreter{f': {asked}' if asked else ''}")


def pip(*arguments: str) -> str | None:
    """Installs; None, or why not."""
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True)
    return None if done.returncode == 0 else reason(done.stderr)


def reason(stderr: str) -> str:
    """What is wrong, from pip's output."""
    lines = [line.removeprefix("ERROR: ") for line in stderr.splitlines() if "ERROR" in line]
    missing = re.search(r"requirement \S+?==(\S+)", stderr)
    if missing:
        needs = re.search(rf"[ ;]{re.escape(missing[1])} Requires-Python ([^\s;]+)", stderr)
        return f"needs Python {needs[1]}" if needs else f"there is no {missing[1]} for this system"
    return (lines or stderr.strip().splitlines() or ["pip failed and said nothing"])[-1][:200]


def install(name: str, pinned: dict[str, str]) -> dict[str, Any]:
    """Installs one peer as pinned, else in whatever version this interpreter can have."""
    version = pinned.get(name)
    why = "no version is pinned"
    if version:
        exactly = f"{name}=={version}"
        # Its dependencies as pinned too, if they can be.
        why = (pip(exactly, "-c", str(CONSTRAINTS)) and pip(exactly)) or ""
        if not why:
            return {"peer": name, "pinned": version}
    failed = pip(name)
    if failed is None:
        return {"peer": name, "pinned": version, "not_as_pinned": why}
    return {"peer": name, "pinned": version, "not_installed": why if version else failed}


def versions(names: list[str]) -> dict[str, str]:
    """The installed versions."""
    ask = (
        "import importlib.metadata as m, json, sys\n"
        "print(json.dumps({d.name: d.version for d in m.distributions()}))"
    )
    answer = subprocess.run([str(PYTHON), "-c", ask], capture_output=True, text=True, check=True)
    there = {normal(name): version for name, version in json.loads(answer.stdout).items()}
    return {name: there[name] for name in names if name in there}


def unpack(corpus: Path) -> None:
    """The texts of the benches, decompressed."""
    CORPUS.mkdir(parents=True, exist_ok=True)
    packed = sorted(corpus.glob("*.txt.gz"))
    if not packed:
        raise SystemExit(f"no *.txt.gz in {corpus}")
    for path in packed:
        text = CORPUS / path.stem
        if not text.exists() or text.stat().st_mtime < path.stat().st_mtime:
            text.write_bytes(gzip.decompress(path.read_bytes()))


def make(bench: Path, asked: str | None) -> None:
    """The virtual environment with the peers, unless the one there is what is asked for."""
    requirements = bench / "requirements.txt"
    path, version = find_interpreter(asked)
    names = [name for group in WANTED.values() for name in group]
    recipe = hashlib.sha256(
        json.dumps([version, names, requirements.read_text(encoding="utf8")]).encode()
    ).hexdigest()
    if PEERS.exists() and PYTHON.exists():
        there = json.loads(PEERS.read_text(encoding="utf8"))
        if there["recipe"] == recipe:
            # What could not be had may have been out of reach for a moment only.
            retry(there, pins(requirements))
            return
    print(f"peers: Python {version}, installing {len(names)} packages", flush=True)
    shutil.rmtree(ENV / "venv", ignore_errors=True)
    PEERS.unlink(missing_ok=True)
    ENV.mkdir(exist_ok=True)
    subprocess.run([path, "-m", "venv", str(PYTHON.parent.parent)], check=True)
    pinned = pins(requirements)
    CONSTRAINTS.write_text(
        "".join(f"{name}=={pin}\n" for name, pin in pinned.items() if name != "pip"),
        encoding="utf8",
    )
    # All at once where that works, for it is much faster; else one by one, to know which fails.
    together = [f"{name}=={pinned[name]}" for name in names if name in pinned]
    rows: list[dict[str, Any]]
    if pip(*together, "-c", str(CONSTRAINTS)) is None:
        rows = [{"peer": name, "pinned": pinned[name]} for name in names if name in pinned]
        rows += [install(name, pinned) for name in names if name not in pinned]
    else:
        rows = [install(name, pinned) for name in names]
    record({"recipe": recipe, "python": version, "peers": rows})


def retry(there: dict[str, Any], pinned: dict[str, str]) -> None:
    """Tries again what could not be installed."""
    rows = there["peers"]
    if any("not_installed" in row for row in rows):
        again = [install(r["peer"], pinned) if "not_installed" in r else r for r in rows]
        record({**there, "peers": again})


def record(made: dict[str, Any]) -> None:
    """Writes down what is installed, with its version, and what is not."""
    rows = made["peers"]
    have = versions([row["peer"] for row in rows])
    for row in rows:
        row["version"] = have.get(row["peer"])
        if row["peer"] == "numpy" and row["version"] is None:
            raise SystemExit(f"numpy could not be installed: {row['not_installed']}")
    PEERS.write_text(json.dumps(made, indent=1) + "\n", encoding="utf8")


def install_wheel(folder: Path) -> None:
    """The newest wheel of the folder."""
    wheels = sorted(folder.glob("tamis-*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        raise SystemExit(f"no tamis wheel in {folder}: run `make wheel`")
    failed = pip("--force-reinstall", "--no-deps", str(wheels[-1])) or pip("tqdm")
    if failed:
        raise SystemExit(f"{wheels[-1].name} could not be installed: {failed}")


def main() -> None:
    """Makes the environment and says what it lacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, required=True, help="the side-by-side scripts")
    parser.add_argument("--wheels", type=Path, required=True, help="folder with the built wheel")
    parser.add_argument("--python", help="interpreter to use instead of searching for one")
    options = parser.parse_args()
    make(options.bench, options.python or None)
    unpack(options.bench / "corpus")
    install_wheel(options.wheels)
    made = json.loads(PEERS.read_text(encoding="utf8"))
    print(f"peers: Python {made['python']}")
    for row in made["peers"]:
        if "not_installed" in row:
            print(f"  {row['peer']}: not installed, not measured: {row['not_installed']}")
        elif "not_as_pinned" in row:
            print(f"  {row['peer']} {row['version']}, not as pinned: {row['not_as_pinned']}")
        elif row["version"] != row["pinned"]:
            print(f"  {row['peer']} {row['version']}, pinned is {row['pinned']}")


if __name__ == "__main__":
    main()
