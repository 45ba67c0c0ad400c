/**
 * A headless Chromium for tests of pages: what a reader sees, clicks and reads.
 *
 * @module
 */
import { join } from "node:path";

const PROGRAMS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/** For a machine on which much else runs; nothing is measured by it. */
const PATIENCE_MS = 60_000;

/** What a page may be opened with. */
export interface Look {
  readonly dark?: boolean;
  /** Pixels. */
  readonly width?: number;
}

/** An open browser with one tab. */
export interface Browser extends AsyncDisposable {
  /** Opens a page and waits until it is loaded. */
  open(url: string | URL, look?: Look): Promise<void>;
  /** The value of an expression in the page, a promise's once it is settled. */
  evaluate<T>(expression: string): Promise<T>;
  /**
   * Clicks the one link that fits a selector, where a reader would, and waits until the page it
   * leads to is there; returns its URL.
   */
  follow(selector: string): Promise<string>;
  /** A PNG of what is seen of the page. */
  picture(): Promise<Uint8Array>;
  /** Errors and warnings that pages gave so far. */
  readonly complaints: readonly string[];
}

/** With WebGPU in software, by a driver of Chromium's own, or without any. */
const GRAPHICS = {
  webgpu: ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"],
  none: ["--disable-gpu"],
};

/**
 * Starts a Chromium; `undefined`, with a warning, if this machine has none.
 *
 * @param what What is then not tested.
 * @throws {Error} If there is none and LOCKSTEP_REQUIRE_CHROMIUM is set.
 */
