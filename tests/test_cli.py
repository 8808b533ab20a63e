"""The command line: every command, its outputs, its exit codes, and what it says to bad input.

Runs on a tiny random model that is installed as a data package would be: found by its entry point.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stub_encoder import labelled_queries, lines, write_lines
from tamis import Calibration
from tamis.cli import main
from tamis.models import installed_models
from tiny_model import make_tiny_model

MODEL = ["--model", "tiny", "--max-chars", "100", "--overlap", "30"]
QUERIES = labelled_queries(16, found=(3, 4, 5))
COMMANDS = ("demo", "calibrate", "filter", "evaluate", "info", "models")


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(scope="module", autouse=True)
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with data, and the tiny model installed as `tiny`."""
    folder = tmp_path_factory.mktemp("cli")
    model = make_tiny_model(folder / "model", max_tokens=128)
    site = folder / "site"
    (site / "tamis_tiny-1.0.dist-info").mkdir(parents=True)
    (site / "tamis_tiny.py").write_text(f"def folder():\n    return {str(model)!r}\n")
    info = site / "tamis_tiny-1.0.dist-info"
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tamis-tiny\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tamis.models]\ntiny = tamis_tiny:folder\n")
    write_lines(folder / "labelled.jsonl", lines(QUERIES))
    write_lines(folder / "spans.jsonl", lines(QUERIES, inline=False))
    texts = {d.doc_id: d.text for q in QUERIES for d in q.documents}
    write_lines(
        folder / "docs.jsonl", [{"doc_id": name, "text": text} for name, text in texts.items()]
    )
    write_lines(folder / "new.jsonl", lines(labelled_queries(20, prefix="n", seed=5, found=(5,))))
    write_lines(folder / "hard.jsonl", lines(labelled_queries(20, prefix="h", seed=6, found=(0,))))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.chdir(folder)
        assert main(["calibrate", "labelled.jsonl", *MODEL, "-o", "cal.json"]) == 0
        yield folder


@pytest.fixture
def tamis(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command in this process."""

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            assert isinstance(end.code, int)
            code = end.code
        return Ran(code, *capsys.readouterr())

    return run


def process(work: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run a command in a process of its own."""
    # Unbuffered output would hide what happens at the last flush.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    return subprocess.run(
        [sys.executable, "-m", "tamis.cli", *arguments],
        env={**environment, "PYTHONPATH": str(work / "site")},
        cwd=work,
        stderr=subprocess.PIPE,
        timeout=60,
        **options,
    )


def strict(text: str) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} in strict JSON")

    return json.loads(text, parse_constant=refuse)


# --- help -------------------------------------------------------------------------------------


def test_help_names_every_command(tamis: Any) -> None:
    ran = tamis("--help")
    assert ran.code == 0
    for command in COMMANDS:
        assert command in ran.out
        of_command = tamis(command, "--help")
        assert of_command.code == 0
        assert f"tamis {command}" in of_command.out.split("examples:")[1]
    version = tamis("--version")
    assert version.code == 0
    assert version.out.startswith("tamis ")


