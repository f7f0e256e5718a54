"""`python -m agentdbg` is `agentdbg`."""

from agentdbg.cli import main

if __name__ == "__main__":
    main()
