"""Adapters whose framework is not installed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator

import pytest

from resay import MissingDependencyError

NEEDED = {
    "anthropic": ("anthropic", "anthropic"),
    "langchain": ("langchain_core", "langchain-core"),
    "litellm": ("litellm", "litellm"),
    "llamaindex": ("llama_index", "llama-index-core"),
    "openai": ("openai", "openai"),
}


@pytest.fixture
def without(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Makes a package one that is not installed, and forgets the adapter that has loaded it."""
    adapter, package = request.param
    loaded = [name for name in sys.modules if name.split(".")[0] in (adapter, package)]
    for name in loaded:
        monkeypatch.delitem(sys.modules, name)

    class Hidden:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            if name.split(".")[0] == package:
                raise ModuleNotFoundError(name, name=name)

    monkeypatch.setattr(sys, "meta_path", [Hidden, *sys.meta_path])
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == adapter]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize(
    ("extra", "without"),
    [(extra, (f"resay_{extra}", module)) for extra, (module, _) in NEEDED.items()],
    indirect=["without"],
)
@pytest.mark.usefixtures("without")
def test_the_error_names_the_extra(extra: str) -> None:
    with pytest.raises(MissingDependencyError) as raised:
        importlib.import_module(f"resay_{extra}")
    assert f"pip install 'resay[{extra}]'" in str(raised.value)
    assert raised.value.package == NEEDED[extra][1]
