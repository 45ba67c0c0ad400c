/**
 * What a reader wants to know of the run and no artifact may hold: the profile, the backend, the commit
 * and the days. The engine keeps them beside the trace page; this page shows them where that is.
 *
 * @module
 */
import { type Html, html, trusted } from "../../pipeline/html.ts";
import { type Merged, traceLink } from "./merge.ts";

/** Where the engine keeps the facts of all latest runs: a script, since files load no JSON. */
const FACTS = "../trace/runs.js";

/** The place that facts are shown in; its id is no other's. */
export const RUN_ID = "run";

/**
 * Takes the run that made just these results. Without marks of HTML, so that it is in the page as it is.
 */
const SCRIPT = `function lockstepRuns(runs) {
  const place = document.getElementById("${RUN_ID}");
  const results = place.dataset.results.split(" ");
  const own = runs.filter(function (run) {
    return results.every(function (digest) { return run.from.includes(digest); });
  });
  const named = own.find(function (run) { return location.pathname.includes("/" + run.name + "/"); });
  const run = named ?? (own.length === 1 ? own[0] : undefined);
  if (run === undefined) return;
  const list = document.createElement("dl");
  list.className = "ran";
  list.id = place.id;
  const add = function (name, value) {
    if (!value) return;
    const row = list.appendChild(document.createElement("div"));
    row.appendChild(document.createElement("dt")).textContent = name;
    row.appendChild(document.createElement("dd")).textContent = value;
  };
  add("Profile", run.profile);
  add("Set", run.set.join(" "));
  add("Backend", run.backend);
  add("Commit", run.commit && run.commit.replace(/^([0-9a-f]{10})[0-9a-f]+/, "$1"));
  add("Made", run.days && Array.from(new Set(run.days)).join(" to "));
  add("Certified", run.certified && run.certified.join(". "));
  place.replaceWith(list);
}`;

/** The facts, or where they are. */
export function runFactsHtml({ analyses }: Merged): Html {
  const digests = analyses.map(({ sha256 }) => sha256);
  return html`
    <p class="note" id="${RUN_ID}" data-results="${digests.join(" ")}">Profile, backend, commit
    and date are on <a href="${traceLink(digests[0]!)}">the trace page</a>.</p>
    <script>${trusted(SCRIPT)}</script>
    <script src="${FACTS}"></script>
  `;
}
