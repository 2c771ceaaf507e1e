"""Guard a LangChain agent: one middleware, the verdict in the agent's state.

pip install 'resay[langchain]' langchain-openai langchain

Run with OPENAI_API_KEY set, or point OPENAI_BASE_URL at any OpenAI-compatible server.
"""

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from resay_langchain import HallucinationMiddleware, verdict_of


def population(city: str) -> str:
    """Say how many people live in a city."""
    return f"About 5.3 million people live in {city}."


def weather(city: str) -> str:
    """Say what the weather is like in a city."""
    return f"It is sunny in {city}."


def ask(question: str, middleware: HallucinationMiddleware) -> None:
    model = ChatOpenAI(model="gpt-4.1-mini")
    agent = create_agent(model, tools=[population, weather], middleware=[middleware])
    state = agent.invoke({"messages": [("user", question)]})
    verdict = verdict_of(state)
    print(state["messages"][-1].text)
    print(f"  {verdict.decision}: {verdict.reason}")


# Turns that call tools pass; the answer is checked, and comes with its verdict.
ask("What is the weather in Sydney?", HallucinationMiddleware())

# What the model cannot say the same way twice is replaced by a message. "end" stops the agent there
# too, and "error" raises HallucinationBlocked.
careful = HallucinationMiddleware(
    exit_behavior="replace", violation_message="I am not sure enough about that."
)
ask("Tell me about the Sydney Harbour Bridge.", careful)
