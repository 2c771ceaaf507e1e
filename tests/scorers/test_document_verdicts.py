"""Judges' answers about claims and several texts, in the shapes in which models write them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.scorers.common.document_verdicts import read_document_verdicts

TEXTS = [0, 1, 2]
# Claim 1 is supported by all texts, 2 contradicted by the second, 3 supported by the first and the
# third, and 4 not mentioned.
FOUR: Sequence[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((0, 1, 2), ()),
    ((), (1,)),
    ((0, 2), ()),
    ((), ()),
]
LISTS: Sequence[tuple[list[int], list[int]]] = [([1, 2, 3], []), ([], [2]), ([1, 3], []), ([], [])]
Row = dict[str, Any]


def rows(supports: str = "supported_by", contradicts: str = "contradicted_by") -> list[Row]:
    return [
        {"claim": claim, supports: for_it, contradicts: against}
        for claim, (for_it, against) in enumerate(LISTS, 1)
    ]


def named(template: str, contradicting: str = "") -> list[Row]:
    """Return the rows with each text's number in a template."""
    against = contradicting or template
    return [
        {
            "claim": row["claim"],
            "supported_by": [template.format(n) for n in row["supported_by"]],
            "contradicted_by": [against.format(n) for n in row["contradicted_by"]],
        }
        for row in rows()
    ]


def stated(*lists: tuple[Any, Any]) -> list[Row]:
    return [
        {"claim": claim, "supported_by": for_it, "contradicted_by": against}
        for claim, (for_it, against) in enumerate(lists, 1)
    ]


def each(words: Mapping[str, str]) -> list[dict[int, str]]:
    """Return the word for each text, claim by claim."""
    by_claim: list[dict[int, str]] = []
    for for_it, against in LISTS:
        by_text = dict.fromkeys((1, 2, 3), words["not"])
        by_text |= dict.fromkeys(for_it, words["for"]) | dict.fromkeys(against, words["against"])
        by_claim.append(by_text)
    return by_claim


