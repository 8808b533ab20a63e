"""What serving costs; writes `benches/results/serving-<commit>.jsonl`.

Each run appends a header (commit, date, machine, interpreter) and the rows of its parts, each of
which runs in a process of its own and fails when an answer is wrong, a thread was created, memory
grew or a limit on modules or size was passed. Times are reported, never a reason to fail.

    python benches/serving/measure.py [calls] [memory] [service] [startup]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import machine

HERE = Path(__file__).resolve().parent
PARTS = ("calls", "memory", "service", "startup")


def main() -> None:
    """Run the parts one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parts = parser.parse_args().parts or list(PARTS)
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        parser.error(f"no part {unknown[0]}; there are {', '.join(PARTS)}")
    head = machine.header()
    path = machine.results_file("serving", head)
    failed = []
    with path.open("a", encoding="utf8") as file:
        file.write(json.dumps(head) + "\n")
        for part in parts:
            print(f"serving: {part}", flush=True)
            command = [sys.executable, str(HERE / f"{part}.py")]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    row: dict[str, Any] = {"bench": part, **json.loads(line)}
                    file.write(json.dumps(row) + "\n")
                    file.flush()
                    print("  " + ", ".join(f"{k} {v}" for k, v in row.items() if k != "bench"))
            if process.returncode:
                failed.append(part)
    print(f"written to {os.path.relpath(path)}")
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
