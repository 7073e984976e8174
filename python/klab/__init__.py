"""klab in Python: its recorded results as tables, its models as NumPy arrays, its check for functions of arrays.

    import klab
    klab.rows("reports/recorded/98840b1f00d07642/run.csv")       # a pandas frame, or a dict of NumPy arrays without pandas
    klab.load("runs/my_scene").render(klab.look_at((1.6, 0.5, 1.2), (0.5, 0.5, 0.4), 320, 240, 45)).rgb
    klab.check(my_softmax, reference_softmax, inputs=[(64, 1000)])

Every function raises klab.Error, a ValueError, for bad input: one line that names file, field and remedy.
"""

from ._check import CheckResult, Worst, check
from ._error import Error
from ._model import Camera, Model, Picture, Score, ViewScore, load, look_at, views
from ._program import program, run
from ._table import counts, rows, verdicts

__version__ = "0.1.0"
__all__ = [
    "Camera", "CheckResult", "Error", "Model", "Picture", "Score", "ViewScore", "Worst", "check", "counts", "load", "look_at",
    "program", "rows", "run", "verdicts", "views",
]
