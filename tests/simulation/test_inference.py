from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from resay.errors import ConfigurationError
from simulation import Hang, MalformedJson, RateLimited, Refused, SimulatedInference
from simulation.inference import entailment

PAIR = ["The bridge opened in 1932.", "The bridge opened in 1871."]
LABELS = ("contradiction", "entailment", "neutral")


@pytest.fixture
def tei() -> Iterator[SimulatedInference]:
    with SimulatedInference() as server:
        yield server


@pytest.fixture
def vllm() -> Iterator[SimulatedInference]:
    with SimulatedInference(api="vllm") as server:
        yield server


def post(server: SimulatedInference, path: str, body: Any, **how: Any) -> httpx.Response:
    # Loading the certificates takes longer than the request, which needs none.
    return httpx.post(server.url + path, json=body, verify=False, **how)


def get(server: SimulatedInference, path: str) -> Any:
    return httpx.get(server.url + path, verify=False).json()


@pytest.mark.parametrize(
    ("hypothesis", "likeliest"),
    [
        ("The bridge opened in 1932.", "entailment"),
        ("The bridge opened in 1871.", "contradiction"),
        ("The bridge never opened in 1932.", "contradiction"),
        ("Bananas are yellow.", "neutral"),
        ("Bananas grew in 1871.", "neutral"),
    ],
)
def test_words_decide_what_follows(hypothesis: str, likeliest: str) -> None:
    found = entailment("The bridge opened in 1932.", hypothesis)
    assert max(found, key=lambda label: found[label]) == likeliest
    assert sum(found.values()) == pytest.approx(1.0)


def test_a_plain_list_of_two_texts_is_one_pair(tei: SimulatedInference) -> None:
    plain = post(tei, "/predict", {"inputs": PAIR}).json()
    listed = post(tei, "/predict", {"inputs": [PAIR]}).json()
    assert [plain] == listed
    assert [row["label"] for row in plain] == ["contradiction", "entailment", "neutral"]
    assert plain[0]["score"] > 0.9


def test_labels_are_sorted_by_score(tei: SimulatedInference) -> None:
    rows = post(tei, "/predict", {"inputs": [[PAIR[0], PAIR[0]], PAIR]}).json()
    assert [row[0]["label"] for row in rows] == ["entailment", "contradiction"]
    for row in rows:
        assert [r["score"] for r in row] == sorted((r["score"] for r in row), reverse=True)


def test_raw_scores_are_logits(tei: SimulatedInference) -> None:
    raw = post(tei, "/predict", {"inputs": [PAIR], "raw_scores": True}).json()[0]
    assert sum(row["score"] for row in raw) < 0


def test_says_what_it_is(tei: SimulatedInference, vllm: SimulatedInference) -> None:
    info = get(tei, "/info")
    names = {"0": "contradiction", "1": "entailment", "2": "neutral"}
    assert info["model_type"]["classifier"]["id2label"] == names
    assert (info["max_input_length"], info["max_client_batch_size"]) == (512, 32)
    assert [model["id"] for model in get(vllm, "/v1/models")["data"]] == ["simulated"]
    with SimulatedInference(serves="embedder") as server:
        assert get(server, "/info")["model_type"] == {"embedding": {"pooling": "mean"}}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/predict", {"inputs": [PAIR] * 33}, 413),
        ("/predict", {"inputs": [["w " * 600, "x"]]}, 413),
        ("/predict", {"inputs": [["", ""]]}, 413),
        ("/predict", {"inputs": []}, 422),
        ("/predict", {"inputs": [["a", "b", "c"]]}, 422),
        ("/predict", {"inputs": 7}, 422),
        ("/embed", {"inputs": ["x"]}, 424),
        ("/tokenize", {"inputs": ["x"] * 33}, 413),
        ("/nothing", {}, 404),
        ("/info", {}, 405),
    ],
)
def test_refuses_what_the_server_refuses(
    tei: SimulatedInference, path: str, body: Any, status: int
) -> None:
    response = post(tei, path, body)
    assert response.status_code == status
    assert response.json()["error"]
    assert tei.requests[-1].status == status


def test_cuts_only_when_told(tei: SimulatedInference) -> None:
    long = {"inputs": [["w " * 600, "x"]], "truncate": True}
    response = post(tei, "/predict", long)
    assert response.status_code == 200
    assert response.headers["x-compute-tokens"] == "512"


def test_tokens_have_offsets_and_special_ones_are_marked(tei: SimulatedInference) -> None:
    (tokens,) = post(tei, "/tokenize", {"inputs": "Good day."}).json()
    assert [token["special"] for token in tokens] == [True, False, False, False, True]
    assert [(t["start"], t["stop"]) for t in tokens[1:-1]] == [(0, 4), (5, 8), (8, 9)]
    bare = {"inputs": ["Good day."], "add_special_tokens": False}
    assert len(post(tei, "/tokenize", bare).json()[0]) == 3


def test_embeds() -> None:
    with SimulatedInference(serves="embedder", dimensions=8) as server:
        unit, same = post(server, "/embed", {"inputs": ["good day", "good day"]}).json()
        (plain,) = post(server, "/embed", {"inputs": "good day", "normalize": False}).json()
        (rows,) = post(server, "/embed_all", {"inputs": ["good day"]}).json()
    assert unit == same
    assert sum(x * x for x in unit) == pytest.approx(1.0)
    assert len(rows) == 4
    assert plain == pytest.approx([sum(column) / 4 for column in zip(*rows, strict=True)])


