"""The gateway's Prometheus metrics. Needs the extra `server`.

No metric contains content of requests or answers. Labels have few values: values that clients
choose freely are not among them, except for model names, whose number is limited.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector

from resay import Answer, Usage, __version__
from resay_server.gateway.logs import one_line
from resay_server.gateway.observation import Observation

_Metric = TypeVar("_Metric", bound="Counter | Histogram")

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable with the folder for metrics of several processes. It must be set before
prometheus_client is imported."""

_PREFIX = "resay_gateway_"
_NONE, _OTHER = "none", "other"
_MODELS, _LONGEST = 100, 128
_LARGEST = 2**53
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_OVERLOADED = "overloaded"

# From refusals to answers that take as long as the upstream's timeout.
_REQUEST_S = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)
# From counting words to judging many sentences against many samples.
_CHECK_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0)
_SCORE = tuple(tenth / 10 for tenth in range(1, 11))


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """Values that are read for each scrape. Each must be quick.

    Attributes:
        guarded: The number of requests being guarded.
        waiting: The number of requests in the queue.
        journal_lost: The number of entries that the journal has lost; None without a journal.
        reload_succeeded: Whether the last load of the policies succeeded.
        reloaded_at: The time of the last successful load, in seconds since the epoch (UTC).
        state_degraded: Whether the shared state is unreachable; None if nothing is shared.
        state_members: The number of gateways that share it.
        policy_versions: The number of different sets of policies they use.
    """

    guarded: Callable[[], int] | None = None
    waiting: Callable[[], int] | None = None
    journal_lost: Callable[[], int] | None = None
    reload_succeeded: Callable[[], bool] | None = None
    reloaded_at: Callable[[], float] | None = None
    state_degraded: Callable[[], bool] | None = None
    state_members: Callable[[], int] | None = None
    policy_versions: Callable[[], int] | None = None


_OF_STATE: Sequence[tuple[str, str, Callable[[Readings], Callable[[], float] | None]]] = (
    (
        "state_degraded",
        "Whether the shared state is unreachable.",
        attrgetter("state_degraded"),
    ),
    ("state_members", "Gateway processes that use the shared state.", attrgetter("state_members")),
    (
        "policy_versions",
        "Different sets of policies in use; more than 1 while they are reloaded.",
        attrgetter("policy_versions"),
    ),
)


