"""The full simulator of our tests: the APIs of OpenAI, Anthropic and inference servers.

`SimulatedProvider` has chat completions, completions, responses and messages, with tools, objects
in a wanted form, log-probabilities, and judges for every method's questions; with `gullible` it
does what somebody hid in documents. It reads the APIs for itself, apart from Resay's own code. Its
world and most of its faults are those of `resay.testing`, which is what users get.
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
