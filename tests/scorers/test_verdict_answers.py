"""Judges' answers about numbered claims, in the shapes in which models write them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.scorers.common.answers import read_items
from resay.scorers.common.choices import Choices
from resay.scorers.common.judge_json import json_values
from resay.scorers.common.judge_words import SUPPORT, TRUTH, VERDICTS, JudgeVerdict

S: JudgeVerdict = "supported"
C: JudgeVerdict = "contradicted"
N: JudgeVerdict = "not_mentioned"

# Each says: supported, supported, contradicted, not mentioned.
FOUR = [
    "1: supported\n2: supported\n3: contradicted\n4: not_mentioned",
    "1. Supported\n2. Supported\n3. Contradicted\n4. Not mentioned",
    "1) **supported**\n2) **supported**\n3) **contradicted**\n4) **not_mentioned**",
    "**1:** supported\n**2:** supported\n**3:** contradicted\n**4:** not mentioned",
    "- Claim 1: Supported.\n- Claim 2: Supported.\n- Claim 3: Contradicted.\n- Claim 4: Unstated.",
    "Claim #1 – supported\nClaim #2 – supported\nClaim #3 – contradicted\nClaim #4 – not mentioned",
    "[1] supported\n[2] supported\n[3] contradicted\n[4] not_mentioned",
    "(1) supported\n(2) supported\n(3) contradicted\n(4) not-mentioned",
    "#1 supported\n#2 supported\n#3 contradicted\n#4 not mentioned",
    "1 -> supported\n2 -> supported\n3 -> contradicted\n4 -> not_mentioned",
    "1 = supported\n2 = supported\n3 = contradicted\n4 = not_mentioned",
    "Verdicts: 1 - supported, 2 - supported, 3 - contradicted, 4 - not mentioned",
    "<1>supported</1>\n<2>supported</2>\n<3>contradicted</3>\n<4>not_mentioned</4>",
    "1: 'supported'\n2: ‘supported’\n3: “contradicted”\n4: `not_mentioned`",
    "1-2: supported\n3: contradicted\n4: not_mentioned",
    "1–2: supported\n3: contradicted\n4: not_mentioned",
    "1 to 2: supported\n3: contradicted\n4: not_mentioned",
    "1, 2: supported\n3: contradicted\n4: not_mentioned",
    "Claims 1 and 2: supported\nClaim 3: contradicted\nClaim 4: not_mentioned",
    "1 & 2 - supported\n3 - contradicted\n4 - not mentioned",
    "1: supported, 2: supported, 3: contradicted, 4: not_mentioned",
    "1: supported; 2: supported; 3: contradicted; 4: not_mentioned.",
    "1. supported 2. supported 3. contradicted 4. not_mentioned",
    "(1) supported (2) supported (3) contradicted (4) not_mentioned",
    "My verdicts:\n\n1: supported\n2: supported\n3: contradicted\n4: not_mentioned\n\nDone!",
    "```\n1: supported\n2: supported\n3: contradicted\n4: not_mentioned\n```",
    "```text\n1: supported\n2: supported\n3: contradicted\n4: not_mentioned\n```",
    "0: supported\n1: supported\n2: contradicted\n3: not_mentioned",
    "3: contradicted\n1: supported\n4: not_mentioned\n2: supported",
    "supported\nsupported\ncontradicted\nnot_mentioned",
    "- supported\n- supported\n- contradicted\n- not_mentioned",
    "Supported: 1, 2\nContradicted: 3\nNot mentioned: 4",
    "**Supported:** 1 and 2\n**Contradicted:** 3\n**Not mentioned:** 4",
    "Supported: claims 1, 2\nContradicted: claim 3\nNot mentioned: claim 4",
    "| # | Verdict |\n|---|---|\n| 1 | supported |\n| 2 | supported |\n| 3 | contradicted |\n"
    "| 4 | not_mentioned |",
    "| Claim | Text | Verdict | Why |\n|---|---|---|---|\n| 1 | It opened. | Supported | Same |"
    "\n| 2 | It is long. | Supported | Same |\n| 3 | Six lanes. | Contradicted | Eight |"
    "\n| 4 | Red. | Not mentioned | - |",
    '{"1": "supported", "2": "supported", "3": "contradicted", "4": "not_mentioned"}',
    '```json\n{"1": "supported", "2": "supported", "3": "contradicted", "4": "not_mentioned"}\n```',
    'Sure! Here is the JSON:\n{"1": "supported", "2": "supported", "3": "contradicted",'
    ' "4": "not_mentioned"}\nLet me know!',
    'Claims [1]-[4] in brackets, then: {"1": "supported", "2": "supported", "3": "contradicted",'
    ' "4": "not_mentioned"}',
    '["supported", "supported", "contradicted", "not_mentioned"]',
    '{"verdicts": ["supported", "supported", "contradicted", "not_mentioned"]}',
    "['supported', 'supported', 'contradicted', 'not_mentioned']",
    "{1: 'supported', 2: 'supported', 3: 'contradicted', 4: 'not_mentioned'}",
    '{"1": "supported", "2": "supported", "3": "contradicted", "4": "not_mentioned",}',
    "{“1”: “supported”, “2”: “supported”, “3”: “contradicted”, “4”: “not_mentioned”}",
    '[{"claim": 1, "verdict": "supported"}, {"claim": 2, "verdict": "supported"},'
    ' {"claim": 3, "verdict": "contradicted"}, {"claim": 4, "verdict": "not_mentioned"}]',
    '{"results": [{"id": 1, "label": "SUPPORTED", "reason": "It says 1931, not contradicted."},'
    ' {"id": 2, "label": "SUPPORTED", "reason": ""}, {"id": 3, "label": "CONTRADICTED", "reason":'
    ' "x"}, {"id": 4, "label": "NOT_MENTIONED", "reason": "supported by nothing"}]}',
    '{"claim": 1, "verdict": "supported"}\n{"claim": 2, "verdict": "supported"}\n'
    '{"claim": 3, "verdict": "contradicted"}\n{"claim": 4, "verdict": "not_mentioned"}',
    '{"claim_1": "supported", "claim_2": "supported", "claim_3": "contradicted", "claim_4":'
    ' "not_mentioned"}',
    '{"1": {"reason": "Same year.", "verdict": "supported"}, "2": {"reason": "Same.", "verdict":'
    ' "supported"}, "3": {"reason": "Eight.", "verdict": "contradicted"}, "4": {"reason": "None.",'
    ' "verdict": "not_mentioned"}}',
    '[{"number": "1", "answer": "yes"}, {"number": "2", "answer": "yes"}, {"number": "3", "answer":'
    ' "contradicted"}, {"number": "4", "answer": "no"}]',
    '{"supported": [1, 2], "contradicted": [3], "not_mentioned": [4]}',
    '[[1, "supported"], [2, "supported"], [3, "contradicted"], [4, "not_mentioned"]]',
    '["1: supported", "2: supported", "3: contradicted", "4: not_mentioned"]',
    '{"0": "supported", "1": "supported", "2": "contradicted", "3": "not_mentioned"}',
    '[{"claim": 0, "verdict": "supported"}, {"claim": 1, "verdict": "supported"},'
    ' {"claim": 2, "verdict": "contradicted"}, {"claim": 3, "verdict": "not_mentioned"}]',
    '[{"claim": "It opened in 1932.", "verdict": "supported"}, {"claim": "Long.", "verdict":'
    ' "supported"}, {"claim": "Six.", "verdict": "contradicted"}, {"claim": "Red.", "verdict":'
    ' "not_mentioned"}]',
    "1: entailed\n2: entailment\n3: contradiction\n4: neutral",
    "1: Entails\n2: confirmed\n3: refuted\n4: unverifiable",
    "1: yes\n2: Yes\n3: contradicts\n4: no",
    "1: true\n2: correct\n3: false\n4: unknown",
    "1: SUPPORTS\n2: SUPPORTS\n3: REFUTES\n4: NOT ENOUGH INFO",
    "1: belegt\n2: gestützt\n3: widersprochen\n4: nicht erwähnt",
    "1 : confirmé\n2 : confirmée\n3 : contredit\n4 : non mentionné",
    "1: confirmado\n2: respaldado\n3: contradicho\n4: no mencionado",
    "1: confermato\n2: supportato\n3: contraddetto\n4: non menzionato",
    "1: apoiado\n2: confirmado\n3: contradito\n4: não mencionado",
    "1: ondersteund\n2: bevestigd\n3: tegengesproken\n4: niet genoemd",
    "1: подтверждено\n2: подтверждается\n3: опровергнуто\n4: не упомянуто",
    "1：支持\n2：支持\n3：矛盾\n4：未提及",
    "１：支持\n２：支持\n３：矛盾\n４：言及なし",
    "1: 지지됨\n2: 지지됨\n3: 모순됨\n4: 언급되지 않음",
    "1: مدعوم\n2: مدعوم\n3: متناقض\n4: غير مذكور",
    "Claim 1 is supported by the context.\nClaim 2 is supported.\nClaim 3 is contradicted: it says"
    " eight.\nClaim 4 is not mentioned.",
    "1: The context says 1932. Verdict: supported\n2: It says so. Verdict: supported\n3: It says"
    " eight. Verdict: contradicted\n4: Nothing on this. Verdict: not_mentioned",
    "1: The context says 1932 → supported\n2: same length → supported\n3: it says eight →"
    " contradicted\n4: nothing → not_mentioned",
    "1. It opened in 1932. - supported\n2. It is long. - supported\n3. It has six lanes. -"
    " contradicted\n4. It is red. - not_mentioned",
    "1. It opened in 1932.\nsupported\n\n2. It is long.\nsupported\n\n3. It has six lanes.\n"
    "contradicted\n\n4. It is red.\nnot_mentioned",
    "### Claim 1\n**Verdict:** Supported\n**Reason:** The same year.\n\n### Claim 2\n**Verdict:**"
    " Supported\n\n### Claim 3\n**Verdict:** Contradicted\n**Reason:** Eight lanes are named.\n\n"
    "### Claim 4\n**Verdict:** Not mentioned",
    "**Claim 1**\nThe year is given as 1932.\nVerdict: supported\n\n**Claim 2**\nIt says so.\n"
    "Verdict: supported\n\n**Claim 3**\nIt says eight.\nVerdict: contradicted\n\n**Claim 4**\n"
    "No colour is named.\nVerdict: not_mentioned",
    "1: \\boxed{supported}\n2: \\boxed{supported}\n3: \\boxed{contradicted}\n"
    "4: \\boxed{\\text{not\\_mentioned}}".replace("not\\_", "not_"),
    "1: <answer>supported</answer>\n2: <answer>supported</answer>\n3: <answer>contradicted</answer>"
    "\n4: <answer>not_mentioned</answer>",
    "1: ✅ supported\n2: ✅ supported\n3: ❌ contradicted\n4: not_mentioned",
    "1: The context supports this claim.\n2: The context supports it.\n3: The context contradicts"
    " this claim.\n4: The context does not mention this.",
    "1: supported (the context says 2: lanes)\n2: supported\n3: contradicted\n4: not_mentioned",
    "1: supported because the year is the same\n2: supported, as it is in the text\n3: contradicted"
    " by the second line\n4: not mentioned at all",
]


@pytest.mark.parametrize("text", FOUR)
def test_four_verdicts_are_read_in_full(text: str) -> None:
    assert read_items(text, 4, VERDICTS) == [S, S, C, N]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("supported", S),
        ("Supported.", S),
        ("**Contradicted**", C),
        ("The verdict is: not_mentioned", N),
        ("Verdict: contradicted - the context says eight.", C),
        ('{"verdict": "supported"}', S),
        ('{"claim": 1, "supported": true}', S),
        ('{"supported": false, "contradicted": true, "not_mentioned": false}', C),
        ("The context says that it opened in 1931. Therefore, the claim is contradicted.", C),
        ("The context names the same year, so the claim is supported by the context.", S),
        ("The context names no year.\n\nFinal answer: not_mentioned", N),
        ("The context names no year.\n\nnot_mentioned", N),
        ("Let me compare. Supported? No: it says 1931. Verdict: contradicted", C),
        ("$\\boxed{\\text{contradicted}}$", C),
        ("The answer is \\boxed{supported}.", S),
        ("<verdict>not_mentioned</verdict>", N),
        ("The context does not mention the claim.", N),
        ("The text contradicts the claim, because it says 1931.", C),
        ("I think the verdict is supported.", S),
        ("All claims are supported.", S),
        ("1. supported", S),
        ("Not supported.", N),
        ("Unsupported", N),
        ("No mention of it", N),
        ("not found in the context", N),
        ("nicht erwähnt", N),
        ("nein", N),
        ("ja", S),
    ],
)
def test_a_single_verdict_is_read(text: str, verdict: JudgeVerdict) -> None:
    assert read_items(text, 1, VERDICTS) == [verdict]


@pytest.mark.parametrize(
    "text",
    [
        "supported, contradicted or not_mentioned",
        "1: supported, contradicted or not_mentioned",
        "1: supported / contradicted / not_mentioned",
        "1: supported|contradicted|not_mentioned",
        "1: <supported | contradicted | not_mentioned>",
        "1: supported or contradicted",
        "one of supported, contradicted, not_mentioned",
        "Answer: supported, contradicted, not_mentioned",
        '{"1": "supported, contradicted or not_mentioned"}',
        '{"verdict": "supported|contradicted|not_mentioned"}',
        "yes or no",
        "Yes/No",
        "1: belegt, widersprochen oder nicht_erwähnt",
        "Not sure",
        "Not contradicted",
        "No contradiction was found",
        "Supported? Contradicted?",
        "supported only in part",
        "partially supported",
        "It is true that the context mentions the bridge, but the year is another.",
        "I cannot say whether the claim is supported",
        "Whether it is supported or contradicted is unclear.",
        "Verdict: supported\nVerdict: contradicted",
        "I'm sorry, but I can't help with that.",
        "Sure! The claims are below.",
        "The supported columns carry the deck.",
        "Falsework carried the arch.",
        "Nowhere near",
        "",
        "42",
        "[]",
        "{}",
        "null",
        '{"1": null}',
        '{"1": ""}',
        '{"1": "supported", "1": "contradicted"}',
        "A bridge is supported by its arch.",
    ],
)
def test_answers_without_a_verdict_have_none(text: str) -> None:
    assert read_items(text, 1, VERDICTS) == [None]
    assert read_items(text, 3, VERDICTS) == [None] * 3


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        ("1: supported\n2: supported\n2: contradicted\n3: not_mentioned", [S, None, N]),
        ("1: supported\n3: contradicted", [S, None, C]),
        ("0: supported\n1: contradicted", [None, None, None]),
        ("1: supported\n2: supported or contradicted\n3: contradicted", [S, None, C]),
        ("supported\ncontradicted\nnot_mentioned", [None, None, None]),
        ('["supported", "contradicted", "not_mentioned"]', [None, None, None]),
        ("supported\ncontradicted", [None, None, None]),
        ('["supported", "contradicted"]', [None, None, None]),
        ("2-9: supported\n1: contradicted", [C, S, S]),
        ("All claims are supported.", [S, S, S]),
        ("All: contradicted", [C, C, C]),
        ('[{"claim": 1, "verdict": "supported"}, {"claim": 2, "verd', [S, None, None]),
        ('[{"claim": 1, "verdict": "supported"}, {"claim": 1, "verdict": "contradicted"},'
         ' {"claim": 2, "verdict": "supported"}]', [None, S, None]),
        ("In 1932: supported\n1: contradicted", [C, None, None]),
        ("Document 2: supported\n1: contradicted", [C, None, None]),
    ],
)  # fmt: skip
def test_missing_and_repeated_verdicts_stay_open(
    text: str, verdicts: list[JudgeVerdict | None]
) -> None:
    assert read_items(text, 3, VERDICTS) == verdicts


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The sentence is supported. Yes", True),
        ("The context gives another year.\n\nAnswer: No", False),
        ('{"answer": "Yes"}', True),
        ('```json\n{"supported": false}\n```', False),
        ("I think the answer is yes.", True),
        ("\\boxed{No}", False),
        ("Yes and no", None),
        ("Yes, no doubt about it", True),
        ("No-one can say", None),
        ("No doubt", None),
        ("否", False),
        ("unsupported", False),
    ],
)
def test_a_yes_or_a_no_is_read_after_its_reason_too(text: str, answer: bool | None) -> None:
    for choices in (SUPPORT,) if "supported" in text else (SUPPORT, TRUTH):
        assert read_items(text, 1, choices) == [answer]


OPTIONS: Choices[str] = Choices(
    words={"true": "a", "false": "b", "correct": "a", "incorrect": "b", "not sure": "c"},
    letters={"A": "a", "B": "b", "C": "c"},
)


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("A", "a"),
        ("(B)", "b"),
        ("b", "b"),
        ("(c)", "c"),
        ("A)", "a"),
        ("**B**", "b"),
        ("[A]", "a"),
        ("A.", "a"),
        ("(A) True", "a"),
        ("A. Correct", "a"),
        ("B: incorrect", "b"),
        ("Option B", "b"),
        ("Answer: A", "a"),
        ("The answer is (B).", "b"),
        ("The correct option is B", "b"),
        ("\\boxed{A}", "a"),
        ('{"answer": "B"}', "b"),
        ("It opened in 1931, so it is wrong.\n\n(B)", "b"),
        ("A because the year is right", "a"),
        ("A bridge opened", None),
        ("a bridge opened", None),
        ("A. Lincoln opened it", None),
        ("A: the bridge opened in 1932", None),
        ("B. Franklin wrote it", None),
        ("An arch", None),
        ("(A) or (B)", None),
        ("A or B", None),
        ("A/B/C", None),
        ("(A) False", None),
        ("C", "c"),
        ("C major is a key", None),
        ("A man, a plan", None),
    ],
)
def test_a_letter_counts_as_an_option_and_not_as_an_article(text: str, option: str | None) -> None:
    assert read_items(text, 1, OPTIONS) == [option]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("no brackets", []),
        ('see [the note] then {"a": 1} and [2]', [{"a": 1}, [2]]),
        ('[{"a": 1}, {"a": 2', [{"a": 1}]),
        ('{"a": "x\ny"}', [{"a": "x\ny"}]),
        ("{'a': True, 'b': None}", [{"a": True, "b": None}]),
        ('{"a": [1, 2,],}', [{"a": [1, 2]}]),
        ('{"a": "} ["} tail', [{"a": "} ["}]),
    ],
)
def test_json_is_found_in_any_wrapping(text: str, values: list[object]) -> None:
    assert json_values(text) == values


@given(st.text(), st.integers(1, 5))
def test_any_text_can_be_read(text: str, count: int) -> None:
    assert len(read_items(text, count, VERDICTS)) == count
    assert len(read_items(f"1: {text}", count, OPTIONS)) == count
    json_values(text)


WORDS: dict[JudgeVerdict, str] = {S: "supported", C: "contradicted", N: "not_mentioned"}


@given(st.lists(st.sampled_from([S, C, N]), min_size=1, max_size=12))
def test_well_formed_answers_are_read_exactly(verdicts: list[JudgeVerdict]) -> None:
    numbered = dict(enumerate((WORDS[v] for v in verdicts), 1))
    lines = [f"{number}: {word}" for number, word in numbered.items()]
    objects = [{"claim": number, "verdict": word} for number, word in numbered.items()]
    for text in ("\n".join(lines), ", ".join(lines), json.dumps(numbered), json.dumps(objects)):
        assert read_items(text, len(verdicts), VERDICTS) == verdicts