def test_embeds_with_an_embedder_of_ones_own() -> None:
    def embed(word: str) -> list[float]:
        return [1.0, 0.0] if word == "day" else [0.0, 0.0]

    with SimulatedInference(serves="embedder", dimensions=2, embed=embed) as server:
        (rows,) = post(server, "/embed_all", {"inputs": ["good day"]}).json()
    assert rows == [[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]


def test_vllm_reads_a_joined_pair(vllm: SimulatedInference) -> None:
    body = {"model": "simulated", "input": ["</s></s>".join(PAIR), "</s></s>".join(PAIR[:1] * 2)]}
    answer = post(vllm, "/classify", body).json()
    rows = sorted(answer["data"], key=lambda row: row["index"])
    assert [row["label"] for row in rows] == ["contradiction", "entailment"]
    assert [row["num_classes"] for row in rows] == [3, 3]
    found = entailment(*PAIR)
    assert rows[0]["probs"] == pytest.approx([found[label] for label in LABELS])


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/classify", {"model": "other", "input": "x"}, 404),
        ("/classify", {"input": "w " * 600}, 400),
        ("/classify", {"input": ""}, 400),
        ("/v1/embeddings", {"input": ["x"]}, 424),
        ("/predict", {"inputs": "x"}, 404),
    ],
)
def test_vllm_refuses(vllm: SimulatedInference, path: str, body: Any, status: int) -> None:
    response = post(vllm, path, body)
    assert response.status_code == status
    assert response.json()["error"]["code"] == status


def test_vllm_counts_tokens(vllm: SimulatedInference) -> None:
    body = {"prompt": "Good day.", "add_special_tokens": False}
    assert post(vllm, "/tokenize", body).json()["count"] == 3
    assert post(vllm, "/tokenize", {"prompt": "Good day."}).json()["count"] == 5


def test_serves_a_model_of_the_users_own() -> None:
    asked: list[list[tuple[str, str]]] = []

    def model(pairs: Any) -> list[list[float]]:
        asked.append(list(pairs))
        return [[0.25, 0.75] for _ in pairs]

    with SimulatedInference(labels=["no", "yes"], classify=model) as server:
        (row,) = post(server, "/predict", {"inputs": [["a", "b"]]}).json()
    assert row == [{"label": "yes", "score": 0.75}, {"label": "no", "score": 0.25}]
    assert asked == [[("a", "b")]]


@pytest.mark.parametrize(("api", "status"), [("tei", 424), ("vllm", 500)])
def test_a_model_that_fails_fails_the_request(api: Any, status: int) -> None:
    def model(pairs: Any) -> list[list[float]]:
        raise ZeroDivisionError(str(pairs))

    with SimulatedInference(api=api, classify=model) as server:
        path, key = ("/predict", "inputs") if api == "tei" else ("/classify", "input")
        response = post(server, path, {key: "secret"})
    assert response.status_code == status
    assert "secret" not in response.text


def test_fails_on_command_where_the_model_is_asked(tei: SimulatedInference) -> None:
    tei.set_faults(RateLimited(first=1, retry_after_s=0), Refused(status=424, first=1))
    post(tei, "/tokenize", {"inputs": "x"})
    get(tei, "/info")
    answers = [post(tei, "/predict", {"inputs": "x"}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [429, 424, 200]
    assert answers[0].headers["retry-after"] == "0"
    assert [r.fault for r in tei.requests_to("/predict")] == ["RateLimited", "Refused", None]

    tei.set_faults(MalformedJson())
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        post(tei, "/predict", {"inputs": "x"}).json()


def test_hangs_until_released(tei: SimulatedInference) -> None:
    tei.set_faults(Hang())
    with pytest.raises(httpx.ReadTimeout):
        post(tei, "/predict", {"inputs": "x"}, timeout=0.1)
    tei.wait_calls(1, path="/predict")
    tei.wait_idle()
    with pytest.raises(TimeoutError):
        tei.wait_calls(9, timeout_s=0.01)


def test_asks_for_its_key_and_forgets_it() -> None:
    with SimulatedInference(api_key="k-secret") as server:
        for key, status in ((None, 401), ("k-other", 401), ("k-secret", 200)):
            headers = {"authorization": f"Bearer {key}"} if key else {}
            got = post(server, "/predict", {"inputs": "x"}, headers=headers)
            assert got.status_code == status
        assert not any("authorization" in record.headers for record in server.requests)


def test_starts_and_stops() -> None:
    server = SimulatedInference()
    with pytest.raises(ConfigurationError, match="does not run"):
        _ = server.url
    with server:
        with pytest.raises(ConfigurationError, match="runs already"):
            server.start()
        post(server, "/predict", {"inputs": "x"})
    server.stop()
    assert [record.path for record in server.requests] == ["/predict"]
    with server:
        assert post(server, "/predict", {"inputs": "x"}).status_code == 200


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"api": "ollama"}, "api is 'ollama'; give 'tei' or 'vllm'"),
        ({"serves": "llm"}, "serves is 'llm'"),
        ({"labels": ["yes"]}, "labels has 'yes' in it"),
        ({"max_items": 0}, "give at least 1, 1 and 4"),
        ({"max_tokens": 3}, "give at least 1, 1 and 4"),
        ({"faults": ["429"]}, "not a fault: '429'"),
    ],
)
def test_refuses_what_it_cannot_serve(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        SimulatedInference(**settings)


@pytest.mark.parametrize("order", list(itertools.permutations(LABELS)))
def test_any_order_of_labels(order: tuple[str, ...]) -> None:
    with SimulatedInference(labels=order) as server:
        (row,) = post(server, "/predict", {"inputs": [PAIR]}).json()
        assert row[0]["label"] == "contradiction"
        info = get(server, "/info")["model_type"]["classifier"]["label2id"]
    assert info == {label: number for number, label in enumerate(order)}