export async function startBrowser(
  what: string,
  graphics: keyof typeof GRAPHICS = "none",
): Promise<Browser | undefined> {
  const program = PROGRAMS.find(isFile);
  if (program === undefined) {
    if (Deno.env.get("LOCKSTEP_REQUIRE_CHROMIUM")) {
      throw new Error("This machine has no Chromium, and LOCKSTEP_REQUIRE_CHROMIUM is set");
    }
    console.warn(`SKIPPED: ${what} in a browser: this machine has no Chromium`);
    return undefined;
  }
  const profile = Deno.makeTempDirSync({ prefix: "lockstep-browser-" });
  const child = new Deno.Command(program, {
    args: [
      "--headless=new",
      "--no-sandbox",
      ...GRAPHICS[graphics],
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--remote-debugging-port=0",
      `--user-data-dir=${profile}`,
      "about:blank",
    ],
    // What it leaves when it is killed goes with its profile.
    env: { TMPDIR: profile },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const end = async () => {
    child.kill("SIGKILL");
    await child.status;
    // Its helpers may write a little longer.
    for (let attempt = 0; attempt < 20; attempt++) {
      try {
        return Deno.removeSync(profile, { recursive: true });
      } catch {
        await pause(100);
      }
    }
  };
  try {
    const tab = await Tab.attach(await portIn(profile));
    return {
      open: (url, look = {}) => tab.open(String(url), look),
      evaluate: (expression) => tab.evaluate(expression),
      follow: (selector) => tab.follow(selector),
      picture: () => tab.picture(),
      complaints: tab.complaints,
      async [Symbol.asyncDispose]() {
        tab.close();
        await end();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** What `probe` gives, as soon as it gives something. */
async function until<T>(
  what: string,
  probe: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  for (const begun = performance.now(); performance.now() - begun < PATIENCE_MS; await pause(50)) {
    const found = await probe();
    if (found !== undefined) return found;
  }
  throw new Error(`${what}: not within ${PATIENCE_MS / 1000} s`);
}

/** The port that the browser chose. */
async function portIn(profile: string): Promise<number> {
  return await until("Chromium listens", () => {
    try {
      const text = Deno.readTextFileSync(join(profile, "DevToolsActivePort"));
      return text.includes("\n") ? Number(text.split("\n")[0]) : undefined;
    } catch {
      return undefined;
    }
  });
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

/** A tab, over the DevTools protocol. */
class Tab {
  readonly complaints: string[] = [];
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (message: Message) => void>();
  #sent = 0;
  /** Pages loaded and fragments gone to. */
  #arrivals = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => this.#take(JSON.parse(data) as Message);
  }

  static async attach(port: number): Promise<Tab> {
    const target = await until("a tab", async () => {
      const response = await fetch(`http://127.0.0.1:${port}/json/list`);
      const targets = await response.json() as { type: string; webSocketDebuggerUrl: string }[];
      return targets.find(({ type }) => type === "page");
    });
    const socket = new WebSocket(target.webSocketDebuggerUrl);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = () => reject(new Error("Chromium refused a connection"));
    });
    const tab = new Tab(socket);
    for (const domain of ["Page", "Runtime", "Log"]) await tab.#send(`${domain}.enable`);
    return tab;
  }

  close(): void {
    this.#socket.close();
  }

  #take({ id, method, params, ...rest }: Message): void {
    if (id !== undefined) {
      this.#waiting.get(id)?.({ id, ...rest });
      this.#waiting.delete(id);
    } else if (method === "Page.loadEventFired" || method === "Page.navigatedWithinDocument") {
      this.#arrivals++;
    } else if (
      method === "Log.entryAdded" || method === "Runtime.consoleAPICalled" ||
      method === "Runtime.exceptionThrown"
    ) {
      this.complaints.push(JSON.stringify(params));
    }
  }

  async #send(method: string, params: Record<string, unknown> = {}) {
    const id = ++this.#sent;
    const answer = new Promise<Message>((resolve) => this.#waiting.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method, params }));
    const { result = {}, error } = await answer;
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  async #arrive(act: () => Promise<unknown>): Promise<void> {
    const before = this.#arrivals;
    await act();
    await until("the page", () => this.#arrivals > before ? true : undefined);
  }

  async open(url: string, { dark = false, width = 1100 }: Look): Promise<void> {
    await this.#send("Emulation.setDeviceMetricsOverride", {
      ...{ width, height: 900, deviceScaleFactor: 1, mobile: false },
    });
    await this.#send("Emulation.setEmulatedMedia", {
      features: [
        { name: "prefers-color-scheme", value: dark ? "dark" : "light" },
        // A click on what still glides by would miss.
        { name: "prefers-reduced-motion", value: "reduce" },
      ],
    });
    await this.#arrive(() => this.#send("Page.navigate", { url }));
  }

  async evaluate<T>(expression: string): Promise<T> {
    const answer = await this.#send("Runtime.evaluate", {
      ...{ expression, awaitPromise: true, returnByValue: true },
    }) as { result: { value: T }; exceptionDetails?: unknown };
    if (answer.exceptionDetails) throw new Error(JSON.stringify(answer.exceptionDetails));
    return answer.result.value;
  }

  async picture(): Promise<Uint8Array> {
    const { data } = await this.#send("Page.captureScreenshot", { format: "png" });
    return Uint8Array.fromBase64(data as string);
  }

  async follow(selector: string): Promise<string> {
    const place = await this.evaluate<{ x: number; y: number } | string>(`(() => {
      const links = document.querySelectorAll(${JSON.stringify(selector)});
      if (links.length !== 1) return links.length + " links";
      links[0].scrollIntoView({ block: "center", behavior: "instant" });
      const { x, y, width, height } = links[0].getClientRects()[0];
      const at = { x: x + width / 2, y: y + height / 2 };
      const hit = document.elementFromPoint(at.x, at.y);
      return links[0].contains(hit) ? at : "covered by " + hit?.outerHTML.slice(0, 80);
    })()`);
    if (typeof place === "string") throw new Error(`Cannot follow ${selector}: ${place}`);
    const mouse = (type: string) =>
      this.#send("Input.dispatchMouseEvent", { type, ...place, button: "left", clickCount: 1 });
    await this.#arrive(async () => {
      await mouse("mousePressed");
      await mouse("mouseReleased");
    });
    return await this.evaluate("location.href");
  }
}
