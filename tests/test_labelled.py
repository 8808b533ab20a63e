"""`tamis.labelled`: what labelled data must fulfil, and the readers of files."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import pickle
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.labelled import (
    ChunkLabels,
    Document,
    LabelledDataError,
    LabelledQuery,
    check_queries,
    read_labelled,
    read_scores,
    sniff,
)
from tamis.labelled.source import Source

Json = dict[str, Any]
Write = Callable[..., Path]

TEXT = "Ein Sieb aus Roßhaar 🥁 trennt. Tambour est un autre mot."


def entry(doc_id: str = "d1", spans: Any = (), **fields: Any) -> Json:
    return {"doc_id": doc_id, "relevant_spans": spans, "text": TEXT} | fields


def query(query_id: str = "q1", *documents: Json, **fields: Any) -> Json:
    return {"query_id": query_id, "query": "What is a tamis?", "documents": documents} | fields


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of one item a line: strings as they are, objects as JSON."""

    def write(*lines: str | Json, name: str = "labelled.jsonl") -> Path:
        texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
        path = tmp_path / name
        path.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
        return path

    return write


def refused(read: Callable[..., object], path: Path, *args: object) -> str:
    """The message of the refusal, which is one line and starts with the file's name."""
    with pytest.raises(LabelledDataError) as caught:
        read(path, *args)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    return message.replace(f"{path.parent}{os.sep}", "")


# --- labelled queries ---------------------------------------------------------------------------


def test_inline_documents(write: Write) -> None:
    start = TEXT.index("Roßhaar 🥁")
    path = write(
        query(
            "q1",
            entry("d1", [[0, 8], [8, 9], [start, start + 9]], lang="de", group="web", score=0.3),
            entry("d2", text=""),
            topic="sieves",
            lang="en",
            n_unretrieved=2,
            support_sets=[[0], [1]],
            label="supported",
        ),
        "",
        "  \t ",
        query("q2", entry("d1"), topic="drums", lang=None),
        query("q3", topic="none"),
    )
    first, second, third = read_labelled(path)
    assert first == LabelledQuery(
        query_id="q1",
        query="What is a tamis?",
        documents=(
            Document("d1", TEXT, ((0, 8), (8, 9), (start, start + 9)), "de", "web"),
            Document("d2", ""),
        ),
        topic="sieves",
        lang="en",
        n_unretrieved=2,
        metadata={"support_sets": [[0], [1]], "label": "supported"},
    )
    a, b = first.documents[0].relevant_spans[2]
    assert first.documents[0].text[a:b] == "Roßhaar 🥁"
    assert (second.documents, second.lang, second.n_unretrieved) == (
        (Document("d1", TEXT),),
        None,
        None,
    )
    assert second.documents[0].text is first.documents[0].text
    assert third.documents == ()


@pytest.mark.parametrize("packed", [False, True])
def test_documents_file(write: Write, packed: bool) -> None:
    bare = [
        {"doc_id": name, "relevant_spans": spans} for name, spans in [("d1", [[0, 3]]), ("d2", [])]
    ]
    path = write(query("q1", *bare), query("q2", bare[1] | {"lang": "fr"}, entry("d3"), bare[0]))
    documents = write(
        {"doc_id": "unlisted", "text": "no query lists this", "title": "ignored"},
        {"doc_id": "d2", "text": "zwei", "group": "web"},
        {"doc_id": "d1", "text": "eins", "lang": "de"},
        {"doc_id": "d2", "text": "zwei", "group": "web"},
        name="documents",
    )
    if packed:
        for file in (path, documents):
            half = len(file.read_bytes()) // 2  # two members, as `cat a.gz b.gz` makes
            halves = file.read_bytes()[:half], file.read_bytes()[half:]
            file.write_bytes(b"".join(gzip.compress(part) for part in halves))
    q1, q2 = read_labelled(path, documents)
    assert q1.documents == (
        Document("d1", "eins", ((0, 3),), "de"),
        Document("d2", "zwei", (), None, "web"),
    )
    assert q2.documents[0] == Document("d2", "zwei", (), "fr", "web")
    assert q2.documents[1] == Document("d3", TEXT)
    assert q2.documents[2].text is q1.documents[0].text


