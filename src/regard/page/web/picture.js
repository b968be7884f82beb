// A picture whose patches are lit by the weights of the chosen row; items that are no patch stand above it.
import { chipButton, shownText } from "./answers.js";
import { frameOf, frameOfEffect, haloed, pictureOf, sized } from "./canvas.js";
import { h } from "./dom.js";
import { chosenItem, drawingOf, highest, ownItem, strengthOf } from "./drawing.js";
import { ticks } from "./map_drawing.js";
import { chipStyle } from "./map_scale.js";
import { markedKey } from "./marked.js";
import { clamp } from "./numbers.js";
import { ringLegend, ringsOf } from "./rings.js";
import { arrowOf } from "./shell.js";
import { weightText } from "./view.js";
import { wordsOf } from "./words.js";

const PICTURE_SIDE = 420;
// Room for the numbers of rows, and between two numbers.
const EDGE = 24, EDGE_APART = 26;
// How much of the picture the blue of the largest weight hides.
const PICTURE_COVER = 0.72;

/** The picture; `choose` is called with what changes in the state. */
export function pictureView(root, choose) {
  const apart = h("ol", { class: "chips apart", role: "list" });
  const canvas = h("canvas", { tabindex: 0, role: "img", class: "patches", "data-id": "picture" });
  const drawing = drawingOf(root, choose, "picture", draw, (view, words) => ringLegend(view, words, "square"), PICTURE_COVER);
  // Numbers of rows and columns at the edges, by which the texts name the patches.
  const edges = ["edge-columns", "edge-rows"].map((each) => h("span", { class: each, "aria-hidden": "true" }));
  drawing.sheet.append(apart, h("div", { class: "edged" }, ...edges, canvas));
  let input = null, pixels = null, patch = null;

  drawing.listen(canvas, itemAt);
  canvas.addEventListener("keydown", (event) => {
    const by = arrowOf(event);
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const { first, grid: [rows, columns] } = input, now = chosenItem(drawing.view) - first;
    const [down, right] = by, inside = now >= 0 && now < rows * columns;
    const row = inside ? Math.floor(now / columns) + down : 0, column = inside ? (now % columns) + right : 0;
    if (row < 0 || row >= rows || column < 0 || column >= columns) return;
    drawing.light(null);
    drawing.pick(first + row * columns + column);
  });

  return (view) => {
    if (view.data.input !== input) {
      input = view.data.input;
      pixels = painted(input.pixels);
    }
    const words = wordsOf(view.state.lang), { first, grid: [rows, columns] } = input;
    canvas.setAttribute("aria-label", words.picture({ rows, columns }));
    const others = view.data.items.map((_, i) => i).filter((i) => i < first || i >= first + rows * columns);
    apart.replaceChildren(...others.map((i) => h("li", { class: i === ownItem(view) ? "selected" : "",
      style: i === ownItem(view) || !view.weights ? {} : chipStyle(root, view, view.weights[i]) },
    chipButton(`item ${i}`, shownText(view.data.items[i]), view.weights ? h("span", { class: "label" }, weightText(view, i)) : null,
      i === ownItem(view), () => drawing.pick(i), { onpointerenter: () => drawing.light(i), onpointerleave: () => drawing.light(null) }))));
    apart.hidden = !others.length;
    drawing.show(view);
  };

  function draw(view, hovered) {
    const { first, grid: [rows, columns] } = input, style = getComputedStyle(root);
    const room = Math.min(PICTURE_SIDE, (drawing.sheet.clientWidth || PICTURE_SIDE) - EDGE);
    let scale = room / Math.max(pixels.width, pixels.height);
    if (scale > 2) scale = Math.floor(scale);
    const width = pixels.width * scale, height = pixels.height * scale, context = sized(canvas, width, height);
    patch = { wide: width / columns, high: height / rows };
    context.imageSmoothingEnabled = scale < 3;
    context.drawImage(pixels, 0, 0, width, height);
    const high = highest(view);
    context.fillStyle = style.getPropertyValue("--weight-high");
    for (let i = 0; i < rows * columns; i++) {
      context.globalAlpha = PICTURE_COVER * strengthOf(view, first + i, high);
      context.fillRect(...boxOf(i));
    }
    context.globalAlpha = 1;
    const isPatch = (item) => item !== null && item >= first && item < first + rows * columns;
    edges.forEach((edge, axis) => {
      const count = [columns, rows][axis], from = axis ? "top" : "left";
      edge.replaceChildren(...ticks(0, count, [width, height][axis] / EDGE_APART).map((number) =>
        h("span", { style: { [from]: `${(100 * (number - 0.5) / count).toFixed(2)}%` } }, String(number))));
    });
    for (const { item, width: thick, rises } of ringsOf(view)) {
      if (isPatch(item)) frameOfEffect(context, style, boxOf(item - first), Math.min(thick, patch.wide / 6, patch.high / 6), rises);
    }
    if (isPatch(markedKey(view))) frameOf(context, style, boxOf(markedKey(view) - first), 1.5);
    if (isPatch(ownItem(view))) frameOf(context, style, boxOf(ownItem(view) - first), 3);
    if (isPatch(hovered)) {
      const [x, y, wide, tall] = boxOf(hovered - first);
      frameOf(context, style, [x, y, wide, tall], 1.5);
      if (view.weights) {
        const at = tall >= 24 ? y + tall / 2 : y < 20 ? y + tall + 12 : y - 12;
        haloed(context, style, weightText(view, hovered), clamp(x + wide / 2, 22, width - 22), at);
      }
    }
  }

  function boxOf(i) {
    const { wide, high } = patch, columns = input.grid[1];
    return [(i % columns) * wide, Math.floor(i / columns) * high, wide, high];
  }

  function itemAt({ offsetX, offsetY }) {
    const { first, grid: [rows, columns] } = input;
    const row = clamp(Math.floor(offsetY / patch.high), 0, rows - 1);
    const column = clamp(Math.floor(offsetX / patch.wide), 0, columns - 1);
    return first + row * columns + column;
  }
}

function painted({ shape: [height, width, channels], data }) {
  const bytes = new Uint8ClampedArray(4 * height * width);
  for (let i = 0; i < height * width; i++) {
    for (let channel = 0; channel < 3; channel++) bytes[4 * i + channel] = data[i * channels + (channels === 1 ? 0 : channel)];
    bytes[4 * i + 3] = 255;
  }
  return pictureOf(bytes, width, height);
}
