"""Time against length on texts made to be slow: one JSON line for each, with the slope.

The slope is that of log(time) over log(length): 1 is linear, 2 a square. Fails above 1.35, which no
linear scan reaches on any machine and every square passes.

    python benches/hostile/slope.py > benches/results/hostile.jsonl
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time

from tamis import Chunker

UNITS = {
    "no punctuation": "a",
    "words": "word ",
    "full stops": ".",
    "exclamations": "! ",
    "combining marks": "\u0301",
    "flags": "🇩",
    "joined emoji": "👩\u200d",
    "newlines": "\n",
    "spaces": " ",
    "base64": "aGVsbG8gd29ybGQ+Zm9v/",
    "minified JSON": '{"a":1,"b":[1.5,"x.y"],',
    "quotation marks": '"',
    "speech": '"A. ',
    "brackets": "(",
    "titles": "Mr. ",
    "abbreviations": "e.g. ",
    "initials": "A. ",
    "numbers": "1.",
    "ideographic stops": "。」",
    "French spacing": "? »",
    "separators": "\u2028",
    "list items": "- a\n",
    "digits on lines": "1\n",
    "reference marks": ".[1",
}
# Half of the first, then half of the second: what looks back from every stop would meet it again.
PAIRS = {
    "brackets, then abbreviations": ("(", "e.g. Aa "),
    "dashes, then markers": ("-", "5. Aa "),
    "spaces, then initials": (" ", "A. a "),
    "a quotation left open": ('"', "a! b "),
    "letters, then titles": ("a", " Mr. A"),
}


def seconds(text: str, runs: int) -> float:
    chunker = Chunker()
    best = math.inf
    for _ in range(runs):
        begin = time.perf_counter()
        snippets = chunker.chunk(text)
        best = min(best, time.perf_counter() - begin)
        if text.strip():
            assert snippets[0].start >= 0 and max(map(len, snippets.texts())) <= 500
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bytes", type=int, default=10_000_000, help="length of the longest text")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    steep = []
    lengths = [arguments.bytes // 100, arguments.bytes // 10, arguments.bytes]
    halves = {name: (unit, unit) for name, unit in UNITS.items()} | PAIRS
    for name, units in halves.items():
        times = [
            seconds("".join(u * (n // 2 // len(u.encode())) for u in units), arguments.runs)
            for n in lengths
        ]
        slope = math.log(times[-1] / times[0]) / math.log(lengths[-1] / lengths[0])
        steep += [name] if slope > 1.35 else []
        row = {"text": name, "bytes": lengths, "s": times, "slope": round(slope, 3)}
        print(json.dumps(row), flush=True)
    if steep:
        print(f"not linear: {', '.join(steep)}", file=sys.stderr)
    return bool(steep)


if __name__ == "__main__":
    sys.exit(main())
