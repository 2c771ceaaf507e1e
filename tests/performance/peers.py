"""Resay beside other libraries for the same purpose, each in its own environment, in turns.

They do not find the same things; what their findings are worth is in `resay bench`. Here is what
they cost: processor time, calls, and how many of the calls wait for one another.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
import venv
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import anyio
import httpx
import typer

from performance import load
from performance.load_servers import upstream
from performance.peer_upstream import rounds_of
from performance.readings import evenly
from performance.skipping import SkippedError
from resay import Guard, Passage, Request, TokenLogprob
from resay.adapters.providers import Metered
from resay.commands import JsonOption
from resay.errors import ConfigurationError, MissingDependencyError
from resay.plugins import Completion, Completions, Evidence, Samples
from resay.scorers.entailments import Entailed, Entailment
from resay.scorers.p_true import PTrue
from resay.scorers.semantic import Semantic
from resay_lab.benchmarks import wikibio
from resay_lab.benchmarks.bench import DataOption, MarkdownOption, format_of, print_result
from resay_lab.benchmarks.measuring import Item
from resay_lab.benchmarks.table import Column, ResultTable, Row

__all__ = ["PEERS", "peers", "row_of", "skipped_row"]

_HERE = Path(__file__).parent
_MODEL = "gpt-4.1-mini"
_SAMPLES = 5
_LATENCY_S = 0.2
_PASSAGES = 12
_TOLD = 300
_NGRAM = {"chain": [{"method": "ngram"}], "cache": {"store": "none"}}
_ASKING = {"start": "together", "max": _SAMPLES, "min": _SAMPLES, "confidence": None}

_COLUMNS = (
    Column("what", "what"),
    Column("unit", "unit"),
    Column("ours", "Resay", 2),
    Column("peer", "beside it"),
    Column("theirs", "of that", 2),
    Column("ratio", "ratio", 3),
    Column("remark", "remark"),
)
_NOTES = (
    "CPU: processor time of the process that checks, the median of all turns, in which ours and the"
    " other's follow each other. ratio: ours by theirs; less is better, but for requests/s.",
    "SelfCheckGPT: the unigram scorer as released, which makes its pipeline anew for each passage;"
    " where en_core_web_sm is not installed with a blank English pipeline, which is quicker. Ours"
    " is `Guard.check`, with what contradicts flagged claims.",
    "uqlm: `BlackBoxUQ` with `exact_match`, the only one of its scorers without a model. It says"
    " how many samples are the same text; ours looks at each sentence.",
    "matrices: what each text says of the others and of claims, drawn at random; uqlm's own classes"
    " do the arithmetic, with the matrix in the place of their classifier. `semantic` with"
    " `equivalence: either` and, for claims, `units: response`, which is what uqlm looks at.",
    f"calls and rounds: one question and {_SAMPLES} samples, from an upstream that takes"
    f" {_LATENCY_S:g} s for each answer. A round is a call that had to wait for another.",
    "openai-guardrails: its client with `Hallucination Detection`, which has a model search files"
    " after the answer; ours draws samples beside the answer, and `prompt` has them judged.",
)


def peers(
    data: DataOption = None,
    environments: Annotated[
        Path, typer.Option(help="Where the environments of the others are, or are made.")
    ] = Path(".venv-peers"),
    turns: Annotated[int, typer.Option(min=1, help="How often each has its turn.")] = 5,
    only: Annotated[
        str | None, typer.Option(help="Peers, separated by commas.", show_default="all of them")
    ] = None,
    litellm: Annotated[
        str | None, typer.Option(metavar="PATH", help="An installed executable of LiteLLM's proxy.")
    ] = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure Resay beside other libraries."""
    form = format_of(as_json, as_markdown)
    chosen = list(PEERS) if only is None else only.split(",")
    if unknown := set(chosen).difference(PEERS):
        raise typer.BadParameter(f"no peer is called {min(unknown)!r}", param_hint="--only")
    rows: list[Row] = []
    for name in chosen:
        setting = _Setting(environments.absolute(), data, turns, litellm)
        for part in PEERS[name]:
            rows += _rows_of(name, part, setting)
    print_result(ResultTable("peers", _COLUMNS, tuple(rows), _NOTES), form)


@dataclass(frozen=True, slots=True)
class _Setting:
    environments: Path
    data: Path | None
    turns: int
    litellm: str | None


