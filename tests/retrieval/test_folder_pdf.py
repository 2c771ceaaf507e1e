from __future__ import annotations

import asyncio
import io
import sys
from pathlib import Path

import pytest

from resay.retrieval import FolderRetriever, index_folder


def pdf_of(*pages: str, font: bytes = b"", stream: bytes = b"") -> bytes:
    """Make a PDF file with a line of text on each page; the stream is the last object."""
    contents = [f"BT /F1 12 Tf 72 720 Td ({page}) Tj ET".encode() for page in pages]
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica %s >>" % font,
    ]
    for i, content in enumerate(contents):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792]"
            b" /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>" % (5 + 2 * i)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    out, offsets = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return out + (
        b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
        + b"trailer\n<< /Size %d /Root 1 0 R >>\n" % (len(objects) + 1)
        + b"startxref\n%d\n%%%%EOF\n" % len(out)
    )


def test_the_pages_of_pdf_files(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    (tmp_path / "guide.PDF").write_bytes(pdf_of("The bridge opened.", "", "It has lamps."))
    (document,) = asyncio.run(FolderRetriever(tmp_path).retrieve("lamps", k=10))
    assert (document.id, document.text, document.title) == ("guide.PDF#2", "It has lamps.", "guide")
    assert document.metadata == {
        "title": "guide",
        "path": "guide.PDF",
        "start": 0,
        "end": len("It has lamps."),
        "page": 3,
    }


def test_pdf_files_without_text_are_skipped(tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    (tmp_path / "empty.pdf").write_bytes(pdf_of(""))
    (tmp_path / "damaged.pdf").write_bytes(pdf_of("text")[:60])
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf_of("secret")))
    writer.encrypt("password", algorithm="RC4-128")
    writer.write(tmp_path / "locked.pdf")
    for _ in range(2):
        report = index_folder(tmp_path)
        assert report.documents == 0
        reasons = {skipped.path: skipped.reason for skipped in report.skipped}
        assert "scan" in reasons.pop("empty.pdf")
        assert "damaged" in reasons.pop("damaged.pdf")
        assert "password" in reasons.pop("locked.pdf")
        assert not reasons


def test_pdf_files_wait_for_the_package_that_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pypdf")
    (tmp_path / "guide.pdf").write_bytes(pdf_of("The bridge opened."))
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pypdf", None)
        (skipped,) = index_folder(tmp_path).skipped
        assert skipped.path == "guide.pdf"
        assert "pip install 'resay[pdf]'" in skipped.reason
    report = index_folder(tmp_path)
    assert (report.added, report.skipped) == (("guide.pdf",), ())


def test_glyphs_of_several_letters_are_letters(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    font = b"/Encoding << /Type /Encoding /Differences [65 /fi /ffi] >>"
    (tmp_path / "guide.pdf").write_bytes(pdf_of("The oBce and the Anal bridge.", font=font))
    (document,) = asyncio.run(FolderRetriever(tmp_path).retrieve("final", k=10))
    assert document.text == "The office and the final bridge."


HALF_A_CHARACTER = b"""
/CIDInit /ProcSet findresource begin 12 dict begin begincmap
1 begincodespacerange <00> <FF> endcodespacerange
1 beginbfchar <41> <D800> endbfchar
endcmap
"""


def test_half_a_character_is_replaced(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    data = pdf_of("A bridge.", font=b"/ToUnicode 6 0 R", stream=HALF_A_CHARACTER)
    (tmp_path / "guide.pdf").write_bytes(data)
    (document,) = asyncio.run(FolderRetriever(tmp_path).retrieve("bridge", k=10))
    assert document.text == "\ufffd bridge."
