// A sound in time: its waveform above its spectrogram, the frames lit by the weights of the chosen row, a ruler in seconds.
import { frameOf, pictureOf, sized } from "./canvas.js";
import { colourNamed } from "./colours.js";
import { h } from "./dom.js";
import { chosenItem, drawingOf, highest, ownItem, strengthOf } from "./drawing.js";
import { markedKey } from "./marked.js";
import { clamp } from "./numbers.js";
import { arrowOf } from "./shell.js";
import { wordsOf } from "./words.js";

const WAVE = 84;
const SPECTROGRAM = 130;
const RULER = 24;
const SOUND_COVER = 0.62;
const SOUND_WIDTH = 1080;
// The least pixels between two marks of the ruler.
const APART = 64;

/** The marks of a ruler where frames begin, at every frame or at every 2, 5, 10, 20, ... of them: {time, text}. */
export function marksOf(step, seconds, width) {
  let frames = 1;
  for (let i = 1; (frames * step * width) / seconds < APART && frames * step <= seconds; i++) {
    frames = [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3);
  }
  const apart = frames * step, decimals = clamp(2 - Math.floor(Math.log10(apart)), 0, 9);
  return Array.from({ length: Math.floor(seconds / apart + 1e-9) + 1 }, (_, i) => i * apart)
    .map((time) => ({ time, text: `${Number(time.toFixed(decimals))} s` }));
}

