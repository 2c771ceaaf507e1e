from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from resay_lab.calibration import LabelledRow, LabelledSentence, Target, calibrate
from resay_lab.calibration.diagrams import Panel, bins_of, svg_of
from resay_lab.calibration.report import html_of

SECRET = "Zanzibar"
# Of a title, in pixels, on average over its letters in a wide font.
LETTER_WIDTH = 8.5
SVG = "{http://www.w3.org/2000/svg}"


def rows(count=40, *, sentences=True):
    for i in range(count):
        text = f"{SECRET} opened in 1932. It has {i} lamps."
        labels = (LabelledSentence(None, False), LabelledSentence(None, i % 2 == 1))
        samples = [
            text if i % 3 else f"{SECRET} opened in 1932. It has {i + s} lamps." for s in (1, 2)
        ]
        yield LabelledRow(
            f"labels.jsonl:{i}",
            response=text,
            samples=(*samples, f"{SECRET} opened in 1932."),
            hallucinated=i % 2 == 1,
            sentences=labels if sentences else (),
        )


@pytest.fixture(scope="module")
def calibration():
    target = Target("passage", "fpr", 0.2)
    policy = {"chain": [{"method": "ngram"}]}
    return calibrate(policy, list(rows()), targets=[target], bootstrap=50)


def test_bins_hold_every_item_once():
    found = bins_of([(0.0, False), (0.05, True), (0.1, True), (0.95, True), (1.0, False)])
    assert [(b.count, b.score, b.share) for b in found] == [
        (2, 0.025, 0.5),
        (1, 0.1, 1.0),
        (2, 0.975, 0.5),
    ]


def test_it_is_one_svg_with_a_title_a_description_and_every_figure(calibration):
    root = ElementTree.fromstring(svg_of(calibration))
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    ids = root.get("aria-labelledby").split()
    title, description = root[0], root[1]
    assert [title.tag, description.tag] == [f"{SVG}title", f"{SVG}desc"]
    assert [title.get("id"), description.get("id")] == ids
    assert "20 correct and 20 hallucinated" in description.text
    points = root.findall(f".//{SVG}circle")
    shown = bins_of([(o.score, o.hallucinated) for o in calibration.outcomes])
    sentences = bins_of(
        [p for o in calibration.outcomes for p in zip(o.sentences, o.wrong, strict=True)]
    )
    assert len(points) == len(shown) + len(sentences)
    limits = [x for x in root.findall(f".//{SVG}line") if x.get("class") == "limit"]
    assert len(limits) == 6


def test_everything_is_inside_of_the_picture(calibration):
    root = ElementTree.fromstring(svg_of(calibration))
    _, _, width, height = map(float, root.get("viewBox").split())
    for group in root.findall(f"{SVG}g"):
        for element in group:
            for key in ("x", "x1", "x2", "cx"):
                assert 0 <= float(element.get(key, 0)) <= width
            for key in ("y", "y1", "y2", "cy"):
                assert 0 <= float(element.get(key, 0)) <= height / 2
    for text in root.iter(f"{SVG}text"):
        if text.get("class") == "head":
            assert float(text.get("x")) + LETTER_WIDTH * len(text.text) <= width


def test_the_roc_curve_has_a_point_for_each_threshold():
    items = ((0.1, False), (0.4, True), (0.4, False), (0.9, True))
    panel = Panel("Responses", items, 0.5)
    assert panel.flagged_shares == [
        (0.0, 1.0, 1.0),
        (0.0, 1.0, 1.0),
        (0.1, 0.5, 1.0),
        (0.4, 0.0, 0.5),
        (0.9, 0.0, 0.0),
        (1.0, 0.0, 0.0),
    ]
    # A tie counts half: 3.5 of the 4 pairs are in order.
    assert panel.roc_auc == 0.875
    assert Panel("Responses", items[:1], 0.5).roc_auc is None


def test_curves_fall_in_steps():
    steps = Panel("Responses", ((0.1, False), (0.4, True)), None).steps
    assert steps["correct"][-4:] == [(0.4, 0.0), (0.4, 0.0), (1.0, 0.0), (1.0, 0.0)]
    assert (0.4, 1.0) in steps["hallucinated"]
    assert (0.4, 0.0) in steps["hallucinated"]


def test_the_curves_are_in_the_picture(calibration):
    root = ElementTree.fromstring(svg_of(calibration))
    curves = [x.get("class") for x in root.findall(f".//{SVG}path")]
    assert curves == ["curve-hallucinated", "curve-correct", "curve-hallucinated"] * 2


def test_it_needs_nothing_else_and_is_the_same_each_time(calibration):
    for drawn in (svg_of, html_of):
        text = drawn(calibration)
        assert text == drawn(calibration)
        assert "prefers-color-scheme" in text or "light dark" in text
        assert not re.search(r"(href=|src=|url\(|@import|<script)", text)


def test_it_holds_no_word_of_a_response(calibration):
    assert SECRET not in svg_of(calibration)
    assert SECRET not in html_of(calibration)


def test_names_are_escaped(tmp_path):
    import json

    path = tmp_path / "<b>&.jsonl"
    lines = [
        {"response": r.response, "samples": r.samples, "hallucinated": r.hallucinated}
        for r in rows(sentences=False)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    policy = {"chain": [{"method": "ngram"}]}
    found = calibrate(policy, path, targets=[Target("passage", "fpr", 0.2)], bootstrap=0)
    assert "<b>" not in svg_of(found)
    assert "&lt;b&gt;&amp;.jsonl" in html_of(found)
    ElementTree.fromstring(svg_of(found))
    assert "Sentences" not in svg_of(found)
