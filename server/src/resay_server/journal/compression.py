"""Compression of what nobody searches, with a dictionary of what verdicts share."""

from __future__ import annotations

import zlib
from typing import Any

# A compression dictionary: text that verdicts without content share, the most common last. Never
# change it, since files hold verdicts compressed with it; add a better one with another first byte.
_COMMON = (
    b'"regeneration":{"mode":"repair","attempts":[{"why":"passage 0.55 > 0.50","queries":[],'
    b'"documents":[],"score_before":0.0,"score_after":0.0,"decision":"consistent","note":null,'
    b'"usage":{"calls":1,"prompt_tokens":100,"completion_tokens":20,"cost_usd":0.0,"cancelled":0},'
    b'"elapsed_s":0.1}],"adopted":0,"score":0.0,"reason":"","draft":"","edits":[{"before":"",'
    b'"after":"","start":0,"end":10,"sources":[]}],"sources":[{"id":"","text":"","score":0.0,'
    b'"metadata":{}}]}'
    b'"unscored":[{"text":"","start":0,"end":10,"kind":"code"}]"via":"parallel""via":"native"'
    b'"decision":"inconclusive","skipped","contradicted_by":{"source":"sample","index":0,"text":""}'
    b'"kind":"opinion"null,"spans":[[0,10]],"unit":"clause","band":"doubtful"'
    b'{"decision":"flagged","score":{"decision":"consistent","score":0.1,"reason":"1 of 2 sentences'
    b" > 0.50, passage 0.25 <= 0.50 with 5 samples"
    b'","sentences":[{"text":"","start":0,"end":50,"score":0.1,"flagged":true,"by":"prompt",'
    b'"why":null,"contradicted_by":null,"citations":[],"scores":{"ngram":0.1,"nli":0.1,"prompt":0.1}'
    b',"band":"contradicted"},{"text":"","start":51,"end":100,"score":0.0,"flagged":false,"by":'
    b'"ngram","why":null,"contradicted_by":null,"citations":[],"scores":{"ngram":0.0},"band":'
    b'"supported"}],"samples":10,"steps":[{"method":"ngram","sentences":2,"score":0.0,"usage":'
    b'{"calls":0,"prompt_tokens":0,"completion_tokens":0,"cost_usd":0.0,"cancelled":0},"elapsed_s":'
    b'0.0,"failures":{},"undetermined":0,"note":null,"why":null,"skipped":null}],"usage":{"calls":'
    b'10,"prompt_tokens":0,"completion_tokens":0,"cost_usd":null,"cancelled":0},"elapsed_s":0.0,'
    b'"via":null,"regeneration":null,"unscored":[],"claims":[{"text":"","start":0,"end":50,"spans":'
    b'[[0,50]],"unit":"sentence","kind":"fact","score":0.1,"flagged":true,"by":"prompt","why":null,'
    b'"contradicted_by":null,"scores":{"prompt":0.1},"sentence":0,"band":"contradicted","grounds":'
    b'[],"unsupported":[]},{"text":"","start":51,"end":100,"spans":[[51,100]],"unit":"sentence",'
    b'"kind":"fact","score":0.0,"flagged":false,"by":"ngram","why":null,"contradicted_by":null,'
    b'"scores":{"ngram":0.0},"sentence":1,"band":"supported","grounds":[],"unsupported":[]}],'
    b'"references":[],"flagged":false,"inconclusive":false}'
)
_VERSION = b"\x01"
# Faster than validating the verdict; higher levels gain little.
_LEVEL = 6


def compress(text: str) -> bytes:
    """Compress JSON."""
    compressor = zlib.compressobj(_LEVEL, zdict=_COMMON)
    return _VERSION + compressor.compress(text.encode()) + compressor.flush()


def decompress(value: Any) -> Any:
    """Decompress JSON; return any other value unchanged."""
    if not isinstance(value, bytes):
        return value
    return zlib.decompressobj(zdict=_COMMON).decompress(value.removeprefix(_VERSION)).decode()
