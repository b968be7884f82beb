"""What the numbers of a net mean: learned, judged and read, worked by hand."""

import math
import pickle
import re

import numpy as np
import pytest
import torch

from regard.datasets import BinaryLabels
from regard.errors import ArgumentError, ModelError
from regard.tasks.targets import TARGETS, Label, MultiLabel, Regression, target_from_json

ALL = [Label(("a", "b", "c")), MultiLabel(("x", "y")), Regression(3.0, 2.0)]


@pytest.mark.parametrize("answer", ALL, ids=lambda each: each.kind)
def test_json_and_back(answer):
    assert target_from_json(answer.to_json()) == answer
    assert TARGETS[answer.kind] is type(answer)


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        (3, "must be an object of a kind among label, several, number, but is 3"),
        ({"kind": "labl"}, "must be an object of a kind"),
        ({"kind": "label", "name": ["a"]}, "Did you mean 'names'"),
        ({"kind": "label"}, "has no 'names'"),
        ({"kind": "number", "mean": 1.0}, "has no 'spread'"),
        ({"kind": "number", "mean": "1", "spread": 1.0}, "`mean` must be a finite number, but is '1'"),
    ],
)
def test_broken_json(saved, message):
    with pytest.raises(ModelError, match=message):
        target_from_json(saved)


@pytest.mark.parametrize(
    ("names", "message"),
    [((), "must be a list of strings"), (("a", "a"), "has 'a' twice")],
)
def test_names_that_are_none(names, message):
    for kind in (Label, MultiLabel):
        with pytest.raises(ArgumentError, match=message):
            kind(names)


@pytest.mark.parametrize(
    ("answer", "targets", "message"),
    [
        (ALL[0], ["a", 0.0], r"target of `examples\[1\]` must be a label or None, but is 0\.0\."),
        (ALL[0], [("a",)], r"must be a label or None, but is \('a',\)"),
        (
            ALL[0],
            ["x", None, "y"],
            r"labels that occur in training \(a, b, c\), but has none of them: the first is 'x'\. Choose",
        ),
        (ALL[1], [(1, 0), (1, 0, 1)], r"`examples\[1\]` must be a list of as many .* questions, 2, .* \(1, 0, 1\)"),
        (ALL[1], ["ab"], "must be a list of as many answers as training had questions, 2, each 1, 0 or None"),
        (ALL[1], [(1, 2)], r"each 1, 0 or None, or None, but is \(1, 2\)"),
        (ALL[1], [(None, None)], "`examples` must hold a target that is known, but holds none"),
        (ALL[2], [1.0, "a"], r"`examples\[1\]` must be a number of float32 or None, but is 'a'"),
        (ALL[2], [math.nan], "must be a number of float32 or None, but is nan"),
        (ALL[2], [-math.inf], "must be a number of float32 or None, but is -inf"),
        (ALL[2], [True], "must be a number of float32 or None, but is True"),
        *[(answer, [], "must hold a target that is known") for answer in ALL],
        *[(answer, [None, None], "must hold a target that is known") for answer in ALL],
    ],
)
def test_targets_that_nothing_given_can_be_compared_with(answer, targets, message):
    with pytest.raises(ArgumentError, match=message):
        answer.check([[target] for target in targets], "examples")
    if targets:
        with pytest.raises(ArgumentError, match=message.replace(r"\[1\]", r"\[0\]")):
            answer.check([targets, []], "examples")


@pytest.mark.parametrize(
    ("answer", "targets"),
    [(ALL[0], ["new", None, "a"]), (ALL[1], [(None, 1), [0, True], (None, None)]), (ALL[2], [3, None, -1.5])],
)
def test_targets_that_are_all_right(answer, targets):
    answer.check([[], targets, []], "examples")


