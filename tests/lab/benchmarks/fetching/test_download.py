from __future__ import annotations

import httpx
import pytest

from resay_lab.benchmarks.fetching import Downloader, Homes
from resay_lab.benchmarks.published import LIMIT_BYTES, FetchError


def download_with(answer, waits):
    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        return Downloader(client, Homes.of([], {}), waits.append).get("https://example.org/file")


def test_a_redirect_away_from_encryption_is_not_followed():
    asked = []

    def answer(request):
        asked.append(str(request.url))
        return httpx.Response(302, headers={"location": "http://example.org/blob"})

    with pytest.raises(FetchError, match="not encrypted"):
        download_with(answer, [])
    assert asked == ["https://example.org/file"]


def test_what_says_it_is_too_large_is_not_read():
    def body():
        pytest.fail("read")
        yield b""

    headers = {"content-length": str(LIMIT_BYTES + 1)}
    with pytest.raises(FetchError, match="larger than 16 MiB, so not the data set"):
        download_with(lambda _: httpx.Response(200, headers=headers, content=body()), [])


def test_a_slow_home_is_given_up():
    def answer(request):
        raise httpx.ReadTimeout("", request=request)

    waits = []
    with pytest.raises(FetchError, match=r"'https://example.org/file': did not answer in time"):
        download_with(answer, waits)
    assert len(waits) == 3
    assert all(0 <= wait <= 8 for wait in waits)


@pytest.mark.parametrize(
    ("asked", "waited"),
    [("7", 7), ("0", 0), ("86400", 60), ("-1", None), ("nan", None), ("", None)],
)
def test_it_waits_as_long_as_it_is_asked_to(asked, waited):
    answers = iter([httpx.Response(503, headers={"retry-after": asked}), httpx.Response(200)])
    waits = []
    assert download_with(lambda _: next(answers), waits) == b""
    assert waits == [waited] if waited is not None else 0 <= waits[0] <= 0.5
