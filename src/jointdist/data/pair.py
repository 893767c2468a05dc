"""The training tables of an estimator, read: encodings of both sides and paired rows."""

from dataclasses import dataclass

from jointdist.data.encoding import Encoding, learn_encoding
from jointdist.data.sample import Sample
from jointdist.errors import Text, require

__all__ = ["Pair", "read_pair"]


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Training data, encoded as numbers.

    Attributes
    ----------
    sample : Sample
        The paired rows with their weights; copied if they are small.
    encoding_x, encoding_y : Encoding
        How the columns of X and of Y became numbers.
    """

    sample: Sample
    encoding_x: Encoding
    encoding_y: Encoding

    @property
    def encodings(self) -> tuple[Encoding, Encoding]:
        """The encodings of both sides."""
        return self.encoding_x, self.encoding_y


def read_pair(where: str, X: object, Y: object, sample_weight: object) -> Pair:
    """Return the training data that users pass to ``fit``, checked and encoded.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    X : array, DataFrame or sequence of shape (n, d_x)
        The rows of X.
    Y : array, DataFrame or sequence of shape (n,) or (n, d_y)
        The rows of Y.
    sample_weight : array of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> from jointdist.data.pair import read_pair
    >>> data = read_pair("Model", [["b", 1.0], ["a", 2.0]], [0.5, 1.5], None)
    >>> data.sample.n, data.encoding_x.categories, data.encoding_y.categories
    (2, (('a', 'b'), None), (None,))
    """
    x = learn_encoding(X, where=where, name="X")
    got = Text("None: fit requires y to be passed, but the target y is None")
    require(Y is not None, where, "Y", "given", got)
    y = learn_encoding(Y, where=where, name="Y", vector=True)
    words = x.encoding.of_words
    sample = Sample.paired(x.rows, y.rows, sample_weight, words=words).owned()
    return Pair(sample, x.encoding, y.encoding)