class TestLabel:
    target = Label(("cat", "dog"))

    def test_the_loss_is_the_mean_of_what_is_known(self):
        given = torch.tensor([[0.0, math.log(3.0)], [0.0, 0.0], [5.0, 5.0]])
        loss, known = self.target.loss(given, self.target.tensor(["dog", "cat", None]), smoothing=0.0)
        assert known == 2
        assert loss.item() == pytest.approx((math.log(4 / 3) + math.log(2)) / 2)

    def test_nothing_known_is_no_loss(self):
        given = torch.zeros(2, 2, requires_grad=True)
        loss, known = self.target.loss(given, self.target.tensor([None, "cow"]), smoothing=0.1)
        loss.backward()
        assert (loss.item(), known) == (0.0, 0)
        assert given.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]

    def test_a_label_that_training_never_had_counts_as_wrong(self):
        given = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        assert self.target.score(given, self.target.tensor(["cat", "dog", "cow"])) == pytest.approx(2 / 3)


class TestSeveral:
    target = MultiLabel(("x", "y"))

    def test_what_is_missing_changes_nothing(self):
        given = torch.tensor([[0.0, 7.0], [math.log(3.0), -7.0]], requires_grad=True)
        loss, known = self.target.loss(given, self.target.tensor([(1, None), (1, None)]), smoothing=0.0)
        loss.backward()
        assert known == 2
        assert loss.item() == pytest.approx((math.log(2) + math.log(4 / 3)) / 2)
        assert given.grad[:, 1].tolist() == [0.0, 0.0]

    def test_the_area_is_that_of_each_question_with_both_answers(self):
        given = torch.tensor([[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]])
        wanted = self.target.tensor([(1, 1), (0, 1), (1, None)])
        # x: of the two pairs of a yes and a no, one is in order. y has no no.
        assert self.target.score(given, wanted) == 0.5
        assert self.target.score(given[:, :1].repeat(1, 2), self.target.tensor([(1, 0), (0, 0), (0, 1)])) == 0.5
        assert self.target.score(given, self.target.tensor([(1, None), (0, None), (0, None)])) == 1.0

    def test_nobody_measured_anything(self):
        given = torch.zeros(1, 2, requires_grad=True)
        loss, known = self.target.loss(given, self.target.tensor([(None, None)]), smoothing=0.0)
        loss.backward()
        assert (loss.item(), known) == (0.0, 0)
        assert self.target.score(given.detach(), self.target.tensor([(None, None)])) == 0.5

    def test_different_numbers_of_answers(self):
        assert MultiLabel.fit([(1, 0, None)]).names == ("1", "2", "3")
        # A data set says what it asks; a list is taken as it stands.
        named = [BinaryLabels(each, ("x", "y")) for each in ((1, 0), (None, 1))]
        assert MultiLabel.fit(named).names == ("x", "y")
        assert MultiLabel.fit([None, (1, 0), *named]).names == ("x", "y")
        for other in (("y", "x"), ("x", "z")):
            wanted = (
                f"`targets` must answer the same questions in the same order, but answer x, y; and {', '.join(other)}."
            )
            with pytest.raises(ArgumentError, match=re.escape(wanted)):
                MultiLabel.fit([*named, BinaryLabels((1, 0), other)])
        assert pickle.loads(pickle.dumps(named[1])).names == ("x", "y")
        with pytest.raises(ArgumentError, match=r"the same questions, but there are \[1, 2\] answers"):
            MultiLabel.fit([(1,), (1, 0)])

    @pytest.mark.parametrize(
        ("names", "asked", "fine"),
        [
            (("x", "y"), ("x", "y"), True),
            (("x", "y"), ["x", "y"], True),
            (("x", "y"), ("y", "x"), False),
            (("x", "y"), ("x", "z"), False),
            # One that learned from plain lists knows no names, unless the columns really are called 1 and 2.
            (("1", "2"), ("x", "y"), True),
            (("1", "2"), ("1", "2"), True),
            (("1", "2"), ("2", "1"), False),
        ],
    )
    def test_other_questions_are_refused(self, names, asked, fine):
        class Named(tuple):
            names: object

        given = Named((1, None))
        given.names = asked
        rows = [[(1, 0), None], [given]]
        if fine:
            MultiLabel(names).check(rows, "dev")
        else:
            wanted = (
                f"the target of `dev[1]` must answer {names[0]}, {names[1]}, in this order, but answers {asked[0]}, "
            )
            with pytest.raises(ArgumentError, match=re.escape(wanted)):
                MultiLabel(names).check(rows, "dev")


