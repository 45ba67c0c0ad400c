/** What runs in a memory of word averages. */
export { product } from "./product";
export { decayRow, stepAll, stepRow, sumRows } from "./rows";
