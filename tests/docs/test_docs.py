"""The documents run: every Python block, and every generated block says what the project says."""

import difflib
import re
import shlex
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from regard import attention
from regard.cli.main import main
from regard.datasets import SPLITS, read, split_by_source

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)(?:#([^)\s]*))?\)")
TRAINED = {"lab.md", "seq2seq.md", "synthesis.md"}
"""The how-tos whose blocks train for seconds, though what they print is the same on every machine."""
PARTS = [
    name
    for known in (
        attention.SCORES,
        attention.WEIGHTS,
        attention.MASKS,
        attention.POSITIONS,
        attention.INPUT_POSITIONS,
    )
    for name in known
]
OUTPUT = "<!-- generated: output -->"
RUN = re.compile(r"<!-- generated: (?:output|learned|here: .+?) -->")


@pytest.fixture(scope="module")
def generate(docs_module):
    return docs_module("generate")


def shows_what_it_runs(path: Path) -> bool:
    """Whether all of a document's blocks run in the test of what is generated, or those of the page it translates."""
    return bool(RUN.search(path.read_text(encoding="utf-8"))) or path.parent.parent == ROOT / "docs" / "zh"


def marked(path: Path) -> Any:
    """A document as a parameter: slow if its blocks train for long."""
    how_to = path.parent == ROOT / "docs" / "how-to"
    trains = "<!-- generated: learned -->" in path.read_text(encoding="utf-8") or (how_to and path.name in TRAINED)
    is_run = path.parent.parent != ROOT / "docs" / "zh"
    return pytest.param(path, id=path.name, marks=[pytest.mark.slow] if trains and is_run else [])


# PyTorch's own: the first use of its forward mode.
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is ")
@pytest.mark.parametrize("path", [p for p in DOCUMENTS if not shows_what_it_runs(p)], ids=lambda path: path.name)
def test_python_blocks_run(path, generate):
    """The blocks of one document run in order, in one namespace, in an empty folder."""
    assert generate.RUN.pattern == RUN.pattern
    generate.outputs(path.read_text(encoding="utf-8"), path)


@pytest.mark.parametrize("path", [marked(path) for path in DOCUMENTS])
def test_generated_blocks_are_fresh(path, generate):
    text = path.read_text(encoding="utf-8")
    new = generate.generated(text, path)
    # Told by lines: which differ is all that a log of CI can show of it.
    lines = "\n".join(difflib.unified_diff(text.splitlines(), new.splitlines(), "there", "generated", lineterm="", n=1))
    assert generate.same(text, new), f"{path.name} is stale: run `make docs`\n{lines}"


def test_pictures_are_fresh(generate):
    assert list(generate.stale_pictures()) == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    for target, heading in LINK.findall(path.read_text(encoding="utf-8")):
        found = path.parent / target
        assert found.exists(), f"{path.name} links to {target}"
        if heading and found.suffix == ".md":
            assert heading in anchors(found.read_text(encoding="utf-8")), f"{path.name} links to {target}#{heading}"


def test_links_within_a_document_lead_somewhere():
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        for heading in re.findall(r"\]\(#([^)\s]+)\)", text):
            assert heading in anchors(text), f"{path.name} links to #{heading}"


def anchors(text: str) -> set[str]:
    """What GitHub makes of a document's headings."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", PARTS)
def test_every_part_has_a_page(name):
    """Formula, picture, source, when to use it, an example whose output is shown."""
    page = ROOT / "docs" / "reference" / "parts" / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    for there in (
        "```math",
        f"(../../pictures/parts/{name}.svg)",
        "Source: ",
        "## When to use it",
        "```python",
        OUTPUT,
    ):
        assert there in text, f"{page.name} lacks {there}"
    # The formula and when to use it are written by hand; a picture has words for who can't see it.
    assert len(text.split("## When to use it")[1].split("##")[0]) > 100
    assert re.search(rf"!\[.{{20,}}\]\(\.\./\.\./pictures/parts/{name}\.svg\)", text)


def test_every_page_has_a_part():
    assert {path.stem for path in (ROOT / "docs" / "reference" / "parts").glob("*.md")} == set(PARTS)


def test_pictures_load_nothing_from_outside():
    for path in (ROOT / "docs" / "pictures").rglob("*.svg"):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text.replace("https://www.textualize.io", ""), path


def test_staleness_is_seen(generate):
    assert generate.same("0.53 of it", "0.54  of it")
    assert not generate.same("0.53 of it", "0.73 of it")
    assert not generate.same("0.53 of it", "0.53 of them")
    assert not generate.same("1 word", "1 2 word")


def test_the_sentence_of_a_benchmark_is_that_of_its_run(generate, monkeypatch):
    monkeypatch.setattr(generate, "measured", {"known": {"sentence": "Heads matter. " * 20}}.get)
    text = generate.generated("<!-- generated: sentence: known -->\n<!-- end -->\n")
    assert " ".join(text.split()[5:-3]) == " ".join(["Heads matter."] * 20)
    assert max(map(len, text.splitlines())) <= 120
    assert "Not measured yet" in generate.generated("<!-- generated: sentence: other -->\n<!-- end -->\n")


def test_a_table_that_is_missing_says_what_measures_it(generate, monkeypatch):
    monkeypatch.setattr(generate, "measured", lambda name: None)
    for name, command in (("operator", "make bench"), ("operator-cuda", "make bench-gpu"), ("gpu", "make bench-gpu")):
        assert f"`{command}` measures it" in generate.generated(
            f"<!-- generated: benchmark: {name} -->\n<!-- end -->\n"
        )


def test_outputs_are_those_of_the_block_above(generate):
    block = "```python\n{}\n```\n\n"
    empty = f"{OUTPUT}\n<!-- end -->\n"
    text = block.format("x = 1") + block.format("print(x + 1)") + empty + block.format("print(x)") + empty
    shown = re.findall(r"```text\n(.*?)```", generate.generated(text), re.DOTALL)
    assert shown == ["2\n", "1\n"]


def test_commands_run_in_turn_where_the_blocks_do(generate):
    command = "<!-- generated: here: regard data check one.conllu -->\n<!-- end -->\n"
    words = "'1\\ta\\t_\\tDET' + 6 * '\\t_' + '\\n2\\tsaw\\t_\\tNOUN' + 6 * '\\t_' + '\\n\\n'"
    begin = f"```python\nfrom pathlib import Path\nsentence = {words}\n```\n\n"
    write = "```python\nPath('one.conllu').write_text({}sentence)\n```\n\n"
    text = begin + write.format("") + command + write.format("2 * ") + command
    shown = re.findall(r"```text\n(.*?)```", generate.generated(text), re.DOTALL)
    assert all(each.startswith("$ regard data check one.conllu\n") for each in shown)
    # Sentences and words of the file as it was then.
    assert [re.findall(r"^all +(\d+) +(\d+)", each, re.MULTILINE) for each in shown] == [[("1", "2")], [("2", "4")]]


def test_a_command_that_fails_is_told(generate):
    with pytest.raises(SystemExit, match="failed with 2"):
        generate.generated("<!-- generated: here: regard predict -->\n<!-- end -->\n")


def test_what_was_learned_may_differ_in_numbers_only(generate):
    def kept(old, printed):
        text = f"```python\nprint({printed!r})\n```\n\n<!-- generated: learned -->\n```text\n{old}\n```\n<!-- end -->\n"
        return generate.generated(text) == text

    assert kept("not ██ 98% >99%\nroom ▏ <1%", "room 3%\nnot ████▏ 90% 100%")
    assert not kept("not ██ 98%", "nor ██ 98%")
    assert not kept("98%", "98% 2%")


TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
TRANSLATED = [*TUTORIALS, ROOT / "docs" / "how-to" / "page.md"]


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("README.md", "README.zh.md"),
        ("docs/explanation/notes.md", "docs/zh/notes.md"),
        *((f"docs/{path.parent.name}/{path.name}", f"docs/zh/{path.parent.name}/{path.name}") for path in TRANSLATED),
    ],
)
def test_the_chinese_page_is_in_step(english, chinese):
    """Both tell the same story: the same headings in number and order, the same commands, the same blocks."""
    texts = [(ROOT / path).read_text(encoding="utf-8") for path in (english, chinese)]
    for pattern in (r"^(#+) ", r"<!-- generated: ([^>]+?)(?: en| zh)? -->", r"```(\w*)\n"):
        first, second = (re.findall(pattern, text, re.MULTILINE) for text in texts)
        assert first == second, pattern
    first, second = (
        [re.sub(r" *#.*", "", block) for block in re.findall(r"```(?:python|sh)\n(.*?)```", text, re.DOTALL)]
        for text in texts
    )
    assert first == second


@pytest.mark.parametrize("path", TRANSLATED, ids=lambda path: path.name)
def test_a_chinese_page_shows_the_outputs_of_the_english_one(path, generate):
    """Block by block to the letter, as only the English one is run; and no page of one language alone."""
    pages = [folder / path.name for folder in (path.parent, ROOT / "docs" / "zh" / path.parent.name)]
    english, chinese = (page.read_text(encoding="utf-8") for page in pages)
    bodies = [[block["body"] for block in generate.BLOCK.finditer(text)] for text in (english, chinese)]
    assert bodies[0] == bodies[1]
    own = {page.name for page in TRANSLATED if page.parent == path.parent}
    assert {page.name for page in pages[1].parent.glob("*.md")} == own


def test_a_translation_with_other_blocks_is_refused(generate):
    first, second = ("```python\nprint(1)\n```\n\n", "```python\nprint(2)\n```\n\n")
    shown = f"{OUTPUT}\n```text\n1\n```\n<!-- end -->\n"
    assert generate.translated(first + OUTPUT + "\n<!-- end -->\n" + second, first + shown + second, "a.md") == (
        first + shown + second
    )
    for other in (second + shown + first, first + shown, first + second + shown):
        with pytest.raises(SystemExit, match=r"the blocks of a\.md"):
            generate.translated(other, first + shown + second, "a.md")


def test_the_readmes_table_has_the_same_figures_in_both_languages(docs_module):
    tables = docs_module("headline_tables")
    english, chinese = (tables.table(f"operator {language}") for language in ("en", "zh"))
    assert re.findall(r"[\d.]*\d", english) == re.findall(r"[\d.]*\d", chinese)
    with pytest.raises(SystemExit, match="no Chinese name"):
        tables.chinese("a row with another name")


def commands_of_the_readme() -> list[list[str]]:
    """The words of each command of regard, as they are pasted."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines() if line.startswith("regard ")]


REVIEWS = ROOT / "examples" / "reviews.csv"


def test_the_files_of_the_readmes_commands_are_there():
    read_files = {word for words in commands_of_the_readme() for word in words if word.endswith((".csv", ".png"))}
    assert read_files == {"docs/pictures/seven.png", "examples/reviews.csv"}
    assert all((ROOT / name).is_file() for name in read_files)


def test_the_reviews_are_balanced():
    """As many are good as bad, none is there twice, and each split has both."""
    examples = [(each.source, each.target) for each in read(REVIEWS, "train")]
    assert Counter(label for _, label in examples) == {"good": 30, "bad": 30}
    assert len({text for text, _ in examples}) == 60
    held = {split: set() for split in SPLITS}
    for split, (_, label) in zip(split_by_source(examples), examples, strict=True):
        held[split].add(label)
    assert all(labels == {"good", "bad"} for labels in held.values())


@pytest.mark.slow
def test_the_commands_of_the_readme_run(tmp_path, monkeypatch):
    for folder in ("docs", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    for words in commands_of_the_readme():
        assert main(words) == 0, words


def test_every_passage_of_the_notes_is_shown():
    passages = tomllib.loads((ROOT / "docs" / "notes.toml").read_text(encoding="utf-8"))["passage"]
    # A bar would begin another cell of the table.
    assert not [each for each in passages if "|" in "".join([*each["en"], *each["zh"], each["shown"]])]
    for path in ("docs/explanation/notes.md", "docs/zh/notes.md"):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert {each["note"] for each in passages} == set(re.findall(r"<!-- generated: notes: (\d+) ", text))
