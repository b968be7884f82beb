// The parts of the page of two records: each is drawn for both, with one cursor and one scale, and what differs.
import { MOST_SHOWN } from "./answers.js";
import { comparedView } from "./compared.js";
import { headsOfBoth } from "./difference_heads.js";
import { differenceSentence, modelNameOf } from "./difference_sentence.js";
import { clipped, h, token } from "./dom.js";
import { nameOfHead, overAll } from "./facts.js";
import { headsView } from "./heads.js";
import { inputView } from "./input.js";
import { mapView } from "./map.js";
import { differenceCells } from "./map_differences.js";
import { commonScale } from "./map_scale.js";
import { weightCells } from "./map_weights.js";
import { pairsOf } from "./pairs.js";
import { patchedPart } from "./patched.js";
import { sideMark } from "./sides.js";
import { chosenOf, stepsFocus, stepsView } from "./steps.js";
import { isRemoved } from "./view.js";
import { warningsOf } from "./warned.js";
import { inputNameOf, nounOf, wordsOf } from "./words.js";

const MANY_KEYS = 40;

/** What the page of two records does in another way than that of one. */
export function bothOf(all) {
  const pairs = pairsOf(all);
  return {
    changed: pairs.changed, normal: pairs.normal, viewOf: pairs.viewOf, step: pairs.step, stepKey: pairs.stepKey,
    sentence: (view, most) => differenceSentence(view, pairs, most),
    heading: (_, words) => [words.both], headsNote: (_, words) => (pairs.ofOneModel ? words.bothHeadsNote : words.bothHeadsApart), stepsNote: () => "",
    // Each side has its own.
    told: () => all.records, warnings: () => [], notes: (view) => notesOf(view, pairs), choosesRecord: false,
    /** Everything that can be found, with the record that it is of. */
    texts: () => pairs.pairs.queries.map(([one, other]) => (one === null ? [1, other] : [0, one]))
      .map(([side, i]) => ({ side, i, text: (all.records[side].queries || all.records[side].items)[i] })),
    views: (roots, choose, peek, tiles, signal) => viewsOf(roots, choose, peek, tiles, signal, pairs),
  };
}

