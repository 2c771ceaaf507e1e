"""Compares claims with the documents of a request (`evidence: documents`), in the way of a method.

All documents of the request count, wherever they are in it, together (with `evidence: references`
of `facts`, only those that are passed): `facts` compares words, as
`method: references, by: words` does, `prompt` asks a judge, as that method does, and `grounding`
asks a model that was trained for it. Whatever decides, the verdict has the same reasons, grounds
and contradictions, and citations and links are checked.

With `words_first`, words settle the claims that a document has word for word or with another number
(`plain_comparison`), and only the others go to the model; `by` of a claim names what settled it.

Cost: that of the method; see `references` and `grounding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from resay.core.passage import Passage
from resay.core.references import Reference
from resay.core.scores import Scores
from resay.errors import ConfigurationError
from resay.scorers.base import NO_DOCUMENTS, Need, ScorerConfig, ScorerTraits
from resay.scorers.common.cited_documents import source_entries, source_entry
from resay.scorers.common.grounded_claims import (
    GroundedClaim,
    scores_of_claims,
    supporting,
)
from resay.scorers.common.plain_comparison import settle_plainly
from resay.scorers.evidence import Evidence
from resay.scorers.facts import Facts
from resay.scorers.grounding import Grounding
from resay.scorers.prompt import Prompt
from resay.scorers.references import References, check_claims, references_of

# A score up to this is support.
_SUPPORTED = 0.5


class Documents:
    """Compares claims with the documents of a request, in the way of a method.

    Args:
        config: The settings of the method.
    """

    name: str
    needs: frozenset[Need]

    def __init__(self, config: ScorerConfig) -> None:
        self.name = config.method_name
        self._scorer = _scorer_of(config)
        self._words_first = isinstance(config, Grounding.Config) and config.words_first
        needs: set[Need] = set()
        if isinstance(config, Prompt.Config):
            needs.add("judge")
        if not config.reads_documents:
            needs.add("references")
        self.needs = frozenset(needs)
        self.traits = ScorerTraits(source="reference", by_sentence=self._scorer.traits.by_sentence)

    async def prepare(self) -> None:
        """Load the method's model, if it has one."""
        if isinstance(self._scorer, Grounding):
            await self._scorer.prepare()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Compare each claim with the documents.

        Args:
            passage: The claims, as its `sentences`.
            evidence: The documents, the conversation, and the judge's provider.

        Returns:
            Scores with the grounds of each claim; an error if the request has no documents.

        Raises:
            ConfigurationError: The method's model cannot be loaded.
            ScorerError: The method's model failed.
        """
        references = references_of(evidence)
        if not references:
            return Scores(error=NO_DOCUMENTS)
        if isinstance(self._scorer, References):
            return await self._scorer.score(passage, evidence)
        return await self._by_model(passage, references, evidence)

    async def _by_model(
        self, passage: Passage, references: Sequence[Reference], evidence: Evidence
    ) -> Scores:
        """Compare by a model whose scores say how far the documents support a claim."""
        plain: Sequence[GroundedClaim | None] = (None,) * len(passage.sentences)
        if self._words_first:
            plain = await settle_plainly(passage, references, evidence.question)
        sources = source_entries(passage)
        asked = [i for i, claim in enumerate(plain) if claim is None and i not in sources]
        scores = Scores()
        if asked:
            scores = await self._scorer.score(passage.only(asked), evidence)
        positions = {index: position for position, index in enumerate(asked)}
        claims: list[GroundedClaim] = []
        denied: list[bool | None] = []
        for index, claim in enumerate(plain):
            if claim is not None:
                claims.append(claim)
                denied.append(claim.is_denied)
                continue
            if index in sources:
                claims.append(source_entry(passage.sentences[index].text, references))
                denied.append(None)
                continue
            position = positions[index]
            claims.append(_claim_of(scores, position))
            denied.append(scores.denied[position] if scores.denied else None)
        await check_claims(passage, claims, references, evidence)
        return replace(
            # What the model does not support, a document may still contradict: no columns.
            scores_of_claims(claims, (), denied),
            failures=scores.failures,
            lost=tuple(asked[position] for position in scores.undecided),
            undetermined=scores.undetermined,
            error=scores.error,
        )


def _scorer_of(config: ScorerConfig) -> References | Grounding:
    """Return what compares claims with documents in the way of a method."""
    if isinstance(config, Facts.Config):
        return References(References.Config(by="words"))
    if isinstance(config, Prompt.Config):
        return References(
            References.Config(
                judge=config.judge,
                restate=config.restate,
                words_first=config.words_first,
                conversation_chars=config.conversation_chars,
            )
        )
    if isinstance(config, Grounding.Config):
        return Grounding(config)
    raise ConfigurationError(f"method {config.method_name!r} does not compare with documents")


def _claim_of(scores: Scores, position: int) -> GroundedClaim:
    """Return what documents say of a claim by the scores of a model."""
    score = scores.sentences[position]
    spans = scores.spans[position] if scores.spans else ()
    grounds = scores.grounds[position] if scores.grounds else ()
    reason = None
    if score is not None and score <= _SUPPORTED:
        documents = [ground.reference for ground in grounds]
        subject = supporting(documents) if documents else "the references support it"
        reason = f"{subject} ({1 - score:.2f})"
    elif score is not None and spans:
        reason = scores.reasons[position]
    elif score is not None:
        reason = f"no reference supports it ({1 - score:.2f})"
    return GroundedClaim(score=score, reason=reason, grounds=grounds, spans=spans)
