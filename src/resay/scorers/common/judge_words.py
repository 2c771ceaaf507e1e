"""The words by which judges state verdicts, in English and the languages they slip into."""

from __future__ import annotations

import re
from typing import Final, Literal

from resay._internal.patterns import lazy_pattern
from resay.lang.language import all_phrases
from resay.scorers.common.choices import Choices, meanings

JudgeVerdict = Literal["supported", "contradicted", "not_mentioned"]
"""A judge's verdict on a claim and a text."""

CLEAR_YES_OR_NO: Final = meanings(
    ((True, all_phrases("judge", "yes")), (False, all_phrases("judge", "no")))
)
"""What each word for yes or no means that means the same in every language, in lower case."""

YES_OR_NO: Final = {
    **CLEAR_YES_OR_NO,
    **meanings(
        ((True, all_phrases("judge", "yes_alone")), (False, all_phrases("judge", "no_alone")))
    ),
}
"""The same with the words that mean it only if they are the whole answer."""

_SUPPORTED = all_phrases("judge", "supported")
_CONTRADICTED = all_phrases("judge", "contradicted")
_NOT_MENTIONED = all_phrases("judge", "not_mentioned")
_UNCLEAR = all_phrases("judge", "unclear")

_TEXT = (
    r"(?:^|[\n.;!?:—–]\s{0,4})(?:(?:so|thus|hence|therefore|overall|however|but)[\s,]{1,4})?"
    r"(?:the|this|that|my|none\s+of\s+the)?\s*(?:given\s+|provided\s+)?"
    r"(?:context|text|document|passage|sample|reference|source|premise|excerpt|evidence)s?\s+"
    r"(?:(?:clearly|directly|explicitly|fully|also|therefore|thus|actually|itself)\s+)?"
)
_OBJECT = (
    r"\s+(?:(?:the|this|that)\s+(?:claim|statement|sentence|assertion|hypothesis)(?:\s+\d+)?"
    r"|claim\s+\d+|this|that|it)(?=\s*(?:$|[.,;:!\n(—–]|because|since|as\b|by\b|and\b|in\b))"
)
_SENTENCES: tuple[tuple[re.Pattern[str], JudgeVerdict], ...] = (
    (
        lazy_pattern(f"{_TEXT}(?:supports?|confirms?|entails?|verif(?:y|ies)){_OBJECT}", re.I),
        "supported",
    ),
    (
        lazy_pattern(
            f"{_TEXT}(?:contradicts?|refutes?|disproves?|conflicts?\\s+with){_OBJECT}", re.I
        ),
        "contradicted",
    ),
    (
        lazy_pattern(
            f"{_TEXT}(?:(?:does|do)\\s*(?:not|n['’]t)\\s+(?:\\w+\\s+)?(?:mention|address|support"
            f"|discuss|cover|confirm|speak\\s+of)|(?:says?|mentions?)\\s+nothing\\s+about){_OBJECT}",
            re.I,
        ),
        "not_mentioned",
    ),
)

VERDICTS: Final[Choices[JudgeVerdict]] = Choices(
    words={
        **meanings(
            (
                ("supported", _SUPPORTED),
                ("contradicted", _CONTRADICTED),
                ("not_mentioned", _NOT_MENTIONED),
            )
        ),
        # "No" says that the claim is not supported, not that the text contradicts it.
        **{w: "supported" if yes else "not_mentioned" for w, yes in CLEAR_YES_OR_NO.items()},
    },
    alone={
        **{w: "supported" if yes else "not_mentioned" for w, yes in YES_OR_NO.items()},
        **dict.fromkeys(all_phrases("judge", "not_mentioned_alone"), "not_mentioned"),
    },
    unclear=_UNCLEAR,
    sentences=_SENTENCES,
    order=("supported", "contradicted", "not mentioned"),
)
"""How a text relates to a claim."""

SUPPORT: Final[Choices[bool]] = Choices(
    words={
        **meanings(((True, _SUPPORTED), (False, _CONTRADICTED | _NOT_MENTIONED))),
        **CLEAR_YES_OR_NO,
    },
    alone=YES_OR_NO,
    unclear=_UNCLEAR - {"not contradicted"} | {"unknown", "neutral", "不明"},
    sentences=tuple((pattern, verdict == "supported") for pattern, verdict in _SENTENCES),
    order=("yes", "no"),
)
"""Whether a text supports a claim."""

TRUE_OR_FALSE: Final = meanings(
    ((True, all_phrases("judge", "true")), (False, all_phrases("judge", "false")))
)
"""What each word for true or false means, in lower case."""

TRUTH: Final[Choices[bool]] = Choices(
    words={**TRUE_OR_FALSE, **CLEAR_YES_OR_NO},
    alone=YES_OR_NO,
    unclear=_UNCLEAR | {"true or false", "not false", "not incorrect", "not wrong"},
    order=("yes", "no"),
)
"""Whether a claim is true."""
