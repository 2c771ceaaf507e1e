"""Looks up scorers by method name, and wraps a scorer as a step of a policy.

Third parties add methods by entry points in the group `resay.scorers`: the name is the method's,
the value is the scorer class, which has a `Config` as `Scorer` describes. A policy may also name a
class by its import path, `package.module:Class`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, get_args

from pydantic import ConfigDict, Field, create_model

from resay._internal.construction import creating
from resay._internal.entry_points import installed_names, load_installed
from resay._internal.importing import import_named, import_path_of, is_import_path
from resay._internal.lazy_types import lazy_type
from resay._internal.patterns import lazy_pattern
from resay._internal.strict import Imported
from resay.core.failures import described, traced
from resay.core.passage import Passage
from resay.core.request import Request
from resay.core.scores import InvalidScoreError, Scores
from resay.errors import ConfigurationError
from resay.scorers.base import (
    NO_DOCUMENTS,
    Contradicts,
    Corrects,
    FindsClaims,
    Need,
    Prepares,
    SampleConfig,
    Scorer,
    ScorerConfig,
    ScorerTraits,
    Skips,
)

if TYPE_CHECKING:
    from resay.core.contradiction import Contradiction, EvidenceKind
    from resay.providers.base import Provider
    from resay.scorers.evidence import Evidence
else:
    Contradiction = lazy_type("resay.core.contradiction", "Contradiction")
    EvidenceKind = lazy_type("resay.core.contradiction", "EvidenceKind")
    Provider = lazy_type("resay.providers.base", "Provider")
    Evidence = lazy_type("resay.scorers.evidence", "Evidence")

# Class names, imported on demand: some methods combine others, which they look up here.
_BUILT_IN: Mapping[str, str] = {
    "ngram": "Ngram",
    "facts": "Facts",
    "references": "References",
    "actions": "Actions",
    "nli": "Nli",
    "logprobs": "Logprobs",
    "proxy_logprobs": "ProxyLogprobs",
    "bertscore": "Bertscore",
    "similarity": "Similarity",
    "grounding": "Grounding",
    "prompt": "Prompt",
    "mqag": "Mqag",
    "direct_question": "DirectQuestion",
    "fibe": "Fibe",
    "reverse_validation": "ReverseValidation",
    "cross_examination": "CrossExamination",
    "zero_shot": "ZeroShot",
    "semantic": "Semantic",
    "probe": "Probe",
    "p_true": "PTrue",
    "dinco": "Dinco",
    "panel": "Panel",
    "snowballing": "Snowballing",
    "leaning": "Leaning",
    "ensemble": "Ensemble",
    "combination": "Combination",
}
_DOCUMENTS = ("documents", "Documents")
_CONVERSATION = ("conversation", "Conversation")
# The scorers of methods that compare with all documents together, or with earlier turns; for the
# others each document takes the place of a sample.
_BY_EVIDENCE: Mapping[tuple[str, str], tuple[str, str]] = {
    ("facts", "documents"): _DOCUMENTS,
    ("facts", "references"): _DOCUMENTS,
    ("facts", "conversation"): _CONVERSATION,
    ("prompt", "documents"): _DOCUMENTS,
    ("prompt", "conversation"): _CONVERSATION,
    ("grounding", "documents"): _DOCUMENTS,
}
_NAME = lazy_pattern(r"[\w.-]{1,60}")
_log = logging.getLogger(__name__)


class _Registry(Mapping[str, type[Any]]):
    """The built-in and installed scorer classes by method name.

    Built-in classes are imported when they are looked up, and distributions are searched for others
    when a name is not built in: reading the entry points of all takes longer than reading a policy.
    """

    def __getitem__(self, name: str) -> type[Any]:
        if name not in _BUILT_IN:
            return _installed()[0][name]
        return _built_in(name, _BUILT_IN[name])

    def __contains__(self, name: object) -> bool:
        return name in _BUILT_IN or name in _installed()[0]

    def __iter__(self) -> Iterator[str]:
        yield from _BUILT_IN
        yield from _installed()[0]

    def __len__(self) -> int:
        return len(_BUILT_IN) + len(_installed()[0])


def _built_in(module: str, class_name: str) -> type[Any]:
    return getattr(import_module(f"resay.scorers.{module}"), class_name)


_REGISTRY = _Registry()


def registry() -> Mapping[str, type[Any]]:
    """Return the built-in and installed scorer classes by method name.

    A plug-in that cannot be loaded is left out with a warning in the log: it must not take down an
    application whose policy does not use it.
    """
    return _REGISTRY


@cache
def _installed() -> tuple[Mapping[str, type[Any]], Mapping[str, ConfigurationError]]:
    """Return the scorers that distributions install, and the errors of those that are left out."""
    scorers: dict[str, type[Any]] = {}
    errors: dict[str, ConfigurationError] = {}
    for name in installed_names("resay.scorers"):
        if name in _BUILT_IN:
            continue
        try:
            scorer: type[Any] = load_installed("resay.scorers", name)
            _check(scorer, name)
        except ConfigurationError as error:
            _log.warning("scorer plug-in %r is left out: %s", name, error)
            errors[name] = error
        else:
            scorers[name] = scorer
    return scorers, errors


def _check(scorer: type[Any], name: str) -> None:
    _check_config(scorer, name)
    if scorer.Config.model_fields["method"].default != name:
        raise ConfigurationError(f"Config.method of scorer {name!r} must default to {name!r}")
    _check_needs(scorer, name)


def _check_config(scorer: type[Any], name: str) -> None:
    config = getattr(scorer, "Config", None)
    if not (isinstance(config, type) and issubclass(config, ScorerConfig)):
        raise ConfigurationError(f"Config of scorer {name!r} must be a subclass of ScorerConfig")


class ImportedConfig(ScorerConfig):
    """Base class of the settings of scorers that a policy names by import path.

    `imported_config` creates a subclass for each, of this class and the scorer's own `Config`.
    """

    model_config = ConfigDict(
        # For the JSON Schema only: the scorer's own `Config` decides which settings are allowed.
        extra="allow",
        title="package.module:Class",
        json_schema_extra={"required": ["method"]},
    )

    scorer: ClassVar[type[Any]]
    method: str = Field(
        pattern=r"^[\w.-]+:[\w.]+$",
        description="The import path of your own scorer's class, `package.module:Class`; the other"
        " settings are those of its `Config`.",
    )

    @property
    def method_name(self) -> str:
        """The scorer's own name, which verdicts show."""
        return self.scorer.name

    # The class is created at run time, so pickle cannot find it in its module.
    def __reduce__(self) -> tuple[Any, ...]:
        return _without_values, (self.method,), self.__getstate__()


