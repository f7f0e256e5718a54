"""Recording a program that was not changed for it: `agentdbg run`, AGENTDBG_AUTO and child processes."""
