"""Checks an answer against documents in place of samples, and cites the documents that support it.

Manakul, Liusie and Gales, "SelfCheckGPT", EMNLP 2023, section 7.3 and Table 3: the methods that
compare with samples compare with external knowledge.

The model cites the documents that support a sentence, and a cited document must at least be about
the same matter. If it cites none, the document with the most of the sentence's words is cited, if
that has enough of them and all of the sentence's numbers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import cast

from resay._internal.event_loops import task_group
from resay._internal.plurals import counted
from resay.core.documents import Document
from resay.core.editions import edition_of
from resay.core.passage import Passage
from resay.core.references import Reference
from resay.core.request import Request
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.tokens import tokenize
from resay.core.verdict import Verdict
from resay.engine.chain import Chain
from resay.engine.check import Check
from resay.engine.regeneration.prompts import format_for_judge, text_with_title
from resay.policy import Policy, Regenerate
from resay.providers.caching import Cache
from resay.scorers import SampleConfig, ScorerConfig
from resay.scorers.common.composite import CompositeConfig, ScorerPart
from resay.scorers.evidence import Evidence
from resay.scorers.facts import Facts
from resay.scorers.ngram import Ngram
from resay.scorers.prompt import Prompt
from resay.scorers.references import References
from resay.scorers.samples import Samples

_MOST = 3
_ENOUGH = 0.6
_SHORTEST = 4


def sources_of(
    sentence: str, named: Collection[str], documents: Sequence[Document]
) -> tuple[str, ...]:
    """Return the ids of the documents that support a sentence.

    Args:
        sentence: The sentence, which was written from the documents.
        named: The ids of the documents that the model cited.
        documents: The documents.

    Returns:
        Ids, in the order of the documents; none if no document can be said to support it.
    """
    words = _content(sentence)
    confirmed = [d.id for d in documents if d.id in named and words & _content(d.text)]
    if confirmed:
        return tuple(confirmed)
    numbers = {word for word in words if any(map(str.isdigit, word))}
    shares = [(_share(words, document), document) for document in documents]
    ranked = sorted(shares, key=lambda pair: -pair[0])
    return tuple(
        document.id
        for share, document in ranked[:1]
        if share >= _ENOUGH and numbers <= _content(document.text)
    )


def claims_more(sentence: str, allowed: str) -> bool:
    """Return whether a sentence contains a name or a number that another text does not.

    Args:
        sentence: A sentence that should claim nothing.
        allowed: The text whose names and numbers are allowed.
    """
    allowed_words = set(tokenize(allowed))
    names = re.findall(r"(?<=\w[\s,;:])[^\W\d_a-z][\w.'’-]*", sentence)
    names += [word for word in sentence.split() if re.search(r"\d", word)]
    return any(word not in allowed_words for name in names for word in tokenize(name))


def nearest(matter: str, documents: Sequence[Document]) -> list[Document]:
    """Return the documents that are closest to a matter, in their original order."""
    words = _content(matter)
    shares = [_share(words, document) for document in documents]
    best = sorted(range(len(documents)), key=lambda i: -shares[i])[:_MOST]
    return [documents[i] for i in sorted(best)]


def _share(words: Collection[str], document: Document) -> float:
    document_words = _content(text_with_title(document))
    return sum(word in document_words for word in words) / len(words) if words else 0.0


def _content(text: str) -> set[str]:
    """Return the content words: long ones, numbers, and characters of unspaced scripts."""
    return {
        word
        for word in tokenize(text)
        if len(word) >= _SHORTEST
        or any(map(str.isdigit, word))
        or (not word.isascii() and word.isalnum())
    }


def reference_steps(chain: Sequence[ScorerConfig]) -> tuple[ScorerConfig, ...]:
    """Return the steps that compare with samples, switched to references.

    Methods that compare with nothing, and corrections, are left out: the former ask for the model's
    belief, which is in doubt, and the latter are made for the scores of a whole answer.

    Args:
        chain: The steps of a policy.

    Returns:
        The steps. `references` alone if none compares with anything; it also replaces a `prompt`,
        or an `ngram` without an explicit setting of what to compare with, because it can tell
        documents about different things apart, and `facts`, which compares with no documents.
    """
    steps = [step for config in chain if (step := _with_references(config)) is not None]
    return tuple(steps) or (References.Config(),)


def _with_references(config: ScorerConfig) -> ScorerConfig | None:
    if isinstance(config, Prompt.Config) and config.evidence == "auto" and config.form == "claims":
        return References.Config(judge=config.judge, restate=config.restate)
    is_ngram = isinstance(config, Ngram.Config) and config.evidence == "auto"
    if is_ngram or isinstance(config, Facts.Config):
        return References.Config(by="words")
    if isinstance(config, SampleConfig):
        return config.model_copy(update={"evidence": "references", "when": None})
    if not isinstance(config, CompositeConfig):
        return None
    composite = cast("CompositeConfig[ScorerPart]", config)
    parts = composite.parts
    switched = [_with_references(part.scorer) for part in parts]
    # The weights are calibrated for all parts together.
    if None in switched:
        return None
    update = [
        part.model_copy(update={"scorer": scorer})
        for part, scorer in zip(parts, switched, strict=True)
    ]
    return composite.model_copy(update={"parts": tuple(update), "when": None})


_WORST = {"consistent": 0, "skipped": 1, "inconclusive": 2, "flagged": 3}


def combined(first: Verdict, second: Verdict | None) -> Verdict:
    """Combine two checks of the same answer, with the worse result for each sentence.

    Args:
        first: One verdict.
        second: The other; None if there was no second check.
    """
    if second is None:
        return first
    worse = max(first, second, key=lambda verdict: _WORST[verdict.decision])
    means = [mean for mean in (first.mean_score, second.mean_score) if mean is not None]
    worst = max(first, second, key=lambda verdict: -1.0 if verdict.score is None else verdict.score)
    return replace(
        worse,
        score=worst.score,
        threshold=worst.threshold,
        mean_score=max(means, default=None),
        sentences=tuple(map(_worse, first.sentences, second.sentences)),
        samples=max(first.samples, second.samples),
        steps=(*first.steps, *second.steps),
        unscored=tuple(stretch for stretch in first.unscored if stretch in second.unscored),
    )


def _worse(first: SentenceVerdict, second: SentenceVerdict) -> SentenceVerdict:
    return max(first, second, key=lambda s: (s.flagged, -1.0 if s.score is None else s.score))


class Rechecker:
    """Checks answers that were written from documents.

    Args:
        policy: The policy.
        action: Its action.
        chain: The policy's chain.
        cache: Cache for judges' answers; None for no caching.

    Raises:
        ConfigurationError: A step has no registered scorer.
    """

    def __init__(
        self, policy: Policy, action: Regenerate, chain: Chain, cache: Cache | None
    ) -> None:
        steps = reference_steps(action.recheck or policy.chain)
        rechecks = policy.model_copy(update={"chain": steps, "when": None, "second_opinion": None})
        self._policy = policy
        self._resamples = action.resample
        self._edition = action.edition
        self._document_chain = Chain(rechecks, cache)
        self._sample_chain = chain

    async def prepare(self) -> None:
        """Load everything the first check would otherwise wait for."""
        await self._document_chain.prepare()

    async def measure(
        self,
        check: Check,
        passage: Passage,
        earlier: Mapping[int, SentenceVerdict],
        documents: Sequence[Document],
    ) -> Verdict:
        """Check an answer against documents.

        Args:
            check: The check of the request, for its limits and its judges.
            passage: The answer.
            earlier: The verdicts on sentences that need no second check, by sentence index.
            documents: The documents to compare with, as one text: a sentence is supported by the
                documents as a whole.

        Returns:
            The verdict, without usage and time.
        """
        asks = self._document_chain.required_by("judge") is not None
        if asks:
            text = format_for_judge(documents)
        else:
            text = "\n\n".join(document.text.strip() for document in documents)
        sources = [
            Reference(
                text=text_with_title(document),
                source=document.id,
                origin="retriever",
                edition=edition_of(document.metadata, self._edition),
            )
            for document in documents
        ]
        evidence = replace(
            check.evidence,
            references=Samples((text,), splitter=self._policy.splitter),
            sources=tuple(sources),
            samples=Samples(),
            logprobs=(),
        )
        verdict = await self._document_chain.run(
            passage, evidence, check.deadline, check.budget, earlier=earlier
        )
        count = counted(len(documents), "document")
        references = counted(len(documents), "reference")
        reason, separator, remarks = verdict.reason.partition("; ")
        # The documents are the references of this check.
        reason = reason.removesuffix(f" by {references}")
        return replace(verdict, reason=f"{reason}, by {count}{separator}{remarks}")

    async def resample(
        self,
        check: Check,
        passage: Passage,
        earlier: Mapping[int, SentenceVerdict],
        request: Request,
    ) -> Verdict | None:
        """Check an answer against samples that were written from the same documents.

        Args:
            check: The check of the request.
            passage: The answer.
            earlier: The verdicts on sentences that need no second check, by sentence index.
            request: The request for the samples: the question with the documents.

        Returns:
            The verdict; None if the policy does not ask for it, or no step draws samples.
        """
        if not self._resamples or self._sample_chain.required_by("samples") is None:
            return None
        samples = Samples(splitter=self._policy.splitter)
        async with task_group() as tasks:
            context = replace(check.context, request=request)
            check.prepare_resampling(samples, context, tasks)
            # Without the documents, probes would be answered from memory.
            evidence: Evidence = replace(
                check.evidence,
                samples=samples,
                request=request,
                user_request=check.request,
                is_repeatable=context.is_repeatable,
                prober=None,
                logprobs=(),
                second=Samples(splitter=self._policy.splitter),
            )
            return await self._sample_chain.run(
                passage, evidence, check.deadline, check.budget, earlier=earlier
            )