def _without_values(path: str) -> ImportedConfig:
    config = imported_config(path)
    return config.__new__(config)


@cache
def imported_config(path: str) -> type[ImportedConfig]:
    """Import a scorer that a policy names by import path.

    Args:
        path: The import path of its class, `package.module:Class`.

    Returns:
        The type of its settings, whose `method` is the path.

    Raises:
        ConfigurationError: It cannot be imported, or is not a scorer; or it is the name of an
            installed scorer that is left out.
    """
    _, errors = _installed()
    if path in errors:
        raise errors[path]
    if not is_import_path(path):
        raise ConfigurationError(f"{path!r} must be package.module:Class")
    scorer = import_named(path)
    if not isinstance(scorer, type):
        raise ConfigurationError(f"{path!r} is not a class; use the scorer's class")
    for name in ("score", "Config"):
        if not hasattr(scorer, name):
            raise ConfigurationError(f"{path!r} is not a scorer: it has no {name!r}")
    _check_config(scorer, path)
    named: type[Any] = scorer
    _check_attributes(named, path)
    fields: dict[str, Any] = {"method": (Literal[path], path)}
    made: type[Any] = create_model(
        named.Config.__qualname__,
        __base__=(ImportedConfig, named.Config),
        __module__=named.__module__,
        **fields,
    )
    made.scorer = named
    return made


def _check_attributes(scorer: type[Any], path: str) -> None:
    """Check that the scorer's name is valid and not another method's, and check its needs."""
    name = getattr(scorer, "name", None)
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise ConfigurationError(
            f"{path!r} needs a `name` for verdicts, of at most 60 letters, digits, '_', '-' and '.'"
        )
    if registry().get(name, scorer) is not scorer:
        raise ConfigurationError(
            f"{path!r} has the same name as another method, {name!r}; rename it"
        )
    _check_needs(scorer, path)


def _check_needs(scorer: type[Any], name: str) -> None:
    """Check the needs of a scorer's class; an instance may also set them itself."""
    needs: object = getattr(scorer, "needs", frozenset[str]())
    if not isinstance(needs, frozenset):
        raise ConfigurationError(f"{name!r} must have a frozenset as `needs`")
    _check_known(cast("frozenset[object]", needs), name)


def _check_known(needs: frozenset[object], name: str) -> None:
    allowed = get_args(Need)
    unknown = sorted(repr(need) for need in needs if need not in allowed)
    if unknown:
        raise ConfigurationError(
            f"{name!r} has an unknown value in `needs`: {', '.join(unknown)}; allowed are"
            f" {', '.join(map(repr, allowed))}"
        )


IMPORTED = Imported(ImportedConfig, imported_config, names=lambda: _installed()[1])
"""The steps whose scorers policies name by import path."""


