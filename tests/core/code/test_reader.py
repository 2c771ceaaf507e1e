from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from resay import Passage
from resay.core.code.blocks import code_in
from resay.core.code.reader import CodeReader
from resay.core.code.standard import is_standard


def names_in(text: str) -> list[tuple[str, str, str]]:
    passage, reader = Passage.of(text), CodeReader()
    names: dict[tuple[str, str, str], None] = {}
    for code in code_in(enumerate(passage.sentences), passage.unscored()):
        for name in reader.read(code):
            if not is_standard(name):
                names[name.kind, name.dotted, text[name.start : name.end]] = None
    return list(names)


def block(language: str, code: str) -> str:
    return f"Do it:\n\n```{language}\n{code}\n```\n"


@pytest.mark.parametrize(
    ("language", "code", "expected"),
    [
        ("python", "import a.b as c, d\nc.e(d.f)", ["a", "a.b", "d", "a.b.e", "d.f"]),
        ("py", "from a import (\n  b,\n  c as d,\n)\nd().e", ["a", "a.b", "a.c", "a.c().e"]),
        ("", "from a.b import c\nc.d()", ["a", "a.b.c", "a.b.c.d"]),
        (
            "python",
            "import a\nx = a.b()\ny = x.c().d",
            ["a", "a.b", "a.b().c", "a.b().c().d"],
        ),
        ("python", "import os, json\nos.path.join(a)\njson.lods(s)", ["json.lods"]),
        ("js", "import a, { b as c } from 'd';\nc.e(); a.f();", ["d", "d.b", "d.b.e", "d.f"]),
        (
            "ts",
            "const { a, b: c } = require('@x/y/z');\na.e(c.f)",
            ["@x/y", "@x/y.z.a", "@x/y.z.b", "@x/y.z.a.e", "@x/y.z.b.f"],
        ),
        ("js", "export const a = 'b';\nimport fs from 'fs';\nfs.readFil(x)", []),
        ("js", "import './own.js';\nconst x = await import('y');\nx.z()", []),
        (
            "java",
            "import java.util.List;\nimport a.b.C;\nC x = new C();\nx.d();",
            ["a.b", "a.b.C", "a.b.C().d"],
        ),
        (
            "go",
            'import (\n  "fmt"\n  x "github.com/a/b/v2"\n)\nfunc f() { x.Do() }',
            ["github.com/a/b", "github.com/a/b.Do"],
        ),
        (
            "rust",
            "use a::{b, c as d};\nfn f() { d::e(); std::fs::read(p); g::h(); }",
            ["a", "a::b", "a::c", "a::c::e", "g::h"],
        ),
        ("cs", "using System.Text;\nusing A.B;\nusing var x = y;", ["A.B"]),
        ("ruby", "require 'json'\nrequire 'a'\ngem \"b\"", ["a", "b"]),
        (
            "sh",
            "$ pip install -r x.txt 'a[b]>=1' c && git push --forced",
            ["a", "c", "git --forced"],
        ),
        ("console", "npm install -D @a/b@1 c # d", ["@a/b", "c"]),
        ("cobol", "import a\na.b()", []),
    ],
)
def test_names_of_others_are_found_in_each_language(
    language: str, code: str, expected: list[str]
) -> None:
    assert [name for _, name, _ in names_in(block(language, code))] == expected


FRAGMENTS = [
    *(
        "import a",
        "from b import c",
        " as d",
        ", ",
        "\n",
        "\n\n",
        "a.b",
        ".c()",
        "(",
        ")",
        "[",
        "]",
    ),
    *("{", "}", "= ", "x", "const ", "require('e')", "use f::g;", '"', "'", '"""', "#", "//", "/*"),
    *("def a(", "for a in ", "with a.b() as c:", "pip install h", "git --i", "; ", "`", "😀", "\\"),
    *(
        "import { j } from 'k';",
        'import "l/m"',
        "using N.O;",
        "`a.b()`",
        "```\n",
        "```js\n",
        "    ",
    ),
]


@given(
    language=st.sampled_from(["python", "js", "java", "go", "rust", "cs", "ruby", "sh", ""]),
    parts=st.lists(st.sampled_from(FRAGMENTS), max_size=30),
)
@settings(max_examples=100, deadline=None)
@example("go", ["import a", "```\n", "a.b"])
def test_each_name_is_where_it_says(language: str, parts: list[str]) -> None:
    for _, dotted, span in names_in(block(language, "".join(parts))):
        assert span
        assert span == span.strip()
        assert dotted.endswith(span) or span.endswith(dotted.rpartition(".")[2])
