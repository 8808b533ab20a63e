"""What `import tamis` costs over bare Python, and how much is installed; from the built wheel.

The newest wheel in `dist/` is installed, without its dependencies, into an environment of its own.
Interpreters with and without the import start in turns.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNS = 60
MAX_MODULES = 40
MAX_INSTALLED_BYTES = 3_000_000
HEAVY = {"numpy", "typing", "dataclasses", "asyncio", "inspect", "logging", "tqdm"}
ALL = "import sys, tamis; print(len(sys.modules))"
LOADED = "import sys; before = set(sys.modules); import tamis; print(*set(sys.modules) - before)"
WHERE = "import tamis; print(tamis.__file__)"


def ms(python: Path, statement: str) -> float:
    """Milliseconds from starting an interpreter to its end."""
    begin = time.perf_counter()
    subprocess.run([python, "-I", "-c", statement], check=True)
    return (time.perf_counter() - begin) * 1e3


def said(python: Path, statement: str) -> str:
    """What a statement prints."""
    command = [str(python), "-I", "-c", statement]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def size(folder: Path, cached: bool) -> int:
    """Bytes of the files under a folder, with those that Python compiled itself or without."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return sum(path.stat().st_size for path in files if cached or path.suffix != ".pyc")


def main() -> None:
    """Install, measure, check."""
    wheels = sorted((ROOT / "dist").glob("tamis-*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        raise SystemExit("no wheel in dist/: run make wheel")
    with tempfile.TemporaryDirectory() as name:
        environment = Path(name)
        # Without pip, whose start-up file bare Python would have to read as well.
        venv.create(environment)
        python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        command = [sys.executable, "-m", "pip", "--python", str(python), "-q", "install"]
        subprocess.run([*command, "--no-deps", "--no-index", str(wheels[-1])], check=True)
        package = Path(said(python, WHERE)).parent
        loaded = said(python, LOADED).split()
        bare, ours = [], []
        for _ in range(RUNS):
            bare.append(ms(python, "pass"))
            ours.append(ms(python, "import tamis"))
        row = {
            "bare_ms": round(min(bare), 2),
            "import_ms_over_bare": round(min(ours) - min(bare), 2),
            "import_ms_over_bare_median": round(
                statistics.median(o - b for o, b in zip(ours, bare, strict=True)), 2
            ),
            "modules": int(said(python, ALL)),
            "modules_over_bare": len(loaded),
            "wheel_bytes": wheels[-1].stat().st_size,
            "installed_bytes": size(package, cached=False),
            "installed_bytes_compiled": size(package, cached=True),
        }
        print(json.dumps(row), flush=True)
        assert {"tamis", "tamis._tamis"} <= set(loaded)
        assert not HEAVY & set(loaded), sorted(HEAVY & set(loaded))
        assert row["modules"] <= MAX_MODULES
        assert size(package, cached=True) <= MAX_INSTALLED_BYTES


if __name__ == "__main__":
    main()
