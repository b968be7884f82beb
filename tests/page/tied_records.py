"""Records whose largest numbers read the same, or whose effects can't be seen, and the sentences that tell them."""

from typing import Any

import torch

from regard.inspection import LayerRecord, Outcome, Outcomes, Place, Record

_SURE = 0.9999


def _record(weights, hidden, label="good", score: Any = 0.625, items=None, kind: Any = "labels", error=None, **more):
    """One answer for the whole of items "a", "b" and so on, whose pooling has these weights."""
    items = tuple("abcdefghij"[: len(weights)]) if items is None else items
    pooling = LayerRecord.of_weights("pooling", torch.tensor([[weights]]), "softmax")
    place, changes = Place("the whole", None, label, score), tuple((each,) for each in hidden)
    outcomes = Outcomes(kind, "item", (place,), changes, error=error)
    layer = LayerRecord.of_weights("layer 1", torch.tensor([[weights] * len(weights)]), "softmax")
    return Record(items, layers=(layer,), model="toy", pooling=pooling, noun="word", outcomes=outcomes, **more)


def _to(*scores, before=0.625):
    return [Outcome("good", score, score - before) for score in scores]


def _numbers(*numbers, before=4.25):
    return [Outcome(f"{each:.3f}", None, each - before) for each in numbers]


