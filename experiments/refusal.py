"""What cannot be done, and is told in a line: errors of computations have their traceback."""

__all__ = ["RefusalError"]


class RefusalError(Exception):
    """Something was asked for that cannot be done, for a reason outside the program."""