WORDS = {"for": "supported", "against": "contradicted", "not": "not mentioned"}
NEUTRAL = {"for": "yes", "against": "refuted", "not": "neutral"}
PLAIN = json.dumps(rows())
BARE = [{key: row[key] for key in ("supported_by", "contradicted_by")} for row in rows()]
QUOTED = [
    {**row, "words": "1921", "quote": "in 1912"} if row["contradicted_by"] else row
    for row in rows()
]
IN_JSON: list[Any] = [
    rows(),
    {"verdicts": rows()},
    {"claims": {"verdicts": QUOTED}},
    {str(n): row for n, row in enumerate(BARE, 1)},
    {f"claim {n}": row for n, row in enumerate(BARE, 1)},
    {f"claim_{n}": row for n, row in enumerate(BARE, 1)},
    BARE,
    [[n, *lists] for n, lists in enumerate(LISTS, 1)],
    [[*lists] for lists in LISTS],
    {"verdicts": [[n, *lists] for n, lists in enumerate(LISTS, 1)]},
    named("{}"),
    named("sample {}"),
    named("Sample {}:", "sample_{}"),
    named("S{}"),
    named("[{}]"),
    named("[sample {}] it says so", "sample {} (in 1912)"),
    named("{}: it says so"),
    stated(("all", None), ("none", "2"), ("1, 3", "none"), ("none", "none")),
    stated(("1-3", ""), ("", "sample 2"), ("samples 1 and 3", ""), ("", "")),
    stated(("all samples", []), ("no sample", 2), ("all except 2", []), ("nobody", "nobody")),
    stated((["1-3"], []), ([], ["2"]), (["1", "3"], []), ([], [])),
    stated(("1, 2, and 3", []), ([], "2"), ("1 3", []), ([], [])),
    [
        {
            "claim": row["claim"],
            "supported_by": [{"sample": n, "quote": "it is so"} for n in row["supported_by"]],
            "contradicted_by": [{"sample": n} for n in row["contradicted_by"]],
        }
        for row in rows()
    ],
    [
        {
            "claim": row["claim"],
            "supported_by": [n in row["supported_by"] for n in (1, 2, 3)],
            "contradicted_by": {str(n): n in row["contradicted_by"] for n in (1, 2, 3)},
        }
        for row in rows()
    ],
    [
        {
            "claim": row["claim"],
            "supported_by": {"samples": row["supported_by"]},
            "contradicted_by": {"samples": row["contradicted_by"]},
        }
        for row in rows()
    ],
    rows("supports", "contradicts"),
    rows("entailed_by", "refuted_by"),
    rows("supporting_samples", "contradicting_samples"),
    rows("supported", "contradicted"),
    rows("supportedBy", "contradictedBy"),
    rows("Supported By", "Contradicted By"),
    rows("for", "against"),
    rows("belegt_durch", "widersprochen_von"),
    rows("confirmé_par", "contredit_par"),
    rows("confirmado_por", "contradicho_por"),
    [{**row, "neutral": [1], "not_supported_by": [2]} for row in rows()],
    [{"reason": "Sample 2 contradicts it, 1 and 3 support it.", **row} for row in rows()],
    [
        {"claim": 1, "verdict": "supported", "samples": [1, 2, 3]},
        {"claim": 2, "verdict": "contradicted", "samples": [2]},
        {"claim": 3, "verdict": "supported", "samples": [1, 3]},
        {"claim": 4, "verdict": "not mentioned", "samples": []},
    ],
    [
        {"claim": 1, "label": "ENTAILED", "samples": "all"},
        {"claim": 2, "label": "REFUTED", "samples": "2"},
        {"claim": 3, "label": "ENTAILED", "samples": "1 and 3"},
        {"claim": 4, "label": "NEUTRAL"},
    ],
    [{"claim": n, "samples": by_text} for n, by_text in enumerate(each(WORDS), 1)],
    [
        {"claim": n, **{f"sample_{k}": word for k, word in by_text.items()}}
        for n, by_text in enumerate(each(NEUTRAL), 1)
    ],
    {
        str(n): {f"sample {k}": word for k, word in by_text.items()}
        for n, by_text in enumerate(each(WORDS), 1)
    },
    {str(n): list(by_text.values()) for n, by_text in enumerate(each(WORDS), 1)},
    [list(by_text.values()) for by_text in each(WORDS)],
    [
        {"claim": n, "verdicts": [{"sample": k, "verdict": word} for k, word in by_text.items()]}
        for n, by_text in enumerate(each(WORDS), 1)
    ],
    [
        {"claim": n, "sample": k, "verdict": word}
        for n, by_text in enumerate(each(WORDS), 1)
        for k, word in by_text.items()
    ],
    {
        "supported": {"1": [1, 2, 3], "3": [1, 3]},
        "contradicted": {"2": [2]},
        "not_mentioned": [4],
    },
]
WRAPPED = [
    f"```json\n{json.dumps({'verdicts': rows()}, indent=2)}\n```",
    f"Here you go:\n{PLAIN}\nI hope this helps [1].",
    f"Claim 1 is in all of them; sample 2 contradicts claim 2.\n\n{PLAIN}",
    f"<answer>{PLAIN}</answer>",
    "\n".join(map(json.dumps, rows())),
    ", ".join(map(json.dumps, rows())),
    str(rows()),
    PLAIN.replace("]}", "],}"),
    f"{PLAIN[:-1]},]",
    json.dumps({"verdicts": rows()})[:-2],
    json.dumps({"verdicts": [*rows(), {"claim": 5, "supported_by": [1]}]})[:-15],
    json.dumps(QUOTED).replace('"in 1912"', '"he was "born" in 1912"'),
    "\n".join(
        f"{{claim: {row['claim']}, supported_by: {row['supported_by']},"
        f" contradicted_by: {row['contradicted_by']}}}"
        for row in rows()
    ),
    json.dumps(
        [
            {
                "claim": row["claim"] - 1,
                "supported_by": [n - 1 for n in row["supported_by"]],
                "contradicted_by": [n - 1 for n in row["contradicted_by"]],
            }
            for row in rows()
        ]
    ),
]


def written(template: str, empty: str = "none", joined: str = ", ") -> str:
    """Return a text for each claim, with its lists in a template."""
    return "\n".join(
        template.format(
            claim=claim,
            supports=joined.join(map(str, for_it)) or empty,
            contradicts=joined.join(map(str, against)) or empty,
        )
        for claim, (for_it, against) in enumerate(LISTS, 1)
    )


