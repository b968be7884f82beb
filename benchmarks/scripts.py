"""The scores of the bundled models of simplified Chinese on traditional characters, and after conversion.

    python benchmarks/scripts.py

The test sources are used unchanged, in traditional characters, and converted back as by `--script simplified`.
"""

from measuring import save

import regard
from regard.cli.evaluate import converted
from regard.datasets import read
from regard.lab.measurement import processor
from regard.tasks import NAMED_RECIPES
from regard.version import __version__

MODELS = ("chinese-pos", "chinese-segmentation", "chinese-sentiment", "chinese-english")


def main() -> None:
    rows = []
    for name in MODELS:
        model = regard.load(name)
        given = read(NAMED_RECIPES[name].data, "test", NAMED_RECIPES[name].label)
        traditional = [converted(each, "traditional") for each in given]
        back = [converted(each, "simplified") for each in traditional]
        scores = [model.evaluate(each) for each in (given, traditional, back)]
        figures = [each.score for each in scores]
        said = [model.measure.format(each) for each in figures]
        print(name, *said)
        rows.append((f"`{name}`", model.measure.name, *said))
    columns = ("model", "measure on test", "simplified", "traditional", "traditional, `--script simplified`")
    save("scripts", columns, rows, f"Traditional: converted by OpenCC, `s2tw`. {processor()}; regard {__version__}.")


if __name__ == "__main__":
    main()
