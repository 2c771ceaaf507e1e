"""What tests of an application that uses Resay need: a provider that makes things up on purpose.

`SimulatedProvider` serves OpenAI's chat completions on this machine (extra `server`). What it knows
and makes up is a `World`; what goes wrong with it is a list of faults. It is its own judge. Shown
documents to write a flagged answer again, it goes by them.
"""

from resay.testing.faults import (
    CutConnection,
    EmptyAnswer,
    Fault,
    Garbled,
    Hang,
    IdenticalSamples,
    IgnoreN,
    MalformedJson,
    RateLimited,
    Refused,
    ServerError,
    Slow,
    Stall,
)
from resay.testing.provider import SimulatedProvider
from resay.testing.server import RequestRecord
from resay.testing.world import Invention, Reply, Statement, Subject, World

__all__ = [
    "CutConnection",
    "EmptyAnswer",
    "Fault",
    "Garbled",
    "Hang",
    "IdenticalSamples",
    "IgnoreN",
    "Invention",
    "MalformedJson",
    "RateLimited",
    "Refused",
    "Reply",
    "RequestRecord",
    "ServerError",
    "SimulatedProvider",
    "Slow",
    "Stall",
    "Statement",
    "Subject",
    "World",
]
