"""A real browser, driven through a pipe with the Chrome DevTools Protocol."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fcntl import F_DUPFD, fcntl
from pathlib import Path
from threading import Condition, Thread
from typing import Any

import pytest

__all__ = ["BROWSER", "Chromium", "Tab", "browser", "chromium", "tab"]

# With the headless shell the tests take less than half of the processor time.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next(filter(None, map(shutil.which, _NAMES)), None) if sys.platform != "win32" else None
_PATIENCE_S = 30
_DOMAINS = ("Page", "Runtime", "Log", "Network", "Audits")
# A promise that resolves as soon as a condition holds on the page.
_UNTIL = """new Promise((done) => {
  const look = () => (%s) && (seen.disconnect(), done(true));
  const seen = new MutationObserver(look);
  seen.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
  look();
})"""


class Chromium:
    """A browser.

    Args:
        reading: The file descriptor that the browser writes to.
        writing: The one that it reads from.
    """

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = open(reading, "rb", buffering=0)  # noqa: SIM115 - closed with the browser
        self._writing = open(writing, "wb", buffering=0)  # noqa: SIM115
        self._changed = Condition()
        self._answers: dict[int, dict[str, Any]] = {}
        self._events: list[dict[str, Any]] = []
        self._last = 0
        self._gone = False
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def send(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Send a command, and return its result."""
        with self._changed:
            self._last += 1
            number = self._last
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self._writing.write(json.dumps(message).encode() + b"\0")
        with self._changed:
            came = self._changed.wait_for(
                lambda: number in self._answers or self._gone, _PATIENCE_S
            )
            assert came, f"no answer to {method} within {_PATIENCE_S} s"
            assert number in self._answers, "the browser is gone"
            answer = self._answers.pop(number)
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def events(self, session: str, *names: str) -> list[dict[str, Any]]:
        """Return the events so far, by their names."""
        with self._changed:
            return [
                event["params"]
                for event in self._events
                if event.get("sessionId") == session and event["method"] in names
            ]

    def wait(self, condition: Callable[[], bool]) -> None:
        """Wait until events make something true."""
        with self._changed:
            assert self._changed.wait_for(condition, _PATIENCE_S), "it did not happen"

    def close(self) -> None:
        """Close the browser."""
        try:
            self.send("Browser.close")
        finally:
            self._thread.join(_PATIENCE_S)
            self._reading.close()
            self._writing.close()

    def _read(self) -> None:
        rest = b""
        while piece := self._reading.read(1 << 20):
            *messages, rest = (rest + piece).split(b"\0")
            with self._changed:
                for message in map(json.loads, messages):
                    if "id" in message:
                        self._answers[message["id"]] = message
                    else:
                        self._events.append(message)
                self._changed.notify_all()
        with self._changed:
            self._gone = True
            self._changed.notify_all()


class Tab:
    """A page of a browser, isolated from others."""

    def __init__(self, browser: Chromium) -> None:
        self._browser = browser
        self._context = browser.send("Target.createBrowserContext")["browserContextId"]
        made = browser.send(
            "Target.createTarget", url="about:blank", browserContextId=self._context
        )
        attached = browser.send("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in _DOMAINS:
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command, and return its result."""
        return self._browser.send(method, self._session, **params)

    def events(self, *names: str) -> list[dict[str, Any]]:
        """Return the events so far, by their names."""
        return self._browser.events(self._session, *names)

    def close(self) -> None:
        """Close the page."""
        self._browser.send("Target.disposeBrowserContext", browserContextId=self._context)

    def looks(self, scheme: str = "light", width: int = 1280, height: int = 900) -> None:
        """Set the colour scheme and the size of the window."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.send("Emulation.setEmulatedMedia", features=[feature])
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def open(self, url: str) -> None:
        """Navigate to an address."""
        with self.loading():
            self.send("Page.navigate", url=url)

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Wait for the page load that the block causes."""
        before = len(self.events("Page.loadEventFired"))
        yield
        self._browser.wait(lambda: len(self._events_inside()) > before)

    def _events_inside(self) -> list[dict[str, Any]]:
        return self.events("Page.loadEventFired")

    def run(self, script: str) -> Any:
        """Return the value of an expression on the page."""
        done = self.send(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def until(self, condition: str) -> None:
        """Wait until an expression is true."""
        self.run(_UNTIL % condition)

    def press(self, key: str, modifiers: int = 0) -> None:
        """Press a key."""
        codes = {"Tab": 9, "Enter": 13, " ": 32, "Escape": 27}
        told: dict[str, Any] = {
            "key": key,
            "code": "Space" if key == " " else key,
            "windowsVirtualKeyCode": codes.get(key) or ord(key),
            "modifiers": modifiers,
        }
        if key in {"Enter", " "}:
            told["text"] = "\r" if key == "Enter" else " "
        self.send("Input.dispatchKeyEvent", type="keyDown", **told)
        self.send("Input.dispatchKeyEvent", type="keyUp", **told)

    def tab_to(self, selector: str, most: int = 80) -> None:
        """Press Tab until an element has the focus."""
        for _ in range(most):
            self.press("Tab")
            if self.run(f"document.activeElement.matches({json.dumps(selector)})"):
                return
        raise AssertionError(f"{selector} cannot be reached with the Tab key")

    def troubles(self) -> list[Any]:
        """Return errors, policy violations, exceptions and dialogs."""
        logged = [
            event["entry"]
            for event in self.events("Log.entryAdded")
            if event["entry"]["level"] in {"error", "warning"}
        ]
        called = [
            event for event in self.events("Runtime.consoleAPICalled") if event["type"] != "log"
        ]
        return [
            *logged,
            *called,
            *self.events(
                "Runtime.exceptionThrown", "Page.javascriptDialogOpening", "Audits.issueAdded"
            ),
        ]

    def asked(self) -> list[str]:
        """Return every requested address."""
        return [event["request"]["url"] for event in self.events("Network.requestWillBeSent")]

    def picture(self, path: Path | None = None, *, whole: bool = False) -> bytes:
        """Return a screenshot, as PNG."""
        options: dict[str, Any] = {}
        if whole:
            size = self.send("Page.getLayoutMetrics")["cssContentSize"]
            options = {"captureBeyondViewport": True, "clip": {**size, "scale": 1}}
        data = base64.b64decode(self.send("Page.captureScreenshot", **options)["data"])
        if path is not None:
            path.write_bytes(data)
        return data


@contextmanager
def chromium(profile: Path) -> Iterator[Chromium]:
    """Run a browser."""
    assert BROWSER is not None
    there, writing = os.pipe()
    reading, back = os.pipe()
    # Keep 3 and 4 free for the browser's ends.
    ends = [fcntl(there, F_DUPFD, 10), fcntl(back, F_DUPFD, 10)]

    def hand_over() -> None:
        os.dup2(ends[0], 3)
        os.dup2(ends[1], 4)

    process = subprocess.Popen(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",  # it opens only our own pages, and a sandbox does not run in containers
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=hand_over,
        pass_fds=(3, 4),
    )
    for end in (there, back, *ends):
        os.close(end)
    browser = Chromium(reading, writing)
    try:
        yield browser
    finally:
        browser.close()
        process.wait(_PATIENCE_S)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A browser for all tests of a folder."""
    with chromium(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture
def tab(browser: Chromium) -> Iterator[Tab]:
    """A tab of the browser, in sight."""
    one = Tab(browser)
    one.looks()
    yield one
    one.close()
