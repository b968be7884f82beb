// A canvas that is as sharp as the screen, and what is drawn on several of them.

/** The context of a canvas of this size, which is cleared. */
export function sized(canvas, width, height) {
  const ratio = globalThis.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return context;
}

/** Pixels, four bytes each, as a picture of its own that can be drawn at any size. */
export function pictureOf(bytes, width, height) {
  const found = new OffscreenCanvas(width, height);
  found.getContext("2d").putImageData(new ImageData(bytes, width, height), 0, 0);
  return found;
}

/** A frame that is seen on dark and on light. */
export function frameOf(context, style, [x, y, width, height], thick) {
  for (const [name, line] of [["--paper", thick + 2], ["--weight-ink", thick]]) {
    context.strokeStyle = style.getPropertyValue(name);
    context.lineWidth = line;
    context.strokeRect(x, y, width, height);
  }
}

/** A ring within a box, in the colour of effects, that is seen on dark and on light. */
export function frameOfEffect(context, style, [x, y, width, height], thick, dashed) {
  // Within the frame of what is chosen.
  const inset = Math.min(4, width / 8, height / 8) + thick / 2;
  for (const [name, line] of [["--paper", thick + 2], ["--effect", thick]]) {
    context.strokeStyle = style.getPropertyValue(name);
    context.lineWidth = line;
    if (dashed && name === "--effect") context.setLineDash([2 * thick, 1.5 * thick]);
    context.strokeRect(x + inset, y + inset, width - 2 * inset, height - 2 * inset);
  }
  context.setLineDash([]);
}

/** Text that is seen on anything. */
export function haloed(context, style, text, x, y, size = 15) {
  context.font = `600 ${size}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.strokeStyle = style.getPropertyValue("--paper");
  context.lineWidth = 4;
  context.strokeText(text, x, y);
  context.fillStyle = style.getPropertyValue("--ink");
  context.fillText(text, x, y);
}
