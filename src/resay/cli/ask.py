"""The commands that check one answer: `resay ask` and `resay check`."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console
from typer.core import TyperCommand

from resay._internal.patterns import lazy_pattern
from resay.cli.waiting import notice_of_waiting
from resay.commands import (
    FLAGGED,
    INCONCLUSIVE,
    OUTPUT_PANEL,
    POLICY_PANEL,
    ApiBaseOption,
    ApiKeyEnvOption,
    HtmlOption,
    JsonOption,
    MethodOption,
    ModelOption,
    PolicyOption,
    connection_params,
    guard_of,
    print_json,
    print_policy,
    read_text,
    write_text,
)
from resay.core.documents import Document
from resay.core.verdict import Verdict
from resay.engine.actions import Answer
from resay.engine.answer_stream import SyncAnswerStream
from resay.errors import ConfigurationError, PolicyError, ProviderError
from resay.reporting.render import print_answer, print_part, print_verdict

ask_app = typer.Typer(add_completion=False)
check_app = typer.Typer(add_completion=False)
_EVIDENCE = "Evidence"
_OPTIONS = {
    "question": "--question",
    "samples": "--samples",
    "references": "--references",
    "logprobs": "--logprobs",
    "model": "--model",
    "entity": "--entity",
    "api_base": "--api-base",
    "api_key": "--api-key-env",
}
_ARGUMENT = lazy_pattern(f"`({'|'.join(_OPTIONS)})`")


EntityOption = Annotated[
    str | None,
    typer.Option(
        "--entity",
        help="The subject of the response, for reverse_validation.",
        rich_help_panel=POLICY_PANEL,
    ),
]


class _StreamMode(str, Enum):
    hold = "hold"
    after = "after"
    buffer = "buffer"


@ask_app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    model: ModelOption = None,
    entity: EntityOption = None,
    policy: PolicyOption = None,
    method: MethodOption = None,
    api_base: ApiBaseOption = None,
    api_key_env: ApiKeyEnvOption = None,
    stream_mode: Annotated[
        _StreamMode | None,
        typer.Option(
            help="Stream the answer: hold each sentence until it is scored, check after printing,"
            " or buffer the whole answer.",
            show_default=False,
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = None,
    as_json: JsonOption = False,
    html: HtmlOption = None,
) -> None:
    """Ask a model, check the answer, and apply the policy's action."""
    guard = guard_of(policy, method, model=model)
    print_policy(policy, method, model=model)
    with _named_as_options(), notice_of_waiting(guard, model, api_base) as stop_waiting:
        if stream_mode is not None and not as_json:
            parts = guard.stream(
                question,
                stream_mode=stream_mode.value,
                model=model,
                entity=entity,
                params=connection_params(api_base, api_key_env),
            )
            streamed = _print_stream(parts, stop_waiting)
            _write_page(html, streamed.to_dict(), question)
            raise typer.Exit(_exit_code(streamed.verdict))
        answer = guard.ask(
            question, model=model, entity=entity, params=connection_params(api_base, api_key_env)
        )
    if as_json:
        print_json(answer.to_dict())
    else:
        print_answer(answer, Console())
    _write_page(html, answer.to_dict(), question)
    raise typer.Exit(_exit_code(answer.verdict))


_SEVERAL = ("--samples", "--references")


class SeveralValues(TyperCommand):
    """A command whose file options take several values: `--samples a.txt b.txt`."""

    # The context's class is click's in some versions of typer and typer's own in others.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the option before each of its values, the form that the parser understands."""
        spread: list[str] = []
        option: str | None = None
        has_value = False
        for word in args:
            if word.startswith("-") and word != "-":
                option, has_value = (word if word in _SEVERAL else None), False
            elif option:
                spread += [option] if has_value else []
                has_value = True
            spread.append(word)
        return super().parse_args(ctx, spread)


@check_app.command(cls=SeveralValues)
def check(
    response: Annotated[
        str, typer.Option("--response", "-r", help="A file with the response, or - for stdin.")
    ],
    question: Annotated[
        str | None, typer.Option(help="The question that the response answers.")
    ] = None,
    messages: Annotated[
        Path | None,
        typer.Option(
            help="In its place, a JSON file with the messages before the response, tool calls"
            " included."
        ),
    ] = None,
    samples: Annotated[
        list[Path] | None,
        typer.Option(
            "--samples",
            help="Files with other responses. A .json or .jsonl file may hold many.",
            rich_help_panel=_EVIDENCE,
        ),
    ] = None,
    references: Annotated[
        list[Path] | None,
        typer.Option(
            "--references",
            help="Files with trusted texts, or patterns such as 'docs/*.md'.",
            rich_help_panel=_EVIDENCE,
        ),
    ] = None,
    logprobs: Annotated[
        Path | None,
        typer.Option(
            help="A JSON file with the response's tokens, as in OpenAI's logprobs.content.",
            rich_help_panel=_EVIDENCE,
        ),
    ] = None,
    model: ModelOption = None,
    entity: EntityOption = None,
    policy: PolicyOption = None,
    method: MethodOption = None,
    api_base: ApiBaseOption = None,
    api_key_env: ApiKeyEnvOption = None,
    as_json: JsonOption = False,
    html: HtmlOption = None,
) -> None:
    """Check an existing response."""
    if question is not None and messages is not None:
        raise ConfigurationError("pass `--question` or `--messages`, not both")
    text = read_text(response)
    trusted = [doc for path in _expanded(references or ()) for doc in read_documents(path)]
    drawn = [t for path in samples or () for t in read_texts(path)]
    guard = guard_of(policy, method, model=model)
    print_policy(policy, method, model=model)
    tokens = None if logprobs is None else read_logprobs(logprobs)
    conversation = None if messages is None else read_messages(messages)
    with _named_as_options(), notice_of_waiting(guard, model, api_base):
        verdict = guard.check(
            text,
            question=question if conversation is None else conversation,
            samples=drawn or None,
            references=trusted,
            logprobs=tokens,
            model=model,
            entity=entity,
            params=connection_params(api_base, api_key_env),
        )
    if as_json:
        print_json(verdict.to_dict())
    else:
        print_verdict(verdict, text, Console())
    _write_page(html, verdict.to_dict(), question or "Verdict")
    raise typer.Exit(_exit_code(verdict))


