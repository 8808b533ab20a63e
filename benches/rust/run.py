"""Runs the core's benches; writes machine, commit and their lines to a file in benches/results."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import machine


def main() -> None:
    """Runs `cargo bench`, showing its lines; the file is written when all succeeded."""
    head = machine.header()
    path = machine.results_file("rust", head).with_suffix(".txt")
    command = ["cargo", "bench", "-p", "tamis-bench", "-q", *sys.argv[1:]]
    # Colours are for a terminal, not for a file.
    env = os.environ | {"CARGO_TERM_COLOR": "never", "NO_COLOR": "1"}
    lines = [json.dumps(head) + "\n"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        sys.exit(process.returncode)
    path.write_text("".join(lines), encoding="utf8")
    print(f"written to {path.relative_to(machine.HERE.parent)}")


if __name__ == "__main__":
    main()
