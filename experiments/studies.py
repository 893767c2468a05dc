"""All studies by name."""

from experiments import cauchy, famafrench, gaussian, speed, tolerance, uniform

__all__ = ["STUDIES"]

_MODULES = gaussian, tolerance, uniform, cauchy, speed, famafrench

STUDIES = {module.STUDY.name: module.STUDY for module in _MODULES}
