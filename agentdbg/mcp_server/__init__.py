"""
The stored runs for coding assistants, over the Model Context Protocol: what `agentdbg mcp` serves.

    reader       the data folder and the runs that were asked for, held open between questions
    arguments    what a tool takes, said as a JSON Schema and checked kindly
    answers      answers that fit: every one has a size, and a way to ask for more
    tools_*      the tools, by subject;  `tools` is the list of them
    resources    the same runs by address, agentdbg://runs/…
    protocol     the official SDK, in either of its major versions

Nothing here writes a file, not even a cache, and only `protocol` knows the SDK.
"""
