"""`python -m attacks`: how many claims' verdicts attacks change, by question, place and judge."""

from __future__ import annotations

import asyncio
import sys

import typer

from attacks.judges import KINDS
from attacks.measuring import FORMS, PLACES, measure
from attacks.texts import attacks


async def _main() -> None:
    shown = "--flips" in sys.argv
    typer.echo(f"{len(attacks())} attacks at each place; claims whose verdict changes, of all\n")
    typer.echo("| question | attack in | " + " | ".join(KINDS) + " |")
    typer.echo("|---|---|" + "---|" * len(KINDS))
    for form in FORMS:
        for place in PLACES[form]:
            counts = [await measure(form, place, kind) for kind in KINDS]
            cells = [
                f"{len(c.flips)} of {c.claims} ({len(c.flips) / c.claims:.1%})" for c in counts
            ]
            typer.echo(f"| {form} | {place} | " + " | ".join(cells) + " |")
            for kind, count in zip(KINDS, counts, strict=True) if shown else ():
                for flip in count.flips:
                    typer.echo(f"  {kind}: {flip}")


if __name__ == "__main__":
    asyncio.run(_main())
