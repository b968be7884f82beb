// Numbers as text, by the same rules as the terminal's.

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

/** The probability of a softmax: never 0 % or 100 %, which only rounding could give. */
export function probability(value) {
  return value >= 0.995 ? ">99%" : value < 0.005 ? "<1%" : percent(value);
}

/** Python rounds a number in the middle to the even one. */
function roundHalfEven(value) {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 ? below + 1 : below;
}

/** Four significant digits, with an exponent where Python's format writes one. */
export function short(value) {
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return "0";
  const [digits, power] = value.toExponential(3).split("e").map(Number);
  if (power >= -4 && power < 4) return String(Number(value.toPrecision(4)));
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

/** Two digits, for numbers of which there are many. */
export function brief(value) {
  const size = Math.abs(value);
  return size >= 100 || size < 0.01 ? short(Number(value.toPrecision(2))) : String(Number(value.toPrecision(2)));
}

/** The size of a change: of a probability in percentage points, of a vector as a share of its length. */
export function sizeText(change, kind) {
  return kind === "numbers" && Number.isFinite(change) ? short(change) : percent(change);
}

/** A change with its sign. */
export function changeText(change, kind) {
  if (Number.isNaN(change) || kind === "vectors") return sizeText(change, kind);
  const size = sizeText(Math.abs(change), kind);
  return change === 0 ? size : `${change < 0 ? "−" : "+"}${size}`;
}
