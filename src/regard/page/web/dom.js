// Elements of the page. Text is always text: nothing here reads markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with properties, attributes and children; a child that is a string becomes text. */
export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** The same for a drawing. */
export function s(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

/** A button by its name, under which it keeps the focus, with what it does. */
export function button(id, content, onclick, properties = {}) {
  return h("button", { type: "button", "data-id": id, onclick, ...properties }, content);
}

/** A table with names above its columns. */
export function headedTable(properties, names, rows, caption = null) {
  return h("table", properties, caption, h("thead", {}, h("tr", {}, names.map((each) => h("th", { scope: "col" }, each)))),
    h("tbody", {}, rows));
}

/** Text of the input, which may run in either direction. */
export function token(text) {
  return h("bdi", {}, text);
}

/** Text of at most so many characters, with an ellipsis in the middle if it was cut: what ends it may tell it apart. */
export function clipped(text, most) {
  if (text.length <= most) return text;
  const characters = [...text], after = Math.floor((most - 1) / 3);
  if (characters.length <= most) return text;
  return `${characters.slice(0, most - 1 - after).join("")}…${characters.slice(-after).join("")}`;
}

/** The text itself as what a mouse shows and a screen reader adds, if `clipped` cuts it. */
export function titleOf(text, most) {
  return clipped(text, most) === text ? null : text;
}