class Metrics:
    """Counts the activity of one gateway, and renders it in Prometheus' formats.

    Each gateway has its own registry, so that one process can have several. `render` may be called
    from any thread.

    Args:
        readings: Values to read for each scrape.
    """

    def __init__(self, readings: Readings | None = None) -> None:
        self._registry = CollectorRegistry()
        self._instruments = _Instruments(self._registry)
        self._models = _Models()
        self._shared: _SharedReadings | None = None
        if SHARED_FOLDER in os.environ:
            self._shared = _SharedReadings(readings or Readings(), self._registry)
            # Covers all processes; this process's registry has only its own counts.
            self._registry = CollectorRegistry()
            MultiProcessCollector(self._registry)
        else:
            self._registry.register(_ReadingsCollector(readings or Readings()))
            ProcessCollector(registry=self._registry)
        self._registry.register(_VersionInfo())

    @property
    def shared(self) -> bool:
        """Whether several processes share metrics, so that each must call `refresh`."""
        return self._shared is not None

    def refresh(self) -> None:
        """Publish this process's readings to the other processes."""
        if self._shared is not None:
            self._shared.refresh()

    def observe(self, observation: Observation) -> None:
        """Count a request that was guarded, or was to be. An `Observer`.

        Args:
            observation: The request's outcome.
        """
        instruments, verdict = self._instruments, observation.verdict
        api, policy = observation.api, observation.policy
        stream = str(observation.stream).lower()
        decision = verdict.decision if verdict else _NONE
        action = observation.action or _NONE
        status = _status_class(observation.status)
        _labelled(instruments.requests, api, policy, decision, action, stream, status).inc()
        _labelled(instruments.duration, api, policy, stream).observe(observation.elapsed_s)
        if observation.unguarded:
            instruments.unguarded.inc()
            instruments.overloads.inc()
        if not observation.complete:
            instruments.incomplete.inc()
        model = self._models.label(observation)
        for answer in observation.answers:
            self._count_answer(answer, policy, model)
        self._count_usage(observation.usage, model, "main")
        self._count_usage(observation.check_usage, model, "check")

    def _count_answer(self, answer: Answer, policy: str, model: str) -> None:
        instruments, verdict = self._instruments, answer.verdict
        _labelled(instruments.verdicts, model, verdict.decision).inc()
        _labelled(instruments.samples, model).inc(verdict.samples)
        _labelled(instruments.sentences, policy).inc(len(verdict.sentences))
        _labelled(instruments.flagged, policy).inc(len(verdict.flagged_sentences))
        if not verdict.skipped:
            _labelled(instruments.check_duration, policy).observe(verdict.elapsed_s)
        if verdict.score is not None:
            _labelled(instruments.score, policy).observe(verdict.score)

    def _count_usage(self, usage: Usage, model: str, part: str) -> None:
        instruments = self._instruments
        _add(instruments.calls, usage.calls, model, part)
        _add(instruments.tokens, usage.prompt_tokens, model, part, "prompt")
        _add(instruments.tokens, usage.completion_tokens, model, part, "completion")
        if usage.cost_usd is None:
            _add(instruments.unpriced, usage.calls, model, part)
        else:
            _add(instruments.cost, usage.cost_usd, model, part)

    def count_passed(self, method: str, status: int, elapsed_s: float) -> None:
        """Count a request that was passed on unchanged.

        Args:
            method: The HTTP method.
            status: The HTTP status sent to the client.
            elapsed_s: The time until the answer was complete, in seconds.
        """
        label = method if method in _METHODS else _OTHER
        _labelled(self._instruments.passed, label, _status_class(status)).inc()
        self._instruments.passed_duration.observe(elapsed_s)

    def count_refused(self, code: str) -> None:
        """Count an error of the gateway itself.

        Args:
            code: The `code` of the `RefusedError`.
        """
        _labelled(self._instruments.errors, code).inc()
        if code == _OVERLOADED:
            self._instruments.overloads.inc()

    def render(self, accept: str | None = None) -> tuple[bytes, str]:
        """Render all metrics.

        Args:
            accept: The request's `Accept` header; None for none.

        Returns:
            The body, in OpenMetrics format if requested, and its media type.
        """
        self.refresh()
        try:
            encode, media_type = choose_encoder(accept or "")
        # The library compares the requested format version with numbers, even if it is not one.
        except TypeError:
            encode, media_type = choose_encoder("")
        return encode(_WithoutCreated(self._registry)), media_type


class _WithoutCreated:
    """A registry without the creation times of its series, which would double their number."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for metric in self._registry.collect():
            metric.samples = [s for s in metric.samples if not s.name.endswith("_created")]
            yield metric


class _Instruments:
    """The counters and histograms."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(_PREFIX + name, what, labels, registry=registry)

        def histogram(name: str, what: str, buckets: Sequence[float], *labels: str) -> Histogram:
            return Histogram(_PREFIX + name, what, labels, buckets=buckets, registry=registry)

        self.requests = counter(
            "requests",
            "Guarded requests, including those that failed.",
            *("api", "policy", "decision", "action", "stream", "status"),
        )
        self.duration = histogram(
            "request_duration_seconds",
            "Time until the answer was complete, including the check.",
            _REQUEST_S,
            *("api", "policy", "stream"),
        )
        self.incomplete = counter("incomplete", "Answers that the client did not receive in full.")
        self.overloads = counter("overloads", "Requests refused or unguarded because of overload.")
        self.unguarded = counter("unguarded", "Requests passed on unguarded because of overload.")
        self.errors = counter("errors", "The gateway's own errors.", "code")
        self.verdicts = counter("verdicts", "Answers that were checked.", "model", "decision")
        self.check_duration = histogram(
            "check_duration_seconds", "Duration of checks.", _CHECK_S, "policy"
        )
        self.score = histogram(
            "score", "Scores of answers, from 0 (supported) to 1.", _SCORE, "policy"
        )
        self.sentences = counter("sentences", "Sentences that were scored.", "policy")
        self.flagged = counter("flagged_sentences", "Sentences that were flagged.", "policy")
        self.samples = counter("samples", "Samples that were compared.", "model")
        self.calls = counter("calls", "Model calls.", "model", "part")
        self.tokens = counter("tokens", "Tokens of model calls.", "model", "part", "kind")
        self.cost = counter(
            "cost_usd", "Cost of model calls in US dollars, where known.", "model", "part"
        )
        self.unpriced = counter(
            "unpriced_calls", "Model calls whose cost is unknown.", "model", "part"
        )
        self.passed = counter(
            "passed", "Requests that were passed on unchanged.", "method", "status"
        )
        self.passed_duration = histogram(
            "passed_duration_seconds", "Duration of requests passed on unchanged.", _REQUEST_S
        )


