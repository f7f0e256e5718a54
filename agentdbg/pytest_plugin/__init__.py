"""
What stands behind the fixture `agentdbg_run`: record a test, give its run back, check it, keep its baseline.

The hooks are in `pytest_agentdbg`, a module of its own, so that a pytest that records nothing loads nothing of ours.
"""
