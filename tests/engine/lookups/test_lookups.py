"""Look-ups of an answer's names, at registries of the real shapes."""

from __future__ import annotations

from typing import Any

import pytest

from resay import Guard, PolicyError, Request, Verdict
from resay.engine.lookups import public_links
from resay.errors import ConfigurationError
from resay.testing import ScriptedProvider
from support.registries import Registries
from support.writing import Server, ask

FACT = "It opened in 1932."
INSTALL = "```bash\npip install requests fastjsonx\nnpm i react @acme/left-padder\n```"
EXISTING = {"/simple/requests/", "/react", "/works/10.1038%2Fnature12373/agency"}


def checked(registries: Registries, answer: str, **changes: Any) -> Verdict:
    return guard_of(registries, **changes).check(answer, samples=[FACT] * 3)


def guard_of(registries: Registries, **changes: Any) -> Guard:
    return Guard({"chain": ["facts"], "lookups": {**registries.lookups, **changes}})


def record(verdict: Verdict) -> Any:
    return verdict.steps[-1]


def test_what_does_not_exist_is_flagged(registries: Registries) -> None:
    registries.existing |= EXISTING
    answer = f"{FACT} See doi:10.1234/abc and doi:10.1038/nature12373.\n\n{INSTALL}"
    verdict = checked(registries, answer)
    assert verdict.decision == "flagged"
    assert verdict.reason.startswith("1 DOI and 2 packages of 6 looked up do not exist; ")
    in_code = {answer[c.start : c.end]: c for c in verdict.flagged_names}
    assert in_code.keys() == {"fastjsonx", "@acme/left-padder"}
    claim = in_code["fastjsonx"]
    assert (claim.by, claim.band, claim.score) == ("lookups", "contradicted", 1.0)
    assert claim.reason == "this package does not exist (pypi: 404)"
    assert claim.text == "The code installs the package fastjsonx."
    (sentence,) = verdict.flagged_sentences
    assert sentence.by == "lookups"
    assert sentence.reason == "this DOI does not exist (crossref: 404)"
    assert not verdict.sentences[0].flagged
    assert (record(verdict).method, record(verdict).failures) == ("lookups", {})
    assert Verdict.from_json(verdict.to_json()) == Verdict.from_dict(verdict.to_dict())


def test_the_words_that_name_it_are_a_part_of_their_claim(registries: Registries) -> None:
    answer = "It opened in 1932 (doi:10.1234/abc)."
    (claim,) = checked(registries, answer).flagged_claims
    (part,) = claim.flagged_parts
    assert answer[part.start : part.end] == "10.1234/abc"
    assert (part.kind, part.band) == ("link", "contradicted")


def test_what_exists_changes_nothing(registries: Registries) -> None:
    registries.existing |= EXISTING
    verdict = checked(registries, f"{FACT} See 10.1038/nature12373. Run `pip install requests`.")
    alone = Guard({"chain": ["facts"]}).check(verdict_text(verdict), samples=[FACT] * 3)
    assert (verdict.decision, verdict.score, verdict.reason) == (
        *(alone.decision, alone.score, alone.reason),
    )
    assert record(verdict).failures == {}
    assert record(verdict).verdict_reason is None


def verdict_text(verdict: Verdict) -> str:
    return " ".join(sentence.text for sentence in verdict.sentences)


def test_an_answer_that_is_only_code_is_looked_up_too(registries: Registries) -> None:
    verdict = checked(registries, "```sh\npip install fastjsonx\n```")
    assert verdict.decision == "flagged"
    assert [claim.text for claim in verdict.flagged_names] == [
        "The code installs the package fastjsonx."
    ]


@pytest.mark.parametrize("status", [400, 401, 403, 405, 410, 429, 500, 503])
def test_only_a_404_says_that_it_does_not_exist(registries: Registries, status: int) -> None:
    registries.statuses["/simple/fastjsonx/"] = status
    verdict = checked(registries, "```sh\npip install fastjsonx\n```")
    assert verdict.decision == "skipped"
    assert record(verdict).failures == {f"not checked: status {status}": 1}


