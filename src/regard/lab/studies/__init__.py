"""The studies that come with the package: one file for each question of the lecture notes.

A study is a module here with a `study`. It is found, and its results are those of its name in `lab/results/`.
"""

import importlib
import pkgutil

from regard.lab.study import Study

__all__ = ["STUDIES"]

_MODULES = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]

STUDIES: dict[str, Study] = {
    study.name: study
    for study in sorted((module.study for module in _MODULES), key=lambda study: (study.order, study.name))
}
"""The studies by name, in the order of the questions."""
