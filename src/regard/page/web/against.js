// The page of two records on its own: it shows both, and what differs.
import { bothOf } from "./both.js";
import { readPage } from "./data.js";
import { tellHeight, untilSized } from "./frame.js";
import { start } from "./main.js";

const two = await readPage();
await untilSized();
start(two, undefined, bothOf);
tellHeight();
