"""Tools for testing applications that use Resay: a provider that hallucinates on purpose.

`SimulatedProvider` serves OpenAI's chat completions on this machine (extra `server`). A `World`
defines what it knows and makes up; a list of faults defines how it fails. It is its own judge. If
shown documents to rewrite a flagged answer, it follows them.

`ScriptedProvider` answers in memory, with the texts it is given: for tests of a scorer, a retriever
or a sink.
"""

from resay.providers.replay import ScriptedProvider
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
    "ScriptedProvider",
    "ServerError",
    "SimulatedProvider",
    "Slow",
    "Stall",
    "Statement",
    "Subject",
    "World",
]
