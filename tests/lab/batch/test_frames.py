"""Checks of the rows of a data frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from resay import Guard
from resay.errors import ConfigurationError
from resay_lab.batch import Columns, check_frame
from support.later import LazyImport

pandas = LazyImport("pandas")
polars = LazyImport("polars")

POLICY = {"chain": [{"method": "facts"}], "sampling": {"min": 2}}
SAMPLES = ["The bridge opened in 1932. It has 33 lamps."] * 2 + ["In 1932."]
DATA = {
    "response": ["The bridge opened in 1932. It has 31 lamps.", "The bridge opened in 1932.", None],
    "samples": [SAMPLES] * 3,
    "n": [1, 2, 3],
}


def of_pandas(data: dict[str, Any]) -> Any:
    return pandas.DataFrame(data, index=[5, 6, 7])


def of_polars(data: dict[str, Any]) -> Any:
    return polars.DataFrame(data)


of_each_library = pytest.mark.parametrize("make", [of_pandas, of_polars])


def values(frame: Any, name: str) -> list[Any]:
    """Return the values of a column, with None for what is missing."""
    column = list(frame[name])
    return [None if value != value else value for value in column]


@of_each_library
def test_a_frame_gets_the_verdicts_on_its_rows(make: Callable[..., Any]) -> None:
    frame = make(DATA)
    checked = check_frame(frame, POLICY)

    assert type(checked) is type(frame)
    assert values(checked, "n") == [1, 2, 3]
    assert values(checked, "decision") == ["flagged", "consistent", None]
    scores = values(checked, "score")
    assert scores[0] > 0.5 >= scores[1]
    assert scores[2] is None
    assert values(checked, "reason")[0] == "1 of 2 sentences > 0.50 with 3 samples"
    assert [list(flagged) for flagged in list(checked["flagged"])[:2]] == [
        ["It has 31 lamps. (sample 1 says: It has 33 lamps.)"],
        [],
    ]
    assert values(checked, "error")[:2] == [None, None]
    assert "must contain text" in values(checked, "error")[2]
    assert list(frame.columns) == list(DATA)


def test_the_index_of_a_frame_stays() -> None:
    assert list(check_frame(of_pandas(DATA), POLICY).index) == [5, 6, 7]


@of_each_library
def test_columns_may_have_other_names(make: Callable[..., Any]) -> None:
    data = {"answer": DATA["response"][:2] * 2, "score": [1, 2, 3, 4], "others": [SAMPLES] * 4}
    frame = make({name: column[:3] for name, column in data.items()})
    columns = Columns(response="answer", samples="others")

    with pytest.raises(ConfigurationError, match="already has a column 'score'"):
        check_frame(frame, Guard(POLICY), columns=columns)
    checked = check_frame(frame, Guard(POLICY), columns=columns, prefix="resay_")

    assert list(checked["resay_decision"]) == ["flagged", "consistent", "flagged"]
    assert list(checked["score"]) == [1, 2, 3]


@of_each_library
def test_a_frame_without_responses_is_refused(make: Callable[..., Any]) -> None:
    with pytest.raises(ConfigurationError, match="no column 'response'"):
        check_frame(make({"text": ["a", "b", "c"]}), POLICY)


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="pandas or Polars, not 'list'"):
        check_frame([{"response": "It is."}], POLICY)


def test_neither_library_is_needed_to_import_it() -> None:
    class Frame:
        """As little of a frame of pandas as is used."""

        columns = ("response", "samples")

        def __init__(self) -> None:
            self.added: dict[str, Any] = {}

        def __len__(self) -> int:
            return 1

        def itertuples(self, *, index: bool, name: None) -> list[tuple[Any, ...]]:
            assert not index
            assert name is None
            return [(DATA["response"][0], SAMPLES)]

        def assign(self, **added: Any) -> Frame:
            frame = Frame()
            frame.added = added
            return frame

    assert check_frame(Frame(), POLICY).added["decision"] == ["flagged"]