@pytest.mark.parametrize(
    "arguments",
    [[], ["nonsense"], ["filter"], ["calibrate", "labelled.jsonl"], ["demo", "--seed", "x"]],
)
def test_bad_usage_is_exit_2(tamis: Any, arguments: list[str]) -> None:
    ran = tamis(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "error:" in ran.err.splitlines()[-1]


# --- the round trip ---------------------------------------------------------------------------


def test_calibrate_reports_and_writes(tamis: Any, tmp_path: Path) -> None:
    path = tmp_path / "cal.json"
    ran = tamis("calibrate", "spans.jsonl", "--documents", "docs.jsonl", *MODEL, "-o", path)
    assert ran.code == 0
    assert ran.err == ""
    assert "16 topics" in ran.out
    assert f"written to {path}" in ran.out
    calibration = Calibration.load(path)
    assert calibration.threshold("0.1").value == Calibration.load("cal.json").threshold("0.1").value
    assert isinstance(calibration.chunker, dict)
    assert calibration.chunker["max_chars"] == 100
    assert [p.name for p in tmp_path.iterdir()] == ["cal.json"]


def test_calibrate_on_chunk_labels(tamis: Any, tmp_path: Path) -> None:
    rows = [f"q{i},{0.01 * i + other},{1 - other}" for i in range(30) for other in (0, 1)]
    table = tmp_path / "scores.csv"
    table.write_text("\n".join(["query,score,relevant", *rows]), "utf-8")
    path = tmp_path / "cal.json"
    options = ["--topic", "query", "--scorer-identity", "mine", "--chunker-identity", "cuts"]
    assert tamis("calibrate", table, *options, "-o", path).code == 0
    calibration = Calibration.load(path)
    assert (calibration.scorer, calibration.chunker) == ("mine", "cuts")
    info = tamis("info", path)
    assert "scorer: mine" in info.out
    assert "chunker: cuts" in info.out


def test_info_says_what_is_promised(tamis: Any) -> None:
    ran = tamis("info", "cal.json")
    assert (ran.code, ran.err) == (0, "")
    calibration = Calibration.load("cal.json")
    for words in (calibration.id, "16 topics", "max_chars: 100", "encoder: onnx", "alpha 0.1"):
        assert words in ran.out


def filter_arguments(*more: str) -> list[str]:
    query = QUERIES[0].query
    return ["filter", "--calibration", "cal.json", "--alpha", "0.2", "--query", query, *more]


def test_filter_reads_text_files(tamis: Any, tmp_path: Path) -> None:
    names = []
    for i, document in enumerate(QUERIES[0].documents):
        names.append(str(tmp_path / f"{i}.txt"))
        # A byte order mark is no part of the text.
        Path(names[-1]).write_text(document.text, "utf-8-sig" if i == 1 else "utf-8")
    ran = tamis(*filter_arguments(*names))
    assert ran.code == 0
    passages = ran.out.split("== ")[1:]
    texts = {name: d.text for name, d in zip(names, QUERIES[0].documents, strict=True)}
    assert passages
    for passage in passages:
        head, _, text = passage.partition("\n")
        name, _, span = head.rpartition(" [")
        start, end = map(int, span.rstrip("]").split(":"))
        assert text == texts[name][start:end] + "\n"
    assert ran.err.startswith("tamis: ")
    assert "snippets kept" in ran.err
    explained = tamis(*filter_arguments("--explain", *names))
    assert explained.out.startswith("keep scores up to")
    assert {line.split()[0] for line in explained.out.splitlines()} == {"keep", "drop"}


def test_filter_reads_jsonl_and_standard_input(
    tamis: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = QUERIES[0].documents
    rows = [{"doc_id": d.doc_id, "text": d.text} for d in documents]
    path = write_lines(tmp_path / "docs.jsonl", rows)
    ran = tamis(*filter_arguments("--json", str(path)))
    assert ran.code == 0
    found = [strict(line) for line in ran.out.splitlines()]
    texts = {d.doc_id: d.text for d in documents}
    for row in found:
        assert row["text"] == texts[row["document"]][row["start"] : row["end"]]
        assert isinstance(row["score"], float)
    assert {row["kept"] for row in found} == {True, False}
    kept = sum(row["kept"] for row in found)
    assert f"{kept} of {len(found)} snippets kept" in ran.err
    place = {d.doc_id: i for i, d in enumerate(documents)}
    order = [(place[row["document"]], row["start"]) for row in found]
    assert order == sorted(order)
    # The same from standard input, told by its first character; plain text likewise.
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert tamis(*filter_arguments("--json", "-")).out == ran.out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(documents[2].text.encode())))
    plain = tamis(*filter_arguments("--json", "-"))
    of_one = [row for row in found if row["document"] == documents[2].doc_id]
    assert [strict(line)["score"] for line in plain.out.splitlines()] == [
        row["score"] for row in of_one
    ]


def test_filter_on_blank_documents_keeps_nothing(tamis: Any, tmp_path: Path) -> None:
    (tmp_path / "blank.txt").write_text(" \n\n")
    ran = tamis(*filter_arguments(str(tmp_path / "blank.txt")))
    assert (ran.code, ran.out) == (0, "")
    assert "0 of 0 snippets kept" in ran.err


