"""Verdicts without words, made smaller for a file."""

from __future__ import annotations

import zlib
from typing import Any

# What such verdicts have in common, the most common last. A file may hold verdicts that were packed
# with it for years: it is never changed. A better one comes beside it, with another first byte.
_COMMON = (
    '"regeneration":{"mode":"repair","attempts":[{"why":"passage 0.55 > 0.50","queries":[],'
    '"documents":[],"score_before":0.0,"score_after":0.0,"decision":"consistent","note":null,'
    '"usage":{"calls":1,"prompt_tokens":100,"completion_tokens":20,"cost_usd":0.0,"cancelled":0},'
    '"elapsed_s":0.1}],"adopted":0,"score":0.0,"reason":"","draft":"","edits":[{"before":"",'
    '"after":"","start":0,"end":10,"sources":[]}],"sources":[{"id":"","text":"","score":0.0,'
    '"metadata":{}}]}'
    '"unscored":[{"text":"","start":0,"end":10,"kind":"code"}]"via":"parallel""via":"native"'
    '"decision":"inconclusive","skipped","contradicted_by":{"source":"sample","index":0,"text":""}'
    '"kind":"opinion"null,"spans":[[0,10]],"unit":"clause","band":"doubtful"'
    '{"decision":"flagged","score":{"decision":"consistent","score":0.1,"reason":"1 of 2 sentences'
    " > 0.50, passage 0.25 <= 0.50 with 5 samples"
    '","sentences":[{"text":"","start":0,"end":50,"score":0.1,"flagged":true,"by":"prompt",'
    '"why":null,"contradicted_by":null,"citations":[],"scores":{"ngram":0.1,"nli":0.1,"prompt":0.1}'
    ',"band":"contradicted"},{"text":"","start":51,"end":100,"score":0.0,"flagged":false,"by":'
    '"ngram","why":null,"contradicted_by":null,"citations":[],"scores":{"ngram":0.0},"band":'
    '"supported"}],"samples":10,"steps":[{"method":"ngram","sentences":2,"score":0.0,"usage":'
    '{"calls":0,"prompt_tokens":0,"completion_tokens":0,"cost_usd":0.0,"cancelled":0},"elapsed_s":'
    '0.0,"failures":{},"undetermined":0,"note":null,"why":null,"skipped":null}],"usage":{"calls":'
    '10,"prompt_tokens":0,"completion_tokens":0,"cost_usd":null,"cancelled":0},"elapsed_s":0.0,'
    '"via":null,"regeneration":null,"unscored":[],"claims":[{"text":"","start":0,"end":50,"spans":'
    '[[0,50]],"unit":"sentence","kind":"fact","score":0.1,"flagged":true,"by":"prompt","why":null,'
    '"contradicted_by":null,"scores":{"prompt":0.1},"sentence":0,"band":"contradicted","grounds":'
    '[],"unsupported":[]},{"text":"","start":51,"end":100,"spans":[[51,100]],"unit":"sentence",'
    '"kind":"fact","score":0.0,"flagged":false,"by":"ngram","why":null,"contradicted_by":null,'
    '"scores":{"ngram":0.0},"sentence":1,"band":"supported","grounds":[],"unsupported":[]}],'
    '"references":[],"flagged":false,"inconclusive":false}'
).encode()
_FIRST = b"\x01"
# Less than it takes to check the verdict, and little is gained by more.
_LEVEL = 6


def packed(text: str) -> bytes:
    """Return JSON as bytes, of which there are fewer."""
    packer = zlib.compressobj(_LEVEL, zdict=_COMMON)
    return _FIRST + packer.compress(text.encode()) + packer.flush()


def unpacked(value: Any) -> Any:
    """Return what was packed; any other value as it is."""
    if not isinstance(value, bytes):
        return value
    return zlib.decompressobj(zdict=_COMMON).decompress(value.removeprefix(_FIRST)).decode()
