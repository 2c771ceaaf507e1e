"""OpenAI's completions of plain text, the oldest of its APIs, which most servers still speak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from resay.core.logprobs import read_logprobs
from resay.core.query import Message, Query
from resay.providers.apis.base import Api, Body, Event, Request
from resay.providers.apis.reading import is_yes, listed, mappings, named, number, text
from resay.providers.apis.several_answers import Choice, SeveralAnswersApi, answers_wanted
from resay.providers.base import Chunk, Completion

__all__ = ["COMPLETIONS"]

_NOT_PARAMS = frozenset({"logprobs", "model", "n", "prompt", "stream"})
# Nobody reads of a sample what these ask for, and `best_of` would write several for each.
_MAIN_CALL_ONLY = frozenset(
    {"best_of", "echo", "prompt_logprobs", "return_prompt_text", "return_token_ids"}
)
# Parameters of chat completions that are others here.
_CHATS = frozenset({"logprobs", "max_completion_tokens", "top_logprobs"})
# What belongs to the main call's own prompt.
_OF_THE_PROMPT = frozenset({"suffix"})
_QUIET = ("index", "finish_reason", "stop_reason")

_MOST_ALTERNATIVES = 5
# Without a limit the API ends an answer after 16 tokens.
_MAX_TOKENS = 1024

_LABELS: Mapping[str, str] = {
    "assistant": "Assistant",
    "developer": "System",
    "function": "Tool",
    "system": "System",
    "tool": "Tool",
}
_USER = "User"

_NO_TEXT = "the prompt is not given as a text"
_SEVERAL = "there are several prompts, whose answers are no samples of each other"
_ECHO = "the answer repeats the prompt (`echo`)"


class _Completions(SeveralAnswersApi):
    path = "/completions"
    _object = "text_completion"
    _piece_object = "text_completion"

    def read(self, body: Body) -> Request:
        prompts = _prompts(body.get("prompt"))
        only = prompts[0] if len(prompts) == 1 else None
        messages = () if only is None else ({"role": "user", "content": only},)
        reason = _unchecked(body, prompts)
        query = Query(messages, None, _params(body), unchecked=reason)
        n = answers_wanted(body) * max(len(prompts), 1)
        return Request(body, query, n, is_yes(body.get("stream")), reason)

    def asking_logprobs(self, body: Body, top: int) -> Body:
        return {**body, "logprobs": max(min(top, _MOST_ALTERNATIVES), _alternatives(body) or 0)}

    def sample(self, request: Request, query: Query, n: int) -> Body:
        asked = {k: request.body[k] for k in ("model", "prompt") if k in request.body}
        return {**asked, **_own(query.params), **({"n": n} if n > 1 else {})}

    def fresh(self, body: Body, query: Query) -> Body:
        limit = max(number(body.get("max_tokens")), _MAX_TOKENS)
        asked = {"model": body.get("model"), **_written(query.messages), "max_tokens": limit}
        params = _own(query.params)
        return {**asked, **{k: v for k, v in params.items() if k not in _OF_THE_PROMPT}}

    def tells_more(self, event: Event) -> bool:
        del event
        return False

    def _completion(self, choice: Choice, response: Body) -> Completion:
        return Completion(
            text(choice.get("text")),
            text(choice.get("finish_reason")) or None,
            read_logprobs(choice.get("logprobs")),
            response,
            unread=_unread(choice),
        )

    def _saying(self, message: str) -> dict[str, Any]:
        return {"text": message}

    def _chunk(self, choice: Choice, event: Event) -> Chunk:
        return Chunk(
            text(choice.get("text")),
            text(choice.get("finish_reason")) or None,
            read_logprobs(choice.get("logprobs")),
            raw=event,
            unread=_unread(choice),
        )

    def _adding(self, said: str, *, first: bool) -> dict[str, Any]:
        del first
        return {"text": said}

    def _quiet(self, choice: Choice) -> dict[str, Any]:
        # Servers may say the text once more beside it, as numbers of tokens.
        kept = {name: choice[name] for name in _QUIET if name in choice}
        return {**kept, "text": "", "logprobs": None}

    def _framed(self, choice: Choice) -> dict[str, Any]:
        return {**self._quiet(choice), "finish_reason": None}

    def _tells(self, choice: Choice) -> bool:
        return bool(choice.get("finish_reason"))


COMPLETIONS: Api = _Completions()
"""`POST /completions`.

A prompt is read as one message of the user's, also where it is no question but the beginning of a
text. Left unchecked are answers that begin with their prompt (`echo`), answers to several prompts
at once, and those to prompts that are given as numbers of tokens.
"""


def _unread(choice: Choice) -> str | None:
    """Return what of an answer cannot be read; None where all can."""
    said = choice.get("text")
    elsewhere = choice.get("message") or choice.get("delta")
    return named(None) if elsewhere or not isinstance(said, str | None) else None


def _prompts(prompt: object) -> list[str | None]:
    """Return the prompts of a request; None for each that is no text."""
    if isinstance(prompt, str):
        return [prompt]
    items = listed(prompt)
    # A list of numbers is one prompt.
    if any(isinstance(item, int) for item in items):
        return [None]
    return [item if isinstance(item, str) else None for item in items]


def _unchecked(body: Body, prompts: Sequence[str | None]) -> str | None:
    if len(prompts) > 1:
        return _SEVERAL
    if not prompts or prompts[0] is None:
        return _NO_TEXT
    return _ECHO if body.get("echo") else None


def _alternatives(body: Body) -> int | None:
    """Return how many alternatives are asked for at each token; None where none are shown."""
    wanted = body.get("logprobs")
    if isinstance(wanted, bool):
        return 1 if wanted else None
    return wanted if isinstance(wanted, int) and wanted >= 0 else None


def _params(body: Body) -> dict[str, Any]:
    """Return the parameters as chat completions have them."""
    known = {k: v for k, v in body.items() if k not in _NOT_PARAMS and v is not None}
    top = _alternatives(body)
    return known if top is None else {**known, "logprobs": True, "top_logprobs": top}


def _own(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a query as this API has them."""
    own = {k: v for k, v in params.items() if k not in _CHATS | _MAIN_CALL_ONLY}
    if params.get("max_completion_tokens") is not None:
        own["max_tokens"] = params["max_completion_tokens"]
    if params.get("logprobs"):
        own["logprobs"] = min(number(params.get("top_logprobs")), _MOST_ALTERNATIVES)
    return own


def _written(messages: Sequence[Message]) -> dict[str, Any]:
    """Return a conversation as a prompt: one message as it is, several with who says them."""
    if len(messages) == 1:
        return {"prompt": _text_of(messages[0])}
    said = [f"{_label(message)}: {_text_of(message)}" for message in messages]
    # A model that goes on would ask itself the next question.
    return {"prompt": "\n\n".join([*said, "Assistant:"]), "stop": [f"\n\n{_USER}:"]}


def _label(message: Message) -> str:
    return _LABELS.get(text(message.get("role")), _USER)


def _text_of(message: Message) -> str:
    content = message.get("content")
    return text(content) or "\n".join(text(part.get("text")) for part in mappings(content))
