from __future__ import annotations

import pytest

from resay import ConfigurationError
from resay_lab.benchmarks.fetching import HOMES, Homes
from resay_lab.benchmarks.published import DATA_SETS, PHD


def test_addresses_are_those_of_the_homes():
    homes = Homes.of([], {"HF_ENDPOINT": ""})
    for dataset in DATA_SETS:
        for address in homes.files(dataset.source):
            assert address.startswith(HOMES[dataset.source.home] + "/")
    mirror = Homes.of(["github=https://mirror.example/raw/"], {})
    assert mirror.files(PHD)[0] == f"https://mirror.example/raw{PHD.paths[0]}"


def test_the_token_is_for_one_host_and_not_for_reading():
    homes = Homes.of([], {"HF_TOKEN": "hunter2", "HF_ENDPOINT": "https://mirror.example/hf"})
    assert homes.headers("https://mirror.example:443/x") == {"Authorization": "Bearer hunter2"}
    assert homes.headers("http://mirror.example/x") == {}
    assert homes.headers("https://mirror.example:8443/x") == {}
    assert homes.headers("https://huggingface.co/x") == {}
    assert "hunter2" not in repr(homes)


@pytest.mark.parametrize(
    ("overrides", "environ", "message"),
    [
        (["gitlab=https://x.example"], {}, "'gitlab' is not a home; pass NAME=URL with one of"),
        (["https://x.example"], {}, "is not a home"),
        (["github=ftp://x.example"], {}, "github is 'ftp://x.example'; pass an address like"),
        (["github=x.example"], {}, "github is 'x.example'"),
        (["github=https://x.example/?a=b"], {}, "github is"),
        (["github=https://x.example:port"], {}, "github is not an address"),
        (["github=https://me:hunter2@x.example"], {}, "github holds a user name or password"),
        ([], {"HF_ENDPOINT": "huggingface"}, "HF_ENDPOINT is 'huggingface'"),
        ([], {"HF_TOKEN": "hunter2 hunter2"}, "HF_TOKEN has characters no token has"),
        ([], {"HF_TOKEN": "hunter2\nX-Header: 1"}, "HF_TOKEN has characters no token has"),
    ],
)
def test_addresses_that_cannot_be(overrides, environ, message):
    with pytest.raises(ConfigurationError) as caught:
        Homes.of(overrides, environ)
    assert message in str(caught.value)
    assert "hunter2" not in str(caught.value)
