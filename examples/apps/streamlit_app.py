"""Paste an answer and other answers to the same question, and see what is in doubt.

pip install resay streamlit
streamlit run examples/apps/streamlit_app.py
"""

import streamlit as st

from resay import Guard

guard = Guard({"chain": [{"method": "facts"}], "sampling": {"min": 2}})

st.title("What is in doubt?")
answer = st.text_area("Answer")
others = st.text_area("Others, one a line")
if st.button("Check") and answer:
    samples = [line for line in others.splitlines() if line.strip()]
    verdict = guard.check(answer, samples=samples)
    st.html(verdict.to_html(answer))
    st.dataframe(verdict.to_frame(), hide_index=True)
