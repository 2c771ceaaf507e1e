"""A retriever that searches the files of a folder by keywords."""

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

from resay.core.documents import Document
from resay.errors import ConfigurationError
from resay.retrieval.folder_index import index_folder, index_path
from resay.retrieval.folder_languages import FolderLanguage, require_stems
from resay.retrieval.folder_search import MetadataFilter, search

_log = logging.getLogger(__name__)


class FolderRetriever:
    """Searches text, Markdown, reStructuredText and PDF files by keywords, with BM25.

    The words of a query are matched in the text, the headings above it and the names of the files;
    documents with more, and rarer, of them rank higher. The ranking is that of Robertson and
    Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), as implemented in
    SQLite's FTS5. It is safe to use from any number of threads, event loops and processes.

    Args:
        path: The folder, including subfolders but not hidden files. `~` is the home folder.
        index: The index file, on a local disk; `.resay-index.sqlite` in the folder if None.
        refresh: Whether to update the index before the first search; if not, an index must exist,
            and `index_folder` or `resay index` keeps it up to date.
        language: The language of the files, for updates of the index; see `index_folder`.
        filter: The metadata that a file must have at its top to be found: for each key a value, or
            a list of which any matches.

    Raises:
        MissingDependencyError: The language's stemmer is not installed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        index: str | os.PathLike[str] | None = None,
        refresh: bool = True,
        language: FolderLanguage = "auto",
        filter: MetadataFilter | None = None,  # noqa: A002 - its name in policies
    ) -> None:
        if refresh and language not in ("auto", "none"):
            require_stems(language)
        self._folder = Path(path).expanduser().absolute()
        self._index = index_path(self._folder, index)
        self._refresh = refresh
        self._language: FolderLanguage = language
        self._filter = dict(filter or {})
        self._lock = threading.Lock()
        self._refreshing: Future[None] | None = None

    def __repr__(self) -> str:
        return f"FolderRetriever({str(self._folder)!r})"

    async def prepare(self) -> None:
        """Update the index, unless that was done already or is disabled.

        The update continues if the caller is cancelled, so that the next search finds it done.

        Raises:
            ConfigurationError: The folder cannot be read; or the index cannot be written, is
                damaged, or is another kind of file.
        """
        if self._refresh:
            await asyncio.shield(asyncio.wrap_future(self._refreshed()))

    async def retrieve(self, query: str, *, k: int) -> Sequence[Document]:
        """Find the documents with the words of a query.

        Args:
            query: Any text, without operators.
            k: The maximum number of documents, at least 1.

        Returns:
            The best matches, best first. A document's `id` is the path of its file and its number
            in it. Its `score` is positive and comparable within one search only. Its `metadata` has
            that from the top of the file, `title`, `path`, `start` and `end` (in code points of the
            file's text, or of its page's), and `page` for PDF files.

        Raises:
            ConfigurationError: `k` is less than 1, there is no index, or see `prepare`.
        """
        if k < 1:
            raise ConfigurationError(f"k must be at least 1, not {k!r}")
        await self.prepare()
        run = partial(search, self._index, self._folder, query, k, self._filter)
        return await anyio.to_thread.run_sync(run, abandon_on_cancel=True)

    def _refreshed(self) -> Future[None]:
        """Return the future of the index update, and start one at first or after a failure."""
        with self._lock:
            future = self._refreshing
            if future is None or (future.done() and future.exception() is not None):
                future = self._refreshing = Future()
                future.set_running_or_notify_cancel()
                # A thread of its own, since it may take long, and a daemon, not to keep the process
                # alive. An unfinished update is rolled back.
                threading.Thread(target=self._update_index, args=(future,), daemon=True).start()
            return future

    def _update_index(self, future: Future[None]) -> None:
        try:
            report = index_folder(self._folder, self._index, language=self._language)
        except BaseException as error:
            future.set_exception(error)
            return
        if report.skipped:
            _log.warning(
                "%d files of %s cannot be searched, such as %s; `resay index` lists them",
                len(report.skipped),
                self._folder,
                "; ".join(f"{file.path!r} ({file.reason})" for file in report.skipped[:3]),
            )
        future.set_result(None)
