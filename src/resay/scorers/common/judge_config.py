"""The settings of methods that ask a judge, and the judge that they name."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from resay.core.request import Request
from resay.errors import ScorerError
from resay.scorers.base import Restate, ScorerConfig
from resay.scorers.evidence import Evidence
from resay.scorers.judge import Judge


class JudgeConfig(BaseModel):
    """A judge with its own parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = Field(
        default=None,
        description="The model as litellm names it; null = the model that wrote the response.",
    )
    params: dict[str, Any] = Field(
        default_factory=dict,
        repr=False,  # may contain a key
        description="Provider parameters: api_base, api_key, temperature, max_tokens, …",
    )
    reasoning: Literal["none", "brief"] = Field(
        default="none",
        description="Whether the judge gives a short reason before each verdict: brief, for models"
        " that do not think before they answer. Only `prompt` with `form: claims` asks for them.",
    )


def judge_model(judge: str | JudgeConfig | None) -> str | None:
    """Return the judge's model, or None for the model that wrote the response."""
    return judge.model if isinstance(judge, JudgeConfig) else judge


def judge_requests(judge: str | JudgeConfig | None) -> tuple[Request, ...]:
    """Return a request without messages to a judge; none for the model that wrote the response."""
    model = judge_model(judge)
    if model is None:
        return ()
    params = judge.params if isinstance(judge, JudgeConfig) else {}
    return (Request((), model, params),)


class JudgedConfig(ScorerConfig):
    """Base class of the settings of methods that ask a judge."""

    judge: str | JudgeConfig | None = Field(
        default=None, description="The model to ask; null = the model that wrote the response."
    )
    restate: Restate = True

    @property
    def gives_reasons(self) -> bool:
        """Whether the judge is to give short reasons."""
        return isinstance(self.judge, JudgeConfig) and self.judge.reasoning == "brief"

    @property
    def asks_response_model(self) -> bool:
        """Whether the step names no other judge."""
        return judge_model(self.judge) is None

    @property
    def judge_requests(self) -> tuple[Request, ...]:
        """A request without messages to the judge; none for the model that wrote the response."""
        return judge_requests(self.judge)


def judge_for(config: str | JudgeConfig | None, evidence: Evidence) -> Judge:
    """Return the judge that a policy names.

    The response's own model is asked with the request's connection parameters. A judge named in the
    policy gets none of them, because it may belong to another provider.

    Args:
        config: The judge's model, a `JudgeConfig`, or None for the response's own model.
        evidence: The evidence, with its request and the provider for judges.

    Returns:
        The judge.

    Raises:
        ScorerError: No judge is available.
    """
    if evidence.judge_provider is None:
        raise ScorerError("no judge available")
    chosen = JudgeConfig(model=config) if isinstance(config, str) else config or JudgeConfig()
    own_request = evidence.request
    if chosen.model is None:
        model, params = own_request.model, {**own_request.connection, **chosen.params}
    else:
        model, params = chosen.model, chosen.params
    request = Request((), model, params, tenant=own_request.tenant)
    return Judge(
        provider=evidence.judge_provider,
        request=request,
        log=evidence.judge_log,
        problems=evidence.judge_problems,
    )
