"""The error of a request that cannot be met; the command reports it without a traceback."""

__all__ = ["RefusalError"]


class RefusalError(Exception):
    """A request that cannot be met for a reason outside the program."""