def test_texts_and_unlabelled_documents_are_kept_once(write: Write) -> None:
    lines = [
        query(f"q{i}", *(entry(f"d{j}", [[0, 1]] if i == j else []) for j in range(5)))
        for i in range(5)
    ]
    queries = read_labelled(write(*lines))
    documents = [document for query in queries for document in query.documents]
    assert len({id(document.text) for document in documents}) == 5
    assert len({id(document) for document in documents}) <= 10


def test_separators_and_marks_are_part_of_the_text(tmp_path: Path) -> None:
    text = "one\u2028two\u0085three\x0bfour\ufeff five"
    line = json.dumps(query("q1", entry(text=text, spans=[[4, 7]])), ensure_ascii=False)
    path = tmp_path / "labelled"
    path.write_bytes(b"\xef\xbb\xbf" + line.encode() + b"\r\n\r\n")
    (found,) = read_labelled(path)
    assert found.documents[0].text == text
    assert sniff(path) == "queries"


def test_types_pickle_compare_and_hash() -> None:
    document = Document("d1", TEXT, [[np.int64(0), 3]])  # type: ignore[arg-type]
    assert document.relevant_spans == ((0, 3),)
    assert type(document.relevant_spans[0][0]) is int
    query = LabelledQuery("q1", "q", [document], metadata={"label": []})  # type: ignore[arg-type]
    again = pickle.loads(pickle.dumps(query))
    assert again == query
    assert hash(again) == hash(query)
    assert TEXT not in repr(query)
    with pytest.raises(AttributeError):
        query.topic = "t"  # type: ignore[misc]


SPANS: dict[str, Any] = {
    "relevant_spans[0] = [2, 900] is out of bounds: the text has 56 code points": [[2, 900]],
    "relevant_spans[1] = [-1, 3] is out of bounds": [[0, 1], [-1, 3]],
    "relevant_spans[0] = [0, an integer of 333 bits] is out of bounds": [[0, 10**100]],
    "relevant_spans[0] = [5, 2] is reversed": [[5, 2]],
    "relevant_spans[0] = [5, 5] is empty": [[5, 5]],
    "relevant_spans[1] = [3, 9] overlaps relevant_spans[0] = [0, 4]": [[0, 4], [3, 9]],
    "relevant_spans[2] = [0, 2] lies before relevant_spans[1] = [6, 9]": [[2, 4], [6, 9], [0, 2]],
    "relevant_spans[0] must be an integer, got float 1.0": [[1.0, 2]],
    "relevant_spans[0] must be an integer, got bool True": [[True, 2]],
    "relevant_spans[0] must be an integer, got str '1'": [["1", 2]],
    "relevant_spans[1] must be [start, end], got list [1, 2, 3]": [[0, 1], [1, 2, 3]],
    "relevant_spans[0] must be [start, end], got int 1": [1, 2],
    "relevant_spans[0] must be [start, end], got dict {}": [{}],
    "relevant_spans must be a list of [start, end], got NoneType None": None,
    "relevant_spans must be a list of [start, end], got int 0": 0,
    "relevant_spans must be a list of [start, end], got str '[[0, 1]]'": "[[0, 1]]",
}


@pytest.mark.parametrize("message", SPANS)
def test_spans_are_checked(write: Write, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"document 'd7': {message}")):
        Document("d7", TEXT, SPANS[message])
    path = write(query("q1", entry()), query("q2", entry("d7", SPANS[message])))
    assert refused(read_labelled, path).startswith(
        f"labelled.jsonl:2: query 'q2', document 'd7': {message}"
    )


