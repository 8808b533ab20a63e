"""Prints the ratios of a results file: `summary.py benches/results/peers-<commit>.jsonl`.

A ratio is a contestant's best time over ours in the same run and case: above 1, ours is faster.
Where a bench was run several times, the last run counts. Texts timed fresh use the median of the
ratios of the rounds, since those are interleaved.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

Row = dict[str, Any]

# The contestant of ours that a row is held against.
OURS = {
    "chunking": "tamis.Chunker (columns)",
    "fresh": "tamis.Chunker (columns)",
    "scoring scores": "tamis.cosine_scores",
    "scoring kept indices": "tamis.Threshold.select (filter)",
    "calibration one": "tamis.conformal_quantile",
    "calibration multi": "tamis.conformal_quantiles",
    "calibration group": "tamis.conformal_quantiles_by_group",
    "endtoend": "tamis.Chunker.chunk_many + Threshold.select (arrays in)",
    "startup": "tamis",
}

MISSING = "is not installed"


def table_of(row: Row) -> str:
    """Which table a row belongs to."""
    bench = str(row["bench"])
    if bench == "scoring":
        kept = row.get("op") == "filter" or "(filter)" in row["peer"]
        return "scoring kept indices" if kept else "scoring scores"
    if bench == "calibration":
        return f"calibration {row['case'].partition('/')[0]}"
    return bench


def case_of(row: Row) -> str:
    """The case, with the state of its text where there is one."""
    return " ".join(str(row[key]) for key in ("case", "state") if key in row) or "–"


def microseconds(row: Row, key: str) -> float:
    """A time of a row; some benches write milliseconds."""
    return float(row[key]) if key in row else 1e3 * float(row[key.replace("us", "ms")])


def written(time: float) -> str:
    """Microseconds with three digits or more."""
    return f"{time:,.0f}" if time >= 100 else f"{time:.3g}"


def why_not(error: str) -> str:
    """An error as a reason: short, and the same for all contestants of one package."""
    missing = re.search(r"No module named '(\w+)", error)
    return f"{missing[1]} {MISSING}" if missing else error[:100]


def last_runs(path: Path) -> tuple[Row, dict[str, list[Row]]]:
    """The last header, and the rows of the last run of each bench."""
    head: Row = {}
    rows: dict[str, list[Row]] = {}
    begun: set[str] = set()
    for line in path.read_text(encoding="utf8").splitlines():
        row = json.loads(line)
        if row["bench"] == "header":
            head, begun = row, set()
        elif "peer" in row:
            if row["bench"] not in begun:
                rows[row["bench"]] = []
                begun.add(row["bench"])
            rows[row["bench"]].append(row)
    return head, rows


def show(path: Path, only: list[str] | None = None) -> None:
    """Prints a table for each bench (or only for some), then what was not measured and why."""
    head, benches = last_runs(path)
    machine = head["machine"]
    print(f"\n{head['commit']}{' (changed)' if head['dirty'] else ''}, {head['date']}")
    print(f"{machine['cpu']}, {machine['cores']} cores, Python {head['python']}")
    reasons: dict[str, list[str]] = defaultdict(list)
    for peer, why in head["not_installed"].items():
        reasons[why].append(peer)
    tables: dict[str, list[Row]] = defaultdict(list)
    for bench, rows in benches.items():
        for row in rows:
            # Splitters of sentences pack no windows: they are not compared with.
            if row.get("kind") == "segmenter" or (only and bench not in only):
                continue
            if "error" in row:
                why = why_not(row["error"])
                one_case = "case" in row and not why.endswith(MISSING)
                reasons[why].append(row["peer"] + (f" ({row['case']})" if one_case else ""))
            else:
                tables[table_of(row)].append(row)
    for name, rows in tables.items():
        ours = {case_of(r): r for r in rows if r["peer"] == OURS.get(name)}
        print(f"\n{name}: ratio to {OURS.get(name)}\n")
        print("| contestant | case | best µs | median µs | ratio |\n|---|---|--:|--:|--:|")
        cases = list(dict.fromkeys(case_of(r) for r in rows))
        for row in sorted(rows, key=lambda r: (cases.index(case_of(r)), microseconds(r, "us_min"))):
            best, middle = microseconds(row, "us_min"), microseconds(row, "us")
            ratio = row.get("ratio")
            if ratio is None and case_of(row) in ours:
                ratio = best / microseconds(ours[case_of(row)], "us_min")
            shown = "–" if ratio is None else f"{ratio:.2f}"
            times = f"{written(best)} | {written(middle)}"
            print(f"| {row['peer']} | {case_of(row)} | {times} | {shown} |")
    print()
    for why, peers in sorted(reasons.items()):
        print(f"not measured: {', '.join(dict.fromkeys(peers))}: {why}")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        show(Path(argument))