def test_no_answer_in_time_says_nothing(registries: Registries) -> None:
    registries.slow_s = 0.5
    verdict = checked(registries, "```sh\npip install fastjsonx\n```", timeout_s=0.05)
    assert not verdict.flagged
    assert record(verdict).failures == {"not checked: no answer within 0.05 s": 1}


def test_a_registry_that_is_not_there_says_nothing(registries: Registries) -> None:
    packages = {"pypi": "http://127.0.0.1:9/simple"}
    verdict = checked(registries, "```sh\npip install fastjsonx\n```", packages=packages)
    assert not verdict.flagged
    assert record(verdict).failures == {"not checked: ConnectError": 1}


def test_nothing_but_the_name_is_sent(registries: Registries) -> None:
    checked(registries, f"A secret word. {FACT}\n\n{INSTALL}")
    paths = {"/simple/requests/", "/simple/fastjsonx/", "/react", "/@acme%2Fleft-padder"}
    assert sorted(registries.paths) == sorted(paths)
    for method, path, headers, body in registries.requests:
        assert (method, body) == ("GET", b"")
        assert "secret" not in path + repr(headers)
        assert headers["user-agent"].startswith("resay/")
        assert not headers.keys() & {"cookie", "authorization", "referer"}


@pytest.mark.parametrize(
    ("address", "path"),
    [("/simple", "/simple/zope-interface/"), ("/pypi", "/pypi/zope-interface/json")],
)
def test_an_index_is_asked_by_either_of_its_apis(
    registries: Registries, address: str, path: str
) -> None:
    packages = {"pypi": registries.url + address}
    checked(registries, "```sh\npip install Zope.Interface\n```", packages=packages)
    assert registries.paths == [path]


def test_what_was_learnt_is_remembered(registries: Registries) -> None:
    registries.existing |= EXISTING
    guard = guard_of(registries)
    for _ in range(3):
        assert guard.check(INSTALL, samples=[FACT] * 3).flagged
    assert len(registries.requests) == 4


def test_and_forgotten_in_time(registries: Registries) -> None:
    guard = guard_of(registries, cache_s=0)
    for _ in range(2):
        assert guard.check("`pip install fastjsonx`", samples=[FACT] * 3).flagged
    registries.existing.add("/simple/fastjsonx/")
    assert record(guard.check("`pip install fastjsonx`", samples=[FACT] * 3)).score is None
    assert len(registries.requests) == 3


def test_what_was_not_learnt_is_asked_again(registries: Registries) -> None:
    registries.statuses["/simple/fastjsonx/"] = 503
    guard = guard_of(registries)
    assert not guard.check("```sh\npip install fastjsonx\n```", samples=[FACT] * 3).flagged
    del registries.statuses["/simple/fastjsonx/"]
    assert guard.check("```sh\npip install fastjsonx\n```", samples=[FACT] * 3).flagged


def test_look_ups_are_limited(registries: Registries) -> None:
    registries.slow_s = 0.02
    answer = "```sh\npip install " + " ".join(f"lib{n}" for n in range(9)) + "\n```"
    verdict = checked(registries, answer, per_answer=6, concurrency=2)
    assert len(registries.requests) == 6
    assert registries.most_at_once <= 2
    assert record(verdict).failures == {"not checked: too many of them": 3}


def test_nothing_is_looked_up_unless_the_policy_says_so(registries: Registries) -> None:
    assert Guard({"chain": ["facts"]}).policy.lookups is None
    off = {"packages": [], "doi": []}
    verdict = checked(registries, f"{FACT} See 10.1234/abc.\n\n{INSTALL}", **off)
    assert registries.requests == []
    assert [step.method for step in verdict.steps] == ["facts"]


@pytest.mark.parametrize("when", [{"min_chars": 5000}, {"checkable": True}])
def test_an_answer_that_the_policy_does_not_check_is_not_looked_up(
    registries: Registries, when: dict[str, Any]
) -> None:
    policy = {"chain": ["facts"], "lookups": registries.lookups, "when": when}
    assert Guard(policy).check(INSTALL, samples=[FACT] * 3).skipped
    assert registries.requests == []


