"""
The write side: everything that runs in the agent's process.

The verbs users call are in `traced_runs`, `verbs` and `decorators`; every call goes through `calls`, every event
through `walk`. Nothing here raises into the program, except the guardrail it asked for.
"""
