"""What a large model answered as the judge, and what comes of its answers.

380 answers by authors who knew neither Resay nor its cases: claims of actions, answers from
documents, and contradictions of earlier turns. A frontier model of 2026 got the prompt about each,
once and alone, and its answer was recorded word for word. Later prompts may differ a little.
"""
