"""Runs another library in its own environment, where nothing of Resay is.

`python peer_worker.py NAME` reads JSON documents from standard input, one on each line: the first
has the settings of the library, each further one starts one turn. It answers each with a line:
first the version, then the seconds that a turn took, with its scores where those are compared.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

__all__ = ["main"]

Turn = Callable[[], object]


def _selfcheckgpt(settings: Mapping[str, Any]) -> Turn:
    import spacy
    from selfcheckgpt.modeling_selfcheck import SelfCheckNgram

    if not spacy.util.is_package("en_core_web_sm"):
        # spaCy does not publish it where pip looks. A blank pipeline splits alike, and is quicker.
        def blank(name: str) -> Any:
            nlp = spacy.blank("en")
            nlp.add_pipe("sentencizer")
            return nlp

        spacy.load = blank
    scorer = SelfCheckNgram(n=1)

    def turn() -> None:
        for item in settings["items"]:
            scorer.predict(item["sentences"], item["passage"], item["samples"])

    return turn


def _uqlm(settings: Mapping[str, Any]) -> Turn:
    from uqlm import BlackBoxUQ

    scorer = BlackBoxUQ(scorers=["exact_match"])
    responses: Sequence[str] = [item["passage"] for item in settings["items"]]
    samples = [item["samples"] for item in settings["items"]]
    return lambda: scorer.score(responses, samples, show_progress_bars=False)


def _uqlm_asking(settings: Mapping[str, Any]) -> Turn:
    from langchain_openai import ChatOpenAI
    from uqlm import BlackBoxUQ

    model = ChatOpenAI(model=settings["model"], base_url=settings["api_base"], api_key="simulated")
    scorer = BlackBoxUQ(llm=model, scorers=["exact_match"])

    async def ask() -> None:
        await scorer.generate_and_score(
            [settings["question"]], num_responses=settings["samples"], show_progress_bars=False
        )

    # Connections stay open, on the loop that they were opened on.
    loop = asyncio.new_event_loop()
    return lambda: loop.run_until_complete(ask())


def _openai_guardrails(settings: Mapping[str, Any]) -> Turn:
    from guardrails import GuardrailsAsyncOpenAI

    check = {
        "name": "Hallucination Detection",
        "config": {
            "model": settings["model"],
            "confidence_threshold": 0.7,
            "knowledge_source": "vs_simulated",
        },
    }
    config = {"version": 1, "output": {"version": 1, "guardrails": [check]}}
    client = GuardrailsAsyncOpenAI(
        config=config,
        raise_guardrail_errors=True,
        base_url=settings["api_base"],
        api_key="simulated",
    )
    messages = [{"role": "user", "content": settings["question"]}]
    loop = asyncio.new_event_loop()

    async def ask() -> None:
        await client.chat.completions.create(model=settings["model"], messages=messages)

    return lambda: loop.run_until_complete(ask())


def _uqlm_matrices(settings: Mapping[str, Any]) -> Turn:
    """Run uqlm's own arithmetic on matrices: only the classifier and the chat model are ours."""
    import numpy as np
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from uqlm.longform.graph.graph_scorer import GraphScorer
    from uqlm.longform.luq.unit_response import UnitResponseScorer
    from uqlm.nli import NLI, EntailmentClassifier
    from uqlm.nli.cluster import SemanticClusterer
    from uqlm.scorers import SemanticDensity, SemanticEntropy
    from uqlm.white_box.p_true import PTrueScorer

    class MatrixNli(NLI):
        def __init__(self, matrix: Mapping[str, Sequence[float]]) -> None:
            self.label_mapping = ["contradiction", "neutral", "entailment"]
            self.probabilities: dict[Any, Any] = {}  # uqlm's own cache
            self.matrix = matrix
            self.calls = 0

        def predict_batch(self, pairs: Sequence[tuple[str, str]]) -> Any:
            self.calls += len(pairs)
            # The prompt stands before each text, with a line of its own.
            return np.array([self.matrix[f"{a.strip()}>{b.strip()}"] for a, b in pairs])

    def bare(kind: Any, **attributes: Any) -> Any:
        # uqlm's constructors load a model.
        scorer = kind.__new__(kind)
        vars(scorer).update(attributes)
        return scorer

    def tokens_of(logprobs: Sequence[float]) -> list[dict[str, float]]:
        return [{"logprob": logprob} for logprob in logprobs]

    def scores_of(case: Mapping[str, Any]) -> dict[str, Any]:
        texts, claims = case["texts"], case["claims"]
        logprobs = [tokens_of(row) for row in case["logprobs"]]

        def with_matrix(kind: Any, **attributes: Any) -> tuple[Any, MatrixNli]:
            nli = MatrixNli(case["probabilities"])
            return bare(kind, nli=nli, verbose=False, length_normalize=True, **attributes), nli

        entropy, by_entropy = with_matrix(SemanticEntropy)
        entropy.clusterer = SemanticClusterer(nli=by_entropy)
        _, discrete, weighted, sets = entropy._semantic_entropy_process(
            candidates=texts, logprobs_results=logprobs, prompts_in_nli=False
        )
        density, by_density = with_matrix(SemanticDensity)
        dense, _ = density._semantic_density_process(
            prompt="",
            original_response=texts[0],
            candidates=texts[1:],
            logprobs_results=logprobs[1:],
        )
        units, by_units = with_matrix(UnitResponseScorer, progress_bar=None, matched_claim=False)
        scores = units.evaluate([claims], [texts[1:]]).to_dict()
        graph, _ = with_matrix(GraphScorer, nli_llm=None)
        (adjacency,) = graph._compute_adjacency_matrices([texts], [claims])
        built = graph._construct_bipartite_graph(adjacency, len(claims), len(texts), 0.5)
        metrics = graph._calculate_claim_node_graph_metrics(built, len(claims), len(texts))
        replies = [AIMessage("Yes")] * (len(claims) * (len(texts) - 1))
        judge_calls = 0

        class CountedChatModel(GenericFakeChatModel):
            def _generate(self, *args: Any, **kwargs: Any) -> Any:
                nonlocal judge_calls
                judge_calls += 1
                return super()._generate(*args, **kwargs)

        judge = EntailmentClassifier(nli_llm=CountedChatModel(messages=iter(replies)))
        asyncio.run(judge.evaluate_claim_entailment([texts[1:]], [claims]))
        p_true = [
            PTrueScorer._extract_ptrue_from_logprobs_result(tokens) for tokens in case["options"]
        ]
        return {
            "entropy": float(discrete),
            "entropy, weighted": float(weighted),
            "sets": sets,
            "density, weighted": float(dense),
            "luq": scores["contrasted_entailment"][0],
            "entailment": scores["entailment"][0],
            "closeness": [metrics["closeness_centrality"][i] for i in range(len(claims))],
            "p_true": [float(p) for p in p_true],
            "calls": {
                "entropy": by_entropy.calls,
                "density": by_density.calls,
                "entailment": by_units.calls,
                "judge": judge_calls,
            },
        }

    return lambda: [scores_of(case) for case in settings["cases"]]


_PEERS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Turn]]] = {
    "selfcheckgpt": ("selfcheckgpt", _selfcheckgpt),
    "uqlm": ("uqlm", _uqlm),
    "uqlm asking": ("uqlm", _uqlm_asking),
    "uqlm matrices": ("uqlm", _uqlm_matrices),
    "openai-guardrails": ("openai-guardrails", _openai_guardrails),
}


def main() -> None:
    """Serve turns until standard input ends."""
    # What a library prints must not come between the lines.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    package, prepare = _PEERS[sys.argv[1]]
    turn = prepare(json.loads(sys.stdin.readline()))
    turn()  # Loading at the first use is not measured.
    print(json.dumps({"version": version(package)}), file=answers, flush=True)
    for _ in sys.stdin:
        started, worked = time.perf_counter(), time.process_time()
        scores = turn()
        result: dict[str, Any] = {
            "cpu_s": time.process_time() - worked,
            "wall_s": time.perf_counter() - started,
        }
        if isinstance(scores, list):
            result["scores"] = scores
        print(json.dumps(result), file=answers, flush=True)


if __name__ == "__main__":
    main()
