from __future__ import annotations

import io
import json
import subprocess
import sys
import types
import zipfile
from collections import defaultdict
from dataclasses import dataclass, field

import pytest
from typer.testing import CliRunner

from resay_lab.benchmarks.commands import app
from resay_lab.benchmarks.fetching import HOMES
from resay_lab.benchmarks.published import (
    AGGREFACT,
    DATA_SETS,
    LIMIT_BYTES,
    PHD,
    RAGTRUTH,
    SHROOM,
    WIKIBIO,
)
from simulation.server import HandlerServer

WIKIBIO_PATH = WIKIBIO.paths[0]
PHD_PATH, SAMPLES_PATH = PHD.paths
SHROOM_PATH = SHROOM.paths[0].partition("?")[0]
PATHS = {
    "rows": WIKIBIO_PATH,
    "benchmark": PHD_PATH,
    "samples": SAMPLES_PATH,
    "archive": SHROOM_PATH,
    "responses": RAGTRUTH.paths[0],
    "sources": RAGTRUTH.paths[1],
}
FREE = [dataset for dataset in DATA_SETS if not dataset.gated]
FILES = {name: rows for dataset in FREE for name, rows in dataset.files.items()}
SECRET = "hf_notAToken"

# What ends a line for str.splitlines, but not in JSON Lines.
ODD = "“A”\u2028 B\x85 \\ \U0001f40b"


def wikibio_rows(count=238):
    return [
        {
            "gpt3_text": f"Ada {i} was born. She sang. {ODD}",
            "wiki_bio_text": f"ada {i} was a person .",
            "gpt3_sentences": [f"Ada {i} was born.", "She sang."],
            "annotation": ["accurate", "minor_inaccurate" if i % 2 else "major_inaccurate"],
            "wiki_bio_test_idx": 7 * i,
            "gpt3_text_samples": [f"Ada {i} was born.", "Ada sings."],
        }
        for i in range(count)
    ]


def phd_lists(count=100):
    def row(name, i):
        return {
            "entity": f"{name} {i}",
            "url": "https://example.org/",
            "AI": f"{name} {i} is a thing.",
            "label": "factual" if i % 3 else "non-factual",
            "wrong_part": (None, "", "a thing", 1479)[i % 4],
        }

    return {n: [row(n, i) for i in range(count)] for n in ("wiki_1000w", "wiki_10w", "wiki_1y")}


def phd_samples(lists):
    return [
        row | {"samples_text": [f"{row['entity']}!", "A.", "B."], "sentences": [row["AI"]]}
        for rows in lists.values()
        for row in rows
    ]


def shroom_rows(count, model):
    return [
        {
            "hyp": f"A sloping {i}.",
            "ref": ("tgt", "either", "src")[i % 3],
            "src": "What is it?",
            "tgt": f"A slope {i}.",
            "model": model,
            "task": ("DM", "MT", "PG")[i % 3],
            "labels": ["Hallucination"] * 3 + ["Not Hallucination"] * 2,
            "label": "Hallucination",
            "p(Hallucination)": 0.6,
        }
        for i in range(count)
    ]


PASSAGES = "passage 1:It opened in 1932.\n\npassage 2:It is long.\n\n"
SOURCES = [
    {
        "source_id": "1",
        "task_type": "QA",
        "source": "MARCO",
        "source_info": {"question": "When did it open?", "passages": PASSAGES},
        "prompt": "Briefly answer the following question: …",
    },
    {
        "source_id": "2",
        "task_type": "Summary",
        "source": "CNN/DM",
        "source_info": f"It opened. {ODD}",
        "prompt": "Summarize the following news: …",
    },
    {
        "source_id": "3",
        "task_type": "Data2txt",
        "source": "Yelp",
        "source_info": {"name": "Café", "attributes": {"WiFi": None}},
        "prompt": "Write an objective overview: …",
    },
]