@pytest.mark.parametrize("exists", [True, False])
def test_a_repaired_answer_is_looked_up_too(registries: Registries, exists: bool) -> None:
    if exists:
        registries.existing.add("/works/10.1234%2Fnew/agency")

    def written(request: Request) -> str:
        if request.question != "How?":
            return "1: It is described in 10.1234/new."
        return f"{FACT} It is described in 10.1234/{'new' if request.varied else 'old'}."

    policy = {
        "chain": ["facts"],
        "lookups": registries.lookups,
        "action": {"do": "regenerate", "from": "samples"},
    }
    guard = Guard(policy, model="m", provider=ScriptedProvider(written))
    with guard.stream("How?") as stream:
        text = "".join(chunk.text for chunk in stream)
    verdict = stream.answer.verdict
    assert verdict.regenerated
    assert text == f"{FACT} It is described in 10.1234/new."
    assert verdict.flagged is not exists
    assert registries.paths == ["/works/10.1234%2Fold/agency", "/works/10.1234%2Fnew/agency"]


@pytest.mark.anyio
async def test_a_name_that_the_end_cuts_is_not_looked_up(registries: Registries) -> None:
    response = f"{FACT} Install it with `pip install fastjsonx`. See 10.1234/ab"
    server = Server(response, [FACT] * 3, finish_reason="length")
    verdict = (await ask(server, lookups=registries.lookups)).verdict
    assert verdict.flagged
    assert registries.paths == ["/simple/fastjsonx/"]


def test_a_held_stream_shows_nothing_before_the_look_ups(registries: Registries) -> None:
    answers = ScriptedProvider(lambda request: f"{FACT} Run `pip install fastjsonx`.")
    policy = {
        "chain": ["facts"],
        "lookups": registries.lookups,
        "action": {"do": "block", "message": "Withheld."},
    }
    with Guard(policy, model="m", provider=answers).stream("How?") as stream:
        text = "".join(chunk.text for chunk in stream)
    assert text == "Withheld."
    assert registries.paths == ["/simple/fastjsonx/"]