_IT = "In the pooling, after 1 layer of attention, it"
_TA = "在 1 层注意力之后的池化中，它"
TIED = {
    "two weights": (
        _record([0.398, 0.402, 0.1, 0.1], _to(0.625, 0.5, 0.625, 0.625)),
        f'The answer is good (62%). {_IT} attended most to "a" and "b" (40% each), and hiding "b" changes the '
        "answer most: "
        "good falls from 62% to 50%.",
        f"答案 是 good（62%）。{_TA}最注意 “a”和“b”（各 40%），隐藏“b” 对答案影响最大：good（62%） 变成 good（50%）。",
    ),
    "three weights": (
        _record([0.3, 0.3, 0.3, 0.1], _to(0.625, 0.625, 0.625, 0.25)),
        f'The answer is good (62%). {_IT} attended most to "a", "b" and "c" (30% each), but hiding "d" changes the '
        "answer "
        "most: good falls from 62% to 25%.",
        f"答案 是 good（62%）。{_TA}最注意 “a”、“b”和“c”（各 30%），但隐藏 “d” 对答案影响最大：good（62%） 变成 "
        "good（25%）。",
    ),
    "four weights": (
        _record([0.24, 0.24, 0.24, 0.24, 0.02, 0.02], _to(0.625, 0.25, 0.625, 0.625, 0.5, 0.5)),
        f'The answer is good (62%). {_IT} attended most to 4 of 6 words (24% each), and hiding "b" changes the '
        "answer most: "
        "good falls from 62% to 25%.",
        f"答案 是 good（62%）。{_TA}最注意 6 个词中的 4 个（各 24%），隐藏“b” 对答案影响最大：good（62%） 变成 "
        "good（25%）。",
    ),
    "two effects, one of the attended": (
        _record([0.6, 0.2, 0.2], _to(0.25, 0.251, 0.625)),
        f'The answer is good (62%). {_IT} attended most to "a" (60%), and hiding it or "b" changes the answer '
        "most: good falls "
        "from 62% to 25%.",
        f"答案 是 good（62%）。{_TA}最注意 “a”（60%），隐藏它或“b” 对答案影响最大：good（62%） 变成 good（25%）。",
    ),
    "four effects": (
        _record([0.5, 0.2, 0.1, 0.1, 0.1], _to(0.625, 0.25, 0.251, 0.252, 0.2501)),
        f'The answer is good (62%). {_IT} attended most to "a" (50%), but hiding any of 4 words changes the answer '
        "most: good "
        "falls from 62% to 25%.",
        f"答案 是 good（62%）。{_TA}最注意 “a”（50%），但隐藏 4 个词中的任何一个 对答案影响最大：good（62%） 变成 "
        "good（25%）。",
    ),
    "more than 99% becomes 99%": (
        _record([0.6, 0.3, 0.1], _to(0.9899, _SURE, _SURE, before=_SURE), score=_SURE),
        f'The answer is good (>99%). {_IT} attended most to "a" (60%), but hiding any single word hardly changes '
        "the answer.",
        f"答案 是 good（>99%）。{_TA}最注意 “a”（60%），但隐藏任何一项，答案几乎不变。",
    ),
    "more than 99% becomes 98%": (
        _record([0.6, 0.3, 0.1], _to(0.984, _SURE, _SURE, before=_SURE), score=_SURE),
        f'The answer is good (>99%). {_IT} attended most to "a" (60%), but hiding any single word changes the '
        'answer little, "a" most: good falls from >99% to 98%.',
        f"答案 是 good（>99%）。{_TA}最注意 “a”（60%），但隐藏任何一项，答案变化都不大，影响最大的是 “a”："
        "good（>99%） 变成 good（98%）。",
    ),
    "two little effects": (
        _record([0.6, 0.3, 0.1], _to(0.531, 0.529, 0.625)),
        f'The answer is good (62%). {_IT} attended most to "a" (60%), but hiding any single word changes the answer '
        'little, "a" or "b" most: good falls from 62% to 53%.',
        f"答案 是 good（62%）。{_TA}最注意 “a”（60%），但隐藏任何一项，答案变化都不大，影响最大的是 “a”或“b”："
        "good（62%） 变成 good（53%）。",
    ),
    "a number that changes by less than the error": (
        _record([0.6, 0.3, 0.1], _numbers(4.0, 4.25, 4.5), label="4.250", score=None, kind="numbers", error=0.5),
        f'The answer is 4.25 (RMSE of the model 0.50). {_IT} attended most to "a" (60%), but hiding any single word '
        'changes the answer by less than the error of the model, "a" most: 4.25 becomes 4.00.',
        f"答案 是 4.25（模型的 RMSE 为 0.50）。{_TA}最注意 “a”（60%），但隐藏任何一项，答案的变化都小于模型的误差，"
        "影响最大的是 “a”：4.25 变成 4.00。",
    ),
    "a number that changes by more than the error": (
        _record([0.6, 0.3, 0.1], _numbers(4.0, 3.0, 4.5), label="4.250", score=None, kind="numbers", error=0.5),
        f'The answer is 4.25 (RMSE of the model 0.50). {_IT} attended most to "a" (60%), but hiding "b" changes the '
        "answer most: 4.25 becomes 3.00.",
        f"答案 是 4.25（模型的 RMSE 为 0.50）。{_TA}最注意 “a”（60%），但隐藏 “b” 对答案影响最大：4.25 变成 3.00。",
    ),
    "less than a point, but another answer": (
        _record([0.6, 0.3, 0.1], [*_to(0.495, 0.5, before=0.501), Outcome("bad", 0.503, -0.004)], score=0.501),
        f'The answer is good (50%). {_IT} attended most to "a" (60%), but hiding "c" changes the answer most: good '
        "(50%) becomes bad (50%).",
        f"答案 是 good（50%）。{_TA}最注意 “a”（60%），但隐藏 “c” 对答案影响最大：good（50%） 变成 bad（50%）。",
    ),
    "a number that reads the same": (
        _record([0.6, 0.3, 0.1], [Outcome("4.250", None, 1e-6)] * 3, label="4.250", score=None, kind="numbers"),
        f'The answer is 4.250. {_IT} attended most to "a" (60%), but hiding any single word hardly changes the answer.',
        f"答案 是 4.250。{_TA}最注意 “a”（60%），但隐藏任何一项，答案几乎不变。",
    ),
    "nothing attended to": (
        _record([0.0, 0.0, 0.0], _to(0.625, 0.25, 0.625)),
        f'The answer is good (62%). {_IT} attended to no single word as much as 1%, and hiding "b" changes the '
        "answer most: good "
        "falls from 62% to 25%.",
        f"答案 是 good（62%）。{_TA}对任何一个词的注意都不到 1%，而且隐藏 “b” 对答案影响最大："
        "good（62%） 变成 good（25%）。",
    ),
    "patches": (
        _record(
            [0.6, 0.3, 0.06, 0.04], _to(0.625, 0.625, 0.25, 0.625), items=("1,1", "1,2", "2,1", "2,2"), grid=(2, 2)
        ),
        f"The answer is good (62%). {_IT} attended most to row 1, column 1 (60%), but hiding row 2, column 1 "
        "changes the answer "
        "most: good falls from 62% to 25%.",
        f"答案 是 good（62%）。{_TA}最注意 第 1 行第 1 列（60%），但隐藏 第 2 行第 1 列 "
        "对答案影响最大：good（62%） 变成 good（25%）。",
    ),
}
