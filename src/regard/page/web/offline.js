// The page on its own: it shows what it holds.
import { readPage } from "./data.js";
import { tellHeight, untilSized } from "./frame.js";
import { start } from "./main.js";
import { oneOf } from "./one.js";
import { beforeLoaded } from "./unloaded.js";

await untilSized();
await beforeLoaded(readPage().then((page) => start(page, oneOf)));
tellHeight();
