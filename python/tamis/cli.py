"""The command line: thin over the package."""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis._tamis import Calibration, Chunker, TamisError, __version__, conformal_rank

if TYPE_CHECKING:
    from tamis.scorer import EmbeddingScorer

NOT_HELD = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; 0 done, 2 bad input (one line on standard error), 3 a promise is not held."""
    arguments = argparse.Namespace(traceback=False)
    try:
        try:
            arguments = _parser().parse_args(argv)
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return int(arguments.run(arguments))
        finally:
            # Here rather than at exit, where a reader that has gone is beyond catching.
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has gone; nothing is left to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("tamis: interrupted", file=sys.stderr)
        return 130
    except (TamisError, ValueError, TypeError, OSError, ImportError, RuntimeError) as error:
        if arguments.traceback:
            raise
        print(f"tamis: {' '.join(str(error).split())}", file=sys.stderr)
        return 2


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"tamis: warning: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tamis",
        description="Filters retrieved context with a conformal guarantee on what survives.",
        epilog="tamis COMMAND --help shows the options and examples of a command.",
    )
    parser.add_argument("--version", action="version", version=f"tamis {__version__}")
    parser.add_argument("--traceback", action="store_true", help="show where an error comes from")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    demo = _command(
        commands,
        "demo",
        _demo,
        "the whole method on real documents, offline, with a picture",
        "tamis demo --picture demo.png",
    )
    demo.add_argument("--picture", default="tamis-demo.png", metavar="FILE", help="PNG or SVG")
    demo.add_argument("--questions", type=int, metavar="N", help="only the first N questions")
    demo.add_argument("--full", action="store_true", help="every snippet of the question shown")
    demo.add_argument("--seed", type=int, default=0)

    calibrate = _command(
        commands,
        "calibrate",
        _calibrate,
        "labelled queries to a calibration file",
        "tamis calibrate labelled.jsonl --documents docs.jsonl.gz -o cal.json\n"
        "tamis calibrate scores.csv --scorer-identity my-model@1 -o cal.json",
    )
    _labelled_options(calibrate, "labelled queries (JSON Lines) or chunk labels (CSV, JSONL)")
    calibrate.add_argument("-o", "--output", required=True, metavar="FILE")
    calibrate.add_argument(
        "--scorer-identity", metavar="NAME", help="what made the scores of a file"
    )
    calibrate.add_argument(
        "--chunker-identity", metavar="NAME", help="what cut the chunks of a file"
    )

    filter_ = _command(
        commands,
        "filter",
        _filter,
        "keep what a query needs of some documents",
        'tamis filter --calibration cal.json --query "How do I …?" a.txt b.txt\n'
        'cat docs.jsonl | tamis filter --calibration cal.json --query "…" --json -',
    )
    filter_.add_argument("--calibration", required=True, metavar="FILE")
    filter_.add_argument("--query", required=True)
    filter_.add_argument("--alpha", default="0.1")
    _unit_option(filter_)
    _on_long_option(filter_)
    filter_.add_argument("--model", metavar="FOLDER", help="the file's model, if not installed")
    filter_.add_argument("--json", action="store_true", help="one JSON object per snippet")
    filter_.add_argument("--explain", action="store_true", help="every snippet with its score")
    filter_.add_argument(
        "--allow-keep-all", action="store_true", help="accept an infinite threshold"
    )
    filter_.add_argument(
        "documents",
        nargs="+",
        metavar="DOCUMENT",
        help='text file, .jsonl with "text" (and "doc_id"), or - for standard input',
    )

    evaluate = _command(
        commands,
        "evaluate",
        _evaluate,
        "recall and removal on labelled data, by repeated topic splits",
        "tamis evaluate labelled.jsonl --documents docs.jsonl --alpha 0.05,0.1\n"
        "tamis evaluate new.jsonl --calibration cal.json      (exit 3: promise not held)",
    )
    _labelled_options(evaluate, "labelled queries (JSON Lines)")
    evaluate.add_argument("--alpha", default="0.05,0.1,0.2", help="comma-separated levels")
    evaluate.add_argument("--calibration", metavar="FILE", help="judge this file on new topics")
    evaluate.add_argument("--splits", type=int, default=200, metavar="N")
    evaluate.add_argument("--seed", type=int, default=0)
    evaluate.add_argument("--json", metavar="FILE", help="write the result as JSON")
    _unit_option(evaluate)

    info = _command(
        commands,
        "info",
        _info,
        "what a calibration promises, in words",
        "tamis info cal.json",
    )
    info.add_argument("calibration", metavar="FILE")

    models = _command(
        commands, "models", _models, "models at hand and their speed here", "tamis models"
    )
    models.add_argument("--json", action="store_true")
    return parser


def _command(commands: Any, name: str, run: Any, summary: str, examples: str) -> Any:
    indented = "\n".join(f"  {line}" for line in examples.splitlines())
    command = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"examples:\n{indented}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    return command


def _labelled_options(command: Any, what: str) -> None:
    command.add_argument("labelled", metavar="LABELLED", help=what)
    command.add_argument(
        "--documents", metavar="FILE", help="documents that are not inline (JSONL)"
    )
    command.add_argument("--model", default="minilm", help="installed model, or a folder")
    command.add_argument("--max-chars", type=int, default=500, metavar="N")
    command.add_argument("--overlap", type=int, default=100, metavar="N")
    command.add_argument("--threads", type=int, metavar="N")
    command.add_argument(
        "--topic", choices=["query"], help="declare queries independent of each other"
    )
    command.add_argument("--cache", metavar="FILE", help="where embeddings are kept between runs")
    command.add_argument("--no-cache", action="store_true", help="keep no embeddings")
    command.add_argument(
        "--no-check-direction",
        action="store_true",
        help="accept scores that look like similarities",
    )
    _on_long_option(command)


def _on_long_option(command: Any) -> None:
    command.add_argument(
        "--on-long",
        choices=["truncate", "error"],
        default="truncate",
        help="a snippet with more tokens than the model reads (truncated ones are counted)",
    )


def _unit_option(command: Any) -> None:
    command.add_argument("--unit", choices=["topic", "query", "snippet"], default="topic")


def _scorer(arguments: Any) -> EmbeddingScorer:
    from tamis.cache import CachedEncoder, default_folder
    from tamis.encoder import Encoder, OnnxEncoder
    from tamis.scorer import EmbeddingScorer

    model = arguments.model
    encoder: Encoder = OnnxEncoder(model, threads=arguments.threads, on_long=arguments.on_long)
    if not arguments.no_cache:
        path = arguments.cache or default_folder() / "embeddings.sqlite"
        try:
            encoder = CachedEncoder(encoder, path, optional=not arguments.cache)
        except OSError as error:
            if arguments.cache:
                raise
            print(f"tamis: no embedding cache: {error}", file=sys.stderr)
    return EmbeddingScorer(encoder)


def _queries(arguments: Any) -> Any:
    from tamis.labelled import read_labelled

    return read_labelled(arguments.labelled, arguments.documents)


def _calibrate(arguments: Any) -> int:
    from tamis.calibration import calibrate, calibrate_chunks
    from tamis.labelled import read_scores, sniff

    _check_writable(arguments.output)
    check = not arguments.no_check_direction
    if sniff(arguments.labelled) == "chunks":
        if arguments.documents:
            raise ValueError(
                "chunk labels hold their own texts: --documents is for labelled queries"
            )
        labels = read_scores(arguments.labelled)
        calibration = calibrate_chunks(
            labels,
            None if labels.scores is not None else _scorer(arguments),
            scorer_identity=arguments.scorer_identity,
            chunker_identity=arguments.chunker_identity,
            topic=arguments.topic,
            check_direction=check,
        )
    else:
        chunker = Chunker(arguments.max_chars, arguments.overlap)
        queries = _queries(arguments)
        calibration = calibrate(
            queries, _scorer(arguments), chunker, topic=arguments.topic, check_direction=check
        )
    calibration.save(arguments.output)
    print(calibration.report())
    print(f"written to {arguments.output}")
    return 0


def _filter(arguments: Any) -> int:
    from tamis.filter import Filter

    names, texts = _documents(arguments.documents)
    made = Filter.load(
        arguments.calibration,
        arguments.alpha,
        arguments.unit,
        on_long=arguments.on_long,
        model=arguments.model,
        allow_keep_all=arguments.allow_keep_all,
    )
    # A model that cannot be opened is an error here, and no snippet that could not be scored.
    warmup = getattr(getattr(made.scorer, "encoder", None), "warmup", None)
    if warmup is not None:
        warmup()
    result = made(arguments.query, texts)
    if arguments.json:
        kept = set(result.kept_indices.tolist())
        for i, score in enumerate(result.scores.tolist()):
            snippet = result.items[i]
            row = {
                "document": names[snippet.document],
                "start": snippet.start,
                "end": snippet.end,
                "score": score if score == score else None,
                "kept": i in kept,
                "text": snippet.text,
            }
            print(json.dumps(row, ensure_ascii=False))
    elif arguments.explain:
        print(result.explain())
    else:
        for passage in result.passages():
            print(f"== {names[passage.document]} [{passage.start}:{passage.end}]")
            print(passage.text)
    stats = result.stats
    notes = f"{stats.n_kept} of {stats.n_candidates} snippets kept"
    if stats.truncated:
        notes += f", {stats.truncated} truncated for the model"
    if stats.query_truncated:
        notes += ", the query truncated for the model"
    if result.degraded:
        notes += f", {stats.degraded} kept because scoring failed: {'; '.join(stats.reasons)}"
    print(f"tamis: {notes}", file=sys.stderr)
    return 0


def _documents(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    names: list[str] = []
    texts: list[str] = []
    for path in paths:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        label = "standard input" if path == "-" else path
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(f"{label} is not UTF-8 text (byte {error.start})") from None
        if path.endswith((".jsonl", ".ndjson")) or (path == "-" and text.lstrip().startswith("{")):
            for number, line in enumerate(text.split("\n"), 1):
                if not line.strip():
                    continue
                where = f"{label}:{number}"
                try:
                    row = json.loads(line)
                except (json.JSONDecodeError, RecursionError) as error:
                    raise ValueError(f"{where}: not JSON: {error}") from None
                if not isinstance(row, dict) or not isinstance(row.get("text"), str):
                    raise ValueError(f'{where}: a document needs a "text" that is a string')
                _check_text(row["text"], where)
                names.append(where if row.get("doc_id") is None else str(row["doc_id"]))
                texts.append(row["text"])
        else:
            names.append(label)
            texts.append(text)
    return names, texts


def _check_text(text: str, where: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        problem = f"holds a lone surrogate at {error.start} and is no Unicode text"
        raise ValueError(f'{where}: "text" {problem}') from None


def _check_writable(path: str) -> None:
    """Refuse an output before the long work rather than after it."""
    folder = Path(path).resolve().parent
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file to write to")
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder} to write {path} to")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"folder {folder} is not writable")


def _evaluate(arguments: Any) -> int:
    from tamis.calibration import fit_scored
    from tamis.evaluation import evaluate_calibration, evaluate_scored
    from tamis.labelled import sniff
    from tamis.scored import score_queries

    alphas = [alpha.strip() for alpha in arguments.alpha.split(",")]
    for alpha in alphas:
        conformal_rank(1, alpha)
    if arguments.splits < 1:
        raise ValueError(f"--splits must be at least 1, got {arguments.splits}")
    if arguments.seed < 0:
        raise ValueError(f"--seed must not be negative, got {arguments.seed}")
    if arguments.json:
        _check_writable(arguments.json)
    if sniff(arguments.labelled) == "chunks":
        raise ValueError(
            f"{arguments.labelled} holds chunk labels: evaluate needs labelled queries with their "
            "documents, since it measures what is removed of them"
        )
    queries = _queries(arguments)
    chunker = Chunker(arguments.max_chars, arguments.overlap)
    scorer = _scorer(arguments)
    calibration = None
    if arguments.calibration:
        calibration = Calibration.load(arguments.calibration)
        for alpha in alphas:
            threshold = calibration.threshold(alpha, unit=arguments.unit)
            threshold._check_scorer(scorer)
            threshold._check_chunker(chunker)
    scored = score_queries(queries, scorer, chunker)
    if calibration is not None:
        rows = evaluate_calibration(scored, calibration, alphas, arguments.unit, arguments.seed)
        held = all(row.held for row in rows)
        for row in rows:
            m = row.measures
            note = "" if row.held else "  NOT HELD"
            if row.threshold == float("inf"):
                note += "  keeps everything"
            print(
                f"alpha {row.alpha}: recall by topic {m.recall_topic:.1%} "
                f"(upper end of 95 %: {row.upper:.1%}, {row.n_units} units), "
                f"coverage {m.coverage:.1%}, evidence {m.evidence:.1%}, removed {m.removed:.1%} "
                f"of all, {m.removed_labelled:.1%} of documents with evidence{note}"
            )
        result: dict[str, Any] = {"held": held, "alphas": [row.to_dict() for row in rows]}
    else:
        own = fit_scored(
            scored, topic=arguments.topic, check_direction=not arguments.no_check_direction
        )
        evaluation = evaluate_scored(
            scored, own, alphas, arguments.unit, arguments.splits, arguments.seed
        )
        print(evaluation)
        held = evaluation.held
        result = evaluation.to_dict()
    if arguments.json:
        from tamis.artefact import write_text

        write_text(arguments.json, json.dumps(result, indent=2, allow_nan=False) + "\n")
    return 0 if held else NOT_HELD


def _info(arguments: Any) -> int:
    calibration = Calibration.load(arguments.calibration)
    print(f"calibration {calibration.id}")
    print(calibration.report())
    for part in ("scorer", "chunker", "labels", "environment"):
        value = getattr(calibration, part)
        if isinstance(value, dict):
            print(f"{part}:")
            for name, field in value.items():
                print(f"  {name}: {field}")
        else:
            print(f"{part}: {'not declared' if value is None else value}")
    return 0


def _models(arguments: Any) -> int:
    from tamis.models import installed_models

    rows = [_model(name) for name in installed_models()]
    if arguments.json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return 0
    if not rows:
        print('no model is installed: "make models" in a checkout builds the default one')
    for row in rows:
        print(f"{row.pop('name')}")
        for name, value in row.items():
            print(f"  {name}: {value}")
    return 0


def _model(name: str) -> dict[str, Any]:
    import time

    from tamis.encoder import OnnxEncoder

    encoder = OnnxEncoder(name, on_long="truncate")
    row: dict[str, Any] = {"name": name, "folder": str(encoder.model.folder)}
    row.update({k: str(v) for k, v in encoder.identity.items()})
    texts = [
        f"Snippet number {i} is about as long as one sentence usually is. " * 7 for i in range(16)
    ]
    try:
        encoder.warmup()
        times = []
        for _ in range(3):
            start = time.perf_counter()
            encoder.encode(texts)
            times.append(time.perf_counter() - start)
        row["snippets_per_second"] = round(len(texts) / sorted(times)[1])
        row["threads"] = encoder.threads
    except (ImportError, RuntimeError, ValueError) as error:
        row["not usable"] = str(error)
    return row


def _demo(arguments: Any) -> int:
    from tamis.demo.run import run

    _check_writable(arguments.picture)
    if arguments.seed < 0:
        raise ValueError(f"--seed must not be negative, got {arguments.seed}")
    return run(arguments.picture, arguments.questions, arguments.seed, arguments.full)


if __name__ == "__main__":
    sys.exit(main())