IN_TEXT = [
    written("claim: {claim}\nsupported_by: [{supports}]\ncontradicted_by: [{contradicts}]\n", ""),
    written(
        "- claim: {claim}\n  supported_by: [{supports}]\n  contradicted_by: [{contradicts}]", ""
    ),
    written(
        "### Claim {claim}\n- **Supported by:** {supports}\n- **Contradicted by:** {contradicts}"
    ),
    written("Claim {claim}\nSo it is.\nSupported by: {supports}\nContradicted by: {contradicts}\n"),
    written("Claim {claim}: supported_by [{supports}], contradicted_by [{contradicts}]", ""),
    written("{claim}. supported by: {supports}; contradicted by: {contradicts}", "-"),
    written("{claim}: {supports} support it, {contradicts} contradict it", "none", " and "),
    written("{claim}: supported by {supports} and contradicted by {contradicts}.", "none", " & "),
    written(
        '<claim id="{claim}"><supported_by>{supports}</supported_by>'
        "<contradicted_by>{contradicts}</contradicted_by></claim>"
    ),
    "| claim | supported_by | contradicted_by | words |\n|---|---|---|---|\n"
    + written("| {claim} | {supports} | {contradicts} | |", ""),
    "| Claim | Supported by | Contradicted by |\n|:--|:--|:--|\n"
    + written("| {claim} | {supports} | {contradicts} |", "none", " and "),
    "| # | Sample 1 | Sample 2 | Sample 3 |\n|---|---|---|---|\n"
    + "\n".join(
        f"| {n} | {' | '.join(by_text.values())} |" for n, by_text in enumerate(each(WORDS), 1)
    ),
    "\n".join(
        f"Claim {n}:\n" + "\n".join(f"- Sample {k}: {word}" for k, word in by_text.items())
        for n, by_text in enumerate(each(WORDS), 1)
    ),
    "\n".join(
        f"{n}: " + "; ".join(f"S{k}: {word}" for k, word in by_text.items())
        for n, by_text in enumerate(each(WORDS), 1)
    ),
    "1: supported by samples 1, 2 and 3\n2: contradicted by sample 2\n3: supported by samples 1 and"
    " 3\n4: not mentioned",
    "1. Supported by all samples.\n2. Contradicted by sample 2 (1912).\n3. Supported by samples 1"
    " and 3.\n4. Not mentioned in any sample.",
    "1: supported by 1-3\n2: contradicted by 2\n3: supported by 1, 3\n4: none",
    "1: All samples support this.\n2: Sample 2 contradicts it.\n3: Samples 1 and 3 support it.\n"
    "4: No sample mentions it.",
    "**1.** Supported (samples 1–3)\n**2.** Contradicted (sample 2)\n**3.** Supported (samples 1,"
    " 3)\n**4.** Not mentioned",
    "1 → supported by all three samples\n2 → contradicted by sample 2\n3 → supported by everyone"
    " but sample 2\n4 → no sample supports or contradicts it",
    "1: yes (1, 2, 3)\n2: contradicted (2)\n3: yes (1, 3)\n4: no",
    "Claim 1: entailed by samples 1, 2, 3\nClaim 2: refuted by sample 2\nClaim 3: entailed by"
    " samples 1, 3\nClaim 4: neutral",
    "1: belegt durch alle Stichproben\n2: widersprochen von Stichprobe 2\n3: belegt durch die"
    " Stichproben 1 und 3\n4: nicht erwähnt",
    "1 : confirmé par les échantillons 1, 2 et 3\n2 : contredit par l'échantillon 2\n3 : confirmé"
    " par les échantillons 1 et 3\n4 : non mentionné",
    "1: confirmado por las muestras 1, 2 y 3\n2: contradicho por la muestra 2\n3: confirmado por"
    " las muestras 1 y 3\n4: no mencionado",
    "1: confermato dai campioni 1, 2 e 3\n2: contraddetto dal campione 2\n3: confermato dai"
    " campioni 1 e 3\n4: non menzionato",
    "1: confirmado pelas amostras 1, 2 e 3\n2: contradito pela amostra 2\n3: confirmado pelas"
    " amostras 1 e 3\n4: não mencionado",
    "1：支持：样本1、2、3\n2：矛盾：样本2\n3：支持：样本1和3\n4：未提及",
    "1：支持：サンプル1、2、3\n2：矛盾：サンプル2\n3：支持：サンプル1と3\n4：言及なし",
]


def read(text: str, count: int = 4) -> list[tuple[tuple[int, ...], tuple[int, ...]] | None]:
    verdicts = read_document_verdicts(text, count, TEXTS)
    return [
        None if verdict is None else (tuple(sorted(verdict.supports)), verdict.contradicts)
        for verdict in verdicts
    ]


@pytest.mark.all_turns
@pytest.mark.parametrize("text", [*map(json.dumps, IN_JSON), *WRAPPED, *IN_TEXT])
def test_four_verdicts_are_read_in_full(text: str) -> None:
    assert read(text) == FOUR