function viewsOf({ page, items, compared, heads, map, steps, stepsTitle }, choose, peek, tiles, signal, pairs) {
  page.classList.add("both");
  const on = (side, action) => (change) => action(change && { side, ...change });
  const sides = [0, 1].map((side) => {
    const name = h("p", { class: "quiet side-name" }), box = h("div", {}), nothing = h("p", { class: "quiet" }), warned = h("div", {});
    items.append(h("div", { class: "side", "data-side": side, role: "group" }, name, box, nothing, warned));
    const title = h("h3", { class: "quiet" }), walk = h("div", {});
    steps.append(h("div", { "data-side": side }, title, walk));
    const mapTitle = h("h3", { class: "quiet" }), mapBox = h("div", { "data-side": side }), noMap = h("p", { class: "quiet" });
    map.append(h("div", {}, mapTitle, mapBox, noMap));
    return { name, nothing, warned, title, walk, show: inputView(box, on(side, choose), on(side, peek), signal), step: stepsView(walk, title), mapTitle, mapBox, noMap };
  });
  items.classList.add("sides");
  steps.classList.add("sides");
  // What the pointer is on in one record is shown in the other parts, by the number of its row.
  const lit = (side) => (event) => {
    event.stopPropagation();
    const { key } = event.detail, row = key === null ? null : pairs.indexOf("items", side, key);
    page.dispatchEvent(new CustomEvent("lit", { detail: { key: row } }));
  };
  [...items.children].forEach((each, side) => each.addEventListener("lit", lit(side)));

  // One scale for both maps: the largest weight of both.
  const none = { full: 0, largest: 0 }, scales = [none, none], scaled = (side) => (scale) => {
    const before = commonScale(scales);
    scales[side] = scale;
    const now = commonScale(scales);
    if (now.full !== before.full || now.largest !== before.largest) queueMicrotask(() => maps[1 - side]?.redraw());
    return () => commonScale(scales);
  };
  const maps = sides.map(({ mapBox }, side) => {
    mapBox.addEventListener("lit", (event) => {
      lit(side)(event);
      point(side, event.detail.pair ?? null);
    });
    return mapView(mapBox, on(side, choose), weightCells(tiles, scaled(side)));
  });
  const differenceTitle = h("h3", { class: "quiet" }), differenceBox = h("div", { "data-side": "difference" });
  map.append(h("div", {}, differenceTitle, differenceBox));
  map.classList.add("maps");
  const difference = mapView(differenceBox, on(0, choose), differenceCells(pairs, tiles));
  differenceBox.addEventListener("lit", (event) => {
    const { pair } = event.detail;
    lit(0)(event);
    maps[0].point(pair);
    maps[1].point(pair && partnerOf(0, pair));
  });
  let view = null;

  function partnerOf(side, { query, key }) {
    const other = view.both[1 - side].layer.queries === 1 ? 0 : pairs.partner("queries", side, query);
    const its = pairs.partner("items", side, key);
    return other === null || its === null ? null : { query: other, key: its };
  }

  function point(side, pair) {
    maps[1 - side].point(pair && partnerOf(side, pair));
    difference.point(pair, side);
  }

  const patched = patchedPart(pairs.against);
  if (patched) page.querySelector(".columns").append(patched.section);
  const table = comparedView(compared, choose, pairs), pictures = headsView(heads, choose, signal, headsOfBoth(pairs));
  return [(next) => {
    view = next;
    const { both, state } = view, words = wordsOf(state.lang);
    // The steps of both are those of one head, so that they can be compared, if anything can.
    const isTold = both.map(({ absent, key }) => !absent && key >= 0), partners = pairs.pairs.queries.filter((pair) => !pair.includes(null));
    const chosen = isTold.every(Boolean) && !pairs.apart ? chosenOf(both, partners) : [];
    // Many cells need more room than three maps beside each other have.
    map.classList.toggle("large", both.some(({ layer }) => layer.keys > MANY_KEYS));
    both.forEach((each, side) => {
      const { name, nothing, warned, title, walk, show, step, mapTitle, mapBox, noMap } = sides[side], letter = "AB"[side], hasLayer = each.absent !== "layer";
      const why = !hasLayer ? words.noLayer({ side: letter }) : words.noPartner({ noun: nounOf(each.data.noun, state.lang), side: letter });
      name.replaceChildren(sideMark(side), " ", h("strong", {}, token(clipped(each.data.title, 120))),
        ...[isNamedBy(each.data.title, each.data) ? "" : each.data.model, ...(hasLayer ? [...nameOfHead(each, words), overAll(each, words)] : [])]
          .filter(Boolean).map((text) => ` · ${text}`));
      name.parentElement.setAttribute("aria-label", `${letter}: ${each.data.title}`);
      const removed = hasLayer && isRemoved(each.data, each.number, each.head) ? words.removedWeights({ side: letter }) : "";
      nothing.textContent = each.absent ? why : removed;
      nothing.hidden = !nothing.textContent;
      warned.replaceChildren(...warningsOf(each.data.warnings, words));
      show(each);
      walk.hidden = !isTold[side];
      if (isTold[side]) step(each, chosen[side]);
      else title.textContent = why;
      if (isTold[side]) title.append(` ${stepsFocus(each, words)}`);
      title.prepend(sideMark(side), " ");
      mapTitle.replaceChildren(sideMark(side), " ", token(clipped(each.data.title, MOST_SHOWN)));
      mapBox.hidden = !hasLayer || Boolean(removed);
      noMap.textContent = hasLayer ? removed : why;
      if (!mapBox.hidden) maps[side](each);
      else scales[side] = none;
    });
    stepsTitle.textContent = words.steps({ weight: words.aWeight });
    differenceTitle.replaceChildren(h("span", { class: "mark" }, "B − A"), ` ${words.differenceMap}`);
    table(view);
    pictures(view);
    patched?.show(view);
    difference({ ...both[0], both, state });
  }];
}

// Whether a title names the model, and what it is without, so that these needn't be said again.
function isNamedBy(title, data) {
  return title === data.model || Boolean(data.without.length) && title.startsWith(modelNameOf(data));
}

/** What can't be compared, and why, in sentences. */
function notesOf({ both, state: { lang } }, { pairs, against }) {
  const words = wordsOf(lang), found = [];
  const counted = (count, noun) => words.counted({ count, noun: nounOf(noun, lang, count !== 1) });
  if (against.obstacle === "kinds") {
    const [one, other] = against.kinds.map((each) => inputNameOf(each, lang));
    found.push(words.differentKinds({ one, other }));
  } else if (against.obstacle === "sizes") {
    const [one, other] = both.map(({ data }) => counted(data.items.length, data.noun));
    found.push(words.differentSizes({ one, other }));
  } else if (against.obstacle) found.push(words.differentQueries);
  else {
    found.push(...aloneOf(pairs.items, both.map(({ data }) => data.noun), lang));
    if (both[0].data.queries !== null) found.push(...aloneOf(pairs.queries, ["piece", "piece"], lang));
  }
  const [count, other] = both.map(({ data }) => data.layers.length);
  if (!count !== !other) found.push(words.noLayers({ side: count ? "B" : "A" }));
  else if (count !== other) found.push(words.otherLayers({ count, other }));
  if (both[0].kind !== both[1].kind) found.push(words.otherKinds);
  const measured = both.map(({ data }) => data.outcomes.hidden !== null);
  if (measured[0] !== measured[1]) found.push(words.unmeasured({ side: measured[0] ? "B" : "A" }));
  return found;
}

// What has no partner, in a sentence.
function aloneOf(pairs, nouns, lang) {
  const words = wordsOf(lang), counts = [1, 0].map((side) => pairs.filter((pair) => pair[side] === null).length);
  const items = counts.map((count, side) => count
    && words.aloneIn({ count, noun: nounOf(nouns[side], lang, count !== 1), side: "AB"[side] })).filter(Boolean);
  return items.length ? [words.alone({ items: items.join(words.and), count: counts[0] + counts[1] })] : [];
}
