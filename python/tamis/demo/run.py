"""`tamis demo`: the whole method on the language reference that every CPython carries."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tamis._tamis import Calibration, Chunker
from tamis.calibration import fit_scored
from tamis.demo.corpus import Question, documents, labelled_questions
from tamis.encoder import OnnxEncoder
from tamis.evaluation import Evaluation, Table, evaluate_scored
from tamis.evaluation.splits import unit_of_query
from tamis.filter import Filter
from tamis.labelled import Document, LabelledQuery
from tamis.scored import ScoredQueries, score_queries
from tamis.scorer import EmbeddingScorer

ALPHAS = ("0.05", "0.1", "0.15", "0.2", "0.3", "0.4")
SHOWN = ("0.05", "0.1", "0.2")
N_DOCUMENTS = 10
MIN_QUESTIONS = 30
ROWS = 12


def run(picture: str, n_questions: int | None = None, seed: int = 0, full: bool = False) -> int:
    """Run the demo and write the picture.

    Parameters
    ----------
    picture : str
        File name, `.png`, `.svg` or `.pdf`.
    n_questions : int, optional
        Only the first so many questions, at least 30.
    seed : int
        Of the random splits.
    full : bool
        Show every snippet of the question that is shown, not the first dozen of each column.

    Returns
    -------
    int
        0, or 3 when a promise is not held.

    Raises
    ------
    ImportError
        The extra `demo` is not installed.
    """
    try:
        from rich.console import Console
    except ImportError:
        raise ImportError(
            'the demo draws and searches with other packages: pip install "tamis[demo]"'
        ) from None
    if n_questions is not None and n_questions < MIN_QUESTIONS:
        raise ValueError(f"at least {MIN_QUESTIONS} questions are needed, got {n_questions}")
    console = Console(highlight=False)
    found = labelled_questions()
    questions = found.questions[:n_questions]
    queries = retrieve(questions, documents())
    units = len({question.unit for question in questions})
    console.print(
        f"[bold]The language reference of Python {sys.version.split()[0]}[/]: "
        f"{len(documents())} documents, {len(questions)} questions in {units} independent units "
        "(topics that share paragraphs are one unit)."
    )
    if found.missing:
        console.print(
            f"{len(found.missing)} of {found.n_labels} labels are not in this version's text; "
            f"{found.n_left_out} questions are left out."
        )
    console.print(
        f"Each question comes with {N_DOCUMENTS} documents: those that answer it and the best "
        "others by BM25.\n"
    )
    # Tables and grammar have more tokens than words: what the model does not read is counted.
    scorer = EmbeddingScorer(OnnxEncoder(on_long="truncate"))
    scored = score_queries(queries, scorer, Chunker())
    calibration = fit_scored(scored)
    evaluation = evaluate_scored(scored, calibration, ALPHAS, seed=seed)
    if scored.n_truncated:
        console.print(
            f"{scored.n_truncated} of {scored.n_distinct} snippets are longer than the model "
            "reads: it scores their beginning.\n"
        )
    _promise(console, evaluation)
    _removal(console, evaluation)
    _one_question(console, scored, calibration, scorer, seed, full)
    draw(evaluation, picture)
    console.print(f"\nRecall and removal against 1 − alpha: [bold]{picture}[/]")
    return 0 if evaluation.held else 3


def retrieve(questions: Sequence[Question], texts: dict[str, str]) -> list[LabelledQuery]:
    """Each question with its labelled documents and the best others by BM25, best first."""
    import bm25s

    names = list(texts)
    words = [texts[name].lower().split() for name in names]
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(words, show_progress=False)
    queries = []
    for question in questions:
        scores = index.get_scores(question.text.lower().split())
        # Ties by name, so that the list does not depend on the sort.
        order = sorted(range(len(names)), key=lambda i: (-scores[i], names[i]))
        labelled = [i for i in order if names[i] in question.spans]
        others = [i for i in order if names[i] not in question.spans]
        chosen = set(labelled + others[: max(N_DOCUMENTS - len(labelled), 0)])
        queries.append(
            LabelledQuery(
                query_id=question.id,
                query=question.text,
                topic=question.unit,
                documents=tuple(
                    Document(names[i], texts[names[i]], question.spans.get(names[i], ()))
                    for i in order
                    if i in chosen
                ),
            )
        )
    return queries


def _promise(console: Any, evaluation: Evaluation) -> None:
    from rich.table import Table as Grid

    console.print(
        "[bold]Promised[/]: for a new topic like these, on average at least 1 − alpha of the "
        "relevant snippets among those retrieved are kept (unit: topic; marginal, over "
        f"calibration and new topics). Checked on {evaluation.n_splits} random halves; "
        f"within-query AUC of the score {evaluation.auc:.3f}."
    )
    grid = Grid(title="Recall by topic, calibrated on one half, measured on the other")
    for title in ("alpha", "promised", "mean", "5–95 % of single splits", "splits below promise"):
        grid.add_column(title, justify="right")
    for alpha in evaluation.alphas:
        if alpha.alpha not in SHOWN:
            continue
        low, high = alpha.range("recall_topic")
        below = float((alpha.measures["recall_topic"] < alpha.nominal).mean())
        grid.add_row(
            alpha.alpha,
            f"{alpha.nominal:.0%}",
            f"{alpha.mean('recall_topic'):.1%}" + ("" if alpha.held("topic") else " NOT HELD"),
            f"{low:.1%} – {high:.1%}",
            f"{below:.0%}",
        )
    console.print(grid)
    console.print(
        "The promise is about the mean. With so few topics a correct filter falls below it in "
        "some single splits.\n"
    )


def _removal(console: Any, evaluation: Evaluation) -> None:
    from rich.table import Table as Grid

    grid = Grid(title="Removed: of all candidates / within documents that hold evidence")
    for title in ("alpha", "snippets", "characters"):
        grid.add_column(title, justify="right")
    for alpha in evaluation.alphas:
        if alpha.alpha in SHOWN:
            grid.add_row(
                alpha.alpha,
                f"{alpha.mean('removed'):.1%} / {alpha.mean('removed_labelled'):.1%}",
                f"{alpha.mean('characters'):.1%} / {alpha.mean('characters_labelled'):.1%}",
            )
    console.print(grid)
    console.print()


def _one_question(
    console: Any,
    scored: ScoredQueries,
    calibration: Calibration,
    scorer: EmbeddingScorer,
    seed: int,
    full: bool,
) -> None:
    """One question of the half that was not calibrated on, in full; and top-k at the same size."""
    from rich.table import Table as Grid
    from rich.text import Text

    units = unit_of_query(scored, calibration)
    half = np.isin(units, np.random.default_rng(seed).permutation(np.unique(units))[::2])
    threshold = calibration.restrict(half).threshold("0.1")
    candidates = np.flatnonzero(~half)
    # The question with the median share of snippets kept: neither the best nor the worst.
    below = scored.scores <= threshold.value
    n_kept = np.bincount(scored.query[below], minlength=len(scored.queries))
    share = (n_kept / np.bincount(scored.query, minlength=len(scored.queries)))[candidates]
    chosen = int(candidates[np.argsort(share, kind="stable")[len(share) // 2]])
    query = scored.queries[chosen]
    made = Filter(threshold, scorer, Chunker())
    result = made(query.query, [document.text for document in query.documents])
    relevant = scored.relevant[scored.query == chosen]
    kept = set(result.kept_indices.tolist())
    console.print(
        f"[bold]One question[/] that the calibration has not seen, at alpha 0.1: "
        f"[italic]{query.query}[/]\n{len(kept)} of {len(result)} snippets kept; "
        f"threshold {threshold.value:.3f}; ★ marks labelled evidence."
    )
    grid = Grid(show_lines=False)
    grid.add_column(f"kept ({len(kept)})", width=58)
    grid.add_column(f"dropped ({len(result) - len(kept)}), best first", width=58)

    def cell(i: int, style: str) -> Text:
        snippet = result.items[i]
        name = query.documents[snippet.document].doc_id
        star = "★ " if relevant[i] else ""
        head = f"{star}{result.scores[i]:.3f} {name}  "
        return Text.assemble((head, f"bold {style}"), " ".join(snippet.text.split())[:150] + "…")

    order = np.argsort(result.scores, kind="stable").tolist()
    left = [cell(i, "green") for i in order if i in kept]
    right = [cell(i, "red") for i in order if i not in kept]
    shown = max(len(left), len(right)) if full else ROWS
    for row in range(min(shown, max(len(left), len(right)))):
        grid.add_row(left[row] if row < len(left) else "", right[row] if row < len(right) else "")
    more = [len(column) - shown for column in (left, right)]
    if max(more) > 0:
        grid.add_row(*(f"… and {n} more (--full shows them)" if n > 0 else "" for n in more))
    console.print(grid)
    passages = result.passages()
    console.print(
        f"As passages: {len(passages)}, {sum(len(p.text) for p in passages)} of "
        f"{sum(len(d.text) for d in query.documents)} characters.\n"
    )
    _top_k(console, Table(scored, units), half, threshold.value)


def _top_k(console: Any, table: Table, half: Any, limit: float) -> None:
    """Plain top-k on the same questions with as many snippets: the same context size."""
    scored = table.scored
    test = ~half
    filtered = table.measure(limit, test)
    rows = np.flatnonzero(test[scored.query])
    kept = int((scored.scores[rows] <= limit).sum())
    k = max(round(kept / int(test.sum())), 1)
    order = np.lexsort((scored.scores, scored.query))
    place = np.empty(len(order), np.int64)
    first = np.searchsorted(scored.query[order], np.arange(table.n_queries))
    place[order] = np.arange(len(order)) - first[scored.query[order]]
    top = test[scored.query] & (place < k)
    relevant = np.bincount(scored.query[scored.relevant], minlength=table.n_queries)
    hits = np.bincount(scored.query[scored.relevant & top], minlength=table.n_queries)
    asked = test & (relevant > 0)
    recall = float((hits[asked] / relevant[asked]).mean())
    console.print(
        f"[bold]The same context size by plain top-k[/] (k = {k} per question): recall by query "
        f"{recall:.1%}, the filter {filtered.recall_query:.1%}.\nWhat the filter adds is not "
        "always more recall at a size, but knowing which size a promise needs."
    )


def draw(evaluation: Evaluation, picture: str) -> None:
    """Recall and removal against 1 − alpha, written to a file."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    x = [alpha.nominal for alpha in evaluation.alphas]
    means = [alpha.mean("recall_topic") for alpha in evaluation.alphas]
    ranges = [alpha.range("recall_topic") for alpha in evaluation.alphas]
    left.fill_between(
        x,
        [low for low, _ in ranges],
        [high for _, high in ranges],
        alpha=0.25,
        color="tab:blue",
        label="5–95 % of single splits",
    )
    left.plot(x, means, "o-", color="tab:blue", label="mean recall by topic")
    left.plot([min(x), 1], [min(x), 1], "k--", linewidth=1, label="promised: 1 − alpha")
    left.set(xlabel="1 − alpha", ylabel="recall on topics not calibrated on", title="Kept evidence")
    left.legend(loc="upper left")
    for name, label, style in (
        ("removed", "of all candidates", "o-"),
        ("removed_labelled", "within documents that hold evidence", "s--"),
    ):
        right.plot(x, [alpha.mean(name) for alpha in evaluation.alphas], style, label=label)
    right.set(xlabel="1 − alpha", ylabel="share of snippets removed", title="Removed context")
    right.set_ylim(0, 1)
    right.legend(loc="lower left")
    figure.suptitle(
        f"{evaluation.n_queries} questions on the Python language reference, "
        f"{evaluation.n_units} topics, {evaluation.n_splits} random halves"
    )
    figure.savefig(picture, dpi=150)
    plt.close(figure)
