import hashlib
import json

import pytest
import safetensors.torch
import torch

from regard.errors import ArgumentError, DataError
from regard.inputs.text.splitters import TokenizerSplitter, WordSplitter, splitter_from_json
from regard.inputs.text.static_table import StaticTable, table_digests, table_width
from regard.inputs.text.word_vectors import WordVectors

GLOVE = "the 1 2 3\nsaw 0.5 -1 0\nSaw 4 4 4\nfilm 0 0 1\nrare 9 9 9\n"


@pytest.fixture
def glove(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_text(GLOVE, encoding="utf-8")
    return path


def tokenizer():
    """WordPiece, as that of BERT, with an unknown token."""
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {"[PAD]": 0, "[UNK]": 1, "do": 2, "n": 3, "'": 4, "t": 5, "saw": 6, "##s": 7, "film": 8}
    found = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    found.normalizer = tokenizers.normalizers.Lowercase()
    found.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    # A folder may ask for padding, which a single text doesn't need.
    found.enable_padding(length=12)
    return found


def model2vec(folder, tensors, *, readme=None, split=None):
    """A folder as model2vec saves it."""
    folder.mkdir(parents=True, exist_ok=True)
    safetensors.torch.save_file(tensors, folder / "model.safetensors")
    (split or tokenizer()).save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"normalize": True}), encoding="utf-8")
    if readme is not None:
        (folder / "README.md").write_text(readme, encoding="utf-8")
    return folder


class TestTextFiles:
    def test_all_words_are_kept_in_order(self, glove):
        table = StaticTable.read(glove)
        assert table.splitter.words == ("the", "saw", "Saw", "film", "rare")
        assert table.vectors[1].tolist() == [0.5, -1.0, 0.0]
        assert (table.width, table_width(glove), table.rows, table.weights) == (3, 3, None, None)

    def test_words_of_the_training_texts_and_the_first_ones_are_kept(self, glove):
        assert StaticTable.read(glove, keep=["rare", "absent"], first=2).splitter.words == ("the", "saw", "rare")
        assert StaticTable.read(glove, keep=["FILM"]).splitter.words == ("film",)
        assert WordVectors.read(glove, keep=(), first=1).words == ("the",)

    def test_a_header_is_no_word(self, tmp_path):
        path = tmp_path / "word2vec.txt"
        path.write_text("2 3\nthe 1 2 3\nsaw 4 5 6\n", encoding="utf-8")
        assert StaticTable.read(path, keep=(), first=1).splitter.words == ("the",)
        assert table_width(path) == 3

    def test_capitals_are_looked_up_as_they_are_and_then_in_lower_case(self, glove):
        splitter = StaticTable.read(glove).splitter
        assert splitter.ids(["Saw", "saw", "SAW", "Film", "FILMS"], "") == [[4], [3], [3], [5], [1]]

    def test_the_card_is_told_the_file_and_its_digest(self, glove):
        digest = hashlib.sha256(GLOVE.encode()).hexdigest()
        assert StaticTable.read(glove).origin == {"name": "glove.txt", "files": {"glove.txt": digest}}
        assert table_digests(glove) == {"glove.txt": digest}

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("the 1 2\nsaw 1\n", r"broken\.txt, line 2: a line must be a word and 2 numbers"),
            ("the 1 2\nsaw 1 x\n", r"line 2: a vector must be numbers that float32 can hold, but one is 'x'"),
            ("the 1 2\nthe 1 2\n", r"line 2: the word 'the' occurs twice"),
            ("", "it is empty"),
        ],
    )
    def test_a_broken_line_is_named(self, tmp_path, content, said):
        path = tmp_path / "broken.txt"
        path.write_text(content, encoding="utf-8")
        with pytest.raises(DataError, match=said):
            StaticTable.read(path)

    @pytest.mark.parametrize(
        ("content", "said"), [("", "it is empty"), ("word\n", "a line must be a word and its num")]
    )
    def test_a_file_without_a_width_is_refused(self, tmp_path, content, said):
        path = tmp_path / "broken.txt"
        path.write_text(content, encoding="utf-8")
        with pytest.raises(DataError, match=said):
            table_width(path)


