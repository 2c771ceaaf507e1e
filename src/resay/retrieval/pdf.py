"""The text of PDF files."""

from __future__ import annotations

import io

from resay._internal.importing import load_optional
from resay.errors import MissingDependencyError
from resay.retrieval.folder_files import MAX_BYTES, UnreadableError

# Fonts may have one glyph for several letters, and PDF files then contain that ligature.
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)
_MAX_PAGES = 3_000
_MAX_CHARS = MAX_BYTES


class _TooLongError(Exception):
    """A PDF file is too long to be read."""


def page_texts(data: bytes) -> list[str]:
    """Return the text of each page of a PDF file.

    Raises:
        UnreadableError: It contains no text, or cannot be read.
    """
    try:
        pypdf = load_optional("pypdf", package="pypdf", extra="pdf", purpose="reading PDF files")
    except MissingDependencyError as error:
        raise UnreadableError(str(error), lasting=False) from error
    texts: list[str] = []
    try:
        pages = pypdf.PdfReader(io.BytesIO(data)).pages
        if len(pages) > _MAX_PAGES:
            raise _TooLongError(f"it has {len(pages):,} pages")
        chars = 0
        for page in pages:
            text = _clean(page.extract_text())
            texts.append(text)
            chars += len(text)
            # What it says about itself may be wrong, and it is packed.
            if len(texts) > _MAX_PAGES or chars > _MAX_CHARS:
                raise _TooLongError("it has more text than it says")
    except _TooLongError as error:
        reason = f"{error}; PDF files of at most {_MAX_PAGES:,} pages are read: split it"
        raise UnreadableError(reason, lasting=True) from None
    except pypdf.errors.DependencyError as error:
        reason = f"reading it needs another package: {error}"
        raise UnreadableError(reason, lasting=False) from error
    except pypdf.errors.FileNotDecryptedError as error:
        raise UnreadableError("it is protected by a password", lasting=True) from error
    except Exception as error:
        # On a damaged file, the reader may raise anything.
        raise UnreadableError("it is damaged, or no PDF file", lasting=True) from error
    if not any(text.strip() for text in texts):
        raise UnreadableError(
            "there is no text in it; if it is a scan, run text recognition (OCR) over it",
            lasting=True,
        )
    return texts


def _clean(text: str) -> str:
    # Damaged fonts yield lone surrogates, which cannot be stored as text.
    encodable = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return encodable.translate(_LIGATURES)
