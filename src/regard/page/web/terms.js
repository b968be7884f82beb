// What the page's short names mean, for readers who meet them first: tags, assays, the end of an output, the error of a model.
import { isByChance } from "./facts.js";
import { EVEN_DEVIATION } from "./uniform.js";
import { assayOf, tagOf } from "./words.js";

// Fewer labels may have the name of a tag by chance.
const LEAST_TAGS = 2;
// Marks that are tags of their own explain themselves.
const LETTER = /\p{L}/u;
// As records name the end of what is written.
const END = "(end)";

/** The short names in some records and in the sentences of what is chosen, by their views, and what they mean, as [name, meaning]. */
export function termsOf(records, views, words, lang) {
  const outcomes = records.map((each) => each.outcomes), named = records.flatMap(tagsIn).filter((tag) => LETTER.test(tag));
  const found = [...new Set(named)].sort().map((tag) => [tag, tagOf(tag, lang)]);
  for (const name of new Set(views.map(({ place }) => place?.name))) if (assayOf(name, lang)) found.push([name, words.assayMeans({ target: assayOf(name, lang) })]);
  if (outcomes.some(({ form, places }) => form === "generated" && places.at(-1)?.name === END)) found.push([END, words.endMeans]);
  if (outcomes.some(({ kind, error }) => kind === "numbers" && typeof error === "number")) found.push(["RMSE", words.errorMeans]);
  // Two records have a sentence of their differences.
  if (views.length === 1 && isByChance(views[0])) found.push([words.byChance, words.byChanceMeans({ deviation: EVEN_DEVIATION.toFixed(2) })]);
  return found;
}

/** What a label means, if all labels of the record are tags of a treebank; else null. */
export function tagMeaning(data, label, lang) {
  return tagsIn(data).includes(label) ? tagOf(label, lang) : null;
}

const tags = new WeakMap();

// The tags of a record: all of its labels, if each is one.
function tagsIn(data) {
  if (!tags.has(data)) {
    const { kind, form, labels, places } = data.outcomes, isTagged = kind === "labels" && form !== "generated";
    const every = isTagged ? new Set([...labels, ...data.labels, ...places.map(({ label }) => label)].filter(Boolean)) : new Set();
    tags.set(data, every.size >= LEAST_TAGS && [...every].every((each) => tagOf(each, "en") !== null) ? [...every] : []);
  }
  return tags.get(data);
}
