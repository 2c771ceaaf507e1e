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
answers. See `resay.scorers.common.probing`. It is not
in the paper.

With `order: nearest` all samples are drawn, and each sentence is checked first against the samples
that share most of its words, until its decision is settled; the judge's answers for the others are
estimated. See `resay.scorers.common.nearest_first`. It is not in the paper. A claim that is not
mentioned counts 1 there: the estimate distinguishes only support and its absence.

With `task` set it is another published method, which judges the whole passage by a context made
for the task; see below.

Good at: paraphrase, and sentences of common words only. Bad at: cost, and judges that say yes to
everything.

Task prompts (`task: definition`, `paraphrase` or `translation`):

Markchom, Jung and Liang, "NU-RU at SemEval-2024 Task 6: Hallucination and Related Observable
Overgeneration Mistake Detection Using Hypothesis-Target Similarity and SelfCheckGPT", SemEval 2024,
section 4.2, Table 1, equation 3.

A judge is asked whether a context supports the response as a whole. The context depends on the
task:

    definition    the source, and the meaning of the term in it according to the target
    paraphrase    the source
    translation   the source and the target

The source is the query's question, the target the references. The same question is asked N =
`votes` times at the judge's own temperature, and the score is the share of answers that are not
Yes: an undetermined answer counts as hallucination (section 5.1). A score over 0.5 is the majority.

Cost: N calls, or 1 if the provider supports `n`. Good at: short outputs with a known source. Bad
at: responses with neither source nor target, and judges whose answers do not vary.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Annotated, Any, ClassVar, Literal, cast

import anyio
from pydantic import BaseModel, ConfigDict, Field, model_validator

from resay._internal.event_loops import compute
from resay.core.passage import Passage, Sentence
from resay.core.quoting import quotable
from resay.core.segmentation import Span
from resay.core.verdict import Contradiction, Scores, UnsupportedSpan, mean_score, over
from resay.errors import ScorerError
from resay.providers.base import Completion
from resay.scorers.base import Need, SampleConfig
from resay.scorers.common.comparing import (
    Column,
    SampleScorer,
    best_scores,
    why_inconclusive,
)
from resay.scorers.common.document_verdicts import DocumentVerdict
from resay.scorers.common.judge_words import JudgeVerdict
from resay.scorers.common.judging import (
    RESTATED,
    ParsedAnswer,
    ask,
    ask_each,
    ask_support,
    ask_together,
    claims_by_prompt,
    judge_for,
    parse_support,
)
from resay.scorers.common.languages import AskedInConfig, language_for
from resay.scorers.common.nearest_first import Estimate, NearestFirst, overlaps
from resay.scorers.common.per_sample import ask_about
from resay.scorers.common.probing import (
    MARGIN_S,
    NO_TIME,
    NOBODY_TO_ASK,
    ONE_OF_MANY,
    Prober,
    ProbeResult,
    Question,
    place_of,
)
from resay.scorers.common.together import Comparison, ask_about_samples
from resay.scorers.evidence import Evidence, Judge, Sample
from resay.scorers.facts import Facts

Task = Literal["definition", "paraphrase", "translation"]
# How the shared task's sources, and people's questions, mark the term.
_QUOTES = "[\"'“”‘’]?"
_TERMS = tuple(
    re.compile(pattern.replace("Q", _QUOTES), re.IGNORECASE | re.DOTALL)
    for pattern in (
        # No term is longer; the limit also keeps an unclosed tag from causing repeated scans.
        r"<define>(.{1,400}?)</define>",
        r"\bmeaning of (?:the (?:word|term|phrase) )?Q(.{1,400}?)Q\s*\?",
        r"\bwhat does Q(.{1,400}?)Q mean\b",
        r"\bdefine (?:the (?:word|term|phrase) )?Q([^\"'“”‘’.?!\n]+)",
    )
)


@dataclass(frozen=True, slots=True)
class Context:
    """The context by which a response is judged.

    Attributes:
        text: The context as shown to the judge.
        term: The term that is defined, if any.
    """

    text: str
    term: str | None = None


