// The page on its own: it shows what it holds.
import { readPage } from "./data.js";
import { tellHeight } from "./frame.js";
import { start } from "./main.js";

start(await readPage());
tellHeight();