def scorer_class(config: ScorerConfig) -> type[Any]:
    """Return the scorer class for a step's settings.

    Raises:
        ConfigurationError: No registered scorer has this configuration.
    """
    if isinstance(config, ImportedConfig):
        return config.scorer
    method = type(config).model_fields.get("method")
    scorer = registry().get(method.default) if method else None
    if scorer is None or type(config) is not scorer.Config:
        raise ConfigurationError(f"no scorer is registered for {type(config).__qualname__!r}")
    other = _BY_EVIDENCE.get((config.method_name, getattr(config, "evidence", "")))
    return scorer if other is None else _built_in(*other)


def build(config: ScorerConfig, *, where: str = "") -> Scorer:
    """Build the scorer for a step's settings.

    Args:
        config: The step, an instance of the scorer's `Config`.
        where: Where it is in the policy, for errors; empty if it is not in the policy itself.

    Returns:
        The scorer.

    Raises:
        ConfigurationError: No registered scorer has this configuration, or the scorer cannot be
            created, does not declare its needs, or declares an unknown one.
    """
    scorer_type = scorer_class(config)
    if config.method_name in _BUILT_IN:
        scorer = scorer_type(config)
    else:
        what = f"the scorer {config.method_name!r} ({import_path_of(scorer_type)})"
        with creating(f"{where}: {what}" if where else what):
            scorer = scorer_type(config)
    needs: object = getattr(scorer, "needs", None)
    if not isinstance(needs, frozenset):
        raise ConfigurationError(
            f"scorer {config.method_name!r} has no `needs`; give it a frozenset"
        )
    _check_known(cast("frozenset[object]", needs), config.method_name)
    return scorer


def _traits_of(scorer: Scorer) -> ScorerTraits:
    """Return a scorer's traits; a plug-in may omit them."""
    traits: object = getattr(scorer, "traits", ScorerTraits())
    if not isinstance(traits, ScorerTraits):
        raise ConfigurationError(
            f"the `traits` of scorer {scorer.name!r} must be ScorerTraits(...), not of type"
            f" {type(traits).__name__}"
        )
    return traits


