// The window of a map: looked at closer and from further away, drawn with the pointer, moved.
import { button, h } from "./dom.js";
import { clamp } from "./numbers.js";
import { wholeOf } from "./tiles.js";
import { wordsOf } from "./words.js";

const FEWEST = 8;
// A pointer that moves less was meant to click.
const STILL = 5;
// A turn of the wheel is many events.
const TURN = 80;

/** The window that is looked at. */
export function windowOf({ layer, state: { window } }) {
  // One of a layer may be larger than the row of the pooling.
  return window && window.bottom <= layer.queries ? window : wholeOf(layer);
}

/** What changes the window of a map: buttons, keys, wheel and pointer; `map` is what they need of it. */
export function windowControls(canvas, choose, { now, lookAt, draw, cellAt, forget }) {
  const closer = button("closer", "", () => zoom(0.5)), wider = button("wider", "", () => zoom(2)), whole = button("whole", "", () => look(null));
  const buttons = h("p", { class: "buttons" }, closer, wider, whole);
  // What the pointer does since it was pressed.
  let drag = null, turned = 0;

  canvas.addEventListener("pointerdown", (event) => {
    const { view, shown } = now();
    if (event.button !== 0 || !shown || event.pointerType === "touch") return;
    drag = { x: event.clientX, y: event.clientY, window: shown.asked, from: cellAt(event), moved: false,
      pans: view.state.window !== null && !event.shiftKey };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => drag && dragTo(event));
  canvas.addEventListener("pointerup", (event) => drag && drop(event));
  canvas.addEventListener("pointercancel", () => drag && stopDragging());
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    turned += Math.sign(event.deltaY) * Math.min(100, Math.abs(event.deltaY) * (event.deltaMode ? 33 : 1));
    if (Math.abs(turned) < TURN) return;
    const factor = turned > 0 ? 2 : 0.5;
    turned = 0;
    zoom(factor, cellAt(event));
  }, { passive: false });

  return {
    buttons,
    drags: () => drag !== null,
    /** Say what the buttons do, for the view that is shown now. */
    update() {
      const { layer, state } = now().view, words = wordsOf(state.lang);
      drag = null;
      closer.textContent = words.closer;
      wider.textContent = words.wider;
      whole.textContent = words.whole;
      buttons.hidden = Math.max(layer.queries, layer.keys) <= 16;
      canvas.classList.toggle("zoomed", state.window !== null);
    },
    /** Do what a key does; whether it does something. */
    pressed(key) {
      const actions = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => look(null),
        ...(drag ? { Escape: stopDragging } : {}) };
      actions[key]?.();
      return key in actions;
    },
    /** Move a window that doesn't have a pair, so that it has. */
    follow(query, key) {
      const { view, shown: { window } } = now();
      const beyond = (at, first, last) => (at < first ? at - first : at >= last ? at - last + 1 : 0);
      const [below, beside] = [beyond(query, window.top, window.bottom), beyond(key, window.left, window.right)];
      if ((below || beside) && view.state.window) choose({ window: shifted(view.state.window, below, beside, view.layer) });
    },
    drawBrush(context, style) {
      if (!drag?.moved || drag.pans) return;
      const box = canvas.getBoundingClientRect();
      context.strokeStyle = style.getPropertyValue("--ink");
      context.lineWidth = 1;
      context.setLineDash([4, 3]);
      context.strokeRect(drag.x - box.left, drag.y - box.top, drag.toX - drag.x, drag.toY - drag.y);
      context.setLineDash([]);
    },
  };

  function dragTo(event) {
    Object.assign(drag, { toX: event.clientX, toY: event.clientY });
    const right = event.clientX - drag.x, down = event.clientY - drag.y;
    drag.moved ||= Math.max(Math.abs(right), Math.abs(down)) >= STILL;
    if (!drag.moved) return;
    forget();
    if (!drag.pans) return draw();
    const { view, shown: { found, place } } = now();
    drag.to = shifted(drag.window, -down / place.cell * found.tall, -right / place.cell * found.wide, view.layer);
    lookAt(drag.to, false);
  }

  function drop(event) {
    const { moved, pans, to, from } = drag;
    if (moved && !pans) {
      const last = cellAt(event, true), { view: { layer }, shown: { found } } = now();
      stopDragging();
      if (!from) return;
      const rows = widenedTo(Math.min(from.query, last.query), Math.max(from.query, last.query) + found.tall, layer.queries);
      const columns = widenedTo(Math.min(from.key, last.key), Math.max(from.key, last.key) + found.wide, layer.keys);
      look({ top: rows[0], bottom: rows[1], left: columns[0], right: columns[1] });
    } else if (moved) {
      drag = null;
      look(to);
    } else drag = null;
    // The click that ends a drag chooses nothing.
    if (moved) canvas.addEventListener("click", (click) => click.stopImmediatePropagation(), { once: true, capture: true });
  }

  function stopDragging() {
    const { window, pans } = drag;
    drag = null;
    if (pans) lookAt(window, true);
    else draw();
  }

  function zoom(factor, pair = now().cursor) {
    const { view, shown } = now(), { layer } = view, window = windowOf(view), found = shown ? shown.found : { tall: 1, wide: 1 };
    const centre = pair ? { query: pair.query + found.tall / 2, key: pair.key + found.wide / 2 }
      : { query: view.pooled ? layer.queries / 2 : view.place.query, key: view.key };
    const span = (size, most) => clamp(Math.round(size * factor), Math.min(FEWEST, most), most);
    const tall = span(window.bottom - window.top, layer.queries), wide = span(window.right - window.left, layer.keys);
    if (tall === layer.queries && wide === layer.keys) return look(null);
    const top = clamp(Math.round(centre.query - tall / 2), 0, layer.queries - tall);
    const left = clamp(Math.round(centre.key - wide / 2), 0, layer.keys - wide);
    return look({ top, bottom: top + tall, left, right: left + wide });
  }

  function look(window) {
    forget();
    choose({ window });
  }
}

function shifted({ top, bottom, left, right }, down, beside, { queries, keys }) {
  const rows = clamp(Math.round(down), -top, queries - bottom), columns = clamp(Math.round(beside), -left, keys - right);
  return { top: top + rows, bottom: bottom + rows, left: left + columns, right: right + columns };
}

// From first to last, or a few more.
function widenedTo(first, last, count) {
  const more = Math.max(0, Math.min(FEWEST, count) - (Math.min(last, count) - first));
  const from = clamp(first - Math.floor(more / 2), 0, count);
  return [from, Math.min(count, Math.max(last + Math.ceil(more / 2), from + Math.min(FEWEST, count)))];
}
