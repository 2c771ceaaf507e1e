"""Maps modules to the tests that should detect their faults, and lists undetectable faults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mutants.mutating import Mutant, handmade

ROOT = Path(__file__).resolve().parents[2]

_FACTS = (
    *("scorers/test_facts_formula.py", "scorers/test_lists.py", "scorers/test_sample_index.py"),
    "scorers/test_facts.py",
)
_ACTIONS = ("scorers/test_actions.py", "actions/test_cases.py")
_QUANTITIES = ("core/test_quantities.py", "scorers/test_facts.py", "scorers/test_tools.py")
_FROM_SAMPLES = (
    *("engine/regeneration/test_repairs.py", "engine/regeneration/test_from_samples.py"),
    *("engine/regeneration/test_injection.py", "engine/regeneration/test_streams.py"),
)
_PROMPT = (
    "scorers/test_prompt.py",
    "scorers/test_together.py",
    "scorers/test_document_verdicts.py",
)

# Paths under `tests`, the fastest first: a fault detected early costs least.
TESTS: Mapping[str, tuple[str, ...]] = {
    "resay.engine.actions": (
        *("engine/test_actions.py", "engine/test_marks.py", "core/display/test_displays.py"),
    ),
    "resay.engine.marks": ("engine/test_marks.py", "engine/test_actions.py"),
    "resay.engine.caveats": ("engine/test_marks.py", "engine/test_actions.py"),
    "resay.engine.state": (
        "engine/test_decide.py",
        "engine/test_chain.py",
        "engine/test_stream_gate.py",
        "scorers/test_cross_model.py",
    ),
    "resay.engine.chain": (
        *(
            "engine/test_decide.py",
            "engine/test_chain.py",
            "engine/test_skipping.py",
            "engine/test_stream_gate.py",
            "scorers/test_references.py",
            "engine/test_contradiction.py",
            "engine/test_reference_functions.py",
            "engine/test_code_names.py",
        ),
        "_internal/telemetry/test_spans.py",
        *("scorers/test_cross_model.py", "scorers/test_probe.py", "scorers/test_tools.py"),
    ),
    "resay.engine.code_names": ("engine/test_code_names.py",),
    "resay.engine.contradictions": (
        *("engine/test_contradiction.py", "engine/test_decide.py"),
        "engine/regeneration/test_from_samples.py",
    ),
    "resay.engine.decide": (
        "engine/test_contradiction.py",
        *(
            "engine/test_decide.py",
            "engine/test_chain.py",
            "engine/test_skipping.py",
            "engine/test_stream_gate.py",
            "engine/test_code_names.py",
            "scorers/test_references.py",
        ),
    ),
    "resay.engine.decision_reasons": (
        *("engine/test_decide.py", "engine/test_chain.py", "engine/test_skipping.py"),
        *("engine/test_code_names.py", "scorers/test_cross_model.py", "scorers/test_probe.py"),
        "scorers/test_probing.py",
    ),
    "resay.engine.flagged_claims": (
        *("engine/test_contradiction.py", "engine/test_decide.py", "engine/test_chain.py"),
        *("scorers/test_references.py", "scorers/test_cross_model.py"),
    ),
    "resay.engine.stopping_rule": (
        *("engine/test_chain.py", "engine/test_decide.py", "engine/test_stream_gate.py"),
        "scorers/test_references.py",
    ),
    "resay.engine.unscored": ("engine/test_decide.py", "engine/test_skipping.py"),
    "resay.engine.verdict_tracker": (
        *("engine/test_stream_gate.py", "engine/test_decide.py", "engine/test_code_names.py"),
    ),
    "resay.engine.step_run": (
        *("engine/test_decide.py", "engine/test_chain.py", "engine/test_skipping.py"),
        *("_internal/telemetry/test_spans.py", "scorers/test_cross_model.py"),
        "scorers/test_probe.py",
    ),
    "resay.engine.policy_steps": (
        *("engine/test_decide.py", "engine/test_chain.py", "engine/test_stream_gate.py"),
        *("scorers/test_references.py", "scorers/test_cross_model.py"),
    ),
    "resay.engine.model_claims": ("engine/test_model_claims.py",),
    "resay.engine.answer_stream": ("engine/test_stream_gate.py", "engine/test_stream.py"),
    "resay.engine.pass_through": ("engine/test_stream.py", "engine/test_stream_gate.py"),
    "resay.engine.stream_gate": (
        "engine/test_stream_gate.py",
        "engine/test_decide.py",
        "engine/test_stream.py",
        "engine/regeneration/test_streams.py",
        "engine/test_code_names.py",
        "engine/test_request.py",
        "engine/test_reasoning.py",
        "engine/test_cut_answers.py",
        "engine/test_marks.py",
    ),
    "resay.engine.regeneration.from_samples": (
        *("engine/regeneration/test_from_samples.py", "_internal/telemetry/test_spans.py"),
    ),
    "resay.engine.regeneration.sentence_prompts": _FROM_SAMPLES,
    "resay.engine.regeneration.targets": _FROM_SAMPLES,
    "resay.engine.regeneration.replacements": _FROM_SAMPLES,
    "resay.core.logprobs": ("core/test_logprobs.py",),
    "resay.scorers.actions.calls": _ACTIONS,
    "resay.scorers.actions.claims": _ACTIONS,
    "resay.scorers.actions.commands": ("scorers/test_action_commands.py", "actions/test_cases.py"),
    "resay.scorers.actions.details": _ACTIONS,
    "resay.scorers.actions.findings": _ACTIONS,
    "resay.scorers.actions.invented": _ACTIONS,
    "resay.scorers.actions.judging": _ACTIONS,
    "resay.scorers.actions.matching": _ACTIONS,
    "resay.scorers.actions.missing_calls": _ACTIONS,
    "resay.scorers.actions.outcomes": _ACTIONS,
    "resay.scorers.actions.targets": _ACTIONS,
    "resay.scorers.actions.values": _ACTIONS,
    "resay.scorers.base": ("scorers/test_base.py",),
    "resay.scorers.bertscore": ("scorers/test_bertscore.py", "scorers/test_known_models.py"),
    "resay.scorers.combination": ("scorers/test_combination.py", "scorers/test_ensemble.py"),
    "resay.scorers.common.comparing": ("scorers/test_comparing.py",),
    "resay.scorers.cross_model": ("scorers/test_cross_model.py",),
    "resay.scorers.ensemble": ("scorers/test_ensemble.py",),
    "resay.scorers.facts": _FACTS,
    "resay.scorers.common.fact": _FACTS,
    "resay.scorers.common.fact_comparison": _FACTS,
    "resay.scorers.common.fact_parts": (
        *("engine/test_contradiction.py", "engine/test_decide.py", "scorers/test_references.py"),
    ),
    "resay.scorers.common.statement": _FACTS,
    "resay.scorers.common.sentence_items": _FACTS,
    "resay.scorers.common.sample_index": (*_FACTS, "scorers/test_growth.py"),
    "resay.scorers.common.indexed_sentences": (*_FACTS, "scorers/test_references.py"),
    "resay.scorers.common.quantity_keys": _FACTS,
    "resay.scorers.common.words": (*_FACTS, "scorers/test_references.py"),
    "resay.scorers.common.lists": _FACTS,
    "resay.scorers.common.contrast": (*_FACTS, "scorers/test_references.py"),
    "resay.scorers.common.opposition": _FACTS,
    "resay.scorers.common.quotations": _FACTS,
    "resay.scorers.structured": ("scorers/test_structured.py", "scorers/test_fields.py"),
    "resay.scorers.fields": ("scorers/test_fields.py",),
    "resay.scorers.common.items": ("scorers/test_fields.py",),
    "resay.scorers.leaning": ("scorers/test_leaning.py",),
    "resay.scorers.common.correcting": ("scorers/test_leaning.py", "scorers/test_snowballing.py"),
    "resay.scorers.common.logistic": ("scorers/test_combination.py",),
    "resay.scorers.logprobs": ("scorers/test_logprobs.py",),
    "resay.scorers.common.token_alignment": ("scorers/test_token_alignment.py",),
    "resay.scorers.common.token_uncertainty": ("scorers/test_logprobs.py",),
    "resay.scorers.mqag.examinee": ("scorers/test_mqag.py",),
    "resay.scorers.mqag.questions": ("scorers/test_mqag_questions.py", "scorers/test_mqag.py"),
    "resay.scorers.mqag.scorer": ("scorers/test_mqag.py",),
    "resay.scorers.mqag.scoring": ("scorers/test_mqag_scoring.py",),
    "resay.scorers.ngram": ("scorers/test_ngram.py",),
    "resay.scorers.nli": ("scorers/test_known_models.py", "scorers/test_nli.py"),
    "resay.scorers.common.nearest_sentences": (
        *("scorers/test_known_models.py", "scorers/test_nearest_sentences.py"),
    ),
    "resay.scorers.common.entailing": ("scorers/test_entailing.py", "scorers/test_known_models.py"),
    "resay.scorers.entailments": ("scorers/test_entailing.py", "scorers/test_semantic.py"),
    "resay.scorers.common.composite": (
        *("scorers/test_ensemble.py", "scorers/test_combination.py"),
        "scorers/test_registry.py",
    ),
    "resay.scorers.dinco": ("scorers/test_dinco.py", "scorers/test_known_models.py"),
    "resay.scorers.p_true": ("scorers/test_p_true.py",),
    "resay.scorers.direct_question": ("scorers/test_direct_question.py",),
    "resay.scorers.common.judge_confidence": ("scorers/test_p_true.py", "scorers/test_dinco.py"),
    "resay.scorers.panel": ("scorers/test_panel.py",),
    "resay.scorers.probe": ("scorers/test_probe.py", "scorers/test_known_models.py"),
    "resay.scorers.semantic": ("scorers/test_semantic.py", "scorers/test_known_models.py"),
    "resay.scorers.common.semantic_measures": ("scorers/test_semantic.py",),
    "resay.scorers.common.eigen": ("scorers/test_semantic.py",),
    "resay.scorers.prompt": (
        *("scorers/test_prompt.py", "scorers/test_nearest_first.py"),
        *("scorers/test_together.py", "scorers/test_probing.py"),
        "scorers/test_best_document.py",
    ),
    "resay.scorers.common.nearest_first": ("scorers/test_nearest_first.py",),
    "resay.scorers.common.together": _PROMPT,
    "resay.scorers.common.per_sample": ("scorers/test_prompt.py", "scorers/test_entailing.py"),
    "resay.scorers.common.sample_verdicts": _PROMPT,
    "resay.scorers.common.document_verdicts": (
        *("scorers/test_document_verdicts.py", "scorers/test_documents_together.py"),
        "scorers/test_verdict_answers.py",
    ),
    "resay.scorers.common.verdict_json": (
        *("scorers/test_document_verdicts.py", "scorers/test_verdict_answers.py"),
        "scorers/test_documents_together.py",
    ),
    "resay.scorers.common.verdict_lines": (
        *("scorers/test_document_verdicts.py", "scorers/test_verdict_answers.py"),
        "scorers/test_documents_together.py",
    ),
    "resay.scorers.common.judge_json": (
        *("scorers/test_verdict_answers.py", "scorers/test_document_verdicts.py"),
        "scorers/test_answers.py",
    ),
    "resay.scorers.common.yes_no": ("scorers/test_answers.py", "scorers/test_task_prompt.py"),
    "resay.scorers.task_prompt": ("scorers/test_task_prompt.py",),
    "resay.scorers.common.silence": (
        *("scorers/test_prompt.py", "scorers/test_best_document.py", "scorers/test_probing.py"),
    ),
    "resay.scorers.common.probed_scores": ("scorers/test_probing.py",),
    "resay.scorers.grounding.answer_classifier": ("scorers/test_grounding.py",),
    "resay.scorers.grounding.claim_classifier": ("scorers/test_grounding.py",),
    "resay.scorers.grounding.formats": ("scorers/test_grounding.py",),
    "resay.scorers.grounding.scorer": ("scorers/test_grounding.py",),
    "resay.scorers.similarity": ("scorers/test_similarity.py", "scorers/test_known_models.py"),
    "resay.scorers.snowballing": ("scorers/test_snowballing.py",),
    "resay.scorers.stopping": ("scorers/test_stopping.py",),
    "resay.core.claim_verdict": ("core/test_verdict.py",),
    "resay.core.contradiction": ("core/test_verdict.py",),
    "resay.core.former_keys": ("core/test_verdict.py",),
    "resay.core.display.highlighting": ("core/test_verdict.py",),
    "resay.core.marks": ("adapters/test_marks.py", "engine/test_marks.py"),
    "resay.core.regeneration": ("core/test_verdict.py",),
    "resay.core.scores": (
        *("core/test_verdict.py", "scorers/test_comparing.py", "scorers/test_combination.py"),
        *("scorers/test_ensemble.py", "engine/test_decide.py"),
    ),
    "resay.core.sentence_verdict": ("core/test_verdict.py",),
    "resay.core.step_record": ("core/test_verdict.py",),
    "resay.core.unscored": ("core/test_verdict.py",),
    "resay.core.verdict": ("core/test_verdict.py",),
    "resay.core.verdict_json": ("core/test_verdict.py",),
    "resay.core.quantities.dates": _QUANTITIES,
    "resay.core.quantities.negation": _QUANTITIES,
    "resay.core.quantities.numbers": _QUANTITIES,
    "resay.core.quantities.numerals": _QUANTITIES,
    "resay.core.quantities.periods": _QUANTITIES,
    "resay.core.quantities.plain_math": _QUANTITIES,
    "resay.core.quantities.quantity": _QUANTITIES,
    "resay.core.quantities.reader": _QUANTITIES,
    "resay.core.quantities.romans": _QUANTITIES,
    "resay.core.quantities.search": _QUANTITIES,
    "resay.core.quantities.times": _QUANTITIES,
    "resay.core.quantities.tokens": _QUANTITIES,
    "resay.core.quantities.units": _QUANTITIES,
    "resay.core.quantities.words": _QUANTITIES,
}

# Faults that no test detected once: the scope, what is replaced, and by what.
HANDMADE: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "resay.engine.actions": (
        (
            "_choose",
            "verdict.flagged or (verdict.regenerated and verdict.inconclusive)",
            "verdict.flagged",
        ),
    ),
    "resay.engine.state": (
        ("ClaimResult.against", "(score or 0.0) > 0.5", "(score or 0.0) >= 0.5"),
    ),
    "resay.engine.chain": (
        ("Chain._settled_before", "settle is not None and settle.settles(result.score)", "False"),
    ),
    "resay.engine.stream_gate": (
        (
            "StreamGate._withholds",
            "any((sentence.flagged for sentence in part.sentences))",
            "part.sentences[0].flagged",
        ),
        (
            "StreamGate._release",
            "any((view.in_doubt for view in views))",
            "bool(views[0].in_doubt)",
        ),
    ),
    "resay.scorers.base": (
        ("Settle.settles", "score < self.below", "score <= self.below"),
        ("Settle.settles", "score > self.above", "score >= self.above"),
    ),
    "resay.scorers.bertscore": (("_MIN_TOKENS", "4", "3"), ("_MIN_TOKENS", "4", "5")),
    "resay.scorers.nli": (
        (
            "_contradicted",
            "max((_relative(entails, contradicts) for entails, contradicts in parts.values()))",
            "next((_relative(entails, contradicts) for entails, contradicts in parts.values()))",
        ),
    ),
}

_TURNS = "It says only when others on the event loop have a turn."
_NO_JUDGE = "Where there is no judge, no step asks one."
_APART = "It only tells one of two equal tokens from the other."

# Faults that change nothing that a test could see, by name, with the reason.
EQUIVALENT: Mapping[str, str] = {
    "resay.engine.flagged_claims:FlaggedClaims.contradictions: "
    "state.results[i].contradiction is None  ->  state.results[i].contradiction is not None": (
        _TURNS
    ),
    "resay.engine.flagged_claims:FlaggedClaims.contradictions: "
    "state.results[i].contradiction is None and (not state.results[i].judged)  ->  False": _TURNS,
    "resay.engine.flagged_claims:FlaggedClaims.contradictions: "
    "sources.add(state.results[i].source)  ->  pass": _TURNS,
    "resay.engine.flagged_claims:FlaggedClaims.contradictions: await "
    "pool.derive(INDEX_BUILDERS[source], chars=_SEARCH_COST * pool.chars)  ->  pass": _TURNS,
    "resay.engine.flagged_claims:FlaggedClaims.contradictions: not flagged  ->  False": (
        "Where nothing is flagged, nothing is found."
    ),
    "resay.engine.flagged_claims:FlaggedClaims.ask_methods: step is not None and "
    "step.contradicts  ->  step is not None": "A step whose method does not say it says None.",
    "resay.engine.stream_gate:StreamGate._score: 1  ->  2": _TURNS,
    "resay.engine.stream_gate:StreamGate._joined_state.join: self._states.clear()  ->  pass": (
        "It only frees what is not read again."
    ),
    "resay.engine.stream_gate:StreamGate._compare_names: isinstance(n, NameClaim)  ->  True": (
        "No other claim is compared like this."
    ),
    "resay.engine.answer_stream:AnswerStream.__anext__: True  ->  False": (
        "After the last part there is nobody left to report anything."
    ),
    "resay.engine.answer_stream:SyncAnswerStream.__enter__: False  ->  True": (
        "At the end of the process, which of two threads is first decides."
    ),
    "resay.engine.regeneration.from_samples:_question_in_context: shortened_question(turns[-1]) "
    "if turns else ''  ->  shortened_question(turns[-1])": "What is repaired answers a question.",
    "resay.engine.chain:Chain._cached: provider is None or self._cache is None  ->  "
    "self._cache is None": _NO_JUDGE,
    "resay.engine.step_run:StepRun.__init__: Metered(evidence.judge_provider) if "
    "evidence.judge_provider else None  ->  Metered(evidence.judge_provider)": _NO_JUDGE,
    "resay.engine.policy_steps:concurrent_groups: group[-1]  ->  group[0]": (
        "A step that corrects is alone in its group."
    ),
    "resay.engine.chain:Chain.view: self._decider.sentences(state, claims)[0]  ->  "
    "self._decider.sentences(state, claims)[-1]": "There is one sentence.",
    "resay.engine.state:ClaimResult.against: 0.0  ->  0.5": (
        "Half is no more over a half than nothing is."
    ),
    "resay.engine.state:RunState.joined: failed or decisive  ->  failed": (
        "Only its note is read."
    ),
    "resay.engine.contradictions:_ROUNDING: 1e-09  ->  1.5000000000000002e-09": (
        "As good a tolerance."
    ),
    "resay.engine.contradictions:ContradictionIndex.search: -1  ->  1": (
        "It is read only where something near was found."
    ),
    "resay.engine.decide:Decider.decides_names: self._reasons.compares and "
    "self._reasons.samples_problem(evidence)  ->  self._reasons.samples_problem(evidence)": (
        "A stream has no samples where nothing compares."
    ),
    "resay.engine.decision_reasons:DecisionReasons._unconfirmed: 1  ->  0": (
        "There is one second model."
    ),
    "resay.engine.decide:_severity: 1.0  ->  1.5": "Either is less than every score.",
    "resay.engine.contradictions:_differences: quantities(claim) if other_quantities else ()  ->  "
    "quantities(claim)": "Without numbers on the other side, none of the claim's is contradicted.",
    "resay.engine.decide:Decider._left_open: claim.is_checkable and (not"
    " state.results[i].needs_no_samples)  ->  not state.results[i].needs_no_samples": (
        "What claims nothing has no score to decide by."
    ),
    "resay.scorers.common.comparing:_Comparison.scored: len(self.columns) * "
    "len(self.passage.sentences)  ->  len(self.columns) / len(self.passage.sentences)": _TURNS,
    "resay.scorers.common.comparing:_Comparison._compare_with: self.passage if everything else"
    " self.passage.only(pending)  ->  self.passage.only(pending)": "A copy of all is the same.",
    "resay.scorers.common.correcting:CorrectingScorer._reason: before is None or after is None or "
    "f'{before:.2f}' == f'{after:.2f}'  ->  after is None or f'{before:.2f}' == f'{after:.2f}'": (
        "What has no score has no corrected one."
    ),
    "resay.scorers.common.correcting:CorrectingScorer._reason: before is None or after is None or "
    "f'{before:.2f}' == f'{after:.2f}'  ->  before is None or f'{before:.2f}' == f'{after:.2f}'": (
        "What has a score has a corrected one."
    ),
    "resay.scorers.structured:Comparable.complete: any((item.was_cut for item in answers.items))  "
    "->  all((item.was_cut for item in answers.items))": _TURNS,
    "resay.scorers.common.semantic_measures:entropy: shares.get(meaning, 0.0) + weight  ->  "
    "shares.get(meaning, 0.0) - weight": "Shares of a negative total are the same.",
    "resay.scorers.common.eigen:_ZERO: 1e-12  ->  1.5e-12": "As good a tolerance.",
    "resay.scorers.common.eigen:eigen: fsum((a[i][j] ** 2 for i in range(n) for j in range(i))) < "
    "_ZERO ** 2  ->  False": "A longer way to the same.",
    "resay.scorers.p_true:PTrue.score: s is None  ->  True": (
        "What has a score is not lost, whoever says so."
    ),
    "resay.scorers.fields:Fields: True  ->  False": _TURNS,
    "resay.scorers.fields:_Values._has_number: self._numbers[max(index - 1, 0):index + 1]  ->  "
    "self._numbers[max(index - 1, 0):]": "A longer way to the same.",
    "resay.scorers.fields:_Values._has_number: self._numbers[max(index - 1, 0):index + 1]  ->  "
    "self._numbers[:index + 1]": "A longer way to the same.",
    "resay.scorers.fields:_Values._shared: 1.0  ->  1.5": "All words weigh the same.",
    "resay.scorers.structured:fields_in: line  ->  True": "An object has at least one line.",
    "resay.scorers.fields:_counted: counts[token] += 1  ->  counts[token] -= 1": _APART,
    "resay.scorers.fields:_counted: 1  ->  2": _APART,
    "resay.scorers.ngram:_grams: n == 1  ->  False": "A longer way to the same tokens.",
    "resay.scorers.ngram:_grams: 1  ->  0": "A longer way to the same tokens.",
    "resay.scorers.nli:Nli._divided: size <= room // 2  ->  size < room // 2": (
        "What has just room is one part, cut or not."
    ),
    "resay.scorers.prompt:Prompt._ask_about_silence: askable and evidence.prober is not None  ->  "
    "askable": "Nothing is askable where nobody answers.",
    "resay.scorers.prompt:_estimated_scores: 0.0  ->  0.5": (
        "Only whether there is an entry is counted."
    ),
    "resay.scorers.common.eigen:_MAX_SWEEPS: 60  ->  61": "The sweeps end long before.",
    "resay.scorers.common.eigen:_MAX_SWEEPS: 60  ->  59": "The sweeps end long before.",
    "resay.scorers.common.semantic_measures:_NO_SHARE: 1e-12  ->  1.5e-12": "As good a tolerance.",
    "resay.scorers.common.fact_comparison:_forms_of_number: 1  ->  0 #2": (
        "The whole number is a form already."
    ),
    "resay.scorers.common.sample_index:SampleIndex: False  ->  True #4": (
        "A cache is empty at first, also where it could be passed."
    ),
    "resay.scorers.common.words:word_stems: not word.isascii() and _IS_UNSPACED.match(word)  ->  "
    "_IS_UNSPACED.match(word)": "A longer way to the same.",
    "resay.scorers.common.quantity_keys:_SIZE_OF_ZERO: 1000  ->  999": "Nothing is as small.",
    "resay.core.scores:_DECIMALS: 12  ->  13": "As good a tolerance.",
    "resay.core.scores:_DECIMALS: 12  ->  11": "As good a tolerance.",
    "resay.scorers.structured:PARSING: 5  ->  6": _TURNS,
    "resay.scorers.structured:PARSING: 5  ->  4": _TURNS,
    "resay.core.verdict:Verdict.from_dict: False  ->  True": "Only the places of errors are read.",
}


def source_of(module: str) -> Path:
    """Return the file of a module."""
    return ROOT / "src" / f"{module.replace('.', '/')}.py"


def handmade_of(module: str, source: str) -> list[Mutant]:
    """Return the mutants of a module that were written by hand."""
    return [handmade(module, source, *fault) for fault in HANDMADE.get(module, ())]
