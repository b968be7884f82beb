"""Errors: the known name that an unknown one is taken for."""

import string

import pytest

from regard.errors import UnknownNameError, nearest

KNOWN = ["linear", "performer", "linformer", "nystromformer", "reformer", "sinkhorn", "synthesizer"]


def slips(name: str) -> set[str]:
    """All names with two neighbouring letters swapped, or one letter left out, added or replaced."""
    pairs = [(name[:place], name[place:]) for place in range(len(name) + 1)]
    found = {left + right[1] + right[0] + right[2:] for left, right in pairs if len(right) > 1}
    found |= {left + right[1:] for left, right in pairs if right}
    for letter in string.ascii_lowercase:
        found |= {left + letter + right for left, right in pairs}
        found |= {left + letter + right[1:] for left, right in pairs if right}
    return found - {name}


@pytest.mark.parametrize("name", KNOWN)
def test_a_name_with_one_slip_is_recognised(name):
    for wrong in slips(name):
        # Unless it is also one slip away from another name, as "erformer" is.
        if not any(wrong in {other, *slips(other)} for other in KNOWN if other != name):
            assert nearest(wrong, KNOWN) == name, wrong


@pytest.mark.parametrize(
    ("wrong", "known", "expected"),
    [
        # Swapped letters come before a letter that is missing: both are one slip.
        ("preformer", ["reformer", "performer"], "performer"),
        ("preformer", ["performer", "reformer"], "performer"),
        # One slip comes before a higher share of common letters.
        ("ab_dc", ["ab_cd", "ab_dccc"], "ab_cd"),
        ("dtos", ["dots_of", "dots"], "dots"),
        ("casting", ["coasting_", "cashing"], "cashing"),
        # Without any, the share decides, so that a name may be shortened.
        ("nystrom", KNOWN, "nystromformer"),
        ("scaled", ["dot", "scaled_dot", "saddle"], "scaled_dot"),
        ("relativ", ["relative", "rotary"], "relative"),
        # Of equally near names, the one with the higher share.
        ("layerx", ["layers", "layer"], "layer"),
        # Nothing is similar, and nothing is known.
        ("zzz", KNOWN, None),
        ("performer", [], None),
        ("", KNOWN, None),
    ],
)
def test_the_nearest_name(wrong, known, expected):
    assert nearest(wrong, known) == expected


def test_an_unknown_name_is_answered_with_the_nearest():
    assert str(UnknownNameError("approximation", "preformer", KNOWN)).endswith("Did you mean 'performer'?")
    # Names that aren't listed may be nearest, too.
    error = str(UnknownNameError("data", "reveiws", ["news"], others=["reviews"]))
    assert error == "`data` must be one of news, but is 'reveiws'. Did you mean 'reviews'?"
    assert "Did you mean" not in str(UnknownNameError("data", 7, ["news"]))


def test_the_cutoff_is_the_least_similarity():
    assert nearest("abxx", ["abcd"]) == "abcd"
    assert nearest("abxx", ["abcd"], cutoff=0.6) is None
