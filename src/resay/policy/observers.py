"""Where verdicts are pushed: the section `observers`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from resay._internal.construction import check_settings, load_plugin
from resay._internal.entry_points import installed_names
from resay._internal.importing import is_import_path
from resay._internal.strict import Strict
from resay.errors import ConfigurationError

_PATTERN = r"^[\w-]+((\.[\w-]+)*:[^\W\d]\w*(\.[^\W\d]\w*)*)?$"


class ObserverConfig(Strict):
    """A tool to which verdicts are pushed. Its environment variables hold its address and keys."""

    model_config = ConfigDict(extra="allow")

    to: str = Field(
        description="The tool: langfuse, langsmith, mlflow, phoenix, weave, or another name that is"
        " installed in the entry point group `resay.sinks`; or `package.module:Class`, your own"
        " class or function. It returns a `resay.plugins.Sink` or"
        " `resay.adapters.observers.Observer`; other settings are its arguments.",
        json_schema_extra={"pattern": _PATTERN},
    )
    name: str = Field(
        default="hallucination",
        # Not `{0,63}`: such a pattern takes tens of milliseconds to compile.
        pattern=r"^[A-Za-z][\w.-]*$",
        max_length=64,
        description="The name of the score in the tool; a Sink has no use for it.",
    )
    score: Literal["bad", "good"] = Field(
        default="bad",
        description="What a score of 1 means in the tool: bad, which is hallucinated, as everywhere"
        " else; or good, which is supported: 1 - score is pushed. A Sink has no use for it.",
    )
    content: bool = Field(
        default=False,
        description="Whether to push the text of flagged sentences too; to a Sink, all text.",
    )
    max_waiting: int = Field(
        default=1000,
        ge=1,
        le=100_000,
        description="The number of verdicts that may wait to be pushed; further verdicts are"
        " dropped.",
    )

    @field_validator("to")
    @classmethod
    def _must_be_a_tool(cls, to: str) -> str:
        # The journal has a section of its own.
        names = [name for name in installed_names("resay.sinks") if name != "journal"]
        if to not in names and not is_import_path(to):
            raise ValueError(f"must be one of {', '.join(names)}, or `package.module:Class`")
        return to

    @property
    def settings(self) -> Mapping[str, object]:
        """The arguments of the tool's class."""
        return self.model_extra or {}

    @model_validator(mode="after")
    def _must_take_its_settings(self) -> ObserverConfig:
        # Without any, nothing needs to be imported before the guard is created.
        if self.settings:
            try:
                sink = load_plugin("resay.sinks", self.to)
            except ConfigurationError as error:
                raise ValueError(str(error)) from error
            keys = type(self).model_fields
            check_settings(sink, self.settings, f"the sink {self.to!r}", keys=keys)
        return self

    # The settings may contain keys.
    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        for name in type(self).model_fields:
            yield name, getattr(self, name)
        if self.settings:
            yield "settings", sorted(self.settings)
