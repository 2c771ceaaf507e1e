"""Streams that show text as it arrives, with the verdict at the end."""

from __future__ import annotations

from dataclasses import replace

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from resay.core.reasoning import notice_after
from resay.engine.actions import Answer
from resay.engine.answer_chunk import AnswerChunk
from resay.engine.check import Check
from resay.engine.main_call import MainCall, deadline_error
from resay.engine.marks import MarkWriter
from resay.policy import Policy
from resay.providers.base import Gathered, open_stream


class PassThrough:
    """Passes text on as it arrives, and checks it when it is complete.

    Args:
        policy: The policy.
        check: The check of this request.
        main_call: The main call.
    """

    def __init__(self, policy: Policy, check: Check, main_call: MainCall) -> None:
        self._policy = policy
        self._check = check
        self._main_call = main_call

    async def run(self, parts: MemoryObjectSendStream[AnswerChunk]) -> Answer:
        """Stream the answer.

        Args:
            parts: Where to send its parts.

        Returns:
            The answer, checked.

        Raises:
            ProviderError: The model gave no complete answer.
            DeadlineExceededError: It was not complete within `limits.deadline_s`.
            HallucinationBlocked: It is flagged and the policy says `exit: raise`.
        """
        gathered = Gathered()
        with anyio.CancelScope(deadline=self._check.deadline) as reading:
            async with open_stream(self._main_call.provider, self._main_call.request) as chunks:
                async for chunk in chunks:
                    gathered.add(chunk)
                    await parts.send(AnswerChunk(chunk.text, provider_chunk=chunk))
        if reading.cancelled_caught:
            raise deadline_error(self._main_call.request, self._policy)
        completion = await gathered.whole()
        verdict = await self._check.run(completion)
        # The text was shown before its marks were known: they are a list after it.
        writer = MarkWriter(self._policy.mark_style, in_text=False)
        answer = self._main_call.apply(self._policy, verdict, completion, writer=writer)
        for mark in answer.marks:
            parts.send_nowait(AnswerChunk.of_mark(mark))
        if answer.blocked:
            # Without waiting: calls in flight must not be answered after usage was counted.
            notice = notice_after(completion.text, answer.message)
            parts.send_nowait(AnswerChunk(notice, is_replacement=True))
            return replace(answer, text=f"{completion.text}{notice}")
        return answer
