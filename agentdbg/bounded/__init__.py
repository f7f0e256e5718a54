"""
Read files from elsewhere within bounds.

A file that somebody sent, or that lies in a checkout, may be made to take all memory: gzip and zip unpack to a thousand
times their size, three bytes of JSON become seventy in memory, YAML names one list a million times. Whatever is over
its bound raises `TooMuch`, whose sentence says which bound it was, before the memory is taken.
"""

from __future__ import annotations

__all__ = ["TooMuch"]


class TooMuch(ValueError):
    """A file holds more than is read of such a file."""