class TestNumber:
    def test_scaled_and_back(self):
        answer = Regression.fit([1.0, 5.0])
        assert (answer.mean, answer.spread) == (3.0, 2.0)
        assert answer.tensor([5.0, None, 3.0]).tolist() == pytest.approx([1.0, math.nan, 0.0], nan_ok=True)
        assert answer.decode(torch.tensor([[1.0], [-1.0]])) == [5.0, 1.0]

    def test_the_loss_leaves_out_what_is_missing(self):
        answer = Regression(0.0, 2.0)
        loss, known = answer.loss(torch.tensor([[1.0], [9.0]]), answer.tensor([4.0, None]), smoothing=0.0)
        assert (loss.item(), known) == (1.0, 1)

    def test_numbers_without_spread(self):
        answer = Regression.fit([4.0, 4.0])
        assert answer.tensor([4.0, 5.0]).tolist() == [0.0, 1.0]

    @pytest.mark.parametrize("kind", [int, float, np.float16, np.float32, np.float64, np.int8, np.int64, np.uint8])
    def test_numpys_numbers_are_numbers(self, kind):
        assert Regression.accepts(kind(3))
        answer = Regression.fit([kind(1), kind(5)])
        assert answer == Regression(3.0, 2.0)
        assert answer.is_valid(kind(9))
        assert not answer.is_valid(10**400)
        assert answer.tensor([kind(5), None]).tolist() == pytest.approx([1.0, math.nan], nan_ok=True)

    @pytest.mark.parametrize("target", [True, np.True_, "3", 3j, np.complex64(3), [3.0], np.ones(1)])
    def test_what_is_no_number(self, target):
        assert not Regression.accepts(target)

    @pytest.mark.parametrize("targets", [[], [None], [1.0, math.inf], [math.nan], [10**400]])
    def test_no_numbers(self, targets):
        with pytest.raises(ArgumentError, match="must be finite numbers of float32, at least one"):
            Regression.fit(targets)


class TestDisagreement:
    def test_of_labels_by_hand(self):
        # Probabilities 1/2 and 3/4; their mean 5/8 sharpened is 25/34, and each drawing is as far off in both labels.
        given = torch.tensor([[[0.0, 0.0]], [[math.log(3), 0.0]]])
        gaps = [2 * (25 / 34 - share) ** 2 for share in (1 / 2, 3 / 4)]
        assert Label(("a", "b")).disagreement(given).item() == pytest.approx(sum(gaps) / 2)

    def test_a_question_is_two_labels(self):
        given = torch.tensor([[[0.0, 2.0]], [[math.log(3), 1.0]]])
        each = [Label(("a", "b")).disagreement(torch.stack([given[..., k], 0 * given[..., k]], -1)) for k in (0, 1)]
        assert MultiLabel(("x", "y")).disagreement(given).item() == pytest.approx(float(sum(each)) / 2)

    def test_of_numbers_by_hand(self):
        given = torch.tensor([[[1.0], [5.0]], [[3.0], [5.0]]])
        assert Regression(3.0, 2.0).disagreement(given).item() == 0.5

    @pytest.mark.parametrize("answer", ALL, ids=lambda each: each.kind)
    def test_who_is_sure_and_agrees_learns_nothing(self, answer):
        given = torch.tensor([60.0, -60.0, -60.0])[: answer.outputs].expand(4, 2, -1)
        assert answer.disagreement(given).item() == pytest.approx(0, abs=1e-9)

    def test_what_they_say_together_learns_nothing_from_it(self):
        given = torch.tensor([[[0.0, 0.0]], [[1.0, 0.0]]], requires_grad=True)
        Label(("a", "b")).disagreement(given).backward()
        shares = given.detach().softmax(-1)
        sharp = shares.mean(0).square()
        gap = shares - sharp / sharp.sum(-1, keepdim=True)
        # Through each drawing's own softmax alone: p (g - p . g), with g the slope of the mean of squares.
        slope = 2 * gap / 2
        torch.testing.assert_close(given.grad, shares * (slope - (shares * slope).sum(-1, keepdim=True)))
