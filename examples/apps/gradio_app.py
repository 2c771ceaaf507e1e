"""Paste an answer and other answers to the same question, and see what is in doubt.

pip install resay gradio
python examples/apps/gradio_app.py
"""

import gradio as gr

from resay import Guard

COLOURS = {
    "supported": "#8fd6ae",
    "doubtful": "#f0d080",
    "unsupported": "#f5b5ae",
    "contradicted": "#ee9187",
    "not checked": "#c4c8ce",
}
guard = Guard({"chain": [{"method": "facts"}], "sampling": {"min": 2}})


def check(answer: str, others: str) -> tuple[list[tuple[str, str | None]], str]:
    """Return the answer in coloured spans, and the verdict as HTML."""
    samples = [line for line in others.splitlines() if line.strip()]
    verdict = guard.check(answer, samples=samples)
    return verdict.spans(answer), verdict.to_html(answer)


app = gr.Interface(
    check,
    inputs=[gr.Textbox(label="Answer", lines=4), gr.Textbox(label="Others, one a line", lines=4)],
    outputs=[
        gr.HighlightedText(
            label="Answer", color_map=COLOURS, show_legend=True, show_inline_category=False
        ),
        gr.HTML(),
    ],
    title="What is in doubt?",
    flagging_mode="never",
)

if __name__ == "__main__":
    app.launch(server_name="127.0.0.1")
