"""The interface of a network, which runs encoded batches on a backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from resay.models.encoding import Batch, TextEncoder

Kind = Literal[
    "classification",
    "multiple_choice",
    "embedding",
    "causal",
    "token_classification",
    "first_token",
]
"""The output of a network: logits for each item; one logit for each item, to be compared among
several items; a vector for each token; the probability of each token given those before it; logits
for each token; or the logits of the two tokens that may begin a generated answer."""

Pooling = Literal["mean", "cls"]
"""How token vectors are combined into a text vector: their mean, or the first token's."""


@dataclass(frozen=True, slots=True)
class Traits:
    """The properties of a network.

    Attributes:
        labels: The names of its logits, in lower case and in order; empty if they have none.
        pad_id: The id of the padding token.
        device: The device, such as `cpu` or `cuda:0`. Each device runs one batch at a time.
        alone: Whether each item must be computed alone, because its result depends on the rest of
            its batch: numbers are rounded relative to the largest in the batch.
        lanes: How many batches it computes at the same time, each called on a thread of its own.
        pooling: How token vectors are combined into a text vector.
    """

    labels: tuple[str, ...] = ()
    pad_id: int = 0
    device: str = "cpu"
    alone: bool = False
    lanes: int = 1
    pooling: Pooling = "mean"

    @property
    def on_gpu(self) -> bool:
        """Whether the network runs on a GPU."""
        return self.device != "cpu"


class Network(Protocol):
    """A neural network. As many threads use it at a time as it has lanes."""

    @property
    def traits(self) -> Traits:
        """The network's properties."""
        ...

    def run(self, batch: Batch) -> NDArray[np.float32]:
        """Compute a batch.

        Returns:
            An array whose first axis is the batch's items. If the output has a value for each
            token, the second axis is the tokens.
        """
        ...


@dataclass(frozen=True, slots=True)
class Loaded:
    """A network with its tokenizer.

    Attributes:
        network: The network.
        encoder: The tokenizer.
    """

    network: Network
    encoder: TextEncoder
