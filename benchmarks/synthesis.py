"""The intelligibility of synthesized strings of digits: the error rate of a recogniser.

    python benchmarks/synthesis.py SPEAKER RECOGNISER [--split dev] [--strings 50] [--keep FOLDER]

Both are folders that `regard train` wrote: of `synthesis --data fsdd-strings --label speech`, and of `seq2seq --data
fsdd-strings`. The recogniser also transcribes the recordings of the same strings, and these converted to filter banks
and back, which is the best that any synthesizer of such filter banks could reach. A digit is a character and a word.
The line of JSON that is printed is added to results/synthesis.jsonl.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

from regard.datasets import read
from regard.files import write_text
from regard.inputs import Sound, write_sound
from regard.lab.measurement import processor
from regard.tasks import Evaluation, Seq2SeqModel, Synthesizer, load
from regard.tasks.seq2seq.measures import TEXT_MEASURES

LINES = Path(__file__).parent / "results" / "synthesis.jsonl"
HEARD = "heard"
"""What a row of tasks.json is judged by if it is of synthesis: what `measured` finds of what was said."""
MEASURE = TEXT_MEASURES["character error rate"].measure


def through_filter_banks(speaker: Synthesizer, sound: Sound) -> Sound:
    """A recording converted to filter banks and back, like the output of a perfect synthesizer."""
    frames = speaker.target.frames
    return frames.to_sound(frames.frames(sound))


def measured(
    speaker: Synthesizer, recogniser: Seq2SeqModel, split: str, strings: int | None, keep: Path | None
) -> dict[str, Any]:
    """The error rates of the recogniser on a split, synthesized and recorded, as a line of JSON."""
    spoken = read("fsdd-strings", split, "speech")[:strings]
    digits = [each.target for each in read("fsdd-strings", split, "digits")[:strings]]
    started = time.perf_counter()
    said = speaker.say([each.source for each in spoken])
    seconds = time.perf_counter() - started
    heard = {
        "recordings": [each.target for each in spoken],
        "filter banks": [through_filter_banks(speaker, each.target) for each in spoken],
        "said": [each.sound for each in said if each is not None],
    }
    if keep is not None:
        for example, sound in zip(spoken, heard["said"], strict=True):
            write_sound(keep / f"{example.source.replace(' ', '_')}.wav", sound)
    judged = {name: recogniser.evaluate(list(zip(sounds, digits, strict=True))) for name, sounds in heard.items()}
    return {
        "split": split,
        "strings": len(spoken),
        "measure": MEASURE.name,
        **{name: _figures(each) for name, each in judged.items()},
        "cut": sum(not each.ended for each in said if each is not None),
        "seconds of speech": round(sum(sound.seconds for sound in heard["said"]), 2),
        "seconds to say it": round(seconds, 2),
        "speaker": _described(speaker),
        "recogniser": _described(recogniser),
        "machine": processor(),
    }


def _figures(judged: Evaluation) -> dict[str, Any]:
    return {
        "score": round(judged.score, 4),
        "interval": judged.interval and [round(each, 4) for each in judged.interval],
    }


def _described(model: Any) -> dict[str, Any]:
    training = model.about.get("training", {})
    return {
        "recipe": model.recipe.to_json(),
        "parameters": model.parameters,
        "epochs": training.get("epochs"),
        "seconds": training.get("seconds"),
        "versions": training.get("versions"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("speaker", metavar="SPEAKER", help="a folder of a model that speaks")
    parser.add_argument("recogniser", metavar="RECOGNISER", help="a folder of a model that writes digits")
    parser.add_argument("--split", choices=("train", "dev", "test"), default="test")
    parser.add_argument("--strings", type=int, metavar="N", help="the first N alone")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write what was said there, as WAV")
    given = parser.parse_args()
    speaker, recogniser = load(given.speaker), load(given.recogniser)
    if not isinstance(speaker, Synthesizer) or not isinstance(recogniser, Seq2SeqModel):
        parser.error("SPEAKER must be of kind synthesis, and RECOGNISER of kind seq2seq.")
    if recogniser.measure != MEASURE:
        parser.error(f"RECOGNISER must be judged by {MEASURE.name}, but is by {recogniser.measure.name}.")
    line = json.dumps(measured(speaker, recogniser, given.split, given.strings, given.keep), ensure_ascii=False)
    written = LINES.read_text(encoding="utf-8") if LINES.exists() else ""
    write_text(LINES, written + line + "\n")
    print(line)


if __name__ == "__main__":
    main()
