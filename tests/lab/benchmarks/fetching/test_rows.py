from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay_lab.benchmarks.published import (
    Download,
    FetchError,
    read_aggrefact,
    read_phd,
    read_ragtruth,
    read_shroom,
    read_wikibio,
)


@given(st.binary(max_size=60))
@pytest.mark.parametrize("read", [read_wikibio, read_shroom, read_aggrefact])
def test_no_bytes_are_an_unexpected_error(read, content):
    try:
        files = read([Download("https://example.org", content)])
    except FetchError:
        return
    assert not any(files.values())


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_no_lines_are_an_unexpected_error(responses, sources):
    try:
        files = read_ragtruth([Download("https://example.org", c) for c in (responses, sources)])
    except FetchError:
        return
    assert not any(files.values())


@given(st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=4, unique=True))
def test_any_text_comes_through(entities):
    rows = [{"entity": e, "AI": e, "label": "factual", "wrong_part": e} for e in entities]
    samples = [row | {"samples_text": [row["AI"]]} for row in reversed(rows)]
    content = [json.dumps({"wiki_1y": rows}).encode(), json.dumps(samples).encode()]
    files = read_phd([Download("https://example.org", c) for c in content])
    read = files["phd.jsonl"]
    assert [(r["entity"], r["passage"], r["samples"], r["wrong_part"]) for r in read] == [
        (e, e, [e], e) for e in entities
    ]
