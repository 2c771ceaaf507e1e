"""Verdicts in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from resay.core.claim_verdict import ClaimVerdict
from resay.core.decision import Decision
from resay.core.highlighting import pieces
from resay.core.sentence_verdict import SentenceVerdict

_COLOURS = {"flagged": "#a31d17", "consistent": "#14693c", "inconclusive": "#8a5a00"}
_SKIPPED_COLOUR = "#45617d"
_HEADS = "<tr><th>score</th><th></th><th>sentence</th><th>reason</th></tr>"


def notebook_html(
    decision: Decision,
    score: float | None,
    reason: str,
    sentences: Sequence[SentenceVerdict],
    claims_by_sentence: Mapping[int, Sequence[ClaimVerdict]],
) -> str:
    """Return a verdict as HTML, with all text escaped and what is in doubt in bold type.

    Args:
        decision: The verdict's decision.
        score: The score that was decided on.
        reason: The reason of the decision.
        sentences: The verdicts on the sentences.
        claims_by_sentence: The verdicts on the claims, by the index of their sentence.
    """
    colour = _COLOURS.get(decision, _SKIPPED_COLOUR)
    head = f'<b style="color:{colour}">{decision}</b> {_score(score)} {escape(reason)}'
    if not sentences:
        return f"<div><p>{head}</p></div>"
    rows: list[str] = []
    for index, sentence in enumerate(sentences):
        text = _highlighted(sentence, claims_by_sentence.get(index, ()))
        rows.append(
            f"<tr><td>{_score(sentence.score)}</td><td>{'!' if sentence.flagged else ''}</td>"
            f'<td style="text-align:left" dir="auto">{text}</td>'
            f'<td style="text-align:left">{escape(sentence.reason or "")}</td></tr>'
        )
    return f"<div><p>{head}</p><table>{_HEADS}{''.join(rows)}</table></div>"


def _highlighted(sentence: SentenceVerdict, claims: Iterable[ClaimVerdict]) -> str:
    spans = [span for claim in claims for span in claim.spans_in_doubt]
    if not spans or not sentence.has_text:
        # Without claims, all of a flagged sentence is in doubt.
        return f"<b>{escape(sentence.text)}</b>" if sentence.flagged else escape(sentence.text)
    html: list[str] = []
    for piece, is_in_doubt in pieces(sentence.text, sentence.start, spans):
        html.append(f"<b>{escape(piece)}</b>" if is_in_doubt else escape(piece))
    return "".join(html)


def _score(score: float | None) -> str:
    return "?" if score is None else f"{score:.2f}"
