"""Labelled queries, what they must fulfil, and the files that they are read from.

Two kinds of labels go into a calibration:

- **labelled queries** (`read_labelled`): evidence as character spans of documents, so that any
  chunker can be judged by the same labels;
- **chunk labels** (`read_scores`): one row for each pair of query and chunk, with its score or its
  text, and whether the chunk is relevant.

`sniff` tells which of the two a file holds. Files are UTF-8 (a byte order mark at the start is
passed over), plain or gzip, told by their first bytes and never by their name. Text in them is
data: it is never used as a path, and whatever is wrong is a `LabelledDataError` in one line that
names file and line. A file that cannot be opened at all is the `OSError` that Python raises for it.
"""

from tamis.labelled.chunk_labels import ChunkLabels, read_scores
from tamis.labelled.error import LabelledDataError
from tamis.labelled.kind import sniff
from tamis.labelled.query import Document, LabelledQuery, check_queries
from tamis.labelled.span_labels import read_labelled

__all__ = [
    "ChunkLabels",
    "Document",
    "LabelledDataError",
    "LabelledQuery",
    "check_queries",
    "read_labelled",
    "read_scores",
    "sniff",
]