FIELDS: dict[str, Json | list[Json]] = {
    "no query_id; it has 'documents', 'query'": {"query": "q", "documents": []},
    "no query_id, no query, no documents; this looks like a claim set": {
        "claim": "c",
        "evidence": "e",
    },
    "no query_id, no query, no documents; this looks like a documents file": {
        "doc_id": "d",
        "text": "t",
    },
    "no documents; this looks like chunk labels": {
        "query_id": "q",
        "query": "q",
        "score": 1,
        "label": 1,
    },
    "no query_id, no query, no documents; this looks like SQuAD JSON": {"version": "2", "data": []},
    "no query_id, no query, no documents; it has nothing": {},
    "query_id must be a string, got int 3": query(3),  # type: ignore[arg-type]
    "query_id is empty": query(""),
    "query 'q1': query is blank": query(query=" \n"),
    "query 'q1': query must be a string, got NoneType None": query(query=None),
    "query 'q1': topic is empty": query(topic=""),
    "query 'q1': topic must be a string, got list ['a']": query(topic=["a"]),
    "query 'q1': lang must be a string, got int 1": query(lang=1),
    "query 'q1': n_unretrieved is negative: -1": query(n_unretrieved=-1),
    "query 'q1': n_unretrieved must be an integer, got bool True": query(n_unretrieved=True),
    "query 'q1': n_unretrieved must be an integer, got float 1.5": query(n_unretrieved=1.5),
    "query 'q1', documents must be a list of documents, got dict": query(documents={}),
    "query 'q1', documents[1] must be an object, got str 'd2'": query("q1", entry(), "d2"),  # type: ignore[arg-type]
    "query 'q1', documents[0] has no doc_id": query("q1", {"text": "", "relevant_spans": []}),
    "query 'q1', documents[0] has no relevant_spans": query("q1", {"doc_id": "d", "text": ""}),
    "query 'q1', documents[0].doc_id must be a string, got int 1": query("q1", entry(1)),  # type: ignore[arg-type]
    "query 'q1', documents[0].doc_id is empty": query("q1", entry("")),
    "query 'q1', document 'd1': text must be a string, got int 1": query("q1", entry(text=1)),
    "query 'q1', document 'd1': group is empty": query("q1", entry(group="")),
    "query 'q1', document 'd1' has no text, and no documents file": query("q1", entry(text=None)),
    "query 'q1': document 'd1' is there twice, as documents[0] and documents[2]": query(
        "q1", entry(), entry("d2"), entry()
    ),
    "query_id 'q1' is already at line 1": [query("q1"), query("q1")],
    "query 'q2': document 'd1' has another text at line 1": [
        query("q1", entry()),
        query("q2", entry(text="other")),
    ],
    "query 'q2' has no topic and the one at line 1 has one": [query("q1", topic="t"), query("q2")],
    "query 'q2' has a topic and the one at line 1 has none": [query("q1"), query("q2", topic="t")],
}


@pytest.mark.parametrize("message", FIELDS)
def test_fields_are_checked(write: Write, message: str) -> None:
    given = FIELDS[message]
    lines = given if isinstance(given, list) else [given]
    assert refused(read_labelled, write(*lines)).startswith(
        f"labelled.jsonl:{len(lines)}: {message}"
    )


