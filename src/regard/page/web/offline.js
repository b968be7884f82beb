// The page on its own: it shows what it holds.
import { readPage } from "./data.js";
import { tellHeight, untilSized } from "./frame.js";
import { start } from "./main.js";
import { oneOf } from "./one.js";

await untilSized();
start(await readPage(), oneOf);
tellHeight();