class _VersionInfo:
    """The running version."""

    def collect(self) -> Iterator[Metric]:
        about = {"version": __version__}
        yield InfoMetricFamily("resay_gateway", "Running version.", about)


class _Models:
    """The model names used as labels: the first ones that returned an answer.

    Clients may make up any number of others.
    """

    def __init__(self) -> None:
        self._names: set[str] = set()

    def label(self, observation: Observation) -> str:
        if observation.model is None:
            return _NONE
        name = one_line(observation.model, _LONGEST)
        has_answered = observation.answers and _status_class(observation.status) == "2xx"
        if has_answered and len(self._names) < _MODELS:
            self._names.add(name)
        return name if name in self._names else _OTHER


class _ReadingsCollector:
    """Readings, read for each scrape."""

    def __init__(self, readings: Readings) -> None:
        self._readings = readings

    def collect(self) -> Iterator[Metric]:
        read, gauge, counter = self._readings, GaugeMetricFamily, CounterMetricFamily
        reload = "policies_last_reload_success"
        table: Sequence[tuple[type[Any], str, str, Callable[[], float] | None]] = (
            (gauge, "guarded_requests", "Requests being guarded.", read.guarded),
            (gauge, "waiting_requests", "Requests waiting to be guarded.", read.waiting),
            (
                counter,
                "journal_lost_entries",
                "Entries that the journal has lost.",
                read.journal_lost,
            ),
            (
                gauge,
                f"{reload}ful",
                "Whether the last load of the policies succeeded.",
                read.reload_succeeded,
            ),
            (
                gauge,
                f"{reload}_timestamp_seconds",
                "Time of the last successful load of the policies.",
                read.reloaded_at,
            ),
            *((gauge, name, what, reading(read)) for name, what, reading in _OF_STATE),
        )
        for family, name, what, reading in table:
            if reading is not None:
                yield family(_PREFIX + name, what, value=reading())


class _SharedReadings:
    """The readings of several processes that share metrics.

    The scraped process cannot read the values of the others, so each writes its own to a file.
    """

    def __init__(self, readings: Readings, registry: CollectorRegistry) -> None:
        def gauge(name: str, what: str, mode: str) -> Gauge:
            # Its type is a literal of all modes.
            mode_of: Any = mode
            return Gauge(_PREFIX + name, what, multiprocess_mode=mode_of, registry=registry)

        what = "Whether the last load of the policies succeeded in all processes."
        when = "Time of the oldest among the processes' last successful loads of the policies."
        reload = "policies_last_reload_success"
        self._gauges: Sequence[tuple[Gauge, Callable[[], float] | None]] = (
            (
                gauge("guarded_requests", "Requests being guarded.", "livesum"),
                readings.guarded,
            ),
            (
                gauge("waiting_requests", "Requests waiting to be guarded.", "livesum"),
                readings.waiting,
            ),
            (gauge(f"{reload}ful", what, "livemin"), readings.reload_succeeded),
            (gauge(f"{reload}_timestamp_seconds", when, "livemin"), readings.reloaded_at),
            *(
                (gauge(name, what, "livemax"), reading(readings))
                for name, what, reading in _OF_STATE
                if reading(readings) is not None
            ),
        )
        self._journal_lost = readings.journal_lost
        self._lost = 0
        if self._journal_lost is not None:
            name, what = "journal_lost_entries", "Entries that the journal has lost."
            self._lost_counter = Counter(_PREFIX + name, what, registry=registry)

    def refresh(self) -> None:
        for gauge, reading in self._gauges:
            if reading is not None:
                gauge.set(reading())
        if self._journal_lost is not None:
            before, self._lost = self._lost, self._journal_lost()
            self._lost_counter.inc(self._lost - before)


def _status_class(status: int) -> str:
    return f"{status // 100}xx"


# The cache stays small, because labels have few values.
@lru_cache(maxsize=4096)
def _labelled(metric: _Metric, *labels: str) -> _Metric:
    return metric.labels(*(one_line(label, _LONGEST) for label in labels))


def _add(counter: Counter, amount: float, *labels: str) -> None:
    # An upstream may report any value, and a counter could not recover from infinity or NaN.
    if 0 < amount <= _LARGEST:
        _labelled(counter, *labels).inc(amount)
