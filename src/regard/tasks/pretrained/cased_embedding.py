"""The vectors of pieces with capitals: those of the pieces in lower case, moved by a vector for capitals."""

from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from regard.inputs.text.cased_vocabulary import CasedVocabulary

__all__ = ["CasedEmbedding", "merge_cased"]


class CasedEmbedding(nn.Module):
    """An embedding for a `CasedVocabulary`, which learns what capitals say from all words that have them.

    The vector of "Obama" is that of "obama" and one that all pieces with a first capital share; "OBAMA" has another
    one. So names in capitals that training never showed are told from other words. Merged, it is an ordinary embedding.

    Args:
        table: the vectors of the pieces in lower case.
        vocabulary: the vocabulary.
    """

    def __init__(self, table: nn.Embedding, vocabulary: CasedVocabulary):
        super().__init__()
        self.table = table
        self.case = nn.Parameter(torch.zeros(2, table.embedding_dim))
        """(2, vector): what is added for a first capital, and for all capitals."""
        places = [*range(vocabulary.start), *vocabulary.lower]
        cases = [0] * vocabulary.start + [1 + is_capitals for is_capitals in vocabulary.capitals]
        self.register_buffer("places", torch.tensor(places), persistent=False)
        self.register_buffer("cases", torch.tensor(cases), persistent=False)

    places: Int64[Tensor, " id"]
    cases: Int64[Tensor, " id"]

    @property
    def num_embeddings(self) -> int:
        """The number of ids."""
        return len(self.places)

    def forward(self, ids: Int64[Tensor, "text piece"]) -> Float[Tensor, "text piece vector"]:
        """The vectors of pieces."""
        moved = torch.cat([self.case.new_zeros(1, self.case.shape[1]), self.case])
        return self.table(self.places[ids]) + moved[self.cases[ids]]

    def merged(self) -> nn.Embedding:
        """The embedding with a vector of its own for each id."""
        vectors = self(torch.arange(self.num_embeddings, device=self.places.device)[None])[0]
        return nn.Embedding.from_pretrained(vectors.detach(), freeze=False, padding_idx=self.table.padding_idx)


def merge_cased(model: Any) -> None:
    """Give a model of transformers' whose embedding is cased an ordinary one, and its configuration the size."""
    cased = model.get_input_embeddings()
    if isinstance(cased, CasedEmbedding):
        model.set_input_embeddings(cased.merged())
        model.config.get_text_config().vocab_size = cased.num_embeddings
