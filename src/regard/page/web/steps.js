// How one number came about: from a query and a key to the weight, each number to be opened.
import { MOST_SHOWN } from "./answers.js";
import { clipped, h } from "./dom.js";
import { nameOfPlace } from "./facts.js";
import { missingText } from "./left_out.js";
import { percent, short, withMinus } from "./numbers.js";
import { bracketed, scoreTexts, sumTexts } from "./sums.js";
import { biasOf, headVectors, headsOf, isAllowed, isComing, keysBetween, known, logSumOf, product, weightAt } from "./weights.js";
import { isMasked, largest, viewOfRow, weightText } from "./view.js";
import { wordsOf } from "./words.js";

const FEW = 3;
// Shares of an average that are written.
const MOST_SHARES = 8;
// Of more rows than that times the heads an average isn't taken apart.
const MOST_AVERAGED = 2 ** 16;

/** Which weight the steps are of, and why. */
export function stepsFocus(view, words) {
  const { isChosen, usesPooling, names, key, row } = view, { pooled, weights } = viewOfRow(view);
  const from = usesPooling ? words.pooling : row !== null ? namesOfRows(view)[row] : pooled ? words.averageOfRows : nameOfPlace(view);
  const message = weights && key === largest(weights) ? "stepsOfLargest" : isChosen ? "stepsOfChosen" : "stepsOf";
  return words[message]({ query: clipped(from, MOST_SHOWN), key: clipped(names[key], MOST_SHOWN) });
}

/**
 * The steps of the chosen item and key. Of an average they are those of one row and one head, as `chosenOf` gives them: by
 * default those with the largest weight. Of a chosen row they are its own.
 */
export function stepsView(root, title) {
  // What was opened stays open for the next pair.
  let open = false;
  return (shown, chosen = chosenOf([shown])[0]) => {
    const view = viewOfRow(shown), { layer, state, key } = view, words = wordsOf(state.lang), rows = [];
    title.textContent = words.steps({ weight: view.weights && !isMasked(view, key) ? weightText(view, key) : words.aWeight });
    const { averaged, each, query, every, head, isOfBoth, isRowOfBoth } = chosen;
    const why = averaged && !each ? words.pooledSteps : whyNone(view, head, words);
    if (why) {
      root.replaceChildren(h("p", { class: "quiet" }, why));
      return;
    }
    if (each) rows.push(step(words.rowOf({ name: namesOfRows(view)[query], count: layer.queries }), isRowOfBoth ? words.largestOfBoth : words.largestHead));
    const part = headVectors(layer, head);
    const sum = product(part, query, key), scaled = part.scale * sum, bias = biasOf(part, query, key);
    const allowed = isAllowed(part, query, key), score = scaled + bias;
    const { count, most } = allowed ? rowScores(part, query) : {}, texts = scoreTexts({ scaled, bias, score, largest: most });
    // Those first that make most of the sum.
    const terms = Array.from({ length: part.size }, (_, i) => [part.query[query * part.size + i], part.key[key * part.size + i], i])
      .sort(([a, b], [c, d]) => Math.abs(c * d) - Math.abs(a * b));
    const { text: products, sum: productsSum } = productTexts(terms, sum, words);
    if (every) rows.push(step(words.headOf({ head: head + 1, count: layer.heads }), isOfBoth ? words.largestOfBoth : words.largestHead));
    rows.push(step(words.product, `${products} = `, productsSum, (said) => h("details", { open, ontoggle: ({ target }) => {
        open = target.open;
      } }, h("summary", { "data-id": "terms" }, said), tableOf(terms))));
    rows.push(Math.abs(part.scale - part.size ** -0.5) < 1e-9
      ? step(words.root({ size: part.size }), "", texts.scaled) : step(words.scale, `${minused(part.scale)} × ${bracketed(productsSum)} = `, texts.scaled));
    if (part.bias.distance || part.bias.near || part.bias.pair) {
      const distance = key - (query + part.keys - part.queries);
      rows.push(step(distance ? words[distance < 0 ? "positionBefore" : "positionAfter"]({ distance: Math.abs(distance) }) : words.positionItself, `${texts.scaled} + ${bracketed(texts.bias)} = `, texts.score));
    }
    rows.push(step(words.mask, "", allowed ? words.allowed : words.hidden));
    if (allowed) {
      // As it is computed: the exponential of a score itself may be too large for a number.
      const sum = Math.exp(logSumOf(part, query) - most);
      const isNone = most === -Infinity;
      if (!isNone) rows.push(step(words.largest, `${texts.score} − ${bracketed(texts.largest)} = `, texts.difference));
      rows.push(step(words.softmax({ count }), isNone ? "" : `exp(${texts.difference}) ÷ ${short(sum)} = `,
        percent(weightAt(layer, head, query, key))));
    }
    if (every) rows.push(step(words.mean, someOf(every, words), percent(each ? each[query] : view.weights[key])));
    if (each) rows.push(step(words.meanOfRows, someOf(each, words), percent(view.weights[key])));
    root.replaceChildren(h("dl", { class: "steps" }, rows));
  };
}

/**
 * The row and the head whose steps are told of each view: of an average over rows the one that is chosen, or the one with the
 * largest weight, and of one over heads the head. Of two views they are the same: those whose weights in both have the largest sum.
 *
 * shown: one view, or two; partners: of two, the pairs of their rows, [first, second], of which none is null.
 */
