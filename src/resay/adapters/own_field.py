"""The field of a request's body that is for the guard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from resay.core.references import Reference, own_reference
from resay.errors import ConfigurationError
from resay.providers.apis import Body

OWN_FIELD = "resay"
"""The field of a request's body that is for the guard, and is not forwarded."""
_MAX_REFERENCES, _MAX_CHARS = 200, 200_000


def without_own_field(body: Body) -> Body:
    """Return a request's body without the guard's own field."""
    return {name: value for name, value in body.items() if name != OWN_FIELD}


def references_in(body: Body) -> tuple[Reference, ...]:
    """Return the references in the guard's own field of a request, without blank ones.

    Raises:
        ConfigurationError: The field is not valid.
    """
    if OWN_FIELD not in body:
        return ()
    own: object = body[OWN_FIELD]
    fields: Mapping[str, object] = {}
    if isinstance(own, Mapping):
        fields = cast("Mapping[str, object]", own)
    entries = fields.get("references")
    if set(fields) != {"references"} or not isinstance(entries, list):
        raise ConfigurationError(f"`{OWN_FIELD}` must be an object with a list of `references`")
    references: list[Reference] = []
    for index, entry in enumerate(cast("list[object]", entries)):
        if not isinstance(_text_of(entry), str):
            raise ConfigurationError(
                f"each of `{OWN_FIELD}.references` must be a string, or an object with a `text`"
            )
        reference = own_reference(entry, f"{OWN_FIELD}.references[{index}]")
        if reference is not None:
            references.append(replace(reference, origin="given", label=None))
    longest = max((len(reference.text) for reference in references), default=0)
    if len(references) > _MAX_REFERENCES or longest > _MAX_CHARS:
        raise ConfigurationError(
            f"`{OWN_FIELD}.references` may contain at most {_MAX_REFERENCES} texts of"
            f" {_MAX_CHARS:,} characters each"
        )
    return tuple(references)


def _text_of(entry: object) -> object:
    if isinstance(entry, Mapping):
        return cast("Mapping[str, object]", entry).get("text")
    return entry
