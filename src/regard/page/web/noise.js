// What is said of effects that can't be told from noise: the floor of each, and of two that read the same what sets them apart; as in
// Python's `change_words.py`.
import { bareEffect, isShownNoise, sizeText } from "./numbers.js";
import { quotedName } from "./ties.js";

/** The size up to which a change can't be told from noise, in words; "": it wasn't measured. */
export function floorText({ floor }, { kind, place: { decimals } }, words) {
  return Number.isFinite(floor) ? words.noiseFloor({ size: sizeText(floor, kind, decimals) }) : "";
}

/** Why one of two changes that read the same is noise and the other isn't; "" if there are no two. */
export function floorsApart(view, words) {
  const { kind, place, hidden, removed, names, data, state: { lang } } = view;
  const found = [...hidden.map((outcome, item) => ({ outcome, name: quotedName(names[item], data, lang) })),
    ...removed.flatMap((heads, layer) => heads.map((outcome, head) => ({ outcome, name: `${layer + 1}.${head + 1}` })))]
    .map((each) => ({ ...each, text: bareEffect(each.outcome, place, kind, words), isNoise: isShownNoise(each.outcome, place, kind, words),
      size: sizeText(each.outcome.floor, kind, place.decimals) }));
  for (const one of found.filter(({ isNoise }) => isNoise)) {
    const second = found.find(({ outcome, text, size }) => Math.abs(outcome.change) > outcome.floor && text === one.text && size !== one.size);
    if (second) return words.noiseFloors({ name: one.name, one: one.size, second: second.name, other: second.size });
  }
  return "";
}