def _write_page(path: Path | None, reported: Mapping[str, Any], title: str) -> None:
    """Write the output of `to_dict` of a verdict or an answer as a page, if there is a path."""
    if path is None:
        return
    # Imported late, because templates take a tenth of a second.
    from resay.reporting.render.html import Reported, page

    write_text(path, page([Reported.from_dict(reported)], title=title))


def _print_stream(stream: SyncAnswerStream, on_part: Callable[[], None]) -> Answer:
    console = Console()
    with stream:
        for part in stream:
            on_part()
            print_part(part, console)
    console.print("\n")
    print_answer(stream.answer, console, streamed=True)
    return stream.answer


def _expanded(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the paths, with each glob pattern replaced by its matches."""
    for path in paths:
        root = Path(path.anchor)
        pattern = str(path.relative_to(root)) if path.anchor else str(path)
        if path.exists() or not any(mark in pattern for mark in "*?["):
            yield path
            continue
        matches = sorted(root.glob(pattern))
        if not matches:
            raise ConfigurationError(f"no file matches {str(path)!r}")
        yield from matches


@contextmanager
def _named_as_options() -> Generator[None]:
    """Replace argument names in error messages with their command-line options."""
    try:
        yield
    except PolicyError:
        raise
    except (ConfigurationError, ProviderError) as error:
        message = _ARGUMENT.sub(lambda match: f"`{_OPTIONS[match[1]]}`", str(error))
        error.args = (message, *error.args[1:])
        raise


def _exit_code(verdict: Verdict) -> int:
    return {"flagged": FLAGGED, "inconclusive": INCONCLUSIVE}.get(verdict.decision, 0)


def read_texts(path: Path) -> list[str]:
    """Read one text from a file, or many from a JSON list or JSON Lines of strings.

    Raises:
        ConfigurationError: The file cannot be read or holds something else.
    """
    text = read_text(path)
    if path.suffix not in (".json", ".jsonl"):
        return [text]
    try:
        lines = [line for line in text.split("\n") if line.strip()]
        data: Any = json.loads(text) if path.suffix == ".json" else [json.loads(x) for x in lines]
    except ValueError as error:
        raise ConfigurationError(f"{str(path)!r} is not valid JSON: {error}") from error
    items = cast("list[object]", data) if isinstance(data, list) else [None]
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) < len(items):
        raise ConfigurationError(
            f"{str(path)!r} must contain only strings, as a list or one per line"
        )
    return texts


def read_documents(path: Path) -> list[Document]:
    """Read the texts of a file, named after it.

    Raises:
        ConfigurationError: As for `read_texts`.
    """
    texts = read_texts(path)
    if len(texts) == 1:
        return [Document(path.name, texts[0])]
    return [Document(f"{path.name}#{number}", text) for number, text in enumerate(texts, start=1)]


def read_logprobs(path: Path) -> list[dict[str, Any]]:
    """Read the tokens of a response from a JSON file.

    Args:
        path: The file: a list of tokens in the format of OpenAI's `logprobs.content`, or an
            object with such a list in `content`.

    Raises:
        ConfigurationError: The file cannot be read or holds something else.
    """
    return _read_objects(path, "content", "tokens, as in OpenAI's `logprobs.content`")


def read_messages(path: Path) -> list[dict[str, Any]]:
    """Read a conversation from a JSON file.

    Args:
        path: The file: a list of messages in the format of chat completions, or an object with
            such a list in `messages`, such as a request.

    Raises:
        ConfigurationError: The file cannot be read or holds something else.
    """
    return _read_objects(path, "messages", "messages, as in OpenAI's chat completions")


def _read_objects(path: Path, key: str, what: str) -> list[dict[str, Any]]:
    """Read a list of objects from a JSON file: all of it, or under a key."""
    try:
        data: Any = json.loads(read_text(path))
    except ValueError as error:
        raise ConfigurationError(f"{str(path)!r} is not valid JSON: {error}") from error
    content = cast("dict[str, object]", data).get(key) if isinstance(data, dict) else data
    items = cast("list[object]", content) if isinstance(content, list) else [None]
    objects = [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]
    if len(objects) < len(items):
        raise ConfigurationError(f"{str(path)!r} must contain a list of {what}")
    return objects
