"""`grounding` by chat models: their published prompts, answers of the forms that they give."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from resay import Guard
from resay.core.logprobs import TokenLogprob, TopLogprob
from resay.errors import ConfigurationError
from resay.models.chat import ChatAnswer
from resay.scorers.grounding import Grounding, chat_spans
from resay.scorers.grounding.chat_prompts import Bespoke, ClaimPrompt, Lynx
from resay.scorers.grounding.formats import Format
from support.alone import needs
from support.embeddings import ChatServer

pytestmark = pytest.mark.anyio

QUESTION = "What is the capital of France? What is its population?"
CONTEXT = "France is a country in Europe. Its capital is Paris."
CAPITAL = "The capital of France is Paris."
POPULATION = "Its population is 2 million."
ANSWER = f"{CAPITAL} {POPULATION}"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


def bodies(server: ChatServer) -> list[dict[str, Any]]:
    """The requests but the first, which tries whether the server works."""
    first, *others = server.bodies
    assert first["max_tokens"] == 1
    return others


def policy(server: ChatServer, name: str, **settings: Any) -> dict[str, Any]:
    model = {"backend": "chat", "name": name, "url": f"{server.url}"}
    return {"chain": [{"method": "grounding", "model": model, **settings}]}


async def check(server: ChatServer, name: str, *documents: str, **settings: Any) -> Any:
    async with Guard(policy(server, name, **settings)) as guard:
        return await guard.acheck(
            ANSWER, question=QUESTION, references=list(documents or [CONTEXT])
        )


def tokens(*alternatives: Mapping[str, float]) -> dict[str, Any]:
    """Log probabilities as vLLM returns them; the first alternative is the token."""
    content: list[dict[str, Any]] = []
    for probabilities in alternatives:
        top = [{"token": t, "logprob": math.log(p)} for t, p in probabilities.items()]
        content.append({**top[0], "top_logprobs": top})
    return {"content": content}


def by_claim(replies: Mapping[str, tuple[str, Any]]) -> Callable[[Mapping[str, Any]], Any]:
    """Answer a request by the first text that its messages contain."""

    def answer(body: Mapping[str, Any]) -> tuple[str, Any]:
        messages = "\n".join(message["content"] for message in body["messages"])
        matching = (reply for text, reply in replies.items() if text in messages)
        return next(matching, ("Hello!", None))

    return answer


# Bespoke-MiniCheck


async def test_bespoke_is_asked_as_published(server: ChatServer) -> None:
    server.reply = by_claim(
        {
            CAPITAL: ("Yes", tokens({"Yes": 0.9, " yes": 0.05, "No": 0.05})),
            POPULATION: ("No", tokens({"No": 0.8, "Yes": 0.2})),
        }
    )
    verdict = await check(server, "bespoke-minicheck-7b", CONTEXT, "Berlin is in Germany.")
    assert [claim.score for claim in verdict.claims] == pytest.approx([0.05, 0.8])
    assert [claim.flagged for claim in verdict.claims] == [False, True]
    # One claim with one document each, and what the authors send.
    users = sorted(body["messages"][1]["content"] for body in bodies(server))
    assert users[2] == f"Document: {CONTEXT}\nClaim: {POPULATION}"
    assert len(users) == 4
    system = server.bodies[-1]["messages"][0]["content"]
    assert system.startswith("Determine whether the provided claim is consistent with")
    assert system.endswith('responding with either "Yes" or "No".')
    assert server.bodies[-1]["max_tokens"] == 1
    assert server.bodies[-1]["temperature"] == 0.0


async def test_without_log_probabilities_the_word_counts(server: ChatServer) -> None:
    server.reply = by_claim({CAPITAL: ("Yes", None), POPULATION: ("no.", None)})
    verdict = await check(server, "Bespoke-MiniCheck-7B")
    assert [claim.score for claim in verdict.claims] == [0.0, 1.0]


# Granite Guardian


async def test_granite_guardian_4_is_told_its_criterion_in_a_message(server: ChatServer) -> None:
    server.reply = by_claim(
        {
            CAPITAL: ("<think>\n</think>\n<score> no </score>", None),
            POPULATION: (
                "<think>\n</think>\n<score> yes </score>",
                tokens({"<score>": 0.99, "a": 0.01}, {" yes": 0.75, " no": 0.25}, {"</": 1.0}),
            ),
        }
    )
    verdict = await check(server, "ibm-granite/granite-guardian-4.1-8b", CONTEXT, "Lyon is a city.")
    assert [claim.score for claim in verdict.claims] == pytest.approx([0.0, 0.75])
    for body in bodies(server):
        claim, block = body["messages"]
        assert claim["role"] == "assistant"
        assert claim["content"] in (CAPITAL, POPULATION)
        assert block["role"] == "user"
        assert block["content"].startswith("<guardian><no-think>As a judge agent, assess whether")
        assert "\n\n### Criteria: A text is considered ungrounded" in block["content"]
        assert block["content"].endswith(
            "meets the criteria, return 'yes'; otherwise, return 'no'."
        )
        assert body["documents"] == [
            {"doc_id": "0", "text": CONTEXT},
            {"doc_id": "1", "text": "Lyon is a city."},
        ]
        assert "chat_template_kwargs" not in body


@pytest.mark.parametrize("name", ["ibm-granite/granite-guardian-3.3-8b", "granite3.3-guardian:8b"])
async def test_granite_guardian_3_is_told_it_by_its_template(server: ChatServer, name: str) -> None:
    server.reply = by_claim({"": ("<think>\n</think>\n\n<score> no </score>", None)})
    verdict = await check(server, name)
    assert verdict.decision == "consistent"
    for body in bodies(server):
        assert [message["role"] for message in body["messages"]] == ["assistant"]
        config = {"criteria_id": "groundedness"}
        assert body["chat_template_kwargs"] == {"guardian_config": config, "think": False}


# Lynx


async def test_lynx_gives_its_reasons_before_the_score(server: ChatServer) -> None:
    passed = '{"REASONING": ["The document names \\"Paris\\"."], "SCORE": "PASS"}'
    failed = "{'REASONING': ['It does not say how many live there: not PASS'], 'SCORE': FAIL}"
    server.reply = by_claim({f"ANSWER:\n{CAPITAL}": (passed, None), POPULATION: (failed, None)})
    verdict = await check(server, "PatronusAI/Llama-3-Patronus-Lynx-8B-Instruct", CONTEXT, "More.")
    assert [claim.score for claim in verdict.claims] == [0.0, 1.0]
    (prompt,) = [
        body["messages"][0]["content"]
        for body in bodies(server)
        if f"ANSWER:\n{CAPITAL}" in body["messages"][0]["content"]
    ]
    assert f"(THIS DOES NOT COUNT AS BACKGROUND INFORMATION):\n{QUESTION}\n\n--\n" in prompt
    assert f"DOCUMENT:\n{CONTEXT}\nMore.\n\n--\n" in prompt
    assert prompt.endswith('"SCORE": <your final score>}\n')


# LettuceDetect


def spans(*items: tuple[str, str]) -> str:
    listed = [{"text": t, "category": c, "subcategory": "claim"} for t, c in items]
    return json.dumps({"hallucinated_spans": listed})


async def test_typed_spans_stand_in_the_verdict(server: ChatServer) -> None:
    server.text = spans(("2 million", "unsupported_addition"), ("Paris", "contradiction"))
    verdict = await check(server, "lettucedect-v2-qwen-2b")
    (body,) = bodies(server)
    assert body["messages"][1] == {
        "role": "user",
        "content": f"User request: {QUESTION}\n\n{CONTEXT}\n\nAnswer to verify:\n{ANSWER}",
    }
    parts = [part for claim in verdict.claims for part in claim.parts]
    found = [(ANSWER[p.start : p.end], p.band, p.error) for p in parts]
    assert found == [
        ("Paris", "contradicted", "contradiction"),
        ("2 million", "unsupported", "addition"),
    ]
    assert verdict.claims[0].band == "contradicted"
    assert verdict.claims[1].reason == 'no document supports "2 million" (addition)'
    assert type(verdict).from_dict(verdict.to_dict()) == verdict
    kept = verdict.to_dict(content=False)["claims"][1]["parts"]
    assert [part["error"] for part in kept] == ["addition"]


async def test_an_invented_reference_has_a_name_of_its_own(server: ChatServer) -> None:
    server.text = f"```json\n{spans((POPULATION, 'fabricated_reference'))}\n```"
    verdict = await check(server, "KRLabsOrg/lettucedect-v2-qwen-2b")
    assert [claim.flagged for claim in verdict.claims] == [False, True]
    (part,) = verdict.claims[1].parts
    assert part.error == "invention"


async def test_nothing_is_flagged_where_nothing_is_quoted(server: ChatServer) -> None:
    server.text = spans()
    verdict = await check(server, "lettucedect-v2-qwen-2b")
    assert verdict.decision == "consistent"
    assert {claim.score for claim in verdict.claims} == {0.0}


async def test_of_words_that_occur_twice_each_quote_takes_one(server: ChatServer) -> None:
    answer = "Paris is in France. Paris is in Europe. Paris is old."
    server.text = spans(("Paris", "contradiction"), ("Paris", "contradiction"))
    async with Guard(policy(server, "lettucedect-v2-qwen-2b")) as guard:
        verdict = await guard.acheck(answer, references=[CONTEXT])
    assert [claim.flagged for claim in verdict.claims] == [True, True, False]


@pytest.mark.parametrize(
    "text",
    [
        "I cannot help with that.",
        "",
        '{"hallucinated_spans": [{"text": "2 mil',
        '{"spans": []}',
        spans(("words that the answer does not have", "contradiction")),
    ],
)
async def test_an_answer_that_says_nothing_about_this_one_is_no_verdict(
    server: ChatServer, text: str
) -> None:
    server.text = text
    verdict = await check(server, "lettucedect-v2-qwen-2b")
    assert verdict.decision == "inconclusive"
    assert [claim.score for claim in verdict.claims] == [None, None]


@pytest.mark.parametrize("name", ["bespoke-minicheck-7b", "granite-guardian-4.1-8b", "lynx-8b"])
@pytest.mark.parametrize("text", ["", "Perhaps.", "<score> maybe </score>"])
async def test_neither_yes_nor_no_is_no_verdict(server: ChatServer, name: str, text: str) -> None:
    server.text = text
    assert (await check(server, name)).decision == "inconclusive"


# What each format sends, against a plain implementation of its source


# SHA-256 of `SYSTEM_PROMPT` in MiniCheck's minicheck/utils.py, and of `SYSTEM_BASE` in
# LettuceDetect's lettucedetect/prompts/generative.py, which the models were trained with.
BESPOKE_SYSTEM = "016aea4b585f24d1f069463333d5494e570d5f69cdecf8f7edae0c6731dd3c7a"
LETTUCEDETECT_SYSTEM = "05939b718dc3b737541666c3debf1ea426316bef7b410057cf1ee6c64a635e6f"
LYNX = (
    "Given the following QUESTION, DOCUMENT and ANSWER you must analyze the provided answer and"
    " determine whether it is faithful to the contents of the DOCUMENT. The ANSWER must not offer"
    " new information beyond the context provided in the DOCUMENT. The ANSWER also must not"
    " contradict information provided in the DOCUMENT. Output your final verdict by strictly"
    ' following this format: "PASS" if the answer is faithful to the DOCUMENT and "FAIL" if the'
    " answer is not faithful to the DOCUMENT. Show your reasoning.\n\n"
    f"--\nQUESTION (THIS DOES NOT COUNT AS BACKGROUND INFORMATION):\n{QUESTION}\n\n"
    f"--\nDOCUMENT:\n{CONTEXT}\n\n--\nANSWER:\n{CAPITAL}\n\n--\n\n"
    'Your output should be in JSON FORMAT with the keys "REASONING" and "SCORE":\n'
    '{"REASONING": <your reasoning as bullet points>, "SCORE": <your final score>}\n'
)


@pytest.mark.parametrize(
    ("format_", "expected"),
    [
        (
            "bespoke",
            [("system", BESPOKE_SYSTEM), ("user", f"Document: {CONTEXT}\nClaim: {CAPITAL}")],
        ),
        (
            "lettucedetect_chat",
            [
                ("system", LETTUCEDETECT_SYSTEM),
                ("user", f"User request: {QUESTION}\n\n{CONTEXT}\n\nAnswer to verify:\n{ANSWER}"),
            ],
        ),
        ("lynx", [("user", LYNX)]),
    ],
)
async def test_a_format_is_that_of_its_source(
    server: ChatServer, format_: str, expected: list[tuple[str, str]]
) -> None:
    await check(server, "detector", format=format_)
    sent: list[list[tuple[str, str]]] = []
    for body in bodies(server):
        messages: list[tuple[str, str]] = []
        for message in body["messages"]:
            text = message["content"]
            is_system = message["role"] == "system"
            digest = hashlib.sha256(text.encode()).hexdigest()
            messages.append((message["role"], digest if is_system else text))
        sent.append(messages)
    assert expected in sent


def test_the_table_of_formats_has_each_with_its_source() -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    _, _, section = page.partition("### Formats\n")
    lines = section.split("\n#")[0].splitlines()
    rows = [line for line in lines if line.startswith("| `") and "](" in line]
    assert {row.split("`")[1] for row in rows} == set(get_args(Format))


# Settings


async def test_a_format_can_be_named_whatever_the_server_calls_the_model(
    server: ChatServer,
) -> None:
    server.text = spans(("2 million", "unsupported_addition"))
    verdict = await check(server, "detector", format="lettucedetect_chat")
    assert verdict.flagged


@pytest.mark.parametrize("suffix", ["", "/v1", "/v1/", "/v1/chat/completions"])
async def test_an_address_is_that_of_the_server_or_its_api(server: ChatServer, suffix: str) -> None:
    server.text = spans()
    chat = {
        "backend": "chat",
        "name": "lettucedect-v2-qwen-2b",
        "url": server.url.removesuffix("/v1") + suffix,
    }
    async with Guard({"chain": [{"method": "grounding", "model": chat}]}) as guard:
        assert (await guard.acheck(ANSWER, references=[CONTEXT])).decision == "consistent"


async def test_an_answer_in_a_list_is_read_too(server: ChatServer) -> None:
    server.text = f"[{spans(('2 million', 'unsupported_addition'))}]"
    assert (await check(server, "lettucedect-v2-qwen-2b")).flagged


def test_a_chat_model_of_unknown_format_is_refused(server: ChatServer) -> None:
    with pytest.raises(ConfigurationError, match="does not know how to ask 'gpt-9'; set its"):
        Guard(policy(server, "gpt-9"))


def test_a_chat_format_needs_a_server() -> None:
    settings = {"model": "PatronusAI/Lynx", "format": "lynx"}
    with pytest.raises(ConfigurationError, match="`backend: chat`, `name` and `url`"):
        Grounding(Grounding.Config.model_validate(settings))


@needs("numpy")
def test_other_methods_do_not_run_chat_models(server: ChatServer) -> None:
    nli = {"method": "nli", "model": {"backend": "chat", "name": "m", "url": server.url}}
    with pytest.raises(ConfigurationError, match="a chat server cannot run 'm' for this method"):
        Guard({"chain": [nli]})


async def test_a_server_that_fails_costs_the_check_and_not_the_answer(server: ChatServer) -> None:
    async with Guard(policy(server, "lettucedect-v2-qwen-2b")) as guard:
        server.statuses = [500] * 4
        verdict = await guard.acheck(ANSWER, references=[CONTEXT])
    assert verdict.decision == "inconclusive"
    assert "ServerError" in str(verdict.reason)


# Answers that tell the judge what to say


async def test_the_verdict_is_the_last_object_that_the_model_writes(server: ChatServer) -> None:
    quoted = 'The answer says {"hallucinated_spans": []} and has {braces}.'
    verdict_of_model = json.dumps({"hallucinated_spans": [{"text": POPULATION, "category": "x"}]})
    server.reply = by_claim({"": (f"{quoted}\n\n{verdict_of_model}", None)})
    verdict = await check(server, "lettucedect-v2-qwen-2b")
    assert [claim.flagged for claim in verdict.claims] == [False, True]


@pytest.mark.parametrize(
    ("prompt", "quoted"),
    [(Lynx(), 'It says {"SCORE": "PASS"}, but'), (Bespoke(), "<think>")],
)
def test_a_model_that_gave_no_verdict_passes_and_flags_nothing(
    prompt: ClaimPrompt, quoted: str
) -> None:
    top = (TopLogprob("<think>", -0.1), TopLogprob("<", -3.0))
    token = TokenLogprob("<think>", -0.1, top=top)
    answer = ChatAnswer(quoted, was_cut=True, tokens=(token,))
    assert prompt.support(answer) is None


def test_spans_that_were_cut_are_no_verdict() -> None:
    text = 'It says {"hallucinated_spans": []}, but'
    assert chat_spans._quotes(ChatAnswer(text, was_cut=True)) is None
    assert chat_spans._quotes(ChatAnswer(text)) == []
