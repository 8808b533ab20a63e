"""Changes to a saved calibration, found by the words that describe them.

Each change works on the bytes of the file and says which field names an error may use for it.
Changes that leave valid JSON do not mend the digests: a file that somebody edited is meant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import tamis
from cases.expectations import NoRunner

ALPHA = "0.1"
SCORER = {
    "scorer": "embedding",
    "model": "harbour-small",
    "weights": "sha256:17",
    "tokenizer": "sha256:23",
    "pooling": "mean",
    "precision": "float32",
    "query_prefix": "",
    "dim": 8,
    "max_tokens": 256,
    "vector_dtype": "float32",
}
CHUNKER = {"chunker": "sentences", "max_chars": 500, "overlap": 100, "tables": 1}

Changed = tuple[bytes, tuple[str, ...]]


class Mutation(NamedTuple):
    """A change; `part` is the identity that it is about, if any."""

    change: Callable[[bytes], Changed]
    part: str | None = None


def base_calibration(scorer: Any = SCORER, chunker: Any = CHUNKER) -> tamis.Calibration:
    """Forty topics of two queries; every stored number can be found again in the file's text."""
    rows = []
    for topic in range(40):
        for query in range(2):
            for snippet in range(6):
                score = ((topic * 131 + query * 17 + snippet * 29) % 97) / 97
                relevant = int(snippet < 2)
                rows.append((score / 2 if relevant else score, relevant, topic, query))
    return tamis.Calibration.fit(
        [row[0] for row in rows],
        [row[1] for row in rows],
        query=[f"t{row[2]}q{row[3]}" for row in rows],
        topic=[f"t{row[2]}" for row in rows],
        scorer=scorer,
        chunker=chunker,
        labels="spans@1",
    )


# --- what a change is made of ------------------------------------------------------------------


def _write(file: Any) -> bytes:
    return json.dumps(file, indent=2, allow_nan=True).encode()


def _edit(edit: Callable[[dict[str, Any]], None], *fields: str) -> Callable[[bytes], Changed]:
    def change(data: bytes) -> Changed:
        file = json.loads(data)
        edit(file)
        return _write(file), fields

    return change


def _set(path: str, make: Callable[[Any], Any], *also: str) -> Callable[[bytes], Changed]:
    """Replace what is at a dotted path by what `make` makes of it."""

    def edit(file: dict[str, Any]) -> None:
        *folders, name = path.split(".")
        for folder in folders:
            file = file[folder]
        file[name] = make(file[name])

    return _edit(edit, path.rpartition(".")[2], path, *also)


def _score_token(token: str) -> Callable[[bytes], Changed]:
    """Replace one stored relevant score by another text."""

    def change(data: bytes) -> Changed:
        scores = json.loads(data)["positives"]["score"]
        at = data.index(b'"score"', data.index(b'"positives"'))
        number = json.dumps(scores[3]).encode()
        at = data.index(number, at)
        changed = data[:at] + token.encode() + data[at + len(number) :]
        # A token that is no JSON cannot always be placed; the field's parts are all good names.
        return changed, ("score", "scores", "positives", "positives.score[3]")

    return change


def _remove(field: str) -> Callable[[bytes], Changed]:
    def edit(file: dict[str, Any]) -> None:
        holder = file
        *folders, name = field.split(".")
        for folder in folders:
            holder = holder[folder]
        if name not in holder:
            raise NoRunner(f"the file has no field {field!r} to remove")
        del holder[name]

    return _edit(edit, field.rpartition(".")[2], field)


def _cut(keep: Callable[[int], int]) -> Callable[[bytes], Changed]:
    return lambda data: (data[: keep(len(data))], ("file", "positives", "queries", "sha256"))


def _bytes(make: Callable[[bytes], bytes]) -> Callable[[bytes], Changed]:
    return lambda data: (make(data), ("file", "line", "format"))


# --- words for values and fields ---------------------------------------------------------------

