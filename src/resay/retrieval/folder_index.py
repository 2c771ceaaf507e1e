"""The full-text index of a folder: its tables, its terms, and incremental updates.

The tokenizer splits text at anything but letters, marks and digits, which finds no words in scripts
without spaces. Text in those scripts is therefore also indexed as overlapping n-grams, and searched
by them: two characters if a character is about a syllable, three if it is a letter.

Stems, marked as such, are indexed beside the words, so that a query with one form of a word finds
the others. The form in the query also counts itself, and therefore ranks first.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import threading
import time
import unicodedata
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

from resay.core.languages import STOP_WORDS, guess_language
from resay.core.references import Document
from resay.errors import ConfigurationError
from resay.retrieval.base import Language
from resay.retrieval.folder_files import (
    Content,
    Excerpts,
    Found,
    MetadataValue,
    Skipped,
    UnreadableError,
    excerpts,
    find_files,
    read,
)
from resay.retrieval.folder_stems import (
    TOKENIZER,
    has_stems,
    require_stems,
    stemmer,
    words_of,
)

MetadataFilter: TypeAlias = Mapping[str, MetadataValue | Sequence[MetadataValue]]
"""The required metadata: for each key a value, or a list of which any matches."""

_SYLLABIC = (
    r"\u3005-\u3007\u3041-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    r"\U0001b000-\U0001b16f\U00020000-\U000323af"
)
# Thai, Lao, Myanmar, Khmer.
_ALPHABETIC = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\uaa60-\uaa7f"
# Full-width letters and half-width kana, whose usual forms are indexed as well.
_WIDTHS = r"\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uff9f"
_UNSPACED = re.compile(rf"[{_SYLLABIC}{_ALPHABETIC}{_WIDTHS}]")
_TOKEN = re.compile(rf"(?:[^\W_]|[{_ALPHABETIC}])+")
_STRETCH = re.compile(
    rf"(?P<syllabic>[{_SYLLABIC}]+)|(?P<alphabetic>[{_ALPHABETIC}]+)"
    rf"|[^\W_{_SYLLABIC}{_ALPHABETIC}]+"
)
_LENGTHS = {"syllabic": 2, "alphabetic": 3}


def unspaced_ngrams(text: str) -> str:
    """Return the n-grams to index beside a text, so that its parts without spaces can be found.

    Args:
        text: The text.

    Returns:
        The n-grams, and words adjacent to them, separated by spaces; empty if there are none.
    """
    pieces: list[str] = []
    if text.isascii() or _UNSPACED.search(text) is None:
        return ""
    for token in _TOKEN.findall(text):
        if _UNSPACED.search(token) is None:
            continue
        for stretch, length in _stretches(_usual_form(token)):
            # Every character begins an n-gram; the last ones are shorter.
            begins = range(len(stretch)) if length else ()
            pieces += [stretch[i : i + length] for i in begins] or [stretch]
    return " ".join(pieces)


def phrases_of(query: str, languages: Sequence[str] = ()) -> dict[str, str]:
    """Return the phrases to look up in the index for a query.

    Args:
        query: Any text, without operators.
        languages: The languages whose stems to look up as well.

    Returns:
        The phrases for full-text expressions, each with the word in its indexed form.
    """
    found: dict[str, str] = {}
    for word in _words(query):
        for form in (word, *_words(_usual_form(word))):
            found.update((phrase, _folded(phrase.strip('"*'))) for phrase in _terms(form))
    words = words_of(query)
    for language in languages:
        for stem in stemmer(language).stems([words])[0].split():
            found[f'"{stem}"'] = _folded(stem)
    return found


def _folded(word: str) -> str:
    """Return about the tokenizer's form of a word; it only serves to look up its frequency."""
    letters = unicodedata.normalize("NFKD", word.lower())
    return "".join(c for c in letters if not unicodedata.combining(c))


def _words(query: str) -> list[str]:
    """Split a query as the tokenizer splits a text."""
    return "".join(c if _is_in_word(c) else " " for c in query).split()


def _is_in_word(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char)[0] in "LNM"


