import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { StageError } from "../../pipeline/errors.ts";
import { executeCommand, hasCage } from "../rig/execute_command.ts";

const ignore = !await hasCage();
const test = (name: string, fn: () => Promise<void>) => Deno.test({ name, ignore, fn });

const DONE = "echo done > /stage/outputs/text\n";

/** How a script fails, as one line. */
async function failure(
  script: string,
  options: Parameters<typeof executeCommand>[1] = {},
): Promise<string> {
  const { error } = await executeCommand(script, options);
  assert(error instanceof StageError, `it must fail, and ended with ${error}`);
  return error.message.replaceAll("\n", " ");
}

test("a program reads its request as a line of JSON, in its folders' names alone", async () => {
  const ran = await executeCommand(`cat; ${DONE}`);
  assertEquals(ran.error, undefined);
  assertEquals(JSON.parse(ran.printed), {
    contract: "command/1",
    stage: "tried",
    params: { rate: 0.5 },
    inputs: { text: { path: "/stage/inputs/text", sha256: "0".repeat(64) } },
    outputs: { text: "/stage/outputs/text" },
  });
  assertEquals(Deno.readTextFileSync(join(ran.outputs, "text")), "done\n");
});

test("lines that begin as events are events, and all else is printed", async () => {
  const { error, metrics, progress, printed } = await executeCommand(`
    echo begin
    echo '{"type": "progress", "done": 1, "total": 2, "unit": "steps", "values": {"loss": 0.5}}'
    echo '{"other": 1}'
    echo '  {"type":"metric","name":"no","value":1}'
    printf '{"type":"met'; sleep 0.1; printf 'ric","name":"accuracy","value":0.75}\\n'
    echo aside >&2
    ${DONE}
    printf '{"type":"metric","name":"last","value":3}'`);
  assertEquals(error, undefined);
  assertEquals(metrics, { accuracy: 0.75, last: 3 });
  assertEquals(progress, [
    { type: "progress", done: 1, total: 2, unit: "steps", values: { loss: 0.5 } } as never,
  ]);
  assertStringIncludes(printed, "begin\n");
  assertStringIncludes(printed, '{"other": 1}\n  {"type":"metric","name":"no","value":1}\n');
  assertStringIncludes(printed, "aside\n");
});

test("what begins as an event and is none fails with the rule", async () => {
  for (
    const [line, rule] of [
      ['{"type": "metric", "name": "x", "value": NaN}', "which has no NaN"],
      ['{"type": "metric", "name": "x", "value": "1"}', "its value must be a finite number"],
      ['{"type": "progress", "done": 1}', "done and total must be finite numbers"],
      ['{"type": "metrics"}', "its type must be progress, metric or failed"],
      [`{"type": "failed", "message": "${"x".repeat(2 << 20)}"}`, "at most 1048576 characters"],
    ]
  ) {
    const message = await failure(`cat > /tmp/x <<'EOF'\n${line}\nEOF\ncat /tmp/x\n${DONE}`);
    assertStringIncludes(message, 'Stage "tried" wrote a line that begins as an event');
    assertStringIncludes(message, rule!);
    assert(message.length < 600);
  }
});

test("a program's own account of its failure is the message, whatever it exits with", async () => {
  for (const code of [0, 3]) {
    assertEquals(
      await failure(`echo '{"type":"failed","message":"Cannot train: no data"}'; exit ${code}`),
      "Cannot train: no data",
    );
  }
});

test("an exit code or a signal is named", async () => {
  assertEquals(await failure("exit 7"), 'Stage "tried": /bin/bash ended with code 7');
  assertMatch(await failure("kill -SEGV $$"), /was ended by SIGSEGV/);
  assertMatch(await failure("kill -KILL $$"), /was ended by SIGKILL \(often: out of memory\)/);
});

test("a run that is stopped ends the program at once, with its reason", async () => {
  const stop = new AbortController();
  const reason = new Error("stopped");
  const { error } = await executeCommand("echo $$; sleep 1000", {
    signal: AbortSignal.any([stop.signal, AbortSignal.timeout(300)]),
  });
  assertEquals((error as Error).name, "TimeoutError");
  stop.abort(reason);
  assertEquals((await executeCommand(DONE, { signal: stop.signal })).error, reason);
});

test("what a program leaves running ends with it", async () => {
  const name = `lockstep-left-${crypto.randomUUID()}`;
  const started = performance.now();
  const { error } = await executeCommand(`
    (exec -a ${name} sleep 1000) &
    setsid bash -c 'exec -a ${name} sleep 1000' & disown
    sleep 0.1
    ${DONE}`);
  assertEquals(error, undefined);
  assert(performance.now() - started < 60_000);
  const running = [...Deno.readDirSync("/proc")].filter(({ name: pid }) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return Deno.readTextFileSync(`/proc/${pid}/cmdline`).startsWith(name);
    } catch {
      return false;
    }
  });
  assertEquals(running, []);
});

test("200 MB of print, in lines or in one, end well", async () => {
  for (
    const [print, bytes] of [
      ["yes 0123456789", 200_000_000],
      ["tr '\\0' x < /dev/zero", 20_000_000],
      ["yes '{\"type' | tr -d '\\n'", 20_000_000],
    ] as const
  ) {
    const { error, characters } = await executeCommand(`${print} | head -c ${bytes}; ${DONE}`);
    assertEquals(error, undefined);
    assertEquals(characters, bytes);
  }
});

test("what it writes besides its outputs is refused and named", async () => {
  assertEquals(
    await failure(`${DONE} mkdir /stage/outputs/more`),
    'Stage "tried" must write the outputs that its command declares, text, and left a folder "more" ' +
      "besides; what is temporary belongs in $TMPDIR",
  );
});

test("a program of another machine, and one without its interpreter, are named", async () => {
  const command = { program: "script.sh", arguments: [] };
  assertEquals(
    await failure("#!/usr/bin/nothing\n", { command }),
    'Stage "tried" cannot start script.sh: No such file or directory; it must be a program for this ' +
      "machine",
  );
  assertMatch(
    await failure("\x7fELFnot", { command }),
    /^Stage "tried": script.sh ended with code/,
  );
});

test("a program that reads no request need not", async () => {
  const { error } = await executeCommand(`exec <&-; ${DONE}`, {
    task: { params: { long: "x".repeat(1 << 20) } },
  });
  assertEquals(error, undefined);
});

test("without a cage a program runs where its files are, and what it starts ends with it", async () => {
  const ran = await executeCommand(
    'echo "$HOME"; pwd; sleep 1000 & echo done > ../outputs/text',
    { uncaged: true },
  );
  assertEquals(ran.error, undefined);
  assertEquals(ran.printed, `${ran.folder}/tmp\n${ran.folder}/files\n`);
});