FRACTIONS = {"half": 2, "third": 3, "quarter": 4, "tenth": 10}
IDENTITY_FIELDS: tuple[tuple[str, str, str], ...] = (
    (r"tokeni[sz]er", "scorer", "tokenizer"),
    (r"pooling", "scorer", "pooling"),
    (r"precision|quanti[sz]ation", "scorer", "precision"),
    (r"dimension|\bdim\b", "scorer", "dim"),
    (r"prefix", "scorer", "query_prefix"),
    (r"max(imum)?[ _]?(length|tokens)", "scorer", "max_tokens"),
    (r"dtype", "scorer", "vector_dtype"),
    (r"weights", "scorer", "weights"),
    (r"overlap", "chunker", "overlap"),
    (r"window|max_chars|chunk size", "chunker", "max_chars"),
    (r"boundary|tables?\b", "chunker", "tables"),
    (r"chunk(er|ing)?", "chunker", "chunker"),
    (r"model|embedd|encoder", "scorer", "model"),
    (r"scorer", "scorer", "scorer"),
)
FILE_FIELDS = (
    (r"relevant scores?|positives?|scores?|thresholds?", "positives.score"),
    (r"format version|schema version|\bversion\b", "version"),
    (r"\bformat\b|magic", "format"),
    (r"model id|embedding|scorer|identity", "scorer"),
    (r"chunker", "chunker"),
    (r"labels?", "labels"),
    (r"slack|tolerance", "slack"),
    (r"queries|query ids?", "queries"),
    (r"topics?", "queries.topic"),
    (r"summary", "summary"),
    (r"direction|auc", "direction"),
    (r"created|date|time", "created"),
    (r"sha256|digests?|checksums?|hash(es)?", "sha256"),
    (r"units?", "declared_units"),
    (r"environment", "environment"),
)


def _file_field(text: str, default: str | None = None) -> str:
    for name in re.findall(r"[`'\"]([\w.]+)[`'\"]", text):
        return str(name)
    for pattern, field in FILE_FIELDS:
        if re.search(pattern, text):
            return field
    if default is None:
        raise NoRunner(f"no field of the file is meant by {text!r}")
    return default


def _token(text: str) -> str | None:
    """The JSON (or not JSON) text that a number is to be replaced by."""
    for pattern, token in (
        (r"(-|minus |negative )inf", "-Infinity"),
        (r"\binf", "Infinity"),
        (r"\bnan\b", "NaN"),
        (r"\bnull\b|\bnone\b|nothing", "null"),
        (r"1e999|overflow|too large", "1e999"),
        (r"string|text|word", '"0.5"'),
        (r"\bbool|\btrue\b", "true"),
        (r"\blist\b|array", "[0.5]"),
        (r"object|mapping", "{}"),
    ):
        if re.search(pattern, text):
            return token
    return None


def _wrong_type(field: str) -> Callable[[bytes], Changed]:
    """Another JSON type than the field has."""
    return _set(field, lambda old: 17 if isinstance(old, str | list | dict) else "seventeen")


# --- by description ----------------------------------------------------------------------------


def mutation_for(description: str) -> Mutation:
    """The change that a description asks for.

    Raises
    ------
    NoRunner
        The description is of none of the known changes.
    """
    text = description.strip().lower()
    for find in (_truncation, _not_json, _version, _numbers, _identity, _structure):
        if (found := find(text)) is not None:
            return found
    raise NoRunner(f"no runner for mutation {description!r}")


