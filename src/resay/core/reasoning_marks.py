"""The marks by which models set their reasoning apart from the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from resay._internal.patterns import lazy_pattern

_NAME = (
    r"(?:[a-z]{1,12}[:_])?"
    r"(?:think|thinking|thought|thoughts|reasoning|reflection|reflect|scratchpad|monologue|cot"
    r"|chain_of_thought)"
    r"(?:[:_][a-z]{1,12})?"
)
_HARMONY = r"(?:<\|start\|>\s*assistant\s*)?<\|channel\|>\s*"
_HARMONY_MESSAGE = r"[^<]{0,80}<\|message\|>"


@dataclass(frozen=True, slots=True)
class ReasoningMarks:
    """The marks around reasoning that a family of models writes.

    Attributes:
        opening: Matches the opening mark.
        closing: Matches the closing mark.
        template: The closing mark, with `{name}` for the name in the opening mark.
        needs_both: Whether the opening mark means nothing without the closing one, because it
            consists of ordinary words; the closing mark then means nothing without the opening one
            either.
    """

    opening: re.Pattern[str]
    closing: re.Pattern[str]
    template: str
    needs_both: bool = False

    def closing_for(self, opening: re.Match[str]) -> str:
        """Return the mark that closes what a match of the opening mark opens."""
        return self.template.format(**opening.groupdict())


def _marks(
    opening: str, closing: str, template: str, *, needs_both: bool = False
) -> ReasoningMarks:
    return ReasoningMarks(
        opening=lazy_pattern(opening, re.IGNORECASE),
        closing=lazy_pattern(closing, re.IGNORECASE),
        template=template,
        needs_both=needs_both,
    )


ALL_MARKS = (
    # DeepSeek, Qwen, GLM, EXAONE, Phi, Nemotron, Hunyuan, Ernie, Seed, LongCat, and prompts.
    _marks(
        rf"<\s*(?P<name>{_NAME})(?:\s(?:[^<>]{{0,200}}[^<>/\s])?\s*)?>",
        rf"<\s*/\s*(?P<name>{_NAME})\s*>",
        "</{name}>",
    ),
    _marks(r"<\|think(?:ing)?\|>", r"<\|/think(?:ing)?\|>", "<|/think|>"),
    # Kimi.
    _marks(r"◁\s*think\s*▷", r"◁\s*/\s*think\s*▷", "◁/think▷"),
    # Magistral. In small letters it is a link or a label.
    _marks(r"(?-i:\[THINK\])", r"(?-i:\[/THINK\])", "[/THINK]"),
    # Sky-T1, OpenThinker.
    _marks(r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>", "<|end_of_thought|>"),
    # Cohere.
    _marks(r"<\|START_THINKING\|>", r"<\|END_THINKING\|>", "<|END_THINKING|>"),
    # Apertus.
    _marks(r"<\|inner_prefix\|>", r"<\|inner_suffix\|>", "<|inner_suffix|>"),
    # Pangu.
    _marks(r"\[unused16\]", r"\[unused17\]", "[unused17]"),
    # Gemma.
    _marks(r"<\|channel>\s*thought\b", r"<channel\|>", "<channel|>"),
    # gpt-oss.
    _marks(
        rf"{_HARMONY}(?:analysis|commentary){_HARMONY_MESSAGE}",
        rf"(?:<\|(?:end|return|call)\|>\s*)?{_HARMONY}final{_HARMONY_MESSAGE}",
        "<|end|><|start|>assistant<|channel|>final<|message|>",
    ),
    # gpt-oss, where the server has dropped the special tokens.
    _marks(r"analysis(?=(?-i:[A-Z\n]))", r"assistant\s?final", "assistantfinal", needs_both=True),
    # Granite.
    _marks(
        r"here(?:'s|’s|\sis)\smy\sthought\sprocess:",
        r"here(?:'s|’s|\sis)\smy\sresponse:",
        "Here is my response:",
        needs_both=True,
    ),
)
"""The marks of all families."""


def _without_name(pattern: re.Pattern[str]) -> str:
    """Return a pattern that may stand beside another with the same group."""
    return pattern.pattern.replace("?P<name>", "?:")


_SPECIAL_MARKS = [
    pattern
    for marks in ALL_MARKS
    if not marks.needs_both
    for pattern in (marks.opening, marks.closing)
]
ANY_MARK = lazy_pattern(
    rf"(?=[<\[◁])(?:{'|'.join(map(_without_name, _SPECIAL_MARKS))})", re.IGNORECASE
)
"""An opening or closing mark that does not consist of ordinary words."""
BEFORE_ANSWER = lazy_pattern(
    r"<\s*(?P<name>answer|response|output|solution|final|final_answer|final_response)\s*>"
    r"|<\|(?:begin_of_solution|START_RESPONSE|START_TEXT)\|>",
    re.IGNORECASE,
)
"""What a model writes before its answer once it has reasoned."""
AFTER_ANSWER = lazy_pattern(
    r"\s*(?:<\s*/\s*(?:answer|response|output|solution|final|final_answer|final_response)\s*>"
    r"|<\|(?:end_of_solution|END_RESPONSE|END_TEXT|return|end|im_end|endoftext|eot_id)\|>)\s*\Z",
    re.IGNORECASE,
)
"""What it writes after its answer."""
_CLOSING_WORDS = [marks.closing for marks in ALL_MARKS if marks.needs_both]
DECISIVE_MARK = lazy_pattern(
    "|".join(
        [
            ANY_MARK.pattern,
            *map(_without_name, _CLOSING_WORDS),
            _without_name(BEFORE_ANSWER),
            AFTER_ANSWER.pattern.removesuffix(r"\s*\Z"),
        ]
    ),
    re.IGNORECASE,
)
"""A mark that may change where the answer begins or ends."""
BEGUN_TAG = lazy_pattern(rf"<\s*{_NAME}\s[^<>]{{0,200}}\Z", re.IGNORECASE)
"""The beginning of an opening mark with attributes, at the end of a text."""
BEGUN_MARK = lazy_pattern(r"\s*(?:[<\[◁][^<>\[\]▷]{0,80})?\Z")
"""The end of a text that may be the beginning of a mark."""
FIRST_OF_MARK = frozenset("<[◁")
"""The characters that marks begin with, if they do not consist of ordinary words."""
