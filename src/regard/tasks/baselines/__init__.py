"""Simple baselines: what a few lines of scikit-learn reach on the same examples, to stand beside every score.

A kind of source gives the features (`Source.simple_features`), a task the baseline (`Task.baseline`); each takes
seconds, and none has a setting to tune.
"""

from regard.tasks.baselines.baseline import Baseline, FittedBaseline, fit_baseline
from regard.tasks.baselines.features import SimpleFeatures

__all__ = ["Baseline", "FittedBaseline", "SimpleFeatures", "fit_baseline"]
