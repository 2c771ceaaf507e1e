"""Runs another library in its own environment, where nothing of Resay is.

`python peer_worker.py NAME` reads JSON documents from standard input, one on each line: the first
is what the library is given, each further one asks for one turn. It answers with a line each:
first the version, then what a turn took, and what it found where that is compared.
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


def _selfcheckgpt(given: Mapping[str, Any]) -> Turn:
    import spacy
    from selfcheckgpt.modeling_selfcheck import SelfCheckNgram

    if not spacy.util.is_package("en_core_web_sm"):
        # spaCy does not publish it where pip looks. A blank one splits texts alike, and is quicker.
        def blank(name: str) -> Any:
            nlp = spacy.blank("en")
            nlp.add_pipe("sentencizer")
            return nlp

        spacy.load = blank
    scorer = SelfCheckNgram(n=1)

    def turn() -> None:
        for item in given["items"]:
            scorer.predict(item["sentences"], item["passage"], item["samples"])

    return turn


def _uqlm(given: Mapping[str, Any]) -> Turn:
    from uqlm import BlackBoxUQ

    scorer = BlackBoxUQ(scorers=["exact_match"])
    responses: Sequence[str] = [item["passage"] for item in given["items"]]
    samples = [item["samples"] for item in given["items"]]
    return lambda: scorer.score(responses, samples, show_progress_bars=False)


def _uqlm_asking(given: Mapping[str, Any]) -> Turn:
    from langchain_openai import ChatOpenAI
    from uqlm import BlackBoxUQ

    model = ChatOpenAI(model=given["model"], base_url=given["api_base"], api_key="simulated")
    scorer = BlackBoxUQ(llm=model, scorers=["exact_match"])

    async def ask() -> None:
        await scorer.generate_and_score(
            [given["question"]], num_responses=given["samples"], show_progress_bars=False
        )

    loop = (
        asyncio.new_event_loop()
    )  # Its connections stay open, on the loop that they were opened on.
    return lambda: loop.run_until_complete(ask())


def _openai_guardrails(given: Mapping[str, Any]) -> Turn:
    from guardrails import GuardrailsAsyncOpenAI

    check = {
        "name": "Hallucination Detection",
        "config": {
            "model": given["model"],
            "confidence_threshold": 0.7,
            "knowledge_source": "vs_simulated",
        },
    }
    config = {"version": 1, "output": {"version": 1, "guardrails": [check]}}
    client = GuardrailsAsyncOpenAI(
        config=config,
        raise_guardrail_errors=True,
        base_url=given["api_base"],
        api_key="simulated",
    )
    messages = [{"role": "user", "content": given["question"]}]
    loop = asyncio.new_event_loop()

    async def ask() -> None:
        await client.chat.completions.create(model=given["model"], messages=messages)

    return lambda: loop.run_until_complete(ask())


def _uqlm_matrices(given: Mapping[str, Any]) -> Turn:
    """Its own arithmetic on given matrices: only the classifier and the chat model are ours."""
    import numpy as np
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from uqlm.longform.graph.graph_scorer import GraphScorer
    from uqlm.longform.luq.unit_response import UnitResponseScorer
    from uqlm.nli import NLI, EntailmentClassifier
    from uqlm.nli.cluster import SemanticClusterer
    from uqlm.scorers import SemanticDensity, SemanticEntropy
    from uqlm.white_box.p_true import PTrueScorer

    class Given(NLI):
        def __init__(self, known: Mapping[str, Sequence[float]]) -> None:
            self.label_mapping = ["contradiction", "neutral", "entailment"]
            self.probabilities: dict[Any, Any] = {}
            self.known, self.calls = known, 0

        def predict_batch(self, pairs: Sequence[tuple[str, str]]) -> Any:
            self.calls += len(pairs)
            # The prompt stands before each text, with a line of its own.
            return np.array([self.known[f"{a.strip()}>{b.strip()}"] for a, b in pairs])

    def bare(kind: Any, **attributes: Any) -> Any:
        # Its constructors load a model.
        made = kind.__new__(kind)
        vars(made).update(attributes)
        return made

    def found_in(case: Mapping[str, Any]) -> dict[str, Any]:
        texts, claims = case["texts"], case["claims"]
        logprobs = [[{"logprob": value} for value in row] for row in case["logprobs"]]

        def asked(kind: Any, **attributes: Any) -> tuple[Any, Given]:
            nli = Given(case["known"])
            return bare(kind, nli=nli, verbose=False, length_normalize=True, **attributes), nli

        entropy, by_entropy = asked(SemanticEntropy)
        entropy.clusterer = SemanticClusterer(nli=by_entropy)
        _, discrete, weighted, sets = entropy._semantic_entropy_process(
            candidates=texts, logprobs_results=logprobs, prompts_in_nli=False
        )
        density, by_density = asked(SemanticDensity)
        dense, _ = density._semantic_density_process(
            prompt="",
            original_response=texts[0],
            candidates=texts[1:],
            logprobs_results=logprobs[1:],
        )
        units, by_units = asked(UnitResponseScorer, progress_bar=None, matched_claim=False)
        scores = units.evaluate([claims], [texts[1:]]).to_dict()
        graph, _ = asked(GraphScorer, nli_llm=None)
        (adjacency,) = graph._compute_adjacency_matrices([texts], [claims])
        built = graph._construct_bipartite_graph(adjacency, len(claims), len(texts), 0.5)
        metrics = graph._calculate_claim_node_graph_metrics(built, len(claims), len(texts))
        replies = [AIMessage("Yes")] * (len(claims) * (len(texts) - 1))
        counted: list[object] = []

        class Counted(GenericFakeChatModel):
            def _generate(self, *arguments: Any, **named: Any) -> Any:
                counted.append(None)
                return super()._generate(*arguments, **named)

        judge = EntailmentClassifier(nli_llm=Counted(messages=iter(replies)))
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
                "judge": len(counted),
            },
        }

    return lambda: [found_in(case) for case in given["cases"]]


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
    turn()  # What is loaded at first use is no figure.
    print(json.dumps({"version": version(package)}), file=answers, flush=True)
    for _ in sys.stdin:
        started, worked = time.perf_counter(), time.process_time()
        found = turn()
        took: dict[str, Any] = {
            "cpu_s": time.process_time() - worked,
            "wall_s": time.perf_counter() - started,
        }
        if isinstance(found, list):
            took["found"] = found
        print(json.dumps(took), file=answers, flush=True)


if __name__ == "__main__":
    main()
