"""All studies by name."""

from experiments import cauchy, gaussian, tolerance, uniform

__all__ = ["STUDIES"]

STUDIES = {
    module.STUDY.name: module.STUDY for module in (gaussian, tolerance, uniform, cauchy)
}