def responses(count=2700):
    """A training response, and as many to be tested on."""
    span = {"start": 3, "end": 9, "text": "opened", "meta": "…", "label_type": "Evident Conflict"}
    return [
        {
            "id": str(i),
            "source_id": str(i % 3 + 1),
            "model": "some-model",
            "temperature": 0.7,
            "labels": [span] if i % 2 else [],
            "split": "test" if i else "train",
            "quality": "good",
            "response": f"It opened in {i}. {ODD}",
        }
        for i in range(count + 1)
    ]


def json_lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def shroom_zip(**members):
    # As made on a Mac: with a folder, and with a shadow of each file.
    members = {
        "val.model-agnostic.json": shroom_rows(499, ""),
        "val.model-aware.v2.json": shroom_rows(501, "some/model"),
    } | {name.replace("__", "-").replace("_", "."): rows for name, rows in members.items()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("SHROOM_dev-v2/README-v2.txt", "about")
        for name, rows in members.items():
            archive.writestr(f"SHROOM_dev-v2/{name}", json.dumps(rows))
            archive.writestr(f"__MACOSX/SHROOM_dev-v2/._{name}", b"\0")
    return buffer.getvalue()


@dataclass
class Reply:
    body: object = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut_at: int | None = None
    sized: bool = True

    @property
    def content(self):
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


BUSY = {"retry-after": "0"}


class HomeServer:
    """All homes at once, on loopback. Of several replies each is given once, the last for ever."""

    def __init__(self):
        self.replies = {}
        self.seen = defaultdict(list)
        self._server = HandlerServer(self._answer)

    def __enter__(self):
        self._server.start()
        return self

    def __exit__(self, *_):
        self._server.stop()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.port}"

    def serve(self, path, *replies):
        self.replies[path] = list(replies)

    async def _answer(self, exchange):
        self.seen[exchange.path].append(exchange.headers)
        replies = self.replies.get(exchange.path) or [Reply(status=404)]
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        content = reply.content
        headers = {"content-length": str(len(content))} if reply.sized else {}
        await exchange.start(reply.status, "text/plain", (headers | reply.headers).items())
        await exchange.send(content[: reply.cut_at], last=reply.cut_at is None)
        if reply.cut_at is not None:
            await exchange.cut()


@pytest.fixture
def homes():
    with HomeServer() as server:
        lists = phd_lists()
        server.serve(WIKIBIO_PATH, Reply(wikibio_rows()))
        server.serve(PHD_PATH, Reply(lists))
        server.serve(SAMPLES_PATH, Reply(phd_samples(lists)))
        server.serve(SHROOM_PATH, Reply(shroom_zip()))
        server.serve(PATHS["responses"], Reply(json_lines(responses())))
        server.serve(PATHS["sources"], Reply(json_lines(SOURCES)))
        yield server


def fetch(server, *args, **env):
    mirrors = [part for name in HOMES for part in ("--home", f"{name}={server.url}")]
    return invoke("fetch", *mirrors, *args, **env)


def invoke(*args, **env):
    clean = {"RESAY_DATA": None, "HF_TOKEN": None, "HF_ENDPOINT": None}
    return CliRunner().invoke(app, list(map(str, args)), env=clean | env)


