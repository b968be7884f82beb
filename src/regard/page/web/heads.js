// All heads, small: of one record each with its pattern and the answer without it, of two side by side. One is chosen.
import { MOST_SHOWN } from "./answers.js";
import { scaleOf, swatch } from "./colours.js";
import { button, clipped, h } from "./dom.js";
import { changeOfNumber, changeText, effectText, isShownNoise, isUnchanged, percent, probability } from "./numbers.js";
import { highOfLayer, isJoined, thumbnailsIn } from "./thumbnails.js";
import { floorText } from "./noise.js";
import { changeSize, fullChange, isRemoved } from "./view.js";
import { patternOf, patternsMean, wordsOf } from "./words.js";

// If a layer has more heads than that, they stand without their words, which a line tells of one of them.
const MOST_WITH_WORDS = 6;
// In a narrow window so many stand beside each other.
const MOST_IN_A_ROW = 5;
// So many of them are named.
const MOST_TELLING = 4;
// Where no bar below a head would be longer, in pixels, there are none.
const SHORT_BAR = 4;

/**
 * The heads; `choose` is called with the layer and the head, and of two records with the one that has them.
 *
 * formOf(root, line, choose) says what is told of them: {list, frame(rows, many, view), parts(tile, pictures, view),
 * show(tiles, view, full), told(tile, view)}: the element that scrolls, what puts the rows into the root, the children of a
 * button, what changes in the buttons with the view, and what the line says of one. full: the weight that has the full colour; 0:
 * a colour is none of a weight.
 */
export function headsView(root, choose, signal, formOf = headsOfOne) {
  const line = h("p", { class: "quiet line" }), form = formOf(root, line, choose), pictures = thumbnailsIn(root, signal);
  let built = null, tiles = [], shown = null, full = 0;

  return (view) => {
    const { high } = scaleOf(root), name = `${view.both ? "both" : view.state.record} ${view.state.lang} ${high}`;
    shown = view;
    if (built !== name) {
      build(view, view.both ?? [view]);
      built = name;
    }
    for (const tile of tiles) {
      tile.pressed = (view.both ?? [view]).some((each) => isChosen(tile, each));
      tile.button.setAttribute("aria-pressed", String(tile.pressed));
      if (tile.pressed && !tile.button.matches(":hover")) reveal(tile.button);
    }
    form.show(tiles, view, full);
    tell(null);
  };

  function isChosen({ layer, head }, { absent, usesPooling, number, head: own, data }) {
    if (absent === "layer" || (layer === null) !== Boolean(usesPooling)) return false;
    return layer === null || layer === number && (head === own || data.layers[number].heads === 1);
  }

  // Scrolls the list, and nothing else.
  function reveal(button) {
    const own = button.getBoundingClientRect(), list = form.list.getBoundingClientRect();
    if (own.top < list.top) form.list.scrollTop += own.top - list.top;
    else if (own.bottom > list.bottom) form.list.scrollTop += own.bottom - list.bottom;
  }

  // What a head is, or the chosen one.
  function tell(asked) {
    const tile = asked || tiles.find(({ pressed }) => pressed);
    line.replaceChildren(...(tile ? form.told(tile, shown) : []));
  }

  function build(view, both) {
    const words = wordsOf(view.state.lang), records = both.map(({ data }) => data), scale = scaleOf(root);
    const layers = records.flatMap((each) => each.layers), pools = records.flatMap(({ pooling }) => pooling ?? []);
    // One scale, so that heads can be compared.
    const high = Math.max(1e-9, ...[...layers, ...pools].map(highOfLayer));
    full = [...layers, ...pools].some(isJoined) ? 0 : high;
    const count = Math.max(...records.map((each) => each.layers.length));
    tiles = [];
    pictures.begin(layers.reduce((sum, { heads }) => sum + heads, 0));

    const tile = (layer, head) => {
      const own = records.map((each) => (layer === null ? each.pooling : each.layers[layer]));
      const there = own.map((each) => Boolean(each) && (head === null || head < each.heads));
      const short = layer === null ? words.pooling : head === null ? words.allHeads : `${layer + 1}.${head + 1}`;
      const made = { layer, head, short, name: layer !== null && head === null ? words.averageOfLayer({ layer: layer + 1 }) : short, pressed: false };
      made.removed = records.map((each) => isRemoved(each, layer, head));
      const drawn = own.map((each, side) => (!there[side] ? swatch("head missing") : made.removed[side] ? swatch("head removed")
        : pictures.add(each, head, scale, high)));
      made.button = button(layer === null ? "pooling" : `head ${layer} ${head}`, form.parts(made, drawn, view),
        () => choose({ ...(view.both ? { side: there.indexOf(true) } : {}), layer, head, key: null }),
        { class: layer === null && !view.both ? "tile pooled" : "tile", title: view.both ? made.name : short });
      for (const event of ["pointerenter", "focus"]) made.button.addEventListener(event, () => tell(made));
      for (const event of ["pointerleave", "blur"]) made.button.addEventListener(event, () => tell(null));
      tiles.push(made);
      return made.button;
    };
    const rows = Array.from({ length: count }, (_, layer) => {
      const most = Math.max(...records.map((each) => each.layers[layer]?.heads ?? 0));
      const heads = [...(most === 1 ? [] : [null]), ...Array(most).keys()];
      return h("div", { class: "layer", role: "group", "aria-label": words.layerOf({ layer: layer + 1, count }) },
        h("span", { class: "name" }, String(layer + 1)),
        h("div", { class: "tiles", style: placesOfTiles(heads.length) }, heads.map((head) => tile(layer, head))));
    });
    // As wide as a row of heads.
    const widest = Math.max(1, ...layers.map(({ heads }) => heads + (heads > 1)));
    // The pooling comes after the layers, so it stands above them.
    const pooled = records.every(({ pooling, outcomes }) => pooling && outcomes.places.some(({ query }) => query === null));
    if (pooled) rows.push(h("div", { class: "layer" }, h("span", { class: "name" }), h("div", { class: "tiles", style: placesOfTiles(widest) }, tile(null, null))));
    form.frame(rows.reverse(), layers.some(({ heads }) => heads > MOST_WITH_WORDS), view);
  }
}

