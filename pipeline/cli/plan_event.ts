/**
 * The event that opens a run: what is to be done, and how long it should take.
 *
 * @module
 */
import type { Event } from "../event.ts";
import type { Options } from "./options.ts";
import type { Session } from "./session.ts";

/** What a session's run says first. */
export function planEvent(session: Session, { jobs }: Options): Event {
  const { experiment, platform, graph, decisions, secondsOf, atOnce, estimate } = session;
  const stages = [...Map.groupBy(graph, ({ node }) => node.name)].map(([stage, instances]) => {
    // Of what is up to date nobody asks, and there may be many.
    const open = instances.filter((instance) => decisions.get(instance)?.action !== "cached");
    const known = open.flatMap((instance) => secondsOf(instance) ?? []);
    const sum = known.reduce((sum, seconds) => sum + seconds, 0);
    return {
      stage,
      instances: instances.length,
      seconds: known.length > 0 ? sum / known.length : null,
      alone: instances[0]!.node.stage.alone ?? false,
      atOnce: atOnce(instances[0]!),
    };
  });
  return {
    event: "plan",
    experiment: experiment.name,
    profile: experiment.profile,
    backend: platform.backend,
    backendReason: platform.reason,
    instances: graph.length,
    jobs,
    stages,
    estimateSeconds: estimate.seconds,
  };
}
