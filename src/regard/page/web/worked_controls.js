// The controls of the parts: which score and normaliser, and the number that each takes.
import { button, h } from "./dom.js";
import { figure, writtenNumber } from "./worked_numbers.js";
import { LARGEST, isDivisor, isEntry, isParameter, parameterOf, scoreKinds, withWeights } from "./worked_state.js";

// The slider of the temperature: its ends are hard and uniform, its middle is 1.
const ENDS = 100, MIDDLE = 50, A_DECADE = 20;

/** The score, and what it is divided by. `choose` is called with how the state changes. */
export function scoreControls(say, first, choose) {
  const kind = select("score", say("label score"), scoreKinds(first).map((each) => [each, say(each)]),
    (value) => choose((now) => ({ ...now, kind: value })));
  const box = numberBox("divisor", say("label divisor"), (text, now, size) => {
    const value = writtenNumber(text);
    if (!isDivisor(value)) return problem(say, say("label divisor"), text, value, [1e-6, LARGEST], figure(divisorOf(now, size)));
    choose((state) => ({ ...state, divisor: Math.abs(value - Math.sqrt(size)) < 1e-12 ? "root" : value }));
    return "";
  });
  const root = button("root", "", () => choose((now) => ({ ...now, divisor: "root" })));
  const none = button("undivided", say("undivided"), () => choose((now) => ({ ...now, divisor: 1 })));
  const element = h("div", { class: "controls" }, kind.element, box.element, root, none, box.wrong);
  return { element, show: (state, size) => {
    kind.show(state.kind);
    box.show(state.divisor === "root" ? figure(Math.sqrt(size)) : String(state.divisor), state, size);
    root.textContent = say("root", { size: figure(Math.sqrt(size)) });
    root.setAttribute("aria-pressed", String(state.divisor === "root"));
    none.setAttribute("aria-pressed", String(state.divisor === 1));
    // Only products are divided.
    for (const each of [box.input, root, none]) each.disabled = state.kind !== "dot";
  } };
}

/** The slope of the position bias; 0 is none. */
export function slopeControl(say, choose) {
  const box = numberBox("slope", say("label slope"), (text, now) => {
    const value = writtenNumber(text);
    if (!isEntry(value)) return problem(say, say("label slope"), text, value, [-LARGEST, LARGEST], String(now.slope));
    choose((state) => ({ ...state, slope: value + 0 }));
    return "";
  });
  return { element: h("div", { class: "controls" }, box.element, box.wrong), show: (state) => box.show(String(state.slope), state) };
}

function divisorOf({ divisor }, size) {
  return divisor === "root" ? Math.sqrt(size) : divisor;
}

/** The normaliser and its number: the temperature of softmax, as a slider too. */
export function weightsControls(say, first, choose) {
  const kind = select("weights", say("label weights"), Object.keys(first.formulas.weights).map((each) => [each, each]),
    (value) => choose((now) => withWeights(now, value)));
  const box = numberBox("parameter", "", (text, now) => {
    const { low, high, whole } = parameterOf(now);
    const value = now.weights === "softmax" ? writtenTemperature(text, say) : writtenNumber(text);
    if (isParameter(now, value)) {
      choose((state) => ({ ...state, parameter: value }));
      return "";
    }
    const kept = temperatureText(now.parameter);
    if (whole && value !== null && !Number.isInteger(value)) return say("is not whole", { field: nameOf(now), text: text.trim(), kept });
    return problem(say, nameOf(now), text, value, now.weights === "softmax" ? [0, high] : [low, high], kept);
  });
  const slider = h("input", { type: "range", min: 0, max: ENDS, step: 1, "data-id": "slider", "aria-label": say("label temperature"),
    oninput: () => choose((now) => ({ ...now, parameter: temperatureAt(Number(slider.value)) })) });
  const ends = [["hard", 0], ["uniform", Infinity]].map(([name, value]) =>
    button(name, say(`label ${name}`), () => choose((now) => ({ ...now, parameter: value }))));
  const row = h("span", { class: "slider" }, ends[0], slider, ends[1]);
  const element = h("div", { class: "controls" }, kind.element, box.element, row, box.wrong);

  function nameOf(state) {
    return parameterName(say, state);
  }

  return { element, show: (state) => {
    kind.show(state.weights);
    box.element.hidden = !parameterOf(state);
    row.hidden = state.weights !== "softmax";
    if (box.element.hidden) return;
    box.name.textContent = nameOf(state);
    box.show(temperatureText(state.parameter), state);
    if (row.hidden) return;
    slider.value = String(placeOf(state.parameter));
    slider.setAttribute("aria-valuetext", { 0: say("label hard"), Infinity: say("label uniform") }[state.parameter] ?? String(state.parameter));
    ends.forEach((each, i) => each.setAttribute("aria-pressed", String(state.parameter === [0, Infinity][i])));
  } };
}

/** What the number of a normaliser is called. */
export function parameterName(say, state) {
  return state.weights === "softmax" ? say("label temperature") : say(`number of ${state.weights}`, {}, parameterOf(state).symbol);
}

/** A temperature as text. */
export function temperatureText(value) {
  return value === Infinity ? "inf" : String(value);
}

function writtenTemperature(text, say) {
  const written = text.trim().toLowerCase();
  if (["inf", "infinity", "∞", say("label uniform")].includes(written)) return Infinity;
  return written === say("label hard") ? 0 : writtenNumber(text);
}

function temperatureAt(place) {
  if (place <= 0) return 0;
  return place >= ENDS ? Infinity : Number((10 ** ((place - MIDDLE) / A_DECADE)).toPrecision(2));
}

function placeOf(temperature) {
  if (temperature === 0) return 0;
  return temperature === Infinity ? ENDS : Math.max(1, Math.min(ENDS - 1, Math.round(MIDDLE + A_DECADE * Math.log10(temperature))));
}

/** What is wrong with a number that was written, which stays what it was. */
export function problem(say, name, text, value, [low, high], kept) {
  const given = { field: name, text: text.trim(), low: typeof low === "string" ? low : figure(low), high: high.toLocaleString("en"), kept };
  return say(value === null ? "is no number" : "is outside", given);
}

function select(id, name, options, chosen) {
  const list = h("select", { "data-id": id, onchange: () => chosen(list.value) }, options.map(([value, text]) => h("option", { value }, text)));
  return { element: h("label", {}, name, " ", list), show: (value) => {
    list.value = value;
  } };
}

// `told` takes what was written, or says what is wrong with it.
function numberBox(id, text, told) {
  const name = h("span", {}, text), wrong = h("p", { class: "wrong", role: "alert" });
  let given = [], shown = "";
  const input = h("input", { type: "text", inputmode: "decimal", autocomplete: "off", size: 6, "data-id": id, onchange: () => {
    wrong.textContent = told(input.value, ...given);
    if (wrong.textContent) input.value = shown;
  } });
  return { element: h("label", {}, name, " ", input), name, input, wrong, show: (value, ...now) => {
    if (value !== shown) wrong.textContent = "";
    [shown, given] = [value, now];
    input.value = value;
  } };
}
