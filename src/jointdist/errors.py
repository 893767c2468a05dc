"""Every way the library complains.

* ``ValueError``                   an argument breaks its rule
* ``JointdistError``

  - ``ExpressionError``            an event is no expression over columns
  - ``InfeasibleError``            the constraints of a model cannot be met
  - ``ModelFileError``             a file of a model cannot be read or written
  - ``NotPositiveDefiniteError``   a kernel is not positive semidefinite

* ``OutOfDistributionWarning``     many questions are unlike all rows that a model was fitted to
* ``SignedDistributionWarning``    a signed distribution has no mass, or a negative variance
* ``UnseenCategoryWarning``        a category that ``fit`` has not seen
* ``ToleranceWarning``             a result is returned, but less exact than asked for

Warnings are issued by :func:`warn_user` and point at the user's line.
"""

import os
import sys
import warnings
from pathlib import Path

__all__ = [
    "ExpressionError",
    "InfeasibleError",
    "JointdistError",
    "ModelFileError",
    "NotPositiveDefiniteError",
    "OutOfDistributionWarning",
    "SignedDistributionWarning",
    "ToleranceWarning",
    "UnseenCategoryWarning",
    "warn_user",
]

_PACKAGE = str(Path(__file__).parent) + os.sep


class JointdistError(Exception):
    """Base class of the errors specific to this library."""


class ExpressionError(JointdistError, ValueError):
    """An event is no expression over columns that can be evaluated.

    The message shows the text, and the place where it cannot be read by a caret.
    """


class InfeasibleError(JointdistError):
    """The constraints of a model cannot be met, so that it has no distributions.

    The message names the constraint and what to change.
    """


class ModelFileError(JointdistError, ValueError):
    """A file of a model cannot be read or written.

    The message names the file and says what is wrong with it: that it is no model file, is
    truncated or damaged, has an invalid header, or was written by a newer version.
    """


class NotPositiveDefiniteError(JointdistError, ValueError):
    """A kernel produced a matrix that is not positive semidefinite."""


class OutOfDistributionWarning(UserWarning):
    """Many questions are unlike all rows that a model was fitted to."""


class SignedDistributionWarning(UserWarning):
    """A distribution with negative weights has no answer to the question."""


class ToleranceWarning(UserWarning):
    """A result is returned, but less exact than was asked for."""


class UnseenCategoryWarning(UserWarning):
    """A question has categories that were not seen in ``fit``: nothing is known of them."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the line that called into the package.

    However deep in the package the reason is found, the warning carries the file and the
    line of the innermost frame outside it, so that filters and the "once per line" rule
    apply to the code that called: the user's, or that of a library such as scikit-learn if
    the user called that.

    Parameters
    ----------
    message : str
        The message.
    category : type of Warning
        The category.
    """
    frame = sys._getframe(1)  # noqa: SLF001
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__", "<unknown>"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )
