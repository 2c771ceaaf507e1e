"""SelfCheckGPT with Prompt (`prompt`).

Manakul, Liusie and Gales, "SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for
Generative Large Language Models", EMNLP 2023, section 5.5, equation 11.

A judge is asked whether sample S^n, given as the context, supports sentence r_i. Yes counts 0, No
counts 1, anything else 0.5; the sentence score is the mean over the samples.

`form: published` asks just that. By default (`form: claims`, which is ours) the judge also sees the
end of the conversation, so that it understands "31." or "He was born there.", and decides for each
claim whether the sample supports it (0), contradicts it (`weights.contradicted`, 1) or does not
mention it (`weights.not_mentioned`: 0.6, or by the score of `facts`): a sample that does not
mention a matter is weaker evidence than one that says something else. Quoted text is enclosed in
tags with a code that its authors cannot know. The scores are not those of the paper.

`mode: per_pair` asks once for each claim and sample: |R| x N calls. `mode: per_sample` asks once
for each sample about all claims: N calls, which contain each sample once instead of |R| times.
`mode: together` asks once about all claims and the samples at hand, and the judge names the words
that are wrong; see `resay.scorers.common.together`. A sample that a judge obeys can change what it
says of the others there.

`probe: n` asks about claims that are in doubt only because most samples do not mention them: one
question for each, all in one prompt, to which the model that wrote the response gives n short
answers. See `resay.scorers.common.probing`. It is not in the paper.

With `order: nearest` all samples are drawn, and each sentence is checked first against the samples
that share most of its words, until its decision is settled; the judge's answers for the others are
estimated. See `resay.scorers.common.nearest_first`. It is not in the paper. A claim that is not
mentioned counts 1 there: the estimate distinguishes only support and its absence.

With `task` set it is another published method, which judges the whole passage by a context made
for the task; see `resay.scorers.task_prompt`.

Good at: paraphrase, and sentences of common words only. Bad at: cost, and judges that say yes to
everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, cast

import anyio
from pydantic import Field, model_validator

from resay._internal.event_loops import compute
from resay.core.passage import Passage
from resay.core.quoting import quotable
from resay.core.scores import Scores, over
from resay.providers.base import Completion
from resay.scorers import task_prompt
from resay.scorers.base import (
    Need,
    SampleConfig,
    ScorerTraits,
    WordsFirst,
    require_documents,
    with_conversation_settled,
)
from resay.scorers.common.comparing import Column, SampleScorer, inconclusive_reason
from resay.scorers.common.document_verdicts import DocumentVerdict
from resay.scorers.common.judge_calls import ParsedAnswer, ask, ask_each, claims_by_prompt
from resay.scorers.common.judge_config import judge_for
from resay.scorers.common.judge_words import JudgeVerdict
from resay.scorers.common.languages import AskedInConfig, language_for
from resay.scorers.common.nearest_first import Estimate, NearestFirst, overlaps
from resay.scorers.common.per_sample import ask_about
from resay.scorers.common.probed_scores import is_one_of_many, with_probe_results
from resay.scorers.common.probing import (
    MARGIN_S,
    NO_TIME,
    NOBODY_TO_ASK,
    ONE_OF_MANY,
    Prober,
    ProbeResult,
)
from resay.scorers.common.sample_verdicts import SampleVerdicts
from resay.scorers.common.silence import Between, Weights, weigh_silence
from resay.scorers.common.together import ask_about_samples
from resay.scorers.common.yes_no import RESTATED, parse_support, support_question
from resay.scorers.evidence import Evidence
from resay.scorers.facts import Facts
from resay.scorers.judge import Judge
from resay.scorers.samples import Sample


def render(sentence: str, sample: str) -> str:
    """Return the published question about one sentence and one sample."""
    # The released code flattens the context: if the template's blank lines are the only ones,
    # judges confuse context and sentence less.
    return support_question(" ".join(sample.splitlines()), sentence)


# Entry for an answer that cannot be parsed, in the published form (Eq. 11).
_UNREAD = 0.5
# Of the samples in one prompt; a longer one is compared by itself.
_MAX_CHARS = 24_000
# How many samples the first prompt shows if they have arrived; more are compared only in doubt.
_MAX_AT_FIRST = 6
# The `disagreement` setting of `facts` for claims that the judge finds not mentioned: a model that
# tells everything else differently each time made this up as well.
_DISAGREEMENT = 0.7
# Settings that work on pairs of a claim and a sample, whatever the mode.
_PAIRED = {"form": "published", "order": "nearest"}
# In the published form, a judge answers only Yes or No.
_PUBLISHED = Weights()


class Prompt(SampleScorer):
    """Asks a judge whether the samples support each sentence."""

    name: ClassVar[str] = "prompt"

    class Config(SampleConfig, AskedInConfig):
        """Settings of `prompt`."""

        method: Literal["prompt"] = "prompt"
        # The settings are frozen, so other allowed values are safe.
        evidence: Literal["auto", "samples", "references", "documents", "conversation"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
            default="auto",
            description="What to compare with: references, then samples for what these leave open"
            " (auto); samples; each reference that is passed in place of a sample (SelfCheckGPT,"
            " section 7.3); all documents of the request together; or the model's own earlier turns"
            " (conversation).",
        )
        words_first: WordsFirst = False
        form: Literal["claims", "published"] = Field(
            default="claims",
            description="What to ask the judge: whether the sample supports, contradicts or does"
            " not mention a claim, shown with its conversation; or the published question about a"
            " sentence without context, for each pair.",
        )
        mode: Literal["together", "per_sample", "per_pair"] = Field(
            default="together",
            description="One call for all claims and the samples at hand, with the words that are"
            " wrong (together); one call per sample; or one per claim and sample, the only mode of"
            " `form: published` and `order: nearest`.",
        )
        weights: Weights = Field(
            default=Weights(),
            description="With `form: claims`: how much each kind of evidence counts against a"
            " claim.",
        )
        conversation_chars: int = Field(
            default=4000,
            ge=0,
            description="With `form: claims`: the number of characters that the judge reads of the"
            " conversation, from its beginning and its end; 0 = none.",
        )
        probe: int = Field(
            default=0,
            ge=0,
            le=20,
            description="Do not flag a claim because samples do not mention it before the model"
            " that wrote the response has been asked about it: the number of short answers to draw"
            " to questions about such claims, in the same way as samples. 0 = flag it unasked.",
        )
        probe_above: float = Field(
            default=0.5,
            ge=0,
            lt=1,
            description="With `probe`: a claim is open if more than this share of the samples does"
            " not mention it.",
        )
        order: Literal["arrival", "nearest"] = Field(
            default="arrival",
            description="Which samples the judge sees first: those that arrive first, or those that"
            " share the most words with the sentence, which takes far fewer calls.",
        )
        estimate: Estimate = Field(
            default=Estimate(),
            description="With `order: nearest`: how to estimate answers that are not requested.",
        )
        task: task_prompt.Task | None = Field(
            default=None,
            description="Judge the whole response to a definition, paraphrase or translation task"
            " against its source (the question) and target (the references) instead.",
        )
        votes: int = Field(
            default=5,
            ge=1,
            le=100,
            description="With `task`: the number of times that the judge is asked.",
        )
        term: str | None = Field(
            default=None,
            min_length=1,
            description="With `task: definition`: the term; null = find it in the question.",
        )

        @model_validator(mode="after")
        def _must_know_what_is_open(self) -> Prompt.Config:
            settings = (
                ("task", self.task is not None),
                ("form: published", self.form == "published"),
                ("order: nearest", self.order == "nearest"),
                ("evidence: references", self.evidence == "references"),
            )
            for setting, is_set in settings if self.probe else ():
                if is_set:
                    raise ValueError(
                        f"`probe` and `{setting}` exclude each other; omit one of them"
                    )
            if self.language != "en" and (self.task is not None or self.form == "published"):
                setting = "form: published" if self.task is None else "task"
                raise ValueError(
                    f"`{setting}` asks the published question, which is English; omit"
                    f" `language: {self.language}`"
                )
            return self

        @model_validator(mode="before")
        @classmethod
        def _settles_contradictions(cls, data: object) -> object:
            return with_conversation_settled(data)

        @model_validator(mode="after")
        def _must_set_what_is_used(self) -> Prompt.Config:
            require_documents(self.words_first, self.evidence)
            if self.evidence in ("documents", "conversation"):
                for name in ("form", "mode", "probe", "order", "task"):
                    if getattr(self, name) != type(self).model_fields[name].default:
                        raise ValueError(
                            f"`{name}` is for comparing with samples; omit it, or"
                            f" `evidence: {self.evidence}`"
                        )
            return self

        @model_validator(mode="before")
        @classmethod
        def _ask_about_pairs(cls, data: Any) -> Any:
            settings = cast("Mapping[str, Any]", data if isinstance(data, Mapping) else {})
            works_on_pairs = any(settings.get(key) == value for key, value in _PAIRED.items())
            return {"mode": "per_pair", **settings} if works_on_pairs else cast("Any", data)

        @model_validator(mode="after")
        def _must_ask_about_pairs(self) -> Prompt.Config:
            for key, value in _PAIRED.items():
                if getattr(self, key) == value and self.mode != "per_pair":
                    raise ValueError(f"`{key}: {value}` works on pairs; omit `mode: {self.mode}`")
            return self

        @model_validator(mode="after")
        def _must_ask_for_reasons_itself(self) -> Prompt.Config:
            if self.gives_reasons and (self.form == "published" or self.task is not None):
                setting = "task" if self.form == "claims" else "form: published"
                raise ValueError(
                    f"`{setting}` asks the published question, which asks for no reasons; omit"
                    " `reasoning: brief`"
                )
            return self

    def __init__(self, config: Prompt.Config | None = None) -> None:
        self.config = config or self.Config()
        self.needs: frozenset[Need] = frozenset({"samples", "judge"})
        compares = self.config.task is None
        self.traits = ScorerTraits(
            adapts=compares and self.config.order == "arrival",
            stops=compares,
            by_sentence=compares,
            by_text=not compares,
        )
        if self.config.task is not None:
            self.needs = task_prompt.needs_of(self.config.task)
        self._facts = Facts(Facts.Config(disagreement=_DISAGREEMENT))

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Compare with every sample as it arrives, or judge by the context of the task.

        Args:
            passage: The passage; its `sentences` are scored.
            evidence: Samples and the judge's provider; for a task, the request and references.

        Returns:
            Sentence scores and the columns they average; for a task, a passage score.

        Raises:
            ScorerError: No judge is available, or the task's source is missing.
        """
        config = self.config
        if config.task is not None:
            context = await task_prompt.context_of(config.task, evidence, config.term)
            judge = judge_for(config.judge, evidence)
            return await task_prompt.vote(judge, context, passage, config.votes, config.restate)
        # Estimates are of the mean, whereas one supporting document is enough.
        if config.order == "nearest" and not self.any_of:
            return await self._compare_nearest_first(passage, evidence)
        if config.mode == "together":
            scores = await self._compare_together(passage, evidence)
        else:
            scores = await super().score(passage, evidence)
        scores = await self._weigh_silence(scores, passage, evidence)
        return await self._ask_about_silence(scores, passage, evidence)

    async def _weigh_silence(self, scores: Scores, passage: Passage, evidence: Evidence) -> Scores:
        """Weight the entries of claims that are not mentioned by the scores of `facts`.

        A claim without such a score has the greatest weight: what trusted texts do not mention is
        not supported.
        """
        between = self.config.weights.not_mentioned
        if not isinstance(between, Between) or self.config.form == "published":
            return scores
        doubts: Sequence[float | None] = (None,) * len(passage.sentences)
        if not self.any_of:
            doubts = (await self._facts.score_arrived(passage, evidence)).sentences
        weights: list[float] = []
        for claim, doubt in zip(passage.sentences, doubts, strict=True):
            is_listed = claim.unit in {"item", "row"}
            weights.append(between.max if doubt is None or is_listed else between.at(doubt))
        return weigh_silence(scores, weights, any_of=self.any_of)

    async def _ask_about_silence(
        self, scores: Scores, passage: Passage, evidence: Evidence
    ) -> Scores:
        """Ask about claims that only silence puts in doubt, and score them by the answers."""
        config = self.config
        if not config.probe or self.any_of or scores.error:
            return scores
        results: dict[int, ProbeResult] = {}
        askable: list[int] = []
        for claim in range(len(scores.silent)):
            if not self._is_open(claim, scores, evidence):
                continue
            if evidence.prober is None:
                results[claim] = ProbeResult(error=NOBODY_TO_ASK)
            elif is_one_of_many(passage.sentences[claim]):
                results[claim] = ProbeResult(error=ONE_OF_MANY)
            else:
                askable.append(claim)
        failures: Sequence[str] = ()
        if askable and evidence.prober is not None:
            texts = [passage.sentences[claim].standalone for claim in askable]
            answers, failures = await self._probe(texts, evidence.prober, evidence)
            results.update(zip(askable, answers, strict=True))
        scores = with_probe_results(
            scores,
            passage,
            results,
            contradicted=config.weights.contradicted,
            threshold=_UNREAD if evidence.threshold is None else evidence.threshold,
        )
        return replace(scores, failures=(*scores.failures, *failures))

    async def _probe(
        self, claims: Sequence[str], model: Judge, evidence: Evidence
    ) -> tuple[Sequence[ProbeResult], Sequence[str]]:
        """Ask the model about claims; return the result for each, and the kinds of failed calls."""
        config = self.config
        judge = judge_for(config.judge, evidence)
        prober = Prober(
            model=model,
            judge=judge,
            comparer=judge,
            answers=config.probe,
            conversation=evidence.conversation(config.conversation_chars),
            restate=config.restate,
            calls_left=evidence.calls_left,
        )
        failures: list[str] = []

        async def ask_about(texts: Sequence[str]) -> list[ProbeResult]:
            results = await prober.ask(dict(enumerate(texts)))
            failures.extend(results.failures)
            return [results.by_claim[index] for index in range(len(texts))]

        # The other claims keep their scores if there is no time left.
        with anyio.CancelScope(deadline=anyio.current_effective_deadline() - MARGIN_S):
            return await evidence.gathering.ask(self, claims, ask_about), failures
        return [ProbeResult(error=NO_TIME) for _ in claims], failures

    def _is_open(self, claim: int, scores: Scores, evidence: Evidence) -> bool:
        """Return whether a claim is in doubt only because most samples do not mention it."""
        if scores.denied and scores.denied[claim]:
            return False
        threshold = evidence.threshold if evidence.doubtful is None else evidence.doubtful
        threshold = _UNREAD if threshold is None else threshold
        compared = sum(column[claim] is not None for column in scores.columns)
        is_silent = len(scores.silent[claim]) > self.config.probe_above * compared
        return is_silent and over(scores.sentences[claim], threshold)

    async def _compare_together(self, passage: Passage, evidence: Evidence) -> Scores:
        """Compare with several samples in one call, and with the others if the rule needs them."""
        weights, rule, samples = self.config.weights, evidence.stopping, evidence.samples
        verdicts = SampleVerdicts(
            passage=passage,
            contradicted=weights.contradicted,
            silent=weights.silence,
            source="reference" if self.any_of else "sample",
        )
        pending = list(range(len(passage.sentences)))
        count = samples.available if rule is None else rule.min_samples
        try:
            while pending:
                compared = len(verdicts)
                arrived = [sample async for sample in samples.first(count, after=compared)]
                if not arrived:
                    break
                if rule is not None and compared == 0:
                    # What is at hand by now costs no further call.
                    arrived += samples.arrived[len(arrived) : _MAX_AT_FIRST]
                    count = max(count, len(arrived))
                await self._compare_all(verdicts, arrived, pending, evidence)
                compared = len(verdicts)
                if rule is None or compared < count or compared >= samples.available:
                    break
                pending = sorted(rule.remaining(verdicts.columns).sentences)
                count = samples.available
        except anyio.get_cancelled_exc_class():
            evidence.partial_scores.append(verdicts.scores(any_of=self.any_of))
            raise
        return verdicts.scores(any_of=self.any_of)

    async def _compare_all(
        self,
        verdicts: SampleVerdicts,
        samples: Sequence[Sample],
        claims: Sequence[int],
        evidence: Evidence,
    ) -> None:
        """Compare claims with samples, in as many concurrent calls as they take."""
        config = self.config
        conversation = evidence.conversation(config.conversation_chars)
        language = self._language(verdicts.passage, evidence)
        judge = judge_for(config.judge, evidence)
        batches, groups = _batches(samples), claims_by_prompt(claims)
        answers: dict[tuple[int, int], ParsedAnswer[DocumentVerdict]] = {}

        async def ask_about(batch: int, group: int) -> None:
            answers[batch, group] = await ask_about_samples(
                judge,
                verdicts.passage.only(groups[group]),
                batches[batch],
                conversation,
                restate=config.restate,
                language=language,
                brief=config.gives_reasons,
            )

        try:
            async with anyio.create_task_group() as tasks:
                for batch in range(len(batches)):
                    for group in range(len(groups)):
                        tasks.start_soon(ask_about, batch, group)
        finally:
            # At a deadline, the answers that came count. The samples keep their order, so that
            # those before one with an answer are added too.
            last = max((batch for batch, _ in answers), default=-1)
            for batch in range(last + 1):
                of_batch = [
                    (claims_of_group, answers[batch, group])
                    for group, claims_of_group in enumerate(groups)
                    if (batch, group) in answers
                ]
                verdicts.add(batches[batch], of_batch)

    async def _compare_nearest_first(self, passage: Passage, evidence: Evidence) -> Scores:
        weights = Weights(contradicted=1.0, not_mentioned=1.0)
        samples = await evidence.samples.all()
        texts = [sentence.standalone for sentence in passage.sentences]
        sample_texts = [sample.text for sample in samples]
        shared = await compute(
            partial(overlaps, texts, sample_texts), chars=sum(map(len, sample_texts))
        )
        rule = evidence.stopping
        # Corrections of estimates have not been studied, so they do not stop early.
        plan = NearestFirst(
            shared, self.config.estimate, None if rule and rule.decisions.correction else rule
        )
        parsed_answers: list[ParsedAnswer[JudgeVerdict]] = []
        language = self._language(passage, evidence)

        async def ask_about(sentence: int, sample: int) -> float | None:
            parsed = await self._ask([texts[sentence]], samples[sample], evidence, language)
            parsed_answers.append(parsed)
            (entry,) = _entries(parsed, weights)
            return entry

        try:
            await plan.run(ask_about)
        except anyio.get_cancelled_exc_class():
            evidence.partial_scores.append(_estimated_scores(plan, parsed_answers))
            raise
        return _estimated_scores(plan, parsed_answers)

    async def compare(self, passage: Passage, sample: Sample, evidence: Evidence) -> Column:
        """Ask about every sentence with one sample as the context.

        Args:
            passage: The passage; its `sentences` are asked about.
            sample: The context.
            evidence: The evidence, with the judge's provider.

        Returns:
            A column of 0 (supported), 1 (not supported, contradicted) or a weight between; None if
            the call failed or the answer cannot be read, which counts 0.5 in the published form.

        Raises:
            ScorerError: No judge is available.
        """
        config = self.config
        claims = [sentence.standalone for sentence in passage.sentences]
        language = self._language(passage, evidence)
        is_published = config.form == "published"
        weights = _PUBLISHED if is_published else config.weights
        if config.mode == "per_sample":
            parsed_answers = [await self._ask(claims, sample, evidence, language)]
        else:
            parsed_answers = await ask_each(
                claims, lambda claim: self._ask([claim], sample, evidence, language)
            )
        entries: list[float | None] = []
        verdicts: list[JudgeVerdict | None] = []
        for parsed in parsed_answers:
            entries += _entries(parsed, weights)
            verdicts += parsed.slots
        return Column(
            scores=tuple(entries),
            failures=tuple(failure for parsed in parsed_answers for failure in parsed.failures),
            undetermined=sum(parsed.undetermined for parsed in parsed_answers),
            silent=tuple(verdict == "not_mentioned" for verdict in verdicts),
            denied=() if is_published else tuple(v == "contradicted" for v in verdicts),
        )

    def _language(self, passage: Passage, evidence: Evidence) -> str:
        question = evidence.request.question
        return language_for(self.config.language, passage, question)

    async def _ask(
        self,
        claims: Sequence[str],
        sample: Sample,
        evidence: Evidence,
        language: str,
    ) -> ParsedAnswer[JudgeVerdict]:
        """Ask about claims together; the published question takes only one."""
        config, judge = self.config, judge_for(self.config.judge, evidence)
        text = sample.derived(quotable)
        if config.form == "published":
            restated = RESTATED if config.restate else None
            published = render(claims[0], text)
            return await ask(judge.about(claims), published, _parse_published, restated)
        conversation = evidence.conversation(config.conversation_chars)
        return await ask_about(
            judge,
            claims,
            text,
            conversation,
            restate=config.restate,
            language=language,
            brief=config.gives_reasons,
        )


def _batches(samples: Sequence[Sample]) -> list[list[Sample]]:
    """Return samples in groups of which each fits into a prompt."""
    batches: list[list[Sample]] = [[]]
    chars = 0
    for sample in samples:
        if batches[-1] and chars + len(sample.text) > _MAX_CHARS:
            batches.append([])
            chars = 0
        batches[-1].append(sample)
        chars += len(sample.text)
    return batches


def _parse_published(answer: Completion) -> list[JudgeVerdict | None]:
    (yes,) = parse_support(answer)
    return [None if yes is None else "supported" if yes else "contradicted"]


def _entries(parsed: ParsedAnswer[JudgeVerdict], weights: Weights) -> list[float | None]:
    """Return how much each verdict of a judge counts against its claim."""
    if not parsed.answered:
        return [None for _ in parsed.slots]
    entries: Mapping[JudgeVerdict | None, float | None] = {
        # An answer that cannot be read is no evidence either way.
        None: _UNREAD if weights is _PUBLISHED else None,
        "supported": 0.0,
        "contradicted": weights.contradicted,
        "not_mentioned": weights.silence,
    }
    return [entries[verdict] for verdict in parsed.slots]


def _estimated_scores(
    plan: NearestFirst, parsed_answers: Sequence[ParsedAnswer[JudgeVerdict]]
) -> Scores:
    failures = tuple(failure for parsed in parsed_answers for failure in parsed.failures)
    undetermined = sum(parsed.undetermined for parsed in parsed_answers)
    answered = [0.0 if parsed.answered else None for parsed in parsed_answers]
    # Computed once: each score takes a sum over a grid.
    scores = tuple(plan.scores)
    return Scores(
        sentences=scores,
        columns=tuple(plan.columns),
        reasons=tuple(plan.reason(sentence) for sentence in range(len(scores))),
        failures=failures,
        undetermined=undetermined,
        error=inconclusive_reason([answered], failures, undetermined),
    )