// How many pictures there are in a layer, and in a narrow window in each of its rows.
function placesOfTiles(count) {
  return { "--count": count, "--columns": Math.ceil(count / Math.ceil(count / MOST_IN_A_ROW)) };
}

// Of one record: the pattern of a head, and the answer without it.
function headsOfOne(root, line, choose) {
  const key = h("p", { class: "heads-key" }), colours = h("p", { class: "heads-colours" });
  const patterns = h("p", { class: "heads-patterns" });
  // Of many heads those that matter most are named above the pictures.
  const named = h("p", { class: "named" });
  root.before(named);
  root.after(key, patterns, colours);
  let last = null, width = null;
  new ResizeObserver(() => last && width !== root.clientWidth && tellKey()).observe(root);
  // Bars that are too short to read are left out.
  const tellKey = () => {
    const { tiles, view } = last, many = root.classList.contains("many");
    width = root.clientWidth;
    const hasBars = many && tiles.some(({ button, share }) => share * button.firstElementChild.clientWidth > SHORT_BAR);
    root.classList.toggle("barless", !hasBars);
    key.replaceChildren(...(view.removed.length ? keyOf(view, many, hasBars) : []));
  };
  return {
    list: root,
    frame(rows, many) {
      root.replaceChildren(...rows, ...(many ? [line] : []));
      root.classList.toggle("many", many);
    },
    parts(tile, pictures, { data, state }) {
      tile.pattern = tile.head === null ? "" : patternOf(data.layers[tile.layer].patterns[tile.head] || "", state.lang);
      tile.after = h("span", { class: "after" });
      const short = tile.layer !== null && tile.head === null
        ? [h("span", { class: "full" }, tile.short), h("span", { class: "brief", "aria-hidden": "true" }, wordsOf(state.lang).allHeadsBrief)] : tile.short;
      return [...pictures, h("span", { class: "under" }, h("span", {}, short),
        tile.pattern && h("span", { class: "pattern" }, ` ${tile.pattern}`), tile.after)];
    },
    show(tiles, view, high) {
      const full = fullChange(view.removed.flat(), view);
      const words = wordsOf(view.state.lang);
      // Of many heads there is no room for their patterns.
      const written = root.classList.contains("many") ? [] : view.data.layers.flatMap((layer) => layer.patterns);
      patterns.textContent = patternsMean(new Set(written), view.state.lang);
      const most = root.classList.contains("many") ? telling(tiles, view, words) : [];
      named.hidden = !most.length;
      named.replaceChildren(...(most.length ? [`${words.mostTelling} `] : []), ...most.map(({ layer, head, short, outcome }) =>
        button(`named ${layer} ${head}`, [h("strong", {}, short), ` ${effectText(outcome, view.place, view.kind, words)}`],
          () => choose({ layer, head, key: null }))));
      colours.textContent = high && tiles.length > 1 ? words.keyOfColours({ share: percent(high) }) : "";
      for (const tile of tiles) {
        const { layer, head, short, button, after } = tile;
        const outcome = layer === null || head === null || !view.removed.length ? null : view.removed[layer][head];
        after.textContent = outcome ? answer(view, outcome) : "";
        after.classList.toggle("numeric", view.kind === "numbers");
        button.classList.toggle("noise", outcome !== null && isShownNoise(outcome, view.place, view.kind, words));
        button.title = [short, outcome && floorText(outcome, view, words)].filter(Boolean).join(" · ");
        // A number is always another one.
        after.classList.toggle("changed", outcome !== null && view.kind !== "numbers" && outcome.label !== view.place.label);
        tile.share = outcome ? changeSize(outcome) / full : 0;
        button.style.setProperty("--effect-share", tile.share.toFixed(3));
      }
      last = { tiles, view };
      tellKey();
    },
    told: ({ name, pattern, after }) => [[name, pattern, after.textContent.trim()].filter(Boolean).join(" · ")],
  };
}

