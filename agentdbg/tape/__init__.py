"""
What a replay needs of a run: every value of its calls, whole, redacted and once.
"""

from __future__ import annotations

from typing import Any

__all__ = ["program"]

program: dict[str, Any] = {"module": None, "seed": None, "whole": False}
"""What whoever started the program knows of it: its module, its random seed, whether the whole of it is one run."""
