"""One run of a guarded runnable."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, contextmanager
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.runnables import RunnableConfig, patch_config
from langchain_core.runnables.utils import AddableDict

from resay import Guard
from resay.adapters import GuardRuntime
from resay.adapters.threads import CallStyle
from resay.adapters.verdicts import VERDICT_KEY
from resay_langchain._policies import withholding
from resay_langchain._runs import Watch


class GuardedRun:
    """One run of a guarded runnable, and its verdict."""

    def __init__(
        self,
        guard: Guard,
        run_manager: CallbackManagerForChainRun | AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
    ) -> None:
        self._policy = guard.policy
        self._watch = Watch(collects=GuardRuntime(guard).takes_references)
        manager = run_manager.get_child()
        manager.add_handler(self._watch)
        self.config = patch_config(config, callbacks=manager)

    def finished(self, output: Any) -> Any:
        """Return the output with its verdict, if it has a place for one."""
        keyed = cast("dict[Any, Any] | None", output if isinstance(output, dict) else None)
        if self._watch.structured and keyed is not None and "parsing_error" in keyed:
            return self._with_error(keyed)
        self._raise_withheld()
        if keyed is None or self._watch.structured or not self._watch.verdict:
            return cast("Any", output)
        return {**keyed, VERDICT_KEY: self._watch.verdict}

    def _with_error(self, output: dict[Any, Any]) -> dict[Any, Any]:
        blocked = self._watch.blocked
        if blocked is not None and self._raises:
            raise blocked
        return {**output, "parsed": None, "parsing_error": blocked} if blocked else output

    async def shown(self, style: CallStyle, chunks: Any) -> AsyncGenerator[Any]:
        """Yield the pieces of a streamed output, and its verdict at the end."""
        has_keys = False
        with self.explaining():
            async with aclosing(style.iterate(chunks)) as output:
                async for chunk in output:
                    # Runnables that compose mappings stream `AddableDict`s; parsers stream their
                    # own objects.
                    has_keys = has_keys or isinstance(chunk, AddableDict)
                    yield chunk
        self._raise_withheld()
        if has_keys and self._watch.verdict and not self._watch.structured:
            yield AddableDict({VERDICT_KEY: self._watch.verdict})

    @contextmanager
    def explaining(self) -> Generator[None]:
        """Replace an error that a withheld answer caused, such as a parser's."""
        try:
            yield
        except Exception as error:
            blocked = self._watch.blocked
            if blocked is not None and error is not blocked:
                raise blocked from None
            raise

    @property
    def _raises(self) -> bool:
        block = withholding(self._policy)
        return block is not None and block.exit == "raise"

    def _raise_withheld(self) -> None:
        blocked = self._watch.blocked
        if blocked is not None and (self._raises or self._watch.structured):
            raise blocked
