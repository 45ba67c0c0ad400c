/** What is to be computed does not fit into the memory of the backend it is to be computed on. */
export class MemoryError extends RangeError {
  override name = "MemoryError";
}