def _rows_of(name: str, part: Callable[[_Setting], list[Row]], setting: _Setting) -> list[Row]:
    try:
        return part(setting)
    except (SkippedError, ConfigurationError, MissingDependencyError) as error:
        return [skipped_row(name, str(error))]


def row_of(
    what: str, unit: str, ours: float, peer: str, theirs: float, remark: str | None = None
) -> Row:
    """Return a line of the table.

    Args:
        what: What both did.
        unit: In what it is measured.
        ours: What Resay took.
        peer: The other, with its version.
        theirs: What it took.
        remark: What a reader should know beside it.
    """
    ratio = round(ours / theirs, 4) if theirs else None
    values = {"ours": round(ours, 3), "peer": peer, "theirs": round(theirs, 3), "ratio": ratio}
    return {"what": what, "unit": unit, **values, "remark": remark, "skipped": None}


def skipped_row(peer: str, why: str) -> Row:
    """Return the line of a peer that could not be measured here."""
    nothing = dict.fromkeys(("unit", "ours", "theirs", "ratio"))
    told = f"skipped: {why}"
    return {"what": f"{peer}: nothing", **nothing, "peer": peer, "remark": told, "skipped": told}


def _python(setting: _Setting, name: str) -> Path:
    """Return the interpreter of a peer's environment, which is made where it is not there."""
    wanted = _HERE / "requirements" / f"{name}.txt"
    home = setting.environments / name
    python, stamp = home / "bin" / "python", home / ".installed"
    if stamp.is_file() and stamp.read_bytes() == wanted.read_bytes():
        return python
    venv.create(home, symlinks=True, with_pip=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    asked = [*install, "--requirement", str(wanted)]
    report = home / "would.json"
    _run_pip([*asked, "--dry-run", "--report", str(report)])
    packages = [one["metadata"]["name"] for one in json.loads(report.read_text())["install"]]
    if any(package.lower().startswith("nvidia") for package in packages):
        raise SkippedError(
            "it would bring gigabytes for GPUs; give pip an index with torch's CPU build"
        )
    _run_pip(asked)
    stamp.write_bytes(wanted.read_bytes())
    return python


def _run_pip(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise SkippedError(f"pip could not install it: {(lines or ['no reason'])[-1][:_TOLD]}")


@dataclass(frozen=True, slots=True)
class _Peer:
    """Another library, in a process of its own."""

    version: str
    turn: Callable[[], Mapping[str, Any]]


@contextmanager
def _worker(python: Path, name: str, given: Mapping[str, Any]) -> Generator[_Peer]:
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    # Nothing is fetched, and nothing reported.
    env |= {"HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "simulated", "LANGSMITH_TRACING": "false"}
    with (
        TemporaryDirectory(prefix="resay-peer-") as folder,
        Path(folder, "log").open("w+") as log,
        subprocess.Popen(
            [str(python), str(_HERE / "peer_worker.py"), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=env,
        ) as process,
    ):

        def told(sent: object) -> dict[str, Any]:
            assert process.stdin
            assert process.stdout
            try:
                process.stdin.write(json.dumps(sent) + "\n")
                process.stdin.flush()
            except BrokenPipeError:
                pass
            line = process.stdout.readline()
            if not line:
                process.wait()
                log.seek(0)
                last = log.read().strip().rpartition("\n")[2][:_TOLD]
                raise SkippedError(f"it ended with {last!r}")
            return json.loads(line)

        try:
            version = told(given)["version"]
            yield _Peer(version, partial(told, "go"))
        finally:
            process.communicate()


def _items(data: Path | None) -> list[Item]:
    if data is None:
        raise SkippedError("no data; pass --data or set RESAY_DATA")
    everything = wikibio.load(data, slice(None)).items
    return [everything[i] for i in evenly(len(everything), _PASSAGES)]


def _given(items: Sequence[Item]) -> Mapping[str, Any]:
    return {
        "items": [
            {
                "passage": item.passage.text,
                "sentences": [sentence.text for sentence in item.passage.sentences],
                "samples": list(item.samples),
            }
            for item in items
        ]
    }


def _taken(work: Callable[[], object]) -> Mapping[str, float]:
    started, worked = time.perf_counter(), time.process_time()
    work()
    return {"cpu_s": time.process_time() - worked, "wall_s": time.perf_counter() - started}


def _scoring(name: str, what: str, setting: _Setting) -> list[Row]:
    """Measure checks of passages with their samples, which call nobody."""
    items = _items(setting.data)
    guard = Guard(_NGRAM)

    def check() -> None:
        for item in items:
            guard.check(item.passage.text, samples=item.samples)

    check()
    with _worker(_python(setting, name), name, _given(items)) as peer:
        both = [(_taken(check), peer.turn()) for _ in range(setting.turns)]
    called = f"{name} {peer.version}"
    passage = f"a WikiBio passage, 20 samples: `ngram`, {what}"
    return [
        row_of(f"{passage}: {clock}", "ms", *_medians(both, key, len(items), called))
        for clock, key in (("CPU", "cpu_s"), ("time", "wall_s"))
    ]


def _medians(
    both: Sequence[tuple[Mapping[str, float], Mapping[str, float]]],
    key: str,
    count: int,
    called: str,
) -> tuple[float, str, float]:
    ours, theirs = (
        1000 * median(one[key] for one in side) / count for side in zip(*both, strict=True)
    )
    return ours, called, theirs


@contextmanager
def _timed_upstream() -> Generator[str]:
    with TemporaryDirectory(prefix="resay-peers-") as folder:
        log = Path(folder, "upstream.log")
        with upstream("performance.peer_upstream", {"latency_s": _LATENCY_S}, log) as server:
            yield server.url


@dataclass(frozen=True, slots=True)
class _Asked:
    took: Mapping[str, float]
    calls: int
    rounds: int


def _asked(url: str, turn: Callable[[], Mapping[str, float]]) -> _Asked:
    httpx.get(f"{url}/times").raise_for_status()
    took = turn()
    times = [(start, end) for start, end in httpx.get(f"{url}/times").json()]
    return _Asked(took, len(times), rounds_of(times))


def _asking_rows(
    what: str, ours: Sequence[_Asked], called: str, theirs: Sequence[_Asked]
) -> list[Row]:
    def row(name: str, unit: str, read: Callable[[_Asked], float]) -> Row:
        mine, other = (median(read(one) for one in some) for some in (ours, theirs))
        return row_of(f"{what}: {name}", unit, mine, called, other)

    return [
        row("calls", "", lambda one: one.calls),
        row("rounds", "", lambda one: one.rounds),
        row("beyond its rounds", "ms", lambda one: _beyond_ms(one)),
        row("time", "ms", lambda one: 1000 * one.took["wall_s"]),
        row("CPU", "ms", lambda one: 1000 * one.took["cpu_s"]),
    ]


def _beyond_ms(one: _Asked) -> float:
    return 1000 * (one.took["wall_s"] - one.rounds * _LATENCY_S)


def _uqlm_asking(setting: _Setting) -> list[Row]:
    python = _python(setting, "uqlm")
    with _timed_upstream() as url:
        question = "Tell me about the lighthouse at Quarrel Point."
        where = {"model": _MODEL, "api_base": f"{url}/v1"}
        guard = Guard({**_NGRAM, "sampling": _ASKING}, model=f"openai/{_MODEL}")
        params = {"api_base": f"{url}/v1", "api_key": "simulated"}

        def ask() -> None:
            answer = guard.ask(question, params=params)
            if answer.verdict.samples != _SAMPLES:
                raise SkippedError(f"there were {answer.verdict.samples} samples")

        ask()
        given = {**where, "question": question, "samples": _SAMPLES}
        with _worker(python, "uqlm asking", given) as peer:
            both = [
                (_asked(url, partial(_taken, ask)), _asked(url, peer.turn))
                for _ in range(setting.turns)
            ]
    ours, theirs = zip(*both, strict=True)
    what = f"an answer and {_SAMPLES} samples, `ngram` and exact match"
    return _asking_rows(what, ours, f"uqlm {peer.version}", theirs)


_MATRICES = 24
_SAME = 1e-6


class _Given:
    """A classifier that says what a matrix says, and counts."""

    def __init__(self, known: Mapping[str, Sequence[float]]) -> None:
        self._known = known
        self.calls = 0

    async def entailed(self, pairs: Sequence[tuple[str, str]]) -> Entailed:
        self.calls += len(pairs)
        rows = ((pair, self._known[f"{pair[0]}>{pair[1]}"]) for pair in pairs)
        return Entailed({pair: Entailment(e, u, c) for pair, (c, u, e) in rows})


@dataclass(frozen=True, slots=True)
class _Option:
    """A provider whose answer is one token, and one that supports whatever it is asked."""

    tokens: Sequence[Mapping[str, Any]] = ()

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        if self.tokens:
            tokens = tuple(TokenLogprob(t["token"], t["logprob"]) for t in self.tokens)
            return Completions((Completion(tokens[0].token, logprobs=tokens),))
        count = request.question.count("\n")
        return Completions((Completion("\n".join(f"{i}: supported" for i in range(1, count))),))


def _matrix(seed: int) -> Mapping[str, Any]:
    """Return texts and claims, and what each text says of all of them.

    Texts have one of three meanings, and entail those with the same: where entailment goes in
    circles, uqlm puts a text into several clusters, and counts it in each.
    """
    draw = random.Random(seed)
    texts = [f"t{i}" for i in range(draw.randint(3, 7))]
    claims = [f"c{i}" for i in range(draw.randint(2, 5))]
    meaning = {text: draw.randrange(3) for text in texts}
    known: dict[str, list[float]] = {}
    for text in texts:
        for other in (*texts, *claims):
            parts = [draw.gammavariate(0.5, 1.0) + 1e-9 for _ in range(3)]
            if other in meaning:
                parts.sort(reverse=meaning[text] != meaning[other])
            known[f"{text}>{other}"] = [part / sum(parts) for part in parts]
    return {
        "texts": texts,
        "claims": claims,
        "known": known,
        "logprobs": [[-draw.expovariate(1.0) for _ in range(4)] for _ in texts],
        "options": [[{"token": t, "logprob": -draw.random()}] for t in ("True", "False")],
    }


_MEASURES: Mapping[str, Mapping[str, Any]] = {
    "entropy": {"measure": "entropy"},
    "entropy, weighted": {"measure": "entropy", "weighted": True},
    "sets": {"measure": "sets"},
    "density, weighted": {"measure": "density", "weighted": True},
    "luq": {"measure": "luq_atomic", "units": "response"},
    "entailment": {"measure": "entailment"},
    "closeness": {"measure": "closeness", "units": "response"},
}
"""The measures that uqlm has too, by their names here."""


async def _ours_of(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return what our methods find of a matrix, in uqlm's form: its confidence in claims."""
    texts, claims = case["texts"], case["claims"]
    passage = replace(Passage.from_sentences(claims), text=texts[0])
    found: dict[str, Any] = {"calls": {}}
    tokens = [tuple(TokenLogprob("t", value) for value in row) for row in case["logprobs"]]
    for name, settings in _MEASURES.items():
        scorer = Semantic(Semantic.Config(equivalence="either", **settings))
        given = _Given(case["known"])
        scorer._entailing._nli = given
        evidence = Evidence(Samples(texts[1:]), logprobs=tokens[0])
        for sample, of in zip(evidence.samples.arrived, tokens[1:], strict=True):
            sample.logprobs = of
        scores = await scorer.score(passage, evidence)
        found[name] = scores.raw_passage
        if scores.sentences:
            found[name] = [1.0 - (score or 0.0) for score in scores.sentences]
        found["calls"][name.partition(",")[0]] = given.calls
    provider = _Option()
    judged = Semantic(Semantic.Config(measure="entailment", by="judge"))
    meter = Metered(provider)
    await judged.score(passage, Evidence(Samples(texts[1:]), judge_provider=meter))
    found["calls"]["judge"] = meter.usage.calls
    p_true = PTrue(PTrue.Config(of="response"))
    asked = [Evidence(judge_provider=_Option(option)) for option in case["options"]]
    scored = [await p_true.score(passage, evidence) for evidence in asked]
    found["p_true"] = [1.0 - (scores.passage or 0.0) for scores in scored]
    return found


def _uqlm_matrices(setting: _Setting) -> list[Row]:
    cases = [_matrix(seed) for seed in range(_MATRICES)]
    with _worker(_python(setting, "uqlm"), "uqlm matrices", {"cases": cases}) as peer:
        theirs = peer.turn()["found"]

    async def work() -> list[dict[str, Any]]:
        return [await _ours_of(case) for case in cases]

    ours, called = anyio.run(work), f"uqlm {peer.version}"
    rows: list[Row] = []
    for name in (*_MEASURES, "p_true"):
        mine, other = ([v for case in both for v in _flat(case[name])] for both in (ours, theirs))
        most = max(abs(a - b) for a, b in zip(mine, other, strict=True))
        told = f"greatest difference of {len(mine)} values: {most:.0e}"
        told = told if most <= _SAME else f"{told}, NOT THE SAME"
        what = f"{_MATRICES} matrices, {name}: mean"
        rows.append(row_of(what, "", fmean(mine), called, fmean(other), told))
    for name, what in (
        ("entropy", "classifications for entropy"),
        ("density", "classifications for density"),
        ("entailment", "classifications for entailment and luq of the response"),
        ("judge", "calls of a judge for entailment"),
    ):
        mine, other = (sum(case["calls"][name] for case in both) for both in (ours, theirs))
        rows.append(row_of(f"{_MATRICES} matrices: {what}", "", mine, called, other))
    return rows


def _flat(value: Any) -> list[float]:
    return [float(v) for v in value] if isinstance(value, list) else [float(value)]


def _openai_guardrails(setting: _Setting) -> list[Row]:
    try:
        from openai import OpenAI

        from resay_openai import GuardedOpenAI
    except ImportError as error:
        raise SkippedError("our own client needs openai") from error
    python = _python(setting, "openai-guardrails")
    messages: Any = [{"role": "user", "content": "Tell me about the lighthouse at Quarrel Point."}]
    with _timed_upstream() as url:
        where = {"base_url": f"{url}/v1", "api_key": "simulated"}
        prompt = {**_NGRAM, "chain": [{"method": "prompt"}]}
        clients: Mapping[str, Any] = {
            "plain": OpenAI(**where),
            "ngram": GuardedOpenAI(policy={**_NGRAM, "sampling": _ASKING}, **where),
            "prompt": GuardedOpenAI(policy=prompt, **where),
        }

        def ask(client: Any) -> None:
            client.chat.completions.create(model=_MODEL, messages=messages)

        asks = {name: partial(_taken, partial(ask, client)) for name, client in clients.items()}
        for one in asks.values():
            one()
        given = {"model": _MODEL, "api_base": f"{url}/v1", "question": messages[0]["content"]}
        found: dict[str, list[_Asked]] = {name: [] for name in (*asks, "peer")}
        with _worker(python, "openai-guardrails", given) as peer:
            for _ in range(setting.turns):
                for name, turn in {**asks, "peer": peer.turn}.items():
                    found[name].append(_asked(url, turn))
    plain_s = median(one.took["wall_s"] for one in found["plain"])
    called = f"openai-guardrails {peer.version}"
    rows: list[Row] = []
    for name in ("ngram", "prompt"):
        what = f"a guarded chat completion, `{name}`"
        rows += _asking_rows(what, found[name], called, found["peer"])
        added = [
            1000 * (median(one.took["wall_s"] for one in found[which]) - plain_s)
            for which in (name, "peer")
        ]
        rows.append(row_of(f"{what}: added to the SDK's", "ms", added[0], called, added[1]))
    return rows


def _litellm(setting: _Setting) -> list[Row]:
    path = setting.litellm
    if path is None:
        path = str(_python(setting, "litellm").with_name("litellm"))
    table = load.run(load.Setting(concurrency=16, rounds=setting.turns, requests=100), litellm=path)
    found = {(row["subject"], row["answer"]): row for row in table.rows}
    rows: list[Row] = []
    for answer in dict.fromkeys(answer for _, answer in found):
        other = found.get(("LiteLLM proxy", answer))
        if other is None or other.get("rate") is None:
            raise SkippedError(str(other and other.get("remark")))
        for name in ("gateway, off by `when`", "gateway, ngram"):
            ours = found[name, answer]
            for key, unit in (("cpu_ms", "CPU ms of a request"), ("rate", "requests/s")):
                what = f"{name}, {answer}"
                rows.append(row_of(what, unit, ours[key], "LiteLLM's proxy", other[key]))
    return rows


PEERS: Mapping[str, Sequence[Callable[[_Setting], list[Row]]]] = {
    "selfcheckgpt": [partial(_scoring, "selfcheckgpt", "its unigrams")],
    "uqlm": [partial(_scoring, "uqlm", "exact match"), _uqlm_asking, _uqlm_matrices],
    "openai-guardrails": [_openai_guardrails],
    "litellm": [_litellm],
}
"""Who is measured, and how."""
