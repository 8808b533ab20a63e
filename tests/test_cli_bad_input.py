"""Bad input on the command line: exit code 2, one line that says what and where, nothing written.

Every row is a command and words of its message.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from stub_encoder import labelled_queries, lines, write_lines
from tamis.cli import main
from tiny_model import make_tiny_model

MODEL = ["--model", "./model", "--max-chars", "100", "--overlap", "30", "--no-cache"]
QUERIES = labelled_queries(12)


def row(documents: Sequence[object], **fields: object) -> dict[str, object]:
    return {"query_id": "q", "query": "what", "topic": "t", "documents": documents, **fields}


def document(text: str, *spans: Sequence[int]) -> dict[str, object]:
    return {"doc_id": "d", "text": text, "relevant_spans": list(spans)}


@pytest.fixture(scope="module", autouse=True)
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with good data and with every kind of bad data."""
    folder = tmp_path_factory.mktemp("bad")
    make_tiny_model(folder / "model", max_tokens=128)
    good = list(lines(QUERIES))
    write_lines(folder / "good.jsonl", good)
    write_lines(folder / "spans.jsonl", lines(QUERIES, inline=False))
    write_lines(folder / "docs.jsonl", [{"doc_id": "other", "text": "An unlisted one."}])
    files: dict[str, list[Any]] = {
        "no_documents.jsonl": [row([])],
        "blank.jsonl": [row([document(" \n ")])],
        "no_positive.jsonl": [row([document("Some text stands here.")])],
        "bounds.jsonl": [*good[:2], row([document("Short.", [0, 99])])],
        "half_topics.jsonl": [*good[:3], {k: v for k, v in good[3].items() if k != "topic"}],
        "one_topic.jsonl": good[:2],
        "three.jsonl": good[:6],
        "twice.jsonl": [good[0], good[0]],
    }
    for name, rows in files.items():
        write_lines(folder / name, rows)
    text = json.dumps(good[0]) + "\n{this is no JSON}\n"
    (folder / "line2.jsonl").write_text(text, "utf-8")
    (folder / "empty.jsonl").write_text("\n\n")
    (folder / "latin.txt").write_bytes("façade".encode("latin-1"))
    (folder / "picture.jsonl").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    (folder / "cut.jsonl.gz").write_bytes(gzip.compress(text.encode() * 50)[:-20])
    (folder / "text.txt").write_text("Some plain text.")
    (folder / "texts.jsonl").write_text('{"text": "one"}\n{"txt": "two"}\n')
    (folder / "lines.jsonl").write_text('{"text": "one"}\n\nthree\n')
    (folder / "surrogate.jsonl").write_text('{"text": "one"}\n{"text": "a \\ud800 b"}\n')
    (folder / "a_folder").mkdir()
    scores = [f"q{i},{0.1 * i + other},{1 - other},t{i}" for i in range(12) for other in (0, 1)]
    upside = [f"q{i},{0.1 * i + other},{other},t{i}" for i in range(12) for other in (0, 1)]
    head = "query,score,relevant,topic"
    (folder / "scores.csv").write_text("\n".join([head, *scores]))
    (folder / "similarities.csv").write_text("\n".join([head, *upside]))
    (folder / "nan.csv").write_text("\n".join([head, scores[0], "q1,nan,1,t1"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        assert main(["calibrate", "good.jsonl", *MODEL, "-o", "cal.json"]) == 0
        assert main(["calibrate", "scores.csv", "--scorer-identity", "S", "-o", "s.json"]) == 0
        assert main(["calibrate", "three.jsonl", *MODEL, "-o", "few.json"]) == 0
        damaged = Path("cal.json").read_text().replace('"slack": 0.0', '"slack": 0.5')
        Path("damaged.json").write_text(damaged)
        yield folder


CALIBRATE = {
    "missing file": ("absent.jsonl", r"absent\.jsonl"),
    "a folder": ("a_folder", "a_folder"),
    "nothing in it": ("empty.jsonl", r"empty\.jsonl"),
    "no documents": ("no_documents.jsonl", "no query has a document"),
    "blank documents": ("blank.jsonl", "every document is blank"),
    "no labelled positive": ("no_positive.jsonl", "relevant"),
    "not JSON": ("line2.jsonl", r"line2\.jsonl:2: not JSON"),
    "span out of bounds": ("bounds.jsonl", r"bounds\.jsonl:3: query 'q'.*document 'd'.*\[0, 99\]"),
    "half the topics": ("half_topics.jsonl", r":4: query 't1q1' has no topic"),
    "a query twice": ("twice.jsonl", r":2: query_id 't0q0' is already at line 1"),
    "a picture": ("picture.jsonl", r"picture\.jsonl"),
    "a cut gzip file": ("cut.jsonl.gz", r"cut\.jsonl\.gz"),
    "plain text": ("text.txt", r"text\.txt"),
    "a documents file": ("docs.jsonl", "looks like a documents file|a documents file"),
    "texts nowhere": ("spans.jsonl", "has no text, and no documents file is given"),
    "similarities": ("similarities.csv", "similarit"),
    "a score that is no number": ("nan.csv", r"nan\.csv:3: .*score"),
}
FILTER = {
    "missing document": (["cal.json", "absent.txt"], r"absent\.txt"),
    "a folder": (["cal.json", "a_folder"], "a_folder"),
    "not UTF-8": (["cal.json", "latin.txt"], r"latin\.txt is not UTF-8"),
    "a line that is not JSON": (["cal.json", "lines.jsonl"], r"lines\.jsonl:3: not JSON"),
    "a line without text": (["cal.json", "texts.jsonl"], r'texts\.jsonl:2: .*"text"'),
    "a lone surrogate": (["cal.json", "surrogate.jsonl"], r"surrogate\.jsonl:2.*surrogate"),
    "no calibration": (["absent.json", "text.txt"], r"absent\.json"),
    "no calibration file": (["text.txt", "text.txt"], "calibration file"),
    "a changed calibration": (["damaged.json", "text.txt"], "slack"),
    "another one's scores": (["s.json", "text.txt"], "calibrat.*S"),
    "too few topics": (["few.json", "text.txt"], "at least 9 topics.*has 3"),
    "no alpha": (["cal.json", "text.txt", "--alpha", "2"], "alpha must lie strictly"),
    "alpha in words": (["cal.json", "text.txt", "--alpha", "ten"], "alpha must be a decimal"),
}
EVALUATE = {
    "one topic": (["one_topic.jsonl"], "two are needed"),
    "no splits": (["good.jsonl", "--splits", "0"], "splits must be at least 1"),
    "a level too many": (["good.jsonl", "--alpha", "0.1,,0.2"], "alpha"),
    "chunk labels": (["scores.csv"], "chunk labels"),
    "another chunking": (["new.jsonl", "--calibration", "cal.json"], r"max_chars.*100.*500"),
    "known topics": (["good.jsonl", "--calibration", "cal.json"], "is in the calibration"),
}


def refused(capsys: pytest.CaptureFixture[str], work: Path, arguments: Sequence[str]) -> str:
    """Run a command that must fail, and give its one line."""
    before = {path: path.stat().st_mtime_ns for path in work.rglob("*")}
    capsys.readouterr()
    assert main(list(arguments)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("tamis: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    after = {path: path.stat().st_mtime_ns for path in work.rglob("*")}
    assert after == before
    return err


@pytest.mark.parametrize("name", CALIBRATE)
def test_calibrate(name: str, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, words = CALIBRATE[name]
    for output in ("never.json", "text.txt"):  # neither made nor replaced
        err = refused(capsys, work, ["calibrate", file, *MODEL, "-o", output])
    assert re.search(words, err), err


@pytest.mark.parametrize("name", FILTER)
def test_filter(name: str, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (calibration, *documents), words = FILTER[name]
    arguments = ["filter", "--calibration", calibration, "--query", "what", *documents]
    with pytest.MonkeyPatch.context() as patch:
        # The model is a folder here, and a filter finds installed ones only.
        from tamis import filter as module
        from tamis.encoder import OnnxEncoder
        from tamis.scorer import EmbeddingScorer, rebuild

        def found(identity: Any, on_long: Any, model: Any = None) -> Any:
            scorer = EmbeddingScorer(OnnxEncoder("./model", on_long=on_long))
            return scorer if scorer.identity == identity else rebuild(identity, on_long)

        patch.setattr(module, "rebuild", found)
        err = refused(capsys, work, arguments)
    assert re.search(words, err), err


@pytest.mark.parametrize("name", EVALUATE)
def test_evaluate(name: str, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, words = EVALUATE[name]
    model = MODEL
    if name == "another chunking":
        model = ["--model", "./model", "--no-cache"]
        write_lines(work / "new.jsonl", lines(labelled_queries(3, prefix="n")))
    err = refused(capsys, work, ["evaluate", *arguments, *model, "--json", "never.json"])
    assert re.search(words, err), err


def test_a_missing_model_says_which_command_makes_it(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tamis.models.ENTRY_POINTS", "tamis.models.none.of.them")
    arguments = ["calibrate", "good.jsonl", "--no-cache", "-o", "never.json"]
    assert "make models" in refused(capsys, work, arguments)
    assert "tamis[minilm]" in refused(
        capsys, work, ["filter", "--calibration", "cal.json", "--query", "q", "text.txt"]
    )
    absent = ["calibrate", "good.jsonl", "--model", "./absent", "--no-cache", "-o", "never.json"]
    assert "absent" in refused(capsys, work, absent)


def test_a_cache_that_is_none_is_named(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = [option for option in MODEL if option != "--no-cache"]
    arguments = ["calibrate", "good.jsonl", *model, "--cache", "text.txt", "-o", "never.json"]
    assert "text.txt" in refused(capsys, work, arguments)


def test_an_output_that_cannot_be_written_is_said_before_the_work(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def work_begins(*_: object, **__: object) -> None:
        raise AssertionError("the long work has begun")

    monkeypatch.setattr("tamis.encoder.OnnxEncoder.encode_counted", work_begins)
    for arguments in (
        ["calibrate", "good.jsonl", "-o", "absent/cal.json"],
        ["calibrate", "good.jsonl", "-o", "a_folder"],
        ["evaluate", "good.jsonl", "--json", "absent/result.json"],
        ["evaluate", "good.jsonl", "--alpha", "2"],
        ["evaluate", "good.jsonl", "--splits", "0"],
    ):
        refused(capsys, work, [*arguments, *MODEL])
