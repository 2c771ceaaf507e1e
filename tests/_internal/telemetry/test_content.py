"""No word of anybody is in what operators see."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from resay import Document, Guard, ProviderError, Request
from resay.plugins import Completions
from support.otel import Seen
from support.regenerating import MADE_UP, Model, Shelf, guard_of

pytestmark = pytest.mark.anyio

QUESTION = "Tell me about the quokkaesque Kessel Bridge."
DRAFT = f"The vermilionic Kessel Bridge crosses the Oder. {MADE_UP}"
DOCUMENT = Document("shelf-9", "The Kessel Bridge was designed by Zephyrine in 1928.", 1.0)
SECRET = "sk-brontosaur"
WORDS = (
    *("quokkaesque", "vermilionic", "Vogel", "Zephyrine", "Kessel", "brontosaur", "designed"),
    *("built it", "shelf-9", "acme-tenant"),
)


class Talkative(Model):
    """Fails for some of the judge's questions, with all it was asked in the message."""

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        context, _, sentence = request.question.partition("Sentence: ")
        if "vermilionic" in sentence and "Take 3" in context:
            raise ProviderError(f"{request.messages} with {SECRET}")
        return await super().complete(request, n=n)


def told(seen: Seen, caplog: pytest.LogCaptureFixture) -> str:
    logged = [f"{record.getMessage()} {vars(record)}" for record in caplog.records]
    return "\n".join([seen.everything(), *logged])


def assert_no_content(text: str) -> None:
    assert "resay.check" in text
    assert not [word for word in WORDS if word.lower() in text.lower()]


@pytest.mark.parametrize("mode", ["repair", "rewrite"])
@pytest.mark.parametrize("documents", [(DOCUMENT,), OSError(f"Zephyrine {SECRET}")])
async def test_repair_reports_no_content(
    seen: Seen, caplog: pytest.LogCaptureFixture, mode: str, documents: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    repaired = "It was designed by Zephyrine in 1928. [1]"
    model = Talkative(DRAFT, repairs=lambda _: repaired, rewritten=lambda _: repaired)
    guard = guard_of(model, Shelf(documents), {"mode": mode})
    await guard.aask(QUESTION, tenant="acme-tenant", params={"api_key": SECRET})
    assert seen.named("resay.retrieve")
    assert_no_content(told(seen, caplog))


@pytest.mark.parametrize("mode", ["hold", "after", "buffer"])
async def test_streams_tell_no_content(
    seen: Seen, caplog: pytest.LogCaptureFixture, mode: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    policy = {"chain": [{"method": "prompt", "form": "published"}], "limits": {"retries": 0}}
    guard = Guard(policy, provider=Talkative(DRAFT))
    async with guard.astream(QUESTION, stream_mode=mode, tenant="acme-tenant") as stream:
        async for _ in stream:
            pass
    assert any((s.attributes or {}).get("resay.failures") for s in seen.spans)
    assert_no_content(told(seen, caplog))


async def test_errors_tell_no_content(seen: Seen, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Model):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            raise RuntimeError(f"{request.messages} with {SECRET}") from ValueError(
                request.question
            )

    caplog.set_level(logging.DEBUG)
    guard = Guard(
        {"chain": [{"method": "prompt", "form": "published"}], "limits": {"retries": 0}},
        provider=Broken(),
    )
    with pytest.raises(RuntimeError):
        await guard.aask(QUESTION)
    await guard.acheck(DRAFT, question=QUESTION)
    assert {s.status.description for s in seen.named("resay.check")} == {"RuntimeError", None}
    assert_no_content(told(seen, caplog))
