"""Makes texts of others fit to be quoted to a model.

A question, a document, an answer and a sample may hold the tokens by which chat templates separate
roles, and sentences that give orders to the model that reads them. The tokens are broken up, so
that a server reads them as text; the words stay, and a quotation of them is found in the text that
they are from. Sentences that order a model to ignore its instructions, or to give a certain
verdict, are left out of what is shown to it: `[…]` takes their place.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from resay._internal.patterns import lazy_pattern

LEFT_OUT = "[…]"
"""Takes the place of what is left out."""

TEMPLATE_TOKENS = lazy_pattern(
    r"""
    <[|｜][^|｜<>\n]{1,40}[|｜]>               # <|im_start|>, <｜User｜>, <|eot_id|>
  | <[|｜]?/?(?:im_start|im_end|im_sep|endoftext|eot_id|start_header_id|end_header_id|system
        |user|assistant|end|channel|message|return|call|python_tag|fim_(?:prefix|middle|suffix))[|｜]>
  | </?(?:s|bos|eos|pad|unk|mask|sep|cls)>
  | </?\[?(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|IMG|PREFIX
        |SUFFIX|MIDDLE|ARGS|CALL_ID|THINK|MODEL_SETTINGS)\]?>
  | \[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS|CALL_ID
        |MODEL_SETTINGS|BOS|EOS|SEP|CLS|PAD|MASK)\]
  | <</?SYS>>
  | </?(?:start|end)_of_(?:turn|text|role|image)>
  | </?(?:start|end)_(?:turn|header_id)>
  | <\|?(?:turn|channel|tool_call|tool_response|tool_output|think|function_call
        |beginning_of_sentence
        |begin▁of▁sentence|end▁of▁sentence|extra_\d{1,3}|reserved_\w{1,20}|unused\d{1,4})\|?>
  | <\uff5c?▁?pad▁?\uff5c?>
  | (?<=\n\n)(?:Human|Assistant)(?=:)
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""The tokens by which chat templates separate roles."""

# In lower case.
_ORDERS_SOURCE = r"""
    # Common to them, so that most positions are passed over at once.
    \b(?:
        (?:ignore|disregard|forget|override|bypass|neglect|discard)\b [^.!?\n]{0,40}
            \b(?:previous|prior|above|earlier|preceding|foregoing|former|your|system|original|given|all)\b
            [^.!?\n]{0,30}
            \b(?:instructions?|prompts?|rules|guidelines|directions|directives|commands)\b
      | (?:ignore|disregard|forget|override)\b\s+ (?:(?:all|the|these|those|any|of)\s+){0,3}
            (?:instructions?|prompts?|rules|guidelines|directions)\s+(?:above|before|so\s+far)\b
      | (?:ignore|disregard|forget)\s+(?:all|any|everything)\b [^.!?\n]{0,30} \b(?:above|before)\b
      | (?:new|updated|secret|hidden)\s+instructions?\s*:
      | you\s+are\s+(?:now|no\s+longer)\s+(?:dan\b|bound\s+by|in\s+\w+\s+mode\b|a\s+judge\b)
      | (?:as|dear|attention,?|note\s+to(?:\s+the)?|to\s+(?:the|any|all))\s+(?:an?\s+|the\s+)?
            (?:ai|llms?|language\s+models?|judges?|graders?|evaluators?|fact[- ]checkers?)\b
            # "As an AI language model, I cannot answer": a model that speaks of itself.
            (?!(?:\s+(?:language\s+)?(?:model|assistant))?,?\s+i\b) [^.!?\n]{0,40}
            \b(?:you\s+must|you\s+should|must\s+answer|please|ignore|answer|reply|respond)\b
      | (?:answer|say|print|write|mark|output|respond|reply|count|rate|label|judge)\b [^.!?\n]{0,50}
            \b(?:every|each|all|the)\s+(?:of\s+the\s+)?(?:claims?|statements?|numbers?|verdicts?)\b
            [^.!?\n]{0,40} \b(?:supported|contradicted|not_mentioned|correct|true|yes)\b
      | (?:answer|say|print|write|mark|output|respond|reply)\b [^.!?\n]{0,40}
            \b(?:supported|contradicted|not_mentioned)\b [^.!?\n]{0,40}
            \b(?:for\s+(?:all|every|each)|each\s+time)\b
      | (?:ignoriere?n?|missachte|vergiss)\b [^.!?\n]{0,40}
            \b(?:anweisung|instruktion|vorgabe|befehl)\w*
      | (?:ignore[zr]?|oublie[zr]?)\b [^.!?\n]{0,40} \b(?:instructions?|consignes?|directives?)\b
      | (?:ignor[ae]|olvida|descarta|dimentica|desconsidere|esqueça)\b [^.!?\n]{0,40}
            \b(?:instruc|istruzion|instruç)\w*
      | (?:negeer|vergeet)\b [^.!?\n]{0,40} \b(?:instructies?|opdrachten?)\b
      | (?:zignoruj|ignoruj)\b [^.!?\n]{0,40} \b(?:poleceń|instrukcj|poleceni)\w*
      | (?:talimat|yönerge)\w* [^.!?\n]{0,30} \b(?:yok\s+say|görmezden\s+gel)
    )
  | (?:игнорируй|забудь)\w* [^.!?\n]{0,40}
        (?:инструкци|указани)\w*
  | (?:忽略|无视|忽视) [^。！？\n]{0,20} (?:指令|指示|提示|规则)
  | (?:指示|指令|命令) [^。！？\n]{0,20} (?:無視|忽れ)
  | 지시 [^.!?\n]{0,20} (?:무시|잊)
  | تجاهل [^.!?\n]{0,40} (?:التعليمات|تعليمات)
  | निर्देश [^.!?\n]{0,30} अनदेख
