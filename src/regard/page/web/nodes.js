// What graphs and molecules have in common: nodes that are shaded by weights, framed where chosen, and lit by the pointer.
import { s } from "./dom.js";
import { chosenItem, highest, ownItem, strengthOf } from "./drawing.js";
import { markedKey } from "./marked.js";
import { ringsOf } from "./rings.js";

/** A drawing whose elements with `data-item` are items; they call `drawing` where the pointer is on them. */
export function nodesSheet(drawing, id) {
  const sheet = s("svg", { class: "nodes", tabindex: 0, role: "img", "data-id": id });
  drawing.sheet.append(sheet);
  drawing.listen(sheet, ({ target }) => {
    const item = target.closest?.("[data-item]")?.getAttribute("data-item");
    return item === undefined || item === null ? null : Number(item);
  });
  return sheet;
}

/** The discs of all nodes, at {x, y}. */
export function discs(view, spots, radius, hovered) {
  const high = highest(view), own = ownItem(view), key = chosenItem(view) === own ? null : markedKey(view);
  return spots.map(({ x, y }, i) => s("circle", { cx: x, cy: y, r: radius, "data-item": i,
    class: ["node", i === own ? "own" : "", i === key ? "key" : "", i === hovered ? "lit" : ""].filter(Boolean).join(" "),
    style: { "--weight-value": strengthOf(view, i, high).toFixed(3) } }));
}

/** The rings of the nodes that mattered; of those that aren't drawn there is none. */
export function ringsAround(view, spots, radius) {
  return ringsOf(view).filter(({ item }) => spots[item]).map(({ item, width, rises }) => s("circle", { class: rises ? "ring rises" : "ring", cx: spots[item].x, cy: spots[item].y,
    r: radius + 1.5 + width / 2, "stroke-width": width, "data-item": item }));
}

/** Give a drawing its size in pixels. */
export function sizeSheet(sheet, width, height) {
  sheet.setAttribute("viewBox", `0 0 ${width} ${height}`);
  sheet.setAttribute("width", width);
  sheet.setAttribute("height", height);
}
