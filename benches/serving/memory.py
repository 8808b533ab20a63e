"""Resident memory over a million calls, results told to a callback that reads their statistics."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from candidates import expected, requests
from tamis import Filter, FilterResult, Threshold

VALUE = 1.0
# What an allocator may keep for itself; a leak of one byte a call is more.
MAX_GROWTH_KIB = 900


def resident_kib() -> int:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def main() -> None:
    """Call, and look at the memory ten times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000_000)
    n_calls = parser.parse_args().calls
    n_told = 0

    def told(result: FilterResult) -> None:
        nonlocal n_told
        n_told += result.stats.n_candidates > 0

    sieve = Filter(Threshold.fixed(VALUE), on_result=told)
    given = requests(4)
    for request in given:
        assert sieve.filter_vectors(*request).kept == expected(request, VALUE)
    n_told = 0
    for _ in range(n_calls // 100):
        sieve.filter_vectors(*given[0])
    before = resident_kib()
    seen = []
    for _ in range(10):
        for i in range(n_calls // 10):
            sieve.filter_vectors(*given[i & 3])
        seen.append(resident_kib())
    assert n_told == n_calls + n_calls // 100
    growth = seen[-1] - before
    row = {"calls": n_calls, "before_kib": before, "after_kib": seen[-1], "growth_kib": growth}
    print(json.dumps(row | {"each_tenth_kib": seen}), flush=True)
    assert growth <= MAX_GROWTH_KIB, f"memory grew by {growth} KiB"


if __name__ == "__main__":
    if not Path("/proc/self/statm").exists():
        raise SystemExit("this bench reads memory from /proc, which is not here")
    main()
