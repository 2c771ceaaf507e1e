from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import ConfigurationError, Guard, Passage, Sentence
from resay_lab.batch import run_batch
from resay_lab.calibration import LabelledRow, LabelledSentence, read_labels

TEXT = "The bridge opened in 1932. It has 31 lamps. It is grey."
SENTENCES = Passage.of(TEXT).sentences


def read(tmp_path, *rows, **more):
    path = tmp_path / "labels.jsonl"
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows))
    return read_labels(path, **more)


def refuse(tmp_path, row, match, **more):
    good = {"response": TEXT, "label": "correct"}
    with pytest.raises(ConfigurationError, match=match) as caught:
        read(tmp_path, good, "", row, **more)
    assert f"{tmp_path / 'labels.jsonl'}:3:" in str(caught.value)
    assert "31 lamps" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ({"label": "correct"}, False),
        ({"label": "hallucinated"}, True),
        ({"hallucinated": True}, True),
        ({"hallucinated": False}, False),
        ({"sentences": ["correct", "hallucinated", None]}, True),
        ({"sentences": ["correct", "correct", None]}, None),
        ({"sentences": ["correct", "correct", "correct"]}, False),
        ({"label": "correct", "sentences": ["correct", "hallucinated", None]}, False),
    ],
)
def test_labels(tmp_path, given, label):
    (row,) = read(tmp_path, {"response": TEXT, **given})
    assert row.hallucinated is label


def test_labels_come_from_a_spreadsheet(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(
        "id,response,question,samples,references,sentences,label,hallucinated\r\n"
        'a,"It opened in 1932.\r\nIt is grey.",When?,"[""x"", ""y""]",a text,,correct,\r\n'
        'b,It is grey.,"[{""role"": ""user"", ""content"": ""Which?""}]",,,'
        '"[""hallucinated""]",,\r\n'
        "c,It is grey.,,,,,,TRUE\r\n",
        encoding="utf-8-sig",
    )
    first, second, third = read_labels(path)
    assert first.response == "It opened in 1932.\r\nIt is grey."
    assert (first.samples, first.references) == (("x", "y"), ("a text",))
    assert (first.question, first.hallucinated) == ("When?", False)
    assert second.question == [{"role": "user", "content": "Which?"}]
    assert (second.samples, second.references, second.hallucinated) == (None, (), True)
    assert third.hallucinated is True


def test_a_spreadsheet_may_have_semicolons(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("response;label\nIt is grey, they say.;correct\n")
    (row,) = read_labels(path)
    assert (row.response, row.hallucinated) == ("It is grey, they say.", False)


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ("a,It is grey.,maybe,", "label: input should be 'correct' or 'hallucinated'"),
        ("a,It is grey.,correct,,x", "the row has more cells than columns"),
        ("a,,correct,", "`response` is missing"),
    ],
)
def test_a_row_of_a_spreadsheet_is_named_by_its_number(tmp_path, cells, problem):
    path = tmp_path / "labels.csv"
    path.write_text(f"id,response,label,lang\nx,It is grey.,correct,\n{cells}\n")
    with pytest.raises(ConfigurationError) as caught:
        read_labels(path)
    assert str(caught.value).startswith(f"{path}, row 2: {problem}")
    assert "grey" not in str(caught.value)


def test_what_a_batch_passes_through_is_ignored(tmp_path):
    question = [{"role": "user", "content": "Which?"}]
    rows = [{"response": TEXT, "messages": question, "lang": "de", "sentence": 3, "meta": {"a": 1}}]
    guard = Guard({"chain": ["facts"]})
    samples = {"samples": [TEXT, TEXT, TEXT]}
    run_batch(guard, [{**row, **samples} for row in rows], tmp_path / "scored.jsonl", workers=1)
    (scored,) = [json.loads(line) for line in (tmp_path / "scored.jsonl").read_text().splitlines()]
    assert scored["decision"] == "consistent"
    (row,) = read(tmp_path, {**scored, "label": "correct"})
    assert (row.response, row.question, row.hallucinated) == (TEXT, question, False)


def test_labelled_results_of_a_batch_are_labels(tmp_path):
    results = {"decision": "flagged", "score": 0.9, "reason": "it is so", "error": None}
    given = {"response": TEXT, "samples": '["a", "b"]', "usage": {}, "claims": [], **results}
    (row,) = read(tmp_path, {**given, "label": "correct"})
    assert row.samples == ("a", "b")
    refuse(tmp_path, {"response": TEXT, "label": "correct", "samples": '["a"'}, "samples: input")


def test_everything_a_check_needs_is_read(tmp_path):
    token = {"token": "The", "logprob": -0.1}
    (row,) = read(
        tmp_path,
        {
            "id": 7,
            "response": TEXT,
            "question": [{"role": "user", "content": "Which?"}],
            "entity": "the bridge",
            "model": "openai/x",
            "samples": ["a"],
            "references": ["b"],
            "logprobs": [token],
            "label": "correct",
            "meta": {"annotator": 3},
        },
    )
    assert row == LabelledRow(
        f"{tmp_path / 'labels.jsonl'}:1",
        "7",
        TEXT,
        [{"role": "user", "content": "Which?"}],
        "the bridge",
        "openai/x",
        ("a",),
        ("b",),
        (token,),
        False,
    )


