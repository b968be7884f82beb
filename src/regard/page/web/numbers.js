// Numbers as text, by the same rules as the terminal's.

// By how much a change may differ from that of the probabilities, which a page keeps in few digits.
const ROUNDING = 0.002;
// A number without an exponent.
const WRITTEN = /^-?\d+(?:\.\d+)?$/;

/** A number, or the nearest one between two. */
export function clamp(value, low, high) {
  return Math.max(low, Math.min(high, value));
}

/** A fraction as a whole percentage. 0 % and 100 % are exact. */
export function percent(value) {
  if (value === null || value === undefined) return "masked";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Math.abs(value - 1) < 1e-6) return "100%";
  if (value > 0 && value < 0.005) return "<1%";
  if (value >= 0.995 && value < 1) return ">99%";
  return `${roundHalfEven(100 * value)}%`;
}

/** A fraction that may be below 0, as a percentage. Less than one has no sign, which nobody reads before "<". */
export function signedPercent(value) {
  const size = percent(Math.abs(value));
  return value < 0 && !size.startsWith("<") ? `−${size}` : size;
}

/** The probability of a softmax: never 0 % or 100 %, which only rounding could give. */
export function probability(value) {
  return value >= 0.995 ? ">99%" : value < 0.005 ? "<1%" : percent(value);
}

/** Python rounds a number in the middle to the even one. */
export function roundHalfEven(value) {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 ? below + 1 : below;
}

/** Four significant digits. */
export function short(value) {
  return rounded(value, 4);
}