function isDark() {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The sound; `choose` is called with what changes in the state. */
export function soundView(root, choose) {
  const canvas = h("canvas", { tabindex: 0, role: "img", class: "time", "data-id": "sound" });
  const player = h("audio", { controls: true, preload: "auto" });
  const drawing = drawingOf(root, choose, "sound", draw);
  drawing.sheet.append(canvas, player);
  let input = null, spectrogram = null, ink = "";

  // It plays from here when it is started next.
  canvas.addEventListener("click", (event) => {
    if (input.wav && player.paused) player.currentTime = Math.min(itemAt(event) * input.step, input.seconds);
  });
  drawing.listen(canvas, itemAt);
  canvas.addEventListener("keydown", (event) => {
    const by = arrowOf(event)?.[1];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const next = chosenItem(drawing.view) + by;
    drawing.light(null);
    if (next >= 0 && next < drawing.view.data.items.length) drawing.pick(next);
  });
  player.addEventListener("play", follow);
  player.addEventListener("seeked", () => drawing.view && draw(drawing.view, null));

  return (view) => {
    const words = wordsOf(view.state.lang);
    if (view.data.input !== input) {
      input = view.data.input;
      spectrogram = null;
      player.pause();
      if (input.wav) player.src = `data:audio/wav;base64,${base64(input.wav.data)}`;
      else player.removeAttribute("src");
    }
    player.hidden = !input.wav;
    player.setAttribute("aria-label", words.play);
    canvas.setAttribute("aria-label", words.sound({ seconds: input.seconds.toFixed(2), count: view.data.items.length }));
    drawing.show(view, [
      input.spectrogram.shape[0] ? words.spectrogram({ bands: input.spectrogram.shape[1], highest: input.rate / 2, shade: words[isDark() ? "lighter" : "darker"] }) : "",
      input.wav ? "" : words.silent({ size: (input.bytes / 2 ** 20).toFixed(1) }),
    ]);
  };

  // The line that shows what is heard.
  function follow() {
    if (player.paused || !root.isConnected) return;
    draw(drawing.view, null);
    requestAnimationFrame(follow);
  }

  function draw(view, hovered) {
    const style = getComputedStyle(root), width = Math.min(SOUND_WIDTH, drawing.sheet.clientWidth || SOUND_WIDTH);
    const low = input.spectrogram.shape[0] ? SPECTROGRAM : 0, deep = WAVE + low, count = view.data.items.length;
    const context = sized(canvas, width, deep + RULER), seconds = secondsOf(view), at = (time) => (time / seconds) * width;
    if (low) context.drawImage(spectrogramOf(), 0, WAVE, at(input.seconds), low);
    const high = highest(view), wide = at(input.step);
    context.fillStyle = style.getPropertyValue("--weight-high");
    // Of several frames in one pixel the largest weight is seen.
    for (let x = 0; x < width; x += wide < 1 ? 1 : wide) {
      const from = Math.round(x / wide), to = Math.max(from + 1, Math.floor((x + 1) / wide));
      let strength = 0;
      for (let i = from; i < Math.min(to, count); i++) strength = Math.max(strength, strengthOf(view, i, high));
      context.globalAlpha = SOUND_COVER * strength;
      context.fillRect(x, 0, Math.max(1, wide), deep);
    }
    context.globalAlpha = 1;
    drawWaves(context, style, at(input.seconds));
    drawRuler(context, style, seconds, width, deep);
    const box = (item) => [item * wide, 1, Math.min(wide, width - item * wide), deep - 2];
    if (markedKey(view) !== null) frameOf(context, style, box(view.key), 1.5);
    if (ownItem(view) !== null) frameOf(context, style, box(ownItem(view)), 3);
    if (hovered !== null) frameOf(context, style, box(hovered), 1.5);
    if (input.wav && (!player.paused || player.currentTime)) {
      context.fillStyle = style.getPropertyValue("--ink");
      context.fillRect(at(player.currentTime) - 1, 0, 2, deep);
    }
  }

  function drawWaves(context, style, width) {
    const [, parts] = input.waves.shape, { data } = input.waves, middle = WAVE / 2;
    context.fillStyle = style.getPropertyValue("--ink");
    for (let i = 0; i < parts; i++) {
      const [bottom, top] = [data[i], data[parts + i]];
      const x = (i / parts) * width;
      context.fillRect(x, middle - top * (middle - 4) - 0.5, Math.max(1, width / parts), (top - bottom) * (middle - 4) + 1);
    }
  }

  function drawRuler(context, style, seconds, width, top) {
    context.fillStyle = context.strokeStyle = style.getPropertyValue("--quiet");
    context.font = "13px system-ui, sans-serif";
    context.textBaseline = "top";
    context.textAlign = "center";
    let end = 0;
    for (const { time, text } of marksOf(input.step, seconds, width)) {
      const x = (time / seconds) * width, half = context.measureText(text).width / 2;
      const middle = clamp(x, half, width - half);
      context.fillRect(Math.min(x, width - 1), top, 1, 5);
      if (middle - half >= end) context.fillText(text, middle, top + 8);
      end = middle + half;
    }
  }

  // Painted again when the page turns dark.
  function spectrogramOf() {
    const [paper, full] = ["--paper", "--ink"].map((name) => colourNamed(root, name)), now = `${paper} ${full}`;
    if (!spectrogram || ink !== now) spectrogram = paintedBands(input.spectrogram, paper, full);
    ink = now;
    return spectrogram;
  }

  // The last frame ends with the sound, in which it begins; one that begins at its end is drawn behind it.
  function secondsOf(view) {
    const { length } = view.data.items;
    return (length - 1) * input.step < input.seconds - 1e-9 ? input.seconds : length * input.step;
  }

  function itemAt({ offsetX }) {
    const { view } = drawing, time = (offsetX / canvas.clientWidth) * secondsOf(view);
    return clamp(Math.floor(time / input.step), 0, view.data.items.length - 1);
  }
}

// Grey, the lowest band at the bottom.
function paintedBands({ shape: [frames, bands], data }, paper, full) {
  const bytes = new Uint8ClampedArray(4 * frames * bands);
  for (let frame = 0; frame < frames; frame++) {
    for (let band = 0; band < bands; band++) {
      const share = data[frame * bands + band] / 255, at = 4 * ((bands - 1 - band) * frames + frame);
      for (let i = 0; i < 3; i++) bytes[at + i] = paper[i] + 0.75 * share * (full[i] - paper[i]);
      bytes[at + 3] = 255;
    }
  }
  return pictureOf(bytes, frames, bands);
}

function base64(bytes) {
  if (bytes.toBase64) return bytes.toBase64();
  const parts = [];
  for (let i = 0; i < bytes.length; i += 8192) parts.push(String.fromCharCode(...bytes.subarray(i, i + 8192)));
  return btoa(parts.join(""));
}