@dataclass(frozen=True, slots=True)
class Step:
    """A scorer with its settings in a policy.

    Attributes:
        config: Its settings in the policy.
        scorer: The scorer built from them.
        traits: How the chain may run the scorer.
        source: The kind of evidence the passage is compared with.
        contradicts: Whether the scorer finds contradictions of a sentence.
    """

    config: ScorerConfig
    scorer: Scorer
    traits: ScorerTraits = field(init=False)
    source: EvidenceKind = field(init=False)
    contradicts: bool = field(init=False)
    _prepares: bool = field(init=False)
    _skips: bool = field(init=False)

    def __post_init__(self) -> None:
        traits = _traits_of(self.scorer)
        only_references = "references" in self.needs and "samples" not in self.needs
        by_reference = only_references or self._replaces_samples
        usual: EvidenceKind = "reference" if by_reference else "sample"
        fields = {
            "traits": traits,
            "source": traits.source or usual,
            # Here, because `isinstance` with a protocol is as slow as scoring a short answer.
            "contradicts": isinstance(self.scorer, Contradicts),
            "_prepares": isinstance(self.scorer, Prepares),
            "_skips": isinstance(self.scorer, Skips),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, config: ScorerConfig, *, where: str = "") -> Step:
        """Build the step for a configuration.

        Args:
            config: The step's settings.
            where: Where they are in the policy, for errors.

        Raises:
            ConfigurationError: No registered scorer has this configuration, or the scorer's needs
                or traits are not valid.
        """
        return cls(config, build(config, where=where))

    @property
    def name(self) -> str:
        """The method's name."""
        return self.scorer.name

    @property
    def corrects(self) -> bool:
        """Whether it corrects the scores of the steps before it."""
        return "scores" in self.scorer.needs

    @property
    def adapts(self) -> bool:
        """Whether it draws only as many samples as a stopping rule asks for."""
        return self.traits.adapts and self.source == "sample"

    @property
    def stops(self) -> bool:
        """Whether it stops comparing when a stopping rule says so."""
        return self.traits.stops and self.source == "sample"

    @property
    def is_second(self) -> bool:
        """Whether it asks the policy's second model."""
        return self.source == "second_opinion"

    @property
    def needs_whole_passage(self) -> bool:
        """Whether it scores the passage as a whole, or sentences by their context.

        Such a step waits for the end of a response that is still being streamed.
        """
        return not self.traits.by_sentence

    @property
    def by_text(self) -> bool:
        """Whether its passage score covers the whole text, including parts outside sentences."""
        return self.traits.by_text

    @property
    def contradicts_at_once(self) -> bool:
        """Whether it finds contradictions without waiting for anything."""
        return self.contradicts and self.traits.contradicts_at_once

    @property
    def can_precompute(self) -> bool:
        """Whether its correction can be computed from scores in advance."""
        return isinstance(self.scorer, Corrects)

    @property
    def finds_claims(self) -> bool:
        """Whether it finds claims in sentences that otherwise claim nothing."""
        return isinstance(self.scorer, FindsClaims)

    def claims(self, sentence: str) -> bool:
        """Return whether a sentence claims something that the scorer is about."""
        return isinstance(self.scorer, FindsClaims) and self.scorer.claims(sentence)

    def corrected(self, scores: list[float | None]) -> list[float | None]:
        """Return the scores of all sentences as a correction would change them."""
        return self.scorer.corrected(scores) if isinstance(self.scorer, Corrects) else scores

    @property
    def reads_documents(self) -> bool:
        """Whether it compares with all documents of the request, wherever they are in it."""
        return self.config.reads_documents

    @property
    def compares_with_references(self) -> bool:
        """Whether its texts are references, and not samples."""
        return self.source == "reference" or self._replaces_samples

    @property
    def needs(self) -> frozenset[Need]:
        """The scorer's needs, without samples if documents take their place."""
        needs = set(self.scorer.needs)
        if self._replaces_samples:
            needs.discard("samples")
            if not self.reads_documents:
                needs.add("references")
        return frozenset(needs)

    def view(self, evidence: Evidence, judge: Provider | None) -> Evidence:
        """Return the evidence as this step sees it.

        Args:
            evidence: All the evidence.
            judge: The provider for this step's judges.
        """
        samples = evidence.references if self._replaces_samples else evidence.samples
        if samples is evidence.samples and judge is evidence.judge_provider:
            return evidence
        return replace(evidence, samples=samples, judge_provider=judge)

    async def gated(self, request: Request, passage: Passage) -> str | None:
        """Return why the policy's `when` gates this step off, or None.

        Args:
            request: The request that the response answers.
            passage: The passage; its `sentences` are to be scored.
        """
        when = self.config.when
        if when is None:
            return None
        reason = when.before(request) or await when.after(request, passage)
        return reason and f"{self.name}: {reason}"

    def skip_reason(self, passage: Passage, evidence: Evidence) -> str | None:
        """Return why the scorer has nothing to do for a passage, or None.

        Args:
            passage: The passage.
            evidence: The evidence as this step sees it.
        """
        if not self._skips:
            return None
        reason = cast("Skips", self.scorer).skip_reason(passage, evidence)
        return reason and f"{self.name}: {reason}"

    async def run(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score a passage; a scorer that fails costs only its scores.

        Args:
            passage: The passage; its `sentences` are scored.
            evidence: The evidence as this step sees it.

        Returns:
            The scores; if the scorer failed or returned anything else, empty ones with the reason
            in `inconclusive`.
        """
        by_document = self.reads_documents and self._replaces_samples
        if by_document and not await evidence.samples.all():
            return Scores(error=NO_DOCUMENTS)
        try:
            pending = self.scorer.score(passage, evidence)
            if not isinstance(cast("object", pending), Awaitable):
                return Scores(error="its `score` is not async; write `async def score`")
            scores = await pending
        except InvalidScoreError as error:
            return Scores(error=str(error))
        # A method that fails, third-party ones included, must not cost the user the answer.
        except Exception as error:
            _log.debug("method %r failed: %s", self.name, traced(error))
            return Scores(error=f"it failed ({described(error)})")
        if not isinstance(cast("object", scores), Scores):
            # Only the type: the value might quote the response.
            return Scores(error=f"it returned a {type(scores).__name__}, not Scores")
        if scores.sentences and len(scores.sentences) != len(passage.sentences):
            return Scores(error="it returned the wrong number of scores")
        return scores

    async def prepare(self) -> None:
        """Load the resources of the scorer now instead of on first use.

        Raises:
            ConfigurationError: It cannot be loaded as configured.
            ScorerError: It does not respond.
        """
        if self._prepares:
            await cast("Prepares", self.scorer).prepare()

    async def contradiction(
        self, sentence: str, evidence: Evidence, scores: Sequence[float | None]
    ) -> Contradiction | None:
        """Return the scorer's contradiction of a sentence; see `Contradicts`.

        Args:
            sentence: The sentence.
            evidence: The evidence as this step sees it.
            scores: Its entries in the scorer's columns.
        """
        if not self.contradicts:
            return None
        try:
            scorer = cast("Contradicts", self.scorer)
            contradiction = await scorer.contradiction(sentence, evidence, scores)
            if contradiction is None or contradiction.source == self.source:
                return contradiction
            return replace(contradiction, source=self.source)
        # The verdict does not depend on it; without it, words are compared instead.
        except Exception as error:
            _log.debug("method %r found no contradiction: %s", self.name, traced(error))
            return None

    @property
    def _replaces_samples(self) -> bool:
        config = self.config
        return (
            isinstance(config, SampleConfig)
            and config.replaces_samples
            and "samples" in self.scorer.needs
        )
