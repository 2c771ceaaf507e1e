from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as openmetrics_families,
)
from prometheus_client.parser import text_string_to_metric_families as text_families

from resay import Answer, MissingDependencyError, Usage, Verdict, __version__
from resay_server.gateway import GatewayConfig, Observation
from resay_server.gateway.logs import one_line
from resay_server.gateway.metrics import Metrics, Readings
from support.journal import SECRETS, make_verdict, repaired

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "operating.md").read_text()
OPEN = "application/openmetrics-text; version=1.0.0"
GATEWAY = "resay_gateway_"
LABELS = {
    *("action", "api", "code", "decision", "kind", "le", "method", "model"),
    *("part", "policy", "status", "stream", "version"),
}
FLAGGED = Answer(
    "",
    "",
    "annotate",
    make_verdict("flagged", repaired(0)),
    make_verdict().usage + Usage(1, 10, 4, 0.5),
)
ANY = st.text(st.characters(), max_size=200) | st.sampled_from(
    ['a"b', "a\nb", "a\\b", "\\", '\\"', "\\n", "a\n# EOF\nb", "\r", "\u2028", "\ud800", '",le="1']
)


def seen(**told: Any) -> Observation:
    known = {
        "request_id": "req-7",
        "api": "chat",
        "model": "m",
        "policy": "strict",
        "tenant": "zqtenantzq",
        "client": "zqclientzq",
        "stream": False,
        "status": 200,
        "answers": (FLAGGED,),
        "question": SECRETS[0],
        "request": {"messages": [{"content": SECRETS[0]}]},
        "elapsed_s": 1.25,
        "complete": True,
    }
    return Observation(**(known | told))


def told_by(metrics: Metrics) -> dict[str, float]:
    """Return what the gateway's metrics say, by name and labels in the order of their names."""
    body, _ = metrics.render()
    samples = [s for family in text_families(body.decode()) for s in family.samples]
    return {
        "".join([s.name.removeprefix(GATEWAY), *(f" {v}" for _, v in sorted(s.labels.items()))]): (
            s.value
        )
        for s in samples
        if s.name.startswith(GATEWAY)
    }


def observed(*observations: Observation) -> dict[str, float]:
    metrics = Metrics()
    for observation in observations:
        metrics.observe(observation)
    return told_by(metrics)


def test_a_flagged_answer_is_counted() -> None:
    told = observed(seen(), seen(stream=True))
    # action, api, decision, policy, status, stream
    assert told["requests_total annotate chat flagged strict 2xx false"] == 1
    assert told["requests_total annotate chat flagged strict 2xx true"] == 1
    assert told["request_duration_seconds_count chat strict false"] == 1
    assert told["request_duration_seconds_sum chat strict false"] == 1.25
    assert told["request_duration_seconds_bucket chat 1.0 strict false"] == 0
    assert told["request_duration_seconds_bucket chat 2.5 strict false"] == 1
    assert told["check_duration_seconds_sum strict"] == 1
    assert told["score_bucket 0.7 strict"] == 0
    assert told["score_bucket 0.8 strict"] == 2
    assert told["sentences_total strict"] == told["flagged_sentences_total strict"] == 2
    assert told["verdicts_total flagged m"] == 2
    assert told["samples_total m"] == 10


def test_what_the_call_and_the_check_cost_is_told_apart() -> None:
    told = observed(seen())
    assert told["calls_total m main"] == 1
    assert told["calls_total m check"] == 5
    assert told["tokens_total prompt m main"] == 10
    assert told["tokens_total completion m main"] == 4
    assert told["tokens_total prompt m check"] == 50
    assert told["tokens_total completion m check"] == 25
    assert told["cost_usd_total m main"] == 0.5
    assert told["cost_usd_total m check"] == 0.25
    assert not [name for name in told if name.startswith("unpriced")]


def test_a_cost_that_is_not_known_is_counted_apart() -> None:
    verdict = Verdict("consistent", 0.0, "", usage=Usage(3, 5, 5, None))
    answer = Answer("", "", "allow", verdict, Usage(4, 6, 6, None))
    told = observed(seen(answers=(answer,)))
    assert told["unpriced_calls_total m main"] == 1
    assert told["unpriced_calls_total m check"] == 3
    assert not [name for name in told if name.startswith("cost_usd")]


