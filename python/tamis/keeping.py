"""What a rule keeps of a request's candidates, some of which may have no score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis._tamis import Rule, Snippets

# The unit of sizes that are counted without being told how.
CODE_POINTS = "code points"
# One group of all, or the group (or groups) of each.
Groups = str | Sequence[Any]


class Kept(NamedTuple):
    """Positions kept, how many of them because their group has no threshold, and why others are."""

    indices: NDArray[np.intp]
    n_unseen: int = 0
    reasons: tuple[str, ...] = ()


def keep_scored(
    rule: Rule,
    scores: NDArray[Any],
    size: NDArray[Any] | None = None,
    group: Groups | None = None,
) -> Kept:
    """Keep by the rule, and what has no finite score, since nothing is known of it.

    The rule sees the others only: a rank or a summed size can then only be smaller, so no more is
    dropped. The mean that a relative threshold compares with may move either way, so it keeps
    everything.
    """
    scored = np.flatnonzero(np.isfinite(scores))
    n_failed = len(scores) - len(scored)
    if not n_failed:
        return Kept(*rule._keep_counted(scores, size, group))
    if rule.family == "relative":
        why = f"{n_failed} candidates have no score, so the mean of all is not known: all are kept"
        return Kept(np.arange(len(scores)), 0, (why,))
    if group is not None and not isinstance(group, str):
        group = [group[i] for i in scored.tolist()]
    kept, n_unseen = rule._keep_counted(
        scores[scored], None if size is None else size[scored], group
    )
    keep = np.ones(len(scores), np.bool_)
    keep[scored] = False
    keep[scored[kept]] = True
    return Kept(np.flatnonzero(keep), n_unseen)


def sizes_of(
    rule: Rule, snippets: Snippets, texts: Sequence[str], size: Callable[[str], int] | None
) -> NDArray[Any] | None:
    """Sizes of snippets in the rule's unit; None where it has no use for them.

    Raises
    ------
    ValueError
        A budget in another unit than code points, and no function that counts it.
    """
    if size is not None:
        return np.array([index(size(text)) for text in texts], np.int64)
    if rule.size_unit == CODE_POINTS:
        offsets = snippets.offsets()
        return offsets[:, 1] - offsets[:, 0]
    if rule.family == "tokens":
        unit = rule.size_unit or "a unit of your own"
        raise ValueError(
            f"the budget is in {unit}: pass size=, a function that counts a text in it, to Filter"
        )
    return None


def groups_by_document(group: Groups, snippets: Snippets, n_documents: int) -> Groups:
    """The group of each snippet from those of the documents."""
    if isinstance(group, str):
        return group
    if len(group) != n_documents:
        raise ValueError(f"group has {len(group)} entries, there are {n_documents} documents")
    return [group[document] for document, _, _ in snippets._spans()]
