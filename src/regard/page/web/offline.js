// The page on its own: it shows what it holds.
import { readPage } from "./data.js";
import { tellHeight, untilSized } from "./frame.js";
import { start } from "./main.js";

const data = await readPage();
await untilSized();
start(data);
tellHeight();