@pytest.mark.parametrize("amount", [-1, 10**400, float("nan"), float("inf")])
def test_what_no_provider_should_say_spoils_nothing(amount: Any) -> None:
    verdict = Verdict("consistent", 0.0, "", usage=Usage(1, amount, 2, 0.5))
    answer = Answer("", "", "allow", verdict, verdict.usage + Usage(1, 1, 1, 0.5))
    told = observed(seen(answers=(answer,)), seen())
    assert told["tokens_total prompt m check"] == 50
    assert told["tokens_total completion m check"] == 27


def test_each_of_several_answers_is_counted_and_the_gravest_stands_for_all() -> None:
    fine = Answer("", "", "allow", Verdict("consistent", 0.1, ""))
    told = observed(seen(answers=(fine, FLAGGED, fine)))
    assert told["requests_total annotate chat flagged strict 2xx false"] == 1
    assert told["verdicts_total consistent m"] == 2
    assert told["verdicts_total flagged m"] == 1
    assert told["score_count strict"] == 3


def test_a_skipped_answer_has_no_check_that_took_time() -> None:
    skipped = Answer("", "", "allow", Verdict("skipped", None, "a tool call"))
    told = observed(seen(answers=(skipped,)))
    assert told["requests_total allow chat skipped strict 2xx false"] == 1
    assert "check_duration_seconds_count strict" not in told
    assert "score_count strict" not in told


def test_what_has_no_verdict_is_counted_too() -> None:
    gone = seen(answers=(), status=499, complete=False)
    crowded = seen(answers=(), unguarded=True, model=None)
    told = observed(gone, crowded)
    assert told["requests_total none chat none strict 4xx false"] == 1
    assert told["requests_total unguarded chat none strict 2xx false"] == 1
    assert told["incomplete_total"] == told["unguarded_total"] == told["overloads_total"] == 1


def test_what_alerts_look_at_is_there_from_the_beginning() -> None:
    told = observed()
    assert told["incomplete_total"] == told["unguarded_total"] == told["overloads_total"] == 0


def test_refusals_are_counted_by_their_code() -> None:
    metrics = Metrics()
    for code in ("overloaded", "invalid_api_key", "overloaded"):
        metrics.count_refused(code)
    told = told_by(metrics)
    assert told["errors_total overloaded"] == told["overloads_total"] == 2
    assert told["errors_total invalid_api_key"] == 1


def test_requests_that_are_passed_on_are_counted() -> None:
    metrics = Metrics()
    for method, status in (("GET", 200), ("GET", 204), ("BREW", 418)):
        metrics.count_passed(method, status, 0.3)
    told = told_by(metrics)
    assert told["passed_total GET 2xx"] == 2
    assert told["passed_total other 4xx"] == 1
    assert told["passed_duration_seconds_bucket 0.25"] == 0
    assert told["passed_duration_seconds_bucket 0.5"] == 3


def test_what_is_read_is_read_when_somebody_asks() -> None:
    now = {"guarded": 3, "lost": 0}
    readings = Readings(
        guarded=lambda: now["guarded"],
        waiting=lambda: 1,
        journal_lost=lambda: now["lost"],
        reload_succeeded=lambda: False,
        reloaded_at=lambda: 1_700_000_000.5,
    )
    metrics = Metrics(readings)
    told = told_by(metrics)
    now |= {"guarded": 2, "lost": 7}
    later = told_by(metrics)
    assert (told["guarded_requests"], later["guarded_requests"]) == (3, 2)
    assert (told["journal_lost_entries_total"], later["journal_lost_entries_total"]) == (0, 7)
    assert told["waiting_requests"] == 1
    assert told["policies_last_reload_successful"] == 0
    assert told["policies_last_reload_success_timestamp_seconds"] == 1_700_000_000.5


def test_several_gateways_do_not_clash() -> None:
    one, other = Metrics(), Metrics()
    one.observe(seen())
    assert "calls_total m main" in told_by(one)
    assert "calls_total m main" not in told_by(other)


def test_only_so_many_models_are_told_apart() -> None:
    refused = [seen(model=f"made-up-{i}", answers=(), status=404) for i in range(300)]
    known = [seen(model=f"model-{i}") for i in range(300)]
    told = observed(*refused, *known, seen(model="model-7"), seen(model=None))
    models = {name.split()[1] for name in told if name.startswith("samples_total")}
    assert models == {*(f"model-{i}" for i in range(100)), "other", "none"}
    assert told["samples_total model-7"] == 10
    assert told["samples_total other"] == 1000


