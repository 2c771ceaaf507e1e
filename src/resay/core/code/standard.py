"""Python's standard library: which names are known to belong to it."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from types import ModuleType

from resay.core.code.names import CodeName, Path
from resay.lang.tables import word_set

# Modules whose import has no side effects.
_LOOKED_INTO = word_set(
    "argparse asyncio base64 collections contextlib copy csv dataclasses datetime decimal enum"
    " functools glob hashlib heapq html io itertools json logging math operator os pathlib pickle"
    " random re secrets shutil socket statistics string struct subprocess sys tempfile textwrap"
    " threading time typing urllib uuid"
)
_SUBMODULES = word_set(
    "collections.abc html.parser json.decoder logging.config logging.handlers os.path"
    " urllib.error urllib.parse urllib.request"
)


def is_standard(name: CodeName) -> bool:
    """Whether a name is known to belong to Python's standard library.

    Members of the more common modules are looked up in the module; members of the others are
    assumed to exist.
    """
    if name.language != "python" or name.kind in {"install", "flag"}:
        return False
    module = name.path[0]
    if module not in sys.stdlib_module_names:
        return False
    return name.kind == "package" or module not in _LOOKED_INTO or _is_defined(name.path)


def _is_defined(path: Path) -> bool:
    """Whether the members of a module that are looked into exist, as far as can be known."""
    owner: object = _module(path[0])
    for index, part in enumerate(path[1:], 1):
        # The attributes of a value are unknown, and so are those that a module creates on access.
        if not isinstance(owner, (type, ModuleType)):
            return True
        name = part.removesuffix("()")
        dotted = ".".join(path[: index + 1])
        bases = owner.__mro__ if isinstance(owner, type) else (owner,)
        base = next((base for base in bases if name in vars(base)), None)
        if base is not None:
            member: object = vars(base)[name]
        elif dotted in _SUBMODULES:
            member = _module(dotted)
        else:
            return False
        is_call = part != name
        # The result of a function is unknown; that of a class is an instance of it.
        if is_call and not isinstance(member, type):
            return True
        owner = member
    return True


@cache
def _module(name: str) -> object | None:
    try:
        return import_module(name)
    except ImportError:
        return None
