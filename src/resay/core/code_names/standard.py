"""Tells what belongs to Python's standard library."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from types import ModuleType

from resay.core.clauses import words_of
from resay.core.code_names.code import CodeName, Path


def is_standard(name: CodeName) -> bool:
    """Whether a name belongs to Python's standard library, as far as that can be told.

    A member of one of its commoner modules is looked up among what that module defines; of the
    others it is taken for granted.
    """
    if name.language != "python" or name.kind in {"install", "flag"}:
        return False
    first = name.path[0]
    if first not in sys.stdlib_module_names:
        return False
    return name.kind == "package" or _is_defined(name.path)


# Modules that do nothing when they are imported.
_LOOKED_INTO = words_of(
    "argparse asyncio base64 collections contextlib copy csv dataclasses datetime decimal enum"
    " functools glob hashlib heapq html io itertools json logging math operator os pathlib pickle"
    " random re secrets shutil socket statistics string struct subprocess sys tempfile textwrap"
    " threading time typing urllib uuid"
)


@cache
def _module(name: str) -> object | None:
    try:
        return import_module(name)
    except ImportError:
        return None


def _is_defined(path: Path) -> bool:
    if path[0] not in _LOOKED_INTO:
        return True
    here: object = _module(path[0])
    for place, part in enumerate(path[1:], 1):
        # What a value has is not known; what a module makes when it is asked for it neither.
        if not isinstance(here, (type, ModuleType)):
            return True
        bare = part.removesuffix("()")
        dotted = ".".join(path[: place + 1])
        owners = here.__mro__ if isinstance(here, type) else (here,)
        owner = next((one for one in owners if bare in vars(one)), None)
        if owner is not None:
            found: object = vars(owner)[bare]
        elif dotted in _SUBMODULES:
            found = _module(dotted)
        else:
            return False
        # What a function returns is not known; what a class makes is one of it.
        if part != bare and not isinstance(found, type):
            return True
        here = found
    return True


_SUBMODULES = words_of(
    "collections.abc html.parser json.decoder logging.config logging.handlers os.path"
    " urllib.error urllib.parse urllib.request"
)
