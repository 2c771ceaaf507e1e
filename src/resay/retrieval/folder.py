"""Searching the files of a folder by their words."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path

import anyio.to_thread

from resay.core.references import Document
from resay.errors import ConfigurationError
from resay.retrieval.base import Language
from resay.retrieval.folder_index import MetadataFilter, index_folder, index_path, search
from resay.retrieval.folder_stems import require_stems

_log = logging.getLogger(__name__)


class FolderRetriever:
    """Searches text, Markdown, reStructuredText and PDF files by their words, with BM25.

    The words of a search are looked for in the text, the headings above it and the names of the
    files; documents with rarer words, and with more of them, come first. The ranking is Robertson &
    Zaragoza's, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), as SQLite's FTS5
    has it. It may be used from any number of threads, event loops and processes.

    Args:
        path: The folder; its subfolders belong to it, hidden files do not. `~` is the home folder.
        index: The file of the index, on a local disk; `.resay-index.sqlite` in the folder if None.
        refresh: Whether to bring the index up to date before the first search; if not, there must
            be one, and `index_folder` or `resay index` keeps it up to date.
        language: What language the files are in, for an index that is brought up to date here; see
            `index_folder`.
        filter: What the metadata at the top of a file must be for it to be found: for each key a
            value, or any of several.

    Raises:
        MissingDependencyError: What finds inflected words of the language is not installed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        index: str | os.PathLike[str] | None = None,
        refresh: bool = True,
        language: Language = "auto",
        filter: MetadataFilter | None = None,  # noqa: A002 - what policies call it
    ) -> None:
        if refresh and language not in ("auto", "none"):
            require_stems(language)
        self._folder = Path(path).expanduser().absolute()
        self._index = index_path(self._folder, index)
        self._refresh = refresh
        self._language: Language = language
        self._filter = dict(filter or {})
        self._lock = threading.Lock()
        self._refreshing: Future[None] | None = None

    def __repr__(self) -> str:
        return f"FolderRetriever({str(self._folder)!r})"

    async def prepare(self) -> None:
        """Bring the index up to date, unless that was done or is not wanted.

        It goes on when it is no longer waited for, so that the next search finds it done.

        Raises:
            ConfigurationError: The folder cannot be read, or the index cannot be written, is
                damaged, or is something else.
        """
        if self._refresh:
            await asyncio.shield(asyncio.wrap_future(self._refreshed()))

    async def retrieve(self, query: str, *, k: int) -> Sequence[Document]:
        """Find the documents with the words of a search.

        Args:
            query: Any text; nothing in it is an operator.
            k: How many documents at the most, at least 1.

        Returns:
            The documents that fit best, best first. A document's `id` is the path of its file with
            its number in there, its `score` is positive and to be compared within one search only,
            its `metadata` has what stands at the top of the file, `title`, `path`, `start` and
            `end` (in code points of the file's text, or of its page's), and `page` for PDF files.

        Raises:
            ConfigurationError: `k` is less than 1, there is no index, or see `prepare`.
        """
        if k < 1:
            raise ConfigurationError(f"k must be at least 1, not {k!r}")
        await self.prepare()
        find = partial(search, self._index, self._folder, query, k, self._filter)
        return await anyio.to_thread.run_sync(find, abandon_on_cancel=True)

    def _refreshed(self) -> Future[None]:
        """Return what tells when the index is up to date; after a failure, try again."""
        with self._lock:
            done = self._refreshing
            if done is None or (done.done() and done.exception() is not None):
                done = self._refreshing = Future()
                done.set_running_or_notify_cancel()
                # It may take long: not one of the threads that everything else has to share, and
                # none that keeps the process from ending. What it has not finished is undone.
                threading.Thread(target=self._index_into, args=(done,), daemon=True).start()
            return done

    def _index_into(self, done: Future[None]) -> None:
        try:
            report = index_folder(self._folder, self._index, language=self._language)
        except BaseException as error:
            done.set_exception(error)
            return
        if report.skipped:
            _log.warning(
                "%d files of %s cannot be searched; `resay index` says why",
                len(report.skipped),
                self._folder,
            )
        done.set_result(None)
