"""The web applications of docs/cookbook.md and examples/apps, each with its framework.

`make test-frameworks` installs the frameworks first.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from simulation import SimulatedProvider
from support.versions import ran

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = (ROOT / "docs" / "cookbook.md").read_text()
INSTALLED = os.environ.get("RESAY_TEST_FRAMEWORKS")
QUESTION = "Tell me about the Sydney Harbour Bridge."
# Each uses the application as its framework's own tests would, and prints what a user sees.
USERS = {
    "fastapi": f"""
from fastapi.testclient import TestClient
from app import app
print(TestClient(app).post("/ask", json={{"text": {QUESTION!r}}}).raise_for_status().text)
""",
    "streamlit": f"""
import json
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("app.py", default_timeout=60).run()
app.chat_input[0].set_value({QUESTION!r}).run()
assert not app.exception, app.exception
doubtful = [warning.value.removeprefix("Not confirmed: ") for warning in app.warning]
decision, _, _ = app.expander[0].label.partition(":")
text = app.chat_message[1].markdown[0].value
print(json.dumps({{"text": text, "decision": decision, "doubtful": doubtful}}))
""",
}

ANSWER = "The bridge opened in 1932. It has 31 lamps."
OTHERS = "The bridge opened in 1932. It has 33 lamps.\nIt opened in 1932. It has 35 lamps."
# The same for those in examples/apps; they print the flagged sentences, and the HTML shown.
EXAMPLE_USERS = {
    "gradio": f"""
import json
from gradio_app import app
from gradio_client import Client
_, url, _ = app.launch(prevent_thread_lock=True, server_name="127.0.0.1", quiet=True)
spans, html = Client(url, verbose=False).predict({ANSWER!r}, {OTHERS!r}, api_name="/check")
bands = ("unsupported", "contradicted")
flagged = [span["token"] for span in spans if span["class_or_confidence"] in bands]
app.close(verbose=False)
print(json.dumps({{"flagged": flagged, "html": html}}))
""",
    "streamlit": f"""
import json
from streamlit.testing.v1 import AppTest
app = AppTest.from_file({str(ROOT / "examples" / "apps" / "streamlit_app.py")!r})
app.run(timeout=60)
app.text_area[0].set_value({ANSWER!r})
app.text_area[1].set_value({OTHERS!r})
app.button[0].click().run(timeout=60)
assert not app.exception, app.exception
frame = app.dataframe[0].value
flagged = list(frame.loc[frame["flagged"], "sentence"])
print(json.dumps({{"flagged": flagged, "html": app.get("html")[0].proto.body}}))
""",
}


def program_of(framework: str) -> str:
    (program,) = re.findall(
        rf"^## {framework}$.*?^```py\n(.*?)^```",
        PAGE,
        re.MULTILINE | re.DOTALL | re.IGNORECASE,
    )
    return program


@pytest.mark.parametrize("framework", USERS)
def test_a_program_is_short_and_has_its_versions(framework: str) -> None:
    assert (HERE / f"{framework}.txt").exists()
    assert 10 <= len(program_of(framework).splitlines()) <= 30


def output_of(framework: str, program: str, folder: Path, **env: str) -> Any:
    """Run a program in a framework's environment, and return the JSON that it prints last."""
    python = Path(INSTALLED or "").resolve() / framework / "bin" / "python"
    done = subprocess.run(
        [python, "-c", program],
        env={**os.environ, **env},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.skipif(INSTALLED is None, reason="`make test-frameworks` installs the frameworks")
@pytest.mark.timeout(660)  # most of it imports
@pytest.mark.parametrize("framework", USERS)
def test_an_application_shows_what_is_in_doubt(
    framework: str, simulated: SimulatedProvider, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(program_of(framework))
    shown = output_of(
        framework,
        USERS[framework],
        tmp_path,
        OPENAI_API_KEY="simulated",
        OPENAI_BASE_URL=simulated.base_url,
        PYTHONPATH=str(tmp_path),
    )
    assert "Sydney Harbour Bridge" in shown["text"]
    assert shown["decision"] == "flagged"
    assert shown["doubtful"]
    assert all(sentence in shown["text"] for sentence in shown["doubtful"])
    ran("frameworks", Path(INSTALLED or ""), framework)


@pytest.mark.skipif(INSTALLED is None, reason="`make test-frameworks` installs the frameworks")
@pytest.mark.timeout(660)  # most of it imports
@pytest.mark.parametrize("framework", EXAMPLE_USERS)
def test_an_example_shows_a_verdict_in_colours(framework: str, tmp_path: Path) -> None:
    shown = output_of(
        framework,
        EXAMPLE_USERS[framework],
        tmp_path,
        GRADIO_ANALYTICS_ENABLED="False",
        PYTHONPATH=str(ROOT / "examples" / "apps"),
    )
    assert shown["flagged"] == ["It has 31 lamps."]
    assert 'It has <u style="color: inherit">31 lamps</u>.</span><sup>1</sup>' in shown["html"]
    ran("frameworks", Path(INSTALLED or ""), framework)
