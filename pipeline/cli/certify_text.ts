/**
 * Certificates as text, and as JSON.
 *
 * @module
 */
import { counted } from "../amounts.ts";
import {
  type Certificate,
  type Circumstance,
  type Grade,
  gradeOf,
  noiseFloor,
  variedIn,
} from "../store/certificate.ts";
import { certifiedText, differenceText, gradeText } from "../views/certificate_text.ts";

function gradesOf(certificate: Certificate): [output: string, grade: Grade][] {
  return Object.keys(certificate.outputs).map((name) => [name, gradeOf(certificate, name)]);
}

/** A certificate as an event. */
export function certificateEvent(certificate: Certificate) {
  const { instance, key, executions } = certificate;
  return {
    event: "certificate",
    ...{ instance, key },
    grades: Object.fromEntries(gradesOf(certificate)),
    varied: variedIn(certificate),
    noiseFloor: noiseFloor(certificate),
    executions: executions.length,
  };
}

/** A certificate as lines: its instance, and below it each output with its grade. */
export function certificateLines(certificate: Certificate): string[] {
  const grades = gradesOf(certificate);
  const width = Math.max(...grades.map(([name]) => name.length));
  return [
    certificate.instance,
    ...grades.flatMap(([name, grade]) => [
      `  ${name.padEnd(width)}  ${gradeText(grade)}`,
      ...(grade.difference ? [`    ${differenceText(grade.difference)}`] : []),
    ]),
  ];
}

/** What all certificates come to. */
export function summaryLines(certificates: readonly Certificate[], failed: number): string[] {
  const varied = new Set<Circumstance>(certificates.flatMap(variedIn));
  const executions = certificates.reduce((sum, { executions }) => sum + executions.length, 0);
  return [
    "",
    ...certifiedText(certificates, certificates.length + failed),
    `${executions} executions; varied: ${[...varied].join(", ") || "nothing"}`,
    ...(failed > 0 ? [`${counted(failed, "instance")} failed`] : []),
  ];
}
