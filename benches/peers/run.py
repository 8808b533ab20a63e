"""Runs the side-by-side benches and writes `benches/results/peers-<commit>.jsonl`.

Each run appends a header (commit, date, machine, interpreter, peers and what kept one out) and its
rows. Run in the environment that `environment.py` makes.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import environment
import machine
import summary

HERE = Path(__file__).resolve().parent

# What takes minutes and says little is left out, unless --full.
BRIEF = {
    "chunking": ["--max-time", "2"],
    "scoring": ["--ns", "50,200,1000,10000", "--dtypes", "f32,f16"],
    "calibration": ["--ns", "1000,100000", "--kinds", "one,multi"],
}
BENCHES = ("chunking", "fresh", "scoring", "calibration", "endtoend", "startup")
TAKES_CORPUS = ("chunking", "fresh", "endtoend")


def header(benches: list[str], arguments: list[str]) -> dict[str, Any]:
    """Says what was measured, where and when."""
    record = json.loads(environment.PEERS.read_text(encoding="utf8"))
    return machine.header() | {
        "benches": benches,
        "arguments": arguments,
        "peers": {row["peer"]: row["version"] for row in record["peers"] if row["version"]},
        "not_as_pinned": {
            row["peer"]: row["not_as_pinned"] for row in record["peers"] if "not_as_pinned" in row
        },
        "not_installed": {
            row["peer"]: row["not_installed"] for row in record["peers"] if "not_installed" in row
        },
    }


def command(bench: str, scripts: Path, full: bool, extra: list[str]) -> list[str]:
    """What runs one bench."""
    words = [sys.executable, "-W", "ignore"]
    if bench == "fresh":
        words += [str(HERE / "fresh.py"), "--bench", str(scripts)]
        extra = []
    else:
        words += [str(scripts / f"bench_{bench}.py"), "--plugin", "tamis_plugin"]
        words += [] if full else BRIEF.get(bench, [])
    if bench in TAKES_CORPUS:
        words += ["--corpus", str(environment.CORPUS)]
    return words + extra


def main() -> None:
    """Runs the benches one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, required=True, help="the side-by-side scripts")
    parser.add_argument("--full", action="store_true", help="all sizes")
    parser.add_argument("--arguments", default="", help="for each shared script, as --runs 15")
    parser.add_argument("benches", nargs="*", help=", ".join(BENCHES))
    options = parser.parse_args()
    benches = options.benches or list(BENCHES)
    unknown = sorted(set(benches) - set(BENCHES))
    if unknown:
        parser.error(f"no bench {unknown[0]}; there are {', '.join(BENCHES)}")
    extra = shlex.split(options.arguments)
    head = header(benches, extra)
    path = machine.results_file("peers", head)
    scripts = options.bench.resolve()
    # They slow a current numpy down.
    clean = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    failed = []
    with path.open("a", encoding="utf8") as file:
        file.write(json.dumps(head, ensure_ascii=False) + "\n")
        for bench in benches:
            print(f"peers: {bench}", flush=True)
            with subprocess.Popen(
                command(bench, scripts, options.full, extra),
                cwd=HERE,
                env=clean,
                stdout=subprocess.PIPE,
                text=True,
            ) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    if line.startswith("{"):
                        file.write(line)
                        file.flush()
            if process.returncode:
                failed.append(bench)
    summary.show(path, benches)
    print(f"\nwritten to {os.path.relpath(path)}")
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
