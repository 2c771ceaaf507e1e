from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.adapters import without_reasoning
from resay.core.reasoning import notice_after, split_reasoning
from resay.core.reasoning_reader import ReasoningReader

ANSWER = "The bridge opened in 1932."
DRAFT = "Opened in 1950? No, that was the other one.\n\nSo it is 1932."

FORMS = {
    "think": f"<think>\n{DRAFT}\n</think>\n\n{ANSWER}",
    "in a line": f"<think>{DRAFT}</think>{ANSWER}",
    "thinking": f"<thinking>{DRAFT}</thinking> {ANSWER}",
    "thought": f"<thought>\n{DRAFT}\n</thought>\n\n{ANSWER}",
    "reasoning": f"<reasoning>{DRAFT}</reasoning>\n{ANSWER}",
    "reflection": f"<reflection>{DRAFT}</reflection>\n{ANSWER}",
    "scratchpad": f"<scratchpad>{DRAFT}</scratchpad>\n{ANSWER}",
    "capitals": f"<THINK>{DRAFT}</Think>{ANSWER}",
    "attributes": f'<thinking mode="deep" n=3>{DRAFT}</thinking>{ANSWER}',
    "spaces": f"\n \n< think >{DRAFT}</ think >\n{ANSWER}",
    "byte order mark": f"\ufeff<think>{DRAFT}</think>{ANSWER}",
    "namespace": f"<seed:think>{DRAFT}</seed:think>{ANSWER}",
    "prefix": f"<longcat_think>{DRAFT}</longcat_think>{ANSWER}",
    "inner monologue": f"<inner_monologue>{DRAFT}</inner_monologue>{ANSWER}",
    "tokens": f"<|think|>{DRAFT}<|/think|>{ANSWER}",
    "Chinese": f"<think>想一想。</think>{ANSWER}",
    "Chinese, opened in the prompt": f"想一想。</think>{ANSWER}",
    "Kimi": f"◁think▷{DRAFT}◁/think▷{ANSWER}",
    "Magistral": f"[THINK]{DRAFT}[/THINK]{ANSWER}",
    "Cohere": f"<|START_THINKING|>{DRAFT}<|END_THINKING|>"
    f"<|START_RESPONSE|>{ANSWER}<|END_RESPONSE|>",
    "thought tokens": f"<|begin_of_thought|>{DRAFT}<|end_of_thought|>\n"
    f"<|begin_of_solution|>{ANSWER}<|end_of_solution|>",
    "Gemma": f"<|channel>thought\n{DRAFT}<channel|>{ANSWER}",
    "Apertus": f"<|inner_prefix|>{DRAFT}<|inner_suffix|>{ANSWER}",
    "Pangu": f"[unused16]{DRAFT}[unused17]{ANSWER}",
    "harmony": f"<|channel|>analysis<|message|>{DRAFT}<|end|>"
    f"<|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>",
    "harmony, begun in the prompt": f"{DRAFT}<|end|><|start|>assistant"
    f"<|channel|>final<|message|>{ANSWER}",
    "harmony without tokens": f"analysis{DRAFT}assistantfinal{ANSWER}",
    "Granite": f"Here is my thought process:\n{DRAFT}\n\nHere is my response:\n{ANSWER}",
    "closing tag alone": f"{DRAFT}\n</think>\n\n{ANSWER}",
    "closing tag alone, in a line": f"{DRAFT}</think>{ANSWER}",
    "closing tag alone, after a space": f"{DRAFT} </think> {ANSWER}",
    "closing tag alone, without a stop": f"so it is 1932 </think>\n\n{ANSWER}",
    "switched off": f"<think>\n\n</think>\n\n{ANSWER}",
    "nothing but the closing tag": f"</think>\n\n{ANSWER}",
    "twice": f"<think>{DRAFT}</think>\n<think>Sure.</think>\n{ANSWER}",
    "closed twice": f"<think>{DRAFT}</think>\n</think>\n{ANSWER}",
    "nested": f"<thinking>{DRAFT}<reflection>Hm.</reflection> Yes.</thinking>\n{ANSWER}",
    "nested in itself": f"<think>Hm. <think>{DRAFT}</think> So it is.</think>\n{ANSWER}",
    "nested twice": f"<think>A <Think>b <think>{DRAFT}</think> c</THINK> d.</think>{ANSWER}",
    "two blocks in one": f"<think>\n<think>a</think>\n<think>b</think>\nc\n</think>\n\n{ANSWER}",
    "mentions an opening tag": f"<think>I open with a <think> first. {DRAFT}</think>\n{ANSWER}",
    "closed by another name": f"<think>{DRAFT}</thinking>{ANSWER}",
    "mentions the tag": f"<think>I end with `</think>`. {DRAFT}\n</think>\n{ANSWER}",
    "an open backtick": f"<think>`{DRAFT} 1932` or `1950</think>\n{ANSWER}",
    "answer tag": f"<think>{DRAFT}</think>\n<answer>\n{ANSWER}\n</answer>",
    "response tag": f"<think>\n{DRAFT}\n</think>\n\n\n<response>\n{ANSWER}\n</response>\n",
    "output tag": f"<thinking>{DRAFT}</thinking><output>{ANSWER}</output>",
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_reasoning_is_told_from_the_answer(text: str) -> None:
    split = split_reasoning(text)
    assert split.answer.strip() == ANSWER
    assert text[split.start : split.end].strip() == ANSWER
    assert split.unclosed == ""


ABOUT = {
    "inline code": f"DeepSeek writes `<think>` and `</think>`. {ANSWER}",
    "code": f"```\n<think>\nHm.\n</think>\n```\n{ANSWER}",
    "code after words": f"{ANSWER}\n\n```xml\nHm.\n</think>\n```\nThat is all.",
    "tildes": f"{ANSWER}\n~~~\n</think>\n~~~\nThat is all.",
    "prose": f"{ANSWER} Close your reasoning with </think> before you answer.",
    "prose that begins with it": f"<think> is a tag of DeepSeek. {ANSWER}",
    "prose that begins with both": f"<think> and </think> enclose the reasoning. {ANSWER}",
    "both in a sentence": f"<thinking> opens it, and </thinking> closes it. {ANSWER}",
    "an article": f"The </think> tag ends the reasoning. {ANSWER}",
    "the end of a line": f"{ANSWER} The reasoning ends with </think>\n\nThat is all.",
    "the end of a sentence": f"{ANSWER} It writes </think>. That is all.",
    "quotes": f'{ANSWER} The mark is "</think>" in all of them. That is all.',
    "parentheses": f"{ANSWER} It closes its tag (</think>) and answers.",
    "a list of marks": f"Tags:\n- `<think>`\n- </think>\n\n{ANSWER}",
    "a numbered list": f"1. <think> opens\n2. </think> closes\n\n{ANSWER}",
    "a table": f"| tag | use |\n|---|---|\n| </think> | closes |\n\n{ANSWER}",
    "a line of its own": f"{ANSWER} End your thoughts with\n</think>\nand answer.",
    "indented code": f"Use this:\n\n    </think>\n\n{ANSWER}",
    "German": f"Das Modell schreibt </think> am Ende. {ANSWER}",
    "Chinese": f"用<think>和</think>标签包围推理。{ANSWER}",
    "details": f"<details><summary>More</summary>Hm.</details>\n{ANSWER}",
    "markup": f"<doc>\n<think>Hm.</think>\n<year>1932</year>\n</doc>\n{ANSWER}",
    "a pair in prose": f"{ANSWER} For example: <think>Hm.</think> Then it answers.",
    "an empty element": f"<think/>{ANSWER}",
    "other markup": f"<p>{ANSWER}</p>\n<details>So it is.</details>",
    "a link": f"[think](https://example.org) {ANSWER}",
    "words": f"Analysis of the bridge: {ANSWER}",
    "words without their end": f"Here is my thought process: {ANSWER}",
    "none": ANSWER,
    "nothing": "",
}


@pytest.mark.parametrize("text", ABOUT.values(), ids=ABOUT)
def test_an_answer_that_speaks_of_the_marks_loses_nothing(text: str) -> None:
    split = split_reasoning(text)
    assert (split.answer, split.reasoning, split.unclosed) == (text, (), "")


def test_after_reasoning_the_answer_may_speak_of_the_marks_too() -> None:
    for text in ABOUT.values():
        if text.strip() and not text.startswith(("<", "Here")):
            assert without_reasoning(f"<think>Hm.</think>\n{text}") == text


def test_a_tag_that_the_answer_mentions_closes_no_reasoning() -> None:
    answer = f"{ANSWER} Write </think> to close it."
    assert split_reasoning(f"<think>I open with a <think> first.</think>{answer}").answer == answer


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        (f"<think>{DRAFT}", "</think>"),
        (f"<Thinking>\n{DRAFT}", "</Thinking>"),
        (f"◁think▷{DRAFT}", "◁/think▷"),
        ("<think>", "</think>"),
        (f"<think>Hm.</think>\n<think>{DRAFT}", "</think>"),
        (f"<|channel|>analysis<|message|>{DRAFT}", "<|channel|>final<|message|>"),
    ],
)
def test_reasoning_without_an_end_leaves_no_answer(text: str, mark: str) -> None:
    split = split_reasoning(text)
    assert split.is_unanswered
    assert split.answer == ""
    assert split.unclosed.endswith(mark)
    assert split_reasoning(f"{text}{split.unclosed}{ANSWER}").answer == ANSWER


