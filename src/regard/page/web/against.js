// The page of two records on its own: it shows both, and what differs.
import { bothOf } from "./both.js";
import { readPage } from "./data.js";
import { tellHeight } from "./frame.js";
import { start } from "./main.js";

start(await readPage(), undefined, bothOf);
tellHeight();