// The heads without which the answer changes most, if they can be told from noise: each with its outcome.
function telling(tiles, { removed, place, kind }, words) {
  return tiles.filter(({ layer, head }) => removed.length && layer !== null && head !== null)
    .map((tile) => ({ ...tile, outcome: removed[tile.layer][tile.head] }))
    .filter(({ outcome }) => !outcome.isNoise && !isUnchanged(outcome, place, kind, words))
    .sort((a, b) => changeSize(b.outcome) - changeSize(a.outcome)).slice(0, MOST_TELLING);
}

// What the numbers below the heads are, and which of them are noise.
function keyOf(view, many, hasBars) {
  const { kind, place, removed, state: { lang } } = view, words = wordsOf(lang);
  const isNoise = removed.flat().some((outcome) => isShownNoise(outcome, place, kind, words));
  if (many && !hasBars) return [words.keyWithoutBars, lang === "zh" ? "。" : "."];
  return [...keyOfNumbers(view, many), ...(isNoise ? [lang === "zh" ? "" : " ", many ? words.keyOfNoiseBars : words.keyOfNoise] : [])];
}

function keyOfNumbers({ kind, place, state: { lang } }, many) {
  const words = wordsOf(lang), end = lang === "zh" ? "。" : ".";
  if (many) return [words.keyOfBars, end];
  if (kind === "numbers") return [words.keyOfHeadsOfNumber, end];
  if (kind === "vectors") return [words.keyOfHeadsOfVector, end];
  return [`${words.keyOfHeads({ label: clipped(place.label, MOST_SHOWN) })} `, h("span", { class: "changed" }, words.orange), end];
}

function answer({ kind, place, state }, outcome) {
  const words = wordsOf(state.lang);
  if (kind !== "labels" && isUnchanged(outcome, place, kind, words)) return ` ${words.unchanged}`;
  if (kind === "vectors") return ` ${changeText(outcome.change, kind, words)}`;
  if (kind === "numbers") {
    const { change, decimals } = changeOfNumber(outcome, place);
    return ` ${changeText(change, kind, words, decimals)}`;
  }
  const score = outcome.score === null ? "" : probability(outcome.score);
  return outcome.label === place.label ? ` ${score}` : ` ${clipped(outcome.label, 40)} ${score}`;
}
