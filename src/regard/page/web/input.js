// The input, drawn as what it is: each kind has a view of its own.
import { h } from "./dom.js";
import { graphView } from "./graph.js";
import { itemsView } from "./items.js";
import { moleculeView } from "./molecule.js";
import { pictureView } from "./picture.js";
import { soundView } from "./sound.js";
import { tableView } from "./table.js";

const INPUTS = { picture: pictureView, sound: soundView, graph: graphView, molecule: moleculeView, table: tableView };

/** The input, until `signal` ends it; `choose` is called with what changes in the state, `peek` with what the mouse is on. */
export function inputView(root, choose, peek, signal) {
  // The records of a page may be of several kinds.
  const made = new Map();
  return (view) => {
    const kind = view.data.input?.kind ?? "text";
    if (!made.has(kind)) {
      const box = h("div", {});
      root.append(box);
      made.set(kind, { box, show: (INPUTS[kind] ?? itemsView)(box, choose, peek, signal) });
    }
    for (const [name, { box }] of made) box.hidden = name !== kind;
    made.get(kind).show(view);
  };
}
