"""Who buys: the rule is kept, the profile alone says little, and nobody's label is known in two splits."""

import torch
from sklearn.metrics import roc_auc_score

from regard.datasets import SPLITS, read
from regard.datasets.known.purchases import make_purchases

COLUMNS = 11  # age, two sexes, six jobs, bought before: no or yes


def test_the_rule_can_be_found_again():
    made = make_purchases(3000, seed=1)
    vectors, (friend, person) = made.source.vectors, made.source.edges
    assert vectors.shape == (3000, COLUMNS)
    buys = torch.tensor([target == "yes" for target in made.target])
    before, jobs = vectors[:, -1], vectors[:, 3:9].argmax(1)
    assert 0.27 < before.mean() < 0.33

    def share(counts):
        sums = [torch.zeros(3000).index_add_(0, person, each) for each in (counts * before[friend], counts)]
        return torch.where(sums[1] > 0, sums[0] / sums[1].clamp(min=1), 0.3)

    weighted = share(torch.where(jobs[friend] == jobs[person], 5.0, 1.0))
    even = share(torch.ones(len(friend)))
    ages = vectors[:, 0]  # standardised: evenly spread from 18 to 80, so by 18.2 years
    by_rule, by_friends, by_age, by_own = (
        float(roc_auc_score(buys, score))
        for score in (12 * weighted - ages * 18.2 / 30, 12 * even - ages * 18.2 / 30, -ages, before)
    )
    assert 0.88 < by_rule < 0.93
    assert 0.79 < by_friends < by_rule - 0.05
    assert 0.55 < by_age < 0.62
    assert 0.47 < by_own < 0.53


def test_friendship_is_mutual_and_the_seed_says_it_all():
    made, again, other = (make_purchases(50, seed=seed) for seed in (1, 1, 2))
    pairs = set(zip(*made.source.edges.tolist(), strict=True))
    assert all((two, one) in pairs and one != two for one, two in pairs)
    assert made.target == again.target
    assert torch.equal(made.source.edges, again.source.edges)
    assert torch.equal(made.source.vectors, again.source.vectors)
    assert made.target != other.target
    # Nobody, and one without friends.
    assert make_purchases(1).source.edges.shape == (2, 0)


def test_one_graph_whose_labels_are_dealt_to_the_splits():
    graphs = [read("purchases", split)[0] for split in SPLITS]
    known = [[target is not None for target in graph.target] for graph in graphs]
    assert all(sum(each) == 1 for each in zip(*known, strict=True))
    assert [sum(each) > 400 for each in known] == [True] * 3
    assert sum(known[0]) > 3800
    assert all(torch.equal(graph.source.vectors, graphs[0].source.vectors) for graph in graphs)
