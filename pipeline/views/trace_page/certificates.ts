/**
 * Certificates on the trace page: how far each output is reproducible, and what that rests on.
 *
 * @module
 */
import { type Html, html } from "../../html.ts";
import { type Certificate, type Execution, gradeOf, noiseFloor } from "../../store/certificate.ts";
import { differenceText, gradeText } from "../certificate_text.ts";
import { NOTHING, table } from "./parts.ts";

/** An instance's certificate; nothing if it has none. */
export function certificateTables(certificate: Certificate | undefined): Html {
  if (certificate === undefined) return NOTHING;
  const floor = noiseFloor(certificate);
  return html`${
    table("Certificate", {
      head: ["Output", "Grade", "Largest difference"],
      rows: Object.keys(certificate.outputs).map((name) => {
        const grade = gradeOf(certificate, name);
        return [
          html`${name}`,
          html`${gradeText(grade)}`,
          html`${grade.difference ? differenceText(grade.difference) : "none"}`,
        ];
      }),
    })
  }${
    table("Executions behind it", {
      head: ["Varied", "Platform", "Metrics"],
      rows: certificate.executions.map((execution) => [
        html`${variedText(execution)}`,
        html`${execution.platform?.["platform.backend"] ?? `this one, on ${certificate.machine}`}`,
        html`${metricsText(execution)}`,
      ]),
    })
  }${
    table("Noise floor", {
      head: ["Metric", "Moved by at most"],
      rows: Object.entries(floor).map(([name, value]) => [html`${name}`, html`${value}`]),
    })
  }`;
}

function variedText({ varied }: Execution): string {
  const all = Object.entries(varied).map(([name, what]) => `${name}: ${what}`);
  return all.length === 0 ? "nothing" : all.join("; ");
}

function metricsText({ metrics }: Execution): string {
  return Object.entries(metrics).map(([name, value]) => `${name} ${value}`).join(", ");
}
