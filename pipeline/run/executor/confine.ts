/**
 * Takes from a stage's process what permissions leave and a result must not rest on: storage that
 * outlives the process, and what differs between machines. Called before the stage's code is
 * loaded, so that nothing of it is left to be found: neither in globals nor on prototypes.
 *
 * @module
 */
import * as threads from "node:worker_threads";
import { ADAPTER_REQUEST } from "../../key/adapter.ts";

/** Confines this process. Adapters are within reach of a stage on the `webgpu` backend only. */
export function confine({ gpu }: { readonly gpu: boolean }): void {
  // Another thread would have all of it again.
  const classes = [globalThis.Worker, threads.Worker, BroadcastChannel, threads.BroadcastChannel];
  for (const each of classes) refuseInstances(each);
  for (const each of [Storage, CacheStorage, Cache]) emptyPrototype(each);
  const globals = [
    "localStorage",
    "sessionStorage",
    "caches",
    "indexedDB",
    "Worker",
    "BroadcastChannel",
  ];
  for (const name of globals) remove(globalThis, name);
  // The runtime's own functions, among them those that the globals above are made of.
  remove(Deno, Reflect.get(Deno, "internal"));
  fix(Navigator.prototype, {
    hardwareConcurrency: 1,
    language: "en-US",
    languages: Object.freeze(["en-US"]),
    ...(gpu ? {} : { gpu: undefined }),
  });
  const request = GPU.prototype.requestAdapter;
  // Whatever a stage asks for, it gets the adapter that is in its key.
  const requestAdapter = gpu
    ? function (this: GPU) {
      return Reflect.apply(request, this, [ADAPTER_REQUEST]);
    }
    : () => Promise.resolve(null);
  Object.defineProperty(GPU.prototype, "requestAdapter", { value: requestAdapter });
}

/** Makes `new` fail: a derived class calls its prototype, and this one's cannot be changed again. */
function refuseInstances(derived: { readonly name: string }): void {
  Object.setPrototypeOf(derived, function () {
    throw new TypeError(`A stage may not make a ${derived.name}: it computes in one thread`);
  });
  Object.freeze(derived);
}

function emptyPrototype({ prototype }: { readonly prototype: object }): void {
  for (const name of Reflect.ownKeys(prototype)) remove(prototype, name);
}

function remove(from: object, name: string | symbol): void {
  if (!Reflect.deleteProperty(from, name)) {
    throw new Error(`Cannot confine this process: ${String(name)} is not removable`);
  }
}

/** Gives properties of a prototype fixed values, once and for all. */
function fix(prototype: object, values: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(prototype, name, { get: () => value, configurable: false });
  }
}
