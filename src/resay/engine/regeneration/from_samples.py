"""Repairs a flagged answer without documents, based on the samples.

`mode: repair` follows Sawczyn and others, "FactSelfCheck: Fact-Level Black-Box Hallucination
Detection for LLMs", arXiv 2503.17229, 2025: the prompt lists the facts that the samples contradict,
and what they say instead. Our facts are claims; in the paper, they are triples and the whole answer
is rewritten. Here each sentence in doubt is replaced or removed, all of them in one call. Where the
evidence tells which words of a sentence are in doubt, the prompt names these.

`mode: verify` is Chain-of-Verification (Dhuliawala and others, arXiv 2309.11495, 2023), in its
factored form: each claim in doubt becomes a question, which is answered several times without
seeing the answer, and sentences are rewritten to match.

`mode: consistent` is uncertainty-aware decoding (Mohri and Hashimoto, arXiv 2402.10978, 2024; Jiang
and others, arXiv 2410.20783, 2024): consistent claims are kept, doubtful ones hedged, contradicted
ones dropped. That takes no calls, except one for all sentences of which only a part is dropped.

Each new answer is checked with the policy's own chain against the same samples, and by the second
model if there is one. It is adopted only if it is better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from resay._internal.plurals import counted
from resay._internal.telemetry import span
from resay.core.claim_verdict import ClaimVerdict
from resay.core.details import has_new_number, new_names, words_in
from resay.core.non_claims import non_claim_kind
from resay.core.quoting import quotable
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.verdict import Verdict
from resay.engine.actions import Regenerated
from resay.engine.chain import Chain
from resay.engine.check import Check
from resay.engine.contradictions import (
    INDEX_BUILDERS,
    ContradictionIndex,
)
from resay.engine.regeneration import sentence_prompts
from resay.engine.regeneration.candidate import Candidate, in_doubt, split_text, unchanged_verdicts
from resay.engine.regeneration.plausibility import fits
from resay.engine.regeneration.prompts import shortened_question
from resay.engine.regeneration.record import attributes_of
from resay.engine.regeneration.repair import Repair
from resay.engine.regeneration.replacements import (
    RepairedText,
    Replacement,
    in_form_of,
    parse_replacement,
    without_repeats,
)
from resay.engine.regeneration.standalone_question import user_turns
from resay.engine.regeneration.targets import Doubt, Target, one_line
from resay.errors import ProviderError
from resay.lang.detection import detect
from resay.lang.language import Sentences, load
from resay.policy import Policy, Regenerate
from resay.scorers.common.judge_calls import TOKENS_OF_VERDICT, ask
from resay.scorers.common.judge_config import judge_for
from resay.scorers.common.probing import Prober, ProbeResult

_ANSWERS = 3
_CONVERSATION_CHARS = 4_000
_ENDS = ".!?…。！？"
_CLOSES = "\"'”’»)]*_"
_PROSE = frozenset({"sentence", "item"})
_QUOTATIONS = ('""', "''", "``", "“”", "„“", "‘’", "«»", "»«")


class SampleRegenerator:
    """Repairs flagged answers based on their samples, without keeping state between them.

    Args:
        policy: The policy.
        action: Its action.
        chain: The policy's chain, which also checks new answers.
    """

    def __init__(self, policy: Policy, action: Regenerate, chain: Chain) -> None:
        self._policy = policy
        self._action = action
        self._chain = chain

    async def prepare(self) -> None:
        """Do nothing: everything needed is loaded by the chain."""

    async def run(self, text: str, verdict: Verdict, check: Check, *, shown: int) -> Regenerated:
        """Repair an answer.

        Failures never lose the answer: the best one so far is returned.

        Args:
            text: The flagged answer.
            verdict: The result of the check.
            check: The check, with its samples, limits, deadline and metering.
            shown: The length of the text already shown, which cannot change, in code points.

        Returns:
            The best answer, with its verdict.
        """
        with span("resay.regenerate", {"resay.regenerate.mode": self._action.mode}) as active_span:
            draft = Candidate(await split_text(text, self._policy), verdict)
            work = _SampleRepair(self._policy, self._action, self._chain, check, draft, shown)
            best = await work.run()
            active_span.set(attributes_of(best.verdict))
            return best


class _SampleRepair(Repair):
    """Repairs an answer based on the samples."""

    by = "samples"
    unchanged = "nothing was changed"

    def __init__(
        self,
        policy: Policy,
        action: Regenerate,
        chain: Chain,
        check: Check,
        draft: Candidate,
        shown: int,
    ) -> None:
        super().__init__(policy, action, check, draft, shown)
        self._chain = chain
        self._question = _question_in_context(check)

    async def _try(self, number: int) -> bool:
        targets = self._targets()
        if not targets:
            self._errors.append("what is in doubt was shown already")
            return False
        written, hedged = await self._write_replacements(targets, number)
        if not written:
            self._errors.append("nothing could be written")
            return False
        candidate = await self._candidate(number, written)
        reason = self._unfit(candidate)
        if reason:
            self._errors.append(reason)
            return False
        candidate = await self._checked(candidate, hedged)
        if self._is_better(candidate):
            self._best = candidate
        return self._best.verdict.flagged

    def _targets(self) -> list[Target]:
        """Return the sentences to rewrite: those in doubt, and those to be hedged."""
        verdict, passage = self._best.verdict, self._best.passage
        chosen = set(in_doubt(verdict, self._policy.threshold))
        if self._action.mode == "consistent":
            chosen |= {i for i, s in enumerate(verdict.sentences) if s.band == "doubtful"}
        repaired = RepairedText.of(self._draft.passage, self._best.repairs, floor=self._shown)
        targets: dict[int, Target] = {}
        for i in sorted(chosen):
            sentence = verdict.sentences[i]
            if sentence.start < self._shown:
                continue
            claims = tuple(claim for claim in verdict.claims if claim.sentence == i)
            for index in repaired.origin(sentence.start, sentence.end):
                start, end = repaired.spans[index]
                targets[index] = Target(
                    index=index,
                    text=passage.text[start:end],
                    claims=claims,
                    answer=passage.text,
                )
        return [targets[index] for index in sorted(targets)]

    async def _write_replacements(
        self, targets: Sequence[Target], number: int
    ) -> tuple[dict[int, Replacement], dict[str, SentenceVerdict]]:
        """Return the replacements of sentences, and the verdicts on the hedged ones."""
        if self._action.mode == "consistent":
            return await self._keep_consistent(targets)
        if self._action.mode == "verify":
            evidence = await self._verification_evidence(targets)
        else:
            evidence = await self._sample_evidence(targets)
        supported = [target for target in targets if evidence.get(target.index)]
        if len(supported) < len(targets):
            self._errors.append(
                f"{len(targets) - len(supported)} of {len(targets)} have no evidence"
            )
        if not supported:
            return {}, {}
        listed = [evidence[target.index] for target in supported]
        return await self._ask(supported, listed, number), {}

    async def _sample_evidence(self, targets: Sequence[Target]) -> dict[int, list[str]]:
        """Return what the samples, and the second model, say in place of facts in doubt."""
        samples = self._check.used_evidence.samples
        index: ContradictionIndex = await samples.derive(
            INDEX_BUILDERS["sample"], chars=10 * samples.chars
        )
        lines: dict[int, list[str]] = {}
        for target in targets:
            by_model = _second_opinions(target.claims)
            target_lines: list[str] = []
            for doubt in target.doubts:
                alternatives: Counter[str] = Counter()
                for sample in samples.arrived:
                    match = index.search(doubt.around, {sample.index}, claim=doubt.claim)
                    if match is not None:
                        alternatives[match.text] += 1
                target_lines.append(f"   in doubt: {doubt.quoted}")
                for text, count in alternatives.most_common():
                    target_lines.append(f"   other answers: {one_line(text)} (x{count})")
                if doubt.claim in by_model:
                    target_lines.append(f"   another model: {one_line(by_model[doubt.claim])}")
                elif not alternatives:
                    target_lines.append("   other answers: nothing about it")
            lines[target.index] = target_lines
        return lines

    async def _verification_evidence(self, targets: Sequence[Target]) -> dict[int, list[str]]:
        """Return the answers to questions about the facts in doubt."""
        evidence, action = self._check.used_evidence, self._action
        if evidence.prober is None:
            self._errors.append("the model that wrote the response cannot be asked")
            return {}
        prober = Prober(
            evidence.prober,
            judge_for(action.writer, evidence),
            None,
            _ANSWERS,
            evidence.conversation(_CONVERSATION_CHARS),
            restate=True,
            calls_left=evidence.calls_left,
        )
        doubts: list[tuple[Target, Doubt]] = []
        claims: dict[int, str] = {}
        for target in targets:
            for doubt in target.doubts:
                hint = f" (in doubt: {doubt.quoted})" if doubt.words else ""
                claims[len(doubts)] = f"{doubt.claim}{hint}"
                doubts.append((target, doubt))
        probes = await prober.ask(claims)
        lines: dict[int, list[str]] = {}
        for number, (target, doubt) in enumerate(doubts):
            answers = _evidence_lines(doubt.quoted, probes.by_claim[number])
            lines.setdefault(target.index, []).extend(answers)
        return lines

    async def _keep_consistent(
        self, targets: Sequence[Target]
    ) -> tuple[dict[int, Replacement], dict[str, SentenceVerdict]]:
        """Drop contradicted claims, hedge doubtful ones, and keep the rest."""
        replacements: dict[int, Replacement] = {}
        hedged: dict[str, SentenceVerdict] = {}
        to_shorten: list[Target] = []
        verdicts = {sentence.text: sentence for sentence in self._best.verdict.sentences}
        question_words = words_in(self._question)
        for target in targets:
            sentence = verdicts.get(target.text)
            if sentence is not None and sentence.band == "doubtful":
                is_hedged = f"({_sentences_for(target.text).uncertain})" in target.text
                if not is_hedged and target.claims[0].unit in _PROSE:
                    text = _hedge(target.text)
                    replacements[target.index] = Replacement(text)
                    hedged[text] = sentence
            elif _has_undoubted_part(target, question_words):
                to_shorten.append(target)
            else:
                replacements[target.index] = Replacement("")
        if to_shorten:
            for target in to_shorten:
                # If a sentence cannot be shortened, drop it completely.
                replacements[target.index] = Replacement("")
            evidence = [_parts_to_keep(target) for target in to_shorten]
            replacements |= await self._ask(to_shorten, evidence, 0)
        return replacements, hedged

    async def _ask(
        self, targets: Sequence[Target], evidence: Sequence[Sequence[str]], number: int
    ) -> dict[int, Replacement]:
        """Have sentences rewritten, each from the lines of its evidence."""
        count = len(targets)
        question = self._question
        sentences = sentence_prompts.listing(targets, evidence)
        judge = judge_for(self._action.writer, self._check.used_evidence)
        longest = max(len(target.text) for target in targets)
        reading = await ask(
            judge.at(number),
            sentence_prompts.render(
                self._action.mode, question, self._best.passage.text, sentences
            ),
            lambda answer: sentence_prompts.parse(answer.text, count),
            sentence_prompts.restatement(count),
            tokens=TOKENS_OF_VERDICT + 2 * longest,
        )
        if not reading.answered:
            raise ProviderError(f"the writer gave no answer ({', '.join(reading.failures)})")
        known_text = f"{self._draft.passage.text}\n{sentences}".casefold()
        replacements: dict[int, Replacement] = {}
        for target, lines, sentence in zip(targets, evidence, reading.slots, strict=True):
            replacement = None if sentence is None else parse_replacement(sentence, ())
            if replacement is None:
                continue
            replacement = _fitted(replacement, target, " ".join(lines), known_text, question)
            if replacement is not None:
                replacements[target.index] = replacement
        failed = count - len(replacements)
        if failed:
            self._errors.append(f"{failed} of {counted(count, 'sentence')} could not be rewritten")
        return replacements

    async def _candidate(self, number: int, written: Mapping[int, Replacement]) -> Candidate:
        draft = self._draft.passage
        repairs = without_repeats(draft, {**self._best.repairs, **written})
        removed = frozenset(i for i, repair in repairs.items() if not repair.text)
        abstention = self._abstention(removed)
        if abstention is not None:
            first = min(removed)
            # A table's row keeps its cells.
            missing_bars = max(_bars(draft.sentences[first].text) - _bars(abstention), 0)
            repairs[first] = Replacement(abstention + " |" * missing_bars)
        repaired = RepairedText.of(draft, repairs, floor=self._shown)
        return Candidate(
            await split_text(repaired.text, self._policy),
            self._best.verdict,
            repairs=repairs,
            spans=repaired.spans,
            attempt=number,
            removed=removed,
            is_abstention=abstention is not None,
        )

    def _abstention(self, removed: frozenset[int]) -> str | None:
        """Return the abstention, if nothing is left of the answer that claims anything."""
        if self._action.abstention is None or self._shown or not self._claiming <= removed:
            return None
        if self._action.abstention != "auto":
            return self._action.abstention
        return _sentences_for(self._question).not_certain

    async def _checked(
        self, candidate: Candidate, hedged: Mapping[str, SentenceVerdict]
    ) -> Candidate:
        """Check a new answer; undoubted sentences of the best one keep their verdicts."""
        best, passage = self._best.verdict, candidate.passage
        if candidate.is_abstention:
            sentences = tuple(
                SentenceVerdict(s.text, s.start, s.end, reason="says what is not known")
                for s in passage.sentences
            )
            self._record(decision="skipped")
            reason = "nothing that the answer said could be confirmed"
            verdict = Verdict("skipped", None, reason, sentences=sentences)
            return replace(candidate, verdict=verdict)
        earlier = unchanged_verdicts(passage, best, in_doubt(best, self._policy.threshold))
        for i, sentence in enumerate(passage.sentences):
            # A hedge does not change the claim.
            if sentence.text in hedged:
                earlier[i] = replace(
                    hedged[sentence.text],
                    text=sentence.text,
                    start=sentence.start,
                    end=sentence.end,
                )
        evidence = replace(self._check.used_evidence, logprobs=())
        verdict = await self._chain.run(
            passage, evidence, self._check.deadline, self._check.budget, earlier=earlier
        )
        self._record(score_after=verdict.score, decision=verdict.decision)
        return replace(candidate, verdict=verdict)


def _second_opinions(claims: Sequence[ClaimVerdict]) -> dict[str, str]:
    """Return what the second model says in place of claims, by their texts."""
    opinions: dict[str, str] = {}
    for claim in claims:
        contradiction = claim.contradicted_by
        if contradiction is not None and contradiction.source == "second_opinion":
            opinions[claim.text] = contradiction.text
    return opinions


def _has_undoubted_part(target: Target, question_words: frozenset[str]) -> bool:
    """Return whether a sentence in doubt states something else that the question does not."""
    flagged = [claim for claim in target.claims if claim.flagged]
    if not flagged:
        return False
    if len(flagged) < len(target.claims):
        return True
    for claim in flagged:
        words = target.undoubted_words(claim)
        if has_new_number(words, question_words) or any(new_names(words, question_words)):
            return True
    return False


def _fitted(
    replacement: Replacement, target: Target, evidence: str, known_text: str, question: str
) -> Replacement | None:
    """Return a replacement in the form of its sentence; None if it does not fit in its place.

    Args:
        replacement: The replacement; one that claims nothing removes the sentence.
        target: The sentence.
        evidence: The evidence it was written from.
        known_text: The draft and all evidence, case-folded.
        question: The question.
    """
    if not replacement.text:
        return replacement
    if non_claim_kind(replacement.text, is_open=True, question=quotable(question)):
        return Replacement("")
    text = _unquoted(replacement.text, target.text)
    if not fits(text, target.text, evidence, known_text):
        return None
    text = in_form_of(text, target.text)
    # With another number of bars, a table's row would have other columns.
    return Replacement(text) if _bars(text) == _bars(target.text) else None


def _parts_to_keep(target: Target) -> list[str]:
    """Return a prompt's lines with what a sentence is to say, and what is to be left out."""
    lines = [f"   keep: {one_line(claim.text)}" for claim in target.claims if not claim.flagged]
    lines += [f"   leave out: {doubt.quoted}" for doubt in target.doubts]
    if len(lines) == len(target.doubts):
        lines.append("   keep: the rest")
    return lines


