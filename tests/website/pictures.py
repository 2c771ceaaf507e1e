"""Makes the pictures of the documentation from the real things: `make pictures`.

The terminals are `resay demo` and a newcomer's first commands, the report is `resay report`, and
the dashboard shows the journal of a gateway that was asked some questions. The model is simulated.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image

from resay import Guard
from resay.testing import SimulatedProvider
from support.chromium import Chromium, Tab, chromium
from support.gallery import QUESTION, dashboard
from website.recording import record
from website.terminal import WIDTH, Output, drawing

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
MOST_BYTES = 100_000


def terminal() -> None:
    """Draw the part of the demo that has the verdict."""
    done = subprocess.run(
        [sys.executable, "-m", "resay", "demo"],
        env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH)},
        capture_output=True,
        text=True,
        check=True,
    )
    shown = re.search(r"^[^\n]*FLAGGED.*?(?=^\S*Total:)", done.stdout, re.MULTILINE | re.DOTALL)
    assert shown, "the demo flagged nothing; run it again"
    output = Output("$ resay demo\n\n" + shown[0].rstrip())
    PICTURES.joinpath("demo.svg").write_text(drawing([output], title="resay demo", name="demo"))


def report(browser: Chromium, folder: Path) -> None:
    """Take a picture of the HTML page of one verdict."""
    with SimulatedProvider(seed=7) as provider:
        policy = {"chain": [{"method": "prompt", "mode": "per_sample"}]}
        answer = Guard(policy, model="openai/simulated").ask(QUESTION, params=provider.params)
    (folder / "verdict.json").write_text(json.dumps(answer.to_dict()))
    command = ["report", str(folder / "verdict.json"), "--html", str(folder / "verdict.html")]
    subprocess.run([sys.executable, "-m", "resay", *command], check=True, capture_output=True)
    _picture(browser, (folder / "verdict.html").as_uri(), "report", height=760)


def notebook(browser: Chromium, folder: Path) -> None:
    """Take a picture of an answer as notebooks and apps show it."""
    with SimulatedProvider(seed=7) as provider:
        policy = {"chain": [{"method": "facts"}], "threshold": {"doubtful": 0.3}}
        answer = Guard(policy, model="openai/simulated").ask(QUESTION, params=provider.params)
    html = f'<meta charset="utf-8"><body style="margin: 16px">{answer.to_html()}</body>'
    (folder / "notebook.html").write_text(html, encoding="utf-8")
    _picture(browser, (folder / "notebook.html").as_uri(), "notebook", height=190)


def server(browser: Chromium, folder: Path) -> None:
    """Take a picture of the dashboard of a gateway with a day of traffic."""
    with dashboard(folder) as url:
        _picture(browser, f"{url}?span=24h", "dashboard", width=1280, height=735)


def _picture(browser: Chromium, url: str, name: str, *, height: int, width: int = 1100) -> None:
    tab = Tab(browser)
    tab.looks(width=width, height=height)
    tab.send("Emulation.setScrollbarsHidden", hidden=True)
    tab.open(url)
    file = PICTURES / f"{name}.png"
    tab.picture(file)
    # A page has few colours; this makes a third of it.
    image: Any = Image.open(file).convert("RGB")
    image.quantize(128, dither=Image.Dither.NONE).save(file, optimize=True)
    tab.close()


def main() -> None:
    """Make all pictures."""
    PICTURES.mkdir(exist_ok=True)
    terminal()
    record()
    with TemporaryDirectory() as folder, chromium(Path(folder) / "profile") as browser:
        report(browser, Path(folder))
        notebook(browser, Path(folder))
        server(browser, Path(folder))
    for path in sorted(PICTURES.iterdir()):
        size = path.stat().st_size
        assert size < MOST_BYTES, (
            f"{path.name} has {size:,} bytes; at most {MOST_BYTES:,} are allowed"
        )
        sys.stdout.write(f"{path.name}: {size / 1000:.0f} kB\n")


if __name__ == "__main__":
    main()
