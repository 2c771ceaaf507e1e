"""The cost of Resay beside that of other libraries for the same purpose.

Each library runs in its own environment, in turns with Resay. What is measured is processor time,
calls, and how many of the calls wait for one another. The libraries do not detect the same things;
`resay bench` compares what they detect.
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
from dataclasses import dataclass
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
_MOST_MESSAGE_CHARS = 300
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
        what: What both libraries did.
        unit: The unit of both values; empty for a count.
        ours: The value of Resay.
        peer: The name of the other library, with its version.
        theirs: The value of the other library.
        remark: What a reader should know about the values.
    """
    ratio = round(ours / theirs, 4) if theirs else None
    values = {"ours": round(ours, 3), "peer": peer, "theirs": round(theirs, 3), "ratio": ratio}
    return {"what": what, "unit": unit, **values, "remark": remark, "skipped": None}


def skipped_row(peer: str, why: str) -> Row:
    """Return the line of a peer that could not be measured here."""
    nothing = dict.fromkeys(("unit", "ours", "theirs", "ratio"))
    remark = f"skipped: {why}"
    about = {"what": f"{peer}: nothing", "peer": peer}
    return {**about, **nothing, "remark": remark, "skipped": remark}


def _python(setting: _Setting, name: str) -> Path:
    """Return the interpreter of a peer's environment, which is created if it does not exist."""
    requirements = _HERE / "requirements" / f"{name}.txt"
    home = setting.environments / name
    python, stamp = home / "bin" / "python", home / ".installed"
    if stamp.is_file() and stamp.read_bytes() == requirements.read_bytes():
        return python
    venv.create(home, symlinks=True, with_pip=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command = [*install, "--requirement", str(requirements)]
    report = home / "would.json"
    _run_pip([*command, "--dry-run", "--report", str(report)])
    packages = [item["metadata"]["name"] for item in json.loads(report.read_text())["install"]]
    if any(package.lower().startswith("nvidia") for package in packages):
        raise SkippedError(
            "it would bring gigabytes for GPUs; give pip an index with torch's CPU build"
        )
    _run_pip(command)
    stamp.write_bytes(requirements.read_bytes())
    return python


def _run_pip(command: Sequence[str]) -> None:
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    if completed.returncode:
        errors = [line for line in completed.stderr.splitlines() if line.startswith("ERROR")]
        reason = errors[-1] if errors else "no reason"
        raise SkippedError(f"pip could not install it: {reason[:_MOST_MESSAGE_CHARS]}")


@dataclass(frozen=True, slots=True)
class _Peer:
    """Another library, in a process of its own."""

    version: str
    turn: Callable[[], Mapping[str, Any]]


@contextmanager
def _worker(python: Path, name: str, settings: Mapping[str, Any]) -> Generator[_Peer]:
    """Run a peer in a process of its own, which gets its settings as JSON."""
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

        def send(message: object) -> dict[str, Any]:
            """Send a line to the worker, and return its answer."""
            assert process.stdin
            assert process.stdout
            try:
                process.stdin.write(json.dumps(message) + "\n")
                process.stdin.flush()
            except BrokenPipeError:
                pass
            line = process.stdout.readline()
            if not line:
                process.wait()
                log.seek(0)
                last = log.read().strip().rpartition("\n")[2][:_MOST_MESSAGE_CHARS]
                raise SkippedError(f"it ended with {last!r}")
            return json.loads(line)

        try:
            version = send(settings)["version"]
            yield _Peer(version, partial(send, "go"))
        finally:
            process.communicate()


def _items(data: Path | None) -> list[Item]:
    if data is None:
        raise SkippedError("no data; pass --data or set RESAY_DATA")
    items = wikibio.load(data, slice(None)).items
    return [items[i] for i in evenly(len(items), _PASSAGES)]


def _as_json(item: Item) -> Mapping[str, Any]:
    return {
        "passage": item.passage.text,
        "sentences": [sentence.text for sentence in item.passage.sentences],
        "samples": list(item.samples),
    }


def _timed(work: Callable[[], object]) -> Mapping[str, float]:
    """Return the processor time and the time on the clock that work takes, in seconds."""
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
    ours: list[Mapping[str, float]] = []
    theirs: list[Mapping[str, float]] = []
    settings = {"items": [_as_json(item) for item in items]}
    with _worker(_python(setting, name), name, settings) as peer:
        for _ in range(setting.turns):
            ours.append(_timed(check))
            theirs.append(peer.turn())
    peer_name = f"{name} {peer.version}"
    passage = f"a WikiBio passage, 20 samples: `ngram`, {what}"
    rows: list[Row] = []
    for clock, key in (("CPU", "cpu_s"), ("time", "wall_s")):
        ours_ms = 1000 * median(turn[key] for turn in ours) / len(items)
        theirs_ms = 1000 * median(turn[key] for turn in theirs) / len(items)
        rows.append(row_of(f"{passage}: {clock}", "ms", ours_ms, peer_name, theirs_ms))
    return rows


@contextmanager
def _timed_upstream() -> Generator[str]:
    with TemporaryDirectory(prefix="resay-peers-") as folder:
        log = Path(folder, "upstream.log")
        with upstream("performance.peer_upstream", {"latency_s": _LATENCY_S}, log) as server:
            yield server.url


@dataclass(frozen=True, slots=True)
class _AskedTurn:
    """One turn that calls the upstream.

    Attributes:
        times: What it took on each clock, in seconds.
        calls: How many calls it made.
        rounds: How many of them had to wait for one another.
    """

    times: Mapping[str, float]
    calls: int
    rounds: int

    @property
    def time_ms(self) -> float:
        """The time on the clock, in milliseconds."""
        return 1000 * self.times["wall_s"]

    @property
    def beyond_rounds_ms(self) -> float:
        """The time on the clock without the upstream's latency, in milliseconds."""
        return 1000 * (self.times["wall_s"] - self.rounds * _LATENCY_S)

    @property
    def cpu_ms(self) -> float:
        """The processor time, in milliseconds."""
        return 1000 * self.times["cpu_s"]


def _asked_turn(url: str, turn: Callable[[], Mapping[str, float]]) -> _AskedTurn:
    # Reading the times clears them.
    httpx.get(f"{url}/times").raise_for_status()
    taken_s = turn()
    times = [(start, end) for start, end in httpx.get(f"{url}/times").json()]
    return _AskedTurn(taken_s, len(times), rounds_of(times))


def _asking_rows(
    what: str, ours: Sequence[_AskedTurn], peer_name: str, theirs: Sequence[_AskedTurn]
) -> list[Row]:
    def row(name: str, unit: str, value: Callable[[_AskedTurn], float]) -> Row:
        ours_median = median(value(turn) for turn in ours)
        theirs_median = median(value(turn) for turn in theirs)
        return row_of(f"{what}: {name}", unit, ours_median, peer_name, theirs_median)

    return [
        row("calls", "", lambda turn: turn.calls),
        row("rounds", "", lambda turn: turn.rounds),
        row("beyond its rounds", "ms", lambda turn: turn.beyond_rounds_ms),
        row("time", "ms", lambda turn: turn.time_ms),
        row("CPU", "ms", lambda turn: turn.cpu_ms),
    ]


def _uqlm_asking(setting: _Setting) -> list[Row]:
    python = _python(setting, "uqlm")
    with _timed_upstream() as url:
        question = "Tell me about the lighthouse at Quarrel Point."
        guard = Guard({**_NGRAM, "sampling": _ASKING}, model=f"openai/{_MODEL}")
        params = {"api_base": f"{url}/v1", "api_key": "simulated"}

        def ask() -> None:
            answer = guard.ask(question, params=params)
            if answer.verdict.samples != _SAMPLES:
                raise SkippedError(f"there were {answer.verdict.samples} samples")

        ask()
        settings = {
            "model": _MODEL,
            "api_base": f"{url}/v1",
            "question": question,
            "samples": _SAMPLES,
        }
        ours: list[_AskedTurn] = []
        theirs: list[_AskedTurn] = []
        with _worker(python, "uqlm asking", settings) as peer:
            for _ in range(setting.turns):
                ours.append(_asked_turn(url, partial(_timed, ask)))
                theirs.append(_asked_turn(url, peer.turn))
    what = f"an answer and {_SAMPLES} samples, `ngram` and exact match"
    return _asking_rows(what, ours, f"uqlm {peer.version}", theirs)


_MATRICES = 24
_SAME = 1e-6


class _MatrixClassifier:
    """A classifier that reads its probabilities from a matrix.

    Attributes:
        calls: How many pairs it was asked about.
    """

    def __init__(self, probabilities: Mapping[str, Sequence[float]]) -> None:
        self._probabilities = probabilities
        self.calls = 0

    async def entailed(self, pairs: Sequence[tuple[str, str]]) -> Entailed:
        self.calls += len(pairs)
        entailments: dict[tuple[str, str], Entailment] = {}
        for premise, hypothesis in pairs:
            contradicts, neutral, entails = self._probabilities[f"{premise}>{hypothesis}"]
            entailments[premise, hypothesis] = Entailment(entails, neutral, contradicts)
        return Entailed(entailments)


@dataclass(frozen=True, slots=True)
class _FixedJudge:
    """A judge that answers with given tokens, or, without any, supports every claim.

    Attributes:
        tokens: The tokens, each with `token` and `logprob`.
    """

    tokens: Sequence[Mapping[str, Any]] = ()

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        if self.tokens:
            tokens = tuple(TokenLogprob(t["token"], t["logprob"]) for t in self.tokens)
            return Completions((Completion(tokens[0].token, logprobs=tokens),))
        claims = request.question.count("\n")
        lines = [f"{i}: supported" for i in range(1, claims)]
        return Completions((Completion("\n".join(lines)),))


def _matrix(seed: int) -> Mapping[str, Any]:
    """Return random texts and claims, and the probabilities that a text entails another or a claim.

    Each text has one of three meanings, and entails those with the same: where entailment goes in
    circles, uqlm puts a text into several clusters, and counts it in each.
    """
    rng = random.Random(seed)
    texts = [f"t{i}" for i in range(rng.randint(3, 7))]
    claims = [f"c{i}" for i in range(rng.randint(2, 5))]
    meanings = {text: rng.randrange(3) for text in texts}
    probabilities: dict[str, list[float]] = {}
    for text in texts:
        for other in (*texts, *claims):
            weights = [rng.gammavariate(0.5, 1.0) + 1e-9 for _ in range(3)]
            if other in meanings:
                weights.sort(reverse=meanings[text] != meanings[other])
            total = sum(weights)
            probabilities[f"{text}>{other}"] = [weight / total for weight in weights]
    return {
        "texts": texts,
        "claims": claims,
        "probabilities": probabilities,
        "logprobs": [_random_logprobs(rng) for _ in texts],
        "options": [[{"token": t, "logprob": -rng.random()}] for t in ("True", "False")],
    }


def _random_logprobs(rng: random.Random) -> list[float]:
    return [-rng.expovariate(1.0) for _ in range(4)]


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


def _tokens(logprobs: Sequence[float]) -> tuple[TokenLogprob, ...]:
    return tuple(TokenLogprob("t", logprob) for logprob in logprobs)


async def _our_scores(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores of our methods for a matrix as uqlm gives them: confidence in claims."""
    texts, claims = case["texts"], case["claims"]
    # Its sentences are the claims, which its text does not contain.
    sentences = Passage.from_sentences(claims)
    passage = Passage(texts[0], sentences.sentences, sentences.pieces)
    results: dict[str, Any] = {"calls": {}}
    tokens = [_tokens(logprobs) for logprobs in case["logprobs"]]
    for name, settings in _MEASURES.items():
        scorer = Semantic(Semantic.Config(equivalence="either", **settings))
        classifier = _MatrixClassifier(case["probabilities"])
        scorer._entailing._nli = classifier
        evidence = Evidence(Samples(texts[1:]), logprobs=tokens[0])
        for sample, sample_tokens in zip(evidence.samples.arrived, tokens[1:], strict=True):
            sample.logprobs = sample_tokens
        scores = await scorer.score(passage, evidence)
        results[name] = scores.raw_passage
        if scores.sentences:
            results[name] = [1.0 - (score or 0.0) for score in scores.sentences]
        results["calls"][name.partition(",")[0]] = classifier.calls
    meter = Metered(_FixedJudge())
    by_judge = Semantic(Semantic.Config(measure="entailment", by="judge"))
    await by_judge.score(passage, Evidence(Samples(texts[1:]), judge_provider=meter))
    results["calls"]["judge"] = meter.usage.calls
    p_true = PTrue(PTrue.Config(of="response"))
    results["p_true"] = []
    for option in case["options"]:
        scores = await p_true.score(passage, Evidence(judge_provider=_FixedJudge(option)))
        results["p_true"].append(1.0 - (scores.passage or 0.0))
    return results


def _uqlm_matrices(setting: _Setting) -> list[Row]:
    cases = [_matrix(seed) for seed in range(_MATRICES)]
    with _worker(_python(setting, "uqlm"), "uqlm matrices", {"cases": cases}) as peer:
        theirs = peer.turn()["scores"]

    async def score_all() -> list[dict[str, Any]]:
        return [await _our_scores(case) for case in cases]

    ours = anyio.run(score_all)
    peer_name = f"uqlm {peer.version}"
    rows: list[Row] = []
    for name in (*_MEASURES, "p_true"):
        our_values = _values(ours, name)
        their_values = _values(theirs, name)
        pairs = zip(our_values, their_values, strict=True)
        difference = max(abs(own - other) for own, other in pairs)
        remark = f"greatest difference of {len(our_values)} values: {difference:.0e}"
        if difference > _SAME:
            remark += ", NOT THE SAME"
        what = f"{_MATRICES} matrices, {name}: mean"
        rows.append(row_of(what, "", fmean(our_values), peer_name, fmean(their_values), remark))
    for name, what in (
        ("entropy", "classifications for entropy"),
        ("density", "classifications for density"),
        ("entailment", "classifications for entailment and luq of the response"),
        ("judge", "calls of a judge for entailment"),
    ):
        our_calls = sum(case["calls"][name] for case in ours)
        their_calls = sum(case["calls"][name] for case in theirs)
        rows.append(row_of(f"{_MATRICES} matrices: {what}", "", our_calls, peer_name, their_calls))
    return rows


def _values(cases: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    """Return all values of a measure; in a case it has one, or one for each claim."""
    values: list[float] = []
    for case in cases:
        value = case[name]
        values += value if isinstance(value, list) else [value]
    return values


def _openai_guardrails(setting: _Setting) -> list[Row]:
    try:
        from openai import OpenAI

        from resay_openai import GuardedOpenAI
    except ImportError as error:
        raise SkippedError("our own client needs openai") from error
    python = _python(setting, "openai-guardrails")
    messages: Any = [{"role": "user", "content": "Tell me about the lighthouse at Quarrel Point."}]
    with _timed_upstream() as url:
        connection = {"base_url": f"{url}/v1", "api_key": "simulated"}
        prompt = {**_NGRAM, "chain": [{"method": "prompt"}]}
        clients: Mapping[str, Any] = {
            "plain": OpenAI(**connection),
            "ngram": GuardedOpenAI(policy={**_NGRAM, "sampling": _ASKING}, **connection),
            "prompt": GuardedOpenAI(policy=prompt, **connection),
        }

        def ask(client: Any) -> None:
            client.chat.completions.create(model=_MODEL, messages=messages)

        timed_asks = {
            name: partial(_timed, partial(ask, client)) for name, client in clients.items()
        }
        for timed_ask in timed_asks.values():
            timed_ask()
        settings = {"model": _MODEL, "api_base": f"{url}/v1", "question": messages[0]["content"]}
        turns: dict[str, list[_AskedTurn]] = {name: [] for name in (*timed_asks, "peer")}
        with _worker(python, "openai-guardrails", settings) as peer:
            for _ in range(setting.turns):
                for name, turn in {**timed_asks, "peer": peer.turn}.items():
                    turns[name].append(_asked_turn(url, turn))
    medians_ms = {name: median(turn.time_ms for turn in turns[name]) for name in turns}
    peer_name = f"openai-guardrails {peer.version}"
    rows: list[Row] = []
    for name in ("ngram", "prompt"):
        what = f"a guarded chat completion, `{name}`"
        rows += _asking_rows(what, turns[name], peer_name, turns["peer"])
        ours_ms = medians_ms[name] - medians_ms["plain"]
        theirs_ms = medians_ms["peer"] - medians_ms["plain"]
        rows.append(row_of(f"{what}: added to the SDK's", "ms", ours_ms, peer_name, theirs_ms))
    return rows


def _litellm(setting: _Setting) -> list[Row]:
    path = setting.litellm
    if path is None:
        path = str(_python(setting, "litellm").with_name("litellm"))
    table = load.run(load.Setting(concurrency=16, rounds=setting.turns, requests=100), litellm=path)
    measured = {(row["subject"], row["answer"]): row for row in table.rows}
    rows: list[Row] = []
    for answer in dict.fromkeys(answer for _, answer in measured):
        other = measured.get(("LiteLLM proxy", answer))
        if other is None or other.get("rate") is None:
            raise SkippedError(str(other and other.get("remark")))
        for name in ("gateway, off by `when`", "gateway, ngram"):
            ours = measured[name, answer]
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
"""The parts of the bench, by the name of the peer; each part returns its rows."""