def needs(task: Task) -> frozenset[Need]:
    """Return the evidence that a task requires."""
    if task == "paraphrase":
        return frozenset({"judge", "query"})
    return frozenset({"judge", "query", "references"})


async def context_of(task: Task, evidence: Evidence, term: str | None) -> Context:
    """Return the context of Table 1.

    Args:
        task: The task of the response.
        evidence: The query, whose question is the source, and the references, the target.
        term: The term that is defined; None to find it in the source.

    Returns:
        The context.

    Raises:
        ScorerError: The source, a required target, or the term is missing.
    """
    source = evidence.quoted_question
    if not source:
        raise ScorerError(f"`task: {task}` needs the question; pass `question`")
    if task == "paraphrase":
        return Context(source)
    target = " ".join(r.derived(quotable) for r in await evidence.references.all())
    if not target:
        raise ScorerError(f"`task: {task}` needs the intended text; pass it as a reference")
    if task == "translation":
        return Context(f"{source} {target}")
    found = term or _term_in(source)
    if found is None:
        raise ScorerError("found no term to define in the question; set `term`")
    return Context(f'{source} The term "{found}" means {target}', found)


def _term_in(source: str) -> str | None:
    # The question comes last; the text before it may itself mention meanings.
    found = ([*pattern.finditer(source)] for pattern in _TERMS)
    return next((matches[-1][1].strip() for matches in found if matches), None)


def render_task(context: Context, hypothesis: str) -> str:
    """Return the published question about a response."""
    sentence = hypothesis if context.term is None else f"The term {context.term} means {hypothesis}"
    return ask_support(context.text, sentence)


async def vote(
    judge: Judge, context: Context, passage: Passage, votes: int, restate: bool
) -> Scores:
    """Ask several times whether the context supports the passage (Eq. 3).

    Args:
        judge: The judge, asked at its own temperature.
        context: The context by which the passage is judged.
        passage: The passage.
        votes: Number of answers.
        restate: Whether to ask once more for an answer that cannot be parsed.

    Returns:
        A passage score: the share of answers other than Yes. Failed calls are left out.
    """
    parsed_answers = await ask_together(
        judge.varied(),
        render_task(context, passage.text),
        parse_support,
        RESTATED if restate else None,
        votes,
    )
    failures = tuple(failure for parsed in parsed_answers for failure in parsed.failures)
    answered = [parsed for parsed in parsed_answers if parsed.answered]
    undetermined = sum(parsed.undetermined for parsed in answered)
    against = sum(parsed.slots[0] is not True for parsed in answered)
    return Scores(
        passage=against / len(answered) if answered else None,
        why_passage=f"not supported by the context in {against} of {len(answered)} answers",
        failures=failures,
        undetermined=undetermined,
        inconclusive=_why_inconclusive(votes, len(answered), undetermined),
    )


def _why_inconclusive(votes: int, answered: int, undetermined: int) -> str | None:
    if answered * 2 < votes:
        return f"{votes - answered} of {votes} votes failed"
    # As published, an unreadable answer counts as hallucination; but a judge that gives no readable
    # answer at all says nothing about the response.
    if undetermined == answered:
        return f"none of {answered} judge answers was a yes or a no"
    return None


def render(sentence: str, sample: str) -> str:
    """Return the published question about one sentence and one sample."""
    return ask_support(_flat(sample), sentence)


# Entry of a claim that is not mentioned, until `facts` has scored it.
_SILENCE = 0.6
# Entry for an answer that cannot be parsed, in the published form (Eq. 11).
_UNREAD = 0.5
# Items of lists with more words are statements.
_MAX_NAME_WORDS = 4
# Of the samples in one prompt; a longer one is compared by itself.
_MAX_CHARS = 24_000
# How many samples the first prompt shows if they have arrived; more are compared only in doubt.
_MOST_AT_HAND = 6
# The `disagreement` setting of `facts` for claims that the judge finds not mentioned: a model that
# tells everything else differently each time made this up as well.
_DISAGREEMENT = 0.7


