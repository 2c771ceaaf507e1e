"""Every kind of page that Resay makes, with as much on it as a page usually has."""

from __future__ import annotations

import random
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import anyio
import httpx

from resay import Guard, Verdict
from resay.adapters.pages import Reported, page
from resay.plugins import VerdictRecord
from resay.testing import SimulatedProvider
from resay_lab.batch import results_page, run_batch
from resay_lab.calibration import calibrate
from resay_lab.calibration.report import html_of
from resay_server.gateway import Gateway, GatewayConfig, serving
from resay_server.journal import Entry, JournalConfig, open_journal
from support.batch import write_lines

__all__ = ["QUESTION", "dashboard", "gallery"]

QUESTION = "Tell me about the Sydney Harbour Bridge."
DOCUMENTS = Path(__file__).resolve().parents[2] / "examples" / "rag_repair"
POLICIES = {
    "default": "chain: [{method: prompt, mode: per_sample}]\ncache: {store: none}\n",
    "cheap": "chain: [{method: facts}]\n",
}


@contextmanager
def gallery(folder: Path) -> Generator[Mapping[str, str]]:
    """Make all pages, and yield the address of each by its name.

    Args:
        folder: An empty folder for files.
    """
    pages = {
        "batch report": _batch_report(folder),
        "calibration": _calibration(folder),
        "verdicts": _verdicts(folder),
        "to_html": _in_notebook(),
    }
    addresses: dict[str, str] = {}
    for name, html in pages.items():
        file = folder / f"{name.replace(' ', '-')}.html"
        file.write_text(html, encoding="utf-8")
        addresses[name] = file.as_uri()
    with dashboard(folder) as url:
        newest = httpx.get(f"{url}/api/entries?limit=1").raise_for_status().json()
        entry_id = newest["entries"][0]["id"]
        yield {
            **addresses,
            "dashboard": url,
            "dashboard by model": f"{url}?by=model&decision=flagged",
            "dashboard without verdicts": f"{url}?model=none",
            "verdict": f"{url}/verdicts/{entry_id}",
            "label": f"{url}/label?entry={entry_id}",
            "label queue": f"{url}/label",
            "missing": f"{url}/verdicts/none",
        }


def _batch_report(folder: Path) -> str:
    """Return the report on answers in two languages, some of which cannot be checked."""
    rows: list[dict[str, Any]] = []
    for lamps in range(30, 90):
        others = (lamps, lamps, lamps) if lamps % 3 else (11, 22, 33)
        rows.append(
            {
                "id": f"row-{lamps}",
                "lang": "en" if lamps % 2 else "de",
                "response": f"The bridge opened in 1932. It has {lamps} lamps.",
                "samples": [f"The bridge opened in 1932. It has {n} lamps." for n in others],
            }
        )
    rows[7]["samples"] = []
    rows[8]["samples"] = ["I do not know."]
    rows[9]["response"] = None
    rows[10]["response"] = "`x = 1`"
    answers = write_lines(folder / "answers.jsonl", rows)
    out = folder / "scored.jsonl"
    run_batch(Guard({"chain": [{"method": "facts"}]}), answers, out, workers=1)
    return results_page(out, group="lang")[0]


def _calibration(folder: Path) -> str:
    """Return the diagrams of a calibration."""
    rng = random.Random(0)
    rows: list[dict[str, Any]] = []
    for index in range(200):
        is_made_up, lamps = index % 2 == 1, rng.randint(100, 999)
        other = 0.8 if is_made_up else 0.2
        others = [rng.randint(100, 999) if rng.random() < other else lamps for _ in range(4)]
        rows.append(
            {
                "response": f"The bridge opened in 1932. It has {lamps} lamps.",
                "samples": [f"The bridge opened in 1932. It has {n} lamps." for n in others],
                "sentences": ["correct", "hallucinated" if is_made_up else "correct"],
            }
        )
    labels = write_lines(folder / "labels.jsonl", rows)
    return html_of(calibrate({"chain": [{"method": "facts"}]}, labels))


