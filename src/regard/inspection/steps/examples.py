"""The worked examples of the lecture notes, with what the notes print of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from regard.inspection.steps.matrices import Matrices

__all__ = ["EXAMPLES", "WorkedExample"]


@dataclass(frozen=True, eq=False)
class WorkedExample:
    """An example.

    Attributes:
        title, about: by language, "en" and "zh".
        matrices: query, key and value.
        score: the score that the example is about.
        inputs: the inputs, and the matrices that make query, key and value of them, if the note gives these.
        printed: what the note prints for its first query, by step; none if it prints no numbers.
        compares: "scale" for an example with and without sqrt(d), "temperature" for one from hard to uniform.
    """

    title: Mapping[str, str]
    about: Mapping[str, str]
    matrices: Matrices
    score: str = "scaled_dot"
    inputs: tuple[tuple[float, ...], ...] = ()
    projections: Mapping[str, tuple[tuple[float, ...], ...]] = field(default_factory=dict)
    printed: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    compares: str = ""


_X = [[2, 0, 1], [0, 2, 1], [1, 1, 2]]

EXAMPLES: dict[str, WorkedExample] = {
    "000": WorkedExample(
        {"en": "Note 000: three inputs of four features", "zh": "笔记 000：三个输入，各有四个特征"},
        {
            "en": "The note's example. Its softmax is taken of q k without sqrt(d), though its formula divides by it.",
            "zh": "笔记中的例题。例题直接对 q k 取 softmax，没有除以 √d，而笔记的公式是要除的。",
        },
        Matrices.of(
            [[1, 0, 2], [2, 2, 2], [2, 1, 3]],
            [[0, 1, 1], [4, 4, 0], [2, 3, 1]],
            [[1, 2, 3], [2, 8, 0], [2, 6, 3]],
        ),
        score="dot",
        inputs=((1, 0, 1, 0), (0, 2, 0, 2), (1, 1, 1, 1)),
        projections={
            "query": ((1, 0, 1), (1, 0, 0), (0, 0, 1), (0, 1, 1)),
            "key": ((0, 0, 1), (1, 1, 0), (0, 1, 0), (1, 1, 0)),
            "value": ((0, 2, 0), (0, 3, 0), (1, 0, 3), (1, 1, 0)),
        },
        printed={"sum": (2, 4, 4), "normalise": (0.0, 0.5, 0.5), "output": (2.0, 7.0, 1.5)},
        compares="scale",
    ),
    "002": WorkedExample(
        {"en": "Note 002: 常威, 打, 来福", "zh": "笔记 002：常威、打、来福"},
        {
            "en": "Q = K = V = X. The note's own numbers are in a picture, and only illustrative; these are ours. As "
            "the note says of its example, each word is most similar to itself.",
            "zh": "Q = K = V = X。笔记的数字在图里，且只是示意，这里的数字是另取的。正如笔记所说，每个词与自己最相似。",
        },
        Matrices.of(_X, _X, _X, ("常威", "打", "来福")),
    ),
    "004": WorkedExample(
        {"en": "Note 004: a search in a shop", "zh": "笔记 004：在电商平台搜索商品"},
        {
            "en": "The search 年轻女士冬季穿的红色薄款羽绒服 against four items; 1 where a feature fits (women's, for "
            "winter, red, light, down), 0 where not. The values are price in yuan and warmth from 0 to 10. The note "
            "gives no numbers; these are ours.",
            "zh": "搜索“年轻女士冬季穿的红色薄款羽绒服”，与四件商品比较：特征（女款、冬季、红色、薄款、羽绒）符合为 1，"
            "不符合为 0。value 是价格（元）和保暖程度（0 到 10）。笔记没有给数字，这里的数字是另取的。",
        },
        Matrices.of(
            [[1, 1, 1, 1, 1]],
            [[1, 1, 1, 1, 1], [1, 1, 0, 0, 1], [1, 0, 1, 1, 0], [0, 0, 0, 1, 0]],
            [[400, 7], [600, 10], [200, 2], [150, 3]],
            ("红色薄款女羽绒服", "黑色厚款女羽绒服", "红色连衣裙", "男式薄夹克"),
            ("搜索",),
        ),
        compares="temperature",
    ),
}