def test_reasoning_between_the_parts_of_an_answer() -> None:
    text = f"<think>A.</think>{ANSWER}\n<think>It is red? It is grey.</think>\nIt is grey."
    split = split_reasoning(text)
    assert split.answer.split("\n")[0] == ANSWER
    assert split.answer.split("\n")[-1] == "It is grey."
    assert "red" not in split.answer
    assert len(split.answer) == split.end - split.start
    assert [text[start:end] for start, end in split.reasoning][1:] == [
        "<think>It is red? It is grey.</think>"
    ]


def test_only_a_missing_opening_mark_makes_it_unopened() -> None:
    assert split_reasoning(FORMS["closing tag alone"]).is_unopened
    assert not split_reasoning(FORMS["nothing but the closing tag"]).is_unopened
    assert not split_reasoning(FORMS["think"]).is_unopened


PIECES = st.sampled_from(
    [
        *("<think>", "</think>", "<thinking>", "</thinking>", "◁think▷", "◁/think▷", "[THINK]"),
        *("[/THINK]", "<|channel|>analysis<|message|>", "<|end|>", "<answer>", "</answer>"),
        *("<|start|>assistant<|channel|>final<|message|>", "`", "```\n", '"', "\n", "\n\n", " "),
        *("It opened in 1932.", "the", " is", " and ", "hm", ".", "<", ">", "</", "<b>"),
        *("Here is my thought process:", "Here is my response:", "analysis", "assistantfinal"),
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join)


@given(TEXTS)
def test_each_character_is_answer_or_reasoning(text: str) -> None:
    split = split_reasoning(text)
    covered = [False] * len(text)
    for start, end in split.reasoning:
        assert 0 <= start <= end <= len(text)
        for index in range(start, end):
            assert not covered[index]
            covered[index] = True
    rest = [char for char, is_reasoning in zip(text, covered, strict=True) if not is_reasoning]
    assert "".join(rest).replace("\n", "") == split.answer.replace("\n", "")
    assert len(split.answer) == split.end - split.start


@given(TEXTS, st.data())
def test_wherever_a_stream_is_cut_its_answer_is_that_of_the_whole(
    text: str, data: st.DataObject
) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=20).map(sorted))
    reader = ReasoningReader()
    answer, restarts = "", 0
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        part = reader.feed(text[start:end])
        if reader.restarts > restarts:
            answer, restarts = "", reader.restarts
        answer += part
    part = reader.finish()
    answer = part if reader.restarts > restarts else answer + part
    assert answer == split_reasoning(text).answer
    assert reader.split == split_reasoning(text)
    assert reader.since(3) == text[3:]


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_reasoning_that_was_opened_is_never_taken_for_the_answer(text: str, size: int) -> None:
    reader = ReasoningReader()
    parts = [reader.feed(text[i : i + size]) for i in range(0, len(text), size)]
    answer = "".join([*parts, reader.finish()])
    if reader.restarts == 0:
        assert answer.strip() == ANSWER
    else:
        marked = text.lstrip().startswith(("<", "◁", "["))
        assert not marked


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("", "Withheld."),
        (" \n", "Withheld."),
        ("It is a bridge.", "\n\nWithheld."),
        ("It is a bridge. ", "\n\nWithheld."),
        ("It is a bridge.\n", "\nWithheld."),
        ("It is a bridge.\n\n", "Withheld."),
        ("It is a bridge.\n\n\n", "Withheld."),
        ("<think>A draft.", "</think>\n\nWithheld."),
        ("<think>A draft.</think>", "\n\nWithheld."),
    ],
)
def test_a_notice_is_a_paragraph_of_its_own(shown: str, expected: str) -> None:
    assert notice_after(shown, "Withheld.") == expected


def test_nothing_comes_before_an_empty_notice() -> None:
    assert notice_after("It is a bridge.", "") == ""
