// One pair, written out: from the query and the key to the weight, and from the weights to the output of the query.
import { h, headedTable, token } from "./dom.js";
import { figure, figures, formulaOf, workedOut } from "./worked_numbers.js";
import { scrolled } from "./worked_tables.js";
import { formulaIn, formulaNodes, formulaNodesIn, numbersInPrint } from "./worked_typeset.js";

const WRITTEN_OUT = 8;
const LETTERS = { query: "Wq", key: "Wk", value: "Wv" };

/** The pair of a view: the projections, the steps, and the sum of the values. */
export function pairView({ data, state, vectors, walks, say }) {
  const { row, column } = state, walk = walks[row];
  const steps = walk.allowed.includes(true) ? walk.steps.filter(({ axes }) => !axes.includes("value")) : [];
  const dot = state.kind === "dot" && steps.length ? sumOf(vectors.query[row], vectors.key[column], walk.named("sum").values[column]) : "";
  return [
    ...(dot ? [h("p", { class: "sum" }, formulaNodes(`q · k = ${dot}`))] : []),
    ...(data.form === "projected" ? [["query", row], ["key", column], ["value", column]].map(([name, item]) =>
      h("p", { class: "projecting" }, projecting(name, item, data, state, vectors, say))) : []),
    steps.length ? scrolled(say("step"), headedTable({ class: "written walked" }, ["step", "formula", "numbers"].map((name) => say(name)),
      steps.map((step) => h("tr", {}, h("th", { scope: "row" }, say(step.name)), formulaIn("td", formulaOf(step)),
        h("td", {}, formulaNodes(workedOut(step, column))))))) : null,
    h("h3", {}, say("outputs", { query: data.queryItems[row] })),
    outputTable(data, walk, vectors, column, say),
  ];
}

// Of longer vectors the table below shows the products.
function sumOf(query, key, sum) {
  if (query.length > WRITTEN_OUT) return "";
  const put = (value) => (value < 0 ? `(${figure(value)})` : figure(value));
  return `${query.map((x, f) => `${put(x)} x ${put(key[f])}`).join(" + ")} = ${figure(sum)}`;
}

function projecting(name, item, data, { numbers }, vectors, say) {
  const matrix = numbers[LETTERS[name]];
  const terms = numbers.X[item].map((x, i) => `${figure(x)} x ${figures(matrix[i])}`);
  return formulaNodesIn(say, "projecting", { letter: name, item: data.items[item], numbers: `${terms.join(" + ")} = ${figures(vectors[name][item])}` }, "numbers");
}

function outputTable(data, walk, { value }, column, say) {
  const weighted = walk.named("weighted values").values, last = walk.steps.at(-1);
  const rows = data.items.map((name, j) => h("tr", { class: j === column ? "lit" : "" }, h("th", { scope: "row" }, token(name)),
    ...[figure(walk.weights[j]), figures(value[j]), figures(weighted[j])].map((text) => h("td", {}, numbersInPrint(text)))));
  rows.push(h("tr", { class: "total" }, h("th", { scope: "row" }, say("output")), h("td", {}), formulaIn("td", formulaOf(last)),
    h("td", {}, numbersInPrint(figures(last.values)))));
  return scrolled(say("output"), headedTable({ class: "written" }, ["key", "weight", "value", "weight x value"].map((name) => say(name).replace(" x ", " × ")), rows));
}
