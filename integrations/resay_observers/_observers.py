"""Observers, one for each tracing tool."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import Any
from weakref import WeakKeyDictionary

from resay.adapters import load_optional
from resay.adapters.observers import Finding, Observer, Place

Findings = Sequence[tuple[Place, Finding]]


def _client(module: str, package: str, extra: str) -> Any:
    purpose = f"the observer '{extra}'"
    return load_optional(module, package=package, extra=extra, purpose=purpose)


class langfuse(Observer):  # noqa: N801 - named as in the policy
    """Scores on the current trace and observation: a numeric score and a categorical decision."""

    def __init__(self) -> None:
        self._client: Any = _client("langfuse", "langfuse", "langfuse").get_client()

    def place(self) -> Place | None:
        """Return the current observation, or None if Langfuse's client is disabled."""
        return super().place() if getattr(self._client, "_tracing_enabled", True) else None

    def send(self, findings: Findings, /) -> None:
        """Hand scores to Langfuse's own queue, which logs failures."""
        for place, finding in findings:
            same = {
                "trace_id": place.trace_id,
                "observation_id": place.span_id,
                "comment": finding.reason,
                "metadata": finding.details,
            }
            if finding.score is not None:
                self._client.create_score(
                    name=finding.name,
                    value=finding.score,
                    data_type="NUMERIC",
                    score_id=finding.id,
                    **same,
                )
            self._client.create_score(
                name=f"{finding.name}.decision",
                value=finding.decision,
                data_type="CATEGORICAL",
                score_id=f"{finding.id}-decision",
                **same,
            )

    def flush(self) -> None:
        """Wait until Langfuse's queue is empty."""
        self._client.flush()


class langsmith(Observer):  # noqa: N801 - named as in the policy
    """Feedback on the current run: the score, the decision as value, the reason as comment."""

    def __init__(self) -> None:
        self._runs: Any = _client("langsmith.run_helpers", "langsmith", "langsmith")
        self._trees: Any = _client("langsmith.run_trees", "langsmith", "langsmith")
        # The clients of runs, each with the projects of its account. A client that the application
        # dropped sends what it has by itself.
        self._projects: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()

    def place(self) -> Place | None:
        """Return the current run, as set by LangChain or `langsmith.traceable`."""
        run = self._runs.get_current_run_tree()
        return Place(str(run.trace_id), str(run.id), run) if run is not None else None

    def send(self, findings: Findings, /) -> None:
        """Hand feedback to LangSmith's client."""
        for place, finding in findings:
            run = place.context
            client = getattr(run, "client", None) or self._trees.get_cached_client()
            projects = self._projects.setdefault(client, {})
            client.create_feedback(
                run_id=place.span_id or place.trace_id,
                trace_id=place.trace_id,
                key=finding.name,
                score=finding.score,
                value=finding.decision,
                comment=finding.reason,
                source_info=finding.details,
                feedback_id=finding.id,
                **_addressed(run, client, projects),
            )

    def flush(self) -> None:
        """Wait until the queues of LangSmith's clients are empty."""
        for client in tuple(self._projects):
            client.flush()


def _addressed(run: Any, client: Any, projects: dict[str, Any]) -> dict[str, Any]:
    """Return the address or project of a run, which LangSmith asks for with feedback."""
    if address := getattr(run, "address", None):
        return {"address": address}
    if session_id := getattr(run, "session_id", None):
        return {"session_id": session_id}
    name = getattr(run, "session_name", None)
    if name and name not in projects:
        # A new project exists only after its first run; LangSmith then finds the run by its id.
        with suppress(Exception):
            projects[name] = client.read_project(project_name=name).id
    return {"session_id": projects[name]} if name in projects else {}


class phoenix(Observer):  # noqa: N801 - named as in the policy
    """Annotations of the current OpenTelemetry span."""

    def __init__(self) -> None:
        self._client: Any = _client("phoenix.client", "arize-phoenix-client", "phoenix").Client()

    def send(self, findings: Findings, /) -> None:
        """Send annotations. Phoenix keeps annotations whose span arrives later."""
        spans = [_annotation(f, "span_id", p.span_id) for p, f in findings if p.span_id]
        if spans:
            self._client.spans.log_span_annotations(span_annotations=spans)
        traces = [_annotation(f, "trace_id", p.trace_id) for p, f in findings if not p.span_id]
        if traces:
            self._client.traces.log_trace_annotations(trace_annotations=traces)


def _annotation(finding: Finding, key: str, value: str) -> dict[str, Any]:
    result = {"label": finding.decision, "score": finding.score, "explanation": finding.reason}
    return {
        key: value,
        "name": finding.name,
        "annotator_kind": "CODE",
        # Without an identifier, a second verdict of the same name would replace the first.
        "identifier": finding.id,
        "metadata": finding.details,
        "result": {name: value for name, value in result.items() if value is not None},
    }


class mlflow(Observer):  # noqa: N801 - named as in the policy
    """Assessments of the current trace and span: a numeric score and a textual decision."""

    def __init__(self) -> None:
        self._mlflow: Any = _client("mlflow", "mlflow-skinny", "mlflow")
        self._entities: Any = _client("mlflow.entities", "mlflow-skinny", "mlflow")

    def place(self) -> Place | None:
        """Return MLflow's current span."""
        span = self._mlflow.get_current_active_span()
        trace_id = getattr(span, "trace_id", None)
        # MLflow does not know the spans of other OpenTelemetry SDKs.
        if not isinstance(trace_id, str):
            return None
        return Place(trace_id, span.span_id, copy_context())

    def send(self, findings: Findings, /) -> None:
        """Log assessments, on a trace in progress or on the server."""
        for place, finding in findings:
            # Only in the request's context does MLflow know whether the trace is in progress.
            run = copy_context().run if place.context is None else place.context.run
            try:
                run(self._log, place, finding)
            except self._mlflow.MlflowException:
                # The trace may not have reached the server yet.
                self._mlflow.flush_trace_async_logging()
                run(self._log, place, finding)

    def _log(self, place: Place, finding: Finding) -> None:
        source = self._entities.AssessmentSource(source_type="CODE", source_id="resay")
        same = {
            "trace_id": place.trace_id,
            "span_id": place.span_id,
            "source": source,
            "rationale": finding.reason,
            "metadata": {key: str(value) for key, value in finding.details.items()},
        }
        if finding.score is not None:
            self._mlflow.log_feedback(name=finding.name, value=finding.score, **same)
        self._mlflow.log_feedback(name=f"{finding.name}.decision", value=finding.decision, **same)


class weave(Observer):  # noqa: N801 - named as in the policy
    """Feedback on the current call of W&B Weave."""

    def __init__(self) -> None:
        self._weave: Any = _client("weave", "weave", "weave")

    def place(self) -> Place | None:
        """Return the current call, as set by an op of Weave."""
        call = self._weave.get_current_call()
        return Place(call.trace_id, call.id, call.feedback) if call is not None else None

    def send(self, findings: Findings, /) -> None:
        """Hand feedback to Weave's client."""
        for place, finding in findings:
            payload = {
                "score": finding.score,
                "decision": finding.decision,
                "reason": finding.reason,
                **finding.details,
            }
            feedback = place.context
            if feedback is None:
                call_id = place.span_id or place.trace_id
                feedback = self._weave.get_client().get_call(call_id).feedback
            feedback.add(finding.name, payload)

    def flush(self) -> None:
        """Wait until the feedback queue is empty. Weave's own flush waits for open calls too."""
        server = getattr(self._weave.get_client(), "server", None)
        processor = server.get_feedback_processor() if server is not None else None
        if processor is not None:
            processor.queue.join()