@pytest.mark.parametrize(
    ("row", "match"),
    [
        ("{", "not valid JSON"),
        ("[]", "must be an object, not 'list'"),
        ({"label": "correct"}, "`response` is missing"),
        ({"response": " ", "label": "correct"}, "`response` is missing"),
        ({"response": TEXT}, "has no label"),
        ({"response": TEXT, "sentences": [None, None, None]}, "has no label"),
        ({"response": TEXT, "label": "wrong"}, "label: input should be 'correct' or"),
        ({"response": TEXT, "label": True}, "label: input should be 'correct' or"),
        ({"response": TEXT, "hallucinated": "no"}, "hallucinated: input should be a valid bool"),
        ({"response": TEXT, "label": "correct", "hallucinated": False}, "not both"),
        ({"response": TEXT, "lable": "correct"}, "did you mean 'label'"),
        ({"response": TEXT, "label": "correct", "smaples": ["x"]}, "did you mean 'samples'"),
        ({"response": TEXT, "label": "correct", "refrences": ["x"]}, "did you mean 'references'"),
        ({"response": TEXT, "sentences": [True, False, True]}, r"sentences\[0\]: must be"),
        ({"response": TEXT, "sentences": ["correct", {"text": "x"}]}, "mixes labels with"),
        (
            {"response": TEXT, "sentences": [{"text": "x", "label": "correct", "hallucinated": 1}]},
            r"sentences\[0\]: must be",
        ),
    ],
)
def test_mistakes_name_file_and_line_and_say_what_to_do(tmp_path, row, match):
    refuse(tmp_path, row, match)


def test_an_id_stands_for_one_response(tmp_path):
    rows = [{"id": i, "response": TEXT, "label": "correct"} for i in (1, 2, "1")]
    with pytest.raises(ConfigurationError, match=r":3: id '1' is also used at .*:1"):
        read(tmp_path, *rows)


def test_a_file_must_hold_something(tmp_path):
    with pytest.raises(ConfigurationError, match="contains no labelled response"):
        read(tmp_path, "")
    with pytest.raises(ConfigurationError, match="cannot read"):
        read_labels(tmp_path / "none.jsonl")
    (tmp_path / "x.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        read_labels(tmp_path / "x.jsonl")


def test_for_a_log_responses_may_be_missing(tmp_path):
    (row,) = read(tmp_path, {"id": "a", "label": "correct"}, responses=False)
    assert row.response is None


def labelled(*sentences, response=TEXT):
    return LabelledRow("f:1", response=response, sentences=sentences)


def test_labels_in_order_must_be_as_many():
    row = labelled(LabelledSentence(None, True), LabelledSentence(None, None))
    assert row.labels_of(SENTENCES[:2]) == (True, None)
    with pytest.raises(
        ConfigurationError, match=r"^f:1: 2 labels in `sentences`, but Resay finds 3"
    ):
        row.labels_of(SENTENCES)


def test_sentences_that_were_split_otherwise_share_their_labels():
    row = labelled(
        LabelledSentence("The bridge opened in 1932. It has", False),
        LabelledSentence("31 lamps.", True),
    )
    assert row.labels_of(SENTENCES) == (False, True, None)


def test_a_sentence_partly_without_label_is_only_hallucinated_for_sure():
    row = labelled(LabelledSentence("It has", None), LabelledSentence("31 lamps.", False))
    assert row.labels_of(SENTENCES) == (None, None, None)
    row = labelled(LabelledSentence("It has", None), LabelledSentence("31 lamps.", True))
    assert row.labels_of(SENTENCES) == (None, True, None)


def test_sentences_that_touch_share_nothing():
    text = "它是桥。它是红的。"
    row = labelled(
        LabelledSentence("它是桥。", True), LabelledSentence("它是红的。", False), response=text
    )
    assert row.labels_of([Sentence("", 0, 4), Sentence("", 4, 9)]) == (True, False)


def test_labelled_texts_must_be_in_the_response():
    row = labelled(LabelledSentence("It has 32 lamps.", True))
    with pytest.raises(ConfigurationError, match=r"^f:1: sentence 0 of 1 does not occur"):
        row.labels_of(SENTENCES)
    with pytest.raises(ConfigurationError, match="add the `response`"):
        labelled(LabelledSentence("It is grey.", True), response=None).labels_of(SENTENCES)


def test_without_labels_there_are_none():
    assert labelled().labels_of(SENTENCES) == ()


@given(st.lists(st.booleans(), min_size=3, max_size=3))
def test_texts_and_places_say_the_same(wrong):
    by_text = labelled(
        *(LabelledSentence(s.text, w) for s, w in zip(SENTENCES, wrong, strict=True))
    )
    in_order = labelled(*(LabelledSentence(None, w) for w in wrong))
    assert by_text.labels_of(SENTENCES) == in_order.labels_of(SENTENCES) == tuple(wrong)
    assert by_text.labels_of([Sentence("", 0, len(TEXT))]) == (any(wrong),)
