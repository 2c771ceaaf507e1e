"""The simulator of `resay.testing`, with what only this project's own tests need.

`SimulatedProvider` also has completions, responses and messages, tools, objects of a schema and
log-probabilities, and answers the questions of every judged method; `SimulatedInference` is a
server of classifiers and embedders. The server, the faults and the world are those of
`resay.testing`.
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
    BrokenStream,
    IgnoreLogprobs,
    IgnoreStreamOptions,
    RefusedLogprobs,
    RefusedStreamOptions,
)
from simulation.inference import SimulatedInference
from simulation.provider import RequestRecord, SimulatedProvider

__all__ = [
    "BrokenStream",
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
