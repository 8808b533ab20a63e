"""What a results file says of commit, machine and interpreter."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import tamis

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"


def git(*arguments: str) -> str:
    """What git answers about this repository."""
    command = ["git", "-C", str(HERE), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def cpu() -> str:
    """The processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def header() -> dict[str, Any]:
    """Commit, date, machine and versions."""
    changed = git("status", "--porcelain", "--", ":/", ":!/benches/results")
    return {
        "bench": "header",
        "commit": git("rev-parse", "--short=12", "HEAD"),
        "dirty": bool(changed),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": {
            "cpu": cpu(),
            "cores": os.cpu_count(),
            "load": round(os.getloadavg()[0], 2),
            "system": platform.system(),
            "arch": platform.machine(),
        },
        "python": platform.python_version(),
        "tamis": tamis.__version__,
    }


def results_file(name: str, head: dict[str, Any]) -> Path:
    """Where the results of this commit go; the folder exists."""
    RESULTS.mkdir(exist_ok=True)
    suffix = "-dirty" if head["dirty"] else ""
    return RESULTS / f"{name}-{head['commit']}{suffix}.jsonl"