def test_evaluate_by_splits(tamis: Any, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    arguments = ["labelled.jsonl", *MODEL, "--alpha", "0.2, 0.3", "--splits", "20"]
    ran = tamis("evaluate", *arguments, "--json", path)
    assert (ran.code, ran.err) == (0, "")
    assert "32 queries (32 answerable) in 16 independent units" in ran.out
    result = strict(path.read_text("utf-8"))
    assert result["held"] is True
    assert (result["n_splits"], result["seed"]) == (20, 0)
    assert [row["alpha"] for row in result["alphas"]] == ["0.2", "0.3"]
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]
    again = tamis("evaluate", *arguments)
    assert again.out == ran.out
    other = tamis("evaluate", *arguments, "--seed", "1")
    assert other.out != ran.out


def test_evaluate_a_file_on_new_topics(tamis: Any, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    options = ["--calibration", "cal.json", *MODEL, "--json", path]
    ran = tamis("evaluate", "new.jsonl", *options, "--alpha", "0.01,0.2")
    assert ran.code == 0
    assert "keeps everything" in ran.out.splitlines()[0]
    result = strict(path.read_text("utf-8"))
    assert result["held"] is True
    assert result["alphas"][0]["threshold"] is None
    hard = tamis("evaluate", "hard.jsonl", *options, "--alpha", "0.2")
    assert hard.code == 3
    assert "NOT HELD" in hard.out
    assert strict(path.read_text("utf-8"))["held"] is False
    known = tamis("evaluate", "labelled.jsonl", *options)
    assert known.code == 2
    assert "is in the calibration: it is not new" in known.err


def test_embeddings_are_kept_between_runs(tamis: Any, tmp_path: Path) -> None:
    cache = tmp_path / "kept.sqlite"
    first = tamis("evaluate", "new.jsonl", *MODEL, "--splits", "2", "--cache", cache)
    assert cache.stat().st_size > 0
    assert tamis("evaluate", "new.jsonl", *MODEL, "--splits", "2", "--cache", cache) == first
    without = tamis("evaluate", "new.jsonl", *MODEL, "--splits", "2", "--no-cache")
    assert without == first


def test_models_lists_what_is_installed(tamis: Any) -> None:
    rows = strict(tamis("models", "--json").out)
    (tiny,) = [row for row in rows if row["name"] == "tiny"]
    assert tiny["snippets_per_second"] > 0
    assert tiny["dim"] == "32"
    assert "tiny" in tamis("models").out.splitlines()


# --- pipes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("documents", ["site/tamis_tiny.py", "docs.jsonl"])
def test_a_reader_that_goes_away_is_no_error(work: Path, documents: str) -> None:
    """As in `| head -1`: the pipe closes before a little output, at its last flush, or a lot."""
    read, write = os.pipe()
    os.close(read)
    try:
        ran = process(work, *filter_arguments("--json", documents), stdout=write)
    finally:
        os.close(write)
    assert b"Exception" not in ran.stderr
    assert b"Traceback" not in ran.stderr
    assert ran.returncode == 0


def test_a_process_of_its_own(work: Path) -> None:
    done = process(work, "info", "cal.json", stdout=subprocess.PIPE)
    assert done.returncode == 0
    assert b"16 topics" in done.stdout
    missing = process(work, "info", "absent.json", stdout=subprocess.PIPE)
    assert missing.returncode == 2
    assert missing.stdout == b""
    assert missing.stderr.startswith(b"tamis: ")
    assert missing.stderr.count(b"\n") == 1
    assert b"absent.json" in missing.stderr


# --- the demo ---------------------------------------------------------------------------------


def test_the_demo_needs_enough_questions(tamis: Any) -> None:
    ran = tamis("demo", "--questions", "29")
    assert ran.code == 2
    assert "at least 30 questions" in ran.err


@pytest.mark.model
@pytest.mark.skipif("minilm" not in installed_models(), reason="tamis-minilm is not installed")
def test_the_demo_runs(tamis: Any, tmp_path: Path) -> None:
    for module in ("bm25s", "matplotlib", "rich"):
        pytest.importorskip(module)
    picture = tmp_path / "demo.png"
    ran = tamis("demo", "--questions", "30", "--picture", picture)
    assert ran.code == 0, ran.err
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000
    for words in ("30 questions", "Promised", "Removed", "One question", "top-k", "demo.png"):
        assert words in ran.out.replace("\n", " ")
