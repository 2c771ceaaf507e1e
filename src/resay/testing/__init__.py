"""What tests of an application that uses Resay need: a provider that makes things up on purpose.

`SimulatedProvider` serves OpenAI's chat completions API on this machine (extra `server`). What it
knows and makes up is a `World`; what goes wrong with it is a list of faults. It is its own judge:
the questions of every judged method are answered by what it knows.
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
)
from resay.testing.simulated import RequestRecord, SimulatedProvider
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
    "Statement",
    "Subject",
    "World",
]