def _usual_form(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _terms(word: str) -> Iterator[str]:
    if _UNSPACED.search(word) is None:
        yield f'"{word}"'
        return
    for stretch, length in _stretches(word):
        if not length:
            yield f'"{stretch}"'
        elif len(stretch) < length:
            yield f'"{stretch}"*'
        else:
            last = len(stretch) - length
            yield from (f'"{stretch[i : i + length]}"' for i in range(last + 1))


def _stretches(token: str) -> Iterator[tuple[str, int]]:
    """Split a token by script; yield the parts, each with the length of its n-grams or 0."""
    for match in _STRETCH.finditer(token):
        yield match.group(), _LENGTHS.get(match.lastgroup or "", 0)


_APPLICATION_ID = 0x52657361
# Raise it with every change of the tables, or of how text is split into chunks and words.
_VERSION = 2
# Readers wait only for the commit of a finished run, which takes as long as the disk does; writers
# wait for the whole runs of other writers.
_READER_PATIENCE_S = 60.0
_WRITER_PATIENCE_S = 1800.0
_TABLES = (
    "CREATE TABLE about (folder TEXT NOT NULL, language TEXT NOT NULL, documents INTEGER NOT NULL,"
    " languages TEXT NOT NULL, stemmed TEXT NOT NULL)",
    "CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,"
    " mtime_ns INTEGER NOT NULL, digest BLOB NOT NULL, skipped TEXT, metadata TEXT, language TEXT,"
    " stemmed INTEGER NOT NULL)",
    "CREATE TABLE labels (file INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL)",
    "CREATE INDEX labels_file ON labels (file, key, value)",
    "CREATE TABLE chunks (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, number INTEGER NOT NULL,"
    " start INTEGER NOT NULL, stop INTEGER NOT NULL, page INTEGER)",
    "CREATE INDEX chunks_file ON chunks (file)",
    "CREATE VIRTUAL TABLE words USING fts5 (path, title, text, pieces, stems,"
    f' tokenize = "{TOKENIZER}")',
    "INSERT INTO words (words, rank) VALUES ('rank', 'bm25(1.0, 2.0, 1.0, 1.0, 0.5)')",
    # A large buffer, to write the terms at once instead of in many segments that are merged again
    # and again.
    "INSERT INTO words (words, rank) VALUES ('hashsize', 16777216)",
    "CREATE VIRTUAL TABLE terms USING fts5vocab (words, row)",
    "CREATE TABLE frequent (term TEXT PRIMARY KEY, documents INTEGER NOT NULL) WITHOUT ROWID",
)
_NAMES = ("about", "files", "labels", "chunks", "terms", "words", "frequent")
_SEARCH = """
    SELECT words.path, number, words.title, words.text, start, stop, page, metadata, score
    FROM (
        SELECT rowid AS found, rank AS score FROM words WHERE words MATCH ? {matching}
        ORDER BY rank, rowid LIMIT ?
    )
    JOIN words ON words.rowid = found JOIN chunks ON chunks.id = found
    JOIN files ON files.id = chunks.file
    ORDER BY score, found
"""
# Evaluated only for chunks with the words, however many files have the label.
_LABELLED = """
    AND EXISTS (
        SELECT 1 FROM chunks JOIN labels USING (file) WHERE chunks.id = words.rowid
        AND key = ? AND value IN (SELECT value FROM json_each(?))
    )
"""
# Words in fewer documents count as being in this many.
_FEW = 50
_SUMMARIES = (
    "DELETE FROM frequent",
    f"INSERT INTO frequent SELECT term, doc FROM terms WHERE doc > {_FEW}",  # noqa: S608
    "UPDATE about SET documents = (SELECT count(*) FROM chunks)",
    "UPDATE about SET (languages, stemmed) = (SELECT json_group_array(DISTINCT language),"
    " json_group_array(DISTINCT language) FILTER (WHERE stemmed) FROM files"
    " WHERE language IS NOT NULL)",
)
# The cost of a search is the number of documents it ranks. In folders with more documents than the
# first limit, it ranks only those with the query's rarest words, about as many as the second.
_MANY_DOCUMENTS = 2000
_MOST_RANKED = 1000
_creation_lock = threading.Lock()


class NoIndexError(ConfigurationError):
    """The index does not exist, or this version cannot read it."""


@contextmanager
def opened(
    path: Path, mode: Literal["read", "write"], *, folder: Path
) -> Generator[sqlite3.Connection]:
    """Open an index in a transaction, which is rolled back on errors.

    A reader sees one state while the index is open. A writer excludes other writers.

    Args:
        path: The file; a writer creates it if it is missing.
        mode: Whether to read or write.
        folder: The folder that is indexed.

    Raises:
        NoIndexError: There is no index to read, or it has another version.
        ConfigurationError: It cannot be opened, is damaged, or is another kind of file.
    """
    if mode == "write":
        _make(path, folder)
    elif not path.is_file():
        raise _no_index(path, folder)
    try:
        with closing(_connect(path, mode)) as connection:
            _check(connection, path, folder, mode)
            yield connection
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise _open_error(error, path) from error


# A rollback journal, SQLite's default, instead of a write-ahead log: that needs files beside the
# index which even readers must be able to write, so an index in a read-only folder or image could
# not be read. The price is that readers wait while a transaction is committed. They do not wait
# while it is prepared, because `cache_spill` keeps it in memory until then.
def _connect(path: Path, mode: Literal["read", "write"]) -> sqlite3.Connection:
    # Readers also open it for writing, because they may have to roll back the transaction of a
    # process that died; SQLite falls back to read-only without the permission.
    uri = f"{path.absolute().as_uri()}?mode=rw"
    patience_s = _READER_PATIENCE_S if mode == "read" else _WRITER_PATIENCE_S
    connection = sqlite3.connect(uri, uri=True, timeout=patience_s, isolation_level=None)
    try:
        if mode == "read":
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
        else:
            connection.execute("PRAGMA cache_spill = OFF")
            connection.execute("BEGIN IMMEDIATE")
    except BaseException:
        connection.close()
        raise
    return connection


def _make(path: Path, folder: Path) -> None:
    """Create the file if missing, with the folder's permissions, since it repeats its content."""
    # Closing a file drops SQLite's locks on it in the same process, so no other thread may open
    # this one before it is closed.
    with _creation_lock:
        if path.exists():
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            mode = folder.stat().st_mode & 0o666 | 0o600
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        except OSError as error:
            # Another process may have been faster.
            if not path.is_file():
                raise ConfigurationError(
                    f"cannot make the index {str(path)!r}: {error.strerror}; name a file that can"
                    " be written as `index`"
                ) from error


def _check(
    connection: sqlite3.Connection, path: Path, folder: Path, mode: Literal["read", "write"]
) -> None:
    """Check that a file is an index; create the tables if it is empty or of an older version."""
    application, version = _application_and_version(connection)
    if application == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        version = 0
    elif application != _APPLICATION_ID:
        raise ConfigurationError(
            f"{str(path)!r} is another kind of database; name another file as `index`"
        )
    if version > _VERSION:
        raise NoIndexError(
            f"the index {str(path)!r} was made by a newer version of Resay; upgrade, or name"
            " another file as `index`"
        )
    if version == _VERSION:
        return
    if mode == "read":
        raise _no_index(path, folder)
    _rebuild(connection, path, folder)


def _rebuild(connection: sqlite3.Connection, path: Path, folder: Path) -> None:
    """Drop and create the tables."""
    for name in _NAMES:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute(
        "INSERT INTO about VALUES (?, 'none', 0, '[]', '[]')", (_relative_folder(path, folder),)
    )
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {_VERSION}")


def belongs_to(connection: sqlite3.Connection, path: Path, folder: Path) -> None:
    """Check that an index belongs to a folder.

    Raises:
        ConfigurationError: It belongs to another folder.
    """
    (kept,) = connection.execute("SELECT folder FROM about").fetchone()
    if kept != _relative_folder(path, folder):
        raise ConfigurationError(
            f"{str(path)!r} is the index of another folder, {kept!r} as seen from there, and not of"
            f" {str(folder)!r}; name another file as `index`, or delete it if the folder was moved"
        )


def search(
    path: Path, folder: Path, query: str, k: int, matching: MetadataFilter | None = None
) -> list[Document]:
    """Find the chunks with the words of a query, ranked by BM25.

    Args:
        path: The index.
        folder: The folder that is indexed.
        query: Any text.
        k: The maximum number of chunks.
        matching: The metadata that their files must have: for each key a value, or a list of which
            any matches.

    Returns:
        The best chunks, best first. Their scores are positive and comparable within one search
        only.

    Raises:
        NoIndexError: There is no index, or it has another version.
        ConfigurationError: It cannot be read, is damaged, or is another kind of file.
    """
    wanted: list[str] = []
    for key, value in (matching or {}).items():
        values = [value] if isinstance(value, (str, int, float)) else value
        wanted += [key, json.dumps([label_of(one) for one in values])]
    statement = _SEARCH.format(matching=_LABELLED * (len(wanted) // 2))
    found: list[Document] = []
    with opened(path, "read", folder=folder) as connection:
        for expression, times in _expressions(connection, query):
            rows = connection.execute(statement, (expression, *wanted, k))
            found = [_document(row, times) for row in rows]
            if len(found) == k:
                break
    return found


def label_of(value: MetadataValue) -> str:
    """Normalize a metadata value for comparison: 2024, 2024.0 and "2024" are the same."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _expressions(connection: sqlite3.Connection, query: str) -> Iterator[tuple[str, int]]:
    """Yield full-text expressions for a query, each as a fallback if the last found too few.

    Each comes with the number of times that it counts every word.
    """
    documents, *lists = connection.execute(
        "SELECT documents, languages, stemmed FROM about"
    ).fetchone()
    languages, stemmed = map(json.loads, lists)
    phrases = phrases_of(query, [one for one in stemmed if has_stems(one)])
    if not phrases:
        return
    known: dict[str, int] = dict(
        connection.execute(
            "SELECT term, documents FROM frequent WHERE term IN (SELECT value FROM json_each(?))",
            (json.dumps(list(phrases.values())),),
        )
    )
    counts = {phrase: known.get(word, _FEW) for phrase, word in phrases.items()}
    if documents <= _MANY_DOCUMENTS or sum(counts.values()) <= _MOST_RANKED:
        yield " OR ".join(counts), 1
        return
    # Frequent words are slow to look up and hardly discriminate: a word in half of the documents
    # has no weight in BM25.
    common = frozenset[str]().union(*(STOP_WORDS.get(one, ()) for one in languages))
    rarest = sorted(counts, key=lambda phrase: (phrases[phrase] in common, counts[phrase]))
    distinctive = [
        phrase
        for phrase in rarest
        if counts[phrase] < documents / 2 and phrases[phrase] not in common
    ] or rarest[:1]
    totals = accumulate(counts[phrase] for phrase in distinctive)
    few = sum(total <= _MOST_RANKED for total in totals) or 1
    rare, others = " OR ".join(distinctive[:few]), " OR ".join(distinctive[few:])
    if others:
        # The rare words count twice, since they are in both parts, so the others must as well.
        yield f"({rare}) AND ({rare} OR {others} OR {others})", 2
    yield " OR ".join(distinctive), 1


def _document(row: tuple[Any, ...], times: int) -> Document:
    path, number, title, text, start, end, page, metadata_json, rank = row
    metadata: dict[str, Any] = json.loads(metadata_json) if metadata_json else {}
    metadata |= {"title": title, "path": path, "start": start, "end": end}
    if page is not None:
        metadata["page"] = page
    return Document(f"{path}#{number}", text, -rank / times, metadata)


def _application_and_version(connection: sqlite3.Connection) -> tuple[int, int]:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return application, version


def _relative_folder(path: Path, folder: Path) -> str:
    """Return the folder's path relative to the index, since the two may be moved together."""
    there, here = os.path.realpath(folder), os.path.realpath(path.parent)
    try:
        return Path(os.path.relpath(there, here)).as_posix()
    except ValueError:  # On another drive.
        return Path(there).as_posix()


def _no_index(path: Path, folder: Path) -> NoIndexError:
    return NoIndexError(
        f"there is no index {str(path)!r} that this version of Resay can read; run"
        f" `resay index {folder}`, with --index if it is not in the folder"
    )


def _open_error(error: sqlite3.Error, path: Path) -> ConfigurationError:
    name = str(path)
    if "no such module" in str(error):
        return ConfigurationError(
            "searching a folder needs SQLite with FTS5, which this Python's"
            f" SQLite {sqlite3.sqlite_version} lacks; use a Python with another, or another"
            " retriever"
        )
    if isinstance(error, sqlite3.OperationalError):
        return ConfigurationError(
            f"cannot use the index {name!r}: {error}; see that it can be read, to be changed also"
            " written, as must its folder, or name another file as `index`"
        )
    return ConfigurationError(
        f"{name!r} is damaged, or not a Resay index ({error}); delete it if it is an index, to"
        " rebuild it, or name another file as `index`"
    )


INDEX_NAME = ".resay-index.sqlite"
_ADD_FILE = "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ADD_LABEL = "INSERT INTO labels VALUES (?, ?, ?)"
_ADD_CHUNK = "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)"
_ADD_WORDS = "INSERT INTO words (rowid, path, title, text, pieces, stems) VALUES (?, ?, ?, ?, ?, ?)"
_FORGET = (
    "DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE file = ?)",
    "DELETE FROM chunks WHERE file = ?",
    "DELETE FROM labels WHERE file = ?",
    "DELETE FROM files WHERE id = ?",
)
_LAST = "SELECT (SELECT ifnull(max(id), 0) FROM files), (SELECT ifnull(max(id), 0) FROM chunks)"
# The number of chunks written at once.
_BATCH = 1000
# The words of a file from which its language is guessed.
_GUESSED_FROM = 200


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The result of an update of an index. Paths are relative to the folder.

    Attributes:
        added: The files that were not in the index before.
        changed: The files whose text changed.
        removed: The files that are gone or can no longer be read.
        unchanged: The files that did not change.
        skipped: The files that cannot be searched, with the reasons.
        documents: The number of documents in the index now.
    """

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    documents: int


def index_path(folder: Path, index: str | os.PathLike[str] | None) -> Path:
    """Return the path of the index file of a folder."""
    return folder / INDEX_NAME if index is None else Path(index).expanduser().absolute()


def index_folder(
    path: str | os.PathLike[str],
    index: str | os.PathLike[str] | None = None,
    *,
    language: Language = "auto",
) -> IndexReport:
    """Update or create the index of a folder.

    Files whose size and time did not change are not read. All changes are committed at once:
    concurrent searches, here or in another process, see the previous state. If nothing has
    changed, nothing is written.

    Args:
        path: The folder; `~` is the home folder.
        index: The index file, on a local disk; `.resay-index.sqlite` in the folder if None.
        language: The code of the files' language, so that a search finds inflected words; auto to
            detect it for each file by its stop words, none to match exact words. An index for
            another language is rebuilt.

    Returns:
        The changes made.

    Raises:
        ConfigurationError: The folder cannot be read; or the index cannot be written, is damaged,
            or is another kind of file.
        MissingDependencyError: The language's stemmer is not installed.
    """
    if language not in ("auto", "none"):
        require_stems(language)
    folder = Path(path).expanduser().absolute()
    file = index_path(folder, index)
    listing = find_files(folder, file)
    with suppress(NoIndexError, _OutdatedError):
        return _update_index(folder, file, language, "stamps", listing)
    try:
        return _update_index(folder, file, language, "write")
    except ConfigurationError as error:
        # Copied files have other times than the originals, so an index in a read-only image may be
        # up to date all the same.
        try:
            return _update_index(folder, file, language, "compare", listing)
        except (NoIndexError, _OutdatedError):
            raise error from None


_How = Literal["stamps", "compare", "write"]
_Listing = tuple[Sequence[Found], Sequence[Skipped]]


class _OutdatedError(Exception):
    """The index is outdated, and was opened for reading only."""


@dataclass(frozen=True, slots=True)
class _IndexedFile:
    """The index's record of a file."""

    id: int
    stamp: tuple[int, int]
    digest: bytes
    skipped: str | None


def _update_index(
    folder: Path, file: Path, language: Language, how: _How, listing: _Listing | None = None
) -> IndexReport:
    with opened(file, "write" if how == "write" else "read", folder=folder) as connection:
        belongs_to(connection, file, folder)
        if not _is_stemmed(connection, language, how):
            if how != "write":
                raise _OutdatedError
            _rebuild(connection, file, folder)
            connection.execute("UPDATE about SET language = ?", (language,))
        # A writer lists the files again: while it waited, other writers may have indexed new ones.
        return _Update(connection, language, how).run(listing or find_files(folder, file))


def _is_stemmed(connection: sqlite3.Connection, language: Language, how: _How) -> bool:
    """Return whether an index has the right stems, as far as the stemmers are installed."""
    made_for, *lists = connection.execute(
        "SELECT language, languages, stemmed FROM about"
    ).fetchone()
    languages, stemmed = map(json.loads, lists)
    if made_for != language:
        return False
    # An index that cannot be written stays usable if a stemmer was installed since.
    return how == "compare" or all(one in stemmed for one in languages if has_stems(one))


class _Update:
    """One comparison of a folder with its index.

    Args:
        connection: The index.
        language: The language of the files.
        how: Whether to treat every file with another time as changed (stamps), to read those
            (compare), or also to write the changes (write).
    """

    def __init__(self, connection: sqlite3.Connection, language: Language, how: _How) -> None:
        self._connection = connection
        self._language: Language = language
        self._how: _How = how
        self._added: list[str] = []
        self._changed: list[str] = []
        self._removed: list[str] = []
        self._unchanged: list[str] = []
        self._skipped: list[Skipped] = []
        self._has_changed = False
        self._files: list[tuple[object, ...]] = []
        self._labels: list[tuple[object, ...]] = []
        self._chunks: list[tuple[object, ...]] = []
        self._texts: list[tuple[object, ...]] = []
        # By language: the index of a text in `_texts`, and its words.
        self._to_stem: dict[str, list[tuple[int, list[str]]]] = {}
        self._last_file, self._last_chunk = connection.execute(_LAST).fetchone()

    def run(self, listing: _Listing) -> IndexReport:
        found, unseen = listing
        known = self._known()
        for path in sorted(known.keys() - {one.path for one in found}):
            self._drop(path, known[path])
        for one in found:
            self._compare(one, known.get(one.path))
        self._flush()
        if self._has_changed:
            for statement in _SUMMARIES:
                self._connection.execute(statement)
        self._skipped.extend(unseen)
        return IndexReport(
            added=tuple(self._added),
            changed=tuple(self._changed),
            removed=tuple(self._removed),
            unchanged=tuple(self._unchanged),
            skipped=tuple(sorted(self._skipped, key=lambda skipped: skipped.path)),
            documents=self._connection.execute("SELECT count(*) FROM chunks").fetchone()[0],
        )

    def _known(self) -> dict[str, _IndexedFile]:
        rows = self._connection.execute(
            "SELECT path, id, size, mtime_ns, digest, skipped FROM files"
        )
        return {
            path: _IndexedFile(number, (size, mtime_ns), digest, skipped)
            for path, number, size, mtime_ns, digest, skipped in rows
        }

    def _compare(self, found: Found, known: _IndexedFile | None) -> None:
        if known is not None and known.stamp == (found.size, found.mtime_ns):
            self._keep(found.path, known)
            return
        if self._how == "stamps":
            raise _OutdatedError
        try:
            content = read(found, time.time_ns())
            if known is not None and known.digest == content.digest:
                self._touch(known, content)
                self._keep(found.path, known)
            else:
                self._replace(found.path, known, content)
        except UnreadableError as error:
            self._skipped.append(Skipped(found.path, str(error)))
            if known is not None:
                self._drop(found.path, known)

    def _keep(self, path: str, known: _IndexedFile) -> None:
        if known.skipped is None:
            self._unchanged.append(path)
        else:
            self._skipped.append(Skipped(path, known.skipped))

    def _touch(self, known: _IndexedFile, content: Content) -> None:
        if self._how == "write":
            self._connection.execute(
                "UPDATE files SET mtime_ns = ? WHERE id = ?", (content.mtime_ns, known.id)
            )

    def _replace(self, path: str, known: _IndexedFile | None, content: Content) -> None:
        found = Excerpts(())
        reason = None
        try:
            found = excerpts(path, content.data)
        except UnreadableError as error:
            if not error.lasting:
                raise
            reason = str(error)
        self._must_write()
        had_text = known is not None and known.skipped is None
        if known is not None:
            self._forget(known)
        self._write(path, content, reason, found)
        if reason is not None:
            self._skipped.append(Skipped(path, reason))
            self._removed.extend([path] if had_text else [])
        else:
            (self._changed if had_text else self._added).append(path)

    def _drop(self, path: str, known: _IndexedFile) -> None:
        self._must_write()
        self._forget(known)
        if known.skipped is None:
            self._removed.append(path)

    def _must_write(self) -> None:
        if self._how != "write":
            raise _OutdatedError

    def _forget(self, known: _IndexedFile) -> None:
        self._has_changed = True
        for statement in _FORGET:
            self._connection.execute(statement, (known.id,))

    def _write(self, path: str, content: Content, skipped: str | None, found: Excerpts) -> None:
        self._has_changed = True
        self._last_file = file = self._last_file + 1
        words = [words_of(f"{part.chunk.title}\n{part.text}") for part in found.parts]
        language = self._language_of(words)
        stemmed = language if language is not None and has_stems(language) else None
        metadata_json = json.dumps(found.metadata) if found.metadata else None
        about = (content.size, content.mtime_ns, content.digest, skipped, metadata_json)
        self._files.append((file, path, *about, language, stemmed is not None))
        for key, value in found.metadata.items():
            values = value if isinstance(value, tuple) else (value,)
            self._labels += [(file, key, label_of(one)) for one in values]
        words_of_path = words_of(path)
        for number, part in enumerate(found.parts, 1):
            chunk = part.chunk
            self._last_chunk = row = self._last_chunk + 1
            self._chunks.append((row, file, number, chunk.start, chunk.end, part.page))
            pieces = unspaced_ngrams(f"{path}\n{chunk.title}\n{part.text}")
            self._texts.append((row, path, chunk.title, part.text, pieces))
            if stemmed is not None:
                to_stem = (len(self._texts) - 1, words_of_path + words[number - 1])
                self._to_stem.setdefault(stemmed, []).append(to_stem)
        if len(self._texts) >= _BATCH:
            self._flush()

    def _language_of(self, words: Sequence[Sequence[str]]) -> str | None:
        if self._language == "auto":
            return guess_language(
                islice(chain.from_iterable(words[:3]), _GUESSED_FROM), unique=True
            )
        return None if self._language == "none" else self._language

    def _flush(self) -> None:
        stems = [""] * len(self._texts)
        for language, rows in self._to_stem.items():
            found = stemmer(language).stems([words for _, words in rows])
            for (row, _), stemmed in zip(rows, found, strict=True):
                stems[row] = stemmed
        texts = [(*row, stemmed) for row, stemmed in zip(self._texts, stems, strict=True)]
        for statement, rows in (
            (_ADD_FILE, self._files),
            (_ADD_LABEL, self._labels),
            (_ADD_CHUNK, self._chunks),
            (_ADD_WORDS, texts),
        ):
            self._connection.executemany(statement, rows)
        for pending in (self._files, self._labels, self._chunks, self._texts, self._to_stem):
            pending.clear()