@pytest.mark.all_turns
@pytest.mark.parametrize(
    "text",
    [
        "Supported.",
        "1: supported",
        "1: yes",
        "1: not sure",
        "1: supported by 2 of 3 samples",
        "1: supported (2/3)",
        "1: supported by 2 samples",
        "1: 2 samples support this",
        "1: supported in 100% of samples",
        "1: supported by most samples",
        "1: supported by samples 1 and 4",
        "1: supported by sample 12",
        "1: Sample 1 may support it.",
        "1: I cannot tell whether sample 2 supports it.",
        "1: Partially supported by sample 1",
        "1: supported by sample 1 or contradicted by sample 2",
        "1: sample 2 does not contradict it",
        "1: the samples disagree",
        "1. Sample 2: 1912",
        "Claim 1 was made in 3 samples.",
        "| # | Sample 1 | Sample 2 | Sample 3 |\n|---|---|---|---|\n| 1 | ✅ | ❌ | ✅ |",
        '[{"claim": 1}]',
        '[{"claim": 1, "supported_by": "some", "contradicted_by": []}]',
        '[{"claim": 1, "supported_by": 2.5}]',
        '[{"claim": 1, "supported_by": true}]',
        '[{"claim": 1, "supported_by": [7], "contradicted_by": []}]',
        '[{"claim": 1, "supported_by": [1], "contradicted_by": [1]}]',
        '[{"claim": 1, "verdict": "supported"}]',
        '[{"claim": 1, "verdict": "contradicted", "supported_by": [1], "contradicted_by": []}]',
        '[{"claim": 1, "verdict": "supported", "supported_by": [], "contradicted_by": []}]',
        '[{"claim": 1, "supported_by": [1], "contradicted_by": []},'
        ' {"claim": 1, "supported_by": [], "contradicted_by": [3]}]',
        '[{"claim": 1, "yea": [1, 3], "contradicted_by": [2]}]',
        '{"verdicts": {"1": "supported"}}',
        "[]",
        "",
        "-",
    ],
)
def test_answers_without_numbers_are_no_verdict(text: str) -> None:
    assert read(text, 1) == [None]


def test_cut_answers_are_read_up_to_the_cut() -> None:
    whole = json.dumps({"verdicts": rows()}, indent=1)
    complete = whole.index('"claim": 3')
    assert read(whole[: complete + 20]) == [*FOUR[:2], None, None]


LINES = """1: supported by 1, 2, 3; contradicted by none
2: supported by none; contradicted by 2
3: supported by 1, 3; contradicted by none
4: supported by none; contradicted by none"""


@pytest.mark.parametrize(
    ("whole", "was_cut"),
    [
        (json.dumps({"verdicts": rows()}), False),
        (json.dumps(rows(), indent=2), False),
        ("\n".join(map(json.dumps, rows())), False),
        (json.dumps({row.pop("claim"): row for row in rows()}), False),
        (f"```json\n{json.dumps(rows())}\n```", True),
        (LINES, True),
    ],
)
def test_cut_answers_are_never_read_as_less(whole: str, was_cut: bool) -> None:
    for end in range(len(whole)):
        verdicts = read_document_verdicts(whole[:end], 4, TEXTS, was_cut=was_cut)
        for verdict, expected in zip(verdicts, FOUR, strict=True):
            assert verdict is None or (verdict.supports, verdict.contradicts) == expected
    assert read(whole) == list(FOUR)


def test_words_and_quotes_come_with_the_verdict() -> None:
    for text in (json.dumps(QUOTED), json.dumps(QUOTED).replace('"in 1912"', '"he was "born""')):
        verdict = read_document_verdicts(text, 4, TEXTS)[1]
        assert verdict is not None
        assert verdict.words == ("1921",)
        assert verdict.quotes


@given(st.text(max_size=300), st.integers(1, 5))
def test_any_text_can_be_read(text: str, count: int) -> None:
    assert len(read(text, count)) == count


@given(
    st.lists(
        st.sets(st.sampled_from([1, 2, 3])).flatmap(
            lambda supports: st.tuples(
                st.just(sorted(supports)),
                st.sets(st.sampled_from([n for n in (1, 2, 3) if n not in supports] or [9])).map(
                    lambda against: sorted(against - {9})
                ),
            )
        ),
        min_size=1,
        max_size=6,
    )
)
def test_the_form_that_is_asked_for_is_read_exactly(
    lists: list[tuple[list[int], list[int]]],
) -> None:
    verdicts = stated(*lists)
    expected = [
        (tuple(n - 1 for n in for_it), tuple(n - 1 for n in against)) for for_it, against in lists
    ]
    assert read(json.dumps({"verdicts": verdicts}), len(lists)) == expected


@pytest.mark.parametrize(
    "text", ["[" * 60_000, "1: supported by samples 1, 2\n" * 1_000, " " * 60_000]
)
def test_a_judge_that_does_not_stop_is_read_in_time(text: str) -> None:
    assert None in read(text)
