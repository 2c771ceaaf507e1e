"""A runnable that stands in for another."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from langchain_core.runnables import (
    ConfigurableFieldSpec,
    Runnable,
    RunnableConfig,
    RunnableSerializable,
)
from pydantic import ConfigDict

if TYPE_CHECKING:
    from langchain_core.utils.pydantic import TypeBaseModel

__all__ = ["Wrapper"]


class Wrapper(RunnableSerializable[Any, Any]):
    """Has the types, schemas and attributes of the runnable inside.

    What a method of the runnable inside returns is wrapped in the same way when it is a runnable:
    `guarded.bind_tools([…])` is guarded too.

    Attributes:
        runnable: The runnable inside.
    """

    runnable: Runnable[Any, Any]

    model_config = ConfigDict(arbitrary_types_allowed=True)

    @property
    def InputType(self) -> type[Any]:  # noqa: N802 - LangChain's name
        """What the runnable inside takes."""
        return self.runnable.InputType

    @property
    def OutputType(self) -> type[Any]:  # noqa: N802 - LangChain's name
        """What the runnable inside gives."""
        return self.runnable.OutputType

    def get_input_schema(self, config: RunnableConfig | None = None) -> TypeBaseModel:
        """Return the input schema of the runnable inside."""
        return self.runnable.get_input_schema(config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> TypeBaseModel:
        """Return the output schema of the runnable inside."""
        return self.runnable.get_output_schema(config)

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What can be configured on the runnable inside."""
        return self.runnable.config_specs

    def around(self, runnable: Runnable[Any, Any]) -> Wrapper:
        """Return the same wrapper around another runnable."""
        fields: dict[str, Any] = {**dict(self), "runnable": runnable}
        return type(self)(**fields)

    def __getattr__(self, name: str) -> Any:
        # Copying and unpickling ask for private names before there is a runnable to ask.
        if name.startswith("_") or "runnable" not in self.__dict__:
            inherited: Any = super()
            return inherited.__getattr__(name)
        attribute = getattr(self.runnable, name)
        return self._rewrapping(attribute) if inspect.ismethod(attribute) else attribute

    def _rewrapping(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            if not isinstance(result, Runnable):
                return result
            return self.around(cast("Runnable[Any, Any]", result))

        return call
