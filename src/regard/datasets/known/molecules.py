"""Molecules and their properties: Tox21, ESOL, Lipophilicity, BBBP."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.datasets.dataset import Dataset, ReadSplit, files_at
from regard.datasets.example import Example
from regard.datasets.formats.columns import Columns
from regard.datasets.formats.tables import read_table
from regard.datasets.splits import split_by_scaffold
from regard.inputs.lines import ErrorHandler

__all__ = ["BBBP", "ESOL", "LIPOPHILICITY", "TOX21", "TOX21_TASKS"]

TOX21_TASKS = (
    *("NR-AR", "NR-AR-LBD", "NR-AhR", "NR-Aromatase", "NR-ER", "NR-ER-LBD", "NR-PPAR-gamma"),  # nuclear receptors
    *("SR-ARE", "SR-ATAD5", "SR-HSE", "SR-MMP", "SR-p53"),  # stress responses
)
"""The tasks of Tox21: what its molecules were tested for."""

_COMMIT = "beb35cd0b76db5adef6cb1fa55807e4cd309aaed"
_URL = f"https://raw.githubusercontent.com/GLambard/Molecules_Dataset_Collection/{_COMMIT}/latest"
_MOLECULE_NET = "Wu et al. 2018, MoleculeNet (arXiv 1703.00564)"


def _by_scaffold(filename: str, columns: Columns, names: dict[str, str] | None = None) -> ReadSplit:
    """Make a function that reads a table of molecules, split by scaffold; invalid molecules are errors, and skipped."""

    def read(folder: Path, split: str, label: str, on_error: ErrorHandler) -> Iterator[Example[str, Any]]:
        chosen = dataclasses.replace(columns, target=(label,)) if label in TOX21_TASKS else columns
        rows = list(read_table(folder / filename, chosen, on_error=on_error))
        for row, its in zip(rows, split_by_scaffold([row.group for row in rows]), strict=True):
            if its == split:
                yield row if names is None else dataclasses.replace(row, target=names[row.target])

    return read


def _set(name: str, title: str, citation: str, path: str, sha256: str, size: int, **more: Any) -> Dataset:
    return Dataset(
        name=name,
        title=title,
        language="SMILES",
        licence="MIT (the collection)",
        source=f"github.com/GLambard/Molecules_Dataset_Collection, commit {_COMMIT}",
        citation=citation,
        fold="nothing",
        files=files_at(_URL, all=(path, sha256, size)),
        folder="molecules",
        modality="molecule",
        **more,
    )


TOX21 = _set(
    "tox21",
    "Tox21: is a molecule toxic in 12 ways, where tested; scaffold split 8:1:1; 8 can't be read, and are left out",
    f"Tox21 Data Challenge 2014; {_MOLECULE_NET}",
    "tox21.csv",
    "feae24f12dbc3191c6299bc1e21cdafe92c2973f82f5206cdbe32923e45d3ec5",
    768_407,
    target_type="labels",
    label="all",
    labels=("all", *TOX21_TASKS),
    questions=TOX21_TASKS,
    read=_by_scaffold("tox21.csv", Columns("smiles", TOX21_TASKS, source_type="smiles", target_type="labels")),
)

ESOL = _set(
    "esol",
    "ESOL: how well a molecule dissolves in water, as the logarithm of mol/l; scaffold split 8:1:1",
    f"Delaney 2004, ESOL, J. Chem. Inf. Comput. Sci. 44; {_MOLECULE_NET}",
    "ESOL_delaney-processed.csv",
    "29feacff4ab9f7b3bdf6ae48effc28f34b009205efce21edc781af860bbd1662",
    102_558,
    target_type="number",
    label="solubility",
    labels=("solubility",),
    read=_by_scaffold(
        "ESOL_delaney-processed.csv",
        Columns("smiles", "measured log solubility in mols per litre", source_type="smiles", target_type="number"),
    ),
)

LIPOPHILICITY = _set(
    "lipophilicity",
    "Lipophilicity: how a molecule divides between octanol and water, as a logarithm (logD at pH 7.4); scaffold split",
    f"Hersey 2015, ChEMBL deposited data set, AZ dataset (CHEMBL3301361); {_MOLECULE_NET}",
    "Lipophilicity.csv",
    "b107ab86d8866def73c19d4a6655635c7a9ef99e9c7b22029c35131bdcfd48f4",
    361_588,
    target_type="number",
    label="logD",
    labels=("logD",),
    read=_by_scaffold("Lipophilicity.csv", Columns("smiles", "exp", source_type="smiles", target_type="number")),
)

BBBP = _set(
    "bbbp",
    "BBBP: does a molecule penetrate the blood-brain barrier; scaffold split 8:1:1; 11 rows without one are left out",
    f"Martins et al. 2012, J. Chem. Inf. Model. 52; {_MOLECULE_NET}",
    "BBBP.csv",
    "0ef47ddf2ddf4318524295b2df851537a32e974288f784a3787ea5b8b76625fb",
    164_581,
    target_type="label",
    label="penetration",
    labels=("penetration",),
    read=_by_scaffold(
        "BBBP.csv", Columns("smiles", "p_np", source_type="smiles"), names={"0": "non-penetrating", "1": "penetrating"}
    ),
)
