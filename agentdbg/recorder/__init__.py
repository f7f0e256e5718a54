"""
The write side: everything that runs in the agent's process.

The verbs users call are in `tracing`, `recording` and `decorators`; every call goes through `around`, every event
through `pipeline`. Nothing here raises into the program, except the guardrail it asked for.
"""
