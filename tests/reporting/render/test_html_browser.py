"""The page in a real browser, where one is installed."""

from __future__ import annotations

import shutil
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from resay import Contradiction, SentenceVerdict, Verdict
from resay.reporting.render.html import Reported, page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")

ATTACK = '<script>document.title="ran"</script><img src=x onerror="document.title=\'ran\'">'
VERDICT = Verdict(
    "flagged",
    0.5,
    "1 of 2 sentences > 0.50",
    (
        SentenceVerdict("It opened in 1932.", 0, 18, 0.1, by="nli"),
        SentenceVerdict(
            ATTACK,
            19,
            19 + len(ATTACK),
            0.9,
            True,
            "nli",
            ATTACK,
            Contradiction("sample", 0, ATTACK),
        ),
    ),
)
LIGHT, DARK = (0xF6, 0xF6, 0xF4), (0x15, 0x17, 0x1A)
Browse = Callable[..., str]


@pytest.fixture
def browse(tmp_path: Path) -> Browse:
    """Opens a page in a browser of its own and returns what that prints."""

    def run(markup: str, *options: str, at: str = "") -> str:
        file = tmp_path / "page.html"
        file.write_text(markup, encoding="utf-8")
        assert BROWSER is not None
        done = subprocess.run(
            [
                BROWSER,
                "--headless",
                "--no-sandbox",  # it shows nothing but this file, and containers have no other way
                "--disable-gpu",
                "--no-first-run",
                f"--user-data-dir={tmp_path / 'profile'}",
                *options,
                f"{file.as_uri()}{at}",
            ],
            capture_output=True,
            text=True,
            timeout=90,
            check=True,
        )
        return done.stdout

    return run


def corner(png: bytes) -> tuple[int, ...]:
    """Return the first pixel of a picture; no filter changes that one."""
    data, position = b"", 8
    while position < len(png):
        size = int.from_bytes(png[position : position + 4], "big")
        if png[position + 4 : position + 8] == b"IDAT":
            data += png[position + 8 : position + 8 + size]
        position += 12 + size
    return tuple(zlib.decompress(data)[1:4])


@pytest.mark.parametrize(("scheme", "paper"), [("1", LIGHT), ("0", DARK)])
def test_it_is_painted_as_the_reader_likes_it(
    browse: Browse, tmp_path: Path, scheme: str, paper: tuple[int, ...]
) -> None:
    picture = tmp_path / "page.png"
    browse(
        page([VERDICT]),
        "--window-size=900,1200",
        f"--blink-settings=preferredColorScheme={scheme}",
        f"--screenshot={picture}",
    )
    # The colour comes from the style sheet: the policy has let it in.
    assert corner(picture.read_bytes()) == paper


def test_what_a_model_says_stays_words(browse: Browse) -> None:
    said = Reported(VERDICT, id=ATTACK, text=f"It opened in 1932. {ATTACK}", action="annotate")
    dom = browse(page([said], title=ATTACK), "--dump-dom")
    assert "<script" not in dom
    assert "<img" not in dom
    assert "<title>ran" not in dom
    assert dom.count("&lt;script&gt;") >= 5


def test_the_policy_stops_what_should_get_in_nevertheless(browse: Browse) -> None:
    broken = page([VERDICT]).replace("</main>", f"</main>{ATTACK}")
    assert "<title>Verdicts – Resay</title>" in browse(broken, "--dump-dom")
    open_page = broken.replace("Content-Security-Policy", "x")
    assert "<title>ran</title>" in browse(open_page, "--dump-dom")


def test_the_link_of_a_sentence_opens_what_is_folded(browse: Browse) -> None:
    folded = '<details class="part">'
    assert folded in browse(page([VERDICT]), "--dump-dom")
    assert '<details class="part" open="">' in browse(page([VERDICT]), "--dump-dom", at="#v1-s1")
