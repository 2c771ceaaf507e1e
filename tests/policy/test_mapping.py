"""Policies given as mappings."""

from __future__ import annotations

import pytest

from resay import Policy
from resay.errors import PolicyError


def test_a_mapping_has_no_lines_and_no_variables():
    with pytest.raises(PolicyError) as caught:
        Policy.of({"chain": [{"method": "ngram", "n": "${N}"}], "splitter": object(), 1: 2})
    assert sorted(caught.value.problems) == [
        "<policy>: a key must be text, not an object of type 'int'",
        "<policy>: chain[0].n: must be a whole number, not '${N}'",
        "<policy>: splitter: must be text, a number, true, false, null, a list or a mapping, "
        "not an object of type 'object'",
    ]


def test_a_mapping_that_holds_itself_is_refused():
    data = {"chain": [{"method": "ngram"}]}
    data["sampling"] = data
    with pytest.raises(PolicyError, match="nested more than 50 levels deep"):
        Policy.of(data)


def test_a_policy_made_in_python_may_contain_a_function() -> None:
    def worth_it(query: object, response: str) -> bool:
        return "1932" in response

    policy = Policy.of({"chain": [{"method": "ngram"}], "when": {"call": worth_it}})
    assert policy.when is not None
    assert policy.when.call is worth_it
    with pytest.raises(PolicyError, match="must be text"):
        Policy.of({"chain": [{"method": worth_it}]})
