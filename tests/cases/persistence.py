"""Cases of the calibration file: round trips, damaged files, and interrupted saving."""

from __future__ import annotations

import json
import math
import random
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import tamis
from cases import processes
from cases.expectations import Case, Check, NoRunner, Outcome, Runner, attempt, judge
from cases.mutations import ALPHA, CHUNKER, SCORER, Mutation, base_calibration, mutation_for

# --- round trips -------------------------------------------------------------------------------


def calibration_with(value: float, alpha: str = ALPHA) -> tamis.Calibration:
    """A calibration whose pooled threshold at alpha is this very double.

    An infinite one comes from one positive too few.
    """
    enough = math.ceil(1 / Fraction(alpha)) - 1
    if math.isinf(value):
        scores = [i / enough for i in range(enough - 1)]
    else:
        # The rank of `enough` positives is the last; all others lie at or below it.
        scores = [value] + [min(value, -1.0 / (i + 1)) for i in range(enough - 1)]
    return tamis.Calibration.fit(scores, [1] * len(scores), check_direction=False)


def strict_json(text: str) -> Any:
    """Parse as the standard defines JSON: no NaN, no Infinity, no name twice in one object."""

    def refuse(token: str) -> None:
        raise AssertionError(f"{token} is not JSON")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        assert len(set(names)) == len(names), f"a name twice among {names}"
        return dict(pairs)

    def finite(token: str) -> float:
        number = float(token)
        assert math.isfinite(number), f"{token} overflows"
        return number

    return json.loads(text, parse_constant=refuse, object_pairs_hook=once, parse_float=finite)


def run_roundtrip(case: Case) -> None:
    given = case["input"]
    value = float.fromhex(given["threshold_hex"])

    def call() -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "calibration.json"
            made = calibration_with(value)
            before = made.threshold(ALPHA, unit="snippet").value
            made.save(path)
            data = path.read_bytes()
            loaded = tamis.Calibration.load(path)
            after = loaded.threshold(ALPHA, unit="snippet").value
            assert loaded == made
            assert sorted(p.name for p in Path(folder).iterdir()) == ["calibration.json"]
            loaded.save(path)
            assert path.read_bytes() == data, "saving what was loaded gives another file"
        return {"before": before, "after": after, "text": data.decode("utf-8")}

    def loaded_hex(wanted: str, outcome: Outcome) -> str | None:
        if outcome.error is not None:
            return None
        got = [outcome.value[name].hex() for name in ("before", "after")]
        want = float.fromhex(wanted).hex()
        return None if got == [want, want] else f"{got} before and after, wanted {want}"

    def strict(wanted: bool, outcome: Outcome) -> str | None:
        if outcome.error is not None:
            return None
        parsed = attempt(lambda: strict_json(outcome.value["text"]))
        return None if (parsed.error is None) == wanted else parsed.shown

    checks: dict[str, Check] = {"loaded_threshold_hex": loaded_hex, "file_is_strict_json": strict}
    judge(case["expect"], attempt(call), checks)


# --- damage ------------------------------------------------------------------------------------


def _use(path: Path) -> float:
    """Load, and filter as the maker's own scorer would: every chance to notice is taken."""
    tamis.Calibration.load(path).threshold(ALPHA)
    chosen = tamis.Filter.load(path, ALPHA, scorer=SCORER, chunker=CHUNKER)
    return float(len(chosen.filter_scores([0.1]).kept))


def run_load_mutation(case: Case) -> None:
    mutation = mutation_for(case["input"]["mutation"])
    calibration = base_calibration()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calibration.json"
        calibration.save(path)
        data = path.read_bytes()
        assert attempt(lambda: _use(path)).error is None, "the untouched file must work"
        changed, fields = mutation.change(data)
        assert changed != data, f"{case['input']['mutation']!r} changed nothing"
        path.write_bytes(changed)
        _judge_use(case, path, fields)
        if mutation.part is not None:
            _judge_other_identity(case, mutation, path, fields)


def _judge_use(case: Case, path: Path, fields: tuple[str, ...]) -> None:
    outcome = attempt(lambda: _use(path), fields=fields, path=str(path))

    def works(_: str, outcome: Outcome) -> str | None:
        return None if outcome.error is not None else "the file was loaded and used"

    judge(case["expect"], outcome, never={r"filter|threshold|works|load": works})


def _judge_other_identity(
    case: Case, mutation: Mutation, path: Path, fields: tuple[str, ...]
) -> None:
    """An honest file of another identity, which no digest could give away, is refused too."""
    assert mutation.part is not None
    identities: dict[str, Any] = {"scorer": SCORER, "chunker": CHUNKER}
    name = fields[0].rpartition(".")[2]
    identities[mutation.part] = {**identities[mutation.part], name: "another"}
    base_calibration(**identities).save(path)
    _judge_use(case, path, fields)


# --- interruption ------------------------------------------------------------------------------

SAVE_FOR_EVER = """
import sys
import tamis
old, new, path = sys.argv[1:]
versions = [tamis.Calibration.load(old), tamis.Calibration.load(new)]
versions[0].save(path)
print("ready", flush=True)
turn = 0
while True:
    turn += 1
    versions[turn % 2].save(path)
"""


def interrupted_saves(kills: int, seed: int = 0) -> tuple[int, int]:
    """Kill a process that saves over one file for ever, `kills` times, and read after each.

    Readers also read while it saves. Gives the numbers of reads that saw each of the two versions;
    anything else a reader sees is an error.
    """
    jitter = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        versions, paths = [], []
        for name, n in (("old", 4000), ("new", 6000)):
            scores = [i / n for i in range(n)]
            made = tamis.Calibration.fit(scores, [1] * n, check_direction=False, labels=name)
            paths.append(Path(folder) / f"{name}.json")
            made.save(paths[-1])
            versions.append(made)
        target = Path(folder) / "target" / "calibration.json"
        target.parent.mkdir()
        seen = [0, 0]

        def read() -> None:
            loaded = tamis.Calibration.load(target)
            which = [i for i, made in enumerate(versions) if loaded == made]
            assert len(which) == 1, "neither the old file nor the new one"
            seen[which[0]] += 1

        for _ in range(kills):
            child = processes.start(SAVE_FOR_EVER, *map(str, [*paths, target]))
            try:
                stop = time.monotonic() + jitter.uniform(0.02, 0.25)
                while time.monotonic() < stop:
                    read()
            finally:
                processes.kill(child)
            read()
    return seen[0], seen[1]


def run_atomic_save(case: Case) -> None:
    action = case["input"]["action"]
    if "kill" not in action:
        raise NoRunner(f"no runner for the action {action!r}")

    def complete(wanted: str, outcome: Outcome) -> str | None:
        if "old" not in wanted or "new" not in wanted:
            raise NoRunner(f"no check for reader_sees {wanted!r}")
        if outcome.error is not None:
            return outcome.shown
        return None if sum(outcome.value) >= 8 else "hardly a read"

    outcome = attempt(lambda: interrupted_saves(kills=8))
    judge(case["expect"], outcome, {"reader_sees": complete})


RUNNERS: dict[str, Runner] = {
    "roundtrip": run_roundtrip,
    "load_mutation": run_load_mutation,
    "atomic_save": run_atomic_save,
}
