// The worker: gets the layers once, then computes the cells that it is asked for.
import { cells } from "./tiles.js";

let records = [];

onmessage = ({ data }) => {
  if (data.records) {
    records = data.records;
    return;
  }
  postMessage({ number: data.number, found: cells(records[data.record][data.layer], data.heads, data.window, data.most, data.most) });
};