def _evidence_lines(doubt: str, probed: ProbeResult) -> list[str]:
    """Return a prompt's lines with a question and its answers; none without answers."""
    if probed.question is None or probed.error:
        return []
    answers = [f"{one_line(text)} (x{count})" for text, count in probed.clusters]
    if probed.unknown:
        answers.append(f"I don't know (x{probed.unknown})")
    return [
        f"   in doubt: {doubt}",
        f"   asked: {one_line(probed.question.text)}",
        f"   answered: {'; '.join(answers) or 'nothing'}",
    ]


def _unquoted(text: str, target: str) -> str:
    """Return a sentence without enclosing quotation marks, unless its target has them."""
    inner = text[1:-1]
    around = text[:1] + text[-1:]
    if around not in _QUOTATIONS or target.startswith(around[0]) or set(around) & set(inner):
        return text
    return inner.strip() or text


def _hedge(sentence: str) -> str:
    """Return a sentence with a hedge inserted before its closing punctuation."""
    end = len(sentence.rstrip().rstrip(_CLOSES).rstrip(_ENDS))
    return f"{sentence[:end]} ({_sentences_for(sentence).uncertain}){sentence[end:]}"


def _sentences_for(text: str) -> Sentences:
    return load(detect(text) or "en").sentences


def _question_in_context(check: Check) -> str:
    """Return the question, with the conversation before it if there is one."""
    turns = user_turns(check.request)
    if len(turns) > 1:
        return check.used_evidence.conversation(_CONVERSATION_CHARS)
    return shortened_question(turns[-1]) if turns else ""


def _bars(text: str) -> int:
    return text.count("|")
