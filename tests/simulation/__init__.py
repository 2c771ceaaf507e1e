"""What tests of an application that uses Resay need: a provider that makes things up on purpose.

`SimulatedProvider` serves OpenAI's completions and responses APIs and Anthropic's messages API on
this machine (extra `server`). What it knows and makes up is a `World`; what goes wrong with it is a
list of faults. It is its own judge: the questions of every judged method are answered by what it
knows. Shown documents to write a flagged answer again, it goes by them; with `gullible` it also
does what somebody hid in them.
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
from resay.testing.world import Invention, Reply, Statement, Subject, World
from simulation.faults import (
    IgnoreLogprobs,
    IgnoreStreamOptions,
    RefusedLogprobs,
    RefusedStreamOptions,
)
from simulation.inference import SimulatedInference
from simulation.simulated import RequestRecord, SimulatedProvider

__all__ = [
    "CutConnection",
    "EmptyAnswer",
    "Fault",
    "Garbled",
    "Hang",
    "IdenticalSamples",
    "IgnoreLogprobs",
    "IgnoreN",
    "IgnoreStreamOptions",
    "Invention",
    "MalformedJson",
    "RateLimited",
    "Refused",
    "RefusedLogprobs",
    "RefusedStreamOptions",
    "Reply",
    "RequestRecord",
    "ServerError",
    "SimulatedInference",
    "SimulatedProvider",
    "Slow",
    "Stall",
    "Statement",
    "Subject",
    "World",
]
