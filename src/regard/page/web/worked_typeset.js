// Formulas as print has them: variables in italics, indices below the line, and the signs of sums, roots and products. They
// come as the terminal writes them, such as "s_j := s_j / sqrt(d)".
import { h } from "./dom.js";

// A number, a name with an index, a sign of several characters, or one character.
const PIECE = /\d[\d.]*(?:e[+-]\d+)?|[A-Za-z]+'?(?:_[a-z]+)*|\*\*|\.\.\.|[:=!<>]=|\s+|[^]/g;
// A letter or a word such as mask, and the letters of its axes.
const INDEXED = /^([A-Za-z]{1,4}'?)_([a-z]{1,2})$/;
const SIGNS = { "-": "−", "*": "×", "==": "=", ">=": "≥", "<=": "≤", "!=": "≠", "...": "…", "'": "′" };
const WORDS = { x: "×", inf: "∞", sum: "Σ", alpha: "α", sqrt: "√" };
// Characters of a formula that isn't broken.
const MOST_ON_A_LINE = 30;

/** A formula as nodes and texts. */
export function formulaNodes(formula) {
  const pieces = formula.match(PIECE) ?? [];
  let at = 0;

  // What stands up to the end, or up to the bracket that closes.
  function until(closing) {
    const found = [];
    while (at < pieces.length && pieces[at] !== closing) found.push(...next());
    at += 1;
    return found;
  }

  function next() {
    const piece = pieces[at++];
    if (piece === "(") return ["(", ...until(")"), ")"];
    if (piece === "[") {
      const from = at, inner = until("]"), isShort = pieces.slice(from, at).join("").length <= MOST_ON_A_LINE;
      return [h("span", { class: isShort ? "unbroken" : "" }, "[", inner, "]")];
    }
    if (piece === "sqrt" && pieces[at] === "(") {
      at += 1;
      const inner = until(")");
      return inner.length === 1 ? ["√", ...inner] : ["√(", ...inner, ")"];
    }
    if (/^\s+$/.test(piece) && ["^", "**"].includes(pieces[at])) return [];
    if (piece === "^" || piece === "**") return [h("sup", {}, power())];
    return [/^[A-Za-z]/.test(piece) ? nameNode(piece) : SIGNS[piece] ?? piece];
  }

  // An exponent needs no brackets.
  function power() {
    while (/^\s+$/.test(pieces[at] ?? "")) at += 1;
    if (pieces[at] !== "(") return next();
    at += 1;
    return until(")");
  }

  return until(null);
}

function nameNode(piece) {
  const [, base, indices] = INDEXED.exec(piece) ?? [];
  // A single x between two factors is the sign of their product.
  if (!base) return WORDS[piece] && piece !== "alpha" ? WORDS[piece] : lettersOf(piece);
  return h("span", { class: "unbroken" }, base === "sum" ? WORDS.sum : lettersOf(base), h("sub", {}, h("var", {}, indices)));
}

function lettersOf(name) {
  const written = (WORDS[name] && name !== "x" ? WORDS[name] : name).replace("'", "′").replaceAll("_", " ");
  return isVariable(name) ? h("var", {}, written) : written;
}

// Names of functions stand upright.
function isVariable(name) {
  return name.replace("'", "").length === 1 || name === "alpha";
}

/** Numbers as the terminal writes them, with the signs that print has. */
export function numbersInPrint(text) {
  return text.replace(/(?<!\w)-/g, "−").replaceAll("inf", "∞");
}

/** A formula as an element; a short one stays on one line. */
export function formulaIn(tag, formula) {
  return h(tag, { class: formula.length > MOST_ON_A_LINE ? "formula long" : "formula" }, formulaNodes(formula));
}

/** A phrase around a formula: what `say` gives, with the field of this name formulaNodes. */
export function formulaNodesIn(say, name, fields, field) {
  const mark = "\u0000", [before, after] = say(name, { ...fields, [field]: mark }).split(mark);
  return [before, ...formulaNodes(fields[field]), after];
}

/** The name of a matrix: Wq is W with an index. */
export function matrixName(name) {
  return name.length === 2 ? formulaNodes(`${name[0]}_${name[1]}`) : [name];
}
