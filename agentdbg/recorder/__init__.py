"""
The write side: everything that runs in the agent's process.

The verbs users call are in `tracing`, `recording` and `seams`; the walk of an event is `pipeline`. Nothing here raises
into the program, except the guardrail it asked for.
"""
