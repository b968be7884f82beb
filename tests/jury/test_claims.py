"""What a function offers is found by trying."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from jury.broken import Steps
from regard.errors import ArgumentError
from regard.jury import Claims, check, found_claims


def test_of_sdpa():
    found = found_claims(scaled_dot_product_attention)
    assert (found.mask, found.bias, found.causal, found.scale) == ("attn_mask", "attn_mask", "is_causal", "scale")
    assert (found.dropout, found.seed, found.grouped) == ("dropout_p", None, "enable_gqa")
    assert not found.hides
    assert found.value_size


def test_of_a_function_with_named_arguments():
    found = found_claims(Steps())
    assert (found.mask, found.bias, found.causal, found.seed, found.grouped) == ("mask", "bias", "causal", "seed", True)


def hiding(query, key, value, mask=None):
    return Steps()(query, key, value, mask=None if mask is None else ~mask)


def length_first(query, key, value, **options):
    three = (tensor.transpose(1, 2) for tensor in (query, key, value))
    return Steps()(*three, causal=options.get("causal", False)).transpose(1, 2), None


def test_a_mask_that_hides():
    assert found_claims(hiding).hides
    assert check(hiding, only=["mask", "empty_rows"]).holds


def test_the_length_first_and_options_that_are_not_read():
    found = found_claims(length_first)
    assert found.layout == "length first"
    assert (found.causal, found.mask, found.scale, found.dropout) == ("causal", None, None, None)
    assert check(length_first, only=["outputs", "gradients", "causal", "alignment", "mask"]).holds


def test_dtypes_that_are_taken():
    def in_float32(query, key, value):
        if query.dtype != torch.float32:
            raise TypeError("float32 only")
        return Steps()(query, key, value)

    assert found_claims(in_float32).dtypes == ("float32",)


def test_a_function_that_takes_something_else():
    with pytest.raises(ArgumentError, match="must take \\(query, key, value\\)"):
        found_claims(lambda query: query)
    with pytest.raises(ArgumentError, match="`layout` must be one of head first, length first, but is 'heads'"):
        Claims(layout="heads")
    with pytest.raises(ArgumentError, match="`dtypes` must be of"):
        Claims(dtypes=("int8",))
    with pytest.raises(ArgumentError, match="`dtypes` must name"):
        Claims(dtypes=())


def test_claims_that_are_stated_count():
    """A start that is claimed is judged as one."""

    def start(query, key, value, causal=False):
        return scaled_dot_product_attention(query, key, value, is_causal=causal)

    assert not check(start, only=["alignment"]).holds
    judged = check(start, Claims(causal="causal", alignment="start"), only=["alignment", "causal"])
    assert judged.holds
    assert judged["alignment"].note == "aligned at the start; regard aligns at the end"