def _truncation(text: str) -> Mutation | None:
    if not re.search(
        r"truncat|cut (off|short)|shorten|last \w+ bytes?|half its bytes|last line", text
    ):
        return None
    if match := re.search(r"(after|to|at) (the first )?(\d+) bytes?", text):
        keep = int(match[3])
        return Mutation(_cut(lambda size: keep))
    if match := re.search(r"last (\d+|few|byte)", text):
        count = int(match[1]) if match[1].isdigit() else 4
        return Mutation(_cut(lambda size: size - max(count, 4)))
    if "last line" in text:
        return Mutation(_bytes(lambda data: data.rstrip().rpartition(b"\n")[0]))
    if match := re.search(r"(\d+) ?(%|percent)", text):
        percent = int(match[1])
        return Mutation(_cut(lambda size: size * percent // 100))
    parts = next((n for word, n in FRACTIONS.items() if word in text), 2)
    if "three" in text and parts == 4:
        return Mutation(_cut(lambda size: size * 3 // 4))
    return Mutation(_cut(lambda size: size // parts))


def _not_json(text: str) -> Mutation | None:
    if re.search(
        r"\bempty (the )?file|file (is )?empty|empty it|zero (bytes|length)|0 bytes", text
    ):
        return Mutation(_bytes(lambda data: b""))
    if re.search(r"not (valid )?json|no json|other than json|binary|garbage|random bytes", text):
        if re.search(r"append|after|trailing|end", text):
            return Mutation(_bytes(lambda data: data + b"garbage"))
        if re.search(r"binary|random", text):
            return Mutation(_bytes(lambda data: bytes(range(256)) * 4))
        return Mutation(_bytes(lambda data: b"this is no calibration\n"))
    if re.search(r"trailing|append", text) and not re.search(r"field|key|score", text):
        return Mutation(_bytes(lambda data: data + b"\n{}"))
    if re.search(r"trailing comma", text):
        return Mutation(_bytes(lambda data: data.rstrip()[:-1].rstrip() + b",}"))
    if re.search(r"invalid utf|not utf|latin-?1|encoding", text):
        return Mutation(_bytes(lambda data: data.replace(b"harbour", b"h\xe4fen", 1)))
    if re.search(r"utf-?16", text):
        return Mutation(_bytes(lambda data: data.decode().encode("utf-16")))
    if re.search(r"\bnul(l bytes?|s)?\b.*bytes?|zeros? bytes?|fill.*zero", text):
        return Mutation(_bytes(lambda data: b"\0" * len(data)))
    if re.search(r"(whole|entire) file|file (by|with) |top[- ]level", text):
        if re.search(r"list|array", text):
            return Mutation(_bytes(lambda data: b"[" + data + b"]"))
        if re.search(r"empty object|\{\}", text):
            return Mutation(_bytes(lambda data: b"{}"))
        if re.search(r"\bnull\b", text):
            return Mutation(_bytes(lambda data: b"null"))
        if re.search(r"number|string", text):
            return Mutation(_bytes(lambda data: b"17"))
    if re.search(r"nest|deep", text):
        return Mutation(_bytes(lambda data: b"[" * 200_000))
    if re.search(r"flip|corrupt (a|one)", text):
        # Another digit in a stored score: still JSON, still a plausible number.
        def flip(data: bytes) -> Changed:
            changed, fields = _score_token("0.0625")(data)
            return changed, fields

        return Mutation(flip)
    return None


def _version(text: str) -> Mutation | None:
    if not re.search(r"(format|file|schema)[ _]?version|\bversion\b", text):
        return None
    if re.search(r"boundary|table|tamis.version|package|library|runtime", text):
        return None
    if re.search(r"remove|delete|drop|missing|without", text):
        return Mutation(_remove("version"))
    if token := _token(text):
        value = json.loads(token) if token not in ("1e999",) else 1e999
        return Mutation(_set("version", lambda old: value))
    if match := re.search(r"(?:to|=|by) (-?\d+(\.\d+)?)", text):
        number = json.loads(match[1])
        return Mutation(_set("version", lambda old: number))
    if re.search(r"lower|below|zero|older|negative", text):
        return Mutation(_set("version", lambda old: old - 1))
    return Mutation(_set("version", lambda old: old + 1))


def _numbers(text: str) -> Mutation | None:
    """Changes of stored numbers. "The threshold" stands for one stored relevant score."""
    if not re.search(r"threshold|scores?\b|positives?\b|slack|tolerance", text):
        return None
    if re.search(r"remove|delete|drop|missing|without", text):
        if re.search(r"one|a (score|positive|relevant)|last|first|entry", text):
            return Mutation(_set("positives.score", lambda old: old[:-1], "positives"))
        field = _file_field(text)
        if "field" in text or field == "slack":
            return Mutation(_remove(field))
        return Mutation(_remove("positives.score"))
    if re.search(r"empty", text):
        return Mutation(_set("positives.score", lambda old: [], "positives", "scores"))
    token = _token(text)
    if re.search(r"slack|tolerance", text):
        if token is not None:
            return Mutation(_set("slack", lambda old: json.loads(token)))
        return Mutation(_set("slack", lambda old: -1.0 if "negative" in text else 0.5))
    if re.search(r"\b(list|array|field|column|all)\b.*(string|text|number|object|type)", text):
        return Mutation(_wrong_type("positives.score"))
    if re.search(r"add|append|insert|duplicate", text):
        return Mutation(_set("positives.score", lambda old: [*old, old[0]], "positives"))
    if token is not None:
        return Mutation(_score_token(token))
    if re.search(r"type", text):
        return Mutation(_score_token('"0.5"'))
    if match := re.search(r"(?:to|by|with) (-?\d+(?:\.\d+)?(?:e-?\d+)?)\b", text):
        return Mutation(_score_token(match[1]))
    if re.search(r"negative", text):
        return Mutation(_score_token("-0.5"))
    if re.search(r"change|alter|edit|modif|lower|raise|increase|decrease|double|halve|other", text):
        return Mutation(_score_token("0.0625"))
    return None


def _identity(text: str) -> Mutation | None:
    """Another scorer or chunker than the one the calibration was made with."""
    if not re.search(r"change|replace|alter|edit|set|another|other|swap|different", text):
        return None
    if re.search(r"type|unknown|extra|remove|missing|\blabels?\b", text):
        return None
    for pattern, part, name in IDENTITY_FIELDS:
        if re.search(pattern, text):

            def make(old: Any) -> Any:
                return old + 1 if isinstance(old, int) else f"{old}-another"

            return Mutation(_set(f"{part}.{name}", make, part), part)
    return None


def _structure(text: str) -> Mutation | None:
    """Fields too many, too few, twice, of another type, or with another value."""
    if re.search(r"twice|duplicat|repeat", text):
        return Mutation(lambda data: (data.replace(b"{", b'{"slack": 0.5, ', 1), ("slack", "file")))
    if re.search(r"unknown|extra|unexpected|additional|new field|add (a|an|one)", text):
        name = next(iter(re.findall(r"[`'\"](\w+)[`'\"]", text)), "harbour_light")
        return Mutation(_edit(lambda file: file.update({name: 17}), name))
    if re.search(r"remove|delete|drop|missing|without|leave out", text):
        return Mutation(_remove(_file_field(text, "positives")))
    if re.search(r"rename", text):
        field = _file_field(text, "positives").split(".")[0]
        return Mutation(
            _edit(lambda file: file.update({f"{field}_2": file.pop(field)}), field, f"{field}_2")
        )
    if re.search(r"type|string|number|list|array|null|object", text):
        return Mutation(_wrong_type(_file_field(text, "positives.score")))
    if re.search(r"change|replace|alter|edit|set|swap|modif", text):
        field = _file_field(text)

        def make(old: Any) -> Any:
            if isinstance(old, list) and len(old) > 1:
                return [old[-1], *old[1:]]
            if isinstance(old, dict):
                return {**old, "harbour_light": 17}
            return f"{old} another" if isinstance(old, str) else 17

        return Mutation(_set(field, make, field.split(".")[0], "harbour_light"))
    return None