def _verdicts(folder: Path) -> str:
    """Return the page about a flagged answer, a repaired one, and some without a decision."""
    with SimulatedProvider(seed=7) as provider:
        guard = Guard(model="openai/simulated", params=provider.params)
        flagged = guard.ask(QUESTION)
        repairing = Guard(
            {
                "chain": [{"method": "prompt"}],
                "action": {
                    "do": "regenerate",
                    "retriever": {
                        "kind": "folder",
                        "path": str(DOCUMENTS),
                        "index": str(folder / "documents.sqlite"),
                    },
                },
            },
            model="openai/simulated",
            params=provider.params,
        )
        repaired = repairing.ask(QUESTION)
    alone = Guard({"chain": [{"method": "facts"}]})
    samples = ["The bridge opened in 1932."] * 3
    verdicts: list[Verdict | Reported] = [
        Reported.from_dict(flagged.to_dict()),
        Reported.from_dict(repaired.to_dict()),
        alone.check("The bridge opened in 1932.", samples=samples),
        alone.check("The bridge opened in 1932.", samples=[]),
        alone.check("Good morning!", samples=samples),
    ]
    return page(verdicts, title="Verdicts of a day")


def _in_notebook() -> str:
    """Return what notebooks and applications show, in a page of theirs."""
    text = "The bridge opened in 1932. It has 31 lamps. `x = 1` is code."
    guard = Guard({"chain": [{"method": "facts"}], "threshold": {"doubtful": 0.2}})
    verdict = guard.check(
        text, samples=[f"The bridge opened in 1932. It has {n} lamps." for n in (11, 22, 33)]
    )
    with SimulatedProvider(seed=7) as provider:
        answer = Guard(guard.policy, model="openai/simulated").ask(QUESTION, params=provider.params)
    shown = "\n".join((verdict.to_html(text), verdict.to_html(), answer.to_html()))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(QUESTION)}</title>'
        '<meta name="viewport" content="width=device-width">'
        '<meta name="color-scheme" content="light dark">'
        # axe-core takes a page without a background for a white one.
        "<style>body { background: Canvas; color: CanvasText }</style>"
        f"<body><main><h1>An application</h1>{shown}</main></body></html>"
    )


@contextmanager
def dashboard(folder: Path) -> Generator[str]:
    """Serve the dashboard of a gateway with a day of traffic, and yield its address.

    Args:
        folder: An empty folder for files.
    """
    journal = f"sqlite:///{folder / 'journal.db'}"
    policies = {name: folder / f"{name}.yaml" for name in POLICIES}
    for name, file in policies.items():
        file.write_text(POLICIES[name])
    anyio.run(_write_traffic, journal)
    with SimulatedProvider(seed=7) as provider:
        config = GatewayConfig.of(
            {
                "upstream": {"url": provider.base_url},
                "policies": {name: str(file) for name, file in policies.items()},
                "journal": {"url": journal, "content": "all"},
            }
        )
        with serving(Gateway(config)) as url:
            request = {
                "model": "gpt-4.1-mini",
                "messages": [{"role": "user", "content": QUESTION}],
            }
            for _ in range(4):
                httpx.post(
                    f"{url}/v1/chat/completions", json=request, timeout=60
                ).raise_for_status()
        # A gateway that has ended has written all.
        with serving(Gateway(config)) as url:
            yield f"{url}/ui"


async def _write_traffic(url: str) -> None:
    """Write the verdicts of a day into a journal."""
    journal = open_journal(JournalConfig(url=url, content="all"))
    for entry in _entries():
        await journal.append(entry)
    await journal.flush()
    await journal.aclose()


def _entries() -> Iterator[Entry]:
    rng = random.Random(7)
    guard = Guard({"chain": [{"method": "facts"}]})
    now = time.time()
    for age in sorted((rng.random() * 86_000 for _ in range(300)), reverse=True):
        lamps, is_made_up = rng.randint(10, 99), rng.random() < 0.2
        others = [rng.randint(10, 99) if is_made_up else lamps for _ in range(4)]
        verdict = guard.check(
            f"The bridge opened in 1932. It has {lamps} lamps.",
            samples=[f"The bridge opened in 1932. It has {n} lamps." for n in others],
        )
        entry = Entry.of(
            VerdictRecord(
                verdict=verdict,
                model=rng.choice(("gpt-4.1-mini", "claude-sonnet-5")),
                policy="support",
                action="annotate",
                latency_s=rng.lognormvariate(0.6, 0.4),
                question="When did the bridge open, and how many lamps does it have?",
            )
        )
        yield replace(entry, time=now - age)
