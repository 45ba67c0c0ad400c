import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { systemCallFilter } from "../../pipeline/run/executor/command/system_calls.ts";
import { executeCommand, hasCage } from "../rig/execute_command.ts";
import { toyProject } from "../rig/project.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const ignore = !await hasCage();
const SECRET = "lockstep-secret-4711";

/** What is outside of every cage, and what attempts know of it. */
interface Outside {
  readonly variables: Readonly<Record<string, string>>;
  readonly folder: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Plants files, sockets, a process and shared memory that hold a secret. */
async function outside(): Promise<Outside> {
  const folder = temporaryFolder();
  const secret = join(folder, "secret");
  Deno.writeTextFileSync(secret, SECRET);
  const path = join(folder, "socket");
  const listeners = [
    Deno.listen({ hostname: "127.0.0.1", port: 0 }),
    Deno.listen({ transport: "unix", path }),
  ];
  const { port } = listeners[0]!.addr as Deno.NetAddr;
  for (const listener of listeners) answer(listener);
  const name = crypto.randomUUID();
  const shared = `/dev/shm/${name}`;
  Deno.writeTextFileSync(shared, SECRET);
  // A process with a secret in its environment, an abstract socket and System V memory.
  const child = new Deno.Command("/usr/bin/perl", {
    args: [
      "-e",
      `use Socket; $| = 1;
      socket(S, PF_UNIX, SOCK_STREAM, 0); bind(S, pack("Sa*", AF_UNIX, "\\0" . "${name}")); listen(S, 9);
      $id = shmget(${"0x4c6f636b"}, 64, 0666 | 01000); shmwrite($id, "${SECRET}", 0, 20);
      print "ready\\n"; <STDIN>; shmctl($id, 0, 0);`,
    ],
    env: { HIDDEN: SECRET },
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  return {
    folder,
    variables: {
      ...{ SECRET, FILE: secret, FOLDER: folder, SOCKET: path, ABSTRACT: name, SHARED: shared },
      ...{ PORT: String(port), VICTIM: String(child.pid) },
    },
    async [Symbol.asyncDispose]() {
      for (const listener of listeners) listener.close();
      await child.stdin.close();
      await reader.cancel();
      await child.status;
      Deno.removeSync(shared);
    },
  };
}

async function answer(listener: Deno.Listener): Promise<void> {
  try {
    for await (const each of listener) {
      await each.write(new TextEncoder().encode(SECRET)).catch(() => {});
      each.close();
    }
  } catch { /* closed */ }
}

const perl = (code: string) => `perl -MSocket -MPOSIX -e '${code}'`;
/** System calls have other numbers on other processors. */
const call = (x86: number, arm: number) => Deno.build.arch === "x86_64" ? x86 : arm;

/**
 * Attempts, each a script that prints "ESCAPED" where it succeeds. `free`: it succeeds without a cage, for
 * root at least, and does no harm.
 */
const ATTEMPTS: readonly (readonly [what: string, script: string, free?: "free"])[] = [
  // The network.
  ["TCP to this machine", "exec 3<>/dev/tcp/127.0.0.1/$PORT && head -c 20 <&3", "free"],
  [
    "a socket in the file system",
    perl("socket(S, PF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un($ENV{SOCKET})) and print <S>"),
    "free",
  ],
  [
    "an abstract socket",
    perl(
      'socket(S, PF_UNIX, SOCK_STREAM, 0); connect(S, pack("Sa*", AF_UNIX, "\\0" . $ENV{ABSTRACT})) and print "ESCAPED"',
    ),
    "free",
  ],
  ["a raw socket", perl('socket(S, PF_INET, SOCK_RAW, 1) and print "ESCAPED"')],
  ["a packet socket", perl('socket(S, 17, SOCK_RAW, 768) and print "ESCAPED"')],
  ["another network interface", "tail -n +3 /proc/net/dev | grep -qv ' lo:' && echo ESCAPED"],
  // Files.
  ["a file by its path", 'cat "$FILE"', "free"],
  ["a file by the first process's root", 'cat "/proc/1/root$FILE"'],
  ["a file above the working folder", 'cat "../../../../../../../../..$FILE"', "free"],
  [
    "a file beside the folders of a task, by what is mounted",
    `cat "$(awk '$5 == "/stage/files" { print $4 }' /proc/self/mountinfo)/../../secret"
    cat "/stage/files/../../secret" /stage/../secret`,
  ],
  [
    "files that were left open",
    "readlink /proc/[0-9]*/fd/* | grep -Ev '^(pipe:|anon_inode:|/proc/|/stage/files/|/dev/null$)' && echo ESCAPED; " +
    "ls /proc/self/fd | grep -qv '^[0-3]$' && echo ESCAPED",
  ],
  ["the system's passwords", "cat /etc/shadow && echo ESCAPED", "free"],
  ["homes", "ls -d /root /home && echo ESCAPED", "free"],
  ["the machine's name", '[ "$(hostname)" = stage ] || echo ESCAPED', "free"],
  ["a writable file outside", 'echo gone > "$FILE" && echo ESCAPED'],
  ["an input", "chmod u+w /stage/inputs/text; echo gone > /stage/inputs/text && echo ESCAPED"],
  ["its script", "chmod u+w script.sh; echo gone >> script.sh && echo ESCAPED"],
  [
    "the folder of inputs",
    "for path in /stage/inputs/more /stage/more /more; do touch $path && echo ESCAPED; done",
  ],
  ["the system's programs", "touch /usr/bin/lockstep /usr/local/lockstep && echo ESCAPED"],
  ["the list of users", "echo x >> /etc/passwd && echo ESCAPED; rm -f /etc/passwd && echo ESCAPED"],
  ["mounting again", "mount -o remount,rw /usr && echo ESCAPED; umount /proc && echo ESCAPED"],
  [
    "a new mount",
    "mount -t tmpfs none /tmp && echo ESCAPED; mount --bind /tmp /usr && echo ESCAPED",
  ],
  [
    "a block device",
    "mknod /tmp/disk b 254 0 && echo ESCAPED; mknod /stage/outputs/d b 8 0 && echo ESCAPED",
  ],
  [
    "memory as a device",
    "mknod /tmp/mem c 1 1 && echo ESCAPED; ls /dev/mem /dev/kmsg /dev/vda /dev/sda && echo ESCAPED",
  ],
  ["another root", perl('chroot("/tmp") and print "ESCAPED"')],
  ["shared memory by a file", 'cat "$SHARED"', "free"],
  // Privileges and namespaces.
  ["a user namespace", "unshare --user true && echo ESCAPED", "free"],
  ["the first process's namespaces", "nsenter --target 1 --all true && echo ESCAPED"],
  [
    "another user",
    "setpriv --reuid 0 --clear-groups true && echo ESCAPED; su -c true && echo ESCAPED",
  ],
  [
    "capabilities",
    "grep -E '^Cap(Eff|Prm|Bnd|Amb)' /proc/self/status | grep -qv 0000000000000000 && echo ESCAPED",
    "free",
  ],
  ["new privileges", "grep -q 'NoNewPrivs:.*0' /proc/self/status && echo ESCAPED", "free"],
  [
    "a setuid program",
    "cp /bin/bash /tmp/b && chmod 6755 /tmp/b && /tmp/b -p -c 'grep -q \"^Uid:.*[^0-9]0[^0-9]\" /proc/self/status' && echo ESCAPED",
  ],
  // Processes.
  [
    "seeing another process",
    '[ -e "/proc/$VICTIM" ] && tr "\\0" " " < "/proc/$VICTIM/cmdline" | grep -q perl && echo ESCAPED',
    "free",
  ],
  ["a signal to another process", 'kill -0 "$VICTIM" && echo ESCAPED', "free"],
  ["another process's environment", 'cat /proc/*/environ | tr "\\0" "\\n" | grep HIDDEN=', "free"],
  [
    "tracing another process",
    perl(`syscall(${call(101, 117)}, 16, $ENV{VICTIM} + 0, 0, 0) == 0 and print "ESCAPED"`),
  ],
  [
    "another process's memory",
    perl(
      `$b = "x" x 8; $l = pack("PQ", $b, 8); $r = pack("QQ", 4096, 8);
      syscall(${
        call(310, 270)
      }, $ENV{VICTIM} + 0, $l, 1, $r, 1, 0); print "ESCAPED" if $! != ESRCH`,
    ),
  ],
  [
    "System V memory",
    perl("$id = shmget(0x4c6f636b, 64, 0); defined $id and shmread($id, $m, 0, 64) and print $m"),
    "free",
  ],
  ["a terminal", "exec 4<>/dev/tty && echo ESCAPED"],
  [
    "the environment",
    "env | grep -Ev '^(PATH|HOME|TMPDIR|LANG|LC_ALL|TZ|NO_COLOR|PYTHON.*|PWD|SHLVL|_|SECRET|FILE|FOLDER|SOCKET|ABSTRACT|SHARED|PORT|VICTIM)=' && echo ESCAPED",
  ],
  // The kernel.
  [
    "its settings",
    "cat /proc/sys/vm/swappiness > /tmp/s; cat /tmp/s > /proc/sys/vm/swappiness && echo ESCAPED",
    "free",
  ],
  ["its emergency keys", "echo h > /proc/sysrq-trigger && echo ESCAPED"],
  ["control groups", "ls /sys/fs/cgroup && echo ESCAPED", "free"],
  ["the clock", 'date -s "$(date)" && echo ESCAPED'],
  [
    "the host's name",
    "echo other > /proc/sys/kernel/hostname && echo ESCAPED; hostname other && echo ESCAPED",
  ],
  [
    "priority",
    "nice -n -5 true 2>&1 | grep -q denied || [ $(nice -n -5 nice) -ge 0 ] || echo ESCAPED",
  ],
  [
    "the keys of whoever started it",
    perl(`for (-3 .. -1) { syscall(${call(250, 219)}, 0, $_, 1) >= 0 and print "ESCAPED" }
      syscall(${call(248, 217)}, $t = "user", $n = "x", $v = "y", 1, -3) >= 0 and print "ESCAPED"`),
    "free",
  ],
  [
    "calls with much of the kernel behind them",
    perl(
      [[321, 280], [298, 241], [323, 282], [425, 425]].map(([x86, arm]) =>
        `syscall(${call(x86!, arm!)}, 0, 0, 0, 0, 0); print "ESCAPED" if $! != EPERM;`
      ).join(" "),
    ),
  ],
  [
    "files of any size",
    "truncate -s 1T /stage/outputs/text && echo ESCAPED; rm -f /stage/outputs/text; truncate -s 1T /tmp/big && echo ESCAPED",
  ],
  ["core files", '[ "$(ulimit -c)" = 0 ] || echo ESCAPED'],
  [
    "a link from an input to an output",
    "ln /stage/inputs/text /stage/outputs/text && echo ESCAPED",
  ],
];

for (const [what, script, free] of ATTEMPTS) {
  Deno.test({
    name: `no escape from a cage: ${what}`,
    ignore,
    async fn() {
      await using there = await outside();
      const whole =
        `{ ${script}\n} 2>&1; rm -rf /stage/outputs/*; echo tried; echo > /stage/outputs/text`;
      const command = { variables: there.variables };
      const ran = await executeCommand(whole, { command });
      assertEquals(ran.error, undefined);
      assertMatch(ran.printed, /tried\n$/);
      assert(!/ESCAPED|lockstep-secret/.test(ran.printed), ran.printed);
      assertEquals(Deno.readTextFileSync(join(there.folder, "secret")), SECRET);
      assertEquals(Deno.readTextFileSync(join(ran.folder, "inputs/text")), "given\n");
      if (!free || Deno.uid() !== 0) return;
      // The attempt is a good one: without a cage it succeeds.
      const uncaged = await executeCommand(`${script}\necho > ../outputs/text`, {
        command,
        uncaged: true,
      });
      assertMatch(uncaged.printed, /ESCAPED|lockstep-secret/);
    },
  });
}

Deno.test({
  name: "no escape from a cage: variables of its command reach nothing outside of it",
  ignore,
  async fn() {
    const folder = temporaryFolder();
    for (const name of ["setpriv", "prlimit", "bwrap", "sh", "bash"]) {
      Deno.writeTextFileSync(join(folder, name), `#!/bin/sh\ntouch ${folder}/ran\n`, {
        mode: 0o755,
      });
    }
    Deno.writeTextFileSync(join(folder, "env"), `touch ${folder}/ran\n`);
    const variables = { PATH: folder, BASH_ENV: join(folder, "env"), ENV: join(folder, "env") };
    const { error } = await executeCommand("echo > /stage/outputs/text", {
      command: { variables },
    });
    assertEquals(error, undefined);
    assertEquals([...Deno.readDirSync(folder)].some(({ name }) => name === "ran"), false);
  },
});

Deno.test({
  name: "no escape from a cage: what outputs lead to is not taken for them",
  ignore,
  async fn() {
    using project = toyProject();
    const left: Readonly<Record<string, readonly [script: string, message: RegExp]>> = {
      link: ["ln -s /etc/hostname $O/text", /as a file, and wrote a symbolic link/],
      pipe: ["mkfifo $O/text", /as a file, and wrote a pipe, socket or device/],
      folder: ["mkdir $O/text", /as a file, and wrote a folder/],
      nothing: ["true", /as a file, and wrote none/],
      inner: ["echo > $O/text; ln -s /etc/hostname $O/parts/a", /output file a: it must be a file/],
      socket: [
        `echo > $O/text; perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("/stage/outputs/parts/s"))'`,
        /output file s: it must be a file/,
      ],
      replaced: [
        "echo > $O/text; rmdir $O/parts; ln -s /etc $O/parts",
        /output "parts" as a folder, and wrote a symbolic link/,
      ],
      file: ["echo > $O/text; rmdir $O/parts; echo > $O/parts", /as a folder, and wrote a file/],
      name: [
        "echo > $O/text; echo > $O/parts/$'\\xff'",
        /it must have a name in UTF-8, and has another/,
      ],
      more: ["echo > $O/text; echo > $O/more", /left a file "more" besides/],
      setuid: ["cp /bin/true $O/text; chmod 6777 $O/text; chmod 777 $O/parts", /^$/],
      closed: [
        "echo > $O/text; mkdir -p $O/parts/a; echo > $O/parts/a/b; chmod 0 $O/text $O/parts/a/b $O/parts/a",
        /^$/,
      ],
    };
    const stages = Object.keys(left).map((name) =>
      `  ${name}:
    command:
      program: /bin/bash
      arguments: [${name}.sh]
      files: [${name}.sh]
      outputs: { text: { exactness: exact }, parts: { kind: folder, exactness: exact } }
`
    );
    project.write(
      "experiments/left/experiment.yaml",
      `experiment: left\nstages:\n${stages.join("")}profiles: { smoke: {} }\n`,
    );
    for (const [name, [script]] of Object.entries(left)) {
      project.write(`experiments/left/${name}.sh`, `O=/stage/outputs\n${script}\n`);
    }
    const ended = await project.run(["reproduce", "--json", "--experiment", "left"]);
    assertEquals(ended.stderr, "");
    const failed = new Map(
      ended.events.flatMap((event) =>
        event.event === "failed" ? [[event.instance, event.message] as const] : []
      ),
    );
    for (const [name, [, message]] of Object.entries(left)) {
      assertMatch(failed.get(name) ?? "", message, name);
      assert(!(failed.get(name) ?? "").includes("\n    at "), name);
    }
    for (const { name, path } of blobs(project.path("outputs/store/blobs"))) {
      assertEquals((Deno.statSync(path).mode ?? 0) & 0o7222, 0, name);
    }
    assertStringIncludes((await project.run(["audit"])).stdout, "sound");
  },
});

function* blobs(folder: string): Generator<{ name: string; path: string }> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    const path = join(folder, name);
    if (isDirectory) yield* blobs(path);
    else yield { name, path };
  }
}

/** What a filter answers to a call: the kernel's interpreter, as far as filters of ours go. */
function answerOf(filter: Uint8Array<ArrayBuffer>, audit: number, number: number): number {
  const view = new DataView(filter.buffer);
  let loaded = 0;
  for (let at = 0;; at++) {
    const [code, value] = [view.getUint16(at * 8, true), view.getUint32(at * 8 + 4, true)];
    const [yes, no] = [view.getUint8(at * 8 + 2), view.getUint8(at * 8 + 3)];
    if (code === 0x20) loaded = value === 4 ? audit : number;
    else if (code === 0x15) at += loaded === value ? yes : no;
    else if (code === 0x35) at += loaded >= value ? yes : no;
    else return value;
  }
}

Deno.test("the filter of system calls refuses its own, another architecture's all, and no other", () => {
  // Numbers of `keyctl`, `io_uring_setup` and `write` from the kernel's tables.
  const of = { x86_64: [0xc000003e, 250, 425, 1], aarch64: [0xc00000b7, 219, 425, 64] } as const;
  for (const [name, [audit, keyctl, ring, write]] of Object.entries(of)) {
    const filter = systemCallFilter(name as keyof typeof of);
    const answer = (number: number) => answerOf(filter, audit, number);
    assertEquals([keyctl, ring].map(answer), [0x50001, 0x50001]);
    assertEquals([write, 0, 59, 999].map(answer), [0x7fff0000, 0x7fff0000, 0x7fff0000, 0x7fff0000]);
    assertEquals(answer(0x40000001), 0x50026);
    assertEquals(answerOf(filter, 0x40000003, 4), 0x50026);
  }
});