// So many significant digits, with an exponent where Python's format writes one.
function rounded(value, most) {
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return "0";
  const [digits, power] = value.toExponential(most - 1).split("e").map(Number);
  if (power >= -4 && power < most) return String(Number(value.toPrecision(most)));
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

/** A number as text with the minus sign that print has. */
export function withMinus(text) {
  return text.replace(/^-/, "−");
}

/** Two digits, for numbers of which there are many. */
export function brief(value) {
  const size = Math.abs(value);
  return size >= 100 || size < 0.01 ? short(Number(value.toPrecision(2))) : String(Number(value.toPrecision(2)));
}

/** How many decimals a number has whose error is known: those of the two significant digits of the error; else null. */
export function decimalsOf(error) {
  return error > 0 && Number.isFinite(error) ? Math.max(0, 1 - Number(error.toExponential(1).split("e")[1])) : null;
}

/** A number with so many decimals, as Python's format rounds it: halves to even; what rounds to 0 has no sign. */
export function inDecimals(value, decimals) {
  // Only these are in the middle between two.
  const isHalf = Math.abs(value * 2 ** (decimals + 1)) % 2 === 1;
  const text = (isHalf ? roundHalfEven(value * 10 ** decimals) / 10 ** decimals : value).toFixed(decimals);
  return Number(text) ? text : text.replace("-", "");
}

/** A number as text, with so many decimals if it has more. */
export function roundedText(text, decimals) {
  const found = /^[+-]?\d+(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(text);
  return found && (found[1] ?? "").length - Number(found[2] ?? 0) > decimals ? inDecimals(Number(text), decimals) : text;
}

/**
 * The size of a change: of a probability in percentage points, of a vector as a share of its length, of a number with so many
 * decimals, or two significant digits if they aren't known.
 */
export function sizeText(change, kind, decimals = null) {
  if (kind === "numbers" && Number.isFinite(change)) return decimals === null ? rounded(change, 2) : inDecimals(change, decimals);
  const text = percent(change);
  if (kind !== "labels" || !text.endsWith("%")) return text;
  const points = text.slice(0, -1);
  return `${points} ${points === "1" || points === "<1" ? "point" : "points"}`;
}

/** The difference of two fractions as that of their percentages, which `inPoints` tells. */
export function percentChange(before, after, change = after - before) {
  if (!Number.isFinite(before) || !Number.isFinite(after)) return percent(change);
  const points = roundHalfEven(100 * after) - roundHalfEven(100 * before);
  if (!points && !change) return "0%";
  const size = Math.abs(points) === 100 && Math.abs(change) < 1 - 1e-6 ? ">99" : Math.abs(points) || "<1";
  return `${(points || change) < 0 ? "−" : "+"}${size}%`;
}

/** The same as a number of points where there is no room for words. Less than one has no sign, which nobody reads before "<". */
export function briefChange(before, after) {
  return percentChange(before, after).replace("%", "").replace(/^[+−]</, "<");
}

/**
 * A percentage that is the difference of two percentages, in percentage points; other texts stay as they are. Which way a
 * difference goes that isn't a number itself, as <1, is said in words.
 */
export function inPoints(text, words) {
  if (!text.endsWith("%")) return text;
  const size = text.slice(0, -1), bare = size.replace(/^[+−]/, "");
  if (bare === size || /^\d/.test(bare)) return words.points({ size, count: ["1", "<1"].includes(bare) ? 1 : 2 });
  return words[size.startsWith("−") ? "pointsLower" : "pointsHigher"]({ size: bare });
}

/** The change of an outcome: of a label's probability from what to what, or that it's unchanged; and whether it is noise. */
export function effectText(outcome, place, kind, words) {
  return bareEffect(outcome, place, kind, words) + (isShownNoise(outcome, place, kind, words) ? words.asNoise : "");
}

/** Whether a change is marked as noise: what is written as unchanged is none, and needs no mark. */
export function isShownNoise(outcome, place, kind, words) {
  return outcome.isNoise && !isUnchanged(outcome, place, kind, words);
}

/**
 * The change of a number as that of the two numbers that are written, which a reader may subtract, with its decimals: {change,
 * decimals}. What the numbers don't say is the change itself.
 */
export function changeOfNumber({ change, label: after }, { label: before, decimals = null }) {
  const texts = [before, after].map((each) => each.replace(/^−/, "-"));
  if (decimals === null || !texts.every((each) => WRITTEN.test(each))) return { change, decimals };
  const most = Math.max(...texts.map((each) => (each.split(".")[1] ?? "").length));
  const written = Number(inDecimals(texts[1] - texts[0], most));
  // In a record of somebody else's making, the change may be another one; a page keeps it in few digits.
  const isSame = Math.abs(written - change) <= 1.5 * 10 ** -most + ROUNDING * Math.abs(change);
  return isSame ? { change: written, decimals: most } : { change, decimals };
}

/** The same without the mark of noise. */
export function bareEffect(outcome, place, kind, words) {
  if (!isProbability(place, kind) || !Number.isFinite(outcome.change)) {
    const { change, decimals } = kind === "numbers" ? changeOfNumber(outcome, place) : { change: outcome.change, decimals: null };
    const isNone = kind === "numbers" && decimals !== null && Number(inDecimals(change, decimals)) === 0;
    return isNone ? words.unchanged : changeText(change, kind, words, decimals);
  }
  const told = place.score + outcome.change, same = outcome.label === place.label && outcome.score !== null;
  // In a record of somebody else's making, the change may be another one than that of the probabilities.
  const after = same && Math.abs(outcome.score - told) < ROUNDING ? outcome.score : told;
  if (!(after > -ROUNDING && after < 1 + ROUNDING)) return changeText(outcome.change, kind, words);
  const [from, to] = [place.score, after].map(probability);
  if (from !== to) return `${from} → ${to}`;
  // An answer that becomes another one isn't unchanged.
  return outcome.label === place.label ? words.unchanged : changeText(outcome.change, kind, words);
}

/** Whether a change is written as none. */
export function isUnchanged(outcome, place, kind, words) {
  return outcome.change === 0 || bareEffect(outcome, place, kind, words) === words.unchanged;
}

/** Whether changes of a prediction are told as those of its label's probability. */
export function isProbability({ score }, kind) {
  return kind === "labels" && score !== null;
}

/** Whether the label stays the same, so that the change tells its probability. */
export function isToldByChange({ label }, place, kind) {
  return isProbability(place, kind) && label === place.label;
}

/** A change with its sign. */
export function changeText(change, kind, words, decimals = null) {
  if (Number.isNaN(change) || kind === "vectors") return sizeText(change, kind);
  const size = sizeText(Math.abs(change), kind, decimals), sign = change < 0 ? "−" : "+";
  if (change === 0 || kind === "numbers" && decimals !== null && !Number(size)) return size;
  return kind === "labels" ? inPoints(`${sign}${percent(Math.abs(change))}`, words) : `${sign}${size}`;
}
