/**
 * A Slurm cluster of three nodes on this machine's own address, each daemon a process. Nodes are
 * programs here, not machines: what a job may use is counted, not fenced.
 *
 * @module
 */
import { freePorts, Processes } from "./processes.ts";

/** A cluster that runs. */
export interface RunningSlurm extends AsyncDisposable {
  /** Variables that clients need. */
  readonly variables: Readonly<Record<string, string>>;
  /** Runs one of Slurm's programs. */
  slurm(program: string, ...args: string[]): Promise<string>;
  /** Ends the controller at once. */
  stopController(): Promise<void>;
  /** @param o.forgets Whether it has lost all that it knew. */
  startController(o?: { readonly forgets: boolean }): Promise<void>;
  /** Ends a node's daemon at once; its jobs go on, and the controller does not know. */
  stopNode(node: string): void;
}

/** The nodes, each of 4 processors and 4,000 MB. */
export const NODES = ["n1", "n2", "n3"] as const;

/** Starts a cluster; whatever goes wrong, nothing of it is left. */
export async function startSlurm(): Promise<RunningSlurm> {
  const processes = new Processes();
  try {
    return await start(processes);
  } catch (error) {
    await processes[Symbol.asyncDispose]();
    throw error;
  }
}

async function start(processes: Processes): Promise<RunningSlurm> {
  const socket = processes.path("munge.socket");
  const key = processes.path("munge.key");
  Deno.writeFileSync(key, crypto.getRandomValues(new Uint8Array(1024)), { mode: 0o400 });
  processes.makeFolders("state");
  const file = (name: string) =>
    `--${name}=${processes.path(`munge.${name.replace("-file", "")}`)}`;
  processes.start("/usr/sbin/munged", "--foreground", "--force", ...[
    `--key-file=${key}`,
    `--socket=${socket}`,
    file("pid-file"),
    file("log-file"),
    file("seed-file"),
  ]);
  await processes.until("a socket of munge", () => Deno.stat(socket).then(() => true));
  const config = processes.write("slurm.conf", configuration(processes, socket));
  const variables = { SLURM_CONF: config };
  const slurm = async (program: string, ...args: string[]) => {
    const { success, stdout, stderr } = await new Deno.Command(program, { args, env: variables })
      .output();
    const [text, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    if (!success) throw new Error(`${program} ${args.join(" ")}: ${errors}`);
    return text!;
  };
  const daemon = (...args: string[]) =>
    processes.start("/usr/bin/env", `SLURM_CONF=${config}`, ...args);
  let controller: Disposable | undefined;
  const startController = async ({ forgets } = { forgets: false }) => {
    controller = daemon("/usr/sbin/slurmctld", "-D", ...(forgets ? ["-c"] : []));
    await processes.until(
      "an answer of slurmctld",
      () => slurm("scontrol", "ping").then((text) => text.includes("UP")),
    );
  };
  await startController();
  const daemons = new Map(
    NODES.map((node) => [String(node), daemon("/usr/sbin/slurmd", "-D", "-N", node)]),
  );
  await processes.until(
    "idle nodes",
    () => slurm("sinfo", "--noheader", "--format=%T %D").then((text) => text.trim() === "idle 3"),
  );
  return {
    variables,
    slurm,
    stopController() {
      controller?.[Symbol.dispose]();
      return processes.until(
        "the end of slurmctld",
        () => slurm("scontrol", "ping").then(() => false, () => true),
      );
    },
    startController,
    stopNode: (node) => daemons.get(node)?.[Symbol.dispose](),
    async [Symbol.asyncDispose]() {
      // Jobs go on without the daemons.
      await slurm("scancel", `--user=${Deno.uid()}`).catch(() => {});
      await processes.until(
        "an empty queue",
        () => slurm("squeue", "--noheader").then((text) => text === ""),
      ).catch(() => {});
      await processes[Symbol.asyncDispose]();
    },
  };
}

function configuration(processes: Processes, socket: string): string {
  const [controller = 0, ...ports] = freePorts(1 + NODES.length);
  const host = Deno.hostname();
  const user = new TextDecoder().decode(
    new Deno.Command("id", { args: ["-un"] }).outputSync().stdout,
  )
    .trim();
  const nodes = NODES.map((node, index) =>
    `NodeName=${node} NodeHostname=${host} NodeAddr=127.0.0.1 Port=${ports[index]} CPUs=4 ` +
    "RealMemory=4000"
  );
  return `ClusterName=lockstep
SlurmctldHost=${host}(127.0.0.1)
SlurmctldPort=${controller}
SlurmUser=${user}
SlurmdUser=${user}
AuthType=auth/munge
AuthInfo=socket=${socket}
CommunicationParameters=NoAddrCache,NoInAddrAny,NoCtldInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
StateSaveLocation=${processes.path("state")}
SlurmdPidFile=${processes.path("%n.pid")}
SlurmdSpoolDir=${processes.path("spool.%n")}
SlurmctldPidFile=${processes.path("slurmctld.pid")}
ReturnToService=2
SchedulerParameters=sched_min_interval=1000,sched_interval=1,bf_interval=1
SlurmdTimeout=5
KillWait=5
MessageTimeout=5
MaxArraySize=1001
${nodes.join("\n")}
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=batch Nodes=ALL Default=YES MaxTime=60 PriorityTier=1 State=UP
PartitionName=urgent Nodes=ALL MaxTime=60 PriorityTier=2 State=UP
`;
}