def test_the_names_of_models_are_cut() -> None:
    told = observed(seen(model="m" * 10_000))
    (name,) = (name.split()[1] for name in told if name.startswith("samples_total"))
    assert len(name) == 128


def test_nothing_of_what_was_said_is_told() -> None:
    metrics = Metrics()
    metrics.observe(seen())
    body = metrics.render()[0].decode() + metrics.render(OPEN)[0].decode()
    assert not [s for s in (*SECRETS, "zqtenantzq", "zqclientzq", "req-7") if s in body]
    labels = {
        name
        for f in text_families(metrics.render()[0].decode())
        for s in f.samples
        for name in s.labels
    }
    assert labels <= LABELS


@given(st.lists(st.tuples(ANY, ANY, ANY), min_size=1, max_size=5))
def test_any_label_is_well_formed(names: list[tuple[str, str, str]]) -> None:
    metrics = Metrics()
    for model, policy, code in names:
        metrics.observe(seen(model=model, policy=policy))
        metrics.count_refused(code)
    text, _ = metrics.render()
    opened, _ = metrics.render(OPEN)
    for families in (text_families(text.decode()), openmetrics_families(opened.decode())):
        samples = [s for family in families for s in family.samples]
        calls = [s for s in samples if s.name == f"{GATEWAY}samples_total"]
        assert {s.labels["model"] for s in calls} == {one_line(m, 128) for m, _, _ in names}
        assert sum(s.value for s in calls) == 5 * len(names)
        requests = [s for s in samples if s.name == f"{GATEWAY}requests_total"]
        assert {s.labels["policy"] for s in requests} == {one_line(p, 128) for _, p, _ in names}
        assert sum(s.value for s in requests) == len(names)


def test_the_format_is_the_one_that_is_asked_for() -> None:
    metrics = Metrics()
    text, text_type = metrics.render(None)
    opened, opened_type = metrics.render(f"{OPEN};q=0.9,text/plain;version=0.0.4;q=0.5")
    assert text_type.startswith("text/plain; version=0.0.4")
    assert opened_type.startswith("application/openmetrics-text; version=1.0.0")
    assert opened.endswith(b"# EOF\n")
    assert not text.endswith(b"# EOF\n")


@given(st.text(max_size=60) | st.text("application/openmetrics-text;version=.01, *q", max_size=80))
def test_nothing_that_is_asked_for_breaks_it(accept: str) -> None:
    for asked in (accept, f"application/openmetrics-text;version={accept}"):
        body, media_type = Metrics().render(asked)
        assert body.startswith(b"# HELP")
        assert media_type.split(";")[0] in ("text/plain", "application/openmetrics-text")


def test_when_a_series_began_is_left_out() -> None:
    metrics = Metrics()
    metrics.observe(seen())
    for asked in (None, OPEN):
        assert b"_created" not in metrics.render(asked)[0]


def test_the_version_and_the_process_are_told() -> None:
    body = Metrics().render()[0].decode()
    assert f'resay_gateway_info{{version="{__version__}"}} 1.0' in body
    if sys.platform == "linux":
        assert "process_resident_memory_bytes" in body


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    monkeypatch.delitem(sys.modules, "resay_server.gateway")
    with pytest.raises(MissingDependencyError, match=r"resay\[server\]"):
        import_module("resay_server.gateway")


def every_name() -> set[str]:
    """Return the names of all the gateway's metrics, as they are asked for."""
    metrics = Metrics(
        Readings(
            guarded=int,
            waiting=int,
            journal_lost=int,
            reload_succeeded=bool,
            reloaded_at=float,
            state_degraded=bool,
            state_members=int,
            policy_versions=int,
        )
    )
    families = text_families(metrics.render()[0].decode())
    return {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in families
        if family.name.startswith(GATEWAY)
    }


def test_the_page_names_all_metrics_and_no_others() -> None:
    named = set(re.findall(r"\bresay_gateway_\w+", PAGE))
    histograms = re.compile(r"_(bucket|sum|count)$")
    assert {histograms.sub("", name) for name in named} == every_name()


def test_the_gateway_file_of_the_page_is_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "SEARCH_TEAM_KEY", "RESAY_OPERATOR_KEY"):
        monkeypatch.setenv(name, "k" * 16)
    (block,) = re.findall(r"^```yml\n# /etc/resay/gateway.yaml\n(.*?)^```", PAGE, re.M | re.S)
    file = tmp_path / "gateway.yaml"
    file.write_text(block)
    config = GatewayConfig.load(file)
    assert config.journal
    assert config.operator_key