def test_queries_in_memory_are_held_to_the_same_rules() -> None:
    document = Document("d1", TEXT)
    good = [LabelledQuery("q1", "q", (document,)), LabelledQuery("q2", "q", (document,))]
    check_queries(good)
    for bad, message in [
        (good[0], "query_id 'q1' is already at queries[0]"),
        (
            LabelledQuery("q3", "q", (), topic="t"),
            "query 'q3' has a topic and the one at queries[0]",
        ),
        (
            LabelledQuery("q3", "q", (Document("d1", "x"),)),
            "document 'd1' has another text at queries",
        ),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            check_queries([*good, bad])
    for arguments, message in [
        (("q1", "q", ["d1"]), "query 'q1': documents[0] must be a Document, got str 'd1'"),
        (("q1", "q", (document, document)), "query 'q1': document 'd1' is there twice"),
        (
            ("q1", "a\ud800", ()),
            r"query 'q1': query has the lone surrogate '\ud800' at code point 1",
        ),
        (("\ud800", "q", ()), r"query_id has the lone surrogate"),
        (("q1", "q", (), None, None, None, 3), "query 'q1': metadata must be a mapping, got int 3"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            LabelledQuery(*arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="document 'd1': text has the lone surrogate"):
        Document("d1", "ab\udc00")


def test_documents_file_is_checked(write: Write) -> None:
    bare = {"doc_id": "d1", "relevant_spans": []}
    path = write(query("q1", bare))

    def message(*lines: str | Json, labelled: Path = path) -> str:
        with pytest.raises(LabelledDataError) as caught:
            read_labelled(labelled, write(*lines, name="docs"))
        return str(caught.value).replace(f"{path.parent}{os.sep}", "")

    good = {"doc_id": "d1", "text": "eins"}
    assert message({"doc_id": "d2", "text": ""}) == (
        "labelled.jsonl:1: query 'q1', document 'd1' is not in " + str(path.parent / "docs")
    ).replace(f"{path.parent}{os.sep}", "")
    assert message(good, good, good | {"text": "zwei"}).startswith(
        "docs:3: document 'd1' is another one at line 1"
    )
    assert message(query()).startswith(
        "docs:1: no doc_id, no text; this looks like labelled queries"
    )
    assert message(good, {"doc_id": "d9"}).startswith("docs:2: no text")
    assert message({"doc_id": 1, "text": ""}) == "docs:1: doc_id must be a string, got int 1"
    assert message({"doc_id": "d9", "text": 1}).startswith("docs:1: document 'd9': text must be")
    assert message("{").startswith("docs:1: not JSON")
    both = write(query("q1", entry("d1")), name="both")
    assert "query 'q1', document 'd1' has another text in" in message(good, labelled=both)
    assert (
        read_labelled(both, write(good | {"text": TEXT}, name="docs"))[0].documents[0].text == TEXT
    )


# --- lines and files ----------------------------------------------------------------------------

LINES = {
    "not JSON: Expecting value at column 1; expected JSON Lines": "query_id,query",
    "not JSON: Expecting property name enclosed in double quotes at column 2; expected": "{",
    "not JSON: Expecting ':' delimiter at column 13": '{"query_id" ',
    "not JSON: Extra data at column 4": "{} {}",
    "not JSON: Invalid control character at at column 8": '{"a": "\t"}',
    "not a JSON object: 'text'": '"text"',
    "a JSON array; expected JSON Lines, one object a line": '[{"query_id": "q1"}]',
    "the key 'query' is there twice in one object": '{"a": [{"query": 1, "b": 2, "query": 3}]}',
    "NaN is not JSON": '{"a": NaN}',
    "-Infinity is not JSON": '{"a": [-Infinity]}',
    r"a string has the lone surrogate '\ud800'": r'{"a": ["x\ud800"]}',
    r"a string has the lone surrogate '\udc00'": r'{"\uDC00\uD800": 1}',
    "nested too deeply": '{"a": ' + "[" * 200_000 + "]" * 200_000 + "}",
    "a number cannot be read: ": '{"a": ' + "9" * 5000 + "}",
    "a NUL at column 7": '{"a": \0}',
}


@pytest.mark.parametrize("message", LINES)
def test_lines_are_checked(write: Write, message: str) -> None:
    path = write(query("q1", padding="x" * 1000), "", LINES[message])
    assert refused(read_labelled, path).startswith(f"labelled.jsonl:3: {message}")


def test_pairs_of_surrogate_escapes_are_one_character(write: Write) -> None:
    path = write(query("q1", query="🥁 \\ud800"))
    assert r"\ud83e" in path.read_text()
    assert read_labelled(path)[0].query == "🥁 \\ud800"


def test_not_utf8_is_named_by_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "latin.jsonl"
    path.write_bytes(json.dumps(query("q1")).encode() + '\n{"ß'.encode() + b'\xe9"}\n')
    assert refused(read_labelled, path) == "latin.jsonl:2: not UTF-8: byte 0xe9 at column 4"


LINE = json.dumps(query("q1")).encode()
FILES = {
    "the file is empty; expected": b"",
    "the file is empty": gzip.compress(b""),
    "this looks like a PDF; expected JSON Lines or CSV, in UTF-8, plain or gzip": b"%PDF-1.7\n...",
    "this looks like a zip archive or an Office document": b"PK\x03\x04\x14\0\x08",
    "this looks like a Parquet file": b"PAR1\x15\x04\x15",
    "this looks like HTML or XML": b"\xef\xbb\xbf\n <!DOCTYPE html>\n<html>",
    "this looks like text in UTF-16": LINE.decode().encode("utf-16"),
    "this looks like text in UTF-16;": LINE.decode().encode("utf-16-be"),
    "this looks like text in UTF-32": LINE.decode().encode("utf-32"),
    "this looks like binary data": b"\x01\x02\x00\x03",
    "this looks like gzip data inside gzip data": gzip.compress(gzip.compress(LINE)),
    "this looks like an SQLite database": gzip.compress(b"SQLite format 3\0"),
    "the gzip data is cut off": gzip.compress(b"")[:7],
    "the gzip data is damaged": b"\x1f\x8b" + LINE,
}


@pytest.mark.parametrize("message", FILES)
@pytest.mark.parametrize("read", [read_labelled, read_scores, sniff])
def test_other_files_are_named(tmp_path: Path, message: str, read: Callable[..., object]) -> None:
    path = tmp_path / "labelled.csv.gz"  # the name says nothing
    path.write_bytes(FILES[message])
    assert refused(read, path).startswith(f"labelled.csv.gz: {message}")


def test_damaged_gzip_is_named_by_line(tmp_path: Path) -> None:
    path = tmp_path / "l.gz"
    content = "".join(
        json.dumps(query(f"q{i}", query=f"why {i * 7919 % 1000}?")) + "\n" for i in range(2000)
    )
    packed = gzip.compress(content.encode())
    path.write_bytes(packed[: len(packed) // 2])
    assert re.match(r"l\.gz:\d+: the gzip data is cut off", refused(read_labelled, path))
    path.write_bytes(packed[:-8] + b"\0" * 8)
    assert re.match(r"l\.gz:2001: the gzip data is damaged \(CRC", refused(read_labelled, path))
    path.write_bytes(packed + b"trailing")
    assert "the gzip data is damaged" in refused(read_labelled, path)


def test_files_that_cannot_be_opened(tmp_path: Path, write: Write) -> None:
    assert refused(read_labelled, tmp_path).endswith("this is a directory, not a file")
    for arguments in [(tmp_path / "none",), (write(query()), tmp_path / "none")]:
        with pytest.raises(FileNotFoundError, match="none"):
            read_labelled(*arguments)
    if hasattr(os, "geteuid") and os.geteuid() != 0:
        path = write(query())
        path.chmod(0)
        with pytest.raises(PermissionError, match=re.escape(path.name)):
            read_labelled(path)
    with pytest.raises(TypeError):
        read_labelled(3)  # type: ignore[arg-type]


def test_only_blank_lines(write: Write) -> None:
    assert refused(read_labelled, write("", " ")) == (
        "labelled.jsonl: no labelled queries: every line is blank"
    )


def test_a_line_without_end_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    monkeypatch.setattr(Source, "max_line_bytes", 10_000)
    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(b"a" * 1_000_000))
    assert refused(read_labelled, path) == "bomb:1: the line is longer than 10000 bytes"
    path = write("query_id,relevant,score,text", 'q,1,0.5,"', *["word " * 10] * 1000)
    assert refused(read_scores, path) == "labelled.jsonl:2: the row is longer than 10000 characters"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_are_read_but_not_looked_into(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, gzip.compress(LINE))
    os.close(write_end)
    try:
        path = Path(f"/dev/fd/{read_end}")
        if not path.exists():
            pytest.skip("no /dev/fd here")
        assert "a pipe or a device" in refused(sniff, path)
        assert read_labelled(path)[0].query_id == "q1"
    finally:
        os.close(read_end)


# --- chunk labels -------------------------------------------------------------------------------


def test_scores_from_csv_and_json_are_the_same(tmp_path: Path, write: Write) -> None:
    header = "Query_ID, relevant ,score,topic,doc_id,group,chunk_id,text,,ignored\n"
    body = (
        'q1,1,0.25,t1,d1,g,c1,"one, ""two""\nthree",x,y\n\n,,,,,,,,,\nq1,0,-1.5e3,t1,d2,g,c1,,x,\n'
    ).replace("c1,,x", "c1,four,x")
    path = tmp_path / "scores.csv"
    path.write_bytes(b"\xef\xbb\xbf" + (header + body).replace("\n", "\r\n").encode())
    found = read_scores(path)
    expected = ChunkLabels(
        query=["q1", "q1"],
        relevant=[True, False],
        scores=[0.25, -1500.0],
        text=['one, "two"\r\nthree', "four"],
        chunk_id=["c1", "c1"],
        topic=["t1", "t1"],
        document=["d1", "d2"],
        group=["g", "g"],
    )
    assert found == expected
    assert len(found) == 2
    assert sniff(path) == "chunks"
    common = {"query_id": "q1", "topic": "t1", "group": "g", "chunk_id": "c1", "chunk": None}
    path = write(
        common | {"relevant": True, "score": 0.25, "document": "d1", "text": 'one, "two"\r\nthree'},
        common | {"label": 0, "score": -1500, "doc_id": "d2", "text": "four", "ignored": [1]},
    )
    assert read_scores(path) == expected
    assert sniff(path) == "chunks"


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters(write: Write, delimiter: str) -> None:
    rows = [["query", "score", "label"], ["a, b", ".5", "true"], ["c", "+1.", "0.0"]]
    found = read_scores(write(*(delimiter.join(row) for row in rows)))
    assert found == ChunkLabels(["a, b", "c"], [True, False], [0.5, 1.0], query_text=["a, b", "c"])


def test_without_scores_the_texts_are_there(write: Write) -> None:
    path = write(
        "query_id,query,chunk,chunk_id,relevant,score", "1,why?,because,a,1,", "1,why?,no,b,0,"
    )
    found = read_scores(path)
    assert (found.scores, found.query, found.query_text) == (None, ["1", "1"], ["why?", "why?"])
    assert (found.text, found.chunk_id) == (["because", "no"], ["a", "b"])
    found = read_scores(write({"query": "why?", "chunk": "because", "relevant": 1}))
    assert (found.query, found.text, found.chunk_id) == (["why?"], ["because"], None)
    found = read_scores(write({"query": "why?", "chunk": "c7", "relevant": 1, "score": 0}))
    assert (found.text, found.chunk_id) == (None, ["c7"])
    found = read_scores(write({"query": "why?", "chunk": "c7", "text": "because", "relevant": 1}))
    assert (found.text, found.chunk_id) == (["because"], ["c7"])


def test_long_cells_are_read_and_the_host_process_is_left_alone(write: Write) -> None:
    limit = csv.field_size_limit()
    text = 'a "quoted", long\n' * 50_000
    cell = text.replace('"', '""')
    found = read_scores(write("query_id,relevant,score,text", f'q,1,1,"{cell}"', "q,0,2,x"))
    assert found.text == [text, "x"]
    assert csv.field_size_limit() == limit < len(text)


HEADER = "query_id,relevant,score,topic"
ROWS: dict[str, list[str | Json]] = {
    "1: no column query_id, no relevant; it has 'score', 'x'": ["x,score", "1,2"],
    "1: no column score (or query and text, to be scored)": ["query_id,relevant,text", "q,1,t"],
    "1: no column query_id, no relevant, no score": ["Once upon a time", "there, was"],
    "1: no relevant; it has 'query', 'score'": [{"query": "q", "score": 1}],
    "1: no query_id, no score (or query and text, to be scored); this looks like a claim": [
        {"claim": "c", "evidence": "e", "label": "supported"}
    ],
    "2: no score (or query and text, to be scored): the column is empty": [HEADER, "q,1,,t"],
    "1: the column 'score' is there twice": ["query_id,score,Score", "q,1,1"],
    "2: relevant must be 0 or 1, got '2'": [HEADER, "q,2,1,t"],
    "2: relevant must be 0 or 1, got 'yes'": [HEADER, "q,yes,1,t"],
    "1: label must be 0 or 1, got 2": [{"query": "q", "score": 1, "label": 2}],
    "1: label must be 0 or 1, got '1'": [{"query": "q", "score": 1, "label": "1"}],
    "1: label must be 0 or 1, got [1]": [{"query": "q", "score": 1, "label": [1]}],
    "3: score must be a finite number, got str 'nan'": [HEADER, "q,1,1,t", "q,1,nan,t"],
    "2: score must be a finite number, got str 'inf'": [HEADER, "q,1,inf,t"],
    "2: score must be a finite number, got str '1e999'": [HEADER, "q,1,1e999,t"],
    "2: score must be a finite number, got str '1_0'": [HEADER, "q,1,1_0,t"],
    "2: score must be a finite number, got str '١'": [HEADER, "q,1,١,t"],
    "2: score must be a finite number, got str '0,5'": ["query_id;relevant;score", "q;1;0,5"],
    "1: score must be a finite number, got str '1'": [{"query": "q", "score": "1", "label": 1}],
    "1: score must be a finite number, got bool True": [{"query": "q", "score": True, "label": 1}],
    "1: score must be a finite number, got int an integer of": [
        {"query": "q", "score": 10**400, "label": 1}
    ],
    "1: score must be a finite number, got float inf": [
        '{"query": "q", "score": 1e999, "label": 1}'
    ],
    "1: query must be a string, got int 1": [{"query": 1, "score": 1, "label": 1}],
    "3: no score here, and one at line 2: a column is there": [HEADER, "q,1,1,t", "q,1,,t"],
    "4: a topic here, and none at line 2": [HEADER, "q,1,1,", "q,1,1,", "q,1,1,t"],
    "2: no document or doc_id here, and one at line 1": [
        {"query": "q", "score": 1, "label": 1, "doc_id": "d"},
        {"query": "q", "score": 1, "label": 1},
    ],
    "3: topic of query 'q' is 'u' here and 't' at line 2": [HEADER, "q,1,1,t", "q,1,1,u"],
    "3: query of query '1' is 'b' here and 'a' at line 2": [
        "query_id,query,relevant,score",
        "1,a,1,1",
        "1,b,1,1",
    ],
    "3: chunk_id 'c' of query 'q' is already at line 2": [
        "query_id,chunk_id,relevant,score",
        "q,c,1,1",
        "q,c,0,1",
    ],
    "2: text is blank, and there is no score": ["query,text,relevant", "q, ,1"],
    "3: 3 cells under a header of 4 columns": [HEADER, "", "q,1,1"],
    "2: text after the closing quote at column 4": [HEADER, '"q"x,1,1,t'],
    "3: a quoted cell is not closed": [HEADER, "q,1,1,t", 'q,1,1,"t', "q,1,1,t"],
    "2: a carriage return within a line": [HEADER, "q,1,1,t\rq,1,1,t"],
    " no chunk labels: there is no row": [HEADER, ""],
}


@pytest.mark.parametrize("message", ROWS)
def test_rows_are_checked(write: Write, message: str) -> None:
    assert refused(read_scores, write(*ROWS[message])).startswith(f"labelled.jsonl:{message}")


def test_columns_have_one_length() -> None:
    with pytest.raises(ValueError, match="topic has 1 rows, query has 2"):
        ChunkLabels(["q", "q"], [True, False], topic=["t"])


@given(
    st.lists(
        st.lists(st.text(alphabet='ab,"\n é;'), min_size=2, max_size=2).filter(
            lambda row: any(cell.strip() for cell in row)
        ),
        max_size=6,
    ),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_csv_is_read_as_the_standard_library_reads_it(
    rows: list[list[str]], quoting: Any, line_end: str
) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, quoting=quoting, lineterminator=line_end)
    writer.writerows([["query", "chunk", "score", "label"], *([*row, "1", "1"] for row in rows)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.csv")
        path.write_text(stream.getvalue(), encoding="utf-8", newline="")
        stream.seek(0)
        oracle = [row for row in list(csv.reader(stream, strict=True))[1:] if row]
        try:
            found = read_scores(path)
        except LabelledDataError as error:
            # An empty cell is an absent one.
            assert not oracle or any(not row[0] or not row[1] for row in oracle), error
            return
    assert [
        [q, c] for q, c in zip(found.query, found.chunk_id or [""] * len(found), strict=True)
    ] == [row[:2] for row in oracle]


# --- which file is it ---------------------------------------------------------------------------


def test_sniff_names_what_it_finds(write: Write) -> None:
    neither = "neither labelled queries (query_id, query, documents) nor chunk labels"
    for line, likeness in [
        (
            {"claim_id": "1", "claim": "c", "evidence": "e"},
            "a claim set (claim_id, claim, evidence)",
        ),
        ({"doc_id": "1", "text": "t"}, "a documents file (doc_id, text)"),
        ({"_id": "1", "text": "t"}, "a file of a BEIR folder (_id, text)"),
        ({"query": "q"}, "'query'"),
        ("alpha,beta", "'alpha', 'beta'"),
    ]:
        message = refused(sniff, write(line))
        assert neither in message
        assert message.endswith(f"but {likeness}")
    assert refused(sniff, write("documents,query", "a,b")).startswith(f"labelled.jsonl: {neither}")
    assert "a JSON array" in refused(sniff, write([1]))
    assert "not JSON" in refused(sniff, write("", "{"))


def test_errors_carry_path_and_line(write: Write) -> None:
    path = write(query("q1"), query("q1"))
    with pytest.raises(LabelledDataError) as caught:
        read_labelled(path)
    assert (caught.value.path, caught.value.line) == (str(path), 2)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.path, again.line) == (str(caught.value), str(path), 2)


# --- whatever the file holds --------------------------------------------------------------------

GOOD = "\n".join(
    [
        json.dumps(
            query("q1", entry("d1", [[0, 3], [5, 9]]), entry("d2"), topic="t", n_unretrieved=1)
        ),
        json.dumps(query("q2", entry("d1"), topic="u", label="x"), ensure_ascii=False),
    ]
).encode()
GOOD_ROWS = b'query_id,chunk,score,relevant\nq1,"a ""b""\nc",0.5,1\nq1,d,1e-3,0\n'
TOKENS = [b'"', b"\\", b"\\ud800", b"\n", b"\r", b"{", b"[", b"}", b",", b"\xff", b"\0", b"NaN"]
TOKENS += [
    b"-1",
    b"1e999",
    b"null",
    b"true",
    b'"relevant_spans":',
    b"[[1, 2]]",
    b"\xe2\x80\xa8",
    b"9" * 5000,
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A good file with some bytes cut out or replaced, maybe packed, maybe damaged after that."""
    content = bytearray(draw(st.sampled_from([GOOD, GOOD_ROWS])))
    pack_after = draw(st.sampled_from([None, 0, 2]))
    for step in range(draw(st.integers(1, 4))):
        if step == pack_after:
            content = bytearray(gzip.compress(bytes(content), mtime=0))
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 12)))
        content[start:end] = draw(st.sampled_from(TOKENS) | st.binary(max_size=4))
    return bytes(content)


@given(mutated())
@settings(max_examples=400, deadline=None)
def test_only_value_errors_come_out_of_damaged_files(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        path.write_bytes(content)
        documents = Path(folder, "documents")
        documents.write_bytes(b'{"doc_id": "d1", "text": "x"}')
        for read in (
            read_labelled,
            read_scores,
            sniff,
            lambda file: read_labelled(file, documents),
        ):
            try:
                read(path)
            except LabelledDataError as error:
                assert str(error).startswith(folder)
                assert "\n" not in str(error)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_only_value_errors_come_out_of_other_types(data: st.DataObject) -> None:
    line = query("q1", entry("d1", [[0, 3]]), topic="t", lang="en", n_unretrieved=0)
    row = {
        "query_id": "q",
        "query": "q",
        "score": 1,
        "relevant": 1,
        "chunk_id": "c",
        "document": "d",
    }
    target = data.draw(st.sampled_from([line, row, line["documents"][0]]))
    target[data.draw(st.sampled_from(sorted(target)))] = data.draw(JSON)
    for values, read in [(line, read_labelled), (row, read_scores)]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "file")
            path.write_text(json.dumps(values), encoding="utf-8")
            try:
                read(path)  # type: ignore[operator]
            except LabelledDataError as error:
                assert "\n" not in str(error)


# --- the public data sets -----------------------------------------------------------------------

DATA = os.environ.get("TAMIS_DATA_DIR")
SETS = {
    "quickstart": (256, 0),
    "wice": (457, 48),
    "evidence_inference": (951, 0),
    "clapnq": (404, 199),
}
SETS |= {
    "contractnli": (2125, 886),
    "chroma_chunking": (472, 0),
    "xquad": (6016, 0),
    "arcd": (949, 0),
}
SETS |= {"persianqa": (620, 186), "cmrc": (1454, 0), "xquad_mixed": (752, 0)}


@pytest.mark.skipif(DATA is None, reason="TAMIS_DATA_DIR is not set")
@pytest.mark.parametrize("name", SETS)
def test_public_sets(name: str) -> None:
    folder = Path(DATA or "")
    documents = folder / f"{'xquad' if name == 'xquad_mixed' else name}.docs.jsonl.gz"
    assert sniff(folder / f"{name}.jsonl.gz") == "queries"
    queries = read_labelled(folder / f"{name}.jsonl.gz", documents)
    unanswerable = [q for q in queries if not any(d.relevant_spans for d in q.documents)]
    assert (len(queries), len(unanswerable)) == SETS[name]
    with gzip.open(documents, "rt", encoding="utf-8") as lines:
        texts = {fields["doc_id"]: fields["text"] for fields in map(json.loads, lines)}
    assert all(d.text == texts[d.doc_id] for q in queries for d in q.documents)


@pytest.mark.skipif(DATA is None, reason="TAMIS_DATA_DIR is not set")
@pytest.mark.parametrize(
    "name", ["contractnli_claims", "climate_fever", "farstail", "fool_me_twice"]
)
def test_public_claim_sets_are_refused(name: str) -> None:
    for read in (read_labelled, read_scores, sniff):
        assert "a claim set (claim_id, claim, evidence)" in refused(
            read, Path(DATA or "", f"{name}.jsonl.gz")
        )
