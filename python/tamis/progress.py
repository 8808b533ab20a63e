"""Progress of long work: a bar on a terminal, nothing in a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(total: int, label: str, show: bool | None) -> Iterator[Callable[[int], object]]:
    """A bar on standard error: `with progress_bar(n, "encoding", None) as tick: tick(1)`.

    Parameters
    ----------
    total : int
        Steps in all.
    label : str
    show : bool or None
        None: on a terminal only.
    """
    # Imported where used: filtering a request needs no bar.
    from tqdm import tqdm

    disable = None if show is None else not show
    with tqdm(total=total, desc=label, disable=disable, leave=False) as bar:
        yield bar.update
