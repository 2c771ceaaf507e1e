"""The gateway's configuration file: YAML, parsed as strictly as policies."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx
from pydantic import (
    AfterValidator,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from resay.adapters.limits import SharedStateConfig
from resay.adapters.settings import (
    SQLITE,
    Document,
    JournalConfig,
    Strict,
    copy_mapping,
    problems_of,
    read_text,
    read_yaml,
)
from resay.adapters.verdicts import VerdictDetail
from resay.errors import PolicyError
from resay_server.gateway.errors import RefusedError
from resay_server.gateway.paths import Pattern

ModelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9._:/@-]{0,126}[A-Za-z0-9])?$")]
"""A model's name for clients."""
_SHOWN = 64
# These have settings of their own, or are controlled by the gateway or its clients.
_NOT_PARAMS: Mapping[str, str] = {
    **dict.fromkeys(("api_key", "api_base", "model"), "write it beside `params`"),
    "base_url": "write it as `api_base`, beside `params`",
    "timeout": "write it as `timeout_s`, beside `params`",
    **dict.fromkeys(
        ("input", "instructions", "messages", "prompt", "stream", "stream_options", "system"),
        "clients set it in their requests",
    ),
    **dict.fromkeys(
        ("context_window_fallback_dict", "fallbacks", "model_list"),
        "samples must come from the same model",
    ),
    **dict.fromkeys(
        ("cache", "caching", "max_retries", "num_retries"),
        "the gateway does its own caching and retries",
    ),
}


def _parsed(url: str, example: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        raise ValueError(f"is not a URL; write one such as {example}") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError("must begin with http:// or https://, followed by a host")
    return parsed


class ModelConfig(Strict):
    """A model that is called through litellm."""

    model: str = Field(
        min_length=1,
        description="The model as litellm names it, such as anthropic/claude-sonnet-5 or"
        " ollama/llama3.2.",
    )
    api_key: SecretStr | None = Field(
        default=None,
        min_length=1,
        description="The provider's key; null = the one litellm finds in the environment.",
    )
    api_base: str | None = Field(
        default=None, description="The provider's base URL; null = litellm's default."
    )
    params: Mapping[str, Any] = Field(
        default_factory=dict[str, Any],
        repr=False,
        description="Additional litellm parameters, such as aws_region_name. Generation"
        " parameters, such as temperature, apply to requests that do not set them.",
    )
    timeout_s: float | None = Field(
        default=None,
        gt=0,
        le=86_400,
        description="Seconds without data before a call fails; null = the upstream's value.",
    )

    @field_validator("api_base")
    @classmethod
    def _must_be_a_url(cls, url: str | None) -> str | None:
        if url is not None:
            parsed = _parsed(url, "http://127.0.0.1:11434")
            if parsed.userinfo or parsed.fragment:
                raise ValueError(
                    "must not contain credentials or a fragment; set the key as api_key"
                )
        return url

    # Not a field validator: messages about `params` are withheld, because it may contain keys.
    @model_validator(mode="after")
    def _must_have_params_of_litellm(self) -> ModelConfig:
        for name, why in _NOT_PARAMS.items():
            if name in self.params:
                raise ValueError(f"{name!r} is not allowed in `params`: {why}")
        return self


def named_model(body: Mapping[str, Any]) -> str | None:
    """Return the name of the model that a request asks for; None if it names none."""
    model: object = body.get("model")
    return model if isinstance(model, str) else None


def unknown_model(name: str | None, models: Iterable[str]) -> RefusedError:
    """Return the error for a client that asks for an unknown model.

    Args:
        name: The name it sent.
        models: The names of the known models.
    """
    names = ", ".join(repr(model) for model in sorted(models))
    problem = "the request names no `model`"
    if name is not None:
        problem = f"there is no model {name[:_SHOWN]!r}"
    return RefusedError(404, "model_not_found", f"{problem}; known: {names}")


DEFAULT_POLICY = "default"
_EXAMPLE = "upstream: {url: https://api.openai.com/v1}"
_SOURCE = "<gateway>"
_Seconds = Annotated[float, Field(gt=0, le=86_400)]
_Host = Annotated[str, Field(pattern=r"^[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252}[A-Za-z0-9_])?$")]
_Origin = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@]+$")]
_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
_Subject = Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,128}$")]


