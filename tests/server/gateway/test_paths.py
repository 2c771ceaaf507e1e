"""What paths address."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay_server.gateway.errors import RefusedError
from resay_server.gateway.paths import GUARDED, PassThrough, address_of, plain_path

PREFIXES = st.sampled_from(["", "/v1", "/v1/v1", "/openai", "/openai/v1", "/anthropic/v1"])
APIS = st.sampled_from([api.path for api in GUARDED])
# Names of models, such as `org/model:latest`.
NAMES = st.from_regex(r"[A-Za-z0-9._:@ -]{1,12}(/[a-z0-9._-]{1,8})?", fullmatch=True)
PARENTS = st.sampled_from(["deployments", "engines", "Deployments"])


@given(PREFIXES, APIS)
def test_a_guarded_api_is_recognized_below_every_prefix(prefix: str, path: str) -> None:
    address = address_of(f"{prefix}{path}".encode())
    assert (address.path, address.deployment) == (path, None)


@given(PREFIXES, PARENTS, NAMES, APIS, st.booleans())
def test_a_deployment_is_told_from_the_api(
    prefix: str, parent: str, name: str, path: str, whole: bool
) -> None:
    # Lenient servers leave out white space at the end of a path, not in it.
    encoded = quote(name, safe="" if whole else "/")
    address = address_of(f"{prefix}/{parent}/{encoded}{path}".encode())
    assert (address.path, address.deployment) == (path, name)


@given(st.binary(max_size=60), PREFIXES, APIS)
def test_no_path_that_reads_like_a_guarded_one_is_passed_through(
    junk: bytes, prefix: str, path: str
) -> None:
    passes = PassThrough(["/v1/*"])
    for raw in (junk + path.encode(), prefix.encode() + junk + path.encode(), junk):
        address = address_of(raw)
        looks_guarded = any(plain_path(raw).endswith(api.path) for api in GUARDED)
        if not looks_guarded:
            continue
        # Below those of stored answers are their own, which are filtered.
        if re.match(r"/(?:chat/completions|responses|conversations)(?:/|$)", address.path):
            continue
        with pytest.raises(RefusedError):
            passes.check("POST", address)
