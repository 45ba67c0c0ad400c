/**
 * The modules that a worker is sent besides a stage's: its own program, the engine's part in it, and what
 * stands in for modules of Node. They are kept as text, for a worker may load no file.
 *
 * @module
 */
import { stripTypeScriptTypes } from "node:module";
import buffer from "./builtins/buffer.ts" with { type: "text" };
import crypto from "./builtins/crypto.ts" with { type: "text" };
import module from "./builtins/module.ts" with { type: "text" };
import path from "./builtins/path.ts" with { type: "text" };
import context from "../run/executor/context.ts" with { type: "text" };
import protocol from "../run/executor/protocol.ts" with { type: "text" };
import files from "./worker/files.ts" with { type: "text" };
import start from "./worker/start.ts" with { type: "text" };
import worker from "./worker/worker.ts" with { type: "text" };

/** Texts of modules by path. */
export type Modules = ReadonlyMap<string, string>;

/** Among {@linkcode OWN_MODULES}: exports `work`. */
export const PROGRAM = "replay/worker/worker.ts";

/** See the module's comment. */
export const OWN_MODULES: Modules = new Map(
  Object.entries({
    [PROGRAM]: worker,
    "replay/worker/files.ts": files,
    "run/executor/context.ts": context,
    "run/executor/protocol.ts": protocol,
    "node:buffer": buffer,
    "node:crypto": crypto,
    "node:module": module,
    "node:path": path,
  }).map(([name, text]) => [name, stripTypeScriptTypes(text)] as const),
);

/** The script that a worker is started with, as a URL. */
export const START = "data:text/javascript;charset=utf-8," +
  encodeURIComponent(stripTypeScriptTypes(start));
