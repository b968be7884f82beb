// The page of two records on its own: it shows both, and what differs.
import { bothOf } from "./both.js";
import { readPage } from "./data.js";
import { tellHeight, untilSized } from "./frame.js";
import { start } from "./main.js";
import { beforeLoaded } from "./unloaded.js";

await untilSized();
await beforeLoaded(readPage().then((page) => start(page, bothOf)));
tellHeight();
