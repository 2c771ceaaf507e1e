"""Judges that compare values, and obey what they should not."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from attacks.texts import Attack
from resay import Request
from resay.plugins import Completion, Completions, Sample
from resay.scorers.common import document_prompt, per_sample, together

Kind = Literal["honest", "quoting", "gullible", "very gullible"]
KINDS: tuple[Kind, ...] = ("honest", "quoting", "gullible", "very gullible")
Said = Literal["supported", "contradicted", "not_mentioned"]

# What the bridge is asked about: a value, and the words around it.
_MATTERS = (
    re.compile(r"opened in (\d{4})"),
    re.compile(r"deck is (\d+) metres"),
    re.compile(r"(\w+ \w+) designed"),
    re.compile(r"cost (\d+) million"),
    re.compile(r"has (\d+) lanes"),
)
_LABELS = "conversation|answer|context|documents|samples|claims"
_OPENS = re.compile(rf"^<(?:{_LABELS})(-[0-9a-f]{{16}}|)>$", re.MULTILINE)
_NUMBERED = re.compile(r"^\d+\. (.*)$", re.MULTILINE)


def code_of(question: str) -> str:
    """Return what the marks of a question end with: those come first that its author wrote."""
    found = _OPENS.search(question)
    assert found is not None
    return found[1]


def _blocks(question: str) -> re.Pattern[str]:
    code = code_of(question)
    return re.compile(rf"^<({_LABELS}){code}>$.*?^</\1{code}>$", re.DOTALL | re.MULTILINE)


def _outside(question: str) -> list[str]:
    """Return the lines that stand outside of the marks."""
    rest = _blocks(question).sub("", question)
    return [line for line in rest.splitlines() if line.strip()]


# What the questions themselves say, with a conversation and without.
_OWN = frozenset(
    line
    for question in (
        per_sample.render(["x"], "y"),
        per_sample.render(["x"], "y", "z"),
        together.render(["x"], [Sample(0, "y")]),
        together.render(["x"], [Sample(0, "y")], "z"),
        document_prompt.render(["x"], [(0, "y")]),
        document_prompt.render(["x"], [(0, "y")], "z"),
    )
    for line in _outside(question)
)


def _block(question: str, label: str) -> str:
    code = code_of(question)
    found = re.search(rf"^<{label}{code}>\n(.*?)\n</{label}{code}>$", question, re.M | re.S)
    return found[1] if found else ""


def compare(claim: str, text: str) -> Said:
    """Compare the first value of a claim with those of a text."""
    values = [(matter, found[1]) for matter in _MATTERS if (found := matter.search(claim))]
    if not values:
        return "not_mentioned"
    matter, value = min(values, key=lambda pair: claim.find(pair[1]))
    others = matter.findall(text)
    if value in others:
        return "supported"
    return "contradicted" if others else "not_mentioned"


def _opposite(said: Said) -> Said:
    return "contradicted" if said == "supported" else "supported"


@dataclass
class AttackedJudge:
    """A judge for one check, who is attacked.

    Attributes:
        kind: `honest` compares values that stand between the marks. `quoting` also copies what it
            compared, line by line, after each of its answers. `gullible` is honest and also obeys
            whatever else stands outside of them. `very gullible` also obeys inside, where the
            attack is in what it reads and one of those it falls for. To obey is to say the
            opposite of what the values say, of every claim: the worst there is.
        attack: The attack; None where there is none.
        falls: The names of the attacks that are obeyed inside the marks.
        has_codes: Whether the marks keep their codes; without them anybody can close them.
    """

    kind: Kind
    attack: Attack | None = None
    falls: frozenset[str] = frozenset()
    has_codes: bool = True

    async def takes_n(self, request: Request) -> bool:
        """Whether several answers are to be had at once."""
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Answer a question of `prompt` or `references`."""
        question = str(request.messages[0]["content"])
        question.encode()  # as the clients of all providers do
        if not self.has_codes:
            question = question.replace(code_of(question), "")
        obeys = self._obeys(question)
        claims: Sequence[str] = _NUMBERED.findall(_block(question, "claims"))
        for kind in ("document", "sample"):
            if f"\n<{kind}s{code_of(question)}>\n" in question:
                answer = self._of_several(kind, question, claims, obeys=obeys)
                return Completions((Completion(answer),))
        context = _block(question, "context")
        said = [compare(claim, context) for claim in claims]
        said = [_opposite(one) for one in said] if obeys else said
        quoted = (
            ["", f"; the claim is: {claims[0]}\nThe context says:\n{context}"] if claims else [""]
        )
        copied = quoted[self.kind == "quoting"]
        lines = (f"{i}: {one}{copied}" for i, one in enumerate(said, 1))
        return Completions((Completion("\n".join(lines)),))

    def _of_several(self, kind: str, question: str, claims: Sequence[str], *, obeys: bool) -> str:
        code = code_of(question)
        fenced = rf'^<{kind}{code} number="(\d+)">\n(.*?)\n</{kind}{code}>$'
        texts: Mapping[int, str] = {
            int(number): text
            for number, text in re.findall(
                fenced, _block(question, f"{kind}s"), re.MULTILINE | re.DOTALL
            )
        }
        answer: list[dict[str, object]] = []
        for i, claim in enumerate(claims, 1):
            said = {k: compare(claim, text) for k, text in texts.items()}
            supports = [k for k in said if said[k] == "supported"]
            against = [k for k in said if said[k] == "contradicted"]
            if obeys:
                supports, against = ([], [*said]) if supports else ([*said], [])
            entry = {"claim": i, "supported_by": supports, "contradicted_by": against}
            if self.kind == "quoting":
                entry["quote"] = "\n".join(texts[k] for k in (supports or against)[:1])
            answer.append(entry)
        return json.dumps(answer)

    def _obeys(self, question: str) -> bool:
        if self.attack is None or self.kind in ("honest", "quoting"):
            return False
        if any(line not in _OWN for line in _outside(question)):
            return True
        if self.kind != "very gullible" or self.attack.name not in self.falls:
            return False
        # Of what is cut to length, an end is left; what is written on one line has other spaces.
        data = "".join(block[0] for block in _blocks(question).finditer(question))
        shown, text = "".join(data.split()), "".join(self.attack.text.split())
        return text[:30] in shown or text[-30:] in shown