class TestFolders:
    def test_one_row_each(self, tmp_path):
        vectors = torch.arange(27.0).reshape(9, 3)
        table = StaticTable.read(model2vec(tmp_path / "base", {"embeddings": vectors}))
        assert torch.equal(table.vectors, vectors)
        assert table_width(tmp_path / "base") == 3
        # [UNK] has no vector of its own; a piece has the id of its token and 2.
        assert table.splitter.ids(["Saws", "xyz", "film"], "Saws xyz film") == [[8, 9], [1], [10]]

    def test_int8_with_shared_rows_and_weights(self, tmp_path):
        tensors = {
            "embeddings": torch.tensor([[1, -2], [100, 127]], dtype=torch.int8),
            "mapping": torch.tensor([0, 0, 1, 1, 1, 0, 0, 1, 1]),
            "weights": torch.linspace(0.1, 0.9, 9, dtype=torch.float64),
        }
        table = StaticTable.read(model2vec(tmp_path / "base", tensors))
        assert table.vectors.tolist() == [[1.0, -2.0], [100.0, 127.0]]
        assert table.rows.tolist() == [0, 0, 1, 1, 1, 0, 0, 1, 1]
        assert table.weights.tolist() == pytest.approx([0.1 * each for each in range(1, 10)])

    @pytest.mark.parametrize("place", [".", "0_StaticEmbedding"])
    def test_the_layouts_of_sentence_transformers(self, tmp_path, place):
        model2vec(tmp_path / "base" / place, {"embedding.weight": torch.ones(9, 2, dtype=torch.float16)})
        assert StaticTable.read(tmp_path / "base").vectors.shape == (9, 2)

    @pytest.mark.parametrize(
        ("readme", "licence"),
        [
            ("---\ntags: [x]\nlicense: mit\n---\n# A\n", "mit"),
            ("---\nlicense: 'cc-by-nc-4.0'\n---\n", "cc-by-nc-4.0"),
            ("# A\nlicense: mit\n", None),
            ("---\ntags: [x]\n---\nlicense: mit\n", None),
            (None, None),
        ],
    )
    def test_the_licence_is_that_of_the_head(self, tmp_path, readme, licence):
        table = StaticTable.read(model2vec(tmp_path / "base", {"embeddings": torch.ones(9, 2)}, readme=readme))
        assert table.origin.get("licence") == licence
        assert [*table.origin["files"]] == ["model.safetensors", "tokenizer.json"]

    @pytest.mark.parametrize(
        ("tensors", "said"),
        [
            (
                {"encoder.layer.0": torch.ones(2, 2)},
                r"must hold the vectors as embeddings .* but holds encoder\.layer\.0",
            ),
            ({"embeddings": torch.ones(5)}, "must hold the vectors as embeddings"),
            ({"embeddings": torch.ones(5, 2)}, r"a vector for each of the 9 ids of tokenizer\.json, but has 5"),
            ({"embeddings": torch.full((9, 2), torch.nan)}, "its vectors must be finite"),
            ({"embeddings": torch.ones(2, 2), "mapping": torch.full((9,), 2)}, "`mapping` must have a row below 2"),
            ({"embeddings": torch.ones(2, 2), "mapping": torch.zeros(3).long()}, "`mapping` must have a row below 2"),
            ({"embeddings": torch.ones(9, 2), "weights": torch.ones(9, 1)}, "`weights` must have a number for each"),
        ],
    )
    def test_what_is_no_table_is_refused(self, tmp_path, tensors, said):
        with pytest.raises(DataError, match=said):
            StaticTable.read(model2vec(tmp_path / "base", tensors))

    @pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
    def test_a_file_that_is_missing_is_named(self, tmp_path, name):
        folder = model2vec(tmp_path / "base", {"embeddings": torch.ones(9, 2)})
        (folder / name).unlink()
        for read in (StaticTable.read, table_width, table_digests):
            with pytest.raises(DataError, match=f"it has no {name}. Name another folder, or a text file"):
                read(folder)

    @pytest.mark.parametrize(
        ("name", "said"),
        [("model.safetensors", "cut short or damaged"), ("tokenizer.json", "it isn't a tokenizer of the library")],
    )
    def test_damage_is_named(self, tmp_path, name, said):
        folder = model2vec(tmp_path / "base", {"embeddings": torch.ones(9, 2)})
        (folder / name).write_text("{}", encoding="utf-8")
        with pytest.raises(DataError, match=said):
            StaticTable.read(folder)


@pytest.mark.parametrize(
    ("path", "said"),
    [("", "but none is given. Give one by --vectors"), ("no-such-name", "there is no 'no-such-name'. Give its path")],
)
def test_what_is_no_path_is_refused(path, said):
    for read in (StaticTable.read, table_width, table_digests):
        with pytest.raises(ArgumentError, match=said):
            read(path)


def test_a_similar_path_is_suggested(glove):
    with pytest.raises(ArgumentError, match=r"Did you mean '.*glove\.txt'"):
        StaticTable.read(glove.with_name("glov.txt"))


class TestPieces:
    def test_a_piece_belongs_to_the_word_in_which_it_begins(self):
        splitter = TokenizerSplitter(tokenizer())
        # "don" is one unknown piece: it begins in the first word and ends in the second.
        assert splitter.ids(["do", "n't", "saws"], "don't  saws") == [[1], [6, 7], [8, 9]]
        assert splitter.ids(["d", "on", "'t"], "don't") == [[1], [], [6, 7]]
        assert splitter.ids(["do", "n't"], "do n't") == [[4], [5, 6, 7]]
        assert splitter.ids([], "") == []

    def test_a_space_before_a_word_is_its_own(self):
        tokenizers = pytest.importorskip("tokenizers")
        found = tokenizers.Tokenizer(
            tokenizers.models.Unigram([("<unk>", 0.0), ("▁ab", -1.0), ("▁", -2.0), ("c", -2.0)], unk_id=0)
        )
        found.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        splitter = TokenizerSplitter(found)
        assert splitter.ids(["ab", "c", "d"], "ab c d") == [[3], [4, 5], [4, 1]]

    def test_a_saved_splitter_is_the_same(self):
        for splitter in (TokenizerSplitter(tokenizer()), WordSplitter(["saw", "film"])):
            again = splitter_from_json(json.loads(json.dumps(splitter.to_json())))
            assert again.size == splitter.size
            assert again.ids(["saws", "film"], "saws film") == splitter.ids(["saws", "film"], "saws film")

    @pytest.mark.parametrize(
        "saved",
        [
            None,
            {},
            {"kind": "words"},
            {"kind": "words", "words": [1]},
            {"kind": "words", "words": ["a", "a"]},
            {"kind": "x", "words": []},
            {"kind": "tokenizer", "tokenizer": "{"},
            {"kind": "tokenizer", "tokenizer": 3},
        ],
    )
    def test_what_was_not_saved_by_it_is_refused(self, saved):
        pytest.importorskip("tokenizers")
        with pytest.raises(ArgumentError):
            splitter_from_json(saved)