"""
_ORDERS = lazy_pattern(_ORDERS_SOURCE, re.VERBOSE)
_ORDERS_IN_ANY_CASE = lazy_pattern(_ORDERS_SOURCE, re.IGNORECASE | re.VERBOSE)
_INSIDE_BRACKETS = lazy_pattern(r"(?<=[<\[])|(?=[>\]])")
_SENTENCE_END = lazy_pattern(r"(?<=[.!?…])[\"'”’»)]*\s+|\n+|(?<=[。！？])")


def break_tokens(text: str) -> str:
    """Return a text with a space inside each token of a chat template.

    Args:
        text: The text.
    """
    if "<" not in text and "[" not in text and ":" not in text:
        return text
    return TEMPLATE_TOKENS.sub(_broken, text)


def _broken(match: re.Match[str]) -> str:
    token = match[0]
    return _INSIDE_BRACKETS.sub(" ", token) if token[0] in "<[" else f"{token} "


def quotable(text: str) -> str:
    """Return a text as it may be shown to a model: without orders to it, and with broken tokens.

    Args:
        text: The text.
    """
    orders = [match.span() for match in _orders(text)]
    if not orders:
        return break_tokens(text)
    gaps = [match.span() for match in _SENTENCE_END.finditer(text)]
    pieces: list[str] = []
    end = 0
    for order in orders:
        start, stop = _sentences_around(gaps, *order, len(text))
        # One sentence may give several orders.
        if start >= end:
            pieces += text[end:start], LEFT_OUT
        end = max(end, stop)
    return break_tokens("".join([*pieces, text[end:]]))


def _orders(text: str) -> Iterator[re.Match[str]]:
    # In lower case they are found three times as fast.
    folded = text.casefold().replace("ı", "i")
    # A single mark becomes a letter.
    if len(folded) == len(text) and "\u0345" not in text:
        return _ORDERS.finditer(folded)
    return _ORDERS_IN_ANY_CASE.finditer(text)


def _sentences_around(
    gaps: Sequence[tuple[int, int]], start: int, end: int, length: int
) -> tuple[int, int]:
    """Return the start and end of the sentences that a span is part of."""
    before = bisect_left(gaps, (start, 0)) - 1
    after = bisect_left(gaps, (max(end - 1, start), 0))
    first = min(gaps[before][1], start) if before >= 0 else 0
    return first, gaps[after][0] if after < len(gaps) else length