export function chosenOf(shown, partners = null) {
  const views = shown.map(viewOfRow);
  const found = views.map((view) => {
    const { layer, head, key } = view, averaged = view.pooled && !view.usesPooling;
    return { averaged, each: averaged && canAverage(layer, head) ? meansOfRows(layer, head, key) : null };
  });
  const own = found.map(({ each }, at) => (each ? largestAt(each) : views[at].place.query ?? 0));
  const isRowOfBoth = Boolean(partners?.length) && found.every(({ each }) => each);
  const rows = isRowOfBoth
    ? partners[largestAt(partners.map((pair) => pair.reduce((sum, row, at) => sum + found[at].each[row], 0)))] : own;
  const heads = views.map((view, at) => everyHead(view, found[at], rows[at]));
  const isOfBoth = views.length > 1 && heads.every(Boolean);
  const sums = isOfBoth && Array.from({ length: Math.min(...heads.map(({ length }) => length)) }, (_, head) =>
    heads.reduce((sum, every) => sum + every[head], 0));
  return found.map((each, at) => ({ ...each, query: rows[at], every: heads[at], isOfBoth, isRowOfBoth,
    head: isOfBoth ? largestAt(sums) : heads[at] ? largestAt(heads[at]) : views[at].head }));
}

function namesOfRows({ data, names }) {
  return data.numbered_queries || names;
}

// The weight of the pair in each head, if the view is of their average; else null.
function everyHead({ layer, head, key }, { averaged, each }, query) {
  const isMean = (!averaged || each) && layer.heads > 1 && head === null && known(layer, null) === "all";
  return isMean ? headsOf(layer, null).map((one) => weightAt(layer, one, query, key)) : null;
}

// The average over heads of the weights that each row gives to a key.
function meansOfRows(layer, head, key) {
  const heads = headsOf(layer, head);
  return Array.from({ length: layer.queries }, (_, query) =>
    heads.reduce((sum, each) => sum + weightAt(layer, each, query, key), 0) / heads.length);
}

function canAverage(layer, head) {
  return known(layer, head) === "all" && layer.heads * layer.queries <= MOST_AVERAGED;
}

function largestAt(numbers) {
  return numbers.indexOf(Math.max(...numbers));
}

// The first shares of an average, and what the others have on average.
function someOf(shares, words) {
  const others = shares.slice(MOST_SHARES), mean = others.reduce((sum, each) => sum + each, 0) / others.length;
  const told = shares.slice(0, MOST_SHARES).map((each) => percent(each).replace("%", ""));
  if (others.length) told.push(`… (${words.otherShares({ count: others.length, share: percent(mean) })})`);
  return `${told.join(", ")} → `;
}

// The sum of the products and its text: the factors where their printed numbers give the sum, else the first products.
function productTexts(terms, sum, words) {
  const factors = terms.map((pair) => pair.slice(0, 2).map((each) => withMinus(short(each))));
  const isExact = terms.length <= FEW && short(terms.reduce((all, [a, b]) => all + Number(short(a)) * Number(short(b)), 0)) === short(sum);
  if (isExact) return { text: factors.map((pair) => pair.map(bracketed).join(" × ")).join(" + "), sum: minused(sum) };
  const others = terms.slice(FEW), rest = others.reduce((all, [a, b]) => all + a * b, 0);
  const texts = sumTexts([...terms.slice(0, FEW).map(([a, b]) => a * b), ...(others.length ? [rest] : [])], sum);
  const written = texts.terms.slice(0, FEW).map(bracketed);
  if (others.length) written.push(`… (${words.otherProducts({ count: others.length, sum: texts.terms.at(-1) })})`);
  return { text: written.join(" + "), sum: texts.sum };
}

// Why the page can't tell how a weight of a head came about; "" if it can.
function whyNone(view, head, words) {
  const { layer } = view;
  if (!view.weights || isComing(layer) && !view.pooled && !known(layer, view.head)) return missingText(view);
  if (view.there === "largest") return view.head === null ? words.noVectorsOfAverage : words.noVectorsOfHead;
  return layer.vectors?.heads.includes(head) ? "" : words.noSteps;
}

/** How many keys a query may attend to, and the largest score among them. */
function rowScores(part, query) {
  const { from, to } = keysBetween(part, query);
  let count = 0, most = -Infinity;
  for (let i = from; i < to; i++) {
    if (!isAllowed(part, query, i)) continue;
    count += 1;
    most = Math.max(most, part.scale * product(part, query, i) + biasOf(part, query, i));
  }
  return { count, most };
}

function step(name, text, value = "", details = null) {
  const said = [text, h("strong", {}, value)];
  return h("div", {}, h("dt", {}, name), h("dd", {}, details ? details(said) : said));
}

function tableOf(terms) {
  return h("table", { class: "terms" }, h("tbody", {}, terms.map(([a, b, i]) => h("tr", {},
    h("th", { scope: "row" }, String(i + 1)), h("td", {}, minused(a)), h("td", {}, "×"), h("td", {}, minused(b)),
    h("td", {}, "="), h("td", {}, minused(a * b))))));
}

function minused(value) {
  return withMinus(short(value));
}
