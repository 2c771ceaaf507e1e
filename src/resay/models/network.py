"""The seam to whatever multiplies the matrices."""

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
"""What a network gives: a row of logits for each item; one logit for each item, of which those of
several are compared; a vector for each token; the probability of each token after those before it;
a row of logits for each token; or the logits of two tokens, one of which is written first."""

Pooling = Literal["mean", "cls"]
"""How the vectors of a text's tokens become one: their mean, or the first token's."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What a network says of itself.

    Attributes:
        labels: The names of its logits, in lower case and in order; empty where it has none.
        pad_id: What fills up shorter texts.
        device: Where it runs, such as `cpu` or `cuda:0`. Each device does one thing at a time.
        alone: Whether the result of an item depends on the others of its batch, so that it must be
            computed alone: numbers are rounded by the largest of the whole batch.
        pooling: How the vectors of a text's tokens become one.
    """

    labels: tuple[str, ...] = ()
    pad_id: int = 0
    device: str = "cpu"
    alone: bool = False
    pooling: Pooling = "mean"

    @property
    def on_gpu(self) -> bool:
        """Whether it runs on a GPU."""
        return self.device != "cpu"


class Network(Protocol):
    """A neural network. It is used by one thread at a time."""

    @property
    def traits(self) -> Traits:
        """What it says of itself."""
        ...

    def run(self, batch: Batch) -> NDArray[np.float32]:
        """Compute a batch.

        Returns:
            An array whose first axis is that of the batch's items; for vectors, labels and
            probabilities of tokens the second is that of its tokens.
        """
        ...


@dataclass(frozen=True, slots=True)
class Loaded:
    """A network with what turns texts into its input.

    Attributes:
        network: The network.
        encoder: Its tokenizer.
    """

    network: Network
    encoder: TextEncoder
