"""
Every private name of a framework that an integration touches, with the reason why there is no other way.

This is where to look first when a new release of a framework breaks something. A test keeps such names out of all other
files.
"""

from __future__ import annotations

__all__ = [
    "AGENTS_INVOKE",
    "AGENTS_INVOKED",
    "AIOHTTP_BASE_URL",
    "AIOHTTP_CONNECTION_KEY",
    "AIOHTTP_RAISES",
    "AIOHTTP_REQUEST",
    "AIOHTTP_RESPONSE",
    "CLAUDE_QUERIES",
    "CLIENT_RETRY_SLEEP",
    "CREWAI_PASSED_THROUGH",
    "DSPY_TRANSPORTS",
    "GENAI_TOOLS",
    "LANGCHAIN_INJECTED",
    "LITELLM_HIDDEN_PARAMETERS",
    "LLAMA_INDEX_FUTURE",
    "PYDANTIC_AI_BILLED",
    "PYDANTIC_AI_CAPABILITIES",
    "PYDANTIC_AI_SAFE_AT_RUNTIME",
    "SEMANTIC_KERNEL_INVOKE",
    "STREAM_ITERATOR",
    "TOOL_METHODS",
    "URLLIB3_CHUNK_READ",
    "URLLIB3_METHOD",
    "URLLIB3_READS",
]

AGENTS_INVOKE = ("_invoke_function_tool_with_metadata", "invoke_function_tool")
"""agents: the function that calls a function tool, in newer and older releases; tools hold only their own code."""

AGENTS_INVOKED = "_FunctionToolInvocationResult"
"""agents: what newer releases wrap around what a tool gave."""

AIOHTTP_BASE_URL = "_base_url"
"""aiohttp: in a session, what addresses are relative to."""

AIOHTTP_CONNECTION_KEY = "_conn_key"
"""aiohttp: in an exception, where the connection was to lead."""

AIOHTTP_RAISES = "_raise_for_status"
"""aiohttp: in a session, whether an answer with an error's status is raised."""

AIOHTTP_REQUEST = "_request"
"""aiohttp: the one method of a session that all its requests go through."""

AIOHTTP_RESPONSE = {"class": "_response_class", "headers": "_headers", "raw headers": "_raw_headers"}
"""aiohttp: the class of a session's responses, and what a response has of its head; nothing public makes one."""

STREAM_ITERATOR = "_iterator"
"""openai, anthropic: the iterator in a stream that every way to read it goes through."""

CLAUDE_QUERIES = "claude_agent_sdk._internal.client"
"""claude_agent_sdk: where `query` is answered; programs hold the function itself by a name of their own."""

CLIENT_RETRY_SLEEP = "_sleep_for_retry"
"""openai, anthropic: called between an attempt that failed and the next; nothing else tells of the first one."""

CREWAI_PASSED_THROUGH = "_passthrough_exceptions"
"""crewai.agent.core: the exceptions after which an agent is not tried again; a limit's has to be among them."""

DSPY_TRANSPORTS = "dspy._vendor.lm15.transports"
"""dspy: the HTTP client that it carries with it, since 3.4."""

GENAI_TOOLS = "google.genai._extra_utils"
"""google.genai: where the functions that it was given as tools are called; it tells nobody."""

LANGCHAIN_INJECTED = "_filter_injected_args"
"""langchain_core: in a tool, what takes out the arguments that the graph gives and the model does not."""

TOOL_METHODS = ("_run", "_arun")
"""langchain_core, crewai: what every class of tools is written with; nothing else runs a tool's own code."""

LITELLM_HIDDEN_PARAMETERS = "_hidden_params"
"""litellm: where a response keeps what it cost."""

LLAMA_INDEX_FUTURE = "_result_task"
"""llama_index: in what a workflow gives when it is started, the task that ends with it."""

PYDANTIC_AI_BILLED = "_usage_response_ledger"
"""pydantic_ai: in a request, what came of an answer whose reader went away."""

PYDANTIC_AI_CAPABILITIES = "_root_capability"
"""pydantic_ai: in an agent, the capabilities that it was made with, so that ours is not added twice."""

PYDANTIC_AI_SAFE_AT_RUNTIME = "_safe_at_runtime"
"""pydantic_ai: in a capability, that it may be added to an agent under durable execution, since it only looks on."""

SEMANTIC_KERNEL_INVOKE = "_invoke_internal"
"""semantic_kernel: where a function of the program's own is called; `invoke` is also that of a prompt."""

STRANDS_FUNCTION = "_tool_func"
"""strands: in a tool, the function behind it, whose result its events are made of."""

URLLIB3_CHUNK_READ = "_safe_read"
"""http.client: how urllib3 reads the bytes of a chunk."""

URLLIB3_METHOD = "_method"
"""http.client: in a response, the method of its request; urllib3 asks whether it was HEAD."""

URLLIB3_READS = ("_fp_read", "_handle_chunk", "_update_chunk_length")
"""urllib3: in a response, the ways to read from its connection; all others end in them."""