def rows_in(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def words(text):
    return " ".join(text.replace("│", " ").split())


def failure(result):
    """The message on stderr of a run that fetched nothing."""
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    return result.stderr


def test_all_data_sets_arrive_as_the_benches_read_them(homes, tmp_path):
    folder = tmp_path / "new" / "data"
    result = fetch(homes, "--data", folder)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert sorted(p.name for p in folder.iterdir()) == sorted(FILES)
    assert {p.name: len(rows_in(p)) for p in folder.iterdir()} == FILES
    assert result.stdout.splitlines() == [
        f"wikibio_gpt3.jsonl: 238 rows from {homes.url}{WIKIBIO_PATH}; licence: CC-BY-SA-3.0",
        f"phd.jsonl: 300 rows from {homes.url}{PHD_PATH} and {homes.url}{SAMPLES_PATH};"
        " licence: none stated",
        *(
            f"{name}: {rows} rows from {homes.url}{SHROOM.paths[0]}; licence: CC-BY-SA-4.0"
            for name, rows in FILES.items()
            if name.startswith("shroom")
        ),
        f"ragtruth.jsonl: 2700 rows from {homes.url}{PATHS['responses']} and"
        f" {homes.url}{PATHS['sources']}; licence: MIT",
    ]
    bench = invoke("wikibio", "--data", folder, "--methods", "ngram:maximum-1", "--json")
    assert json.loads(bench.stdout)["passages"] == 238


def test_rows_of_wikibio(homes, tmp_path):
    fetch(homes, "wikibio", "--data", tmp_path)
    home = wikibio_rows()[237]
    assert rows_in(tmp_path / "wikibio_gpt3.jsonl")[237] == {
        "id": 237,
        "wiki_bio_test_idx": 7 * 237,
        "passage": home["gpt3_text"],
        "sentences": home["gpt3_sentences"],
        "labels": ["accurate", "minor_inaccurate"],
        "samples": home["gpt3_text_samples"],
        "reference": "ada 237 was a person .",
    }


def test_rows_of_phd(homes, tmp_path):
    fetch(homes, "phd", "--data", tmp_path)
    rows = rows_in(tmp_path / "phd.jsonl")
    assert [row["domain"] for row in rows] == ["medium"] * 100 + ["low"] * 100 + ["high"] * 100
    assert rows[103] == {
        "id": 103,
        "entity": "wiki_10w 3",
        "domain": "low",
        "passage": "wiki_10w 3 is a thing.",
        "label": "non-factual",
        "wrong_part": 1479,
        "samples": ["wiki_10w 3!", "A.", "B."],
    }


def test_rows_of_shroom(homes, tmp_path):
    fetch(homes, "shroom", "--data", tmp_path)
    assert rows_in(tmp_path / "shroom_dev_agnostic.jsonl") == shroom_rows(499, "")
    assert rows_in(tmp_path / "shroom_dev_aware.jsonl") == shroom_rows(501, "some/model")


def test_rows_of_ragtruth(homes, tmp_path):
    fetch(homes, "ragtruth", "--data", tmp_path)
    rows = rows_in(tmp_path / "ragtruth.jsonl")
    assert rows[2] == {
        "id": "3",
        "task": "QA",
        "model": "some-model",
        "quality": "good",
        "question": "When did it open?",
        "references": ["It opened in 1932.", "It is long."],
        "response": f"It opened in 3. {ODD}",
        "labels": [{"start": 3, "end": 9, "label_type": "Evident Conflict"}],
    }
    assert [row["references"] for row in rows[:2]] == [
        [f"It opened. {ODD}"],
        ['{"name": "Café", "attributes": {"WiFi": null}}'],
    ]
    assert {row["question"] for row in rows[:2]} == {None}
    bench = invoke(
        "ragtruth", "--data", tmp_path, "--methods", "references", "--rows", ":4", "--json"
    )
    assert json.loads(bench.stdout)["responses"] == 4


class Table:
    """What pyarrow reads of a file: here its JSON."""

    def __init__(self, rows):
        self.rows = rows

    def to_pylist(self):
        return self.rows


AGGREFACT_ROWS = [
    {
        "dataset": ("Wice", "Lfqa")[i % 2],
        "doc": f"It opened in {i}.",
        "claim": "It opened.",
        "label": i % 2,
        "contamination_identifier": "…",
    }
    for i in range(29320)
]


@pytest.fixture
def parquet(monkeypatch):
    """Stands for pyarrow, which is big and no part of the checkout."""
    package, module = types.ModuleType("pyarrow"), types.ModuleType("pyarrow.parquet")
    module.read_table = lambda file: Table(json.loads(file.read()))
    monkeypatch.setitem(sys.modules, "pyarrow", package)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", module)


@pytest.mark.usefixtures("parquet")
def test_rows_of_aggrefact_come_only_where_it_is_named(homes, tmp_path):
    homes.serve(AGGREFACT.paths[0], Reply(AGGREFACT_ROWS))
    result = fetch(homes, "aggrefact", "--data", tmp_path)
    assert result.exit_code == 0, result.output
    assert "licence: CC-BY-ND-4.0; for evaluation only, never for training" in result.stdout
    assert rows_in(tmp_path / "aggrefact.jsonl")[:2] == AGGREFACT_ROWS[:2]
    bench = invoke(
        "aggrefact", "--data", tmp_path, "--methods", "references", "--rows", ":4", "--json"
    )
    assert json.loads(bench.stdout)["claims"] == 4


def test_a_gated_data_set_says_what_its_home_asks_for(homes, tmp_path):
    homes.serve(AGGREFACT.paths[0], Reply(status=401))
    error = failure(fetch(homes, "aggrefact", "--data", tmp_path))
    assert "answered 401" in error
    assert "agree to its conditions there, and set HF_TOKEN" in error


def test_a_parquet_file_needs_pyarrow(homes, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    homes.serve(AGGREFACT.paths[0], Reply([]))
    assert "`pip install pyarrow`" in failure(fetch(homes, "aggrefact", "--data", tmp_path))


def test_only_what_is_named_is_fetched_once(homes, tmp_path):
    result = fetch(homes, "phd", "phd", RESAY_DATA=str(tmp_path))
    assert result.exit_code == 0
    assert [p.name for p in tmp_path.iterdir()] == ["phd.jsonl"]
    assert {path: len(seen) for path, seen in homes.seen.items()} == {PHD_PATH: 1, SAMPLES_PATH: 1}


def test_a_file_that_is_there_is_kept(homes, tmp_path):
    (tmp_path / "shroom_dev_aware.jsonl").write_text("mine\n")
    (tmp_path / "phd.jsonl").write_text("mine too\n")
    result = fetch(homes, "phd", "shroom", "--data", tmp_path)
    assert result.exit_code == 0
    assert "phd.jsonl: kept; --force fetches it again\n" in result.stdout
    assert "shroom_dev_aware.jsonl: kept; --force fetches it again\n" in result.stdout
    assert (tmp_path / "phd.jsonl").read_text() == "mine too\n"
    assert (tmp_path / "shroom_dev_aware.jsonl").read_text() == "mine\n"
    assert len(rows_in(tmp_path / "shroom_dev_agnostic.jsonl")) == 499
    assert list(homes.seen) == [SHROOM_PATH]


def test_force_replaces_it(homes, tmp_path):
    (tmp_path / "phd.jsonl").write_text("mine\n")
    assert fetch(homes, "phd", "--data", tmp_path, "--force").exit_code == 0
    assert len(rows_in(tmp_path / "phd.jsonl")) == 300


def edited(rows, index, **changes):
    return [row | changes if i == index else row for i, row in enumerate(rows)]


LISTS = phd_lists()
LABEL = "should be 'accurate', 'minor_inaccurate' or 'major_inaccurate'"


@pytest.mark.parametrize(
    ("file", "reply", "message"),
    [
        ("rows", Reply(status=404), "answered 404 Not Found"),
        ("rows", Reply(status=503, headers=BUSY), "answered 503 Service Unavailable"),
        ("rows", Reply(status=204), "answered 204 No Content"),
        ("rows", Reply(wikibio_rows(), cut_at=99), "without sending complete message body"),
        ("rows", Reply(b"<html>Sign in</html>"), "Invalid JSON"),
        ("rows", Reply(json.dumps(wikibio_rows()).encode()[:-9]), "Invalid JSON"),
        ("rows", Reply({"rows": wikibio_rows()}), "Input should be a valid array"),
        ("rows", Reply(b"x" * (LIMIT_BYTES + 1)), "larger than 16 MiB"),
        ("rows", Reply(b"x" * (LIMIT_BYTES + 1), sized=False), "than 16 MiB"),
        (
            "rows",
            Reply(wikibio_rows(237)),
            "wikibio_gpt3.jsonl would have 237 rows; published are 238",
        ),
        (
            "rows",
            Reply(edited(wikibio_rows(), 3, annotation=["accurate", "sweet secret"])),
            "3.annotation.1: Input " + LABEL,
        ),
        (
            "rows",
            Reply(edited(wikibio_rows(), 3, annotation=["accurate"])),
            "3: Value error, 2 sentences have 1 labels",
        ),
        ("rows", Reply(edited(wikibio_rows(), 9, gpt3_text=None)), "9.gpt3_text: Input"),
        ("rows", Reply(edited(wikibio_rows(), 9, wiki_bio_test_idx="7")), "9.wiki_bio_test_idx: "),
        ("benchmark", Reply(phd_lists(99)), "phd.jsonl would have 297 rows; published are 300"),
        (
            "benchmark",
            Reply({"wiki_9z": LISTS["wiki_1y"]}),
            "'wiki_1000w', 'wiki_10w' or 'wiki_1y'",
        ),
        (
            "benchmark",
            Reply(LISTS | {"wiki_1y": edited(LISTS["wiki_1y"], 5, label="sour secret")}),
            "wiki_1y.5.label: Input should be 'factual' or 'non-factual'",
        ),
        ("samples", Reply(phd_samples(LISTS)[1:]), "has no samples for row 0 of the benchmark"),
        (
            "samples",
            Reply(edited(phd_samples(LISTS), 7, AI="Something else.")),
            "has no samples for row 7 of the benchmark",
        ),
        ("archive", Reply(b"<html>Sign in</html>"), "not a zip archive that can be read"),
        ("archive", Reply(shroom_zip()[:-9]), "not a zip archive that can be read"),
        (
            "archive",
            Reply(shroom_zip(val_model__aware_v2_json=shroom_rows(500, ""))),
            "shroom_dev_aware.jsonl would have 500 rows; published are 501",
        ),
        (
            "archive",
            Reply(shroom_zip(val_model__aware_v2_json=edited(shroom_rows(501, ""), 2, task="TS"))),
            "val.model-aware.v2.json.2.task: Input should be 'DM', 'MT' or 'PG'",
        ),
        (
            "responses",
            Reply(json_lines(responses(2699))),
            "ragtruth.jsonl would have 2699 rows; published are 2700",
        ),
        (
            "responses",
            Reply(json_lines(edited(responses(), 1, split="sour secret"))),
            "line 2.split: Input should be 'train' or 'test'",
        ),
        ("responses", Reply(b'{"id": '), "line 1: Invalid JSON"),
        ("sources", Reply(json_lines(SOURCES[:2])), "has no source for line 3 of the responses"),
        (
            "sources",
            Reply(json_lines(edited(SOURCES, 0, source_info="sour secret"))),
            "source 1 has no passages",
        ),
    ],
)
def test_what_is_not_the_data_set_changes_nothing(homes, tmp_path, file, reply, message):
    path = PATHS[file]
    homes.serve(path, reply)
    (dataset,) = [d for d in DATA_SETS if path in [p.partition("?")[0] for p in d.source.paths]]
    for name in dataset.files:
        (tmp_path / name).write_text("mine\n")
    error = failure(fetch(homes, dataset.name, "--data", tmp_path, "--force"))
    assert error.startswith(f"{dataset.name}: ")
    assert message in error
    assert f"{homes.url}{path}" in error
    assert f"--home {dataset.source.home}=URL" in error
    assert dataset.source.page in error
    assert not any(text in error for text in ("secret", "Traceback"))
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(dataset.files)
    assert {p.read_text() for p in tmp_path.iterdir()} == {"mine\n"}


def test_an_archive_without_the_file(homes, tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("../val.model-agnostic.json", "[]")
        archive.writestr("a/val.model-agnostic.json", "[]")
    homes.serve(SHROOM_PATH, Reply(buffer.getvalue()))
    error = failure(fetch(homes, "shroom", "--data", tmp_path / "data"))
    assert "the archive has 2 files named 'val.model-agnostic.json'" in error
    assert [p.name for p in tmp_path.rglob("*")] == ["data"]


def test_an_archive_that_unpacks_to_too_much(homes, tmp_path):
    homes.serve(SHROOM_PATH, Reply(shroom_zip(val_model__agnostic_json=" " * 2**24)))
    error = failure(fetch(homes, "shroom", "--data", tmp_path))
    assert "'val.model-agnostic.json' in it is larger than 16 MiB" in error


@pytest.mark.parametrize(
    "first",
    [
        Reply(status=500, headers=BUSY),
        Reply(status=429, headers=BUSY),
        Reply(wikibio_rows(), cut_at=50),
    ],
    ids=["500", "429", "broken off"],
)
def test_what_may_pass_is_tried_again(homes, tmp_path, first):
    homes.serve(WIKIBIO_PATH, first, Reply(wikibio_rows()))
    assert fetch(homes, "wikibio", "--data", tmp_path).exit_code == 0
    assert len(homes.seen[WIKIBIO_PATH]) == 2
    assert len(rows_in(tmp_path / "wikibio_gpt3.jsonl")) == 238


@pytest.mark.parametrize(("status", "requests"), [(404, 1), (403, 1), (502, 4), (429, 4)])
def test_how_often_it_is_tried(homes, tmp_path, status, requests):
    homes.serve(WIKIBIO_PATH, Reply(status=status, headers=BUSY))
    failure(fetch(homes, "wikibio", "--data", tmp_path))
    assert len(homes.seen[WIKIBIO_PATH]) == requests


def test_a_home_that_is_not_there(tmp_path):
    with HomeServer() as gone:
        url = gone.url
    error = failure(invoke("fetch", "phd", "--data", tmp_path, "--home", f"github={url}"))
    assert f"'{url}{PHD_PATH}': could not be read: " in error
    assert "check the network" in error


def test_one_that_fails_does_not_keep_the_others_away(homes, tmp_path):
    homes.serve(WIKIBIO_PATH, Reply(status=404))
    result = fetch(homes, "--data", tmp_path)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        FILES.keys() - {"wikibio_gpt3.jsonl"}
    )


def test_the_token_goes_to_the_endpoint_only(homes, tmp_path):
    mirrors = ["--home", f"github={homes.url}", "--home", f"google-drive={homes.url}"]
    with HomeServer() as hugging_face, HomeServer() as elsewhere:
        hugging_face.serve(
            WIKIBIO_PATH, Reply(status=307, headers={"location": "/api/resolve-cache/dataset.json"})
        )
        host = elsewhere.url.replace("127.0.0.1", "localhost")
        hugging_face.serve(
            "/api/resolve-cache/dataset.json",
            Reply(status=302, headers={"location": f"{host}/blob"}),
        )
        elsewhere.serve("/blob", Reply(wikibio_rows()))
        env = {"HF_ENDPOINT": f"{hugging_face.url}/", "HF_TOKEN": f" {SECRET}\n"}
        result = invoke("fetch", "--data", tmp_path, *mirrors, **env)
        assert result.exit_code == 0, result.output
        told = [h.get("authorization") for seen in hugging_face.seen.values() for h in seen]
        others = [h for s in (elsewhere, homes) for seen in s.seen.values() for h in seen]
    assert told == [f"Bearer {SECRET}"] * 2
    assert len(others) == 1 + 5
    assert not any("authorization" in headers for headers in others)
    assert SECRET not in result.output


def test_the_token_is_not_for_a_mirror(homes, tmp_path):
    endpoint = homes.url.replace("127.0.0.1", "localhost")
    assert fetch(homes, "wikibio", "--data", tmp_path, HF_ENDPOINT=endpoint, HF_TOKEN=SECRET)
    assert [h.get("authorization") for h in homes.seen[WIKIBIO_PATH]] == [None]


def test_a_redirect_that_never_ends(homes, tmp_path):
    homes.serve(WIKIBIO_PATH, Reply(status=302, headers={"location": WIKIBIO_PATH}))
    error = failure(fetch(homes, "wikibio", "--data", tmp_path))
    assert "redirects more than 5 times" in error
    assert len(homes.seen[WIKIBIO_PATH]) == 6


def test_bad_input_is_told_apart(tmp_path):
    unknown = invoke("fetch", "nonsense", "--data", tmp_path)
    assert unknown.exit_code == 2
    assert "unknown data set 'nonsense'; choose from wikibio, phd, shroom" in words(unknown.stderr)
    nowhere = invoke("fetch", "phd")
    assert nowhere.exit_code == 2
    assert "pass a folder, or set RESAY_DATA" in words(nowhere.stderr)
    (tmp_path / "file").write_text("")
    no_folder = invoke("fetch", "phd", "--data", tmp_path / "file")
    assert no_folder.exit_code == 2
    assert "cannot create" in words(no_folder.stderr)


def test_the_help_says_what_is_not_fetched():
    help_text = words(invoke("fetch", "--help").stdout)
    assert (
        "Recorded model answers (the files named recorded) are made locally and cannot be fetched"
        in help_text
    )


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process are POSIX")
def test_a_write_that_breaks_off_leaves_the_old_file(homes, tmp_path):
    (tmp_path / "phd.jsonl").write_text("mine\n")
    program = (
        "import resource, sys\n"
        "from resay.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "sys.argv = ['resay', 'bench', 'fetch', 'phd', '--force', *sys.argv[1:]]\n"
        "main()\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, "--data", tmp_path, "--home", f"github={homes.url}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1, result.stderr
    assert f"phd: cannot write to {str(tmp_path)!r}: File too large" in result.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["phd.jsonl"]
    assert (tmp_path / "phd.jsonl").read_text() == "mine\n"


def as_the_home_has_it(row):
    return {
        "gpt3_text": row["passage"],
        "wiki_bio_text": row["reference"],
        "gpt3_sentences": row["sentences"],
        "annotation": row["labels"],
        "wiki_bio_test_idx": row["wiki_bio_test_idx"],
        "gpt3_text_samples": row["samples"],
    }


def test_the_real_rows_survive_the_way_there_and_back(homes, tmp_path, data_dir):
    real = {name: rows_in(data_dir / name) for name in FILES if name != "ragtruth.jsonl"}
    names = {"medium": "wiki_1000w", "low": "wiki_10w", "high": "wiki_1y"}
    lists = {
        home: [
            {k: row[k] for k in ("entity", "label", "wrong_part")} | {"AI": row["passage"]}
            for row in real["phd.jsonl"]
            if row["domain"] == domain
        ]
        for domain, home in names.items()
    }
    samples = [
        {"entity": row["entity"], "AI": row["passage"], "samples_text": row["samples"]}
        for row in real["phd.jsonl"]
    ]
    archive = shroom_zip(
        val_model__agnostic_json=real["shroom_dev_agnostic.jsonl"],
        val_model__aware_v2_json=real["shroom_dev_aware.jsonl"],
    )
    homes.serve(WIKIBIO_PATH, Reply([as_the_home_has_it(r) for r in real["wikibio_gpt3.jsonl"]]))
    homes.serve(PHD_PATH, Reply(lists))
    homes.serve(SAMPLES_PATH, Reply(samples))
    homes.serve(SHROOM_PATH, Reply(archive))
    result = fetch(homes, "--data", tmp_path)
    assert result.exit_code == 0, result.stderr
    for row in real["wikibio_gpt3.jsonl"]:
        del row["concept"], row["prompt"]
    assert {name: rows_in(tmp_path / name) for name in real} == real
