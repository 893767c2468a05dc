"""The classifier: scikit-learn's contract, valid probabilities, accuracy."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from jointdist.classifier import JointClassifier


@parametrize_with_checks([JointClassifier()])
@pytest.mark.filterwarnings("ignore:JointClassifier.partial_fit:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)
