"""What the README shows runs: its Python blocks, its commands, its links."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import tamis
from tamis.models import installed_models

ROOT = Path(tamis.__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^    tamis (.+?)(?: +#.*)?$", TEXT, re.MULTILINE)
DOCUMENTS = ("README.md", "DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md", "models/README.md")

N_BLOCKS = 5
# The block that serves reads the file that another has written.
WRITES, SERVES = 2, 4
N_COMMANDS = 7

needs_model = pytest.mark.skipif(
    "minilm" not in installed_models(), reason="model minilm is not installed (make models)"
)


def _labelled() -> list[tamis.LabelledQuery]:
    """The labelled queries that the first block makes, without running the model."""
    head = BLOCKS[0].split("calibrate(labelled)")[0]
    names: dict[str, Any] = {}
    exec(compile(head, "README.md", "exec"), names)
    labelled: list[tamis.LabelledQuery] = names["labelled"]
    return labelled


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the files that the README takes for granted."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    lines = [
        {
            "query_id": query.query_id,
            "query": query.query,
            "topic": query.topic,
            "documents": [
                {"doc_id": d.doc_id, "text": d.text, "relevant_spans": d.relevant_spans}
                for d in query.documents
            ],
        }
        for query in _labelled()
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "labelled.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("Lima is the capital of Peru. Rain fell.", encoding="utf-8")
    return tmp_path


def test_there_is_something_to_run() -> None:
    assert len(BLOCKS) == N_BLOCKS
    assert len(COMMANDS) == N_COMMANDS
    shown = {command.split()[0] for command in COMMANDS}
    assert shown == {"demo", "calibrate", "info", "filter", "evaluate", "models"}


@needs_model
@pytest.mark.model
@pytest.mark.parametrize("number", range(N_BLOCKS))
def test_python_blocks_run(number: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if number == SERVES:
        exec(compile(BLOCKS[WRITES], "README.md", "exec"), {})
        capsys.readouterr()
    exec(compile(BLOCKS[number], f"README.md, Python block {number + 1}", "exec"), {})
    out = capsys.readouterr().out
    assert out.strip()
    if number == 0:
        assert "0 Madrid is the capital of Spain." in out
        assert "Rain" not in out
    if number == SERVES:
        assert re.fullmatch(r"kept [1-9]\d* of 25, took \d+ microseconds\n", out)


@needs_model
@pytest.mark.model
def test_commands_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the order shown, but for the demo, which has tests of its own."""
    from tamis.cli import main

    for command in COMMANDS:
        if command.startswith("demo"):
            continue
        assert main(shlex.split(command)) == 0, (command, capsys.readouterr())
    out = capsys.readouterr().out
    assert "Lima" in out


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    document = ROOT / name
    links = re.findall(r"\]\(([^)#\s]+)\)", document.read_text(encoding="utf-8"))
    local = [link for link in links if not re.match(r"[a-z]+:", link)]
    if name == "README.md":
        assert len(local) >= 6
    missing = [link for link in local if not (document.parent / link).exists()]
    assert not missing
