"""What of an answer is looked up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.core.passage import Passage
from resay.engine.lookups import mentions_in
from resay.policy.lookups import LookupsConfig

ALL: dict[str, Any] = {
    "packages": {"pypi": "http://127.0.0.1/simple", "npm": "http://127.0.0.1"},
    "doi": "crossref",
    "links": "head",
}


def names(text: str, context: str = "", **changes: Any) -> list[tuple[str, str]]:
    config = LookupsConfig.model_validate({**ALL, **changes})
    mentions = mentions_in(Passage.of(text), config, context)
    for mention in mentions:
        written = text[mention.start : mention.end]
        assert written in mention.name or mention.name.startswith(written.partition("#")[0])
    return [(mention.source, mention.name) for mention in mentions]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Run `pip install superlib`.", [("pypi", "superlib")]),
        (
            "```bash\n$ pip install -U a-lib 'b-lib[x]>=2' c_lib==1\n```",
            ["a-lib", "b-lib", "c_lib"],
        ),
        ("```\nuv add fastjson\n```", ["fastjson"]),
        ("```sh\nnpm i @acme/left react@18\n```", [("npm", "@acme/left"), ("npm", "react")]),
        ("```sh\npnpm add -D vitest\n```", [("npm", "vitest")]),
        ("```sh\npip install -r requirements.txt\n```", []),
        ("```sh\npip install git+https://github.com/x/y\n```", []),
        ("```sh\npip install ./dist/app-1.0-py3-none-any.whl\n```", []),
        ("```sh\npip install app-1.0-py3-none-any.whl\n```", []),
        ("```sh\npip install --index-url https://packages.acme.test/simple acme-core\n```", []),
        ("```sh\nnpm install --registry http://npm.acme.test left\n```", []),
        ("```sh\npip install your-package\npip install package_name\npip install <name>\n```", []),
        ("```python\nimport superlib\nfrom otherlib import x\n```", []),
        ("```js\nimport x from 'superlib'\nconst y = require('z-lib')\n```", []),
        ("```sh\ncargo add serde\ngem install rails\n```", []),
        ("pip install superlib is what you need to run.", []),
    ],
)
def test_packages_are_those_that_are_to_be_installed(text: str, found: list[Any]) -> None:
    expected = [each if isinstance(each, tuple) else ("pypi", each) for each in found]
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("See https://docs.acme.org/a/b.", ["https://docs.acme.org/a/b"]),
        ("See [the page](https://acme.org/a_(b)).", ["https://acme.org/a_(b)"]),
        ("(https://acme.org/a)", ["https://acme.org/a"]),
        ("It is at www.acme.org/x, they say.", ["https://www.acme.org/x"]),
        ("See https://acme.org/a#part.", ["https://acme.org/a"]),
        ("See <https://acme.org/a>", ["https://acme.org/a"]),
        # Only the beginning of one, or a pattern.
        ("GET https://acme.org/users/{id}", []),
        ("See https://acme.org/users/<id>.", []),
        ("See https://acme.org/path/...", []),
        ("See https://acme.org/path/… for it.", []),
        # What a query holds is nobody's business.
        ("See https://acme.org/a?secret=1.", []),
        (f"See https://acme.org/{'a' * 300}.", []),
        ("See https://user:pass@acme.org/a.", []),
        # Nobody's, or only here.
        ("See https://example.com/a and http://www.example.org/b.", []),
        ("See http://localhost/a, http://printer.local/b and http://x.test/c.", []),
        ("See ftp://acme.org/a.", []),
        # In code it may be an address of an API, or nothing yet.
        ("Run `curl https://acme.org/api`.", []),
        ("```sh\ncurl https://acme.org/api\n```", []),
    ],
)
def test_links_are_those_in_prose(text: str, links: list[str]) -> None:
    assert names(text) == [("link", link) for link in links]


@pytest.mark.parametrize(
    ("text", "dois"),
    [
        ("doi:10.1038/nature12373.", ["10.1038/nature12373"]),
        ("(DOI 10.1000/182)", ["10.1000/182"]),
        ("10.1016/S0140-6736(05)67604-0, p. 3", ["10.1016/S0140-6736(05)67604-0"]),
        ("(see 10.1016/S0140-6736(05)67604-0)", ["10.1016/S0140-6736(05)67604-0"]),
        ("https://doi.org/10.5281/zenodo.1234", ["10.5281/zenodo.1234"]),
        ("version 10.1/2 of it", []),
    ],
)
def test_dois_are_found(text: str, dois: list[str]) -> None:
    assert names(text) == [("crossref", doi) for doi in dois]


def test_each_name_is_looked_up_once() -> None:
    text = "Run `pip install a-lib`, then `pip install a-lib`. See https://acme.org/a (https://acme.org/a)."
    assert names(text) == [("pypi", "a-lib"), ("link", "https://acme.org/a")]


def test_links_of_the_question_are_not_opened() -> None:
    text = "As https://acme.org/a and https://acme.org/b say."
    assert names(text, context="What is at https://www.acme.org/a/?") == [
        ("link", "https://acme.org/b")
    ]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"known": ["acme-*"]}, ["b-lib", "https://acme.org/a"]),
        ({"known": ["B-LIB", "acme.org"]}, ["acme-core"]),
        ({"hosts": ["*.acme.org"]}, ["acme-core", "b-lib"]),
        ({"hosts": ["acme.org"]}, ["acme-core", "b-lib", "https://acme.org/a"]),
        ({"packages": {}}, ["https://acme.org/a"]),
        ({"links": "none"}, ["acme-core", "b-lib"]),
    ],
)
def test_what_is_known_or_not_allowed_is_not_looked_up(
    changes: dict[str, Any], found: list[str]
) -> None:
    text = "Run `pip install acme-core b-lib`, see https://acme.org/a."
    assert [name for _, name in names(text, **changes)] == found


@pytest.mark.parametrize("host", ["foo\u2100bar.com", "foo\uff0fbar.com", "foo\uff03bar.com"])
def test_hosts_that_no_url_may_have_are_passed_over(host: str) -> None:
    text = f"See https://{host}/x, www.{host} and https://acme.org/a."
    assert names(text) == [("link", "https://acme.org/a")]


class Pattern:
    """Counts the characters that are searched."""

    chars = 0

    def search(self, text: str) -> None:
        self.chars += len(text)


@pytest.mark.parametrize("answer", ["```bash\npip install {}\n```", "Run `pip install {}`. " * 900])
def test_a_line_with_many_packages_is_searched_once(
    answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern = Pattern()
    monkeypatch.setattr("resay.engine.lookups.mentions._ELSEWHERE", pattern)
    text = answer.replace("{}", "a-lib b-lib c-lib")
    assert len(names(text)) == 3
    assert 0 < pattern.chars <= len(text)


@pytest.mark.parametrize(("name", "found"), [("a" * 190, 2), ("packagename" * 100, 1)])
def test_what_is_too_long_is_no_package(name: str, found: int) -> None:
    assert len(names(f"```bash\npip install {name} b-lib\n```")) == found


PIECES = st.sampled_from(
    [
        *("\u2100", "\uff0f"),
        *("`pip install a`", "https://acme.org/a_(b)", "10.1000/182", "(", ")", "`", "```\n", "\n"),
        *("npm i b", " and ", "www.acme.org", "…", "{", "pip install ", "é", "<", "[x](", "."),
    ]
)


@given(pieces=st.lists(PIECES, max_size=14))
def test_offsets_are_those_of_the_answer(pieces: list[str]) -> None:
    text = "".join(pieces)
    mentions = mentions_in(Passage.of(text), LookupsConfig.model_validate(ALL), "")
    for mention in mentions:
        assert 0 <= mention.start < mention.end <= len(text)
        written = text[mention.start : mention.end]
        assert written.lower() in mention.name.lower() or written.startswith("http")