def _pattern(text: str) -> str:
    Pattern.of(text)
    return text


_Opened = Annotated[str, AfterValidator(_pattern)]


class UpstreamConfig(Strict):
    """The provider behind the gateway."""

    url: str = Field(
        description="The base URL, as for OpenAI's clients; /v1 is added if it has no path."
    )
    api_key: SecretStr | None = Field(
        default=None, min_length=1, description="The key to send; null = the client's key."
    )
    timeout_s: _Seconds = Field(
        default=600.0, description="Seconds without data before a call fails."
    )

    @field_validator("url")
    @classmethod
    def _must_be_a_base_url(cls, url: str) -> str:
        parsed = _parsed(url, "https://api.openai.com/v1")
        if parsed.userinfo or parsed.query or parsed.fragment:
            raise ValueError(
                "must not contain credentials, a query or a fragment; set the key as api_key"
            )
        return (
            str(parsed).rstrip("/") if parsed.path.strip("/") else str(parsed).rstrip("/") + "/v1"
        )


class ClientKey(Strict):
    """A key that clients may use."""

    name: _Name = Field(description="The key's owner, shown to observers.")
    sha256: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{64}$",
        description="The SHA-256 of the key, in lower-case hexadecimal.",
    )
    env: str | None = Field(
        default=None, description="The environment variable that contains the key."
    )

    @model_validator(mode="after")
    def _must_have_one_source(self) -> ClientKey:
        if (self.sha256 is None) == (self.env is None):
            raise ValueError("set either `sha256` or `env`")
        return self


class GatewayLimits(Strict):
    """Limits on clients."""

    header_bytes: int = Field(
        default=32_768, ge=1024, le=1_048_576, description="Bytes of a request's headers."
    )
    header_s: _Seconds = Field(default=20.0, description="Seconds to receive a request's headers.")
    body_bytes: int = Field(
        default=33_554_432, ge=1024, description="Bytes of the body of a guarded request."
    )
    upload_bytes: int = Field(
        default=1_073_741_824,
        ge=1024,
        description="Bytes of the body of a request that is only passed on.",
    )
    body_s: _Seconds = Field(
        default=60.0,
        description="Seconds to receive the body of a guarded request; for a request that is only"
        " passed on, seconds without data.",
    )
    answer_bytes: int = Field(
        default=67_108_864, ge=1024, description="Bytes of one answer of the upstream."
    )
    write_s: _Seconds = Field(
        default=60.0, description="Seconds that a client may pause reading its answer."
    )
    webhook_s: _Seconds = Field(
        default=2.5,
        le=60.0,
        description="Seconds within which webhooks of other gateways are answered. A check that"
        " takes longer is inconclusive.",
    )
    answers: int = Field(
        default=16,
        ge=1,
        le=1024,
        description="The maximum number of answers (`n`) of a guarded request. All of them are"
        " checked within one budget, the policy's `limits`.",
    )
    concurrency: int = Field(default=256, ge=1, description="Concurrent guarded requests.")
    queue: int = Field(default=256, ge=0, description="The maximum number of waiting requests.")
    queue_s: _Seconds = Field(
        default=10.0, description="The maximum number of seconds that a request waits."
    )
    connections: int = Field(
        default=4096, ge=1, description="The maximum number of open client connections."
    )
    shutdown_delay_s: float = Field(
        default=0.0,
        ge=0,
        le=86_400,
        description="Seconds to go on accepting requests at shutdown, while /readyz returns 503 so"
        " that a load balancer sends no more.",
    )
    drain_s: _Seconds = Field(
        default=30.0, description="Seconds to finish answers in progress after that."
    )


class Quota(Strict):
    """Limits on the use by one key or one tenant."""

    concurrency: int | None = Field(
        default=None, ge=1, description="Concurrent requests; null = no limit."
    )
    requests_per_minute: int | None = Field(
        default=None,
        ge=1,
        le=100_000,
        description="Requests per minute (sliding); null = no limit.",
    )
    calls_per_day: int | None = Field(
        default=None,
        ge=1,
        description="Model calls per day (UTC), including those of checks; null = no limit.",
    )
    tokens_per_day: int | None = Field(
        default=None, ge=1, description="Tokens of those calls; null = no limit."
    )
    cost_usd_per_day: float | None = Field(
        default=None, gt=0, description="Dollars for those calls; null = no limit."
    )

    @property
    def limits_days(self) -> bool:
        """Whether any limit applies per day."""
        days = (self.calls_per_day, self.tokens_per_day, self.cost_usd_per_day)
        return any(limit is not None for limit in days)


