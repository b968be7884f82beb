// The page on its own: it shows what it holds.
import { readPage } from "./data.js";
import { start } from "./main.js";

start(await readPage());
