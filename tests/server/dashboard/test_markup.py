"""Nothing that strangers say becomes markup."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from resay import Contradiction, Document, SentenceVerdict, StepRecord, Verdict
from resay.adapters import run_sync
from resay.core.regeneration import Attempt, Edit, Regeneration
from resay.plugins import JudgeCall, RecordedEvidence, Reference, VerdictRecord
from resay_server.journal import Entry, JournalConfig, open_journal
from support.dashboard import asking, shown
from support.html import Element

PIECES = (
    *("<script>x()</script>", "<img src=x onerror=x()>", "</td></tr></table>", "<!--", "-->"),
    *(
        '"',
        "'",
        ">",
        "<",
        "&",
        "&lt;",
        "&#x3c;b&#x3e;",
        "]]>",
        "<![CDATA[",
        "</title>",
        "<svg/onload=x>",
    ),
    *('" onfocus="x()" autofocus="', "javascript:x()", "\x00", "\ud800", "\u202e", "\r\n", "\t"),
    *("</textarea>", "<style>*{}</style>", "<base href=//evil>", "`", "{{x}}", "é", "語"),
)
STRANGE = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), min_size=1, max_size=6).map(
    "".join
)
NAMES = frozenset(
    (
        *("#page", "html", "head", "meta", "title", "link", "script", "body", "a", "b", "bdi", "p"),
        *("header", "main", "footer", "section", "nav", "article", "div", "span", "small", "h1"),
        *("h2", "h3", "h4", "dl", "dt", "dd", "ul", "ol", "li", "table", "caption", "thead"),
        *("tbody", "tr", "th", "td", "time", "figure", "figcaption", "svg", "path", "rect"),
        *("circle", "text", "details", "summary", "form", "label", "input", "select", "option"),
        *("fieldset", "legend", "kbd"),
        *("datalist", "button", "meter", "code", "em", "del", "ins", "pre", "mark", "q"),
    )
)
ATTRIBUTES = frozenset(
    (
        *("lang", "charset", "name", "content", "rel", "href", "type", "src", "class", "id"),
        *("role", "tabindex", "hidden", "scope", "datetime", "dir", "open", "for", "value"),
        *("list", "maxlength", "placeholder", "autocomplete", "spellcheck", "selected", "action"),
        *("method", "viewbox", "d", "x", "y", "cx", "cy", "r", "width", "height", "min", "max"),
        *("low", "high", "optimum", "download", "form", "required"),
    )
)


def said(text: str) -> Verdict:
    document = Document(text, text, 1.0, {"title": text, "url": text})
    attempt = Attempt(text, (text,), (text,), 0.5, 0.4, "flagged", text)
    return Verdict(
        "flagged",
        0.5,
        text,
        (
            SentenceVerdict(
                text, 0, 9, 0.9, True, text, text, Contradiction("sample", 0, text), (text,)
            ),
            SentenceVerdict(text, 10, 19, None, by=text),
        ),
        5,
        (StepRecord(text, 2, 0.5, failures={text: 1}, error=text, reason=text, skip_reason=text),),
        regeneration=Regeneration(
            "repair",
            (attempt,),
            0,
            text,
            0.5,
            text,
            (Edit(text, text, 0, 9, (text,)),),
            (document,),
        ),
    )


def harmless(page: Element) -> None:
    scripts = page.all("script")
    assert len(scripts) <= 1
    ours = ("/ui/static/dashboard-", "/ui/static/label-")
    assert all((e.attributes["src"] or "").startswith(ours) for e in scripts)
    for element in page.walk():
        assert element.name in NAMES
        for name, value in element.attributes.items():
            assert name in ATTRIBUTES or name.startswith(("aria-", "data-")), name
            if name in {"href", "src", "action"}:
                assert (value or "").startswith(("/ui", "#")), value


@given(strange=STRANGE, question=STRANGE)
def test_no_field_becomes_markup(tmp_path_factory: Any, strange: str, question: str) -> None:
    folder: Path = tmp_path_factory.mktemp("journal")
    journal = open_journal(JournalConfig(url=f"sqlite:///{folder / 'j.db'}", content="all"))
    # The kinds of characters an id may have.
    entry_id = "".join(c for c in strange if "!" <= c <= "~")[:90] + "."
    entry = Entry.of(
        VerdictRecord(
            verdict=said(strange),
            model=strange,
            policy=strange,
            action="regenerate",
            request_id=strange,
            tenant=strange,
            question=question,
        )
    )
    call = JudgeCall(
        method=strange, prompt=strange, answers=(strange,), claims=(strange,), model=strange
    )
    evidence = RecordedEvidence(
        samples=(strange,),
        second_samples=(strange,),
        references=(Reference(strange, strange, title=strange),),
        judge_calls=(call, replace(call, claims=(), answers=(), error=strange)),
    )
    entry = replace(entry, id=entry_id + "x", evidence=evidence)

    async def look() -> None:
        assert await journal.append(entry)
        await journal.flush()
        async with asking(journal) as client:
            for by in ("model", "policy", "tenant"):
                page = await shown(client, f"/ui?by={by}")
                harmless(page)
                assert len(page.one("table", "log").all("tr")) == 2
            kept = (await journal.recent(1))[0].model
            if kept:
                filtered = await shown(client, f"/ui?model={quote(kept[:200])}")
                harmless(filtered)
            harmless(await shown(client, "/ui/live"))
            harmless(await shown(client, f"/ui/verdicts/{quote(entry_id + 'x', safe='')}"))
            harmless(await shown(client, f"/ui/label?entry={quote(entry_id + 'x', safe='')}"))
        await journal.aclose()

    run_sync(look)
