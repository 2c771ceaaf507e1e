"""Search the full-text index of a folder, ranked by BM25."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias

from resay.core.documents import Document
from resay.lang.language import stop_words
from resay.retrieval.folder_database import FREQUENT_FROM, label_of, open_index
from resay.retrieval.folder_languages import has_stems
from resay.retrieval.folder_terms import phrases_of
from resay.retrieval.front_matter import MetadataValue

MetadataFilter: TypeAlias = Mapping[str, MetadataValue | Sequence[MetadataValue]]
"""The required metadata: for each key a value, or a list of which any matches."""

_SEARCH = """
    SELECT words.path, number, words.title, words.text, start, stop, page, metadata, score
    FROM (
        SELECT rowid AS chunk, rank AS score FROM words WHERE words MATCH ? {conditions}
        ORDER BY rank, rowid LIMIT ?
    )
    JOIN words ON words.rowid = chunk JOIN chunks ON chunks.id = chunk
    JOIN files ON files.id = chunks.file
    ORDER BY score, chunk
"""
# Evaluated only for chunks with the words, however many files have the label.
_HAS_LABEL = """
    AND EXISTS (
        SELECT 1 FROM chunks JOIN labels USING (file) WHERE chunks.id = words.rowid
        AND key = ? AND value IN (SELECT value FROM json_each(?))
    )
"""
# The cost of a search is the number of documents it ranks. In folders with more documents than the
# first limit, it ranks only those with the query's rarest words, about as many as the second.
_MANY_DOCUMENTS = 2000
_MAX_RANKED = 1000


def search(
    path: Path, folder: Path, query: str, k: int, metadata_filter: MetadataFilter | None = None
) -> list[Document]:
    """Find the chunks with the words of a query, ranked by BM25.

    Args:
        path: The index.
        folder: The folder that is indexed.
        query: Any text.
        k: The maximum number of chunks.
        metadata_filter: The metadata that their files must have: for each key a value, or a list of
            which any matches.

    Returns:
        The best chunks, best first. Their scores are positive and comparable within one search
        only.

    Raises:
        NoIndexError: There is no index, or it has another version.
        ConfigurationError: It cannot be read, is damaged, or is another kind of file.
    """
    conditions = ""
    arguments: list[str] = []
    for key, value in (metadata_filter or {}).items():
        values = [value] if isinstance(value, (str, int, float)) else value
        conditions += _HAS_LABEL
        arguments += [key, json.dumps([label_of(item) for item in values])]
    statement = _SEARCH.format(conditions=conditions)
    documents: list[Document] = []
    with open_index(path, "read", folder=folder) as connection:
        for expression, word_count in _expressions(connection, query):
            rows = connection.execute(statement, (expression, *arguments, k))
            documents = [_document(row, word_count) for row in rows]
            if len(documents) == k:
                break
    return documents


def _expressions(connection: sqlite3.Connection, query: str) -> Iterator[tuple[str, int]]:
    """Yield full-text expressions for a query, each as a fallback if the last found too few.

    Each comes with the number of times that it counts every word.
    """
    document_count, *lists = connection.execute(
        "SELECT documents, languages, stemmed FROM about"
    ).fetchone()
    languages, stemmed = map(json.loads, lists)
    phrases = phrases_of(query, list(filter(has_stems, stemmed)))
    if not phrases:
        return
    frequencies: dict[str, int] = dict(
        connection.execute(
            "SELECT term, documents FROM frequent WHERE term IN (SELECT value FROM json_each(?))",
            (json.dumps(list(phrases.values())),),
        )
    )
    counts = {phrase: frequencies.get(word, FREQUENT_FROM) for phrase, word in phrases.items()}
    if document_count <= _MANY_DOCUMENTS or sum(counts.values()) <= _MAX_RANKED:
        yield " OR ".join(counts), 1
        return
    # Frequent words are slow to look up and hardly discriminate: a word in half of the documents
    # has no weight in BM25.
    ignored = frozenset[str]().union(*map(stop_words, languages))
    rarest = sorted(counts, key=lambda phrase: (phrases[phrase] in ignored, counts[phrase]))
    distinctive = [
        phrase
        for phrase in rarest
        if counts[phrase] < document_count / 2 and phrases[phrase] not in ignored
    ] or rarest[:1]
    totals = accumulate(counts[phrase] for phrase in distinctive)
    rare_count = sum(total <= _MAX_RANKED for total in totals) or 1
    rare, others = " OR ".join(distinctive[:rare_count]), " OR ".join(distinctive[rare_count:])
    if others:
        # The rare words count twice, since they are in both parts, so the others must as well.
        yield f"({rare}) AND ({rare} OR {others} OR {others})", 2
    yield " OR ".join(distinctive), 1


def _document(row: tuple[Any, ...], word_count: int) -> Document:
    path, number, title, text, start, end, page, metadata_json, rank = row
    metadata: dict[str, Any] = json.loads(metadata_json) if metadata_json else {}
    metadata |= {"title": title, "path": path, "start": start, "end": end}
    if page is not None:
        metadata["page"] = page
    return Document(f"{path}#{number}", text, -rank / word_count, metadata)
