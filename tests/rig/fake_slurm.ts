/**
 * Programs with the names of Slurm's clients: a queue in a file, in which a test says what becomes of
 * jobs. For what a driver does with Slurm's words; `tests/servers` has a real Slurm.
 *
 * @module
 */
import { join } from "node:path";

/** See the module's comment. */
export interface FakeSlurm {
  /** Puts the programs before others. */
  readonly variables: Readonly<Record<string, string>>;
  /** What was asked, `sbatch`, `scancel 1_0`, in this order. */
  asked(program: string): string[];
  /**
   * Says what becomes of jobs that are submitted from now on: `runs`: each is run at once; `ending`: how each says that it ended; `reason`: why
   * one waits; `comment`: what it has instead of its own; `NAME.says`: what that program prints before it fails.
   */
  set(name: string, text?: string): void;
  unset(name: string): void;
  /** The scripts of the batches in a folder. */
  scripts(folder: string): string[];
  /** What squeue prints of all jobs. */
  queue: string;
}

/** Writes the programs to a folder. */
export function fakeSlurm(folder: string): FakeSlurm {
  const root = join(folder, "fake-slurm");
  const path = (name: string) => join(root, name);
  Deno.mkdirSync(join(root, "bin"), { recursive: true });
  const read = (name: string) => {
    try {
      return Deno.readTextFileSync(path(name));
    } catch {
      return "";
    }
  };
  for (const [name, text] of Object.entries(PROGRAMS)) {
    const head = `#!/bin/bash\ncd '${root}' || exit 1\necho "${name} $*" >> asked\n` +
      `if [ -f ${name}.says ]; then cat ${name}.says >&2; exit 1; fi\n`;
    Deno.writeTextFileSync(join(root, "bin", name), head + text, { mode: 0o755 });
  }
  return {
    variables: { PATH: `${join(root, "bin")}:${Deno.env.get("PATH")}` },
    asked: (program) => read("asked").split("\n").filter((line) => line.startsWith(program)),
    set: (name, text = "") => Deno.writeTextFileSync(path(name), text),
    unset: (name) => Deno.removeSync(path(name)),
    scripts: (folder) =>
      [...Deno.readDirSync(folder)].map(({ name }) => join(folder, name, "script.sh")),
    get queue() {
      return read("queue");
    },
    set queue(text) {
      Deno.writeTextFileSync(path("queue"), text);
    },
  };
}

const PROGRAMS: Readonly<Record<string, string>> = {
  sbatch: `script="\${@: -1}"
id=$(grep -c ^sbatch asked)
of() { sed -n "s/^#SBATCH --$1=//p" "$script"; }
comment=$(cat comment 2>/dev/null || of comment)
last=$(of array | sed 's/^0-//; s/%.*//')
for index in $(seq 0 "$last"); do
  if [ -f runs ]; then
    SLURM_ARRAY_TASK_ID=$index bash "$script" > "$(dirname "$script")/$index.txt" 2>&1
    state=COMPLETED
  elif [ -f ending ]; then
    cp ending "$(dirname "$script")/$index.ended.json"
    state=FAILED
  else state=PENDING; fi
  echo "$id|$index|$state|$(cat reason 2>/dev/null || echo Priority)||$(of job-name)|$comment" >> queue
done
echo "$id"
`,
  squeue: "cat queue 2>/dev/null\nexit 0\n",
  scancel: "",
  scontrol: "echo MaxArraySize = 1001\n",
};
