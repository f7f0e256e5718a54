"""
A small scripted agent, recorded. It needs no key and no network, and ends in well under a second.

    python examples/minimal_agent/main.py
    agentdbg view
"""

from __future__ import annotations

from agentdbg import current_run, record_llm_call, record_state, tool, trace

WEATHER = {"Oslo": "rain, 7 degrees", "Lisbon": "sun, 19 degrees"}
SYSTEM = "You help people pack. Look up the weather of each city before you answer."


@tool
def get_weather(city: str) -> str:
    """A tool: its arguments, its result or exception, and its duration are recorded."""
    return WEATHER[city]


def ask_model(messages: list[dict[str, str]], answer: str) -> str:
    """Stands in for a model. With a real client you would record what it was sent and what it gave back."""
    prompt_tokens = sum(len(message["content"].split()) for message in messages)
    record_llm_call(
        model="scripted-model",
        prompt=messages,
        response=answer,
        usage={"prompt_tokens": prompt_tokens, "completion_tokens": len(answer.split())},
        stop_reason="stop",
    )
    messages.append({"role": "assistant", "content": answer})
    return answer


@trace(name="what to pack", max_llm_calls=10)
def pack(cities: list[str]) -> str:
    """One call of this function is one run."""
    messages = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": f"What do I pack for {' and '.join(cities)}?"},
    ]
    seen: dict[str, str] = {}
    for city in cities:
        ask_model(messages, f"I will look up the weather in {city}.")
        seen[city] = get_weather(city)
        messages.append({"role": "tool", "content": f"{city}: {seen[city]}"})
        record_state({"looked_up": list(seen), "left": len(cities) - len(seen)})
    run = current_run()
    if run is not None:  # None while AGENTDBG_ENABLED=0
        print(f"recording into {run.path}")
    return ask_model(messages, "A raincoat for Oslo, sunglasses for Lisbon.")


if __name__ == "__main__":
    print(pack(["Oslo", "Lisbon"]))
    print("See what happened with: agentdbg view")
