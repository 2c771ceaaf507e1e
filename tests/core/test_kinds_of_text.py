"""What becomes of each kind of text that answers hold: claims, or a stretch that is listed."""

from __future__ import annotations

import pytest

from resay import Passage
from resay.core.growing_passage import GrowingPassage
from support.claims import claims_of


@pytest.mark.parametrize(
    ("text", "claims", "unscored"),
    [
        pytest.param(
            "Figure 2: The bridge opened in 1932.\n\nIt is 503 m long.",
            ["sentence: Figure 2: The bridge opened in 1932.", "sentence: It is 503 m long."],
            [],
            id="caption",
        ),
        pytest.param(
            "![Figure 3: the mill of 1743](mill.png)\n\n*Figure 3: The mill burned in 1790.*",
            [
                "sentence: ![Figure 3: the mill of 1743](mill.png)",
                "sentence: *Figure 3: The mill burned in 1790.*",
            ],
            [],
            id="md image",
        ),
        pytest.param(
            "> The tower is 324 m tall.\n> It opened in 1889.\n",
            ["sentence: The tower is 324 m tall.", "sentence: It opened in 1889."],
            [],
            id="block quote",
        ),
        pytest.param(
            "---\ntitle: Bridge of 1932\nauthor: Ada Moor\n---\n\nText here.",
            [
                "sentence: title: Bridge of 1932",
                "sentence: author: Ada Moor",
                "sentence: Text here.",
            ],
            [],
            id="front matter",
        ),
        pytest.param(
            "```text\nThe bridge opened in 1932.\nIt is long.\n```\n",
            ["sentence: The bridge opened in 1932.", "sentence: It is long."],
            [],
            id="fence text",
        ),
        pytest.param(
            "```\nThe bridge opened in 1932.\nIt is 503 m long.\n```\n",
            ["sentence: The bridge opened in 1932.", "sentence: It is 503 m long."],
            [],
            id="fence none prose",
        ),
        pytest.param(
            "```markdown\n# Bridge\n\nThe bridge opened in 1932.\n\n- It is 503 m long.\n```\n",
            [
                "heading: Bridge",
                "sentence: The bridge opened in 1932.",
                "item: Bridge: It is 503 m long.",
            ],
            [],
            id="fence markdown",
        ),
        pytest.param(
            "```\nx = 1\nprint(x)\n```\n",
            [],
            ["code: ```\nx = 1\nprint(x)\n```"],
            id="fence none code",
        ),
        pytest.param(
            "```python\nimport numpy\n```\n",
            [],
            ["code: ```python\nimport numpy\n```"],
            id="fence py",
        ),
        pytest.param(
            "The mass is $5.2$ kg and $E = 5.2$ J.",
            ["sentence: The mass is $5.2$ kg and $E = 5.2$ J."],
            [],
            id="inline math",
        ),
        pytest.param(
            "$$\nE = 5.2\n$$\n",
            [],
            ["math: $$\nE = 5.2\n$$"],
            id="block math",
        ),
        pytest.param(
            "\\begin{align}\nE &= 5.2 \\\\\n\\end{align}\n",
            ["sentence: \\begin{align}\nE &= 5.2 \\\\\n\\end{align}"],
            [],
            id="latex",
        ),
        pytest.param(
            "\\[\nE = 5.2\n\\]\n",
            [],
            ["math: \\[\nE = 5.2\n\\]"],
            id="latex2",
        ),
        pytest.param(
            "<table>\n<tr><th>Year</th><td>1932</td></tr>\n<tr>\n<td>503 m</td>\n</tr>\n</table>\n",
            ["sentence: <tr><th>Year</th><td>1932</td></tr>", "sentence: <td>503 m</td>"],
            ["html: <table>", "html: <tr>", "html: </tr>", "html: </table>"],
            id="html table",
        ),
        pytest.param(
            "<table><tr><td>Built 1932</td></tr></table>",
            ["sentence: <table><tr><td>Built 1932</td></tr></table>"],
            [],
            id="html table1",
        ),
        pytest.param(
            "Bridge\n: A structure of 1932.\n: 503 m long.\n",
            ["sentence: Bridge\n: A structure of 1932.\n: 503 m long."],
            [],
            id="deflist",
        ),
        pytest.param(
            "Text[^1].\n\n[^1]: Built in 1932 by Dorman Long.\n",
            ["sentence: Text[^1].", "item: Built in 1932 by Dorman Long."],
            [],
            id="footnote",
        ),
        pytest.param(
            "[The bridge opened in 1932](http://x.y/1932) and it is long.",
            ["sentence: [The bridge opened in 1932](http://x.y/1932) and it is long."],
            [],
            id="link",
        ),
        pytest.param(
            'See [a].\n\n[a]: http://x.y/1932 "opened 1932"\n',
            ["sentence: See [a]."],
            ['definition: [a]: http://x.y/1932 "opened 1932"'],
            id="linkdef",
        ),
        pytest.param(
            "<details>\n<summary>More on 1932</summary>\n\nIt opened in 1932.\n\n</details>\n",
            ["sentence: <summary>More on 1932</summary>", "sentence: It opened in 1932."],
            ["html: <details>", "html: </details>"],
            id="details",
        ),
        pytest.param(
            "<details><summary>More on 1932</summary>It opened in 1932.</details>\n",
            ["sentence: <details><summary>More on 1932</summary>It opened in 1932.</details>"],
            [],
            id="details1",
        ),
        pytest.param(
            "- [x] Opened in 1932.\n- [ ] Painted in 1950.\n",
            ["item: Opened in 1932.", "item: Painted in 1950."],
            [],
            id="task",
        ),
        pytest.param(
            "> - Opened in 1932.\n>   - Painted in 1950.\n> > deep 1960\n",
            ["item: Opened in 1932.", "item: Painted in 1950.", "sentence: deep 1960"],
            [],
            id="nested",
        ),
        pytest.param(
            "Year | Event\n---|---\n1932 | opened\n1950 | painted\n",
            ["head: Year | Event", "row: 1932: Event: opened", "row: 1950: Event: painted"],
            [],
            id="table nobars",
        ),
        pytest.param(
            "| Year |\n|---|\n| 1932 |\n",
            ["head: Year", "row: Year: 1932"],
            [],
            id="table 1col",
        ),
        pytest.param(
            "| 1932 | opened |\n| 1950 | painted |\n",
            ["sentence: | 1932 | opened |\n| 1950 | painted |"],
            [],
            id="table nohead",
        ),
        pytest.param(
            "```csv\nyear,event\n1932,opened\n```\n",
            [],
            ["code: ```csv\nyear,event\n1932,opened\n```"],
            id="csv",
        ),
        pytest.param(
            '```json\n{"year": 1932, "who": "Ada Moor"}\n```\n',
            [],
            ['code: ```json\n{"year": 1932, "who": "Ada Moor"}\n```'],
            id="json",
        ),
        pytest.param(
            "```yaml\nyear: 1932\n```\n",
            [],
            ["code: ```yaml\nyear: 1932\n```"],
            id="yaml",
        ),
        pytest.param(
            "<!-- opened 1932 -->\nText.",
            ["sentence: Text."],
            ["html: <!-- opened 1932 -->"],
            id="comment",
        ),
        pytest.param(
            "<pre>\nopened 1932\n</pre>\n",
            [],
            ["html: <pre>\nopened 1932\n</pre>"],
            id="pre",
        ),
        pytest.param(
            "Title 1932\n==========\n\nText.",
            ["heading: Title 1932", "sentence: Text."],
            [],
            id="rst",
        ),
        pytest.param(
            "Text:\n\n    x = 1932\n\nMore.",
            ["sentence: Text:", "sentence: More."],
            ["code: x = 1932"],
            id="indented code",
        ),
        pytest.param(
            "```python\nimport numpy as np\nnp.x()",
            [],
            ["code: ```python\nimport numpy as np\nnp.x()"],
            id="unclosed",
        ),
        pytest.param(
            "~~~\nThe bridge opened in 1932, and it is very long.\n~~~\n",
            ["sentence: The bridge opened in 1932, and it is very long."],
            [],
            id="tilde",
        ),
        pytest.param(
            "✅ Opened in 1932\n❌ Not in 1923\n",
            ["sentence: ✅ Opened in 1932", "sentence: ❌ Not in 1923"],
            [],
            id="emoji",
        ),
        pytest.param(
            "**Opened:** 1932\n**Length:** 503 m\n",
            ["sentence: **Opened:** 1932", "sentence: **Length:** 503 m"],
            [],
            id="key",
        ),
        pytest.param(
            "<p>It opened in 1932.</p>\n<ul>\n<li>It is long</li>\n</ul>",
            ["sentence: <p>It opened in 1932.</p>", "sentence: <li>It is long</li>"],
            ["html: <ul>", "html: </ul>"],
            id="p html",
        ),
        pytest.param(
            '<img src="x.png" alt="The bridge of 1932">\n\nText.',
            ["sentence: Text."],
            ['html: <img src="x.png" alt="The bridge of 1932">'],
            id="img html",
        ),
        pytest.param(
            "> [!NOTE]\n> It opened in 1932.\n",
            ["sentence: [!NOTE]\n> It opened in 1932."],
            [],
            id="admonition",
        ),
        pytest.param(
            "It opened in 1932<sup>1</sup>.",
            ["sentence: It opened in 1932<sup>1</sup>."],
            [],
            id="sup",
        ),
        pytest.param(
            "```text\nDear Ms. Moor,\nyour bridge opened in 1932.\n```",
            ["sentence: Dear Ms. Moor,\nyour bridge opened in 1932."],
            [],
            id="letter in a fence",
        ),
        pytest.param(
            "```markdown\nIt opened in 1932.\n```python\nx = 1\n```\nIt is long.\n```\nAfter it.",
            ["sentence: It opened in 1932.", "sentence: It is long.", "sentence: After it."],
            ["code: ```python\nx = 1\n```"],
            id="code in prose in a fence",
        ),
        pytest.param(
            "> ```text\n> It opened there in 1932.\n> ```\nAfter it.",
            ["sentence: It opened there in 1932.", "sentence: After it."],
            [],
            id="quoted fence",
        ),
        pytest.param(
            "- Say:\n  ```\n  It opened there in 1932.\n  ```\n- Next",
            ["item: Say:", "sentence: It opened there in 1932.", "item: Next"],
            [],
            id="listed fence",
        ),
        pytest.param(
            "```\nsrc\n├── a.py\n└── b.py\n```",
            [],
            ["code: ```\nsrc\n├── a.py\n└── b.py\n```"],
            id="fence of a tree",
        ),
        pytest.param(
            "```text\n$ make all\nBuild done.\n```",
            [],
            ["code: ```text\n$ make all\nBuild done.\n```"],
            id="fence of a log",
        ),
    ],
)
def test_each_kind_of_text_is_read_or_listed(
    text: str, claims: list[str], unscored: list[str]
) -> None:
    passage = Passage.of(text)
    assert [f"{claim.unit}: {claim.standalone}" for claim in claims_of(passage)] == claims
    assert [f"{piece.kind}: {piece.text}" for piece in passage.unscored()] == unscored
    growing = GrowingPassage()
    for character in text:
        growing.feed(character)
    assert growing.finish().passage == passage