class Between(BaseModel):
    """A weight between two bounds, set by the score of `facts`.

    If a judge finds a claim not mentioned, it may be a true detail or an invention. `facts` knows
    more: whether other samples have the claim's numbers and names (0.3 of its score here), and how
    little the samples say of each other (0.7).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    least: Annotated[float, Field(ge=0.0, le=1.0)] = Field(
        default=0.15, description="The weight if `facts` scores the claim 0."
    )
    most: Annotated[float, Field(ge=0.0, le=1.0)] = Field(
        default=0.7,
        description="The weight if `facts` scores the claim 1, and for the items of lists and"
        " tables, which samples leave out when they do not agree.",
    )

    @model_validator(mode="after")
    def _must_be_in_order(self) -> Between:
        if self.least > self.most:
            raise ValueError(
                f"least ({self.least!r}) must not be greater than most ({self.most!r})"
            )
        return self


class Weights(BaseModel):
    """How much each kind of evidence counts against a claim."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    contradicted: Annotated[float, Field(ge=0.0, le=1.0)] = Field(
        default=1.0,
        description="The weight of a sample that says something else about the same subject.",
    )
    not_mentioned: Annotated[float, Field(ge=0.0, le=1.0)] | Between = Field(
        default=0.6,
        description="The weight of a sample that does not mention the subject, or of which the"
        " judge says only that it does not support the claim. With `least` and `most`, it depends"
        " on the score of `facts`.",
    )

    @model_validator(mode="after")
    def _must_be_in_order(self) -> Weights:
        weaker = self.not_mentioned
        weaker = weaker.most if isinstance(weaker, Between) else weaker
        if weaker > self.contradicted:
            raise ValueError(
                f"not_mentioned ({weaker!r}) must not be greater than contradicted"
                f" ({self.contradicted!r}): it is the weaker evidence"
            )
        return self

    @property
    def silence(self) -> float:
        """The entry of a claim that is not mentioned, until more is known."""
        return _SILENCE if isinstance(self.not_mentioned, Between) else self.not_mentioned


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
        task: Task | None = Field(
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

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or self.Config()
        self.needs: frozenset[Need] = frozenset({"samples", "judge"})
        self.by_sentence = self.stops = self.config.task is None
        self.by_text = self.config.task is not None
        self.adapts = self.stops and self.config.order == "arrival"
        if self.config.task is not None:
            self.needs = needs(self.config.task)
        self._facts = Facts(Facts.Config(disagreement=_DISAGREEMENT))

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Compare with every sample as it arrives, or judge by the context of the task.

        Args:
            passage: The passage; its `sentences` are scored.
            evidence: Samples and the judge's provider; for a task, the query and references.

        Returns:
            Sentence scores and the columns they average; for a task, a passage score.

        Raises:
            ScorerError: No judge is available, or the task's source is missing.
        """
        config = self.config
        # Estimates are of the mean, whereas one supporting document is enough.
        if config.task is None and config.order == "nearest" and not self.any_of:
            return await self._nearest_first(passage, evidence)
        if config.task is None:
            is_together = config.mode == "together"
            compare = self._compare_together if is_together else super().score
            found = await compare(passage, evidence)
            found = await self._weighed(found, passage, evidence)
            return await self._with_probe_results(found, passage, evidence)
        context = await context_of(config.task, evidence, config.term)
        judge = judge_for(config.judge, evidence)
        return await vote(judge, context, passage, config.votes, config.restate)

    async def _weighed(self, found: Scores, passage: Passage, evidence: Evidence) -> Scores:
        """Weight the entries of claims that are not mentioned by the scores of `facts`.

        A claim without such a score has the greatest weight: what trusted texts do not mention is
        not supported.
        """
        between = self.config.weights.not_mentioned
        if not isinstance(between, Between) or self.config.form == "published":
            return found
        by_words: Sequence[float | None] = (None,) * len(passage.sentences)
        if not self.any_of:
            by_words = (await self._facts.look(passage, evidence)).sentences

        def weight(i: int) -> float:
            doubt = by_words[i]
            if doubt is None or passage.sentences[i].unit in {"item", "row"}:
                return between.most
            return between.least + (between.most - between.least) * doubt

        weights = [weight(i) for i in range(len(passage.sentences))]
        silent = found.silent or ((),) * len(weights)
        columns = tuple(
            tuple(weights[i] if n in silent[i] else entry for i, entry in enumerate(column))
            for n, column in enumerate(found.columns)
        )
        if self.any_of:
            means = tuple(best_scores(columns, found.silent, len(weights))) if columns else ()
        else:
            entries = zip(*columns, strict=True) if columns else ()
            means = tuple(mean_score(row) for row in entries)
        return replace(found, sentences=means or found.sentences, columns=columns)

    async def _with_probe_results(
        self, found: Scores, passage: Passage, evidence: Evidence
    ) -> Scores:
        """Ask about claims that only silence puts in doubt, and score them by the answers."""
        config = self.config
        if not config.probe or self.any_of or found.inconclusive:
            return found
        results: dict[int, ProbeResult] = {}
        claims: list[int] = []
        for claim in range(len(found.silent)):
            if not self._is_open(claim, found, evidence):
                continue
            if evidence.prober is None:
                results[claim] = ProbeResult(note=NOBODY_TO_ASK)
            elif _is_one_of_many(passage.sentences[claim]):
                results[claim] = ProbeResult(note=ONE_OF_MANY)
            else:
                claims.append(claim)
        threshold = _UNREAD if evidence.threshold is None else evidence.threshold
        if not claims or evidence.prober is None:
            return _with_probes(found, passage, results, config.weights, threshold)
        judge = judge_for(config.judge, evidence)
        prober = Prober(
            model=evidence.prober,
            judge=judge,
            comparer=judge,
            answers=config.probe,
            conversation=evidence.conversation(config.conversation_chars),
            restate=config.restate,
            calls_left=evidence.calls_left,
        )
        failures: list[str] = []

        async def ask(texts: Sequence[str]) -> list[ProbeResult]:
            answered = await prober.ask(dict(enumerate(texts)))
            failures.extend(answered.failures)
            return [answered.by_claim[position] for position in range(len(texts))]

        texts = [passage.sentences[claim].standalone for claim in claims]
        answers: Sequence[ProbeResult] = ()
        # The other claims keep their scores if there is no time left.
        with anyio.CancelScope(deadline=anyio.current_effective_deadline() - MARGIN_S):
            answers = await evidence.gathering.ask(self, texts, ask)
        for claim, answer in zip_longest(claims, answers):
            results[claim] = answer or ProbeResult(note=NO_TIME)
        scores = _with_probes(found, passage, results, config.weights, threshold)
        return replace(scores, failures=(*scores.failures, *failures))

    def _is_open(self, claim: int, found: Scores, evidence: Evidence) -> bool:
        """Return whether a claim is in doubt only because most samples do not mention it."""
        if found.denied and found.denied[claim]:
            return False
        threshold = evidence.threshold if evidence.doubtful is None else evidence.doubtful
        threshold = _UNREAD if threshold is None else threshold
        compared = sum(column[claim] is not None for column in found.columns)
        is_silent = len(found.silent[claim]) > self.config.probe_above * compared
        return is_silent and over(found.sentences[claim], threshold)

    async def _compare_together(self, passage: Passage, evidence: Evidence) -> Scores:
        """Compare with several samples in one call, and with the rest if the rule needs them."""
        weights, rule, samples = self.config.weights, evidence.stopping, evidence.samples
        comparison = Comparison(
            passage,
            weights.contradicted,
            weights.silence,
            source="reference" if self.any_of else "sample",
        )
        pending = list(range(len(passage.sentences)))
        wanted = samples.available
        if rule is not None:
            # What is at hand costs no further call.
            wanted = max(rule.min_samples, min(len(samples), _MOST_AT_HAND))
        try:
            while pending:
                seen = len(comparison.samples)
                arrived = [sample async for sample in samples.first(wanted, after=seen)]
                if not arrived:
                    break
                groups = claims_by_prompt(pending)
                batches = self._batches(arrived)
                calls = [(batch, group) for batch in batches for group in groups]
                answers = iter(
                    await ask_each(calls, partial(self._ask_together, passage, evidence))
                )
                for batch in batches:
                    comparison.add(batch, [(group, next(answers)) for group in groups])
                seen = len(comparison.samples)
                if rule is None or seen < wanted or seen >= samples.available:
                    break
                pending = sorted(rule.remaining(comparison.columns).sentences)
                wanted = samples.available
        except anyio.get_cancelled_exc_class():
            evidence.partial_scores.append(comparison.scores(any_of=self.any_of))
            raise
        return comparison.scores(any_of=self.any_of)

    async def _ask_together(
        self,
        passage: Passage,
        evidence: Evidence,
        call: tuple[Sequence[Sample], Sequence[int]],
    ) -> ParsedAnswer[DocumentVerdict]:
        """Ask about some samples and some claims."""
        samples, claims = call
        return await ask_about_samples(
            judge_for(self.config.judge, evidence),
            passage.only(claims),
            samples,
            evidence.conversation(self.config.conversation_chars),
            restate=self.config.restate,
            language=self._language(passage, evidence),
            brief=self.config.gives_reasons,
        )

    def _batches(self, samples: Sequence[Sample]) -> list[list[Sample]]:
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

    async def _nearest_first(self, passage: Passage, evidence: Evidence) -> Scores:
        weights = Weights(contradicted=1.0, not_mentioned=1.0)
        samples = await evidence.samples.all()
        texts = [sentence.standalone for sentence in passage.sentences]
        texts_compared = [sample.text for sample in samples]
        shared = await compute(
            partial(overlaps, texts, texts_compared), chars=sum(map(len, texts_compared))
        )
        rule = evidence.stopping
        # Corrections of estimates have not been studied, so they do not stop early.
        plan = NearestFirst(
            shared, self.config.estimate, None if rule and rule.decisions.correction else rule
        )
        parsed_answers: list[ParsedAnswer[JudgeVerdict]] = []

        language = self._language(passage, evidence)

        async def ask_about(i: int, n: int) -> float | None:
            parsed = await self._ask([texts[i]], samples[n], evidence, language)
            parsed_answers.append(parsed)
            (value,) = _values(parsed, weights)
            return value

        try:
            await plan.run(ask_about)
        except anyio.get_cancelled_exc_class():
            evidence.partial_scores.append(_scores(plan, parsed_answers))
            raise
        return _scores(plan, parsed_answers)

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
        claims, weights = [s.standalone for s in passage.sentences], self.config.weights
        language = self._language(passage, evidence)
        published = self.config.form == "published"
        if published:
            weights = _PUBLISHED
        if self.config.mode == "per_sample":
            parsed_answers = [await self._ask(claims, sample, evidence, language)]
        else:
            parsed_answers = await ask_each(
                claims, lambda claim: self._ask([claim], sample, evidence, language)
            )
        slots = [slot for parsed in parsed_answers for slot in parsed.slots]
        return Column(
            tuple(value for parsed in parsed_answers for value in _values(parsed, weights)),
            tuple(failure for parsed in parsed_answers for failure in parsed.failures),
            sum(parsed.undetermined for parsed in parsed_answers),
            silent=tuple(slot == "not_mentioned" for slot in slots),
            denied=() if published else tuple(slot == "contradicted" for slot in slots),
        )

    def _language(self, passage: Passage, evidence: Evidence) -> str:
        question = evidence.query.question if evidence.query else ""
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
            return await ask(judge, render(claims[0], text), _parse_published, restated)
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


def _parse_published(answer: Completion) -> list[JudgeVerdict | None]:
    (yes,) = parse_support(answer)
    return [None if yes is None else "supported" if yes else "contradicted"]


def _flat(text: str) -> str:
    # The released code flattens the context: if the template's blank lines are the only ones,
    # judges confuse context and sentence less.
    return " ".join(text.splitlines())


def _scores(plan: NearestFirst, parsed_answers: Sequence[ParsedAnswer[JudgeVerdict]]) -> Scores:
    failures = tuple(failure for parsed in parsed_answers for failure in parsed.failures)
    undetermined = sum(parsed.undetermined for parsed in parsed_answers)
    rows = [[None if r.answered is False else 0.0 for r in parsed_answers]]
    # Computed once: each score takes a sum over a grid.
    scores = tuple(plan.scores)
    return Scores(
        sentences=scores,
        columns=tuple(plan.columns),
        why=tuple(plan.why(i) for i in range(len(scores))),
        failures=failures,
        undetermined=undetermined,
        inconclusive=why_inconclusive(rows, failures, undetermined),
    )


def _values(parsed: ParsedAnswer[JudgeVerdict], weights: Weights) -> list[float | None]:
    if not parsed.answered:
        return [None for _ in parsed.slots]
    values: Mapping[JudgeVerdict | None, float | None] = {
        # An answer that cannot be read is no evidence either way.
        None: _UNREAD if weights is _PUBLISHED else None,
        "supported": 0.0,
        "contradicted": weights.contradicted,
        "not_mentioned": weights.silence,
    }
    return [values[slot] for slot in parsed.slots]


def _is_one_of_many(unit: Sentence) -> bool:
    """Whether a unit is one name of a list, about which every question has several answers."""
    return unit.unit == "item" and len(unit.text.split()) <= _MAX_NAME_WORDS


def _span_of(question: Question | None, sentence: Sentence) -> Span | None:
    """Return where the response says what a question asks for."""
    span = place_of(question.value, sentence.text) if question else None
    return span and (sentence.start + span[0], sentence.start + span[1])


def _with_probes(
    found: Scores,
    passage: Passage,
    results: Mapping[int, ProbeResult],
    weights: Weights,
    threshold: float,
) -> Scores:
    """Replace the scores of open claims by those that the answers about them give.

    The answers take the place of samples that do not mention the claim; an answer that says nothing
    counts as much as one of those samples. A claim that would be flagged has no score without an
    answer that says something, unless nobody can be asked about it.
    """
    if not results:
        return found
    count = len(found.sentences)
    scores, why = list(found.sentences), list(found.why)
    contradictions = list(found.contradictions or (None,) * count)
    denied = list(found.denied or (False,) * count)
    spans = list(found.spans or ((),) * count)
    shares: list[float | None] = [None] * count
    unanswered: list[str | None] = [None] * count
    for i, result in results.items():
        silent = found.silent[i]
        entries = [column[i] for column in found.columns]
        compared = sum(entry is not None for entry in entries)
        why[i] = f"{len(silent)} of {compared} samples do not mention it; {result.why}"
        shares[i] = result.score
        if result.score is None:
            if result.unanswered and over(scores[i], threshold):
                scores[i], unanswered[i] = None, result.unanswered
            continue
        speaking = [entry for n, entry in enumerate(entries) if n not in silent]
        answers = [0.0] * result.agree + [weights.contradicted] * result.against
        unknown = [found.columns[silent[0]][i]] * result.unknown
        scores[i] = mean_score([*speaking, *answers, *unknown])
        denied[i] = result.against > 0
        if result.contrary is None:
            continue
        span = _span_of(result.question, passage.sentences[i])
        contradictions[i] = Contradiction(
            source="answer",
            index=0,
            text=result.contrary,
            claimed=span,
            said=(0, len(result.contrary)),
        )
        if span is not None:
            spans[i] = (UnsupportedSpan(start=span[0], end=span[1], score=scores[i] or 0.0),)
    lost = {i for i, reason in enumerate(unanswered) if reason is not None}
    return replace(
        found,
        sentences=tuple(scores),
        why=tuple(why),
        parts={"probe": tuple(shares)},
        contradictions=tuple(contradictions),
        denied=tuple(denied),
        spans=tuple(spans),
        lost=tuple(sorted({*found.undecided, *lost})),
        unanswered=tuple(unanswered),
    )
