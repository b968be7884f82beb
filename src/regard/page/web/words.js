// The page's own words, in English and Chinese, from the messages that Python reads too.
import MESSAGES from "./messages.json" with { type: "json" };

const PLACE = /\{(\w+)(?::([a-z,]+))?\}/;

const spoken = {};

/** The words of a language: of each message its text, or a function of the values in it. */
export function wordsOf(lang) {
  spoken[lang] ??= Object.fromEntries(Object.entries(MESSAGES.messages).map(([name, message]) =>
    [name, Object.values(message).some(hasPlaces) ? (values) => messageText(messageParts(lang, name, values)) : message[lang]]));
  return spoken[lang];
}

function hasPlaces(message) {
  return typeof message === "string" ? PLACE.test(message) : !Array.isArray(message);
}

/**
 * A message as a list of [text, kind], where kind is "", or the one that its place has: "weight", "effect" or "answer".
 *
 * values: by the name of a place a text, a number, or such a list. Of a message in the singular and in the plural, `count`
 * says which.
 */
export function messageParts(lang, name, values = {}) {
  const found = MESSAGES.messages[name][lang], template = found.one === undefined ? found : values.count === 1 ? found.one : found.other;
  const pieces = template.split(PLACE), parts = [];
  const add = ([text, kind]) => {
    if (!kind && parts.length && !parts.at(-1)[1]) parts.at(-1)[0] += text;
    else if (text) parts.push([text, kind]);
  };
  for (let i = 0; i < pieces.length; i += 3) {
    add([pieces[i], ""]);
    if (i + 1 === pieces.length) break;
    const value = values[pieces[i + 1]], kind = pieces[i + 2] ?? "";
    if (Array.isArray(value)) value.forEach(add);
    else add(kind === "," ? [value.toLocaleString("en"), ""] : [String(value), kind]);
  }
  return parts;
}

/** The text of such a list. */
export function messageText(parts) {
  return parts.map(([text]) => text).join("");
}

/** What a column of the weights of a view is called: those of a state-space layer are effective ones. */
export function weightsName({ layer }, words) {
  return layer.effective ? words.effective : words.attended;
}

/** The name of an item, in a language. */
export function nounOf(noun, lang, many = false) {
  if (lang === "zh") return MESSAGES.nouns[noun] || noun;
  return many ? (/(ch|s|x)$/.test(noun) ? `${noun}es` : `${noun}s`) : noun;
}

/** A kind of input, in a language. */
export function inputNameOf(kind, lang) {
  return lang === "zh" ? MESSAGES.inputs[kind] : kind;
}

/** The name of a tag of Universal Dependencies, or of the Chinese treebank GSD, in a language; null if it is none. */
export function tagOf(tag, lang) {
  const known = [MESSAGES.tags, MESSAGES.xpos].find((each) => Object.hasOwn(each, tag));
  return known ? known[tag][lang === "zh" ? "zh" : "en"] : null;
}

/** What an assay of Tox21 measures an effect on, in a language; null if it is none. */
export function assayOf(name, lang) {
  return Object.hasOwn(MESSAGES.assays, name) ? MESSAGES.assays[name][lang === "zh" ? "zh" : "en"] : null;
}

/** The name of a head's pattern, in a language. */
export function patternOf(pattern, lang) {
  return lang === "zh" ? MESSAGES.patterns[pattern]?.zh || pattern : pattern;
}

/** Where most of the weight of heads with these patterns is, as a sentence; "" if there is nothing to explain. */
export function patternsMean(patterns, lang) {
  const words = wordsOf(lang), found = Object.entries(MESSAGES.patterns).filter(([name, { means }]) => means && patterns.has(name));
  const meanings = found.map(([name, { means }]) => words.termMeans({ term: patternOf(name, lang), meaning: means[lang === "zh" ? "zh" : "en"] }));
  return meanings.length ? words.patternsMean({ meanings: meanings.join(lang === "zh" ? "；" : "; ") }) : "";
}
