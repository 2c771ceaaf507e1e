"""A classifier of texts and pairs on Ray Serve that answers as text-embeddings-inference does.

    serve run ray_serve:app model=potsawee/deberta-v3-large-mnli gpus=1 max_replicas=4

It needs `pip install 'resay[nli]' 'ray[serve]'`. A policy names it as it names a TEI server:
`{backend: tei, url: http://127.0.0.1:8000}`. docs/models.md says how to protect Ray's own ports.
"""

import asyncio
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import FastAPI, HTTPException, Response
from pydantic import BaseModel, Field
from ray import serve
from ray.serve import Application

from resay.models import ModelConfig
from resay.models.arrays import softmax
from resay.models.encoding import Encoded, pad
from resay.models.torch_network import load

Texts = Annotated[list[str], Field(min_length=1, max_length=2)]


class Options(BaseModel, extra="forbid"):
    """The settings in `serve run ray_serve:app NAME=VALUE …`."""

    model: str = Field(description="A folder, or a classifier on the Hugging Face hub.")
    precision: Literal["auto", "fp32", "fp16", "bf16"] = "auto"
    gpus: float = Field(0, ge=0, description="GPUs per replica; two replicas with 0.5 share one.")
    cpus: float = Field(1, gt=0, description="Cores per replica.")
    min_replicas: int = Field(1, ge=0)
    max_replicas: int = Field(1, ge=1)
    target_requests: float = Field(8, gt=0, description="Per replica; above it, more start.")
    batch_size: int = Field(32, ge=1, description="Texts or pairs that are computed together.")


class Predict(BaseModel):
    """The body of `/predict`. As in TEI, a plain list of two texts is one pair."""

    inputs: str | Texts | Annotated[list[Texts], Field(min_length=1)]
    raw_scores: bool = False
    truncate: Literal[False] = False


class Tokenize(BaseModel):
    """The body of `/tokenize`."""

    inputs: str | list[str]
    add_special_tokens: bool = True


api = FastAPI()


@serve.deployment(max_ongoing_requests=64)
@serve.ingress(api)
class Classifier:
    """One replica, with a model that reads both texts and pairs."""

    def __init__(self, options: Options) -> None:
        config = ModelConfig(name=options.model, backend="torch", precision=options.precision)
        loaded = load(config, "classification")
        self.network, self.encoder = loaded.network, loaded.encoder
        self.name, self.max_items = options.model, options.batch_size
        # A model that reads any number of tokens has no room; TEI always states a limit.
        self.limit = (self.encoder.max_pair_tokens or 1_000_000) + len(self.encode(["", ""]))
        self.compute.set_max_batch_size(options.batch_size)

    @serve.batch(batch_wait_timeout_s=0.002)
    async def compute(self, items: list[Encoded]) -> list[np.ndarray]:
        """Return the logits of items, which may come from several requests."""
        batch = pad(items, self.network.traits.pad_id)
        return list(await asyncio.to_thread(self.network.run, batch))

    @api.get("/info")
    async def info(self) -> dict[str, Any]:
        """Describe the model."""
        labels = self.network.traits.labels
        kind = "classifier" if len(labels) > 1 else "reranker"
        return {
            "model_id": self.name,
            "model_type": {kind: {"id2label": {str(i): name for i, name in enumerate(labels)}}},
            "max_input_length": self.limit,
            "max_client_batch_size": self.max_items,
        }

    @api.post("/tokenize")
    async def tokenize(self, body: Tokenize) -> list[list[dict[str, Any]]]:
        """Return the tokens of texts."""
        texts = [body.inputs] if isinstance(body.inputs, str) else body.inputs
        return [
            [
                {"id": i, "text": text[a:b], "special": bool(special), "start": a, "stop": b}
                for i, special, (a, b) in zip(encoded.ids, encoded.special, spans, strict=True)
                if body.add_special_tokens or not special
            ]
            for text in texts
            for encoded, spans in [self.encoder.spans(text)]
        ]

    @api.post("/predict")
    async def predict(self, body: Predict, response: Response) -> list[Any]:
        """Return the labels of texts or pairs with their scores, the highest score first."""
        batch = isinstance(body.inputs, list) and isinstance(body.inputs[0], list)
        rows = body.inputs if batch else [body.inputs]
        if len(rows) > self.max_items:
            raise HTTPException(413, f"at most {self.max_items} inputs; there are {len(rows)}")
        items = [self.encode(row) for row in rows]
        for item in items:
            if not self.encoder.fits(item):
                raise HTTPException(413, f"at most {self.limit} tokens; there are {len(item)}")
        scores = np.stack(await asyncio.gather(*map(self.compute, items))).astype(np.float64)
        response.headers["x-compute-tokens"] = str(sum(map(len, items)))
        found = [self.ranked(row) for row in (scores if body.raw_scores else softmax(scores))]
        return found if batch else found[0]

    def encode(self, texts: str | list[str]) -> Encoded:
        """Encode a text or a pair, however long it is."""
        first, *second = [texts] if isinstance(texts, str) else texts
        return self.encoder.pairs([(first, *second)])[0] if second else self.encoder.spans(first)[0]

    def ranked(self, row: np.ndarray) -> list[dict[str, Any]]:
        """Name the scores of one item."""
        named = zip(self.network.traits.labels, row.tolist(), strict=True)
        return [{"label": n, "score": s} for n, s in sorted(named, key=lambda pair: -pair[1])]


def app(options: Options) -> Application:
    """Build the application, as `serve run` asks for it."""
    return Classifier.options(
        ray_actor_options={"num_gpus": options.gpus, "num_cpus": options.cpus},
        autoscaling_config={
            "min_replicas": options.min_replicas,
            "max_replicas": options.max_replicas,
            "target_ongoing_requests": options.target_requests,
        },
    ).bind(options)
