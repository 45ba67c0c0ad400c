/**
 * `serve`: shows outputs/ in a browser until it is interrupted.
 *
 * @module
 */
import { serveOutputs } from "../views/serve.ts";
import { interruptible } from "./interrupt.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { outputsFolder } from "./session.ts";

/** Serves until Ctrl-C. */
export async function serve(
  project: Project,
  options: Options,
  print: Print,
): Promise<void> {
  const server = serveOutputs(outputsFolder(project, options), { port: options.port });
  if (options.json) print(JSON.stringify({ event: "serving", url: server.url }));
  else print(`results  ${server.url}\nruns     ${server.url}live\nCtrl-C ends this`);
  await interruptible((signal) =>
    new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()))
  );
  // Not waited for: a browser that keeps its connection must not keep this process.
  server.stop();
}
