"""The lifecycle of one request, from the question to the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from resay.engine.actions import Answer as Answer
    from resay.engine.answer_stream import AnswerStream as AnswerStream
    from resay.engine.answer_stream import SyncAnswerStream as SyncAnswerStream
    from resay.engine.chain import Chain as Chain
    from resay.engine.lookups import Lookups as Lookups
    from resay.engine.many_checks import Checked as Checked
    from resay.engine.many_checks import CheckItem as CheckItem
    from resay.engine.many_checks import acheck_each as acheck_each
    from resay.engine.regeneration.factory import open_regenerator as open_regenerator
    from resay.engine.request import RequestRunner as RequestRunner
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "resay.engine.actions": ("Answer",),
            "resay.engine.answer_stream": ("AnswerStream", "SyncAnswerStream"),
            "resay.engine.chain": ("Chain",),
            "resay.engine.lookups": ("Lookups",),
            "resay.engine.many_checks": (
                "acheck_each",
                "Checked",
                "CheckItem",
            ),
            "resay.engine.regeneration.factory": ("open_regenerator",),
            "resay.engine.request": ("RequestRunner",),
        },
    )
