/**
 * `createRequire` of `node:module`: of Node's modules that packages require there is nothing but a
 * class that one of them derives from as it loads.
 *
 * @module
 */

/** Gives every module as one without anything that works. */
export function createRequire(_: unknown): (name: string) => object {
  return (name) => name === "node:events" ? { EventEmitter: class {} } : {};
}
