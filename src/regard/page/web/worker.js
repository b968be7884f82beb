// The worker: gets the layers once, then computes the cells that it is asked for.
import { cells } from "./tiles.js";

let layers = [];

onmessage = ({ data }) => {
  if (data.layers) {
    layers = data.layers;
    return;
  }
  postMessage({ number: data.number, found: cells(layers[data.layer], data.heads, data.window, data.most, data.most) });
};
