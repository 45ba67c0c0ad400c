/**
 * Servers that a test starts on this machine's own address, each a process, and stops by their number.
 *
 * @module
 */
import { join } from "node:path";

/** A server that runs. */
export interface RunningServer extends AsyncDisposable {
  /** What `--cache` takes. */
  readonly url: string;
  /** Variables that a client needs. */
  readonly variables: Readonly<Record<string, string>>;
  /** Where it listens. */
  readonly port: number;
}

/** The processes of one server and the folder that they work in. */
export class Processes implements AsyncDisposable {
  readonly folder = Deno.makeTempDirSync({ prefix: "lockstep-server-" });
  readonly #children: Deno.ChildProcess[] = [];

  constructor() {
    // Some go on as another user.
    Deno.chmodSync(this.folder, 0o755);
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  write(name: string, text: string): string {
    const path = this.path(name);
    Deno.mkdirSync(join(path, ".."), { recursive: true });
    Deno.writeTextFileSync(path, text);
    return path;
  }

  makeFolders(...names: string[]): void {
    for (const name of names) {
      Deno.mkdirSync(this.path(name), { recursive: true });
      Deno.chmodSync(this.path(name), 0o777);
    }
  }

  /**
   * Starts a program that stays in the foreground; what it prints goes to a file. Disposing what it
   * returns kills it.
   */
  start(program: string, ...args: string[]): Disposable {
    const log = this.path(`${program.split("/").at(-1)}.${this.#children.length}.log`);
    const quoted = [program, ...args].map((word) => `'${word}'`).join(" ");
    const child = new Deno.Command("sh", {
      // The kernel ends it where this process is killed.
      args: ["-c", `exec setpriv --pdeathsig TERM ${quoted} >${log} 2>&1`],
      cwd: this.folder,
      stdin: "null",
    }).spawn();
    this.#children.push(child);
    return { [Symbol.dispose]: () => child.kill("SIGKILL") };
  }

  /** Runs a program to its end. */
  async run(program: string, ...args: string[]): Promise<string> {
    const { success, stdout, stderr } = await new Deno.Command(program, {
      args,
      cwd: this.folder,
    }).output();
    const decoder = new TextDecoder();
    if (!success) throw new Error(`${program} ${args.join(" ")}: ${decoder.decode(stderr)}`);
    return decoder.decode(stdout);
  }

  /** Waits until something holds. */
  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < 600; tries++) {
      if (await holds().catch(() => false)) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const logs = [...Deno.readDirSync(this.folder)].filter(({ name }) => name.endsWith(".log"))
      .map(({ name }) => `${name}: ${Deno.readTextFileSync(this.path(name)).slice(-2000)}`);
    throw new Error(`${what} did not come about\n${logs.join("\n")}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children.toReversed()) {
      try {
        child.kill("SIGTERM");
      } catch { /* it has ended */ }
      const ended = await Promise.race([
        child.status,
        new Promise((resolve) => setTimeout(resolve, 5000, "late")),
      ]);
      if (ended === "late") child.kill("SIGKILL");
      await child.status;
    }
    Deno.removeSync(this.folder, { recursive: true });
  }
}

/** Starts a server; whatever goes wrong, nothing of it is left. */
export async function serve(
  start: (processes: Processes) => Promise<Omit<RunningServer, typeof Symbol.asyncDispose>>,
): Promise<RunningServer> {
  const processes = new Processes();
  const dispose = () => processes[Symbol.asyncDispose]();
  try {
    return { ...await start(processes), [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** Ports on which nobody listens now. */
export function freePorts(count: number): number[] {
  const held = Array.from({ length: count }, () => Deno.listen({ hostname: "127.0.0.1", port: 0 }));
  const ports = held.map(({ addr }) => (addr as Deno.NetAddr).port);
  held.forEach((listener) => listener.close());
  return ports;
}

/** Whether a program is installed. */
export function isInstalled(program: string): boolean {
  const { success } = new Deno.Command("sh", {
    args: ["-c", `command -v ${program}`],
    env: { PATH: `${Deno.env.get("PATH")}:/usr/sbin:/sbin` },
    stdout: "null",
  }).outputSync();
  return success;
}