def _must_be_a_policy(name: str, info: ValidationInfo) -> str:
    # For each name, so that a mistake is reported at its own line.
    policies: Mapping[str, str] | None = info.data.get("policies")
    if policies is not None and name not in {DEFAULT_POLICY, *policies}:
        names = ", ".join(map(repr, sorted({DEFAULT_POLICY, *policies})))
        raise ValueError(
            f"`selectable_policies` names {name!r}, which is not among `policies`: {names}"
        )
    return name


_Selectable = Annotated[_Name, AfterValidator(_must_be_a_policy)]


class GatewayConfig(Strict):
    """A gateway's configuration."""

    version: Literal[1] = Field(default=1, description="The version of this format.")
    upstream: UpstreamConfig | None = Field(
        default=None, description="The provider behind the gateway; null = only the `models`."
    )
    models: Mapping[ModelName, ModelConfig] = Field(
        default_factory=dict[str, ModelConfig],
        description="Models called through litellm, by the names that clients use.",
    )
    policies: Mapping[_Name, str] = Field(
        default_factory=dict[str, str],
        description="Policy files by name. If none is named `default`, the default is the policy"
        " file in RESAY_POLICY, or Resay's built-in policy.",
    )
    selectable_policies: tuple[_Selectable, ...] | None = Field(
        default=None,
        strict=False,
        description="The policies that clients may choose by the header x-resay-policy, besides the"
        " default. null = all, if the default policy never withholds an answer; otherwise none, so"
        " that no client chooses a weaker one, except for checks of texts that it brings itself.",
    )
    pass_through: tuple[_Opened, ...] = Field(
        default=(),
        strict=False,
        description="Unguarded paths to pass through besides models, embeddings and stored answers,"
        " such as `POST /v1/audio/speech` or `/v1/files/*`. `*` stands for a segment, and at the"
        " end for everything below; it opens no path that may answer questions.",
    )
    keys: tuple[ClientKey, ...] = Field(
        default=(),
        strict=False,
        description="The client keys to accept; empty = clients send the provider's key, which is"
        " passed on.",
    )
    hosts: tuple[_Host, ...] = Field(
        default=(),
        strict=False,
        description="The host names to accept, without a port, in addition to localhost and IP"
        " addresses. Empty = accept all names if clients have `keys`, else no others.",
    )
    origins: tuple[_Origin, ...] = Field(
        default=(),
        strict=False,
        description="The browser origins to accept, such as http://localhost:3000, in addition to"
        " the gateway's own. If clients have `keys`, all origins are accepted.",
    )
    operator_key: SecretStr | None = Field(
        default=None,
        min_length=16,
        description="The key for /ui and /metrics; null = show them only on this machine, and not"
        " at all if clients have `keys`.",
    )
    journal: JournalConfig | None = Field(
        default=None, description="The journal that records verdicts; null = none."
    )
    limits: GatewayLimits = Field(default=GatewayLimits(), description="Limits on clients.")
    quotas: Mapping[_Subject, Quota] = Field(
        default_factory=dict[str, Quota],
        description="Quotas by the name of a client key or a tenant. `default` applies to each"
        " key without its own quota or, if clients need no keys, to each tenant.",
    )
    state: SharedStateConfig | None = Field(
        default=None,
        description="The Redis server through which several gateways share their quotas and state;"
        " needs resay[redis]. null = each process has its own.",
    )
    verdict: VerdictDetail = Field(
        default="full",
        description="How much of a verdict responses contain: `full`, or a `summary` without the"
        " lists of sentences and claims but for the first flagged sentences, or `none`. Clients"
        " may ask for less with the header x-resay-verdict. The response headers always contain"
        " the decision.",
    )
    overload: Literal["refuse", "unguarded"] = Field(
        default="refuse",
        description="What to do under overload: answer with status 429, or pass on the answer"
        " unchecked and marked as such.",
    )
    reload_s: _Seconds = Field(
        default=2.0, description="Seconds between checks of the policy files for changes."
    )
    heartbeat_s: _Seconds = Field(
        default=15.0,
        description="Seconds of silence before a comment is sent to keep a stream alive.",
    )

    @model_validator(mode="after")
    def _must_tell_keys_apart(self) -> GatewayConfig:
        names = [key.name for key in self.keys]
        if len(set(names)) < len(names):
            raise ValueError("two `keys` have the same name; give each a different one")
        return self

    @model_validator(mode="after")
    def _must_have_somebody_answer(self) -> GatewayConfig:
        if self.upstream is None and not self.models:
            raise ValueError("no upstream; set `upstream` or `models`")
        return self

    @property
    def policy_files(self) -> Mapping[str, str | None]:
        """The file of each policy, by name; None for Resay's built-in default."""
        return {DEFAULT_POLICY: os.environ.get("RESAY_POLICY") or None, **self.policies}

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | None,
        *,
        upstream: str | None = None,
        policy: str | os.PathLike[str] | None = None,
        journal: str | None = None,
        state: str | None = None,
    ) -> GatewayConfig:
        """Load a gateway's file.

        Args:
            path: The YAML file, in UTF-8; None for no file. Policy files are relative to it, and
                `${NAME}` in it is replaced by an environment variable.
            upstream: The base URL of the upstream, overriding the file's.
            policy: The default policy's file, overriding the one in the file.
            journal: The journal's URL, overriding the file's.
            state: The URL of the Redis that gateways share, overriding the file's.

        Raises:
            PolicyError: The file cannot be read or is not valid; lists every problem with its line.
        """
        source = _SOURCE if path is None else os.fspath(path)
        document = Document({}) if path is None else _read(Path(path), source)
        folder = Path() if path is None else Path(path).parent
        data: dict[str, Any] = document.data
        _place(data, folder)
        if upstream is not None:
            _put(data, "upstream", "url", upstream)
        if policy is not None:
            _put(data, "policies", DEFAULT_POLICY, os.fspath(policy))
        if journal is not None:
            _put(data, "journal", "url", journal)
        if state is not None:
            _put(data, "state", "url", state)
        if "upstream" not in data and not data.get("models"):
            unknown = [key for key in data if key not in cls.model_fields]
            # A misspelt key is reported as one.
            if not any(get_close_matches(name, unknown, 1) for name in ("upstream", "models")):
                message = "required, but missing; pass --upstream URL"
                document.mark_unreadable(("upstream",), message)
        return cls._of_document(document, source)

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> GatewayConfig:
        """Create a configuration from a mapping like a file's content, without expanding `${NAME}`.

        Raises:
            PolicyError: It is not valid.
        """
        return cls._of_document(copy_mapping(value, source=_SOURCE), _SOURCE)

    @classmethod
    def _of_document(cls, document: Document, source: str) -> GatewayConfig:
        problems = document.problems
        try:
            config = cls.model_validate(document.data)
        except ValidationError as error:
            problems = [*problems, *problems_of(error, document, cls)]
        else:
            if not problems:
                return config
        # Outside of the handler, so that no chained exception carries the values.
        problems = sorted(problems, key=lambda problem: problem.line or 0)
        raise PolicyError(list(dict.fromkeys(problem.text(source) for problem in problems)))


def _read(path: Path, source: str) -> Document:
    text = read_text(path, source, "gateway file")
    return read_yaml(
        text, source=source, env=os.environ, file_kind="gateway file", example=_EXAMPLE
    )


def _place(data: dict[str, Any], folder: Path) -> None:
    """Resolve the paths of files relative to the folder."""
    policies = data.get("policies")
    if isinstance(policies, dict):
        for name, file in list(policies.items()):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - plain data
            if isinstance(file, str):
                policies[name] = str(folder / file)
    journal = data.get("journal")
    if isinstance(journal, dict):
        url: object = journal.get("url")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - plain data
        if isinstance(url, str) and url.startswith(SQLITE) and not url.startswith(f"{SQLITE}~"):
            journal["url"] = SQLITE + str(folder / url.removeprefix(SQLITE))


def _put(data: dict[str, Any], section: str, name: str, value: str) -> None:
    settings = data.setdefault(section, {})
    if isinstance(settings, dict):
        settings[name] = value
