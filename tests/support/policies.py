"""Texts of policies, their problems, and parts of their schema."""

from __future__ import annotations

import pytest

from resay import Policy
from resay.errors import PolicyError

FULL = """\
version: 1
sampling:
  max: ${N:-6}
  min: 2
  temperature: 0.9
  start: after
  model: openai/gpt-4.1-mini
  params: {max_tokens: 200, stop: [a, b]}
chain:
  - method: ngram
    settle: {below: 0.15}
  - method: prompt
    judge: {model: openai/gpt-4.1, params: {temperature: 0}}
    mode: per_sample
threshold: {passage: 0.7, sentence: null}
action: {do: block, exit: raise, message: Sorry.}
limits: {deadline_s: null, timeout_s: 5, concurrency: 4, retries: 0}
splitter: sentencex
on_error: block
"""


def problems_of_text(text, **env):
    """Return the problems of a policy's text."""
    with pytest.raises(PolicyError) as caught:
        Policy.parse(text, source="p.yaml", env=env)
    return caught.value.problems


def with_chain(text):
    """Return a policy of a chain and the given sections."""
    return f"chain: [{{method: ngram}}]\n{text}"


def steps(schema):
    """Return the schemas of all methods."""
    auto, listed, _name = schema["properties"]["chain"]["anyOf"]
    assert auto == {"const": "auto"}
    step = resolved(resolved(listed, schema)["items"], schema)
    _names, *methods = step["oneOf"]
    return [resolved(branch, schema) for branch in methods]


def resolved(part, schema):
    """Return a part of a schema without a reference."""
    return schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