def test_the_addresses_may_be_those_of_the_package_managers(
    registries: Registries, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "NPM_CONFIG_REGISTRY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.delenv("npm_config_registry", raising=False)
    policy = {"chain": ["facts"], "lookups": {"packages": ["pypi", "npm"]}}
    with pytest.raises(ConfigurationError, match="without its address; set PIP_INDEX_URL"):
        Guard(policy)
    monkeypatch.setenv("PIP_INDEX_URL", f"{registries.url}/simple/")
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", f"{registries.url}/")
    assert Guard(policy).check(INSTALL, samples=[FACT] * 3).flagged
    assert len(registries.requests) == 4


@pytest.mark.parametrize(
    ("lookups", "message"),
    [
        ({"packages": ["pipy"]}, "unknown name; there are pypi, npm"),
        ({"packages": {"pypi": "127.0.0.1/simple"}}, "is not a URL"),
        ({"packages": 7}, "must be a list of pypi, npm, or a mapping to addresses"),
        ({"links": "get"}, "lookups.links"),
        ({"doi": "datacite"}, "unknown name; there are crossref"),
    ],
)
def test_a_mistaken_section_says_what_to_write(lookups: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Guard({"chain": ["facts"], "lookups": lookups})


def test_an_answer_is_not_lost_with_its_lookups(
    registries: Registries, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise ValueError(FACT)

    monkeypatch.setattr("resay.engine.lookups.Lookups.look_up", fail)
    verdict = checked(registries, f"{FACT} Run `pip install requests`.")
    assert verdict.sentences[0].score == 0.0
    assert (record(verdict).method, record(verdict).error) == ("lookups", "it failed (ValueError)")


# Links ------------------------------------------------------------------------------------------


@pytest.fixture
def only_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take 127.0.0.1 for public, and every host under acme.org for it."""
    monkeypatch.setattr(public_links, "is_public", lambda address: address == "127.0.0.1")

    async def resolve(host: str, port: int | None, **_: object) -> list[Any]:
        private = {"private.acme.org": "127.0.0.2", "10.0.0.8": "10.0.0.8"}
        if host == "nowhere.acme.org":
            raise OSError("no such host")
        return [(2, 1, 6, "", (private.get(host, "127.0.0.1"), port or 80))]

    monkeypatch.setattr(public_links.anyio, "getaddrinfo", resolve)


def links(registries: Registries, *paths: str, host: str = "acme.org") -> Verdict:
    port = registries.url.rpartition(":")[2]
    written = " ".join(f"See http://{host}:{port}{path} for it." for path in paths)
    return checked(registries, f"{FACT} {written}", links="head", packages=[], doi=[])


@pytest.mark.usefixtures("only_here")
def test_a_link_that_leads_nowhere_is_flagged(registries: Registries) -> None:
    registries.existing.add("/real")
    verdict = links(registries, "/real", "/made-up")
    flagged = [claim for claim in verdict.claims if claim.by == "lookups"]
    assert len(flagged) == 1
    assert "/made-up" in flagged[0].text
    assert flagged[0].reason == "this link does not exist (link: 404)"
    assert [(method, path) for method, path, _, _ in registries.requests if path == "/real"] == [
        ("HEAD", "/real")
    ]
    hosts = {headers["host"].partition(":")[0] for _, _, headers, _ in registries.requests}
    assert hosts == {"acme.org"}


@pytest.mark.usefixtures("only_here")
def test_a_server_that_does_not_know_head_is_asked_by_get(registries: Registries) -> None:
    registries.get_only.add("/page")
    verdict = links(registries, "/page")
    assert record(verdict).score is None
    assert [method for method, _, _, _ in registries.requests] == ["HEAD", "GET"]


@pytest.mark.usefixtures("only_here")
def test_redirects_are_followed(registries: Registries) -> None:
    registries.redirects |= {"/old": "/new", "/gone": "/made-up"}
    registries.existing.add("/new")
    verdict = links(registries, "/old", "/gone")
    (claim,) = [claim for claim in verdict.claims if claim.by == "lookups"]
    assert "/gone" in claim.text


@pytest.mark.usefixtures("only_here")
@pytest.mark.parametrize(
    ("location", "problem"),
    [
        ("http://private.acme.org/x", "a host that is not public"),
        ("http://10.0.0.8/x", "a host that is not public"),
        ("http://nowhere.acme.org/x", "a host without an address"),
        ("file:///etc/passwd", "a redirect that is no link"),
        ("/loop", "too many redirects"),
    ],
)
def test_no_redirect_leads_inside(registries: Registries, location: str, problem: str) -> None:
    registries.redirects |= {"/loop": location}
    verdict = links(registries, "/loop")
    assert not any(claim.by == "lookups" for claim in verdict.claims)
    assert record(verdict).failures == {f"not checked: {problem}": 1}
    assert {path for _, path, _, _ in registries.requests} == {"/loop"}


@pytest.mark.usefixtures("only_here")
def test_no_cookie_tells_what_answers_have_in_common(registries: Registries) -> None:
    registries.existing |= {"/a", "/b", "/simple/requests/", "/simple/httpx/"}
    port = registries.url.rpartition(":")[2]
    guard = guard_of(registries, links="head")
    for page, package in (("a", "requests"), ("b", "httpx")):
        answer = f"See http://acme.org:{port}/{page} for it. Run `pip install {package}`."
        guard.check(answer, samples=[FACT] * 3)
    assert len(registries.requests) == 4
    assert not any("cookie" in headers for _, _, headers, _ in registries.requests)


@pytest.mark.usefixtures("only_here")
def test_no_host_leads_inside(registries: Registries) -> None:
    verdict = links(registries, "/x", host="private.acme.org")
    assert record(verdict).failures == {"not checked: a host that is not public": 1}
    assert registries.requests == []


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        *[
            (address, False)
            for address in (
                *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254"),
                *("0.0.0.0", "100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1"),
                *("fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1"),
                *("fec0::1", "::127.0.0.1", "::ffff:0:7f00:1", "64:ff9b:1::7f00:1", "e000::1"),
                *("64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:7f00:1::", "ff02::1"),
            )
        ],
    ],
)
def test_addresses_that_are_not_public_are_told_apart(address: str, public: bool) -> None:
    assert public_links.is_public(address) is public


def test_no_link_to_this_machine_is_opened(registries: Registries) -> None:
    verdict = links(registries, "/x", host="127.0.0.1")
    assert record(verdict).failures == {"not checked: a host that is not public": 1}
    assert registries.requests == []
